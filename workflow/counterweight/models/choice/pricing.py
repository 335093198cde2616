"""Best offers within bounds of each person, by the fitted model and by its bootstrap draws.

One class for each form of model: segments with a curve each, a line of log-odds for each person,
any other curve. All are asked the same: how likely each person accepts an offer, which offer
earns most between two bounds, and which offers the draws find best. Offers t are scaled to [0, 1].

The bounds are of kinds of people: those of one segment (models of segments) or those next to one
centre of k-means on the standardised features (other models). The offers of a kind reach from the
1 % to the 99 % quantile of those that were made to its people, both of them offers that were
made; of fewer than a hundred people these are the least and the largest. What was offered to fewer
than ten people is no bound: theirs reaches as far as that of all does.
"""

from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import logsumexp, stdtrit

from counterweight.models.choice.offer_model import (
    best_offers,
    logistic,
    mixed_acceptance,
    mixed_over,
    optimal_offer,
    searched_offers,
)

#: Offers at which a draw's expected revenue is looked at; the best one is refined by a parabola.
LOOKED = 33
#: People whom a draw prices at a time, and those whose values at all offers fit the cache.
PRICED, BLOCK = 1 << 15, 1 << 12
#: Parts of the range that draws round moves of thresholds to, and the most ranges of a move.
ROUNDED, WIDEST = 1 << 9, 60
#: Draws of a posterior.
DRAWS = 200
#: Draws of boosted trees.
REGROWN = 30
#: Unlike offers up to which trees are asked for all of them at once.
SEVERAL = 128
#: Slopes nearer to 0 count as this.
FLAT = 1e-9
#: Quantiles of the offers that were made to a kind of people.
REACH = 0.01
#: Most kinds, and people for each.
MOST_KINDS, PEOPLE = 8, 100
#: People of a kind below whom offers to them are too few to bound others.
FEW = 10
#: Share of the people of a fit who are farther away than those who count as like them.
FAR = 0.002
#: A person is beyond a feature's range if by more than this share of it.
MARGIN = 1e-9


def pricer(model, setting):
    """How the offers of a fitted model are found: see the classes of this module.

    `setting` is ``hard`` or ``soft`` of a model of segments; else empty.
    """
    if hasattr(model, "predict_segments"):
        return Segments(model, setting or model.assignment)
    # One line for everybody, without an oracle's components.
    one_line = len(model.models_) == 1 and np.ndim(model.models_[0].get("coef")) == 1
    if one_line:
        return Lines(model)
    return Trees(model) if hasattr(model, "regrown") else Curves(model)


def possible(grid, low, high):
    """The offers of a grid between two bounds; the nearest one where there is none."""
    inside = grid[(grid >= low - 1e-12) & (grid <= high + 1e-12)]
    away = np.maximum(low - grid, grid - high)
    return inside if len(inside) else grid[[int(np.argmin(away))]]


def by_kind(kind, bounds, grid):
    """Of each kind the places of its people, both bounds, and what a grid has between them."""
    for number in np.unique(kind):
        low, high = bounds[number]
        own = None if grid is None else possible(grid, low, high)
        low, high = (low, high) if own is None else (own[0], own[-1])
        yield np.flatnonzero(kind == number), low, high, own


