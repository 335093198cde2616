"""How wrong an answer about rows without a label could be: bounds that are swept by one number.

At equal features x the odds of having no label may differ between any two outcomes by a factor of
Γ >= 1 at most (Rosenbaum's model). For a class that is to say

    logit p(y=1 | x, s=0) = logit p(y=1 | x, s=1) + d(x),   |d(x)| <= log Γ,

with another d for each row: the bounds below let each row take the end that is worst for the
quantity that is asked for, so no smaller interval holds all that Γ allows. A number y has any
density among rows without a label whose ratio to that among labeled ones, at equal x, differs
between any two values by a factor of Γ at most; of two values this is the same. At Γ = 1 labels
are missing at random, and all bounds are the estimate. No data tell Γ: it is looked at, not
estimated. (Where another definition is meant, it is named: the ratio itself within [1/Γ, Γ] is the
marginal model of Tan 2006, whose bounds at Γ lie within those here at Γ².)

References
----------
Rosenbaum (2002), *Observational Studies*, chapter 4; Yadlowsky, Namkoong, Basu, Duchi & Tian
(2022), *Annals of Statistics* 50, for the bound of a mean, lemma 2.1; Manski (2003) for Γ without
end, where a class has the bounds 0 and 1; VanderWeele & Ding (2017), *Annals of Internal Medicine*
167, for the E-value.
"""

import functools
from dataclasses import dataclass, replace

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.numerics.estimate import around
from counterweight.numerics.tilt import moved_chances, odds_factors

#: Values of Γ that curves are drawn at, and the largest that is looked at.
GAMMAS = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
MOST = GAMMAS[-1]
#: The value that sentences refer to: at equal features the odds are at most twice as large.
TWICE = 2.0
#: Odds of rows without an outcome over those that are foretold, up or down, that the range of a
#: half-width goes over: who has an outcome may go by the outcome, and no label says so yet.
SPAN = 3.0
#: 97.5 % quantile of the normal law.
NORMAL = 1.959964
#: What a column is called that is as strong as the strongest is of either factor.
EITHER = "the strongest of either"


@dataclass(frozen=True)
class Repair:
    """Labeled rows that no fit has seen, by whose residuals a mean of estimates is put right.

    The mean is then right where either the weights or the estimates are, and so are its bounds to
    first order.

    Attributes
    ----------
    residual, p : array (M,)
        Outcome minus estimate; the estimate (not needed of a number).
    weight : array (M,)
        To the target population; only ratios count.
    own : array (M,)
        Each row's own share of the target; 0 for a target without labeled rows.
    slope : array (M,) or float
        As of the rows of the target.
    """

    residual: np.ndarray
    p: np.ndarray
    weight: np.ndarray
    own: np.ndarray | float = 0.0
    slope: np.ndarray | float = 1.0

    @property
    def share(self):
        """Weights of sum 1."""
        return self.weight / self.weight.sum()


@dataclass(frozen=True)
class Sweep:
    """A quantity at each Γ.

    Attributes
    ----------
    gamma, low, high : array (G,)
        Bounds in which each row takes the end that is worst.
    fewer, more : array (G,)
        The quantity where all rows have the same shift, -log Γ and log Γ; NaN of numbers.
    low_error, high_error : array (G,)
        Standard errors of the bounds; sampling of the rows given the fitted model.
    """

    gamma: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fewer: np.ndarray
    more: np.ndarray
    low_error: np.ndarray
    high_error: np.ndarray

    def widened(self, errors=NORMAL):
        """Bounds, moved outwards by so many standard errors."""
        return self.low - errors * self.low_error, self.high + errors * self.high_error


