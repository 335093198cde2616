"""What a job loads by name: each look-up is declared, so that the digest of its code covers it.

Inside a job other look-ups are refused (`counterweight.plan.components.only`). Here it is checked
that the small run of the workflow's tests comes by all of them, and the planned jobs of it and of
the shipped config declare the ones that stand in the functions of the kinds.
"""

import ast
import contextlib
import runpy
from pathlib import Path

import pytest
import yaml
from counterweight.plan import components, digests
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.reading import with_listed_studies
from counterweight.plan.stages import Stages

ROOT = Path(__file__).resolve().parents[2]
LOOK_UPS = {"load", "configured", "declared", "locate", "options"}
STAGES = ("label", "select", "weigh", "train", "evaluate", "collect", "deliver", "apply")
#: Modules with look-ups that no job makes: they plan, or are what looks up.
PLANNING = (
    *("counterweight.plan.", "counterweight.options", "counterweight.tasks."),
    "counterweight.reporting.report_jobs",
    # Runs whole plans, whose jobs say what they look up.
    "counterweight.benchmark",
)


#: A classifier with weights that is given away: its selection model is fitted anew.
GIVEN_AWAY = {
    "dataset": "a9a",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "equals", "column": "label", "value": 1},
    "labeling": {"rule": "answered", "column": "label", "where": {"column": "x1", "value": 0}},
    "targets": ["general"],
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma1"}],
    "models": [{"model": "logistic", "weights": "lemma1"}, {"model": "tilted"}],
    "deliver": {"method": "logistic-lemma1"},
}


def planned(config):
    """All jobs of a config, by stage, study or data set, and item."""
    plan = resolve(config)
    stages = Stages(plan, ROOT / "scripts")
    names = [
        (stage, name, "")
        for name in plan["datasets"]
        for stage in ("download", "prepare", "columns")
    ]
    names.append(("report", "", ""))
    for name, study in plan["studies"].items():
        names += [(stage, name, "") for stage in ("label", "collect", "deliver", "apply")]
        names += [("draw", name, "")] if study["figures"] else []
        names += [("select", name, item) for item in study["selectors"]]
        names += [("weigh", name, item) for item in study["weightings"]]
        for item, method in study["methods"].items():
            stages_of = ("train", "evaluate") if method["reported"] else ("train",)
            names += [(stage, name, item) for stage in stages_of]
    jobs = {asked: stages.job(*asked) for asked in names}
    return {asked: job for asked, job in jobs.items() if job}


#: Predictions that a log holds.
JUDGED = {"table": "examples/tables/clicks.csv", "name": "judged", "reward": "clicked"}
JUDGED |= {"predictions": {"new": "p_new"}}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Jobs of the small run, and of the examples of tables of one's own."""
    config = yaml.safe_load((ROOT / "tests" / "workflow" / "small.yaml").read_text())
    config["studies"]["given_away"] = GIVEN_AWAY
    jobs = planned(config)
    folder = tmp_path_factory.mktemp("examples")
    runpy.run_path(str(ROOT / "examples" / "tables.py"))["write"](folder / "examples" / "tables")
    with contextlib.chdir(folder):
        examples = sorted((ROOT / "examples").glob("*.yaml"))
        for given in [*(yaml.safe_load(path.read_text()) for path in examples), JUDGED]:
            # What both have, such as the report, is that of the small run.
            jobs = planned(with_own_tables(given, given)) | jobs
    return jobs


@pytest.fixture(scope="module")
def shipped():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    return planned(with_listed_studies(config, {}, ROOT / "workflow" / "studies"))


def looked_up(source):
    """Kinds of components that a source text looks up; None for one that is no literal."""
    kinds = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            owner = getattr(getattr(node.func, "value", None), "id", "components")
            if name in LOOK_UPS and owner == "components" and node.args:
                kinds.add(getattr(node.args[0], "value", None))
    return kinds


def modules_of(stage, job):
    """Modules that the digest of a job covers whole."""
    modules = {*job.modules, *digests.imports(ROOT / "scripts" / f"{stage}.py")}
    modules.update(digests.part_of(*job.run.split(":"))[1])
    modules.update(components.locate(*pair)[0] for pair in job.uses)
    return set(digests.closure(tuple(sorted(modules))))


@pytest.mark.parametrize("which", ["small", "shipped"])
def test_each_function_of_a_kind_looks_up_what_its_job_declares(which, request):
    for (stage, *rest), job in request.getfixturevalue(which).items():
        texts, _ = digests.part_of(*job.run.split(":"))
        declared = {kind for kind, _ in job.uses}
        for kind in looked_up(b"\n".join(texts)):
            if kind is None:  # the rules of labeling, looked up in one line
                assert stage == "label" and declared >= {"features", "outcome", "labeling"}
            elif not (kind == "dataset" and stage == "evaluate"):  # known of simulated ones only
                assert kind in declared, (stage, *rest, kind)


def test_the_small_run_has_a_job_of_every_function_of_every_kind(small):
    run = {job.run for job in small.values()}
    for text in components.registry("task").values():
        functions = digests._definitions(components.path_of(text))[0]
        assert {f"{text}:{name}" for name in STAGES if name in functions} <= run


def test_the_small_run_comes_by_every_look_up_of_the_library(small):
    reached = {}
    for (stage, *_), job in small.items():
        for module in modules_of(stage, job):
            reached.setdefault(module, set()).update(kind for kind, _ in job.uses)
    checked = 0
    for path in sorted(components.PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(components.PACKAGE.parent).with_suffix("").parts)
        text = path.read_text()
        if module.startswith(PLANNING) or "components" not in text:
            continue
        for kind in looked_up(text):
            checked += 1
            if module not in {job.run.split(":")[0] for job in small.values()}:
                assert kind in reached[module], (module, kind)
    assert checked >= 6


def test_code_that_is_read_as_a_file_is_an_input_or_in_the_digest(small):
    """Places of files beside the code, e.g. templates, are known to the modules listed here."""
    words = ("__file__", "getsource", "importlib.resources", "pkgutil", "schema_path", "PACKAGE")
    users = {
        str(path.relative_to(components.PACKAGE))
        for path in components.PACKAGE.rglob("*.py")
        if any(word in path.read_text() for word in words)
    }
    planning = {name for name in users if name.startswith("plan/")}
    assert users - planning == {
        "tables/fork_server.py",  # begins jobs, is none
        "reporting/report_jobs.py",  # plans
        "reporting/assemble.py",
        "reporting/render.py",
        "reporting/claims.py",
        "reporting/blocks.py",  # asks the checkout for its commit, by which no result goes
    }
    job = small["report", "", ""]
    folder = components.PACKAGE / "reporting"
    read = {*(folder / "templates").iterdir(), *(folder / "benchmark").glob("*.csv")}
    assert set(job.files) == {*map(str, read)}
    assert Path(job.inputs["schema"]).samefile(components.schema_path("claims.schema.yaml"))


def test_a_module_that_is_imported_by_name_must_be_declared():
    chart = "counterweight.reporting.charts.forms"
    with components.only([], [chart]):
        assert components.reference(f"{chart}:svg_text").__name__ == "svg_text"
        with pytest.raises(RuntimeError, match="does not declare: add it to the modules"):
            components.reference("counterweight.reporting.assemble")
