"""Pages of studies of constraints: known values in their cells, sentences, names, claims."""

import copy
import dataclasses
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import report_example as example
import report_rates as rates
from counterweight.plan.components import reference
from counterweight.reporting import PAGES
from counterweight.reporting.blocks import Section, Sentence, Table
from counterweight.reporting.claims import VERDICTS, load_claims, unknown_names
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages.promises_page import main_of, requested_measures
from counterweight.reporting.pages.rates_page import PAGE
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.tables.parquet import metrics_table

CLAIMS = Path(__file__).resolve().parents[4] / "workflow" / "claims" / "goh_2016.yaml"
T_THREE = 4.302652729911275
HELD = "What was requested and what came about"


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
    methods = [rates.method("svm"), rates.method("ramp", {"kappa": [0.5, 1.0]}, [rates.SEXES])]
    plan = rates.fair_study(test_share=0.0) | {"methods": methods}
    metrics = measured(
        "known",
        svm=both("ratio", [3.0] * 3, [3.0] * 3) + both("error", [0.15] * 3, [0.15] * 3),
        ramp=both("ratio", [2.0] * 3, [2.0, 2.1, 2.2], "kappa=0.5")
        + both("error", [0.16] * 3, [0.16, 0.17, 0.18], "kappa=0.5")
        + both("ratio", [1.3] * 3, [1.29, 1.3, 1.31], "kappa=1.0")
        + both("error", [0.18] * 3, [0.18] * 3, "kappa=1.0")
        + at("deterministic_at_equal", [0.16, 0.16, 0.17], "ratio=2", measure="error"),
    )
    return plan, metrics


def paged(plan, metrics, name="known", **context):
    numbers = StudyNumbers(name, plan, metrics)
    return study_page(PAGE, numbers, StudyContext("a.html", **context))[0]


def blocks_of(part, kind):
    """Blocks of a kind on a page, in order."""
    sections = [*part.blocks, *getattr(part, "sections", ())]
    for one in sections:
        if isinstance(one, Section):
            yield from blocks_of(one, kind)
        elif isinstance(one, kind):
            yield one


def table(page, start):
    return next(one for one in blocks_of(page, Table) if one.caption.startswith(start))


def cells(page, start, label):
    """Cells of a row by the heads of their columns."""
    shown = table(page, start)
    row = next(row for row in shown.rows if row.label == label)
    return dict(zip([head.text for head in shown.head[1:]], row.cells, strict=True))


def text(page):
    return " ".join(one.text for one in blocks_of(page, Sentence))


def test_known_values_stand_in_their_cells(known):
    page = paged(*known)
    first = cells(page, HELD, "κ = 0.5")
    assert first["Requested, at most"].text == "2.00"
    assert first["Limit broken by, training"].text == "0.0 %"
    assert first["Limit broken by, training"].grade == "pass"
    ratio = first["Coverage ratio, male to female, test"]
    half = T_THREE * 0.1 / 3**0.5
    assert ratio.text == "2.10"
    # A ratio is at least 0: on the log scale.
    low, high = (2.1 * math.exp(sign * half / 2.1) for sign in (-1, 1))
    assert ratio.bracket == f"[{low:.2f}, {high:.2f}]"
    broken = first["Limit broken by, test"]
    assert broken.text == "+5.0 %" and broken.grade == "open"
    low, high = (100 * (end / 2 - 1) for end in (low, high))
    assert broken.bracket == f"[\N{MINUS SIGN}{-low:.1f}, {high:.1f}]"
    assert first["Error, test"].text == "17.0 %"
    second = cells(page, HELD, "κ = 1")
    assert second["Limit broken by, training"].grade == "fail"
    assert second["Limit broken by, test"].grade == "fail"
    assert cells(page, HELD, "Svm")["Requested, at most"].text == "–"


