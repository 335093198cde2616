"""Intervals that may be looked at while labels come in: at planned looks, or after every label.

A plan whose rows are bought in the order of coin over chance may stop anywhere. Its estimates then
go together as those of a growing sample do: the covariance of an early one and a later one is the
variance of the later one. So a few planned looks share out the chance of an error, and the interval
of each look holds whatever made one stop there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError

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
