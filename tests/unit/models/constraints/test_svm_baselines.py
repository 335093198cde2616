"""Baselines of dataset constraints: an exact SVM, a bound on means, thresholds, fairlearn."""

import inspect

import numpy as np
import pytest
from counterweight import ConstrainedClassifier
from counterweight.errors import CounterweightError
from counterweight.models.constraints.fairlearn_models import (
    ExponentiatedGradientModel,
    ThresholdOptimizerModel,
)
from counterweight.models.constraints.linear_svm import HingeRows, best_penalty
from counterweight.models.constraints.svm_baselines import (
    CovarianceConstraint,
    GroupThresholds,
    ShiftedThreshold,
)
from counterweight.models.constraints.thresholds import Cuts
from counterweight.numerics.rates import DataSets, measure, parse_constraint
from counterweight.plan.components import declared, options
from scipy import sparse
from scipy.optimize import linprog

NAMES = {
    "covariance_constraint": CovarianceConstraint,
    "shifted_threshold": ShiftedThreshold,
    "group_thresholds": GroupThresholds,
    "exponentiated_gradient": ExponentiatedGradientModel,
    "threshold_optimizer": ThresholdOptimizerModel,
}
NEEDED = {
    "covariance_constraint": {"c": 0.1},
    "shifted_threshold": {"constraint": "coverage(everyone) <= 0.2"},
}


def world(rows=400, seed=0, neither=False, hidden=0.0, decimals=1):
    """Data sets of two groups whose outcome differs; few decimals make ties."""
    rng = np.random.default_rng(seed)
    male = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 3)).round(decimals)
    X[:, 0] += 0.8 * male
    y = (X @ [1.0, 0.7, 0.0] + 0.5 * male + 0.8 * rng.normal(size=rows) > 1).astype(np.int8)
    members = {"male": male, "female": ~male}
    if neither:
        out = rng.random(rows) < 0.2
        members = {name: mask & ~out for name, mask in members.items()}
    y[rng.random(rows) < hidden] = -1
    return DataSets(X, y, None, members, deployed=X[:, 1])


def linprog_svm(X, y, weight, direction=None, bound=None):
    """The SVM with a tiny absolute penalty as a linear program: least mean hinge loss."""
    n, d = X.shape
    sign = np.where(y == 1, 1.0, -1.0)
    cost = np.concatenate([np.zeros(d + 1), weight / weight.sum()])
    # 1/2 - y (x w + b) - xi <= 0.
    upper = np.hstack([-sign[:, None] * np.hstack([X, np.ones((n, 1))]), -np.eye(n)])
    right = np.full(n, -0.5)
    if direction is not None:
        line = np.concatenate([direction, np.zeros(n + 1)])
        upper, right = np.vstack([upper, line, -line]), np.append(right, [bound, bound])
    found = linprog(
        cost, upper, right, bounds=[(None, None)] * (d + 1) + [(0, None)] * n, method="highs"
    )
    return found.fun


def loss(data, f, weight=None):
    seen = data.y >= 0
    sign = np.where(data.y[seen] == 1, 1.0, -1.0)
    return np.average(np.maximum(0, 0.5 - sign * f[seen]), weights=weight)


def proba(model, data):
    grouped = {"samples": data} if getattr(model, "GROUPED", False) else {}
    return model.predict_proba(data.X, **grouped)[:, 1]


