"""scikit-learn's own checks of estimators, on every public one."""

import inspect

import counterweight
import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.boosting import BoostedClassifier
from counterweight.models.class_mixtures import ShiftedMixtureClassifier
from counterweight.models.joint_fits import JointClassifier
from counterweight.models.logistic import AdaptedLogistic, LogisticModel
from counterweight.models.subsampling.calibrated_subsample import OnePassClassifier
from counterweight.numerics.rates import DataSets
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
SPARSE = "check_sample_weight_equivalence_on_sparse_data"
OVERWRITTEN = "check_sample_weights_not_overwritten"
FOLDS = {
    WEIGHTS: "rows are drawn or put into folds one by one, so a row twice is not one of weight 2"
}
SPREAD = {WEIGHTS: "the spread of a feature is that of the rows of a batch, not of their weights"}
FEW = "a mixture is refused fewer than two rows a feature in each class, and the check has fewer"
CONSTANT = "a feature of the check is constant in a class, and has no variance there"
PENALTY = "weights count at mean 1, and the default penalty by the number of rows"
HELD = "a fifth of the rows of each class chooses the weight of classes, by their place"
UNWEIGHTED = "fairlearn's method takes no weights, and says so"
BEFORE = "the score is that before the thresholds of groups"
ABOVE = "the first column is the score, and nothing is learned but thresholds under constraints"
#: Where no offers are given they are the last column.
OFFERS = {"check_estimators_pickle": "an offer cannot be missing"}
#: Options with which the checks of a class go by their small tables.
SMALL = {
    "BoostedClassifier": {"max_iter": 5},
    "CostingClassifier": {"models": 3},
    "GenerativeClassifier": {"components": 1, "n_init": 2},
    "ShiftedMixtureClassifier": {"components": 1},
    "TwoSourceClassifier": {"components": 1},
    "TiltedClassifier": {"folds": 2, "delta": {"by": "em"}},
    "OnePassRegressor": {"low": -1e3, "high": 1e3},
    "NeymanPearsonSVM": {"target": 0.5},
    "ReductionsClassifier": {"fits": 5},
    "ShiftedThreshold": {"constraint": "coverage(everyone) <= 0.99"},
    "PredictiveChoiceModel": {"n_init": 2, "most_components": 2},
    "GaussianMixtureSelector": {"components": 1, "n_init": 2},
}
#: Checks that fail, by class, and why.
EXPECTED = {
    "AdaptedLogistic": FOLDS,
    "CostingClassifier": FOLDS,
    "SubsampledClassifier": FOLDS,
    "TiltedClassifier": {WEIGHTS: "the folds of its two-row classes leave a class out"},
    "JointClassifier": {
        WEIGHTS: "weights are of labeled rows; the population counts each row once"
    },
    "BudgetedClassifier": {
        "check_classifiers_train": "where both classes have 1/2 it says the second"
    },
    "GenerativeClassifier": {
        "check_n_features_in_after_fitting": FEW,
        "check_dtype_object": FEW,
        "check_estimators_nan_inf": FEW,
        WEIGHTS: FEW,
        "check_sample_weights_shape": CONSTANT,
        "check_sample_weights_not_overwritten": CONSTANT,
    },
    "ShiftedMixtureClassifier": {
        "check_n_features_in_after_fitting": FEW,
        "check_dtype_object": FEW,
        "check_estimators_dtypes": FEW,
        "check_estimators_nan_inf": FEW,
    },
    "GaussianMixtureSelector": {
        "check_n_features_in_after_fitting": FEW,
        "check_dtype_object": FEW,
        "check_estimators_nan_inf": FEW,
    },
    "TwoSourceClassifier": {WEIGHTS: FEW},
    "OnePassClassifier": SPREAD,
    "OnePassRegressor": SPREAD,
    "CalibratedSubsampleClassifier": FOLDS | {SPARSE: "the same"},
    "CalibratedSubsampleRegressor": FOLDS | {SPARSE: "the same"},
    "ConstrainedClassifier": {WEIGHTS: PENALTY, SPARSE: PENALTY},
    "ShiftedThreshold": {WEIGHTS: PENALTY, SPARSE: PENALTY},
    "NeymanPearsonSVM": {WEIGHTS: HELD, SPARSE: HELD},
    **dict.fromkeys(
        ("CovarianceConstraint", "GroupThresholds", "RetrainedClassifier"),
        {WEIGHTS: PENALTY, SPARSE: PENALTY},
    ),
    "ExponentiatedGradientModel": dict.fromkeys((WEIGHTS, SPARSE, OVERWRITTEN), UNWEIGHTED),
    "ThresholdOptimizerModel": {
        **dict.fromkeys((WEIGHTS, SPARSE, OVERWRITTEN), UNWEIGHTED),
        "check_classifiers_train": BEFORE,
    },
    "GivenScores": {"check_classifiers_one_label": ABOVE, "check_classifiers_train": ABOVE},
    **dict.fromkeys(("OfferLogistic", "OfferNaiveBayes", "OfferTree"), OFFERS),
    **dict.fromkeys(("LogitBoost", "LogisticTree", "OfferAdditive"), OFFERS),
    "OfferBoosting": {
        **OFFERS,
        "check_classifiers_train": "what is said may not fall along the last column, the offer",
    },
    "PredictiveChoiceModel": {**OFFERS, WEIGHTS: FEW},
}
#: Options of those that cannot be fitted without named data sets; see `told_sets`.
NEEDS_SETS = {
    "CovarianceConstraint": {"c": 0.1},
    "GroupThresholds": {},
    "RetrainedClassifier": {"batches": ("male", "female"), "steps": 2},
    "ExponentiatedGradientModel": {"max_iter": 3},
    "ThresholdOptimizerModel": {"grid_size": 50},
}


