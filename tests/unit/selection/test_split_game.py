"""Classes of hypotheses of splits, and Algorithm 3 as printed beside the solver here."""

import numpy as np
import pytest
from counterweight.numerics import groups
from counterweight.selection.split_game import (
    Design,
    Leaf,
    Limits,
    Mixtures,
    as_printed,
    cuts_of,
    game,
    proposals,
    repaired,
)
from counterweight.selection.split_growth import ROOT
from counterweight.selection.split_tree import SplitTreeProxy
from counterweight.tables import parquet

CLASSES = ("linear", "stumps", "trees")


def world(seed, n=600, groups_=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)) * [1.0, 30.0], rng.integers(0, 4, n)])
    lean = X / X.std(axis=0) @ rng.normal(size=(3, groups_)) + np.arange(groups_)
    return X, np.eye(groups_)[(lean + rng.gumbel(size=(n, groups_))).argmax(axis=1)]


def leaf_of(X, Z, hypotheses="linear", weight=None):
    design = Design(X, Z, Z.shape[1], l2=1e-6, hypotheses=hypotheses)
    leaf = Leaf(design, ROOT, 0, np.ones(len(X)) if weight is None else weight)
    leaf.prepare()
    return leaf


def test_no_stump_is_worth_more_than_the_answer():
    X, Z = world(0)
    rng = np.random.default_rng(0)
    w = rng.random(len(X))
    oracle = leaf_of(X, Z, "stumps", w).oracle
    cuts = cuts_of(X)
    every = [
        side for f, own in enumerate(cuts) for c in own for side in (X[:, f] > c, X[:, f] <= c)
    ]
    for g in rng.normal(size=(20, 3)):
        worth = w * (Z @ g)
        says = oracle.says(g[None])[:, 0]
        assert worth @ says == pytest.approx(max(worth @ side for side in every), abs=1e-9)


def test_cuts_lie_between_values_and_are_few():
    X = np.column_stack([np.tile([0.0, 1.0, 5.0], 40), np.arange(120.0), np.ones(120)])
    few, many, none = cuts_of(X)
    assert few.tolist() == [0.5, 3.0] and len(none) == 0
    assert 10 <= len(many) <= 16 and not np.isin(many, X[:, 1]).any()


@pytest.mark.parametrize("hypotheses", CLASSES)
def test_paths_say_what_the_hypothesis_says(hypotheses):
    X, Z = world(1)
    directions = np.random.default_rng(1).normal(size=(12, 3)) - 0.2
    oracle = leaf_of(X, Z, hypotheses).oracle
    says = oracle.says(directions)
    for told, paths in zip(says.T, oracle.paths(directions), strict=True):
        on = np.array([(X @ b.T + b0 > 0).all(axis=1) for b, b0 in paths])
        assert on.sum(axis=0).max() <= 1
        assert np.array_equal(on.any(axis=0), told)
    assert 0 < says.mean() < 1


@pytest.mark.parametrize("hypotheses", CLASSES)
@pytest.mark.parametrize("splits", ["randomised", "thresholded"])
def test_trees_of_every_class_keep_alpha_and_are_stored_whole(hypotheses, splits):
    X, Z = world(2)
    options = {"alphas": [0.0, 0.1, 0.3], "hypotheses": hypotheses, "splits": splits}
    proxy = SplitTreeProxy(**options).fit(X, Z, classes=[3])
    stored = parquet.model_arrays(parquet.model_table(proxy.to_arrays(), 0, "").to_pydict())
    again = SplitTreeProxy.from_arrays(stored)
    some = np.arange(17) * 5
    for alpha, (_, member), (_, few) in zip(
        proxy.alphas, proxy.leaves(X), again.leaves(X[some]), strict=True
    ):
        mass, A = groups.leaf_table(member, Z)
        assert groups.disclosivity(mass, A, Z.mean(axis=0)) <= alpha + 1e-9
        assert np.abs(member.sum(axis=1) - 1).max() < 1e-12 and member.min() >= 0
        assert few == pytest.approx(member[some], abs=1e-15)
    assert len(proxy.trees_[-1]) > 1
    assert again.rules() == proxy.rules() and again.describe() == proxy.describe()


def test_groups_that_no_half_space_tells_apart_need_trees():
    rng = np.random.default_rng(3)
    X = rng.choice([-1.0, 1.0], size=(1500, 2)) + rng.normal(0, 0.01, size=(1500, 2))
    rare = (X[:, 0] * X[:, 1] > 0) & (rng.random(1500) < 0.6)
    Z = np.column_stack([~rare, rare]).astype(float)
    left = {
        name: SplitTreeProxy(alphas=[0.25], hypotheses=name, max_depth=1).fit(X, Z, classes=[2])
        for name in CLASSES
    }
    reached = {name: proxy.distance_[0] for name, proxy in left.items()}
    assert reached["trees"] < 0.1 * reached["linear"]
    assert reached["trees"] < 0.1 * reached["stumps"]


@pytest.fixture(scope="module")
def small():
    X, Z = world(4, n=400)
    leaf, r = leaf_of(X, Z), Z.mean(axis=0)
    return leaf, r, 1 / 3 - r


