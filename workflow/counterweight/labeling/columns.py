"""Columns of a table: checks, values as people write them in a config, conditions.

A config may say yes of a column that was read as 1 and 0, or of one whose text is "Yes".
"""

import difflib
import json
import logging
import re

import numpy as np
from pandas.api.types import is_numeric_dtype

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Option
from counterweight.plan.components import columns_by_role
from counterweight.tables.formats import TRUTHS
from counterweight.tables.parquet import read_table

log = logging.getLogger("counterweight")
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


def types_in(frame):
    """Whether each column of a typed table is ``text`` or ``number``, by column."""
    return {
        name: "number" if is_numeric_dtype(dtype) else "text"
        for name, dtype in frame.dtypes.items()
    }


def holds(frame, types, column, value):
    """Rows whose column has a value, or any of a list; a missing one has none. None is refused."""
    require(frame, [column], "config's condition on a column")
    values = frame[column]
    found = equal(values, value, text=types.get(column) == "text")
    if not found.any():
        seen = sorted(values.dropna().astype(str).unique())[:20]
        if types.get(column) == "boolean":
            seen = [{"0": "no", "1": "yes"}[value] for value in seen]
        known = {one.lower(): one for one in seen}
        near = difflib.get_close_matches(str(value).lower(), known, 1)
        hint = f"; did you mean {known[near[0]]!r}? Correct" if near else ": correct"
        raise CounterweightError(
            f"No row has {value!r} in the column {column!r}, whose values are {listed(seen, 8)}"
            f"{hint} the value in the config."
        )
    return found


def equal(values, value, *, text):
    """As `holds`, of the values of a column, which may nowhere be so."""
    wanted = value if isinstance(value, list) else [value]
    if not text:
        numbers = [as_number(one) for one in wanted]
        return np.isin(values.to_numpy(dtype=float, na_value=np.nan), numbers)
    words = {str(one).strip() for one in wanted}
    for one in wanted:
        for word in (TRUE if one else FALSE) if isinstance(one, bool) else ():
            words |= {word, word.capitalize(), word.upper()}
    return values.isin(words).to_numpy(bool)


