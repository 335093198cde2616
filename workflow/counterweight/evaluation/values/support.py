"""What the value of a policy rests on, and whether that is enough."""

from dataclasses import dataclass, replace

import numpy as np

#: Below these the support is called thin: effective rows of SNIPS, those of IPS and rows with a
#: reward that the policy may have taken; and above this: share of one row in the whole sum.
FEW_ROWS, FEW_REWARDS, LARGE_SHARE = 100, 30, 0.1
#: How far weights may average from 1 before it is told: absolutely, and in standard errors, which
#: chance exceeds in one log of a thousand.
OFF, FAR = 0.02, 3.3


@dataclass(frozen=True)
class Ratio:
    """A value, its standard error and its interval."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Support:
    """What an estimate of the value of a policy rests on.

    Attributes
    ----------
    rows, clusters : int
        Of the log; of clusters about how many users they are made of, 0 where every row stands
        for itself.
    rows_agreed, rows_rewarded : int
        Rows whose action the policy may take, and those of them with a reward.
    effective_rows : float
        ``(sum u)^2 / sum u^2``, u the weights ``k w`` of SNIPS, or the terms ``k w |r|`` of IPS.
    largest_weight, largest_share : float
        Largest w; largest share of one row in ``sum u``.
    mean_weight : Ratio
        ``sum k w / sum k``, 1 where all is right.
    thin_share : float
        Share of ``sum k w`` in rows whose propensity is below the option `thin`.
    flag : str
        ``good``, ``thin`` (few rows carry the value), ``outside`` (the policy does what the log
        does not show) or ``doubtful`` (weights average more than 1, which right propensities
        do not).
    """

    rows: int
    clusters: int
    rows_agreed: int
    rows_rewarded: int
    effective_rows: float
    largest_weight: float
    largest_share: float
    mean_weight: Ratio
    thin_share: float
    flag: str


#: IPS with limited weights; the bias that this can make is in its intervals.
LIMITED = "limited"
#: Name of the policy that made the log.
LOGGED = ""


def limited_weights(weight, limit, at):
    """Weights that no longer let a few rows carry everything.

    Parameters
    ----------
    weight : array
    limit : str
        clip: min(w, t); switch: w up to t and 0 above; shrink: t w / (w^2 + t) (Su, Dimakopoulou,
        Krishnamurthy & Dudik 2020).
    at : float
        t, above 0.
    """
    if limit == "clip":
        return np.minimum(weight, at)
    if limit == "switch":
        return np.where(weight <= at, weight, 0.0)
    return at * weight / (weight * weight + at)


def bias_range(lost, bounds):
    """Least and largest of what limited weights leave out of a value.

    It is the mean of (w - w') r, between the mean of w - w' times the least reward and times the
    largest one; the ends of the interval of that mean are taken.

    Parameters
    ----------
    lost : Ratio
        Mean of w - w'.
    bounds : (float, float)
        Least and largest reward.
    """
    low, high = max(lost.low, 0.0), max(lost.high, 0.0)
    low, high = (max(lost.value, 0.0),) * 2 if np.isnan([low, high]).any() else (low, high)
    return min(low * bounds[0], high * bounds[0]), max(low * bounds[1], high * bounds[1])


def with_bias(made, biases, bounds):
    """Estimates with limited weights, their intervals as far apart as the bias can be."""
    base = made["value", LOGGED, "mean"].value
    for key, one in made.items():
        if key[-1] != LIMITED:
            continue
        below, above = biases[key[1]]
        if key[0] == "difference" and key[2] != LOGGED:
            other = biases[key[2]]
            below, above = below - other[1], above - other[0]
        if key[0] == "lift":
            below, above = (below / base, above / base) if base > 0 else (np.nan, np.nan)
        made[key] = replace(one, low=one.low + below, high=one.high + above)
        if key[0] == "value":
            ends = max(made[key].low, bounds[0]), min(made[key].high, bounds[1])
            made[key] = replace(made[key], low=ends[0], high=ends[1])
    return made


def support_flag(mean_weight, known, few):
    """Flag of `Support`, from the mean weight and what else is known."""
    gap = mean_weight.value - 1
    if abs(gap) > max(OFF, FAR * mean_weight.standard_error) and not (
        mean_weight.low <= 1 <= mean_weight.high
    ):
        return "doubtful" if gap > 0 else "outside"
    thin = known["effective_rows"] < few or known["rows_rewarded"] < FEW_REWARDS
    return "thin" if thin or known["largest_share"] > LARGE_SHARE else "good"
