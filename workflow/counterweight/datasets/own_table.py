"""A table of the user's own: CSV or Parquet, any columns."""

from contextlib import suppress

from counterweight.errors import CounterweightError
from counterweight.files.people import MISSING, is_parquet, read_people

TITLE = "Own table"
LICENCE = "the user's own"
#: The user names the file, in the config.
OWN = True
FILES = {}
SOURCES = []
#: What to do where the table is not there.
ABSENT = "correct the path of the table in the config"


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

        frame = read_people(path, absent=ABSENT, reading={"encoding": "utf-8"})
        if "row" in frame:
            raise CounterweightError(
                f"{path} has a column row, the name of the row number here: rename it."
            )
        if not len(frame):
            raise CounterweightError(f"{path} has a header but no row: there is nothing to learn.")
        typed = is_parquet(path)
        for name in frame.columns:
            values = frame[name] if typed else _read(frame[name])
            frame[name] = _typed(path, name, values)
        frame.insert(0, "row", np.arange(len(frame), dtype=np.int32))
        return frame


def _read(texts):
    """A column of a CSV file as numbers, as true and false, or as text, by all its fields."""
    import pandas as pd

    which, words = pd.factorize(texts)
    words = pd.Series(words)
    words = words.mask(words.isin(MISSING))
    if words.dropna().isin(["true", "True", "TRUE", "false", "False", "FALSE"]).all():
        words = (words.str.lower() == "true").astype("boolean").mask(words.isna())
    else:
        with suppress(ValueError):
            words = pd.to_numeric(words)
    return words.take(which).reset_index(drop=True)


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
