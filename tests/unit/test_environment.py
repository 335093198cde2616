"""The dependencies are said once; what is pinned elsewhere agrees with them."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from counterweight.plan.components import tree
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(PYPROJECT)["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Names that conda-forge gives to packages of the Python index.
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def names(requirements):
    return {normal(Requirement(text).name) for text in requirements}


def constraints():
    """Pinned version by normalised name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = [line.partition("==") for line in lines if line and not line.startswith("#")]
    assert all(separator for _, separator, _ in pinned), "a line of constraints.txt pins no version"
    return {normal(name): version for name, _, version in pinned}


def in_conda(path):
    """Version by normalised name in an environment file for conda."""
    listed = dict(item.split("=", 1) for item in yaml.safe_load(path.read_text())["dependencies"])
    return {normal(CONDA_NAMES.get(name, name)): version for name, version in listed.items()}


ENVIRONMENTS = sorted((ROOT / "envs").glob("*.yaml"))


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_conda_versions_equal_the_pinned_ones(path):
    versions, pinned = in_conda(path), constraints()
    assert versions.pop("python") >= "3.11"
    assert versions == {name: pinned.get(name) for name in versions}


def in_python():
    """Python of the conda environments."""
    (version,) = {
        item.removeprefix("python=")
        for path in ENVIRONMENTS
        for item in yaml.safe_load(path.read_text())["dependencies"]
        if item.startswith("python=")
    }
    return version


def test_conda_environments_cover_the_dependencies():
    installed = set().union(*map(in_conda, ENVIRONMENTS))
    used = names(PROJECT["dependencies"] + EXTRAS["workflow"] + EXTRAS["slurm"])
    assert used <= installed


def in_apptainer():
    """Base, copied files and steps of the recipe for Apptainer."""
    recipe = (ROOT / "envs" / "container.def").read_text()
    parts = dict(re.findall(r"^%(\w+)\n((?:    .*\n|\n)*)", recipe, flags=re.MULTILINE))
    lines = {
        name: [line.strip() for line in part.split("\n") if line] for name, part in parts.items()
    }
    assert "From: {{ BASE }}" in recipe
    (base,) = lines["arguments"]
    return base, {tuple(line.split()) for line in lines["files"]}, lines["post"]


def in_containerfile():
    """The same of the recipe for Podman, Buildah and Docker."""
    recipe = (ROOT / "envs" / "Containerfile").read_text().replace("\\\n", "")
    told = re.findall(r"^(ARG|FROM|COPY|RUN) (.*)$", recipe, flags=re.MULTILINE)
    assert [kind for kind, _ in told][:2] == ["ARG", "FROM"] and told[1][1] == "${BASE}"
    copied = set()
    for kind, text in told:
        *sources, target = text.split()
        if kind == "COPY":
            copied |= {
                (name, f"{target}{name}" if target[-1] == "/" else target) for name in sources
            }
    (steps,) = [re.split(r"\s*&&\s*", text) for kind, text in told if kind == "RUN"]
    return told[0][1], copied, steps


@pytest.mark.parametrize("recipe", [in_apptainer, in_containerfile])
def test_the_image_is_made_of_files_that_are_there_and_of_the_pins(recipe):
    base, copied, steps = recipe()
    assert all((ROOT / source).exists() for source, _ in copied)
    inside = {Path(target) for _, target in copied}
    assert {Path("/opt/counterweight") / PROJECT["readme"]} <= inside
    installs = [line for line in steps if "pip install" in line]
    assert installs and all("-c constraints.txt" in line for line in installs)
    extras = set(re.search(r"\.\[([\w,]+)\]", "".join(steps)).group(1).split(","))
    assert extras <= EXTRAS.keys() and "workflow" in extras
    named = re.fullmatch(r"BASE=python:(3\.\d+)-slim@sha256:[0-9a-f]{64}", base)
    assert named.group(1) == str(in_python())


def test_the_recipes_of_the_image_say_the_same():
    assert in_apptainer() == in_containerfile()


REQUIREMENTS = [*PROJECT["dependencies"], *(item for extra in EXTRAS.values() for item in extra)]


