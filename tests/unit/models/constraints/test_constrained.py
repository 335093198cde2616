"""The classifier under data-set constraints, and its feature maps."""

import inspect

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import OPTIONS, ConstrainedClassifier
from counterweight.models.constraints.convex_step import ramp
from counterweight.models.constraints.feature_maps import FeatureMap
from counterweight.numerics.rates import DataSets, measure
from counterweight.numerics.rates import compile as compile_rates
from counterweight.tables.parquet import model_arrays, model_table
from scipy import sparse


def world(n=600, seed=1):
    """Two groups, one of which has the positive label far more often."""
    rng = np.random.default_rng(seed)
    male = rng.random(n) < 0.6
    X = rng.normal(size=(n, 3)) + np.outer(male, [0.9, 0.3, 0])
    y = (X @ [1.0, 0.6, -0.5] + 0.8 * rng.normal(size=n) > 0.6).astype(int)
    return X, y, male, rng


FAIR = {"constraints": ["coverage(male) <= coverage(female) / kappa"], "kappa": 0.9}


def fair(X, y, male, weight=None, **options):
    model = ConstrainedClassifier(**FAIR | options)
    return model.fit(X, y, weight, datasets={"male": male, "female": ~male})


def test_without_constraints_one_hinge_step_is_liblinears_svm():
    from sklearn.svm import LinearSVC

    X, y, _, _ = world()
    svm = LinearSVC(loss="hinge", C=1, intercept_scaling=1, tol=1e-8, max_iter=10**6).fit(X, y)
    ours = ConstrainedClassifier(loss="hinge", steps=1, tol=1e-7).fit(X, y)
    assert ours.penalty_ == pytest.approx(2 / len(y))

    def liblinear(u):
        margin = (2 * y - 1) * (X @ u[:-1] + u[-1])
        return u @ u / 2 + np.maximum(0, 1 - margin).sum()

    theirs = liblinear(np.append(svm.coef_[0], svm.intercept_))
    # LIBLINEAR's u is twice w: its hinge turns at a margin of 1, ours at 1/2.
    assert liblinear(2 * np.append(ours.coef_, ours.intercept_)) == pytest.approx(theirs, rel=1e-4)


@pytest.mark.parametrize(
    "texts",
    [
        ["coverage(male) <= coverage(female) / 0.9"],
        ["equal_opportunity(male, female, 0.95)"],
        ["equalised_odds(male, female, 0.9)"],
        ["coverage(labeled) <= 0.15"],
        ["false_positive_rate(labeled) <= 0.03", "coverage(everyone) >= 0.1"],
    ],
)
def test_the_randomised_classifier_meets_its_constraints_on_the_training_rows(texts):
    X, y, male, _ = world()
    sets = {"male": male, "female": ~male}
    # Where everybody is negative with certainty, ratios hold; w = 0 meets the first three.
    start = "zero" if "male" in texts[0] else "svm"
    model = ConstrainedClassifier(constraints=texts, start=start).fit(X, y, datasets=sets)
    assert model.feasible_
    p = model.predict_proba(X)[:, 1]
    made = compile_rates("error(labeled)", texts, DataSets(X, y, members=sets))
    value = made.positive @ p + made.negative @ (1 - p) + made.constants
    assert (value[1:] - made.bounds <= 1e-5).all()
    assert np.allclose(value[1:] - made.bounds, model.excess_)
    free = ConstrainedClassifier().fit(X, y)
    svm = free.predict_proba(X)[:, 1]
    before = made.positive @ svm + made.negative @ (1 - svm) + made.constants
    assert (before[1:] > made.bounds).any()
    assert value[0] < 0.45


def test_a_precision_constraint_is_met():
    X, y, _, _ = world()
    free = ConstrainedClassifier().fit(X, y)
    data = DataSets(None, y)
    text = {"p": "precision(labeled)"}
    asked = 0.5 + measure(free.predict_proba(X)[:, 1], data, text)["p"][1] / 2
    model = ConstrainedClassifier(
        objective="false_negative_rate(labeled)",
        constraints=[f"precision(labeled) >= {asked}"],
        start="svm",
    ).fit(X, y)
    assert measure(model.predict_proba(X)[:, 1], data, text)["p"][1] >= asked - 1e-5


