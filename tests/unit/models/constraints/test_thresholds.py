"""Promises one by one, and the repair of deterministic decisions."""

import itertools
import warnings

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.cuts import (
    MOST_CUTS,
    WORTH,
    Cuts,
    Rates,
    descending,
    interval_minima,
    repaired,
)
from counterweight.models.constraints.known_rules import known_rules, named_groups
from counterweight.models.constraints.linear_svm import ShiftedThreshold
from counterweight.models.constraints.newton import DistinctRows
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates.values import constraint_values, verdicts_of

FORMS = (
    "recall({a}) >= {u:.3f}",
    "coverage({a}) <= {u:.3f}",
    "coverage({a}) <= coverage({b}) / {v:.3f}",
    "recall({a}) >= {v:.3f} * recall({b})",
    "false_positive_rate(everyone) <= {u:.3f}",
    "churn(everyone) <= {u:.3f}",
    "precision({a}) >= {u:.3f}",
    "win_rate(everyone) >= {w:.3f} * loss_rate(everyone)",
)


def small(rng):
    """A small table with ties among the scores, and constraints that may contradict each other."""
    n = int(rng.integers(10, 26))
    a = rng.random(n) < 0.5
    y = (rng.random(n) < 0.5).astype(int)
    y[:4], a[:4] = [0, 1, 0, 1], [True, True, False, False]
    scores = np.round(rng.normal(size=n) + y, 1)
    data = DataSets(None, y, rng.choice([1.0, 2.0, 0.5], n), {"a": a, "b": ~a}, rng.normal(size=n))
    texts = []
    for form in rng.choice(FORMS, rng.integers(1, 5), replace=False):
        one, other = rng.permutation(["a", "b"])
        u, v, w = rng.uniform(0.15, 0.85), rng.uniform(0.4, 1), rng.uniform(0, 1)
        texts.append(form.format(a=one, b=other, u=u, v=v, w=w))
    return scores, data, texts, a


def brute(scores, problem, groups):
    """Least cost of all combinations of thresholds that keep everything; infinite for none."""
    tables = []
    for own in groups:
        cut = np.array([-np.inf, *np.unique(scores[own])])[:, None]
        tables.append((scores[own] > cut) * 1.0 @ (problem.positive - problem.negative)[:, own].T)
    fixed = problem.negative.sum(axis=1) + problem.constants
    sums = [sum(rows) + fixed for rows in itertools.product(*tables)]
    kept = [row[0] for row in sums if (row[1:] <= problem.bounds + 1e-9).all()]
    return min(kept, default=np.inf)


@pytest.mark.parametrize("family", ["everyone", "by_group"])
def test_decisions_keep_every_set_of_constraints_that_thresholds_can_keep(family):
    rng, feasible, infeasible = np.random.default_rng(3), 0, 0
    while feasible < 500:
        scores, data, texts, a = small(rng)
        problem = compile_rates("error(labeled)", texts, data)
        by_group = family == "by_group"
        found = repaired(scores, problem, a.astype(int) if by_group else None)
        least = brute(scores, problem, [a * 0 == 0] if not by_group else [~a, a])
        threshold = found.thresholds[a.astype(int) if by_group else np.zeros(len(a), int)]
        decided = (scores > threshold).astype(float)
        values = problem.positive @ decided + problem.negative @ (1 - decided) + problem.constants
        over = values[1:] - problem.bounds
        np.testing.assert_allclose(found.excess, over, atol=1e-9)
        assert found.cost == pytest.approx(values[0])
        assert (found.missed == np.flatnonzero(over > 1e-9)).all()
        feasible += np.isfinite(least)
        infeasible += not np.isfinite(least)
        assert (len(found.missed) == 0) == np.isfinite(least), texts
        if (found.before > 0).any() and np.isfinite(least):
            assert found.cost == pytest.approx(least), texts
        elif np.isfinite(least) and by_group:
            # Thresholds that no constraint needs are for what they save.
            total = (problem.positive + problem.negative)[0].sum()
            assert found.cost <= least + WORTH * total + 1e-9
        elif np.isfinite(least):
            assert not found.thresholds.any()
    assert infeasible > 20


