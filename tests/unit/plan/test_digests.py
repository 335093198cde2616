"""Digests: what a job may load, by imports and by the definitions that a function names."""

import hashlib
import os
import time

import pytest
from counterweight.plan import components, digests
from counterweight.plan.digests import Contents


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A library of a few modules in place of this one."""
    root = tmp_path / "counterweight"
    root.mkdir()
    monkeypatch.setattr(components, "PACKAGE", root)
    digests.forget()

    def write(**texts):
        for name, text in texts.items():
            (root / f"{name}.py").write_text(text)
        digests.forget()

    write(__init__="", errors="", far="X = 1\n", near="import counterweight.far\n")
    yield write
    monkeypatch.undo()
    digests.forget()


TASK = '''"""A task."""
from counterweight.near import thing
from counterweight import errors

LIMIT = 3


def one(job):
    return helper(job, LIMIT)


def helper(job, limit):
    return limit


def other(job):
    """Not of one."""
    from counterweight import far

    return thing
'''


def test_a_function_counts_with_what_it_names_in_its_module(package):
    package(task=TASK)
    texts, modules = digests.part_of("counterweight.task", "one")
    assert [text.split(b"\n")[0] for text in texts] == [
        b"LIMIT = 3",
        b"def one(job):",
        b"def helper(job, limit):",
    ]
    assert modules == ()
    texts, modules = digests.part_of("counterweight.task", "other")
    assert len(texts) == 1 and modules == (
        "counterweight",
        "counterweight.far",
        "counterweight.near",
    )


def test_imports_are_followed_and_registries_left_out(package, tmp_path):
    package(a="from counterweight.near import (\n    x,  # one\n)\n", b='"""import nothing"""\n')
    assert digests.imports(components.path_of("counterweight.a")) == ("counterweight.near",)
    assert digests.closure(("counterweight.a",)) == (
        "counterweight.a",
        "counterweight.far",
        "counterweight.near",
    )
    assert digests.closure(("counterweight.b", "counterweight")) == ("counterweight.b",)
    script = tmp_path / "train.py"
    script.write_text("from counterweight.near import y\n")
    assert digests.loaded(str(script)) == ("counterweight.far", "counterweight.near")


def code(script, run="counterweight.task:one"):
    return digests.code(str(script), run)


def test_a_digest_changes_with_what_a_job_may_load_and_with_nothing_else(package, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("from counterweight.near import y\n")
    package(task=TASK)
    before = code(script)
    assert len(before) == 16
    package(task=TASK.replace("Not of one", "Still not"))
    assert code(script) == before
    package(task=TASK, far="X = 2\n")
    assert code(script) != before
    package(far="X = 1\n", task=TASK.replace("LIMIT = 3", "LIMIT = 4"))
    assert code(script) != before
    package(task=TASK, near='import counterweight.far\n\nLABEL = "in print"\n')
    assert code(script) == before, "what readers of the report are told is no code"


def test_versions_of_the_libraries_that_are_imported_count(package, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("from counterweight.near import y\n")
    assert digests.libraries(str(script)) == {}
    package(far="import sklearn\n")
    assert set(digests.libraries(str(script))) == {"scikit-learn", "scipy", "numpy"}
    package(far='"""import pandas"""\n', near="def f():\n    import pyarrow\n")
    assert set(digests.libraries(str(script))) == {"pyarrow"}
    assert digests.version_of("no library of this name") == ""


def test_digests_of_large_files_are_kept_until_the_system_knows_of_a_change(tmp_path, monkeypatch):
    monkeypatch.setattr(Contents, "LEAST", 10)
    monkeypatch.setattr(Contents, "SETTLED", 0)
    path, kept, read = tmp_path / "large.csv", tmp_path / "kept", []
    path.write_bytes(b"some content that is long")
    whole = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *part: read.append(1) or whole(*part))

    def digest():
        return Contents(kept).of(path)

    first = digest()
    assert first == hashlib.sha256(path.read_bytes()).hexdigest() == digest() and len(read) == 1
    known = path.stat()
    time.sleep(0.05)  # longer than a tick of the clock of changes
    path.write_bytes(b"some content that is LONG")
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    assert digest() != first and digest() == hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "other").write_bytes(b"some content that is long")
    os.utime(tmp_path / "other", ns=(known.st_atime_ns, known.st_mtime_ns))
    os.replace(tmp_path / "other", path)
    assert digest() == first
    with open(kept, "a") as lines:
        lines.write("torn off")
    assert digest() == first and len(read) == 3
    # What changed a moment ago may change again at the same tick.
    monkeypatch.setattr(Contents, "SETTLED", 10**15)
    path.write_bytes(b"some content that is long")
    assert digest() == first == digest() and len(read) == 5
