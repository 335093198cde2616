"""What a job writes of itself: its log, its mistakes in one sentence; its repeats side by side."""

import errno
import logging
import os
import resource
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.jobs import (
    TOLD,
    Running,
    largest_memory,
    log,
    logged,
    over_repeats,
    repeats_told,
    train_repeats,
)
from counterweight.tables.parquet import arrow_table, model_table, read_columns, read_models


def test_a_warning_on_the_shared_terminal_says_which_job_it_is_of(tmp_path, capsys):
    with logged(tmp_path / "job.log", {"study": "adult", "method": "svm"}) as log:
        log.info("repeat 1 of 2 done")
        for _ in range(3):  # in every repeat
            log.warning("Few rows: %d.", 7)
    assert capsys.readouterr().err == "WARNING: study adult, method svm: Few rows: 7.\n"
    kept = "INFO: repeat 1 of 2 done\n" + 3 * "WARNING: Few rows: 7.\n"
    assert (tmp_path / "job.log").read_text() == kept


def test_a_warning_of_a_fit_to_a_split_says_which(tmp_path, capsys):
    class Job:
        given, threads = {"repeats": 3}, 1

        class output:
            model, predictions = tmp_path / "m.parquet", tmp_path / "p.parquet"

    def one(repeat):
        if repeat == 1:
            log.warning("All rows have a no.")
        table = arrow_table({"row": np.arange(2)})
        return [model_table({"x": np.zeros(1)}, repeat, "one")], [table]

    with logged(tmp_path / "job.log", {"study": "mine", "method": "svm"}) as log:
        train_repeats(Job, one)
        log.warning("Few rows.")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "WARNING: study mine, method svm, split 2 of 3: All rows have a no."
    assert second == "WARNING: study mine, method svm: Few rows."


def test_jobs_of_a_run_say_once_what_differs_in_numbers_only(tmp_path, capfd, monkeypatch):
    (folder := tmp_path / "told").mkdir()
    monkeypatch.setenv(TOLD, str(folder))

    def part(repeat):
        log.warning("%d rows of 9 are far by x5.", repeat)

    for study, method in (("adult", "svm"), ("adult", "logistic"), ("bank", "svm")):
        path = tmp_path / f"{study}_{method}.log"
        with pytest.raises(SystemExit), logged(path, {"study": study, "method": method}):
            over_repeats(part, range(3), 2)
            log.warning("3 rows of 9 are far by x6.")
            raise CounterweightError("No row is labeled.")
        assert path.read_text().count("WARNING") == 4
    adult, by_6, failed, bank, _ = capfd.readouterr().err.splitlines()
    assert adult.startswith("WARNING: study adult, method svm: ") and "by x5" in adult
    assert by_6 == "WARNING: study adult, method svm: 3 rows of 9 are far by x6."
    assert failed == "ERROR: study adult, method svm: No row is labeled."
    assert bank.startswith("WARNING: study bank, method svm: ") and "by x5" in bank
    assert repeats_told(folder) == 15 - 5


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


def test_repeats_run_side_by_side_only_where_there_are_two_and_processes_for_them():
    here = os.getpid()
    assert over_repeats(lambda repeat: (repeat, os.getpid() == here), range(3)) == [
        *((0, True), (1, True), (2, True))
    ]
    assert over_repeats(lambda repeat: os.getpid() == here, range(1), 4) == [True]
    assert over_repeats(lambda repeat: os.getpid() == here, range(2), 2) == [False, False]


def test_memory_is_told_in_mb():
    held = np.ones(40 * 10**6 // 8)
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert held.sum() and abs(largest_memory() - kilobytes * 1024 / 10**6) <= 1
    assert 0 <= largest_memory(of_children=True) < 10**6


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the heap of Linux")
@pytest.mark.parametrize("keeping", [False, True])
def test_memory_that_was_given_back_is_there_for_the_next_arrays(keeping):
    code = """
import resource, sys
import numpy as np
from counterweight.tables.jobs import keep_memory
if sys.argv[1] == "True":
    keep_memory()
def cleared():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(3 << 17) for _ in range(20)]  # 3 MiB each
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
cleared()
print(cleared() * resource.getpagesize() / (60 << 20))
"""
    made = subprocess.run(
        [sys.executable, "-c", code, str(keeping)], capture_output=True, text=True, check=True
    )
    share = float(made.stdout)
    assert share < 0.1 if keeping else share > 0.5


def test_training_tells_its_repeats_and_writes_what_each_gave(tmp_path, caplog):
    given = {"job": {"given": {"repeats": 2}, "run": "", "uses": ()}}
    output = SimpleNamespace(model=tmp_path / "m", predictions=tmp_path / "p")
    job = Running(
        SimpleNamespace(input=None, output=output, threads=1, params=SimpleNamespace(**given))
    )
    with caplog.at_level(logging.INFO, "counterweight"):
        train_repeats(
            job,
            lambda repeat: (
                [model_table({"c": [repeat, 5.0]}, repeat, "general")],
                [arrow_table({"p": np.array([repeat / 2])})],
            ),
        )
    assert caplog.messages == ["repeat 1 of 2 done", "repeat 2 of 2 done"]
    models = read_models(tmp_path / "m")
    assert {key: found["c"].tolist() for key, found in models.items()} == {
        (0, "general"): [0, 5],
        (1, "general"): [1, 5],
    }
    assert read_columns(tmp_path / "p")["p"].tolist() == [0, 0.5]


def test_who_outlives_its_parent_ends():
    code = (
        "import os, sys, time\n"
        "from counterweight.tables.jobs import end_with\n"
        "end_with(os.getppid())\n"
        "print('kept', flush=True)\n"
        "end_with(os.getppid() + 1)\n"
        "time.sleep(5)\n"
        "print('outlived')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == -signal.SIGKILL and run.stdout == "kept\n"