@pytest.mark.parametrize("bias", ["regularised", "free", "none"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_svm_has_the_objective_of_liblinear(bias, form):
    """With u = 2w: 1/2 |u|^2 + C sum max(0, 1 - y u x) is 4/lambda times ours, C = 2/(lambda n)."""
    from sklearn.svm import SVC

    data = world(500, seed=3)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(data))
    X = data.X if bias != "regularised" else np.column_stack([data.X, np.ones(len(data))])
    found = HingeRows(form(data.X), data.y, weight, penalty=0.01, bias=bias).solve(tol=1e-9)
    assert 0 <= found.gap <= 1e-9
    cost = weight / weight.sum() * 2 / 0.01
    if bias == "free":
        other = SVC(kernel="linear", C=1.0, tol=1e-10).fit(X, data.y, sample_weight=cost)
        w, b = other.coef_[0] / 2, other.intercept_[0] / 2
        np.testing.assert_allclose(found.coefficient, w, atol=1e-4)
        assert found.intercept == pytest.approx(b, abs=1e-3)
        return
    from sklearn.svm import LinearSVC

    other = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200000)
    w = other.fit(X, data.y, sample_weight=cost).coef_[0] / 2
    value = 0.005 * w @ w + loss(data, X @ w, weight)
    assert found.objective <= value + 1e-8
    assert found.objective == pytest.approx(value, rel=1e-5)
    fitted = np.append(found.coefficient, found.intercept)[: X.shape[1]]
    assert found.objective == pytest.approx(
        0.005 * fitted @ fitted + loss(data, X @ fitted, weight), abs=1e-12
    )


def test_equal_rows_and_weights_are_the_same_thing():
    data = world(200)
    times = np.random.default_rng(2).integers(1, 4, len(data))
    options = {"penalty": 0.02}
    once = HingeRows(data.X, data.y, times.astype(float), **options).solve(tol=1e-10)
    again = np.repeat(np.arange(len(data)), times)
    many = HingeRows(data.X[again], data.y[again], np.ones(len(again)), **options)
    np.testing.assert_allclose(many.solve(tol=1e-10).coefficient, once.coefficient, atol=1e-6)


def test_a_loose_bound_on_the_means_changes_nothing():
    data = world()
    free = ShiftedThreshold("coverage(everyone) <= 1").fit(samples=data)
    loose = CovarianceConstraint(c=100.0).fit(samples=data)
    np.testing.assert_array_equal(loose.coef_, free.coef_)
    assert loose.intercept_ == free.intercept_


@pytest.mark.parametrize("bound", [0.0, 0.05, 0.2])
def test_the_bound_on_the_means_holds_and_costs_the_least(bound):
    """Against a linear program, with a penalty so small that it adds less than 1e-5."""
    data = world(300, hidden=0.2)
    model = CovarianceConstraint(c=bound, penalty=1e-6, bias="free").fit(samples=data)
    male = data.members["male"]
    scores = model.decision_function(data.X)
    assert abs(scores[male].mean() - scores[~male].mean()) == pytest.approx(bound, abs=1e-9)
    assert model.difference_ == pytest.approx(bound, abs=1e-9)
    seen = data.y >= 0
    direction = data.X[male].mean(axis=0) - data.X[~male].mean(axis=0)
    best = linprog_svm(data.X[seen], data.y[seen], data.weight[seen], direction, bound)
    assert best - 1e-9 <= loss(data, scores) <= best + 1e-5
    assert model.gap_ <= 1e-6


def test_a_tighter_bound_never_costs_less_and_weights_count():
    data = world()
    found = [CovarianceConstraint(c=c).fit(samples=data).objective_ for c in (0, 0.1, 0.3, 1, 9)]
    assert all(np.diff(found) <= 2e-6)
    assert found[0] > found[-1] + 1e-3
    weight = np.where(data.members["male"], 3.0, 1.0)
    weighted = CovarianceConstraint(c=0.1).fit(data.X, data.y, weight, datasets=data.members)
    rows = np.repeat(np.arange(len(data)), weight.astype(int))
    assert weighted.objective_ != found[1]
    plain = HingeRows(data.X[rows], data.y[rows], np.ones(len(rows)), weighted.penalty_)
    male = data.members["male"]
    line = data.X[male].mean(axis=0) - data.X[~male].mean(axis=0)
    assert weighted.objective_ == pytest.approx(plain.solve(line, 0.1).objective, abs=3e-6)


CONSTRAINTS = (
    "recall(male) >= 0.9",
    "coverage(male) <= coverage(female) / kappa",
    "churn(everyone) <= 0.33",
    "precision(labeled) >= 0.85",
    "equal_opportunity(male, female, 0.9)",
    "coverage(female) >= 0.4",
    "recall(everyone) >= deployed_recall(everyone)",
)