def told_apart(values, positive, negative=None, missing=None, *, text, what, key, blanks=True):
    """1 where a column has its positive value, 0 where it has another, NaN where that is missing.

    Codes of unknown, such as 9 or ``unknown``, would pass for a 0: several values beside the
    positive one are refused until it is said what they are, by `negative` (what is a 0; anything
    else is then refused) or `missing` (what stands for unknown, all else is a 0; [] where nothing
    does). Each is a value or a list, None where it is not said. `text`: whether the column is of
    texts; `what` names it in a sentence, `key` is that of the config under which these stand;
    `blanks`: whether `missing` may be said at all.
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
        todo = f"which stand for unknown by {key}.missing ([] if none does)."
        raise CounterweightError(
            f"The {what} has {len(others)} values beside {positive!r}: {listed(others, 8)}{said}. "
            f"Say which are a 0 by {key}.negative, as [{others[0]}], or "
            + (todo if blanks else "leave rows out whose reward nobody knows.")
        )
    return np.where(unknown, np.nan, ones.astype(float))


def _shown(values):
    """The different values of a column, in print and in order."""
    there = sorted(values.dropna().unique(), key=lambda one: (isinstance(one, str), one))
    return [one if isinstance(one, str) else f"{one:g}" for one in there]


def like_codes(values):
    """Which numbers look like codes of unknown: -1, 7 to 9, 97 to 99, -999, 888 and the like."""
    values, codes = np.asarray(values, float), [7, 8, 9]
    for top in 10 ** np.arange(2, 7) - 1:
        codes += [top, top - 1, top - 2, 8 * top // 9, 7 * top // 9]
    return np.isin(np.abs(values), codes) | (values == -1)


def as_number(value):
    """A value of a config as the number that a typed column has for it; NaN for none."""
    word = str(value).strip().lower()
    if word in TRUE or word in FALSE:
        return float(word in TRUE)
    try:
        return float(word)
    except ValueError:
        return np.nan


def condition_mask(frame, condition, where):
    """Rows of a table that meet a condition, perhaps none; `where` it stands, for messages."""
    if "all" in condition:
        parts = enumerate(condition["all"])
        masks = [condition_mask(frame, part, f"{where}.all[{at}]") for at, part in parts]
        return np.logical_and.reduce(masks)
    if "column" not in condition:
        return np.ones(len(frame), bool)
    column = condition["column"]
    if column not in frame.columns:
        near = difflib.get_close_matches(str(column), list(map(str, frame.columns)), 1)
        hint = f"did you mean {near[0]}?" if near else f"it has {listed(frame.columns)}."
        raise CounterweightError(f"{where}: the data set has no column {column!r}; {hint}")
    values = frame[column]
    if missing := int(values.isna().sum()):
        log.info("%s: %s is missing in %d rows, which are not in it", where, column, missing)
    if "value" in condition or "values" in condition:
        wanted = list(condition.get("values", [condition.get("value")]))
        met = np.zeros(len(values), bool)
        for value in wanted:
            met |= (values == value).fillna(False).to_numpy(bool)
        # Yes, where the column was read as 1 and 0.
        return met if met.any() else equal(values, wanted, text=not is_numeric_dtype(values))
    bounds = {test: condition[test] for test in ("at_least", "below") if test in condition}
    if not is_numeric_dtype(values):
        raise CounterweightError(
            f"{where}: {listed(bounds)} needs numbers, but the column {column} is text: use value "
            "or values."
        )
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    met = numbers >= bounds.get("at_least", -np.inf)
    return met & (numbers < bounds["below"]) if "below" in bounds else met


def types_of_condition(condition):
    """How the columns of a condition are read where nothing else says it: ``number`` where it asks
    about numbers alone, else ``text``."""
    if "all" in condition:
        return {k: v for part in condition["all"] for k, v in types_of_condition(part).items()}
    if "column" not in condition:
        return {}
    values = condition.get("values", [condition.get("value", 0)])
    number = all(isinstance(one, int | float) and not isinstance(one, bool) for one in values)
    return {condition["column"]: "number" if number else "text"}


def condition_in_words(condition):
    """A condition in words."""
    if "all" in condition:
        return " and ".join(condition_in_words(part) for part in condition["all"])
    signs = {"value": "=", "values": "in", "at_least": ">=", "below": "<"}
    return " and ".join(
        f"{condition['column']} {sign} {condition[test]}"
        for test, sign in signs.items()
        if test in condition
    )


#: Users are put into so many clusters by a hash of their name. Clusters of several users are as
#: independent as users are, so errors of sums stay right, and memory has a bound.
CLUSTERS = 1 << 16
#: Ids of a log that are followed, to tell those that stand twice.
MOST_IDS = 1 << 14


#: A number as a table may write it. Leading zeros are of codes, and three digits behind a comma may
#: be thousands.
_ACTION = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+|,([0-9]{1,2}|[0-9]{4,}))?")


def actions(values):
    """Actions of a log (n,) in the one form in which they are compared, learned from and told:
    texts, None where one is missing.

    A number is one action however a column has it: 8, 8.0, "8" and "8,00".
    """
    import pandas as pd

    codes, found = pd.factorize(np.asarray(values))
    return np.array([*map(_action, found), None], object)[codes]


def _action(value):
    if isinstance(value, str):
        if not _ACTION.fullmatch(value):
            return value
        value = value.replace(",", ".")
        value = float(value) if "." in value else int(value)
    return in_digits(value)


def in_digits(value):
    """A number as text, a whole one without a point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def require(frame, columns, what):
    """Refuse a table that lacks columns, which `what` needs, e.g. ``"features recipe one_hot"``."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        near = difflib.get_close_matches(str(missing[0]), map(str, frame.columns), 1)
        hint = f"; did you mean {near[0]!r}? Correct" if near else ": correct"
        raise CounterweightError(
            f"The {what} needs the column {listed(missing)}; the data set has "
            f"{listed(frame.columns)}{hint} its name, or choose another rule for this data set."
        )


def matches(frame, values):
    """Which rows have all of the values, by column; a missing value matches none."""
    wanted = np.ones(len(frame), bool)
    for column, value in values.items():
        wanted &= (frame[column] == value).fillna(False).to_numpy(bool)
    return wanted


def floats(frame, column, what):
    """A column as floats, NaN where it is missing."""
    require(frame, [column], what)
    try:
        return frame[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {what} needs numbers in the column {column!r}, which holds text: choose another "
            "column or number its values."
        ) from error


def numbers(frame, column, what):
    """A column as finite numbers."""
    values = floats(frame, column, what)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise CounterweightError(
            f"The {what} needs the column {column} in every row; it is missing or infinite in "
            f"{len(bad)} rows (first: row {bad[0]}): fill it or leave those rows out."
        )
    return values


def check_finite(features):
    """Refuse features that are missing or infinite in some row; `row` is the row's id."""
    for name in features.columns.drop("row"):
        bad = ~np.isfinite(features[name].to_numpy(dtype=float))
        if bad.any():
            raise CounterweightError(
                f"Feature {name!r} is not a finite number in {int(bad.sum())} of {len(bad)} rows "
                f"looked at (first: row {features['row'].to_numpy()[bad][0]}): correct the data or "
                "leave the feature out."
            )


