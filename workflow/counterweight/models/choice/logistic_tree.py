"""Logistic model tree: a decision tree with a LogitBoost model in every leaf."""

from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit

from counterweight.fragments import Choice, Integer
from counterweight.models.choice.baseline import BASELINE_OPTIONS, OfferBaseline
from counterweight.models.choice.logitboost import (
    boosted,
    cross_validated_iterations,
    fold_numbers,
    loss,
)

KIND = "offers"
OPTIONS = {
    **BASELINE_OPTIONS,
    "smallest_split": Integer(15, "A node of fewer rows is not split.", minimum=2),
    "smallest_leaf": Integer(2, "Least number of rows on either side of a split.", minimum=1),
    "most_iterations": Integer(200, "Largest number of boosting steps a node that cross-validation tries.", minimum=1),
    "folds": Integer(5, "Folds of both cross-validations: number of steps, and pruning.", minimum=2),
    "criterion": Choice("log_loss", ["log_loss", "misclassification"],
        "Loss of the cross-validation of the steps and of the pruning; misclassification is that of Landwehr et al."),
}  # fmt: skip
LABEL = "Logistic model tree"
ROLE = "peer"
VALUE_LABELS = {"per_component": {True: "by component"}}


#: Arrays that a tree is stored in, by node, and their types.
NODES = {
    "column": int,
    "threshold": float,
    "left": int,
    "right": int,
    "coef": float,
    "intercept": float,
}


def _entropy(positive, count):
    """Bits of a share of positives."""
    share = positive / count
    return (entr(share) + entr(1 - share)) / np.log(2)


def best_split(Z, y, smallest_leaf=2):
    """Two-way split with the largest information gain.

    Candidates are the midpoints between neighbouring values of each column. As in C4.5
    release 8, the gain of a column is charged log2(its number of candidates) / n bits, and a
    split needs a gain above the charge. Which rows go where depends on the order of the
    values alone, so any increasing transformation of a column gives the same two groups.

    Parameters
    ----------
    Z : ndarray (n, p)
    y : ndarray (n,) of 0/1
    smallest_leaf : int

    Returns
    -------
    (column, threshold, gain) or None
        Rows with a value at or below the threshold go left.
    """
    count, total = len(y), y.sum()
    order = np.argsort(Z, axis=0, kind="stable")
    values = np.take_along_axis(Z, order, axis=0)
    allowed = values[1:] > values[:-1]
    candidates = allowed.sum(axis=0)
    left = np.arange(1, count)[:, None]
    allowed &= (left >= smallest_leaf) & (count - left >= smallest_leaf)
    columns = np.flatnonzero(allowed.any(axis=0))
    if not len(columns):
        return None
    positive = np.cumsum(y[order[:, columns]], axis=0)[:-1]
    after = left * _entropy(positive, left)
    after += (count - left) * _entropy(total - positive, count - left)
    gain = np.where(allowed[:, columns], _entropy(total, count) - after / count, -np.inf)
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
        if split is None:
            split = np.array(self.column) >= 0
        order = [0]
        for node in order:
            if split[node]:
                order += [self.left[node], self.right[node]]
        inner, number = split[order], np.full(len(split), -1)
        number[order] = np.arange(len(order))

        def of_split(values, leaf):
            return np.where(inner, np.asarray(values)[order], leaf)

        return {
            "column": of_split(self.column, -1),
            "threshold": of_split(self.threshold, 0.0),
            "left": of_split(number[self.left], -1),
            "right": of_split(number[self.right], -1),
            "coef": np.array(self.coef)[order],
            "intercept": np.array(self.intercept)[order],
        }

    def weakest_links(self, held=None):
        """CART's sequence of subtrees, from the whole tree to its root alone.

        Parameters
        ----------
        held : ndarray (nodes,), optional
            Anything that adds up over leaves, such as the loss of held-out rows in each node.

        Returns
        -------
        alphas : ndarray (s,)
            Ascending from 0: the charge for each leaf from which on a subtree is the best.
        last : ndarray of int (nodes,)
            The last subtree in which a node is split; -1 for leaves. Subtree number s is
            ``arrays(last >= s)``.
        totals : ndarray (s,)
            Sum of `held` over the leaves of each subtree.
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
                if alive[node]:
                    self._cut(node, alive, last, len(alphas) - 2)
                    change = np.array([risk[node], 1.0, held[node]]) - below[node]
                    while node >= 0:
                        below[node] += change
                        node = parent[node]
        totals.append(below[0, 2])
        return np.array(alphas), last, np.array(totals)

    def _cut(self, node, alive, last, number):
        """Make a node a leaf; `number` is the last subtree in which it was none."""
        queue = [node]
        while queue:
            node = queue.pop()
            if alive[node]:
                alive[node], last[node] = False, number
                queue += [self.left[node], self.right[node]]

    def held_losses(self, Z, y, criterion):
        """Summed loss of rows in each node that they pass, by that node's model."""
        sums = np.zeros(len(self.column))
        stack = [(0, np.arange(len(y)))]
        while stack:
            node, rows = stack.pop()
            if len(rows):
                log_odds = Z[rows] @ self.coef[node] + self.intercept[node]
                sums[node] = loss(criterion, log_odds, y[rows]) * len(rows)
                if self.column[node] >= 0:
                    goes_left = Z[rows, self.column[node]] <= self.threshold[node]
                    stack += [(self.left[node], rows[goes_left])]
                    stack += [(self.right[node], rows[~goes_left])]
        return sums


