"""Membership by gates: p(j | x) is a multinomial logit of the features (mixture of experts).

p(y | x, t) = sum_j p_j(x) p_j(y | t), with p_j(x) = exp(b_j + x'w_j) / sum_l exp(b_l + x'w_l)
(Jacobs, Jordan, Nowlan & Hinton 1991). Nothing is said of how features are distributed, so segments
are what tells answers apart and not what features cluster by. That p_j(x) is such a logit is
assumed; where segments are Gaussian of one covariance it is one exactly. The log-likelihood is that
of the answers given features and offers, and so is the description length: neither can be compared
with those of a model of the features, too.

A missing number counts as the mean of its feature, a missing category as none of its levels.
"""

from typing import NamedTuple

import numpy as np

from counterweight.models.choice.steps import LEAST_SLOPE, MOST_POSITION, MOST_SLOPE, Choices
from counterweight.models.choice.thresholds import columns_of

#: Precision of the normal prior of a gate's coefficients, around 0: no gate is infinitely steep.
RIDGE = 1e-2
#: Most iterations of a fit, and of a bootstrap draw, which begins at the fit.
STEPS, DRAWN_STEPS = 300, 15
#: Variance of the numbers by which gates are written as segments, see `as_choices`.
NARROW = 1e-2


class Gated(NamedTuple):
    """Gates and curves of J segments.

    Attributes
    ----------
    gates : ndarray (J, 1 + a + L)
        Of 1, the scaled numbers and indicators of levels; they add up to 0 over the segments.
    curves : ndarray (J, 2)
        Position (log odds at the offer 1/2) and slope.
    objective, log_likelihood : float
        With the priors, and without.
    iterations : int
    converged : bool
    """

    gates: np.ndarray
    curves: np.ndarray
    objective: float
    log_likelihood: float
    iterations: int
    converged: bool


def design(data):
    """What gates are linear in, (n, 1 + a + L), of `ChoiceRows`."""
    rows = columns_of(data.rows, data.codes, data.emission.levels)
    return np.column_stack([np.ones(len(rows)), rows])


def parameter_count(components, data):
    """Free parameters of gates and curves of J segments."""
    own = 1 + data.rows.shape[1] + sum(levels - 1 for levels in data.emission.levels)
    return (components - 1) * own + 2 * components


def discriminant(rows, shares):
    """Gates (J, q) of segments with members by `shares` (J, n), by linear discriminant analysis."""
    mass = np.maximum(shares.sum(axis=1), 1e-9)
    means = shares @ rows / mass[:, None]
    total = (rows * shares.sum(axis=0)[:, None]).T @ rows - (means * mass[:, None]).T @ means
    within = total[1:, 1:] / mass.sum() + 1e-2 * np.eye(rows.shape[1] - 1)
    slopes = np.linalg.solve(within, means[:, 1:].T).T
    heights = np.log(mass / mass.sum()) - 0.5 * (slopes * means[:, 1:]).sum(axis=1)
    gates = np.column_stack([heights, slopes])
    return gates - gates.mean(axis=0)


def fitted(data, gates, curves, prior=None, row_weights=None, rows=None, steps=STEPS):
    """Gates and curves of largest log-likelihood (with priors), from good ones.

    Parameters
    ----------
    data : ChoiceRows
        With offers and answers.
    gates : ndarray (J, q)
    curves : ndarray (J, 2)
    prior : Prior, optional
        Of the curves.
    row_weights : ndarray (n,), optional
        In place of those of `data`.
    rows : ndarray (n, q), optional
        From `design`, where it is there already.
    steps : int
        Iterations of L-BFGS, at most.

    Returns
    -------
    Gated
    """
    from scipy.optimize import minimize
    from scipy.special import logsumexp

    rows = design(data) if rows is None else rows
    weights = data.row_weights if row_weights is None else row_weights
    u, sign, (size, width) = data.t - 0.5, 2.0 * data.y - 1.0, gates.shape
    cut, scale = size * width, max(float(weights.sum()), 1e-300)

    def parts(point):
        own, a, k = point[:cut].reshape(size, width), point[cut : cut + size], point[cut + size :]
        logs = own @ rows.T
        logs -= logsumexp(logs, axis=0)
        odds = sign * (a[:, None] + k[:, None] * u)
        joint = logs - np.logaddexp(0.0, -odds)
        total = logsumexp(joint, axis=0)
        return own, a, k, logs, odds, joint, total

    def loss(point):
        own, a, k, logs, odds, joint, total = parts(point)
        shares = np.exp(joint - total) * weights
        value = weights @ total - 0.5 * RIDGE * np.square(own[:, 1:]).sum()
        pull = (shares - np.exp(logs) * weights) @ rows
        pull[:, 1:] -= RIDGE * own[:, 1:]
        rest = shares * sign / (1.0 + np.exp(np.clip(odds, -500, 500)))
        slope = np.stack([rest.sum(axis=1), rest @ u])
        if prior is not None:
            told = np.stack([a, k], axis=-1)
            value += prior.log_density(told[:, None])[0]
            slope -= (prior.precision * (told - prior.mean)).T
        return -value / scale, -np.concatenate([pull.ravel(), slope.ravel()]) / scale

    start = np.concatenate([gates.ravel(), curves.T.ravel()])
    bounds = [(None, None)] * cut + [(-MOST_POSITION, MOST_POSITION)] * size
    bounds += [(LEAST_SLOPE, MOST_SLOPE)] * size
    asked = {"maxiter": steps, "ftol": 1e-10}
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options=asked)
    own, a, k, *_, total = parts(found.x)
    own = own - own.mean(axis=0)
    objective = -float(found.fun) * scale
    return Gated(
        own, np.stack([a, k], axis=-1), objective, float(weights @ total), found.nit, found.success
    )


