"""Options in a line each are the JSON schema that they stand for."""

import pytest
from counterweight.fragments import Array, Choice, Flag, Integer, Number, Option, Text


@pytest.mark.parametrize(
    ("made", "schema"),
    [
        (Number(0.5, "a.", above=0, below=1), {"type": "number", "default": 0.5}),
        (Integer(..., "a.", minimum=1), {"type": "integer", "minimum": 1}),
        (Number(None, "a.", null=True), {"type": ["number", "null"], "default": None}),
        (Flag(False, "a."), {"type": "boolean", "default": False}),
        (Text("", "a.", pattern="^x"), {"type": "string", "default": "", "pattern": "^x"}),
        (Array([], "a.", items={}), {"type": "array", "default": [], "items": {}}),
        (Choice("x", ["x", "y"], "a."), {"enum": ["x", "y"], "default": "x"}),
        (Option(1, "a.", type=("number", "string")), {"type": ["number", "string"], "default": 1}),
        (Option(..., "a.", null=True), {"type": "null"}),
        (Option(1, "a."), {"default": 1}),
    ],
)
def test_a_fragment_says_what_its_call_says(made, schema):
    bounds = {"exclusiveMinimum": 0, "exclusiveMaximum": 1}
    more = bounds if "exclusiveMinimum" in made else {}
    assert made == schema | more | {"description": "a."}
    assert ("exclusiveMinimum" in made) == (schema.get("default") == 0.5)
