"""Thresholds of scores that keep constraints at least cost, of all people or by groups.

With them deterministic decisions are repaired: a classifier whose randomised rule keeps constraints
may break them by the sign of its score. One threshold for everybody, or one of each group for who
may use groups when deciding, brings them back where that family can. A scale of the scores moves no
decision but by the threshold that goes with it.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Number, Text
from counterweight.models.constraints.certificates import CONFIDENCE_OPTIONS, MarginFit, Trivial
from counterweight.models.constraints.estimator import (
    PARAMETER_OPTIONS,
    RateEstimator,
    own,
    texts_of,
    two_columns,
)
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.rates.datasets import DataSets, named_masks
from counterweight.numerics.rates.language import BUILTIN_SETS, rates
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import plain_constraints

REPAIR_OPTIONS = {
    "repair": Choice("everyone", ["everyone", "by_group", "none"],
        "How deterministic decisions are brought to keep the constraints on the training rows: one shift of the "
        "threshold for everybody, one for each group (which then must be known of those to decide on), or not at all."),
    "groups": Array([],
        "Data sets whose members may have thresholds of their own (by_group); where none is named, those that the "
        "constraints name.", items={"type": "string"}),
}  # fmt: skip

OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates that thresholds make small where they must move."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    "above": Number(0.5, "A score above it is a yes, as long as constraints do not ask otherwise."),
    **PARAMETER_OPTIONS,
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
}  # fmt: skip

LABEL = "Given scores"

RULE = "deterministic"


class Cuts:
    """Thresholds between different scores (n,), and what the rows above each sum to.

    Scores that differ by rounding only count as equal, so that no threshold parts them. Cut k has
    ``above[k]`` scores above it, 0 = above[0] < ... < n, and lies between the two ``edges[k]`` (the
    second is the higher one; infinite at both ends); ``values[:, k]`` sums the rows of `change` (m,
    n) above it; ``shift[k]`` is how far it is from 0, and `now` the cut that holds 0, or is nearest
    to it.
    """

    def __init__(self, scores, change):
        order = np.argsort(-scores, kind="stable")
        high = scores[order]
        same = 1e-9 * (1 + np.abs(high).max(initial=0.0))
        ends = np.flatnonzero(high[:-1] - high[1:] > same) + 1
        self.above = np.concatenate([[0], ends, [len(high)]])
        upper = np.concatenate([[np.inf], high[ends - 1], high[-1:]])
        lower = np.concatenate([high[:1], high[ends], [-np.inf]])
        self.edges = np.column_stack([lower, upper])
        totals = np.zeros((len(change), len(scores) + 1))
        np.cumsum(change[:, order], axis=1, out=totals[:, 1:])
        self.values = totals[:, self.above]
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


def repaired(scores, problem, parts=None, rows=None):
    """Thresholds of least cost by which constraints hold for deterministic predictions: a `Repair`.

    One threshold is found by trying all. Several are a separable choice of one cut a group, a
    mixed-integer problem (HiGHS): exact where a group has at most `MOST_CUTS` cuts that differ in
    the constraints; else on an even choice of them and near what was found, first by pairs of
    groups. Where none keeps all constraints, those that miss least in sum. Thresholds are 0 where
    decisions keep them as they are, but for those of groups that lower the cost by more than
    `WORTH` of its total.

    `scores` are (n,), positive above the threshold; `problem` is a `Problem` of `compile`; `parts`
    (n,) the group of each row, 0 to A - 1, where each has a threshold of its own, -1 for rows that
    keep 0 (by default all share one); `rows` (n,) those that count, by default those that any
    coefficient is about.
    """
    both = problem.positive + problem.negative
    room = ROUNDING * (1 + both.sum(axis=1)[1:] + np.abs(problem.bounds))
    costs = Rates.of(problem.positive, problem.negative, problem.constants, problem.bounds + room)
    used = both.any(axis=0) if rows is None else rows
    groups = [used]
    if parts is not None:
        groups = [used & (parts == k) for k in range(parts.max(initial=-1) + 1)]
        others = used & (parts < 0) & (scores > 0)
        costs.fixed = costs.fixed + costs.slope[:, others].sum(axis=1)
    some = [own.any() for own in groups]
    made = [Cuts(scores[own], costs.slope[:, own]) for own in groups if own.any()]
    chosen = now = [own.now for own in made]
    before = _total(made, now, costs.fixed)
    if made and (before[1:] > 0).any():
        chosen = _least(made[0], costs.fixed) if len(made) == 1 else _least_of_many(made, costs)
    elif len(made) > 1:
        # Who may go by the group need not decide worse than by thresholds of groups.
        found = _least_of_many(made, costs)
        missed, cost = _key(made, found, costs.fixed)
        if not missed and cost < before[0] - WORTH * costs.size[0]:
            chosen = found
    after = _total(made, chosen, costs.fixed)
    thresholds = np.zeros(len(groups))
    thresholds[some] = [own.threshold(cut) for own, cut in zip(made, chosen, strict=True)]
    return Repair(thresholds, after[1:], before[1:], float(after[0]), float(before[0]))


def _least(part, fixed):
    values = part.values + fixed[:, None]
    missed = np.maximum(values[1:], 0).sum(axis=0)
    best = np.flatnonzero(missed == missed.min())
    best = best[values[0, best] == values[0, best].min()]
    # Among thresholds of equal cost the one that moves least.
    return [int(best[np.argmin(part.shift[best])])]


def _least_of_many(groups, costs):
    """One cut of each group, by a mixed-integer problem near what pairs of groups lead to."""
    best = best_cuts(groups, costs)
    for _ in range(ROUNDS):
        choices = [
            np.union1d(own.choices(), own.choices(cut))
            for own, cut in zip(groups, best, strict=True)
        ]
        found = _chosen(groups, choices, costs.fixed)
        if _key(groups, found, costs.fixed) >= _key(groups, best, costs.fixed):
            break
        best = found
    return best


def _key(groups, chosen, fixed):
    values = _total(groups, chosen, fixed)
    return np.maximum(values[1:], 0).sum(), values[0]


def _chosen(groups, choices, fixed):
    """The choice of least cost that keeps all constraints, or that misses them least."""
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
        raise CounterweightError(
            "The thresholds of the groups were not found: set repair: everyone, or loosen the "
            "constraints."
        )
    bound = np.append(room, first[len(cost) :].sum() * (1 + SOLVER) + SOLVER)
    second = _solved(np.append(cost, np.zeros(m)), np.vstack([slack, missed]), bound, which)
    return decoded(first if second is None else second)


def _solved(cost, values, room, which):
    """Variables of the mixed problem, or None where it has no solution."""
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
        # A limit of nodes is the same on every machine, one of time is not.
        options={"node_limit": 20_000, "mip_rel_gap": 1e-5},
    )
    return found.x


#: The arrays that every fit with `MarginFit` and `RepairedDecisions` stores, and its numbers.
STORED = {
    "features": "n_features_in_",
    **own("feasible", "margins", "certified", "thresholds", "threshold_groups"),
}
STORED_NUMBERS = {"features": int, "feasible": bool, "certified": bool}
log = logging.getLogger("counterweight")
#: Scores are compared with thresholds after rounding to so many decimals.
DECIMALS = 12


def named_groups(options):
    """Data sets that thresholds of groups go by: named ones, else those of the constraints."""
    if options.get("groups"):
        return list(options["groups"])
    found = []
    for plain in plain_constraints(texts_of(options)):
        for rate in [*rates(plain.left), *rates(plain.right)]:
            found += [name for part in rate.sets for name in part if name not in BUILTIN_SETS]
    return list(dict.fromkeys(found))


@dataclass(eq=False, repr=False)
class RepairedDecisions(NamedColumns):
    """Decisions by thresholds that keep constraints where the scores alone do not.

    Attributes
    ----------
    thresholds_ : ndarray (A,)
        A positive decision is a score above it; 0 where nothing had to be repaired.
    threshold_groups_ : ndarray (A, G)
        Who has which threshold: 1 for members of each of `named_groups`; no columns for one
        threshold for everybody.
    repair_ : dict or None
        ``excess_before``, ``excess`` by constraint, ``cost_before`` and ``cost`` (the objective,
        deterministic, on the training rows), and ``missed``: constraints that no threshold of the
        family keeps.
    """

    objective: str = "error(labeled)"
    constraints: tuple = ()
    kappa: float | None = None
    target: float | None = None
    repair: str = "everyone"
    groups: tuple = ()

    repair_ = trivial_ = None

    def _check_training(self, samples):
        super()._check_training(samples)
        self.trivial_ = None
        if texts_of(vars(self)):
            p, decided = self._seen
            problem = self._repair_problem(samples)
            yes = decided if self.repairs_ and decided is not None else p
            cost = problem.positive[0] @ yes + problem.negative[0] @ (1.0 - yes)
            cost = float(cost + problem.constants[0])
            self.trivial_ = Trivial.of(problem, cost, "training")
            # With a confidence the rows that judge tell it.
            if self.trivial_told_ and getattr(self, "confidence", None) is None:
                log.warning("%s", self.trivial_told_)

    @property
    def trivial_told_(self):
        """What a rule that uses no columns would do, where the classifier is no better; else ""."""
        one = self.trivial_
        if one is None or not one.behind:
            return ""
        keeps = "which keeps all constraints, too," if one.rule.keeps else "which breaks some,"
        return (
            f"The classifier is no better than a rule that uses no columns: its {self.objective} "
            f"on the {one.rows} rows is {one.cost:.3g}, and {one.rule.words}, {keeps} has "
            f"{one.rule.cost:.3g}."
        )

    @property
    def warnings_(self):
        """What is wrong with the result, in sentences; also logged."""
        return [*super().warnings_, *filter(None, [self.trivial_told_])]

    def _clear_thresholds(self):
        self.thresholds_, self.threshold_groups_ = np.zeros(1), np.zeros((1, 0))

    def _settle(self, samples):
        self._repair(samples)
        super()._settle(samples)

    @property
    def repairs_(self):
        """Whether decisions may differ from the sign of the score."""
        return self.repair != "none" and bool(texts_of(vars(self)))

    def _repair(self, samples, problem=None):
        """Find thresholds for the training rows, or for coefficients that are given."""
        self._clear_thresholds()
        self.repair_ = None
        if not self.repairs_:
            return
        scores = self.decision_function(samples.X)
        problem = self._repair_problem(samples) if problem is None else problem
        self.threshold_groups_, parts = self._parted(samples)
        found, names = self._thresholds(scores, problem, parts), problem.names
        self.thresholds_ = found.thresholds
        self.repair_ = {
            "excess_before": dict(zip(names, found.before.tolist(), strict=False)),
            "excess": dict(zip(names, found.excess.tolist(), strict=False)),
            "cost_before": found.cost_before,
            "cost": found.cost,
            "missed": [names[j] for j in found.missed],
        }
        if len(found.missed):
            warnings.warn(self.repairs_told_, UserWarning, stacklevel=4)

    def _parted(self, samples):
        """Who has a threshold of their own, as `threshold_groups_`, and the part of each row."""
        names = named_groups(vars(self)) if self.repair == "by_group" else ()
        if not names:
            return np.zeros((1, 0)), None
        members = np.column_stack([samples.mask(((name,),)) for name in names])
        found, parts = np.unique(members, axis=0, return_inverse=True)
        return found.astype(float), parts.ravel()

    def _thresholds(self, scores, problem, parts):
        """The thresholds of least cost, as a `Repair`."""
        return repaired(scores, problem, parts)

    def _repair_problem(self, samples):
        """Objective and constraints as coefficients on some rows."""
        return compile_rates(self.objective, texts_of(vars(self)), samples, self._numbers())

    @property
    def repairs_told_(self):
        """What the repair of decisions did, in a sentence; nothing where there was none."""
        done = self.repair_
        if not done or not any(over > 0 for over in done["excess_before"].values()):
            return ""
        by_group = self.repair == "by_group"
        who = "Thresholds of groups" if by_group else "One threshold for everybody"
        over = [f"{name} by {done['excess'][name]:.4g}" for name in done["missed"]]
        what = f"keep{'' if by_group else 's'} all constraints in deterministic decisions"
        if over:
            what = (
                "cannot keep all constraints in deterministic decisions: what is missed least is "
                f"{listed(over, 20)}"
            )
        # What is left of a sum that rounds to 0 is 0.
        costs = [f"{round(done[key], 12) + 0.0:.4g}" for key in ("cost_before", "cost")]
        moves = f"goes from {costs[0]} to {costs[1]}" if costs[0] != costs[1] else "does not change"
        return f"{who} {what}; the deterministic objective on the training rows {moves}."

    def _thresholds_for(self, rows, samples):
        """The threshold of each row: a number, or (n,) where groups have their own."""
        names = named_groups(vars(self)) if self.repair == "by_group" else []
        thresholds = np.ravel(getattr(self, "thresholds_", 0.0))
        if not thresholds.any():
            return 0.0
        if not names:
            return float(thresholds[0])
        if samples is None or len(samples) != rows:
            raise CounterweightError(
                "Thresholds of groups need the groups of each row to decide: give datasets, with a "
                f"mask over these {rows} rows for each of {listed(names)}."
            )
        missing = [name for name in names if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to decide on have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        members = np.column_stack([samples.members[name] for name in names])
        # Combinations of groups that no training row was in keep the score's own sign.
        of_row = np.zeros(rows)
        known = np.reshape(self.threshold_groups_, (len(thresholds), len(names))) > 0.5
        for part, threshold in zip(known, thresholds, strict=True):
            of_row[(members == part).all(axis=1)] = threshold
        return of_row

    def answers(self, X, samples=None):
        """Chances of a yes (n,), and decisions (n,) or None where they go by the score's sign."""
        scores = self.decision_function(X)
        decided = self._above(scores, samples) if self.repairs_ else None
        return self._randomised(scores)[:, 1], decided

    def _above(self, scores, samples):
        # Rounded, so that no decision hangs on the order in which a score was added up.
        return np.round(scores - self._thresholds_for(len(scores), samples), DECIMALS) > 0

    def predict(
        self, X: ArrayLike, samples: ArrayLike | None = None, datasets: object = None
    ) -> np.ndarray:
        """The deterministic classifier: the second class where f is above the threshold.

        `samples`, or `datasets` as of ``fit`` (or a data frame of masks), tell the members of the
        groups for ``repair: by_group``. Columns and functions that were given to ``fit`` are known.
        """
        scores = self.decision_function(X)
        if datasets is None and samples is None and self.repair == "by_group":
            datasets = self.data_set_rules_ or None
        if datasets is not None:
            datasets = named_masks(datasets, X)
            samples = DataSets(None, np.full(len(scores), -1), None, datasets)
        return self.classes_[self._above(scores, samples).astype(int)]


