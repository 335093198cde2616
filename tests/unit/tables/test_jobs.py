"""What a job writes of itself: its log, its mistakes in one sentence; its repeats side by side."""

import errno
import os
import signal
import time

import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.jobs import logged, over_repeats


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
