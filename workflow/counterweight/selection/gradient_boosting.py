"""Selection model: gradient-boosted trees."""

from sklearn.base import BaseEstimator

OPTIONS = {
    "trees": {"type": "integer", "minimum": 1, "default": 100, "description": "Number of trees."},
    "learning_rate": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": 1,
        "default": 0.1,
        "description": "Shrinkage of each tree.",
    },
    "leaves": {
        "type": "integer",
        "minimum": 2,
        "default": 31,
        "description": "Largest number of leaves.",
    },
}
LABEL = "gradient boosting"


class GradientBoostingSelector(BaseEstimator):
    """p(s = 1 | x) by histogram gradient boosting (scikit-learn).

    Parameters
    ----------
    trees : int
    learning_rate : float
    leaves : int
    """

    def __init__(self, trees=100, learning_rate=0.1, leaves=31):
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves

    def prepare(self, X, rng):
        """Nothing is shared between the folds."""
        return None

    def fit(self, X, s, *, rng=None, shared=None):
        """Fit on rows X, shape (n, d), with labeled or not s, shape (n,)."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.converged_ = True
        self.model_ = HistGradientBoostingClassifier(
            max_iter=self.trees,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.leaves,
            early_stopping=False,
            random_state=0,
        ).fit(X, s)
        return self

    def predict(self, X):
        """Uncalibrated p(s = 1 | x), shape (n,)."""
        return self.model_.predict_proba(X)[:, 1]
