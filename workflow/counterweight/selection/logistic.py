"""Selection model: logistic regression of s on x."""

from sklearn.base import BaseEstimator

from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.linear import RIDGE, fit_logistic, logistic_probability

OPTIONS = RIDGE
LABEL = "logistic regression"


class LogisticSelector(NamedColumns, BaseEstimator):
    """p(s = 1 | x) by logistic regression.

    Parameters
    ----------
    ridge : float
    """

    def __init__(self, ridge=1e-6):
        self.ridge = ridge

    def prepare(self, X, rng):
        """Nothing is shared between the folds."""
        return None

    def fit(self, X, s, *, rng=None, shared=None):
        """Fit on rows X, shape (n, d), with labeled or not s, shape (n,)."""
        self.coef_, self.intercept_, _, self.converged_ = fit_logistic(X, s, ridge=self.ridge)
        return self

    def predict(self, X):
        """Uncalibrated p(s = 1 | x), shape (n,)."""
        return logistic_probability(X, self.coef_, self.intercept_)
