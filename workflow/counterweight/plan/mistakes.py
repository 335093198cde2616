"""Mistakes in the config, told as a person would: key, nearest word, what is allowed."""

import difflib
import functools
import math
import re

from counterweight.errors import holds_password, listed

#: Letters that a name may have: files are called by it, with more behind.
LONGEST_NAME = 100
#: Letters that a text may have, and mistakes that are told at once.
LONGEST_TEXT, MOST_TOLD = 100_000, 10
#: Choices that one sentence lists.
MOST_CHOICES = 24
#: Parts of the config whose keys are names of people's own.
NAMED = (("studies",), ("datasets",), ("tables",), ("families",))

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


#: Where an address begins in a longer text.
_ADDRESS = re.compile(r"(?<![\w+])[\w+]+://[^\s'\"]*")


def secrets_in(value, path=()):
    """Places of a config, as sentences, at which an address with a password stands.

    Parameters and result as `odd_values`; nothing of an address is repeated.
    """
    if isinstance(value, str):
        whole = path[-1:] == ("url",) or _ADDRESS.match(value.strip())
        parts = [value.strip()] if whole else []
        parts += [part for part in _ADDRESS.findall(value) if "@" in part]
        if not any(map(holds_password, parts)):
            return []
        return [
            f"{where_in(path)} holds an address with a password: write ${{NAME}} in its place, and "
            "set NAME in the environment."
        ]
    if isinstance(value, list):
        return [one for at, part in enumerate(value) for one in secrets_in(part, (*path, at))]
    if not isinstance(value, dict):
        return []
    keys = [key for key in value if isinstance(key, str) and secrets_in(key)]
    if keys:
        return [f"A key of {where_in(path)} is an address with a password: take it out."]
    return [one for key, part in value.items() for one in secrets_in(part, (*path, key))]


def where_in(path):
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text or "the config"


def nearest(word, allowed):
    """A hint at the allowed word that comes closest to `word`; "" where none does."""
    word = str(word)[:LONGEST_NAME]
    close = difflib.get_close_matches(word, [str(item) for item in allowed], n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def odd_values(value, path=()):
    """Sentences for what no schema refuses: names that are no text or too long, NaN, infinity.

    `path` is where in the config the value stands.
    """
    found = []
    if isinstance(value, float) and not math.isfinite(value):
        found.append(f"{where_in(path)} is {value}: give a number, or null where there is none.")
    if isinstance(value, list):
        for index, part in enumerate(value):
            found += odd_values(part, (*path, index))
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str) and path in NAMED:
                found.append(
                    f"{where_in(path)} has the name {key!r}, which YAML does not read as text: put "
                    "it in quotes, or give another name."
                )
            names = [key, part] if key in ("name", "family") else [key]
            found += [
                f"{where_in(path)} has a name of {len(name)} letters ({name[:20]}...): at most "
                f"{LONGEST_NAME}, since files are called by it."
                for name in names
                if isinstance(name, str) and len(name) > LONGEST_NAME
            ]
            found += odd_values(part, (*path, key))
    return found


