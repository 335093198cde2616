"""Heckman-type weights: the correlation is recovered, and a column must be named."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.weighting.importance_weights import Rows
from counterweight.weighting.outcome_selection import (
    _of_classes,
    _of_numbers,
    bivariate_normal,
    heckman_influence,
    heckman_mean,
    heckman_weights,
    probit,
)
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

NAMES = ("x", "z")


def world(n, rho, seed, binary=True, strength=1.0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    u, v = rng.multivariate_normal([0, 0], [[1, rho], [rho, 1]], n).T
    latent = 0.3 + 0.8 * x + u
    y = (latent > 0).astype(float) if binary else 2 * latent
    s = 0.2 + 0.5 * x + strength * z + v > 0
    return np.column_stack([x, z]), y, s


def rows_of(X, y, s):
    return Rows(X[s], y[s], X[~s], names=NAMES)


def test_the_bivariate_normal_is_scipys():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    a[0], b[1], a[2], b[2] = 0, 0, 0, 0
    for rho in (-0.9, 0.0, 0.6):
        made = bivariate_normal(a, b, rho)
        joint = multivariate_normal([0, 0], [[1, rho], [rho, 1]])
        truth = [joint.cdf([one, other]) for one, other in zip(a, b, strict=True)]
        np.testing.assert_allclose(made, truth, atol=1e-5)


def true_odds(X, y, s, rho, binary):
    """p(s=0|x,z,y) / p(s=1|x,z,y) of labeled rows, in closed form."""
    index, a = (0.2 + 0.5 * X[:, 0] + X[:, 1])[s], (0.3 + 0.8 * X[:, 0])[s]
    if binary:
        one = bivariate_normal(a, index, rho)
        p = np.where(y[s] == 1, one / norm.cdf(a), (norm.cdf(index) - one) / norm.sf(a))
    else:
        p = norm.cdf((index + rho * (y[s] / 2 - a)) / np.sqrt(1 - rho**2))
    return 1 / p - 1


@pytest.mark.parametrize("target", ["general", "unlabeled"])
@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.6])
def test_the_correlation_is_recovered_and_weights_are_the_true_ones(rho, binary, target):
    X, y, s = world(20_000, rho, 1, binary)
    rows = rows_of(X, y, s)
    weights = heckman_weights(rows, exclusion="z", target=target)
    assert rows.facts["selection_correlation"] == pytest.approx(rho, abs=0.12)
    odds = true_odds(X, y, s, rho, binary)
    truth = odds if target == "unlabeled" else 1 + odds
    common = truth < np.quantile(truth, 0.99)
    made, known = np.log(weights)[common], np.log(truth)[common]
    assert np.corrcoef(made, known)[0, 1] > 0.97
    if binary:
        whom = ~s if target == "unlabeled" else slice(None)
        mean = np.average(y[s], weights=np.minimum(weights, 200))
        assert mean == pytest.approx(y[whom].mean(), abs=0.05)


def test_no_other_correlation_is_likelier():
    """The second step ends at the optimum that a search without gradients finds."""
    X, y, s = world(1500, 0.5, 2)
    design = np.column_stack([np.ones(len(X)), X])
    gamma, _ = probit(design, s)
    own, index = design[s][:, :2], (design @ gamma)[s]
    found = _of_classes(own, y[s], index, design[s])
    rho, p = found.rho, found.chance(own @ found.b, index, found.rho)

    def fall(theta):
        one = bivariate_normal(own @ theta[:2], index, np.tanh(theta[2]))
        chance = np.where(y[s] == 1, one, norm.cdf(index) - one)
        return -np.log(np.maximum(chance, 1e-12) / norm.cdf(index)).mean()

    start = np.r_[0.3, 0.8, 0.5]
    best = minimize(fall, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12})
    assert rho == pytest.approx(np.tanh(best.x[2]), abs=2e-3)
    one, chance = bivariate_normal(own @ best.x[:2], index, rho), norm.cdf(own @ best.x[:2])
    truth = np.where(y[s] == 1, one / chance, (norm.cdf(index) - one) / (1 - chance))
    np.testing.assert_allclose(p, truth, atol=5e-3)


def test_numbers_by_the_two_steps_written_out():
    """Heckman's estimator: least squares with the Mills ratio, sigma from both of its parts."""
    X, y, s = world(3000, 0.6, 5, binary=False)
    design = np.column_stack([np.ones(len(X)), X])
    index = (design @ probit(design, s)[0])[s]
    own = design[s][:, :2]
    found = _of_numbers(own, y[s], index, design[s])
    rho, p = found.rho, found.chance(own @ found.b, index, *found.extra)
    mills = norm.pdf(index) / norm.cdf(index)
    *coef, shift = np.linalg.lstsq(np.column_stack([own, mills]), y[s], rcond=None)[0]
    rest = y[s] - own @ coef
    variance = np.mean((rest - shift * mills) ** 2) + shift**2 * np.mean(mills * (mills + index))
    assert rho == pytest.approx(shift / np.sqrt(variance))
    unseen = rest / np.sqrt(variance)
    np.testing.assert_allclose(p, norm.cdf((index + rho * unseen) / np.sqrt(1 - rho**2)))


