"""Selection model: logistic regression, or boosting where that knows clearly better."""

import numpy as np
from sklearn.base import BaseEstimator

from counterweight.numerics.estimator import NamedColumns
from counterweight.selection.gradient_boosting import GradientBoostingSelector
from counterweight.selection.logistic import LogisticSelector

OPTIONS = {}
LABEL = "logistic regression or boosting"
#: Share of the rows that the two are tried on.
TRIED = 0.3


def _both(rows):
    """Logistic regression, with a penalty that is that of one row, and boosting."""
    return LogisticSelector(ridge=1.0 / rows), GradientBoostingSelector()


class BetterOfTwoSelector(NamedColumns, BaseEstimator):
    """p(s = 1 | x) by logistic regression, unless boosting has a clearly smaller log loss.

    Both are fitted on seven rows in ten and tried on the rest. Boosting is taken where its log
    loss is smaller by more than a standard error of the paired difference: on small tables the
    simpler model has the steadier weights.

    Attributes
    ----------
    model_ : LogisticSelector or GradientBoostingSelector
        Fitted on all rows.
    """

    def prepare(self, X, rng):
        """Nothing is shared between the folds."""
        return None

    def fit(self, X, s, *, rng=None, shared=None):
        """Fit on rows X, shape (n, d), with labeled or not s, shape (n,)."""
        tried = rng.random(len(s)) < TRIED
        boosting = False
        if min(np.bincount(s[~tried], minlength=2).min(), tried.sum()) >= 20:
            losses = [self._loss(model, X, s, tried, rng) for model in _both(len(s))]
            gain = losses[0] - losses[1]
            boosting = gain.mean() > gain.std() / np.sqrt(len(gain))
        model = _both(len(s))[int(boosting)]
        self.model_ = model.fit(X, s, rng=rng, shared=model.prepare(X, rng))
        self.converged_ = self.model_.converged_
        return self

    @staticmethod
    def _loss(model, X, s, tried, rng):
        shared = model.prepare(X[~tried], rng)
        p = model.fit(X[~tried], s[~tried], rng=rng, shared=shared).predict(X[tried])
        p = np.clip(p, 1e-6, 1 - 1e-6)
        return -np.where(s[tried] == 1, np.log(p), np.log1p(-p))

    def predict(self, X):
        """Uncalibrated p(s = 1 | x), shape (n,)."""
        return self.model_.predict(X)
