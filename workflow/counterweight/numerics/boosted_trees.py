"""Histogram gradient boosting as arrays of numbers, and predictions from them.

Each tree is a list of nodes. To predict, every feature of a row becomes a small whole number (its
place among all thresholds of that feature, or the place of its category); for each tree and
feature a table then tells, by that number, which leaves are still open. What is open by all
features is the row's leaf: the first of them, from left to right (QuickScorer: Lucchese et al.
2015, "QuickScorer: a fast algorithm to rank documents with additive ensembles of regression
trees"). There is no loop over rows. For few rows such tables take longer to make than to use: they
walk from the root of every tree to a leaf, all of them side by side.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer, Number
from counterweight.numerics.checks import number_table

#: Columns of the array ``tree_nodes``. ``set`` is the line of ``tree_sets`` of a split by category,
#: -1 elsewhere; ``left`` and ``right`` are places in the tree, 0 for a leaf.
NODE = ("tree", "feature", "threshold", "missing_left", "left", "right", "set", "value")
#: Options of the models that `fit_trees` fits.
TREES = {
    "max_iter": Integer(100, "Number of trees.", minimum=1),
    "learning_rate": Number(0.1, "Shrinkage of each tree.", above=0, maximum=1),
    "max_leaf_nodes": Integer(15, "Largest number of leaves.", minimum=2),
    "min_samples_leaf": Integer(20, "Least rows in a leaf.", minimum=1),
}  # fmt: skip
#: Rows handled at once, and leaves that one word of bits holds.
BATCH, WORD = 1 << 13, 64
#: Rows up to which a walk through the trees takes less time than tables of them.
WALKED = 1000


def fit_trees(
    X,
    y,
    weight=None,
    *,
    options,
    binary=True,
    categorical=None,
    bins=255,
    weigh_bins=True,
    rising=None,
):
    """Fit histogram gradient boosting (scikit-learn) with `options` of `TREES`; nothing is drawn.

    X (n, d) has NaN where a value is missing, which goes to the side that fits better; y (n,) is 0
    and 1 where `binary`, else numbers. Features that are codes of categories, `categorical` (d,),
    are split by sets; with those in `rising` (d,) predictions may only rise (1) or fall (-1).

    A feature may be split at `bins` places at most. With `weigh_bins` weights tell where these are,
    into which with weights the time goes; else they are quantiles of the rows as they are, found in
    a fraction of the time.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    component = HistGradientBoostingClassifier if binary else HistGradientBoostingRegressor
    edges = {}
    if weight is not None and np.ptp(weight) == 0:
        weight = None
    elif weight is not None and not weigh_bins:
        X, edges = _coarse(X, categorical, bins)
    model = component(
        max_iter=options["max_iter"],
        learning_rate=options["learning_rate"],
        max_leaf_nodes=options["max_leaf_nodes"],
        min_samples_leaf=options["min_samples_leaf"],
        max_bins=bins,
        early_stopping=False,
        categorical_features=categorical,
        monotonic_cst=rising,
        random_state=0,
    ).fit(X, y.astype(int) if binary else y, sample_weight=weight)
    model.edges_ = edges
    return model


def _coarse(X, categorical, bins):
    """Features of many values as numbers of their bins, and the edges of these by feature."""
    X, edges = X.copy(), {}
    for at in range(X.shape[1]):
        own = X[:, at]
        seen = np.sort(own[~np.isnan(own)])
        if (categorical is not None and categorical[at]) or len(np.unique(seen)) <= bins:
            continue
        cuts = np.arange(1, bins) * len(seen) // bins
        edges[at] = np.unique((seen[cuts - 1] + seen[cuts]) / 2)
        X[:, at] = np.where(np.isnan(own), np.nan, np.searchsorted(edges[at], own))
    return X, edges


