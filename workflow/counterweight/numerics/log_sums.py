"""Sums over the rows of a log that values of policies are made of, and moments of influences.

One pass over the rows, a batch at a time; sums of partitions are merged by adding. The influence
of a row on an estimate is linear in a few columns of the row, with factors that only the whole log
tells. Its moments come from sums of products of up to four columns (`Products`), which hold few
numbers; where the independent draws are clusters, or the policies are many, from the influences
themselves (`Moments`).
"""

import math

import numpy as np

from counterweight.numerics.zero_rejection import keep_weights

#: Rows whose columns are held at once: they stay in a processor's cache.
STEP = 1 << 13
#: Numbers of products that are held at once.
ROOM = 1_000_000
#: Most columns whose products are summed; of more, the log is read a second time.
MOST_COLUMNS = 24
_RUNNING = ("_total", "_size", "_squares", "_mass")
_PLAIN = ("_largest", "_weight", "_agreed", "_rewarded")
_PRODUCTS = ("second", "third", "fourth", "shift")
_NUMBERS = ("rows", "nonzero", "least", "most", "subsampled", "_heaviest")


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
    """The columns of a log, made of its rows, and where each stands.

    In order: k, k r; k w and k w r of each policy; with weights that are cut (how, and at what, see
    `limited_weights`) k w' r and k (w - w') of each; with a reward model (``q``, ``v``) k v and k w
    (r - q) of each. ``limited`` and ``modelled`` are the first of these columns, None without.
    """

    def __init__(self, policies, cut=None, modelled=False):
        self.policies, self.cut = policies, cut
        self.end = 2 + 2 * policies
        #: First of the columns of limited weights and of the reward model; None without.
        self.limited = None if cut is None else self.end
        after = self.end + (0 if cut is None else 2 * policies)
        self.modelled = after if modelled else None
        self.count = after + (2 * policies if modelled else 0)

    def of(self, batch):
        """Array (columns, n) of a batch of `counterweight.evaluation.values.log_values`."""
        reward, p, end = batch["reward"], batch["p"].T, self.end
        k = batch["weight"] * keep_weights(reward, batch["keep_rate"])
        made = np.empty((self.count, len(reward)))
        made[0], made[1] = k, k * reward
        made[2:end:2] = p * (k / batch["propensity"])
        made[3:end:2] = made[2:end:2] * reward
        if self.limited:
            weight, after = p / batch["propensity"], end + 2 * self.policies
            less = limited_weights(weight, *self.cut)
            made[end:after:2] = less * (k * reward)
            made[end + 1 : after : 2] = (weight - less) * k
        if self.modelled:
            made[self.modelled :: 2] = batch["v"].T * k
            made[self.modelled + 1 :: 2] = made[2:end:2] * (reward - batch["q"].T)
        return made

    def used(self, zeros):
        """Columns that are not 0 in all rows whose reward is 0 (`zeros`), or in others."""
        used = np.ones(self.count, bool)
        if zeros:
            used[1 : self.end : 2] = False
            if self.limited:
                used[self.limited : self.limited + 2 * self.policies : 2] = False
        return np.flatnonzero(used)

    def change(self, reward, predictions):
        """Matrix T, by which columns are made of others that keep more digits, ``T.T @ others``.

        In these, rewards are taken from a typical `reward`, weights from 1 and v from typical
        `predictions` (policies,): k, k (r - s), k (w - 1), k (w - 1) (r - s), k w' (r - s), ...
        """
        made, s = np.eye(self.count), reward
        made[0, 1] = s
        for place in range(self.policies):
            weight = 2 + 2 * place
            made[0, weight] = 1.0
            made[[0, 1, weight], weight + 1] = s, 1.0, s
            if self.limited:
                less = self.limited + 2 * place
                made[[0, weight, less + 1], less] = s, s, -s
            if self.modelled:
                made[0, self.modelled + 2 * place] = predictions[place]
        return made


