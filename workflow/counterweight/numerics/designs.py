"""Which labels to buy: chances of rows, who is drawn by coins, and what interval to expect.

Rows of a population have known chances, all above 0, to be bought. An answer that goes by these
chances needs no assumption about who had a label before, and none about the model that proposed
the chances: a bad model costs width, not truth.

A plan whose rows are bought in the order of coin over chance may stop anywhere. Its estimates then
go together as those of a growing sample do: the covariance of an early one and a later one is the
variance of the later one. So a few planned looks share out the chance of an error, and the interval
of each look holds whatever made one stop there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import as_numbers
from counterweight.numerics.coins import canonical_ids, person_uniforms
from counterweight.numerics.estimate import COUNTED, freedom_of, share_interval
from counterweight.numerics.linear import expit, logit
from counterweight.numerics.ranking import TAILS
from counterweight.numerics.sensitivity import SPAN

#: Ways to draw: each row by its own coin, or a number of rows that is fixed (up to one).
DESIGNS = ("poisson", "fixed")
#: How many times the variance of a sample by importance alone chances may cost by whose spread is
#: worth nothing: the floor is the least that keeps to it.
INSURED = 1.03
#: Expected number of draws of which more likely than not none comes: ``exp(-RARE) = 1/2``.
RARE = 0.6931
#: Labels that a model with a constant and a slope uses up where it is fitted to those bought.
PARAMETERS = 2
#: Expected surprises at which an interval is half way from that of so many counts to the plain one.
#: Of shares of 0.5 to 50 % 196 of 198 simulated means of those reached are then met within 15 %.
SURPRISES = 3
#: Predicted chances nearer to 0 or 1 than this count as this far, where their log odds are taken.
NEAREST = 1e-6
#: Least importance of a row where more than one measure is asked for, in parts of the mean: an AUC
#: and rates have rows that they do not go by, and which they are goes by predictions.
LEAST_MOVED = 0.3


class Drawn(NamedTuple):
    """Who is drawn.

    `mask` (n,) of bool; `order` (n,) of int, the place of each row in the plan, from 0, with those
    that are drawn first; `chances` (n,).
    """

    mask: np.ndarray
    order: np.ndarray
    chances: np.ndarray


def inclusion_chances(
    spread: ArrayLike,
    budget: float,
    *,
    cost: ArrayLike | None = None,
    floor: float | None = None,
    stratum: ArrayLike | None = None,
    importance: ArrayLike | None = None,
) -> np.ndarray:
    """Chances by which labels of a mean are best bought, mixed with uniform ones.

    Parameters
    ----------
    spread : array (n,)
        Standard deviation of each row's outcome about what is expected of it, from 0 up; of a
        class with the chance f it is ``(f (1 - f))^(1/2)``. Only ratios count.
    budget : float
        Expected number of labels; with `cost` what they cost together. A budget that pays for all
        rows gives each the chance 1.
    cost : array (n,), optional
        Of a label, above 0.
    floor : float, optional
        Share of the budget that is spent on chances by importance alone (all alike by default), so
        that no row's chance is below ``floor * budget / sum cost`` however wrong `spread` is. By
        default the least one for which spreads that are worth nothing cost no more than `INSURED`
        times the variance: 200 labels are then worth 194 of a simple sample at least.
    stratum : array (n,), optional
        Chances are then equal within a stratum: Neyman's allocation, with the root mean square of
        the spread and the mean cost of its rows.
    importance : array (n,), optional
        How much each row counts in what is asked, above 0, which is known for certain: such as one
        over the size of its group, where each group's mean is asked for.

    Returns
    -------
    numpy.ndarray (n,)
        ``min(1, t m)`` with m the mixture and t such that the expected cost is the budget.

    Raises
    ------
    CounterweightError
        For a spread below 0, a cost of 0 or less, a budget or a floor out of range, or no floor
        where some row has no spread: it would never be seen.

    References
    ----------
    Neyman (1934); Särndal, Swensson & Wretman (1992), section 12.2, for ``spread / cost^(1/2)``;
    Zrnic & Candès (2024), *Active statistical inference*, for the mixture.
    """
    spread = _numbers(spread, "spreads")
    ones = np.ones(len(spread))
    cost = ones if cost is None else _numbers(cost, "costs", len(spread))
    share = ones if importance is None else _numbers(importance, "importances", len(spread))
    if (spread < 0).any() or not (cost > 0).all() or not (share > 0).all():
        raise CounterweightError(
            f"{int((spread < 0).sum())} spreads are below 0, {int((cost <= 0).sum())} costs and "
            f"{int((share <= 0).sum())} importances are not above 0: give a standard deviation and "
            "a cost for each row."
        )
    if not (np.isfinite(budget) and budget > 0 and (floor is None or 0 <= floor <= 1)):
        raise CounterweightError(
            f"The budget is {budget} and the floor {floor}: give a budget above 0 and a floor from "
            "0 to 1."
        )
    own = cost
    if stratum is not None:
        spread, own = _within(spread**2, stratum) ** 0.5, _within(cost, stratum)
    best = share * spread / np.sqrt(own)
    if not best.any():
        best = share
    if floor == 0 and not best.all():
        raise CounterweightError(
            f"{int((best == 0).sum())} of {len(best)} rows have no spread and would never be "
            "bought: give a floor above 0."
        )
    plain, best = share / (cost @ share), best / (cost @ best)
    floor = _insured(plain, best, share, cost) if floor is None else floor
    return _filled(floor * plain + (1 - floor) * best, cost, budget)


def mixed(wanted, truth):
    """Spreads (N,) and importances for several measures, from the moves (N,) of each.

    A size is the root of the mean square of moves times spread, each in parts of all rows: the sum
    of variances, in parts of the least that each can be, is then least (Chromy 1987).
    """
    shares = [moves / moves.sum() for moves in wanted if moves.any()]
    sizes = [moves * truth / (moves @ truth) for moves in wanted if moves @ truth > 0]
    importance = np.sqrt(np.mean(np.square(shares), axis=0))
    # What moves nothing by what is foretold may do so: it would then be rare and heavy.
    importance = np.maximum(importance, LEAST_MOVED * importance.mean())
    size = np.sqrt(np.mean(np.square(sizes), axis=0)) if sizes else importance
    return size / importance, importance


def _insured(plain, best, share, cost):
    """The least floor at which chances by a worthless spread cost at most `INSURED`, to 1/1024.

    Where all spreads are alike the variance is ``sum share^2 / pi``, up to a factor; chances by
    importance alone are the measure.
    """
    most = INSURED * float(share**2 @ (1 / plain))
    low, high = 0.0, 1.0
    for _ in range(10):
        middle = (low + high) / 2
        kept = float(share**2 @ (1 / (middle * plain + (1 - middle) * best))) <= most
        low, high = (low, middle) if kept else (middle, high)
    return high


def _within(values, stratum):
    """The mean of each row's stratum."""
    place = np.unique(np.asarray(stratum).astype(str), return_inverse=True)[1]
    return (np.bincount(place, values) / np.bincount(place))[place]


