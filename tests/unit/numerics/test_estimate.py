"""Weighted means: closed forms, invariances, and how often the intervals hold the truth."""

import math

import numpy as np
import pytest
from counterweight.errors import CounterweightError, html_facts, in_brackets
from counterweight.numerics.estimate import (
    controlled_interval,
    from_moments,
    hidden_mean,
    mean_interval,
    ratio_mean,
    shape_of,
)
from scipy.stats import t


@pytest.fixture(scope="module")
def weighted():
    rng = np.random.default_rng(2)
    return rng.exponential(size=400), rng.choice([1.0, 10.0, 100.0], 400)


def test_without_weights_it_is_the_mean_and_its_usual_error(weighted):
    values, _ = weighted
    estimate = ratio_mean(values)
    assert estimate.value == pytest.approx(values.mean(), abs=1e-14)
    assert estimate.standard_error == pytest.approx(values.std(ddof=1) / 20, abs=1e-14)
    assert (estimate.rows, estimate.effective_rows, estimate.largest_weight) == (400, 400.0, 1.0)


def test_the_error_is_the_linearised_one(weighted):
    values, weights = weighted
    estimate = ratio_mean(values, weights)
    mean = (weights * values).sum() / weights.sum()
    variance = (weights**2 * (values - mean) ** 2).sum() / weights.sum() ** 2 * 400 / 399
    assert estimate.value == pytest.approx(mean, abs=1e-14)
    assert estimate.standard_error == pytest.approx(np.sqrt(variance), abs=1e-14)
    assert estimate.effective_rows == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    assert estimate.largest_weight == 100.0


def test_only_ratios_of_weights_count_and_rows_of_weight_0_do_not(weighted):
    values, weights = weighted
    one = ratio_mean(values, weights)
    other = ratio_mean(np.append(values, 1e6), np.append(weights, 0.0) * 3.7)
    for name in ("value", "standard_error", "low", "high", "effective_rows", "rows"):
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-12)


def test_integer_weights_give_the_value_of_repeated_rows(weighted):
    values, _ = weighted
    times = np.arange(400) % 4
    estimate = ratio_mean(values, times)
    assert estimate.value == pytest.approx(ratio_mean(np.repeat(values, times)).value, abs=1e-13)


def test_sums_gathered_in_one_pass_give_the_same_estimate(weighted):
    values, weights = weighted
    whole = ratio_mean(values, weights, bounds=(0.0, None))
    c = weights * (values - whole.value)
    shape = shape_of(
        400, weights.sum(), (c**2).sum(), (c**3).sum(), (c**4).sum(), (weights * c).sum()
    )
    estimate = from_moments(
        whole.value,
        (c**2).sum(),
        shape,
        rows=400,
        total=weights.sum(),
        effective_rows=whole.effective_rows,
        largest_weight=100.0,
        bounds=(0.0, None),
    )
    assert estimate.low == pytest.approx(whole.low, rel=1e-12)
    assert estimate.high == pytest.approx(whole.high, rel=1e-12)


def test_without_skewness_it_is_the_t_interval_and_mirrors_with_it():
    from scipy.stats import t

    low, high = mean_interval(2.0, 0.5, 0.0, 30)
    assert high - 2 == pytest.approx(2 - low) == pytest.approx(0.5 * t.ppf(0.975, 29))
    low, high = mean_interval(2.0, 0.5, 1.5, 30)
    mirrored = mean_interval(-2.0, 0.5, -1.5, 30)
    assert (low, high) == pytest.approx((-mirrored[1], -mirrored[0]))
    assert high - 2 > 2 - low


def test_the_interval_ends_solve_halls_cubic():
    from scipy.stats import t

    rows, skewness, pull, kurtosis = 200, 2.0, -0.7, 9.0
    ends = mean_interval(1.0, 0.1, skewness, rows, pull=pull, kurtosis=kurtosis)
    s = skewness - 2 * pull
    bend = (3 * s - skewness) / 6 / np.sqrt(rows)
    shift = s / 2 / np.sqrt(rows) - bend
    T = (1.0 - np.array(ends)) / 0.1
    quantile = t.ppf(0.975, 2 * rows / (kurtosis - 1))
    bent = T + bend * T**2 + bend**2 * T**3 / 3 + shift
    assert bent == pytest.approx([quantile, -quantile])


