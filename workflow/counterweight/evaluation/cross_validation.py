"""Methods judged on labeled rows that they did not learn from, weighted to a target population.

Where hidden labels do not exist, out-of-fold predictions of the labeled rows stand for the target
by importance weights. That is right when labels are missing at random given the features; nothing
seen can show that they are. The metrics are those of `counterweight.evaluation.metrics`: their
influences give errors that allow for rows that carry much of the weight.
"""

from dataclasses import dataclass, replace

import numpy as np

from counterweight.errors import CounterweightError, in_figures
from counterweight.evaluation.metrics import (
    Influence,
    LeftOut,
    Ratio,
    accuracy,
    auc,
    brier,
    log_loss,
    metric_of,
    row_mean,
    squared_loss,
)
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights
from counterweight.numerics.estimate import (
    Estimate,
    doubly_robust_mean,
    freedom_of,
    mean_interval,
    scaled_weights,
)

TASK = "missing_outcomes"
OPTIONS = {}
LABEL = "cross-validated on labeled rows, weighted to the target"
#: Columns of what a plan of labels is expected to tell, beside the metric, and their table.
_PLAN = {"source": "collect", "place": {"variable": "plan"}, "label": "As planned"}
_PLAIN = {"source": "collect", "place": {"variable": "plain"}, "label": "Plain random sample"}
_WRONG = {"source": "collect", "place": {"variable": "wrong"}, "label": "If estimates told nothing"}
_BY_BUDGET = {
    "lines": "part",
    "target": "unlabeled",
    "first": "Budget",
    "fold": False,
    "note": "Of the rows without an outcome, half of the 95 % interval, as far as can be told.",
}
_POINTS = {"metric": "expected_points"}
_HALF_WIDTH = {"metric": "expected_half_width"}
#: What labels bought by design are expected to tell, and what they told.
SECTIONS = {
    "What interval to expect, by what is spent on labels (points)": {
        "columns": [_POINTS | _PLAN, _POINTS | _PLAIN, _POINTS | _WRONG]
    }
    | _BY_BUDGET,
    "What interval to expect, by what is spent on labels": {
        "columns": [_HALF_WIDTH | _PLAN, _HALF_WIDTH | _PLAIN, _HALF_WIDTH | _WRONG]
    }
    | _BY_BUDGET,
}

#: Intervals are wider by this than the rows' variance asks for: models and weights were fitted
#: on the same rows, which the standard errors leave out. Chosen in simulation.
WIDER = 1.06
#: Part of the losses below which a difference is rounding, and none.
ROUNDING = 1e-9


@row_mean((0.0, None), numbers=True)
def mae(outcome, prediction, weight):
    """Mean absolute error."""
    return np.abs(prediction - outcome)


@row_mean((None, None), numbers=True)
def mean_error(outcome, prediction, weight):
    """Mean of predictions minus outcomes."""
    return prediction - outcome


#: Observed over expected mean, and what is left of the spread (1 - r2).
calibration_ratio = Ratio("calibration_ratio", lambda y, p, w: y, lambda y, p, w: p)
unexplained = Ratio(
    "unexplained", lambda y, p, w: (p - y) ** 2, lambda y, p, w: (y - np.average(y, weights=w)) ** 2
)

#: Metrics by kind of outcome.
QUALITY = {
    "binary": {
        "auc": auc,
        "log_loss": log_loss,
        "brier": brier,
        "accuracy": accuracy,
        "calibration_ratio": calibration_ratio,
    },
    "number": {
        "mse": squared_loss,
        "mae": mae,
        "r2": unexplained,
        "calibration_ratio": calibration_ratio,
        "mean_error": mean_error,
    },
}


