"""Classifiers under constraints that are chosen on rows that they were not fitted to."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints import chosen
from counterweight.models.constraints.chosen import EDGE, ChosenClassifier, Curves, _score, expanded
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.starts import Search
from counterweight.models.logistic import LogisticModel, RidgeModel
from counterweight.numerics.linear import expit
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.values import compile as compile_rates

LINEAR = {"model": "logistic", "l2": None}
TREES = {"model": "gradient_boosting", "max_iter": 40, "max_leaf_nodes": 4}
MACHINE = {"model": "constrained", "standardise": True, "loss": "hinge", "penalty": 0.01}
PARITY = "coverage(b) >= 0.9 * coverage(a)"


def drawn(rows=900, seed=0, bent=False):
    """Rows of two groups that a feature hints at; the outcome goes by two others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 4))
    group = X[:, 2] + 0.5 * rng.normal(size=rows) > 0
    score = np.where(np.abs(X[:, 0]) < 0.7, 2.0, -2.0) if bent else 1.5 * X[:, 0] + 2.0 * group - 1
    y = (score + 0.5 * X[:, 1] + rng.logistic(size=rows) > 0).astype(int)
    return DataSets(X, y, None, {"a": group, "b": ~group})


def fitted(samples, seed=0, **options):
    model = ChosenClassifier(**options)
    return model.fit(samples=samples, rng=np.random.default_rng(seed))


def rates(model, samples):
    decided = model.answers(samples.X, samples)[1]
    return {name: decided[mask].mean() for name, mask in samples.members.items()}


def test_without_constraints_logistic_regression_is_what_it_is_alone():
    samples = drawn()
    model = fitted(samples, candidates=[LINEAR])
    alone = LogisticModel(l2=None).fit(samples.X, samples.y)
    np.testing.assert_allclose(model.predict_proba(samples.X), alone.predict_proba(samples.X))
    assert np.array_equal(model.predict(samples.X), alone.predict(samples.X))


@pytest.mark.parametrize("repair", ["everyone", "by_group"])
def test_decisions_keep_constraints_on_the_rows_of_the_fit_and_on_rows_held_out(repair):
    samples = drawn()
    plain = rates(fitted(samples, candidates=[LINEAR]), samples)
    assert plain["b"] < 0.7 * plain["a"]
    model = fitted(samples, candidates=[LINEAR], constraints=[PARITY], repair=repair)
    told = rates(model, samples)
    assert told["b"] >= 0.9 * told["a"] - 1e-9
    assert 0.05 < told["a"] < 0.95
    cost, missed, taken = model.candidate_costs_[0]
    assert missed == 0
    assert taken == 1
    # What no threshold for everybody can do, a tilt along what the features tell of groups does.
    assert model.tilt_.any() == (repair == "everyone")
    new = drawn(20_000, seed=1)
    told = rates(model, new)
    assert told["b"] >= 0.8 * told["a"]


def moved(seed, rows=3000):
    """Rows with few of a group far from the others, and decisions of before by the features."""
    rng = np.random.default_rng(seed)
    few = rng.random(rows) < 0.05
    X = rng.normal(size=(rows, 3))
    X[:, 0] -= 1.5 * few
    y = (X @ [0.9, 0.5, -0.5] + rng.logistic(size=rows) > 0).astype(int)
    old = 0.7 * X[:, 0] + 0.6 * X[:, 1] + 0.8 * rng.normal(size=rows) - 0.3
    return DataSets(X, y, None, {"few": few, "others": ~few}, deployed=old)


@pytest.mark.parametrize("seed", range(4))
def test_a_small_group_far_from_others_and_decisions_of_before_are_kept_promises_to_at_once(seed):
    """The chance of either is no line of the features; along lines one is kept or the other."""
    samples = moved(seed)
    asked = ["coverage(few) >= 0.7 * coverage(others)", "churn(everyone) <= 0.3"]
    model = fitted(samples, candidates=[LINEAR], constraints=asked)
    assert model.candidate_costs_[0, 1] == 0
    decided = model.answers(samples.X, samples)[1]
    assert np.mean(decided != (samples.deployed > 0)) <= 0.3
    told = rates(model, samples)
    assert told["few"] >= 0.7 * told["others"] - 1e-9
    again = ChosenClassifier.from_arrays(model.to_arrays()).set_params(candidates=[LINEAR])
    again.set_params(constraints=asked)
    assert np.array_equal(again.answers(samples.X, samples)[1], decided)


