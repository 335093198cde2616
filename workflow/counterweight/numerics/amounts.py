"""Amounts: numbers from 0 up, such as expenses or counts, zeros among them.

With a log link what is expected of them is the exponential of a score, so that it is above 0 and
what a feature does is a factor. Scores are fitted by the Poisson likelihood, which asks
of the outcomes only that their mean is right and takes zeros and fractions (quasi-likelihood): its
weighted residuals sum to 0.

References
----------
McCullagh & Nelder (1989), *Generalized Linear Models*, sections 6.2 and 9.2; Santos Silva &
Tenreyro (2006), *Review of Economics and Statistics* 88, for amounts with zeros and unequal
variances; Rad & Maleki (2020), *JRSS B* 82, for rows left out.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.linear import standard_rows

#: Times the largest amount of the fit that an answer may be: a score goes on beyond what was seen,
#: and its exponential runs away.
FARTHEST = 2.0
#: Scores are of amounts over their mean; a step moves none of them by more.
FARTHEST_STEP, STEPS, TOLERANCE = 5.0, 100, 1e-9


def fit_poisson(rows, y, weight, ridge, start=None):
    """Coefficients (k,) with the least ``sum w (exp(f) - y f) + ridge b^2 / 2``, by Newton steps.

    Of rows (n, k), constant included, amounts (n,) of mean about 1, weights (n,), and `ridge`
    (k,), penalties on all rows together. Gives the coefficients, the inverse Hessian, the steps and
    whether it converged.
    """
    if y.min(initial=0) < 0 or not y.any():
        raise CounterweightError("A log link takes outcomes from 0 up that are not all 0.")
    found = np.zeros(rows.shape[1]) if start is None else start
    score = rows @ found

    def value(found, score):
        return weight @ (np.exp(score) - y * score) + ridge @ np.square(found) / 2

    now = value(found, score)
    for step in range(STEPS):
        mean = np.exp(score)
        gradient = rows.T @ (weight * (mean - y)) + ridge * found
        hessian = (rows * (weight * mean)[:, None]).T @ rows + np.diag(ridge)
        inverse = np.linalg.pinv(hessian, hermitian=True)
        if np.abs(gradient).max() <= TOLERANCE * weight.sum():
            return found, inverse, step, True
        move = inverse @ gradient
        along = rows @ move
        size = min(1.0, FARTHEST_STEP / max(np.abs(along).max(), 1e-300))
        while not value(found - size * move, score - size * along) < now and size > 1e-9:
            size /= 2
        if size <= 1e-9:
            return found, inverse, step, bool(np.abs(gradient).max() <= 1e-6 * weight.sum())
        found, score = found - size * move, score - size * along
        now = value(found, score)
    return found, inverse, STEPS, False


def left_out_amounts(X, y, weight, penalties):
    """Mean squared error of rows left out, at each penalty on all rows together, (P,).

    By one Newton step from the fit to all rows; `penalties` descend, so that each fit begins at the
    one before. What is expected of a row left out is `FARTHEST` times the largest amount at most.
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    weight = weight / weight.mean()
    rows, penalised, *_ = standard_rows(X, weight)
    middle = np.average(y, weights=weight)
    relative, found, losses = y / middle, None, []
    for penalty in penalties:
        found, inverse, *_ = fit_poisson(rows, relative, weight, penalty * penalised, found)
        score = rows @ found
        mean = np.exp(score)
        leverage = weight * np.einsum("ij,ij->i", rows @ inverse, rows)
        score += leverage * (mean - relative) / np.maximum(1 - leverage * mean, 1e-6)
        answer = middle * np.exp(np.minimum(score, np.log(FARTHEST * relative.max())))
        losses.append(weight @ (answer - y) ** 2 / weight.sum())
    return np.array(losses)
