"""Acceptance of leaves: Lemma 2, most rows at the same balance, limits of rate and distortion."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import geometry
from counterweight.weighting import acceptance as acc


def draw(seed, leaves, groups, spread=0.5):
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.full(groups, spread), leaves)
    return rng.dirichlet(np.ones(leaves)), A, rng


@pytest.mark.parametrize("weigh", [acc.quadratic_acceptance, acc.relaxed_acceptance])
@pytest.mark.parametrize("seed", range(5))
def test_lemma_2_acceptance_gives_the_target_when_it_is_in_the_hull(weigh, seed):
    mass, A, rng = draw(seed, 9, 4)
    target = rng.dirichlet(np.ones(9)) @ A
    (found,) = weigh(mass, A, target)
    np.testing.assert_allclose(geometry.realised(found.rho, mass, A), target, atol=1e-9)
    assert found.rho.max() == 1 and found.rho.min() >= 0
    # The same on drawn rows: Algorithm 2.
    n = 400_000
    leaf = rng.choice(9, n, p=mass)
    group = (rng.random(n)[:, None] > A[leaf].cumsum(axis=1)).sum(axis=1).clip(0, 3)
    accepted = rng.random(n) < found.rho[leaf]
    seen = np.bincount(group[accepted], minlength=4) / accepted.sum()
    error = np.sqrt(target * (1 - target) / accepted.sum())
    assert (np.abs(seen - target) < 5 * error).all()
    assert abs(accepted.mean() - found.rate) < 5 * np.sqrt(found.rate / n)


def test_acceptance_is_proportional_to_q_over_mass_and_its_rate_is_one_over_the_largest_ratio():
    mass, q = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.2, 0.2, 0.6, 0.0])
    rho, rate = acc.acceptance(q, mass)
    np.testing.assert_allclose(rho, [0.4 / 3, 2 / 9, 1.0, 0.0])
    assert rate == pytest.approx(1 / 3)
    with pytest.raises(CounterweightError, match="leaf 3"):
        acc.acceptance([0.2, 0.2, 0.5, 0.1], mass)
    with pytest.raises(CounterweightError, match="target"):
        acc.acceptance(np.zeros(4), mass)


def test_no_acceptance_of_the_same_distribution_accepts_more_rows():
    mass, A, rng = draw(3, 12, 3)
    target = rng.dirichlet(np.full(12, 5.0)) @ A
    (best,) = acc.quadratic_acceptance(mass, A, target)
    plain, rate = acc.acceptance(geometry.closest_in_hull(A, target), mass)
    np.testing.assert_allclose(geometry.realised(best.rho, mass, A), target, atol=1e-10)
    assert best.rate > rate * 1.01
    np.testing.assert_allclose(geometry.realised(plain, mass, A), target, atol=1e-10)
    # Any other q for the target: a step in the null space, as far as q stays positive.
    null = np.linalg.svd(np.column_stack([A, np.ones(12)]).T)[2][4:]
    for _ in range(200):
        step = rng.normal(size=len(null)) @ null
        down = step < 0
        q = best.q + (best.q[down] / -step[down]).min() * rng.random() * step
        assert acc.acceptance(np.maximum(q, 0), mass)[1] <= best.rate + 1e-9


def test_leaves_without_rows_are_never_accepted_and_change_nothing():
    mass, A, _ = draw(5, 4, 3)
    more, table = np.append(mass, 0.0), np.vstack([A, np.full(3, np.nan)])
    for weigh in (acc.equal_acceptance, acc.quadratic_acceptance, acc.relaxed_acceptance):
        (plain,) = weigh(mass, A, np.full(3, 1 / 3))
        (other,) = weigh(more, table, np.full(3, 1 / 3))
        assert other.rho[-1] == 0 and other.q[-1] == 0
        np.testing.assert_allclose(other.rho[:-1], plain.rho)
    shares = geometry.interpolated(more, table, 0.5)[1]
    np.testing.assert_allclose(shares[-1], mass @ A)


def test_naive_acceptance_takes_the_same_from_each_leaf():
    mass, A, _ = draw(6, 4, 3)
    (found,) = acc.equal_acceptance(mass, A, np.full(3, 1 / 3))
    np.testing.assert_allclose(found.q, 0.25)
    assert found.rate == pytest.approx(4 * mass.min())


A, HALF = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]), np.array([0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        # An empty matrix used to end the interpreter inside the solver.
        (lambda: geometry.closest_in_hull(A[:0], A[0]), "at least one"),
        (lambda: geometry.closest_in_cone(A[:0], A[0]), "at least one"),
        (lambda: geometry.closest_in_hull(A, HALF), r"shape \(2, 3\)"),
        (lambda: geometry.closest_in_cone(A * np.nan, A[0]), "missing or infinite"),
        (lambda: acc.quadratic_acceptance([0.5, 1.5], A, A[0]), "sum to 2, not 1"),
        (lambda: acc.equal_acceptance([1.5, -0.5], A, A[0]), "first: leaf 1, -0.5"),
        (lambda: acc.relaxed_acceptance(HALF[:1], A, A[0]), "sum to 0.5"),
        (lambda: acc.equal_acceptance(HALF, A, HALF), "as many columns"),
        (lambda: acc.quadratic_acceptance(HALF, A, A[0], etas=[1.5]), "eta is 1.5"),
        (lambda: geometry.interpolated(HALF, A, -0.1), "eta is -0.1"),
        (lambda: geometry.interpolated_rows(np.eye(2), float("nan")), "eta is nan"),
        (lambda: acc.acceptance([-0.5, 1.5], HALF), "first: leaf 0, -0.5"),
        (lambda: acc.acceptance([np.nan, 1.0], HALF), "not finite"),
        (lambda: acc.acceptance([1.0], HALF), "give one for each leaf"),
        (lambda: geometry.imbalance_floor(A[0], A[1], 1.1, [3]), "alpha is 1.1"),
        (lambda: geometry.imbalance_floor(A[0], A[1], 0.1, [2]), "3 entries for 2 groups"),
        (lambda: geometry.imbalance_floor(2 * A[0], A[1], 0.1, [3]), "base's shares sum to 2"),
    ],
)
def test_numbers_that_are_no_leaves_are_told_in_a_sentence(call, said):
    with pytest.raises(CounterweightError, match=said):
        call()


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, 0.9])
def test_a_least_rate_is_met_and_costs_no_more_balance_than_it_must(least):
    rng = np.random.default_rng(4)
    mass, A = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(3), 6)
    target = np.full(3, 1 / 3)
    (free,) = acc.quadratic_acceptance(mass, A, target)
    (made,) = acc.quadratic_acceptance(mass, A, target, min_acceptance_rate=least)
    assert made.rate >= least - 1e-9
    assert made.distance >= free.distance - 1e-12
    if free.rate >= least:
        np.testing.assert_allclose(made.q @ A, free.q @ A, atol=1e-9)
    # No mixture that keeps the rate comes nearer: random ones within the same limits.
    for _ in range(200):
        rho = rng.random(6) ** rng.integers(1, 4)
        rho /= rho.max()
        if rho @ mass >= least:
            other = rho * mass @ A / (rho @ mass)
            assert np.linalg.norm(other - target) >= made.distance - 1e-9


@pytest.mark.parametrize("weigh", [acc.equal_acceptance, acc.quadratic_acceptance])
def test_chances_kept_under_noise_are_those_without_it(weigh):
    """A.1.1 as printed: a row is accepted as the leaf it was moved to, by the first chances."""
    rng = np.random.default_rng(5)
    A, mass, target = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(5)), np.full(3, 1 / 3)
    (first,) = weigh(mass, A, target)
    kept = weigh(mass, A, target, etas=[0.0, 0.4, 1.0], under_noise="kept")
    solved = weigh(mass, A, target, etas=[0.0, 0.4, 1.0])
    for one, again in zip(kept, solved, strict=True):
        assert one.rho == pytest.approx(first.rho, abs=1e-12)
        np.testing.assert_allclose(one.shares, again.shares)
        assert one.rate == pytest.approx(one.rho @ one.mass)
        assert one.distance == pytest.approx(np.linalg.norm(one.q @ one.shares - target))
    assert kept[2].q @ kept[2].shares == pytest.approx(mass @ A), "noise alone: uniform sampling"
    if weigh is acc.quadratic_acceptance:
        assert all(a.distance >= b.distance - 1e-9 for a, b in zip(kept, solved, strict=True))
