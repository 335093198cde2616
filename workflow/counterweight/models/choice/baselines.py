"""Plain classifiers of the answer by features and offer, which segments are held against."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Flag, Integer, Number
from counterweight.models.choice.offer_model import OfferModel, checked_offers
from counterweight.models.logistic import LogisticModel
from counterweight.numerics.boosted_trees import end_nodes
from counterweight.numerics.linear import fit_logistic

log = logging.getLogger("counterweight")

TASK = "offers"
ROLE = "peer"
ORACLE_OPTIONS = {
    "per_component": Flag(False, "One model for each true component (an oracle: it must be told the component of the rows that it predicts)."),
}  # fmt: skip
BASELINE_OPTIONS = {
    "interactions": Flag(False, "Whether the products of each feature with the offer are features too."),
    **ORACLE_OPTIONS,
}  # fmt: skip
OPTIONS_BY_NAME = {
    "offer_logistic": {
        **BASELINE_OPTIONS,
        "l2": Number(
            1e-6,
            "Penalty on standardised coefficients, for each row; 0 for none, null: chosen by approximate leave-one-out.",
            minimum=0,
            null=True,
        ),
    },
    "offer_naive_bayes": ORACLE_OPTIONS,
    "offer_tree": {
        "min_samples_leaf": Integer(20, "Least training rows of a leaf.", minimum=1),
        **ORACLE_OPTIONS,
    },
}
LABEL_BY_NAME = {
    "offer_logistic": "Logistic regression",
    "offer_naive_bayes": "Naive Bayes",
    "offer_tree": "Classification tree",
}
VALUE_LABELS = {
    "interactions": {True: "with interactions"},
    "per_component": {True: "by component"},
}
#: Rows, at most, that choose a penalty.
ASKED_ROWS = 20_000
#: Least variance of naive Bayes, as a share of the largest of a column.
FLOOR = 1e-9


def some_rows(rows, most, rng):
    """All rows, or so many at random, in their order."""
    return slice(None) if rows <= most else np.sort(rng.choice(rows, most, replace=False))


class OfferDesign:
    """Columns that the baselines see: features, offer, perhaps their products.

    A missing value becomes the mean of the training rows, ``fill_`` (d,), 0 where there is none,
    and each feature with a missing value in training, ``marked_``, gets a column that is 1 where it
    is missing. ``cells_filled_`` counts missing values of training.
    """

    def __init__(self, interactions=False):
        self.interactions = interactions

    def fit(self, X):
        """Learn the means that stand for missing values."""
        missing = np.isnan(X)
        self.cells_filled_ = int(missing.sum())
        known = np.maximum((~missing).sum(axis=0), 1)
        self.fill_ = np.where(missing, 0.0, X).sum(axis=0) / known
        self.marked_ = np.flatnonzero(missing.any(axis=0))
        return self

    def columns(self, X, t):
        """Design matrix (n, p): features, marks, offer, products."""
        X = np.asarray(X, dtype=float)
        missing, t = np.isnan(X), checked_offers(t, len(X))
        features = np.hstack(
            [np.where(missing, self.fill_, X), missing[:, self.marked_].astype(float)]
        )
        products = features * t[:, None] if self.interactions else np.empty((len(X), 0))
        return np.column_stack([features, t, products])


@dataclass(eq=False, repr=False)
class OfferBaseline(OfferModel):
    """What the baselines share: the design, one model or one for each component, storage.

    A subclass gives ``_fit(Z, y, rng)``, the arrays of one model, and their names, ``STORED``.
    Where the log-odds are not linear, it also gives ``_constant(log_odds, p)``, the arrays of a
    model with one probability, and ``_probability(arrays, Z)``. Where all answers of a model's rows
    are alike there is nothing to learn from; it then gives (accepted + 1/2) / (rows + 1) to
    everyone, and is counted in ``one_answer_models_``.
    """

    interactions: bool = False
    per_component: bool = False
    random_state: int = field(default=0, kw_only=True)

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        t: ArrayLike | None = None,
        *,
        component: int | None = None,
        rng: np.random.Generator | None = None,
        categories: dict | None = None,
    ) -> Self:
        """Fit.

        Parameters
        ----------
        X : array (n, d)
            NaN for missing values.
        y : array (n,) of two classes
        t : array (n,), optional
            Scaled offers in [0, 1]; the last column of X without them, see `OfferModel`.
        component : array (n,) of int, optional
            True component; needed by, and only by, an oracle (`per_component`).
        rng : numpy.random.Generator, optional
            In place of one by `random_state`.
        categories : counterweight.numerics.emissions.Layout, optional
            Which columns make up a category, for a class that asks for it (``CATEGORIES``).
        """
        X, t = self._parted(X, t, fitting=True)
        self.design_ = self._designed(X, categories)
        Z = self.design_.columns(X, t)
        self.share_accepted_ = (y.sum() + 0.5) / (len(y) + 1)
        groups = self._groups(component, len(Z))
        self.components_ = np.unique(groups)
        self.models_, self.one_answer_models_, self.rows_unseen_component_ = [], 0, 0
        for group in self.components_:
            rows = groups == group
            accepted, count = int(y[rows].sum()), int(rows.sum())
            if accepted in (0, count):
                self.one_answer_models_ += 1
                p = (accepted + 0.5) / (count + 1)
                self.models_.append(self._constant(np.log(p) - np.log1p(-p), Z.shape[1]))
            else:
                self.models_.append(self._fit(Z[rows], y[rows], rng))
        if self.one_answer_models_:
            log.warning(
                "%d of %d models saw one kind of answer only: each gives one probability to all.",
                self.one_answer_models_,
                len(self.models_),
            )
        return self

    def predict_acceptance(
        self, X: ArrayLike, t: ArrayLike | None = None, component: int | None = None
    ) -> np.ndarray:
        """p(accept | x, offer), (n,).

        An oracle is told the true `component` (n,) of these rows. Rows of one that had no training
        row get the overall share of accepted offers; their number is ``rows_unseen_component_``.
        """
        Z = self.design_.columns(*self._parted(X, t))
        groups = self._groups(component, len(Z))
        p = np.full(len(Z), self.share_accepted_)
        unseen = np.ones(len(Z), bool)
        for group, arrays in zip(self.components_, self.models_, strict=True):
            rows = groups == group
            unseen &= ~rows
            if rows.any():
                p[rows] = self._probability(arrays, Z if rows.all() else Z[rows])
        self.rows_unseen_component_ = int(unseen.sum())
        return p

    def _designed(self, X, categories):
        """The design of the features; only a class with ``CATEGORIES`` is told categories."""
        return OfferDesign(self.interactions).fit(X)

    def _groups(self, component, rows):
        if not self.per_component:
            return np.full(rows, -1)
        if component is None:
            raise CounterweightError(
                "per_component trains one model for each true component, which this data set does "
                "not know: set it to false, or use a simulated data set."
            )
        component = np.asarray(component)
        if component.shape != (rows,):
            raise CounterweightError(
                f"There are {rows} rows but components of shape {component.shape}."
            )
        return component.astype(int)

    def _constant(self, log_odds, p):
        return {"coef": np.zeros(p), "intercept": log_odds, "iterations": 0}

    def _probability(self, arrays, Z):
        return expit(Z @ arrays["coef"] + arrays["intercept"])

    def to_arrays(self):
        """Fitted numbers by name: those of the models stacked, and of the design."""
        return {
            **self._stacked(self.models_),
            "components": self.components_,
            "fill": self.design_.fill_,
            "marked": np.append(self.design_.marked_, -1),
            "interactions": float(self.design_.interactions),
            "share_accepted": self.share_accepted_,
            "cells_filled": self.design_.cells_filled_,
            "one_answer_models": self.one_answer_models_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        model = cls(interactions=bool(arrays["interactions"]))
        model.components_ = np.atleast_1d(arrays["components"]).astype(int)
        model.per_component = bool((model.components_ >= 0).any())
        design = model.design_ = OfferDesign(model.interactions)
        design.fill_ = np.atleast_1d(np.asarray(arrays["fill"], dtype=float))
        design.marked_ = np.asarray(arrays["marked"])[:-1].astype(int)
        design.cells_filled_ = int(arrays["cells_filled"])
        model.n_features_in_ = len(design.fill_)
        model.share_accepted_ = float(arrays["share_accepted"])
        model.one_answer_models_ = int(arrays["one_answer_models"])
        model.models_ = model._unstacked(arrays, len(model.components_))
        return model

    def _stacked(self, models):
        return {name: np.array([arrays[name] for arrays in models]) for name in models[0]}

    def _unstacked(self, arrays, count):
        names = [name for name in self.STORED if name in arrays]
        return [{name: arrays[name][m] for name in names} for m in range(count)]


@dataclass(eq=False, repr=False)
class OfferLogistic(OfferBaseline):
    """Logistic regression of the answer on features and offer: the plainest baseline.

    ``log p / (1 - p) = a + b'x + k t``, with interactions ``+ c'x t``. Without them every
    person's curve has the same slope; with them the slope is linear in x. Both assume
    log-odds that are linear in the features, which segments break. No constraint keeps the
    slope in t from being negative. `l2` is of `linear.fit_logistic`, or None: then it is chosen as
    `LogisticModel` does, and is a normal prior by which the fit has a posterior (`precision`).

    Attributes
    ----------
    models_ : list of dict
        ``coef`` (p,), ``intercept``, ``iterations``, ``converged`` of each model; ``ridge`` (p,)
        where the penalty was chosen: the prior precision of each coefficient.
    components_ : ndarray of int
        Component of each model; -1 for one model of all rows.
    """

    STORED = ("coef", "intercept", "iterations", "converged", "ridge")

    l2: float | None = 1e-6

    def _fit(self, Z, y, rng):
        l2, more = self.l2, {}
        if l2 is None:
            asked = some_rows(len(Z), ASKED_ROWS, rng)
            l2 = LogisticModel(l2=None).settled(Z[asked], y[asked])["l2"] / len(Z)
            more = {"ridge": l2 * len(Z) * Z.var(axis=0)}
        coef, intercept, iterations, converged = fit_logistic(Z, y, l2=l2)
        found = {"coef": coef, "intercept": intercept, "iterations": iterations}
        return found | {"converged": float(converged)} | more

    def precision(self):
        """Prior precision of each coefficient (p,); None where the penalty was given."""
        return self.models_[0].get("ridge")

    def refitted(self, Z, y, times):
        """``coef, intercept`` of the same model on rows of the design taken so many times."""
        return fit_logistic(Z, y, times, l2=self.l2)[:2]

    def _constant(self, log_odds, p):
        more = {} if self.l2 is not None else {"ridge": np.full(p, np.inf)}
        return super()._constant(log_odds, p) | {"converged": 1.0} | more


@dataclass(eq=False, repr=False)
class OfferNaiveBayes(OfferBaseline):
    """Gaussian naive Bayes of the answer by features and offer.

    Columns are independent and normal given the answer, the offer among them, so that log-odds are
    quadratic in each. Where columns go together, as merit and aid do, evidence counts twice.
    ``models_`` have ``linear`` (p,), ``square`` (p,), ``constant``: the log-odds of each model.
    """

    STORED = ("linear", "square", "constant")

    def _fit(self, Z, y, rng):
        least = FLOOR * Z.var(axis=0).max()
        terms = []
        for rows in (Z[y == 1], Z[y == 0]):
            mean, variance = rows.mean(axis=0), rows.var(axis=0) + least
            whole = np.log(len(rows)) - 0.5 * (np.log(variance) + mean**2 / variance).sum()
            terms.append((mean / variance, -0.5 / variance, whole))
        yes, no = terms
        return {name: one - other for name, one, other in zip(self.STORED, yes, no, strict=True)}

    def _constant(self, log_odds, p):
        return {"linear": np.zeros(p), "square": np.zeros(p), "constant": log_odds}

    def _probability(self, arrays, Z):
        return expit(Z @ arrays["linear"] + Z**2 @ arrays["square"] + arrays["constant"])


class NodeTables:
    """Baselines whose models are trees: tables of nodes, ``NODES`` with their types, by root first.

    A row goes ``left`` where its ``column`` is at most the ``threshold``; a leaf has column -1.
    ``COUNTS`` are numbers of a whole tree.
    """

    NODES, COUNTS = {"column": int, "threshold": float, "left": int, "right": int}, ()

    @staticmethod
    def _ends(arrays, Z):
        """The leaf that each row falls into, (n,)."""
        return end_nodes(Z, *(arrays[name] for name in ("column", "threshold", "left", "right")))

    def _stacked(self, models):
        together = {name: np.concatenate([one[name] for one in models]) for name in self.NODES}
        counts = {name: np.array([one[name] for one in models]) for name in self.COUNTS}
        return together | counts | {"nodes": np.array([len(one["column"]) for one in models])}

    def _unstacked(self, arrays, count):
        ends = np.cumsum(np.atleast_1d(arrays["nodes"]).astype(int))[:-1]
        parts = {
            name: np.split(arrays[name].astype(kind), ends) for name, kind in self.NODES.items()
        }
        parts |= {name: np.asarray(arrays[name], int) for name in self.COUNTS}
        return [{name: values[m] for name, values in parts.items()} for m in range(count)]


@dataclass(eq=False, repr=False)
class OfferTree(NodeTables, OfferBaseline):
    """Classification tree (CART, by entropy) of the answer by features and offer.

    A leaf gives (accepted + 1/2) / (rows + 1). Curves are steps, and may fall where they should
    rise. ``models_`` have by node ``column`` (-1 for a leaf), ``threshold``, ``left``, ``right``,
    ``chance``.
    """

    NODES = NodeTables.NODES | {"chance": float}

    min_samples_leaf: int = 20

    def _fit(self, Z, y, rng):
        from sklearn.tree import DecisionTreeClassifier

        asked = {"criterion": "entropy", "min_samples_leaf": self.min_samples_leaf}
        grown = DecisionTreeClassifier(**asked, random_state=int(rng.integers(2**31))).fit(Z, y)
        leaf, tree = grown.apply(Z), grown.tree_
        rows, yes = (np.bincount(leaf, w, minlength=tree.node_count) for w in (None, y))
        return {
            "column": np.where(tree.children_left < 0, -1, tree.feature),
            "threshold": tree.threshold,
            "left": tree.children_left,
            "right": tree.children_right,
            "chance": (yes + 0.5) / (rows + 1),
        }

    def _constant(self, log_odds, p):
        own = {name: np.full(1, -1) for name in ("column", "left", "right")}
        return own | {"threshold": np.zeros(1), "chance": np.full(1, expit(log_odds))}

    def _probability(self, arrays, Z):
        # The tree cuts numbers of single precision.
        return arrays["chance"][self._ends(arrays, Z.astype(np.float32))]
