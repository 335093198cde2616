"""Growing proxy trees (Algorithm 4): their splits, and how each came about.

Which leaf to split, the grid of alpha; what Lemma 3 asks of a split, and what it does.

Splits are linear rules on raw features, which are stored, applied and read. A split is a mixture of
hypotheses with probabilities p. A hypothesis holds where its conditions x b + b_0 > 0 do, mostly
one (a constant has b = 0); of those that a tree is cut into, one holds at most. The probabilities
of what holds for one row sum to at most 1. A row goes to side 1 with probability h~(x), the sum of
p over the hypotheses that hold; a deterministic split sends it there when that sum is above the
cut. All settings of a proxy share one list of splits, whose parents come before them.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies: Definition 13
and Lemma 3.
"""

from typing import NamedTuple

import numpy as np

from counterweight.numerics.geometry import closest
from counterweight.selection.split_game import INSIDE, Leaf, Limits, proposals

#: By how much the limit is below alpha at the root; it rises to alpha over the levels of a tree.
#: A leaf on its limit could not be split at all if its children had to keep to the same number.
SLACK = 1e-5
#: Share of the largest drop that a split with heavier children may do without.
NEARLY = 0.3
#: Intercepts that are tried for a hypothesis of a deterministic split.
CUTS = 15
#: Leaves outside the closest mixture that are tried, heaviest first.
OTHERS = 4


