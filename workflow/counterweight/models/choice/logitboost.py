"""Boosting of answers: LogitBoost, trees of such models, trees that rise with the offer."""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer, Number
from counterweight.models.choice.baselines import (
    BASELINE_OPTIONS,
    NodeTables,
    OfferBaseline,
    OfferDesign,
    some_rows,
)
from counterweight.numerics.boosted_trees import fit_trees, raw_along, raw_predict, trees_to_arrays

TASK = "offers"
ROLE = "peer"
OPTIONS_BY_NAME = {
    "logitboost": {
    **BASELINE_OPTIONS,
    "iterations": Integer(0, "Number of boosting steps; 0 to choose it by cross-validation.", minimum=0),
    "most_iterations": Integer(500, "Largest number of steps that cross-validation tries.", minimum=1),
    "patience": Integer(50, "Steps without a new minimum after which cross-validation stops.", minimum=1),
    "folds": Integer(5, "Folds of the cross-validation.", minimum=2),
    },
    "logistic_tree": {
    **BASELINE_OPTIONS,
    "min_samples_split": Integer(15, "A node of fewer rows is not split.", minimum=2),
    "min_samples_leaf": Integer(2, "Least number of rows on either side of a split.", minimum=1),
    "most_iterations": Integer(200, "Largest number of boosting steps a node that cross-validation tries.", minimum=1),
    "folds": Integer(5, "Folds of both cross-validations: number of steps, and pruning.", minimum=2),
    },
    "offer_boosting": {
        "max_iter": Integer(None, "Number of trees; null: chosen by cross-validation.", minimum=1, null=True),
        "max_leaf_nodes": Integer(None, "Largest number of leaves; null: chosen likewise.", minimum=2, null=True),
        "learning_rate": Number(0.1, "Shrinkage of each tree.", above=0, maximum=1),
        "min_samples_leaf": Integer(20, "Least rows in a leaf.", minimum=1),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "logitboost": "LogitBoost",
    "logistic_tree": "Logistic model tree",
    "offer_boosting": "Boosting, monotone in the offer",
}
VALUE_LABELS = {"per_component": {True: "by component"}}
#: Largest working response |z|.
Z_LIMIT = 3.0
#: Boosting ends early where a step lowers the training log loss by less than this.
STALLED = 1e-10
#: Numbers of trees, and of leaves of each, among which cross-validation chooses; its folds, the
#: rows that are asked, and the places where a feature may be split.
SIZES, LEAVES = (10, 20, 30, 50, 75, 100), (6,)
FOLDS, ASKED_ROWS, BINS = 3, 20_000, 64


class Boost:
    """LogitBoost on fixed rows, a step at a time (Friedman, Hastie & Tibshirani 2000, alg. 3).

    A step fits the working response ``z = (y - p) / (p (1 - p))`` by weighted least squares,
    weights ``w = p (1 - p)``, on each column alone (with an intercept), takes the column with
    the least weighted squared error, and adds its line to the log-odds. The sum is a linear
    model, a maximum-likelihood logistic regression in the limit.

    z is kept within [-3, 3] (the paper suggests 2 to 4), and where it is cut the weight
    becomes ``(y - p) / z``: so ``w z = y - p`` still holds, steps only get shorter, and the
    limit is that of the likelihood, which a cut of z alone would move. It goes on from the linear
    model ``coef, intercept``, if given, both in units of the columns.
    """

    def __init__(self, Z, y, coef=None, intercept=0.0):
        self.y = np.asarray(y, dtype=float)
        self.center = Z.mean(axis=0)
        scale = Z.std(axis=0)
        used = (np.ptp(Z, axis=0) > 0) & (scale > 1e-12 * np.abs(self.center))
        self.scale = np.where(used, scale, 1.0)
        rows = np.where(used, (Z - self.center) / self.scale, 0.0)
        # Of each column: a contiguous line, and its squares, for the sums of each step.
        self.lines = np.ascontiguousarray(rows.T)
        self.both = np.vstack([self.lines, self.lines**2])
        self.coef = np.zeros(Z.shape[1]) if coef is None else np.array(coef, dtype=float)
        self.intercept = float(intercept)
        self.log_odds = Z @ self.coef + self.intercept
        self.loss = self.log_loss()

    def log_loss(self):
        """Mean -log p(y) of the rows."""
        entropy = np.logaddexp(0.0, self.log_odds).sum() - self.y @ self.log_odds
        return float(entropy) / len(self.y)

    def step(self):
        """Add one line: its column (-1 where nothing was gained), slope, level on the log-odds."""
        residual = self.y - 0.5 * (1.0 + np.tanh(0.5 * self.log_odds))
        # |z| = 1 / p(y), so the weight is |y - p| times p(y), and |y - p| / 3 where cut.
        weight = np.abs(residual) * np.maximum(1.0 - np.abs(residual), 1.0 / Z_LIMIT)
        weight = np.maximum(weight, 1e-12)
        moments = self.both @ weight
        total, response, width = weight.sum(), residual.sum(), len(self.lines)
        mean = moments[:width] / total
        spread = moments[width:] / total - mean**2
        covariance = (self.lines @ residual - mean * response) / total
        usable = spread > 1e-10
        gain = np.where(usable, covariance**2 / np.where(usable, spread, 1.0), 0.0)
        best = int(np.argmax(gain))
        slope = covariance[best] / spread[best] if usable[best] else 0.0
        level = response / total - slope * mean[best]
        line, before = self.lines[best], self.log_odds
        for _ in range(30):
            self.log_odds = before + level + slope * line
            loss = self.log_loss()
            if loss < self.loss - STALLED:
                self.loss = loss
                unscaled = slope / self.scale[best]
                shift = level - unscaled * self.center[best]
                self.coef[best] += unscaled
                self.intercept += shift
                return best, unscaled, shift
            if loss <= self.loss + STALLED:
                break
            # Newton steps overshoot at times; a shorter one does not.
            slope, level = slope / 2, level / 2
        self.log_odds = before
        return -1, 0.0, 0.0


def loss(log_odds, y):
    """Mean log loss of rows."""
    return float(np.mean(np.logaddexp(0.0, log_odds) - np.asarray(y, dtype=float) * log_odds))


def fold_numbers(y, folds, rng):
    """Fold of each row, each class spread evenly over the folds."""
    order = rng.permutation(len(y))
    order = order[np.argsort(np.asarray(y)[order], kind="stable")]
    numbers = np.empty(len(y), dtype=int)
    numbers[order] = np.arange(len(y)) % folds
    return numbers


def cross_validated_iterations(Z, y, rng, *, folds=5, most=500, patience=50):
    """Number of steps with the least cross-validated loss, the first one on ties; losses by steps.

    The folds advance together, and end where the mean loss had no new minimum for `patience`
    steps. A fold whose steps gain no more stays as it is.
    """
    number = fold_numbers(y, folds, rng)
    parts = [
        (Boost(Z[number != k], y[number != k]), Z[number == k], y[number == k])
        for k in np.unique(number)
        if (number != k).any()
    ]
    held = [np.zeros(len(own)) for _, _, own in parts]
    sizes = np.array([len(own) for _, _, own in parts], dtype=float)

    def mean_loss():
        own = [loss(odds, y) for odds, (_, _, y) in zip(held, parts, strict=True)]
        return float(np.dot(own, sizes) / sizes.sum())

    losses, moving = [mean_loss()], [True] * len(parts)
    while len(losses) <= most and any(moving):
        for k, (boost, columns, _) in enumerate(parts):
            if moving[k]:
                best, slope, level = boost.step()
                moving[k] = best >= 0
                if moving[k]:
                    held[k] = held[k] + level + slope * columns[:, best]
        losses.append(mean_loss())
        if len(losses) - 1 - int(np.argmin(losses)) >= patience:
            break
    return int(np.argmin(losses)), np.array(losses)


def boosted(Z, y, iterations, coef=None, intercept=0.0):
    """Linear model after at most so many steps: coef (p,), intercept, log-odds (n,), steps."""
    boost, steps = Boost(Z, y, coef, intercept), 0
    while steps < iterations and boost.step()[0] >= 0:
        steps += 1
    return boost.coef, boost.intercept, boost.log_odds, steps


@dataclass(eq=False, repr=False)
class LogitBoost(OfferBaseline):
    """LogitBoost on features and offer, by cross-validation the number of steps if 0.

    The "LR" of Noor et al.: as in Weka's SimpleLogistic, steps are simple linear regressions
    and their number minimises a cross-validated loss, here log loss. There it is the number of
    misclassified rows, by which no step is taken where less than half accept everywhere: p = 1/2
    for everyone. Early stopping both selects and shrinks features. ``models_`` have ``coef``
    (p,), ``intercept`` and ``iterations``.

    References
    ----------
    Friedman, Hastie & Tibshirani (2000), Annals of Statistics 28(2), algorithm 3.
    Landwehr, Hall & Frank (2005), Machine Learning 59, section 2.
    """

    STORED = ("coef", "intercept", "iterations")

    iterations: int = 0
    most_iterations: int = 500
    patience: int = 50
    folds: int = 5

    def _fit(self, Z, y, rng):
        steps = self.iterations
        if not steps:
            how = {"folds": self.folds, "patience": self.patience, "most": self.most_iterations}
            steps, _ = cross_validated_iterations(Z, y, rng, **how)
        coef, intercept, _, steps = boosted(Z, y, steps)
        return {"coef": coef, "intercept": intercept, "iterations": steps}

    def refitted(self, Z, y, times):
        """``coef, intercept`` after as many steps on rows of the design taken so many times."""
        steps = int(self.models_[0]["iterations"])
        return boosted(np.repeat(Z, times, axis=0), np.repeat(y, times), steps)[:2]


def best_split(Z, y, min_samples_leaf=2):
    """Two-way split with the largest information gain: column, threshold, gain; None if none.

    Candidates are the midpoints between neighbouring values of each column. As in C4.5
    release 8, the gain of a column is charged log2(its number of candidates) / n bits, and a
    split needs a gain above the charge. Which rows go where depends on the order of the
    values alone, so any increasing transformation of a column gives the same two groups.
    """

    def entropy(positive, count):
        share = positive / count
        return (entr(share) + entr(1 - share)) / np.log(2)

    count, total = len(y), y.sum()
    order = np.argsort(Z, axis=0, kind="stable")
    values = np.take_along_axis(Z, order, axis=0)
    allowed = values[1:] > values[:-1]
    candidates = allowed.sum(axis=0)
    left = np.arange(1, count)[:, None]
    allowed &= (left >= min_samples_leaf) & (count - left >= min_samples_leaf)
    columns = np.flatnonzero(allowed.any(axis=0))
    if not len(columns):
        return None
    positive = np.cumsum(y[order[:, columns]], axis=0)[:-1]
    after = left * entropy(positive, left)
    after += (count - left) * entropy(total - positive, count - left)
    gain = np.where(allowed[:, columns], entropy(total, count) - after / count, -np.inf)
    at = gain.argmax(axis=0)
    worth = gain[at, np.arange(len(columns))] - np.log2(candidates[columns]) / count
    # Rounding must not choose between columns that are equally good: the first one wins.
    best = int(np.argmax(worth >= worth.max() - 1e-12))
    if worth[best] <= 1e-12:
        return None
    column, place = int(columns[best]), int(at[best])
    low, high = values[place, column], values[place + 1, column]
    middle = low + (high - low) / 2
    return column, float(middle if low <= middle < high else low), float(worth[best])


class _Tree:
    """Nodes as parallel lists; node 0 is the root."""

    def __init__(self):
        self.column, self.threshold, self.left, self.right = [], [], [], []
        self.coef, self.intercept, self.risk = [], [], []

    def add(self, coef, intercept, risk):
        """A new leaf; its number."""
        leaf = {"column": -1, "threshold": 0.0, "left": -1, "right": -1}
        for name, value in (leaf | {"coef": coef, "intercept": intercept, "risk": risk}).items():
            getattr(self, name).append(value)
        return len(self.column) - 1

    def arrays(self, split=None):
        """Arrays of the tree, or of the subtree in which the nodes in `split` are split."""
        split = np.array(self.column) >= 0 if split is None else split
        order = [0]
        for node in order:
            order += [self.left[node], self.right[node]] if split[node] else []
        inner, number = split[order], np.full(len(split), -1)
        number[order] = np.arange(len(order))
        leaf = {
            "column": (self.column, -1),
            "threshold": (self.threshold, 0.0),
            "left": (number[self.left], -1),
            "right": (number[self.right], -1),
        }
        return {
            **{name: np.where(inner, np.array(v)[order], none) for name, (v, none) in leaf.items()},
            "coef": np.array(self.coef)[order],
            "intercept": np.array(self.intercept)[order],
        }

    def weakest_links(self, held=None):
        """CART's sequence of subtrees, from the whole tree to its root alone: alphas, last, totals.

        Alphas (s,), ascending from 0, are the charges for each leaf from which on a subtree is the
        best; `last` (nodes,) is the last subtree in which a node is split, -1 for leaves (subtree
        number s is ``arrays(last >= s)``); totals (s,) are sums of `held`, anything that adds up
        over leaves, such as the loss of held-out rows in each node.
        """
        alive = np.array(self.column) >= 0
        risk, held = np.array(self.risk), np.zeros(len(alive)) if held is None else held
        # Sums over the leaves below each node: risk, number, held.
        below = np.column_stack([risk, np.ones(len(alive)), held])
        parent = np.full(len(alive), -1)
        # Children come after their parents, so one pass backwards sums whole branches.
        for node in np.flatnonzero(alive)[::-1]:
            children = [self.left[node], self.right[node]]
            below[node], parent[children] = below[children].sum(axis=0), node
        last = np.full(len(alive), -1)
        alphas, totals = [0.0], []
        while alive.any():
            inner = np.flatnonzero(alive)
            link = (risk[inner] - below[inner, 0]) / (below[inner, 1] - 1)
            weakest = link.min()
            if weakest > alphas[-1] + 1e-12:
                totals.append(below[0, 2])
                alphas.append(float(weakest))
            for node in inner[link <= weakest + 1e-12]:
                if not alive[node]:
                    continue
                branch = [node]
                for one in branch:
                    if alive[one]:
                        alive[one], last[one] = False, len(alphas) - 2
                        branch += [self.left[one], self.right[one]]
                change = np.array([risk[node], 1.0, held[node]]) - below[node]
                while node >= 0:
                    below[node] += change
                    node = parent[node]
        totals.append(below[0, 2])
        return np.array(alphas), last, np.array(totals)

    def held_losses(self, Z, y):
        """Summed loss of rows in each node that they pass, by that node's model."""
        sums, stack = np.zeros(len(self.column)), [(0, np.arange(len(y)))]
        while stack:
            node, rows = stack.pop()
            if len(rows):
                log_odds = Z[rows] @ self.coef[node] + self.intercept[node]
                sums[node] = loss(log_odds, y[rows]) * len(rows)
                if self.column[node] >= 0:
                    goes_left = Z[rows, self.column[node]] <= self.threshold[node]
                    stack += [(self.left[node], rows[goes_left])]
                    stack += [(self.right[node], rows[~goes_left])]
        return sums


def grow(Z, y, iterations, *, min_samples_split=15, min_samples_leaf=2):
    """A full tree of LogitBoost models.

    The root's model is boosted for `iterations` steps; each child goes on from its parent's
    model for as many steps on its own rows. A node is split while it has both answers, at
    least `min_samples_split` rows and a split that is worth it (`best_split`).
    """
    tree = _Tree()

    def node(rows, coef, intercept):
        coef, intercept, log_odds, _ = boosted(Z[rows], y[rows], iterations, coef, intercept)
        return tree.add(coef, intercept, loss(log_odds, y[rows]) * len(rows) / len(y))

    stack = [(node(np.arange(len(y)), None, 0.0), np.arange(len(y)))]
    while stack:
        number, rows = stack.pop()
        if len(rows) < min_samples_split or y[rows].min() == y[rows].max():
            continue
        split = best_split(Z[rows], y[rows], min_samples_leaf)
        if split is None:
            continue
        column, threshold, _ = split
        goes_left = Z[rows, column] <= threshold
        sides = [rows[goes_left], rows[~goes_left]]
        children = [node(side, tree.coef[number], tree.intercept[number]) for side in sides]
        tree.column[number], tree.threshold[number] = column, threshold
        tree.left[number], tree.right[number] = children
        stack += zip(children, sides, strict=True)
    return tree


@dataclass(eq=False, repr=False)
class LogisticTree(NodeTables, OfferBaseline):
    """Logistic model tree on features and offer.

    As in Landwehr, Hall & Frank (2005): LogitBoost models in the nodes, a child's grown from its
    parent's; CART pruning, its charge for each leaf chosen by cross-validation (on ties the smaller
    tree). Simpler than there, and to be said with any result: the number of boosting steps is
    cross-validated at the root and used in every node (their faster variant, Weka's default);
    splits are two-way, on numbers (categories come as columns of 0 and 1), by information gain less
    C4.5's charge for the choice of threshold, not by gain ratio; the folds that choose the pruning
    grow their trees with the root's number of steps.

    References
    ----------
    Landwehr, Hall & Frank (2005), Machine Learning 59, sections 3 and 4.
    Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, chapter 3.
    """

    NODES = NodeTables.NODES | {"coef": float, "intercept": float}
    COUNTS = ("iterations", "leaves")

    min_samples_split: int = 15
    min_samples_leaf: int = 2
    most_iterations: int = 200
    folds: int = 5

    def _fit(self, Z, y, rng):
        how = {"folds": self.folds, "most": self.most_iterations}
        steps, _ = cross_validated_iterations(Z, y, rng, **how)
        tree = self._grown(Z, y, steps)
        alphas, last, _ = tree.weakest_links()
        chosen = self._pruning(Z, y, steps, alphas, rng) if len(alphas) > 1 else 0
        arrays = tree.arrays(last >= chosen)
        return arrays | {"iterations": steps, "leaves": int((arrays["column"] < 0).sum())}

    def _grown(self, Z, y, steps):
        least = {name: getattr(self, name) for name in ("min_samples_split", "min_samples_leaf")}
        return grow(Z, y, steps, **least)

    def _pruning(self, Z, y, steps, alphas, rng):
        """Number of the subtree with the least cross-validated loss."""
        between = np.sqrt(alphas * np.append(alphas[1:], np.inf))
        number = fold_numbers(y, self.folds, rng)
        total = np.zeros(len(alphas))
        for k in np.unique(number):
            own = number == k
            if own.all():
                continue
            tree = self._grown(Z[~own], y[~own], steps)
            held = tree.held_losses(Z[own], y[own])
            limits, _, losses = tree.weakest_links(held)
            total += losses[np.searchsorted(limits, between, side="right") - 1]
        return len(total) - 1 - int(np.argmin(total[::-1]))

    def _constant(self, log_odds, p):
        tree = _Tree()
        tree.add(np.zeros(p), log_odds, 0.0)
        return tree.arrays() | {"iterations": 0, "leaves": 1}

    def _probability(self, arrays, Z):
        at = self._ends(arrays, Z)
        return expit(np.einsum("np,np->n", Z, arrays["coef"][at]) + arrays["intercept"][at])


@dataclass(eq=False, repr=False)
class OfferBoosting(OfferBaseline):
    """Gradient boosting of trees that never fall as the offer rises.

    Sizes that are null are those of least cross-validated log loss, of some rows at random where
    there are many. The curves of people are steps of any height and place. Where a step falls
    between two offers that were made the rows cannot say: there acceptance goes from one to the
    other in a line. Best offers are offers that were made, next to a step.
    ``models_`` has the arrays of `counterweight.numerics.boosted_trees`, and ``gaps`` (m, 2), in
    order: the offers that were made last before each step and first after it; ``sizes`` (4,) are
    trees, leaves, shrinkage and least rows of a leaf.
    """

    STORED = (
        "tree_nodes",
        "tree_sets",
        "tree_categories",
        "tree_categorical",
        "tree_baseline",
        "gaps",
        "iterations",
        "sizes",
    )

    max_iter: int | None = None
    max_leaf_nodes: int | None = None
    learning_rate: float = 0.1
    min_samples_leaf: int = 20

    def _designed(self, X, categories):
        return OfferDesign().fit(X)

    def _grown(self, Z, y, trees, leaves):
        options = {"max_iter": trees, "max_leaf_nodes": leaves}
        options |= {name: getattr(self, name) for name in ("learning_rate", "min_samples_leaf")}
        rising = np.append(np.zeros(Z.shape[1] - 1, dtype=int), 1)
        return fit_trees(Z, y, options=options, bins=BINS, rising=rising)

    def _fit(self, Z, y, rng):
        trees, leaves = self.max_iter, self.max_leaf_nodes
        if trees is None or leaves is None:
            asked = some_rows(len(Z), ASKED_ROWS, rng)
            trees, leaves = self._sizes(Z[asked], y[asked], rng)
        self.n_iter_ = trees
        return self._of(Z, y, trees, leaves)

    def _of(self, Z, y, trees, leaves):
        made = trees_to_arrays(self._grown(Z, y, trees, leaves))
        made |= {"gaps": _gaps(made, Z[:, -1]), "iterations": trees}
        made["sizes"] = np.array([trees, leaves, self.learning_rate, self.min_samples_leaf])
        return {name: made[name] for name in self.STORED}

    def regrown(self, Z, y):
        """Arrays of as many trees of the same kind for other rows of the design."""
        trees, leaves, rate, least = np.ravel(self.models_[0]["sizes"])
        same = type(self)(learning_rate=float(rate), min_samples_leaf=int(least))
        return same._of(Z, y, int(trees), int(leaves))

    def along(self, arrays, Z, offers):
        """Chance (n, m) that rows of the design, whatever their offer, accept each of some (m,)."""
        (low, high), t = np.reshape(arrays["gaps"], (-1, 2)).T, np.asarray(offers, dtype=float)
        at = np.searchsorted(low, t) - 1
        within = np.flatnonzero((at >= 0) & (t < np.append(high, -np.inf)[at]))
        ends, part = np.stack([t, t]), np.zeros(len(t))
        ends[:, within] = low[at[within]], high[at[within]]
        part[within] = (t - ends[0])[within] / np.ptp(ends, axis=0)[within]
        asked, place = np.unique(ends, return_inverse=True)
        first, last = np.moveaxis(
            expit(raw_along(arrays, Z, asked))[:, place.reshape(ends.shape)], 1, 0
        )
        return first + (last - first) * part

    def _sizes(self, Z, y, rng):
        """Numbers of trees and leaves of least log loss on rows that the trees did not see."""
        sizes = SIZES if self.max_iter is None else (self.max_iter,)
        fold, found = fold_numbers(y, FOLDS, rng), {}
        for most in LEAVES if self.max_leaf_nodes is None else (self.max_leaf_nodes,):
            total = np.zeros(len(sizes))
            for k in np.unique(fold):
                held = fold == k
                grown = self._grown(Z[~held], y[~held], max(sizes), most)
                stages = enumerate(grown.staged_predict_proba(Z[held]), 1)
                odds = {at: p[:, 1] for at, p in stages if at in sizes}
                for at, size in enumerate(sizes):
                    given = np.where(y[held] > 0.5, odds[size], 1 - odds[size])
                    total[at] -= np.log(np.maximum(given, 1e-12)).sum()
            found |= {(size, most): loss for size, loss in zip(sizes, total, strict=True)}
        return min(found, key=found.get)

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        if "gaps" not in arrays:
            raise CounterweightError(
                "This boosting of offers was saved by version 1.0.0, whose best offers may be some "
                "that nobody made: fit it again."
            )
        return super().from_arrays(arrays)

    def steps(self):
        """Offers that were made next to a step."""
        return np.unique(self.models_[0]["gaps"])

    def _constant(self, log_odds, p):
        none = {"tree_nodes": np.empty((0, 8)), "tree_sets": np.empty((0, 0))}
        none |= {"tree_categories": np.empty((p, 0)), "tree_categorical": np.zeros(p)}
        none |= {"tree_baseline": np.array(log_odds), "gaps": np.empty((0, 2))}
        return none | {"iterations": 0, "sizes": np.zeros(4)}

    def _probability(self, arrays, Z):
        low, high = np.reshape(arrays["gaps"], (-1, 2)).T
        t = Z[:, -1]
        at = np.searchsorted(low, t) - 1  # the last gap that begins below
        within = np.flatnonzero((at >= 0) & (t < np.append(high, -np.inf)[at]))
        p = expit(raw_predict(arrays, Z))
        if len(within):
            low, high = low[at[within]], high[at[within]]
            ends = np.repeat(Z[None, within], 2, axis=0)
            ends[:, :, -1] = low, high
            first, last = (expit(raw_predict(arrays, rows)) for rows in ends)
            p[within] = first + (last - first) * (t[within] - low) / (high - low)
        return p


def _gaps(arrays, made):
    """Offers of those made (n,) that are next to a threshold of the trees, (m, 2) in order."""
    nodes, made = np.asarray(arrays["tree_nodes"]).reshape(-1, 8), np.unique(made)
    last = len(arrays["tree_categorical"]) - 1
    after = np.searchsorted(made, np.unique(nodes[nodes[:, 1] == last, 2]), side="right")
    after = np.unique(after[(after > 0) & (after < len(made))])
    return np.column_stack([made[after - 1], made[after]])
