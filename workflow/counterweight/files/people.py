"""Tables that people bring: the one reader of them, whatever they are for.

Text separated by commas, semicolons, tabs or bars, Parquet, either of them packed with gzip,
or a folder of such parts.
"""

import contextlib
import io
import logging
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from counterweight.errors import CounterweightError, listed
from counterweight.files.texts import header, looked, opened

log = logging.getLogger("counterweight")

#: Words of a CSV file that stand for a missing value.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"]
    + ["1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN", "NULL", "null", "None"]
)
#: Names of parts in a folder.
PARTS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".gz")
#: Rows at a time of Parquet, where nothing is said.
ROWS = 1 << 17
#: Value of a key in the name of a folder that stands for a missing one.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


def read_people(path, *, absent, nameless=False, reading=None):
    """A table of one row for each person.

    Blank lines of a text are passed over, and counted in the log. Blanks before a value are
    not part of it, those in quotes are.

    Parameters
    ----------
    path : str or Path
        Parquet, or text with a header, whose fields are separated by commas, semicolons, tabs
        or bars (the most frequent in the header) and may stand in double quotes (a quote in
        them doubled). Either may be packed with gzip. A folder is read as the table of all its
        parts in the order of their names; folders in it named ``key=value`` are columns.
    absent : str
        What to do where there is no such file.
    nameless : bool
        Whether a column may be without a name.
    reading : dict, optional
        ``encoding`` and ``separator`` of a text, where they are not to be found out: UTF-8, or
        UTF-16 by its first bytes, else Western European, which the log says.

    Returns
    -------
    pandas.DataFrame
        Columns of a text as text, nothing of which is missing (see `MISSING`).

    Raises
    ------
    CounterweightError
        One sentence with the file, and the line: no such file, not readable, no text, no
        header, a column without a name or with a name twice, a line with another number of
        fields than the header, a quote that does not close, parts with other columns.
    """
    import pyarrow as pa

    table = read_columns(path, absent=absent, nameless=nameless, reading=reading)
    for at, column in enumerate(table.schema):
        if pa.types.is_decimal(column.type):
            table = table.set_column(at, column.name, table[at].cast(pa.float64()))
    return table.to_pandas(ignore_metadata=True)


def read_columns(path, *, absent, nameless=False, reading=None):
    """As `read_people`, as a pyarrow table: texts, or the types of Parquet."""
    import pyarrow as pa

    tables = []
    for part, keys in parts_of(path, absent):
        made = list(_batches(part, nameless, reading, None))
        tables.append((part, _with_keys(pa.Table.from_batches(made), keys)))
    first, table = tables[0]
    for part, other in tables[1:]:
        _check_same(first, table.column_names, part, other.column_names)
    try:
        return pa.concat_tables(
            (other.select(table.column_names) for _, other in tables), promote_options="permissive"
        )
    except pa.ArrowException as error:
        raise CounterweightError(
            f"{path} has parts whose columns are of different types ({first_line(error)}): write "
            "them anew with one type a column."
        ) from error


def row_batches(path, *, absent, rows, reading=None):
    """As `read_columns`, in bounded memory: pyarrow tables of up to `rows` rows in turn.

    Yields
    ------
    pyarrow.Table
        Columns of the parts of a folder may differ in their types from batch to batch.
    """
    import pyarrow as pa

    first = names = None
    for part, keys in parts_of(path, absent):
        for batch in _batches(part, True, reading, rows):
            table = _with_keys(pa.Table.from_batches([batch]), keys)
            first, names = first or part, names or table.column_names
            _check_same(first, names, part, table.column_names)
            yield table.select(names)


def header_of(path, *, absent, reading=None):
    """Names of the columns of a table, of which no more is read than the header of its first part.

    Parameters
    ----------
    path, absent, reading
        See `read_people`.

    Returns
    -------
    list of str
        One without a name is "".
    """
    part, keys = parts_of(path, absent)[0]
    names = _parquet(part).schema_arrow.names if is_parquet(part) else header(part, reading)
    return names + [key for key in keys if key not in names]


def parts_of(path, absent):
    """The files of a table in order, each with the columns that its folders' names say.

    Parameters
    ----------
    path : str or Path
    absent : str
        What to do where there is no such file.

    Returns
    -------
    list of (Path, dict of str to str)
    """
    path = Path(path)
    if path.is_file():
        return [(path, {})]
    files = [path / inner for inner in _inner(path)] if path.is_dir() else []
    if not files:
        raise CounterweightError(
            f"{path} is not there, or is no file or folder of Parquet or CSV files: {absent}."
        )
    told = [folder.split("=", 1) for folder in files[0].relative_to(path).parts[:-1]]
    names = [unquote(pair[0]) for pair in told if len(pair) == 2]
    found = []
    for file in files:
        pairs = [folder.split("=", 1) for folder in file.relative_to(path).parts[:-1]]
        keys = {unquote(pair[0]): unquote(pair[1]) for pair in pairs if len(pair) == 2}
        if list(keys) != names:
            raise CounterweightError(
                f"{file} stands in folders that name {listed(keys) or 'no column'} where those of "
                f"{files[0]} name {listed(names) or 'none'}: put all parts alike."
            )
        found.append((file, {key: "" if v == NO_VALUE else v for key, v in keys.items()}))
    return found


