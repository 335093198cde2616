"""Tables that people bring: the one reader of them, whatever they are for.

Text separated by commas, semicolons, tabs or bars, Parquet, either of them packed with gzip, or a
folder of such parts. A text is looked through once, then read in batches: the look finds how it is
encoded, what separates its fields and whether the fast parser may read it, and keeps no more of the
file in memory than a block.
"""

import codecs
import csv
import filecmp
import gzip
import io
import logging
import re
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv as arrow

from counterweight.errors import CounterweightError, listed

log = logging.getLogger("counterweight")

#: Characters that may separate fields, and what they are called in sentences.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: What stands in each field of a row behind the last one.
END = "\x1f"
#: Bytes parsed at once; no row may be longer.
BLOCK = 1 << 22
#: Rows at a time, where nothing is said.
ROWS = 1 << 17
#: What a text that is not UTF-8 is taken for: all letters are in the first, all bytes in the last.
GUESSES = ("cp1252", "latin-1")
#: Words for separators beside the characters themselves.
NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|"}
#: Words of a CSV file that stand for a missing value.
MISSING = frozenset(
    ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NaN", "nan", "-NaN", "-nan"]
    + ["1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN", "NULL", "null", "None"]
)
#: Names of parts in a folder.
PARTS = (".parquet", ".pq", ".csv", ".tsv", ".txt", ".gz")
#: Value of a key in the name of a folder that stands for a missing one.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass
class Text:
    """How a text table is to be read.

    ``spaced``: fields may begin with blanks; ``slow``: the fast parser would take blanks, quotes or
    lines for what they are not; ``blank``: there may be blank lines.
    """

    path: Path
    encoding: str
    separator: str
    names: list
    spaced: bool = False
    slow: bool = False
    blank: bool = False

    def lines(self):
        """The lines of the file, with their ends."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        return io.TextIOWrapper(opened(self.path), encoding=encoding, newline="")

    def records(self):
        """The number of the last line of each record, and its fields; none for a blank line."""
        with self.lines() as lines:
            reader = csv.reader(lines, delimiter=self.separator, skipinitialspace=True)
            for fields in reader:
                yield reader.line_num, [] if fields == [""] else fields

    def batches(self):
        """The rows below the header in turn, as Arrow batches of texts."""
        try:
            yield from self._parsed()
        except (csv.Error, pa.ArrowException) as error:
            raise self._unreadable(error) from error

    def _parsed(self):
        wrong, names = [], [str(at) for at in range(len(self.names))]

        def stop(row):
            wrong.append(row)
            return "error"

        # An opening quote without its end would take all that follows: this row tells it.
        end = f"\n{self.separator.join([END] * len(names))}"
        found = self._rewritten(end) if self.slow else chain(self._utf8(), [end.encode()])
        held = None
        try:
            reader = arrow.open_csv(
                pa.PythonFile(io.BufferedReader(_Stream(found), 1 << 20)),
                arrow.ReadOptions(
                    use_threads=False, column_names=names, skip_rows_after_names=1, block_size=BLOCK
                ),
                arrow.ParseOptions(
                    delimiter=self.separator, newlines_in_values=True, invalid_row_handler=stop
                ),
                arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
            )
            for batch in reader:
                if self.spaced and not self.slow:
                    trimmed = [pc.utf8_ltrim(column, " ") for column in batch.columns]
                    batch = pa.RecordBatch.from_arrays(trimmed, names)
                if held is not None and len(held):
                    yield held.rename_columns(self.names)
                held = batch if len(batch) else held
        except pa.ArrowInvalid as error:
            if not wrong:
                raise
            raise self._ragged() from error
        if held is None or held[0][-1].as_py() != END:
            raise csv.Error("")
        yield held.slice(0, len(held) - 1).rename_columns(self.names)

    def _rewritten(self, end):
        """The content as the fast parser takes it, in blocks: every field in quotes, no blank line.

        Blanks before a quote and lines of blanks are read as `records` does.
        """
        last = end.strip("\n").split(self.separator)
        with self.lines() as lines:
            ended = chain(lines, end.splitlines(keepends=True))
            reader = csv.reader(ended, delimiter=self.separator, skipinitialspace=True)
            rows = (row for row in reader if row and row != [""])
            while chunk := list(islice(rows, ROWS)):
                if chunk[-1] != last and chunk[-1][-1].endswith(END):
                    raise csv.Error("")
                block = io.StringIO(newline="")
                csv.writer(block, "unix", delimiter=self.separator).writerows(chunk)
                yield block.getvalue().encode()

    def _utf8(self):
        """The content as blocks of UTF-8 without a byte order mark."""
        if self.encoding == "utf-8":
            found = blocks(self.path)
            return chain([next(found).removeprefix(codecs.BOM_UTF8)], found)
        decoder = codecs.getincrementaldecoder(self.encoding)()
        return (decoder.decode(block).encode() for block in blocks(self.path))

    def _ragged(self):
        """The sentence for the first line with another number of fields than the header."""
        for line, fields in self.records():
            if fields and len(fields) != len(self.names):
                return CounterweightError(
                    f"{self.path}, line {line} has {len(fields)} fields where the header has "
                    f"{len(self.names)} ({SEPARATORS.get(self.separator, repr(self.separator))} "
                    "between them): repair the line."
                )
        return self._unreadable("its lines have different numbers of fields")

    def _unreadable(self, error):
        """The sentence for a text that the parser refuses: most often a quote stays open."""
        last = before = 0
        reason = str(error).strip().rstrip(".")
        try:
            for line, _ in self.records():
                before, last = last, line
        except csv.Error as inner:
            before, reason = last, reason or str(inner)
        if not reason or "straddl" in reason or "field larger" in reason:
            return CounterweightError(
                f"{self.path} cannot be read as CSV: a quote that opens a field does not close "
                f"(in the row that begins in line {before + 1}): close it, or double a quote that "
                "is part of a value."
            )
        return CounterweightError(f"{self.path} cannot be read as CSV: {reason}.")


class _Stream(io.RawIOBase):
    """Blocks of bytes as a file."""

    def __init__(self, found):
        self._found, self._rest = found, memoryview(b"")

    def readable(self):
        return True

    def readinto(self, target):
        if not self._rest:
            self._rest = memoryview(next(self._found, b""))
        taken = min(len(target), len(self._rest))
        target[:taken] = self._rest[:taken]
        self._rest = self._rest[taken:]
        return taken


def looked(path, reading=None, quiet=False):
    """Look through a text table: how it is to be read, as a `Text`.

    `reading` has ``encoding`` and ``separator`` where they are not to be found out; `quiet`,
    whether the log is not to say what was guessed.
    """
    encoding, separator = _said(path, reading or {})
    try:
        return _scanned(path, encoding, separator)
    except LookupError as error:
        raise CounterweightError(
            f"{path}: no encoding is called {encoding!r}: set reading.encoding to utf-8, utf-16, "
            "cp1252 or latin-1, or leave it out."
        ) from error
    except UnicodeDecodeError as error:
        wrong = f"byte {error.object[error.start]:#04x}"
        if (reading or {}).get("encoding") or encoding == "utf-16":
            name = encoding.upper() if encoding.startswith("utf") else encoding
            raise CounterweightError(
                f"{path} is not {name} text ({wrong}): save the table as CSV in UTF-8."
            ) from error
    for encoding in GUESSES:
        with suppress(UnicodeDecodeError):
            text = _scanned(path, encoding, separator)
            break
    if not quiet:
        told = "%s is not UTF-8 (%s): it is read as %s (Western European); say "
        told += "reading.encoding where its letters look wrong."
        log.warning(told, path, wrong, encoding)
    return text


def header(path, reading=None):
    """Names of the columns of a text table, of which no more is read than its beginning."""
    encoding, separator = _said(path, reading or {})
    for tried in (encoding, *GUESSES):
        with suppress(UnicodeDecodeError):
            try:
                text = Text(path, tried, separator or ",", [])
                with text.lines() as lines:
                    text.separator = separator or _separator(next(lines, ""))
                names = next(text.records(), (0, []))[1]
                if names and "\0" not in "".join(names):
                    return [name.strip() for name in names]
            except (LookupError, csv.Error):
                pass
            break
    return looked(path, reading, quiet=True).names  # which says what is wrong


def _said(path, reading):
    """Encoding and separator as a person says them; the first by the bytes, the second None."""
    start = next(blocks(path), b"")
    if not start:
        raise CounterweightError(f"{path} is empty: put a table there.")
    if start.startswith(b"PK\x03\x04") or start.startswith(b"\xd0\xcf\x11\xe0"):
        raise CounterweightError(
            f"{path} is a spreadsheet or an archive, not text: save the table as CSV in UTF-8."
        )
    if re.match(rb"(\xef\xbb\xbf)?\s*<(!doctype html|html)", start[:200], re.IGNORECASE):
        raise CounterweightError(
            f"{path} is a web page, not a table: fetch the file behind the page."
        )
    encoding = (reading.get("encoding") or _encoding(start)).lower()
    encoding = {"utf8": "utf-8", "utf-8-sig": "utf-8"}.get(encoding, encoding)
    separator = reading.get("separator")
    separator = NAMED.get(separator, separator)
    if separator is not None and (len(separator) != 1 or separator in '"\r\n'):
        raise CounterweightError(
            f"{path}: reading.separator is {separator!r}, not one character: give one of "
            f"{', '.join(map(repr, SEPARATORS))}, or leave it out."
        )
    return encoding, separator


def _separator(line):
    """The separator that is most frequent in a header."""
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", line).count)


def opened(path):
    """A file of the user's for reading bytes, unpacked where it is packed with gzip."""
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise _closed(path, error) from error
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    return gzip.GzipFile(fileobj=file) if packed else file


