"""Where thresholds of scores may lie, and the ones of least cost by which constraints hold.

One threshold for everybody is found by trying all, those of groups by pairs or a mixed problem.
"""

import itertools
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np


def descending(scores):
    """Places of scores (n,) from high to low, equal ones in their order; as a stable sort has them.

    Sums of digits are sorted in a time that goes by n; what differs beyond 32 bits is sorted after.
    """
    top, low = scores.max(initial=-np.inf), scores.min(initial=np.inf)
    if not 0 < top - low < np.inf:
        return np.argsort(-scores, kind="stable")
    digits = ((top - scores) * ((2**32 - 1) / (top - low))).astype(np.uint32)
    order = np.argsort(digits.astype(np.uint16), kind="stable")
    order = order[np.argsort((digits >> 16).astype(np.uint16)[order], kind="stable")]
    high = scores[order]
    if (high[:-1] < high[1:]).any():
        order = order[np.argsort(-high, kind="stable")]
    return order


class Cuts:
    """Thresholds between different scores (n,), and what the rows above each sum to.

    Scores that differ by rounding only count as equal, so that no threshold parts them. Cut k has
    ``above[k]`` scores above it, 0 = above[0] < ... < n, and lies between the two ``edges[k]`` (the
    second is the higher one; infinite at both ends); ``values[:, k]`` sums the rows of `change` (m,
    n) above it; ``shift[k]`` is how far it is from 0, and `now` the cut that holds 0, or is nearest
    to it.
    """

    def __init__(self, scores, change):
        order = descending(scores)
        high = scores[order]
        same = 1e-9 * (1 + np.abs(high).max(initial=0.0))
        ends = np.flatnonzero(high[:-1] - high[1:] > same) + 1
        self.above = np.concatenate([[0], ends, [len(high)]])
        upper = np.concatenate([[np.inf], high[ends - 1], high[-1:]])
        lower = np.concatenate([high[:1], high[ends], [-np.inf]])
        self.edges = np.column_stack([lower, upper])
        totals = np.zeros((len(change), len(scores) + 1))
        np.cumsum(np.take(change, order, axis=1), axis=1, out=totals[:, 1:])
        whole = len(self.above) == totals.shape[1]
        self.values = totals if whole else np.take(totals, self.above, axis=1)
        nearest = np.minimum(np.abs(lower), np.abs(upper))
        self.shift = np.where((lower <= 0) & (upper > 0), 0.0, nearest)
        self.now = int(np.argmin(self.shift))

    def threshold(self, cut):
        """The threshold of a cut: 0 if it holds 0, else the middle between the two scores."""
        low, high = self.edges[cut]
        if low <= 0 < high:
            return 0.0
        apart = 1e-6 * (1 + min(abs(low), abs(high)))
        if np.isinf(high):
            return float(low + apart)
        if np.isinf(low):
            return float(high - apart)
        return float(0.5 * (low + high))

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
            low, high = near - MOST_CUTS // 2, near + MOST_CUTS // 2 + 1
            kept = np.arange(max(low, 0), min(high, values.shape[1]))
        if len(kept) > MOST_CUTS:
            kept = kept[np.linspace(0, len(kept) - 1, MOST_CUTS).round().astype(int)]
        return np.unique([*kept, self.now, *([] if near is None else [near])])


def interval_minima(values, low, high):
    """Least of values[low:high] of each (nonempty) interval, and the first place of it.

    Minima over all runs of 2^k values are held; two runs, which may overlap, make up any interval.
    Intervals that all begin, or all end, where the values do need one run along them.
    """
    if not low.any():
        at = _running(values, np.less)[high - 1]
        return values[at], at
    if (high == len(values)).all():
        at = len(values) - 1 - _running(values[::-1], np.less_equal)[::-1][low]
        return values[at], at
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


def _running(values, lower):
    """The place of the least value up to each one, moved where one is `lower` than those before."""
    before = np.minimum.accumulate(values)
    moved = np.append(True, lower(values[1:], before[:-1]))
    return np.maximum.accumulate(np.where(moved, np.arange(len(values)), 0))


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

    Expression j of probabilities p is ``slope[j] @ p + fixed[j]``, constraints at most 0. `slope`
    is (1 + m, n), `fixed` and `size`, the sum of all costs and so the unit of rounding, (1 + m,).
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
    groups = [Cuts(score, slope) for score, slope in zip(scores, slopes, strict=True)]
    place = best_cuts(groups, costs)
    total = _total(groups, place, costs.fixed)
    if (total[1:] > costs.slack).any():
        return None, None
    found = [own.threshold(k) for own, k in zip(groups, place, strict=True)]
    return float(total[0]), found