def test_the_answer_says_what_is_kept_and_what_it_costs(known):
    page = paged(*known)
    asked = "what is requested (coverage ratio, male to female)"
    assert f"With Ramp, training rows keep {asked} in 1 of the 2 settings that bind" in text(page)
    assert "test rows break it significantly in 1 of them, and on average they" in text(page)
    assert "they miss it by at most +30.0 %" in text(page)
    assert "15.0 %" in text(page) and "+2.0 points" in text(page) and "+3.0 points" in text(page)
    plan, metrics = known
    two = text(paged(plan, metrics[metrics["repeat"] < 2]))
    assert "test rows have no interval to say whether they break it, and on average they" in two
    assert "significant" not in two
    numbers = StudyNumbers("known", *known)
    label, estimate, mark = PAGE.answer(numbers).points[0]
    assert (label, estimate.mean, mark) == ("Svm", 3.0, "")


def test_equal_values_are_compared_with_the_main_method(known):
    plan, metrics = known
    equal = at("deterministic_at_equal", [0.17, 0.18, 0.19], "ratio=2", measure="error")
    other = measured("known", zafar=both("ratio", [2.0] * 3, [2.0] * 3, "c=0.1") + equal)
    plan = plan | {"methods": [*plan["methods"], rates.method("zafar", {"c": [0.1]})]}
    page = paged(plan, pd.concat([metrics, other]))
    cell = cells(page, "Error minus that of Ramp", "Zafar, deterministic")["At 2, points"]
    half = T_THREE * np.std([0.01, 0.02, 0.02], ddof=1) / 3**0.5 * 100
    assert cell.text == "+1.7"
    assert cell.bracket == f"[{5 / 3 - half:.1f}, {5 / 3 + half:.1f}]"
    assert cell.tone == "down"


def test_what_few_repeats_reach_is_not_shown(known):
    plan, metrics = known
    assert table(paged(*known), "Error at equal")
    few = metrics["metric"].eq("deterministic_at_equal") & (metrics["repeat"] > 0)
    captions = [one.caption for one in blocks_of(paged(plan, metrics[~few]), Table)]
    assert not any(caption.startswith("Error at equal") for caption in captions)


def test_one_split_has_the_interval_of_its_test_rows(known):
    plan, metrics = known
    single = metrics[metrics["repeat"] == 0].assign(standard_error=0.1)
    cell = cells(paged(plan, single), HELD, "κ = 0.5")["Limit broken by, test"]
    # 2.0 of 2.0, with a standard error of 0.1, on the log scale.
    low, high = (100 * (math.exp(sign * 1.959964 * 0.1 / 2) - 1) for sign in (-1, 1))
    assert cell.bracket == f"[\N{MINUS SIGN}{-low:.1f}, {high:.1f}]"


def test_at_least_is_broken_from_below_and_shares_are_told_in_points():
    recall = ["recall(everyone) >= target"]
    methods = [rates.method("ramp", {"target": [0.9]}, recall)]
    plan = rates.study("A", methods, {"measures": {"found": "recall(everyone)"}}, test_share=0.0)
    metrics = measured("known", ramp=both("found", [0.9] * 3, [0.72, 0.73, 0.725], "target=0.9"))
    page = paged(plan, metrics)
    shown = cells(page, HELD, "target = 0.9")
    assert shown["Requested, at least"].text == "90.0 %"
    broken = shown["Limit broken by, test, points"]
    assert broken.text == "+17.50" and broken.grade == "fail"
    assert page.lead == "Does Ramp keep the limit on recall?"


def test_the_deployed_model_sets_a_limit_on_its_own_rows(run):
    plan, metrics = run
    page = paged(plan["studies"]["churn"], metrics, "churn")
    row = cells(page, HELD, "target = 0.03")
    # The deployed model has 0.605 there and every method 0.6.
    assert row["Recall on d2: requested, at least"].text == "60.5 %"
    assert row["Recall on d2: limit broken by, test, points"].text == "+0.50"
    assert row["Churn on d3: requested, at most"].text == "3.0 %"
    assert "Churn on d3: 5.5 %" in text(page) and "significantly lower in 7 of 7 settings" in text(
        page
    )
    assert "6 if it wins 100 %" in text(page) and "981" in text(page)
    assert row["Labels that show it is better"].text == "102"