@dataclass(frozen=True)
class SweptMean:
    """The mean of ``base + slope y`` over a target, y a class of which hidden rows are not sure.

    A rate has slope 1 and base 0; any loss has the slope ``loss(1) - loss(0)`` and the base
    ``loss(0)`` (`accuracy_parts`, `brier_parts`), and a difference of two losses the differences.
    Everything is linear in the rows.

    Attributes
    ----------
    p : array (T,)
        Chance of 1 given the features, as among labeled rows; of the target's rows.
    slope, base : array (T,) or float
    weight : array (T,), optional
        Design weights.
    hidden : bool array (T,), optional
        Rows without a label; all by default. Others keep `p`.
    repair : Repair, optional
        None where `p` is known.
    centre : float
        Shift of the log odds that Γ is swept around: 0 around missing at random.
    finite : bool
        The rows are the whole target, and known outcomes are known: errors are those of hidden
        outcomes and of what is learned. Else rows are a sample of the target.
    """

    p: np.ndarray
    slope: np.ndarray | float = 1.0
    base: np.ndarray | float = 0.0
    weight: np.ndarray | None = None
    hidden: np.ndarray | None = None
    repair: Repair | None = None
    centre: float = 0.0
    finite: bool = False

    def __post_init__(self):
        p = as_numbers(self.p, "chances")
        if p.ndim != 1 or not len(p) or not ((p >= 0) & (p <= 1)).all():
            raise CounterweightError(
                f"A sweep needs the chances of some rows, each from 0 to 1; got the shape "
                f"{p.shape}."
            )
        share = checked_weights(self.weight, len(p))
        hidden = np.ones(len(p), bool) if self.hidden is None else np.asarray(self.hidden, bool)
        made = {"p": p, "weight": share / share.sum(), "hidden": hidden}
        made["slope"] = np.broadcast_to(np.asarray(self.slope, float), p.shape)
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def at(self, shift, side=0):
        """The mean and its standard error.

        All rows have the `shift` of the log odds; with a side (-1, 1) each takes the end of
        [-shift, shift] at which the mean is least, or largest.
        """
        value, mean, parts = self._parts(shift, side)
        known, moved = self.repair, parts.sum()
        variance = self._variance(value, mean)
        if known is not None:
            # Of these very rows what an outcome says of itself is known.
            own = known.own * known.slope * known.residual if self.finite else 0.0
            share = np.maximum(known.share - known.own, 0) if self.finite else known.share
            share = share / share.sum() if share.any() else known.share
            variance += np.square(parts - own - share * (parts - own).sum()).sum()
        return float(mean + moved), float(np.sqrt(variance))

    def _variance(self, value, mean):
        """Of the mean over the target given the fit: of drawn rows, or of hidden outcomes alone."""
        if not self.finite:
            return np.square(self.weight) @ np.square(value - mean)
        base = np.broadcast_to(np.asarray(self.base, float), value.shape)
        # With y of the chance q a row is worth base + slope y: (value - base)(base + slope - value)
        # is slope² q (1 - q).
        noise = (value - base) * (base + self.slope - value)
        return np.square(self.weight * self.hidden) @ np.maximum(noise, 0)

    def at_rate(self, rate):
        """The same where the hidden rows are known to have a `rate`, a `SweptMean`.

        It is less the multiple of their rate that leaves a mean that no tilt moves, and has that
        multiple of the known one instead: labeled rows that move the estimates move the tilt, too,
        by which these meet the rate.
        """
        q = moved_chances(self.p, *odds_factors(self.centre))
        spread = self.weight * self.hidden * q * (1 - q)
        each = float(spread @ self.slope / max(spread.sum(), 1e-300))
        base = self.base + each * rate * self.hidden
        repair = self.repair and replace(self.repair, slope=self.repair.slope - each)
        return replace(self, slope=self.slope - each * self.hidden, base=base, repair=repair)

    def mean(self, shift, side=0):
        """The mean alone, as of `at`."""
        if (shift, side) not in self._means:
            _, mean, parts = self._parts(shift, side)
            self._means[shift, side] = float(mean + parts.sum())
        return self._means[shift, side]

    def _parts(self, shift, side):
        """What each row of the target is worth (T,), their mean, what labeled rows move it by."""
        known = self.repair
        delta = self.centre + shift * (side * np.array([0.0, 1.0, -1.0]) if side else np.ones(3))
        factors = np.transpose(odds_factors(delta))
        value = self._unmoved.copy()
        for sign, rows, p, rest, slope, base in self._moving:
            # As `moved_chances` does; in place, since this is most of the time of a sweep.
            of_one, of_zero = factors[sign]
            one = p * of_one
            both = rest * of_zero
            both += one
            one = (
                np.divide(one, both, out=both) if both.all() else moved_chances(p, of_one, of_zero)
            )
            one *= slope
            one += base
            value[rows] = one
        mean = self.weight @ value
        if known is None:
            return value, mean, np.zeros(1)
        power = np.exp(delta)[np.sign(known.slope).astype(int)]
        steepness = power / np.square(1 - known.p + known.p * power)
        rate = known.own + (known.share - known.own) * steepness
        return value, mean, rate * known.slope * known.residual

    @functools.cached_property
    def _means(self):
        """What `mean` gave, by shift and side: a sweep and breakdown values ask for the same."""
        return {}

    @functools.cached_property
    def _unmoved(self):
        """What each row of the target is worth (T,) where its chance is `p`."""
        return self.base + self.slope * self.p

    @functools.cached_property
    def _moving(self):
        """Hidden rows whose chance counts, by the sign of their slopes.

        Their places, p, 1 - p, slope and base.
        """
        base = np.broadcast_to(np.asarray(self.base, float), self.p.shape)
        signs = np.where(self.hidden, np.sign(self.slope), 0)
        found = [(sign, np.flatnonzero(signs == sign)) for sign in (-1, 1)]
        told = self.p, 1 - self.p, self.slope, base
        return [(sign, at, *(values[at] for values in told)) for sign, at in found]

    def low(self, gamma):
        """The least mean that Γ allows."""
        return self.mean(np.log(gamma), -1)

    def high(self, gamma):
        """The largest mean that Γ allows."""
        return self.mean(np.log(gamma), 1)

    def sweep(self, gammas=GAMMAS, errors=True):
        """A `Sweep` over values of Γ, from 1 up; without `errors` these are NaN."""
        gammas = _checked_gammas(gammas)
        made = np.full((6, len(gammas)), np.nan)
        for at, shift in enumerate(np.log(gammas)):
            made[2:4, at] = self.mean(-shift), self.mean(shift)
            for end, side in enumerate((-1, 1)):
                if errors:
                    made[end::4, at] = self.at(shift, side)
                else:
                    made[end, at] = self.mean(shift, side)
        return Sweep(gammas, *made)


