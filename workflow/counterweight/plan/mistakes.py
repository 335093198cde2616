"""Mistakes in the config, told as a person would: key, nearest word, what is allowed."""

import difflib
import functools
import math
import re

from counterweight.errors import CounterweightError, holds_password, listed
from counterweight.plan import components

#: Letters that a name may have: files are called by it, with more behind.
LONGEST_NAME = 100
#: Letters that a text may have, and mistakes that are told at once.
LONGEST_TEXT, MOST_TOLD = 100_000, 10
#: Choices that one sentence lists.
MOST_CHOICES = 24
#: Parts of the config whose keys are names of people's own.
NAMED = (("studies",), ("datasets",), ("tables",), ("families",))
#: Parts of a config whose keys stand in print and name files.
_PRINTED = ("policies", "predictions", "groups", "samples", "families", "measures")
#: What a name has to be, by the pattern that says so.
NAMES = {
    "^[a-z][a-z0-9_]*$": "begin with a small letter, and use small letters, figures and _ only",
    "^[A-Za-z][A-Za-z0-9_]*$": "begin with a letter, and use letters, figures and _ only",
    "^[^\\W\\d_]\\w*$": "begin with a letter, and use letters, figures and _ only",
    "^[^\\W_][\\w-]*$": "begin with a letter or figure, and use letters, figures, _ and - only",
    "^(?!labels$|selection_|weights_)[A-Za-z][A-Za-z0-9_.-]*$": (
        "begin with a letter, use letters, figures and _ . - only, and not labels, selection_ or "
        "weights_ at the start"
    ),
}
#: Words for types that config writers use where JSON schema has others.
TYPES = {"object": "mapping", "array": "list", "string": "text", "null": "null (nothing)"}
#: What a value is called, by its type; a mapping else.
_VALUES = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list"}
_VALUES |= {type(None): "empty"}
#: Where an address begins in a longer text.
_ADDRESS = re.compile(r"(?<![\w+])[\w+]+://[^\s'\"]*")
#: What nobody sees in a text, and what turns the order in which it is read.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def where_in(path):
    """A place of the config in print."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text or "the config"


def nearest(word, allowed):
    """A hint at the allowed word that comes closest to `word`; "" where none does."""
    word, known = str(word)[:LONGEST_NAME].lower(), {str(item).lower(): item for item in allowed}
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {str(known[close[0]])!r}?" if close else ""


def choices(word, allowed, others="others"):
    """All choices where they are few; of many those like `word`, and how many are left."""
    allowed = [str(item) for item in allowed]
    if len(allowed) <= MOST_CHOICES:
        return ", ".join(allowed) or "none"
    close = difflib.get_close_matches(str(word), allowed, n=MOST_CHOICES, cutoff=0.3)
    shown = close or allowed[:MOST_CHOICES]
    return f"{', '.join(shown)}, and {len(allowed) - len(shown)} {others}"


def none_of(begin, word, allowed, what):
    """The error of a word that is none of those allowed: the nearest one, and which there are."""
    hint = nearest(word, allowed) or "."
    return CounterweightError(f"{begin}{hint} {what}: {choices(word, allowed)}.")


def brief(value):
    """A value as the config has it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]} ..."


def refuse_all(mistakes):
    """Raise sentences on mistakes, if any, as one text: the first, and how many more there are."""
    more = [f"And {len(mistakes) - MOST_TOLD} more of the kind."] * (len(mistakes) > MOST_TOLD)
    if mistakes:
        raise CounterweightError("\n".join(mistakes[:MOST_TOLD] + more))


def _parts(value, path=()):
    """Every part of a config and its place, from the whole down."""
    yield value, path
    below = value.items() if isinstance(value, dict) else ()
    below = enumerate(value) if isinstance(value, list) else below
    for key, part in below:
        yield from _parts(part, (*path, key))


def _has_secret(text, is_url=False):
    whole = is_url or _ADDRESS.match(text.strip())
    parts = [text.strip()] if whole else []
    return any(map(holds_password, parts + [p for p in _ADDRESS.findall(text) if "@" in p]))


