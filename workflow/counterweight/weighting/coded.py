"""Columns of a sample beside those of its target: numbers, codes, and features made by slices."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError


@dataclass
class Column:
    """One column of a sample and what is known of it in the target.

    Attributes
    ----------
    name : str
    labels : list of str
        Of its features: one a level, or one empty text for a number.
    own, other : array, shape (rows,)
        Numbers (NaN where missing) or codes of levels (-1 where missing) in sample and target;
        `other` is None where only margins are known.
    mean, spread : array, shape (len(labels),)
        Mean and standard deviation in the target, of the values present.
    """

    name: str
    labels: list
    own: np.ndarray
    other: np.ndarray | None
    mean: np.ndarray = None
    spread: np.ndarray = None

    @property
    def is_number(self):
        """Whether it is a number, not levels."""
        return self.own.dtype.kind == "f"

    @property
    def is_flag(self):
        """Whether it marks the missing values of a number."""
        return self.is_number and self.labels == ["missing"]

    def means(self, weight, values=None):
        """Weighted means of its features over the values present."""
        values = self.own if values is None else values
        if self.is_number:
            there = ~np.isnan(values)
            total = weight[there].sum()
            return np.array([weight[there] @ values[there] / total if total else np.nan])
        there = values >= 0
        sums = np.bincount(values[there], weight[there], len(self.labels))
        return sums / sums.sum() if sums.any() else np.full(len(sums), np.nan)


class Coded:
    """Features of columns, standardised by nobody yet, made for a slice of rows at a time.

    A missing value takes the target's mean, so that it moves nothing; a level is 1 or 0.
    """

    def __init__(self, columns, side="own"):
        self.columns = [(c, getattr(c, side)) for c in columns]
        rows = len(self.columns[0][1]) if columns else 0
        self.shape = rows, sum(len(c.labels) for c in columns)

    def __getitem__(self, rows):
        start, stop, _ = rows.indices(self.shape[0])
        made, at, row = np.zeros((stop - start, self.shape[1])), 0, np.arange(stop - start)
        for column, values in self.columns:
            values, size = values[start:stop], len(column.labels)
            if column.is_number:
                made[:, at] = np.where(np.isnan(values), column.mean[0], values)
            else:
                there = values >= 0
                if there.all():
                    made[row, at + values] = 1.0
                else:
                    made[row[there], at + values[there]] = 1.0
                    made[~there, at : at + size] = column.mean
            at += size
        return made


def code_tables(sample, target, names, target_weight, most_levels):
    """Columns of two data frames, coded alike, and sentences of what was made of them.

    `most_levels` int: levels of a text column that keep a feature; the rarest of both tables share
    one.
    """
    columns, notes, flags = [], [], []
    for name in names:
        own, other = as_column(sample[name], name), as_column(target[name], name)
        if own.dtype.kind != other.dtype.kind:
            kinds = ["numbers" if values.dtype.kind == "f" else "text" for values in (own, other)]
            raise CounterweightError(
                f"Column {name!r} holds {kinds[0]} in the sample and {kinds[1]} in the target: "
                "give it one type, or leave it out of columns."
            )
        for where, values in (("sample", own), ("target", other)):
            if pd.isna(values).all():
                raise CounterweightError(
                    f"Column {name!r} has no value in the {where}: leave it out of columns."
                )
        if own.dtype.kind == "f":
            column = Column(name, [""], own, other)
        else:
            column = _levels(name, own, other, most_levels, notes)
            if column is None:
                continue
        columns.append(column)
        blank = [_missing(values) for values in (column.own, column.other)]
        if blank[0].any() and blank[1].any():
            flags.append(Column(name, ["missing"], *(part.astype(float) for part in blank)))
        elif blank[0].any() or blank[1].any():
            where, at = ("sample", 0) if blank[0].any() else ("target", 1)
            notes.append(
                f"Only the {where} lacks values of {name} ({blank[at].sum():,} rows): they count "
                "as the target's mean."
            )
    columns += flags
    for column in columns:
        column.mean = column.means(target_weight, column.other)
        if column.is_number:
            there = ~np.isnan(column.other)
            share = target_weight[there] / target_weight[there].sum()
            column.spread = np.sqrt([share @ (column.other[there] - column.mean[0]) ** 2])
        else:
            column.spread = np.sqrt(column.mean * (1 - column.mean))
    return columns, notes


def as_column(values, name):
    """A column as float64 (dates in days since 1970) or as text, missing values kept."""
    kind = values.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return values.astype("str").array
    if pd.api.types.is_datetime64_any_dtype(kind):
        if isinstance(kind, pd.DatetimeTZDtype):
            values = values.dt.tz_convert("UTC").dt.tz_localize(None)
        return ((values - pd.Timestamp(0)) / pd.Timedelta(days=1)).to_numpy(float)
    if pd.api.types.is_numeric_dtype(kind) and kind.kind != "c":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        infinite = np.flatnonzero(np.isinf(numbers))
        if len(infinite):
            raise CounterweightError(
                f"Column {name!r} is infinite in {len(infinite)} rows (first: row {infinite[0]}): "
                "correct it, or leave it out of columns."
            )
        return numbers
    if pd.api.types.is_string_dtype(kind) or pd.api.types.is_object_dtype(kind):
        return values.astype("str").array
    raise CounterweightError(
        f"Column {name!r} is of type {kind}, and only numbers, dates and text can be balanced: "
        "leave it out of columns."
    )


def binned(column, bins):
    """A column as levels for margins: numbers cut at the target's quantiles, missing a level."""
    own, other, labels = column.own, column.other, list(column.labels)
    if column.is_number:
        there = other[~np.isnan(other)]
        edges = np.unique(np.quantile(there, np.linspace(0, 1, bins + 1)[1:-1]))
        ends = ["", *(f"{edge:g}" for edge in edges), ""]
        labels = [f"{a} to {b}".strip() for a, b in zip(ends[:-1], ends[1:], strict=True)]
        own, other = (
            np.where(np.isnan(v), -1, np.searchsorted(edges, v, side="right")) for v in (own, other)
        )
    if (own < 0).any() or (other < 0).any():
        own, other = (np.where(v < 0, len(labels), v) for v in (own, other))
        labels.append("missing")
    return labels, own.astype(np.int64), other.astype(np.int64)


def _levels(name, own, other, most_levels, notes):
    """A text column of both tables as codes; None where it is an id."""
    codes, words = pd.factorize(pd.concat([pd.Series(own), pd.Series(other)]), sort=True)
    words = list(words)
    if len(words) > max(2 * most_levels, 0.5 * len(codes)):
        notes.append(
            f"{name} has {len(words):,} different texts in {len(codes):,} rows, like an id: it is "
            "left out."
        )
        return None
    if len(words) > most_levels:
        order = np.argsort(-np.bincount(codes[codes >= 0], minlength=len(words)), kind="stable")
        kept, rare = np.sort(order[: most_levels - 1]), order[most_levels - 1 :]
        to = np.full(len(words) + 1, -1)
        to[rare], to[kept] = len(kept), np.arange(len(kept))
        codes, words = to[codes], [*(words[at] for at in kept), f"{len(rare)} rare levels"]
        notes.append(f"The {len(rare)} rarest levels of {name} are taken as one.")
    codes = codes.astype(np.int32)
    return Column(name, words, codes[: len(own)], codes[len(own) :])


def _missing(values):
    return np.isnan(values) if values.dtype.kind == "f" else values < 0
