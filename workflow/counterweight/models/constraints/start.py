"""Where the training of a constrained classifier starts."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.convex import ramp


def imitation_costs(data):
    """Costs (2, n) of a positive and a negative prediction: errors against the deployed model.

    Raises
    ------
    CounterweightError
        When there is no deployed model, or it has no score for any row.
    """
    if data.deployed is None:
        raise CounterweightError(
            "start: deployed needs the scores of a deployed model, and none is given."
        )
    known = ~np.isnan(data.deployed)
    if not known.any():
        raise CounterweightError("The deployed model has no score for any row.")
    positive = known & (data.deployed > 0)
    return np.array([known & ~positive, positive]) / known.sum()


def nearest_feasible(rows, first, positive, negative, problem, penalty, bias):
    """A first fit, scaled and shifted so that it meets the constraints, or misses them least.

    A larger w makes the randomised classifier more like the deterministic one, a shift
    moves its coverage. A feasible start is left as it is; else, of the least scale that has
    feasible ones, the one with the least objective is taken.

    Parameters
    ----------
    rows : array or csr_matrix (k, d)
    first : RateFit
    positive, negative : array (1 + m, k)
        Coefficients of the problem on these rows.
    problem : Problem
        Its constants and bounds.
    penalty : float
    bias : {"regularised", "free", "none"}

    Returns
    -------
    coefficient : array (d,)
    intercept : float
    """
    w, b = first.coefficient, first.intercept
    f = np.asarray(rows @ w).ravel()
    used = (positive + negative).any(axis=0)
    f, slope = f[used], (positive - negative)[:, used]
    fixed = problem.constants + negative.sum(axis=1)
    shifts = np.quantile(f, np.linspace(0, 1, 65)[1:-1]) if bias != "none" else np.empty(0)
    best = None
    for scale in 4.0 ** np.arange(5):
        for place in (scale * b, *(-scale * shifts)):
            values = slope @ ramp(scale * f + place) + fixed
            excess = (values[1:] - problem.bounds).max(initial=0.0)
            bound = place if bias == "regularised" else 0.0
            cost = values[0] + penalty / 2 * (scale**2 * (w @ w) + bound**2)
            key = (max(excess, 1e-9), cost)
            if best is None or key < best[0]:
                best = (key, (scale * w, float(place)))
            if excess <= 0 and (scale, place) == (1.0, b):
                return best[1]
        if best[0][0] <= 1e-9:
            break
    return best[1]
