"""Which columns of a matrix of rows are numbers, and which make up a category."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError


@dataclass(frozen=True)
class Layout:
    """Which columns of a matrix of rows are numbers, and which make up a category.

    Attributes
    ----------
    numbers : tuple of int
        Columns.
    categories : tuple of tuple of int
        Columns of each category: one column of codes from 0, or one column of 0 and 1 for
        each level.
    levels : tuple of int
        Of each category.
    flags : tuple of (int, int)
        A number's column and the column of 0 and 1 that says where it is missing, whatever
        then stands in its place. The flag is a category as well.
    """

    numbers: tuple
    categories: tuple = ()
    levels: tuple = ()
    flags: tuple = ()

    @classmethod
    def of(cls, width, blocks=(), flags=()):
        """The layout of a matrix with `width` columns; a block of one column is 0 or 1."""
        blocks = tuple(tuple(int(column) for column in block) for block in blocks)
        taken = [column for block in blocks for column in block]
        if len(set(taken)) < len(taken) or not all(0 <= column < width for column in taken):
            raise CounterweightError(
                f"Columns {taken} of categories must be different ones from 0 to {width - 1}."
            )
        numbers = tuple(column for column in range(width) if column not in set(taken))
        levels = tuple(max(len(block), 2) for block in blocks)
        flags = tuple((int(number), int(flag)) for number, flag in flags)
        return cls(numbers, blocks, levels, flags)

    @classmethod
    def named(cls, names, blocks, flags=None):
        """The layout of columns with these names; blocks and flags are told by name."""
        at = {name: number for number, name in enumerate(names)}
        told = [(at[number], at[flag]) for number, flag in (flags or {}).items()]
        return cls.of(len(names), [[at[name] for name in block] for block in blocks], told)

    @property
    def features(self):
        """Numbers and categories, counted."""
        return len(self.numbers) + len(self.categories)

    @property
    def offsets(self):
        """Where the levels of each category begin among all levels, and their end."""
        return np.concatenate([[0], np.cumsum(self.levels)]).astype(int)

    @property
    def width(self):
        """Columns of the matrix."""
        return len(self.numbers) + sum(len(block) for block in self.categories)

    def split(self, X):
        """Numbers (n, a), NaN where missing, and codes (n, b), -1 where missing.

        Raises
        ------
        CounterweightError
            When a number is infinite or a category holds what is none of its levels.
        """
        X = np.asarray(X, dtype=float)
        if X.ndim != 2 or X.shape[1] != self.width:
            raise CounterweightError(
                f"Rows have the shape {X.shape}, but the layout has {self.width} columns."
            )
        numbers = X[:, list(self.numbers)]
        if np.isinf(numbers).any():
            raise CounterweightError("A number among the features is infinite: correct the data.")
        for number, flag in self.flags:
            numbers[X[:, flag] == 1, self.numbers.index(number)] = np.nan
        codes = np.empty((len(X), len(self.categories)), dtype=np.int32)
        for at, (block, levels) in enumerate(zip(self.categories, self.levels, strict=True)):
            codes[:, at] = _codes(X[:, list(block)], levels, block)
        return numbers, codes

    def to_arrays(self):
        """Of each column its category (-1 for numbers) and its flag (-1 for none); the levels."""
        of, flag = np.full(self.width, -1), np.full(self.width, -1)
        for at, block in enumerate(self.categories):
            of[list(block)] = at
        for number, column in self.flags:
            flag[number] = column
        return {"category": of, "flag": flag, "levels": np.array(self.levels, dtype=int)}

    @classmethod
    def from_arrays(cls, arrays):
        """The layout from what `to_arrays` gave."""
        of, flag = (np.asarray(arrays[name], dtype=int) for name in ("category", "flag"))
        levels = tuple(int(count) for count in np.ravel(arrays.get("levels", ())))
        blocks = tuple(tuple(map(int, np.flatnonzero(of == at))) for at in range(len(levels)))
        flags = tuple((int(at), int(flag[at])) for at in np.flatnonzero(flag >= 0))
        return cls(tuple(map(int, np.flatnonzero(of < 0))), blocks, levels, flags)


def _codes(values, levels, block):
    """Codes (n,) of one category from its columns; -1 where a row has no level."""
    known = ~np.isnan(values).any(axis=1)
    values = np.where(known[:, None], values, 0.0)
    if len(block) > 1:
        wrong = ((values != 0) & (values != 1)).any(axis=1) | (values.sum(axis=1) > 1)
        known &= values.any(axis=1)
        codes = values.argmax(axis=1)
    else:
        codes = values[:, 0]
        wrong = (codes != np.floor(codes)) | (codes < 0) | (codes >= levels)
    if wrong.any():
        raise CounterweightError(
            f"Feature column {listed_columns(block)} is declared a category of {levels} levels but "
            f"is none of them in {int(wrong.sum())} rows (first: {values[np.argmax(wrong)]}): "
            "add no noise to categories, or declare it a number."
        )
    return np.where(known, codes, -1).astype(np.int32)


def listed_columns(block):
    """Columns of a category in print."""
    return ", ".join(str(column) for column in block[:5]) + (", ..." if len(block) > 5 else "")
