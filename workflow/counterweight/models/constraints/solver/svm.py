"""Weighted support vector machines: the inner problem of the cutting plane."""

import numpy as np

from counterweight.models.constraints.solver.convex import ConvexState, ConvexStep, solve_whole
from counterweight.models.constraints.solver.liblinear import liblinear_svm


def with_multipliers(step, v):
    """The Lagrangian of a convex step at fixed multipliers: a step without constraints.

    Each row has a hinge of label -1 with cost P_0 + v'P and one of label +1 with cost
    N_0 + v'N (section 2.2); in the usual scaling u = 2w this is a weighted SVM.
    """
    p, q = step.costs(v)
    constant = step.constant[:1] + v @ step.constant[1:]
    return ConvexStep(step.rows, p[None], q[None], constant, step.regularisation)


def newton_svm(step, state, tolerance):
    """Weighted SVM by proximal Newton steps, warm-started."""
    return solve_whole(step, state, tolerance=tolerance, margin=np.zeros(0))


def interior_point_svm(step, state, tolerance, most=80):
    """Weighted SVM by a primal-dual interior-point method on the d x d normal matrix.

    Hinges are written with slacks xi >= 0 and t = xi - 1/2 - z >= 0, whose multipliers b and a
    sum to the hinge's cost. Independent of `newton_svm`: it starts from w = 0, whatever the
    state, and shares only the products with X and the certificate.

    Parameters
    ----------
    step : ConvexStep
        Without constraints.
    state : ConvexState
        Not used, but for the shape of its multipliers.
    tolerance : float
        Certified gap at which to stop.

    Returns
    -------
    ConvexState
    """
    from scipy.linalg import cho_factor, cho_solve

    rows, ridge = step.rows, step.regularisation
    n = rows.shape[0]
    p, q = step.positive[0], step.negative[0]
    up, down = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    row = np.concatenate([up, down])
    sign = np.repeat([1.0, -1.0], [len(up), len(down)])
    cost = np.concatenate([p[up], q[down]])
    mean = cost.mean() if len(cost) else 1.0

    def spread(values):
        return np.bincount(row, sign * values, n)

    w = np.zeros(rows.shape[1])
    f = np.zeros(n)
    xi, a = np.ones(len(row)), cost / 2
    best = ConvexState(w, np.zeros(n), np.zeros(n), np.zeros(0))
    for count in range(most):
        z = sign * f[row]
        t, b = xi - 0.5 - z, cost - a
        above, below = np.zeros(n), np.zeros(n)
        above[up], below[down] = np.split(a / cost, [len(up)])
        lower, upper = step.lower_bound(above, below, np.zeros(0)), step.value(f, w)[0]
        if upper < best.upper:
            best.upper, best.w = upper, w
        if lower > best.lower:
            best.lower, best.above, best.below = lower, above, below
        best.evaluations = count
        if best.gap <= tolerance or not len(row):
            break
        centre = 0.1 * (a @ t + b @ xi) / (2 * len(row))
        width = t + a * xi / b
        bend = a / width
        rest = (centre - a * t - a * (centre - b * xi) / b) / width
        matrix = rows.gram(np.bincount(row, bend, n))
        matrix[np.diag_indices_from(matrix)] += ridge + 1e-13 * mean
        residual = ridge * w + rows.combine(spread(a + rest))
        move = -cho_solve(cho_factor(matrix, lower=True), residual)
        df = rows.scores(move)
        dz = sign * df[row]
        da = bend * dz + rest
        dxi = (centre - b * xi + xi * da) / b
        share = 1.0
        for value, change in ((t, dxi - dz), (xi, dxi), (a, da), (b, -da)):
            falls = change < 0
            if falls.any():
                share = min(share, 0.99 * np.min(-value[falls] / change[falls]))
        w, f = w + share * move, f + share * df
        xi, a = xi + share * dxi, a + share * da
    return best


SOLVERS = {"newton": newton_svm, "interior_point": interior_point_svm, "liblinear": liblinear_svm}
