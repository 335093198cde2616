"""Scripts as forks of one process: status, folder, what they use, and many at a time."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

if sys.platform != "linux":
    pytest.skip("jobs are forks on Linux only", allow_module_level=True)

from counterweight.files.forks import Forks


@pytest.fixture(scope="module")
def forks():
    return Forks()


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
    status, seconds, memory = run(text, environment={"SO": "yes"})
    assert status == 0 and seconds >= 0 and memory > 0
    assert (tmp_path / "said").read_text() == f"__main__ yes ['{tmp_path / 'job.py'}']"


def test_the_status_is_that_of_the_script(run):
    assert run("import sys; sys.exit(3)")[0] == 3
    assert run("raise ValueError('why')")[0] == 1


def test_a_signal_is_told_and_nothing_is_made_up_of_what_was_used(run):
    status, seconds, memory = run("import os; os.kill(os.getpid(), 9)")
    assert (status, seconds, memory) == (-signal.SIGKILL, None, None)


def test_what_a_script_and_its_children_use_is_measured(run):
    held = "bytearray(300 << 20)[:] = b'x' * (300 << 20)"
    assert run(held)[2] > 300
    assert run(f"import os\nif not os.fork():\n    {held}; os._exit(0)\nos.wait()")[2] > 300
    busy = "import time\nwhile time.process_time() < .3: pass"
    assert run(busy)[1] >= 0.3


def test_the_large_libraries_are_there_and_ours_is_read_anew(run, tmp_path):
    (tmp_path / "ours.py").write_text("WORD = 'first'")
    text = (
        "import sys\nthere = 'numpy' in sys.modules, 'counterweight.numerics' in sys.modules\n"
        "import ours; open('said', 'w').write(f'{there} {ours.WORD}')"
    )
    assert run(text)[0] == 0 and (tmp_path / "said").read_text() == "(True, False) first"
    (tmp_path / "ours.py").write_text("WORD = 'the second'")
    assert run(text)[0] == 0 and (tmp_path / "said").read_text() == "(True, False) the second"


def test_many_at_a_time_from_many_threads(forks, tmp_path):
    def status(number):
        script = tmp_path / f"job{number}.py"
        script.write_text(f"import sys, time; time.sleep(.01 * {number % 3}); sys.exit({number})")
        pid, ended = forks.begun(str(script))
        assert pid != os.getpid()
        return ended()[0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(status, range(40))) == list(range(40))
