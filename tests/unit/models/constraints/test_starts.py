"""Several starts, the way along a sweep, and rules that need no training."""

import logging
from dataclasses import replace

import numpy as np
import pytest
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.convex_step import ramp
from counterweight.models.constraints.cuts import repaired
from counterweight.models.constraints.known_rules import named_groups
from counterweight.models.constraints.majorisation import minimise_rates
from counterweight.models.constraints.newton import DistinctRows
from counterweight.models.constraints.starts import (
    Begun,
    Coins,
    Search,
    _tightest_first,
    _unconstrained,
    sharpened,
    vector,
)
from counterweight.models.constraints.starts import repaired as repaired_start
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates import compile as compile_rates

RATIO = ["coverage(men) <= coverage(women) / kappa"]


def credit(n=4000, seed=0):
    """Scaled features, 22 % positives, men a little more often positive by the features."""
    rng = np.random.default_rng(seed)
    men = rng.random(n) < 0.4
    F = rng.normal(size=(n, 8))
    F[:, 4:] = np.exp(F[:, 4:])
    F[:, 0] += 0.2 * men
    score = F[:, :4].sum(axis=1) * 0.7 + 0.2 * F[:, 4] + 0.1 * men + 1.6 * rng.logistic(size=n)
    X = np.column_stack([F, men])
    y = (score > np.quantile(score, 0.78)).astype(int)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, men


@pytest.mark.parametrize("kappa", [0.5, 0.8, 1.0])
def test_no_result_is_behind_thresholds_of_the_unconstrained_fit(kappa):
    X, y, men = credit()
    sets = {"men": men, "women": ~men}
    model = ConstrainedClassifier(constraints=RATIO, kappa=kappa, repair="none")
    model.fit(X, y, datasets=sets)
    assert model.feasible_ and model.behind_ <= 1e-3
    assert not model.collapsed_ and not model.warnings_
    p = model.predict_proba(X)[:, 1]
    assert p[men].mean() <= p[~men].mean() / kappa + 1e-9


def test_a_collapse_is_told(caplog):
    X, y, men = credit(600)
    with caplog.at_level(logging.WARNING, "counterweight"):
        model = ConstrainedClassifier(
            constraints=["coverage(everyone) <= 0"], on_infeasible="keep", repair="none"
        ).fit(X, y)
    assert model.collapsed_
    assert "nobody is positive" in " ".join(model.warnings_)
    assert "nobody is positive" in caplog.text


def test_being_behind_is_told():
    X, y, men = credit(1500)
    asked = {"constraints": RATIO, "kappa": 0.8, "repair": "none"}
    model = ConstrainedClassifier(**asked, start="zero", penalty=5.0)
    model.fit(X, y, datasets={"men": men, "women": ~men})
    assert model.behind_ > 1e-3
    assert "objective is lower by" in " ".join(model.warnings_)


def test_a_sweep_keeps_its_constraints_and_ends_no_worse_than_a_start_of_its_own():
    X, y, men = credit(2000)
    data = DataSets(X, y, members={"men": men, "women": ~men})
    kappas = (0.6, 1.0, 0.8)
    asked = {"constraints": RATIO, "repair": "none", "standardise": True, "penalty": 1e-3}
    together = ConstrainedClassifier.fit_sweep(
        [asked | {"kappa": kappa} for kappa in kappas], data, np.random.default_rng(0)
    )
    for kappa, model in zip(kappas, together, strict=True):
        p = model.predict_proba(X)[:, 1]
        assert model.kappa == kappa and model.feasible_
        assert p[men].mean() <= p[~men].mean() / kappa + 1e-9
        alone = ConstrainedClassifier(**asked, kappa=kappa).fit(samples=data)
        assert model.objective_[-1] <= alone.objective_[-1] + 2e-3