def cross_validation(tested, drawn, metrics, *, target):
    """Metric records of out-of-fold predictions (R, M), on the target and on the labeled rows.

    Averages over the draws of the folds. Part ``labeled`` is the quality on the labeled rows as
    they are. Variables ``low`` and ``high`` are the ends of the 95 % interval of a metric. Of
    outcomes of two classes `metrics`, by name, are measured beside `QUALITY`.
    """
    records = []
    further = metrics if tested.binary else {}
    for part, weights in (("", tested.weight), ("labeled", tested.design)):
        for name, known in over_draws(tested, drawn, weights, further=further).items():
            place = {"target": target, "metric": name, "part": part}
            place["rows"] = int(np.count_nonzero(weights))
            records.append(place | {"value": known.value, "standard_error": known.standard_error})
            # The interval is no mean ± error: it keeps to the bounds that a metric has.
            records += [
                place | {"variable": end, "value": getattr(known, end)}
                for end in ("low", "high")
                if np.isfinite(getattr(known, end))
            ]
    return records


def over_draws(tested, drawn, weight=None, **asked):
    """`quality` of out-of-fold predictions (R, M), by name, averaged over the draws of the folds.

    By weights to the target unless others are given.
    """
    weight = tested.weight if weight is None else weight
    asked |= {"kind": "binary" if tested.binary else "number", "group": tested.group}
    found = [
        quality(tested.y, prediction, weight, fold=fold, **asked)
        for prediction, fold in zip(drawn, tested.folds, strict=True)
    ]
    return {name: averaged([one[name] for one in found if name in one]) for name in found[0]}


def averaged(estimates):
    """The mean of estimates of one quantity from the same rows: values, errors and ends."""
    ends = ("value", "standard_error", "low", "high")
    means = {end: float(np.mean([getattr(one, end) for one in estimates])) for end in ends}
    return replace(estimates[0], **means)


def quality(
    y, prediction, weight=None, *, kind, level=0.95, group=None, fold=None, further=None, only=None
):
    """Quality of out-of-fold predictions on the population that the weights stand for.

    Self-normalised (ratio) estimates, `Estimate` by name: `QUALITY` of the `kind`, "binary" or
    "number" (of these those that are named by `only`), and `further` metrics. One that has no value
    (the AUC of one class, r2 of a constant outcome) is left out, and so is the calibration ratio
    (observed over expected mean) of numbers below 0. Standard errors are those of the delete-one
    jackknife of the linearised estimate, which allows for rows that carry much of the weight; they
    take the weights as given. Intervals are made on the scale where the metric has no bounds (logit
    of shares, log of losses and ratios) with t quantiles; the degrees of freedom tell how well the
    rows show their own variance (``2 n / (kurtosis - 1)``, at least 4), and a little wider still
    (`WIDER`).

    `weight` (M,) are importance times design weights; only their ratios count. Rows of a `group`
    may depend on each other (branches, schools): groups are then left out whole in the jackknife.
    With a `fold` (M,) the AUC goes by pairs of the same fold, ranked by the same fit: over folds it
    is too low, by what fits know of the rows that they have seen.

    Seen in simulation (nominal 95 %, 300 tables a setting, labels missing at random, weights
    from a cross-fitted logistic selection model, models fitted with those weights, the truth
    that of the same five models on the whole population): 93-97 % for AUC, log loss and Brier
    score and 95 % for squared errors, at lengths of 1.0 to 1.15 times what an oracle that knows
    the variance needs, for tables of 1,200 to 1,500 rows whose labels are worth 350 to 450
    rows. What no rule can mend is what the rows do not hold: with selection so strong that
    480 labeled rows are worth 200, a squared error with heavy tails is covered in 85 % only.

    Cochran (1977), section 6.4, for the ratio; Efron & Stein (1981), *Annals of Statistics*
    9, for the jackknife's error being on the large side.
    """
    rows = _Rows.of(y, prediction, weight, kind, level, group, fold)
    asked = {name: one for name, one in QUALITY[kind].items() if only is None or name in only}
    asked |= {name: metric_of(one) for name, one in (further or {}).items() if name not in asked}
    if kind == "number" and not ((rows.y >= 0).all() and rows.weight @ rows.prediction > 0):
        asked.pop("calibration_ratio", None)
    found = {name: rows.estimate(metric) for name, metric in asked.items()}
    if (lost := found.get("r2")) is not None:
        found["r2"] = replace(lost, value=1 - lost.value, low=1 - lost.high, high=1 - lost.low)
    return {name: one for name, one in found.items() if one is not None}


