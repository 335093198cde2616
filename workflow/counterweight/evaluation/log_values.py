"""Values of several policies from one log, each beside the policy that made it; and the protocol
`own_values` of a log of one's own, whose truth nobody knows.

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

from counterweight.fragments import LEVEL, Choice, Integer, Number
from counterweight.labeling.columns import CLUSTERS
from counterweight.labeling.log_files import rows_in_step
from counterweight.labeling.logs import WRONG, known_number
from counterweight.numerics.estimate import (
    anytime_interval,
    counted_interval,
    influence_shape,
    mean_interval,
    value_interval,
    within_range,
)
from counterweight.numerics.log_sums import FEW_REWARDS, LARGE_SHARE, OFF, begun, few_users, hull
from counterweight.tables import parquet

TASK = "log"
OPTIONS = {
    "thin": Number(0.01, "Propensity below which the log shows an action too rarely to tell much.", minimum=0, maximum=1),
    "anytime": Integer(0,
        "For intervals that may be looked at after every row of a growing log: the number of rows (of users, where "
        "rows belong to them) about which they are to be narrowest. 0 for intervals that are looked at once, which are "
        "narrower.", minimum=0),
    "limit": Choice("none", ["none", "clip", "switch", "shrink"],
        "An estimate beside the others whose weights are limited at t. clip: min(w, t); switch: 0 above t; shrink: t w "
        "/ (w^2 + t). Its interval allows for the bias."),
    "limit_at": Number(10.0, "t of limit.", above=0),
    **LEVEL,
}  # fmt: skip
LABEL = "values of policies from a log of one's own"
VALUE_LABELS = {
    "measure": {
        "snips": "SNIPS",
        "ips": "IPS",
        "mean": "mean of the log",
        "limited": "IPS, limited",
        "dr": "doubly robust",
        "sndr": "doubly robust, self-normalised",
    }
}
#: Estimators of a policy's value.
ESTIMATORS = ("snips", "ips")
#: Those that need a reward model: doubly robust, and self-normalised so.
MODELLED = ("sndr", "dr")
#: IPS with limited weights; the bias that this can make is in its intervals.
LIMITED = "limited"
#: Estimators that need rows of reward 0.
_WHOLE = ("snips", *MODELLED)
#: The estimator, linear in the rows, of which another is the self-normalised form.
_LINEAR = {"snips": "ips", "ips": "ips", "sndr": "dr", "dr": "dr"}
#: Name of the policy that made the log.
LOGGED = ""
#: Below these the support is called thin: effective rows, and (`FEW_REWARDS`) effective rewards and
#: rows with a reward that the policy may have taken; and above `LARGE_SHARE`: share of one row in a
#: sum, or of a row in the squared error, by its size.
FEW_ROWS = 100
#: Share of the mean reward below which a difference is how sums are rounded.
ROUNDING = 1e-12
#: How far, in standard errors, weights may average from 1 before it is told, beside `OFF`: chance
#: exceeds it in one log of a thousand. Of a log that dropped zeros no gap is small, as a wrong
#: keep rate moves values by far more than weights, and `WRONG` is the chance that all may have.
FAR = 3.3
#: Flags of `Support`, by the metric ``support``, the worst last.
FLAGS = ("good", "thin", "outside", "doubtful")
_COLUMNS = ("row", "keep_rate", "propensity", "reward", "weight", "cluster")


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
    w`` of SNIPS, or the terms ``k w |r|`` of IPS, of users, where rows belong to some;
    ``largest_share`` is that of one row (user) in ``sum u``, ``largest_weight`` the largest w.
    ``mean_weight`` is ``sum k w / sum k``, 1 where all is right, and ``thin_share`` the share of
    ``sum k w`` in rows whose propensity is below the option `thin`. ``flag`` is the worst of all
    checks: ``good``, ``thin`` (few rows carry the value, its gain, or the standard error of either,
    or users are few), ``outside`` (the policy does what the log does not show) or ``doubtful``
    (propensities are not those of the logged actions, or weights average more than 1, which right
    ones do not). ``reasons`` say why it is not good.
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
    reasons: tuple = ()


@dataclass(frozen=True)
class LogValues:
    """What a log says of its policies.

    ``logged`` is the value of the policy that made the log, ``values`` and ``support`` go by policy
    and estimator, ``differences`` (paired, policy minus other; the other may be `LOGGED`) by
    policy, other and estimator, ``lifts`` (``value / value of the logging policy - 1``, paired) by
    policy and estimator, NaN where that value may be below 0 and is not above it beyond its
    interval, ``lost`` (mean of what weights lost where they are limited) by policy. Of
    the ``estimators`` the first is the one that answers go by: SNIPS, or IPS where rows of reward 0
    were kept at a rate below 1, since the few that are left make the sum of weights uncertain, and
    IPS needs them for their number only. ``effective_rows`` are of the weights k. ``own`` are flag
    and reasons of the value of the log's own policy, ``crowded`` the differences of which few draws
    make the error.
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
    clusters: int = 0
    own: tuple = ("good", ())
    crowded: frozenset = frozenset()

    def support_of(self, policy, other, estimator):
        """Flag of a difference, the worst of both values', and why it is not good, in words."""
        told = {}
        for name in (policy, other):
            one = self.support.get((name, estimator))
            told[name or "the log's own"] = (one.flag, one.reasons) if one else self.own
        if (policy, other, estimator) in self.crowded:
            few = f"few {'users' if self.clusters else 'rows'} make the error of the difference"
            told[""] = "thin", (few,)
        flag, whose = max((own for own, _ in told.values()), key=FLAGS.index), {}
        for name, (_, reasons) in told.items():
            for why in reasons:
                whose.setdefault(why, []).append(name)
        said = (f"{' and '.join(names)}: {why}" for why, names in whose.items())
        return flag, "; ".join(one.removeprefix(": ") for one in said)


