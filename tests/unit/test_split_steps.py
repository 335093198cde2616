"""Lemma 3 on random points, and the steps of trees whose splits are known."""

import numpy as np
import pytest
from counterweight.numerics.geometry import closest_in_hull
from counterweight.selection.proxies.split_growth import (
    CASE,
    GAMMA,
    counterexample,
    lemma3,
    step_records,
    steps,
)
from counterweight.selection.proxies.split_rules import ROOT, Split


def split(place):
    return Split(place, np.ones(1), np.zeros((1, 1)), np.zeros(1), np.nan)


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_splits_that_meet_the_conditions_shrink_the_distance(groups):
    """The hull before is one leaf, so that U' = R(V), as at the first split of a tree."""
    rng, met = np.random.default_rng(groups), 0
    target = np.full(groups, 1 / groups)
    for _ in range(4000):
        gamma = rng.uniform(0.01, 0.3)
        parent, child = rng.dirichlet(np.full(groups, 0.3), size=2)
        if lemma3(parent, child, parent, target, gamma):
            met += 1
            A = np.array([parent, child])
            after = np.linalg.norm(closest_in_hull(A, target) @ A - target)
            assert after <= (1 - gamma) * np.linalg.norm(parent - target) + 1e-9
    assert met > 20, "the conditions are met by some"


def test_conditions_are_not_met_by_moves_away_or_within_the_target():
    parent, target = np.array([0.9, 0.1]), np.array([0.5, 0.5])
    assert not lemma3(parent, np.array([1.0, 0.0]), parent, target, 0.1)
    assert not lemma3(target, np.array([1.0, 0.0]), target, target, 0.1)


def test_steps_are_the_distances_of_the_growing_hull():
    # The root splits into (0.9, 0.1) and (0.7, 0.3); the latter into (0.6, 0.4) and (0.8, 0.2).
    splits = [split(ROOT), split((0, 0))]
    leaves = [(0, 1), (1, 1), (1, 0)]
    mass = np.array([0.5, 0.25, 0.25])
    shares = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]])
    found = steps(splits, leaves, mass, shares, np.array([0.5, 0.5]), closest_in_hull)
    distance = [np.sqrt(2) * gap for gap in (0.3, 0.2, 0.1)]
    assert [step.before for step in found] == pytest.approx(distance[:2])
    assert [step.after for step in found] == pytest.approx(distance[1:])
    records = step_records(found)
    assert records["split_shrink"] == pytest.approx(2 / 3)
    assert records["lemma3_splits"] == sum(step.qualified for step in found)


def test_a_tree_without_splits_has_no_steps():
    found = steps([], [ROOT], np.ones(1), np.array([[0.9, 0.1]]), np.full(2, 0.5), closest_in_hull)
    assert found == [] and step_records(found) == {"lemma3_splits": 0.0}


def test_the_printed_conditions_do_not_suffice_for_every_leaf():
    """The leaf of the counterexample is not the nearest point of the hull."""
    target, before = np.full(3, 1 / 3), CASE[:2]
    point = closest_in_hull(before, target) @ before
    assert lemma3(CASE[0], CASE[2], point, target, GAMMA)
    left = np.linalg.norm(closest_in_hull(CASE, target) @ CASE - target)
    assert left / np.linalg.norm(point - target) == pytest.approx(0.906, abs=1e-3)
    assert counterexample(closest_in_hull) == pytest.approx(0.906 / 0.861, abs=2e-3)
