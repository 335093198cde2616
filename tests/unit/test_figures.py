"""Figures: every one can be drawn, with the same bytes each time, and small enough."""

import pytest
import report_example as example
from counterweight.components import declared, load, registry
from counterweight.errors import CounterweightError
from counterweight.reporting.figures.sensitivity import parse
from counterweight.reporting.results import StudyResults
from counterweight.reporting.style import save_svg, spread, svg_text

FIGURES = sorted(registry("figure"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    example.boundary_files(folder)
    return folder


def results(name, plan, metrics, folder):
    study = "curved" if name == "boundary" else "adult_married"
    return StudyResults(study, plan["studies"][study], metrics, folder)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_the_same_bytes_each_time(name, plan, metrics, folder, tmp_path):
    draw = load("figure", name)
    study = results(name, plan, metrics, folder)
    paths = [tmp_path / "first.svg", tmp_path / "second.svg"]
    for path in paths:
        save_svg(draw(study), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) < 400_000
    assert b"<dc:date>" not in first and b"http://www.w3.org/2000/svg" in first


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "boundary"])
def test_figures_without_metrics_say_so(name, plan, metrics, folder):
    figure = load("figure", name)(results(name, plan, metrics.iloc[:0], folder))
    assert ">No " in svg_text(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_captions(name):
    assert declared("figure", name, "CAPTION").count(".") >= 1


def test_accuracy_marks_methods_that_failed(plan, metrics, folder):
    some = metrics[metrics["source"] != "generative"]
    figure = load("figure", "accuracy")(results("accuracy", plan, some, folder))
    assert svg_text(figure).count(">failed<") == 2


def test_a_model_that_is_not_there_is_told(plan, metrics, folder):
    study = results("boundary", plan, metrics, folder)
    assert study.model("logistic")["coef"].tolist() == [-1.0, 1.0]
    assert float(study.model("logistic")["intercept"]) == 0.3
    with pytest.raises(CounterweightError, match="no model of repeat 7"):
        study.model("logistic", repeat=7)


def test_settings_are_read_from_items():
    assert parse("inertia=0.9,iterations=5,shifts=all") == {
        "inertia": 0.9, "iterations": 5.0, "shifts": "all",
    }  # fmt: skip


def test_labels_are_moved_apart_as_little_as_needed():
    assert spread([0.0, 5.0], 1.0) == [0.0, 5.0]
    assert spread([1.0, 1.0, 1.0], 2.0) == [-1.0, 1.0, 3.0]
