"""What is known of each column of a table, and how new rows differ from those it was learnt from.

Numbers, dates (days since 1970-01-01) and booleans (1/0) are told by median, mean, spread, range
and the rows of ten bins; texts as levels of a category, the rarer of which share the level other.
All are the same for rows in any order.
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError

#: Rows of the rarer class, or of all of a number, below which nothing is concluded.
LEAST = 10


class NumberColumn(NamedTuple):
    """What was learnt of a column of numbers, dates (days since 1970-01-01) or booleans (1/0).

    ``missing`` counts rows without a value; ``median, mean, sd, low, high`` are of the values
    present, 0 where there is none. ``edges`` ascend: the values themselves where there are at most
    ten, else deciles; ``counts`` are rows at most the first edge, then between each edge and the
    next, then above the last.
    """

    column: str
    type: str
    missing: int
    median: float
    mean: float
    sd: float
    low: float
    high: float
    edges: tuple
    counts: tuple


class CategoryColumn(NamedTuple):
    """What was learnt of a column of texts.

    ``levels`` and ``counts`` are texts of their own and their rows, the most frequent first, by
    name among equals; ``pooled`` the sorted texts that share the level other, ``other`` the rows of
    those, ``missing`` those without a text.
    """

    column: str
    type: str
    missing: int
    levels: tuple
    counts: tuple
    pooled: tuple
    other: int


def level_counts(values):
    """Texts of a column and their rows, the most frequent first and by name among equals.

    The third array has the place of each row's text among those, -1 where it is missing.
    """
    import pandas as pd

    codes, words = pd.factorize(values.astype("str"))
    words = np.asarray(words, dtype=object)
    counts = np.bincount(codes[codes >= 0], minlength=len(words))
    order = np.argsort(words)
    order = order[np.argsort(-counts[order], kind="stable")]
    places = np.full(len(words) + 1, -1)
    places[order] = np.arange(len(words))
    return words[order], counts[order], places[codes]


def content_order(frame, columns, beside=()):
    """The order of columns and of rows by what stands in them, whatever they are called.

    The columns, a list, are ordered by their values; of those that are copies of each other either
    comes first. The place (n,) is that of each row; rows that are copies of each other stand side
    by side. `beside` are arrays (n,) that rows differ in besides, each told from the others by its
    place.

    A value has a number of 64 bits (its hash), a column the sum of those of its values, which no
    order of rows changes, and a row the sum of those of its values in their columns, which no order
    of columns changes. Columns of equal sums are told apart by the rows that their values stand in.
    """
    import pandas as pd

    def mixed(numbers):  # the finaliser of splitmix64 (Steele, Lea & Flood 2014)
        numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return numbers ^ (numbers >> np.uint64(31))

    def hashed(values):
        values = pd.Series(values).reset_index(drop=True)
        if values.dtype == object or str(values.dtype) in ("str", "string", "category"):
            values = values.astype(object).where(values.notna(), None)
        elif values.dtype.kind != "M":
            values = values.astype("float64") + 0.0
        return pd.util.hash_array(values.to_numpy(), categorize=True)

    with np.errstate(over="ignore"):
        of_values = [hashed(frame[name]) for name in columns]
        row = np.zeros(len(frame), "uint64")
        for place, values in enumerate(beside, 1):
            row += mixed(hashed(values) + np.uint64(place))
        for _ in range(2):
            key = [mixed(values + row).sum() for values in of_values]
            found = row.copy()
            for values, own in zip(of_values, key, strict=True):
                found += mixed(values ^ own)
            row = mixed(found)
    place = np.empty(len(frame), "int32")
    place[np.argsort(row, kind="stable")] = np.arange(len(frame))
    return [columns[at] for at in np.argsort(np.array(key), kind="stable")], place


def by_content(frame, columns, person=None):
    """Positions (n,) of the rows of a prepared table, and some columns, in `content_order`.

    All columns count but ``row`` and that which says who a `person` is.
    """
    names, place = content_order(frame, [one for one in frame if one not in ("row", person)])
    return np.argsort(place), [name for name in names if name in columns]


def level_needs(rows, least_rows=None):
    """Rows of a table that a level needs to count by itself: one percent of them, 10 at most."""
    return min(10, -(-rows // 100)) if least_rows is None else least_rows


def levels_kept(counts, rows, max_levels=50, least_rows=None):
    """How many of the most frequent levels are levels of their own, by their descending counts.

    A level of fewer rows than `level_needs` is pooled.
    """
    least = level_needs(rows, least_rows)
    return int(min(max_levels, np.count_nonzero(np.asarray(counts) >= least)))


def number_column(column, kind, values):
    """What is learnt of a column of numbers."""
    numbers = np.sort(floats(values, column, kind))
    there = numbers[~np.isnan(numbers)]
    missing = len(numbers) - len(there)
    if not len(there):
        return NumberColumn(column, kind, missing, *(0.0,) * 5, (), (0,))
    places = np.flatnonzero(there[1:] != there[:-1])
    if len(places) < 10:
        edges = there[np.append(places, len(there) - 1)]
    else:
        edges = np.unique(np.quantile(there, np.arange(0.1, 0.95, 0.1)))
    below = np.searchsorted(there, edges, side="right")
    counts = np.diff(np.concatenate([[0], below, [len(there)]]))
    middle = float(np.median(there)), float(there.mean()), float(there.std())
    ends = float(there[0]), float(there[-1])
    bins = tuple(edges.tolist()), tuple(counts.tolist())
    return NumberColumn(column, kind, missing, *middle, *ends, *bins)


def category_column(column, values, max_levels, least_rows):
    """What is learnt of a column of texts."""
    words, counts, codes = level_counts(texts(values, column))
    kept = levels_kept(counts, len(values), max_levels, least_rows)
    return CategoryColumn(
        column,
        "text",
        int((codes < 0).sum()),
        tuple(map(str, words[:kept])),
        tuple(counts[:kept].tolist()),
        tuple(sorted(map(str, words[kept:]))),
        int(counts[kept:].sum()),
    )


#: Entries that are counts of rows, and those of which a column has several.
_WHOLE = ("missing", "other", "counts")
_MANY = ("levels", "counts", "pooled", "edges")


def column_of(column, kind, told):
    """A NumberColumn or CategoryColumn from the values of its entries."""
    cls, fields = CategoryColumn if kind == "text" else NumberColumn, {}
    for name in cls._fields[2:]:
        values = [int(value) if name in _WHOLE else value for value in told[name]]
        fields[name] = tuple(values) if name in _MANY else values[0]
    return cls(column, kind, **fields)


#: What a column of a type holds, in a sentence.
_WANTED = {"number": "numbers", "boolean": "1, 0 or nothing", "date": "dates"}


def floats(values, column, kind):
    """A column as floats, NaN where missing; dates as days since 1970-01-01."""
    import pandas as pd

    if pd.api.types.is_object_dtype(values.dtype):
        values = values.infer_objects()
        if pd.api.types.infer_dtype(values, skipna=True) in ("date", "datetime", "decimal"):
            dates = pd.api.types.infer_dtype(values, skipna=True) != "decimal"
            values = pd.to_datetime(values) if dates else values.astype(float)
    if pd.api.types.is_datetime64_any_dtype(values.dtype) and kind == "date":
        if values.dt.tz is not None:
            values = values.dt.tz_convert(None)
        numbers = ((values - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(float)
    elif pd.api.types.is_numeric_dtype(values.dtype) and values.dtype.kind != "c":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    elif values.isna().all():
        numbers = np.full(len(values), np.nan)
    else:
        first = values.dropna().iloc[0]
        raise CounterweightError(
            f"Column {column!r} is to hold {_WANTED[kind]}, but holds {str(first)!r:.40}: correct "
            "it, or give the table by its file, which is typed as the fit's was."
        )
    if np.isinf(numbers).any():
        wrong = np.flatnonzero(np.isinf(numbers))
        raise CounterweightError(
            f"Column {column!r} is infinite in {len(wrong)} rows (first: row {wrong[0]}): correct "
            "them, or leave those fields empty."
        )
    return numbers


def texts(values, column):
    """A column as texts, missing where it is missing; whole numbers as they are written."""
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if pd.api.types.is_float_dtype(values.dtype):
        whole = values.dropna()
        if (whole % 1 != 0).any():
            raise CounterweightError(
                f"Column {column!r} is to hold texts, but holds numbers such as "
                f"{whole[whole % 1 != 0].iloc[0]:g}: correct it, or give it as text."
            )
        values = values.astype("Int64")
    return values.astype("str")


class ColumnCounts(NamedTuple):
    """Of one column of new rows; sums, so that batches add up.

    ``bins`` are rows of each bin of the fit (numbers) or of each level and other (texts), what is
    missing last; ``unseen`` those whose text was not in the fit, ``outside`` those whose number is
    beyond its range; ``total`` is the sum of the numbers less the fit's mean.
    """

    bins: np.ndarray
    unseen: int
    outside: int
    total: float


class ColumnDrift(NamedTuple):
    """One column of new rows against the fit, in shares of the new rows.

    ``missing`` and ``missing_before`` have no value, now and in the fit; ``unseen`` a text that was
    not in the fit, ``outside`` a number outside its range. ``shift`` is that of the mean, in
    standard deviations of the fit, NaN of texts and where there are none. ``psi`` is the population
    stability index, sum over bins of (p - q) log(p / q), half a row added to each bin, and
    ``psi_by_chance`` what it exceeds in one table of a thousand where nothing has changed.
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


