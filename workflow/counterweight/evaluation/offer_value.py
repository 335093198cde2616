"""Off-policy value of a policy that makes an offer to each person, from logged offers.

A logged offer is seldom exactly the policy's. A row counts where its offer lies near the
policy's, within a window, and is weighted by one over the probability that
a person like this one was made an offer there. What an accepted offer earns is known, so only
acceptance is taken from the neighbouring offer.

Where few offers were ever made, such as four prices, nothing is near one between them. There
acceptance is interpolated between the two levels around it, and, since it rises with the scaled
offer, lies between theirs: intervals reach from the lower end by the level below to the upper end
by that above. Beyond the levels nothing is known, and no value is given.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, fdtrc
from scipy.stats import rankdata

from counterweight.errors import CounterweightError, in_figures
from counterweight.labeling.offered import MOST_LEVELS, holes
from counterweight.models.choice.offer_model import acceptance
from counterweight.numerics.checks import checked_labels
from counterweight.numerics.estimate import Estimate, ratio_mean
from counterweight.numerics.linear import fit_logistic

log = logging.getLogger("counterweight")

#: Least probability of a logged offer near the policy's: below it a row has no support.
LEAST_PROBABILITY = 0.01
#: Offers nearer to a level than this, on the scale of t, are at it.
SAME = 1e-6
#: Forests for the estimated density: trees of each, and rows that a leaf must have.
TREES, LEAVES = 50, (20, 60, 200)
#: Share of the rows that the features of a test of chance may be at most, and p from which on
#: offers pass for drawn at random.
TESTED, RANDOM_P = 1 / 3, 0.05
#: Standard errors by which acceptance must go against the direction of offers to be told, and
#: answers, less the features, below which nothing is.
AGAINST, FEWEST = 4.0, 20
#: Penalty of the features that are held fixed there.
HELD = 1e-4
#: Standard errors from which answers of rows alike in every column go together, the least number
#: of such kinds of rows, and the most rows of a kind: more are of many people.
TIED, LEAST_KINDS, MOST_ALIKE = 3.0, 30, 50
#: Offers among which one for all is chosen, evenly over what was made, where they are many.
CHOICES = 65
#: Rows that a tree is grown on, at most: then the time is linear in the rows.
MOST_SAMPLED = 10_000


@dataclass(frozen=True)
class OfferDensity:
    """Probability (n, B) of a logged offer in each bin, for each person.

    ``edges`` (B + 1,) are bins of scaled offers, within which the density is uniform; for
    ``levels``, the distinct offers where they are few, the middles between them, and as far beyond
    the outer ones (.05 for a single level). ``windows`` says that levels lie so close that a
    window holds several, and are treated as any offers.
    """

    edges: np.ndarray
    levels: np.ndarray
    probability: np.ndarray
    windows: bool = False

    def bins(self, t):
        """Bin of each offer; offers beyond the first or last bin belong to it."""
        inner = self.edges[1:-1]
        return np.searchsorted(inner, np.asarray(t, dtype=float), side="right")

    def between(self, low, high):
        """Probability (n,) of a person's offer between `low` (n,) and `high` (n,)."""
        if self.windows:
            first = np.searchsorted(self.levels, np.asarray(low) - SAME)
            last = np.searchsorted(self.levels, np.asarray(high) + SAME, side="right")
            running, rows = self._running(), np.arange(len(self.probability))
            return running[rows, last] - running[rows, first]
        return self._below(high) - self._below(low)

    def _running(self):
        none = np.zeros((len(self.probability), 1))
        return np.hstack([none, self.probability.cumsum(axis=1)])

    def _below(self, t):
        running = self._running()
        t = np.clip(t, self.edges[0], self.edges[-1])
        bins = self.bins(t)
        at = np.arange(len(t))
        inside = (t - self.edges[bins]) / (self.edges[bins + 1] - self.edges[bins])
        return running[at, bins] + inside * self.probability[at, bins]


@dataclass(frozen=True)
class DrawnOffers(OfferDensity):
    """`OfferDensity` of offers that were drawn alike for everybody: by the shares of those made.

    ``made`` (m,) are the offers, in order.
    """

    made: np.ndarray = None

    def between(self, low, high):
        """Share of the offers that were made between `low` and `high`."""
        first = np.searchsorted(self.made, np.asarray(low) - SAME)
        last = np.searchsorted(self.made, np.asarray(high) + SAME, side="right")
        return (last - first) / len(self.made)