def auc_within(y, p, weight, fold):
    """`Influence` of the AUC by pairs of rows of a fold (n,); None where none has both classes.

    Scores of different fits are not held against each other: a row ranks too low by a fit that has
    not seen it, beside rows ranked by fits that have. Airola et al. (2011), *Computational
    Statistics & Data Analysis* 55.
    """
    rows, share, pairs, found = np.zeros(len(y)), np.zeros(len(y)), 0.0, []
    for number in np.unique(fold):
        at = np.flatnonzero(fold == number)
        if 0 < y[at].sum() < len(at):
            ones = weight[at] @ y[at]
            mass = ones * (weight[at].sum() - ones)
            found.append((at, auc.influence(y[at], p[at], weight[at]), mass))
            pairs += mass
    if not found:
        return None
    value = float(sum(own.value * mass for _, own, mass in found) / pairs)
    for at, own, mass in found:
        share[at] = own.share * mass / pairs
        rows[at] = own.rows * mass / pairs + share[at] * (own.value - value)
    return Influence(value, rows, share, not 0 < value < 1)


def losses(y, prediction, kind):
    """Loss of each row: log loss of probabilities, squared error of numbers, shape (M,)."""
    return (squared_loss if kind == "number" else log_loss).values(y, prediction)


def jackknife(influence, share, group=None):
    """Standard error of an estimate from its influence values, and degrees of freedom.

    `influence` (M,) is how far each row moves the estimate, `share` (M,) its share in the weight
    that it is divided by, `group` (M,) its group, from 0 up. NaN for one row or group.
    """
    if group is not None:
        influence, share = np.bincount(group, influence), np.bincount(group, share)
    n = len(influence)
    if n < 2:
        return float("nan"), float("nan")
    without = influence / np.maximum(1 - share, 1e-9)
    squares = without * without
    second = float(squares.sum())
    if not second > 0:
        return 0.0, float(n - 1)
    kurtosis = n * float(squares @ squares) / second**2
    return float(np.sqrt(second * (n - 1) / n)), freedom_of(kurtosis, n)


