"""Real runs of the workflow, each in a copy of the tree of its own."""

import compileall
import functools
import hashlib
import html
import json
import multiprocessing
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import own_tables
import pytest
import yaml
from counterweight.plan.reading import with_listed_studies

ROOT = Path(__file__).resolve().parents[2]
SMALL = Path(__file__).with_name("small.yaml")
PARTS = ("Snakefile", "config.yaml", "workflow", "scripts", "envs", "profiles")
# What would let the surroundings of the tests reach into a run.
FOREIGN = re.compile(
    r"COUNTERWEIGHT_|SNAKEMAKE_|PYTHONPATH$|PYTHONDONTWRITEBYTECODE$|.*_proxy$", re.IGNORECASE
)


#: Runs are many and short. Each is a fork of one process that has Snakemake and its plugins loaded.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["loaded"])


#: Hears what jobs open: see `opened/sitecustomize.py`.
HEARING = Path(__file__).with_name("opened")


class Run:
    """What one call of Snakemake printed, how it ended, and what its jobs opened undeclared."""

    def __init__(self, output, status, opened=()):
        self.output = output
        self.status = status
        self.opened = opened

    @property
    def kept(self):
        """What `once` keeps: arguments of `Run`."""
        return {"output": self.output, "status": self.status, "opened": self.opened}

    @property
    def jobs(self):
        """Jobs that were run (or would be, in a dry run) as "rule wildcard wildcard"."""
        found = set()
        blocks = re.split(r"^(?:local)?rule (?=\w+:$)", self.output, flags=re.MULTILINE)[1:]
        for block in blocks:
            rule, _, rest = block.partition(":\n")
            inside = re.match(r"(?:    .*\n)*", rest).group()
            wildcards = re.search(r"^    wildcards: (.*)$", inside, flags=re.MULTILINE)
            values = re.findall(r"\w+=([^,]+)", wildcards.group(1)) if wildcards else []
            found.add(" ".join([rule, *values]))
        return found - {"all"}


@functools.cache
def _search_path():
    """Where a Python of its own, without what the tests were told, looks for modules."""
    asked = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.path[1:]))"]
    kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    return json.loads(subprocess.run(asked, env=kept, stdout=subprocess.PIPE, check=True).stdout)


def copy_of(folder, place):
    """A copy of a folder with the dates of its files; the system copies many faster than Python."""
    subprocess.run(["cp", "-R", "-p", folder, place], check=True)
    return place


class Copy:
    """A copy of the workflow in a folder of its own, with a config of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.results = folder / "results"

    @property
    def config(self):
        return yaml.safe_load((self.folder / "config.yaml").read_text())

    @config.setter
    def config(self, config):
        (self.folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    def run(self, *arguments, cores=2, environment=None):
        """Call Snakemake as a user would in this folder, but in a fork: see `forked.py`."""
        call = self._call(*arguments, cores=cores, environment=environment)
        # Not in the folder, which a test may compare or move.
        printed = self.folder.with_name(f"{self.folder.name}.log")
        opened = self.folder.with_name(f"{self.folder.name}.opened")
        opened.unlink(missing_ok=True)
        searched = [str(HEARING), call["env"].get("PYTHONPATH")]
        call["env"] |= {"PYTHONPATH": os.pathsep.join(filter(None, searched))}
        call["env"] |= {"OPENED_NOTES": str(opened)}
        added = filter(None, call["env"].get("PYTHONPATH", "").split(os.pathsep))
        given = {
            "folder": str(self.folder),
            "environment": call["env"],
            "path": [str(self.folder), *added],
            "searched": _search_path(),
            "arguments": call["args"][3:],
            "printed": str(printed),
        }
        forked = str(Path(__file__).with_name("forked.py"))
        process = FORKS.Process(target=runpy.run_path, args=(forked, {"CALL": given}, "__main__"))
        with pytest.MonkeyPatch.context() as patch:
            # The process that is forked finds `loaded.py`; forks have a path of their own.
            patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
            process.start()
        process.join(1800)  # against a run that hangs; how long it takes is not tested
        assert process.exitcode is not None, process.kill()
        noted = opened.read_text().splitlines() if opened.exists() else []
        return Run(printed.read_text(), process.exitcode, noted)

    def begun(self, *arguments, cores=2):
        """The same in the background, in a group of processes of its own; `said` reads it."""
        with open(self.folder / "said.log", "wb") as file:
            call = self._call(*arguments, cores=cores)
            return subprocess.Popen(**call, stdout=file, start_new_session=True)

    def said(self):
        """What the call in the background has printed so far."""
        return self.text("said.log")

    def _call(self, *arguments, cores, environment=None):
        kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
        return {
            "args": [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments],
            "cwd": self.folder,
            "env": kept | (environment or {}),
            "stderr": subprocess.STDOUT,
        }

    def plan(self, *arguments):
        """Jobs that the next run would do."""
        run = self.run("--dry-run", *arguments)
        assert run.status == 0, run.output
        return run.jobs

    def replace(self, path, old, new):
        """Put other text into a file of the copy."""
        path = self.folder / path
        text = path.read_text()
        assert old in text, f"{path} has no {old!r}"
        path.write_text(text.replace(old, new))

    def append(self, path, text):
        with open(self.folder / path, "a") as file:
            file.write(text)

    def text(self, path):
        return (self.folder / path).read_text()

    def digests(self, *suffixes):
        """SHA-256 of every file under data and results, by relative path."""
        return {
            str(path.relative_to(self.folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for top in ("data", "results")
            for path in sorted((self.folder / top).rglob("*"))
            if path.is_file() and (not suffixes or path.suffix in suffixes)
        }


def read_page(path):
    """A page and, behind it, what it says: within sentences terms of the glossary are links."""
    raw = path.read_text(encoding="utf-8")
    said = re.sub(r"<(style|script|svg).*?</\1>", " ", raw, flags=re.DOTALL)
    return raw + re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", said)))


@pytest.fixture(scope="session")
def small():
    """The config of the small run."""
    return yaml.safe_load(SMALL.read_text())


@pytest.fixture(scope="session")
def shipped():
    """The config that users get, the listed studies under it."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    return with_listed_studies(config, {}, ROOT / "workflow" / "studies")


