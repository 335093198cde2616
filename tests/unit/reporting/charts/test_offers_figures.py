"""Figures of offers: in the units of who asks, with the printed example."""

import numpy as np
import pandas as pd
import pytest
import report_offers as offers
from counterweight.reporting.charts.offers_figures import choice_model, past_offers
from counterweight.reporting.numbers import StudyNumbers
from drawn_studies import draw


@pytest.mark.parametrize("name", ["admissions", "natural_park"])
def test_curves_and_profiles_are_in_the_users_units(name, made, tmp_path):
    plan, metrics = made(offers, name)
    offers.files(tmp_path, plan["offer"], offers="narrow")
    study = StudyNumbers(name, plan, metrics, tmp_path)
    seen = past_offers(study, choice_model(study))
    assert set(seen) == {0, 1, 2}
    up = name == "admissions"
    assert seen[0][0] < (0.15 if up else 85.0) < seen[0][1]
    drawing = draw("curves", study)
    assert drawing.figure.axes[1].get_xlim() == (plan["offer"]["low"], plan["offer"]["high"])
    # The paper's optimal discounts of these three curves, or what is left of the price.
    best = ["0.33", "0.88", "0.55"] if up else ["66.67", "11.77", "45.30"]
    names = list(dict.fromkeys(drawing.points["series"]))
    assert [series.split()[-1] for series in names] == best
    (ax,) = draw("profiles", study).figure.axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x1", "x2"]
    shares = [text.get_text().split(",")[0] for text in ax.get_yticklabels()]
    assert shares == ["40 %", "33 %", "27 %"]
    assert [text.get_text() for text in ax.texts][::2] == ["\N{MINUS SIGN}3.90", "0.10", "2.90"]


def test_figure_1_of_the_choice_model_has_the_printed_offer(study_of):
    points = draw("response", study_of("response")).points
    top = points[points["series"] == "best offer, the paper's example"]
    np.testing.assert_allclose(top["at"], 0.5470, atol=5e-5)
    revenue = points[(points["panel"] == "Expected revenue")]
    curve = revenue[revenue["series"] == "the paper's example"]["value"]
    assert curve.max() <= top["value"].min() + 1e-12


def test_a_method_without_segments_that_is_used_is_what_is_drawn(made, tmp_path):
    plan, metrics = made(offers, "natural_park")
    offers.files(tmp_path, plan["offer"])
    given = metrics.iloc[:1].assign(
        source="delivered", metric="delivered", part="offer_logistic", setting="", value=1.0
    )
    features = pd.read_parquet(tmp_path / "features.parquet")
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    best = (20.0 + 3.0 * features["x1"]).clip(1, 47)
    table = pd.DataFrame({"best_offer": best, "best_p": 0.5, "best_revenue": best / 2})
    table = table.assign(offer=labels["offer"], p=labels["answer"] * 0.8 + 0.1)
    table.to_parquet(tmp_path / "offers.parquet")
    study = StudyNumbers("natural_park", plan, pd.concat([metrics, given]), tmp_path)
    drawing = draw("curves", study)
    assert {*drawing.points["series"]} == {"predicted", "answered", "best offers"}
    said = drawing.points[drawing.points["series"] == "answered"]
    assert said["value"].iloc[:10].between(0, 1).all()
    people = drawing.points[drawing.points["series"] == "best offers"]["value"]
    assert people.sum() == len(table)
    (ax,) = draw("profiles", study).figure.axes
    first = [float(text.get_text().replace("\N{MINUS SIGN}", "-")) for text in ax.texts[::2]]
    assert len(first) == 5 and np.all(np.diff(first) > 0)
    # Where segments are used, they are drawn as before.
    given = given.assign(part="predictive_choice", setting="soft")
    study = StudyNumbers("natural_park", plan, pd.concat([metrics, given]), tmp_path)
    assert "best offers" not in {*draw("curves", study).points["series"]}
