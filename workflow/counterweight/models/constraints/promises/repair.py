"""Repair of deterministic decisions: thresholds of least cost by which constraints hold.

A classifier that keeps constraints by chances may break them by the sign of its score. Moving the
threshold of everybody, or one of each group for who may use groups when deciding, brings them
back where that family can. A scale of the scores moves no decision but by the threshold that goes
with it, so that one threshold stands for one shift or scale.
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.promises.cuts import cuts, shift_of, threshold_within
from counterweight.models.constraints.promises.thresholds import ROUNDING, Rates, best_cuts

#: Thresholds of a group that one mixed problem chooses from, at most.
MOST_CUTS = 300
#: Share of the objective's total cost that is worth thresholds of groups which no constraint needs.
WORTH = 5e-4
#: How many times the choice is repeated among thresholds near the chosen ones.
ROUNDS = 3
#: What the solver of mixed problems calls rounding.
SOLVER = 2e-6


class Repair(NamedTuple):
    """Thresholds and what they do.

    Attributes
    ----------
    thresholds : ndarray (A,)
        Of everybody, or of each group; positive where the score is above.
    excess : ndarray (m,)
        By how much each constraint is broken with them; at most 0 where it is kept.
    before : ndarray (m,)
        The same with thresholds of 0.
    cost, cost_before : float
        Value of the objective.
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

    Parameters
    ----------
    scores : array (n,)
        Positive where the score is above the threshold.
    problem : Problem
        Coefficients, constants and bounds, from `counterweight.numerics.rates.coefficients`.
    parts : int array (n,), optional
        Group of each row, 0 to A - 1, where each has a threshold of its own; -1 for rows that
        keep 0. By default everybody shares one.
    rows : bool array (n,), optional
        Rows that count; by default those that any coefficient is about.

    Returns
    -------
    Repair
        Thresholds are 0 where decisions keep all constraints as they are, but for those of groups
        that lower the cost by more than `WORTH` of its total. Where none keeps them all, those
        that miss least in sum.

    Notes
    -----
    One threshold is found by trying all. Several are a separable choice of one cut a group, a
    mixed-integer problem (HiGHS): exact where a group has at most `MOST_CUTS` cuts that differ in
    the constraints; else on an even choice of them and near what was found, first by pairs of
    groups.
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
