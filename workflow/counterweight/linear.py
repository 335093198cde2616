"""Weighted logistic regression, shared by selection models and models of the label."""

import warnings

import numpy as np

from counterweight.errors import CounterweightError


def check_weights(sample_weight, rows):
    """Row weights as floats; refuse what cannot be a weight.

    Raises
    ------
    CounterweightError
        When a weight is negative or not finite, all are 0, or their number is wrong.
    """
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight, dtype=float)
    if weights.shape != (rows,):
        raise CounterweightError(
            f"There are {weights.size} weights for {rows} rows: give one weight for each row."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        raise CounterweightError(
            f"{int(bad.sum())} of {rows} weights are negative or not finite (first: row "
            f"{int(np.flatnonzero(bad)[0])}): weights are numbers from 0 up."
        )
    if not weights.any():
        raise CounterweightError(
            f"All {rows} weights are 0, so nothing can be learned: the labeled rows do not overlap "
            "the target population; check the selection model."
        )
    return weights


def fit_logistic(X, y, sample_weight=None, ridge=1e-6, max_iter=200):
    """Minimise the weighted log loss plus a small ridge on standardised features.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array of 0/1, shape (n,)
    sample_weight : array, shape (n,), optional
        Scaled to mean 1 before the fit, so the ridge means the same for any scale.
    ridge : float
        Penalty ``n/2 * ridge * |coef|^2`` on the coefficients of standardised features.
    max_iter : int

    Returns
    -------
    coef : numpy.ndarray, shape (d,)
        In units of 1/feature.
    intercept : float
    iterations : int
    converged : bool
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    X = np.asarray(X, dtype=float)
    y = np.asarray(y)
    weights = check_weights(sample_weight, len(X))
    present = np.unique(y[weights > 0])
    if len(present) < 2:
        raise CounterweightError(
            f"Logistic regression needs both classes; the {int((weights > 0).sum())} rows with "
            f"weight have only class {present[0] if len(present) else 'none'}."
        )
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(
        C=1.0 / (ridge * len(X)) if ridge else np.inf,
        solver="newton-cholesky", tol=1e-8, max_iter=max_iter,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit((X - center) / scale, y, sample_weight=weights / weights.mean())
    converged = not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    coef = model.coef_[0] / scale
    return coef, float(model.intercept_[0] - coef @ center), int(model.n_iter_[0]), converged


def logistic_probability(X, coef, intercept):
    """p(y = 1 | x) of a fitted logistic regression."""
    from scipy.special import expit

    return expit(np.asarray(X, dtype=float) @ coef + intercept)
