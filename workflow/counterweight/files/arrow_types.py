"""Typed columns that people bring (Parquet, pandas, databases) as numbers, days and text."""

import numpy as np

from counterweight.errors import CounterweightError


def arrow_values(where, name, values):
    """A column as an Arrow array of text, or of what it was typed as."""
    import pyarrow as pa

    try:
        if not isinstance(values, pa.ChunkedArray | pa.Array):
            values = pa.array(values, from_pandas=True)
        values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        kind, is_ = values.type, pa.types
        texts = (is_.is_null, is_.is_large_string, is_.is_string_view, is_.is_binary)
        if any(is_text(kind) for is_text in (*texts, is_.is_large_binary)):
            values = values.cast(pa.string())
        elif is_.is_nested(kind):
            raise pa.ArrowTypeError(str(kind))
    except (pa.ArrowException, ValueError, TypeError) as error:
        told = getattr(values, "type", None) or getattr(values, "dtype", "mixed")
        raise CounterweightError(
            f"{where}: the column {name!r} is neither numbers nor text ({told}): write it as "
            "numbers or text, or put it under columns.ignore."
        ) from error
    return values


def as_days(values):
    """Dates and times as days, times of day as hours, and what to say; None for other types."""
    import pyarrow as pa

    is_, kind = pa.types, values.type
    if is_.is_date(kind):
        days = as_floats(values.cast(pa.date32()).cast(pa.int32()))
        return days, "dates as days since 1970-01-01"
    if is_.is_timestamp(kind) or is_.is_duration(kind) or is_.is_time(kind):
        parts = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        found = as_floats(values.cast(pa.int32() if is_.is_time32(kind) else pa.int64()))
        if is_.is_time(kind):
            return found / parts / 3600, "times of day as hours"
        if is_.is_duration(kind):
            return found / parts / 86400, "durations as days"
        zone = " (UTC)" if kind.tz else ""
        return found / parts / 86400, f"dates and times as days since 1970-01-01{zone}"
    return None, ""


def as_floats(values):
    import pyarrow as pa

    return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def as_integers(values):
    """Arrow integers as Int64."""
    import pandas as pd

    missing = values.is_null().to_numpy(zero_copy_only=False)
    return pd.arrays.IntegerArray(
        values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), missing.astype(bool)
    )


def as_text(values):
    """Values of any type as text; whole numbers without a point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        with np.errstate(invalid="ignore"):
            values = values.cast(pa.decimal128(38, 0), safe=False)
    text = values.cast(pa.string())
    return (text if isinstance(text, pa.ChunkedArray) else pa.chunked_array([text])).to_pandas()