def count_rows(encoded, weight=None):
    """Counts of each column of encoded rows, a dict of `ColumnCounts`; see `added`.

    With `weight` (n,) ``bins`` and ``total`` are sums of weights.
    """
    encoder, counts = encoded.encoder, {}
    for at, fact in enumerate(encoder.numbers_):
        values = encoded.numbers[:, at]
        known = ~np.isnan(values)
        there = values[known]
        which = np.full(len(values), len(fact.counts))
        which[known] = np.searchsorted(fact.edges, there, side="left")
        bins = np.bincount(which, weight, minlength=len(fact.counts) + 1)
        none = fact.missing == encoder.rows_
        outside = 0 if none else np.count_nonzero((there < fact.low) | (there > fact.high))
        moved = there - fact.mean
        total = float(moved.sum() if weight is None else weight[known] @ moved)
        counts[fact.column] = ColumnCounts(bins, 0, int(outside), total)
    for at, fact in enumerate(encoder.categories_):
        bins = np.bincount(encoded.codes[:, at], weight, minlength=len(fact.levels) + 2)
        counts[fact.column] = ColumnCounts(bins, int(encoded.unseen[:, at].sum()), 0, 0.0)
    return counts


def stood_for(encoded, weight):
    """What the rows of a fit stand for, ``{column: [bins, total]}``; False if all weigh the same.

    Weights (n,) are scaled to sum to Kish's effective rows; the rest as of `ColumnCounts`.
    """
    if not np.ptp(weight) > 0:
        return False
    counts = count_rows(encoded, weight * weight.sum() / (weight @ weight))
    return {column: [one.bins.tolist(), one.total] for column, one in counts.items()}


