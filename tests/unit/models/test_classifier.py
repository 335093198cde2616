"""Models of 0 and 1 have scikit-learn's habits."""

import numpy as np
import pytest
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.class_mixtures import GenerativeClassifier, ShiftedMixtureClassifier
from counterweight.models.joint_fits import JointClassifier
from counterweight.models.log_policies import ColumnPolicy, ImitatedPolicy, UniformPolicy
from counterweight.models.logistic import AdaptedLogistic, CostingClassifier, LogisticModel
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
