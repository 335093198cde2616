"""Proof that no classifier at all keeps a set of rate constraints."""

from dataclasses import dataclass

import numpy as np


@dataclass
class InfeasibilityProof:
    """What the bounds of a set of rate constraints ask at least.

    Attributes
    ----------
    least_violation : float
        Lower bound on the sum of violations of any classifier; above 0 proves that the
        constraints contradict each other.
    multipliers : array of shape (m,)
        In [0, 1]: the sum of constraints with these factors is the contradiction.
    """

    least_violation: float
    multipliers: np.ndarray


def prove_infeasible(positive, negative, constant, most=200):
    """Least sum of violations over all functions of the row, by cuts over the multipliers.

    A classifier, whatever its form, is positive with some probability s_i on each distinct
    row and negative with 1 - s_i. So for any v in [0, 1]^m its violations sum at least to
    q(v) = sum_i min(v'P_i, v'N_i) + v'c, and the largest q(v) is the least sum of violations
    that any such function has (linear programming duality). q is concave and piecewise linear.

    Parameters
    ----------
    positive, negative : array of shape (m, n)
        Costs of the constraints on distinct rows.
    constant : array of shape (m,)
        Constants less bounds: constraint j is P_j s + N_j (1 - s) + constant_j <= 0.

    Returns
    -------
    InfeasibilityProof
        Its bound holds for its own multipliers, however well they were found.
    """
    from scipy.optimize import linprog

    m = len(constant)
    best = InfeasibilityProof(0.0, np.zeros(m))
    slopes, v = [], np.ones(m)
    for _ in range(most):
        p, q = v @ positive, v @ negative
        low = p < q
        slope = positive @ low + negative @ ~low + constant
        value = float(v @ slope)
        if value > best.least_violation:
            best = InfeasibilityProof(value, v)
        slopes.append(slope)
        # q is homogeneous, so each cut goes through the origin: q(v) <= slope'v.
        cuts = np.column_stack([-np.array(slopes), np.ones(len(slopes))])
        highest = linprog(
            np.append(np.zeros(m), -1.0),
            A_ub=cuts,
            b_ub=np.zeros(len(slopes)),
            bounds=[(0, 1)] * m + [(None, None)],
        )
        if not highest.success or -highest.fun - best.least_violation <= 1e-9:
            break
        v = np.clip(highest.x[:m], 0.0, 1.0)
    return best
