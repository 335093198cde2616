"""The report on dataset constraints: known values in their cells, sentences, figures, claims."""

import html as markup
import itertools
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_rates as rates
from counterweight.evaluation.rates.evaluate import asked_value
from counterweight.files.tables import metrics_table
from counterweight.plan.components import declared, load
from counterweight.reporting.claims import VERDICTS, decide, load_claims, unknown_names
from counterweight.reporting.page.report import build_report
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import svg_text
from counterweight.reporting.page.tables import results_table
from counterweight.reporting.page.wording import method_label, metric_name, setting_label, unit
from counterweight.reporting.rates import sheets as rate_sheets
from counterweight.reporting.rates.tables import Rate, RateNumbers, asked_in, is_rates
from counterweight.reporting.rates.words import is_share, measure_name
from test_figures import texts

CLAIMS = Path(__file__).resolve().parents[2] / "workflow" / "claims" / "goh_2016.yaml"
FIGURES = ("fairness", "asked_ratio", "churn", "multipliers")
T_THREE = 4.302652729911275


@pytest.fixture(scope="module")
def run():
    plan = rates.plan()
    return plan, rates.metrics(plan)


def measured(study, **sources):
    frames = [
        metrics_table(study, name.replace("__", "-"), records).to_pandas()
        for name, records in sources.items()
    ]
    return pd.concat(frames, ignore_index=True)


def at(metric, values, setting="", target="general", **keys):
    return [
        {"target": target, "metric": metric, "setting": setting, "repeat": repeat, "value": one}
        | keys
        for repeat, one in enumerate(values)
    ]


def both(measure, train, test, setting=""):
    """The same values for both rules, training and test rows."""
    records = []
    for rule in ("deterministic", "randomised"):
        records += at(rule, train, setting, "train", measure=measure)
        records += at(rule, test, setting, measure=measure)
    return records


@pytest.fixture(scope="module")
def known():
    """Three splits of one ramp at kappa = 0.5 and 1, and of an SVM."""
    methods = [rates.method("svm"), rates.method("ramp", {"kappa": [0.5, 1.0]})]
    settings = rates.fair_study() | {"methods": methods, "test_share": 0.0, "figures": []}
    metrics = measured(
        "known",
        svm=both("ratio", [3.0] * 3, [3.0] * 3) + both("error", [0.15] * 3, [0.15] * 3),
        ramp=both("ratio", [2.0] * 3, [2.0, 2.1, 2.2], "kappa=0.5")
        + both("error", [0.16] * 3, [0.16, 0.17, 0.18], "kappa=0.5")
        + both("ratio", [1.3] * 3, [1.3] * 3, "kappa=1.0")
        + both("error", [0.18] * 3, [0.18] * 3, "kappa=1.0")
        + at("deterministic_at_equal", [0.16, 0.16, 0.17], "ratio=2", measure="error"),
    )
    return settings, metrics


def view(settings, metrics, failures=()):
    return {part["title"]: part for part in rate_sheets.view(metrics, "known", settings, failures)}


def test_known_values_stand_in_their_cells(known):
    part = view(*known)["Are the constraints kept, and at what cost?"]
    head, rows = part["sheet"]["head"], part["sheet"]["rows"]
    assert [row["label"] for row in rows] == ["Unconstrained SVM", "κ = 0.5", "κ = 1"]
    assert [row["group"] for row in rows] == ["", "Ramp constraints", ""]
    cells = dict(zip(head[1:], rows[1]["cells"], strict=True))
    assert cells["Asked"]["text"] == "2.00"
    assert cells["Training ratio, randomised"] == {"text": "2.00", "bracket": "", "grade": "good"}
    ratio = cells["Test ratio, deterministic"]
    half = T_THREE * 0.1 / 3**0.5
    assert ratio["text"] == "2.10" and ratio["grade"] == "good"
    assert ratio["bracket"] == f"[{2.1 - half:.2f}, {2.1 + half:.2f}]"
    assert cells["Test error, deterministic"]["text"] == "17.00 %"
    broken = dict(zip(head[1:], rows[2]["cells"], strict=True))
    assert broken["Training ratio, randomised"]["grade"] == "poor"
    assert broken["Test ratio, deterministic"]["grade"] == "poor"
    assert rows[0]["cells"][0]["text"] == "–"


