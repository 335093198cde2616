"""Tables, sentences and pages of studies on subsampled logs, by hand-made numbers."""

import html as markup
import re
from pathlib import Path

import pandas as pd
import pytest
import report_example as example
import report_subsampled as subsampled
from counterweight.files.tables import metrics_table, write_table
from counterweight.reporting.claim_files import load_claims
from counterweight.reporting.claims import decide
from counterweight.reporting.logs.policy_values import value_rows, value_sentences
from counterweight.reporting.logs.subsampled import (
    budget_sentences,
    counts_told,
    keep_sentence,
    ranking_view,
    sweep_table,
    sweep_view,
)
from counterweight.reporting.logs.tables import LAYOUT, value_table
from counterweight.reporting.page.report import build_report
from counterweight.reporting.page.summaries import coverage_grade, sizes
from counterweight.reporting.page.tables import all_tables, results_table
from counterweight.reporting.page.wording import digits, method_label, setting_label

CLAIMS = sorted((Path(__file__).resolve().parents[2] / "workflow" / "claims").glob("*.yaml"))
T_THREE = 4.302652729911275  # 97.5 % quantile of t with 2 degrees of freedom


def measured(study, **sources):
    """Metrics of one study from records by source; the target is the general one."""
    frames = [
        metrics_table(
            study, source.replace("__", "-"), [{"target": "general", **one} for one in records]
        ).to_pandas()
        for source, records in sources.items()
    ]
    return pd.concat(frames, ignore_index=True)


def at(metric, values, setting="", **keys):
    return [
        {"metric": metric, "setting": setting, "repeat": repeat, "value": value, **keys}
        for repeat, value in enumerate(values)
    ]


@pytest.fixture(scope="module")
def logged():
    """One policy, IPS at two rates, three resamplings; the truth is 0.5 ± 0.01."""
    plan = {"studies": {"log": subsampled.log_study("A log", ["policy"], "column_policy")}}
    records = at("truth", [0.5], standard_error=0.01, rows=900)
    for rate, whole, values, covered in (
        (1.0, (0.61, 0.55, 0.7), (0.5, 0.52, 0.54), (1, 1, 1)),
        (0.1, (), (0.4, 0.6, 0.8), (1, 0, 1)),
    ):
        place = {"measure": "ips", "keep_rate": rate}
        # The whole log is estimated with all its rows, so its values have no rate.
        if rate == 1:
            for name, value in zip(("whole_value", "whole_low", "whole_high"), whole, strict=True):
                records += at(name, [value], measure="ips", rows=1000)
            records += at("effective_rows", [800.0], measure="ips")
            records += at("largest_weight", [20.0], measure="ips")
        records += at("value", values, rows=1000, standard_error=0.04, **place)
        records += at("values_missing", [2.0 * (rate == 0.1)], **place)
        records += at("error", [value - 0.5 for value in values], **place)
        records += at("covered", map(float, covered), **place)
        records += at("subsampling_error", [0.5 * (rate == 0.1)] * 3, **place)
    return plan, measured("log", policy=records)


@pytest.fixture(scope="module")
def swept():
    """SGD at l = 1 and 0.01 with weights and without: Brier scores in three splits."""
    plan = {"studies": {"sweep": subsampled.swept_study("A sweep")}}
    plan["studies"]["sweep"]["test_share"] = 0.0
    full, harsh = "keep_rate=1.0", "keep_rate=0.01"
    metrics = measured(
        "sweep",
        logistic=at("brier", [0.1, 0.11, 0.12]),
        sgd__none=at("brier", [0.1, 0.1, 0.1], full) + at("brier", [0.3, 0.3, 0.3], harsh),
        sgd__weights=at("brier", [0.1, 0.1, 0.1], full) + at("brier", [0.11, 0.12, 0.13], harsh),
    )
    return plan, metrics


@pytest.fixture(scope="module")
def both():
    """Plan and metrics of both families together."""
    plan, other = example.plan(), subsampled.plan()
    other["studies"] = {
        name: study for name, study in other["studies"].items() if name not in plan["studies"]
    }
    frames = [example.metrics(plan), subsampled.metrics(other)]
    plan["studies"] = plan["studies"] | other["studies"]
    return plan, pd.concat(frames, ignore_index=True)


def page(plan, metrics, failures=(), **keys):
    claims, printed = load_claims(CLAIMS)
    decided = decide(claims, metrics, plan, failures)
    return build_report(plan, metrics, decided, failures, printed=printed, **keys)


@pytest.fixture(scope="module")
def whole_page(both):
    return page(*both)


