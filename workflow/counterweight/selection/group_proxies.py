"""Proxies of groups: what all share; those that predict the group itself, or are told it.

A regression or a decision tree predicts the group of a row from its features, and the
predicted groups are the leaves of the proxy. Nothing limits what such a leaf discloses
about the people in it. Where there are several classes of groups (columns), the joint cell
is predicted, e.g. one race together with one sex.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies:
section 5, proxies (1) and (2).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Integer, Number
from counterweight.numerics.boosted_trees import end_nodes
from counterweight.numerics.checks import check_options
from counterweight.numerics.estimator import Estimator, Parameters, one_column
from counterweight.numerics.geometry import closest
from counterweight.numerics.groups import (
    block_starts,
    checked_memberships,
    checked_target,
    disclosivity,
    group_names,
    leaf_table,
    memberships,
)
from counterweight.tables.parquet import blocks

TASK = "filter"

OPTIONS_BY_NAME = {
    "regression_proxy": {
        "l2": Number(1e-4, "Penalty on standardised coefficients, for each row.", above=0),
        "max_iter": Integer(150, "Most steps of the optimiser (L-BFGS).", minimum=1),
        "tol": Number(1e-6, "Relative gain of the loss in one step at which the optimiser stops.", above=0),
    },
    "tree_proxy": {
        "max_depth": Integer(20, "Most splits between the root and a node.", minimum=1, maximum=30),
        "min_weight_fraction_leaf": Number(0.0, "Least share of the training rows in a node of the tree.", minimum=0, maximum=0.5),
    },
    "own_group": {},
}  # fmt: skip
LABEL_BY_NAME = {"regression_proxy": "regression", "tree_proxy": "tree", "own_group": "own group"}
#: Its rows are memberships of groups in place of features: whoever uses it sees the groups.
SEES_GROUPS_BY_NAME = {"own_group": True}

log = logging.getLogger("counterweight")

#: Distance from the target that counts as reaching it.
REACHED = 1e-6


class Proxy(Estimator, Parameters):
    """Sorts rows into leaves by their features, at one or several settings.

    Subclasses have ``fit(X, y, *, classes, target, rng)`` and ``leaves(X)``, which yields each
    setting with the memberships of the rows; ``settings_``, the names of the settings; and
    ``to_arrays``, ``from_arrays``.
    """

    #: Whether the leaves are predictions of the group, so that nothing limits what they tell.
    predicts_groups = False

    def _begin(self, X, y, classes, options):
        """Memberships (n, K) of training rows as floats, and the number of groups of each class.

        Without `classes` the groups are the labels `y` (n,). Refused where an option is not allowed
        (lists are left to the proxy), or the memberships are none, or not one for each row.
        """
        lists = {name for name, node in options.items() if "array" in node.get("type", ())}
        check_options(
            self.get_params(), {name: options[name] for name in options if name not in lists}
        )
        if y is None:
            raise CounterweightError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the memberships of the rows, or their groups."
            )
        if classes is None:
            if len(y) < 2:
                raise CounterweightError("There is 1 sample: groups are told by two rows at least.")
            words = one_column(y)
            names, _ = group_names([words], ["y"])
            y, classes = memberships([words], names), [len(names[0])]
        Z = checked_memberships(y, classes)
        if len(X) != len(Z):
            raise CounterweightError(
                f"There are {len(X)} rows of features but {len(Z)} of groups: give one for each."
            )
        return Z, [int(k) for k in classes]


def joint_cells(Z, classes):
    """Combinations of groups that occur, (C, K) of 0 and 1, and that of each row, (n,).

    They are ordered by the groups of the first class, then the second ...
    """
    edges = np.append(block_starts(classes), sum(classes))
    codes = np.zeros(len(Z), np.int64)
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        codes = codes * (stop - start) + Z[:, start:stop].argmax(axis=1)
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return Z[first], which


class _AttributeProxy(Proxy):
    """What these proxies share: one setting, deterministic leaves, their description."""

    predicts_groups = True
    settings_ = ("",)
    options_ = {}

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        target: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Learn to predict the groups of rows.

        Parameters
        ----------
        X : array (n, d)
            Finite features.
        y : array (n, K)
            Membership of each row: one 1 for each class; or the groups (n,), where `classes` is
            None.
        classes : sequence of int, optional
            Number of groups of each class.
        target : array (K,), optional
            Only for the description; uniform by default.
        rng : numpy.random.Generator, optional
            Not used: the fit is deterministic.

        Raises
        ------
        CounterweightError
            When an option is not allowed, a feature is not finite, or a group has no row.
        """
        Z, classes = self._begin(X, y, classes, self.options_)
        self.n_features_in_ = X.shape[1]
        facts = self._learn(X, *joint_cells(Z, classes))
        mass, A = leaf_table(self._memberships(X), Z)
        distance = closest(A, checked_target(target, classes))[1]
        self._records = {
            "leaves": float(len(mass)),
            "distance": distance,
            "disclosivity": disclosivity(mass, A, Z.mean(axis=0)),
            **facts,
            "reached": float(distance <= REACHED),
        }
        return self

    def _memberships(self, X):
        return (self.leaf(X)[:, None] == np.arange(len(self.cells_))).astype(float)

    def leaves(self, X: ArrayLike) -> dict:
        """The setting "" with memberships (n, L) of the leaves, 0 and 1, of rows (n, d)."""
        return iter([("", self._memberships(X))])

    def describe(self) -> list[dict]:
        """Facts of the fit, as partial metric records."""
        return [
            {"metric": metric, "setting": "", "value": value}
            for metric, value in self._records.items()
        ]


