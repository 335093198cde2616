"""Pages of logs and of subsampled rows, by hand-made numbers whose answers are known."""

import math
from dataclasses import fields, is_dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import report_example as example
import report_subsampled as subsampled
from counterweight.plan.components import load, reference
from counterweight.reporting import PAGES as OF_COMPONENTS
from counterweight.reporting.numbers import Estimate, StudyNumbers
from counterweight.reporting.pages import selection_page, subsampling_page
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.reporting.wording import Measure
from report_subsampled import at, numbers_of, rows_of

T_THREE = 4.302652729911275  # 97.5 % quantile of t with 2 degrees of freedom
SUBSAMPLING = "counterweight.reporting.pages.subsampling_page:PAGE"


def texts(page):
    """Every text of a page, in order."""
    if isinstance(page, str):
        yield page
    elif is_dataclass(page):
        for field in fields(page):
            yield from texts(getattr(page, field.name))
    elif isinstance(page, tuple | list):
        for part in page:
            yield from texts(part)


def swept(metric="brier", **changes):
    """SGD at l = 1 and 0.01 with weights and without, in three splits."""
    settings = subsampled.swept_study("A sweep", test_share=0.0) | changes
    full, harsh = "keep_rate=1.0", "keep_rate=0.01"
    return numbers_of(
        settings,
        logistic=at(metric, [0.1, 0.11, 0.12]),
        sgd__none=at(metric, [0.1] * 3, full)
        + at(metric, [0.3] * 3, harsh)
        + at("rows_trained", [900.0] * 3, full),
        sgd__weights=at(metric, [0.1] * 3, full)
        + at(metric, [0.11, 0.12, 0.13], harsh)
        + at("rows_trained", [90.0] * 3, harsh),
    )


# Training on subsampled rows.


def fit_of(numbers, source, rate):
    return next(
        fit for fit in subsampling_page.trained(numbers) if (fit.source, fit.rate) == (source, rate)
    )


def test_a_fit_is_compared_with_the_same_learner_on_all_rows():
    numbers = swept()
    fit = fit_of(numbers, "sgd-weights", 0.01)
    assert subsampling_page.on_all_rows(numbers, "sgd").source == "sgd-none"
    rise, share = subsampling_page.cost(numbers, fit, False), subsampling_page.cost(numbers, fit)
    assert rise.mean == pytest.approx(0.02) and share.mean == pytest.approx(0.2)
    assert rise.high - rise.mean == pytest.approx(T_THREE * 0.01 / 3**0.5)
    row = rows_of(subsampling_page.COSTS, numbers)["SGD, weights"]
    assert row["Brier score on all rows"].text == "0.100"
    assert row["At l = 0.01"].text == "+20.0 %" and row["At l = 0.01"].grade == "open"


def test_less_of_a_score_that_should_be_high_is_a_cost():
    numbers = swept("auc", columns=["auc"])
    share = subsampling_page.cost(numbers, fit_of(numbers, "sgd-weights", 0.01))
    assert share.mean == pytest.approx(-0.2) and share.low < share.mean < share.high


def test_the_least_bad_way_is_named_with_what_it_costs():
    answer = subsampling_page.answer(swept())
    assert answer.sentence.startswith("No way stays within 1 % of the Brier score on all rows")
    assert answer.more[0].startswith(
        "Trained on 90 instead of 900 rows (l = 0.01), SGD, weights has a Brier score of 0.120 ["
    )
    assert "+0.0200 [" in answer.more[0] and "(+20.0 %)" in answer.more[0]


def test_safe_means_safe_at_all_milder_rates():
    def safe(**values):
        records = [
            one
            for rate, value in zip((1.0, 0.1, 0.01), values["levels"], strict=True)
            for one in at("brier", [value] * 2, setting=f"keep_rate={rate}")
        ]
        settings = subsampled.swept_study("A sweep", test_share=0.0)
        return subsampling_page.answer(numbers_of(settings, sgd__weights=records))

    none = safe(levels=(0.1, 0.2, 0.1)).sentence
    assert none.startswith("No way") and "once 90.0 % of the rows without" in none
    for levels, share, rate in (((0.1, 0.1, 0.2), "90.0", 0.1), ((0.1, 0.1, 0.1), "99.0", 0.01)):
        answer = safe(levels=levels)
        assert answer.sentence.startswith(f"With SGD, weights, {share} % of the rows without ")
        assert f"can be dropped (l = {rate}) before the Brier score" in answer.sentence
        assert f"SGD, weights to l = {rate}." in answer.more[-1]
        # The small chart is of the way that the sentence names, at its rate, not of another one.
        (name, drawn, mark), *others = answer.points
        assert (name, mark) == ("SGD, weights", "main") and not any(one[2] for one in others)
        assert drawn.mean == pytest.approx(levels[(1.0, 0.1, 0.01).index(rate)])


