"""Metrics of predicted probabilities, each with its standard error over the rows.

Every metric takes row weights, e.g. 1 / keep rate for rows of a class of which only that
share was kept: its value is then that of the whole log, up to the chance of the rows kept.
"""

import functools
from dataclasses import replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import checked_labels, checked_weights
from counterweight.numerics.estimate import as_numbers, from_moments, ratio_mean, shape_of
from counterweight.numerics.ranking import auc_estimate, both_classes

#: Probabilities nearer to 0 or 1 than this are moved there for the log loss, and counted.
CLIP = 1e-12

#: Bins of the calibration error.
BINS = 10


class Metric:
    """A metric whose influence by row is known, whatever it is called where it is registered.

    As a function it gives value and standard error.

    Parameters
    ----------
    function : callable
        ``function(y, p, weight=None)``, of the name that `metric_estimate` has for it.
    """

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, y, p, weight=None):
        return self.__wrapped__(y, p, weight)


def known_name(metric):
    """What `metric_estimate` calls a metric, a `Metric` or that name; None for other functions."""
    return metric.__name__ if isinstance(metric, Metric) else None if callable(metric) else metric


@Metric
def accuracy(y, p, weight=None):
    """Share of rows where p >= 1/2 agrees with y, and its standard error."""
    return _pair(metric_estimate("accuracy", y, p, weight))


@Metric
def balanced_accuracy(y, p, weight=None):
    """Mean of the two classes' recalls at the threshold 1/2, and its standard error."""
    return _pair(metric_estimate("balanced_accuracy", y, p, weight))


@Metric
def auc(y, p, weight=None):
    """Area under the ROC curve, ties counted half, with DeLong's standard error.

    Parameters
    ----------
    y : array of 0/1, shape (n,)
    p : array, shape (n,)
        Scores; only their order counts.
    weight : array, shape (n,), optional

    Returns
    -------
    value, standard_error : float

    See Also
    --------
    counterweight.numerics.ranking.auc_estimate : with interval.
    """
    return _pair(auc_estimate(y, p, weight))


@Metric
def log_loss(y, p, weight=None):
    """Mean of -log p(y), in nats, and its standard error; see `CLIP`."""
    return _pair(metric_estimate("log_loss", y, p, weight))


@Metric
def brier(y, p, weight=None):
    """Mean of (p - y)^2 and its standard error."""
    return _pair(metric_estimate("brier", y, p, weight))


@Metric
def squared_loss(reward, prediction, weight=None):
    """Mean of (prediction - reward)^2 for rewards of any size, and its standard error."""
    return _pair(metric_estimate("squared_loss", reward, prediction, weight))


@Metric
def calibration_error(y, p, weight=None):
    """Expected calibration error: mean |predicted - observed| over 10 bins of equal weight.

    The standard error takes the bins and the sign of each bin's difference as given
    (linearisation). Where the predictions are well calibrated the value is too large, by
    about the chance error of a bin's observed share, since no difference is negative; the
    interval does not correct for that.

    Parameters
    ----------
    y : array of 0/1, shape (n,)
    p : array, shape (n,)
        Probabilities.
    weight : array, shape (n,), optional

    Returns
    -------
    value, standard_error : float
    """
    return _pair(metric_estimate("calibration_error", y, p, weight))


def reliability_curve(y, p, weight=None, bins=BINS):
    """Mean prediction and observed share of positives in bins of equal weight.

    Bins are half-open, ``b_{j-1} <= p < b_j``, the last one closed, so equal predictions
    share a bin, and a bin may stay empty.

    Parameters
    ----------
    y, p, weight : array, shape (n,)
        As in `calibration_error`.
    bins : int
        At least 1.

    Returns
    -------
    predicted, observed : arrays (bins,)
        NaN for an empty bin.
    weight : array (bins,)
        Sum of the weights of each bin; rows where there are none.
    """
    positive, p, weight = _checked(y, p, weight)
    if int(bins) != bins or bins < 1:
        raise CounterweightError(f"The number of bins must be a whole number from 1, not {bins}.")
    place, total = _bins(p, weight, int(bins))
    ones = np.ones(len(p)) if weight is None else weight
    sums = [np.bincount(place, ones * part, int(bins)) for part in (p, positive)]
    with np.errstate(invalid="ignore"):
        predicted, observed = (np.where(total > 0, part / total, np.nan) for part in sums)
    return predicted, observed, total