class Search:
    """Trees for one training set, over a list of splits that all of them share.

    `r` and `U` (K,) are the base shares and the target; `levels` are the options of `proposals`;
    `least` is the least weight of a leaf, in rows. In `splits` parents stand before children, also
    those of trees that were given up.
    """

    def __init__(
        self,
        design,
        r,
        U,
        levels,
        *,
        cone,
        deterministic,
        least,
        min_decrease,
        tol,
        max_depth,
        max_leaf_nodes,
    ):
        self.design, self.r, self.U, self.levels = design, r, U, levels
        self.cone, self.deterministic = cone, deterministic
        self.least, self.min_decrease, self.tol = least, min_decrease, tol
        self.max_depth, self.max_leaf_nodes = max_depth, max_leaf_nodes
        self.splits = []
        self.root = Leaf(design, ROOT, 0, np.ones(len(design.raw)))

    def grid(self, alphas):
        """Places of the leaves of one tree for each alpha, in the order given."""
        trees, leaves, distance = {}, [self.root], self._closest([self.root])[1]
        # What no limit holds back is the same tree from its own disclosivity on.
        free, nearest = self.grow([self.root], 1.0) if max(alphas) > 0 else (leaves, distance)
        open_from, limit = self._disclosivity(free), 0.0
        for alpha in sorted(alphas):
            if alpha > 0 and distance > self.tol:
                tried = []
                if alpha < open_from or self._disclosivity(leaves) >= limit - 2 * SLACK:
                    tried.append(self.grow(leaves, alpha))
                if alpha >= open_from:
                    tried.append((free, nearest))
                elif len(leaves) > 1:
                    tried.append(self.grow([self.root], alpha))
                best, reached = min(tried, key=lambda tree: tree[1])
                if reached < distance:
                    leaves, distance = best, reached
                limit = alpha
            trees[alpha] = [leaf.place for leaf in leaves]
        return [trees[alpha] for alpha in alphas]

    def grow(self, leaves, alpha):
        """Leaves split until the target is near or no split brings it nearer, and the distance."""
        leaves = list(leaves)
        q, distance = self._closest(leaves)
        while distance > max(self.tol, 1e-9) and len(leaves) < self.max_leaf_nodes:
            made = self._split(leaves, q, alpha)
            if made is None:
                break
            j, children = made
            leaves[j : j + 1] = children
            q, distance = self._closest(leaves)
        return leaves, distance

    def _closest(self, leaves):
        return closest(np.array([leaf.shares for leaf in leaves]), self.U, self.cone)

    def _disclosivity(self, leaves):
        return max(float(np.abs(leaf.shares - self.r).max()) for leaf in leaves)

    def _hull(self, A):
        """Distance of the target from the hull of the leaves, which every split has to shrink.

        For the cone, too: its own distance falls far less at the same gain of balance where it
        is nearly that of no filter, so one least drop would mean two things.
        """
        return closest(A, self.U)[1]

    def _split(self, leaves, q, alpha):
        """The best split of any leaf that shrinks the distance of the hull enough, or None."""
        A = np.array([leaf.shares for leaf in leaves])
        D, distance = self.U - q @ A, self._hull(A)
        bound = distance * (1.0 - self.min_decrease)
        mass = np.array([leaf.mass for leaf in leaves])
        active = [j for j in np.argsort(-q, kind="stable") if q[j] > 1e-9]
        others = [j for j in np.argsort(-mass, kind="stable") if q[j] <= 1e-9]
        splittable = [
            [j for j in part if mass[j] > 2 * self.least and leaves[j].depth < self.max_depth]
            for part in (active, others)
        ]
        for part in (splittable[0], *([j] for j in splittable[1][:OTHERS])):
            candidates = []
            for j in part:
                candidates += [(*tried, j) for tried in self._tried(leaves[j], A, j, D, alpha)]
            for _, p, cut, j in self._ordered(candidates, distance, bound)[:5]:
                children = self._children(leaves[j], p, cut, alpha)
                if children is None:
                    continue
                grown = [*leaves[:j], *children[0], *leaves[j + 1 :]]
                shares = np.array([leaf.shares for leaf in grown])
                if self._hull(shares) < min(bound, distance - 1e-12):
                    self.splits.append(children[1])
                    return j, children[0]
        return None

    def _ordered(self, candidates, distance, bound):
        """Splits that shrink the distance enough, the best first.

        Of those whose drop is nearly the largest, the one with the heaviest smaller child:
        heavy leaves can be split again, and their shares are known better.
        """
        near = [one for one in candidates if one[0][0] < bound]
        if not near:
            return near
        enough = distance - (1.0 - NEARLY) * (distance - min(one[0][0] for one in near))
        return sorted(near, key=lambda one: (one[0][0] > enough, -one[0][1], one[0][0]))

    def _limits(self, leaf, alpha, part=1.0):
        left = 1.0 - (leaf.depth + part) / (self.max_depth + 1)
        return Limits(leaf, self.r, alpha - SLACK * left, self.least)

    def _tried(self, leaf, A, j, D, alpha):
        """Distance, mixture and cut of the splits of a leaf that are worth a look."""
        limits = self._limits(leaf, alpha, 0.5)
        mixtures = proposals(leaf, limits, D, **self.levels)
        rest = np.delete(A, j, axis=0)
        if self.deterministic:
            tried = self._deterministic(leaf, mixtures, D, self._limits(leaf, alpha))
        else:
            tried = [(p @ leaf.sums, p, np.nan) for p in mixtures]
        outcomes = []
        for N, p, cut in tried:
            inside = float(N[: self.design.first].sum())
            if 1e-9 < inside < 1 - 1e-9:
                both = np.vstack([rest, N / inside, (leaf.shares - N) / (1 - inside)])
                outcomes.append(((self._hull(both), min(inside, 1 - inside) * leaf.mass), p, cut))
        return outcomes

    def _deterministic(self, leaf, mixtures, D, limits):
        """Splits without chance: single hypotheses, and majorities of the mixtures.

        Nothing can be mixed to keep to the limits, so the hypotheses played last are also
        tried with other intercepts: the regressions of a class's groups sum to 1.
        """
        directions = np.vstack([D, leaf.directions[-self.levels["thresholds"] :]])
        cuts = np.quantile(
            leaf.oracle.values(directions), np.linspace(0, 1, CUTS + 2)[1:-1], axis=0
        )
        first = np.arange(len(D)) < self.design.first
        leaf.play((directions - cuts[:, :, None] * first).reshape(-1, len(D)))
        fits = np.flatnonzero((limits.excess(leaf.sums) <= 0).all(axis=1))
        tried = [(leaf.sums[i], np.eye(len(leaf.sums))[i], 0.5) for i in fits if i > 1]
        for p in mixtures:
            played = np.flatnonzero(p)
            says = leaf.answers(played)
            total = np.zeros(len(says))
            for i, one in zip(played, says.T, strict=True):
                total += np.where(one, p[i], 0.0)
            steps = np.unique(total)
            cuts = (steps[1:] + steps[:-1]) / 2
            for cut in cuts[np.diff(steps) > 1e-6]:
                N = (total > cut) @ leaf.wZ / leaf.mass
                if (limits.excess(N) <= 0).all():
                    tried.append((N, p, float(cut)))
        return tried

    def _children(self, leaf, p, cut, alpha):
        """Both children and the split, with the rules as they will be applied to new rows."""
        design = self.design
        played = np.flatnonzero(p)
        directions = leaf.directions[played]
        paths, of = [], []
        for i, (which, own) in enumerate(zip(played, leaf.oracle.paths(directions), strict=True)):
            # The two constants: always side 1, never side 1.
            own = (
                [(np.zeros_like(own[0][0][:1]), np.array([1.0 - 2 * which]))] if which < 2 else own
            )
            paths += own
            of += [i] * len(own)
        b = np.concatenate([one for one, _ in paths])
        intercepts = np.concatenate([one for _, one in paths])
        raw = design.raw if leaf.rows is None else design.raw[leaf.rows]
        scores = raw @ b.T
        if not leaf.oracle.settled:
            for i in np.flatnonzero(np.abs(b).sum(axis=1)):
                intercepts[i] += _gap(scores[:, i] + intercepts[i])
        owner = np.repeat(np.arange(len(paths)), [len(one) for _, one in paths])
        violation = leaf.violations.get(p.tobytes(), np.nan)
        split = Split(leaf.place, p[played][of], b, intercepts, cut, owner, violation)
        side = split.mixed(split.holds(scores + intercepts > 0))
        share = self._limits(leaf, alpha).share(side @ leaf.wZ / leaf.mass)
        if share is None or (share <= 1 and self.deterministic):
            return None
        if share <= 1:
            share *= INSIDE
            # One more hypothesis, that always holds: with half of the rest a row is on side 1.
            split = split._replace(
                p=np.append(share * split.p, (1 - share) / 2),
                coefficients=np.vstack([b, np.zeros(b.shape[1])]),
                intercepts=np.append(intercepts, 1.0),
                owner=np.append(owner, len(paths)),
            )
            side = share * side + (1 - share) / 2
        whole = np.zeros(len(leaf.weight))
        whole[slice(None) if leaf.rows is None else leaf.rows] = side
        number = len(self.splits)
        children = [
            Leaf(design, (number, which), leaf.depth + 1, leaf.weight * part)
            for which, part in ((1, whole), (0, 1.0 - whole))
        ]
        if min(child.mass for child in children) < self.least * (1 - 1e-9):
            return None
        return children, split


