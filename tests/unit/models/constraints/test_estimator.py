"""What classifiers under constraints share: labels, categories, scores, what is kept."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.estimator import (
    FEW,
    RateEstimator,
    one_hot,
    seen_labels,
    texts_of,
)
from counterweight.numerics.rates import DataSets
from scipy import sparse
from scipy.stats import norm


@pytest.mark.parametrize(
    ("y", "codes", "classes"),
    [
        ([0, 1, 1], [0, 1, 1], [0, 1]),
        ([0, 1, -1], [0, 1, -1], [0, 1]),
        ([0.0, 1.0, np.nan], [0, 1, -1], [0, 1]),
        (["no", "yes", None], [0, 1, -1], ["no", "yes"]),
        ([3, 7, 3], [0, 1, 0], [3, 7]),
    ],
)
def test_labels_are_1_and_0_and_hidden_ones_minus_1(y, codes, classes):
    found, known = seen_labels(np.array(y, dtype=object if None in y else None))
    assert found.tolist() == codes and known.tolist() == classes


def test_minus_1_alone_beside_1_is_a_class_and_no_label_is_refused():
    with pytest.warns(UserWarning, match="-1 is the negative class"):
        found, classes = seen_labels(np.array([-1, 1, 1]))
    assert found.tolist() == [0, 1, 1] and classes.tolist() == [-1, 1]
    with pytest.raises(CounterweightError, match="no row has a label"):
        seen_labels(np.array([np.nan, np.nan]))


def test_texts_are_categories_up_to_half_of_the_rows():
    half = pd.DataFrame({"kind": [f"k{i // 2}" for i in range(FEW)], "size": range(FEW)})
    assert one_hot(half).transform(half).shape == (FEW, FEW // 2 + 1)
    more = half.assign(kind=[f"k{i // 2}" for i in range(FEW - 1)] + ["other"])
    with pytest.raises(CounterweightError, match="tells rows, not kinds"):
        one_hot(more)
    few = more.iloc[1:]
    assert one_hot(few) is not None
    assert one_hot(few[["size"]]) is None and one_hot(few.to_numpy()) is None
    assert one_hot(pd.DataFrame({"a": ["1", "2.5"], "b": [True, False]})) is None


def rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 4.0, 0.2] + [0.0, 2.0, 1.0]
    return X, (X[:, 0] + 0.1 * X[:, 1] + 0.5 * rng.normal(size=n) > 0.2).astype(int)


def test_the_score_is_in_units_of_the_features_and_its_length_in_the_solvers():
    X, y = rows()
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    model, plain = (
        ConstrainedClassifier(standardise=one, steps=2).fit(Z, y)
        for one, Z in ((True, X), (False, scaled))
    )
    f = model.decision_function(X)
    np.testing.assert_allclose(f, X @ model.coef_ + model.intercept_)
    np.testing.assert_allclose(f, plain.decision_function(scaled), atol=1e-6)
    length = np.hypot(np.linalg.norm(plain.coef_), plain.intercept_)
    assert model.norm_ == pytest.approx(length, rel=1e-5)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], np.clip(0.5 + f, 0, 1))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), p[:, 1] > 0.5)


def test_kept_numbers_bring_the_model_back():
    X, y = rows()
    for options in ({"features": "fourier", "feature_count": 7}, {}):
        for linear in (False, True) if options else (False,):
            model = ConstrainedClassifier(linear_part=linear, steps=2, **options).fit(X, y)
            again = ConstrainedClassifier.from_arrays(model.to_arrays())
            assert again.n_features_in_ == 3 and again.linear_part == linear
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
            assert isinstance(again.evaluations_, int) and isinstance(again.feasible_, bool)


def test_mostly_empty_rows_are_scaled_as_dense_ones_are():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 6)) * (rng.random((300, 6)) < 0.1)
    X[0] = 0.0
    y = (X.sum(axis=1) + 0.1 * rng.normal(size=300) > 0).astype(int)
    dense = ConstrainedClassifier(standardise=True, steps=2).fit(X, y)
    few = ConstrainedClassifier(standardise=True, steps=2).fit(sparse.csr_matrix(X), y)
    np.testing.assert_allclose(dense.predict_proba(X), few.predict_proba(X), atol=0.02)


def test_names_of_before_are_answered_with_a_warning():
    X, y = rows()
    model = ConstrainedClassifier(constraints=["coverage(everyone) <= 0.4"], steps=2).fit(X, y)
    with pytest.warns(FutureWarning, match="promises_ is now constraint_checks_"):
        assert model.promises_ == model.constraint_checks_
    with pytest.warns(FutureWarning, match="test_promises is now check_constraints"):
        told = model.test_promises(X, y)
    assert {one.rows for one in told} == {"test"}
    assert [one.constraint for one in told] == ["coverage(everyone) <= 0.4"] * 2
    with pytest.raises(AttributeError, match="no attribute 'promise_'"):
        model.promise_  # noqa: B018


def test_one_constraint_and_several_are_texts():
    assert texts_of({"constraints": ["a", "b"], "constraint": "c"}) == ["a", "b", "c"]
    assert texts_of({"constraints": None, "constraint": ""}) == []


def test_beside_a_map_only_the_features_are_standardised():
    X, y = rows()
    model = ConstrainedClassifier(
        features="fourier", feature_count=5, linear_part=True, standardise=True, steps=2
    ).fit(X, y)
    made, scale, centre = model._solver_rows(X)
    np.testing.assert_allclose(made[:, :3], (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-12)
    np.testing.assert_allclose(made * scale + centre, model._mapped(X), atol=1e-12)
    np.testing.assert_allclose(scale[:3], X.std(axis=0))
    part = np.arange(len(X)) % 2 == 0
    np.testing.assert_allclose(model._solver_rows(X, part)[0], made[part])


class Chances(RateEstimator):
    """Answers with chances p, whatever the rows; at most half of all may be positive."""

    n_features_in_, coef_ = 1, np.zeros(1)

    def __init__(self, p, **more):
        self.p, self.constraints = p, ["coverage(everyone) <= 0.5"]
        vars(self).update(more)

    def predict_proba(self, X):
        return np.column_stack([1 - self.p, self.p])


def test_checks_are_of_chances_and_of_decisions_at_a_half():
    p = np.tile([0.5, 0.6, 0.9, 0.2, 0.8], 100)
    model, y, X = Chances(p), np.tile([0, 1, 1, 0, 1], 100), np.zeros((500, 1))
    decided, drawn = model.check_constraints(X, y)
    assert [one.rule for one in (decided, drawn)] == ["deterministic", "randomised"]
    assert (decided.left, drawn.left) == (0.6, pytest.approx(p.mean()))
    assert decided.excess == pytest.approx(0.1) and decided.right == 0.5
    wide = model.check_constraints(X, y, level=0.99)[0]
    # Ends of normal intervals stand off by quantiles; little is added for few rows.
    ratio = (wide.high - wide.low) / (decided.high - decided.low)
    assert ratio == pytest.approx(norm.ppf(0.995) / norm.ppf(0.975), rel=5e-3)


def test_labels_of_other_classes_are_read_as_those_of_the_fit():
    model = Chances(np.array([0.9, 0.2, 0.8, 0.1]), classes_=np.array(["no", "yes"]))
    model.constraints = ["recall(labeled) >= 0.9"]
    y, X = np.array(["yes", "no", "no", "yes"]), np.zeros((4, 1))
    assert model.check_constraints(X, y)[0].left == 0.5
    with pytest.raises(CounterweightError, match="Labels must be of the classes 'no', 'yes'|no"):
        model.check_constraints(X, np.array(["yes", "no", "no", "maybe"]))


@pytest.mark.parametrize(("p", "answer"), [(0.9, "yes"), (0.1, "no"), (None, "")])
def test_one_answer_to_all_training_rows_is_told(p, answer, caplog):
    X, y = rows(20)
    chances = np.linspace(0, 1, 20) if p is None else np.full(20, p)
    model, samples = Chances(chances), DataSets(X[:, :1], y)
    model._check_training(samples)
    assert model.one_answer_ == answer and model.constraint_checks_[0].rows == "training"
    said = [one for one in model.warnings_ if "all training rows" in one]
    assert bool(said) == bool(answer)
    assert not said or said[0].endswith(f"all training rows have a {answer}.")
    assert (said[0] in caplog.text) if said else not caplog.records
    # The answers of the fit are given once, then asked for anew.
    seen, again = model.training_answers(samples), model.training_answers(samples)
    assert seen[0] is not again[0] and (seen[0] == again[0]).all() and again[1] is None
    model.repair_ = {"excess_before": {"a": 0.1}, "missed": []}
    assert any("none costs less" in one for one in model.warnings_) == bool(answer)
    for done in (
        {"excess_before": {"a": 0.0}, "missed": []},
        {"excess_before": {"a": 0.1}, "missed": ["a"]},
    ):
        model.repair_ = done
        assert not any("none costs less" in one for one in model.warnings_)
    model.collapsed_ = True
    assert not any("all training rows" in one for one in model.warnings_)


def test_settings_share_a_fit_where_only_numbers_of_constraints_differ():
    texts = ["coverage(everyone) <= kappa"]
    same = [{"constraints": texts, "kappa": kappa, "steps": 2} for kappa in (0.4, 0.6)]
    models = ConstrainedClassifier._swept(same)
    assert [model.kappa for model in models] == [0.4, 0.6]
    assert ConstrainedClassifier._swept([same[0], same[1] | {"steps": 3}]) is None
    for own in ({"confidence": 0.9}, {"held_out": 0.3}):
        assert ConstrainedClassifier._swept([one | own for one in same]) is None
    with pytest.raises(CounterweightError, match="steps"):
        ConstrainedClassifier._swept([one | {"steps": 0} for one in same])


def test_what_cannot_be_fitted_or_set_is_told():
    X, y = rows(30)
    with pytest.raises(CounterweightError, match="There is no option 'step'"):
        ConstrainedClassifier().set_params(step=3)
    for asked in ({}, {"X": X}, {"y": y}):
        with pytest.raises(CounterweightError, match="fit needs X and y, or samples"):
            ConstrainedClassifier().fit(**asked)
    with pytest.raises(CounterweightError, match=r"Found array with 0 feature\(s\)"):
        ConstrainedClassifier().fit(X[:, :0], y)
