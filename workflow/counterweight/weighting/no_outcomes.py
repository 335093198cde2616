"""Regions where hardly anybody has an outcome: runs of one column, tails, low p(labeled | x); and
what is known of a mean whose rows lie there.

Of rows that resemble labeled ones a mean has an interval. Of those unlike all of them nothing is
known but what is assumed: anything at all (Manski 2003), odds off by a factor, or a score between
that of the nearest supported features and twice the way from there to what the model says.
"""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, in_figures
from counterweight.numerics.checks import as_numbers
from counterweight.numerics.sensitivity import TWICE, step_bounds
from counterweight.numerics.tilt import tilted

#: Chance that labels hidden at random leave any region empty that is then told.
BY_CHANCE = 1e-3
#: Rows whose kind has an outcome less than this fraction as often as all are unsupported.
FRACTION = 0.05
#: Chance that the share of labeled rows of such a kind is above its bound.
BOUND = 0.05
#: Labeled rows up to which a tail is unsupported at twice `FRACTION`: so few tell of no more.
FEW = 25
#: Share of those that answers are for above which bounds stand in place of the estimate; and of the
#: rows without an outcome, where answers are for others, too.
MOST_UNSUPPORTED, MOST_HIDDEN = 0.05, 0.2
#: Share that rests on data which is all of it.
ALL = 1 - 1e-9


