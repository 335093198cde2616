"""Tables of new candidates as the features that a filter was fitted on.

The recipes of features learn from the whole prepared table (medians, categories). What they
learned is saved with the filter, and candidates are encoded by it.
"""

import logging

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.column_statistics import number_column
from counterweight.labeling.encoding import Feature, TabularEncoder, fitted_encoder
from counterweight.tables.formats import NO_TEXT
from counterweight.tables.table_reader import MISSING, check_header, read_people

log = logging.getLogger("counterweight")

#: Recipes whose features can be made for new rows.
RECIPES = ("one_hot", "as_is")
#: Words that stand for a missing value, unless a column has them as a category.
BLANKS = MISSING | {*NO_TEXT}
#: Words for yes and no in columns that were prepared as 1 and 0.
TRUTHS = {"true": "1", "false": "0"}


def read_candidates(path):
    """A table of candidates from a CSV or Parquet file: see `read_people`."""
    advice = "give the table of candidates as --config candidates=people.csv"
    return read_people(path, absent=advice, nameless=True)


def learned_encoder(frame, names, recipe, outcome=None, *, gift="filter"):
    """What a recipe learned from a prepared table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The prepared table, all rows.
    names : list of str
        Names of the features that the recipe made of it.
    recipe : mapping
        ``name`` and ``options``.
    outcome : str, optional
        Column that is no feature.
    gift : str
        What is given away, for messages.

    Returns
    -------
    TabularEncoder
        Of the features `names`.

    Raises
    ------
    CounterweightError
        When the recipe is another one, or adds noise, which no new row could repeat.
    """
    options = recipe["options"]
    if recipe["name"] not in RECIPES:
        raise CounterweightError(
            f"The {gift} cannot be given away with the features of the recipe {recipe['name']}: "
            f"choose {listed(RECIPES)}, which can be repeated on new rows."
        )
    if options.get("noise"):
        raise CounterweightError(
            f"The {gift} cannot be given away with noise on its features, since new rows would get "
            "other noise: set features.noise to 0."
        )
    if recipe["name"] == "one_hot":
        given = {key: options[key] for key in ("drop", "only", "max_categories") if key in options}
        features = fitted_encoder(frame, outcome, **given).features_
    else:
        features = [
            Feature(name, name, "number", fill=number_column(name, "number", frame[name]).median)
            for name in names
            if name in frame and pd.api.types.is_numeric_dtype(frame[name])
        ]
    features = {feature.name: feature for feature in features}
    absent = [name for name in names if name not in features]
    if absent:
        raise CounterweightError(
            f"Features {listed(absent)} cannot be traced to a column of the prepared table: "
            "delete the features of the study and run again."
        )
    return TabularEncoder.of([features[name] for name in names])


def traced_encoder(data, frame, recipe, outcome=None, *, gift="filter"):
    """How the features of a study are made of its prepared table; checked on all its rows.

    Raises
    ------
    CounterweightError
        When new rows could not get such features.
    """
    encoder = learned_encoder(frame, data.names, recipe, outcome, gift=gift)
    again = encoder.transform(frame[np.isin(frame["row"], data.rows)])
    if not np.array_equal(again, data.X):
        wrong = data.names[int(np.argmax((again != data.X).any(axis=0)))]
        raise CounterweightError(
            f"The feature {wrong!r} of the study is not what the prepared table gives: delete "
            "the results of the study and run again."
        )
    return encoder


def check_frame(frame, people="people"):
    """Refuse what is no data frame, such as one row of it."""
    if not isinstance(frame, pd.DataFrame):
        raise CounterweightError(
            f"The {people} are of the type {type(frame).__name__}: give a data frame of pandas."
        )


