"""The metrics of predictions, and what is made of each: estimates, groups, pairs, segments.

Each is a `counterweight.evaluation.influence.Metric` and takes weights, e.g. 1 / keep rate for rows
of a class of which only that share was kept: its value is then that of the whole log, up to the
chance of the rows kept. The influence of the AUC are the placements of DeLong, DeLong &
Clarke-Pearson (1988).
"""

from dataclasses import replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.influence import (
    Influence,
    LeftOut,
    Metric,
    given_weights,
    probabilities,
    row_mean,
    shape_of_draws,
)
from counterweight.numerics.checks import checked_weights
from counterweight.numerics.estimate import from_moments, shape_of
from counterweight.numerics.ranking import auc_estimate, both_classes, checked_scores, placements

#: Probabilities nearer to 0 or 1 than this are moved there for the log loss, and counted.
CLIP = 1e-12
#: Bins of the calibration error.
BINS = 10


class Auc(Metric):
    """Area under the ROC curve, ties counted half, with DeLong's standard error."""

    classes, pulled = True, False

    def influence(self, y, p, weight=None):
        positive, score = checked_scores(y, p)
        weights = _both(positive, weight)
        value, place = placements(positive, score, weights)
        mass = np.where(positive, weights[positive].sum(), weights[~positive].sum())
        rows = weights * (place - value) / mass
        return Influence(value, rows, weights / mass, not 0 < value < 1)

    def estimate(self, y, p, weight=None, level=0.95):
        return auc_estimate(y, p, weight, level)

    def interval(self, value, sums, mass, level, bounds):
        shape, error = shape_of_draws(sums, mass)
        if bounds is None or not (0 < value < 1 and error > 0):
            return super().interval(value, sums, mass, level, bounds)
        from scipy.special import expit, logit, stdtrit

        freedom = max(min(2 * len(sums) / max(shape.kurtosis - 1, 1e-12), len(sums) - 1), 1.0)
        half = stdtrit(freedom, 0.5 + level / 2) * error / (value * (1 - value))
        return float(expit(logit(value) - half)), float(expit(logit(value) + half)), error


class BalancedAccuracy(Metric):
    """Mean of the two classes' recalls at the threshold 1/2."""

    classes, pulled = True, False

    def influence(self, y, p, weight=None):
        positive, p = probabilities(y, p)
        weights = _both(positive, weight)
        hit = ((p >= 0.5) == positive).astype(float)
        recalls, rows, share = [], np.empty(len(p)), np.empty(len(p))
        for own in (positive, ~positive):
            mass = weights[own]
            recall = float(np.dot(mass, hit[own]) / mass.sum())
            recalls.append(recall)
            rows[own] = mass * (hit[own] - recall) / mass.sum() / 2
            share[own] = mass / mass.sum()
        return Influence(sum(recalls) / 2, rows, share)

    def estimate(self, y, p, weight=None, level=0.95):
        positive, p = probabilities(y, p)
        weights = np.ones(len(p)) if weight is None else checked_weights(weight, len(p))
        used = weights > 0
        positive, p, weights = positive[used], p[used], weights[used]
        value, influence, *_ = self.influence(positive, p, weights)
        squares = influence * influence
        second, rows = float(squares.sum()), len(p)
        third, fourth = float(np.dot(squares, influence)), float(np.dot(squares, squares))
        found = from_moments(
            value,
            # Without the factor n / (n - 1) that the mean of one sample has.
            second * (rows - 1) / rows,
            shape_of(rows, 1.0, second, third, fourth),
            rows=rows,
            total=1.0,
            effective_rows=float(weights.sum() ** 2 / np.dot(weights, weights)),
            largest_weight=float(weights.max()),
            level=level,
            bounds=self.bounds,
            scale="plain",
        )
        return _with_unseen(found, positive, (p >= 0.5) == positive, weights, level)


@row_mean()
def accuracy(positive, p, weight):
    """Share of rows where p >= 1/2 agrees with y, and its standard error."""
    return ((p >= 0.5) == positive).astype(float)


@row_mean((0.0, None), most=-np.log(CLIP))
def log_loss(positive, p, weight):
    """Mean of -log p(y), in nats, and its standard error; see `CLIP`."""
    p = np.clip(p, CLIP, 1 - CLIP)
    return -np.where(positive, np.log(p), np.log1p(-p))


@row_mean()
def brier(positive, p, weight):
    """Mean of (p - y)^2 and its standard error."""
    return (p - positive) ** 2


@row_mean((0.0, None), numbers=True)
def squared_loss(reward, prediction, weight):
    """Mean of (prediction - reward)^2 for rewards of any size, and its standard error."""
    return (prediction - reward) ** 2


