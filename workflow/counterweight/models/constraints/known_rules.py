"""Rules that need no training under constraints, which results are compared with.

Thresholds of a score, for all or by group; the scores of logistic regression among them.

Where rates are to be equal, which of several equally good scores meets that at least cost is luck,
by some rows. So a rule that is to be the result is compared with scores on the way to the other
known ones, and tilted a little along single features (`nearby`); no further than luck goes, since
what is chosen among many for its training rows is worth less on new ones.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterweight.models.constraints.cuts import Rates, best_thresholds
from counterweight.numerics.linear import expit
from counterweight.numerics.rates.language import BUILTIN_SETS, parse_constraint, rates

#: Groups that get thresholds of their own; of more, the largest.
MOST_GROUPS = 8
#: More features than these are not regressed on.
MOST_FEATURES = 500
#: A group is told where no score is further than this from 1, or 0; after so many refinements.
EXACT, REFINED = 1e-9, 12
#: Lengths of a tilt, in standard deviations of the score.
TILTS = [sign * length for length in (0.15, 0.3, 0.6, 1.2, 2.4) for sign in (1, -1)]


@dataclass
class KnownRule:
    """A deterministic rule (positive iff the score of `w` is above 0) that meets the constraints.

    On the training rows. `name` is "as it is", "shifted", "by group", "tilted" or "nearby"; `value`
    is the objective.
    """

    name: str
    value: float
    w: np.ndarray


def known_rules(rows, w, costs, groups=(), tilts=()):
    """The best rules among thresholds of one score that meet the constraints, the best last.

    `w` is the score, of `rows` (`DistinctRows`). The `groups` have no rows in common: pairs of a
    mask and of the direction that raises the scores of its rows by 1 and leaves those of the
    others. `tilts` are directions that come near to groups that no feature tells: the score is
    tilted along each, by several lengths, before the threshold is sought.
    """
    f = rows.scores(w)
    found = []
    values = costs.values(f > 0)
    if (values[1:] <= costs.slack).all():
        found.append(KnownRule("as it is", float(values[0]), w))
    everybody, by_group = Cells.of(rows, costs, ()), Cells.of(rows, costs, groups)
    found.append(everybody.rule("shifted", f, w))
    if len(by_group.masks) > 1:
        found.append(by_group.rule("by group", f, w))
    for line in tilts:
        along = rows.scores(line)
        unit = float(np.std(f)) / max(float(np.std(along)), 1e-300)
        for length in TILTS:
            tilt = length * unit
            found.append(everybody.rule("tilted", f + tilt * along, w + tilt * line))
    return sorted(filter(None, found), key=lambda rule: -rule.value)


@dataclass
class Cells:
    """Parts of the rows, without rows in common, that have thresholds of their own.

    Each of `lines` raises the scores of one part by 1 and leaves the others; `slopes` are (1 + m,
    rows of the part).
    """

    masks: list
    lines: list
    slopes: list
    costs: Rates

    @classmethod
    def of(cls, rows, costs, groups):
        """From groups that features tell, and what they leave; without any, all rows."""
        one = np.eye(1, rows.shape[1], rows.shape[1] - 1)[0]
        rest = np.ones(rows.shape[0], bool)
        for mask, _ in groups:
            rest &= ~mask
        cells = list(groups)
        if rest.any():
            cells.append((rest, one - sum(line for _, line in groups)))
        masks, lines = map(list, zip(*cells, strict=True))
        return cls(masks, lines, [costs.slope[:, mask] for mask in masks], costs)

    def rule(self, name, f, w):
        """The best thresholds of a score that meet the constraints, as a rule; None without any."""
        value, thresholds = best_thresholds([f[own] for own in self.masks], self.slopes, self.costs)
        if value is None:
            return None
        shift = sum(t * line for t, line in zip(thresholds, self.lines, strict=True))
        return KnownRule(name, value, w - shift)


def shifted_value(f, costs):
    """Objective of the sign of a score, its threshold moved where constraints need it; or inf."""
    values = costs.values(f > 0)
    if (values[1:] <= costs.slack).all():
        return float(values[0])
    value, _ = best_thresholds([f], [costs.slope], costs)
    return np.inf if value is None else value


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
    """Groups that the constraints `texts` name, as the features tell them, and tilts.

    `members` are named data sets (bool, (n,)) over the rows that `rows` was made of. The groups,
    pairs of a mask and a direction, are those that features tell exactly, without overlap; of named
    ones that overlap, what they part the rows into, if features tell all of it. The tilts are
    directions that come nearest (least squares) to the others.
    """
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
        # What the small diagonal shrinks is solved for again.
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


#: Distinct rows times expressions that may be gone over for scores that are tried, and how many
#: times more three groups take.
WORK, HARDER = 3e6, 8
#: Standard deviation of the difference of two such scores, of n rows, in units of 1 / sqrt(n):
#: they differ in a hundredth of the answers. Less luck than `UNLUCKY`, as a share of all costs, is
#: not looked for: some 10,000 rows have no more.
LUCK, UNLUCKY = 0.1, 1e-3
#: Steps along a direction, both ways: shares of the way to another score, and standard deviations
#: of the score for a feature.
WAY, TILT = (0.1, 0.25, 0.5, 0.75), (0.03, 0.1, 0.3)


def nearby(rows, rule, costs, groups, scores, most=WORK):
    """A rule that is better by what luck makes, by steps along lines that lower its cost.

    Greedy: each line that leads to a better rule is followed at once, and all only while `most`
    lasts: the more rows, the fewer lines; on tables of many rows, where luck is small, none. It is
    at most as costly as `rule`, and meets the constraints.
    """
    if LUCK / np.sqrt(rows.shape[0]) <= UNLUCKY:
        return rule
    cells = Cells.of(rows, costs, groups)
    left = [most / costs.slope.size / (HARDER if len(cells.masks) > 2 else 1)]
    enough = rule.value - LUCK * costs.size[0] / np.sqrt(rows.shape[0])

    def followed(rule, line, lengths):
        f, along = rows.scores(rule.w), rows.scores(line)
        for length in lengths:
            if left[0] < 1 or rule.value <= enough:
                break
            left[0] -= 1
            found = cells.rule("nearby", f + length * along, rule.w + length * line)
            if found is not None and found.value < rule.value - 1e-12 * costs.size[0]:
                return found
        return rule

    both = [sign * share for share in WAY for sign in (1, -1)]
    for w in scores:
        # A score has no scale of its own: all are compared at that of the rule.
        size = float(np.std(rows.scores(rule.w))) / max(float(np.std(rows.scores(w))), 1e-300)
        rule = followed(rule, size * w - rule.w, both)
    spread = _spread(rows)
    order = np.argsort(-np.abs(rule.w[: rows.features]) * spread, kind="stable")
    order = order[spread[order] > 0]
    tilts = [sign * tilt for tilt in TILT for sign in (1, -1)]
    while left[0] >= 1 and rule.value > enough:
        before = rule.value
        size = float(np.std(rows.scores(rule.w)))
        for j in order:
            line = np.zeros(len(rule.w))
            line[j] = size / spread[j]
            rule = followed(rule, line, tilts)
        if rule.value == before:
            break
    return rule


def _spread(rows):
    """Standard deviation of each feature among the distinct rows."""
    matrix, n = rows.matrix[:, : rows.features], rows.shape[0]
    square = matrix.multiply(matrix) if rows.is_sparse else matrix * matrix
    mean, square = (np.asarray(part.sum(axis=0)).ravel() / n for part in (matrix, square))
    return np.sqrt(np.maximum(square - mean * mean, 0.0))


#: Newton steps, and the expected fall, as a share of all costs, at which they end.
STEPS, ENOUGH = 12, 1e-6


def logistic(rows, positive, negative, penalty):
    """Logistic regression by costs of a yes and of a no to each distinct row, with an l2 `penalty`.

    Gives its coordinates: accurate enough to be cut by thresholds, not to be read.
    """
    positive, negative = np.ravel(positive), np.ravel(negative)
    both, l2 = positive + negative, rows.regularisation(penalty)
    found, f = np.zeros(rows.shape[1]), np.zeros(rows.shape[0])

    def loss(w, f):
        return both @ np.logaddexp(0, f) - negative @ f + l2 @ (w * w) / 2

    value = loss(found, f)
    for _ in range(STEPS):
        p = expit(f)
        gradient = rows.combine(both * p - negative) + l2 * found
        hessian = rows.gram(both * p * (1 - p))
        hessian[np.diag_indices_from(hessian)] += l2 + 1e-9 * hessian.trace() / len(hessian)
        move = -np.linalg.solve(hessian, gradient)
        along, fall, length = rows.scores(move), -gradient @ move, 1.0
        while True:
            reached = loss(found + length * move, f + length * along)
            if reached <= value - fall * length / 4:
                break
            length /= 2
            if length < 1e-6:
                return found
        found, f, value = found + length * move, f + length * along, reached
        if fall <= ENOUGH * both.sum():
            break
    return found
