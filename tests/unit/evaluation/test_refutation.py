"""Whether labels bought refute that labels are missing at random: closed forms, level, power;
and rates of decisions."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.refutation import Decided, _of_one_class, collected_rates, refuted
from counterweight.numerics.designs import draw, inclusion_chances, mixed
from counterweight.numerics.linear import expit, logit


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
    ends = found.delta - 1.959964 * found.error, found.delta + 1.959964 * found.error
    assert (found.low, found.high) == pytest.approx(ends)
    # What known outcomes are off counts as 60 labels: here as much as these show, and four times.
    same = refuted(y, np.full(500, 0.5), np.arange(500) < 250, f, spread=np.full(500, left.std()))
    assert same.error == pytest.approx(found.error, rel=0.01)
    wide = refuted(
        y, np.full(500, 0.5), np.arange(500) < 250, f, spread=np.full(500, left.std()) * 2
    )
    assert wide.error == pytest.approx(found.error * np.sqrt(1 + 3 * 60 / 310), rel=0.01)


@pytest.mark.parametrize("labels", [15, 60])
def test_labels_of_a_long_tail_refute_no_more_often_than_they_should(labels):
    """Few of them miss it, so that shift and error are too low: 0.18 and 0.12 were refuted."""
    rng, found = np.random.default_rng(12), []
    for _ in range(300):
        f = np.exp(3 + 0.6 * rng.normal(size=1500))
        y = f * np.exp(1.3 * rng.normal(size=1500) - 1.3**2 / 2)
        seen, spread = np.arange(1500) < 800, f * np.sqrt(np.mean((y / f - 1)[:800] ** 2))
        chances = inclusion_chances(spread[~seen], labels)
        told = chances, rng.random(700) < chances, f[~seen]
        known = {"seen": (y[seen], f[seen], np.full(800, 1 / 800)), "spread": spread[~seen]}
        moved = refuted(y[~seen] + 2 * f[~seen], *told, **known)
        found.append([refuted(y[~seen], *told, **known).refuted, moved.refuted])
    at_random, shifted = np.mean(found, axis=0)
    # Three standard errors of a share of 0.05 of 300.
    assert at_random < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert shifted > (0.95 if labels == 60 else 0.4)


@pytest.mark.parametrize("binary", [True, False])
def test_the_error_of_a_slope_is_the_sandwich_with_each_rows_pull_put_right(binary):
    """HC3: rows of the residuals over 1 - leverage, between the inverses of the information."""
    y, f = population(5, 60)
    if not binary:
        f = np.log(f / (1 - f))
        y = 0.5 + 0.8 * f + np.random.default_rng(1).normal(size=60)
    chances = np.random.default_rng(2).uniform(0.3, 0.9, 60)
    found = refuted(y, chances, np.ones(60, bool), f)
    w, score = 1 / chances, np.log(f / (1 - f)) if binary else f
    X, b = np.column_stack([np.ones(60), score]), np.zeros(2)
    for _ in range(50):  # Newton's method, which ends after one step for a number
        p = 1 / (1 + np.exp(-X @ b)) if binary else X @ b
        bend = w * (p * (1 - p) if binary else 1.0)
        information = (X * bend[:, None]).T @ X
        b = b + np.linalg.solve(information, X.T @ (w * (y - p)))
    assert found.slope == pytest.approx(b[1], rel=1e-5)
    inverse = np.linalg.inv(information)
    leverage = bend * np.einsum("ij,jk,ik->i", X, inverse, X)
    moved = X @ inverse[:, 1] * w * (y - p) / (1 - leverage)
    assert found.slope_error == pytest.approx(np.sqrt((moved**2).sum()), rel=1e-4)


def test_intervals_of_gamma_are_normal_on_the_scale_of_log_odds():
    y, p = population(6, 400, 1.0)
    for level, quantile in ((0.95, 1.959964), (0.5, 0.67449)):
        found = refuted(y, np.ones(400), np.ones(400, bool), p, level=level)
        ends = np.exp([found.delta - quantile * found.error, found.delta + quantile * found.error])
        assert (found.low, found.high) == pytest.approx(tuple(ends), rel=1e-5)
        assert found.z == pytest.approx(found.delta / found.error)
        assert found.refuted is bool(abs(found.z) > quantile)
    # Two rows of one outcome refute nothing.
    two = refuted(np.ones(400), np.ones(400), np.arange(400) < 2, p)
    assert two.delta == np.inf and not two.refuted and two.rows == 2
    three = refuted(y, np.ones(400), np.arange(400) < 3, p)
    assert three.rows == 3 and np.isnan(three.slope)


def test_labels_that_are_all_alike_refute_by_the_chance_of_that():
    rows, chance = 60, 0.25
    y, mask = np.zeros(400), np.arange(400) < rows
    found = refuted(y, np.full(400, 0.2), mask, np.full(400, chance))
    # The odds at which `rows` outcomes of 0 in a row have a chance of .025.
    p = 1 - 0.025 ** (1 / rows)
    assert found.refuted and (found.gamma, found.low) == (0, 0)
    assert np.isclose(found.high, p / (1 - p) / (chance / (1 - chance)))
    flipped = refuted(1 - y, np.full(400, 0.2), mask, np.full(400, 1 - chance))
    assert flipped.refuted and np.isclose(flipped.low, 1 / found.high)
    assert not refuted(y, np.full(400, 0.2), mask, np.full(400, 0.01)).refuted


def test_the_error_of_what_is_expected_makes_labels_all_alike_say_less():
    y, mask = np.zeros(400), np.arange(400) < 20
    told = y, np.full(400, 0.2), mask, np.full(400, 0.2)
    seen = np.r_[np.ones(3), np.zeros(12)], np.full(15, 0.2), np.ones(15)
    plain, by_few = refuted(*told), refuted(*told, seen=seen)
    by_error = refuted(*told, np.full(400, 0.1))
    assert plain.refuted and not by_few.refuted and not by_error.refuted
    assert by_few.high > plain.high and by_error.high > plain.high


@pytest.mark.parametrize("outcome", [0, 1])
def test_the_end_by_labels_of_one_class_is_moved_by_the_error_of_what_is_expected(outcome):
    f, error = np.array([0.2, 0.5, 0.6, 0.3]), np.array([0.01, 0.03, 0.02, 0.04])
    plain, told = (_of_one_class(f, outcome, one, None, 0.9) for one in (None, error))
    end = "low" if outcome else "high"
    moved = np.log(getattr(told, end) / getattr(plain, end))
    # An error of the chances is one of the log odds over f (1 - f).
    by = 1.6448536 * error.mean() / (f * (1 - f)).mean()
    assert moved == pytest.approx(-by if outcome else by, rel=1e-6)


def rated(seed, rows=2400):
    """Decisions by a score, outcomes known by the outcome itself, and chances that are too low."""
    rng = np.random.default_rng(seed)
    x, group = rng.normal(size=rows), np.where(rng.random(rows) < 0.3, "b", "a")
    chance = expit(-1 + 1.3 * x + 0.5 * (group == "b"))
    y = (rng.random(rows) < chance).astype(float)
    decision = (x + 0.7 * rng.normal(size=rows) > 0.8).astype(float)
    hidden = rng.random(rows) < expit(1.5 * y - 0.8)
    return rng, y, decision, group, hidden, expit(logit(chance) - 0.8)[hidden]


WORTH = {"true_positive": 5.0, "false_positive": -2.0}


def rates_of(d, y):
    return {
        "recall": d @ y / y.sum(),
        "false_positive_rate": d @ (1 - y) / (1 - y).sum(),
        "precision": d @ y / d.sum(),
        "error": (d != y).mean(),
        "coverage": d.mean(),
        "value": (d * (5 * y - 2 * (1 - y))).mean(),
    }


def test_labels_of_all_rows_tell_the_rates_of_decisions_exactly():
    _, y, d, group, hidden, f = rated(1)
    decided = Decided(d, np.where(hidden, np.nan, y), group, WORTH)
    sure = np.ones(len(f))
    found = collected_rates(y[hidden], sure, sure > 0, f, decided)
    for (name, part), one in found.items():
        mine = (group == part) | (part == "")
        truth = rates_of(d[mine], y[mine])[name]
        assert (one.value, one.low, one.high) == pytest.approx((truth,) * 3, abs=1e-9)
    assert {part for _, part in found} == {"", "a", "b"}
    # No outcome moves how many are decided 1.
    assert {name for name, _ in decided.moves(f)} == {*rates_of(d, y)} - {"coverage"}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("budget", [100, 300])
def test_intervals_of_rates_hold_where_labels_are_missing_by_the_outcome(budget, known):
    rng, y, d, group, hidden, f = rated(2)
    part = slice(None) if known else hidden
    outcome = np.where(hidden, np.nan, y)[part]
    decided = Decided(d[part], outcome, group[part], WORTH)
    spread, importance = mixed([*decided.moves(f).values()], np.sqrt(f * (1 - f)))
    chances = inclusion_chances(spread, budget, importance=importance)
    held, off = {key: [] for key in decided.forms}, {key: [] for key in decided.forms}
    for _ in range(300):
        bought = rng.random(len(f)) < chances
        for key, one in collected_rates(y[hidden], chances, bought, f, decided).items():
            mine = (group[part] == key[1]) | (key[1] == "")
            truth = rates_of(d[part][mine], y[part][mine])[key[0]]
            held[key].append(one.low - 1e-12 <= truth <= one.high + 1e-12)
            off[key].append((one.value - truth, one.standard_error))
    for key in off:
        error, told = np.nanmean(off[key], axis=0)
        spread = np.nanstd([one for one, _ in off[key]])
        assert abs(error) <= 0.25 * spread + 1e-12
        assert key[0] == "coverage" or told == pytest.approx(spread, rel=0.15)
        assert np.mean(held[key]) >= 0.9
    assert 0.93 <= np.mean([np.mean(held[key]) for key in held if key[0] != "coverage"]) <= 0.98


def test_rates_that_no_label_tells_are_no_numbers_and_mistakes_are_told():
    _, y, d, group, hidden, f = rated(3, 400)
    few = np.arange(len(f)) < 40
    decided = Decided(np.where(group[hidden] == "b", 0, d[hidden]), group=group[hidden])
    found = collected_rates(y[hidden], np.full(len(f), 0.1), few, f, decided)
    assert np.isnan(found["precision", "b"].value) and found["coverage", "b"].value == 0
    assert np.isfinite(found["recall", "a"].value)
    alike = np.zeros(len(f))
    with pytest.raises(CounterweightError, match="All 40 labels are of one class"):
        collected_rates(alike, np.full(len(f), 0.1), few, f, decided)
    with pytest.raises(CounterweightError, match="Decisions are 0 and 1"):
        Decided(np.array([0, 2]))
    with pytest.raises(CounterweightError, match="worth has no 'gain'"):
        Decided(d, worth={"gain": 1})
