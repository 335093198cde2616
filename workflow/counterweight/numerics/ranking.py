"""Area under the ROC curve: weighted, from one sort of the scores, with its interval; and whether
the highest scores are as high as what came."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights
from counterweight.numerics.estimate import (
    Estimate,
    counted_interval,
    normal_interval,
    scaled_weights,
)

#: Points of the grid of scores around which windows lie.
POINTS = 201
#: Smallest and largest share of the weight in the window around a score.
LEAST_SHARE, LARGEST_SHARE = 0.05, 0.5
#: Effective rows that a window should have at least, if there are so many.
WINDOW_ROWS = 60
#: Shares between which squares of a long tail are told by their means: the last is of one in 500.
TAILS = np.array([0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 1])
#: Rows, or users, of the highest predictions below which no interval is told of their ratio: of
#: fewer it held 1 in 0 (one row), 38 to 66 (two) and 82 to 97 % (eight) of made-up logs with right
#: predictions, from 12 on in 90 to 98 %.
FEW_DRAWS = 10
#: How many times the share that was asked for the rows of the highest predictions may be, since
#: rows of one prediction are not parted.
MOST_TIED = 1.5
#: Rows without a reward, among those of the highest predictions, below which they are counted.
FEW_ZEROS = 30


def auc_estimate(y, score, weight=None, level=0.95):
    """Weighted area under the ROC curve with DeLong's standard error and an interval, an
    `Estimate`.

    The share of (positive, negative) pairs, each weighted by the product of its rows' weights, that
    the scores put in the right order; ties count half. Only ratios of weights (n,) within a class
    count; rows of weight 0 are not used. Rejection at one rate a class leaves it unbiased, and a
    rate that varies by row is made good by weights of 1 / rate. Each score is sorted once, within
    its class; the rarer one's distinct scores are looked up in the other. Memory beyond the
    arguments: 10 to 54 bytes a row, 30 more where weights vary within a class. The standard error
    is that of DeLong, DeLong & Clarke-Pearson (1988), by linearisation with weights.
    """
    positive, score = checked_scores(y, score)
    largest, effective = 1.0, float(len(score))
    if weight is not None:
        weight = checked_weights(weight, len(score))
        if not weight.all():
            used = weight > 0
            positive, score, weight = positive[used], score[used], weight[used]
        largest = float(weight.max())
        scaled = scaled_weights(weight)
        effective = float(scaled.sum() ** 2 / np.dot(scaled, scaled))
    positives = int(np.count_nonzero(positive))
    both_classes(positives, len(positive))
    moments = _moments_of_rows(positive, score, weight)
    low, high = auc_interval(moments, level)
    return Estimate(
        float(moments.value),
        float(np.sqrt(moments.variance)),
        float(low),
        float(high),
        len(score),
        effective,
        largest,
        level,
    )


@dataclass(frozen=True)
class AucMoments:
    """What `auc_interval` needs, numbers or arrays over resamples: the AUC, the two parts of
    DeLong's variance, sums of the fourth powers of the rows' influence values, and rows of each
    class.
    """

    value: np.ndarray
    by_positives: np.ndarray
    by_negatives: np.ndarray
    fourth_positives: np.ndarray
    fourth_negatives: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray

    @property
    def variance(self):
        """DeLong's variance."""
        return self.by_positives + self.by_negatives


