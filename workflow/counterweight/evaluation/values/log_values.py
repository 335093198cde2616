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
the influence of a row is linear in its columns. A first pass makes the sums, a second one the
moments of the influence; where rows belong to clusters (users), the columns are summed by cluster
in the first pass, and the clusters are the independent draws.

References
----------
Swaminathan, A. & Joachims, T. (2015). The self-normalized estimator for counterfactual learning.
NeurIPS. Dudik, M., Langford, J. & Li, L. (2011). Doubly robust policy evaluation and learning.
ICML. Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings. Cochran, W. G. (1977).
Sampling Techniques, sections 6.4 and 9A.2 (clusters).
"""

import math
from dataclasses import dataclass

import numpy as np

from counterweight.evaluation.values.log_sums import LogSums, Moments, ProductMoments, columns_of
from counterweight.evaluation.values.sums import of_few, sequence, value_interval
from counterweight.evaluation.values.support import LIMITED, LOGGED, Ratio, bias_range, with_bias
from counterweight.numerics.estimate import mean_interval, shape_of

#: Estimators of a policy's value.
ESTIMATORS = ("snips", "ips")
#: Those that need a reward model: doubly robust, and self-normalised so.
MODELLED = ("sndr", "dr")


@dataclass(frozen=True)
class LogValues:
    """What a log says of its policies.

    Attributes
    ----------
    logged : Ratio
        The policy that made the log.
    values : dict of (policy, estimator) to Ratio
    differences : dict of (policy, other, estimator) to Ratio
        Paired, policy minus other; the other may be `LOGGED`.
    lifts : dict of (policy, estimator) to Ratio
        ``value / value of the logging policy - 1``, paired.
    lost : dict of policy to Ratio
        Mean of what weights lost where they are limited.
    support : dict of (policy, estimator) to Support
    estimators : tuple of str
        The one that answers go by first: SNIPS, or IPS where rows of reward 0 were kept at a rate
        below 1, since the few that are left make the sum of weights uncertain, and IPS needs them
        for their number only.
    rows, nonzero : int
    effective_rows : float
        Of the weights k.
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
        called twice where rows stand for themselves, else once. All values are checked.
    policies : list of str
    clusters : int
        Number of clusters, numbered from 0; 0 where every row stands for itself.
    reward_range : (float or None, float or None), optional
        Least and largest reward that can occur; None for 0 (or the least one of the log, if that
        is less) and for the largest one.
    level : float
    thin : float
        Propensity below which support is thin.
    rows_before : int
        Number of rows before any of reward 0 was dropped, where it is known, else 0. The logging
        policy and IPS are then divided by it. It is not uncertain, so their intervals are shorter.
        Where all rows of reward 0 were dropped only IPS is told, and no mean weight.
    anytime : int
        Rows (clusters) about which intervals are to be narrowest that may be looked at after every
        row; 0 for intervals that are looked at once.
    limit, limit_at
        See `support.limited_weights`; ``none`` leaves the estimator `LIMITED` out.
    modelled : bool
        Whether batches have ``q`` and ``v``, arrays (n, policies) of a reward model that was fitted
        on other rows; the estimators `MODELLED` are then told, too. Errors take it as given.

    Returns
    -------
    LogValues
    """
    sums = begun(policies, clusters, thin=thin, limit=limit, limit_at=limit_at, modelled=modelled)
    for batch in batches():
        sums.add(batch)
    return values_of_sums(
        sums,
        policies,
        batches,
        reward_range=reward_range,
        level=level,
        rows_before=rows_before,
        anytime=anytime,
    )


def begun(
    policies, clusters, *, thin=0.01, limit="none", limit_at=10.0, products=False, modelled=False
):
    """`LogSums` without a row; parameters as of `log_values`."""
    cut = None if limit == "none" else (limit, limit_at)
    return LogSums(len(policies), clusters, thin, cut, products, modelled)


def values_of_sums(
    sums, policies, batches=None, *, reward_range=None, level=0.95, rows_before=0, anytime=0
):
    """`LogValues` of sums over all rows of a log.

    Parameters
    ----------
    sums : LogSums
        Begun by `begun`; where there are neither clusters nor `batches`, with products.
    policies : list of str
    batches, reward_range, level, rows_before, anytime
        As of `log_values`.
    """
    clusters = 0 if sums.groups is None else len(sums.groups)
    names = ESTIMATORS if sums.cut is None else (*ESTIMATORS, LIMITED)
    names += () if sums.modelled is None else MODELLED
    bounds = sums.bounds(reward_range)
    alone = bool(rows_before) and sums.rows == sums.nonzero < rows_before
    asked, totals = _asked(policies, names, sums.modelled), sums.totals.copy()
    counted = rows_before if alone or sums.subsampled else 0
    matrix, parts = _influence(asked, totals, counted, sums.modelled)
    if clusters:
        moments = Moments(len(sums.totals), matrix)
        moments.add(sums.groups[sums.groups.any(axis=1)])
    elif batches is None:
        moments = ProductMoments(sums.products, matrix)
    else:
        moments = Moments(len(sums.totals), matrix)
        for batch in batches():
            columns = columns_of(batch, sums.cut)
            moments.add(columns[columns[:, 0] > 0])
    made = {}
    for number, key in enumerate(asked):
        one = _ratio(number, key, parts, totals, moments, bounds, level)
        if anytime:
            one = sequence(one, key, moments.count, anytime, level, bounds)
        elif (
            key[0] == "value"
            and key[-1] in ("mean", *ESTIMATORS)
            and sums.few(key, policies)
            and bounds[0] >= 0
        ):
            bottom = parts[key][0][3]
            total = counted if counted and bottom == 0 else totals[bottom]
            one = of_few(one, sums.draws(key, policies), bounds[1], total, level)
        gone = alone and (key[0] == "weight" or key[-1] in _WHOLE)
        made[key] = Ratio(*[math.nan] * 4) if gone else one

    lost = {key[1]: one for key, one in made.items() if key[0] == "lost"}
    made = with_bias(made, {name: bias_range(one, bounds) for name, one in lost.items()}, bounds)

    def told(kind):
        return {
            key[1:]: one
            for key, one in made.items()
            if key[0] == kind and key[1] and not (alone and key[-1] in _WHOLE)
        }

    return LogValues(
        logged=made["value", LOGGED, "mean"],
        values=told("value"),
        differences=told("difference"),
        lifts=told("lift"),
        lost=lost,
        support={
            (name, key): sums.support(
                place, key, made["weight", name], users_behind(moments.count, clusters)
            )
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


#: Estimators that need rows of reward 0.
_WHOLE = ("snips", *MODELLED)


def _asked(policies, names, modelled=None):
    """What is estimated: a dict of keys to its parts ``(sign, numerator, denominator)``."""
    asked = {("value", LOGGED, "mean"): [(1, 1, 0)]}
    own = {}
    for place, name in enumerate(policies):
        weight = 2 + 2 * place
        own[name] = {"snips": [(1, weight + 1, weight)], "ips": [(1, weight + 1, 0)]}
        if modelled is not None:
            mean, rest = modelled + 2 * place, modelled + 2 * place + 1
            own[name]["dr"] = [(1, mean, 0), (1, rest, 0)]
            own[name]["sndr"] = [(1, mean, 0), (1, rest, weight)]
        if LIMITED in names:
            less = weight + 2 * len(policies)
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
    from `modelled` on) go by the rows at hand, zeros among them. Of a lift
    V / L - 1 the signs are those of its first order, 1 / L and -V / L^2.

    Returns
    -------
    matrix : array (columns, estimates)
    parts : dict of key to list of (sign, value, numerator, denominator, array (columns,))
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
    rows, pull = moments.count, 0.0
    for sign, _, _, bottom, own in parts[key]:
        if second > 0:
            pull += sign * (own @ cross) / second * cross[bottom] / totals[bottom]
    shape = shape_of(rows, 1.0, second, third, fourth, pull)
    told = {
        "value": value,
        "second": second,
        "standard_error": math.sqrt(second * rows / (rows - 1)) if rows > 1 else math.nan,
        "skewness": shape.skewness,
        "pull": shape.pull,
        "kurtosis": shape.kurtosis,
    }
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
