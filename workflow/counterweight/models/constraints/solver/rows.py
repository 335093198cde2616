"""Distinct rows of a feature matrix, with the products that the rate solvers need."""

import copy

import numpy as np

from counterweight.errors import CounterweightError

BIASES = ("regularised", "free", "none")


def _scrambled(values):
    """Bits of floats, mixed: round numbers differ in few high bits only."""
    bits = values.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


def _hashes(X):
    """One 64-bit number for each row, equal for equal rows (sums modulo 2^64)."""
    rng = np.random.default_rng(20160)
    mixed = rng.integers(1, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if isinstance(X, np.ndarray):
        hashes = np.empty(len(X), dtype=np.uint64)
        for start in range(0, len(X), 8192):
            hashes[start : start + 8192] = _scrambled(X[start : start + 8192]) @ mixed
        return hashes
    from scipy.sparse import csr_matrix

    stored = csr_matrix((_scrambled(X.data) * mixed[X.indices], X.indices, X.indptr), shape=X.shape)
    return stored @ np.ones(X.shape[1], dtype=np.uint64)


def _same_as_previous(X, order, hashes):
    """Whether each row in this order equals the one before it, exactly."""
    sorted_hashes = hashes[order]
    same = sorted_hashes[1:] == sorted_hashes[:-1]
    first, second = order[:-1], order[1:]
    if isinstance(X, np.ndarray):
        pairs = np.flatnonzero(same)
        for start in range(0, len(pairs), 8192):
            part = pairs[start : start + 8192]
            same[part] = (X[first[part]] == X[second[part]]).all(axis=1)
        return same
    length = np.diff(X.indptr)
    same &= length[first] == length[second]
    pairs = np.flatnonzero(same)
    count = length[first[pairs]].astype(np.int64)
    starts = np.cumsum(count) - count
    inside = np.arange(count.sum()) - np.repeat(starts, count)
    left = np.repeat(X.indptr[first[pairs]], count) + inside
    right = np.repeat(X.indptr[second[pairs]], count) + inside
    differs = (X.indices[left] != X.indices[right]) | (X.data[left] != X.data[right])
    wrong = np.bincount(np.repeat(np.arange(len(pairs)), count)[differs], minlength=len(pairs))
    same[pairs] = wrong == 0
    return same


def balanced(up, down):
    """Slopes of both sides, those of the larger side scaled down to the sum of the smaller.

    A lower bound with a bias that is not penalised is finite only where both sums agree.
    """
    total, other = up.sum(), down.sum()
    if total > other:
        up = up * (other / total)
    elif other > total:
        down = down * (total / other)
    return up, down


class DistinctRows:
    """Rows of X without repeats, and with the constant feature of the bias.

    Rows that are equal to the last bit are merged. Their costs are summed (`merge`), so that
    every rate is the same number as before, up to rounding. Finding them costs a sort of n
    64-bit numbers; nothing larger than X is held.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
    bias : {"regularised", "free", "none"}
        A constant feature 1, penalised like the others; the same without a penalty; or none.
    merge : bool
        False keeps every row (to check that merging changes nothing).
    centre : array of shape (d,), optional
        Taken off every row, in the products only: few values of the rows held are not 0.

    Attributes
    ----------
    matrix : array or csr_matrix of shape (distinct rows, d or d + 1)
    group : int array of shape (n,)
        The distinct row that each row of X became.
    square : float
        Mean squared length of the rows.
    """

    def __init__(self, X, bias="regularised", merge=True, centre=None):
        from scipy import sparse

        if bias not in BIASES:
            raise CounterweightError(f"Unknown bias {bias!r}: choose one of {', '.join(BIASES)}.")
        if sparse.issparse(X):
            X = sparse.csr_matrix(X, dtype=np.float64)
            if not X.has_canonical_format:
                X = X.copy()
                X.sum_duplicates()
            if not X.data.all():
                X = X.copy()
                X.eliminate_zeros()
            values = X.data
        else:
            # Adding zero turns -0.0 into 0.0, so that equal rows have equal bits.
            X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
            if X.ndim != 2:
                raise CounterweightError("The features must be a matrix: one line for each row.")
            values = X
        if not np.isfinite(values).all():
            bad = X if not sparse.issparse(X) else X.copy()
            if sparse.issparse(bad):
                bad.data = np.where(np.isfinite(X.data), 0.0, 1.0)
                rows = np.flatnonzero(bad.sum(axis=1))
            else:
                rows = np.flatnonzero(~np.isfinite(X).all(axis=1))
            raise CounterweightError(
                f"The features of {len(rows)} rows are not finite (first: row {rows[0]}): "
                "fill them or leave these rows out."
            )
        n = X.shape[0]
        if n == 0:
            raise CounterweightError("There are no rows to learn from: check the data sets.")
        self.features, self.bias = X.shape[1], bias
        self.group = np.arange(n)
        square = float(np.vdot(values, values)) / n
        self.centre = None
        if centre is not None:
            self.centre = np.append(centre, np.zeros(int(bias != "none")))
            square += centre @ (centre - 2 * np.asarray(X.mean(axis=0)).ravel())
        self.square = max(square + (bias != "none"), 1e-300)
        if merge and self.features:
            hashes = _hashes(X)
            order = np.argsort(hashes, kind="stable")
            new = np.concatenate([[True], ~_same_as_previous(X, order, hashes)])
            first = order[new]
            # Distinct rows stay in the order of their first appearance.
            place = np.empty(len(first), dtype=np.int64)
            place[np.argsort(first, kind="stable")] = np.arange(len(first))
            self.group = np.empty(n, dtype=np.int64)
            self.group[order] = place[np.cumsum(new) - 1]
            X = X[np.sort(first)]
        if sparse.issparse(X):
            if bias != "none":
                one = np.ones((X.shape[0], 1))
                X = sparse.hstack([X, sparse.csr_matrix(one)], format="csr")
        else:
            # Columns that lie together in memory make Xw and X'r up to twice as fast.
            whole = np.ones((X.shape[0], self.features + (bias != "none")), order="F")
            whole[:, : self.features] = X
            X = whole
        self.matrix = X
        self.is_sparse = sparse.issparse(X)
        if self.is_sparse:
            self._transposed = X.T
        self.shape = X.shape

    def regularisation(self, penalty):
        """Penalty of each coordinate of w, the bias last."""
        ridge = np.full(self.shape[1], float(penalty))
        if self.bias == "free":
            ridge[-1] = 0.0
        return ridge

    def merge(self, costs):
        """Sum costs, shape (k, n), over equal rows: shape (k, distinct rows)."""
        costs = np.atleast_2d(costs)
        return np.array([np.bincount(self.group, row, self.shape[0]) for row in costs])

    def scores(self, w):
        """f = Xw of the distinct rows."""
        f = self.matrix @ w
        return f if self.centre is None else f - self.centre @ w

    def combine(self, r):
        """X'r, of shape (d,), or of each line of an r of shape (k, n), of shape (k, d)."""
        sums = (self._transposed @ r.T).T if self.is_sparse else r @ self.matrix
        return sums if self.centre is None else sums - r.sum(axis=-1)[..., None] * self.centre

    def part(self, chosen, more):
        """Some of the distinct rows, with further rows after them.

        Parameters
        ----------
        chosen : bool array of shape (distinct rows,)
        more : array of shape (k, coordinates)
            Bias included.

        Returns
        -------
        DistinctRows
            For `scores`, `combine` and `gram`; it has no `group`.
        """
        other = copy.copy(self)
        more = more if self.centre is None else more + self.centre
        if self.is_sparse:
            from scipy import sparse

            other.matrix = sparse.vstack([self.matrix[chosen], sparse.csr_matrix(more)], "csr")
            other._transposed = other.matrix.T
        else:
            places = np.flatnonzero(chosen)
            columns = np.empty((self.shape[1], len(places) + len(more)))
            np.take(self.matrix.T, places, axis=1, out=columns[:, : len(places)], mode="clip")
            columns[:, len(places) :] = more.T
            other.matrix = columns.T
        other.shape, other.group = other.matrix.shape, None
        return other

    def gram(self, weight):
        """X' diag(weight) X; only rows with a weight are touched."""
        used = np.flatnonzero(weight)
        part = self.matrix[used]
        root = np.sqrt(weight[used])
        if not self.is_sparse:
            part *= root[:, None]
            products = part.T @ part
        else:
            part.data *= np.repeat(root, np.diff(part.indptr))
            products = (part.T @ part).toarray()
        if self.centre is None:
            return products
        sums = part.T @ root
        crossed = np.outer(self.centre, sums - 0.5 * (root @ root) * self.centre)
        return products - crossed - crossed.T
