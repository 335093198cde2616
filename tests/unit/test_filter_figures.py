"""Figures of studies of balanced filtering, by hand-made numbers."""

import copy

import numpy as np
import pytest
import report_filter as filters
from counterweight.plan.components import load
from counterweight.reporting.charts.filters import frontier, heatmap, tree
from counterweight.reporting.numbers import StudyNumbers


@pytest.fixture(scope="module")
def everything():
    plan = filters.plan()
    return plan, filters.metrics(plan)


@pytest.fixture
def small():
    return filters.small()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("filters")
    for name in ("adult_filter", "bank_filter"):
        filters.files(folder / name, name)
    return folder


def nothing_is_missing(drawing):
    return len(drawing.points) > 0 and not drawing.title.startswith("No ")


@pytest.mark.parametrize("name", filters.FIGURES)
@pytest.mark.parametrize("study", ["adult_filter", "bank_filter"])
def test_figures_are_drawn_with_failed_methods_and_one_repeat(name, study, everything, folder):
    plan, metrics = everything
    few = metrics[~metrics["source"].isin(["relaxed", "qp_tree", "naive_regression"])]
    few = few[few["repeat"] == 0]
    numbers = StudyNumbers(study, plan["studies"][study], few, folder / study)
    assert nothing_is_missing(load("figure", name)(numbers))


def test_figures_of_two_groups_and_of_two_classes(small, everything):
    for name in ("tradeoff", "frontier", "proportions"):
        numbers = StudyNumbers("s", filters.settings_of(), small, "nowhere")
        assert nothing_is_missing(load("figure", name)(numbers))
    plan, metrics = everything
    numbers = StudyNumbers("adult_filter_two", plan["studies"]["adult_filter_two"], metrics)
    assert nothing_is_missing(load("figure", "proportions")(numbers))


def test_a_front_has_no_point_that_another_beats():
    points = [(0.0, 0.5), (0.1, 0.4), (0.1, 0.3), (0.2, 0.35), (0.3, 0.3), (0.4, 0.1)]
    front = frontier.front_of(points)
    assert front == [(0.0, 0.5), (0.1, 0.3), (0.4, 0.1)]
    for x, y in points:
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        assert beaten is ((x, y) not in front)


def test_heat_maps_show_the_leaves_by_mass(everything):
    plan, metrics = everything
    numbers = StudyNumbers("adult_filter", plan["studies"]["adult_filter"], metrics)
    leaves, shares, mass, accepted = heatmap.leaves_of(
        numbers, "alpha_beta", "alpha=0.8", list(filters.RACES)
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
    drawing = tree.draw(StudyNumbers("adult_filter", study, metrics, tmp_path))
    assert not nothing_is_missing(drawing)


def test_the_tree_is_that_of_the_filter_given_away(everything):
    plan, metrics = everything
    study = copy.deepcopy(plan["studies"]["adult_filter"])
    assert tree.tree_shown(StudyNumbers("adult_filter", study, metrics)) == (
        "alpha_beta",
        "alpha=0.2",
    )
    study["filter"]["given"] = {"method": "relaxed", "setting": "alpha=0.4", "repeat": 0}
    numbers = StudyNumbers("adult_filter", study, metrics)
    assert tree.tree_shown(numbers) == ("relaxed", "alpha=0.4")
