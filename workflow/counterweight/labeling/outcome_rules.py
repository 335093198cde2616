"""Outcome rules: what is to be learnt, from columns of the table.

A rule is ``rule(frame, population, **options)`` and answers with an array, one value a row:
`frame` are prepared rows, with ``row``, and `population` is the mask of those of the target, which
only ``above_median`` looks at. ``given`` is of tables with blank outcomes, and gets the types of
the columns in place of a population.
"""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Number, Option, Text
from counterweight.labeling.columns import (
    FALSE,
    MISSING,
    NEGATIVE,
    TRUE,
    equal,
    floats,
    holds,
    like_codes,
    numbers,
    refuse_outside,
    require,
    told_apart,
    types_in,
)

TASK_BY_NAME = {"given": "missing_outcomes", "no_outcome": "filter"}
OPTIONS_BY_NAME = {
    "equals": {
        "column": Text(..., "Column of the prepared table."),
        "value": Option(..., "Value that counts as the positive outcome.", type=["string", "number", "boolean"]),
    },
    "above_median": {
        "column": Text(..., "Numeric column of the prepared table."),
    },
    "reward": {
        "column": Text(..., "Column of the prepared table."),
        "low": Number(0.0, "Least reward that can occur."),
        "high": Number(1.0, "Largest reward that can occur."),
    },
    "given": {
        "column": Text(..., "Column of the table."),
        "positive": Option(None, "Value that counts as 1; null for 1 itself.", type=["string", "number", "boolean"], null=True),
        "negative": NEGATIVE,
        "missing": MISSING,
        "kind": Choice(None, ["class", "number", None], "class, one of two values; number; null to find out."),
        "most": Option(None,
            "Largest value that a number from 0 up can have, 1 for a share; none: there is none; null to find out (1 or 100, "
            "where known values crowd below it and none lies above).",
            anyOf=[{"type": "number", "exclusiveMinimum": 0}, {"enum": ["none", None]}]),
    },
    "known_class": {
        "column": Text(..., "Column of the table."),
        "value": Option(None, "Value that counts as 1; null for the larger of two numbers.", type=["string", "number", "boolean"], null=True),
        "negative": NEGATIVE,
        "missing": MISSING,
    },
    "accepts": {
        "column": Text("answer", "Column of the answers: 0 or 1, false or true, no or yes."),
        "positive": Option(None,
            "The answer that accepts, where answers are other words or numbers; null for those above.", type=["string", "number", "boolean"], null=True),
        "negative": NEGATIVE,
        "missing": MISSING,
        "blanks": Choice("refuse", ["refuse", "unanswered"], "refuse: a missing answer is an error. unanswered: the person is no example, but gets an offer."),
    },
    "no_outcome": {},
}  # fmt: skip


def equals(frame, population, *, column, value):
    """1 where `column` equals `value`, in every population."""
    require(frame, [column], "outcome rule equals")
    values = frame[column]
    if values.isna().any():
        raise CounterweightError(
            f"Outcome column {column!r} is missing in {int(values.isna().sum())} rows: every row "
            "needs its outcome here, also the ones whose label is to be hidden."
        )
    outcome = (values == value).to_numpy()
    if not outcome.any():
        seen = listed(sorted(values.astype(str).unique()))
        raise CounterweightError(
            f"Outcome column {column!r} never equals {value!r}; its values are {seen}: correct "
            f"outcome.value{' (yes without quotes is read as True)' * isinstance(value, bool)}."
        )
    return outcome.astype("int8")


def above_median(frame, population, *, column):
    """1 where `column` lies above its median over the target population.

    The threshold differs by target (Smith & Elkan 2007, section 8: the median of
    California for the general task, of the rest of California for the unlabeled one).
    """
    values = numbers(frame, column, "outcome rule above_median")
    if not np.any(population):
        raise CounterweightError(
            "The outcome rule above_median has no row to take the median of: the target "
            "population is empty; loosen the labeling rule."
        )
    return (values > np.median(values[population])).astype("int8")


#: The median is that of all rows, so rows cannot be labeled batch by batch.
above_median.whole_table = True


def reward(frame, population, *, column, low=0.0, high=1.0):
    """The rewards of a column, checked against their bounds, themselves included.

    Of a log in batches the frame is one batch. An interval of a value may use the bounds.
    """
    if not low < high:
        raise CounterweightError(
            f"The bounds of the reward are {low:g} and {high:g}: low must be below high."
        )
    values = floats(frame, column, "outcome rule reward")
    refuse_outside(
        values, low, high, rows=np.asarray(frame["row"]), name=f"reward {column!r}", where="outcome"
    )
    return values


