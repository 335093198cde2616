"""Quality on a population whose labels are partly hidden: weighted, with intervals.

The labeled rows' out-of-fold predictions stand for the target population by importance
weights. That is right when labels are missing at random given the features; nothing seen can
show that they are.
"""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics.metrics import CLIP, metric_estimate
from counterweight.numerics.checks import as_numbers, checked_labels, checked_rows, checked_weights
from counterweight.numerics.estimate import (
    Estimate,
    mean_interval,
    ratio_mean,
    scaled_weights,
    shape_of,
)
from counterweight.numerics.ranking import auc_estimate, both_classes

KINDS = ("binary", "number")


@dataclass(frozen=True)
class LogisticSelection:
    """A logistic selection model behind the weights, so that its estimation can be allowed for.

    Weights from an estimated p vary together with p's own errors, so that a quality weighted
    by them is more exact than with the true p. Taking that into account makes intervals
    shorter, never longer.

    Attributes
    ----------
    p : array (n,)
        p(s = 1 | x) of *all* rows that the model was fitted on.
    labeled : bool array (n,)
        Whether each was labeled (s); the labeled ones in the order of the predictions.
    X : array (n, d)
        Features of the model, without the column of ones.
    """

    p: np.ndarray
    labeled: np.ndarray
    X: np.ndarray


def quality(y, prediction, weight=None, *, kind, level=0.95, group=None, selection=None):
    """Quality of out-of-fold predictions on the population that the weights stand for.

    Self-normalised (ratio) estimates with linearised standard errors, which take the weights
    as given unless `selection` is. See `counterweight.numerics.estimate.mean_interval` for
    the intervals of means and `auc_interval` for that of the AUC; ratios have theirs on the
    log scale with t quantiles.

    Parameters
    ----------
    y : array (M,)
        Outcomes of the labeled rows: 0 and 1, or numbers.
    prediction : array (M,)
        Of models that have not seen the row: probabilities, or numbers.
    weight : array (M,), optional
        Importance times design weights, from 0 up; only their ratios count.
    kind : {"binary", "number"}
    level : float
        Coverage of the intervals.
    group : array (M,), optional
        Rows of a group may depend on each other (clusters: branches, schools). Errors are then
        those of group totals, with as many degrees of freedom as groups allow.
    selection : LogisticSelection, optional
        Not together with `group`.

    Returns
    -------
    dict of str to Estimate
        ``binary``: auc, log_loss, brier, accuracy, calibration (observed over expected mean).
        ``number``: mse, mae, r2, bias (mean of prediction - y).
        A metric that has no value (the AUC of one class, r2 of a constant outcome) is left out.

    Raises
    ------
    CounterweightError
        For an unknown kind, other shapes, predictions or outcomes that are no numbers, weights
        that are negative or all 0.

    References
    ----------
    Cochran (1977), section 6.4, for the ratio; Lunceford & Davidian (2004), *Statistics in
    Medicine* 23, equation (16), for weights from an estimated p.
    """
    if kind not in KINDS:
        raise CounterweightError(f"kind is {kind!r}; choose one of {', '.join(KINDS)}.")
    if group is not None and selection is not None:
        raise CounterweightError("Give group or selection, not both.")
    rows = _Rows.of(y, prediction, weight, kind, level, group, selection)
    return _binary(rows) if kind == "binary" else _number(rows)


def losses(y, prediction, kind):
    """Loss of each row: log loss of probabilities, squared error of numbers, shape (M,)."""
    if kind == "number":
        return (as_numbers(prediction, "predictions") - as_numbers(y, "outcomes")) ** 2
    p = np.clip(as_numbers(prediction, "predictions"), CLIP, 1 - CLIP)
    return -np.where(np.asarray(y) == 1, np.log(p), np.log1p(-p))