def as_choices(gates, curves, numbers):
    """Gates as a batch of one of `Choices` whose p(j | x) they are.

    Gaussians of one covariance v I with means v w_j and weights exp(b_j + v |w_j|^2 / 2) have the
    log-odds b_j + x'w_j, and so have levels of shares exp(w_jl).
    """
    slopes, levels = gates[:, 1 : 1 + numbers], gates[:, 1 + numbers :]
    logs = gates[:, 0] + 0.5 * NARROW * np.square(slopes).sum(axis=1)
    weights = np.maximum(np.exp(logs - logs.max()), 1e-300)
    covariance = NARROW * np.eye(numbers)
    return Choices(
        weights[:, None],
        NARROW * slopes[:, None],
        np.tile(covariance, (len(gates), 1, 1, 1)),
        curves[:, None],
        np.exp(levels - levels.max(initial=0.0))[:, None],
    )


def best_by_size(data, starts, prior):
    """Gated models by number of segments, each begun at segments of the features.

    Parameters
    ----------
    data : ChoiceRows
    starts : dict of int to (ndarray (n, J), ndarray (J, 2))
        Log of weight times density of the features, and curves.
    prior : Prior or None

    Returns
    -------
    dict of int to Gated
    """
    rows, found = design(data), {}
    for size, (joint, curves) in sorted(starts.items()):
        odds = (2.0 * data.y - 1.0)[:, None] * (
            curves[:, 0] + (data.t[:, None] - 0.5) * curves[:, 1]
        )
        # Members by the features alone, and by the answers, too.
        tries = []
        for logs in (joint, joint - np.logaddexp(0.0, -odds)):
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            shares *= (data.row_weights / shares.sum(axis=1))[:, None]
            tries.append(fitted(data, discriminant(rows, shares.T), curves, prior, rows=rows))
        if size - 1 in found:
            tries.append(_split(data, found[size - 1], prior, rows))
        found[size] = max(tries, key=lambda one: one.objective)
    return found


def memberships(data, found):
    """p(j | x), and that given the answer, too: (J, n) each."""
    logs = found.gates @ design(data).T
    prior = np.exp(logs - logs.max(axis=0))
    prior /= prior.sum(axis=0)
    sign, u = 2.0 * data.y - 1.0, data.t - 0.5
    odds = sign * (found.curves[:, :1] + found.curves[:, 1:] * u)
    joint = prior * np.exp(-np.logaddexp(0.0, -odds))
    return prior, joint / joint.sum(axis=0)


def _split(data, found, prior, rows):
    """From gates of one segment less: the one of most members answers by two curves."""
    logs = found.gates @ rows.T
    shares = np.exp(logs - logs.max(axis=0))
    largest = int((shares / shares.sum(axis=0) @ data.row_weights).argmax())
    gates = np.vstack([found.gates, found.gates[largest]])
    gates[[largest, -1], 0] -= np.log(2.0)
    curves = np.vstack([found.curves, found.curves[largest]])
    curves[largest, 0] = min(curves[largest, 0] + 1.0, MOST_POSITION)
    curves[-1, 0] = max(curves[-1, 0] - 1.0, -MOST_POSITION)
    # Equal gates stay equal: they part along the direction that tells the answers best.
    odds = data.y - data.y.mean()
    lean = rows[:, 1:].T @ (data.row_weights * odds) / max(float(data.total), 1e-300)
    gates[largest, 1:] += 0.5 * lean
    gates[-1, 1:] -= 0.5 * lean
    return fitted(data, gates, curves, prior, rows=rows)


def draws(data, told, curves, prior, rng, count):
    """Bootstrap draws as batches of one: number, `Choices`, None; see `SegmentModel.refits`."""
    rows, n = design(data), len(data.rows)
    for number in range(count):
        times = np.bincount(rng.integers(n, size=n), minlength=n) * data.row_weights
        one = fitted(data, told, curves, prior, times, rows, DRAWN_STEPS)
        yield number, as_choices(one.gates, one.curves, data.rows.shape[1]), None