def _filled(shape, cost, budget):
    """``min(1, t shape)`` of the expected cost `budget`: rows are capped from the largest on."""
    if budget >= cost.sum():
        return np.ones(len(shape))
    order = np.argsort(-shape, kind="stable")
    capped = np.concatenate([[0.0], np.cumsum(cost[order])])[:-1]
    rest = np.cumsum((cost * shape)[order][::-1])[::-1]
    factor = (budget - capped) / rest
    first = int(np.argmax(factor * shape[order] <= 1))
    return np.minimum(1.0, factor[first] * shape)


def keyed_uniforms(ids, key, purpose):
    """A coin of each row by its id, (n,); see `counterweight.numerics.coins`.

    `key` are bytes, or a key with a ``secret``; `purpose` says what the coins are for.
    """
    texts = canonical_ids(ids, people="rows")
    return person_uniforms(getattr(key, "secret", key), texts, purpose)[0]


def draw(
    chances: ArrayLike,
    coins: ArrayLike,
    *,
    design: str = "poisson",
    generator: np.random.Generator | None = None,
    stratum: ArrayLike | None = None,
) -> Drawn:
    """Draw rows with exactly the given chances.

    Parameters
    ----------
    chances : array (n,)
        From above 0 to 1.
    coins : array (n,) or None
        Uniform numbers, which stay with a row; None: those of `generator`.
    design : {"poisson", "fixed"}
        Of "poisson" each row is drawn whose coin is below its chance. Of "fixed" rows in the random
        order of their coins are laid end to end, each as long as its chance, and those are drawn
        in which a grid of step 1 ends: their number is the sum of the chances, up to one, within
        each stratum, too.
    stratum : array (n,), optional
        Of "fixed".

    Returns
    -------
    Drawn
        The order is that of coin over chance. Of "poisson" those who are drawn are its beginning,
        at any budget: a plan with a larger budget goes on where a smaller one ends, with chances of
        `inclusion_chances` from the same spread, and one that stops early has `stopped_chances`.
        Of "fixed" those who are drawn stand first.

    References
    ----------
    Ohlsson (1998), *J. Official Statistics* 14, for permanent random numbers; Hartley & Rao (1962),
    *Ann. Math. Statist.* 33, for systematic samples in random order.
    """
    chances = _checked_chances(chances)
    coins = generator.random(len(chances)) if coins is None else _numbers(coins, "coins")
    _known(design)
    ratio = coins / chances
    if design == "poisson":
        mask = coins < chances
    else:
        mask = _systematic(chances, coins, stratum)
        ratio = np.where(mask, ratio - 2 * ratio.max() - 1, ratio)
    order = np.empty(len(chances), int)
    order[np.argsort(ratio, kind="stable")] = np.arange(len(chances))
    return Drawn(mask, order, chances)


