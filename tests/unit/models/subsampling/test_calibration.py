"""Spline calibration, prior correction, and the estimators that use them."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.subsampling.calibrated_subsample import (
    CalibratedSubsampleClassifier,
    CalibratedSubsampleRegressor,
)
from counterweight.models.subsampling.calibration import SplineCalibrator, prior_correction
from counterweight.numerics.zero_rejection import keep_weights, kept_rows
from scipy.sparse import csc_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

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


def test_the_calibrated_classifier_finds_the_base_rate_and_the_plain_one_is_off_as_known():
    X, y, p = _logistic(60_000)
    rate = 0.1
    model = CalibratedSubsampleClassifier(LogisticRegression(C=1e6), rate, random_state=0)
    mean = model.fit(X, y).predict_proba(X)[:, 1].mean()
    kept = keep_weights(y, rate)
    # Binomial spread of the held-out rows behind the control points.
    error = np.sqrt((kept**2 * (y - p) ** 2).mean() / (0.3 * len(y)) / rate) / kept.mean()
    assert abs(mean - y.mean()) < 4 * max(error, 1e-3)
    plain = model.estimator_.predict_proba(X)[:, 1]
    assert abs(plain.mean() - inverse_prior_correction(p, rate).mean()) < 0.01
    assert plain.mean() > 3 * y.mean()


def test_given_rates_are_as_good_as_own_rejection():
    X, y, p = _logistic(30_000, seed=1)
    rate = np.where(X[:, 0] > 0, 0.5, 0.1)
    kept = kept_rows(y, np.arange(len(y)), rate, 5)
    model = CalibratedSubsampleClassifier(LogisticRegression(), keep_rate=None, random_state=0)
    model.fit(X[kept], y[kept], row_keep_rate=rate[kept])
    assert model.n_rows_kept_ == kept.sum()
    assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.01
    missing = np.where(y == 1, np.nan, rate)
    again = clone(model).fit(X[kept], y[kept], row_keep_rate=missing[kept])
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_keys_make_the_fit_free_of_the_order_of_rows():
    X, y, _ = _logistic(3000, seed=2)
    keys = np.random.default_rng(0).permutation(10_000)[:3000]
    order = np.random.default_rng(1).permutation(3000)
    model = CalibratedSubsampleClassifier(LogisticRegression(), 0.2, random_state=3)
    one = clone(model).fit(X, y, keys=keys).predict_proba(X)
    other = clone(model).fit(X[order], y[order], keys=keys[order]).predict_proba(X)
    assert np.array_equal(one, other)


def test_labels_may_be_words_and_scores_unbounded():
    X, y, _ = _logistic(5000, seed=4)
    words = np.where(y == 1, "yes", "no")
    model = CalibratedSubsampleClassifier(LinearSVC(), 0.2, random_state=0, positive="yes")
    model.fit(X, words)
    assert model.classes_.tolist() == ["no", "yes"]
    p = model.predict_proba(X)
    assert np.allclose(p.sum(axis=1), 1) and abs(p[:, 1].mean() - y.mean()) < 0.03
    assert set(model.predict(X)) == {"no", "yes"}


def test_the_regressor_finds_the_mean_reward():
    X, y, _ = _logistic(40_000, seed=5)
    reward = y * np.random.default_rng(0).gamma(2.0, 3.0, len(y))
    model = CalibratedSubsampleRegressor(LinearRegression(), 0.1, random_state=0).fit(X, reward)
    mean = model.predict(X).mean()
    assert abs(mean - reward.mean()) < 0.05 * reward.mean()
    assert model.estimator_.predict(X).mean() > 2 * reward.mean()


@pytest.mark.parametrize(
    "model",
    [
        CalibratedSubsampleClassifier(LogisticRegression(), random_state=0),
        CalibratedSubsampleRegressor(LinearRegression(), 0.9, random_state=0),
        CalibratedSubsampleClassifier(LinearSVC()),
        CalibratedSubsampleRegressor(HistGradientBoostingRegressor(max_iter=5)),
    ],
    ids=["classifier", "regressor", "by default", "missing values"],
)
def test_scikit_learn_accepts_the_estimators(model):
    reason = "rows are held out one by one, so a row of weight 2 is not two rows"
    names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    check_estimator(model, on_skip=None, expected_failed_checks=dict.fromkeys(names, reason))


def test_missing_values_and_categories_reach_an_estimator_that_takes_them():
    X, y, _ = _logistic(3000, seed=7)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    table = pd.DataFrame({"a": holes[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    trees = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    for rows in (holes, table):
        model = CalibratedSubsampleClassifier(trees, 0.5, random_state=0).fit(rows, y)
        assert abs(model.predict_proba(rows)[:, 1].mean() - y.mean()) < 0.05
    assert model.feature_names_in_.tolist() == ["a", "b"]
    inner = GridSearchCV(make_pipeline(SimpleImputer(), LogisticRegression()), {})
    CalibratedSubsampleClassifier(inner, 0.5, random_state=0).fit(holes, y).predict(holes)
    reward = y * X[:, 0]
    regressor = CalibratedSubsampleRegressor(HistGradientBoostingRegressor(max_iter=5), 0.5)
    assert np.isfinite(regressor.fit(holes, reward).predict(holes)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        CalibratedSubsampleClassifier(LogisticRegression(), 0.5).fit(holes, y)


def test_tables_and_sparse_rows_give_the_same_fit_as_arrays():
    X, y, _ = _logistic(2000, seed=8)
    model = CalibratedSubsampleClassifier(LogisticRegression(), 0.5, random_state=0)
    p = clone(model).fit(X, y).predict_proba(X)
    table = pd.DataFrame(X).add_prefix("x").set_index(np.arange(2000) + 7)
    assert np.allclose(clone(model).fit(table, y).predict_proba(table), p)
    assert np.allclose(clone(model).fit(csc_array(X), y).predict_proba(csc_array(X)), p)


def test_estimators_refuse_what_they_cannot_honour():
    X, y, _ = _logistic(500, seed=6)
    base = LogisticRegression()
    from sklearn.neighbors import KNeighborsClassifier

    with pytest.raises(CounterweightError, match="takes no sample_weight"):
        CalibratedSubsampleClassifier(KNeighborsClassifier(), 0.5).fit(
            X, y, sample_weight=np.ones(500)
        )
    with pytest.raises(CounterweightError, match="LinearRegression has neither predict_proba"):
        CalibratedSubsampleClassifier(LinearRegression(), 0.5).fit(X, y)
    for share in (0, 1, "a", None):
        with pytest.raises(CounterweightError, match="calibration_share must be"):
            CalibratedSubsampleClassifier(base, 0.5, calibration_share=share).fit(X, y)
    with pytest.raises(CounterweightError, match="row_keep_rate"):
        CalibratedSubsampleClassifier(base, None).fit(X, y)
    with pytest.raises(CounterweightError, match="not both"):
        CalibratedSubsampleClassifier(base, 0.5).fit(X, y, row_keep_rate=0.5)
    with pytest.raises(CounterweightError, match="one class only"):
        CalibratedSubsampleClassifier(base, 0.5).fit(X, np.r_[1, np.zeros(499, int)])
    with pytest.raises(CounterweightError, match="more than once"):
        CalibratedSubsampleClassifier(base, 0.5).fit(X, y, keys=np.zeros(500, int))


def test_words_need_the_class_that_is_kept():
    X, y, _ = _logistic(20_000, seed=4)
    words = np.where(y == 1, "click", "none")
    numbers = CalibratedSubsampleClassifier(LogisticRegression(), keep_rate=0.2, random_state=0)
    with pytest.raises(ValueError, match="always kept as positive"):
        clone(numbers).fit(X, words)
    with pytest.raises(ValueError, match="'sale', but the labels are 'click' and 'none'"):
        clone(numbers).set_params(positive="sale").fit(X, words)
    named = clone(numbers).set_params(positive="click").fit(X, words)
    assert named.classes_.tolist() == ["none", "click"]
    np.testing.assert_array_equal(named.predict_proba(X), numbers.fit(X, y).predict_proba(X))
    assert set(named.predict(X)) <= {"click", "none"}
