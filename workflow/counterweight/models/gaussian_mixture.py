"""Weighted full-covariance Gaussian mixtures by EM, many random restarts at once."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.models.mixture_steps import (
    LOG_2PI,
    Parameters,
    QuadraticRows,
    floored,
    maximisation,
)

RACE_FROM = 30
RACE_WINDOW = 20
RACE_OPTIMISM = 1000.0


@dataclass(frozen=True)
class Mixture:
    """A fitted Gaussian mixture, in the units of the rows that it was fitted to.

    Attributes
    ----------
    weights : ndarray (K,)
    means : ndarray (K, d)
    covariances : ndarray (K, d, d)
    log_likelihood : float
        Sum over rows of row weight times log p(x), for exactly these parameters.
    history : ndarray
        Log-likelihood at each iteration of the restart that won.
    restart_log_likelihood : ndarray (R,)
        Last value of each restart.
    restart_iterations : ndarray of int (R,)
    restart_stopped_early : ndarray of bool (R,)
        Restarts given up because they could no longer win.
    converged : bool
        Whether the winner met the tolerance before the iterations ran out.
    n_iter : int
        Iterations of the winner.
    updates_held : int
        Component updates of the winner held back for lack of rows.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    log_likelihood: float = float("nan")
    history: np.ndarray = None
    restart_log_likelihood: np.ndarray = None
    restart_iterations: np.ndarray = None
    restart_stopped_early: np.ndarray = None
    converged: bool = True
    n_iter: int = 0
    updates_held: int = 0

    def component_log_density(self, X):
        """Log density of each row under each component, (n, K); the weights are not in it."""
        return gaussian_log_density(X, self.means, self.covariances)

    def log_density(self, X):
        """Log density of each row under the mixture, (n,)."""
        with np.errstate(divide="ignore"):
            joint = self.component_log_density(X) + np.log(self.weights)
        return log_sum_exp(joint)


def log_sum_exp(values):
    """Logarithm of the sum of exponentials over the last axis, without overflow."""
    top = values.max(axis=-1, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - top).sum(axis=-1)) + top[..., 0]


def gaussian_log_density(X, means, covariances):
    """Log density of each row under each Gaussian.

    Parameters
    ----------
    X : array (n, d)
    means : ndarray (K, d)
    covariances : ndarray (K, d, d)
        Positive definite.

    Returns
    -------
    ndarray (n, K)
    """
    X = np.asarray(X, dtype=float)
    factor = np.linalg.cholesky(covariances)
    inverse = np.linalg.inv(factor)
    log_scale = np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    result = np.empty((len(X), len(means)))
    for c, mean in enumerate(means):
        distance = (X - mean) @ inverse[c].T
        result[:, c] = -0.5 * np.einsum("nd,nd->n", distance, distance)
    return result - log_scale - 0.5 * X.shape[1] * LOG_2PI