def best_cuts(groups, costs):
    """The cheapest feasible cut of each group (`Cuts`), or what comes near to one.

    The best of all for one group, and for two where each rate rises or falls along the cuts; else
    what no change of two groups at a time makes better.
    """
    # Violations at a price beyond any gain, so that the first rounds lead to feasible places.
    price = 10 * max(costs.size[0], 1e-300) / np.where(costs.size[1:] > 0, costs.size[1:], 1.0)

    def judged(values):
        over = np.maximum(values[1:] - costs.slack[:, None], 0.0)
        return np.where((over > 0).any(axis=0), price @ over + 10 * costs.size[0], 0.0) + values[0]

    if len(groups) == 1:
        return [int(np.argmin(judged(groups[0].values + costs.fixed[:, None])))]
    # Begun where all have about the same share above, if that is nearer to what is asked.
    starts = [[own.now for own in groups]] + [
        [int(np.searchsorted(own.above, level * own.above[-1])) for own in groups]
        for level in LEVELS
    ]
    height = judged(np.array([_total(groups, place, costs.fixed) for place in starts]).T)
    begun = [starts[int(np.argmin(height))]]
    if 2 < len(groups) <= MANY:
        # Where all answers are no, two groups alone may not move.
        inside = 2 + np.argsort(height[2:-1], kind="stable")[:BEGUN]
        begun += [starts[k] for k in inside]
    ended = [_by_pairs(groups, list(place), costs, judged) for place in begun]
    return min(ended, key=lambda one: one[0])[1]


def _total(groups, place, fixed):
    return fixed + sum(own.values[:, k] for own, k in zip(groups, place, strict=True))


def _by_pairs(groups, place, costs, judged):
    """Places moved two at a time for as long as that helps, and how they are judged."""
    for _ in range(3):
        before = list(place)
        for i, j in itertools.combinations(range(len(groups)), 2):
            others = [k for k in range(len(groups)) if k not in (i, j)]
            rest = costs.fixed + sum(groups[k].values[:, place[k]] for k in others)
            pair = groups[i].values, groups[j].values, rest
            found = exact_pair(*pair, costs.slack / 2)
            place[i], place[j] = found or _best_pair(*pair, judged, (place[i], place[j]))
        if place == before or (len(groups) == 2 and found):
            break
    return float(judged(_total(groups, place, costs.fixed)[:, None])[0]), place


def exact_pair(first, second, rest, slack):
    """The best feasible pair of cuts of all, by sums (1 + m, cuts) beside a `rest` (1 + m,).

    None without one, or where a rate goes up and down again along the cuts of the second.
    """
    low, high = np.zeros(first.shape[1], int), np.full(first.shape[1], second.shape[1])
    for mine, other, fixed, room in zip(first[1:], second[1:], rest[1:], slack, strict=True):
        change, left = np.diff(other), room - fixed - mine
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
    counts = first.shape[1], second.shape[1]
    spread, centre = list(counts), list(now)
    while True:
        grids = []
        for count, middle, width in zip(counts, centre, spread, strict=True):
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
#: Nodes after which it ends: a limit of nodes is the same on every machine, one of time is not.
NODES = 20_000
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
    def key(self):
        """By which repairs are compared: what is missed in sum, then the cost."""
        return np.maximum(self.excess, 0.0).sum().round(12), self.cost

    @property
    def missed(self):
        """Constraints that no threshold of the family keeps together with the others."""
        return np.flatnonzero(self.excess > 0)


def repaired(scores, problem, parts=None, rows=None):
    """Thresholds of least cost for scores (n,), positive above them; see `Repairs`."""
    return Repairs(problem, parts, rows).of(scores)