def _gap(scores):
    """Shift that puts the zero of some scores into the middle of a gap between them.

    Then rounding, which differs with the number of rows that are scored at once, cannot move
    a row to the other side.
    """
    below, above = scores[scores <= 0], scores[scores > 0]
    if not len(below) or not len(above):
        return 0.0
    low, high = below.max(), above.min()
    wide = 1e-9 * np.abs(scores).max()
    if high - low < wide:
        values = np.unique(scores)
        gaps = np.flatnonzero(np.diff(values) >= wide)
        if len(gaps):
            middle = (values[gaps] + values[gaps + 1]) / 2
            return -float(middle[np.argmin(np.abs(middle))])
    return -float(low + high) / 2


class Step(NamedTuple):
    """One split: distance of the hull from the target before and after, and Lemma 3."""

    before: float
    after: float
    qualified: bool


def lemma3(parent, child, nearest, target, gamma):
    """Whether a split meets the three conditions of Lemma 3; not where the hull has the target.

    `parent` and `child` (K,) are shares R(V) of the leaf that is split, and R(V1) of the child
    farther towards the target U; `nearest` is the point U' of the hull before the split that is
    closest to it; `gamma`, in (0, 1), the share by which the distance is to shrink.
    """
    to_target, move, rest = target - nearest, child - parent, 2 * gamma - gamma**2
    distance, from_parent = np.linalg.norm(to_target), np.linalg.norm(parent - nearest)
    inner = 2 - rest * from_parent**2
    if distance == 0 or inner < 0:
        return False
    root = 2 - from_parent**2 + 2 * from_parent * (1 - gamma) * np.sqrt(inner)
    f = np.sqrt(rest) * np.sqrt(max(root, 0.0))
    # U'' is the foot of the perpendicular on the segment from R(V1) to U', if it is inside it.
    along = nearest - child
    length = along @ along
    t = (target - child) @ along / length if length > 0 else -1.0
    return bool(
        move @ to_target / distance >= f
        and np.linalg.norm(move) >= np.sqrt(rest) / (1 - gamma) * distance
        and 0 < t < 1
    )


