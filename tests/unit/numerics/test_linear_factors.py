"""Folds, factors of scores, constants, shares of a mixture, calibrated classes."""

import numpy as np
import pytest
from counterweight.numerics import linear
from counterweight.numerics.linear import (
    EDGE,
    LEAST_EXPECTED,
    averaged,
    calibrated_classes,
    centred,
    chosen_penalty,
    class_calibration,
    class_calibration_influence,
    expit,
    factor_to,
    first_of_each,
    fit_logistic,
    fitted_factors,
    folds,
    group_folds,
    left_out_losses,
    left_out_squares,
    logit,
    mixture_shares,
    wider,
)
from scipy.optimize import minimize

ROWS = 120


def scored(seed=0, parts=2):
    """Raw scores of parts, a label of 0 and 1 that goes by them, and weights of mean 2."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(ROWS, parts))
    label = (rng.random(ROWS) < expit(scores.sum(axis=1) - 0.5)).astype(float)
    weight = rng.exponential(size=ROWS)
    return scores, label, 2 * weight / weight.mean()


@pytest.mark.parametrize("count", [2, 3, 7])
def test_folds_share_each_class_out_and_take_groups_whole(count):
    rng = np.random.default_rng(count)
    labels = (rng.random(101) < 0.3).astype(int)
    fold = folds(labels, count, rng)
    for value in (0, 1):
        sizes = np.bincount(fold[labels == value], minlength=count)
        assert np.ptp(sizes) <= 1 and len(sizes) == count
    group = np.array([f"g{k}" for k in rng.integers(0, 30, 101)])
    by_group = folds(labels, count, np.random.default_rng(1), group)
    assert (by_group == group_folds(group, count, np.random.default_rng(1))).all()
    assert all(len(np.unique(by_group[group == name])) == 1 for name in np.unique(group))
    sizes = np.bincount(by_group, minlength=count)
    assert np.ptp(sizes) <= np.unique(group, return_counts=True)[1].max()
    # Groups of one row each are dealt out evenly, and by no name of theirs.
    alone = np.arange(101)
    assert np.ptp(np.bincount(group_folds(alone, count, np.random.default_rng(2)))) <= 1
    renamed = np.random.default_rng(9).permutation(101)
    assert (
        group_folds(alone, count, np.random.default_rng(2))
        == group_folds(renamed, count, np.random.default_rng(2))
    ).all()
    large = np.repeat([0, 1, 2], [6, 3, 3])
    found = group_folds(large, 2, np.random.default_rng(0))
    assert np.bincount(found).tolist() == [6, 6]


def test_the_first_row_of_each_group_is_where_its_name_comes_first():
    assert first_of_each([5, 3, 5, 9, 3]).tolist() == [0, 1, 3]


def test_rows_are_averaged_by_what_a_function_makes_of_them(monkeypatch):
    monkeypatch.setattr(linear, "HELD_ROWS", 7)
    X, weight = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    np.testing.assert_allclose(averaged(X, of=np.square), (X**2).mean(axis=0))
    weighted = weight @ X**2 / weight.sum()
    np.testing.assert_allclose(averaged(X, weight, np.square), weighted)


def test_fits_that_go_by_blocks_of_rows_leave_out_features_of_one_value(monkeypatch):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(3, 2, 300), np.full(300, 7.0)])
    y = (rng.random(300) < expit(X[:, 0] - 3)).astype(int)
    whole = fit_logistic(X, y, l2=1e-3)
    monkeypatch.setattr(linear, "HELD_ROWS", 100)
    monkeypatch.setattr(linear, "FIRST_ROWS", 60)
    monkeypatch.setattr(linear, "STEP", 32)
    parts = fit_logistic(X, y, l2=1e-3)
    assert parts[0][1] == whole[0][1] == 0
    np.testing.assert_allclose(parts[0], whole[0], atol=1e-6)
    assert parts[1] == pytest.approx(whole[1], abs=1e-5)


def test_the_penalty_is_that_of_least_loss_of_rows_left_out(monkeypatch):
    rng = np.random.default_rng(6)
    X, weight = rng.normal(size=(200, 3)), rng.exponential(size=200)
    y = (rng.random(200) < expit(0.3 * X[:, 0])).astype(int)
    losses = left_out_losses(X, y, weight, linear.CHOICES)
    assert chosen_penalty(X, y, weight) == linear.CHOICES[int(np.argmin(losses))]
    # The scale of weights is no information, and a row of weight 0 is none.
    np.testing.assert_allclose(left_out_losses(X, y, 7 * weight, [1.0]), losses[6], rtol=1e-6)
    some = np.where(np.arange(200) < 150, weight, 0.0)
    cut = left_out_losses(X[:150], y[:150], weight[:150], [3.0])
    np.testing.assert_allclose(left_out_losses(X, y, some, [3.0]), cut, rtol=1e-9)
    # Of more rows than are asked, every second one is.
    monkeypatch.setattr(linear, "ASKED_ROWS", 100)
    half = left_out_losses(X[::2], y[::2], weight[::2], linear.CHOICES)
    assert chosen_penalty(X, y, weight) == linear.CHOICES[int(np.argmin(half))]


def test_a_penalty_that_is_chosen_is_shared_out_among_the_rows():
    rng = np.random.default_rng(7)
    X, weight = rng.normal(size=(150, 2)), rng.exponential(size=150)
    y = (rng.random(150) < expit(X[:, 0])).astype(int)
    chosen = chosen_penalty(X, y, weight / weight.mean())
    asked = fit_logistic(X, y, weight, chosen / 150)
    np.testing.assert_allclose(fit_logistic(X, y, weight, None)[0], asked[0], rtol=1e-12)


def test_weighted_log_losses_of_rows_left_out_are_near_those_of_fits_without_them():
    rng = np.random.default_rng(12)
    X, weight = rng.normal(size=(50, 1)), rng.choice([0.2, 3.0], 50)
    y = (rng.random(50) < expit(1.5 * X[:, 0])).astype(int)
    weight /= weight.mean()
    rows, penalised, *_ = linear.standard_rows(X, weight)
    losses = []
    for out in range(50):
        kept, beta = np.arange(50) != out, np.zeros(2)
        for _ in range(12):
            p = expit(rows[kept] @ beta)
            bend = (weight[kept] * p * (1 - p))[:, None]
            hessian = (rows[kept] * bend).T @ rows[kept] + np.diag(2.0 * penalised)
            pull = rows[kept].T @ (weight[kept] * (p - y[kept])) + 2.0 * penalised * beta
            beta -= np.linalg.solve(hessian, pull)
        losses.append(np.logaddexp(0, -(2 * y[out] - 1) * (rows[out] @ beta)))
    expected = weight @ losses / weight.sum()
    assert left_out_losses(X, y, weight, [2.0])[0] == pytest.approx(expected, abs=5e-3)


def test_squares_of_rows_left_out_of_several_outcomes_are_those_of_each():
    rng = np.random.default_rng(2)
    X, y, weight = rng.normal(size=(40, 3)), rng.normal(size=(2, 40)), rng.random(40) + 0.1
    both = left_out_squares(X, y, weight, [1.0, 0.0])
    assert both.shape == (2, 2)
    for one, found in zip(y, both, strict=True):
        np.testing.assert_allclose(found, left_out_squares(X, one, weight, [1.0, 0.0]))
    # A feature twice has no more to say, and without a penalty no row of its own.
    twice = left_out_squares(np.hstack([X, X]), y[0], weight, [0.0])
    np.testing.assert_allclose(twice, both[0, 1:], rtol=1e-6)


def test_ends_of_intervals_are_widened_by_independent_errors_in_log_odds():
    for p in (0.5, 0.1):
        for sign in (1, -1):
            end = expit(logit(p) + sign * 3.0)
            assert logit(wider(p, end, sign * 4.0)) == pytest.approx(logit(p) + sign * 5.0)
    assert wider(0.0, 0.2, 1.0) == 0.2 and wider(1.0, 0.7, -1.0) == 0.7


@pytest.mark.parametrize("binary", [True, False])
def test_a_constant_makes_the_weighted_residuals_sum_to_0(binary):
    scores, y, weight = scored()
    for score in (scores[:, 0], 9 * scores[:, 0] + 20):
        constant = centred(score, y, weight, binary)
        expected = expit(score + constant) if binary else score + constant
        assert weight @ (expected - y) == pytest.approx(0, abs=1e-8)
    if binary:
        # All of one class: as sure as may be, and no surer.
        assert expit(centred(np.zeros(9), np.ones(9), np.ones(9), True)) == pytest.approx(1 - EDGE)


def test_a_factor_of_amounts_gives_their_total_also_beside_a_most():
    score, weight = np.array([1.0, 2.0, 3.0, 10.0]), np.array([1.0, 2.0, 1.0, 1.0])
    y = np.array([3.0, 4.0, 5.0, 6.0])
    assert factor_to(score, y, weight) == pytest.approx((weight @ y) / (weight @ score))
    for most in (7.0, 5.0, 4.5):
        factor = factor_to(score, y, weight, most)
        assert weight @ np.minimum(factor * score, most) == pytest.approx(weight @ y)
    assert factor_to(np.zeros(4), y, weight) == 1.0
    # Where all of them at the most are not enough, the factor ends.
    assert (factor_to(score, 9 + y, weight, 5.0) * score >= 5.0).all()


def test_factors_of_classes_have_the_least_penalised_loss():
    scores, y, weight = scored()
    own = weight / weight.mean()
    for copies in (1, 50):
        factors, constant = fitted_factors(scores, y, weight, True, copies)

        def loss(told, copies=copies):
            score = scores @ told[:2] + told[2]
            held = linear.PRIOR_ROWS * copies / 2 * ((told[:2] - 0.5) ** 2).sum()
            return own @ (np.logaddexp(0, score) - y * score) + held

        best = minimize(loss, [0.5, 0.5, 0.0], method="BFGS", options={"gtol": 1e-8}).x
        np.testing.assert_allclose([*factors, constant], best, atol=1e-4)
    held, _ = fitted_factors(scores, y, weight, True, 1e6)
    np.testing.assert_allclose(held, 0.5, atol=1e-2)
    # A part that misleads gets 0 and no less.
    turned, _ = fitted_factors(scores * [1, -5], y, weight, True)
    assert turned[0] > 0 and turned[1] == 0


def test_factors_of_numbers_are_the_ridge_regression_to_equal_shares():
    scores, _, weight = scored(3)
    y = scores @ [0.8, 0.4] + 3 + 0.3 * np.random.default_rng(0).normal(size=ROWS)
    factors, constant = fitted_factors(scores, y, weight, False)
    own = weight / weight.mean()
    apart, rest = scores - own @ scores / ROWS, y - own @ y / ROWS
    held = linear.PRIOR_ROWS * (own @ rest**2 / ROWS)
    gram = (apart * own[:, None]).T @ apart + held * np.eye(2)
    known = np.linalg.solve(gram, (apart * own[:, None]).T @ rest + held * 0.5)
    np.testing.assert_allclose(factors, known, rtol=1e-6)
    assert weight @ (scores @ factors + constant - y) == pytest.approx(0, abs=1e-8)
    moved, other = fitted_factors(100 * scores + 7, 100 * y, 5 * weight, False)
    np.testing.assert_allclose(moved, factors, rtol=1e-6)
    assert other == pytest.approx(100 * constant - 7 * factors.sum())


@pytest.mark.parametrize("most", [np.inf, 6.0])
def test_factors_of_amounts_have_the_total_and_no_unit(most):
    rng = np.random.default_rng(8)
    scores, weight = rng.gamma(2.0, 1.0, (ROWS, 2)), rng.exponential(size=ROWS)
    y = np.minimum(rng.gamma(2.0, scores @ [0.7, 0.4] / 2), most)
    factors, constant = fitted_factors(scores, y, weight, False, amounts=True, most=most)
    assert (factors >= 0).all() and constant >= 0
    expected = np.minimum(scores @ factors + constant, most)
    assert weight @ (expected - y) == pytest.approx(0, abs=1e-6)
    larger = fitted_factors(10 * scores, 10 * y, 3 * weight, False, amounts=True, most=10 * most)
    np.testing.assert_allclose(larger[0], factors, rtol=1e-6)
    assert larger[1] == pytest.approx(10 * constant, abs=1e-8)
    # The least squares in units of what is expected, held to equal shares by so many rows.
    middle, own = np.average(y, weights=weight), weight / weight.mean()
    if np.isinf(most):
        unit = np.maximum(scores.mean(axis=1), LEAST_EXPECTED * middle)
        own = own / unit**2 / np.mean(own / unit**2)
    columns = np.column_stack([scores, np.full(ROWS, middle)])
    held = linear.AMOUNT_ROWS if np.isinf(most) else linear.PRIOR_ROWS
    held *= np.average((y - middle) ** 2, weights=own)

    def loss(told):
        return own @ (y - columns @ told) ** 2 + held * ((told[:2] - 0.5) ** 2).sum()

    best = minimize(loss, np.full(3, 0.4), bounds=[(0, None)] * 3, options={"ftol": 1e-15}).x
    best *= factor_to(columns @ best, y, weight, most)
    np.testing.assert_allclose([*factors, constant / middle], best, atol=1e-4)


def test_shares_of_a_mixture_solve_the_likelihood_equations():
    rng = np.random.default_rng(4)
    ratios = rng.gamma(1.0, 1.0, (500, 3)) * [1.0, 1.2, 0.9]
    shares = mixture_shares(ratios)
    each = (ratios / (ratios @ shares)[:, None]).mean(axis=0)
    assert shares.sum() == pytest.approx(1) and (shares > -1e-12).all()
    np.testing.assert_allclose(each[shares > 1e-3], 1, atol=1e-6)
    assert (each <= 1 + 1e-6).all()
    held = mixture_shares(ratios, held=1, share=0.25)
    assert held[1] == 0.25 and held.sum() == pytest.approx(1)
    each = (ratios / (ratios @ held)[:, None]).mean(axis=0)
    inside = (held > 1e-3) & (np.arange(3) != 1)
    assert np.ptp(each[inside]) < 1e-6
    # Rounds end it where nothing else does; disjoint densities have the shares of their rows.
    assert mixture_shares(ratios, near=0.0, rounds=0).tolist() == [1 / 3] * 3
    apart = np.repeat(np.eye(3), [10, 30, 60], axis=0)
    np.testing.assert_allclose(mixture_shares(apart), [0.1, 0.3, 0.6])


def classes(rows=600):
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1.0, 2.0, 1.5], rows)
    true = calibrated_classes(p, 0.6, np.array([0.4, -0.3, 0.0]))
    return p, (rng.random((rows, 1)) > true.cumsum(axis=1)).sum(axis=1)


def test_classes_are_calibrated_where_their_likelihood_is_largest():
    p, y = classes()
    np.testing.assert_allclose(calibrated_classes(p, 1.0, np.zeros(3)), p, atol=1e-12)
    slope, constants = class_calibration(p, y)
    q = calibrated_classes(p, slope, constants)
    logs = np.log(p)
    np.testing.assert_allclose(q.mean(axis=0), np.bincount(y) / len(y), atol=1e-6)
    assert (q * logs).sum() == pytest.approx(logs[np.arange(len(y)), y].sum(), rel=1e-6)
    assert slope == pytest.approx(0.6, abs=0.15) and constants[-1] == 0
    # Predictions that point the wrong way are worth nothing.
    assert class_calibration(p, (y + 1) % 3)[0] >= 0
    assert class_calibration(np.roll(np.eye(3) * 0.8 + 0.2 / 3, 1, 1)[y], y)[0] == 0


def test_a_row_moves_the_calibration_as_one_more_like_it_does():
    p, y = classes()
    slope, constants = class_calibration(p, y)
    moved = class_calibration_influence(p, y, slope, constants)
    np.testing.assert_allclose(moved.sum(axis=0), 0, atol=1e-4)
    for row in np.argsort(-np.abs(moved).sum(axis=1))[:2]:
        more = class_calibration(np.vstack([p, p[row]]), np.append(y, y[row]))
        change = np.array([more[0] - slope, *(more[1] - constants)[:-1]])
        np.testing.assert_allclose(change, moved[row], rtol=0.1, atol=5e-4)