def test_sentences_say_what_is_kept(known):
    text = " ".join(view(*known)["Are the constraints kept, and at what cost?"]["sentences"])
    assert "ratio of 3.00 and an error of 15.00 %" in text
    assert "by the rule that a method constrains: Ramp constraints in 1 of 2 (poor)" in text
    assert "is within 8 % of the ratio asked for: Ramp constraints in 1 of 2 (poor)" in text


def test_equal_values_are_compared_with_the_main_method(known):
    settings, metrics = known
    equal = at("deterministic_at_equal", [0.17, 0.18, 0.19], "ratio=2", measure="error")
    other = measured("known", zafar=both("ratio", [2.0] * 3, [2.0] * 3, "c=0.1") + equal)
    settings = settings | {"methods": [*settings["methods"], rates.method("zafar", {"c": [0.1]})]}
    sheet = view(settings, pd.concat([metrics, other]))["Error at equal ratio"]["sheet"]
    rows = {row["label"]: row["cells"] for row in sheet["rows"]}
    place = sheet["head"].index("ratio 2") - 1
    half = T_THREE * np.std([0.01, 0.02, 0.02], ddof=1) / 3**0.5 * 100
    shown = rows["Zafar et al., deterministic"][place]
    assert shown["text"] == "18.00 %"
    assert shown["bracket"] == f"+1.67 [{5 / 3 - half:.2f}, {5 / 3 + half:.2f}]"
    assert rows["Ramp constraints, deterministic"][place]["bracket"] == ""
    assert rows["Zafar et al., deterministic"][0]["text"] == "–"


def test_what_few_repeats_reach_is_not_shown(known):
    settings, metrics = known
    one = metrics["metric"].eq("deterministic_at_equal") & (metrics["repeat"] > 0)
    parts = view(settings, metrics[~one])
    cells = parts["Error at equal ratio"]["sheet"]["rows"][0]["cells"]
    assert {cell["text"] for cell in cells} == {"–"}


def test_gaps_and_excess_are_relative_to_what_was_asked(known):
    settings, metrics = known
    gaps = measured("known", ramp=at("gap", [0.0, 0.1, 0.2], "kappa=0.5", measure="ratio"))
    part = view(settings, pd.concat([metrics, gaps]))["Training and test side by side"]
    first = part["sheet"]["rows"][0]["cells"]
    assert [cell["text"] for cell in first[:4]] == ["0.0 %", "+5.0 %", "0.0 %", "+5.0 %"]
    assert first[4]["text"] == "+0.10"
    assert "at most 5.0 % of what was asked" in part["sentences"][0]


def test_one_split_has_the_interval_of_its_test_rows(known):
    settings, metrics = known
    single = metrics[metrics["repeat"] == 0].assign(standard_error=0.1)
    numbers = RateNumbers(single, settings)
    mean, low, high = numbers.estimate("ramp", Rate("deterministic", "ratio"), "kappa=0.5")
    assert mean == 2.0 and high - low == pytest.approx(2 * 1.959964 * 0.1)


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        ({"measure": "ratio", "option": "kappa", "form": "at_most_inverse"}, {"kappa": 0.8}, 1.25),
        ({"measure": "churn", "option": "target", "form": "at_most"}, {"target": 0.03}, 0.03),
        ({"measure": "recall", "option": "target", "form": "at_least"}, {"c": 0.1}, float("nan")),
        (None, {"kappa": 0.5}, float("nan")),
    ],
)
def test_an_option_asks_for_a_value(asked, options, expected):
    assert asked_value(asked, options) == pytest.approx(expected, nan_ok=True)


def test_what_is_asked_can_be_an_option_of_a_method_and_of_a_study():
    asked = {"measure": "coverage", "option": "target", "form": "at_most"}
    method = rates.method("ramp", options={"target": 0.24})
    options = {"measures": {"coverage": "coverage(everyone)"}, "asked": asked}
    study = rates.study("A", [method], options)
    assert asked_in(study) == asked and is_rates(study)
    assert RateNumbers(measured("known", ramp=[]), study).asks("ramp", "") == 0.24
    assert asked_in(rates.churn_study())["measure"] == "churn"
    assert asked_in(rates.study("A", [], {"measures": {"error": "error(everyone)"}})) is None


def test_at_least_is_broken_from_below():
    methods = [rates.method("ramp", {"target": [0.9]})]
    options = {
        "measures": {"recall": "recall(everyone)"},
        "asked": {"measure": "recall", "option": "target", "form": "at_least"},
    }
    settings = rates.study("A", methods, options)
    metrics = measured("known", ramp=both("recall", [0.9] * 2, [0.72] * 2, "target=0.9"))
    numbers = RateNumbers(metrics, settings)
    assert numbers.excess("ramp", "target=0.9", "randomised", "general") == pytest.approx(0.2)
    assert numbers.active("ramp", "target=0.9")
    assert rate_sheets.test_grade(numbers, "ramp", "target=0.9") == "poor"


