"""The tabular encoder: typed columns as numbers and codes, fitted once, saved, used on new rows.

Categories stay categories: a model that splits on them gets codes (`Encoded.typed`), a linear
model one column a level (`Encoded.dense`). Features of the papers' studies and of people's tables
are made by it, and new rows of either by what is saved of it.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.column_statistics import (
    CategoryColumn,
    NumberColumn,
    category_column,
    column_of,
    floats,
    level_needs,
    number_column,
    texts,
)
from counterweight.labeling.columns import free_name, require

#: Most levels that a model with categories of its own may get; what is beyond them is other.
MOST_CODES = 255
#: Columns of `TabularEncoder.to_table`, and the settings among its entries.
TABLE = ("column", "type", "fact", "at", "text", "value")
_SETTINGS = ("max_levels", "least_rows", "max_width")


class Feature(NamedTuple):
    """How one column for linear models is made of a column of the table.

    ``kind`` is ``number``: the value, `fill` where it is missing (NaN of others); ``blank``: 1
    where it is missing; ``category``: 1 where the text is `category`; ``other``: 1 where it is a
    text without a feature of its own.
    """

    name: str
    column: str
    kind: str
    category: str = ""
    fill: float = np.nan


class TabularEncoder:
    """Numbers as numbers, texts as levels of categories, both with what is missing.

    Parameters
    ----------
    max_levels, least_rows : int
        Most levels of a category, and rows below which a level shares the level other; see
        `counterweight.labeling.column_statistics.levels_kept`.
    max_width : int, optional
        Most columns for linear models; None for any number.
    by_name : bool
        Whether the features of a category stand in the order of its texts; else the most frequent
        text comes first.

    Attributes
    ----------
    rows_ : int
        Of the table that it was fitted on; 0 where only its features are known.
    statistics_ : list of NumberColumn and CategoryColumn
        In the order asked for; `numbers_` and `categories_` are those of either sort.
    columns_ : dict of str to str
        Type (``number``, ``boolean``, ``date`` or ``text``) of the columns that new rows must have.
    names : list of str
        Columns of `Encoded.typed`: numbers, then categories.
    features_ : list of Feature
        Columns of `Encoded.dense`, in the order of `columns_`: the value, then ``_missing``
        where something was missing; or the levels, then other and missing where they occurred.
        None has one value in all rows of the fit. A name that is taken gets ``_`` behind it.
    few_ : dict of str to tuple of str
        By column the rare texts that share the level other, where all of them together have fewer
        rows than a level needs to count by itself: they do not stand for a text never seen.
    notes_ : list of str
        What was filled, pooled and left out.
    """

    def __init__(self, max_levels=50, least_rows=None, max_width=2000, *, by_name=False):
        self.max_levels = max_levels
        self.least_rows = least_rows
        self.max_width = max_width
        self.by_name = by_name

    def fit(self, frame, columns, types, taken=()):
        """Learn medians, levels and what new rows are compared with, of one row at least.

        `types` has ``number``, ``boolean``, ``date`` or ``text`` of each of the columns; `taken`
        are further names that no feature may have.
        """
        require(frame, columns, "table of features")
        facts = [
            category_column(column, frame[column], self.max_levels, self.least_rows)
            if types[column] == "text"
            else number_column(column, types[column], frame[column])
            for column in columns
        ]
        return self._learnt(facts, len(frame), taken)

    @classmethod
    def of(cls, features, few=None):
        """An encoder of features that were fitted before, and of `few_`; no more of the fit is
        known.
        """
        made, own, few = [*features], {}, few or {}
        for feature in made:
            own.setdefault(feature.column, []).append(feature)
        facts = []
        for column, parts in own.items():
            fill = [feature.fill for feature in parts if feature.kind == "number"]
            if fill:
                facts.append(NumberColumn(column, "number", 0, fill[0], *(0.0,) * 4, (), (0,)))
            else:
                levels = tuple(part.category for part in parts if part.kind == "category")
                rare = tuple(few.get(column, ()))
                facts.append(CategoryColumn(column, "text", 0, levels, (0,) * len(levels), rare, 0))
        encoder = cls(max_width=None)
        encoder._laid_out(facts, 0, made)
        encoder.few_ = {one.column: one.pooled for one in facts if one.column in few}
        encoder.notes_ = []
        return encoder

    def _learnt(self, facts, rows, taken=()):
        """Take what was learnt: name the features that vary, and say what was made of the rest."""
        taken = {fact.column for fact in facts} | {*taken}
        features, self.notes_, constant = [], [], []
        for fact in facts:
            number = isinstance(fact, NumberColumn)
            for feature, varies in (_of_number if number else self._of_category)(fact, rows):
                if feature.kind != "number":
                    feature = feature._replace(name=free_name(feature.name, taken))
                if varies:
                    features.append(feature)
                    taken.add(feature.name)
                else:
                    constant.append(feature.name)
            if number and fact.missing:
                missing = f"{fact.missing} missing values filled with {fact.median:g}"
                self.notes_.append(f"{fact.column}: {missing}")
            elif not number and fact.pooled:
                rare = f"{len(fact.pooled)} rare categories ({fact.other} rows) pooled as other"
                self.notes_.append(f"{fact.column}: {rare}")
        if constant:
            self.notes_.append(f"one value in all {rows} rows, left out: {listed(constant)}")
        self._laid_out(facts, rows, features)
        least = level_needs(rows, self.least_rows)
        rare = [fact for fact in self.categories_ if fact.pooled and fact.other < least]
        self.few_ = {fact.column: fact.pooled for fact in rare}
        self._check_width()
        return self

    def _of_category(self, fact, rows):
        """Features that a category makes, and whether each varies."""
        levels = list(zip(fact.levels, fact.counts, strict=True))
        made = [("category", *level) for level in (sorted(levels) if self.by_name else levels)]
        names = [*fact.levels]
        for kind, count in (("other", fact.other), ("blank", fact.missing)):
            if count:
                names.append(free_name("missing" if kind == "blank" else kind, names))
                made.append((kind, names[-1], count))
        for kind, name, count in made:
            category = name if kind == "category" else ""
            yield Feature(f"{fact.column}={name}", fact.column, kind, category), count < rows

    def _laid_out(self, facts, rows, features):
        self.rows_, self.statistics_, self.features_ = rows, facts, features
        self.columns_ = {fact.column: fact.type for fact in facts}
        self.numbers_ = [fact for fact in facts if isinstance(fact, NumberColumn)]
        self.categories_ = [fact for fact in facts if isinstance(fact, CategoryColumn)]
        self.names = [fact.column for fact in self.numbers_ + self.categories_]
        # Where each value, flag and code goes among the features; -1 where it has none.
        places = {feature[1:4]: at for at, feature in enumerate(features)}
        self._places = {}
        for fact in facts:
            keys = [("number", ""), ("blank", "")]
            if isinstance(fact, CategoryColumn):
                keys = [("category", level) for level in fact.levels]
                keys += [("other", ""), ("blank", "")]
            own = [places.get((fact.column, *key), -1) for key in keys]
            self._places[fact.column] = np.array(own)

    @property
    def dense_names(self):
        """Names of the columns for linear models."""
        return [feature.name for feature in self.features_]

    def categories(self, column):
        """Texts of a column that have a feature of their own."""
        return [f.category for f in self.features_ if (f.column, f.kind) == (column, "category")]

    def has(self, column, kind):
        """Whether a column has a feature of a kind."""
        return any(feature[1:3] == (column, kind) for feature in self.features_)

    def _check_width(self):
        """Refuse more columns for linear models than `max_width`, by the column of most levels."""
        width = len(self.features_)
        if self.max_width is None or width <= self.max_width:
            return
        what = f"{width} columns for linear models, more than {self.max_width}"
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
        """The rows of a table with the columns `columns_`, and ``row`` where rows have a number.

        Dates may be dates or days since 1970-01-01. A text that the fit did not see gets the code
        of other; a number far outside stays as it is.
        """
        import pandas as pd

        missing = [column for column in self.columns_ if column not in frame.columns]
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
        most = max((len(fact.levels) for fact in self.categories_), default=0)
        narrow = most + 2 <= np.iinfo(np.int16).max
        codes = np.empty((rows, len(self.categories_)), np.int16 if narrow else np.int32)
        unseen = np.zeros(codes.shape, bool)
        for at, fact in enumerate(self.categories_):
            if not fact.levels and not fact.pooled:  # only whether it is missing counts
                codes[:, at] = frame[fact.column].isna()
                unseen[:, at] = codes[:, at] == 0
                continue
            which, words = pd.factorize(texts(frame[fact.column], fact.column))
            levels, rare = (pd.Index(names, dtype="str") for names in (fact.levels, fact.pooled))
            found = levels.get_indexer(words)
            # The last place is where -1, the code of what is missing, points to.
            new = np.append((found < 0) & (rare.get_indexer(words) < 0), False)
            code = np.append(np.where(found < 0, len(levels), found), len(levels) + 1)
            codes[:, at], unseen[:, at] = code[which], new[which]
        return Encoded(self, row, numbers, codes, unseen)

    def transform(self, frame):
        """Columns for linear models of the rows of a table, (n, d); see `encode`."""
        return self.encode(frame).dense()

    def to_table(self):
        """All that was learnt, as columns of one table: ``column, type, fact, at, text, value``."""
        made = [("", "", "rows", 0, "", self.rows_)]
        for name in _SETTINGS:
            value = getattr(self, name)
            made.append(("", "", name, 0, "", -1 if value is None else value))
        for fact in self.statistics_:
            for name, values in zip(fact._fields[2:], fact[2:], strict=True):
                entries = values if isinstance(values, tuple) else (values,)
                for at, value in enumerate(entries):
                    told = (value, np.nan) if isinstance(value, str) else ("", value)
                    made.append((fact.column, fact.type, name, at, *told))
                if not entries:
                    made.append((fact.column, fact.type, name, -1, "", np.nan))
        column, kind, name, at, text, value = zip(*made, strict=True)
        words = {"column": column, "type": kind, "fact": name, "text": text}
        columns = {key: np.array(told, dtype=object) for key, told in words.items()}
        columns |= {"at": np.array(at, np.int32), "value": np.array(value, float)}
        return {name: columns[name] for name in TABLE}

    @classmethod
    def from_table(cls, columns):
        """The encoder that `to_table` wrote, from a mapping of str to array or a data frame."""
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
        learnt = [column_of(*of, told) for of, told in facts.items()]
        return cls(**chosen)._learnt(learnt, settings["rows"])


def _of_number(fact, rows):
    """Features that a column of numbers makes, and whether each varies."""
    yield Feature(fact.column, fact.column, "number", fill=fact.median), fact.high > fact.low
    if fact.missing:
        yield Feature(f"{fact.column}_missing", fact.column, "blank"), fact.missing < rows


@dataclass(frozen=True)
class Encoded:
    """Rows as numbers and codes.

    ``numbers`` (n, a) are NaN where missing; ``codes`` (n, b) are 0 to L-1 for the L levels of a
    category, L for other or unseen, L+1 where missing; ``unseen`` (n, b) masks texts that the fit
    did not see.
    """

    encoder: TabularEncoder
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

    __getitem__ = take

    def newly_blank(self):
        """That a column of a row is missing which no row of the fit lacks, else "" (n,)."""
        said, encoder = np.full(len(self), "", dtype=object), self.encoder
        blank = [np.isnan(values) for values in self.numbers.T]
        pairs = zip(encoder.categories_, self.codes.T, strict=True)
        blank += [codes > len(fact.levels) for fact, codes in pairs]
        for fact, lost in zip(encoder.numbers_ + encoder.categories_, blank, strict=True):
            if not fact.missing:
                said[lost & (said == "")] = f"{fact.column} missing, as in no row of the fit"
        return said

    def dense(self, columns=slice(None)):
        """Numbers for linear models, (n, d): medians filled in, one column a level.

        A text that was not seen is 1 in other, and in none where there is no other, or one of too
        few rows (`TabularEncoder.few_`). `columns` are places of those that are wanted, or a mask
        of all.
        """
        encoder = self.encoder
        wanted = np.arange(len(encoder.features_))[columns]
        # The last entry is what -1, the place of what is no column, points to.
        at_place = np.full(len(encoder.features_) + 1, -1)
        at_place[wanted] = np.arange(len(wanted))
        X = np.zeros((len(self), len(wanted)))
        for at, fact in enumerate(encoder.numbers_):
            value, flag = at_place[encoder._places[fact.column]]
            if value < 0 and flag < 0:
                continue
            missing = np.isnan(self.numbers[:, at])
            if value >= 0:
                X[:, value] = np.where(missing, fact.median, self.numbers[:, at])
            if flag >= 0:
                X[:, flag] = missing
        for at, fact in enumerate(encoder.categories_):
            places = at_place[encoder._places[fact.column]]
            if (places < 0).all():
                continue
            places = places[self.codes[:, at]]
            if fact.column in encoder.few_:
                places = np.where(self.unseen[:, at], -1, places)
            there = np.flatnonzero(places >= 0)
            X[there, places[there]] = 1
        return X

    def typed(self):
        """Numbers and codes side by side, (n, a + b), for models with categories of their own.

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


