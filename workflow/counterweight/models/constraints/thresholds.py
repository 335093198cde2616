"""Thresholds of scores that keep constraints at least cost, of all people or by pairs of groups.

With them deterministic decisions are repaired: a classifier that keeps constraints by chances may
break them by the sign of its score. Moving the threshold of everybody, or one of each group for
who may use groups when deciding, brings them back where that family can. A scale of the scores
moves no decision but by the threshold that goes with it, so that one threshold stands for one
shift or scale.
"""

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError


def cuts(scores):
    """Thresholds between different scores (n,), and how many of the scores are above each.

    Scores that differ by rounding only count as equal, so that no threshold parts them.

    Returns
    -------
    order : int array (n,)
        The scores from high to low.
    above : int array (k + 1,)
        0 = above[0] < above[1] < ... < above[k] = n.
    edges : float array (k + 1, 2)
        A threshold between the two edges (the second is the higher one) leaves `above` scores above
        it; infinite at both ends.
    """
    order = np.argsort(-scores, kind="stable")
    high = scores[order]
    same = 1e-9 * (1 + np.abs(high).max(initial=0.0))
    ends = np.flatnonzero(high[:-1] - high[1:] > same) + 1
    above = np.concatenate([[0], ends, [len(high)]])
    upper = np.concatenate([[np.inf], high[ends - 1], high[-1:]])
    lower = np.concatenate([high[:1], high[ends], [-np.inf]])
    return order, above, np.column_stack([lower, upper])


def threshold_within(edges):
    """The threshold of an interval between two scores: 0 if it is inside, else the middle."""
    low, high = edges
    if low <= 0 < high:
        return 0.0
    apart = 1e-6 * (1 + min(abs(low), abs(high)))
    if np.isinf(high):
        return float(low + apart)
    if np.isinf(low):
        return float(high - apart)
    return float(0.5 * (low + high))


def shift_of(edges):
    """How far each interval of thresholds is from 0, shape (k,); 0 where it holds 0."""
    low, high = edges[:, 0], edges[:, 1]
    return np.where((low <= 0) & (high > 0), 0.0, np.minimum(np.abs(low), np.abs(high)))


def interval_minima(values, low, high):
    """Least of values[low:high] of each (nonempty) interval, and the first place of it.

    Minima over all runs of 2^k values are held; two runs, which may overlap, make up any
    interval.
    """
    places = [np.arange(len(values))]
    while 2 ** len(places) <= len(values):
        before, half = places[-1], 2 ** (len(places) - 1)
        left, right = before[:-half], before[half:]
        places.append(np.where(values[right] < values[left], right, left))
    level = np.frexp((high - low).astype(float))[1] - 1
    at = np.empty(len(low), dtype=np.int64)
    for k, place in enumerate(places):
        rows = level == k
        left, right = place[low[rows]], place[high[rows] - 2**k]
        at[rows] = np.where(values[right] < values[left], right, left)
    return values[at], at


#: Thresholds of each group that are looked at together, at first and again around the best.
GRID = 160
#: Shares above the thresholds of all groups that are begun from: even ones, and rare ones.
RARE = np.array([0.002, 0.004, 0.007, 0.012, 0.018])
LEVELS = np.unique(np.concatenate([np.linspace(0, 1, 41), RARE, 1 - RARE]))
#: Of more than two groups, how many of these are followed beside the best place of all.
BEGUN = 5
#: Of more groups than these the best place alone is followed.
MANY = 8
#: Rounding that a sum of shares may have.
ROUNDING = 1e-12


@dataclass
class Rates:
    """An objective and constraints on distinct rows, as sums over the positive predictions.

    Expression j of probabilities p is ``slope[j] @ p + fixed[j]``; constraints are to be at most 0.
    `slope` is (1 + m, n), `fixed` and `size`, the sum of all costs and so the unit of rounding, (1
    + m,).
    """

    slope: np.ndarray
    fixed: np.ndarray
    size: np.ndarray

    @classmethod
    def of(cls, positive, negative, constants, bounds):
        """From coefficients of positive and of negative predictions; see `compile`."""
        fixed = constants + negative.sum(axis=1)
        fixed[1:] -= bounds
        return cls(positive - negative, fixed, (positive + negative).sum(axis=1))

    def values(self, p):
        """Objective and constraints at probabilities p, (1 + m,)."""
        return self.slope @ p + self.fixed

    @property
    def slack(self):
        """What rounding may put a constraint above 0, (m,)."""
        return ROUNDING * (1 + self.size[1:] + np.abs(self.fixed[1:]))


