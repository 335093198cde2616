"""Nearest points of hulls and cones, interpolation, the floor: by enumeration and simulation."""

from itertools import combinations

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import geometry
from counterweight.numerics.groups import leaf_table, uniform_target
from counterweight.weighting import acceptance as acc


def draw(seed, leaves, groups, spread=0.5):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.full(groups, spread), leaves)
    return rng.dirichlet(np.ones(leaves)), A, rng


def by_enumeration(A, target):
    """argmin ||qA - U|| on the simplex by solving for every set of positive entries."""
    best, found = np.inf, None
    for size in range(1, len(A) + 1):
        for chosen in map(list, combinations(range(len(A)), size)):
            # With q_0 = 1 - the others, an unconstrained least squares problem is left.
            first, rest = A[chosen[0]], A[chosen[1:]] - A[chosen[0]]
            free = np.linalg.lstsq(rest.T, target - first, rcond=None)[0]
            part = np.concatenate([[1 - free.sum()], free])
            if part.min() >= -1e-12:
                distance = np.linalg.norm(part @ A[chosen] - target)
                if distance < best - 1e-13:
                    best, found = distance, (chosen, part)
    q = np.zeros(len(A))
    q[found[0]] = found[1]
    return q, best


@pytest.mark.parametrize("seed", range(30))
def test_q_is_that_of_an_independent_exact_method(seed):
    leaves, groups = 2 + seed % 6, 2 + seed % 5
    _, A, rng = draw(seed, leaves, groups)
    target = rng.dirichlet(np.ones(groups)) if seed % 2 else np.full(groups, 1 / groups)
    q = geometry.closest_in_hull(A, target)
    other, distance = by_enumeration(A, target)
    assert abs(q.sum() - 1) < 1e-12 and q.min() >= 0
    assert np.linalg.norm(q @ A - target) == pytest.approx(distance, abs=1e-8)
    np.testing.assert_allclose(q @ A, other @ A, atol=1e-8)
    if np.linalg.matrix_rank(np.column_stack([A, np.ones(leaves)])) == leaves:
        np.testing.assert_allclose(q, other, atol=1e-8)


@pytest.mark.parametrize("seed", range(10))
def test_relaxed_q_satisfies_the_optimality_conditions_and_is_never_farther(seed):
    _, A, rng = draw(seed, 7, 4)
    target = rng.dirichlet(np.ones(4))
    q = geometry.closest_in_cone(A, target)
    slope = A @ (q @ A - target)
    assert q.min() >= 0
    assert slope.min() > -1e-10 and np.abs(slope * q).max() < 1e-10
    hull = geometry.closest_in_hull(A, target) @ A
    assert np.linalg.norm(q @ A - target) <= np.linalg.norm(hull - target) + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_relaxed_and_constrained_agree_for_the_uniform_target_over_one_class(seed):
    mass, A, _ = draw(seed, 6, 5)
    target = np.full(5, 0.2)
    (one,) = acc.quadratic_acceptance(mass, A, target)
    (other,) = acc.relaxed_acceptance(mass, A, target)
    first, second = (geometry.realised(w.rho, w.mass, A) for w in (one, other))
    np.testing.assert_allclose(first, second, atol=1e-8)
    assert other.distance <= one.distance + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_lemma_1_a_balanced_q_exists_iff_the_target_is_in_the_hull(seed):
    _, A, rng = draw(seed, 8, 4)
    inside = rng.dirichlet(np.ones(8)) @ A
    assert np.linalg.norm(geometry.closest_in_hull(A, inside) @ A - inside) < 1e-9
    # A point beyond the vertex that is extreme in a direction is outside, by the same plane.
    direction = rng.normal(size=4)
    extreme = A[np.argmax(A @ direction)]
    outside = extreme + 0.1 * direction
    q = geometry.closest_in_hull(A, outside)
    gap = (outside - extreme) @ direction / np.linalg.norm(direction)
    assert np.linalg.norm(q @ A - outside) >= gap - 1e-12 > 0


