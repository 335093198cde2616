"""Conditions of rows that ask nothing, several things at once, or what nobody meets."""

import copy

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.mistakes import choices, condition_mistakes
from small_config import SMALL


def told(condition):
    (found,) = condition_mistakes(("samples.d",), condition)
    assert "\n" not in found
    return found


@pytest.mark.parametrize(
    "condition",
    [
        {"column": "age", "value": 0},
        {"column": "sex", "values": ["Male"]},
        {"column": "age", "at_least": 30, "below": 30.5, "most": 1},
        {"most": 5},
        {"all": [{"column": "x", "value": 1}, {"all": [{"column": "y", "below": 2}]}], "most": 2},
    ],
)
def test_conditions_that_say_which_rows_are_meant(condition):
    assert condition_mistakes(("samples.d",), condition) == []


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ({"column": "age", "at_least": "old"}, "samples.d.at_least must be of type number"),
        ({"column": "age", "at_least": 3, "below": 3}, "at least 3 and below 3, which nothing is"),
        ({"column": "age"}, "lacks the key value, values, at_least or below"),
        ({"column": "age", "value": 1, "below": 3}, "samples.d asks value, below at once"),
        ({"column": "age", "value": 1, "values": [2]}, "asks value, values at once"),
        ({"value": 1}, "lacks the key column"),
        ({"colum": "age", "value": 1}, "Unknown key samples.d.colum; did you mean 'column'?"),
        ({"column": "sex", "values": "Male"}, "samples.d.values must be of type list"),
        ({"column": "sex", "values": ["F", "F"]}, "names a value twice: F, F"),
        ({"column": "sex", "value": ["F"]}, "has [['F']] where values of the column are expected"),
        ({"column": "sex", "value": None}, "has [None] where values of the column are expected"),
        ({"all": []}, "samples.d.all is empty"),
        ({"all": [{"column": "x", "value": 1}], "below": 3}, "samples.d has all and below: put"),
        ({"all": [{"column": "x", "value": 1, "most": 3}]}, "most belongs beside all"),
        ({"all": [{"column": "x", "valu": 1}]}, "Unknown key samples.d.all[0].valu"),
        ({"all": [{"column": "x"}]}, "samples.d.all[0] lacks the key value"),
        ({"column": "x", "value": 1, "most": 0}, "samples.d.most is 0"),
        ({"column": "x", "value": 1, "most": True}, "most must be of type integer"),
        ({}, "samples.d is empty"),
        ("male", "must be of type mapping, not text"),
    ],
)
def test_wrong_conditions_are_told_in_a_sentence(condition, text):
    assert text in told(condition)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labeled", "names 'labeled', which every study has"),
        ("unlabeled", "which every study has"),
        ("everyone", "which every study has"),
        ("2nd", "has the name '2nd': begin with a letter"),
        ("a-b", "has the name 'a-b'"),
        ("if", "'if', which cannot stand in an expression"),
    ],
)
def test_names_of_data_sets_are_checked(name, text):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["samples"] = {name: {"column": "x", "value": 1}}
    with pytest.raises(CounterweightError, match=text):
        config.resolve(made)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            {"rule": "answered", "column": "label", "where": {"column": "x", "atleast": 3}},
            "Unknown key studies.one.labeling.where.atleast; did you mean 'at_least'?",
        ),
        (
            {"rule": "present", "where": {"x": {"atleast": 3}, "y": "F"}},
            "Unknown key studies.one.labeling.where.x.atleast",
        ),
    ],
)
def test_conditions_of_labeling_rules_are_checked(rule, text):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["labeling"] = rule
    with pytest.raises(CounterweightError, match=text):
        config.resolve(made)


def test_all_choices_are_told_where_they_are_few():
    names = [f"name{number:02d}" for number in range(25)]
    assert choices("x", names[:24]) == ", ".join(names[:24])
    assert choices("x", names).endswith("name23, and 1 others")
    assert choices("x", []) == "none"
    assert choices("nmae07", names).startswith("name07")