@row_mean()
def calibration_error(positive, p, weight):
    """Expected calibration error: mean |predicted - observed| over 10 bins of equal weight.

    The standard error takes the bins and the sign of each bin's difference as given
    (linearisation). Where the predictions are well calibrated the value is too large, by
    about the chance error of a bin's observed share, since no difference is negative; the
    interval does not correct for that.
    """
    place, _ = _bins(p, weight, BINS)
    difference = p - positive
    weighted = difference if weight is None else weight * difference
    sign = np.where(np.bincount(place, weighted, BINS) < 0, -1.0, 1.0)
    return sign[place] * difference


auc, balanced_accuracy = Auc("auc"), BalancedAccuracy("balanced_accuracy")

#: Metrics by the names that functions of this module know them by.
KNOWN = {
    metric.__name__: metric
    for metric in (
        accuracy,
        balanced_accuracy,
        log_loss,
        brier,
        calibration_error,
        auc,
        squared_loss,
    )
}


def metric_of(metric):
    """The `Metric` of a name, of a function of somebody's own, or itself."""
    if isinstance(metric, Metric):
        return metric
    if callable(metric):
        return LeftOut(metric)
    if metric not in KNOWN:
        raise CounterweightError(
            f"There is no metric {metric!r}; choose one of {', '.join(sorted(KNOWN))}."
        )
    return KNOWN[metric]


def known_name(metric):
    """What this module calls a metric; None for functions of somebody's own."""
    metric = metric_of(metric)
    return None if isinstance(metric, LeftOut) else metric.__name__


def metric_estimate(name, y, p, weight=None, level=0.95):
    """A metric with its interval over independent rows.

    Parameters
    ----------
    name : str or Metric
        accuracy, balanced_accuracy, auc, log_loss, brier, calibration_error or squared_loss.
    y : array (n,) of 0/1
        Real numbers for squared_loss.
    p : array (n,)
        Probabilities; scores for auc, real predictions for squared_loss.
    weight : array (n,), optional
        From 0 up; only their ratios count, and rows of weight 0 do not.
    level : float
        Coverage of the interval.

    Returns
    -------
    Estimate
        Intervals by ``estimate.mean_interval`` on its plain scale (shares within [0, 1]; losses
        from 0 up) and ``ranking.auc_interval``.

    Raises
    ------
    CounterweightError
        For an unknown metric, no rows, labels other than 0 and 1, predictions that are no
        probabilities, weights that are negative or not finite, and, where classes are compared,
        rows of one class.
    """
    return metric_of(name).estimate(y, p, weight, level)


def grouped_estimate(name, y, p, groups, weight=None, level=0.95):
    """A metric of rows that depend on each other within groups.

    Parameters
    ----------
    name : str, Metric or callable
        As of `metric_estimate`; or ``metric(y, p, weight)``, which gives its value first.
    y, p, weight, level
        As there.
    groups : array (n,)
        Name or number of each row's group; rows of different groups are taken to be independent.

    Returns
    -------
    Estimate
        Its value is that of `metric_estimate`; its standard error is
        ``(G / (G - 1) sum_g (sum_{i in g} c_i)^2)^(1/2)`` with the influences c and G groups.

    Raises
    ------
    CounterweightError
        As `metric_estimate`; for fewer than two groups, or where a group is missing.
    """
    return metric_of(name).grouped(y, p, groups, weight, level)


def compare_metrics(name, y, p, other, *, weight=None, groups=None, level=0.95):
    """Metric of one model minus that of another on the same rows, paired.

    Of the AUC the variance is that of DeLong for two curves of the same rows. Weights, such as
    1 / keep rate, and groups count as in a single metric. It takes the models as given: they
    were fitted on other rows.

    Parameters
    ----------
    name : str, Metric or callable
        As of `grouped_estimate`.
    y, p, other : array (n,)
        Labels, predictions of the model, and those that it is compared with.
    weight, groups : array (n,), optional
    level : float

    Returns
    -------
    Estimate
        Of the difference; NaN as interval where both predict alike.

    Raises
    ------
    CounterweightError
        As `metric_estimate`; for predictions of another length.
    """
    if np.shape(p) != np.shape(other):
        raise CounterweightError(
            f"There are {np.size(p)} predictions of one model and {np.size(other)} of the other: "
            "compare them on the same rows."
        )
    return metric_of(name).compared(y, p, other, weight, groups, level)