def trees_to_arrays(model):
    """What scikit-learn's histogram gradient boosting has learned, as arrays by name.

    The model is of two classes or of one number; its categories must be numbers. ``tree_nodes (N,
    8)`` have the columns `NODE`; ``tree_sets (S, K)``, 1 where a category goes to the left;
    ``tree_categories (d, K)``, values of each feature's categories, NaN beyond them;
    ``tree_categorical (d,)``, 1 for features of categories; ``tree_baseline ()``, what is added to
    the trees; ``tree_rows (N,)``, rows of the fit below each node.
    """
    if model.n_trees_per_iteration_ != 1:
        raise CounterweightError(
            f"Boosted trees of {model.n_trees_per_iteration_} classes cannot be stored: "
            "choose an outcome of two classes."
        )
    d = model.n_features_in_
    categorical = model.is_categorical_
    known = [np.empty(0)] * d
    order = np.arange(d)
    if categorical is not None:
        # scikit-learn puts the features of categories before the others.
        order = np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])
        encoder = model._preprocessor.named_transformers_["encoder"]
        for feature, values in zip(np.flatnonzero(categorical), encoder.categories_, strict=True):
            known[feature] = _category_numbers(values, feature)
    width = max(map(len, known))
    categories = np.full((d, width), np.nan)
    for feature, values in enumerate(known):
        categories[feature, : len(values)] = values
    trees = [tree for (tree,) in model._predictors]
    sizes = [len(tree.nodes) for tree in trees]
    bitsets = np.concatenate([tree.raw_left_cat_bitsets for tree in trees])
    sets_before = np.cumsum([0, *(len(tree.raw_left_cat_bitsets) for tree in trees[:-1])])
    own = np.concatenate([tree.nodes for tree in trees])
    split = own["is_leaf"] == 0
    by_set = split & (own["is_categorical"] == 1)
    columns = {
        "tree": np.repeat(np.arange(len(trees)), sizes),
        "feature": np.where(split, order[np.where(split, own["feature_idx"], 0)], -1),
        "threshold": np.where(split & ~by_set, own["num_threshold"], 0.0),
        "missing_left": np.where(split, own["missing_go_to_left"], 0),
        "left": np.where(split, own["left"], 0),
        "right": np.where(split, own["right"], 0),
        "set": np.where(by_set, own["bitset_idx"] + np.repeat(sets_before, sizes), -1),
        "value": np.where(split, 0.0, own["value"]),
    }
    nodes = np.column_stack([columns[name] for name in NODE]).astype(float)
    bits = np.unpackbits(
        np.ascontiguousarray(bitsets).astype("<u4").view(np.uint8), bitorder="little"
    )
    for feature, edge in vars(model).get("edges_", {}).items():
        # Between the bins k and k + 1 lies the edge k; a split off what is missing has none.
        at = (nodes[:, 1] == feature) & np.isfinite(nodes[:, 2])
        nodes[at, 2] = edge[nodes[at, 2].astype(int)]
    return {
        "tree_nodes": nodes,
        "tree_sets": bits.reshape(-1, 256)[:, :width].astype(float),
        "tree_categories": categories,
        "tree_categorical": np.zeros(d) if categorical is None else categorical.astype(float),
        "tree_baseline": np.array(float(np.ravel(model._baseline_prediction)[0])),
        "tree_rows": own["count"].astype(float),
    }


def _category_numbers(values, feature):
    """Values of a feature's categories as floats, without a missing one."""
    try:
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The categories of feature {feature} are no numbers ({values[0]!r}), so its trees "
            "cannot be stored: give each category a number first."
        ) from error
    return values[~np.isnan(values)]


def raw_predict(arrays, X, kept=None):
    """Sum of the trees for rows (n, d), as scikit-learn adds it up: equal to the last bit.

    Of a classifier it is the log odds (n,) of the second class (positive: that is predicted); of a
    regression the prediction, or its logarithm for losses with a logarithmic link. `arrays` are
    from `trees_to_arrays`, other names passed over. X has NaN where a value is missing, and a
    category that was not seen counts as missing. `kept`, a dict, has the tables that many rows need
    from one call to the next with the same arrays.
    """
    X = number_table(X, empty=True)
    if len(X) <= WALKED:
        return _walked(arrays, X)
    trees, raw = _Trees.of(arrays, kept), np.empty(len(X))
    for part in trees.batches(X):
        raw[part] = trees.added(X[part])
    return raw