def told_sets(name):
    """A class whose rows are in two data sets by turns, and new rows all in the first of them."""
    cls = getattr(counterweight, name)
    grouped = getattr(cls, "GROUPED", False)

    def fit(self, X, y, sample_weight=None):
        rows = (X if hasattr(X, "shape") else np.asarray(X)).shape[0]
        first = np.arange(rows) // 2 % 2 == 0
        sets = {"male": first, "female": ~first}
        return cls.fit(self, X, y, sample_weight, datasets=sets)

    def predict_proba(self, X):
        rows = self._checked(X).shape[0]
        sets = {"male": np.ones(rows, bool), "female": np.zeros(rows, bool)}
        samples = DataSets(None, np.full(rows, -1), None, sets)
        return cls.predict_proba(self, X, samples=samples)

    methods = {"fit": fit} | ({"predict_proba": predict_proba} if grouped else {})
    return type(name, (cls,), methods | {"__module__": __name__, "__qualname__": f"Told{name}"})


for _name in NEEDS_SETS:
    globals()[f"Told{_name}"] = told_sets(_name)


def is_estimator(name):
    public = getattr(counterweight, name)
    return inspect.isclass(public) and hasattr(public, "get_params") and hasattr(public, "fit")


@pytest.mark.filterwarnings("ignore:No row is unlabeled")
@pytest.mark.parametrize("name", [*filter(is_estimator, counterweight.__all__)])
def test_scikit_learn_checks_every_public_estimator(name):
    if name in NEEDS_SETS:
        model = globals()[f"Told{name}"](**NEEDS_SETS[name])
    else:
        model = getattr(counterweight, name)(**SMALL.get(name, {}))
    check_estimator(model, on_skip=None, expected_failed_checks=EXPECTED.get(name, {}))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    return X, (X[:, 0] + rng.normal(size=400) > 0).astype(int)