def test_the_objective_does_not_rise_and_iterates_stay_feasible():
    X, y, male, _ = world()
    model = fair(X, y, male)
    assert (np.diff(model.objective_) <= 1e-9).all()
    assert (model.violations_ <= 1e-9).all()


def test_whole_weights_equal_repeated_rows():
    X, y, male, rng = world()
    times = rng.integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), times)
    texts = ["recall(labeled) >= 0.85"]
    options = {"constraints": texts, "loss": "hinge", "steps": 1, "tol": 1e-9}
    options["penalty"] = 0.01
    one = ConstrainedClassifier(**options, on_infeasible="keep").fit(X, y, times)
    two = ConstrainedClassifier(**options, on_infeasible="keep").fit(X[again], y[again])
    assert np.allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)


def test_sets_by_mask_equal_sets_as_separate_rows():
    X, y, male, _ = world()
    masked = fair(X, y, male, tol=1e-8, steps=1)
    rows = {"male": (X[male], None), "female": (X[~male], None)}
    separate = ConstrainedClassifier(**FAIR, tol=1e-8, steps=1).fit(X, y, datasets=rows)
    assert np.allclose(masked.decision_function(X), separate.decision_function(X), atol=1e-3)


def test_sparse_and_dense_rows_give_the_same_classifier():
    X, y, male, rng = world()
    X = np.where(rng.random(X.shape) < 0.85, 0, X)
    one, two = fair(X, y, male), fair(sparse.csr_matrix(X), y, male)
    assert np.array_equal(one.coef_, two.coef_)
    assert np.allclose(one.predict_proba(X), two.predict_proba(sparse.csc_matrix(X)))


def test_hidden_labels_count_for_coverage_only():
    X, y, male, _ = world()
    seen = np.where(male, y, -1)
    model = ConstrainedClassifier(constraints=["coverage(unlabeled) >= 0.4"]).fit(X, seen)
    assert model.predict_proba(X[~male])[:, 1].mean() >= 0.4 - 1e-5
    again = ConstrainedClassifier().fit(X, seen)
    alone = ConstrainedClassifier().fit(X[male], y[male])
    assert np.allclose(again.coef_, alone.coef_)


def test_standardised_features_have_no_unit():
    X, y, male, _ = world()
    unit = np.array([1000.0, 0.01, 1.0])
    one = fair(X, y, male, standardise=True, steps=1, tol=1e-9)
    two = fair(X * unit + 5, y, male, standardise=True, steps=1, tol=1e-9)
    assert np.allclose(one.decision_function(X), two.decision_function(X * unit + 5), atol=1e-3)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("features", ["none", "fourier"])
def test_arrays_keep_the_classifier(features, linear):
    X, y, male, _ = world()
    options = {"features": features, "linear_part": linear, "feature_count": 20, "steps": 2}
    model = fair(X, y, male, **options, standardise=True)
    table = model_table(model.to_arrays(), 0, "general")
    arrays = model_arrays({name: table[name].to_numpy() for name in table.column_names})
    again = ConstrainedClassifier.from_arrays(arrays)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.objective_, model.objective_)
    assert again.feasible_
    assert set(model.KEPT) <= set(model.to_arrays())


def test_a_deployed_model_is_imitated_within_the_churn_target():
    X, y, _, rng = world()
    score = X @ [1.0, 0.2, -0.9] - 0.4
    constraints = ["churn(everyone) <= target", "recall(labeled) >= deployed_recall(labeled)"]
    model = ConstrainedClassifier(constraints=constraints, target=0.06, start="deployed")
    model.fit(X, y, deployed=score)
    data = DataSets(None, y, deployed=score)
    texts = {"churn": "churn(everyone)", "more": "recall(labeled) - deployed_recall(labeled)"}
    found = measure(model.predict_proba(X)[:, 1], data, texts)
    assert found["churn"][1] <= 0.06 + 1e-5
    assert found["more"][1] >= -1e-5
    assert found["churn"][0] <= 0.06
    callable_too = ConstrainedClassifier(constraints=constraints, target=0.06, start="deployed")
    callable_too.fit(X, y, deployed=lambda rows: rows @ [1.0, 0.2, -0.9] - 0.4)
    assert np.array_equal(callable_too.coef_, model.coef_)