def swept(p, slope=1.0, base=0.0, *, gammas=GAMMAS, **options):
    """Bounds of a mean at each Γ, as a `Sweep`; parameters are those of `SweptMean`."""
    return SweptMean(p, slope, base, **options).sweep(gammas)


def accuracy_parts(prediction):
    """Slope and base of the share of right decisions at 1/2, for predictions (n,)."""
    yes = np.asarray(prediction) >= 0.5
    return np.where(yes, 1.0, -1.0), np.where(yes, 0.0, 1.0)


def brier_parts(prediction):
    """Slope and base of the Brier score, for predictions (n,)."""
    q = as_numbers(prediction, "predictions")
    return 1 - 2 * q, q * q


def step_bounds(values, weight=None, gammas=GAMMAS):
    """Least and largest mean of values, whose weights may change by a factor of Γ at most.

    The worst change is a step: Γ above the bound, 1 below it (or the other way), so the bound is
    the extreme of the n + 1 steps, found from running sums of the sorted values.

    `values` array (n,); `weight` array (n,), optional. Returns `low`, `high` array (G,);
    `influence_low`, `influence_high` arrays (G, n): how far each row moves the bound.

    Yadlowsky et al. (2022), lemma 2.1.
    """
    values, gammas = as_numbers(values, "values"), _checked_gammas(gammas)
    weight = checked_weights(weight, len(values))
    order = np.argsort(values, kind="stable")
    mass = np.concatenate([[0.0], np.cumsum(weight[order])])
    total = np.concatenate([[0.0], np.cumsum((weight * values)[order])])
    found = []
    for sign in (-1, 1):
        # Rows from the top (from the bottom, for the least mean) have Γ in place of 1.
        above = (mass[-1] - mass, total[-1] - total) if sign > 0 else (mass, total)
        bounds, influence = np.empty(len(gammas)), np.empty((len(gammas), len(values)))
        for at, gamma in enumerate(gammas):
            means = (total[-1] + (gamma - 1) * above[1]) / (mass[-1] + (gamma - 1) * above[0])
            bounds[at] = bound = means.max() if sign > 0 else means.min()
            heavy = weight * np.where(sign * (values - bound) > 0, gamma, 1.0)
            influence[at] = heavy * (values - bound) / heavy.sum()
        found.append((bounds, influence))
    (low, influence_low), (high, influence_high) = found
    return low, high, influence_low, influence_high


