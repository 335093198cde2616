"""Metrics of rows that belong to groups, and differences of two models on the same rows.

Every metric here is a mean, a ratio of means or a share of pairs, so its error is to first order
a sum of one number a row, its influence (for the AUC the placements of DeLong, DeLong &
Clarke-Pearson 1988). Influences of two models on one row are subtracted; those of the rows of a
group (a user, a session, a day) are added, and the groups are the independent draws.

Of any other metric, a function of somebody's own, no influence is known: its errors come by leaving
out one of `PARTS` sets of draws after the other (delete-a-group jackknife), so that users and pairs
count whatever it is.
"""

from dataclasses import replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics.metrics import (
    balanced_influence,
    checked_predictions,
    known_name,
    losses,
    metric_estimate,
    refuse_unknown,
)
from counterweight.numerics.checks import checked_weights
from counterweight.numerics.estimate import Estimate, mean_interval, shape_of
from counterweight.numerics.ranking import both_classes, checked_scores, placements

#: Sets of draws, at most, that are left out one after the other where no influence is known.
PARTS = 200


def grouped_estimate(name, y, p, groups, weight=None, level=0.95):
    """A metric of rows that depend on each other within groups.

    Parameters
    ----------
    name : str or callable
        As of `metric_estimate`; or ``metric(y, p, weight)``, which gives its value first.
    y, p : array (n,)
    groups : array (n,)
        Name or number of each row's group; rows of different groups are taken to be independent.
    weight : array (n,), optional
    level : float

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
    known = known_name(name)
    if known is None:
        y, p = np.asarray(y), np.asarray(p)
        return _left_out(lambda w, rows: name(y[rows], p[rows], w)[0], y, weight, groups, level)
    plain = metric_estimate(known, y, p, weight, level)
    _, influence, mass = _influence(known, y, p, weight)
    sums, masses = _by_group(groups, influence, mass)
    low, high, error = interval_of(known, plain.value, sums, masses, level)
    return replace(plain, standard_error=error, low=low, high=high)


def compare_metrics(name, y, p, other, *, weight=None, groups=None, level=0.95):
    """Metric of one model minus that of another on the same rows, paired.

    Of the AUC the variance is that of DeLong for two curves of the same rows. Weights, such as
    1 / keep rate, and groups count as in a single metric. It takes the models as given: they
    were fitted on other rows.

    Parameters
    ----------
    name : str or callable
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
    if (known := known_name(name)) is None:
        y, p, other = np.asarray(y), np.asarray(p), np.asarray(other)

        def gap(w, rows):
            return name(y[rows], p[rows], w)[0] - name(y[rows], other[rows], w)[0]

        return _left_out(gap, y, weight, groups, level)
    name = known
    first, mine, mass = _influence(name, y, p, weight)
    second, theirs, _ = _influence(name, y, other, weight)
    sums, masses = _by_group(groups, mine - theirs, mass)
    low, high, error = interval_of("difference", first - second, sums, masses, level)
    known = metric_estimate(name, y, p, weight, level)
    return replace(known, value=first - second, standard_error=error, low=low, high=high)


def compare_segments(name, y, p, other, segment, *, weight=None, groups=None, level=0.95):
    """`compare_metrics` in every segment, with intervals that hold all at once.

    Each has the level ``1 - (1 - level) / segments`` (Bonferroni), so that the chance of any
    interval missing its difference is at most ``1 - level``.

    Parameters
    ----------
    segment : array (n,)
    name, y, p, other, weight, groups, level
        As of `compare_metrics`.

    Returns
    -------
    dict of segment to Estimate
        In the order of the segments; None where a segment has rows of one class only and the
        metric compares classes.
    """
    names, place = np.unique(np.asarray(segment), return_inverse=True)
    own_level, found = 1 - (1 - level) / len(names), {}
    for k, key in enumerate(names):
        rows = place == k
        part = [None if one is None else np.asarray(one)[rows] for one in (weight, groups)]
        y_own, p_own, other_own = (np.asarray(one)[rows] for one in (y, p, other))
        key = key.item() if hasattr(key, "item") else key
        one_class, known = len(np.unique(y_own)) < 2, known_name(name)
        found[key] = None
        if one_class and known in ("auc", "balanced_accuracy"):
            continue
        try:
            found[key] = compare_metrics(
                name, y_own, p_own, other_own, weight=part[0], groups=part[1], level=own_level
            )
        except CounterweightError:
            # A metric of somebody's own may compare classes, too.
            if known or not one_class:
                raise
    return found


