"""A prior and a Gaussian mixture of the features for each of two classes, and Bayes' rule."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    checked_labels,
    checked_new_rows,
    checked_rows,
    mean_one_weights,
)
from counterweight.numerics.emissions.components import COVARIANCES
from counterweight.numerics.emissions.densities import (
    gaussian_log_density,
    log_sum_exp,
    mixed_log_density,
)
from counterweight.numerics.emissions.layout import Layout
from counterweight.numerics.gaussian_mixture import fit_mixture


class ClassMixtures(NamedTuple):
    """Mixtures of K components over d features for class 0 and class 1.

    Attributes
    ----------
    prior : ndarray (2,)
    weights : ndarray (2, K)
    means : ndarray (2, K, d)
    covariances : ndarray (2, K, d, d)
    shares : ndarray (2, K, L), optional
        Of the levels of categories; then d counts the numbers alone.
    layout : Layout, optional
        Which columns are numbers and which are categories; None where all are numbers.
    covariance : {"full", "diagonal", "tied"}
        What the covariances of a class were fitted as.
    """

    prior: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    shares: np.ndarray = None
    layout: Layout = None
    covariance: str = "full"

    @property
    def width(self):
        """Columns that rows must have."""
        return self.means.shape[-1] if self.layout is None else self.layout.width

    def joint_log_density(self, X):
        """Log p(y) + log p(x | y) of rows (n, d) for both classes, (n, 2)."""
        k, d = self.means.shape[1:]
        parts = (self.means.reshape(2 * k, d), self.covariances.reshape(2 * k, d, d))
        if self.layout is None:
            density = gaussian_log_density(checked_new_rows(X, d), *parts)
        else:
            parts += (self.shares.reshape(2 * k, -1), self.layout.offsets)
            density = mixed_log_density(*self.layout.split(X), *parts)
        with np.errstate(divide="ignore"):
            density = density.reshape(-1, 2, k) + np.log(self.weights)
            return log_sum_exp(density) + np.log(self.prior)

    def to_arrays(self):
        """The parameters as arrays of at most three dimensions, by name."""
        d = self.means.shape[-1]
        arrays = self._asdict() | {"covariances": self.covariances.reshape(-1, d, d)}
        layout, shares = arrays.pop("layout"), arrays.pop("shares")
        kind = np.array([COVARIANCES.index(arrays.pop("covariance"))])
        if layout is None:
            return arrays
        told = {f"layout_{name}": values for name, values in layout.to_arrays().items()}
        return arrays | {"shares": shares, "layout_covariance": kind} | told

    @classmethod
    def from_arrays(cls, arrays):
        """The parameters from what `to_arrays` gave, among other arrays."""
        mixtures = cls(*(np.asarray(arrays[name], dtype=float) for name in cls._fields[:4]))
        _, k, d = mixtures.means.shape
        mixtures = mixtures._replace(covariances=mixtures.covariances.reshape(2, k, d, d))
        if "layout_category" not in arrays:
            return mixtures
        prefix = "layout_"
        told = {n.removeprefix(prefix): v for n, v in arrays.items() if n.startswith(prefix)}
        # Arrays of no element, those of rows without any category, need not have been kept.
        shares = np.asarray(arrays.get("shares", np.empty((2, k, 0))), dtype=float)
        return mixtures._replace(
            shares=shares.reshape(2, k, -1),
            layout=Layout.from_arrays(told),
            covariance=COVARIANCES[int(np.ravel(told["covariance"])[0])],
        )


def posterior(joint):
    """Class probabilities (n, 2) from log joint densities (n, 2)."""
    return np.exp(joint - log_sum_exp(joint)[:, None])


def fit_class_mixtures(
    X,
    y,
    components,
    *,
    sample_weight=None,
    rng=None,
    base=None,
    separate=False,
    layout=None,
    covariance="full",
    **options,
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
        On any scale: their mean is made 1.
    rng : numpy.random.Generator
        Needed unless `base` is given.
    base : Mixture, optional
        Mixture of all rows; it is fitted first if there is none.
    separate : bool
        Whether each class starts on its own.
    layout : Layout, optional
        Which columns are categories.
    covariance : {"full", "diagonal", "tied"}
        Tied: alike in the components of a class.
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
    if layout is None and covariance != "full":
        layout = Layout.of(np.shape(X)[1])
    X = checked_rows(X) if layout is None else np.asarray(X, dtype=float)
    row_weights, unit = mean_one_weights(sample_weight, len(X))
    y = checked_labels(y, len(X))
    members = [np.flatnonzero((y == label) & (row_weights > 0)) for label in (0, 1)]
    for label in (0, 1):
        if not len(members[label]):
            raise CounterweightError(
                f"No labeled row with a positive weight has the label {label}: "
                "a classifier needs both classes."
            )
    # One scale for both classes: a floor in units of each class would move the boundary.
    scale = _scale(X if layout is None else layout.split(X)[0], row_weights)
    options |= {"rng": rng, "scale": scale, "layout": layout, "covariance": covariance}
    if separate:
        base = None
    elif base is None:
        base = fit_mixture(X, components, sample_weight=row_weights, **options)
    elif len(base.means) != components or (base.layout, base.means.shape[1]) != (
        layout,
        X.shape[1] if layout is None else len(layout.numbers),
    ):
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
    if layout is not None:
        shares = np.array([mixture.shares for mixture in classes])
        mixtures = mixtures._replace(shares=shares, layout=layout, covariance=covariance)
    value = sum(mixture.log_likelihood for mixture in classes) + mass @ np.log(prior)
    return mixtures, ([] if base is None else [base]) + classes, float(value * unit)


def _scale(X, row_weights):
    """Weighted standard deviation of each feature, of the rows that have it; 1 for constants."""
    there = ~np.isnan(X)
    if there.all():
        center = np.average(X, axis=0, weights=row_weights)
        scale = np.sqrt(np.average((X - center) ** 2, axis=0, weights=row_weights))
    else:
        seen = np.maximum(row_weights @ there, np.finfo(float).tiny)
        center = row_weights @ np.where(there, X, 0.0) / seen
        scale = np.sqrt(row_weights @ np.where(there, X - center, 0.0) ** 2 / seen)
    return np.where(scale > 0, scale, 1.0)
