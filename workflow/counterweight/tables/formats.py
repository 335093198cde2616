"""What the fields of a column of text are: numbers, yes and no, dates, times of day.

Every function takes the distinct words of a column, without the missing ones and without the
blanks around them. A *form* says how words are to be read, so that new rows are read the same
way; it is a dict of texts that JSON can keep:

=========  ======================================================================
number     ``decimal``, ``thousands`` (the character, or ""), ``sign`` (``"€"``, ``"%"``, or ""),
           or ``clock`` for times of day in hours
boolean    ``true``, ``false``: the words for them
text       nothing
date       ``order`` of year, month and day (``"dmy"``), or ``format`` as of `strptime`
all        ``missing``: signs and codes that stand for missing values
=========  ======================================================================
"""

import re
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterweight.errors import CounterweightError

#: Words for true and false, in any case; what Excel writes in other languages, too.
TRUTHS = (
    *(("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n"), ("ja", "nein"), ("j", "n")),
    *(("wahr", "falsch"), ("oui", "non"), ("vrai", "faux"), ("sí", "no"), ("si", "no")),
    *(("verdadero", "falso"), ("sì", "no"), ("vero", "falso"), ("sim", "não"), ("sim", "nao")),
    *(("verdadeiro", "falso"), ("ja", "nee"), ("waar", "onwaar"), ("ja", "nej"), ("ja", "nei")),
    *(("kyllä", "ei"), ("tak", "nie"), ("prawda", "fałsz"), ("ano", "ne"), ("áno", "nie")),
    *(("igen", "nem"), ("da", "nu"), ("da", "ne"), ("да", "нет"), ("так", "ні"), ("да", "не")),
    *(("ναι", "όχι"), ("evet", "hayır"), ("ya", "tidak"), ("是", "否"), ("はい", "いいえ")),
)
#: Those that are understood without their opposite.
PLAIN_TRUE = ("true", "yes")
#: Words that stand for missing values in a column of numbers or dates.
BLANKS = ("?", ".", "-", "--", "n.a.", "na", "null", "nan", "none")
#: Signs that stand for missing values in a column of texts, where words may mean something.
NO_TEXT = ("?", ".", "-", "--", "n.a.")
#: Decimal sign and sign between thousands; blanks between thousands may be of any kind.
PLAIN, ENGLISH, GERMAN = (".", ""), (".", ","), (",", ".")
NUMBERS = (PLAIN, ENGLISH, GERMAN, (",", " "), (".", " "), (".", "'"), (".", "_"))
#: Further pairs, where a person says one of the two.
SAID = ((",", ""), (",", "'"))
#: Units, the longer before those that they contain; in capitals or not.
SIGNS = (
    *("R$", "US$", "$", "€", "£", "¥", "₹", "₽", "₺", "₩", "₪", "₴", "₫", "zł", "Kč", "Ft", "kr."),
    *("kr", "Fr.", "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "AUD", "CAD", "SEK", "NOK"),
    *("DKK", "PLN", "CZK", "HUF", "BRL", "MXN", "ZAR", "TRY", "%"),
)
PLAIN_FORM = {"decimal": ".", "thousands": "", "sign": ""}
GERMAN_FORM = {"decimal": GERMAN[0], "thousands": GERMAN[1], "sign": ""}
#: Form of times of day.
CLOCK = {"clock": "hours"}
_BLANK = "[ \u00a0\u2007\u2009\u202f]"
_GROUPS = {" ": _BLANK, "'": "['\u2019]"}
_TIME = (
    r"(?:[T ] *(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))? *(?P<p>[AaPp][Mm])?"
    r" *(?P<z>Z|UTC|[+-]\d{2}:?\d{2})?)?$"
)
#: Signs of a format that are of a week, and of a day of it.
WEEKS, WEEKDAYS = ("%V", "%W", "%U"), ("%a", "%A", "%u", "%w")
ORDERS = {
    "ymd": r"^(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})" + _TIME,
    "dmy": r"^(?P<d>\d{1,2})[-/.](?P<m>\d{1,2})[-/.](?P<y>\d{4})" + _TIME,
    "mdy": r"^(?P<m>\d{1,2})[-/.](?P<d>\d{1,2})[-/.](?P<y>\d{4})" + _TIME,
}
#: Formats with the names of months, which no order can confuse.
MONTHS = ("%d-%b-%Y", "%d%b%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
_MONTHS = r"(?i)^(\d{1,2}[- ]?[a-z]{3,9}[- ]?\d{4}|[a-z]{3,9} \d{1,2}, \d{4})$"
_CLOCK = r"^(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2}(?:\.\d+)?))?$"


def number_forms(words, given=None):
    """The forms in which all words are numbers; `given` is what the person says of them."""
    sign = sign_of(words[0].as_py()) if len(words) else ""
    forms = [{"decimal": d, "thousands": t, "sign": sign} for d, t in _pairs(given or {})]
    if all(_matches(some, r"^\(.*\)$").all() for some in (words[:100], words)):
        return []  # numbers in brackets are negative ones only among others
    if PLAIN_FORM in forms:
        _, right, whole = numbers(words, PLAIN_FORM)
        if right.all():
            # What is a number as it stands can only be meant with points between thousands.
            forms = [PLAIN_FORM] + [GERMAN_FORM] * (GERMAN_FORM in forms and not whole)
    # Most forms fail on a few words already.
    for some in (words[:100], words):
        forms = [form for form in forms if bool(numbers(some, form)[1].all())]
    return forms


def sign_of(word):
    """The unit in a word, "" where it has none."""
    return next((sign for sign in SIGNS if sign.lower() in word.lower()), "")


def mostly_numbers(words, given=None):
    """Which words are numbers, in the form and with or without the unit in which most are."""
    some = words[:1000]
    signs = dict.fromkeys(["", *map(sign_of, some.to_pylist())])
    best, most = np.zeros(len(words), bool), 0
    for decimal, thousands in _pairs(given or {}):
        for sign in signs:
            form = {"decimal": decimal, "thousands": thousands, "sign": sign}
            if (count := numbers(some, form)[1].sum()) > most:
                best, most = numbers(words, form)[1], count
    return best


def _pairs(given):
    """Decimal marks and marks between thousands that agree with what a person says."""
    if not given:
        return NUMBERS
    said = (given.get("decimal", "."), given.get("thousands", ""))
    if len(given) == 2:
        return [said]
    one = 0 if "decimal" in given else 1
    return [pair for pair in NUMBERS + SAID if pair[one] == said[one]] or [said]


def merged(form, given):
    """A form of numbers with what a person says of another table.

    The marks stay different; where decimals alone are said, the other mark may stand between
    thousands.
    """
    made, other = PLAIN_FORM | form | given, {".": ",", ",": "."}
    if "decimal" in given and "thousands" not in given and made["thousands"] in ("", ".", ","):
        made["thousands"] = other[made["decimal"]]
    if made["decimal"] == made["thousands"]:
        made["decimal"] = other[made["thousands"]]
    return made


def doubtful(words, forms):
    """The mark that could stand before decimals or between thousands, "" where none could.

    It does where one of the forms takes it for either, and so before exactly three digits wherever
    it stands, and never behind a 0 alone or behind more than three digits. Then, whether some words
    are without it, and whether some with it end in a 0.
    """
    for mark in (".", ","):
        marked = pc.match_substring(words, mark).to_numpy(zero_copy_only=False).astype(bool)
        meant = {key for form in forms for key, value in form.items() if value == mark}
        if marked.any() and meant >= {"decimal", "thousands"}:
            return mark, not marked.all(), bool((marked & _matches(words, r"0\D*$")).any())
    return "", False, False


def contradicted(words, form):
    """A word that can hardly be what a form makes of it, "" where there is none.

    Wherever there is a mark of decimals, three digits follow; and some end in a 0, and some words
    have no mark: who writes 3.600 for 3.6 does not write 977 for 977.000. Or they are prices, of
    which the form has another mark between thousands: these have no three decimals.
    """
    form = form or PLAIN_FORM
    mark, bare, round_ = doubtful(words, number_forms(words))
    price = form.get("thousands") and form.get("sign", "") not in ("", "%")
    if not mark or mark != form.get("decimal") or not (price or (bare and round_)):
        return ""
    return next(word for word in words.to_pylist() if mark in word)


def numbers(words, form):
    """Words as numbers (k,), times of day as hours; which are; whether all are integers."""
    if "clock" in form:
        parts, right = _parts(words, _CLOCK)
        hours = parts["H"] + parts["M"] / 60 + parts["S"] / 3600
        right &= (parts["H"] < 24) & (parts["M"] < 60) & (parts["S"] < 60)
        return np.where(right, hours, np.nan), right, False
    if form == PLAIN_FORM:
        with suppress(pa.ArrowInvalid):
            values = words.cast(pa.float64()).to_numpy(zero_copy_only=False)
            return values + 0.0, np.ones(len(words), bool), _whole(words)  # -0 is 0
    # Brackets and the sign of typesetters are a minus.
    bare, sign = pc.replace_substring(words, "\u2212", "-"), form.get("sign", "")
    bare = pc.replace_substring_regex(bare, r"^\((\D*\d.*)\)$", r"-\1")
    right = np.ones(len(words), bool)
    if sign:
        unit = f"(?i:{re.escape(sign)})"
        right = _matches(bare, rf"^[+-]? *{unit}|{unit}$")
        around = rf"{_BLANK}*{unit}{_BLANK}*"
        bare = pc.replace_substring_regex(bare, around, "", max_replacements=1)
    # The dash of a price without cents.
    bare = pc.replace_substring_regex(bare, "(\\d)[.,][-\u2013\u2014]{1,2}$", r"\1")
    mark, point = form["thousands"], re.escape(form["decimal"])
    group = _GROUPS.get(mark, re.escape(mark))
    grouped = rf"|[1-9]\d{{0,2}}(?:{group}\d{{3}})+" if mark else ""
    if mark == ",":
        grouped += r"|[1-9]\d?(?:,\d{2})+,\d{3}"  # lakh and crore
    digits = rf"(?:(?:\d+{grouped})(?:{point}\d*)?|{point}\d+)(?:[eE][+-]?\d+)?"
    right &= _matches(bare, rf"^[+-]?(?:{digits}|(?i:inf|infinity))$")
    if mark:
        bare = pc.replace_substring_regex(bare, group, "")
    if form["decimal"] != ".":
        bare = pc.replace_substring(bare, form["decimal"], ".")
    bare = pc.replace_substring_regex(bare, r"^\+", "")
    values = pc.if_else(pa.array(right), bare, None).cast(pa.float64())
    values = values.to_numpy(zero_copy_only=False) + 0.0
    return values, right, bool(right.all()) and _whole(bare)


def boolean_form(words):
    """The words for true and false that a column consists of, or None."""
    spelled = {word.lower(): word for word in words.to_pylist()} if len(words) <= 8 else {"": ""}
    found = set(spelled)
    for true, false in TRUTHS:
        # A word alone may mean anything in most languages.
        if found == {true, false} or (found and found < {true, false} and true in PLAIN_TRUE):
            return {"true": spelled.get(true, true), "false": spelled.get(false, false)}
    return None


def booleans(words, form):
    """Words as 1 and 0, and whether each is one of the words for them."""
    low = pc.utf8_lower(words)
    pairs = [(form["true"].lower(), form["false"].lower())] if form.get("true") else []
    true, false = map(set, zip(*[*pairs, *TRUTHS, ("1", "0"), ("1.0", "0.0")], strict=True))
    yes = pc.is_in(low, pa.array(sorted(true))).to_numpy(zero_copy_only=False)
    no = pc.is_in(low, pa.array(sorted(false))).to_numpy(zero_copy_only=False)
    return yes.astype(np.int64), yes | no


def date_forms(words, compact=False):
    """The forms in which all words are dates, or dates with times; eight digits if `compact`.

    More than one where day and month could be either.
    """
    if not len(words):
        return []
    forms = [{"order": order} for order in ORDERS]
    if _matches(words[:1], _MONTHS)[0]:
        forms += [{"format": format_} for format_ in MONTHS]
    if compact:
        forms.append({"format": "%Y%m%d"})
    for some in (words[:100], words):
        forms = [form for form in forms if bool(dates(some, form)[1].all())]
    if len(forms) > 1 and "order" in forms[0]:
        # Between points the day comes first; where both are equal nothing is left to ask.
        one, two = (dates(words, form)[0] for form in forms[:2])
        if (one == two).all() or _matches(words, r"^\d+\.\d+\.").all():
            return forms[:1]
    return forms


def dates(words, form):
    """Words as days since 1970-01-01 (times as fractions, in UTC), and whether each is a date."""
    import pandas as pd

    if "format" in form:
        series, told = pd.Series(words.to_pandas(), dtype="str"), form["format"]
        if any(week in told for week in WEEKS) and not any(day in told for day in WEEKDAYS):
            # A week is its Monday.
            series, told = series + " 1", told + (" %u" if "%V" in told else " %w")
        try:
            moments = pd.to_datetime(series, format=told, errors="coerce", utc=True)
        except ValueError as error:
            raise CounterweightError(
                f"columns.dates: nothing can be read by the format {form['format']!r} ({error}): "
                "correct it."
            ) from error
        days = ((moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)).to_numpy(float)
        return days, ~np.isnan(days)
    parts, right = _parts(words, ORDERS[form["order"]])
    months = ((parts["y"] - 1970) * 12 + parts["m"] - 1).astype(np.int64)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    following = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    right &= (parts["m"] >= 1) & (parts["m"] <= 12) & (parts["d"] >= 1)
    right &= parts["d"] <= following - first
    right &= (parts["H"] < 24) & (parts["M"] < 60) & (parts["S"] < 61)
    hours = parts["H"] + parts["p"] + parts["M"] / 60 + parts["S"] / 3600 - parts["z"]
    return np.where(right, first + parts["d"] - 1 + hours / 24, np.nan), right


def _whole(words):
    """Whether all words are digits behind a sign."""
    return all(bool(_matches(some, r"^[+-]?\d+$").all()) for some in (words[:100], words))


def _matches(words, pattern):
    return pc.match_substring_regex(words, pattern).to_numpy(zero_copy_only=False).astype(bool)


def _parts(words, pattern):
    """Numbers of the named groups of a pattern (0 where empty), and which words match."""
    found = pc.extract_regex(words, pattern)
    right = found.is_valid().to_numpy(zero_copy_only=False).astype(bool)
    parts = {name: pc.struct_field(found, name).fill_null("") for name in found.type.names}
    made = {name: _floats(texts).astype(float) for name, texts in parts.items() if name not in "pz"}
    if "p" in parts:
        afternoon = _matches(parts["p"], "(?i)pm")
        twelve = made["H"] == 12
        noon = np.where(afternoon & ~twelve, 12.0, 0.0)
        made["p"] = np.where(_matches(parts["p"], "(?i)am") & twelve, -12.0, noon)
        zone = pc.replace_substring_regex(parts["z"], "Z|UTC|:", "")
        minus = np.where(_matches(zone, "^-"), -1.0, 1.0)
        hours, minutes = (_floats(pc.utf8_slice_codeunits(zone, a, a + 2)) for a in (1, 3))
        made["z"] = minus * (hours + minutes / 60)
    return made, right


def _floats(texts):
    filled = pc.if_else(pc.equal(texts, ""), "0", texts)
    return filled.cast(pa.float64()).to_numpy(zero_copy_only=False)
