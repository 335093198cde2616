"""Groups as memberships: names, targets, leaf tables, and what is refused."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.groups import (
    balance_change,
    block_starts,
    checked_memberships,
    checked_target,
    disclosivity,
    group_names,
    imbalance,
    leaf_table,
    memberships,
    target_shares,
    uniform_target,
)


def test_targets_by_name_are_put_in_order_and_checked():
    np.testing.assert_allclose(target_shares(None, ["a", "b"], [2]), 0.5)
    np.testing.assert_allclose(target_shares({"b": 0.3, "a": 0.7}, ["a", "b"], [2]), [0.7, 0.3])
    with pytest.raises(CounterweightError, match="names c"):
        target_shares({"c": 1.0}, ["a", "b"], [2])
    with pytest.raises(CounterweightError, match="sum to 0.9"):
        target_shares({"a": 0.9}, ["a", "b"], [2])
    with pytest.raises(CounterweightError, match="by its name"):
        target_shares([0.5, 0.5], ["a", "b"], [2])
    np.testing.assert_allclose(target_shares({1: 0.3, 2: 0.7}, ["1", "2"], [2]), [0.3, 0.7])


def test_groups_are_sorted_and_named_by_class_where_there_are_several():
    race, sex = np.array(["b", "a", None, "b"], object), np.array(["m", "f", "f", np.nan], object)
    assert group_names([race], ["race"]) == ([["a", "b"]], ["a", "b"])
    names, titles = group_names([race, sex], ["race", "sex"])
    assert names == [["a", "b"], ["f", "m"]]
    assert titles == ["race=a", "race=b", "sex=f", "sex=m"]
    with pytest.raises(CounterweightError, match="has 1 group .*at least two"):
        group_names([np.array(["a", "a"], object)], ["race"])
    with pytest.raises(CounterweightError, match="no group at all in 2 rows"):
        group_names([np.array([None, None], object)], ["race"])


def test_memberships_have_one_1_in_each_block():
    Z = memberships([["a", "b", "a"], ["m", "f", "f"]], [["a", "b"], ["f", "m"]])
    np.testing.assert_array_equal(Z, [[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 1, 0]])
    with pytest.raises(CounterweightError, match="no known group in 2 of 3 .*first: row 1, 'c'"):
        memberships([np.array(["a", "c", None], object)], [["a", "b"]])
    with pytest.raises(CounterweightError, match="have 2, 3 rows"):
        memberships([["a", "b"], ["f", "m", "f"]], [["a", "b"], ["f", "m"]])
    np.testing.assert_array_equal(block_starts([3, 2, 4]), [0, 3, 5])


def test_memberships_of_training_rows_are_checked():
    Z = np.array([[1.0, 0, 1, 0], [0, 1, 0, 1]])
    assert checked_memberships(Z.astype(bool), [2, 2]).dtype == float
    for wrong, classes, said in (
        (Z, [2, 3], r"shape \(2, 4\), and the classes have 5"),
        (Z[:0], [2, 2], "no training row"),
        (np.eye(3), [1, 2], "Class 1 has 1 group"),
        (Z * [[1], [0.5]], [2, 2], "1 rows have a membership other than 0 or 1 .first: row 1"),
        (Z[:, [0, 1, 2, 2]], [2, 2], "2 rows do not have exactly one group .*first: row 0"),
        (Z[:1], [2, 2], "2 of 4 groups have no training row .first: group 2"),
        ([["x"]], [1], "must be numbers"),
    ):
        with pytest.raises(CounterweightError, match=said):
            checked_memberships(wrong, classes)


def test_a_target_is_a_distribution_within_each_class_up_to_rounding():
    np.testing.assert_allclose(uniform_target([2, 4]), [0.5, 0.5, 0.25, 0.25, 0.25, 0.25])
    near = [0.5, 0.5 + 9e-7, 1.0, 0.0]
    np.testing.assert_array_equal(checked_target(near, [2, 2]), near)
    for wrong, classes, said in (
        ([0.5, 0.5 + 2e-6], [2], "target's shares sum to 1, not 1"),
        ([0.5, 0.5, 0.7, 0.2], [2, 2], "of class 2 sum to 0.9"),
        ([1.5, -0.5], [2], "entry 2 is -0.5"),
        ([np.nan, 1.0], [2], "entry 1 is nan"),
        (["a", "b"], [2], "no list of numbers"),
    ):
        with pytest.raises(CounterweightError, match=said):
            checked_target(wrong, classes)


def test_leaves_as_a_table_and_what_they_tell():
    member = np.array([[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0, 1, 0]])
    Z = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    mass, A = leaf_table(member, Z)
    np.testing.assert_allclose(mass, [0.375, 0.625, 0])
    np.testing.assert_allclose(A, [[1, 0], [0.2, 0.8], [0.5, 0.5]])
    assert disclosivity(mass, A, np.array([0.5, 0.5])) == 0.5
    assert disclosivity(mass, np.array([[0.4, 0.6], [0.5, 0.5], [9, 9]]), 0.5) == pytest.approx(0.1)
    assert disclosivity(np.zeros(2), A[:2], 0.5) == 0.0
    assert imbalance([0.5, 0.5], np.array([0.2, 0.1])) == pytest.approx(0.5)


def test_the_change_of_the_imbalance_is_that_of_both_shares_of_the_same_rows():
    Z = np.repeat([[1.0, 0.0], [0.0, 1.0]], [60, 40], axis=0)
    p = np.repeat([0.5, 1.0, 0.5], [40, 20, 40])
    value, low, high = balance_change(p, Z, np.full(2, 0.5))
    # Of two groups the distance is sqrt 2 times that of a share: 2 / 3 of the accepted, 0.6 of all.
    assert value == pytest.approx(np.sqrt(2) * (2 / 3 - 0.6))
    assert (low + high) / 2 == pytest.approx(value) and low < value < high
    assert balance_change(np.full(100, 0.3), Z, np.full(2, 0.5)) == pytest.approx((0.0, 0.0, 0.0))
    alone = balance_change(np.eye(100)[3], Z, np.full(2, 0.5))
    assert np.isnan(alone[1:]).all(), "one row tells nothing of chance"


@pytest.mark.parametrize(
    ("share", "leaf"),
    [
        ([0.495, 0.505], [0.55, 0.45]),  # all are near the target, and the filter moves away
        ([0.6, 0.4], [0.4, 0.6]),  # the accepted are near it
        ([0.5, 0.5], [0.5, 0.5]),
        ([0.34, 0.33, 0.33], [0.5, 0.4, 0.4]),
    ],
)
def test_intervals_of_the_change_hold_the_truth_near_the_target(share, leaf):
    share, leaf, K = np.array(share), np.array(leaf), len(share)
    rng, target = np.random.default_rng(7), np.full(K, 1 / K)
    after = share * (0.1 + 0.9 * leaf)
    truth = imbalance(after / after.sum(), target) - imbalance(share, target)
    held = []
    for _ in range(500):
        group = rng.choice(K, 1000, p=share)
        p = np.where(rng.random(1000) < leaf[group], 1.0, 0.1)
        _, low, high = balance_change(p, np.eye(K)[group], target)
        held.append(low <= truth <= high)
    assert np.mean(held) > 0.93, "a distance has a kink where it is 0"


@pytest.mark.parametrize("moved", [0.0, 0.6])
def test_intervals_of_the_change_hold_the_truth_and_falls_are_shown_only_where_there_are_some(
    moved,
):
    rng, n, target = np.random.default_rng(3), 600, np.full(3, 1 / 3)
    share = np.array([0.5, 0.3, 0.2])
    # Each group's chance to fall into the accepted leaf: alike, so that nothing changes, or not.
    leaf = np.array([0.4, 0.4, 0.4]) * (1 + moved * np.array([-0.5, 0.0, 0.8]))
    after = share * (0.1 + 0.9 * leaf) / (share @ (0.1 + 0.9 * leaf))
    truth = imbalance(after, target) - imbalance(share, target)
    held, fell = [], []
    for _ in range(2000):
        group = rng.choice(3, n, p=share)
        p = np.where(rng.random(n) < leaf[group], 1.0, 0.1)
        _, low, high = balance_change(p, np.eye(3)[group], target)
        held.append(low <= truth <= high)
        fell.append(high < 0)
    assert 0.94 <= np.mean(held) <= 0.965
    assert np.mean(fell) > 0.8 if moved else np.mean(fell) < 0.03
