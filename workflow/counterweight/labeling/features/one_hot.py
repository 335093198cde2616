"""Any table as numbers: numeric columns with holes filled and marked, text columns one-hot."""

import logging

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import add_noise, require

log = logging.getLogger("counterweight")

OPTIONS = {
    "drop": {
        "type": "array",
        "items": {"type": "string"},
        "default": [],
        "description": "Columns that become no feature, beside the outcome.",
    },
    "max_categories": {
        "type": "integer",
        "minimum": 1,
        "default": 50,
        "description": "Categories of a text column that get a feature each; rarer ones share one.",
    },
    "noise": {
        "type": "number",
        "minimum": 0,
        "default": 0.0,
        "description": "Half-width of the uniform noise on every feature; 0 for none.",
    },
}


def one_hot(frame, rng, *, outcome=None, drop=(), max_categories=50, noise=0.0):
    """Numbers as they are, text as one 0/1 feature for each category; no row is left out.

    A missing number becomes the median of those present, and a feature ``{name}_missing``
    marks it; missing text is a category of its own, ``{name}=missing``. The median is over
    all rows, those to be tested included: it uses no label. Where a text column has more
    than `max_categories` categories, the most frequent keep their features (the first by
    name among equals) and the others share ``{name}=other``. Columns with one value in all
    rows give no feature. What was filled, pooled and left out is logged. The features of a
    text column sum to 1, so their matrix is not of full rank.

    Parameters
    ----------
    frame : pandas.DataFrame
    rng : numpy.random.Generator
    outcome : str, optional
        Column that must not become a feature.
    drop : sequence of str
        Further columns to leave out.
    max_categories : int
    noise : float
        Half-width, in units of the feature.

    Returns
    -------
    pandas.DataFrame
        ``row`` and the features as float64: table order, ``{name}_missing`` after its
        column, categories sorted, missing and other last. Where such a name is taken by a
        column or category of the table, ``_`` is appended.

    Raises
    ------
    CounterweightError
        When there is no row, a column to drop is missing, a column is neither number nor
        text, a number is infinite, or no feature is left.
    """
    require(frame, ["row", *drop], "features recipe one_hot")
    if "row" in drop:
        raise CounterweightError(
            "features.drop names row, which is the row id and no feature: take it out of the list."
        )
    if not len(frame):
        raise CounterweightError("The data set has no row to make features of.")
    features, flat = {}, []
    for name in frame.columns:
        if name in ("row", outcome) or name in drop:
            continue
        values = frame[name]
        taken = set(frame.columns) | set(features)
        if pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "c":
            made = _filled(name, values, taken)
        elif _is_text(values):
            made = _indicators(name, values, max_categories, taken)
        else:
            raise CounterweightError(
                f"Column {name!r} is of type {values.dtype}, and the recipe one_hot takes numbers "
                "and text only: name it in features.drop."
            )
        constant = [feature for feature, column in made.items() if not np.ptp(column)]
        flat += constant
        features |= {feature: made[feature] for feature in made if feature not in constant}
    if flat:
        log.info("one value in all %d rows, left out: %s", len(frame), listed(flat))
    if not features:
        raise CounterweightError(
            "The recipe one_hot is left without any feature: drop fewer columns, or choose a data "
            "set whose columns vary."
        )
    made = pd.DataFrame({"row": frame["row"].to_numpy(), **features})
    return add_noise(made, noise, list(features), rng)


#: Categories and medians are those of all rows, so rows cannot be encoded batch by batch.
one_hot.whole_table = True


def _is_text(values):
    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if not (pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)):
        return False
    return values.dropna().map(lambda value: isinstance(value, str), na_action="ignore").all()


def _free(name, taken):
    while name in taken:
        name += "_"
    return name


def _filled(name, values, taken):
    """A numeric column without holes, and a mark of the holes if there are any."""
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    missing = np.isnan(numbers)
    infinite = np.flatnonzero(np.isinf(numbers))
    if len(infinite):
        raise CounterweightError(
            f"Column {name!r} is infinite in {len(infinite)} rows (first: row {infinite[0]}): "
            "correct the data, or name it in features.drop."
        )
    if not missing.any():
        return {name: numbers}
    median = float(np.median(numbers[~missing])) if not missing.all() else 0.0
    log.info("%s: %d missing values filled with %g", name, missing.sum(), median)
    return {
        name: np.where(missing, median, numbers),
        _free(f"{name}_missing", taken): missing.astype(float),
    }


def _indicators(name, values, max_categories, taken):
    """One 0/1 feature for each category."""
    codes, categories = pd.factorize(values.astype("str"), sort=True)
    categories = list(categories)
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    place = np.arange(len(categories))
    if len(categories) > max_categories:
        order = np.argsort(-counts, kind="stable")
        kept = np.sort(order[:max_categories])
        rare = order[max_categories:]
        log.info(
            "%s: %d rare categories (%d rows) pooled as other", name, len(rare), counts[rare].sum()
        )
        place[kept], place[rare] = np.arange(max_categories), max_categories
        categories = [categories[at] for at in kept]
        categories.append(_free("other", categories))
    if (codes < 0).any():
        # Code -1 points to the last place.
        place = np.append(place, len(categories))
        categories.append(_free("missing", categories))
    at = place[codes]
    made = {}
    for i, word in enumerate(categories):
        made[_free(f"{name}={word}", taken | set(made))] = (at == i).astype(float)
    return made
