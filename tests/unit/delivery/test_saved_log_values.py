"""What is given away of a log: tables of values, verdicts, what each rests on, new logs."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.delivery import saved_log_values as saved
from counterweight.delivery.saved_log_values import SavedValues


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.1, 0.3, "better"),
        (-0.3, -0.1, "worse"),
        (-0.1, 0.3, "open"),
        (0.0, 0.3, "open"),
        (0.0, 0.0, "the same"),
    ],
)
def test_a_difference_is_better_or_worse_where_its_interval_leaves_0_out(low, high, told):
    assert saved.verdict(SimpleNamespace(low=low, high=high)) == told
    turned = {"better": "worse", "worse": "better", "open": "open", "the same": "the same"}[told]
    assert saved.verdict(SimpleNamespace(low=-high, high=-low)) == turned


def supported(*reasons, **known):
    told = {"rows": 1000, "rows_agreed": 400, "rows_rewarded": 30, "effective_rows": 77.4}
    return SimpleNamespace(**(told | {"clusters": 0, "reasons": reasons} | known))


def test_what_a_value_rests_on_is_told_with_the_reasons_against_it():
    good = saved.rests_on(supported())
    assert good == (
        "30 rows with a reward among 400 of 1000 rows whose action the policy may take; as much as "
        "77 rows that count alike"
    )
    of_users = saved.rests_on(supported(clusters=60))
    assert "1000 rows of about 60 users whose" in of_users
    assert of_users.endswith("as much as 77 users that count alike")
    # Counted by a hash: 1,319 of 1,323.
    assert "rows of about 1,300 users whose" in saved.rests_on(supported(clusters=1319))
    assert saved.rests_on(supported("one", "two")) == f"{good}: one; two"


@pytest.fixture
def question():
    def asked(mean, error):
        made = object.__new__(SavedValues)
        made.facts = {"logged": [mean, error]}
        return made

    return asked


@pytest.mark.parametrize(
    ("mean", "error", "warned"),
    # Both errors together are 0.05: four of them are 0.2.
    [(0.5, 0.03, False), (0.3, 0.03, False), (0.299, 0.03, True), (0.71, 0.03, True)],
)
def test_a_log_that_earned_otherwise_than_chance_explains_is_told(
    question, caplog, monkeypatch, mean, error, warned
):
    logged = SimpleNamespace(value=0.5, standard_error=0.04)
    monkeypatch.setattr(saved.log, "propagate", True)
    with caplog.at_level(logging.WARNING):
        question(mean, error)._compare(SimpleNamespace(logged=logged))
    assert ("more than chance explains" in caplog.text) == warned
    caplog.clear()
    certain = SimpleNamespace(value=0.5, standard_error=0.0)
    question(0.1, 0.0)._compare(SimpleNamespace(logged=certain))
    assert not caplog.text


def test_columns_of_a_layout_are_filled_where_a_row_has_nothing():
    layout = [("a", "string"), ("b", "float64"), ("c", "int64")]
    found = saved._columns([{"a": "x", "c": 2}, {"b": 1.5}], layout)
    assert found["a"] == ["x", ""] and found["c"] == [2, 0]
    assert np.isnan(found["b"][0]) and found["b"][1] == 1.5
