"""Offers, who accepts them, which earns most, and what all models of answers to offers share.

Offers t are on the scale of the model: from 0 to 1, and acceptance rises with t
(f(t) = logistic(k (t - eta)), Noor et al. 2014, equation 3). The revenue of an accepted offer is
linear, a + b t; a refused one earns nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import wrightomega

from counterweight.errors import CounterweightError
from counterweight.labeling.offered import OfferScale, holes, offer_range
from counterweight.models.classifier import BinaryClassifier
from counterweight.numerics.checks import number_table

#: Points of the first grid of the soft search: steps far below the width of the steepest curve.
GRID = 257
#: The same where every person has curves of its own.
MOVED_GRID = 65
#: Local maxima of a row that the soft search refines.
MODES = 3
#: Values (rows x segments x modes) treated at a time, and those of curves that fit the cache.
CHUNK, BLOCK = 1 << 20, 1 << 15
#: First grid of the search for models without a closed form, and rounds of refinement.
POINTS, ROUNDS, FINER = 65, 3, 9


class Offers(NamedTuple):
    """Best offer, its probability of acceptance and its expected revenue, (n,) each."""

    offer: np.ndarray
    acceptance: np.ndarray
    revenue: np.ndarray


def logistic(odds):
    """1 / (1 + exp(-odds)), a third of the time of SciPy's where the numbers fit the cache."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-odds))


def acceptance(t, eta, k):
    """Probability logistic(k (t - eta)) that an offer is accepted (equation 3); arrays broadcast.

    `eta` is the offer that half of the segment accepts, k, 0 or more, the slope.
    """
    t, eta, k = (np.asarray(values, dtype=float) for values in (t, eta, k))
    return logistic(k * (t - eta))


def expected_revenue(t, eta, k, revenue=(1.0, -1.0)):
    """Acceptance times the revenue a + b t of an accepted offer, equation 2."""
    a, b = checked_revenue(revenue)
    return acceptance(t, eta, k) * (a + b * np.asarray(t, dtype=float))


def optimal_offer(eta, k, low=0.0, high=1.0, revenue=(1.0, -1.0), grid=None):
    """Offer that maximises expected revenue for one curve, in closed form (section 3.6).

    With b < 0 and r = -a/b, the offer at which nothing is earned, the maximum of f(t)(r - t)
    is r - (1 + omega)/k, omega being Wright's omega of k (r - eta) - 1. It is Lambert's W
    of the exponential of that number, as in equation 14, but cannot overflow. The
    function rises before its only maximum and falls after it, so a maximum outside the bounds
    moves to the nearer bound. With b >= 0 the best offer is one of the bounds.

    `eta` and k, finite and k at least 0, broadcast; `grid` holds the only offers that can be made,
    of which those outside the bounds are left out.
    """
    a, b = checked_revenue(revenue)
    low, high = checked_bounds(low, high)
    eta, k = np.broadcast_arrays(np.asarray(eta, dtype=float), np.asarray(k, dtype=float))
    if not (np.isfinite(eta).all() and np.isfinite(k).all() and (k >= 0).all()):
        raise CounterweightError(
            "Optimal offers need finite curves with slopes of at least 0: check eta and k."
        )
    if grid is not None:
        grid = feasible(grid, low, high)
        best, value = np.zeros(eta.shape, dtype=int), expected_revenue(grid[0], eta, k, revenue)
        for number, offer in enumerate(grid[1:], 1):
            other = expected_revenue(offer, eta, k, revenue)
            best, value = np.where(other > value, number, best), np.maximum(other, value)
        return grid[best]
    if b < 0:
        reach, slope = -a / b, np.where(k > 0, k, 1.0)
        offer = reach - (1.0 + wrightomega(slope * (reach - eta) - 1.0)) / slope
        return np.where(k > 0, np.clip(offer, low, high), low)
    ends = [expected_revenue(end, eta, k, revenue) for end in (low, high)]
    return np.where(ends[1] > ends[0], high, low)


