"""Intervals: closed forms and limits."""

import math

import numpy as np
import pytest
from counterweight.evaluation.metrics.intervals import (
    mean_variance,
    normal_interval,
    paired_interval,
)


def test_corrected_interval_has_its_closed_form():
    # Mean 2, variance 1; t(0.975, 2) = 4.302652730; 1/3 + 0.4/0.6 = 1, so the half width is t.
    mean, low, high = paired_interval([1.0, 2.0, 3.0], test_share=0.4)
    assert mean == 2.0
    assert (high - low) / 2 == pytest.approx(4.302652729911275, abs=1e-9)
    assert (high + low) / 2 == pytest.approx(2.0, abs=1e-12)


def test_without_a_test_share_it_is_the_t_interval():
    from scipy import stats

    values = np.random.default_rng(1).normal(size=12)
    expected = stats.t.interval(0.9, 11, values.mean(), stats.sem(values))
    assert paired_interval(values, 0.0, level=0.9)[1:] == pytest.approx(expected)


def test_one_split_gives_no_bounds_and_none_gives_nothing():
    mean, low, high = paired_interval([0.3], 0.4)
    assert mean == 0.3 and math.isnan(low) and math.isnan(high)
    assert all(math.isnan(value) for value in paired_interval([], 0.4))


def test_equal_differences_give_a_point():
    assert paired_interval([0.5, 0.5, 0.5], 0.4) == (0.5, 0.5, 0.5)


def test_a_larger_test_share_widens_the_interval():
    narrow, wide = (paired_interval([0.1, 0.2, 0.4], share) for share in (0.1, 0.6))
    assert wide[2] - wide[1] > narrow[2] - narrow[1]


@pytest.mark.parametrize("arguments", [(1.0,), (-0.1,), (0.4, 1.0)])
def test_shares_and_levels_out_of_range_are_refused(arguments):
    with pytest.raises(ValueError, match="must"):
        paired_interval([1.0, 2.0], *arguments)


def test_normal_interval_is_plus_minus_1_96_standard_errors():
    assert normal_interval(1.0, 0.5) == pytest.approx((0.0200180, 1.9799820), abs=1e-6)


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_means_over_splits_have_their_coverage_at_any_test_share(share):
    # Least squares on few rows: most rows are test rows, and are those of every split.
    rng, rows, splits, tries = np.random.default_rng(0), 400, 8, 250
    few = round(rows * (1 - share))

    def measured(X, y, order):
        fit = np.linalg.lstsq(X[order[:few]], y[order[:few]], rcond=None)[0]
        loss = (y[order[few:]] - X[order[few:]] @ fit) ** 2
        return loss.mean(), loss.var() / len(loss)

    def drawn(size):
        X = rng.normal(size=(size, 3))
        return X, X.sum(axis=1) + rng.normal(size=size)

    truth = np.mean([measured(*drawn(few + 500), np.arange(few + 500))[0] for _ in range(800)])
    held, widths = 0, []
    for _ in range(tries):
        X, y = drawn(rows)
        values = np.array([measured(X, y, rng.permutation(rows)) for _ in range(splits)])
        variance = mean_variance(values[:, 0].var(ddof=1), splits, share, values[:, 1].mean())
        half = 2.365 * np.sqrt(variance)
        held += abs(values[:, 0].mean() - truth) <= half
        widths.append(half)
    assert 0.9 <= held / tries <= 0.995
    # Nadeau and Bengio's would be wider than the errors themselves.
    if share > 0.5:
        plain = 2.365 * np.sqrt(values[:, 0].var(ddof=1) * (1 / splits + share / (1 - share)))
        assert np.mean(widths) < 0.5 * plain