def _systematic(chances, coins, stratum):
    """Rows in which ``start + k`` ends, of rows laid end to end in the order of their coins.

    The start is the sum of the coins without its whole part: uniform, and not related to their
    order, since it is the same for any order of the same coins.
    """
    from math import fsum

    order = np.argsort(coins, kind="stable")
    if stratum is not None:
        place = np.unique(np.asarray(stratum).astype(str), return_inverse=True)[1]
        least = np.full(place.max() + 1, np.inf)
        np.minimum.at(least, place, coins)
        # Strata go by their least coin, so that what they are called decides nothing.
        order = order[np.argsort(least[place[order]], kind="stable")]
    return systematic(chances, order, fsum(coins) % 1.0)


def systematic(chances, order, start):
    """Mask of rows, laid end to end in `order`, within which a point ``start + k`` lies, (n,)."""
    ends = np.cumsum(np.asarray(chances, float)[order])
    # A sum that is whole but for rounding ends on its whole number.
    ends = np.where(np.abs(ends - np.round(ends)) < 1e-9, np.round(ends), ends)
    points = np.ceil(ends - start)
    mask = np.empty(len(ends), bool)
    mask[order] = np.diff(np.concatenate([[0.0], np.maximum(points, 0)])) > 0
    return mask


def stopped_chances(chances: ArrayLike, coins: ArrayLike, bought: ArrayLike) -> np.ndarray:
    """Chances of rows where a Poisson plan stops after some rows of its order, (n,).

    Given the coin over chance of the first row that is not bought, each other row was bought with
    the chance of a smaller one, one independently of the other; sums over 1 / chance stay right.

    `bought` is how many rows of the order have their label.

    References
    ----------
    Duffield, Lund & Thorup (2007), *J. ACM* 54; Cohen & Kaplan (2007), rank conditioning.
    """
    chances = _checked_chances(chances)
    if bought >= len(chances):
        return np.ones(len(chances))
    ratio = np.asarray(coins) / chances
    return np.minimum(1.0, np.partition(ratio, bought)[bought] * chances)


def fixed_parts(parts, pi, place):
    """Terms of Hájek's variance of values over chances, (m,), in strata of the numbers `place`."""
    free, rows = np.bincount(place, 1 - pi), np.bincount(place)
    with np.errstate(invalid="ignore", divide="ignore"):
        centre = np.where(free > 0, np.bincount(place, (1 - pi) * parts) / free, 0.0)
        lost = np.where(rows > 1, rows / (rows - 1), 1.0)
    # One row of a stratum shows no spread: it counts whole.
    centre = np.where(rows > 1, centre, 0.0)
    return lost[place] * (1 - pi) * (parts - centre[place]) ** 2


