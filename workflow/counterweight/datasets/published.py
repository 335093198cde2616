"""What the published data sets share: their reader, checks of columns, twins in their format."""

import csv
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import expit

from counterweight.errors import CounterweightError, listed
from counterweight.tables.parquet import replacing, write_table


def numbers(text):
    """Numbers of a text, a row for each of its lines."""
    return np.array([line.split() for line in text.strip().splitlines()], float)


def by_name(text):
    """Numbers of a text by the words before them."""
    words = text.split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


def drawn(shares, group, rng):
    """Category numbers (n,): row g of `shares` (G, K) holds the shares in group g of `group` (n,).

    Where all are of one group, `shares` are its (K,) and `group` is n. Each row of shares is
    divided by its sum.
    """
    group = np.zeros(group, int) if np.ndim(group) == 0 else group
    cumulated = np.cumsum(np.atleast_2d(shares), axis=1)
    cumulated /= cumulated[:, -1:]
    return (rng.random(len(group))[:, None] >= cumulated[group]).sum(axis=1)


def named(words, codes):
    """Words (the names of a dict, or several one after another) of category numbers."""
    return np.array([*words])[np.asarray(codes, int)]


def chosen(cumulated, rng):
    """Category numbers (n,) from the sums (n, K) of each row's shares up to each category."""
    draws = rng.random(len(cumulated)) * cumulated[:, -1]
    return (draws[:, None] >= cumulated).sum(axis=1)


#: Lines that are written at a time.
LINES = 1 << 16


class Published:
    """Files that others published, and twins of them: generated files in the same format.

    A subclass has ``table(folder)``, the typed table of the files in a folder but for the row
    numbers, and ``twin(folder, rows, rng)``, which writes the files of a twin and returns what is
    known of its rows, by column; ``NAME``, for messages, and ``LEAST``, the rows of the smallest
    twin.
    """

    NAME, LEAST = "", 3

    @classmethod
    def read(cls, folder):
        """Typed table of the files in file order: ``row`` (int32 from 0), columns of ``table``."""
        frame = cls.table(Path(folder))
        frame.insert(0, "row", np.arange(len(frame), dtype=np.int32))
        return frame

    @classmethod
    def generate(cls, folder, rows, rng):
        """Write a twin, files in the upstream format of so many rows in all, and the truth."""
        if rows < cls.LEAST:
            raise CounterweightError(
                f"A twin of {cls.NAME} needs at least {cls.LEAST} rows, not {rows}."
            )
        truth = cls.twin(Path(folder), rows, rng)
        numbers = {"row": np.arange(rows, dtype=np.int32)}
        write_table(Path(folder) / "truth.parquet", numbers | truth)


def read_fields(
    path,
    kinds,
    *,
    missing=(),
    comment="",
    separator=",",
    header=False,
    quotes=False,
    numbered=False,
):
    """A published file of separated fields as typed columns, rows in file order.

    Its digest is pinned, so that what is read here is whole; all the same nothing is guessed, and
    a file in another format is refused. Blanks after a separator are not part of a value.

    `kinds` are ``"integer"`` (read as Int64), ``"number"`` (float64) or ``"text"`` by column, in
    file order; `missing` is the word for a missing value, in all columns or by name; a first line
    that begins with `comment` is passed over. `header`: a line with the names comes before the
    rows; `numbered`: the first column numbers the rows, under any name or none; `quotes`: a field
    may stand in double quotes. A CounterweightError says of a file that it is not there, has
    another header or other fields, or lacks a value.
    """
    types = {"integer": "Int64", "number": "float64", "text": "str"}
    form = {
        "sep": separator,
        "encoding": "utf-8",
        "skipinitialspace": True,
        "quoting": csv.QUOTE_MINIMAL if quotes else csv.QUOTE_NONE,
    }
    with in_published_format(path), warnings.catch_warnings():
        # A line with more fields than there are columns is no more than a warning otherwise.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        with open(path, encoding="utf-8") as file:
            skip = int(bool(comment) and file.readline().startswith(comment))
        names = list(pd.read_csv(path, nrows=0, skiprows=skip, **form)) if header else list(kinds)
        if names[numbered:] != list(kinds)[numbered:]:
            raise ValueError(f"its columns are {listed(names, 30)}, not {listed(kinds, 30)}")
        frame = pd.read_csv(
            path,
            names=list(kinds),
            header=None,
            index_col=False,
            skiprows=skip + header,
            keep_default_na=False,
            na_values=missing or [],
            dtype={name: types[kind] for name, kind in kinds.items()},
            **form,
        )
    if not len(frame):
        raise CounterweightError(f"{path} is empty: delete it and fetch it anew.")
    words = missing if isinstance(missing, dict) else dict.fromkeys(kinds, missing)
    for name in frame:
        values = frame[name]
        right = values.notna() | bool(words.get(name))
        if kinds[name] == "text":
            right &= values.fillna("?").str.strip() != ""
        else:
            right &= np.isfinite(values.to_numpy(float, na_value=0))
        expect(path, frame, (name, right, "a value"))
    return frame


