"""Gradient boosting of an outcome on typed columns, categories as categories."""

import numpy as np

from counterweight.numerics.boosted_trees import (
    TREES,
    fit_trees,
    raw_and_parts,
    raw_predict,
    trees_to_arrays,
)

KIND = "blanks"
OPTIONS = TREES
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
        model = fit_trees(
            rows.typed(), y, weight, options=vars(self), binary=binary, categorical=rows.is_category
        )
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