def test_the_printed_game_comes_within_the_printed_limits(small):
    """Theorem 1: program (3) has a feasible point, so the answer is nearly feasible."""
    leaf, r, D = small
    beyond = []
    for rounds in (5, 50, 2000):
        (p,) = as_printed(leaf, r, 0.02, D, np.array([D @ r]), rounds, 1e-3)
        N = p @ leaf.sums
        assert p.sum() == pytest.approx(1) and p.min() >= 0
        own = N - r * N.sum(), leaf.shares - N - r * (1 - N.sum())
        beyond.append(max(np.abs(one).max() for one in own) - 0.02)
    assert beyond[0] > beyond[2] and beyond[2] < 0.005


def test_the_repair_keeps_alpha_and_changes_nothing_that_does(small):
    leaf, r, D = small
    limits = Limits(leaf, r, 0.02, 4.0)
    (p,) = as_printed(leaf, r, 0.02, D, np.array([D @ r]), 50, 1e-3)
    assert limits.violation(p @ leaf.sums) > 0
    again = repaired(leaf, limits, p.copy())
    assert limits.excess(again @ leaf.sums).max() <= 1e-12
    assert again.sum() == pytest.approx(1) and again.min() >= 0
    assert limits.violation(again @ leaf.sums) <= 1e-9
    assert repaired(leaf, limits, again) is again


def test_the_linear_program_gains_at_least_what_the_printed_game_does(small):
    leaf, r, D = small
    limits = Limits(leaf, r, 0.05, 4.0)
    (p,) = as_printed(leaf, r, 0.05, D, np.array([D @ r]), 300, 1e-3)
    objective = D - D @ r
    best, _, _ = Mixtures(leaf, limits).best(objective)
    printed = repaired(leaf, limits, p.copy())
    assert best @ leaf.sums @ objective >= printed @ leaf.sums @ objective - 1e-9


def test_trees_by_algorithm_3_as_printed_keep_alpha_after_the_repair():
    X, Z = world(5)
    proxy = SplitTreeProxy(alphas=[0.05, 0.2], solver="printed", rounds=100).fit(X, Z, classes=[3])
    for alpha, (_, member) in zip(proxy.alphas, proxy.leaves(X), strict=True):
        mass, A = groups.leaf_table(member, Z)
        assert groups.disclosivity(mass, A, Z.mean(axis=0)) <= alpha + 1e-9
    told = {r["setting"]: r["value"] for r in proxy.describe() if r["metric"] == "beyond_budget"}
    assert told and min(told.values()) >= 0 and len(proxy.trees_[-1]) > 1
    stored = parquet.model_arrays(parquet.model_table(proxy.to_arrays(), 0, "").to_pydict())
    assert SplitTreeProxy.from_arrays(stored).describe() == proxy.describe()


def test_limits_are_those_of_both_children_and_their_sizes():
    X, Z = world(3)
    leaf = leaf_of(X, Z)
    r, alpha, rng = leaf.shares, 0.12, np.random.default_rng(0)
    limits = Limits(leaf, r, alpha, 60.0)
    for _ in range(300):
        inside = rng.uniform(0, 1)
        N = leaf.shares * rng.uniform(0.4, 1.6, len(r)) * inside
        N *= min(1.0, (leaf.shares / N).min())
        inside = N.sum()
        shares = np.array([N / inside, (leaf.shares - N) / (1 - inside)])
        far, small = np.abs(shares - r).max(), min(inside, 1 - inside) * leaf.mass
        assert (limits.excess(N) <= 0).all() == (far <= alpha and small >= 60)
        assert limits.violation(N) == pytest.approx(max(far - alpha, 0))
        share = limits.share(N)
        assert (share > 1) == (limits.excess(N) <= 0).all()
        if share <= 1:
            mixed = limits.excess(share * N + (1 - share) * leaf.shares / 2)
            assert mixed.max() == pytest.approx(0, abs=1e-12)
    assert limits.violation(0 * r) == pytest.approx(0) == limits.violation(leaf.shares)
    tight = Limits(leaf, r, 0.0, 1.0)
    assert tight.share(leaf.shares * [0.9, 0.5, 0.5]) is None


def test_limits_that_never_bind_are_left_out_and_sizes_are_halves_at_most():
    Z = np.repeat(np.eye(2), [70, 30], axis=0)
    leaf = leaf_of(np.arange(100.0)[:, None], Z)
    # .7 + .3 is 1 and .3 - .3 is 0: only one end of each share can be passed.
    assert len(Limits(leaf, leaf.shares, 0.3, 1.0).bounds) == 2 * 2 + 2
    assert Limits(leaf, leaf.shares, 0.3, 25.0).bounds[-2:].tolist() == [-0.25, 0.75]
    assert Limits(leaf, leaf.shares, 0.3, 80.0).bounds[-2:].tolist() == [-0.5, 0.5]


