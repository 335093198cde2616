"""Thresholds of several groups that keep constraints together at least cost, by pairs of groups."""

import itertools
from dataclasses import dataclass

import numpy as np

from counterweight.models.constraints.promises.cuts import cuts, interval_minima, threshold_within

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

    Expression j of probabilities p is ``slope[j] @ p + fixed[j]``; constraints are to be at
    most 0.

    Attributes
    ----------
    slope : array (1 + m, n)
    fixed : array (1 + m,)
    size : array (1 + m,)
        Sum of all costs: the unit of rounding.
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
    """Least objective among feasible thresholds, and the thresholds.

    Parameters
    ----------
    scores : sequence of array (rows of the group,)
    slopes : sequence of array (1 + m, rows of the group)
        Change of the objective and of the constraints by a yes to each row.
    costs : Rates
        What they add to.

    Returns
    -------
    value : float or None
        None if no thresholds are feasible.
    thresholds : list of float
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

    The best of all for one group, and for two where each rate rises or falls along the cuts;
    else what no change of two groups at a time makes better.

    Parameters
    ----------
    sums : list of array (1 + m, cuts)
        What the rows above each cut add to the objective and to the constraints.
    above : list of int array (cuts,)
        How many rows that are.
    now : list of int
        A place to begin from.
    costs : Rates
        What they add to.

    Returns
    -------
    list of int
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
