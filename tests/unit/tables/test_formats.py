"""How fields are written: numbers, yes and no, dates and times of day, and their edges."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables import formats
from counterweight.tables.formats import CLOCK, PLAIN_FORM


def words(*told):
    return pa.array(told, pa.string())


def marks(*told):
    """Pairs of decimal mark and mark between thousands of the forms that words may have."""
    return [(form["decimal"], form["thousands"]) for form in formats.number_forms(words(*told))]


def days(year, month, day, hours=0.0):
    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days + hours / 24


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (("1", "2.5"), [(".", "")]),
        (("1", "2"), [(".", "")]),
        (("1.234", "5.678"), [(".", ""), (",", ".")]),
        (("1.234", "5.67"), [(".", "")]),
        (("1.234,5", "5"), [(",", ".")]),
        (("1,234.5", "5"), [(".", ",")]),
        (("1 234,5", "5"), [(",", " ")]),
        (("1'234.5", "5"), [(".", "'")]),
        (("1_234.5", "5"), [(".", "_")]),
        (("1,23,456", "5"), [(".", ",")]),
        (("1,234", "5,678"), [(".", ","), (",", "."), (",", " ")]),
        (("a", "5"), []),
        (("(5)", "(6)"), []),
        (("0,234", "5"), [(",", "."), (",", " ")]),
    ],
)
def test_forms_of_numbers_are_those_in_which_all_words_are_numbers(told, found):
    assert marks(*told) == found


def test_words_behind_the_first_hundred_count_too():
    assert marks(*map(str, range(100)), "1,5") == [(",", "."), (",", " ")]
    assert not marks(*map(str, range(100)), "x")
    assert marks(*[f"({number})" for number in range(100)], "5")[0] == (".", "")
    _, right, whole = formats.numbers(words(*map(str, range(100)), "1.5"), PLAIN_FORM)
    assert right.all() and not whole


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"decimal": ","}, [(",", "."), (",", " "), (",", ""), (",", "'")]),
        ({"decimal": "."}, [(".", ",")]),
        ({"thousands": ","}, [(".", ",")]),
        ({"thousands": " "}, [(",", " ")]),
        ({"thousands": "'"}, [(",", "'")]),
        ({"decimal": ".", "thousands": ","}, [(".", ",")]),
        ({"decimal": ",", "thousands": ";"}, [(",", ";")]),
        ({"thousands": ";"}, []),
        ({"decimal": ";"}, []),
    ],
)
def test_what_a_person_says_of_the_marks_holds(given, found):
    forms = formats.number_forms(words("1,234", "5"), given)
    assert [(form["decimal"], form["thousands"]) for form in forms] == found


@pytest.mark.parametrize(
    ("form", "told", "value"),
    [
        ({}, "-1.5e3", -1500.0),
        ({"thousands": ","}, "(1,234.5)", -1234.5),
        ({"thousands": ","}, "\u22121,234", -1234.0),
        ({"decimal": ",", "thousands": ".", "sign": "€"}, "1.234,50 €", 1234.5),
        ({"sign": "$"}, "-$5.-", -5.0),
        ({"sign": "%"}, "12%", 12.0),
        ({"thousands": " "}, "1\u00a0234", 1234.0),
        ({"thousands": "'"}, "1\u2019234", 1234.0),
        ({"thousands": ","}, "12,34,567", 1234567.0),
        ({"thousands": ","}, "+1,234", 1234.0),
        ({"thousands": ","}, ".5", 0.5),
    ],
)
def test_a_word_in_a_form_is_that_number(form, told, value):
    values, right, _ = formats.numbers(words(told), PLAIN_FORM | form)
    assert right.tolist() == [True] and values.tolist() == [value]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({}, "1,5"),
        ({"thousands": ","}, "12,34"),
        ({"thousands": ","}, "0,234"),
        ({"thousands": ","}, "1234,567"),
        ({"sign": "€"}, "5 $"),
        ({"sign": "€"}, "€5€"),
        ({}, "five"),
    ],
)
def test_a_word_in_another_form_is_no_number(form, told):
    values, right, whole = formats.numbers(words(told, "x"), PLAIN_FORM | form)
    assert not right.any() and np.isnan(values).all() and not whole


def test_a_column_is_whole_where_all_words_are_digits_behind_a_sign():
    for told, whole in ((("1", "-2", "+3"), True), (("1", "2.0"), False), (("1", "1e3"), False)):
        assert formats.numbers(words(*told), PLAIN_FORM)[2] is whole
    grouped = PLAIN_FORM | {"thousands": ","}
    assert formats.numbers(words("1,234", "5"), grouped)[2]
    assert not formats.numbers(words("1,234", "x"), grouped)[2]


def test_times_of_day_are_hours_up_to_a_minute_before_midnight():
    values, right, whole = formats.numbers(
        words("0:00", "23:59", "6:45:36", "24:00", "7:60", "7:00:60", "7:5"), CLOCK
    )
    assert right.tolist() == [True] * 3 + [False] * 4 and not whole
    np.testing.assert_allclose(values[:3], [0.0, 23 + 59 / 60, 6.76], rtol=1e-15)
    assert np.isnan(values[3:]).all()


@pytest.mark.parametrize(
    ("told", "found"),
    [
        (("1.234", "5.678"), (".", False, False)),
        (("1.230", "5.678"), (".", False, True)),
        (("1.234", "977"), (".", True, False)),
        (("3.600 ", "977"), (".", True, True)),
        (("1,234", "977"), (",", True, False)),
        (("1.2345", "5.678"), ("", False, False)),
        (("0.234", "5.678"), ("", False, False)),
        (("1.5", "2"), ("", False, False)),
        (("1", "2"), ("", False, False)),
    ],
)
def test_a_mark_before_three_digits_everywhere_is_doubtful(told, found):
    told = words(*(word.strip() for word in told))
    assert formats.doubtful(told, formats.number_forms(told)) == found


def test_points_that_can_hardly_be_decimals_are_told_by_the_first_word():
    assert formats.contradicted(words("977", "3.600", "4.100"), {}) == "3.600"
    for told in (("3.600", "4.100"), ("977", "3.601"), ("977", "3.6"), ("977", "3,600")):
        assert formats.contradicted(words(*told), {}) == ""


def test_most_words_may_be_numbers_with_or_without_a_unit():
    assert formats.mostly_numbers(words("1,5", "2,5", "x")).tolist() == [True, True, False]
    assert formats.mostly_numbers(words("5 €", "6 €", "7")).tolist() == [True, True, False]
    assert formats.mostly_numbers(words("5 €", "6", "7")).tolist() == [False, True, True]
    assert not formats.mostly_numbers(words("x", "y")).any()
    # Of two forms with equally many words the first, of points.
    assert formats.mostly_numbers(words("1.5", "2,5")).tolist() == [True, False]


@pytest.mark.parametrize(
    ("form", "given", "marks"),
    [
        ({}, {"decimal": ","}, (",", ".")),
        ({}, {"decimal": "."}, (".", ",")),
        ({"thousands": "'"}, {"decimal": "."}, (".", "'")),
        ({"decimal": ",", "thousands": "."}, {"decimal": "."}, (".", ",")),
        ({}, {"thousands": "."}, (",", ".")),
        ({}, {"thousands": ","}, (".", ",")),
        ({"decimal": ","}, {"thousands": ","}, (".", ",")),
        ({}, {"decimal": ",", "thousands": " "}, (",", " ")),
    ],
)
def test_a_form_with_what_is_said_of_another_table_keeps_its_marks_apart(form, given, marks):
    made = formats.merged(form, given)
    assert (made["decimal"], made["thousands"]) == marks


@pytest.mark.parametrize(
    ("told", "form"),
    [
        (("Yes", "no"), {"true": "Yes", "false": "no"}),
        (("no",), {"true": "yes", "false": "no"}),
        (("yes",), {"true": "yes", "false": "no"}),
        (("ja", "NEIN"), {"true": "ja", "false": "NEIN"}),
        (("ja",), None),
        (("nein",), None),
        (("yes", "no", "maybe"), None),
        ((), None),
        (("YES", "yes", "Yes", "NO", "no", "No", "nO", "yeS"), {"true": "yeS", "false": "nO"}),
        (("YES", "yes", "Yes", "NO", "no", "No", "nO", "yeS", "yEs"), None),
    ],
)
def test_yes_and_no_are_one_pair_of_words_of_which_english_may_stand_alone(told, form):
    assert formats.boolean_form(words(*told)) == form


def test_words_for_true_and_false_are_read_in_any_language_beside_those_of_the_form():
    told = words("YES", "nein", "1", "0.0", "in", "out", "maybe")
    ones, right = formats.booleans(told, {"true": "In", "false": "Out"})
    assert ones.tolist() == [1, 0, 1, 0, 1, 0, 0]
    assert right.tolist() == [True] * 6 + [False]
    assert formats.booleans(told, {})[1].tolist() == [True] * 4 + [False] * 3


@pytest.mark.parametrize(
    ("told", "forms"),
    [
        (("2020-02-29", "1999/12/1"), [{"order": "ymd"}]),
        (("31/12/2020", "1/1/2020"), [{"order": "dmy"}]),
        (("12/31/2020", "1/1/2020"), [{"order": "mdy"}]),
        (("1/2/2020", "3/4/2020"), [{"order": "dmy"}, {"order": "mdy"}]),
        (("1/1/2020", "4/4/2020"), [{"order": "dmy"}]),
        (("1.2.2020", "3.4.2020"), [{"order": "dmy"}]),
        (("1.2.2020", "3/4/2020"), [{"order": "dmy"}, {"order": "mdy"}]),
        (("3-Jan-2020",), [{"format": "%d-%b-%Y"}]),
        (("20200131",), []),
        (("2021-02-29",), []),
        ((), []),
    ],
)
def test_forms_of_dates_are_more_than_one_where_day_and_month_could_be_either(told, forms):
    assert formats.date_forms(words(*told)) == forms


def test_eight_digits_are_dates_where_they_are_asked_for():
    assert formats.date_forms(words("20200131"), compact=True) == [{"format": "%Y%m%d"}]
    many = [f"1/{day}/2020" for day in range(1, 13)] * 9
    assert formats.date_forms(words(*many, "13/1/2020")) == [{"order": "dmy"}]


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("1970-01-01", 0.0),
        ("1969-12-31", -1.0),
        ("2000-02-29", days(2000, 2, 29)),
        ("2020-12-31", days(2020, 12, 31)),
        ("9999-12-31", days(9999, 12, 31)),
        ("2020-01-02 06:00", days(2020, 1, 2, 6)),
        ("2020-01-02T06:00:36", days(2020, 1, 2, 6.01)),
        ("2020-01-02 12:30 AM", days(2020, 1, 2, 0.5)),
        ("2020-01-02 12:30 PM", days(2020, 1, 2, 12.5)),
        ("2020-01-02 1:30 pm", days(2020, 1, 2, 13.5)),
        ("2020-01-02 1:30 am", days(2020, 1, 2, 1.5)),
        ("2020-01-02 06:00Z", days(2020, 1, 2, 6)),
        ("2020-01-02 06:00+02:30", days(2020, 1, 2, 3.5)),
        ("2020-01-02 06:00-0230", days(2020, 1, 2, 8.5)),
        ("2020-01-02 23:59:60", days(2020, 1, 3)),
    ],
)
def test_a_date_is_days_since_1970_and_times_are_fractions_in_utc(told, value):
    found, right = formats.dates(words(told), {"order": "ymd"})
    assert right.all()
    np.testing.assert_allclose(found, value, rtol=1e-15)


@pytest.mark.parametrize(
    "told",
    ["2020-00-01", "2020-13-01", "2020-01-00", "2020-01-32", "1900-02-29", "2020-04-31"]
    + ["2020-01-01 24:00", "2020-01-01 23:60", "2020-01-01 23:59:61", "20-01-01", "x"],
)
def test_what_no_calendar_has_is_no_date(told):
    found, right = formats.dates(words(told), {"order": "ymd"})
    assert not right.any() and np.isnan(found).all()


def test_a_format_of_a_persons_gives_the_days_that_it_says():
    found, right = formats.dates(
        words("31/01/70 12:00", "1/13/70 0:00"), {"format": "%d/%m/%y %H:%M"}
    )
    assert right.tolist() == [True, False] and found[0] == 30.5 and np.isnan(found[1])


@pytest.mark.parametrize("told", ["-0", "-0.0", "(0)", "-0,0 %"])
def test_a_nought_has_no_sign(told):
    form = PLAIN_FORM | ({"decimal": ",", "sign": "%"} if "%" in told else {})
    values, right, _ = formats.numbers(words(told, "x"), form)
    assert right.tolist() == [True, False] and values[0] == 0 and not np.signbit(values[0])


@pytest.mark.parametrize("form", ["%G-W%V", "%G-W%V-%u"])
def test_a_week_is_its_monday(form):
    told = ["2022-W05", "2021-W01", "x"]
    told = [f"{one}-1" for one in told] if "%u" in form else told
    days, right = formats.dates(words(*told), {"format": form})
    # 31 January 2022 and 4 January 2021.
    assert days[:2].tolist() == [19023.0, 18631.0] and right.tolist() == [True, True, False]


def test_a_format_that_nothing_can_be_read_by_is_told():
    with pytest.raises(CounterweightError, match="columns.dates: nothing can be read by .*'%Q'"):
        formats.dates(words("2022"), {"format": "%Q"})
