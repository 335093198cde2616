"""What a study gives away: saved models, and tables of answers about people.

A saved model is one Parquet file of numbers, and of facts about them.
Columns (`LAYOUT`): ``part`` is ``fact`` (``text`` holds JSON), ``version`` (``name`` and ``text``),
``array`` (an entry of the array ``name`` at ``i, j, k``; -1 beyond its dimensions), ``empty`` (the
shape of an array without any). Nothing of it runs code when it is read.
"""

import contextlib
import csv as text
import io
import itertools
import json
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from counterweight.errors import CounterweightError
from counterweight.files.tables import ROW_GROUP, read_columns, replacing, write_table

LAYOUT = (
    ("part", "string"),
    ("name", "string"),
    ("i", "int32"),
    ("j", "int32"),
    ("k", "int32"),
    ("value", "float64"),
    ("text", "string"),
)
#: Raised when a file of an earlier form could no longer be read.
FORMAT = 1
#: Names of saved models in the folder of a study.
NAMES = ("model.parquet", "filter.parquet")
#: Libraries that a fit rests on.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow")


@dataclass(frozen=True)
class Gift:
    """A saved model as it was read.

    Attributes
    ----------
    kind : str
        Which class it belongs to; see `counterweight.models.saved.LOADERS`.
    facts : dict
        JSON-able.
    arrays : dict of str to numpy.ndarray
    versions : dict of str to str
        Of the library, Python and the libraries that it was fitted with.
    """

    kind: str
    facts: dict
    arrays: dict
    versions: dict


def versions():
    """Versions that a fit rests on, by name."""
    from counterweight import __version__

    known = {"counterweight": __version__, "python": platform.python_version()}
    return known | {name: metadata.version(name) for name in LIBRARIES}


def write_gift(path, kind, facts, arrays):
    """Write what a study gives away, whole or not at all.

    Parameters
    ----------
    path : str or Path
    kind : str
    facts : dict
        JSON-able; numbers keep all their digits.
    arrays : dict of str to array
        Of numbers, at most three dimensions.

    Raises
    ------
    CounterweightError
        When the folder cannot be written.
    ValueError
        For facts that JSON has no form for, or an array of more dimensions.
    """
    import numpy as np

    parts = {name: [] for name, _ in LAYOUT}

    def add(part, name, index, values, text):
        count = len(values)
        parts["part"].append(np.full(count, part, object))
        parts["name"].append(np.full(count, name, object))
        for axis, places in zip("ijk", index, strict=True):
            parts[axis].append(places)
        parts["value"].append(values)
        parts["text"].append(np.full(count, text, object))

    none, nothing = np.full((3, 1), -1, "int32"), np.full(1, np.nan)
    texts = {"kind": kind, "format": FORMAT, "facts": facts}
    for name, fact in texts.items():
        add("fact", name, none, nothing, json.dumps(fact, ensure_ascii=False, allow_nan=False))
    for name, version in versions().items():
        add("version", name, none, nothing, version)
    for name, values in arrays.items():
        values = np.asarray(values, dtype=float)
        if values.ndim > 3:
            raise ValueError(f"{name} has {values.ndim} dimensions; at most 3 can be stored")
        if not values.size:
            # An empty array keeps its shape.
            add("empty", name, none, nothing, json.dumps(values.shape))
            continue
        index = np.full((3, values.size), -1, "int32")
        index[: values.ndim] = np.indices(values.shape).reshape(values.ndim, values.size)
        add("array", name, index, values.ravel(), "")
    write_table(path, {name: np.concatenate(part) for name, part in parts.items()}, LAYOUT)


