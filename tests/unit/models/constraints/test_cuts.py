"""Thresholds between scores, and the cheapest of them by which constraints hold."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.models.constraints import cuts
from counterweight.models.constraints.cuts import (
    MOST_CUTS,
    WORTH,
    Cuts,
    Rates,
    best_thresholds,
    cheapest_cut,
    descending,
    interval_minima,
    judge,
    repaired,
)
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates import compile as compile_rates

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


@pytest.mark.parametrize("ends", [(), (0,), (0, 1)])
def test_a_search_that_ends_with_nothing_leaves_what_pairs_of_groups_found(ends, monkeypatch):
    rng = np.random.default_rng(3)
    groups = rng.choice(3, 300, p=[0.45, 0.12, 0.43])
    scores = rng.normal(size=300) - 0.7 * (groups == 1)
    y = (scores + rng.normal(size=300) > 0.3).astype(int)
    data = DataSets(None, y, None, {"a": groups == 0, "b": groups == 1})
    texts = ["coverage(b) >= 0.9 * coverage(a)", "recall(labeled) >= 0.6"]
    problem = compile_rates("error(labeled)", texts, data)
    solved, asked = cuts._solved, itertools.count()
    # As where HiGHS reaches its limit of nodes before it has any answer.
    monkeypatch.setattr(
        cuts, "_solved", lambda *told: None if next(asked) in ends else solved(*told)
    )
    found = repaired(scores, problem, groups)
    assert (found.before > 0).any()
    assert not len(found.missed)


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


def at_most(bound, labels):
    """Errors of labels, with at most a share `bound` of rows that have a yes."""
    data = DataSets(np.zeros((len(labels), 1)), np.asarray(labels))
    return compile_rates("error(labeled)", [f"coverage(everyone) <= {bound}"], data)


def test_thresholds_are_chosen_from_all_that_differ_in_a_constraint_or_lie_near_one():
    change = np.array([[1.0, -1.0, 1.0, -2.0, 1.0], [1.0, 0.0, 0.0, 1.0, 0.0]])
    own = Cuts(np.array([5.0, 4.0, 3.0, 2.0, 1.0]), change)
    # Sums of the constraint are 0, 1, 1, 1, 2, 2: of each run the cheapest, and where 0 is.
    assert own.values[1].tolist() == [0, 1, 1, 1, 2, 2]
    assert own.choices().tolist() == [0, 2, 4, 5] and own.now == 5
    n = 4 * MOST_CUTS
    long = Cuts(np.arange(n, 0, -1.0), np.ones((2, n)))
    few = long.choices()
    assert len(few) == MOST_CUTS and few[[0, -1]].tolist() == [0, n]
    near = long.choices(n // 2)
    assert near[:-1].tolist() == list(range(n // 2 - MOST_CUTS // 2, n // 2 + MOST_CUTS // 2 + 1))
    assert near[-1] == n == long.now
    assert long.choices(0)[:-1].tolist() == list(range(MOST_CUTS // 2 + 1))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_cheapest_cut_errs_least_and_of_equals_is_the_middle(share):
    rng = np.random.default_rng(4)
    scores, labels = rng.normal(size=60).round(1), (rng.random(60) < share).astype(int)
    labels = np.where(rng.random(60) < 0.5, labels, scores > 0)
    problem = at_most(1, labels)
    errors = [((scores > cut) != labels).sum() for cut in [-np.inf, *np.unique(scores)]]
    found = cheapest_cut(scores, problem)
    assert ((scores > found) != labels).sum() == min(errors)
    # Two errors above 9, between 2 and 8, and below 1; one above 1 alone: none is in the middle.
    even = cheapest_cut(np.array([1.0, 2.0, 8.0, 9.0]), at_most(1, [1, 0, 1, 0]))
    assert even == 5.0
    nobody = problem._replace(positive=0 * problem.positive, negative=0 * problem.negative)
    assert cheapest_cut(scores, nobody) == 0.0


def test_more_than_two_groups_keep_a_bound_on_all_at_the_least_cost():
    """By trying all: each group has few scores, and what one may have the others may not."""
    rng = np.random.default_rng(11)
    for _ in range(6):
        n = 24
        group, scores = np.arange(n) % 4, rng.normal(size=n).round(1)
        labels = (scores + rng.normal(size=n) > 0).astype(int)
        problem = at_most(0.25, labels)
        found = repaired(scores, problem, group)
        least = brute(scores, problem, [group == k for k in range(4)])
        assert found.cost == pytest.approx(least) and not len(found.missed)
        costs = Rates.of(problem.positive, problem.negative, problem.constants, problem.bounds)
        split = [costs.slope[:, group == k] for k in range(4)]
        cost, cut = best_thresholds([scores[group == k] for k in range(4)], split, costs)
        decided = (scores > np.array(cut)[group]).astype(float)
        assert costs.values(decided)[0] == pytest.approx(cost) and costs.values(decided)[1] <= 1e-9
        assert least - 1e-12 <= cost <= least + 1 / n + 1e-12


def test_thresholds_that_no_constraint_keeps_are_none():
    scores = np.array([3.0, 2.0, 1.0])
    data = DataSets(scores[:, None], np.array([1, 0, 1]))
    texts = ["coverage(everyone) <= 0.2", "recall(everyone) >= 0.9"]
    made = compile_rates("error(labeled)", texts, data)
    costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
    assert best_thresholds([scores], [costs.slope], costs) == (None, None)


def judged(rule, problem, expected=None, lines=None, repairs=True, **how):
    judge(rule, problem, expected or problem, None, lines, repairs, **how)
    return rule


def test_a_tilt_is_taken_where_the_constraint_binds_and_pays():
    """What the score and the line rank together is the label: the line is the share of a yes."""
    rng = np.random.default_rng(2)
    n = 200
    line = rng.normal(size=n)
    clean = rng.normal(size=n)
    labels = (clean > 0.8).astype(int)
    raw = clean + line
    bound, loose = (at_most(one, labels) for one in (0.1, 1))
    tilted = judged(SimpleNamespace(scores=raw), bound, lines=line[None])
    plain = judged(SimpleNamespace(scores=raw), bound)
    assert tilted.missed == plain.missed == 0 and tilted.cost < plain.cost - WORTH
    assert tilted.tilt[0] > 0
    np.testing.assert_allclose(tilted.scores, raw - tilted.tilt @ line[None])
    decided = tilted.decided
    assert tilted.cost == pytest.approx((decided != labels).mean()) and decided.mean() <= 0.1
    # What no bound asks for is not tried, nor what costs as much.
    free = judged(SimpleNamespace(scores=raw), loose, lines=line[None])
    assert not free.tilt.any() and (free.decided == (raw > 0)).all()
    same = judged(SimpleNamespace(scores=raw), bound, lines=np.zeros((1, n)))
    assert not same.tilt.any() and (same.decided == plain.decided).all()
    # The search begins at what was found nearby, and needs no step beyond it.
    near = judged(SimpleNamespace(scores=raw), bound, lines=line[None], rounds=0, near=tilted.tilt)
    assert (near.tilt == tilted.tilt).all() and near.cost == tilted.cost
    kept = judged(SimpleNamespace(scores=raw), bound, repairs=False)
    assert (kept.decided == (raw > 0)).all()
    assert kept.missed == pytest.approx((raw > 0).mean() - 0.1) and kept.cost < plain.cost + 1


def test_rules_are_chosen_by_expected_costs_and_told_by_those_of_the_labels():
    scores = np.linspace(-1, 1, 20)
    labels = (scores > 0.5).astype(int)
    problem = at_most(0.4, labels)
    other = at_most(0.4, 1 - labels)
    one, two = (judged(SimpleNamespace(scores=scores), problem, told) for told in (problem, other))
    assert one.cost == 0
    assert two.cost == pytest.approx((two.decided != labels).mean()) and two.missed == 0


def test_thresholds_of_one_and_two_groups_are_the_best_of_all_whatever_the_rates():
    """By trying all; rates of gains and losses go up and down along the scores."""
    rng, none = np.random.default_rng(8), 0
    for _ in range(60):
        scores, data, texts, a = small(rng)
        texts.append("win_rate(everyone) >= 0.5 * loss_rate(everyone)")
        made = compile_rates("error(labeled)", texts, data)
        costs = Rates.of(made.positive, made.negative, made.constants, made.bounds)
        for groups in ([a | True], [a, ~a]):
            parts = [scores[own] for own in groups]
            cost, cuts = best_thresholds(parts, [costs.slope[:, own] for own in groups], costs)
            least = brute(scores, made, groups)
            none += cost is None
            assert cost == (pytest.approx(least) if np.isfinite(least) else None)
            if cuts:
                decided = sum(own * (scores > cut) for cut, own in zip(cuts, groups, strict=True))
                assert costs.values(decided)[0] == pytest.approx(least)
                assert costs.values(decided)[1:].max() <= 1e-9
    assert 10 < none < 110


def test_of_equal_costs_the_threshold_moves_least():
    scores = np.array([4.0, 3.0, 2.0, 1.0, -1.0])
    made = at_most(0.7, np.array([1, 0, 1, 0, 0]))
    # Above 3.5, 1.5 there is one error each; .5 has two and a share of .8.
    found = repaired(scores, made)
    assert found.thresholds.tolist() == [1.5]
    assert found.before[0] == pytest.approx(0.1) and found.cost_before == pytest.approx(2 / 5)
    assert found.cost == pytest.approx(1 / 5)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_a_threshold_beyond_all_scores_parts_them_whatever_their_size(size):
    scores = size * np.array([-3.0, 2.0, 5.0])
    cuts = Cuts(scores, np.ones((1, 3)))
    for cut, count in enumerate(cuts.above):
        assert (scores > cuts.threshold(cut)).sum() == count


def test_the_unit_of_costs_decides_nothing_among_several_groups():
    rng = np.random.default_rng(6)
    scores = [rng.normal(size=12) + k for k in range(3)]
    positive = rng.uniform(0.5, 2.0, (2, 36)) * (rng.random((2, 36)) < 0.5)
    positive[1] = 1 / 36
    found = []
    for unit in (1.0, 1e-7, 1e7):
        values = positive * [[unit], [1.0]]
        costs = Rates.of(
            values, np.array([unit * (positive[0] == 0), np.zeros(36)]), np.zeros(2), [0.3]
        )
        parts = [costs.slope[:, 12 * k : 12 * k + 12] for k in range(3)]
        cost, thresholds = best_thresholds(scores, parts, costs)
        found.append([cost / unit, *thresholds])
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-6)
