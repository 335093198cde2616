"""Batches of Parquet files, read and written."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables import batches, parquet

LAYOUT = (("row", "int32"), ("role", "string"), ("x", "float64"))


def rows(n):
    rng = np.random.default_rng(n)
    role = np.where(rng.random(n) < 0.5, "log", "on_policy").astype(object)
    return {"row": np.arange(n, dtype="int32"), "role": role, "x": rng.random(n)}


def written(path, columns, size):
    with batches.writing(path, LAYOUT) as writer:
        for start in range(0, len(columns["row"]), size):
            writer.write({name: values[start : start + size] for name, values in columns.items()})
    return writer


@pytest.mark.parametrize("n", [0, 1, parquet.ROW_GROUP, parquet.ROW_GROUP + 1, 300_000])
def test_the_bytes_are_those_of_write_table_whatever_the_batches(tmp_path, n):
    columns = rows(n)
    parquet.write_table(tmp_path / "whole.parquet", columns, LAYOUT)
    expected = (tmp_path / "whole.parquet").read_bytes()
    for size in (7777, parquet.ROW_GROUP, 10**6):
        assert written(tmp_path / "part.parquet", columns, size).rows == n
        assert (tmp_path / "part.parquet").read_bytes() == expected


@pytest.mark.parametrize("size", [100, 65_536, 10**6])
def test_batches_give_the_rows_in_order(tmp_path, size):
    columns = rows(200_000)
    parquet.write_table(tmp_path / "t.parquet", columns, LAYOUT)
    parts = list(batches.batches(tmp_path / "t.parquet", ["x", "row"], size))
    assert all(list(part) == ["x", "row"] and len(part["x"]) <= size for part in parts)
    for name in ("x", "row"):
        np.testing.assert_array_equal(np.concatenate([p[name] for p in parts]), columns[name])
    assert batches.row_count(tmp_path / "t.parquet") == 200_000


def test_text_columns_come_as_codes_and_names(tmp_path):
    columns = rows(1000)
    parquet.write_table(tmp_path / "t.parquet", columns, LAYOUT)
    (part,) = batches.batches(tmp_path / "t.parquet", ["role"], categories=["role"])
    codes, names = part["role"]
    assert [names[code] for code in codes] == columns["role"].tolist()


def test_nulls_become_nan_in_numbers(tmp_path):
    import pyarrow as pa

    parquet.write_table(tmp_path / "t.parquet", pa.table({"x": pa.array([1.0, None])}))
    (part,) = batches.batches(tmp_path / "t.parquet")
    np.testing.assert_array_equal(part["x"], [1.0, np.nan])


def test_written_rows_are_copies(tmp_path):
    """A caller may fill one array again and again."""
    buffer = np.zeros(10)
    with batches.writing(tmp_path / "t.parquet", (("x", "float64"),)) as writer:
        for value in (1.0, 2.0):
            buffer[:] = value
            writer.write({"x": buffer})
    (part,) = batches.batches(tmp_path / "t.parquet")
    np.testing.assert_array_equal(part["x"], np.repeat([1.0, 2.0], 10))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.parquet"
    written(path, rows(10), 10)
    before = path.read_bytes()
    with pytest.raises(RuntimeError), batches.writing(path, LAYOUT) as writer:
        writer.write(rows(200_000))
        raise RuntimeError
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.parquet"]


def test_a_missing_file_or_column_is_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="is not there"):
        list(batches.batches(tmp_path / "none.parquet"))
    written(tmp_path / "t.parquet", rows(10), 10)
    with pytest.raises(CounterweightError, match="no column y"):
        list(batches.batches(tmp_path / "t.parquet", ["x", "y"]))
    with (
        pytest.raises(ValueError, match="columns missing"),
        batches.writing(tmp_path / "u.parquet", LAYOUT) as writer,
    ):
        writer.write({"row": [1]})


def test_reading_ahead_changes_neither_items_nor_errors(tmp_path):
    assert list(batches.ahead(range(100))) == list(range(100))
    assert list(batches.ahead([])) == []
    assert next(batches.ahead(iter([None, 1]))) is None
    with pytest.raises(CounterweightError, match="is not there"):
        list(batches.ahead(batches.batches(tmp_path / "none.parquet")))


def test_memory_does_not_grow_with_the_rows(tmp_path):
    import pyarrow as pa

    layout = (("x", "float64"),)
    values = np.random.default_rng(0).random(parquet.ROW_GROUP)
    held = []
    for groups in (2, 24):
        with batches.writing(tmp_path / "t.parquet", layout) as writer:
            for _ in range(groups):
                writer.write({"x": values})
        held.append(
            max(pa.total_allocated_bytes() for _ in batches.batches(tmp_path / "t.parquet"))
        )
    assert held[1] < 1.5 * held[0]