def test_undefined_values_and_infeasible_fits_are_counted(known):
    plan, metrics = known
    hidden = metrics.copy()
    lost = hidden["measure"].eq("ratio") & hidden["metric"].eq("deterministic")
    lost &= hidden["target"].eq("general")
    hidden.loc[lost & (hidden["source"] == "ramp") & (hidden["repeat"] == 0), "value"] = np.nan
    short = measured("known", ramp=at("feasible", [0.0, 1.0, 1.0], "kappa=1.0"))
    said = text(paged(plan, pd.concat([hidden, short])))
    assert "2 of 18 test values are not defined and left out: Ramp 2." in said
    assert "1 of 3 fits found no model that keeps all constraints: Ramp 1." in said


def test_a_failed_method_keeps_a_row_and_a_study_without_numbers_a_page(known):
    plan, metrics = known
    reasons = {"ramp": "<b>no</b>.", "svm": "nothing."}
    page = paged(plan, metrics[metrics["source"] != "ramp"], reasons=reasons)
    row = table(page, HELD).rows[-1]
    assert row.mark == "failed" and row.reason == "<b>no</b>."
    assert "Nothing was measured" in text(paged(plan, metrics.iloc[:0], reasons=reasons))


def test_variants_of_the_main_method_stand_beside_it(run):
    plan, metrics = run
    page = paged(plan["studies"]["fairness_sex"], metrics, "fairness_sex")
    shown = table(page, "The main method with other options")
    labels = [row.label for row in shown.rows]
    assert "Ramp one (steps: 1)" in labels and "Hinge (loss: hinge)" in labels
    # The made-up hinge errs a hundredth more where both come to the same ratio.
    more = cells(page, "The main method", "Hinge (loss: hinge)")["Error minus that of Ramp, points"]
    assert more.tone == "down" and more.text == "+1.0"


def test_what_the_optimiser_did_stands_in_a_sheet(run):
    plan, metrics = run
    page = paged(plan["studies"]["fairness_sex"], metrics, "fairness_sex")
    shown = cells(page, "What the optimiser did", "κ = 0.5")
    assert shown["Convex steps"].text == "8.0" and shown["Certified gap, millionths"].text == "3.0"
    assert shown["Steps that rose, steps"].grade == "pass"
    assert shown["Feasible fits"].text == "100 %"


def renamed(plan, metrics, name):
    """A study with other names for every method and measure, and the same labels."""
    study = copy.deepcopy(plan["studies"][name])
    methods = {one["id"]: f"m{rank}" for rank, one in enumerate(study["methods"])}
    options = study["protocol"]["options"]
    names = {one: f"q{rank}" for rank, one in enumerate(options["measures"])}
    for one in study["methods"]:
        one["id"] = methods[one["id"]]
    study["baseline"] = methods[study["baseline"]]
    options["measures"] = {names[one]: said for one, said in options["measures"].items()}
    if options.get("equal"):
        options["equal"] |= {key: names[options["equal"][key]] for key in ("measure", "of")}
    study["labels"] = {"measure": {names[k]: v for k, v in study["labels"]["measure"].items()}}
    study["measures"] = {
        f"{metric} of {names[of]}" if of else metric: entry
        for (metric, _, of), entry in (
            (key.partition(" of "), entry) for key, entry in study["measures"].items()
        )
    }
    own = metrics[metrics["study"] == name].copy()
    own["source"] = own["source"].map(lambda one: methods.get(one, one))
    own["measure"] = own["measure"].map(lambda one: names.get(one, one))
    at_equal = own["metric"].str.endswith("_at_equal")
    own.loc[at_equal, "setting"] = own.loc[at_equal, "setting"].map(
        lambda one: names[one.partition("=")[0]] + "=" + one.partition("=")[2]
    )
    return study, own


@pytest.mark.parametrize("name", ["fairness_sex", "churn"])
def test_names_decide_nothing(run, name):
    plan, metrics = run
    page = paged(plan["studies"][name], metrics, name)
    assert dataclasses.asdict(paged(*renamed(plan, metrics, name), name)) == dataclasses.asdict(
        page
    )
    assert len(list(blocks_of(page, Table))) >= 5


