"""Typed columns as numbers and codes of categories: fitted once, saved as facts, used on new rows.

Categories stay categories: a model that splits on them gets codes (`Encoded.typed`), a linear
model one column a level (`Encoded.dense`), made block by block where all rows are too many.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import free_name, require
from counterweight.labeling.features.drift import describe_new
from counterweight.labeling.features.learnt import (
    CategoryColumn,
    NumberColumn,
    fact_of,
    floats,
    learnt_category,
    learnt_number,
    level_features,
    notes_of,
    number_features,
    texts,
)

#: Most levels that a model with categories of its own may get; what is beyond them is other.
MOST_CODES = 255


class MixedEncoder:
    """Numbers as numbers, texts as levels of categories, both with what is missing.

    Parameters
    ----------
    max_levels : int
        Most levels of a category; the rarer ones share the level other.
    least_rows : int, optional
        See `levels_kept`.
    max_width : int, optional
        Most columns for linear models; None for any number.

    Attributes
    ----------
    rows_ : int
        Of the table that it was fitted on.
    columns_ : list of NumberColumn and CategoryColumn
        In the order asked for.
    types_ : dict of str to str
        Columns that new rows must have: ``number``, ``boolean``, ``date`` or ``text``.
    names : list of str
        Columns of `Encoded.typed`: numbers, then categories.
    features_ : list of DenseFeature
        Columns of `Encoded.dense`, in the order of `columns_`: the value, then ``_missing``
        where something was missing; or the levels, then other and missing where they occurred.
        None has one value in all rows of the fit. A name that is taken gets ``_`` behind it.
    notes_ : list of str
        What was filled and pooled.
    """

    def __init__(self, max_levels=50, least_rows=None, max_width=2000):
        self.max_levels = max_levels
        self.least_rows = least_rows
        self.max_width = max_width

    def fit(self, frame, columns, types):
        """Learn medians, levels and what `drift` compares new rows with.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row at least.
        columns : sequence of str
            Features.
        types : dict of str to str
            Of each column: ``number``, ``boolean``, ``date`` or ``text``.

        Returns
        -------
        MixedEncoder

        Raises
        ------
        CounterweightError
            When a column is missing, infinite or of another type, when no column is left, or
            when linear models would need more than `max_width` columns.
        """
        require(frame, columns, "table of features")
        facts = [
            learnt_category(column, frame[column], self.max_levels, self.least_rows)
            if types[column] == "text"
            else learnt_number(column, types[column], frame[column])
            for column in columns
        ]
        return self._with(facts, len(frame))

    def _with(self, facts, rows):
        """Take what was learnt; lay out the columns for linear models."""
        self.rows_, self.columns_ = rows, facts
        self.types_ = {fact.column: fact.type for fact in facts}
        self.numbers_ = [fact for fact in facts if isinstance(fact, NumberColumn)]
        self.categories_ = [fact for fact in facts if isinstance(fact, CategoryColumn)]
        self.names = [fact.column for fact in self.numbers_ + self.categories_]
        self.features_, self.notes_, self._places = [], [], {}
        taken = set(self.types_)
        for fact in facts:
            makes = number_features if isinstance(fact, NumberColumn) else level_features
            places = np.full(2 if isinstance(fact, NumberColumn) else len(fact.levels) + 2, -1)
            for at, feature in makes(fact, rows):
                name = feature.name
                if feature.kind != "value":
                    name = free_name(name, taken)
                    taken.add(name)
                places[at] = len(self.features_)
                self.features_.append(feature._replace(name=name))
            self._places[fact.column] = places
            self.notes_ += notes_of(fact, rows)
        self.check_width()
        return self

    @property
    def dense_names(self):
        """Names of the columns for linear models."""
        return [feature.name for feature in self.features_]

    def check_width(self, rows=None, memory=None):
        """Refuse more columns for linear models than `max_width`, or more bytes than `memory`.

        Raises
        ------
        CounterweightError
            Names the column with most levels.
        """
        width = len(self.features_)
        size = 8 * width * (rows or 0)
        if self.max_width is not None and width > self.max_width:
            what = f"{width} columns for linear models, more than {self.max_width}"
        elif memory is not None and size > memory:
            what = f"{size / 2**30:.2g} GiB for linear models, more than {memory / 2**30:.2g}"
        else:
            return
        if not self.categories_:
            raise CounterweightError(
                f"The features would need {what}: name columns that tell little under "
                "columns.ignore."
            )
        worst = max(self.categories_, key=lambda fact: len(fact.levels))
        raise CounterweightError(
            f"The features would need {what}; column {worst.column!r} alone has "
            f"{len(worst.levels)} levels: lower max_levels, or name it under columns.ignore."
        )

    def encode(self, frame):
        """The rows of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns `types_`; ``row`` where rows have a number already. Dates may be
            dates or days since 1970-01-01. A text that the fit did not see gets the code of
            other; a number far outside stays as it is.

        Returns
        -------
        Encoded

        Raises
        ------
        CounterweightError
            When a column is missing, infinite, or of another type.
        """
        import pandas as pd

        missing = [column for column in self.types_ if column not in frame.columns]
        if missing:
            raise CounterweightError(
                f"The rows lack the column {listed(missing)}, a feature of the fitted model: add "
                "it, empty where it is not known."
            )
        rows = len(frame)
        row = frame["row"].to_numpy() if "row" in frame else np.arange(rows, dtype=np.int32)
        numbers = np.empty((rows, len(self.numbers_)))
        for at, fact in enumerate(self.numbers_):
            numbers[:, at] = floats(frame[fact.column], fact.column, fact.type)
        codes = np.empty((rows, len(self.categories_)), self._code_type())
        unseen = np.zeros(codes.shape, bool)
        for at, fact in enumerate(self.categories_):
            which, words = pd.factorize(texts(frame[fact.column], fact.column))
            levels, rare = (pd.Index(names, dtype="str") for names in (fact.levels, fact.pooled))
            found = levels.get_indexer(words)
            # The last place is where -1, the code of what is missing, points to.
            new = np.append((found < 0) & (rare.get_indexer(words) < 0), False)
            code = np.append(np.where(found < 0, len(levels), found), len(levels) + 1)
            codes[:, at], unseen[:, at] = code[which], new[which]
        return Encoded(self, row, numbers, codes, unseen)

    def _code_type(self):
        most = max((len(fact.levels) for fact in self.categories_), default=0)
        return np.int16 if most + 2 <= np.iinfo(np.int16).max else np.int32

    def from_columns(self, columns):
        """The rows that `Encoded.to_columns` wrote; which texts were unseen is not told back.

        Parameters
        ----------
        columns : mapping of str to array
            Categories as texts, or as ``(codes, names)``, null where missing.
        """
        import pandas as pd

        row = np.asarray(columns["row"])
        numbers = np.empty((len(row), len(self.numbers_)))
        for at, fact in enumerate(self.numbers_):
            numbers[:, at] = np.asarray(columns[fact.column], dtype=float)
        codes = np.empty((len(row), len(self.categories_)), self._code_type())
        for at, fact in enumerate(self.categories_):
            values = columns[fact.column]
            if isinstance(values, tuple):
                which, words = np.asarray(values[0], dtype=float), values[1]
                which = np.where(np.isnan(which), -1, which).astype(np.int64)
            else:
                which, words = pd.factorize(pd.Series(values).astype("str"))
            names = pd.Index([*fact.levels, free_name("other", fact.levels)], dtype="str")
            known = names.get_indexer(pd.Index(words, dtype="str"))
            codes[:, at] = np.append(known, len(names))[which]
        return Encoded(self, row, numbers, codes, np.zeros(codes.shape, bool))

    def describe_new(self, new):
        """How new rows differ from the fit's; see `counterweight.labeling.features.drift`."""
        return describe_new(self, new)

    def to_table(self):
        """All that was learnt, as columns of one table: ``column, type, fact, at, text, value``."""
        made = [("", "", "rows", 0, "", self.rows_)]
        made += [("", "", name, 0, "", _told(getattr(self, name))) for name in _SETTINGS]
        for fact in self.columns_:
            for name, values in zip(fact._fields[2:], fact[2:], strict=True):
                listed_ = values if isinstance(values, tuple) else (values,)
                for at, value in enumerate(listed_):
                    text = isinstance(value, str)
                    told = (value, np.nan) if text else ("", value)
                    made.append((fact.column, fact.type, name, at, *told))
                if not listed_:
                    made.append((fact.column, fact.type, name, -1, "", np.nan))
        column, kind, name, at, text, value = zip(*made, strict=True)
        texts = {"column": column, "type": kind, "fact": name, "text": text}
        columns = {key: np.array(words, dtype=object) for key, words in texts.items()}
        columns |= {"at": np.array(at, np.int32), "value": np.array(value, float)}
        return {name: columns[name] for name in TABLE}

    @classmethod
    def from_table(cls, columns):
        """The encoder that `to_table` wrote.

        Parameters
        ----------
        columns : mapping of str to array, or pandas.DataFrame
        """
        facts, settings = {}, {}
        entries = zip(*(np.asarray(columns[name]).tolist() for name in TABLE), strict=True)
        for column, kind, name, at, text, value in entries:
            if kind == "":
                settings[name] = int(value)
                continue
            values = facts.setdefault((column, kind), {}).setdefault(name, [])
            if at >= 0:
                values.append(text if name in ("levels", "pooled") else value)
        chosen = {name: settings[name] if settings[name] >= 0 else None for name in _SETTINGS}
        encoder = cls(**chosen)
        return encoder._with([fact_of(*of, told) for of, told in facts.items()], settings["rows"])


