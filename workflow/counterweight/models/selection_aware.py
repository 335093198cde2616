"""Boosted trees of p(y | x, s), with the hidden labels: do labels depend on who is labeled?"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Flag
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.boosted_trees import TREES
from counterweight.numerics.options import check_options

OPTIONS = {
    **TREES,
    "selection": Flag(True, "Whether the trees see s beside x. Labels are missing at random given x where that improves nothing."),
}  # fmt: skip
LABEL = "Boosted trees, {selection}"
VALUE_LABELS = {"selection": {"True": "x and s", "False": "x alone"}}


class SelectionAwareClassifier(BinaryClassifier):
    """p(y | x, s) or p(y | x), from labeled rows and the hidden labels of unlabeled ones.

    Labels are missing at random where y and s are independent given x. So the two fits, alike
    but for s among the features, are a test of it: of new rows, the one that sees s has less log
    loss where p(y | x, s = 1) and p(y | x, s = 0) differ, and no less where they do not. The test
    is as fine as the trees and the number of rows; x is all the features that there are, so what
    is at random given more of them may not be so given these. Only where hidden labels are known
    can it be made: it is an oracle.

    Parameters
    ----------
    trees, learning_rate, leaves, least_rows
        As of `counterweight.models.boosting.BoostedClassifier`.

    Attributes
    ----------
    outcome_ : BoostedClassifier
    """

    UNLABELED = SELECTED = True
    converged_ = True

    def __init__(self, trees=100, learning_rate=0.1, leaves=15, least_rows=20, selection=True):
        self.trees = trees
        self.learning_rate = learning_rate
        self.leaves = leaves
        self.least_rows = least_rows
        self.selection = selection

    def fit(self, X, y, unweighted=None, *, X_unlabeled, y_unlabeled=None, rng=None):
        """Fit on labeled rows (M, d) and unlabeled ones (N, d) with all their labels.

        `unweighted` is None always, since an oracle takes no weights; nothing is drawn by `rng`.
        """
        check_options(vars(self), OPTIONS)
        if y_unlabeled is None:
            raise CounterweightError(
                "The model selection_aware asks hidden labels whether they depend on who is "
                "labeled: set oracle: true."
            )
        options = {key: value for key, value in self.get_params().items() if key != "selection"}
        both, labels = np.concatenate([X, X_unlabeled]), np.r_[y, y_unlabeled]
        s = np.arange(len(both)) < len(X)
        seen = np.column_stack([both, s]) if self.selection else both
        self.outcome_ = BoostedClassifier(**options).fit(seen, labels)
        return self

    def predict_proba(self, X, selected):
        """Class probabilities (n, 2) of rows (n, d) that are labeled or not, 0 or 1 (n,)."""
        return self.outcome_.predict_proba(np.column_stack([X, selected]) if self.selection else X)

    def to_arrays(self):
        """Fitted numbers by name."""
        return self.outcome_.to_arrays() | {"selection": float(self.selection)}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        own = dict(arrays)
        model = cls(selection=bool(own.pop("selection")))
        model.outcome_ = BoostedClassifier.from_arrays(own)
        return model
