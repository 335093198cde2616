"""Which of two methods is better."""

import numpy as np
import pytest
from counterweight.evaluation.cross_validation import better
from counterweight.numerics.estimate import ratio_mean


@pytest.fixture
def rng():
    """The same numbers in each test."""
    return np.random.default_rng(7)


def test_the_difference_is_paired_and_weighted(rng):
    a, w = rng.gamma(2, 1, 500), rng.gamma(2, 1, 500)
    b = a + rng.normal(0.1, 0.2, 500)
    found = better(a, b, w)
    known = ratio_mean(b - a, w)
    assert found.gain.value == pytest.approx(known.value)
    assert found.errors == pytest.approx(known.value / known.standard_error, rel=0.01)
    assert found.clear
    assert found.loss_b - found.loss_a == pytest.approx(known.value)
    turned = better(b, a, w)
    assert turned.gain.value == pytest.approx(-found.gain.value) and not turned.clear
    assert "A has a smaller log loss than B, " in found.sentence()
    assert "old has a larger error than new" in turned.sentence("old", "new", "error")


def test_copies_of_rows_count_once_as_groups(rng):
    a, b = rng.gamma(2, 1, 200), rng.gamma(2, 1, 200)
    once = better(a, b)
    groups = better(np.repeat(a, 4), np.repeat(b, 4), group=np.repeat(np.arange(200), 4))
    assert groups.errors == pytest.approx(once.errors) and groups.gain.rows == 800


def test_a_difference_below_rounding_is_none():
    loss = np.random.default_rng(0).gamma(2, 1, 500)
    for other in (loss, loss * (1 + 2e-16), loss + 5e-17):
        found = better(other, loss)
        assert found.gain.value == 0 and found.errors == 0 and not found.clear
        assert "have the same log loss" in found.sentence()
    assert better(loss - 1e-6, loss).clear


def test_few_heavy_rows_must_show_more():
    w = np.append(np.ones(200), [300.0, 400.0])
    difference = np.append(np.zeros(200), [0.5, 0.4])
    found = better(np.zeros(202), difference, w)
    assert found.needed > 1.15