#: A split that meets Lemma 3 as printed at the share GAMMA, though not its result: the leaf is not
#: the nearest point of the hull, and the second child takes hardly any rows, so that the other one
#: stays where the leaf was. The leaf, another leaf, the child; the target is uniform.
GAMMA = 0.139
CASE = np.array([[0.002, 0.998, 0.0], [0.226, 0.473, 0.301], [0.014, 0.004, 0.982]])


def counterexample():
    """Distance that the split `CASE` leaves, over the most that Lemma 3 as printed allows.

    Above 1 where the conditions are met and the result is not; NaN where they are not met.
    """
    target = np.full(3, 1 / 3)
    before = closest(CASE[:2], target)[0] @ CASE[:2]
    if not lemma3(CASE[0], CASE[2], before, target, GAMMA):
        return float("nan")
    left = np.linalg.norm(closest(CASE, target)[0] @ CASE - target)
    return float(left / (1 - GAMMA) / np.linalg.norm(before - target))


def steps(splits, leaves, mass, shares, target, gamma=0.1):
    """Each `Step` of one tree, in the order of its growth.

    `splits` are in the order in which they were made, `leaves` their places; `mass` (L,) and
    `shares` (L, K) are of the leaves.
    """
    order = sorted(ancestors(splits, leaves))
    known = {leaf: (m, m * a) for leaf, m, a in zip(leaves, mass, shares, strict=True)}
    for s in reversed(order):
        (m1, a1), (m0, a0) = known[s, 1], known[s, 0]
        known[splits[s].place] = (m1 + m0, a1 + a0)
    rows = {place: a / m if m > 0 else a for place, (m, a) in known.items()}

    def nearest(places):
        A = np.array([rows[place] for place in places])
        return closest(A, target)[0] @ A

    held, taken = [ROOT], []
    point = nearest(held)
    for s in order:
        place, before = splits[s].place, np.linalg.norm(target - point)
        towards = max(
            ((s, 1), (s, 0)), key=lambda child: (rows[child] - rows[place]) @ (target - point)
        )
        qualified = lemma3(rows[place], rows[towards], point, target, gamma)
        held = [one for one in held if one != place] + [(s, 1), (s, 0)]
        point = nearest(held)
        taken.append(Step(float(before), float(np.linalg.norm(target - point)), qualified))
    return taken


def step_records(taken):
    """The splits that `steps` lists, as metrics by name.

    ``split_shrink`` is the largest remaining share of the distance after a split (of a tree with
    splits); ``lemma3_splits``, how many splits met the conditions of Lemma 3, and
    ``lemma3_shrink``, the largest remaining share after one of these (where there is one).
    """
    shrunk = [step.after / step.before for step in taken if step.before > 0]
    qualified = [step.after / step.before for step in taken if step.qualified]
    records = {"lemma3_splits": float(len(qualified))}
    if shrunk:
        records["split_shrink"] = max(shrunk)
    if qualified:
        records["lemma3_shrink"] = max(qualified)
    return records


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
