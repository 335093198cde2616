"""How much of an answer rests on data, and its bounds; by hand."""

import numpy as np
import pytest
from counterweight.evaluation.hidden_labels import ERRORS, TargetRows, slope_ends, support_records
from scipy.special import expit, logit


def _rows(hidden, weight=None, y=(), tested=()):
    n = len(hidden)
    weight = np.ones(n) if weight is None else np.asarray(weight, float)
    y, tested = np.asarray(y, float), np.asarray(tested, int)
    hidden, ones = np.asarray(hidden, bool), np.ones(len(y))
    return TargetRows(np.arange(n), hidden, weight, tested, y, ones, 0 * ones, 0.0)


def _of(records):
    return {(r["metric"], r.get("part", ""), r.get("variable", "")): r["value"] for r in records}


def test_bounds_of_a_rate_by_hand():
    hidden = [False, False, True, True, True]
    rows = _rows(hidden, [1, 1, 2, 2, 4])
    estimate = np.array([1.0, 0.0, 0.5, 0.2, 0.4])
    supported = np.array([False, True, True, True, False])
    slope = np.full(5, 0.1), np.full(5, 0.5)
    found = _of(support_records(rows, estimate, supported, 0.02, binary=True, slope=slope))
    assert found["supported_share", "", ""] == pytest.approx(0.6)
    assert found["supported_share", "unlabeled", ""] == pytest.approx(0.5)
    assert found["unsupported_headline", "", ""] == 1
    mean = (1 + 2 * 0.5 + 2 * 0.2) / 6
    assert found["target_rate", "supported", ""] == pytest.approx(mean)
    assert found["target_rate", "supported", "low"] == pytest.approx(mean - ERRORS * 0.02)
    known, wide = 0.6 * mean, 0.6 * 0.02 * ERRORS
    ends = {
        "worst": (0, 1),
        "gamma=2": (expit(logit(0.4) - np.log(2)), expit(logit(0.4) + np.log(2))),
        "slope": (0.1, 0.5),
    }
    for part, (low, high) in ends.items():
        assert found["target_bounds", part, "low"] == pytest.approx(known + 0.4 * low - wide)
        assert found["target_bounds", part, "high"] == pytest.approx(known + 0.4 * high + wide)


def test_nothing_contradicts_known_outcomes():
    rows = _rows([False] * 8 + [True] * 2)
    estimate = np.r_[np.ones(2), np.zeros(6), 0.05, 0.9]
    supported = np.arange(10) != 9
    found = _of(support_records(rows, estimate, supported, 0.3, binary=True))
    assert found["target_rate", "supported", "low"] == pytest.approx(2 / 9)
    assert found["target_rate", "supported", "high"] == pytest.approx(3 / 9)
    assert found["target_bounds", "worst", "low"] == pytest.approx(0.2)
    assert found["target_bounds", "worst", "high"] == pytest.approx(0.4)


@pytest.mark.parametrize("unsupported", [0, 5, 6])
def test_the_headline_is_bounds_beyond_a_twentieth_without_support(unsupported):
    rows = _rows(np.ones(100, bool))
    supported = np.arange(100) >= unsupported
    found = _of(support_records(rows, np.full(100, 0.5), supported, 0.01, binary=True))
    assert found["unsupported_headline", "", ""] == (unsupported > 5)
    assert (("target_bounds", "worst", "low") in found) == (unsupported > 0)


def test_bounds_of_a_number():
    rows = _rows([False, False, True, True], y=[1.0, 3.0], tested=[0, 1])
    estimate, fitted = np.array([1.0, 3.0, 2.0, 5.0]), np.array([2.0, 2.0, 2.0, 5.0])
    supported = np.array([True, True, True, False])
    options = {"binary": False, "observed": (1.0, 3.0), "out_of_fold": fitted}
    found = _of(support_records(rows, estimate, supported, 0.0, **options))
    assert found["target_mean", "supported", ""] == pytest.approx(2)
    assert found["target_bounds", "worst", "low"] == pytest.approx((6 + 1) / 4)
    assert found["target_bounds", "worst", "high"] == pytest.approx((6 + 3) / 4)
    # Residuals -1 and 1, one of them twice as heavy: their mean is a third.
    assert found["target_bounds", "gamma=2", "low"] == pytest.approx((6 + 5 - 1 / 3) / 4)
    assert found["target_bounds", "gamma=2", "high"] == pytest.approx((6 + 5 + 1 / 3) / 4)


def test_nobody_supported_has_bounds_and_no_supported_part():
    found = _of(
        support_records(
            _rows([True, True]), np.full(2, 0.5), np.zeros(2, bool), np.nan, binary=True
        )
    )
    assert found["target_bounds", "worst", "low"] == 0
    assert found["target_bounds", "worst", "high"] == 1
    assert ("target_rate", "supported", "") not in found


def test_the_ends_of_a_slope_are_where_it_ends_and_twice_as_far():
    X, nearest = np.array([[3.0], [-3.0], [0.5]]), np.array([[1.0], [-1.0], [0.5]])
    low, high = slope_ends(X, nearest, lambda x: 2 * x[:, 0])
    np.testing.assert_allclose(low, [2, -10, 1])
    np.testing.assert_allclose(high, [10, -2, 1])
    np.testing.assert_allclose(slope_ends(X, nearest, lambda x: 2 * x[:, 0], expit)[0], expit(low))
