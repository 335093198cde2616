"""Boosted trees as arrays predict what scikit-learn's own do."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.boosted_trees import (
    fit_trees,
    raw_along,
    raw_and_parts,
    raw_predict,
    trees_to_arrays,
)
from counterweight.tables.saved_form import read_saved, write_saved
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def table(rng, n, missing=0.1):
    """Numbers, few values, two features of categories; values missing at random."""
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 5, n),
            rng.integers(0, 40, n) * 3.0 - 7,
            rng.exponential(size=n),
            rng.integers(0, 3, n),
            rng.normal(size=n).round(1),
        ]
    )
    X[rng.random(X.shape) < missing] = np.nan
    return X


CATEGORICAL = {"none": None, "mask": [False, False, True, False, True, False]}


@pytest.mark.parametrize("categorical", CATEGORICAL)
@pytest.mark.parametrize("leaves", [2, 31, 150])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_predictions_are_those_of_scikit_learn_to_the_last_bit(categorical, leaves, missing):
    rng = np.random.default_rng(leaves)
    X = table(rng, 3000, missing)
    strange = np.nan_to_num(X[:, 2]) % 4 + np.nan_to_num(X[:, 0]) ** 2 - np.isnan(X[:, 3])
    options = {
        "max_iter": 12,
        "max_leaf_nodes": leaves,
        "min_samples_leaf": 2,
        "categorical_features": CATEGORICAL[categorical],
        "early_stopping": False,
    }
    fresh = table(rng, 5000, 0.1)
    fresh[:50, 2] = rng.choice([-8.0, 1000.0, 0.5, -1.0], 50)
    fresh[50:60, 0] = [np.inf, -np.inf] * 5

    number = strange + rng.normal(size=3000)
    model = HistGradientBoostingRegressor(**options).fit(X, number)
    arrays, told = trees_to_arrays(model), model.predict(fresh)
    assert np.array_equal(raw_predict(arrays, fresh), told)
    # Few rows walk through the trees.
    for some in (slice(0, 900), slice(4000, 5000), slice(55, 56), slice(0)):
        assert np.array_equal(raw_predict(arrays, fresh[some]), told[some])

    model = HistGradientBoostingClassifier(**options).fit(X, strange > 1.5)
    raw = raw_predict(trees_to_arrays(model), fresh)
    assert np.array_equal(raw, model.decision_function(fresh))
    assert np.array_equal(expit(raw), model.predict_proba(fresh)[:, 1])
    assert np.array_equal(raw > 0, model.predict(fresh))


@pytest.mark.parametrize("leaves", [2, 31, 150])
def test_what_features_contribute_adds_up(leaves):
    """Of a tree of one split it is the step from the mean of the rows to that of the leaf."""
    rng = np.random.default_rng(leaves)
    X = table(rng, 3000)
    y = np.nan_to_num(X[:, 0]) ** 2 + np.nan_to_num(X[:, 2]) % 4 + rng.normal(size=3000)
    model = HistGradientBoostingRegressor(max_iter=8, max_leaf_nodes=leaves).fit(X, y)
    arrays = trees_to_arrays(model)
    raw, base, parts = raw_and_parts(arrays, X)
    assert np.array_equal(raw, raw_predict(arrays, X))
    np.testing.assert_allclose(base + parts.sum(axis=1), raw, atol=1e-10)
    assert base == pytest.approx(raw.mean())
    only = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2).fit(X[:, [0]], y)
    raw, base, parts = raw_and_parts(trees_to_arrays(only), X[:, [0]])
    np.testing.assert_allclose(parts[:, 0], raw - base, atol=1e-12)
    assert len(np.unique(parts)) == 2


def test_a_split_on_what_is_missing_alone():
    X = np.array([[1.0, 0.0]] * 40 + [[np.nan, 0.0]] * 40)
    y = np.r_[np.zeros(40), np.ones(40)]
    model = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1).fit(X, y)
    rows = np.array([[np.inf, 0.0], [np.nan, np.nan], [-5.0, 3.0]])
    assert np.array_equal(raw_predict(trees_to_arrays(model), rows), model.predict(rows))


def test_batches_and_order_change_nothing():
    rng = np.random.default_rng(5)
    X = table(rng, 20_000)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X[:2000], X[:2000, 0] > 0)
    arrays = trees_to_arrays(model)
    raw = raw_predict(arrays, X)
    order = rng.permutation(len(X))
    assert np.array_equal(raw_predict(arrays, X[order]), raw[order])
    assert np.array_equal(
        np.concatenate([raw_predict(arrays, X[i : i + 1]) for i in range(9)]), raw[:9]
    )


def test_trees_survive_a_file(tmp_path):
    rng = np.random.default_rng(6)
    X = table(rng, 2000)
    for categorical in CATEGORICAL.values():
        model = HistGradientBoostingRegressor(max_iter=4, categorical_features=categorical)
        model.fit(X, rng.normal(size=2000))
        write_saved(tmp_path / "model.parquet", "trees", {}, trees_to_arrays(model))
        again = read_saved(tmp_path / "model.parquet").arrays
        assert np.array_equal(raw_predict(again, X), model.predict(X))


def test_a_constant_outcome_has_trees_of_one_leaf():
    X = np.arange(30.0)[:, None]
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, np.full(30, 2.5))
    assert np.array_equal(raw_predict(trees_to_arrays(model), X), model.predict(X))


def test_what_cannot_be_stored_is_refused():
    rng = np.random.default_rng(7)
    X = table(rng, 300)
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, rng.integers(0, 3, 300))
    with pytest.raises(CounterweightError, match="3 classes"):
        trees_to_arrays(model)
    import pandas as pd

    frame = pd.DataFrame(
        {"a": rng.normal(size=300), "b": pd.Categorical(rng.choice(["x", "y"], 300))}
    )
    model = HistGradientBoostingRegressor(max_iter=2).fit(frame, frame["a"])
    with pytest.raises(CounterweightError, match="no numbers"):
        trees_to_arrays(model)
    model = HistGradientBoostingRegressor(max_iter=2).fit(X, rng.normal(size=300))
    with pytest.raises(CounterweightError):
        raw_predict(trees_to_arrays(model), X[:, :3])


def test_bins_that_no_weight_moves_end_in_splits_between_values():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(2000, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 5, 2000)
    y, weight = (np.nan_to_num(X[:, 0]) > 0.3).astype(int), rng.random(2000)
    options = {"max_iter": 20, "learning_rate": 0.1, "max_leaf_nodes": 8, "min_samples_leaf": 20}
    told = {"options": options, "categorical": np.array([False, False, True]), "bins": 32}
    model = fit_trees(X, y, weight, **told, weigh_bins=False)
    arrays = trees_to_arrays(model)
    coarse = X.copy()
    for feature, edges in model.edges_.items():
        seen = ~np.isnan(X[:, feature])
        coarse[seen, feature] = np.searchsorted(edges, X[seen, feature])
        assert len(edges) == 31
    assert sorted(model.edges_) == [0, 1]
    assert raw_predict(arrays, X) == pytest.approx(model._raw_predict(coarse).ravel(), abs=1e-12)


def test_weights_that_are_all_alike_are_none():
    X, y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2
    options = {"max_iter": 5, "learning_rate": 0.1, "max_leaf_nodes": 4, "min_samples_leaf": 20}
    fits = [fit_trees(X, y, weight, options=options) for weight in (None, np.full(300, 3.0))]
    assert (fits[0]._raw_predict(X) == fits[1]._raw_predict(X)).all()


@pytest.mark.parametrize("leaves", [2, 15])
def test_along_a_feature_sums_are_those_of_rows_that_have_its_values(leaves):
    rng = np.random.default_rng(leaves)
    X = table(rng, 300, missing=0.0)
    y = X[:, 0] * X[:, 5] + np.sin(X[:, 5]) + (X[:, 1] > 2)
    model = HistGradientBoostingRegressor(max_iter=12, max_leaf_nodes=leaves).fit(X, y)
    arrays = trees_to_arrays(model)
    edges = np.unique(model._predictors[0][0].nodes["num_threshold"])
    values = np.concatenate([[-9.0, 9.0], np.linspace(-2, 2, 17), edges])
    found = raw_along(arrays, X[:40], values)
    for at, value in enumerate(values):
        moved = np.column_stack([X[:40, :-1], np.full(40, value)])
        np.testing.assert_allclose(found[:, at], raw_predict(arrays, moved), atol=1e-10)
