"""The test of labels missing at random: trees with and without s."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.boosting import SelectionAwareClassifier
from counterweight.models.classifier import positive
from scipy.special import expit


def world(shift, rows=12_000, seed=0):
    """Rows (n, 2), y and s, where log odds of y are higher by `shift` among the labeled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 2))
    s = rng.random(rows) < expit(X[:, 0])
    y = rng.random(rows) < expit(X[:, 0] - X[:, 1] + shift * s)
    return X, y.astype(int), s.astype(int)


def gain(shift, seed=0):
    """Mean fall of log loss on new rows by seeing s, and its standard error."""
    X, y, s = world(shift, seed=seed)
    new, truth, who = world(shift, seed=seed + 100)
    losses = []
    for selection in (False, True):
        model = SelectionAwareClassifier(selection=selection, max_iter=40)
        model.fit(X[s == 1], y[s == 1], X_unlabeled=X[s == 0], y_unlabeled=y[s == 0])
        p = positive(model, new, "general", who)
        losses.append(-np.where(truth == 1, np.log(p), np.log1p(-p)))
    fall = losses[0] - losses[1]
    return fall.mean(), fall.std() / np.sqrt(len(fall))


def test_seeing_s_helps_where_labels_are_missing_not_at_random():
    mean, error = gain(1.5)
    assert mean > 5 * error


def test_seeing_s_helps_nothing_where_labels_are_missing_at_random():
    mean, error = gain(0.0)
    assert mean < 2 * error and mean > -0.01


def test_a_model_comes_back_from_its_arrays():
    X, y, s = world(1.0, rows=600)
    for selection in (False, True):
        model = SelectionAwareClassifier(selection=selection, max_iter=5)
        model.fit(X[s == 1], y[s == 1], X_unlabeled=X[s == 0], y_unlabeled=y[s == 0])
        back = SelectionAwareClassifier.from_arrays(model.to_arrays())
        np.testing.assert_array_equal(back.predict_proba(X, s), model.predict_proba(X, s))
        turned = model.predict_proba(X, 1 - s)
        assert np.array_equal(turned, model.predict_proba(X, s)) == (not selection)


def test_without_hidden_labels_there_is_nothing_to_ask():
    X, y, s = world(1.0, rows=200)
    with pytest.raises(CounterweightError, match="oracle: true"):
        SelectionAwareClassifier().fit(X[s == 1], y[s == 1], X_unlabeled=X[s == 0])
