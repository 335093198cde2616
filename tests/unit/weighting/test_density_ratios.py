"""Kernel mean matching against an exact quadratic program, and where supports overlap."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.plan.components import options
from counterweight.weighting.density_ratios import (
    CACHED,
    GRID,
    Matching,
    information_criterion,
    matching_weights,
    median_distance,
    projected,
    tempered_weights,
)
from counterweight.weighting.importance_weights import Rows, general_weights, unlabeled_weights
from scipy.special import expit


def shifted(m, n, d, shift, seed=0):
    """Rows of two normal populations `shift` apart in the first feature, some of them skew."""
    rng = np.random.default_rng(seed)
    X, U = rng.normal(size=(m, d)), rng.normal(size=(n, d))
    U[:, 0] += shift
    return np.where(np.arange(d) % 3 == 2, np.exp(X / 2), X), np.where(
        np.arange(d) % 3 == 2, np.exp(U / 2), U
    )


def kernel(A, B, width):
    squared = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(squared, 0) / (2 * width**2))


def exact_problem(X, U, width):
    """Kernel matrix, its means over the target, and what no weight changes."""
    K, across = kernel(X, X, width), kernel(X, U, width).mean(axis=1)
    return K, across, kernel(U, U, width).mean()


def distance(problem, b):
    K, across, constant = problem
    return b @ K @ b / len(b) ** 2 - 2 * across @ b / len(b) + constant


def least(problem, bound=1000.0):
    """The exact optimum, by an interior-point solver."""
    clarabel = pytest.importorskip("clarabel")
    from scipy import sparse

    K, across, _ = problem
    m = len(K)
    slack = (np.sqrt(m) - 1) / np.sqrt(m)
    rows = [-sparse.eye(m), sparse.eye(m), np.full((1, m), 1 / m), np.full((1, m), -1 / m)]
    limits = np.r_[np.zeros(m), np.full(m, bound), 1 + slack, slack - 1]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solved = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(K / m)),
        -across,
        sparse.vstack(rows).tocsc(),
        limits,
        [clarabel.NonnegativeConeT(2 * m + 2)],
        settings,
    ).solve()
    assert str(solved.status) == "Solved"
    return np.clip(np.array(solved.x), 0, bound)


def scaled(X, U):
    both = np.concatenate([X, U])
    center, scale = both.mean(axis=0), both.std(axis=0)
    return (X - center) / scale, (U - center) / scale


@pytest.mark.parametrize(
    ("m", "n", "d", "shift", "options"),
    [
        (2000, 2000, 5, 1.0, {}),
        (400, 900, 30, 0.7, {}),
        (400, 600, 3, 2.5, {}),
        (500, 700, 4, 1.0, {"bandwidth": 0.5}),
        (500, 700, 4, 1.5, {"bound": 3.0}),
    ],
)
def test_the_moment_distance_is_that_of_the_exact_program(m, n, d, shift, options):
    """Its excess is at most 1 % of what unit weights have."""
    X, U = shifted(m, n, d, shift)
    rows = Rows(X, None, U, np.random.default_rng(3))
    weights = matching_weights(rows, target="unlabeled", **options)
    X, U = scaled(X, U)
    both = np.concatenate([X, U])
    width = median_distance(both, np.random.default_rng(3)) * options.get("bandwidth", 1)
    problem = exact_problem(X, U, width)
    unit, best = distance(problem, np.ones(m)), least(problem, options.get("bound", 1000.0))
    excess = distance(problem, weights) - distance(problem, best)
    assert -1e-6 * unit < excess < 0.01 * unit
    assert weights.min() >= 0 and weights.max() <= options.get("bound", 1000.0)


@pytest.mark.parametrize("target", ["general", "unlabeled"])
def test_moments_match_where_supports_overlap(target):
    X, U = shifted(3000, 4000, 3, 0.8)
    rows = Rows(X, None, U, np.random.default_rng(0))
    weights = matching_weights(rows, target=target)
    goal = rows.population(target)
    Z, goal = scaled(X, goal)
    width = median_distance(np.concatenate([Z, goal]), np.random.default_rng(1))
    some = goal[:300]
    gap = weights @ kernel(Z, some, width) / len(Z) - kernel(goal, some, width).mean(axis=0)
    assert np.abs(gap).max() < 1e-3
    assert rows.facts["moment_distance"] < 1e-4 < rows.facts["moment_distance_before"]


def test_only_what_is_missing_is_made_up_for():
    """The same rows on both sides need no weights."""
    X, _ = shifted(400, 10, 3, 0.0)
    rows = Rows(X, None, X, np.random.default_rng(0))
    weights = matching_weights(rows, target="unlabeled")
    assert rows.facts["moment_distance_before"] < 1e-6
    np.testing.assert_allclose(weights, 1, atol=1e-3)


def test_units_and_constant_features_do_not_matter():
    X, U = shifted(400, 500, 3, 1.0)
    factor, add = np.array([1e3, 1e-4, 1.0]), np.array([5.0, 0, -2])

    def weights(X, U):
        rows = Rows(X, None, U, np.random.default_rng(0))
        return matching_weights(rows)

    plain = weights(X, U)
    np.testing.assert_allclose(weights(X * factor + add, U * factor + add), plain, atol=1e-3)
    more = np.full((400, 1), 7.0), np.full((500, 1), 7.0)
    np.testing.assert_allclose(
        weights(np.hstack([X, more[0]]), np.hstack([U, more[1]])), plain, atol=1e-9
    )


def test_the_projection_is_the_nearest_feasible_point():
    rng = np.random.default_rng(0)
    for low, high in ((0.9, 1.1), (0.1, 0.2), (2.0, 2.5)):
        b = rng.normal(1, 2, 40)
        near = projected(b, 3.0, low, high)
        assert near.min() >= 0 and near.max() <= 3
        assert low - 1e-9 <= near.mean() <= high + 1e-9
        for _ in range(50):
            other = projected(rng.normal(1, 2, 40), 3.0, low, high)
            # The angle at a projection onto a convex set is never acute.
            assert (b - near) @ (other - near) <= 1e-7


def test_rows_that_are_all_alike_are_told():
    rows = Rows(np.ones((30, 2)), None, np.ones((30, 2)), np.random.default_rng(0))
    with pytest.raises(CounterweightError, match="no feature varies"):
        matching_weights(rows)


def test_the_bound_is_the_papers():
    assert options("weighting", "kernel_mean_matching")["bound"]["default"] == 1000


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


def test_of_a_line_the_criterion_has_a_closed_form():
    """Equal weights: rows, and twice the sum of squared residuals by leverage over the noise."""
    X, y, _, _ = world(300, 2, True, binary=False)
    Z = np.column_stack([np.ones(300), X])
    hat = Z @ np.linalg.pinv(Z)
    left = y - hat @ y
    noise = left @ left / 300
    expected = 300 + 2 * left**2 @ np.diag(hat) / noise
    assert information_criterion(X, y, np.full(300, 3.0), 0.0) == pytest.approx(expected)


def test_weights_of_the_criterion_are_those_of_its_definition():
    X, y, s, p = world(400, 3, True, binary=False)
    X, y, ratio = X[s], y[s], general_weights(p[s], s.mean())
    ratio = ratio / ratio.mean()
    Z = np.column_stack([np.ones(len(X)), X])
    left = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    noise = left @ left / len(y)
    W = ratio**0.5
    coef = np.linalg.solve((Z * W[:, None]).T @ Z, (Z * W[:, None]).T @ y)
    left = y - Z @ coef
    J = (Z * (ratio * W * left**2 / noise**2)[:, None]).T @ Z
    H = (Z * (W / noise)[:, None]).T @ Z
    expected = ratio @ left**2 / noise + 2 * np.trace(np.linalg.solve(H, J))
    assert information_criterion(X, y, ratio, 0.5) == pytest.approx(expected)


def test_a_step_goes_against_the_slope_of_the_value():
    rng = np.random.default_rng(0)
    problem = Matching(rng.normal(size=(7, 3)), rng.normal(size=3), rng.random(7), 0.1)
    b = 0.5 + rng.random(7)
    new, _ = problem.step(b, b @ problem.Z, 1e-3, np.inf, 1.0)
    for k, slope in enumerate((b - new) / 1e-3):
        step = np.where(np.arange(7) == k, 1e-5, 0)
        change = problem.value(b + step) - problem.value(b - step)
        assert change / 2e-5 == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("slack", [1.0, 0.01])
def test_a_step_tells_the_sums_of_the_weights_it_comes_to(slack):
    """In parts of the rows, also where the mean has to be brought into its band."""
    rng = np.random.default_rng(1)
    problem = Matching(rng.normal(size=(2 * CACHED + 5, 3)), np.ones(3), rng.random(261), 0.0)
    b = 2 * rng.random(261)
    new, sums = problem.step(b, b @ problem.Z, 30.0, 1.5, slack)
    assert {0.0, 1.5} < set(new) and abs(new.mean() - 1) <= slack + 1e-9
    assert sums == pytest.approx(new @ problem.Z)


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
