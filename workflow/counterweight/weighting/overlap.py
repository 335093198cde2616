"""Overlap: which rows resemble nobody labeled, by distance and by empty corners of two features."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import checked_new_rows, checked_rows, checked_weights
from counterweight.numerics.linear import first_of_each, row_blocks
from counterweight.weighting.no_outcomes import EmptyRanges, least_chance

#: Cuts of each number in the search for empty corners.
CUTS = 48
#: Gauss & Legendre's rule for the chance of a corner.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


@dataclass
class Corners:
    """Empty corners: a pair of features, a direction of each, and a staircase of edges.

    The corner holds z where ``sign_1 z_1`` is above the cut a and ``sign_2 z_2`` above the
    edge b of that cut, for one of the cuts.

    Attributes
    ----------
    first, second : int array (C,)
    sign_first, sign_second : array (C,)
    cuts, edges : array (C, CUTS)
        Ascending cuts; the edge is the least of those of all cuts up to it, infinite for none.
    """

    first: np.ndarray
    second: np.ndarray
    sign_first: np.ndarray
    sign_second: np.ndarray
    cuts: np.ndarray
    edges: np.ndarray

    @classmethod
    def none(cls):
        nobody = np.zeros(0, int)
        return cls(nobody, nobody, np.zeros(0), np.zeros(0), *np.zeros((2, 0, CUTS)))

    @classmethod
    def of(cls, arrays):
        first, second = (np.asarray(arrays[k], int).reshape(-1) for k in ("first", "second"))
        signs = (np.asarray(arrays[f"sign_{k}"], float).reshape(-1) for k in ("first", "second"))
        tables = (np.asarray(arrays[k], float).reshape(len(first), CUTS) for k in ("cuts", "edges"))
        return cls(first, second, *signs, *tables)

    def some(self, which):
        """Some of the corners."""
        return Corners(**{name: values[which] for name, values in vars(self).items()})

    @classmethod
    def find(cls, Z, block, most):
        """The `most` corners without any of the rows Z where the most would be; how many, (C,).

        There would be so many that, among all corners looked at, less than one would be empty by
        chance (Poisson).
        """
        from scipy.special import ndtri

        made, strength = [], np.zeros(0)
        n, d = Z.shape
        level = block >= 0
        signed = [(k, 1.0) for k in range(d)] + [(k, -1.0) for k in range(d) if block[k] < 0]
        expected = 1.5 + np.log(10 * max(1, len(signed) * (len(signed) - 1) // 2))
        # Columns with the normal-copula correlation that fits them, and each level's cut.
        latent = Z.astype(float)
        latent -= latent.mean(axis=0)
        cut = ndtri(1 - np.clip(Z.mean(axis=0, dtype=float), 0.5 / n, 1 - 0.5 / n))
        relation = latent.T @ latent / n
        stretch = np.sqrt(np.maximum(np.diag(relation), 1e-12))
        relation /= stretch[:, None] * stretch
        for k, sign in signed:
            cuts, tops = _tops(Z, k, sign, level[k], expected)
            place = cut[[k]] if level[k] else cuts
            # A pair of numbers is found once from each side, which is what makes the staircase
            # whole; levels have one cut, and need their partner's cuts only once.
            able = ~level | ((np.arange(d) > k) & (block != block[k])) if level[k] else ~level
            able[k] = False
            for side, top in tops:
                partner = np.flatnonzero(able if side > 0 else able & ~level)
                edge = top[:, partner].astype(float)
                levels = level[partner]
                where = np.where(levels, cut[partner], edge)
                edge = np.where(levels, np.where(edge > 0.5, np.inf, 0.5), edge)
                related = sign * side * relation[k, partner]
                floor = expected if len(strength) < most else strength.min()
                count = n * _upper_corner(place[:, None], where, related, floor / n)
                emptiest = np.where(np.isfinite(edge), count, -np.inf).max(axis=0)
                there = np.flatnonzero(emptiest >= floor)
                if not len(there):
                    continue
                there = there[_largest(emptiest[there], most)]
                where, related, edge = where[:, there], related[there], edge[:, there]
                count = n * _upper_corner(place[:, None], where, related, expected / n)
                edge = np.where(count >= expected, edge, np.inf)
                up = np.argsort(cuts)[np.minimum(np.arange(CUTS), len(cuts) - 1)]
                stairs = np.minimum.accumulate(edge[up]).T
                pairs = zip(partner[there], stairs, strict=True)
                made += [(k, j, sign, side, cuts[up], stair) for j, stair in pairs]
                strength = np.append(strength, emptiest[there])
                first = _largest(strength, most)
                made, strength = [made[at] for at in first], strength[first]
        if not made:
            return cls.none(), np.zeros(0)
        order = np.argsort(-strength, kind="stable")
        parts = zip(*made, strict=True)
        return cls(*(np.array(part)[order] for part in parts)), strength[order]

    def hold(self, Z):
        """Whether rows lie in each corner, bool (m, C)."""
        found = np.zeros((len(Z), len(self.first)), bool)
        for c, (k, j) in enumerate(zip(self.first, self.second, strict=True)):
            at = np.searchsorted(self.cuts[c], self.sign_first[c] * Z[:, k], side="left") - 1
            edge = np.where(at >= 0, self.edges[c][np.maximum(at, 0)], np.inf)
            found[:, c] = self.sign_second[c] * Z[:, j] > edge
        return found


def _largest(values, most):
    """Where the `most` largest are, in their order; of equal ones the first."""
    return np.sort(np.argsort(-values, kind="stable")[:most])


def _tops(Z, k, sign, level, least):
    """Cuts (c,) of a column; largest (c, d) and largest negative values of the rows above each."""
    n = len(Z)
    if level:
        value, cuts, steps = Z[Z[:, k] > 0.5], np.full(1, 0.5), np.zeros(1, int)
        if not len(value):
            return value, ()
    else:
        order = np.argsort(sign * Z[:, k])[::-1]
        value = sign * Z[order, k]
        ends = np.unique(np.linspace(least, 0.9 * n, CUTS).astype(int))
        ends = ends[ends < n]
        # Cuts between values, so that rows above are those before in the order.
        ends = ends[value[ends - 1] > value[np.minimum(ends, n - 1)]]
        if not len(ends):
            return ends, ()
        cuts, steps, value = value[ends], np.append(0, ends[:-1]), Z[order[: ends[-1]]]
    most, least = (
        part.accumulate(part.reduceat(value, steps)) for part in (np.maximum, np.minimum)
    )
    return cuts, ((1.0, most), (-1.0, -least))


def _upper_corner(h, k, rho, least=0.0):
    """P(U > h, V > k) of two standard normals with correlation rho (Plackett 1954).

    `h` (c, 1), `k` (c, d), `rho` (d,). Where it is certainly below `least` it is told as 0.
    """
    from scipy.special import ndtr

    h, k = np.asarray(h, float), np.asarray(k, float)
    first, second = ndtr(-h), ndtr(-k)
    # Not above the product where rho is negative, nor above either (and what the rule may err).
    bound = np.where(rho > 0, 1.1 * np.minimum(first, second), first * second)
    row, column = np.nonzero(bound >= least)
    angle = np.arcsin(np.clip(rho, -0.99, 0.99)) / 2
    turn = np.multiply.outer(angle, NODES + 1)
    sine, twice = np.sin(turn)[column], (2 * np.cos(turn) ** 2)[column]
    h, k = h[row], k[row, column][:, None]
    inside = -(h * h - 2 * h * k * sine + k * k) / twice
    moved = angle[column] * (np.exp(inside) @ WEIGHTS) / (2 * np.pi)
    found = np.zeros(second.shape)
    found[row, column] = np.maximum(first[row, 0] * second[row, column] + moved, 0)
    return found


#: Labeled rows that new ones are compared with, and labeled rows that set the thresholds.
REFERENCES, HELD_OUT = 2000, 4000
#: Labeled rows, drawn at random, that centre and corners are looked for in.
SAMPLE = 20000
#: Knots of each number's scale.
KNOTS = 201
#: Ranges beyond the labeled rows' smallest or largest value that are far, at least.
FAR = 0.5
#: Most values of a number of codes, and least labeled rows of each (a tenth of the columns more).
CODES, LEAST_OF_CODE = 20, 5
#: Rows compared at a time.
CHUNK = 8192
#: What is added to the spread of numbers: directions without any do not decide alone.
LEAST_SPREAD = 1e-2
#: Largest number of empty corners that are kept.
CORNERS = 64
#: Share of the weight of labeled rows that corners may hold, by folds that they are found without.
CORNER_SHARE, FOLDS = 0.015, 5
#: What is told of rows with a chance of a label of at most `Support.least_chance_`.
RARE = "a kind that hardly ever has an outcome"


class Support:
    """Flags rows that resemble no labeled row.

    A row is outside when

    - a number lies more than `FAR` ranges beyond the labeled ones (farther, where left-out labeled
      rows do), or it has a level (or a combination of levels within one block) that no labeled row
      has, or a whole number of few values, each of several labeled rows, has another whole value;
    - it is farther from its nearest labeled row, or from their centre in Mahalanobis' sense,
      than all but a small share of labeled rows are from the others;
    - it lies in a corner of two features where many labeled rows would be expected, were the
      two related as in a normal copula, and none is;
    - with unlabeled rows in `fit`: a number of it lies where many unlabeled rows are and no labeled
      one, or hardly any at an end, see `EmptyRanges`; with their chances of a label: its own is at
      most `least_chance_`.

    Distances are taken between normal scores: each number is mapped to the normal quantile of
    its rank among labeled rows (linearly beyond them), so that skewed numbers and heavy tails
    count like any other; a level counts as two such units squared. Thresholds are quantiles
    over labeled rows, each compared with the others by scales, centre and spread from which it is
    left out, weighted to the target if `weight` is given: about `share` of rows like them are
    flagged.

    Parameters
    ----------
    share : float
        Share of the rows inside that may be flagged by distance; `CORNER_SHARE` comes to it.

    Vovk, Gammerman & Shafer (2005) for thresholds by conformal quantiles; Liu, Lafferty &
    Wasserman (2009), *JMLR* 10, for normal scores (the nonparanormal).
    """

    def __init__(self, share=0.01):
        self.share = share

    def fit(
        self,
        X,
        weight=None,
        *,
        rng,
        onehot=None,
        names=None,
        unlabeled=None,
        chance=None,
        group=None,
    ):
        """Fit on the labeled rows.

        `X` array (n, d) or `DenseRows`: encoded features: numbers and one-hot columns; `weight`
        array (n,), optional: to the target population; `onehot` array (d,), optional: bool, or the
        number of the block that a column belongs to and -1 for numbers. By default columns that
        hold 0 and 1 only. `names` sequence of str, optional: of the columns, for `reason`.
        `unlabeled` (N, d), optional, as X: features of the rows without an outcome; `chance` pair
        of arrays (n,) and (N,), optional: p(labeled | x) of labeled and unlabeled rows by fits
        without them. `group` pair of arrays (n,) and (N,), optional: of rows that may depend on
        each other, as years of a person do, one stands for all where rows are counted or compared.
        """
        if not hasattr(X, "encoded"):
            X = checked_rows(X, names)
        n, d = X.shape
        if n < 10:
            raise CounterweightError(
                f"Only {n} rows are labeled: too few to say what resembles them (10 are needed)."
            )
        weight = checked_weights(weight, n)
        self.names_ = [f"number {k}" for k in range(d)] if names is None else list(names)
        self.block_ = _blocks(X, onehot)
        self._fit_scales(X)
        self._fit_codes(X)
        order = rng.permutation(n)
        if group is None:
            self._fit_unlabeled(X, unlabeled, chance)
        else:
            order = order[first_of_each(group[0][order])]
            seen, there = np.sort(order), first_of_each(group[1])
            hidden = unlabeled if unlabeled is None else unlabeled[there]
            chance = chance and (chance[0][seen], chance[1][there])
            self._fit_unlabeled(X[seen], hidden, chance)
        order = order[:SAMPLE]
        Z, weight = self._scores(X[order]), weight[order]
        weight = weight if weight.any() else np.ones(len(order))
        reference = np.arange(min(REFERENCES, len(Z)))
        held = np.arange(len(reference), min(REFERENCES + HELD_OUT, len(Z)))
        self._fit_centre(Z)
        self._fit_distances(Z, *self._left_out(X, order, Z), weight, reference, held)
        self._fit_corners(Z, weight)
        return self

    def _fit_codes(self, X):
        """Values of the columns of codes: whole numbers, few, each of several labeled rows."""
        self.codes_ = {}
        least = LEAST_OF_CODE + X.shape[1] // 10
        for k in np.flatnonzero(self.block_ < 0):
            # A look at some rows first: sorting all of a column takes long.
            if len(np.unique(X[: 10 * CODES + least, k])) > CODES:
                continue
            value, count = np.unique(X[:, k], return_counts=True)
            if 1 < len(value) <= CODES and count.min() >= least and (value % 1 == 0).all():
                self.codes_[int(k)] = value

    def _fit_unlabeled(self, X, unlabeled, chance):
        """Where many unlabeled rows are and no labeled one; the chance below which hardly any is.

        Nothing of it is drawn.
        """
        self.empty_, self.least_chance_ = EmptyRanges.none(), -np.inf
        if unlabeled is not None and len(unlabeled):
            if not hasattr(unlabeled, "encoded"):
                unlabeled = checked_new_rows(unlabeled, X.shape[1])
            self.empty_ = EmptyRanges.find(X, unlabeled, np.flatnonzero(self.block_ < 0))
        if chance is not None and len(chance[1]):
            if len(chance[0]) != len(X):
                raise CounterweightError(
                    f"{len(X)} rows are labeled, but {len(chance[0])} chances of them are given."
                )
            self.least_chance_ = least_chance(*chance)

    def _fit_scales(self, X):
        from scipy.special import ndtri

        number = np.flatnonzero(self.block_ < 0)
        parts = (X[part] for part in row_blocks(len(X)))
        low, high = zip(*((part.min(axis=0), part.max(axis=0)) for part in parts), strict=True)
        self.low_, self.high_ = np.min(low, axis=0), np.max(high, axis=0)
        self.knots_ = np.zeros((len(number), KNOTS))
        self.values_ = np.zeros((len(number), KNOTS))
        self.slope_ = np.zeros(len(number))
        n = len(X)
        for row, k in enumerate(number):
            value, count = np.unique(X[:, k], return_counts=True)
            middle = ndtri((np.cumsum(count) - count / 2) / n)
            if len(value) > KNOTS:
                # Even steps of the normal score, so that the tails have knots of their own.
                at = np.unique(np.searchsorted(middle, np.linspace(middle[0], middle[-1], KNOTS)))
                at[-1] = len(value) - 1
                value, middle = value[at], middle[at]
            self.knots_[row] = np.pad(value, (0, KNOTS - len(value)), mode="edge")
            self.values_[row] = np.pad(middle, (0, KNOTS - len(value)), mode="edge")
            spread = value[-1] - value[0]
            self.slope_[row] = (middle[-1] - middle[0]) / spread if len(value) > 1 else 1.0
        self.patterns_ = {
            int(b): _patterns(X[:, self.block_ == b] > 0.5).astype(float)
            for b in np.unique(self.block_[self.block_ >= 0])
        }

    def _scores(self, X):
        """Normal scores of numbers, 0 and 1 of levels, float32 (m, d)."""
        Z = np.empty(X.shape, np.float32)
        level = self.block_ >= 0
        Z[:, level] = X[:, level] > 0.5
        for row, k in enumerate(np.flatnonzero(~level)):
            x = X[:, k]
            knots = self.knots_[row]
            score = np.interp(x, knots, self.values_[row])
            beyond = x - np.clip(x, knots[0], knots[-1])
            Z[:, k] = np.clip(score + self.slope_[row] * beyond, -50, 50)
        return Z

    def _fit_centre(self, Z):
        number = self.block_ < 0
        centre = Z[:, number].astype(float)
        self.centre_ = centre.mean(axis=0)
        d = int(number.sum())
        spread = np.atleast_2d(np.cov(centre, rowvar=False)) if d else np.zeros((0, 0))
        self.root_ = np.zeros((d, d))
        if d:
            value, vector = np.linalg.eigh(spread)
            value = np.maximum(value, 0) + LEAST_SPREAD
            self.root_ = vector / np.sqrt(value)

    def _left_out(self, X, order, Z):
        """Scores of the rows, and ranges beyond the others, were each left out of the scales.

        Only a row that alone is the least or largest of a column has another score than it has
        now: it is then beyond the others. Arrays (len(order), d) and (len(order),).
        """
        Z, beyond = Z.copy(), np.zeros(len(order))
        place = np.full(len(X), -1)
        place[order] = np.arange(len(order))
        for row, k in enumerate(np.flatnonzero(self.block_ < 0)):
            x = X[:, k]
            for sign in (-1, 1):
                top, second = np.partition(sign * x, len(x) - 2)[-2:][::-1]
                at = place[np.argmax(sign * x)]
                span = second - (self.low_[k] if sign > 0 else -self.high_[k])
                if top == second or at < 0 or span <= 0:
                    continue
                ends = self.values_[row][[0, -1]]
                spread = ends[1] - ends[0]
                # The least of n rows and that of n - 1 have nearly the same score.
                end = ends[1 if sign > 0 else 0]
                Z[at, k] = np.clip(end + sign * spread * (top - second) / span, -50, 50)
                beyond[at] = max(beyond[at], (top - second) / span)
        return Z, beyond

    def _mahalanobis_left_out(self, Z, left_out):
        """`_mahalanobis` of the rows Z of the fit, by centre and spread without each of them.

        Sherman & Morrison (1950): of n rows with the covariance C around the mean m, leaving out z
        makes it ((n - 1) C - n / (n - 1) v v') / (n - 2), with v = z - m, and the mean m - v / (n -
        1). `left_out` are the scores that the rows then have.
        """
        number = self.block_ < 0
        n = len(Z)
        if not number.any():
            return np.zeros(n, np.float32)
        centred = Z[:, number] - self.centre_
        turn = self.root_ / np.sqrt(np.square(self.root_).sum(axis=0))
        value = 1 / np.square(self.root_).sum(axis=0) - LEAST_SPREAD
        stretch = (n - 1) / (n - 2) * value + LEAST_SPREAD
        v = (centred @ turn) / np.sqrt(stretch)
        u = ((left_out[:, number] - self.centre_ + centred / (n - 1)) @ turn) / np.sqrt(stretch)
        share = n / ((n - 1) * (n - 2))
        own = np.maximum(1 - share * np.square(v).sum(axis=1), 1e-9)
        return np.square(u).sum(axis=1) + share * np.square((u * v).sum(axis=1)) / own

    def _mahalanobis(self, Z):
        number = self.block_ < 0
        if not number.any():
            return np.zeros(len(Z), np.float32)
        at = (Z[:, number] - self.centre_.astype(np.float32)) @ self.root_.astype(np.float32)
        return np.einsum("ij,ij->i", at, at)

    def _nearest(self, Z, own=None):
        """Squared distance to the nearest reference; `own` (m,): one to leave out, or -1."""
        found = np.empty(len(Z), np.float32)
        for part, near in self._closeness(Z):
            if own is not None:
                known = np.flatnonzero(own[part] >= 0)
                near[known, own[part][known]] = -np.inf
            rows = Z[part]
            found[part] = np.einsum("ij,ij->i", rows, rows) - 2 * near.max(axis=1)
        return np.maximum(found, 0)

    def _closeness(self, Z):
        """By chunk of rows: half their squared length less half the distance to each reference."""
        others = self.reference_
        half = np.einsum("ij,ij->i", others, others) / 2
        for start in range(0, len(Z), CHUNK):
            part = slice(start, min(start + CHUNK, len(Z)))
            near = Z[part] @ others.T
            near -= half
            yield part, near

    def _fit_distances(self, Z, left_out, beyond, weight, reference, held):
        self.reference_ = Z[reference]
        own = self._nearest(self.reference_, np.arange(len(reference)))
        # Labeled rows that are far from all others vouch for no one.
        lone = np.zeros(len(own), bool)
        if len(own) >= 200:
            lone = own > np.quantile(own, 0.99, method="higher")
        self.reference_ = self.reference_[~lone]
        if len(held) >= 500:
            rows, near = held, self._nearest(left_out[held])
        else:
            rows = reference
            near = self._nearest(left_out[rows], np.where(lone, -1, np.cumsum(~lone) - 1))
        far, beyond = self._mahalanobis_left_out(Z, left_out)[rows], beyond[rows]
        share, weight = self.share, weight[rows]
        # The three take the same share; it is widened as far as flags overlap.
        for allowed in np.linspace(share, share / 3, 6):
            self.near_ = _upper_quantile(near, weight, allowed)
            self.far_ = _upper_quantile(far, weight, allowed)
            self.range_ = max(FAR, _upper_quantile(beyond, weight, allowed))
            flagged = (near > self.near_) | (far > self.far_) | (beyond > self.range_)
            if np.average(flagged, weights=weight) <= share:
                break

    def _fit_corners(self, Z, weight):
        """Keep the emptiest corners, as many as flag few rows that they were found without.

        Rows at the edges of the corners that are kept tell too little: which are kept depends on
        them, too.
        """
        found = Corners.find(Z, self.block_, CORNERS)[0]
        # The strongest corner that holds each row, of those found without it.
        most = len(found.first)
        by = np.full(len(Z), most)
        for fold in range(FOLDS if most else 0):
            out = np.arange(len(Z)) % FOLDS == fold
            others = Corners.find(Z[~out], self.block_, most)[0]
            row, corner = np.nonzero(others.hold(Z[out]))
            np.minimum.at(by, np.flatnonzero(out)[row], corner)
        flagged = np.cumsum(np.bincount(by, weight, most + 1))[:most]
        kept = int((flagged <= CORNER_SHARE * weight.sum()).sum())
        self.corners_ = found.some(slice(kept))

    def _marginal(self, X):
        """Ranges beyond the labeled rows, by feature; infinite for an unseen level."""
        level = self.block_ >= 0
        span = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        beyond = np.maximum(X - self.high_, self.low_ - X)
        beyond /= span
        np.maximum(beyond, 0, out=beyond)
        beyond[:, level] = 0
        for k, codes in self.codes_.items():
            x = X[:, k]
            beyond[~np.isin(x, codes) & (x % 1 == 0), k] = np.inf
        for b, patterns in self.patterns_.items():
            columns = np.flatnonzero(self.block_ == b)
            own = X[:, columns] > 0.5
            known = self._known(own, patterns)
            unseen = np.flatnonzero(~known)
            # The level itself where it is set and none labeled has it, else the block's first.
            at = np.argmax(own[unseen] & ~(patterns > 0.5).any(axis=0), axis=1)
            beyond[unseen, columns[at]] = np.inf
        return beyond

    @staticmethod
    def _known(own, patterns):
        code = own @ (2.0 ** (np.arange(own.shape[1]) % 52)) + own.sum(axis=1) * 0.25
        codes = patterns @ (2.0 ** (np.arange(own.shape[1]) % 52)) + patterns.sum(axis=1) * 0.25
        return np.isin(code, codes)

    def _parts(self, X, chance):
        """By chunk of rows: which, features, ranges beyond, too far, scores, range, rare kind."""
        X = checked_new_rows(X, len(self.names_)) if len(X) else np.zeros((0, len(self.names_)))
        if chance is not None and len(chance) != len(X):
            raise CounterweightError(f"{len(X)} rows have {len(chance)} chances of a label.")
        for start in range(0, len(X), CHUNK):
            part = slice(start, min(start + CHUNK, len(X)))
            Z = self._scores(X[part])
            far = (self._nearest(Z) > self.near_) | (self._mahalanobis(Z) > self.far_)
            rare = np.zeros(len(Z), bool)
            if chance is not None:
                rare = np.asarray(chance[part], float) <= self.least_chance_
            yield part, X[part], self._marginal(X[part]), far, Z, self.empty_.hold(X[part]), rare

    def outside(self, X, chance=None):
        """Whether each row resembles no labeled row, bool (m,); `chance` (m,): p(labeled | x)."""
        found = np.zeros(len(X), bool)
        for rows, _, beyond, far, Z, empty, rare in self._parts(X, chance):
            wide = (beyond > self.range_).any(axis=1)
            found[rows] = far | wide | self.corners_.hold(Z).any(axis=1) | (empty >= 0) | rare
        return found

    def reason(self, X, chance=None):
        """Why each row is outside: array (m,) of text, "" for rows that are not.

        `chance` (m,), optional: p(labeled | x) of the rows.
        """
        found = np.full(len(X), "", dtype=object)
        names = np.asarray(self.names_, dtype=object)
        words = self.empty_.words(names)
        for rows, given, beyond, far, Z, empty, rare in self._parts(X, chance):
            held = self.corners_.hold(Z)
            corner = held.any(axis=1)
            told = np.full(len(Z), "", dtype=object)
            told[rare] = RARE
            told[far] = "a combination"
            if corner.any():
                at = np.argmax(held[corner], axis=1)
                first, second = names[self.corners_.first[at]], names[self.corners_.second[at]]
                told[corner] = first + " with " + second
            worst = np.argmax(beyond, axis=1)
            furthest = beyond[np.arange(len(Z)), worst]
            alone = furthest > np.where(far, 0, self.range_)
            told[alone] = names[worst[alone]]
            # No level of the block is set, or a code: a value that no row of the fit had.
            level = self.block_[worst] >= 0
            unset = given[np.arange(len(Z)), worst] < 0.5
            new = alone & np.isinf(furthest) & (unset | ~level)
            told[new] = [names[k].partition("=")[0] + ", a value never seen" for k in worst[new]]
            told[empty >= 0] = words[empty[empty >= 0]]
            found[rows] = told
        return found

    def nearest(self, X):
        """Features (m, d) of the rows, moved to the nearest that labeled rows support.

        Numbers are moved into the range of labeled rows and out of ranges where nobody has an
        outcome. A row that then still is too far or in an empty corner takes the features of the
        nearest labeled row that new ones are compared with. Levels never seen stay.
        """
        X = checked_new_rows(X, len(self.names_)) if len(X) else np.zeros((0, len(self.names_)))
        number = np.flatnonzero(self.block_ < 0)
        moved = np.array(X, float)
        moved[:, number] = np.clip(moved[:, number], self.low_[number], self.high_[number])
        moved = self.empty_.nearest(moved)
        Z = self._scores(moved)
        far = (self._mahalanobis(Z) > self.far_) | self.corners_.hold(Z).any(axis=1)
        far = np.flatnonzero(far | (self._nearest(Z) > self.near_))
        for part, near in self._closeness(Z[far]):
            features = self.reference_[np.argmax(near, axis=1)].astype(float)
            for row, k in enumerate(number):
                value = np.interp(features[:, k], self.values_[row], self.knots_[row])
                features[:, k] = np.clip(value, self.low_[k], self.high_[k])
            moved[far[part]] = features
        return moved

    def to_arrays(self):
        """Fitted numbers and names by name."""
        arrays = {
            "share": self.share,
            "names": np.asarray(self.names_, dtype=str),
            "block": self.block_,
            "near": self.near_,
            "far": self.far_,
            "range": self.range_,
            "least_chance": self.least_chance_,
        }
        for name in ("low", "high", "knots", "values", "slope", "centre", "root", "reference"):
            arrays[name] = getattr(self, f"{name}_")
        for b, patterns in self.patterns_.items():
            arrays[f"patterns_{b}"] = patterns
        for k, codes in self.codes_.items():
            arrays[f"codes_{k}"] = codes
        for part in ("corners", "empty"):
            for name, values in vars(getattr(self, f"{part}_")).items():
                arrays[f"{part}_{name}"] = values
        return arrays

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted support from `to_arrays`; one saved before 1.1 lacks codes and empty ranges."""
        self = cls(float(arrays["share"]))
        self.names_ = [str(name) for name in arrays["names"]]
        d = len(self.names_)
        self.block_ = np.asarray(arrays["block"], int)
        self.near_, self.far_ = float(arrays["near"]), float(arrays["far"])
        numbers = int((self.block_ < 0).sum())
        shapes = {"knots": (numbers, KNOTS), "values": (numbers, KNOTS), "root": (numbers,) * 2}
        for name in ("low", "high", "knots", "values", "slope", "centre", "root"):
            values = np.asarray(arrays[name], float)
            setattr(self, f"{name}_", values.reshape(shapes.get(name, -1)))
        self.reference_ = np.asarray(arrays["reference"], np.float32).reshape(-1, d)
        self.patterns_ = {}
        for b in np.unique(self.block_[self.block_ >= 0]):
            columns = int((self.block_ == b).sum())
            self.patterns_[int(b)] = np.asarray(arrays[f"patterns_{b}"], float).reshape(-1, columns)
        self.corners_ = Corners.of(
            {name: arrays[f"corners_{name}"] for name in Corners.__dataclass_fields__}
        )
        self.codes_ = {
            k: np.asarray(arrays[f"codes_{k}"], float).reshape(-1)
            for k in range(d)
            if f"codes_{k}" in arrays
        }
        self.range_ = float(arrays["range"]) if "range" in arrays else FAR
        self.least_chance_, self.empty_ = -np.inf, EmptyRanges.none()
        if "least_chance" in arrays:
            self.least_chance_ = float(arrays["least_chance"])
            own = {k.removeprefix("empty_"): v for k, v in arrays.items() if k[:6] == "empty_"}
            self.empty_ = EmptyRanges.of(own)
        return self


