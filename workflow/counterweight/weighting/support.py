"""Which rows resemble nobody labeled, and how far labeled rows cover and balance a target."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import checked_new_rows, checked_rows, checked_weights
from counterweight.weighting.corners import Corners
from counterweight.weighting.diagnostics import effective_sample_size, weighted_mean

#: Labeled rows that new ones are compared with, and labeled rows that set the thresholds.
REFERENCES, HELD_OUT = 2000, 4000

#: Labeled rows, drawn at random, that centre and corners are looked for in.
SAMPLE = 20000

#: Knots of each number's scale.
KNOTS = 201

#: Ranges beyond the labeled rows' smallest or largest value that are far.
FAR = 0.5

#: Rows compared at a time.
CHUNK = 8192

#: Largest number of empty corners that are kept.
CORNERS = 64

#: Share of the weight of labeled rows at the edges of corners: as many would be flagged there.
CORNER_SHARE = 0.015


class Support:
    """Flags rows that resemble no labeled row.

    A row is outside when

    - a number lies more than `FAR` ranges beyond the labeled ones, or it has a level (or a
      combination of levels within one block) that no labeled row has;
    - it is farther from its nearest labeled row, or from their centre in Mahalanobis' sense,
      than all but a small share of labeled rows are from the others;
    - it lies in a corner of two features where many labeled rows would be expected, were the
      two related as in a normal copula, and none is.

    Distances are taken between normal scores: each number is mapped to the normal quantile of
    its rank among labeled rows (linearly beyond them), so that skewed numbers and heavy tails
    count like any other; a level counts as two such units squared. Thresholds are quantiles
    over labeled rows, each compared with the others, weighted to the target if `weight` is
    given: about `share` of rows like them are flagged.

    Parameters
    ----------
    share : float
        Share of the rows inside that may be flagged by distance; `CORNER_SHARE` comes to it.

    References
    ----------
    Vovk, Gammerman & Shafer (2005) for thresholds by conformal quantiles; Liu, Lafferty &
    Wasserman (2009), *JMLR* 10, for normal scores (the nonparanormal).
    """

    def __init__(self, share=0.01):
        if not 0 < share < 1:
            raise CounterweightError(f"share is {share}; it must lie between 0 and 1.")
        self.share = share

    def fit(self, X, weight=None, *, rng, onehot=None, names=None):
        """Fit on the labeled rows.

        Parameters
        ----------
        X : array (n, d)
            Encoded features: numbers (any scale) and one-hot columns.
        weight : array (n,), optional
            To the target population.
        rng : numpy.random.Generator
        onehot : array (d,), optional
            Bool, or the number of the block that a column belongs to and -1 for numbers. By
            default columns that hold 0 and 1 only.
        names : sequence of str, optional
            Of the columns, for `reason`.

        Raises
        ------
        CounterweightError
            For fewer than 10 labeled rows, or X and weights that are none.
        """
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
        order = rng.permutation(n)[:SAMPLE]
        Z, weight = self._scores(X[order]), weight[order]
        weight = weight if weight.any() else np.ones(len(order))
        reference = np.arange(min(REFERENCES, len(Z)))
        held = np.arange(len(reference), min(REFERENCES + HELD_OUT, len(Z)))
        self._fit_centre(Z)
        self._fit_distances(Z, weight, reference, held)
        self._fit_corners(Z, weight)
        return self

    def _fit_scales(self, X):
        from scipy.special import ndtri

        number = np.flatnonzero(self.block_ < 0)
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
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
            int(b): np.unique(X[:, self.block_ == b] > 0.5, axis=0).astype(float)
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
        # A little of the identity keeps directions without spread from deciding alone.
        self.root_ = np.zeros((d, d))
        if d:
            value, vector = np.linalg.eigh(spread)
            value = np.maximum(value, 0) + 1e-2
            self.root_ = vector / np.sqrt(value)

    def _mahalanobis(self, Z):
        number = self.block_ < 0
        if not number.any():
            return np.zeros(len(Z), np.float32)
        at = (Z[:, number] - self.centre_.astype(np.float32)) @ self.root_.astype(np.float32)
        return np.einsum("ij,ij->i", at, at)

    def _nearest(self, Z, skip=False):
        """Squared distance to the nearest reference; `skip` leaves out the row itself."""
        others = self.reference_
        half = np.einsum("ij,ij->i", others, others) / 2
        found = np.empty(len(Z), np.float32)
        for start in range(0, len(Z), CHUNK):
            part = Z[start : start + CHUNK]
            near = part @ others.T
            near -= half
            if skip:
                own = np.arange(len(part))
                near[own, start + own] = -np.inf
            found[start : start + CHUNK] = np.einsum("ij,ij->i", part, part) - 2 * near.max(axis=1)
        return np.maximum(found, 0)

    def _fit_distances(self, Z, weight, reference, held):
        self.reference_ = Z[reference]
        own = self._nearest(self.reference_, skip=True)
        # Labeled rows that are far from all others vouch for no one.
        lone = np.zeros(len(own), bool)
        if len(own) >= 200:
            lone = own > np.quantile(own, 0.99, method="higher")
        self.reference_ = self.reference_[~lone]
        if len(held) >= 500:
            rows, near = held, self._nearest(Z[held])
        else:
            rows = np.concatenate([reference[~lone], reference[lone]])
            others = self._nearest(Z[reference[lone]])
            near = np.concatenate([self._nearest(self.reference_, skip=True), others])
        far = self._mahalanobis(Z[rows])
        share = self.share
        # Both distances take the same share; it is widened as far as flags on both overlap.
        for allowed in np.linspace(share, share / 2, 6):
            self.near_ = _upper_quantile(near, weight[rows], allowed)
            self.far_ = _upper_quantile(far, weight[rows], allowed)
            flagged = (near > self.near_) | (far > self.far_)
            if np.average(flagged, weights=weight[rows]) <= share:
                break

    def _fit_corners(self, Z, weight):
        """Keep the emptiest corners, as long as few rows would be flagged if left out."""
        found, strength = Corners.find(Z, self.block_)
        allowed = CORNER_SHARE * weight.sum()
        kept, makers = [], np.zeros(len(Z), bool)
        for c in np.argsort(-strength, kind="stable")[: 4 * CORNERS]:
            with_this = makers | found.makers(c, Z)
            if weight[with_this].sum() <= allowed:
                kept.append(c)
                makers = with_this
            if len(kept) == CORNERS:
                break
        self.corners_ = found.some(np.array(kept, int))

    def _marginal(self, X):
        """Ranges beyond the labeled rows, by feature; infinite for an unseen level."""
        level = self.block_ >= 0
        span = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        beyond = np.maximum(X - self.high_, self.low_ - X)
        beyond /= span
        np.maximum(beyond, 0, out=beyond)
        beyond[:, level] = 0
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

    def _parts(self, X):
        """By chunk of rows: which they are, ranges beyond, distances over thresholds, corners."""
        X = checked_new_rows(X, len(self.names_)) if len(X) else np.zeros((0, len(self.names_)))
        for start in range(0, len(X), CHUNK):
            part = X[start : start + CHUNK]
            Z = self._scores(part)
            far = (self._nearest(Z) > self.near_) | (self._mahalanobis(Z) > self.far_)
            yield slice(start, start + len(part)), self._marginal(part), far, Z

    def outside(self, X):
        """Whether each row resembles no labeled row, bool (m,)."""
        found = np.zeros(len(X), bool)
        for rows, beyond, far, Z in self._parts(X):
            found[rows] = far | (beyond > FAR).any(axis=1) | self.corners_.hold(Z).any(axis=1)
        return found

    def reason(self, X):
        """Why each row is outside: array (m,) of text, "" for rows that are not."""
        found = np.full(len(X), "", dtype=object)
        names = np.asarray(self.names_, dtype=object)
        for rows, beyond, far, Z in self._parts(X):
            held = self.corners_.hold(Z)
            corner = held.any(axis=1)
            told = np.full(len(Z), "", dtype=object)
            told[far] = "a combination"
            if corner.any():
                at = np.argmax(held[corner], axis=1)
                first, second = names[self.corners_.first[at]], names[self.corners_.second[at]]
                told[corner] = first + " with " + second
            worst = np.argmax(beyond, axis=1)
            alone = beyond[np.arange(len(Z)), worst] > np.where(far, 0, FAR)
            told[alone] = names[worst[alone]]
            # No level of the block is set: the row has a value that no row of the fit had.
            unset = np.asarray(X)[rows][np.arange(len(Z)), worst] < 0.5
            new = alone & (self.block_[worst] >= 0) & unset
            told[new] = [name.partition("=")[0] + ", a value never seen" for name in told[new]]
            found[rows] = told
        return found

    def to_arrays(self):
        """Fitted numbers and names by name."""
        arrays = {
            "share": self.share,
            "names": np.asarray(self.names_, dtype=str),
            "block": self.block_,
            "near": self.near_,
            "far": self.far_,
        }
        for name in ("low", "high", "knots", "values", "slope", "centre", "root", "reference"):
            arrays[name] = getattr(self, f"{name}_")
        for b, patterns in self.patterns_.items():
            arrays[f"patterns_{b}"] = patterns
        for name, values in vars(self.corners_).items():
            arrays[f"corners_{name}"] = values
        return arrays

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted support from `to_arrays`."""
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
        return self


