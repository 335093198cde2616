"""Bounds of how much a partition of people tells about their groups.

The partition (the leaves of a filter, the answers that it releases) is fixed before the rows are
looked at: they must be rows that neither fitted nor chose it.
"""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.numerics.groups import block_starts


@dataclass(frozen=True)
class Disclosure:
    """Disclosivity of a partition on some rows, and what it is at most for everybody.

    Attributes
    ----------
    value : float
        max |A_jk - r_k| over parts j that have rows and groups k, on these rows.
    bound : float
        Upper confidence bound of the same in the population, all parts and groups at once.
    level : float
        Its confidence.
    rows : int
    bounds : array (L, K)
        Bound of |A_jk - r_k| of each part and group; the largest is `bound`.
    """

    value: float
    bound: float
    level: float
    rows: int
    bounds: np.ndarray


def disclosure(counts, classes, level=0.95):
    """Bound what a partition tells about groups.

    With m_j the share of part j and B_jk the share of group k outside of it, A_jk - r_k =
    (1 - m_j) (A_jk - B_jk). The three are bounded by exact (Clopper-Pearson) intervals, and
    Bonferroni's inequality makes them hold at once. Assumes that the rows are drawn
    independently from the population, and one part for each row: where a filter draws the
    part, give the drawn ones. A part without rows may tell everything.

    Parameters
    ----------
    counts : array (L, K) of int
        Rows of each group in each part.
    classes : sequence of int
        Groups in each class; each row has one group of each.
    level : float
        In (0, 1).
    """
    counts = np.asarray(counts, dtype=float)
    if not 0 < level < 1:
        raise CounterweightError(f"The confidence is {level!r}: give a number between 0 and 1.")
    rows = counts[:, : classes[0]].sum(axis=1)
    n, totals = rows.sum(), counts.sum(axis=0)
    if not n:
        raise CounterweightError(
            "There is no row to measure disclosure on: hold rows out with a larger test_share."
        )
    if len(counts) == 1:  # everybody is in the one part, which tells nothing
        return Disclosure(0.0, 0.0, level, int(n), np.zeros(counts.shape))
    # Of a class of two groups the second tells what the first does.
    starts = block_starts(classes)
    pairs = [at for at, k in zip(starts, classes, strict=True) if k == 2]
    own = np.setdiff1d(np.arange(sum(classes)), np.add(pairs, 1))
    miss = (1 - level) / (len(counts) * (2 * len(own) + 1))
    inside = exact_interval(counts[:, own], rows[:, None], miss)
    outside = exact_interval((totals - counts)[:, own], (n - rows)[:, None], miss)
    # Only the lower end of a part's share is needed.
    share = exact_interval(rows, n, 2 * miss)[0]
    gap = np.maximum(inside[1] - outside[0], outside[1] - inside[0])
    bounds = np.zeros(counts.shape)
    bounds[:, own] = (1 - share)[:, None] * gap
    for at in pairs:
        bounds[:, at + 1] = bounds[:, at]
    held = rows > 0
    shift = np.abs(counts[held] / rows[held, None] - totals / n)
    return Disclosure(float(shift.max()), float(bounds.max()), level, int(n), bounds)


def exact_interval(hits, rows, miss):
    """Clopper-Pearson interval of shares, which each misses with probability `miss` at most.

    `hits` and `rows` are of shapes that go together; [0, 1] where there are no rows.
    """
    from scipy.special import betaincinv

    hits, rows = np.broadcast_arrays(np.asarray(hits, float), np.asarray(rows, float))
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    some, missed = hits > 0, hits < rows
    low[some] = betaincinv(hits[some], rows[some] - hits[some] + 1, miss / 2)
    high[missed] = betaincinv(hits[missed] + 1, rows[missed] - hits[missed], 1 - miss / 2)
    return low, high


def rows_needed(alpha, level, classes):
    """Rows that any partition needs to be certified at `alpha`, about.

    The easiest case is looked at: two parts of one size in which the groups' shares are alike
    and, in each class, the rarest that still matter little: one group of two has the share 1/2.
    """
    rows = 4
    while rows < 1 << 30:
        half = rows / 2
        counts = np.concatenate([np.full((2, k), half / k) for k in classes], axis=1)
        if disclosure(counts, classes, level).bound <= alpha:
            break
        rows = int(rows * 1.05) + 1
    return rows


def part_counts(parts, Z, number):
    """Rows of each group in each part, (number, K), by the part (n,) and memberships (n, K)."""
    return np.column_stack(
        [np.bincount(parts, weights=column, minlength=number) for column in np.asarray(Z).T]
    )


def drawn_parts(memberships, uniforms):
    """The part of each row, drawn by its memberships (n, L), rows that sum to 1; of int16.

    The `uniforms` (n,) are in [0, 1); a part of no probability is never drawn.
    """
    ends = np.cumsum(memberships, axis=1)
    # Rounding may leave the last end off 1.
    at = (ends <= (uniforms * ends[:, -1])[:, None]).sum(axis=1)
    held = memberships.shape[1] - 1 - (memberships[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(at, held).astype("int16")
