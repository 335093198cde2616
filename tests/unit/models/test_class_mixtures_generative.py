"""Generative classifier: Bayes' rule, weights, storage, messages."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.class_mixtures import GenerativeClassifier
from counterweight.numerics.gaussian_mixture import _scale, fit_mixture
from counterweight.tables.parquet import model_arrays, model_table
from scipy.stats import multivariate_normal


def _labeled(n=800, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, 2)) + np.where(y[:, None] == 1, [2.0, 0.0], [0.0, 1.0])
    X[:, 0] += rng.exponential(size=n)
    return X, y


def _fit(X, y, weights=None, seed=0, **options):
    options = {"components": 2, "n_init": 4} | options
    return GenerativeClassifier(**options).fit(X, y, weights, rng=np.random.default_rng(seed))


def test_one_component_is_quadratic_discriminant_analysis():
    X, y = _labeled()
    weights = np.random.default_rng(1).random(len(y))
    model = _fit(X, y, weights, components=1)
    joint = np.empty((len(y), 2))
    for c in (0, 1):
        rows, w = X[y == c], weights[y == c]
        normal = multivariate_normal(
            np.average(rows, axis=0, weights=w), np.cov(rows.T, aweights=w, ddof=0)
        )
        joint[:, c] = np.log(w.sum() / weights.sum()) + normal.logpdf(X)
    np.testing.assert_allclose(model.joint_log_density(X), joint, rtol=1e-8, atol=1e-8)
    expected = np.exp(joint) / np.exp(joint).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    assert model.log_likelihood_ == pytest.approx(weights @ joint[np.arange(len(y)), y], rel=1e-9)


def test_shared_start_continues_the_mixture_of_all_rows():
    X, y = _labeled()
    model = _fit(X, y)
    scale = _scale(X, np.ones(len(X)))
    base = fit_mixture(X, 2, n_init=4, rng=np.random.default_rng(0), scale=scale)
    np.testing.assert_allclose(model.base_.means, base.means, rtol=1e-12, atol=1e-12)
    for c in (0, 1):
        part = fit_mixture(X[y == c], 2, start=base, scale=scale)
        np.testing.assert_allclose(model.means_[c], part.means, rtol=1e-12, atol=1e-12)


def test_given_base_saves_the_fit_and_changes_nothing():
    X, y = _labeled()
    first = _fit(X, y)
    flipped = _fit(X, 1 - y)
    reused = GenerativeClassifier(components=2).fit(X, 1 - y, rng=None, base=first.base_)
    np.testing.assert_array_equal(reused.means_, flipped.means_)
    np.testing.assert_array_equal(reused.means_, first.means_[::-1])


def test_separate_start_does_not_use_a_base():
    X, y = _labeled()
    model = _fit(X, y, start="separate")
    assert model.base_ is None
    assert model.iterations_.shape == (2,)
    assert model.restart_log_likelihood_.shape == (8,)


def test_weights_shift_the_prior():
    X, y = _labeled()
    model = _fit(X, y, np.where(y == 1, 3.0, 1.0))
    share = 3 * y.sum() / (3 * y.sum() + (1 - y).sum())
    np.testing.assert_allclose(model.prior_, [1 - share, share], rtol=1e-12)


def test_integer_weights_equal_repeated_rows_from_the_same_start():
    X, y = _labeled()
    counts = np.random.default_rng(2).integers(1, 4, len(y))
    base = fit_mixture(X, 2, n_init=2, rng=np.random.default_rng(0))
    options = {"components": 2, "max_iter": 40}
    one = GenerativeClassifier(**options).fit(X, y, counts, rng=None, base=base)
    other = GenerativeClassifier(**options).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts), rng=None, base=base
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("start", ["shared", "separate"])
def test_stored_model_predicts_the_same(start):
    X, y = _labeled()
    model = _fit(X, y, start=start)
    arrays = model_arrays(model_table(model.to_arrays(), 0, "general").to_pandas())
    again = GenerativeClassifier.from_arrays(arrays)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.log_likelihood_ == model.log_likelihood_
    np.testing.assert_array_equal(again.iterations_, model.iterations_)
    np.testing.assert_array_equal(again.converged_, model.converged_)


def test_far_rows_get_probabilities():
    X, y = _labeled()
    p = _fit(X, y).predict_proba(np.array([[1e4, -1e4], [-1e6, 1e6]]))
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_bad_input_is_explained():
    X, y = _labeled()
    with pytest.raises(CounterweightError, match="has the label 1: a classifier needs both"):
        _fit(X, np.zeros_like(y))
    with pytest.raises(CounterweightError, match="has the label 0"):
        _fit(X, y, y.astype(float))
    few = np.zeros_like(y)
    few[:5] = 1
    with pytest.raises(CounterweightError, match="Rows with the label 1: .* at least 8 rows"):
        _fit(X, few)
    with pytest.raises(CounterweightError, match="Each label must be 0 or 1, or one of two"):
        _fit(X, np.arange(len(y)) % 3)
    with pytest.raises(CounterweightError, match="start must be"):
        _fit(X, y, start="warm")
    with pytest.raises(CounterweightError, match="has 3 features, but .* is expecting 2"):
        _fit(X, y).predict_proba(np.zeros((4, 3)))
    with pytest.raises(CounterweightError, match="Missing or infinite"):
        _fit(X, y).predict_proba(np.full((4, 2), np.nan))


def test_a_covariance_floor_that_binds_in_both_classes_moves_no_boundary():
    """Both classes sit on one point of a feature, one of them with twice the spread elsewhere."""
    rng = np.random.default_rng(0)
    n = 4000
    y = np.repeat([0, 1], n)
    spike = np.where(rng.random(2 * n) < 0.5, 0.0, (1 + y) * rng.normal(10, 1, 2 * n))
    X = np.column_stack([rng.normal(size=2 * n), spike])
    model = GenerativeClassifier(components=2, n_init=3, reg_covar=1e-3)
    model.fit(X, y, rng=np.random.default_rng(1))
    at_spike = np.linalg.eigvalsh(model.covariances_)[..., 0].min(axis=1)
    assert at_spike[0] == pytest.approx(at_spike[1], rel=0.05)
    p = model.predict_proba(np.column_stack([np.zeros(1), np.zeros(1)]))[0, 1]
    assert p == pytest.approx(0.5, abs=0.05)
