"""What the README and the page on one's own table show: configs are accepted, Python runs."""

import re
import runpy
from types import SimpleNamespace

import pytest
import yaml
from counterweight.files.jobs import log
from counterweight.files.tables import METRICS, metrics_table, write_table
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.stages import Stages
from delivering import OUTPUTS, SCRIPTS

ROOT = SCRIPTS.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))
SETTINGS = {"results": "results", "data": "data", "seed": 7}


def blocks(page, language, section=""):
    """Blocks of a language on a page, of one section or of all."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if section:
        text = re.search(rf"^## {section}\n(.*?)^## ", text, re.M | re.S)[1]
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


PYTHON = blocks("docs/own_table.md", "python")
PYTHON_OF_README = blocks("README.md", "python", "Your own table")
CONFIGS = blocks("docs/own_table.md", "yaml") + blocks("README.md", "yaml", "Your own table")


def planned(given):
    return resolve(with_own_tables(SETTINGS | given, given))


@pytest.mark.parametrize("text", CONFIGS, ids=range(len(CONFIGS)))
def test_every_config_that_is_shown_is_accepted(text):
    given = yaml.safe_load(text)
    plan = planned(given)
    stages = Stages(plan, SCRIPTS)
    for name in plan["studies"]:
        assert stages.job("deliver", name) and stages.job("label", name)
    own = {"table", "tables"} & given.keys()
    assert plan["only"] == (list(plan["studies"]) if own else [])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_accepted(path):
    planned(yaml.safe_load(path.read_text()))


def test_the_page_shows_the_examples_as_they_are():
    shown = [yaml.safe_load(text) for text in CONFIGS]
    missing = [path.name for path in EXAMPLES if yaml.safe_load(path.read_text()) not in shown]
    assert not missing


class Study:
    """The study of a config, whose files are made when they are asked for, without Snakemake."""

    def __init__(self, given):
        plan = planned(given)
        (self.name,) = plan["studies"]
        study, self.stages = plan["studies"][self.name], Stages(plan, SCRIPTS)
        self.at = self.stages.paths.study(self.name)
        items = [("prepare", ""), ("label", ""), ("deliver", "")]
        items += [("select", one) for one in study.get("selectors", {})]
        items += [("weigh", one) for one in study.get("weightings", {})]
        items += [(stage, one) for one in study["methods"] for stage in ("train", "evaluate")]
        self.makers = {path: item for item in items for path in self.outputs(*item).values()}
        self.made = set()

    def outputs(self, stage, item):
        paths = dict(self.stages.job(stage, self.name, item).outputs)
        for role, name in OUTPUTS.get(stage, {}).items():
            path = getattr(self.at, name)
            paths[role] = path(item) if callable(path) else path
        if stage == "evaluate":
            paths["metrics"] = self.at.metrics(item)
        return paths

    def make(self, stage, item=""):
        """Run a job after those that it needs."""
        if (stage, item) in self.made:
            return
        self.made.add((stage, item))
        job, outputs = self.stages.job(stage, self.name, item), self.outputs(stage, item)
        for files in job.inputs.values():
            for path in [files] if isinstance(files, str) else files:
                if path in self.makers:
                    self.make(*self.makers[path])
        told = {"input": job.inputs, "output": outputs}
        told = {part: SimpleNamespace(**files) for part, files in told.items()}
        running = SimpleNamespace(**told, given=job.given, threads=1, log=log)
        function = components.reference(job.run)
        with components.only(job.uses, job.modules):
            records = function(running)
        if stage == "evaluate":
            write_table(outputs["metrics"], metrics_table(self.name, item, records), METRICS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tables of the examples, and what their studies give away."""
    place = tmp_path_factory.mktemp("docs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        runpy.run_path(str(ROOT / "examples" / "tables.py"))["write"](place / "examples/tables")
        for path in EXAMPLES:
            Study(yaml.safe_load(path.read_text())).make("deliver")
    return place


@pytest.mark.parametrize(
    "parts", [PYTHON, PYTHON_OF_README], ids=["the page on one's own table", "README"]
)
def test_the_python_that_is_shown_runs(folder, monkeypatch, parts):
    monkeypatch.chdir(folder)
    names = {}
    for part in parts:
        exec(compile(part, "a block of the page", "exec"), names)
    assert parts and len(names["p"]) == len(names["answers"]) == len(names["new"])
