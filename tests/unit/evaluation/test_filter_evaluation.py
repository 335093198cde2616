"""Evaluation of filters: exact on leaves computed by hand, invariances, the bound."""

import inspect

import numpy as np
import pandas as pd
import pytest
from counterweight.evaluation.filter_evaluation import (
    OPTIONS,
    Leaves,
    _noisy,
    classifier_records,
    distortions,
    drawn_spread,
    evaluate_filter,
    standardised,
    theorem_bound,
)
from counterweight.models.balanced_filter import row_uniforms
from counterweight.numerics.geometry import interpolated, interpolated_rows
from counterweight.numerics.groups import leaf_table, memberships
from counterweight.tables.study_data import StudyData
from records import where
from stage_jobs import run_script

#: Groups a and b on the left and on the right, in training and in test rows.
TRAIN = {("left", "a"): 60, ("left", "b"): 20, ("right", "a"): 10, ("right", "b"): 10}
TEST = {("left", "a"): 24, ("left", "b"): 16, ("right", "a"): 2, ("right", "b"): 8}
RHO = np.array([0.25, 1.0])


class TwoLeaves:
    """Leaf 1 are the rows with x > 0; one leaf at alpha 0."""

    def __init__(self, soft=0.0, plain=False):
        self.soft, self.plain = soft, plain

    def leaves(self, X):
        right = self.soft + (1 - 2 * self.soft) * (X[:, 0] > 0)
        if not self.plain:
            yield "alpha=0", np.ones((len(X), 1))
        yield "" if self.plain else "alpha=0.5", np.column_stack([1 - right, right])


def study(order=None, rename=None, second=False, outcome=False):
    side, group, role = [], [], []
    for name, table in (("train", TRAIN), ("test", TEST)):
        for (leaf, who), count in table.items():
            side += [leaf] * count
            group += [who] * count
            role += [name] * count
    side, group, role = (np.array(column, object) for column in (side, group, role))
    n = len(side)
    order = np.arange(n) if order is None else order
    side, group, role = side[order], group[order], role[order]
    if rename:
        group = np.array([rename[name] for name in group], object)
    x = np.where(side == "right", 1.0, -1.0)
    y = (np.arange(n) % 2).astype(float) if outcome else np.full(n, np.nan)
    key = {"repeat": np.zeros(n, int), "row": np.arange(n)}
    groups = {"group_g": group}
    if second:
        groups["group_h"] = np.where(np.arange(n) % 4 == 0, "p", "q").astype(object)
    hidden = {name: np.where(role == "test", None, values) for name, values in groups.items()}
    return StudyData(
        {"row": np.arange(n), "x": x},
        key | {"role": role} | hidden | {"y_general": np.where(role == "test", np.nan, y)},
        truth=key | groups | {"y_general": y},
    )


def evaluate(data, proxy=None, acceptance=None, predictions=None, **asked):
    acceptance = acceptance or {"alpha=0": np.ones(1), "alpha=0.5": RHO}
    records = evaluate_filter(
        data,
        lambda repeat: proxy or TwoLeaves(),
        {0: acceptance},
        {(0, ""): {}},
        {} if predictions is None else {0: predictions},
        seed=5,
        stream="s",
        **asked,
    )
    assert all(np.isfinite(record["value"]) for record in records)
    keys = [(r["metric"], r["target"], *where(r)) for r in records]
    assert len(set(keys)) == len(keys)
    return {key: record["value"] for key, record in zip(keys, records, strict=True)}


def test_options_agree_with_the_defaults():
    parameters = inspect.signature(evaluate_filter).parameters
    for name, schema in OPTIONS.items():
        assert schema["default"] == parameters[name].default


