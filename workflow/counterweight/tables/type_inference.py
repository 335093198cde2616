"""What a column of a table that people bring is: numbers, booleans, dates or text."""

import copy
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterweight.errors import CounterweightError, listed
from counterweight.tables import formats
from counterweight.tables.table_reader import MISSING, place_of

#: Integers from here on have more than 15 digits: names of things rather than numbers.
LONG = 10**15
#: Shares of fields that are numbers, or dates, from which on the others are told.
NEARLY = {"numbers": 0.5, "dates": 0.9}
#: What marks are called in sentences.
MARKS = {".": "point", ",": "comma"}
#: What values of a kind are called in sentences.
EXPECTED = {
    "number": "a number is",
    "boolean": "true or false (yes or no, 1 or 0) is",
    "date": "a date is",
    "text": "text is",
}


class Unclear(CounterweightError):
    """What a column means has to be said."""


class Column:
    """One column: the distinct words of texts and where they stand, or typed values.

    ``doubts`` is what a person should look at; it grows while the column is read.
    """

    def __init__(self, where, name, values, reading=None, first=0):
        self.where, self.name, self.values, self.reading = where, name, values, reading
        self.first, self.words, self.codes, self.doubts = first, None, None, []
        if not pa.types.is_string(values.type):
            return
        coded = values.dictionary_encode()
        chunks = coded.chunks if isinstance(coded, pa.ChunkedArray) else [coded]
        words = chunks[-1].dictionary if chunks else pa.array([], pa.string())
        codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in chunks]
        self.words, self.codes = words, np.concatenate([*codes, np.empty(0, np.int32)])
        # Words that differ in the blanks around them only are one; missing ones have no code.
        trimmed = pc.utf8_trim_whitespace(words)
        missing = pc.is_in(trimmed, pa.array(sorted(MISSING)))
        if not trimmed.equals(words) or pc.any(missing).as_py():
            again = pc.if_else(missing, None, trimmed).dictionary_encode()
            at = again.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
            self.words, self.codes = again.dictionary, self.spread(at, -1)

    @property
    def empty(self):
        """Whether nothing stands in it."""
        if self.words is None:
            return self.values.null_count == len(self.values)
        return not len(self.words)

    def spread(self, values, missing):
        """Values of the words as values of the rows."""
        return np.append(values, np.asarray(missing, values.dtype))[self.codes]

    def integers(self, values):
        """Integers of the words as values of the rows."""
        import pandas as pd

        return pd.arrays.IntegerArray(self.spread(values, 0), self.codes < 0)

    def as_texts(self):
        """The column with its values written as text."""
        values = pa.array(as_text(self.values), from_pandas=True, type=pa.string())
        return Column(self.where, self.name, values, self.reading, self.first)

    def texts(self):
        """The column as text."""
        codes = pa.array(self.codes, mask=self.codes < 0)
        return pa.chunked_array([self.words.take(codes)]).to_pandas()

    def without(self, blanks, all_=False):
        """The column whose words in `blanks` are missing, unless it has no others."""
        blank = _flags(pc.is_in(pc.utf8_lower(self.words), pa.array(list(blanks))))
        return (self, "") if not blank.any() or (blank.all() and not all_) else self._less(blank)

    def blanked(self, codes):
        """The column with some of its values missing, and what is to be said of that.

        `codes` are values, of texts in any case, of numbers also written otherwise.
        """
        numbers = []
        for code in codes:
            with suppress(TypeError, ValueError):
                numbers.append(float(code))
        if self.words is not None:
            texts = pa.array([str(code).strip().lower() for code in codes])
            blank = _flags(pc.is_in(pc.utf8_lower(self.words), texts))
            values, right, _ = formats.numbers(self.words, formats.PLAIN_FORM)
            blank |= right & np.isin(values, numbers)
            return self._less(blank) if blank.any() else (self, "")
        is_, kind = pa.types, self.values.type
        if not (is_.is_integer(kind) or is_.is_floating(kind) or is_.is_decimal(kind)):
            return self, ""
        found = as_floats(self.values)
        blank = np.isin(found, numbers)
        other = copy.copy(self)
        other.values = pc.if_else(pa.array(blank), None, self.values)
        told = [f"{value:g}" for value in np.unique(found[blank])]
        return other, _as_missing(told) if told else ""

    def _less(self, blank):
        """The column with some of its words missing, and what is to be said of that."""
        other = copy.copy(self)
        codes = (~blank).cumsum() - 1
        codes[blank] = -1
        other.words, other.codes = self.words.filter(pa.array(~blank)), self.spread(codes, -1)
        return other, _as_missing(sorted(self.words.filter(pa.array(blank)).to_pylist()))

    def without_signs(self):
        """The column whose signs such as ? are missing, a note, and what its form says of them.

        Of ``+``, ``-`` and ``x``, ``-`` is not missing.
        """
        lower = pc.utf8_lower(self.words)
        signs = pc.is_in(lower, pa.array(formats.NO_TEXT))
        other = self.words.filter(pc.invert(signs))
        if len(other) < 2 or pc.any(pc.match_substring_regex(other, r"^[^\p{L}\p{N}]+$")).as_py():
            return self, "", {}
        missing = sorted(lower.filter(signs).unique().to_pylist())
        return *self.without(formats.NO_TEXT), {"missing": missing} if missing else {}

    def wrong(self, right):
        """How many rows hold a word that is not right, the first, and where it is."""
        rows = np.flatnonzero(self.spread(~right, False))
        return len(rows), self.words[self.codes[rows[0]]].as_py(), self.place(rows[0])

    def place(self, row):
        """Where a row of the column stands."""
        return place_of(self.where, int(row) + self.first, self.reading)

    def refuse(self, right, expected, todo):
        """Refuse the words that are not right."""
        count, word, place = self.wrong(right)
        rest = f" ({count} rows have such a field)" if count > 1 else ""
        raise CounterweightError(
            f"{self.where}, {place}: the column {self.name!r} holds {word[:60]!r} where "
            f"{expected} expected{rest}: {todo}."
        )

    def finite(self, values):
        """Values (n,) as they are; where one is infinite, they are refused."""
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise CounterweightError(
                f"{self.where}, {self.place(infinite[0])}: the column {self.name!r} is infinite in "
                f"{len(infinite)} rows (this is the first): correct them, or leave them empty."
            )
        return values


