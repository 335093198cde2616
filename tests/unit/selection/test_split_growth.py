"""Lemma 3 on random points, and the steps of trees whose splits are known."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.numerics.geometry import closest_in_hull
from counterweight.selection.split_game import Design
from counterweight.selection.split_growth import (
    CASE,
    GAMMA,
    ROOT,
    SLACK,
    Search,
    Split,
    Step,
    _gap,
    counterexample,
    lemma3,
    step_records,
    steps,
)
from counterweight.selection.split_tree import SplitTreeProxy


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
    found = steps(splits, leaves, mass, shares, np.array([0.5, 0.5]))
    distance = [np.sqrt(2) * gap for gap in (0.3, 0.2, 0.1)]
    assert [step.before for step in found] == pytest.approx(distance[:2])
    assert [step.after for step in found] == pytest.approx(distance[1:])
    records = step_records(found)
    assert records["split_shrink"] == pytest.approx(2 / 3)
    assert records["lemma3_splits"] == sum(step.qualified for step in found)


def test_a_tree_without_splits_has_no_steps():
    found = steps([], [ROOT], np.ones(1), np.array([[0.9, 0.1]]), np.full(2, 0.5))
    assert found == [] and step_records(found) == {"lemma3_splits": 0.0}


def test_the_printed_conditions_do_not_suffice_for_every_leaf():
    """The leaf of the counterexample is not the nearest point of the hull."""
    target, before = np.full(3, 1 / 3), CASE[:2]
    point = closest_in_hull(before, target) @ before
    assert lemma3(CASE[0], CASE[2], point, target, GAMMA)
    left = np.linalg.norm(closest_in_hull(CASE, target) @ CASE - target)
    assert left / np.linalg.norm(point - target) == pytest.approx(0.906, abs=1e-3)
    assert counterexample() == pytest.approx(0.906 / 0.861, abs=2e-3)


def conditions(parent, child, nearest, target, gamma):
    """The three conditions of Lemma 3, in angles and lengths."""
    along, rest = target - nearest, 1 - (1 - gamma) ** 2
    away = np.linalg.norm(parent - nearest)
    if not along.any() or rest * away**2 > 2:
        return False
    turn = 2 - away**2 + 2 * away * (1 - gamma) * np.sqrt(2 - rest * away**2)
    far = np.linalg.norm(child - parent) * (1 - gamma) >= np.sqrt(rest) * np.linalg.norm(along)
    cosine = (child - parent) @ along / np.linalg.norm(along)
    segment = nearest - child
    foot = (target - child) @ segment
    inside = 0 < foot < segment @ segment
    return bool(far and inside and cosine >= np.sqrt(rest * max(turn, 0)))


@pytest.mark.parametrize("groups", [2, 3, 4])
def test_the_conditions_are_those_of_the_paper_for_leaves_anywhere(groups):
    rng, met = np.random.default_rng(groups), 0
    for _ in range(6000):
        gamma = rng.uniform(0.001, 0.25)
        parent, child, other, target = rng.dirichlet(np.full(groups, 0.4), size=4)
        nearest = parent + rng.choice([0, 0.1, 0.5]) * (other - parent)
        expected = conditions(parent, child, nearest, target, gamma)
        assert lemma3(parent, child, nearest, target, gamma) == expected
        met += expected
    assert met > 50


def test_steps_weigh_leaves_by_their_mass_and_the_child_towards_the_target_counts():
    splits = [split(ROOT), split((0, 0)), split((1, 1))]
    leaves, mass = [(0, 1), (2, 1), (2, 0), (1, 0)], np.array([0.1, 0.2, 0.3, 0.4])
    shares = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])
    target = np.array([0.2, 0.3, 0.5])

    def mean(*at):
        return mass[[*at]] @ shares[[*at]] / mass[[*at]].sum()

    hulls = [[mean(0, 1, 2, 3)], [mean(0), mean(1, 2, 3)], [mean(0), mean(1, 2), mean(3)], shares]
    distances = [np.linalg.norm(closest_in_hull(A, target) @ A - target) for A in hulls]
    found = steps(splits, leaves, mass, shares, target, 0.001)
    assert [step.before for step in found] == pytest.approx(distances[:-1])
    assert [step.after for step in found] == pytest.approx(distances[1:])
    parents = [mean(0, 1, 2, 3), mean(1, 2, 3), mean(1, 2)]
    pairs = [(mean(0), mean(1, 2, 3)), (mean(1, 2), mean(3)), (shares[1], shares[2])]
    for step, A, parent, pair in zip(found, hulls, parents, pairs, strict=False):
        point = closest_in_hull(A, target) @ A
        child = max(pair, key=lambda one: (one - parent) @ (target - point))
        assert step.qualified == conditions(parent, child, point, target, 0.001)
    taken = [Step(1.0, 0.5, False), Step(0.5, 0.4, True), Step(0.4, 0.1, True), Step(0.0, 0, False)]
    assert step_records(taken) == {
        **{"lemma3_splits": 2.0, "split_shrink": 0.8, "lemma3_shrink": 0.8}
    }
    empty = steps([split(ROOT)], [(0, 1), (0, 0)], np.array([1.0, 0]), shares[:2], target)
    assert empty[0].before == pytest.approx(np.linalg.norm(shares[0] - target))


def test_the_child_beyond_the_target_qualifies_a_split_whichever_it_is():
    leaves, shares = [(0, 1), (0, 0)], np.array([[0.6, 0.4], [0.0, 1.0]])
    for order in ([0, 1], [1, 0]):
        told = np.array([0.5, 0.5]), shares[order], np.array([0.5, 0.5])
        (step,) = steps([split(ROOT)], leaves, *told, 0.001)
        assert step.qualified and step.after == pytest.approx(0)


def test_a_zero_of_scores_moves_into_the_middle_of_a_gap():
    assert _gap(np.array([-3.0, 1.0])) == 1.0 and _gap(np.array([-1.0, 0.0, 4.0])) == -2.0
    assert _gap(np.array([-1.0, 0.0])) == _gap(np.array([1.0, 2.0])) == 0.0
    # The gap at zero is rounding: the next one is taken, nearest to zero.
    assert _gap(np.array([-1.0, -1e-12, 1e-12, 3.0])) == pytest.approx(0.5)
    assert _gap(np.array([-4.0, -1e-12, 1e-12, 3.0])) == pytest.approx(-1.5)
    assert _gap(np.array([-1e-9, 1.0])) == pytest.approx(-0.5)
    assert _gap(np.array([-1e-10, 1e-10, 1.0])) == pytest.approx(-0.5)


def world(n=400):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 3))
    Z = np.eye(3)[(X[:, 0] + rng.normal(size=n) > 0.5) + (X[:, 1] > 1.2).astype(int)]
    return X, Z


def searching(X, Z, hypotheses="linear", **given):
    design = Design(X, Z, Z.shape[1], l2=1e-6, hypotheses=hypotheses)
    levels = {"thresholds": 3, "rounds": 4, "epsilon": 1e-4, "solver": "program"}
    rules = {"cone": False, "deterministic": False, "least": 1.0, "min_decrease": 0.01}
    rules |= {"tol": 0.002, "max_depth": 20, "max_leaf_nodes": 40}
    U = np.full(Z.shape[1], 1 / Z.shape[1])
    return Search(design, Z.mean(axis=0), U, levels, **rules | given)


def test_of_splits_that_drop_nearly_as_much_the_heavier_one_is_first():
    # Of a drop of .6 at most, .42 counts as nearly the same: up to a distance of .58.
    tried = {"best": (0.4, 10), "at": (0.58, 30), "less": (0.61, 99), "none": (0.9, 999)}
    tried |= {"near": (0.5, 30)}
    candidates = [(one, name, 0.5, 0) for name, one in tried.items()]
    ordered = searching(*world())._ordered(candidates, 1.0, 0.9)
    assert [one[1] for one in ordered] == ["near", "at", "best", "less"]
    assert searching(*world())._ordered(candidates, 1.0, 0.4) == []


def test_the_limit_rises_to_alpha_over_the_levels_of_a_tree():
    search = searching(*world(), max_depth=4)
    assert search._limits(search.root, 0.2).alpha == pytest.approx(0.2 - SLACK * 0.8, abs=1e-12)
    assert search._limits(search.root, 0.2, 0.5).alpha == pytest.approx(0.2 - 0.9 * SLACK)
    search.root.depth = 3
    assert search._limits(search.root, 0.2).alpha == pytest.approx(0.2 - 0.2 * SLACK, abs=1e-12)


def test_what_is_told_of_a_split_is_what_its_children_are():
    X, Z = world()
    search = searching(X, Z)
    A = search.root.shares[None]
    tried = search._tried(search.root, A, 0, search.U - A[0], 0.3)
    assert len(tried) > 1
    for (distance, least), p, cut in tried:
        N = p @ search.root.sums
        inside = N.sum()
        both = np.array([N / inside, (search.root.shares - N) / (1 - inside)])
        point = closest_in_hull(both, search.U) @ both
        assert distance == pytest.approx(np.linalg.norm(point - search.U))
        assert least == pytest.approx(len(X) * min(inside, 1 - inside)) and np.isnan(cut)
        children, made = search._children(search.root, p, cut, 0.3)
        assert [child.place for child in children] == [(0, 1), (0, 0)]
        assert [child.depth for child in children] == [1, 1]
        np.testing.assert_allclose(children[0].weight + children[1].weight, 1)
        np.testing.assert_allclose(children[0].weight, made.side(X))
        assert min(child.mass for child in children) == pytest.approx(least, rel=0.1)


def test_a_split_beyond_its_limit_is_mixed_with_an_even_chance():
    X, Z = world()
    search = searching(X, Z)
    search.root.prepare()
    search.root.play((search.U - search.root.shares)[None])
    p = np.eye(3)[2]
    (one, other), plain = search._children(search.root, p, np.nan, 0.9)
    far = max(np.abs(child.shares - search.r).max() for child in (one, other))
    assert plain.p.tolist() == [1.0]
    (one, other), mixed = search._children(search.root, p, np.nan, far / 2)
    found = max(np.abs(child.shares - search.r).max() for child in (one, other))
    assert found == pytest.approx(far / 2, abs=2 * SLACK) and found <= far / 2
    share = mixed.p[0]
    assert 0 < share < 1 and mixed.p.tolist() == [share, (1 - share) / 2]
    np.testing.assert_allclose(one.weight, share * plain.side(X) + (1 - share) / 2)
    np.testing.assert_allclose(one.weight, mixed.side(X))
    search.deterministic = True
    assert search._children(search.root, p, 0.5, far / 2) is None


@pytest.mark.parametrize("splits", ["randomised", "thresholded"])
def test_a_leaf_may_have_exactly_the_least_rows(splits):
    X = np.repeat([[0.0], [1.0]], [90, 10], axis=0)
    Z = np.eye(2)[((np.arange(100) % 10 == 0) | (X[:, 0] > 0)).astype(int)]
    given = {"alphas": [1.0], "splits": splits, "hypotheses": "stumps", "preset": "deep"}
    sizes = {}
    for least in (10, 11):
        proxy = SplitTreeProxy(**given, min_samples_leaf=least).fit(X, Z, classes=[2])
        sizes[least] = sorted(100 * proxy.mass_[0])
        if least == 10:
            assert proxy.splits_[0].p.tolist() == [1.0]
    assert sizes[10] == pytest.approx([10, 90])
    assert splits == "randomised" or sizes[11] == pytest.approx([100])
    assert min(sizes[11]) >= 11 - 1e-6


class Seen(Search):
    """A search that only tells along what it looks for splits of which leaf."""

    def __init__(self, target):
        self.U, self.min_decrease, self.least, self.max_depth = target, 0.0, 1.0, 9
        self.asked = []

    def _tried(self, leaf, A, j, D, alpha):
        self.asked.append((j, D.tolist()))
        return []


def test_splits_are_looked_for_along_what_the_mixture_of_the_leaves_lacks():
    search = Seen(np.array([0.5, 0.5]))
    leaves = [SimpleNamespace(shares=s, mass=10.0, depth=0) for s in ([0.9, 0.1], [0.7, 0.3])]
    # A quarter of the first and three of the second leaf have three quarters of the first group.
    assert search._split(leaves, np.array([0.25, 0.75]), 0.3) is None
    lacks = pytest.approx([-0.25, 0.25])
    assert search.asked == [(1, lacks), (0, lacks)]
