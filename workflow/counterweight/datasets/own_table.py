"""A table of the user's own: CSV or Parquet, any columns, typed by all that is in them."""

import difflib
import logging
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterweight.errors import CounterweightError, listed
from counterweight.tables import formats
from counterweight.tables.table_reader import check_header, is_parquet, read_columns, row_batches
from counterweight.tables.type_inference import (
    EXPECTED,
    Column,
    Unclear,
    alike,
    arrow_values,
    given_values,
    interpreted,
)

log = logging.getLogger("counterweight")
TITLE = "Own table"
LICENCE = "the user's own"
#: The user names the file, in the config.
OWN = True
FILES = {}
SOURCES = []
#: What to do where the table is not there.
ABSENT = "correct the path of the table in the config"
#: Name that pandas gives to the column of an index.
INDEX = "__index_level_0__"
#: The same of new rows.
NO_ROWS = "give the table of new rows"


@dataclass
class TypedTable:
    """A table whose columns are numbers, booleans, dates or text.

    ``frame`` has ``row`` (int32 from 0) and the columns under their own names: numbers as float64
    or Int64, booleans as Int64, dates as float64 days since 1970-01-01, text as ``str``. By column,
    ``types`` says ``"number"``, ``"boolean"``, ``"date"`` or ``"text"``; ``made`` what was made of
    it, also of one that was left out; ``doubts`` what a person should look at; ``forms`` how its
    texts were read (see `counterweight.tables.formats`).
    """

    frame: object
    types: dict = field(default_factory=dict)
    made: dict = field(default_factory=dict)
    doubts: dict = field(default_factory=dict)
    forms: dict = field(default_factory=dict)


def prepare(job, path=None):
    """The job of the stage prepare: the table, typed, with what reading made of it."""
    from counterweight.tables.parquet import write_table

    told = job.given
    how = {key: told[key] for key in ("columns", "reading", "alike") if key in told}
    made = read_typed(path or told["path"], **how)
    job.log.info("%d rows, %d columns", len(made.frame), made.frame.shape[1] - 1)
    facts = {key: getattr(made, key) for key in ("types", "made", "doubts", "forms")}
    write_table(job.output.table, made.frame, facts=facts)


def read_typed(path, *, columns=None, reading=None, absent=ABSENT, ask=True, alike=()):
    """Read a file or folder and type it: see `read_people` and `typed_table`.

    Columns that stand together in `alike` hold names of the same things. Where some of them are
    read as texts, so are the others: "yes" is no 1 where another column has "maybe", too.
    """
    table = read_columns(path, absent=absent, nameless=True, reading=reading)
    left = [name for name in table.column_names if name == INDEX]
    if not left and table.num_columns and not table.column_names[0].strip():
        left = table.column_names[:1] if _counts(table[0]) else []
    if left:
        table = table.remove_column(table.column_names.index(left[0]))
    check_header(path, table.column_names, nameless=False)
    typed = is_parquet(path)
    told = {"columns": columns, "typed": typed, "reading": reading, "ask": ask}
    made = typed_table(path, table, **told)
    texts = {name for name, kind in made.types.items() if kind == "text"}
    apart = {name for names in alike if texts & {*names} for name in names} & {*made.types} - texts
    apart -= {*check_columns(path, table.column_names, columns or {})[0]}
    if apart:
        same = "it names the same things as a column of texts"
        told["columns"] = (columns or {}) | {"text": [*(columns or {}).get("text", ()), *apart]}
        made = typed_table(path, table, **told)
        made.made |= dict.fromkeys(sorted(apart), f"read as text: {same}")
    made.made |= dict.fromkeys(left, "numbers or names of the rows, without a name: left out")
    return made