def log_values(
    batches, policies, *, reward_range=None, level=0.95, rows_before=0, anytime=0, wrong="", **asked
):
    """Values of policies, their differences and their support, as `LogValues`.

    Parameters
    ----------
    batches : callable
        ``batches()`` gives the log from its start, as dicts of arrays (n,) by ``reward,
        propensity, keep_rate, weight`` and ``cluster``, and ``p``, an array (n, policies). It is
        called once, or twice where policies are so many that their columns are more than
        `log_sums.MOST_COLUMNS`. All values are checked.
    policies : list of str
    reward_range : (float or None, float or None), optional
        Least and largest reward that can occur; None for 0 (or the least one of the log, if that
        is less) and for the largest one.
    level : float
    rows_before : int
        Number of rows before any of reward 0 was dropped, where it is known, all of weight 1, else
        0. Rows of reward 0 that were kept then stand for as many as there were, in every estimate:
        sums over all rows are divided by it. It is not uncertain, so intervals are shorter. Where
        all rows of reward 0 were dropped only IPS is told, and no mean weight; of users, intervals
        are then as wide as if nothing were known of where those rows were.
    anytime : int
        Rows (clusters) about which intervals are to be narrowest that may be looked at after every
        row; 0 for intervals that are looked at once.
    wrong : str or callable
        Words on why propensities are not those of the logged actions, "" where nothing says so;
        or what gives them once the log was read.
    **asked
        As of `log_sums.begun`. ``clusters``: their number, 0 where every row stands for itself;
        ``thin``: propensity below which support is thin; ``limit``, ``limit_at``; ``modelled``:
        whether batches have ``q`` and ``v``, arrays (n, policies) of a reward model that was fitted
        on other rows, whose estimators `MODELLED` are then told, too. Errors take it as given.
    """
    sums = begun(len(policies), **asked)
    for batch in batches():
        sums.add(batch)
    options = {"reward_range": reward_range, "level": level}
    options |= {"rows_before": rows_before, "anytime": anytime}
    options["wrong"] = wrong() if callable(wrong) else wrong
    return values_of_sums(sums, policies, batches, **options)


