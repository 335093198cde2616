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

import logging
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_model import acceptance
from counterweight.numerics.checks import checked_labels
from counterweight.numerics.estimate import Estimate, ratio_mean

log = logging.getLogger("counterweight")

#: Up to as many distinct logged offers are levels of their own; more are cut into bins.
MOST_LEVELS = 30
#: Least probability of a logged offer near the policy's: below it a row has no support.
LEAST_PROBABILITY = 0.01
#: Offers nearer to a level than this, on the scale of t, are at it.
SAME = 1e-6
#: Forests for the estimated density: trees of each, and rows that a leaf must have.
TREES, LEAVES = 50, (20, 60, 200)
#: Rows that a tree is grown on, at most: then the time is linear in the rows.
MOST_SAMPLED = 10_000


@dataclass(frozen=True)
class OfferDensity:
    """Probability (n, B) of a logged offer in each bin, for each person.

    ``edges`` (B + 1,) are bins of scaled offers, within which the density is uniform; for
    ``levels``, the distinct offers where they are few, the middles between them, and as far beyond
    the outer ones (.05 for a single level).
    """

    edges: np.ndarray
    levels: np.ndarray
    probability: np.ndarray

    def bins(self, t):
        """Bin of each offer; offers beyond the first or last bin belong to it."""
        inner = self.edges[1:-1]
        return np.searchsorted(inner, np.asarray(t, dtype=float), side="right")

    def between(self, low, high):
        """Probability (n,) of a person's offer between `low` (n,) and `high` (n,)."""
        return self._below(high) - self._below(low)

    def _below(self, t):
        running = np.hstack([np.zeros((len(self.probability), 1)), self.probability.cumsum(axis=1)])
        t = np.clip(t, self.edges[0], self.edges[-1])
        bins = self.bins(t)
        at = np.arange(len(t))
        inside = (t - self.edges[bins]) / (self.edges[bins + 1] - self.edges[bins])
        return running[at, bins] + inside * self.probability[at, bins]


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
    density = OfferDensity(edges, levels, np.full((len(t), count), 1.0 / count))
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


def offer_value(t, answer, policy, density, *, revenue=(1.0, -1.0), bandwidth=0.0, level=0.95):
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
    density : OfferDensity
        Of the same rows.
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
    if t.shape != policy.shape or t.shape != (len(density.probability),) or not len(t):
        raise CounterweightError(
            f"Logged offers {t.shape}, the policy's {policy.shape} and their density "
            f"{(len(density.probability),)} must be of the same rows."
        )
    if not (np.isfinite(t).all() and np.isfinite(policy).all()):
        raise CounterweightError("Logged offers and the policy's must be finite numbers.")
    answer = checked_labels(answer, len(t), "answer")
    worth = revenue[0] + revenue[1] * policy
    earned, bounds = answer * worth, (0.0, None) if worth.min() >= 0 else None
    estimates = partial(_estimates, earned, level=level, bounds=bounds)
    if density.levels is not None:
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
    near = (t >= policy - h) & (t <= policy + h)
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


def _by_levels(t, policy, worth, density, estimates):
    """`offer_value` where few offers were ever made; `worth` is the revenue of the policy's."""
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
    unsupported = beyond | (np.minimum(low_chance, high_chance) < LEAST_PROBABILITY)
    weight = (1 - part) * below + part * above
    # Acceptance rises with the offer: each end by the level that makes revenue less, or more.
    gains = worth >= 0
    ends = [np.where(gains, below, above), np.where(gains, above, below)]
    matched = (logged == lower) | (logged == upper)
    between, ips, snips = ~at & ~beyond, None, None
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
    counts = (matched & ~beyond, unsupported, between, beyond)
    nothing = float("nan")
    return OfferValue(ips, snips, 0.0, nothing, len(t), *(int(one.sum()) for one in counts))


def single_offer(eta, k, scale, points=1001):
    """The one offer to everybody that earns most by fitted curves (n,), e.g. an entry fee.

    In the user's units, with the share ``single_offer_acceptance`` that accepts it and
    ``single_offer_revenue`` for each person; `points` are tried, evenly over the range of `scale`.
    """
    curves, people = np.unique(np.column_stack([eta, k]), axis=0, return_counts=True)
    t = np.linspace(0.0, 1.0, points)
    accepted = acceptance(t[:, None], *curves.T) @ (people / people.sum())
    intercept, slope = scale.scaled_revenue()
    earned = accepted * (intercept + slope * t)
    best = int(np.argmax(earned))
    return {
        "single_offer": scale.offers(t[best]),
        "single_offer_acceptance": accepted[best],
        "single_offer_revenue": earned[best],
    }
