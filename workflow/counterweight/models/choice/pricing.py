"""Best offers within bounds of each person, by the fitted model and by its bootstrap draws.

One class for each form of model: segments with a curve each, a line of log-odds for each person,
any other curve. All are asked the same: how likely each person accepts an offer, which offer
earns most between two bounds, and which offers the draws find best. Offers t are scaled to [0, 1].

The bounds are of kinds of people: those of one segment (models of segments) or those next to one
centre of k-means on the standardised features (other models). The offers of a kind reach from the
1 % to the 99 % quantile of those that were made to its people, both of them offers that were
made; of fewer than a hundred people these are the least and the largest.
"""

from itertools import pairwise

import numpy as np
from scipy.special import logsumexp

from counterweight.models.choice.acceptance import (
    logistic,
    mixed_acceptance,
    mixed_over,
    optimal_offer,
    soft_optimal_offer,
)
from counterweight.models.choice.offer_training import searched_offers

#: Offers at which a draw's expected revenue is looked at; the best one is refined by a parabola.
LOOKED = 33
#: People whom a draw prices at a time, and those whose values at all offers fit the cache.
PRICED, BLOCK = 1 << 15, 1 << 12
#: Parts of the range that draws round moves of thresholds to, and the most ranges of a move.
ROUNDED, WIDEST = 1 << 9, 60
#: Slopes nearer to 0 count as this.
FLAT = 1e-9
#: Quantiles of the offers that were made to a kind of people.
REACH = 0.01
#: Most kinds, and people for each.
MOST_KINDS, PEOPLE = 8, 100
#: Share of the people of a fit who are farther away than those who count as like them.
FAR = 0.002
#: A person is beyond a feature's range if by more than this share of it.
MARGIN = 1e-9


def pricer(model, setting):
    """How the offers of a fitted model are found: see the classes of this module.

    `setting` is ``hard`` or ``soft`` of a model of segments; else empty.
    """
    if hasattr(model, "predict_segments"):
        kind = Segments if model.gates_ is None else GatedSegments
        return kind(model, setting or model.assignment)
    # One line for everybody, without an oracle's components.
    if len(model.models_) == 1 and np.ndim(model.models_[0].get("coef")) == 1:
        return Lines(model)
    return Curves(model)


def possible(grid, low, high):
    """The offers of a grid between two bounds; the nearest one where there is none."""
    inside = grid[(grid >= low - 1e-12) & (grid <= high + 1e-12)]
    if len(inside):
        return inside
    away = np.maximum(low - grid, grid - high)
    return grid[[int(np.argmin(away))]]