def test_a_ratio_called_error_is_no_share():
    methods = [rates.method("ramp", {"kappa": [0.8]}, ["error(a) <= error(b) / kappa"])]
    plan = rates.study("A", methods, {"measures": {"error_ratio": "error(a) / error(b)"}})
    metrics = measured("known", ramp=both("error_ratio", [1.2] * 2, [1.19, 1.21], "kappa=0.8"))
    row = cells(paged(plan, metrics), HELD, "κ = 0.8")
    assert row["Error ratio, a to b, test"].text == "1.20"
    assert row["Requested, at most"].text == "1.25"


def test_one_method_of_ones_own_has_a_page():
    method = rates.method("ramp", constraints=["coverage(old) <= 1.25 * coverage(young)"])
    options = {"measures": {"mine": "coverage(old) / coverage(young)", "wrong": "error(everyone)"}}
    plan = rates.study("My own", [method], options, baseline=None, test_share=0.0)
    metrics = measured(
        "known",
        ramp=both("mine", [1.25] * 3, [1.3, 1.31, 1.32]) + both("wrong", [0.2] * 3, [0.21] * 3),
    )
    page = paged(plan, metrics)
    assert page.lead.startswith("Does Ramp keep the limit on coverage ratio, old to young")
    kept = "keep what is requested (coverage ratio, old to young); test rows break it significantly"
    assert kept in text(page)
    assert cells(page, HELD, "Ramp")["Limit broken by, test"].text == "+4.8 %"
    assert cells(page, HELD, "Ramp")["Error, test"].text == "21.0 %"


def test_a_study_that_asks_nothing_is_compared_plainly():
    options = {"measures": {"error": "error(everyone)"}}
    plan = rates.study("A", [rates.method("svm"), rates.method("zafar", {"c": [0.1]})], options)
    metrics = measured(
        "known", svm=both("error", [0.2] * 2, [0.2, 0.21]) + at("accuracy", [0.8, 0.79])
    )
    numbers = StudyNumbers("known", plan, metrics)
    assert requested_measures(numbers) == [] and main_of(numbers)
    page = paged(plan, metrics)
    assert cells(page, HELD, "Svm")["Error, test"].text == "20.5 %"


def test_the_page_of_the_protocol_is_found_by_its_declaration():

    assert reference(PAGES["protocol rates"]) is PAGE


def test_claims_pass_the_schema_and_get_a_verdict(run):
    plan, metrics = run
    claims, _ = load_claims([CLAIMS])
    assert [claim["id"] for claim in claims] == [f"G{k:02d}" for k in range(1, 26)]
    decided = example.decided(claims, metrics, plan)
    assert set(decided["verdict"]) <= set(VERDICTS)
    assert decided.loc["G03", "verdict"] == "cannot be tested"
    assert decided.loc["G06", "verdict"] == "cannot be tested"
    assert decided.loc["G09", "verdict"] == "holds by construction"
    for name in ("G07", "G16", "G18"):
        assert decided.loc[name, "verdict"] in ("holds", "does not hold"), name
    assert decided.loc["G22", "verdict"] == "holds by construction", "it is arithmetic"
    assert decided.loc["G22", "effect"] == -10


def test_claims_on_a_made_up_run_name_its_methods(run):
    plan, _ = run
    claims, _ = load_claims([CLAIMS])
    absent = (
        "fairness_education",
        "fairness_own_split",
        "fairness_1000",
        "fairness_5000",
        "egregious",
        "coverage_unlabeled",
        "neyman_pearson",
    )
    problems = [
        problem
        for problem in unknown_names(claims, plan)
        if not any(f"'{name}'" in problem for name in absent)
    ]
    assert problems == []


def test_other_numbers_change_the_verdicts(run):
    plan, metrics = run
    claims, _ = load_claims([CLAIMS])
    before = example.decided(claims, metrics, plan)["verdict"]
    noise = np.random.default_rng(0).normal(0, 50, len(metrics))
    changed = [
        example.decided(claims, metrics.assign(value=value), plan)["verdict"]
        for value in (-3.7 * metrics["value"] + 100.0, metrics["value"] + noise)
    ]
    held = before[before == "holds"].index
    assert len(held) >= 6
    unmoved = [name for name in held if all(after[name] == "holds" for after in changed)]
    assert unmoved == []