@dataclass(eq=False, repr=False)
class RegressionProxy(_AttributeProxy):
    """Leaves are the groups that a multinomial logistic regression finds most probable.

    It minimises the mean log loss plus ``l2 / 2 |coef|^2`` on standardised features, with
    free intercepts. Features of one value get the coefficient 0. The optimiser works on
    decorrelated features, with the coefficients of each group scaled by the spread of its
    membership, in which one-hot features and rare groups cost few steps.

    Parameters
    ----------
    l2 : float
    max_iter : int
    tol : float

    Attributes
    ----------
    coef_ : array (d, L)
        In units of 1/feature, of the groups that are predicted for any training row.
    intercept_ : array (L,)
    cells_ : array (L, K)
        Predicted groups of each leaf.
    n_iter_ : int
    converged_ : bool
    """

    options_ = OPTIONS_BY_NAME["regression_proxy"]

    l2: float = 1e-4
    max_iter: int = 150
    tol: float = 1e-6

    def _learn(self, X, cells, which):
        center, scale = X.mean(axis=0), X.std(axis=0)
        constant = (np.ptp(X, axis=0) == 0) | (scale <= 1e-12 * np.abs(center))
        scale = np.where(constant, 1.0, scale)
        standard = np.where(constant, 0.0, (X - center) / scale)
        coef, intercept, self.n_iter_, self.converged_ = _multinomial(
            standard, which, len(cells), self.l2, self.max_iter, self.tol
        )
        if not self.converged_:
            log.warning(
                "The regression of the groups did not converge in %d steps: raise its option "
                "max_iter.",
                self.max_iter,
            )
        coef = np.where(constant[:, None], 0.0, coef / scale[:, None])
        intercept = intercept - center @ coef
        predicted = np.unique((X @ coef + intercept).argmax(axis=1))
        self.coef_, self.intercept_ = coef[:, predicted], intercept[predicted]
        self.cells_ = cells[predicted]
        return {"iterations": float(self.n_iter_), "converged": float(self.converged_)}

    def leaf(self, X):
        """Number of the leaf of each row, (n,): the most probable, the first among equals."""
        return (X @ self.coef_ + self.intercept_).argmax(axis=1)

    def to_arrays(self):
        """The fitted proxy as named arrays."""
        return {"coef": self.coef_, "intercept": self.intercept_, "cells": self.cells_}

    @classmethod
    def from_arrays(cls, arrays, names=None):
        """The inverse of `to_arrays`; `names`, those of the features, is not used."""
        proxy = cls()
        proxy.coef_, proxy.intercept_ = arrays["coef"], arrays["intercept"]
        proxy.cells_ = arrays["cells"]
        proxy.n_features_in_ = len(proxy.coef_)
        return proxy