def _closed(path, error):
    return CounterweightError(
        f"{path} cannot be read ({error.strerror}): check the path and who may read it."
    )


def blocks(path, size=1 << 22):
    """The bytes of a file in turn, unpacked where it is packed with gzip."""
    with opened(path) as file:
        try:
            while block := file.read(size):
                yield block
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise CounterweightError(
                f"{path} is no whole gzip file ({str(error).rstrip('.')}): pack or fetch it anew."
            ) from error
        except OSError as error:
            raise _closed(path, error) from error


def _encoding(start):
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # UTF-16 without its mark: every second byte of plain letters is 0.
    even, odd = start[0:4000:2].count(0), start[1:4000:2].count(0)
    half = len(start[:4000]) / 2
    if max(even, odd) > 0.8 * half and min(even, odd) == 0:
        return "utf-16-le" if odd else "utf-16-be"
    return "utf-8"


def _scanned(path, encoding, separator):
    """What one pass through a text finds, decoded as `encoding`."""
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    lines, tail, header = 0, "", None
    spaced = quoted = indented = blank = False
    for block in chain(blocks(path), [b""]):
        text = decoder.decode(block, final=not block)
        if (at := text.find("\0")) >= 0:
            raise CounterweightError(
                f"{path}, line {lines + text.count(chr(10), 0, at) + 1} holds a byte 0, so this is "
                "not text: save the table as CSV in UTF-8."
            )
        lines += text.count("\n")
        if header is None:
            header = next(io.StringIO(text, newline=""), "")
            if not header.strip():
                raise CounterweightError(
                    f"{path}, line 1 is blank where the header is expected: remove the line, or "
                    "write the names of the columns there."
                )
            separator = separator or _separator(header)
            tail = "\n"
        # What stands across two blocks is seen, too.
        text, tail = tail + text, text[-64:]
        quoted = quoted or '"' in text
        inner = "\n " in text or "\r " in text
        spaced = spaced or inner or f"{separator} " in text
        if inner and not indented:
            indented = bool(re.search(r"[\r\n] +(?:[\r\n]|\Z)", text))
        blank = blank or indented or any(two in text[1:] for two in ("\n\n", "\r\n\r", "\r\r"))
        blank = blank or text.startswith(("\n\n", "\n\r"))
    text = Text(path, encoding, separator, [], spaced, (spaced and quoted) or indented, blank)
    try:
        text.names = [name.strip() for name in next(text.records())[1]]
    except csv.Error as error:
        raise text._unreadable("") from error
    return text


