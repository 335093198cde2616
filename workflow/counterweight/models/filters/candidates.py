"""Tables of new candidates as the features that a filter was fitted on.

The recipes of features learn from the whole prepared table (medians, categories), so what
they learned is written down as plain facts, one for each feature, and applied to rows that
the recipe never saw.
"""

import logging
from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.files.people import MISSING, check_header, read_people

log = logging.getLogger("counterweight")

#: Recipes whose features can be made for new rows.
RECIPES = ("one_hot", "as_is")
#: Words that stand for a missing value, unless a column has them as a category.
BLANKS = MISSING | {"?"}
#: Words for yes and no in columns that were prepared as 1 and 0.
TRUTHS = {"true": "1", "false": "0"}


class Feature(NamedTuple):
    """How one feature is made.

    Attributes
    ----------
    name : str
    column : str
        Of the table of candidates.
    kind : str
        ``number``: the value, `fill` where it is missing. ``blank``: 1 where it is missing.
        ``category``: 1 where the text is `category`. ``other``: 1 where it is a text without
        a feature of its own.
    category : str
    fill : float
        Of a number; NaN else.
    """

    name: str
    column: str
    kind: str
    category: str
    fill: float


def learned_features(frame, names, recipe, outcome=None):
    """What a recipe learned from a prepared table, as one fact for each feature.

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

    Returns
    -------
    list of Feature

    Raises
    ------
    CounterweightError
        When the recipe is another one, or adds noise, which no new row could repeat.
    """
    if recipe["name"] not in RECIPES:
        raise CounterweightError(
            f"A filter cannot be given away with the features of the recipe {recipe['name']}: "
            f"choose {listed(RECIPES)}, which can be repeated on new rows."
        )
    if recipe["options"].get("noise"):
        raise CounterweightError(
            "A filter cannot be given away with noise on its features, since new rows would get "
            "other noise: set features.noise to 0."
        )
    dropped = {"row", outcome, *recipe["options"].get("drop", ())}
    most = recipe["options"].get("max_categories", 50)
    found = {}
    for column in frame.columns:
        if column in dropped:
            continue
        if pd.api.types.is_numeric_dtype(frame[column]):
            made = _number_features(column, frame[column], set(frame.columns) | set(found))
        elif recipe["name"] == "one_hot":
            made = _text_features(column, frame[column], most, set(frame.columns) | set(found))
        else:
            made = []
        found |= {feature.name: feature for feature in made if feature.name in names}
    absent = [name for name in names if name not in found]
    if absent:
        raise CounterweightError(
            f"Features {listed(absent)} cannot be traced to a column of the prepared table: "
            "delete the features of the study and run again."
        )
    return [found[name] for name in names]


def _free(name, taken):
    while name in taken:
        name += "_"
    return name


def _number_features(column, values, taken):
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    there = numbers[~np.isnan(numbers)]
    fill = float(np.median(there)) if len(there) else 0.0
    return [
        Feature(column, column, "number", "", fill),
        Feature(_free(f"{column}_missing", taken), column, "blank", "", np.nan),
    ]


def _text_features(column, values, most, taken):
    counts = values.dropna().astype(str).value_counts(sort=False).sort_index()
    kept = list(counts.index)
    kinds = []
    if len(kept) > most:
        # The most frequent, the first by name among equals.
        kept = sorted(counts.sort_values(ascending=False, kind="stable").index[:most])
    words = list(kept)
    if len(counts) > most:
        words.append(_free("other", words))
        kinds.append("other")
    if values.isna().any():
        words.append(_free("missing", words))
        kinds.append("blank")
    kinds = ["category"] * len(kept) + kinds
    made = []
    for word, kind in zip(words, kinds, strict=True):
        name = _free(f"{column}={word}", taken | {feature.name for feature in made})
        made.append(Feature(name, column, kind, word if kind == "category" else "", np.nan))
    return made


