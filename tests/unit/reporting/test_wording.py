"""How numbers and lists are told: at every edge where the form changes."""

import math

import pytest
from counterweight.reporting import wording
from counterweight.reporting.wording import (
    MINUS,
    Measure,
    amount,
    capital,
    chance_text,
    count,
    digits,
    interval,
    label_of,
    measure_of,
    number,
    percent,
    places_for,
    setting_label,
    shortened,
    splits,
)


def test_signs_stand_where_a_number_is_not_told_as_0():
    assert [number(value, 1, sign=True) for value in (1.25, -1.25, 0.04, -0.04, 0.06)] == [
        *("+1.2", f"{MINUS}1.2", "0.0", "0.0", "+0.1")
    ]
    assert number(2.0) == "2.00" and number(-math.inf) == f"{MINUS}infinite"
    assert number(None) == percent(None) == percent(math.nan) == "–"


def test_digits_leave_three_figures_of_the_largest():
    """Digits after the point of a number of size 10^-m are m + 2, from two to six."""
    sizes = {123.0: 2, 10.0: 2, 1.0: 2, 0.9: 3, 0.1: 3, 0.09: 4, 0.001: 5, 1e-4: 6, 1e-9: 6}
    assert {size: places_for([size, size / 50]) for size in sizes} == sizes
    assert places_for([0.0, math.inf, math.nan]) == 2 and places_for([-0.05]) == 4
    assert places_for([], 1) == 1 and places_for([5.0], 0, 2) == 1 and places_for([50.0], 0, 2) == 0
    assert [digits(unit, 0.5) for unit in ("rows", "points", "", "nats", "nats a row")] == [
        *(0, 2, 3, 3, 3)
    ]
    assert digits("nats", 20.0) == 3 and digits("", 20.0) == 2


def test_amounts_have_four_figures_and_of_thousands_all():
    told = {9999.4: "9,999", 10000: "10,000", -123456: f"{MINUS}123,456"}
    told |= {12.3456: "12.35", -0.5: f"{MINUS}0.5000", 0.012346: "0.01235"}
    assert {value: amount(value) for value in told} == told
    assert amount(3.0, sign=True) == "+3.000" and amount(20000, sign=True) == "+20,000"


def test_chances_are_0_or_1_only_where_they_are():
    told = {0: "0 %", 0.0004: "< 0.05 %", 0.0005: "0.05 %", 0.0099: "0.99 %", 0.01: "1.0 %"}
    told |= {0.5: "50.0 %", 0.9995: f"{99.95:.1f} %", 0.9996: "> 99.9 %", 1: "100 %"}
    assert {value: chance_text(value) for value in told} == told
    assert chance_text(math.nan) == "–"


def test_lists_counts_and_names():
    assert interval(-1, 2, 0) == f"[{MINUS}1, 2]"
    assert interval(math.nan, 2) == interval(1, math.nan) == ""
    assert [count(n, "method") for n in (0, 1, 2)] == ["0 methods", "1 method", "2 methods"]
    assert count(1, "box", "boxes") + count(2, "box", "boxes") == "1 box2 boxes"
    assert splits(1, 0) == "1 split for, 0 against" and splits(0, 2) == "0 splits for, 2 against"
    assert splits(0, 0) == "" and capital("") == "" and capital("aB") == "AB"
    text = "a name that is long enough to be cut"
    assert shortened(text, len(text)) == text
    for most in (20, 12):
        head, _, tail = shortened(text, most).partition("…")
        assert len(head) + len(tail) < most and head and tail
        assert text.startswith(head) and text.endswith(tail)
    assert setting_label("keep_rate=0.1,shifts=all,hard") == "l = 0.1, shifts = all, hard"
    study = {"methods": [{"id": "a_b"}, {"id": "c", "label": "See"}], "selectors": None}
    told = [label_of(study, name, "x") for name in ("a_b", "c", "d")]
    assert told == ["a b", "See", "x"]


def test_measures_know_their_limits_and_the_unit_of_differences():
    assert Measure("x", "share").limits == (0.0, 1.0) and Measure("x", "rows").limits == (0.0, None)
    assert Measure("x").limits == (None, None) and Measure("x", "rows", bounds=(1, 9)).limits == (
        1,
        9,
    )
    assert Measure("x", "share").told == ("points", 100.0)
    assert Measure("x", "relative").told == ("% of the value", 100.0)
    assert Measure("x", "nats").told == ("nats", 1.0)
    declared = {"error": {"label": "e"}, "error of a": {"label": "own"}}
    assert measure_of(declared, "error", "a").label == "own"
    assert measure_of(declared, "error", "b").label == "e"
    assert measure_of(declared, "some_rate", "b").label == "some rate of b"


def test_a_packed_plan_is_unpacked_to_what_it_was():
    one, other = {"label": "1"}, {"label": "2"}
    shown = {"studies": {"a": {"measures": {"m": one}}, "b": {"measures": {"m": other, "n": one}}}}
    packed = wording.packed(shown)
    assert packed["measures"] == {"m": one, "n": one}
    assert packed["studies"]["b"]["measures"] == {"m": other, "n": None}
    assert wording.unpacked(packed)["studies"] == shown["studies"]


@pytest.mark.parametrize(("value", "told"), [(True, "yes"), (False, "no"), (1, 1), ("sí", "sí")])
def test_a_yes_of_a_config_is_told_as_it_was_written(value, told):
    assert wording.as_written(value) == told and type(wording.as_written(value)) is type(told)