# Budgets.


def test_the_best_way_to_spend_a_budget_is_told_by_each_measure():
    settings = subsampled.budget_study("A budget", test_share=0.0)
    numbers = numbers_of(
        settings,
        tree__natural=at("auc", [0.70, 0.71, 0.72])
        + at("accuracy", [0.90, 0.91, 0.92])
        + at("rows_bought", [1000.0] * 3),
        tree__balanced=at("auc", [0.75, 0.76, 0.77])
        + at("accuracy", [0.80, 0.91, 0.81])
        + at("rows_bought", [1000.0] * 3)
        + at("chosen_share", [0.3, 0.4, 0.5])
        + at("budget_excess", [0.0, -3.0, 2.0]),
        tree__all=at("auc", [0.8, 0.8, 0.8]) + at("rows_bought", [5000.0] * 3),
    )
    answer = subsampling_page.answer(numbers)
    assert "With 1,000 training rows, by AUC, balanced is best, with 40.0 % positives: 0.760" in (
        answer.sentence
    )
    assert "+5.0 points (no interval) against natural" in answer.sentence
    assert "Beyond the budget, all has 0.800" in answer.sentence
    assert answer.more[0].startswith("By accuracy, natural is best: 91.0 %")
    assert list(subsampling_page.spent(numbers)) == [
        "More rows than the budget: balanced (1 of 3 fits)."
    ]
    assert (
        rows_of(subsampling_page.BUDGET, numbers)["balanced"]["Difference, points"].text == "+5.0"
    )


# Metrics of a part of the rows.


def test_a_subsampled_study_says_so():
    settings = subsampled.study("Kept", [example.method("logistic")], keep_rate=0.1)
    records = at("effective_rows", [50.0, 50.0]) + at("accuracy", [0.7, 0.8])
    numbers = numbers_of(settings | {"columns": ["accuracy"]}, logistic=records)
    for answer in (selection_page.answer(numbers), subsampling_page.answer(numbers)):
        assert "l = 0.1" in answer.more[-1] and "counts 10 times" in answer.more[-1]
        assert "worth 50 rows of equal weight" in answer.more[-1]
    numbers = numbers_of(settings | {"keep_rate": 1.0}, logistic=records)
    assert list(selection_page.kept(numbers)) == []


def test_the_auc_of_a_part_of_the_rows_is_told():
    records = []
    for part, rate, bias, covered in (
        ("zeros", 1.0, 0.0, 0.95),
        ("positives", 1.0, 0.0, 0.95),
        ("zeros", 0.01, 0.01, 0.8),
        ("one pair", None, 0.0, None),
    ):
        place = {"part": part, "keep_rate": rate}
        records += at("auc_bias", [bias + d for d in (-1e-4, 0.0, 1e-4)], **place)
        records += at("auc_spread", [0.02] * 3, **place)
        if covered:
            records += at("auc_covered", [covered + d for d in (-1e-3, 0.0, 1e-3)], **place)
    for rho, off, broken in ((0.25, 0.04, 0.0), (0.5, 0.03, 0.1)):
        setting = f"N=100,rho={rho}"
        records += at("auc_deviation", [off] * 3, setting)
        records += at("agarwal_bound", [0.1] * 3, setting)
        records += at("bound_violated", [broken] * 3, setting)
    settings = subsampled.ranking_study("A ranking", test_share=0.0)
    numbers = numbers_of(settings, logistic=records)
    rows = rows_of(subsampling_page.AUCS, numbers)
    assert list(rows) == ["All rows", "Zeros at l = 0.01", "One pair"]
    harsh = rows["Zeros at l = 0.01"]
    assert harsh["Bias, points"].text == "+1.0" and harsh["Bias, points"].grade == "fail"
    assert harsh["Coverage"].grade == "fail" and rows["All rows"]["Coverage"].grade == "pass"
    drawn = rows_of(subsampling_page.DEVIATIONS, numbers)
    assert [row["Beyond the bound"].grade for row in drawn.values()] == ["pass", "fail"]
    answer = subsampling_page.answer(numbers)
    assert "With zeros kept at l = 0.01, the measured AUC" in answer.sentence
    assert "bias of +1.0 [1.0, 1.0] points and a spread of 2.0 points; 80.0 %" in answer.sentence
    assert "best to have 50 % positives: the AUC is then 3.0 points off" in answer.more[0]
    assert "At most 10.0 % of the resamples" in answer.more[1]


# Whole pages.