def test_settings_that_differ_in_more_than_numbers_are_fitted_apart():
    X, y, _ = credit(100)
    settings = [{"steps": 1}, {"steps": 2}]
    assert ConstrainedClassifier.fit_sweep(settings, DataSets(X, y), None) is None


def test_mostly_empty_features_are_standardised_as_dense_ones_are():
    rng = np.random.default_rng(2)
    X = (rng.random((500, 6)) < 0.15) * (1.0 + 0.0 * rng.random((500, 6)))
    X[:, 0] += 3.0 * (rng.random(500) < 0.2)
    y = (X @ [1, -1, 0.5, 0.2, 0, 0] + rng.normal(size=500) > 0.2).astype(int)
    asked = {"constraints": ["coverage(everyone) <= 0.3"], "steps": 1, "tol": 1e-9}
    one = ConstrainedClassifier(**asked, standardise=True).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    two = ConstrainedClassifier(**asked).fit(Z, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(Z), atol=1e-3)


def test_features_beside_a_map_are_standardised():
    X, y, men = credit(400)
    asked = {"features": "fourier", "feature_count": 10, "linear_part": True, "loss": "hinge"}
    asked |= {"standardise": True, "tol": 1e-9}
    unit = np.array([1e3, 1e-2, 1, 1, 10, 1, 1, 1, 1])
    one = ConstrainedClassifier(**asked).fit(X, y)
    two = ConstrainedClassifier(**asked).fit(X * unit, y)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X * unit), atol=1e-4)
    again = ConstrainedClassifier.from_arrays(one.to_arrays())
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))


def test_hinge_constraints_are_judged_by_hinges():
    X, y, men = credit(800)
    model = ConstrainedClassifier(
        constraints=["false_positive_rate(labeled) <= 0.1"], loss="hinge", repair="none"
    ).fit(X, y)
    f = model.decision_function(X)[y == 0]
    assert model.feasible_
    assert np.maximum(0, 0.5 + f).mean() <= 0.1 + 1e-9
    assert model.excess_[0] == pytest.approx(np.maximum(0, 0.5 + f).mean() - 0.1, abs=1e-9)


def test_hinge_constraints_that_no_line_keeps_are_missed_whatever_their_ramps():
    # Churn of at most .02 against a noisy model: coins may keep it, their bounds cannot.
    X, y, men = credit(800)
    rng = np.random.default_rng(0)
    deployed = X[:, 0] + 0.2 * rng.normal(size=len(y))
    model = ConstrainedClassifier(
        constraints=["churn(everyone) <= 0.02"],
        loss="hinge",
        start="deployed",
        on_infeasible="keep",
        repair="none",
    ).fit(X, y, deployed=deployed)
    f = model.decision_function(X)
    yes = deployed > 0
    bound = np.where(yes, np.maximum(0, 0.5 - f), np.maximum(0, 0.5 + f)).mean()
    assert not model.feasible_ and bound > 0.02
    assert model.excess_[0] == pytest.approx(bound - 0.02, abs=1e-6)


def test_a_start_that_no_step_improved_is_told():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    cost = np.array([(y == 0) / 200, np.ones(200) / 200]), np.array([(y == 1) / 200, np.zeros(200)])
    fit = minimise_rates(X, *cost, [0.6], penalty=0.1, steps=8)
    again = minimise_rates(X, *cost, [0.6], penalty=0.1, steps=1, start=fit, tol=1e-2)
    assert fit.accepted > 0
    assert again.accepted == 0 and "No step was accepted" in again.messages[0]


def test_the_default_penalty_goes_by_the_weight_of_the_rows():
    X, y, men = credit(300)
    weight = np.where(men, 3.0, 1.0)
    model = ConstrainedClassifier(steps=1).fit(X, y, weight)
    assert model.penalty_ == pytest.approx(2 / 300)
    part = ConstrainedClassifier(objective="errors(men)", steps=1)
    part.fit(X, y, weight, datasets={"men": men})
    assert part.penalty_ == pytest.approx(2 * weight.mean())


