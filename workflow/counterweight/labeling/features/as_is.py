"""The numeric columns of a table, unchanged."""

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array
from counterweight.labeling.columns import NOISE, add_noise, declare_categories, require

OPTIONS = {
    "columns": Array([], "Columns to use; empty for every numeric column but the outcome.", items={"type": "string"}),
    **NOISE,
}  # fmt: skip


def as_is(frame, rng, *, outcome=None, columns=(), noise=0.0):
    """Numeric columns as they stand.

    Parameters
    ----------
    frame : pandas.DataFrame
    rng : numpy.random.Generator
    outcome : str, optional
        Column that must not become a feature.
    columns : sequence of str
        Columns to use; empty for all numeric ones.
    noise : float
        Half-width, in units of the feature.

    Returns
    -------
    pandas.DataFrame
        ``row`` and the features as float. Columns of true and false are declared categories,
        unless noise is added to them.

    Raises
    ------
    CounterweightError
        When a column is missing, is not numeric, or holds missing values.
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
