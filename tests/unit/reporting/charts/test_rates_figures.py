"""Figures of rate constraints: numbers as they were measured, bounds as in the paper."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.reporting.charts import forms, rates_figures
from counterweight.reporting.numbers import Estimate
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


def test_observed_rates_are_told_as_shares_of_what_was_requested(study_of):
    study = study_of("asked_ratio")
    drawing = draw("asked_ratio", study)
    points = drawing.points
    diagonal = points[points["series"] == "as requested"]
    assert (diagonal["at"] == diagonal["value"]).all()
    kappas = [0.25, 0.5, 0.75, 1.0]
    main = points[points["series"] == "Ramp, deterministic"]
    asked = sorted(set(main["at"]))
    assert all(any(np.isclose(1 / kappa, one) for kappa in kappas) or one >= 1 for one in asked)
    setting = next(s for s in study.settings("ramp") if "kappa=0.5" in s)
    for panel, target in (("Training rows", "train"), ("Test rows", "general")):
        known = study.get("ramp", "deterministic", target, measure="ratio", setting=setting).mean
        own = main[(main["panel"] == panel) & np.isclose(main["at"], 2.0)]
        assert own["value"].tolist() == [pytest.approx(known)]


def test_what_is_bounded_is_drawn_by_its_bound_with_its_cost(study_of):
    study = study_of("churn")
    drawing = draw("churn", study)
    for measure in ("churn", "error"):
        for setting in filter(None, study.settings("ramp", "deterministic", "general")):
            value = float(setting.partition("=")[2].split(",")[0])
            known = study.get("ramp", "deterministic", measure=measure, setting=setting)
            own = drawing.points.query("series == 'deterministic, test'")
            own = own[np.isclose(own["at"], 100 * value)]
            assert np.isclose(own["value"], 100 * known.mean).any()
    line = drawing.points.query("series == 'as requested'")
    assert (line["at"] == line["value"]).all() and len(line) == 2


def test_the_cost_of_a_constraint_is_that_of_its_strictest_setting(study_of):
    study = study_of("fairness")
    drawing = draw("fairness", study)
    free = drawing.points[drawing.points["series"] == study.label(study.baseline)].iloc[0]
    base = study.get(study.baseline, "deterministic", measure="error")
    assert free["value"] == pytest.approx(100 * base.mean)
    settings = [*filter(None, study.settings("ramp", "deterministic", "general"))]
    strict = max(settings, key=lambda one: float(one.partition("=")[2].split(",")[0]))
    paid = study.against(study.baseline, "ramp", "deterministic", measure="error", setting=strict)
    assert f"for +{100 * paid.mean:.1f} points [{100 * paid.low:.1f}, " in drawing.title
    for ax in drawing.figure.axes:
        low, high = ax.get_ylim()
        assert low < free["value"] < high


@pytest.mark.parametrize("figure", ["asked_ratio", "fairness"])
def test_panels_are_filled_by_what_they_show(figure, study_of):
    study = study_of(figure)
    drawing = draw(figure, study)
    main = drawing.points[drawing.points["series"].str.startswith(study.label(study.main))]
    across = drawing.points["at"].dropna() if figure == "asked_ratio" else main["at"]
    for ax in drawing.figure.axes:
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        assert left < across.min() and across.max() < right
        assert low < main["value"].min() and main["value"].max() < high
        if figure == "asked_ratio":
            assert 0.8 < np.ptp(across) / (right - left) < 1


def test_what_binds_in_training_is_told_by_the_share_of_it_on_test_rows(study_of):
    study = study_of("asked_ratio")
    drawing = draw("asked_ratio", study)
    own = drawing.points[drawing.points["series"] == f"{study.label('ramp')}, deterministic"]
    train, test = (
        own[own["panel"] == panel].set_index("at")["value"]
        for panel in ("Training rows", "Test rows")
    )
    binds = [at for at in test.index if abs(train[at] / at - 1) < 0.1]
    shares = [100 * test[at] / at for at in binds]
    assert 0 < len(binds) < len(test)
    said = f"{forms.span(shares)} % of what was requested on test rows, where it binds"
    assert drawing.title == f"{study.label('ramp')}: {said}"


@pytest.mark.parametrize("certified", [0.0, 1.0])
def test_promises_shown_kept_are_those_whose_interval_is_below_the_limit(certified, monkeypatch):
    gaps = {"ours": [(-0.02, -0.03, -0.01), (-0.02, -0.05, 0.01), (0.04, 0.02, 0.06)]}
    gaps["base"] = [(0.0, -0.01, 0.01)] * 3
    page = rates_figures.promises_page
    monkeypatch.setattr(page, "main_of", lambda study: "ours")
    monkeypatch.setattr(page, "texts_of", lambda study, main: ["a <= 1", "b <= 1", "c <= 1"])
    monkeypatch.setattr(
        page,
        "broken_by",
        lambda study, source, place: Estimate(
            gaps[source][place][0], 0.0, *gaps[source][place][1:], n=5
        ),
    )
    study = SimpleNamespace(
        sources=["base", "ours"],
        baseline="base",
        label=str.title,
        get=lambda source, name: Estimate(certified),
    )
    drawing = rates_figures.draw_kept(study)
    first = "By test rows of the splits alone 1 of" if certified else "1 of"
    assert drawing.title.startswith(f"{first} 3 promises shown kept")
    assert drawing.title.endswith("on rows that were held out") == (not certified)
    points = drawing.points
    for source, known in gaps.items():
        own = points[points["series"] == source.title()]
        np.testing.assert_allclose(np.sort(own["value"]), np.sort([100 * g[0] for g in known]))
