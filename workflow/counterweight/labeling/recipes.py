"""Recipes of features: numbers made of a table's columns.

A recipe is ``recipe(frame, rng, *, outcome=None, **options)`` of a prepared table and answers with
a data frame of ``row`` and the features, of the rows that it keeps; the column `outcome` is never
a feature.
"""

import logging

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Integer, Number
from counterweight.labeling.columns import require
from counterweight.labeling.encoding import fitted_encoder

#: Option of recipes that take any table.
NOISE = {
    "noise": Number(0.0, "Half-width of the uniform noise on every feature; 0 for none.", minimum=0),
}  # fmt: skip
TASK_BY_NAME = {"typed": "missing_outcomes"}
OPTIONS_BY_NAME = {
    "one_hot": {
        "drop": Array([], "Columns that become no feature, beside the outcome.", items={"type": "string"}),
        "only": Array([], "Columns that alone become features; all where none is named.", items={"type": "string"}),
        "max_categories": Integer(50, "Categories of a text column that get a feature each; rarer ones share one.", minimum=1),
        "least_rows": Integer(1, "Rows below which a category shares the feature of rarer ones; null: a hundredth, 10 at most.", minimum=1, null=True),
        **NOISE,
    },
    "as_is": {
        "columns": Array([], "Columns to use; empty for every numeric column but the outcome.", items={"type": "string"}),
        **NOISE,
    },
    "typed": {
        "max_levels": Integer(50, "Levels of a category that count by themselves; rarer ones share one.", minimum=1),
    },
    "no_features": {},
    "adult_binary": {
        "noise": Number(0.25, "Half-width of the uniform noise on discrete features; 0 for none.", minimum=0),
        "noise_on": Choice("all", ["all", "numbers"], "numbers: the binary features stay 0 and 1, and are declared categories."),
        "binaries": Flag(True, "Whether the six binary features are used; the paper uses them."),
    },
    "ca_logged": {
        "noise": Number(0.25, "Half-width of the uniform noise on the median age; 0 for none.", minimum=0),
    },
}  # fmt: skip
log = logging.getLogger("counterweight")


def add_noise(features, width, columns, rng):
    """Add uniform noise on [-width, width] to some columns, in place.

    Discrete features let a Gaussian component shrink onto one value; noise keeps its
    variance positive (Smith & Elkan 2007, section 6). One draw is made for each row
    and listed column even where `width` is 0, so a study without noise keeps the
    random stream of one with.
    """
    draws = rng.uniform(-1.0, 1.0, size=(len(features), len(columns)))
    if width:
        features[columns] = features[columns].to_numpy() + width * draws
    return features


def declare_categories(features, blocks, flags=None):
    """Say which features are categories, for models that treat them as such; gives the same frame.

    `blocks` are the names that make up a category each: one feature of 0 and 1, or one for each
    level. `flags` has, by the name of a number, the feature of 0 and 1 that says where it is
    missing.
    """
    blocks = [list(block) for block in blocks if block]
    if blocks:
        features.attrs["categories"] = {"blocks": blocks, "flags": dict(flags or {})}
    return features


def one_hot(
    frame, rng, *, outcome=None, drop=(), only=(), max_categories=50, least_rows=1, noise=0.0
):
    """Numbers as they are, text as one 0/1 feature for each category; no row is left out.

    See `TabularEncoder` for what becomes of missing values, rare categories and columns of one
    value. Medians and categories are those of all rows, those to be tested included: they use no
    label. What was filled, pooled and left out is logged. The features of a text column sum to
    1, so their matrix is not of full rank; they are declared one category, as are truth values and
    marks of missing numbers, unless noise (a half-width, in units of the feature) is added to them.
    """
    require(frame, ["row", *drop, *only], "features recipe one_hot")
    if "row" in drop:
        raise CounterweightError(
            "features.drop names row, which is the row id and no feature: take it out of the list."
        )
    if not len(frame):
        raise CounterweightError("The data set has no row to make features of.")
    encoder = fitted_encoder(frame, outcome, drop, only, max_categories, least_rows)
    for note in encoder.notes_:
        log.info(note)
    names = [feature.name for feature in encoder.features_]
    if not names:
        raise CounterweightError(
            "The recipe one_hot is left without any feature: drop fewer columns, or choose a data "
            "set whose columns vary."
        )
    features = dict(zip(names, encoder.transform(frame).T, strict=True))
    made = pd.DataFrame({"row": frame["row"].to_numpy(), **features})
    made = add_noise(made, noise, names, rng)
    return made if noise else declare_categories(made, *_categories(encoder.features_, frame))


def _categories(features, frame):
    """Features that make up a category each, and the flags of numbers with missing values."""
    blocks, flags = {}, {}
    numbers = {feature.column: feature.name for feature in features if feature.kind == "number"}
    for feature in features:
        if feature.column not in numbers:
            blocks.setdefault(feature.column, []).append(feature.name)
        elif feature.kind == "blank":
            blocks[feature.name] = [feature.name]
            flags[numbers[feature.column]] = feature.name
        elif pd.api.types.is_bool_dtype(frame[feature.column]):
            blocks[feature.name] = [feature.name]
    # A truth value that is sometimes missing is no number, so no flag marks it.
    told = {name: flag for name, flag in flags.items() if name not in blocks}
    return list(blocks.values()), told


#: Categories and medians are those of all rows, so rows cannot be encoded batch by batch.
one_hot.whole_table = True


