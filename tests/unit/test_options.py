"""Options of estimators: what their declarations exclude is told."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.checks import check_options

OPTIONS = {
    "kind": {"enum": ["one", "two"]},
    "count": {"type": "integer", "minimum": 2},
    "share": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "price": {"type": ["number", "null"], "maximum": 9},
    "rate": {"type": ["number", "string"], "minimum": 0, "pattern": "^balanced$"},
    "size": {"type": ["number", "string"], "maximum": 1, "pattern": "^(all|some)$"},
    "both": {"type": "boolean"},
    "names": {"type": "array"},
    "text": {"type": "string"},
    "free": {"anyOf": [{"enum": ["all"]}, {"type": "array"}]},
}
GOOD = {
    "kind": "one",
    "count": 2,
    "share": 0.5,
    "price": None,
    "rate": "balanced",
    "size": "some",
    "both": False,
    "names": (),
    "text": "",
    "free": 7,
}


def test_what_is_declared_passes():
    check_options(GOOD, OPTIONS)
    numpy = {"count": np.int64(3), "share": np.float32(0.5), "both": np.True_, "price": 9}
    check_options(GOOD | numpy | {"rate": 0, "size": 1, "names": np.array(["a"])}, OPTIONS)


@pytest.mark.parametrize(
    ("name", "value", "asked"),
    [
        ("kind", "three", "one of one, two, not 'three'"),
        ("kind", ["one"], "one of one, two"),
        ("count", 1, "a whole number at least 2, not 1"),
        ("count", 2.5, "a whole number"),
        ("count", "2", "a whole number"),
        ("count", True, "a whole number"),
        ("share", 0, "a number above 0 and below 1"),
        ("share", 1.0, "a number above 0 and below 1"),
        ("share", np.nan, "a number above 0"),
        ("share", None, "a number above 0"),
        ("share", np.array([0.5]), "a number above 0"),
        ("price", 10, "a number at most 9, not 10"),
        ("price", -np.inf, "a number at most 9"),
        ("rate", -1, "a number at least 0, or balanced, not -1"),
        ("rate", "unbalanced", "a number at least 0, or balanced"),
        ("size", "alls", "a number at most 1, or one of all, some, not 'alls'"),
        ("both", 1, "true or false"),
        ("names", "a", "a list of texts"),
        ("text", None, "a text"),
    ],
)
def test_what_is_not_is_told_in_a_sentence(name, value, asked):
    with pytest.raises(CounterweightError) as refused:
        check_options(GOOD | {name: value}, OPTIONS)
    assert str(refused.value).startswith(f"{name} must be {asked}")
    assert str(refused.value).endswith(f", not {value!r}.")
