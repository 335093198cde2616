"""Distinct rows of a feature matrix, and Newton's method for smoothed convex steps on them."""

import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.feature_maps import beside
from counterweight.numerics.rates.datasets import checked_features, is_sparse

#: Rows that are compared at once, or made dense.
BLOCK = 8192
#: Columns up to which sparse rows are made dense for their normal matrix, which then takes half.
FEW_COLUMNS = 150
#: Bytes of wide rows up to which they are held a second time, row by row.
MOST_BYTES = 256_000_000
#: Products of two values of a row, of all sparse rows together, up to which they are kept.
MOST_PAIRS = 5_000_000


def _scrambled(values):
    """Bits of floats, mixed: round numbers differ in few high bits only."""
    bits = values.view(np.uint64)
    bits = (bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return bits ^ (bits >> np.uint64(29))


def _hashes(X):
    """One 64-bit number for each row, equal for equal rows (sums modulo 2^64)."""
    rng = np.random.default_rng(20160)
    mixed = rng.integers(1, 2**63, size=X.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    if is_sparse(X):
        scrambled = _scrambled(X.data) * mixed[X.indices]
        stored = type(X)((scrambled, X.indices, X.indptr), shape=X.shape)
        return stored @ np.ones(X.shape[1], dtype=np.uint64)
    parts = [_scrambled(X[at : at + BLOCK]) @ mixed for at in range(0, len(X), BLOCK)]
    return np.concatenate(parts)


def _same_as_previous(X, order, hashes):
    """Whether each row in this order equals the one before it, exactly."""
    same = hashes[order[1:]] == hashes[order[:-1]]
    first, second = order[:-1], order[1:]
    if not is_sparse(X):
        pairs = np.flatnonzero(same)
        for start in range(0, len(pairs), BLOCK):
            part = pairs[start : start + BLOCK]
            same[part] = (X[first[part]] == X[second[part]]).all(axis=1)
        return same
    length = np.diff(X.indptr)
    same &= length[first] == length[second]
    pairs = np.flatnonzero(same)
    count = length[first[pairs]].astype(np.int64)
    inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    left, right = (np.repeat(X.indptr[one[pairs]], count) + inside for one in (first, second))
    differs = (X.indices[left] != X.indices[right]) | (X.data[left] != X.data[right])
    wrong = np.bincount(np.repeat(np.arange(len(pairs)), count)[differs], minlength=len(pairs))
    same[pairs] = wrong == 0
    return same


def solver(matrix):
    """Function that solves by a symmetric positive matrix, whose memory its factor takes.

    Its upper triangle alone is looked at.
    """
    from scipy.linalg import LinAlgError
    from scipy.linalg.lapack import dpotrf, dpotrs

    # The transpose lies in memory as the factorisation has it, which would else turn it first.
    factor, failed = dpotrf(matrix.T, lower=True, clean=False, overwrite_a=True)
    if failed:
        raise LinAlgError(f"The matrix is not positive at its column {failed}.")
    return lambda sums: dpotrs(factor, sums, lower=True)[0]


class DistinctRows:
    """Rows of X without repeats, and with the constant feature of the bias.

    Rows that are equal to the last bit are merged and their costs summed (`merge`), so that every
    rate is the same number as before, up to rounding. The bias is a constant feature 1,
    penalised as the others. `merge=False` keeps every row. `centre` (d,) is
    taken off every row, in the products only: few values of the rows held are not 0.

    `matrix` is (distinct rows, d + 1), dense or csr; `group` (n,) the distinct row of each row
    of X; `square` the mean squared length of the rows.
    """

    def __init__(self, X, merge=True, centre=None):
        X = checked_features(X)
        self.is_sparse = is_sparse(X)
        if self.is_sparse:
            if not (X.has_canonical_format and X.data.all()):
                X = X.copy()
                X.sum_duplicates()
                X.eliminate_zeros()
            values = X.data
        else:
            # Adding zero turns -0.0 into 0.0, so that equal rows have equal bits.
            X = values = np.ascontiguousarray(X) + 0.0
        n = X.shape[0]
        if n == 0:
            raise CounterweightError("There are no rows to learn from: check the data sets.")
        self.features, self.centre = X.shape[1], None
        self.group = np.arange(n)
        square = float(np.vdot(values, values)) / n
        if centre is not None:
            self.centre = np.append(centre, 0.0)
            square += centre @ (centre - 2 * np.asarray(X.mean(axis=0)).ravel())
        self.square = square + 1
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
        if self.is_sparse:
            self.matrix = beside(X, np.ones((X.shape[0], 1)))
            self._transposed = self.matrix.T
        else:
            # Columns that lie together in memory make Xw and X'r up to twice as fast.
            self.matrix = np.ones((X.shape[0], self.features + 1), order="F")
            self.matrix[:, : self.features] = X
        self.shape = self.matrix.shape

    def regularisation(self, penalty):
        """Penalty of each coordinate of w, the bias last."""
        return np.full(self.shape[1], float(penalty))

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

    @cached_property
    def by_row(self):
        """The rows once more, each in one place of memory, to take some of: where they are wide."""
        wide = not self.is_sparse and self.centre is None and self.shape[1] >= LEAST_COLUMNS
        return self.matrix.copy("C") if wide and self.matrix.nbytes <= MOST_BYTES else None

    def part(self, chosen, more):
        """The `chosen` distinct rows, with rows `more` (k, coordinates), bias included, after them.

        For `scores`, `combine` and `gram`; it has no `group`.
        """
        other, places = copy.copy(self), np.flatnonzero(chosen)
        more = more if self.centre is None else more + self.centre
        if self.is_sparse:
            from scipy import sparse

            other.matrix = sparse.vstack([self.matrix[chosen], sparse.csr_matrix(more)], "csr")
            other._transposed = other.matrix.T
        elif self.by_row is not None:
            other.matrix = np.empty((len(places) + len(more), self.shape[1]))
            np.take(self.by_row, places, axis=0, out=other.matrix[: len(places)], mode="clip")
            other.matrix[len(places) :] = more
            other.by_row = other.matrix
        else:
            columns = np.empty((self.shape[1], len(places) + len(more)))
            np.take(self.matrix.T, places, axis=1, out=columns[:, : len(places)], mode="clip")
            columns[:, len(places) :] = more.T
            other.matrix = columns.T
        other.shape, other.group = other.matrix.shape, None
        return other

    def taken(self, places):
        """Distinct rows by place, for `combine` and `gram`; they have no `group`."""
        other = copy.copy(self)
        if self.by_row is not None:
            other.matrix = other.by_row = self.by_row.take(places, axis=0)
        else:
            other.matrix = self.matrix[places]
        if self.is_sparse:
            other._transposed = other.matrix.T
        other.shape, other.group = other.matrix.shape, None
        return other

    @cached_property
    def _pairs(self):
        """Products of each row's values, two by two, and their places in a normal matrix.

        Sparse, a line a place, a column a row: sums by lines are a third faster than by columns, in
        the same order. None if there are too many.
        """
        from scipy import sparse

        stored, d = self.matrix, self.shape[1]
        length = np.diff(stored.indptr).astype(np.int64)
        count = length * (length + 1) // 2
        if count.sum() > MOST_PAIRS:
            return None
        first = np.arange(stored.nnz)
        partners = np.repeat(stored.indptr[1:], length) - first
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(partners) - partners, partners)
        first = np.repeat(first, partners)
        second = first + inside
        place = stored.indices[first].astype(np.int64) * d + stored.indices[second]
        products, ends = stored.data[first] * stored.data[second], np.append(0, np.cumsum(count))
        pairs = sparse.csr_matrix((products, place, ends), shape=(len(count), d * d)).T.tocsr()
        there = np.flatnonzero(np.diff(pairs.indptr))
        return pairs[there], there

    def gram(self, weight):
        """X' diag(weight) X; only rows with a weight are touched."""
        used = np.flatnonzero(weight)
        many = self.is_sparse and self.group is not None and len(used) > BLOCK
        if many and self._pairs is not None:
            (pairs, there), products = self._pairs, np.zeros(self.shape[1] ** 2)
            products[there] = pairs @ weight
            products = products.reshape(2 * [self.shape[1]])
            products += products.T
            products[np.diag_indices_from(products)] *= 0.5
            return (
                products if self.centre is None else self._centred(products, products[-1], weight)
            )
        part, weight = self.matrix[used], weight[used]
        few = self.is_sparse and self.shape[1] <= FEW_COLUMNS and len(used) <= BLOCK
        part = part.toarray() if few else part
        # Weights above 0 make it a square, for which half of the products do.
        square = (weight > 0).all()
        factor = np.sqrt(weight) if square else weight
        scaled = part if square else part.copy()
        if few or not self.is_sparse:
            scaled *= factor[:, None]
            products = scaled.T @ part
        else:
            scaled.data *= np.repeat(factor, np.diff(part.indptr))
            products = (scaled.T @ part).toarray()
        return products if self.centre is None else self._centred(products, part.T @ factor, weight)

    def _centred(self, products, sums, weight):
        """A normal matrix less the centre, by weighted sums of the rows."""
        crossed = np.outer(self.centre, sums - 0.5 * weight.sum() * self.centre)
        return products - crossed - crossed.T


# Damping of Newton's step, in mean squared lengths of the rows: from one to the next, and back.
DAMPINGS = (1e-14, *10.0 ** np.arange(-7, 2.5, 0.5))
# Rows whose hinges are within so many widths of the smoothing, or of 1/2 if that is less, may bend.
NEAR_WIDTHS, NEAR_MOST = 4.0, 0.4
# Fewer rows than this share may bend: the others are held as one linear sum.
NEAR_SHARE = 0.6
# Lines up to which, and columns of dense rows from which sums are kept from step to step, if the
# hinges that go to another piece are no more than this share of those that bend.
MOST_LINES, LEAST_COLUMNS, CROSSED = 6, 100, 0.5
# Share of all rows up to which only those with other terms are gone through for their sums.
CHANGED = 0.2
# Points that are looked at along a step, at most.
SEARCHES = 20
# Rounds in which rows that the sum misjudged join the others.
ROUNDS = 20


class LineSums:
    """Sums X'r over all rows, of a few lines r, along a search.

    Where rows are held `by_row` only those whose terms changed are gone through again.
    """

    def __init__(self, rows):
        self.rows, self.terms, self.sums = rows, None, None

    def at(self, terms):
        """The sums (lines, coordinates) of terms (lines, n)."""
        places = None
        if self.terms is not None:
            places = np.flatnonzero((terms != self.terms).any(axis=0))
        if places is None or len(places) > CHANGED * len(terms[0]):
            self.sums = self.rows.combine(terms)
        else:
            change = terms[:, places] - self.terms[:, places]
            self.sums = self.sums + self.rows.taken(places).combine(change)
        self.terms = terms
        return self.sums

    def part(self, near, terms):
        """The rows `near`, and after them, a row a line, what the terms of the others come to."""
        if self.rows.by_row is None:
            return self.rows.part(near, self.rows.combine(np.where(near, 0.0, terms)))
        part = self.rows.part(near, np.zeros((len(terms), self.rows.shape[1])))
        own = terms[:, near] @ part.matrix[: -len(terms)]
        part.matrix[-len(terms) :] = self.at(terms) - own
        return part


class HingeSums:
    """Slopes X'r of sums of hinges, a line each, and their normal matrices, along Newton's steps.

    `costs` are those of the upper and of the lower hinges, (2, 1 + m, n); the lines count once the
    first, and by multipliers v (m,) the others. A step takes few hinges from one of their pieces to
    another: of dense rows with many columns only those of these are gone through again.
    """

    def __init__(self, rows, costs, sharpness, least=0.0):
        self.rows, self.costs, self.sharpness, self.least = rows, costs, sharpness, least
        wide = not rows.is_sparse and rows.shape[1] >= LEAST_COLUMNS
        self.keeps = wide and costs.shape[1] <= MOST_LINES
        self.counted = costs.any(axis=1) if self.keeps else None

    def start(self, slopes, v):
        """Go through all rows, at the slopes (2, n) of both hinges."""
        self.slopes, self.bent, self.matrices = slopes, self._bent(slopes), None
        lines = np.append(True, (v > 0) | self.keeps)
        self.sums = np.zeros((len(lines), self.rows.shape[1]))
        up, down = self.costs if lines.all() else self.costs[:, lines]
        self.sums[lines] = self.rows.combine(up * slopes[0] - down * slopes[1])

    def _bent(self, slopes):
        return np.array([slopes[0] > self.least, slopes[1] > 0]) & (slopes < 1)

    def matrix(self, v):
        """The normal matrix."""
        v = np.append(1.0, v)
        if not self.keeps:
            up, down = (v @ cost * bent for cost, bent in zip(self.costs, self.bent, strict=True))
            return self.rows.gram(self.sharpness * (up + down))
        if self.matrices is None:
            weights = self.sharpness * (self.costs * self.bent[:, None]).sum(axis=0)
            self.matrices = np.array([self.rows.gram(weight) for weight in weights])
        return np.tensordot(v, self.matrices, 1)

    def go(self, slopes, v, move, df):
        """To other slopes, after a move of w that changes the scores by df."""
        if not self.keeps:
            return self.start(slopes, v)
        before, was_bent, bent = self.slopes, self.bent, self._bent(slopes)
        crossed = self.counted & ((bent != was_bent) | (~bent & (slopes != before)))
        places = np.flatnonzero(crossed.any(axis=0))
        if len(places) > CROSSED * was_bent.any(axis=0).sum():
            return self.start(slopes, v)
        self.slopes, self.bent = slopes, bent
        rows, costs = self.rows.taken(places), self.costs[:, :, places]
        ahead = self.sharpness * was_bent[:, places] * df[places] * [[1.0], [-1.0]]
        up, down = costs * (slopes[:, places] - before[:, places] - ahead)[:, None]
        self.sums = self.sums + self.matrices @ move + rows.combine(up - down)
        turn = self.sharpness * (bent[:, places] * 1.0 - was_bent[:, places])
        for line, weight in enumerate((costs * turn[:, None]).sum(axis=0)):
            if weight.any():
                self.matrices[line] += rows.gram(weight)
        return None


@dataclass
class Smooth:
    """Augmented Lagrangian of a convex step: smooth, convex and piecewise quadratic in w.

    Hinges are smoothed around the slopes `above` and `below` (n,), constraints around `multipliers`
    (m,) (proximal points of the dual), so the smoothing need not vanish for the minimisers to
    converge to the step's optimum. `least` are the least slopes of the upper hinges; 1 makes of a
    row a linear term.
    """

    step: object
    above: np.ndarray
    below: np.ndarray
    multipliers: np.ndarray
    sharpness: float
    stiffness: np.ndarray
    margin: np.ndarray
    limit: np.ndarray
    least: object = 0.0

    def slopes(self, f):
        """Slopes of both hinges at scores f."""
        above, below = self.sharpness * (0.5 + f), self.sharpness * (0.5 - f)
        above += self.above
        below += self.below
        for slopes, least in ((above, self.least), (below, 0.0)):
            np.maximum(slopes, least, out=slopes)
            np.minimum(slopes, 1.0, out=slopes)
        return above, below

    def _smoothed(self, slopes, around, z):
        """Smoothed hinges of z."""
        moved = slopes - around
        moved *= moved
        moved /= 2 * self.sharpness
        z *= slopes
        z -= moved
        return z

    def at(self, f, w):
        """Value at w with scores f, and what the derivatives need: slopes and multipliers."""
        above, below = self.slopes(f)
        high, low = (
            self._smoothed(*one)
            for one in ((above, self.above, 0.5 + f), (below, self.below, 0.5 - f))
        )
        rates = self.step.positive @ high + self.step.negative @ low + self.step.constant
        g = rates[1:] + self.margin
        v = np.minimum(np.maximum(self.multipliers + self.stiffness * g, 0.0), self.limit)
        moved = v - self.multipliers
        penalty = 0.5 * self.step.regularisation @ (w * w)
        value = rates[0] + penalty + v @ g - moved @ (moved / self.stiffness) * 0.5
        return value, above, below, v

    def along(self, w, move, df, above, below, v):
        """Derivative along a move that changes the scores by df."""
        p, q = self.step.costs(v)
        return (self.step.regularisation * w) @ move + (p * above - q * below) @ df

    def hinge_sums(self, above, below, v):
        """What `gradient` and `hessian` go by, at slopes of hinges and multipliers."""
        costs = np.array([self.step.positive, self.step.negative])
        sums = HingeSums(self.step.rows, costs, self.sharpness, self.least)
        sums.start(np.array([above, below]), v)
        return sums

    def gradient(self, w, v, sums):
        """Gradient by hinge sums."""
        return self.step.regularisation * w + sums.sums[0] + v @ sums.sums[1:]

    def hessian(self, v, sums):
        """Hessian by hinge sums; of constraints those with multipliers inside their range bend."""
        matrix, inside = sums.matrix(v), (v > 0) & (v < self.limit)
        slopes = sums.sums[1:][inside]
        matrix += slopes.T @ (self.stiffness[inside, None] * slopes)
        diagonal = self.step.regularisation + 1e-12 * max(matrix.trace(), 1e-12) / len(matrix)
        matrix.flat[:: len(matrix) + 1] += diagonal
        return matrix

    def lost(self, gradient):
        """What the dual value loses by a gradient that is not 0."""
        return 0.5 * np.sum(gradient**2 / self.step.regularisation)

    def near(self, f):
        """Rows with a hinge that may bend when the scores f move a little."""
        width = min(NEAR_WIDTHS / self.sharpness, NEAR_MOST)
        found = np.zeros(len(f), bool)
        costs = self.step.positive, self.step.negative
        for cost, slope, z in zip(costs, self.slopes(f), (0.5 + f, 0.5 - f), strict=True):
            found |= cost.any(axis=0) & ((np.abs(z) < width) | ((slope > 0) & (slope < 1)))
        return found

    def reduced(self, near, f, kept):
        """The same where only hinges of `near` rows bend; the others keep their slopes at f.

        Each rate gets one more row, the sum of those others, as a linear term; `kept` are
        `LineSums`.
        """
        step, (above, below) = self.step, self.slopes(f)
        up, down = step.positive * above, step.negative * below
        lines = len(step.constant)
        ones, none = np.ones(lines), np.zeros(lines)
        part = replace(
            step,
            rows=kept.part(near, up - down),
            positive=np.hstack([step.positive[:, near], np.eye(lines)]),
            negative=np.hstack([step.negative[:, near], np.zeros((lines, lines))]),
            constant=step.constant + 0.5 * np.where(near, 0.0, up + down).sum(axis=1) - 0.5,
        )
        return replace(
            self,
            step=part,
            above=np.append(self.above[near], ones),
            below=np.append(self.below[near], none),
            least=np.append(np.zeros(near.sum()), ones),
        )


def newton(smooth, w, f, accuracy, most, kept=None):
    """Minimise a smooth function by Newton steps, on the rows that may bend.

    Rows that are far from bending are a linear sum. Where that proves wrong they join the others,
    and the minimiser is sought again: what is returned is judged on all rows. Stops when the
    gradient, which bounds what the dual value loses, is small enough. Gives w, f, slopes,
    multipliers, the number of steps and whether they sufficed. `kept` are `LineSums` of the rows.
    """
    count, joined, rows = 0, np.zeros(len(f), bool), smooth.step.rows
    kept = kept or LineSums(rows)
    now = smooth.at(f, w)
    for _ in range(ROUNDS):
        near = smooth.near(f) | joined
        if near.mean() > NEAR_SHARE or count >= most:
            break
        part = smooth.reduced(near, f, kept)
        w_new, taken, done = _steps(part, w, part.step.rows.scores(w), accuracy, most - count)
        count += taken
        f_new = rows.scores(w_new)
        trial = smooth.at(f_new, w_new)
        far = ~near & ((trial[1] != now[1]) | (trial[2] != now[2]))
        right = not far.any()
        if not right and trial[0] <= now[0]:
            kept.at(smooth.step.positive * trial[1] - smooth.step.negative * trial[2])
            right = done = smooth.lost(smooth.gradient(w_new, trial[3], kept)) <= accuracy
        if not right:
            joined |= far
            share, trial = _searched(smooth, w, f, w_new - w, f_new - f, now)
            w_new, f_new = w + share * (w_new - w), f + share * (f_new - f)
        if not trial[0] <= now[0]:
            break
        w, f, now = w_new, f_new, trial
        if right:
            return w, f, *now[1:], count, done
    w, taken, done = _steps(smooth, w, f, accuracy, max(most - count, 0))
    f = rows.scores(w)
    return w, f, *smooth.at(f, w)[1:], count + taken, done


def _searched(smooth, w, f, move, df, now):
    """How far to go along a descent direction, and what `at` gives there.

    Where the derivative along it is near 0; the function is convex and has no other minimum. A
    search that does not get there ends at the last point from which the function still falls.
    """
    first = at_low = smooth.along(w, move, df, *now[1:])
    low, high, at_high, side, found = 0.0, None, None, 0, None
    share = 1.0
    for _ in range(SEARCHES):
        there = w + share * move
        trial = smooth.at(f + share * df, there)
        slope = smooth.along(there, move, df, *trial[1:])
        if abs(slope) <= 0.2 * abs(first) and trial[0] <= now[0]:
            return share, trial
        # An end that stays for the second time counts half, or guesses would creep to the other.
        if slope <= 0:
            if high is None:
                return share, trial
            at_high *= 0.5 if side < 0 else 1.0
            low, at_low, side, found = share, slope, -1, (share, trial)
        else:
            at_low *= 0.5 if side > 0 else 1.0
            high, at_high, side = share, slope, 1
        tried = share, trial
        guess = (low * at_high - high * at_low) / (at_high - at_low)
        share = min(max(guess, low + 0.1 * (high - low)), high - 0.1 * (high - low))
    return found or tried


def _steps(smooth, w, f, accuracy, most):
    """Newton steps with a search along each: w, their number and whether they sufficed."""
    rows, now, level = smooth.step.rows, smooth.at(f, w), 0
    sums = smooth.hinge_sums(*now[1:])
    for count in range(most + 1):
        gradient = smooth.gradient(w, now[3], sums)
        loss = smooth.lost(gradient)
        if loss <= accuracy or count == most:
            break
        fell = False
        # Where few hinges are bent, a small penalty alone lets Newton's step go too far.
        while not fell and level < len(DAMPINGS):
            matrix = smooth.hessian(now[3], sums)
            matrix.flat[:: len(matrix) + 1] += DAMPINGS[level] * rows.square
            move = -solver(matrix)(gradient)
            df = rows.scores(move)
            share, trial = _searched(smooth, w, f, move, df, now)
            fell = trial[0] <= now[0] + 1e-4 * share * (gradient @ move)
            if not fell or share < 0.25:
                level += 1 + (share < 0.025)
            elif share > 0.75:
                level = max(level - 1, 0)
        level = min(level, len(DAMPINGS) - 1)
        if not trial[0] <= now[0]:
            break
        w, f, now = w + share * move, f + share * df, trial
        sums.go(np.array(now[1:3]), now[3], share * move, share * df)
    return w, count, loss <= accuracy