def test_two_leaves_by_hand():
    found = evaluate(study())
    # Train: base 0.7/0.3; left 80 rows 0.75/0.25, right 20 rows 0.5/0.5; 20 and 20 accepted.
    # Test: base 0.52/0.48; left 40 rows 0.6/0.4, right 10 rows 0.2/0.8; 10 and 10 accepted.
    wanted = {
        ("disclosivity", "train"): 0.2,
        ("disclosivity", "test"): 0.32,
        ("disclosivity_rows", "train"): 20,
        ("disclosivity_rows", "test"): 10,
        ("disclosivity_large", "test"): 0.08,
        ("leaves", "train"): 2,
        ("leaves_empty", "test"): 0,
        ("acceptance_rate", "train"): 0.4,
        ("collected", "train"): 40,
        ("acceptance_rate", "test"): 0.4,
        ("collected", "test"): 20,
        ("imbalance", "train"): np.sqrt(2) * 0.125,
        ("imbalance", "test"): np.sqrt(2) * 0.1,
        ("floor", "train"): 0,
        ("excess_disclosivity", "test"): 0.12,
        ("excess_imbalance", "test"): np.sqrt(2) * -0.025,
    }
    for (metric, target), value in wanted.items():
        assert found[metric, target, "alpha=0.5"] == pytest.approx(value, abs=1e-12)
    for group, share in (("a", 0.625), ("b", 0.375)):
        assert found["group_share", "train", "alpha=0.5", group] == pytest.approx(share)
        base = {"a": 0.7, "b": 0.3}[group]
        assert found["group_gain", "train", "alpha=0.5", group] == pytest.approx(share / base)
    assert found["leaf_share", "train", "alpha=0.5", "0", "a"] == pytest.approx(0.75)
    assert found["leaf_mass", "train", "alpha=0.5", "1"] == pytest.approx(0.2)
    assert found["leaf_acceptance", "train", "alpha=0.5", "0"] == 0.25


def test_large_leaves_are_those_of_enough_rows():
    found = evaluate(study(), large_leaf=20)
    assert found["disclosivity_large", "train", "alpha=0.5"] == pytest.approx(0.2)
    assert evaluate(study(), large_leaf=21)["disclosivity_large", "train", "alpha=0.5"] == (
        pytest.approx(0.05)
    )
    assert ("disclosivity_large", "train", "alpha=0.5") not in evaluate(study(), large_leaf=81)


def test_alpha_zero_leaves_everything_as_it_is():
    found = evaluate(study())
    for target, base in (("train", 0.7), ("test", 0.52)):
        start = np.sqrt(2) * (base - 0.5)
        for metric in ("imbalance", "imbalance_drawn", "floor"):
            assert found[metric, target, "alpha=0"] == pytest.approx(start)
        assert found["acceptance_rate", target, "alpha=0"] == 1
        assert found["disclosivity", target, "alpha=0"] == pytest.approx(0, abs=1e-15)
        assert found["group_gain", target, "alpha=0", "a"] == pytest.approx(1)


def test_soft_leaves_count_rows_by_their_share():
    found = evaluate(study(), TwoLeaves(soft=0.1))
    left = np.array([60 * 0.9 + 10 * 0.1, 20 * 0.9 + 10 * 0.1])
    right = np.array([70, 30]) - left
    worst = max(np.abs(side / side.sum() - [0.7, 0.3]).max() for side in (left, right))
    accepted = left * RHO[0] + right * RHO[1]
    assert found["disclosivity", "train", "alpha=0.5"] == pytest.approx(worst)
    assert found["collected", "train", "alpha=0.5"] == pytest.approx(accepted.sum())
    share = accepted / accepted.sum()
    assert found["imbalance", "train", "alpha=0.5"] == pytest.approx(np.linalg.norm(share - 0.5))


