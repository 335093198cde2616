"""Whether labels bought refute that labels are missing at random: closed forms, level, power."""

import numpy as np
import pytest
from counterweight.evaluation.refutation import refuted
from counterweight.numerics.designs import draw, inclusion_chances


def population(seed=0, n=4000, delta=0.0):
    generator = np.random.default_rng(seed)
    score = generator.normal(-0.5, 1.2, n)
    y = generator.random(n) < 1 / (1 + np.exp(-score - delta))
    return y.astype(float), 1 / (1 + np.exp(-score))


def test_of_one_prediction_delta_is_the_difference_of_log_odds():
    y, _ = population()
    mask = np.arange(len(y)) < 200
    found = refuted(y, np.full(len(y), 0.05), mask, np.full(len(y), 0.3))
    rate = y[:200].mean()
    assert found.delta == pytest.approx(np.log(rate / (1 - rate) * 0.7 / 0.3), rel=1e-10)
    # The sandwich of a proportion, each row's pull put right.
    told = np.sqrt(1 / (200 * rate * (1 - rate))) * 200 / 199
    assert found.error == pytest.approx(told, rel=1e-10)
    assert found.gamma == pytest.approx(np.exp(found.delta))
    assert found.low < found.gamma < found.high and np.isnan(found.slope)


def test_it_is_rarely_refuted_where_it_holds_and_mostly_at_three_times_the_odds():
    shares = {}
    for delta in (0.0, np.log(3)):
        hits, held = 0, 0
        for turn in range(400):
            y, p = population(turn, 3000, delta)
            chances = inclusion_chances(np.sqrt(p * (1 - p)), 300)
            mask = draw(chances, None, generator=np.random.default_rng([7, turn])).mask
            found = refuted(y, chances, mask, p)
            hits += found.refuted
            held += found.low <= np.exp(delta) <= found.high
        shares[delta] = hits / 400
        assert 366 <= held <= 394
    assert shares[0.0] <= 0.075 and shares[np.log(3)] == 1


def test_errors_of_the_predictions_widen_it_and_groups_are_told():
    y, p = population(3, delta=0.7)
    chances = np.full(len(y), 0.1)
    mask = draw(chances, np.random.default_rng(0).random(len(y))).mask
    group = np.where(p > 0.4, "high", "low")
    plain = refuted(y, chances, mask, p, group=group)
    # A common error of .3 of the log odds is one of .3 f (1 - f) of f.
    wide = refuted(y, chances, mask, p, 0.3 * p * (1 - p))
    assert wide.delta == plain.delta
    assert wide.error == pytest.approx(np.hypot(plain.error, 0.3), rel=1e-12)
    assert plain.refuted and set(plain.groups) == {"high", "low"}
    for name, found in plain.groups.items():
        rows = group == name
        alone = refuted(y[rows], chances[rows], mask[rows], p[rows])
        assert (found.delta, found.error) == pytest.approx((alone.delta, alone.error))
    # Labels that were there before, which show the same shift, take it back.
    seen = y[mask], p[mask], 1 / chances[mask]
    same = refuted(y, chances, mask, p, seen=seen)
    assert same.delta == pytest.approx(0, abs=1e-12)
    assert same.error == pytest.approx(np.sqrt(2) * plain.error)


def test_the_shift_of_a_number_is_its_mean_residual():
    generator = np.random.default_rng(2)
    f = generator.normal(size=500)
    y = 1.5 + 2 * f + generator.normal(size=500)
    found = refuted(y, np.full(500, 0.5), np.arange(500) < 250, f)
    left = (y - f)[:250]
    assert found.delta == pytest.approx(left.mean())
    assert found.error == pytest.approx(left.std() / np.sqrt(250) * 250 / 249)
    assert found.slope == pytest.approx(np.polyfit(f[:250], y[:250], 1)[0])
    assert np.isnan(found.gamma) and found.refuted