@dataclass(frozen=True)
class _Rows:
    """Checked rows of positive weight."""

    y: np.ndarray
    prediction: np.ndarray
    weight: np.ndarray
    largest: float
    level: float
    group: np.ndarray | None
    fold: np.ndarray | None

    @classmethod
    def of(cls, y, prediction, weight, kind, level, group, fold):
        prediction = as_numbers(prediction, "predictions")
        if prediction.ndim != 1 or not len(prediction):
            raise CounterweightError(
                f"There is nothing to evaluate: predictions of shape {prediction.shape}."
            )
        M = len(prediction)
        if kind == "binary":
            y = checked_labels(y, M, "outcome").astype(float)
            bad, wrong = ~((prediction >= 0) & (prediction <= 1)), "between 0 and 1"
        else:
            y = as_numbers(y, "outcomes")
            if y.shape != (M,) or not np.isfinite(y).all():
                raise CounterweightError(
                    f"Each of the {M} labeled rows needs one finite outcome; fill or drop the rest."
                )
            bad, wrong = ~np.isfinite(prediction), "finite"
        if bad.any():
            raise CounterweightError(
                f"{int(bad.sum())} of {M} predictions are not {wrong} (first: "
                f"{float(prediction[np.argmax(bad)])!r}): the model failed."
            )
        weight = checked_weights(weight, M)
        used = weight > 0
        if group is not None:
            group = _codes(group, M)[used]
            group = np.unique(group, return_inverse=True)[1]
        fold = None if fold is None else _codes(fold, M, "folds")[used]
        y, prediction, weight = y[used], prediction[used], weight[used]
        largest = float(weight.max())
        return cls(y, prediction, scaled_weights(weight), largest, level, group, fold)

    @property
    def effective(self):
        """Kish's effective rows."""
        return float(self.weight.sum() ** 2 / (self.weight @ self.weight))

    def told(self, value, error, low, high):
        """An Estimate of these rows."""
        numbers = (float(number) for number in (value, error, low, high))
        return Estimate(*numbers, len(self.y), self.effective, self.largest, self.level)

    def estimate(self, metric):
        """Estimate of a `Metric`; None where it has no value."""
        told = self.y, self.prediction, self.weight
        if metric.classes and not 0 < self.y.sum() < len(self.y):
            return None
        found = metric.influence(*told)
        if isinstance(metric, LeftOut):
            return metric.grouped(*told[:2], self.group, self.weight, self.level)
        if isinstance(metric, Ratio):
            return found and (self.scaled(metric, found) if found.value > 0 else self.none(metric))
        if metric.classes:
            own = None if self.fold is None or metric is not auc else auc_within(*told, self.fold)
            if own is not None and not own.alike:
                return self.scaled(metric, own)
            made = metric.estimate(*told, self.level)
            if not (0 < made.value < 1 and made.standard_error > 0):
                return self.told(made.value, made.standard_error, made.low, made.high)
            return self.scaled(metric, found._replace(value=made.value))
        if found.alike and metric.bounds[0] is not None:
            # Values all alike show no variance, yet not that there are no others.
            ends = mean_interval(found.value, 0.0, 0.0, self.effective, self.level, metric.bounds)
            return self.told(found.value, 0.0, *ends)
        return self.scaled(metric, found)

    def none(self, ratio):
        """A ratio of which nothing was seen above."""
        unseen = 1 - ((1 - self.level) / 2) ** (1 / self.effective)
        bottom = float(self.weight @ ratio.below(self.y, self.prediction, self.weight))
        return self.told(0.0, 0.0, 0.0, unseen * self.weight.sum() / bottom)

    def scaled(self, metric, found):
        """Estimate whose interval is made where the metric has no bounds: logit, log or plain."""
        from scipy.special import expit, logit, stdtrit

        value, bounds = found.value, metric.bounds
        error, freedom = jackknife(found.rows, found.share, self.group)
        if np.isnan(error):
            return self.told(value, error, np.nan, np.nan)
        half = WIDER * stdtrit(max(freedom, 4.0), 0.5 + self.level / 2) * error
        with np.errstate(over="ignore"):
            if bounds[0] is None:
                low, high = value - half, value + half
            elif bounds[1] is None:
                stretch = np.exp(half / value)
                low, high = value / stretch, value * stretch
            else:
                half = half / (value * (1 - value))
                low, high = expit(logit(value) - half), expit(logit(value) + half)
        return self.told(value, error, low, high)


def _codes(group, rows, what="groups"):
    group = np.asarray(group)
    if group.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but {what} of shape {group.shape}.")
    return group


@dataclass(frozen=True)
class Comparison:
    """Paired difference of two methods' losses.

    `gain` is the mean loss of B minus that of A, above 0 where A is better; `errors` the gain in
    standard errors, infinite where it has none and is not 0, else 0. `needed` is the gain in
    standard errors that chance alone passes as rarely as a normal variable passes 1: above 1 where
    few rows carry the weight. `loss_a` and `loss_b` are weighted means.
    """

    gain: Estimate
    errors: float
    needed: float
    loss_a: float
    loss_b: float

    @property
    def clear(self):
        """Whether A is better by a standard error or more."""
        return self.gain.value > 0 and self.errors >= self.needed

    def sentence(self, a="A", b="B", name="log loss"):
        """The comparison in words; `name` is what the loss is called."""
        if self.gain.value == 0:
            return f"{a} and {b} have the same {name}, {in_figures(self.loss_a, 3)}."
        side = "smaller" if self.gain.value > 0 else "larger"
        losses = f"{in_figures(self.loss_a, 3)} against {in_figures(self.loss_b, 3)}"
        gain = f"{in_figures(abs(self.gain.value), 3)}, or {_errors(abs(self.errors))}"
        return f"{a} has a {side} {name} than {b}, {losses}: {gain}."