@pytest.fixture(scope="session")
def tree(once):
    """The workflow as it is now: all copies are of this one, even if files change meanwhile."""

    def make(folder):
        folder.mkdir()
        for part in PARTS:
            if (ROOT / part).is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
                shutil.copytree(ROOT / part, folder / part, ignore=ignored)
            else:
                shutil.copy2(ROOT / part, folder / part)
        # Once here, and not by the jobs of each copy.
        compileall.compile_dir(folder / "workflow", quiet=1)

    return once("tree", make)[0]


@pytest.fixture(scope="session")
def copied(tree, tmp_path_factory):
    """Makes a fresh copy of the workflow, with the shipped config or a given one."""

    def make(config=None):
        copy = Copy(copy_of(tree, tmp_path_factory.mktemp("copies") / "copy"))
        if config is not None:
            copy.config = config
        return copy

    return make


@pytest.fixture(scope="session")
def finished(once, tree, small):
    """The small run, made once; tests look at it and leave it as it is."""

    def make(folder):
        copy = Copy(copy_of(tree, folder))
        copy.config = small
        return copy.run().kept

    folder, first = once("finished", make)
    copy = Copy(folder)
    copy.first = Run(**first)
    return copy


@pytest.fixture(scope="session")
def alone(once, tree, small):
    """A run of one study with one method, made once; tests compare others with it."""

    def make(folder):
        copy = Copy(copy_of(tree, folder))
        study = small["studies"]["curved"] | {"models": [{"model": "logistic"}]}
        copy.config = small | {"studies": {"curved": study}}
        return copy.run().kept

    folder, first = once("alone", make)
    copy = Copy(folder)
    copy.first = Run(**first)
    assert copy.first.status == 0, copy.first.output
    return copy


@pytest.fixture(scope="session")
def drawn():
    return own_tables.drawn_tables()


@pytest.fixture(scope="session")
def mine(once, tree, drawn):
    """One's own tables, run once: all examples and a log in a folder of parts, in one config."""

    def make(folder):
        copy_of(tree, folder)
        own_tables.with_tables(folder / "mine", own_tables.config_of_all(), *drawn[:2])
        return Copy(folder).run(*own_tables.MINE).kept

    folder, first = once("mine", make)
    copy = own_tables.placed(Copy(folder))
    copy.first = Run(**first)
    assert copy.first.status == 0, copy.first.output
    return copy


@pytest.fixture
def again(finished, tmp_path):
    """A copy of the finished small run, to change and run again."""
    assert finished.first.status == 0, finished.first.output
    return Copy(copy_of(finished.folder, tmp_path / "copy"))
