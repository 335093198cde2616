"""Bounds of how much a partition of people tells about their groups.

The partition (the leaves of a filter, the answers that it releases) is fixed before the rows are
looked at: they must be rows that neither fitted nor chose it.

References
----------
Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
Newcombe (1998), Interval estimation for the difference between independent proportions.
Zou & Donner (2008), Construction of confidence limits about effect measures.
"""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError

#: Part of a bound's chance to miss that goes to the share of the part.
OF_SHARE = 0.1


@dataclass(frozen=True)
class Disclosure:
    """Disclosivity of a partition on some rows, and what it is at most for everybody.

    Attributes
    ----------
    value : float
        max |A_jk - r_k| over parts j that have rows and groups k, on these rows.
    bound : float
        Upper confidence bound of the same, the largest of all parts and groups, in the population.
    level : float
        Its confidence.
    rows : int
    bounds : array (L, K)
        Bound of |A_jk - r_k| of each part and group, alone at that confidence; the largest is
        `bound`.
    """

    value: float
    bound: float
    level: float
    rows: int
    bounds: np.ndarray


def disclosure(counts, classes, level=0.95):
    """Bound what a partition tells about groups.

    With m_j the share of part j and B_jk the share of group k outside of it, A_jk - r_k =
    (1 - m_j) (A_jk - B_jk). Of each part, group and sign it has an upper bound of the whole
    confidence: the largest shift is beyond the largest bound only if it is beyond its own, so
    that many parts and groups cost nothing (an intersection-union test, Berger 1982). A tenth of
    the miss goes to m_j, by an exact (Clopper-Pearson) limit; the rest to the difference, whose
    bound is made of the exact limits of both shares by adding their squares (Newcombe 1998;
    Zou & Donner 2008). Assumes that the rows are drawn independently from the population, and
    one part for each row: where a filter draws the part, give the drawn ones. A part without
    rows may tell everything.

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
    shift, others = counts / np.maximum(rows, 1)[:, None], n - rows
    apart = (totals - counts) / np.maximum(others, 1)[:, None]
    miss = 2 * (1 - level)  # of two sides
    inside = exact_interval(counts, rows[:, None], (1 - OF_SHARE) * miss)
    outside = exact_interval(totals - counts, others[:, None], (1 - OF_SHARE) * miss)
    share = exact_interval(rows, n, OF_SHARE * miss)[0]
    more = shift - apart + np.hypot(inside[1] - shift, apart - outside[0])
    less = apart - shift + np.hypot(shift - inside[0], outside[1] - apart)
    bounds = np.minimum((1 - share)[:, None] * np.maximum(more, less), 1.0)
    bounds[rows == 0] = 1.0
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
