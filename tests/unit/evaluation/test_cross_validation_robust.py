"""Doubly robust means are right when either the model or the weights are."""

import numpy as np
import pytest
from counterweight.evaluation.cross_validation import doubly_robust_mean, robust_records
from counterweight.labeling.missing_outcomes import OutOfFold
from scipy.special import expit

ROWS = 1500


def expected_losses(p, chance):
    """Accuracy and Brier score (n,) to be expected of estimates `p` where y is 1 by `chance`."""
    yes = p >= 0.5
    return {
        "accuracy": np.where(yes, chance, 1 - chance),
        "brier": chance * (1 - p) ** 2 + (1 - chance) * p**2,
    }


def world(seed):
    """Labels missing at random by x, which also tells y: the labeled rate is far from the truth."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=ROWS)
    chance, p = expit(1.5 * x - 0.5), expit(0.3 + x)
    y = (rng.random(ROWS) < chance).astype(float)
    s = rng.random(ROWS) < p
    return chance, p, y, s


def estimates(right_model, right_weights, judged=None):
    """Estimate less truth, over its error, in many worlds: of the rate, or of a loss."""
    made, plain = [], []
    for seed in range(200):
        chance, p, y, s = world(seed)
        model = chance if right_model else np.full(ROWS, 0.3)
        weight = 1 / p[s] if right_weights else np.ones(s.sum())
        design = np.ones(ROWS)
        if judged is None:
            found = doubly_robust_mean(y[s], model[s], weight, model, design)
            # Of the population that the rows are drawn from.
            truth, biased = chance.mean(), y[s].mean()
        else:
            score = np.clip(chance + 0.1, 0, 1)
            seen = expected_losses(score[s], y[s])[judged]
            ahead = expected_losses(score, model)[judged]
            found = doubly_robust_mean(seen, ahead[s], weight, ahead, design)
            truth, biased = expected_losses(score, chance)[judged].mean(), seen.mean()
        made.append((found[0] - truth, found[1]))
        plain.append(biased - truth)
    gap, error = np.array(made).T
    return gap, error, np.array(plain)


@pytest.mark.parametrize("judged", [None, "accuracy", "brier"])
@pytest.mark.parametrize(("model", "weights"), [(True, True), (True, False), (False, True)])
def test_right_when_either_is(model, weights, judged):
    gap, error, plain = estimates(model, weights, judged)
    noise = gap.std() / np.sqrt(len(gap))
    assert abs(gap.mean()) < 4 * noise
    assert np.mean(np.abs(gap) < 1.96 * error) >= 0.93
    assert abs(plain.mean()) > 10 * noise


@pytest.mark.parametrize("judged", [None, "brier"])
def test_wrong_when_both_are(judged):
    gap, *_ = estimates(False, False, judged)
    assert abs(gap.mean()) > 10 * gap.std() / np.sqrt(len(gap))


def test_records_are_of_each_method_without_any_hidden_label():
    chance, p, y, s = world(0)
    labeled = np.flatnonzero(s)
    ones, draws = np.ones(s.sum()), [chance[s][None], np.full((1, s.sum()), 0.4)]
    tried = OutOfFold(labeled, y[s], 1 / p[s], ones, None, draws, ones[None], ones / ROWS, True)
    rows = np.flatnonzero(~s)
    made = robust_records(
        tried,
        dict(zip(("good", "flat"), tried.predictions, strict=True)),
        {"good": chance, "flat": np.full(ROWS, 0.4)},
        rows,
        np.ones(len(rows)),
    )
    value = {(one["metric"], one["part"]): one["value"] for one in made}
    assert len(value) == 2
    truth = chance[rows].mean()
    assert value["rate_doubly_robust", "good"] == pytest.approx(truth, abs=0.06)
