"""Rules without training under constraints: thresholds by group, tilts, what is nearby."""

import itertools

import numpy as np
import pytest
from counterweight.models.constraints.cuts import Rates, repaired
from counterweight.models.constraints.known_rules import (
    WAY,
    KnownRule,
    _spread,
    known_rules,
    logistic,
    named_groups,
    nearby,
    shifted_value,
)
from counterweight.models.constraints.newton import DistinctRows
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates import compile as compile_rates
from scipy import sparse
from scipy.special import expit

RATIO = ["coverage(men) <= coverage(women) / kappa"]


def brute(f, masks, costs):
    """Least objective over all pairs of thresholds."""
    best = np.inf
    edges = [np.append(np.sort(f[mask]) - 1e-9, np.inf) for mask in masks]
    for pair in itertools.product(*edges):
        p = np.zeros(len(f))
        for mask, threshold in zip(masks, pair, strict=True):
            p[mask] = f[mask] > threshold
        values = costs.values(p)
        if (values[1:] <= 1e-12).all():
            best = min(best, values[0])
    return best


@pytest.mark.parametrize("kappa", [0.7, 1.0, 2.0])
def test_known_rules_are_the_best_thresholds_of_all(kappa):
    rng = np.random.default_rng(3)
    n = 60
    men = rng.random(n) < 0.5
    X = np.column_stack([rng.normal(size=(n, 2)), men])
    y = (X[:, 0] + 0.5 * men + rng.normal(size=n) > 0.3).astype(int)
    data = DataSets(X, y, members={"men": men, "women": ~men})
    made = compile_rates("error(labeled)", RATIO, data, {"kappa": kappa})
    rows = DistinctRows(X, merge=False)
    costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
    groups, tilts = named_groups(rows, data.members, RATIO)
    assert len(groups) == 2 and not tilts
    w = np.array([1.0, 0.3, 0.2, -0.4])
    found = {rule.name: rule for rule in known_rules(rows, w, costs, groups)}
    f = rows.scores(w)
    assert found["by group"].value == pytest.approx(brute(f, [men, ~men], costs), abs=1e-12)
    if "shifted" in found:
        assert found["shifted"].value == pytest.approx(brute(f, [men | ~men], costs), abs=1e-12)
    for rule in found.values():
        values = costs.values(rows.scores(rule.w) > 0)
        assert values[0] == pytest.approx(rule.value) and (values[1:] <= 1e-12).all()


@pytest.mark.parametrize(("rare", "kappa"), [(0.5, 0.8), (0.5, 1.0), (0.9, 0.7)])
def test_thresholds_of_three_groups_are_the_best_of_all(rare, kappa):
    rng = np.random.default_rng(7)
    n = 54
    part = np.repeat(np.arange(3), n // 3)
    f = rng.normal(size=n) + 0.5 * part
    y = (f + rng.logistic(size=n) > np.quantile(f, rare)).astype(int)
    masks = [part == k for k in range(3)]
    data = DataSets(f[:, None], y, members=dict(zip("abc", masks, strict=True)))
    made = compile_rates("error(labeled)", ["parity(a, b, c, kappa)"], data, {"kappa": kappa})
    costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
    found = repaired(f, made, part)
    assert not len(found.missed)
    assert found.cost == pytest.approx(brute(f, masks, costs), abs=1e-9)


def test_a_rule_nearby_is_better_by_luck_and_meets_the_constraints():
    rng = np.random.default_rng(1)
    n = 400
    men = np.arange(n) % 10 < 3
    X = np.column_stack([rng.normal(size=(n, 5)), men])
    y = (X[:, :3].sum(axis=1) + men + rng.logistic(size=n) > 0.5).astype(int)
    data = DataSets(X, y, members={"men": men, "women": ~men})
    texts = [*RATIO, "coverage(women) <= coverage(men) / kappa"]
    made = compile_rates("error(labeled)", texts, data, {"kappa": 1.0})
    rows = DistinctRows(X, merge=False)
    costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
    groups, _ = named_groups(rows, data.members, texts)
    w = np.array([1.0, 0.2, 1.6, -0.4, 0.5, 0.0, 0.0])
    rule = known_rules(rows, w, costs, groups)[-1]
    found = nearby(rows, rule, costs, groups, [np.array([1.0, 1.0, 1.0, 0.0, 0.0, 1.0, -0.5])])
    assert found.value <= rule.value - 0.1 / np.sqrt(n)
    values = costs.values(rows.scores(found.w) > 0)
    assert values[0] == pytest.approx(found.value) and (values[1:] <= 1e-12).all()
    assert nearby(rows, rule, costs, groups, [], most=0) is rule


def test_a_group_that_no_feature_tells_is_come_near_to():
    rng = np.random.default_rng(0)
    age = rng.normal(size=500)
    X = np.column_stack([rng.normal(size=500), age])
    groups, tilts = named_groups(DistinctRows(X), {"old": age > 0}, ["coverage(old) <= 0.5"])
    assert not groups and len(tilts) == 1
    assert abs(tilts[0][1]) > 10 * abs(tilts[0][0])


def test_scores_of_a_logistic_regression_are_near_those_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (400, 3)).astype(float)
    y = (X @ [1.0, -0.5, 0.2] + rng.logistic(size=400) > 1.2).astype(int)
    weight = rng.uniform(0.5, 2, 400) / 400
    rows = DistinctRows(X)
    w = logistic(rows, *rows.merge(np.array([weight * (y == 0), weight * (y == 1)])), 0.01)
    other = LogisticRegression(C=100.0, tol=1e-10, max_iter=1000, fit_intercept=False)
    other.fit(np.column_stack([X, np.ones(400)]), y, weight)
    np.testing.assert_allclose(w, other.coef_[0], atol=2e-3)