def added(one, other):
    """Counts of two batches together; either may be None."""
    if one is None or other is None:
        return one or other
    return {
        column: ColumnCounts(*(a + b for a, b in zip(of, other[column], strict=True)))
        for column, of in one.items()
    }


def describe_new(encoder, new, stand_for=None):
    """New rows against those of the fit: a `ColumnDrift` a column, in the order of the encoder.

    `new` is a data frame, `Encoded`, or what `count_rows` and `added` gave. Where rows of the fit
    stand for several, `stand_for` is of `stood_for`, and told is the lesser of the changes from the
    rows as they are and from what they stand for: new rows may be drawn as they were, or not.
    """
    if not isinstance(new, dict):
        new = count_rows(new if hasattr(new, "codes") else encoder.encode(new))
    told = [_drift(fact, encoder.rows_, new[fact.column]) for fact in encoder.statistics_]
    if not stand_for:
        return told
    weighted = []
    for fact in encoder.statistics_:
        bins, total = np.array(stand_for[fact.column][0]), stand_for[fact.column][1]
        weighted.append(_drift(fact, bins.sum(), new[fact.column], bins, total))
    return [_lesser(*both) for both in zip(told, weighted, strict=True)]


def _lesser(one, other):
    """The lesser change of a column of two."""
    shares = one.missing_before, other.missing_before
    return one._replace(
        missing_before=min(shares, key=lambda share: abs(one.missing - share)),
        shift=min(one.shift, other.shift, key=abs),
        psi=min(one.psi, other.psi),
        psi_by_chance=max(one.psi_by_chance, other.psi_by_chance),
    )


