"""Figures of studies of selection and of one's own blanks: numbers as they were measured."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.reporting.charts import forms
from counterweight.reporting.charts.selection_figures import _ends, _title
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


@pytest.mark.parametrize("a, b", [(1.0, 2.0), (-3.0, 2.0), (2.0, 2.0), (0.0, 1.0), (5.0, 0.0)])
def test_the_ends_of_a_line_lie_on_it_and_on_two_sides_of_the_plane(a, b):
    x, y, intercept = (-1.0, 4.0), (2.0, 7.0), 0.7
    ends = _ends(np.array([a, b]), intercept, x, y)
    assert [a * one + b * other + intercept for one, other in ends] == pytest.approx([0, 0])
    assert [end[abs(b) < abs(a)] for end in ends] == list(x if abs(b) >= abs(a) else y)


def test_the_title_of_a_boundary_has_the_angles_to_that_of_all_labels():
    def line(degrees):
        return 3 * np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))]), 0.0

    lines = {"All labels seen": line(10), "Labels seen only": line(50), "With weights": line(13)}
    assert "by 40°" in _title(lines) and "3° off" in _title(lines)
    del lines["With weights"]
    assert "°" not in _title(lines)


def test_overlap_has_the_labeled_above_and_the_others_below(study_of):
    study = study_of("selection")
    right = draw("selection", study).figure.axes[1]
    for which, sign, bars in (
        ("labeled", 1, right.patches[:20]),
        ("unlabeled", -1, right.patches[20:]),
    ):
        shares = study.means_by("part", study.plan["selectors"][0]["id"], f"overlap_{which}")
        assert [bar.get_height() for bar in bars] == pytest.approx((100 * sign * shares).tolist())
        middles = (shares.index.astype(int) + 0.5) / 20
        assert [bar.get_x() + bar.get_width() / 2 for bar in bars] == pytest.approx([*middles])


def test_a_model_of_who_is_labeled_that_tells_nothing_is_not_praised(study_of):
    def turned(rows):
        auc = rows["metric"].eq("auc")
        return rows.assign(value=rows["value"].where(~auc, 1 - rows["value"]))

    told = draw("selection", study_of("selection")).title
    assert "tells best who is labeled: AUC" in told
    told = draw("selection", study_of("selection", change=turned)).title
    assert told.startswith("Nothing tells who is labeled beyond chance: AUC")


def test_weights_leave_the_share_of_rows_that_is_said(study_of):
    study = study_of("weights")
    drawing = draw("weights", study)
    for one in study.plan["weightings"]:
        rows = study.rows(one["id"], "effective_sample_size")
        share = 100 * (rows["value"] / rows["rows"]).mean()
        item = study.label(one["id"])
        assert pytest.approx(share) in drawn_values(
            drawing.points, series="effective share", item=item
        )
        before = study.means_by("part", one["id"], "balance_before")
        assert set(np.round(before, 9)) & set(
            np.round(drawn_values(drawing.points, series="before weighting"), 9)
        )


def test_likelihood_is_gained_from_step_0(study_of):
    study = study_of("likelihood")
    points = draw("likelihood", study).points
    assert (points.loc[points["at"] == 0, "value"].abs() < 1e-12).all()
    name = next(
        one["id"]
        for one in study.methods(swept=False)
        if len(study.rows(one["id"], "log_likelihood", "unlabeled"))
    )
    rows = study.rows(name, "log_likelihood", "unlabeled").pivot(
        index="repeat", columns="step", values="value"
    )
    gains = rows.sub(rows[0], axis=0)
    own = points[points["panel"] == study.label(name)]
    for step in rows.columns:
        found = own.loc[own["at"] == step, "value"]
        assert np.isclose(found.to_numpy()[:, None], gains[step].to_numpy()).any()


def test_settings_gain_likelihood_over_the_least_of_them(study_of):
    study = study_of("sensitivity")
    points = draw("sensitivity", study).points
    gains = points[points["measures"].str.startswith("Gain")]["value"]
    name = study.methods(swept=True)[0]["id"]
    found = [
        study.get(name, "unlabeled_log_likelihood", "unlabeled", setting=setting).mean
        for setting in study.settings(name, "unlabeled_log_likelihood")
    ]
    assert gains.min() == 0 and gains.max() == pytest.approx(max(found) - min(found))


def test_intervals_of_copies_are_told_apart_by_whether_they_hold_the_truth(study_of):
    points = draw("rehearsal", study_of("rehearsal")).points
    for name, held in (("held", True), ("missed", False)):
        own = points[points["series"] == f"interval {name} the truth"]
        assert (((own["low"] <= 0) & (own["high"] >= 0)) == held).all()
    for _, panel in points[points["series"].str.startswith("interval")].groupby("panel"):
        panel = panel.sort_values("at")
        assert panel["at"].tolist() == list(range(1, len(panel) + 1))
        assert panel["value"].is_monotonic_increasing


def test_bounds_by_gamma_open_from_the_answer(study_of):
    points = draw("gamma", study_of("gamma")).points
    own = points[points["series"] == "worst end for each row"]
    for _, panel in own.groupby("panel"):
        ends = panel.groupby("at")["value"].agg(["min", "max"])
        width = ends["max"] - ends["min"]
        assert width.iloc[0] == pytest.approx(0, abs=1e-9) or width.index[0] > 1
        assert (np.diff(width) > 0).all()


def test_what_a_plan_of_labels_expects_is_drawn_by_their_number(study_of):
    study = study_of("collect")
    drawing = draw("collect", study)
    kind = "points" if study.measured("expected_points", "unlabeled") else "half_width"
    for at in study.places("part", "collect", f"expected_{kind}", "unlabeled"):
        known = study.get("collect", f"expected_{kind}", "unlabeled", part=at, variable="plan")
        own = drawing.points.query("series == 'as planned'")
        assert own.loc[own["at"] == float(at), "value"].tolist() == [pytest.approx(known.mean)]
    labels = study.get("collect", "labels_planned", "unlabeled").mean
    bought = study.get("delivered", "labels_bought", "general")
    reached = study.get("delivered", f"reached_{kind}", "general")
    if reached.known:
        # What came is that of the labels that came, and what is expected that of the whole plan.
        assert drawing.title.startswith(f"With {bought.mean:.0f} labels the interval is ±")
        assert f"with all {labels:.0f} of the plan ±" in drawing.title
    else:
        assert f"With {labels:.0f} labels the interval is expected" in drawing.title
        ends = study.get("collect", f"planned_{kind}", "unlabeled", variable="high").known
        assert ends == (kind == "points") == ("and may be ±" in drawing.title)


@pytest.mark.parametrize("times", [1, 1000])
def test_weights_are_drawn_by_their_logarithm_from_a_decade_on(study_of, times):
    def heavier(rows):
        heavy = rows["metric"].isin(["largest_weight", "largest_uncapped"])
        heavy &= rows["source"] == rows.loc[heavy, "source"].iloc[0]
        return rows.assign(value=rows["value"].where(~heavy, times * rows["value"]))

    drawing = draw("weights", study_of("weights", change=heavier))
    drawn = np.array(drawn_values(drawing.points, series="largest weight"))
    scales = {ax.get_xscale() for ax in drawing.figure.axes}
    assert ("log" in scales) == (drawn.max() > 10 * drawn.min()) == (times > 1)
