"""Batches of Parquet files, read and written."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables import parquet

LAYOUT = (("row", "int32"), ("role", "string"), ("x", "float64"))


def rows(n):
    rng = np.random.default_rng(n)
    role = np.where(rng.random(n) < 0.5, "log", "on_policy").astype(object)
    return {"row": np.arange(n, dtype="int32"), "role": role, "x": rng.random(n)}


def written(path, columns, size):
    with parquet.writing(path, LAYOUT) as writer:
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
    parts = list(parquet.batches(tmp_path / "t.parquet", ["x", "row"], size))
    assert all(list(part) == ["x", "row"] and len(part["x"]) <= size for part in parts)
    for name in ("x", "row"):
        np.testing.assert_array_equal(np.concatenate([p[name] for p in parts]), columns[name])
    assert parquet.row_count(tmp_path / "t.parquet") == 200_000


def test_text_columns_come_as_codes_and_names(tmp_path):
    columns = rows(1000)
    parquet.write_table(tmp_path / "t.parquet", columns, LAYOUT)
    (part,) = parquet.batches(tmp_path / "t.parquet", ["role"], categories=["role"])
    codes, names = part["role"]
    assert [names[code] for code in codes] == columns["role"].tolist()


def test_nulls_become_nan_in_numbers(tmp_path):
    import pyarrow as pa

    parquet.write_table(tmp_path / "t.parquet", pa.table({"x": pa.array([1.0, None])}))
    (part,) = parquet.batches(tmp_path / "t.parquet")
    np.testing.assert_array_equal(part["x"], [1.0, np.nan])


def test_written_rows_are_copies(tmp_path):
    """A caller may fill one array again and again."""
    buffer = np.zeros(10)
    with parquet.writing(tmp_path / "t.parquet", (("x", "float64"),)) as writer:
        for value in (1.0, 2.0):
            buffer[:] = value
            writer.write({"x": buffer})
    (part,) = parquet.batches(tmp_path / "t.parquet")
    np.testing.assert_array_equal(part["x"], np.repeat([1.0, 2.0], 10))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "t.parquet"
    written(path, rows(10), 10)
    before = path.read_bytes()
    with pytest.raises(RuntimeError), parquet.writing(path, LAYOUT) as writer:
        writer.write(rows(200_000))
        raise RuntimeError
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.parquet"]


def test_a_missing_file_or_column_is_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="is not there"):
        list(parquet.batches(tmp_path / "none.parquet"))
    written(tmp_path / "t.parquet", rows(10), 10)
    with pytest.raises(CounterweightError, match="no column y"):
        list(parquet.batches(tmp_path / "t.parquet", ["x", "y"]))
    with (
        pytest.raises(ValueError, match="columns missing"),
        parquet.writing(tmp_path / "u.parquet", LAYOUT) as writer,
    ):
        writer.write({"row": [1]})


def test_reading_ahead_changes_neither_items_nor_errors(tmp_path):
    assert list(parquet.ahead(range(100))) == list(range(100))
    assert list(parquet.ahead([])) == []
    assert next(parquet.ahead(iter([None, 1]))) is None
    with pytest.raises(CounterweightError, match="is not there"):
        list(parquet.ahead(parquet.batches(tmp_path / "none.parquet")))


def test_memory_does_not_grow_with_the_rows(tmp_path):
    import pyarrow as pa

    layout = (("x", "float64"),)
    values = np.random.default_rng(0).random(parquet.ROW_GROUP)
    held = []
    for groups in (2, 24):
        with parquet.writing(tmp_path / "t.parquet", layout) as writer:
            for _ in range(groups):
                writer.write({"x": values})
        held.append(
            max(pa.total_allocated_bytes() for _ in parquet.batches(tmp_path / "t.parquet"))
        )
    assert held[1] < 1.5 * held[0]


def test_files_are_read_in_step_whatever_their_row_groups(tmp_path):
    n = 1000
    sizes = {"a": 300, "b": 450, "c": n}
    for name, size in sizes.items():
        table = pa.table(
            {"row": np.arange(n), name: pa.array([f"{name}{k % 7}" for k in range(n)])}
        )
        pq.write_table(table, tmp_path / name, row_group_size=size)
    sources = [(tmp_path / name, ["row", name], [name]) for name in sizes]
    lengths, seen = [], {name: [] for name in sizes}
    for parts in parquet.together(sources, 400):
        first = parts[0]["row"]
        lengths.append(len(first))
        for name, part in zip(sizes, parts, strict=True):
            assert part["row"].tolist() == first.tolist()
            codes, words = part[name]
            seen[name] += [words[code] for code in codes]
    # Batches end where a row group does, or after 400 rows of one.
    ends = {300, 600, 900, 400, 450, 850, 800, n}
    assert np.cumsum(lengths).tolist() == sorted(ends)
    assert all(seen[name] == [f"{name}{k % 7}" for k in range(n)] for name in sizes)
    pq.write_table(pa.table({"row": np.arange(n + 1)}), tmp_path / "d")
    with pytest.raises(CounterweightError, match="has 1000 rows but .* has 1001"):
        list(parquet.together([*sources, (tmp_path / "d", ["row"], [])]))


def test_a_log_is_read_file_after_file_in_batches_of_one_row_or_more(tmp_path):
    for name, values in (("b", [3, 4]), ("a", [1, 2])):
        pq.write_table(pa.table({"x": values, "y": values}), tmp_path / f"{name}.parquet")
    found = [part["x"].tolist() for part in parquet.log_batches(tmp_path, ["x"], 1)]
    assert found == [[1], [2], [3], [4]]
    found = parquet.log_batches([tmp_path / "b.parquet", tmp_path / "a.parquet"], ["x"], 2.0)
    assert [part["x"].tolist() for part in found] == [[3, 4], [1, 2]]
    for size in (0, 1.5, -1):
        with pytest.raises(CounterweightError, match="whole number of rows from 1, not"):
            list(parquet.log_batches(tmp_path, ["x"], size))
    for paths, told in (
        ([], "no file was named"),
        (tmp_path / "none", "is not there: check the path of the log"),
        ([tmp_path / "a.parquet", tmp_path / "b.txt"], "is not a readable Parquet file: check"),
    ):
        (tmp_path / "b.txt").write_text("x")
        with pytest.raises(CounterweightError, match=told):
            list(parquet.log_batches(paths, ["x"]))
    with pytest.raises(CounterweightError, match="has no column z; it has x, y"):
        list(parquet.log_batches(tmp_path, ["z"]))


def test_decimals_and_booleans_with_nulls_are_floats(tmp_path):
    table = pa.table({"d": pa.array([1.0, None]).cast(pa.decimal128(5, 2)), "t": [True, None]})
    pq.write_table(table.append_column("b", pa.array([True, False])), tmp_path / "t")
    (part,) = parquet.batches(tmp_path / "t")
    np.testing.assert_array_equal(part["d"], [1.0, np.nan])
    np.testing.assert_array_equal(part["t"], [1.0, np.nan])
    assert part["b"].dtype == bool and part["b"].tolist() == [True, False]