def close_levels(t, levels):
    """Whether a window holds several of some levels of offers."""
    return len(levels) > 2 and float(np.median(np.diff(levels))) <= window_rule(t)


def drawn_density(t):
    """Density of offers t (n,) that were drawn alike for everybody.

    Few that leave holes (`counterweight.labeling.offered.holes`) are levels, however close others
    lie: no window reaches over a hole.
    """
    t = np.asarray(t, dtype=float)
    levels, places = np.unique(t, return_inverse=True)
    if len(levels) > MOST_LEVELS or (close_levels(t, levels) and not len(holes(t))):
        ends = np.array([levels[0], levels[-1]])
        return DrawnOffers(ends, None, np.ones((len(t), 1)), made=np.sort(t))
    shares = np.bincount(places) / len(t)
    density = offer_density(np.zeros((len(t), 1)), t, "uniform")
    shares = np.broadcast_to(shares, (len(t), len(levels)))
    return replace(density, probability=shares, windows=False)


def chance_of_draws(X, t):
    """p of a test that offers t (n,) were made without regard to the features (n, d).

    Ranks of the offers, and their distances from the middle rank, are regressed on the features and
    the squares of those that are no 0 and 1; where offers were drawn at random both F tests hold
    but for chance. It is twice the smaller p, 1 at most. What goes by products of features alone,
    and moves neither mean nor spread by one of them, is not seen.
    """
    t, basis = np.asarray(t, dtype=float), _spanned(X)
    n, count = basis.shape
    if not count or n < 10:
        return 1.0
    ranks = rankdata(t) / n
    found = []
    for told in (ranks, np.abs(ranks - ranks.mean())):
        told = told - told.mean()
        explained = float(np.square(basis.T @ told).sum())
        rest = max(float(told @ told) - explained, 1e-300)
        freedom = n - 1 - count
        found.append(float(fdtrc(count, freedom, explained / count / (rest / freedom))))
    return min(1.0, 2 * min(found))


def _spanned(X):
    """An orthonormal basis (n, q) of features (n, d), of the squares of those that are no 0 and 1,
    and of where they are missing; q is up to `TESTED` of the rows."""
    X = np.asarray(X, dtype=float)
    missing, n = np.isnan(X), len(X)
    known = np.maximum((~missing).sum(axis=0), 1)
    filled = np.where(missing, np.where(missing, 0.0, X).sum(axis=0) / known, X)
    squares = [column**2 for column in filled.T if len(np.unique(column)) > 2]
    rows = np.column_stack([filled, missing[:, missing.any(axis=0)], *squares])
    rows = rows - rows.mean(axis=0)
    size = rows.std(axis=0)
    rows = rows[:, size > 1e-9 * np.maximum(np.abs(rows).max(axis=0), 1e-300)]
    if not rows.shape[1]:
        return rows
    basis, values, _ = np.linalg.svd(rows / rows.std(axis=0), full_matrices=False)
    return basis[:, : min(int((values > 1e-8 * values[0]).sum()), int(TESTED * n))]


class Against(NamedTuple):
    """Answers that contradict the direction of offers.

    ``above`` and ``others`` are shares of a yes to offers above the ``mean`` one and to the others,
    in the user's units; ``random`` says that offers were drawn alike for everybody.
    """

    mean: float
    above: float
    others: float
    random: bool

    def words(self, direction):
        """A sentence on it; `direction` is what the config says."""
        other = {"down": "up", "up": "down"}[direction]
        same = (
            ""
            if self.random
            else (
                "; so it is among people alike by the columns, unless something that none of them "
                "tells made both offers and answers"
            )
        )
        return (
            f"Past answers contradict offer.direction: {direction}: of the offers above "
            f"{in_figures(self.mean)}, the mean, {100 * self.above:.1f} % were accepted, of the "
            f"others {100 * self.others:.1f} %{same}. Say direction: {other}, with the revenue of "
            "an accepted offer, unless you know why: what follows rests on the direction."
        )


