"""Tables and figures of the papers beside ours, and what no paper says."""

import copy
import re
from pathlib import Path

import numpy as np
import pytest
from counterweight.reporting import blocks
from counterweight.reporting.claims import load_claims
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages.selection_page import PAGE
from counterweight.reporting.printed import (
    PRINTED,
    _levels,
    beside_print,
    load_items,
    printed_page,
    told_answers,
    told_findings,
)
from counterweight.reporting.study_page import StudyContext, _points_of, study_page

CLAIMS = sorted((Path(__file__).resolve().parents[3] / "workflow" / "claims").glob("*.yaml"))
OF_ADULT = {"study": "adult_married", "target": "general", "metric": "accuracy"}


@pytest.fixture(scope="module")
def declared():
    return load_items(CLAIMS)


@pytest.fixture(scope="module")
def printed():
    return load_claims(CLAIMS)[1]


def test_every_table_and_figure_of_the_papers_is_listed_once(declared):
    items, _, _ = declared
    named = [(one["paper"], one["item"]) for one in items]
    assert len(named) == len(set(named))
    drawn = [name for name in named if name[1] != "text"]
    assert len(drawn) == 27
    counts = {paper: sum(of == paper for of, _ in drawn) for paper, _ in drawn}
    assert sorted(counts.values()) == [4, 5, 5, 13]


def test_every_figure_in_print_stands_in_one_entry(declared, printed, metrics, plan):
    table = beside_print(declared[0], printed, metrics, plan)
    assert list(table.columns) == [name for name, _ in PRINTED]
    assert table["printed"].notna().sum() == len(printed)
    # Nothing is lost into the text of a paper that has no such entry.
    known = {(one["paper"], one["item"]) for one in declared[0]}
    assert set(zip(table["paper"], table["item"], strict=True)) <= known


def item(**changes):
    return {
        "paper": "p",
        "title": "P (2000)",
        "item": "Table 1",
        "shows": "It.",
        "reason": "R.",
    } | (changes)


def figure(value, **changes):
    own = {"paper": "p", "source": "logistic", "value": value, "where": "Table 1"}
    return OF_ADULT | own | changes


def ours(metrics):
    return ours_of(metrics, "logistic")


def ours_of(metrics, source):
    own = metrics[(metrics["study"] == "adult_married") & (metrics["source"] == source)]
    return own[(own["metric"] == "accuracy") & (own["target"] == "general")]["value"]


def test_departures_are_in_standard_deviations_over_repeats(metrics, plan):
    values = ours(metrics)
    far = values.mean() + 3 * values.std()
    table = beside_print([item()], [figure(far)], metrics, plan).iloc[0]
    assert table["departure"] == pytest.approx(-3) and table["n"] == 10
    assert (table["ours"], table["sd"]) == pytest.approx((values.mean(), values.std()))


@pytest.mark.parametrize(("figures", "folded"), [(10, ""), (11, "Table 1 (11 figures)")])
def test_more_figures_than_ten_of_a_table_are_folded(metrics, plan, figures, folded):
    printed = [figure(70 + n, where="Table 1") for n in range(figures)]
    table = beside_print([item()], printed, metrics, plan)
    (paper,) = printed_page([item()], table, plan).sections
    (own,) = [one for one in paper.blocks[0].blocks if isinstance(one, blocks.Table)]
    assert (len(own.rows), own.fold) == (figures, folded)


def test_a_figure_is_near_within_two_deviations_or_to_its_digits(metrics, plan):
    values = ours(metrics)
    shown = []
    for value in (values.mean() + 1.9 * values.std(), values.mean() + 2.1 * values.std()):
        table = beside_print([item()], [figure(value)], metrics, plan)
        shown.append(printed_page([item()], table, plan).blocks[1].rows[0].cells[1].text)
    assert shown == ["1", "0"]
    one = metrics[metrics["repeat"] == 0]
    value = round(float(ours(one).iloc[0]), 2)
    table = beside_print([item()], [figure(value)], one, plan)
    assert np.isnan(table["departure"].iloc[0])
    assert "1 are within" in printed_page([item()], table, plan).blocks[0].text


def test_a_figure_far_from_print_without_a_reason_is_no_figure_as_in_print(metrics, plan):
    values = ours(metrics)
    told = []
    for away in (0.5, 3):
        bare = item(reason="")
        table = beside_print([bare], [figure(values.mean() + away * values.std())], metrics, plan)
        told.append(printed_page([bare], table, plan).blocks[1].rows[0].cells[3].text)
    assert told == ["as in print", "unknown, nothing tried"]


def test_what_is_unknown_says_what_was_tried(declared):
    for one in declared[0]:
        if "unknown" in one["reason"]:
            assert re.search(r"unknown[,:] tried|is unknown\.", one["reason"]), one


def test_what_was_not_measured_has_no_number_and_stays_listed(metrics, plan):
    unknown = figure(0.5, source="nobody")
    table = beside_print([item()], [unknown, figure(0.7, study="none")], metrics, plan)
    assert table["ours"].isna().all() and (table["n"] == 0).all()
    page = printed_page([item()], table, plan)
    assert page.path == blocks.PRINTED_PAGE
    assert [cell.text for cell in page.blocks[1].rows[0].cells] == ["2", "–", "–", "told"]


