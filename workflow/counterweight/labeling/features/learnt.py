"""What an encoder learns of one column: of numbers, or of texts as levels of a category."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.labeling.columns import free_name


class NumberColumn(NamedTuple):
    """What was learnt of a column of numbers, dates (days since 1970-01-01) or booleans (1/0).

    Attributes
    ----------
    column, type : str
    missing : int
        Rows without a value.
    median, mean, sd, low, high : float
        Of the values present; 0 where there is none.
    edges : tuple of float
        Ascending: the values themselves where there are at most ten, else deciles.
    counts : tuple of int
        Rows at most the first edge, then between each edge and the next, then above the last.
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

    Attributes
    ----------
    column, type : str
    missing : int
        Rows without a text.
    levels, counts : tuple
        Texts of their own and their rows, the most frequent first, by name among equals.
    pooled : tuple of str
        Texts that share the level other, sorted.
    other : int
        Rows of those.
    """

    column: str
    type: str
    missing: int
    levels: tuple
    counts: tuple
    pooled: tuple
    other: int


class DenseFeature(NamedTuple):
    """One column for linear models: `kind` is ``value``, ``missing``, ``level`` or ``other``."""

    name: str
    column: str
    kind: str
    level: str = ""


def level_counts(values):
    """Texts of a column and their rows, the most frequent first and by name among equals.

    Returns
    -------
    words : array of str
    counts : array of int
    codes : array of int (n,)
        Place of each row's text among those, -1 where it is missing.
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


def levels_kept(counts, rows, max_levels=50, least_rows=None):
    """How many of the most frequent levels are levels of their own.

    Parameters
    ----------
    counts : array of int
        Rows of each level, descending.
    rows : int
        Of the table.
    max_levels : int
    least_rows : int, optional
        A level of fewer rows is pooled; by default one percent of the rows, 10 at most.
    """
    least = min(10, -(-rows // 100)) if least_rows is None else least_rows
    return int(min(max_levels, np.count_nonzero(np.asarray(counts) >= least)))


def learnt_number(column, kind, values):
    """What is learnt of a column of numbers; the same for rows in any order."""
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
    return NumberColumn(
        column,
        kind,
        missing,
        float(np.median(there)),
        float(there.mean()),
        float(there.std()),
        float(there[0]),
        float(there[-1]),
        tuple(edges.tolist()),
        tuple(counts.tolist()),
    )


def learnt_category(column, values, max_levels, least_rows):
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


def number_features(fact, rows):
    """Place and feature of each column for linear models that a number makes."""
    if fact.high > fact.low:
        yield 0, DenseFeature(fact.column, fact.column, "value")
    if 0 < fact.missing < rows:
        yield 1, DenseFeature(f"{fact.column}_missing", fact.column, "missing")


def level_features(fact, rows):
    """Place and feature of each column for linear models that a category makes."""
    made = [("level", level, count) for level, count in zip(fact.levels, fact.counts, strict=True)]
    other, missing = free_name("other", fact.levels), free_name("missing", fact.levels)
    made += [("other", other, fact.other), ("missing", missing, fact.missing)]
    for at, (kind, name, count) in enumerate(made):
        if 0 < count < rows:
            level = name if kind == "level" else ""
            yield at, DenseFeature(f"{fact.column}={name}", fact.column, kind, level)


def notes_of(fact, rows):
    if isinstance(fact, NumberColumn):
        if fact.missing:
            yield f"{fact.column}: {fact.missing} missing values, {fact.median:g} in their place"
    elif fact.pooled:
        levels = "1 rare level" if len(fact.pooled) == 1 else f"{len(fact.pooled)} rare levels"
        yield f"{fact.column}: {levels} ({fact.other} rows) pooled as other"


#: Entries that are counts of rows.
_WHOLE = ("missing", "other", "counts")


def fact_of(column, kind, told):
    """A NumberColumn or CategoryColumn from the values of its entries."""
    cls = CategoryColumn if kind == "text" else NumberColumn
    many = ("levels", "counts", "pooled", "edges")
    fields = {}
    for name in cls._fields[2:]:
        values = [int(value) if name in _WHOLE else value for value in told[name]]
        fields[name] = tuple(values) if name in many else values[0]
    return cls(column, kind, **fields)


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


#: What a column of a type holds, in a sentence.
_WANTED = {"number": "numbers", "boolean": "1, 0 or nothing", "date": "dates"}


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
