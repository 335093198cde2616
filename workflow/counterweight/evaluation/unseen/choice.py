"""Which of two methods is better where hidden labels do not exist, and whether to weight."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.unseen.quality import jackknife
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.estimate import Estimate

#: Effective rows below which weighted losses do not show whether weights help.
LEAST = 30


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

    def sentence(self, a="A", b="B", name="log loss"):
        """The comparison in words; `name` is what the loss is called."""
        if self.gain.value == 0:
            return f"{a} and {b} have the same {name}, {_size(self.loss_a)}."
        side = "smaller" if self.gain.value > 0 else "larger"
        return (
            f"{a} has a {side} {name} than {b}, {_size(self.loss_a)} against "
            f"{_size(self.loss_b)}: {_size(abs(self.gain.value))}, or {_errors(abs(self.errors))}."
        )


def better(loss_a, loss_b, weight=None, group=None, level=0.95):
    """Weighted mean of the paired differences of two methods' out-of-fold losses.

    Both methods must have been fitted on the same folds. The standard error is that of the
    rows (jackknife), given the fitted models: models fitted on other rows would differ by more.

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
    if group is not None:
        group = np.asarray(group)
        if group.shape != a.shape:
            raise CounterweightError(f"There are {len(a)} rows but groups of shape {group.shape}.")
        group = np.unique(group, return_inverse=True)[1]
    share = weight / weight.sum()
    value = float(share @ (b - a))
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
    with few rows that carry most of the weight the noise is the larger. Below `LEAST`
    effective rows nothing can be shown, and weights are not kept.

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
    if effective < LEAST:
        reason = (
            f"Not weighted: once weighted, the {rows} labeled rows are worth {effective:.0f}, too "
            f"few to show whether weights help ({LEAST} are needed)."
        )
        return Kept(False, reason, found)
    change = f"{_size(abs(found.gain.value))} ({_errors(abs(found.errors))})"
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


def _size(value, figures=3):
    """Some figures, and all those before the point: nobody reads 2.64e+09."""
    if abs(value) < 10**figures - 0.5:
        return f"{value:.{figures}g}"
    return f"{value:,.0f}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _errors(count):
    return "no chance error" if np.isinf(count) else f"{_size(count, 2)} standard errors"
