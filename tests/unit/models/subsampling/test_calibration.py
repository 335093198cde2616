"""Spline calibration, prior correction, and the estimators that use them."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.subsampling.calibrated_subsample import CalibratedSubsampleClassifier
from counterweight.models.subsampling.calibration import SplineCalibrator, prior_correction
from counterweight.numerics.zero_rejection import kept_rows
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

UNIT = ((0.0, 1.0), (0.0, 1.0))


def inverse_prior_correction(p, keep_rate):
    """p(y = 1 | x) among kept rows from that of all rows."""
    return p / (p + keep_rate * (1 - p))


def _scored(n=3000, seed=0, values=None):
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 4, n) if values is None else rng.choice(values, n)
    return score, (rng.random(n) < score**1.5).astype(float)


def _logistic(n, seed=0, intercept=-3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = 1 / (1 + np.exp(-(intercept + X @ [1.5, -1.0, 0.5])))
    return X, (rng.random(n) < p).astype(int), p


def test_control_points_are_the_weighted_means_of_equal_count_bins():
    score = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.9])
    reward = np.array([0, 0, 1, 0, 1, 1.0])
    spline = SplineCalibrator(2, UNIT).fit(score, reward, keep_rate=0.5)
    assert spline.n_bins_ == 2
    # Bins [0.1, 0.5) and [0.5, 0.9]; a zero counts twice.
    assert np.allclose(spline.control_scores_, [0, (0.2 + 0.4 + 0.4) / 5, (1.0 + 0.6 + 0.9) / 4, 1])
    assert np.allclose(spline.control_rewards_, [0, 1 / 5, 2 / 4, 1])
    assert np.allclose(spline.predict([0.0, 0.1, 0.2, 1.0]), [0, 0.1, 0.2, 1])


def test_bins_are_half_open_and_hold_equal_counts():
    score, reward = _scored(2000)
    spline = SplineCalibrator(20, UNIT).fit(score, reward)
    halves = np.sort(score).reshape(20, 100)
    assert np.allclose(spline.control_scores_[1:-1], halves.mean(axis=1))


def test_without_rejection_weights_change_nothing():
    score, reward = _scored()
    plain = SplineCalibrator(15, UNIT).fit(score, reward)
    for other in (
        SplineCalibrator(15, UNIT).fit(score, reward, keep_rate=1.0),
        SplineCalibrator(15, UNIT).fit(score, reward, sample_weight=np.full(len(score), 3.0)),
    ):
        assert np.allclose(plain.control_scores_, other.control_scores_, atol=1e-14)
        assert np.allclose(plain.control_rewards_, other.control_rewards_, atol=1e-14)


def test_control_points_of_a_subsample_are_those_of_all_rows_in_expectation():
    values = np.array([0.05, 0.2, 0.4, 0.7])
    score, reward = _scored(4000, values=values)
    whole = SplineCalibrator(50, UNIT).fit(score, reward).control_rewards_
    rewards, uncorrected = [], []
    for seed in range(300):
        kept = kept_rows(reward, np.arange(len(score)), 0.1, seed)
        part = SplineCalibrator(50, UNIT).fit(score[kept], reward[kept], 0.1)
        assert part.n_bins_ == len(values)
        rewards.append(part.control_rewards_)
        uncorrected.append(
            SplineCalibrator(50, UNIT).fit(score[kept], reward[kept]).control_rewards_
        )
    error = np.std(rewards, axis=0) / np.sqrt(len(rewards))
    # A ratio estimator: a bias of the order 1/n is left beside the simulation error.
    assert (np.abs(np.mean(rewards, axis=0) - whole) <= 4 * error + 2e-3).all()
    assert (np.mean(uncorrected, axis=0)[1:-1] - whole[1:-1] > 0.05).all()


def test_whole_weights_are_repeated_rows():
    score, reward = _scored(500, values=np.array([0.1, 0.3, 0.35, 0.8]))
    weight = np.random.default_rng(1).integers(1, 5, len(score))
    weighted = SplineCalibrator(100, UNIT).fit(score, reward, sample_weight=weight)
    repeated = SplineCalibrator(100, UNIT).fit(np.repeat(score, weight), np.repeat(reward, weight))
    assert np.allclose(weighted.control_scores_, repeated.control_scores_)
    assert np.allclose(weighted.control_rewards_, repeated.control_rewards_)


def test_the_order_of_the_rows_does_not_matter():
    score, reward = _scored(1000, values=np.linspace(0, 1, 40))
    order = np.random.default_rng(2).permutation(1000)
    one = SplineCalibrator(7, UNIT).fit(score, reward, 0.3)
    other = SplineCalibrator(7, UNIT).fit(score[order], reward[order], 0.3)
    assert np.array_equal(one.control_rewards_, other.control_rewards_)
    assert np.array_equal(one.control_scores_, other.control_scores_)


@pytest.mark.parametrize("bounds", [None, UNIT])
def test_knots_ascend_strictly_with_ties(bounds):
    rng = np.random.default_rng(3)
    for trial in range(100):
        n = int(rng.integers(1, 60))
        score = np.round(rng.random(n), int(rng.integers(0, 3)))
        reward = (rng.random(n) < 0.3).astype(float)
        spline = SplineCalibrator(int(rng.integers(1, 30)), bounds).fit(score, reward, 0.1)
        assert (np.diff(spline.control_scores_) > 0).all(), trial
        assert spline.n_bins_ <= min(spline.bins, len(np.unique(score)))
        assert ((spline.predict(score) >= 0) & (spline.predict(score) <= 1)).all()


def test_rows_at_an_end_take_the_place_of_the_bound():
    spline = SplineCalibrator(5, UNIT).fit([0.0] * 8 + [0.5, 0.5], [1, 0, 0, 0, 0, 0, 0, 0, 0, 1])
    assert np.allclose(spline.control_scores_, [0, 0.5, 1])
    assert np.allclose(spline.control_rewards_, [1 / 8, 1 / 2, 1])


def test_flat_ends_follow_the_outer_control_points():
    score, reward = np.repeat([1.0, 2.0, 3.0], 5), np.tile([0.0, 0, 0, 0, 50], 3)
    flat = SplineCalibrator(3, (None, "flat")).fit(score - 0.1 * (reward == 0), reward)
    assert np.allclose(flat.predict([-9.0, 0.9, 9.0]), 10)
    ranged = clone(flat).set_params(bounds=((0.0, 4.0), (0.0, 100.0))).fit(score, reward)
    assert np.allclose(ranged.predict([0.0, 2.0, 4.0]), [0, 10, 100])


def test_a_frequent_score_does_not_swallow_those_above_it():
    few = SplineCalibrator(2, UNIT).fit([0.1] * 6 + [0.2] * 4, [0] * 6 + [1, 1, 0, 0])
    assert few.n_bins_ == 2
    assert np.allclose(few.control_scores_, [0, 0.1, 0.2, 1])
    assert np.allclose(few.control_rewards_, [0, 0, 0.5, 1])
    # A descent whose predictions are cut off at 0 leaves most scores there.
    score = np.r_[np.zeros(970), np.linspace(0.1, 0.9, 30)]
    clipped = SplineCalibrator(20, UNIT).fit(score, (score > 0.5).astype(float))
    assert clipped.predict([0.0])[0] == 0 and clipped.n_bins_ == 2


def test_one_score_gives_the_weighted_mean():
    spline = SplineCalibrator(5).fit(np.full(11, 2.5), [1.0] + [0.0] * 10, keep_rate=0.1)
    assert np.allclose(spline.predict([2.5, -10, 10]), 1 / 101)


def test_monotone_pools_what_falls():
    score = np.repeat([0.2, 0.4, 0.6], 4)
    reward = np.repeat([0.5, 0.3, 0.9], 4)
    falling = SplineCalibrator(3, UNIT).fit(score, reward)
    rising = SplineCalibrator(3, UNIT, monotone=True).fit(score, reward)
    assert np.allclose(falling.control_rewards_, [0, 0.5, 0.3, 0.9, 1])
    assert np.allclose(rising.control_rewards_, [0, 0.4, 0.4, 0.9, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], []), "no row"),
        (([0.1, np.nan], [0, 1]), "missing or infinite"),
        (([0.1, 0.2], [0, 1, 1]), "2 scores but 3 rewards"),
        (([0.1, 1.2], [0, 1]), "outside of the bounds"),
        (([0.1, 0.2], [0, 3]), "rewards lie outside"),
        (([0.1, 0.2], [0, 1], 0.0), "at most 1"),
        (([0.1, 0.2], [0, 1], [0.5, 1.5]), "at most 1"),
        (([0.1, 0.2], [0, 1], None, [0, 0]), "weights are 0"),
    ],
)
def test_bad_calibration_rows_are_refused_in_a_sentence(arguments, message):
    with pytest.raises(CounterweightError, match=message):
        SplineCalibrator(5, UNIT).fit(*arguments)
    for bins in (0, "x", None, 2.5, float("nan")):
        with pytest.raises(CounterweightError, match="bins is"):
            SplineCalibrator(bins).fit([0.1], [1])
    with pytest.raises(CounterweightError, match="scores must be numbers"):
        SplineCalibrator(2).fit(["a", "b"], [0, 1])
    with pytest.raises(CounterweightError, match="bounds of the scores are 1"):
        SplineCalibrator(2, (1, 2)).fit([0.1, 0.2], [0, 1])
    with pytest.raises(NotFittedError):
        SplineCalibrator(2).predict([0.1])


def test_prior_correction_is_exact_by_bayes():
    x = np.linspace(-6, 6, 201)
    base, rate = 0.03, 0.02
    ones, zeros = np.exp(-((x - 2) ** 2) / 2) * base, np.exp(-(x**2) / 2) * (1 - base)
    whole, kept = ones / (ones + zeros), ones / (ones + rate * zeros)
    assert np.abs(prior_correction(kept, rate) - whole).max() < 1e-12
    assert np.abs(inverse_prior_correction(whole, rate) - kept).max() < 1e-12


def test_prior_corrections_compose_and_leave_the_ends():
    q = np.linspace(0, 1, 101)
    twice = prior_correction(prior_correction(q, 0.2), 0.05)
    assert np.abs(twice - prior_correction(q, 0.01)).max() < 1e-14
    assert np.abs(inverse_prior_correction(prior_correction(q, 0.003), 0.003) - q).max() < 1e-12
    assert np.array_equal(prior_correction(q, 1.0), q)
    assert prior_correction([0.0, 1.0], 0.5).tolist() == [0.0, 1.0]
    rates = np.linspace(0.1, 1, 101)
    each = [prior_correction(one, rate) for one, rate in zip(q, rates, strict=True)]
    assert np.allclose(prior_correction(q, rates), each)


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, np.nan, "much"])
def test_rates_out_of_range_are_refused(rate):
    with pytest.raises(CounterweightError):
        prior_correction([0.5], rate)
    with pytest.raises(CounterweightError):
        CalibratedSubsampleClassifier(LogisticRegression(), keep_rate=rate).fit(
            [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
        )