#: Columns of `MixedEncoder.to_table`.
TABLE = ("column", "type", "fact", "at", "text", "value")
_SETTINGS = ("max_levels", "least_rows", "max_width")


@dataclass(frozen=True)
class Encoded:
    """Rows as numbers and codes.

    Attributes
    ----------
    encoder : MixedEncoder
    row : array of int (n,)
    numbers : array (n, a)
        NaN where missing.
    codes : array of int (n, b)
        0 to L-1 for the L levels of a category, L for other or unseen, L+1 where missing.
    unseen : array of bool (n, b)
        Texts that the fit did not see.
    """

    encoder: Any
    row: np.ndarray
    numbers: np.ndarray
    codes: np.ndarray
    unseen: np.ndarray

    def __len__(self):
        return len(self.row)

    @property
    def names(self):
        """Columns of `typed`."""
        return self.encoder.names

    @property
    def dense_names(self):
        """Columns of `dense`."""
        return self.encoder.dense_names

    @property
    def is_category(self):
        """Which columns of `typed` are codes: mask (a + b,)."""
        return np.repeat([False, True], [self.numbers.shape[1], self.codes.shape[1]])

    def take(self, index):
        """Some rows, by a slice, a mask or an array of places."""
        parts = (self.row, self.numbers, self.codes, self.unseen)
        return Encoded(self.encoder, *(part[index] for part in parts))

    def dense(self, rows=None, memory=None):
        """Numbers for linear models: medians filled in, one column a level.

        Parameters
        ----------
        rows : slice or array, optional
            All by default.
        memory : float, optional
            Most bytes that the answer may take.

        Returns
        -------
        array (n, d)
            A text that was not seen is 1 in other, and in none where there is no other.

        Raises
        ------
        CounterweightError
            When it would take more bytes than `memory`.
        """
        part = self if rows is None else self.take(rows)
        encoder = self.encoder
        encoder.check_width(len(part), memory)
        X = np.zeros((len(part), len(encoder.features_)))
        for at, fact in enumerate(encoder.numbers_):
            value, flag = encoder._places[fact.column]
            missing = np.isnan(part.numbers[:, at])
            if value >= 0:
                X[:, value] = np.where(missing, fact.median, part.numbers[:, at])
            if flag >= 0:
                X[:, flag] = missing
        for at, fact in enumerate(encoder.categories_):
            places = encoder._places[fact.column][part.codes[:, at]]
            there = np.flatnonzero(places >= 0)
            X[there, places[there]] = 1
        return X

    def typed(self):
        """Numbers and codes side by side, for models with categories of their own.

        Returns
        -------
        array (n, a + b)
            NaN where missing, in both; codes below `MOST_CODES`, the rarest levels as other.
        """
        X = np.empty((len(self), self.numbers.shape[1] + self.codes.shape[1]))
        X[:, : self.numbers.shape[1]] = self.numbers
        for at, fact in enumerate(self.encoder.categories_):
            codes = self.codes[:, at]
            values = np.minimum(codes, MOST_CODES - 1).astype(float)
            values[codes == len(fact.levels) + 1] = np.nan
            X[:, self.numbers.shape[1] + at] = values
        return X

    def to_columns(self):
        """Columns for a Parquet file: ``row``, numbers, categories as texts (null: missing)."""
        import pyarrow as pa

        columns = {"row": self.row}
        for at, fact in enumerate(self.encoder.numbers_):
            columns[fact.column] = np.ascontiguousarray(self.numbers[:, at])
        for at, fact in enumerate(self.encoder.categories_):
            names = [*fact.levels, free_name("other", fact.levels)]
            codes = self.codes[:, at].astype(np.int32)
            which = pa.array(codes, mask=codes == len(names))
            columns[fact.column] = pa.DictionaryArray.from_arrays(which, pa.array(names))
        return {name: columns[name] for name in ["row", *self.encoder.types_]}


def _told(setting):
    """A setting as a number: -1 for none."""
    return -1 if setting is None else setting
