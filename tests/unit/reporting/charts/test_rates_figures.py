"""Figures of rate constraints: numbers as they were measured, bounds as in the paper."""

import numpy as np
import pytest
from counterweight.reporting.charts import forms
from drawn_studies import draw


@pytest.mark.parametrize("figure", ["fairness", "asked_ratio", "churn", "multipliers"])
def test_constraints_are_drawn_from_whatever_is_there(figure, study_of):
    peers = ["svm", "zafar", "shifted"]
    for change in (
        lambda rows: rows[rows["repeat"] == 0],
        lambda rows: rows[~rows["source"].isin(peers)],
        lambda rows: rows[rows["source"] != "ramp"],
    ):
        result = draw(figure, study_of(figure, change=change))
        assert "nan" not in (forms.svg_text(result.figure) + result.title).lower()


def test_constraints_name_their_lines(study_of):
    text = forms.svg_text(draw("fairness", study_of("fairness")).figure)
    for name in ("Zafar", "Ramp, randomised", "Svm"):
        assert f">{name}<" in text


def test_figure_1_of_the_constraints_has_bounds_above_the_ramp(study_of):
    points = draw("bounds", study_of("bounds")).points
    lines = points.pivot(index="at", columns="series", values="value")
    z = lines.index.to_numpy()
    np.testing.assert_allclose(lines["ramp"], np.clip(0.5 + z, 0, 1), atol=1e-12)
    for name, touches in (("hinge bound", z <= 0.5), ("constant bound", z >= 0.5)):
        above = (lines[name] - lines["ramp"]).to_numpy()
        assert (above >= -1e-12).all() and np.array_equal(above < 1e-9, touches), name
    slopes = np.diff(lines["hinge bound"])
    assert (np.diff(slopes) > -1e-9).all(), "the bound is convex"
