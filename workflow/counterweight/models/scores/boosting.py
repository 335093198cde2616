"""Gradient boosting of an outcome on typed columns, categories as categories."""

import numpy as np

from counterweight.numerics.boosted_trees import raw_and_parts, raw_predict, trees_to_arrays

KIND = "blanks"
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
        "default": 15,
        "description": "Largest number of leaves.",
    },
    "least_rows": {
        "type": "integer",
        "minimum": 1,
        "default": 20,
        "description": "Least rows in a leaf.",
    },
}
LABEL = "Gradient boosting"


class BoostedScore:
    """Histogram gradient boosting (scikit-learn) of a class or a number, weighted.

    Missing numbers go to the side that fits better; levels of a category are split by sets.

    Parameters
    ----------
    trees, leaves, least_rows : int
    learning_rate : float

    Attributes
    ----------
    arrays_ : dict of str to array
        The trees as numbers; see `counterweight.numerics.boosted_trees`.
    binary_ : bool
    """

    converged_ = True

    def __init__(self, trees=100, learning_rate=0.1, leaves=15, least_rows=20):
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.least_rows = least_rows

    def fit(self, rows, y, weight=None, *, binary, rng=None):
        """Fit; parameters as `counterweight.models.scores.linear.LinearScore.fit`."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        component = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
        model = component(
            max_iter=self.trees,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.leaves,
            min_samples_leaf=self.least_rows,
            early_stopping=False,
            categorical_features=rows.is_category,
            random_state=0,
        ).fit(rows.typed(), y.astype(int) if binary else y, sample_weight=weight)
        self.binary_, self.arrays_ = bool(binary), trees_to_arrays(model)
        return self

    def predict(self, rows):
        """Chance of 1, or the expected number, (n,)."""
        return self.answers(raw_predict(self.arrays_, rows.typed()))

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        from scipy.special import expit

        return expit(raw) if self.binary_ else raw

    def explained(self, rows):
        """Raw score, its mean, contributions; see `counterweight.models.scores.contributions`."""
        return raw_and_parts(self.arrays_, rows.typed())

    def to_arrays(self):
        """Fitted numbers by name."""
        return dict(self.arrays_) | {"binary": float(self.binary_)}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.binary_ = bool(arrays["binary"])
        model.arrays_ = {
            name: np.asarray(values) for name, values in arrays.items() if name != "binary"
        }
        return model