def test_order_of_the_rows_and_names_of_the_groups_do_not_matter():
    random = ("imbalance_drawn",)
    plain = evaluate(study())
    order = np.random.default_rng(0).permutation(150)
    mixed = evaluate(study(order))
    for key, value in plain.items():
        if key[0] not in random:
            assert mixed[key] == pytest.approx(value, abs=1e-12)
    swapped = evaluate(study(rename={"a": "z", "b": "c"}))
    for (metric, target, *place), value in plain.items():
        if metric in random:
            continue
        names = [{"a": "z", "b": "c"}.get(name, name) for name in place]
        assert swapped[metric, target, *names] == pytest.approx(value, abs=1e-12)


def test_shares_sum_to_one_in_each_class_of_groups():
    found = evaluate(study(second=True))
    places = {tuple(place) for metric, _, *place in found if metric == "group_share"}
    assert places == {
        (s, g) for s in ("alpha=0", "alpha=0.5") for g in ("g=a", "g=b", "h=p", "h=q")
    }
    for target in ("train", "test"):
        for block in (("g=a", "g=b"), ("h=p", "h=q")):
            total = sum(found["group_share", target, "alpha=0.5", name] for name in block)
            assert total == pytest.approx(1)
    parts = [
        found["group_share", "train", "alpha=0.5", g] - 0.5 for g in ("g=a", "g=b", "h=p", "h=q")
    ]
    assert found["imbalance", "train", "alpha=0.5"] == pytest.approx(np.linalg.norm(parts))


def test_a_target_other_than_uniform_moves_imbalance_and_floor():
    found = evaluate(study(), target={"a": 0.625, "b": 0.375})
    assert found["imbalance", "train", "alpha=0.5"] == pytest.approx(0, abs=1e-12)
    assert found["floor", "train", "alpha=0"] == pytest.approx(np.sqrt(2) * 0.075)


@pytest.mark.parametrize("eta", [0.0, 0.4, 1.0])
def test_noise_is_that_of_the_closed_form(eta):
    data = study()
    found = evaluate(data, TwoLeaves(plain=True), {f"eta={eta:g}": RHO})
    Z = memberships([data.truth[0]["group_g"]], [["a", "b"]])
    train = data.labels[0]["role"] == "train"
    M = next(TwoLeaves(plain=True).leaves(data.X))[1]
    mass, A = interpolated(*leaf_table(M[train], Z[train]), eta)
    setting = f"eta={eta:g}"
    gap = np.abs(A - Z[train].mean(axis=0)).max()
    assert found["disclosivity", "train", setting] == pytest.approx(gap, abs=1e-12)
    assert found["acceptance_rate", "train", setting] == pytest.approx(RHO @ mass)
    p = interpolated_rows(M, eta) @ RHO
    share = p[~train] @ Z[~train] / p[~train].sum()
    assert found["imbalance", "test", setting] == pytest.approx(np.linalg.norm(share - 0.5))


def test_the_floor_is_never_above_the_imbalance_of_training_rows():
    rng = np.random.default_rng(0)
    for _ in range(20):
        rho = rng.random(2)
        rho /= rho.max()
        for proxy, acceptance in (
            (TwoLeaves(rng.random() / 2), {"alpha=0": np.ones(1), "alpha=0.5": rho}),
            (TwoLeaves(plain=True), {"eta=0": rho, "eta=0.3": rho, "eta=1": rho}),
        ):
            found = evaluate(study(), proxy, acceptance)
            for setting in acceptance:
                floor = found["floor", "train", setting]
                assert floor <= found["imbalance", "train", setting] + 1e-12


def test_a_leaf_without_test_rows_is_counted_and_discloses_nothing():
    data = study()
    data.X[data.labels[0]["role"] == "test"] = -1.0
    found = evaluate(data)
    assert found["leaves_empty", "test", "alpha=0.5"] == 1
    assert found["disclosivity", "test", "alpha=0.5"] == pytest.approx(0, abs=1e-15)
    found = evaluate(data, acceptance={"alpha=0.5": np.array([0.0, 1.0])})
    assert found["nothing_accepted", "test", "alpha=0.5"] == 1
    assert ("imbalance", "test", "alpha=0.5") not in found