def small():
    """Scores 0 to 9; a yes costs 1 in the even rows, a no in the odd ones; coverage is bounded."""
    rows = DistinctRows(np.arange(10.0)[:, None] - 4.5)
    odd = np.arange(10) % 2 == 1
    positive = np.array([~odd, np.full(10, 0.1)])
    negative = np.array([odd, np.zeros(10)])
    return rows, positive * 1.0, negative * 1.0


def test_a_threshold_is_moved_where_a_constraint_needs_it():
    rows, positive, negative = small()
    f = np.arange(10.0) - 4.5
    loose = Rates.of(positive, negative, np.zeros(2), [0.5])
    assert shifted_value(f, loose) == 5.0 - 1 * (loose.values(f > 0)[0] == 4)
    tight = Rates.of(positive, negative, np.zeros(2), [0.1])
    assert shifted_value(f, tight) == tight.values(f > 4)[0] == 4.0
    never = Rates.of(positive, negative, np.zeros(2), [-0.1])
    assert shifted_value(f, never) == np.inf
    names = [rule.name for rule in known_rules(rows, np.array([1.0, 0.0]), loose)]
    assert set(names) == {"as it is", "shifted"}
    assert [rule.name for rule in known_rules(rows, np.array([1.0, 0.0]), tight)] == ["shifted"]


def test_a_tilt_is_tried_both_ways_by_lengths_of_the_score():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    rows = DistinctRows(X)
    y = X[:, 0] + 1.2 * X[:, 1] > 0
    costs = Rates.of((~y)[None] * 1.0, y[None] * 1.0, np.zeros(1), [])
    line = np.array([0.0, 1.0, 0.0])
    found = known_rules(rows, np.array([1.0, 0.0, 0.0]), costs, tilts=[line])
    best = found[-1]
    assert best.name == "tilted" and best.value < 0.05 * len(y)
    assert best.w[1] == pytest.approx(1.2 * X[:, 0].std() / X[:, 1].std())
    assert sum(rule.name == "tilted" for rule in found) == 10
    assert [rule.value for rule in found] == sorted((rule.value for rule in found), reverse=True)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_group_is_told_by_one_feature_or_by_a_sum_of_some(form):
    rng = np.random.default_rng(3)
    kind = rng.integers(0, 4, 300)
    X = np.column_stack([np.eye(4)[kind], rng.integers(0, 5, 300), 3.0 + 2.0 * (kind > 1)])
    rows = DistinctRows(form(X))
    members = {"first": kind < 2, "third": kind == 2, "odd": kind % 2 == 1, "high": X[:, 4] > 2}
    for names, exact in ((["first"], 1), (["third"], 1), (["odd"], 1), (["high"], 0)):
        texts = [f"coverage({name}) <= 0.5" for name in names]
        groups, tilts = named_groups(rows, members, texts)
        assert len(groups) == exact and len(tilts) == 1 - exact
        for mask, line in groups:
            np.testing.assert_array_equal(mask[rows.group], members[names[0]])
            np.testing.assert_allclose(rows.scores(line), mask, atol=1e-9)
        for line in tilts:
            fit = np.linalg.lstsq(
                np.column_stack([X, np.ones(300)]), members["high"] * 1.0, rcond=None
            )[0]
            near = np.column_stack([X, np.ones(300)]) @ fit
            np.testing.assert_allclose(rows.scores(line)[rows.group], near, atol=1e-3)
    both = [f"coverage({name}) <= 0.5" for name in ("first", "odd")]
    groups, tilts = named_groups(rows, members, both)
    assert len(groups) == 4 and not tilts
    assert sum(mask.astype(int) for mask, _ in groups).tolist() == [1] * rows.shape[0]


