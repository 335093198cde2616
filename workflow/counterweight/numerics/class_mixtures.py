"""A prior and a Gaussian mixture of the features for each of two classes, by Bayes' rule."""

import numpy as np
from sklearn.base import BaseEstimator

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    checked_labels,
    checked_new_rows,
    checked_rows,
    checked_weights,
)
from counterweight.numerics.gaussian_mixture import fit_mixture, gaussian_log_density, log_sum_exp


def class_log_joint(X, prior, weights, means, covariances):
    """Log p(y) + log p(x | y) for both classes.

    Parameters
    ----------
    X : ndarray (n, d)
    prior : ndarray (2,)
    weights : ndarray (2, K)
    means : ndarray (2, K, d)
    covariances : ndarray (2, K, d, d)

    Returns
    -------
    ndarray (n, 2)
    """
    k, d = means.shape[1:]
    density = gaussian_log_density(X, means.reshape(2 * k, d), covariances.reshape(2 * k, d, d))
    with np.errstate(divide="ignore"):
        density = density.reshape(-1, 2, k) + np.log(weights)
        return log_sum_exp(density) + np.log(prior)


def posterior(joint):
    """Class probabilities (n, 2) from log joint densities (n, 2)."""
    return np.exp(joint - log_sum_exp(joint)[:, None])


class ClassMixtures(BaseEstimator):
    """Bayes' rule with a Gaussian mixture for each class (Smith & Elkan 2007, section 4).

    p(y) is the weighted share of the class, p(x | y) a mixture fitted by weighted EM.

    Parameters
    ----------
    components : int
        Of each class.
    restarts : int
        Random starts of EM; the one with the best log-likelihood is kept.
    tolerance : float
        EM stops when the log-likelihood changes by less than this share.
    max_iter : int
        Most EM iterations of one start.
    start : {"shared", "separate"}
        Both classes start from one mixture of all rows, or each from random starts of its own.
    covariance_floor : float
        Least eigenvalue of a covariance of standardised features.

    Attributes
    ----------
    prior_ : ndarray (2,)
    weights_ : ndarray (2, K)
    means_ : ndarray (2, K, d)
    covariances_ : ndarray (2, K, d, d)
    log_likelihood_ : float
        Sum over rows of row weight times log p(x, y).
    restart_log_likelihood_ : ndarray
        Of the mixture of all rows; with separate starts, of class 0 and then of class 1.
    iterations_, converged_, components_held_ : ndarray
        One entry for each mixture: all rows (shared start only), class 0, class 1.
    base_ : Mixture or None
        The mixture of all rows.
    """

    def __init__(
        self,
        components=6,
        restarts=25,
        tolerance=1e-7,
        max_iter=2000,
        start="shared",
        covariance_floor=1e-6,
    ):
        self.components = components
        self.restarts = restarts
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.start = start
        self.covariance_floor = covariance_floor

    def fit(self, X, y, sample_weight=None, *, rng, base=None):
        """Fit both class mixtures.

        Parameters
        ----------
        X : array (n, d)
        y : array (n,) of 0 and 1
        sample_weight : array (n,), optional
        rng : numpy.random.Generator
        base : Mixture, optional
            ``base_`` of a model fitted to the same rows and weights with other labels;
            saves fitting it again. Shared start only.

        Raises
        ------
        CounterweightError
            For one class only, too few rows in a class, or unusable rows or weights.
        """
        if self.start not in ("shared", "separate"):
            raise CounterweightError(f"start must be shared or separate, not {self.start!r}.")
        X = checked_rows(X)
        row_weights = checked_weights(sample_weight, len(X))
        y = checked_labels(y, len(X))
        members = [np.flatnonzero((y == label) & (row_weights > 0)) for label in (0, 1)]
        for label in (0, 1):
            if not len(members[label]):
                raise CounterweightError(
                    f"No labeled row with a positive weight has the label {label}: "
                    "a classifier needs both classes."
                )
        options = {
            "restarts": self.restarts,
            "tolerance": self.tolerance,
            "max_iter": self.max_iter,
            "covariance_floor": self.covariance_floor,
        }
        # One scale for both classes: a floor in units of each class would move the boundary.
        center = np.average(X, axis=0, weights=row_weights)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=row_weights))
        options["scale"] = np.where(scale > 0, scale, 1.0)
        fitted = []
        if self.start == "separate":
            base = None
        else:
            if base is None:
                base = fit_mixture(
                    X, self.components, sample_weight=row_weights, rng=rng, **options
                )
            elif base.means.shape != (self.components, X.shape[1]):
                raise CounterweightError(
                    f"The mixture to start from has the shape {base.means.shape}, "
                    f"not {(self.components, X.shape[1])}."
                )
            fitted.append(base)
        for label, rows in enumerate(members):
            try:
                fitted.append(
                    fit_mixture(
                        X[rows],
                        self.components,
                        sample_weight=row_weights[rows],
                        rng=rng,
                        start=base,
                        **options,
                    )
                )
            except CounterweightError as error:
                raise CounterweightError(f"Rows with the label {label}: {error}") from error
        classes = fitted[-2:]
        mass = np.array([row_weights[rows].sum() for rows in members])
        self.base_ = base
        self.prior_ = mass / mass.sum()
        self.weights_ = np.array([mixture.weights for mixture in classes])
        self.means_ = np.array([mixture.means for mixture in classes])
        self.covariances_ = np.array([mixture.covariances for mixture in classes])
        self.log_likelihood_ = float(
            sum(mixture.log_likelihood for mixture in classes) + mass @ np.log(self.prior_)
        )
        started = classes if base is None else [base]
        self.restart_log_likelihood_ = np.concatenate(
            [mixture.restart_log_likelihood for mixture in started]
        )
        self.iterations_ = np.array([mixture.n_iter for mixture in fitted])
        self.converged_ = np.array([mixture.converged for mixture in fitted])
        self.components_held_ = np.array([mixture.updates_held for mixture in fitted])
        return self

    def joint_log_density(self, X):
        """Log p(y) + log p(x | y), (n, 2)."""
        X = checked_new_rows(X, self.means_.shape[-1])
        return class_log_joint(X, self.prior_, self.weights_, self.means_, self.covariances_)

    def predict_proba(self, X):
        """Class probabilities p(y | x), (n, 2)."""
        return posterior(self.joint_log_density(X))
