"""Scripts as forks of one process: status, folder, what they use, how they end, many at a time."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("jobs are forks on Linux only", allow_module_level=True)

from counterweight.tables import fork_server as module
from counterweight.tables.fork_server import (
    LIBRARY_FROM,
    LOADED,
    Ended,
    Forks,
    known_scripts,
    loaded_for,
    tell,
)
from snakemake import benchmark, script


@pytest.fixture(scope="module", params=["fork", "plain"])
def forks(request):
    return Forks(request.param == "fork")


@pytest.fixture
def run(forks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(text, name="job.py", environment=()):
        script = tmp_path / name
        script.write_text(text)
        return forks.begun(str(script), environment)[1]()

    return run


def test_a_script_runs_in_the_folder_of_now_with_its_variables(run, tmp_path):
    text = "import os, sys; open('said', 'w').write(f\"{__name__} {os.environ['SO']} {sys.argv}\")"
    end = run(text, environment={"SO": "yes"})
    assert end.status == 0 and end.seconds >= 0 and end.memory > 0 and end.reason == ""
    assert (tmp_path / "said").read_text() == f"__main__ yes ['{tmp_path / 'job.py'}']"


def test_the_status_is_that_of_the_script(run):
    end = run("import sys; sys.exit(3)")
    assert end.status == 3 and "ended with status 3" in end.reason
    assert run("import sys; sys.exit('why')").status == 1
    end = run("raise ValueError('why')")
    assert end.status == 1 and "ValueError: why" in end.reason
    assert "No module named 'missing_library'" in run("import missing_library").reason


@pytest.mark.parametrize(
    ("text", "number", "told"),
    [
        ("import os; os.kill(os.getpid(), 9)", signal.SIGKILL, "killed from outside (SIGKILL)"),
        ("import ctypes; ctypes.string_at(0)", signal.SIGSEGV, "crashed (SIGSEGV)"),
        ("import os; os.abort()", signal.SIGABRT, "crashed (SIGABRT)"),
        ("import os; os.kill(os.getpid(), 15)", signal.SIGTERM, "stopped from outside (SIGTERM)"),
        ("import os; os.kill(os.getpid(), 2)", signal.SIGINT, "stopped from outside (SIGINT)"),
    ],
)
def test_a_signal_is_told_with_the_memory_that_was_held(run, text, number, told, capfd):
    end = run("held = b'x' * (200 << 20)\n" + text)
    assert end.status == -number and end.memory > 200 and end.seconds > 0
    assert told in end.reason and f"{end.memory:.0f} MB" in end.reason
    assert "Traceback" not in capfd.readouterr().err


def test_want_of_memory_is_told_where_the_system_says_so(run, monkeypatch):
    counted = iter((4, 5))
    monkeypatch.setattr(module, "_ended_for_memory", lambda: next(counted))
    assert "since memory ran out" in run("import os; os.kill(os.getpid(), 9)").reason


def test_a_log_has_the_reason_unless_it_has_one_of_its_own(tmp_path):
    killed, log = Ended(-9, 1.0, 100.0), tmp_path / "logs" / "job.log"
    assert tell(str(log), killed) == killed.reason
    assert log.read_text() == f"ERROR: {killed.reason}\n"
    log.write_text("INFO: begun\nERROR: Column x is not there.\n")
    assert tell(str(log), Ended(1)) == "Column x is not there."
    assert log.read_text().count("ERROR") == 1


#: Runs a script in a fork, and is killed meanwhile.
MASTER = """
import sys
from counterweight.tables.fork_server import Forks
Forks(sys.argv[1] == "fork", ()).begun(sys.argv[2])[1]()
"""
ORPHAN = """
import os, sys, time
from counterweight.tables import jobs
jobs.end_with(int(os.environ.pop(jobs.PARENT)))

def part(number):
    open(f"begun{number}", "w").write(str(os.getpid()))
    time.sleep(600)

jobs.over_repeats(part, range(2), 2)
"""


@pytest.mark.parametrize("way", ["fork", "plain"])
def test_a_job_and_its_parts_end_with_a_killed_master(tmp_path, way):
    (tmp_path / "job.py").write_text(ORPHAN)
    call = [sys.executable, "-c", MASTER, way, str(tmp_path / "job.py")]
    master = subprocess.Popen(call, cwd=tmp_path)
    begun = [tmp_path / f"begun{number}" for number in range(2)]
    awaited(lambda: all(path.exists() and path.read_text() for path in begun))
    numbers = [int(path.read_text()) for path in begun]
    master.kill()
    master.wait()
    awaited(lambda: not any(map(alive, numbers)))


def alive(number):
    """Whether a process runs: one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def awaited(what):
    for _ in range(1200):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to be")