def given(
    frame, types, *, column, positive=None, negative=None, missing=None, kind=None, most=None
):
    """Outcomes as numbers, NaN where blank; whether they are a class; what 0 and 1 stand for.

    `positive` is what counts as 1, the other value as 0; by default of a column of two numbers the
    larger one. `negative` and `missing` are as of `told_apart`, `missing` also of numbers; `kind`
    is class or number, None to find out. `most` is the largest value that a number can have.
    """
    require(frame, [column], "outcome")
    values, text = frame[column], types.get(column) == "text"
    if most is not None and (positive is not None or kind == "class"):
        raise CounterweightError(
            f"outcome.most is {most}, the largest value of a number, and the outcome {column!r} is "
            "a class: leave most out."
        )
    if negative is not None and positive is None:
        raise CounterweightError(
            f"outcome.negative says what of {column!r} is a 0, and nothing says what is a 1: say "
            "that by outcome.positive."
        )
    if positive is None and missing not in (None, []):
        values = values.mask(equal(values, missing, text=text))
    if positive is None and types.get(column) != "text":
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        there = np.unique(numbers[~np.isnan(numbers)])
        _check_there(column, there)
        codes = there[like_codes(there)]
        if kind is None and missing is None and len(there) - len(codes) == 2 and 0 < len(codes) < 3:
            raise CounterweightError(
                f"The outcome {column!r} is {listed(_shown(value) for value in there)}: if "
                f"{listed(map(_shown, codes))} stands for unknown, say outcome.missing: "
                f"[{', '.join(map(_shown, codes))}]; if these are numbers, outcome.kind: number."
            )
        if kind == "number" or (kind is None and len(there) > 2):
            _check_most(column, there, most)
            return numbers, False, ()
        if len(there) > 2:
            raise CounterweightError(
                f"The outcome {column!r} is to be a class, and has {len(there)} values "
                f"({listed(there[:8])}): say which counts as 1 by outcome.positive, or set "
                "outcome.kind to number."
            )
        boolean = types.get(column) == "boolean"
        names = ("no", "yes") if boolean else tuple(f"{value:g}" for value in there)
        return np.where(np.isnan(numbers), np.nan, numbers == there[1]), True, names
    return _class_given(values, types, column, positive, negative, missing, kind)


def _check_most(column, there, most):
    """Refuse a largest value where known outcomes, ascending, are above it or below 0."""
    if most in (None, "none"):
        return
    if there[-1] > most:
        raise CounterweightError(
            f"outcome.most is {most:g}, and the outcome {column!r} is {_shown(there[-1])} in a "
            "row: correct one of the two, or leave most out."
        )
    if there[0] < 0:
        raise CounterweightError(
            f"outcome.most is of numbers from 0 up, and the outcome {column!r} is "
            f"{_shown(there[0])} in a row: leave most out."
        )


def _class_given(values, types, column, positive, negative, missing, kind):
    """`given` of a column of texts, or where one of its values is named as positive."""
    if kind == "number":
        raise CounterweightError(
            f"The outcome {column!r} is to be a number, and "
            + ("holds text" if types.get(column) == "text" else "positive names one value of it")
            + ": correct outcome.kind, or leave outcome.positive out."
        )
    words = values.dropna().astype(str).unique()
    _check_there(column, words)
    if positive is None:
        if len(words) > 2:
            raise CounterweightError(
                f"The outcome {column!r} has {len(words)} classes ({listed(sorted(words), 8)}), "
                "and only two can be learned: say by outcome.positive which of them counts as 1 "
                "against all others."
            )
        examples = (f"{{column: {column}, positive: {word}}}" for word in sorted(words))
        raise CounterweightError(
            f"The outcome {column!r} is one of {listed(sorted(words))}: say by outcome.positive "
            f"which counts as 1, as in outcome: {' or '.join(examples)}."
        )
    holds(values.to_frame(), types, column, positive)
    said = {"text": types.get(column) == "text", "what": f"outcome {column!r}", "key": "outcome"}
    found = told_apart(values, positive, negative, missing, **said)
    ones, others = (values[found == value].unique() for value in (1, 0))
    if not len(others):
        raise CounterweightError(
            f"The outcome {column!r} is {_shown(ones[0])} wherever it is known: two values are "
            "needed to learn what tells them apart."
        )
    if types.get(column) == "boolean":
        return found, True, ("no", "yes") if ones[0] else ("yes", "no")
    one = _shown(ones[0])
    return found, True, (_shown(others[0]) if len(others) == 1 else f"not {one}", one)


