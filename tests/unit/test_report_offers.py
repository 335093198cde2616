"""Tables, sentences, warnings and pages of studies of offers, by hand-made numbers."""

import html as markup
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_offers as offers
from counterweight.files.tables import metrics_table, write_table
from counterweight.reporting.charts.offers import curves, profiles
from counterweight.reporting.claim_files import load_claims
from counterweight.reporting.claims import check_names, decide
from counterweight.reporting.offers import sentences as offer_sentences
from counterweight.reporting.offers.sections import offers_table
from counterweight.reporting.offers.sheets import optimism, ratio, regression_sheet, sheets
from counterweight.reporting.offers.tables import LAYOUT, gains, rows_of
from counterweight.reporting.page.report import build_report
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import svg_text
from counterweight.reporting.page.tables import all_tables

CLAIMS = Path(__file__).resolve().parents[2] / "workflow" / "claims" / "noor_2014.yaml"
T_THREE = 4.302652729911275  # 97.5 % quantile of t with 2 degrees of freedom


def measured(**sources):
    """Metrics of the study s from records by source."""
    frames = [
        metrics_table("s", source.replace("__", "-"), records).to_pandas()
        for source, records in sources.items()
    ]
    return pd.concat(frames, ignore_index=True)


def at(metric, values, setting="", target="general", **keys):
    return [
        {
            "metric": metric,
            "setting": setting,
            "repeat": repeat,
            "value": value,
            "target": target,
            **keys,
        }
        for repeat, value in enumerate(values)
    ]


def plan_of(name="three_segments", **changes):
    return {"studies": {"s": offers.study(name, "A study", **changes)}}


@pytest.fixture(scope="module")
def small():
    """Three repeats: the choice model hard and soft, logistic regression, an oracle."""
    model = at("rmse", [0.10, 0.11, 0.12], "hard") + at("rmse", [0.08, 0.09, 0.10], "soft")
    model += at("rmse_floor", [0.1] * 3, "hard") + at("rmse_floor", [0.1] * 3, "soft")
    model += at("components_chosen", [3, 3, 4]) + at("slopes_at_bound", [0, 1, 1])
    model += at("offer_variation", [0.0, 0.5, 1.0], "hard")
    for way, factor in (("hard", 1.0), ("soft", 0.9)):
        for metric, value in (
            ("revenue_predicted", 100),
            ("revenue_actual", 100),
            ("revenue_true", 110),
            ("revenue_claimed", 130 * factor),
            ("revenue_optimal_true", 121),
            ("revenue_best_possible", 140),
            ("enrolment_predicted", 50),
        ):
            model += at(metric, [float(value)] * 3, way)
    for j, value in enumerate((0.08, 0.12, 0.09)):
        model += at("rmse_component", [value] * 3, "hard", part=str(j))
    plain = at("revenue_actual", [100.0] * 3) + at("revenue_true", [110.0] * 3)
    plain += at("revenue_claimed", [150.0] * 3) + at("revenue_optimal_true", [99.0] * 3)
    plain += at("rmse", [0.2, 0.2, 0.2]) + at("rmse_floor", [0.1] * 3, "soft")
    told = at("rmse", [0.02] * 3)
    for j, value in enumerate((0.01, 0.04, 0.01)):
        told += at("rmse_component", [value] * 3, part=str(j))
    return measured(predictive_choice=model, logitboost=plain, logitboost__components=told)


@pytest.fixture(scope="module")
def everything():
    plan = offers.plan()
    return plan, offers.metrics(plan)


@pytest.fixture(scope="module")
def noor():
    return load_claims([CLAIMS])


def test_the_table_holds_what_was_measured(small, tmp_path):
    figure = {"study": "s", "source": "predictive_choice", "setting": "hard", "metric": "rmse"}
    printed = [figure | {"value": 0.102}]
    table = offers_table(small, plan_of(), "s", printed=printed)
    assert tuple(table.columns) == LAYOUT
    row = table.query("method == 'predictive_choice' and metric == 'rmse'").iloc[0]
    assert row["assignment"] == "hard" and row["n"] == 3 and row["printed"] == 0.102
    assert row["mean"] == pytest.approx(0.11) and row["sd"] == pytest.approx(0.01)
    assert row["high"] - row["mean"] == pytest.approx(T_THREE * 0.01 / 3**0.5)
    pairs = [(method, way) for method, way, part in rows_of(table) if part["n"].any()]
    assert pairs == [
        ("predictive_choice", "hard"),
        ("predictive_choice", "soft"),
        ("logitboost", ""),
        ("logitboost-components", ""),
    ]
    failed = table[table["status"] == "failed"]["method"].tolist()
    assert failed == ["offer_logistic", "logistic_tree", "logistic_tree-components"]
    write_table(tmp_path / "t.parquet", table)


