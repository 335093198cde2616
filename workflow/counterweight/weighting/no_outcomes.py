"""Regions where nobody has an outcome: runs of unlabeled rows in one column, low p(labeled | x)."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers

#: Chance that labels hidden at random leave any region empty that is then told.
BY_CHANCE = 1e-3
#: Rows whose kind has an outcome less than this fraction as often as all are unsupported.
FRACTION = 0.05
#: Chance that the share of labeled rows of such a kind is above its bound.
BOUND = 0.05


@dataclass
class EmptyRanges:
    """Values of a number at which many rows are and none has an outcome.

    Attributes
    ----------
    column : int array (R,)
    low, high : array (R,)
        A value is in the range if it is above `low` and below `high`; the ends are values of
        labeled rows, or infinite.
    """

    column: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def none(cls):
        return cls(np.zeros(0, int), np.zeros(0), np.zeros(0))

    @classmethod
    def find(cls, X, unlabeled, columns):
        """Ranges without any of the labeled rows X (n, d) and too many of the unlabeled (N, d).

        With labels at random K rows in a run have none with the chance (1 - n / (n + N))^K; it is
        multiplied by the number of runs looked at: beyond both ends of each of the `columns`, and
        n - 1 gaps in each, which share `BY_CHANCE` evenly.
        """
        n, hidden = len(X), len(unlabeled)
        made = []
        if not hidden or not len(columns):
            return cls.none()
        lost = -np.log1p(-n / (n + hidden))
        tail, gap = (
            (np.log(tests) - np.log(BY_CHANCE / 2)) / lost
            for tests in (2 * len(columns), max(1, n - 1) * len(columns))
        )
        for k in columns:
            known = np.unique(X[:, k])
            value = np.sort(unlabeled[:, k])
            # Unlabeled rows strictly between one labeled value and the next.
            up_to = np.searchsorted(value, known, side="right")
            before = np.searchsorted(value, known, side="left")
            run = np.append(before, hidden) - np.append(0, up_to)
            least = np.full(len(run), gap)
            least[[0, -1]] = tail
            for at in np.flatnonzero(run >= least):
                low = known[at - 1] if at else -np.inf
                made.append((k, low, known[at] if at < len(known) else np.inf))
        if not made:
            return cls.none()
        column, low, high = zip(*made, strict=True)
        return cls(np.array(column, int), np.array(low, float), np.array(high, float))

    @classmethod
    def of(cls, arrays):
        column = np.asarray(arrays["column"], int).reshape(-1)
        return cls(column, *(np.asarray(arrays[k], float).reshape(-1) for k in ("low", "high")))

    def hold(self, X):
        """Which range holds each row, int (m,); -1 for none."""
        found = np.full(len(X), -1)
        for at in range(len(self.column) - 1, -1, -1):
            x = X[:, self.column[at]]
            found[(x > self.low[at]) & (x < self.high[at])] = at
        return found

    def words(self, names):
        """What is told of each range."""
        told = []
        for k, low, high in zip(self.column, self.low, self.high, strict=True):
            if np.isinf(low):
                place = f"below {high:.6g}"
            elif np.isinf(high):
                place = f"above {low:.6g}"
            else:
                place = f"between {low:.6g} and {high:.6g}"
            told.append(f"{names[k]} {place}: nobody there has an outcome")
        return np.asarray(told, dtype=object)

    def nearest(self, X):
        """Rows with each number moved to the nearer end of the range that it is in."""
        X = np.array(X, float)
        for k, low, high in zip(self.column, self.low, self.high, strict=True):
            x = X[:, k]
            inside = (x > low) & (x < high)
            X[inside, k] = np.where(x - low <= high - x, low, high)[inside]
        return X


def least_chance(p, p_unlabeled):
    """p(labeled | x) at and below which hardly anybody has an outcome; -infinite for none.

    `p` (n,) of the labeled rows, `p_unlabeled` (N,) of the others, cross-fitted. Blocks of the
    score are pooled until their shares of labeled rows rise (isotonic regression). From the lowest,
    blocks are taken while chance may have brought their share above `FRACTION` of the share of all;
    the threshold is the largest score at which the upper confidence bound (Clopper & Pearson 1934)
    of the share of all rows up to it is below that fraction.
    """
    from scipy.stats import beta
    from sklearn.isotonic import isotonic_regression

    p, other = as_numbers(p, "chances"), as_numbers(p_unlabeled, "chances")
    if p.ndim != 1 or other.ndim != 1 or not len(p):
        raise CounterweightError("Chances of a label are one for each row.")
    value, inverse, count = np.unique(np.r_[p, other], return_inverse=True, return_counts=True)
    labeled = np.bincount(inverse[: len(p)], minlength=len(value)).astype(float)
    share = isotonic_regression(labeled / count, sample_weight=count.astype(float))
    limit = FRACTION * len(p) / (len(p) + len(other))
    _, block = np.unique(share, return_inverse=True)
    hits, size = np.bincount(block, labeled), np.bincount(block, count)
    least = np.where(hits > 0, beta.ppf(BOUND, np.maximum(hits, 1), size - hits + 1), 0)
    low = np.cumprod(least <= limit).astype(bool)[block]
    seen, rows = np.cumsum(labeled), np.cumsum(count)
    most = np.ones(len(value))
    most[low] = beta.ppf(1 - BOUND, seen[low] + 1, np.maximum(rows - seen, 1e-9)[low])
    fits = np.flatnonzero(low & (most <= limit))
    return float(value[fits[-1]]) if len(fits) else -np.inf
