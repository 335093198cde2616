"""Values as people write them in a config, found in typed columns."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.files.fields import TRUTHS
from counterweight.fragments import Option
from counterweight.labeling.columns import require

TRUE, FALSE = (
    tuple(dict.fromkeys([*words, one]))
    for words, one in zip(zip(*TRUTHS, strict=True), "10", strict=True)
)

_VALUES = ["string", "number", "boolean", "array"]
#: Options of rules that tell a positive value from others; see `told_apart`.
NEGATIVE = Option(None, "Value that counts as 0, or a list; null for the only other.", type=_VALUES, null=True)  # fmt: skip
MISSING = Option(None,
    "Value that stands for unknown, or a list: as if the field were empty. [] if there is none, and all others count as 0; null "
    "where there is one other value only.", type=_VALUES, null=True)  # fmt: skip


def kinds_of(frame):
    """Whether each column of a typed table is ``text`` or ``number``, by column."""
    import pandas as pd

    return {
        name: "number" if pd.api.types.is_numeric_dtype(dtype) else "text"
        for name, dtype in frame.dtypes.items()
    }


def holds(frame, types, column, value):
    """Rows whose column has a value.

    A config may say yes of a column that was read as 1 and 0, or of one whose text is "Yes".

    Parameters
    ----------
    frame : pandas.DataFrame
    types : mapping of str to str
    column : str
    value : str, bool, number or list of these
        A list holds where any of them does.

    Returns
    -------
    numpy.ndarray of bool (n,)
        False where the value is missing.

    Raises
    ------
    CounterweightError
        When there is no such column, or no row has the value.
    """
    require(frame, [column], "config's condition on a column")
    values = frame[column]
    found = equal(values, value, text=types.get(column) == "text")
    if not found.any():
        seen = sorted(values.dropna().astype(str).unique())[:20]
        if types.get(column) == "boolean":
            seen = [{"0": "no", "1": "yes"}[value] for value in seen]
        seen = listed(seen, 8)
        raise CounterweightError(
            f"No row has {value!r} in the column {column!r}, whose values are {seen}: correct the "
            "value in the config."
        )
    return found


def equal(values, value, *, text):
    """As `holds`, of the values of a column, which may nowhere be so."""
    wanted = value if isinstance(value, list) else [value]
    if text:
        words = {str(one).strip() for one in wanted} | {
            word
            for one in wanted
            if isinstance(one, bool)
            for spelled in (TRUE if one else FALSE)
            for word in (spelled, spelled.capitalize(), spelled.upper())
        }
        return values.isin(words).to_numpy(bool)
    numbers = [as_number(one) for one in wanted]
    return np.isin(values.to_numpy(dtype=float, na_value=np.nan), numbers)


def told_apart(values, positive, negative=None, missing=None, *, text, what, key, blanks=True):
    """1 where a column has its positive value, 0 where it has another, NaN where that is missing.

    Codes of unknown, such as 9 or ``unknown``, would pass for a 0: several values beside the
    positive one are refused until it is said what they are.

    Parameters
    ----------
    values : pandas.Series (n,)
    positive, negative, missing : value or list of values
        `negative`: what is a 0; anything else is then refused. `missing`: what stands for an
        unknown value, all else is a 0; [] where nothing does. None where it is not said.
    text : bool
        Whether the column is of texts.
    what : str
        The column, for a sentence, such as ``"outcome 'default'"``.
    key : str
        The key of the config under which these stand.
    blanks : bool
        Whether `missing` may be said at all.

    Returns
    -------
    numpy.ndarray of float (n,)

    Raises
    ------
    CounterweightError
        For values that are none of these.
    """
    unknown = values.isna().to_numpy(bool)
    if missing is not None:
        unknown = unknown | equal(values, missing, text=text)
    ones = equal(values, positive, text=text) & ~unknown
    rest = ~ones & ~unknown
    if negative is not None:
        strange = values[rest & ~equal(values, negative, text=text)]
        if len(strange):
            raise CounterweightError(
                f"The {what} is {listed(_shown(strange), 8)} in {len(strange)} rows, which {key} "
                f"does not name: put it under {key}.negative"
                + (f", or under {key}.missing." if blanks else ", or leave such rows out.")
            )
    codes = missing if isinstance(missing, list) else [missing]
    lacking = [one for one in codes if not equal(values, one, text=text).any()]
    others = _shown(values[rest])
    if len(others) > 1 and negative is None and (missing is None or lacking):
        said = "" if missing is None else f" (no row has {listed(lacking)} of {key}.missing)"
        raise CounterweightError(
            f"The {what} has {len(others)} values beside {positive!r}: {listed(others, 8)}{said}. "
            f"Say which are a 0 by {key}.negative, as [{others[0]}], or "
            + (
                f"which stand for unknown by {key}.missing ([] if none does)."
                if blanks
                else "leave rows out whose reward nobody knows."
            )
        )
    return np.where(unknown, np.nan, ones.astype(float))


def _shown(values):
    """The different values of a column, in print and in order."""
    there = sorted(values.dropna().unique(), key=lambda one: (isinstance(one, str), one))
    return [one if isinstance(one, str) else f"{one:g}" for one in there]


def like_codes(values):
    """Which numbers look like codes of unknown: -9, 9, 99, -999, 888 and the like.

    Parameters
    ----------
    values : array (n,)

    Returns
    -------
    numpy.ndarray of bool (n,)
    """
    size = np.abs(np.asarray(values, float))
    found = np.isin(size, [7, 8, 9]) | np.isin(np.asarray(values, float), [-1.0])
    for digits in range(2, 7):
        top = 10**digits
        found |= np.isin(size, [top - 1, top - 2, top - 3, 8 * (top - 1) // 9, 7 * (top - 1) // 9])
    return found


def as_number(value):
    """A value of a config as the number that a typed column has for it; NaN for none."""
    word = str(value).strip().lower()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    try:
        return float(word)
    except ValueError:
        return np.nan