def values_of_sums(
    sums,
    policies,
    batches=None,
    *,
    reward_range=None,
    level=0.95,
    rows_before=0,
    anytime=0,
    wrong="",
):
    """`LogValues` of sums (`begun`) over all rows of a log; parameters as of `log_values`."""
    alone = bool(rows_before) and sums.rows == sums.nonzero < rows_before
    sums.rows_before = rows_before if alone or sums.subsampled else 0
    columns, totals = sums.columns, sums.totals
    clusters = 0 if sums.groups is None else len(sums.groups[0])
    names = ESTIMATORS if columns.cut is None else (*ESTIMATORS, LIMITED)
    names += MODELLED if columns.modelled else ()
    low, high = reward_range or (None, None)
    bounds = sums.least if low is None else low, sums.most if high is None else high
    asked = _asked(policies, names, columns)
    parts = {key: _parts(key, ratios, totals) for key, ratios in asked.items()}
    matrix = [sum(sign * own for sign, *_, own in ratios) for ratios in parts.values()]
    moments = sums.moments(np.stack(matrix, axis=1), batches)
    few = {name for place, name in enumerate(policies) if sums.few(place)}
    few |= {LOGGED} if sums.few() else set()
    made, crowded, users = {}, set(), users_behind(moments.count, clusters)
    known = {key: (parts[key], moments.of(number)) for number, key in enumerate(asked)}
    heavy_ends = {}
    if not (anytime or alone):
        heavy_ends = _heavy_ends(known, sums, policies, few, bounds, moments.count, level)
    for key, (_, own) in known.items():
        if _is_rounding(key, parts[key], own[0], parts["value", LOGGED, "mean"]):
            made[key] = Ratio(*[0.0] * 4)
            continue
        one = plain = _ratio(key, parts[key], totals, own, moments.count, bounds, level)
        if own[2] > LARGE_SHARE * own[0] ** 2:
            crowded.add(key[1:])
        ends = heavy_ends.get((*key[:-1], _LINEAR.get(key[-1])))
        if anytime:
            one = _sequence(one, key, moments.count, anytime, level, bounds)
        elif math.isnan(one.value):
            pass
        elif ends is not None:
            one = _of_heavy(one, key, ends, bounds)
        elif few.intersection(key[1:-1]):
            one = _of_few(one, key, parts[key], own[0], sums, policies, bounds, level)
        if few_users(users) and not anytime:
            low, high = hull((one.low, one.high), (plain.low, plain.high))
            one = replace(one, low=low, high=high)
        gone = alone and (key[0] == "weight" or key[-1] in _WHOLE)
        made[key] = Ratio(*[math.nan] * 4) if gone else one
    lost = {key[1]: one for key, one in made.items() if key[0] == "lost"}
    made = _with_bias(made, {name: _bias_range(one, bounds) for name, one in lost.items()}, bounds)
    made = {key: _possible(one, key[0], bounds) for key, one in made.items()}
    if bounds[0] < 0 and not made["value", LOGGED, "mean"].low > 0:
        # A share of a loss, or of what may be one, has the sign of neither.
        made |= {key: Ratio(*[math.nan] * 4) for key in made if key[0] == "lift"}

    def told(kind):
        own = ((key, one) for key, one in made.items() if key[0] == kind and key[1])
        return {key[1:]: one for key, one in own if not (alone and key[-1] in _WHOLE)}

    # Estimators that exist, the one that answers go by first.
    first = ("ips",) if alone else ESTIMATORS[::-1] if sums.subsampled else ESTIMATORS
    rest = (name for name in names[len(ESTIMATORS) :] if not (alone and name in _WHOLE))
    return LogValues(
        logged=made["value", LOGGED, "mean"],
        values=told("value"),
        differences=told("difference"),
        lifts=told("lift"),
        lost=lost,
        support={
            (name, key): _support(sums, policy, key, made["weight", name], users, told_of)
            for policy, name in enumerate(policies)
            for key in names
            for told_of in [((name, key) in crowded, wrong)]
        },
        estimators=(*first, *rest),
        rows=sums.rows,
        nonzero=sums.nonzero,
        effective_rows=sums.of_draws(0)[0],
        clusters=users,
        own=_flagged(_few(sums, None, "mean", users, (LOGGED, "mean") in crowded)),
        crowded=frozenset(key for key in crowded if len(key) == 3),
    )