def checked_rows(X, feature_names=None):
    """Rows as a float matrix.

    Raises
    ------
    CounterweightError
        When `X` is not a matrix, is empty, or holds NaN or infinite values.
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or not X.size:
        raise CounterweightError(
            f"A mixture needs a table of rows by features, got the shape {X.shape}."
        )
    bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
    if len(bad):
        rows = int((~np.isfinite(X)).any(axis=1).sum())
        raise CounterweightError(
            f"Missing or infinite values in {rows} rows of feature "
            f"{listed(_names(bad, feature_names))}: fill or drop them before fitting."
        )
    return X


def checked_weights(sample_weight, n):
    """Row weights as floats; ones if None.

    Raises
    ------
    CounterweightError
        When a weight is negative or not finite, all are zero, or their number is wrong.
    """
    if sample_weight is None:
        return np.ones(n)
    weights = np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,):
        raise CounterweightError(f"There are {n} rows but row weights of shape {weights.shape}.")
    bad = int((~np.isfinite(weights) | (weights < 0)).sum())
    if bad:
        raise CounterweightError(
            f"{bad} row weights are negative or not finite: weights must be zero or more."
        )
    if not weights.any():
        raise CounterweightError("All row weights are zero: no row is left to fit a mixture to.")
    return weights


def _names(index, feature_names):
    return [feature_names[i] if feature_names is not None else f"number {i}" for i in index]


class Standardised:
    """Rows centred and scaled by weighted mean and standard deviation, and the way back.

    Parameters
    ----------
    X : ndarray (n, d)
    row_weights : ndarray (n,)
        Rows of weight zero are left out.
    feature_names : sequence of str, optional
        For messages.

    Raises
    ------
    CounterweightError
        When a feature is constant.
    """

    def __init__(self, X, row_weights, feature_names=None, block=1024):
        self.used = np.flatnonzero(row_weights > 0)
        if len(self.used) < len(X):
            X, row_weights = X[self.used], row_weights[self.used]
        self.total = row_weights.sum()
        self.mean = row_weights @ X / self.total
        rows = X - self.mean
        self.scale = np.sqrt(row_weights @ np.square(rows) / self.total)
        constant = np.flatnonzero(
            (self.scale <= 1e-12 * np.abs(self.mean)) | (np.ptp(X, axis=0) == 0)
        )
        if len(constant):
            raise CounterweightError(
                f"Feature {listed(_names(constant, feature_names))} is constant over the "
                f"{len(X)} rows given, so a full covariance does not exist: drop the feature "
                "or add noise to it."
            )
        rows /= self.scale
        self.features = QuadraticRows(rows, row_weights, block=block)
        self.log_jacobian = self.total * np.log(self.scale).sum()

    def inward(self, weights, means, covariances, floor):
        """Parameters (K, 1, ...) of a mixture given in the units of the rows."""
        means = (np.asarray(means) - self.mean) / self.scale
        covariances = np.asarray(covariances) / np.outer(self.scale, self.scale)
        return Parameters(
            np.asarray(weights, dtype=float)[:, None],
            means[:, None],
            floored(covariances, floor)[:, None],
        )

    def outward(self, parameters):
        """Weights, means and covariances of one mixture of a batch of one."""
        return (
            parameters.weights[:, 0],
            self.mean + self.scale * parameters.means[:, 0],
            np.outer(self.scale, self.scale) * parameters.covariances[:, 0],
        )


def _hopeless(history, live, best):
    """Which of the `live` restarts cannot reach `best` even on an optimistic forecast.

    The forecast grants a restart as much again as it gained in the last few iterations,
    several times over.
    """
    gain = history[-1][live] - history[-1 - RACE_WINDOW][live]
    return history[-1][live] + RACE_OPTIMISM * gain < best


def fit_mixture(
    X,
    n_components,
    *,
    sample_weight=None,
    restarts=25,
    tolerance=1e-7,
    max_iter=2000,
    rng=None,
    start=None,
    responsibilities=None,
    prune=True,
    covariance_floor=1e-6,
    minimum_rows=None,
    feature_names=None,
    block=1024,
):
    """Fit a Gaussian mixture by weighted EM and keep the best of several restarts.

    Each restart starts from uniform random responsibilities, rows summing to one, and
    stops when the relative change of the log-likelihood falls below `tolerance`
    (Smith & Elkan 2007, section 5). A component with fewer than `minimum_rows` rows
    assigned to it (largest responsibility) is not updated in that iteration.

    The rows are standardised first, and the result is given in their own units again.
    EM assumes that the mixture is the true family; with another truth it finds the
    mixture closest in Kullback-Leibler divergence among those the restarts reach.

    Parameters
    ----------
    X : array (n, d)
        Finite; no constant feature.
    n_components : int
    sample_weight : array (n,), optional
        Zero or more. A row of weight two counts as two rows in the likelihood, and as one
        in `minimum_rows`. Rows of weight zero are left out.
    restarts : int
    tolerance : float
    max_iter : int
    rng : numpy.random.Generator
        Needed unless the start is given.
    start : Mixture, optional
        Start from this mixture, once, instead of at random.
    responsibilities : array (R, n, K), optional
        Start from these; each row of each restart sums to one.
    prune : bool
        Give up restarts that are far behind and no longer rising enough.
    covariance_floor : float
        Least eigenvalue of a covariance on standardised features.
    minimum_rows : int, optional
        2d if not given.
    feature_names : sequence of str, optional
        For messages.
    block : int
        Rows treated at a time.

    Returns
    -------
    Mixture

    Raises
    ------
    CounterweightError
        For unusable rows, weights or options, and when there are fewer than
        ``n_components * minimum_rows`` rows with a positive weight.
    """
    X = checked_rows(X, feature_names)
    n, d = X.shape
    row_weights = checked_weights(sample_weight, n)
    if start is not None:
        n_components = len(start.weights)
    _check_options(n_components, restarts, tolerance, max_iter, covariance_floor)
    minimum_rows = 2 * d if minimum_rows is None else int(minimum_rows)
    used = int((row_weights > 0).sum())
    needed = n_components * max(minimum_rows, 1)
    if used < needed:
        raise CounterweightError(
            f"A mixture of {n_components} components of {d} features needs at least {needed} "
            f"rows with a positive weight, but there are {used}: ask for at most "
            f"{used // max(minimum_rows, 1)} components or give more rows."
        )
    data = Standardised(X, row_weights, feature_names, block)
    if start is not None:
        if np.shape(start.means)[1] != d:
            raise CounterweightError(
                f"The mixture to start from has {np.shape(start.means)[1]} features, the rows {d}."
            )
        first = data.inward(start.weights, start.means, start.covariances, covariance_floor)
    else:
        if responsibilities is not None:
            responsibilities = np.asarray(responsibilities, dtype=float)
            if responsibilities.ndim != 3 or responsibilities.shape[1:] != (n, n_components):
                raise CounterweightError(
                    f"Responsibilities must have the shape (restarts, {n}, {n_components}), "
                    f"not {responsibilities.shape}."
                )
            moments = data.features.moments(responsibilities[:, data.used])
        elif rng is None:
            raise CounterweightError("A random start needs a random generator: give rng.")
        else:
            moments = data.features.random_moments(n_components, restarts, rng)
        first = maximisation(moments, None, None, covariance_floor)
    return _climb(data, first, tolerance, max_iter, prune, covariance_floor, minimum_rows)


def _check_options(n_components, restarts, tolerance, max_iter, covariance_floor):
    for name, value, least in (
        ("components", n_components, 1), ("restarts", restarts, 1), ("max_iter", max_iter, 1),
    ):  # fmt: skip
        if int(value) != value or value < least:
            raise CounterweightError(f"{name} must be a whole number from {least}, not {value}.")
    if not 0 <= tolerance < 1:
        raise CounterweightError(f"tolerance must be from 0 to below 1, not {tolerance}.")
    if not 0 < covariance_floor < 1:
        raise CounterweightError(
            f"covariance_floor must lie between 0 and 1, not {covariance_floor}."
        )


def _climb(data, parameters, tolerance, max_iter, prune, floor, minimum_rows):
    """Run EM on a batch of mixtures until each has converged or is given up."""
    features = data.features
    restarts = parameters.weights.shape[1]
    live = np.arange(restarts)
    history = []
    last = np.full(restarts, -np.inf)
    iterations = np.zeros(restarts, dtype=int)
    stopped_early = np.zeros(restarts, dtype=bool)
    converged = np.zeros(restarts, dtype=bool)
    updates_held = np.zeros(restarts, dtype=int)
    winner = None
    while len(live):
        statistics = features.expectation(parameters)
        current = statistics.log_likelihood - data.log_jacobian
        if not np.isfinite(current).all():
            raise CounterweightError(
                "The log-likelihood of a mixture is not finite: a row lies too far from all "
                "components. Look for extreme values in the features."
            )
        row = np.full(restarts, np.nan)
        row[live] = current
        history.append(row)
        done = np.abs(current - last[live]) <= tolerance * np.abs(current)
        last[live] = current
        converged[live[done]] = True
        stop = done | (iterations[live] >= max_iter)
        for at in np.flatnonzero(stop):
            if winner is None or current[at] > last[winner[0]]:
                winner = live[at], parameters.restarts([at])
        if prune and len(history) > RACE_FROM:
            behind = ~stop & _hopeless(history, live, last.max())
            stopped_early[live[behind]] = True
            stop |= behind
        keep = ~stop
        live = live[keep]
        if not len(live):
            break
        if stop.any():
            parameters = parameters.restarts(keep)
        hard, moments = statistics.hard[:, keep], statistics.moments[:, keep]
        held = (hard < minimum_rows) | (moments[..., 0] <= 1e-10 * data.total)
        updates_held[live] += held.sum(axis=0)
        parameters = maximisation(moments, parameters, held, floor)
        iterations[live] += 1
    index, best = winner
    path = np.array([row[index] for row in history])
    weights, means, covariances = data.outward(best)
    return Mixture(
        weights=weights,
        means=means,
        covariances=covariances,
        log_likelihood=float(last[index]),
        history=path[~np.isnan(path)],
        restart_log_likelihood=last,
        restart_iterations=iterations,
        restart_stopped_early=stopped_early,
        converged=bool(converged[index]),
        n_iter=int(iterations[index]),
        updates_held=int(updates_held[index]),
    )