def test_held_out_rows_carry_the_constraints_and_the_others_the_objective():
    X, y, male, _ = world(2000)
    data = DataSets(X, y, members={"male": male, "female": ~male})
    rows = data.held_out(0.3, np.random.default_rng(5))
    for mask in (male, ~male, y == 1):
        assert rows[mask].mean() == pytest.approx(0.3, abs=0.01)
    model = ConstrainedClassifier(**FAIR, held_out=0.3)
    model.fit(samples=data, rng=np.random.default_rng(5))
    p = model.predict_proba(X)[:, 1]
    assert p[rows & male].mean() <= p[rows & ~male].mean() / 0.9 + 1e-5
    assert model.penalty_ == pytest.approx(2 / (~rows).sum())


def test_impossible_constraints_are_named_with_the_least_violation():
    X, y, _, _ = world()
    texts = ["recall(labeled) >= 0.95", "coverage(labeled) <= 0.1"]
    with pytest.raises(CounterweightError, match="contradict.*at least.*least violation") as told:
        ConstrainedClassifier(constraints=texts).fit(X, y)
    assert all(text in str(told.value) for text in texts)
    kept = ConstrainedClassifier(constraints=texts, on_infeasible="keep").fit(X, y)
    assert not kept.feasible_
    # Any classifier's recall is at most its coverage / share of positives, so that the least
    # sum of violations is that of coverage: .95 of the positives, less .1.
    assert kept.least_violation_ == pytest.approx(0.95 * y.mean() - 0.1, abs=1e-6)
    assert kept.excess_[0] + kept.excess_[1] / y.mean() >= 0.95 - 0.1 / y.mean() - 1e-9
    assert np.maximum(kept.excess_, 0).sum() >= kept.least_violation_


def test_the_options_are_the_constructor_with_scikit_learns_habits():
    from sklearn.base import clone

    defaults = {
        k: p.default for k, p in inspect.signature(ConstrainedClassifier).parameters.items()
    }
    declared = {k: v["default"] for k, v in OPTIONS.items()}
    assert defaults == declared | {"constraints": (), "groups": (), "penalties": ()}
    model = ConstrainedClassifier(**FAIR).set_params(penalty=0.1)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(CounterweightError, match="no option 'lambda'"):
        model.set_params(**{"lambda": 1})
    X, y, male, _ = world()
    fitted = fair(X, y, male, repair="none")
    p = fitted.predict_proba(X)
    assert np.allclose(p.sum(1), 1)
    assert np.array_equal(fitted.predict(X), p[:, 1] > 0.5)
    assert np.allclose(p[:, 1], ramp(fitted.decision_function(X)))


def test_same_numbers_again_give_the_same_bytes():
    X, y, male, _ = world()
    one = fair(X, y, male, features="fourier", feature_count=30)
    two = fair(X, y, male, features="fourier", feature_count=30)
    assert one.coef_.tobytes() == two.coef_.tobytes()


def test_fourier_features_approach_the_gaussian_kernel():
    X, _, _, rng = world(40)
    exact = np.exp(-(((X[:, None] - X[None]) / X.std(0)) ** 2).sum(-1) / (2 * 1.5**2))
    features = FeatureMap(40000, 1.5).fit(X, rng).transform(X)
    assert np.abs(features @ features.T - exact).max() < 0.04
    made = FeatureMap(10, 1.5).fit(sparse.csr_matrix(X), rng)
    assert np.allclose(made.transform(sparse.csr_matrix(X)), made.transform(X))


def test_the_default_scale_is_the_median_distance():
    X, _, _, rng = world(300)
    Z = X / X.std(0)
    distance = np.sqrt(((Z[:, None] - Z[None]) ** 2).sum(-1))[np.triu_indices(300, 1)]
    assert FeatureMap(3).fit(X, rng).scale_ == pytest.approx(np.median(distance))


