"""Checks of the rows and offers that models of answers are given."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import named, number_table


def checked_offers(t, rows):
    """Offers as floats within [0, 1]; rounding errors beyond an end go to it.

    Raises
    ------
    CounterweightError
        When an offer is no number or outside, or their number is wrong.
    """
    try:
        t = np.asarray(t, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(f"The offers must be numbers: {error}.") from error
    if t.shape != (rows,):
        raise CounterweightError(f"There are {rows} rows but offers of shape {t.shape}.")
    bad = ~((t >= -1e-9) & (t <= 1 + 1e-9))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise CounterweightError(
            f"{int(bad.sum())} of {rows} offers are missing or outside [0, 1] (first: row {first}, "
            f"{t[first]:g}): scale them by their declared range, or drop these rows."
        )
    return np.clip(t, 0.0, 1.0)


def checked_rows_with_gaps(X, feature_names=None, empty=False, featureless=False):
    """Rows as a float matrix in which NaN stands for a missing value.

    Raises
    ------
    CounterweightError
        When `X` is not a matrix of numbers, is empty (unless `empty`), has no feature (unless
        `featureless`), or holds infinite values.
    """
    X = number_table(X, empty, featureless)
    bad = np.flatnonzero(np.isinf(X).any(axis=0))
    if len(bad):
        raise CounterweightError(
            f"Infinite values in feature {listed(named(bad, feature_names))}: replace them by "
            "numbers, or leave them empty."
        )
    return X


def checked_new_rows_with_gaps(X, features):
    """Rows to predict, perhaps none, as `checked_rows_with_gaps` gives them.

    Raises
    ------
    CounterweightError
        When they have another number of features than the rows that were learned from.
    """
    X = checked_rows_with_gaps(X, empty=True)
    if X.shape[1] != features:
        raise CounterweightError(
            f"The model was fitted to {features} features, but the rows have {X.shape[1]}."
        )
    return X