def section(html, study):
    found = re.search(rf'<section id="{study}">.*?</section>', html, re.DOTALL).group()
    return markup.unescape(re.sub(r"<[^>]+>", " ", found))


def test_a_value_table_holds_what_was_measured(logged, tmp_path):
    plan, metrics = logged
    table = value_table(metrics, plan, "log")
    assert tuple(table.columns) == LAYOUT
    assert table[["estimator", "keep_rate"]].to_numpy().tolist() == [["ips", 1.0], ["ips", 0.1]]
    first, last = table.iloc[0], table.iloc[1]
    assert (first["value"], first["low"], first["high"]) == (0.61, 0.55, 0.7)
    assert last[["value", "low", "high"]].isna().all()
    assert last["typical"] == pytest.approx(0.6)
    assert last["typical_high"] - last["typical"] == pytest.approx(1.959964 * 0.04)
    assert first["truth"] == 0.5
    assert first["truth_high"] - first["truth_low"] == pytest.approx(2 * 1.959964 * 0.01)
    assert first["bias"] == pytest.approx(0.02)
    assert first["spread"] == pytest.approx(0.02)
    half = T_THREE * 0.02 / 3**0.5
    assert first["bias_high"] - first["bias"] == pytest.approx(half)
    assert last["shift"] == last["shift_low"] == last["shift_high"] == 0.5
    assert first["coverage"] == 1.0 and last["coverage"] == pytest.approx(2 / 3)
    assert (first["rows"], first["effective_rows"], first["largest_weight"]) == (1000, 800, 20)
    assert first["n"] == 3
    write_table(tmp_path / "t.parquet", table)


def test_what_is_known_by_construction_has_no_band(logged):
    plan, metrics = logged
    exact = metrics.assign(standard_error=0.0)
    row = value_table(exact, plan, "log").iloc[0]
    assert row["truth_low"] == row["truth"] == row["truth_high"]
    assert "known by construction" in " ".join(value_sentences(value_table(exact, plan, "log")))


def test_sentences_on_values_say_which_intervals_miss_the_truth(logged):
    plan, metrics = logged
    text = " ".join(value_sentences(value_table(metrics, plan, "log")))
    assert "0 of 1 intervals from the whole log hold it, but not those of IPS at l = 1." in text
    assert (
        "1 of 2 intervals of a typical resampling hold it, but not those of IPS at l = 0.1" in text
    )
    assert "without an estimate are left out: IPS at l = 0.1 in 2." in text
    assert "IPS 20.0 % at l = 0.1 (poor)" in text
    assert "Coverage of the truth, nominally 95 %, is poor for 2 (66.7 % to 100.0 %)" in text


def test_a_bootstrap_is_judged_by_the_log_that_it_resamples(logged):
    plan, metrics = logged
    covered = metrics[metrics["metric"] == "covered"]
    whole = covered.assign(metric="covered_whole", value=0.95)
    table = value_table(pd.concat([metrics, whole]), plan, "log")
    text = " ".join(value_sentences(table))
    assert "value of the log that is resampled, nominally 95 %, is good for 2 (95.0 %)" in text
    assert "by the rejection of zero rows, relative to the truth: IPS 100.0 %" in text
    assert [row["coverage_grade"] for row in value_rows(table)] == ["", ""]
    assert [row["bias_grade"] for row in value_rows(table)] == ["", ""]
    assert [row["shift_grade"] for row in value_rows(table)] == ["good", "poor"]
    assert [row["coverage_whole_grade"] for row in value_rows(table)] == ["good", "good"]


def test_a_failed_policy_keeps_a_row(logged):
    plan, metrics = logged
    failure = {"study": "log", "source": "policy", "reason": "ERROR: <b>no</b> rows."}
    table = value_table(metrics.iloc[:0], plan, "log", failures=[failure])
    assert table["status"].tolist() == ["failed"]
    assert table["reason"].tolist() == ["<b>no</b> rows."]


@pytest.mark.parametrize(
    ("coverage", "word"),
    [
        (0.95, "good"),
        (0.93, "good"),
        (0.92, "fair"),
        (0.985, "fair"),
        (1.0, "poor"),
        (0.8, "poor"),
        (float("nan"), ""),
    ],
)
def test_too_much_coverage_is_no_better_than_too_little(coverage, word):
    assert coverage_grade(coverage) == word


def test_tables_show_the_metrics_of_the_study(swept):
    plan, metrics = swept
    table = results_table(metrics, plan, "sweep", "general")
    assert list(dict.fromkeys(table["metric"])) == subsampled.COLUMNS
    brier = table[table["metric"] == "brier"].set_index(["method", "setting"])
    harsh = brier.loc["sgd-weights", "keep_rate=0.01"]
    assert harsh["label"] == "SGD regression, weighted, l = 0.01"
    assert harsh["mean"] == pytest.approx(0.12) and harsh["diff"] == pytest.approx(0.01)


