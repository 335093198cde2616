"""How far the accepted of a group are from the group, and filters with a limit of it."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.geometry import distorted
from counterweight.weighting import acceptance as acc


def draw(seed, leaves=6, groups=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(leaves, 3.0)), rng.dirichlet(np.ones(groups), leaves), rng


def worst(rho, mass, A):
    return np.nanmax(distorted(rho * mass, mass, A))


def test_no_share_of_a_feature_within_a_group_is_moved_further():
    mass, A, rng = draw(0)
    rho, rows = rng.random(6), 40_000
    leaf = rng.choice(6, rows, p=mass)
    group = (rng.random(rows)[:, None] > A[leaf].cumsum(axis=1)).sum(axis=1).clip(0, 2)
    own = np.array([np.bincount(leaf[group == k], minlength=6) for k in range(3)], float).T
    found = distorted(rho * own.sum(axis=1), own.sum(axis=1), own / own.sum(axis=1)[:, None])
    told = [rng.random(6)[leaf] > rng.random(rows) for _ in range(20)]
    told += [np.isin(leaf, np.flatnonzero(rho > cut)) for cut in rho]
    for k in range(3):
        mine = group == k
        moves = [
            abs(np.average(one[mine], weights=rho[leaf][mine]) - one[mine].mean()) for one in told
        ]
        # Drawn features go by the leaf and by chance; the leaves of high acceptance attain it.
        assert max(moves[:20]) <= found[k] + 1e-12
        assert max(moves[20:]) == pytest.approx(found[k], abs=1e-12)


def test_equal_chances_distort_nothing_and_who_is_never_accepted_is_not_distorted():
    mass, A, _ = draw(1)
    assert distorted(mass, mass, A) == pytest.approx(0, abs=1e-15)
    A = np.array([[1.0, 0.0], [0.25, 0.75]])
    found = distorted(np.array([1.0, 0.0]), np.array([0.5, 0.5]), A)
    assert found[0] == pytest.approx(0.2) and np.isnan(found[1])


@pytest.mark.parametrize("most", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("weigh", [acc.quadratic_acceptance, acc.relaxed_acceptance])
def test_of_two_leaves_the_best_mixture_within_the_limit_is_that_of_a_grid(weigh, most):
    mass, A = np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.3, 0.7]])
    (made,) = weigh(mass, A, np.full(2, 0.5), max_distortion=most)
    x = np.linspace(0, 1, 100_001)[1:-1]
    q = np.column_stack([x, 1 - x])
    kept = q[:, :, None] * A / (q @ A)[:, None, :]
    own = mass[:, None] * A / (mass @ A)
    within = (np.abs(kept - own).sum(axis=1) / 2 <= most).all(axis=1)
    best = np.linalg.norm(q[within] @ A - 0.5, axis=1).min()
    assert np.linalg.norm(made.q @ A - 0.5) == pytest.approx(best, abs=2e-5)
    assert worst(made.rho, mass, A) <= most + 1e-12


@pytest.mark.parametrize("least", [0.0, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_the_limits_are_met_and_cost_no_more_balance_than_they_must(seed, least):
    mass, A, rng = draw(seed)
    target, most = np.full(3, 1 / 3), 0.1
    given = {"min_acceptance_rate": least, "max_distortion": most}
    (free,) = acc.quadratic_acceptance(mass, A, target)
    (made,) = acc.quadratic_acceptance(mass, A, target, **given)
    left = np.linalg.norm(made.q @ A - target)
    assert worst(free.rho, mass, A) > most >= worst(made.rho, mass, A) - 1e-12
    assert made.rate >= least - 1e-9 and made.rho.max() <= 1
    assert left == pytest.approx(made.distance, abs=1e-8) and left > free.distance
    # Mixtures within the limits on the way from equal chances to any others come no nearer.
    for _ in range(300):
        rho = rng.random(6) ** rng.integers(1, 6)
        for t in np.linspace(0, 1, 21):
            one = (1 - t) * rho / rho.max() + t
            if one @ mass >= least and worst(one, mass, A) <= most:
                assert np.linalg.norm(one * mass @ A / (one @ mass) - target) >= left - 1e-9


def test_no_limit_changes_nothing_and_a_limit_of_0_accepts_everybody_alike():
    mass, A, _ = draw(2)
    target = np.full(3, 1 / 3)
    (free,) = acc.quadratic_acceptance(mass, A, target)
    (same,) = acc.quadratic_acceptance(mass, A, target, max_distortion=1.0)
    np.testing.assert_array_equal(free.rho, same.rho)
    (loose,) = acc.quadratic_acceptance(
        mass, A, target, max_distortion=worst(free.rho, mass, A) + 1e-9
    )
    assert loose.q @ A == pytest.approx(free.q @ A, abs=1e-8)
    (none,) = acc.quadratic_acceptance(mass, A, target, max_distortion=0.0)
    assert none.rho == pytest.approx(np.ones(6), abs=1e-6)
    with pytest.raises(CounterweightError, match="max_distortion have no meaning"):
        acc.equal_acceptance(mass, A, target, max_distortion=0.5)


def test_leaves_without_rows_stay_out():
    mass, A, _ = draw(3)
    more, table = np.append(mass, 0.0), np.vstack([A, np.full(3, np.nan)])
    (plain,) = acc.quadratic_acceptance(mass, A, np.full(3, 1 / 3), max_distortion=0.1)
    (other,) = acc.quadratic_acceptance(more, table, np.full(3, 1 / 3), max_distortion=0.1)
    assert other.rho[-1] == 0
    np.testing.assert_allclose(other.rho[:-1], plain.rho)


@pytest.mark.parametrize("seed", range(8))
def test_the_answer_is_that_of_a_solver_of_quadratic_programs(seed):
    clarabel, sparse = pytest.importorskip("clarabel"), pytest.importorskip("scipy.sparse")
    L, K, most = [(4, 2), (12, 3), (8, 6), (15, 5)][seed % 4] + (0.05 + 0.1 * (seed // 4),)
    mass, A, rng = draw(seed, L, K)
    target = rng.dirichlet(np.full(K, 3.0))
    (made,) = acc.quadratic_acceptance(mass, A, target, max_distortion=most)
    share = mass[:, None] * A / (mass @ A)
    # Unknowns: q, and for each leaf and group what q has of it too much.
    n, limits = L + L * K, []
    for k in range(K):
        for j in range(L):
            row = np.zeros(n)
            row[:L] = -share[j, k] * A[:, k]
            row[j] += A[j, k]
            row[L + j * K + k] = -1
            limits.append(row)
        row = np.zeros(n)
        row[L + k :: K], row[:L] = 1, -most * A[:, k]
        limits.append(row)
    rows = np.vstack([np.arange(n) < L, *limits, -np.eye(n)])
    right = np.append(1.0, np.zeros(len(rows) - 1))
    square, slope = np.zeros((n, n)), np.zeros(n)
    square[:L, :L], slope[:L] = A @ A.T, -A @ target
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
        setattr(settings, name, 1e-12)
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(len(rows) - 1)]
    program = (sparse.csc_matrix(np.triu(square)), slope, sparse.csc_matrix(rows), right)
    q = np.array(clarabel.DefaultSolver(*program, cones, settings).solve().x[:L])
    assert np.linalg.norm(made.q @ A - target) == pytest.approx(
        np.linalg.norm(q @ A - target), abs=1e-6
    )
