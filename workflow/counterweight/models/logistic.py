"""Logistic regression on the labeled rows, weighted where weights are given."""

import numpy as np

from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.linear import RIDGE, fit_logistic, logistic_probability

OPTIONS = RIDGE
LABEL = "Logistic regression"


class LogisticModel(BinaryClassifier):
    """Logistic regression with importance weights.

    Minimises (1/M) sum_i w_i L(f(x_i), y_i) with the log loss. When the logistic form
    is right, weights change nothing but the variance; when it is wrong, the unweighted
    fit is the best line for the labeled rows, not for the target population.

    Parameters
    ----------
    ridge : float
        Penalty on the coefficients of standardised features, for each row.

    Attributes
    ----------
    coef_ : numpy.ndarray, shape (d,)
        In units of 1/feature.
    intercept_ : float
    n_iter_ : int
    converged_ : bool

    References
    ----------
    Smith & Elkan (2007), section 3.
    """

    def __init__(self, ridge=1e-6):
        self.ridge = ridge

    def fit(self, X, y, sample_weight=None, *, rng=None):
        """Fit; `rng` is accepted and not needed, since the optimum is unique."""
        self.coef_, self.intercept_, self.n_iter_, self.converged_ = fit_logistic(
            X, y, sample_weight, self.ridge
        )
        return self

    def _positive(self, X):
        return logistic_probability(X, self.coef_, self.intercept_)

    def to_arrays(self):
        """Fitted numbers by name."""
        return {
            "coef": self.coef_,
            "intercept": self.intercept_,
            "iterations": self.n_iter_,
            "converged": float(self.converged_),
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.coef_ = np.asarray(arrays["coef"], dtype=float)
        model.intercept_ = float(arrays["intercept"])
        model.n_iter_ = int(arrays["iterations"])
        model.converged_ = bool(arrays["converged"])
        return model
