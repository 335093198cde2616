"""Groups that a column tells by its size, as further features."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints import feature_maps
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.feature_maps import (
    FeatureMap,
    indicators,
    spread_of,
    thinned,
    told_boxes,
)
from counterweight.models.constraints.linear_svm import GroupThresholds
from counterweight.numerics.rates import DataSets
from scipy import sparse


def aged(n=3000, seed=1):
    """Positives become more likely with age, so that equal coverage costs much."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    X = np.column_stack([rng.normal(size=(n, 4)), age, rng.random(n) < 0.5])
    score = X[:, :3].sum(axis=1) + 0.06 * (age - 45) + rng.logistic(size=n)
    return X, (score > 1.5).astype(int), age >= 40


OPTIONS = {"constraints": ["coverage(old) <= coverage(young) / kappa"], "standardise": True}


def test_a_range_of_a_column_is_told_and_chance_is_not():
    X, _, old = aged()
    middle = (X[:, 4] >= 30) & (X[:, 4] < 50)
    told = told_boxes(X, [old, ~old, middle])
    assert told.tolist() == [[0, 4, 39.5, np.inf], [1, 4, 29.5, 49.5]]
    assert (indicators(X, told) == np.column_stack([old, middle])).all()
    assert told_boxes(sparse.csr_matrix(X), [old, middle]).tolist() == [
        [0, 4, 39.5, np.inf],
        [1, 4, 29.5, 49.5],
    ]
    two = X[:, 5] == 1
    assert not len(told_boxes(X, [two, np.random.default_rng(0).random(len(X)) < 0.5]))
    # Beside a map of the features the line does not see the column itself.
    assert told_boxes(X, [two], linear=False).tolist() == [[0, 5, 0.5, np.inf]]
    # Two rows next to each other in a column are no group that it tells, forty are.
    low = np.sort(X[:, 0])
    assert not len(told_boxes(X, [X[:, 0] >= low[-2]]))
    assert len(told_boxes(X, [(X[:, 0] >= low[-400]) & (X[:, 0] < low[-360])])) == 1


def test_boxes_of_a_group_are_told_of_its_complement_only_where_there_are_none():
    X, _, old = aged()
    both = old & (X[:, 5] == 1)  # one box; what is left are two
    by_chance = np.random.default_rng(0).random(len(X)) < 0.5
    alone = told_boxes(X, [both])
    assert len(alone) and len(told_boxes(X, [~both]))
    np.testing.assert_array_equal(told_boxes(X, [by_chance, ~by_chance, both, ~both]), alone)


def test_no_result_is_behind_thresholds_of_groups_that_a_column_tells():
    kappa = 1.0
    X, y, old = aged(2000)
    sets = {"old": old, "young": ~old}
    samples = DataSets(X, y, members=sets)
    best = GroupThresholds(kappa=kappa, groups=("old", "young"), standardise=True)
    best = np.mean(best.fit(samples=samples).predict(X, samples=samples) != y)

    def errors(**options):
        model = ConstrainedClassifier(**OPTIONS, kappa=kappa, **options)
        p = model.fit(X, y, datasets=sets).predict_proba(X)[:, 1]
        assert all(one.verdict == "kept" for one in model.constraint_checks_)
        return np.mean(np.where(y == 1, 1 - p, p)), np.mean(model.predict(X) != y)

    assert max(errors()) <= best + 1e-3
    assert min(errors(group_features="none")) > best + 1e-3


@pytest.mark.parametrize("features", ["none", "fourier"])
@pytest.mark.parametrize("linear", [False, True])
def test_new_rows_and_kept_models_have_the_indicator_from_the_column(features, linear):
    X, y, old = aged(800)
    options = OPTIONS | {"kappa": 0.9, "features": features, "linear_part": linear}
    model = ConstrainedClassifier(**options, feature_count=20, steps=2)
    model.fit(X, y, datasets={"old": old, "young": ~old})
    assert model.n_features_in_ == 6 and len(model.boxes) == 1
    new = aged(200, seed=5)[0]
    wanted = model.decision_function(new)
    loaded = ConstrainedClassifier.from_arrays(model.to_arrays())
    assert np.array_equal(loaded.decision_function(new), wanted)
    assert loaded.n_features_in_ == 6 and loaded.linear_part == (linear and features != "none")
    assert np.allclose(model.decision_function(sparse.csr_matrix(new)), wanted, atol=1e-9)
    jump = np.tile(new[:1], (2, 1))
    jump[:, 4] = 39.4, 39.6
    if features == "none":
        step = np.diff(model.decision_function(jump)).item()
        assert step == pytest.approx(0.2 * model.coef_[4] + model.coef_[6])


