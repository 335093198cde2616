"""Intervals of values that few rewards carry, and of logs that are looked at as they grow."""

import math
from dataclasses import replace

#: Below this many effective rewards the normal theory of an interval is not to be relied on.
FEW = 20


def gamma_interval(value, second, largest, total, level=0.95):
    """Interval of a weighted sum of rare rewards, over a total (Fay & Feuer 1997).

    Each kind of reward is taken for a Poisson count, as rare rewards of independent rows are; the
    weighted sum of counts is compared with a gamma variable of the same mean and variance, the
    upper end with one more reward of the largest weight. With six rewards that count alike it is
    the exact interval of a Poisson count, and its coverage is at least nominal.

    Parameters
    ----------
    value : float
        ``sum x / total``, not negative.
    second : float
        ``sum x^2`` over the independent draws.
    largest : float
        Largest x that a draw can have.
    total : float
    level : float

    Returns
    -------
    low, high : float

    References
    ----------
    Fay, M. & Feuer, E. (1997). Confidence intervals for directly standardized rates: a method
    based on the gamma distribution. Statistics in Medicine 16.
    """
    from scipy.special import chdtri

    tail = (1 - level) / 2
    sum_, low = value * total, 0.0
    if sum_ > 0 and second > 0:
        low = second / (2 * sum_) * chdtri(2 * sum_**2 / second, 1 - tail) / total
    more, spread = sum_ + largest, second + largest**2
    high = spread / (2 * more) * chdtri(2 * more**2 / spread, tail) / total
    return float(low), float(high)


def anytime_interval(value, standard_error, draws, at, level=0.95):
    """An interval that may be looked at after every row: an asymptotic confidence sequence.

    All intervals of a growing log hold the value at once with the given chance, up to the normal
    approximation of sums; it is narrowest about `at` draws, and wider than one that is looked at
    once by some two thirds there.

    Parameters
    ----------
    value, standard_error : float
    draws : int
        Independent rows, or clusters.
    at : int
        Number of draws at which it is to be narrowest.
    level : float

    Returns
    -------
    low, high : float

    References
    ----------
    Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. & Ramdas, A. (2024). Time-uniform central
    limit theory and asymptotic confidence sequences. Annals of Statistics 52, Theorem 2.2.
    """
    alpha = 1 - level
    scale = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / at
    inner = draws * scale + 1
    half = standard_error * math.sqrt(
        2 * inner / (draws * scale) * math.log(math.sqrt(inner) / alpha)
    )
    return value - half, value + half


def of_few(one, draws, most, total, level):
    """The interval of a value that rests on few rewards; the sum of weights is taken as known."""
    second, weight = draws
    if not (total > 0 and one.value >= 0):
        return one
    low, high = gamma_interval(one.value, second, weight * most, total, level)
    return replace(one, low=low, high=min(high, most))


def sequence(one, key, draws, at, level, bounds):
    """The interval of an estimate that may be looked at after every row."""
    low, high = anytime_interval(one.value, one.standard_error, draws, at, level)
    if key[0] == "value":
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return replace(one, low=low, high=high)
