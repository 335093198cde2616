"""The edges of types: how long a number may be, what share is nearly a type, units of times."""

import datetime
import decimal
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.type_inference import (
    Column,
    alike,
    arrow_values,
    as_days,
    given_values,
    interpreted,
)


def column(*values, kind=None):
    return Column("t", "x", arrow_values("t", "x", pa.array(values, kind)))


def kind_of(*words, **said):
    return interpreted(column(*words, kind=pa.string()), **said)


@pytest.mark.parametrize("typed", [False, True])
def test_integers_of_more_than_fifteen_digits_are_text(typed):
    for number, kind in ((10**15 - 1, "number"), (10**15, "text"), (-(10**15), "text")):
        found = given_values(column(number, 5), None) if typed else kind_of(str(number), "5")
        assert found[0] == kind
        assert list(found[1]) == ([number, 5] if kind == "number" else [str(number), "5"])


def test_numbers_that_are_asked_for_are_integers_as_long_as_floats_hold_them():
    assert kind_of(str(2**53 - 1), asked="numbers")[1].dtype == "Int64"
    assert kind_of(str(2**53), asked="numbers")[1].dtype == "float64"
    assert kind_of("1", "2.0")[1].dtype == "float64"


@pytest.mark.parametrize(("scale", "dtype"), [(0, "Int64"), (2, "float64")])
def test_decimals_without_places_are_integers(scale, dtype):
    values = [decimal.Decimal(7).quantize(decimal.Decimal(1).scaleb(-scale)), None]
    kind, found, _, _ = given_values(column(*values, kind=pa.decimal128(9, scale)), None)
    assert kind == "number" and found[0] == 7 and str(found.dtype) == dtype


@pytest.mark.parametrize(
    ("words", "doubt"),
    [
        (["1", "2", "x", "y"], "2 fields are no numbers"),
        (["1", "2", "x"], "1 field is no number"),
        (["1", "x", "y"], ""),
        (["1", "2", "x", "y", ""], "2 fields are no numbers"),
        ([f"2020-01-{day:02}" for day in range(1, 10)] + ["x"], "1 field is no date"),
        ([f"2020-01-{day:02}" for day in range(1, 9)] + ["x"], ""),
    ],
)
def test_text_that_is_mostly_numbers_or_dates_is_told_from_a_share_on(words, doubt):
    cell = column(*words, kind=pa.string())
    assert interpreted(cell)[0] == "text"
    assert doubt in "; ".join(cell.doubts) and bool(cell.doubts) == bool(doubt)


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["a", "?", "b"], ["a", None, "b"]),
        (["a", "?"], ["a", "?"]),
        (["a", "b", "+"], ["a", "b", "+"]),
        (["a", "b", "-", "+"], ["a", "b", "-", "+"]),
    ],
)
def test_signs_are_missing_beside_two_words_and_no_other_sign(words, left):
    found, _, form = column(*words, kind=pa.string()).without_signs()
    assert [None if code < 0 else found.words[code].as_py() for code in found.codes] == left
    assert form == ({"missing": ["?"]} if None in left else {})


@pytest.mark.parametrize(
    ("values", "kind", "days", "note"),
    [
        ([datetime.date(1970, 1, 3)], pa.date32(), 2.0, "dates as days"),
        ([datetime.datetime(1970, 1, 2, 12)], pa.timestamp("s"), 1.5, "dates and times as days"),
        ([datetime.datetime(1970, 1, 2, 12)], pa.timestamp("us", "UTC"), 1.5, "1970-01-01 (UTC)"),
        ([datetime.timedelta(hours=36)], pa.duration("ms"), 1.5, "durations as days"),
        ([datetime.time(6, 45)], pa.time32("s"), 6.75, "times of day as hours"),
        ([datetime.time(6, 45)], pa.time64("ns"), 6.75, "times of day as hours"),
    ],
)
def test_dates_are_days_and_times_of_day_hours_whatever_their_unit(values, kind, days, note):
    found, told = as_days(pa.array(values, kind))
    assert found.tolist() == [days] and note in told
    is_day = pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    assert given_values(column(*values, kind=kind), None)[0] == ("date" if is_day else "number")
    assert as_days(pa.array([1])) == (None, "")
    fits = "number" if pa.types.is_time(kind) or pa.types.is_duration(kind) else "date"
    assert alike(column(*values, kind=kind), fits, {}).tolist() == [days]
    other = {"number": "date", "date": "number"}[fits]
    with pytest.raises(CounterweightError, match="of the type"):
        alike(column(*values, kind=kind), other, {})