def test_rows_of_tables_of_their_own_do_not_hide_a_group():
    X, y, old = aged(800)
    sets = {"old": old, "young": ~old, "new": (aged(50, seed=3)[0], None)}
    model = ConstrainedClassifier(**OPTIONS, kappa=0.9, steps=1).fit(X, y, datasets=sets)
    assert model.boxes.tolist() == [[0, 4, 39.5, np.inf]]


def test_groups_of_several_columns_are_told_by_boxes_and_sums_of_columns_need_none():
    X, _, old = aged()
    kind = np.random.default_rng(2).integers(0, 6, len(X))
    X = np.column_stack([X, np.eye(6)[kind]])
    two = X[:, 5] == 1
    ends = (X[:, 4] < 25) | (X[:, 4] >= 70)
    for mask in (old & two, ends, old | np.isin(kind, (1, 3))):
        boxes = told_boxes(X, [mask])
        assert (indicators(X, boxes).sum(axis=1) == mask).all() and len(boxes)
        assert (told_boxes(sparse.csr_matrix(X), [mask]) == boxes).all()
    assert not len(told_boxes(X, [np.isin(kind, (1, 3, 4))]))
    assert len(told_boxes(X, [np.isin(kind, (1, 3, 4))], linear=False))
    assert not len(told_boxes(X, [np.random.default_rng(0).random(len(X)) < 0.02]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_group_that_parts_equal_rows_is_told_without_a_tree(form, monkeypatch):
    X, _, old = aged()
    grown = []
    monkeypatch.setattr(feature_maps, "_tree", lambda *told: grown.append(told) or [])
    ends = (X[:, 4] < 25) | (X[:, 4] >= 70)
    assert not len(told_boxes(form(X), [ends])) and len(grown) == 1
    twice, ends = np.vstack([X, X[:1]]), np.append(ends, ~ends[0])
    assert not len(told_boxes(form(twice), [ends])) and len(grown) == 1


def test_random_features_have_the_kernel_as_their_product():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1.0, 10.0, 0.1]
    drawn = FeatureMap(40_000, 1.5).fit(X, rng)
    Z = drawn.transform(X)
    apart = (X[:, None] - X[None]) / X.std(axis=0)
    kernel = np.exp(-(apart**2).sum(axis=2) / (2 * 1.5**2))
    np.testing.assert_allclose(Z @ Z.T, kernel, atol=0.03)
    again = FeatureMap.from_arrays(drawn.to_arrays())
    np.testing.assert_array_equal(again.transform(X), Z)
    squares = (apart**2).sum(axis=2)[np.triu_indices(40, 1)]
    assert FeatureMap(5).fit(X, rng).scale_ == pytest.approx(np.sqrt(np.median(squares)))
    assert FeatureMap(5).fit(np.ones((4, 2)), rng).scale_ == 1.0
    assert FeatureMap(1, 0.1).fit(X, rng).transform(X).shape == (40, 1)
    for count, scale in ((0, None), (5, 0.0)):
        with pytest.raises(CounterweightError, match="at least 1"):
            FeatureMap(count, scale).fit(X, rng)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_constant_features_have_the_deviation_1(form):
    X = np.column_stack([np.arange(6.0), np.full(6, 3.0), [0, 0, 0, 0, 0, 2.0]])
    deviation, mean = spread_of(form(X))
    np.testing.assert_allclose(deviation, [X[:, 0].std(), 1.0, X[:, 2].std()])
    np.testing.assert_allclose(mean, X.mean(axis=0))


def test_what_differs_by_rounding_alone_is_constant():
    X = np.tile([[1e9], [1e9 + 1e-6]], (3, 1))
    assert X.std() > 0 and spread_of(X)[0].tolist() == [1.0]
    assert spread_of(X - 1e9)[0][0] == pytest.approx((X - 1e9).std())


def test_rows_of_which_a_quarter_is_not_0_stay_dense():
    rows = np.zeros((4, 4))
    rows[:, 0] = 1.0
    assert isinstance(thinned(rows), np.ndarray)
    rows[0, 0] = 0.0
    assert sparse.issparse(thinned(rows))


def test_a_box_holds_its_upper_ends_and_not_its_lower_ones():
    X = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0], [2.0, 6.0]])
    boxes = np.array([[0, 0, 1.0, 3.0], [0, 1, -np.inf, 5.0], [1, 0, 2.0, np.inf]])
    told = [[0, 0], [1, 0], [1, 1], [0, 0]]
    np.testing.assert_array_equal(indicators(X, boxes), told)
    np.testing.assert_array_equal(indicators(sparse.csr_matrix(X), boxes), told)