def free_name(name, taken):
    """A name with as many ``_`` behind it as make it none of those taken."""
    while name in taken:
        name += "_"
    return name


def refuse_outside(values, low, high, *, rows, counted=True, name, where):
    """Refuse numbers (n,) that are missing, infinite, or outside their range, ends included.

    `rows` has the id of each; `counted` masks those that are looked at, all by default. `name` says
    what the numbers are and their column, e.g. ``"offer 'price'"``, and `where` which part of a
    study declares the range, e.g. ``"labeling"``.
    """
    counted = np.broadcast_to(counted, len(values))
    for wrong, what, remedy in (
        (
            ~np.isfinite(values),
            "is missing or infinite",
            "fill them in, or leave these rows out if they are so by chance alone",
        ),
        (
            (values < low) | (values > high),
            f"is outside the declared range from {low:g} to {high:g}",
            f"correct those rows, or {where}.low and {where}.high",
        ),
    ):
        wrong = wrong & counted
        if wrong.any():
            first = int(np.argmax(wrong))
            raise CounterweightError(
                f"The {name} {what} in {int(wrong.sum())} of {int(counted.sum())} rows looked at "
                f"(first: {values[first]:g} in row {rows[first]}): {remedy}."
            )


def clusters(users):
    """Cluster of each user, by a hash: the same in any order and batch; -2 where it is missing."""
    hashed = _hashes(users) % CLUSTERS
    return np.where(users.isna().to_numpy(), -2, hashed.astype("int32")).astype("int32")


def _hashes(values):
    """Hashes (n,) of a column."""
    import pandas as pd

    # Whole numbers become floats where a batch has missing ones, so all numbers are.
    number = values.dtype.kind in "biuf"
    values = values.to_numpy(dtype=float) if number else values.astype(object).to_numpy()
    return pd.util.hash_array(values)


class IdCounts:
    """How many rows share their id with others, of rows that come in batches or partitions.

    Followed are `MOST_IDS` ids, those of the lowest hashes, each with all of its rows: memory does
    not grow with the log. Of a log with more ids they are a sample of them.
    """

    def __init__(self):
        self.state = {"hashes": [], "times": [], "rows": 0}

    def add(self, ids):
        """Count the rows of a batch, whose ids are a series; a row without one is of its own."""
        known = ids[ids.notna()]
        hashes, times = np.unique(_hashes(known), return_counts=True)
        self.merge({"hashes": hashes, "times": times, "rows": len(known)})

    def merge(self, state):
        """Add the ``state`` of other rows."""
        hashes, times = (
            np.concatenate([np.asarray(one[name], kind) for one in (self.state, state)])
            for name, kind in (("hashes", "uint64"), ("times", "int64"))
        )
        hashes, place = np.unique(hashes, return_inverse=True)
        times = np.bincount(place, times, len(hashes)).astype("int64")
        rows = self.state["rows"] + state["rows"]
        self.state = {"hashes": hashes[:MOST_IDS].tolist(), "times": times[:MOST_IDS].tolist()}
        self.state["rows"] = int(rows)

    def shared(self):
        """How many rows share their id, and the standard error of that; 0 where all are counted."""
        times, rows = np.array(self.state["times"], "int64"), self.state["rows"]
        own = times * (times > 1)
        if times.sum() == rows:
            return float(own.sum()), 0.0
        # Rows by ids that were sampled: a ratio, whose error is that of the ids.
        share = own.sum() / times.sum()
        error = np.linalg.norm(own - share * times) / times.sum()
        return float(np.round(share * rows)), float(error * rows)


