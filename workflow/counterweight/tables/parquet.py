"""Parquet between the stages: one writer, one reader, the fixed layouts.

The same table always gives the same bytes: column order and types come from a
schema or from the caller, no time stamps and no pandas metadata are written, and
row groups have a fixed size. A file gets its name only when it is complete.

Columns of a table of measurements (`METRICS`). Text is "" where a column says nothing.

==============  =======  =====================================================  =============
column          type     what it is                                             null when
==============  =======  =====================================================  =============
study           text     the study
source          text     method, selector, weighting or stage that was
                         measured
repeat          integer  number of the repeat, from 0; of a ratio's bias the
                         group of draws
target          text     population or rows that the value is of: general,
                         unlabeled, train, test
metric          text     what was measured, from a closed list of names
measure         text     the rate, estimator or mean that the metric is of,
                         such as ``error_d1``, ``ips``
setting         text     point of a sweep or way of use: ``kappa=0.5``,
                         ``hard``; see `setting_options`
part            text     role, group, sample, component, segment, leaf, bin,
                         feature, constraint or kind of regression
variable        text     what of the part: variable of a regression, group
                         in a leaf
step            integer  place in a series: convex step or EM iteration,       no series
                         restart, class, number of components tried
keep_rate       float    rate at which rows of one kind are kept by an          all rows, or
                         evaluation                                             no such rate
value           float    the number                                             not defined
standard_error  float    its standard error                                     not known
rows            integer  number of rows used
==============  =======  =====================================================  =============

Columns of a table of fitted models (`MODEL`): repeat and target as above; ``setting`` the
point of a sweep that the numbers belong to ("" for a model without); ``parameter`` the name
of an array, ``i, j, k`` the indices in it (-1 beyond its dimensions), ``value``.
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
from pathlib import Path

import numpy as np

from counterweight.errors import CounterweightError, listed

ROW_GROUP = 1 << 17
#: Ends the name of a file that is being written; see `replacing` and `swept`.
UNFINISHED = ".unfinished"

#: Layout of every table of measurements, diagnostics included: (column, Arrow type).
#: See the table at the top of this module.
METRICS = (
    ("study", "string"),
    ("source", "string"),
    ("repeat", "int16"),
    ("target", "string"),
    ("metric", "string"),
    ("measure", "string"),
    ("setting", "string"),
    ("part", "string"),
    ("variable", "string"),
    ("step", "int32"),
    ("keep_rate", "float64"),
    ("value", "float64"),
    ("standard_error", "float64"),
    ("rows", "int64"),
)
#: Columns of `METRICS` that say of what a metric was taken, beside the target.
PLACE = ("measure", "setting", "part", "variable", "step", "keep_rate")

#: Layout of a fitted model: numbers addressed by setting, parameter name and up to three indices.
MODEL = (
    ("repeat", "int16"),
    ("target", "string"),
    ("setting", "string"),
    ("parameter", "string"),
    ("i", "int32"),
    ("j", "int32"),
    ("k", "int32"),
    ("value", "float64"),
)


def arrow_schema(layout):
    """Arrow's schema of a layout."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in layout])


@contextlib.contextmanager
def replacing(path):
    """Give a temporary name in the folder of `path`; rename to `path` on success.

    Nothing is left behind when the block fails. A full disk, and a folder that cannot be written,
    are told in a sentence.
    """
    path = Path(path)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        name = path.parent / f".{path.name}.{secrets.token_hex(4)}{UNFINISHED}"
        # Who may read it is for the umask to say, which `mkstemp` would pass over.
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        temporary = name
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CounterweightError(
                f"The disk is full while writing {path}: free some space, then run again."
            ) from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise CounterweightError(
                f"Cannot write {path} ({error.strerror}): make the folder {path.parent} "
                "writable, or choose another results folder in the config."
            ) from error
        raise
    finally:
        if temporary is not None:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)


def sha256(path):
    """SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def swept(folders):
    """Remove what writers left in folders that were killed; the number of files."""
    left = [path for folder in folders for path in Path(folder).rglob(f".*{UNFINISHED}")]
    for path in left:
        path.unlink(missing_ok=True)
    return len(left)


def write_table(path, columns, layout=None, facts=None):
    """Write one Parquet file, whole or not at all.

    `columns` (an Arrow table, a frame or arrays by name) stand in the file in their order; with a
    `layout`, in its order and types, and one that is missing is a ValueError. `facts` are kept
    beside the columns, as JSON, for `read_facts`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if isinstance(columns, pa.Table):
        table = columns
    elif isinstance(columns, dict):
        table = arrow_table(columns)
    else:
        table = pa.Table.from_pandas(columns, preserve_index=False)
    if layout is not None:
        missing = [name for name, _ in layout if name not in table.column_names]
        if missing:
            raise ValueError(f"{path}: columns missing: {listed(missing)}")
        table, wanted = table.select([name for name, _ in layout]), arrow_schema(layout)
        table = table if table.schema.equals(wanted) else table.cast(wanted)
    with replacing(path) as temporary:
        pq.write_table(
            table.replace_schema_metadata({"facts": json.dumps(facts)} if facts else None),
            temporary,
            row_group_size=ROW_GROUP,
            compression="zstd",
            compression_level=1,
            # Arrow writes metadata only with its own form of the schema.
            store_schema=bool(facts),
        )