def test_expected_shares_are_the_mean_of_many_draws():
    data = study()
    Z = memberships([data.truth[0]["group_g"]], [["a", "b"]])
    train = data.labels[0]["role"] == "train"
    p = np.where(data.X[:, 0] > 0, 1.0, 0.25)[train]
    rng = np.random.default_rng(1)
    draws = rng.random((20000, train.sum())) < p
    accepted = draws @ Z[train]
    pooled = accepted.sum(axis=0) / accepted.sum()
    found = evaluate(data)
    assert found["group_share", "train", "alpha=0.5", "a"] == pytest.approx(pooled[0], abs=0.003)
    assert found["collected", "train", "alpha=0.5"] == pytest.approx(
        draws.sum(axis=1).mean(), abs=0.1
    )


def test_the_spread_of_a_draw_is_that_of_a_simulation():
    rng = np.random.default_rng(2)
    n, K = 3000, 3
    Z = np.eye(K)[rng.choice(K, n, p=[0.7, 0.2, 0.1])]
    p = np.where(rng.random(n) < 0.5, 0.2, 0.9) * np.where(Z[:, 2] > 0, 1.0, 0.5)
    share, U = p @ Z / p.sum(), np.full(K, 1 / K)
    taken = rng.random((4000, n)) < p
    shares = taken @ Z / taken.sum(axis=1, keepdims=True)
    simulated = np.linalg.norm(shares - U, axis=1)
    assert drawn_spread(p, Z, share, U) == pytest.approx(simulated.std(), rel=0.05)
    assert drawn_spread(np.ones(n), Z, Z.mean(axis=0), U) == 0
    assert np.isnan(drawn_spread(p, Z, U, U))


def test_the_drawn_sample_is_that_of_the_shared_row_uniforms():
    data = study()
    Z = memberships([data.truth[0]["group_g"]], [["a", "b"]])
    train = data.labels[0]["role"] == "train"
    drawn = train & (row_uniforms(5, "s", 0, 150) < np.where(data.X[:, 0] > 0, 1.0, 0.25))
    wanted = np.linalg.norm(Z[drawn].mean(axis=0) - 0.5)
    assert evaluate(data)["imbalance_drawn", "train", "alpha=0.5"] == pytest.approx(wanted)


FACTS = {"leaves": 8, "features": 40, "groups": 5}


def test_the_bound_shrinks_like_one_over_the_root_of_the_rows():
    near, far = (theorem_bound(0.2, 0.4, smallest=n, **FACTS) for n in (400, 40000))
    assert near[2] / far[2] == pytest.approx(10)
    assert (near[0] - 0.2) / (far[0] - 0.2) == pytest.approx(10)
    assert (near[1] - 0.4) / (far[1] - 0.4) == pytest.approx(10)


def test_the_bound_solves_the_condition_on_the_smallest_leaf():
    alpha, beta, eps = theorem_bound(0.2, 0.4, smallest=500, delta=0.01, gamma=0.2, **FACTS)
    s = (np.log(0.4) - np.log(np.sqrt(2))) / np.log(0.8)
    s = max(s, 7)
    needed = np.log(8 * 41 * 7 * 5 * s / 0.01) / (2 * eps**2)
    assert needed == pytest.approx(500)
    assert alpha == pytest.approx(0.2 + 2 * eps)
    assert beta == pytest.approx(0.4 + 5 * eps * np.sqrt(s))


def test_the_bound_stays_finite_and_grows_with_what_is_harder():
    base = theorem_bound(0.2, 0.4, smallest=500, **FACTS)
    assert all(np.isfinite(theorem_bound(0.2, 0.0, smallest=500, **FACTS)))
    assert theorem_bound(0.2, 5.0, smallest=500, leaves=1, features=1, groups=2)[2] > 0
    for harder in ({"groups": 12}, {"leaves": 80}, {"features": 400}, {"delta": 0.001}):
        assert theorem_bound(0.2, 0.4, smallest=500, **FACTS | harder)[1] > base[1]


