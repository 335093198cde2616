"""Logistic regression on distinct rows, whose thresholds results are compared with."""

import numpy as np

from counterweight.numerics.linear import expit

#: Newton steps, and the expected fall, as a share of all costs, at which they end.
STEPS, ENOUGH = 12, 1e-6


def logistic(rows, positive, negative, penalty):
    """Logistic regression by costs, with a ridge.

    Parameters
    ----------
    rows : DistinctRows
    positive, negative : array (distinct rows,)
        Costs of a yes, and of a no, to each row; also with one line more.
    penalty : float

    Returns
    -------
    ndarray (coordinates,)
        Accurate enough to be cut by thresholds; not to be read.
    """
    positive, negative = np.ravel(positive), np.ravel(negative)
    both, ridge = positive + negative, rows.regularisation(penalty)
    found, f = np.zeros(rows.shape[1]), np.zeros(rows.shape[0])

    def loss(w, f):
        return both @ np.logaddexp(0, f) - negative @ f + ridge @ (w * w) / 2

    value = loss(found, f)
    for _ in range(STEPS):
        p = expit(f)
        gradient = rows.combine(both * p - negative) + ridge * found
        hessian = rows.gram(both * p * (1 - p))
        hessian[np.diag_indices_from(hessian)] += ridge + 1e-9 * hessian.trace() / len(hessian)
        move = -np.linalg.solve(hessian, gradient)
        along, fall, length = rows.scores(move), -gradient @ move, 1.0
        while True:
            reached = loss(found + length * move, f + length * along)
            if reached <= value - fall * length / 4:
                break
            length /= 2
            if length < 1e-6:
                return found
        found, f, value = found + length * move, f + length * along, reached
        if fall <= ENOUGH * both.sum():
            break
    return found