def raw_and_parts(arrays, X, kept=None):
    """Sum of the trees for rows, and what each feature contributes to it.

    A node's value is the mean of its leaves' over the rows of the fit. On a row's way from the
    root to its leaf, each step from a node to the next one changes the value; the change is put
    down to the feature that the node splits by (Saabas 2014; "approximate contributions" in
    other libraries). It adds up, and a feature that no tree uses has 0. Unlike Shapley values it
    takes the splits in the order of the tree: of two features that only matter together, the
    one split later gets more.

    `arrays`, `X`, `kept`: as in `raw_predict`; `arrays` has ``tree_rows``. Returns `raw`
    numpy.ndarray, shape (n,): as `raw_predict`, to the last bit; `base` float: mean of `raw` over
    the rows of the fit; `parts` numpy.ndarray, shape (n, d): ``base + parts.sum(axis=1)`` is `raw`
    up to rounding.
    """
    trees, X = _Trees.of(arrays, kept, parts=True), number_table(X, empty=True)
    raw, parts = np.empty(len(X)), np.zeros(X.shape[::-1])
    for part in trees.batches(X):
        raw[part] = trees.added(X[part], parts[:, part])
    return raw, trees.base, parts.T


def raw_along(arrays, X, values):
    """Sum of the trees for rows, with each of some values (m,) of their last feature, (n, m).

    As `raw_predict` up to rounding, of trees without categories and rows (n, d) without a missing
    value; the last column of X is passed over. Each leaf is a box: which rows are within it by the
    other features is asked once, and its part in the sums is a product of matrices.
    """
    nodes = np.asarray(arrays["tree_nodes"], dtype=float).reshape(-1, len(NODE))
    first, last = np.searchsorted(nodes[:, 0], nodes[:, 0]), X.shape[1] - 1
    ends, within = np.tile([-np.inf, np.inf], (len(nodes), 1)), [None] * len(nodes)
    inside, added = [], []
    for at, node in enumerate(nodes.tolist()):
        feature, mine, edge = int(node[1]), within[at], node[2]
        if feature < 0:
            inside.append(np.ones(len(X), bool) if mine is None else mine)
            low, high = ends[at]
            added.append(np.where((values > low) & (values <= high), node[7], 0.0))
            continue
        left, right = (first[at] + int(node[side]) for side in (4, 5))
        ends[left] = ends[right] = ends[at]
        if feature == last:
            within[left] = within[right] = mine
            ends[left, 1], ends[right, 0] = min(ends[at, 1], edge), max(ends[at, 0], edge)
            continue
        goes = X[:, feature] <= edge
        within[left], within[right] = goes, ~goes
        if mine is not None:
            within[left], within[right] = goes & mine, ~goes & mine
    raw = np.full((len(X), len(values)), float(np.ravel(arrays["tree_baseline"])[0]))
    return raw + np.array(inside, float).T @ np.array(added) if inside else raw


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


def _check_width(features, X):
    if X.shape[1] != features:
        raise CounterweightError(
            f"The trees have {features} features, the rows to predict {X.shape[1]}."
        )