def test_disclosivity_is_within_the_bound_for_a_proxy_fixed_in_advance():
    # Leaves of known shares: in nearly all samples the measured gap is within eps of the truth.
    rng, shares, mass = np.random.default_rng(3), np.array([[0.8, 0.2], [0.3, 0.7]]), [0.6, 0.4]
    base = mass @ shares
    truth = np.abs(shares - base).max()
    for _ in range(200):
        leaf = rng.choice(2, 1000, p=mass)
        Z = np.eye(2)[(rng.random(1000) < shares[leaf, 1]).astype(int)]
        M = np.eye(2)[leaf]
        leaves = Leaves(M.sum(axis=0), M.T @ Z, Z)
        bound, _, _ = theorem_bound(
            leaves.disclosivity()[0],
            0.1,
            smallest=leaves.rows.min(),
            leaves=2,
            features=1,
            groups=2,
        )
        assert truth <= bound


def test_accuracies_by_hand():
    Z = memberships([np.array(["a", "a", "b", "b", "b"], object)], [["a", "b"]])
    Z = np.column_stack([Z, np.zeros(5)])
    predictions = {
        "row": np.array([9, 8, 7, 6, 5, 5, 6, 7, 8, 9]),
        "p": np.array([0.9, 0.1, 0.9, 0.2, 0.7] * 2),
        "setting": np.array(["everyone"] * 5 + ["alpha=0"] * 5, object),
    }
    outcome = np.array([1.0, 0.0, 1.0, 1.0, np.nan])
    arrays = {("rows_accepted", "alpha=0"): 7, ("no_classifier", "alpha=1"): 1.0}
    records = classifier_records(predictions, arrays, np.arange(5, 10), outcome, Z, ["a", "b", "c"])
    found = {(r["metric"], *where(r)): r["value"] for r in records}
    # Rows 5 to 8: everyone predicts .7 .2 .9 .1 (right, right, right, wrong).
    assert found["accuracy", "everyone"] == 0.75
    assert found["accuracy_group", "everyone", "a"] == 1.0
    assert found["accuracy_group", "everyone", "b"] == found["accuracy_worst", "everyone"] == 0.5
    # alpha=0 predicts .9 .1 .9 .2 for the rows 5 to 8.
    assert found["accuracy", "alpha=0"] == 0.75
    assert (
        found["groups_untested", "alpha=0"] == 1 and ("accuracy_group", "alpha=0", "c") not in found
    )
    assert found["rows_accepted", "alpha=0"] == 7 and found["no_classifier", "alpha=1"] == 1
    assert {r["target"] for r in records if r["metric"].startswith("acc")} == {"test"}


