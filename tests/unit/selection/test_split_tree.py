"""Proxy trees: what holds in every run, closed forms, and agreement with the paper's formulas."""

import inspect

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics import groups
from counterweight.numerics.geometry import closest
from counterweight.selection import split_growth
from counterweight.selection.split_game import Design, Leaf, Limits, Mixtures, game
from counterweight.selection.split_tree import OPTIONS, SplitTreeProxy
from counterweight.tables import parquet

ALPHAS = [0.0, 0.05, 0.2, 1.0]


def world(seed, n=800, classes=(4,), features=6):
    """Rows whose groups depend on the features, unequally frequent, each group present."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features)) * 10.0 ** rng.integers(-3, 4, features)
    X[:, -1] = X[:, 0] > 0
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    blocks = []
    for k in classes:
        lean = standard @ rng.normal(size=(features, k)) + rng.normal(size=k)
        group = (lean + rng.gumbel(size=(n, k))).argmax(axis=1)
        group[:k] = np.arange(k)
        blocks.append(np.eye(k)[group])
    return X, np.hstack(blocks)


def revealing(shares, n=2000):
    """Features that are the groups themselves."""
    group = np.repeat(np.arange(len(shares)), (np.array(shares) * n).astype(int))
    Z = np.eye(len(shares))[group]
    return Z.copy(), Z


def floor(r, U, alpha):
    """Distance of U from the distributions within alpha of r, one class, by bisection."""
    low, high = np.maximum(r - alpha, 0), np.minimum(r + alpha, 1)
    below, above = -2.0, 2.0
    for _ in range(100):
        middle = (below + above) / 2
        if np.clip(U + middle, low, high).sum() < 1:
            below = middle
        else:
            above = middle
    return np.linalg.norm(np.clip(U + middle, low, high) - U)


@pytest.mark.parametrize(
    ("seed", "classes", "options"),
    [
        (0, (4,), {}),
        (1, (2,), {"preset": "deep"}),
        (2, (7,), {"preset": "paper"}),
        (3, (5,), {"hull": "cone"}),
        (4, (3,), {"splits": "thresholded", "preset": "deep"}),
        (5, (3, 2), {}),
        (6, (3, 2), {"hull": "cone", "target": [0.6, 0.3, 0.1, 0.5, 0.5]}),
        (7, (3,), {"target": [0.1, 0.1, 0.8], "min_weight_fraction_leaf": 0.05}),
    ],
)
def test_every_tree_keeps_within_alpha_and_comes_closer(seed, classes, options):
    X, Z = world(seed, classes=classes)
    proxy = SplitTreeProxy(alphas=ALPHAS, **options).fit(X, Z, classes=classes)
    r, U, cone = Z.mean(axis=0), proxy.target_, options.get("hull") == "cone"
    least = max(proxy._rule("min_weight_fraction_leaf") * len(X), 1)
    before = np.inf
    for alpha, (setting, weights) in zip(ALPHAS, proxy.leaves(X), strict=True):
        assert setting == f"alpha={alpha:g}"
        mass, A = groups.leaf_table(weights, Z)
        assert groups.disclosivity(mass, A, r) <= alpha + 1e-9
        assert weights.min() >= 0
        assert np.abs(weights.sum(axis=1) - 1).max() < 1e-12
        assert mass.sum() == pytest.approx(1, abs=1e-12)
        assert len(mass) == 1 or mass.min() * len(X) >= least * (1 - 1e-6)
        q, distance = closest(A, U, cone)
        assert distance <= before + 1e-12
        before = distance
        if len(classes) == 1:
            reached = q @ A / q.sum()
            assert np.linalg.norm(reached - U) >= floor(r, U, alpha) - 1e-9
    assert len(proxy.trees_[0]) == 1
    assert len(proxy.trees_[-1]) > 1


@pytest.mark.parametrize("hull", ["convex", "cone"])
def test_the_distance_falls_at_every_split(hull):
    X, Z = world(8)
    proxy = SplitTreeProxy(alphas=[0.05, 0.2], hull=hull).fit(X, Z, classes=[4])
    for leaves in proxy.trees_:
        grown, distances = [split_growth.ROOT], []
        for s in [None, *sorted(split_growth.ancestors(proxy.splits_, leaves))]:
            if s is not None:
                grown.remove(proxy.splits_[s].place)
                grown += [(s, 1), (s, 0)]
            weights = next(split_growth.memberships(proxy.splits_, [grown], X))
            A = groups.leaf_table(weights, Z)[1]
            distances.append(closest(A, proxy.target_, hull == "cone")[1])
        assert len(distances) > 1
        assert set(grown) == set(leaves)
        assert (np.diff(distances) < 0).all()
        assert (np.diff(distances) <= -0.0099 * np.array(distances[:-1])).all()


@pytest.mark.parametrize("shares", [[0.9, 0.1], [0.7, 0.2, 0.1]])
@pytest.mark.parametrize("preset", ["deep", "regularised"])
def test_features_that_reveal_the_groups_reach_the_floor(shares, preset):
    X, Z = revealing(shares)
    alphas = [0.05, 0.1, 0.2, 0.3]
    proxy = SplitTreeProxy(alphas=alphas, preset=preset).fit(X, Z, classes=[len(shares)])
    for alpha, distance in zip(alphas, proxy.distance_, strict=True):
        assert distance == pytest.approx(floor(np.array(shares), proxy.target_, alpha), abs=0.003)
    two_groups = np.sqrt(2) * (0.4 - np.array(alphas))
    if len(shares) == 2:
        assert proxy.distance_ == pytest.approx(two_groups, abs=1e-4)


def test_one_leaf_has_the_starting_imbalance():
    X, Z = revealing([0.7, 0.2, 0.1])
    proxy = SplitTreeProxy(alphas=[0]).fit(X, Z, classes=[3])
    assert proxy.distance_[0] == pytest.approx(
        np.linalg.norm([0.7 - 1 / 3, 0.2 - 1 / 3, 0.1 - 1 / 3])
    )
    assert proxy.describe()[2]["value"] == 1


def test_the_best_response_is_the_paired_regression_of_the_costs():
    X, Z = world(9, n=300)
    rng = np.random.default_rng(9)
    w = rng.random(300)
    design = Design(X, Z, 4, l2=0)
    leaf = Leaf(design, split_growth.ROOT, 0, w)
    leaf.prepare()
    g = rng.normal(size=4)
    cost, root = Z @ g, np.sqrt(w)
    full = np.column_stack([X, np.ones(300)])
    full[:, :-1] = (X - X.mean(axis=0)) / X.std(axis=0)
    # Costs of the two labels, split at will: only their difference counts.
    of_one = rng.normal(size=300)
    predicted = [
        full @ np.linalg.lstsq(full * root[:, None], c * root, rcond=None)[0]
        for c in (of_one, of_one + cost)
    ]
    assert leaf.oracle.scores @ g == pytest.approx(predicted[1] - predicted[0], abs=1e-6)


def test_the_lagrangian_of_the_rows_is_linear_in_the_group_sums():
    X, Z = world(10, n=400)
    rng = np.random.default_rng(10)
    w, h, r, alpha = rng.random(400), rng.random(400), Z.mean(axis=0), 0.07
    leaf = Leaf(Design(X, Z, 4, l2=0), split_growth.ROOT, 0, w)
    limits = Limits(leaf, r, alpha, 4.0)
    N = (w * h) @ Z / leaf.mass
    over, under = Z - r - alpha, r - Z - alpha
    kept = [over[:, r + alpha < 1], under[:, r - alpha > 0]]
    written = [(w * side) @ part / leaf.mass for side in (h, 1 - h) for part in kept]
    inside = (w * h).sum() / leaf.mass
    written += [[4.0 / leaf.mass - inside], [4.0 / leaf.mass - (1 - inside)]]
    assert limits.excess(N) == pytest.approx(np.concatenate(written), abs=1e-12)


def test_the_mixture_is_optimal_and_its_multipliers_prove_it():
    X, Z = world(11)
    leaf = Leaf(Design(X, Z, 4, l2=1e-6), split_growth.ROOT, 0, np.ones(len(X)))
    leaf.prepare()
    r = Z.mean(axis=0)
    limits = Limits(leaf, r, 0.05, 15.0)
    D = 0.25 - r
    game(leaf, limits, D, np.array([0.0, D @ r]), 10)
    programs = Mixtures(leaf, limits)
    for level in (0.0, 0.5 * (D @ r), D @ r, 0.0):
        # Each begins where the one before ended, the last with more hypotheses.
        objective = D - level
        p, multipliers, price = programs.best(objective)
        N = p @ leaf.sums
        assert (p > 0).sum() <= len(limits.bounds) + 1
        assert limits.excess(N).max() <= 1e-7
        assert (multipliers >= -1e-12).all()
        # Strong duality, and no hypothesis of the pool could improve on it.
        assert abs(multipliers @ limits.bounds + price - objective @ N) < 1e-7
        assert (leaf.sums @ (objective - multipliers @ limits.rows)).max() <= price + 1e-7
        leaf.play((objective - multipliers @ limits.rows)[None])


def test_the_closest_point_of_two_leaves_is_on_the_segment():
    A = np.array([[0.9, 0.1, 0.0], [0.1, 0.3, 0.6]])
    U = np.full(3, 1 / 3)
    step = A[1] - A[0]
    t = (U - A[0]) @ step / (step @ step)
    q, distance = closest(A, U)
    assert q == pytest.approx([1 - t, t], abs=1e-12)
    assert distance == pytest.approx(np.linalg.norm(A[0] + t * step - U), abs=1e-12)


@pytest.mark.parametrize("splits", ["randomised", "thresholded"])
def test_a_row_gets_the_same_leaf_among_other_rows_and_from_the_stored_proxy(splits):
    X, Z = world(12)
    proxy = SplitTreeProxy(alphas=ALPHAS, splits=splits).fit(X, Z, classes=[4])
    stored = parquet.model_arrays(parquet.model_table(proxy.to_arrays(), 0, "").to_pydict())
    again = SplitTreeProxy.from_arrays(stored, [f"x{i}" for i in range(X.shape[1])])
    some = np.random.default_rng(0).permutation(len(X))[:7]
    for (_, full), (setting, few) in zip(proxy.leaves(X), again.leaves(X[some]), strict=True):
        assert setting in proxy.settings_
        assert few == pytest.approx(full[some], abs=1e-15)
        if splits == "thresholded":
            assert set(np.unique(full)) <= {0.0, 1.0}
    assert again.describe() == proxy.describe()
    assert again.rules() == proxy.rules()


def test_a_proxy_without_any_split_can_be_stored():
    X, Z = world(13)
    proxy = SplitTreeProxy(alphas=[0]).fit(X, Z, classes=[4])
    stored = parquet.model_arrays(parquet.model_table(proxy.to_arrays(), 0, "").to_pydict())
    [(setting, weights)] = SplitTreeProxy.from_arrays(stored).leaves(X)
    assert setting == "alpha=0"
    assert (weights == 1).all()
    assert weights.shape == (len(X), 1)


def test_units_of_the_features_do_not_matter():
    X, Z = world(14)
    moved = X * np.array([1000.0, 0.5, 3.0, 1.0, 7.0, 2.0]) + 5
    one, other = (SplitTreeProxy(alphas=[0.1]).fit(table, Z, classes=[4]) for table in (X, moved))
    [(_, first)], [(_, second)] = one.leaves(X), other.leaves(moved)
    assert first == pytest.approx(second, abs=1e-6)


@pytest.mark.parametrize("splits", ["randomised", "thresholded"])
def test_the_rules_applied_by_hand_give_the_memberships(splits):
    X, Z = world(15)
    proxy = SplitTreeProxy(alphas=[0.1, 0.3], splits=splits).fit(X, Z, classes=[4])
    for setting, weights in proxy.leaves(X):
        nodes = proxy.rules(setting)
        reach = {0: np.ones(len(X))}
        for node in nodes[1:]:
            above = nodes[node["parent"]]
            says = sum(p * (X @ b + b0 > 0) for p, b, b0 in above["hypotheses"])
            if above["cut"] is not None:
                says = says > above["cut"]
            part = says if node["side"] else 1 - says
            reach[node["node"]] = reach[node["parent"]] * part
            assert node["depth"] == above["depth"] + 1
        for node in nodes:
            assert reach[node["node"]].mean() == pytest.approx(node["mass"], abs=1e-9)
            held = reach[node["node"]] @ Z / reach[node["node"]].sum()
            assert node["shares"] == pytest.approx(held, abs=1e-9)
            if node["leaf"] is not None:
                assert reach[node["node"]] == pytest.approx(weights[:, node["leaf"]], abs=1e-9)
                assert node["terms"] == []
        assert sum(node["leaf"] is not None for node in nodes) == weights.shape[1]


def test_two_fits_are_the_same_also_with_features_that_repeat_each_other():
    X, Z = world(16)
    X = np.column_stack([X, np.ones(len(X)), X[:, 0], 1 - X[:, -1]])
    one, other = (SplitTreeProxy(alphas=[0.1]).fit(X, Z, classes=[4]) for _ in range(2))
    for name, values in one.to_arrays().items():
        assert np.array_equal(values, other.to_arrays()[name], equal_nan=True)


def test_a_target_out_of_reach_is_said():
    X, Z = revealing([0.9, 0.1])
    proxy = SplitTreeProxy(alphas=[0.1, 0.4, 0.5]).fit(X, Z, classes=[2], target=[0.45, 0.55])
    reached = {r["setting"]: r["value"] for r in proxy.describe() if r["metric"] == "reached"}
    assert reached == {"alpha=0.1": 0, "alpha=0.4": 0, "alpha=0.5": 1}
    near = SplitTreeProxy(alphas=[0.1, 0.4]).fit(X, Z, classes=[2], target=[0.45, 0.55])
    assert all(r["value"] == 0 for r in near.describe() if r["metric"] == "reached")
    assert near.distance_[1] == pytest.approx(np.sqrt(2) * 0.05, abs=1e-4)


def test_the_height_bounds_the_tree():
    X, Z = world(17)
    proxy = SplitTreeProxy(alphas=[0.5], max_depth=1).fit(X, Z, classes=[4])
    assert len(proxy.trees_[0]) == 2
    assert len(SplitTreeProxy(alphas=[0.5], max_depth=0).fit(X, Z, classes=[4]).trees_[0]) == 1
    few = SplitTreeProxy(alphas=[0.5], max_leaf_nodes=3).fit(X, Z, classes=[4])
    assert len(few.trees_[0]) <= 3


def test_options_are_the_constructors():
    given = inspect.signature(SplitTreeProxy).parameters
    assert list(given) == list(OPTIONS)
    for name, parameter in given.items():
        default = OPTIONS[name]["default"]
        assert parameter.default == (tuple(default) if name == "alphas" else default)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"alphas": [0.1, 1.2]}, "outside"),
        ({"alphas": []}, "empty"),
        ({"alphas": [0.1, 0.1]}, "twice"),
        ({"alphas": [float("nan")]}, "outside"),
        ({"target": [0.5, 0.6, 0, 0]}, "sum to 1.1"),
        ({"target": [1.5, -0.5, 0, 0]}, "at least 0"),
        ({"target": [0.5, 0.5]}, "2 entries"),
        ({"target": "uniform"}, "no list of numbers"),
        ({"alphas": 0.2}, "give a list of numbers"),
        ({"preset": "depe"}, "preset must be one of paper, deep, regularised"),
        ({"hull": "conic"}, "hull must be one of convex, cone, not 'conic'"),
        ({"splits": "random"}, "must be one of randomised, thresholded"),
        ({"max_depth": -1}, "max_depth must be a whole number at least 0, not -1"),
        ({"max_leaf_nodes": 2.5}, "must be a whole number at least 1"),
        ({"min_weight_fraction_leaf": 0.9}, "at least 0 and at most 0.5"),
        ({"gamma": 1}, "above 0 and below 1"),
        ({"l2": float("nan")}, "must be a number at least 0"),
    ],
)
def test_wrong_options_are_told(change, said):
    X, Z = world(18, n=200)
    with pytest.raises(CounterweightError, match=said):
        SplitTreeProxy(**change).fit(X, Z, classes=[4])


def test_wrong_rows_are_told():
    X, Z = world(19, n=200)
    hole = X.copy()
    hole[3, 1] = np.nan
    without = Z.copy()
    without[:, 1] += without[:, 0]
    without[:, 0] = 0
    twice = Z.copy()
    twice[5] = 1
    proxy = SplitTreeProxy(alphas=[0.1])
    for X_, Z_, classes, said in (
        (hole, Z, [4], "Missing"),
        (X, without, [4], "no training row"),
        (X, twice, [4], "exactly one group"),
        (X, np.ones((200, 1)), [1], "at least two"),
        (X[:100], Z, [4], "100 rows"),
        (X, Z, [5], "5 groups"),
    ):
        with pytest.raises(CounterweightError, match=said):
            proxy.fit(X_, Z_, classes=classes)
    with pytest.raises(CounterweightError, match="is expecting 6 features"):
        next(proxy.fit(X, Z, classes=[4]).leaves(X[:, :3]))
    with pytest.raises(CounterweightError, match="no setting"):
        proxy.rules("alpha=0.7")


@pytest.mark.parametrize(
    ("Z", "classes", "said"),
    [
        (np.full((30, 2), "a"), [2], "must be numbers"),
        (np.eye(2)[np.arange(30) % 2], 2, "must be numbers"),
        (np.eye(2)[np.arange(30) % 2], [], "0 groups"),
    ],
)
def test_wrong_memberships_are_told(Z, classes, said):
    with pytest.raises(CounterweightError, match=said):
        SplitTreeProxy(alphas=[0.1]).fit(np.arange(60.0).reshape(30, 2), Z, classes=classes)
    with pytest.raises(CounterweightError, match="2, 1 rows"):
        groups.memberships([["a", "b"], ["c"]], [["a", "b"], ["c", "d"]])


def test_groups_of_columns_become_memberships():
    race, sex = ["b", "a", "c", "a"], ["f", "m", "f", "f"]
    names, labels = groups.group_names([race, sex], ["race", "sex"])
    assert names == [["a", "b", "c"], ["f", "m"]]
    assert labels == ["race=a", "race=b", "race=c", "sex=f", "sex=m"]
    Z = groups.memberships([race, sex], names)
    assert Z.tolist() == [[0, 1, 0, 1, 0], [1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [1, 0, 0, 1, 0]]
    assert groups.group_names([race], ["race"])[1] == ["a", "b", "c"]
    assert groups.uniform_target([3, 2]).tolist() == [1 / 3] * 3 + [0.5] * 2
    with pytest.raises(CounterweightError, match="1 group"):
        groups.group_names([["a", "a", None]], ["race"])
    with pytest.raises(CounterweightError, match="first: row 1"):
        groups.memberships([["a", "z"]], [["a", "b"]])


def test_leaf_table_is_the_conditional_distribution():
    weights = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 1.0, 0], [0, 1.0, 0]])
    Z = np.eye(2)[[0, 1, 1, 0]]
    mass, A = groups.leaf_table(weights, Z)
    assert mass.tolist() == [0.375, 0.625, 0]
    assert A[0] == pytest.approx([2 / 3, 1 / 3])
    assert A[1] == pytest.approx([0.4, 0.6])
    assert mass @ A == pytest.approx(Z.mean(axis=0))
    assert groups.disclosivity(mass, A, Z.mean(axis=0)) == pytest.approx(1 / 6)


def test_the_smallest_leaf_is_told_in_rows():
    X, Z = world(3, n=200)
    proxy = SplitTreeProxy(alphas=[0.2, 1.0], min_weight_fraction_leaf=0.05).fit(X, Z, classes=[4])
    told = {
        one["setting"]: one["value"]
        for one in proxy.describe()
        if one["metric"] == "smallest_leaf_rows"
    }
    for setting, member in proxy.leaves(X):
        assert told[setting] == pytest.approx(member.sum(axis=0).min())
        assert told[setting] >= 10 - 1e-9
