"""Constraints on rates for any classifier: mixtures of fits to priced rows."""

import itertools

import numpy as np
import pytest
from counterweight import LogisticModel, ReductionsClassifier
from counterweight.errors import CounterweightError
from counterweight.evaluation.rates import fit_records
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.constraints.reductions import best_mixture
from counterweight.numerics.rates import DataSets, measure
from counterweight.numerics.rates.values import compile as compile_rates
from scipy.optimize import linprog

CELLS = 6
PARITY = "coverage(male) <= coverage(female) / kappa"
LINES = {"model": "logistic", "l2": 1e-3}
BOOSTING = {"model": "gradient_boosting", "max_iter": 15, "max_leaf_nodes": 4}


def world(rows=600, seed=0, hidden=0.0):
    """Two groups whose outcome differs."""
    rng = np.random.default_rng(seed)
    male = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 3))
    X[:, 0] += 0.8 * male
    y = (X @ [1.0, 0.7, 0.0] + 0.5 * male + 0.8 * rng.normal(size=rows) > 0.8).astype(np.int8)
    y[rng.random(rows) < hidden] = -1
    return DataSets(X, y, rng.uniform(0.5, 2, rows), {"male": male, "female": ~male})


def cells(seed, rows=240):
    """Rows of a few kinds: a classifier is a set of kinds, and logistic finds the best one."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, CELLS, rows)
    y = (rng.random(rows) < rng.uniform(0.1, 0.9, CELLS)[kind]).astype(np.int8)
    male = rng.random(rows) < np.linspace(0.2, 0.8, CELLS)[kind]
    data = DataSets(np.eye(CELLS)[kind], y, None, {"male": male, "female": ~male})
    every = np.array(list(itertools.product([False, True], repeat=CELLS)))
    return data, every[:, kind]


def least(problem, every):
    """The objective of the best mixture of given classifiers; None where none keeps all."""
    slopes = problem.positive - problem.negative
    values = every @ slopes.T + problem.negative.sum(axis=1) + problem.constants
    done = linprog(values[:, 0], values[:, 1:].T, problem.bounds, np.ones((1, len(every))), [1.0])
    return done.fun if done.status == 0 else None


def chances(model, data):
    return model.predict_proba(data.X)[:, 1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "constraints",
    [
        ["coverage(male) <= coverage(female) / kappa"],
        ["coverage(everyone) <= 0.3", "recall(female) >= 0.5"],
        ["equalised_odds(male, female, 0.9)"],
    ],
)
def test_the_mixture_has_the_value_of_a_program_over_all_classifiers(seed, constraints):
    data, every = cells(seed)
    problem = compile_rates("error(labeled)", constraints, data, {"kappa": 1.0})
    value = least(problem, every)
    assert value is not None
    model = ReductionsClassifier(constraints=constraints, kappa=1.0, fits=60, tol=1e-9)
    model.fit(samples=data)
    assert model.converged_ and model.feasible_
    assert model.gap_ <= 1e-9
    assert model.objective_ == pytest.approx(value, abs=2e-6)
    p = chances(model, data)
    assert measure(p, data, {"error": "error(labeled)"})["error"][1] == pytest.approx(
        model.objective_, abs=1e-9
    )
    assert len(model.shares_) <= 1 + len(model.constraints_)


@pytest.mark.parametrize("fits", [2, 4, 7])
def test_the_gap_bounds_how_far_a_mixture_is_from_the_best_one(fits):
    for seed in range(8):
        data, every = cells(seed)
        text = ["equalised_odds(male, female, 0.9)", "coverage(everyone) <= 0.35"]
        problem = compile_rates("error(labeled)", text, data)
        value, slopes = least(problem, every), problem.positive - problem.negative

        def respond(cost, every=every):
            return every[np.argmin(every @ cost)]

        found = best_mixture(problem, respond, most=100.0, tol=1e-12, fits=fits)
        over = max(found.violations.max(), 0.0)
        assert found.objective + 100 * over * (over > 1e-6) - value <= found.gap + 1e-9
        # The largest violation of a mixture is at most that gap and the objective's range by price.
        assert over <= (found.gap + np.abs(slopes[0]).sum()) / 100 + 1e-6
        assert found.shares.sum() == pytest.approx(1) and (found.shares >= 0).all()


@pytest.mark.parametrize(
    "spec, plain",
    [
        ({"model": "logistic"}, LogisticModel()),
        (BOOSTING, BoostedClassifier(max_iter=15, max_leaf_nodes=4)),
    ],
)
def test_without_a_constraint_it_is_the_plain_weighted_fit(spec, plain):
    data = world(hidden=0.3)
    model = ReductionsClassifier(classifier=spec).fit(samples=data)
    seen = data.y >= 0
    plain.fit(data.X[seen], data.y[seen], data.weight[seen])
    np.testing.assert_array_equal(chances(model, data), plain.predict(data.X))
    np.testing.assert_array_equal(model.predict(data.X), plain.predict(data.X))
    assert model.fits_ == 1 and model.gap_ == 0 and model.constraint_checks_ == []
    # A constraint that this fit keeps changes nothing.
    kept = ReductionsClassifier(classifier=spec, constraints=["coverage(male) <= 0.99"])
    kept.fit(samples=data)
    np.testing.assert_array_equal(chances(kept, data), plain.predict(data.X))
    assert kept.fits_ == 1 and kept.multipliers_ == 0


@pytest.mark.parametrize("spec", [{"model": "logistic"}, BOOSTING])
def test_constraints_of_every_kind_hold_by_chances_and_by_repaired_decisions(spec):
    data = world(hidden=0.2)
    data.deployed = data.X[:, 1]
    texts = [PARITY, "recall(everyone) >= 0.6", "churn(unlabeled) <= 0.4"]
    model = ReductionsClassifier(constraints=texts, kappa=0.9, classifier=spec).fit(samples=data)
    chanced = [one for one in model.constraint_checks_ if one.rule == "randomised"]
    assert [one.constraint for one in chanced] == model.constraints_
    assert {one.verdict for one in chanced} == {"kept"}
    found = measure(chances(model, data), data, {"all": "error(labeled)"})["all"]
    assert found[1] == pytest.approx(model.objective_, abs=1e-9)
    decided = {
        one.constraint: one.verdict
        for one in model.constraint_checks_
        if one.rule == "deterministic"
    }
    missed = {name for name, verdict in decided.items() if verdict == "broken"}
    assert missed == set(model.repair_["missed"])


def test_error_at_equal_ratio_is_no_worse_than_fairlearns():
    pytest.importorskip("fairlearn")
    from counterweight.models.constraints.fairlearn_models import ExponentiatedGradientModel

    texts = {"error": "error(everyone)", "ratio": "coverage(female) / coverage(male)"}
    for seed in range(4):
        data = world(2000, seed=seed)
        data.weight[:] = 1.0
        theirs = ExponentiatedGradientModel(ratio=(0.8, 0.95)[seed % 2], max_iter=30)
        reached = measure(chances(theirs.fit(samples=data), data), data, texts)
        kappa = reached["ratio"][1]
        assert 0.5 < kappa < 1.05
        ours = ReductionsClassifier(constraints=[PARITY], kappa=kappa).fit(samples=data)
        found = measure(chances(ours, data), data, texts)
        assert found["ratio"][1] >= kappa - 1e-5
        assert found["error"][1] <= reached["error"][1] + 0.005


def test_boosting_keeps_what_lines_cannot_at_a_lower_error():
    rng = np.random.default_rng(5)
    X, male = rng.uniform(-1, 1, (1200, 2)), rng.random(1200) < 0.5
    y = (X[:, 0] * X[:, 1] > 0.1 - 0.2 * male).astype(np.int8)
    data = DataSets(X, y, None, {"male": male, "female": ~male})
    line, trees = (
        ReductionsClassifier(constraints=[PARITY], kappa=0.95, classifier=spec).fit(samples=data)
        for spec in ({"model": "logistic"}, BOOSTING)
    )
    assert line.feasible_ and trees.feasible_
    assert trees.objective_ < line.objective_ - 0.1


def test_what_no_mixture_meets_is_told_or_kept_with_the_least_violation():
    data = world()
    texts = ["coverage(male) <= 0.2", "coverage(male) >= 0.3"]
    with pytest.raises(CounterweightError, match="No mixture of the .* fits meets .* misses"):
        ReductionsClassifier(constraints=texts).fit(samples=data)
    kept = ReductionsClassifier(constraints=texts, on_infeasible="keep").fit(samples=data)
    assert not kept.feasible_
    np.testing.assert_allclose(kept.violations_, 0.05, atol=1e-6)
    assert any("No mixture" in text for text in kept.warnings_)


def test_nobody_and_too_few_fits_are_warned_of(caplog):
    data = world()
    none = ReductionsClassifier(constraints=["coverage(everyone) <= 0"]).fit(samples=data)
    assert none.collapsed_ and chances(none, data).max() == 0
    assert "nobody, or everybody, is positive" in caplog.text
    few = ReductionsClassifier(constraints=[PARITY], kappa=1.0, fits=3, on_infeasible="keep")
    few.fit(samples=data)
    assert few.fits_ == 3 and not few.converged_
    assert any("after 3 fits" in text for text in few.warnings_)


def test_a_sweep_shares_fits_and_is_no_worse_than_single_ones():
    data = world()
    settings = [{"constraints": [PARITY], "kappa": kappa} for kappa in (0.7, 0.85, 1.0)]
    swept = ReductionsClassifier.fit_sweep(settings, data, np.random.default_rng(0))
    alone = [ReductionsClassifier(**options).fit(samples=data) for options in settings]
    assert sum(model.fits_ for model in swept) < sum(model.fits_ for model in alone)
    for model, other in zip(swept, alone, strict=True):
        assert model.feasible_
        assert model.objective_ <= other.objective_ + other.gap_ + 1e-3
    other = [settings[0], settings[1] | {"fits": 5}]
    assert ReductionsClassifier.fit_sweep(other, data, np.random.default_rng(0)) is None


def test_the_duality_gap_and_what_else_is_known_of_a_fit_are_metrics():
    model = ReductionsClassifier(constraints=[PARITY], kappa=1.0).fit(samples=world())
    told = {one["metric"]: one["value"] for one in fit_records(model.to_arrays(), {})}
    assert told["duality_gap"] == model.gap_ and told["feasible"] == 1 and told["collapsed"] == 0
    assert told["final_violation"] == model.violations_.max()
    assert told["multiplier"] == model.multipliers_.max() > 0


def test_unusable_input_is_told_in_a_sentence():
    data = world(200)

    def refused(text, **options):
        with pytest.raises(CounterweightError, match=text) as caught:
            ReductionsClassifier(**options).fit(samples=data)
        assert "\n" not in str(caught.value)

    refused("is no model|Unknown|unknown|There is no", classifier={"model": "nothing"})
    refused("cannot be used in reductions", classifier={"model": "constrained"})
    refused("same for all classifiers", objective="0 * error(labeled)")
    refused("fits must be a whole number at least 1", fits=0)
    refused("tol must be a number above 0", tol=0.0)
    refused("kappa", constraints=[PARITY])
    with pytest.raises(CounterweightError, match="not fitted yet"):
        ReductionsClassifier().predict(data.X)
    model = ReductionsClassifier().fit(samples=data)
    with pytest.raises(CounterweightError, match="has 2 features, but .* is expecting 3"):
        model.predict(data.X[:, :2])


def test_margins_make_bounds_tighter_by_as_much():
    data, _ = cells(3)
    wide, tight = (
        ReductionsClassifier(constraints=[f"coverage(everyone) <= {bound}"]) for bound in (0.3, 0.2)
    )
    wide._margins = np.array([0.1])
    wide.n_features_in_ = tight.n_features_in_ = CELLS
    for model in (wide, tight):
        model._fit_pooled(data, np.random.default_rng(0), [])
    assert chances(tight, data).mean() == pytest.approx(0.2, abs=0.01)
    np.testing.assert_allclose(chances(wide, data), chances(tight, data), atol=1e-9)


def test_what_was_stored_votes_alike():
    data = world(200, 4)
    asked = {"constraints": [PARITY], "kappa": 0.9, "fits": 6, "classifier": LINES}
    model = ReductionsClassifier(**asked).fit(samples=data)
    again = ReductionsClassifier.from_arrays(model.to_arrays()).set_params(classifier=LINES)
    np.testing.assert_array_equal(chances(again, data), chances(model, data))
    # The mixture is its members' votes by their shares.
    votes = [
        np.full(200, constant) if own is None else own.predict_proba(data.X)[:, 1] >= 0.5
        for own, constant in zip(model.models_, model.constant_, strict=True)
    ]
    np.testing.assert_allclose(chances(model, data), model.shares_ @ np.array(votes))
    assert model.shares_.sum() == pytest.approx(1.0) and (model.shares_ > 0).all()