def classes_as_given(values, y, names, kind=None, form=None):
    """What 0 and 1 stand for, as the table that people gave has it: two JSON values.

    `values` (n,) are the outcome's column of the prepared table, y (n,) is 0 and 1, NaN where
    nobody knows; `names` are said where either stands for several values. `kind` is the column's
    type, `form` how its texts were read.
    """
    made = []
    for one in (0, 1):
        own = values[np.asarray(y) == one].dropna().unique()
        if len(own) != 1:
            return list(names)
        value = own[0]
        if kind == "boolean":
            # Tables are read with true and false as such, and other words as texts.
            word = (form or {}).get("true" if value else "false", "true")
            made.append(bool(value) if word.lower() in ("true", "false") else word)
        elif isinstance(value, str):
            made.append(value)
        else:
            made.append(int(value) if float(value).is_integer() else float(value))
    return made


def value_in_words(facts):
    """The value of an outcome that is told, as the table has it; true is a yes."""
    value = facts["classes"][1]
    return facts["names"][1] if isinstance(value, bool) else _shown(value)


def _shown(value):
    """A value in print: a word, or a number without a point where it has no fraction."""
    return value if isinstance(value, str) else f"{value:g}"


def _check_there(column, there):
    if len(there) == 0:
        raise CounterweightError(
            f"The outcome {column!r} is blank in every row: nothing can be learned from it."
        )
    if len(there) == 1:
        raise CounterweightError(
            f"The outcome {column!r} is {there[0]} wherever it is not blank (n/a, NA, null and the "
            "like count as blank): two values are needed to learn what tells them apart."
        )


def known_class(frame, population, *, column, value=None, negative=None, missing=None):
    """1 where `column` has the value, 0 where another, NaN where it is blank; see `told_apart`."""
    said = {"positive": value, "negative": negative, "missing": missing}
    values, _, _ = given(frame, types_in(frame), column=column, kind="class", **said)
    return values


WORDS = dict.fromkeys(TRUE, 1) | dict.fromkeys(FALSE, 0)


def accepts(
    frame,
    population,
    *,
    column="answer",
    positive=None,
    negative=None,
    missing=None,
    blanks="refuse",
):
    """Answers as 0 (refused) and 1 (accepted), int8; float with NaN where an answer is missing.

    By `OPTIONS`; the answer is the same in every population. Without ``positive`` answers are
    numbers 0 and 1, booleans, or the words no and yes, false and true, 0 and 1, in capitals or not.
    """
    require(frame, [column], "outcome rule accepts")
    values, rows = frame[column], frame["row"].to_numpy()
    text = not _numeric(values)
    low = values.astype("str").str.strip().str.lower() if text else values
    said = {"negative": _lower(negative), "missing": _lower(missing)}
    blank = values.isna().to_numpy(bool)
    if missing is not None:
        blank = blank | equal(low, said["missing"], text=text)
    if blank.any() and blanks == "refuse":
        raise CounterweightError(
            f"The answer {column!r} is missing in {int(blank.sum())} of {len(values)} rows "
            f"(first: row {rows[blank][0]}): leave those rows out, since a refused offer is a 0 "
            "and not a blank."
        )
    if positive is None:
        if negative is not None:
            raise CounterweightError(
                f"answer.negative says what of {column!r} refuses, and nothing says what accepts: "
                "say it by answer.positive."
            )
        answers = np.full(len(values), np.nan)
        answers[~blank] = _plain(low[~blank], rows[~blank], column)
    else:
        yes = equal(low[~blank], _lower(positive), text=text)
        if len(yes) and not yes.any():
            words = listed(sorted(values[~blank].astype(str).unique()), 5)
            raise CounterweightError(
                f"None of the {len(yes)} answers in {column!r} is {positive!r}; they are {words}: "
                "name the one that accepts."
            )
        what = f"answer {column!r}"
        answers = told_apart(low, _lower(positive), **said, text=text, what=what, key="answer")
    return answers if blank.any() else answers.astype(np.int8)


def _lower(said):
    """What a config says, in small letters."""
    if isinstance(said, list):
        return [_lower(one) for one in said]
    return said.strip().lower() if isinstance(said, str) else said


def _plain(values, rows, column):
    """Answers that need no word for yes."""
    if _numeric(values):
        answers = values.to_numpy(dtype=float)
        wrong = ~np.isin(answers, (0.0, 1.0))
    else:
        known = values.astype(str).str.strip().str.lower().map(WORDS)
        wrong = known.isna().to_numpy()
        answers = known.fillna(0).to_numpy(dtype=float)
    if wrong.any():
        words = listed(sorted(values[wrong].astype(str).unique()), 5)
        raise CounterweightError(
            f"The answer {column!r} is {words} in {int(wrong.sum())} of {len(values)} rows (first: "
            f"row {rows[wrong][0]}) where 0 or 1, no or yes is expected: say which one accepts by "
            "answer.positive, or which are unknown by answer.missing, or choose another column."
        )
    return answers


def _numeric(values):
    return pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)


def no_outcome(frame, population):
    """All missing: nobody's outcome is known or needed."""
    return pd.array([pd.NA] * len(frame), dtype="Int8")