def better(loss_a, loss_b, weight=None, group=None, level=0.95):
    """The `Comparison` of two methods by their out-of-fold losses (M,), weighted to the target.

    Both methods must have been fitted on the same folds. The standard error is that of the rows
    (jackknife), given the fitted models: models fitted on other rows would differ by more. Rows of
    a `group` may depend on each other: errors are then those of group totals.
    """
    from scipy.special import ndtr, stdtrit

    a, b = as_numbers(loss_a, "losses"), as_numbers(loss_b, "losses")
    weight = checked_weights(weight, len(a))
    if group is not None:
        group = np.unique(_codes(group, len(a)), return_inverse=True)[1]
    share = weight / weight.sum()
    value = float(share @ (b - a))
    if abs(value) <= ROUNDING * float(share @ (np.abs(a) + np.abs(b))):
        a, value = b, 0.0
    error, freedom = jackknife(share * (b - a - value), share, group)
    effective = float(1 / (share @ share))
    freedom = max(min(freedom, effective - 1), 1.0)
    half = float(stdtrit(freedom, 0.5 + level / 2)) * error
    rows = int(np.count_nonzero(weight))
    gain = Estimate(
        value, error, value - half, value + half, rows, effective, float(weight.max()), level
    )
    needed = float(stdtrit(freedom, ndtr(1.0)))
    errors = value / error if error > 0 else np.sign(value) * np.inf if value else 0.0
    means = (float(np.average(loss, weights=weight)) for loss in (a, b))
    return Comparison(gain, float(errors), needed, *means)


def beside_parts(tested, labels, combined):
    """Of methods by name the part that a combination does worse than, in sentences; or none.

    `labels` are what the methods are called, in the order of ``tested.draws``; `combined` is the
    name of the combination. Of losses of rows that no fit had seen, weighted to the target.
    """
    kind, called = ("binary", "log loss") if tested.binary else ("number", "mean squared error")
    loss = [np.mean([losses(tested.y, p, kind) for p in drawn], axis=0) for drawn in tested.draws]
    named = dict(zip(labels, loss, strict=True))
    own = named.pop(combined)
    best = min(named, key=lambda name: tested.weight @ named[name])
    # The best of several is the better for that alone.
    level = 1 - 0.05 / len(named)
    found = better(named[best], own, tested.weight, tested.group, level)
    if not found.gain.value > 0:
        return []
    told = f"is within chance for the best of {len(named)} fits."
    if found.gain.low > 0:
        told = f"is beyond chance: study: {{deliver: {{method: {best}}}}} delivers it alone."
    return [found.sentence(labels[best], "what is combined", called), f"That {told}"]


def gain_over(tested, own, other):
    """What a method gains over another in the share of right decisions at 1/2, on the target.

    An `Estimate` of out-of-fold predictions (R, M), averaged over the draws of the folds; `other`
    may be one decision for all, True or False. It is the difference of their accuracies by
    `over_draws`, and its error that of the paired rows.
    """
    wrong = [
        (np.asarray(one) >= 0.5) != tested.y for one in (own, np.broadcast_to(other, own.shape))
    ]
    pairs = zip(*wrong, strict=True)
    return averaged([better(*pair, tested.weight, tested.group).gain for pair in pairs])


def _errors(count):
    return "no chance error" if np.isinf(count) else f"{in_figures(count, 2)} standard errors"


def robust_records(tested, predictions, estimates, where, design):
    """Records of the doubly robust rate or mean of each method over the target.

    `predictions` (M,) are out of fold, `estimates` (n,) of all rows of the table, by method;
    `where` (T,) are the places of the rows of the target and `design` (T,) their weights.
    """
    made, kind = [], "rate" if tested.binary else "mean"
    for name, p in predictions.items():
        seen = tested.y, p, tested.weight
        value, error = doubly_robust_mean(*seen, estimates[name][where], design)
        place = {"metric": f"{kind}_doubly_robust", "part": name, "rows": len(where)}
        made.append(place | {"value": value, "standard_error": error})
    return made
