"""Tables, sentences, warnings and pages of studies of offers, by hand-made numbers."""

import math
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_example as example
import report_offers as offers
from counterweight.plan.config import resolve
from counterweight.plan.measures import table
from counterweight.reporting.blocks import Table
from counterweight.reporting.claims import check_names, decide, load_claims
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import offers_page as pages
from counterweight.reporting.report_jobs import study_plan
from counterweight.reporting.sheets import build
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.tables.parquet import metrics_table, write_table
from printed_tables import PRINTED_REGRESSIONS

CLAIMS = Path(__file__).resolve().parents[4] / "workflow" / "claims" / "noor_2014.yaml"
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


def numbers_of(metrics, plan, name="s", printed=()):
    return StudyNumbers(name, plan["studies"][name], metrics, printed=printed)


def built(sheet, numbers):
    """Cells of a sheet, ``{line: {head: cell}}``, those under one head side by side."""
    made = build(sheet, numbers)
    heads = [head.text for head in made.head[1:]]
    return {row.label: list(zip(heads, row.cells, strict=True)) for row in made.rows}


def texts(cells, head):
    return [cell.text for name, cell in cells if name == head]


def test_the_table_holds_what_was_measured(small, tmp_path):
    figure = {"study": "s", "source": "predictive_choice", "setting": "hard", "metric": "rmse"}
    printed = [figure | {"value": 0.102, "target": "general"}]
    table = pages.table(numbers_of(small, plan_of(), printed=printed), "general", "no {}".format)
    assert example.holds(table)
    row = table.query("method == 'predictive_choice' and metric == 'rmse'").iloc[0]
    assert row["setting"] == "hard" and row["n"] == 3 and row["printed"] == 0.102
    assert row["estimate"] == pytest.approx(0.11) and row["sd"] == pytest.approx(0.01)
    step = T_THREE * 0.01 / 3**0.5 / 0.11  # an error is at least 0: on the log scale
    assert row["low"] == pytest.approx(0.11 / math.exp(step))
    assert row["high"] == pytest.approx(0.11 * math.exp(step))
    there = table[table["n"] > 0]
    pairs = there.groupby(["method", "setting"], sort=False).ngroups
    assert list(there["method"].unique()) == [
        "predictive_choice",
        "logitboost",
        "logitboost-components",
    ]
    assert pairs > 4 and there["oracle"].eq(there["method"] == "logitboost-components").all()
    failed = table[table["status"] == "failed"]
    assert failed["method"].tolist() == [
        "offer_logistic",
        "logistic_tree",
        "logistic_tree-components",
        *offers.MORE["three_segments"],
    ]
    assert failed["reason"].iloc[0] == "no offer_logistic"
    write_table(tmp_path / "t.parquet", table)


def test_errors_are_held_against_the_true_parameters(small):
    cells = built(pages.ACCURACY, numbers_of(small, plan_of()))
    above = {label: dict(row)["Above it"] for label, row in cells.items()}
    assert above["Choice model, hard"].text == "+10.0 %"
    assert above["Choice model, soft"].text == "−10.0 %"
    assert above["LogitBoost"].text == "+100.0 %" and above["LogitBoost"].grade == "fail"
    assert above["LogitBoost (by component)"].text == "–", "it has another floor"


def test_claimed_and_true_gains_are_told_apart(small):
    cells = built(pages.EARNINGS, numbers_of(small, plan_of()))
    hard = dict(cells["Choice model, hard"])
    assert hard["Gain claimed"].text == "+30.0 %" and hard["Gain in truth"].text == "+10.0 %"
    assert hard["Claim above truth"].text == "+7.4 %"
    assert hard["Claim above truth"].grade == "fail"
    assert dict(cells["Choice model, soft"])["Claim above truth"].grade == "pass"
    assert dict(cells["LogitBoost"])["Gain in truth"].text == "−10.0 %"


def test_the_answer_says_what_is_claimed_and_what_is_true(small):
    made = pages.answer(numbers_of(small, plan_of()))
    assert made.sentence.startswith(
        "The best offers of Choice model, hard change revenue by +30.0 %"
    )
    assert "+10.0 %" in made.sentence
    text = " ".join(made.more)
    assert "+27.3 %" in text, "what the true curves would allow"
    assert "LogitBoost" in text and "worse than Choice model, hard" in text
    assert [card.value for card in made.cards] == ["+30.0 %", "+10.0 %"]


