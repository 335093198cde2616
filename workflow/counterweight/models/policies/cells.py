"""Sums over cells, found in one pass over rows in batches."""

import numpy as np

from counterweight.errors import CounterweightError

#: Most cells times actions of a table: more would be a table of single rows.
MOST_CELLS = 100_000


class Cells:
    """Sums over the cells that columns form, whose values are found as the rows come.

    Parameters
    ----------
    what : str
        What the cells are of, for messages.
    groups : int
        Sums that are kept apart in each cell.
    columns : int
        Number of columns; the last is the action.

    Attributes
    ----------
    levels : list of array
        Ascending values of each column.
    sums : ndarray (groups, levels of column 1, ..., levels of the last)
    """

    def __init__(self, what, groups, columns):
        self._what = what
        self.levels = [np.empty(0) for _ in range(columns)]
        self.sums = np.zeros((groups, *[0] * columns))

    def meet(self, columns):
        """Positions of each column's values (n,), after making room for new ones.

        Raises
        ------
        CounterweightError
            When the columns form more than `MOST_CELLS` cells.
        """
        return [self._met(axis, np.asarray(values)) for axis, values in enumerate(columns)]

    def _met(self, axis, values):
        at = positions(self.levels[axis], values)
        if not (at < 0).any():
            return at
        old, self.levels[axis] = self.levels[axis], np.union1d(self.levels[axis], values)
        shape = [len(self.sums), *map(len, self.levels)]
        if np.prod(shape[1:], dtype=float) > MOST_CELLS:
            raise CounterweightError(
                f"The {self._what} has more than {MOST_CELLS} cells: choose fewer columns, or "
                "columns of few values."
            )
        sums = np.zeros(shape)
        place = [slice(None)] * sums.ndim
        place[axis + 1] = np.searchsorted(self.levels[axis], old)
        sums[tuple(place)] = self.sums
        self.sums = sums
        return positions(self.levels[axis], values)

    def add(self, at, group, values):
        """Add values to the cells at the positions `at`, in a group for each row."""
        flat = np.ravel_multi_index((group, *at), self.sums.shape)
        self.sums += np.bincount(flat, values, minlength=self.sums.size).reshape(self.sums.shape)

    def find(self, columns):
        """Each row's cell and its position in the last column (the action); -1 where unknown."""
        at = [positions(*pair) for pair in zip(self.levels, columns, strict=True)]
        shape = self.sums.shape[1:-1]
        cell = np.zeros(len(at[-1]), int)
        for size, where in zip(shape, at[:-1], strict=True):
            cell = np.where((cell < 0) | (where < 0), -1, cell * size + where)
        return cell, at[-1]

    def table(self):
        """Sums as an array (groups, cells, actions)."""
        cells = int(np.prod(self.sums.shape[1:-1]))
        return self.sums.reshape(len(self.sums), cells, self.sums.shape[-1])

    def cells(self):
        """Values of the columns without the action (cells, columns), of which there must be one."""
        grids = np.meshgrid(*self.levels[:-1], indexing="ij")
        return np.column_stack([grid.ravel() for grid in grids])


def positions(levels, values):
    """Where the values stand among the sorted levels; -1 for those that do not."""
    if not len(levels):
        return np.full(len(values), -1)
    at = np.searchsorted(levels, values)
    at[at == len(levels)] = 0
    return np.where(levels[at] == values, at, -1)