def typed_table(where, frame, *, columns=None, typed=False, reading=None, ask=True):
    """Find out what the columns of a table (a frame, or of Arrow) are, by all their fields.

    `where` is the file, or words for the table. `columns` has ``ignore``, ``dates``, ``text``,
    ``numbers``: names of columns; an entry of ``dates`` may be ``{column: format}`` as of
    `strptime`, one of ``numbers`` ``{column: {decimal, thousands}}``; and ``missing``: values by
    column that stand for missing ones. `typed` says whether the types are those that the columns
    were given (Parquet, a frame): numbers that are texts then stay texts, unless they have the sign
    of a currency or `columns` says otherwise, while yes and no and dates are read as in a CSV.
    `reading` has ``decimal`` and ``thousands``, where the person says them. A column that could
    mean two things is refused, or without `ask` stays text, with a doubt.
    """
    import pandas as pd

    wanted, kept = check_columns(where, [str(name) for name in _names(frame)], columns or {})
    if not len(frame):
        raise CounterweightError(f"{where} has a header but no row: there is nothing to learn.")
    given = _marks(reading)
    table = TypedTable(None)
    cells = {
        name: Column(where, name, arrow_values(where, name, frame[name]), reading) for name in kept
    }
    comma = None if given else _comma(cells[name] for name in kept if name not in wanted)
    codes = _codes(columns or {})
    made = {"row": np.arange(len(frame), dtype=np.int32)}
    for name in kept:
        cell, blanks = cells.pop(name), ""
        if name in codes:
            cell, blanks = cell.blanked(codes[name])
        if cell.empty:
            table.made[name] = "empty in every row: left out"
            continue
        asked, format_ = wanted.get(name, (None, None))
        given_text = typed and asked is None
        if cell.words is None and asked == "dates" and format_:
            cell = cell.as_texts()
        if cell.words is None:
            kind, values, note, form = given_values(cell, asked)
        else:
            try:
                kind, values, note, form = interpreted(cell, asked, format_, given, comma)
            except Unclear as error:
                if ask and not given_text:
                    raise
                cell.doubts.append(str(error).removeprefix(f"{where}: ").rstrip("."))
                kind, values, note, form = "text", cell.texts(), "", {}
            # Money with its sign is no code that a database keeps as a text.
            money = form.get("sign", "%") not in ("", "%")
            if given_text and kind == "number" and form != formats.CLOCK and not money:
                told = "its texts are numbers: name it under columns.numbers"
                cell.doubts = [told] if form else cell.doubts
                kind, values, note, form = "text", cell.texts(), "", {}
        made[name], table.types[name] = values, kind
        if name in codes:
            none = f"none of {listed(map(repr, codes[name]))}, which columns.missing names"
            note = "; ".join(filter(None, [note, blanks or none]))
            form = form | {"missing": sorted({*form.get("missing", ()), *map(str, codes[name])})}
        table.made |= {name: note} if note else {}
        table.doubts |= {name: "; ".join(dict.fromkeys(cell.doubts))} if cell.doubts else {}
        table.forms |= {name: form} if form else {}
    if not table.types:
        raise CounterweightError(f"{where} is empty in every column: put values there.")
    table.frame = pd.DataFrame(made)
    return table


def typed_like(where, frame, types, *, needed, forms=None, reading=None, first=0):
    """New rows, texts or typed, as the columns of the fit were typed.

    The frame has ``row`` (int32 from `first`) and the columns `needed`, in their order: numbers and
    dates as float64, booleans as Int64, text as ``str``. Without `forms` of the fit numbers have
    decimal points and dates are year-month-day; `reading` has ``decimal`` and ``thousands`` of this
    table where they are others. A column that is missing, and a field that is not what its column
    was in the fit, are refused with their place.
    """
    import pandas as pd

    if not hasattr(frame, "columns"):
        raise CounterweightError(
            f"{where} is of the type {type(frame).__name__}: give a data frame with the columns "
            f"{listed(needed)}."
        )
    names = [str(name) for name in _names(frame)]
    if isinstance(frame, pd.DataFrame) and names != [*frame.columns]:
        frame = frame.set_axis(names, axis=1)
    absent = [name for name in needed if name not in names]
    if absent:
        free = [name for name in names if name not in needed]
        raise CounterweightError(
            f"{where} has no column {listed(absent)}{_near(absent[0], free)}; it has "
            f"{listed(names, 30)}: name the columns as in the table of the fit."
        )
    check_header(where, [name for name in names if name in set(needed)])
    own = _marks(reading)
    made = {"row": np.arange(first, first + len(frame), dtype=np.int32)}
    for name in needed:
        cell = Column(where, name, arrow_values(where, name, frame[name]), reading, first)
        form = (forms or {}).get(name, {})
        if own and types[name] == "number" and "clock" not in form:
            form = formats.merged(form, own)
        made[name] = alike(cell, types[name], form, bool(own))
    return pd.DataFrame(made)


def forms_found(where, frame, types, *, needed, reading=None):
    """How texts of number columns are written, by column, found out as `typed_table` does.

    For tables whose other columns nobody reads. Columns that are missing or hold no numbers are
    left to `typed_like`, which refuses them; what is doubtful is a warning.
    """
    given, names = _marks(reading), {str(name) for name in _names(frame)}
    told = (name for name in needed if types[name] == "number" and name in names)
    cells = [Column(where, name, arrow_values(where, name, frame[name]), reading) for name in told]
    cells = [cell for cell in cells if cell.words is not None and not cell.empty]
    comma = None if given else _comma(cells)
    forms = {}
    for cell in cells:
        if not formats.number_forms(cell.without(formats.BLANKS)[0].words, given):
            continue
        *_, form = interpreted(cell, "numbers", None, given, comma)
        for doubt in cell.doubts:
            log.warning("%s, column %r: %s", where, cell.name, doubt)
        # Whole numbers here may have decimals further on.
        form = formats.GERMAN_FORM if comma and not form else form
        forms |= {cell.name: form} if form else {}
    return forms


