"""Options that the protocols share, as JSON-schema fragments."""

LEVEL = {
    "level": {
        "type": "number",
        "exclusiveMinimum": 0,
        "exclusiveMaximum": 1,
        "default": 0.95,
        "description": "Coverage of the intervals.",
    }
}
#: Of the option ``keep_rates``: beside it stand the default and what the rates are of.
RATES = {
    "type": "array",
    "items": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "minItems": 1,
    "uniqueItems": True,
}
