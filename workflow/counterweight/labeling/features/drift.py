"""How new rows differ from those that an encoder was fitted on."""

from typing import NamedTuple

import numpy as np


class ColumnCounts(NamedTuple):
    """Of one column of new rows; sums, so that batches add up.

    Attributes
    ----------
    bins : array of int
        Rows of each bin of the fit (numbers) or of each level and other (texts); what is
        missing last.
    unseen : int
        Rows whose text was not in the fit.
    outside : int
        Rows whose number is below the least or above the greatest of the fit.
    total : float
        Sum of the numbers less the fit's mean.
    """

    bins: np.ndarray
    unseen: int
    outside: int
    total: float


class ColumnDrift(NamedTuple):
    """One column of new rows against the fit.

    Attributes
    ----------
    column, type : str
    rows : int
        New rows.
    missing, missing_before : float
        Shares of rows without a value, now and in the fit.
    unseen : float
        Share of new rows whose text was not in the fit.
    outside : float
        Share of new rows whose number is outside the fit's range.
    shift : float
        Of the mean, in standard deviations of the fit; NaN of texts and where there are none.
    psi : float
        Population stability index, sum over bins of (p - q) log(p / q), half a row added to
        each bin.
    psi_by_chance : float
        What the index exceeds in one table of a thousand where nothing has changed.
    """

    column: str
    type: str
    rows: int
    missing: float
    missing_before: float
    unseen: float
    outside: float
    shift: float
    psi: float
    psi_by_chance: float


def count_rows(encoded):
    """Counts of each column of encoded rows, by column; see `added`.

    Returns
    -------
    dict of str to ColumnCounts
    """
    encoder, counts = encoded.encoder, {}
    for at, fact in enumerate(encoder.numbers_):
        values = encoded.numbers[:, at]
        there = values[~np.isnan(values)]
        which = np.searchsorted(fact.edges, there, side="left")
        bins = np.bincount(which, minlength=len(fact.counts))
        bins = np.append(bins, len(values) - len(there))
        none = fact.missing == encoder.rows_
        outside = 0 if none else np.count_nonzero((there < fact.low) | (there > fact.high))
        total = float((there - fact.mean).sum())
        counts[fact.column] = ColumnCounts(bins, 0, int(outside), total)
    for at, fact in enumerate(encoder.categories_):
        bins = np.bincount(encoded.codes[:, at], minlength=len(fact.levels) + 2)
        counts[fact.column] = ColumnCounts(bins, int(encoded.unseen[:, at].sum()), 0, 0.0)
    return counts


def added(one, other):
    """Counts of two batches together; either may be None."""
    if one is None or other is None:
        return one or other
    return {
        column: ColumnCounts(*(a + b for a, b in zip(of, other[column], strict=True)))
        for column, of in one.items()
    }


def describe_new(encoder, new):
    """New rows against those of the fit.

    Parameters
    ----------
    encoder : MixedEncoder
    new : pandas.DataFrame, Encoded, or what `count_rows` and `added` gave

    Returns
    -------
    list of ColumnDrift
        In the order of the encoder's columns.
    """
    if not isinstance(new, dict):
        new = count_rows(new if hasattr(new, "codes") else encoder.encode(new))
    return [_drift(fact, encoder.rows_, new[fact.column]) for fact in encoder.columns_]


def _drift(fact, rows_before, counts):
    from scipy.special import chdtri

    rows = int(counts.bins.sum())
    before = [*fact.counts, fact.other] if hasattr(fact, "levels") else list(fact.counts)
    before = np.array([*before, fact.missing])
    some = (before > 0) | (counts.bins > 0)
    # Half a row a bin: bins that one side lacks count, and equal tables give exactly 0.
    p = (counts.bins[some] + 0.5) / (rows + 0.5 * some.sum())
    q = (before[some] + 0.5) / (rows_before + 0.5 * some.sum())
    # Without change n N / (n + N) times the index is chi-square, one less than bins.
    chance = chdtri(max(some.sum() - 1, 1), 1e-3) * (1 / max(rows, 1) + 1 / rows_before)
    there = rows - int(counts.bins[-1])
    sd = getattr(fact, "sd", 0.0)
    return ColumnDrift(
        fact.column,
        fact.type,
        rows,
        float(counts.bins[-1] / max(rows, 1)),
        fact.missing / rows_before,
        counts.unseen / max(rows, 1),
        counts.outside / max(rows, 1),
        counts.total / there / sd if there and sd > 0 else np.nan,
        float(((p - q) * np.log(p / q)).sum()) if rows else 0.0,
        float(chance),
    )


def drift_sentences(facts, *, psi=0.25, missing=0.05, unseen=0.01, outside=0.01, shift=0.5):
    """What is worth a warning, the greatest changes first; nothing where all is as it was.

    Parameters
    ----------
    facts : list of ColumnDrift
    psi : float
        An index above this, and above what chance gives, is told.
    missing : float
        A change of the share missing by more than this, and by three standard errors.
    unseen, outside : float
        Greater shares are told, of two rows at least.
    shift : float
        A shift of the mean by more than this, and by three standard errors.

    Returns
    -------
    list of str
        One sentence a column.
    """
    told = []
    for fact in facts:
        if not fact.rows:
            continue
        parts = []
        share = (fact.missing + fact.missing_before) / 2
        error = np.sqrt(share * (1 - share) / fact.rows)
        change = abs(fact.missing - fact.missing_before)
        if change > max(missing, 3 * error):
            parts.append(
                f"missing in {fact.missing:.1%} of the new rows, {fact.missing_before:.1%} before"
            )
        if fact.unseen > max(unseen, 1.5 / fact.rows):
            parts.append(f"{fact.unseen:.1%} of the new rows have a text never seen before")
        if fact.outside > max(outside, 1.5 / fact.rows):
            parts.append(f"{fact.outside:.1%} of the new rows are outside the range seen before")
        if abs(fact.shift) > max(shift, 3 / np.sqrt(fact.rows)):
            parts.append(f"mean {fact.shift:+.2g} standard deviations from before")
        if fact.psi > max(psi, fact.psi_by_chance):
            parts.append(f"stability index {fact.psi:.2f}")
        if parts:
            size = max(change, fact.unseen, fact.outside, fact.psi)
            told.append((-size, f"Column {fact.column!r} has changed: {'; '.join(parts)}."))
    return [sentence for _, sentence in sorted(told, key=lambda pair: pair[0])]