@dataclass(frozen=True)
class _Rows:
    """Checked rows of positive weight, and how their errors are to be had."""

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    largest: float
    level: float
    group: np.ndarray | None
    projection: "_Projection | None"

    @classmethod
    def of(cls, y, prediction, weight, kind, level, group, selection):
        prediction = as_numbers(prediction, "predictions")
        if prediction.ndim != 1 or not len(prediction):
            raise CounterweightError(
                f"There is nothing to evaluate: predictions of shape {prediction.shape}."
            )
        M = len(prediction)
        if kind == "binary":
            y = checked_labels(y, M, "outcome").astype(float)
            bad = ~((prediction >= 0) & (prediction <= 1))
            wrong = "between 0 and 1"
        else:
            y = as_numbers(y, "outcomes")
            if y.shape != (M,) or not np.isfinite(y).all():
                raise CounterweightError(
                    f"Each of the {M} labeled rows needs a finite outcome; got shape {y.shape}."
                )
            bad = ~np.isfinite(prediction)
            wrong = "finite"
        if bad.any():
            raise CounterweightError(
                f"{int(bad.sum())} of {M} predictions are not {wrong} (first: "
                f"{float(prediction[np.argmax(bad)])!r}): the model failed."
            )
        weight = checked_weights(weight, M)
        used = weight > 0
        if group is not None:
            group = np.asarray(group)
            if group.shape != (M,):
                raise CounterweightError(f"There are {M} rows but groups of shape {group.shape}.")
            group = np.unique(group[used], return_inverse=True)[1]
        projection = None if selection is None else _Projection.of(selection, M, used)
        if not used.all():
            y, prediction, weight = y[used], prediction[used], weight[used]
        largest = float(weight.max())
        return cls(y, prediction, scaled_weights(weight), largest, level, group, projection)

    @property
    def plain(self):
        """Whether rows are independent and their weights given."""
        return self.group is None and self.projection is None

    def moments(self, influence):
        """Standard error and Shape of influence values ``c`` with estimate - truth = sum c."""
        n, weight = len(influence), self.weight / self.weight.sum()
        if self.group is not None:
            influence = np.bincount(self.group, influence)
            weight = np.bincount(self.group, weight)
            n = len(influence)
        elif self.projection is not None:
            influence, weight = self.projection.residuals(influence, weight)
            # Rows that only the selection model has add little variance, and no freedom.
        squares = influence * influence
        second = float(squares.sum())
        shape = shape_of(
            n,
            1.0,
            second,
            float(squares @ influence),
            float(squares @ squares),
            float(weight @ influence),
        )
        error = np.sqrt(second * n / (n - 1)) if n > 1 else np.nan
        return float(error), shape, n

    def estimate(self, value, error, low, high):
        """An Estimate of these rows."""
        effective = float(self.weight.sum() ** 2 / (self.weight @ self.weight))
        return Estimate(
            float(value),
            float(error),
            float(low),
            float(high),
            len(self.y),
            effective,
            self.largest,
            self.level,
        )

    def mean(self, values, bounds):
        """Weighted mean of values (M,)."""
        if self.plain:
            found = ratio_mean(values, self.weight, level=self.level, bounds=bounds, scale="plain")
            return self.estimate(found.value, found.standard_error, found.low, found.high)
        total = self.weight.sum()
        value = float(self.weight @ values / total)
        error, shape, n = self.moments(self.weight * (values - value) / total)
        low, high = mean_interval(
            value,
            error,
            shape.skewness,
            n,
            self.level,
            bounds,
            pull=shape.pull,
            kurtosis=shape.kurtosis,
            scale="plain",
        )
        return self.estimate(value, error, low, high)

    def ratio(self, above, below):
        """Ratio of weighted means, interval on the log scale; None where it has no value."""
        top, bottom = self.weight @ above, self.weight @ below
        if not bottom > 0:
            return None
        value = top / bottom
        error, shape, n = self.moments(self.weight * (above - value * below) / bottom)
        if not value > 0:
            unseen = 1 - ((1 - self.level) / 2) ** (1 / self.estimate(0, 0, 0, 0).effective_rows)
            return self.estimate(0.0, error, 0.0, unseen * self.weight.sum() / bottom)
        stretch = np.exp(_quantile(shape, n, self.level) * error / value)
        return self.estimate(value, error, value / stretch, value * stretch)


def _quantile(shape, n, level):
    """t quantile with as many degrees of freedom as the variance is known by."""
    from scipy.special import stdtrit

    return float(stdtrit(max(2 * n / max(shape.kurtosis - 1, 1e-12), 1.0), 0.5 + level / 2))


