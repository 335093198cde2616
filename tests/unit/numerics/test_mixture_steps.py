"""Steps of EM over many mixtures at once, held against the same sums written row by row."""

import numpy as np
import pytest
from counterweight.numerics.mixture_steps import (
    TILE,
    Parameters,
    QuadraticRows,
    density_coefficients,
    extrapolated,
    floored,
    maximisation,
    split_moments,
    upper_triangle,
)
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

K, R, D = 3, 2, 2


def mixtures(seed=0, k=K, r=R, d=D):
    """R mixtures of K components, none like another."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(k), r).T
    root = rng.normal(size=(k, r, d, d))
    covariances = root @ np.swapaxes(root, -1, -2) + 0.5 * np.eye(d)
    return Parameters(weights, rng.normal(size=(k, r, d)), covariances)


def rows_and_weights(n, kind, d=D):
    rng = np.random.default_rng(n)
    weights = np.ones(n) if kind == "plain" else rng.uniform(0.2, 3.0, n)
    return rng.normal(size=(n, d)), weights


def features_of(rows):
    """(1, x_i, x_i x_j) of each row."""
    i, j = upper_triangle(rows.shape[1])
    return np.column_stack([np.ones(len(rows)), rows, rows[:, i] * rows[:, j]])


def joint_of(parameters, rows):
    """Log weight plus log density by scipy, (K, R, n)."""
    return np.array(
        [
            [
                np.log(parameters.weights[k, r])
                + multivariate_normal(parameters.means[k, r], parameters.covariances[k, r]).logpdf(
                    rows
                )
                for r in range(parameters.weights.shape[1])
            ]
            for k in range(len(parameters.weights))
        ]
    )


def test_coefficients_give_the_log_density_of_each_component():
    for d in (1, 2, 4):
        parameters = mixtures(d=d)
        rows, _ = rows_and_weights(20, "plain", d)
        told = density_coefficients(parameters) @ features_of(rows).T
        np.testing.assert_allclose(told, joint_of(parameters, rows), rtol=1e-10)
    gone = parameters._replace(weights=np.zeros_like(parameters.weights))
    assert (density_coefficients(gone)[..., 0] == -np.inf).all()


# More rows than a block has, less than a tile, whole tiles; features kept and made anew.
@pytest.mark.parametrize(("n", "block"), [(10, 64), (2 * TILE, 128), (300, 130), (300, 1)])
@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("kept", [1 << 20, 0])
def test_an_e_step_is_that_of_each_row_alone(n, block, kind, kept):
    rows, weights = rows_and_weights(n, kind)
    for k in (K, 8):  # above and below the number of Gaussians of the second layout
        parameters = mixtures(k=k)
        found = QuadraticRows(rows, weights, block, kept).expectation(parameters)
        joint = joint_of(parameters, rows)
        total = logsumexp(joint, axis=0)
        np.testing.assert_allclose(found.log_likelihood, total @ weights, rtol=1e-10)
        share = np.exp(joint - total)
        expected = (share * weights) @ features_of(rows)
        np.testing.assert_allclose(found.moments, expected, rtol=1e-9, atol=1e-9)
        hard = (joint == joint.max(axis=0)) @ weights
        np.testing.assert_allclose(found.hard, hard, rtol=1e-12)
        assert (
            not QuadraticRows(rows, weights, block).expectation(parameters, count=False).hard.any()
        )


def test_ties_count_for_both():
    parameters = mixtures(k=1)
    twice = Parameters(*(np.concatenate([one, one]) for one in parameters))
    twice = twice._replace(weights=np.full((2, R), 0.5))
    rows, weights = rows_and_weights(70, "plain")
    assert (QuadraticRows(rows, weights).expectation(twice).hard == 70).all()


def test_blocks_are_whole_tiles_and_not_too_many():
    rows, weights = rows_and_weights(5, "plain", 3)
    sizes = {1: 64, 63: 64, 64: 64, 127: 64, 128: 128, 1984: 1984, 10**6: 31 * 64}
    for asked, block in sizes.items():
        assert QuadraticRows(rows, weights, asked).block == block
    # 10 features of 5 rows, twice, in 8 bytes each.
    assert QuadraticRows(rows, weights).width == 1 + 3 + 6
    for room, kept in ((800, True), (799, False)):
        made = QuadraticRows(rows, weights, cache_bytes=room)
        made.expectation(mixtures(d=3))
        assert bool(made._kept) is kept


@pytest.mark.parametrize("block", [64, 1984])
def test_moments_of_given_and_of_drawn_responsibilities(block):
    rows, weights = rows_and_weights(150, "weighted")
    made = QuadraticRows(rows, weights, block)
    given = np.random.default_rng(1).dirichlet(np.ones(K), (R, 150))
    expected = np.einsum("rnk,n,nq->krq", given, weights, features_of(rows))
    np.testing.assert_allclose(made.moments(given), expected, rtol=1e-10, atol=1e-12)
    drawn = made.random_moments(K, R, np.random.default_rng(2))
    share = np.random.default_rng(2).random((150, K, R))
    share = share / share.sum(axis=1, keepdims=True)
    expected = np.einsum("nkr,n,nq->krq", share, weights, features_of(rows))
    np.testing.assert_allclose(drawn, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(drawn.sum(axis=0), np.tile(weights @ features_of(rows), (R, 1)))


def test_single_precision_corrects_the_coefficients():
    rows, weights = rows_and_weights(300, "weighted")
    parameters, made = mixtures(), QuadraticRows(rows + 30.0, weights)
    exact = made.expectation(parameters)
    rough = made.expectation(parameters, np.float32)
    np.testing.assert_allclose(rough.log_likelihood, exact.log_likelihood, rtol=1e-5)


def test_moments_are_taken_apart_as_they_were_put_together():
    rows, weights = rows_and_weights(40, "weighted", 3)
    total, first, second = split_moments(weights @ features_of(rows), 3)
    assert total == pytest.approx(weights.sum())
    np.testing.assert_allclose(first, weights @ rows)
    np.testing.assert_allclose(second, (rows * weights[:, None]).T @ rows)


def moments_of(seed=3, d=D):
    rng = np.random.default_rng(seed)
    rows, weights = rows_and_weights(200, "weighted", d)
    share = rng.dirichlet(np.ones(K), (R, 200))
    return QuadraticRows(rows, weights).moments(share), rows, share * weights[:, None]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_m_step_has_weighted_means_and_covariances(d):
    moments, rows, weights = moments_of(d=d)
    made = maximisation(moments, None, np.ones((K, R), bool), None)
    for k in range(K):
        for r in range(R):
            own = weights[r, :, k]
            assert made.weights[k, r] == pytest.approx(own.sum() / weights[r].sum())
            np.testing.assert_allclose(made.means[k, r], np.average(rows, axis=0, weights=own))
            expected = np.atleast_2d(np.cov(rows.T, aweights=own, ddof=0))
            np.testing.assert_allclose(made.covariances[k, r], expected, atol=1e-12)


def test_held_components_stay_and_the_others_share_the_rest():
    moments, _, _ = moments_of()
    before, held = mixtures(), np.zeros((K, R), bool)
    held[0, 0] = held[:, 1] = True
    made, free = maximisation(moments, before, held, 1e-9), maximisation(moments, None, None, None)
    for part, old, new in zip(made, before, free, strict=True):
        assert (part[held] == old[held]).all()
        if part.ndim > 2:
            np.testing.assert_allclose(part[~held], new[~held])
    others = moments[1:, 0, 0]
    expected = others / others.sum() * (1 - before.weights[0, 0])
    np.testing.assert_allclose(made.weights[1:, 0], expected)
    np.testing.assert_allclose(made.weights.sum(axis=0), 1)


def test_parts_of_a_batch_are_its_mixtures():
    parameters = mixtures()
    one = parameters.restarts([1])
    assert [part.shape[1] for part in one] == [1, 1, 1]
    assert (one.means[:, 0] == parameters.means[:, 1]).all()


def test_floor_raises_only_low_eigenvalues():
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    covariance = (basis * [1e-9, 0.5, 2.0]) @ basis.T
    raised = floored(np.array([covariance, np.eye(3)]), 1e-3)
    np.testing.assert_allclose(np.linalg.eigvalsh(raised[0]), [1e-3, 0.5, 2.0], rtol=1e-9)
    np.testing.assert_array_equal(raised[1], np.eye(3))


def test_what_is_above_the_floor_stays_to_the_bit_and_what_is_on_it_too():
    above = mixtures().covariances
    assert floored(above, 0.4) is above
    mixed = np.array([np.diag([1e-6, 1.0]), np.diag([0.5, 1.0]), [[2.0, 0.3], [0.3, 1.0]]])
    raised = floored(mixed, 0.5)
    np.testing.assert_allclose(raised[0], np.diag([0.5, 1.0]))
    np.testing.assert_allclose(raised[1], mixed[1])
    assert (raised[2] == mixed[2]).all()
    # The maximiser over covariances of at least the floor: no nearby one is more likely.
    root = np.random.default_rng(4).normal(size=(2, 2))
    sample = root @ np.diag([0.01, 2.0]) @ root.T
    best = floored(sample, 0.1)

    def loss(covariance):
        return np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, sample))

    rng = np.random.default_rng(5)
    for _ in range(200):
        step = 0.05 * rng.normal(size=(2, 2))
        near = floored(best + step + step.T, 0.1)
        assert loss(near) >= loss(best) - 1e-12


def test_a_step_beyond_three_reaches_what_steps_of_one_rate_go_to():
    """Means that come nearer by a fifth each: five such steps long is the way that is left."""
    end, rng = mixtures(1), np.random.default_rng(2)
    way = rng.normal(size=end.means.shape)
    path = [end._replace(means=end.means + 0.8**step * way) for step in range(3)]
    made, reach = extrapolated(path, np.array([64.0, 64.0]), 1e-6, None)
    np.testing.assert_allclose(made.means, end.means, atol=1e-9)
    np.testing.assert_allclose(made.weights, end.weights, rtol=1e-12)
    np.testing.assert_allclose(made.covariances, end.covariances, rtol=1e-9)
    np.testing.assert_array_equal(reach, 64.0)
    # No further than it may, and further the next time: 1 + 2 * 2 * (-0.2) + 2 * 2 * 0.04 is left.
    made, reach = extrapolated(path, np.array([2.0, 64.0]), 1e-6, None)
    np.testing.assert_allclose(made.means[:, 0], (end.means + 0.36 * way)[:, 0], atol=1e-9)
    np.testing.assert_array_equal(reach, [8.0, 64.0])


def test_of_a_step_beyond_three_held_components_stay_and_the_others_share_the_rest():
    path = [mixtures(1) for _ in range(3)]
    for step, one in enumerate(path):
        one.weights[:] = np.array([[0.5, 0.5], [0.3, 0.2], [0.2, 0.3]])
        one.weights[1] += 0.1 * 0.5**step
        one.weights[2] -= 0.1 * 0.5**step
    made, _ = extrapolated(path, np.array([64.0, 64.0]), 1e-6, None)
    np.testing.assert_array_equal(made.weights[0], 0.5)
    np.testing.assert_allclose(made.weights.sum(axis=0), 1.0, rtol=1e-12)
    # The others are near where they go to.
    np.testing.assert_allclose(made.weights[1:], [[0.3, 0.2], [0.2, 0.3]], atol=0.01)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components_that_are_far_leave_no_number_below_the_least_normal_one(dtype):
    rows = np.random.default_rng(5).uniform(-5, 65, (400, 1))
    away = np.array([0.0, 30.0, 60.0])[:, None, None]
    parameters = Parameters(np.full((3, 1), 1 / 3), away, np.ones((3, 1, 1, 1)))
    with np.errstate(under="raise"):
        found = QuadraticRows(rows, np.ones(400)).expectation(parameters, dtype)
    assert found.moments[..., 0].sum() == pytest.approx(400)
    assert found.log_likelihood == pytest.approx(
        logsumexp(joint_of(parameters, rows), axis=0).sum(axis=-1), rel=1e-5
    )