def _is_rounding(key, parts, squares, logged):
    """Whether a difference is that of one policy to itself, up to how sums are rounded."""
    if key[0] not in ("difference", "lift"):
        return False
    if key[0] == "lift":
        return math.sqrt(squares) < ROUNDING
    gap = abs(sum(sign * value for sign, value, *_ in parts))
    return max(gap, math.sqrt(squares)) < ROUNDING * abs(logged[0][1])


def _possible(one, kind, bounds):
    """A difference, or a lift, whose interval leaves out what rewards within bounds cannot make."""
    ends = {"difference": (bounds[0] - bounds[1], bounds[1] - bounds[0])}
    ends |= {"lift": (-1.0, math.inf)} if bounds[0] >= 0 else {}
    if kind not in ends or math.isnan(one.low):
        return one
    low, high = within_range(one.low, one.high, one.value, ends[kind])
    return replace(one, low=low, high=high)


def users_behind(filled, clusters):
    """Users behind clusters that were filled by a hash (linear counting, Whang et al. 1990)."""
    if not 0 < filled < clusters:
        return filled if clusters else 0
    return round(-clusters * math.log1p(-filled / clusters))


def carriers(users):
    """What it may be few of that carry a value: rows, or the `users` (their number) behind them."""
    return "users" if few_users(users) else "rows or users" if users > 0 else "rows"


def users_in_words(count):
    """``" of about 1,300 users"``, or "" of 0: to two digits, as users are counted by a hash."""
    return f" of about {float(f'{count:.2g}'):,.0f} users" if count else ""


def _asked(policies, names, columns):
    """What is estimated: a dict of keys to its parts ``(sign, numerator, denominator)``."""
    reward = columns.place("reward")
    asked, own = {("value", LOGGED, "mean"): [(1, reward, 0)]}, {}
    for policy, name in enumerate(policies):
        weight, earned = columns.place("weight", policy), columns.place("earned", policy)
        own[name] = {"snips": [(1, earned, weight)], "ips": [(1, earned, 0)]}
        if columns.modelled:
            mean, rest = columns.place("mean", policy), columns.place("rest", policy)
            own[name]["dr"] = [(1, mean, 0), (1, rest, 0)]
            own[name]["sndr"] = [(1, mean, 0), (1, rest, weight)]
        if columns.cut:
            own[name][LIMITED] = [(1, columns.place("limited", policy), 0)]
            asked["lost", name] = [(1, columns.place("lost", policy), 0)]
        asked |= {("value", name, key): own[name][key] for key in names}
        asked["weight", name] = [(1, weight, 0)]
        for key in names:
            mine = own[name][key]
            asked["difference", name, LOGGED, key] = [*mine, (-1, reward, 0)]
            asked["lift", name, key] = [*mine, (-1, reward, 0)]
            for other in policies[:policy]:
                theirs = [(-sign, *ratio) for sign, *ratio in own[other][key]]
                asked["difference", name, other, key] = [*mine, *theirs]
    return asked


def _parts(key, ratios, totals):
    """Parts of an estimate: (sign, value, numerator, denominator, influence (columns,)).

    The influence of a row is ``columns @ influence``. Of a lift V / L - 1 the signs are those of
    its first order, 1 / L and -V / L^2.
    """
    parts = []
    for sign, top, bottom in ratios:
        total = totals[bottom]
        value = totals[top] / total if total > 0 else math.nan
        own = np.zeros(len(totals))
        if total > 0:
            own[top] += 1 / total
            own[bottom] -= value / total
        parts.append((sign, value, top, bottom, own))
    if key[0] == "lift":
        *own, (_, base, *other) = parts
        mine = sum(value for _, value, *_ in own)
        near = (1 / base, -mine / base**2) if base else (math.nan, math.nan)
        parts = [*((near[0], *one) for _, *one in own), (near[1], base, *other)]
    return parts