def encoded(frame, encoder, *, people="candidates", gift="filter", first=0):
    """Features of candidates.

    What is filled, or is a category that the filter never saw, is counted in the log.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns that no feature needs are passed over.
    encoder : TabularEncoder
    people, gift : str
        Who the rows are, and what was fitted, for messages.
    first : int
        Number of the first row, for messages.

    Returns
    -------
    array (n, d)

    Raises
    ------
    CounterweightError
        When it is no data frame or has no row, a column is missing or there twice, a column of
        numbers holds text or an infinite value, or one holds neither numbers nor text.
    """
    check_frame(frame, people)
    if not len(frame):
        raise CounterweightError(f"The table of {people} has no row: there is nobody to decide on.")
    columns = encoder.columns_
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise CounterweightError(
            f"The table of {people} has no column {listed(absent)}; it has "
            f"{listed(frame.columns, 30)}: name the columns as in the table that the {gift} was "
            "fitted on."
        )
    check_header(f"The table of {people}", [name for name in frame.columns if name in columns])
    typed = {
        column: _numbers(frame[column], column, encoder, people, gift, first)
        if kind == "number"
        else _texts(frame[column], column, encoder, people, gift)
        for column, kind in columns.items()
    }
    return encoder.transform(pd.DataFrame(typed))


def _numbers(values, column, encoder, people, gift, first):
    """A column as floats, NaN where it is missing."""
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        which, distinct = _factorized(values, column, people, gift)
        texts = [str(value).strip() for value in distinct]
        words = [TRUTHS.get(text.lower(), text) for text in texts]
        numbers = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").to_numpy(float)
        bad = np.isnan(numbers) & ~np.isin(texts, list(BLANKS))
        # Code -1, a missing value, points to the last place.
        wrong = np.flatnonzero(np.append(bad, False)[which])
        if len(wrong):
            raise CounterweightError(
                f"Column {column!r} of the {people} holds text where numbers are expected in "
                f"{len(wrong)} rows (first: row {first + wrong[0]}, {texts[which[wrong[0]]]!r}; "
                "rows are counted from 0): correct these rows."
            )
        numbers = np.append(numbers, np.nan)[which]
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise CounterweightError(
            f"Column {column!r} of the {people} is infinite in {len(infinite)} rows (first: row "
            f"{first + infinite[0]}, counted from 0): correct these rows."
        )
    missing = int(np.isnan(numbers).sum())
    if missing:
        fill = next(f.fill for f in encoder.features_ if (f.column, f.kind) == (column, "number"))
        log.info(
            "%s: missing in %d of %d rows, filled with %g as in training",
            column,
            missing,
            len(numbers),
            fill,
        )
    return numbers


def _factorized(values, column, people, gift):
    try:
        return pd.factorize(values)
    except TypeError as error:
        raise CounterweightError(
            f"Column {column!r} of the {people} holds lists or other values that are neither "
            f"numbers nor text: write it as the {gift} was fitted on it."
        ) from error


def _texts(values, column, encoder, people, gift):
    """A column as texts, None where it is missing."""
    words = encoder.categories(column)
    which, distinct = _factorized(values, column, people, gift)
    whole = pd.api.types.is_float_dtype(values) and all(value % 1 == 0 for value in distinct)
    texts = [str(int(value)) if whole else str(value) for value in distinct]
    texts = [text if text in words else text.strip() for text in texts]
    texts = [None if text in BLANKS and text not in words else text for text in texts]
    # Code -1, a missing value, points to the last place.
    rows = np.array([*texts, None], dtype=object)[which]
    blank = np.array([*(text is None for text in texts), True])[which]
    unseen = np.array([*(text not in (None, *words) for text in texts), False])[which]
    if unseen.any() and encoder.has(column, "other"):
        log.info(
            "%s: %d of %d rows have a category that counts as other",
            column,
            unseen.sum(),
            len(rows),
        )
    elif unseen.any():
        log.warning(
            "%s: %d of %d rows have a category that the %s never saw (%s); it counts as none "
            "of the known ones.",
            column,
            unseen.sum(),
            len(rows),
            gift,
            listed(sorted(set(rows[unseen])), 5),
        )
    if blank.any() and not encoder.has(column, "blank"):
        log.warning(
            "%s: missing in %d of %d rows, and it never was in training; these rows count as none "
            "of the known categories.",
            column,
            blank.sum(),
            len(rows),
        )
    return rows