def read_people(path, *, absent, nameless=False, reading=None):
    """A table of one row for each person, as a frame; columns of a text are text.

    `path` is Parquet, or text with a header whose fields are separated by commas, semicolons, tabs
    or bars (the most frequent in the header) and may stand in double quotes (a quote in them
    doubled); either may be packed with gzip. A folder is read as the table of all its parts in the
    order of their names; folders in it named ``key=value`` are columns. Nothing of a text is
    missing yet (see `MISSING`); blank lines are passed over and counted in the log; blanks before a
    value are not part of it, those in quotes are.

    `absent` says what to do where there is no such file; `nameless`, whether a column may be
    without a name; `reading` has ``encoding`` and ``separator`` where they are not to be found out:
    UTF-8, or UTF-16 by its first bytes, else Western European, which the log says. What cannot be
    read is a CounterweightError of one sentence with the file, and the line.
    """
    table = read_columns(path, absent=absent, nameless=nameless, reading=reading)
    for at, column in enumerate(table.schema):
        if pa.types.is_decimal(column.type):
            table = table.set_column(at, column.name, table[at].cast(pa.float64()))
    return table.to_pandas(ignore_metadata=True)


def read_columns(path, *, absent, nameless=False, reading=None):
    """As `read_people`, as a pyarrow table: texts, or the types of Parquet."""
    tables = list(row_batches(path, absent=absent, nameless=nameless, reading=reading))
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise CounterweightError(
            f"{path} has parts whose columns are of different types ({first_line(error)}): write "
            "them anew with one type a column."
        ) from error


