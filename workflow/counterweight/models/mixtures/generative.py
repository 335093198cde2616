"""Generative classifier: a prior and a Gaussian mixture of the features for each class."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    checked_labels,
    checked_new_rows,
    checked_rows,
    checked_weights,
)
from counterweight.numerics.gaussian_mixture import fit_mixture, gaussian_log_density, log_sum_exp

OPTIONS = {
    "components": {
        "type": "integer",
        "minimum": 1,
        "default": 6,
        "description": "Gaussian components of each class.",
    },
    "restarts": {
        "type": "integer",
        "minimum": 1,
        "default": 25,
        "description": "Random starts of EM; the one with the best log-likelihood is kept.",
    },
    "tolerance": {
        "type": "number",
        "minimum": 0,
        "exclusiveMaximum": 1,
        "default": 1.0e-7,
        "description": "EM stops when the log-likelihood changes by less than this share.",
    },
    "max_iter": {
        "type": "integer",
        "minimum": 1,
        "default": 2000,
        "description": "Most EM iterations of one start.",
    },
    "start": {
        "enum": ["shared", "separate"],
        "default": "shared",
        "description": "shared: both classes start from one mixture of all rows; "
        "separate: each class has random starts of its own.",
    },
    "draw": {
        "type": "integer",
        "minimum": 0,
        "default": 0,
        "description": "Number of the set of random starts: another number, another set.",
    },
    "covariance_floor": {
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
        "default": 1.0e-6,
        "description": "Least eigenvalue of a covariance of standardised features.",
    },
}


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


class GenerativeClassifier:
    """Bayes' rule with a Gaussian mixture for each class (Smith & Elkan 2007, section 4).

    p(y) is the weighted share of the class, p(x | y) a mixture fitted by weighted EM.
    With the weights of Lemma 1 or 2 the model estimates the general or the unlabeled
    population, given that labels are missing at random and the weights are right; without
    weights it describes the labeled population only.

    Parameters
    ----------
    components, restarts, tolerance, max_iter, start, draw, covariance_floor
        See `OPTIONS`. `draw` does nothing here: the caller seeds `rng` by it.

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

    #: Fitted attribute that a later fit to the same rows and weights may be given.
    REUSED = "base"

    def __init__(
        self,
        components=6,
        restarts=25,
        tolerance=1e-7,
        max_iter=2000,
        start="shared",
        draw=0,
        covariance_floor=1e-6,
    ):
        self.components = components
        self.restarts = restarts
        self.tolerance = tolerance
        self.max_iter = max_iter
        self.start = start
        self.draw = draw
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

    def to_arrays(self):
        """Everything fitted, as arrays of at most three dimensions, by name."""
        d = self.means_.shape[-1]
        return {
            "prior": self.prior_,
            "weights": self.weights_,
            "means": self.means_,
            "covariances": self.covariances_.reshape(-1, d, d),
            "log_likelihood": np.array([self.log_likelihood_]),
            "restart_log_likelihood": self.restart_log_likelihood_,
            "iterations": self.iterations_,
            "converged": self.converged_,
            "components_held": self.components_held_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """A fitted model from what `to_arrays` gave; it can predict, not be fitted further."""
        means = np.asarray(arrays["means"], dtype=float)
        _, k, d = means.shape
        model = cls(components=k)
        model.base_ = None
        model.prior_ = np.asarray(arrays["prior"], dtype=float)
        model.weights_ = np.asarray(arrays["weights"], dtype=float)
        model.means_ = means
        model.covariances_ = np.asarray(arrays["covariances"], dtype=float).reshape(2, k, d, d)
        model.log_likelihood_ = float(np.ravel(arrays["log_likelihood"])[0])
        model.restart_log_likelihood_ = np.asarray(arrays["restart_log_likelihood"], dtype=float)
        model.iterations_ = np.asarray(arrays["iterations"], dtype=int)
        model.converged_ = np.asarray(arrays["converged"], dtype=bool)
        model.components_held_ = np.asarray(arrays["components_held"], dtype=int)
        return model