def kinds(n=400, seed=0):
    """Categories one-hot; groups that are unions of some, and a rare one."""
    rng = np.random.default_rng(seed)
    kind, rare = rng.integers(0, 7, n), rng.random(n) < 0.03
    X = np.column_stack([rng.normal(size=(n, 3)), rare, np.eye(7)[kind]])
    score = X[:, :3].sum(axis=1) + 0.4 * kind + 0.8 * rare + rng.logistic(size=n)
    return X, (score > 2).astype(int), kind, rare


@pytest.mark.parametrize("case", ["union", "three", "rare"])
@pytest.mark.parametrize("kappa", [0.8, 1.0])
def test_no_result_is_behind_thresholds_of_unions_rare_groups_and_equal_rates(case, kappa):
    X, y, kind, rare = kinds()
    sets = {
        "union": {"a": kind < 3, "b": kind >= 3},
        "three": {"a": kind < 2, "b": (kind >= 2) & (kind < 5), "c": kind >= 5},
        "rare": {"a": rare, "b": ~rare},
    }[case]
    texts = [f"parity({', '.join(sets)}, kappa)"]
    model = ConstrainedClassifier(constraints=texts, kappa=kappa, standardise=True)
    p = model.fit(X, y, datasets=sets).predict_proba(X)[:, 1]
    error = np.mean(model.predict(X) != y), np.mean(np.where(y == 1, 1 - p, p))
    samples = DataSets(X, y, members=sets)
    problem = compile_rates("error(labeled)", texts, samples, {"kappa": kappa})
    parts = np.argmax(np.column_stack(list(sets.values())), axis=1)
    base = ConstrainedClassifier(loss="hinge", steps=1, standardise=True).fit(X, y)
    best = repaired(base.decision_function(X), problem, parts)
    assert not len(best.missed)
    assert max(error) <= best.cost + 1e-3
    assert all(one.verdict == "kept" for one in model.constraint_checks_)


def test_decisions_that_are_the_same_for_all_are_told():
    rng = np.random.default_rng(1)
    n = 401
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + rng.normal(size=n) > 0.2).astype(int)
    a = np.arange(n) < 200  # 200 and 201 rows: shares are equal for nobody and everybody only
    model = ConstrainedClassifier(constraints=["parity(a, b, 1)"], group_features="none")
    model.fit(X, y, datasets={"a": a, "b": ~a})
    assert model.one_answer_ == "no" and not model.predict(X).any()
    assert "training rows have a no" in " ".join(model.warnings_)
    p = model.predict_proba(X)[:, 1]
    assert 0.1 < p.mean() < 0.9 and p[a].mean() == pytest.approx(p[~a].mean())


def test_a_classifier_near_an_old_one_uses_the_churn_that_it_may_have():
    # From an imitation of the old classifier the convex steps stop where the bound is not near.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    y = (X @ [1.0, 1.0, 0.0, 0.0] + rng.logistic(size=3000) * 0.5 > 0).astype(int)
    old = X @ [1.0, -0.6, 0.4, 0.0]
    model = ConstrainedClassifier(constraints=["churn(everyone) <= 0.15"], repair="none")
    model.fit(X, y, deployed=old)
    p = model.predict_proba(X)[:, 1]
    churn = np.where(old > 0, 1 - p, p).mean()
    assert 0.145 < churn <= 0.15 + 1e-9
    # On the straight way between both, as far as the bound allows, it errs no less.
    free = ConstrainedClassifier().fit(X, y)
    line = free.coef_ / np.linalg.norm(free.coef_)
    errors = []
    for share in np.linspace(0, 1, 201):
        decided = X @ (share * line + (1 - share) * np.array([1.0, -0.6, 0.4, 0.0]) / 1.24) > 0
        if np.mean(decided != (old > 0)) <= 0.15:
            errors.append(np.mean(decided != y))
    assert np.where(y == 1, 1 - p, p).mean() <= min(errors) + 0.01


