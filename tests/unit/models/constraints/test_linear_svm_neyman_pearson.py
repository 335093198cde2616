"""SVM with weights of classes by the Neyman-Pearson criterion."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.linear_svm import NeymanPearsonSVM, ShiftedThreshold
from counterweight.numerics.rates import DataSets
from scipy.special import ndtr, ndtri


def normals(rows, seed=0, share=0.3):
    """Two normal classes a distance of 2 apart along the first of two features."""
    rng = np.random.default_rng(seed)
    y = (rng.random(rows) < share).astype(np.int8)
    X = rng.normal(size=(rows, 2))
    X[:, 0] += 2.0 * y
    return X, y


def rates(model, X, y):
    positive = model.predict(X) == 1
    return positive[y == 0].mean(), (~positive)[y == 1].mean()


@pytest.mark.parametrize("target", [0.05, 0.1, 0.2])
def test_false_alarms_of_new_rows_are_near_the_bound_and_misses_near_the_least(target):
    X, y = normals(20_000)
    shares = tuple(np.round(np.geomspace(0.02, 0.7, 25), 6))
    model = NeymanPearsonSVM(target, shares).fit(X, y, rng=np.random.default_rng(1))
    alarms, missed = rates(model, *normals(200_000, seed=2))
    # The grid is coarse: at a given rate of false alarms no rule misses less than this.
    least = ndtr(ndtri(1 - alarms) - 2.0)
    assert missed < least + 0.01
    assert 0.6 * target < alarms < 1.2 * target


def test_the_share_of_the_rows_is_the_svm_without_weights():
    X, y = normals(1000)
    model = NeymanPearsonSVM(0.1, (float(y.mean()),)).fit(X, y)
    plain = ShiftedThreshold("coverage(everyone) <= 1").fit(samples=DataSets(X, y, None, {}))
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-3)
    assert model.objective_ == pytest.approx(plain.objective_, abs=2e-6)


def test_the_criterion_is_least_on_the_fifth_that_was_held_out():
    X, y = normals(2000)
    order = np.random.default_rng(5).permutation(len(y))
    parts = [order[y[order] == label] for label in (0, 1)]
    held = np.concatenate([part[: len(part) // 5] for part in parts])
    kept = np.setdiff1d(order, held)
    model = NeymanPearsonSVM(0.08).fit(X, y, rng=np.random.default_rng(5))
    found = {}
    for share in model.shares:
        # The same weights by the rows' own: one share then remains, that of the rows.
        weight = np.where(y == 1, share / y[kept].sum(), (1 - share) / (1 - y[kept]).sum())
        data = DataSets(X[kept], y[kept], weight[kept], {})
        svm = ShiftedThreshold("coverage(everyone) <= 1", penalty=2 / len(kept)).fit(samples=data)
        alarms, missed = rates(svm, X[held], y[held])
        found[share] = max(alarms - 0.08, 0) / 0.08 + missed
    assert model.criterion_ == pytest.approx(min(found.values()), abs=0.02)
    assert found[model.share_] == pytest.approx(min(found.values()), abs=0.02)


def test_a_sweep_of_bounds_gives_what_single_fits_give():
    X, y = normals(1500)
    data = DataSets(X, y, None, {})
    swept = [
        NeymanPearsonSVM(target).fit(samples=data, rng=np.random.default_rng(3))
        for target in (0.02, 0.1)
    ]
    alone = NeymanPearsonSVM(0.1).fit(X, y, rng=np.random.default_rng(3))
    assert swept[0].share_ <= swept[1].share_
    np.testing.assert_array_equal(swept[1].coef_, alone.coef_)


def test_rows_too_few_to_hold_some_out_are_told():
    X, y = normals(8, share=0.0)
    y[:1] = 1
    with pytest.raises(CounterweightError, match="more labeled rows are needed"):
        NeymanPearsonSVM(0.1).fit(X, y)