def test_gains_of_splits_of_ones_own_offers_name_the_rows_that_they_are_of(small):
    (line, *_), told = pages.fair_lines(numbers_of(small, plan_of())), []
    tested = measured(labels=at("rows_test", [9.0] * 3, target=""))
    for source in ("own", "download"):
        known = plan_of(repeats=3)
        known["studies"]["s"]["source"] = source
        numbers = numbers_of(pd.concat([small, tested], ignore_index=True), known)
        (first, *_), _, _ = pages.earnings(numbers, line, [])
        told.append(first)
    assert told[1].startswith("The best offers of Choice model")
    assert told[0] == f"On the test rows of 3 splits, by fits to the other rows, t{told[1][1:]}"


def test_a_plainer_method_that_predicts_better_is_said_first(small):
    better = small.copy()
    plain = better["source"].eq("logitboost") & better["metric"].eq("rmse")
    better.loc[plain, "value"] = [0.05, 0.051, 0.05]
    made = pages.answer(numbers_of(better, plan_of()))
    assert made.sentence.startswith("Do not set offers by Choice model, hard alone. LogitBoost")
    assert "+30.0 %" in made.more[0]
    # The chart is of what the sentence is of, and of revenue where that is.
    drawn = {label: one.mean for label, one, _ in made.points}
    assert drawn["LogitBoost"] == pytest.approx(np.mean([0.05, 0.051, 0.05]))
    better.loc[plain, "value"] = [0.2, 0.0, 0.12]
    made = pages.answer(numbers_of(better, plan_of()))
    assert "+30.0 %" in made.sentence and made.points.axis == "change of revenue, %"
    assert any("not significantly different" in text for text in made.more)


def test_a_bound_is_no_rival(small):
    assert "by component" not in str(pages.answer(numbers_of(small, plan_of())))


def test_better_true_offers_of_another_method_are_said(small):
    better = small.copy()
    plain = better["source"].eq("logitboost") & better["metric"].eq("revenue_optimal_true")
    better.loc[plain, "value"] = [132.0, 133.0, 131.0]
    made = pages.answer(numbers_of(better, plan_of()))
    assert any("LogitBoost brings more in truth: +20.0 %" in text for text in made.more)
    assert made.points[-1][1].mean == pytest.approx(20)


def test_a_ratio_has_the_mean_of_means_and_its_linear_interval(small):
    numbers = numbers_of(small, plan_of())
    top = pd.Series([100.0, 130.0, 115.0, 90.0])
    base = pd.Series([50.0, 70.0, 55.0, 45.0])
    made = numbers.change(top, base)
    assert made.mean == pytest.approx(top.mean() / base.mean() - 1)
    rest = (top - base * top.mean() / base.mean()) / base.mean()
    half = 3.182446305284263 * rest.std(ddof=1) / 2
    assert made.high - made.mean == pytest.approx(half)
    assert not numbers.change(top, 0 * base).known


def survey(**changes):
    """A study that is judged by logged answers; `changes` are values of metrics by name."""
    values = {
        "log_loss": 0.5,
        "best_offer": 20.0,
        "revenue_claimed": 120.0,
        "revenue_actual": 90.0,
        "revenue_snips": 100.0,
        "revenue_snips_low": 80.0,
        "revenue_snips_high": 119.0,
        "single_offer": 90.0,
        **changes,
    }
    records = [row for name, value in values.items() for row in at(name, [value] * 2, "hard")]
    records += at("offers_unsupported", [30.0] * 2, "hard", rows=40)
    labels = at("rows_test", [10.0, 10.0], target="") + at("rows_dropped", [3.0, 0.0], target="")
    return measured(predictive_choice=records, labels=labels)