@dataclass(frozen=True)
class SweptNumber:
    """The mean of a number over a target, some rows of which have none that is seen.

    What labeled rows show of the spread around the estimate is taken to hold at any features: the
    residuals are pooled. Where the spread differs much between rows, the bounds are those of rows
    of middling spread.

    Attributes
    ----------
    values : array (T,)
        Estimates of the target's rows.
    repair : Repair
        Labeled rows, whose residuals are the spread; its `p` and `slope` are not used.
    weight, hidden : array (T,), optional
    finite : bool
        As of `SweptMean`.
    """

    values: np.ndarray
    repair: Repair
    weight: np.ndarray | None = None
    hidden: np.ndarray | None = None
    finite: bool = False

    def low(self, gamma):
        """The least mean that Γ allows."""
        return float(self.sweep([gamma]).low[0])

    def high(self, gamma):
        """The largest mean that Γ allows."""
        return float(self.sweep([gamma]).high[0])

    def sweep(self, gammas=GAMMAS):
        """A `Sweep` over values of Γ, from 1 up."""
        values, known = as_numbers(self.values, "estimates"), self.repair
        share = checked_weights(self.weight, len(values))
        share = share / share.sum()
        free = 1.0 if self.hidden is None else share[self.hidden].sum()
        mean, to_target = share @ values, known.share
        # What labeled rows say of themselves does not stand for hidden ones.
        to_hidden = np.maximum(to_target - known.own, 0)
        to_hidden = to_hidden if to_hidden.any() else to_target
        shift = to_target @ known.residual
        bounds = step_bounds(known.residual, to_hidden, (1.0, *gammas))
        own = to_target * (known.residual - shift)
        rows = np.square(share) @ np.square(values - mean)
        if self.finite:
            # Hidden outcomes, of which labeled rows tell the spread, and what is learned of them.
            hidden = 1.0 if self.hidden is None else self.hidden
            unseen = to_hidden / to_hidden.sum()
            apart = known.residual - unseen @ known.residual
            own = np.maximum(to_target - known.own, 0) * apart
            rows = (np.square(share) * hidden).sum() * (unseen @ np.square(apart))
        ends, errors = [], []
        for bound, influence in zip(bounds[:2], bounds[2:], strict=True):
            ends.append(mean + shift + free * (bound[1:] - bound[0]))
            parts = own + free * (influence[1:] - influence[0])
            errors.append(np.sqrt(rows + np.square(parts).sum(axis=1)))
        nothing = np.full(len(ends[0]), np.nan)
        return Sweep(np.asarray(gammas, float), *ends, nothing, nothing, *errors)


def ends_by_gamma(falls, value, error, bounds, known, share):
    """Ends (G,) of 95 % intervals of a bound of a mean, `value` with its `error` (G,), by Γ.

    Known outcomes make `known` of it, and hidden ones, which are `share` of all, lie within
    `bounds`: their ends are on a scale on which they stay there. The bound only `falls` as Γ grows,
    or only rises: an end that holds it at one Γ holds it at each from where it is less sure.
    """
    least, most = (end if np.isfinite(end) else None for end in bounds)
    low, high = around((value - known) / share, NORMAL * error / share, (least, most))
    turned = np.fmin.accumulate if falls else np.fmax.accumulate
    low, high = (turned(known + share * end) for end in (low, high))
    return np.fmin(low, value), np.fmax(high, value)


def turns_at(margin, most=MOST):
    """Breakdown value: the least Γ at which a conclusion no longer holds.

    `margin` callable: ``margin(gamma)``, above 0 where the conclusion holds whatever Γ allows;
    continuous, falling in Γ; `most` float: the largest Γ that is looked at. Returns float: 1 where
    it does not even hold at Γ = 1; infinite where it holds up to `most`.
    """
    if not margin(1.0) > 0:
        return 1.0
    if margin(most) > 0:
        return np.inf
    return float(np.exp(_crossing(lambda log: margin(float(np.exp(log))), 0.0, np.log(most))))


