"""Answers from labels that were bought by design: each row had a known chance to be bought.

Nothing is assumed of who had a label before, and predictions need not be right: they make the
interval narrower as far as they agree with the labels bought, by a model that is fitted to these
and by what is left of each label. All errors are those of the draw, of the very rows of the
population.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import metric_of
from counterweight.numerics.checks import as_marks
from counterweight.numerics.designs import NEAREST, fixed_parts
from counterweight.numerics.estimate import (
    COUNTED,
    UNBOUNDED,
    Estimate,
    mean_interval,
    possible,
    shape_of,
    share_interval,
)
from counterweight.numerics.linear import expit, logit
from counterweight.numerics.ranking import placements

#: Ways to use predictions, from none to a model of the outcome that is fitted to labels bought.
HOW = ("calibrated", "difference", "ppi", "horvitz_thompson", "hajek")
#: Labels for which the variance that a model expects counts beside that of a group's own labels.
EXPECTED = 20
#: The same of a metric.
FEW = 10
#: What the slope of a calibration is held to 1 by: as much as one label says.
PRIOR = 1.0


class Bought(NamedTuple):
    """The rows that were bought, and what is known of all.

    `outcome` (m,), `weight` (m,) 1 / chance, `pi` (m,) by which variances go, `at` (m,) places,
    `predicted` (N,) or None, `binary`, `stratum` (m,) of int.
    """

    outcome: np.ndarray
    weight: np.ndarray
    pi: np.ndarray
    at: np.ndarray
    predicted: np.ndarray | None
    binary: bool
    stratum: np.ndarray
    design: str
    rows: int
    beyond: bool

    @property
    def bounds(self):
        return (0.0, 1.0) if self.binary else UNBOUNDED


def bought_rows(
    outcome,
    chances,
    bought,
    predicted=None,
    design="poisson",
    stratum=None,
    binary=None,
    beyond=False,
):
    """Checked arguments of the functions of this module, a `Bought`.

    With `beyond` errors are also those of outcomes that could have come out otherwise in the same
    rows: what is bought for certain then has one, too, as if its chance were 0 in each variance.

    Where `binary` does not say whether the outcome is a class, it is taken for one if all labels
    bought are 0 or 1 and all predictions are chances.
    """
    bought = as_marks(bought, "marks of rows bought")
    rows, at = len(bought), np.flatnonzero(bought)
    y, pi = np.asarray(outcome, float), np.asarray(chances, float)
    if y.shape != (rows,) or pi.shape != (rows,):
        raise CounterweightError(
            f"There are {rows} rows, outcomes of shape {y.shape} and chances of shape {pi.shape}: "
            "give one of each a row."
        )
    if len(at) < 2:
        raise CounterweightError(f"{len(at)} labels were bought: an answer needs two at least.")
    y, pi = y[at], pi[at]
    if not ((pi > 0) & (pi <= 1)).all():
        raise CounterweightError(
            f"{int((~((pi > 0) & (pi <= 1))).sum())} of {len(pi)} rows were bought with a chance "
            "that is not above 0 and at most 1: give the chances that the plan drew by."
        )
    if not np.isfinite(y).all():
        raise CounterweightError(
            f"{int((~np.isfinite(y)).sum())} of {len(y)} rows that were bought have no outcome: "
            "say that they refused (`refusal_bounds`), or fill them in."
        )
    unsaid, binary = binary is None, True if binary is None else binary
    if unsaid:
        binary = bool(np.isin(y, (0, 1)).all())
    if binary and not ((y >= 0) & (y <= 1)).all():
        raise CounterweightError(
            "Labels of a class are 0 and 1, and others were bought: code them."
        )
    if predicted is not None:
        predicted = np.asarray(predicted, float)
        if predicted.shape != (rows,) or not np.isfinite(predicted).all():
            raise CounterweightError(
                f"There are {rows} rows and predictions of shape {predicted.shape}, "
                f"{int((~np.isfinite(predicted)).sum())} of them not finite: predict every row."
            )
        chance = bool(((predicted >= 0) & (predicted <= 1)).all())
        if binary and not unsaid and not chance:
            raise CounterweightError("Predictions of a class are chances from 0 to 1: give those.")
        binary = binary and chance
    place = np.zeros(len(at), int)
    if stratum is not None:
        place = np.unique(np.asarray(stratum).astype(str)[at], return_inverse=True)[1]
    aside = np.zeros(len(pi)) if beyond else pi
    return Bought(y, 1 / pi, aside, at, predicted, binary, place, design, rows, beyond)


def collected_mean(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike | None = None,
    *,
    design: str = "poisson",
    how: str = "calibrated",
    group: ArrayLike | None = None,
    folds: int | None = None,
    stratum: ArrayLike | None = None,
    power: float | None = None,
    binary: bool | None = None,
    level: float = 0.95,
    beyond: bool = False,
) -> Estimate:
    """Mean outcome of a population of which some rows were bought by design.

    Parameters
    ----------
    outcome : array (N,)
        Of rows that were not bought it is not looked at.
    chances : array (N,)
        Chance of each row to be bought.
    bought : bool array (N,)
    predicted : array (N,), optional
        What a model expects that did not learn from the labels bought; the chance of 1 of a class.
        Not needed where `how` goes without.
    design : {"poisson", "fixed"}
        How they were drawn, see `counterweight.numerics.designs.draw`.
    how : str
        "horvitz_thompson": ``sum s y / pi / N``. "hajek": divided by ``sum s / pi``. "difference":
        ``mean f + sum s (y - f) / pi / N``, unbiased for any f. "ppi": ``lambda mean f`` and the
        Hajek mean of ``y - lambda f``, lambda in [0, 1] such that the estimated variance is least,
        so that it is no worse than "hajek". "calibrated": f is replaced by g(f), fitted to the
        labels bought with weights 1 / pi: of a class ``logit g = a + b logit f``, of a number
        ``g = a + b f``; what is left of each label is that of the model without it.
    group : array (N,), optional
        Of "calibrated": each group has a constant of its own, as far as it has ten labels.
    folds : int or array (N,) of int, optional
        Of "calibrated": g is fitted without the row's fold, and the mean is unbiased under
        "poisson"; of a number k, rows go to folds in turn by f. By default g is fitted to all, and
        what is left of a label is put right for its own pull on the fit (leverage), which is
        leaving out one row each.
    stratum : array (N,), optional
        Strata of a fixed design.
    power : float, optional
        Of "ppi": lambda.
    binary : bool, optional
        Whether the outcome is a class; see `bought_rows`.
    beyond : bool
        Whether the interval is of the chances behind the outcomes of these rows, and not of the
        outcomes that came: of later rows like them.

    Returns
    -------
    Estimate
        Interval by `mean_interval` from the rows' influences; that of counts which are worth as
        much, where a class has fewer than 20 labels and it is shorter. Where all labels bought are
        of one class it says how many unseen ones of the other there could be. Of a class "hajek"
        and "calibrated" without folds stay within what the rows that were not bought can still
        make.

    References
    ----------
    Horvitz & Thompson (1952); Hájek (1971); Särndal, Swensson & Wretman (1992), chapters 5 and 6;
    Korn & Graubard (1998) for counts; Angelopoulos, Duchi & Zrnic (2023), *PPI++*; Zrnic & Candès
    (2024), *Active statistical inference*; Lehtonen & Veijanen (1998) for logistic models.
    """
    if how not in HOW:
        raise CounterweightError(f"There is no way {how!r}; choose one of {', '.join(HOW)}.")
    plain = how in ("horvitz_thompson", "hajek")
    told = bought_rows(
        outcome, chances, bought, None if plain else predicted, design, stratum, binary, beyond
    )
    if not plain and predicted is None:
        raise CounterweightError(f"The way {how!r} needs predictions: give them, or use 'hajek'.")
    y, w, n = told.outcome, told.weight, told.rows
    if how == "horvitz_thompson":
        return _told(told, w @ y / n, w * y / n, level, centred=False)
    if how == "difference":
        left = y - told.predicted[told.at]
        value = told.predicted.mean() + w @ left / n
        return _told(told, value, w * left / n, level, centred=False)
    if told.binary and np.ptp(y) == 0:
        return _possible(told, _one_class(told, float(y[0]), level))
    if how == "hajek":
        mean = w @ y / w.sum()
        return _possible(told, _told(told, mean, w * (y - mean) / w.sum(), level))
    if how == "ppi":
        value, influence = _power_tuned(told, power)
        return _told(told, value, influence, level)
    value, influence = assisted(told, assisting_model(told, group, folds))
    found = _told(told, value, influence, level, centred=folds is not None)
    return _possible(told, found) if folds is None else found


def collected_by_group(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    group: ArrayLike,
    *,
    stratum: ArrayLike | None = None,
    **options: object,
) -> dict:
    """`collected_mean` in each group, a dict of group to `Estimate`; one by the constant "hajek".

    The model is fitted to all labels bought; what is left of it is averaged within each group, so
    that no group needs it to be right. The variance of a group is that of what is left, or what the
    model says it is where that is more. A group of fewer than two labels has NaN.

    The options are those of `collected_mean`; of `how` "calibrated" (the default) and "hajek".
    """
    how, level = options.pop("how", "calibrated"), options.pop("level", 0.95)
    design, folds = options.pop("design", "poisson"), options.pop("folds", None)
    binary, beyond = options.pop("binary", None), options.pop("beyond", False)
    if options:
        raise TypeError(f"collected_by_group takes no {', '.join(sorted(options))}")
    names, place = np.unique(np.asarray(group), return_inverse=True)
    told = bought_rows(outcome, chances, bought, predicted, design, stratum, binary, beyond)
    y, w, own = told.outcome, told.weight, place[told.at]
    one_class = told.binary and np.ptp(y) == 0
    if how == "hajek" or one_class or predicted is None:
        expected, left, noise = np.zeros(told.rows), y, np.zeros(len(y))
    else:
        model = assisting_model(told, None, folds)
        expected, left = model.expected, y - model.without
        own_chance = expected[told.at]
        noise = (
            own_chance * (1 - own_chance) if told.binary else np.full(len(y), w @ left**2 / w.sum())
        )
    found, rows = {}, np.bincount(own, minlength=len(names))
    for k, name in enumerate(names):
        key, mine = (name.item() if hasattr(name, "item") else name), own == k
        if rows[k] < 2:
            unknown = [np.nan] * 4
            found[key] = Estimate(*unknown, int(rows[k]), float(rows[k]), np.nan, level)
            continue
        if told.binary and np.ptp(y[mine]) == 0:
            one = _one_class(told, float(y[mine][0]), level, mine)
            found[key] = _possible(told, one, mine, int((place == k).sum()))
            continue
        share = np.where(mine, w, 0.0) / w[mine].sum()
        # The mean goes by all that is left, so that with every label bought it is the truth; its
        # error by what is left by a model without the row.
        mean = float(share @ (y - expected[told.at]))
        value = float(expected[place == k].mean()) + mean
        expected_variance = float(((1 - told.pi) * share**2) @ noise)
        influence = share * (left - mean)
        one = _told(told, value, influence, level, mine, variance=expected_variance)
        found[key] = _possible(told, one, mine, int((place == k).sum()))
    return found


def collected_metric(
    metric: str,
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    *,
    chance: ArrayLike | None = None,
    how: str = "calibrated",
    design: str = "poisson",
    stratum: ArrayLike | None = None,
    level: float = 0.95,
    beyond: bool = False,
) -> Estimate:
    """A metric of given predictions over a population of which some rows were bought by design.

    Parameters
    ----------
    metric : str or Metric
        Of `counterweight.evaluation.metrics`, one whose influence is known.
    outcome, chances, bought, design, stratum, level, beyond
        As of `collected_mean`; outcomes are 0 and 1.
    predicted : array (N,)
        What is judged.
    chance : array (N,), optional
        Chances of 1 that assist; `predicted` by default, where it is that.
    how : {"calibrated", "hajek"}
        "hajek": the metric of rows bought, weighted by 1 / chance. "calibrated": put right by what
        the rows of the population, with the chances of 1 that a model gives which is fitted to the
        labels bought, do to it beside what those bought do: one step of the difference estimator.

    Raises
    ------
    CounterweightError
        As the metric, such as where labels bought are all of one class.

    References
    ----------
    Särndal, Swensson & Wretman (1992), section 5.5 (linearised variables) and 6.3; DeLong, DeLong
    & Clarke-Pearson (1988) for the AUC.
    """
    metric = metric_of(metric)
    told = _judged(outcome, chances, bought, predicted, chance, how, design, stratum, beyond)
    value, rows, moves = _stepped(metric, told, predicted, how)
    bounds = metric.bounds
    if bounds[0] is not None:
        value = max(value, bounds[0])
    if bounds[1] is not None:
        value = min(value, bounds[1])
    found = metric.interval, (level, bounds)
    return _with_interval(told, value, rows, moves, *found)


def collected_difference(
    metric: str,
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    other: ArrayLike,
    *,
    chance: ArrayLike | None = None,
    how: str = "calibrated",
    level: float = 0.95,
    beyond: bool = False,
) -> Estimate:
    """A metric of predictions minus that of others, by the same labels bought by design.

    `other` (N,) are judged beside `predicted`; the rest is as of `collected_metric`. A row that
    moves both alike adds nothing to the error, so it is less than those of two metrics apart.
    """
    metric = metric_of(metric)
    told = _judged(outcome, chances, bought, predicted, chance, how, "poisson", None, beyond)
    one, two = (_stepped(metric, told, judged, how) for judged in (predicted, other))
    moves = None if one[2] is None else one[2] - two[2]
    found = metric.interval, (level, None)
    return _with_interval(told, one[0] - two[0], one[1] - two[1], moves, *found)


def _judged(outcome, chances, bought, predicted, chance, how, design, stratum, beyond):
    """The rows bought, with the chances that assist, of arguments of `collected_metric`."""
    assist = predicted if chance is None else chance
    if how not in ("calibrated", "hajek"):
        raise CounterweightError(f"A metric goes by 'calibrated' or 'hajek', not {how!r}.")
    if how == "calibrated" and not ((np.asarray(assist) >= 0) & (np.asarray(assist) <= 1)).all():
        raise CounterweightError(
            "The predictions are no chances, from 0 to 1: give `chance`, or how='hajek'."
        )
    return bought_rows(outcome, chances, bought, assist, design, stratum, True, beyond)


def _stepped(metric, told, predicted, how):
    """A metric, the influences of rows bought (m,), and how far the outcome of each moves it."""
    judged = np.asarray(predicted, float)
    y, w = told.outcome, told.weight
    found = metric.influence(y, judged[told.at], w)
    if found is None:
        raise CounterweightError("Of this metric it is not known how far a row moves it.")
    if how != "calibrated" or not 0 < y.mean() < 1:
        return found.value, found.rows, None
    model = assisting_model(told)
    if_1, if_0 = _moves(metric, y, judged, w, told.at, found)
    between = if_1 - if_0
    whole = if_0 + model.expected * between
    value = found.value + float(whole.sum() - w @ whole[told.at])
    own = between[told.at]
    way = between @ model.derivative - (w * own) @ model.derivative[told.at]
    moves = w * (own + model.pull @ way)
    return value, moves * (y - model.without), moves


def _with_interval(told, value, rows, moves, interval, asked):
    """An `Estimate` of influences (m,); `moves` say what variance the assisting model expects."""
    parts, drawn = np.sqrt(1 - told.pi) * rows, told.outcome[told.pi < 1]
    # The rarer class carries what labels show of the variance.
    count = int(min(drawn.sum(), len(drawn) - drawn.sum()))
    if told.design == "fixed":
        lost = fixed_parts(rows, told.pi, told.stratum)
        parts = np.sign(parts) * np.sqrt(lost * (len(rows) - 1) / len(rows))
    if moves is not None and parts.any():
        g = assisting_model(told).expected[told.at]
        expected = float(((1 - told.pi) * moves**2) @ (g * (1 - g)))
        # As in `collected_by_group`: few labels may show less variance than the model has for them.
        shown = FEW * expected / float(parts @ parts)
        parts = parts * np.sqrt((count + shown) / (count + FEW))
    level, bounds = asked
    low, high, error = interval(value, parts, np.zeros(len(parts)), level, bounds)
    low, high = (value if not np.isfinite(end) and error == 0 else end for end in (low, high))
    w = told.weight
    effective = float(w.sum() ** 2 / (w @ w))
    ends = min(low, value), max(high, value)
    return Estimate(value, error, *ends, len(rows), effective, float(w.max()), level)


def _moves(metric, y, judged, w, at, found):
    """How far a row of the population would move a metric, for each weight of 1, if its outcome
    were 1 and if it were 0, (N,) each."""
    if metric.classes:
        rows = len(judged)
        labels = np.concatenate([y == 1, np.ones(rows, bool), np.zeros(rows, bool)])
        scores = np.concatenate([judged[at], judged, judged])
        weights = np.concatenate([w, np.zeros(2 * rows)])
        value, place = placements(labels, scores, weights)
        ones = w[y == 1].sum()
        return (
            (place[len(at) : len(at) + rows] - value) / ones,
            (place[len(at) + rows :] - value) / (w.sum() - ones),
        )
    ends = (np.ones(len(judged)), np.zeros(len(judged)))
    return tuple((metric.values(end, judged) - found.value) / w.sum() for end in ends)


def collected_calibration(
    outcome: ArrayLike,
    chances: ArrayLike,
    bought: ArrayLike,
    predicted: ArrayLike,
    **options: object,
) -> Estimate:
    """Mean prediction over the share of 1 in the population, an `Estimate`.

    1 for chances that are right on average, above where they promise too much. The mean prediction
    is known; the share is that of `collected_mean`, whose options these are.
    """
    share = collected_mean(outcome, chances, bought, predicted, **options)
    return over_share(float(np.mean(np.asarray(predicted))), share)


def over_share(total, share):
    """What is foretold over a share of 1, an `Estimate`, by that of the share."""
    if not share.value > 0:
        low = total / share.high if share.high > 0 else np.nan
        return replace(share, value=np.inf, standard_error=np.nan, low=low, high=np.inf)
    ends = (total / end if end > 0 else np.inf for end in (share.high, share.low))
    value = total / share.value
    low, high = ends
    error = value * share.standard_error / share.value
    return replace(share, value=value, standard_error=error, low=low, high=high)


class _Model(NamedTuple):
    """`expected` (N,) of all rows; `without` (m,): of rows bought by a model without them; `pull`
    (m, k) and `curvature`: of the fit, or None where folds were left out."""

    expected: np.ndarray
    without: np.ndarray
    derivative: np.ndarray | None = None
    pull: np.ndarray | None = None


def assisting_model(told, group=None, folds=None):
    """The model of the outcome that is fitted to labels bought, a `_Model`."""
    design, offset = _design(told, group)
    if folds is None:
        coefficients, curvature = _fitted(told, design, offset, np.arange(len(told.at)))
        expected = _answers(told, design, offset, coefficients)
        own = expected[told.at]
        bend = own * (1 - own) if told.binary else np.ones(len(own))
        X = design[told.at]
        pull = X @ np.linalg.pinv(curvature, hermitian=True)
        leverage = told.weight * bend * np.einsum("ij,ij->i", pull, X)
        left = (told.outcome - own) / np.maximum(1 - leverage, 0.1)
        all_bend = expected * (1 - expected) if told.binary else np.ones(told.rows)
        return _Model(expected, told.outcome - left, design * all_bend[:, None], pull)
    fold = _folds(told, folds)
    expected = np.empty(told.rows)
    for k in np.unique(fold):
        inside = fold == k
        learn = np.flatnonzero(~inside[told.at])
        coefficients, _ = _fitted(told, design, offset, learn)
        expected[inside] = _answers(told, design[inside], offset[inside], coefficients)
    return _Model(expected, expected[told.at])


def _design(told, group):
    """Columns of the assisting model (N, k), the last one the standardised prediction, and the
    log odds that they are added to (N,)."""
    f, w = told.predicted, told.weight / told.weight.sum()
    score = logit(np.clip(f, NEAREST, 1 - NEAREST)) if told.binary else f
    centre = w @ score[told.at]
    scale = np.sqrt(w @ (score[told.at] - centre) ** 2)
    scale = scale if scale > 1e-9 * max(abs(centre), 1e-300) else np.inf
    constants = np.ones((told.rows, 1))
    if group is not None:
        names, place = np.unique(np.asarray(group), return_inverse=True)
        enough = np.bincount(place[told.at], minlength=len(names)) >= 10
        # Groups of few labels share one constant.
        place = np.where(enough[place], place, len(names))
        seen, place = np.unique(place, return_inverse=True)
        constants = np.eye(len(seen))[place]
        constants = constants[:, constants[told.at].any(axis=0)]
    design = np.column_stack([constants, (score - centre) / scale])
    return design, score if told.binary else np.zeros(told.rows)


def _fitted(told, design, offset, learn):
    """Coefficients of a weighted fit to some of the labels bought, and its curvature (k, k).

    Of a class Newton steps from the predicted odds, of which the constants are shifted freely and
    the slope is held to 1 by `PRIOR`; the weighted residuals then sum to 0.
    """
    at = told.at[learn]
    X, y, w = design[at], told.outcome[learn], told.weight[learn]
    k = X.shape[1]
    if not told.binary:
        curvature = (X * w[:, None]).T @ X
        return np.linalg.pinv(curvature, hermitian=True) @ (X.T @ (w * y)), curvature
    unit = w.mean()
    ridge = np.append(np.full(k - 1, 1e-6), PRIOR) * unit
    found, base = np.zeros(k), offset[at]
    value = _loss(base, y, w)
    for _ in range(60):
        p = expit(base + X @ found)
        gradient = X.T @ (w * (p - y)) + ridge * found
        curvature = (X * (w * np.maximum(p * (1 - p), 1e-10))[:, None]).T @ X + np.diag(ridge)
        move = -np.linalg.solve(curvature, gradient)
        for length in 0.5 ** np.arange(30):
            new = found + length * move
            reached = _loss(base + X @ new, y, w) + ridge @ new**2 / 2
            if reached <= value + 1e-12 * abs(value):
                break
        else:
            break
        found, value = new, reached
        if -(gradient @ move) <= 1e-12 * unit * len(y):
            break
    return found, curvature


def _loss(score, y, w):
    return float(w @ (np.logaddexp(0, score) - y * score))


def _answers(told, design, offset, coefficients):
    score = offset + design @ coefficients
    return expit(score) if told.binary else score


def _folds(told, folds):
    if np.ndim(folds):
        fold = np.asarray(folds)
        if fold.shape != (told.rows,):
            raise CounterweightError(f"There are {told.rows} rows and {fold.size} folds.")
        return fold
    if not 2 <= folds <= len(told.at):
        raise CounterweightError(
            f"{folds} folds of {len(told.at)} labels: ask for 2 at least, and no more than labels."
        )
    fold = np.empty(told.rows, int)
    fold[np.argsort(told.predicted, kind="stable")] = np.arange(told.rows) % int(folds)
    return fold


def assisted(told, model, slope=None, base=0.0):
    """Mean of ``base + slope y`` (slope 1 by default) and the influences of rows bought, (m,)."""
    ones = np.ones(told.rows) if slope is None else slope
    w, n = told.weight, told.rows
    expected, own = model.expected, ones[told.at]
    left = told.outcome - model.without
    if model.pull is None:
        # What is left has its mean over as many rows as there are, not as were drawn on average.
        mean = w @ (own * left) / w.sum()
        value = float(np.mean(base + ones * expected) + mean)
        return value, w * (own * left - mean) / w.sum()
    residual = told.outcome - expected[told.at]
    value = float(np.mean(base + ones * expected) + w @ (own * residual) / n)
    way = ones @ model.derivative / n - (w * own) @ model.derivative[told.at] / n
    return value, w * left * (own / n + model.pull @ way)


def _power_tuned(told, power=None):
    """Value and influences of PPI++ with a constant; see `collected_mean`."""
    y, w, f = told.outcome, told.weight, told.predicted
    own, share = f[told.at], w / w.sum()
    y_left, f_left = y - share @ y, own - share @ own
    if power is None:
        free = (1 - told.pi) * w**2
        below = free @ f_left**2
        power = float(np.clip(free @ (y_left * f_left) / below, 0, 1)) if below > 0 else 0.0
    value = power * float(f.mean() - share @ own) + float(share @ y)
    return value, share * (y_left - power * f_left)


def _told(told, value, influence, level, mine=None, bounds=None, centred=True, variance=None):
    """An `Estimate` from influences (m,), of the rows `mine` of a group; `centred` are those from
    which a mean of the labels themselves was taken."""
    bounds = told.bounds if bounds is None else bounds
    mine = slice(None) if mine is None else mine
    c, w, pi, ones = influence[mine], told.weight[mine], told.pi[mine], told.outcome[mine].sum()
    parts = np.sqrt(1 - pi) * c
    if told.design == "fixed":
        place = told.stratum[mine]
        second = float(fixed_parts(c, pi, place).sum())
    else:
        second = float(parts @ parts) * (len(c) / (len(c) - 1) if centred else 1.0)
    squares = parts * parts
    shape = shape_of(
        len(c), 1.0, float(squares.sum()), float(squares @ parts), float(squares @ squares)
    )
    if variance is not None:
        count = int((pi < 1).sum())
        second = (count * second + EXPECTED * variance) / (count + EXPECTED)
    error = float(np.sqrt(second))
    effective = float(w.sum() ** 2 / (w @ w))
    known = shape.skewness, len(c) if error > 0 else effective, level, bounds
    low, high = mean_interval(value, error, *known, kurtosis=shape.kurtosis, scale="plain")
    if error == 0 and (pi == 1).all():
        low = high = value
    elif told.binary and error > 0 and min(ones, len(c) - ones) < COUNTED:
        ends = (low, high), share_interval(value, error, len(c), level)
        low, high = min(ends, key=np.ptp)
    least, most = (-np.inf if bounds[0] is None else bounds[0]), bounds[1]
    value = float(np.clip(value, least, np.inf if most is None else most))
    return Estimate(
        value, error, min(low, value), max(high, value), len(c), effective, float(w.max()), level
    )


def _one_class(told, value, level, mine=None):
    """All labels bought are of one class: the share that the other may have (Clopper-Pearson)."""
    w = told.weight if mine is None else told.weight[mine]
    pi = told.pi if mine is None else told.pi[mine]
    effective = float(w.sum() ** 2 / (w @ w))
    unseen = 0.0 if (pi == 1).all() else 1 - ((1 - level) / 2) ** (1 / effective)
    low, high = max(value - unseen, 0.0), min(value + unseen, 1.0)
    return Estimate(value, 0.0, low, high, len(w), effective, float(w.max()), level)


def _possible(told, found, mine=slice(None), rows=None):
    """A share within what labels leave possible among all rows or so many; chances have no such
    limits. Where few rows are open its ends are whole counts: one row is more than its error."""
    if not told.binary or told.beyond:
        return found
    y, rows = told.outcome[mine], told.rows if rows is None else rows
    if rows - len(y) < COUNTED:
        low, high = np.floor(found.low * rows + 1e-9), np.ceil(found.high * rows - 1e-9)
        found = replace(found, low=float(low) / rows, high=float(high) / rows)
    return possible(found, y.sum() / rows, 1 - (1 - y).sum() / rows)


def recalibration(outcome, chances, bought, predicted):
    """The model that assists `collected_mean`, as numbers: constant, slope, and their covariance.

    Of a class ``logit g = constant + slope logit f``, of a number ``g = constant + slope f``. The
    covariance (2, 2) is a sandwich of independent rows, with what a row pulls at the fit put right.

    The arguments are those of `collected_mean`.
    """
    told = bought_rows(outcome, chances, bought, predicted)
    design, offset = _design(told, None)
    coefficients, curvature = _fitted(told, design, offset, np.arange(len(told.at)))
    f, w = told.predicted[told.at], told.weight / told.weight.sum()
    score = logit(np.clip(f, NEAREST, 1 - NEAREST)) if told.binary else f
    centre = float(w @ score)
    spread = float(np.sqrt(w @ (score - centre) ** 2))
    steep = 1 / spread if spread > 1e-9 * max(abs(centre), 1e-300) else 0.0
    # From (1, standardised score) to (1, score).
    turn = np.array([[1.0, -centre * steep], [0.0, steep]])
    left = told.outcome - assisting_model(told).without
    moved = (design[told.at] @ np.linalg.pinv(curvature, hermitian=True)) * (told.weight * left)[
        :, None
    ]
    constant, slope = turn @ coefficients
    return float(constant), float(slope + told.binary), turn @ (moved.T @ moved) @ turn.T