def best_thresholds(scores, slopes, costs):
    """Least objective among feasible thresholds of groups, and these; None, None without any.

    `scores` are those of each group, `slopes` (1 + m, rows of the group) the change of the
    objective and of the constraints by a yes to each row, and `costs` (`Rates`) what they add to.
    """
    sums, above, edges = [], [], []
    for score, slope in zip(scores, slopes, strict=True):
        order, counts, between = cuts(score)
        total = np.zeros((len(costs.fixed), len(score) + 1))
        np.cumsum(slope[:, order], axis=1, out=total[:, 1:])
        sums.append(total[:, counts])
        above.append(counts)
        edges.append(between)
    now = [_nearest(between) for between in edges]
    place = best_cuts(sums, above, now, costs)
    total = _total(sums, place, costs.fixed)
    if (total[1:] > costs.slack).any():
        return None, None
    found = [threshold_within(own[k]) for own, k in zip(edges, place, strict=True)]
    return float(total[0]), found


def best_cuts(sums, above, now, costs):
    """The cheapest feasible cut of each group, or what comes near to one.

    The best of all for one group, and for two where each rate rises or falls along the cuts; else
    what no change of two groups at a time makes better.

    Parameters
    ----------
    sums : list of array (1 + m, cuts)
        What the rows above each cut add to the objective and to the constraints.
    above : list of int array (cuts,)
        How many rows that are.
    now : list of int
        A place to begin from.
    costs : Rates
    """
    # Violations at a price beyond any gain, so that the first rounds lead to feasible places.
    price = 10 * max(costs.size[0], 1e-300) / np.where(costs.size[1:] > 0, costs.size[1:], 1.0)

    def judged(values):
        over = np.maximum(values[1:] - costs.slack[:, None], 0.0)
        return np.where((over > 0).any(axis=0), price @ over + 10 * costs.size[0], 0.0) + values[0]

    if len(sums) == 1:
        return [int(np.argmin(judged(sums[0] + costs.fixed[:, None])))]
    # Begun where all have about the same share above, if that is nearer to what is asked.
    starts = [list(now)] + [
        [int(np.searchsorted(counts, level * counts[-1])) for counts in above] for level in LEVELS
    ]
    height = judged(np.array([_total(sums, place, costs.fixed) for place in starts]).T)
    begun = [starts[int(np.argmin(height))]]
    if 2 < len(sums) <= MANY:
        # Where all answers are no, two groups alone may not move.
        inside = 2 + np.argsort(height[2:-1], kind="stable")[:BEGUN]
        begun += [starts[k] for k in inside]
    ended = [_by_pairs(sums, list(place), costs, judged) for place in begun]
    return min(ended, key=lambda one: one[0])[1]


def _total(sums, place, fixed):
    return fixed + sum(table[:, k] for table, k in zip(sums, place, strict=True))


def _by_pairs(sums, place, costs, judged):
    """Places moved two at a time for as long as that helps, and how they are judged."""
    for _ in range(3):
        before = list(place)
        for i, j in itertools.combinations(range(len(sums)), 2):
            rest = costs.fixed + sum(
                sums[k][:, place[k]] for k in range(len(sums)) if k not in (i, j)
            )
            pair = sums[i], sums[j], rest
            found = _exact_pair(*pair, costs.slack / 2)
            place[i], place[j] = found or _best_pair(*pair, judged, (place[i], place[j]))
        if place == before:
            break
    return float(judged(_total(sums, place, costs.fixed)[:, None])[0]), place


def _nearest(edges):
    """The place of the threshold 0, or the nearest to it: no threshold parts equal scores."""
    inside = np.flatnonzero((edges[:, 0] <= 0) & (edges[:, 1] > 0))
    return int(inside[0]) if len(inside) else int(np.abs(edges).min(axis=1).argmin())


def _exact_pair(first, second, rest, slack):
    """The best feasible pair of all; None without one, or where a rate goes up and down again."""
    low, high = np.zeros(first.shape[1], int), np.full(first.shape[1], second.shape[1])
    for own, other, fixed, room in zip(first[1:], second[1:], rest[1:], slack, strict=True):
        change, left = np.diff(other), room - fixed - own
        if (change >= 0).all():
            high = np.minimum(high, np.searchsorted(other, left, side="right"))
        elif (change <= 0).all():
            low = np.maximum(low, np.searchsorted(-other, -left))
        else:
            return None
    possible = np.flatnonzero(low < high)
    if not len(possible):
        return None
    least, at = interval_minima(second[0], low[possible], high[possible])
    best = int(np.argmin(first[0, possible] + least))
    return int(possible[best]), int(at[best])


