"""Sums over the rows of a log that values of policies are made of, and moments of influences.

One pass over the rows, a batch at a time; sums of partitions are merged by adding. The influence
of a row on an estimate is linear in a few columns of the row, with factors that only the whole log
tells. Its moments come from sums of products of up to four columns (`Products`), which hold few
numbers; where the independent draws are clusters, or the policies are many, from the influences
themselves (`Moments`).
"""

import functools
import math

import numpy as np

from counterweight.numerics.checks import RunningSum
from counterweight.numerics.estimate import controlled_interval, influence_shape

#: Rows whose columns are held at once: they stay in a processor's cache.
STEP = 1 << 14
#: Numbers of products that are held at once.
ROOM = 1 << 16
#: Columns and pairs below which they are few.
FEW = 12
#: Most columns whose products are summed; of more, the log is read a second time.
MOST_COLUMNS = 24
#: Most rows with a reward that are held one by one.
MOST_HELD = 1 << 14
#: Below this many effective rewards intervals are those of counts; see `LogSums.few`.
FEW_REWARDS = 30
#: Below so many users support is thin, however many rows are theirs, and intervals are no narrower
#: than by how users differ.
FEW_USERS = 10
#: Above this share of the squared error, by their size (``sum c^4 / (sum c^2)^2`` of the influences
#: c), few rows carry an estimate.
LARGE_SHARE = 0.1
#: Below this many effective rows, by the error of the mean weight, heavy weights are few; and where
#: none of them has met a reward, though by the log's rate one should have, so that the error of the
#: value does not know of them: one that did would then be this share of the squared error.
FEW_HEAVY, FEW_UNMET, UNMET = 6, 30, 0.7
#: How far weights may average from 1, or a policy act outside of the log, before it is told.
OFF = 0.02
_ARRAYS = ("_largest", "_weight", "_chance", "_agreed", "_rewarded")
_NUMBERS = ("rows", "nonzero", "least", "most", "subsampled", "_heaviest", "_rarest")


def limited_weights(weight, limit, at):
    """Weights that no longer let a few rows carry everything.

    clip: min(w, t); switch: w up to t and 0 above; shrink: t w / (w^2 + t) (Su, Dimakopoulou,
    Krishnamurthy & Dudik 2020), with t = `at`.
    """
    if limit == "clip":
        return np.minimum(weight, at)
    if limit == "switch":
        return np.where(weight <= at, weight, 0.0)
    return at * weight / (weight * weight + at)


class Columns:
    """The columns of a log, made of its rows; ``at`` says by name where those of policies stand.

    ``k``; ``weight`` k w; with weights that are cut (how, and at what, see `limited_weights`)
    ``lost`` k (w - w'); with a reward model (``q``, ``v``) ``mean`` k v and ``rest`` k w (r - q);
    ``reward`` k r; ``earned`` k w r; ``limited`` k w' r. Rows of reward 0 have those before
    ``reward`` (`of_zeros`), or k alone where nothing else is asked of them (not `weighted`).
    """

    def __init__(self, policies, cut=None, modelled=False, weighted=True):
        self.policies, self.cut, self.modelled = policies, cut, modelled
        limited = cut is not None
        names = ["k", "weight", *["lost"] * limited, *["mean", "rest"] * modelled]
        names += ["reward", "earned", *["limited"] * limited]
        sizes = [1 if name in ("k", "reward") else policies for name in names]
        ends = np.cumsum(sizes).tolist()
        spans = zip(names, sizes, ends, strict=True)
        self.at = {name: slice(end - size, end) for name, size, end in spans}
        self.count, self.of_zeros = ends[-1], self.at["reward"].start if weighted else 1
        self._room = {}

    def room(self, name, rows, count):
        """An array (rows, count) that is used again: fresh memory costs more than arithmetic."""
        if name not in self._room or rows * count > len(self._room[name]):
            self._room[name] = np.empty(rows * count)
        return self._room[name][: rows * count].reshape(rows, count)

    def place(self, name, policy=0):
        """The column of one policy."""
        return self.at[name].start + policy

    def of(self, batch, k, zeros):
        """Array (columns, n) of rows of reward 0 (`zeros`) or of others, and their largest w."""
        at, made = self.at, self.room("columns", self.of_zeros if zeros else self.count, len(k))
        made[0] = k
        if len(made) == 1:
            return made, 0.0
        w, weight = self.room("w", self.policies, len(k)), made[at["weight"]]
        np.divide(batch["p"].T, batch["propensity"], out=w)
        np.multiply(w, k, out=weight)
        if self.cut:
            less = limited_weights(w, *self.cut)
            made[at["lost"]] = (w - less) * k
        if self.modelled:
            made[at["mean"]] = batch["v"].T * k
            made[at["rest"]] = weight * (batch["reward"] - batch["q"].T)
        if not zeros:
            made[at["reward"]] = k * batch["reward"]
            made[at["earned"]] = weight * batch["reward"]
            if self.cut:
                made[at["limited"]] = less * made[at["reward"]]
        return made, w.max(axis=1)

    @functools.lru_cache(64)  # noqa: B019
    def change(self, reward, predictions):
        """Matrix T, by which columns are made of others that keep more digits, ``T.T @ others``,
        and its inverse.

        In these, rewards are taken from a typical `reward`, weights from 1 and v from typical
        `predictions` (policies,): k, k (w - 1), k (r - s), k (w - 1) (r - s), k w' (r - s), ...
        """
        made, back, s, at = np.eye(self.count), np.eye(self.count), reward, self.at
        own = at["reward"].start
        made[0, own], made[0, at["weight"]] = s, 1.0
        back[0, own], back[0, at["weight"]] = -s, -1.0
        for policy in range(self.policies):
            weight, earned = self.place("weight", policy), self.place("earned", policy)
            made[[0, own, weight], earned], back[[0, own, weight], earned] = (s, 1, s), (s, -1, -s)
            if self.cut:
                rows = [0, weight, self.place("lost", policy)]
                limited = self.place("limited", policy)
                made[rows, limited], back[rows, limited] = (s, s, -s), (0, -s, s)
        if self.modelled:
            made[0, at["mean"]], back[0, at["mean"]] = predictions, np.negative(predictions)
        return made, back


