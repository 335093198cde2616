"""A prior and a Gaussian mixture of the features for each of two classes, and Bayes' rule."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    checked_labels,
    checked_new_rows,
    checked_rows,
    checked_weights,
)
from counterweight.numerics.gaussian_mixture import fit_mixture, gaussian_log_density, log_sum_exp


class ClassMixtures(NamedTuple):
    """Mixtures of K components over d features for class 0 and class 1.

    Attributes
    ----------
    prior : ndarray (2,)
    weights : ndarray (2, K)
    means : ndarray (2, K, d)
    covariances : ndarray (2, K, d, d)
    """

    prior: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    def joint_log_density(self, X):
        """Log p(y) + log p(x | y) of rows (n, d) for both classes, (n, 2)."""
        k, d = self.means.shape[1:]
        X = checked_new_rows(X, d)
        density = gaussian_log_density(
            X, self.means.reshape(2 * k, d), self.covariances.reshape(2 * k, d, d)
        )
        with np.errstate(divide="ignore"):
            density = density.reshape(-1, 2, k) + np.log(self.weights)
            return log_sum_exp(density) + np.log(self.prior)

    def to_arrays(self):
        """The parameters as arrays of at most three dimensions, by name."""
        d = self.means.shape[-1]
        return self._asdict() | {"covariances": self.covariances.reshape(-1, d, d)}

    @classmethod
    def from_arrays(cls, arrays):
        """The parameters from what `to_arrays` gave, among other arrays."""
        mixtures = cls(*(np.asarray(arrays[name], dtype=float) for name in cls._fields))
        _, k, d = mixtures.means.shape
        return mixtures._replace(covariances=mixtures.covariances.reshape(2, k, d, d))


def posterior(joint):
    """Class probabilities (n, 2) from log joint densities (n, 2)."""
    return np.exp(joint - log_sum_exp(joint)[:, None])


def fit_class_mixtures(
    X, y, components, *, sample_weight=None, rng=None, base=None, separate=False, **options
):
    """Fit a mixture to the rows of each class by weighted EM.

    Both start from one mixture of all rows, or each from random starts of its own.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,) of 0 and 1
    components : int
        Of each class.
    sample_weight : array (n,), optional
    rng : numpy.random.Generator
        Needed unless `base` is given.
    base : Mixture, optional
        Mixture of all rows; it is fitted first if there is none.
    separate : bool
        Whether each class starts on its own.
    **options
        Restarts, tolerance, max_iter and covariance_floor of `fit_mixture`.

    Returns
    -------
    mixtures : ClassMixtures
    fitted : list of Mixture
        Those of all rows (if there is one), of class 0 and of class 1.
    log_likelihood : float
        Sum over rows of row weight times log p(x, y).

    Raises
    ------
    CounterweightError
        For one class only, too few rows in a class, or unusable rows, weights or options.
    """
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
    # One scale for both classes: a floor in units of each class would move the boundary.
    center = np.average(X, axis=0, weights=row_weights)
    scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=row_weights))
    options |= {"rng": rng, "scale": np.where(scale > 0, scale, 1.0)}
    if separate:
        base = None
    elif base is None:
        base = fit_mixture(X, components, sample_weight=row_weights, **options)
    elif base.means.shape != (components, X.shape[1]):
        raise CounterweightError(
            f"The mixture to start from has the shape {base.means.shape}, "
            f"not {(components, X.shape[1])}."
        )
    classes = []
    for label, rows in enumerate(members):
        weight = row_weights[rows]
        try:
            classes.append(
                fit_mixture(X[rows], components, sample_weight=weight, start=base, **options)
            )
        except CounterweightError as error:
            raise CounterweightError(f"Rows with the label {label}: {error}") from error
    mass = np.array([row_weights[rows].sum() for rows in members])
    prior = mass / mass.sum()
    mixtures = ClassMixtures(
        prior,
        np.array([mixture.weights for mixture in classes]),
        np.array([mixture.means for mixture in classes]),
        np.array([mixture.covariances for mixture in classes]),
    )
    value = sum(mixture.log_likelihood for mixture in classes) + mass @ np.log(prior)
    return mixtures, ([] if base is None else [base]) + classes, float(value)
