"""Splits by hand: sides, memberships of shared trees, what is stored, and trees to read."""

import numpy as np
import pytest
from counterweight.numerics import boosted_trees
from counterweight.selection import split_growth
from counterweight.selection.split_growth import ROOT, Split

NAN = float("nan")
#: Two half-spaces of one feature, mixed; then a cut through two conditions of one hypothesis.
MIXED = Split(ROOT, np.array([0.25, 0.5]), np.array([[1.0, 0], [0, 2]]), np.array([-1.0, 1]), NAN)
BOTH = Split(
    (0, 1),
    np.array([0.6, 0.3]),
    np.array([[1.0, 0], [0, 1], [0, -1]]),
    np.zeros(3),
    0.3,
    np.array([0, 0, 1]),
    0.125,
)
X = np.array([[1.0, -0.5], [2, -0.5], [1, 0], [2, 1], [-3, -2]])


def test_a_condition_holds_above_zero_and_a_sum_counts_above_the_cut():
    np.testing.assert_array_equal(MIXED.side(X), [0, 0.25, 0.5, 0.75, 0])
    # Both conditions, or the third: .6 is above the cut, .3 is on it.
    np.testing.assert_array_equal(BOTH.side(X), [0, 0, 0, 1, 0])
    assert MIXED.one_each and not BOTH.one_each
    over = Split(ROOT, np.array([0.75, 0.5]), np.zeros((2, 2)), np.ones(2), NAN)
    np.testing.assert_array_equal(over.side(X), np.ones(5))


def test_rows_go_the_same_way_alone_and_among_many():
    rng = np.random.default_rng(0)
    rows, b = rng.normal(size=(2 * split_growth.BLOCK + 5, 7)), rng.normal(size=(3, 7))
    split = Split(ROOT, np.array([0.2, 0.3, 0.5]), b, np.array([0.0, 1, -1]), NAN)
    whole = split.side(rows)
    scores = rows @ b.T + [0, 1, -1]
    np.testing.assert_allclose(whole, (scores > 0) @ [0.2, 0.3, 0.5])
    for at in (0, split_growth.BLOCK, len(rows) - 1):
        assert split.side(rows[at : at + 1])[0] == whole[at]


def test_memberships_multiply_along_the_way_from_the_root():
    trees = [[ROOT], [(0, 1), (0, 0)], [(1, 1), (1, 0), (0, 0)]]
    first, second, third = split_growth.memberships([MIXED, BOTH], trees, X)
    side, deeper = MIXED.side(X), BOTH.side(X)
    np.testing.assert_array_equal(first, np.ones((5, 1)))
    np.testing.assert_array_equal(second, np.column_stack([side, 1 - side]))
    expected = np.column_stack([side * deeper, side * (1 - deeper), 1 - side])
    np.testing.assert_array_equal(third, expected)


def test_unused_splits_are_left_out_and_the_others_renumbered():
    splits = [MIXED, BOTH, MIXED._replace(place=(0, 0)), BOTH._replace(place=(2, 0))]
    trees = [[(0, 1), (3, 1), (3, 0), (2, 1)], [ROOT]]
    assert split_growth.ancestors(splits, trees[0]) == {0, 2, 3}
    assert [split_growth.depth(splits, place) for place in (ROOT, (0, 1), (2, 1), (3, 0))] == [
        *(0, 1, 2, 3)
    ]
    kept, again = split_growth.pruned(splits, trees)
    assert [split.place for split in kept] == [ROOT, (0, 0), (1, 0)]
    assert again == [[(0, 1), (2, 1), (2, 0), (1, 1)], [ROOT]]


@pytest.mark.parametrize("splits", [[MIXED], [MIXED._replace(owner=np.arange(2)), BOTH], []])
def test_splits_are_what_they_were_when_stored(splits):
    arrays = split_growth.packed(splits, 2)
    assert ("condition_hypothesis" in arrays) == ("split_beyond" in arrays) == (len(splits) == 2)
    assert arrays["hypothesis_coefficients"].shape[1] == 2
    again = split_growth.unpacked({key: values for key, values in arrays.items() if values.size})
    assert len(again) == len(splits)
    for one, other in zip(splits, again, strict=True):
        assert other.place == one.place
        np.testing.assert_array_equal(other.side(X), one.side(X))
        np.testing.assert_array_equal([other.cut, other.violation], [one.cut, one.violation])


def test_a_tree_to_read_adds_up_and_names_what_moves_it_most():
    mass, shares = np.array([0.2, 0.3, 0.5]), np.array([[1.0, 0], [0.5, 0.5], [0.2, 0.8]])
    leaves = [(1, 1), (1, 0), (0, 0)]
    nodes = split_growth.readable([MIXED, BOTH], leaves, mass, shares, np.array([1.0, 3]), 1)
    assert [node["parent"] for node in nodes] == [-1, 0, 1, 1, 0]
    assert [node["side"] for node in nodes] == [None, 1, 1, 0, 0]
    assert [node["leaf"] for node in nodes] == [None, None, 0, 1, 2]
    assert [node["depth"] for node in nodes] == [0, 1, 2, 2, 1]
    np.testing.assert_allclose([node["mass"] for node in nodes], [1, 0.5, 0.2, 0.3, 0.5])
    np.testing.assert_allclose(nodes[1]["shares"], [0.7, 0.3])
    np.testing.assert_allclose(nodes[0]["shares"], [0.45, 0.55])
    # The weightier hypothesis counts, and of its features the one of the farther reach.
    assert nodes[0]["terms"] == [(1, 2.0)] and nodes[1]["terms"] == [(0, 1.0)]
    assert nodes[0]["hypotheses"] == [(0.25, [1, 0], -1.0), (0.5, [0, 2], 1.0)]
    assert nodes[1]["hypotheses"] == [(0.6, [[1, 0], [0, 1]], [0, 0]), (0.3, [[0, -1]], [0])]
    assert nodes[0]["cut"] is None and nodes[1]["cut"] == 0.3
    wide = MIXED._replace(p=np.array([0.9, 0.1]), coefficients=np.array([[1.0, -2], [0, 2]]))
    (root, *_) = split_growth.readable([wide], [(0, 1), (0, 0)], mass[:2], shares[:2], [5.0, 1], 6)
    assert root["terms"] == [(0, 1.0), (1, -2.0)]
    chance = MIXED._replace(coefficients=np.zeros((2, 2)))
    (root, *_) = split_growth.readable(
        [chance], [(0, 1), (0, 0)], mass[:2], shares[:2], [5.0, 1], 6
    )
    assert root["terms"] == []


def test_rows_end_where_a_tree_of_thresholds_sends_them():
    feature, threshold = np.array([0, -1, 1, -1, -1]), np.array([1.0, 0, -0.5, 0, 0])
    left, right = np.array([1, -1, 3, -1, -1]), np.array([2, -1, 4, -1, -1])
    found = boosted_trees.end_nodes(X, feature, threshold, left, right)
    np.testing.assert_array_equal(found, [1, 3, 1, 4, 1])