def compare_segments(name, y, p, other, segment, *, weight=None, groups=None, level=0.95):
    """`compare_metrics` in every segment (n,), with intervals that hold all at once.

    Each has the level ``1 - (1 - level) / segments`` (Bonferroni), so that the chance of any
    interval missing its difference is at most ``1 - level``. Other arguments are those of
    `compare_metrics`.

    Returns
    -------
    dict of segment to Estimate
        In the order of the segments; None where a segment has rows of one class only and the
        metric compares classes.
    """
    metric = metric_of(name)
    names, place = np.unique(np.asarray(segment), return_inverse=True)
    own_level, found = 1 - (1 - level) / len(names), {}
    for k, key in enumerate(names):
        rows = place == k
        part = [None if one is None else np.asarray(one)[rows] for one in (weight, groups)]
        y_own, p_own, other_own = (np.asarray(one)[rows] for one in (y, p, other))
        key = key.item() if hasattr(key, "item") else key
        one_class = len(np.unique(y_own)) < 2
        found[key] = None
        if one_class and metric.classes:
            continue
        try:
            found[key] = compare_metrics(
                metric, y_own, p_own, other_own, weight=part[0], groups=part[1], level=own_level
            )
        except CounterweightError:
            # A function of somebody's own may compare classes, too.
            if not (one_class and isinstance(metric, LeftOut)):
                raise
    return found


def reliability_curve(y, p, weight=None, bins=BINS):
    """Mean prediction and observed share of positives in bins of equal weight, and their weights.

    Bins are half-open, ``b_{j-1} <= p < b_j``, the last one closed, so equal predictions
    share a bin, and a bin may stay empty: then it has NaN. All are (bins,).
    """
    positive, p = probabilities(y, p)
    weight = given_weights(weight, len(p))
    if int(bins) != bins or bins < 1:
        raise CounterweightError(f"The number of bins must be a whole number from 1, not {bins}.")
    place, total = _bins(p, weight, int(bins))
    ones = np.ones(len(p)) if weight is None else weight
    sums = [np.bincount(place, ones * part, int(bins)) for part in (p, positive)]
    with np.errstate(invalid="ignore"):
        predicted, observed = (np.where(total > 0, part / total, np.nan) for part in sums)
    return predicted, observed, total


def predicted_over_observed(y, p, weight=None, top=1.0, groups=None):
    """Mean prediction over the share of positives where predictions are highest, and its error.

    1 for probabilities that are right where they are highest. Rows of one prediction are never
    parted: those tied with the last one count. `top` is a share of the weight, in (0, 1]; rows of
    one of `groups` (n,) depend on each other. The error is that of linearisation, the rows taken as
    given; NaN where there is no positive.
    """
    positive, p = probabilities(y, p)
    weight = np.ones(len(p)) if weight is None else checked_weights(weight, len(p))
    order = np.argsort(-p, kind="stable")
    running = np.cumsum(weight[order])
    last = min(np.searchsorted(running, top * running[-1] * (1 - 1e-12)), len(p) - 1)
    rows = p >= p[order[last]]
    w, p, positive = weight[rows], p[rows], positive[rows]
    observed = float(w @ positive)
    if not observed > 0:
        return np.nan, np.nan
    value = float(w @ p) / observed
    influence = w * (p - value * positive) / observed
    if groups is not None:
        influence = np.bincount(np.unique(groups[rows], return_inverse=True)[1], influence)
    return value, float(np.linalg.norm(influence))


def interval_of(name, value, sums, mass, level):
    """`Metric.interval` by name; of a ``difference``, or of ``predicted_over_observed``."""
    if name == "predicted_over_observed":
        return squared_loss.interval(value, sums, mass, level, (0.0, None))
    if name == "difference":
        return squared_loss.interval(value, sums, mass, level, None)
    return KNOWN[name].interval(value, sums, mass, level, KNOWN[name].bounds)


def _with_unseen(found, positive, hit, weights, level):
    """An estimate whose interval knows of a class with no hit, or nothing but hits.

    Such a class shows no variance. Of as many rows as its weights count for, the share of the
    other kind can be up to ``1 - (alpha / 2)^(1 / n)`` (Clopper & Pearson), half of which counts.
    """
    low, high = found.low, found.high
    for rows in (positive, ~positive):
        own = hit[rows]
        if own.any() and not own.all():
            continue
        effective = weights[rows].sum() ** 2 / np.dot(weights[rows], weights[rows])
        unseen = (1 - ((1 - level) / 2) ** (1 / effective)) / 2
        high, low = (high, low - unseen) if own.all() else (high + unseen, low)
    return replace(found, low=max(low, 0.0), high=min(high, 1.0))


def _bins(p, weight, bins):
    """Bin of each row, and the weight in each bin."""
    order = np.argsort(p, kind="stable")
    running = np.arange(1.0, len(p) + 1) if weight is None else np.cumsum(weight[order])
    # The margin lets sums of weights round as they like without moving an edge.
    targets = running[-1] * np.arange(1, bins) / bins * (1 + 1e-12)
    edges = p[order[np.minimum(np.searchsorted(running, targets, side="right"), len(p) - 1)]]
    place = np.searchsorted(edges, p, side="right")
    return place, np.bincount(place, weight, bins).astype(float)


def _both(positive, weight):
    """Weights of rows of both classes; refuse rows of one."""
    weights = np.ones(len(positive)) if weight is None else checked_weights(weight, len(positive))
    used = weights > 0
    both_classes(int(positive[used].sum()), int(used.sum()))
    return weights
