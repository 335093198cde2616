"""Parquet files too large for memory: read and written a batch of rows at a time."""

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from counterweight.errors import CounterweightError, listed
from counterweight.tables.parquet import PACKED, ROW_GROUP, _opened, arrow_schema, replacing

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
