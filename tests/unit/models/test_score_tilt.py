"""Tilts of scores: the shift is in the log odds, for those without an outcome alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.score_tilt import ScoreTilt, _for_rate, fitted_tilt

P = np.array([0.1, 0.5, 0.8])


def odds(p):
    return p / (1 - p)


def test_the_odds_of_rows_without_an_outcome_are_multiplied():
    p, low, high = ScoreTilt(np.log(3.0)).moved(None, P, P - 0.05, P + 0.05)
    np.testing.assert_allclose(odds(p), 3 * odds(P))
    np.testing.assert_allclose(odds(low), 3 * odds(P - 0.05))
    np.testing.assert_allclose(odds(high), 3 * odds(P + 0.05))


def test_of_everyone_those_with_an_outcome_keep_theirs():
    chance = SimpleNamespace(predict=lambda rows: np.array([1.0, 0.0, 0.25]))
    p, *_ = ScoreTilt(np.log(2.0), chance=chance).moved(None, P, P, P)
    alone = 2 * odds(P) / (1 + 2 * odds(P))
    np.testing.assert_allclose(p, [P[0], alone[1], 0.25 * P[2] + 0.75 * alone[2]])


def test_a_calibration_moves_the_estimate_and_its_interval_holds_it():
    tilt = ScoreTilt(0.0, slope=2.0, constant=0.5)
    calibrated = tilt.calibrated(P)
    np.testing.assert_allclose(np.log(odds(calibrated)), 0.5 + 2 * np.log(odds(P)))
    p, low, high = tilt.moved(None, P, P, P)
    np.testing.assert_allclose(p, calibrated)
    assert (low <= p).all() and (p <= high).all()
    np.testing.assert_array_equal(ScoreTilt(1.0).calibrated(P), P)


def test_it_comes_back_from_its_arrays():
    tilt = ScoreTilt(0.7, 1.5, -0.2)
    again = ScoreTilt.from_arrays(tilt.to_arrays())
    assert (again.delta, again.slope, again.constant, again.chance) == (0.7, 1.5, -0.2, None)


def test_a_rate_is_met_by_one_shift():
    weight = np.array([1.0, 2.0, 1.0])
    delta = _for_rate(0.6, P, weight)
    moved = odds(P) * np.exp(delta)
    assert np.average(moved / (1 + moved), weights=weight) == pytest.approx(0.6, abs=1e-9)
    with pytest.raises(CounterweightError, match="which no shift of the odds can give"):
        _for_rate(0.6, np.array([0.0, 0.0, 1.0]), np.ones(3))


def test_numbers_and_tables_without_blanks_are_refused():
    told = {"target": "unlabeled", "event": "1", "selection": None}
    number = SimpleNamespace(binary=False)
    with pytest.raises(CounterweightError, match="and this one is a number"):
        fitted_tilt({"times": 2}, number, None, P, P, **told)
    whole = SimpleNamespace(binary=True, labeled=np.ones(3, bool))
    with pytest.raises(CounterweightError, match="and there is none: leave tilt out"):
        fitted_tilt({"times": 2}, whole, None, P, P, **told)


def test_asked_odds_are_told_with_the_rate_that_they_make():
    data = SimpleNamespace(
        binary=True, labeled=np.array([True, False, False, False]), weight=np.ones(4)
    )
    told = {"target": "unlabeled", "event": "late = 1", "selection": None}
    tilt, facts, sentences = fitted_tilt({"times": 2}, data, None, P, P, **told)
    moved = 2 * odds(P)
    assert tilt.delta == pytest.approx(np.log(2)) and tilt.chance is None
    assert facts["by"] == "times" and facts["odds"] == pytest.approx(2)
    assert facts["rate"] == pytest.approx((moved / (1 + moved)).mean())
    assert "the odds of late = 1 among rows without an outcome are 2 times those" in sentences[0]
