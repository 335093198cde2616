"""Mixture regression for covariate shift: planted sources, exact steps, storage, messages."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.joint_fits import TwoSourceClassifier
from counterweight.models.logistic import LogisticModel
from counterweight.tables.parquet import model_arrays, model_table
from scipy.special import expit
from scipy.stats import multivariate_normal

FIRST, SECOND = np.array([0.0, 0.0]), np.array([1.5, 1.5])


def _planted(n=4000, share=0.4, seed=0):
    """Labeled rows of two sources with opposite slopes, unlabeled rows of the first alone."""
    rng = np.random.default_rng(seed)
    first = rng.random(n) < share
    X = rng.normal(size=(n, 2)) + np.where(first[:, None], FIRST, SECOND)
    slope = np.where(first, 2.0, -2.0)
    y = (rng.random(n) < expit(slope * (X[:, 0] - np.where(first, 0, 1.5)))).astype(int)
    hidden = rng.normal(size=(n, 2)) + FIRST
    hidden_y = (rng.random(n) < expit(2 * hidden[:, 0])).astype(int)
    return X, y, hidden, hidden_y


def _fit(X, y, hidden, weight=None, **options):
    options = {"components": 1, "n_init": 1} | options
    model = TwoSourceClassifier(**options)
    return model.fit(X, y, weight, X_unlabeled=hidden, rng=np.random.default_rng(0))


def test_planted_sources_are_recovered_where_one_line_is_wrong():
    X, y, hidden, hidden_y = _planted(8000)
    model = _fit(X, y, hidden, tol=1e-8, max_iter=1000)
    assert model.converged_
    assert model.first_share_ == pytest.approx(0.4, abs=0.05)
    np.testing.assert_allclose(model.sources_[0].means[0], FIRST, atol=0.06)
    np.testing.assert_allclose(model.sources_[1].means[0], SECOND, atol=0.1)
    np.testing.assert_allclose(model.coef_[0], [2, 0], atol=0.3)
    np.testing.assert_allclose(model.coef_[1], [-2, 0], atol=0.3)
    best = np.mean((hidden[:, 0] > 0) == hidden_y)
    assert np.mean(model.predict(hidden) == hidden_y) > best - 0.01
    assert np.mean(LogisticModel().fit(X, y).predict(hidden) == hidden_y) < best - 0.05


@pytest.mark.parametrize("components", [1, 3])
def test_log_likelihood_never_falls_and_is_that_of_the_model(components):
    X, y, hidden, _ = _planted(1500)
    model = _fit(X, y, hidden, components=components, tol=1e-12, max_iter=60)
    values = model.log_likelihood_
    assert len(values) > 10
    assert np.diff(values).min() >= -1e-7 * abs(values[-1])
    density = [np.exp(source.log_density(X)) for source in model.sources_]
    chance = expit(X @ model.coef_.T + model.intercept_)
    seen = np.where(y[:, None] == 1, chance, 1 - chance)
    joint = model.first_share_ * density[0] * seen[:, 0]
    joint += (1 - model.first_share_) * density[1] * seen[:, 1]
    expected = np.log(joint).sum() + model.sources_[0].log_density(hidden).sum()
    assert values[-1] == pytest.approx(expected, rel=1e-9)


def test_predictions_are_those_of_bayes_rule():
    X, y, hidden, _ = _planted(1000)
    model = _fit(X, y, hidden, max_iter=10)
    chance = expit(X @ model.coef_.T + model.intercept_)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], chance[:, 0], rtol=1e-10)
    densities = np.column_stack(
        [
            multivariate_normal(source.means[0], source.covariances[0]).pdf(X)
            for source in model.sources_
        ]
    )
    second = 0.5 * (1 - model.first_share_)
    joint = densities * [1 - second, second]
    expected = (joint * chance).sum(axis=1) / joint.sum(axis=1)
    np.testing.assert_allclose(model.predict_proba(X, "general")[:, 1], expected, rtol=1e-8)


def test_twice_the_weight_of_a_row_is_the_row_twice():
    """Weights count beside unlabeled rows at mean 1, so all rows are there twice in the other."""
    X, y, hidden, _ = _planted(600)
    counts = np.repeat([1, 3], 300)
    options = {"max_iter": 8, "tol": 1e-12}
    one = _fit(X, y, hidden, counts, **options)
    rows = np.repeat(np.arange(600), counts)
    other = _fit(X[rows], y[rows], np.repeat(hidden, 2, axis=0), **options)
    assert one.first_share_ == pytest.approx(other.first_share_, abs=1e-5)
    for target in ("unlabeled", "general"):
        p, again = (model.predict_proba(hidden, target) for model in (one, other))
        np.testing.assert_allclose(p, again, atol=1e-5)


def test_units_of_the_features_do_not_matter():
    X, y, hidden, _ = _planted(800)
    one = _fit(X, y, hidden, max_iter=10)
    other = _fit(X * [100, 0.01] + 5, y, hidden * [100, 0.01] + 5, max_iter=10)
    np.testing.assert_allclose(
        other.predict_proba(hidden * [100, 0.01] + 5), one.predict_proba(hidden), atol=1e-6
    )


def test_stored_model_predicts_the_same():
    X, y, hidden, _ = _planted(500)
    model = _fit(X, y, hidden, components=2, max_iter=5)
    arrays = model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    again = TwoSourceClassifier.from_arrays(arrays)
    for target in ("unlabeled", "general"):
        np.testing.assert_array_equal(
            again.predict_proba(X, target), model.predict_proba(X, target)
        )


def test_bad_input_is_explained():
    X, y, hidden, _ = _planted(300)
    with pytest.raises(CounterweightError, match="there is none"):
        _fit(X, y, hidden[:0])
    with pytest.raises(CounterweightError, match="is constant"):
        _fit(np.column_stack([X, np.ones(300)]), y, np.column_stack([hidden, np.ones(300)]))
    with pytest.raises(CounterweightError, match="components must be"):
        _fit(X, y, hidden, components=0)
    with pytest.raises(CounterweightError, match="target must be"):
        _fit(X, y, hidden, max_iter=1).predict_proba(X, "labeled")