def _left_out(value_of, y, weight, groups, level):
    """Estimate of ``value_of(weights, rows)`` by what leaving out parts of the draws does to it.

    The parts are of equal numbers of draws (users, else rows), in the order of their names.
    """
    n = len(y)
    weights = None if weight is None else checked_weights(weight, n)
    codes = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    draws = int(codes.max()) + 1
    if draws < 2:
        raise CounterweightError(
            "All rows are of one group, so nothing is known of how groups differ: give rows of "
            "several."
        )
    parts = min(draws, PARTS)
    part = codes % parts

    def of(rows):
        return float(value_of(None if weights is None else weights[rows], rows))

    value = of(np.ones(n, bool))
    others = np.array([of(part != k) for k in range(parts)])
    error = float(np.sqrt((parts - 1) / parts * ((others - others.mean()) ** 2).sum()))
    from scipy.special import stdtrit

    half = float(stdtrit(parts - 1, 0.5 + level / 2)) * error
    total = np.ones(n) if weights is None else weights
    return Estimate(
        value=value,
        standard_error=error,
        low=value - half,
        high=value + half,
        level=level,
        rows=n,
        effective_rows=float(total.sum() ** 2 / (total @ total)),
        largest_weight=float(total.max()),
    )


def _influence(name, y, p, weight):
    """Value of a metric, its influence by row (n,), and each row's part of the mass (n,)."""
    refuse_unknown(name)
    weights = np.ones(len(y)) if weight is None else checked_weights(weight, len(y))
    if name in ("auc", "balanced_accuracy"):
        if name == "auc":
            positive, score = checked_scores(y, p)
        else:
            positive, score = checked_predictions(y, p)
        used = weights > 0
        both_classes(int(positive[used].sum()), int(used.sum()))
        if name == "balanced_accuracy":
            value, influence = balanced_influence(positive, score, weights)
            return value, influence, np.zeros(len(y))
        value, place = placements(positive, score, weights)
        mass = np.where(positive, weights[positive].sum(), weights[~positive].sum())
        return value, weights * (place - value) / mass, np.zeros(len(y))
    values = losses(name, y, p, weight)
    share = weights / weights.sum()
    value = float(share @ values)
    return value, share * (values - value), share


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
        raise CounterweightError(
            "All rows are of one group, so nothing is known of how groups differ: give rows of "
            "several."
        )
    return (np.bincount(codes, part, len(names)) for part in (influence, mass))


def interval_of(name, value, sums, mass, level):
    """Low, high and standard error of a metric from the influences of independent draws.

    Parameters
    ----------
    name : str
        As of `metric_estimate`; ``difference``, or ``predicted_over_observed``.
    value : float
    sums, mass : array (G,)
        Influence of each draw, and its part of the denominator (0 for the AUC).
    level : float
    """
    draws = len(sums)
    squares = sums * sums
    second = float(squares.sum())
    error = float(np.sqrt(second * draws / (draws - 1))) if draws > 1 else float("nan")
    shape = shape_of(
        draws, 1.0, second, float(squares @ sums), float(squares @ squares), float(mass @ sums)
    )
    if name == "auc" and 0 < value < 1 and error > 0:
        from scipy.special import expit, logit, stdtrit

        freedom = max(min(2 * draws / max(shape.kurtosis - 1, 1e-12), draws - 1), 1.0)
        half = stdtrit(freedom, 0.5 + level / 2) * error / (value * (1 - value))
        return float(expit(logit(value) - half)), float(expit(logit(value) + half)), error
    above = dict.fromkeys(("log_loss", "squared_loss", "predicted_over_observed"), (0.0, None))
    bounds = {"difference": None} | above
    low, high = mean_interval(
        value,
        error,
        shape.skewness,
        draws,
        level,
        bounds.get(name, (0.0, 1.0)),
        pull=shape.pull,
        kurtosis=shape.kurtosis,
        scale="plain",
    )
    return low, high, error
