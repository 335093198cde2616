"""Classes of hypotheses that splits are mixed of: what each answers to prices of the groups.

A hypothesis sends a row to side 1 or not. Prices g (K,) say what the weight of each group is
worth on side 1; the answer of a class is its hypothesis of (nearly) the largest worth. Each
hypothesis is told as paths: lists of conditions x b + b_0 > 0 on raw features that all hold on
one path at most, so that a row is on side 1 where all conditions of some path hold.
"""

import numpy as np

#: Cuts that are tried of a feature, at most.
CUTS = 16


class Linear:
    """Half-spaces 1[s(x) g > 0], with s(x) the regression of the groups on the features.

    The paired regression of Deng et al. (2023), Definition 14, for all prices at once.

    Parameters
    ----------
    design : counterweight.selection.proxies.split_oracle.Design
    rows : array of int or None
        Rows of the leaf; None for all.
    weight : array (n,)
        Of these rows.
    """

    #: Whether conditions lie between values of the features, where rounding moves no row.
    settled = False

    def __init__(self, design, rows, weight):
        self.design = design
        self.coefficients, X = design.regression(rows, weight)
        self.scores = X @ self.coefficients

    def values(self, directions):
        """What the class sees of prices: values whose range the cuts of a split lie in, (v, m)."""
        return self.scores @ directions.T

    def says(self, directions):
        """Whether rows are on side 1, by the answer to each of some prices, (n, m) of bool."""
        return self.values(directions) > 0

    def paths(self, directions):
        """Each answer as paths, these as pairs of coefficients (c, d) and intercepts (c,)."""
        b = (self.coefficients @ directions.T).T
        intercepts = b[:, -1]
        b = b[:, :-1] / self.design.scale
        intercepts = intercepts - b @ self.design.mean
        return [[(b[i : i + 1], intercepts[i : i + 1])] for i in range(len(b))]


class Stumps:
    """Single features against a cut, on either side of it: the best of all that are tried.

    Cuts lie between values of all training rows, at quantiles where a feature has many.

    Parameters as `Linear`.
    """

    settled = True

    def __init__(self, design, rows, weight):
        self.cuts = design.cuts()
        self.X = design.raw if rows is None else design.raw[rows]
        Z = design.Z if rows is None else design.Z[rows]
        wZ = Z * weight[:, None]
        self.total = wZ.sum(axis=0)
        above = []
        for feature, cuts in enumerate(self.cuts):
            cell = np.searchsorted(cuts, self.X[:, feature])
            sums = [np.bincount(cell, weights=one, minlength=len(cuts) + 1) for one in wZ.T]
            # Rows above cut i are those in the cells behind it.
            above.append(np.cumsum(np.column_stack(sums)[::-1], axis=0)[::-1][1:])
        self.above = np.concatenate(above)
        self.feature = np.repeat(np.arange(len(self.cuts)), [len(cuts) for cuts in self.cuts])
        self.cut = np.concatenate(self.cuts)
        self.first = design.first

    def values(self, directions):
        """Mean price of the rows on each side of each cut."""
        sides = np.concatenate([self.above, self.total - self.above])
        mass = sides[:, : self.first].sum(axis=1)
        return (sides[mass > 0] / mass[mass > 0, None]) @ directions.T

    def _best(self, directions):
        gain = self.above @ directions.T
        back = self.total @ directions.T - gain
        best = np.maximum(gain, back).argmax(axis=0)
        at = np.arange(len(directions))
        return best, gain[best, at] >= back[best, at]

    def says(self, directions):
        """As `Linear.says`."""
        best, up = self._best(directions)
        return (self.X[:, self.feature[best]] > self.cut[best]) == up

    def paths(self, directions):
        """As `Linear.paths`."""
        made = []
        for best, up in zip(*self._best(directions), strict=True):
            sign = 1.0 if up else -1.0
            b = np.zeros((1, self.X.shape[1]))
            b[0, self.feature[best]] = sign
            made.append([(b, np.array([-sign * self.cut[best]]))])
        return made


class Trees:
    """Unions of the cells of a shallow tree that regresses the groups on the features.

    1[s(x) g > 0] as `Linear`, with s(x) the groups' shares in the cell of x. CART, by
    scikit-learn.

    Parameters as `Linear`.
    """

    settled = True

    def __init__(self, design, rows, weight):
        from sklearn.tree import DecisionTreeRegressor

        self.X = design.raw if rows is None else design.raw[rows]
        Z = design.Z if rows is None else design.Z[rows]
        fitted = DecisionTreeRegressor(
            max_depth=design.depth, min_samples_leaf=max(1, len(self.X) // 200), random_state=0
        ).fit(self.X, Z, sample_weight=weight)
        self.tree = fitted.tree_
        self.shares = self.tree.value[:, :, 0]
        cell = np.zeros(len(self.X), int)
        for _ in range(design.depth):
            inside = self.tree.children_left[cell] >= 0
            at = cell[inside]
            right = self.X[inside, self.tree.feature[at]] > self.tree.threshold[at]
            cell[inside] = np.where(
                right, self.tree.children_right[at], self.tree.children_left[at]
            )
        self.scores = self.shares[cell]

    values, says = Linear.values, Linear.says

    def paths(self, directions):
        """As `Linear.paths`: one for each largest part of the tree that is all on side 1."""
        return [self._paths(0, direction, []) or [self._constant(-1.0)] for direction in directions]

    def _constant(self, sign):
        return np.zeros((1, self.X.shape[1])), np.array([sign])

    def _paths(self, node, direction, conditions):
        tree = self.tree
        if not self._one_sided(node, direction):
            found = []
            for child, sign in ((tree.children_left, -1.0), (tree.children_right, 1.0)):
                b = np.zeros(self.X.shape[1])
                b[tree.feature[node]] = sign
                own = [*conditions, (b, -sign * tree.threshold[node])]
                found += self._paths(child[node], direction, own)
            return found
        if not self.shares[self._ends(node)[0]] @ direction > 0:
            return []
        if not conditions:
            return [self._constant(1.0)]
        return [tuple(map(np.array, zip(*conditions, strict=True)))]

    def _ends(self, node):
        """Cells below a node."""
        if self.tree.children_left[node] < 0:
            return [node]
        children = self.tree.children_left[node], self.tree.children_right[node]
        return [end for child in children for end in self._ends(child)]

    def _one_sided(self, node, direction):
        return len({bool(self.shares[end] @ direction > 0) for end in self._ends(node)}) == 1


HYPOTHESES = {"linear": Linear, "stumps": Stumps, "trees": Trees}


def cuts_of(X):
    """Cuts of each feature: between its values, at quantiles where they are many."""
    made = []
    for column in X.T:
        values = np.unique(column)
        middle = (values[1:] + values[:-1]) / 2
        # Values that are neighbours as floats have no middle.
        middle = middle[(middle > values[:-1]) & (middle < values[1:])]
        if len(middle) > CUTS:
            wanted = np.quantile(column, np.linspace(0, 1, CUTS + 2)[1:-1])
            middle = middle[np.unique(np.searchsorted(middle, wanted).clip(0, len(middle) - 1))]
        made.append(middle)
    return made