@pytest.mark.parametrize("outcome", [True, False])
def test_the_scripts_hand_each_other_what_they_need(tmp_path, outcome):
    rng = np.random.default_rng(0)
    n = 900
    x = rng.normal(size=(n, 2))
    people = pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32"),
            "x0": x[:, 0],
            "x1": x[:, 1],
            "kind": np.where(x[:, 0] + rng.normal(size=n) > 1, "few", "many"),
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "y": (x[:, 1] > 0).astype(int),
        }
    )
    people.loc[:9, "kind"] = None
    at = {
        name: tmp_path / f"{name}.parquet"
        for name in (
            "table",
            "features",
            "labels",
            "truth",
            "metrics",
            "proxy",
            "leaves",
            "weights",
            "model",
            "predictions",
            "records",
        )
    }
    people.to_parquet(at["table"])

    def some(*names, **renamed):
        return {name: at[name] for name in names} | {k: at[v] for k, v in renamed.items()}

    def run(stage, inputs, outputs, uses, **given):
        given |= {"seed": 1, "stream": "s", "target": None}
        names = {"study": "s", "method": "m", "selector": "tree", "weighting": "quadratic"}
        place, log = f"tasks.filters:{stage}", tmp_path / "log"
        run_script(stage, place, given, inputs, outputs, log, uses, **names)

    rule = {"name": "equals", "options": {"column": "y", "value": 1}}
    rules = {
        "features": {"name": "one_hot", "options": {"drop": ["kind", "sex"]}},
        "outcome": rule if outcome else {"name": "no_outcome", "options": {}},
        "labeling": {"name": "sensitive", "options": {"group": ["kind", "sex"], "missing": "drop"}},
    }
    run(
        "label",
        some("table"),
        some("features", "labels", "truth", "metrics"),
        [(part, rules[part]["name"]) for part in rules],
        **rules,
        repeats=2,
        test_share=1 / 3,
        certified=None,
    )
    labels = pd.read_parquet(at["labels"])
    assert labels["group_kind"].isna().equals(labels["role"] == "test")
    sizes = pd.read_parquet(at["metrics"]).query("metric == 'rows_dropped'")["value"]
    assert sizes.tolist() == [10, 10]
    selector = ("selector", "tree_proxy")
    run(
        "select",
        some("features", "labels"),
        some("metrics", table="leaves", model="proxy"),
        [selector],
        selector={"selector": "tree_proxy", "options": {"max_depth": 3}},
        repeats=2,
    )
    run(
        "weigh",
        some("leaves"),
        some("metrics", table="weights"),
        [("weighting", "quadratic")],
        weighting={"weighting": "quadratic", "options": {"etas": [0.0, 0.5, 1.0]}},
    )
    run(
        "train",
        some("features", "labels", "proxy", "weights"),
        some("model", "predictions"),
        [("model", "balanced_filter"), selector],
        method={"model": "balanced_filter", "options": {"settings": [0, 0.5]}},
        selector="tree_proxy",
        repeats=2,
    )
    run(
        "evaluate",
        some("features", "labels", "truth", "proxy", "weights", "model", "predictions"),
        {"metrics": at["records"]},
        [("protocol", "filtering"), selector],
        protocol={"name": "filtering", "options": {}},
        selector="tree_proxy",
    )
    records = pd.read_parquet(at["records"])
    settings = set(records.query("metric == 'accuracy'")["setting"])
    assert settings == ({"everyone", "eta=0", "eta=0.5"} if outcome else set())
    expected = pd.read_parquet(at["weights"])
    found = records.query("metric == 'acceptance_rate' and target == 'train'")
    rates = (expected["mass"] * expected["acceptance"]).groupby(
        [expected["repeat"], expected["setting"]]
    )
    np.testing.assert_allclose(
        found.set_index(["repeat", "setting"])["value"].sort_index(), rates.sum().sort_index()
    )


def test_a_probability_of_one_half_says_no_and_errors_are_those_of_shares():
    Z = np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]])
    predictions = {"row": np.arange(4), "p": np.array([0.5, 0.51, 0.5, 0.2])}
    predictions["setting"] = np.full(4, "everyone", object)
    outcome = np.array([1.0, 1.0, 0.0, 0.0])
    made = classifier_records(predictions, {}, np.arange(4), outcome, Z, ["a", "b", "c"])
    found = {(r["metric"], *where(r)): r for r in made}
    assert found["accuracy", "everyone"]["standard_error"] == pytest.approx(np.sqrt(3) / 8)
    own = found["accuracy_group", "everyone", "a"]
    assert (own["value"], own["rows"]) == (0.5, 2)
    assert own["standard_error"] == pytest.approx(np.sqrt(1 / 8))
    assert found["accuracy_worst", "everyone"]["value"] == 0.5
    assert found["groups_untested", "everyone"]["value"] == 1
    whole = classifier_records(predictions, {}, np.arange(4), outcome, Z[:, :2], ["a", "b"])
    assert not any(r["metric"] == "groups_untested" for r in whole)
    assert classifier_records(None, {}, np.arange(4), outcome, Z, ["a", "b", "c"]) == []


