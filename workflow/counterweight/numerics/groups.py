"""Sensitive groups as a membership matrix, and what a proxy's leaves tell about them.

Several classes of groups (columns) may intersect (Deng et al. 2023, A.2). Each class has a
block of columns in the membership matrix `Z`, one for each of its groups, and each row has
one 1 in each block; one class is the case of disjoint groups.
What a partition of people (the leaves of a filter, the answers that it releases) tells about their
groups has a bound; the partition is fixed before the rows are looked at: they must be rows that
neither fitted nor chose it.

References
----------
Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
Newcombe (1998), Interval estimation for the difference between independent proportions.
Zou & Donner (2008), Construction of confidence limits about effect measures.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed

#: Sums of probabilities may be off 1 by this much.
TOLERANCE = 1e-6
#: Directions that are tried of those in which shares may lie from a target, and their opposites.
OPEN = 64


def group_names(columns, class_names):
    """Groups of each class, sorted, at least two, and the names that all have in files.

    `columns` are of texts (n,), one for each class; missing values belong to no group and are
    passed over. The names, in the order of the columns of `Z`, are the groups themselves when there
    is one class, ``{class}={group}`` when there are several.
    """
    names = []
    for column, class_name in zip(columns, class_names, strict=True):
        values = np.asarray(column, dtype=object)
        groups = sorted({str(value) for value in values[~_missing(values)]})
        if len(groups) < 2:
            raise CounterweightError(
                f"Column {class_name!r} has {len(groups)} group ({listed(groups)}), and balancing "
                "needs at least two: choose another sensitive column."
                if groups
                else f"Column {class_name!r} holds no group at all in {len(values)} rows: choose "
                "another sensitive column."
            )
        names.append(groups)
    if len(names) == 1:
        return names, list(names[0])
    return names, [
        f"{class_name}={name}"
        for class_name, block in zip(class_names, names, strict=True)
        for name in block
    ]


def memberships(columns, names):
    """Membership matrix (n, K) of the rows: one 1 in each class's block of columns.

    `columns` and `names` are as in `group_names`. Raises when a value is missing or is none of the
    names, or columns differ in length.
    """
    blocks, lengths = [], [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise CounterweightError(
            f"The sensitive columns have {listed(lengths)} rows: give one value of each for each "
            "row."
        )
    for i, (column, known) in enumerate(zip(columns, names, strict=True)):
        values = np.asarray(column, dtype=object)
        text = np.where(_missing(values), "", values).astype(str)
        block = (text[:, None] == np.array(known, dtype=str)).astype(float)
        strange = np.flatnonzero((block.sum(axis=1) != 1) | _missing(values))
        if len(strange):
            raise CounterweightError(
                f"Sensitive column {i + 1} holds no known group in {len(strange)} of {len(text)} "
                f"rows (first: row {strange[0]}, {values[strange[0]]!r}); known are "
                f"{listed(known)}. Correct the column or leave those rows out."
            )
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _missing(values):
    # NaN is the only value that differs from itself; pandas' NA answers with NA instead.
    return np.array(
        [value is None or str(value) == "<NA>" or value != value for value in values], dtype=bool
    )


def uniform_target(classes):
    """The same share for each group of a class: 1/k_c in the block of class c, (K,)."""
    return np.concatenate([np.full(k, 1.0 / k) for k in classes])


def checked_target(target, classes, name="target"):
    """A target (K,) as an array, uniform where it is None.

    Raises when it is not numbers, has another number of entries, an entry is negative or not
    finite, or a class's block does not sum to 1. `name` is what it is, for the message.
    """
    if target is None:
        return uniform_target(classes)
    try:
        U = np.asarray(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {name} {target!r} is no list of numbers: give one share for each group, in the "
            "order of the groups' names."
        ) from error
    if U.shape != (sum(classes),):
        raise CounterweightError(
            f"The {name} has {U.size} entries for {sum(classes)} groups: give one share for "
            "each group, in the order of the groups' names."
        )
    wrong = np.flatnonzero(~(np.isfinite(U) & (U >= 0)))
    if len(wrong):
        raise CounterweightError(
            f"The {name}'s entry {wrong[0] + 1} is {U[wrong[0]]:g}: a share is a number of at "
            "least 0."
        )
    for c, total in enumerate(np.add.reduceat(U, block_starts(classes))):
        if abs(total - 1) > TOLERANCE:
            of = f" of class {c + 1}" if len(classes) > 1 else ""
            raise CounterweightError(
                f"The {name}'s shares{of} sum to {total:g}, not 1: it must be a distribution."
            )
    return U


def block_starts(classes):
    """First column of each class in `Z`."""
    return np.concatenate([[0], np.cumsum(classes)[:-1]]).astype(int)


def checked_memberships(Z, classes):
    """Check a membership matrix of training rows and return it as float64.

    Raises when its columns are not those of `classes`, there is no row, a class has one group only,
    a row has not exactly one group of each class, or a group has no row.
    """
    try:
        Z, classes = np.asarray(Z, dtype=float), [int(k) for k in classes]
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The memberships must be numbers and classes a list of numbers of groups: {error}."
        ) from error
    if Z.ndim != 2 or not classes or Z.shape[1] != sum(classes):
        raise CounterweightError(
            f"The memberships are of shape {Z.shape}, and the classes have {sum(classes)} groups."
        )
    if not len(Z):
        raise CounterweightError("There is no training row: nothing can be balanced.")
    for c, k in enumerate(classes):
        if k < 2:
            raise CounterweightError(
                f"Class {c + 1} has {k} group, and balancing needs at least two: choose another "
                "sensitive column."
            )
    row = np.flatnonzero(~((Z == 0) | (Z == 1)).all(axis=1))
    if len(row):
        raise CounterweightError(
            f"{len(row)} rows have a membership other than 0 or 1 (first: row {row[0]})."
        )
    sums = np.add.reduceat(Z, block_starts(classes), axis=1)
    row = np.flatnonzero((sums != 1).any(axis=1))
    if len(row):
        raise CounterweightError(
            f"{len(row)} rows do not have exactly one group in each class (first: row {row[0]})."
        )
    empty = np.flatnonzero(Z.sum(axis=0) == 0)
    if len(empty):
        raise CounterweightError(
            f"{len(empty)} of {Z.shape[1]} groups have no training row (first: group "
            f"{empty[0] + 1}): leave them out, or take more rows."
        )
    return Z


def leaf_table(memberships, Z):
    """Mass (L,) of each leaf, a share of the rows, and the groups' shares (L, K) in it.

    `memberships` (n, L) are probabilities of each leaf for each row; rows sum to 1. Shares of a
    leaf without mass are those of all rows.
    """
    memberships = np.asarray(memberships, dtype=float)
    Z = np.asarray(Z, dtype=float)
    weight = memberships.sum(axis=0)
    counts = memberships.T @ Z
    held = weight > 0
    A = np.where(held[:, None], counts / np.where(held, weight, 1)[:, None], Z.mean(axis=0))
    return weight / len(Z), A


def disclosivity(mass, A, r):
    """max |A_jk - r_k| over the leaves of positive mass (Definition 4 of the paper)."""
    held = np.asarray(mass) > 0
    if not held.any():
        return 0.0
    return float(np.abs(np.asarray(A)[held] - r).max())


def imbalance(distribution, target):
    """Euclidean distance of a distribution over groups from its target."""
    return float(np.linalg.norm(np.asarray(distribution) - target))


def balance_change(p, Z, target, level=0.95):
    """Imbalance of the accepted less that of all, with its interval: value, low, high.

    Rows with memberships `Z` (n, K) are accepted with probabilities `p` (n,), not all 0, that were
    fixed before these rows were looked at. With s the expected shares of the accepted, r those of
    all, and u and v their directions from the target, the change is ``u (s - target) - v (r -
    target)``, of which row i moves ``p_i u (z_i - s) / sum p - v (z_i - r) / n``. Shares near the
    target may lie on the other side of it, where errors that took each other away add up: the upper
    end, below which a fall is shown, is the largest of all u that the rows leave open, the lower
    one the least of all v. Where all are at the target and groups are many (five), a rise is told
    too small: their distance is above the truth by chance. Degrees of freedom are those of the
    accepted.
    """
    from scipy.special import chdtri, stdtrit

    rows, worth = len(Z), p.sum() ** 2 / (p @ p)
    weight = (p / p.mean())[:, None]
    accepted, every = weight[:, 0] @ Z / rows, Z.mean(axis=0)
    after, before = accepted - target, every - target
    change = float(np.linalg.norm(after) - np.linalg.norm(before))
    if worth <= 2:
        return change, np.nan, np.nan
    moved = np.hstack([weight * (Z - accepted), Z - every])
    spread, K = moved.T @ moved / (rows - 1) / rows, len(target)
    own, shared, of_all = spread[:K, :K], spread[:K, K:], spread[K:, K:]
    # Shares of K groups have K - 1 that are free.
    reach = np.sqrt(chdtri(max(K - 1, 1), 1 - level))
    quantile = stdtrit(worth - 1, 0.5 + level / 2)
    u, v = _directions(after, own, reach), _directions(before, of_all, reach)

    def beyond(u, v, sign):
        """Ends of the interval of each pair of directions."""
        variance = _along(u, own) - 2 * ((u @ shared) * v).sum(axis=1) + _along(v, of_all)
        return u @ after - v @ before + sign * quantile * np.sqrt(np.maximum(variance, 0.0))

    return change, float(beyond(u[:1], v, -1).min()), float(beyond(u, v[:1], 1).max())


def _directions(off, spread, reach):
    """Unit vectors (m, K) in which the truth may lie from the target, where `off` was seen.

    `off` has the covariance `spread`; a direction is open if it comes within `reach` standard
    errors, of the way that has the largest, of `off`.
    """
    size, basis = np.linalg.eigh(spread)
    basis = basis[:, size > 1e-12 * size[-1]]
    ways = np.random.default_rng(0).normal(size=(OPEN if basis.shape[1] > 1 else 1, basis.shape[1]))
    ways = ways @ basis.T
    ways = np.vstack([off[None], ways, -ways])
    length = np.linalg.norm(ways, axis=1)
    ways = ways[length > 0] / length[length > 0, None]
    nearest = np.maximum(ways @ off, 0.0)[:, None] * ways
    near = np.linalg.norm(off - nearest, axis=1) <= reach * np.sqrt(max(size[-1], 0.0)) + 1e-12
    near[0] = True
    return ways[near]


def _along(ways, spread):
    return ((ways @ spread) * ways).sum(axis=1)


def target_shares(target, groups, sizes):
    """The target distribution (K,) in the order of the groups; uniform where it is None.

    Else it is the share by name of group, 0 where a group is left out. `sizes` are the numbers of
    groups of each class; shares are a distribution within each, or it raises.
    """
    if target is None:
        return checked_target(None, sizes)
    if not isinstance(target, Mapping):
        raise CounterweightError(
            f"The target is {target!r}: give the share of each group by its name "
            f"({listed(groups)})."
        )
    # A config may write groups that are numbers as numbers.
    target = {str(name): share for name, share in target.items()}
    strange = [name for name in target if name not in groups]
    if strange:
        raise CounterweightError(
            f"The target names {listed(strange)}, and the groups are {listed(groups, 30)}: write "
            "them as they stand in the data."
        )
    return checked_target([target.get(name, 0.0) for name in groups], sizes)


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


def disclosure_by_design(shares, rows, mass, level=0.95, lost=0.0):
    """As `disclosure`, of people whose parts are known, and some of whom were asked their group.

    Each part has a sample of its own, with chances that are known. Part j's shift is ``A_jk - sum_l
    m_l A_lk`` with known m, a sum over parts of what is estimated apart: its bound is made of the
    exact limits of all shares by adding their squares, each times its factor (Zou & Donner 2008).
    Nothing is assumed of who had told a group before.

    Parameters
    ----------
    shares : array (..., L, K)
        Of the groups in each part among those asked, weighted by one over their chances; of parts
        of which nobody was asked they say nothing.
    rows : array (..., L)
        Rows that these are worth: those asked where chances within a part are alike, else ``(sum
        w)^2 / sum w^2``; infinite where everybody's group is known.
    mass : array (L,)
        Share of the people in each part.
    level : float
        Of each bound alone, and so of the largest.
    lost : array (..., L), optional
        Rows that were asked and did not answer, in the unit of `rows`: the bounds then hold
        whatever their groups are.

    Returns
    -------
    value, bound : array (...)
        Largest shift of a part of which somebody was asked, and its upper bound.
    """
    shares, rows, mass = (np.asarray(one, dtype=float) for one in (shares, rows, mass))
    lost = np.broadcast_to(np.asarray(lost, dtype=float), rows.shape)[..., None]
    known, held = rows[..., None] > 0, mass > 0
    n = np.where(np.isfinite(rows), rows, 0.0)[..., None]
    low = exact_interval(shares * n, n + lost, 2 * (1 - level))[0]
    high = exact_interval(shares * n + lost, n + lost, 2 * (1 - level))[1]
    every = np.isinf(rows)[..., None]
    low, high = np.where(every, shares, low), np.where(every, shares, high)
    low, high = np.where(known, low, 0.0), np.where(known, high, 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        least = np.where(every, shares, np.where(known, shares * n / (n + lost), 0.0))
        most = np.where(every, shares, np.where(known, (shares * n + lost) / (n + lost), 1.0))
    m = mass[:, None]

    def largest(own, own_end, other, other_end):
        """Bound of A_j less the mean of all, from ends of j and of the others."""
        away, spread = m * other, (m * (other - other_end)) ** 2
        shift = (1 - m) * own - (away.sum(axis=-2, keepdims=True) - away)
        squares = ((1 - m) * (own_end - own)) ** 2
        squares += spread.sum(axis=-2, keepdims=True) - spread
        return shift + np.sqrt(squares)

    more, less = largest(most, high, least, low), largest(1 - least, 1 - low, 1 - most, 1 - high)
    bounds = np.where(known, np.minimum(np.maximum(more, less), 1.0), 1.0)[..., held, :]
    weight = mass * known[..., 0]
    middle = np.where(known, shares, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (weight[..., None] * middle).sum(axis=-2) / weight.sum(axis=-1)[..., None]
    shift = np.where(known, np.abs(middle - mean[..., None, :]), 0.0)[..., held, :]
    return shift.max(axis=(-2, -1)), bounds.max(axis=(-2, -1))


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