def test_interpolation_equals_a_simulation_and_the_average_over_memberships():
    mass, A, rng = draw(1, 5, 3)
    n, eta = 500_000, 0.3
    leaf = rng.choice(5, n, p=mass)
    Z = np.eye(3)[(rng.random(n)[:, None] > A[leaf].cumsum(axis=1)).sum(axis=1).clip(0, 2)]
    own = np.eye(5)[leaf]
    seen = leaf_table(own, Z)
    exact = geometry.interpolated(*seen, eta)
    averaged = leaf_table(geometry.interpolated_rows(own, eta), Z)
    for left, right in zip(exact, averaged, strict=True):
        np.testing.assert_allclose(left, right, atol=1e-12)
    drawn = np.where(rng.random(n) < eta, rng.integers(0, 5, n), leaf)
    simulated = leaf_table(np.eye(5)[drawn], Z)
    for left, right, size in zip(exact, simulated, (n, n * simulated[0].min()), strict=True):
        assert np.abs(left - right).max() < 5 * 0.5 / np.sqrt(size)


def test_interpolation_ends_at_the_proxy_and_at_no_information():
    mass, A, _ = draw(2, 4, 3)
    for left, right in zip(geometry.interpolated(mass, A, 0.0), (mass, A), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-15)
    none, same = geometry.interpolated(mass, A, 1.0)
    np.testing.assert_allclose(none, 0.25)
    np.testing.assert_allclose(same, np.tile(mass @ A, (4, 1)), atol=1e-15)
    for weigh in (acc.equal_acceptance, acc.quadratic_acceptance, acc.relaxed_acceptance):
        (found,) = weigh(mass, A, np.full(3, 1 / 3), etas=[1.0])
        np.testing.assert_allclose(found.rho, 1.0)
        np.testing.assert_allclose(geometry.realised(found.rho, found.mass, found.shares), mass @ A)


def test_floor_is_that_of_brute_force():
    steps = np.arange(501) / 500
    grid = np.stack(np.meshgrid(steps, steps), -1).reshape(-1, 2)
    grid = np.column_stack([grid, 1 - grid.sum(axis=1)])
    grid = grid[grid[:, 2] > -1e-12]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        r, target = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
        for alpha in (0.02, 0.1, 0.3):
            allowed = grid[(np.abs(grid - r) <= alpha).all(axis=1)]
            brute = np.linalg.norm(allowed - target, axis=1).min()
            floor = geometry.imbalance_floor(r, target, alpha, [3])
            assert brute - 0.004 <= floor <= brute + 1e-12


def test_floor_at_its_ends_for_two_groups_and_for_several_classes():
    r, classes = np.array([0.85, 0.1, 0.05, 0.7, 0.3]), [3, 2]
    target = uniform_target(classes)
    assert geometry.imbalance_floor(r, target, 0.0, classes) == pytest.approx(
        np.linalg.norm(r - target)
    )
    assert geometry.imbalance_floor(r, target, 1.0, classes) < 1e-12
    assert geometry.imbalance_floor(r[3:], target[3:], 0.05, [2]) == pytest.approx(
        0.15 * np.sqrt(2)
    )
    parts = [
        geometry.imbalance_floor(r[:3], target[:3], 0.1, [3]),
        geometry.imbalance_floor(r[3:], target[3:], 0.1, [2]),
    ]
    assert geometry.imbalance_floor(r, target, 0.1, classes) == pytest.approx(np.hypot(*parts))


def test_no_filter_within_alpha_is_below_the_floor():
    for seed in range(40):
        mass, A, rng = draw(seed, 5, 4)
        base, target = mass @ A, rng.dirichlet(np.ones(4))
        (found,) = acc.quadratic_acceptance(mass, A, target)
        floor = geometry.imbalance_floor(base, target, np.abs(A - base).max(), [4])
        assert np.linalg.norm(geometry.realised(found.rho, mass, A) - target) >= floor - 1e-12


