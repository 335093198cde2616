"""The page on extending: complete in its declarations, and its examples run as they stand."""

import ast
import functools
import inspect
import re
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest
import yaml
from counterweight.plan.components import PACKAGE, STAGES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
#: What components are called where stages look at an attribute of one, not at its source.
LOOKED_AT = {"component", "dataset", "known", "made", "model", "policy", "proxy", "task"}
#: A study of what is there already, small enough to be run twice.
BEFORE = {
    "repeats": 2,
    "datasets": {"curved": {"rows": 300}},
    "studies": {
        "before": {
            "dataset": "curved",
            "features": {"recipe": "as_is"},
            "outcome": {"rule": "equals", "column": "label", "value": 1},
            "labeling": {"rule": "known_propensity"},
            "targets": ["general"],
            "selection": [{"selector": "logistic"}],
            "weighting": [{"weighting": "lemma1"}],
            "models": [{"model": "logistic", "weights": "lemma1"}],
        }
    },
}
#: Prints every job spec of a config (on standard input), all stages and items, as YAML.
SPECS = """
import sys, yaml
from counterweight.plan.config import resolve
from counterweight.plan.stages import Stages
plan = resolve(yaml.safe_load(sys.stdin))
stages = Stages(plan, sys.argv[1])
asked = [(stage, name) for stage in ("download", "prepare") for name in plan["datasets"]]
for name, study in plan["studies"].items():
    asked += [(stage, name) for stage in ("label", "draw", "deliver", "apply")]
    asked += [("select", name, item) for item in study["selectors"]]
    asked += [("weigh", name, item) for item in study["weightings"]]
    asked += [(stage, name, item) for stage in ("train", "evaluate") for item in study["methods"]]
asked += [("report",)]
print(yaml.safe_dump({" ".join(job): stages.spec(*job) for job in asked if stages.job(*job)}))
"""

Example = namedtuple("Example", "path registry text")


def examples():
    """Blocks of the page: path, registry that a block is a line of (or ""), text."""
    blocks = re.findall(r"^```\w+\n# (\S+?\.\w+)(?:, ([A-Z]+))?\n(.*?)^```$", PAGE, re.M | re.S)
    return [Example(*block) for block in blocks]


def module_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def add(copy, example):
    """Put a block of the page where it says."""
    path = copy.folder / example.path
    if not example.registry:
        assert not path.exists(), f"{example.path} is there already"
        path.write_text(example.text)
        return
    (registry,) = [
        node
        for node in module_of(path).body
        if isinstance(node, ast.Assign) and node.targets[0].id == example.registry
    ]
    lines = path.read_text().splitlines(keepends=True)
    lines.insert(registry.end_lineno - 1, example.text)
    path.write_text("".join(lines))


@pytest.fixture(scope="module")
def extended(copied):
    """A copy that was run, then given the examples of the page and run with their studies."""
    copy = copied(BEFORE)
    first = copy.run()
    assert first.status == 0, first.output
    for example in examples():
        if example.path == "my.yaml":
            toys = yaml.safe_load(example.text)
        else:
            add(copy, example)
    copy.plan_before = copy.plan()
    copy.config = {**BEFORE, **toys, "studies": {**BEFORE["studies"], **toys["studies"]}}
    copy.second = copy.run()
    return copy


def test_the_page_has_an_example_of_every_kind_of_component():
    packages = {
        registry: f"workflow/counterweight/{package}" for package, registry in STAGES.values()
    }
    given = {example.registry: example.path for example in examples() if example.registry}
    assert set(given) >= {
        "DATASETS",
        "LABELINGS",
        "SELECTORS",
        "WEIGHTINGS",
        "MODELS",
        "METRICS",
        "PROTOCOLS",
        "FIGURES",
        "TASKS",
    }
    assert given == {name: f"{packages[name]}/__init__.py" for name in given}


def test_adding_the_examples_recomputes_nothing(extended):
    assert extended.plan_before == set()


def test_the_examples_run(extended):
    run = extended.second
    assert run.status == 0, run.output
    assert run.jobs == {
        "download_orchard",
        "prepare_orchard",
        "label orchard",
        "select orchard neighbours",
        "weigh orchard tempered-neighbours",
        *(
            f"{stage} orchard {method}"
            for stage in ("train", "evaluate")
            for method in ("nearest_mean", "nearest_mean-tempered", "swept")
        ),
        "draw_orchard",
        # One more metric is asked of every study, whose figure of Γ goes by what was measured.
        "evaluate before logistic-lemma1",
        "draw_before",
        "label harvest",
        "train harvest plain_average",
        "evaluate harvest plain_average",
        "page_studies",
        "report",
    }


