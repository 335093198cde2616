"""Columns of categories in data frames, one-hot."""

import numpy as np

from counterweight.errors import CounterweightError, listed

#: A column of texts is no category where more than this share of the rows have their own.
OWN = 0.5
#: Rows from which that is looked at.
FEW = 50


def one_hot(X):
    """An encoder of the columns of categories; None where there are none.

    Columns of numbers stay as they are, after those of the categories. A category that was not
    seen has 0 in all of its columns; a missing one is a category of its own.

    Raises
    ------
    CounterweightError
        For dates, and texts of which most are there once.
    """
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")):
        return None
    names = [name for name in X.columns if not _numbers(X[name])]
    if not names:
        return None
    for name in names:
        if X[name].dtype.kind in "mM":
            raise CounterweightError(
                f"The column {name!r} of the features holds dates or times: make numbers of them, "
                "or leave it out."
            )
        different = X[name].astype(str).nunique()
        if len(X) >= FEW and different > OWN * len(X):
            raise CounterweightError(
                f"The column {name!r} of the features has {different} different texts in {len(X)} "
                "rows, so that it tells rows, not kinds of them: leave it out."
            )
    # Loaded where there are categories: this takes as long as to load all the rest.
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), names),
        remainder="passthrough",
        sparse_threshold=0.0,
    )
    return encoder.fit(_plain(X, names))


def encoded(encoder, X):
    """Rows of a data frame as numbers.

    Raises
    ------
    CounterweightError
        Where the rows are no data frame with the columns of the fit.
    """
    names = list(encoder.transformers_[0][2])
    if not hasattr(X, "columns") or not set(names) <= set(X.columns):
        raise CounterweightError(
            f"The model was fitted to a data frame with the categories {listed(map(str, names))}: "
            "give a data frame with these columns."
        )
    return encoder.transform(_plain(X, names))


def _plain(X, names):
    """Categories as texts, so that one column has one type; missing ones, of any kind, as empty."""
    texts = {name: X[name].astype(object).map(str).where(X[name].notna(), "") for name in names}
    return X.assign(**texts)


def _numbers(column):
    """Whether a column is numbers, true or false, or texts of numbers."""
    if column.dtype.kind in "biuf":
        return True
    if str(column.dtype) == "category" or column.dtype.kind in "mM":
        return False
    try:
        np.asarray(column, dtype=float)
    except (TypeError, ValueError):
        return False
    return True