def _multinomial(X, which, n_cells, l2, max_iter, tol):
    """Multinomial logistic regression on standardised features (n, d), centred.

    Coefficients (d, C), intercepts (C,), steps and whether it converged; `which` (n,) are cells.
    """
    from scipy.linalg import solve_triangular
    from scipy.optimize import minimize

    n, d = X.shape
    if n_cells == 1:
        return np.zeros((d, 1)), np.zeros(1), 0, True
    root = np.linalg.cholesky(X.T @ X / n + l2 * np.eye(d))
    design = np.hstack([solve_triangular(root, X.T, lower=True).T, np.ones((n, 1))])
    share = np.bincount(which, minlength=n_cells) / n
    spread = np.sqrt(share * (1 - share))
    rows = np.arange(n)

    def unscaled(flat):
        return flat.reshape(d + 1, n_cells) / spread

    def loss(flat):
        free = unscaled(flat)
        scores = design @ free
        scores -= scores.max(axis=1, keepdims=True)
        own = scores[rows, which]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        value = (np.log(total) - own).mean()
        scores /= total[:, None]
        scores[rows, which] -= 1.0
        gradient = design.T @ scores / n
        coef = solve_triangular(root, free[:-1], lower=True, trans="T")
        gradient[:-1] += l2 * solve_triangular(root, coef, lower=True)
        return value + l2 / 2 * (coef**2).sum(), (gradient / spread).ravel()

    start = np.zeros((d + 1, n_cells))
    start[-1] = np.log(share) * spread
    options = {"maxiter": int(max_iter), "maxfun": 3 * int(max_iter)}
    options |= {"ftol": tol, "gtol": 1e-5, "maxcor": 20}
    fitted = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    free = unscaled(fitted.x)
    coef = solve_triangular(root, free[:-1], lower=True, trans="T")
    return coef, free[-1], int(fitted.nit), bool(fitted.success)


@dataclass(eq=False, repr=False)
class TreeProxy(_AttributeProxy):
    """Leaves are the groups that a decision tree (Gini, CART) predicts, as in the paper.

    Splits compare features rounded to 32-bit floats with a threshold.

    Parameters
    ----------
    max_depth : int
    min_weight_fraction_leaf : float
        Least share of the training rows in a node.

    Attributes
    ----------
    nodes_ : dict of str to array (nodes,)
        ``feature`` (-1 at an end), ``threshold``, ``left``, ``right`` (numbers of nodes; left
        where feature <= threshold) and ``leaf`` (-1 at a split).
    cells_ : array (L, K)
        Predicted groups of each leaf.
    """

    options_ = OPTIONS_BY_NAME["tree_proxy"]

    max_depth: int = 20
    min_weight_fraction_leaf: float = 0.0

    def _learn(self, X, cells, which):
        from sklearn.tree import DecisionTreeClassifier

        least = max(1, int(np.ceil(self.min_weight_fraction_leaf * len(X))))
        model = DecisionTreeClassifier(
            max_depth=self.max_depth, min_samples_leaf=least, random_state=0
        ).fit(X, which)
        tree = model.tree_
        ends = tree.children_left < 0
        predicted = tree.value[:, 0].argmax(axis=1)
        leaf = np.full(tree.node_count, -1)
        used, leaf[ends] = np.unique(predicted[ends], return_inverse=True)
        self.cells_ = cells[used]
        self.nodes_ = {
            "feature": np.where(ends, -1, tree.feature),
            "threshold": np.where(ends, 0.0, tree.threshold),
            "left": np.where(ends, -1, tree.children_left),
            "right": np.where(ends, -1, tree.children_right),
            "leaf": leaf,
        }
        return {"height": float(tree.max_depth), "splits": float((~ends).sum())}

    def leaf(self, X):
        """Number of the leaf of each row, (n,)."""
        told = (self.nodes_[name] for name in ("feature", "threshold", "left", "right"))
        return self.nodes_["leaf"][end_nodes(np.asarray(X).astype(np.float32), *told)]

    def to_arrays(self):
        """The fitted proxy as named arrays."""
        return self.nodes_ | {"cells": self.cells_, "features": np.array(self.n_features_in_)}

    @classmethod
    def from_arrays(cls, arrays, names=None):
        """The inverse of `to_arrays`; `names`, those of the features, is not used."""
        proxy = cls()
        proxy.nodes_ = {
            name: arrays[name] if name == "threshold" else arrays[name].astype(np.int64)
            for name in ("feature", "threshold", "left", "right", "leaf")
        }
        proxy.cells_, proxy.n_features_in_ = arrays["cells"], int(arrays["features"])
        return proxy