def predicted_over_observed(y, p, weight=None, top=1.0, groups=None):
    """Mean prediction over the share of positives, among the rows of the highest predictions.

    1 for probabilities that are right where they are highest. Rows of one prediction are never
    parted: those tied with the last one count.

    Parameters
    ----------
    y, p, weight : array (n,)
        As in `calibration_error`.
    top : float
        Share of the weight, in (0, 1].
    groups : array (n,) of int, optional
        Numbers of groups (users) whose rows depend on each other.

    Returns
    -------
    value, standard_error : float
        By linearisation, the rows taken as given; NaN where there is no positive.
    """
    positive, p, weight = _checked(y, p, weight)
    weight = np.ones(len(p)) if weight is None else weight
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


def metric_estimate(name, y, p, weight=None, level=0.95):
    """A metric with its interval.

    Parameters
    ----------
    name : str
        accuracy, balanced_accuracy, auc, log_loss, brier, calibration_error or
        squared_loss.
    y : array (n,) of 0/1
        Real numbers for squared_loss.
    p : array (n,)
        Probabilities; scores for auc, real predictions for squared_loss.
    weight : array (n,), optional
        Weights from 0 up; only their ratios count, and rows of weight 0 do not.
    level : float
        Coverage of the interval.

    Returns
    -------
    Estimate
        Intervals by ``estimate.mean_interval`` on its plain scale (accuracy, balanced accuracy,
        Brier score and calibration error within [0, 1]; losses from 0 up) and
        ``ranking.auc_interval``.

    Raises
    ------
    CounterweightError
        For an unknown metric, no rows, labels other than 0 and 1, predictions that are no
        probabilities, weights that are negative or not finite, and, where the classes
        are compared, rows of one class.
    """
    if name == "auc":
        return auc_estimate(y, p, weight, level)
    if name == "squared_loss":
        values = _real(p, "prediction") - _real(y, "reward", np.shape(p))
        return ratio_mean(values * values, weight, level=level, bounds=(0.0, None), scale="plain")
    refuse_unknown(name)
    return _ESTIMATES[name](*_checked(y, p, weight), level)


def refuse_unknown(name):
    """Refuse a metric that does not exist."""
    if not (name in _ESTIMATES or name in ("auc", "squared_loss")):
        known = ", ".join(sorted([*_ESTIMATES, "auc", "squared_loss"]))
        raise CounterweightError(f"There is no metric {name!r}; choose one of {known}.")


def losses(name, y, p, weight=None):
    """What a metric that is a mean over rows averages, (n,); see `metric_estimate`."""
    if name == "squared_loss":
        return (_real(p, "prediction") - _real(y, "reward", np.shape(p))) ** 2
    return _LOSSES[name](*_checked(y, p, weight))


def checked_predictions(y, p):
    """``(y == 1, p)``, checked as metrics of probabilities do."""
    return _checked(y, p, None)[:2]


def _right(positive, p, weight):
    return ((p >= 0.5) == positive).astype(float)


def _surprise(positive, p, weight):
    p = np.clip(p, CLIP, 1 - CLIP)
    return -np.where(positive, np.log(p), np.log1p(-p))


def _square(positive, p, weight):
    return (p - positive) ** 2


def _signed_gap(positive, p, weight):
    place, _ = _bins(p, weight, BINS)
    difference = p - positive
    weighted = difference if weight is None else weight * difference
    sign = np.where(np.bincount(place, weighted, BINS) < 0, -1.0, 1.0)
    return sign[place] * difference


_LOSSES = {
    "accuracy": _right,
    "log_loss": _surprise,
    "brier": _square,
    "calibration_error": _signed_gap,
}


