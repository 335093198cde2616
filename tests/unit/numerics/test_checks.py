"""Columns, rows, labels, weights and options: what is wrong is told in a sentence."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.checks import (
    NoNumbers,
    as_numbers,
    check_options,
    check_same_columns,
    checked_labels,
    checked_new_rows,
    checked_rows,
    checked_weights,
    labels_of,
    mean_one_weights,
    note_wrong,
    number_table,
    pandas_frame,
    two_class_rows,
    with_columns,
)

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


def test_names_are_those_of_a_data_frame():
    assert labels_of(pd.DataFrame({"a": [1], "b": [2]})) == ["a", "b"]
    assert labels_of(pd.DataFrame({0: [1], 1: [2]})) is None
    assert labels_of(pd.DataFrame({1: [1], 0: [2]})) == [1, 0]
    assert labels_of(np.zeros((1, 2))) is None


def test_columns_of_a_fit_are_asked_for_by_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_same_columns(["a", "b"], ["a", "b"], "the model")
        check_same_columns(None, None, "the model")
        check_same_columns(None, [0, 1], "the model", width=2)
        check_same_columns(["a"], None, "the model", warn=False)
    with pytest.warns(UserWarning, match="^X has feature names, but the model was fitted without"):
        check_same_columns(None, ["a", "b"], "the model")
    with pytest.warns(UserWarning, match="^X does not have valid feature names, but the model was"):
        check_same_columns(["a", "b"], None, "the model")
    with pytest.raises(CounterweightError, match="the same order(.|\n)*columns of the fit: a, b"):
        check_same_columns(["a", "b"], ["b", "a"], "the model")
    with pytest.raises(CounterweightError, match="the same order"):
        check_same_columns(None, [1, 0], "the model", width=2)
    with pytest.raises(CounterweightError) as told:
        check_same_columns(list("abcdef"), list("xyzuvw"), "the model")
    assert str(told.value).count("- ...") == 2 and "- w" not in str(told.value)
    with pytest.raises(CounterweightError) as told:
        check_same_columns(list("abcde"), list("xyzuv"), "the model")
    assert "- ..." not in str(told.value) and "- v" in str(told.value)


def test_rows_are_a_table_of_numbers():
    assert number_table([[1, 2]]).dtype == float
    assert number_table(np.zeros((0, 2)), empty=True).shape == (0, 2)
    for wrong, words in (
        (np.zeros(3), "Reshape your data"),
        (np.zeros((1, 2, 3)), r"got the shape \(1, 2, 3\)\.$"),
        (np.zeros((0, 2)), r"got the shape \(0, 2\)"),
        (np.zeros((2, 2), complex), "Complex data"),
        ([["a", "b"]], "must be numbers in a table"),
    ):
        with pytest.raises(CounterweightError, match=words):
            number_table(wrong)
    with pytest.raises(NoNumbers):
        number_table([[object()]])
    with pytest.raises(CounterweightError, match="price must be numbers"):
        as_numbers(["x"], "price")
    X = np.array([[0, np.nan, 1], [0, np.inf, 1], [0, 1, np.nan], [0.0, 1, 1]])
    with pytest.raises(CounterweightError, match="in 3 rows of feature b, c: fill"):
        checked_rows(X, ["a", "b", "c"])
    with pytest.raises(CounterweightError, match="of feature number 1, number 2: fill"):
        checked_rows(X)
    with pytest.raises(CounterweightError, match="has 2 features, the rows to predict 3"):
        checked_new_rows(np.zeros((1, 3)), 2)


def test_labels_are_0_and_1():
    assert checked_labels(np.array([True, False]), 2).tolist() == [1, 0]
    with pytest.raises(CounterweightError, match="2 rows but a label of shape"):
        checked_labels([1], 2)
    with pytest.raises(CounterweightError, match="Each answer must be 0 or 1; found 0, 1, 2"):
        checked_labels([2, 0, 1], 3, "answer")
    with pytest.raises(CounterweightError, match="found no, yes"):
        checked_labels(["yes", "no"], 2)


def test_weights_are_numbers_from_0_up():
    assert checked_weights(None, 2).tolist() == [1, 1]
    assert checked_weights([0, 3], 2).tolist() == [0, 3]
    for wrong, words in (
        ([1], "1 weights for 2 rows"),
        ([1, -1e-9], r"1 of 2 weights are negative or not finite \(first: row 1\)"),
        ([np.nan, np.inf], r"2 of 2 .* \(first: row 0\)"),
        ([0, 0], "All 2 weights are 0"),
    ):
        with pytest.raises(CounterweightError, match=words):
            checked_weights(wrong, 2)
    weights, unit = mean_one_weights([0, 2, 4], 3)
    assert unit == 3
    np.testing.assert_allclose(weights, [0, 2 / 3, 4 / 3])


def test_a_classifier_learns_from_the_rows_with_weight():
    X, y, weights = two_class_rows(np.arange(8.0).reshape(4, 2), [0, 1, 1, 0], [0, 1, 1, 2])
    assert X.tolist() == [[2, 3], [4, 5], [6, 7]] and y.tolist() == [1, 1, 0]
    np.testing.assert_allclose(weights, [0.75, 0.75, 1.5])
    blank = np.array([[np.nan], [1.0]])
    assert np.isnan(two_class_rows(blank, [0, 1], blanks=True)[0][0, 0])
    with pytest.raises(CounterweightError, match="Missing or infinite"):
        two_class_rows(blank, [0, 1])
    with pytest.raises(CounterweightError, match="^A tree needs both classes; the 2 rows .* 1.$"):
        two_class_rows(np.zeros((3, 1)), [0, 1, 1], [0, 1, 1], what="A tree")


def test_the_first_of_the_wrong_values_is_remembered():
    noted, rows = {}, np.array([10, 11, 12])
    note_wrong(noted, "reward", np.array([False, True, True]), np.array([1.0, -2, -3]), rows)
    note_wrong(noted, "reward", np.array([True, False, False]), np.array([-9.0, 1, 1]), rows + 3)
    note_wrong(noted, "action", np.zeros(3, bool), np.zeros(3), rows)
    assert noted == {"reward": (3, -2.0, 11)}


def test_bounds_include_their_ends_unless_exclusive():
    ends = {"a": {"type": "number", "minimum": 0, "maximum": 1}}
    check_options({"a": 0}, ends)
    check_options({"a": 1}, ends)
    for value in (-1e-12, 1 + 1e-12):
        with pytest.raises(CounterweightError, match="a must be a number at least 0 and at most 1"):
            check_options({"a": value}, ends)
    half_open = {"a": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}}
    check_options({"a": 1e-12}, half_open)
    for value in (0, 1):
        with pytest.raises(CounterweightError, match="above 0 and below 1"):
            check_options({"a": value}, half_open)


def test_a_column_may_have_any_name():
    frame = pd.DataFrame({"self": [1, 2], "other": ["a", "b"]})
    made = with_columns(frame, {"self": [3, 4], "frame": [5, 6]})
    assert made.to_dict("list") == {"self": [3, 4], "other": ["a", "b"], "frame": [5, 6]}
    assert frame["self"].tolist() == [1, 2]


def test_what_nullable_columns_lack_is_nan_and_dates_are_no_numbers():
    blank = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [0.5, 2.0]})
    np.testing.assert_array_equal(number_table(blank), [[1, 0.5], [np.nan, 2]])
    days = pd.to_datetime(["2020-01-01", "2020-01-02"])
    dated = blank.assign(when=days, there=days.tz_localize("UTC"), lasted=days - days[0])
    with pytest.raises(NoNumbers, match="when, there, lasted are dates or times"):
        number_table(dated)


def test_frames_of_other_libraries_become_pandas_and_a_row_is_none():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]}, index=[5, 7])
    assert pandas_frame(frame, "people") is frame
    pd.testing.assert_frame_equal(
        pandas_frame(pa.table(frame.reset_index(drop=True)), "people"), frame.reset_index(drop=True)
    )
    for strange in (frame.loc[5], [1], None):
        with pytest.raises(CounterweightError, match="The people are of the type .+: give a data"):
            pandas_frame(strange, "people")