def _flags(found):
    """Arrow's true and false as a writable array of numpy."""
    return found.to_numpy(zero_copy_only=False).astype(bool)


def given_values(cell, asked):
    """A column that came with a type: its kind, its values, what was made of it."""
    values, kind, is_ = cell.values, cell.values.type, pa.types
    if asked == "text":
        return "text", as_text(values), "kept as text", {}
    if is_.is_boolean(kind):
        return "boolean", as_integers(values.cast(pa.int64())), "true/false as 1/0", {}
    if is_.is_integer(kind) or (is_.is_decimal(kind) and kind.scale <= 0):
        least, most = (abs(int(value)) for value in pc.min_max(values).as_py().values())
        if max(least, most) >= LONG:
            return "text", as_text(values), _LONG_NOTE, {}
        return "number", as_integers(values.cast(pa.int64())), "", {}
    days, note = as_days(values)
    if days is not None:
        return ("number" if is_.is_time(kind) or is_.is_duration(kind) else "date"), days, note, {}
    return "number", cell.finite(as_floats(values)), "", {}


def interpreted(cell, asked=None, format_=None, given=None, comma=None):
    """What a column of text is: its kind, its values (n,), what was made of it, its form.

    `asked` is ``"dates"``, ``"numbers"`` or ``"text"``, where the person says so; `format_` that of
    the dates, of numbers what `given` is, of this column alone; `given` has ``decimal`` and
    ``thousands``, where the person says them; `comma` says whether other columns of the table have
    decimal commas.
    """
    if asked == "text":
        return "text", cell.texts(), "kept as text", {}
    if asked == "dates":
        return _asked_dates(cell, format_)
    plain, signs, missing = cell.without_signs()
    form = formats.boolean_form(plain.words) if asked is None else None
    if form:
        ones, _ = formats.booleans(plain.words, form)
        note = _joined(f"{form['true']}/{form['false']} as 1/0".lower(), signs)
        return "boolean", plain.integers(ones), note, form | missing
    found, blanks = cell.without(formats.BLANKS)
    given = format_ or given
    if forms := formats.number_forms(found.words, given):
        return _numbers(found, forms, blanks, asked, comma)
    if asked == "numbers":
        _, right, _ = formats.numbers(found.words, formats.merged({}, given or {}))
        found.refuse(right, EXPECTED["number"], "correct it, or leave it empty")
    if forms := formats.date_forms(found.words):
        return _dates(found, forms, blanks)
    hours, right, _ = formats.numbers(found.words, formats.CLOCK)
    if len(right) and right.all():
        note = _joined("times of day as hours", blanks)
        return "number", found.spread(hours, np.nan), note, formats.CLOCK
    if given and formats.number_forms(found.words):
        cell.doubts.append(
            "its numbers are not written as reading says, and are kept as text: correct reading"
        )
    return "text", plain.texts(), _joined(signs, _nearly(found, given)), missing