def against_direction(X, t, y, offers, random=False):
    """`Against` of answers y (n,) to scaled offers t (n,); None where nothing contradicts clearly.

    It does where acceptance falls along t by `AGAINST` standard errors, by itself and with the
    features X (n, d) and their squares held fixed: the score of t in a logistic regression.
    """
    t, y = np.asarray(t, dtype=float), np.asarray(y, dtype=float)
    basis = np.sqrt(len(t)) * _spanned(X)
    for held in (basis[:, :0], basis):
        room, chance = len(t) - held.shape[1] - 2, np.full(len(t), y.mean())
        if room < FEWEST or np.ptp(y) == 0 or np.ptp(t) == 0:
            return None
        if held.shape[1]:
            coef, constant, *_ = fit_logistic(held, y, l2=HELD)
            chance = expit(held @ coef + constant)
        root = np.sqrt(chance * (1 - chance))
        rows = root[:, None] * np.column_stack([held, np.ones(len(t))])
        left = t - np.column_stack([held, np.ones(len(t))]) @ np.linalg.lstsq(rows, root * t)[0]
        score = left * (y - chance)
        if not score.sum() < -AGAINST * np.sqrt(np.square(score).sum() * len(t) / room):
            return None
    offers = np.asarray(offers, dtype=float)
    above = offers > offers.mean()
    shares = float(y[above].mean()), float(y[~above].mean())
    return Against(float(offers.mean()), *shares, bool(random))


class Together(NamedTuple):
    """Answers that go together more than a fit tells: ``rows`` alike, what it leaves of two."""

    rows: float
    correlation: float

    def words(self):
        """A sentence on it."""
        return (
            f"{self.rows:.0f} rows are alike others in every column, and their answers go together "
            f"more than the columns tell (a correlation of {self.correlation:.2f}). If they are "
            "several rows of one person, what new people bring is claimed too high, with an "
            "interval that is too narrow: keep one row of each person, drawn at random."
        )


def answers_together(X, y, p):
    """`Together` of answers y (n,) with chances p (n,) by a fit; None where nothing shows clearly.

    Rows with the same features X (n, d) are a kind. What the fit leaves of two answers of a kind
    has a product of mean 0 if rows are independent and its form is right. The sum of all products
    is over 0 by `TIED` standard errors.
    """
    left = (np.asarray(y, dtype=float) - p) / np.sqrt(np.maximum(p * (1 - p), 1e-6))
    _, kind = np.unique(np.nan_to_num(X, nan=np.inf), axis=0, return_inverse=True)
    count = np.bincount(kind := kind.ravel())
    several = (count > 1) & (count <= MOST_ALIKE)
    if several.sum() < LEAST_KINDS:
        return None
    sums, squares, fourth = (np.bincount(kind, left**power)[several] for power in (1, 2, 4))
    both, chance = (sums**2 - squares).sum() / 2, np.sqrt((squares**2 - fourth).sum() / 2)
    if not both > TIED * chance:
        return None
    count = count[several]
    pairs = (count * (count - 1)).sum() / 2
    size = (squares * (count - 1)).sum() / (2 * pairs)
    return Together(float(count.sum()), float(min(both / pairs / size, 1.0)))


def single_choices(t, grid=None):
    """Scaled offers among which one for all is chosen: a grid, few levels of those made (n,), or
    `CHOICES` between their 1 % and 99 % quantiles.
    """
    if grid is not None:
        return np.asarray(grid, dtype=float)
    levels = np.unique(t)
    few = len(levels) <= MOST_LEVELS
    return levels if few else np.linspace(*np.quantile(t, [0.01, 0.99]), CHOICES)


def best_single(t, y, revenue, offers):
    """Of scaled offers to everybody that which earned most, by the answers to offers near each.

    Acceptance at an offer is that of the answers around it, by a normal kernel of the width of
    `window_rule`, made to rise with the offer. Offers t (n,) must have been drawn at random.
    """
    from sklearn.isotonic import IsotonicRegression

    levels, width = np.unique(t), max(window_rule(t), 1e-9)
    if len(levels) <= MOST_LEVELS and not close_levels(t, levels):
        width = SAME
    total, yes = np.zeros(len(offers)), np.zeros(len(offers))
    for at, offer in enumerate(offers):
        near = np.exp(-0.5 * np.minimum(((t - offer) / width) ** 2, 100.0))
        total[at], yes[at] = near.sum(), near @ y
    # Where nothing was offered nearby the neighbours tell.
    seen = total > 1e-6
    rises = IsotonicRegression(out_of_bounds="clip")
    rises.fit(offers[seen], yes[seen] / total[seen], sample_weight=total[seen])
    earned = rises.predict(offers) * (revenue[0] + revenue[1] * offers)
    return float(offers[int(np.argmax(earned))])


