"""Sums of a log's columns, batch by batch or partition by partition, and their moments.

`LogSums` of the partitions of a log are merged by adding. The moments of an influence need the
totals of the whole log, so a log in one piece is read twice; of a partition the sums of all
products of up to four columns are kept in place, with rewards taken from a typical one of the
partition, so that digits are not lost where rewards vary little.
"""

import math

import numpy as np

from counterweight.evaluation.values.sums import FEW, RunningSum
from counterweight.evaluation.values.support import (
    FEW_REWARDS,
    FEW_ROWS,
    LIMITED,
    Support,
    limited_weights,
    support_flag,
)
from counterweight.numerics.zero_rejection import keep_weights

#: Numbers of products that are held at once.
ROOM = 400_000


def columns_of(batch, cut=None):
    """Columns (n, 2 + 2 policies): k, k r, then k w and k w r of each policy.

    With weights that are `cut` (how, and at what) 2 more of each policy: k w' r and k (w - w').
    With a reward model (``q``, ``v`` of each policy) 2 more at the end: k v and k w (r - q).
    """
    reward, p = batch["reward"], batch["p"]
    k = batch["weight"] * keep_weights(reward, batch["keep_rate"])
    end = 2 + 2 * p.shape[1]
    columns = np.empty((len(reward), end if cut is None else 2 * end - 2), order="F")
    columns[:, 0], columns[:, 1] = k, k * reward
    columns[:, 2:end:2] = p * (k / batch["propensity"])[:, None]
    columns[:, 3:end:2] = columns[:, 2:end:2] * reward[:, None]
    if cut is not None:
        weight = p / batch["propensity"][:, None]
        less = limited_weights(weight, *cut)
        columns[:, end::2] = less * (k * reward)[:, None]
        columns[:, end + 1 :: 2] = (weight - less) * k[:, None]
    if "q" in batch:
        modelled = np.empty((len(reward), 2 * p.shape[1]), order="F")
        modelled[:, ::2] = batch["v"] * k[:, None]
        modelled[:, 1::2] = columns[:, 2:end:2] * (reward[:, None] - batch["q"])
        columns = np.asfortranarray(np.hstack([columns, modelled]))
    return columns