def test_a_sweep_is_compared_with_the_same_learner_on_all_rows(swept):
    plan, metrics = swept
    table = sweep_table(metrics, "sweep", plan["studies"]["sweep"])
    row = table.set_index(["learner", "correction", "keep_rate"]).loc["sgd", "weights", 0.01]
    assert row["rise"] == pytest.approx(0.02) and row["relative"] == pytest.approx(0.2)
    assert row["high"] - row["rise"] == pytest.approx(T_THREE * 0.01 / 3**0.5)


def test_less_of_a_score_that_should_be_high_is_a_rise(swept):
    plan, metrics = swept
    settings = plan["studies"]["sweep"] | {"columns": ["auc"]}
    turned = metrics.assign(metric="auc")
    table = sweep_table(turned, "sweep", settings).set_index(["correction", "keep_rate"])
    row = table.loc["weights", 0.01]
    assert row["rise"] == pytest.approx(-0.02) and row["low"] < row["rise"] < row["high"]


def test_the_least_bad_way_is_named_with_what_it_costs(swept):
    plan, metrics = swept
    view = sweep_view(metrics, "sweep", plan["studies"]["sweep"])
    text = " ".join(view["sentences"])
    assert "At l = 0.01 the least bad way" in text
    assert "SGD regression: weighted, 0.0200 worse [" in text and "20.0 % (poor)" in text
    assert "No way stays within 1 % of all rows" in text
    assert view["rows"][0]["cells"] == [{"text": "+20.0 %", "grade": "poor"}]
    assert sweep_view(metrics.iloc[:0], "sweep", plan["studies"]["sweep"]) is None


def test_safe_means_safe_at_all_milder_rates():
    settings = subsampled.swept_study("A sweep", test_share=0.0)
    values = {1.0: 0.1, 0.1: 0.2, 0.01: 0.1, 0.001: 0.1}
    records = [
        one
        for rate, value in values.items()
        for one in at("brier", [value] * 2, setting=f"keep_rate={rate}")
    ]
    metrics = measured("s", sgd__weights=records)
    text = " ".join(sweep_view(metrics, "s", settings)["sentences"])
    assert "No way stays within 1 % of all rows" in text


def test_where_everybody_is_labeled_the_labeled_rows_are_for_training():
    rows = at("rows_labeled", [60.0]) + at("rows_unlabeled", [0.0]) + at("rows_test", [40.0])
    names = [one["name"] for one in sizes(measured("s", labels=rows), "s", ())]
    assert names == ["for training", "test"]


def test_counts_are_told_with_their_methods():
    settings = subsampled.swept_study("A sweep")
    metrics = measured(
        "s",
        sgd__weights=at("predictions_out_of_range", [3.0, 4.0]),
        sgd__none=at("predictions_out_of_range", [0.0, 0.0]),
    )
    (text,) = counts_told(metrics, settings)
    assert text.startswith("7 predictions outside") and "(SGD regression, weighted)" in text


def test_budgets_are_judged_by_their_differences():
    settings = subsampled.budget_study("A budget", test_share=0.0)
    metrics = measured(
        "b",
        tree__natural=at("auc", [0.70, 0.71, 0.72])
        + at("accuracy", [0.90, 0.91, 0.92])
        + at("rows_bought", [1000.0] * 3),
        tree__balanced=at("auc", [0.75, 0.76, 0.77])
        + at("accuracy", [0.80, 0.91, 0.97])
        + at("rows_bought", [200.0, 220.0, 240.0]),
        tree__progressive=at("auc", [0.74, 0.75, 0.76])
        + at("chosen_share", [0.3, 0.4, 0.5])
        + at("budget_excess", [0.0, -3.0, 2.0]),
    )
    text = " ".join(budget_sentences(metrics, "b", settings))
    assert "AUC +5.00 points [5.00, 5.00], better" in text
    assert "no different beyond the interval" in text
    assert (
        "balanced trees had 220 rows on average, natural ones 1\N{NARROW NO-BREAK SPACE}000" in text
    )
    assert "chose on average 40 % positives" in text
    assert "its AUC is \N{MINUS SIGN}1.00 points" in text and "(fair)" in text
    assert "more than its budget in 1 of 3 fits" in text


def test_a_subsampled_study_says_so():
    settings = subsampled.study("Kept", [example.method("logistic")], keep_rate=0.1)
    metrics = measured(
        "k", logistic=at("rows_kept", [100.0, 120.0]) + at("effective_rows", [50.0, 50.0])
    )
    text = keep_sentence(metrics, settings)
    assert "l = 0.1" in text and "counting 10 times" in text
    assert "110 rows were kept" in text and "50 equally weighted" in text
    assert keep_sentence(metrics, settings | {"keep_rate": 1.0}) == ""