def gain_shown(value, low):
    """Whether offers bring more than others: the interval of the difference is above 0.

    Without an interval (NaN) a difference above 0 is let pass, since nothing says it is chance.
    """
    return low > 0 if np.isfinite(low) else value > 0


class DrawnValue(NamedTuple):
    """What offers to everybody earn a person, from answers to offers that were drawn at random.

    ``claimed`` is the mean by the model; ``ips`` and ``snips`` are by weights alone, with
    intervals; ``doubly_robust`` takes the model's chances and adds what weighted answers say it is
    off by. None where no answer is near. ``influence`` (n,) is of the last, for differences;
    ``ends`` (2, n) are of the least and the most that curves between offers which were made allow,
    where nothing like some of `policy` was tried: the intervals reach over both.
    """

    claimed: float
    ips: Estimate
    snips: Estimate
    doubly_robust: Estimate
    influence: np.ndarray
    ends: tuple = ()

    def more(self, other, level=0.95):
        """An `Estimate` of what these offers earn above others, a `DrawnValue` or earnings (n,)."""
        beside, under = other, ()
        if isinstance(other, DrawnValue):
            beside, under = other.influence, other.ends
        ends = ()
        if self.ends or under:
            least, most = self.ends or (self.influence,) * 2
            low, high = under or (beside,) * 2
            ends = least - high, most - low
        return over_ends(self.influence - beside, ends, level)


def over_ends(whole, ends, level=0.95):
    """`ratio_mean` of (n,), its interval from that of the first of ends (2, n) to the other's; its
    own where there are none."""
    told = ratio_mean(whole, level=level)
    if not ends:
        return told
    low, high = (ratio_mean(one, level=level) for one in ends)
    return replace(told, low=min(told.low, low.low), high=max(told.high, high.high))


def drawn_value(t, y, policy, at_policy, at_made, density, revenue, level=0.95, between=()):
    """`DrawnValue` of offers `policy` (n,) that were chosen without a person's own answer.

    `at_policy` and `at_made` (n,) are chances of a yes to these, and to the offers t that were
    made, by a model that has not seen the person's answer. `density` is of `drawn_density`.
    `between` are, where nothing like some of the policy's offers was tried, the next offers below
    and above that were (n,), of others their own, each with the chances (n,) of a yes to them.
    """
    value = offer_value(t, y, policy, density, revenue=revenue, level=level)
    worth = revenue[0] + revenue[1] * policy
    claimed = at_policy * worth
    if value.snips is None:
        return DrawnValue(float(claimed.mean()), None, None, None, claimed)

    def put_right(offers, chances):
        off = off_by(t, y, offers, at_made, density, worth)
        return chances * worth + (0.0 if off is None else off)

    whole, ends = put_right(policy, at_policy), ()
    if between:  # acceptance rises with the scaled offer
        below, above = (put_right(*one) for one in between)
        ends = np.where(worth >= 0, below, above), np.where(worth >= 0, above, below)
    told = over_ends(whole, ends, level)
    return DrawnValue(float(claimed.mean()), value.ips, value.snips, told, whole, ends)


def off_by(t, y, policy, at_made, density, worth):
    """What answers to drawn offers say that a model's claim of offers is off by, (n,), on average.

    Arguments are those of `drawn_value`; `worth` (n,) is what an accepted offer earns. Without
    offers, where `policy` is NaN, nothing is off. None where no answer is near any, or where an
    offer is beyond the levels that were made.
    """
    got, off = np.isfinite(policy), np.zeros(len(t))
    some = np.where(got, policy, t)
    if density.levels is None or density.windows:
        weight = _window(t, some, density, window_rule(t))[1]
    else:
        told = _level_weights(t, some, density)
        if told["beyond"].any():
            return None
        weight = told["weight"]
    if not weight[got].any():
        return None
    off[got] = (weight / weight[got].mean() * (y - at_made) * worth)[got]
    return off


