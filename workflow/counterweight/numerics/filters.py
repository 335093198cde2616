"""What the two sides of a filter share: coins by key, and bounds of disclosure.

A coin is a uniform number that depends on who somebody is and on a secret key alone: a keyed hash
of the person's id. The same person gets the same coin in any file, order or batch, and nobody
without the key can foretell it.

A bound says how much a partition of people (the leaves of a filter, the answers that it releases)
tells about their groups at most. The partition is fixed before the rows are looked at: they must
be rows that neither fitted nor chose it.
"""

import hmac
import unicodedata
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.groups import block_starts

#: Bytes of the hash that a coin is made of.
_BYTES = 8


def canonical_ids(values, *, column="id", people="candidates"):
    """Ids as texts: whole numbers without a point, texts without blanks around them.

    Texts are in the composed form of Unicode (NFC), so one name has one spelling. "007" and 7
    are two persons: leading zeros count.

    Parameters
    ----------
    values : array_like (n,)
        Numbers or texts, none missing, each once.
    column, people : str
        For messages.
    """
    texts = [_text(value) for value in np.asarray(values, dtype=object)]
    absent = [row for row, text in enumerate(texts) if not text]
    if absent:
        raise CounterweightError(
            f"The column {column!r} of the {people} tells nobody in {len(absent)} of {len(texts)} "
            f"rows (first: row {absent[0]}, counted from 0): each person needs an id, by which "
            "the coin is drawn."
        )
    if len(set(texts)) < len(texts):
        seen, twice = set(), []
        for text in texts:
            if text in seen:
                twice.append(text)
            seen.add(text)
        raise CounterweightError(
            f"The column {column!r} of the {people} has {len(twice)} rows whose id stood before "
            f"({listed(sorted(set(twice)), 3)}): one row a person; several would be several tries "
            "with other answers."
        )
    return texts


def _text(value):
    # NaN is the only value that differs from itself; pandas' NA answers with NA instead.
    if value is None or str(value) == "<NA>" or value != value:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            return repr(float(value))
        value = int(value)
    return unicodedata.normalize("NFC", str(value).strip())


def person_uniforms(key, ids, purpose, count=1):
    """Uniform numbers of persons, from HMAC-SHA256 of their ids.

    The message is the id and the purpose, each in UTF-8 behind its length in bytes (8 bytes,
    most significant first), so no two pairs give the same one. Number k of a person is made of
    the k-th 8 bytes of the hash: their first 53 bits, over 2^53.

    Parameters
    ----------
    key : bytes
    ids : sequence of str
        See `canonical_ids`.
    purpose : str
        What the coin is for: other purposes, unrelated coins.
    count : int
        Numbers for each person, at most 4.

    Returns
    -------
    array (count, n)
        In [0, 1), multiples of 2^-53.
    """
    end = _part(purpose)
    made = b"".join(hmac.digest(key, _part(text) + end, "sha256") for text in ids)
    words = np.frombuffer(made, dtype=">u8").reshape(len(ids), 32 // _BYTES)[:, :count]
    return (words.astype(np.uint64) >> np.uint64(11)).T * 2.0**-53


def _part(text):
    told = text.encode()
    return len(told).to_bytes(8, "big") + told


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
    if len(counts) == 1:
        # Everybody is in the one part: it tells nothing.
        return Disclosure(0.0, 0.0, level, int(n), np.zeros(counts.shape))
    # Of a class of two groups the second tells what the first does.
    starts = block_starts(classes)
    own = np.concatenate(
        [np.arange(at, at + (k if k > 2 else 1)) for at, k in zip(starts, classes, strict=True)]
    )
    miss = (1 - level) / (len(counts) * (2 * len(own) + 1))
    inside = exact_interval(counts[:, own], rows[:, None], miss)
    outside = exact_interval((totals - counts)[:, own], (n - rows)[:, None], miss)
    # Only the lower end of a part's share is needed.
    share = exact_interval(rows, n, 2 * miss)[0]
    gap = np.maximum(inside[1] - outside[0], outside[1] - inside[0])
    bounds = np.zeros(counts.shape)
    bounds[:, own] = (1 - share)[:, None] * gap
    for at, k in zip(starts, classes, strict=True):
        if k == 2:
            bounds[:, at + 1] = bounds[:, at]
    held = rows > 0
    shift = np.abs(counts[held] / rows[held, None] - totals / n)
    return Disclosure(float(shift.max()), float(bounds.max()), level, int(n), bounds)


def exact_interval(hits, rows, miss):
    """Clopper-Pearson interval of a share, which it misses with probability `miss` at most.

    Parameters
    ----------
    hits, rows : array_like
        Of one shape, or shapes that go together; [0, 1] where there are no rows.
    """
    from scipy.special import betaincinv

    hits, rows = np.broadcast_arrays(np.asarray(hits, float), np.asarray(rows, float))
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    some, missed = hits > 0, hits < rows
    low[some] = betaincinv(hits[some], rows[some] - hits[some] + 1, miss / 2)
    high[missed] = betaincinv(hits[missed] + 1, rows[missed] - hits[missed], 1 - miss / 2)
    return low, high


def least_rows(alpha, level, classes):
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
    """Rows of each group in each part.

    Parameters
    ----------
    parts : array (n,) of int
        From 0.
    Z : array (n, K)
        Memberships.
    number : int
        How many parts there are.

    Returns
    -------
    array (number, K)
    """
    return np.column_stack(
        [np.bincount(parts, weights=column, minlength=number) for column in np.asarray(Z).T]
    )


def drawn_parts(memberships, uniforms):
    """The part of each row, drawn by its memberships.

    Parameters
    ----------
    memberships : array (n, L)
        Probability of each part; rows sum to 1.
    uniforms : array (n,)
        In [0, 1).

    Returns
    -------
    array (n,) of int16
        Of positive probability.
    """
    ends = np.cumsum(memberships, axis=1)
    # Rounding may leave the last end off 1.
    at = (ends <= (uniforms * ends[:, -1])[:, None]).sum(axis=1)
    held = memberships.shape[1] - 1 - (memberships[:, ::-1] > 0).argmax(axis=1)
    return np.minimum(at, held).astype("int16")