class LogSums:
    """Sums of the columns of a log, by cluster too, and what the support is told by.

    Parameters
    ----------
    policies, clusters : int
    thin : float
    cut : (str, float) or None
        See `columns_of`.
    products : bool
        Whether to keep sums of products, too, in place of a second pass over the rows.
    modelled : bool
        Whether batches have the ``q`` and ``v`` of a reward model.
    """

    def __init__(self, policies, clusters, thin, cut, products=False, modelled=False):
        self.products = [Products(policies, cut)] if products and not clusters else []
        self._end, self.cut = 2 + 2 * policies, cut
        columns = self._end if cut is None else 2 * self._end - 2
        #: First of the columns of the reward model; None without one.
        self.modelled = columns if modelled else None
        columns += 2 * policies if modelled else 0
        self._total, self._size, self._squares = (RunningSum(columns) for _ in range(3))
        self._largest = np.zeros(columns)
        self._mass, self._thin = RunningSum(policies), thin
        self.groups = np.zeros((clusters, columns)) if clusters else None
        self.rows = self.nonzero = 0
        self.least, self.most, self.subsampled = 0.0, -math.inf, False
        self._agreed, self._rewarded = np.zeros((2, policies), int)
        self._weight, self._heaviest = np.zeros(policies), 0.0

    def add(self, batch):
        columns, reward, p = columns_of(batch, self.cut), batch["reward"], batch["p"]
        if not len(reward):
            return
        size, some = np.abs(columns), reward != 0
        self._total.add(columns.sum(axis=0))
        self._size.add(size.sum(axis=0))
        self._squares.add((size * size).sum(axis=0))
        self._largest = np.maximum(self._largest, size.max(axis=0))
        if self.groups is not None:
            for place in range(columns.shape[1]):
                self.groups[:, place] += np.bincount(
                    batch["cluster"], columns[:, place], len(self.groups)
                )
        self.rows += len(reward)
        self.nonzero += int(some.sum())
        self.subsampled |= bool((batch["keep_rate"][~some] < 1).any())
        self.least, self.most = min(self.least, reward.min()), max(self.most, reward.max())
        weights = columns[:, 2 : self._end : 2]
        self._agreed += (weights > 0).sum(axis=0)
        self._rewarded += (weights[some] > 0).sum(axis=0)
        self._mass.add(weights[batch["propensity"] < self._thin].sum(axis=0))
        largest = (p / batch["propensity"][:, None]).max(axis=0)
        self._weight = np.maximum(self._weight, largest)
        self._heaviest = max(self._heaviest, float(batch["weight"].max()))
        for own in self.products:
            own.add(columns, float(reward.mean()))

    def merge(self, other):
        """Add the sums of other rows."""
        for name in ("_total", "_size", "_squares", "_mass"):
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
            arrays["clusters"] = np.flatnonzero(self.groups.any(axis=1))
            arrays["groups"] = self.groups[arrays["clusters"]]
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
            self.groups[np.asarray(arrays["clusters"], int)] = arrays["groups"]
        if self.products:
            count = sum(name.startswith("shift.") for name in arrays)
            self.products = [Products(len(self._agreed), self.cut) for _ in range(count)]
        for number, own in enumerate(self.products):
            own.use({name: arrays[f"{name}.{number}"] for name in _PRODUCTS})
        return self

    @property
    def totals(self):
        return self._total.value

    def bounds(self, given):
        low, high = given or (None, None)
        return (self.least if low is None else low, self.most if high is None else high)

    def few(self, key, policies):
        """Whether a value rests on fewer than `FEW` effective rewards."""
        return self.effective(rewards_of(key, policies)) < FEW

    def draws(self, key, policies):
        """Sum of squares and largest weight of the independent draws behind a value."""
        column = rewards_of(key, policies)
        weight = self._heaviest * (self._weight[policies.index(key[1])] if key[1] else 1.0)
        if self.groups is None:
            return float(self._squares.value[column]), float(weight)
        own = self.groups[:, column]
        return float(own @ own), float(max(weight, np.abs(own).max()))

    def effective(self, column):
        """Effective rows of a column."""
        squares = self._squares.value[column]
        return float(self._size.value[column] ** 2 / squares) if squares > 0 else 0.0

    def support(self, place, estimator, mean_weight, clusters):
        """The `Support` of one policy."""
        weight = 2 + 2 * place
        column = weight + (estimator == "ips")
        column = weight - 2 + self._end if estimator == LIMITED else column
        total, size = self.totals[weight], self._size.value[column]
        known = {
            "rows_agreed": int(self._agreed[place]),
            "rows_rewarded": int(self._rewarded[place]),
            "effective_rows": self.effective(column),
            "largest_weight": float(self._weight[place]),
            "largest_share": float(self._largest[column] / size) if size > 0 else 1.0,
        }
        return Support(
            rows=self.rows,
            clusters=clusters,
            mean_weight=mean_weight,
            thin_share=float(self._mass.value[place] / total) if total > 0 else 0.0,
            flag=support_flag(
                mean_weight, known, FEW_REWARDS if estimator in ("ips", LIMITED) else FEW_ROWS
            ),
            **known,
        )


_RUNNING = ("_total", "_size", "_squares", "_mass")
_PLAIN = ("_largest", "_weight", "_agreed", "_rewarded")
_PRODUCTS = ("second", "third", "fourth", "shift")
_NUMBERS = ("rows", "nonzero", "least", "most", "subsampled", "_heaviest")


def rewards_of(key, policies):
    """Column of the rewards behind a value."""
    return 3 + 2 * policies.index(key[1]) if key[1] else 1


