"""A target given by a table, against an experiment: a randomised arm whose outcomes are hidden."""

import numpy as np
import pandas as pd
import pytest
from counterweight.numerics.estimate import doubly_robust_mean
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.weighting.sample import Sample
from counterweight.weighting.to_target import MOST_EFFECT, _error, to_target
from scipy.special import expit

TYPES = dict.fromkeys("abc", "number")
OPTIONS = {"table": "arm.csv", "margins": None, "columns": None, "weight": None, "method": None}


def experiment(rng, lean, binary, labeled=400, arm=500):
    """Rows of two arms, of which those of the first are seen by `lean` of their features."""
    X = rng.normal(size=(4000, 3))
    score = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] - 0.5
    y = rng.random(4000) < expit(score) if binary else score + rng.normal(size=4000)
    drawn = rng.random(4000) < 0.5
    hidden = np.flatnonzero(drawn)[:arm]
    rest = np.flatnonzero(~drawn)
    order = np.argsort(-(lean * (X[rest, 0] + X[rest, 1]) + rng.gumbel(size=len(rest))))
    return X, y.astype(float), rest[order[:labeled]], hidden


def fitted(X, y, learned, asked, binary):
    """A model that is wrong: it has no interaction."""
    if binary:
        coef, intercept, *_ = fit_logistic(X[learned], y[learned], l2=1e-3)
        return logistic_probability(X[asked], coef, intercept)
    design = np.column_stack([np.ones(len(X)), X])
    coef = np.linalg.lstsq(design[learned], y[learned], rcond=None)[0]
    return design[asked] @ coef


@pytest.mark.parametrize("binary", [True, False], ids=["class", "number"])
@pytest.mark.parametrize("lean", [0.5, 0.9])
def test_the_mean_of_a_hidden_arm_is_within_its_interval(lean, binary):
    """Of 100 draws at least 93, and the interval is not far wider than the error asks for."""
    gaps, errors, plain = [], [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y, seen, hidden = experiment(rng, lean, binary)
        frames = (pd.DataFrame(X[rows], columns=list("abc")) for rows in (seen, hidden))
        frame, population = frames
        design = np.ones(len(seen))
        adjusted, _ = to_target(frame, TYPES, design, population, list("abc"), 50.0, **OPTIONS)
        weight, fold = adjusted.weights.to_numpy(), np.arange(len(seen)) % 5
        p = np.empty(len(seen))
        for k in range(5):
            p[fold == k] = fitted(X, y, seen[fold != k], seen[fold == k], binary)
        estimates, share = fitted(X, y, seen, hidden, binary), np.ones(len(hidden))
        mean, _ = doubly_robust_mean(y[seen], p, weight, estimates, share)
        error = _error(y[seen] - p, weight, estimates, share, None, binary)
        gaps.append(mean - y[hidden].mean())
        errors.append(error)
        plain.append(y[seen].mean() - y[hidden].mean())
    gaps, errors = np.array(gaps), np.array(errors)
    assert np.sum(np.abs(gaps) <= 1.96 * errors) >= 93
    assert 0.85 < errors.mean() / np.sqrt(np.mean(gaps**2)) < 1.3
    assert abs(np.mean(plain)) > 3 * abs(gaps.mean())


def test_few_rows_like_the_target_keep_a_bounded_design_effect():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
    population = frame + 2.2
    exact = Sample(frame).adjust(population, "cbps")
    assert exact.design_effect > 2 * MOST_EFFECT
    made, _ = to_target(frame, TYPES, np.ones(800), population, list("abc"), None, **OPTIONS)
    assert made.design_effect <= MOST_EFFECT * (1 + 1e-6)
    assert made.mean_difference_after < made.mean_difference_before / 2


def test_errors_count_groups_and_the_chance_of_few_outcomes():
    rng = np.random.default_rng(1)
    residual, estimates = rng.normal(size=200) * 0.4, np.full(50, 0.5)
    told = np.ones(200), estimates, np.ones(50)
    plain = _error(residual, *told, None, True)
    # Outcomes of 50 rows at .5 have the variance .25 / 50, residuals .16 / 200.
    assert plain == pytest.approx(np.sqrt(0.25 / 50 + residual.var() / 200), rel=0.02)
    again = np.tile(np.arange(200), 3)
    other = np.ones(600), estimates, np.ones(50)
    assert _error(residual[again], *other, again, True) == pytest.approx(plain, rel=0.01)
    assert _error(residual[again], *other, None, True) < 0.99 * plain