def test_errors_are_graded_by_the_true_parameters(small):
    table = offers_table(small, plan_of(), "s")
    assert ratio(table, "predictive_choice", "hard") == pytest.approx(0.10)
    assert ratio(table, "predictive_choice", "soft") == pytest.approx(-0.10)
    assert ratio(table, "logitboost", "") == pytest.approx(1.0)
    assert np.isnan(ratio(table, "logitboost-components", "")), "an oracle has another floor"
    sheet = sheets(table, plan_of()["studies"]["s"], small)[0]
    at_place = sheet["head"].index("Above it") - 1
    grades = {
        row["label"]: row["cells"][at_place]["grade"] for row in sheet["rows"] if not row["failed"]
    }
    assert grades["Choice model, soft"] == "good" and grades["LogitBoost"] == "poor"
    assert grades["LogitBoost (by component)"] == ""


def test_an_error_far_below_the_floor_is_not_praised(small):
    less = small.copy()
    less.loc[(less["metric"] == "rmse") & (less["setting"] == "hard"), "value"] *= 0.4
    table = offers_table(less, plan_of(), "s")
    text = offer_sentences.floor_sentence(table)
    assert "hard 0.044, 56 % below the error of the true parameters;" in text
    assert "says nothing of others" in text
    assert "says nothing" not in offer_sentences.floor_sentence(offers_table(small, plan_of(), "s"))


def test_claimed_and_true_gains_are_told_apart(small):
    table = offers_table(small, plan_of(), "s")
    hard = next(part for _, way, part in rows_of(table) if way == "hard")
    found = gains(hard)
    assert found["revenue_claimed"] == pytest.approx(0.30)
    assert found["revenue_true"] == pytest.approx(0.10)
    assert found["revenue_possible"] == pytest.approx(140 / 110 - 1)
    assert optimism(hard) == pytest.approx(130 / 121 - 1)
    text = " ".join(offer_sentences.gain_sentences(table))
    assert "claim +30.0 % revenue and truly bring +10.0 %" in text
    assert "7.4 % more than the true one (fair)" in text
    assert "3.3 % less than the true one (good)" in text


def test_sentences_say_what_was_found(small):
    table = offers_table(small, plan_of(), "s")
    text = " ".join(offer_sentences.sentences(table, small, plan_of()["studies"]["s"]))
    assert "is 3 in 2 and 4 in 1 of 3 repeats; the data have 3." in text
    assert "Choice model, hard 0.110, 10 % above the error of the true parameters" in text
    assert "LogitBoost has RMSE 0.200, 122 % more than the choice model (soft)" in text
    assert "best offers claim +50.0 % and bring \N{MINUS SIGN}10.0 % revenue" in text
    assert "errs by 0.020 on average over components and at most by 0.040 (component 2)" in text
    assert "it is better on 3 of 3 components" in text


def test_a_number_of_segments_that_was_set_was_not_chosen(small):
    plan = plan_of()
    settings = plan["studies"]["s"]
    settings["methods"][0]["options"] = {"components": 3}
    lengths = at("mdl", [9.0, 9.0, 8.0], step=1) + at("mdl", [8.0, 8.0, 9.0], step=2)
    more = pd.concat([small, measured(predictive_choice=lengths)])
    text = offer_sentences.order_sentence(offers_table(more, plan, "s"), more, settings)
    assert text == (
        "The number of segments was set to 3; that of least description length up to it is 1 in 1 "
        "and 2 in 2 of 3 repeats; the data have 3."
    )


def test_what_makes_slopes_doubtful_is_said(small):
    settings = plan_of()["studies"]["s"]
    table = offers_table(small, plan_of(), "s")
    text = " ".join(offer_sentences.warnings(table, small, settings))
    assert "in 50 % of the segments, mean over repeats, the offers hardly vary" in text
    assert "since the offer separates the answers: 2 of 10 over all repeats" in text
    fine = small[~small["metric"].isin(("offer_variation", "slopes_at_bound"))]
    table = offers_table(fine, plan_of(), "s")
    assert not list(offer_sentences.warnings(table, fine, settings))


