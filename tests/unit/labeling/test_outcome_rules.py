"""Outcomes: of the papers, of tables with blanks, of answers to offers."""

import numpy as np
import pandas as pd
import pytest
from blank_rows import ROWS, TYPES, table
from counterweight.errors import CounterweightError
from counterweight.labeling.outcome_rules import (
    above_median,
    accepts,
    classes_as_given,
    equals,
    given,
    reward,
    value_in_words,
)


def test_the_median_is_that_of_the_population():
    frame = pd.DataFrame({"v": [1.0, 2, 3, 10, 20]})
    everyone = np.ones(5, bool)
    rest = np.array([False, False, True, True, True])
    assert above_median(frame, everyone, column="v").tolist() == [0, 0, 0, 1, 1]
    assert above_median(frame, rest, column="v").tolist() == [0, 0, 0, 0, 1]


def test_an_outcome_of_words_needs_its_positive():
    frame = table()
    values, binary, names = given(frame, TYPES, column="word", positive="bad")
    assert binary and names == ("good", "bad")
    assert (values == (frame["word"] == "bad")).all()
    with pytest.raises(CounterweightError, match="say by outcome.positive which counts as 1"):
        given(frame, TYPES, column="word")


def coded(code, kind):
    """An outcome of 0, 1 and blank, and the same with a code for some that nobody knows."""
    frame = table()
    known = frame["y"].copy()
    hidden = np.arange(ROWS) % 7 == 0
    if kind == "text":
        words = known.map({0.0: "0", 1.0: "1"})
        return words.mask(hidden).astype("str"), words.mask(hidden, code).astype("str")
    return known.mask(hidden), known.mask(hidden, code)


@pytest.mark.parametrize(("code", "kind"), [(9, "number"), (-999, "number"), ("unknown", "text")])
def test_a_code_of_unknown_is_no_outcome(code, kind):
    clean, dirty = coded(code, kind)
    types = {"y": kind}
    expected, _, names = given(table(y=clean), types, column="y", positive=1)

    def read(**said):
        return given(table(y=dirty), types, column="y", **said)

    with pytest.raises(CounterweightError, match=r"2 values beside 1: .*by outcome.negative"):
        read(positive=1)
    with pytest.raises(CounterweightError, match=r"no row has 8 of outcome.missing"):
        read(positive=1, missing=8)
    with pytest.raises(CounterweightError, match=r"rows, which outcome does not name: put it un"):
        read(positive=1, negative=0)
    # As if the fields were empty, whichever way it is said.
    for said in ({"missing": code}, {"missing": [code]}, {"negative": 0, "missing": str(code)}):
        found, binary, told = read(positive=1, **said)
        np.testing.assert_array_equal(found, expected)
        assert binary and told == names == ("0", "1")
    # All others are 0 where that is said.
    for said in ({"missing": []}, {"negative": [0, code]}):
        found, _, told = read(positive=1, **said)
        assert (found[::7] == 0).all() and told == ("not 1", "1")
    if kind == "number":
        with pytest.raises(CounterweightError, match=f"if {code} stands for unknown, say outcome"):
            read()
        found, binary, _ = read(missing=code)
        assert binary and np.array_equal(found, expected, equal_nan=True)
        assert not read(kind="number")[1]
        found, _, _ = read(kind="number", missing=code)
        np.testing.assert_array_equal(found, clean)


def test_a_number_stays_a_number():
    values, binary, names = given(table(), TYPES, column="x")
    assert not binary and names == () and (values == table()["x"]).all()


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"y": np.full(ROWS, np.nan)}, {}, "is blank in every row"),
        ({"y": np.where(np.arange(ROWS) < 90, 1.0, np.nan)}, {}, "two values are needed"),
        ({}, {"column": "z"}, "needs the column z"),
        ({"y": np.arange(ROWS) % 3.0}, {"kind": "class"}, "has 3 values"),
        ({}, {"column": "word", "kind": "number"}, "is to be a number, and holds text"),
        (
            {"y": np.arange(ROWS) / 100},
            {"most": 1.5},
            "outcome.most is 1.5, and the outcome 'y' is",
        ),
        ({"y": np.arange(ROWS) - 9.0}, {"most": 900}, "is of numbers from 0 up, and the outcome"),
        ({}, {"column": "word", "positive": "good", "most": 1}, "is a class: leave most out"),
        ({}, {"column": "word", "positive": "ugly"}, "No row has 'ugly' in the column 'word'"),
        ({}, {"column": "word", "positive": "GOOD"}, "; did you mean 'good'? Correct the value"),
        ({"word": pd.Series(list("abcd") * 50).astype("str")}, {"column": "word"}, "4 classes"),
    ],
)
def test_outcomes_that_cannot_be_learned_are_told(columns, options, sentence):
    with pytest.raises(CounterweightError) as caught:
        given(table(**columns), TYPES, **{"column": "y"} | options)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("answers", "positive", "expected"),
    [
        (["Bought ", "left", "bought"], "bought", [1, 0, 1]),
        ([2.0, 1.0, 2.0], 2, [1, 0, 1]),
        # Columns of yes and no may come as numbers.
        ([1, 0, 1], "yes", [1, 0, 1]),
        ([1, 0, 1], "No", [0, 1, 0]),
        ([1, 0, 1], True, [1, 0, 1]),
    ],
)
def test_any_answer_may_be_the_one_that_accepts(answers, positive, expected):
    frame = pd.DataFrame({"row": range(3), "answer": answers})
    assert accepts(frame, None, positive=positive).tolist() == expected