def _drift(fact, rows_before, counts, before=None, total=0.0):
    from scipy.special import chdtri

    rows = int(counts.bins.sum())
    if before is None:
        before = [*fact.counts, fact.other] if hasattr(fact, "levels") else list(fact.counts)
        before = np.array([*before, fact.missing])
    present = before[:-1].sum()
    moved = total / present if present > 0 else 0.0
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
        missing=float(counts.bins[-1] / max(rows, 1)),
        missing_before=float(before[-1] / rows_before),
        unseen=counts.unseen / max(rows, 1),
        outside=counts.outside / max(rows, 1),
        shift=(counts.total / there - moved) / sd if there and sd > 0 else np.nan,
        psi=float(((p - q) * np.log(p / q)).sum()) if rows else 0.0,
        psi_by_chance=float(chance),
    )


def drift_sentences(facts, *, psi=0.25, missing=0.05, unseen=0.01, outside=0.01, shift=0.5):
    """What is worth a warning, a sentence a column, the greatest changes first.

    An index is told above `psi` and above what chance gives; a change of the share missing above
    `missing`, and a shift of the mean above `shift`, where they are three standard errors, too;
    shares above `unseen` and `outside`, of two rows at least.
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
            now, before = 100 * fact.missing, 100 * fact.missing_before
            parts.append(f"missing in {now:.1f} % of the new rows, {before:.1f} % before")
        for part, least, what in (
            (fact.unseen, unseen, "have a text never seen before"),
            (fact.outside, outside, "are outside the range seen before"),
        ):
            if part > max(least, 1.5 / fact.rows):
                parts.append(f"{100 * part:.1f} % of the new rows {what}")
        if abs(fact.shift) > max(shift, 3 / np.sqrt(fact.rows)):
            parts.append(f"mean {fact.shift:+.2g} standard deviations from before")
        if fact.psi > max(psi, fact.psi_by_chance):
            parts.append(f"stability index {fact.psi:.2f}")
        if parts:
            size = max(change, fact.unseen, fact.outside, fact.psi)
            told.append((-size, f"Column {fact.column!r} has changed: {'; '.join(parts)}."))
    return [sentence for _, sentence in sorted(told, key=lambda pair: pair[0])]


# What columns tell of a number or of a class, many columns at once.


def plain_auc(y, score):
    """Probability that a positive scores above a negative, ties half; 0 of one class alone."""
    from scipy.stats import rankdata

    positive = y > 0
    m = positive.sum()
    if not 0 < m < len(y):
        return 0.0
    above = rankdata(score)[positive].sum() - m * (m + 1) / 2
    return above / (m * (len(y) - m))


def _centred(known, *values):
    """Values less their means over the known columns of each row, 0 elsewhere."""
    rows = np.maximum(known.sum(axis=1), 1)[:, None]
    for x in values:
        x = np.where(known, x, 0.0)
        yield np.where(known, x - x.sum(axis=1)[:, None] / rows, 0.0)


def line_share(y, X):
    """Share of the variance of y that a line in each row of X explains, 0 if few are known."""
    known = np.isfinite(X) & np.isfinite(y)
    Y, X = _centred(known, y, X)
    both, own, whole = (X * Y).sum(axis=1), (X * X).sum(axis=1), (Y * Y).sum(axis=1)
    share = np.divide(both**2, own * whole, out=np.zeros(len(X)), where=own * whole > 0)
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), share, 0.0)


def plane_share(y, a, X, both=False):
    """Share of the variance of y that a, each row of X and perhaps their product explain."""
    known = np.isfinite(X) & np.isfinite(y) & np.isfinite(a)
    Y, *Z = _centred(known, y, a, X, *([a * X] if both else []))
    Z = np.stack(Z, axis=1)
    size = np.sqrt((Z * Z).sum(axis=2, keepdims=True))
    Z = np.divide(Z, size, out=np.zeros_like(Z), where=size > 0)
    # A ridge far below what counts keeps columns that are one from dividing by 0.
    gram = Z @ Z.transpose(0, 2, 1) + 1e-9 * np.eye(Z.shape[1])
    both = (Z @ Y[:, :, None])[:, :, 0]
    share = (both * np.linalg.solve(gram, both[:, :, None])[:, :, 0]).sum(axis=1)
    whole = (Y * Y).sum(axis=1)
    share = np.divide(share, whole, out=np.zeros(len(X)), where=whole > 0)
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), share, 0.0)


def compared(y, a, X):
    """Share of the rows of either class, of the worse told, of which the larger of two tells it."""
    known = np.isfinite(X) & np.isfinite(a)
    sizes = np.maximum([(known & (y == one)).sum(axis=1) for one in (0.0, 1.0)], 1)
    best = np.zeros(len(X))
    for above in (a > X, a < X):
        for said in (above, ~above):
            right = [(known & (y == one) & (said == one)).sum(axis=1) for one in (0.0, 1.0)]
            best = np.maximum(best, (right / sizes).min(axis=0))
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), best, 0.0)


def known_by_label(present, labeled):
    """Whether a column (mask of the rows that have it) is known by label: "" where it is not.

    ``labeled``: known in at most one of 200 unlabeled rows, but in one of ten labeled rows or more,
    and so by chance in one table of 10,000. ``unlabeled``: the same of the others. "" also where
    there are fewer than `LEAST` rows of either.
    """
    rows = labeled.sum(), (~labeled).sum()
    if min(rows) < LEAST:
        return ""
    known = present[labeled].sum(), present[~labeled].sum()
    for name, this, that in (("labeled", 0, 1), ("unlabeled", 1, 0)):
        share = known[this] / rows[this]
        # Where few are known, none among few rows is chance.
        chance = (1 - share) ** rows[that]
        if known[that] <= 0.005 * rows[that] and share >= 0.1 and chance < 1e-4:
            return name
    return ""


def explained(y, predicted):
    """Share of the variance of y that predictions explain."""
    spread = ((y - y.mean()) ** 2).sum()
    return 1 - ((y - predicted) ** 2).sum() / spread if spread > 0 else 0.0


#: Standard errors from which rows of one value are told to be alike, and least pairs of such rows.
TIED, PAIRS = 5.0, 12


def tied_by_values(secret, codes):
    """That rows of one value (codes, -1 without) are alike in having a secret, or "".

    By pairs of rows, of which those that share a row hang together.
    """
    codes, known = codes[codes >= 0], secret.known[codes >= 0]
    if not (secret.closely and known.any() and not known.all()):
        return ""
    sizes, seen, share = np.bincount(codes), np.bincount(codes, known), known.mean()
    pairs, *same = ((one * (one - 1)).sum() / 2 for one in (sizes, seen, sizes - seen))
    chance = share**2 + (1 - share) ** 2
    together = share**3 + (1 - share) ** 3 - chance**2
    spread = pairs * chance * (1 - chance) + (sizes * (sizes - 1) * (sizes - 2)).sum() * together
    if pairs < PAIRS or sum(same) - pairs * chance < TIED * np.sqrt(spread):
        return ""
    agreed, even = (f"{100 * share:.0f} %" for share in (sum(same) / pairs, chance))
    return (
        f"two rows of one value agree in whether they have {secret.one} in {agreed} of pairs, by "
        f"chance in {even}, and no answer goes by it: give a coarser column, such as its first "
        "letters, or what it stands for; if such rows belong together, name it as group"
    )


#: What tells codes from numbers: least values and rows of each, standard errors, and mean bend.
VALUES, ROWS_OF_VALUE, NAMES, BEND = 12, 5, 5.0, 0.1


#: What codes that are held as numbers are told by.
CODES = "if they are codes, name it under columns.text, for it is learned from as a number"


def like_names(secret, values):
    """That whole numbers (n,), NaN without, look like names of things, by who has a secret, or "".

    The share that has it bends from value to value, by `BEND` on average and beyond chance. Each
    bend counts 9 at most: a limit that a rule goes by is no name.
    """
    known, values = secret.known[~np.isnan(values)], values[~np.isnan(values)]
    found, at, sizes = np.unique(values, return_inverse=True, return_counts=True)
    often, whole = sizes >= ROWS_OF_VALUE, known.mean() if len(known) else 0.0
    few = not VALUES <= often.sum() <= len(at) / 10
    if not secret.closely or few or (found % 1).any() or not 0 < whole < 1:
        return ""
    share, sizes = (np.bincount(at, known) / sizes)[often], sizes[often]
    bend = share[1:-1] - (share[2:] + share[:-2]) / 2
    error = whole * (1 - whole) * (1 / sizes[1:-1] + (1 / sizes[2:] + 1 / sizes[:-2]) / 4)
    beyond = (np.minimum(bend**2 / error, 9) - 1).sum() / np.sqrt(4 * len(bend))
    if beyond < NAMES or (bend**2 - error).mean() < BEND**2:
        return ""
    return (
        f"who has {secret.one} differs between values next to each other as between names of "
        f"things: {CODES}"
    )