def test_the_second_step_moves_with_the_first_as_finite_differences_say():
    """Of what rows have in the mean: their errors are right on average, and are held."""
    X, y, s = world(400, 0.6, 5, binary=False)
    design = np.column_stack([np.ones(len(X)), X])
    gamma, own = probit(design, s)[0], design[s][:, :2]
    found = _of_numbers(own, y[s], (design @ gamma)[s], design[s])
    shift, at = found.extra[0], norm.pdf((design @ gamma)[s]) / norm.cdf((design @ gamma)[s])
    control = np.column_stack([own, at])

    def parts(gamma):
        index = (design @ gamma)[s]
        mills = norm.pdf(index) / norm.cdf(index)
        return np.r_[control.T @ (-shift * mills), shift**2 * (mills * (mills + index)).sum()]

    moves = 1e-5 * np.eye(len(gamma))
    slopes = [(parts(gamma + move) - parts(gamma - move)) / 2e-5 for move in moves]
    np.testing.assert_allclose(found.cross, -np.transpose(slopes), rtol=1e-6, atol=1e-6)


def test_a_probit_is_the_right_one():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(20_000), rng.normal(size=20_000)])
    s = rng.random(20_000) < norm.cdf(X @ [0.3, -0.8])
    coef, curvature = probit(X, s)
    error = np.sqrt(np.diag(np.linalg.inv(curvature)))
    assert (np.abs(coef - [0.3, -0.8]) < 4 * error).all()


def test_without_a_column_it_is_refused():
    X, y, s = world(500, 0.5, 4, strength=0.0)
    rows = rows_of(X, y, s)
    with pytest.raises(CounterweightError, match="'distance' of the weighting heckman is no feat"):
        heckman_weights(rows, exclusion="distance")
    with pytest.raises(CounterweightError, match="says too little of who is labeled"):
        heckman_weights(rows, exclusion="z")
    with pytest.raises(CounterweightError, match="has one value only"):
        heckman_weights(rows_of(X * [1, 0], y, s), exclusion="z")
    with pytest.raises(TypeError):
        heckman_weights(rows)


def mean_residual(X, y, s, residual):
    """Mean of given residuals of labeled rows by the weights, capped, to the unlabeled."""
    weight = heckman_weights(rows_of(X, y, s), exclusion="z", target="unlabeled")
    return np.average(residual, weights=np.minimum(weight, 50.0))