def auc_interval(moments, level=0.95):
    """Interval (low, high) of an AUC on the logit scale, with t quantiles.

    The degrees of freedom are the smaller of Welch-Satterthwaite's for the two parts of the
    variance and ``2 V^2 / Var(V)``, by the fourth moments of the rows' placements; at least 1. At
    an AUC of 0 or 1, where the variance is 0, the k rows of the rarer class make k disjoint pairs:
    the far end is ``(alpha/2)^(1/k)`` from the other side (Clopper & Pearson). Without variance
    otherwise, the AUC plus and minus `agarwal_bound`.

    Seen in simulation (nominal 95 %, 80 settings): 93-97.5 % with at least 45 rows of each class;
    92-98 % with 20 of one class and an AUC up to .9; 86-94 % for an AUC of .97 with 20 to 50 rows
    of one class whose scores spread wider. Normal quantiles: 84-97 %; the plain normal interval
    76-96 %.
    """
    from scipy.special import expit, logit, stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    value, variance = np.asarray(moments.value), np.asarray(moments.variance)
    m, n = np.asarray(moments.positives), np.asarray(moments.negatives)
    first, second = moments.by_positives, moments.by_negatives
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = variance**2 / (first**2 / (m - 1) + second**2 / (n - 1))
        spread = np.maximum(moments.fourth_positives - first**2 / m, 0)
        spread = spread + np.maximum(moments.fourth_negatives - second**2 / n, 0)
        freedom = np.fmax(np.fmin(welch, 2 * variance**2 / spread), 1.0)
        half = stdtrit(freedom, 0.5 + level / 2) * np.sqrt(variance) / (value * (1 - value))
        low, high = expit(logit(value) - half), expit(logit(value) + half)
    far = ((1 - level) / 2) ** (1 / np.minimum(m, n))
    bound = agarwal_bound(m, n, 1 - level)
    none = (variance <= 0) | (np.minimum(m, n) < 2)
    low = np.where(none, np.maximum(value - bound, 0.0), low)
    high = np.where(none, np.minimum(value + bound, 1.0), high)
    low = np.where(value == 1, far, np.where(value == 0, 0.0, low))
    high = np.where(value == 0, 1 - far, np.where(value == 1, 1.0, high))
    return low, high


def agarwal_bound(positives, negatives, delta=0.05):
    """Deviation of an empirical AUC from the true one that is passed with probability <= delta.

    ``eps = (ln(2 / delta) / (2 rho (1 - rho) N))^(1/2)`` with N rows of which a share rho is
    positive, so that rho (1 - rho) N = positives * negatives / N. Least at rho = 1/2; above 1 where
    so few rows say nothing. It holds for any distribution of the scores, given the number of rows
    of each class, at least 1 (Agarwal, Graepel, Herbrich, Har-Peled & Roth 2005, *JMLR* 6, Theorem
    3).
    """
    if not 0 < delta < 1:
        raise CounterweightError(f"delta must lie between 0 and 1, not {delta}.")
    positives, negatives = np.asarray(positives, float), np.asarray(negatives, float)
    if not ((positives > 0).all() and (negatives > 0).all()):
        raise CounterweightError("The bound needs at least one row of each class.")
    bound = np.sqrt(np.log(2 / delta) / 2 * (1 / positives + 1 / negatives))
    return bound if bound.ndim else float(bound)


def checked_scores(y, score):
    """``(y == 1, score)``; refuse what is no label or no finite number."""
    score = np.asarray(score)
    if score.dtype.kind not in "iuf" or score.dtype == np.float16:
        score = as_numbers(score, "predictions")
    if score.ndim != 1 or not len(score):
        raise CounterweightError(
            f"There is nothing to evaluate: predictions of shape {score.shape}."
        )
    y = np.asarray(y)
    positive = y if y.dtype == bool else y == 1
    if y.shape != score.shape or (
        y.dtype != bool and np.count_nonzero(positive) + np.count_nonzero(y == 0) != len(score)
    ):
        positive = checked_labels(y, len(score), "true label") == 1
    if score.dtype.kind == "f" and not np.isfinite(score).all():
        bad = ~np.isfinite(score)
        raise CounterweightError(
            f"{int(bad.sum())} of {len(score)} predictions are not finite (first: "
            f"{float(score[np.argmax(bad)])!r}): the model failed, or these are no scores."
        )
    return positive, score


def both_classes(positives, rows):
    """Refuse rows of one class."""
    if positives in (0, rows):
        raise CounterweightError(
            f"All {rows} rows to evaluate are of class {int(positives > 0)}, so a metric "
            "that compares the classes has no value: use another test share or labeling rule."
        )


