from itertools import combinations

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import geometry
from counterweight.numerics.groups import leaf_table, target_shares, uniform_target
from counterweight.plan.components import options
from counterweight.selection.proxies.proxy import leaf_columns, leaf_tables, reach_sentence
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


def test_leaf_tables_return_what_leaf_columns_wrote():
    mass, A, _ = draw(4, 3, 5)
    one = leaf_columns(0, "alpha=0.1", mass, A, list("abcde"), ["race", "sex"], [3, 2])
    two = leaf_columns(0, "alpha=1", mass[:2], A[:2], list("abcde"), ["race", "sex"], [3, 2])
    first, second = leaf_tables({key: np.concatenate([one[key], two[key]]) for key in one})
    assert (first.setting, second.setting, len(second.mass)) == ("alpha=0.1", "alpha=1", 2)
    assert (first.groups, first.sizes) == (list("abcde"), [3, 2])
    np.testing.assert_array_equal(first.shares, A)
    np.testing.assert_array_equal(first.mass, mass)


def test_targets_by_name_are_put_in_order_and_checked():
    np.testing.assert_allclose(target_shares(None, ["a", "b"], [2]), 0.5)
    np.testing.assert_allclose(target_shares({"b": 0.3, "a": 0.7}, ["a", "b"], [2]), [0.7, 0.3])
    with pytest.raises(CounterweightError, match="names c"):
        target_shares({"c": 1.0}, ["a", "b"], [2])
    with pytest.raises(CounterweightError, match="sum to 0.9"):
        target_shares({"a": 0.9}, ["a", "b"], [2])
    with pytest.raises(CounterweightError, match="by its name"):
        target_shares([0.5, 0.5], ["a", "b"], [2])
    np.testing.assert_allclose(target_shares({1: 0.3, 2: 0.7}, ["1", "2"], [2]), [0.3, 0.7])


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


def test_settings_of_noise_have_short_names():
    assert acc.setting_name("", 0.1 + 0.2) == "eta=0.3"
    assert acc.setting_name("alpha=0.05", None) == "alpha=0.05"
    assert options("weighting", "quadratic")["etas"]["default"] == []


def test_it_is_said_how_far_the_target_is_and_which_setting_reaches_it():
    settings = ["alpha=0", "alpha=0.1", "alpha=0.2", "alpha=0.3"]
    told = reach_sentence(settings, [0.5, 0.2, 0.2, 0.0], [False, False, False, True])
    assert "0.500 from alpha=0, 0.200 from alpha=0.1; alpha=0.3 is the first" in told
    assert "no setting" in reach_sentence(settings[:2], [0.5, 0.2], [False, False])
    assert "0.500" in reach_sentence([""], [0.5], [0.0])
    far = reach_sentence(settings[:2], [0.5, 0.2], [False, False], 0.6543)
    assert far.endswith("no setting reaches it (no filter can whose alpha is below 0.654)")
    assert "below" not in reach_sentence(settings, [0.5, 0.2, 0.2, 0], [0, 0, 0, 1], 0.654)
    base, target = np.array([0.7, 0.2, 0.1]), np.full(3, 1 / 3)
    least = np.abs(base - target).max()
    assert geometry.imbalance_floor(base, target, least, [3]) < 1e-12
    assert geometry.imbalance_floor(base, target, least - 1e-3, [3]) > 1e-4
    assert reach_sentence([""], [0.0], [1.0]) == "the target is within reach"


@pytest.mark.parametrize("least", [0.1, 0.3, 0.6, 0.9])
def test_a_least_rate_is_met_and_costs_no_more_balance_than_it_must(least):
    rng = np.random.default_rng(4)
    mass, A = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(3), 6)
    target = np.full(3, 1 / 3)
    (free,) = acc.quadratic_acceptance(mass, A, target)
    (made,) = acc.quadratic_acceptance(mass, A, target, least_accepted=least)
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