def searched(kappa=0.8, n=300, **options):
    """A search on a small table of credits, its rows and the unconstrained fit."""
    X, y, men = credit(n)
    data = DataSets.stack(X, y, None, {"men": men, "women": ~men})
    made = compile_rates("error(labeled)", RATIO, data, {"kappa": kappa})
    rows = DistinctRows(X)
    begun = Begun(rows)
    costs = made.positive, made.negative, made.bounds, made.constants, 0.01
    search = Search(begun, *costs, method="newton", tol=1e-5, loss="ramp", **options)
    begun.bases = _unconstrained(search, data, np.ones(len(data), bool))[0]
    groups = named_groups(rows, data.members, RATIO)
    begun.groups, begun.tilts = groups
    return search, rows, begun.bases[0], made


def test_a_start_is_the_best_scale_and_shift_that_meet_the_constraints():
    search, rows, w, made = searched()
    found, missed, value = repaired_start(rows, w, search.costs, search.penalty)
    f, p = rows.scores(found), np.clip(0.5 + rows.scores(found), 0, 1)
    both = rows.merge(made.positive) @ p + rows.merge(made.negative) @ (1 - p) + made.constants
    assert missed == 0 and both[1] <= made.bounds[0] + 1e-12
    assert value == pytest.approx(both[0] + 0.005 * found @ found)
    assert search.value(found)[0] == pytest.approx(value)
    scale = found[0] / w[0]
    np.testing.assert_allclose(found[:-1], scale * w[:-1])
    for more in (2.0, 0.5, 1.0):
        for place in (0.0, 0.25, -0.25):
            other = np.append(more * found[:-1], more * found[-1] + place)
            if search.value(other)[1][0] <= 0 and more == 1.0:
                assert place == 0 or search.value(other)[0] >= value - 0.05
    assert np.ptp(f) > 0


def test_coins_of_a_sorted_score_have_the_values_of_coins():
    search, rows, w, _ = searched()
    f = rows.scores(w)
    places = np.array([-0.7, -0.5, 0.0, 0.25, 3.0])
    for scale in (0.3, 1.0, 40.0):
        found = Coins(f, search.costs).values(scale, places)
        asked = [search.costs.values(ramp(scale * f + place)) for place in places]
        np.testing.assert_allclose(found, np.transpose(asked), atol=1e-12)


def test_a_rule_becomes_a_coin_that_is_nearly_as_good():
    search, rows, w, _ = searched()
    rule = search.known[-1]
    f = rows.scores(rule.w)
    sign = search.costs.values(f > 0)[0]
    assert rule.value == pytest.approx(sign)
    assert sharpened(rows, rule, search.costs, sign - 1e-6) is None
    coin = sharpened(rows, rule, search.costs, sign + 0.02)
    values = search.costs.values(np.clip(0.5 + rows.scores(coin), 0, 1))
    assert values[0] <= sign + 0.02 and (values[1:] <= 0).all()
    np.testing.assert_allclose(coin[:-1] / coin[0], rule.w[:-1] / rule.w[0])
    # Small scores are brought to the same coin, not to one so steep that nobody's chance is left.
    tiny = sharpened(rows, replace(rule, w=1e-4 * rule.w), search.costs, sign + 0.02)
    assert (np.abs(rows.scores(tiny)) < 0.5).any()
    close = sharpened(rows, rule, search.costs, sign)
    if close is not None:
        assert search.costs.values(np.clip(0.5 + rows.scores(close), 0, 1))[0] <= sign + 1e-12
    assert search.behind(rule.w * 1e6) == pytest.approx(0, abs=1e-3)
    never = rule.w * 0
    share = (search.costs.values(np.full(rows.shape[0], 0.5))[0] - rule.value) / search.costs.size[
        0
    ]
    assert search.behind(never) >= share - 1e-12