def test_a_leaf_of_exactly_so_many_rows_is_large_and_an_empty_one_tells_nothing():
    Z = np.repeat(np.eye(2), [60, 40], axis=0)
    leaves = Leaves(np.array([70.0, 30, 0]), np.array([[50.0, 20], [10, 20], [0, 0]]), Z)
    assert leaves.disclosivity() == pytest.approx((0.6 - 1 / 3, 30))
    assert leaves.disclosivity(30) == pytest.approx((0.6 - 1 / 3, 30))
    assert leaves.disclosivity(31) == pytest.approx((5 / 7 - 0.6, 70))
    assert leaves.disclosivity(71) == (None, None)
    np.testing.assert_array_equal(leaves.A[2], leaves.r)
    assert leaves.accepted(np.zeros(3)) == (0.0, None)
    total, share = leaves.accepted(np.array([0.1, 1, 1]))
    assert total == 37
    np.testing.assert_allclose(share, [15 / 37, 22 / 37])


def test_leaves_under_noise_are_those_of_the_rows_under_noise():
    rng = np.random.default_rng(0)
    M, Z = rng.dirichlet(np.ones(4), 50), np.eye(3)[rng.integers(0, 3, 50)]
    noisy = interpolated_rows(M, 0.3)
    rows, counts = _noisy(M.sum(axis=0), M.T @ Z, 0.3, Z)
    np.testing.assert_allclose(rows, noisy.sum(axis=0))
    np.testing.assert_allclose(counts, noisy.T @ Z)


def test_distortions_are_gaps_of_means_in_standard_deviations():
    X = np.array([[0.0, 7, 1], [2, 7, 0], [4, 7, 0], [6, 7, 1]])
    Z, p = np.array([[1.0, 0], [1, 0], [0, 1], [0, 1]]), np.array([1.0, 0, 0.25, 0.75])
    standard = standardised(X)
    np.testing.assert_allclose(standard[:, 0], (X[:, 0] - 3) / np.sqrt(5))
    assert standard.shape == (4, 2), "the flat one is left out"
    # Group 1: means 1 and 1/2 become 0 and 1; group 2: 5 and 1/2 become 5.5 and 3/4.
    np.testing.assert_allclose(distortions(standard, Z, p), [1.0, 0.5])
    assert np.isnan(distortions(standard, Z, p * [0, 1, 1, 1])[0])


def test_the_bound_is_the_printed_one_at_its_ends():
    alpha, beta, eps = theorem_bound(0.1, 0.2, smallest=50, leaves=1, features=3, groups=4)
    s = np.log(0.2 / np.sqrt(2)) / np.log(0.9)
    assert pytest.approx(np.log(8 * 4 * 4 * s / 0.05) / (2 * eps**2)) == 50
    assert (alpha, beta) == pytest.approx((0.1 + 2 * eps, 0.2 + 4 * eps * np.sqrt(s)))
    _, _, eps = theorem_bound(0.1, 1.4, smallest=50, leaves=6, features=3, groups=4)
    assert pytest.approx(np.log(8 * (4 * 5) * 4 * 5 / 0.05) / (2 * eps**2)) == 50
    _, _, eps = theorem_bound(0.1, 1.4, smallest=50, leaves=2, features=3, groups=4)
    assert pytest.approx(np.log(8 * 4 * 4 * 1 / 0.05) / (2 * eps**2)) == 50


def test_training_and_test_rows_are_told_apart():
    found = evaluate(study())
    for metric in ("imbalance", "disclosivity"):
        told = [found[metric, of, "alpha=0.5"] for of in ("train", "test")]
        assert found["excess_" + metric, "test", "alpha=0.5"] == pytest.approx(told[1] - told[0])
    assert ("leaf_mass", "train", "alpha=0.5", "0") in found
    assert not any(key[:2] == ("leaf_mass", "test") for key in found)
