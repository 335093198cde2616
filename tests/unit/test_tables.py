"""Files are whole or absent, the same every time, and refused with a reason."""

import errno
import os

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.files import tables


def test_the_same_table_gives_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]})
    for name in ("one", "two"):
        tables.write_table(tmp_path / name, frame)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_leaves_nothing_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "t.parquet"
    tables.write_table(path, {"a": [1]})
    before = path.read_bytes()
    with pytest.raises(RuntimeError), tables.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["t.parquet"]


def test_a_full_disk_is_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="disk is full"), tables.replacing(tmp_path / "t"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_an_unwritable_folder_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CounterweightError, match="Cannot write"):
        tables.write_table(tmp_path / "file" / "t.parquet", {"a": [1]})


def test_missing_and_broken_files_are_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="is not there"):
        tables.read_table(tmp_path / "absent.parquet")
    (tmp_path / "page.parquet").write_text("<html>")
    with pytest.raises(CounterweightError, match="not a readable Parquet"):
        tables.read_table(tmp_path / "page.parquet")
    tables.write_table(tmp_path / "t.parquet", {"a": [1]})
    with pytest.raises(CounterweightError, match="no column b; it has a"):
        tables.read_table(tmp_path / "t.parquet", ["a", "b"])


def test_a_column_missing_from_the_layout_is_refused(tmp_path):
    with pytest.raises(ValueError, match="columns missing: value"):
        tables.write_table(
            tmp_path / "t", {"study": ["a"]}, (("study", "string"), ("value", "float64"))
        )


def test_model_arrays_come_back():
    arrays = {
        "scalar": np.float64(2),
        "vector": np.arange(3.0),
        "matrix": np.arange(6.0).reshape(2, 3),
        "cube": np.arange(24.0).reshape(2, 3, 4),
    }
    back = tables.model_arrays(tables.model_table(arrays, 3, "general").to_pandas())
    for name, values in arrays.items():
        np.testing.assert_array_equal(back[name], values)


def test_a_model_may_have_any_number_of_parameters(tmp_path):
    arrays = {f"p{i:03d}": np.array([float(i)]) for i in range(300)}
    table = tables.model_table(arrays, 0, "general")
    tables.write_table(tmp_path / "m.parquet", table, tables.MODEL)
    found = tables.read_models(tmp_path / "m.parquet")[0, "general"]
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in arrays.items()
    }