def row_batches(path, *, absent, rows=None, nameless=True, reading=None):
    """As `read_columns`, in bounded memory: tables of up to `rows` rows in turn.

    Columns of the parts of a folder may differ in their types from batch to batch.
    """
    first = names = None
    for part, keys in parts_of(path, absent):
        for batch in _batches(part, nameless, reading, rows):
            table = pa.Table.from_batches([batch])
            for key, value in keys.items():
                if key not in batch.schema.names:
                    same = pa.repeat(pa.scalar(value, pa.string()), len(table))
                    table = table.append_column(key, same)
            first, names = first or part, names or table.column_names
            lacks, more = {*names} - {*table.column_names}, {*table.column_names} - {*names}
            if lacks or more:
                told = [f"lacks {listed(sorted(lacks))}"] * bool(lacks)
                told += [f"has {listed(sorted(more))} beside"] * bool(more)
                raise CounterweightError(
                    f"{part} has other columns than {first} ({' and '.join(told)}): give all parts "
                    "of the table the same columns."
                )
            yield table.select(names)


def header_of(path, *, absent, reading=None):
    """Names of the columns of a table, "" for none, by the header of its first part alone."""
    part, keys = parts_of(path, absent)[0]
    names = (
        _footer(part).schema.to_arrow_schema().names if is_parquet(part) else header(part, reading)
    )
    return names + [key for key in keys if key not in names]


def size_of(path, reading=None, packed=5):
    """Rows and columns of a table: those of Parquet by its footers, of a text about so many.

    A text's rows are its bytes over those of its first lines; one that is packed with gzip is taken
    for `packed` times as long.
    """
    rows, names = 0, header_of(path, absent="", reading=reading)
    for part, _ in parts_of(path, ""):
        if is_parquet(part):
            rows += _footer(part).num_rows
            continue
        with opened(part) as file:
            start, held = file.read(1 << 16), isinstance(file, gzip.GzipFile)
        lines = max(start.count(b"\n"), 1)
        rows += int(part.stat().st_size * (packed if held else 1) * lines / max(len(start), 1))
    return rows, len(names)


def parts_of(path, absent):
    """The files of a table in order, each with the columns that its folders' names say."""
    path = Path(path)
    if path.is_file():
        return [(path, {})]
    files = [path / inner for inner in _inner(path)] if path.is_dir() else []
    if not files:
        raise CounterweightError(
            f"{path} is not there, or is no file or folder of Parquet or CSV files: {absent}."
        )
    found, first = [], None
    for file in files:
        pairs = [folder.split("=", 1) for folder in file.relative_to(path).parts[:-1]]
        keys = {unquote(pair[0]): unquote(pair[1]) for pair in pairs if len(pair) == 2}
        first = list(keys) if first is None else first
        if list(keys) != first:
            raise CounterweightError(
                f"{file} stands in folders that name {listed(keys) or 'no column'} where those of "
                f"{files[0]} name {listed(first) or 'none'}: put all parts alike."
            )
        found.append((file, {key: "" if v == NO_VALUE else v for key, v in keys.items()}))
    _refuse_copies(found)
    return found


def _refuse_copies(parts):
    """Refuse parts that are byte for byte another one in folders that say the same, since its rows
    would count twice. Files without a row may be alike; what cannot be read its reader tells.
    """
    sized = {}
    for file, keys in parts:
        sized.setdefault((file.stat().st_size, *keys.values()), []).append(file)
    for files in (files for files in sized.values() if len(files) > 1):
        seen = {}
        for file in files:
            with suppress(OSError, EOFError, zlib.error):
                with open(file, "rb") as start:
                    others = seen.setdefault(start.read(1 << 12), [])
                again = (one for one in others if filecmp.cmp(one, file, shallow=False))
                if (first := next(again, None)) and _has_rows(file):
                    raise CounterweightError(
                        f"{file} is {first} once more, byte for byte, so that its rows would count "
                        "twice: take one of them out of the folder. Where both are right, write "
                        "them as one file."
                    )
                others.append(file)