def _upper_quantile(values, weight, share):
    """Least of the values that weighted rows above it are at most `share` of all and a new one."""
    order = np.argsort(values)
    running = np.cumsum(weight[order])
    own = weight @ weight / running[-1]
    allowed = share * (running[-1] + own) - own
    above = running[-1] - running
    return float(values[order[np.argmax(above <= max(allowed, 0))]])


def _patterns(levels):
    """Distinct rows of masks (n, k), in order."""
    if levels.shape[1] <= 52:  # they are numbers then, which are sorted sooner
        number = levels @ 2.0 ** np.arange(levels.shape[1])
        levels = levels[np.unique(number, return_index=True)[1]]
    return np.unique(levels, axis=0)


def _blocks(X, onehot):
    if onehot is None:
        onehot = ((X == 0) | (X == 1)).all(axis=0)
    onehot = np.asarray(onehot)
    if onehot.dtype != bool:
        return onehot.astype(int)
    # Without blocks each column stands for itself.
    return np.where(onehot, np.arange(X.shape[1]), -1)


def overlap(p, s, weight=None, bins=20):
    """How p(s = 1 | x) of labeled and unlabeled rows overlap.

    `p` array (n,); `s` bool array (n,): labeled or not; `weight` array (n,), optional: design
    weights. Returns dict: ``least``: weighted 1 % quantile of p over labeled rows; ``below``: share
    of the unlabeled rows whose p is less; ``edges (bins + 1,)``, ``labeled (bins,)``, ``unlabeled
    (bins,)``: shares by bin of p, for a chart.
    """
    p, s = np.asarray(p, float), np.asarray(s, bool)
    weight = checked_weights(weight, len(p))
    if not weight[s].any() or not weight[~s].any():
        raise CounterweightError("Overlap needs both labeled and unlabeled rows.")
    order = np.argsort(p[s])
    running = np.cumsum(weight[s][order])
    least = float(p[s][order][np.searchsorted(running, 0.01 * running[-1])])
    edges = np.linspace(0, 1, bins + 1)
    shares = [
        np.histogram(p[side], edges, weights=weight[side])[0] / weight[side].sum()
        for side in (s, ~s)
    ]
    return {
        "least": least,
        "below": float(np.average(p[~s] < least, weights=weight[~s])),
        "edges": edges,
        "labeled": shares[0],
        "unlabeled": shares[1],
    }
