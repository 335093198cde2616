"""Who imports whom: stages in the order of the flow, on floors that know nothing of them."""

import ast
import functools
import re
import shutil
import statistics
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest
from counterweight.plan import digests, reading
from counterweight.plan.components import PACKAGE
from counterweight.plan.stages import Stages

#: In the order of the flow: a stage may import those before it.
FLOW = ("datasets", "labeling", "selection", "weighting", "models", "evaluation")
FLOW += ("delivery", "reporting")
FLOORS = {
    "errors": set(),
    "fragments": set(),
    "numerics": {"errors", "fragments"},
    "plan": {"errors", "fragments", "numerics", "tasks"},
    "tables": {"errors", "fragments", "numerics", "plan"},
}
#: What stands in each package of the top may import: itself, the floors, the stages before it.
ALLOWED = FLOORS | {stage: {*FLOORS, *FLOW[:at]} for at, stage in enumerate(FLOW)}
#: What asks every stage for its jobs may import all; of the library only the call that runs them in
#: one process imports it, at the top, where no stage can reach.
COMPOSER, CALL = "counterweight.plan.stages", "counterweight.answers"
#: What makes whole answers in one job: on copies of a table, on many data sets.
WHOLE = ["counterweight.benchmark", "counterweight.rehearsal"]
#: The room of each stage: its jobs load what stands there and before, by import or by name.
ROOMS = {
    "download": "datasets",
    "prepare": "datasets",
    "columns": "labeling",
    "label": "labeling",
    "select": "selection",
    "weigh": "weighting",
    "train": "models",
    "evaluate": "evaluation",
    "deliver": "delivery",
    "apply": "delivery",
}
ROOT = PACKAGE.parents[1]
CONFIGS = ["workflow/overlays/demo.yaml"]
CONFIGS += sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*.yaml"))
#: Half of the modules that hold code have at least so many lines: room for who adds a component of
#: twenty lines, and none for modules of one function.
MEDIAN = 250


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(source, known):
    """Modules of the library that a source text imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole module"
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            # What is no module is a name in one.
            names |= inner & known or {node.module}
    return {name for name in names if name.split(".")[0] == "counterweight"}


@functools.cache
def all_imports():
    """What each module imports; not where tests are collected, which every process does."""
    return {name: imported(path.read_text(), set(MODULES)) for name, path in MODULES.items()}


def room(module):
    """The package of the top that a module is of, "" for the top itself (the version)."""
    return (*module.split("."), "")[1]


def misplaced(module, names):
    """The imports of a module that its room does not allow."""
    allowed = ALLOWED.get(room(module))
    return sorted(
        name
        for name in names
        if allowed is not None and room(name) not in {"", room(module), *allowed}
    )


def cycle(imports):
    """Modules that import each other in a circle, or none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


@pytest.mark.parametrize("package", ALLOWED)
def test_nothing_is_imported_from_a_later_stage_or_by_a_floor_from_above(package):
    modules = [name for name in MODULES if room(name) == package and name != COMPOSER]
    wrong = {name: misplaced(name, all_imports()[name]) for name in modules}
    assert {name: names for name, names in wrong.items() if names} == {}


def test_only_the_plan_imports_the_kinds_of_study():
    users = {name for name, names in all_imports().items() if "tasks" in map(room, names)}
    assert {name for name in users if room(name) not in ("tasks", "plan")} == set()
    assert [name for name, names in all_imports().items() if COMPOSER in names] == [CALL, *WHOLE]
    assert [name for name, names in all_imports().items() if CALL in names] == WHOLE


def test_no_modules_import_each_other_in_a_circle():
    assert cycle(all_imports()) == []


def test_a_later_stage_a_floor_from_above_and_a_circle_would_be_found():
    known = {"counterweight.models.logistic", "counterweight.tables.parquet"}
    text = (
        "def late():\n    from counterweight.models import logistic\n\n"
        "import counterweight.tables.parquet\nfrom counterweight.plan.components import load\n"
    )
    names = imported(text, known)
    assert names == known | {"counterweight.plan.components"}
    assert misplaced("counterweight.selection.late", names) == ["counterweight.models.logistic"]
    assert misplaced("counterweight.numerics.above", names) == sorted(names)
    assert misplaced("counterweight.evaluation.fine", names) == []
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


def planned_jobs(plan):
    """All jobs of a plan, by stage, study or data set, and item."""
    stages = Stages(plan, ROOT / "scripts")
    names = [(stage, name) for name in plan["datasets"] for stage in list(ROOMS)[:3]]
    for name, study in plan["studies"].items():
        names += [(stage, name) for stage in ("label", "deliver", "apply")]
        names += [("select", name, item) for item in study["selectors"]]
        names += [("weigh", name, item) for item in study["weightings"]]
        names += [
            (stage, name, item) for item in study["methods"] for stage in ("train", "evaluate")
        ]
    return {asked: job for asked in names if (job := stages.job(*asked))}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder in which the tables of the examples are drawn."""
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "examples").mkdir()
    shutil.copy(ROOT / "examples" / "tables.py", folder / "examples")
    subprocess.run([sys.executable, folder / "examples" / "tables.py"], check=True)
    return folder


@pytest.mark.parametrize("config", ["", *CONFIGS], ids=["config.yaml", *CONFIGS])
def test_no_job_loads_a_later_stage_by_import_or_by_name(config, drawn, monkeypatch):
    monkeypatch.setattr(reading, "check_folders", lambda *_: None)  # none is made
    monkeypatch.chdir(drawn)
    jobs = planned_jobs(reading.plan_of_files([ROOT / config] if config else [], ROOT))
    # Predictions that a log holds are there, and nothing learns.
    learned = set() if "transfers" in config else {"prepare", "train"}
    assert {asked[0] for asked in jobs} >= {"label", "evaluate"} | learned
    late = {}
    for (stage, *item), job in jobs.items():
        script = str(ROOT / "scripts" / f"{stage}.py")
        names = digests.loaded(script, job.run, job.uses, job.modules)
        # Predictions that a log holds are measured in the place of labeling, by labels that came.
        own = "delivery" if stage == "label" and not learned else ROOMS[stage]
        later = {*FLOW[FLOW.index(own) + 1 :]}
        if wrong := [name for name in names if room(name) in later]:
            late[stage, *item] = wrong
    assert late == {}


def test_modules_are_no_splinters():
    lengths = [len(path.read_text().splitlines()) for path in MODULES.values()]
    # A package that holds nothing but its modules has one line.
    assert statistics.median(length for length in lengths if length > 1) >= MEDIAN


def test_the_architecture_names_every_package_and_nothing_that_is_not_there():
    text = (PACKAGE.parents[1] / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)
    assert rows[-len(FLOW) - 1 :] == [*FLOW, "tasks"]
    assert {*rows} == {
        room(name) for name, path in MODULES.items() if path.name == "__init__.py"
    } - {""}
    for path in re.findall(
        r"`((?:plan|kinds|reporting)/[\w/.]+|errors\.py|init\.py|options\.py)`", text
    ):
        assert (PACKAGE / path).exists(), path
