"""Gradient boosting on the labeled rows, weighted where weights are given."""

import numpy as np
from scipy.special import expit

from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.boosted_trees import TREES, fit_trees, raw_predict, trees_to_arrays
from counterweight.numerics.checks import two_class_rows
from counterweight.numerics.options import check_options

OPTIONS = TREES
LABEL = "Gradient boosting"
#: Most places where a feature may be split.
BINS = 64


class BoostedClassifier(BinaryClassifier):
    """Histogram gradient boosting (scikit-learn) of a class, with importance weights.

    Minimises (1/M) sum_i w_i L(f(x_i), y_i) with the log loss over sums of small trees. Trees
    bend where a line cannot, so weights matter less than for `LogisticModel`: where labels are
    missing at random and every kind of row is labeled somewhere, the plain fit goes to the right
    p(y | x), too. Where labels are not missing at random, no weights by features help, and
    beyond the labeled rows trees go on as flat as at their last split.

    Parameters
    ----------
    trees, leaves, least_rows : int
        Number of trees, largest number of leaves of each, least rows in a leaf. A row counts
        once there, whatever its weight.
    learning_rate : float

    Attributes
    ----------
    arrays_ : dict of str to array
        The trees as numbers; see `counterweight.numerics.boosted_trees`.

    References
    ----------
    Friedman (2001), "Greedy function approximation: a gradient boosting machine".
    """

    BLANKS = True
    converged_ = True

    def __init__(self, trees=100, learning_rate=0.1, leaves=15, least_rows=20):
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.least_rows = least_rows

    def fit(self, X, y, sample_weight=None, *, rng=None):
        """Fit; rows of weight 0 are left out. Nothing is drawn by `rng`.

        A value that is missing, NaN, goes to the side of a split where it fits better.

        Raises
        ------
        CounterweightError
            For options, rows, labels or weights that cannot be used, and for one class only.
        """
        check_options(vars(self), OPTIONS)
        X, y, weights = two_class_rows(X, y, sample_weight, "Gradient boosting", blanks=True)
        weights = None if (weights == 1).all() else weights
        model = fit_trees(X, y, weights, options=self.get_params(), bins=BINS)
        self.arrays_ = trees_to_arrays(model)
        return self

    def _positive(self, X):
        return expit(raw_predict(self.arrays_, X))

    def to_arrays(self):
        """Fitted numbers by name."""
        return dict(self.arrays_)

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.arrays_ = dict(arrays)
        model.n_features_in_ = len(np.ravel(arrays["tree_categorical"]))
        return model
