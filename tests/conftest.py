"""The order of the tests, and what several processes make once."""

import fcntl
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

#: Files that take longest, in this order; the first two make the runs that others look at.
LONG = ("own", "edits", "collect", "docs", "run", "own_pages", "cluster", "failed_runs", "forms")
LONG += ("certificates", "answers", "rehearsal", "docs_pages", "kills", "policy_value")
LONG += ("estimators", "rerun", "extending", "benchmark", "real", "pages")

# To collect eight thousand tests makes millions of objects that stay: garbage is looked for beside
# them, neither while they are made nor among them later.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    """Side by side, a process that is done early takes what is left, so long tests come first."""
    places = {f"test_{name}.py": at for at, name in enumerate(LONG)}
    items.sort(key=lambda item: places.get(item.path.name, len(LONG)))


@pytest.fixture(scope="session")
def once(tmp_path_factory):
    """Makes something once for all processes that run the tests side by side.

    What is made leaves a note, which later processes get instead of making it again.
    """
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        shared = shared.parent

    def made(name, make):
        folder, note = shared / name, shared / f"{name}.json"
        with open(shared / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not note.exists():
                note.write_text(json.dumps(make(folder)))
        return folder, json.loads(note.read_text())

    return made


@pytest.fixture(scope="session")
def built(once):
    """Folder of the pages of the docs, built once, and what the build said."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")

    def make(folder):
        told = {"PYTHONPATH": os.pathsep.join(sys.path), "NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder / "site"],
            cwd=Path(__file__).resolve().parents[1],
            env=os.environ | told,
            capture_output=True,
            text=True,
        )
        return {"status": done.returncode, "told": done.stderr}

    folder, build = once("docs", make)
    assert build["status"] == 0, build["told"]
    return folder / "site", build["told"]


@pytest.fixture(scope="session")
def site(built):
    return built[0]


@pytest.fixture(scope="module")
def shown():
    """A browser, for the tests of pages."""
    import pages

    with pages.browser() as browser:
        yield browser
