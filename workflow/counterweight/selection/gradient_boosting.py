"""Selection model: gradient-boosted trees."""

from sklearn.base import BaseEstimator

from counterweight.fragments import Integer
from counterweight.numerics.boosted_trees import TREES, fit_trees
from counterweight.numerics.estimator import NamedColumns

OPTIONS = {
    **TREES,
    "leaves": Integer(31, "Largest number of leaves.", minimum=2),
}  # fmt: skip
LABEL = "gradient boosting"


class GradientBoostingSelector(NamedColumns, BaseEstimator):
    """p(s = 1 | x) by histogram gradient boosting (scikit-learn).

    Parameters
    ----------
    trees : int
    learning_rate : float
    leaves : int
    least_rows : int
    """

    def __init__(self, trees=100, learning_rate=0.1, leaves=31, least_rows=20):
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.least_rows = least_rows

    def prepare(self, X, rng):
        """Nothing is shared between the folds."""
        return None

    def fit(self, X, s, *, rng=None, shared=None):
        """Fit on rows X, shape (n, d), with labeled or not s, shape (n,)."""
        self.converged_ = True
        self.model_ = fit_trees(X, s, options=self.get_params())
        return self

    def predict(self, X):
        """Uncalibrated p(s = 1 | x), shape (n,)."""
        return self.model_.predict_proba(X)[:, 1]