def offer_density(X, t, kind="estimated", bins=10, seed=0):
    """`OfferDensity` of logged offers t (n,), scaled, given the features (n, d), NaN where missing.

    uniform: known to be uniform on [0, 1] for everyone (on the levels, where there are few).
    estimated: bins of equal counts (or the levels), and the probabilities of a person's bin by
    a random forest, each row by the trees that did not see it. Of forests with leaves of at
    least 60 rows, of 20 or 200 (of both where neither comes first) and the shares among all
    rows, the one with the least log loss on such rows is taken, so noise does not pass for a
    policy. A forest smooths over people: an offer that is a sharp function of x comes out wider
    than it is.
    """
    t = np.asarray(t, dtype=float)
    distinct = np.unique(t)
    levels = distinct if len(distinct) <= MOST_LEVELS else None
    if levels is not None:
        middles = (levels[1:] + levels[:-1]) / 2
        reach = (middles[0] - levels[0], levels[-1] - middles[-1]) if len(middles) else (0.05, 0.05)
        edges = np.concatenate([[levels[0] - reach[0]], middles, [levels[-1] + reach[1]]])
    elif kind == "uniform":
        edges = np.linspace(0.0, 1.0, bins + 1)
    else:
        edges = np.unique(np.quantile(t, np.linspace(0.0, 1.0, bins + 1)))
        if len(edges) < 2 or np.diff(edges).min() <= 0:
            edges = np.array([t.min(), t.max()])
    count = len(edges) - 1
    windows = levels is not None and close_levels(t, levels)
    density = OfferDensity(edges, levels, np.full((len(t), count), 1.0 / count), windows)
    if kind == "uniform" or count == 1:
        return density
    made = _forest(np.asarray(X, float), density.bins(t), count, seed)
    return replace(density, probability=made)