def test_the_first_rounds_of_the_game_by_hand():
    X, Z = world(4)
    leaf = leaf_of(X, Z)
    limits, D = Limits(leaf, leaf.shares, 0.05, 1.0), np.full(3, 1 / 3) - leaf.shares
    levels = np.array([leaf.shares @ D, 0.02])
    game(leaf, limits, D, levels, 3)
    first = D - levels[:, None]
    np.testing.assert_allclose(leaf.directions[2:4], first)
    step = 8 * np.linalg.norm(D)
    prices = np.maximum(step * (leaf.sums[2:4] @ limits.rows.T - limits.bounds), 0)
    np.testing.assert_allclose(leaf.directions[4:6], first - prices @ limits.rows)
    excess = leaf.sums[4:6] @ limits.rows.T - limits.bounds
    prices = np.maximum(prices + step / np.sqrt(2) * excess, 0)
    np.testing.assert_allclose(leaf.directions[6:8], first - prices @ limits.rows)
    assert len(leaf.directions) == 8
    for direction, sums in zip(leaf.directions[2:], leaf.sums[2:], strict=True):
        says = leaf.oracle.says(direction[None])[:, 0]
        np.testing.assert_allclose(sums, Z[says].sum(axis=0) / len(Z))
    free = leaf_of(X, Z)
    game(free, Limits(free, free.shares, 1.0, 1.0), D, levels[:1], 8)
    assert len(free.sums) == 3, "without limits the first answer is the last"


def test_a_leaf_forgets_the_oldest_of_its_pool_but_not_the_constants():
    leaf = leaf_of(*world(5))
    leaf.play(np.eye(3))
    leaf.play(-np.eye(3))
    kept, sums = leaf.directions, leaf.sums
    leaf.trim(8)
    assert leaf.directions is kept
    leaf.trim(7)
    np.testing.assert_array_equal(leaf.directions, np.vstack([kept[:2], kept[3:]]))
    np.testing.assert_array_equal(leaf.sums, np.vstack([sums[:2], sums[3:]]))
    says = leaf.answers([0, 1, 2])
    assert says[:, 0].all() and not says[:, 1].any()
    np.testing.assert_array_equal(says[:, 2], leaf.oracle.says(kept[3:4])[:, 0])


def test_levels_lead_from_the_mean_to_what_the_regression_predicts():
    X, Z = world(6)
    leaf = leaf_of(X, Z)
    D = np.full(3, 1 / 3) - leaf.shares
    limits = Limits(leaf, leaf.shares, 1.0, 1.0)
    options = {"thresholds": 4, "rounds": 1, "epsilon": 1e-4}
    found = proposals(leaf, limits, D, **options)
    middle, top = leaf.shares @ D, np.quantile(leaf.oracle.values(D), 0.995)
    wanted = D - (middle + (top - middle) * np.arange(4) / 4)[:, None]
    np.testing.assert_allclose(leaf.directions[2:6], wanted)
    for p, objective in zip(found, wanted, strict=True):
        assert p @ leaf.sums @ objective == pytest.approx((leaf.sums @ objective).max())


def test_stumps_see_the_mean_price_of_each_side():
    X, Z = world(7, n=200)
    leaf = leaf_of(X, Z, "stumps")
    price = np.array([1.0, -0.5, 0.2])
    sides = []
    for feature, cuts in enumerate(cuts_of(X)):
        above = X[:, [feature]] > cuts
        sides += [(Z[one] @ price).mean() for one in above.T]
    below = [
        (Z[X[:, feature] <= cut] @ price).mean()
        for feature, cuts in enumerate(cuts_of(X))
        for cut in cuts
    ]
    np.testing.assert_allclose(leaf.oracle.values(price[None])[:, 0], sides + below)


def test_a_mixture_is_of_one_hypothesis_where_that_keeps_to_the_limits():
    X, Z = world(8)
    leaf = leaf_of(X, Z)
    leaf.play(np.vstack([np.eye(3), -np.eye(3)]))
    loose = Mixtures(leaf, Limits(leaf, leaf.shares, 1.0, 1.0))
    objective = np.array([1.0, -1, 0.3])
    p, prices, worth = loose.best(objective)
    best = (leaf.sums @ objective).argmax()
    assert p[best] == 1 == p.sum() and not prices.any()
    assert worth == pytest.approx((leaf.sums @ objective).max())
    limits = Limits(leaf, leaf.shares, 0.03, 1.0)
    p, prices, worth = Mixtures(leaf, limits).best(objective)
    assert p.min() >= 0 and p.sum() == pytest.approx(1)
    assert limits.excess(p @ leaf.sums).max() <= 1e-9 and prices.min() >= -1e-12
    # Duality: the gain is the worth and what the limits cost.
    assert p @ leaf.sums @ objective == pytest.approx(worth + prices @ limits.bounds)


def test_neighbours_among_floats_have_no_cut_between_them():
    up = np.nextafter(1.0, 2)
    below, above = (cuts_of(np.array([[one], [other]])) for one, other in ((1.0, up), (up, 3.0)))
    assert len(below[0]) == 0 and len(above[0]) == 1
    assert len(cuts_of(np.array([[up], [np.nextafter(up, 2)]]))[0]) == 0
