"""Boosting as a classifier: scikit-learn's answers, weights honoured, nothing else looked at."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.boosting import BoostedClassifier, BoostedRegressor
from counterweight.tables.saved_form import read_saved, write_saved
from sklearn.ensemble import HistGradientBoostingClassifier


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = (rng.random(900) < 1 / (1 + np.exp(-(X[:, 0] ** 2) + X[:, 1] + 1))).astype(int)
    return X, y, rng.exponential(size=900)


def answers(X, y, weights=None, new=None):
    model = BoostedClassifier(max_iter=15).fit(X, y, weights)
    return model.predict_proba(X if new is None else new)[:, 1]


def test_answers_are_those_of_scikit_learn(sample):
    X, y, weights = sample
    weights = weights / weights.mean()
    theirs = HistGradientBoostingClassifier(
        max_iter=15, max_leaf_nodes=15, max_bins=64, early_stopping=False
    )
    theirs.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(answers(X, y, weights), theirs.predict_proba(X)[:, 1])


def test_the_scale_of_the_weights_does_not_matter(sample):
    X, y, weights = sample
    np.testing.assert_array_equal(answers(X, y, weights), answers(X, y, weights / 1024))
    np.testing.assert_array_equal(answers(X, y), answers(X, y, np.full(900, 0.25)))


def test_rows_of_weight_zero_change_nothing(sample):
    X, y, weights = sample
    far = X.copy()
    far[450:] *= 1e6
    weights = np.r_[weights[:450], np.zeros(450)]
    alone = answers(X[:450], y[:450], weights[:450])
    np.testing.assert_array_equal(answers(far, y, weights, new=X[:450]), alone)


def test_heavy_rows_are_answered_as_they_ask():
    X = np.repeat([[0.0], [1.0]], 200, axis=0)
    y = np.tile([0, 1], 200)
    p = answers(X, y, np.where(y == X[:, 0], 9.0, 1.0))
    np.testing.assert_allclose(p, np.where(X[:, 0] > 0, 0.9, 0.1), atol=0.15)


def test_it_is_saved_as_numbers(sample, tmp_path):
    X, y, weights = sample
    model = BoostedClassifier(max_iter=8, max_leaf_nodes=4).fit(X, y, weights)
    write_saved(tmp_path / "model.parquet", "test", {}, model.to_arrays())
    again = BoostedClassifier.from_arrays(read_saved(tmp_path / "model.parquet").arrays)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"max_iter": 0}, {}, "max_iter must be"),
        ({}, {"y": np.zeros(900, int)}, "Gradient boosting needs both classes"),
        ({}, {"sample_weight": -np.ones(900)}, "negative"),
    ],
)
def test_what_cannot_be_fitted_is_told(sample, options, change, message):
    X, y, _ = sample
    with pytest.raises(CounterweightError, match=message):
        BoostedClassifier(**options).fit(**({"X": X, "y": y} | change))


def test_other_features_in_new_rows_are_refused(sample):
    X, y, _ = sample
    model = BoostedClassifier(max_iter=2).fit(X, y)
    with pytest.raises(CounterweightError, match="3 features"):
        model.predict_proba(X[:, :2])


@pytest.mark.parametrize("model", [BoostedClassifier, BoostedRegressor])
def test_the_first_trees_are_those_of_a_shorter_fit(model):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 3))
    y = (X[:, 0] + rng.normal(size=500) > 0).astype(int)
    sizes = (5, 12, 30)
    longest = model(max_iter=30).fit(X, y)
    for size, found in zip(sizes, longest.along(X, sizes), strict=True):
        short = model(max_iter=size).fit(X, y)
        assert found == pytest.approx(short.answers(short.raw(X)), abs=1e-12)
        assert np.array_equal(longest.shortened(size).raw(X), short.raw(X))
