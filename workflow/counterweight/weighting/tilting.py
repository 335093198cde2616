"""Newton steps behind weights for a target: logistic odds, and tilts to known means.

Tables of rows by features are only ever read by slices of rows, so one that makes its features
when asked (`coded.Coded`) does as well as a matrix, and takes no more memory than its codes.
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.weighting.diagnostics import effective_sample_size

#: Numbers of a table that are held at once; beyond them features are made again in each step.
DENSE = 2**24
#: Numbers in a block of rows.
BLOCK = 2**19
#: Where a step leaves no more than this share of the gradient, the next one keeps the second
#: derivatives, which are most of the work.
FALLEN = 0.1


class Fitted(NamedTuple):
    """Weights and what they were made by.

    Attributes
    ----------
    weights : array, shape (n,)
    coef : array, shape (d,) or (d + 1,)
        On standardised features; that of the odds begins with the constant.
    curvature : array, shape (k, k)
        Second derivatives of the loss, for standard errors.
    center, scale : array, shape (d,)
    gap : array, shape (d,)
        Weighted mean less the target's, in units of `scale`.
    converged : bool
    """

    weights: np.ndarray
    coef: np.ndarray
    curvature: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    gap: np.ndarray
    converged: bool


def design_effect(weights):
    """Rows over effective rows, n sum w^2 / (sum w)^2 (Kish 1965): 1 for equal weights."""
    return len(weights) / effective_sample_size(weights)


def moments(X, weight):
    """Weighted mean and variance of each feature, by blocks of rows."""
    share = weight / weight.sum()
    mean = np.zeros(X.shape[1])
    for rows in blocks(X):
        mean += share[rows] @ X[rows]
    variance = np.zeros(X.shape[1])
    for rows in blocks(X):
        variance += share[rows] @ (X[rows] - mean) ** 2
    return mean, variance


def fit_balance(X, mean, weight, ridge, variance=None, most_effect=None, tolerance=1e-10):
    """Exponential tilt of design weights to the target's means.

    Parameters
    ----------
    X : table, shape (n, d)
    mean : array, shape (d,)
        Of the target.
    weight : array, shape (n,)
    ridge : float
    variance : array, shape (d,), optional
        Of the target, for the scale; without it the sample's serves.
    most_effect : float, optional
    tolerance : float
        Largest derivative of the dual, in standard deviations, when it stops.

    Returns
    -------
    Fitted
        Weights that sum to 1.
    """
    from scipy.optimize import brentq

    if not (np.isfinite(ridge) and ridge >= 0):
        raise CounterweightError(f"ridge is {ridge}; it must be a number from 0 up.")
    own, spread = moments(X, weight)
    scale = np.sqrt(spread if variance is None else (spread + variance) / 2)
    varies = spread > 1e-24 * (1 + own**2)
    # What does not vary in the sample has no coefficient, and stays as far off as it is.
    scale = np.where(scale > 1e-12 * (1 + np.abs(mean)), scale, 1.0)
    fixed = np.where(varies, 0.0, (own - mean) / scale)
    Z = standard(X, mean, np.where(varies, scale, np.inf))

    def fitted(ridge, coef, tolerance=tolerance):
        return _tilted(Z, weight, ridge, coef, tolerance, fixed)._replace(center=mean, scale=scale)

    fit = fitted(ridge, np.zeros(X.shape[1]))
    if most_effect is None or design_effect(fit.weights) <= most_effect:
        return fit
    if not design_effect(weight) <= most_effect:
        raise CounterweightError(
            f"The design weights alone have a design effect of {design_effect(weight):.3g}, so no "
            f"adjustment stays below most_effect = {most_effect}: ask for more."
        )
    reached = [fit]

    def excess(log_ridge):
        # Near enough to tell the price; the ridge that is found is solved in full.
        reached.append(fitted(np.exp(log_ridge), reached[-1].coef, 1e-4))
        return np.log(design_effect(reached[-1].weights) / most_effect) + 1e-3

    low, high = np.log(max(ridge, 1e-8)), np.log(10.0)
    while excess(high) > 0 and high < 20:
        low, high = high, high + 5
    root = brentq(excess, low, high, xtol=0.01) if excess(low) > 0 > excess(high) else high
    fit, step = fitted(np.exp(root), reached[-1].coef), 0.01
    while design_effect(fit.weights) > most_effect * (1 + 1e-9) and root < 40:
        root, step = root + step, 2 * step
        fit = fitted(np.exp(root), fit.coef)
    return fit


def fit_odds(X, X_target, weight, target_weight, ridge, tolerance=1e-9):
    """Penalised logistic regression of sample (1) against target (0); see `odds_weights`.

    Returns
    -------
    Fitted
        `center` and `scale` are those of the two tables put together.
    """
    if not (np.isfinite(ridge) and ridge > 0):
        raise CounterweightError(f"ridge is {ridge}; it must be a number above 0.")
    own, spread = moments(X, weight)
    other, spread_target = moments(X_target, target_weight)
    center = (own + other) / 2
    variance = (spread + spread_target) / 2 + (own - other) ** 2 / 4
    scale = np.sqrt(variance)
    varies = variance > 1e-24 * (1 + center**2)
    scale = np.where(varies, scale, 1.0)
    tables = [standard(table, center, np.where(varies, scale, np.inf)) for table in (X, X_target)]
    masses = [weight / weight.sum() / 2, target_weight / target_weight.sum() / 2]
    theta = np.zeros(X.shape[1] + 1)
    penalty = np.r_[0.0, np.full(X.shape[1], ridge)]
    # Signed log odds: positive where the row is told right.
    margins = [np.zeros(len(mass)) for mass in masses]
    value = _log_loss(margins, masses)
    converged, curvature, steepest = False, None, 0.0
    for _ in range(200):
        wrong = [1 / (1 + np.exp(np.minimum(margin, 700))) for margin in margins]
        gradient = penalty * theta
        for Z, mass, miss, sign in zip(tables, masses, wrong, (1.0, -1.0), strict=True):
            lean = mass * miss
            gradient = gradient - sign * np.r_[lean.sum(), weighted_sums(Z, lean)]
        steep, steepest = steepest, np.abs(gradient).max()
        converged = steepest <= tolerance
        if curvature is None or (steepest > FALLEN * steep and not converged):
            curvature = np.diag(penalty)
            for Z, mass, miss in zip(tables, masses, wrong, strict=True):
                bend = mass * miss * (1 - miss)
                G, g = gram(Z, bend)
                curvature += np.block([[bend.sum().reshape(1, 1), g[None]], [g[:, None], G]])
        if converged:
            break
        step = -solved(curvature, gradient)
        moves = [step[0] + times(Z, step[1:]) for Z in tables]
        moves[1] = -moves[1]
        slope, size = gradient @ step, 1.0
        for _ in range(40):
            tried = theta + size * step
            there = [m + size * move for m, move in zip(margins, moves, strict=True)]
            now = _log_loss(there, masses) + (penalty * tried**2).sum() / 2
            if now <= value + 1e-4 * size * slope + 1e-14:
                break
            size /= 2
        theta, margins, value = tried, there, now
    weights = masses[0] * np.exp(np.clip(-margins[0], -700, 700))
    weights = weights / weights.sum()
    gap = (weighted_sums(tables[0], weights) * scale + center - other) / scale
    return Fitted(weights * target_weight.sum(), theta, curvature, center, scale, gap, converged)


def standard(X, center, scale):
    """A table less `center`, over `scale`; 0 where that is infinite. Dense where it is small."""
    table = Standard(X, center, scale)
    return table[:] if X.shape[0] * X.shape[1] <= DENSE else table


class Standard:
    """A standardised table, made slice by slice."""

    def __init__(self, X, center, scale):
        self.X, self.center, self.factor = X, center, 1 / scale
        self.shape = X.shape

    def __getitem__(self, rows):
        made = self.X[rows] - self.center
        made *= self.factor
        return made


def _tilted(Z, weight, ridge, coef, tolerance, fixed):
    """Newton steps on log sum d exp(z b) + ridge/2 |b|^2."""
    used = weight > 0
    base = np.where(used, weight, 1.0)
    log_base = np.where(used, np.log(base / weight.sum()), -np.inf)
    floor = log_base[used].min() - 1e-6
    converged, curvature, steepest = False, None, 0.0
    eta = log_base + times(Z, coef)
    value, w = _normal(eta)
    value += ridge / 2 * coef @ coef
    # Nothing reaches a mean that is fixed elsewhere: what is asked exactly is then not begun.
    hopeless = not ridge and np.abs(fixed).max(initial=0.0) > 1e-9
    for _ in range(200):
        g = weighted_sums(Z, w)
        gradient = g + ridge * coef
        steep, steepest = steepest, np.abs(gradient).max(initial=0.0)
        converged = steepest <= tolerance
        if curvature is None or (steepest > FALLEN * steep and not converged):
            curvature = gram(Z, w)[0] - np.outer(g, g) + ridge * np.eye(len(g))
        if hopeless:
            g, converged = np.zeros_like(g), False
        if hopeless or converged:
            break
        if not ridge and value < floor:
            # Below what any weights that met the means would allow: there are none.
            break
        step = -solved(curvature, gradient)
        move, slope, size = times(Z, step), gradient @ step, 1.0
        for _ in range(40):
            tried = coef + size * step
            now, w = _normal(eta + size * move)
            now += ridge / 2 * tried @ tried
            if now <= value + 1e-4 * size * slope + 1e-14:
                break
            size /= 2
        coef, value = tried, now
        eta = eta + size * move
    return Fitted(w, coef, curvature, None, None, g + fixed, converged)


def _normal(eta):
    """log sum exp, and the terms over their sum."""
    top = eta.max()
    terms = np.exp(eta - top)
    total = terms.sum()
    return float(np.log(total) + top), terms / total


def _log_loss(margins, masses):
    return sum(
        float(mass @ np.logaddexp(0, -margin)) for margin, mass in zip(margins, masses, strict=True)
    )


def solved(A, b):
    """x of A x = b, for a symmetric matrix without negative eigenvalues, of whatever rank."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    jitter = 1e-12 * max(np.trace(A) / max(len(A), 1), 1e-300)
    for _ in range(12):
        try:
            return cho_solve(cho_factor(A + jitter * np.eye(len(A))), b)
        except LinAlgError:
            jitter *= 100
    return np.linalg.lstsq(A, b, rcond=None)[0]


def blocks(X):
    """Slices of rows that hold about `BLOCK` numbers."""
    n, d = X.shape
    size = max(BLOCK // max(d, 1), 256)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def gram(Z, w):
    """Z' diag(w) Z and Z' w."""
    G, g = np.zeros((Z.shape[1],) * 2), np.zeros(Z.shape[1])
    root = np.sqrt(w)
    for rows in blocks(Z):
        block = Z[rows]
        g += w[rows] @ block
        scaled = block * root[rows, None]
        G += scaled.T @ scaled
    return G, g


def times(Z, b):
    """Table times a vector, by blocks of rows."""
    made = np.empty(Z.shape[0])
    for rows in blocks(Z):
        made[rows] = Z[rows] @ b
    return made


def weighted_sums(Z, w):
    """Vector times a table, by blocks of rows."""
    made = np.zeros(Z.shape[1])
    for rows in blocks(Z):
        made += w[rows] @ Z[rows]
    return made
