"""Parquet between the stages: one writer, one reader, the fixed layouts.

The same table always gives the same bytes: column order and types come from a
schema or from the caller, no time stamps and no pandas metadata are written, and
row groups have a fixed size. A file gets its name only when it is complete.

Files too large for memory are read and written a batch of rows at a time.
"""

import contextlib
import errno
import hashlib
import itertools
import json
import math
import os
import secrets
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from counterweight.errors import CounterweightError, listed

ROW_GROUP = 1 << 17
PACKED = {"compression": "zstd", "compression_level": 1}
#: Ends the name of a file that is being written; see `replacing` and `swept`.
UNFINISHED = ".unfinished"

#: Layout of every table of measurements, diagnostics included: (column, Arrow type). Text is ""
#: where a column says nothing.
METRICS = (
    ("study", "string"),
    ("source", "string"),  # method, selector, weighting or stage that was measured
    ("repeat", "int16"),  # from 0; of a ratio's bias the group of draws
    ("target", "string"),  # population or rows of the value: general, unlabeled, train, test
    ("metric", "string"),  # what was measured, from a closed list of names
    ("measure", "string"),  # rate, estimator or mean that the metric is of: `error_d1`, `ips`
    ("setting", "string"),  # point of a sweep, way of use: `kappa=0.5`; see `setting_options`
    ("part", "string"),  # role, group, sample, component, segment, leaf, bin, feature, constraint
    ("variable", "string"),  # what of the part: variable of a regression, group in a leaf
    ("step", "int32"),  # place in a series: step, iteration, restart, class; null without one
    ("keep_rate", "float64"),  # at which rows of one kind are kept by an evaluation; null for all
    ("value", "float64"),  # the number; null where it is not defined
    ("standard_error", "float64"),  # null where it is not known
    ("rows", "int64"),  # number of rows used
)
#: Columns of `METRICS` that say of what a metric was taken, beside the target.
PLACE = ("measure", "setting", "part", "variable", "step", "keep_rate")

#: Layout of fitted models: numbers by setting ("" for a model without), name of the array, and the
#: indices in it, -1 beyond its dimensions.
MODEL = (
    *METRICS[2:4],
    ("setting", "string"),
    ("parameter", "string"),
    *(("i", "int32"), ("j", "int32"), ("k", "int32")),
    ("value", "float64"),
)


def arrow_schema(layout):
    """Arrow's schema of a layout."""
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


def write_text(target, text):
    """A text as a file, whole or not at all."""
    with replacing(target) as path:
        path.write_text(text, encoding="utf-8")


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