def as_is(frame, rng, *, outcome=None, columns=(), noise=0.0):
    """Numeric columns as they stand: those named, or all but the outcome.

    Columns of true and false are declared categories, unless noise (a half-width, in units of the
    feature) is added to them.
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    require(frame, columns, "features recipe as_is")
    names = list(columns) or [
        name
        for name in frame.columns
        if name not in ("row", outcome) and is_numeric_dtype(frame[name])
    ]
    wrong = [name for name in names if name in ("row", outcome)]
    if wrong or len(set(names)) < len(names):
        raise CounterweightError(
            f"features.columns names {listed(wrong) or 'a column twice'}: the row id and the "
            "outcome are no features, and each feature stands once."
        )
    text = [name for name in names if not is_numeric_dtype(frame[name])]
    if text:
        raise CounterweightError(
            f"Feature {listed(text)} is text, and the recipe as_is takes numbers only: leave it "
            "out of features.columns, or choose a recipe that encodes it."
        )
    if not names:
        raise CounterweightError(
            "The recipe as_is finds no numeric column to use as a feature: name features.columns."
        )
    features = frame[["row", *names]].copy()
    holes = [name for name in names if features[name].isna().any()]
    if holes:
        raise CounterweightError(
            f"Feature {listed(holes)} has missing values, and the recipe as_is takes none: fill "
            "them first, or leave the column out of features.columns."
        )
    truths = [name for name in names if is_bool_dtype(features[name])]
    features[names] = features[names].astype(float)
    features = add_noise(features, noise, names, rng)
    return features if noise else declare_categories(features, [[name] for name in truths])


def typed(frame, rng, *, max_levels=50):
    """The feature columns of a table, encoded later; see `missing_outcomes`."""
    return frame


def no_features(frame, rng, *, outcome=None):
    """The row ids alone."""
    return frame[["row"]].reset_index(drop=True)


#: Columns of the table that it reads, so that others need not be read.
no_features.needs = ()
BINARY = {
    "workclass": ("private_employer", ("Private",)),
    "education": ("degree", ("Bachelors", "Masters", "Doctorate", "Prof-school")),
    "occupation": ("professional", ("Exec-managerial", "Prof-specialty")),
    "race": ("white", ("White",)),
    "sex": ("male", ("Male",)),
    "native-country": ("native_born", ("United-States",)),
}
INTEGER = {
    "age": "age",
    "fnlwgt": "fnlwgt",
    "education-num": "education_num",
    "hours-per-week": "hours_per_week",
}
ADULT_LOGGED = {"capital-gain": "log_capital_gain", "capital-loss": "log_capital_loss"}


def adult_binary(frame, rng, *, outcome=None, noise=0.25, noise_on="all", binaries=True):
    """Features of Adult: integers, logged capital, one binary for each categorical.

    Rows with unknown workclass or native country are left out, which gives the
    45,232 rows of the paper; an unknown occupation counts as "not professional".
    Marital status and relationship are left out, since they give the labeling away.
    The paper does not say which categories its binaries join; the ones here are a
    reading. Noise goes on every feature that is binary or an integer upstream; the
    logged capital columns are among them, since most of their values are log(1) = 0.
    With `noise_on` numbers the binary features stay as they are, and are declared categories; the
    noise of the others is the same. `binaries` false leaves the six out: a diagnostic, not the
    paper's setting. Smith & Elkan (2007), sections 6 and 7.
    """
    require(frame, [*BINARY, *INTEGER, *ADULT_LOGGED], "features recipe adult_binary")
    frame = frame[frame["workclass"].notna() & frame["native-country"].notna()]
    columns = {"row": frame["row"].to_numpy()}
    for name, feature in INTEGER.items():
        columns[feature] = frame[name].to_numpy(dtype=float)
    for name, feature in ADULT_LOGGED.items():
        columns[feature] = np.log1p(frame[name].to_numpy(dtype=float))
    for name, (feature, ones) in BINARY.items() if binaries else ():
        columns[feature] = frame[name].isin(ones).to_numpy(dtype=float)
    features = pd.DataFrame(columns)
    exact = [feature for feature, _ in BINARY.values()] if binaries else []
    kept = features[exact].copy()
    features = add_noise(features, noise, list(features.columns[1:]), rng)
    if noise and noise_on == "all":
        return features
    features[exact] = kept
    return declare_categories(features, [[name] for name in exact])


HOUSING_LOGGED = {
    "totalRooms": "log_rooms",
    "totalBedrooms": "log_bedrooms",
    "population": "log_population",
    "households": "log_households",
}


def ca_logged(frame, rng, *, outcome=None, noise=0.25):
    """Features of California Housing: income, age with noise (in years), four logged counts.

    Longitude and latitude are left out: they decide who is labeled. Smith & Elkan (2007), section
    8.
    """
    require(
        frame, ["medianIncome", "housingMedianAge", *HOUSING_LOGGED], "features recipe ca_logged"
    )
    columns = {
        "row": frame["row"].to_numpy(),
        "income": frame["medianIncome"].to_numpy(dtype=float),
        "age": frame["housingMedianAge"].to_numpy(dtype=float),
    }
    for name, feature in HOUSING_LOGGED.items():
        columns[feature] = np.log(frame[name].to_numpy(dtype=float))
    return add_noise(pd.DataFrame(columns), noise, ["age"], rng)