def encoded(frame, features, told=True):
    """Features of candidates.

    What is filled, or is a category that the filter never saw, is counted in the log.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns that no feature needs are passed over.
    features : sequence of Feature
    told : bool
        Whether to log what was filled or pooled.

    Returns
    -------
    array (n, d)

    Raises
    ------
    CounterweightError
        When there is no row, a column is missing or there twice, a column of numbers holds
        text or an infinite value, or one holds neither numbers nor text.
    """
    if not len(frame):
        raise CounterweightError(
            "The table of candidates has no row: there is nobody to accept or to reject."
        )
    columns = {feature.column: feature for feature in features}
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise CounterweightError(
            f"The table of candidates has no column {listed(absent)}; it has "
            f"{listed(frame.columns, 30)}: name the columns as in the table that the filter was "
            "fitted on."
        )
    check_header("The table of candidates", [name for name in frame.columns if name in columns])
    kinds = {}
    for feature in features:
        kinds.setdefault(feature.column, {})[feature.kind] = feature
    X = np.empty((len(frame), len(features)))
    values = {}
    for column, own in kinds.items():
        if "number" in own:
            values[column] = _numbers(frame[column], column, own["number"].fill, told)
        else:
            words = [f.category for f in features if f.column == column and f.kind == "category"]
            values[column] = _codes(
                frame[column], column, words, "other" in own, "blank" in own, told
            )
    for at, feature in enumerate(features):
        given = values[feature.column]
        if isinstance(given, dict):
            X[:, at] = given["codes"] == given["place"][feature.kind, feature.category]
        elif feature.kind == "number":
            X[:, at] = np.where(np.isnan(given), feature.fill, given)
        else:
            X[:, at] = np.isnan(given)
    return X


def _numbers(values, column, fill, told):
    """A column as floats, NaN where it is missing."""
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        which, found = _factorized(values, column)
        texts = [str(value).strip() for value in found]
        words = [TRUTHS.get(text.lower(), text) for text in texts]
        numbers = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").to_numpy(float)
        bad = np.isnan(numbers) & ~np.isin(texts, list(BLANKS))
        # Code -1, a missing value, points to the last place.
        wrong = np.flatnonzero(np.append(bad, False)[which])
        if len(wrong):
            raise CounterweightError(
                f"Column {column!r} of the candidates holds text where numbers are expected in "
                f"{len(wrong)} rows (first: row {wrong[0]}, {texts[which[wrong[0]]]!r}; rows are "
                "counted from 0): correct these rows."
            )
        numbers = np.append(numbers, np.nan)[which]
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise CounterweightError(
            f"Column {column!r} of the candidates is infinite in {len(infinite)} rows (first: row "
            f"{infinite[0]}, counted from 0): correct these rows."
        )
    missing = int(np.isnan(numbers).sum())
    if missing and told:
        log.info(
            "%s: missing in %d of %d rows, filled with %g as in training",
            column,
            missing,
            len(numbers),
            fill,
        )
    return numbers


def _factorized(values, column):
    try:
        return pd.factorize(values)
    except TypeError as error:
        raise CounterweightError(
            f"Column {column!r} of the candidates holds lists or other values that are neither "
            "numbers nor text: write it as the filter was fitted on it."
        ) from error


def _codes(values, column, words, pooled, marked, told):
    """A column as codes of its categories; other, missing and none come after them."""
    which, found = _factorized(values, column)
    whole = pd.api.types.is_float_dtype(values) and all(value % 1 == 0 for value in found)
    texts = [str(int(value)) if whole else str(value) for value in found]
    texts = [text if text in words else text.strip() for text in texts]
    empty = [text in BLANKS and text not in words for text in texts]
    blank = np.array([*empty, True])[which]
    codes = np.append(pd.Index(words).get_indexer(texts), -1)[which]
    unseen = (codes < 0) & ~blank
    many = len(words)
    codes = np.where(blank, many + 1, np.where(unseen, many, codes))
    if told and unseen.any() and pooled:
        log.info(
            "%s: %d of %d rows have a category that counts as other",
            column,
            unseen.sum(),
            len(codes),
        )
    elif told and unseen.any():
        log.warning(
            "%s: %d of %d rows have a category that the filter never saw (%s); it counts as none "
            "of the known ones.",
            column,
            unseen.sum(),
            len(codes),
            listed(sorted({texts[at] for at in which[unseen]}), 5),
        )
    if told and blank.any() and not marked:
        log.warning(
            "%s: missing in %d of %d rows, and it never was in training; these rows count as none "
            "of the known categories.",
            column,
            blank.sum(),
            len(codes),
        )
    place = {("category", word): at for at, word in enumerate(words)}
    place |= {("other", ""): many, ("blank", ""): many + 1}
    return {"codes": codes, "place": place}


def read_candidates(path):
    """A table of candidates from a CSV or Parquet file: see `read_people`."""
    advice = "give the table of candidates as --config candidates=people.csv"
    return read_people(path, absent=advice, nameless=True)