def cheapest_cut(scores, problem):
    """The threshold of scores (n,) of least cost, constraints apart; of equals the middle one."""
    one = Repairs(problem)
    if not one._groups:
        return 0.0
    own = one._groups[0]
    part = Cuts(scores[own], one.costs.slope[:1, own])
    best = np.flatnonzero(part.values[0] == part.values[0].min())
    return part.threshold(best[len(best) // 2])


class Repairs:
    """Thresholds of least cost by which constraints hold for deterministic predictions.

    One threshold is found by trying all. Several are a separable choice of one cut a group, a
    mixed-integer problem (HiGHS): exact where a group has at most `MOST_CUTS` cuts that differ in
    the constraints; else on an even choice of them and near what was found, first by pairs of
    groups. Where none keeps all constraints, those that miss least in sum. Thresholds are 0 where
    decisions keep them as they are, but for those of groups that lower the cost by more than
    `WORTH` of its total.

    `problem` is a `Problem` of `compile`; `parts` (n,) the group of each row, 0 to A - 1, where
    each has a threshold of its own, -1 for rows that keep 0 (by default all share one); `rows` (n,)
    those that count, by default those that any coefficient is about.
    """

    def __init__(self, problem, parts=None, rows=None):
        both = problem.positive + problem.negative
        room = ROUNDING * (1 + both.sum(axis=1)[1:] + np.abs(problem.bounds))
        self.costs = Rates.of(
            problem.positive, problem.negative, problem.constants, problem.bounds + room
        )
        used = both.any(axis=0) if rows is None else rows
        groups, self._others = [used], None
        if parts is not None:
            groups = [used & (parts == k) for k in range(parts.max(initial=-1) + 1)]
            self._others = used & (parts < 0)
        self._some = [own.any() for own in groups]
        # Those of all rows are not copied.
        self._groups = [slice(None) if own.all() else own for own in groups if own.any()]
        self._slopes = [self.costs.slope[:, own] for own in self._groups]

    def of(self, scores):
        """The thresholds of scores (n,), as a `Repair`."""
        fixed = self.costs.fixed
        if self._others is not None:
            fixed = fixed + self.costs.slope[:, self._others & (scores > 0)].sum(axis=1)
        costs = replace(self.costs, fixed=fixed)
        parts = zip(self._groups, self._slopes, strict=True)
        made = [Cuts(scores[own], slope) for own, slope in parts]
        chosen = now = [own.now for own in made]
        before = _total(made, now, fixed)
        if made and (before[1:] > 0).any():
            chosen = _least(made[0], fixed) if len(made) == 1 else _least_of_many(made, costs)
        elif len(made) > 1:
            # Who may go by the group need not decide worse than by thresholds of groups.
            found = _least_of_many(made, costs)
            missed, cost = _key(made, found, fixed)
            if not missed and cost < before[0] - WORTH * costs.size[0]:
                chosen = found
        after = _total(made, chosen, fixed)
        thresholds = np.zeros(len(self._some))
        thresholds[self._some] = [own.threshold(cut) for own, cut in zip(made, chosen, strict=True)]
        return Repair(thresholds, after[1:], before[1:], float(after[0]), float(before[0]))


def _least(part, fixed):
    missed = part.values[1:] + fixed[1:, None]
    missed = np.maximum(missed, 0, out=missed).sum(axis=0)
    best = np.flatnonzero(missed == missed.min())
    costs = part.values[0, best] + fixed[0]
    best = best[costs == costs.min()]
    # Among thresholds of equal cost the one that moves least.
    return [int(best[np.argmin(part.shift[best])])]


def _least_of_many(groups, costs):
    """One cut of each group: of two the best pair, where each rate goes one way along the cuts.

    Else by a mixed-integer problem near what pairs of groups lead to.
    """
    if len(groups) == 2:
        pair = exact_pair(
            groups[0].values, groups[1].values, costs.fixed, np.zeros(len(costs.slack))
        )
        if pair is not None:
            return list(pair)
    best = best_cuts(groups, costs)
    for _ in range(ROUNDS):
        choices = [
            np.union1d(own.choices(), own.choices(cut))
            for own, cut in zip(groups, best, strict=True)
        ]
        found = _chosen(groups, choices, costs.fixed)
        if found is None or _key(groups, found, costs.fixed) >= _key(groups, best, costs.fixed):
            break
        best = found
    return best


def _key(groups, chosen, fixed):
    values = _total(groups, chosen, fixed)
    return np.maximum(values[1:], 0).sum(), values[0]


def _chosen(groups, choices, fixed):
    """The choice of least cost that keeps all constraints, or misses them least; None: not found.

    A search that ends at `NODES` with nothing in hand has not shown that there is nothing.
    """
    pairs = list(zip(groups, choices, strict=True))
    values = np.concatenate([own.values[:, cuts] for own, cuts in pairs], axis=1)
    shift = np.concatenate([own.shift[cuts] for own, cuts in pairs])
    which = np.repeat(np.arange(len(groups)), [len(cuts) for cuts in choices])
    scale = max(np.abs(values[0]).max(initial=0.0), 1e-300)
    # A shift breaks ties only.
    cost = values[0] / scale + 1e-9 * np.minimum(shift, 1e3) / 1e3

    def decoded(x):
        return [int(cuts[np.argmax(x[: len(which)][which == k])]) for k, cuts in enumerate(choices)]

    room = -fixed[1:]
    found = _solved(cost, values[1:], room, which)
    if found is not None:
        chosen = decoded(found)
        over = _total(groups, chosen, fixed)[1:]
        if (over <= 0).all():
            return chosen
        found = _solved(cost, values[1:], room - np.where(over > 0, SOLVER, 0.0), which)
        if found is not None and (_total(groups, decoded(found), fixed)[1:] <= 0).all():
            return decoded(found)
    # Constraints cannot be kept together: least violation first, then least cost.
    m = len(room)
    slack = np.hstack([values[1:], -np.eye(m)])
    missed = np.append(np.zeros(values.shape[1]), np.ones(m))
    first = _solved(missed, slack, room, which)
    if first is None:
        return None
    bound = np.append(room, first[len(cost) :].sum() * (1 + SOLVER) + SOLVER)
    second = _solved(np.append(cost, np.zeros(m)), np.vstack([slack, missed]), bound, which)
    return decoded(first if second is None else second)


def _solved(cost, values, room, which):
    """Variables of the mixed problem, or None where there are none, or none within `NODES`."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array

    whole = len(which)
    one = csr_array((np.ones(whole), (which, np.arange(whole))), (which.max() + 1, len(cost)))
    picks = np.arange(len(cost)) < whole
    found = milp(
        cost,
        integrality=picks,
        bounds=Bounds(0, np.where(picks, 1.0, np.inf)),
        constraints=[LinearConstraint(one, 1, 1), LinearConstraint(values, -np.inf, room)],
        options={"node_limit": NODES, "mip_rel_gap": 1e-5},
    )
    return found.x


#: A constraint binds that is kept by no more than this share of all that it could add up to.
SLACK = 0.02
#: Lengths of a tilt, in standard deviations of the score, and how often all lines are gone along.
TILTS, TILTED = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2), 2
#: Rounding that a constraint may be missed by.
ROOM = 1e-9


def judge(rule, problem, expected, groups, lines, repairs, tilts=TILTS, rounds=TILTED, near=None):
    """What a rule costs where it keeps constraints; its tilt and decisions.

    Tilt and thresholds go by the costs that are `expected`. What no constraint asks for that binds
    is not tried. The search begins at no tilt, or at that of the rule `near` if it is better.
    """
    fixed, m = problem.constants.copy(), len(problem.names)
    fixed[1:] -= problem.bounds
    slack = -SLACK * (problem.positive + problem.negative)[1:].sum(axis=1)

    def valued(yes, problem):
        values = problem.positive @ yes + problem.negative @ (1 - yes) + fixed
        missed = round(float(np.maximum(values[1:] - ROOM, 0).sum()), 12)
        return (missed, float(values[0])), values[1:] > slack

    def tried(tilt):
        of_row, scores = 0.0, raw - tilt @ lines if tilt.any() else raw
        if repairs:
            found = thresholds.of(scores).thresholds
            of_row = found[np.zeros(len(scores), int) if groups is None else groups]
        yes = (scores > of_row).astype(float)
        return *valued(yes, expected), tilt, yes, scores

    raw, rule.lines, thresholds = rule.scores, lines, Repairs(expected, groups)
    rule.raw, plain = raw, tried(np.zeros(m))
    best = plain
    if lines is not None and m:
        units = np.std(raw) / np.maximum(np.std(lines, axis=1), 1e-300)
        if near is not None and near.any():
            best = min(best, tried(near), key=lambda one: one[0])
        for _ in range(rounds):
            begun = best[0]
            for j, length, sign in itertools.product(range(m), tilts, (1, -1)):
                tilt = best[2].copy()
                tilt[j] = max(tilt[j] + sign * length * units[j], 0.0)
                if tilt[j] < best[2][j] or (tilt[j] > best[2][j] and best[1][j]):
                    best = min(best, tried(tilt), key=lambda one: one[0])
            if best[0] == begun:
                break
        worth = WORTH * (problem.positive + problem.negative)[0].sum()
        if not (best[0][0], best[0][1] + worth) < plain[0]:
            best = plain
    _, _, rule.tilt, rule.decided, rule.scores = best
    (rule.missed, rule.cost), _ = valued(rule.decided, problem)
