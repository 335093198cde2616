"""A table of the user's own: CSV or Parquet, any columns."""

import csv
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.files.reading import SEPARATORS

TITLE = "Own table"
LICENCE = "the user's own"
#: The user names the file, in the config.
OWN = True
FILES = {}
SOURCES = []


class OwnTable:
    """A table that the user has, with one row for each person."""

    @staticmethod
    def read(path):
        """Typed table in file order.

        Parameters
        ----------
        path : str or Path
            A file that ends in ``.parquet``, or text in UTF-8 with a header, whose fields are
            separated by commas, semicolons, tabs or bars (the most frequent in the header)
            and may stand in double quotes.

        Returns
        -------
        pandas.DataFrame
            ``row`` (int32 from 0) and the columns under their own names: numbers as Int64 or
            float64, true/false as Int64, all else as text. Empty fields, and words such as
            NA, are null. In a CSV file a column is of numbers only if every field is one.

        Raises
        ------
        CounterweightError
            One sentence with the file, and the line or the column: no such file, no text, no
            row, a line with another number of fields, a column without a name, with a name
            twice, with the name ``row``, without any value, infinite, or of a type that is
            neither number nor text.
        """
        import numpy as np

        path = Path(path)
        if not path.is_file():
            raise CounterweightError(
                f"{path} is not there, or is no file: correct the path of the table in the config."
            )
        packed = path.suffix.lower() in (".parquet", ".pq")
        frame = _parquet(path) if packed else _text(path)
        _check_names(path, list(frame.columns))
        if not len(frame):
            raise CounterweightError(f"{path} has a header but no row: there is nothing to learn.")
        frame = frame.copy()
        for name in frame.columns:
            frame[name] = _typed(path, name, frame[name])
        frame.insert(0, "row", np.arange(len(frame), dtype=np.int32))
        return frame


def _check_names(path, names):
    blank = [str(at + 1) for at, name in enumerate(names) if not str(name).strip()]
    twice = sorted({name for name in names if names.count(name) > 1})
    problem = ""
    if blank:
        problem = f"has no name for the column number {listed(blank)}: give each column a name"
    elif twice:
        problem = f"has the column {listed(twice)} more than once: rename or remove the others"
    elif "row" in names:
        problem = "has a column row, the name of the row number here: rename it"
    if problem:
        raise CounterweightError(f"{path} {problem}.")


def _parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read(use_threads=False)
    except (pa.ArrowException, OSError) as error:
        raise CounterweightError(
            f"{path} is not a readable Parquet file: write it anew, or give a CSV file."
        ) from error
    _check_names(path, table.column_names)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_decimal(column.type):
            table = table.set_column(
                table.column_names.index(name), name, column.cast(pa.float64())
            )
    return table.to_pandas(ignore_metadata=True)


def _text(path):
    import pandas as pd

    try:
        header = None
        with open(path, encoding="utf-8-sig", newline="") as file:
            for line, text in enumerate(file, 1):
                if "\0" in text:
                    raise CounterweightError(
                        f"{path}, line {line} holds a byte 0, so this is not text: save the table "
                        "as CSV in UTF-8."
                    )
                if line == 1:
                    header = text
        if header is None:
            raise CounterweightError(f"{path} is empty: put a table there.")
        if not header.strip():
            raise CounterweightError(f"{path}, line 1 is blank where the header is expected.")
        separator = max(SEPARATORS, key=header.count)
        with open(path, encoding="utf-8-sig", newline="") as file:
            names = None
            reader = csv.reader(file, delimiter=separator, skipinitialspace=True)
            for fields in reader:
                if names is None:
                    names = fields
                    _check_names(path, [name.strip() for name in names])
                elif fields and len(fields) != len(names):
                    raise CounterweightError(
                        f"{path}, line {reader.line_num} has {len(fields)} fields where the header "
                        f"has {len(names)} ({SEPARATORS[separator]} between them): repair the line."
                    )
        frame = pd.read_csv(
            path,
            sep=separator,
            skipinitialspace=True,
            encoding="utf-8-sig",
            low_memory=False,
            index_col=False,
        )
    except UnicodeDecodeError as error:
        raise CounterweightError(
            f"{path} is not UTF-8 text (byte {error.object[error.start]:#04x}): save the table as "
            "CSV in UTF-8."
        ) from error
    except (csv.Error, pd.errors.ParserError, OverflowError) as error:
        raise CounterweightError(f"{path} cannot be read as CSV: {error}.") from error
    frame.columns = [name.strip() for name in frame.columns]
    return frame


def _typed(path, name, values):
    import numpy as np
    import pandas as pd

    if values.isna().all():
        raise CounterweightError(f"{path}: the column {name!r} is empty in every row: remove it.")
    kind = pd.api.types
    if kind.is_bool_dtype(values):
        return values.astype("Int64")
    if kind.is_integer_dtype(values):
        if (values.abs() >= 2**53).any():
            raise CounterweightError(
                f"{path}: the column {name!r} has numbers of more than 15 digits, which look like "
                "names of things: write them as text, or remove the column."
            )
        return values.astype("Int64")
    if kind.is_float_dtype(values):
        values = values.astype(float)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise CounterweightError(
                f"{path}: the column {name!r} is infinite in {len(infinite)} rows (first: row "
                f"{infinite[0]}): correct those rows."
            )
        return values
    text = values.dropna()
    if isinstance(values.dtype, pd.CategoricalDtype):
        text = text.astype(object)
    if text.map(lambda value: isinstance(value, bool)).all():
        return values.astype("boolean").astype("Int64")
    if not text.map(lambda value: isinstance(value, str)).all():
        raise CounterweightError(
            f"{path}: the column {name!r} is neither numbers nor text ({values.dtype}): write it "
            "as numbers or text, or remove it."
        )
    return values.astype("str")
