"""Sheets, sentences, figures and claims of studies of balanced filtering, by hand-made numbers."""

import copy
import html as markup
import re
from pathlib import Path

import numpy as np
import pytest
import report_filter as filters
from counterweight.evaluation.metrics.intervals import paired_interval
from counterweight.files.tables import write_table
from counterweight.plan.components import load
from counterweight.reporting.charts.filters import frontier, heatmap, tree
from counterweight.reporting.claim_files import load_claims
from counterweight.reporting.claims import decide
from counterweight.reporting.filters import sentences as filter_sentences
from counterweight.reporting.filters import sheets as filter_sheets
from counterweight.reporting.filters.tables import LAYOUT, FilterResults, main_method, setting_value
from counterweight.reporting.page.report import build_report
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import svg_text
from counterweight.reporting.page.tables import all_tables

CLAIMS = Path(__file__).resolve().parents[2] / "workflow" / "claims" / "deng_2023.yaml"
STUDIES = ("adult_filter", "bank_filter", "adult_filter_two", "bank_filter_target")


@pytest.fixture(scope="module")
def everything():
    plan = filters.plan()
    return plan, filters.metrics(plan)


@pytest.fixture(scope="module")
def deng():
    return load_claims([CLAIMS])


@pytest.fixture
def small():
    return filters.small()


def cells_of(sheet, label):
    return next(row["cells"] for row in sheet["rows"] if row["label"] == label)


def test_the_values_of_settings_are_read():
    assert setting_value("alpha=0.05") == ("alpha", 0.05) and setting_value("eta=1") == ("eta", 1.0)
    assert setting_value("everyone") is None and setting_value("alpha=0.1,eta=0") is None


def test_intervals_are_those_of_every_other_table(small):
    found = FilterResults(small, filters.settings_of())
    one = found.get("alpha_beta", "imbalance", "test", "alpha=0.2")
    assert one[:1] + one[2:5] == pytest.approx((*paired_interval([0.3, 0.4], 1 / 3), 2))
    assert (one.least, one.greatest) == (0.3, 0.4)
    assert not found.get("alpha_beta", "imbalance", "test", "alpha=0.3").known


def test_known_numbers_stand_in_their_cells(small):
    found = FilterResults(small, filters.settings_of())
    sheet = filter_sheets.overview_sheet(found, {})
    cells = cells_of(sheet, "(α,β)-proxy, α = 0.2")
    shown = dict(zip(sheet["head"][1:], cells, strict=True))
    assert shown["Imbalance, train"]["text"] == "0.250"
    assert shown["Imbalance, test"]["text"] == "0.350"
    assert [cell["text"] for cell in (cells[1], cells[3])] == ["0.250", "0.250"], "floors"
    # From 0.5 to the floor 0.25, 0.15 of 0.25 are gone: fair. 0.23 is 0.03 beyond alpha: fair.
    assert (shown["Way to it"]["text"], shown["Way to it"]["grade"]) == ("60 %", "fair")
    assert (shown["Beyond"]["text"], shown["Beyond"]["grade"]) == ("+0.030", "fair")
    assert shown["Accepted"]["text"] == "50.0 %" and shown["Rows collected"]["text"] == "500"
    assert shown["Leaves"]["text"] == "3.5"
    assert "before filtering 0.500 on training rows and 0.500 on test rows" in sheet["note"]


@pytest.mark.parametrize(
    ("way", "over", "grades"),
    [(0.7, 0.01, ("good", "good")), (0.5, 0.04, ("fair", "fair")), (0.1, 0.06, ("poor", "poor"))],
)
def test_grades_go_by_the_way_to_the_floor_and_by_the_budget(way, over, grades):
    assert (filter_sheets.way_grade(way), filter_sheets.over_grade(over)) == grades


def test_a_budget_of_zero_leaves_no_way_to_go(small):
    found = FilterResults(small, filters.settings_of())
    assert np.isnan(found.way("alpha_beta", "alpha=0", "test"))
    assert filter_sheets.way_grade(np.nan) == ""


def test_groups_are_told_before_and_after_with_figures_in_print(small):
    entry = {
        "source": "alpha_beta",
        "setting": "alpha=0.2",
        "part": "b",
        "metric": "group_gain",
        "target": "test",
        "value": 4.5,
    }
    sheet = filter_sheets.groups_sheet(FilterResults(small, filters.settings_of(), [entry]))
    texts = [cell["text"] for cell in cells_of(sheet, "b")]
    assert texts == ["50.0 %", "20.00 %", "20.00 %", "40.00", "40.00", "× 2.00"]
    assert cells_of(sheet, "b")[-1]["bracket"] == "in print × 4.5"