def test_a_survey_is_judged_by_logged_answers():
    numbers = numbers_of(survey(), plan_of("natural_park"))
    made = pages.answer(numbers)
    assert "+33.3 %" in made.sentence and "+11.1 %" in made.sentence
    assert "for 75 % of the people no logged offer" in made.more[0]
    assert "2 of 2 repeats" in made.more[0]
    one = survey()
    one.loc[one["metric"].eq("offers_unsupported"), "value"] = 0.0
    one = one[~one["metric"].str.contains("snips") | one["repeat"].eq(0)]
    checked = pages.answer(numbers_of(one, plan_of("natural_park"))).more[0]
    assert checked == "By logged answers 1 of 2 repeats could be checked."
    row = dict(built(pages.EARNINGS, numbers)["Choice model, hard"])
    assert row["Claim above logged answers"].text == "+20.0 %"
    assert row["Claim above logged answers"].bracket == "[0.8, 50.0]"
    assert row["Claim above logged answers"].grade == "open"
    assert row["People without"].text == "75 %" and row["Best offer"].text == "20.00"
    assert "test rows" in build(pages.EARNINGS, numbers).caption
    assert "Gain in truth" not in row


def test_offers_that_nothing_checks_are_not_praised():
    metrics = survey()
    numbers = numbers_of(metrics[~metrics["metric"].str.contains("snips")], plan_of("natural_park"))
    made = pages.answer(numbers)
    assert "by its own claim." in made.sentence and "0 of 2 repeats" in made.more[0]


def test_best_offers_at_the_end_of_the_range_are_a_warning():
    metrics = survey(best_offer_low=40.0, best_offer=100.0, best_offer_high=100.0)
    (text,) = pages.at_the_end(numbers_of(metrics, plan_of("natural_park")))
    assert "at the end of the range of offers, 100 (Choice model)" in text
    assert not list(pages.at_the_end(numbers_of(survey(), plan_of("natural_park"))))


def test_acceptance_against_its_direction_in_every_segment_is_said_first():
    def answer_of(against):
        model = at("rmse", [0.1] * 3, "hard") + at("components_chosen", [3, 3, 4])
        model += at("monotone_active", against) + at("revenue_predicted", [2.0] * 3, "hard")
        model += at("revenue_actual", [2.0] * 3, "hard") + at("log_loss", [0.6] * 3, "hard")
        model += at("revenue_claimed", [3.0] * 3, "hard")
        return pages.answer(numbers_of(measured(predictive_choice=model), plan_of()))

    assert "look whether it is the other way round" in answer_of([3, 3, 4]).sentence
    told = answer_of([3, 2, 4])
    assert "the other way round" not in " ".join((told.sentence, *told.more))


def test_numbers_of_segments_are_counted(small):
    (text,) = pages.segments(numbers_of(small, plan_of()))
    assert "3 in 2 and 4 in 1 of 3 repeats; the data have 3." in text
    plan = plan_of()
    plan["studies"]["s"]["methods"][0]["options"] = {"components": 3}
    (text,) = pages.segments(numbers_of(small, plan))
    assert "number of segments set to" in text


def test_counts_are_not_hidden():
    metrics = pd.concat([survey(), measured(predictive_choice=at("slopes_at_bound", [1.0, 2.0]))])
    plan = plan_of("natural_park")
    plan["studies"]["s"]["measures"] |= table()["labeling"]
    page, _ = study_page(pages.PAGE, numbers_of(metrics, plan), StudyContext("p"))
    text = str(page)
    assert "Slopes at their bound: Choice model (3)." in text
    assert "Rows left out: 2 of the data." in text


def test_regressions_stand_beside_those_in_print(everything, noor):
    plan, metrics = everything
    numbers = numbers_of(metrics, plan, "eighteen_segments", noor[1])
    made = build(pages.REGRESSIONS, numbers)
    groups = [row.group for row in made.rows if row.group]
    assert groups == [
        "Choice model, hard",
        "Choice model, soft",
        "LogitBoost (by component)",
        "Logistic model tree (by component)",
    ]
    assert {row.label for row in made.rows[:4]} == {"imbalance", "overlap", "η", "k"}
    first = [cell.text for cell in made.rows[0].cells]
    assert first[1] == "0.294" and float(first[7]) == 0.64
    fits = built(pages.EXPLAINED, numbers)
    assert dict(fits["Choice model, hard"])["R²"].text == "0.330"
    assert texts(fits["Choice model, hard"], "In print")[0] == "0.320"
    assert texts(fits["Logistic model tree (by component)"], "In print")[-1] == "0.579"