def _upper_quantile(values, weight, share):
    """Least of the values that weighted rows above it are at most `share` of all and a new one."""
    order = np.argsort(values)
    running = np.cumsum(weight[order])
    own = weight @ weight / running[-1]
    allowed = share * (running[-1] + own) - own
    above = running[-1] - running
    return float(values[order[np.argmax(above <= max(allowed, 0))]])


def _blocks(X, onehot):
    if onehot is None:
        onehot = ((X == 0) | (X == 1)).all(axis=0)
    onehot = np.asarray(onehot)
    if onehot.shape != (X.shape[1],):
        raise CounterweightError(
            f"onehot must tell of each of the {X.shape[1]} columns; its shape is {onehot.shape}."
        )
    if onehot.dtype != bool:
        return onehot.astype(int)
    # Without blocks each column stands for itself.
    return np.where(onehot, np.arange(X.shape[1]), -1)


def overlap(p, s, weight=None, bins=20):
    """How p(s = 1 | x) of labeled and unlabeled rows overlap.

    Parameters
    ----------
    p : array (n,)
    s : bool array (n,)
        Labeled or not.
    weight : array (n,), optional
        Design weights.
    bins : int

    Returns
    -------
    dict
        ``least``: weighted 1 % quantile of p over labeled rows; ``below``: share of the
        unlabeled rows whose p is less; ``edges (bins + 1,)``, ``labeled (bins,)``,
        ``unlabeled (bins,)``: shares by bin of p, for a chart.

    Raises
    ------
    CounterweightError
        Where none is labeled or none unlabeled.
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


def covariate_balance(X, weight, X_target, target_weight=None, base_weight=None):
    """Standardised mean differences before and after weighting, and what the weights cost.

    Parameters
    ----------
    X : array (M, d)
        Labeled rows.
    weight : array (M,)
    X_target : array (T, d)
    target_weight : array (T,), optional
        Design weights of the target's rows.
    base_weight : array (M,), optional
        Weights "before": design weights of the labeled rows; ones by default.

    Returns
    -------
    dict
        ``before``, ``after`` (d,): (mean of labeled rows - mean of target) over the target's
        standard deviation (0 for a feature that does not vary in it and whose means agree);
        ``mean_before``, ``mean_after``, ``largest_before``, ``largest_after``: of absolute
        values; ``rows``, ``effective_rows``, ``design_effect`` (Kish: rows over effective
        rows), ``largest`` (up to 10 largest weights over their mean, descending),
        ``largest_rows`` (their positions), ``share_of_largest`` (of all weight, of the
        largest 1 % of rows).
    """
    X, X_target = checked_rows(X), checked_rows(X_target)
    if X.shape[1] != X_target.shape[1]:
        raise CounterweightError(
            f"The labeled rows have {X.shape[1]} features, the target {X_target.shape[1]}."
        )
    weight, base = checked_weights(weight, len(X)), checked_weights(base_weight, len(X))
    target_weight = checked_weights(target_weight, len(X_target))
    centre, _ = weighted_mean(X_target, target_weight)
    scale = np.sqrt(target_weight @ (X_target - centre) ** 2 / target_weight.sum())
    flat = scale <= 1e-12 * np.maximum(np.abs(centre), 1)
    scale = np.where(flat, np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), scale)
    before, after = ((weighted_mean(X, w)[0] - centre) / scale for w in (base, weight))
    size = effective_sample_size(weight)
    top = np.argsort(-weight, kind="stable")
    few = max(1, len(weight) // 100)
    return {
        "before": before,
        "after": after,
        "mean_before": float(np.abs(before).mean()),
        "mean_after": float(np.abs(after).mean()),
        "largest_before": float(np.abs(before).max()),
        "largest_after": float(np.abs(after).max()),
        "rows": len(weight),
        "effective_rows": size,
        "design_effect": len(weight) / size,
        "largest": weight[top[:10]] / weight.mean(),
        "largest_rows": top[:10],
        "share_of_largest": float(weight[top[:few]].sum() / weight.sum()),
    }