FINDING = {
    "title_of": "Found",
    "study": "adult_married",
    "says": "It is {more} ahead.",
    "values": [
        OF_ADULT
        | {"label": "more", "left": "shifted_mixture", "right": "logistic"}
        | {"comparison": "greater"}
    ],
}


def test_a_finding_is_told_with_its_numbers_where_its_rules_hold(metrics, plan):
    (found,) = told_findings([FINDING], metrics, plan)
    assert found.href == blocks.page_of("adult_married")
    assert found.answer.startswith("It is +") and " points [" in found.answer
    turned = copy.deepcopy(FINDING)
    turned["values"][0]["comparison"] = "less"
    assert list(told_findings([turned], metrics, plan)) == []


def test_a_number_has_the_interval_that_its_page_has(metrics, plan):
    """The plain interval of a share near 1 went beyond it, beside another one on the page."""
    metrics = metrics.copy()
    near = metrics["metric"].eq("accuracy") & metrics["source"].eq("logistic")
    metrics.loc[near, "value"] = 1 - 0.03 * (metrics.loc[near, "repeat"] % 2) - 0.001
    answer = copy.deepcopy(FINDING) | {"says": "{more}"}
    answer["values"][0] |= {"left": "logistic", "right": 0, "comparison": "differs"}
    numbers = StudyNumbers("adult_married", plan["studies"]["adult_married"], metrics)
    known = numbers.get("logistic", "accuracy", OF_ADULT["target"])
    shown = f"{100 * known.mean:.1f} % [{100 * known.low:.1f}, {100 * known.high:.1f}]"
    assert known.high < 1 and told_answers([answer], metrics, plan)["adult_married"] == shown


def test_findings_of_the_ledger_name_all_their_numbers(declared):
    for finding in declared[1]:
        labels = {rule["label"] for rule in finding["values"]}
        assert finding["says"].format(**dict.fromkeys(labels, "1"))
        assert all("{" + label + "}" in finding["says"] for label in labels)


def test_the_nearest_of_several_numbers_is_named(metrics, plan):
    answer = copy.deepcopy(FINDING)
    (one,) = answer["values"]
    answer["says"] = "{nearest} is: {more} and {less}."
    answer["values"].append(one | {"label": "less", "left": "logistic-lemma1"})
    answer["nearest"] = {"more": "the mixture", "less": "the weights"}
    gaps = {
        name: abs(ours_of(metrics, name).mean() - ours(metrics).mean())
        for name in ("shifted_mixture", "logistic-lemma1")
    }
    named = "the mixture" if gaps["shifted_mixture"] < gaps["logistic-lemma1"] else "the weights"
    assert told_answers([answer], metrics, plan)["adult_married"].startswith(f"{named} is: ")


def test_a_declared_answer_stands_first_on_the_page(metrics, plan):
    told = told_answers([FINDING], metrics, plan)
    assert told["adult_married"].startswith("It is +")
    numbers = StudyNumbers("adult_married", plan["studies"]["adult_married"], metrics)
    context = StudyContext("report/adult_married.html", answer=told["adult_married"])
    page, found = study_page(PAGE, numbers, context)
    assert page.blocks[0].text == found.answer == told["adult_married"]
    assert "makes up for" in page.blocks[1].text
    few = metrics[metrics["repeat"] < 2]
    assert told_answers([FINDING], few, plan) == {}, "no number, no sentence"


def test_the_small_chart_of_a_declared_answer_is_of_what_it_tells(metrics, plan):
    plain = {"study": "adult_married", "target": "general", "metric": "brier", "right": 0}
    levels = [
        plain | {"label": "one", "left": "shifted_mixture"},
        plain | {"label": "two", "left": {"source": "logistic-lemma1", "setting": ""}},
        plain | {"label": "far", "study": "other", "left": "logistic-lemma1"},
        plain | {"label": "gap", "left": "shifted_mixture", "right": "logistic-lemma1"},
    ]
    told = tuple(_levels({"study": "adult_married", "values": levels}))
    assert told == tuple(
        (source, "", "brier", "general") for source in ("shifted_mixture", "logistic-lemma1")
    )
    numbers = StudyNumbers("adult_married", plan["studies"]["adult_married"], metrics)
    points = _points_of(numbers, told)
    assert [one.mean for _, one, _ in points] == [
        numbers.get(source, "brier").mean for source, *_ in told
    ]
    assert "Brier" in points.axis and [mark for *_, mark in points] == ["main", ""]
    assert not _points_of(numbers, told[:1]) and not _points_of(numbers, ())


def test_levels_are_told_in_their_own_unit_and_differences_in_points(metrics, plan):
    level = copy.deepcopy(FINDING)
    level["values"][0]["right"] = 0
    assert " % [" in told_answers([level], metrics, plan)["adult_married"]
    assert " points [" in told_answers([FINDING], metrics, plan)["adult_married"]