@pytest.mark.parametrize("seed", range(40))
def test_q_is_optimal_also_with_many_and_repeated_leaves_and_on_the_face_of_the_hull(seed):
    rng = np.random.default_rng(seed)
    groups, leaves = [2, 3, 5, 12][seed % 4], [1, 3, 60, 400][seed // 4 % 4]
    A = rng.dirichlet(np.full(groups, [0.02, 0.3, 5][seed % 3]), leaves)
    A = np.vstack([A, A[rng.integers(0, leaves, 3)]])
    on_face = rng.dirichlet(np.ones(2)) @ A[:2]
    for target in (on_face, np.eye(groups)[0], np.full(groups, 1 / groups), A[0]):
        q = geometry.closest_in_hull(A, target)
        slope = A @ (q @ A - target)
        assert q.min() >= 0 and abs(q.sum() - 1) < 1e-12
        # The gap of Frank and Wolfe bounds the squared distance to the exact answer.
        assert q @ slope - slope.min() < 1e-14


def test_the_nearest_point_with_bounded_weights_is_that_of_a_grid():
    rng = np.random.default_rng(3)
    A, target, most = rng.dirichlet(np.ones(3), 3), np.full(3, 1 / 3), np.array([0.5, 0.4, 0.3])
    q = geometry.closest_bounded(A, target, most)
    x = np.linspace(0, 1, 201)
    grid = np.array([(a, b, 1 - a - b) for a in x for b in x])
    grid = grid[((grid >= 0) & (grid <= most + 1e-12)).all(axis=1)]
    best = np.linalg.norm(grid @ A - target, axis=1).min()
    assert q.sum() == pytest.approx(1) and q.min() >= 0 and (q <= most + 1e-9).all()
    assert np.linalg.norm(q @ A - target) <= best + 1e-9
    # Bounds that leave no choice, and fewer than one in all.
    for most in ([0.5, 0.25, 0.25], [0.2, 0.1, 0.1]):
        found = geometry.closest_bounded(A, target, most)
        np.testing.assert_allclose(found, [0.5, 0.25, 0.25])


def test_the_largest_acceptance_keeps_the_groups_and_is_that_of_a_grid():
    mass, A = np.full(3, 1 / 3), np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    # Leaf 1 alone has the groups of both others together.
    found = geometry.largest_acceptance(np.array([0.0, 1, 0]), mass, A)
    np.testing.assert_allclose(found, [1, 1, 1])
    held = geometry.largest_acceptance(np.array([0.0, 1, 0]), mass, A, np.array([[1.0, -0.5, 0]]))
    np.testing.assert_allclose(held, [0.5, 1, 0.5])


def test_acceptance_that_is_drawn_in_just_meets_the_bound():
    rng = np.random.default_rng(4)
    for _ in range(20):
        mass, A, rho = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(3), 5), rng.random(5)
        most = rng.uniform(0.02, 0.2)
        made = geometry.drawn_in(rho, mass, A, most)
        before, after = (np.nanmax(geometry.distorted(one * mass, mass, A)) for one in (rho, made))
        if before <= most:
            assert made is rho
        else:
            assert after == pytest.approx(most, abs=1e-9) or after < most
            t = (made - rho) / (1 - rho)
            np.testing.assert_allclose(t, t[0])
            less = rho + (t[0] - 1e-3) * (1 - rho)
            assert np.nanmax(geometry.distorted(less * mass, mass, A)) > most
    empty = np.append(mass, 0.0)
    shares = np.vstack([A, [1.0, 0, 0]])
    assert geometry.drawn_in(np.append(rho, 0.0), empty, shares, 0.0)[-1] == 0


def test_masses_may_be_off_one_by_rounding_and_leaves_without_any_have_no_shares():
    mass, A = np.array([0.5, 0.5 + 5e-7, 0.0]), np.array([[1.0, 0], [0, 1], [np.nan, 7]])
    made, shares = geometry.checked_leaves(mass, A)
    np.testing.assert_array_equal(made, mass)
    np.testing.assert_array_equal(shares, [[1, 0], [0, 1], [0, 0]])
    with pytest.raises(CounterweightError, match="not 1"):
        geometry.checked_leaves([0.5, 0.5 + 2e-6], A[:2])
    assert np.isnan(geometry.realised(np.zeros(2), mass[:2], A[:2])).all()
    np.testing.assert_allclose(geometry.realised([0.5, 1], [0.5, 0.25], A[:2]), [0.5, 0.5])
    noisy = geometry.interpolated_rows(np.eye(2), 0.5)
    np.testing.assert_allclose(noisy, [[0.75, 0.25], [0.25, 0.75]])
