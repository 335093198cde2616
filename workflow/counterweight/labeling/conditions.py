"""Values as people write them in a config, found in typed columns; conditions, and named data sets.

A config may say yes of a column that was read as 1 and 0, or of one whose text is "Yes".
"""

import difflib
import keyword
import logging

import numpy as np
from pandas.api.types import is_numeric_dtype

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Option
from counterweight.labeling.columns import require
from counterweight.numerics.zero_rejection import drawing_order
from counterweight.tables.fields import TRUTHS

log = logging.getLogger("counterweight")
#: Data sets that every study has; no other may take their names.
BUILTIN = ("labeled", "unlabeled", "everyone")
#: What a condition on a column may ask; `at_least` and `below` go together, too.
TESTS = ("value", "values", "at_least", "below")
TRUE, FALSE = (
    tuple(dict.fromkeys([*words, one]))
    for words, one in zip(zip(*TRUTHS, strict=True), "10", strict=True)
)
_VALUES = ["string", "number", "boolean", "array"]
#: Options of rules that tell a positive value from others; see `told_apart`.
NEGATIVE = Option(None, "Value that counts as 0, or a list; null for the only other.", type=_VALUES, null=True)  # fmt: skip
MISSING = Option(None,
    "Value that stands for unknown, or a list: as if the field were empty. [] if there is none, and all others count as 0; null "
    "where there is one other value only.", type=_VALUES, null=True)  # fmt: skip


def kinds_of(frame):
    """Whether each column of a typed table is ``text`` or ``number``, by column."""
    import pandas as pd

    return {
        name: "number" if pd.api.types.is_numeric_dtype(dtype) else "text"
        for name, dtype in frame.dtypes.items()
    }


def holds(frame, types, column, value):
    """Rows whose column has a value.

    Parameters
    ----------
    value : str, bool, number or list of these
        A list holds where any of them does.

    Returns
    -------
    numpy.ndarray of bool (n,)
        False where the value is missing.
    """
    require(frame, [column], "config's condition on a column")
    values = frame[column]
    found = equal(values, value, text=types.get(column) == "text")
    if not found.any():
        seen = sorted(values.dropna().astype(str).unique())[:20]
        if types.get(column) == "boolean":
            seen = [{"0": "no", "1": "yes"}[value] for value in seen]
        seen = listed(seen, 8)
        raise CounterweightError(
            f"No row has {value!r} in the column {column!r}, whose values are {seen}: correct the "
            "value in the config."
        )
    return found


def equal(values, value, *, text):
    """As `holds`, of the values of a column, which may nowhere be so."""
    wanted = value if isinstance(value, list) else [value]
    if text:
        words = {str(one).strip() for one in wanted} | {
            word
            for one in wanted
            if isinstance(one, bool)
            for spelled in (TRUE if one else FALSE)
            for word in (spelled, spelled.capitalize(), spelled.upper())
        }
        return values.isin(words).to_numpy(bool)
    numbers = [as_number(one) for one in wanted]
    return np.isin(values.to_numpy(dtype=float, na_value=np.nan), numbers)


def told_apart(values, positive, negative=None, missing=None, *, text, what, key, blanks=True):
    """1 where a column has its positive value, 0 where it has another, NaN where that is missing.

    Codes of unknown, such as 9 or ``unknown``, would pass for a 0: several values beside the
    positive one are refused until it is said what they are.

    Parameters
    ----------
    values : pandas.Series (n,)
    positive, negative, missing : value or list of values
        `negative`: what is a 0; anything else is then refused. `missing`: what stands for an
        unknown value, all else is a 0; [] where nothing does. None where it is not said.
    text : bool
        Whether the column is of texts.
    what : str
        The column, for a sentence, such as ``"outcome 'default'"``.
    key : str
        The key of the config under which these stand.
    blanks : bool
        Whether `missing` may be said at all.
    """
    unknown = values.isna().to_numpy(bool)
    if missing is not None:
        unknown = unknown | equal(values, missing, text=text)
    ones = equal(values, positive, text=text) & ~unknown
    rest = ~ones & ~unknown
    if negative is not None:
        strange = values[rest & ~equal(values, negative, text=text)]
        if len(strange):
            raise CounterweightError(
                f"The {what} is {listed(_shown(strange), 8)} in {len(strange)} rows, which {key} "
                f"does not name: put it under {key}.negative"
                + (f", or under {key}.missing." if blanks else ", or leave such rows out.")
            )
    codes = missing if isinstance(missing, list) else [missing]
    lacking = [one for one in codes if not equal(values, one, text=text).any()]
    others = _shown(values[rest])
    if len(others) > 1 and negative is None and (missing is None or lacking):
        said = "" if missing is None else f" (no row has {listed(lacking)} of {key}.missing)"
        raise CounterweightError(
            f"The {what} has {len(others)} values beside {positive!r}: {listed(others, 8)}{said}. "
            f"Say which are a 0 by {key}.negative, as [{others[0]}], or "
            + (
                f"which stand for unknown by {key}.missing ([] if none does)."
                if blanks
                else "leave rows out whose reward nobody knows."
            )
        )
    return np.where(unknown, np.nan, ones.astype(float))


