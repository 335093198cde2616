"""Typed columns that people bring as numbers, days and text; columns of jobs by their buffers.

PyArrow's own conversions import pandas where it is installed, which takes longer than what most
jobs compute: `arrow_column`, `arrow_table` and `numpy_column` do without.
"""

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


def arrow_column(values, kind=None):
    """An Arrow array of numbers or text.

    Parameters
    ----------
    values : numpy array, or list of numbers or text
        None in a list of numbers is null; Arrow arrays are given back.
    kind : pyarrow.DataType, optional
        That of the values by default.
    """
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values if kind is None else values.cast(kind)
    known = None
    if isinstance(values, list):
        if kind is not None and not (pa.types.is_string(kind) or _has_numbers(kind)):
            return pa.array(values, kind)
        if kind is None or _has_numbers(kind):
            known = np.array([value is not None for value in values], bool)
            values = [0 if value is None else value for value in values]
            values = np.array(values, _dtype(kind) if kind else None)
        elif all(isinstance(value, str) for value in values):
            return _text(values)
        else:
            return pa.array(values, kind)
    values = np.asarray(values)
    if values.dtype.kind not in "iuf" or values.ndim != 1:
        return pa.array(values, kind)
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    missing = None
    if known is not None and not known.all():
        missing = pa.py_buffer(np.packbits(known, bitorder="little"))
    own = pa.from_numpy_dtype(values.dtype)
    made = pa.Array.from_buffers(own, len(values), [missing, pa.py_buffer(values)])
    return made if kind is None else made.cast(kind)


def _has_numbers(kind):
    import pyarrow as pa

    return pa.types.is_integer(kind) or pa.types.is_floating(kind)


def _dtype(kind):
    names = {"double": "float64", "float": "float32", "halffloat": "float16"}
    return np.dtype(names.get(str(kind), str(kind)))


def _text(values):
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)])
    if ends[-1] > np.iinfo("int32").max:
        return pa.array(values, pa.string())
    parts = [None, pa.py_buffer(ends.astype("int32")), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), parts)


def arrow_table(columns):
    """An Arrow table from arrays by name; see `arrow_column`."""
    import pyarrow as pa

    made = [arrow_column(values) for values in columns.values()]
    return pa.Table.from_arrays(made, names=list(columns))


def numpy_column(column):
    """A numpy array from an Arrow column; nulls of numbers become NaN."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_string(column.type):
        return np.array([*column.to_pylist(), None], object)[:-1]
    if pa.types.is_boolean(column.type) and len(column) and not column.null_count:
        # Arrow's own way loads pandas.
        bits = np.frombuffer(column.buffers()[1], "uint8")
        known = np.unpackbits(bits, count=column.offset + len(column), bitorder="little")
        return known.view(bool)[column.offset :]
    if not _has_numbers(column.type) or not len(column):
        return column.to_numpy(zero_copy_only=False)
    bits, numbers = column.buffers()
    found = np.frombuffer(numbers, _dtype(column.type), column.offset + len(column))
    if not column.null_count:
        return found[column.offset :]
    known = np.unpackbits(np.frombuffer(bits, "uint8"), count=len(found), bitorder="little")
    return np.where(known.view(bool), found, np.nan)[column.offset :]
