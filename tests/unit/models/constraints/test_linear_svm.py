"""The linear SVM against other solvers, and the penalty chosen on held-out rows."""

import numpy as np
import pytest
from counterweight import ConstrainedClassifier
from counterweight.errors import CounterweightError
from counterweight.models.constraints.linear_svm import (
    HingeRows,
    best_penalty,
    group_masks,
    labeled_rows,
)
from counterweight.numerics.rates import DataSets
from scipy import sparse
from svm_rows import loss, world


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_svm_has_the_objective_of_liblinear(form):
    """With u = 2w: 1/2 |u|^2 + C sum max(0, 1 - y u x) is 4/lambda times ours, C = 2/(lambda n)."""
    from sklearn.svm import LinearSVC

    data = world(500, seed=3)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(data))
    X = np.column_stack([data.X, np.ones(len(data))])
    found = HingeRows(form(data.X), data.y, weight, penalty=0.01).solve(tol=1e-9)
    assert 0 <= found.gap <= 1e-9
    cost = weight / weight.sum() * 2 / 0.01
    other = LinearSVC(loss="hinge", fit_intercept=False, tol=1e-10, max_iter=200000)
    w = other.fit(X, data.y, sample_weight=cost).coef_[0] / 2
    value = 0.005 * w @ w + loss(data, X @ w, weight)
    assert found.objective <= value + 1e-8
    assert found.objective == pytest.approx(value, rel=1e-5)
    fitted = np.append(found.coefficient, found.intercept)
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


def test_a_penalty_is_chosen_on_held_out_rows():
    """Noise beside one feature that matters: the largest penalty of those that err least."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((150, 60))
    y = (X[:, 0] + 0.3 * rng.standard_normal(150) > 0).astype(int)
    grid = (1e-6, 1e-2, 1e4)
    chosen = best_penalty(X, y, np.ones(150), None, grid, np.random.default_rng(1))
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


def test_the_gap_is_certified_and_steps_are_counted():
    data = world(300)
    rough, fine = (
        HingeRows(data.X, data.y, np.ones(len(data)), penalty=0.02).solve(tol=tol)
        for tol in (1e-2, 1e-9)
    )
    assert fine.gap <= 1e-9 < rough.gap <= 1e-2
    assert 0 <= rough.objective - fine.objective <= rough.gap
    assert 0 < rough.evaluations < fine.evaluations
    assert HingeRows(data.X, data.y, np.ones(len(data))).penalty == 2 / len(data)
    for wrong in (0.0, -1.0, np.inf, True):
        with pytest.raises(CounterweightError, match="must be a number above 0"):
            HingeRows(data.X, data.y, np.ones(len(data)), penalty=wrong)


def test_a_plane_is_kept_at_its_value_and_a_warm_start_changes_nothing():
    data = world(200)
    hinges = HingeRows(data.X, data.y, np.ones(len(data)), penalty=0.02)
    line = np.array([1.0, -2.0, 0.5])
    free = hinges.solve(tol=1e-8)
    plane = hinges.solve(line, 0.1, tol=1e-8)
    again = hinges.solve(line, 0.1, start=free, tol=1e-8)
    assert line @ plane.coefficient == pytest.approx(0.1)
    assert again.objective == pytest.approx(plane.objective, abs=1e-7)
    assert plane.gap <= 1e-8 and plane.objective > free.objective
    own = hinges.solve(line, line @ free.coefficient, tol=1e-8)
    assert own.objective == pytest.approx(free.objective, abs=1e-7)


def test_groups_have_no_row_in_common_and_are_as_many_as_asked():
    sets = {"a": [True, True, False], "b": [False, False, True], "c": [False, True, True]}
    data = DataSets(np.ones((3, 1)), [0, 1, 1], None, {k: np.array(v) for k, v in sets.items()})
    np.testing.assert_array_equal(group_masks(data, ("a", "b"), 2), [sets["a"], sets["b"]])
    for groups, exactly, message in (
        (("a",), None, "two or more different data sets"),
        (("a", "a"), None, "two or more different"),
        (("a", "b", "c"), 2, "groups must name 2 different"),
        (("a", "c"), None, r"1 rows \(first: row 1\) are in more than one"),
    ):
        with pytest.raises(CounterweightError, match=message):
            group_masks(data, groups, exactly)


def test_rows_to_learn_from_have_a_label_and_a_weight():
    data = DataSets(np.ones((4, 1)), [0, 1, -1, 1], [1.0, 2.0, 1.0, 0.0])
    assert labeled_rows(data).tolist() == [True, True, False, False]
    data.weight[1] = 0.0
    with pytest.raises(CounterweightError, match="has the label 1"):
        labeled_rows(data)