class SomeValues:
    """The first values of columns that a condition asks for, of rows that come in batches."""

    MOST = 8

    def __init__(self):
        self.state = {}

    def add(self, frame, columns):
        """Look at a batch."""
        for name in columns:
            if name in frame:
                self.merge({name: frame[name].dropna().astype(str).unique().tolist()})

    def merge(self, state):
        """Add the ``state`` of other rows; one more than are told shows that there are more."""
        for name, values in state.items():
            known = sorted({*self.state.get(name, []), *values})
            self.state[name] = known[: self.MOST + 1]

    def said(self):
        """``; channel has 'shop', 'web'``"""
        return "".join(
            f"; {name} has {', '.join(map(repr, values[: self.MOST]))}"
            + ", ..." * (len(values) > self.MOST)
            for name, values in self.state.items()
        )


class TornCodes:
    """Codes of digits that differ from others of the column in leading zeros alone, of rows that
    come in batches or partitions: ``7`` beside ``0007``, where zeros were lost in a part of them.

    Followed are `MOST_IDS` codes, those of the lowest hashes, with their least and most digits.
    """

    def __init__(self):
        self.state = {"codes": [], "least": [], "most": []}

    def add(self, values):
        """Look at a batch, a series; numbers have no leading zeros."""
        if values.dtype.kind in "biufM":
            return
        words = values.dropna().astype(object).unique()
        words = [word for word in words if word.isascii() and word.isdigit() and len(word) < 19]
        digits = [len(word) for word in words]
        self.merge({"codes": [*map(int, words)], "least": digits, "most": digits})

    def merge(self, state):
        """Add the ``state`` of other rows."""
        import pandas as pd

        codes, least, most = (
            np.concatenate([np.asarray(one[name], "int64") for one in (self.state, state)])
            for name in ("codes", "least", "most")
        )
        frame = pd.DataFrame({"codes": codes, "least": least, "most": most}).groupby("codes")
        found = frame.agg({"least": "min", "most": "max"}).reset_index()
        order = np.argsort(pd.util.hash_array(found["codes"].to_numpy()), kind="stable")[:MOST_IDS]
        self.state = {name: found[name].to_numpy()[order].tolist() for name in found}

    def said(self, column):
        """What is wrong with a column; "" where no code is torn."""
        codes, least, most = (np.array(values, "int64") for values in self.state.values())
        torn = np.flatnonzero(least < most)
        if not len(torn):
            return ""
        first = torn[codes[torn].argmin()]
        short, long = (str(codes[first]).zfill(digits[first]) for digits in (least, most))
        return (
            f"The user {column!r} is {short!r} in some rows and {long!r} in others ({len(torn)} "
            "users are written in two such ways): leading zeros were lost in a part of the rows, "
            "as a spreadsheet loses them, and each user would count as two. Write them alike."
        )


#: What is said, by a column, of rows that are the same in every other one, too.
IN_COMMON = "have its value and that of every other column in common with another row"


def look_at(column, doubt):
    """A sentence on what is odd about a column, or about rows that look like copies by it."""
    copied = IN_COMMON in doubt
    what = "Look at the rows, by the column" if copied else "Look at the column"
    return f"{what} {column}: {doubt}."


def same_rows(frame, roles):
    """Rows that look like copies of each other: a column, and a number (n,) of each kind of rows.

    Rows are compared in all columns but the id, and texts and whole numbers that are another in
    every row, which may be ids. Rows that agree in a few coarse columns are no copies: at least
    three columns are needed, one of them (which is given) with different values in a tenth of the
    rows, and of the rows that share a value of it most share all others. None where rows look like
    no copies.
    """
    names = [name for name in frame.columns if name not in ("row", roles.get("id"))]
    distinct = frame[names].nunique()
    names = [name for name in names if distinct[name] < len(frame) or _measured(frame[name])]
    if len(names) < 3 or distinct[names].max() < 0.1 * len(frame):
        return None
    finest = distinct[names].idxmax()
    tied = np.flatnonzero(frame[finest].duplicated(keep=False) & frame[finest].notna())
    rows = frame[names].iloc[tied]
    same = tied[rows.duplicated(keep=False)]
    if len(same) < max(0.01 * len(frame), 10, 0.5 * len(tied)):
        return None
    kind = np.arange(len(frame))
    rows = frame[names].iloc[same].groupby(names, dropna=False, sort=False)
    kind[same] = len(frame) + rows.ngroup()
    return finest, np.unique(kind, return_inverse=True)[1].astype("int32")


