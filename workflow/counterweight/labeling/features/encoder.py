"""Typed columns as numbers: fitted on one table, written down as facts, applied to any other."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import free_name


class Feature(NamedTuple):
    """How one feature is made.

    Attributes
    ----------
    name : str
    column : str
        Of the table.
    kind : str
        ``number``: the value, `fill` where it is missing. ``blank``: 1 where it is missing.
        ``category``: 1 where the text is `category`. ``other``: 1 where it is a text without
        a feature of its own.
    category : str
    fill : float
        Of a number; NaN else.
    """

    name: str
    column: str
    kind: str
    category: str = ""
    fill: float = np.nan

    @classmethod
    def number(cls, column, values):
        """The numbers of a column, its median where one is missing (0 where all are)."""
        there = values[~np.isnan(values)]
        return cls(column, column, "number", fill=float(np.median(there)) if len(there) else 0.0)


class Encoder:
    """Numbers as they are, text as one 0/1 feature for each category; no row is left out.

    A missing number becomes the median of those present, and a feature ``{column}_missing``
    marks it; missing text is a category of its own, ``{column}=missing``. Where a text column
    has more than `max_categories` categories, the most frequent keep their features (the first
    by name among equals) and the others share ``{column}=other``. A feature with one value in
    all rows is none. Where a name is taken by a column or another feature, ``_`` is appended.

    Parameters
    ----------
    drop : sequence of str
        Columns that become no feature.
    max_categories : int

    Attributes
    ----------
    features_ : list of Feature
        In the order of the columns; ``{column}_missing`` after its column, categories sorted,
        other and missing last.
    notes_ : list of str
        What `fit` filled, pooled and left out.
    """

    def __init__(self, drop=(), max_categories=50):
        self.drop = drop
        self.max_categories = max_categories

    @classmethod
    def of(cls, features):
        """An encoder of features that were fitted before."""
        encoder = cls()
        encoder.features_, encoder.notes_ = list(features), []
        return encoder

    def fit(self, frame):
        """Learn medians and categories.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns of numbers or text, one row at least.

        Returns
        -------
        Encoder

        Raises
        ------
        CounterweightError
            When a column is neither number nor text, or a number is infinite.
        """
        self.features_, self.notes_, constant = [], [], []
        for column in frame.columns:
            if column in self.drop:
                continue
            values = frame[column]
            taken = set(frame.columns) | {feature.name for feature in self.features_}
            if pd.api.types.is_numeric_dtype(values) and values.dtype.kind != "c":
                made = self._of_numbers(column, values, taken)
            elif _is_text(values):
                made = self._of_text(column, values, taken)
            else:
                raise CounterweightError(
                    f"Column {column!r} is of type {values.dtype}, and the recipe one_hot takes "
                    "numbers and text only: name it in features.drop."
                )
            constant += [feature.name for feature, varies in made if not varies]
            self.features_ += [feature for feature, varies in made if varies]
        if constant:
            self.notes_.append(f"one value in all {len(frame)} rows, left out: {listed(constant)}")
        return self

    def _of_numbers(self, column, values, taken):
        """Features of a numeric column, and whether each of them varies."""
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise CounterweightError(
                f"Column {column!r} is infinite in {len(infinite)} rows (first: row "
                f"{infinite[0]}): correct the data, or name it in features.drop."
            )
        feature, missing = Feature.number(column, numbers), np.isnan(numbers)
        varies = len(numbers) > missing.sum() and np.ptp(numbers[~missing]) > 0
        if not missing.any():
            return [(feature, varies)]
        self.notes_.append(f"{column}: {missing.sum()} missing values filled with {feature.fill:g}")
        blank = Feature(free_name(f"{column}_missing", taken), column, "blank")
        return [(feature, varies), (blank, not missing.all())]

    def _of_text(self, column, values, taken):
        """Features of a text column, and whether each of them varies."""
        codes, words = pd.factorize(values.astype("str"), sort=True)
        counts = np.bincount(codes[codes >= 0], minlength=len(words))
        order = np.argsort(-counts, kind="stable")
        own, rare = np.sort(order[: self.max_categories]), order[self.max_categories :]
        made = [("category", words[at], counts[at]) for at in own]
        names = [word for _, word, _ in made]
        if len(rare):
            pooled = counts[rare].sum()
            self.notes_.append(
                f"{column}: {len(rare)} rare categories ({pooled} rows) pooled as other"
            )
            names.append(free_name("other", names))
            made.append(("other", "", pooled))
        if (codes < 0).any():
            names.append(free_name("missing", names))
            made.append(("blank", "", (codes < 0).sum()))
        features = []
        for name, (kind, word, rows) in zip(names, made, strict=True):
            name = free_name(f"{column}={name}", taken | {feature.name for feature, _ in features})
            features.append((Feature(name, column, kind, word), rows < len(values)))
        return features

    @property
    def columns_(self):
        """Columns that a table must have, by name: ``number``, or ``text`` for categories."""
        kinds = {}
        for feature in self.features_:
            if kinds.get(feature.column) != "number":
                kinds[feature.column] = "number" if feature.kind == "number" else "text"
        return kinds

    def categories(self, column):
        """Texts of a column that have a feature of their own."""
        return [
            feature.category
            for feature in self.features_
            if feature.column == column and feature.kind == "category"
        ]

    def has(self, column, kind):
        """Whether a column has a feature of a kind."""
        return any(feature[1:3] == (column, kind) for feature in self.features_)

    def transform(self, frame):
        """Features of the rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns `columns_`, typed as those that the encoder was fitted on. A text
            without a feature of its own is 1 in ``other``, and in none where there is no such
            feature.

        Returns
        -------
        array (n, d)
        """
        X = np.empty((len(frame), len(self.features_)))
        for column, kind in self.columns_.items():
            values = frame[column]
            if kind == "number":
                values = values.to_numpy(dtype=float, na_value=np.nan)
                missing = np.isnan(values)
            else:
                missing, words = values.isna().to_numpy(), self.categories(column)
                values = pd.Index(words, dtype="str").get_indexer(values.astype("str"))
            for at, feature in enumerate(self.features_):
                if feature.column != column:
                    continue
                if feature.kind == "number":
                    X[:, at] = np.where(missing, feature.fill, values)
                elif feature.kind == "blank":
                    X[:, at] = missing
                elif feature.kind == "other":
                    X[:, at] = (values < 0) & ~missing
                else:
                    X[:, at] = values == words.index(feature.category)
        return X


def _is_text(values):
    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if not (pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)):
        return False
    return values.dropna().map(lambda value: isinstance(value, str), na_action="ignore").all()