@pytest.mark.parametrize(
    ("options", "change", "message"),
    [
        ({"kappa": -1}, {}, "kappa must be a number above 0, not -1"),
        ({"kappa": None}, {}, "'kappa' has no value.*give the option kappa"),
        ({"loss": "log"}, {}, "loss must be one of ramp, hinge"),
        ({"penalty": 0}, {}, "penalty must be a number above 0"),
        ({"start": "deployed"}, {}, "needs the scores of a deployed model"),
        ({"constraints": ["recal(male) >= 0.5"]}, {}, "did you mean recall"),
        ({"constraints": "coverage(male) <= 0.5"}, {}, "a list of texts"),
        ({}, {"y": lambda y: y + np.arange(len(y)) % 2 + 1}, "Only binary .* found 1, 2, 3"),
        ({}, {"X": lambda X: np.where(X[7, 1] == X, np.inf, X)}, "first: row 7"),
        ({}, {"datasets": {"male": (np.ones((4, 2)), None)}}, "2 features, the rows to train on 3"),
        ({}, {"datasets": {"male": np.zeros(600, bool)}}, "data set male has no rows"),
    ],
)
def test_bad_input_is_told(options, change, message):
    X, y, male, _ = world()
    X = change["X"](X) if "X" in change else X
    y = change["y"](y) if "y" in change else y
    sets = {"male": male, "female": ~male} | change.get("datasets", {})
    with pytest.raises(CounterweightError, match=message):
        ConstrainedClassifier(**FAIR | options).fit(X, y, datasets=sets)


def test_rows_to_predict_must_have_the_features():
    X, y, _, _ = world()
    with pytest.raises(CounterweightError, match="has 2 features, but .* is expecting 3"):
        ConstrainedClassifier(steps=1).fit(X, y).predict(X[:, :2])