def shares_below(gaps, ties):
    """Share of the common class below each distinct score of the rare one, and its total.

    Of sums of weights by place, as `auc_moments` has them; ties count half.
    """
    upto = np.cumsum(gaps[..., :-1], axis=-1, dtype=float)
    if ties is not None:
        upto[..., 1:] += np.cumsum(ties[..., :-1], axis=-1, dtype=float)
        total = upto[..., -1] + ties[..., -1] + gaps[..., -1]
        upto += 0.5 * ties
    else:
        total = upto[..., -1] + gaps[..., -1]
    upto /= total[..., None]
    return upto, total


def auc_moments(rare, gaps, ties, rare_rows, common_rows, rare_is_positive):
    """AUC and the parts of its variance from the weights in each place of the ranking.

    Let v_0 < ... < v_{K-1} be the distinct scores of one class ("rare"). The rows of the other
    ("common") lie in gaps (..., K + 1), before v_0, between v_0 and v_1, ..., after v_{K-1}, or in
    ties (..., K) with one of them, None where nothing ties. Each of `rare` (..., K), `gaps` and
    `ties` is a triple: sums of w, w^2 and w^4 over the rows in that place (three times the same
    counts where there are no weights); axes before the last one are resamples.
    """
    upto, total = shares_below(gaps[0], None if ties is None else ties[0])
    mass = np.zeros(gaps[0].shape)
    np.cumsum(rare[0], axis=-1, out=mass[..., 1:])
    rare_total = mass[..., -1].copy()
    mass /= rare_total[..., None]
    value = np.clip(_dot(rare[0], upto) / rare_total, 0.0, 1.0)  # by rounding only
    below = value[..., None]

    def powers(places, sums, total):
        places -= below
        places *= places
        second = _dot(sums[1], places) / total**2
        places *= places
        return second, _dot(sums[2], places) / total**4

    rare_second, rare_fourth = powers(upto, rare, rare_total)
    middle = None if ties is None else 1 - 0.5 * (mass[..., :-1] + mass[..., 1:])
    np.subtract(1, mass, out=mass)
    common_second, common_fourth = powers(mass, gaps, total)
    if ties is not None:
        second, fourth = powers(middle, ties, total)
        common_second, common_fourth = common_second + second, common_fourth + fourth
    # One row of a class shows no variance.
    by_rare = rare_second * _unbiased(rare_rows)
    by_common = common_second * _unbiased(common_rows)
    if rare_is_positive:
        return AucMoments(
            value, by_rare, by_common, rare_fourth, common_fourth, rare_rows, common_rows
        )
    return AucMoments(
        1 - value, by_common, by_rare, common_fourth, rare_fourth, common_rows, rare_rows
    )


def _unbiased(rows):
    rows = np.asarray(rows)
    return np.where(rows > 1, rows / np.maximum(rows - 1, 1), 0.0)


def _dot(a, b):
    return np.einsum("...k,...k->...", a, b)


def places(rare, common):
    """Of sorted `rare` the positions (K,) of its distinct values, and how many of sorted `common`
    lie below, and up to, each of them; one array for both where none ties.
    """
    starts = np.empty(len(rare), bool)
    starts[0] = True
    np.not_equal(rare[1:], rare[:-1], out=starts[1:])
    first = np.flatnonzero(starts)
    distinct = rare if len(first) == len(rare) else rare[first]
    left = np.searchsorted(common, distinct)
    tied = np.flatnonzero(common[np.minimum(left, len(common) - 1)] == distinct)
    if not len(tied):
        return first, left, left
    right = left.copy()
    right[tied] = np.searchsorted(common, distinct[tied], side="right")
    return first, left, right