def test_undefined_values_and_infeasible_fits_are_counted(known):
    settings, metrics = known
    hidden = metrics.copy()
    lost = hidden["measure"].eq("ratio") & hidden["metric"].eq("deterministic")
    lost &= hidden["target"].eq("general")
    hidden.loc[lost & (hidden["source"] == "ramp") & (hidden["repeat"] == 0), "value"] = np.nan
    short = measured("known", ramp=at("feasible", [0.0, 1.0, 1.0], "kappa=1.0"))
    parts = view(settings, pd.concat([hidden, short]))
    text = " ".join(parts["Are the constraints kept, and at what cost?"]["sentences"])
    assert "2 values are not defined" in text and "left out: Ramp constraints 2." in text
    assert "1 fit found no model that keeps all constraints: Ramp constraints 1." in text


def test_a_failed_method_keeps_a_row(known):
    settings, metrics = known
    failure = {"study": "known", "source": "ramp", "stage": "train", "reason": "ERROR: <b>no</b>."}
    parts = view(settings, metrics[metrics["source"] != "ramp"], [failure])
    row = parts["Are the constraints kept, and at what cost?"]["sheet"]["rows"][-1]
    assert row["failed"] and row["reason"] == "<b>no</b>."
    everything = view(settings, metrics.iloc[:0])
    sheet = everything["Are the constraints kept, and at what cost?"]["sheet"]
    assert all(row["failed"] for row in sheet["rows"])


def test_other_studies_have_no_such_part(run):
    plan, metrics = run
    other = plan["studies"]["churn"] | {"protocol": {"name": "metrics", "options": {}}}
    assert rate_sheets.view(metrics, "churn", other) is None


def test_churn_is_compared_with_the_baseline_and_the_deployed_model(run):
    plan, metrics = run
    own = metrics[metrics["study"] == "churn"]
    parts = {p["title"]: p for p in rate_sheets.view(own, "churn", plan["studies"]["churn"])}
    text = " ".join(parts["Are the constraints kept, and at what cost?"]["sentences"])
    assert "Against Shifted SVM" in text and "lower beyond the interval at 7 of 7 targets" in text
    assert "deterministic churn on test rows is 40 % to 60 % of its target" in text
    assert "6 labels are enough" in text and "981 are needed" in text
    assert "is −0.50 points from the deployed model's" in text


def test_results_tables_tell_errors_in_per_cent(run):
    plan, metrics = run
    table = results_table(metrics, plan, "fairness_sex", "general")
    assert set(table["metric"]) == {"accuracy", "auc"}
    assert unit("deterministic", "error") == ("points", 100.0)
    assert unit("deterministic", "ratio") == ("", 1.0)
    assert metric_name("deterministic", "error") == "deterministic error"
    equal = metric_name("randomised_at_equal", "error", "ratio=2")
    assert equal == "randomised error at equal ratio"


def test_names_of_methods_and_settings():
    assert method_label(rates.method("ramp_one")) == "Ramp, one convex step"
    assert method_label(rates.method("svm-lemma1")) == "Unconstrained SVM (Lemma 1)"
    assert setting_label("kappa=0.5") == "κ = 0.5"
    assert measure_name("error_d1") == "error on d1" and is_share("error_d1")
    assert measure_name("ratio_false") == "ratio false" and not is_share("ratio_false")


@pytest.mark.parametrize(
    ("study", "figure"),
    [("fairness_sex", name) for name in FIGURES if name != "churn"]
    + [("churn", "churn"), ("churn", "multipliers")],
)
def test_figures_draw_whatever_is_there(run, tmp_path, study, figure):
    plan, metrics = run
    settings, draw = plan["studies"][study], load("figure", figure)
    own = metrics[(metrics["study"] == study) & (metrics["repeat"] == 0)]
    parts = [
        own,
        own[~own["source"].isin(["svm", "zafar", "shifted"])],
        own[own["source"] != "ramp"],
        own.iloc[:0],
    ]
    for part in parts:
        text = svg_text(draw(StudyResults(study, settings, part, tmp_path)))
        assert "nan" not in text.lower()
    assert declared("figure", figure, "CAPTION")


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_another_study_says_why_it_is_blank(run, tmp_path, figure):
    plan, metrics = run
    settings = plan["studies"]["churn"] | {"methods": [rates.method("shifted")]}
    settings = settings | {"protocol": {"name": "rates", "options": {}}}
    text = svg_text(load("figure", figure)(StudyResults("churn", settings, metrics, tmp_path)))
    assert "this study" in text


