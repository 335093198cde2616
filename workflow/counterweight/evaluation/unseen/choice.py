"""Which of two methods is better where hidden labels do not exist, and whether to weight."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.estimate import Estimate, ratio_mean


@dataclass(frozen=True)
class Comparison:
    """Paired difference of two methods' losses.

    Attributes
    ----------
    gain : Estimate
        Mean loss of B minus that of A: above 0 where A is better.
    errors : float
        The gain in standard errors; infinite where it has none and is not 0, else 0.
    needed : float
        The gain in standard errors that chance alone passes as rarely as a normal variable
        passes 1: above 1 where few rows carry the weight.
    loss_a, loss_b : float
        Weighted mean losses.
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

    def sentence(self, a="A", b="B"):
        """The comparison in words."""
        size = f"{abs(self.gain.value):.3g} ({_errors(abs(self.errors))})"
        losses = f"{self.loss_a:.4g} against {self.loss_b:.4g}"
        if self.gain.value == 0:
            return f"{a} and {b} lose the same: {losses}."
        side = "less" if self.gain.value > 0 else "more"
        return f"{a} loses {size} {side} than {b}: {losses}."


def better(loss_a, loss_b, weight=None, group=None, level=0.95):
    """Weighted mean of the paired differences of two methods' out-of-fold losses.

    Both methods must have been fitted on the same folds. The standard error is that of the
    rows, given the fitted models: models fitted on other rows would differ by more.

    Parameters
    ----------
    loss_a, loss_b : array (M,)
        Loss of each row, e.g. `counterweight.evaluation.unseen.quality.losses`.
    weight : array (M,), optional
        To the target population.
    group : array (M,), optional
        Rows of a group may depend on each other: errors are then those of group totals.
    level : float

    Returns
    -------
    Comparison

    Raises
    ------
    CounterweightError
        For losses that are not finite or of other shapes, and for wrong weights.
    """
    from scipy.special import ndtr, stdtrit

    a, b = as_numbers(loss_a, "losses"), as_numbers(loss_b, "losses")
    if a.shape != b.shape or a.ndim != 1:
        raise CounterweightError(
            f"Losses to compare must be of the same rows, got the shapes {a.shape} and {b.shape}."
        )
    weight = checked_weights(weight, len(a))
    difference = b - a
    if group is None:
        gain = ratio_mean(difference, weight, level=level, scale="plain")
        influence = weight * (difference - gain.value)
    else:
        gain, influence = _by_group(difference, weight, group, level)
    squares = influence * influence
    spread, units = float((squares * squares).sum()), np.count_nonzero(weight)
    units = units if group is None else len(influence)
    # Degrees of freedom: how well the variance is known, as in `mean_interval`.
    freedom = 2 * units / max(units * spread / squares.sum() ** 2 - 1, 1e-12) if spread > 0 else 1e9
    needed = float(stdtrit(max(freedom, 1.0), ndtr(1.0)))
    error = gain.standard_error
    if error > 0:
        errors = gain.value / error
    else:
        errors = float(np.sign(gain.value) * np.inf) if gain.value else 0.0
    means = (float(np.average(loss, weights=weight)) for loss in (a, b))
    return Comparison(gain, float(errors), needed, *means)


@dataclass(frozen=True)
class Kept:
    """Whether the weights are kept.

    Attributes
    ----------
    keep : bool
    reason : str
        One sentence.
    comparison : Comparison
        A is the weighted fit, B the unweighted one.
    """

    keep: bool
    reason: str
    comparison: Comparison


def keep_weights(loss_weighted, loss_unweighted, weight, group=None, name="log loss"):
    """Keep weighting only if it lowers the weighted, cross-validated loss by a standard error.

    Weights make a fit right for the target where the model is wrong, and noisier everywhere;
    with few rows that carry most of the weight the noise is the larger.

    Parameters
    ----------
    loss_weighted, loss_unweighted : array (M,)
        Out-of-fold losses of the fit with weights and of that without.
    weight : array (M,)
        Weights to the target, by which *both* losses are averaged.
    group : array (M,), optional
        As in `better`.
    name : str
        What the loss is called.

    Returns
    -------
    Kept
    """
    found = better(loss_weighted, loss_unweighted, weight, group)
    rows, effective = found.gain.rows, found.gain.effective_rows
    change = f"{abs(found.gain.value):.3g} ({_errors(abs(found.errors))})"
    whole = f"the {name} weighted to the target"
    if found.clear:
        reason = f"Weighted: weights lower {whole} by {change}."
    elif found.gain.value > 0:
        asked = "one is asked" if found.needed < 1.05 else f"{found.needed:.2g} are asked"
        reason = (
            f"Not weighted: weights lower {whole} by {change} only; {asked}, since "
            f"{rows} labeled rows are worth {effective:.0f} once weighted."
        )
    elif found.gain.value < 0:
        reason = f"Not weighted: weights raise {whole} by {change}."
    else:
        reason = f"Not weighted: weights leave {whole} as it is."
    return Kept(found.clear, reason, found)


def _errors(count):
    return "no chance error" if np.isinf(count) else f"{count:.2g} standard errors"


def _by_group(values, weight, group, level):
    """Weighted mean with the error of group totals, and the groups' influence values."""
    from dataclasses import replace

    group = np.asarray(group)
    if group.shape != values.shape:
        raise CounterweightError(f"There are {len(values)} rows but groups of {group.shape}.")
    used = weight > 0
    place = np.unique(group[used], return_inverse=True)[1]
    totals = np.bincount(place, weight[used])
    means = np.bincount(place, weight[used] * values[used]) / totals
    made = ratio_mean(means, totals, level=level, scale="plain")
    rows = ratio_mean(values, weight, level=level, scale="plain")
    made = replace(
        made, rows=rows.rows, effective_rows=rows.effective_rows, largest_weight=rows.largest_weight
    )
    return made, totals * (means - made.value)
