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


def test_midranks_share_ties():
    assert metrics.midranks(np.array([3.0, 1, 3, 2])).tolist() == [3.5, 1, 3.5, 2]


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
