"""Which of two methods is better, and whether weights are worth it."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.cross_validation import better, keep_weights
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


def test_equal_losses_keep_nothing():
    kept = keep_weights(np.ones(50), np.ones(50), np.ones(50))
    assert not kept.keep and "leave the log loss" in kept.reason
    assert "have the same log loss" in kept.comparison.sentence()


def test_weights_are_kept_where_they_help_and_only_there(rng):
    loss, w = rng.gamma(2, 1, 2000), rng.gamma(2, 1, 2000)
    helped = keep_weights(loss - 0.05, loss + rng.normal(0, 0.2, 2000), w)
    assert helped.keep and helped.reason.startswith("Weighted: weights lower the log loss")
    hurt = keep_weights(loss + 0.05, loss, w, name="squared error")
    assert not hurt.keep and "raise the squared error" in hurt.reason
    noisy = keep_weights(loss - 0.001, loss + rng.normal(0, 0.5, 2000) * (w > 5), w)
    assert noisy.keep == noisy.comparison.clear


def test_few_heavy_rows_must_show_more(rng):
    w = np.append(np.ones(200), [300.0, 400.0])
    difference = np.append(np.zeros(200), [0.5, 0.4])
    found = better(np.zeros(202), difference, w)
    assert found.needed > 1.15
    kept = keep_weights(np.zeros(202), difference, w)
    assert not kept.keep and "202 labeled rows are worth 3, too few" in kept.reason
    even = better(np.zeros(5000), rng.normal(size=5000), np.ones(5000))
    assert even.needed == pytest.approx(1, abs=0.01)


def test_chance_keeps_useless_weights_at_most_one_time_in_six(rng):
    kept = []
    for _ in range(400):
        w = np.exp(1.3 * rng.normal(size=200))
        kept.append(keep_weights(np.zeros(200), rng.standard_t(4, size=200), w).keep)
    assert 0.1 < np.mean(kept) < 0.19


def test_mistakes_are_told():
    with pytest.raises(CounterweightError, match="same rows"):
        better(np.zeros(3), np.zeros(4))
    with pytest.raises(CounterweightError, match="groups of shape"):
        better(np.zeros(3), np.zeros(3), group=np.zeros(2))


def test_large_losses_are_told_in_full(rng):
    a = rng.gamma(2, 1e9, 500)
    told = better(a, a + rng.normal(2.5e9, 1e8, 500)).sentence("A", "B", "mean squared error")
    assert "e+" not in told and "a smaller mean squared error than B, " in told
