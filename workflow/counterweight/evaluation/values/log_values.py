"""Values of several policies from one log, each beside the policy that made it.

Row i holds the reward r of the logged action, its propensity p, the probability t_j that policy j
gives to that action, and k = weight / keep rate (the keep rate only where the reward is 0): how
many rows it stands for. With w_j = t_j / p,

- the logging policy is worth ``sum k r / sum k``,
- policy j by IPS ``sum k w_j r / sum k`` and by SNIPS ``sum k w_j r / sum k w_j``,
- with a reward model, q of the logged action and v, the policy's mean, that other rows told, it is
  worth ``sum k (v + w_j (r - q)) / sum k`` (doubly robust), or self-normalised
  ``sum k v / sum k + sum k w_j (r - q) / sum k w_j``,
- and its weights average ``sum k w_j / sum k``, which is 1 in expectation where the propensities
  are right and the policy takes no action that the log never took.

All of these are ratios of sums of a few columns, and so are their differences up to first order:
the influence of a row is linear in its columns, see `counterweight.numerics.log_sums`.
Where rows belong to clusters (users), these are the independent draws.

References
----------
Swaminathan, A. & Joachims, T. (2015). The self-normalized estimator for counterfactual learning.
NeurIPS. Dudik, M., Langford, J. & Li, L. (2011). Doubly robust policy evaluation and learning.
ICML. Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings. Cochran, W. G. (1977).
Sampling Techniques, sections 6.4 and 9A.2 (clusters).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from counterweight.evaluation.values.value_sums import (
    anytime_interval,
    gamma_interval,
    told_of,
    value_interval,
)
from counterweight.numerics.estimate import mean_interval
from counterweight.numerics.log_sums import begun, rewards_of

#: Estimators of a policy's value.
ESTIMATORS = ("snips", "ips")
#: Those that need a reward model: doubly robust, and self-normalised so.
MODELLED = ("sndr", "dr")
#: IPS with limited weights; the bias that this can make is in its intervals.
LIMITED = "limited"
#: Estimators that need rows of reward 0.
_WHOLE = ("snips", *MODELLED)
#: Name of the policy that made the log.
LOGGED = ""
#: Below this many effective rewards the normal theory of an interval is not to be relied on.
FEW = 20
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

    ``rows`` are those of the log, ``clusters`` about how many users they are of, 0 where every row
    stands for itself; ``rows_agreed`` those whose action the policy may take, ``rows_rewarded``
    those of them with a reward. ``effective_rows`` are ``(sum u)^2 / sum u^2``, u the weights ``k
    w`` of SNIPS, or the terms ``k w |r|`` of IPS; ``largest_share`` is that of one row in ``sum
    u``, ``largest_weight`` the largest w. ``mean_weight`` is ``sum k w / sum k``, 1 where all is
    right, and ``thin_share`` the share of ``sum k w`` in rows whose propensity is below the option
    `thin`. ``flag`` is ``good``, ``thin`` (few rows carry the value), ``outside`` (the policy does
    what the log does not show) or ``doubtful`` (weights average more than 1, which right
    propensities do not).
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


@dataclass(frozen=True)
class LogValues:
    """What a log says of its policies.

    ``logged`` is the value of the policy that made the log, ``values`` and ``support`` go by policy
    and estimator, ``differences`` (paired, policy minus other; the other may be `LOGGED`) by
    policy, other and estimator, ``lifts`` (``value / value of the logging policy - 1``, paired) by
    policy and estimator, ``lost`` (mean of what weights lost where they are limited) by policy. Of
    the ``estimators`` the first is the one that answers go by: SNIPS, or IPS where rows of reward 0
    were kept at a rate below 1, since the few that are left make the sum of weights uncertain, and
    IPS needs them for their number only. ``effective_rows`` are of the weights k.
    """

    logged: Ratio
    values: dict
    differences: dict
    lifts: dict
    lost: dict
    support: dict
    estimators: tuple
    rows: int
    nonzero: int
    effective_rows: float


def log_values(
    batches,
    policies,
    *,
    clusters=0,
    reward_range=None,
    level=0.95,
    thin=0.01,
    rows_before=0,
    anytime=0,
    limit="none",
    limit_at=10.0,
    modelled=False,
):
    """Values of policies, their differences and their support.

    Parameters
    ----------
    batches : callable
        ``batches()`` gives the log from its start, as dicts of arrays (n,) by ``reward,
        propensity, keep_rate, weight`` and ``cluster``, and ``p``, an array (n, policies). It is
        called once, or twice where policies are so many that their columns are more than
        `log_sums.MOST_COLUMNS`. All values are checked.
    policies : list of str
    clusters : int
        Number of clusters, numbered from 0; 0 where every row stands for itself.
    reward_range : (float or None, float or None), optional
        Least and largest reward that can occur; None for 0 (or the least one of the log, if that
        is less) and for the largest one.
    level, thin : float
        Coverage; propensity below which support is thin.
    rows_before : int
        Number of rows before any of reward 0 was dropped, where it is known, else 0. The logging
        policy and IPS are then divided by it. It is not uncertain, so their intervals are shorter.
        Where all rows of reward 0 were dropped only IPS is told, and no mean weight.
    anytime : int
        Rows (clusters) about which intervals are to be narrowest that may be looked at after every
        row; 0 for intervals that are looked at once.
    limit, limit_at
        See ``log_sums.limited_weights``; ``none`` leaves the estimator `LIMITED` out.
    modelled : bool
        Whether batches have ``q`` and ``v``, arrays (n, policies) of a reward model that was fitted
        on other rows; the estimators `MODELLED` are then told, too. Errors take it as given.

    Returns
    -------
    LogValues
    """
    sums = begun(
        len(policies), clusters, thin=thin, limit=limit, limit_at=limit_at, modelled=modelled
    )
    for batch in batches():
        sums.add(batch)
    options = {"reward_range": reward_range, "level": level}
    options |= {"rows_before": rows_before, "anytime": anytime}
    return values_of_sums(sums, policies, batches, **options)


def values_of_sums(
    sums, policies, batches=None, *, reward_range=None, level=0.95, rows_before=0, anytime=0
):
    """`LogValues` of sums (`begun`) over all rows of a log; parameters as of `log_values`."""
    columns, totals = sums.columns, sums.totals.copy()
    clusters = 0 if sums.groups is None else len(sums.groups[0])
    names = ESTIMATORS if columns.cut is None else (*ESTIMATORS, LIMITED)
    names += () if columns.modelled is None else MODELLED
    low, high = reward_range or (None, None)
    bounds = sums.least if low is None else low, sums.most if high is None else high
    alone = bool(rows_before) and sums.rows == sums.nonzero < rows_before
    asked = _asked(policies, names, columns)
    counted = rows_before if alone or sums.subsampled else 0
    matrix, parts = _influence(asked, totals, counted, columns.modelled)
    moments = sums.moments(matrix, batches)

    def few(key):
        own = key[0] == "value" and key[-1] in ("mean", *ESTIMATORS) and bounds[0] >= 0
        return own and sums.effective(rewards_of(key, policies)) < FEW

    made = {}
    for number, key in enumerate(asked):
        one = _ratio(number, key, parts, totals, moments, bounds, level)
        if anytime:
            one = _sequence(one, key, moments.count, anytime, level, bounds)
        elif few(key):
            bottom = parts[key][0][3]
            total = counted if counted and bottom == 0 else totals[bottom]
            one = _of_few(one, sums.draws(key, policies), bounds[1], total, level)
        gone = alone and (key[0] == "weight" or key[-1] in _WHOLE)
        made[key] = Ratio(*[math.nan] * 4) if gone else one
    lost = {key[1]: one for key, one in made.items() if key[0] == "lost"}
    made = _with_bias(made, {name: _bias_range(one, bounds) for name, one in lost.items()}, bounds)

    def told(kind):
        own = ((key, one) for key, one in made.items() if key[0] == kind and key[1])
        return {key[1:]: one for key, one in own if not (alone and key[-1] in _WHOLE)}

    users = users_behind(moments.count, clusters)
    return LogValues(
        logged=made["value", LOGGED, "mean"],
        values=told("value"),
        differences=told("difference"),
        lifts=told("lift"),
        lost=lost,
        support={
            (name, key): _support(sums, place, key, made["weight", name], users)
            for place, name in enumerate(policies)
            for key in names
        },
        estimators=_ordered(names, alone, sums.subsampled),
        rows=sums.rows,
        nonzero=sums.nonzero,
        effective_rows=sums.effective(0),
    )


def _ordered(names, alone, subsampled):
    """Estimators that exist, the one that answers go by first."""
    first = ("ips",) if alone else ESTIMATORS[::-1] if subsampled else ESTIMATORS
    return (*first, *(name for name in names[len(ESTIMATORS) :] if not (alone and name in _WHOLE)))


def users_behind(filled, clusters):
    """Users behind clusters that were filled by a hash (linear counting, Whang et al. 1990)."""
    if not 0 < filled < clusters:
        return filled if clusters else 0
    return round(-clusters * math.log1p(-filled / clusters))


def _asked(policies, names, columns):
    """What is estimated: a dict of keys to its parts ``(sign, numerator, denominator)``."""
    asked = {("value", LOGGED, "mean"): [(1, 1, 0)]}
    own = {}
    for place, name in enumerate(policies):
        weight = 2 + 2 * place
        own[name] = {"snips": [(1, weight + 1, weight)], "ips": [(1, weight + 1, 0)]}
        if columns.modelled:
            mean, rest = columns.modelled + 2 * place, columns.modelled + 2 * place + 1
            own[name]["dr"] = [(1, mean, 0), (1, rest, 0)]
            own[name]["sndr"] = [(1, mean, 0), (1, rest, weight)]
        if columns.limited:
            less = columns.limited + 2 * place
            own[name][LIMITED] = [(1, less, 0)]
            asked["lost", name] = [(1, less + 1, 0)]
        asked |= {("value", name, key): own[name][key] for key in names}
        asked["weight", name] = [(1, weight, 0)]
        for key in names:
            mine = own[name][key]
            asked["difference", name, LOGGED, key] = [*mine, (-1, 1, 0)]
            asked["lift", name, key] = [*mine, (-1, 1, 0)]
            for other in policies[:place]:
                theirs = [(-sign, *ratio) for sign, *ratio in own[other][key]]
                asked["difference", name, other, key] = [*mine, *theirs]
    return asked


def _influence(asked, totals, counted=0, modelled=None):
    """The influence of a row on each estimate is ``columns @ matrix``; parts with their own.

    `counted` is the number of rows before any was dropped, 0 where it is not known: means over all
    rows are divided by it, and it has no part in the influence; those of a reward model (columns
    from `modelled` on) go by the rows at hand, zeros among them. Of a lift V / L - 1 the signs are
    those of its first order, 1 / L and -V / L^2. Parts are, by key, lists of (sign, value,
    numerator, denominator, array (columns,)).
    """
    parts = {}
    for key, ratios in asked.items():
        parts[key] = []
        for sign, top, bottom in ratios:
            known = counted and bottom == 0 and key[0] not in ("weight", "lost")
            known = known and (modelled is None or top < modelled)
            total = counted if known else totals[bottom]
            value = totals[top] / total if total > 0 else math.nan
            own = np.zeros(len(totals))
            if total > 0:
                own[top] += 1 / total
                if not known:
                    own[bottom] -= value / total
            parts[key].append((sign, value, top, bottom, own))
        if key[0] == "lift":
            *own, (_, base, *other) = parts[key]
            mine = sum(value for _, value, *_ in own)
            near = (1 / base, -mine / base**2) if base else (math.nan, math.nan)
            parts[key] = [*((near[0], *one) for _, *one in own), (near[1], base, *other)]
    matrix = [sum(sign * own for sign, *_, own in ratios) for ratios in parts.values()]
    return np.stack(matrix, axis=1), parts


def _ratio(number, key, parts, totals, moments, bounds, level):
    """An estimate with its interval.

    The error of each ratio moves the variance that is estimated for their difference; how far is
    the part of that error which goes with the difference.
    """
    value = float(sum(sign * own for sign, own, *_ in parts[key]))
    if key[0] == "lift":
        *own, (_, base, *_) = parts[key]
        value = sum(mine for _, mine, *_ in own) / base - 1 if base else math.nan
    second, third, fourth, cross = moments.of(number)
    pull = 0.0
    for sign, _, _, bottom, own in parts[key]:
        if second > 0:
            pull += sign * (own @ cross) / second * cross[bottom] / totals[bottom]
    told, rows = told_of(value, moments.count, second, third, fourth, pull), moments.count
    if math.isnan(value):
        low = high = math.nan
    elif key[0] == "value":
        low, high = value_interval(told, rows, level, bounds, weighted=key[2] in ("snips", "mean"))
    else:
        low, high = mean_interval(
            value,
            told["standard_error"],
            told["skewness"],
            rows,
            level,
            (0.0, None) if key[0] in ("weight", "lost") else None,
            pull=told["pull"],
            kurtosis=told["kurtosis"],
        )
    return Ratio(value, told["standard_error"], float(low), float(high))


def _bias_range(lost, bounds):
    """Least and largest of what limited weights leave out of a value.

    It is the mean of (w - w') r, between the mean of w - w' (`lost`) times the least reward and
    times the largest one; the ends of the interval of that mean are taken.
    """
    low, high = max(lost.low, 0.0), max(lost.high, 0.0)
    low, high = (max(lost.value, 0.0),) * 2 if np.isnan([low, high]).any() else (low, high)
    return min(low * bounds[0], high * bounds[0]), max(low * bounds[1], high * bounds[1])


def _with_bias(made, biases, bounds):
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


def _support(sums, place, estimator, mean_weight, clusters):
    """The `Support` of one policy."""
    weight, rewarded = 2 + 2 * place, estimator in ("ips", LIMITED)
    column = weight + 1 if rewarded else weight
    if estimator == LIMITED:
        column = sums.columns.limited + 2 * place
    known = sums.carried(place, column)
    flag = _flag(mean_weight, known, FEW_REWARDS if rewarded else FEW_ROWS)
    return Support(clusters=clusters, mean_weight=mean_weight, flag=flag, **known)


def _flag(mean_weight, known, few):
    gap = mean_weight.value - 1
    if abs(gap) > max(OFF, FAR * mean_weight.standard_error) and not (
        mean_weight.low <= 1 <= mean_weight.high
    ):
        return "doubtful" if gap > 0 else "outside"
    thin = known["effective_rows"] < few or known["rows_rewarded"] < FEW_REWARDS
    return "thin" if thin or known["largest_share"] > LARGE_SHARE else "good"


def _of_few(one, draws, most, total, level):
    """The interval of a value that rests on few rewards; the sum of weights is taken as known."""
    second, weight = draws
    if not (total > 0 and one.value >= 0):
        return one
    low, high = gamma_interval(one.value, second, weight * most, total, level)
    return replace(one, low=low, high=min(high, most))


def _sequence(one, key, draws, at, level, bounds):
    """The interval of an estimate that may be looked at after every row."""
    low, high = anytime_interval(one.value, one.standard_error, draws, at, level)
    if key[0] == "value":
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return replace(one, low=low, high=high)