def secrets_in(config):
    """Sentences for addresses with a password; nothing of an address is repeated."""
    for part, path in _parts(config):  # a place below such a key could not be told
        for key in part if isinstance(part, dict) else ():
            if isinstance(key, str) and _has_secret(key):
                place = where_in(path)
                return [f"A key of {place} is an address with a password: take it out."]
    return [
        f"{where_in(path)} holds an address with a password: write ${{NAME}} in its place, and set "
        "NAME in the environment."
        for part, path in _parts(config)
        if isinstance(part, str) and _has_secret(part, path[-1:] == ("url",))
    ]


def _unseen(text, place):
    if len(text) > LONGEST_TEXT:
        return [f"{place} has {len(text)} letters: at most {LONGEST_TEXT}."]
    if sign := _UNSEEN.search(text):
        code = f"U+{ord(sign[0]):04X}"
        return [f"{place} holds a sign that is not seen ({code}): write it anew without."]
    return []


def unseen_in(config):
    """Sentences for texts that nobody can read as they are: unseen signs, no end of letters."""
    found = []
    for part, path in _parts(config):
        if isinstance(part, str):
            found += _unseen(part, where_in(path))
        printed = path[-1:] and path[-1] in _PRINTED
        for key in part if isinstance(part, dict) else ():
            blank = printed and not (str(key).isprintable() and str(key).strip())
            if isinstance(key, str) and (blank or _unseen(key, "")):
                # Places below such a key cannot be told.
                return [f"{where_in(path)} has the name {key!r}: use letters that are seen."]
    return found


def odd_values(config, at=()):
    """Sentences for what no schema refuses: names that are no text or too long, NaN, infinity.

    Of the config, or of the part of it that stands `at` a place.
    """
    found = []
    for part, path in _parts(config, at):
        place = where_in(path)
        if isinstance(part, float) and not math.isfinite(part):
            found.append(f"{place} is {part}: give a number, or null where there is none.")
        for key, value in part.items() if isinstance(part, dict) else ():
            if not isinstance(key, str) and path in NAMED:
                found.append(
                    f"{place} has the name {key!r}, which YAML does not read as text: put it in "
                    "quotes, or give another name."
                )
            found += [
                f"{place} has a name of {len(name)} letters ({name[:20]}...): at most "
                f"{LONGEST_NAME}, since files are called by it."
                for name in ([key, value] if key in ("name", "family") else [key])
                if isinstance(name, str) and len(name) > LONGEST_NAME
            ]
    return found


def condition_mistakes(path, condition):
    """Sentences for a condition of rows that asks nothing, several things, or what nobody meets.

    It is as the key ``samples`` of a study has it, and stands at `path`.
    """
    where, tests = where_in(path), ("value", "values", "at_least", "below")
    if "at_most" in condition:
        return [f"{where}.at_most is no key: write below, with the first value that is too large."]
    if found := told(components.schema("config")["$defs"]["condition"], condition, path):
        return found
    tests = [test for test in tests if test in condition]
    if "all" in condition:
        if beside := [key for key in condition if key not in ("all", "most")]:
            return [f"{where} has all and {listed(beside)}: put each into the list of all."]
        if any("most" in part for part in condition["all"]):
            return [f"{where}: most belongs beside all, not inside it."]
        parts = enumerate(condition["all"])
        return [one for at, p in parts for one in condition_mistakes((*path, "all", at), p)]
    if "column" not in condition and not tests:
        return []  # at most so many of all rows
    if "column" not in condition or not tests:
        lacks = "value, values, at_least or below" if "column" in condition else "column"
        return [f"{where} lacks the key {lacks}: say which rows are meant."]
    if len(tests) > 1 and tests != ["at_least", "below"]:
        return [f"{where} asks {listed(tests)} at once: give one of them, or at_least and below."]
    ends = [condition.get(key) for key in ("at_least", "below")]
    if None not in ends and not ends[0] < ends[1]:
        return [f"{where} asks for at least {ends[0]} and below {ends[1]}, which nothing is."]
    values = condition.get("values", [condition.get("value")])
    named = tests[0] in ("value", "values")
    if named and any(isinstance(one, list | dict) or one is None for one in values):
        return [f"{where} has {brief(values)} where values of the column are expected."]
    if len({*map(str, values)}) < len(values):
        return [f"{where} names a value twice: {listed(values)}."]
    return []


