"""A log that is read once: nearly the fit of all its rows, whatever the batches."""

import numpy as np
import pytest
from counterweight import OnePassClassifier, OnePassRegressor
from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics import metric_estimate, predicted_over_observed
from counterweight.models.subsampling.subsampled import SubsampledClassifier
from scipy.special import expit

COEF = np.array([0.8, -0.5, 0.3, 0.0])


def a_log(rows, seed, constant=-4.5, bent=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4)) * [1, 3, 0.1, 20] + [0, 5, 1, -40]
    z = (X - [0, 5, 1, -40]) / [1, 3, 0.1, 20]
    margin = constant + z @ COEF + bent * z[:, 0] * z[:, 1]
    return X, (rng.random(rows) < expit(margin)).astype(int), margin


@pytest.mark.parametrize("batch", [500, 5_000])
@pytest.mark.parametrize(("rate", "bent"), [(0.1, 0.0), (0.01, 0.0), (0.1, 0.4)])
def test_one_pass_is_within_two_per_cent_of_the_batch_fit(rate, bent, batch):
    X, y, _ = a_log(200_000, 0, bent=bent)
    kept = (y == 1) | (np.random.default_rng(1).random(len(y)) < rate)
    model = OnePassClassifier(keep_rate=rate)
    X_kept, y_kept = X[kept], y[kept]
    for start in range(0, len(y_kept), batch):
        part = slice(start, start + batch)
        model.partial_fit(X_kept[part], y_kept[part])
    whole = SubsampledClassifier(keep_rate=rate).fit(X, y, rng=np.random.default_rng(2))
    new_X, new_y, _ = a_log(200_000, 3, bent=bent)
    p, other = (one.predict_proba(new_X)[:, 1] for one in (model, whole))
    for metric in ("log_loss", "brier"):
        ours, theirs = (metric_estimate(metric, new_y, one).value for one in (p, other))
        assert ours < 1.02 * theirs
    assert predicted_over_observed(new_y, p)[0] == pytest.approx(1, abs=0.15)
    assert model.rows_seen_ == kept.sum()


def test_one_batch_is_penalised_maximum_likelihood():
    X, y, _ = a_log(20_000, 4, constant=-1.0)
    model = OnePassClassifier(penalty=0.0).partial_fit(X, y)
    basis = np.column_stack([np.ones(len(X)), (X - model.center_) / model.scale_])
    gap = basis.T @ (expit(basis @ model.coef_) - y)
    assert np.abs(gap).max() < 1e-3
    assert np.array_equal(model.calibration_, [0, 1, 0, 0])  # nothing was predicted before


def test_offset_and_weights_agree_and_rates_of_clicks_may_be_missing():
    X, y, margin = a_log(100_000, 5, constant=-3.0)
    rate = np.where(X[:, 0] > 0, 0.5, 0.2)
    kept = (y == 1) | (np.random.default_rng(6).random(len(y)) < rate)
    found = []
    for told in (rate, np.where(y == 1, np.nan, rate)):
        model = OnePassClassifier()
        for part in np.array_split(np.flatnonzero(kept), 10):
            model.partial_fit(X[part], y[part], told[part])
        found.append(model.predict_proba(X)[:, 1])
        assert found[-1].mean() == pytest.approx(y.mean(), rel=0.03)
    assert np.corrcoef(*found)[0, 1] > 0.99
    assert np.abs(np.log(found[0] / expit(margin))).mean() < 0.1


def test_rewards_that_are_numbers():
    X, some, margin = a_log(100_000, 7, constant=-2.0)
    rng = np.random.default_rng(8)
    reward = some * rng.uniform(2, 6, size=len(some))  # 4 on average
    kept = (reward > 0) | (rng.random(len(some)) < 0.1)
    model = OnePassRegressor(high=6.0, keep_rate=0.1)
    for part in np.array_split(np.flatnonzero(kept), 8):
        model.partial_fit(X[part], reward[part])
    truth = 4 * expit(margin)
    told = model.predict(X)
    assert told.mean() == pytest.approx(truth.mean(), rel=0.03)
    constant = np.square(truth - truth.mean()).mean()
    assert np.square(told - truth).mean() < 0.05 * constant


def test_rewards_of_another_range_are_told_in_its_unit():
    X, some, _ = a_log(500, 7, constant=-1.0)
    reward = some * np.random.default_rng(8).uniform(0.2, 1.0, 500)
    plain = OnePassRegressor().partial_fit(X, reward).predict(X)
    moved = OnePassRegressor(low=-3.0, high=9.0).partial_fit(X, 12 * reward - 3).predict(X)
    np.testing.assert_allclose(moved, 12 * plain - 3, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda X, y: OnePassClassifier().partial_fit(X, y + np.arange(len(y)) % 3),
            "one of two classes",
        ),
        (lambda X, y: OnePassClassifier().partial_fit(X, y[:-1]), "rows but a label of shape"),
        (lambda X, y: OnePassClassifier(keep_rate=2.0).partial_fit(X, y), "keep_rate"),
        (lambda X, y: OnePassClassifier().partial_fit(X, y, 0.0), "keep rate"),
        (lambda X, y: OnePassRegressor(high=0.5).partial_fit(X, y), "not from 0 to 0.5"),
        (lambda X, y: OnePassRegressor(low=1.0).partial_fit(X, y), "the least one first"),
        (
            lambda X, y: OnePassClassifier().partial_fit(X, y).predict_proba(X[:, :2]),
            "is expecting 4 features",
        ),
    ],
)
def test_mistakes_are_told(call, says):
    X, y, _ = a_log(300, 9, constant=0.0)
    with pytest.raises(CounterweightError, match=says):
        call(X, y)