def _mean_of(name, top=1.0):
    """Estimate of a metric that is a mean over rows, between 0 and `top`."""

    def estimate(positive, p, weight, level):
        values = _LOSSES[name](positive, p, weight)
        return ratio_mean(values, weight, level=level, bounds=(0.0, top), scale="plain")

    return estimate


def balanced_influence(positive, p, weights):
    """Balanced accuracy, and the influence of each row on it, (n,)."""
    hit = ((p >= 0.5) == positive).astype(float)
    recalls, influence = [], np.empty(len(p))
    for rows in (positive, ~positive):
        own = weights[rows]
        recall = float(np.dot(own, hit[rows]) / own.sum())
        recalls.append(recall)
        influence[rows] = own * (hit[rows] - recall) / own.sum() / 2
    return sum(recalls) / 2, influence


def _balanced_accuracy(positive, p, weight, level):
    if weight is not None and not weight.all():
        used = weight > 0
        positive, p, weight = positive[used], p[used], weight[used]
    both_classes(int(np.count_nonzero(positive)), len(positive))
    weights = np.ones(len(p)) if weight is None else weight
    value, influence = balanced_influence(positive, p, weights)
    squares = influence * influence
    second, rows = float(squares.sum()), len(p)
    shape = shape_of(
        rows, 1.0, second, float(np.dot(squares, influence)), float(np.dot(squares, squares))
    )
    found = from_moments(
        value,
        # Without the factor n / (n - 1) that the mean of one sample has.
        second * (rows - 1) / rows,
        shape,
        rows=rows,
        total=1.0,
        effective_rows=float(weights.sum() ** 2 / np.dot(weights, weights)),
        largest_weight=float(weights.max()),
        level=level,
        bounds=(0.0, 1.0),
        scale="plain",
    )
    return _with_unseen(found, positive, (p >= 0.5) == positive, weights, level)


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


_ESTIMATES = {
    **{name: _mean_of(name) for name in ("accuracy", "brier", "calibration_error")},
    "balanced_accuracy": _balanced_accuracy,
    "log_loss": _mean_of("log_loss", -np.log(CLIP)),
}


def _bins(p, weight, bins):
    """Bin of each row, and the weight in each bin."""
    order = np.argsort(p, kind="stable")
    running = np.arange(1.0, len(p) + 1) if weight is None else np.cumsum(weight[order])
    # The margin lets sums of weights round as they like without moving an edge.
    targets = running[-1] * np.arange(1, bins) / bins * (1 + 1e-12)
    edges = p[order[np.minimum(np.searchsorted(running, targets, side="right"), len(p) - 1)]]
    place = np.searchsorted(edges, p, side="right")
    return place, np.bincount(place, weight, bins).astype(float)


def _checked(y, p, weight):
    """``(y == 1, p, weight)``; refuse what is no label, no probability or no weight."""
    p = as_numbers(p, "predictions")
    if p.ndim != 1 or not len(p):
        raise CounterweightError(f"There is nothing to evaluate: predictions of shape {p.shape}.")
    positive = checked_labels(y, len(p), "true label") == 1
    bad = ~((p >= 0) & (p <= 1))
    if bad.any():
        first = float(p[np.argmax(bad)])
        raise CounterweightError(
            f"{int(bad.sum())} of {len(p)} predictions are not between 0 and 1 (first: "
            f"{first!r}): the model failed, or these are no probabilities."
        )
    return positive, p, None if weight is None else checked_weights(weight, len(p))


def _real(values, what, shape=None):
    values = as_numbers(values, f"{what}s")
    if values.ndim != 1 or not len(values) or (shape is not None and values.shape != shape):
        raise CounterweightError(
            f"There must be one {what} for each row, got the shape {values.shape}"
            + (f" for {shape[0]} rows." if shape else ".")
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {len(values)} {what}s are not finite (first: row "
            f"{int(np.flatnonzero(bad)[0])}): fill or drop them first."
        )
    return values


def _pair(estimate):
    return estimate.value, estimate.standard_error
