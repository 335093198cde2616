"""What an option of a component is, in one line: JSON-schema fragments for ``OPTIONS``.

The plan reads such calls from the source text, so their arguments are literals or named constants.
A default of ``...`` is none: the option must be given. `null` allows null beside what else it is.
"""

_WORDS = {"above": "exclusiveMinimum", "below": "exclusiveMaximum"}


def Option(default, about, *, type=None, null=False, **schema):
    """A fragment: `type` (a name, or several), other words of JSON schema, `above` and `below`."""
    kinds = [type] if isinstance(type, str) else list(type or ())
    kinds += ["null"] if null else []
    fragment = {"type": kinds if len(kinds) > 1 else kinds[0]} if kinds else {}
    fragment |= {_WORDS.get(word, word): value for word, value in schema.items()}
    fragment |= {} if default is ... else {"default": default}
    return fragment | {"description": about}


def Number(default, about, **schema):
    """A number, perhaps with `minimum`, `maximum`, `above`, `below`, `null`."""
    return Option(default, about, type="number", **schema)


def Integer(default, about, **schema):
    """A whole number; bounds as of `Number`."""
    return Option(default, about, type="integer", **schema)


def Flag(default, about, **schema):
    """True or false."""
    return Option(default, about, type="boolean", **schema)


def Text(default, about, **schema):
    """A text, perhaps with a `pattern`."""
    return Option(default, about, type="string", **schema)


def Array(default, about, **schema):
    """A list: `items`, `minItems`, `uniqueItems`."""
    return Option(default, about, type="array", **schema)


def Choice(default, among, about, **schema):
    """One of the texts `among`."""
    return Option(default, about, enum=among, **schema)


#: Calls that the plan may evaluate.
FRAGMENTS = {call.__name__: call for call in (Option, Number, Integer, Flag, Text, Array, Choice)}


#: Options that several protocols have.
LEVEL = {
    "level": Number(0.95, "Coverage of the intervals.", above=0, below=1),
}  # fmt: skip
#: Of the option ``keep_rates``: beside it stand the default and what the rates are of.
RATES = {
    "type": "array",
    "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "minItems": 1,
    "uniqueItems": True,
}