def soft_optimal_offer(
    weights, eta, k, low=0.0, high=1.0, revenue=(1.0, -1.0), grid=None, points=GRID, moves=None
):
    """Offer (n,) that maximises the expected revenue of a mixture of curves, row by row.

    sum_j w_ij f_j(t) (a + b t) can have several maxima. It is computed on a fine grid of `points`,
    and the best `MODES` local maxima of each row are refined by Newton's method, kept between the
    neighbouring grid points. `weights` are p(j | x_i), `moves` (n,) are added to eta of a person,
    in every segment; for the rest see `optimal_offer`.
    """
    a, b = checked_revenue(revenue)
    low, high = checked_bounds(low, high)
    weights = np.atleast_2d(np.asarray(weights, dtype=float))
    eta, k = np.asarray(eta, dtype=float), np.asarray(k, dtype=float)
    points = points if moves is None else min(points, MOVED_GRID)
    offers = np.linspace(low, high, points) if grid is None else feasible(grid, low, high)
    values = expected_revenue(offers, eta[:, None], k[:, None], revenue)
    result = np.empty(len(weights))
    rows = max(CHUNK // max(MODES * len(eta), len(offers)), 1)
    for start in range(0, len(weights), rows):
        at, own = slice(start, start + rows), eta
        if moves is None:
            earned = weights[at] @ values
        else:
            own = eta + moves[at, None, None]
            earned = mixed_over(weights[at], offers, own[:, 0], k) * (a + b * offers)
        if grid is not None or high == low:
            result[at] = offers[np.argmax(earned, axis=1)]
        else:
            result[at] = _refined(weights[at], own, k, a, b, offers, earned)
    return result


def _refined(weights, eta, k, a, b, offers, values):
    """The best offers (n,) by values (n, m) on a grid: local maxima next to it are climbed."""
    peaks = np.ones(values.shape, dtype=bool)
    np.greater_equal(values[:, 1:], values[:, :-1], out=peaks[:, 1:])
    peaks[:, :-1] &= values[:, :-1] >= values[:, 1:]
    several, result = peaks.sum(axis=1) > 1, np.empty(len(values))
    best = np.argmax(values, axis=1)[:, None]
    for which in (several, ~several):
        rows, own = np.flatnonzero(which), eta if np.ndim(eta) == 1 else eta[which]
        if not len(rows):
            continue
        top = best[rows]
        if several[rows[0]]:
            heights = np.where(peaks[rows], values[rows], -np.inf)
            modes = min(MODES, values.shape[1])
            top = np.argpartition(-heights, modes - 1, axis=1)[:, :modes]
            # A row with fewer maxima refines its best one again.
            top = np.where(np.take_along_axis(peaks[rows], top, axis=1), top, best[rows])
        result[rows] = _climbed(weights[rows], own, k, a, b, offers, top)
    return result


def _climbed(weights, eta, k, a, b, offers, top):
    """The best of the local maxima next to some offers, by their places (n, modes)."""
    t = grid_points = offers[top]
    lower = np.maximum(t - (offers[1] - offers[0]), offers[0])
    upper = np.minimum(t + (offers[1] - offers[0]), offers[-1])
    weights = weights[:, None, :]

    def parts(t):
        f = logistic(k * (t[..., None] - eta))
        first = weights * k * f * (1 - f)
        return (weights * f).sum(-1), first.sum(-1), (first * k * (1 - 2 * f)).sum(-1)

    for _ in range(12):
        f, first, second = parts(t)
        slope = first * (a + b * t) + b * f
        bend = second * (a + b * t) + 2 * b * first
        lower, upper = np.where(slope > 0, t, lower), np.where(slope < 0, t, upper)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = t - slope / bend
        inside = (bend < 0) & (newton >= lower) & (newton <= upper)
        after = np.where(inside, newton, 0.5 * (lower + upper))
        before, t = t, np.where(slope == 0, t, after)
        if np.abs(t - before).max() < 1e-13:
            break
    # Both the refined points and the grid's own (a bound may be best) are candidates.
    candidates = np.concatenate([t, grid_points], axis=1)
    earned = parts(candidates)[0] * (a + b * candidates)
    return np.take_along_axis(candidates, np.argmax(earned, axis=1)[:, None], axis=1)[:, 0]


def searched_offers(accept, rows, revenue=(1.0, -1.0), grid=None, low=0.0, high=1.0):
    """Offers (n,) that maximise expected revenue under any curve, by grid and refinement.

    The best of `POINTS` offers is refined `ROUNDS` times between its neighbours, to (high - low) /
    64 / 4^3; narrower steps of a curve may be missed. Where offers tie, the lowest is taken. The
    curve is ``accept(t (n,)) -> p (n,)``; `grid` holds the only offers that can be made.
    """
    a, b = checked_revenue(revenue)
    best, value = np.full(rows, float(low)), np.full(rows, -np.inf)

    def look(offers):
        nonlocal best, value
        earned = accept(offers) * (a + b * offers)
        better = earned > value + 1e-12 * np.abs(earned)
        best, value = np.where(better, offers, best), np.where(better, earned, value)

    for offer in np.linspace(low, high, POINTS) if grid is None else feasible(grid, low, high):
        look(np.full(rows, offer))
    step = (high - low) / (POINTS - 1)
    for _ in range(ROUNDS if grid is None else 0):
        center = best
        for shift in np.linspace(-step, step, FINER):
            if shift:
                look(np.clip(center + shift, low, high))
        step *= 2 / (FINER - 1)
    return best


def best_offers(
    weights, eta, k, how, moves=None, low=0.0, high=1.0, revenue=(1.0, -1.0), grid=None, points=GRID
):
    """Best offers (n,) of people of segments with weights (n, J): by the likeliest, or by all.

    `how` is hard or soft; `moves` (n,) are added to eta of a person, in every segment.
    """
    if how == "soft":
        return soft_optimal_offer(weights, eta, k, low, high, revenue, grid, points, moves)
    own, asked = weights.argmax(axis=1), (low, high, revenue, grid)
    if moves is None:
        return optimal_offer(eta, k, *asked)[own]
    return optimal_offer(eta[own] + moves, k[own], *asked)


def mixed_over(weights, offers, eta, k):
    """Acceptance (n, m) of each of some offers by people with weights and eta (n, J)."""
    total, step = np.zeros((len(weights), len(offers))), max(BLOCK // len(offers), 1)
    for start in range(0, len(weights), step):
        at = slice(start, start + step)
        for j in range(len(k)):
            odds = k[j] * offers - (k[j] * eta[at, j])[:, None]
            total[at] += weights[at, j, None] * logistic(odds)
    return total


def mixed_acceptance(weights, t, eta, k):
    """Acceptance (n,) of offers t (n,) under a mixture of curves with weights (n, J)."""
    t = np.asarray(t, dtype=float)
    return (np.asarray(weights) * acceptance(t[:, None], eta, k)).sum(axis=1)


def checked_revenue(revenue):
    """Intercept and slope of a linear revenue: two finite numbers, or a CounterweightError."""
    try:
        a, b = (float(value) for value in revenue)
    except (TypeError, ValueError):
        a = b = np.nan
    if not (np.isfinite(a) and np.isfinite(b)):
        raise CounterweightError(
            f"The revenue of an accepted offer must be two numbers, intercept and slope, "
            f"not {revenue}."
        )
    return a, b


def checked_bounds(low, high):
    """Least and largest offer as floats: finite and in order, or a CounterweightError."""
    low, high = float(low), float(high)
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise CounterweightError(
            f"Offers must have finite bounds in order, got {low} to {high}: check low and high."
        )
    return low, high


def scale_of(offer, made=()):
    """`OfferScale` of the labeling rule's options, and the scaled grid of possible offers.

    `made` are offers of all rows, in the user's units, for ends that are null, and for few offers
    with gaps between them where only those that were made can be (the option ``between``).
    """
    low, high = offer_range(offer, made)
    names = ("direction", "revenue")
    scale = OfferScale(low, high, **{name: offer[name] for name in names if name in offer})
    grid = offer.get("grid")
    if grid is None and offer.get("between") == "made" and len(holes(made)):
        grid = np.unique(made)
    return scale, None if grid is None else feasible(scale.scaled(grid), 0.0, 1.0)


def feasible(grid, low, high):
    """The offers of a grid within the bounds, sorted; a CounterweightError where there is none."""
    grid = np.unique(np.asarray(grid, dtype=float))
    possible = grid[(grid >= low) & (grid <= high)]
    if not np.isfinite(grid).all() or not len(possible):
        raise CounterweightError(
            f"No feasible offer: of {len(grid)} offers in the grid none lies between {low:g} and "
            f"{high:g}, or one is not a number."
        )
    return possible


class OfferModel(BinaryClassifier):
    """A classifier of answers by features and an offer, the acceptance of which rises with it.

    Offers are an array `t` from 0 to 1, given beside the features wherever these are. Where ``fit``
    gets none they are the last column of X, there and in every other method, so that tools of
    scikit-learn can be used: on any scale, of which the least offer of the fit counts as 0 and
    the largest as 1, ``offer_range_`` (2,). A subclass has ``fit``, and
    ``predict_acceptance(X, t)``.
    """

    #: Missing features are taken.
    BLANKS = True
    offer_range_ = None

    def _parted(self, X, t, fitting=False):
        """Features and scaled offers of rows that may hold the offer as their last column."""
        if fitting:
            self.offer_range_ = None
        elif self.offer_range_ is not None and t is not None:
            raise CounterweightError(
                "The offers of the fit were the last column of X: give new ones there, too."
            )
        if t is not None:
            return X, t
        X = number_table(X, empty=not fitting)
        if fitting:
            if X.shape[1] < 2 or not np.isfinite(X[:, -1]).all():
                raise CounterweightError(
                    f"X has {X.shape[1]} feature(s): without offers t its last column must hold "
                    "them, finite, beside a feature at least."
                )
            low, high = X[:, -1].min(), X[:, -1].max()
            self.offer_range_ = np.array([low, high if high > low else low + 1.0])
        elif self.offer_range_ is None:
            raise CounterweightError("The offers t are missing: give one for each row.")
        low, high = self.offer_range_
        return X[:, :-1], np.clip((X[:, -1] - low) / (high - low), 0.0, 1.0)

    def _features_of(self, X):
        """Rows without the offers that their last column may hold."""
        return X if self.offer_range_ is None else number_table(X, empty=True)[:, :-1]

    def predict_proba(self, X: ArrayLike, t: ArrayLike | None = None) -> np.ndarray:
        """Probabilities that the offer is refused and accepted, (n, 2)."""
        p = self.predict_acceptance(X, t)
        return np.column_stack([1 - p, p])

    def predict(self, X: ArrayLike, t: ArrayLike | None = None) -> np.ndarray:
        """The likelier answer, the second of `classes_` where both are as likely, (n,)."""
        return self.classes_[(self.predict_proba(X, t)[:, 1] >= 0.5).astype(int)]


def checked_offers(t, rows):
    """Offers (n,) as floats within [0, 1]; rounding errors beyond an end go to it.

    Refused where an offer is no number or outside, or their number is wrong.
    """
    try:
        t = np.asarray(t, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The offers must be numbers: {error}.") from error
    if t.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but offers of shape {t.shape}.")
    bad = ~((t >= -1e-9) & (t <= 1 + 1e-9))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise CounterweightError(
            f"{int(bad.sum())} of {rows} offers are missing or outside [0, 1] (first: row {first}, "
            f"{t[first]:g}): scale them by their declared range, or drop these rows."
        )
    return np.clip(t, 0.0, 1.0)