def alike(cell, kind, form, said=False):
    """The values (n,) of a column of new rows, as those of the fit were.

    Numbers and dates are float64, booleans Int64, text ``str``. `form` is how its texts were read
    in the fit, {} where nothing was said; `said`, whether a person says how numbers are written.
    """
    form = dict(form)
    if codes := form.pop("missing", ()):
        cell, _ = cell.blanked(codes)
    if kind == "text":
        return _codes(cell, form.get("digits"))
    if cell.empty:
        missing = pa.nulls(len(cell.values), pa.int64())
        return as_integers(missing) if kind == "boolean" else as_floats(missing)
    if cell.words is None:
        return _typed_alike(cell, kind, form)
    todo = f"correct it, or leave it empty{_shown(form)}"
    if kind == "boolean":
        ones, right = formats.booleans(cell.words, form)
        if not right.all():
            cell.refuse(right, EXPECTED[kind], todo)
        return cell.integers(ones)
    cell, _ = cell.without(formats.BLANKS, all_=True)
    if kind == "date":
        values, right = formats.dates(cell.words, form or {"order": "ymd"})
        if not right.all():
            # A table whose dates were typed says nothing of texts: they say it by themselves.
            forms = [{"order": "ymd"}] if form else formats.date_forms(cell.words)
            others, also = formats.dates(cell.words, forms[0]) if len(forms) == 1 else (0, False)
            values, right = np.where(right, values, others), right | also
            todo = todo if form else "write dates as 2024-12-31"
    else:
        values, right, _ = formats.numbers(cell.words, form or formats.PLAIN_FORM)
        if not right.any() and form.get("sign"):
            values, right, _ = formats.numbers(cell.words, form | {"sign": ""})
        odd = "" if said or cell.empty else formats.contradicted(cell.words, form)
        if odd and form:
            raise Unclear(
                f"{cell.where}: the column {cell.name!r} holds {odd!r}, and three digits wherever "
                f"it has a {MARKS[form['decimal']]}, as between thousands{_shown(form)}: write "
                "numbers as in the rows of the fit."
            )
        if odd:
            raise Unclear(
                f"{cell.where}: the column {cell.name!r} holds {odd!r}, and others without a "
                'point: say reading: {decimal: ","} if points stand between thousands, or reading: '
                '{decimal: "."} if not.'
            )
        if not right.any():
            ones, right = formats.booleans(cell.words, {})
            values = ones.astype(float)
    if not right.all():
        comma = formats.PLAIN_FORM | {"decimal": ","}
        if kind == "number" and not form and formats.numbers(cell.words, comma)[1].all():
            todo = (
                "these look like decimal commas: write points, as in the rows of the fit; or say "
                'reading: {decimal: ","} if all files that are read have commas'
            )
        cell.refuse(right, EXPECTED[kind], todo)
    return cell.finite(cell.spread(values, np.nan))


_LONG_NOTE = "integers of more than 15 digits, kept as text: names of things rather than numbers"