@pytest.mark.parametrize("binary", [True, False])
def test_the_influence_of_a_row_is_what_the_mean_loses_without_it(binary):
    """Both steps are fitted anew without a row, as a jackknife does."""
    X, y, s = world(1500, 0.4, 6, binary, 0.6)
    residual = y - (0.5 + 0.2 * X[:, 0])
    parts = heckman_influence(
        rows_of(X, y, s), residual[s], np.ones(s.sum()), exclusion="z", most=50.0
    )
    made = np.empty(len(y))
    made[s], made[~s] = parts
    whole = mean_residual(X, y, s, residual[s])
    rows = np.r_[np.flatnonzero(s)[:40], np.flatnonzero(~s)[:40]]
    lost = []
    for row in rows:
        kept = np.arange(len(y)) != row
        lost.append(whole - mean_residual(X[kept], y[kept], s[kept], residual[kept][s[kept]]))
    assert np.corrcoef(lost, made[rows])[0, 1] > 0.98
    assert np.std(lost) / np.std(made[rows]) == pytest.approx(1, abs=0.1)


def answer(X, y, s, blank):
    """Mean over rows of a weighted least squares, and the residuals that it leaves."""
    weight = heckman_weights(rows_of(X, y, s), exclusion="z", target="unlabeled")
    root = np.sqrt(np.minimum(weight, 50.0))
    design, new = (np.column_stack([np.ones(len(part)), part]) for part in (X[s], blank))
    coef = np.linalg.lstsq(design * root[:, None], y[s] * root, rcond=None)[0]
    return (new @ coef).mean(), y[s] - design @ coef


def error_of(X, y, s, residual):
    labeled, blank = heckman_influence(
        rows_of(X, y, s), residual, np.ones(s.sum()), exclusion="z", most=50.0
    )
    return np.sqrt(labeled @ labeled + blank @ blank)