def _moments_of_rows(positive, score, weight):
    """Moments of the rows' AUC; scores of each class are sorted once."""
    rare_is_positive = 2 * np.count_nonzero(positive) <= len(positive)
    is_rare = positive if rare_is_positive else ~positive
    rare, rare_weight = _in_order(is_rare, score, weight)
    common, common_weight = _in_order(~is_rare, score, weight)
    first, left, right = places(rare, common)
    rare_sums = _between(rare_weight, np.append(first, len(rare)))
    if right is left:
        gaps, ties = _between(common_weight, np.concatenate([[0], left, [len(common)]])), None
    else:
        edges = np.empty(2 * len(left) + 2, dtype=left.dtype)
        edges[0], edges[-1] = 0, len(common)
        edges[1:-1:2], edges[2:-1:2] = left, right
        steps = _between(common_weight, edges)
        gaps, ties = [part[::2] for part in steps], [part[1::2] for part in steps]
    moments = auc_moments(rare_sums, gaps, ties, len(rare), len(common), rare_is_positive)
    # Sums of weights round; whether the classes are apart must not depend on it.
    apart = left[0] == len(common) or right[-1] == 0
    if not apart:
        return moments
    value = float((left[0] == len(common)) == rare_is_positive)
    zero = np.float64(0.0)
    return AucMoments(value, zero, zero, zero, zero, moments.positives, moments.negatives)


def placements(positive, score, weight):
    """Weighted AUC, and of each row the share of the other class that it stands right to, (n,).

    Ties count half. Of a positive row it is the weighted share of negatives below it, of a negative
    the share of positives above it (DeLong, DeLong & Clarke-Pearson 1988); the weighted mean within
    either class is the AUC. Rows of weight 0 have a place, too, but count for none.
    """
    place = np.empty(len(score))
    for own in (positive, ~positive):
        others = np.sort(score[~own], kind="stable")
        mass = weight[~own][np.argsort(score[~own], kind="stable")]
        running = np.concatenate([[0.0], np.cumsum(mass)])
        left, right = (np.searchsorted(others, score[own], side) for side in ("left", "right"))
        place[own] = (running[left] + running[right]) / 2 / running[-1]
    place[~positive] = 1 - place[~positive]
    return float(np.average(place[positive], weights=weight[positive])), place


def rising_order(values, weight):
    """Values in rising order, and sums of the weights up to each; without weights their number."""
    if weight is None:
        return np.sort(values), np.arange(1.0, len(values) + 1)
    order = np.argsort(values, kind="stable")
    return values[order], np.cumsum(weight[order])


def upper_end(values, weight, spared):
    """The largest value but of rows that weigh `spared` at most, those at or above it."""
    order = np.argsort(values, kind="stable")
    above = np.cumsum(weight[order][::-1])[::-1]
    at = np.searchsorted(-above, -spared) - 1 if spared > 0 else len(order) - 1
    return float(values[order[min(max(at, 0), len(order) - 1)]])


def first_of_each(score, place):
    """Distinct scores and the middle of the places of their rows."""
    distinct, first, count = np.unique(score, return_index=True, return_counts=True)
    return distinct, (place[first] + place[first + count - 1]) / 2


def bin_rows(p, weight, bins):
    """Bin of each row, and the weight in each bin."""
    ordered, running = rising_order(p, weight)
    # The margin lets sums of weights round as they like without moving an edge.
    targets = running[-1] * np.arange(1, bins) / bins * (1 + 1e-12)
    edges = ordered[np.minimum(np.searchsorted(running, targets, side="right"), len(p) - 1)]
    place = np.searchsorted(edges, p, side="right")
    return place, np.bincount(place, weight, bins).astype(float)


def _in_order(chosen, score, weight):
    """Sorted scores of one class, and its weights in that order or their one value."""
    values = score[chosen]
    if weight is None:
        values.sort()
        return values, 1.0
    weights = weight[chosen]
    if (weights == weights[0]).all():
        values.sort()
        # Only ratios within a class count.
        return values, 1.0
    weights = scaled_weights(weights)
    order = np.argsort(values)
    return values[order], weights[order]


def _between(weights, edges):
    """Sums of w, w^2 and w^4 over the sorted rows between each two edges."""
    if np.ndim(weights) == 0:
        counts = np.diff(edges).astype(float)
        return counts, counts, counts
    if len(edges) == len(weights) + 1 and (edges[1:] > edges[:-1]).all():
        squares = weights * weights
        return weights, squares, squares * squares
    sums = []
    running = np.zeros(len(weights) + 1)
    for squarings in range(3):
        if squarings:
            weights = weights * weights
        np.cumsum(weights, out=running[1:])
        sums.append(np.diff(running[edges]))
    return sums


