"""The (alpha, beta)-proxy of Deng et al. (2023): a tree of splits for each alpha."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Integer, Number
from counterweight.numerics.geometry import closest
from counterweight.numerics.groups import checked_target, disclosivity, leaf_table
from counterweight.selection import split_growth
from counterweight.selection.group_proxies import Proxy, setting_of
from counterweight.selection.split_game import Design
from counterweight.selection.split_growth import Search, counterexample, step_records, steps

TASK = "filter"
#: What a preset stands for; an option that is given comes before it. The least drop of
#: `regularised` was chosen among .005, .01, .02, .03 and .05 on thirds held out within training
#: rows: the smaller ones gain in sample and lose on the rows held out (Adult at alpha .2: .60 to
#: .55), where they end in samples of hardly any rows.
PRESETS = {
    "paper": {"min_decrease": None, "min_weight_fraction_leaf": 0.0, "tol": 0.1},
    "deep": {"min_decrease": 0.005, "min_weight_fraction_leaf": 0.0, "tol": 0.002},
    "regularised": {"min_decrease": 0.05, "min_weight_fraction_leaf": 0.01, "tol": 0.002},
}

OPTIONS = {
    "alphas": Array([0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0],
        "Disclosivity budgets: how far a leaf's share of a group may be from the group's base share. One tree each.",
        items={"type": "number", "minimum": 0, "maximum": 1}, minItems=1, uniqueItems=True),
    "preset": Choice("regularised", ["paper", "deep", "regularised"],
        "Stopping rule: paper (each split shrinks the distance by the factor 1 - gamma, stop below .1), deep (small "
        "drops accepted), regularised (leaves of at least 1 % of the rows, each split shrinks the distance by 5 %). "
        "Sets min_decrease, min_weight_fraction_leaf and tol where they are null."),
    "hull": Choice("convex", ["convex", "cone"],
        "Distance that splits shrink: to the convex hull of the leaves, or to their cone (the relaxed variant, leaf "
        "weights need not sum to 1)."),
    "splits": Choice("randomised", ["randomised", "thresholded"],
        "A row goes to a side with a probability, or always to the same one (deterministic trees; fewer splits keep "
        "within alpha)."),
    "gamma": Number(0.1, "Least relative drop of the distance by a split in the preset paper.", above=0, below=1),
    "max_depth": Integer(20, "Most splits from the root to a leaf.", minimum=0),
    "max_leaf_nodes": Integer(40, "Most leaves of a tree.", minimum=1),
    "tol": Number(None, "A tree grows until the distance to the target is at most this; the target then counts as reached.", minimum=0, null=True),
    "min_decrease": Number(None, "Least relative drop of the distance by a split.", minimum=0, maximum=1, null=True),
    "min_weight_fraction_leaf": Number(None, "Least share of the training rows in a leaf; 0 for one row.", minimum=0, maximum=0.5, null=True),
    "min_samples_leaf": Integer(1, "Least training rows in a leaf, where that is more than the share.", minimum=1),
    "thresholds": Integer(5, "Levels Q of the split objective that are tried in each leaf.", minimum=1),
    "rounds": Integer(8, "Most rounds of the game between Learner and Auditor at each level.", minimum=1),
    "epsilon": Number(1e-4, "The search of a split ends when a further hypothesis would gain less than this share of the distance.", minimum=0),
    "l2": Number(1e-6, "Ridge penalty of the oracle's regressions on standardised features, per unit of weight.", minimum=0),
    "target": Array(None, "Shares to aim at, in the order of the groups; null for equal shares.", items={"type": "number", "minimum": 0}, null=True),
    "hypotheses": Choice("linear", ["linear", "stumps", "trees"],
        "What splits are mixed of: half-spaces by regressions of the groups, stumps (one feature against a cut), or "
        "shallow trees."),
    "hypothesis_depth": Integer(2, "Depth of the shallow trees that splits are mixed of.", minimum=1, maximum=5),
    "solver": Choice("program", ["program", "printed"],
        "Who mixes a split: linear programs over the hypotheses that a short game plays, or Algorithm 3 as printed "
        "(the mean of so many rounds, then repaired with an even chance to keep alpha), which needs some hundred rounds."),
}  # fmt: skip


LABEL = "(α,β)-proxy"
VALUE_LABELS = {
    "hull": {"cone": "relaxed"},
    "preset": {"deep": "deep", "paper": "the paper's stop rule"},
    "splits": {"thresholded": "thresholded splits"},
    "solver": {"printed": "Algorithm 3 as printed"},
    "hypotheses": {"stumps": "stumps", "trees": "shallow trees"},
}


@dataclass(eq=False, repr=False)
class SplitTreeProxy(Proxy):
    """Trees that bring a balanced sample within reach and are alpha-disclosive.

    Each tree starts as one leaf. Leaves are split, by the mixture of linear rules that brings
    the hull of the leaves' group shares closest to the target, as long as all children's
    shares stay within alpha of the base shares of the training rows. That bound holds in
    sample; on new rows a leaf of few rows may exceed it (Theorem 3 of the paper), which is
    what `min_weight_fraction_leaf` is for. A tree for one alpha is valid for every larger one, so
    along the grid a tree is only replaced by one that comes closer.

    Parameters
    ----------
    alphas : sequence of float
        Disclosivity budgets, one tree each.
    preset : {"regularised", "deep", "paper"}
        What `tol`, `min_decrease` and `min_weight_fraction_leaf` are where they are None.
    target : sequence of float, optional
        Shares to aim at, in the order of the groups; equal ones by default.

    All options are described in `OPTIONS`, as ``python -m counterweight.options selector
    split_tree`` prints them.

    Attributes
    ----------
    settings_ : list of str
        ``alpha=...`` in the order of `alphas`.
    base_ : numpy.ndarray, (K,)
        Base shares r.
    target_ : numpy.ndarray, (K,)
    mass_, shares_ : list of numpy.ndarray
        Mass (L,) and group shares A (L, K) of the training rows in each tree's leaves.
    distance_ : list of float
        Distance from the hull (or cone) to the target.

    References
    ----------
    Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies.
    """

    alphas: Sequence[float] = tuple(OPTIONS["alphas"]["default"])
    preset: str = "regularised"
    hull: str = "convex"
    splits: str = "randomised"
    gamma: float = 0.1
    max_depth: int = 20
    max_leaf_nodes: int = 40
    tol: float | None = None
    min_decrease: float | None = None
    min_weight_fraction_leaf: float | None = None
    min_samples_leaf: int = 1
    thresholds: int = 5
    rounds: int = 8
    epsilon: float = 1e-4
    l2: float = 1e-6
    target: ArrayLike | None = None
    hypotheses: str = "linear"
    hypothesis_depth: int = 2
    solver: str = "program"

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        target: ArrayLike | None = None,
        rng: np.random.Generator | None = None,
    ) -> Self:
        """Grow one tree for each alpha.

        Parameters
        ----------
        X : array_like, (n, d)
            Features of the training rows, finite.
        y : array_like, (n, K)
            One 1 in each class's block of columns; or the groups (n,), where `classes` is None.
        classes : sequence of int, optional
            Groups in each class; they sum to K.
        target : array_like, (K,), optional
            Comes before the option of the same name.
        rng : numpy.random.Generator, optional
            Not used: the search draws nothing.

        Raises
        ------
        CounterweightError
            For an alpha outside [0, 1], another option that is not allowed, features that are
            not finite, a group without rows, a class of one group, or a target that is no
            distribution.
        """
        alphas = self._alphas()
        Z, self.sizes_ = self._begin(X, y, classes, OPTIONS)
        self.target_ = checked_target(self.target if target is None else target, self.sizes_)
        self.base_, self.rows_, self.spread_ = Z.mean(axis=0), len(X), X.std(axis=0)
        self.settings_ = [setting_of("alpha", alpha) for alpha in alphas]
        design = Design(
            X,
            Z,
            self.sizes_[0],
            l2=self.l2,
            hypotheses=self.hypotheses,
            depth=self.hypothesis_depth,
        )
        levels = {n: getattr(self, n) for n in ("thresholds", "rounds", "epsilon", "solver")}
        search = Search(
            design,
            self.base_,
            self.target_,
            levels,
            cone=self.hull == "cone",
            deterministic=self.splits == "thresholded",
            least=max(
                self._rule("min_weight_fraction_leaf") * len(X), float(self.min_samples_leaf)
            ),
            min_decrease=self._rule("min_decrease"),
            tol=self._rule("tol"),
            max_depth=self.max_depth,
            max_leaf_nodes=self.max_leaf_nodes,
        )
        grown = search.grid(alphas)
        self.splits_, self.trees_ = split_growth.pruned(search.splits, grown)
        self.mass_, self.shares_, self.distance_ = [], [], []
        for member in split_growth.memberships(self.splits_, self.trees_, X):
            mass, A = leaf_table(member, Z)
            self.mass_.append(mass)
            self.shares_.append(A)
            self.distance_.append(closest(A, self.target_, self.hull == "cone")[1])
        return self

    def _rule(self, name):
        given = getattr(self, name)
        given = PRESETS[self.preset][name] if given is None else given
        return self.gamma if given is None else given

    def _alphas(self):
        """Alphas as floats; at least one, in [0, 1], no two of one name, or it raises."""
        try:
            alphas = [float(alpha) for alpha in self.alphas]
        except (TypeError, ValueError) as error:
            raise CounterweightError(
                f"alphas is {self.alphas!r}: give a list of numbers in [0, 1]."
            ) from error
        if not alphas:
            raise CounterweightError(
                "The list alphas is empty: give at least one number in [0, 1]."
            )
        wrong = [alpha for alpha in alphas if not 0 <= alpha <= 1]
        if wrong:
            raise CounterweightError(
                f"{len(wrong)} of {len(alphas)} alphas are outside [0, 1] (first: {wrong[0]:g}): a "
                "share differs from another by at most 1."
            )
        names = [setting_of("alpha", alpha) for alpha in alphas]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise CounterweightError(f"The list alphas holds {twice[0]} twice: leave one out.")
        return alphas

    def leaves(self, X: ArrayLike) -> dict:
        """Each setting with the memberships (n, L) of rows (n, d) in its leaves; they sum to 1."""
        every = split_growth.memberships(self.splits_, self.trees_, X)
        yield from zip(self.settings_, every, strict=True)

    def describe(self) -> list[dict]:
        """Records of what was fitted: metric, setting and value.

        Metrics: distance (to the hull or cone of the leaves), reached (1 where it is at most
        `tol`), leaves, height, splits, disclosivity (in sample),
        smallest_leaf_rows (weight of the smallest leaf, in training rows), and how the
        distance fell split by split (`counterweight.selection.split_growth`). With the
        preset paper also lemma3_case, a counterexample to Lemma 3 as printed; with the solver
        printed beyond_budget, how far its answers were beyond alpha before they were repaired.
        """
        records = []
        tol = self._rule("tol")
        for t, setting in enumerate(self.settings_):
            leaves, mass, shares = self.trees_[t], self.mass_[t], self.shares_[t]
            used = split_growth.ancestors(self.splits_, leaves)
            values = {
                "distance": self.distance_[t],
                "reached": float(self.distance_[t] <= tol),
                "leaves": float(len(leaves)),
                "height": float(max(split_growth.depth(self.splits_, leaf) for leaf in leaves)),
                "splits": float(len(used)),
                "disclosivity": disclosivity(mass, shares, self.base_),
                "smallest_leaf_rows": float(mass.min() * self.rows_),
            }
            violations = [self.splits_[s].violation for s in used]
            if violations and not np.isnan(violations).any():
                values["beyond_budget"] = max(violations)
            taken = steps(self.splits_, leaves, mass, shares, self.target_, self.gamma)
            values |= step_records(taken)
            records += [
                {"metric": metric, "setting": setting, "value": value}
                for metric, value in values.items()
            ]
        if self.preset == "paper":
            records.append({"metric": "lemma3_case", "setting": "", "value": counterexample()})
        return records

    def rules(self, setting: int | None = None, terms: int = 6) -> list[dict]:
        """The trees as lists of nodes, for drawing, reading and applying.

        Parameters
        ----------
        setting : str, optional
            One setting; all without it.
        terms : int
            Features to name for each split.

        Returns
        -------
        list of dict
            The nodes of each tree in turn, the root first and parents before children:

            setting : str
            node, parent : int
                Numbers within the tree; the root is node 0 with parent -1.
            side : int or None
                1 or 0: the side of the parent's split; None for the root.
            depth : int
            leaf : int or None
                Column of the memberships for a leaf, None for a node that is split.
            mass : float
                Share of the training rows.
            shares : list of float, (K,)
                Shares of the groups among them.
            terms : list of (int, float)
                For a split: the features that move its weightiest hypothesis most
                (coefficient times standard deviation), by number, and their coefficients per
                unit of the raw feature.
            hypotheses : list of (float, list of float, float)
                Probability, coefficients (d,) and intercept of each hypothesis
                1[x b + b_0 > 0] on raw features; where hypotheses are trees, lists of both, of
                conditions that all hold. A row goes to side 1 with the sum of the
                probabilities of the hypotheses that hold, to side 0 with the rest.
            cut : float or None
                Of a deterministic split: side 1 when that sum is above the cut.
        """
        if setting is not None and setting not in self.settings_:
            raise CounterweightError(
                f"The proxy has no setting {setting!r}; choose one of {listed(self.settings_, 30)}."
            )
        nodes = []
        for t, name in enumerate(self.settings_):
            if setting in (None, name):
                leaves = self.trees_[t], self.mass_[t], self.shares_[t]
                tree = split_growth.readable(self.splits_, *leaves, self.spread_, terms)
                nodes += [{"setting": name, **node} for node in tree]
        return nodes

    def to_arrays(self):
        """Fitted proxy as arrays of at most two dimensions, without any training row."""
        owner = [t for t, leaves in enumerate(self.trees_) for _ in leaves]
        return {
            "alphas": np.array(self._alphas()),
            "stop_distance": np.array([self._rule("tol")]),
            "cone": np.array([float(self.hull == "cone")]),
            "rows": np.array([float(self.rows_)]),
            "classes": np.array(self.sizes_, dtype=float),
            "base": self.base_,
            "target": self.target_,
            "spread": self.spread_,
            "distance": np.array(self.distance_),
            "leaf_tree": np.array(owner, dtype=float),
            "leaf_split": np.array([s for leaves in self.trees_ for s, _ in leaves], dtype=float),
            "leaf_side": np.array([d for leaves in self.trees_ for _, d in leaves], dtype=float),
            "leaf_mass": np.concatenate(self.mass_),
            "leaf_share": np.concatenate(self.shares_),
            **split_growth.packed(self.splits_, len(self.spread_)),
        }

    @classmethod
    def from_arrays(cls, arrays, names=None):
        """The inverse of `to_arrays`; `names`, those of the features, is not used."""
        alphas = [float(alpha) for alpha in arrays["alphas"]]
        proxy = cls(
            alphas=alphas,
            tol=float(arrays["stop_distance"][0]),
            hull="cone" if arrays["cone"][0] else "convex",
        )
        proxy.settings_ = [setting_of("alpha", alpha) for alpha in alphas]
        proxy.rows_ = int(arrays["rows"][0])
        proxy.sizes_ = [int(k) for k in arrays["classes"]]
        proxy.base_, proxy.target_ = arrays["base"], arrays["target"]
        proxy.spread_, proxy.n_features_in_ = arrays["spread"], len(arrays["spread"])
        proxy.distance_ = [float(distance) for distance in arrays["distance"]]
        proxy.splits_ = split_growth.unpacked(arrays)
        proxy.trees_, proxy.mass_, proxy.shares_ = [], [], []
        for t in range(len(alphas)):
            at = arrays["leaf_tree"] == t
            places = zip(arrays["leaf_split"][at], arrays["leaf_side"][at], strict=True)
            proxy.trees_.append([(int(s), int(side)) for s, side in places])
            proxy.mass_.append(arrays["leaf_mass"][at])
            proxy.shares_.append(arrays["leaf_share"][at])
        return proxy
