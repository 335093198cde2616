"""Gradient boosting of a class or a number; with hidden labels, whether they go by the labeled."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin

from counterweight.errors import CounterweightError
from counterweight.fragments import Flag, Integer
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.boosted_trees import (
    TREES,
    fit_trees,
    raw_and_parts,
    raw_predict,
    trees_to_arrays,
)
from counterweight.numerics.checks import check_options, two_class_rows
from counterweight.numerics.estimator import Estimator
from counterweight.numerics.linear import FOLD_ROWS

#: Of the models that learn from one table, not from two.
BOOSTING = {
    **TREES,
    "max_iter": Integer(100, "Number of trees; null: chosen by cross-validation in a table with blanks, else 100.", minimum=1, null=True),
    "max_leaf_nodes": Integer(15, "Largest number of leaves; null: chosen likewise, else 15.", minimum=2, null=True),
    "max_bins": Integer(64, "Most places where a feature may be split.", minimum=2, maximum=255),
}  # fmt: skip
OPTIONS_BY_NAME = {
    "gradient_boosting": BOOSTING,
    "selection_aware": {
        **TREES,
        "selection": Flag(True, "Whether the trees see s beside x. Labels are missing at random given x where that improves nothing."),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "gradient_boosting": "Gradient boosting",
    "selection_aware": "Boosted trees, {selection}",
}
VALUE_LABELS = {"selection": {"True": "x and s", "False": "x alone"}}


#: Numbers of trees, and of leaves of each by rows, among which cross-validation chooses.
SIZES = (10, 20, 30, 50, 75, 100, 150, 200)
FEW_ROWS, FEW_LEAVES, MANY_LEAVES = 5000, (4, 16), (16, 31)


@dataclass(eq=False, repr=False)
class _Boosted:
    """What boosted trees of a class and of a number share."""

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 15
    min_samples_leaf: int = 20
    max_bins: int = 64

    #: Missing values are taken, and categories as codes.
    BLANKS = TYPED = converged_ = True
    #: Fits of fewer trees are the beginning of one of more: see `along`.
    PATH = "max_iter"
    #: Most rows of a table with blanks that a fit learns from.
    MOST_ROWS = FOLD_ROWS
    #: What stands for options that are null and not chosen.
    MIDDLING = {"max_iter": 100, "max_leaf_nodes": 15}

    @staticmethod
    def choices(rows):
        """Values of options that are null, by the number of rows of a fit."""
        leaves = FEW_LEAVES if rows < FEW_ROWS else MANY_LEAVES
        return {"max_leaf_nodes": leaves, "max_iter": SIZES}

    def along(self, X, sizes):
        """Answers (S, n) of the first so many trees, ascending: what fits of so many would say."""
        tree, told = self.arrays_["tree_nodes"][:, 0], dict(self.arrays_)
        scores, begun = [], 0
        for size in sizes:
            part = (tree >= begun) & (tree < size)
            told["tree_nodes"], told["tree_rows"] = (
                self.arrays_[name][part] for name in ("tree_nodes", "tree_rows")
            )
            told["tree_nodes"] = told["tree_nodes"] - np.eye(1, 8, 0) * begun
            told["tree_baseline"] = self.arrays_["tree_baseline"] if begun == 0 else np.array(0.0)
            scores.append(raw_predict(told, X))
            begun = size
        return self.answers(np.cumsum(scores, axis=0))

    def shortened(self, size: int) -> Self:
        """The fit of the first so many trees."""
        model, some = copy.copy(self), self.arrays_["tree_nodes"][:, 0] < size
        model.arrays_ = dict(self.arrays_)
        for name in ("tree_nodes", "tree_rows"):
            model.arrays_[name] = self.arrays_[name][some]
        model.max_iter, model.n_iter_, model._kept = size, min(size, self.n_iter_), {}
        return model

    def _grown(self, X, y, weight, categorical, binary):
        options = self.get_params()
        options |= {name: v for name, v in self.MIDDLING.items() if options[name] is None}
        told = {"binary": binary, "categorical": categorical, "bins": options.pop("max_bins")}
        # A table with categories is fitted many times over: its weights do not move the bins.
        told["weigh_bins"] = categorical is None
        model = fit_trees(X, y, weight, options=options, **told)
        self.n_iter_, self.arrays_ = model.n_iter_, trees_to_arrays(model)
        self._kept = {}
        return self

    def raw(self, X):
        """Log odds, or the expected number, (n,)."""
        return raw_predict(self.arrays_, X, self._kept)

    def answers(self, raw):
        """The chance of 1, or the expected number, of raw scores."""
        return expit(raw) if hasattr(self, "predict_proba") else raw

    def contributions(self, X: ArrayLike) -> np.ndarray:
        """Raw score (n,), its mean over the rows of the fit, additions of features (n, d)."""
        return raw_and_parts(self.arrays_, X, self._kept)

    def to_arrays(self):
        """Fitted numbers by name."""
        return dict(self.arrays_)

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls()
        model.arrays_ = {name: np.asarray(values) for name, values in arrays.items()}
        model._kept = {}
        model.n_features_in_ = len(np.ravel(arrays["tree_categorical"]))
        return model


class BoostedRegressor(_Boosted, Estimator, RegressorMixin, BaseEstimator):
    """Gradient boosting of a number: the sibling of `BoostedClassifier`, with its parameters."""

    LABELS = "numbers"

    def fit(self, X, y, sample_weight=None, *, rng=None, categorical=None):
        """Fit; parameters as those of `BoostedClassifier.fit`."""
        return self._grown(X, y, sample_weight, categorical, binary=False)

    def predict(self, X):
        """The expected number, (n,)."""
        return self.raw(X)


class BoostedClassifier(_Boosted, BinaryClassifier):
    """Histogram gradient boosting (scikit-learn) of a class, with importance weights.

    Minimises (1/M) sum_i w_i L(f(x_i), y_i) with the log loss over sums of small trees. Trees
    bend where a line cannot, so weights matter less than for `LogisticModel`: where labels are
    missing at random and every kind of row is labeled somewhere, the plain fit goes to the right
    p(y | x), too. Where labels are not missing at random, no weights by features help, and
    beyond the labeled rows trees go on as flat as at their last split.

    Parameters
    ----------
    max_iter, max_leaf_nodes, min_samples_leaf : int
        Number of trees, largest number of leaves of each, least rows in a leaf. A row counts
        once there, whatever its weight.
    learning_rate : float
    max_bins : int
        Most places where a feature may be split.

    Attributes
    ----------
    arrays_ : dict of str to array
        The trees as numbers; see `counterweight.numerics.boosted_trees`.
    n_iter_ : int
        Number of trees.

    References
    ----------
    Friedman (2001), "Greedy function approximation: a gradient boosting machine".
    """

    #: What learns a number in its place.
    NUMBERS = BoostedRegressor

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        rng: np.random.Generator | None = None,
        categorical: ArrayLike | None = None,
    ) -> Self:
        """Fit; rows of weight 0 are left out. Nothing is drawn by `rng`.

        A value that is missing, NaN, goes to the side of a split where it fits better. Features
        that are codes of categories, those where `categorical` (d,) holds, are split by sets.

        Raises
        ------
        CounterweightError
            For options, rows, labels or weights that cannot be used, and for one class only.
        """
        check_options(vars(self), BOOSTING)
        rows, labels, weights = two_class_rows(
            X, y, sample_weight, "Gradient boosting", blanks=True
        )
        if categorical is not None:  # the weights of a typed table are those of its target
            rows, labels, weights = X, y, sample_weight
        elif (weights == 1).all():
            weights = None
        return self._grown(rows, labels, weights, categorical, binary=True)

    def _positive(self, X):
        return expit(self.raw(X))


@dataclass(eq=False, repr=False)
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
    max_iter, learning_rate, max_leaf_nodes, min_samples_leaf
        As of `counterweight.models.boosting.BoostedClassifier`.

    Attributes
    ----------
    outcome_ : BoostedClassifier
    """

    UNLABELED = SELECTED = True
    converged_ = True

    max_iter: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 15
    min_samples_leaf: int = 20
    selection: bool = True

    def fit(self, X, y, unweighted=None, *, X_unlabeled, y_unlabeled=None, rng=None):
        """Fit on labeled rows (M, d) and unlabeled ones (N, d) with all their labels.

        `unweighted` is None always, since an oracle takes no weights; nothing is drawn by `rng`.
        """
        check_options(vars(self), OPTIONS_BY_NAME["selection_aware"])
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