@pytest.mark.parametrize("text", CONSTRAINTS)
def test_the_shift_is_the_least_that_meets_the_constraint(text):
    """Against every threshold tried one by one, with the measures of the language."""
    data = world(150, hidden=0.1)
    model = ShiftedThreshold(text, kappa=0.5).fit(samples=data)
    scores = model.decision_function(data.X)

    def kept(p):
        for plain in parse_constraint(text):
            left, right = plain.text.split(plain.sign)
            with np.errstate(invalid="ignore", divide="ignore"):
                value = measure(p, data, {"d": f"{left} - ({right})"}, {"kappa": 0.5})["d"][0]
            if np.isnan(value):  # precision of no prediction: nothing is broken
                continue
            if (value if plain.sign == "<=" else -value) > 1e-9:
                return False
        return True

    assert kept((proba(model, data) > 0.5) * 1.0)
    levels = np.unique(scores)
    tried = np.concatenate([[0.0], levels, levels - 1e-7])
    good = [abs(t) for t in tried if kept((scores > t) * 1.0)]
    between = np.abs(levels - model.threshold_).min() + 1e-7
    assert min(good) <= abs(model.threshold_) <= min(good) + between + 1e-6
    if kept((scores > 0) * 1.0):
        assert model.threshold_ == 0


def test_the_shift_keeps_the_predicted_rows_only_above_the_threshold():
    data = world(300, neither=True)
    model = ShiftedThreshold("coverage(everyone) <= 0.1").fit(samples=data)
    positive = proba(model, data) > 0.5
    assert (positive == (model.decision_function(data.X) > model.threshold_)).all()
    assert positive.mean() <= 0.1
    assert model.threshold_ > 0


def test_a_constraint_that_no_threshold_meets_is_told():
    with pytest.raises(CounterweightError, match=r"No threshold of the SVM meets recall.*0\.\d+"):
        ShiftedThreshold("recall(everyone) >= 2 * coverage(everyone) + 0.4").fit(samples=world())


@pytest.mark.parametrize("rate", ["coverage", "recall", "false_positive_rate"])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("kappa", [0.4, 0.8, 1.0])
def test_group_thresholds_equal_brute_force(rate, both, kappa):
    data = world(90, seed=5, neither=True, hidden=0.15)
    data.weight = np.random.default_rng(4).uniform(0.5, 2, len(data))
    model = GroupThresholds(kappa=kappa, rate=rate, both=both, bias="free").fit(samples=data)
    scores = model.decision_function(data.X)
    seen = data.y >= 0
    texts = {"a": f"{rate}(male)", "b": f"{rate}(female)", "e": "error(labeled)"}

    def found(p):
        values = measure(p, data, texts)
        return [values[name][0] for name in texts]

    def kept(a, b):
        return kappa * a <= b + 1e-9 and (not both or kappa * b <= a + 1e-9)

    least = np.inf
    males, females = (
        Cuts(scores[data.members[name]], np.zeros((1, data.members[name].sum())))
        for name in ("male", "female")
    )
    for first in map(males.threshold, range(len(males.above))):
        for second in map(females.threshold, range(len(females.above))):
            shift = first * data.members["male"] + second * data.members["female"]
            p = scores > shift
            a, b = (
                np.average(p[rows], weights=None if rate == "coverage" else data.weight[rows])
                for rows in (
                    data.members[name]
                    if rate == "coverage"
                    else data.members[name] & (data.y == (1 if rate == "recall" else 0))
                    for name in ("male", "female")
                )
            )
            if kept(a, b):
                wrong = np.average((p != data.y)[seen], weights=data.weight[seen])
                least = min(least, wrong)
    a, b, error = found((proba(model, data) > 0.5) * 1.0)
    assert kept(a, b)
    assert error == pytest.approx(least, abs=1e-8)


def test_a_loose_kappa_leaves_thresholds_of_least_error():
    data = world(300)
    wide = GroupThresholds(kappa=1e-6).fit(samples=data)
    plain = ShiftedThreshold("coverage(everyone) <= 1").fit(samples=data)
    errors = [
        measure((proba(model, data) > 0.5) * 1.0, data, {"e": "error(everyone)"})["e"][0]
        for model in (wide, plain)
    ]
    assert errors[0] <= errors[1]


