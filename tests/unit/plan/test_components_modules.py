"""Modules and constants of the library, by name."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import components


def test_only_files_of_this_library_are_its_modules():
    assert components.is_module("counterweight") and components.is_module("counterweight.plan.jobs")
    assert not components.is_module("numpy") and not components.is_module("counterweight.nowhere")
    assert not components.is_module("plan.jobs")


def test_schemas_are_read_by_their_names():
    assert components.schema("own")["required"] == ["table"]
    assert components.schema("config")["required"] == ["studies"]


def test_a_task_is_that_of_a_component_or_the_first():
    assert components.task_of("model", "logistic") == "classification"
    assert components.task_of("labeling", "logged") == "log"
    assert components.task_of("labeling", "present") == "missing_outcomes"
    assert components.task_of("outcome", "equals", "offers") == "offers"
    assert components.task_of("outcome", "equals", "") == ""
    assert components.task_of("outcome", "no_outcome", "offers") == "filter"


def test_roles_are_columns_whatever_else_is_said_of_them():
    roles = {"id": "who", "groups": ["a", "b"], "outcome": {"column": "y", "positive": 1}}
    roles |= {"labeled": {"where": {"seen": 1}}, "weight": None}
    expected = {"id": "who", "groups": ["a", "b"], "outcome": "y", "labeled": ["seen"]}
    assert components.columns_by_role(roles) == expected


def test_look_ups_of_a_job_are_those_that_it_declares():
    with components.only([("metric", "auc")], ["counterweight.errors"]):
        assert components.locate("metric", "auc")[1]
        assert components.reference("counterweight.errors:listed")(["a"]) == "a"
        with pytest.raises(RuntimeError, match="looks up the metric 'brier'"):
            components.locate("metric", "brier")
        with pytest.raises(RuntimeError, match="imports counterweight.plan.jobs by name"):
            components.reference("counterweight.plan.jobs")
        with pytest.raises(CounterweightError, match="no metric 'area'"):
            components.locate("metric", "area")
    assert components.locate("metric", "brier")[1]
