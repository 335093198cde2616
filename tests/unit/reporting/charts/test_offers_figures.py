"""Figures of offers: in the units of who asks, with the printed example."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import report_offers as offers
from counterweight.models.choice.offer_model import acceptance
from counterweight.reporting.charts import forms, offers_figures
from counterweight.reporting.charts.forms import Look
from counterweight.reporting.charts.offers_figures import (
    _bars_of,
    _curve,
    _ellipse,
    _heads,
    _map_of_means,
    choice_model,
    past_offers,
)
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
    # The points are on their curves.
    for panel, earned in (("Chance of acceptance", 1.0), ("Expected revenue", 1 - 0.5470)):
        value = top[top["panel"] == panel]["value"]
        expected = earned * acceptance(0.5470, offers_figures.ETA, offers_figures.K)
        np.testing.assert_allclose(value, expected, atol=5e-4)


def test_figure_1_shows_the_segment_that_is_nearest_to_the_printed_one(study_of, monkeypatch):
    found = {"eta": np.array([0.9, 0.55, 0.1, 0.5]), "k": np.array([5.0, 7.0, 5.0, 60.0])}
    monkeypatch.setattr(offers_figures, "choice_model", lambda study: found)
    points = offers_figures.draw_response(None).points
    drawn = points[(points["series"] == "nearest segment found")]
    at = drawn[drawn["panel"] == "Chance of acceptance"]
    np.testing.assert_allclose(at["value"], acceptance(at["at"], 0.55, 7.0))


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
    # Few offers that were made are each a point of their own.
    few = 10.0 * np.clip(np.round(table["offer"] / 10), 1, 4)
    table.assign(offer=few).to_parquet(tmp_path / "offers.parquet")
    said = draw("curves", StudyNumbers("natural_park", study.plan, study.metrics, tmp_path)).points
    assert said[said["series"] == "predicted"]["at"].unique().tolist() == sorted(few.unique())
    table.assign(offer=few, best_offer=few).to_parquet(tmp_path / "offers.parquet")
    drawing = draw("curves", StudyNumbers("natural_park", study.plan, study.metrics, tmp_path))
    bars = drawing.points[drawing.points["series"] == "best offers"]
    assert bars["at"].tolist() == sorted(few.unique())
    assert bars["value"].tolist() == few.value_counts().sort_index().tolist()
    most = few.value_counts()
    assert f"the commonest best offer is {most.index[0]:g}" in drawing.title
    assert f"({100 * most.iloc[0] / len(few):.0f} % of the people)" in drawing.title
    table.assign(offer=few, best_offer=10.0).to_parquet(tmp_path / "offers.parquet")
    drawing = draw("curves", StudyNumbers("natural_park", study.plan, study.metrics, tmp_path))
    assert "everybody's best offer is 10" in drawing.title
    # Where segments are used, they are drawn as before.
    given = given.assign(part="predictive_choice", setting="soft")
    study = StudyNumbers("natural_park", plan, pd.concat([metrics, given]), tmp_path)
    assert "best offers" not in {*draw("curves", study).points["series"]}


def test_a_bar_of_an_offer_at_an_end_of_the_range_is_drawn_in_full():
    scale = SimpleNamespace(low=0.0, high=20.0)
    at, heights, width = _bars_of(np.array([0.0, 0.0, 20.0, 15.0]), scale)
    assert at.tolist() == [0, 15, 20] and heights.tolist() == [2, 1, 1]
    assert width == pytest.approx(0.9)
    at, heights, width = _bars_of(np.linspace(0, 20, 41), scale)
    assert len(at) == 20 and heights.sum() == 41 and width == pytest.approx(0.9)


def test_long_names_of_a_map_keep_its_rows_apart_and_name_levels_in_full():
    """The figure grows by its steep names; on a telephone fewer features have room."""
    question = "how did you hear of us (please choose the one that fits best)"
    short = [f"x{k}" for k in range(12)]
    long = [f"{question}={word}" for word in ("a friend", "newspaper advertisement")] + short[2:]
    means = np.arange(60.0).reshape(5, 12)
    heads = _heads(long)
    assert heads[0].endswith("…=a friend") and heads[1].endswith("…=newspaper advertisement")
    assert heads[2:] == short[2:] and all(head.startswith("how di") for head in heads[:2])
    rows = ["offers 1 to 2"] * 5
    drawn = [_map_of_means(rows, names, means, means, -means[0], "") for names in (short, long)]
    plain, grown = (canvas.figure.get_figheight() for canvas in drawn)
    assert grown - plain == pytest.approx(0.07 * max(map(len, heads)))
    with forms.narrow():
        (panel,) = _map_of_means(rows, long, means, means, -means[0], "").all
    assert len(panel.ax.get_xticks()) == 5 and len(drawn[1].all[0].ax.get_xticks()) == 10


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_an_ellipse_holds_its_share_of_a_gaussian(share):
    mean, covariance = np.array([1.0, -2.0]), np.array([[2.0, 0.6], [0.6, 0.5]])
    ring = _ellipse(mean, covariance, share) - mean
    far = np.einsum("ni,ij,nj->n", ring, np.linalg.inv(covariance), ring)
    np.testing.assert_allclose(far, -2 * np.log(1 - share))  # chi squared with two degrees
    np.testing.assert_allclose(ring[0], ring[-1], atol=1e-12)


def test_gains_are_told_in_per_cent_of_the_historical_revenue(study_of):
    study = study_of("enrolment")
    drawing = draw("enrolment", study)
    points, known = drawing.points, dict(setting="soft")
    for source in study.sources:
        claim = study.get(source, "revenue_claimed", **known).mean
        actual = study.get(source, "revenue_actual", **known).mean
        if claim == claim:
            said = points[points["series"] == "claimed, best offers"]["value"]
            assert np.isclose(said, 100 * claim / actual).any()
            true = study.get(source, "revenue_optimal_true", **known).mean
            base = study.get(source, "revenue_true", **known).mean
            checked = points[points["series"] == "true, best offers"]["value"]
            assert np.isclose(checked, 100 * true / base).any()


def test_models_are_compared_with_the_fewest_segments_and_the_shortest_description(study_of):
    study = study_of("model_order")
    drawing = draw("model_order", study)
    gained = drawing.points[drawing.points["panel"] == "Log-likelihood gained"]
    assert np.allclose(gained.loc[gained["at"] == gained["at"].min(), "value"], 0)
    above = drawing.points[drawing.points["panel"] == "Description length"]
    splits = above.loc[above["series"] == "one repeat", "value"]
    repeats = study.rows(study.main, "mdl", "general")["repeat"].nunique()
    assert splits.min() == 0 and (splits == 0).sum() == repeats
    chosen = study.rows(study.main, "components_chosen", "general")["value"].astype(int)
    if len(chosen):
        most, times = chosen.value_counts().index[0], chosen.value_counts().iloc[0]
        assert drawing.title.startswith(
            f"{most} segments chosen in {times} of {len(chosen)} repeats"
        )


def test_curves_have_the_revenue_of_their_acceptance(study_of):
    study = study_of("curves")
    found = choice_model(study)
    points = draw("curves", study).points
    above, below = (part for _, part in points.groupby("measures", sort=False))
    np.testing.assert_allclose(
        below["value"],
        above["value"] * found["scale"].revenue(above["at"].to_numpy(float)),
        rtol=1e-9,
    )
    best = np.argsort(-found["weights"], kind="stable")
    tops = above.groupby("series", sort=False)["at"].apply(list)
    for place, ats in zip(best, tops, strict=False):
        assert np.isclose(ats, found["best"][place]).any()


@pytest.mark.parametrize(
    ("seen", "drawn"), [((40, 40), (39.5, 40.5)), ((40, 40.4), (39.7, 40.7)), ((20, 60), (20, 60))]
)
def test_a_range_of_past_offers_is_never_too_short_to_be_seen(seen, drawn):
    strokes = []
    panel = SimpleNamespace(line=lambda *_, **__: None, key=lambda *_: None)
    panel.ax = SimpleNamespace(plot=lambda x, y, **_: strokes.append((x, y)))
    points = [(0.0, 0.0), (30.0, 60.0), (100.0, 200.0)]
    look, scale = Look("black", ""), SimpleNamespace(low=0.0, high=100.0)
    _curve(panel, "a segment", scale, points, look, seen)
    ((x, y),) = strokes
    assert (x[0], x[-1]) == pytest.approx(drawn) and y == pytest.approx(2 * x)
