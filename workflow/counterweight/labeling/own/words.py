"""Values as people write them in a config, found in typed columns."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.files.fields import TRUTHS
from counterweight.labeling.columns import require

TRUE, FALSE = (
    tuple(dict.fromkeys([*words, one]))
    for words, one in zip(zip(*TRUTHS, strict=True), "10", strict=True)
)


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
    numbers = [_number(one) for one in wanted]
    return np.isin(values.to_numpy(dtype=float, na_value=np.nan), numbers)


def _number(value):
    """A value of a config as the number that a typed column has for it; NaN for none."""
    word = str(value).strip().lower()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    try:
        return float(word)
    except ValueError:
        return np.nan