def _numbers(cell, forms, blanks, asked, comma):
    """As `interpreted`, of a column whose words are numbers in all of the `forms`."""
    form, note = forms[0], ""
    mark, bare, round_ = formats.doubtful(cell.words, forms)
    if mark:
        key, note = _meaning(cell, mark, bare, round_, form["sign"], comma)
        cell.doubts += [note] if note else []
        form = next(one for one in forms if one[key] == mark)
    if not note and (form["decimal"] == "," or form["thousands"]):
        note = f"numbers written as 1{form['thousands'] or '.'}234{form['decimal']}5"
    values, _, whole = formats.numbers(cell.words, form)
    if whole and asked is None:
        if pc.any(pc.match_substring_regex(cell.words, r"^[+-]?0\d")).as_py():
            lengths = pc.unique(pc.utf8_length(cell.words)).to_pylist()
            cell.doubts += _zeros_lost(cell) if len(lengths) > 1 else []
            form = {"digits": lengths[0] if len(lengths) == 1 else 0}
            return "text", cell.texts(), "numbers with leading zeros, kept as text", form
        if (np.abs(values) >= LONG).any():
            return "text", cell.texts(), _LONG_NOTE, {}
    note = _joined(f"numbers without their {form['sign']}" if form["sign"] else "", note, blanks)
    cell.finite(cell.spread(values, np.nan))
    exact = whole and not (np.abs(values) >= 2**53).any()
    made = cell.integers(values.astype(np.int64)) if exact else cell.spread(values, np.nan)
    return "number", made, note, {} if form == formats.PLAIN_FORM else form


def _meaning(cell, mark, bare, round_, sign, comma):
    """What a mark before three digits stands before, where it could be either: a key of the form.

    What the other columns say of their decimals decides, unless the column itself speaks against
    it: prices have no three decimals, and whoever writes 3.600 for 3.6 does not write 977 for
    977.000. A comma is between thousands where anything in the column speaks for that.
    """
    others = {True: ",", False: ".", None: ""}[comma]
    price = sign not in ("", "%")
    if others and others != mark:
        return "thousands", ""
    if others and not price and not (bare and round_):
        return "decimal", ""
    shown = f"1{mark}234"
    if not others and mark == "," and (price or bare or round_):
        told = f"{shown} read as 1234, which could be either: say reading.decimal where it is the "
        return "thousands", f"{told}other"
    marked = (word for word in cell.words.to_pylist() if mark in word)
    name, other = cell.name, {".": ",", ",": "."}[mark]
    raise Unclear(
        f"{cell.where}: wherever the column {name!r} has a {MARKS[mark]}, three digits follow (as "
        f"in {next(marked)!r}), so it could stand between thousands or before decimals: say which "
        f'by columns: {{numbers: [{{{name}: {{decimal: "{other}"}}}}]}} if {shown} is 1234, or '
        f'{{{name}: {{decimal: "{mark}"}}}} if not; reading: {{decimal: ...}} is for all columns.'
    )


def _asked_dates(cell, format_):
    found, blanks = cell.without(formats.BLANKS)
    todo = "correct it, leave it empty, or say the format: columns.dates: [{column: '%d/%m/%Y'}]"
    forms = [{"format": format_}] if format_ else formats.date_forms(found.words, compact=True)
    if not forms:
        tried = [formats.dates(found.words, {"order": order})[1] for order in formats.ORDERS]
        found.refuse(max(tried, key=np.sum), EXPECTED["date"], todo)
    if format_:
        right = formats.dates(found.words, forms[0])[1]
        if not right.all():
            found.refuse(right, f"a date written as {format_} is", "correct it or the format")
    return _dates(found, forms, blanks)


def _dates(cell, forms, blanks):
    if len(forms) > 1 and "order" in forms[0]:
        word = cell.words[0].as_py()
        raise Unclear(
            f"{cell.where}: the column {cell.name!r} has dates whose day and month could be either "
            f"(such as {word!r}): say which under columns.dates, as {{{cell.name}: '%d/%m/%Y'}} or "
            f"{{{cell.name}: '%m/%d/%Y'}}."
        )
    form, note = forms[0], "dates as days since 1970-01-01"
    if form.get("order") in ("dmy", "mdy"):
        note += f", {'day' if form['order'] == 'dmy' else 'month'} first"
    days, _ = formats.dates(cell.words, form)
    if (days % 1).any():
        note = note.replace("dates", "dates and times", 1)
    return "date", cell.spread(days, np.nan), _joined(note, blanks), form