class Segments:
    """Segments of people, each with one curve; people are priced by the likeliest or by all.

    The segments are the `kinds` of people that offers were made to.
    """

    has_draws = True

    def __init__(self, model, setting):
        self.model, self.setting = model, setting
        self.eta, self.k = model.eta_, model.k_
        self.kinds = len(self.k)

    def about(self, X):
        """What the rest asks for: ``rows`` of features, ``joint`` log densities, ``kind``."""
        rows = self.model._new_rows(X)
        joint = rows.log_joint(self.model._parameters())
        about = {"rows": rows, "joint": joint, "kind": joint.argmax(axis=1)}
        # Where thresholds move with the features: what they are linear in, and by how much.
        apart = self.model._apart(X)
        moves = np.zeros(len(X)) if apart is None else self.model.threshold_moves(X)
        return about | {"apart": apart, "moves": moves}

    def closeness(self, about):
        """Log density of each person's features."""
        return logsumexp(about["joint"], axis=1)

    def _weights(self, about):
        joint = about["joint"]
        if self.setting == "hard":
            return np.eye(self.kinds)[about["kind"]]
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def told(self, about):
        """Segment of each person, its probability, and its curve."""
        kind, joint = about["kind"], about["joint"]
        at = np.arange(len(kind))
        return {
            "segment": kind,
            "segment_p": np.exp(joint[at, kind] - logsumexp(joint, axis=1)),
            "eta": self.eta[kind] + about["moves"],
            "k": self.k[kind],
        }

    def accept(self, about, t):
        return mixed_acceptance(self._weights(about), t - about["moves"], self.eta, self.k)

    def accept_each(self, about, t):
        """Chance (n, m) that people accept each of some offers t (m,)."""
        weights = self._weights(about)
        if about["apart"] is None:
            return weights @ logistic(self.k[:, None] * (t - self.eta[:, None]))
        return mixed_over(weights, t, self.eta + about["moves"][:, None], self.k)

    def best(self, about, kind, bounds, revenue, grid=None):
        """Best offers (n,) of people within the bounds (kinds, 2) of their kind."""
        offers = np.empty(len(kind))
        weights = None if self.setting == "hard" else self._weights(about)
        moves = about["moves"]
        for number in np.unique(kind):
            (low, high), mine = bounds[number], kind == number
            own = None if grid is None else possible(grid, low, high)
            if own is not None:
                low, high = own[0], own[-1]
            if weights is None:
                at = about["kind"][mine]
                asked = low, high, revenue, own
                offers[mine] = optimal_offer(self.eta[at] + moves[mine], self.k[at], *asked)
            else:
                apart = None if about["apart"] is None else moves[mine]
                offers[mine] = soft_optimal_offer(
                    weights[mine], self.eta, self.k, low, high, revenue, own, moves=apart
                )
        return offers

    def drawn(self, X, t, y, rng, draws, steps=5):
        """Parameters of bootstrap draws: a few EM steps from the fit on resampled rows.

        Returns
        -------
        dict of str to array
            ``densities`` (draws, J, q): coefficients of the log densities in
            (1, x_i, x_i x_j, levels); ``eta`` and ``k`` (draws, J); ``moves`` (draws, p), where
            thresholds move with the features.
        """
        batch, moves = self.model.refitted(X, y, t, rng=rng, draws=draws, steps=steps)
        position, k = np.moveaxis(batch.curves, -1, 0)
        drawn = {
            "densities": np.swapaxes(self.model._emission.coefficients(batch), 0, 1),
            "eta": (0.5 - position / k).T,
            "k": k.T,
        }
        return drawn if moves is None else drawn | {"moves": moves}

    def ends(self, about, kind, bounds, revenue, grid, draws, summary):
        """What ``summary(best (draws, n)) -> (q, n)`` says of the draws' best offers, (q, n)."""
        eta, k, densities = draws["eta"], draws["k"], draws["densities"]
        found, moved = None, about["apart"] is not None
        group = about["rows"].groups[0] if len(about["rows"].groups) == 1 else None
        for number in np.unique(kind):
            low, high = bounds[number]
            own = None if grid is None else possible(grid, low, high)
            offers = np.linspace(low, high, LOOKED) if own is None else own
            asked = offers[0], offers[-1], revenue, own
            earns = revenue[0] + revenue[1] * offers
            earned = logistic(k[..., None] * (offers - eta[..., None])) * earns
            mine = np.flatnonzero(kind == number)
            for start in range(0, len(mine), PRICED):
                at = mine[start : start + PRICED]
                best = np.empty((len(eta), len(at)))
                # Rows with gaps keep the densities of the fit.
                joint = None if group is not None else about["joint"][at].T
                features = None if group is None else group.features[:, at]
                apart = about["apart"][at].T if moved else None
                for draw in range(len(eta)):
                    if group is not None:
                        joint = densities[draw] @ features
                    moves = draws["moves"][draw] @ apart if moved else 0.0
                    if self.setting == "hard" or eta.shape[1] == 1:
                        place = joint.argmax(axis=0)
                        if moved:
                            curve = eta[draw][place] + moves, k[draw][place]
                            best[draw] = optimal_offer(*curve, *asked)
                        else:
                            best[draw] = optimal_offer(eta[draw], k[draw], *asked)[place]
                        continue
                    weights = np.exp(joint - joint.max(axis=0))
                    if moved:
                        made = eta[draw], k[draw], offers, earns
                        best[draw] = _moved_peaks(weights, moves, *made, grid is None)
                    else:
                        best[draw] = _all_peaks(weights, earned[draw], offers, grid is None)
                told = summary(best)
                found = np.empty((len(told), len(kind))) if found is None else found
                found[:, at] = told
        return found


class GatedSegments(Segments):
    """Segments by gates, which say nothing of features: `Kinds` tell who is like whom."""

    closeness = None


