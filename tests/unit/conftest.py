"""What several unit tests look at: made-up plans, their metrics, and studies to draw."""

import copy
import json

import pandas as pd
import pytest
import report_delivered as delivered
import report_example as example
import report_filter as filters
import report_offers as offers
import yaml
from counterweight.plan import reading
from counterweight.plan.own import TABLES, tables_to_keep
from counterweight.reporting.numbers import StudyNumbers
from delivering import few_sizes
from drawn_studies import DELIVERED, STUDIES, dressed


@pytest.fixture(scope="module")
def plan():
    return example.plan()


@pytest.fixture(scope="module")
def metrics(plan):
    return example.metrics(plan)


@pytest.fixture(scope="module")
def few_trees():
    with few_sizes():
        yield


@pytest.fixture
def surveys(tmp_path, monkeypatch):
    """Two tables of one name in folders of years, and a function that plans a run of a config."""
    monkeypatch.chdir(tmp_path)
    for year in ("2023", "2024"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "survey.csv").write_text(f"a,y\n{year},1\n")

    def run(begin=True, **given):
        """The plan of a run, which has begun."""
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(given))
        plan = reading.plan_of_files(["mine.yaml"])
        if begin:
            kept = tmp_path / plan["results"] / TABLES
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(tables_to_keep(plan)))
        return plan

    return run


@pytest.fixture(scope="module")
def made():
    """Plan and metrics of each made-up study, made once."""
    known = {}

    def make(module, name):
        if name not in known:
            plan = module.plan()
            plan["studies"] = {name: plan["studies"][name]}
            metrics = module._metrics(plan, 0) if module is example else module.metrics(plan)
            if name in DELIVERED:
                metrics = pd.concat([metrics, delivered.metrics(name)], ignore_index=True)
            if name == STUDIES["certificate"][1]:
                metrics = pd.concat([metrics, delivered.people_to_ask(name)], ignore_index=True)
            known[name] = dressed(module, name), metrics
        plan, metrics = known[name]
        return copy.deepcopy(plan), metrics[metrics["study"] == name]

    return make


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    example.boundary_files(folder)
    delivered.answers(folder)
    offers.files(folder / "offers", offers.plan()["studies"]["admissions"]["offer"])
    filters.files(folder / "filters", "bank_filter")
    return folder


@pytest.fixture(scope="module")
def study_of(made, folder):
    """The made-up study that a figure is drawn for; without metrics on request."""

    def study(figure, empty=False, name=None, change=None):
        module, known = STUDIES.get(figure, (example, "adult_married"))
        plan, metrics = made(module, name or known)
        metrics = metrics.iloc[:0] if empty else metrics if change is None else change(metrics)
        place = {offers: "offers", filters: "filters"}.get(module, ".")
        where = folder / ("nothing" if empty else place)
        return StudyNumbers(name or known, plan, metrics, where)

    return study
