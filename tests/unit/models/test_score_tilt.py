"""Tilts of scores: the shift is in the log odds, for those without an outcome alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.score_tilt import ScoreTilt, _for_rate, fitted_tilt
from counterweight.numerics.linear import expit

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


def rows_of(y, blanks, **more):
    """A table whose first rows have the outcomes y, and what a method foretold of them."""
    n = len(y) + blanks
    data = SimpleNamespace(
        binary=True,
        labeled=np.arange(n) < len(y),
        weight=np.ones(n),
        y=np.r_[y, np.full(blanks, np.nan)],
        **more,
    )
    ones = np.ones(len(y))
    told = {"y": np.asarray(y, float), "weight": ones, "group": None}
    return data, SimpleNamespace(**told, to_hidden=lambda _: ones)


def test_asked_odds_are_told_with_the_rate_that_they_make():
    data, tested = rows_of([0, 1, 1], 3)
    told = {"target": "unlabeled", "event": "late = 1", "selection": None}
    tilt, facts, sentences = fitted_tilt({"times": 2}, data, tested, P, P, **told)
    moved = 2 * odds(P) / (1 + 2 * odds(P))
    assert tilt.delta == pytest.approx(np.log(2)) and tilt.chance is None and tilt.error == 0
    assert facts["by"] == "times" and facts["odds"] == pytest.approx(2)
    assert facts["rate"] == pytest.approx(moved.mean())
    assert "the odds of late = 1 among rows without an outcome are 2 times those" in sentences[0]
    part = 2 / (1 + P) ** 2 * (tested.y - P)
    part = (part - part.mean()) / 3
    error = np.sqrt(part @ part + (moved * (1 - moved)).sum() / 9)
    assert facts["rate_error"] == pytest.approx(error)
    assert 0 < facts["rate_low"] < facts["rate"] < facts["rate_high"] < 1
    assert facts["assumes"]["if"] == (
        "If the odds of late = 1 among rows without an outcome are 2 times those of like rows, as "
        "is given"
    )
    assert facts["assumes"]["rests"] == sentences[0]


def test_an_asked_rate_is_that_of_the_rows_without_an_outcome_and_of_no_other():
    data, tested = rows_of([0, 1, 1], 3)
    told = {"target": "unlabeled", "event": "1", "selection": None}
    tilt, facts, sentences = fitted_tilt({"rate": 0.3}, data, tested, P, P, **told)
    assert sentences[1].startswith("That rate is taken as exact, so that neither it nor the rate ")
    assert tilt.moved(None, P, P, P)[0].mean() == pytest.approx(0.3, abs=1e-12)
    assert (facts["rate_error"], facts["rate_low"], facts["rate_high"]) == pytest.approx(
        (0, 0.3, 0.3)
    )
    assert "which meets the rate that is given" in facts["assumes"]["if"]


def test_an_estimated_factor_widens_the_interval_of_each_row():
    tilt = ScoreTilt(np.log(3.0), error=0.4)
    p, low, high = tilt.moved(None, P, P - 0.05, P + 0.05)
    exact, bottom, top = ScoreTilt(np.log(3.0)).moved(None, P, P - 0.05, P + 0.05)
    np.testing.assert_array_equal(p, exact)
    for made, end, side in ((low, bottom, -1), (high, top, 1)):
        away = np.log(odds(made)) - np.log(odds(p))
        own = np.log(odds(end)) - np.log(odds(p))
        np.testing.assert_allclose(away, side * np.hypot(own, 1.96 * 0.4))
    sure = np.array([0.0, 1.0])
    np.testing.assert_array_equal(tilt.moved(None, sure, sure, sure), [sure] * 3)
    assert ScoreTilt.from_arrays(tilt.to_arrays()).error == 0.4
    old = {name: value for name, value in tilt.to_arrays().items() if name != "error"}
    assert ScoreTilt.from_arrays(old).error == 0


def shifted(rng, gap=0.0):
    """Two populations alike given the outcome, but for a gap in what says nothing of it."""

    def drawn(rows, rate, more):
        y = (rng.random(rows) < rate).astype(float)
        return rng.normal(size=(rows, 2)) + np.outer(y, [1.0, 0.7]) + [0, more], y

    (X, y), (U, truth) = drawn(600, 0.45, 0.0), drawn(500, 0.2, gap)
    data, tested = rows_of(y, 500, X=np.concatenate([X, U]))
    p = expit(np.concatenate([X, U]) @ [1.0, 0.7] - 0.745 - 0.2)
    told = {"target": "unlabeled", "event": "1", "selection": None}
    return lambda: (*fitted_tilt({"by": "em"}, data, tested, p[:600], p[600:], **told), truth)


def test_the_interval_of_an_estimated_tilt_holds_the_rate_under_label_shift():
    """Of 1,000 tables of the same law the true share of 1 lies in it in about 95 of 100."""
    held = []
    for seed in range(1000):
        _, facts, _, truth = shifted(np.random.default_rng(seed))()
        held.append(facts["rate_low"] <= truth.mean() <= facts["rate_high"])
    assert 0.93 <= np.mean(held) <= 0.97


def test_where_the_table_speaks_against_label_shift_em_is_refused():
    tilt, facts, sentences, _ = shifted(np.random.default_rng(0))()
    assert facts["gap"] < 0.3 and tilt.error == facts["standard_error"] > 0
    assert "(label shift)" in facts["assumes"]["if"]
    assert "The factor has a 95 % interval of" in sentences[1]
    with pytest.raises(CounterweightError, match="the table speaks against it: .* % of the diff"):
        shifted(np.random.default_rng(0), gap=0.8)()


@pytest.mark.parametrize("odds", [0.0, 1.0])
def test_rows_are_wider_by_the_error_of_the_line_that_labels_bought_gave(odds):
    score = np.array([-1.0, 0.0, 2.0])
    told = {"error": 0.3, "steep": 1.5, "steep_error": 0.2, "both": -0.04}
    p = expit(score) if odds else score
    middle, low, high = ScoreTilt(0.5, odds=odds, **told).moved(None, p, p, p)
    if odds:
        middle, low, high = (np.log(one / (1 - one)) for one in (middle, low, high))
    # The variance of a + b s is var(a) + 2 s cov(a, b) + s^2 var(b).
    half = 1.96 * np.sqrt(np.array([0.09 + 0.08 + 0.04, 0.09, 0.09 - 0.16 + 0.16]))
    assert middle == pytest.approx([-1.0, 0.5, 3.5])
    assert (high - middle, middle - low) == (pytest.approx(half), pytest.approx(half))