def test_on_the_root_scale_the_ends_solve_the_cubic_of_the_roots():
    from scipy.stats import t

    low, high = mean_interval(2.0, 0.3, 1.5, 50, bounds=(1.0, None), kurtosis=6.0)
    # T of the square root of (mean - 1), whose standard error is .3 / 2.
    T = (1.0 - np.sqrt(np.array([low, high]) - 1)) / 0.15
    bend = 0.5 / np.sqrt(50) - 0.3 / 4
    bent = T + bend * T**2 + bend**2 * T**3 / 3 + 0.25 / np.sqrt(50)
    assert bent == pytest.approx(np.array([1, -1]) * t.ppf(0.975, 20))
    plain = mean_interval(2.0, 0.3, 1.5, 50, bounds=(1.0, None), kurtosis=6.0, scale="plain")
    assert plain == pytest.approx((low, high), abs=0.05) and plain != (low, high)


def test_values_all_alike_get_no_interval_of_width_0():
    estimate = ratio_mean(np.zeros(50), bounds=(0.0, 1.0))
    assert (estimate.value, estimate.standard_error, estimate.low) == (0.0, 0.0, 0.0)
    # Exactly the upper Clopper-Pearson limit of 0 successes in 50.
    assert estimate.high == pytest.approx(1 - 0.025 ** (1 / 50))
    assert np.isnan(ratio_mean(np.zeros(50)).high)
    assert np.isnan(ratio_mean([1.0]).standard_error)


def test_the_interval_stays_within_its_bounds():
    values = np.r_[np.zeros(98), 1.0, 0.3]
    estimate = ratio_mean(values, bounds=(0.0, 1.0))
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


@pytest.mark.parametrize(
    ("values", "weights", "message"),
    [
        ([], None, "nothing to average"),
        ([1.0, np.inf], None, "1 of 2 values to average are not finite"),
        ([1.0, 2.0], [1.0, -1.0], "1 of 2 weights are negative or not finite"),
        ([1.0, 2.0], [1.0], "There are 1 weights for 2 rows"),
        ([1.0, 2.0], [0.0, 0.0], "All 2 weights are 0"),
    ],
)
def test_what_has_no_mean_is_told(values, weights, message):
    with pytest.raises(CounterweightError, match=message):
        ratio_mean(values, weights)


def test_a_level_out_of_range_is_told():
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        mean_interval(0.0, 1.0, 0.0, 10, level=95)
    with pytest.raises(ValueError, match="scale must be root or plain"):
        mean_interval(0.0, 1.0, 0.0, 10, scale="log")


def test_the_ratio_estimator_is_biased_like_one_over_n():
    rng = np.random.default_rng(4)
    bias = []
    for n in (100, 400):
        # Rows of reward 0 are kept at .1; the mean of the squared reward is estimated.
        reward = np.where(rng.random((20_000, n)) < 0.2, 2.0, 0.0)
        kept = (reward > 0) | (rng.random(reward.shape) < 0.1)
        weight = np.where(reward > 0, 1.0, 10.0) * kept
        estimate = (weight * reward**2).sum(1) / weight.sum(1)
        # The count-known estimate of the same log is unbiased: its error is taken off.
        bias.append((estimate - (reward**2).mean(1)).mean() * n)
    assert bias[0] == pytest.approx(bias[1], rel=0.25)
    assert bias[0] > 1


