"""Simulated points: a truth that is true, and what labels at random do to models."""

import numpy as np
import pytest
from counterweight.datasets.simulated_rows import Curved, Straight
from counterweight.plan.components import declared
from twin_checks import assert_probability

ROWS = 30000


def rng(seed=5):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("name", "dataset"), [("curved", Curved), ("straight", Straight)])
def test_simulated_truth_is_true(name, dataset):
    assert declared("dataset", name, "SIMULATED", False) is True
    frame, truth = dataset.simulate(ROWS, rng())
    assert list(frame) == ["row", "x1", "x2", "label"]
    assert list(truth) == ["row", "p_positive", "p_selected"]
    assert truth["p_selected"].between(0.03, 0.97).all()
    assert_probability(truth["p_positive"], frame["label"])
    again, _ = dataset.simulate(ROWS, rng())
    assert frame.equals(again)
    slope = np.polyfit(frame["x1"], np.log(truth["p_selected"] / (1 - truth["p_selected"])), 1)
    np.testing.assert_allclose(slope, [1.6, 0.0], atol=1e-9)


def logistic_fit(x, y, weights):
    """Coefficients and their covariance (sandwich), by Newton steps."""
    design = np.column_stack([np.ones(len(x)), x])
    beta = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ beta))
        hessian = (design * (weights * p * (1 - p))[:, None]).T @ design
        step = np.linalg.solve(hessian, design.T @ (weights * (y - p)))
        beta += step
        if np.abs(step).max() < 1e-12:
            break
    scores = design * (weights * (y - p))[:, None]
    inverse = np.linalg.inv(hessian)
    return beta, inverse @ (scores.T @ scores) @ inverse


@pytest.mark.parametrize("dataset", [Curved, Straight])
def test_true_weights_bring_logistic_regression_back(dataset):
    """Labeled rows mislead it on `curved` only; weights 1/p(s=1|x) undo that (Lemma 1)."""
    frame, truth = dataset.simulate(ROWS, rng())
    x, y = frame[["x1", "x2"]].to_numpy(), frame["label"].to_numpy()
    p = truth["p_selected"].to_numpy()
    s = rng(6).random(ROWS) < p
    target, spread = logistic_fit(x, y, np.ones(ROWS))
    biased, biased_spread = logistic_fit(x[s], y[s], np.ones(s.sum()))
    weighted, weighted_spread = logistic_fit(x[s], y[s], 1 / p[s])

    def distance(beta, covariance):
        gap = beta - target
        return gap @ np.linalg.solve(covariance + spread, gap)

    assert distance(weighted, weighted_spread) < 20, "chi-squared with 3 degrees of freedom"
    assert (distance(biased, biased_spread) < 20) == (dataset is Straight)
    if dataset is Straight:
        np.testing.assert_allclose(target, [0.0, -2.0, 2.0], atol=0.15)


def test_one_gaussian_per_class_is_misled_on_straight():
    frame, truth = Straight.simulate(ROWS, rng())
    x, y = frame[["x1", "x2"]].to_numpy(), frame["label"].to_numpy()
    s = rng(6).random(ROWS) < truth["p_selected"]

    def log_odds(rows):
        scores = []
        for label in (0, 1):
            part = x[rows & (y == label)]
            mean, covariance = part.mean(axis=0), np.cov(part.T)
            whitened = np.linalg.solve(np.linalg.cholesky(covariance), (x - mean).T)
            scores.append(
                np.log(len(part) / rows.sum())
                - 0.5 * np.linalg.slogdet(covariance)[1]
                - 0.5 * (whitened**2).sum(axis=0)
            )
        return scores[1] - scores[0]

    moved = (log_odds(np.ones(ROWS, dtype=bool)) > 0) != (log_odds(np.asarray(s)) > 0)
    assert moved.mean() > 0.05, "the boundary moves with the labeling"
