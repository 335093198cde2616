"""Rules that need no training under constraints: thresholds of a score, for all or by group."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterweight.models.constraints.promises.cuts import cuts, interval_minima, threshold_within
from counterweight.numerics.rates.language import BUILTIN_SETS, parse_constraint, rates

#: Thresholds of each group that are looked at together, at first and again around the best.
GRID = 160
#: Shares above the thresholds of all groups that are begun from.
LEVELS = 41
#: Of more than two groups, how many of these are followed beside the best place of all.
BEGUN = 2
#: Groups that get thresholds of their own; of more, the largest.
MOST_GROUPS = 8
#: More features than these are not regressed on.
MOST_FEATURES = 500
#: A group is told where no score is further than this from 1, or 0; after so many refinements.
EXACT, REFINED = 1e-9, 12
#: Lengths of a tilt, in standard deviations of the score.
TILTS = [sign * length for length in (0.15, 0.3, 0.6, 1.2, 2.4) for sign in (1, -1)]
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


@dataclass
class KnownRule:
    """A deterministic rule that meets the constraints on the training rows.

    Attributes
    ----------
    name : str
        "as it is", "shifted", "by group" or "tilted".
    value : float
        Objective of the rule.
    w : array (coordinates,)
        Positive iff the score is above 0.
    """

    name: str
    value: float
    w: np.ndarray


def known_rules(rows, w, costs, groups=(), tilts=()):
    """The best rules among thresholds of one score that meet the constraints.

    Parameters
    ----------
    rows : DistinctRows
        With a bias, else there is only the score as it is.
    w : array (coordinates,)
        The score.
    costs : Rates
        On the distinct rows.
    groups : sequence of (bool array (distinct rows,), array (coordinates,))
        Groups without rows in common, each with the direction that raises the scores of its
        rows by 1 and leaves those of the others.
    tilts : sequence of array (coordinates,)
        Directions that come near to groups that no feature tells: the score is tilted along
        each, by several lengths, before the threshold is sought.

    Returns
    -------
    list of KnownRule
        Those that exist, best last.
    """
    f = rows.scores(w)
    found = []
    values = costs.values(f > 0)
    if (values[1:] <= costs.slack).all():
        found.append(KnownRule("as it is", float(values[0]), w))
    if rows.bias == "none":
        return found
    one = np.zeros(len(w))
    one[-1] = 1.0
    everybody = [(np.ones(len(f), bool), one)]
    for name in ("shifted", "by group"):
        cells = everybody
        if name == "by group":
            rest = ~np.any([mask for mask, _ in groups], axis=0) if groups else np.zeros(0, bool)
            cells = list(groups)
            if rest.any():
                cells.append((rest, one - sum(line for _, line in groups)))
            if len(cells) < 2:
                break
        value, thresholds = _best_thresholds([f[mask] for mask, _ in cells], cells, costs)
        if value is not None:
            shift = sum(t * line for t, (_, line) in zip(thresholds, cells, strict=True))
            found.append(KnownRule(name, value, w - shift))
    for line in tilts:
        along = rows.scores(line)
        unit = float(np.std(f)) / max(float(np.std(along)), 1e-300)
        for length in TILTS:
            tilted = f + length * unit * along
            value, thresholds = _best_thresholds([tilted], everybody, costs)
            if value is not None:
                v = w + length * unit * line - thresholds[0] * one
                found.append(KnownRule("tilted", value, v))
    return sorted(found, key=lambda rule: -rule.value)


def shifted_value(f, costs):
    """Objective of the sign of a score, its threshold moved where constraints need it; or inf."""
    values = costs.values(f > 0)
    if (values[1:] <= costs.slack).all():
        return float(values[0])
    value, _ = _best_thresholds([f], [(np.ones(len(f), bool), None)], costs)
    return np.inf if value is None else value


def _best_thresholds(scores, cells, costs):
    """Least objective among feasible thresholds, and the thresholds; None if none is feasible."""
    tables = []
    for score, (mask, _) in zip(scores, cells, strict=True):
        order, above, edges = cuts(score)
        sums = np.zeros((len(costs.fixed), len(score) + 1))
        np.cumsum(costs.slope[:, mask][:, order], axis=1, out=sums[:, 1:])
        tables.append((sums[:, above], above, edges))
    place = [_nearest(edges) for _, _, edges in tables]
    # Violations at a price beyond any gain, so that the first rounds lead to feasible places.
    price = 10 * max(costs.size[0], 1e-300) / np.where(costs.size[1:] > 0, costs.size[1:], 1.0)

    def judged(values):
        over = np.maximum(values[1:] - costs.slack[:, None], 0.0)
        return np.where((over > 0).any(axis=0), price @ over + 10 * costs.size[0], 0.0) + values[0]

    if len(tables) == 1:
        sums = tables[0][0]
        place = [int(np.argmin(judged(sums + costs.fixed[:, None])))]
    else:
        # Begun where all have about the same share above, if that is nearer to what is asked.
        starts = [place] + [
            [int(np.searchsorted(above, level * above[-1])) for _, above, _ in tables]
            for level in np.linspace(0, 1, LEVELS)
        ]
        sums = [
            costs.fixed + sum(table[0][:, k] for table, k in zip(tables, one, strict=True))
            for one in starts
        ]
        height = judged(np.array(sums).T)
        begun = [starts[int(np.argmin(height))]]
        if len(tables) > 2:
            # Where all answers are no, two groups alone may not move.
            inside = 2 + np.argsort(height[2:-1], kind="stable")[:BEGUN]
            begun += [starts[k] for k in inside]
        ended = [_by_pairs(tables, list(place), costs, judged) for place in begun]
        place = min(ended, key=lambda one: one[0])[1]
    total = costs.fixed + sum(table[0][:, k] for table, k in zip(tables, place, strict=True))
    if (total[1:] > costs.slack).any():
        return None, None
    return float(total[0]), [
        threshold_within(edges[k]) for (_, _, edges), k in zip(tables, place, strict=True)
    ]


def _by_pairs(tables, place, costs, judged):
    """Places moved two at a time for as long as that helps, and how they are judged."""
    for _ in range(3):
        before = list(place)
        for i, j in itertools.combinations(range(len(tables)), 2):
            rest = costs.fixed + sum(
                tables[k][0][:, place[k]] for k in range(len(tables)) if k not in (i, j)
            )
            pair = tables[i][0], tables[j][0], rest
            found = _exact_pair(*pair, costs.slack / 2)
            place[i], place[j] = found or _best_pair(*pair, judged, (place[i], place[j]))
        if place == before:
            break
    total = costs.fixed + sum(table[0][:, k] for table, k in zip(tables, place, strict=True))
    return float(judged(total[:, None])[0]), place


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


def sets_in(texts):
    """Data sets that constraints are about, as tuples of names; the built-in names left out."""
    found = {
        tuple(sorted(name for name in part if name not in BUILTIN_SETS))
        for text in texts
        for constraint in parse_constraint(text)
        for side in (constraint.left, constraint.right)
        for rate in rates(side)
        for part in rate.sets
    }
    return sorted(found - {()})


def named_groups(rows, members, texts):
    """Groups that the constraints name, as the features tell them.

    Parameters
    ----------
    rows : DistinctRows
    members : dict of str to bool array (n,)
        Named data sets over the rows that `rows` was made of.
    texts : sequence of str
        Constraints.

    Returns
    -------
    groups : list of (bool array (distinct rows,), array (coordinates,))
        Groups that features tell exactly, without overlap. Of named ones that overlap, what
        they part the rows into, if features tell all of it.
    tilts : list of array (coordinates,)
        For the others the direction that comes nearest to them (least squares).
    """
    if rows.bias == "none":
        return [], []
    count = np.bincount(rows.group, minlength=rows.shape[0])

    def shared(masks):
        found = [np.bincount(rows.group, mask, rows.shape[0]) / count for mask in masks]
        found.sort(key=lambda share: (-(count @ share), share.tobytes()))
        return found[:MOST_GROUPS]

    masks = [np.all([members[name] for name in part], axis=0) for part in sets_in(texts)]
    if not masks:
        return [], []
    line = _lines(rows, count)
    if (np.sum(masks, axis=0) > 1).any():
        cells, of_row = np.unique(np.column_stack(masks), axis=0, return_inverse=True)
        if len(cells) <= MOST_GROUPS:
            cells = shared([of_row.ravel() == k for k in range(len(cells))])
            groups = [(share > 0.5, line(share)) for share in cells]
            if all(one is not None for _, one in groups):
                return groups, []
    groups, unlike, taken = [], [], np.zeros(rows.shape[0], bool)
    for share in shared(masks):
        mask, one = share > 0.5, line(share)
        if one is None:
            unlike.append(share)
        elif not (mask & taken).any():
            groups.append((mask, one))
            taken |= mask
    return groups, [line(share, near=True) for share in unlike if line.few]


class _lines:
    """Directions that raise the scores of some rows by 1 and of no others."""

    def __init__(self, rows, count):
        self.rows, self.count = rows, count
        self.few = rows.shape[1] <= MOST_FEATURES

    @cached_property
    def _solve(self):
        from scipy.linalg import cho_factor, cho_solve

        matrix = self.rows.gram(self.count.astype(float))
        matrix[np.diag_indices_from(matrix)] += 1e-6 * matrix.trace() / len(matrix)
        factor = cho_factor(matrix)
        return lambda sums: cho_solve(factor, sums)

    def __call__(self, share, near=False):
        """The direction for the members, told by one feature or by a sum of some.

        None where there is none; the nearest one (least squares) where that will do.
        """
        mask, rows = share > 0.5, self.rows
        if near:
            return self._solve(rows.combine(self.count * share))
        if not np.isin(share, (0.0, 1.0)).all():
            return None
        line = _telling(rows, mask)
        if line is not None or not self.few:
            return line
        line, left = np.zeros(rows.shape[1]), share
        # The ridge vanishes as what is left is solved for again.
        for _ in range(REFINED):
            line = line + self._solve(rows.combine(self.count * left))
            left = share - rows.scores(line)
            if np.abs(left).max() <= EXACT:
                return line
            if np.abs(left).max() > 0.5:
                return None
        return None


def _telling(rows, mask):
    """The direction that raises the scores of `mask` by 1 and of no other row, or None."""
    levels = []
    for part in (mask, ~mask):
        n = part.sum()
        if not n:
            return None
        matrix = rows.matrix[part][:, : rows.features]
        mean = np.asarray(matrix.sum(axis=0)).ravel() / n
        square = matrix.multiply(matrix) if rows.is_sparse else matrix * matrix
        spread = np.asarray(square.sum(axis=0)).ravel() / n - mean * mean
        levels.append((mean, spread))
    (high, wide), (low, narrow) = levels
    apart = np.abs(high - low)
    fits = (apart > 1e-9) & (wide <= 1e-12 * apart**2) & (narrow <= 1e-12 * apart**2)
    if not fits.any():
        return None
    j = int(np.argmax(fits))
    line = np.zeros(rows.shape[1])
    line[j] = 1.0 / (high[j] - low[j])
    centre = 0.0 if rows.centre is None else rows.centre[j]
    line[-1] = -(low[j] - centre) * line[j]
    return line
