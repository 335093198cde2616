"""A better rule among scores near a known one.

Where rates are to be equal, thresholds have to part the rows at exact counts, and which of several
scores that are equally good meets that at least cost is luck, by some rows. So a rule that is to
be the result is compared with those of scores on the way to the other known scores, and of scores
tilted a little along single features; no further than luck goes, since what is chosen among many
for its training rows is worth less on new ones.
"""

import numpy as np

from counterweight.models.constraints.starts.known import Cells

#: Distinct rows times expressions that may be gone over for scores that are tried, and how many
#: times more three groups take.
WORK, HARDER = 3e6, 8
#: Standard deviation of the difference of two such scores, of n rows, in units of 1 / sqrt(n):
#: they differ in a hundredth of the answers.
LUCK = 0.1
#: Steps along a direction, both ways: shares of the way to another score, and standard deviations
#: of the score for a feature.
WAY, TILT = (0.1, 0.25, 0.5, 0.75), (0.03, 0.1, 0.3)


def nearby(rows, rule, costs, groups, scores, most=WORK):
    """A rule that is better by what luck makes, by steps along lines that lower its cost.

    Greedy: each line that leads to a better rule is followed at once, and all only while `most`
    lasts: on tables of many rows, where luck is small, only the lines to other scores are looked
    along.

    Parameters
    ----------
    rows : DistinctRows
        With a bias.
    rule : KnownRule
    costs : Rates
    groups : sequence
        See `known_rules`.
    scores : sequence of array (coordinates,)
        Other scores.

    Returns
    -------
    KnownRule
        At most as costly as `rule`, and it meets the constraints.
    """
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
