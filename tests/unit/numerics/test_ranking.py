"""Weighted AUC: the peer, direct U-statistics, invariances, bounds, coverage."""

import numpy as np
import pytest
import sklearn.metrics as peer
from counterweight.errors import CounterweightError
from counterweight.numerics.ranking import FEW_DRAWS, agarwal_bound, auc_estimate, highest_rows


def drawn(seed, n=60, kind="ties"):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n) if seed % 2 else (rng.random(n) < 0.2).astype(int)
    y[:2] = 0, 1
    score = {
        "ties": rng.integers(0, 7, n) + y,
        "continuous": rng.normal(size=n) + y,
        "single": (rng.normal(size=n) + y).astype(np.float32),
        "constant": np.zeros(n),
    }[kind]
    return y, score, rng.exponential(size=n) * (rng.random(n) < 0.9) + (np.arange(n) < 2)


def direct(y, score, weight):
    """AUC and DeLong's error from all pairs."""
    a, b = score[y == 1], score[y == 0]
    u, v = weight[y == 1], weight[y == 0]
    a, u, b, v = a[u > 0], u[u > 0], b[v > 0], v[v > 0]
    pairs = (a[:, None] > b) + 0.5 * (a[:, None] == b)
    rows, columns = pairs @ v / v.sum(), u @ pairs / u.sum()
    value = u @ rows / u.sum()
    variance = 0.0
    for w, placed in ((u, rows), (v, columns)):
        if len(w) > 1:
            variance += len(w) / (len(w) - 1) * (w**2 @ (placed - value) ** 2) / w.sum() ** 2
    return value, np.sqrt(variance)


@pytest.mark.parametrize("kind", ["ties", "continuous", "single", "constant"])
@pytest.mark.parametrize("seed", range(6))
def test_it_equals_the_peer_and_all_pairs(seed, kind):
    y, score, weight = drawn(seed, kind=kind)
    for w in (None, weight, np.where(y == 1, 1.0, 10.0), np.where(y == 1, weight + 1, 3.0)):
        auc = auc_estimate(y, score, w)
        assert auc.value == pytest.approx(peer.roc_auc_score(y, score, sample_weight=w), abs=1e-12)
        value, error = direct(y, score, np.ones(len(y)) if w is None else w)
        assert auc.value == pytest.approx(value, abs=1e-12)
        assert auc.standard_error == pytest.approx(error, abs=1e-12)
        assert 0 <= auc.low <= auc.value <= auc.high <= 1
        assert auc.low < auc.high


def test_large_and_unbalanced_equals_the_peer():
    rng = np.random.default_rng(1)
    y = (rng.random(200_000) < 0.01).astype(int)
    score, weight = (rng.normal(size=len(y)) + y).round(3), rng.random(len(y))
    for w in (None, weight):
        auc, theirs = auc_estimate(y, score, w), peer.roc_auc_score(y, score, sample_weight=w)
        assert auc.value == pytest.approx(theirs, abs=1e-12)
    assert auc.rows == 200_000 and auc.largest_weight == weight.max()
    assert auc.effective_rows == pytest.approx(weight.sum() ** 2 / (weight**2).sum())


def test_integer_weights_give_the_value_of_repeated_rows():
    y, score, _ = drawn(3)
    times = np.arange(len(y)) % 4
    repeated = auc_estimate(np.repeat(y, times), np.repeat(score, times))
    assert auc_estimate(y, score, times).value == pytest.approx(repeated.value, abs=1e-13)


def test_monotone_transformations_and_scales_of_weights_change_nothing():
    y, score, weight = drawn(4, kind="continuous")
    one = auc_estimate(y, score, weight)
    for other in (
        auc_estimate(y, np.exp(score / 3), weight),
        auc_estimate(y, score, weight * np.where(y == 1, 5.0, 0.3)),
        auc_estimate(y.astype(bool), score, weight),
    ):
        for name in ("value", "standard_error", "low", "high"):
            assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-12)
    turned = auc_estimate(1 - y, -score, weight)
    assert turned.value == pytest.approx(one.value, abs=1e-12)
    mirrored = auc_estimate(1 - y, score, weight)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((one.low, one.high), abs=1e-12)


def test_large_integer_scores_are_not_rounded():
    score = 2**53 + np.array([0, 1, 2, 3])
    assert auc_estimate([0, 1, 0, 1], score).value == 0.75


def test_classes_apart_get_the_exact_interval_of_disjoint_pairs():
    y = np.repeat([0, 1], [200, 10])
    auc = auc_estimate(y, y, np.linspace(0.1, 1, 210))
    assert (auc.value, auc.standard_error, auc.high) == (1.0, 0.0, 1.0)
    assert auc.low == pytest.approx(0.025 ** (1 / 10))
    auc = auc_estimate(y, -y)
    assert (auc.value, auc.low, auc.high) == (0, 0, pytest.approx(1 - 0.025 ** (1 / 10)))


def test_without_variance_the_interval_is_agarwals():
    y = np.repeat([0, 1], 500)
    auc = auc_estimate(y, np.zeros(1000))
    assert (auc.low, auc.high) == pytest.approx((0.5 - 0.0859, 0.5 + 0.0859), abs=1e-4)
    single = auc_estimate([0, 1, 0], [0.1, 0.5, 0.9])
    assert (single.low, single.high) == (0.0, 1.0)


