"""Columns of a sample beside those of its target: types, levels, features and bins."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.coded import Coded, Column, as_column, binned, code_tables


def test_dates_are_days_and_codes_are_text():
    dates = pd.Series(pd.to_datetime(["1970-01-02 12:00", None, "1969-12-31 00:00"]))
    np.testing.assert_array_equal(as_column(dates, "day"), [1.5, np.nan, -1])
    abroad = dates.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    np.testing.assert_array_equal(as_column(abroad, "day"), [1.5, np.nan, -1])
    assert list(as_column(pd.Series([3, 1]).astype("category"), "code")) == ["3", "1"]
    np.testing.assert_array_equal(as_column(pd.Series([1, None], dtype="Int64"), "n"), [1, np.nan])
    with pytest.raises(CounterweightError, match=r"infinite in 2 rows \(first: row 1\)"):
        as_column(pd.Series([0.0, np.inf, -np.inf]), "n")
    with pytest.raises(CounterweightError, match="of type complex128"):
        as_column(pd.Series([1j]), "n")


def test_means_are_of_the_values_present():
    weight = np.array([1.0, 2, 3, 4])
    number = Column("n", [""], np.array([1.0, np.nan, 3, 5]), None)
    assert number.means(weight) == pytest.approx((1 + 9 + 20) / 8)
    level = Column("l", ["a", "b"], np.array([0, 1, -1, 0]), None)
    np.testing.assert_allclose(level.means(weight), [5 / 7, 2 / 7])
    assert np.isnan(level.means(np.array([0, 0, 1.0, 0]))).all()


def test_tables_are_coded_alike():
    sample = pd.DataFrame({"n": [1.0, 2, np.nan], "t": ["b", "a", None], "u": [0.0, 1, 1]})
    target = pd.DataFrame({"n": [2.0, 4, np.nan], "t": ["c", "c", "a"], "u": [1.0, 1, 3]})
    weight = np.array([1.0, 3, 2])
    columns, notes = code_tables(sample, target, ["n", "t", "u"], weight, 50)
    n, t, u, flag = columns
    assert (t.labels, t.own.tolist(), t.other.tolist()) == (["a", "b", "c"], [1, 0, -1], [2, 2, 0])
    np.testing.assert_allclose(t.mean, [2 / 6, 0, 4 / 6])
    np.testing.assert_allclose(t.spread, np.sqrt(t.mean * (1 - t.mean)))
    np.testing.assert_allclose([*n.mean, *n.spread], [3.5, np.sqrt(0.75)])
    np.testing.assert_allclose(u.spread, np.sqrt(((1 - 5 / 3) ** 2 * 4 + (3 - 5 / 3) ** 2 * 2) / 6))
    assert flag.is_flag and not n.is_flag and flag.own.tolist() == [0, 0, 1]
    assert len(notes) == 1 and notes[0].startswith("Only the sample lacks values of t (1 rows)")
    # A missing value takes the target's mean; a slice is a part of the whole.
    X = Coded(columns)
    assert X.shape == (3, 6)
    expected = [[1, 0, 1, 0, 0, 0], [2, 1, 0, 0, 1, 0], [3.5, 2 / 6, 0, 4 / 6, 1, 1]]
    np.testing.assert_allclose(X[:], expected)
    np.testing.assert_allclose(X[1:3], expected[1:])
    np.testing.assert_allclose(Coded(columns, "other")[0:1], [[2, 0, 0, 1, 1, 0]])


def test_the_rarest_levels_are_one():
    """Of four levels three are kept: two by name, and the rest as one."""
    words = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"]
    table = pd.DataFrame({"t": words})
    (column,), notes = code_tables(table, table, ["t"], np.ones(11), 3)
    assert column.labels == ["a", "b", "2 rare levels"]
    np.testing.assert_allclose(column.mean, [5 / 11, 3 / 11, 3 / 11])
    assert notes == ["The 2 rarest levels of t are taken as one."]
    (column,), notes = code_tables(table, table, ["t"], np.ones(11), 4)
    assert column.labels == list("abcd") and not notes


def test_a_text_that_is_different_in_most_rows_is_an_id():
    def coded(different, most):
        words = [f"w{k % different}" for k in range(20)]
        table = pd.DataFrame({"t": words, "n": np.arange(20.0)})
        return [c.name for c in code_tables(table, table, ["t", "n"], np.ones(20), most)[0]]

    assert coded(20, 10) == ["t", "n"]
    assert coded(20, 9) == ["t", "n"]
    table = pd.DataFrame({"t": [f"w{k}" for k in range(20)], "n": np.arange(20.0)})
    other = table.assign(t=[f"v{k}" for k in range(20)])
    columns, notes = code_tables(table, other, ["t", "n"], np.ones(20), 10)
    assert [c.name for c in columns] == ["n"]
    assert notes == ["t has 40 different texts in 40 rows, like an id: it is left out."]


def test_numbers_are_cut_at_the_targets_quantiles():
    own, other = np.array([0.0, 2, 9, np.nan]), np.arange(1.0, 5)
    labels, mine, theirs = binned(Column("n", [""], own, other), 2)
    assert labels == ["to 2.5", "2.5 to", "missing"]
    assert mine.tolist() == [0, 0, 1, 2] and theirs.tolist() == [0, 0, 1, 1]
    labels, mine, _ = binned(Column("n", [""], np.array([2.5]), other), 2)
    assert labels == ["to 2.5", "2.5 to"] and mine.tolist() == [1]
    level = Column("l", ["a"], np.array([0, -1]), np.array([0, 0]))
    labels, mine, theirs = binned(level, 5)
    assert labels == ["a", "missing"] and mine.tolist() == [0, 1] and theirs.tolist() == [0, 0]
    assert level.labels == ["a"]


def test_what_cannot_be_balanced_is_told():
    number, text = pd.DataFrame({"c": [1.0]}), pd.DataFrame({"c": ["x"]})
    with pytest.raises(CounterweightError, match="numbers in the sample and text in the target"):
        code_tables(number, text, ["c"], np.ones(1), 50)
    with pytest.raises(CounterweightError, match="no value in the target"):
        code_tables(number, pd.DataFrame({"c": [np.nan]}), ["c"], np.ones(1), 50)