def weak_world(n, seed):
    """As `world`, of a number, where everybody may be labeled."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    u, v = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], n).T
    return np.column_stack([x, z]), 0.6 + 1.6 * x + 2 * u, 0.5 + 0.3 * x + 0.5 * z + v > 0


def test_the_error_is_that_of_a_bootstrap_of_both_steps():
    X, y, s = weak_world(3000, 11)
    _, residual = answer(X, y, s, X[~s])
    rng, found = np.random.default_rng(12), []
    for _ in range(400):
        drawn = rng.integers(0, len(y), len(y))
        found.append(answer(X[drawn], y[drawn], s[drawn], X[~s])[0])
    assert error_of(X, y, s, residual) == pytest.approx(np.std(found), rel=0.1)


def test_an_interval_with_both_steps_holds_the_mean_of_those_without_an_outcome():
    """Of 200 tables about 95 of 100 do; with the weights taken as given, not half."""
    held, held_as_given = [], []
    for seed in range(200):
        X, y, s = weak_world(2000, seed)
        mean, residual = answer(X, y, s, X[~s])
        spread = np.average(residual**2) / (~s).sum()
        away, error = mean - y[~s].mean(), error_of(X, y, s, residual)
        held.append(abs(away) < 1.96 * np.sqrt(error**2 + spread))
        weight = heckman_weights(rows_of(X, y, s), exclusion="z", target="unlabeled")
        share = np.minimum(weight, 50.0) / np.minimum(weight, 50.0).sum()
        held_as_given.append(abs(away) < 1.96 * np.sqrt(share**2 @ residual**2 + spread))
    assert 0.93 <= np.mean(held) <= 0.97
    assert np.mean(held_as_given) < 0.7


def test_the_mean_by_both_steps_moves_without_a_row_as_its_influence_says():
    X, y, s = world(1200, 0.5, 8, binary=False, strength=0.8)
    design = np.random.default_rng(9).uniform(0.5, 2.0, len(y))

    def mean(kept):
        made = rows_of(X[kept], y[kept], s[kept])
        return heckman_mean(made, design[kept][~s[kept]], exclusion="z")

    whole, *parts = mean(np.ones(len(y), bool))
    made = np.empty(len(y))
    made[s], made[~s] = parts
    # Rows without an outcome are those that the mean is of: they count among the first step alone.
    rows = np.flatnonzero(s)[:60]
    lost = [whole - mean(np.arange(len(y)) != row)[0] for row in rows]
    assert np.corrcoef(lost, made[rows])[0, 1] > 0.99
    assert np.std(lost) / np.std(made[rows]) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("rho", [0.8, -0.5, 0.0])
def test_the_mean_by_both_steps_is_held_where_selection_is_strong(rho):
    """Of 200 tables about 95 of 100 hold it; the mean of like rows is off by many errors."""
    held, away = [], []
    for seed in range(200):
        X, y, s = world(1000, rho, 100 + seed, binary=False)
        mean, *parts = heckman_mean(rows_of(X, y, s), np.ones((~s).sum()), exclusion="z")
        # What the unseen part of outcomes adds: its variance is that of 2 u at most.
        error = np.sqrt(sum(part @ part for part in parts) + 4 / (~s).sum())
        away.append((mean - y[~s].mean()) / error)
        held.append(abs(away[-1]) < 1.96)
    assert 0.9 <= np.mean(held) <= 0.99
    assert abs(np.mean(away)) < 0.25


def test_two_classes_have_no_mean_by_both_steps():
    X, y, s = world(800, 0.4, 6)
    assert heckman_mean(rows_of(X, y, s), np.ones((~s).sum()), exclusion="z") is None


def of_levels(levels, columns, seed=5, n=3000, force=0.9):
    """A world where a text column tells who is labeled; its levels as features."""
    rng = np.random.default_rng(seed)
    x, at = rng.normal(size=n), rng.integers(0, levels, n)
    u, v = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], n).T
    y, s = 1 + 2 * x + 2 * u, 0.2 + 0.3 * x + force * np.linspace(-1, 1, levels)[at] + v > 0
    X = np.column_stack([x, *(1.0 * (at == k) for k in range(levels))])
    names = ("x", *(f"office={k}" for k in range(levels)))
    kept = [0, *(1 + k for k in columns)]
    return Rows(X[s][:, kept], y[s], X[~s][:, kept], names=tuple(names[k] for k in kept)), y, s


def test_a_text_column_is_excluded_with_all_its_levels():
    made, y, s = of_levels(3, range(3))
    mean, *parts = heckman_mean(made, np.ones((~s).sum()), exclusion="office")
    error = np.sqrt(sum(part @ part for part in parts) + 4 / (~s).sum())
    assert abs(mean - y[~s].mean()) < 2 * error < 6 * error < abs(y[s].mean() - y[~s].mean())
    heckman_weights(made, exclusion="office", target="unlabeled")
    assert made.facts["selection_correlation"] == pytest.approx(0.6, abs=0.15)
    assert made.facts["exclusion_strength"] > 10
    with pytest.raises(CounterweightError, match="one value of the column 'office', .* name the"):
        heckman_weights(made, exclusion="office=1")


def test_two_levels_are_excluded_as_one_column_of_0_and_1_is():
    both, _, s = of_levels(2, range(2))
    one, *_ = of_levels(2, [1])
    design = np.ones((~s).sum())
    means = [heckman_mean(made, design, exclusion="office")[0] for made in (both, one)]
    assert means[0] == pytest.approx(means[1], rel=1e-4)
    alone = heckman_mean(one, design, exclusion="office=1")
    assert alone[0] == pytest.approx(means[1], rel=1e-12)


def test_levels_that_tell_nothing_are_refused():
    made, *_ = of_levels(4, range(4), n=800, force=0.0)
    with pytest.raises(CounterweightError, match="'office' says too little of who is labeled"):
        heckman_weights(made, exclusion="office")


def test_an_exclusion_that_others_make_up_is_refused_and_those_are_named():
    X, y, s = world(800, 0.5, 4)
    x, z = X.T
    for other in ([0.62 * z], [z + x + 3, 2 * x - 1]):
        names = [*NAMES, *[f"w{k}" for k in range(len(other))]]
        wide = np.column_stack([X, *other])
        rows = Rows(wide[s], y[s], wide[~s], names=names)
        with pytest.raises(CounterweightError, match="'z' can be worked out from .*w0"):
            heckman_weights(rows, exclusion="z")
    # One that is only near it is no copy.
    near = np.column_stack([X, z + 0.5 * np.random.default_rng(0).normal(size=len(z))])
    heckman_weights(Rows(near[s], y[s], near[~s], names=[*NAMES, "w"]), exclusion="z")
