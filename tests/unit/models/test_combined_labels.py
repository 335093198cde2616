"""Old labels count as far as they agree with those bought by design."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.combined_labels import combined_model
from sklearn.linear_model import LinearRegression, LogisticRegression


def rows(generator, n, turn=1.0):
    X = generator.normal(size=(n, 4))
    score = X @ np.array([1.5, -1.0, 0.5, 0.0]) * turn
    return X, (generator.random(n) < 1 / (1 + np.exp(-score))).astype(float)


def test_labels_that_agree_are_used_and_those_that_mislead_are_not():
    generator = np.random.default_rng(1)
    test = rows(generator, 20_000)
    shares = {}
    for turn in (1.0, -1.0):
        old, bought = rows(generator, 3000, turn), rows(generator, 80)
        found = combined_model(LogisticRegression, old, bought, np.full(80, 0.02))
        shares[turn] = found.share
        alone = LogisticRegression().fit(*bought)
        losses = [
            -np.log(np.where(test[1] == 1, p, 1 - p)).mean()
            for p in (model.predict_proba(test[0])[:, 1] for model in (found.model, alone))
        ]
        # Better where they agree; where they mislead, those bought are all that counts.
        assert losses[0] < losses[1] - 0.005 if turn > 0 else losses[0] == losses[1]
        assert found.errors[found.share] == 0
    assert shares[1.0] >= 0.1 and shares[-1.0] == 0


def test_of_equal_rows_a_share_is_a_weight_and_frames_serve_as_well():
    generator = np.random.default_rng(2)
    X, _ = rows(generator, 60)
    y = X @ np.array([1.0, 2, 3, 4]) + 1
    frame = pd.DataFrame(X, columns=list("abcd"))
    found = combined_model(
        LinearRegression, (frame[20:], y[20:]), (frame[:20], y[:20]), np.ones(20)
    )
    assert max(found.losses.values()) == pytest.approx(0, abs=1e-20)
    np.testing.assert_allclose(found.model.coef_, [1, 2, 3, 4])


def test_too_few_labels_are_refused():
    X, y = rows(np.random.default_rng(3), 30)
    with pytest.raises(CounterweightError, match="9 labels were bought"):
        combined_model(LogisticRegression, (X, y), (X[:9], y[:9]), np.ones(9))
    enough = (X, y), (X[:10], y[:10]), np.ones(10)
    assert combined_model(LogisticRegression, *enough, shares=(0.0,), draws=1).share == 0