def _has_rows(file):
    if is_parquet(file):
        return _footer(file).num_rows > 0
    with opened(file) as lines:
        return len([*islice((line for line in lines if line.strip()), 2)]) > 1


def place_of(path, row, reading=None):
    """Where a row of a table (from 0) stands, for a sentence; its file is read again to find it.

    ``"line 7"``, of a part of a folder ``"part-2.csv, line 7"``; ``"row 7"`` (from 0) of Parquet,
    or where `path` is no file.
    """
    path, before = Path(path), 0
    for part, _ in parts_of(path, "") if path.is_dir() else [(path, {})]:
        named = f"{part.relative_to(path)}, " if path.is_dir() else ""
        if not part.is_file() or is_parquet(part):
            count = _footer(part).num_rows if part.is_file() else row + 1
            found = f"row {row - before} (counted from 0)"
        else:
            filled = (line for line, fields in looked(part, reading, True).records() if fields)
            lines = list(islice(filled, 1, row - before + 2))
            count, found = len(lines), f"line {lines[-1]}" if lines else ""
        if row - before < count:
            return f"{named}{found}"
        before += count
    return f"row {row} (counted from 0)"


def is_parquet(path):
    """Whether the columns of a file are typed: by its first bytes, or by its name."""
    path = Path(path)
    if path.is_dir():
        inner = _inner(path)
        return bool(inner) and is_parquet(path / inner[0])
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((".parquet", ".pq")):
        return True
    if path.is_file():
        with opened(path) as file, suppress(OSError, EOFError):
            return file.read(4) == b"PAR1"
    return False


def check_header(where, names, nameless=True):
    """Refuse names that stand twice, and unless `nameless` columns without one."""
    blank = [at for at, name in enumerate(names, 1) if not str(name).strip()]
    if blank and not nameless:
        raise CounterweightError(
            f"{where} has no name for the column number {listed(blank)}: give each column a name."
        )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CounterweightError(
            f"{where} has the column {listed(twice)} more than once: rename or remove the others."
        )


def first_line(error):
    """The first line of what an error of a library says, without its last dot."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def _inner(folder):
    """Paths of the parts in a folder, relative to it, in order; hidden ones are passed over."""
    found = [file.relative_to(folder) for file in folder.rglob("*") if file.is_file()]
    return sorted(
        file
        for file in found
        if file.name.lower().endswith(PARTS) and not any(n[0] in "._" for n in file.parts)
    )


@contextmanager
def _parquet(path):
    """A Parquet file while it is read; one that is packed with gzip is unpacked in memory."""
    try:
        with opened(path) as file:
            packed = not isinstance(file, io.BufferedReader)
            yield pq.ParquetFile(io.BytesIO(file.read()) if packed else file)
    except (pa.ArrowException, OSError, EOFError) as error:
        raise _no_parquet(path) from error


def _footer(path):
    with _parquet(path) as file:
        return file.metadata


def _no_parquet(path):
    page = False
    with suppress(OSError, EOFError), opened(path) as file:
        page = file.read(100).lower().lstrip().startswith((b"<!doctype html", b"<html"))
    return CounterweightError(
        f"{path} is not a readable Parquet file{', but a web page' if page else ''}: "
        f"{'fetch the file behind the page' if page else 'write it anew'}, or give a CSV file."
    )


def _batches(path, nameless, reading, rows):
    """The rows of one file in turn as Arrow batches, of at most `rows` rows each."""
    if is_parquet(path):
        with _parquet(path) as file:
            check_header(path, file.schema_arrow.names, nameless)
            # One row group at a time: asked for all, pyarrow holds every one until the end.
            for group in range(file.num_row_groups):
                yield from file.iter_batches(rows or ROWS, row_groups=[group], use_threads=False)
            if not file.metadata.num_rows:
                empty = [pa.array([], column.type) for column in file.schema_arrow]
                yield pa.RecordBatch.from_arrays(empty, schema=file.schema_arrow)
        return
    text = looked(path, reading)
    check_header(path, text.names, nameless)
    for batch in text.batches():
        for at in range(0, max(len(batch), 1), rows or len(batch) or 1):
            yield batch.slice(at, rows)
    if blank := sum(not fields for _, fields in text.records()) if text.blank else 0:
        log.warning("%s: %d blank lines are passed over; they have no number.", path, blank)
