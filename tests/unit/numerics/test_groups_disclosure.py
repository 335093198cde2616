"""Bounds of what a partition tells: exact intervals, coverage, what needs no bound."""

import itertools

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.groups import (
    disclosure,
    disclosure_by_design,
    drawn_parts,
    exact_interval,
    memberships,
    part_counts,
    rows_needed,
)
from scipy.stats import binom


def test_exact_intervals_miss_by_half_on_each_side():
    low, high = exact_interval([0, 3, 20], [20, 20, 20], 0.1)
    assert low[0] == 0 and high[2] == 1
    assert binom.sf(2, 20, low[1]) == pytest.approx(0.05)
    assert binom.cdf(3, 20, high[1]) == pytest.approx(0.05)
    assert exact_interval(0, 0, 0.1) == (0, 1)


def test_the_value_is_the_largest_shift_by_hand():
    counts = np.array([[60, 20], [10, 10]])
    found = disclosure(counts, [2])
    assert found.value == pytest.approx(0.7 - 0.5) and found.rows == 100
    assert found.bounds.shape == (2, 2) and found.bound == found.bounds.max() > found.value
    np.testing.assert_array_equal(found.bounds[:, 0], found.bounds[:, 1])


def test_one_part_tells_nothing_and_an_empty_part_may_tell_everything():
    assert disclosure([[30, 70]], [2]).bound == 0
    assert disclosure([[30, 70], [0, 0]], [2]).bound > 0.6


@pytest.mark.parametrize("classes", [[2], [3], [2, 3]])
def test_the_bound_covers_the_truth_in_all_but_a_few_samples(classes):
    rng = np.random.default_rng(len(classes) + sum(classes))
    misses, draws = 0, 400
    for _ in range(draws):
        mass = rng.dirichlet(np.full(4, 3.0))
        shares = [rng.dirichlet(np.full(k, 4.0), 4) for k in classes]
        true = max(np.abs(A - mass @ A).max() for A in shares)
        part = rng.choice(4, 300, p=mass)
        blocks = []
        for A in shares:
            ends = np.cumsum(A, axis=1)[part, :-1]
            group = (rng.random(300)[:, None] > ends).sum(axis=1)
            blocks.append(group[:, None] == np.arange(A.shape[1]))
        Z = np.concatenate(blocks, axis=1).astype(float)
        misses += disclosure(part_counts(part, Z, 4), classes, 0.95).bound < true
    assert misses <= draws * 0.05 + 2 * np.sqrt(draws * 0.05 * 0.95)


def test_a_bound_holds_whatever_the_groups_of_those_who_did_not_answer():
    """Each part's own are all of one group, or half of each."""
    shares, rows = np.array([[0.5, 0.5], [0.3, 0.7]]), np.array([40.0, 60.0])
    mass, lost = np.array([0.4, 0.6]), np.array([8.0, 20.0])
    plain = disclosure_by_design(shares, rows, mass)[1]
    bound = disclosure_by_design(shares, rows, mass, lost=lost)[1]
    bounds = []
    for first in itertools.product([0.0, 0.5, 1.0], repeat=2):
        theirs = np.column_stack([first, np.subtract(1, first)])
        told = (shares * rows[:, None] + theirs * lost[:, None]) / (rows + lost)[:, None]
        bounds.append(disclosure_by_design(told, rows + lost, mass)[1])
    assert max(bounds) == pytest.approx(bound) and bound > plain > min(bounds)


def test_more_rows_bring_the_bound_down_to_the_value():
    counts = np.array([[60, 20, 10], [10, 10, 30]])
    bounds = [disclosure(counts * times, [3]).bound for times in (1, 10, 100, 100_000)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == pytest.approx(disclosure(counts, [3]).value, abs=2e-3)


def test_the_rows_needed_are_just_enough_for_parts_that_tell_nothing():
    for alpha in (0.05, 0.2):
        least = rows_needed(alpha, 0.95, [2])
        half = least / 4
        assert disclosure(np.full((2, 2), half), [2]).bound <= alpha
        assert disclosure(np.full((2, 2), half * 0.9), [2]).bound > alpha


def test_parts_are_drawn_by_their_probabilities():
    member = np.tile([0.2, 0.0, 0.5, 0.3], (10_000, 1))
    parts = drawn_parts(member, (np.arange(10_000) + 0.5) / 10_000)
    np.testing.assert_array_equal(np.bincount(parts, minlength=4), [2000, 0, 5000, 3000])
    assert drawn_parts(np.array([[1.0, 0.0]]), np.array([1 - 2**-53]))[0] == 0


def test_counts_are_those_of_the_memberships():
    Z = memberships([np.array(["a", "b", "a"], object)], [["a", "b"]])
    np.testing.assert_array_equal(part_counts([0, 0, 2], Z, 3), [[1, 1], [0, 0], [1, 0]])


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(CounterweightError, match="no row"):
        disclosure([[0, 0], [0, 0]], [2])
