"""Tables that people bring, CSV or Parquet: the one reader of them, whatever they are for."""

import codecs
import csv
import io
import logging
import re
from itertools import islice
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.files.reading import SEPARATORS

log = logging.getLogger("counterweight")

#: Words of a CSV file that stand for a missing value.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"]
    + ["1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN", "NULL", "null", "None"]
)
#: What stands in each field of a row behind the last one.
END = "\x1f"


def read_people(path, *, absent, nameless=False):
    """A table of one row for each person.

    Blank lines of a CSV file are passed over, and counted in the log. Blanks before a value are
    not part of it, those in quotes are.

    Parameters
    ----------
    path : str or Path
        A file that ends in ``.parquet``, or text in UTF-8 with a header, whose fields are
        separated by commas, semicolons, tabs or bars (the most frequent in the header) and may
        stand in double quotes (a quote in them doubled).
    absent : str
        What to do where there is no such file.
    nameless : bool
        Whether a column may be without a name.

    Returns
    -------
    pandas.DataFrame
        Columns of a CSV file as text, nothing of which is missing (see `MISSING`).

    Raises
    ------
    CounterweightError
        One sentence with the file, and the line: no such file, not readable, no text, no
        header, a column without a name or with a name twice, a line with another number of
        fields than the header.
    """
    path = Path(path)
    if not path.is_file():
        raise CounterweightError(f"{path} is not there, or is no file: {absent}.")
    table = _parquet(path, nameless) if is_parquet(path) else _text(path, nameless)
    return table.to_pandas(ignore_metadata=True)


def is_parquet(path):
    """Whether the name of a file says that its columns are typed."""
    return Path(path).suffix.lower() in (".parquet", ".pq")


def check_header(where, names, nameless=True):
    """Refuse names that stand twice, and unless `nameless` columns without one.

    Parameters
    ----------
    where : str or Path
        The file, or words for the table.
    names : list of str
    nameless : bool

    Raises
    ------
    CounterweightError
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


def _parquet(path, nameless):
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CounterweightError(
            f"{path} is not a readable Parquet file: write it anew, or give a CSV file."
        ) from error
    check_header(path, table.column_names, nameless)
    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_decimal(column.type):
            table = table.set_column(at, name, column.cast(pa.float64()))
    return table


def _text(path, nameless):
    import pyarrow as pa

    text = _decoded(path)
    header = next(io.StringIO(text, newline=""), "")
    if not header.strip():
        raise CounterweightError(
            f"{path}, line 1 is blank where the header is expected."
            if text
            else f"{path} is empty: put a table there."
        )
    separator = max(SEPARATORS, key=header.count)
    mark = rf"(\A|[{separator}\r\n])"
    if re.search(f"{mark} ", text):
        # A field in quotes is taken whole, so that nothing in it is changed.
        text = re.sub(rf'{mark} *("[^"]*(?:""[^"]*)*")?', r"\1\2", text)
    try:
        names = [name.strip() for name in next(_records(text, separator))[1]]
        check_header(path, names, nameless)
        table, wrong = _parsed(text, separator, len(names))
        if wrong:
            filled = (line for line, fields in _records(text, separator) if fields)
            line = next(islice(filled, wrong.number - 1, None))
            raise CounterweightError(
                f"{path}, line {line} has {wrong.actual_columns} fields where the header has "
                f"{len(names)} ({SEPARATORS[separator]} between them): repair the line."
            )
        if re.search(r"(\r\n|\n|\r)\1", text):
            blank = sum(not fields for _, fields in _records(text, separator))
            log.warning("%s: %d blank lines are passed over; they have no number.", path, blank)
    except (csv.Error, pa.ArrowException) as error:
        raise CounterweightError(f"{path} cannot be read as CSV: {error}.") from error
    return table.rename_columns(names)


def _decoded(path):
    """The text of a file, which is UTF-8 without a byte 0."""
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    at = content.find(b"\0")
    if at >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise CounterweightError(
            f"{path}, line {line} holds a byte 0, so this is not text: save the table as CSV in "
            "UTF-8."
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise CounterweightError(
            f"{path} is not UTF-8 text (byte {content[error.start]:#04x}): save the table as CSV "
            "in UTF-8."
        ) from error


def _records(text, separator):
    """The number of the last line of each record, and its fields; none for a blank line."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    return ((reader.line_num, fields) for fields in reader)


def _parsed(text, separator, columns):
    """The rows below the header as an Arrow table of texts, and the first that is no row."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    wrong, names = [], [str(at) for at in range(columns)]

    def stop(row):
        wrong.append(row)
        return "error"

    # An opening quote without its end would take all that follows: this row tells it.
    content = f"{text}\n{separator.join([END] * columns)}".encode()
    try:
        table = arrow.read_csv(
            pa.py_buffer(content),
            arrow.ReadOptions(
                use_threads=False,
                column_names=names,
                skip_rows_after_names=1,
                block_size=min(len(content), 1 << 30),
            ),
            arrow.ParseOptions(
                delimiter=separator, newlines_in_values=True, invalid_row_handler=stop
            ),
            arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
    except pa.ArrowInvalid:
        if not wrong:
            raise
        return None, wrong[0]
    if table[0][-1].as_py() != END:
        raise csv.Error("a quote that opens a field does not close")
    return table.slice(0, len(table) - 1), None