#: What a number must be, by the rule that it breaks.
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


@functools.cache
def _validator():
    """A validator to which 3.0 is no whole number: what is counted is written without a point."""
    from jsonschema import Draft202012Validator, validators

    kinds = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return validators.extend(Draft202012Validator, type_checker=kinds)


def told(schema, value, path):
    """Sentences for mistakes of a part of the config that stands at `path`, by its schema."""
    errors = _validator()(schema).iter_errors(value)
    errors = sorted(errors, key=lambda error: list(map(str, error.absolute_path)))
    return [one for error in errors for one in _sentences(error, (*path, *error.absolute_path))]


def _sentences(error, place):
    """What is told of one mistake that jsonschema found."""
    where, rule, given, said = (
        where_in(place),
        error.validator,
        error.instance,
        brief(error.instance),
    )
    if rule == "additionalProperties":
        allowed = list(error.schema.get("properties", {}))
        unknown = [key for key in given if key not in allowed][: MOST_TOLD + 1]
        return [
            f"Unknown key {where_in((*place, str(key)[:LONGEST_NAME]))}"
            f"{nearest(key, allowed) or '.'} Allowed here: {', '.join(allowed)}."
            for key in unknown
        ]
    if rule == "enum":
        allowed = error.validator_value
        more = "more, which `python -m counterweight.options` lists"
        told = f"which is not a choice{nearest(given, allowed) or '.'} Choose one of: "
        return [f"{where} is {said}, {told}{choices(given, allowed, more)}."]
    if rule == "required":
        missing = error.message.split("'")[1]
        described = error.schema.get("properties", {}).get(missing, {}).get("description", "")
        return [f"{where} lacks the key {missing!r}. {described}".strip()]
    if rule == "type":
        wanted = error.validator_value
        wanted = [wanted] if isinstance(wanted, str) else wanted
        wanted = " or ".join(TYPES.get(name, name) for name in wanted)
        kind = _VALUES.get(type(given), "mapping")
        meant = _word_meant(given) if "text" in wanted else _number_meant(given)
        return [f"{where} must be of type {wanted}, not {kind} ({said}).{meant}"]
    if rule == "pattern" and error.validator_value in NAMES:
        named = "has the name" if "propertyNames" in error.absolute_schema_path else "is"
        return [f"{where} {named} {said}: {NAMES[error.validator_value]}."]
    if rule in ("minItems", "minProperties", "minLength") and not given:
        return [f"{where} is empty: give something, or leave the key out."]
    if rule in _LIMITS:
        most = error.validator_value
        of_hundred = rule in ("maximum", "exclusiveMaximum") and most == 1 < given <= 100
        meant = f" In parts of 1, {said} % is {given / 100:g}." if of_hundred else ""
        return [f"{where} is {said}: it must be {_LIMITS[rule]} {most:g}.{meant}"]
    if rule == "uniqueItems":
        return [f"{where} names something twice: {listed(given)}."]
    return [f"{where} is {said}: {error.message}."]


def _word_meant(given):
    """How to write a text that YAML reads as something else; "" where it is a list or a mapping."""
    if isinstance(given, bool):
        return " YAML reads yes, no, on, off, true and false so: for a name, write it in quotes."
    return f' Write it in quotes: "{given}".' if isinstance(given, int | float) else ""


def _number_meant(text):
    """How to write a text that is to be a number; "" where it is none."""
    try:
        float(text if isinstance(text, str) else "")
    except ValueError:
        return ""
    if "e" in text.lower():
        return " YAML reads 1e-7 as text: write 1.0e-7, without quotes."
    plain = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", text.strip())
    return f" Write {plain} without quotes."
