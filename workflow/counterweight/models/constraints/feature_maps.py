"""Features of a linear classifier beside those given: a kernel's fixed map, and groups.

Of "age at least 40" a line sees the age only: it cannot have a threshold of its own for each of the
groups, which everybody can who knows the age. With the indicator of the group as a feature such
thresholds are among its answers. So with "men from 40", or "below 25, or above 60": a group is told
by boxes, each a few ranges of columns, and the indicator of each box is a feature.
"""

from math import lgamma

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice
from counterweight.numerics.rates.datasets import is_sparse

SCALE_ROWS = 1000
#: Rows denser than this stay dense in the solvers.
SPARSE_SHARE = 0.25
GROUP_FEATURE_OPTIONS = {
    "group_features": Choice("auto", ["auto", "none"],
        "auto: where a group that a constraint names is a range of one column, as of ages, or a few ranges of several, "
        "and no linear feature tells it, its indicator is a further feature, computed from the columns in new rows, "
        "too; none: the features as they are given."),
}  # fmt: skip
#: Chance, as a power of 2, that a group is taken for one that columns tell and is none.
CHANCE = 10.0
#: Ranges that are looked for together, at most; of more columns than these only single ones.
LEAVES, MOST_COLUMNS = 16, 500
#: Columns that are looked at together.
BLOCK = 32


class FeatureMap:
    """Random features of a Gaussian kernel on standardised rows.

    The kernel is exp(-|x - x'|^2 / (2 scale^2)), each feature divided by its standard deviation
    first. Features are sqrt(2 / D) cos(w'x + u) with normal w and uniform u, whose inner products
    are the kernel in expectation (Rahimi & Recht 2007). `count` is D; `scale` is in standard
    deviations, by default the median distance of 1,000 random rows.

    `projection_` (d, D) is w for each feature in its own unit, `offset_` (D,) u, `deviation_` (d,).
    `remembered` are rows, by identity, with their features, where models that share the map
    remember them: only while nobody changes the rows in place.
    """

    remembered = None

    def __init__(self, count=300, scale=None):
        self.count, self.scale = count, scale

    def fit(self, X, rng):
        """Draw the map for rows (n, d), dense or csr."""
        if self.count < 1 or (self.scale is not None and not self.scale > 0):
            raise CounterweightError("feature_count must be at least 1 and feature_scale above 0.")
        n, d = X.shape
        self.deviation_ = spread_of(X)[0]
        drawn = dense(X[np.sort(rng.permutation(n)[:SCALE_ROWS])]) / self.deviation_
        self.scale_ = self.scale
        if self.scale is None:
            squares = (drawn**2).sum(1)[:, None] + (drawn**2).sum(1)[None] - 2 * (drawn @ drawn.T)
            distances = np.maximum(squares, 0)[np.triu_indices(len(drawn), 1)]
            positive = distances[distances > 0]
            self.scale_ = float(np.sqrt(np.median(positive))) if len(positive) else 1.0
        self.projection_ = rng.normal(size=(d, self.count)) / self.scale_
        self.projection_ /= self.deviation_[:, None]
        self.offset_ = rng.uniform(0, 2 * np.pi, self.count)
        return self

    def transform(self, X):
        """Features (n, D) of rows, dense or csr."""
        angles = X @ self.projection_
        angles += self.offset_
        np.cos(angles, out=angles)
        angles *= np.sqrt(2 / len(self.offset_))
        return angles

    def to_arrays(self):
        """The map as arrays, by name."""
        return {
            "map_kind": np.zeros(1),
            "map_projection": self.projection_,
            "map_deviation": self.deviation_,
            "map_scale": np.array([self.scale_]),
            "map_offset": self.offset_,
        }

    @classmethod
    def from_arrays(cls, arrays):
        """A map from what `to_arrays` gave."""
        drawn = cls(np.shape(arrays["map_projection"])[1], float(np.ravel(arrays["map_scale"])[0]))
        drawn.projection_ = np.asarray(arrays["map_projection"], dtype=float)
        drawn.deviation_ = np.asarray(arrays["map_deviation"], dtype=float)
        drawn.offset_ = np.asarray(arrays["map_offset"], dtype=float)
        drawn.scale_ = drawn.scale
        return drawn


def spread_of(X):
    """Standard deviation (1 for a constant) and mean of each feature, dense or sparse."""
    mean = np.asarray(X.mean(axis=0), dtype=float).ravel()
    if is_sparse(X):
        squares = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - mean**2, 0))
    else:
        deviation = X.std(axis=0)
    return np.where(deviation > 1e-12 * np.maximum(1, np.abs(mean)), deviation, 1.0), mean


def standardised(rows, like=None):
    """Rows with features of standard deviation 1, and mean 0 unless sparse; their scale and centre.

    Means and deviations are those of the rows `like`, by default of `rows` themselves.
    """
    scale, centre = spread_of(rows if like is None else like)
    if is_sparse(rows):
        from scipy import sparse

        return (rows @ sparse.diags(1 / scale)).tocsr(), scale, None
    return (rows - centre) / scale, scale, centre


def thinned(rows):
    """Rows as csr_matrix where few of their values are not 0, else as they are."""
    if is_sparse(rows) or np.count_nonzero(rows) >= SPARSE_SHARE * rows.size:
        return rows
    from scipy import sparse

    return sparse.csr_matrix(rows)


def dense(X):
    """Rows as an array, sparse ones too."""
    return X.toarray() if is_sparse(X) else np.asarray(X)