class DenseRows:
    """What `Encoded.dense` gives of many rows, made of those alone that are asked for."""

    def __init__(self, encoded):
        self.encoded, self.shape = encoded, (len(encoded), len(encoded.dense_names))

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        if not isinstance(index, tuple):
            return self.encoded.take(index).dense()
        rows, columns = index
        if np.ndim(columns) or isinstance(columns, slice):
            return self.encoded.take(rows).dense(columns)
        return self.encoded.take(rows).dense([columns])[:, 0]

    def take(self, index):
        """Some rows, which are made as these are."""
        return DenseRows(self.encoded.take(index))

    def __array__(self, dtype=None, copy=None):
        return self.encoded.dense().astype(dtype or float, copy=False)


def fitted_encoder(frame, outcome=None, drop=(), only=(), max_categories=50, least_rows=1):
    """The encoder of all columns of a table but those that become no feature."""
    import pandas as pd

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
    encoder = TabularEncoder(max_categories, least_rows, max_width=None, by_name=True)
    return encoder.fit(frame, list(types), types, taken=frame.columns)


def _is_text(values):
    import pandas as pd

    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        kind = kind.categories.dtype
    if not (pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind)):
        return False
    return values.dropna().map(lambda value: isinstance(value, str), na_action="ignore").all()
