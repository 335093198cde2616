"""Calibrated estimators on subsampled rows: known chances, keys, words, tables, refusals."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.subsampling.calibrated_subsample import (
    CalibratedSubsampleClassifier,
    CalibratedSubsampleRegressor,
)
from counterweight.numerics.zero_rejection import keep_weights, kept_rows
from scipy.sparse import csc_array
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator


def _logistic(n, seed=0, intercept=-3.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    p = 1 / (1 + np.exp(-(intercept + X @ [1.5, -1.0, 0.5])))
    return X, (rng.random(n) < p).astype(int), p


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
    assert abs(plain.mean() - (p / (p + rate * (1 - p))).mean()) < 0.01
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