def test_curves_are_the_chances_of_kinds_times_what_a_yes_to_one_adds():
    """Of two normal groups of one spread the log odds are 2 x - 2, where they are as large; rates
    that count the same rows share their curve."""
    rng = np.random.default_rng(0)
    group = rng.random(40_000) < 0.5
    X = rng.normal(size=(40_000, 2)) + np.outer(group, [2.0, 0.0])
    slopes = np.array([0.5 * group - 1.0 * ~group, 3.0 * group, np.zeros(40_000)])
    curves = Curves.of(X, slopes)
    assert curves.coef.shape == (2, 2)
    chance, told = expit(2 * X[:, 0] - 2), curves.predict(X)
    for line, truth in ((told[1] / 3, chance), (told[0], 1.5 * chance - 1)):
        assert np.sqrt(np.mean((line - truth) ** 2)) < 0.02
    assert not told[2].any()


def test_a_tilt_that_an_earlier_version_saved_as_a_line_is_read_as_one():
    samples = drawn()
    model = fitted(samples, candidates=[LINEAR])
    plain, line = model.decision_function(samples.X), np.array([0.1, -0.2, 0.3, 0.4])
    arrays = model.to_arrays() | {"tilt": line, "tilt_constant": np.array([0.5])}
    again = ChosenClassifier.from_arrays(arrays).set_params(candidates=[LINEAR])
    np.testing.assert_allclose(again.decision_function(samples.X), plain - samples.X @ line - 0.5)


def test_lines_of_folds_are_in_the_units_of_those_of_all_rows():
    """Else a threshold for scores that rows had not been seen by is none for those of the fit."""
    samples, fold = drawn(3000), np.arange(3000) % 5
    model = ChosenClassifier(candidates=[LINEAR], constraints=[PARITY])
    whole = None
    for rows in (samples, samples.only(fold != 0)):
        problem = compile_rates(model.objective, model.constraints, rows, model._numbers())
        (crossed,) = model._crossed_lines(samples.X, rows, problem, fold)
        (line,) = model._lines(samples.X, rows, problem).predict(samples.X)
        whole = line if whole is None else whole
        for one in (crossed[fold != 0], line[fold != 0]):
            slope, level = np.polyfit(whole[fold != 0], one, 1)
            assert slope == pytest.approx(1, abs=0.03)
            assert level == pytest.approx(0, abs=0.03 * np.ptp(whole))


def test_fits_to_the_same_rows_are_made_once_for_all_that_judge_by_them(monkeypatch):
    """With a confidence: five without a fold, ten without two, and one to all rows."""
    rows, fit = [], LogisticModel.fit

    def counted(self, X, *told, **named):
        rows.append(X[:, 0].tobytes())
        return fit(self, X, *told, **named)

    monkeypatch.setattr(LogisticModel, "fit", counted)
    fitted(drawn(), candidates=[LINEAR], constraints=[PARITY], confidence=0.9)
    assert len(rows) == len(set(rows)) == 16


def test_curves_of_the_same_rows_are_fitted_once_and_have_the_units_of_each_call(monkeypatch):
    rows, several = [], RidgeModel.of_several

    def counted(X, shares):
        rows.append(X[:, 0].tobytes())
        return several(X, shares)

    monkeypatch.setattr(RidgeModel, "of_several", counted)
    samples = drawn()
    fitted(samples, candidates=[LINEAR], constraints=[PARITY], confidence=0.9)
    assert len(rows) == len(set(rows)) == 16
    slope, known = np.array([1.0 * samples.members["a"]]), {}
    told = [Curves.of(samples.X, size * slope, b"all", known) for size in (1, 3)]
    assert len(rows) == 17
    np.testing.assert_allclose(told[1].predict(samples.X), 3 * told[0].predict(samples.X))
    np.testing.assert_array_equal(told[0].coef, Curves.of(samples.X, slope).coef)
    Curves.of(samples.X, 1 - slope, b"all", known)
    Curves.of(samples.X[1:], slope[:, 1:], b"other", known)
    assert len(rows) == 20


