"""Read header-less text tables of the data sets, with errors that name the place."""

import csv
from pathlib import Path

from counterweight.errors import CounterweightError

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def read_fields(path, kinds, *, missing=None, comment=None):
    """Read a comma-separated file without header into typed columns.

    Blank lines are skipped. Blanks after a comma are not part of a value. Quotes have
    no meaning.

    Parameters
    ----------
    path : str or Path
    kinds : dict of str to str
        ``"integer"``, ``"number"`` or ``"text"`` by column name, in file order.
    missing : str, optional
        The word for a missing value; it becomes null. Without it every value must be there.
    comment : str, optional
        A first line that begins with this character is skipped.

    Returns
    -------
    frame : pandas.DataFrame
        Integers as ``Int64``, numbers as ``float64``, text as strings; rows in file order.
    lines : numpy.ndarray of int
        Line number of each row, from 1.

    Raises
    ------
    CounterweightError
        One sentence with file, line and column: no such file, empty, another number
        of fields, another separator, text in a number column, an empty field.
    """
    import numpy as np
    import pandas as pd

    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise CounterweightError(
            f"{path} is not there: run the download, or put the file there by hand."
        ) from error
    except OSError as error:
        raise CounterweightError(f"{path} cannot be read ({error.strerror}).") from error
    skip = 1 if comment and content.startswith(comment.encode()) else 0
    lines = _data_lines(path, content, list(kinds), skip)
    dtypes = {"integer": "Int64", "number": np.float64, "text": "str"}
    options = {
        "header": None, "names": list(kinds), "skipinitialspace": True, "skiprows": skip,
        "index_col": False, "keep_default_na": False, "na_values": [missing] if missing else [],
        "quoting": csv.QUOTE_NONE, "encoding": "utf-8",
    }  # fmt: skip
    try:
        with np.errstate(invalid="ignore"):
            frame = pd.read_csv(
                path, dtype={name: dtypes[kind] for name, kind in kinds.items()}, **options
            )
    except UnicodeDecodeError as error:
        raise CounterweightError(
            f"{path} is not text (byte {error.start}): it may be packed or damaged; fetch it anew."
        ) from error
    except (ValueError, OverflowError, TypeError) as error:
        _explain(path, pd.read_csv(path, dtype="str", **options), kinds, lines, missing)
        raise CounterweightError(f"{path} cannot be read: {error}") from error
    numeric = frame[[name for name, kind in kinds.items() if kind != "text"]]
    if not np.isfinite(numeric.to_numpy(dtype=float, na_value=np.nan)).all():
        # The parser makes empty fields, and words such as nan, null: look at the text.
        _explain(path, pd.read_csv(path, dtype="str", **options), kinds, lines, missing)
    for name in frame.columns.difference(numeric.columns, sort=False):
        refuse(path, name, frame[name].to_numpy() == "", frame[name], lines, "some text")
    return frame, lines


def refuse(path, column, wrong, values, lines, expected):
    """Raise for the first row where `wrong` holds.

    Parameters
    ----------
    path : Path
    column : str
    wrong : array of bool, shape (n,)
    values : sequence, shape (n,)
    lines : array of int, shape (n,)
    expected : str
        What the column should hold.

    Raises
    ------
    CounterweightError
    """
    import numpy as np

    wrong = np.asarray(wrong, dtype=bool)
    if wrong.any():
        at = int(np.argmax(wrong))
        more = f" (and {int(wrong.sum()) - 1} more rows)" if wrong.sum() > 1 else ""
        raise CounterweightError(
            f"{path}, line {lines[at]}, column {column}: {str(values.iloc[at])!r} where "
            f"{expected} is expected{more}."
        )


def _explain(path, frame, kinds, lines, missing):
    """Raise for the first text that is not what its column holds."""
    import numpy as np
    import pandas as pd

    for name, kind in kinds.items():
        if kind == "text":
            continue
        numbers = pd.to_numeric(frame[name], errors="coerce").astype(float)
        wrong = numbers.isna() | ~np.isfinite(numbers.fillna(0.0))
        if missing:
            wrong &= frame[name].notna()
        if kind == "integer":
            wrong |= numbers.notna() & ((numbers % 1 != 0) | (numbers.abs() >= 2.0**63))
        expected = "a whole number" if kind == "integer" else "a number"
        refuse(path, name, wrong, frame[name], lines, expected)


def _data_lines(path, content, columns, skip):
    """Line numbers of the rows, after checking that each has one field per column."""
    import numpy as np

    codes = np.frombuffer(content, dtype=np.uint8)
    ends = np.append(np.flatnonzero(codes == ord("\n")), len(codes))
    starts = np.append(0, ends[:-1] + 1)
    commas = np.flatnonzero(codes == ord(","))
    count = np.searchsorted(commas, ends) - np.searchsorted(commas, starts)
    # A line without any comma is blank or wrong; there are few, so each is looked at.
    blank = np.zeros(len(ends), dtype=bool)
    for at in np.flatnonzero(count == 0):
        blank[at] = not content[starts[at] : ends[at]].strip()
        if not blank[at] and at >= skip:
            break
    kept = np.flatnonzero(~blank)
    kept = kept[kept >= skip]
    if not len(kept):
        raise CounterweightError(f"{path} is empty: delete it and fetch it anew.")
    wrong = kept[count[kept] != len(columns) - 1]
    if len(wrong):
        at = int(wrong[0])
        text = content[starts[at] : ends[at]].decode("utf-8", "replace").strip()
        found = int(count[at]) + 1
        hint = ""
        if found < len(columns):
            mark = max(SEPARATORS, key=text.count)
            if text.count(mark) >= max(2, found):
                hint = f"; it looks separated by {SEPARATORS[mark]}, not commas"
            else:
                hint = f"; a column is missing out of {', '.join(columns)}"
        raise CounterweightError(
            f"{path}, line {at + 1} has {found} fields where {len(columns)} are expected{hint}."
        )
    return kept + 1