def test_the_auc_of_resamples_is_told(both):
    plan, metrics = both
    view = ranking_view(metrics, "bank_ranking", plan["studies"]["bank_ranking"])
    assert [row["rows"] for row in view["rows"]][-1] == "one pair"
    text = " ".join(view["sentences"])
    assert "least at 50 % positives" in text
    assert "at most 0.1 % of the resamples" in text and "5 % is allowed (good)" in text
    adult = plan["studies"]["adult_married"]
    assert ranking_view(metrics, "adult_married", adult) is None


def test_there_is_one_table_for_each_study_and_target(both):
    plan, metrics = both
    tables = all_tables(metrics, plan)
    assert len(tables) == sum(len(study["targets"]) for study in plan["studies"].values())
    assert tuple(tables["logged_value", "general"].columns) == LAYOUT


def test_the_page_groups_studies_and_claims(whole_page):
    headings = re.findall(r"<h2>(.*?)</h2>", whole_page)
    first, second = "Labels of a selected part", "Evaluation on subsampled logs"
    assert headings.index(first) < headings.index(second)
    nav = re.search(r"<nav.*?</nav>", whole_page, re.DOTALL).group()
    assert first in nav and second in nav and nav.count("<li>") == 4
    titles = re.findall(r"<h3>(.*?)</h3>", whole_page)
    assert titles[0].startswith("Smith and Elkan") and titles[1].startswith("Mineiro")
    assert whole_page.index('id="claim-S27"') < whole_page.index('id="claim-Z01"')
    ids = re.findall(r'\bid="([^"]+)"', whole_page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', nav)) <= set(ids)


def test_the_page_says_what_was_computed(whole_page):
    value = section(whole_page, "logged_value")
    assert "the value to be found is 0.0120 (known by construction)" in value
    assert "Claims that rest on it: Z01" in value
    swept = section(whole_page, "bank_subsampled")
    assert "the least bad way, by the Brier score" in swept
    assert "the method with the best Brier score is" in swept
    assert "Balanced against natural training rows" in section(whole_page, "adult_budget")
    assert "counting 10 times" in section(whole_page, "bank_kept")
    assert "counting" not in section(whole_page, "bank_budget")
    for word in ("Keep rate l", "SNIPS", "Coverage", "Prior correction", "Agarwal bound"):
        assert f"<dt>{word}" in whole_page or f", {word}" in whole_page


def only(plan, metrics, *names):
    """A part of a run: it is made into a page sooner."""
    studies = {name: plan["studies"][name] for name in names}
    return plan | {"studies": studies}, metrics[metrics["study"].isin(names)]


def test_the_page_shows_failures_of_policies_escaped(both):
    plan, metrics = only(*both, "logged_value")
    some = metrics[(metrics["study"] != "logged_value") | (metrics["source"] != "stochastic")]
    failure = {
        "study": "logged_value",
        "source": "stochastic",
        "stage": "train",
        "reason": "ERROR: <script>alert(1)</script> broke.",
        "log": "a.log",
    }
    html = page(plan, some, [failure])
    assert "<script" not in html
    assert "<b>failed</b>: &lt;script&gt;alert(1)&lt;/script&gt; broke." in html
    assert "deterministic" in section(html, "logged_value").lower()


def test_a_page_without_measurements_stands(both):
    plan, metrics = only(*both, "logged_value", "bank_budget", "bank_ranking", "bank_kept")
    html = page(plan, metrics.iloc[:0])
    methods = sum(len(study["methods"]) for study in plan["studies"].values())
    assert html.count('<tr class="failed">') == methods
    assert "no result was found" in html
    assert "no value was estimated" in html


def test_names_of_methods_and_settings():
    weighted = example.method("sgd-weights", model="subsampled")
    assert method_label(weighted) == "SGD regression, weighted"
    by_error = example.method("tree-progressive-error", model="budgeted")
    assert method_label(by_error) == "Tree, progressive sampling, by error"
    assert setting_label("keep_rate=0.001") == "l = 0.001"
    assert setting_label("inertia=0.9,shifts=all") == "inertia = 0.9, shifts = all"


def test_small_numbers_keep_three_figures():
    assert digits("", 0.000123, -0.00004) == 6 and digits("", 0.2) == 3 and digits("", 12.0) == 2
    assert digits("points", 0.001) == 2 and digits("rows", 0.5) == 0 and digits("nats") == 3