def test_a_survey_is_judged_by_logged_answers():
    records = at("log_loss", [0.5, 0.6], "hard") + at("best_offer", [20.0, 22.0], "hard")
    for metric, value in (
        ("revenue_claimed", 120.0),
        ("revenue_actual", 90.0),
        ("revenue_snips", 100.0),
        ("revenue_snips_low", 80.0),
        ("revenue_snips_high", 119.0),
        ("revenue_ips", 99.0),
    ):
        records += at(metric, [value] * 2, "hard")
    metrics = measured(predictive_choice=records, labels=at("rows_test", [10.0, 10.0], target=""))
    plan = plan_of("natural_park")
    table = offers_table(metrics, plan, "s")
    text = " ".join(offer_sentences.sentences(table, metrics, plan["studies"]["s"]))
    assert "20.0 % above what logged answers to such offers say (SNIPS; poor)" in text
    assert "outside the 95 % interval" in text
    found = sheets(table, plan["studies"]["s"], metrics)
    assert found[-1]["head"][1] == "Best offer, euros"
    assert "true" not in " ".join(found[-1]["head"]).lower()
    assert found[-1]["rows"][0]["cells"][0]["text"].startswith("21.00")
    assert "Totals over the test rows" in found[-1]["caption"]


def test_best_offers_at_the_end_of_the_range_are_a_warning():
    plan, records = plan_of("natural_park"), at("log_loss", [0.5, 0.6], "hard")
    for metric, value in (
        ("best_offer_low", 40.0),
        ("best_offer", 100.0),
        ("best_offer_high", 100.0),
        ("single_offer", 90.0),
        ("single_offer_acceptance", 0.25),
        ("single_offer_revenue", 22.5),
    ):
        records += at(metric, [value] * 2, "hard")
    metrics = measured(predictive_choice=records)
    settings, table = plan["studies"]["s"], offers_table(metrics, plan, "s")
    (text,) = offer_sentences.warnings(table, metrics, settings)
    assert "Most best offers are at the end of the declared range, 100 (Choice model)." in text
    text = offer_sentences.single_sentence(table, settings)
    assert text.startswith("One offer to everybody earns most at 90.0 euros (sd over repeats 0.0)")
    assert "25 % accept it, and it earns 22.50 for each person." in text


def test_counts_are_told_with_their_methods():
    metrics = measured(
        predictive_choice=at("rows_missing", [3.0, 4.0]), logitboost=at("cells_filled", [0.0, 0.0])
    )
    (text,) = offer_sentences.counts(metrics, plan_of()["studies"]["s"])
    assert text == "7 training rows lack a feature (Choice model)."


def test_regressions_stand_beside_those_in_print(everything):
    plan, metrics = everything
    sheet = regression_sheet(offers_table(metrics, plan, "eighteen_segments"))
    groups = [row["group"] for row in sheet["rows"] if row["group"]]
    assert groups[0] == "Choice model, hard: R² 0.330, adjusted 0.120 (in print 0.320)"
    assert groups[-1].endswith("(in print 0.579, adjusted)") and len(groups) == 4
    first = [cell["text"] for cell in sheet["rows"][0]["cells"]]
    assert sheet["rows"][0]["label"] == "imbalance" and first[1] == "0.294"
    assert [row["label"] for row in sheet["rows"]][:4] == ["imbalance", "overlap", "η", "k"]


def test_the_claims_of_the_paper_are_all_there(everything, noor):
    claims, printed = noor
    assert [claim["id"] for claim in claims] == [f"P{number:02d}" for number in range(1, 27)]
    check_names(claims, everything[0])
    assert {claim["id"] for claim in claims if "untestable" in claim} == {"P25", "P26"}
    assert all("verdict" not in claim for claim in claims)
    sources = {entry["source"] for entry in printed}
    assert sources <= set(offers.METHODS)


def test_every_testable_claim_has_an_effect(everything, noor):
    plan, metrics = everything
    decided = decide(noor[0], metrics, plan).set_index("id")
    tested = decided.drop(["P25", "P26"])
    assert not (tested["verdict"] == "cannot be tested").any()
    assert tested["effect"].notna().all()


def test_no_claim_holds_whatever_is_measured(everything, noor):
    plan, metrics = everything
    claims = noor[0]
    before = decide(claims, metrics, plan).set_index("id")["verdict"]
    turned = -3.7 * metrics["value"] + 100.0
    uneven = metrics["value"] * metrics["study"].str.len() * metrics["setting"].str.len()
    changed = [
        decide(claims, metrics.assign(value=value), plan).set_index("id")["verdict"]
        for value in (turned, uneven, 0.0)
    ]
    held = before[before == "holds"].index
    assert len(held) > 12
    assert all(any(after[name] != "holds" for after in changed) for name in held)