def test_the_regressions_in_print_are_those_that_follow_from_the_paper(noor):
    sources = {
        "PCM": ("predictive_choice", "hard", "with_overlap"),
        "LR": ("logitboost-components", "", "without_overlap"),
        "LMT": ("logistic_tree-components", "", "without_overlap"),
    }
    in_print = {
        (one["source"], one.get("setting", ""), one["part"], one["metric"], one["variable"]): one[
            "value"
        ]
        for one in noor[1]
        if "variable" in one
    }
    wanted = {
        (*sources[name], f"regression_{metric}", variable): value
        for name, variables in PRINTED_REGRESSIONS.items()
        for variable, values in variables.items()
        for metric, value in zip(("beta", "p", "low", "high"), values, strict=True)
    }
    assert in_print == wanted


@pytest.mark.parametrize("name", ["eighteen_segments", "admissions", "kakadu"])
def test_names_decide_nothing(everything, name):
    """Every method renamed, with its label: the page is the same but for names."""
    plan, metrics = everything
    study = plan["studies"][name]
    names = {one["id"]: f"other{rank}" for rank, one in enumerate(study["methods"])}
    renamed = study | {
        "baseline": names[study["baseline"]],
        "main": names[study["main"]],
        "given_away": study["given_away"] | {"method": names[study["given_away"]["method"]]},
        "methods": [
            # Of the same length, since small charts cut labels.
            one | {"id": names[one["id"]], "label": one["label"].swapcase()}
            for one in study["methods"]
        ],
    }
    own = metrics[metrics["study"] == name]
    after = own.assign(source=own["source"].replace(names))
    before = study_page(pages.PAGE, StudyNumbers(name, study, own), StudyContext("p"))
    other = study_page(pages.PAGE, StudyNumbers(name, renamed, after), StudyContext("p"))
    assert str(before) != str(other) and str(before).lower() == str(other).lower()
    assert "Choice model" not in str(other) and "predictive_choice" not in str(other)


def test_a_study_of_ones_own_is_about_segments_and_gives_away_what_predicts_best():
    models = [
        {"model": "logitboost", "name": "first"},
        {"model": "predictive_choice", "name": "mine"},
        {"model": "offer_logistic", "name": "told", "per_component": True},
    ]
    mine = {
        "dataset": "own_table",
        "features": {"recipe": "one_hot", "drop": ["fee"]},
        "outcome": {"rule": "accepts", "column": "answer"},
        "labeling": {"rule": "offered", "offer": "fee", "high": 50.0, "direction": "down"},
        "targets": ["general"],
        "evaluation": {"protocol": "offers"},
        "models": models,
    }
    made = resolve({"datasets": {"own_table": {"path": "a.csv"}}, "studies": {"one": mine}})
    shown = study_plan(made["studies"]["one"])
    assert shown["main"] == "mine" and shown["given_away"] == {"method": None, "setting": ""}
    asked = made["studies"]["one"] | {"deliver": {"method": "mine", "setting": "hard"}}
    assert study_plan(asked)["given_away"] == asked["deliver"]
    assert shown["baseline"] == "first"
    roles = {one["id"]: one["role"] for one in shown["methods"]}
    assert roles == {"first": "baseline", "mine": "main", "told": "bound"}


def test_a_page_tells_every_part_of_a_study(everything, noor):
    plan, metrics = everything
    numbers = numbers_of(metrics, plan, "eighteen_segments", noor[1])
    page, finding = study_page(pages.PAGE, numbers, StudyContext("p"))
    assert finding.answer and finding.chart
    captions = [
        block.caption
        for section in page.sections
        for block in section.blocks
        if isinstance(block, Table)
    ]
    assert len(captions) >= 6 and len(set(captions)) == len(captions)
    assert "nan" not in str(page).lower()


def test_failed_methods_stand_in_the_results(everything):
    plan, metrics = everything
    without = metrics[(metrics["study"] != "kakadu") | (metrics["source"] != "logitboost")]
    reasons = {"logitboost": "<script> broke"}
    made = build(pages.EARNINGS, numbers_of(without, plan, "kakadu"), reasons)
    assert [row.reason for row in made.rows if row.mark == "failed"] == ["<script> broke"]
    nothing = metrics.iloc[:0]
    page, _ = study_page(pages.PAGE, numbers_of(nothing, plan, "kakadu"), StudyContext("p"))
    assert "Nothing was measured" in str(page)
    table = pages.table(numbers_of(nothing, plan, "kakadu"), "general", str)
    assert table["status"].eq("failed").all() and len(table) == 4