def test_groups_with_more_thresholds_than_one_problem_holds_are_repaired():
    rng = np.random.default_rng(0)
    n, groups = 6000, rng.integers(0, 3, 6000)
    scores = rng.normal(size=n) + 0.5 * groups
    y = (scores + rng.normal(size=n) > 0.7).astype(int)
    members = {f"g{k}": groups == k for k in range(3)}
    data = DataSets(None, y, None, members)
    texts = [f"recall(g{k}) >= 0.8031" for k in range(3)] + ["coverage(g2) <= 0.4117"]
    problem = compile_rates("error(labeled)", texts, data)
    assert n / 3 > 2 * MOST_CUTS
    found = repaired(scores - 0.7, problem, groups)
    # Of group 2 only one of the two can be kept: the least sum of both is found.
    own = groups == 2
    order = np.sort(scores[own])[::-1]
    recall = np.array([(y[own] * (scores[own] >= s)).sum() / y[own].sum() for s in order])
    cover = np.arange(1, own.sum() + 1) / own.sum()
    least = (np.maximum(0.8031 - recall, 0) + np.maximum(cover - 0.4117, 0)).min()
    assert found.excess[:2].max() <= 0
    assert np.maximum(found.excess, 0).sum() == pytest.approx(least, abs=2e-3)
    kept = repaired(scores - 0.7, compile_rates("error(labeled)", texts[:3], data), groups)
    assert not len(kept.missed)


def world(n=900, seed=1):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 6, n)
    X = rng.normal(size=(n, 3)) + np.outer(group / 6, [0.9, -0.4, 0])
    y = (X @ [1.0, 0.6, -0.5] + 0.9 * rng.normal(size=n) > 0.8).astype(int)
    return X, y, {f"g{k}": group == k for k in range(6)}


RECALLS = [f"recall(g{k}) >= 0.7" for k in range(6)]


def test_promises_are_told_one_by_one_and_decisions_keep_them():
    X, y, members = world()
    fitted = {}
    for repair in ("none", "everyone", "by_group"):
        model = ConstrainedClassifier(constraints=RECALLS, repair=repair, start="zero")
        fitted[repair] = model.fit(X, y, datasets=members)
        assert [one.constraint for one in model.constraint_checks_[::2]] == RECALLS
        decided = model.predict(X, datasets=members)
        for one in model.constraint_checks_:
            k = RECALLS.index(one.constraint)
            seen = members[f"g{k}"] & (y == 1)
            p = decided if one.rule == "deterministic" else model.predict_proba(X)[:, 1]
            assert one.left == pytest.approx(p[seen].mean())
            assert one.right == pytest.approx(0.7)
            assert one.excess == pytest.approx(0.7 - p[seen].mean())
            assert one.low < one.excess < one.high
            assert one.verdict == ("kept" if one.excess <= 1e-6 else "broken")
    broken = {
        name: [one for one in m.constraint_checks_ if one.verdict == "broken"]
        for name, m in fitted.items()
    }
    assert broken["none"] and not broken["everyone"] and not broken["by_group"]
    assert {one.rule for one in broken["none"]} == {"deterministic"}
    assert len(fitted["everyone"].thresholds_) == 1 and len(fitted["by_group"].thresholds_) == 6
    # Groups cost less than everybody, and both are told.
    costs = [fitted[name].repair_["cost"] for name in ("everyone", "by_group")]
    assert costs[1] <= costs[0]
    assert "keeps all constraints" in fitted["everyone"].repairs_told_
    # The randomised classifier is the same.
    same = [model.predict_proba(X) for model in fitted.values()]
    assert np.array_equal(same[0], same[1]) and np.array_equal(same[0], same[2])


@pytest.mark.parametrize("repair", ["everyone", "by_group"])
def test_saved_thresholds_decide_as_before(repair):
    X, y, members = world()
    model = ConstrainedClassifier(constraints=RECALLS, repair=repair, start="zero").fit(
        X, y, datasets=members
    )
    flat = {name: np.ravel(values) for name, values in model.to_arrays().items()}
    again = ConstrainedClassifier.from_arrays(flat).set_params(**model.get_params())
    assert np.array_equal(again.predict(X, datasets=members), model.predict(X, datasets=members))
    assert model.thresholds_.any()


