"""What a job loads: heavy modules that others import are loaded when they are first used."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.jobs import logged, over_repeats

SCRIPT = """
import json, sys
from counterweight.tables.jobs import DEFERRED, defer
defer()
defer()

def loaded():
    return ["pandas.core.api" in sys.modules, "scipy.stats._stats_py" in sys.modules]

import sklearn.base
import pandas, scipy.stats
import pandas as pd
told = {"imported": loaded()}
told["rows"] = len(pd.DataFrame({"a": [1, 2]}))
told["pandas used"] = loaded()
from scipy.stats import norm
told["both used"] = loaded()
told["same"] = norm is scipy.stats.norm and pd is sys.modules["pandas"]
told["types"] = [type(sys.modules[name]).__name__ for name in ("pandas", "scipy.stats")]
told["quantile"] = norm.ppf(0.975)
try:
    pd.nothing_of_this_name
except AttributeError as error:
    told["missing"] = str(error)
json.dump(told, sys.stdout)
"""


def run(script):
    made = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_a_deferred_module_is_loaded_when_something_of_it_is_asked_for():
    told = json.loads(run(SCRIPT))
    assert told["imported"] == [False, False]
    assert told["pandas used"][0] and told["rows"] == 2
    assert told["both used"] == [True, True]
    assert told["same"] and told["types"] == ["module", "module"]
    assert abs(told["quantile"] - 1.959963984540054) < 1e-12
    assert "nothing_of_this_name" in told["missing"]


def test_a_submodule_of_a_deferred_module_is_imported_from_the_loaded_one():
    script = """
from counterweight.tables.jobs import defer
defer()
import pandas.api.types
import sys

from counterweight.tables.jobs import logged
print(pandas.api.types.is_list_like([1]), "pandas.core.api" in sys.modules)
"""
    assert run(script).split() == ["True", "True"]


def test_threads_that_ask_at_once_get_the_loaded_module():
    script = """
from concurrent.futures import ThreadPoolExecutor
from counterweight.tables.jobs import defer
defer()
import pandas
with ThreadPoolExecutor(8) as pool:
    print(len(set(pool.map(lambda _: id(pandas.DataFrame), range(8)))))
"""
    assert run(script).strip() == "1"


def test_a_warning_on_the_shared_terminal_says_which_job_it_is_of(tmp_path, capsys):
    with logged(tmp_path / "job.log", {"study": "adult", "method": "svm"}) as log:
        log.info("repeat 1 of 2 done")
        log.warning("Few rows: %d.", 7)
    assert capsys.readouterr().err == "WARNING: study adult, method svm: Few rows: 7.\n"
    assert (tmp_path / "job.log").read_text() == "INFO: repeat 1 of 2 done\nWARNING: Few rows: 7.\n"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left", "out"), "The disk is full while writing out"),
        (ImportError("No module named 'sklearn'"), "cannot be loaded (No module named 'sklearn')"),
        (MemoryError(), "Out of memory"),
    ],
)
def test_want_of_space_memory_or_a_library_is_one_sentence(tmp_path, capsys, error, told):
    # All that is written to this log meets a full disk.
    (tmp_path / "job.log").symlink_to("/dev/full")
    with pytest.raises(SystemExit) as ended, logged(tmp_path / "job.log") as log:
        log.info("begun")
        raise error
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 1 and line.startswith("ERROR: ") and told in line


def test_a_log_that_cannot_be_written_ends_in_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    told, path = "file/job.log cannot be written", tmp_path / "file" / "job.log"
    with pytest.raises(SystemExit, match=told), logged(path):
        raise AssertionError("the job runs without a log")


def test_who_is_asked_to_stop_says_so_and_ends_by_it(tmp_path, capsys):
    for number in (signal.SIGINT, signal.SIGTERM):
        with pytest.raises(SystemExit) as ended, logged(tmp_path / "job.log"):
            os.kill(os.getpid(), number)
            time.sleep(10)
        assert ended.value.code == 128 + number
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"ERROR: Stopped from outside by {number.name}, with ")


def test_a_part_that_is_killed_is_told(tmp_path):
    def part(number):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(CounterweightError, match="One of the 2 processes of this job was killed"):
        over_repeats(part, range(2), 2)