def told_boxes(X, groups, linear=True):
    """Ranges of columns that are groups (bool, (n,)): (k, 4).

    By line a box, a column, and the ends that a member's value lies between, infinite where there
    is none; half way to the nearest value of the others. Boxes of a group have no row in common.
    None for groups that no columns tell, that others are the complement of, or that ranges would
    tell by chance: those that take no fewer bits to tell than the group. If `linear`, the columns
    themselves are features of the line, so that a group which a sum of them tells needs no
    indicator.
    """
    found, seen, failed = [], [], []
    for mask in groups:
        if any((mask == one).all() or (mask != one).all() for one in seen):
            continue
        boxes = _boxes(X, mask, linear, failed)
        if boxes:
            first = len({line[0] for line in found})
            found += [(first + k, *side) for k, box in enumerate(boxes) for side in box]
            seen.append(mask)
    return np.array(found, dtype=float).reshape(-1, 4)


def _boxes(X, mask, linear, failed):
    """Boxes, lists of (column, low, high), that together are the group, or none.

    `failed` are groups that no tree tells, and so of no complement; it grows.
    """
    (n, d), members = X.shape, int(mask.sum())
    if not 0 < members < n:
        return []
    # What it takes to say which rows are members, and which column is cut where.
    asked = (lgamma(n + 1) - lgamma(members + 1) - lgamma(n - members + 1)) / np.log(2) - CHANCE
    a_cut = np.log2(n * d)
    if a_cut > asked:
        return []
    single = _range(X, mask, linear)
    if single is None:
        return []
    if single:
        cuts = np.isfinite(single[1:]).sum()
        return [[single]] if cuts * a_cut <= asked else []
    known = d > MOST_COLUMNS or any((mask != one).all() for one in failed)
    if known or _twins_parted(X, mask) or (linear and _line_tells(X, mask)):
        return []
    boxes = _tree(X, mask, asked / a_cut)
    if not boxes:
        failed.append(mask)
    return boxes


def _range(X, mask, linear):
    """The first column that tells the group and its ends; () without one, None if it is linear."""
    best = ()
    for start in range(0, X.shape[1], BLOCK):
        block = dense(X[:, start : start + BLOCK])
        own, others = block[mask], block[~mask]
        low, high = own.min(axis=0), own.max(axis=0)
        apart = ~((others >= low) & (others <= high)).any(axis=0)
        two = apart & (low == high) & (others.min(axis=0) == others.max(axis=0))
        if linear and two.any():
            return None
        if not best and apart.any():
            j = int(np.argmax(apart))
            below = others[others[:, j] < low[j], j].max(initial=-np.inf)
            above = others[others[:, j] > high[j], j].min(initial=np.inf)
            best = start + j, (below + low[j]) / 2, (above + high[j]) / 2
    return best


def _twins_parted(X, mask):
    """Whether two equal rows are found of which one is a member: no columns tell such a group."""
    key = np.asarray(X @ np.random.default_rng(0).random(X.shape[1])).ravel()
    order = np.argsort(key, kind="stable")
    left, right = order[:-1], order[1:]
    pairs = np.flatnonzero((key[left] == key[right]) & (mask[left] != mask[right]))[:BLOCK]
    differs = X[left[pairs]] != X[right[pairs]]
    return bool(len(pairs)) and not np.asarray(differs.sum(axis=1)).all()


def _line_tells(X, mask):
    """Whether a sum of columns and a constant is the group, as one of columns of categories."""
    if is_sparse(X):
        size = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel())
        whole = X.multiply(1 / np.where(size > 0, size, 1.0)).tocsr()
    else:
        size, whole = X.std(axis=0), X - X.mean(axis=0)
        whole /= np.where(size > 0, size, 1.0)
    whole = beside(whole, np.ones((len(mask), 1)))
    gram = (whole.T @ whole).toarray() if is_sparse(X) else whole.T @ whole
    line = np.linalg.lstsq(gram, whole.T @ mask.astype(float), rcond=1e-12)[0]
    return bool(np.abs(whole @ line - mask).max() < 1e-6)


def _tree(X, mask, most):
    """Leaves of a tree that tells the group without an error by at most so many cuts; or none."""
    from sklearn.tree import DecisionTreeClassifier

    leaves = int(min(LEAVES, most + 1))
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(X, mask).tree_
    found, open_nodes = [], [(0, {})]
    while open_nodes:
        node, sides = open_nodes.pop()
        left, right = tree.children_left[node], tree.children_right[node]
        if left < 0:
            if tree.value[node, 0, 1] > tree.value[node, 0, 0]:
                found.append([(column, *ends) for column, ends in sorted(sides.items())])
            continue
        column, at = int(tree.feature[node]), float(tree.threshold[node])
        low, high = sides.get(column, (-np.inf, np.inf))
        open_nodes.append((left, sides | {column: (low, min(high, at))}))
        open_nodes.append((right, sides | {column: (max(low, at), high)}))
    lines = [(k, *side) for k, box in enumerate(found) for side in box]
    told = indicators(X, np.array(lines).reshape(-1, 4)).sum(axis=1)
    return found if found and (told == mask).all() else []


def indicators(X, boxes):
    """Whether rows are in each box, 0 or 1, (n, k)."""
    made = np.ones((X.shape[0], len(np.unique(boxes[:, 0]))))
    for at, column, low, high in boxes:
        values = dense(X[:, [int(column)]]).ravel()
        made[:, int(at)] *= (values > low) & (values <= high)
    return made


def beside(X, more):
    """Columns beside those of X, sparse where X is."""
    if not more.shape[1]:
        return X
    if not is_sparse(X):
        return np.hstack([X, more])
    from scipy import sparse

    return sparse.hstack([X, sparse.csr_matrix(more)], format="csr")