def test_the_classifier_stands_beside_one_of_all_rows(small):
    found = FilterResults(small, filters.settings_of())
    sheet = filter_sheets.classifier_sheet(found)
    assert [row["label"] for row in sheet["rows"]] == ["All training rows", "α = 0.2"]
    texts = [cell["text"] for cell in sheet["rows"][1]["cells"]]
    assert texts == ["84.0", "−1.0", "74.0", "−1.0", "b", "500"]
    assert sheet["rows"][1]["cells"][1]["grade"] == "fair"
    text = filter_sentences.classifier_sentence(found)
    assert "right on 84.0 % of the test rows, −1.0 points against training on everyone (fair)" in (
        text
    )


def test_a_bound_that_says_nothing_is_called_vacuous(small):
    found = FilterResults(small, filters.settings_of())
    assert filter_sheets.vacuous(found, "alpha_beta", "alpha=0.2") == ["disclosivity", "imbalance"]
    sheet = filter_sheets.bound_sheet(found)
    assert sheet["rows"][0]["cells"][-1]["text"] == "nothing on disclosivity and imbalance"
    assert "vacuous at every setting" in filter_sentences.bound_sentence(found)
    tight = small.copy()
    tight.loc[tight["metric"] == "bound_disclosivity", "value"] = 0.21
    text = filter_sentences.bound_sentence(FilterResults(tight, filters.settings_of()))
    assert "broken by (α,β)-proxy at α = 0.2 (disclosivity)" in text


def test_a_tree_beyond_its_budget_is_reported(small):
    text = filter_sentences.disclosure_sentence(FilterResults(small, filters.settings_of()))
    assert text.startswith("On training rows no tree discloses more than its α")
    assert "at most 0.030 above it ((α,β)-proxy, α = 0.2; fair)" in text
    worse = small.copy()
    rows = (worse["metric"] == "disclosivity") & (worse["target"] == "train")
    worse.loc[rows & (worse["setting"] == "alpha=0.2") & (worse["repeat"] == 1), "value"] = 0.25
    text = filter_sentences.disclosure_sentence(FilterResults(worse, filters.settings_of()))
    assert "exceeds α by up to 0.0500" in text, "the worst repeat, not the mean"


def test_attribute_classifiers_are_named(everything):
    plan, metrics = everything
    settings = plan["studies"]["bank_filter"]
    found = FilterResults(metrics[metrics["study"] == "bank_filter"], settings)
    text = filter_sentences.attribute_sentence(found)
    assert "train a classifier of the attribute" in text and "QP tree 0.720" in text
    assert "η = 0" in text


def test_the_wanted_shares_are_equal_within_a_class_or_as_told(everything):
    plan, metrics = everything
    two = FilterResults(
        metrics[metrics["study"] == "adult_filter_two"], plan["studies"]["adult_filter_two"]
    )
    assert two.share_wanted("race=White") == pytest.approx(1 / 5)
    assert two.share_wanted("sex=Male") == pytest.approx(1 / 2)
    settings = filters.settings_of(
        "bank_filter", filter={"group": ["job"], "target": {"student": 0.3}}
    )
    one = FilterResults(metrics[metrics["study"] == "bank_filter"], settings)
    assert one.share_wanted("student") == 0.3 and one.share_wanted("retired") == 0.0


def test_the_start_is_that_of_the_labels_whatever_the_target(small):
    # The labels measure the distance from the study's target, whatever settings there are.
    other = small.copy()
    other.loc[(other["metric"] == "imbalance") & (other["setting"] == "alpha=0"), "value"] = 0.7
    aimed = filters.settings_of(filter={"group": ["x"], "target": {"a": 1.0}})
    assert FilterResults(other, aimed).start("test").mean == 0.5


def test_failed_methods_keep_a_row_with_the_reason(small):
    settings = filters.settings_of(methods=("alpha_beta", "qp_tree"))
    sheet = filter_sheets.overview_sheet(FilterResults(small, settings), {"qp_tree": "no memory"})
    row = next(row for row in sheet["rows"] if row["label"] == "QP tree")
    assert row["failed"] and row["reason"] == "no memory"
    failures = [
        {
            "study": "s",
            "source": "qp_tree",
            "stage": "train",
            "log": "",
            "reason": "ERROR: no memory",
        }
    ]
    table = all_tables(small, {"studies": {"s": settings}}, (), failures)["s", "general"]
    failed = table[table["status"] == "failed"]
    assert failed["method"].tolist() == ["qp_tree"] and failed["reason"].tolist() == ["no memory"]