def test_the_report_shows_the_examples(extended):
    assert extended.second.status == 0, extended.second.output
    page = "".join(extended.text(f"results/report/{name}.html") for name in ("orchard", "harvest"))
    for text in (
        *("Average error", "Nearest mean (tempered)", "Where the model is sure"),
        *("Where the model is sure: Nearest mean", "Sure predictions beside"),
    ):
        assert text in page, text
    from counterweight.tables.parquet import read_table

    metrics = read_table(extended.results / "tables" / "metrics.parquet")
    value = metrics.groupby(["study", "source", "metric"])["value"].mean()
    # The outcome is that of an age above 20, or nearly so, and nearness to a mean finds it.
    for method in ("nearest_mean", "nearest_mean-tempered", "swept"):
        assert value["orchard", method, "accuracy"] > 0.7
        assert value["orchard", method, "accuracy_sure"] >= value["orchard", method, "accuracy"]
        far = metrics[(metrics["source"] == method) & (metrics["metric"] == "far_off")]
        assert (far["value"] < 0.7).all() and (far["standard_error"] > 0).any()
    # Weighed trees are a random share, so their average is off by chance only: some 3 kilos.
    assert 0 < value["harvest", "plain_average", "average_error"] < 5
    assert "failed" not in set(
        read_table(extended.results / "tables/harvest-general.parquet").status
    )


def test_the_examples_change_the_job_specs_of_no_study_there_is(copied, small):
    """Of all tasks, stage by stage, without running them."""
    copy = copied(small)

    def specs():
        done = subprocess.run(
            [sys.executable, "-c", SPECS, str(copy.folder / "scripts")],
            input=yaml.safe_dump(small),
            cwd=copy.folder,
            env={"PYTHONPATH": str(copy.folder / "workflow")},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return yaml.safe_load(done.stdout)

    before = specs()
    for example in examples():
        if example.path != "my.yaml":
            add(copy, example)
    assert len(before) > 80
    assert specs() == before


@functools.cache
def looked_up():
    """Names of declarations that the library's code asks components for, with where it does."""
    asked = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE)
        for node in ast.walk(module_of(path)):
            if isinstance(node, ast.Call | ast.Attribute):
                place = f"{module}:{node.lineno}"
                for name in asked_by(node, place):
                    asked.setdefault(name, place)
    return asked


def asked_by(node, place=""):
    """Names that one node of a syntax tree asks a component for."""
    if isinstance(node, ast.Call):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        at = {"declared": 2, "getattr": 1, "hasattr": 1}.get(called)
        if called == "declared":
            assert len(node.args) > 2, f"{place}: name the constant, so that it can be found"
        elif at and getattr(node.args[0], "id", "") not in LOOKED_AT:
            return
        if at:
            name = node.args[at]
            if isinstance(name, ast.Constant):
                yield name.value
            else:
                assert called != "declared", f"{place}: {ast.unparse(node)} asks for no literal"
    elif (
        isinstance(node, ast.Attribute)
        and node.attr.isupper()
        and getattr(node.value, "id", "") in LOOKED_AT
    ):
        yield node.attr


def test_every_declaration_that_code_looks_up_stands_on_the_page():
    asked = looked_up()
    assert len(asked) > 20
    assert not {
        name: place for name, place in asked.items() if not re.search(rf"`{name}\b[^`]*`", PAGE)
    }


def test_the_declarations_that_are_looked_up_are_found():
    names = set(looked_up())
    assert names >= {"OPTIONS", "TASK", "FILES", "STARTS", "SWEPT", "SAMPLED", "KEPT", "REUSED"}
    assert names >= {"LAYOUT", "whole_table", "simulate_batches", "mixture", "CAPTION"}
    (call,) = ast.parse("components.declared('model', name, 'NEW', 1)").body
    assert list(asked_by(call.value)) == ["NEW"]


def tables_of_page():
    """First column of every table of declarations: the names in it."""
    rows = re.findall(r"^\| (`[A-Z_]+`(?:[^|]*)) \|", PAGE, re.M)
    return {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}


def test_the_page_tells_of_no_declaration_that_no_code_looks_up():
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    of_its_base_class = set(re.findall(r"\bcls\.([A-Z]+)\b", text))
    assert tables_of_page() <= set(looked_up()) | of_its_base_class


def test_the_page_tells_the_functions_of_a_task_as_its_protocol_has_them():
    """The example has all that the docstring asks of a task without selectors, and no more."""
    import counterweight.tasks
    from counterweight.plan.tasks import LEFT_OUT

    asked = set(re.findall(r"``(\w+)\(", counterweight.tasks.__doc__))
    stages = ("select", "weigh", "deliver", "apply", "sum", "rehearse")
    optional = {f"{prefix}{stage}" for prefix in ("plan_", "") for stage in stages} | {*LEFT_OUT}
    (text,) = [example.text for example in examples() if "/tasks/average" in example.path]
    bound = {node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert asked - optional == bound
    assert {*LEFT_OUT} <= set(re.findall(r"``(\w+)(?:``|\()", counterweight.tasks.__doc__))


def test_signatures_in_the_page_are_those_of_the_examples():
    """Options of an example are its keyword arguments, with the same defaults."""
    for example in examples():
        if example.registry or not example.path.endswith(".py"):
            continue
        scope = {"__name__": "example"}
        exec(compile(example.text, example.path, "exec"), scope)
        for option, node in scope.get("OPTIONS", {}).items():
            owners = [
                inspect.signature(value).parameters
                for value in scope.values()
                if callable(value) and getattr(value, "__module__", "") == "example"
            ]
            assert any(
                option in parameters and parameters[option].default == node["default"]
                for parameters in owners
            ), f"{example.path}: {option}"