def _forest(X, bins, count, seed):
    import warnings

    from sklearn.ensemble import RandomForestClassifier

    rows = np.arange(len(bins))
    shares = np.bincount(bins, minlength=count)

    def told(leaf):
        """Probabilities by one forest, and their loss; by shares where leaves are too large."""
        if leaf > len(X) // 3:
            return None, np.inf
        forest = RandomForestClassifier(
            TREES,
            min_samples_leaf=leaf,
            oob_score=True,
            random_state=seed,
            max_samples=min(len(X), MOST_SAMPLED),
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Some inputs do not have OOB scores")
            forest.fit(X, bins)
        probability = np.zeros((len(bins), count))
        probability[:, forest.classes_.astype(int)] = forest.oob_decision_function_
        # A row that every tree saw gets the shares of all rows.
        unseen = ~np.isfinite(probability).all(axis=1) | (probability.sum(axis=1) <= 0)
        probability[unseen] = shares / len(bins)
        return probability, -np.mean(np.log(np.maximum(probability[rows, bins], 1e-3)))

    # A row's own offer is not in the shares that it is judged by.
    chance = np.maximum((shares[bins] - 1) / max(len(bins) - 1, 1), 1e-3)
    found = [(np.tile(shares / len(bins), (len(bins), 1)), -np.mean(np.log(chance)))]
    small, middle, large = LEAVES
    found.append(told(middle))
    # Losses fall, then rise with the leaves: where one neighbour is better, the other is not.
    for leaf in (small, large) if found[1][1] < found[0][1] else (large, small):
        found.append(told(leaf))
        if found[-1][1] < found[1][1]:
            break
    return min(found, key=lambda one: one[1])[0]


@dataclass(frozen=True)
class OfferValue:
    """Value of a policy for each person, and how far the log supports it.

    Attributes
    ----------
    ips, snips : Estimate or None
        Divided by the rows, or by the sum of the weights. None where no logged offer is near
        the policy's, or where the policy's lie beyond all levels that were logged.
    bandwidth, smoothing : float
        Half the window, on the scale of t, 0 for levels; and ``|V(h) - V(2h)| / 3`` by snips, a
        rough size of what the window's width does to the value: to second order in h, the bias
        itself. It is in no interval, and NaN for levels.
    rows, rows_matched, rows_unsupported : int
        Rows; those whose logged offer is near the policy's; those for which such an offer has an
        estimated probability below `LEAST_PROBABILITY`, of which the log says nothing: ips counts
        about nothing for them, snips takes them to be like the others, and their weights are cut.
    rows_between, rows_beyond : int
        Where few levels were logged: rows whose offer lies between two of them, so that its
        acceptance is interpolated and intervals hold its bounds; rows whose offer lies beyond all.
    """

    ips: Estimate
    snips: Estimate
    bandwidth: float
    smoothing: float
    rows: int
    rows_matched: int
    rows_unsupported: int
    rows_between: int = 0
    rows_beyond: int = 0


def window_rule(t):
    """Half the width of the window: 1.06 sd(t) n^(-1/5).

    Silverman's rule; its rate is the best for the value of a policy of continuous offers
    (Kallus & Zhou 2018), where squared bias goes with h^4 and variance with 1 / (n h).
    """
    t = np.asarray(t, dtype=float)
    return float(1.06 * t.std() * len(t) ** -0.2)


def offer_value(
    t: ArrayLike,
    answer: ArrayLike,
    policy: ArrayLike,
    density: OfferDensity | ArrayLike | None = None,
    *,
    revenue: tuple[float, float] = (1.0, -1.0),
    bandwidth: float = 0.0,
    level: float = 0.95,
) -> OfferValue:
    """`OfferValue` of a policy t(x) from logged offers and answers: revenue for each person.

    IPS: the mean of ``w_i y_i (a + b pi_i)``, where pi_i is the policy's offer, w_i = 0
    for a logged offer that is not near it, and else one over the probability of one that is.
    SNIPS: the same over the mean weight. Near means within `bandwidth` of it (a flat kernel, the
    part of the window outside [0, 1] cut off), or the same level, where there are few. An offer
    between two levels counts for both, by linear interpolation. That acceptance rises with t,
    which intervals rest on there, is assumed; that it is linear between levels is not.

    What is estimated is the value of the policy *smoothed*: acceptance averaged over the
    logged offers in the window. Offers must have been made by what is in the features
    (no hidden reasons), and the density must be right; standard errors take it as known.
    The policy must not have been fitted to these answers, or the value is flattered.

    Parameters
    ----------
    t, answer, policy : array (n,)
        Logged offers (scaled), answers, the policy's offers (scaled).
    density : OfferDensity or array (n, d), optional
        How past offers were made: features by which they were, of which it is learned
        (`offer_density`). None: drawn alike for everybody.
    revenue : tuple (a, b)
        Revenue a + b t of an accepted offer.
    bandwidth : float
        0 for `window_rule`.
    level : float
        Of the intervals.

    Raises
    ------
    CounterweightError
        For rows that do not fit together.
    """
    t, policy = (np.asarray(values, dtype=float) for values in (t, policy))
    given = isinstance(density, OfferDensity)
    rows = len(t) if density is None else len(density.probability if given else density)
    if t.shape != policy.shape or t.shape != (rows,) or not rows:
        raise CounterweightError(
            f"Logged offers {t.shape}, the policy's {policy.shape} and their density ({rows},) "
            "must be of the same rows."
        )
    if not (np.isfinite(t).all() and np.isfinite(policy).all()):
        raise CounterweightError("Logged offers and the policy's must be finite numbers.")
    if not given:
        density = drawn_density(t) if density is None else offer_density(density, t)
    answer = checked_labels(answer, len(t), "answer")
    worth = revenue[0] + revenue[1] * policy
    earned, bounds = answer * worth, (0.0, None) if worth.min() >= 0 else None
    estimates = partial(_estimates, earned, level=level, bounds=bounds)
    if density.levels is not None and not density.windows:
        return _by_levels(t, policy, worth, density, estimates)
    h, smoothing = float(bandwidth) or window_rule(t), float("nan")
    near, weight, chance = _window(t, policy, density, h)
    unsupported, ips, snips = chance < LEAST_PROBABILITY, None, None
    if near.any():
        ips, snips = estimates([weight])
        _, double, _ = _window(t, policy, density, 2 * h)
        smoothing = abs(snips.value - float(double @ earned / double.sum())) / 3
    _warn(unsupported)
    return OfferValue(ips, snips, h, smoothing, len(t), int(near.sum()), int(unsupported.sum()))


def _window(t, policy, density, h):
    """Which logged offers are near the policy's, their weights, and how probable that was."""
    chance = density.between(policy - h, policy + h)
    # Levels at the ends of a window are within.
    room = SAME if density.windows or isinstance(density, DrawnOffers) else 0.0
    near = (t >= policy - h - room) & (t <= policy + h + room)
    return near, np.where(near, 1.0 / np.maximum(chance, LEAST_PROBABILITY), 0.0), chance


def _estimates(earned, weights, **how):
    """IPS and SNIPS by the first weights, their intervals from the least to the largest end."""
    plain = [ratio_mean(one * earned, **how) for one in weights]
    shares = [ratio_mean(earned, one, **how) for one in weights]
    return [
        replace(of[0], low=min(one.low for one in of), high=max(one.high for one in of))
        for of in (plain, shares)
    ]


def _warn(unsupported):
    if unsupported.mean() > 0.05:
        log.warning(
            "For %.0f %% of %d rows the log has hardly any offer near the policy's: its value "
            "cannot be learned from this log for them.",
            100 * unsupported.mean(),
            len(unsupported),
        )


def _level_weights(t, policy, density):
    """Weights of offers at the levels around the policy's, and what `_by_levels` tells of them."""
    levels, rows = density.levels, np.arange(len(t))
    beyond = (policy < levels[0] - SAME) | (policy > levels[-1] + SAME)
    upper = np.clip(np.searchsorted(levels, policy - SAME), 0, len(levels) - 1)
    at = np.abs(levels[upper] - policy) <= SAME
    lower = np.where(at | beyond, upper, np.maximum(upper - 1, 0))
    upper = np.where(beyond, lower, upper)
    gap = levels[upper] - levels[lower]
    part = np.where(gap > 0, (policy - levels[lower]) / np.where(gap > 0, gap, 1.0), 0.0)
    logged = density.bins(t)

    def weights(which):
        chance = density.probability[rows, which]
        return np.where(logged == which, 1.0 / np.maximum(chance, LEAST_PROBABILITY), 0.0), chance

    (below, low_chance), (above, high_chance) = weights(lower), weights(upper)
    matched = (logged == lower) | (logged == upper)
    return {
        "weight": (1 - part) * below + part * above,
        "below": below,
        "above": above,
        "beyond": beyond,
        "between": ~at & ~beyond,
        "matched": matched & ~beyond,
        "unsupported": beyond | (np.minimum(low_chance, high_chance) < LEAST_PROBABILITY),
    }


def _by_levels(t, policy, worth, density, estimates):
    """`offer_value` where few offers were ever made; `worth` is the revenue of the policy's."""
    told = _level_weights(t, policy, density)
    weight, below, above, beyond, between, matched, unsupported = (
        told[name]
        for name in ("weight", "below", "above", "beyond", "between", "matched", "unsupported")
    )
    # Acceptance rises with the offer: each end by the level that makes revenue less, or more.
    gains = worth >= 0
    ends = [np.where(gains, below, above), np.where(gains, above, below)]
    ips = snips = None
    if not beyond.any() and all(one.any() for one in (weight, *ends)):
        ips, snips = estimates([weight, *(ends if between.any() else ())])
    if beyond.any():
        log.warning(
            "%d of %d offers of the policy lie beyond all that were logged, so its value is not "
            "told.",
            int(beyond.sum()),
            len(t),
        )
    _warn(unsupported)
    counts = (matched, unsupported, between, beyond)
    nothing = float("nan")
    return OfferValue(ips, snips, 0.0, nothing, len(t), *(int(one.sum()) for one in counts))


def single_offer(eta, k, scale, points=1001, grid=None):
    """The one offer to everybody that earns most by fitted curves (n,), e.g. an entry fee.

    In the user's units, with the share ``single_offer_acceptance`` that accepts it and
    ``single_offer_revenue`` for each person; `points` are tried, evenly over the range of `scale`,
    or those of `grid` in [0, 1], where no others can be made.
    """
    curves, people = np.unique(np.column_stack([eta, k]), axis=0, return_counts=True)
    t = np.linspace(0.0, 1.0, points) if grid is None else np.asarray(grid, float)
    accepted = acceptance(t[:, None], *curves.T) @ (people / people.sum())
    intercept, slope = scale.scaled_revenue()
    earned = accepted * (intercept + slope * t)
    best = int(np.argmax(earned))
    return {
        "single_offer": scale.offers(t[best]),
        "single_offer_acceptance": accepted[best],
        "single_offer_revenue": earned[best],
    }
