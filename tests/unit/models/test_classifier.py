"""Models of 0 and 1 have scikit-learn's habits."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.class_mixtures import GenerativeClassifier, ShiftedMixtureClassifier
from counterweight.models.classifier import class_within, positive, sibling, stored_within
from counterweight.models.joint_fits import JointClassifier
from counterweight.models.log_policies import ColumnPolicy, ImitatedPolicy, UniformPolicy
from counterweight.models.logistic import (
    AdaptedLogistic,
    AmountModel,
    CostingClassifier,
    LogisticModel,
    RidgeModel,
)
from counterweight.models.subsampling.budgeted import BudgetedClassifier
from counterweight.models.subsampling.subsampled import SubsampledClassifier
from counterweight.models.tilted import TiltedClassifier
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

FITTED = [
    LogisticModel(l2=1e-3),
    CostingClassifier(models=3),
    AdaptedLogistic(penalty=0.01),
    BoostedClassifier(max_iter=10),
    GenerativeClassifier(components=2, n_init=2),
    SubsampledClassifier(keep_rate=0.5, correction="prior"),
    BudgetedClassifier(budget=200, min_samples_leaf=5),
]


@pytest.mark.parametrize("model", FITTED, ids=lambda model: type(model).__name__)
def test_the_class_predicted_is_the_more_probable_one(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (rng.random(600) < 1 / (1 + np.exp(1 - 2 * X[:, 0]))).astype(int)
    fitted = clone(model).fit(X, y, rng=np.random.default_rng(1))
    check_is_fitted(fitted)
    p = fitted.predict_proba(X)
    np.testing.assert_array_equal(fitted.predict(X), p[:, 1] >= 0.5)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert fitted.score(X, y) == (fitted.predict(X) == y).mean() > 0.7
    assert fitted.classes_.tolist() == [0, 1]
    assert is_classifier(fitted) and not get_tags(fitted).classifier_tags.multi_class


@pytest.mark.parametrize(
    "model",
    [
        *FITTED,
        JointClassifier(loss="exponential"),
        ShiftedMixtureClassifier(inertia=0.5, shifts=["means"]),
        TiltedClassifier(delta={"by": "times", "times": 2.0}),
        UniformPolicy(actions=3),
        ImitatedPolicy(by=["x"]),
        ColumnPolicy(probability="p", shrinkage=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parameters_are_read_set_and_cloned(model):
    options = model.get_params()
    assert clone(model).get_params() == options
    assert type(model)(**options).get_params() == options
    name, value = next(iter(options.items()))
    assert getattr(clone(model).set_params(**{name: value}), name) == value
    assert repr(model).startswith(f"{type(model).__name__}(")


@pytest.mark.parametrize("classes", [("no", "yes"), (1, 2), (0, 1)])
def test_a_stored_classifier_answers_in_its_own_classes(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.array(classes)[(X[:, 0] > 0).astype(int)]
    model = LogisticModel().fit(X, y)
    arrays = model.to_arrays()
    again = LogisticModel.from_arrays(arrays)
    assert again.classes_.tolist() == model.classes_.tolist() == list(classes)
    assert again.predict(X).tolist() == model.predict(X).tolist()
    # Classes of 0 and 1 need no array: files of before have none.
    assert ("class_values" in arrays) == (classes != (0, 1))


def told(**has):
    """A model that says what it was asked, as chances or as numbers."""
    asked = {}

    def predict_proba(X, **more):
        asked.update(more)
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    return SimpleNamespace(predict_proba=predict_proba, **has), asked


def test_a_model_is_told_the_population_and_who_is_labeled_where_it_asks():
    X, labeled = np.array([[0.2], [0.7]]), np.array([True, False])
    for has, expected in (
        ({}, {}),
        ({"TARGETED": True}, {"target": "all"}),
        ({"SELECTED": True}, {"selected": labeled}),
        ({"SELECTED": True, "TARGETED": True}, {"selected": labeled, "target": "all"}),
    ):
        model, asked = told(**has)
        assert positive(model, X, "all", labeled).tolist() == [0.2, 0.7]
        assert asked == expected
    number = SimpleNamespace(predict=lambda X: 10 * X[:, 0])
    np.testing.assert_allclose(positive(number, X, "all"), [2.0, 7.0])


@pytest.mark.parametrize(
    "name", ["shifted_mixture", "bickel_joint", "constrained", "budgeted", "offer_logistic"]
)
def test_what_asks_for_more_than_rows_labels_and_weights_is_not_held_by_another_model(name):
    with pytest.raises(CounterweightError, match=f"{name} cannot be tried: choose a classifier"):
        class_within(name, "tried")


def test_what_is_not_refused_may_be_held():
    assert class_within("logistic", "tried") is LogisticModel
    assert class_within("generative", "tried") is GenerativeClassifier
    # Boosting of a table with blanks may see unlabeled rows; by default nobody may.
    assert class_within("logistic", "tried", refused=("UNLABELED",)) is LogisticModel
    for refused in (("KEYED",), ("SAMPLED", "KEYED")):
        with pytest.raises(CounterweightError, match="budgeted cannot be tried"):
            class_within("budgeted", "tried", refused)


def test_numbers_and_amounts_are_learned_by_siblings():
    assert sibling(LogisticModel, True) is sibling(LogisticModel, True, True) is LogisticModel
    assert sibling(LogisticModel, False) is RidgeModel
    assert sibling(LogisticModel, False, True) is AmountModel
    alone = SimpleNamespace(NUMBERS=SimpleNamespace())
    assert sibling(alone, False, True) is alone.NUMBERS


def test_a_stored_model_comes_back_with_the_options_that_there_still_are():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    amount = np.exp(X[:, 0])
    options = {"l2": 0.5, "of_another_version": 3}
    for kind, y, binary in (
        (LogisticModel, (X[:, 0] > 0).astype(int), True),
        (RidgeModel, X[:, 0] - 1, False),
        (AmountModel, amount, False),
    ):
        model = kind(l2=0.5).fit(X, y)
        again = stored_within("logistic", options, model.to_arrays(), binary)
        assert type(again) is kind and again.l2 == 0.5
        np.testing.assert_array_equal(positive(again, X, ""), positive(model, X, ""))
