"""Checks and small steps that the feature recipes share."""

import numpy as np

from counterweight.errors import CounterweightError, listed


def require(frame, columns, what):
    """Refuse a table that lacks columns.

    Parameters
    ----------
    frame : pandas.DataFrame
    columns : iterable of str
    what : str
        Who needs them, for the message, e.g. ``"features recipe adult_binary"``.
    """
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise CounterweightError(
            f"The {what} needs the column {listed(missing)}; the data set has "
            f"{listed(frame.columns)}: choose another rule for this data set."
        )


def floats(frame, column, what):
    """A column as floats, NaN where it is missing.

    Raises
    ------
    CounterweightError
        When it is missing from the table, or is text.
    """
    require(frame, [column], what)
    try:
        return frame[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {what} needs numbers in the column {column!r}, which holds text: choose another "
            "column or number its values."
        ) from error


def numbers(frame, column, what):
    """A column as finite numbers.

    Raises
    ------
    CounterweightError
        When it is missing, is text, or holds missing or infinite values.
    """
    values = floats(frame, column, what)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise CounterweightError(
            f"The {what} needs the column {column} in every row; it is missing or infinite in "
            f"{len(bad)} rows (first: row {bad[0]}): fill it or leave those rows out."
        )
    return values


def check_finite(features):
    """Refuse features that are missing or infinite in some row; `row` is the row's id."""
    for name in features.columns.drop("row"):
        bad = ~np.isfinite(features[name].to_numpy(dtype=float))
        if bad.any():
            raise CounterweightError(
                f"Feature {name!r} is not a finite number in {int(bad.sum())} of {len(bad)} rows "
                f"looked at (first: row {features['row'].to_numpy()[bad][0]}): correct the data or "
                "leave the feature out."
            )


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