def brief(value):
    """A value as the config has it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]} ..."


def together(mistakes):
    """Sentences on mistakes as one text: the first, and how many more there are."""
    more = len(mistakes) - MOST_TOLD
    return "\n".join(mistakes[:MOST_TOLD] + ([f"And {more} more of the kind."] if more > 0 else []))


#: What nobody sees in a text, and what turns the order in which it is read.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
#: Parts of a config whose keys stand in print and name files.
_PRINTED = ("policies", "predictions", "groups", "samples", "families", "measures")


def unseen_in(value, path=()):
    """Sentences for texts that nobody can read as they are: unseen signs, no end of letters.

    Parameters and result as `odd_values`.
    """
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return [f"{where_in(path)} has {len(value)} letters: at most {LONGEST_TEXT}."]
        if sign := _UNSEEN.search(value):
            return [
                f"{where_in(path)} holds a sign that is not seen (U+{ord(sign[0]):04X}): write it "
                "anew without."
            ]
    if isinstance(value, list):
        return [one for at, part in enumerate(value) for one in unseen_in(part, (*path, at))]
    if not isinstance(value, dict):
        return []
    found = []
    for key, part in value.items():
        named = path[-1:] and path[-1] in _PRINTED
        if isinstance(key, str) and (
            unseen_in(key) or (named and (not key.isprintable() or not key.strip()))
        ):
            found.append(f"{where_in(path)} has the name {key!r}: use letters that are seen.")
        else:
            found += unseen_in(part, (*path, key))
    return found


def condition_mistakes(where, condition):
    """Sentences for a condition of rows that asks nothing, several things, or what nobody meets.

    It is as the key ``samples`` of a study has it.
    """
    if "all" in condition:
        parts = condition["all"]
        return [one for part in parts for one in condition_mistakes(where, part)]
    tests = [key for key in ("value", "values", "at_least", "below") if key in condition]
    if "column" not in condition and not tests:
        return []  # at most so many of all rows
    if "column" not in condition or not tests:
        lacks = "value, values, at_least or below" if "column" in condition else "column"
        return [f"{where} lacks the key {lacks}: say which rows are meant."]
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


@functools.cache
def _strict():
    """A validator to which 3.0 is no whole number: what is counted is written without a point."""
    from jsonschema import Draft202012Validator, validators

    kinds = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    return validators.extend(Draft202012Validator, type_checker=kinds)


def told(validator, value, path):
    """Sentences for the mistakes of one part of the config, which stands at `path`."""
    found = []
    validator = _strict()(validator.schema)
    for error in sorted(
        validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path))
    ):
        place = (*path, *error.absolute_path)
        where = where_in(place)
        if error.validator == "additionalProperties":
            allowed = list(error.schema.get("properties", {}))
            unknown = [key for key in error.instance if key not in allowed]
            found += [
                f"Unknown key {where_in((*place, str(key)[:LONGEST_NAME]))}"
                f"{nearest(key, allowed) or '.'} Allowed here: {', '.join(allowed)}."
                for key in unknown[: MOST_TOLD + 1]
            ]
        elif error.validator == "enum":
            allowed = error.validator_value
            found.append(
                f"{where} is {brief(error.instance)}, which is not a choice"
                f"{nearest(error.instance, allowed) or '.'} Choose one of: "
                f"{choices(error.instance, allowed)}."
            )
        elif error.validator == "required":
            missing = error.message.split("'")[1]
            described = error.schema.get("properties", {}).get(missing, {}).get("description", "")
            found.append(f"{where} lacks the key {missing!r}. {described}".strip())
        elif error.validator == "type":
            hint = ""
            if isinstance(error.instance, str) and _looks_numeric(error.instance):
                plain = re.sub(r"^([-+]?)0+(?=[0-9])", r"\1", error.instance.strip())
                hint = f" Write {plain} without quotes."
                if "e" in error.instance.lower():
                    hint = " YAML reads 1e-7 as text: write 1.0e-7, without quotes."
            wanted = error.validator_value
            wanted = wanted if isinstance(wanted, list) else [wanted]
            wanted = " or ".join(TYPES.get(name, name) for name in wanted)
            found.append(
                f"{where} must be of type {wanted}, not {_kind(error.instance)} "
                f"({brief(error.instance)}).{hint}"
            )
        elif error.validator == "pattern" and error.validator_value in NAMES:
            named = "has the name" if "propertyNames" in error.absolute_schema_path else "is"
            rule = NAMES[error.validator_value]
            found.append(f"{where} {named} {brief(error.instance)}: {rule}.")
        elif error.validator in ("minItems", "minProperties", "minLength") and not error.instance:
            found.append(f"{where} is empty: give something, or leave the key out.")
        elif error.validator == "uniqueItems":
            found.append(f"{where} names something twice: {listed(error.instance)}.")
        else:
            found.append(f"{where} is {brief(error.instance)}: {error.message}.")
    return found


def choices(word, allowed):
    """All choices where they are few; of many those like `word`, and where the others stand."""
    allowed = [str(item) for item in allowed]
    if len(allowed) <= MOST_CHOICES:
        return ", ".join(allowed) or "nothing is registered"
    close = difflib.get_close_matches(str(word), allowed, n=MOST_CHOICES, cutoff=0.3)
    shown = close or allowed[:MOST_CHOICES]
    return (
        f"{', '.join(shown)}, and {len(allowed) - len(shown)} more, which "
        "`python -m counterweight.options` lists"
    )


def _kind(value):
    if value is None:
        return "empty"
    names = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list"}
    return names.get(type(value), "mapping")


def _looks_numeric(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