class Moments:
    """Moments of the influence of the independent draws: rows, or clusters."""

    def __init__(self, columns, matrix):
        self.matrix, self.count = matrix, 0
        estimates = matrix.shape[1]
        self._powers, self._cross = RunningSum((3, estimates)), RunningSum((columns, estimates))

    def add(self, columns):
        # An estimate's influences stand side by side, so that NumPy sums them in pairs.
        c = (self.matrix.T @ columns.T).T
        squares = c * c
        powers = [squares.sum(axis=0), (squares * c).sum(axis=0), (squares * squares).sum(axis=0)]
        self._powers.add(np.stack(powers))
        self._cross.add(columns.T @ c)
        self.count += len(c)

    def of(self, number):
        """Sums of c^2, c^3, c^4, and of each column times c, of one estimate."""
        return (*self._powers.value[:, number], self._cross.value[:, number])


class Products:
    """Sums over rows of the products of up to four columns.

    The columns are those of `columns_of` with rewards taken from a typical one, which is the mean
    of the first batch: ``k (r - s)`` for ``k r`` and so on; what was asked of the columns as they
    are is asked of these by a linear change (`_shifted`).

    Parameters
    ----------
    policies : int
    cut : (str, float) or None

    Attributes
    ----------
    count : int
        Rows that stand for some.
    """

    def __init__(self, policies, cut):
        columns = (2 if cut is None else 4) * policies + 2
        self._policies, self._limited = policies, cut is not None
        self._pairs = np.triu_indices(columns)
        pairs = len(self._pairs[0])
        self.count, self._shift = 0, None
        self._second = RunningSum((columns, columns))
        self._third, self._fourth = RunningSum((columns, pairs)), RunningSum((pairs, pairs))

    def _shifted(self):
        """Matrix T: the columns as they are, from those with rewards from the shift."""
        matrix, shift = np.eye(len(self._second.value)), self._shift or 0.0
        for weight in range(0, 2 + 2 * self._policies, 2):
            matrix[weight + 1, weight] = shift
        if self._limited:
            # k w' r = k w' (r - s) + s (k w - k (w - w'))
            end = 2 + 2 * self._policies
            for place in range(self._policies):
                matrix[end + 2 * place, 2 + 2 * place] = shift
                matrix[end + 2 * place, end + 2 * place + 1] = -shift
        return matrix

    def add(self, columns, typical):
        """Add rows; `typical` is a reward."""
        if self._shift is None:
            self._shift = typical
        used = columns[:, 0] > 0
        columns = columns if used.all() else columns[used]
        self.count += len(columns)
        back = np.linalg.inv(self._shifted())
        first, second = self._pairs
        size = max(ROOM // len(first), 1)
        for start in range(0, len(columns), size):
            part = columns[start : start + size] @ back.T
            pairs = part[:, first] * part[:, second]
            self._second.add(part.T @ part)
            self._third.add(part.T @ pairs)
            self._fourth.add(pairs.T @ pairs)

    def of(self, own):
        """Sums of c^2, c^3, c^4 and of each column times c, for c = columns @ own."""
        change = self._shifted()
        own = change.T @ own
        first, second = self._pairs
        twice = np.where(first == second, 1.0, 2.0) * own[first] * own[second]
        cross = self._second.value @ own
        third = own @ self._third.value @ twice
        return own @ cross, third, twice @ self._fourth.value @ twice, change @ cross

    def to_arrays(self):
        arrays = {name: getattr(self, f"_{name}").value for name in ("second", "third", "fourth")}
        return arrays | {"shift": [self._shift or 0.0, self.count]}

    def use(self, arrays):
        for name in ("second", "third", "fourth"):
            getattr(self, f"_{name}").add(arrays[name])
        shift, count = arrays["shift"]
        self._shift, self.count = float(shift), int(count)


class ProductMoments:
    """As `Moments`, from the products of the partitions of a log."""

    def __init__(self, products, matrix):
        self.matrix, self._products = matrix, products
        self.count = sum(own.count for own in products)

    def of(self, number):
        """See `Moments.of`."""
        own = self.matrix[:, number]
        parts = [part.of(own) for part in self._products]
        return tuple(sum(values) for values in zip(*parts, strict=True))