def moves_of_auc(p, score=None):
    """How far a row moves the AUC of scores as a positive and as a negative one, (N,) each.

    In parts of how far it moves a mean; by the chances p (N,), which are the scores by default
    (DeLong, DeLong & Clarke-Pearson 1988).
    """
    values, place = np.unique(p if score is None else score, return_inverse=True)
    ones, zeros = np.bincount(place, p), np.bincount(place, 1 - p)
    below = (np.cumsum(zeros) - zeros / 2) / zeros.sum()
    above = 1 - (np.cumsum(ones) - ones / 2) / ones.sum()
    auc = float(ones @ below / ones.sum())
    up, down = (below - auc) / ones.sum(), (above - auc) / zeros.sum()
    return up[place] * len(p), down[place] * len(p)


class ScoreWindows:
    """Windows of equal weight around grid points ``score`` (P,), distinct and ascending, in sorted
    scores; ``effective`` (P,) are Kish's effective rows of each.
    """

    def __init__(self, score, weight):
        self.weight, self.running = weight, np.concatenate([[0.0], np.cumsum(weight)])
        total = self.running[-1]
        effective = total**2 / (weight @ weight)
        share = max(WINDOW_ROWS / effective, effective**-0.2 / 2)
        half = total * min(max(share, LEAST_SHARE), LARGEST_SHARE) / 2
        place = self.running[:-1] + weight / 2
        grid = np.interp(np.linspace(0, total, POINTS), place, score)
        self.score = np.unique(grid)
        at = np.interp(self.score, *first_of_each(score, place))
        at = np.clip(at, half, total - half)
        self.start = np.searchsorted(place, at - half, side="left")
        self.stop = np.searchsorted(place, at + half, side="right")
        # Rows with the same score stand or fall together.
        last = len(score) - 1
        start, stop = np.minimum(self.start, last), np.clip(self.stop - 1, 0, last)
        self.start = np.searchsorted(score, score[start], side="left")
        self.stop = np.searchsorted(score, score[stop], side="right")
        squares = np.concatenate([[0.0], np.cumsum(weight * weight)])
        self.total = self.running[self.stop] - self.running[self.start]
        self.effective = self.total**2 / (squares[self.stop] - squares[self.start])

    def mean(self, values):
        """Weighted mean of values (M,) in each window."""
        sums = np.concatenate([[0.0], np.cumsum(self.weight * values)])
        found = (sums[self.stop] - sums[self.start]) / self.total
        return np.clip(found, values.min(), values.max())


def tails_of(squares, weight):
    """Means of weighted squares (n,) between their quantiles `TAILS`, in parts of their mean.

    All are 1 where every square is 0.
    """
    order = np.argsort(squares, kind="stable")
    rows, sums = (
        np.concatenate([[0.0], np.cumsum(values[order])]) for values in (weight, weight * squares)
    )
    if not sums[-1] > 0:
        return np.ones(len(TAILS) - 1)
    return np.diff(np.interp(TAILS, rows / rows[-1], sums / sums[-1])) / np.diff(TAILS)


