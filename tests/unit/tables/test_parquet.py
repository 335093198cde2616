"""Files are whole or absent, the same every time, and refused with a reason."""

import errno
import json
import math
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables import parquet
from counterweight.tables.saved_form import write_answers


def test_the_same_table_gives_the_same_bytes(tmp_path):
    frame = pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]})
    for name in ("one", "two"):
        parquet.write_table(tmp_path / name, frame)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_failed_write_leaves_nothing_and_keeps_the_old_file(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(path, {"a": [1]})
    before = path.read_bytes()
    with pytest.raises(RuntimeError), parquet.replacing(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["t.parquet"]


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_who_may_read_a_file_is_for_the_umask_to_say(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        parquet.write_table(tmp_path / "t.parquet", {"a": [1]})
        write_answers(tmp_path / "a.parquet", tmp_path / "a.csv", {"a": [1]})
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {mode}


def test_a_full_disk_is_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="disk is full"), parquet.replacing(tmp_path / "t"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == []


def test_an_unwritable_folder_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CounterweightError, match="Cannot write"):
        parquet.write_table(tmp_path / "file" / "t.parquet", {"a": [1]})


def test_missing_and_broken_files_are_told_in_a_sentence(tmp_path):
    with pytest.raises(CounterweightError, match="is not there"):
        parquet.read_table(tmp_path / "absent.parquet")
    (tmp_path / "page.parquet").write_text("<html>")
    with pytest.raises(CounterweightError, match="not a readable Parquet"):
        parquet.read_table(tmp_path / "page.parquet")
    parquet.write_table(tmp_path / "t.parquet", {"a": [1]})
    with pytest.raises(CounterweightError, match="no column b; it has a"):
        parquet.read_table(tmp_path / "t.parquet", ["a", "b"])


def test_a_column_missing_from_the_layout_is_refused(tmp_path):
    with pytest.raises(ValueError, match="columns missing: value"):
        parquet.write_table(
            tmp_path / "t", {"study": ["a"]}, (("study", "string"), ("value", "float64"))
        )


def test_json_is_strict_and_what_is_not_known_is_null(tmp_path):
    def refused(word):
        raise AssertionError(f"{word} is no JSON")

    facts = {"a": [np.nan, (np.float64("inf"), -math.inf)], "b": {"c": 0.5, "d": None, "e": "NaN"}}
    text = parquet.as_json(facts)
    told = json.loads(text, parse_constant=refused)
    assert told == {"a": [None, [None, None]], "b": {"c": 0.5, "d": None, "e": "NaN"}}
    parquet.write_table(tmp_path / "a.parquet", {"x": [1]}, facts=facts)
    assert parquet.read_facts(tmp_path / "a.parquet") == told


def test_model_arrays_come_back():
    arrays = {
        "scalar": np.float64(2),
        "vector": np.arange(3.0),
        "matrix": np.arange(6.0).reshape(2, 3),
        "cube": np.arange(24.0).reshape(2, 3, 4),
    }
    back = parquet.model_arrays(parquet.model_table(arrays, 3, "general").to_pandas())
    for name, values in arrays.items():
        np.testing.assert_array_equal(back[name], values)


def test_a_model_may_have_any_number_of_parameters(tmp_path):
    arrays = {f"p{i:03d}": np.array([float(i)]) for i in range(300)}
    table = parquet.model_table(arrays, 0, "general")
    parquet.write_table(tmp_path / "m.parquet", table, parquet.MODEL)
    found = parquet.read_models(tmp_path / "m.parquet")[0, "general"]
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in arrays.items()
    }


def test_what_a_killed_writer_left_is_swept_and_nothing_else(tmp_path):
    (tmp_path / "deep").mkdir()
    code = (
        "import os, signal, sys\n"
        "from counterweight.tables.parquet import replacing\n"
        "with replacing(sys.argv[1]) as path:\n"
        "    path.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    target = tmp_path / "deep" / "table.parquet"
    run = subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    assert run.returncode == -signal.SIGKILL
    (tmp_path / ".hidden").write_text("someone's own")
    assert len(list((tmp_path / "deep").iterdir())) == 1
    assert parquet.swept([tmp_path]) == 1
    assert {path.name for path in tmp_path.rglob("*")} == {"deep", ".hidden"}


def test_a_job_that_is_stopped_says_so_with_its_memory(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from counterweight.tables.jobs import logged\n"
        "with logged(sys.argv[1]):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "log")], check=False)
    assert run.returncode == 128 + signal.SIGTERM
    told = (tmp_path / "log").read_text()
    assert re.fullmatch(r"ERROR: Stopped from outside by SIGTERM, with \d+ MB of .*\n", told)
