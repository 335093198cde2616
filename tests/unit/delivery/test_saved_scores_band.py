"""Intervals of each row's answer as a function of its score."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.delivery.saved_scores import CalibrationBand, _Recalibration
from counterweight.numerics.estimate import variance_of_block
from counterweight.numerics.linear import centred, fit_logistic
from counterweight.numerics.ranking import TAILS, ScoreWindows
from scipy.special import expit
from scipy.stats import binomtest


@pytest.fixture
def rng():
    """The same numbers in each test."""
    return np.random.default_rng(7)


def test_the_recalibrated_line_bends_at_its_knots_and_not_before(rng):
    p = np.sort(rng.random(1000))
    line = _Recalibration((rng.random(1000) < p).astype(float), p, np.ones(1000))
    assert len(line.knots) == 3
    below, between = line.knots[0] - 1.0, (line.knots[1] + line.knots[2]) / 2
    found = line.basis(expit(np.array([below, between])))
    assert found[0] == pytest.approx([below, 0, 0, 0], abs=1e-9)
    beyond = [between - line.knots[0], between - line.knots[1], 0]
    assert found[1] == pytest.approx([between, *beyond], abs=1e-9)


def test_the_recalibrated_line_finds_the_rates_of_scores_that_are_off(rng):
    """Scores whose odds are a third of what they should be; and scores that tell nothing."""
    e = np.sort(rng.normal(size=20_000))
    y = (rng.random(len(e)) < expit(e + np.log(3))).astype(float)
    line = _Recalibration(y, expit(e), np.ones(len(e)))
    middle = np.linspace(-1.5, 1.5, 7)
    np.testing.assert_allclose(line(expit(middle)), middle + np.log(3), atol=0.15)
    flat = _Recalibration(y, np.full(len(e), 0.2), np.ones(len(e)))
    assert expit(flat(np.array([0.1, 0.9]))) == pytest.approx(y.mean(), abs=1e-3)


CURVES = {
    "calibrated": expit,
    "too sure": lambda e: expit(0.5 * e),
    "flat": lambda e: np.full_like(e, 0.3),
    "bent": lambda e: 0.1 + 0.6 * expit(3 * e),
}


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("spread", [0.0, 0.7])
def test_bands_of_rates_hold_the_true_rate(name, spread, rng):
    covered, length = [], []
    for _ in range(25):
        e = rng.normal(-0.5, 1.3, 1500)
        y = rng.random(1500) < CURVES[name](e)
        band = CalibrationBand().fit(y, expit(e), np.exp(spread * rng.normal(size=1500)))
        new = rng.normal(-0.5, 1.3, 2000)
        low, high = band.interval(expit(new), contain=False)
        covered.append(np.mean((low <= CURVES[name](new)) & (CURVES[name](new) <= high)))
        length.append(np.mean(high - low))
        assert (np.diff(band.low_) >= 0).all() and (np.diff(band.high_) >= 0).all()
        middle = band.estimate(expit(new))
        assert (low <= middle).all() and (middle <= high).all()
        assert (low >= 0).all() and (high <= 1).all()
    assert np.mean(covered) > 0.92
    assert np.mean(length) < 0.22


def test_more_rows_give_narrower_bands(rng):
    lengths = []
    for n in (300, 3000, 30_000):
        e = rng.normal(size=n)
        band = CalibrationBand().fit(rng.random(n) < expit(e), expit(e))
        lengths.append(np.mean(band.high_ - band.low_))
    assert lengths[0] > 1.7 * lengths[1] > 2.5 * lengths[2]


def test_an_interval_holds_the_prediction_if_asked_to(rng):
    e = rng.normal(size=3000)
    p = expit(e)
    band = CalibrationBand().fit(rng.random(3000) < p / 4, p)
    low, high = band.interval(p)
    assert (low <= p).all() and (p <= high).all()
    low, high = band.interval(p, contain=False)
    assert np.mean((low <= p) & (p <= high)) < 0.2
    assert np.abs(band.estimate(p) - p / 4).mean() < 0.03


def test_weights_move_the_rate_to_the_target(rng):
    # Half of the rows have rate .2 and the rest .6, at the same score; the target has .6 only.
    side = rng.random(4000) < 0.5
    y = rng.random(4000) < np.where(side, 0.6, 0.2)
    p = np.full(4000, 0.4)
    low, high = CalibrationBand().fit(y, p, side.astype(float)).interval([0.4], contain=False)
    assert low[0] < 0.6 < high[0] and high[0] - low[0] < 0.06


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_bands_of_numbers_hold_new_outcomes_as_often_as_they_say(tilt, rng):
    def draw(n):
        x = rng.normal(size=n)
        return x, 2 * x + (0.3 + np.abs(x)) * (rng.gamma(1, 1, n) - 1)

    for n in (60, 300, 1500):
        covered = []
        for _ in range(120):
            x, y = draw(n)
            p = expit(1 + tilt * x)
            seen = rng.random(n) < p
            band = CalibrationBand("number", 0.9).fit(y[seen], 2 * x[seen], 1 / p[seen])
            new, outcome = draw(500)
            low, high = band.interval(2 * new)
            assert (low <= 2 * new).all() and (2 * new <= high).all()
            covered.append(np.mean((low <= outcome) & (outcome <= high)))
        error = np.std(covered) / np.sqrt(len(covered))
        assert np.mean(covered) > 0.9 - 2 * error - 0.005
        assert n == 60 or np.mean(covered) < 0.925


def test_bands_of_numbers_follow_the_size_of_residuals(rng):
    x = rng.uniform(0, 1, 5000)
    y = rng.normal(size=5000) * (0.1 + x)
    band = CalibrationBand("number").fit(y + x, x)
    low, high = band.interval([0.05, 0.95])
    assert (high - low)[1] > 3 * (high - low)[0]


def test_how_far_numbers_lie_from_predictions_counts_their_long_tail(rng):
    """Nine in ten residuals are of standard deviation .1, one of 3 (a long tail): .95 in all."""
    x = rng.uniform(0, 1, 20_000)
    noise = rng.normal(size=len(x)) * np.where(rng.random(len(x)) < 0.1, 3.0, 0.1)
    band = CalibrationBand("number", 0.8).fit(x + noise * (1 + x), x)
    square = (band.spread_ / (1 + band.score_)) ** 2
    np.testing.assert_allclose([square.mean(), *square[20:-20:40]], 0.909, rtol=0.3)
    assert square.mean() == pytest.approx(0.909, rel=0.08)
    # Half of the squares are nearly nothing of their mean, those of the tail many times that.
    assert band.tails_[0] < 0.01 and (np.diff(band.tails_) > 0).all() and band.tails_[-1] > 30
    assert band.tails_ @ np.diff(TAILS) == pytest.approx(1)
    again = CalibrationBand.from_arrays(band.to_arrays())
    np.testing.assert_array_equal(again.spread_, band.spread_)
    old = {name: part for name, part in band.to_arrays().items() if name not in ("spread", "tails")}
    assert CalibrationBand.from_arrays(old).spread_ is None


def test_too_few_rows_say_so(rng):
    assert not CalibrationBand("number", 0.95).fit(rng.normal(size=20), np.zeros(20)).enough_
    assert CalibrationBand("number", 0.8).fit(rng.normal(size=20), np.zeros(20)).enough_


def test_as_many_rows_as_the_level_asks_are_enough(rng):
    """At one half a quarter of the rows and a new one lie beyond an end: one of four."""
    for rows, enough in ((2, False), (3, True)):
        band = CalibrationBand("number", 0.5).fit(rng.normal(size=rows), np.zeros(rows))
        assert band.enough_ == enough


def test_a_band_of_rates_takes_scores_of_0_and_1(rng):
    p = np.append(rng.random(50), [0.0, 1.0])
    assert np.isfinite(CalibrationBand().fit(rng.random(52) < p, p).interval([0.0, 1.0])).all()


def test_the_middle_of_a_band_follows_the_scores_to_their_ends():
    """Where scores are right: a window at an end has its mean inside, and is moved to the score."""
    apart = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        e = np.sort(2 * rng.normal(size=2000))
        middle = CalibrationBand().fit(rng.random(2000) < expit(e), expit(e)).middle_
        apart.append(np.log(middle / (1 - middle))[[0, -1]] - e[[0, -1]])
    assert np.abs(np.mean(apart, axis=0)).max() < 1.2


def test_the_variance_of_a_slope_is_that_of_the_inverse_information(rng):
    """Without bends, each row a bin of its own: of a logistic regression of one feature."""
    p = np.sort(expit(rng.normal(size=150)))
    line = _Recalibration((rng.random(150) < p).astype(float), p, np.ones(150))
    assert line.covariance.shape == (1, 1)
    x, rate = np.log(p / (1 - p)), expit(line(p))
    worth = rate * (1 - rate)
    cross = worth @ x
    information = np.array([[worth.sum(), cross], [cross, worth @ x**2 + 1e-3 * 150 * x.var()]])
    assert line.covariance[0, 0] == pytest.approx(np.linalg.inv(information)[1, 1], rel=1e-9)


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_saved_bands_are_the_same(kind, rng):
    e = rng.normal(size=500)
    y = rng.random(500) < expit(e)
    band = CalibrationBand(kind, 0.8).fit(y, expit(e))
    again = CalibrationBand.from_arrays(band.to_arrays())
    p = np.append(rng.random(50), np.nan)
    np.testing.assert_array_equal(band.interval(p), again.interval(p))
    np.testing.assert_array_equal(band.estimate(p), again.estimate(p))
    assert np.isnan(band.interval(p)[0][-1]) and again.enough_ == band.enough_


@pytest.mark.parametrize("y", [np.ones(30), np.zeros(30)])
def test_one_class_and_one_score_will_do(y):
    band = CalibrationBand().fit(y, np.full(30, 0.5))
    low, high = band.interval([0.5, 0.1], contain=False)
    assert (low <= y[0]).all() and (y[0] <= high).all()
    assert 0.05 < (high - low)[0] < 0.3


@pytest.mark.parametrize(("ones", "rows"), [(100, 400), (3, 60), (0, 30)])
def test_of_one_score_the_band_is_the_interval_of_wilson(ones, rows):
    y = np.arange(rows) < ones
    low, high = CalibrationBand().fit(y, np.full(rows, 0.3)).interval([0.3], contain=False)
    known = binomtest(ones, rows).proportion_ci(method="wilson")
    np.testing.assert_allclose([low[0], high[0]], known, atol=1e-12)


def amounts(rng, rows):
    """Amounts with many zeros and a heavy tail, and what is expected of them."""
    x = rng.normal(size=rows)
    chance, size = 1 / (1 + np.exp(0.3 - x)), np.exp(1 + x)
    return np.where(rng.random(rows) < chance, rng.gamma(0.7, size / 0.7), 0.0), chance * size


def test_bands_of_amounts_hold_new_ones_and_have_no_end_below_0(rng):
    held, of_high, plain, below = [], [], [], []
    for _ in range(40):
        (y, expected), (new, known) = amounts(rng, 500), amounts(rng, 2000)
        low, high = CalibrationBand("amount").fit(y, expected).interval(known)
        assert low.min() >= 0 and (low <= known).all() and (known <= high).all()
        within = (low <= new) & (new <= high)
        held.append(within.mean())
        of_high.append(within[known > np.quantile(known, 0.8)].mean())
        low, high = CalibrationBand("number").fit(y, expected).interval(known)
        within = (low <= new) & (new <= high)
        plain.append(within[known > np.quantile(known, 0.8)].mean())
        below.append((low < 0).mean())
    assert 0.93 < np.mean(held) < 0.97
    assert np.mean(below) > 0.7
    assert abs(np.mean(of_high) - 0.95) < abs(np.mean(plain) - 0.95)


def test_bands_of_amounts_with_a_heap_of_zeros_hold_new_ones_at_every_estimate(rng):
    """Of the largest estimates a tenth are 0, and of all three in four: by tenths of estimates."""
    held, widths = [], []
    for _ in range(30):
        (y, expected), (new, known) = (amounts(rng, rows) for rows in (3000, 5000))
        low, high = CalibrationBand("amount").fit(y, expected).interval(known)
        tenth = np.argsort(np.argsort(known)) // 500
        held.append(np.bincount(tenth, (low <= new) & (new <= high)) / 500)
        widths.append(np.bincount(tenth, high - low))
        assert (low == 0).all()  # wherever more than one in forty like rows are 0
    assert np.abs(np.mean(held, axis=0)[1:] - 0.95).max() < 0.02
    assert 0.93 < np.mean(held) < 0.97
    assert (np.diff(np.mean(widths, axis=0)) > 0).all()


def test_amounts_without_a_heap_of_zeros_have_ends_above_0_and_half_their_misses_below(rng):
    y = np.exp(rng.normal(size=4000)) * (rng.random(4000) > 0.005)
    new = np.exp(rng.normal(size=4000))
    low, high = CalibrationBand("amount").fit(y, np.full(4000, 1.6)).interval(np.full(4000, 1.6))
    assert low.min() > 0.05 and abs((new < low).mean() - 0.022) < 0.012
    assert abs((new > high).mean() - 0.025) < 0.012


def test_a_band_of_amounts_goes_by_no_unit_and_is_kept(rng):
    y, expected = amounts(rng, 300)
    band = CalibrationBand("amount").fit(y, expected)
    again = CalibrationBand.from_arrays(band.to_arrays())
    known = np.r_[0.0, np.linspace(0.01, 50, 20)]
    other = CalibrationBand("amount").fit(1000 * y, 1000 * expected)
    for end, same, large in zip(
        band.interval(known), again.interval(known), other.interval(1000 * known), strict=True
    ):
        np.testing.assert_array_equal(end, same)
        np.testing.assert_allclose(large, 1000 * end, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "number"])
def test_rows_without_weight_have_no_say(kind, rng):
    p = rng.uniform(0.1, 0.9, 500)
    y = (rng.random(500) < p).astype(float) if kind == "binary" else p + rng.normal(0, 0.1, 500)
    weight = np.where(rng.random(500) < 0.3, 0.0, rng.uniform(1, 2, 500))
    whole = CalibrationBand(kind).fit(y, p, weight)
    some = CalibrationBand(kind).fit(y[weight > 0], p[weight > 0], weight[weight > 0])
    for one, other in zip(whole.interval(p[:50]), some.interval(p[:50]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_windows_of_mirrored_scores_are_mirrored():
    score = np.arange(-50.0, 51.0)
    windows = ScoreWindows(score, np.ones(len(score)))
    np.testing.assert_allclose(windows.score, -windows.score[::-1], atol=1e-9)
    np.testing.assert_array_equal(windows.start, len(score) - windows.stop[::-1])
    # Kish's effective rows of equal weights are the rows.
    np.testing.assert_allclose(windows.effective, windows.stop - windows.start)


@pytest.mark.parametrize(("rows", "knots"), [(199, 0), (200, 1), (499, 1), (500, 3)])
def test_the_recalibrated_line_bends_as_often_as_its_rows_bear(rows, knots, rng):
    p = rng.uniform(0.1, 0.9, rows)
    y = (rng.random(rows) < p).astype(float)
    assert len(_Recalibration(y, np.sort(p), np.ones(rows)).knots) == knots


def in_time(rng, size, binary=True):
    """A yearly season of `size` whose last sixth has no outcome: the band of fits to what was
    before, estimates of the later rows, their rates and their outcomes.
    """
    time, x, begin = 720 * rng.random(2000), rng.normal(size=(2000, 2)), 2 * np.pi * rng.random()
    score = x @ [0.8, 0.5] + size * np.sin(2 * np.pi * time / 365 + begin)
    rate = expit(score - 1.2) if binary else score
    y = rng.random(2000) < rate if binary else score + rng.normal(size=2000)
    later, y = time >= 600, y.astype(float)
    fold = np.argsort(np.argsort(time)) * 6 // (~later).sum() - 1
    raw = np.zeros(2000)

    def scores(learned, of):
        if binary:
            slopes, constant = fit_logistic(x[learned], y[learned])[:2]
            return x[of] @ slopes + constant
        rows = np.column_stack([x, np.ones(2000)])
        return rows[of] @ np.linalg.lstsq(rows[learned], y[learned], rcond=None)[0]

    for number in range(5):
        raw[fold == number] = scores(fold < number, fold == number)
    tested, told = ~later & (fold >= 0), expit if binary else np.asarray
    ones = np.ones(tested.sum())
    level = centred(raw[tested], y[tested], ones, binary)
    held_out = told(raw[tested] + level)
    band = CalibrationBand("binary" if binary else "number").fit(y[tested], held_out)
    data = SimpleNamespace(later=later, labeled=~later)
    folds = SimpleNamespace(folds=fold[tested][None])
    by_block = variance_of_block(data, folds, y[tested] - held_out, ones)
    band.fit_blocks(held_out, ones, *by_block[1:])
    return band, told(scores(~later, later) + level), rate[later], y[later]


@pytest.mark.parametrize("size", [0.6, 0.9])
def test_rates_of_later_rows_lie_within_as_often_as_said(size, rng):
    """Of like scores together; by the intervals of rows of the labeled time they lie outside."""
    plain, held = [], []
    for _ in range(40):
        band, estimate, rate, _ = in_time(rng, size)
        ends = band.interval(estimate, contain=False)
        estimate = np.clip(estimate, *ends)
        wide = band.of_later(estimate, *ends, np.ones(len(estimate), bool))
        part = np.searchsorted(np.quantile(estimate, [0.2, 0.4, 0.6, 0.8]), estimate)
        for own in (part == number for number in range(5)):
            for within, (low, high) in ((plain, ends), (held, wide)):
                within.append(low[own].mean() <= rate[own].mean() <= high[own].mean())
    assert np.mean(held) > 0.93
    assert np.mean(plain) < 0.7


def test_later_numbers_lie_within_as_often_as_said_by_residuals_of_several_blocks(rng):
    held = []
    for _ in range(40):
        band, estimate, _, y = in_time(rng, 0.9, binary=False)
        ends = band.interval(estimate)
        held.append(np.mean((ends[0] <= y) & (y <= ends[1])))
        assert band.of_later(estimate, *ends, np.ones(len(y), bool)) == ends
    assert 0.93 < np.mean(held) < 0.97


def test_a_band_of_rows_in_time_is_wider_for_later_rows_only_and_saved(rng):
    band = in_time(rng, 0.9)[0]
    again = CalibrationBand.from_arrays(band.to_arrays())
    assert again.block_ == band.block_ > 0
    p = np.array([0.2, 0.2])
    ends = band.interval(p)
    low, high = again.of_later(p, *ends, np.array([False, True]))
    assert (low[0], high[0]) == (ends[0][0], ends[1][0])
    reach = np.log(low[1] / (1 - low[1])) - np.log(0.25)
    own = np.log(ends[0][1] / (1 - ends[0][1])) - np.log(0.25)
    assert reach == pytest.approx(-np.hypot(own, band.block_)) and high[1] > ends[1][1]
    assert "block" not in CalibrationBand().fit(rng.random(90) < 0.5, np.full(90, 0.5)).to_arrays()