def place_of(path, row, reading=None):
    """Where a row of a table stands, for a sentence; the file is read again to find it.

    Parameters
    ----------
    path : str or Path
    row : int
        From 0, as `read_people` counts.
    reading : dict, optional

    Returns
    -------
    str
        ``"line 7"``, of a part of a folder ``"part-2.csv, line 7"``; ``"row 7"`` (from 0) of
        Parquet, or where `path` is no file.
    """
    path, before = Path(path), 0
    for part, _ in parts_of(path, "") if path.is_dir() else [(path, {})]:
        named = f"{part.relative_to(path)}, " if path.is_dir() else ""
        if not part.is_file() or is_parquet(part):
            count = _parquet(part).metadata.num_rows if part.is_file() else row + 1
            found = f"row {row - before} (counted from 0)"
        else:
            filled = (line for line, fields in looked(part, reading, True).records() if fields)
            lines = list(islice(filled, 1, row - before + 2))
            count, found = len(lines), f"line {lines[-1]}" if lines else ""
        if row - before < count:
            return f"{named}{found}"
        before += count
    return f"row {row} (counted from 0)"


def is_parquet(path):
    """Whether the columns of a file are typed: by its first bytes, or by its name."""
    path = Path(path)
    if path.is_dir():
        inner = _inner(path)
        return bool(inner) and is_parquet(path / inner[0])
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        return True
    return path.is_file() and _magic(path) == b"PAR1"


def check_header(where, names, nameless=True):
    """Refuse names that stand twice, and unless `nameless` columns without one.

    Parameters
    ----------
    where : str or Path
        The file, or words for the table.
    names : list of str
    nameless : bool
    """
    blank = [str(at + 1) for at, name in enumerate(names) if not str(name).strip()]
    if blank and not nameless:
        raise CounterweightError(
            f"{where} has no name for the column number {listed(blank)}: give each column a name."
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CounterweightError(
            f"{where} has the column {listed(twice)} more than once: rename or remove the others."
        )


def first_line(error):
    """The first line of what an error of a library says, without its last dot."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _inner(folder):
    """Paths of the parts in a folder, relative to it, in order; hidden ones are passed over."""
    found = [file.relative_to(folder) for file in folder.rglob("*") if file.is_file()]
    return sorted(
        file
        for file in found
        if file.name.lower().endswith(PARTS) and not any(n[0] in "._" for n in file.parts)
    )


def _magic(path):
    with opened(path) as file, contextlib.suppress(OSError, EOFError):
        return file.read(4)
    return b""


def _parquet(path):
    """A Parquet file, opened; one that is packed with gzip is unpacked in memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = opened(path)
    try:
        packed = not isinstance(file, io.BufferedReader)
        return pq.ParquetFile(io.BytesIO(file.read()) if packed else file)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _no_parquet(path) from error


def _no_parquet(path):
    page = False
    with contextlib.suppress(OSError, EOFError), opened(path) as file:
        page = file.read(100).lower().lstrip().startswith((b"<!doctype html", b"<html"))
    return CounterweightError(
        f"{path} is not a readable Parquet file{', but a web page' if page else ''}: "
        f"{'fetch the file behind the page' if page else 'write it anew'}, or give a CSV file."
    )


def _batches(path, nameless, reading, rows):
    """The rows of one file in turn as Arrow batches, of at most `rows` rows each."""
    import pyarrow as pa

    if is_parquet(path):
        file = _parquet(path)
        check_header(path, file.schema_arrow.names, nameless)
        try:
            # One row group at a time: asked for all, pyarrow holds every one until the end.
            for group in range(file.num_row_groups):
                yield from file.iter_batches(rows or ROWS, row_groups=[group], use_threads=False)
            if not file.metadata.num_rows:
                empty = [pa.array([], column.type) for column in file.schema_arrow]
                yield pa.RecordBatch.from_arrays(empty, schema=file.schema_arrow)
        except (pa.ArrowException, OSError) as error:
            raise _no_parquet(path) from error
        return
    text = looked(path, reading)
    check_header(path, text.names, nameless)
    for batch in text.batches():
        for at in range(0, max(len(batch), 1), rows or len(batch) or 1):
            yield batch.slice(at, rows)
    blank = text.blank_lines()
    if blank:
        log.warning("%s: %d blank lines are passed over; they have no number.", path, blank)


def _with_keys(table, keys):
    """A table with the columns that its folders' names say, behind its own."""
    import pyarrow as pa

    for key, value in keys.items():
        if key not in table.column_names:
            table = table.append_column(key, pa.repeat(pa.scalar(value, pa.string()), len(table)))
    return table


def _check_same(first, names, part, others):
    if sorted(names) != sorted(others):
        lacks, more = set(names) - set(others), set(others) - set(names)
        told = [f"lacks {listed(sorted(lacks))}"] * bool(lacks)
        told += [f"has {listed(sorted(more))} beside"] * bool(more)
        raise CounterweightError(
            f"{part} has other columns than {first} ({' and '.join(told)}): give all parts of the "
            "table the same columns."
        )