def _nearly(cell, given):
    """What a column of text nearly is, "" where it is nothing else."""
    found = {"numbers": formats.mostly_numbers(cell.words, given)}
    orders = [formats.dates(cell.words, {"order": order})[1] for order in formats.ORDERS]
    found["dates"] = max(orders, key=np.sum)
    for plural, right in found.items():
        share = cell.spread(right, False).sum() / max((cell.codes >= 0).sum(), 1)
        if NEARLY[plural] <= share < 1:
            count, word, place = cell.wrong(right)
            said = (
                f"{count} fields are no {plural}" if count > 1 else f"1 field is no {plural[:-1]}"
            )
            cell.doubts.append(
                f"kept as text: {said} like the others (first: {word[:60]!r} in {place}); empty or "
                f"correct what is wrong where it is a column of {plural}"
            )
            return cell.doubts[-1]
    return ""


def _zeros_lost(cell):
    """A sentence where codes with leading zeros are of one length, and shorter ones have none."""
    digits = pc.utf8_length(cell.words).to_numpy(zero_copy_only=False)
    zero = _flags(pc.starts_with(cell.words, "0"))
    whole = zero | (digits >= digits.max())
    if whole.all() or (digits[zero] < digits.max()).any():
        return []
    count, word, place = cell.wrong(whole)
    fields = f"{count} fields have" if count > 1 else "1 field has"
    return [
        f"{fields} fewer than {digits.max()} digits, and leading zeros stand in longer ones alone "
        f"(first: {word!r} in {place}): as if zeros were lost, so that these are told from others"
    ]


def _codes(cell, digits):
    """Values as text; of codes with leading zeros, of `digits` each, shorter ones have lost these.

    With 0 digits codes differ in length, and numbers are refused; None: no such codes.
    """
    texts, is_ = as_text(cell.values) if cell.words is None else cell.texts(), pa.types
    if digits is None:
        return texts
    if digits:
        return texts.where(
            ~texts.str.isdecimal().fillna(False).astype(bool), texts.str.zfill(digits)
        )
    if is_.is_integer(cell.values.type) or is_.is_floating(cell.values.type):
        raise CounterweightError(
            f"{cell.where}: the column {cell.name!r} holds numbers where the fit had codes with "
            f"leading zeros, which are lost: read it as text, as by dtype={{{cell.name!r}: str}} "
            "of pandas.read_csv."
        )
    return texts


def _typed_alike(cell, kind, form):
    values, is_ = cell.values, pa.types
    of = (is_.is_integer, is_.is_floating, is_.is_decimal, is_.is_boolean)
    number = any(is_kind(values.type) for is_kind in of)
    days, _ = as_days(values)
    clock = is_.is_time(values.type) or is_.is_duration(values.type)
    if days is not None and (kind == "number" if clock else kind == "date"):
        return days
    if kind == "date" and number and "format" in form:
        return alike(cell.as_texts(), kind, form)
    if kind == "number" and number:
        return cell.finite(as_floats(values))
    if kind == "boolean" and number:
        found = as_floats(values)
        right = np.isin(found, [0, 1]) | np.isnan(found)
        if right.all():
            return as_integers(values.cast(pa.float64()).cast(pa.int64()))
        row = int(right.argmin())
        raise CounterweightError(
            f"{cell.where}, {cell.place(row)}: the column {cell.name!r} holds {found[row]:g} where "
            f"{EXPECTED[kind]} expected: correct it, or leave it empty."
        )
    raise CounterweightError(
        f"{cell.where}: the column {cell.name!r} is of the type {values.type} where "
        f"{EXPECTED[kind]} expected: write it as in the table of the fit."
    )