def read_gift(path):
    """Read what `write_gift` wrote.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Gift

    Raises
    ------
    CounterweightError
        When the file is missing, is none of ours, or is of a form that this version cannot read.
    """
    import numpy as np

    try:
        columns = read_columns(path, categories=("part", "name", "text"))
    except KeyError:  # without a column that is to be read as categories
        columns = {}
    if [*columns] != [name for name, _ in LAYOUT]:
        raise CounterweightError(
            f"{path} is no saved model: name the file model.parquet that a study wrote."
        )
    parts, kinds = columns["part"]

    def rows(kind):
        return np.flatnonzero(parts == kinds.index(kind)) if kind in kinds else np.empty(0, int)

    def texts(kind):
        return {told("name", at): told("text", at) for at in rows(kind)}

    def told(key, at):
        codes, words = columns[key]
        return words[codes[at]]

    facts = {name: json.loads(text) for name, text in texts("fact").items()}
    known = texts("version")
    if facts.get("format") != FORMAT:
        raise CounterweightError(
            f"{path} was saved by version {known.get('counterweight', 'unknown')} in the form "
            f"{facts.get('format')}, and this version reads the form {FORMAT}: load it with that "
            "version, or fit and save it anew."
        )
    arrays = {name: np.empty(json.loads(shape)) for name, shape in texts("empty").items()}
    own = rows("array")
    index = np.stack([columns[axis][own] for axis in "ijk"])
    values, names = columns["value"][own], columns["name"][0][own]
    edges = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1), len(own)]
    for start, stop in itertools.pairwise(edges if len(own) else []):
        places = index[:, start:stop]
        places = places[: int((places[:, 0] >= 0).sum())]
        array = np.full(tuple(places.max(axis=1) + 1), np.nan)
        array[tuple(places)] = values[start:stop] if len(places) else values[start]
        arrays[columns["name"][1][names[start]]] = array
    return Gift(facts["kind"], facts["facts"], arrays, known)


def gift_of(path):
    """The file of a saved model: itself, or ``model.parquet`` (a filter's: ``filter.parquet``) in a
    study's folder.

    Raises
    ------
    CounterweightError
        When there is none.
    """
    path = Path(path)
    file = path
    if path.is_dir():
        names = [name for name in NAMES if (path / name).is_file()]
        file = path / (names or NAMES)[0]
    if not file.is_file():
        raise CounterweightError(
            f"{file} is not there: name the folder of a study that gave a model away, or the file."
        )
    return file


@contextlib.contextmanager
def writing_answers(parquet, csv):
    """Write answers about people twice, batch by batch, both files whole or none of them.

    Parameters
    ----------
    parquet, csv : str or Path

    Yields
    ------
    callable
        ``write(columns)`` takes a dict of str to array, or a data frame, of the same columns
        each time. True and false become yes and no in the CSV file; numbers keep all their
        digits.
    """
    import pyarrow.parquet as pq
    from pyarrow import csv as arrow

    with contextlib.ExitStack() as stack:
        table_path, lines_path = (stack.enter_context(replacing(path)) for path in (parquet, csv))
        lines = stack.enter_context(open(lines_path, "wb"))
        plain = arrow.WriteOptions(include_header=False, quoting_style="needed")
        writers = []

        def write(columns):
            table = _table(columns)
            words = _as_words(table)
            if not writers:
                header = io.StringIO()
                text.writer(header, lineterminator="\n").writerow(table.column_names)
                lines.write(header.getvalue().encode())
                options = {"compression": "zstd", "compression_level": 1, "store_schema": False}
                writers.append(
                    stack.enter_context(pq.ParquetWriter(table_path, table.schema, **options))
                )
            writers[0].write_table(table.cast(writers[0].schema), row_group_size=ROW_GROUP)
            arrow.write_csv(words, lines, plain)

        yield write


def write_answers(parquet, csv, columns):
    """Write answers about people as Parquet and as CSV; see `writing_answers`."""
    with writing_answers(parquet, csv) as write:
        write(columns)


def _table(columns):
    import pyarrow as pa

    if isinstance(columns, dict):
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    table = pa.Table.from_pandas(columns, preserve_index=False)
    return table.replace_schema_metadata(None)


def _as_words(table):
    import pyarrow as pa
    import pyarrow.compute as pc

    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_boolean(column.type):
            table = table.set_column(at, name, pc.if_else(column, "yes", "no"))
    return table