def test_the_claims_of_the_paper_are_all_there(everything, noor):
    claims, printed = noor
    assert [claim["id"] for claim in claims] == [f"P{number:02d}" for number in range(1, 27)]
    check_names(claims, everything[0])
    assert not any("untestable" in claim for claim in claims)
    assert all("verdict" not in claim for claim in claims)
    sources = {entry["source"] for entry in printed}
    assert sources <= set(offers.METHODS)


@pytest.fixture(scope="module")
def judged(everything, noor):
    """What the claims come to."""
    plan, metrics = everything
    return example.decided(noor[0], metrics, plan)


def test_every_testable_claim_has_an_effect(judged):
    decided = judged
    assert not (decided["verdict"] == "cannot be tested").any()
    assert decided["effect"].notna().all()


def test_no_claim_holds_whatever_is_measured(everything, noor, judged):
    plan, metrics = everything
    claims, before = noor[0], judged["verdict"]
    turned = -3.7 * metrics["value"] + 100.0
    uneven = metrics["value"] * metrics["study"].str.len() * metrics["setting"].str.len()
    changed = [
        example.decided(claims, metrics.assign(value=value), plan)["verdict"]
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
    assert found["verdict"] == "does not hold"
    assert "by its own curves: holds" in found["detail"]
    assert "more revenue in truth: does not hold" in found["detail"]


@pytest.mark.parametrize(("highs", "ends"), [([125.0] * 3, True), ([105.0, 106.0], False)])
def test_an_end_of_an_interval_that_some_repeats_do_not_know_is_none(highs, ends):
    model = at("revenue_actual", [100.0] * 3) + at("revenue_snips", [110.0, 112.0, 120.0])
    model += at("revenue_snips_low", [90.0] * 3) + at("revenue_snips_high", highs)
    numbers = numbers_of(measured(predictive_choice=model), plan_of())
    line = pages.Line("predictive_choice", "", {})
    change, value = pages.LOGGED(numbers, line), pages.spread("revenue_snips")(numbers, line)
    assert (change.mean, value.mean) == (pytest.approx(0.14), pytest.approx(114.0))
    if ends:
        assert (change.low, change.high) == (pytest.approx(-0.1), pytest.approx(0.25))
        assert (value.low, value.high) == (90.0, 125.0)
    else:
        assert not change.bounded and not value.bounded


def test_figures_in_print_stand_in_the_tables(everything, noor):
    plan, metrics = everything
    three, admissions, eighteen = (
        pages.table(numbers_of(metrics, plan, name, noor[1]), "general", str)
        for name in ("three_segments", "admissions", "eighteen_segments")
    )
    shown = three[three["printed"].notna()].groupby("metric").size()
    assert shown["rmse"] == 4 and shown["rmse_component"] == 9
    shown = admissions[admissions["printed"].notna()].groupby("metric").size()
    assert shown["enrolment_predicted"] == 4 and shown["revenue_claimed"] == 1
    shown = eighteen[eighteen["printed"].notna()].groupby("metric").size()
    told = eighteen[eighteen["metric"] == "regression_r2"].set_index(["method", "part"])["printed"]
    known = {
        (e["source"], e["part"]): e["value"] for e in noor[1] if e["metric"] == "regression_r2"
    }
    assert shown["regression_r2"] == 2 and told.dropna().to_dict().items() <= known.items()


def drawn_records(random, told, instead, p=0.2, folder=Path("nowhere"), rows=9):
    """What a study delivers where past offers were drawn at random."""
    made = [("offers_random", "", random), ("offers_random_p", "", p), ("single_drawn", "", 21.0)]
    made += [("offers_random", "told", 1.0)] * told
    made += [("single_instead", "", instead), ("drawn_claimed", "best", 12.0)]
    ends = {"": 0.0, "_low": -1.0, "_high": 1.0}
    made += [(f"drawn_gain{end}", "", 0.5 + more) for end, more in ends.items()]
    for part, value in (("best", 11.0), ("single", 10.5), ("past", 8.0)):
        made += [(f"drawn_snips{end}", part, value + more) for end, more in ends.items()]
    for part, value in (("best", 12.5), ("single", 12.0)):
        made += [(f"drawn_doubly_robust{end}", part, value + more) for end, more in ends.items()]
    table = pd.DataFrame(made, columns=["metric", "part", "value"]).assign(rows=rows)
    known = {"rows": lambda source, metric: table[table["metric"] == metric]}
    return types.SimpleNamespace(**known, folder=folder)


@pytest.mark.parametrize("answered", [2, 1])
def test_what_offers_bring_stands_beside_its_own_interval_and_not_a_claim(tmp_path, answered):
    table = pd.DataFrame({"best_revenue": [12.0, 13.2], "best_offer": 21.0, "revenue": 8.0})
    table.to_parquet(tmp_path / "offers.parquet")
    numbers = drawn_records(1.0, True, 0.0, folder=tmp_path, rows=answered)
    numbers.delivered = (True, "")
    _, said = pages.at_random(numbers)
    assert "[11.50, 13.50] of the best" in said
    sentence, cards = pages.in_total(numbers)
    assert "bring 12.50 [11.50, 13.50], by the model's claim put right by answers" in sentence
    whom = {2: "all 2 people 25.00", 1: "all 1 people with an answer 12.50"}[answered]
    past = {2: "16.00", 1: "8.000"}[answered]
    assert f"{whom}; with past offers it is 8.000 a person and {past} in all." in sentence
    assert (cards[0].value, cards[0].interval) == ("12.50", "[11.50, 13.50]")
    assert cards[0].note.endswith(", put right by answers")
    (text,) = pages.claimed(numbers)  # what the file adds up to is told, too
    assert "model's own claim, 12.60 on average and 25.20 in all" in text


def test_offers_that_were_drawn_at_random_are_told_beside_the_claim():
    first, said = pages.at_random(drawn_records(1.0, False, 0.0))
    assert first is None and "look drawn at random (test of chance p = .2)" in said
    assert "By answers alone the best ones earn 11.00 [10.00, 12.00] where models fitted" in said
    assert "(21) 10.50 [9.50, 11.50], past ones 8.000" in said
    right = "expect 12.50 [11.50, 13.50] of the best and 12.00 [11.00, 13.00] of one for all"
    assert f"{right}, a difference of +0.50 [\N{MINUS SIGN}0.50, 1.50]." in said
    first, said = pages.at_random(drawn_records(1.0, True, 1.0))
    assert first.startswith(
        "One offer of 21 is given to everybody: by cross-fitted answers it earns"
    )
    assert "by a standard error at least" in first and "it may be chance" in first
    assert "were drawn at random, as the config says" in said
    _, said = pages.at_random(drawn_records(1.0, True, 0.0, p=1e-5))
    assert "though columns tell them (test of chance p < .001), and only if they were do" in said
    first, said = pages.at_random(drawn_records(0.0, False, 0.0))
    assert first is None and "Past offers seem to go by the columns" in said
    assert [*pages.at_random(drawn_records(0.0, True, 0.0))] == [None, None]


@pytest.mark.parametrize(
    ("low", "high", "grid", "such", "told"),
    [
        (0, 25, None, (5, 20), "of all from 0 to 25, as declared;"),
        (5, 20, None, (5, 20), ""),
        (5, 25, [5, 25], (5, 20), ""),
        (None, None, None, (5, 20), ""),
        (None, None, None, (5, 12), "of all from 5 to 20, which were made;"),
        (6, 18, None, (7, 20), "of all from 6 to 18, which were made;"),
    ],
)
def test_a_claim_says_where_it_is_of_more_than_what_is_delivered(
    monkeypatch, tmp_path, low, high, grid, such, told
):
    made = {"offer_least": pd.Series([5.0, 6.0]), "offer_largest": pd.Series([19.0, 20.0])}
    monkeypatch.setattr(pages, "_made", lambda numbers, metric: made[metric])
    people = {"offered_min": [5.0, such[0]], "offered_max": [20.0, such[1]]}
    pd.DataFrame(people, dtype=float).to_parquet(tmp_path / "offers.parquet")
    offer, chosen = {"low": low, "high": high, "grid": grid}, ("offer_logistic", "")
    known = types.SimpleNamespace(plan={"offer": offer}, delivered=chosen, folder=tmp_path)
    said = pages._wider(known)
    assert told in said and bool(told) is bool(said)
    known.delivered = (None, "")
    assert pages._wider(known) == ""