def expected_half_width(
    chances: ArrayLike,
    spread: ArrayLike,
    population: int | None = None,
    *,
    level: float = 0.95,
    parameters: int = PARAMETERS,
    binary: bool = True,
    moves: ArrayLike | None = None,
    beyond: bool = False,
    tails: ArrayLike | None = None,
) -> float:
    """Half the width of the interval of a mean that labels with these chances will give.

    ``t (sum (1 / pi - 1) (move spread)^2)^(1/2) / N``, with m labels expected, the number of
    parameters that are fitted to them paid by m / (m - parameters), and t with the degrees of
    freedom by the kurtosis that the answer will have. That is of labels as they mostly come: the
    largest contributions, of which more likely than not none is drawn, are left out of it, or a
    surprise that hardly ever comes would make each interval as wide as if it had; and m labels show
    none above m. Of a share with few surprises it goes by their count, as the answer's does.

    Parameters
    ----------
    chances, spread : array (n,)
        The spread in the units of the outcome, which may be another than the chances were made by:
        so it is seen what a wrong one costs.
    population : float, optional
        Rows that the mean is over; those without a chance here have a known outcome.
    parameters : int
    binary : bool
        Whether the outcome is a class: then its fourth moment is ``v (1 - 3 v)``, v being the
        square of the spread; else that of a normal variable, or by `tails`.
    moves : array (n,), optional
        How far a row's outcome moves what is asked, in parts of how far it moves a mean; 1 by
        default. Of another number than a mean, such as an AUC, it is its linearised variable.
    beyond : bool
        Whether the interval is also of outcomes that could have come out otherwise: ``1 / pi`` in
        the place of ``1 / pi - 1``.
    tails : array (K,), optional
        Of a number, `tails_of` the squares of what it is off what is foretold.
    """
    from scipy.special import stdtrit

    chances, spread = _checked_chances(chances), _numbers(spread, "spreads", len(chances))
    total, square = len(chances) if population is None else population, spread**2
    far = 1.0 if moves is None else np.asarray(moves, float) ** 2
    certain = 0.0 if beyond else chances
    variance = float(((1 - certain) / chances) @ (far * square))
    if not variance > 0:
        return 0.0
    rows = float(chances.sum())
    if rows <= parameters + 1:
        return float("nan")
    each = (1 - certain) * far / chances**2
    if binary:
        # Of a class either outcome, and how far it is from its chance.
        one = (1 + np.sqrt(np.maximum(1 - 4 * square, 0.0))) / 2
        each = each * np.maximum(4 * square, 1.0)  # a spread may be larger than a class has
        count = np.concatenate([chances * one, chances * (1 - one)])
        second = np.concatenate([each * (1 - one) ** 2, each * one**2])
        fourth = second**2
    elif tails is None:
        count, second, fourth = chances, each * square, 3 * (each * square) ** 2
    else:
        count = np.outer(np.diff(TAILS), chances).ravel()
        second = np.outer(tails, each * square).ravel()
        fourth = second**2
    kurtosis = min(_kurtosis(count, second, fourth), rows)
    error = np.sqrt(variance * rows / (rows - parameters))
    half = float(stdtrit(freedom_of(kurtosis, rows), 0.5 + level / 2)) * error
    if binary and moves is None:
        left = np.sqrt(variance / float(square @ (1 / chances)))
        half = _by_counts(half / len(chances), error / len(chances), chances, 1 - one, left, level)
        # What no label says cannot be more than all of the other rows.
        most = 0.5 if beyond else (1 - rows / len(chances)) / 2
        half = min(half, most) * len(chances)
    return half / total


def _by_counts(half, error, chances, surprise, left, level):
    """Half-width of a share by `half` of the plain interval and that of so many counts.

    `surprise` (n,) are chances of the less likely outcome of each row, `left` is which part of the
    error that labels have is left where some rows are asked for certain.
    """
    from scipy.special import pdtr

    rows, expected = float(chances.sum()), float(chances @ surprise)
    counted = np.ptp(share_interval(float(surprise.mean()), error, rows, level)) / 2
    if expected < RARE:
        return counted  # most likely all labels are alike
    # As far as fewer come than intervals of counts are told of.
    few, least = pdtr(COUNTED - 1, expected), min(half, counted)
    # The plain interval of very few is too narrow, and of none it is not told.
    none = np.exp(-expected)
    shared = none + (1 - none) * left * SURPRISES / (expected + SURPRISES)
    return half + few * (least - half + shared * (counted - least))