PAGES = {
    "logged_value": "counterweight.reporting.pages.logs_page:PAGE",
    "bank_subsampled": SUBSAMPLING,
    "bank_budget": SUBSAMPLING,
    "bank_ranking": SUBSAMPLING,
    "bank_kept": SUBSAMPLING,
    "adult_kept": "counterweight.reporting.pages.selection_page:PAGE",
}


@pytest.fixture(scope="module")
def run():
    plan = subsampled.plan()
    plan["studies"] = {name: plan["studies"][name] for name in PAGES}
    return plan, subsampled.metrics(plan)


def made(name, settings, metrics):
    context = StudyContext(path=f"report/{name}.html")
    return study_page(reference(PAGES[name]), StudyNumbers(name, settings, metrics), context)


@pytest.mark.parametrize("name", PAGES)
def test_names_decide_nothing(run, name):
    """Every method and estimator renamed, labels as they were: the very same page."""
    plan, metrics = run
    settings = plan["studies"][name]
    methods = {one["id"]: f"x{rank}" for rank, one in enumerate(settings["methods"])}
    estimators = {one: f"y{rank}" for rank, one in enumerate(subsampled.ESTIMATORS)}
    labelled = [{**one, "label": one["label"] or one["id"]} for one in settings["methods"]]
    settings = settings | {"methods": labelled}
    renamed = settings | {
        "methods": [one | {"id": methods[one["id"]]} for one in labelled],
        "baseline": methods[settings["baseline"]],
        "labels": {"measure": {estimators[key]: one for key, one in subsampled.ESTIMATORS.items()}},
    }
    other = metrics[metrics["study"] == name].replace(
        {"source": methods, "measure": estimators if name == "logged_value" else {}}
    )
    page, finding = made(name, settings, metrics)
    assert (page, finding) == made(name, renamed, other)
    assert len(page.blocks) > 1 and len(page.sections) > 1


@pytest.mark.parametrize("name", PAGES)
def test_a_page_without_measurements_stands(run, name):
    plan, metrics = run
    page, finding = made(name, plan["studies"][name], metrics.iloc[:0])
    assert finding.answer.startswith("Nothing was measured")


def test_pages_say_what_was_computed(run):
    plan, metrics = run
    said = {name: " ".join(texts(made(name, plan["studies"][name], metrics)[0])) for name in PAGES}
    assert "The interval holds the true value, 0.0120" in said["logged_value"]
    assert "as IPS estimates it: more than the 0.00900" in said["logged_value"]
    assert "SNIPS, l = 0.01" in said["logged_value"]
    assert "What training on fewer zero rows costs" in said["bank_subsampled"]
    assert "What was bought, and what it gave" in said["bank_budget"]
    assert "No budget was exceeded." in said["bank_budget"]
    assert "At most 0.1 % of the resamples are beyond the Agarwal bound." in said["bank_ranking"]
    assert "counts 10 times" in said["bank_kept"] and "counts 10 times" in said["adult_kept"]
    assert "counts" not in said["bank_budget"]
    assert not any("nan" in text.split() for text in said.values())


def test_what_subsamples_brings_the_page_of_its_studies():
    for part, name in (
        ("model", "subsampled"),
        ("model", "budgeted"),
        ("protocol", "ranking_resamples"),
    ):
        assert OF_COMPONENTS[f"{part} {name}"] == SUBSAMPLING
    assert load("task", "log").PAGE["page"] == PAGES["logged_value"]


def test_shares_of_the_highest_predictions_are_named_alike():
    parts = ["top 0.001", "top 1", "top 0.1"]
    known = SimpleNamespace(sources=["a"], places=lambda *given: parts)
    labels = [column.label for column in subsampling_page._tops(known)]
    assert labels == ["All rows", "Highest 10 %", "Highest 0.1 %"]


def test_a_negative_factor_turns_an_estimate_round():
    known = Estimate(1.0, 0.5, 0.0, 3.0, 4, -1.0, 5.0).times(-2.0)
    assert known == Estimate(-2.0, 1.0, -6.0, 0.0, 4, -10.0, 2.0)
    assert math.isnan(Estimate(1.0).times(-1.0).low)


def test_a_measure_of_shares_is_told_as_a_mean_and_a_count_as_a_total(run):
    plan, _ = run
    settings = plan["studies"]["bank_subsampled"]
    sources = {
        "sgd__weights": at("predictions_out_of_range", [0.5, 0.25]) + at("brier", [0.1, 0.1]),
        "sgd__none": at("constant_model", [1.0, 1.0]),
    }
    page, _ = study_page(
        subsampling_page.PAGE, numbers_of(settings, **sources), StudyContext(path="p.html")
    )
    said = " ".join(texts(page))
    assert "Predictions outside 0 and 1: SGD, weights (37.5 %)." in said
    assert "SGD, none (2)" in said
    assert np.isclose(Measure("share", "share", percent=True).told[1], 100)
