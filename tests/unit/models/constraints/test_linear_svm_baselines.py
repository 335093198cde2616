"""Baselines of dataset constraints: an exact SVM, a bound on means, thresholds, fairlearn."""

import inspect

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.cuts import Cuts
from counterweight.models.constraints.fairlearn_models import (
    ExponentiatedGradientModel,
    ThresholdOptimizerModel,
)
from counterweight.models.constraints.linear_svm import (
    CovarianceConstraint,
    GroupThresholds,
    HingeRows,
    ShiftedThreshold,
    StabilisedSvm,
    _stabilised,
)
from counterweight.numerics.rates import DataSets, measure, parse_constraint
from counterweight.plan.components import declared, options
from scipy import sparse
from scipy.optimize import linprog
from svm_rows import loss, proba, world

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
    model = CovarianceConstraint(c=bound, penalty=1e-6).fit(samples=data)
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
    model = GroupThresholds(kappa=kappa, rate=rate, both=both).fit(samples=data)
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


def test_among_thresholds_of_equal_error_the_nearest_to_0_is_taken(monkeypatch):
    # Above 1.5 is one man of class 1; above 0 two, and one of class 0: the same error.
    scores, y = np.array([2.0, 1.0, 0.5, -1.0]), np.array([1, 0, 1, 0])
    men = np.repeat([True, False], 4)
    members = {"male": men, "female": ~men}
    data = DataSets.stack(np.ones((8, 1)), np.tile(y, 2), datasets=members)
    monkeypatch.setattr(GroupThresholds, "_learn", lambda *_: None)
    monkeypatch.setattr(GroupThresholds, "scores_of", lambda *_: np.tile(scores, 2))
    model = GroupThresholds(kappa=1e-6)
    model._fit(data, None)
    assert model.thresholds_.tolist() == [0.0, 0.0]


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


def deployed_world(rows=600):
    """Rows whose deployed model errs in a third of them, by a score of the first feature alone."""
    data = world(rows, hidden=0.2)
    return DataSets(data.X, data.y, None, data.members, data.X[:, 0] * 0.4 + 0.1)


def churned(model, data):
    return float(
        ((model.decision_function(data.X) > model.threshold_) != (data.deployed > 0)).mean()
    )


def test_without_an_anchor_it_is_the_svm_of_the_labels():
    data = deployed_world()
    plain = ShiftedThreshold("coverage(everyone) <= 1").fit(samples=data)
    found = StabilisedSvm(anchor=0.0).fit(samples=data)
    np.testing.assert_allclose(found.coef_, plain.coef_, atol=1e-6)
    assert found.objective_ == pytest.approx(plain.objective_, abs=2e-6)


def test_churn_falls_as_the_deployed_model_has_more_say():
    data = deployed_world()
    churn = [churned(StabilisedSvm(anchor=a).fit(samples=data), data) for a in (0.0, 0.5, 0.9, 1.0)]
    assert churn == sorted(churn, reverse=True) and churn[-1] < 0.5 * churn[0]


def test_shares_are_labels_where_the_deployed_model_is_right_and_doubts_elsewhere():
    y = np.array([True, False, True, False, True])
    deployed = np.array([0.2, -2.0, -0.3, 0.3, np.nan])
    np.testing.assert_allclose(_stabilised(y, deployed, 0.0), y)
    np.testing.assert_allclose(_stabilised(y, deployed, 1.0), [0.7, 0.0, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(_stabilised(y, deployed, 0.5), [0.85, 0.0, 0.75, 0.25, 0.75])


def test_the_constraint_of_a_stabilised_svm_is_met_by_its_threshold():
    data = deployed_world()
    model = StabilisedSvm(anchor=0.5, constraint="recall(everyone) >= 0.9").fit(samples=data)
    predicted = model.decision_function(data.X) > model.threshold_
    assert predicted[data.y == 1].mean() >= 0.9


def test_a_stabilised_svm_needs_a_deployed_model():
    with pytest.raises(CounterweightError, match="no scores of one are given"):
        data = world(100)
        StabilisedSvm().fit(samples=DataSets(data.X, data.y, None, data.members))
