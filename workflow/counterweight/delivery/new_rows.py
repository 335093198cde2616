"""New rows as the features that a saved model was fitted on.

The recipes of features learn from the whole prepared table (medians, categories). What they
learned is saved with the model, and new rows are typed and encoded by it.
"""

import logging

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import typed_like
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.column_statistics import number_column
from counterweight.labeling.encoding import Feature, TabularEncoder, fitted_encoder
from counterweight.tables.formats import NO_TEXT, PLAIN_FORM

log = logging.getLogger("counterweight")

#: Recipes whose features can be made for new rows.
RECIPES = ("one_hot", "as_is")


def learned_encoder(frame, names, recipe, outcome=None, *, saved="filter"):
    """The `TabularEncoder` of the features `names` that a recipe made of a prepared table.

    Refused where the recipe (``name`` and ``options``) is none of `RECIPES`, or adds noise, which
    no new row could repeat. `outcome` is a column that is no feature; `saved`, what that is for.
    """
    options = recipe["options"]
    if recipe["name"] not in RECIPES:
        raise CounterweightError(
            f"The {saved} cannot be delivered with the features of the recipe {recipe['name']}: "
            f"choose {listed(RECIPES)}, which can be repeated on new rows."
        )
    if options.get("noise"):
        raise CounterweightError(
            f"The {saved} cannot be delivered with noise on its features, since new rows would get "
            "other noise: set features.noise to 0."
        )
    if recipe["name"] == "one_hot":
        keys = ("drop", "only", "max_categories", "least_rows")
        given = {key: options[key] for key in keys if key in options}
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


def traced_encoder(data, frame, recipe, outcome=None, *, saved="filter"):
    """As `learned_encoder`, of the features of a `StudyData`; checked on all its rows."""
    encoder = learned_encoder(frame, data.names, recipe, outcome, saved=saved)
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


def encoded(frame, encoder, *, people="candidates", saved="filter", first=0):
    """Features (n, d) of new rows, texts or typed; columns that no feature needs are passed over.

    What is filled, or is a category that the fit never saw, is counted in the log. Refused are
    frames without a row, and columns that are missing, twice there or of another type. `people`
    and `saved` say who the rows are and what was fitted; `first` is the number of the first row.
    """
    check_frame(frame, people)
    if not len(frame):
        raise CounterweightError(f"The table of {people} has no row: there is nobody to decide on.")
    forms = {
        column: PLAIN_FORM
        if kind == "number"
        else {"missing": [sign for sign in NO_TEXT if sign not in encoder.categories(column)]}
        for column, kind in encoder.columns_.items()
    }
    told = {"needed": [*forms], "forms": forms, "first": first}
    typed = typed_like(f"The table of {people}", frame, encoder.columns_, **told)
    made, rows = encoder.encode(typed), len(frame)
    for fact, values in zip(encoder.numbers_, made.numbers.T, strict=True):
        if missing := np.isnan(values).sum():
            fill = f"filled with {fact.median:g} as in training"
            log.info(f"{fact.column}: missing in {missing} of {rows} rows, {fill}")
    for at, fact in enumerate(encoder.categories_):
        column, unseen = fact.column, made.unseen[:, at]
        count, blank = unseen.sum(), (made.codes[:, at] == len(fact.levels) + 1).sum()
        if count and encoder.has(column, "other"):
            log.info(f"{column}: {count} of {rows} rows have a category that counts as other")
        elif count:
            words = listed(sorted(set(typed[column][unseen])), 5)
            log.warning(
                f"{column}: {count} of {rows} rows have a category that the {saved} never saw "
                f"({words}); it counts as none of the known ones."
            )
        if blank and not encoder.has(column, "blank"):
            log.warning(
                f"{column}: missing in {blank} of {rows} rows, and it never was in training; these "
                "rows count as none of the known categories."
            )
    return made.dense()