def copies_together(frame, columns, roles):
    """A number (n,) for each row, one for copies of a row; None where there are no copies.

    By the column report `columns`, as it was read back: who has `roles` that say which rows belong
    together has none. Copies share their fold and their side of every split, else what is learned
    from a row is judged by its copy.
    """
    found = same_rows(frame, roles) if in_common(columns) else None
    return None if found is None else found[1]


def copies_of(job, frame):
    """`copies_together` of the prepared table of a labeling job; None where it has no report."""
    if not getattr(job.input, "columns", None):
        return None
    roles = columns_by_role(job.given.get("roles") or {})
    return copies_together(frame, read_table(job.input.columns), roles)


def repeated(kind):
    """Rows (n,) whose `kind` (n,) stands before."""
    again = np.ones(len(kind), bool)
    again[np.unique(kind, return_index=True)[1]] = False
    return again


def once(rule, copies):
    """A labeling rule that keeps one row of `copies` (n,) of each other, None where there are none.

    For questions whose draws and limits are of single rows: a model learns from a row, and is
    judged by it, once, and answers for its copies as for anybody.
    """
    if copies is None:
        return rule
    first = ~repeated(copies)

    def of_each(frame, *told):
        found = rule(frame, *told)
        return found | {"kept": found["kept"] & first}

    return of_each


def _measured(values):
    """Whether numbers are not all whole, as ids are."""
    return values.dtype.kind == "f" and bool((values % 1 != 0).any())


def in_common(columns):
    """Whether rows look like copies of others, by a column report as it was read back."""
    return any(IN_COMMON in (doubt or "") for doubt in columns.get("doubt", ()))


def ids_again(count, rows, user, about=False):
    """What is said of an id that `count` of the rows of a log share; "" of none. `user` is its
    column of users, if it has one."""
    if not count:
        return ""
    several = "" if user else "; or, if a person has several rows, name the column as user"
    return (
        f"{'about ' * about}{count:.0f} of {rows:.0f} rows share theirs with others, and each "
        f"counts as a row of its own: leave out copies{several}"
    )


def roles_by_column(roles):
    """Role by column, of columns by role; where a column has two, its first."""
    role_of = {}
    for role, names in roles.items():
        for name in [names] if isinstance(names, str) else names or ():
            role_of.setdefault(name, role)
    return role_of


def recorded_columns(job):
    """The column report of a labeling job; refused where it was made for other ``roles``."""
    columns = read_table(job.input.columns)
    own = roles_by_column(columns_by_role(job.given.get("roles") or {}))
    for name, role in zip(columns["column"], columns["role"], strict=True):
        if role != own.get(name, ""):
            raise CounterweightError(
                f"{job.input.columns} was made for another question: there the column {name!r} "
                f"{f'is {role}' if role else 'has no role'}, here it "
                f"{f'is {own[name]}' if name in own else 'has none'}: delete that file and run "
                "again."
            )
    return columns


def types_of(columns):
    """Type of each column, by a column report as it was read back."""
    return dict(zip(columns["column"], columns["type"], strict=True))


def forms_of(columns):
    """How the texts of each column were read, by a column report as it was read back."""
    forms = zip(columns["column"], columns["form"], strict=True)
    return {name: json.loads(form) for name, form in forms if form != "{}"}


def features_of(columns):
    """Columns that are features, by a column report as it was read back."""
    return [
        name
        for name, use in zip(columns["column"], columns["use"], strict=True)
        if use == "feature"
    ]


def refuse_blank_scores(frame, column, first=0):
    """Refuse rows without the score that decides on them; `first` is the number of the first."""
    blank = np.flatnonzero(frame[column].isna())
    if len(blank):
        raise CounterweightError(
            f"The score {column!r} is missing in {len(blank)} of {len(frame)} rows (first: row "
            f"{first + blank[0]}, counted from 0), and who has none cannot be decided by it: fill "
            "it in, or leave these rows out."
        )