def grow(Z, y, iterations, *, smallest_split=15, smallest_leaf=2, criterion="log_loss"):
    """A full tree of LogitBoost models.

    The root's model is boosted for `iterations` steps; each child goes on from its parent's
    model for as many steps on its own rows. A node is split while it has both answers, at
    least `smallest_split` rows and a split that is worth it (`best_split`).

    Returns
    -------
    _Tree
    """
    tree = _Tree()

    def node(rows, coef, intercept):
        coef, intercept, log_odds, _ = boosted(Z[rows], y[rows], iterations, coef, intercept)
        return tree.add(coef, intercept, loss(criterion, log_odds, y[rows]) * len(rows) / len(y))

    stack = [(node(np.arange(len(y)), None, 0.0), np.arange(len(y)))]
    while stack:
        number, rows = stack.pop()
        if len(rows) < smallest_split or y[rows].min() == y[rows].max():
            continue
        split = best_split(Z[rows], y[rows], smallest_leaf)
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


def leaves(arrays, Z):
    """Leaf that each row falls into."""
    at = np.zeros(len(Z), dtype=int)
    rows = np.arange(len(Z))
    column, threshold = arrays["column"], arrays["threshold"]
    while len(rows):
        inner = column[at[rows]] >= 0
        rows = rows[inner]
        node = at[rows]
        goes_left = Z[rows, column[node]] <= threshold[node]
        at[rows] = np.where(goes_left, arrays["left"][node], arrays["right"][node])
    return at


def leaf_log_odds(arrays, Z):
    """Log-odds of each row by the model of its leaf."""
    at = leaves(arrays, Z)
    return np.einsum("np,np->n", Z, arrays["coef"][at]) + arrays["intercept"][at]


@dataclass(eq=False, repr=False)
class LogisticTree(OfferBaseline):
    """Logistic model tree on features and offer.

    As in Landwehr, Hall & Frank (2005): LogitBoost models in the nodes, a child's grown from
    its parent's; CART pruning, its charge for each leaf chosen by cross-validation (on ties
    the smaller tree). Simpler than there, and to be said with any result:

    - the number of boosting steps is cross-validated at the root and used in every node (their
      faster variant, Weka's default);
    - splits are two-way, on numbers (categories come as columns of 0 and 1), by information
      gain less C4.5's charge for the choice of threshold, not by gain ratio;
    - the folds that choose the pruning grow their trees with the root's number of steps.

    Parameters
    ----------
    interactions, per_component : bool
    smallest_split, smallest_leaf, most_iterations, folds : int
    criterion : {"log_loss", "misclassification"}

    Attributes
    ----------
    models_ : list of dict
        Arrays of each tree: ``column`` (-1 in a leaf), ``threshold``, ``left``, ``right``,
        ``coef`` (nodes, p), ``intercept``; ``iterations`` and ``leaves``.

    References
    ----------
    Landwehr, Hall & Frank (2005), Machine Learning 59, sections 3 and 4.
    Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees, chapter 3.
    """

    smallest_split: int = 15
    smallest_leaf: int = 2
    most_iterations: int = 200
    folds: int = 5
    criterion: str = "log_loss"

    def _fit(self, Z, y, rng):
        steps, _ = cross_validated_iterations(
            Z, y, rng, folds=self.folds, most=self.most_iterations, criterion=self.criterion
        )
        tree = self._grown(Z, y, steps)
        alphas, last, _ = tree.weakest_links()
        chosen = self._pruning(Z, y, steps, alphas, rng) if len(alphas) > 1 else 0
        arrays = tree.arrays(last >= chosen)
        return arrays | {"iterations": steps, "leaves": int((arrays["column"] < 0).sum())}

    def _grown(self, Z, y, steps):
        return grow(
            Z,
            y,
            steps,
            smallest_split=self.smallest_split,
            smallest_leaf=self.smallest_leaf,
            criterion=self.criterion,
        )

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
            held = tree.held_losses(Z[own], y[own], self.criterion)
            limits, _, losses = tree.weakest_links(held)
            total += losses[np.searchsorted(limits, between, side="right") - 1]
        return len(total) - 1 - int(np.argmin(total[::-1]))

    def _constant(self, log_odds, p):
        tree = _Tree()
        tree.add(np.zeros(p), log_odds, 0.0)
        return tree.arrays() | {"iterations": 0, "leaves": 1}

    def _probability(self, arrays, Z):
        return expit(leaf_log_odds(arrays, Z))

    def _stacked(self, models):
        together = {name: np.concatenate([m[name] for m in models]) for name in NODES}
        counts = {name: np.array([m[name] for m in models]) for name in ("iterations", "leaves")}
        return together | counts | {"nodes": np.array([len(m["column"]) for m in models])}

    def _unstacked(self, arrays, count):
        ends = np.cumsum(np.atleast_1d(arrays["nodes"]).astype(int))[:-1]
        parts = {name: np.split(arrays[name].astype(kind), ends) for name, kind in NODES.items()}
        counts = {name: np.asarray(arrays[name], int) for name in ("iterations", "leaves")}
        return [
            {name: values[m] for name, values in (parts | counts).items()} for m in range(count)
        ]