def _shown(values):
    """The different values of a column, in print and in order."""
    there = sorted(values.dropna().unique(), key=lambda one: (isinstance(one, str), one))
    return [one if isinstance(one, str) else f"{one:g}" for one in there]


def like_codes(values):
    """Which numbers look like codes of unknown: -9, 9, 99, -999, 888 and the like.

    Shapes: values (n,).
    """
    size = np.abs(np.asarray(values, float))
    found = np.isin(size, [7, 8, 9]) | np.isin(np.asarray(values, float), [-1.0])
    for digits in range(2, 7):
        top = 10**digits
        found |= np.isin(size, [top - 1, top - 2, top - 3, 8 * (top - 1) // 9, 7 * (top - 1) // 9])
    return found


def as_number(value):
    """A value of a config as the number that a typed column has for it; NaN for none."""
    word = str(value).strip().lower()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    try:
        return float(word)
    except ValueError:
        return np.nan


def sample_masks(frame, spec, rng):
    """Rows of each named data set; a row may be in several.

    A condition is ``column`` with ``value`` (equal), ``values`` (one of them), or ``at_least``
    and ``below`` (numbers, one or both), or ``all``, a list of conditions that hold at once.
    Rows where the column is missing do not meet it. With ``most`` a data set is at most so
    many of its rows, drawn at random: the draw of a row is a hash of its ``row`` id, the name
    of the data set and one number from `rng`, so it depends neither on the order of the rows
    nor on what other data sets there are.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows; ``most`` needs ``row``.
    spec : mapping of str to mapping
        Condition by name of the data set.
    rng : numpy.random.Generator or None
        One number is drawn, whatever `spec` says; None where nothing is to be drawn.

    Returns
    -------
    dict of str to numpy.ndarray of bool, shape (n,)
        In the order of `spec`.
    """
    draw = None if rng is None else int(rng.integers(2**63))
    masks = {}
    for name, condition in spec.items():
        where = f"samples.{name}"
        if name in BUILTIN:
            raise CounterweightError(
                f"{where}: every study has a data set {name} already; choose another name."
            )
        if not str(name).isidentifier() or keyword.iskeyword(name):
            raise CounterweightError(
                f"{where}: {name!r} cannot stand in an expression; use letters, digits and _ only, "
                "and a letter first."
            )
        condition = _checked(condition, where)
        most = condition.pop("most", None)
        mask = _mask(frame, condition, where)
        if not mask.any():
            raise CounterweightError(
                f"{where}: none of {len(frame)} rows meets the condition {_in_words(condition)}"
                f"{_seen(frame, condition)}: correct it, or leave the data set out."
            )
        masks[name] = mask if most is None else _drawn(frame, mask, most, draw, name, where)
    return masks


def condition_mask(frame, condition, where):
    """Rows of a table that meet a condition; none may. See `sample_masks`.

    Parameters
    ----------
    where : str
        What the condition is of, for messages.
    """
    return _mask(frame, _checked(condition, where), where)


def _checked(condition, where):
    if not hasattr(condition, "items"):
        raise CounterweightError(
            f"{where} is {condition!r} where a condition is expected, e.g. "
            "{column: age, at_least: 60}."
        )
    return dict(condition)


def _mask(frame, condition, where):
    """Rows that meet a condition."""
    words = ("column", *TESTS, "all", "most")
    for word in condition:
        if word not in words:
            near = difflib.get_close_matches(str(word), words, 1)
            hint = f"; did you mean {near[0]}?" if near else f": choose from {listed(words)}."
            raise CounterweightError(f"{where} has the unknown word {word!r}{hint}")
    tests = [test for test in TESTS if test in condition]
    if "most" in condition:
        raise CounterweightError(f"{where}: most belongs to the data set, not inside all.")
    if "all" in condition:
        if "column" in condition or tests:
            raise CounterweightError(
                f"{where} has all and {listed(tests or ['column'])}: put each condition into the "
                "list of all."
            )
        if not isinstance(condition["all"], (list, tuple)) or not condition["all"]:
            raise CounterweightError(f"{where}.all must be a list of one condition or more.")
        parts = [
            _mask(frame, _checked(part, f"{where}.all[{at}]"), f"{where}.all[{at}]")
            for at, part in enumerate(condition["all"])
        ]
        return np.logical_and.reduce(parts)
    if "column" not in condition:
        raise CounterweightError(f"{where} names no column: give column, or a list in all.")
    if not tests or (len(tests) > 1 and tests != ["at_least", "below"]):
        raise CounterweightError(
            f"{where} asks {listed(tests) or 'nothing'} of the column {condition['column']}: give "
            "one of value, values, or at_least and below."
        )
    return _column_mask(frame, condition, tests, where)


def _column_mask(frame, condition, tests, where):
    column = condition["column"]
    if column not in frame.columns:
        near = difflib.get_close_matches(str(column), list(map(str, frame.columns)), 1)
        hint = f"did you mean {near[0]}?" if near else f"it has {listed(frame.columns)}."
        raise CounterweightError(f"{where}: the data set has no column {column!r}; {hint}")
    values = frame[column]
    missing = int(values.isna().sum())
    if missing:
        log.info("%s: %s is missing in %d rows, which are not in it", where, column, missing)
    if tests[0] in ("value", "values"):
        wanted = condition["values"] if tests[0] == "values" else [condition["value"]]
        if not isinstance(wanted, (list, tuple)) or not wanted:
            raise CounterweightError(f"{where}.values must be a list of one value or more.")
        met = np.zeros(len(values), dtype=bool)
        for value in wanted:
            met |= (values == value).fillna(False).to_numpy(dtype=bool)
        if not met.any():  # yes where the column was read as 1 and 0
            met = equal(values, list(wanted), text=not is_numeric_dtype(values))
        return met
    if not is_numeric_dtype(values):
        raise CounterweightError(
            f"{where}: {listed(tests)} needs numbers, but the column {column} is text: use "
            "value or values."
        )
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    for test in tests:
        bound = condition[test]
        if isinstance(bound, bool) or not isinstance(bound, (int, float)) or bound != bound:
            raise CounterweightError(f"{where}.{test} is {bound!r}; it must be a number.")
    low, high = condition.get("at_least", -np.inf), condition.get("below", np.inf)
    # A missing number fails the first comparison, so an open end must not let it in.
    return (numbers >= low) & ((numbers < high) | ("below" not in condition))


def _drawn(frame, mask, most, draw, name, where):
    """At most `most` of the rows of a mask."""
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise CounterweightError(f"{where}.most is {most!r}; it must be a whole number from 1 up.")
    if draw is None:
        raise CounterweightError(f"{where}: most draws at random, which cannot be done here.")
    where_true = np.flatnonzero(mask)
    if len(where_true) <= most:
        log.info("%s has %d rows, no more than the %d asked for", where, len(where_true), most)
        return mask
    if "row" not in frame.columns:
        raise CounterweightError(f"{where}: most draws by row id, but the table has no column row.")
    rows = frame["row"].to_numpy()[where_true]
    seed = draw << 64 | int.from_bytes(name.encode()[:256], "little") << 128
    chosen = np.zeros(len(mask), dtype=bool)
    chosen[where_true[drawing_order(rows, seed)[:most]]] = True
    return chosen


def _in_words(condition):
    """A condition in words."""
    if "all" in condition:
        return " and ".join(_in_words(part) for part in condition["all"])
    signs = {"value": "=", "values": "in", "at_least": ">=", "below": "<"}
    return " and ".join(
        f"{condition['column']} {signs[test]} {condition[test]}"
        for test in TESTS
        if test in condition
    )


def _seen(frame, condition):
    """What the column of a condition holds, for its message."""
    if "all" in condition:
        return ""
    values = frame[condition["column"]].dropna()
    if "value" in condition or "values" in condition:
        kind = "numbers" if is_numeric_dtype(values) else "text"
        return f" (the column holds {kind}, e.g. {listed(values.unique()[:8])})"
    return f" (it runs from {values.min()} to {values.max()})" if len(values) else ""
