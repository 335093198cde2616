"""Options that the protocols share, as JSON-schema fragments."""

from counterweight.fragments import Number

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