@pytest.mark.parametrize("rate", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("normalised", [False, True])
def test_intervals_of_a_policy_value_cover(rate, normalised):
    """Importance-weighted rare clicks, two actions, 1,000 logs of 8,000 rows."""
    rng = np.random.default_rng([int(rate * 100), normalised])
    click = np.array([0.02, 0.03])
    policy, logging = np.array([0.3, 0.7]), np.array([0.6, 0.4])
    truth, covered = float(policy @ click), 0
    for _ in range(1000):
        action = (rng.random(8000) < logging[1]).astype(int)
        reward = (rng.random(8000) < click[action]).astype(float)
        kept = (reward > 0) | (rng.random(8000) < rate)
        action, reward = action[kept], reward[kept]
        keep, ratio = np.where(reward > 0, 1.0, 1 / rate), (policy / logging)[action]
        values, weights = (reward, keep * ratio) if normalised else (reward * ratio, keep)
        estimate = ratio_mean(values, weights, bounds=(0.0, None))
        covered += estimate.low <= truth <= estimate.high
    assert 930 <= covered <= 970


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_of_any_size_give_the_same_estimate(weighted, factor, recwarn):
    values, weights = weighted
    estimate, expected = ratio_mean(values, weights * factor), ratio_mean(values, weights)
    for name in ("value", "standard_error", "low", "high", "effective_rows"):
        assert getattr(estimate, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    assert estimate.largest_weight == pytest.approx(expected.largest_weight * factor)
    assert not recwarn.list


def test_text_has_no_mean():
    with pytest.raises(CounterweightError, match="values must be numbers, not text"):
        ratio_mean(["a", "b"])


def test_a_mean_of_hidden_rows_covers_the_outcomes_of_these_rows():
    """Their outcomes are coins of known chances: 95 % of intervals hold their mean, no more."""
    rng = np.random.default_rng(8)
    held, wide = 0, 0.0
    for _ in range(600):
        p = rng.beta(1, 3, 500)
        y = (rng.random(500) < p).astype(float)
        seen = rng.random(500) < 0.5
        # What is expected is off by a shift, which the residuals show.
        expected = p[~seen] + np.mean(y[seen] - (p[seen] - 0.1)) - 0.1
        told = y[seen] - p[seen], np.ones(seen.sum()), expected, np.ones((~seen).sum())
        mean, error, freedom = hidden_mean(*told, p[~seen] * (1 - p[~seen]))
        held += abs(mean - y[~seen].mean()) <= 1.96 * error
        wide += error
        assert freedom > 50
    assert 0.93 <= held / 600 <= 0.97


def test_a_mean_of_hidden_rows_by_hand():
    mean, error, _ = hidden_mean(
        np.array([1.0, -1.0]),
        np.array([3.0, 1.0]),
        np.array([0.2, 0.6]),
        np.array([1.0, 3.0]),
        0.25,
    )
    # Residuals have the weighted mean .5: influences .75 * .5 and .25 * -1.5.
    learned = 2 * (0.375**2 + 0.375**2)
    assert mean == pytest.approx(0.5) and error == pytest.approx(
        np.sqrt(learned + 0.25 * (1 + 9) / 16)
    )


def test_weights_that_average_one_do_what_a_regression_on_them_does():
    import statsmodels.api as sm

    rng = np.random.default_rng(4)
    w, r = rng.gamma(2.0, 0.5, 400), rng.random(400)
    rows = len(w)
    of_value, of_weight = (w * r - (w * r).mean()) / rows, (w - w.mean()) / rows
    moments = (
        of_value @ of_value,
        np.array([of_value @ of_weight]),
        np.array([[of_weight @ of_weight]]),
    )
    nothing = [(0.0, np.zeros(1))]
    low, high, share = controlled_interval(
        (w * r).mean(), moments, np.array([w.mean() - 1]), nothing, rows
    )
    fit = sm.OLS(w * r, sm.add_constant(w)).fit()
    known = fit.get_prediction([[1.0, 1.0]])
    assert share == 0
    assert (low + high) / 2 == pytest.approx(known.predicted_mean[0], abs=1e-12)
    # One counts the residuals' degrees of freedom, the other the rows.
    assert (high - low) / np.diff(known.conf_int())[0, 0] == pytest.approx(1, abs=0.005)
    # Weights that are all alike tell nothing: the interval is that of t.
    alone = np.zeros(1), np.zeros((1, 1))
    low, high, _ = controlled_interval(0.5, (0.01**2, *alone), np.zeros(1), nothing, rows)
    assert (high - 0.5, 0.5 - low) == pytest.approx((0.01 * t.isf(0.025, rows - 1),) * 2)


def test_a_row_that_could_have_been_only_widens_an_interval():
    rng = np.random.default_rng(6)
    value, off = 0.4, np.array([-0.2])
    moments = 0.02**2, np.array([0.5e-4]), np.array([[0.01**2]])
    ends = [np.inf, -np.inf]
    rows, shares = [(0.0, np.zeros(1))], []
    for _ in range(20):
        low, high, share = controlled_interval(value, moments, off, rows, 300)
        assert low <= value <= high and low <= ends[0] and high >= ends[1]
        assert not shares or share >= shares[-1]
        ends, shares = [low, high], [*shares, share]
        rows.append((rng.normal(0, 0.1), rng.normal(0, 0.1, 1)))
    assert 0 < shares[-1] < 1


def test_notebooks_have_numbers_as_pages_have_them():
    assert in_brackets(0.3976, 0.343, 0.4548, percent=True) == "39.8 % [34.3, 45.5]"
    assert in_brackets(0.0892, 0.0778, 0.10149) == "0.0892 [0.0778, 0.1015]"
    assert in_brackets(5.7149, 4.126, 6.791) == "5.715 [4.126, 6.791]"
    assert in_brackets(1234.5, math.nan, math.nan) == "1,234"
    assert in_brackets(1.864e-5, 1.64e-5, 2.057e-5) == "0.0000186 [0.0000164, 0.0000206]"
    assert in_brackets(1e-9, -0.5, 0.5) == "0.000000 [-0.500000, 0.500000]"
    text = html_facts("A", {"rows": 1500.0, "change": "-0.5 [-1, .2]", "day": "2024-05-31"})
    for told in (">1,500<", ">\N{MINUS SIGN}0.5 [\N{MINUS SIGN}1, .2]<", ">2024-05-31<"):
        assert told in text