def _kurtosis(count, second, fourth):
    """Kurtosis of contributions without the largest, `RARE` of them; inf where none is left.

    `count` are expected numbers of each, `second` and `fourth` their moments.
    """
    level = float(second.max())
    while count @ (second >= level) < RARE and level > 0:
        level /= 4
    at = np.flatnonzero(second >= level)
    at = at[np.argsort(-second[at], kind="stable")]
    count = count.copy()
    count[at] = np.clip(np.cumsum(count[at]) - RARE, 0.0, count[at])
    spread = float(count @ second)
    return float(count.sum() * (count @ fourth)) / spread**2 if spread > 0 else np.inf


def half_widths(spread, budgets, population=None, *, truth=None, **options):
    """`expected_half_width` at each budget, (B,), with the chances that would be drawn by.

    `truth` is the spread that holds, where it is not the one that is planned by; options of
    `inclusion_chances` are those of it, all others of `expected_half_width`.
    """
    truth = spread if truth is None else truth
    names = ("cost", "floor", "stratum", "importance")
    asked = {name: options.pop(name) for name in names if name in options}
    return np.array(
        [
            expected_half_width(
                inclusion_chances(spread, budget, **asked), truth, population, **options
            )
            for budget in budgets
        ]
    )


def spans_of(chances, estimate, gamma=SPAN, level=0.95, beyond=False, moved=None, points=13):
    """Least and largest of `expected_half_width` over odds up to `gamma` times the estimates', at
    each of several chances (N,) to be bought, (B, 2).

    Of estimates that are right at such odds or tell nothing of single rows, which are surprises
    where rows seem sure. `moved` gives the moves (N,) of what is no mean, by chances (N,).
    """
    odds, found = logit(np.clip(estimate, NEAREST, 1 - NEAREST)), []
    for turned in np.linspace(-np.log(gamma), np.log(gamma), points):
        p, ends = expit(odds + turned), []
        for own in (p, np.full(len(p), p.mean())):
            told = {"level": level, "beyond": beyond, "moves": moved and moved(own)}
            spread = np.sqrt(own * (1 - own))
            ends.append([expected_half_width(one, spread, **told) for one in chances])
        found.append(ends)
    return np.column_stack([np.min(found, axis=(0, 1)), np.max(found, axis=(0, 1))])


def budget_for(
    half_width: float,
    spread: ArrayLike,
    population: int | None = None,
    *,
    cost: ArrayLike | None = None,
    whole: bool = True,
    **options: object,
) -> float:
    """The least budget whose expected half-width is at most `half_width`.

    Whole numbers of labels, or with `cost` a cost to a thousandth. The options are those of
    `half_widths`. A budget that pays for all rows is the answer where nothing less does.
    """
    if not half_width > 0:
        raise CounterweightError(f"The half-width is {half_width}: ask for one above 0.")
    most = float(len(spread)) if cost is None else float(np.sum(cost))

    def enough(budget):
        made = half_widths(spread, [budget], population, cost=cost, **options)[0]
        return made <= half_width

    return least_budget(enough, most, cost is None and whole)


def least_budget(enough, most, whole):
    """The least budget up to `most` of which `enough` is true, to one label or to a thousandth."""
    low, high = (0, int(most)) if whole else (0.0, most)
    while high - low > (1 if whole else 1e-3 * high):
        middle = (low + high) // 2 if whole else (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _numbers(values, what, rows=None):
    values = as_numbers(values, what)
    if values.ndim != 1 or not len(values) or (rows is not None and len(values) != rows):
        raise CounterweightError(
            f"There must be one number a row; the {what} have the shape {values.shape}"
            + (f" for {rows} rows." if rows is not None else ".")
        )
    if not np.isfinite(values).all():
        raise CounterweightError(
            f"{int((~np.isfinite(values)).sum())} of {len(values)} {what} are not finite (first: "
            f"row {int(np.flatnonzero(~np.isfinite(values))[0])}): correct them first."
        )
    return values