def _ratio(key, parts, totals, moments, draws, bounds, level):
    """An estimate with its interval.

    The error of each ratio moves the variance that is estimated for their difference; how far is
    the part of that error which goes with the difference.
    """
    value = float(sum(sign * own for sign, own, *_ in parts))
    if key[0] == "lift":
        *own, (_, base, *_) = parts
        value = sum(mine for _, mine, *_ in own) / base - 1 if base else math.nan
    *powers, cross = moments
    pull = 0.0
    for sign, _, _, bottom, own in parts:
        if powers[0] > 0:
            pull += sign * (own @ cross) / powers[0] * cross[bottom] / totals[bottom]
    error, shape = influence_shape(draws, *powers, pull)
    if math.isnan(value):
        low = high = math.nan
    elif key[0] == "value":
        weighted = key[2] in ("snips", "mean")
        low, high = value_interval(value, error, shape, draws, level, bounds, weighted=weighted)
    else:
        ends = (0.0, None) if key[0] in ("weight", "lost") else None
        more = {"pull": shape.pull, "kurtosis": shape.kurtosis}
        low, high = mean_interval(value, error, shape.skewness, draws, level, ends, **more)
    return Ratio(value, error, float(low), float(high))


def _of_few(one, key, parts, squares, sums, policies, bounds, level):
    """The estimate with the interval of few rewards; `squares` are those of all influences.

    A further reward raises it by the weight of its policy, and lowers it by that of the other one.
    """
    own, further = sum(sign * part for sign, *_, part in parts), [0.0, 0.0]
    reward = sums.further(bounds[1])
    for sign, _, top, _, part in parts:
        side = int(sign < 0)
        name = key[1] if sign > 0 else key[2] if key[0] == "difference" else LOGGED
        weight = sums.typical(policies.index(name)) if name else 1.0
        further[side] = max(further[side], abs(sign) * part[top] * reward * weight)
    influence = own @ sums.rewarded()
    if not reward:
        return one
    rest = max(squares - influence @ influence, 0.0)
    low, high = counted_interval(one.value, influence, rest, further, level)
    if key[0] == "value":
        low, high = within_range(low, high, one.value, bounds)
    return replace(one, low=low, high=high)


def _heavy_ends(known, sums, policies, few, bounds, draws, level):
    """Ends of the intervals of few heavy weights, by the keys of linear estimates that have one.

    Where rewards are `few`, too, only weights that are worth few rows are asked.
    """
    heavy = {name for place, name in enumerate(policies) if sums.heavy(place)}
    found = {}
    for key, (parts, moments) in known.items():
        names = [name for name in key[1:-1] if name != LOGGED]
        rare = few.intersection(key[1:-1]) and not heavy.intersection(names)
        if rare or key[-1] not in _LINEAR.values():
            continue
        lift = key[0] == "lift"
        value = sum(sign * mine for sign, mine, *_ in parts[: len(parts) - lift]) - lift
        if math.isnan(value):
            continue
        own = sum(sign * part for sign, *_, part in parts)
        weights = [(policies.index(name), *known["weight", name]) for name in names]
        weights = [(place, part[0][-1], told) for place, part, told in weights]
        found[key] = sums.heavy_interval(value, own, moments, weights, bounds, draws, level)
    return found


def _of_heavy(one, key, ends, bounds):
    """The estimate with the interval of few heavy weights, which it lies in.

    Estimates that are self-normalised have that of the others: both are of one value.
    """
    low, high = min(ends[0], one.value), max(ends[1], one.value)
    if key[0] == "value":
        low, high = within_range(low, high, one.value, bounds)
    return replace(one, low=low, high=high)


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
        low, high = one.low + below, one.high + above
        if key[0] == "value":
            low, high = max(low, bounds[0]), min(high, bounds[1])
        made[key] = replace(one, low=low, high=high)
    return made