class Segments:
    """Segments of people, each with one curve; people are priced by the likeliest or by all.

    The segments are the `kinds` of people that offers were made to; those by gates, which say
    nothing of features, are none, and `Kinds` tell who is like whom.
    """

    has_draws, shrunken, posterior = True, False, False

    def __init__(self, model, setting):
        self.model, self.setting = model, setting
        self.eta, self.k = model.eta_, model.k_
        self.kinds = len(self.k) if model.gates_ is None else None

    def about(self, X):
        """What the rest asks for: ``rows``, ``joint`` log densities, ``kind``, thresholds' moves.

        ``apart`` is what moves of thresholds are linear in, None where features move none.
        """
        rows, apart = self.model._choice_rows(X), self.model._apart(X)
        joint = rows.log_joint(self.model._parameters())
        about = {"rows": rows, "joint": joint, "kind": joint.argmax(axis=1), "apart": apart}
        return about | {"moves": self.model.threshold_moves(X)}

    def closeness(self, about):
        """Log density of each person's features."""
        return logsumexp(about["joint"], axis=1)

    def _weights(self, about):
        joint = about["joint"]
        if self.setting == "hard":
            return np.eye(len(self.k))[about["kind"]]
        return np.exp(joint - logsumexp(joint, axis=1, keepdims=True))

    def told(self, about):
        """Segment of each person, its probability, and its curve."""
        kind, joint = about["kind"], about["joint"]
        return {
            "segment": kind,
            "segment_p": np.exp(joint[np.arange(len(kind)), kind] - logsumexp(joint, axis=1)),
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

    def accept_several(self, about, t):
        """Chance (m, n) that people accept offers t (m, n)."""
        return np.stack([self.accept(about, one) for one in t])

    def best(self, about, kind, bounds, revenue, grid=None):
        """Best offers (n,) of people within the bounds (kinds, 2) of their kind."""
        offers, weights = np.empty(len(kind)), self._weights(about)
        for mine, *ends, own in by_kind(kind, bounds, grid):
            moves = None if about["apart"] is None else about["moves"][mine]
            asked = self.setting, moves, *ends, revenue, own
            offers[mine] = best_offers(weights[mine], self.eta, self.k, *asked)
        return offers

    def drawn(self, X, t, y, rng, draws):
        """Parameters of bootstrap draws: a few EM steps from the fit on resampled rows.

        ``densities`` (draws, J, q) are coefficients of the log densities in (1, x_i, x_i x_j,
        levels); ``eta`` and ``k`` (draws, J); ``moves`` (draws, p), where thresholds move.
        """
        batch, moves = self.model.refitted(X, y, t, rng=rng, draws=draws)
        position, k = np.moveaxis(batch.curves, -1, 0)
        drawn = {
            "densities": np.swapaxes(self.model._emission.coefficients(batch), 0, 1),
            "eta": (0.5 - position / k).T,
            "k": k.T,
        }
        return drawn if moves is None else drawn | {"moves": moves}

    def accept_drawn(self, about, t, draws):
        """Chance (draws, n) that people accept their offers t, (n,) or by draw (draws, n)."""
        eta, k, groups = draws["eta"], draws["k"], about["rows"].groups
        t = np.broadcast_to(t, (len(eta), np.shape(t)[-1]))
        chances = np.empty(t.shape)
        for draw in range(len(eta)):
            # Rows with gaps keep the densities of the fit.
            joint = about["joint"]
            if len(groups) == 1:
                joint = (draws["densities"][draw] @ groups[0].features).T
            if self.setting == "hard":
                weights = np.eye(joint.shape[1])[joint.argmax(axis=1)]
            else:
                weights = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
            moves = about["moves"]
            if about["apart"] is not None:
                moves = draws["moves"][draw] @ about["apart"].T
            chances[draw] = mixed_acceptance(weights, t[draw] - moves, eta[draw], k[draw])
        return chances

    accept_near = accept_drawn

    def ends(self, about, kind, bounds, revenue, grid, draws, summary):
        """What ``summary(best (draws, n)) -> (q, n)`` says of the draws' best offers, (q, n)."""
        eta, k, found, between = draws["eta"], draws["k"], None, grid is None
        groups, moved = about["rows"].groups, about["apart"] is not None
        for mine, low, high, own in by_kind(kind, bounds, grid):
            offers = np.linspace(low, high, LOOKED) if own is None else own
            earns = revenue[0] + revenue[1] * offers
            earned = logistic(k[..., None] * (offers - eta[..., None])) * earns
            for start in range(0, len(mine), PRICED):
                at = mine[start : start + PRICED]
                best, moves = np.empty((len(eta), len(at))), None
                # Rows with gaps keep the densities of the fit.
                joint = about["joint"][at].T
                features = groups[0].features[:, at] if len(groups) == 1 else None
                apart = about["apart"][at].T if moved else None
                for draw in range(len(eta)):
                    curves = eta[draw], k[draw]
                    if features is not None:
                        joint = draws["densities"][draw] @ features
                    if moved:
                        moves = draws["moves"][draw] @ apart
                    if self.setting == "hard" or len(joint) == 1:
                        asked = "hard", moves, low, high, revenue, own
                        best[draw] = best_offers(joint.T, *curves, *asked)
                        continue
                    weights = np.exp(joint - joint.max(axis=0))
                    if moved:
                        best[draw] = _moved_peaks(weights, moves, *curves, offers, earns, between)
                        continue
                    for first in range(0, len(at), BLOCK):
                        some = slice(first, first + BLOCK)
                        values = weights[:, some].T @ earned[draw]
                        best[draw, some] = _peaks(values, offers, between)
                told = summary(best)
                found = np.empty((len(told), len(kind))) if found is None else found
                found[:, at] = told
        return found


class Curves:
    """Any model of p(accept | x, offer), people in `Kinds`: best offers by a search, no draws."""

    has_draws, shrunken, posterior, kinds = False, False, False, None

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
        steps = self.model.steps() if grid is None and hasattr(self.model, "steps") else None
        for mine, low, high, own in by_kind(kind, bounds, grid):
            if steps is not None:
                own = np.concatenate([[low, high], steps[(steps > low) & (steps < high)]])
            accept = partial(self.model.predict_acceptance, about["X"][mine])
            offers[mine] = searched_offers(accept, len(mine), revenue, own, low, high)
        return offers


class Trees(Curves):
    """Boosted trees that rise with the offer: a draw is as many trees of resampled rows.

    What shrinkage holds back differs from draw to draw less than from the truth: such trees are
    `shrunken`, and intervals by their draws have room to both sides.
    """

    has_draws = shrunken = True

    def drawn(self, X, t, y, rng, draws):
        """Arrays of at most `REGROWN` fits, with rows of NaN at the end: ``tree_nodes``, ``gaps``,
        ``tree_baseline``. A draw with one kind of answer keeps the fitted model.
        """
        Z, fits = self.model.design_.columns(X, t), []
        for _ in range(min(draws, REGROWN)):
            rows, one = rng.integers(len(Z), size=len(Z)), self.model.models_[0]
            if np.ptp(y[rows]) > 0:
                one = self.model.regrown(Z[rows], y[rows])
            fits.append([np.reshape(one[name], (-1, width)) for name, width in _OF_DRAWS.items()])
        return {
            name: np.stack([_filled(own, max(map(len, parts))) for own in parts])
            for name, parts in zip(_OF_DRAWS, zip(*fits, strict=True), strict=True)
        }

    def _fits(self, draws):
        """Arrays of each draw."""
        for parts in zip(*(draws[name] for name in _OF_DRAWS), strict=True):
            own = (part[~np.isnan(part).any(axis=1)] for part in parts)
            yield self.model.models_[0] | dict(zip(_OF_DRAWS, own, strict=True))

    def _chance(self, fit, X, t):
        """Chance (n,) that people accept offers t (n,) by the arrays of a fit."""
        offers, at = np.unique(t, return_inverse=True)
        if len(offers) > SEVERAL:
            return self.model._probability(fit, self.model.design_.columns(X, t))
        Z = self.model.design_.columns(X, np.zeros(len(X)))
        return self.model.along(fit, Z, offers)[np.arange(len(X)), at]

    def accept_several(self, about, t):
        """Chance (m, n) that people accept offers t (m, n)."""
        return np.stack([self._chance(self.model.models_[0], about["X"], one) for one in t])

    def accept_drawn(self, about, t, draws):
        """Chance (draws, n) that people accept their offers t, (n,) or by draw (draws, n)."""
        t = np.broadcast_to(t, (len(draws["gaps"]), np.shape(t)[-1]))
        fits = zip(self._fits(draws), t, strict=True)
        return np.stack([self._chance(fit, about["X"], own) for fit, own in fits])

    accept_near = accept_drawn

    def best(self, about, kind, bounds, revenue, grid=None):
        """Best offers (n,) by the fit: those next to a step of it, and both bounds."""
        return self._best(self.model.models_[0], about, kind, bounds, revenue, grid)

    def ends(self, about, kind, bounds, revenue, grid, draws, summary):
        """As of `Segments`; each draw has its own steps."""
        asked = about, kind, bounds, revenue, grid
        return summary(np.stack([self._best(fit, *asked) for fit in self._fits(draws)]))

    def _best(self, fit, about, kind, bounds, revenue, grid):
        Z = self.model.design_.columns(about["X"], np.zeros(len(kind)))
        best, steps = np.empty(len(kind)), np.unique(fit["gaps"])
        for mine, low, high, own in by_kind(kind, bounds, grid):
            if own is None:
                own = np.unique([low, high, *steps[(steps > low) & (steps < high)]])
            worth = revenue[0] + revenue[1] * own
            for start in range(0, len(mine), BLOCK):
                some = mine[start : start + BLOCK]
                earned = self.model.along(fit, Z[some], own) * worth
                best[some] = own[earned.argmax(axis=1)]
        return best


#: Arrays of a draw of trees, and their columns.
_OF_DRAWS = {"tree_nodes": 8, "gaps": 2, "tree_baseline": 1}


def _filled(rows, count):
    """Rows (m, w) with NaN behind them, (count, w)."""
    return np.vstack([rows, np.full((count - len(rows), rows.shape[1]), np.nan)])


class Lines(Curves):
    """Log-odds of acceptance, for each person a line in the offer; people come in `Kinds`."""

    has_draws = True

    def __init__(self, model):
        super().__init__(model)
        one = model.models_[0]
        self.ridge = self.model.precision() if hasattr(self.model, "precision") else None
        self.coef, self.intercept = np.asarray(one["coef"], float), float(one["intercept"])

    @property
    def posterior(self):
        """Whether draws are of a posterior."""
        return self.ridge is not None

    def _line(self, about, coef, intercept):
        """Log-odds (n, ...) at the offer 0, and slopes in the offer."""
        design, X = self.model.design_, about["X"]
        start = design.columns(X, np.zeros(len(X))) @ coef + intercept
        return start, design.columns(X, np.ones(len(X))) @ coef + intercept - start

    def accept_each(self, about, t):
        start, slope = self._line(about, self.coef, self.intercept)
        return logistic(start[:, None] + slope[:, None] * t)

    def best(self, about, kind, bounds, revenue, grid=None):
        start, slope = self._line(about, self.coef, self.intercept)
        return best_on_lines(start, slope, kind, bounds, revenue, grid)

    def accept_several(self, about, t):
        start, slope = self._line(about, self.coef, self.intercept)
        return logistic(start + slope * t)

    def accept_drawn(self, about, t, draws):
        if np.ndim(t) == 2:
            start, slope = self._line(about, draws["coef"].T, draws["intercept"])
            return logistic(start.T + slope.T * t)
        Z = self.model.design_.columns(about["X"], t)
        return logistic(draws["coef"] @ Z.T + draws["intercept"][:, None])

    def accept_near(self, about, t, draws):
        """`accept_drawn` of offers (n,), for sums over people; of a posterior to first order.

        Draws of the normal approximation lie evenly about the mode. Curved by each person's
        chance they would move sums to one side, which is no part of what answers leave open.
        """
        if not self.posterior:
            return self.accept_drawn(about, t, draws)
        Z, p = self.model.design_.columns(about["X"], t), self.accept(about, t)
        moved = (draws["coef"] - self.coef) @ Z.T + (draws["intercept"] - self.intercept)[:, None]
        return p + p * (1 - p) * moved

    def drawn(self, X, t, y, rng, draws):
        """Parameters of models fitted anew to resampled rows: ``coef`` (draws, p), ``intercept``.

        A draw with one kind of answer keeps the fitted model.
        """
        n, Z = len(X), self.model.design_.columns(X, t)
        if self.posterior:
            return self._posterior(Z, self.ridge, rng)
        coef, intercept = np.tile(self.coef, (draws, 1)), np.full(draws, self.intercept)
        for number in range(draws):
            times = np.bincount(rng.integers(n, size=n), minlength=n)
            if np.ptp(y[times > 0]) > 0:
                coef[number], intercept[number] = self.model.refitted(Z, y, times)
        return {"coef": coef, "intercept": intercept}

    def _posterior(self, Z, ridge, rng):
        """Draws from the normal approximation of the posterior at its mode."""
        used = np.append(np.isfinite(ridge), True)
        rows = np.column_stack([Z, np.ones(len(Z))])[:, used]
        mode = np.append(self.coef, self.intercept)
        chance = logistic(rows @ mode[used])
        hessian = (rows * (chance * (1 - chance))[:, None]).T @ rows
        hessian[np.diag_indices_from(hessian)] += np.append(ridge[used[:-1]], 0.0) + 1e-9
        root = np.linalg.cholesky(hessian)
        drawn = np.tile(mode, (DRAWS, 1))
        drawn[:, used] += np.linalg.solve(root.T, rng.standard_normal((len(root), DRAWS))).T
        return {"coef": drawn[:, :-1], "intercept": drawn[:, -1]}

    def ends(self, about, kind, bounds, revenue, grid, draws, summary):
        start, slope = self._line(about, draws["coef"].T, draws["intercept"])
        return summary(best_on_lines(start.T, slope.T, kind, bounds, revenue, grid))


def best_on_lines(start, slope, kind, bounds, revenue, grid=None):
    """Best offers (..., n) where the log-odds are start + slope t, of people of some kinds.

    `bounds` (kinds, 2) are the least and largest offer of each kind. By `optimal_offer`, on the
    reflected offer 1 - t where the slope is negative.
    """
    a, b = revenue
    start, slope = np.broadcast_arrays(start, slope)
    best = np.empty(start.shape)
    for mine, low, high, own in by_kind(kind, bounds, grid):
        begin, k = start[..., mine], slope[..., mine]
        steep = np.maximum(np.abs(k), FLAT)
        rising = optimal_offer(-begin / steep, steep, low, high, (a, b), own)
        mirrored = None if own is None else 1.0 - own[::-1]
        asked = 1.0 - high, 1.0 - low, (a + b, -b), mirrored
        falling = 1.0 - optimal_offer((begin + k) / -steep, steep, *asked)
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
        found = KMeans(count, n_init=4, random_state=int(rng.integers(2**31))).fit(rows)
        return cls(found.cluster_centers_, mean, scale)

    def to_arrays(self):
        return {"centres": self.centres, "mean": self.mean, "scale": self.scale}

    def told(self, X):
        """Kind of each person, and minus the squared distance to its centre."""
        rows = (X - self.mean) / self.scale
        away = np.column_stack([np.square(rows - one).sum(axis=1) for one in self.centres])
        return away.argmin(axis=1), -away.min(axis=1)


def offers_made(offers, kind, kinds):
    """Least and largest offer made to each kind of people, (kinds, 2); see the module.

    A kind of fewer than `FEW` people has the reach of all, and its own where that is wider.
    """
    ends = [REACH, 1 - REACH]
    reach = np.tile(np.quantile(offers, ends, method="inverted_cdf"), (kinds, 1))
    for number in np.unique(kind):
        own = offers[kind == number]
        low, high = np.quantile(own, ends, method="inverted_cdf")
        if len(own) < FEW:
            low, high = min(low, reach[number, 0]), max(high, reach[number, 1])
        reach[number] = low, high
    return reach


def nearest(grid, offers):
    """The offers of a grid next to some offers."""
    grid = np.unique(np.asarray(grid, float))
    after = np.clip(np.searchsorted(grid, offers), 1, max(len(grid) - 1, 1))
    after = np.minimum(after, len(grid) - 1)
    before = np.maximum(after - 1, 0)
    nearer = offers - grid[before] < grid[after] - offers
    return np.where(nearer, grid[before], grid[after])


def within_holes(saved, X, valued, total):
    """`valued`, offers (n,) and what each earns, with their `total`; then the least and the most.

    The latter where nothing like some was tried: there any curve between the next offers below
    and above that were made may hold, so their chances bound it, at the worth of these offers.
    """
    yield valued, total
    between = [saved.between(made) for made, _ in valued]
    if not any((np.ptp(ends, axis=0) > 0).any() for ends in between):
        return
    for most in (False, True):
        moved, brought = [], total
        for (made, paid), (less, more) in zip(valued, between, strict=True):
            other = np.where((paid >= 0) == most, more, less)
            brought += float((saved.accepted(X, other) - saved.accepted(X, made)) @ paid)
            moved.append((other, paid))
        yield moved, brought


def total_by_draws(own, rivals, draws, X, parts, shares, valued, total, cost=0.0):
    """Ends of the interval of what offers bring together, about the `total` that is claimed.

    By a pricer and its draws, and the pricers of rivals; `shares` are of the t distribution of as
    many draws, of differences those of the draws. `valued` are scaled offers (n,) with what each
    earns, below 0 of those taken off, `parts` slices of people; else see `SavedOffers.total_ends`.

    Draws tell what the fit is not sure of, if its form is right. Where a person's chance of a yes
    departs from what the columns tell, by p as their mean, its variance is at most p (1 - p), that
    of the answer: of what is no difference so much is counted for each person, too.
    """
    sums, coins = np.zeros(len(next(iter(draws.values())))), 0.0
    others, alone = np.zeros(len(rivals)), len(valued) == 1
    drawn = own.accept_near if alone else own.accept_drawn
    for at in parts:
        about, abouts = own.about(X[at]), [one.about(X[at]) for one in rivals]
        for t, paid in valued:
            sums = sums + drawn(about, t[at], draws) @ paid[at]
            p = own.accept(about, t[at])
            coins += float((p * (1 - p)) @ paid[at] ** 2)
            for place, one in enumerate(rivals):
                others[place] += one.accept(abouts[place], t[at]) @ paid[at]
    if alone:
        ends = total + stdtrit(len(sums) - 1, shares) * np.sqrt(sums.var(ddof=1) + coins)
    else:
        ends = total - sums.mean() + np.quantile(sums, shares)
    worth = valued[0][1]
    if alone and len(worth) and worth.min() >= 0:
        ends = np.maximum(ends, -cost)
    held = [*ends, *(others - cost)]
    return float(min(held)), float(max(held))


def beyond(X, low, high):
    """Feature of each person that is outside its range of the fit, -1 if none is."""
    margin = MARGIN * np.maximum(high - low, 1e-300)
    outside = ~((low - margin <= X) & (high + margin >= X))
    return np.where(outside.any(axis=1), outside.argmax(axis=1), -1)


def texts_of(encoder):
    """Places of the features of each text column."""
    return {
        column: [at for at, one in enumerate(encoder.features_) if one.column == column]
        for column, kind in encoder.columns_.items()
        if kind == "text"
    }


def offer_reasons(column):
    """What is said of best offers, whoever they are for: that nothing like it was made, in a gap or
    to such people; that it is the largest that was made to them, or the least; that all have it."""
    column = column or "offer"
    return (
        f"no {column} near the best one was ever made",
        f"no {column} to choose from was made to such people",
        f"the largest {column} that was made to such people",
        f"the least {column} that was made to such people",
        f"one {column} for all: it earned more than the model's",
    )


#: Why somebody has no best offer.
NONE = "each offer loses if it is accepted: to make none is better"


def without_losses(priced, worth):
    """Columns of best offers, without those that lose `worth` (n,) below 0 if accepted.

    A chance is never below 0: where the best offer loses, each other one that such people could get
    does, and nothing is earned by making none.
    """
    none = worth < -1e-9 * np.abs(worth).max(initial=0.0)
    if not none.any():
        return priced
    blank = dict.fromkeys(("best_offer", "low", "high"), np.nan)
    blank |= dict.fromkeys(("best_p", "best_revenue"), 0.0)
    known = {name: np.where(none, value, priced[name]) for name, value in blank.items()}
    reason = np.where(none & priced["supported"], np.array(NONE, object), priced["reason"])
    return priced | known | {"reason": reason}


def tell_offers(log, table, offer):
    """Say in the log what was offered, and for how many the fit says little."""
    prices = table["best_offer"].dropna()
    told = offer, len(prices), prices.median(), prices.min(), prices.max()
    if len(prices):
        log.info("%s for %d people: median %.6g, from %.6g to %.6g", *told)
    for reason, count in table["reason"][table["reason"] != ""].value_counts().items():
        log.info("%d of %d people: %s", count, len(table), reason)