@pytest.mark.parametrize("rate", [1.0, 0.1, 0.01])
def test_intervals_cover_under_rejection_of_zeros(rate):
    """1,000 logs of 6,000 rows with 1.5 % positives."""
    from scipy.stats import norm

    rng = np.random.default_rng([8, int(rate * 100)])
    covered, truth = 0, norm.cdf(1.2 / np.sqrt(2))
    for _ in range(1000):
        m = rng.binomial(6000, 0.015)
        n = rng.binomial(6000 - m, rate)
        y = np.arange(m + n) < m
        auc = auc_estimate(y, rng.normal(size=m + n) + 1.2 * y, np.where(y, 1, 1 / rate))
        covered += auc.low <= truth <= auc.high
    assert 930 <= covered <= 970


def test_agarwals_bound_is_passed_with_at_most_its_probability():
    rng = np.random.default_rng(6)
    for m, n in ((5, 100), (30, 30)):
        # One score for most rows makes the spread as large as it gets.
        for share in (0.5, 0.9):
            positive = rng.random((2000, m)) < share
            negative = rng.random((2000, n)) < 1 - share
            p, q = positive.mean(1), negative.mean(1)
            values = p * (1 - q) + 0.5 * (p * q + (1 - p) * (1 - q))
            truth = share * share + 0.5 * 2 * share * (1 - share)
            for delta in (0.05, 0.5):
                beyond = np.abs(values - truth) >= agarwal_bound(m, n, delta)
                assert beyond.mean() <= delta


def test_agarwals_bound_is_that_of_the_theorem_and_least_at_one_half():
    shares = np.arange(1, 64) / 64
    bound = agarwal_bound(shares * 640, (1 - shares) * 640, 0.1)
    assert bound == pytest.approx(np.sqrt(np.log(20) / (2 * shares * (1 - shares) * 640)))
    assert shares[np.argmin(bound)] == 0.5
    assert agarwal_bound(160, 480, 0.1) == pytest.approx(bound[15])


@pytest.mark.parametrize(
    ("y", "score", "weight", "message"),
    [
        ([1, 1, 1], [0.1, 0.2, 0.3], None, "All 3 rows to evaluate are of class 1"),
        ([0, 1], [0.1, 0.2], [1.0, 0.0], "All 1 rows to evaluate are of class 0"),
        ([0, 1], [0.1, np.nan], None, "1 of 2 predictions are not finite"),
        ([], [], None, "nothing to evaluate"),
        ([0, 1], [0.1, 0.2], [1.0, -2.0], "1 of 2 weights are negative"),
        ([0, 2], [0.1, 0.2], None, "must be 0 or 1; found 0, 2"),
        ([0.0, np.nan], [0.1, 0.2], None, "must be 0 or 1"),
        ([0, 1, 1], [0.1, 0.2], None, "There are 2 rows but a true label of shape"),
    ],
)
def test_what_has_no_auc_is_told(y, score, weight, message):
    with pytest.raises(CounterweightError, match=message):
        auc_estimate(np.array(y), np.array(score, float), weight)


def test_a_bound_without_rows_or_probability_is_told():
    with pytest.raises(CounterweightError, match="at least one row of each class"):
        agarwal_bound(0, 5)
    with pytest.raises(CounterweightError, match="delta must lie between 0 and 1"):
        agarwal_bound(5, 5, 0)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_weights_of_any_size_have_an_error_and_no_warnings(factor, recwarn):
    rng = np.random.default_rng(3)
    y, score, weight = rng.integers(0, 2, 50), rng.normal(size=50), rng.random(50)
    auc, expected = auc_estimate(y, score, weight * factor), auc_estimate(y, score, weight)
    assert auc.largest_weight == pytest.approx(expected.largest_weight * factor)
    for name in ("value", "standard_error", "low", "high", "effective_rows"):
        assert getattr(auc, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    by_class = auc_estimate(y, score, np.where(y == 1, 1 / factor, factor) * weight)
    assert by_class.standard_error == pytest.approx(expected.standard_error, rel=1e-9)
    assert not recwarn.list


def test_text_is_no_score():
    with pytest.raises(CounterweightError, match="predictions must be numbers, not text"):
        auc_estimate([0, 1], ["a", "b"])


def test_of_a_few_of_the_highest_predictions_no_interval_is_told():
    """Predictions are right: the interval of ten rows or more holds 1, fewer have none."""
    held = {0.1: [], 0.01: [], 0.001: []}
    for seed in range(200):
        rng = np.random.default_rng([21, seed])
        p = rng.beta(1, 8, 6_000)
        y = rng.random(len(p)) < p
        kept = y | (rng.random(len(p)) < 0.1)
        p, y = p[kept], y[kept]
        for share, found in held.items():
            made = highest_rows(p=p, y=y, weight=np.where(y, 1.0, 10.0), top=share)
            told = made.told(0.95)
            assert (told["low"] is None) == (told["rows"] < FEW_DRAWS)
            found += [] if told["low"] is None else [told["low"] < 1 < told["high"]]
    assert not held[0.001]
    for share in (0.1, 0.01):
        assert len(held[share]) > 150 and np.mean(held[share]) >= 0.91


def test_users_are_the_draws_of_the_highest_predictions():
    """Rows of one user are one draw: nine users have no interval, however many rows they have."""
    rng = np.random.default_rng(3)
    p, user = rng.random(900), np.arange(900) % 9
    y = rng.random(900) < p
    assert highest_rows(y, p, groups=user).told(0.95)["low"] is None
    assert highest_rows(y, p).told(0.95)["low"] is not None
