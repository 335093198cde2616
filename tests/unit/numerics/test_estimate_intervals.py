"""Intervals: closed forms and limits."""

import math

import numpy as np
import pytest
from counterweight.numerics.estimate import (
    around,
    bounds_of_difference,
    counted_interval,
    mean_variance,
    normal_interval,
    paired_interval,
)
from scipy import stats
from scipy.special import betaincinv, ndtr, stdtrit


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


def test_intervals_stay_within_bounds_on_the_scale_of_the_quantity():
    # Three accuracies that differ much: plain, the interval would be 17 to 141 %.
    values = [0.5, 0.9, 0.97]
    low, high = paired_interval(values, 0.0, bounds=(0.0, 1.0))[1:]
    mean, half = 0.79, paired_interval(values, 0.0)[2] - 0.79
    odds, step = mean / (1 - mean), half / (mean * (1 - mean))
    ends = [odds * math.exp(sign * step) for sign in (-1, 1)]
    assert (low, high) == pytest.approx([end / (1 + end) for end in ends])
    assert 0 < low < mean < high < 1 < mean + half
    # The same told as failures, in per cent, or as a difference from another unit's zero.
    turned = paired_interval([1 - value for value in values], 0.0, bounds=(0.0, 1.0))
    assert turned[1:] == pytest.approx((1 - high, 1 - low))
    scaled = paired_interval([100 * v - 50 for v in values], 0.0, bounds=(-50.0, 50.0))
    assert scaled[1:] == pytest.approx((100 * low - 50, 100 * high - 50))
    # One bound is the limit of two of which one is far away.
    logged = paired_interval(values, 0.0, bounds=(0.0, None))[1:]
    assert logged == pytest.approx([mean * math.exp(sign * half / mean) for sign in (-1, 1)])
    assert logged == pytest.approx(paired_interval(values, 0.0, bounds=(0.0, 1e9))[1:])
    mirrored = paired_interval([-value for value in values], 0.0, bounds=(None, 0.0))[1:]
    assert mirrored == pytest.approx((-logged[1], -logged[0]))


def test_a_mean_at_its_bound_keeps_its_place():
    assert around(1.0, 0.1, (0.0, 1.0)) == (0.9, 1.0)
    assert around(1.0, 0.0, (0.0, 1.0)) == (1.0, 1.0)
    assert all(math.isnan(end) for end in around(0.5, math.nan, (0.0, 1.0)))
    low, high = around(np.array([0.5, -0.2]), 10.0, ([0.0, 0.0], [1.0, np.nan]))
    assert 0 <= low[0] < high[0] <= 1 and (low[1], high[1]) == (-0.2, 9.8)


def test_an_end_that_tells_nothing_is_not_told():
    # One of ten counts that are else 0: its log scale would end at 10^7 times the mean.
    assert all(math.isnan(end) for end in around(1.5, 25.0, (0.0, None)))
    low, high = around(1.5, 10.0, (0.0, None))
    assert (low, high) == pytest.approx((1.5 * math.exp(-10 / 1.5), 1.5 * math.exp(10 / 1.5)))


@pytest.mark.parametrize("repeats", [3, 5, 10])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_intervals_of_shares_hold_the_truth_as_often_as_they_say(repeats, share):
    # Beta values that are correlated by what splits share; the plain interval holds in 87 %.
    rng, tries = np.random.default_rng(repeats), 4000
    shared, own = rng.normal(size=(tries, 1)), rng.normal(size=(tries, repeats))
    chances = ndtr(math.sqrt(share) * shared + math.sqrt(1 - share) * own)
    quantile, plain = stdtrit(repeats - 1, 0.975), []
    for truth, spread in ((0.02, 0.01), (0.1, 0.07), (0.5, 0.2), (0.79, 0.1), (0.95, 0.04)):
        size = truth * (1 - truth) / spread**2 - 1
        values = betaincinv(truth * size, (1 - truth) * size, chances)
        variance = values.var(axis=1, ddof=1) * (1 / repeats + share / (1 - share))
        mean, half = values.mean(axis=1), quantile * np.sqrt(variance)
        low, high = around(mean, half, (0.0, 1.0))
        assert np.all((low > 0) & (high < 1) & (low <= mean) & (mean <= high))
        assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.97
        plain.append(np.mean(np.abs(mean - truth) <= half))
    assert min(plain) < 0.935


def test_a_difference_lies_between_the_differences_of_the_bounds():
    assert bounds_of_difference((0.0, 1.0), (0.0, 1.0)) == (-1.0, 1.0)
    assert bounds_of_difference((0.0, None), (0.0, None)) == (None, None)
    assert bounds_of_difference((0.0, None), (0.2, 0.2)) == (-0.2, None)


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


def test_few_rewards_have_the_interval_of_their_count():
    """Six that count alike are a Poisson count; what lowers the estimate is its mirror image."""
    low, high = counted_interval(6 * 0.5, np.full(6, 0.5), further=(0.1, 0.0))
    exact = stats.chi2.ppf(0.025, 12) / 4, stats.chi2.ppf(0.975, 14) / 4
    assert (low, high) == pytest.approx(exact, rel=1e-9)
    turned = counted_interval(-3.0, np.full(6, -0.5), further=(0.0, 0.1))
    assert turned == pytest.approx((-high, -low), rel=1e-9)
    # A further reward larger than all seen; none seen; rows without a reward.
    assert counted_interval(3.0, np.full(6, 0.5), further=(2.0, 0.0))[1] > high + 1
    assert counted_interval(0.0, np.empty(0), further=(1.0, 0.0)) == pytest.approx(
        (0, -np.log(0.025)), rel=1e-9
    )
    assert counted_interval(1.0, np.empty(0), 0.25) == pytest.approx((0.020018, 1.979982), abs=1e-6)


def test_differences_of_sums_of_few_rewards_are_covered():
    """600 sums of five rewards up and three down, of unlike sizes; misses on both sides."""
    rng, missed = np.random.default_rng(3), np.zeros(2)
    sizes, means = np.array([1.0, 3.0, -1.0, -2.0]), np.array([4.0, 1.0, 2.0, 1.0])
    for _ in range(600):
        counts = rng.poisson(means)
        influence = np.repeat(sizes, counts)
        low, high = counted_interval(influence.sum(), influence, further=(1.5, 1.5))
        missed += [sizes @ means < low, sizes @ means > high]
    assert missed.sum() <= 600 * 0.07 and (missed <= 600 * 0.04).all()
    assert missed.sum() >= 600 * 0.005  # not by being wide beyond use