def as_json(value, **how):
    """JSON text in the strict form, which every reader takes: what is not finite is null."""

    def known(value):
        if isinstance(value, dict):
            return {key: known(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [known(one) for one in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(known(value), allow_nan=False, **how)


def finite_or_blank(frame):
    """A frame whose infinite numbers are NaN, which CSV files leave blank."""
    return frame.replace([math.inf, -math.inf], math.nan)


def write_table(path, columns, layout=None, facts=None):
    """Write one Parquet file, whole or not at all.

    `columns` (an Arrow table, a frame or arrays by name) stand in the file in their order; with a
    `layout`, in its order and types, and one that is missing is a ValueError. `facts` are kept
    beside the columns, as JSON, for `read_facts`.
    """
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
            table.replace_schema_metadata({"facts": as_json(facts)} if facts else None),
            temporary,
            row_group_size=ROW_GROUP,
            # Arrow writes metadata only with its own form of the schema.
            store_schema=bool(facts),
            **PACKED,
        )


def _opened(path, columns, **options):
    """An open Parquet file of ours; a sentence where it is missing, broken or lacks a column."""
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
    names = file.schema_arrow.names
    if missing := [name for name in columns or () if name not in names]:
        raise CounterweightError(
            f"{path} has no column {listed(missing)}; it has {listed(names)}: delete it and run "
            "again to make it anew."
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
    """Read a Parquet file of ours as numpy arrays by column name; nulls of numbers are NaN.

    Text columns in `categories` are ``(codes, names)``, for tables of many rows.
    """
    table = read_arrow(path, columns, categories)
    return {
        name: coded(column) if name in categories else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def coded(column):
    """Codes (n,) and words of a column that was read as categories."""
    column = column.unify_dictionaries().combine_chunks()
    column = column.chunk(0) if hasattr(column, "chunks") else column
    return column.indices.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()


def read_arrow(path, columns=None, categories=(), densest=math.inf):
    """Read a Parquet file of ours as an Arrow table; see `read_columns`.

    A file that says that it has more than `densest` rows a byte is taken for damaged.
    """
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
    change = np.ones(len(keys[0]), bool)
    change[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    edges = [*np.flatnonzero(change).tolist(), len(change)]
    return (slice(*ends) for ends in itertools.pairwise(edges))


def joined(tables):
    """One dict of columns from several with the same columns, in order."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def stacked(tables):
    """One Arrow table from several of the same columns, in order."""
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def constant(text, rows, codes="int8"):
    """An Arrow column that repeats one text, at one byte a row.

    Stacked columns hold at most 127 different texts; with codes of ``int32``, any number.
    """
    return pa.DictionaryArray.from_arrays(np.zeros(rows, codes), pa.array([text], pa.string()))


def metrics_table(study, source, records):
    """Arrow table in the `METRICS` layout from partial records.

    Each has ``metric`` and ``value``, and other columns of `METRICS` where they mean something; a
    key that is no column is a ValueError.
    """
    defaults = dict.fromkeys(("target", "measure", "setting", "part", "variable"), "")
    defaults |= {"study": study, "source": source, "repeat": 0, "step": None, "keep_rate": None}
    defaults |= {"standard_error": math.nan, "rows": 0}
    full = [defaults | record for record in records]
    if unknown := {key for record in full for key in record} - {name for name, _ in METRICS}:
        raise ValueError(f"a table of measurements has no columns {listed(sorted(unknown))}")
    columns = {}
    for name, kind in METRICS:
        values = [record[name] for record in full]
        if kind != "string":  # whatever numbers they are, of numpy or none
            number = float if kind == "float64" else int
            values = [None if value is None else number(value) for value in values]
        columns[name] = pa.array(values, pa.type_for_alias(kind))
    return pa.table(columns)


def model_table(arrays, repeat, target):
    """Long Arrow table (`MODEL` layout) from named arrays of at most three dimensions.

    `arrays` stand by name or, where they belong to a setting of a sweep, by ``(name, setting)``.
    """
    tables = []
    for key, values in arrays.items():
        name, setting = key if isinstance(key, tuple) else (key, "")
        index, values = places(name, values)
        rows = values.size
        columns = {
            "repeat": np.full(rows, repeat, "int16"),
            "target": constant(target, rows),
            "setting": constant(setting, rows, "int32"),
            "parameter": constant(name, rows, "int32"),
            **dict(zip("ijk", index, strict=True)),
            "value": values,
        }
        tables.append(arrow_table(columns))
    return stacked(tables)


def model_arrays(columns):
    """Arrays of one fitted model, of one repeat and target: the inverse of `model_table`.

    They stand by name, or by ``(name, setting)``; see `by_setting`.
    """
    columns = {name: np.asarray(columns[name]) for name, _ in MODEL[2:]}
    index = np.stack([columns[name] for name in "ijk"])
    arrays = {}
    for part in blocks(columns, "setting", "parameter"):
        setting, name = (str(columns[key][part][0]) for key in ("setting", "parameter"))
        values = addressed(index[:, part], columns["value"][part])
        arrays[(name, setting) if setting else name] = values
    return arrays


def places(name, values):
    """Where each entry of an array stands, (3, n), -1 beyond its dimensions; the entries (n,)."""
    values = np.asarray(values, dtype=float)
    if values.ndim > 3:
        raise ValueError(f"{name} has {values.ndim} dimensions; at most 3 can be stored")
    index = np.full((3, values.size), -1, "int32")
    index[: values.ndim] = np.indices(values.shape).reshape(values.ndim, values.size)
    return index, values.ravel()


def addressed(index, values):
    """The array whose entries are told one by one; the inverse of `places`.

    Entries that are missing, stand twice or elsewhere are a ValueError; nothing larger than
    `values` is allocated before that is known.
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


def arrow_table(columns):
    """An Arrow table from arrays by name; NaN stays NaN."""
    own = (list, pa.Array, pa.ChunkedArray)
    return pa.table(
        {name: v if isinstance(v, own) else np.asarray(v) for name, v in columns.items()}
    )


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


#: Rows a batch: a row group of ours.
BATCH = ROW_GROUP


def batches(path, columns=None, size=BATCH, *, categories=(), threads=False):
    """Columns of a Parquet file as numpy arrays by name, batch after batch.

    Memory does not grow with the number of rows. Batches have `size` rows, but those at the end of
    the file or of a row group may be shorter. Text columns in `categories` are ``(codes, names)``;
    the names may differ between batches. Nulls of numbers are NaN. The arrays may be read-only.
    """
    columns = None if columns is None else list(columns)
    with _opened(path, columns, read_dictionary=list(categories)) as file:
        # One row group at a time: asked for all, pyarrow holds every one until the end.
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(
                int(size), row_groups=[group], columns=columns, use_threads=threads
            ):
                yield {
                    name: _array(column, name in categories)
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                }


def log_batches(paths, columns, size=BATCH):
    """Columns of a log of the user's as `batches` gives them, file after file.

    `paths` are Parquet files, or folders whose ``.parquet`` files are read in order of their names.
    """
    if int(size) != size or size < 1:
        raise CounterweightError(f"A batch must be of a whole number of rows from 1, not {size}.")
    files = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        path = Path(path)
        parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not parts:
            raise CounterweightError(f"There is no .parquet file in the folder {path}.")
        files += parts
    if not files:
        raise CounterweightError("The log is empty: no file was named.")
    for path in files:
        # Whoever made the log wants it mended, not made anew.
        try:
            names = column_names(path)
        except CounterweightError as error:
            problem = "is not there" if not path.exists() else "is not a readable Parquet file"
            raise CounterweightError(f"{path} {problem}: check the path of the log.") from error
        missing = [name for name in columns if name not in names]
        if missing:
            raise CounterweightError(
                f"{path} has no column {listed(missing)}; it has {listed(names)}: say which of "
                "these hold the reward, the propensity and the target probability."
            )
    for path in files:
        yield from batches(path, columns, size, threads=True)


def _array(column, category):
    if category:
        return column.indices.to_numpy(zero_copy_only=False), column.dictionary.to_pylist()
    kind = str(column.type)
    if kind.startswith("decimal") or (kind == "bool" and column.null_count):
        # As objects their rows would be walked one by one.
        column = (column.cast("int8") if kind == "bool" else column).cast("float64")
    return column.to_numpy(zero_copy_only=False)


def ahead(items):
    """The items of an iterator, the next one made while the caller works on the last.

    Pays where making them leaves the interpreter free, as decoding Parquet does; costs one
    more thread and one more item of memory. Errors come as if there were no thread.
    """
    items, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, end)
        while (item := waiting.result()) is not end:
            waiting = pool.submit(next, items, end)
            yield item


def together(sources, size=BATCH):
    """Batches of several Parquet files of equally many rows, in step.

    `sources` are ``(path, columns, categories)`` as of `batches`. Each batch is a list with a dict
    for each file, of the same rows; it ends where a row group of any file ends.
    """
    counts = [row_count(path) for path, _, _ in sources]
    for (path, _, _), count in zip(sources, counts, strict=True):
        if count != counts[0]:
            raise CounterweightError(
                f"{sources[0][0]} has {counts[0]} rows but {path} has {count}: they must be of the "
                "same rows; delete the later one and run again."
            )
    readers = [batches(path, columns, size, categories=names) for path, columns, names in sources]
    held = [({}, 0, 0)] * len(readers)
    done = 0
    while done < counts[0]:
        for i, (_, start, stop) in enumerate(held):
            if start == stop:
                batch = next(readers[i])
                first = next(iter(batch.values()))
                held[i] = batch, 0, len(first[0] if isinstance(first, tuple) else first)
        step = min(stop - start for _, start, stop in held)
        yield [_part(batch, slice(start, start + step)) for batch, start, _ in held]
        held = [(batch, start + step, stop) for batch, start, stop in held]
        done += step


def _part(batch, rows):
    return {
        name: (values[0][rows], values[1]) if isinstance(values, tuple) else values[rows]
        for name, values in batch.items()
    }


def column_names(path):
    """Columns of a Parquet file, from its footer."""
    with _opened(path, None) as file:
        return list(file.schema_arrow.names)


def row_count(path):
    """Rows of a Parquet file, from its footer."""
    with _opened(path, None) as file:
        return file.metadata.num_rows


@contextlib.contextmanager
def writing(path, layout):
    """Write a Parquet file batch after batch by a `Writer`, whole or not at all.

    The bytes are those of `write_table` on all rows at once, whatever the sizes of the batches.
    """
    schema, options = arrow_schema(layout), {"store_schema": False, **PACKED}
    with replacing(path) as temporary, pq.ParquetWriter(temporary, schema, **options) as file:
        writer = Writer(file, schema)
        yield writer
        if len(writer.waiting) or not writer.rows:
            file.write_table(writer.waiting.combine_chunks(), row_group_size=ROW_GROUP)


class Writer:
    """Collects rows into row groups of `ROW_GROUP`; made by `writing`."""

    def __init__(self, file, schema):
        self._file, self._schema = file, schema
        self.waiting, self.rows = schema.empty_table(), 0

    def write(self, columns):
        """Append rows: values of one length for each column of the layout; others are left out.

        Text may be a list or an Arrow array. A column that is missing is a ValueError.
        """
        missing = [name for name in self._schema.names if name not in columns]
        if missing:
            raise ValueError(f"columns missing: {missing}")
        # The caller may fill the same arrays again, so what waits must be a copy.
        copied = {
            name: columns[name].copy() if isinstance(columns[name], np.ndarray) else columns[name]
            for name in self._schema.names
        }
        part = pa.table(copied).cast(self._schema)
        self.rows += len(part)
        self.waiting = pa.concat_tables([self.waiting, part])
        if whole := len(self.waiting) // ROW_GROUP * ROW_GROUP:
            table = self.waiting.slice(0, whole).combine_chunks()
            self._file.write_table(table, row_group_size=ROW_GROUP)
            self.waiting = self.waiting.slice(whole)