@pytest.mark.parametrize(
    ("study", "figure"),
    [
        ("fairness_sex", "fairness"),
        ("fairness_sex", "asked_ratio"),
        ("churn", "churn"),
        ("churn", "multipliers"),
    ],
)
def test_no_two_texts_of_a_figure_overlap(run, tmp_path, study, figure):
    plan, metrics = run
    drawn = load("figure", figure)(StudyResults(study, plan["studies"][study], metrics, tmp_path))
    found = list(texts(drawn))
    assert len(found) > 8
    for (one, first), (other, second) in itertools.combinations(found, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        along = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 0 or along <= 2, f"{one!r} and {other!r}"


def test_figures_have_the_same_bytes_each_time(run, tmp_path):
    plan, metrics = run
    study = StudyResults("churn", plan["studies"]["churn"], metrics, tmp_path)
    draw = load("figure", "churn")
    assert svg_text(draw(study)) == svg_text(draw(study))


def test_figures_name_their_lines(run, tmp_path):
    plan, metrics = run
    study = StudyResults("fairness_sex", plan["studies"]["fairness_sex"], metrics, tmp_path)
    text = svg_text(load("figure", "fairness")(study))
    for name in ("Zafar et al.", "Ramp constraints, randomised", "Unconstrained SVM"):
        assert name in text


def test_claims_pass_the_schema_and_get_a_verdict(run):
    plan, metrics = run
    claims, _ = load_claims([CLAIMS])
    assert [claim["id"] for claim in claims] == [f"G{k:02d}" for k in range(1, 26)]
    decided = decide(claims, metrics, plan).set_index("id")
    assert set(decided["verdict"]) <= set(VERDICTS)
    assert decided.loc["G03", "verdict"] == "cannot be tested"
    for name in ("G06", "G07", "G09", "G16", "G18"):
        assert decided.loc[name, "verdict"] in ("holds", "depends", "holds where decided"), name
    assert decided.loc["G22", "verdict"] == "depends"
    assert decided.loc["G22", "effect"] == -6


def test_claims_on_a_made_up_run_name_its_methods(run):
    plan, _ = run
    claims, _ = load_claims([CLAIMS])
    absent = (
        "fairness_education",
        "fairness_1000",
        "fairness_5000",
        "egregious",
        "coverage_unlabeled",
        "neyman_pearson",
    )
    problems = [
        text
        for text in unknown_names(claims, plan)
        if not any(f"'{name}'" in text for name in absent)
    ]
    assert problems == []


def test_other_numbers_change_the_verdicts(run):
    plan, metrics = run
    claims, _ = load_claims([CLAIMS])
    before = decide(claims, metrics, plan).set_index("id")["verdict"]
    noise = np.random.default_rng(0).normal(0, 50, len(metrics))
    changed = [
        decide(claims, metrics.assign(value=value), plan).set_index("id")["verdict"]
        for value in (-3.7 * metrics["value"] + 100.0, metrics["value"] + noise)
    ]
    held = before[before == "holds"].index
    assert len(held) >= 6
    unmoved = [name for name in held if all(after[name] == "holds" for after in changed)]
    assert unmoved == []


def test_the_page_shows_the_sheets_escaped(run):
    plan, metrics = run
    claims, printed = load_claims([CLAIMS])
    failure = {
        "study": "fairness_sex",
        "source": "zafar",
        "stage": "train",
        "log": "a.log",
        "reason": "ERROR: <script>alert(1)</script> broke.",
    }
    some = metrics[metrics["source"] != "zafar"]
    decided = decide(claims, some, plan, [failure])
    html = build_report(plan, some, decided, [failure], printed=printed)
    assert "<script" not in html
    text = markup.unescape(re.sub(r"<[^>]+>", " ", html))
    assert "Are the constraints kept, and at what cost?" in text
    assert "Classifiers under constraints" in text
    assert "alert(1)" in text and "Error at equal ratio" in text
    for word in ("κ (kappa)", "Churn", "Multiplier", "Rate, data set", "Coverage of a classifier"):
        assert f"<dt>{word}" in html