def _walked(arrays, X):
    """`raw_predict`, from the root of every tree to the leaf of each row."""
    categorical = np.ravel(arrays["tree_categorical"]) > 0
    _check_width(len(categorical), X)
    value = np.array(X)
    for number in np.flatnonzero(categorical):
        known = np.asarray(arrays["tree_categories"], dtype=float)[number]
        known = known[~np.isnan(known)]
        code = np.searchsorted(known, value[:, number])
        seen = np.append(known, np.nan)[code] == value[:, number]
        value[:, number] = np.where(seen, code, np.nan)
    nodes = dict(
        zip(NODE, np.asarray(arrays["tree_nodes"], dtype=float).reshape(-1, 8).T, strict=True)
    )
    tree, feature, number = (nodes[name].astype(int) for name in ("tree", "feature", "set"))
    starts = np.searchsorted(tree, np.arange(int(tree.max(initial=-1)) + 1))
    left, right = (nodes[name].astype(int) + starts[tree] for name in ("left", "right"))
    sets, missing_left = np.asarray(arrays.get("tree_sets"), float), nodes["missing_left"] > 0
    at, trees = np.tile(starts, len(X)), len(starts)
    on = np.flatnonzero(feature[at] >= 0)
    while len(on):
        node = at[on]
        own = value[on // trees, feature[node]]
        missing = np.isnan(own)
        goes = np.where(missing, missing_left[node], nodes["threshold"][node] >= own)
        by_set = np.flatnonzero((number[node] >= 0) & ~missing)
        if len(by_set):
            goes[by_set] = sets[number[node[by_set]], own[by_set].astype(int)] > 0
        at[on] = np.where(goes, left[node], right[node])
        on = on[feature[at[on]] >= 0]
    raw = np.full(len(X), float(np.ravel(arrays["tree_baseline"])[0]))
    # Added up in the order of the trees, as scikit-learn does.
    for leaf in nodes["value"][at].reshape(len(X), trees).T:
        raw += leaf
    return raw


class _Trees:
    """Tables of open leaves, by tree, feature and the number of a value.

    With `parts` also what each feature has added on the way to each leaf, and `base`.
    """

    def __init__(self, arrays, parts=False):
        categorical = np.ravel(arrays["tree_categorical"]) > 0
        self.baseline = self.base = float(np.ravel(arrays["tree_baseline"])[0])
        d = len(categorical)
        nodes = np.asarray(arrays["tree_nodes"], dtype=float).reshape(-1, len(NODE))
        columns = dict(zip(NODE, nodes.T, strict=True))
        if parts:
            columns["rows"] = np.asarray(arrays["tree_rows"], dtype=float)
        feature = columns["feature"].astype(int)
        # A feature's values by number: edges of its intervals, or its categories.
        self.edges, self.categorical = [], categorical
        for number in range(d):
            if categorical[number]:
                values = np.asarray(arrays["tree_categories"], dtype=float)[number]
                self.edges.append(values[~np.isnan(values)])
            else:
                self.edges.append(np.unique(columns["threshold"][feature == number]))
        self.used = np.unique(feature[feature >= 0])
        tree, child = columns["tree"].astype(int), columns["right"].astype(int)
        starts = np.searchsorted(tree, np.arange(int(tree.max(initial=-1)) + 2))
        # Of a tree's nodes, those on the left of a split stand before those on its right: so leaves
        # stand from left to right. `before` are those of the tree that stand before a node.
        leaf = feature < 0
        before = np.append(0, np.cumsum(leaf))
        before, first = before[:-1] - before[starts[tree]], before[starts]
        # The leaves on the left of each split, from `low` to before `high`.
        low, high = before, before[np.where(leaf, 0, starts[tree] + child)]
        held = -(-np.diff(first) // WORD)
        words = max(1, int(held.max(initial=1)))
        leaves = np.zeros((len(held), WORD * words))
        leaves[tree[leaf], before[leaf]] = columns["value"][leaf]
        self.trees = [(own[: WORD * count], []) for own, count in zip(leaves, held, strict=True)]
        for number in self.used:
            at = np.flatnonzero(feature == number)
            told = {name: values[at] for name, values in columns.items()}
            goes = self._goes(number, told, arrays.get("tree_sets"))
            of, begun = np.unique(tree[at], return_index=True)
            table = np.empty((len(of), words, goes.shape[1]), np.uint64)
            for word in range(words):
                closed = ~_bits(low[at] - WORD * word, high[at] - WORD * word)[:, None]
                np.bitwise_and.reduceat(
                    np.where(goes, ~np.uint64(0), closed), begun, out=table[:, word]
                )
            for one, own in zip(of, table, strict=True):
                self.trees[one][1].append((number, own[: held[one]]))
        self.parts = []
        for start, stop, (own, _) in zip(starts[:-1], starts[1:], self.trees, strict=True):
            if parts:
                told = {name: values[start:stop] for name, values in columns.items()}
                self.parts.append(self._steps(told, own))

    @classmethod
    def of(cls, arrays, kept, parts=False):
        """Those that are `kept`, made where they are not."""
        kept = {} if kept is None else kept
        if parts not in kept:
            kept[parts] = cls(arrays, parts)
        return kept[parts]

    def _goes(self, number, own, sets):
        """Which values of a feature, the missing one last, each of its splits sends to the left."""
        edges = self.edges[number]
        goes = np.zeros((len(own["set"]), self._missing(number) + 1), bool)
        by_set = own["set"] >= 0
        if by_set.any():
            lines = own["set"][by_set].astype(int)
            goes[by_set, :-1] = np.asarray(sets)[lines, : len(edges)] > 0
        # The value after the last edge is above all thresholds.
        goes[~by_set, : len(edges)] = own["threshold"][~by_set, None] >= edges
        goes[:, -1] = own["missing_left"] > 0
        return goes

    def _steps(self, own, leaves):
        """What each feature of a tree adds on the way to each leaf; the root goes to the base."""
        feature, left, right = (own[name].astype(int) for name in ("feature", "left", "right"))
        place, spans = _spans(feature, left, right)
        rows = np.zeros(len(leaves))
        rows[place[feature < 0]] = own["rows"][feature < 0]
        means = [np.average(leaves[a:b], weights=rows[a:b]) for _, (a, b) in sorted(spans.items())]
        self.base += means[0]
        steps = {}
        for node in np.flatnonzero(feature >= 0):
            added = steps.setdefault(feature[node], np.zeros(len(leaves)))
            for child in (left[node], right[node]):
                added[slice(*spans[child])] += means[child] - means[node]
        return sorted(steps.items())

    def batches(self, X):
        """Slices of the rows, whose table is checked."""
        _check_width(len(self.categorical), X)
        return [slice(start, start + BATCH) for start in range(0, len(X), BATCH)]

    def _missing(self, number):
        """Number of a missing value of a feature."""
        return len(self.edges[number]) + (0 if self.categorical[number] else 1)

    def _numbered(self, X):
        """Number of each value, by feature; the last one is that of a missing value."""
        numbers = {}
        for feature in self.used:
            values, edges = X[:, feature], self.edges[feature]
            # The number of a value is that of the first edge that is not below it.
            number = np.searchsorted(edges, values)
            unknown = np.isnan(values)
            if self.categorical[feature]:
                unknown = ~(np.append(edges, np.nan)[number] == values)
            number[unknown] = self._missing(feature)
            numbers[feature] = number
        return numbers

    def added(self, X, parts=None):
        """Baseline and the value of each tree, in order; what features add goes to `parts`."""
        numbers = self._numbered(X)
        held, raw = np.empty(len(X), np.uint64), np.full(len(X), self.baseline)
        value = np.empty(len(X))
        for number, (leaves, tables) in enumerate(self.trees):
            words = len(leaves) // WORD
            leaf = np.zeros(len(X), int)
            for word in range(words - 1, -1, -1):
                open_ = np.full(len(X), ~np.uint64(0))
                for feature, table in tables:
                    np.take(table[word], numbers[feature], out=held, mode="clip")
                    open_ &= held
                if words == 1:
                    leaf = _first(open_)
                else:
                    leaf = np.where(open_ > 0, WORD * word + _first(open_), leaf)
            raw += np.take(leaves, leaf, out=value, mode="clip")
            for feature, steps in self.parts[number] if parts is not None else ():
                parts[feature] += np.take(steps, leaf, out=value, mode="clip")
        return raw


def _spans(feature, left, right):
    """Place of each leaf from left to right, (N,), and the leaves below each node as (from, to)."""
    place, spans = np.full(len(feature), -1), {}
    count, todo = 0, [(0, None)]
    while todo:
        node, begun = todo.pop()
        if feature[node] < 0:
            place[node] = count
            spans[node] = (count, count + 1)
            count += 1
        elif begun is None:
            todo += [(node, count), (right[node], None), (left[node], None)]
        else:
            spans[node] = (begun, count)
    return place, spans


def _bits(low, high):
    """Words with the bits from `low` to before `high` set, as far as a word has them."""
    low, high = (np.clip(end, 0, WORD).astype(np.uint64) for end in (low, high))
    one, full = np.uint64(1), ~np.uint64(0)
    # A word cannot be shifted by all of its bits.
    below = [np.where(end == WORD, full, (one << (end % WORD)) - one) for end in (low, high)]
    return below[1] & ~below[0]


def _first(words):
    """Number of the lowest bit that is set, (n,); `WORD` where there is none."""
    return np.bitwise_count(~words & (words - np.uint64(1))).astype(np.intp)
