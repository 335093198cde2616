"""Read text tables of the data sets, with errors that name the place."""

import codecs
import csv
from pathlib import Path

from counterweight.errors import CounterweightError, listed

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def content_of(path):
    """Bytes of a file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    CounterweightError
        When it is not there or cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CounterweightError(
            f"{path} is not there: run the download, or put the file there by hand."
        ) from error
    except OSError as error:
        raise CounterweightError(f"{path} cannot be read ({error.strerror}).") from error


def read_fields(
    path, kinds, *, missing=None, comment=None, separator=",", header=False, quotes=False
):
    """Read a file of separated fields into typed columns.

    Blank lines are skipped. Blanks after a separator are not part of a value.

    Parameters
    ----------
    path : str or Path
    kinds : dict of str to str
        ``"integer"``, ``"number"`` or ``"text"`` by column name, in file order.
    missing : str or dict of str to str, optional
        The word for a missing value, in all columns or by column name; it becomes null.
        Without it every value must be there.
    comment : str, optional
        A first line that begins with this character is skipped.
    separator : str
        One of `SEPARATORS`.
    header : bool
        Whether a line with the names of `kinds`, in their order, comes before the rows.
    quotes : bool
        Whether a field may stand in double quotes (a quote in it doubled, separators in
        it part of the value, no line break). Otherwise quotes have no meaning.

    Returns
    -------
    frame : pandas.DataFrame
        Integers as ``Int64``, numbers as ``float64``, text as strings; rows in file order.
    lines : numpy.ndarray of int
        Line number of each row, from 1.

    Raises
    ------
    CounterweightError
        One sentence with file, line and column: no such file, empty, another header,
        another number of fields, another separator, a quote that does not close, text
        in a number column, an empty field.
    """
    import numpy as np
    import pandas as pd

    path = Path(path)
    content = content_of(path)
    if content.startswith(codecs.BOM_UTF8):
        content = content.replace(codecs.BOM_UTF8, b"   ", 1)
    _check_text(path, content)
    skip = 1 if comment and content.startswith(comment.encode()) else 0
    if header:
        _check_header(path, content, list(kinds), skip, separator, quotes)
        skip += 1
    lines = _data_lines(path, content, list(kinds), skip, separator, quotes)
    if not missing:
        missing = []
    dtypes = {"integer": "Int64", "number": np.float64, "text": "str"}
    options = {
        "header": None,
        "names": list(kinds),
        "skipinitialspace": True,
        "skiprows": skip,
        "index_col": False,
        "keep_default_na": False,
        "na_values": missing,
        "sep": separator,
        "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
        "encoding": "utf-8",
    }
    try:
        with np.errstate(invalid="ignore"):
            frame = pd.read_csv(
                path, dtype={name: dtypes[kind] for name, kind in kinds.items()}, **options
            )
    except (ValueError, OverflowError, TypeError) as error:
        _explain(path, pd.read_csv(path, dtype="str", **options), kinds, lines, missing)
        raise CounterweightError(f"{path} cannot be read: {error}") from error
    numeric = frame[[name for name, kind in kinds.items() if kind != "text"]]
    if not np.isfinite(numeric.to_numpy(dtype=float, na_value=np.nan)).all():
        # The parser makes empty fields, and words such as nan, null: look at the text.
        _explain(path, pd.read_csv(path, dtype="str", **options), kinds, lines, missing)
    for name in frame.columns.difference(numeric.columns, sort=False):
        refuse(path, name, frame[name].str.strip() == "", frame[name], lines, "some text")
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


def _check_text(path, content):
    """Refuse bytes that are not UTF-8 text."""
    at = content.find(b"\0")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        at = error.start if at < 0 else min(at, error.start)
    if at >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise CounterweightError(
            f"{path} is not text (byte {content[at]:#04x} in line {line}): it may be packed, "
            "damaged or in another encoding than UTF-8; fetch it anew."
        )


def _check_header(path, content, columns, skip, separator, quotes):
    """Refuse a header that does not name the columns in their order."""
    if not content.strip():
        raise CounterweightError(f"{path} is empty: delete it and fetch it anew.")
    text = b"".join(content.split(b"\n", skip + 1)[skip : skip + 1]).decode("utf-8-sig", "replace")
    text = text.strip()
    quoting = csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE
    try:
        names = next(
            csv.reader([text], delimiter=separator, quoting=quoting, skipinitialspace=True), []
        )
    except csv.Error:
        names = []  # no text at all, or old line ends
    if names == columns:
        return
    absent = [name for name in columns if name not in names]
    other = [name for name in names if name not in columns]
    hint = _other_separator(text, separator, len(names))
    if not text:
        problem = "is blank where the header is expected"
    elif hint:
        problem = f"is no header of {len(columns)} columns; {hint}"
    elif len(absent) == len(columns):
        problem = f"is not the header, which should name the columns {listed(columns)}"
    elif absent:
        problem = f"is a header without the column {listed(absent)}"
    elif other:
        problem = f"is a header with the unknown column {listed(other)}"
    else:
        problem = f"is a header in another order than {', '.join(columns)}, or with a name twice"
    raise CounterweightError(f"{path}, line {skip + 1} {problem}.")


def _other_separator(text, separator, fields):
    """A hint at the separator that a line of so many fields seems to have instead."""
    mark = max((mark for mark in SEPARATORS if mark != separator), key=text.count)
    if text.count(mark) < max(2, fields):
        return ""
    return f"it looks separated by {SEPARATORS[mark]}, not {SEPARATORS[separator]}"


def _data_lines(path, content, columns, skip, separator, quotes):
    """Line numbers of the rows, after checking that each has one field per column."""
    import numpy as np

    codes = np.frombuffer(content, dtype=np.uint8)
    ends = np.append(np.flatnonzero(codes == ord("\n")), len(codes))
    starts = np.append(0, ends[:-1] + 1)
    returns = np.flatnonzero(codes == ord("\r"))
    stray = returns[np.append(codes, ord("\n"))[returns + 1] != ord("\n")]
    if len(stray):
        # The parser would begin a new row there.
        raise CounterweightError(
            f"{path}, line {np.searchsorted(ends, stray[0]) + 1} has a carriage return that ends "
            "no line: end lines with LF or CR LF, or fetch the file anew."
        )
    marks = np.flatnonzero(codes == ord(separator))
    if quotes:
        marks = _outside_quotes(path, codes, ends, marks, separator)
    count = np.searchsorted(marks, ends) - np.searchsorted(marks, starts)
    # A line without any separator is blank or wrong; there are few, so each is looked at.
    blank = np.zeros(len(ends), dtype=bool)
    for at in np.flatnonzero(count == 0):
        blank[at] = not content[starts[at] : ends[at]].strip()
        if not blank[at] and at >= skip:
            break
    filled = np.flatnonzero(~blank)
    filled = filled[filled >= skip]
    if not len(filled):
        below = " below its first line" if skip and content.strip() else ""
        raise CounterweightError(f"{path} is empty{below}: delete it and fetch it anew.")
    wrong = filled[count[filled] != len(columns) - 1]
    if len(wrong):
        at = int(wrong[0])
        text = content[starts[at] : ends[at]].decode("utf-8", "replace").strip()
        given = int(count[at]) + 1
        hint = ""
        if given < len(columns):
            hint = _other_separator(text, separator, given)
            hint = f"; {hint or 'a column is missing out of ' + ', '.join(columns)}"
        raise CounterweightError(
            f"{path}, line {at + 1} has {given} fields where {len(columns)} are expected{hint}."
        )
    return filled + 1


def _outside_quotes(path, codes, ends, marks, separator):
    """Positions of the separators that stand outside quotes, after checking the quotes."""
    import numpy as np

    quotes = np.flatnonzero(codes == ord('"'))
    per_line = np.diff(np.searchsorted(quotes, ends), prepend=0)
    odd = np.flatnonzero(per_line % 2)
    if len(odd):
        raise CounterweightError(
            f"{path}, line {odd[0] + 1} has a quote that does not close: repair the line or fetch "
            "the file anew."
        )
    # Every line has an even number, so every second quote of the file opens a field.
    padded = np.pad(codes, 1, constant_values=ord("\n"))
    solid = np.flatnonzero(padded != ord(" "))
    before = padded[solid[np.searchsorted(solid, quotes[::2] + 1) - 1]]
    after = padded[quotes[1::2] + 2]
    fine = np.isin(before, list(f'{separator}\n"'.encode()))
    fine &= np.isin(after, list(f'{separator}\r\n"'.encode()))
    if not fine.all():
        at = int(np.searchsorted(ends, quotes[::2][np.argmin(fine)]))
        line = codes[ends[at - 1] + 1 if at else 0 : ends[at]].tobytes().decode("utf-8", "replace")
        hint = _other_separator(line, separator, line.count(separator) + 1)
        raise CounterweightError(
            f"{path}, line {at + 1} has a quote in the middle of a field"
            + (f"; {hint}." if hint else ": double it, or fetch the file anew.")
        )
    return marks[np.searchsorted(quotes, marks) % 2 == 0]