@contextmanager
def in_published_format(path):
    """Within the block, what a parser says of a file is told in a sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise CounterweightError(
            f"{path} is not there: run the download, or put the file there by hand."
        ) from error
    except OSError as error:
        raise CounterweightError(f"{path} cannot be read ({error.strerror}).") from error
    except (ValueError, OverflowError, TypeError, Warning) as error:
        told = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise CounterweightError(
            f"{path} is not in its published format ({told}): delete it and fetch it anew."
        ) from error


def expect(path, frame, *rules):
    """Refuse the first row of a file in which a column does not hold what it should.

    A rule is the name of a column, where it is right (array of bool, shape (n,)), and what it
    should hold, in words. The sentence names file, row, column and value.
    """
    for column, right, expected in rules:
        wrong = np.flatnonzero(~np.asarray(right, dtype=bool))
        if len(wrong):
            more = f" (and {len(wrong) - 1} more rows)" if len(wrong) > 1 else ""
            raise CounterweightError(
                f"{path}, row {wrong[0]} (counted from 0), column {column}: "
                f"{str(frame[column].iloc[wrong[0]])!r} where {expected} is expected{more}."
            )


def asked_twice(component, eta, k, designs, rng):
    """Bids and answers of people whose worth of a thing is logistic in their segment.

    The first bid is one of the `designs` (G, 3; first bid, bid after yes, bid after no) with equal
    probability, the second one the higher of it after yes and the lower after no; somebody says yes
    to a bid that is not above the worth. A person of `component` j is worth at least d with
    probability logistic(k_j (eta_j - d)).

    Gives the bids (3, n), both answers (n,), and the truth by column: ``component`` (int16),
    ``eta``, ``k``, ``first``, the first bid, ``p``, the probability of yes to it, and ``worth``.
    """
    eta, k = eta[component], k[component]
    worth = eta + rng.logistic(size=len(component)) / k
    bids = np.array(designs)[rng.integers(len(designs), size=len(component))].T
    first, high, low = bids
    yes = worth >= first
    truth = {
        "component": component.astype(np.int16),
        "eta": eta,
        "k": k,
        "first": first.astype(float),
        "p": expit(k * (eta - first)),
        "worth": worth,
    }
    return bids, yes, worth >= np.where(yes, high, low), truth


def write_fields(path, columns, separator=",", before="", after=""):
    """Write lines of fields without quotes, with texts above (`before`) and below (`after`)."""
    fields = [pc.cast(pa.array(values), pa.string()) for values in columns]
    lines = pc.binary_join_element_wise(*fields, separator)
    with replacing(path) as temporary, open(temporary, "w", encoding="ascii", newline="") as out:
        out.write(before)
        for start in range(0, len(lines), LINES):
            out.write("\n".join(lines.slice(start, LINES).to_pylist()) + "\n")
        out.write(after)
