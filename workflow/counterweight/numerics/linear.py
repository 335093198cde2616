"""Weighted logistic regression, shared by selection models and models of the label."""

import logging
import warnings

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import checked_rows, named, two_class_rows

log = logging.getLogger("counterweight")

#: Option of the models that `fit_logistic` fits.
RIDGE = {
    "ridge": {
        "type": "number",
        "minimum": 0,
        "default": 1e-6,
        "description": "Penalty on standardised coefficients, for each row; 0 for none.",
    }
}


def fit_logistic(X, y, sample_weight=None, ridge=1e-6, max_iter=200):
    """Minimise the weighted log loss plus a small ridge on standardised features.

    Parameters
    ----------
    X : array, shape (n, d)
    y : array of 0/1, shape (n,)
    sample_weight : array, shape (n,), optional
        Scaled to mean 1 before the fit, so the ridge means the same for any scale; rows of
        weight 0 are left out.
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

    if not (np.isfinite(ridge) and ridge >= 0):
        raise CounterweightError(f"ridge is {ridge}; it must be a number from 0 up.")
    X, y, weights = two_class_rows(X, y, sample_weight, "Logistic regression")
    center = np.average(X, axis=0, weights=weights)
    scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=weights))
    constant = (np.ptp(X, axis=0) == 0) | (scale <= 1e-12 * np.abs(center))
    if constant.any():
        log.warning(
            "Feature %s has one value in the %d rows of this fit: it gets the coefficient 0.",
            listed(named(np.flatnonzero(constant))),
            len(X),
        )
    scale[constant] = 1.0
    standard = np.where(constant, 0.0, (X - center) / scale)
    model = LogisticRegression(
        C=1.0 / (ridge * len(X)) if ridge else np.inf,
        solver="newton-cholesky",
        tol=1e-8,
        max_iter=max_iter,
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(standard, y, sample_weight=weights)
    converged = not any(issubclass(item.category, ConvergenceWarning) for item in caught)
    coef = np.where(constant, 0.0, model.coef_[0] / scale)
    return coef, float(model.intercept_[0] - coef @ center), int(model.n_iter_[0]), converged


def logistic_probability(X, coef, intercept):
    """p(y = 1 | x) of a fitted logistic regression."""
    from scipy.special import expit

    return expit(checked_rows(X, empty=True) @ coef + intercept)