def joint_gamma(selection, outcome):
    """Γ that a hidden column makes by its two factors, ``((1 + sqrt(ab)) / (sqrt a + sqrt b))^2``.

    Labels are missing at random where the column is seen. Between two of its values the odds of
    having no label differ by the factor a = `selection`, those of the outcome by b = `outcome`, at
    most. If t of the rows of outcome 0 that have a label have the upper value and 1 - t the lower,
    the other three cells follow by the factors, and outcome and label have the odds ratio
    (1 - t + t a b) / ((1 - t + t a)(1 - t + t b)); it is largest where t / (1 - t) = 1 / sqrt(ab).
    Either factor without end gives the other one. Arrays or numbers from 1 up.
    """
    # Divided by the roots, so that no factor overflows.
    a, b = np.sqrt(np.asarray(selection, float)), np.sqrt(np.asarray(outcome, float))
    return np.square((1 / np.maximum(a, b) + np.minimum(a, b)) / (1 + np.minimum(a / b, b / a)))


def e_value(ratio):
    """E-value of a ratio of two rates, ``r + sqrt(r (r - 1))`` with r or 1/r, whichever is above 1.

    The least risk ratio by which a hidden column would have to go with the outcome as well as with
    having no label, beyond all columns, to make the two rates equal. Infinite where one rate is 0.
    """
    if not ratio > 0:
        return np.inf
    ratio = max(ratio, 1 / ratio)
    return float(ratio + np.sqrt(ratio * (ratio - 1)))


def e_values(estimate, low, high, reference, spread=None):
    """E-values of an estimate against a reference, and of the end of its interval that is nearer.

    Of rates; of means of numbers with the standard deviation `spread` of the outcome, whose
    difference in standard deviations d counts as the risk ratio exp(0.91 d). The second is 1 where
    the interval holds the reference.
    """
    if spread is not None:
        logs = [0.91 * (end - reference) / spread for end in (estimate, low, high)]
        # The E-value of a ratio is that of its inverse; none overflows.
        estimate, low, high = np.exp(np.clip(logs, -500, 500))
        reference = 1.0
    if low <= reference <= high:
        return e_value(estimate / reference) if reference > 0 else np.inf, 1.0
    nearer = low if low > reference else high
    return tuple(
        e_value(one / reference) if reference > 0 else np.inf for one in (estimate, nearer)
    )


def _crossing(falling, low, high, tol=1e-7):
    """Where a falling function, above 0 at `low` and not at `high`, is 0, to within `tol`.

    The secant is kept within the bracket, and the end that stays is halved (Illinois); SciPy's
    solvers would do, but to import them takes longer than all else that this serves.
    """
    above, below = falling(low), falling(high)
    middle = value = None
    while high - low > tol:
        middle = low + (high - low) * above / (above - below)
        middle = min(max(middle, low + tol / 2), high - tol / 2)
        last, value = value, falling(middle)
        if value > 0:
            low, above = middle, value
            below = below / 2 if last is not None and last > 0 else below
        else:
            high, below = middle, value
            above = above / 2 if last is not None and last <= 0 else above
    return (low + high) / 2


def turn_sentence(conclusion, gamma, most=MOST):
    """A conclusion with its breakdown value in plain words."""
    if not gamma > 1:
        return f"{conclusion}: this does not hold even at Γ = 1."
    if gamma >= most:
        return f"{conclusion}: this holds up to Γ = {most:g} (the largest looked at)."
    at = f"{gamma:.{1 if gamma >= 1.95 else 2}f}"
    return (
        f"{conclusion}: this holds as long as, at equal features, odds differ from what is assumed "
        f"by a factor below {at} (Γ = {at})."
    )


def _checked_gammas(gammas):
    gammas = as_numbers(gammas, "values of gamma")
    if not len(gammas) or not (np.isfinite(gammas) & (gammas >= 1)).all():
        raise CounterweightError(f"Γ is a number from 1 up, at each place; got {gammas}.")
    return gammas
