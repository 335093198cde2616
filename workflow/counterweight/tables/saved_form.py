"""What a study delivers: saved models, and tables of answers about people.

A saved model is one Parquet file of numbers, and of facts about them.
Columns (`LAYOUT`): ``part`` is ``fact`` (``text`` holds JSON), ``version`` (``name`` and ``text``),
``array`` (an entry of the array ``name`` at ``i, j, k``; -1 beyond its dimensions), ``empty`` (the
shape of an array without any), and in the last row ``seal`` (the digest of all others). Nothing of
it runs code when it is read.
"""

import contextlib
import csv as text
import hashlib
import io
import json
import math
import os
import platform
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from counterweight.errors import CounterweightError
from counterweight.numerics.checks import with_columns
from counterweight.tables.parquet import (
    MODEL,
    PACKED,
    ROW_GROUP,
    addressed,
    arrow_schema,
    arrow_table,
    as_json,
    blocks,
    coded,
    finite_or_blank,
    places,
    read_arrow,
    replacing,
    write_table,
)

LAYOUT = (("part", "string"), ("name", "string"), *MODEL[-4:], ("text", "string"))
#: Raised when a file of an earlier form could no longer be read.
FORMAT = 1
#: What its rows may be; a seal is the last.
PARTS = ("fact", "version", "array", "empty")
#: Entries along one axis of an array stay below it.
LARGEST = 1 << 31
#: Rows that a byte of a file may hold.
DENSEST = 10_000
#: Names of saved models in the folder of a study.
NAMES = ("model.parquet", "filter.parquet")
#: Libraries that a fit rests on.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow")