def new_rows(
    path,
    types,
    needed,
    *,
    also=(),
    forms=None,
    reading=None,
    rows=200_000,
    absent=NO_ROWS,
    find=False,
):
    """The rows of a file or folder as `typed_like` types them, in bounded memory.

    ``row`` runs on from frame to frame, each of at most `rows` rows; columns of `also` are there
    where the file has them. With `find` the first rows say how numbers are written. A table without
    a row is refused at its end: whoever writes the rows must do so whole or not at all.
    """
    first = 0
    for batch in row_batches(path, absent=absent, rows=rows, reading=reading):
        if len(batch):
            there = [one for one in also if one in batch.column_names]
            needed = [*dict.fromkeys((*needed, *there))]
            if find and not first:
                forms = forms_found(path, batch, types, needed=needed, reading=reading)
            yield typed_like(
                path, batch, types, needed=needed, forms=forms, reading=reading, first=first
            )
        first += len(batch)
    if not first:
        raise CounterweightError(f"{path} has a header but no row: there is nobody to answer for.")


def first_blank(path, column, reading=None):
    """Where a column of a file or folder is first missing, in words; "" where it never is."""
    first = 0
    for batch in row_batches(path, absent=ABSENT, rows=1 << 17, reading=reading):
        cell = Column(path, column, arrow_values(path, column, batch[column]), reading, first)
        if cell.words is None:
            missing = cell.values.is_null().to_numpy(zero_copy_only=False)
        else:
            missing = cell.codes < 0
        if missing.any():
            return cell.place(missing.argmax())
        first += len(batch)
    return ""


def typed_value(where, name, value, types, forms=None):
    """A value that a config says of a column, as the typed frame has it.

    ``"yes"`` of a column of yes and no is 1, ``"2020-01-01"`` of dates a number of days.
    """
    kind, form = types[name], (forms or {}).get(name, {})
    if kind == "text" and isinstance(value, bool):
        value = str(value)
    try:
        cell = Column(where, name, arrow_values(where, name, [value]))
        made = alike(cell, kind, form)
    except (CounterweightError, pa.ArrowException) as error:
        raise CounterweightError(
            f"The config says {value!r} of the column {name!r} of {where}, where "
            f"{EXPECTED[kind]} expected: correct it."
        ) from error
    return made[0]


def _counts(values):
    """Whether a column counts the rows from 0 or 1."""
    try:
        found = values.cast(pa.int64()).to_numpy()
    except pa.ArrowException:
        return False
    return len(found) > 0 and found[0] in (0, 1) and bool((np.diff(found) == 1).all())


def _marks(reading):
    """What a person says of the numbers of a table."""
    return {key: reading[key] for key in ("decimal", "thousands") if key in (reading or {})}


def _names(frame):
    return frame.column_names if hasattr(frame, "column_names") else list(frame.columns)


def _codes(columns):
    """Values that stand for missing ones, as lists by column."""
    entries = columns.get("missing") or []
    found = {}
    for entry in [entries] if isinstance(entries, dict) else entries:
        for name, told in entry.items():
            found[name] = found.get(name, []) + (told if isinstance(told, list) else [told])
    return found


def check_columns(where, names, columns):
    """What a person says of each column, held against the `names` of those that are there.

    `columns` is as of `typed_table`; also ``keep``, whose columns may stand in other lists, too.
    Gives the list that a column is in, with a format or None, by column; and the columns that are
    not ignored.
    """
    found = {}
    for key in ("ignore", "dates", "text", "numbers", "keep", "missing"):
        entries = columns.get(key) or []
        for entry in [entries] if isinstance(entries, dict) else entries:
            pairs = entry.items() if isinstance(entry, dict) else [(entry, None)]
            for name, format_ in pairs:
                if name not in names:
                    raise CounterweightError(
                        f"{where} has no column {name!r}, which columns.{key} names"
                        f"{_near(name, names)}; it has {listed(names, 30)}: correct the name."
                    )
                beside = key in ("keep", "missing")
                if name in found and (not beside or found[name][0] == "ignore"):
                    raise CounterweightError(
                        f"{where}: the column {name!r} stands in columns.{found[name][0]} and in "
                        f"columns.{key}: keep one."
                    )
                found |= {} if beside else {name: (key, format_)}
    kept = [name for name in names if found.get(name, ("",))[0] != "ignore"]
    if "row" in kept:
        raise CounterweightError(
            f"{where} has a column row, the name of the row number here: rename it, or put it "
            "under columns.ignore."
        )
    if not kept:
        raise CounterweightError(f"{where} has no column that is not ignored: keep some.")
    return found, kept


def _near(name, names):
    close = difflib.get_close_matches(str(name), names, 1, 0.75)
    lower = [other for other in names if other.strip().lower() == str(name).strip().lower()]
    close = lower or close
    return f" (is it {close[0]!r}?)" if close else ""


def _comma(cells):
    """Whether the table's other columns say that commas are decimal: True, False, or None."""
    votes = set()
    for cell in cells:
        if cell.words is None or cell.empty:
            continue
        words = cell.without(formats.BLANKS)[0].words
        some = words[:1000]
        forms = formats.number_forms(some)
        signs = {form["decimal"] for form in forms}
        marked = pc.any(pc.match_substring_regex(some, r"\d[.,]\d")).as_py()
        if len(signs) == 1 and marked and formats.number_forms(words) == forms:
            votes |= signs
    return votes == {","} if len(votes) == 1 else None