def _support(sums, policy, estimator, mean_weight, clusters, told):
    """The `Support` of one policy: of all rows in the sum and of those with a reward the worse.

    `told`: whether few rows make the error of the estimate; words on wrong propensities.
    """
    from scipy.special import ndtri

    (crowded, wrong), kept = told, sums.subsampled
    name = LIMITED if estimator == LIMITED else "earned" if estimator == "ips" else "weight"
    known = sums.carried(policy, sums.columns.place(name, policy))
    gap, right = mean_weight.value - 1, mean_weight.low <= 1 <= mean_weight.high
    # Where all weights are 1 nothing rests on propensities.
    same = known["largest_weight"] == mean_weight.value == 1
    far = float(ndtri(1 - WRONG / 2 / sums.columns.policies)) if kept else FAR
    least = max(0.0 if kept else OFF, far * mean_weight.standard_error)
    found, never = [("doubtful", wrong)] if wrong and not same else [], sums.beyond(policy)
    if never >= OFF:
        told = (
            f"{100 * never:.0f} % of what the policy does is not in the log: rows of propensity 1"
        )
        found.append(("outside", f"{told} have another action"))
    if not right and abs(gap) > least and (gap > 0 or never < OFF):
        found.append(_off(mean_weight.value, ", or the keep rate is not right" if kept else ""))
    flag, reasons = _flagged(_few(sums, policy, estimator, clusters, crowded), found)
    return Support(clusters=clusters, mean_weight=mean_weight, flag=flag, reasons=reasons, **known)


def _off(weight, rate):
    """Flag and words of weights that do not average 1."""
    if weight > 1:
        return "doubtful", (
            f"the weights average {weight:.3g} and not 1, so the propensities are too low, or "
            f"probabilities are not those of the logged actions{rate}"
        )
    return "outside", (
        f"the weights average {weight:.3g}, so some {100 * (1 - weight):.0f} % of what the "
        f"policy does is not in the log (or the propensities are too high{rate})"
    )


def _flagged(few, found=()):
    """The worst flag and the reasons, of what few rows carry and of what else was `found`."""
    found = [*found, *([("thin", few)] if few else [])]
    found.sort(key=lambda one: -FLAGS.index(one[0]))
    return (found[0][0] if found else "good"), tuple(why for _, why in found)


def _few(sums, policy, estimator, clusters, crowded):
    """Words on what few rows or users carry, "" where many do.

    Of a policy's value, its gain and the errors of both; of the log's own value without a policy.
    """
    at, one, many = sums.columns.place, "row", "rows"
    rewards = math.inf if estimator == LIMITED else sums.effective_rewards(policy)
    if policy is None:
        columns = [(0, FEW_ROWS, "rows"), (at("reward"), 0, "rewards")]
    else:
        rewards = min(rewards, sums.carried(policy, 0)["rows_rewarded"])
        columns = [(at("weight", policy), FEW_ROWS, "weights")]
        columns += [(at("earned", policy), FEW_REWARDS, "rewards")]
    if estimator == LIMITED:  # Limited weights are judged by themselves.
        columns = [(at(LIMITED, policy), FEW_REWARDS, "rewards")]
    if clusters:
        one, many = "user", "users"
    said = [f"{clusters} users"] if few_users(clusters) else []
    said += [f"{rewards:.3g} effective rewards"] if rewards < FEW_REWARDS else []
    for column, least, what in columns:
        (draws, share), rows = sums.of_draws(column), sums.effective(column)
        said += [f"{what} that count as {rows:.0f} rows"] if rows < least else []
        # Few rewards were told by users.
        told = few_users(clusters) or what == "rewards" and rewards < FEW_REWARDS
        if clusters and draws < FEW_REWARDS and least and not told:
            said.append(f"{what} that count as {draws:.0f} users")
        said += [f"one {one} is {100 * share:.1f} % of the {what}"] if share > LARGE_SHARE else []
    said += [f"a few {many} make the error"] if crowded else []
    if not said:
        return ""
    carried = "the value" if policy is None else "the value, its gain, or the error of either"
    return f"few {carriers(clusters)} carry {carried} ({', '.join(said)})"


def _sequence(one, key, draws, at, level, bounds):
    """The interval of an estimate that may be looked at after every row."""
    low, high = anytime_interval(one.value, one.standard_error, draws, at, level)
    if key[0] == "value":
        low, high = max(low, bounds[0]), min(high, bounds[1])
    return replace(one, low=low, high=high)


