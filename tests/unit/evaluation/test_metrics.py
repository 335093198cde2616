"""Metrics against closed forms, brute force and scikit-learn."""

import numpy as np
import pytest
import sklearn.metrics as peer
from counterweight.errors import CounterweightError
from counterweight.evaluation import metrics


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 2000)
    p = np.clip(0.3 + 0.25 * y + rng.normal(0, 0.2, 2000), 0.01, 0.99).round(2)
    return y, p


def test_values_agree_with_the_peer(scored):
    y, p = scored
    assert metrics.accuracy(y, p)[0] == pytest.approx(peer.accuracy_score(y, p >= 0.5))
    assert metrics.balanced_accuracy(y, p)[0] == pytest.approx(
        peer.balanced_accuracy_score(y, p >= 0.5)
    )
    assert metrics.auc(y, p)[0] == pytest.approx(peer.roc_auc_score(y, p))
    assert metrics.log_loss(y, p)[0] == pytest.approx(peer.log_loss(y, p))
    assert metrics.brier(y, p)[0] == pytest.approx(peer.brier_score_loss(y, p))


def test_auc_counts_ties_half():
    y = np.array([0, 0, 1, 1])
    assert metrics.auc(y, np.zeros(4))[0] == 0.5
    assert metrics.auc(y, np.array([0, 1, 1, 2.0]))[0] == pytest.approx(0.875)


def test_delong_error_is_the_variance_of_the_two_sample_u_statistic():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [40, 60])
    p = rng.normal(size=100) + y
    pair = (p[y == 1][:, None] > p[y == 0]).astype(float)
    expected = np.sqrt(pair.mean(1).var(ddof=1) / 60 + pair.mean(0).var(ddof=1) / 40)
    assert metrics.auc(y, p)[1] == pytest.approx(expected)


def test_the_error_of_balanced_accuracy_is_that_of_two_shares():
    y, right = np.repeat([1, 0], [5, 4]), np.array([1, 1, 1, 0, 0, 1, 0, 0, 0])
    p = np.where(right, y, 1 - y) * 0.8 + 0.1
    error = np.sqrt((0.6 * 0.4 / 5 + 0.25 * 0.75 / 4) / 4)
    assert metrics.balanced_accuracy(y, p) == pytest.approx((0.425, error))


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "auc", "log_loss", "brier"])
def test_standard_errors_are_those_seen_over_samples(name):
    rng = np.random.default_rng(5)
    metric = getattr(metrics, name)
    values, errors = [], []
    for _ in range(400):
        y = (rng.random(500) < 0.3).astype(int)
        p = 1 / (1 + np.exp(-(1.2 * y - 0.8 + rng.normal(size=500))))
        value, error = metric(y, p)
        values.append(value)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


def test_one_class_has_no_auc():
    with pytest.raises(CounterweightError, match="All 3 rows to evaluate are of class 1"):
        metrics.auc(np.ones(3), np.zeros(3))


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "auc", "log_loss", "brier"])
@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.5, np.nan], "1 of 2 predictions are not"),
        (["0", "1"], [0.5, 0.5], "must be 0 or 1"),
        ([0, 2], [0.5, 0.5], "must be 0 or 1; found 0, 2"),
        ([], [], "nothing to evaluate"),
    ],
)
def test_what_cannot_be_evaluated_is_told(name, y, p, message):
    with pytest.raises(CounterweightError, match=message):
        getattr(metrics, name)(y, p)


ALL = ["accuracy", "balanced_accuracy", "auc", "log_loss", "brier", "calibration_error"]


@pytest.mark.parametrize("name", ALL)
def test_integer_weights_give_the_value_of_repeated_rows(scored, name):
    y, p = scored
    times = np.arange(len(y)) % 4
    metric = getattr(metrics, name)
    repeated = metric(np.repeat(y, times), np.repeat(p, times))[0]
    assert metric(y, p, times)[0] == pytest.approx(repeated, abs=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_only_ratios_of_weights_count(scored, name):
    y, p = scored
    weight = np.random.default_rng(1).exponential(size=len(y))
    one, other = (metrics.metric_estimate(name, y, p, w) for w in (weight, weight * 7.3))
    for what in ("value", "standard_error", "low", "high", "effective_rows"):
        assert getattr(other, what) == pytest.approx(getattr(one, what), rel=1e-10)
    plain = metrics.metric_estimate(name, y, p)
    same = metrics.metric_estimate(name, y, p, np.full(len(y), 0.3))
    assert (plain.value, plain.standard_error, plain.low, plain.high) == pytest.approx(
        (same.value, same.standard_error, same.low, same.high), rel=1e-10
    )
    assert plain.low < plain.value < plain.high


def test_weighted_values_agree_with_the_peer(scored):
    y, p = scored
    w = np.random.default_rng(1).exponential(size=len(y))
    guess = p >= 0.5
    assert metrics.accuracy(y, p, w)[0] == pytest.approx(
        peer.accuracy_score(y, guess, sample_weight=w)
    )
    assert metrics.balanced_accuracy(y, p, w)[0] == pytest.approx(
        peer.balanced_accuracy_score(y, guess, sample_weight=w)
    )
    assert metrics.log_loss(y, p, w)[0] == pytest.approx(peer.log_loss(y, p, sample_weight=w))
    assert metrics.brier(y, p, w)[0] == pytest.approx(peer.brier_score_loss(y, p, sample_weight=w))
    assert metrics.squared_loss(3.0 * y, p, w)[0] == pytest.approx(
        peer.mean_squared_error(3.0 * y, p, sample_weight=w)
    )


def test_calibration_error_is_the_mean_gap_of_the_reliability_curve(scored):
    y, p = scored
    for w in (None, np.where(y == 1, 1.0, 10.0)):
        predicted, observed, weight = metrics.reliability_curve(y, p, w)
        gap = np.average(np.abs(predicted - observed), weights=weight)
        assert metrics.calibration_error(y, p, w)[0] == pytest.approx(gap)
        assert weight.sum() == pytest.approx(len(y) if w is None else w.sum())
    distinct = np.linspace(0, 1, 1000)
    predicted, _, rows = metrics.reliability_curve(np.arange(1000) % 2, distinct)
    assert rows.tolist() == [100] * 10
    assert predicted == pytest.approx(distinct.reshape(10, 100).mean(axis=1))


def test_equal_predictions_share_a_bin_and_empty_bins_say_so():
    y = np.array([0, 0, 1, 1] * 25)
    p = np.where(np.arange(100) < 80, 0.2, 0.7)
    predicted, observed, weight = metrics.reliability_curve(y, p, bins=4)
    assert weight.sum() == 100 and sorted(weight)[:2] == [0, 0]
    assert np.isnan(predicted[weight == 0]).all() and np.isnan(observed[weight == 0]).all()
    assert metrics.calibration_error(y, p)[0] == pytest.approx(0.8 * 0.3 + 0.2 * 0.2)


@pytest.mark.parametrize("name", ["calibration_error", "squared_loss"])
def test_errors_of_the_newer_metrics_are_those_seen_over_samples(name):
    rng = np.random.default_rng(6)
    metric, values, errors = getattr(metrics, name), [], []
    for _ in range(400):
        p = rng.random(600)
        # Far from calibrated, so that the sign of each bin's gap is certain.
        y = (rng.random(600) < 0.15 + 0.4 * p).astype(int)
        value, error = metric(y, p)
        values.append(value)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "log_loss", "brier"])