@pytest.mark.parametrize("rate", ["demographic_parity", "equal_opportunity", "equalised_odds"])
@pytest.mark.parametrize("base", ["logistic", "svm"])
def test_mixture_probabilities_are_those_of_fairlearn(rate, base):
    data, new = world(400, neither=True, hidden=0.1), world(200, seed=8)
    model = ExponentiatedGradientModel(rate=rate, ratio=0.9, base=base, max_iter=15)
    model.fit(samples=data)
    expected = model.fairlearn_._pmf_predict(new.X)
    np.testing.assert_allclose(model.predict_proba(new.X), expected, atol=1e-12)
    arrays = model.to_arrays()
    assert arrays["weights"].sum() == pytest.approx(1)
    positive = (new.X @ arrays["coefficients"].T + arrays["intercepts"] > 0) @ arrays["weights"]
    np.testing.assert_allclose(positive, expected[:, 1], atol=1e-12)


def test_mixture_keeps_its_bound_on_the_labeled_rows():
    """Each group's rate against the rate of all rows, within eps and the duality gap."""
    data = world(2000, hidden=0.3)
    model = ExponentiatedGradientModel(ratio=0.9).fit(samples=data)
    p, seen = proba(model, data), data.y >= 0
    overall = p[seen].mean()
    for mask in data.members.values():
        rate = p[mask & seen].mean()
        assert min(rate / overall, overall / rate) > 0.9 - 0.06
    free = ExponentiatedGradientModel(ratio=0.01).fit(samples=data)
    q = proba(free, data)
    male, female = data.members["male"], data.members["female"]
    assert p[male].mean() / p[female].mean() < 0.8 * q[male].mean() / q[female].mean()


def test_a_constant_classifier_in_the_mixture_is_a_number():
    data = DataSets(np.ones((60, 1)), np.arange(60) < 2, None, world(60).members)
    model = ExponentiatedGradientModel(ratio=1.0, max_iter=5).fit(samples=data)
    np.testing.assert_allclose(
        model.predict_proba(data.X), model.fairlearn_._pmf_predict(data.X), atol=1e-12
    )


@pytest.mark.parametrize("rate", ["demographic_parity", "equal_opportunity", "equalised_odds"])
def test_threshold_optimiser_is_that_of_fairlearn(rate):
    data = world(500, neither=True, hidden=0.1)
    model = ThresholdOptimizerModel(rate=rate).fit(samples=data)
    groups = np.select([data.members["male"], data.members["female"]], [0, 1], -1)
    scores = model.decision_function(data.X)[:, None]
    expected = model.fairlearn_._pmf_predict(scores, sensitive_features=groups)
    np.testing.assert_allclose(proba(model, data), expected[:, 1], atol=1e-12)
    name = {"demographic_parity": "coverage"}.get(rate, "recall")
    texts = {g: f"{name}({g} & labeled)" for g in data.members}
    found = measure(proba(model, data), data, texts)
    assert found["male"][1] == pytest.approx(found["female"][1], abs=0.01)


def test_unknown_groups_of_rows_to_predict_are_told():
    data, new = world(300), world(100, seed=1, neither=True)
    model = ThresholdOptimizerModel().fit(samples=data)
    with pytest.raises(CounterweightError, match="in none of the groups male, female, and no"):
        proba(model, new)
    for grouped in (model, GroupThresholds().fit(samples=data)):
        with pytest.raises(CounterweightError, match="need the group of each row to predict"):
            grouped.predict_proba(new.X)
        other = DataSets(new.X, new.y, None, {"male": new.members["male"]})
        with pytest.raises(CounterweightError, match="have no data set female; they have male"):
            grouped.predict_proba(new.X, samples=other)


