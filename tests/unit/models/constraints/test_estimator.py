"""What classifiers under constraints share: labels, categories, scores, what is kept."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.estimator import FEW, one_hot, seen_labels, texts_of
from scipy import sparse


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
