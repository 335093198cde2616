"""Figures of studies of selection and of one's own blanks: numbers as they were measured."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.reporting.charts import forms
from drawn_studies import draw, drawn_values


def test_accuracy_is_drawn_for_each_method_and_target(study_of):
    study = study_of("accuracy")
    points = draw("accuracy", study).points
    for target, panel in (("general", "Everyone"), ("unlabeled", "The unlabeled")):
        for one in study.methods(swept=False):
            mean = 100 * study.get(one["id"], "accuracy", target).mean
            item = one["label"] + (" †" if one["role"] == "bound" else "")
            assert drawn_values(points, panel=panel, item=item) == [pytest.approx(mean)]
    gap = study.against("logistic", study.main, "accuracy")
    title = draw("accuracy", study).title
    assert forms.told(gap, study.measure("accuracy"), sign=True) in title and "points [" in title


def test_accuracy_marks_methods_that_failed(study_of):
    study = study_of("accuracy", change=lambda rows: rows[rows["source"] != "generative"])
    assert forms.svg_text(draw("accuracy", study).figure).count(">failed<") == 2


def test_a_model_that_is_not_there_is_told(study_of):
    study = study_of("boundary")
    assert study.model("logistic")["coef"].tolist() == [-1.0, 1.0]
    assert float(study.model("logistic")["intercept"]) == 0.3
    with pytest.raises(CounterweightError, match="no model of repeat 7"):
        study.model("logistic", repeat=7)