def own_values(labels, predictions, others, **options):
    """Records of the value of one policy in one study, for ``tables.metrics_table``.

    `predictions`, of the rows of `labels`, have ``row`` and ``p``, the probability that the policy
    gives the logged action, perhaps with ``q`` and ``v`` of a reward model; `others` are those of
    other policies that this one is compared with, by method. Options are those of
    `log_values`: `OPTIONS`, ``reward_range`` and ``rows_before``. ``part`` says what a
    difference is from, ``log`` for the policy that made the log. Files of different rows are
    refused.
    """
    own = " "  # No method is called so. It comes last, so it is compared with all others.
    return records_of(values_of_files(labels, others | {own: predictions}, **options), own, others)


def records_of(known, own, others):
    """Records of one policy of a log (`own_values`); it is compared with the `others`."""
    records = []

    def tell(metric, ratio, **place):
        place = {"keep_rate": 1.0} | place
        records.append(
            place | {"metric": metric, "value": ratio.value, "standard_error": ratio.standard_error}
        )
        ends = {"whole_value": "whole"}.get(metric, metric)
        for end in ("low", "high"):
            records.append(place | {"metric": f"{ends}_{end}", "value": getattr(ratio, end)})

    for name in known.estimators:
        tell("whole_value", known.values[own, name], measure=name)
        support, place = known.support[own, name], {"measure": name, "keep_rate": 1.0}
        for metric in ("effective_rows", "largest_weight", "largest_share"):
            records.append(place | {"metric": metric, "value": getattr(support, metric)})
        records.append(place | {"metric": "support", "value": FLAGS.index(support.flag)})
        for other in (LOGGED, *others):
            ratio, part = known.differences[own, other, name], other or "log"
            tell("difference", ratio, measure=name, part=part)
            flag = FLAGS.index(known.support_of(own, other, name)[0])
            records.append(place | {"metric": "difference_support", "part": part, "value": flag})
        tell("lift", known.lifts[own, name], measure=name)
    if own in known.lost:
        tell("weight_lost", known.lost[own])
    tell("logged_value", known.logged, measure="mean")
    tell("mean_importance", support.mean_weight)
    for metric in ("rows_agreed", "rows_rewarded", "thin_share", "clusters"):
        records.append({"metric": metric, "value": float(getattr(support, metric))})
    return [{"target": "general", "rows": known.rows} | record for record in records]


def values_of_files(labels, predictions, **options):
    """`LogValues` of the policies of a study, by files of their predictions."""
    first = next(iter(parquet.batches(labels, ["cluster"], 1)), None)
    modelled = all("q" in parquet.column_names(path) for path in predictions.values())
    return log_values(
        lambda: _batches(labels, predictions, modelled),
        list(predictions),
        clusters=CLUSTERS if first is not None and first["cluster"][0] >= 0 else 0,
        modelled=modelled,
        **options,
    )


def _batches(labels, predictions, modelled):
    told = ("p", "q", "v") if modelled else ("p",)
    sources = [(path, ("row", *told)) for path in predictions.values()]
    for ours, *theirs in rows_in_step([(labels, _COLUMNS), *sources]):
        yield ours | {name: np.stack([part[name] for part in theirs], axis=1) for name in told}


def values_of_log(question, rows, reading=None):
    """`LogValues` of a new log, a frame or a file, read in batches, by a `LogQuestion`."""
    return log_values(
        lambda: question.batches(rows, reading),
        list(question.facts["policies"]),
        clusters=question.clusters,
        wrong=question.wrong,
        **_options(question, "level", "thin", "anytime", "limit", "limit_at"),
    )


def values_of_parts(question, sums):
    """`LogValues` of the sums over all partitions of a log."""
    return values_of_sums(
        sums,
        list(question.facts["policies"]),
        rows_before=known_number(question.facts["labeling"]),
        **_options(question, "level", "anytime"),
    )


def _options(question, *names):
    bounds = question.facts["outcome"].get("low"), question.facts["outcome"].get("high")
    # Those of an older version lack some.
    known = {"anytime": 0, "limit": "none", "limit_at": 10.0} | question.facts
    return {"reward_range": bounds} | {name: known[name] for name in names}
