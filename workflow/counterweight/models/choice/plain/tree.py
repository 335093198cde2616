"""A classification tree of the answer by features and offer."""

from dataclasses import dataclass

import numpy as np

from counterweight.fragments import Integer
from counterweight.models.choice.baseline import ORACLE_OPTIONS, OfferBaseline

KIND = "offers"
OPTIONS = {
    "least_rows": Integer(20, "Least training rows of a leaf.", minimum=1),
    **ORACLE_OPTIONS,
}  # fmt: skip
LABEL = "Classification tree"
ROLE = "peer"
VALUE_LABELS = {"per_component": {True: "by component"}}


@dataclass(eq=False, repr=False)
class OfferTree(OfferBaseline):
    """Classification tree (CART, by entropy) of the answer by features and offer.

    A leaf gives (accepted + 1/2) / (rows + 1). Curves are steps, and may fall where they should
    rise.

    Parameters
    ----------
    least_rows : int
    per_component : bool

    Attributes
    ----------
    models_ : list of dict
        By node: ``column`` (-1 for a leaf), ``cut``, ``left``, ``right``, ``chance``.
    """

    STORED = ("column", "cut", "left", "right", "chance")

    interactions: bool = False
    per_component: bool = False
    least_rows: int = 20

    def _fit(self, Z, y, rng):
        from sklearn.tree import DecisionTreeClassifier

        seed = int(rng.integers(2**31))
        asked = {"criterion": "entropy", "min_samples_leaf": self.least_rows}
        grown = DecisionTreeClassifier(**asked, random_state=seed).fit(Z, y)
        # The tree cuts numbers of single precision.
        leaf, tree = grown.apply(Z), grown.tree_
        rows = np.bincount(leaf, minlength=tree.node_count)
        yes = np.bincount(leaf, y, minlength=tree.node_count)
        return {
            "column": np.where(tree.children_left < 0, -1, tree.feature),
            "cut": tree.threshold,
            "left": tree.children_left,
            "right": tree.children_right,
            "chance": (yes + 0.5) / (rows + 1),
        }

    def _constant(self, log_odds, p):
        own = {name: np.full(1, -1) for name in ("column", "left", "right")}
        return own | {"cut": np.zeros(1), "chance": np.full(1, 1 / (1 + np.exp(-log_odds)))}

    def _probability(self, arrays, Z):
        column, left, right = (
            np.asarray(arrays[name]).astype(int) for name in ("column", "left", "right")
        )
        node, single = np.zeros(len(Z), dtype=int), Z.astype(np.float32)
        while (inner := column[node] >= 0).any():
            at = node[inner]
            smaller = single[inner, column[at]] <= arrays["cut"][at]
            node[inner] = np.where(smaller, left[at], right[at])
        return arrays["chance"][node]

    def _stacked(self, models):
        # Trees differ in size: shorter ones are followed by leaves that nobody reaches.
        most = max(len(arrays["cut"]) for arrays in models)
        return {
            name: np.stack(
                [
                    np.pad(arrays[name], (0, most - len(arrays[name])), constant_values=-1)
                    for arrays in models
                ]
            )
            for name in self.STORED
        }