@dataclass(eq=False, repr=False)
class GivenScores(MarginFit, RepairedDecisions, RateEstimator):
    """The first feature as a score, with the thresholds of least cost by which constraints hold.

    Nothing is learned but thresholds, on the training rows. The features must be the score alone
    (``features: {recipe: one_hot, only: [score]}``); of others nothing is looked at. Options:
    `OPTIONS`.

    Attributes
    ----------
    coef_ : ndarray (d,)
        1 for the score, else 0.
    thresholds_, threshold_groups_, repair_, constraint_checks_
        See `RepairedDecisions`; thresholds are distances from `above`.
    margins_, held_out_checks_, certified_, certificate_
        See `MarginFit`; both lines of the margins are of decisions.
    """

    above: float = 0.5

    FITTED = {"coefficient": "coef_"} | own(
        "thresholds", "threshold_groups", "margins", "certified"
    )
    NUMBERS = {"certified": bool}
    KEPT = tuple(FITTED)
    _options = OPTIONS
    _has_chances = False

    def _fit(self, samples, rng):
        self.coef_ = np.eye(1, samples.X.shape[1])[0]

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The score less `above`, (n,)."""
        return np.asarray(self._checked(X) @ self.coef_).ravel() - self.above

    def answers(self, X, samples=None):
        """Decisions (n,), and the same as chances of a yes: nobody tosses a coin."""
        decided = self._above(self.decision_function(X), samples)
        return decided.astype(float), decided

    def predict_proba(self, X: ArrayLike, samples: ArrayLike | None = None) -> np.ndarray:
        """1 for what is decided, (n, 2); see `RepairedDecisions.predict` for `samples`."""
        return two_columns(self.answers(X, samples)[0])