def test_a_study_without_any_result_is_a_page_of_reasons(deng):
    plan = filters.plan()
    metrics = filters.metrics(plan).iloc[:0]
    failures = [
        {
            "study": name,
            "source": "",
            "stage": "label",
            "log": "",
            "affects": [],
            "reason": "ERROR: the group has one value",
        }
        for name in STUDIES
    ]
    decided = decide(deng[0], metrics, plan, failures)
    assert set(decided["verdict"]) == {"cannot be tested"}
    page = build_report(plan, metrics, decided, failures)
    assert page.count("the group has one value") >= len(filters.METHODS)


def test_the_table_holds_every_setting_in_order(everything, tmp_path):
    plan, metrics = everything
    table = all_tables(metrics, plan)["bank_filter", "general"]
    assert tuple(table.columns) == LAYOUT
    rows = table.query("method == 'relaxed' and metric == 'imbalance' and target == 'test'")
    assert rows["setting"].tolist() == [f"alpha={alpha:g}" for alpha in filters.ALPHAS]
    assert table["method"].drop_duplicates().tolist() == list(filters.METHODS)
    write_table(tmp_path / "t.parquet", table)


def text_of(page):
    return markup.unescape(
        re.sub(r"<[^>]+>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL))
    )


def test_the_page_tells_the_family(everything, deng):
    plan, metrics = everything
    page = build_report(plan, metrics, decide(deng[0], metrics, plan), (), {}, deng[1])
    text = text_of(page)
    for words in (
        "Balanced samples without asking for the group",
        "Before filtering the imbalance is 0.252",
        "The proxies near α = 0.2",
        "Shares of the groups before and after filtering",
        "Disclosivity, α",
        "Acceptance rate",
        "vacuous",
        "in print × 4.5",
    ):
        assert words in text, words
    assert "nan" not in re.sub(r"[a-z]*nan[a-z]+|[a-z]+nan", "", text.lower())
    assert page == build_report(plan, metrics, decide(deng[0], metrics, plan), (), {}, deng[1])


def test_one_repeat_gives_no_intervals_but_a_page(deng):
    plan = filters.plan(repeats=1)
    metrics = filters.metrics(plan)
    decided = decide(deng[0], metrics, plan).set_index("id")
    assert decided.loc["B15", "verdict"] == "holds", "exact identities need one repeat"
    assert decided.loc["B16", "verdict"] == "cannot be tested"
    sheet = filter_sheets.overview_sheet(
        FilterResults(metrics[metrics["study"] == "adult_filter"], plan["studies"]["adult_filter"]),
        {},
    )
    assert all(cell["bracket"] == "" for row in sheet["rows"] for cell in row["cells"])
    assert "0.736" in build_report(plan, metrics, decide(deng[0], metrics, plan))


def test_a_main_method_is_one_with_results(small):
    found = FilterResults(small, filters.settings_of(methods=("naive_tree", "alpha_beta")))
    assert main_method(found, "relaxed", "nothing") == "alpha_beta"
    assert main_method(FilterResults(small, filters.settings_of(methods=("relaxed",)))) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    for name in ("adult_filter", "bank_filter"):
        filters.files(folder / name, name)
    return folder


@pytest.mark.parametrize("name", filters.FIGURES)
@pytest.mark.parametrize("study", ["adult_filter", "bank_filter"])
def test_figures_are_drawn_with_failed_methods_and_one_repeat(name, study, everything, folder):
    plan, metrics = everything
    few = metrics[~metrics["source"].isin(["relaxed", "qp_tree", "naive_regression"])]
    few = few[few["repeat"] == 0]
    results = StudyResults(study, plan["studies"][study], few, folder / study)
    text = svg_text(load("figure", name)(results))
    assert ">No " not in text and len(text) > 5000


def test_figures_of_two_groups_and_of_two_classes(small, everything):
    plan = {"s": filters.settings_of()}
    for name in ("tradeoff", "frontier", "proportions"):
        results = StudyResults("s", plan["s"], small, "nowhere")
        assert ">No " not in svg_text(load("figure", name)(results))
    plan, metrics = everything
    results = StudyResults("adult_filter_two", plan["studies"]["adult_filter_two"], metrics, ".")
    assert "race: White" in svg_text(load("figure", "proportions")(results))


def test_a_front_has_no_point_that_another_beats():
    points = [(0.0, 0.5), (0.1, 0.4), (0.1, 0.3), (0.2, 0.35), (0.3, 0.3), (0.4, 0.1)]
    front = frontier.front_of(points)
    assert front == [(0.0, 0.5), (0.1, 0.3), (0.4, 0.1)]
    for x, y in points:
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        assert beaten is ((x, y) not in front)


def test_heat_maps_show_the_leaves_by_mass(everything):
    plan, metrics = everything
    found = FilterResults(
        metrics[metrics["study"] == "adult_filter"], plan["studies"]["adult_filter"]
    )
    leaves, shares, mass, accepted = heatmap.leaves_of(
        found, "alpha_beta", "alpha=0.8", found.groups()
    )
    assert shares.sum(axis=1) == pytest.approx(np.ones(filters.LEAVES))
    assert mass.sum() == pytest.approx(1) and sorted(leaves) == ["0", "1", "2", "3"]
    assert dict(zip(leaves, accepted, strict=True))["3"] == 1.0


def test_the_outline_names_every_leaf_and_what_speaks_for_yes(folder):
    proxy = filters.files(folder / "again", "adult_filter")
    nodes = proxy.rules("alpha=1")
    features = ["age", "hours_per_week", "years_of_education", "marital_status=Never-married"]
    lines = tree.outline(nodes, features, list(filters.RACES), {})
    leaves = [line for line in lines if line["kind"] == "leaf"]
    assert len(leaves) == sum(node["leaf"] is not None for node in nodes) > 1
    assert sum(node["mass"] for node in nodes if node["leaf"] is not None) == pytest.approx(1)
    split = nodes[0]
    up = [features[k].replace("_", " ") for k, b in split["terms"] if b > 0 and k < 3]
    words = lines[0]["texts"][0]
    assert all(word in words.partition("low")[0] for word in up)
    assert [line["answer"] for line in lines[:2]] == ["", "yes"]


def test_the_outline_folds_small_branches_of_large_trees():
    def node(number, parent, side, depth, leaf, mass):
        return {
            "node": number,
            "parent": parent,
            "side": side,
            "depth": depth,
            "leaf": leaf,
            "mass": mass,
            "shares": [0.5, 0.5],
            "terms": [(0, 1.0)],
            "hypotheses": [(1.0, [1.0], 0.0)],
            "cut": None,
        }

    nodes, mass, parent, side = [], 1.0, -1, None
    for depth in range(30):
        nodes.append(node(2 * depth, parent, side, depth, None, mass))
        nodes.append(node(2 * depth + 1, 2 * depth, 0, depth + 1, depth, 0.1 * mass))
        parent, side, mass = 2 * depth, 1, 0.9 * mass
    nodes.append(node(60, parent, 1, 30, 30, mass))
    lines = tree.outline(nodes, ["age"], ["a", "b"], {})
    assert sum(line["kind"] == "leaf" for line in lines) == 13
    folded = [line for line in lines if line["kind"] == "folded"]
    assert len(folded) == 1 and folded[0]["texts"][0].startswith("18 more leaves")


def test_without_the_proxy_the_tree_says_so(everything, tmp_path):
    plan, metrics = everything
    study = plan["studies"]["adult_filter"]
    results = StudyResults("adult_filter", study, metrics, tmp_path)
    assert ">No tree to draw" in svg_text(tree.draw(results))


def test_the_tree_is_that_of_the_filter_given_away(everything):
    plan, metrics = everything
    own = metrics[metrics["study"] == "adult_filter"]
    settings = copy.deepcopy(plan["studies"]["adult_filter"])
    assert tree.tree_shown(FilterResults(own, settings)) == ("alpha_beta", "alpha=0.2")
    settings["filter"]["given"] = {"method": "relaxed", "setting": "alpha=0.4", "repeat": 0}
    assert tree.tree_shown(FilterResults(own, settings)) == ("relaxed", "alpha=0.4")


def test_samples_of_hardly_any_rows_are_warned_of(small):
    settings = filters.settings_of()
    assert not any(
        "turning" in text for text in filter_sentences.warnings(FilterResults(small, settings))
    )
    few = small.copy()
    few.loc[few["metric"] == "collected", "value"] = 12.0
    text = next(filter_sentences.warnings(FilterResults(few, settings)))
    assert "fewer than 100 training rows" in text and "2 settings (α = 0 to 0.2)" in text
