"""Data sets told by the columns of a data frame, or as a frame of masks."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import check_same_columns, labels_of
from counterweight.numerics.rates.language import nearest


def follows(given):
    """Whether a data set is a rule that tells the rows of any frame: a column or a function."""
    return isinstance(given, str) or callable(given)


def named_masks(datasets, X):
    """Data sets as masks and tables, whatever they were told by.

    Parameters
    ----------
    datasets : dict of str to object, data frame of masks, or None
        A name of a column of X (true or false, or 1 and 0); a function of X that gives a mask;
        a mask, which goes by the index where both it and X have one; or a table as a tuple.
    X : array, matrix or data frame (n, d)

    Returns
    -------
    dict, or `datasets` itself where it is no dict

    Raises
    ------
    CounterweightError
        For columns that X lacks or that hold other values, and masks with another index.
    """
    if not hasattr(datasets, "items"):
        return datasets
    return {name: _mask(name, given, X) for name, given in datasets.items()}


def _mask(name, given, X):
    if isinstance(given, tuple) and given:
        told = f"the data set {name}"
        check_same_columns(labels_of(X), labels_of(given[0]), told, warn=False)
    if isinstance(given, str):
        return _column(name, given, X)
    if callable(given):
        try:
            return np.asarray(given(X))
        except (KeyError, TypeError, IndexError, AttributeError) as error:
            kind = "a data frame" if hasattr(X, "columns") else f"a {type(X).__name__}"
            raise CounterweightError(
                f"The function of the data set {name} cannot use the rows, which are {kind}: "
                f"{type(error).__name__} {error}."
            ) from error
    if hasattr(given, "reindex") and hasattr(X, "columns") and not given.index.equals(X.index):
        return _by_index(name, given, X)
    return given


def _column(name, column, X):
    if not hasattr(X, "columns"):
        raise CounterweightError(
            f"The data set {name} is told by the column {column!r}, and the rows are no data "
            "frame: give one, or a mask."
        )
    known = [str(one) for one in X.columns]
    if column not in known:
        raise CounterweightError(
            f"There is no column {column!r} for the data set {name}{nearest(column, known)} "
            f"(columns: {listed(known, 20)})."
        )
    values = X[column]
    if values.isna().any() or not values.isin([0, 1]).all():
        found = listed([str(value) for value in values.unique()[:5]])
        raise CounterweightError(
            f"The column {column!r} of the data set {name} must be true or false (or 1 and 0), it "
            f"has {found}: give a function, e.g. {name}=lambda X: X[{column!r}] == "
            f"{values.iloc[0]!r}."
        )
    return values.to_numpy().astype(bool)


def _by_index(name, mask, X):
    """A mask of a longer table, cut to the rows of X."""
    known = mask.index.is_unique and len(mask) > len(X) and X.index.isin(mask.index).all()
    if not known:
        raise CounterweightError(
            f"The mask of the data set {name} has another index than the rows: bring both in one "
            "order, or give the mask as an array."
        )
    return mask.loc[X.index].to_numpy()