class RunningSum:
    """Sum of small arrays over many batches, with the rounding carried along (Neumaier)."""

    def __init__(self, shape):
        self._sum = np.zeros(shape)
        self._lost = np.zeros(shape)

    def add(self, values):
        """Add an array of the shape."""
        new = self._sum + values
        larger = np.abs(self._sum) >= np.abs(values)
        self._lost += np.where(larger, (self._sum - new) + values, (values - new) + self._sum)
        self._sum = new

    @property
    def value(self):
        """The sum so far."""
        return self._sum + self._lost


class Products:
    """Sums over rows of the products of up to four columns, taken from typical values.

    Rows are those of reward 0 (`zeros`), which have fewer columns, or the others; ``count`` is the
    number of those that stand for some.
    """

    def __init__(self, columns, zeros):
        self._columns, self._zeros, self._used = columns, zeros, columns.used(zeros)
        size = len(self._used)
        self._pairs = np.triu_indices(size)
        pairs = len(self._pairs[0])
        self.count, self._shift = 0, None
        self._second, self._third = RunningSum((size, size)), RunningSum((size, pairs))
        self._fourth = RunningSum((pairs, pairs))

    def _change(self):
        reward, *predictions = self._shift or [0.0] * (1 + self._columns.policies)
        return self._columns.change(reward, predictions)[np.ix_(self._used, self._used)]

    def _begin(self, columns):
        """Typical values are the means of the first rows."""
        total, modelled = columns.sum(axis=1), self._columns.modelled
        typical = total / total[0] if total[0] > 0 else total
        predictions = [0.0] * self._columns.policies if modelled is None else typical[modelled::2]
        self._shift = [0.0 if self._zeros else float(typical[1]), *map(float, predictions)]
        self._back = np.linalg.inv(self._change()).T

    def add(self, columns):
        """Add rows, as columns (columns, n)."""
        used = columns[0] > 0
        columns = columns if used.all() else columns[:, used]
        if not columns.shape[1]:
            return
        if self._shift is None:
            self._begin(columns)
        self.count += columns.shape[1]
        first, second = self._pairs
        size = max(ROOM // len(first), 1)
        for start in range(0, columns.shape[1], size):
            part = self._back @ columns[self._used, start : start + size]
            pairs = part[first] * part[second]
            self._second.add(part @ part.T)
            self._third.add(part @ pairs.T)
            self._fourth.add(pairs @ pairs.T)

    def of(self, own):
        """Sums of c^2, c^3, c^4 and of each column times c, for c = own @ columns."""
        change, cross = self._change(), np.zeros(len(own))
        own = change @ own[self._used]
        first, second = self._pairs
        twice = np.where(first == second, 1.0, 2.0) * own[first] * own[second]
        crossed = self._second.value @ own
        third = own @ self._third.value @ twice
        cross[self._used] = change.T @ crossed
        return max(own @ crossed, 0.0), third, twice @ self._fourth.value @ twice, cross

    def to_arrays(self):
        arrays = {name: getattr(self, f"_{name}").value for name in _PRODUCTS[:3]}
        shift = self._shift or [0.0] * (1 + self._columns.policies)
        return arrays | {"shift": [self.count, *shift]}

    def use(self, arrays):
        for name in _PRODUCTS[:3]:
            getattr(self, f"_{name}").add(arrays[name])
        count, *shift = map(float, arrays["shift"])
        self.count, self._shift = int(count), shift


class ProductMoments:
    """As `Moments`, from the products of the rows, perhaps of several partitions."""

    def __init__(self, products, matrix):
        self.matrix, self._products = matrix, products
        self.count = sum(own.count for own in products)

    def of(self, number):
        """See `Moments.of`."""
        own = self.matrix[:, number]
        parts = [part.of(own) for part in self._products if part.count]
        return tuple(sum(values) for values in zip(*parts, strict=True))


class Moments:
    """Moments of the influence of the independent draws, from their columns."""

    def __init__(self, matrix):
        self.matrix, self.count = matrix, 0
        self._powers, self._cross = RunningSum((3, matrix.shape[1])), RunningSum(matrix.shape)

    def add(self, columns):
        """Add draws (columns, n)."""
        c = self.matrix.T @ columns
        squares = c * c
        powers = [part.sum(axis=1) for part in (squares, squares * c, squares * squares)]
        self._powers.add(np.stack(powers))
        self._cross.add(columns @ c.T)
        self.count += c.shape[1]

    def of(self, number):
        """Sums of c^2, c^3, c^4, and of each column times c, of one estimate."""
        return (*self._powers.value[:, number], self._cross.value[:, number])


class LogSums:
    """Sums of the columns of a log, by cluster too, and what the support is told by.

    `clusters` is 0 where every row stands for itself, `thin` the propensity below which support is
    thin. With `products` those of columns are summed; else moments need a second pass over the
    rows.
    """

    def __init__(self, columns, clusters=0, thin=0.01, products=True):
        self.columns = columns
        both = (True, False) if products and not clusters else ()
        #: Products of rows of reward 0 and of the others; of partitions one after the other.
        self.products = [Products(columns, zeros) for zeros in both]
        self._total, self._size, self._squares = (RunningSum(columns.count) for _ in range(3))
        self._largest = np.zeros(columns.count)
        self._mass, self._thin = RunningSum(columns.policies), thin
        self.groups = np.zeros((columns.count, clusters)) if clusters else None
        self.rows = self.nonzero = 0
        self.least, self.most, self.subsampled = 0.0, -math.inf, False
        self._agreed, self._rewarded = np.zeros((2, columns.policies), int)
        self._weight, self._heaviest = np.zeros(columns.policies), 0.0

    def add(self, batch):
        """Add a batch of `counterweight.evaluation.values.log_values`."""
        for part in steps(batch):
            self._add(part)

    def _add(self, batch):
        columns, reward = self.columns.of(batch), batch["reward"]
        propensity, some = batch["propensity"], reward != 0
        size = np.abs(columns)
        self._total.add(columns.sum(axis=1))
        self._size.add(size.sum(axis=1))
        self._squares.add(np.einsum("ij,ij->i", columns, columns))
        self._largest = np.maximum(self._largest, size.max(axis=1))
        self.rows += len(reward)
        self.nonzero += int(some.sum())
        self.subsampled |= bool((batch["keep_rate"][~some] < 1).any())
        self.least, self.most = min(self.least, reward.min()), max(self.most, reward.max())
        rewarded = columns[:, some]
        weights = slice(2, self.columns.end, 2)
        self._agreed += np.count_nonzero(columns[weights], axis=1)
        self._rewarded += np.count_nonzero(rewarded[weights], axis=1)
        if propensity.min() < self._thin:
            self._mass.add(columns[weights][:, propensity < self._thin].sum(axis=1))
        self._weight = np.maximum(self._weight, (batch["p"].T / propensity).max(axis=1))
        self._heaviest = max(self._heaviest, float(batch["weight"].max()))
        if self.groups is not None:
            for own, values in zip(self.groups, columns, strict=True):
                own += np.bincount(batch["cluster"], values, len(own))
        for own in self.products:
            own.add(columns[:, ~some] if own is self.products[0] else rewarded)

    def merge(self, other):
        """Add the sums of other rows."""
        for name in _RUNNING:
            getattr(self, name).add(getattr(other, name).value)
        for name in ("_largest", "_weight"):
            setattr(self, name, np.maximum(getattr(self, name), getattr(other, name)))
        if self.groups is not None:
            self.groups += other.groups
        for name in ("rows", "nonzero", "_agreed", "_rewarded"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.subsampled |= other.subsampled
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self._heaviest = max(self._heaviest, other._heaviest)
        self.products += other.products

    def to_arrays(self):
        """All of it as arrays by name; of clusters those that have a row."""
        arrays = {name[1:]: getattr(self, name).value for name in _RUNNING}
        arrays |= {name[1:]: getattr(self, name) for name in _PLAIN}
        arrays["numbers"] = [float(getattr(self, name)) for name in _NUMBERS]
        if self.groups is not None:
            arrays["clusters"] = np.flatnonzero(self.groups.any(axis=0))
            arrays["groups"] = self.groups[:, arrays["clusters"]]
        for number, own in enumerate(self.products):
            arrays |= {f"{name}.{number}": part for name, part in own.to_arrays().items()}
        return arrays

    def use(self, arrays):
        """Take what `to_arrays` gave of sums that were begun alike."""
        for name in _RUNNING:
            getattr(self, name).add(arrays[name[1:]])
        for name in _PLAIN:
            setattr(self, name, np.asarray(arrays[name[1:]]))
        for name, value in zip(_NUMBERS, arrays["numbers"], strict=True):
            setattr(self, name, type(getattr(self, name))(value))
        if self.groups is not None:
            self.groups[:, np.asarray(arrays["clusters"], int)] = arrays["groups"]
        count = sum(name.startswith("shift.") for name in arrays)
        self.products = [Products(self.columns, number % 2 == 0) for number in range(count)]
        for number, own in enumerate(self.products):
            own.use({name: arrays[f"{name}.{number}"] for name in _PRODUCTS})
        return self

    def moments(self, matrix, batches=None):
        """Moments of the influences ``matrix.T @ columns`` of the draws.

        ``batches()`` gives the rows once more, for sums without products.
        """
        if self.products:
            return ProductMoments(self.products, matrix)
        moments = Moments(matrix)
        if self.groups is not None:
            moments.add(self.groups[:, self.groups.any(axis=0)])
            return moments
        for batch in batches():
            for part in steps(batch):
                columns = self.columns.of(part)
                moments.add(columns[:, columns[0] > 0])
        return moments

    @property
    def totals(self):
        return self._total.value

    def draws(self, key, policies):
        """Sum of squares and largest weight of the independent draws behind a value."""
        column = rewards_of(key, policies)
        weight = self._heaviest * (self._weight[policies.index(key[1])] if key[1] else 1.0)
        if self.groups is None:
            return float(self._squares.value[column]), float(weight)
        own = self.groups[column]
        return float(own @ own), float(max(weight, np.abs(own).max()))

    def effective(self, column):
        """Effective rows of a column."""
        squares = self._squares.value[column]
        return float(self._size.value[column] ** 2 / squares) if squares > 0 else 0.0

    def carried(self, place, column):
        """What carries a policy's estimate, by the names of `Support` in log_values.

        ``column`` is the one whose sizes count.
        """
        total, size = self.totals[2 + 2 * place], self._size.value[column]
        return {
            "rows": self.rows,
            "rows_agreed": int(self._agreed[place]),
            "rows_rewarded": int(self._rewarded[place]),
            "effective_rows": self.effective(column),
            "largest_weight": float(self._weight[place]),
            "largest_share": float(self._largest[column] / size) if size > 0 else 1.0,
            "thin_share": float(self._mass.value[place] / total) if total > 0 else 0.0,
        }


def steps(batch):
    """A batch in parts of at most `STEP` rows."""
    for start in range(0, len(batch["reward"]), STEP):
        yield {name: values[start : start + STEP] for name, values in batch.items()}


def rewards_of(key, policies):
    """Column of the rewards behind a value."""
    return 3 + 2 * policies.index(key[1]) if key[1] else 1


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
    """`LogSums` without a row; parameters as of `counterweight.evaluation.values.log_values`."""
    columns = Columns(policies, None if limit == "none" else (limit, limit_at), modelled)
    return LogSums(columns, clusters, thin, in_one_pass or columns.count <= MOST_COLUMNS)