@functools.cache
def _pairs(size):
    """Places of all pairs of columns, and how often each stands in a square of their sum."""
    first, second = np.triu_indices(size)
    return first, second, np.where(first == second, 1.0, 2.0)


@functools.cache
def _alike(size):
    """Of columns and their pairs: place among those without k, and the power of k to be added."""
    place = np.r_[:size, : size + size * (size - 1) // 2]
    rest = np.zeros(len(place) - 2 * size)
    return place, np.r_[1, np.zeros(size - 1), 2, np.ones(size - 1), rest]


class Products:
    """Sums over rows of the products of up to four columns, taken from typical values.

    Rows are those of reward 0 (`zeros`), which have fewer columns, or the others; ``count`` is the
    number of those that stand for some.
    """

    def __init__(self, columns, zeros):
        self._columns, self._zeros = columns, zeros
        self._size = columns.of_zeros if zeros else columns.count
        self._pairs = _pairs(self._size)
        self.count, self._shift = 0, np.zeros(1 + columns.policies)
        #: Columns and then their pairs, times each other.
        self._sums = RunningSum((self._size + len(self._pairs[0]),) * 2)

    def _settle(self, shift):
        """Fix the typical values: of rewards, and of predictions of each policy."""
        self._shift = shift
        both = self._columns.change(shift[0], tuple(shift[1:]))
        self._change, back = (matrix[: self._size, : self._size] for matrix in both)
        self._back = np.ascontiguousarray(back.T)

    def add(self, columns):
        """Add rows, as columns (columns, n); rows that stand for none are zeros."""
        k = columns[0]
        used, most = int(np.count_nonzero(k)), float(k.max())
        if not used:
            return
        if not self.count:
            self._begin(columns)
        self.count += used
        # Where all rows stand for as many (most), products with k are others times a number.
        alike = int(np.count_nonzero(k == most) == used)
        size = self._size
        rows = size + (size - alike) * (size + 1 - alike) // 2
        step = max(ROOM // rows, 1)
        for start in range(0, len(k), step):
            own = columns[:, start : start + step]
            # Of few columns the product of two matrices, one with a row more, is quicker than that
            # of a matrix with itself.
            part = self._columns.room("products", rows + (rows < FEW), own.shape[1])
            np.matmul(self._back, own, out=part[:size])
            part[0] /= most if alike else 1.0
            row, part[rows:] = size, 0.0
            for one in range(alike, size):
                np.multiply(part[one], part[one:size], out=part[row : row + size - one])
                row += size - one
            sums = (part[:rows] @ part.T)[:, :rows]
            if alike:
                place, power = _alike(size)
                times = most**power
                sums = sums[place][:, place] * (times * times[:, None])
            self._sums.add(sums)

    def _begin(self, columns):
        """Typical values are the means of the first rows."""
        typical, shift = columns.sum(axis=1) / columns[0].sum(), np.zeros(len(self._shift))
        if not self._zeros:
            shift[0] = typical[self._columns.at["reward"].start]
        if self._columns.modelled and self._size > 1:
            shift[1:] = typical[self._columns.at["mean"]]
        self._settle(shift)

    def of(self, own):
        """Sums of c^2, c^3, c^4 and of each column times c, for c = own @ columns."""
        size, change, cross = self._size, self._change, np.zeros(len(own))
        own = change @ own[:size]
        first, second, times = self._pairs
        twice = times * own[first] * own[second]
        sums = self._sums.value
        crossed = own @ sums[:size]
        cross[:size] = change.T @ crossed[:size]
        third, fourth = crossed[size:] @ twice, twice @ sums[size:, size:] @ twice
        return max(crossed[:size] @ own, 0.0), third, fourth, cross

    def to_arrays(self):
        return {"products": self._sums.value, "shift": [self.count, *self._shift]}

    def use(self, arrays):
        self._sums.add(arrays["products"])
        count, *shift = map(float, arrays["shift"])
        self.count = int(count)
        self._settle(np.array(shift))
        return self


class ProductMoments:
    """As `Moments`, from the products of the rows, perhaps of several partitions."""

    def __init__(self, products, matrix):
        self.matrix, self._products = matrix, [part for part in products if part.count]
        self.count = sum(part.count for part in products)

    def of(self, number):
        """See `Moments.of`."""
        own = self.matrix[:, number]
        parts = [part.of(own) for part in self._products] or [(0.0, 0.0, 0.0, np.zeros(len(own)))]
        return tuple(sum(values) for values in zip(*parts, strict=True))


class Moments:
    """Moments of the influence of the independent draws, from their columns."""

    def __init__(self, matrix):
        self.matrix, self.count = matrix, 0
        self._powers, self._cross = RunningSum((3, matrix.shape[1])), RunningSum(matrix.shape)

    def add(self, columns):
        """Add draws (columns, n)."""
        c = self.matrix[: len(columns)].T @ columns
        squares = c * c
        self._powers.add([part.sum(axis=1) for part in (squares, squares * c, squares * squares)])
        cross = np.zeros(self.matrix.shape)
        cross[: len(columns)] = columns @ c.T
        self._cross.add(cross)
        self.count += int(np.count_nonzero(columns.any(axis=0)))

    def of(self, number):
        """Sums of c^2, c^3, c^4, and of each column times c, of one estimate."""
        return (*self._powers.value[:, number], self._cross.value[:, number])


class CountedMoments:
    """As `Moments`, of a log whose `count` of rows of reward 0, before any was dropped, is known.

    Those that were kept stand for that many: weights ``k`` are put to it. The influence of each of
    them, dropped or kept, is then that of a `typical` one (columns (columns,) by k), and what it
    differs from this where it was kept (`zeros`, the moments of kept rows). `others` are the
    moments of rows with a reward.
    """

    def __init__(self, zeros, others, count, typical):
        self.matrix, self.count = others.matrix, others.count + count
        self._zeros, self._others, self._typical, self._rows = zeros, others, typical, count

    def of(self, number):
        """See `Moments.of`."""
        second, third, fourth, cross = self._others.of(number)
        two, three, four, with_zeros = self._zeros.of(number)
        each = self._typical @ self.matrix[:, number]
        with_zeros = with_zeros + (self._rows * each - with_zeros[0]) * self._typical
        return (
            second + self._rows * each**2 + two,
            third + self._rows * each**3 + 3 * each * two + three,
            fourth + self._rows * each**4 + 6 * each**2 * two + 4 * each * three + four,
            cross + with_zeros,
        )


class CountedUsers:
    """As `Moments`, of users whose kept rows of reward 0 stand for a known number (`count`).

    How many a user had is told by those that were kept, which adds chance (`noise`, sum of k^2 - k)
    that the known number takes away: the squares lose it, down to what so many rows have alone.
    """

    def __init__(self, users, count, typical, noise):
        self.matrix, self.count = users.matrix, users.count
        self._users, self._rows, self._typical, self._noise = users, count, typical, noise

    def of(self, number):
        """See `Moments.of`."""
        second, third, fourth, cross = self._users.of(number)
        each = self._typical @ self.matrix[:, number]
        left = max(second - each**2 * self._noise, min(self._rows * each**2, second))
        share = left / second if second else 1.0
        cross = cross - each * self._noise * self._typical
        return left, third * share**1.5, fourth * share**2, cross


class LogSums:
    """Sums of the columns of a log, by cluster too, and what the support is told by.

    `clusters` is 0 where every row stands for itself, `thin` the propensity below which support is
    thin. With `products` those of columns are summed; else moments need a second pass over the
    rows. ``rows_before`` is the number of rows before any of reward 0 was dropped, all of weight 1,
    where it is known: kept ones then stand for as many as there were.
    """

    def __init__(self, columns, clusters=0, thin=0.01, products=True):
        self.columns, policies = columns, columns.policies
        both = (True, False) if products and not clusters else ()
        #: Products of rows of reward 0 and of the others; of partitions one after the other.
        self.products = [Products(columns, zeros) for zeros in both]
        #: Sums of columns, of their sizes and squares; of rows of reward 0, and of the others.
        self._sums, self._largest = RunningSum((2, 3, columns.count)), np.zeros((2, columns.count))
        #: By policy: weights of propensities below `thin`; what it does where the log never could.
        self._mass, self._thin = RunningSum((2, policies)), thin
        self.groups = np.zeros((columns.count, clusters)) if clusters else None
        #: Columns of the rows with a reward, in parts, while they are few.
        self._held = []
        self.rows = self.nonzero = 0
        self.least, self.most, self.subsampled, self.rows_before = 0.0, -math.inf, False, 0
        self._agreed, self._rewarded = np.zeros((2, policies), int)
        self._weight, self._heaviest = np.zeros(policies), 0.0
        #: Largest probability that each policy gives to a logged action, and least propensity.
        self._chance, self._rarest = np.zeros(policies), 1.0

    def add(self, batch):
        """Add a batch of `counterweight.evaluation.log_values`."""
        for part in steps(batch):
            self._add(part)

    def _add(self, batch):
        reward, at = batch["reward"], self.columns.at["weight"]
        self.rows += len(reward)
        self.least, self.most = min(self.least, reward.min()), max(self.most, reward.max())
        self._heaviest = max(self._heaviest, float(batch["weight"].max()))
        self._rarest = min(self._rarest, float(batch["propensity"].min()))
        self._chance = np.maximum(self._chance, batch["p"].max(axis=0))
        sums = np.zeros((2, 3, self.columns.count))
        for zeros, part, k in _halves(batch):
            columns, weight = self.columns.of(part, k, zeros)
            own, size = int(not zeros), columns if zeros else np.abs(columns)
            largest = self._largest[own, : len(columns)]
            np.maximum(largest, size.max(axis=1), out=largest)
            total, squares = columns.sum(axis=1), np.einsum("ij,ij->i", columns, columns)
            of_size = total if zeros else size.sum(axis=1)
            sums[own, :, : len(columns)] = total, of_size, squares
            self._weight = np.maximum(self._weight, weight)
            if not zeros:
                self.nonzero += len(k)
                self._hold([] if self.groups is not None else [columns.copy()])
            if zeros and not self.subsampled:
                self.subsampled = bool((k > part["weight"]).any())
            if len(columns) > 1:
                agreed = np.count_nonzero(columns[at], axis=1)
                self._agreed += agreed
                self._rewarded += 0 if zeros else agreed
                thin, sure = part["propensity"] < self._thin, part["propensity"] >= 1
                beyond = k[sure] @ (1 - part["p"][sure])
                self._mass.add(np.stack([columns[at][:, thin].sum(axis=1), beyond]))
            if self.groups is not None:
                for total, values in zip(self.groups, columns, strict=False):
                    total += np.bincount(part["cluster"], values, len(total))
            if self.products:
                self.products[own].add(columns)
        self._sums.add(sums)

    def _hold(self, parts):
        """Hold rows with a reward, none once they are too many."""
        self._held = [] if self.nonzero > MOST_HELD else self._held + parts

    def merge(self, other):
        """Add the sums of other rows."""
        self._sums.add(other._sums.value)
        self._mass.add(other._mass.value)
        for name in ("_largest", "_weight", "_chance"):
            setattr(self, name, np.maximum(getattr(self, name), getattr(other, name)))
        if self.groups is not None:
            self.groups += other.groups
        for name in ("rows", "nonzero", "_agreed", "_rewarded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._hold(other._held)
        self.subsampled |= other.subsampled
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self._heaviest = max(self._heaviest, other._heaviest)
        self._rarest = min(self._rarest, other._rarest)
        self.products += other.products

    def to_arrays(self):
        """All of it as arrays by name; of clusters those that have a row."""
        arrays = {"sums": self._sums.value, "mass": self._mass.value}
        arrays |= {name[1:]: getattr(self, name) for name in _ARRAYS}
        arrays["numbers"] = [float(getattr(self, name)) for name in _NUMBERS]
        if self.groups is not None:
            arrays["clusters"] = np.flatnonzero(self.groups.any(axis=0))
            arrays["groups"] = self.groups[:, arrays["clusters"]]
        if self._held:
            arrays["held"] = np.concatenate(self._held, axis=1)
        for number, own in enumerate(self.products):
            arrays |= {f"{name}.{number}": part for name, part in own.to_arrays().items()}
        return arrays

    def use(self, arrays):
        """Take what `to_arrays` gave of sums that were begun alike."""
        self._sums.add(arrays["sums"])
        self._mass.add(arrays["mass"])
        for name in _ARRAYS:
            setattr(self, name, np.asarray(arrays[name[1:]]))
        for name, value in zip(_NUMBERS, arrays["numbers"], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        if self.groups is not None:
            self.groups[:, np.asarray(arrays["clusters"], int)] = arrays["groups"]
        self._held = [arrays["held"]] if "held" in arrays else []
        count = sum(name.startswith("shift.") for name in arrays)
        self.products = [
            Products(self.columns, number % 2 == 0).use(
                {name: arrays[f"{name}.{number}"] for name in ("products", "shift")}
            )
            for number in range(count)
        ]
        return self

    def moments(self, matrix, batches=None):
        """Moments of the influences ``matrix.T @ columns`` of the draws.

        ``batches()`` gives the rows once more, for sums without products.
        """
        count, typical = self._zeros_before()
        if self.groups is not None:
            return self._of_users(matrix, count, typical)
        if self.products and not count:
            return ProductMoments(self.products, matrix)
        rest = matrix - np.outer(np.eye(len(matrix))[0], typical @ matrix)
        if self.products:
            both = (self.products[::2], rest), (self.products[1::2], matrix)
            parts = [ProductMoments(*one) for one in both]
        else:
            parts = [Moments(rest), Moments(matrix)]
            for rows in (rows for batch in batches() for rows in steps(batch)):
                for zeros, part, k in _halves(rows):
                    parts[not (zeros and count)].add(self.columns.of(part, k, zeros)[0])
        return CountedMoments(*parts, count, typical) if count else parts[1]

    def _of_users(self, matrix, count, typical):
        """`moments` where rows belong to users."""
        if count and not self._sums.value[0, 0, 0]:
            # Nothing tells whose rows were dropped.
            matrix = matrix * (np.arange(len(matrix)) > 0)[:, None]
        moments = Moments(matrix)
        moments.add(self.groups[:, self.groups.any(axis=0)])
        stand_for, _, squares = self._sums.value[0, :, 0]
        if not (count and stand_for):
            return moments
        return CountedUsers(moments, count, typical, squares - stand_for)

    def _zeros_before(self):
        """Rows of reward 0 before any was dropped, 0 where that is not known, and the columns of a
        typical one, by k."""
        kept = self._sums.value[0, 0]
        typical = kept / kept[0] if kept[0] else np.eye(1, len(kept))[0]
        return max(self.rows_before - self.nonzero, 0), typical

    @property
    def totals(self):
        """Sums of the columns (columns,)."""
        zeros, others = self._sums.value[:, 0]
        count, typical = self._zeros_before()
        return (count * typical if count else zeros) + others

    def mean_reward(self):
        """Mean reward of the logging policy and its linearised standard error."""
        totals, own, reward = self.totals, np.zeros(self.columns.count), self.rewards_of()
        mean = totals[reward] / totals[0]
        own[reward], own[0] = 1 / totals[0], -mean / totals[0]
        moments = self.moments(own[:, None])
        return mean, influence_shape(moments.count, *moments.of(0)[:3], 0.0)[0]

    def few(self, policy=None):
        """Whether few rewards carry the mean reward of the log, or the value of a policy (its
        number): the draws that hold them are at hand, and fewer than `FEW_REWARDS` effective ones.
        """
        held = self.groups is not None or self.nonzero <= MOST_HELD
        return held and self.effective_rewards(policy) < FEW_REWARDS

    def effective_rewards(self, policy=None):
        """Effective rewards of the log, or of a policy: those seen, or as many as are expected if
        rewards came alike in all rows where that is less. High weights may have met none so far.
        """
        sizes = [self.of_draws(self.rewards_of())[0]]
        if policy is not None:
            sizes[0] /= max(self.typical(policy), 1.0)
            sizes.append(self.of_draws(self.rewards_of(policy))[0])
        return min(sizes)

    def of_draws(self, column):
        """Effective draws of a column (users, where there are any), and the largest share."""
        if self.groups is None:
            total = self._sums.value[:, 1, column].sum()
            return self.effective(column), self.largest(column) / total if total > 0 else 1.0
        size = np.abs(self.groups[column])
        total = size.sum()
        return (float(total**2 / (size @ size)), size.max() / total) if total > 0 else (0.0, 1.0)

    def rewarded(self):
        """Columns (columns, m) of the independent draws with a reward; None if they are many."""
        if self.groups is not None:
            return self.groups[:, self.groups[self.rewards_of() :].any(axis=0)]
        if self.nonzero > MOST_HELD:
            return None
        return np.concatenate([np.empty((self.columns.count, 0)), *self._held], axis=1)

    def typical(self, policy):
        """Mean weight of a policy in the rows that it would be in: ``sum w^2 / sum w``."""
        rows = self._sums.value[0 if self.columns.of_zeros > 1 else 1 :].sum(axis=0)
        (_, k, squares), (_, size, own) = rows[:, 0], rows[:, self.columns.place("weight", policy)]
        return float(own / size * k / squares) if size > 0 else 0.0

    def heavy(self, policy):
        """Whether the weights of a policy, with the one more of `unseen`, are worth few rows."""
        at = self.columns.place("weight", policy)
        more, (total, _, squares) = self.unseen(policy, 1.0)[at], self._sums.value[:, :, at].sum(0)
        return (total + more) ** 2 < FEW_REWARDS * (squares + more**2)

    def heavy_interval(self, value, own, moments, weights, bounds, draws, level):
        """Interval of few heavy weights; None where these do not carry the estimate and the mean
        weight, and could not.

        Of an estimate that is linear in the rows: its value, influence (columns,) and moments
        (`Moments.of`); the same of the mean weight of each policy in it, as ``(policy, influence,
        moments)``; least and largest reward; number of independent draws.
        """
        policies, of_weights, known = zip(*weights, strict=True)
        of_weights = np.stack(of_weights)
        rewards = sorted({bounds[0], 0.0, self.further(bounds[1])})
        rows = [self.unseen(policy, reward) for policy in policies for reward in rewards]
        of_rows = [of_weights @ row for row in rows]
        more, met = np.abs(of_rows).max(axis=0), all(map(self._met, policies))
        crowd = max(
            _crowd(told[2] + one**4, told[0] + one**2)
            for told, one in zip(known, more, strict=True)
        )
        met = met or self.nonzero < crowd * self.totals[0]
        if crowd <= 1 / (FEW_HEAVY if met else FEW_UNMET):
            return None
        squares, _, fourth, cross = moments
        products = of_weights @ np.stack([one[-1] for one in known], axis=1)
        totals = self.totals
        mean = totals[[self.columns.place("weight", policy) for policy in policies]] / totals[0]
        low, high, share = controlled_interval(
            value,
            (squares, of_weights @ cross, products),
            mean - 1,
            [(float(own @ row), more) for row, more in zip(rows, of_rows, strict=True)],
            draws,
            level,
        )
        if crowd <= 1 / FEW_HEAVY:
            return (low, high) if share > UNMET else None
        return (low, high) if max(_crowd(fourth, squares), share**2) > LARGE_SHARE else None

    def _met(self, policy):
        """Whether a reward was met by a weight of a quarter of the largest one, or more."""
        column = self.rewards_of(policy)
        typical = self.unseen(policy, self.further(0.0))[column]
        return 4 * self.largest(column, 1) >= abs(typical)

    def unseen(self, policy, reward):
        """Columns (columns,) of a row that the log could have had, and that counts most.

        It has the largest weight that was seen. Where the weights average less than 1 by more than
        three such rows would bring, heavier ones exist: then the policy's largest probability over
        the least propensity. A reward model tells it nothing. It stands for as many rows as one of
        its kind does.
        """
        at, totals, weight = self.columns.place, self._sums.value[:, 0], float(self._weight[policy])
        if self.totals[at("weight", policy)] + 3 * weight < self.totals[0]:
            weight = float(self._chance[policy] / self._rarest)
        k = totals[0, 0] / max(self.rows - self.nonzero, 1) if reward == 0 else 1.0
        made = np.zeros(self.columns.count)
        made[0], made[at("weight", policy)] = k, k * weight
        made[at("reward")], made[at("earned", policy)] = k * reward, k * weight * reward
        if self.columns.modelled:
            mean = totals[:, at("mean", policy)].sum() / totals[:, 0].sum()
            made[at("mean", policy)] = k * mean
            made[at("rest", policy)] = k * weight * (reward - mean)
        return made

    def further(self, most):
        """Size of a typical further reward, ``sum r^2 / sum r`` with the largest one once more;
        `most` where none was seen."""
        column = self.rewards_of()
        (_, size, squares), largest = self._sums.value[1, :, column], self.largest(column, 1)
        return float((squares + largest**2) / (size + largest)) if size > 0 else abs(float(most))

    def rewards_of(self, policy=None):
        """Column of the rewards of the log, or of those that a policy (its number) earned."""
        return self.columns.place(*(("reward",) if policy is None else ("earned", policy)))

    def effective(self, column, first=0):
        """Effective rows of a column: of all rows, or (from 1) of those with a reward."""
        _, size, squares = self._sums.value[first:, :, column].sum(axis=0)
        return float(size**2 / squares) if squares > 0 else 0.0

    def largest(self, column, first=0):
        """Largest size of a column; of rows as of `effective`."""
        return float(self._largest[first:, column].max())

    def beyond(self, policy):
        """Share of what a policy does that is not in the log, as far as propensities of 1 tell."""
        return float(self._mass.value[1, policy] / self.totals[0])

    def carried(self, policy, column):
        """What carries a policy's estimate, by the names of `Support` in log_values.

        ``column`` is the one whose sizes count.
        """
        total = self.totals[self.columns.place("weight", policy)]
        effective, largest = self.of_draws(column)
        return {
            "rows": self.rows,
            "rows_agreed": int(self._agreed[policy]),
            "rows_rewarded": int(self._rewarded[policy]),
            "effective_rows": effective,
            "largest_weight": float(self._weight[policy]),
            "largest_share": largest,
            "thin_share": float(self._mass.value[0, policy] / total) if total > 0 else 0.0,
        }


def _crowd(fourth, squares):
    """Share of one draw in a squared error, by its size; 0 where there is no error."""
    return fourth / squares**2 if squares else 0.0


def _halves(batch):
    """Rows of reward 0 (the others stand for none), then those others; each with their k."""
    some, k = np.flatnonzero(batch["reward"] != 0), batch["weight"]
    if len(some) < len(k):
        zero = k / batch["keep_rate"]
        zero[some] = 0
        yield True, batch, zero
        batch = {name: values.take(some, axis=0) for name, values in batch.items()}
        k = batch["weight"]
    if len(k):
        yield False, batch, k


def steps(batch):
    """A batch in parts of at most `STEP` rows."""
    for start in range(0, len(batch["reward"]), STEP):
        yield {name: values[start : start + STEP] for name, values in batch.items()}


def few_users(count) -> bool:
    """Whether rows are of users, and these are few."""
    return 0 < count < FEW_USERS


def hull(*intervals):
    """Interval that holds all of them, NaN ends left out: of few users, whose rewards come together
    and are no counts, what counts say and how users differ."""
    low, high = zip(*intervals, strict=True)
    return float(np.fmin.reduce(low)), float(np.fmax.reduce(high))


def begun(
    policies,
    clusters=0,
    *,
    thin=0.01,
    limit="none",
    limit_at=10.0,
    modelled=False,
    in_one_pass=False,
):
    """`LogSums` without a row; parameters as of `counterweight.evaluation.log_values`."""
    columns = Columns(policies, None if limit == "none" else (limit, limit_at), modelled)
    return LogSums(columns, clusters, thin, in_one_pass or columns.count <= MOST_COLUMNS)
