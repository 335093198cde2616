"""The exponent on the ratio, and the criterion that chooses it."""

import numpy as np
import pytest
from counterweight.weighting.density_ratios import GRID, information_criterion, tempered_weights
from counterweight.weighting.importance_weights import Rows, general_weights, unlabeled_weights
from scipy.special import expit


def world(n, seed, curved, binary=True):
    """Labels missing at random by x; a line is right, or it is not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    mean = x**2 + x - 1 if curved else 1.5 * x
    y = (rng.random(n) < expit(mean)).astype(float) if binary else mean + rng.normal(size=n)
    p = expit(0.5 - x)
    s = rng.random(n) < p
    return x[:, None], y, s, p


def rows_of(X, y, s, p):
    return Rows(X[s], y[s], X[~s], p=p[s])


@pytest.mark.parametrize(
    ("target", "lemma"), [("general", general_weights), ("unlabeled", unlabeled_weights)]
)
def test_the_ends_are_equal_weights_and_a_lemma(target, lemma):
    X, y, s, p = world(500, 0, False)
    rows = rows_of(X, y, s, p)
    np.testing.assert_allclose(tempered_weights(rows, target=target, exponent=0), 1)
    whole = lemma(p[s], s.mean())
    made = tempered_weights(rows, target=target, exponent=1)
    np.testing.assert_allclose(made, whole / whole.mean())
    half = tempered_weights(rows, target=target, exponent=0.5)
    np.testing.assert_allclose(half**2 / (half**2).mean(), made)


def test_without_weights_the_criterion_is_that_of_takeuchi():
    """Ratio 1: -2 log likelihood plus twice tr(J H^-1), which is 2 d where the model is right."""
    X, y, _, _ = world(20_000, 1, False)
    ones = np.ones(len(y))
    from counterweight.numerics.linear import fit_logistic

    coef, constant, *_ = fit_logistic(X, y.astype(int))
    eta = X[:, 0] * coef[0] + constant
    fit = 2 * (np.logaddexp(0, eta) - y * eta).sum()
    assert information_criterion(X, y, ones, 0.0) - fit == pytest.approx(4, abs=0.2)


@pytest.mark.parametrize("binary", [True, False])
def test_it_estimates_the_loss_over_the_target(binary):
    """Its mean over worlds is the expected loss of the fit on new rows of the target."""
    told, true = [], []
    for seed in range(40):
        X, y, s, p = world(800, seed, True, binary)
        ratio = general_weights(p[s], s.mean())
        told.append([information_criterion(X[s], y[s], ratio, power) / s.sum() for power in (0, 1)])
        new = world(20_000, 1000 + seed, True, binary)
        true.append([loss_of_fit(X[s], y[s], ratio**power, *new[:2]) for power in (0, 1)])
    told, true = np.array(told), np.array(true)
    # Of the linear model the criterion is in units of the unweighted noise: compare differences.
    assert np.sign(np.diff(told.mean(0))) == np.sign(np.diff(true.mean(0)))
    if binary:
        error = (told - true).std(axis=0) / np.sqrt(len(told))
        assert (np.abs((told - true).mean(0)) < 4 * error + 0.02).all()


def loss_of_fit(X, y, weights, X_new, y_new):
    """Twice the mean loss on new rows."""
    from counterweight.numerics.linear import fit_logistic

    if np.isin(y, (0, 1)).all():
        coef, constant, *_ = fit_logistic(X, y.astype(int), weights)
        eta = X_new @ coef + constant
        return 2 * np.mean(np.logaddexp(0, eta) - y_new * eta)
    line = np.polyfit(X[:, 0], y, 1, w=np.sqrt(weights))
    return np.mean((y_new - np.polyval(line, X_new[:, 0])) ** 2)


def chosen(curved, n):
    made = []
    for seed in range(10):
        X, y, s, p = world(n, seed, curved)
        rows = rows_of(X, y, s, p)
        tempered_weights(rows)
        made.append(rows.facts["exponent"])
    return np.mean(made)


def test_a_wrong_model_wants_the_whole_ratio_and_a_right_one_little_of_it():
    assert set(GRID) >= {0.0, 1.0}
    assert chosen(True, 4000) > 0.75
    assert chosen(False, 4000) < 0.5
