"""The joint fit of Bickel et al.: its derivatives, its two stages, its convexity."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.joint_fits import TARGETS, JointClassifier, Objective
from counterweight.numerics.linear import chosen_penalty, fit_logistic
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

LOSSES = ("logistic", "exponential")
BOTH = [(loss, target) for loss in LOSSES for target in TARGETS]


def sample(n=700, seed=0):
    """Labeled rows are from the left; the boundary is a line. Labels missing at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (rng.random(n) < expit(X[:, 0] - X[:, 1] + 0.3)).astype(int)
    seen = rng.random(n) < expit(0.2 - X[:, 0])
    return X[seen], y[seen], X[~seen]


def objective(loss, target, l2=1e-3):
    X, y, hidden = sample()
    Z = np.column_stack([np.ones(700), np.concatenate([X, hidden])])
    design = np.random.default_rng(1).uniform(0.5, 1.5, len(y))
    return Objective(Z, y, design, loss, target, l2)


@pytest.mark.parametrize(("loss", "target"), BOTH)
def test_derivatives_are_those_of_finite_differences(loss, target):
    made = objective(loss, target)
    for theta in np.random.default_rng(2).normal(size=(3, 6)) * 0.5:
        _, gradient = made.value(theta)
        near = approx_fprime(theta, lambda at: made.value(at)[0], 1e-7)
        np.testing.assert_allclose(gradient, near, rtol=1e-4, atol=1e-6)
        curved = approx_fprime(theta, lambda at: made.value(at)[1], 1e-7)
        np.testing.assert_allclose(made.hessian(theta), curved, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
def test_with_v_fixed_it_is_weighted_logistic_regression(target):
    made = objective("logistic", target, l2=0.0)
    v = np.array([0.4, -0.8, 0.1])
    p = expit(made.labeled @ v)
    share = len(p) / 700
    weights = share / p if target == "general" else share / (1 - share) * (1 - p) / p
    np.testing.assert_allclose(made.omega(v)[0], weights)
    weights = weights * made.design[: len(p)]
    coef, intercept, *_ = fit_logistic(made.labeled[:, 1:], made.y, weights, 0.0)
    _, gradient = made.value(np.r_[v, intercept, coef])
    assert np.abs(gradient[3:]).max() < 1e-7


@pytest.mark.parametrize("target", TARGETS)
def test_the_exponential_objective_is_convex_and_the_logistic_one_is_not(target):
    rng = np.random.default_rng(3)
    thetas = rng.normal(size=(40, 6))
    least = {
        loss: min(np.linalg.eigvalsh(objective(loss, target, 0.0).hessian(at))[0] for at in thetas)
        for loss in LOSSES
    }
    assert least["exponential"] > 0 > least["logistic"]


@pytest.mark.parametrize("target", TARGETS)
def test_its_least_curvature_tells_the_convex_loss_from_the_other(target):
    least = {}
    for loss in LOSSES:
        made = objective(loss, target)
        least[loss] = made.least_curvature(made.minimised()[0])
    assert 0 < least["exponential"] <= 1
    assert -1 <= least["logistic"] < -1e-6


@pytest.mark.parametrize("target", TARGETS)
def test_the_convex_optimum_is_that_of_another_search_from_another_start(target):
    made = objective("exponential", target)
    theta, _, converged = made.minimised()
    other = minimize(made.value, np.full(6, 0.2), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert converged
    np.testing.assert_allclose(theta, other.x, atol=1e-6)


@pytest.mark.parametrize(("loss", "target"), BOTH)
def test_it_comes_below_the_two_stages(loss, target):
    made = objective(loss, target)
    theta, _, converged = made.minimised()
    assert converged and made.value(theta)[0] < made.value(made.start)[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_line_that_is_right_is_found(loss):
    X, y, hidden = sample(60_000, seed=5)
    model = JointClassifier(loss=loss).fit(X, y, X_unlabeled=hidden)
    new = np.random.default_rng(6).normal(size=(2000, 2))
    truth = expit(new[:, 0] - new[:, 1] + 0.3)
    for target in TARGETS:
        p = model.predict_proba(new, target=target)[:, 1]
        # The label's loss pulls at the weights, so the joint fit is close, not exact.
        assert np.abs(p - truth).mean() < 0.03


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_design_weights_does_not_matter(loss):
    X, y, hidden = sample()
    weights = np.random.default_rng(4).exponential(size=len(y))
    one, other = (
        JointClassifier(loss=loss).fit(X, y, weights * scale, X_unlabeled=hidden)
        for scale in (1.0, 300.0)
    )
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)


@pytest.mark.parametrize(("loss", "target"), BOTH)
def test_design_weights_are_repeated_rows(loss, target):
    X, y, hidden = sample()
    count = np.random.default_rng(4).integers(1, 4, len(y))
    rows = [np.concatenate([X, hidden]), np.concatenate([np.repeat(X, count, axis=0), hidden])]
    Z, longer = (np.column_stack([np.ones(len(part)), part]) for part in rows)
    one = Objective(Z, y, count.astype(float), loss, target, 0.0)
    two = Objective(longer, np.repeat(y, count), np.ones(count.sum()), loss, target, 0.0)
    two.factor, theta = one.factor, np.array([0.1, -0.5, 0.2, 0.3, 0.4, -0.6])
    # Both are means over the rows.
    assert two.value(theta)[0] * len(longer) == pytest.approx(one.value(theta)[0] * len(Z))


def test_no_unlabeled_row_and_one_class_are_told():
    X, y, hidden = sample()
    with pytest.raises(CounterweightError, match="no row is unlabeled"):
        JointClassifier().fit(X, y, X_unlabeled=hidden[:0])
    with pytest.raises(CounterweightError, match="both classes"):
        JointClassifier().fit(X, y * 0, X_unlabeled=hidden)
    with pytest.raises(CounterweightError, match="target must be"):
        JointClassifier().fit(X, y, X_unlabeled=hidden).predict_proba(X, target="all")


@pytest.mark.parametrize(("loss", "target"), BOTH)
def test_penalties_that_are_null_are_those_of_the_stages_by_rows_left_out(loss, target):
    made = objective(loss, target, l2=None)
    n, m, square = 700, len(made.y), 4.0 if loss == "exponential" else 1.0
    X, s = made.Z[:, 1:], (np.arange(n) < m).astype(int)
    first = chosen_penalty(X, s, made.design)
    v = np.r_[fit_logistic(X, s, made.design, first / n)[1::-1]]
    weight = made.design[:m] * made.omega(np.hstack(v) / np.sqrt(square))[0]
    second = chosen_penalty(X[:m], made.y, weight)
    np.testing.assert_allclose(n * made.l2, square * np.r_[0, first, first, 0, second, second])
    X, y, hidden = sample()
    assert JointClassifier(l2=None, loss=loss).fit(X, y, X_unlabeled=hidden).converged_


def test_where_features_are_counted_from_does_not_matter():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    one = JointClassifier().fit(X[:150], y[:150], X_unlabeled=X[150:])
    moved = JointClassifier().fit(X[:150] + 50, y[:150], X_unlabeled=X[150:] + 50)
    np.testing.assert_allclose(moved.coef_, one.coef_, rtol=1e-5)
    np.testing.assert_allclose(moved.predict_proba(X + 50), one.predict_proba(X), atol=1e-6)