@pytest.mark.parametrize("text", REQUIREMENTS)
def test_each_dependency_is_a_range_that_is_explained_and_holds_the_pinned_version(text):
    requirement = Requirement(text)
    operators = {part.operator for part in requirement.specifier}
    assert ">=" in operators and "==" not in operators
    pinned = constraints().get(normal(requirement.name))
    assert pinned and requirement.specifier.contains(pinned)
    reason = re.search(rf'"{re.escape(text)}", +# (.+)', PYPROJECT)
    assert reason and len(reason.group(1)) >= 5


#: Names that packages have in Python, where they are others.
IMPORTED = {"scikit-learn": "sklearn", "pyyaml": "yaml", "imbalanced-learn": "imblearn"}
IMPORTED["vw-estimators"] = "estimators"


def test_what_the_library_imports_is_a_dependency_and_nothing_else_is():
    imported = set()
    for path in (ROOT / "workflow" / "counterweight").rglob("*.py"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_imported":
                imported.add(node.args[0].value.partition(".")[0])
    needed = imported - set(sys.stdlib_module_names) - {"counterweight"}
    # Queries are read, and peers compared with, where their packages are there.
    beside = {IMPORTED.get(name, name) for name in names(EXTRAS["sql"] + EXTRAS["peers"])}
    assert needed - beside == {IMPORTED.get(name, name) for name in names(PROJECT["dependencies"])}


def test_hooks_before_a_commit_use_the_pinned_versions():
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    used = [text for hook in repository["hooks"] for text in hook["additional_dependencies"]]
    assert used and all(constraints()[text.split("==")[0]] == text.split("==")[1] for text in used)


def test_the_checks_of_the_public_repository_are_targets_of_make():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    jobs = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text())["jobs"]
    run = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert {"make lint", "make dry", "make test", "make docs"} == set(run)
    assert {text.removeprefix("make ") for text in run} <= targets


@pytest.fixture
def made(tmp_path):
    """What make calls in a checkout whose commands only write down their arguments."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("python", "snakemake"):
        command = tmp_path / ".venv" / "bin" / name
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f'#!/bin/sh\n(printf {name}; printf "|%s" "$@"; echo) >> calls\n')
        command.chmod(0o755)
    (tmp_path / ".venv" / "ready").touch()

    def call(*arguments):
        (tmp_path / "calls").write_text("")
        command = ["make", "--silent", *arguments, "CORES=1"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return (tmp_path / "calls").read_text().splitlines()

    return tmp_path, call


def test_make_alone_says_what_there_is_and_runs_nothing(made):
    folder, call = made
    assert call() == []
    told = subprocess.check_output(["make", "--no-print-directory"], cwd=folder, text=True)
    assert told.splitlines()[0].startswith("make run ") and "make mine CONFIG=mine.yaml" in told


def test_make_takes_names_with_blanks_and_draws_the_tables_of_examples(made):
    folder, call = made
    check = "python|-m|counterweight.plan.reading|my mine.yaml"
    run = "snakemake|--quiet|host|--logger|counterweight|--cores|1|--configfile|my mine.yaml"
    (folder / "my mine.yaml").write_text("table: mine.csv\n")
    assert call("mine", "CONFIG=my mine.yaml") == [check, run]
    (folder / "my mine.yaml").write_text("table: examples/tables/applicants.csv\n")
    drawn = "python|examples/tables.py"
    assert call("mine", "CONFIG=my mine.yaml") == [drawn, check, run]
    (folder / "examples" / "tables").mkdir(parents=True)
    assert call("mine", "CONFIG=my mine.yaml") == [check, run]
    assert call("init", "TABLE=my table.csv") == ["python|-m|counterweight.init|my table.csv"]


def test_readme_names_the_two_commands_that_set_everything_up():
    text = (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    named = re.findall(r"^make (\w+)(?: +#| [A-Z]+=|$)", text, re.M)
    assert named[:2] == ["run", "test"] and set(named) <= targets


def test_issue_forms_ask_for_the_log():
    form = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/problem.yml").read_text())
    needed = {
        part["id"]
        for part in form["body"]
        if part.get("validations", {}).get("required") and "id" in part
    }
    assert {"happened", "command", "log", "version"} <= needed