@pytest.mark.parametrize("seed", range(4))
def test_what_is_fitted_to_all_rows_costs_new_ones_what_it_cost_those_held_out(seed):
    def people(rows, seed):
        rng = np.random.default_rng(seed)
        X, group = rng.normal(size=(rows, 2)), rng.random(rows) < 0.5
        X[:, 0] += group
        y = (1.1 * X[:, 0] + 0.7 * X[:, 1] - 0.6 + rng.logistic(size=rows) > 0).astype(int)
        return DataSets(X, y, None, {"a": group, "b": ~group})

    model = fitted(people(1500, seed), candidates=[LINEAR], constraints=[PARITY])
    new = people(20_000, 100 + seed)
    told = model.answers(new.X, new)[1]
    assert np.mean(told != (new.y == 1)) <= model.candidate_costs_[0, 0] + 0.03
    shares = rates(model, new)
    assert 0.8 * shares["a"] <= shares["b"] <= shares["a"]


def test_what_bends_is_taken_where_a_line_is_clearly_behind_and_only_there():
    bent, straight = drawn(bent=True), drawn()
    for samples, named in ((bent, 0), (straight, 1)):
        model = fitted(samples, candidates=[LINEAR, TREES], constraints=[PARITY])
        costs = model.candidate_costs_
        assert (costs[0, 0] > costs[1, 0] + 0.1) == (samples is bent)
        assert costs[0, 2] == named or np.argmax(costs[:, 2]) == 2
        assert np.nansum(costs[:, 2]) == 1
        losses = model.candidate_losses_
        assert (losses[0] > losses[1] + 0.05) == (samples is bent)
        assert losses[2] <= losses[:2].min() + 1e-9, "combined by the same rows"
    new = drawn(20_000, seed=2, bent=True)
    model = fitted(bent, candidates=[LINEAR, TREES], constraints=[PARITY])
    linear = fitted(bent, candidates=[LINEAR], constraints=[PARITY])
    errors = [np.mean(one.answers(new.X, new)[1] != (new.y == 1)) for one in (model, linear)]
    assert errors[0] < errors[1] - 0.1


def test_labels_that_cannot_be_foretold_are_not_fitted():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(400, 30)), (rng.random(400) < 0.3).astype(int)
    samples = DataSets(X, y, None, {"a": X[:, 0] > 0, "b": X[:, 0] <= 0})
    model = fitted(samples, candidates=[LINEAR, TREES, MACHINE], constraints=[PARITY])
    # On held-out rows nothing is better than to say no to all.
    assert model.candidate_costs_[0, 0] == pytest.approx(y.mean(), abs=0.02)
    assert model.decision_function(X).std() < 0.5
    losses, share = model.candidate_losses_, y.mean()
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    assert losses[0] == pytest.approx(entropy, abs=0.01)
    # A machine gives no chances, and what it decides is not judged by them.
    assert np.isnan(losses[2]) and np.isfinite(losses[[0, 1, 3]]).all()


def test_sweeps_are_candidates_and_settings_that_are_left_open_are_chosen():
    swept = {"model": "gradient_boosting", "max_iter": 5, "sweep": {"max_leaf_nodes": [2, 4]}}
    parts = expanded([LINEAR, swept])
    assert [part.candidate for part in parts] == [0, 1, 1]
    assert [part.options.get("max_leaf_nodes") for part in parts] == [None, 2, 4]
    machine = {"model": "constrained", "standardise": True, "loss": "hinge"}
    samples = drawn(300)
    model = fitted(samples, candidates=[machine], constraints=[PARITY])
    names = [name for name, *_ in model.held_out_]
    assert len(names) == 3
    assert len(set(names)) == 3


def test_what_is_stored_answers_alike_for_every_kind_of_part():
    samples, new = drawn(400), drawn(200, seed=3)
    for candidates in ([LINEAR], [TREES], [MACHINE], [LINEAR, TREES]):
        model = fitted(samples, candidates=candidates, constraints=[PARITY], repair="by_group")
        arrays = {name: np.asarray(values) for name, values in model.to_arrays().items()}
        again = ChosenClassifier.from_arrays(arrays).set_params(**model.get_params())
        for first, second in zip(model.answers(new.X, new), again.answers(new.X, new), strict=True):
            assert np.array_equal(first, second)
        np.testing.assert_allclose(again.predict_proba(new.X), model.predict_proba(new.X))


