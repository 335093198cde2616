"""Promises one by one, and the repair of deterministic decisions."""

import warnings

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.cuts import Rates
from counterweight.models.constraints.known_rules import known_rules, named_groups
from counterweight.models.constraints.linear_svm import ShiftedThreshold
from counterweight.models.constraints.newton import DistinctRows
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates.values import constraint_values, verdicts_of


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