def test_only_codes_beside_two_values_are_asked_about():
    """Of 0, 1 and 9 the 9 may be unknown; 0, 1 and 4 are numbers."""

    def read(values, **options):
        frame = pd.DataFrame({"y": np.tile(np.array(values, float), 20)})
        return given(frame, {"y": "number"}, column="y", **options)

    for values in ([0, 1, 9], [0, 1, 9, 99]):
        with pytest.raises(CounterweightError, match="stands? for unknown, say outcome.missing"):
            read(values)
    assert read([0, 1, 4])[1] is False and read([0, 1, 9], kind="number")[1] is False
    values, binary, names = read([2, 5])
    assert binary and names == ("2", "5") and (values == np.tile([0.0, 1.0], 20)).all()
    with pytest.raises(CounterweightError, match="has 3 values"):
        read([0, 1, 4], kind="class")


def test_rewards_at_their_bounds_are_within():
    frame = pd.DataFrame({"row": [0, 1, 2], "r": [0.0, 0.5, 2.0]})
    np.testing.assert_array_equal(reward(frame, None, column="r", high=2.0), frame["r"])
    with pytest.raises(CounterweightError, match="outside the declared range from 0 to 1"):
        reward(frame, None, column="r")
    with pytest.raises(CounterweightError, match="low must be below high"):
        reward(frame, None, column="r", low=1.0)


def test_above_the_median_is_strictly_above():
    frame = pd.DataFrame({"v": [1.0, 2.0, 3.0, 3.0, 4.0]})
    above = above_median(frame, np.ones(5, bool), column="v")
    np.testing.assert_array_equal(above, [0, 0, 0, 0, 1])
    with pytest.raises(CounterweightError, match="target population is empty"):
        above_median(frame, np.zeros(5, bool), column="v")


def test_an_outcome_equals_its_value_or_is_told():
    frame = pd.DataFrame({"y": ["a", "b", "a"]}).astype("str")
    np.testing.assert_array_equal(equals(frame, None, column="y", value="a"), [1, 0, 1])
    with pytest.raises(CounterweightError, match="never equals 'c'; its values are a, b"):
        equals(frame, None, column="y", value="c")
    with pytest.raises(CounterweightError, match="outcome.value .yes without quotes is read as Tr"):
        equals(frame, None, column="y", value=True)
    with pytest.raises(CounterweightError, match="is missing in 1 rows"):
        equals(frame.mask(frame["y"] == "b"), None, column="y", value="a")


def test_answers_are_words_or_figures():
    frame = pd.DataFrame({"row": range(4), "answer": ["Yes", "no", "TRUE", "0"]})
    np.testing.assert_array_equal(accepts(frame, None), [1, 0, 1, 0])
    assert accepts(frame, None).dtype == np.int8
    blank = frame.assign(answer=["yes", None, "no", "no"])
    with pytest.raises(CounterweightError, match="missing in 1 of 4 rows .first: row 1"):
        accepts(blank, None)
    found = accepts(blank, None, blanks="unanswered")
    np.testing.assert_array_equal(found, [1, np.nan, 0, 0])
    coded = frame.assign(answer=["yes", "?", "no", "no"])
    found = accepts(coded, None, positive="yes", missing="?", blanks="unanswered")
    np.testing.assert_array_equal(found, [1, np.nan, 0, 0])
    with pytest.raises(CounterweightError, match="is maybe in 1 of 4 rows .first: row 3"):
        accepts(frame.assign(answer=["yes", "no", "no", "maybe"]), None)


def test_classes_are_given_back_as_people_wrote_them():
    y = np.array([1.0, 0.0, 1.0, np.nan])
    words = pd.Series(["good", "bad", "good", "ugly"])
    assert classes_as_given(words, y, ("not good", "good")) == ["bad", "good"]
    assert classes_as_given(pd.Series([7.0, 2.5, 7.0, 1.0]), y, ("a", "b")) == [2.5, 7]
    form = {"true": "ja", "false": "nein"}
    truths = pd.Series([1.0, 0.0, 1.0, 0.0])
    assert classes_as_given(truths, y, ("no", "yes"), "boolean", form) == ["nein", "ja"]
    assert classes_as_given(truths, y, ("no", "yes"), "boolean") == [False, True]
    for classes, word in (
        (["F", "T"], "T"),
        ([False, True], "yes"),
        ([0, 1], "1"),
        ([0, 2.5], "2.5"),
    ):
        assert value_in_words({"classes": classes, "names": ["no", "yes"]}) == word
    several = pd.Series(["good", "bad", "fine", "ugly"])
    assert classes_as_given(several, y, ("bad", "not bad")) == ["bad", "not bad"]