def test_the_same_rows_and_draws_give_the_same_classifier():
    samples = drawn(300)
    first, second = (
        fitted(samples, candidates=[LINEAR, TREES], constraints=[PARITY]) for _ in range(2)
    )
    for name, values in first.to_arrays().items():
        assert np.array_equal(values, second.to_arrays()[name], equal_nan=True)


def test_contradictions_and_classifiers_that_cannot_be_chosen_are_refused():
    samples = drawn(200)
    both = ["coverage(a) >= 0.9", "coverage(a) <= 0.5"]
    with pytest.raises(CounterweightError, match="contradict each other"):
        fitted(samples, constraints=both)
    kept = fitted(samples, constraints=both, on_infeasible="keep")
    assert not kept.feasible_
    with pytest.raises(CounterweightError, match="cannot be chosen under constraints"):
        fitted(samples, candidates=[{"model": "uniform_policy"}])


def test_what_no_threshold_keeps_on_the_rows_of_the_fit_is_no_feasible_fit():
    samples = drawn(400)
    coin = np.random.default_rng(0).normal(size=400)  # what is in use, and no column tells it
    samples = DataSets(samples.X, samples.y, None, samples.members, deployed=coin)
    loose, strict = (
        fitted(samples, candidates=[LINEAR], constraints=[f"churn(everyone) <= {most}"])
        for most in (0.6, 0.1)
    )
    assert loose.feasible_ and not loose.repair_["missed"]
    assert not strict.feasible_ and strict.repair_["missed"]


def test_rows_without_an_outcome_count_where_they_need_none():
    samples = drawn()
    hidden = DataSets(
        samples.X, np.where(np.arange(900) % 3 == 0, -1, samples.y), None, samples.members
    )
    model = fitted(hidden, candidates=[LINEAR], constraints=[PARITY])
    told = rates(model, hidden)
    assert told["b"] >= 0.9 * told["a"] - 1e-9


def test_a_tilt_is_the_longer_the_larger_the_margins_that_bounds_have():
    rng = np.random.default_rng(4)
    group = rng.random(900) < 0.4
    X = rng.normal(size=(900, 3)) + np.outer(group, [1.0, 0.0, -0.5])
    y = (X @ [1.0, 0.6, -0.3] + rng.logistic(size=900) > 0.4).astype(int)
    data = DataSets(X, y, None, {"a": group, "b": ~group})
    tilts, asked = [], "coverage(a) <= 1.1 * coverage(b)"
    for margin in (0.0, 0.02, 0.2):
        model = ChosenClassifier(constraints=[asked])
        model.n_features_in_, model._rule, model._rules, model._made = 3, None, {}, {}
        model._tilted, model._fits = {}, {}
        model._fold = data.folds(5, np.random.default_rng(0))
        model._fit(data, np.random.default_rng(0))
        problem = model._repair_problem(data)
        model._repair(data, problem._replace(bounds=problem.bounds - margin))
        assert max(model.repair_["excess"].values()) <= 1e-9
        tilts.append(np.abs(model.tilt_amounts_).sum())
    assert tilts[0] <= tilts[1] < tilts[2]


def test_promises_about_few_people_are_certified_more_often_than_not():
    """Where one tilt serves all margins, fits to some rows have thresholds far from the others."""
    certified = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, few = rng.normal(size=(1500, 4)), np.arange(1500) % 10 == 0
        X[:, 0] -= few
        y = (X @ [1.0, 0.8, -0.6, 0.4] - 1.2 + rng.logistic(size=1500) > 0).astype(int)
        model = fitted(
            DataSets(X, y, None, {"few": few, "most": ~few}),
            seed,
            constraints=["coverage(few) >= 0.8 * coverage(most)"],
            confidence=0.95,
            on_infeasible="keep",
        )
        certified += model.certified_
    assert certified >= 5


def test_promises_about_small_groups_are_answered_by_what_can_be_shown():
    """The most careful rules are the least stable: nothing speaks for some, which are passed by."""
    shares, names, shown = (0.62, 0.25, 0.11, 0.02), ("north", "south", "east", "isle"), 0
    for seed in range(6):
        rng = np.random.default_rng([5, seed])
        group, X = rng.choice(4, 1500, p=shares), rng.normal(size=(1500, 5))
        X[:, 0] += np.array([0.5, 0, -0.2, 0.2])[group]
        X[:, 1] -= np.array([0, 0.4, 0, 0])[group]
        y = (X[:, :3] @ [1, 0.8, 0.4] + rng.logistic(size=1500) > 0.1).astype(int)
        model = fitted(
            DataSets(X, y, None, {name: group == k for k, name in enumerate(names)}),
            seed,
            constraints=["parity(north, south, east, isle, 0.8)"],
            confidence=0.95,
            on_infeasible="keep",
        )
        shown += model.shown_.share is not None
        assert model.shown_.share is None or model.shown_.stable
    assert shown >= 5