class TopRows:
    """What the rows of the highest scores say, of rows that come by ascending score.

    They begin at the highest score below which there is no more weight than `below`: rows of one
    score are never parted.
    """

    def __init__(self, below, clusters):
        self._most = below * (1 + 1e-12)
        self._passed, self._last = 0.0, -np.inf
        self.rows = self.nonzero = 0
        self._reward, self._told = np.zeros((2, clusters))
        # Of rows without a reward: what they are told, and the largest weight of any score.
        self.weight = self._unearned = self._heaviest = 0.0

    def add(self, score, reward, weight, cluster):
        """Add rows; none may have a lower score than those before."""
        first = np.flatnonzero(np.r_[score[0] != self._last, score[1:] != score[:-1]])
        running = np.r_[0.0, np.cumsum(weight)]
        begins = first[self._passed + running[first] <= self._most]
        self._passed, self._last = self._passed + running[-1], score[-1]
        start = 0
        if len(begins):
            start, self.rows, self.nonzero = begins[-1], 0, 0
            self._reward[:], self._told[:], self.weight, self._unearned = 0.0, 0.0, 0.0, 0.0
        self._heaviest = max(self._heaviest, weight[reward == 0].max(initial=0.0))
        score, reward, weight, cluster = (x[start:] for x in (score, reward, weight, cluster))
        self.rows += len(score)
        self.nonzero += int(np.count_nonzero(reward))
        self._reward += np.bincount(cluster, weight * reward, len(self._reward))
        self._told += np.bincount(cluster, weight * score, len(self._told))
        self.weight += weight.sum()
        self._unearned += (weight * score)[reward == 0].sum()

    def told(self, level):
        """Mean score over mean reward with its interval, which counts rewards.

        The observed over the told sum is an estimate that few rewards carry (`counted_interval`);
        its ends are put together with the error of the rows without one on the log scale, where no
        ratio ends below 0, and turned about (Zou & Donner 2008). The latter are counted, too, where
        they are few (`_of_few_zeros`). The rows are taken as given. Of fewer independent draws than
        `FEW_DRAWS` nothing is told but the ratio.
        """
        size = {"rows": self.rows, "nonzero": self.nonzero}
        reward, told = self._reward.sum(), self._told.sum()
        if not (reward > 0 and told > 0):
            return dict.fromkeys(("value", "standard_error", "low", "high")) | size
        share, seen = reward / told, self._reward != 0
        if np.count_nonzero(self._told) < FEW_DRAWS:
            ends = dict.fromkeys(("standard_error", "low", "high"))
            return {"value": float(1 / share)} | ends | size
        influence = (self._reward - share * self._told) / told
        typical = influence[seen].mean()
        further = max(typical, 0.0), max(-typical, 0.0)
        ends = counted_interval(share, influence[seen], 0.0, further, level)
        # Where rewards that are numbers are below 0, nothing may keep the ratio from 0.
        gaps = [math.log(end / share) if end > 0 else math.nan for end in ends]
        rest = normal_interval(0.0, np.linalg.norm(influence[~seen]) / share, level)[1]
        fewer, further = self._of_few_zeros(told, level)
        less, more = math.hypot(gaps[0], max(rest, further)), math.hypot(gaps[1], max(rest, fewer))
        told = {"value": 1 / share, "standard_error": np.linalg.norm(influence) / share**2}
        told |= {"low": math.exp(-more) / share, "high": math.exp(less) / share}
        return {k: None if math.isnan(v) else float(v) for k, v in told.items()} | size

    def _of_few_zeros(self, told, level):
        """How far the log of the ratio may be off by how many rows without a reward came, down, up.

        By the exact limits of a count (Garwood 1936); 0 where they are many, or have no score. One
        that did not come weighs as much as any row without a reward.
        """
        zeros = self.rows - self.nonzero
        if zeros >= FEW_ZEROS or self._unearned < 0:
            return 0.0, 0.0
        each = self._unearned / zeros if zeros else self._heaviest * told / self.weight
        tail = (1 - level) / 2
        least = chdtri(2 * zeros, 1 - tail) / 2 if zeros else 0.0
        most = chdtri(2 * (zeros + 1), tail) / 2
        down = min((zeros - least) * each / told, 1 - 1e-9)
        return -math.log1p(-down), math.log1p(max(most - zeros, 0.0) * each / told)


def highest_rows(y, p, weight=None, top=1.0, groups=None):
    """`TopRows` of the rows, in any order, of the highest predictions: a share `top` of the weight.

    Rows of one of `groups` (n,) depend on each other.
    """
    order = np.argsort(p, kind="stable")
    weight = np.ones(len(p)) if weight is None else weight
    groups = np.arange(len(p)) if groups is None else np.unique(groups, return_inverse=True)[1]
    made = TopRows((1 - top) * weight.sum(), int(groups.max()) + 1)
    made.add(p[order], y[order].astype(float), weight[order], groups[order])
    return made
