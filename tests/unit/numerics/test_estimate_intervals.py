"""Intervals: closed forms and limits."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.numerics.estimate import (
    Shape,
    anytime_interval,
    around,
    bounds_of_difference,
    counted_interval,
    doubly_robust_mean,
    hidden_mean,
    independent_interval,
    influence_shape,
    mean_of_some,
    mean_variance,
    normal_interval,
    paired_interval,
    share_interval,
    t_interval,
    value_interval,
    variance_of_block,
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


def test_a_single_kind_of_reward_has_the_exact_interval_of_a_poisson_count():
    """12 rewards of influence 2 each: twice the ends of a count of 12 (Garwood 1936)."""
    low, high = counted_interval(24.0, np.full(12, 2.0))
    assert low == pytest.approx(2 * stats.chi2.ppf(0.025, 24) / 2)
    assert high == pytest.approx(2 * stats.chi2.ppf(0.975, 26) / 2)
    # Those that lower it mirror it, and the largest further reward widens one end alone.
    mirrored = counted_interval(-24.0, np.full(12, -2.0))
    assert mirrored == pytest.approx((-high, -low))
    wide = counted_interval(24.0, np.full(12, 2.0), further=(5.0, 0.0))
    assert wide[0] == low and wide[1] > high
    # Rows without a reward add their variance, by the normal quantile.
    rest = counted_interval(24.0, np.full(12, 2.0), rest=9.0)
    assert rest[0] == pytest.approx(24 - np.hypot(24 - low, 1.959964 * 3))
    assert rest[1] == pytest.approx(24 + np.hypot(high - 24, 1.959964 * 3))
    assert counted_interval(0.0, np.zeros(0)) == (0.0, 0.0)


def test_an_interval_for_all_times_has_the_boundary_of_its_theorem():
    """Theorem 2.2 of Waudby-Smith et al., for a standard deviation of error times root n."""
    alpha, at, error = 0.05, 400, 0.02
    rho2 = (-2 * np.log(alpha) + np.log(-2 * np.log(alpha)) + 1) / at
    for draws in (50, 400, 9000):
        low, high = anytime_interval(0.3, error, draws, at)
        inner = draws * rho2 + 1
        half = np.sqrt(2 * inner / (draws**2 * rho2) * np.log(np.sqrt(inner) / alpha))
        assert (high - 0.3, 0.3 - low) == pytest.approx((half * error * np.sqrt(draws),) * 2)
    widths = [np.diff(anytime_interval(0, 1, n, 400))[0] for n in (20, 100, 400, 1600, 9000)]
    assert np.argmin(widths) == 2


def test_values_stay_in_the_range_of_rewards_where_they_are_in_it():
    shape = Shape(0.0, 0.0, 3.0)
    inside = value_interval(0.1, 0.2, shape, 50, reward_range=(0.0, 1.0))
    assert inside[0] >= 0
    # An unweighted mean beyond the range has no end there.
    beyond = value_interval(1.2, 0.2, shape, 50, reward_range=(0.0, 1.0))
    assert beyond[1] > 1.2 > beyond[0] > 0
    below = value_interval(-0.2, 0.1, shape, 50, reward_range=(0.0, 1.0))
    assert below[0] < -0.2 and below[1] < 1
    kept = value_interval(0.9, 0.3, shape, 50, reward_range=(0.0, 1.0), weighted=True)
    assert kept[1] == 1.0
    # Without any error the upper end is not known, as no reward was seen; 0 is the least.
    low, high = value_interval(0.0, 0.0, Shape(), 50, reward_range=(0.0, 1.0))
    assert low == 0 and np.isnan(high)
    assert np.isnan(value_interval(0.5, 0.0, Shape(), 50, reward_range=(0.2, 1.0))).all()


def test_influences_have_the_error_and_shape_of_their_values():
    c = np.random.default_rng(2).exponential(size=40) - 1
    c -= c.mean()
    error, shape = influence_shape(40, c @ c, (c**3).sum(), (c**4).sum(), 0.0)
    assert error == pytest.approx(np.sqrt(c @ c * 40 / 39))
    assert shape.skewness == pytest.approx(stats.skew(c))
    assert shape.kurtosis == pytest.approx(stats.kurtosis(c, fisher=False))
    assert np.isnan(influence_shape(1, 1.0, 0.0, 0.0, 0.0)[0])


def test_means_over_splits_that_share_no_rows_differ_by_welchs_interval():
    one, other = np.array([1.0, 2.0, 4.0, 3.0]), np.array([2.0, 0.5, 1.0])
    found = independent_interval((one, other), (0.0, 0.0), (np.nan, np.nan))
    known = stats.ttest_ind(one, other, equal_var=False).confidence_interval()
    assert found == pytest.approx((one.mean() - other.mean(), known.low, known.high))
    assert independent_interval(([1, 1], [3, 3]), (0.2, 0.2), (0.0, 0.0)) == (-2, -2, -2)
    wider = independent_interval((one, other), (0.3, 0.3), (np.nan, np.nan))
    assert wider[1] < found[1] and wider[2] > found[2]


def test_t_intervals_are_those_of_their_degrees():
    for freedom in (3.0, 12.5):
        half = 0.4 * stats.t.ppf(0.95, freedom)
        assert t_interval(2.0, 0.4, freedom, level=0.9) == pytest.approx((2 - half, 2 + half))


def test_residuals_put_right_what_was_expected_whatever_it_was():
    values, weight, design = (
        np.array([1.0, 3.0, 5.0]),
        np.array([1.0, 2.0, 1.0]),
        np.array([1.0, 3]),
    )
    for guess in (0.0, 2.0):
        mean, error = doubly_robust_mean(
            values, np.full(3, guess), weight, np.full(2, guess), design
        )
        assert mean == pytest.approx(3.0)
        assert error == pytest.approx(np.sqrt((4 + 4) / 16))
    # Expectations that are right need no weights: only their spread over the target is left.
    mean, error = doubly_robust_mean(values, values, weight, np.array([0.0, 4.0]), design)
    assert mean == 3.0 and error == pytest.approx(np.sqrt(9 / 16 + 9 / 16))


def test_a_mean_of_hidden_rows_counts_groups_once():
    """With each row a group it is the plain one; with two groups of equal sums nothing is left."""
    residual, weight = np.array([1.0, -1.0, 2.0, -2.0]), np.ones(4)
    plain = hidden_mean(residual, weight, np.zeros(2), np.ones(2), 0.0)
    own = hidden_mean(residual, weight, np.zeros(2), np.ones(2), 0.0, np.array([4, 1, 9, 2]))
    assert own == pytest.approx(plain)
    assert plain[1] == pytest.approx(np.sqrt(10 / 16 * 4 / 3))
    kurtosis = 4 * (1 + 1 + 16 + 16) / 100
    assert plain[2] == pytest.approx(min(2 / (kurtosis / 4 - 1 / 4), 3.0))
    pairs = hidden_mean(residual, weight, np.zeros(2), np.array([1.0, 3.0]), 4.0, [0, 0, 1, 1])
    assert pairs[1] == pytest.approx(np.sqrt(4.0 * (1 + 9) / 16)) and pairs[2] == 1.0
    noise = hidden_mean(residual, weight, np.array([1.0, 5.0]), np.array([1.0, 3.0]), [1.0, 2.0])
    assert noise[0] == 4.0
    assert noise[1] ** 2 == pytest.approx(10 / 16 * 4 / 3 + (1 + 9 * 2) / 16)


@pytest.mark.parametrize("hits", [0, 1, 7, 39, 40])
def test_the_interval_of_a_share_is_scipys_of_as_many_rows_as_its_error_is_worth(hits):
    share = hits / 40
    exact = stats.binomtest(hits, 40).proportion_ci(0.9, method="exact")
    error = math.sqrt(share * (1 - share) / 40)
    assert share_interval(share, error, 40, 0.9) == pytest.approx(tuple(exact))
    # More rows that are worth no more; at the ends nothing is known of what they are worth.
    many = 10**9
    assert share_interval(share, error, many, 0.9) == pytest.approx(
        tuple(exact) if 0 < hits < 40 else share_interval(share, 0.0, many, 0.9)
    )


def test_rows_are_worth_something_where_what_is_expected_brings_a_share_to_an_end():
    # Half a row of each class of 29 of 30: (1/60) (59/60) over .0246^2 is 27 rows, of which none.
    worth = 0.5 / 30 * (29.5 / 30) / 0.0246**2
    least, most = share_interval(0.0, 0.0246, 29)
    assert least == 0 and most == pytest.approx(1 - 0.025 ** (1 / worth))
    assert share_interval(-0.01, 0.0246, 29) == (least, most)
    # One row of 29 of which all but nothing is left by the estimates tells as much.
    assert share_interval(1e-6, 0.0246, 29)[1] == pytest.approx(most, rel=1e-3)
    assert share_interval(1.0, 0.0246, 29) == pytest.approx((1 - most, 1.0))


def test_of_two_draws_the_interval_is_that_of_t_with_one_degree():
    shape = Shape(kurtosis=1.0)  # of any two draws
    low, high = value_interval(3.0, 0.5, shape, 2)
    assert (high - low) / 2 == pytest.approx(0.5 * stdtrit(1, 0.975), rel=1e-12)
    # Of many draws the kurtosis says how far: alike in size, as of a coin, they are normal.
    low, high = value_interval(3.0, 0.5, shape, 10**9)
    assert (high - low) / 2 == pytest.approx(0.5 * 1.959963984540054, rel=1e-7)


def test_a_new_block_varies_as_the_blocks_do_and_by_their_mean():
    """Two blocks of means 1 and -1 have the variance 2; their own mean adds half of it."""
    number = np.repeat([4, 7], 3)
    data = SimpleNamespace(later=np.arange(8) > 5, labeled=np.arange(8) < 4)
    tested = SimpleNamespace(folds=(number,))
    ends = np.where(number == 4, 1.0, -1.0)
    later, variance, freedom = variance_of_block(data, tested, ends, np.full(6, 0.3))
    assert later.tolist() == [False, False, True, True]
    assert variance == pytest.approx(2 * (1 + 1 / 2)) and freedom == 1
    # Chance within blocks is taken off: means of two rows that are +-r vary by r^2 / 2.
    spread = ends + np.array([0.6, -0.6, 0.0, 0.0, 0.6, -0.6])
    weight = np.array([1.0, 1.0, 0.0, 0.0, 2.0, 2.0])
    found = variance_of_block(data, tested, spread, weight)[1]
    assert found == pytest.approx((2 - 0.36 / 2) * 1.5)
    assert variance_of_block(data, tested, spread, np.where(number == 4, 1.0, 0.0)) is None


def test_the_error_of_some_hidden_rows_adds_that_of_weights_and_of_their_block():
    rng = np.random.default_rng(4)
    residual, weight = rng.normal(size=30), rng.exponential(size=30)
    expected, design = rng.normal(size=8), rng.exponential(size=8)
    told = residual, weight, expected, design, 0.3, None, (-np.inf, np.inf)
    some = np.arange(8) < 5
    mean, error, freedom = hidden_mean(residual, weight, expected[some], design[some], 0.3)
    plain = mean_of_some(*told)(some)
    assert plain[:2] == (mean, error)
    assert plain[2:] == pytest.approx(stats.t.interval(0.95, freedom, mean, error))
    # Known errors of residuals with their weights stand for those that take weights as given.
    rows = hidden_mean(0 * residual, weight, expected[some], design[some], 0.3)[1]
    assert mean_of_some(*told, of_weights=0.7)(some)[1] == pytest.approx(np.hypot(rows, 0.7))
    # Rows of a later block share its shift: the share of them times it, by Satterthwaite.
    later = np.arange(8) % 2 == 0
    found = mean_of_some(*told, by_block=(later, 0.5, 3.0))(some)
    share = design[some & later].sum() / design[some].sum()
    more = share**2 * 0.5
    both = error**2 + more
    degrees = both**2 / (error**4 / freedom + more**2 / 3.0)
    assert found[1] == pytest.approx(np.sqrt(both))
    assert found[2:] == pytest.approx(stats.t.interval(0.95, degrees, mean, np.sqrt(both)))