def test_labels_may_be_texts(rows):
    X, y = rows
    words = np.array(["no", "yes"])[y]
    coded, worded = (LogisticModel().fit(X, labels) for labels in (y, words))
    np.testing.assert_array_equal(worded.coef_, coded.coef_)
    assert worded.classes_.tolist() == ["no", "yes"] and coded.classes_.tolist() == [0, 1]
    assert set(worded.predict(X)) == {"no", "yes"}
    assert worded.score(X, words) == coded.score(X, y)


@pytest.mark.parametrize("hidden", [np.nan, None, pd.NA])
def test_rows_without_a_label_are_the_unlabeled_ones(rows, hidden):
    X, y = rows
    some = y.astype(object)
    some[300:] = hidden
    plain = LogisticModel().fit(X, some, sample_weight=np.arange(1.0, 401.0))
    alone = LogisticModel().fit(X[:300], y[:300], np.arange(1.0, 301.0))
    np.testing.assert_array_equal(plain.coef_, alone.coef_)
    joint = JointClassifier().fit(X, some)
    told = JointClassifier().fit(X[:300], y[:300], X_unlabeled=X[300:])
    np.testing.assert_array_equal(joint.coef_, told.coef_)
    with pytest.raises(CounterweightError, match="given twice"):
        JointClassifier().fit(X, some, X_unlabeled=X)
    with pytest.raises(CounterweightError, match="no row has a label"):
        LogisticModel().fit(X, np.full(400, hidden, dtype=object))


def test_where_all_rows_are_labeled_the_population_is_like_them(rows):
    X, y = rows
    with pytest.warns(UserWarning, match="No row is unlabeled"):
        joint = JointClassifier().fit(X, y)
    np.testing.assert_allclose(joint.selection_coef_, 0.0, atol=0.05)
    plain = LogisticRegression(C=np.inf).fit(X, y)
    np.testing.assert_allclose(joint.coef_[0], plain.coef_[0], rtol=0.05)


def test_the_start_models_of_the_shift_are_fitted_where_they_are_not_given(rows):
    X, y = rows
    some = np.where(np.arange(400) < 300, y, np.nan)
    model = ShiftedMixtureClassifier(components=1, start="labeled", iterations=0).fit(X, some)
    assert model.selected_share_ == 0.75 and model.decisions_moved_ == 0
    by_weight = ShiftedMixtureClassifier(components=1).fit(X, some)
    assert (by_weight.predict_proba(X) != model.predict_proba(X)).any()


def test_chance_goes_by_the_random_state(rows):
    X, y = rows
    first, again, other = (AdaptedLogistic(random_state=k).fit(X, y).losses_ for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    given = AdaptedLogistic().fit(X, y, rng=np.random.default_rng(2)).losses_
    np.testing.assert_array_equal(given, other)


def test_boosting_takes_missing_values_as_its_trees_do(rows):
    X, y = rows
    X = X.copy()
    X[y == 1, 1] = np.nan
    model = BoostedClassifier(max_iter=20).fit(X, y)
    assert model.score(X, y) == 1
    loaded = BoostedClassifier.from_arrays(model.to_arrays())
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(CounterweightError, match="infinity"):
        model.predict(np.full((1, 2), np.inf))
    with pytest.raises(CounterweightError, match="expecting 2"):
        loaded.predict(X[:, :1])


def test_later_batches_go_by_the_classes_of_the_first(rows):
    X, y = rows
    words = np.array(["no", "yes"])[y]
    model, coded = OnePassClassifier(), OnePassClassifier()
    model.partial_fit(X[:200], words[:200]).partial_fit(
        X[200:][y[200:] == 1], ["yes"] * y[200:].sum()
    )
    coded.partial_fit(X[:200], y[:200]).partial_fit(X[200:][y[200:] == 1], [1] * y[200:].sum())
    np.testing.assert_array_equal(model.coef_, coded.coef_)
    with pytest.raises(CounterweightError, match="1 labels are none of them"):
        model.partial_fit(X[:1], ["perhaps"])
    begun = OnePassClassifier().partial_fit(X[y == 1], words[y == 1], classes=["no", "yes"])
    assert set(begun.predict(X)) == {"yes"}