def _shown(form):
    """How a form writes what it reads, for a sentence."""
    if form.get("decimal") == "," or form.get("thousands"):
        return f" (numbers are written as 1{form['thousands']}234{form['decimal']}5 here)"
    if "order" in form or "format" in form:
        told = form.get("format") or "-".join(
            {"y": "year", "m": "month", "d": "day"}[c] for c in form["order"]
        )
        return f" (dates are written as {told} here)"
    return ""


def _as_missing(told):
    return f"{listed(map(repr, told))} as missing"


def _joined(*notes):
    return "; ".join(note for note in notes if note)


def arrow_values(where, name, values):
    """A column as an Arrow array of text, or of what it was typed as."""
    try:
        if not isinstance(values, pa.ChunkedArray | pa.Array):
            values = pa.array(plain_values(values), from_pandas=True)
        values = values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
        if pa.types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        kind, is_ = values.type, pa.types
        texts = (is_.is_null, is_.is_large_string, is_.is_string_view, is_.is_binary)
        if any(is_text(kind) for is_text in (*texts, is_.is_large_binary)):
            values = values.cast(pa.string())
        elif is_.is_nested(kind):
            raise pa.ArrowTypeError(str(kind))
    except (pa.ArrowException, ValueError, TypeError) as error:
        told = getattr(values, "type", None) or getattr(values, "dtype", "mixed")
        raise CounterweightError(
            f"{where}: the column {name!r} is neither numbers nor text ({told}{_odd(values)}): "
            "write it as numbers or text, or put it under columns.ignore."
        ) from error
    return values


def plain_values(values):
    """A column of pandas whose type Arrow has not: periods as dates, sparse ones in full, and
    intervals as texts; others as they are."""
    kind = getattr(values, "dtype", None)
    kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    if str(kind).startswith("period"):
        return values.astype(kind).dt.to_timestamp()
    if str(kind).startswith("interval"):
        return values.astype(str).where(values.notna(), None)
    return values.sparse.to_dense() if str(kind).startswith("Sparse") else values


def _odd(values):
    """The first value of another kind than most, for a sentence; "" where all are of one."""
    own = values.to_pylist() if hasattr(values, "to_pylist") else list(values)
    there = [(at, one) for at, one in enumerate(own) if str(one) not in ("None", "nan", "<NA>")]
    kinds = [float if isinstance(one, (int, float, np.number)) else type(one) for _, one in there]
    if len({*kinds}) < 2:
        return ""
    most = max(dict.fromkeys(kinds), key=kinds.count)
    at, one = next(pair for pair, kind in zip(there, kinds, strict=True) if kind is not most)
    return f"; row {at}, counted from 0, has {str(one)[:40]!r}, unlike most"


def as_days(values):
    """Dates and times as days, times of day as hours, and what to say; None for other types."""
    is_, kind = pa.types, values.type
    if is_.is_date(kind):
        days = as_floats(values.cast(pa.date32()).cast(pa.int32()))
        return days, "dates as days since 1970-01-01"
    if not (is_.is_timestamp(kind) or is_.is_duration(kind) or is_.is_time(kind)):
        return None, ""
    parts = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    found = as_floats(values.cast(pa.int32() if is_.is_time32(kind) else pa.int64())) / parts
    if is_.is_time(kind):
        return found / 3600, "times of day as hours"
    if is_.is_duration(kind):
        return found / 86400, "durations as days"
    return found / 86400, f"dates and times as days since 1970-01-01{' (UTC)' if kind.tz else ''}"


def as_floats(values):
    return values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def as_integers(values):
    """Arrow integers as Int64."""
    import pandas as pd

    missing = values.is_null().to_numpy(zero_copy_only=False)
    return pd.arrays.IntegerArray(
        values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64), missing.astype(bool)
    )


def as_text(values):
    """Values of any type as text; whole numbers without a point."""
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        with np.errstate(invalid="ignore"):
            values = values.cast(pa.decimal128(38, 0), safe=False)
    text = values.cast(pa.string())
    return (text if isinstance(text, pa.ChunkedArray) else pa.chunked_array([text])).to_pandas()