@pytest.mark.parametrize("name", NAMES)
def test_models_are_deterministic_and_need_nothing_but_the_sets(name):
    data = world(300, hidden=0.2)
    first, second = (NAMES[name](**NEEDED.get(name, {})).fit(samples=data) for _ in range(2))
    ours, theirs = first.to_arrays(), second.to_arrays()
    assert ours.keys() == theirs.keys()
    for part, values in ours.items():
        assert np.asarray(values).tobytes() == np.asarray(theirs[part]).tobytes()
        assert np.ndim(values) <= 3
    p = first.predict_proba(data.X, **({"samples": data} if hasattr(first, "GROUPED") else {}))
    assert p.shape == (300, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert ((p >= 0) & (p <= 1)).all()
    assert NAMES[name].SAMPLED is DataSets


@pytest.mark.parametrize("name", NAMES)
def test_options_are_those_of_the_constructor_and_hidden_labels_do_not_matter(name):
    parameters = inspect.signature(NAMES[name]).parameters
    assert set(options("model", name)) == set(parameters)
    assert declared("model", name, "FEATURES") is None
    data = world(300, hidden=0.2)
    shown = data.y >= 0
    given = {group: mask[shown] for group, mask in data.members.items()}
    if name in ("exponentiated_gradient", "threshold_optimizer"):
        whole = NAMES[name]().fit(samples=data)
        part = NAMES[name]().fit(data.X[shown], data.y[shown], datasets=given)
        np.testing.assert_allclose(proba(whole, data), proba(part, data), atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_unusable_input_is_told_in_a_sentence(name):
    def refused(text, data, **changed):
        with pytest.raises(CounterweightError, match=text) as caught:
            NAMES[name](**NEEDED.get(name, {}) | changed).fit(samples=data)
        assert "\n" not in str(caught.value)

    data = world(100)
    one = DataSets(data.X, np.zeros(100, int), None, data.members)
    refused("has the label 1: .* a classifier needs both", one)
    if name != "shifted_threshold":
        refused("There is no data set 'men'", data, groups=["men", "female"])
        refused("groups must name", data, groups=["male"])
        both = DataSets(data.X, data.y, None, {"male": data.X[:, 0] > 0, "female": data.y == 1})
        refused("in more than one of the groups male, female", both)
        none = DataSets(data.X, data.y, None, data.members | {"male": np.zeros(100, bool)})
        refused("male has no rows", none)
    for option, value, text in {
        "covariance_constraint": [
            ("c", -1.0, "c must be a number at least 0"),
            ("c", "a", "c must be"),
            ("penalty", 0.0, "penalty must be"),
        ],
        "shifted_threshold": [
            ("constraint", "recal(labeled) >= 1", "recall"),
            ("bias", "some", "bias must be"),
            ("kappa", "a", "kappa must"),
        ],
        "group_thresholds": [
            ("kappa", 0.0, "kappa must be a number above 0"),
            ("penalty", "a", "penalty must"),
            ("both", 1, "both must be true"),
            ("rate", "error", "rate must be"),
        ],
        "exponentiated_gradient": [
            ("ratio", 0.0, "ratio must be a number above 0"),
            ("base", "tree", "base must be"),
            ("rate", "parity", "rate must be"),
        ],
        "threshold_optimizer": [("rate", "parity", "rate must be")],
    }[name]:
        refused(text, data, **{option: value})
    model = NAMES[name](**NEEDED.get(name, {}))
    with pytest.raises(CounterweightError, match="fit needs X and y, or samples"):
        model.fit()
    if "fairlearn" in model.__module__:
        weighted = DataSets(data.X, data.y, np.linspace(1, 2, 100), data.members)
        refused("takes no weights of the rows", weighted)


def test_random_features_and_standardised_ones_predict_as_they_were_fitted():
    data = world(300, decimals=6)
    text = "recall(everyone) >= 0.95"
    rng = np.random.default_rng
    kernel = ShiftedThreshold(text, features="fourier", feature_count=50)
    kernel.fit(samples=data, rng=rng(3))
    assert kernel.coef_.shape == (50,)
    assert measure(proba(kernel, data), data, {"r": "recall(everyone)"})["r"][0] >= 0.95
    scaled = ShiftedThreshold(text, standardise=True, penalty=0.01).fit(samples=data)
    moved = DataSets(data.X * [10, 0.1, 3] + 5, data.y, None, data.members)
    other = ShiftedThreshold(text, standardise=True, penalty=0.01).fit(samples=moved)
    np.testing.assert_allclose(proba(scaled, data), proba(other, moved), atol=2e-3)


def test_mixture_of_standardised_features_predicts_in_the_features_own_units():
    data = world(300, decimals=6)
    moved = DataSets(data.X * [10, 0.1, 3] + 5, data.y, None, data.members)
    first, second = (
        ExponentiatedGradientModel(standardise=True, max_iter=10).fit(samples=d)
        for d in (data, moved)
    )
    np.testing.assert_allclose(proba(first, data), proba(second, moved), atol=1e-6)


def test_a_sweep_over_the_same_rows_gives_what_single_fits_give():
    """Settings share the unconstrained fit, but never one to other labels or weights."""
    data = world(300)
    for c in (0.2, 0.0, 0.1):
        alone = CovarianceConstraint(c=c).fit(samples=world(300))
        shared = CovarianceConstraint(c=c).fit(samples=data)
        assert alone.coef_.tobytes() == shared.coef_.tobytes()
    data.weight = np.linspace(1, 3, 300)
    other = world(300)
    other.weight = np.linspace(1, 3, 300)
    found = [CovarianceConstraint(c=0.1).fit(samples=d).coef_.tobytes() for d in (data, other)]
    assert found[0] == found[1]
    assert found[0] != shared.coef_.tobytes()


@pytest.mark.parametrize("name", ["covariance_constraint", "shifted_threshold", "group_thresholds"])
def test_sparse_rows_give_the_same_answer(name):
    data = world(300)
    thin = DataSets(sparse.csr_matrix(data.X), data.y, None, data.members)
    dense, thin_model = (NAMES[name](**NEEDED.get(name, {})).fit(samples=d) for d in (data, thin))
    np.testing.assert_allclose(dense.coef_, thin_model.coef_, atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_baseline_is_cloned_and_predicts_by_its_probabilities(name):
    from sklearn.base import BaseEstimator, clone, is_classifier
    from sklearn.utils import get_tags

    data = world(300)
    model = NAMES[name](**NEEDED.get(name, {}))
    sets = {"samples": data} if getattr(model, "GROUPED", False) else {}
    with pytest.raises(CounterweightError, match="not fitted yet"):
        model.predict(data.X, **sets)
    copy = clone(model).fit(samples=data)
    assert isinstance(copy, BaseEstimator) and is_classifier(copy)
    assert get_tags(copy).input_tags.sparse
    with pytest.raises(CounterweightError, match="no option 'lambda'"):
        copy.set_params(**{"lambda": 1})
    p = copy.predict_proba(data.X, **sets)[:, 1]
    assert np.array_equal(copy.predict(data.X, **sets), p > 0.5)
    assert copy.get_params() == model.get_params()


def test_a_penalty_is_chosen_on_held_out_rows():
    """Noise beside one feature that matters: the largest penalty of those that err least."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((150, 60))
    y = (X[:, 0] + 0.3 * rng.standard_normal(150) > 0).astype(int)
    grid = (1e-6, 1e-2, 1e4)
    chosen = best_penalty(X, y, np.ones(150), None, grid, "regularised", np.random.default_rng(1))
    assert chosen == 1e-2
    errors = {}
    order = np.random.default_rng(1).permutation(150)
    for penalty in grid:
        svm = HingeRows(X[order[30:]], y[order[30:]], np.ones(120), penalty).solve()
        held = X[order[:30]] @ svm.coefficient + svm.intercept > 0
        errors[penalty] = np.mean(held != (y[order[:30]] == 1))
    assert errors[chosen] == min(errors.values())
    model = ConstrainedClassifier(penalties=grid, standardise=True).fit(X, y)
    assert any(model.penalty_ == pytest.approx(penalty) for penalty in grid)
    with pytest.raises(CounterweightError, match="both given"):
        ConstrainedClassifier(penalties=grid, penalty=0.1).fit(X, y)
