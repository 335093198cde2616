"""Any table as numbers: numeric columns with holes filled and marked, text columns one-hot."""

import logging

import pandas as pd

from counterweight.errors import CounterweightError
from counterweight.labeling.columns import NOISE, add_noise, declare_categories, require
from counterweight.labeling.features.encoder import Encoder

log = logging.getLogger("counterweight")

OPTIONS = {
    "drop": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "Columns that become no feature, beside the outcome.",
    },
    "only": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "Columns that alone become features; all where none is named.",
    },
    "max_categories": {
        "type": "integer",
        "minimum": 1,
        "default": 50,
        "description": "Categories of a text column that get a feature each; rarer ones share one.",
    },
    **NOISE,
}


def left_out(frame, outcome=None, drop=(), only=()):
    """Columns of a table that become no feature."""
    others = [name for name in frame.columns if only and name not in only]
    return ("row", outcome, *drop, *others)


def one_hot(frame, rng, *, outcome=None, drop=(), only=(), max_categories=50, noise=0.0):
    """Numbers as they are, text as one 0/1 feature for each category; no row is left out.

    See `Encoder` for what becomes of missing values, rare categories and columns of one value.
    Medians and categories are those of all rows, those to be tested included: they use no
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
        ``row`` and the features as float64, in the order of `Encoder.features_`. The features
        of a text column are declared one category, as are truth values and marks of missing
        numbers, unless noise is added to them.

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
    encoder = Encoder(left_out(frame, outcome, drop, only), max_categories).fit(frame)
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