def test_large_tables_have_no_luck_to_look_for():
    rng = np.random.default_rng(5)
    for n in (10_000, 9_999):
        f = rng.permutation(n) - n / 2
        y = f + rng.normal(size=n) * n / 8 > 0
        costs = Rates.of((~y)[None] * 1.0, y[None] * 1.0, np.zeros(1), [])
        rows = DistinctRows(np.column_stack([f / n, rng.normal(size=n)]))
        rule = KnownRule(
            "as it is", costs.values(rows.scores([1.0, 1.0, 0.0]) > 0)[0], np.array([1.0, 1.0, 0.0])
        )
        # Half of the score is noise: anything that is tried takes some of it away.
        found = nearby(rows, rule, costs, [], [np.array([1.0, 0.0, 0.0])], most=4 * n)
        assert (found is rule) == (n == 10_000)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_spreads_are_those_of_columns(form):
    X = np.random.default_rng(6).normal(size=(50, 3)) * [1.0, 9.0, 0.0] + [0.0, 3.0, 2.0]
    np.testing.assert_allclose(_spread(DistinctRows(form(X))), X.std(axis=0), atol=1e-7)


def test_the_scores_of_a_steep_problem_solve_the_penalised_equations():
    """Where few rows are far out, whole steps of Newton's method raise the loss."""
    Z = np.repeat([1.0, -1.0, 40.0, -40.0], [30, 30, 1, 1])[:, None]
    y = np.repeat([0, 1, 1, 0], [30, 30, 1, 1])
    rows = DistinctRows(Z, merge=False)
    positive, negative = (y == 0) / 62, (y == 1) / 62
    for penalty in (1e-4, 0.05):
        w = logistic(rows, positive, negative, penalty)
        p = expit(rows.scores(w))
        left = rows.combine((positive + negative) * p - negative)
        np.testing.assert_allclose(left + rows.regularisation(penalty) * w, 0.0, atol=2e-3)


def test_groups_are_told_by_standardised_columns_and_none_where_none_is_named():
    rng = np.random.default_rng(8)
    old = rng.random(80) < 0.4
    X = np.column_stack([rng.normal(size=80), 2.0 + 3.0 * old])
    rows = DistinctRows(sparse.csr_matrix(X), centre=np.array([0.3, 2.5]))
    ((mask, line),), tilts = named_groups(rows, {"old": old}, ["coverage(old) <= 0.5"])
    np.testing.assert_array_equal(mask[rows.group], old)
    np.testing.assert_allclose(rows.scores(line), mask, atol=1e-9)
    assert not tilts and named_groups(rows, {"old": old}, ["coverage(everyone) <= 0.5"]) == ([], [])
    # A group of everybody or of nobody is told by no feature.
    for everybody in (np.ones(80, bool), np.zeros(80, bool)):
        groups, _ = named_groups(rows, {"old": everybody}, ["coverage(old) <= 0.5"])
        for mask, line in groups:
            np.testing.assert_allclose(rows.scores(line), mask, atol=1e-5)


def test_another_score_is_come_near_to_by_parts_of_the_way():
    rng, n = np.random.default_rng(9), 300
    X = rng.normal(size=(n, 2))
    y = X[:, 0] > 0
    costs = Rates.of((~y)[None] * 1.0, y[None] * 1.0, np.zeros(1), [])
    rows, truth = DistinctRows(X, merge=False), np.array([3.0, 0.0, 0.0])
    w = np.array([1.0, 1.0, 0.0])
    begun = KnownRule("as it is", costs.values(rows.scores(w) > 0)[0], w)
    # Room for the steps along this one line.
    found = nearby(rows, begun, costs, [], [truth], most=8 * costs.slope.size)
    assert found.value < begun.value
    same = np.std(rows.scores(w)) / np.std(rows.scores(truth))
    way = (same * truth - w)[:2]
    share = (found.w[:2] - w[:2]) / way
    assert share[0] == pytest.approx(share[1]) and min(abs(share[0] - one) for one in WAY) < 1e-9
