"""Any table as numbers: numeric columns with holes filled and marked, text columns one-hot."""

import logging

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Integer
from counterweight.labeling.columns import NOISE, add_noise, declare_categories, require
from counterweight.labeling.encoding import TabularEncoder

log = logging.getLogger("counterweight")

OPTIONS = {
    "drop": Array([], "Columns that become no feature, beside the outcome.", items={"type": "string"}),
    "only": Array([], "Columns that alone become features; all where none is named.", items={"type": "string"}),
    "max_categories": Integer(50, "Categories of a text column that get a feature each; rarer ones share one.", minimum=1),
    **NOISE,
}  # fmt: skip


def fitted_encoder(frame, outcome=None, drop=(), only=(), max_categories=50):
    """The encoder of all columns of a table but those that become no feature.

    Raises
    ------
    CounterweightError
        When a column is neither number nor text, or a number is infinite.
    """
    types = {}
    for column in frame.columns:
        values = frame[column]
        if column in ("row", outcome, *drop) or (only and column not in only):
            continue
        if pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "c":
            types[column] = "number"
            infinite = np.flatnonzero(np.isinf(values.to_numpy(dtype=float, na_value=np.nan)))
            if len(infinite):
                raise CounterweightError(
                    f"Column {column!r} is infinite in {len(infinite)} rows (first: row "
                    f"{infinite[0]}): correct the data, or name it in features.drop."
                )
        elif _is_text(values):
            types[column] = "text"
        else:
            raise CounterweightError(
                f"Column {column!r} is of type {values.dtype}, and the recipe one_hot takes "
                "numbers and text only: name it in features.drop."
            )
    encoder = TabularEncoder(max_categories, least_rows=1, max_width=None, by_name=True)
    return encoder.fit(frame, list(types), types, taken=frame.columns)


def _is_text(values):
    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if not (pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)):
        return False
    return values.dropna().map(lambda value: isinstance(value, str), na_action="ignore").all()


def one_hot(frame, rng, *, outcome=None, drop=(), only=(), max_categories=50, noise=0.0):
    """Numbers as they are, text as one 0/1 feature for each category; no row is left out.

    See `TabularEncoder` for what becomes of missing values, rare categories and columns of one
    value. Medians and categories are those of all rows, those to be tested included: they use no
    label. What was filled, pooled and left out is logged. The features of a text column sum to
    1, so their matrix is not of full rank.

    Parameters
    ----------
    frame : pandas.DataFrame
    rng : numpy.random.Generator
    outcome : str, optional
        Column that must not become a feature.
    drop : sequence of str
        Further columns to leave out.
    only : sequence of str
        Columns that alone become features; all where none is named.
    max_categories : int
    noise : float
        Half-width, in units of the feature.

    Returns
    -------
    pandas.DataFrame
        ``row`` and the features as float64, in the order of the encoder's. The features of a text
        column are declared one category, as are truth values and marks of missing numbers, unless
        noise is added to them.

    Raises
    ------
    CounterweightError
        When there is no row, a column to drop is missing, a column is neither number nor
        text, a number is infinite, or no feature is left.
    """
    require(frame, ["row", *drop, *only], "features recipe one_hot")
    if "row" in drop:
        raise CounterweightError(
            "features.drop names row, which is the row id and no feature: take it out of the list."
        )
    if not len(frame):
        raise CounterweightError("The data set has no row to make features of.")
    encoder = fitted_encoder(frame, outcome, drop, only, max_categories)
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