@pytest.mark.parametrize("rate", [1.0, 0.1, 0.01])
def test_intervals_cover_under_rejection_of_zeros(name, rate):
    """1,000 logs of 10,000 rows; calibrated predictions with a tenth of the rows near 1/2."""
    rng = np.random.default_rng([ALL.index(name), int(rate * 100)])
    levels = np.array([0.02, 0.05, 0.1, 0.3, 0.6])
    share = np.array([0.4, 0.3, 0.1, 0.1, 0.1])
    ones, zeros = share @ levels, share @ (1 - levels)
    hits = levels >= 0.5
    truth = {
        "accuracy": share @ np.where(hits, levels, 1 - levels),
        "balanced_accuracy": (
            share @ (levels * hits) / ones + share @ ((1 - levels) * ~hits) / zeros
        )
        / 2,
        "log_loss": -share @ (levels * np.log(levels) + (1 - levels) * np.log(1 - levels)),
        "brier": share @ (levels * (1 - levels)),
    }[name]
    cells = np.concatenate([share * levels, share * (1 - levels) * rate])
    dropped = 1 - cells.sum()
    y_of, p_of = np.repeat([1, 0], 5), np.tile(levels, 2)
    covered = 0
    for counts in rng.multinomial(10_000, [*cells, dropped], size=1000)[:, :-1]:
        y, p = np.repeat(y_of, counts), np.repeat(p_of, counts)
        found = metrics.metric_estimate(name, y, p, np.where(y == 1, 1.0, 1 / rate))
        covered += found.low <= truth <= found.high
    # Of a class with nothing but hits, unseen misses are allowed for.
    assert 930 <= covered <= (980 if name == "balanced_accuracy" else 970)


@pytest.mark.parametrize("name", ALL)
def test_weights_that_are_none_are_told(scored, name):
    y, p = scored
    for weight, message in (
        (np.where(np.arange(len(y)) == 7, -1.0, 1.0), "1 of 2000 weights are negative .* row 7"),
        (np.ones(3), "There are 3 weights for 2000 rows"),
        (np.zeros(len(y)), "All 2000 weights are 0"),
    ):
        with pytest.raises(CounterweightError, match=message):
            getattr(metrics, name)(y, p, weight)


def test_a_metric_that_is_none_is_told(scored):
    with pytest.raises(CounterweightError, match="no metric 'rmse'; choose one of accuracy"):
        metrics.metric_estimate("rmse", *scored)
    with pytest.raises(CounterweightError, match="bins must be a whole number from 1"):
        metrics.reliability_curve(*scored, bins=0)
    with pytest.raises(CounterweightError, match="1 of 2 rewards are not finite"):
        metrics.squared_loss([0.0, np.nan], [0.0, 1.0])


@pytest.mark.parametrize("name", ["brier", "squared_loss", "auc"])
def test_text_is_told(name):
    with pytest.raises(CounterweightError, match="predictions must be numbers, not text"):
        metrics.metric_estimate(name, [0, 1], ["a", "b"])


def test_a_prediction_out_of_range_is_shown_as_a_number():
    with pytest.raises(CounterweightError, match=r"first: 2\.0\)"):
        metrics.metric_estimate("brier", [0, 1], [0.1, 2])


def test_the_error_of_draws_is_that_of_their_sum():
    # Of n draws with mean 0, the sum has the variance n s², s² with n - 1 below.
    sums = np.array([1.0, -2.0, 0.5, 0.5])
    _, error = metrics.shape_of_draws(sums, np.ones(4))
    assert error == pytest.approx(np.sqrt(4 * np.var(sums, ddof=1)))
    assert np.isnan(metrics.shape_of_draws(sums[:1], np.ones(1))[1])
