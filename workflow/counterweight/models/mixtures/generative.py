"""Generative classifier: a prior and a Gaussian mixture of the features for each class."""

import numpy as np

from counterweight.numerics.class_mixtures import ClassMixtures

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


class GenerativeClassifier(ClassMixtures):
    """Bayes' rule with a Gaussian mixture for each class (Smith & Elkan 2007, section 4).

    With the weights of Lemma 1 or 2 the model estimates the general or the unlabeled
    population, given that labels are missing at random and the weights are right; without
    weights it describes the labeled population only.

    Parameters
    ----------
    components, restarts, tolerance, max_iter, start, draw, covariance_floor
        See `OPTIONS`. `draw` does nothing here: the caller seeds `rng` by it.

    Attributes
    ----------
    prior_, weights_, means_, covariances_, log_likelihood_, restart_log_likelihood_, \
iterations_, converged_, components_held_, base_
        As of `ClassMixtures`.
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
        super().__init__(components, restarts, tolerance, max_iter, start, covariance_floor)
        self.draw = draw

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