def test_a_start_is_moved_along_groups_until_rates_agree():
    search, rows, w, _ = searched(kappa=2.0)
    lines = [line for _, line in search.begun.groups] + search.begun.tilts
    before = search.value(w)[1][0]
    moved, missed, value = search._levelled(w, lines)
    assert before > 0 and missed == 0
    assert search.value(moved)[1][0] <= 1e-12
    assert value == pytest.approx(search.value(moved)[0])
    way, _, cost = search._on_the_way(moved, w)
    assert cost <= value + 1e-12 and search.value(way)[1][0] <= 1e-9
    assert cost == pytest.approx(search.value(way)[0])


def test_a_fit_that_no_step_gave_tells_its_values():
    search, rows, w, _ = searched()
    fit = search.run(None, 1)
    own = search.as_fit(w, fit)
    assert own.objective == pytest.approx([search.value(w)[0]])
    np.testing.assert_allclose(own.violations, [search.value(w)[1]])
    assert own.accepted == 0 and own.evaluations == [fit.evaluations.sum()]
    np.testing.assert_array_equal(vector(rows, own), w)


def test_rare_answers_are_begun_with_even_costs_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + 0.5 * rng.normal(size=400) > 1.8).astype(int)
    data = DataSets.stack(X, y)
    made = compile_rates("error(labeled)", ["coverage(everyone) >= 0.1"], data)
    search = Search(
        Begun(DistinctRows(X)), made.positive, made.negative, made.bounds, made.constants, 0.5
    )
    fits, costs, penalty = _unconstrained(search, data, np.ones(400, bool))
    assert len(fits) == 2 and penalty == 0.5
    np.testing.assert_array_equal(costs, [made.positive[0], made.negative[0]])
    yes = [(search.rows.scores(w) > 0).mean() for w in fits]
    assert yes[0] < 0.6 * y.mean() < yes[1]
    only = compile_rates("coverage(everyone)", ["coverage(everyone) >= 0.1"], data)
    one_sided = Search(search.begun, only.positive, only.negative, only.bounds, only.constants, 0.5)
    _, costs, penalty = _unconstrained(one_sided, data, np.ones(400, bool))
    assert penalty == 2.0
    np.testing.assert_array_equal(costs, [y == 0, y == 1])


def test_the_setting_that_the_free_fit_keeps_least_is_first():
    searches = [searched(kappa)[0] for kappa in (0.3, 1.0, 0.6)]
    assert list(_tightest_first(searches)) == [1, 2, 0]


@pytest.mark.parametrize("seed", range(3))
def test_the_path_from_zero_goes_to_its_end_and_nothing_that_is_returned_is_worse(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 5))
    group = X[:, 0] + rng.normal(size=400) > 0.5
    y = (X @ [1, -1, 0.5, 0, 0] + group + rng.logistic(size=400) > 0).astype(int)
    samples = DataSets(X, y, None, {"a": group, "b": ~group})
    shared = {"constraints": ["coverage(a) <= coverage(b) / 0.9"], "standardise": True}
    zero = ConstrainedClassifier(**shared, start="zero").fit(samples=samples)
    best = ConstrainedClassifier(**shared).fit(samples=samples)
    # As the problem is stated, with a penalty that was asked for: by the objective with it.
    told = {"penalty": zero.penalty_}
    stated = ConstrainedClassifier(**shared, **told).fit(samples=samples)
    assert stated.objective_[stated.accepted_] <= zero.objective_[zero.accepted_] + 1e-9
    assert stated.rule_.startswith("steps from")

    def worst(model):
        p, decided = model.answers(X, samples)
        return max(np.where(y == 1, 1 - p, p).mean(), np.mean(decided != y))

    assert worst(best) <= worst(zero) + 1e-9
    assert best.rule_.startswith(("steps from", "a known rule"))
