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


class Share:
    """Says the weighted share of ones to everybody; sees what it was given."""

    def fit(self, X, y, sample_weight):
        self.share = float(np.average(y, weights=sample_weight))
        self.seen = X, y, sample_weight
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share, self.share], (len(X), 1))


def test_losses_are_of_models_that_left_the_row_out_weighted_by_how_rows_were_bought():
    y_old = np.array([1.0, 1, 0, 1, 1, 1])
    y, chances = np.array([0.0, 1, 0, 1]), np.array([0.1, 0.2, 0.4, 0.4])
    X_old, X = np.arange(6.0)[:, None], np.arange(4.0)[:, None]
    weight = np.array([1.0, 3, 1, 1, 1, 1])
    asked = {"weight": weight, "shares": (0.0, 0.5), "folds": 2, "draws": 1}
    found = combined_model(Share, (X_old, y_old), (X, y), chances, **asked)
    own, kept = 1 / chances, weight / weight.mean()
    own /= own.mean()
    fold = np.empty(4, int)
    fold[np.random.default_rng(0).permutation(4)] = [0, 1, 0, 1]
    losses = {}
    for share in (0.0, 0.5):
        losses[share] = np.empty(4)
        for k in (0, 1):
            left = fold != k
            ones = own[left] @ y[left] + share * (kept @ y_old)
            p = ones / (own[left].sum() + share * kept.sum())
            one_class = share == 0 and np.ptp(y[left]) == 0
            p = 0.5 if one_class else p
            losses[share][~left] = -np.log(np.where(y[~left] == 1, p, 1 - p))
    for share, each in losses.items():
        assert found.losses[share] == pytest.approx(np.average(each, weights=own))
    gap = losses[0.5] - losses[0.0]
    gap = gap if found.share == 0 else -gap
    around = gap - np.average(gap, weights=own)
    other = 0.5 - found.share
    assert found.errors[other] == pytest.approx(np.sqrt((own**2 * around**2).sum()) / own.sum())
    assert found.errors[found.share] == 0 and found.share == min(losses, key=found.losses.get)
    # The scale of weights and chances is nobody's business.
    again = combined_model(
        Share, (X_old, y_old), (X, y), 2 * chances, **asked | {"weight": 7 * weight}
    )
    assert again.losses == pytest.approx(found.losses)


def test_all_labels_are_used_in_the_end_and_one_class_is_refused():
    y_old, y = np.array([1.0, 0, 1]), np.array([1.0, 1, 1, 1])
    X_old, X = np.arange(3.0)[:, None], np.arange(10.0, 14.0)[:, None]
    asked = {"folds": 2, "draws": 2}
    found = combined_model(Share, (X_old, y_old), (X, y), np.ones(4), shares=(0.5,), **asked)
    rows, labels, weights = found.model.seen
    assert (
        rows[:, 0].tolist() == [0, 1, 2, 10, 11, 12, 13] and labels.tolist() == [1, 0, 1] + [1] * 4
    )
    assert weights.tolist() == [0.5] * 3 + [1.0] * 4
    with pytest.raises(CounterweightError, match="All labels are of one class"):
        combined_model(Share, (X_old, y_old), (X, y), np.ones(4), shares=(0.0,), **asked)
    # A model that cannot be fitted has the loss of a coin.
    both = combined_model(Share, (X_old, [1, 1, 0]), (X, y), np.ones(4), shares=(0, 1), **asked)
    assert both.losses[0] == pytest.approx(np.log(2)) and both.share == 1
    assert both.losses[1] == pytest.approx(-np.log(4 / 5))
