"""Splits of proxy trees as linear rules on raw features: stored, applied, read.

A split is a mixture of hypotheses with probabilities p. A hypothesis holds where its conditions
x b + b_0 > 0 do, mostly one (a constant has b = 0); of those that a tree is cut into, one holds at
most. The probabilities of what holds for one row sum to at most 1. A row goes to side 1 with
probability h~(x), the sum of p over the hypotheses that hold; a deterministic split sends it there
when that sum is above the cut. All settings of a proxy share one list of splits, whose parents
come before them.
"""

from typing import NamedTuple

import numpy as np

#: The place of the root: made by no split.
ROOT = (-1, 0)
#: Rows that are scored at once, always so many: the last digits of a product of matrices depend
#: on their sizes, and a row must go the same way alone and among others.
BLOCK = 1024


class Split(NamedTuple):
    """One split.

    `place` is the split that made the leaf which this one divides, and its side (1 or 0); `p` (m,)
    are probabilities of the hypotheses; coefficients (c, d), in units of the raw features, and
    intercepts (c,) are of the conditions, `owner` (c,) is the hypothesis that each is of, in their
    order, one each where it is None. The cut is NaN for a randomised split. `violation` is how far
    the solver's answer was beyond alpha, before it was repaired; NaN where that is not told.
    """

    place: tuple
    p: np.ndarray
    coefficients: np.ndarray
    intercepts: np.ndarray
    cut: float
    owner: np.ndarray | None = None
    violation: float = float("nan")

    @property
    def one_each(self):
        """Whether each hypothesis has one condition."""
        return len(self.intercepts) == len(self.p)

    def holds(self, says):
        """Whether hypotheses hold, (n, m), by their conditions, (n, c)."""
        if self.one_each:
            return says
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        return np.logical_and.reduceat(says, first, axis=1)

    def side(self, X):
        """Probability of side 1 for each row of X, (n,)."""
        says = np.empty((len(X), len(self.intercepts)), bool)
        for start in range(0, len(X), BLOCK):
            rows = X[start : start + BLOCK]
            if len(rows) < BLOCK:
                rows = np.concatenate([rows, np.zeros((BLOCK - len(rows), X.shape[1]))])
            scores = rows @ self.coefficients.T + self.intercepts
            says[start : start + BLOCK] = scores[: len(X) - start] > 0
        return self.mixed(self.holds(says))

    def mixed(self, says):
        """Probability of side 1 from what the hypotheses say, (n, m)."""
        # One hypothesis after the other: the order of a sum must not depend on the rows.
        total = np.zeros(len(says))
        for i, p in enumerate(self.p):
            total += np.where(says[:, i], p, 0.0)
        if np.isnan(self.cut):
            return np.clip(total, 0.0, 1.0)
        return (total > self.cut).astype(float)


def memberships(splits, trees, X):
    """Leaf memberships (n, L) of rows (n, d) in each of several trees; rows sum to 1.

    `trees` are the places of each one's leaves. A split is applied once for all trees that use it.
    """
    last = {}
    for t, leaves in enumerate(trees):
        for s in ancestors(splits, leaves):
            last[s] = t
    weights = {}
    for t, leaves in enumerate(trees):
        for s in sorted(ancestors(splits, leaves)):
            if s not in weights:
                above = _weight(weights, splits[s].place, len(X))
                side = splits[s].side(X)
                weights[s] = (above * (1.0 - side), above * side)
        yield np.column_stack([_weight(weights, leaf, len(X)) for leaf in leaves])
        for s in [s for s in weights if last[s] == t]:
            del weights[s]


def _weight(weights, place, rows):
    return np.ones(rows) if place == ROOT else weights[place[0]][place[1]]


def ancestors(splits, leaves):
    """Splits that lead to some leaves."""
    leading = set()
    for s, _ in leaves:
        while s >= 0 and s not in leading:
            leading.add(s)
            s = splits[s].place[0]
    return leading


def pruned(splits, trees):
    """Only the splits that some tree uses, renumbered in their order."""
    used = sorted(set().union(*(ancestors(splits, leaves) for leaves in trees)))
    number = {old: new for new, old in enumerate(used)} | {-1: -1}
    renumbered = [
        splits[s]._replace(place=(number[splits[s].place[0]], splits[s].place[1])) for s in used
    ]
    return renumbered, [[(number[s], side) for s, side in leaves] for leaves in trees]


def end_nodes(X, feature, threshold, left, right):
    """The node without children that each row ends in, (n,); left where feature <= threshold.

    A node without children has no `left`, which is below 0.
    """
    at = np.zeros(len(X), np.int64)
    inside = np.flatnonzero(left[at] >= 0)
    while len(inside):
        here = at[inside]
        low = X[inside, feature[here]] <= threshold[here]
        at[inside] = np.where(low, left[here], right[here])
        inside = inside[left[at[inside]] >= 0]
    return at