@dataclass(frozen=True)
class Stored:
    """A saved model as it was read.

    ``kind`` is the class it belongs to (see `counterweight.delivery.saved_models.LOADERS`),
    ``facts`` are JSON-able, ``arrays`` stand by name; ``versions`` are those of the library, Python
    and the libraries that it was fitted with.
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


def write_saved(path, kind, facts, arrays):
    """Write a saved model, whole or not at all: its kind, JSON-able facts, arrays by name.

    Numbers keep all their digits; facts that are not finite are null. Facts that JSON has no form
    for are a TypeError, and an array of more than three dimensions is a ValueError.
    """
    parts = {name: [] for name, _ in LAYOUT}

    def add(part, name, text, index=None, values=None):
        values = np.full(1, np.nan) if values is None else values
        count = len(values)
        index = np.full((3, 1), -1, "int32") if index is None else index
        texts = (np.full(count, told, object) for told in (part, name, text))
        for key, column in zip(("part", "name", "text", *"ijk"), (*texts, *index), strict=True):
            parts[key].append(column)
        parts["value"].append(values)

    for name, fact in {"kind": kind, "format": FORMAT, "facts": facts}.items():
        add("fact", name, as_json(fact, ensure_ascii=False))
    for name, version in versions().items():
        add("version", name, version)
    for name, values in arrays.items():
        index, entries = places(name, values)
        if len(entries):
            add("array", name, "", index, entries)
        else:
            add("empty", name, json.dumps(np.shape(values)))
    write_sealed(path, {name: np.concatenate(part) for name, part in parts.items()}, LAYOUT)


def read_saved(path, make=lambda stored: stored):
    """What `make` makes of the `Stored` that `write_saved` wrote; without it, that itself.

    A CounterweightError says so where the file is missing, is none of ours, is damaged, is of a
    form that this version cannot read, or has not what `make` needs.
    """
    table = read_sealed(path, LAYOUT, "saved model", PARTS, ("part", "name", "text"))
    with whole(path):
        return make(_stored(path, table))


@contextlib.contextmanager
def whole(path, called="saved model"):
    """Tell in a sentence what a file without a seal lacks, where it was changed."""
    try:
        yield
        return
    except CounterweightError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        cause = error
    except (RecursionError, MemoryError) as error:
        cause = error
    raise CounterweightError(
        f"{path} is a damaged {called}: what it says of itself does not fit together "
        f"({type(cause).__name__}); copy it anew from where it was made; in results, delete it and "
        "run its study again."
    ) from cause


def _stored(path, table):
    parts = {part: table.filter(pc.equal(table["part"], part)) for part in PARTS}
    facts, known, empty = (
        dict(zip(parts[part]["name"].to_pylist(), parts[part]["text"].to_pylist(), strict=True))
        for part in ("fact", "version", "empty")
    )
    facts = {name: json.loads(text) for name, text in facts.items()}
    if facts["format"] != FORMAT or facts["format"] is True:
        raise CounterweightError(
            f"{path} was saved by version {known.get('counterweight', 'unknown')} in the form "
            f"{facts['format']!r:.20}, and this version reads the form {FORMAT}: load it with that "
            "version, or fit and save it anew."
        )
    if not isinstance(facts["kind"], str) or not isinstance(facts["facts"], dict):
        raise TypeError("kind is no text, or facts are no mapping")
    arrays = {}
    for name, told in empty.items():
        shape = json.loads(told)
        if math.prod(shape) != 0 or len(shape) > 3 or not all(0 <= n < LARGEST for n in shape):
            raise ValueError(f"{told} is no shape of an empty array")
        arrays[name] = np.empty(shape)
    own = parts["array"]
    index, values = np.stack([own[axis].to_numpy() for axis in "ijk"]), own["value"].to_numpy()
    names, words = coded(own["name"])
    for entries in blocks({"name": names}, "name"):
        name = words[names[entries.start]]
        if name in arrays:
            raise ValueError(f"the array {name} stands there twice")
        arrays[name] = addressed(index[:, entries], values[entries])
    return Stored(facts["kind"], facts["facts"], arrays, known)


def saved_file(path):
    """The file of a saved model: itself, or ``model.parquet`` (a filter's: ``filter.parquet``) in a
    study's folder; where there is none, a CounterweightError says so.
    """
    file = Path(path)
    if file.is_dir():
        names = [name for name in NAMES if (file / name).is_file()]
        file /= (names or NAMES)[0]
    if not file.is_file():
        raise CounterweightError(
            f"{file} is not there: name the folder of a study that delivered a model, or the file."
        )
    return file


#: Part of the row that holds the digest of all others, and what made the digest.
SEAL, DIGEST = "seal", "sha256"


def write_sealed(path, columns, layout):
    """Write columns, among them ``part``, ``name`` and ``text``, with a last row that seals them.

    It holds the digest of all other rows.
    """
    table = arrow_table(columns).select([name for name, _ in layout]).cast(arrow_schema(layout))
    told = {"part": SEAL, "name": DIGEST, "text": _digest_of(table)}
    empty = {"string": "", "int32": -1, "double": math.nan}
    row = {field.name: [told.get(field.name, empty[str(field.type)])] for field in table.schema}
    seal = pa.table(row, schema=table.schema)
    write_table(path, pa.concat_tables([table, seal]), layout)


def read_sealed(path, layout, called, parts, categories=()):
    """Read a table that `write_sealed` wrote, checked, without its seal.

    `called` is what it is, such as "saved model"; `parts`, every value that its column ``part`` may
    have; `categories` as of `read_columns`. Tables of version 1.0.0 have no seal: of them columns,
    types and parts are checked alone. A CounterweightError says what a file is that is missing, is
    something else, or is not as it was when it was saved.
    """
    again = f"copy it anew from where the {called} was made; in results, delete it and run again"
    try:
        table = read_arrow(path, categories=categories, densest=DENSEST)
    except CounterweightError as error:
        if not os.path.exists(path):
            raise
        raise CounterweightError(
            f"{path} is no {called}, or a damaged one: no Parquet file of ours can be read in it; "
            f"{again}."
        ) from error
    except KeyError:  # without a column that is to be read as categories
        table = None
    if table is None or table.column_names != [name for name, _ in layout]:
        raise CounterweightError(
            f"{path} is no {called}: name the file model.parquet or filter.parquet that a study "
            "wrote."
        )
    kinds = [getattr(column.type, "value_type", column.type) for column in table.columns]
    wanted = arrow_schema(layout).types
    whole = kinds == wanted and not any(
        column.null_count
        for column, kind in zip(table.columns, kinds, strict=True)
        if str(kind) != "double"
    )
    seals = pc.sum(pc.equal(table["part"], SEAL)).as_py() if whole else 0
    if seals:
        last = table.slice(len(table) - 1).select(["part", "name", "text"]).to_pylist()[0]
        table = table.slice(0, len(table) - 1)
        told = {"part": SEAL, "name": DIGEST, "text": _digest_of(table)}
        whole = seals == 1 and last == told
    if not whole:
        raise CounterweightError(
            f"{path} is a damaged {called}: it is not as it was when it was saved; {again}."
        )
    strange = sorted({*pc.unique(table["part"]).to_pylist()} - {*parts})
    if strange:
        raise CounterweightError(
            f"{path} is a {called} of another version, or a damaged one: it has rows of the part "
            f"{strange[0][:30]!r}, which this version does not know; {again}."
        )
    return table


def _digest_of(table):
    """Digest of what a table holds, however Parquet keeps it."""
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        words = []
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            values = column.to_numpy()
        else:
            values, words = coded(column.cast(pa.string()).dictionary_encode())
        if values.dtype.kind == "f":
            # One form of zero, and of what is no number.
            values = np.where(np.isnan(values), np.nan, values + 0.0)
        digest.update(json.dumps([name, len(values), words]).encode())
        digest.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")))
    return digest.hexdigest()


@contextlib.contextmanager
def writing_answers(parquet, csv):
    """Write answers about people twice, batch by batch, both files whole or none of them.

    Yields ``write(columns)``, which takes a dict of arrays by name, or a data frame, of the same
    columns each time, and a dict of facts, which `read_facts` of the Parquet file then gives. In
    the CSV file true and false become yes and no, numbers keep all their digits, those that are not
    finite are blank, and texts that a spreadsheet would compute are escaped, see `as_cell`.
    """
    from pyarrow import csv as arrow

    with contextlib.ExitStack() as stack:
        table_path, lines_path = (stack.enter_context(replacing(path)) for path in (parquet, csv))
        lines = stack.enter_context(open(lines_path, "wb"))
        plain = arrow.WriteOptions(include_header=False, quoting_style="needed")
        writers = []

        def write(columns):
            if isinstance(columns, dict):
                table = pa.table(columns)
            else:
                table = pa.Table.from_pandas(columns, preserve_index=False)
                table = table.replace_schema_metadata(None)
            words = _as_words(table)
            if not writers:
                header = io.StringIO()
                text.writer(header, lineterminator="\n").writerow(words.column_names)
                lines.write(header.getvalue().encode())
                writer = pq.ParquetWriter(table_path, table.schema, store_schema=False, **PACKED)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table.cast(writers[0].schema), row_group_size=ROW_GROUP)
            arrow.write_csv(words, lines, plain)

        facts = {}
        yield write, facts
        if facts and writers:
            writers[0].add_key_value_metadata({"facts": as_json(facts)})


def write_answers(parquet, csv, columns):
    """Write answers about people as Parquet and as CSV; see `writing_answers`."""
    with writing_answers(parquet, csv) as (write, _):
        write(columns)


def _as_words(table):
    for at, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_boolean(column.type):
            table = table.set_column(at, name, pc.if_else(column, "yes", "no"))
            continue
        if pa.types.is_floating(column.type):
            known = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
            table = table.set_column(at, name, known)
            continue
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            signs = pc.match_substring_regex(column, FORMULA)
            if pc.any(signs).as_py():
                signs = pc.and_not(signs, pc.match_substring_regex(column, NUMBER))
                mark, nothing = (pa.scalar(sign, column.type) for sign in ("'", ""))
                escaped = pc.binary_join_element_wise(mark, column, nothing)
                table = table.set_column(at, name, pc.if_else(signs, escaped, column))
    return table.rename_columns([as_cell(name) for name in table.column_names])


#: How texts begin that a spreadsheet would compute, and those of them that are numbers.
FORMULA = r"^'*[=+\-@\t\r\n]"
NUMBER = r"^[+\-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+\-]?[0-9]+)?$"


def as_cell(value):
    """A value as a cell of a CSV file: behind an apostrophe where a spreadsheet would compute it.

    Of such texts that begin with apostrophes there is one more, so that the first apostrophe of
    what matches `FORMULA` is always the one to take away.
    """
    if isinstance(value, str) and re.search(FORMULA, value) and not re.search(NUMBER, value):
        return f"'{value}"
    return value


def write_csv(path, columns):
    """Write a small table (a frame or lists by name) as CSV, whole or not at all; see `as_cell`.

    Numbers that are not finite are blank.
    """
    import pandas as pd

    frame = pd.DataFrame(columns)
    texts = frame.select_dtypes(["object", "str", "category"]).columns
    frame = with_columns(frame, {name: frame[name].map(as_cell) for name in texts})
    with replacing(path) as temporary:
        finite_or_blank(frame).rename(columns=as_cell).to_csv(temporary, index=False)