def _opened(path, columns, **options):
    """An open Parquet file of ours; a sentence where it is missing, broken or lacks a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path, **options)
    except FileNotFoundError as error:
        raise CounterweightError(
            f"{path} is not there: run the step that makes it, or check the path."
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise CounterweightError(
            f"{path} is not a readable Parquet file: delete it and run again to make it anew."
        ) from error
    missing = [name for name in columns or () if name not in file.schema_arrow.names]
    if missing:
        raise CounterweightError(
            f"{path} has no column {listed(missing)}; it has "
            f"{listed(file.schema_arrow.names)}: delete it and run again to make it anew."
        )
    return file


def read_facts(path):
    """What `write_table` kept beside the columns of a file; an empty dict where it kept nothing."""
    with _opened(path, None) as file:
        return json.loads((file.metadata.metadata or {}).get(b"facts", b"{}"))


def read_table(path, columns=None):
    """Read a Parquet file of ours as a pandas frame; one that is not as asked is refused."""
    return read_arrow(path, columns).to_pandas()


def read_columns(path, columns=None, categories=()):
    """Read a Parquet file of ours as numpy arrays by column name.

    Lighter than `read_table`: pandas is not imported. Nulls of numbers are NaN. Text columns in
    `categories` are ``(codes, names)``, for tables of many rows.
    """
    table = read_arrow(path, columns, categories)
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in categories:
            column = column.unify_dictionaries().combine_chunks()
            if hasattr(column, "chunks"):
                column = column.chunk(0)
            columns[name] = (numpy_column(column.indices), column.dictionary.to_pylist())
        else:
            columns[name] = numpy_column(column)
    return columns


def read_arrow(path, columns=None, categories=(), densest=math.inf):
    """Read a Parquet file of ours as an Arrow table; see `read_columns`.

    A file that says that it has more than `densest` rows a byte is taken for damaged.
    """
    import pyarrow as pa

    with _opened(path, columns, read_dictionary=list(categories)) as file:
        rows, size = file.metadata.num_rows, os.path.getsize(path)
        try:
            if rows > densest * size:
                raise pa.ArrowInvalid(f"{rows} rows in {size} bytes")
            return file.read(columns=columns, use_threads=False)
        except (pa.ArrowException, OSError, MemoryError) as error:
            raise CounterweightError(
                f"{path} is a damaged Parquet file: delete it and run again to make it anew."
            ) from error


def blocks(columns, *by):
    """Edges of the runs of rows that agree in the columns `by`, as slices."""

    keys = [columns[name][0] if isinstance(columns[name], tuple) else columns[name] for name in by]
    change = np.zeros(len(keys[0]), bool)
    for key in keys:
        change[1:] |= key[1:] != key[:-1]
    edges = [0, *np.flatnonzero(change).tolist(), len(change)]
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        if stop > start:
            yield slice(start, stop)


def joined(tables):
    """One dict of columns from several with the same columns, in order."""

    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def stacked(tables):
    """One Arrow table from several of the same columns, in order."""
    import pyarrow as pa

    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def constant(text, rows, codes="int8"):
    """An Arrow column that repeats one text, at one byte a row.

    Stacked columns hold at most 127 different texts; with codes of ``int32``, any number.
    """
    import pyarrow as pa

    words = arrow_column([text], pa.string())
    return pa.DictionaryArray.from_arrays(arrow_column(np.zeros(rows, codes)), words)


def metrics_table(study, source, records):
    """Arrow table in the `METRICS` layout from partial records.

    Each has ``metric`` and ``value``, and other columns of `METRICS` where they mean something; a
    key that is no column is a ValueError.
    """
    import pyarrow as pa

    defaults = {
        "study": study,
        "source": source,
        "repeat": 0,
        "target": "",
        "measure": "",
        "setting": "",
        "part": "",
        "variable": "",
        "step": None,
        "keep_rate": None,
        "standard_error": float("nan"),
        "rows": 0,
    }
    full = [defaults | record for record in records]
    unknown = {key for record in full for key in record} - {name for name, _ in METRICS}
    if unknown:
        raise ValueError(f"a table of measurements has no columns {listed(sorted(unknown))}")
    return arrow_table(
        {
            name: arrow_column([record[name] for record in full], pa.type_for_alias(kind))
            for name, kind in METRICS
        }
    )


def model_table(arrays, repeat, target):
    """Long Arrow table (`MODEL` layout) from named arrays of at most three dimensions.

    `arrays` stand by name or, where they belong to a setting of a sweep, by ``(name, setting)``.
    """

    tables = []
    for key, values in arrays.items():
        name, setting = key if isinstance(key, tuple) else (key, "")
        values = np.asarray(values, dtype=float)
        if values.ndim > 3:
            raise ValueError(f"{name} has {values.ndim} dimensions; at most 3 can be stored")
        index = np.indices(values.shape).reshape(values.ndim, values.size)
        index = np.vstack([index, np.full((3 - values.ndim, values.size), -1)]).astype("int32")
        rows = values.size
        tables.append(
            arrow_table(
                {
                    "repeat": np.full(rows, repeat, "int16"),
                    "target": constant(target, rows),
                    "setting": constant(setting, rows, "int32"),
                    "parameter": constant(name, rows, "int32"),
                    "i": index[0],
                    "j": index[1],
                    "k": index[2],
                    "value": values.ravel(),
                }
            )
        )
    return stacked(tables)


def model_arrays(columns):
    """Arrays of one fitted model, of one repeat and target: the inverse of `model_table`.

    They stand by name, or by ``(name, setting)``; see `by_setting`.
    """

    names = ("setting", "parameter", "i", "j", "k", "value")
    columns = {name: np.asarray(columns[name]) for name in names}
    index = np.stack([columns[name] for name in "ijk"])
    arrays = {}
    for part in blocks(columns, "setting", "parameter"):
        setting, name = (str(columns[key][part][0]) for key in ("setting", "parameter"))
        values = addressed(index[:, part], columns["value"][part])
        arrays[(name, setting) if setting else name] = values
    return arrays


def addressed(index, values):
    """The array whose entries are told one by one; the inverse of ``np.indices``.

    `index` (3, n) are the places of the `values` (n,) in the order in which the array holds them,
    -1 beyond its dimensions. Entries that are missing, stand twice or elsewhere are a ValueError;
    nothing larger than `values` is allocated before that is known.
    """

    used = int((index[:, 0] >= 0).sum())
    shape = tuple(map(int, index[:used].max(axis=1) + 1))
    if math.prod(shape) != len(values) or min(shape, default=1) < 1 or (index[used:] != -1).any():
        raise ValueError(f"{len(values)} entries are no array of the shape {shape}")
    # Raises where a place is negative.
    if used and (np.ravel_multi_index(index[:used], shape) != np.arange(len(values))).any():
        raise ValueError("entries of an array are not in their order")
    return np.array(values, float).reshape(shape)


def by_setting(arrays):
    """Arrays of a fitted model, taken apart by setting: ``{setting: {name: array}}``.

    Settings and names are in the order in which the model has them; "" holds the arrays
    that belong to no setting.
    """
    settings = {}
    for key, values in arrays.items():
        name, setting = key if isinstance(key, tuple) else (key, "")
        settings.setdefault(setting, {})[name] = values
    return settings


def read_models(path):
    """Fitted models of a file in the `MODEL` layout by (repeat, target); see `model_arrays`."""
    columns = read_columns(path, [name for name, _ in MODEL])
    try:
        return {
            (int(columns["repeat"][part][0]), str(columns["target"][part][0])): model_arrays(
                {name: values[part] for name, values in columns.items()}
            )
            for part in blocks(columns, "repeat", "target")
        }
    except (ValueError, TypeError) as error:
        raise CounterweightError(
            f"{path} is a damaged table of models ({error}): delete it and run again to make it "
            "anew."
        ) from error


# Columns of jobs by their buffers: PyArrow's own conversions import pandas where it is installed,
# which takes longer than what most jobs compute.


def arrow_column(values, kind=None):
    """An Arrow array of numbers or text, of the type `kind` if one is given.

    None in a list of numbers is null; Arrow arrays are given back.
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


# The text that names a setting, a point of a sweep such as ``inertia=0.9,shifts=all``, is the id of
# the setting in every table. Whoever needs the values behind it asks `setting_options`.


def setting_name(options):
    """Text for the options of a setting, e.g. ``inertia=0.9,shifts=all``."""
    return ",".join(f"{name}={_value_text(value)}" for name, value in options.items())


def _value_text(value):
    parts = list(value.values()) if isinstance(value, dict) else value
    return "+".join(map(_value_text, parts)) if isinstance(parts, list) else str(value)


def setting_options(setting):
    """``"inertia=0.9,iterations=5,shifts=all"`` as a dict; numbers where they are numbers.

    A text without a value, such as ``hard``, gives a name with the value "".
    """
    options = {}
    for option in filter(None, setting.split(",")):
        name, _, value = option.partition("=")
        try:
            options[name] = float(value)
        except ValueError:
            options[name] = value
    return options


def numbers_of(setting):
    """The options of a setting that are numbers, as `setting_options` has them."""
    return {
        name: value for name, value in setting_options(setting).items() if isinstance(value, float)
    }
