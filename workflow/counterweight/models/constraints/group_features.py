"""Groups that a column tells by its size, as further features of a linear classifier.

Of "age at least 40" a line sees the age only: it cannot have a threshold of its own for each of
the groups, which everybody can who knows the age. With the indicator of the group as a feature
such thresholds are among its answers.
"""

import numpy as np

from counterweight.models.constraints.feature_maps import dense
from counterweight.numerics.rates.datasets import is_sparse

GROUP_FEATURE_OPTIONS = {
    "group_features": {
        "enum": ["auto", "none"],
        "default": "auto",
        "description": "auto: where a group that a constraint names is a range of one column, as "
        "of ages, and no linear feature tells it, its indicator is a further feature, computed "
        "from the column in new rows, too; none: the features as they are given.",
    }
}
#: Fewer members, or others, could be a range of some column by chance.
FEWEST = 10
#: Columns that are looked at together.
BLOCK = 32


def told_ranges(X, groups, linear=True):
    """Ranges of columns that are groups.

    Parameters
    ----------
    X : array or csr_matrix (n, d)
    groups : sequence of bool array (n,)
    linear : bool
        Whether the columns themselves are features of the line, so that a column of two values
        needs no indicator.

    Returns
    -------
    ndarray (k, 3)
        Column, and the ends that a member's value lies between, infinite where there is none;
        half way to the nearest value of the others. None for groups that no column tells, that
        others are the complement of, or that have fewer than `FEWEST` members or others.
    """
    found, seen = [], []
    for mask in groups:
        if min(mask.sum(), (~mask).sum()) < FEWEST:
            continue
        if any((mask == one).all() or (mask != one).all() for one in seen):
            continue
        one = _range(X, mask, linear)
        if one is not None:
            found.append(one)
            seen.append(mask)
    return np.array(found, dtype=float).reshape(-1, 3)


def _range(X, mask, linear):
    """Column and ends of the first column that tells the group, or None."""
    best = None
    for start in range(0, X.shape[1], BLOCK):
        block = dense(X[:, start : start + BLOCK])
        own, others = block[mask], block[~mask]
        low, high = own.min(axis=0), own.max(axis=0)
        apart = ~((others >= low) & (others <= high)).any(axis=0)
        two = apart & (low == high) & (others.min(axis=0) == others.max(axis=0))
        if linear and two.any():
            return None
        if best is None and apart.any():
            j = int(np.argmax(apart))
            below = others[others[:, j] < low[j], j].max(initial=-np.inf)
            above = others[others[:, j] > high[j], j].min(initial=np.inf)
            best = start + j, (below + low[j]) / 2, (above + high[j]) / 2
    return best


def indicators(X, ranges):
    """Whether the values of rows are in each range, 0 or 1, (n, k)."""
    made = np.empty((X.shape[0], len(ranges)))
    for at, (column, low, high) in enumerate(ranges):
        values = dense(X[:, [int(column)]]).ravel()
        made[:, at] = (values > low) & (values <= high)
    return made


def beside(X, more):
    """Columns beside those of X, sparse where X is."""
    if not more.shape[1]:
        return X
    if not is_sparse(X):
        return np.hstack([X, more])
    from scipy import sparse

    return sparse.hstack([X, sparse.csr_matrix(more)], format="csr")