def test_groups_must_be_known_to_decide_by_them():
    X, y, members = world()
    model = ConstrainedClassifier(constraints=RECALLS, repair="by_group", start="zero")
    model.fit(X, y, datasets=members)
    with pytest.raises(CounterweightError, match="give datasets, with a mask over these 900 rows"):
        model.predict(X)
    with pytest.raises(CounterweightError, match="have no data set g5"):
        model.predict(X, datasets={k: v for k, v in members.items() if k != "g5"})
    # Whoever is in a combination of groups that nobody was in is decided by the sign of the score.
    nobody = {name: np.ones(len(X), bool) for name in members}
    assert np.array_equal(model.predict(X, datasets=nobody), model.decision_function(X) > 0)


def test_what_no_threshold_keeps_is_named_with_its_cost():
    X, y, members = world()
    texts = ["recall(g0) >= 0.9", "coverage(g5) <= 0.3"]
    model = ConstrainedClassifier(constraints=texts, on_infeasible="keep", steps=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y, datasets=members)
    missed = model.repair_["missed"]
    assert missed and set(missed) <= set(texts)
    words = " ".join(str(one.message) for one in told)
    assert "cannot keep all constraints" in words and missed[0] in words and "goes from" in words
    broken = {
        one.constraint
        for one in model.constraint_checks_
        if one[1:2] + (one.verdict,) == ("deterministic", "broken")
    }
    assert broken == set(missed)
    free = ConstrainedClassifier(constraints=texts, repair="by_group", on_infeasible="keep")
    free.fit(X, y, datasets=members)
    assert not free.repair_["missed"]


def test_promises_on_other_rows_are_judged_by_their_interval():
    X, y, members = world()
    model = ConstrainedClassifier(constraints=RECALLS).fit(X, y, datasets=members)
    X2, y2, members2 = world(9000, seed=2)
    told = model.check_constraints(X2, y2, datasets=members2)
    decided = model.predict(X2)
    for one in told[::2]:
        seen = members2[one.constraint[7:9]] & (y2 == 1)
        share = decided[seen].mean()
        half = 1.96 * np.sqrt(share * (1 - share) / seen.sum())
        assert one.rows == "test" and one.left == pytest.approx(share)
        assert one.high - one.excess == pytest.approx(half, rel=1e-2)
        expected = "kept" if one.high <= 1e-6 else "broken" if one.low > 1e-6 else "undecided"
        assert one.verdict == expected
    assert len({one.verdict for one in told}) > 1


def test_a_share_of_one_among_few_rows_is_not_certain():
    y = np.array([1] * 10 + [0] * 200)
    data = DataSets(None, y)
    (one, _) = verdicts_of(
        constraint_values(y.astype(float), None, data, ["recall(everyone) >= 0.95"]),
        ["recall(everyone) >= 0.95"],
        "test",
    )
    assert one.excess == pytest.approx(-0.05) and one.verdict == "undecided"


def test_other_models_of_constraints_tell_their_promises():
    X, y, members = world()
    model = ShiftedThreshold(constraint="coverage(g0) <= 0.1").fit(X, y, datasets=members)
    first, second = model.constraint_checks_
    assert (first.rule, first.verdict) == ("deterministic", "kept")
    assert second.left == pytest.approx(model.predict_proba(X)[members["g0"], 1].mean())
    assert ConstrainedClassifier(steps=1).fit(X, y).constraint_checks_ == []


@pytest.mark.parametrize("seed", range(4))
def test_cuts_are_all_the_ways_to_part_the_scores(seed):
    scores = np.random.default_rng(seed).normal(size=40).round(1)
    found = Cuts(scores, scores[None])
    assert len(found.above) == len(np.unique(scores)) + 1
    for cut, count in enumerate(found.above):
        above = scores > found.threshold(cut)
        assert above.sum() == count
        assert (np.clip(0.5 + (scores - found.threshold(cut)), 0, 1) > 0.5).sum() == count
        assert found.values[0, cut] == pytest.approx(scores[above].sum())
    held = [found.threshold(cut) == 0 for cut in range(len(found.above))]
    assert sum(held) == 1
    assert found.now == np.argmin(found.shift) == np.argmax(held)


def test_scores_that_differ_by_rounding_are_not_parted():
    scores = np.array([1.0, 1.0 + 1e-15, 0.3, 0.3 - 1e-16, 2.0])
    assert Cuts(scores, scores[None]).above.tolist() == [0, 1, 3, 5]


def test_minima_of_intervals():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 30, 257).astype(float)
    low = rng.integers(0, 257, 1000)
    high = low + 1 + (rng.random(1000) * (257 - low)).astype(int)
    least, at = interval_minima(values, low, high)
    for i in range(1000):
        assert least[i] == values[low[i] : high[i]].min() == values[at[i]]
        assert low[i] <= at[i] < high[i]