def test_without_a_process_to_fork_from_scripts_run_all_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.py").write_text("import os; os.kill(os.getppid(), 9)")
    (tmp_path / "next.py").write_text("open('said', 'w').write('yes')")
    forks = Forks(loaded=())
    end = forks.begun(str(tmp_path / "job.py"))[1]()
    assert end.status in (0, -signal.SIGKILL)
    assert forks.begun(str(tmp_path / "next.py"))[1]().status == 0
    assert (tmp_path / "said").read_text() == "yes"


def test_of_many_jobs_the_library_is_loaded_once_and_what_does_not_load_is_left_to_them(
    tmp_path, monkeypatch
):
    assert loaded_for(LIBRARY_FROM - 1) == LOADED
    names = set(loaded_for(LIBRARY_FROM)) - set(LOADED)
    assert {"counterweight.tables.jobs", "counterweight.tables.__init__"} <= names
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{Path(module.__file__).parents[2]}")
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "job.py").write_text(
        "import os, sys\n"
        "known = 'counterweight.tables' in sys.modules, 'broken' in sys.modules\n"
        "open('said', 'w').write(f'{os.getppid()} {known}')\n"
        "import broken\n"
    )
    forks = Forks(loaded=("broken", "counterweight.tables.__init__"))
    end = forks.begun(str(tmp_path / "job.py"))[1]()
    assert end.raised.startswith("SyntaxError")
    assert (tmp_path / "said").read_text().partition(" ")[2] == "(True, False)"


def test_neither_a_long_folder_nor_a_script_without_a_guard_matters(tmp_path):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    (tmp_path / "job.py").write_text("open('said', 'a').write('once ')")
    caller = tmp_path / "caller.py"
    caller.write_text(
        "from counterweight.tables.fork_server import Forks\n"
        "assert Forks(loaded=()).begun('job.py')[1]().status == 0\n"
    )
    environment = os.environ | {"TMPDIR": str(deep)}
    subprocess.run([sys.executable, caller], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "said").read_text() == "once "


def test_what_a_script_and_its_children_use_is_measured(run):
    held = "bytearray(300 << 20)[:] = b'x' * (300 << 20)"
    assert 300 < run(held).memory < 3000
    assert run(f"import os\nif not os.fork():\n    {held}; os._exit(0)\nos.wait()").memory > 300
    busy = "import time\nwhile time.process_time() < .3: pass"
    assert run(busy).seconds >= 0.3


def test_the_large_libraries_are_there_and_ours_is_read_anew(forks, run, tmp_path):
    (tmp_path / "ours.py").write_text("WORD = 'first'")
    text = (
        "import sys\nthere = 'numpy' in sys.modules, 'counterweight.numerics' in sys.modules\n"
        "import ours; open('said', 'w').write(f'{there} {ours.WORD}')"
    )
    there = (forks._forking, False)
    assert run(text).status == 0 and (tmp_path / "said").read_text() == f"{there} first"
    (tmp_path / "ours.py").write_text("WORD = 'the second'")
    assert run(text).status == 0 and (tmp_path / "said").read_text() == f"{there} the second"


def test_many_at_a_time_from_many_threads(forks, tmp_path):
    def status(number):
        script = tmp_path / f"job{number}.py"
        script.write_text(f"import sys, time; time.sleep(.01 * {number % 3}); sys.exit({number})")
        pid, ended = forks.begun(str(script))
        assert pid != os.getpid()
        return ended().status

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(status, range(24))) == list(range(24))


def test_this_snakemake_begins_scripts_as_we_know():
    """Of each version that is supported: where it fails, runs go on, and take twice the CPU."""
    assert known_scripts(script) is script.PythonScript
    # What is measured of a job, under the names that are written to its benchmark file.
    told = {"running_time", "cpu_time", "cpu_usage", "max_rss", "data_collected"}
    assert told <= vars(benchmark.BenchmarkRecord()).keys()


def of_another_name(self, file, edit=False): ...


def without_a_container(self, path, resources, log, conda_env, env_modules, bench_record): ...


@pytest.mark.parametrize(
    ("place", "name", "other"),
    [
        (script.PythonScript, "execute_script", of_another_name),
        (script.PythonScript, "execute_script", None),
        (script.PythonScript, "__init__", without_a_container),
        (script, "PythonScript", None),
    ],
)
def test_another_snakemake_runs_scripts_by_itself(monkeypatch, place, name, other):
    monkeypatch.setattr(place, name, other)
    assert known_scripts(script) is None
    assert known_scripts(None) is None