class Lines:
    """Log-odds of acceptance, for each person a line in the offer; people come in `Kinds`."""

    has_draws = True

    def __init__(self, model):
        self.model = model
        one = model.models_[0]
        self.coef, self.intercept = np.asarray(one["coef"], float), float(one["intercept"])

    def about(self, X):
        return {"X": X}

    def _line(self, about, coef, intercept):
        """Log-odds (n, ...) at the offer 0, and slopes in the offer."""
        design = self.model.design_
        X = about["X"]
        base = design.columns(X, np.zeros(len(X)))
        start = base @ coef + intercept
        slope = design.columns(X, np.ones(len(X))) @ coef + intercept - start
        return start, slope

    def told(self, about):
        return {}

    def accept(self, about, t):
        return self.model.predict_acceptance(about["X"], t)

    def accept_each(self, about, t):
        start, slope = self._line(about, self.coef, self.intercept)
        return logistic(start[:, None] + slope[:, None] * t)

    def best(self, about, kind, bounds, revenue, grid=None):
        start, slope = self._line(about, self.coef, self.intercept)
        return best_on_lines(start, slope, kind, bounds, revenue, grid)

    def drawn(self, X, t, y, rng, draws):
        """Parameters of models fitted anew to resampled rows: ``coef`` (draws, p), ``intercept``.

        A draw with one kind of answer keeps the fitted model.
        """
        n = len(X)
        Z = self.model.design_.columns(X, t)
        coef, intercept = np.tile(self.coef, (draws, 1)), np.full(draws, self.intercept)
        for number in range(draws):
            times = np.bincount(rng.integers(n, size=n), minlength=n)
            if np.ptp(y[times > 0]) > 0:
                coef[number], intercept[number] = self.model.refitted(Z, y, times)
        return {"coef": coef, "intercept": intercept}

    def ends(self, about, kind, bounds, revenue, grid, draws, summary):
        start, slope = self._line(about, draws["coef"].T, draws["intercept"])
        return summary(best_on_lines(start.T, slope.T, kind, bounds, revenue, grid))


class Curves:
    """Any model of p(accept | x, offer): the best offer by a search, and no draws."""

    has_draws = False

    def __init__(self, model):
        self.model = model

    def about(self, X):
        return {"X": X}

    def told(self, about):
        return {}

    def accept(self, about, t):
        return self.model.predict_acceptance(about["X"], t)

    def accept_each(self, about, t):
        count = len(about["X"])
        return np.stack([self.accept(about, np.full(count, one)) for one in t], axis=1)

    def best(self, about, kind, bounds, revenue, grid=None):
        offers = np.empty(len(kind))
        for number in np.unique(kind):
            (low, high), mine = bounds[number], np.flatnonzero(kind == number)
            own = None if grid is None else possible(grid, low, high)
            if own is not None:
                low, high = own[0], own[-1]
            X = about["X"][mine]
            offers[mine] = searched_offers(
                lambda t, X=X: self.model.predict_acceptance(X, t),
                len(mine),
                revenue,
                own,
                low,
                high,
            )
        return offers


def best_on_lines(start, slope, kind, bounds, revenue, grid=None):
    """Best offers (..., n) where the log-odds are start + slope t, of people of some kinds.

    `bounds` (kinds, 2) are the least and largest offer of each kind. By `optimal_offer`, on the
    reflected offer 1 - t where the slope is negative.
    """
    a, b = revenue
    start, slope = np.broadcast_arrays(start, slope)
    best = np.empty(start.shape)
    for number in np.unique(kind):
        (low, high), mine = bounds[number], kind == number
        own = None if grid is None else possible(grid, low, high)
        if own is not None:
            low, high = own[0], own[-1]
        begin, k = start[..., mine], slope[..., mine]
        steep = np.maximum(np.abs(k), FLAT)
        rising = optimal_offer(-begin / steep, steep, low, high, (a, b), own)
        mirrored = None if own is None else 1.0 - own[::-1]
        falling = 1.0 - optimal_offer(
            (begin + k) / -steep, steep, 1.0 - high, 1.0 - low, (a + b, -b), mirrored
        )
        best[..., mine] = np.where(k >= 0, rising, falling)
    return best


def quantiles(values, shares):
    """Quantiles (2, n) of (draws, n), linear between the draws as numpy's."""
    values = np.sort(values, axis=0)
    place = np.asarray(shares) * (len(values) - 1)
    below = np.floor(place).astype(int)
    above = np.minimum(below + 1, len(values) - 1)
    part = (place - below)[:, None]
    return values[below] * (1 - part) + values[above] * part