@dataclass(frozen=True)
class _Projection:
    """Takes from influence values what the scores of the selection model explain."""

    score: np.ndarray
    inverse: np.ndarray
    labeled: np.ndarray

    @classmethod
    def of(cls, selection, rows, used):
        p = as_numbers(selection.p, "selection probabilities")
        labeled, X = np.asarray(selection.labeled, bool), checked_rows(selection.X)
        if not (p.shape == labeled.shape == (len(X),)) or labeled.sum() != rows:
            raise CounterweightError(
                f"The selection model has {len(X)} rows, {len(p)} probabilities and "
                f"{int(labeled.sum())} labeled rows, but there are {rows} predictions."
            )
        scale = X.std(axis=0)
        Z = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)])
        score = (labeled - p)[:, None] * Z
        inverse = np.linalg.pinv(score.T @ score, hermitian=True)
        return cls(score, inverse, np.flatnonzero(labeled)[used])

    def residuals(self, influence, weight):
        """Influence values and weights over all rows of the selection model."""
        everyone, weights = np.zeros((2, len(self.score)))
        everyone[self.labeled], weights[self.labeled] = influence, weight
        everyone -= self.score @ (self.inverse @ (self.score[self.labeled].T @ influence))
        return everyone, weights


def _binary(rows):
    y, p = rows.y, rows.prediction
    found = {}
    if 0 < y.sum() < len(y):
        found["auc"] = _auc(rows)
    if rows.plain:
        for name in ("log_loss", "brier", "accuracy"):
            made = metric_estimate(name, y, p, rows.weight, rows.level)
            found[name] = rows.estimate(made.value, made.standard_error, made.low, made.high)
    else:
        found["log_loss"] = rows.mean(losses(y, p, "binary"), (0.0, -np.log(CLIP)))
        found["brier"] = rows.mean((p - y) ** 2, (0.0, 1.0))
        found["accuracy"] = rows.mean(((p >= 0.5) == (y == 1)).astype(float), (0.0, 1.0))
    calibration = rows.ratio(y, p)
    return found if calibration is None else found | {"calibration": calibration}


def _auc(rows):
    from scipy.special import expit, logit

    made = auc_estimate(rows.y, rows.prediction, rows.weight, rows.level)
    if rows.plain or not made.standard_error > 0:
        return rows.estimate(made.value, made.standard_error, made.low, made.high)
    influence = auc_influence(rows.y, rows.prediction, rows.weight)
    error, shape, n = rows.moments(influence)
    half = _quantile(shape, n, rows.level) * error / (made.value * (1 - made.value))
    low, high = expit(logit(made.value) - half), expit(logit(made.value) + half)
    return rows.estimate(made.value, error, low, high)


def auc_influence(y, score, weight):
    """How far each row moves a weighted AUC: the AUC is off by about their sum, shape (M,).

    ``w_i / W_1 (F_0(s_i) - A)`` of a positive row and ``w_j / W_0 (1 - F_1(s_j) - A)`` of a
    negative one, with the weighted share F_k of class k below a score, ties half (DeLong et
    al. 1988).
    """
    y = np.asarray(y) == 1
    both_classes(int(y.sum()), len(y))
    distinct, place = np.unique(score, return_inverse=True)
    influence = np.empty(len(y))
    for own, other, sign in ((y, ~y, 1.0), (~y, y, -1.0)):
        mass = np.bincount(place[other], weight[other], len(distinct))
        below = (np.cumsum(mass) - mass / 2) / mass.sum()
        share = below[place[own]] if sign > 0 else 1 - below[place[own]]
        value = np.average(share, weights=weight[own])
        influence[own] = weight[own] * (share - value) / weight[own].sum()
    return influence


def _number(rows):
    from dataclasses import replace

    error = rows.prediction - rows.y
    found = {"mse": rows.mean(error**2, (0.0, None)), "mae": rows.mean(np.abs(error), (0.0, None))}
    center = np.average(rows.y, weights=rows.weight)
    lost = rows.ratio(error**2, (rows.y - center) ** 2)
    if lost is not None:
        found["r2"] = replace(lost, value=1 - lost.value, low=1 - lost.high, high=1 - lost.low)
    return found | {"bias": rows.mean(error, None)}