def _checked_chances(chances):
    chances = _numbers(chances, "chances")
    if not ((chances > 0) & (chances <= 1)).all():
        raise CounterweightError(
            f"{int((~((chances > 0) & (chances <= 1))).sum())} of {len(chances)} chances to be "
            "bought are not above 0 and at most 1: a row that is never bought is never known."
        )
    return chances


def _known(design):
    if design not in DESIGNS:
        raise CounterweightError(
            f"There is no design {design!r}; choose one of {', '.join(DESIGNS)}."
        )


#: Ways to share out the chance of an error over looks.
SPENDING = ("obrien_fleming", "pocock")
#: Points of the numerical integration between two bounds.
POINTS = 201


def information(chances, spread):
    """One over the variance that a mean is to have with these chances, up to a factor.

    Of no use alone: `look_levels` takes the ratios of several, so of the chances at each look.
    """
    chances = np.asarray(chances, float)
    variance = float((1 / chances - 1) @ np.asarray(spread, float) ** 2)
    return 1 / variance if variance > 0 else np.inf


def look_levels(
    informations: ArrayLike, level: float = 0.95, spending: str = "obrien_fleming"
) -> np.ndarray:
    """Levels of the intervals at K planned looks that hold all at once with the chance `level`.

    Parameters
    ----------
    informations : array (K,)
        Of each look, ascending, up to a common factor: numbers of labels where few rows of many are
        bought, else `information`. The last look spends what is left.
    level : float
    spending : {"obrien_fleming", "pocock"}
        How much of the chance of an error is spent up to the share t of the information: ``4 - 4
        Phi(z / t^(1/2))``, z being the quantile of ``1 - alpha / 4``, hardly any of it early; or
        ``alpha log(1 + (e - 1) t)``, about alike.

    Returns
    -------
    numpy.ndarray (K,)
        To be given as ``level`` to the interval of that look. For five looks alike and 95 % their
        normal quantiles are 4.88, 3.36, 2.68, 2.29 and 2.03.

    References
    ----------
    Lan & DeMets (1983), *Biometrika* 70; Jennison & Turnbull (2000), *Group Sequential Methods*,
    chapters 7, 9 (repeated confidence intervals) and 19 (the integration).
    """
    from scipy.special import ndtr

    return 2 * ndtr(look_quantiles(informations, level, spending)) - 1


def look_quantiles(informations, level=0.95, spending="obrien_fleming"):
    """Quantiles z (K,) such that all estimates are within z standard errors at once, K looks.

    The density of the sums that have stayed within is carried from look to look by Gauss-Legendre
    integration; each bound is found by bisection. For the arguments see `look_levels`.
    """
    from scipy.special import ndtr, ndtri

    at = np.asarray(informations, float)
    if at.ndim != 1 or not len(at) or not (np.diff(at) > 0).all() or not at[0] > 0:
        raise CounterweightError(
            "Looks are planned at more and more information, from above 0: give ascending numbers, "
            f"not {at.tolist()}."
        )
    if spending not in SPENDING:
        raise CounterweightError(f"There is no spending {spending!r}; choose one of {SPENDING}.")
    share, alpha = at / at[-1], 1 - level
    if spending == "obrien_fleming":
        spent = 4 * ndtr(ndtri(alpha / 4) / np.sqrt(share))
    else:
        spent = alpha * np.log1p((np.e - 1) * share)
    quantiles, before = np.empty(len(at)), 0.0
    nodes, weights = np.polynomial.legendre.leggauss(POINTS)
    points, mass, time = np.zeros(1), np.ones(1), 0.0
    for k, (now, total) in enumerate(zip(share, spent, strict=True)):
        deviation, tail = np.sqrt(now - time), total - before

        def beyond(bound, points=points, mass=mass, deviation=deviation):
            upper, lower = (points - bound) / deviation, (-bound - points) / deviation
            return mass @ (ndtr(upper) + ndtr(lower))

        low, high = 0.0, 40.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if beyond(middle) > tail else (low, middle)
        bound = (low + high) / 2
        quantiles[k] = bound / np.sqrt(now)
        new = nodes * bound
        away = (new[:, None] - points) / deviation
        density = np.exp(-(away**2) / 2) @ mass / (np.sqrt(2 * np.pi) * deviation)
        points, mass, time, before = new, weights * bound * density, now, total
    return quantiles


