"""Figures of subsampled logs: numbers as they were measured, on scales that show them."""

import numpy as np
import pytest
from drawn_studies import draw


def test_the_uncorrected_line_does_not_flatten_the_others(study_of):
    study = study_of("keep_rates")
    brier = study.metrics.query("metric == 'brier'")
    known = brier[~brier["source"].str.endswith("none") & (brier["setting"] != "")]["value"]
    for ax in draw("keep_rates", study).figure.axes:
        low, high = ax.get_ylim()
        assert low < known.min() and high < known.max() + 2 * (known.max() - known.min())


def test_losses_that_grow_many_times_get_a_logarithmic_axis(study_of):
    def worse(rows):
        rows = rows.copy()
        grown = rows["setting"].eq("keep_rate=0.001") & rows["source"].str.endswith("weights")
        rows.loc[grown & (rows["metric"] == "brier"), "value"] *= 6
        return rows

    figure = draw("keep_rates", study_of("keep_rates", change=worse)).figure
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert all(ax.get_ylim()[1] > 0.6 for ax in figure.axes)


def test_curves_are_sorted_along_their_option(study_of):
    study = study_of("keep_rates")
    points = study.curve("sgd-weights", "brier", "keep_rate")
    assert [point[0] for point in points] == [0.001, 0.01, 0.1, 1.0]
    assert all(low < mean < high for _, mean, low, high in points)
    assert study.curve("sgd-weights", "brier", "share") == []


def test_biases_are_told_in_per_cent_beside_a_line_that_falls_like_1_over_n(study_of):
    study = study_of("ratio_bias")
    drawing = draw("ratio_bias", study)
    lines = {name: part for name, part in drawing.points.groupby("series", sort=False)}
    guide = lines.pop("like 1/n")
    ids = {study.label(one["id"]): one["id"] for one in study.methods()}
    for name, part in lines.items():
        curve = study.curve(ids[name], "ratio_bias", "n")
        assert part["value"].tolist() == pytest.approx([100 * point[1] for point in curve])
        assert part["low"].tolist() == pytest.approx([100 * point[2] for point in curve])
    first = study.curve(ids[next(iter(lines))], "ratio_bias", "n")[0]
    assert (guide["value"] * guide["at"]).to_numpy() == pytest.approx(100 * first[0] * first[1])
    ends = sorted({n for one in ids.values() for n, *_ in study.curve(one, "ratio_bias", "n")})
    assert guide["at"].iloc[[0, -1]].tolist() == pytest.approx([ends[0], ends[-1]])
    assert f"{ends[0]:g} and {ends[-1]:g} rows" in drawing.title


def test_the_title_of_keep_rates_has_the_best_correction_at_the_hardest_rate(study_of):
    study = study_of("keep_rates")
    drawing = draw("keep_rates", study)
    assert "with 1 zero in 1000" in drawing.title and "uncorrected" in drawing.title
    learner = drawing.title.partition(",")[0].lower()
    least, *_, most = study.settings(f"{learner}-none", "brier")
    whole = study.values(f"{learner}-none", "brier", setting=most)
    gaps = {}
    for way in ("weights", "log_odds", "spline", "prior"):
        found = study.values(f"{learner}-{way}", "brier", setting=least)
        if len(found):
            gaps[way] = study.difference(found, whole).mean
    words = {"weights": "weighted", "log_odds": "calibrated log-odds"}
    words |= {"spline": "spline calibration", "prior": "prior correction"}
    assert f": {words[min(gaps, key=gaps.get)]} " in drawing.title


def test_curves_of_a_learner_stand_apart_around_their_rate(study_of):
    figure = draw("keep_rates", study_of("keep_rates")).figure
    for ax in figure.axes:
        places = [line.get_xdata()[-1] for line in ax.lines if len(line.get_xdata()) > 2]
        assert np.exp(np.mean(np.log(places))) == pytest.approx(1.0) and len(set(places)) > 1


def test_reliability_is_that_of_all_rows_and_of_a_hundredth(study_of):
    study = study_of("reliability")
    drawing = draw("reliability", study)
    rates = {panel.rpartition("l = ")[2] for panel in drawing.points["panel"]}
    assert rates == {"1", "0.01"}
    source = "sgd-spline"
    predicted, observed = (
        study.rows(source, f"reliability_{which}", "general")
        .query("setting == 'keep_rate=0.01'")
        .groupby("part")["value"]
        .mean()
        for which in ("predicted", "observed")
    )
    own = drawing.points.query("series == 'spline calibration' and panel.str.endswith('0.01')")
    own = own[own["panel"].str.lower().str.startswith("sgd")]
    order = np.argsort(predicted.to_numpy())
    there = (predicted > 0) & (observed > 0)
    assert own["at"].tolist() == pytest.approx(predicted[there].sort_values().tolist())
    assert own["value"].tolist() == pytest.approx(observed.iloc[order][there.iloc[order]].tolist())


def test_values_hold_the_truth_as_often_as_the_title_says(study_of):
    study = study_of("value")
    drawing = draw("value", study)
    points = drawing.points
    truth = points[points["series"] == "truth"].iloc[0]
    low, high = (
        truth[end] if truth[end] == truth[end] else truth["value"] for end in ("low", "high")
    )
    own = points[points["series"] == "IPS"].dropna(subset="low")
    own = own[own["panel"] == truth["panel"]]
    held = ((own["low"] <= high) & (own["high"] >= low)).sum()
    if points["panel"].nunique() == 1:
        assert f"IPS {held} of {len(own)}" in drawing.title