def test_the_best_pair_of_thresholds_is_found_among_all_where_rates_are_equal():
    rng = np.random.default_rng(7)
    n = 900
    men = np.arange(n) % 3 > 0
    X = np.column_stack([rng.normal(size=n), men])
    y = (X[:, 0] + 0.7 * men + rng.normal(size=n) > 0.3).astype(int)
    data = DataSets(X, y, members={"men": men, "women": ~men})
    made = compile_rates("error(labeled)", ["parity(men, women, 1)"], data)
    rows = DistinctRows(X, merge=False)
    costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
    groups, _ = named_groups(rows, data.members, made.names)
    w = np.array([1.0, 0.0, -0.4])
    found = {rule.name: rule.value for rule in known_rules(rows, w, costs, groups)}
    # Equal shares: two men more for each woman more.
    f = rows.scores(w)
    wrong = [
        np.append(0, np.cumsum(np.where(y[own], -1, 1)[np.argsort(-f[own])])) for own in (men, ~men)
    ]
    least = (y.sum() + min(wrong[0][2 * k] + wrong[1][k] for k in range(301))) / n
    assert found["by group"] == pytest.approx(least)


def test_scores_that_are_zero_but_for_rounding_have_the_nearest_threshold():
    tied = Cuts(np.array([1.0, 3e-12, 0.0, -2e-12, -1.0]), np.ones((1, 5)))
    assert tied.above[tied.now] in (1, 4)
    apart = Cuts(np.array([1.0, 0.5, -0.5]), np.ones((1, 3)))
    assert apart.above[apart.now] == 2


def test_rates_are_sums_over_positive_predictions_in_the_unit_of_all_costs():
    """Of two rows: what each costs with a yes and with a no, a constant, and a bound."""
    positive, negative = np.array([[0.2, 0.3], [1.0, 0.0]]), np.array([[0.5, 0.0], [0.0, 2.0]])
    costs = Rates.of(positive, negative, np.array([0.1, 0.0]), np.array([0.4]))
    for p in ([0.0, 0.0], [1.0, 1.0], [0.3, 0.8]):
        by_row = positive @ p + negative @ (1 - np.array(p)) + [0.1, -0.4]
        np.testing.assert_allclose(costs.values(np.array(p)), by_row, rtol=1e-12)
    np.testing.assert_allclose(costs.size, [1.0, 3.0])
    assert costs.slack == pytest.approx(1e-12 * (1 + 3.0 + 1.6))


@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(0).normal(size=5000),
        np.random.default_rng(1).integers(0, 9, 500).astype(float),
        np.append(1e9, 1 + 1e-12 * np.random.default_rng(2).permutation(300)),
        np.zeros(4),
        np.array([np.inf, 0.0, -np.inf, 1.0]),
        np.zeros(0),
    ],
)
def test_scores_sorted_by_digits_are_in_the_order_of_a_stable_sort(scores):
    assert np.array_equal(descending(scores), np.argsort(-scores, kind="stable"))


def test_thresholds_of_two_groups_are_the_best_of_all_pairs():
    """By trying every pair of cuts; no pair of an even choice among them is looked for."""
    rng = np.random.default_rng(5)
    n = 700
    group, scores = rng.random(n) < 0.5, rng.normal(size=n)
    y = (scores + 0.5 * group + rng.logistic(size=n) > 0).astype(int)
    samples = DataSets(scores[:, None], y, None, {"a": group, "b": ~group})
    problem = compile_rates("error(labeled)", ["parity(a, b, 0.95)"], samples, {})
    found = repaired(scores, problem, group.astype(int))
    sums = []
    for own in (~group, group):
        order = np.argsort(-scores[own])
        change = (problem.positive - problem.negative)[:, own][:, order]
        sums.append(np.hstack([np.zeros((3, 1)), np.cumsum(change, axis=1)]))
    fixed = problem.negative.sum(axis=1) + problem.constants
    values = sums[0][:, :, None] + sums[1][:, None, :] + fixed[:, None, None]
    kept = (values[1:] <= problem.bounds[:, None, None] + 1e-9).all(axis=0)
    assert not len(found.missed)
    assert found.cost == pytest.approx(values[0][kept].min(), abs=1e-12)
