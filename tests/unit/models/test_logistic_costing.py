"""Costing: what is accepted is the weighted population, and what is learned is of it."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.logistic import (
    CostingClassifier,
    LogisticModel,
    acceptance,
    packed,
    unpacked,
)
from counterweight.tables.saved_form import read_saved, write_saved

BOOSTING = {"model": "gradient_boosting", "max_iter": 5}
MIXTURES = {"model": "generative", "components": 1, "n_init": 1}


def sample(n=800, seed=0):
    """A curve that no line follows; the weights ask for its right end."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (rng.random(n) < 1 / (1 + np.exp(0.5 - X[:, 0] ** 2 - X[:, 1]))).astype(int)
    return X, y, np.minimum(np.exp(X[:, 0]), 4.0)


def test_the_expected_loss_of_the_accepted_is_the_weighted_loss():
    rng = np.random.default_rng(1)
    weights, loss = rng.exponential(size=500), rng.normal(size=500) ** 2
    chance = acceptance(weights)
    # The identity: chance times the largest weight is the weight, so any loss is the weighted one.
    np.testing.assert_allclose(chance * weights.max() @ loss, weights @ loss)
    drawn = (rng.random((4000, 500)) < chance) @ loss * weights.max()
    error = drawn.std() / np.sqrt(len(drawn))
    assert abs(drawn.mean() - weights @ loss) < 4 * error
    spread = weights.max() ** 2 * np.sum(chance * (1 - chance) * loss**2)
    assert drawn.var() == pytest.approx(spread, rel=0.1)


def test_it_learns_what_weighted_logistic_regression_learns():
    X, y, weights = sample(40_000)
    weighted = LogisticModel().fit(X, y, weights)
    plain = LogisticModel().fit(X, y)
    made = CostingClassifier(models=20).fit(X, y, weights, rng=np.random.default_rng(2))
    coef = np.mean([model.coef_ for model in made.models_], axis=0)
    assert np.abs(coef - weighted.coef_).max() < 0.05 < np.abs(plain.coef_ - weighted.coef_).max()
    assert made.rows_trained_ == pytest.approx(weights.sum() / weights.max(), rel=0.02)


def test_without_weights_it_is_the_classifier():
    X, y, _ = sample()
    alone = LogisticModel().fit(X, y).predict_proba(X)
    for weights in (None, np.full(800, 7.0)):
        made = CostingClassifier().fit(X, y, weights)
        assert len(made.models_) == 1
        np.testing.assert_allclose(made.predict_proba(X), alone, rtol=1e-12)


def test_the_answer_is_the_average():
    X, y, weights = sample()
    made = CostingClassifier(models=7).fit(X, y, weights)
    each = [model.predict_proba(X) for model in made.models_]
    np.testing.assert_allclose(made.predict_proba(X), np.mean(each, axis=0))


def test_the_scale_of_the_weights_does_not_matter():
    X, y, weights = sample()
    one = CostingClassifier(models=5).fit(X, y, weights, rng=np.random.default_rng(3))
    other = CostingClassifier(models=5).fit(X, y, weights * 1024, rng=np.random.default_rng(3))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_samples_of_one_class_say_that_class():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 0, 1])
    weights = np.array([1.0, 1, 1, 1, 1, 1e9])
    made = CostingClassifier(models=12).fit(X, y, weights)
    assert made.constant_.tolist() == [1.0] * 12 and made.models_ == []
    assert (made.predict_proba(X)[:, 1] == 1).all()
    again = CostingClassifier.from_arrays(made.to_arrays())
    assert (again.predict_proba(X)[:, 1] == 1).all()


@pytest.mark.parametrize("classifier", [{"model": "logistic"}, BOOSTING, MIXTURES])
def test_any_classifier_is_saved_within(tmp_path, classifier):
    X, y, weights = sample()
    made = CostingClassifier(classifier, models=4).fit(X, y, weights)
    write_saved(tmp_path / "model.parquet", "test", {}, made.to_arrays())
    arrays = read_saved(tmp_path / "model.parquet").arrays
    again = CostingClassifier.from_arrays(arrays).set_params(classifier=classifier)
    np.testing.assert_array_equal(again.predict_proba(X), made.predict_proba(X))
    repeated = CostingClassifier.from_arrays(again.to_arrays()).set_params(classifier=classifier)
    np.testing.assert_array_equal(repeated.predict_proba(X), made.predict_proba(X))


def test_arrays_of_several_models_come_apart_again():
    models = [
        {"table": np.arange(6.0).reshape(3, 2), "number": np.array(1.5), "none": np.empty((0, 2))},
        {"table": np.ones((1, 2)), "number": np.array(-2.0), "none": np.ones((2, 2))},
    ]
    for told, made in zip(models, unpacked(packed(models)), strict=True):
        for name, values in told.items():
            np.testing.assert_array_equal(made[name], values)
            assert np.ndim(made[name]) == values.ndim
    assert unpacked({}) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": 0}, "models must be"),
        (
            {"classifier": {"model": "calibrated_numbers"}},
            "The model calibrated_numbers cannot be used in costing",
        ),
        ({"classifier": {"model": "bickel_joint"}}, "cannot be used in costing"),
        ({"classifier": {"model": "shifted_mixture"}}, "cannot be used in costing"),
        ({"classifier": {"model": "nobody"}}, "There is no model 'nobody'"),
    ],
)
def test_what_cannot_be_used_is_told(options, message):
    X, y, weights = sample()
    with pytest.raises(CounterweightError, match=message):
        CostingClassifier(**options).fit(X, y, weights)
