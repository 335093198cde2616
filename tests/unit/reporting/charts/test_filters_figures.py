"""Figures of filters: fronts, leaves and rules."""

import numpy as np
import pytest
import report_filter as filters
from counterweight.reporting.charts import filters_figures, forms
from counterweight.reporting.charts.filters_figures import (
    Filters,
    front_of,
    leaves_of,
    outline,
    tree_shown,
)
from counterweight.reporting.numbers import StudyNumbers
from drawn_studies import draw, dressed


@pytest.mark.parametrize("figure", filters.FIGURES)
def test_filters_are_drawn_with_failed_methods_and_one_repeat(figure, study_of):
    lost = ["relaxed", "qp_tree", "naive_regression"]
    study = study_of(
        figure, change=lambda rows: rows[~rows["source"].isin(lost) & (rows["repeat"] == 0)]
    )
    assert ">No " not in forms.svg_text(draw(figure, study).figure)


def test_filters_of_two_groups_are_drawn():
    for name in ("tradeoff", "frontier", "proportions"):
        plan = dressed(filters, "adult_filter")
        plan["methods"] = [one for one in plan["methods"] if one["id"] == "alpha_beta"]
        numbers = StudyNumbers("s", plan, filters.small(), "nowhere")
        assert len(draw(name, numbers).points)


def test_groups_of_two_columns_are_named_by_both(study_of):
    study = study_of("proportions", name="adult_filter_two")
    assert "race: White" in forms.svg_text(draw("proportions", study).figure)


def test_a_front_has_no_point_that_another_beats():
    points = [(0.0, 0.5), (0.1, 0.4), (0.1, 0.3), (0.2, 0.35), (0.3, 0.3), (0.4, 0.1)]
    front = front_of(points)
    assert front == [(0.0, 0.5), (0.1, 0.3), (0.4, 0.1)]
    for x, y in points:
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        assert beaten is ((x, y) not in front)


def test_heat_maps_show_the_leaves_by_mass(study_of):
    known = Filters(study_of("heatmap"))
    leaves, shares, mass, accepted = leaves_of(known, "alpha_beta", "alpha=0.8")
    assert shares.sum(axis=1) == pytest.approx(np.ones(filters.LEAVES))
    assert mass.sum() == pytest.approx(1) and sorted(leaves) == ["0", "1", "2", "3"]
    assert dict(zip(leaves, accepted, strict=True))["3"] == 1.0


def test_the_outline_names_every_leaf_and_what_speaks_for_yes(tmp_path):
    proxy = filters.files(tmp_path, "adult_filter")
    nodes = proxy.rules("alpha=1")
    features = ["age", "hours_per_week", "years_of_education", "marital_status=Never-married"]
    lines = outline(nodes, features, list(filters.RACES), {})
    leaves = [line for line in lines if line["kind"] == "leaf"]
    assert len(leaves) == sum(node["leaf"] is not None for node in nodes) > 1
    assert sum(node["mass"] for node in nodes if node["leaf"] is not None) == pytest.approx(1)
    up = [features[k].replace("_", " ") for k, b in nodes[0]["terms"] if b > 0 and k < 3]
    words = lines[0]["texts"][0]
    assert all(word in words.partition("low")[0] for word in up)
    assert [line["answer"] for line in lines[:2]] == ["", "yes"]


def test_the_outline_folds_small_branches_of_large_trees():
    def node(number, parent, side, depth, leaf, mass):
        place = {"node": number, "parent": parent, "side": side, "depth": depth, "leaf": leaf}
        rule = {"terms": [(0, 1.0)], "hypotheses": [(1.0, [1.0], 0.0)], "cut": None}
        return place | rule | {"mass": mass, "shares": [0.5, 0.5]}

    nodes, mass, parent, side = [], 1.0, -1, None
    for depth in range(30):
        nodes.append(node(2 * depth, parent, side, depth, None, mass))
        nodes.append(node(2 * depth + 1, 2 * depth, 0, depth + 1, depth, 0.1 * mass))
        parent, side, mass = 2 * depth, 1, 0.9 * mass
    nodes.append(node(60, parent, 1, 30, 30, mass))
    lines = outline(nodes, ["age"], ["a", "b"], {})
    assert sum(line["kind"] == "leaf" for line in lines) == 13
    folded = [line for line in lines if line["kind"] == "folded"]
    assert len(folded) == 1 and folded[0]["texts"][0].startswith("18 more leaves")


def test_without_the_proxy_the_tree_says_so(study_of, tmp_path):
    study = study_of("tree")
    study.folder = tmp_path
    assert ">No tree to draw" in forms.svg_text(draw("tree", study).figure)


def test_the_tree_is_that_of_the_filter_given_away(study_of):
    study = study_of("tree")
    assert tree_shown(Filters(study)) == ("alpha_beta", "alpha=0.2")
    study.plan["filter"]["given"] = {"method": "relaxed", "setting": "alpha=0.4", "repeat": 0}
    assert tree_shown(Filters(study)) == ("relaxed", "alpha=0.4")


def test_the_front_of_a_filter_trades_what_is_drawn(study_of):
    for name in ("frontier", "tradeoff"):
        points = draw(name, study_of(name)).points
        assert points["value"].min() >= 0 and len(points) > 3


def test_shares_of_groups_are_those_that_were_measured(study_of):
    study = study_of("proportions")
    points = draw("proportions", study).points
    for part in study.places("part", "labels", "group_share", "test"):
        known = study.get("labels", "group_share", "test", part=part).mean
        assert np.isclose(points["value"], 100 * known).any()


def test_one_point_is_its_own_front_and_ties_are_the_lower():
    assert front_of([(1.0, 1.0)]) == [(1.0, 1.0)] and front_of([]) == []
    assert front_of([(0.0, 1.0), (1.0, 1.0)]) == [(0.0, 1.0)]
    assert front_of([(0.0, 1.0), (0.0, 0.5)]) == [(0.0, 0.5)]


def test_a_leaf_tells_its_largest_shifts_in_points_and_a_split_its_signs():
    node = {"leaf": 3, "mass": 0.125, "shares": [0.5, 0.2, 0.3]}
    base = np.array([0.4, 0.3, 0.3])
    first, shifts = filters_figures._leaf_texts(node, 0.25, base, ["sex=f", "sex=m", "none"])
    assert first.startswith("Leaf 3: 12.5 % of people, accepted ")
    assert "sex: f +10.0" in shifts and "sex: m \N{MINUS SIGN}10.0" in shifts
    assert "none" not in shifts
    first, same = filters_figures._leaf_texts(node, np.nan, np.array(node["shares"]), [])
    assert first == "Leaf 3: 12.5 % of people" and same == "shares as among all"
    split = {"terms": [(0, 0.4), (1, -0.2), (2, 0.1), (3, -0.1)], "hypotheses": [1, 2]}
    text = filters_figures._split_text(split, ["age", "income", "job=clerk", "home=own"])
    words = ["high age", "low income", "job=clerk", "not home=own"]
    shown = filters_figures._TERMS
    assert [word in text for word in words] == [place < shown for place in range(4)]
    assert text.endswith("? (2 rules mixed)")
    assert filters_figures._split_text({"terms": [], "hypotheses": [1]}, []) == "by chance?"
