"""Metrics of predictions: a value, how far every row moves it, and what follows from that.

From the influence of its rows follows the rest, for whatever is registered: standard errors and
intervals over rows, over groups of rows (users, sessions, days) that are the independent draws, of
differences of two models on the same rows, with weights, e.g. 1 / keep rate for rows of a class of
which only that share was kept. Most metrics are means over rows (`row_mean`) or ratios of such
means (`Ratio`); the influences of the AUC are the placements of DeLong, DeLong & Clarke-Pearson
(1988). Of a plain function of somebody's own no influence is known: its errors come by leaving out
one of `PARTS` sets of draws after the other (delete-a-group jackknife).
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights, group_sums
from counterweight.numerics.estimate import (
    Estimate,
    freedom_of,
    from_moments,
    mean_interval,
    ratio_mean,
    shape_of,
)
from counterweight.numerics.ranking import (
    auc_estimate,
    bin_rows,
    both_classes,
    checked_scores,
    placements,
    rising_order,
)

#: Probabilities nearer to 0 or 1 than this are moved there for the log loss, and counted.
CLIP = 1e-12
#: Bins of the calibration error.
BINS = 10
#: Sets of draws, at most, that are left out one after the other where no influence is known.
PARTS = 200


class Influence(NamedTuple):
    """A metric and how far each row moves it.

    The sum of `rows` (n,) is 0, and the metric is off by about their sum over the rows drawn;
    `share` (n,) is each row's part of the weight that its sum is divided by. `alike` says whether
    the rows show no variance at all.
    """

    value: float
    rows: np.ndarray
    share: np.ndarray
    alike: bool = False


class Metric:
    """A metric of predictions; as a function it gives value and standard error over the rows.

    Subclasses have ``influence(y, p, weight=None)``, an `Influence`, and may have a better
    ``estimate`` for rows that are independent. `bounds` are the least and largest possible value.
    """

    #: Whether it compares the classes, so that rows of one class have no value.
    classes = False
    #: Whether a chance error of its one denominator moves its variance (see `Shape.pull`).
    pulled = True

    def __init__(self, name, bounds=(0.0, 1.0)):
        self.__name__, self.bounds = name, bounds

    def __call__(self, y, p, weight=None):
        found = self.estimate(y, p, weight)
        return found.value, found.standard_error

    def estimate(self, y, p, weight=None, level=0.95):
        """The metric with its interval over independent rows, an `Estimate`."""
        found = self.influence(y, p, weight)
        return self._told(found, found.value, None, weight, level, self.bounds)

    def grouped(self, y, p, groups, weight=None, level=0.95):
        """See `grouped_estimate`."""
        value = self.estimate(y, p, weight, level).value
        return self._told(self.influence(y, p, weight), value, groups, weight, level, self.bounds)

    def compared(self, y, p, other, weight=None, groups=None, level=0.95):
        """See `compare_metrics`."""
        mine, theirs = self.influence(y, p, weight), self.influence(y, other, weight)
        gap = mine._replace(rows=mine.rows - theirs.rows)
        return self._told(gap, mine.value - theirs.value, groups, weight, level, None)

    def _told(self, found, value, groups, weight, level, bounds):
        mass = found.share if self.pulled else np.zeros(len(found.rows))
        sums, masses = _by_group(groups, found.rows, mass)
        low, high, error = self.interval(value, sums, masses, level, bounds)
        return _of_rows(value, error, low, high, len(found.rows), weight, level)

    def interval(self, value, sums, mass, level, bounds):
        """Low, high and standard error from the influences of G independent draws.

        `sums` (G,) are the influences, `mass` (G,) each draw's part of the denominator (0 for
        metrics of two classes); `bounds` are None of a difference.
        """
        shape, error = shape_of_draws(sums, mass)
        more = {"pull": shape.pull, "kurtosis": shape.kurtosis, "scale": "plain"}
        ends = mean_interval(value, error, shape.skewness, len(sums), level, bounds, **more)
        return *ends, error


class RowMean(Metric):
    """A metric that is a weighted mean of one number a row.

    ``function(y, p, weight)`` gives the numbers (n,); `bounds` are those of a number, so of the
    mean, and `most` is the largest that a row can have where they leave it open. With `numbers`
    outcomes are any numbers; else they are 0 and 1 (told as True where 1), and predictions
    probabilities.
    """

    def __init__(self, function, bounds=(0.0, 1.0), numbers=False, most=None):
        super().__init__(function.__name__.lstrip("_"), bounds)
        functools.update_wrapper(self, function)
        self.real, self.most = numbers, most

    def values(self, y, p, weight=None):
        """What it averages, (n,)."""
        rows = numbers(y, p) if self.real else probabilities(y, p)
        return self.__wrapped__(*rows, given_weights(weight, len(p)))

    def influence(self, y, p, weight=None):
        values = self.values(y, p, weight)
        weights = np.ones(len(values)) if weight is None else checked_weights(weight, len(values))
        share = weights / weights.sum()
        value = float(share @ values)
        return Influence(value, share * (values - value), share, bool(np.ptp(values) == 0))

    def estimate(self, y, p, weight=None, level=0.95):
        bounds = self.bounds if self.most is None else (self.bounds[0], self.most)
        return ratio_mean(
            self.values(y, p, weight), weight, level=level, bounds=bounds, scale="plain"
        )


def row_mean(bounds=(0.0, 1.0), **options):
    """Make a `RowMean` of a function: ``@row_mean(bounds=(0.0, None))``."""
    return lambda function: RowMean(function, bounds, **options)


class Ratio(Metric):
    """A ratio of two weighted means of numbers (n,) from 0 up, such as ``above(y, p, weight)``."""

    def __init__(self, name, above, below):
        super().__init__(name, (0.0, None))
        self.above, self.below = above, below

    def influence(self, y, p, weight=None):
        """As of every metric; None where the mean below is 0."""
        y, p = numbers(y, p)
        weights = np.ones(len(p)) if weight is None else checked_weights(weight, len(p))
        above, below = self.above(y, p, weights), self.below(y, p, weights)
        bottom = float(weights @ below)
        if not bottom > 1e-300:
            return None
        value = float(weights @ above) / bottom
        rows = weights * (above - value * below) / bottom
        return Influence(value, rows, weights * below / bottom, not value > 0)


class LeftOut(Metric):
    """A function of somebody's own, ``metric(y, p, weight)``, which gives its value first.

    Its errors over groups, and of differences, come by leaving out parts of the draws.
    """

    def __init__(self, function):
        super().__init__(getattr(function, "__name__", "metric"), (None, None))
        self.function = function

    def __call__(self, y, p, weight=None):
        return self.function(y, p, weight)

    def influence(self, y, p, weight=None):
        """None: it is not known."""
        return None

    def grouped(self, y, p, groups, weight=None, level=0.95):
        y, p = np.asarray(y), np.asarray(p)

        def value(w, rows):
            return self.function(y[rows], p[rows], w)[0]

        return _left_out(value, y, weight, groups, level)

    def compared(self, y, p, other, weight=None, groups=None, level=0.95):
        y, p, other = np.asarray(y), np.asarray(p), np.asarray(other)

        def gap(w, rows):
            mine, theirs = (self.function(y[rows], q[rows], w)[0] for q in (p, other))
            return mine - theirs

        return _left_out(gap, y, weight, groups, level)


def shape_of_draws(sums, mass):
    draws, squares = len(sums), sums * sums
    second = float(squares.sum())
    error = float(np.sqrt(second * draws / (draws - 1))) if draws > 1 else float("nan")
    moments = float(squares @ sums), float(squares @ squares), float(mass @ sums)
    return shape_of(draws, 1.0, second, *moments), error


def _of_rows(value, error, low, high, rows, weight, level):
    """An `Estimate` of rows that may be weighted."""
    effective, largest = float(rows), 1.0
    if weight is not None:
        weight = checked_weights(weight, rows)
        rows, largest = int(np.count_nonzero(weight)), float(weight.max())
        effective = float(weight.sum() ** 2 / (weight @ weight))
    return Estimate(value, error, low, high, rows, effective, largest, level)


def _left_out(value_of, y, weight, groups, level):
    """Estimate of ``value_of(weights, rows)`` by what leaving out parts of the draws does to it.

    The parts are of equal numbers of draws (users, else rows), in the order of their names.
    """
    n = len(y)
    weights = given_weights(weight, n)
    codes = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    draws = int(codes.max()) + 1
    if draws < 2:
        raise CounterweightError(_ONE_GROUP)
    parts = min(draws, PARTS)
    part = codes % parts

    def of(rows):
        return float(value_of(None if weights is None else weights[rows], rows))

    value = of(np.ones(n, bool))
    others = np.array([of(part != k) for k in range(parts)])
    error = float(np.sqrt((parts - 1) / parts * ((others - others.mean()) ** 2).sum()))
    from scipy.special import stdtrit

    half = float(stdtrit(parts - 1, 0.5 + level / 2)) * error
    return replace(_of_rows(value, error, value - half, value + half, n, weight, level), rows=n)


_ONE_GROUP = (
    "All rows are of one group, so nothing is known of how groups differ: give rows of several."
)


def _by_group(groups, influence, mass):
    """Sums of influence and mass over the rows of each group."""
    if groups is None:
        return influence, mass
    groups = np.asarray(groups)
    if groups.shape != influence.shape:
        raise CounterweightError(
            f"There are {len(influence)} rows but groups of shape {groups.shape}: give the group "
            "of each row."
        )
    import pandas as pd

    codes, names = pd.factorize(groups)
    if (codes < 0).any():
        raise CounterweightError(
            f"The group is missing in {int((codes < 0).sum())} of {len(codes)} rows (first: row "
            f"{int(np.argmax(codes < 0))}): fill it in or leave these rows out."
        )
    if len(names) < 2:
        raise CounterweightError(_ONE_GROUP)
    return (np.bincount(codes, part, len(names)) for part in (influence, mass))


def probabilities(y, p):
    """``(y == 1, p)``; refuse what is no label or no probability."""
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
    return positive, p


def numbers(y, p):
    """``(y, p)`` as finite numbers, one of each for a row."""
    p = _finite(p, "prediction")
    return _finite(y, "reward", p.shape), p


def _finite(values, what, shape=None):
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


def given_weights(weight, rows):
    return None if weight is None else checked_weights(weight, rows)


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

        quantile = stdtrit(freedom_of(shape.kurtosis, len(sums)), 0.5 + level / 2)
        half = quantile * error / (value * (1 - value))
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
    place, _ = bin_rows(p, weight, BINS)
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


def metric_estimate(
    name: str, y: ArrayLike, p: ArrayLike, weight: ArrayLike | None = None, level: float = 0.95
) -> Estimate:
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


def grouped_estimate(
    name: str,
    y: ArrayLike,
    p: ArrayLike,
    groups: ArrayLike,
    weight: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
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


def compare_metrics(
    name: str,
    y: ArrayLike,
    p: ArrayLike,
    other: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> Estimate:
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


def compare_segments(
    name: str,
    y: ArrayLike,
    p: ArrayLike,
    other: ArrayLike,
    segment: ArrayLike,
    *,
    weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    level: float = 0.95,
) -> dict:
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
    own_level, found = 1 - (1 - level) / len(names), dict.fromkeys(names.tolist())
    for k, key in enumerate(found):
        rows = place == k
        part = [None if one is None else np.asarray(one)[rows] for one in (weight, groups)]
        y_own, p_own, other_own = (np.asarray(one)[rows] for one in (y, p, other))
        one_class = len(np.unique(y_own)) < 2
        if one_class and metric.classes:
            continue
        try:
            found[key] = compare_metrics(
                metric, y_own, p_own, other_own, level=own_level, weight=part[0], groups=part[1]
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
    place, total = bin_rows(p, weight, int(bins))
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
    falling, running = rising_order(-p, None if weight is None else checked_weights(weight, len(p)))
    weight = checked_weights(weight, len(p))
    last = min(np.searchsorted(running, top * running[-1] * (1 - 1e-12)), len(p) - 1)
    rows = p >= -falling[last]
    w, p, positive = weight[rows], p[rows], positive[rows]
    observed = float(w @ positive)
    if not observed > 0:
        return np.nan, np.nan
    value = float(w @ p) / observed
    own = None if groups is None else groups[rows]
    influence = group_sums(w * (p - value * positive) / observed, own)
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


def _both(positive, weight):
    """Weights of rows of both classes; refuse rows of one."""
    weights = np.ones(len(positive)) if weight is None else checked_weights(weight, len(positive))
    used = weights > 0
    both_classes(int(positive[used].sum()), int(used.sum()))
    return weights
