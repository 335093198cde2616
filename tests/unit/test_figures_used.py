"""Figures of one's own offers where a method without segments prices people."""

import numpy as np
import pandas as pd
import report_offers as offers
from counterweight.reporting.numbers import StudyNumbers
from test_figures import draw, made  # noqa: F401


def test_a_method_without_segments_that_is_used_is_what_is_drawn(made, tmp_path):  # noqa: F811
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