def depth(splits, place):
    """How many splits lead to a leaf."""
    count = 0
    while place != ROOT:
        count, place = count + 1, splits[place[0]].place
    return count


def packed(splits, features):
    """Splits as arrays: one row a split, one a hypothesis, and one a condition.

    Where each hypothesis has one condition, nothing says which is whose.
    """
    owner = [s for s, split in enumerate(splits) for _ in split.p]
    told = {}
    if not all(split.one_each for split in splits):
        starts = np.cumsum([0, *(len(split.p) for split in splits)])
        whose = [at + split.owner for at, split in zip(starts, splits, strict=False)]
        told["condition_hypothesis"] = np.concatenate(whose).astype(float)
    if any(not np.isnan(split.violation) for split in splits):
        told["split_beyond"] = np.array([split.violation for split in splits])
    return told | {
        "split_parent": np.array([split.place[0] for split in splits], dtype=float),
        "split_side": np.array([split.place[1] for split in splits], dtype=float),
        "split_cut": np.array([split.cut for split in splits], dtype=float),
        "hypothesis_split": np.array(owner, dtype=float),
        "hypothesis_probability": np.concatenate([s.p for s in splits] or [np.zeros(0)]),
        "hypothesis_intercept": np.concatenate([s.intercepts for s in splits] or [np.zeros(0)]),
        "hypothesis_coefficients": np.concatenate(
            [s.coefficients for s in splits] or [np.zeros((0, features))]
        ),
    }


def unpacked(arrays):
    """The splits of `packed`; none where the arrays are missing, as empty ones are not stored."""
    if not np.size(arrays.get("split_parent", ())):
        return []
    owner = arrays["hypothesis_split"].astype(int)
    whose = arrays.get("condition_hypothesis")
    whose = np.arange(len(owner)) if whose is None else np.asarray(whose).astype(int)
    columns = [arrays[f"split_{name}"] for name in ("parent", "side", "cut")]
    columns.append(arrays.get("split_beyond", np.full(len(columns[0]), np.nan)))
    splits = []
    for s, (parent, side, cut, violation) in enumerate(zip(*columns, strict=True)):
        at = owner == s
        own = at[whose]
        splits.append(
            Split(
                (int(parent), int(side)),
                arrays["hypothesis_probability"][at],
                arrays["hypothesis_coefficients"][own],
                arrays["hypothesis_intercept"][own],
                float(cut),
                whose[own] - np.flatnonzero(at)[0],
                float(violation),
            )
        )
    return splits


def readable(splits, leaves, mass, shares, spread, most):
    """One tree as a list of nodes, the root first and each before its children.

    See `SplitTreeProxy.rules`; `spread` (d,) are the features' standard deviations, `most` the
    number of terms to name.
    """
    inner = ancestors(splits, leaves)
    at = {splits[s].place: s for s in inner}
    number = {leaf: i for i, leaf in enumerate(leaves)}
    nodes = []

    def visit(place, parent, deep):
        node = {
            "node": len(nodes),
            "parent": parent,
            "side": place[1] if parent >= 0 else None,
            "depth": deep,
            "leaf": number.get(place),
            "mass": 0.0,
            "shares": None,
            "terms": [],
            "hypotheses": [],
            "cut": None,
        }
        nodes.append(node)
        if place in number:
            node["mass"] = float(mass[number[place]])
            node["shares"] = shares[number[place]].tolist()
            return node["mass"], np.array(node["shares"])
        split = splits[at[place]]
        every = range(len(split.p)) if split.owner is None else split.owner
        owned = [np.flatnonzero(np.asarray(every) == h) for h in range(len(split.p))]
        owned = [own[0] if split.one_each else own for own in owned]
        node["hypotheses"] = [
            (float(p), split.coefficients[own].tolist(), split.intercepts[own].tolist())
            for p, own in zip(split.p, owned, strict=True)
        ]
        node["cut"] = None if np.isnan(split.cut) else split.cut
        node["terms"] = _terms(split, spread, most)
        total, counts = 0.0, 0.0
        for side in (1, 0):
            part, held = visit((at[place], side), node["node"], deep + 1)
            total, counts = total + part, counts + part * held
        node["mass"] = total
        node["shares"] = (counts / total if total > 0 else counts).tolist()
        return total, np.array(node["shares"])

    visit(ROOT, -1, 0)
    return nodes


def _terms(split, spread, most):
    """Features that move the weightiest hypothesis most, with their raw coefficients."""
    moving = np.abs(split.coefficients).sum(axis=1) > 0
    if not moving.any():
        return []
    weights = split.p if split.one_each else split.p[split.owner]
    i = int(np.argmax(np.where(moving, weights, -1.0)))
    reach = np.abs(split.coefficients[i]) * spread
    order = np.argsort(-reach, kind="stable")[:most]
    return [(int(f), float(split.coefficients[i, f])) for f in order if reach[f] > 0]
