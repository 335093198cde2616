"""Log densities of Gaussians, alone or beside categories, without overflow."""

import numpy as np

from counterweight.numerics.mixture_steps import LOG_2PI


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


def mixed_log_density(numbers, codes, means, covariances, shares, offsets):
    """Log density of rows of numbers and categories under each component.

    Parameters
    ----------
    numbers : ndarray (n, a)
        NaN where missing.
    codes : ndarray of int (n, b)
        -1 where missing.
    means : ndarray (K, a)
    covariances : ndarray (K, a, a)
    shares : ndarray (K, L)
        Of the levels, category after category.
    offsets : ndarray of int (b + 1,)
        Where the levels of each category begin.

    Returns
    -------
    ndarray (n, K)
    """
    result = np.zeros((len(numbers), len(means)))
    missing = np.isnan(numbers)
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    which = which.reshape(-1)
    for at, pattern in enumerate(patterns):
        there = np.flatnonzero(~pattern)
        if len(there):
            rows = np.flatnonzero(which == at) if len(patterns) > 1 else slice(None)
            result[rows] = gaussian_log_density(
                numbers[rows][:, there], means[:, there], covariances[:, there[:, None], there]
            )
    logs = np.log(shares).T
    for at, offset in enumerate(offsets[:-1]):
        seen = np.flatnonzero(codes[:, at] >= 0)
        result[seen] += logs[offset + codes[seen, at]]
    return result