def test_scikit_learns_tools_take_the_classifier():
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV, cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y, _, _ = world(200)
    model = ConstrainedClassifier(constraints=["coverage(everyone) <= 0.2"], steps=2)
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == (
        "ConstrainedClassifier(constraints=['coverage(everyone) <= 0.2'], steps=2)"
    )
    piped = make_pipeline(StandardScaler(), model).fit(X, y)
    assert piped.score(X, y) == np.mean(piped.predict(X) == y)
    by_score = cross_val_score(model, X, y, cv=3, error_score="raise")
    by_name = cross_val_score(model, X, y, cv=3, scoring="accuracy", error_score="raise")
    assert np.array_equal(by_score, by_name)
    cross_val_score(model, X, y, cv=3, scoring="roc_auc", error_score="raise")
    search = GridSearchCV(model, {"steps": [1, 2]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["steps"] in (1, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X: model.predict(X),
        lambda model, X: model.predict_proba(X),
        lambda model, X: model.decision_function(X),
        lambda model, X: model.to_arrays(),
    ],
)
def test_an_unfitted_classifier_says_so(call):
    with pytest.raises(CounterweightError, match="not fitted yet: call fit"):
        call(ConstrainedClassifier(), np.ones((2, 3)))


@pytest.mark.parametrize(
    ("option", "value", "asked"),
    [
        ("kappa", [0.5], "kappa must be a number above 0"),
        ("kappa", True, "kappa must be a number above 0"),
        ("kappa", np.array([0.5, 0.6]), "kappa must be a number above 0"),
        ("target", np.inf, "target must be a number"),
        ("steps", 2.5, "steps must be a whole number at least 1"),
        ("steps", "8", "steps must be a whole number at least 1"),
        ("penalty", "a", "penalty must be a number above 0"),
        ("held_out", None, "held_out must be a number at least 0 and below 1"),
        ("feature_count", 2.5, "feature_count must be a whole number at least 1"),
        ("constraints", None, "constraints must be a list of texts"),
        ("standardise", "yes", "standardise must be true or false"),
    ],
)
def test_an_option_of_the_wrong_kind_is_named(option, value, asked):
    X, y, _, _ = world(50)
    with pytest.raises(CounterweightError, match=asked):
        ConstrainedClassifier(**{option: value}).fit(X, y)


def test_a_parameter_that_is_no_number_is_named():
    data = DataSets(np.zeros((2, 1)), [0, 1])
    with pytest.raises(CounterweightError, match="kappa must be a number above 0"):
        compile_rates("error(labeled)", ["coverage(everyone) <= kappa"], data, {"kappa": [0.5]})


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_liblinears_svm_is_met_by_default_where_classes_are_easy_to_separate(C):
    """The objective is small there, so that a gap in shares of all costs says too little."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(3)
    y = (rng.random(500) < 0.4).astype(int)
    X = rng.normal(size=(500, 8)) + np.outer(2 * y - 1, np.full(8, 0.9))
    svm = LinearSVC(loss="hinge", C=C, tol=1e-8, max_iter=10**6, random_state=0).fit(X, y)
    ours = ConstrainedClassifier(loss="hinge", penalty=2 / (500 * C)).fit(X, y)

    def liblinear(u):
        margin = (2 * y - 1) * (X @ u[:-1] + u[-1])
        return u @ u / 2 + C * np.maximum(0, 1 - margin).sum()

    theirs = liblinear(np.append(svm.coef_[0], svm.intercept_))
    assert liblinear(2 * np.append(ours.coef_, ours.intercept_)) == pytest.approx(theirs, rel=1e-4)


def test_a_constraint_that_cannot_be_met_alone_is_named_alone():
    X, y, _, _ = world(100)
    asked = ["coverage(everyone) >= kappa", "coverage(everyone) >= 0.1"]
    with pytest.raises(CounterweightError, match=r"kappa asks for what cannot be .* least 0.2\."):
        ConstrainedClassifier(constraints=asked, kappa=1.2).fit(X, y)
    # What a text alone tells is told before any row is looked at.
    with pytest.raises(CounterweightError, match=r">= 1.2', position 1: no decisions can keep it"):
        ConstrainedClassifier(constraints=["coverage(everyone) >= 1.2"]).fit(X, y)


def test_features_of_other_scales_are_named_as_a_way_out():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 4)) * [1e-3, 1, 1e3, 1e5]
    score = X @ [500, 0.5, 5e-4, 5e-6]
    y = (score + rng.normal(size=800) > 0).astype(int)
    model = ConstrainedClassifier(constraints=["churn(everyone) <= 0.05"])
    with pytest.raises(CounterweightError, match="meets the constraint .*, standardised features"):
        model.fit(X, y, deployed=score)
    assert model.set_params(standardise=True).fit(X, y, deployed=score).feasible_


def test_any_two_classes_are_learned_and_answered_in():
    import pandas as pd
    from sklearn.exceptions import NotFittedError

    X, y, male, _ = world(300)
    plain = fair(X, y, male)
    names = np.array(["bad", "good"])[y]
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fair(frame, names, male)
    assert model.classes_.tolist() == ["bad", "good"]
    assert np.array_equal(model.predict(frame) == "good", plain.predict(X) == 1)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.predict(X[:, :2])
    with pytest.raises(NotFittedError):
        ConstrainedClassifier().predict(X)


def test_three_groups_and_the_f_measure_are_kept_on_the_rows_of_the_fit():
    from itertools import permutations

    from sklearn.metrics import f1_score

    rng = np.random.default_rng(4)
    X, group = rng.normal(size=(1500, 3)), rng.integers(0, 3, 1500)
    X[:, 0] += 0.6 * group
    y = (X @ [1.0, 0.7, 0.0] + rng.normal(size=1500) > 1).astype(int)
    groups = {f"g{k}": group == k for k in range(3)}
    free = ConstrainedClassifier().fit(X, y, datasets=groups)
    model = ConstrainedClassifier(constraints=["parity(g0, g1, g2, 0.8)"])
    model.fit(X, y, datasets=groups)
    for rate in (model.predict_proba(X)[:, 1], model.predict(X)):
        covered = [rate[mask].mean() for mask in groups.values()]
        assert all(a >= 0.8 * b - 1e-6 for a, b in permutations(covered, 2))
    before = [free.predict(X)[mask].mean() for mask in groups.values()]
    assert min(before) < 0.7 * max(before)

    level = f1_score(y, free.predict(X)) + 0.01
    model = ConstrainedClassifier(constraints=[f"fmeasure(labeled) >= {level}"])
    model.fit(X, y)
    assert f1_score(y, model.predict(X)) >= level - 1e-9
    p = model.predict_proba(X)[:, 1]
    assert 2 * (p * y).sum() / (p.sum() + y.sum()) >= level - 1e-6
    assert [one.verdict for one in model.constraint_checks_] == ["kept", "kept"]


#: Checks of scikit-learn that are not met, and why; of each classifier, and of all.


def test_labels_of_minus_one_and_one_are_two_classes_and_said_to_be():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    asked = {"constraints": ["coverage(everyone) <= 0.3"], "steps": 2}
    plain = ConstrainedClassifier(**asked).fit(X, y)
    with pytest.warns(UserWarning, match="-1 is the negative class"):
        signed = ConstrainedClassifier(**asked).fit(X, 2 * y - 1)
    assert np.array_equal(signed.predict(X), 2 * plain.predict(X) - 1)
    assert signed.check_constraints(X, 2 * y - 1) == plain.check_constraints(X, y)


def test_what_groups_are_called_decides_nothing():
    X, y, male, _ = world(300)
    told = {"deployed": X[:, 2], "rng": np.random.default_rng(0)}
    fitted = [
        ConstrainedClassifier(constraints=(f"coverage({name}) <= 0.3",), steps=2).fit(
            X, y, datasets={name: male}, **told
        )
        for name in ("a", "winter", "losses_of_may")
    ]
    samples = DataSets.stack(X, y, None, {"winter": male}, X[:, 2])
    asked = {"coverage(winter) <= 0.3": False, "win_rate(winter) >= 0.1": True}
    asked |= {"churn(everyone) <= 0.1": True, "recall(winter) >= deployed_recall(winter)": True}
    for text, expected in asked.items():
        model = ConstrainedClassifier(constraints=(text,))
        assert (model._imitated(samples) is not None) == expected
    for model in fitted[1:]:
        np.testing.assert_array_equal(model.coef_, fitted[0].coef_)


def test_the_penalty_is_twice_the_cost_of_a_row_of_mean_weight():
    X = np.random.default_rng(0).normal(size=(12, 2))
    y = np.array([0, 1, 0, 1, 0, 1, 0, 0, 1, 1, -1, -1])
    weight = np.where(y == 1, 3.0, 1.0)
    weight[0], weight[10] = 0.0, 50.0
    model = ConstrainedClassifier(steps=1).fit(X, y, weight)
    # Nine labeled rows have a weight; those without a label count as rows of the mean one.
    assert model.penalty_ == pytest.approx(2 / 9)
    everyone = ConstrainedClassifier(objective="coverage(everyone)", steps=1).fit(X, y, weight)
    seen = weight[(y >= 0) & (weight > 0)]
    count = (np.where(y >= 0, weight, seen.mean()) / seen.mean()).sum()
    assert everyone.penalty_ == pytest.approx(2 / count)
    own = ConstrainedClassifier(steps=1, penalty=0.3).fit(X, y, weight)
    assert own.penalty_ == 0.3


def test_a_penalty_is_chosen_among_those_asked_in_units_of_all_costs():
    X, y, *_ = world(120)
    weight = np.full(120, 2.0)
    chosen, given = (
        ConstrainedClassifier(steps=1, **asked).fit(X, y, weight)
        for asked in ({"penalties": (0.02,)}, {"penalty": 0.02})
    )
    # The objective is a mean: its costs sum to 1.
    assert chosen.penalty_ == pytest.approx(given.penalty_) == 0.02
    np.testing.assert_allclose(chosen.decision_function(X), given.decision_function(X), atol=1e-6)
    both = ConstrainedClassifier(steps=1, objective="errors(labeled)", penalties=(0.02,))
    assert both.fit(X, y).penalty_ == pytest.approx(0.02 * 120)


def test_what_is_imitated_are_signs_of_the_scores_that_there_are():
    X, y, male, _ = world(6)
    deployed = np.array([1.0, -2.0, np.nan, 3.0, 0.0, -0.5])
    samples = DataSets.stack(X, y, None, None, deployed)
    cost_of_yes, cost_of_no = ConstrainedClassifier(start="deployed")._imitated(samples)
    assert cost_of_yes.tolist() == [0, 0.2, 0, 0, 0.2, 0.2]
    assert cost_of_no.tolist() == [0.2, 0, 0, 0.2, 0, 0]
    for scores, told in ((None, "needs the scores"), (np.full(6, np.nan), "no score for any row")):
        with pytest.raises(CounterweightError, match=told):
            ConstrainedClassifier(start="deployed")._imitated(
                DataSets.stack(X, y, None, None, scores)
            )


@pytest.mark.parametrize(
    ("start", "loss", "alone"),
    [
        ("zero", "ramp", True),
        ("zero", "hinge", True),
        ("best", "hinge", True),
        ("best", "ramp", False),
        ("deployed", "hinge", False),
    ],
)
def test_a_fit_that_others_compare_begins_elsewhere_unless_it_begins_at_nothing(start, loss, alone):
    model = ConstrainedClassifier(start=start, loss=loss)
    assert model._begins_elsewhere
    model._judged_here = False
    assert model._begins_elsewhere == (not alone)