class OwnGroupProxy(_AttributeProxy):
    """Leaves are the groups themselves (with several columns: their combinations).

    It can only be used where everybody's group is known, so no filter is made of it. What it
    reaches is what not seeing the groups costs at least. In place of features it has memberships
    (n, K); those of a combination that no training row has are 0 in every leaf.

    Attributes
    ----------
    cells_ : array (L, K) of 0/1
        Combinations of groups that training rows have.
    """

    sees_groups = True

    def _learn(self, X, cells, which):
        self.cells_ = cells
        return {}

    def _memberships(self, X):
        return (np.asarray(X, float) @ self.cells_.T == self.cells_.sum(axis=1)).astype(float)

    def to_arrays(self):
        """The fitted proxy as named arrays."""
        return {"cells": self.cells_}

    @classmethod
    def from_arrays(cls, arrays, names=None):
        """The inverse of `to_arrays`; `names`, those of the features, is not used."""
        proxy = cls()
        proxy.cells_ = arrays["cells"]
        return proxy


def setting_of(name, value):
    """Name of a setting in files, such as ``alpha=0.05``."""
    return f"{name}={round(float(value), 10):g}"


class LeafTable(NamedTuple):
    """The leaves of one fitted proxy at one setting.

    Mass (L,), shares (L, K) of the groups, names of the K groups, and the number of each class.
    """

    repeat: int
    setting: str
    mass: np.ndarray
    shares: np.ndarray
    groups: list
    sizes: list


def leaf_columns(repeat, setting, mass, A, groups, classes, sizes):
    """Leaves of a proxy, masses (L,) and shares (L, K), as the columns (L K,) of `leaf_tables`.

    `groups` names the K groups, `classes` the sensitive columns, `sizes` counts the groups of each.
    """
    leaves, rows = len(mass), len(mass) * len(groups)
    return {
        "repeat": np.full(rows, repeat, "int16"),
        "setting": np.full(rows, setting, object),
        "leaf": np.repeat(np.arange(leaves, dtype="int16"), len(groups)),
        "group": np.tile(np.array(groups, object), leaves),
        "mass": np.repeat(mass, len(groups)),
        "share": np.asarray(A, dtype=float).ravel(),
        "class": np.tile(np.repeat(np.array(classes, object), sizes), leaves),
    }


def leaf_tables(columns):
    """Each `LeafTable` by repeat and setting, from the columns that `leaf_columns` wrote."""
    for part in blocks(columns, "repeat", "setting"):
        leaf = columns["leaf"][part]
        many = int((leaf == leaf[0]).sum())
        first = slice(part.start, part.start + many)
        owner = columns["class"][first]
        edges = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        yield LeafTable(
            int(columns["repeat"][part.start]),
            str(columns["setting"][part.start]),
            columns["mass"][part][::many],
            columns["share"][part].reshape(-1, many),
            [str(group) for group in columns["group"][first]],
            np.diff(edges, prepend=-1).tolist(),
        )


def reach_sentence(settings, distances, reached, least=None):
    """Which settings of a proxy bring the target within reach, and how far the others are.

    `distances` are from the target to the nearest point that the leaves allow; `least` is the
    smallest alpha at which any filter could reach it, max |U - r|.
    """
    beyond = "" if least is None else f" (no filter can whose alpha is below {least:.3f})"
    far = {}
    for setting, distance, near in zip(settings, distances, reached, strict=True):
        if not near and f"{distance:.3f}" not in far:
            far[f"{distance:.3f}"] = setting
    if not far:
        return "the target is within reach"
    if list(settings) == [""]:
        return f"the target is out of reach, at the distance {next(iter(far))}{beyond}"
    steps = listed([f"{distance} from {setting}" for distance, setting in far.items()], 30)
    first = next((s for s, near in zip(settings, reached, strict=True) if near), None)
    end = f"; {first} is the first to reach it" if first else "; no setting reaches it"
    return f"distance to the target: {steps}{end}{'' if first else beyond}"