def anytime_interval(
    outcome: ArrayLike,
    chances: ArrayLike,
    coins: ArrayLike,
    count: int,
    predicted: ArrayLike | None = None,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of a mean that may be looked at after every label, without an approximation.

    Rows are bought in the order of coin over chance, "poisson" of
    `counterweight.numerics.designs.draw`. Given what is bought before and the coin over chance t at
    which the next label comes, it is that of row i with the chance ``q_i`` proportional to ``pi_i /
    (1 - t pi_i)`` among rows that are left. So ``x = (sum of labels bought + sum of f over rows
    left + (y_i - f_i) / q_i) / N`` has the mean outcome as its mean, whatever came before:
    differences of a martingale, which are bounded since outcomes are. The interval holds the mean
    at all times at once by the empirical Bernstein inequality; it is that of all looks so far, cut.

    Parameters
    ----------
    outcome : array (N,)
        Those of the first `count` rows of the order are looked at.
    chances, coins : array (N,)
    count : int
        Labels that are there.
    predicted : array (N,), optional
        Half of the bounds by default; it may not come from the labels bought.
    bounds : (float, float)
        Between which outcomes lie.
    level : float

    Returns
    -------
    low, high : float

    References
    ----------
    Waudby-Smith & Ramdas (2024), *JRSS B* 86, Theorem 2 and section 5 (sampling without
    replacement); Fan, Grama & Liu (2015), *Electron. J. Probab.* 20, for steps that have bounds of
    their own; Waudby-Smith, Stark & Ramdas (2021), *RiLACS*, for unequal chances.
    """
    bottom, top = bounds
    if not (np.isfinite(bottom) and np.isfinite(top) and bottom < top):
        raise CounterweightError(f"Outcomes need bounds for such an interval, not {bounds}.")
    pi, coins = np.asarray(chances, float), np.asarray(coins, float)
    rows, ratio = len(pi), coins / pi
    f = np.full(rows, (bottom + top) / 2) if predicted is None else np.asarray(predicted, float)
    order = np.argsort(ratio, kind="stable")
    # By the order: rows that are left are a tail.
    pi, f, time = pi[order], np.clip(f[order], bottom, top), ratio[order][:count]
    y = np.asarray(outcome, float)[order[:count]]
    if not ((y >= bottom) & (y <= top)).all():
        raise CounterweightError(f"Of the labels bought some are not within {bounds}, or missing.")
    known = np.concatenate([[0.0], np.cumsum(y)])
    expected = np.concatenate([[0.0], np.cumsum(f[::-1])])[::-1]
    target = np.log(2 / (1 - level))
    mean, spread, steps = (bottom + top) / 2, ((top - bottom) / 2) ** 2, 1.0
    squares, sums, total, paid = spread, mean, 0.0, 0.0
    centre, low, high = 0.0, bottom, top
    for k in range(count):
        left = pi[k:] / (1 - time[k] * pi[k:])
        scale = left.sum() / rows / left
        base = (known[k] + expected[k]) / rows
        x = base + (y[k] - f[k]) * scale[0]
        most = base + float(np.max((top - f[k:]) * scale)) - mean
        least = base + float(np.min((bottom - f[k:]) * scale)) - mean
        bound = max(abs(most), abs(least), 1e-300)
        bet = np.sqrt(2 * target / (squares / steps * (k + 1) * np.log(k + 2)))
        bet = min(bet, 0.5 / bound)
        part = bet * bound
        paid += ((x - mean) / bound) ** 2 * (-np.log1p(-part) - part)
        total, centre = total + bet, centre + bet * x
        half = (target + paid) / total
        low, high = max(low, centre / total - half), min(high, centre / total + half)
        squares += (x - mean) ** 2
        sums, steps = sums + x, steps + 1
        mean = min(max(sums / steps, bottom), top)
        # What is bought and what is left bound the mean for certain.
        rest = rows - k - 1
        low = max(low, (known[k + 1] + rest * bottom) / rows)
        high = min(high, (known[k + 1] + rest * top) / rows)
    return float(low), float(max(low, high))
