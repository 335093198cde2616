"""Studies for the tests of figures, made once a file."""

import copy

import pandas as pd
import pytest
import report_delivered as delivered
import report_example as example
import report_filter as filters
import report_offers as offers
from counterweight.reporting.numbers import StudyNumbers
from drawn_studies import DELIVERED, STUDIES, dressed


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
