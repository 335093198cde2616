"""What the published data sets share: checks of their columns, and twins in their format."""

from pathlib import Path

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.reading import refuse
from counterweight.files.tables import replacing, write_table


def drawn(shares, group, rng):
    """Category numbers; row g of `shares` holds the shares in group g.

    Parameters
    ----------
    shares : array (G, K)
        Each row is divided by its sum.
    group : array (n,) of int
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of int, shape (n,)
    """
    cumulated = np.cumsum(shares, axis=1)
    cumulated /= cumulated[:, -1:]
    return (rng.random(len(group))[:, None] >= cumulated[group]).sum(axis=1)


def chosen(cumulated, rng):
    """One category for each row, from the sums of its shares up to each category.

    Parameters
    ----------
    cumulated : array (n, K)
        The last column is the sum of all shares, whatever it is.
    rng : numpy.random.Generator

    Returns
    -------
    numpy.ndarray of int, shape (n,)
    """
    draws = rng.random(len(cumulated)) * cumulated[:, -1]
    return (draws[:, None] >= cumulated).sum(axis=1)


#: Lines that are written at a time.
LINES = 1 << 16


class Published:
    """Files that others published, and twins of them: generated files in the same format.

    A subclass has ``table(folder)``, the typed table of the files in a folder but for the row
    numbers, and ``twin(folder, rows, rng)``, which writes the files of a twin and returns what is
    known of its rows, by column.

    Attributes
    ----------
    NAME : str
        For messages.
    LEAST : int
        Rows of the smallest twin.
    """

    NAME, LEAST = "", 3

    @classmethod
    def read(cls, folder):
        """Typed table of the files, in file order; see ``table``.

        Parameters
        ----------
        folder : str or Path
            Holds the files of `FILES`.

        Returns
        -------
        pandas.DataFrame
            ``row`` (int32 from 0) and the columns of ``table``.

        Raises
        ------
        CounterweightError
            When a file is missing or malformed: names file, line and column.
        """
        frame = cls.table(Path(folder))
        frame.insert(0, "row", np.arange(len(frame), dtype=np.int32))
        return frame

    @classmethod
    def generate(cls, folder, rows, rng):
        """Write a twin: the files in the upstream format, and the truth; see ``twin``.

        Parameters
        ----------
        folder : str or Path
        rows : int
            Of all files together.
        rng : numpy.random.Generator

        Raises
        ------
        CounterweightError
            When `rows` is less than `LEAST` or the folder cannot be written.
        """
        if rows < cls.LEAST:
            raise CounterweightError(
                f"A twin of {cls.NAME} needs at least {cls.LEAST} rows, not {rows}."
            )
        truth = cls.twin(Path(folder), rows, rng)
        numbers = {"row": np.arange(rows, dtype=np.int32)}
        write_table(Path(folder) / "truth.parquet", numbers | truth)


def expect(path, frame, lines, *rules):
    """Refuse the first row of a file in which a column does not hold what it should.

    Parameters
    ----------
    path : Path
    frame : pandas.DataFrame
    lines : array of int, shape (n,)
        Line number of each row.
    *rules : tuple (column, right, expected)
        Name of a column, where it is right (array of bool, shape (n,)), and what it should
        hold, in words.

    Raises
    ------
    CounterweightError
        Names file, line, column and value.
    """
    for column, right, expected in rules:
        refuse(path, column, ~np.asarray(right, dtype=bool), frame[column], lines, expected)


def write_fields(path, columns, separator=",", before="", after=""):
    """Write lines of fields, without quotes.

    Parameters
    ----------
    path : Path
    columns : iterable of array (n,)
        Text or whole numbers.
    separator : str
    before, after : str
        Text above and below the lines.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = [pc.cast(pa.array(values), pa.string()) for values in columns]
    lines = pc.binary_join_element_wise(*fields, separator)
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii", newline="") as out:
        out.write(before)
        for start in range(0, len(lines), LINES):
            out.write("\n".join(lines.slice(start, LINES).to_pylist()) + "\n")
        out.write(after)