def _best_pair(first, second, rest, judged, now):
    """The best pair of places on a grid, then on finer ones around it."""
    spread = [first.shape[1], second.shape[1]]
    centre = list(now)
    while True:
        grids = []
        for count, middle, width in zip(
            (first.shape[1], second.shape[1]), centre, spread, strict=True
        ):
            low, high = max(0, middle - width), min(count - 1, middle + width)
            grid = np.linspace(low, high, min(GRID, high - low + 1)).round().astype(int)
            grids.append(np.unique(np.append(grid, middle)))
        sums = first[:, grids[0], None] + second[:, None, grids[1]] + rest[:, None, None]
        height = judged(sums.reshape(len(rest), -1))
        best = np.unravel_index(int(np.argmin(height)), sums.shape[1:])
        centre = [int(grid[k]) for grid, k in zip(grids, best, strict=True)]
        if max(spread) < GRID // 2:
            return centre
        spread = [max(2, width * 4 // GRID) for width in spread]


#: Thresholds of a group that one mixed problem chooses from, at most.
MOST_CUTS = 300
#: Share of the objective's total cost that is worth thresholds of groups which no constraint needs.
WORTH = 5e-4
#: How many times the choice is repeated among thresholds near the chosen ones.
ROUNDS = 3
#: What the solver of mixed problems calls rounding.
SOLVER = 2e-6


class Repair(NamedTuple):
    """Thresholds of everybody, or of each group, and what they do; positive is a score above.

    `excess` (m,) is by how much each constraint is broken with them, at most 0 where it is kept;
    `before` the same with thresholds of 0; `cost` and `cost_before` are values of the objective.
    """

    thresholds: np.ndarray
    excess: np.ndarray
    before: np.ndarray
    cost: float
    cost_before: float

    @property
    def missed(self):
        """Constraints that no threshold of the family keeps together with the others."""
        return np.flatnonzero(self.excess > 0)


class _Part:
    """Scores of rows that share a threshold, cut wherever predictions differ."""

    def __init__(self, scores, change):
        order, self.above, self.edges = cuts(scores)
        totals = np.concatenate(
            [np.zeros((len(change), 1)), np.cumsum(change[:, order], axis=1)], axis=1
        )
        self.values, self.shift = totals[:, self.above], shift_of(self.edges)
        self.now = int(np.argmin(self.shift))

    def choices(self, near=None):
        """Cuts to choose from: of those alike in the constraints the cheapest, at most so many."""
        values = self.values
        if near is None:
            # Runs along which no constraint changes differ in cost alone.
            new = np.ones(values.shape[1], bool)
            new[1:] = (np.diff(values[1:], axis=1) != 0).any(axis=0)
            run = np.cumsum(new) - 1
            order = np.lexsort((self.shift, values[0], run))
            kept = order[np.unique(run[order], return_index=True)[1]]
        else:
            kept = np.arange(
                max(near - MOST_CUTS // 2, 0), min(near + MOST_CUTS // 2 + 1, values.shape[1])
            )
        if len(kept) > MOST_CUTS:
            kept = kept[np.linspace(0, len(kept) - 1, MOST_CUTS).round().astype(int)]
        more = [self.now] if near is None else [self.now, near]
        return np.unique(np.append(kept, more))

    def threshold(self, cut):
        return threshold_within(self.edges[cut])


def repaired(scores, problem, parts=None, rows=None):
    """Thresholds of least cost by which constraints hold for deterministic predictions.

    One threshold is found by trying all. Several are a separable choice of one cut a group, a
    mixed-integer problem (HiGHS): exact where a group has at most `MOST_CUTS` cuts that differ in
    the constraints; else on an even choice of them and near what was found, first by pairs of
    groups.

    Parameters
    ----------
    scores : array (n,)
        Positive where the score is above the threshold.
    problem : Problem
        Coefficients, constants and bounds, from `counterweight.numerics.rates.values.compile`.
    parts : int array (n,), optional
        Group of each row, 0 to A - 1, where each has a threshold of its own; -1 for rows that keep
        0. By default everybody shares one.
    rows : bool array (n,), optional
        Rows that count; by default those that any coefficient is about.

    Returns
    -------
    Repair
        Thresholds are 0 where decisions keep all constraints as they are, but for those of groups
        that lower the cost by more than `WORTH` of its total. Where none keeps them all, those that
        miss least in sum.
    """
    change = problem.positive - problem.negative
    size = 1 + (problem.positive + problem.negative).sum(axis=1)[1:] + np.abs(problem.bounds)
    fixed = problem.negative.sum(axis=1) + problem.constants
    fixed[1:] -= problem.bounds + ROUNDING * size
    used = (problem.positive + problem.negative).any(axis=0) if rows is None else rows
    if parts is None:
        groups = [used]
    else:
        groups = [used & (parts == k) for k in range(parts.max(initial=-1) + 1)]
        others = used & (parts < 0)
        fixed = fixed + change[:, others & (scores > 0)].sum(axis=1)
    total = (problem.positive + problem.negative).sum(axis=1)
    costs = Rates(change, fixed, total)
    some = [own.any() for own in groups]
    made = [_Part(scores[own], change[:, own]) for own in groups if own.any()]
    now = [part.now for part in made]
    before = _values(made, now, fixed)
    chosen = now
    if made and (before[1:] > 0).any():
        chosen = _least(made[0], fixed) if len(made) == 1 else _least_of_many(made, fixed, costs)
    elif len(made) > 1:
        # Who may go by the group need not decide worse than by thresholds of groups.
        found = _least_of_many(made, fixed, costs)
        missed, cost = _key(made, found, fixed)
        if not missed and cost < before[0] - WORTH * total[0]:
            chosen = found
    after = _values(made, chosen, fixed)
    thresholds = np.zeros(len(groups))
    thresholds[some] = [part.threshold(cut) for part, cut in zip(made, chosen, strict=True)]
    return Repair(thresholds, after[1:], before[1:], float(after[0]), float(before[0]))


def _values(parts, chosen, fixed):
    return fixed + sum(part.values[:, cut] for part, cut in zip(parts, chosen, strict=True))


def _least(part, fixed):
    values = part.values + fixed[:, None]
    missed = np.maximum(values[1:], 0).sum(axis=0)
    # Among thresholds of equal cost the one that moves least.
    return [int(np.lexsort((part.shift, values[0], missed))[0])]


def _least_of_many(parts, fixed, costs):
    """One cut of each part, by a mixed-integer problem near what pairs of parts lead to."""
    sums, above = [part.values for part in parts], [part.above for part in parts]
    best = best_cuts(sums, above, [part.now for part in parts], costs)
    for _ in range(ROUNDS):
        choices = [
            np.union1d(part.choices(), part.choices(cut))
            for part, cut in zip(parts, best, strict=True)
        ]
        found = _chosen(parts, choices, fixed)
        if _key(parts, found, fixed) >= _key(parts, best, fixed):
            break
        best = found
    return best


def _key(parts, chosen, fixed):
    values = _values(parts, chosen, fixed)
    return np.maximum(values[1:], 0).sum(), values[0]


def _chosen(parts, choices, fixed):
    """The choice of least cost that keeps all constraints, or that misses them least."""
    values = np.concatenate(
        [part.values[:, own] for part, own in zip(parts, choices, strict=True)], axis=1
    )
    which = np.repeat(np.arange(len(parts)), [len(own) for own in choices])
    shift = np.concatenate([part.shift[own] for part, own in zip(parts, choices, strict=True)])
    scale = max(np.abs(values[0]).max(initial=0.0), 1e-300)
    # A shift breaks ties only.
    cost = values[0] / scale + 1e-9 * np.minimum(shift, 1e3) / 1e3
    ends = np.cumsum([0, *(len(own) for own in choices)])

    def decoded(x):
        picked = [int(np.argmax(x[a:b])) for a, b in zip(ends[:-1], ends[1:], strict=True)]
        return [int(own[at]) for own, at in zip(choices, picked, strict=True)]

    room = -fixed[1:]
    found = _solved(cost, values[1:], room, which)
    if found is not None:
        chosen = decoded(found)
        over = _values(parts, chosen, fixed)[1:]
        if (over <= 0).all():
            return chosen
        found = _solved(cost, values[1:], room - np.where(over > 0, SOLVER, 0.0), which)
        if found is not None and (_values(parts, decoded(found), fixed)[1:] <= 0).all():
            return decoded(found)
    # Constraints cannot be kept together: least violation first, then least cost.
    m = len(room)
    slack = np.hstack([values[1:], -np.eye(m)])
    none = np.zeros(values.shape[1])
    first = _solved(np.append(none, np.ones(m)), slack, room, which)
    if first is None:
        raise CounterweightError(
            "The thresholds of the groups were not found: set repair: everyone, or loosen the "
            "constraints."
        )
    total = np.append(none, np.ones(m))[None, :]
    bound = np.append(room, first[len(cost) :].sum() * (1 + SOLVER) + SOLVER)
    second = _solved(np.append(cost, np.zeros(m)), np.vstack([slack, total]), bound, which)
    return decoded(first if second is None else second)


def _solved(cost, values, room, which):
    """Variables of the mixed problem, or None where it has no solution."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    whole = len(which)
    one = csr_array((np.ones(whole), (which, np.arange(whole))), (which.max() + 1, len(cost)))
    integral = np.zeros(len(cost))
    integral[:whole] = 1
    upper = np.full(len(cost), np.inf)
    upper[:whole] = 1
    found = milp(
        cost,
        integrality=integral,
        bounds=Bounds(0, upper),
        constraints=[LinearConstraint(one, 1, 1), LinearConstraint(values, -np.inf, room)],
        # A limit of nodes is the same on every machine, one of time is not.
        options={"node_limit": 20_000, "mip_rel_gap": 1e-5},
    )
    return found.x