def test_best_offers_are_judged_by_the_truth_too(everything, noor):
    plan, metrics = everything
    (claim,) = (one for one in noor[0] if one["id"] == "P24")
    assert decide([claim], metrics, plan).iloc[0]["verdict"] == "holds"
    poor = metrics.copy()
    poor.loc[poor["metric"] == "revenue_optimal_true", "value"] *= 0.8
    found = decide([claim], poor, plan).iloc[0]
    assert found["verdict"] == "depends"
    assert "by its own curves: holds" in found["detail"]
    assert "more revenue in truth: does not hold" in found["detail"]


def test_figures_in_print_stand_in_the_tables(everything, noor):
    tables = all_tables(everything[1], everything[0], noor[1])
    three = tables["three_segments", "general"]
    shown = three[three["printed"].notna()].groupby("metric").size()
    assert shown["rmse"] == 4 and shown["rmse_component"] == 9
    admissions = tables["admissions", "general"]
    shown = admissions[admissions["printed"].notna()].groupby("metric").size()
    assert shown["enrolment_predicted"] == 4 and shown["revenue_claimed"] == 1


@pytest.fixture(scope="module")
def page(everything, noor):
    plan, metrics = everything
    plan = plan | {
        "studies": {
            name: plan["studies"][name] for name in ("three_segments", "admissions", "kakadu")
        }
    }
    without = metrics[(metrics["study"] != "kakadu") | (metrics["source"] != "logitboost")]
    failure = {
        "study": "kakadu",
        "source": "logitboost",
        "stage": "train",
        "reason": "ERROR: <script>alert(1)</script> broke.",
        "log": "a.log",
    }
    decided = decide(noor[0], without, plan, [failure])
    return build_report(plan, without, decided, [failure], printed=noor[1])


def test_profiles_show_who_the_segments_are(everything, tmp_path):
    plan, metrics = everything
    settings = plan["studies"]["natural_park"]
    offers.files(tmp_path, settings["offer"])
    study = StudyResults("natural_park", settings, metrics, tmp_path)
    (ax,) = profiles.draw(study).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x1", "x2"]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "40 %, best 66.7",
        "33 %, best 11.8",
        "27 %, best 45.3",
    ]
    assert [text.get_text() for text in ax.texts][:3] == ["\N{MINUS SIGN}3.90", "0.10", "2.90"]
    assert svg_text(profiles.draw(study)) == svg_text(profiles.draw(study))


def section(html, study):
    found = re.search(rf'<section id="{study}">.*?</section>', html, re.DOTALL).group()
    return " ".join(markup.unescape(re.sub(r"<[^>]+>", " ", found)).split())


def test_the_page_says_what_was_computed(page):
    three, admissions = section(page, "three_segments"), section(page, "admissions")
    assert "What logistic regression" in three and "Claims that rest on it: P01" in three
    assert "in print 0.435" in three and "Read with care." not in three
    assert "Read with care." in admissions and "256.79" in admissions
    assert "the actual count of 20" in admissions and "standard deviation of 12.0" in admissions
    kakadu = section(page, "kakadu")
    assert "Best offer, euros" in kakadu and "Claim above SNIPS" in kakadu
    assert "nan" not in page.lower().replace("financ", "")


def test_failures_are_shown_escaped(page):
    assert "<script" not in page
    assert "<b>failed</b>: &lt;script&gt;" in page


def test_a_page_without_measurements_stands(everything, noor):
    plan, metrics = everything
    plan = plan | {"studies": {"admissions": plan["studies"]["admissions"]}}
    html = build_report(plan, metrics.iloc[:0], decide(noor[0], metrics.iloc[:0], plan))
    assert html.count('<tr class="failed">') == len(offers.METHODS)


@pytest.mark.parametrize("kind", ["up", "down"])
def test_curves_are_in_the_users_units(everything, tmp_path, kind):
    plan, metrics = everything
    name = "admissions" if kind == "up" else "natural_park"
    settings = plan["studies"][name]
    offers.files(tmp_path, settings["offer"], offers="narrow")
    study = StudyResults(name, settings, metrics, tmp_path)
    seen = curves.past_offers(study, "predictive_choice")
    assert set(seen) == {0, 1, 2}
    middle = 0.15 if kind == "up" else 85.0
    assert seen[0][0] < middle < seen[0][1]
    above, below = curves.draw(study).axes
    assert above.get_xlim() == (settings["offer"]["low"], settings["offer"]["high"])
    texts = [text.get_text() for text in below.texts]
    # The paper's optimal discounts of these three curves, or what is left of the price.
    best = ["0.33", "0.88", "0.55"] if kind == "up" else ["66.67", "11.77", "45.30"]
    assert [text.split()[-1] for text in texts] == best