def test_a_group_of_one_is_told_to_be_too_small_to_choose_by_and_two_are_in_two_parts():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    small = np.zeros(200, bool)
    # Of two classes, so that each is the first of its kind.
    small[[np.flatnonzero(y)[0], np.flatnonzero(1 - y)[0]]] = True
    asked = ["coverage(rest) >= 0.8 * coverage(small)"]
    constrained = {"model": "constrained", "loss": "hinge"}
    model = ChosenClassifier(candidates=[constrained], constraints=asked)
    model.fit(X, y, datasets={"rest": ~small, "small": small})
    assert model.constraint_checks_[0].verdict == "kept"
    small[np.flatnonzero(y)[0]] = False
    with pytest.raises(CounterweightError, match="small has no rows .* Each of the 5 parts"):
        model.fit(X, y, datasets={"rest": ~small, "small": small})


def test_certain_chances_have_finite_log_odds_on_both_sides():
    p = np.array([0.0, 0.5, 1.0])
    model = SimpleNamespace(predict_proba=lambda X: np.column_stack([1 - p, p]))
    no, even, yes = _score(model, None)
    assert yes == pytest.approx(-no) and even == 0
    assert expit(no) == pytest.approx(EDGE)


@pytest.mark.parametrize("options", [{"loss": "hinge"}, {"start": "zero", "steps": 3}, {}])
def test_fits_that_others_judge_are_compared_with_no_known_rule_and_are_the_same(options):
    samples = drawn(500)
    compared, alone = (ConstrainedClassifier(constraints=[PARITY], **options) for _ in range(2))
    alone._judged_here = False
    for model in (compared, alone):
        model.fit(samples=samples, rng=np.random.default_rng(0))
    assert np.isfinite(compared.behind_) and np.isnan(alone.behind_)
    assert np.array_equal(compared.coef_, alone.coef_)
    assert np.array_equal(compared.violations_, alone.violations_)


def test_known_rules_are_looked_at_once_for_what_is_given_away(monkeypatch):
    looked, behind = [], Search.behind
    monkeypatch.setattr(Search, "behind", lambda *told: looked.append(1) or behind(*told))
    fitted(drawn(500), candidates=[MACHINE], constraints=[PARITY])
    assert len(looked) == 1


def test_of_many_rows_a_part_judges(monkeypatch):
    asked = []

    def kept(self, X, samples, problem, fold, rng):
        asked.append((int(samples.main.sum()), len(fold)))
        return choose(self, X, samples, problem, fold, rng)

    choose = ChosenClassifier._choose
    monkeypatch.setattr(ChosenClassifier, "_choose", kept)
    fitted(drawn(300), candidates=[LINEAR])
    monkeypatch.setattr(chosen, "ASKED_ROWS", 100)
    fitted(drawn(300), candidates=[LINEAR])
    assert asked[0][0] == 300 and 80 <= asked[1][0] <= 120


def test_combined_scores_fit_the_rows_that_are_told_in_the_mean():
    rng = np.random.default_rng(3)
    parts = rng.normal(size=(2, 900)) + [[1.0], [-2.0]]
    y = (parts.sum(axis=0) + 0.5 + rng.logistic(size=900) > 0).astype(int)
    seen, weight = np.arange(900) < 600, rng.uniform(0.5, 1.5, 900)
    samples = SimpleNamespace(y=y, weight=weight)
    rules = [
        SimpleNamespace(scores=own, parts=[name]) for own, name in zip(parts, "ab", strict=True)
    ]
    rule = chosen._combined(rules, samples, seen)
    assert rule.parts == ["a", "b"] and (rule.factors > 0.6).all()
    np.testing.assert_allclose(rule.scores, rule.factors @ parts + rule.constant)
    left = weight[seen] * (y - expit(rule.scores))[seen]
    assert abs(left.sum()) < 1e-3 * weight[seen].sum()
