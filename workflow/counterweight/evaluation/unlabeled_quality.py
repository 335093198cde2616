"""Quality of a classifier's estimates on rows that have no label: AUC, losses, calibration.

The metric to be expected over the rows at hand, each labeled by its calibrated chance, is put right
by what labeled rows show once weighted to them. That is right where the chances or the weights are,
if labels are missing at random given the features; nothing seen can show that they are.
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.cross_validation import WIDER, jackknife
from counterweight.evaluation.metrics import CLIP
from counterweight.numerics.checks import as_numbers, checked_labels, checked_weights
from counterweight.numerics.estimate import Estimate, around

#: Chances are kept so far from 0 and 1.
NEAREST = 1e-6
#: Largest weight of a labeled row, in mean weights. Chosen in simulation, as is `PRICE`.
MOST = 10.0
#: Square of the standard errors by which errors must change a metric before they count.
PRICE = 1.0
#: Least and largest value of each metric.
BOUNDS = {
    "auc": (0.0, 1.0),
    "log_loss": (0.0, None),
    "brier": (0.0, 1.0),
    "accuracy": (0.0, 1.0),
    "calibration_ratio": (0.0, None),
}


class _Expected(NamedTuple):
    """A metric expected over the target, and how far a label more moves it: a unit of weight of
    each labeled row (M,), and of each row of the target (T,)."""

    value: float
    labeled: np.ndarray
    target: np.ndarray


def unlabeled_quality(
    y,
    p,
    weight,
    p_target,
    *,
    design=None,
    design_target=None,
    chance=None,
    chance_target=None,
    group=None,
    level=0.95,
):
    """AUC, losses and calibration of estimates on rows without labels, `Estimate` by name.

    What is estimated is what the metrics would be if the labels of just these rows were seen; the
    interval holds the chance in these labels and that of the labeled rows.

    Chances are calibrated on the labeled rows as they are. Errors that stay, weighted to the
    target, correct the metric. Weighted rows are worth fewer: of the correction 1 - 1 / z^2 is
    taken where it is z of its own standard errors, nothing where it costs more variance than it is
    likely to remove bias. The interval is that of the full correction, so that it does not rest on
    this choice. No row counts more than `MOST` times the mean.

    Parameters
    ----------
    y : array (M,)
        Labels, 0 or 1.
    p : array (M,)
        Estimates of the labeled rows by models that have not seen them.
    weight : array (M,)
        Weights of labeled rows to the rows of the target, on any scale.
    p_target : array (T,)
        Estimates that are judged, of rows without a label.
    design, design_target : array (M,), (T,), optional
        Weights of the design; ones if None.
    chance, chance_target : array (M,), (T,), optional
        Of the best method, where estimates of another one are judged; `p` and `p_target` if None.
    group : array (M,), optional
        Labeled rows of a group may depend on each other.
    level : float
        Nominal coverage of the intervals.

    Returns
    -------
    dict of str to Estimate
        ``auc`` (left out where labeled rows are of one class), ``log_loss``, ``brier``,
        ``accuracy`` (of the class at .5) and ``calibration_ratio``, mean outcome over mean
        estimate.

    Raises
    ------
    CounterweightError
        When rows, estimates or weights do not fit.

    References
    ----------
    Robins, Rotnitzky & Zhao (1994), *JASA* 89, for the correction; Bialek, Kivimaki, Kuberski &
    Perrakis (2024), arXiv:2401.08348, for metrics expected by calibrated chances.
    """
    p, p_target = _shares(p, "estimates"), _shares(p_target, "estimates of the target")
    M, T = len(p), len(p_target)
    y = checked_labels(y, M, "outcome").astype(float)
    weight, design = checked_weights(weight, M), checked_weights(design, M)
    chance = p if chance is None else _shares(chance, "chances", M)
    ahead = p_target if chance_target is None else _shares(chance_target, "chances", T)
    used = (weight > 0) | (design > 0)
    y, p, weight, design, chance = (one[used] for one in (y, p, weight, design, chance))
    if group is not None:
        group = np.unique(np.asarray(group)[used], return_inverse=True)[1]
    calibrated = calibration(y, chance, design)
    chance, ahead = calibrated(chance), calibrated(ahead)
    weight = np.minimum(weight, MOST * weight.mean())
    weight = weight / weight.sum()
    share = checked_weights(design_target, T)
    share = share / share.sum()
    metrics = _losses(p, p_target, ahead, share)
    if 0 < y.sum() < len(y):
        metrics = {"auc": _auc(p, p_target, ahead, share)} | metrics
    noise = share**2 * ahead * (1 - ahead)
    found = {}
    for name, metric in metrics.items():
        error = (y - chance) * metric.labeled
        chance_of_labels = float(noise @ metric.target**2)
        taken, whole, *spread = _correction(error, weight, group)
        told = metric.value + taken, metric.value + whole, *spread, chance_of_labels
        found[name] = _told(*told, weight, level, BOUNDS[name])
    return found


def unlabeled_records(rest, predictions, estimates, at, level=0.95):
    """Records of `unlabeled_quality` of each method, named ``auc_doubly_robust`` and so on.

    `rest` has ``y``, ``weight``, ``design``, ``group`` of the labeled rows and ``design_target`` of
    those without a label, as in `unlabeled_quality`. By method, `predictions` (M,) are of labeled
    rows out of fold, `estimates` (T,) of rows without a label; all are judged by the chances of the
    method `at`.
    """
    chances = {"chance": predictions[at], "chance_target": estimates[at], "level": level}
    made = []
    for name, p in predictions.items():
        told = {"p": p, "p_target": estimates[name]} | chances
        for metric, known in unlabeled_quality(**told, **rest).items():
            place = {"metric": f"{metric}_doubly_robust", "part": name}
            place["rows"] = len(estimates[name])
            made.append(place | {"value": known.value, "standard_error": known.standard_error})
            made += [
                place | {"variable": end, "value": getattr(known, end)} for end in ("low", "high")
            ]
    return made


def _shares(values, what, rows=None):
    values = as_numbers(values, what)
    if values.ndim != 1 or not len(values) or len(values) != (rows or len(values)):
        wanted = f"{rows} rows" if rows else "one number a row"
        raise CounterweightError(f"There must be {what} of {wanted}, not of shape {values.shape}.")
    if not ((values >= 0) & (values <= 1)).all():
        raise CounterweightError(f"The {what} must lie between 0 and 1: the model failed.")
    return values


def calibration(y, chance, weight):
    """Function from chances to calibrated ones: logit a + b logit(chance), by weighted rows (M,).

    Maximum likelihood with standard normal priors of a and b - 1, rows of weight counted as their
    effective number, so that few rows leave chances as they are. Platt (1999).
    """
    from scipy.special import expit

    weight = weight * (weight.sum() / (weight @ weight))
    Z, kept = _logits(chance), np.array([0.0, 1.0])
    coef, value = kept, np.inf
    step, size = np.zeros(2), 1.0
    for _ in range(200):
        tried = coef + size * step
        eta = Z @ tried
        now = float(weight @ (np.logaddexp(0, eta) - y * eta) + (tried - kept) @ (tried - kept) / 2)
        if now > value + 1e-12 * abs(value):
            size /= 2
            continue
        done, coef, value, size = value - now <= 1e-13 * abs(now), tried, now, 1.0
        if done:
            break
        mean = expit(eta)
        bend = (Z.T * (weight * mean * (1 - mean))) @ Z + np.eye(2)
        step = -np.linalg.solve(bend, Z.T @ (weight * (mean - y)) + coef - kept)
    return lambda p: np.clip(expit(_logits(p) @ coef), NEAREST, 1 - NEAREST)


def _logits(p):
    from scipy.special import logit

    return np.column_stack([np.ones(len(p)), logit(np.clip(p, NEAREST, 1 - NEAREST))])


def _losses(p, p_target, chance, share):
    """Metrics that are means of what a row loses where its label is 1, and where it is 0."""
    mean = max(float(share @ p_target), CLIP)

    def both(p):
        inside, yes = np.clip(p, CLIP, 1 - CLIP), (p >= 0.5).astype(float)
        return {
            "log_loss": (-np.log(inside), -np.log1p(-inside)),
            "brier": ((1 - p) ** 2, p**2),
            "accuracy": (yes, 1 - yes),
            "calibration_ratio": (np.full(len(p), 1 / mean), np.zeros(len(p))),
        }

    labeled, target = both(p), both(p_target)
    return {
        name: _Expected(
            float(share @ (chance * one + (1 - chance) * zero)),
            labeled[name][0] - labeled[name][1],
            one - zero,
        )
        for name, (one, zero) in target.items()
    }


def _auc(p, p_target, chance, share):
    """AUC to be expected: pairs of different rows of the target, one of each class by its chance.

    The ratio of two sums over pairs, made from one sort; ties count half. A label more moves it by
    the share of the other class that its score puts in order, less the AUC.
    """
    order = np.argsort(p_target, kind="stable")
    score = p_target[order]
    ones, zeros = (share * chance)[order], (share * (1 - chance))[order]
    sums = [np.concatenate([[0.0], np.cumsum(one)]) for one in (ones, zeros)]

    def below(places):
        """Ones, and zeros, below places (left and right) among the scores; ties count half."""
        return [sum(running[side] for side in places) / 2 for running in sums]

    def places(at):
        return [np.searchsorted(score, at, side) for side in ("left", "right")]

    of_target = places(score)
    own = float(ones @ zeros)
    pairs = sums[0][-1] * sums[1][-1] - own
    value = float(ones @ below(of_target)[1] - own / 2) / pairs

    def moved(places):
        ones_below, zeros_below = below(places)
        as_one = zeros_below - value * sums[1][-1]
        as_zero = (1 - value) * sums[0][-1] - ones_below
        return (as_one - as_zero) / pairs

    target = np.empty(len(score))
    target[order] = moved(of_target)
    labeled = np.empty(len(p))
    by_score = np.argsort(p, kind="stable")
    labeled[by_score] = moved(places(p[by_score]))
    return _Expected(value, labeled, target)


def _correction(error, weight, group):
    """Mean of errors (M,) weighted to the target: as far as taken, and in full with its jackknife.

    Returns both means, and standard error and degrees of freedom of the second.
    """
    whole, own = float(weight @ error), weight * error
    sums = own if group is None else np.bincount(group, own)
    taken = max(0.0, 1 - PRICE * float(sums @ sums) / whole**2) if whole else 0.0
    return taken * whole, whole, *jackknife(weight * (error - whole), weight, group)


def _told(value, whole, spread, freedom, noise, weight, level, bounds):
    """An Estimate: its interval is about the full correction, with Welch's degrees of freedom."""
    from scipy.special import stdtrit

    least, most = bounds
    value, whole = np.clip([value, whole], least, most)
    variance = spread**2 + noise
    if spread > 0:
        freedom = max(freedom, 4.0) * (variance / spread**2) ** 2
    half = WIDER * float(stdtrit(freedom, 0.5 + level / 2)) * np.sqrt(variance)
    low, high = around(whole, half, bounds)
    told = (float(one) for one in (value, np.sqrt(variance), min(low, value), max(high, value)))
    rows, largest = int(np.count_nonzero(weight)), float(weight.max() * len(weight))
    return Estimate(*told, rows, float(1 / (weight @ weight)), largest, level)