def _all_peaks(weights, earned, offers, between):
    """Best offers (n,) of people with weights (J, n) of curves that earn (J, offers)."""
    best = np.empty(weights.shape[1])
    for start in range(0, len(best), BLOCK):
        at = slice(start, start + BLOCK)
        best[at] = _peaks(weights[:, at].T @ earned, offers, between)
    return best


def _moved_peaks(weights, moves, eta, k, offers, earns, between):
    """Best offers (n,) where thresholds of people are moved (n,), rounded to `ROUNDED` parts.

    People who move alike, so rounded, are priced by the same curves: one product of matrices.
    """
    rounded = np.rint(np.clip(moves, -WIDEST, WIDEST) * ROUNDED).astype(np.int16)
    order = np.argsort(rounded, kind="stable")
    values, first = np.unique(rounded[order], return_index=True)
    ends = np.append(first[1:], len(order))
    place = offers - (eta[:, None] + values[:, None, None] / ROUNDED)
    earned = logistic(k[:, None] * place) * earns
    best, weights = np.empty(len(moves)), weights[:, order].T
    room = np.empty((min(BLOCK, len(order)), len(offers)))
    for start in range(0, len(order), BLOCK):
        stop = min(start + BLOCK, len(order))
        one, last = np.searchsorted(ends, [start, stop - 1], side="right")
        cuts = [start, *ends[one:last].tolist(), stop]
        for number, (a, z) in enumerate(pairwise(cuts), one):
            np.matmul(weights[a:z], earned[number], out=room[a - start : z - start])
        best[order[start:stop]] = _peaks(room[: stop - start], offers, between)
    return best


def _peaks(values, offers, between):
    """Offers (n,) of the largest of values (n, offers), refined by a parabola."""
    top = values.argmax(axis=1)
    best = offers[top]
    if not between or len(offers) < 3 or offers[-1] == offers[0]:
        return best
    middle = np.clip(top, 1, len(offers) - 2)
    flat, place = values.reshape(-1), np.arange(len(middle)) * len(offers) + middle
    left, here, right = (flat[place + shift] for shift in (-1, 0, 1))
    bend = left - 2 * here + right
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = 0.5 * (left - right) / bend
    inside = (top == middle) & (bend < 0) & (np.abs(shift) <= 1)
    return best + np.where(inside, shift, 0.0) * (offers[1] - offers[0])


class Kinds:
    """Kinds of people by the nearest of some centres (kinds, d) of standardised features."""

    def __init__(self, centres, mean, scale):
        self.centres, self.mean, self.scale = centres, mean, scale

    @classmethod
    def fitted(cls, X, rng):
        """Centres by k-means: one for a hundred people, at most eight."""
        from sklearn.cluster import KMeans

        mean, scale = X.mean(axis=0), X.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        rows = (X - mean) / scale
        count = int(np.clip(len(X) // PEOPLE, 1, min(MOST_KINDS, len(np.unique(rows, axis=0)))))
        seed = int(rng.integers(2**31))
        return cls(
            KMeans(count, n_init=4, random_state=seed).fit(rows).cluster_centers_, mean, scale
        )

    def to_arrays(self):
        return {"centres": self.centres, "mean": self.mean, "scale": self.scale}

    def told(self, X):
        """Kind of each person, and minus the squared distance to its centre."""
        rows = (X - self.mean) / self.scale
        away = np.empty((len(X), len(self.centres)))
        for number, centre in enumerate(self.centres):
            away[:, number] = np.square(rows - centre).sum(axis=1)
        return away.argmin(axis=1), -away.min(axis=1)


def offers_made(offers, kind, kinds):
    """Least and largest offer made to each kind of people, (kinds, 2); see the module.

    A kind without people has the reach of all.
    """
    ends = [REACH, 1 - REACH]
    reach = np.tile(np.quantile(offers, ends, method="inverted_cdf"), (kinds, 1))
    for number in np.unique(kind):
        own = offers[kind == number]
        reach[number] = np.quantile(own, ends, method="inverted_cdf")
    return reach


def beyond(X, low, high):
    """Feature of each person that is outside its range of the fit, -1 if none is."""
    margin = MARGIN * np.maximum(high - low, 1e-300)
    outside = ~((low - margin <= X) & (high + margin >= X))
    return np.where(outside.any(axis=1), outside.argmax(axis=1), -1)