@dataclass
class EmptyRanges:
    """Values of a number at which many rows are and none, or hardly any, has an outcome.

    Attributes
    ----------
    column : int array (R,)
    low, high : array (R,)
        A value is in the range if it is above `low` and below `high`; the ends are values of
        labeled rows, or infinite.
    scarce : bool array (R,)
        Whether some of the rows in the range are labeled.
    """

    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scarce: np.ndarray

    @classmethod
    def none(cls):
        return cls(np.zeros(0, int), np.zeros(0), np.zeros(0), np.zeros(0, bool))

    @classmethod
    def find(cls, X, unlabeled, columns):
        """Ranges with none, or hardly any, of the labeled rows X (n, d) and too many of the
        unlabeled (N, d).

        With labels at random K rows in a run have none with the chance (1 - n / (n + N))^K; it is
        multiplied by the number of runs looked at: beyond both ends of each of the `columns`, and
        n - 1 gaps in each, which share `BY_CHANCE` evenly. A tail is told, too, where hardly any
        row has one; see `_scarce_tails`.
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
            known, count = np.unique(X[:, k], return_counts=True)
            value = np.sort(unlabeled[:, k])
            # Unlabeled rows strictly between one labeled value and the next.
            up_to = np.searchsorted(value, known, side="right")
            before = np.searchsorted(value, known, side="left")
            run = np.append(before, hidden) - np.append(0, up_to)
            least = np.full(len(run), gap)
            least[[0, -1]] = tail
            ends = np.r_[-np.inf, known, np.inf]
            made += [(k, ends[at], ends[at + 1], False) for at in np.flatnonzero(run >= least)]
            tails = _scarce_tails(X[:, k], value, known, count, before, up_to)
            made += [(k, low, high, True) for low, high in tails]
        if not made:
            return cls.none()
        column, low, high, scarce = zip(*made, strict=True)
        ends = np.array(low, float), np.array(high, float)
        return cls(np.array(column, int), *ends, np.array(scarce, bool))

    @classmethod
    def of(cls, arrays):
        """Ranges from arrays by name; files of 1.0.1 know of none with labeled rows."""
        column = np.asarray(arrays["column"], int).reshape(-1)
        ends = (np.asarray(arrays[k], float).reshape(-1) for k in ("low", "high"))
        scarce = np.asarray(arrays.get("scarce", np.zeros(len(column)))).reshape(-1)
        return cls(column, *ends, scarce.astype(bool))

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
        ranges = zip(self.column, self.low, self.high, self.scarce, strict=True)
        for k, low, high, scarce in ranges:
            if np.isinf(low):
                place = f"below {in_figures(high, 6)}"
            elif np.isinf(high):
                place = f"above {in_figures(low, 6)}"
            else:
                place = f"between {in_figures(low, 6)} and {in_figures(high, 6)}"
            who = "hardly anybody" if scarce else "nobody"
            told.append(f"{names[k]} {place}: {who} there has an outcome")
        return np.asarray(told, dtype=object)

    def nearest(self, X):
        """Rows with each number moved to the nearer end of the range that it is in."""
        X = np.array(X, float)
        for k, low, high in zip(self.column, self.low, self.high, strict=True):
            x = X[:, k]
            inside = (x > low) & (x < high)
            X[inside, k] = np.where(x - low <= high - x, low, high)[inside]
        return X


def _scarce_tails(x, unlabeled, known, count, before, up_to):
    """Ranges, as pairs of ends, at which hardly any row has an outcome: none, or one an end.

    The value is taken for the score of `least_chance`, and its negative: shares of labeled rows
    rise from the end. `x` (n,) are labeled rows' values, `unlabeled` (N,) the others' in order,
    `known` those labeled in order, once each with their `count`, and how many unlabeled ones lie
    `before` each and `up_to` it.
    """
    hidden, seen = len(unlabeled), np.cumsum(count)
    most = 2 * FRACTION * len(x) / (len(x) + hidden)
    # Those at each end without any outcome, a range of their own, prove nothing of the others.
    below, above = np.append(before[1:], hidden) - before[0], up_to[-1] - np.append(0, up_to[:-1])
    other, found = len(x) - seen + count, []
    few_below, few_above = seen <= most * (seen + below), other <= most * (other + above)
    if few_below.any():
        at = np.searchsorted(known, least_chance(x, unlabeled, FEW), side="right")
        if 0 < at < len(known) and few_below[at - 1]:
            found.append((-np.inf, known[at]))
    if few_above.any():
        at = np.searchsorted(known, -least_chance(-x, -unlabeled, FEW), side="left")
        if 0 < at < len(known) and few_above[at]:
            found.append((known[at - 1], np.inf))
    return found


def least_chance(p, p_unlabeled, few=-1):
    """p(labeled | x) at and below which hardly anybody has an outcome; -infinite for none.

    `p` (n,) of the labeled rows, `p_unlabeled` (N,) of the others, cross-fitted. Blocks of the
    score are pooled until their shares of labeled rows rise (isotonic regression). From the lowest,
    blocks are taken while chance may have brought their share above `FRACTION` of the share of all;
    the threshold is the largest score at which the upper confidence bound (Clopper & Pearson 1934)
    of the share of all rows up to it is below that fraction; below twice as much where at most
    `few` labeled rows are up to it.
    """
    from scipy.stats import beta
    from sklearn.isotonic import isotonic_regression

    p, other = as_numbers(p, "chances"), as_numbers(p_unlabeled, "chances")
    if p.ndim != 1 or other.ndim != 1 or not len(p):
        raise CounterweightError("Chances of a label are one for each row.")
    value, inverse, count = np.unique(np.r_[p, other], return_inverse=True, return_counts=True)
    labeled = np.bincount(inverse[: len(p)], minlength=len(value)).astype(float)
    share = isotonic_regression(labeled / count, sample_weight=count.astype(float))
    seen, rows = np.cumsum(labeled), np.cumsum(count)
    limit = FRACTION * len(p) / (len(p) + len(other)) * np.where(seen <= few, 2.0, 1.0)
    _, block = np.unique(share, return_inverse=True)
    hits, size = np.bincount(block, labeled), np.bincount(block, count)
    least = np.where(hits > 0, beta.ppf(BOUND, np.maximum(hits, 1), size - hits + 1), 0)
    low = np.cumprod(least[block] <= limit).astype(bool)
    most = np.ones(len(value))
    most[low] = beta.ppf(1 - BOUND, seen[low] + 1, np.maximum(rows - seen, 1e-9)[low])
    fits = np.flatnonzero(low & (most <= limit))
    return float(value[fits[-1]]) if len(fits) else -np.inf


@dataclass(frozen=True)
class Ends:
    """Of the rows without an outcome (N,): what is expected of each and between what it lies.

    `expected` (N,), `supported` (N,) of bool, `design` (N,); `anything` are the least and largest
    outcome; `twice` and `slope` are pairs of arrays (N,), None where nothing is told.
    """

    expected: np.ndarray
    supported: np.ndarray
    design: np.ndarray
    anything: tuple
    twice: tuple
    slope: tuple | None

    def kinds(self):
        """Ends by kind of bounds: pairs of numbers or of arrays (N,)."""
        return {"worst": self.anything, f"gamma={TWICE:g}": self.twice, "slope": self.slope}


def ends_of(saved, lost, expected, supported, design, seen):
    """`Ends` of rows without an outcome, by the saved model.

    `lost` are the encoded rows that are not `supported` (N,), a mask. `seen` are known outcomes,
    their out-of-fold residuals and weights to the rows without one: of a number, odds off by a
    factor of 2 are residuals weighted up to twice as much.
    """
    y, residual, weight = seen
    if saved.binary:
        anything = 0.0, 1.0
        twice = tuple(tilted(expected, side * np.log(TWICE)) for side in (-1, 1))
    else:
        anything = float(y.min()), float(y.max())
        low, high, *_ = step_bounds(residual, weight, (1.0, TWICE))
        twice = expected + (low[1] - low[0]), expected + (high[1] - high[0])
    slope = _slope(saved, lost, expected, ~supported)
    return Ends(expected, supported, design, anything, twice, slope)


def _slope(saved, rows, expected, asked):
    """Answers at the nearest supported features and twice as far as the model goes from there, of
    the encoded rows that are `asked` for, a mask; of others what is expected.

    What is expected of a row, calibrated as it may be, lies between them.

    None with a tilt, which moves scores by what no feature says.
    """
    if saved.tilt is not None:
        return None
    made, expected = (expected.copy(), expected.copy()), expected[asked]
    X = rows.dense()
    nearest, numbers = saved.support.nearest(X), rows.numbers.copy()
    for at, feature in enumerate(rows.encoder.features_):
        moved = nearest[:, at] != X[:, at]
        if feature.kind == "number" and moved.any():
            numbers[moved, rows.names.index(feature.column)] = nearest[moved, at]
    there = type(rows)(rows.encoder, rows.row, numbers, rows.codes, rows.unseen)
    flat, own = saved.model.score(there), saved.model.score(rows)
    ends = saved.model.answers(flat), saved.model.answers(2 * own - flat)
    made[0][asked] = np.minimum(expected, np.minimum(*ends))
    made[1][asked] = np.maximum(expected, np.maximum(*ends))
    return made


def identified_records(ends, known, share, error_of, metric, exact=False):
    """Records of what rests on data among those that answers are for, and bounds of their mean.

    `ends` are `Ends`, `known` is what known outcomes add to the mean, `share` that of rows without
    an outcome among those that answers are for. ``error_of(mask)`` gives the mean, its error and
    the ends of its interval, of the hidden rows of a mask. `metric` is that of the mean; `exact`
    says that the mean of all of them is given, so that nothing bounds it.

    Beside the records stand the worst ends, None where all of them rest on data or enough does.
    """
    design, on = ends.design / ends.design.sum(), ends.supported
    beyond = float(design[~on].sum())
    rests = 1 - share * beyond
    records = [{"metric": "supported_share", "value": rests}]
    if rests > ALL or exact:
        return records, None
    mean, error, low, high = error_of(on) if on.any() else (0.0,) * 4
    inner = share * (1 - beyond)
    if rests > 1 - ALL:
        told = ((known + inner * end) / rests for end in (mean, low, high))
        for variable, value in zip(("", "low", "high"), told, strict=True):
            place = (
                {"variable": variable} if variable else {"standard_error": inner * error / rests}
            )
            records.append({"metric": metric, "part": "supported", "value": value} | place)
    worst = None
    for kind, pair in ends.kinds().items():
        if pair is None:
            continue
        least, most = (
            share * float(design[~on] @ np.broadcast_to(end, on.shape)[~on]) for end in pair
        )
        found = known + inner * low + least, known + inner * high + most
        found = tuple(np.clip(found, *(known + share * end for end in ends.anything)))
        worst = found if kind == "worst" else worst
        records += [
            {"metric": "target_bounds", "part": kind, "variable": variable, "value": value}
            for variable, value in zip(("low", "high"), found, strict=True)
        ]
    far = share * beyond > MOST_UNSUPPORTED or beyond > MOST_HIDDEN
    records.append({"metric": "unsupported_headline", "value": float(far)})
    return records, worst if far else None
