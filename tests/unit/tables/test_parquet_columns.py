"""Columns of jobs: what Arrow keeps comes back as numpy's, nulls as NaN, names in their order."""

import numpy as np
import pyarrow as pa
import pytest
from counterweight.tables.parquet import (
    METRICS,
    arrow_table,
    coded,
    metrics_table,
    read_columns,
    write_table,
)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5.0),
        np.arange(5, dtype="int16"),
        np.arange(10)[::2],
        np.array([True, False]),
        np.array(["a", "bä"]),
        np.zeros(0),
        np.array([1.0, np.nan]),
    ],
)
def test_columns_come_back_as_they_were(tmp_path, values):
    made = arrow_table({"a": values})
    assert made["a"].null_count == 0
    write_table(tmp_path / "t.parquet", made)
    np.testing.assert_array_equal(read_columns(tmp_path / "t.parquet")["a"], values)


@pytest.mark.parametrize("kind", [pa.int32(), pa.float32(), pa.float64()])
def test_nulls_of_numbers_are_nan_and_of_text_none(tmp_path, kind):
    words = pa.array(["a", None, "ü"])
    write_table(tmp_path / "t.parquet", {"n": pa.array([1, None, 3], kind), "w": words})
    found = read_columns(tmp_path / "t.parquet", ["w", "n"])
    np.testing.assert_array_equal(found["n"], [1, np.nan, 3])
    assert found["w"].tolist() == ["a", None, "ü"]


@pytest.mark.parametrize("chunks", [[["b", "a"], ["a", "c", "b"]], [["b", "a", "a", "c", "b"]]])
def test_categories_are_codes_and_words_in_the_order_of_their_first_rows(chunks):
    column = pa.chunked_array([pa.array(part).dictionary_encode() for part in chunks])
    codes, words = coded(column)
    assert codes.tolist() == [0, 1, 1, 2, 0] and words == ["b", "a", "c"]


def test_a_table_of_measurements_takes_numbers_of_any_kind(tmp_path):
    records = [
        {
            "metric": "accuracy",
            "value": np.float32(0.5),
            "step": np.int64(3),
            "rows": np.float64(7),
        },
        {"metric": "auc", "value": True, "keep_rate": 1},
        {"metric": "none", "value": None},
    ]
    write_table(tmp_path / "m.parquet", metrics_table("one", "two", records), METRICS)
    found = read_columns(tmp_path / "m.parquet")
    assert found["metric"].tolist() == ["accuracy", "auc", "none"]
    assert found["study"].tolist() == ["one"] * 3 and found["rows"].tolist() == [7, 0, 0]
    np.testing.assert_array_equal(found["step"], [3, np.nan, np.nan])
    np.testing.assert_array_equal(found["value"], [0.5, 1.0, np.nan])
    np.testing.assert_array_equal(found["keep_rate"], [np.nan, 1.0, np.nan])
    with pytest.raises(ValueError, match="no columns colour"):
        metrics_table("one", "two", [{"metric": "auc", "value": 1, "colour": "red"}])
    with pytest.raises(KeyError):
        metrics_table("one", "two", [{"value": 1}])


def test_tables_keep_names_and_order(tmp_path):
    made = arrow_table({"b": np.arange(3), "a": pa.array(["x", "y", "z"])})
    assert made.column_names == ["b", "a"]
    write_table(tmp_path / "t.parquet", made)
    assert read_columns(tmp_path / "t.parquet")["b"].tolist() == [0, 1, 2]
    assert metrics_table("s", "m", []).schema.names == [name for name, _ in METRICS]