def test_new_numbers_and_booleans_are_as_those_of_the_fit():
    assert alike(column(1, None), "number", {}).tolist()[0] == 1.0
    assert alike(column(True, False), "boolean", {}).tolist() == [1, 0]
    assert alike(column(1.0, 0.0, kind=pa.float64()), "boolean", {}).tolist() == [1, 0]
    assert alike(column(20200131), "date", {"format": "%Y%m%d"}).tolist() == [18292.0]
    assert alike(column(3, 4), "text", {}).tolist() == ["3", "4"]
    codes = column("0012", "12", "1", "a1", None, kind=pa.string())
    assert alike(codes, "text", {"digits": 4})[:4].tolist() == ["0012", "0012", "0001", "a1"]
    assert alike(codes, "text", {"digits": 4}).isna().tolist() == [False] * 4 + [True]
    assert alike(codes, "text", {"digits": 0})[1] == "12"
    with pytest.raises(CounterweightError, match=r"row 1 .counted from 0.: .* holds 2 where"):
        alike(column(1, 2, 3), "boolean", {})
    with pytest.raises(CounterweightError, match="of the type int64 where"):
        alike(column(1), "date", {})
    none = column(None, kind=pa.string())
    assert alike(none, "boolean", {}).isna().all() and np.isnan(alike(none, "number", {})).all()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["a", "1"], "holds 'a' where a number is expected: correct it"),
        (["1", "a", "b"], "holds 'a' where a number is expected .2 rows have such a field.: "),
        (["1,5", "2,5"], "these look like decimal commas: write points, as in the rows of the fit"),
        (["977", "3.600"], "holds '3.600', and others without a point"),
    ],
)
def test_new_words_that_are_no_numbers_are_refused_with_their_count_and_remedy(words, told):
    with pytest.raises(CounterweightError, match=told):
        alike(column(*words, kind=pa.string()), "number", {})
    if "1" in words:
        form = {"decimal": ",", "thousands": ".", "sign": ""}
        with pytest.raises(CounterweightError, match=r"numbers are written as 1\.234,5 here"):
            alike(column(*words, kind=pa.string()), "number", form)


@pytest.mark.parametrize(
    ("words", "sign", "refused"),
    [
        (["1.234 €", "12.500 €"], "€", True),
        (["1.234 €", "12.5 €"], "€", False),
        (["1.234 €", "2,345 €"], "€", True),
        (["1.234", "5.678"], "", False),
        (["977", "3.600"], "", True),
    ],
)
def test_marks_of_new_numbers_that_contradict_those_of_the_fit_are_told(words, sign, refused):
    """Prices have no three decimals; where the fit has commas between thousands, points are."""
    form = {"decimal": ".", "thousands": ",", "sign": sign}
    cell = column(*words, kind=pa.string())
    told = r"a point, as between thousands \(numbers are written as 1,234\.5 here\): write"
    with pytest.raises(CounterweightError, match=told) if refused else nullcontext():
        assert np.isfinite(alike(cell, "number", form)).all()
    assert np.isfinite(alike(cell, "number", form, said=True)).all()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["0007", "0123", "7", "45", "1234"], "2 fields have fewer than 4 digits"),
        (["0007", "123"], "1 field has fewer than 4 digits"),
        (["007", "0123", "7"], ""),
        (["0007", "1234"], ""),
    ],
)
def test_codes_that_lost_leading_zeros_are_to_be_looked_at(words, told):
    cell = column(*words, kind=pa.string())
    assert interpreted(cell)[0] == "text"
    assert len(cell.doubts) == bool(told) and told in "".join(cell.doubts)


def test_what_is_infinite_is_refused_with_the_number_of_rows():
    with pytest.raises(CounterweightError, match=r"row 1 .*is infinite in 2 rows"):
        kind_of("1", "inf", "inf")
    with pytest.raises(CounterweightError, match=r"row 0 .*is infinite in 1 rows"):
        given_values(column(np.inf, 1.0), None)


def test_codes_of_unknown_are_missing_in_numbers_and_in_words():
    found, told = column(1.5, 9.0, None).blanked([9, "x"])
    assert found.values.to_pylist() == [1.5, None, None] and told == "'9' as missing"
    found, told = column("a", "9.0", "X ", kind=pa.string()).blanked([9, "x"])
    assert found.codes.tolist() == [0, -1, -1] and found.words.to_pylist() == ["a"]
    assert told == "'9.0', 'X' as missing"
    assert column("a", kind=pa.string()).blanked([9])[1] == "" and column(1.5).blanked([9])[1] == ""
