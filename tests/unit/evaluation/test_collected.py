"""Answers from labels bought by design: unbiased over all draws, closed forms, coverage."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from counterweight.delivery.label_plans import level_of
from counterweight.errors import CounterweightError
from counterweight.evaluation.collected import (
    assisting_model,
    bought_rows,
    collected_by_group,
    collected_calibration,
    collected_difference,
    collected_mean,
    collected_metric,
    over_share,
    recalibration,
)
from counterweight.evaluation.metrics import auc, log_loss
from counterweight.evaluation.refutation import refusal_bounds
from counterweight.numerics.designs import draw, inclusion_chances, stopped_chances
from counterweight.numerics.estimate import Estimate
from scipy.special import expit
from scipy.stats import beta


def samples(chances):
    """All draws of a Poisson design with at least two rows, and all others' chance."""
    for draws in itertools.product([False, True], repeat=len(chances)):
        mask = np.array(draws)
        yield mask, float(np.prod(np.where(mask, chances, 1 - chances)))


def small():
    chances = np.array([0.9, 0.4, 0.5, 0.35, 0.8, 0.6, 0.7])
    y = np.array([1.0, 0, 1, 0, 0, 1, 1])
    f = np.array([0.8, 0.3, 0.4, 0.1, 0.6, 0.5, 0.9])
    return y, chances, f


@pytest.mark.parametrize("how", ["horvitz_thompson", "difference"])
def test_plain_answers_are_right_on_average_over_all_draws_as_is_their_variance(how):
    y, chances, f = small()
    y = 3 * y + f
    total = value = second = variance = 0.0
    for mask, chance in samples(chances):
        left = y - (f if how == "difference" else 0)
        if mask.sum() < 2:
            # No answer is given; what the formula says is told here.
            made = (left[mask] / chances[mask]).sum() / 7 + (f.mean() if how == "difference" else 0)
            square = ((1 - chances[mask]) * (left[mask] / chances[mask]) ** 2).sum() / 49
        else:
            found = collected_mean(y, chances, mask, f, how=how)
            made, square = found.value, found.standard_error**2
        total, value = total + chance, value + chance * made
        second, variance = second + chance * made**2, variance + chance * square
    assert total == pytest.approx(1)
    assert value == pytest.approx(y.mean(), abs=1e-13)
    assert variance == pytest.approx(second - value**2, abs=1e-13)


def test_a_cross_fitted_calibration_is_right_on_average_over_all_draws():
    # What a fold is expected to be goes by the draws of the others alone, so over all draws of its
    # own rows its total is right, whatever the others' draw.
    y, chances, f = small()
    y, fold = y * 2 + f, np.array([0, 1, 0, 1, 0, 1, 0])
    own, value, total = np.flatnonzero(fold == 0), 0.0, 0.0
    for mask, chance in samples(chances[own]):
        bought = np.array([False, True, False, True, False, True, False])
        bought[own] = mask
        told = bought_rows(y, chances, bought, f)
        model = assisting_model(told, None, fold)
        left = (told.weight * (told.outcome - model.without))[fold[told.at] == 0]
        value, total = value + chance * (model.expected[own].sum() + left.sum()), total + chance
    assert total == pytest.approx(1)
    assert value == pytest.approx(y[own].sum(), abs=1e-12)


def drawn(seed=0, n=3000, budget=300, design="poisson", **options):
    generator = np.random.default_rng(seed)
    score = generator.normal(-0.5, 1.5, n)
    p = 1 / (1 + np.exp(-score))
    y = (generator.random(n) < p).astype(float)
    spread = np.sqrt(p * (1 - p))
    chances = inclusion_chances(spread, budget, **options)
    return y, p, chances, draw(chances, generator.random(n), design=design).mask


def test_powers_of_nought_and_one_are_the_classical_and_the_difference_answer():
    y, p, chances, mask = drawn()
    none, classical = (
        collected_mean(y, chances, mask, p, how=how, **told)
        for how, told in (("ppi", {"power": 0}), ("hajek", {}))
    )
    assert none.value == pytest.approx(classical.value, rel=1e-14)
    assert none.standard_error == pytest.approx(classical.standard_error, rel=1e-12)
    whole = collected_mean(y, chances, mask, p, how="ppi", power=1)
    w = 1 / chances[mask]
    told = p.mean() + w @ (y - p)[mask] / w.sum()
    assert whole.value == pytest.approx(told, rel=1e-14)
    # Of a simple sample that is the difference estimator.
    flat = np.full(len(y), 300 / 3000)
    mask = draw(flat, np.random.default_rng(2).random(3000), design="fixed").mask
    one, difference = (
        collected_mean(y, flat, mask, p, design="fixed", how=how, **told)
        for how, told in (("ppi", {"power": 1}), ("difference", {}))
    )
    assert one.value == pytest.approx(difference.value, rel=1e-13)
    assert one.standard_error == pytest.approx(difference.standard_error, rel=1e-12)


def test_the_tuned_power_has_the_least_variance_and_that_of_a_simple_sample_is_a_regression():
    y, p, chances, mask = drawn(1)
    best = collected_mean(y, chances, mask, p, how="ppi").standard_error
    for power in np.linspace(0, 1, 11):
        other = collected_mean(y, chances, mask, p, how="ppi", power=power)
        assert best <= other.standard_error + 1e-15
    flat = np.full(3000, 0.1)
    mask = draw(flat, np.random.default_rng(3).random(3000), design="fixed").mask
    slope = np.cov(y[mask], p[mask])
    power = slope[0, 1] / slope[1, 1]
    told = power * p.mean() + (y - power * p)[mask].mean()
    found = collected_mean(y, flat, mask, p, design="fixed", how="ppi")
    assert 0 < power < 1
    assert found.value == pytest.approx(told, rel=1e-12)


def test_calibration_of_a_number_is_the_regression_estimator():
    generator = np.random.default_rng(5)
    f = generator.normal(size=2000)
    y = 3 - 2 * f + generator.normal(size=2000)
    chances = inclusion_chances(np.ones(2000), 200)
    mask = draw(chances, generator.random(2000)).mask
    slope, constant = np.polyfit(f[mask], y[mask], 1)
    found = collected_mean(y, chances, mask, f)
    assert found.value == pytest.approx(constant + slope * f.mean(), rel=1e-12)
    # Exact where the outcome is a line of the prediction.
    exact = collected_mean(3 - 2 * f, chances, mask, f)
    assert exact.value == pytest.approx((3 - 2 * f).mean(), rel=1e-12)
    assert exact.standard_error < 1e-12


def test_what_is_foretold_over_a_share_has_the_ends_of_the_share():
    share = Estimate(0.2, 0.01, 0.1, 0.4, 50, 40.0, 3.0)
    ratio = over_share(0.3, share)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((1.5, 0.75, 3.0))
    assert ratio.standard_error == pytest.approx(1.5 * 0.01 / 0.2)
    assert over_share(0.3, replace(share, low=0.0)).high == np.inf
    none = over_share(0.3, replace(share, value=0.0, low=0.0))
    assert (none.value, none.low, none.high) == (np.inf, pytest.approx(0.75), np.inf)
    assert np.isnan(none.standard_error)
    assert np.isnan(over_share(0.3, replace(share, value=0.0, low=0.0, high=0.0)).low)


def test_with_all_rows_bought_every_answer_is_the_truth_without_an_error():
    y, p, *_ = drawn()
    ones, all_ = np.ones(len(y)), np.ones(len(y), bool)
    for how in ("calibrated", "difference", "ppi", "horvitz_thompson", "hajek"):
        found = collected_mean(y, ones, all_, p, how=how)
        assert found.value == pytest.approx(y.mean(), abs=1e-12)
        assert found.standard_error == 0 and found.low == found.high == found.value
    assert collected_metric("auc", y, ones, all_, p).value == pytest.approx(auc(y, p)[0], abs=1e-12)
    assert collected_metric("log_loss", y, ones, all_, p).value == pytest.approx(log_loss(y, p)[0])
    assert collected_calibration(y, ones, all_, p).value == pytest.approx(p.mean() / y.mean())


def test_predictions_that_point_the_other_way_tell_as_much():
    y, p, chances, mask = drawn(7)
    found, other = (collected_mean(y, chances, mask, f) for f in (p, 1 - p))
    assert other.value == pytest.approx(found.value, abs=0.2 * found.standard_error)
    assert other.standard_error == pytest.approx(found.standard_error, rel=0.03)


def test_answers_by_group_add_up_and_go_by_the_groups_rows():
    y, p, chances, mask = drawn(3)
    group = np.where(p > 0.5, "high", np.where(p > 0.2, "middle", "low"))
    found = collected_by_group(y, chances, mask, p, group)
    assert set(found) == {"high", "middle", "low"}
    for name, estimate in found.items():
        rows = group == name
        assert estimate.rows == (mask & rows).sum()
        assert abs(estimate.value - y[rows].mean()) < 4 * estimate.standard_error
    classical = collected_by_group(y, chances, mask, p, group, how="hajek")
    rows = mask & (group == "low")
    told = np.average(y[rows], weights=1 / chances[rows])
    assert classical["low"].value == pytest.approx(told, rel=1e-13)
    # A constant for each group makes the mean that of the groups put together.
    joined = collected_mean(y, chances, mask, p, group=group)
    shares = {name: np.mean(group == name) for name in found}
    together = sum(shares[name] * found[name].value for name in found)
    assert joined.value == pytest.approx(together, abs=0.3 * joined.standard_error)
    lonely = np.where(np.arange(len(y)) == np.flatnonzero(mask)[0], "one", "rest")
    assert np.isnan(collected_by_group(y, chances, mask, p, lonely)["one"].value)


@pytest.mark.parametrize("design", ["poisson", "fixed"])
@pytest.mark.parametrize("how", ["calibrated", "ppi"])
def test_intervals_hold_the_mean_as_often_as_they_say(design, how):
    generator = np.random.default_rng(11)
    y, p, *_ = drawn(11, 4000)
    p = 1 / (1 + ((1 - p) / p) ** 0.6 * 3)
    chances = inclusion_chances(np.sqrt(p * (1 - p)), 100)
    held, errors, values = 0, [], []
    for _ in range(400):
        mask = draw(chances, generator.random(len(y)), design=design).mask
        found = collected_mean(y, chances, mask, p, design=design, how=how)
        held += found.low <= y.mean() <= found.high
        errors.append(found.standard_error)
        values.append(found.value)
    # Of 400 intervals of 95 %, 366 to 392 hold in all but one of 1,000 cases.
    assert 366 <= held <= 393
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.12)


def test_stopping_at_a_wanted_half_width_keeps_the_coverage_of_planned_batches():
    """Three looks at 1 - .05 / 3 each, stopped as soon as the interval is narrow enough."""
    generator = np.random.default_rng(12)
    y, p, *_ = drawn(12, 4000)
    p = 1 / (1 + ((1 - p) / p) ** 0.6 * 3)
    size = inclusion_chances(np.sqrt(p * (1 - p)), 60)
    level, held, stopped = level_of({"batches": 3}), 0, []
    for _ in range(300):
        coins = generator.random(len(y))
        order = np.argsort(coins / size, kind="stable")
        for count in (60, 120, 180):
            mask = np.zeros(len(y), bool)
            mask[order[:count]] = True
            chances = stopped_chances(size / size.max(), coins, count)
            found = collected_mean(y, chances, mask, p, level=level)
            if found.high - found.low < 2 * 0.105:
                break
        held += found.low <= y.mean() <= found.high
        stopped.append(count)
    # Some stop at each look. Levels add up for whatever makes somebody stop: .95 at least.
    assert {*stopped} == {60, 120, 180} and held >= 0.94 * 300


def test_metrics_of_given_predictions_hold_their_truth():
    y, p, *_ = drawn(12, 4000)
    chances = inclusion_chances(np.sqrt(p * (1 - p)), 250)
    truths = {
        functools.partial(collected_metric, "auc"): auc(y, p)[0],
        functools.partial(collected_metric, "log_loss"): log_loss(y, p)[0],
        collected_calibration: p.mean() / y.mean(),
    }
    widths = {}
    for answer, truth in truths.items():
        held, width = {"calibrated": 0, "hajek": 0}, {"calibrated": 0.0, "hajek": 0.0}
        for turn in range(300):
            coins = np.random.default_rng([12, turn]).random(len(y))
            mask = draw(chances, coins).mask
            for how in held:
                found = answer(y, chances, mask, p, how=how)
                held[how] += found.low <= truth <= found.high
                width[how] += found.standard_error / 300
        assert all(273 <= count <= 296 for count in held.values()), (answer, held)
        widths[answer] = width
    # What the chances of the other rows say makes each narrower.
    assert all(width["calibrated"] < 0.97 * width["hajek"] for width in widths.values())


@pytest.mark.parametrize("how", ["calibrated", "hajek"])
@pytest.mark.parametrize("metric", ["brier", "log_loss"])
def test_a_difference_of_nearly_the_same_predictions_has_next_to_no_error(metric, how):
    """By pairs of rows: an error goes down as fast as the predictions come together."""
    y, p, *_ = drawn(12, 3000)
    chances = inclusion_chances(np.sqrt(p * (1 - p)), 200)
    mask = np.random.default_rng(1).random(len(y)) < chances
    told = {"chance": p, "how": how}
    alone = collected_metric(metric, y, chances, mask, p, **told)
    found = {}
    for step in (1e-2, 1e-3):
        other = p + step * (0.5 - p)
        found[step] = collected_difference(metric, y, chances, mask, p, other, **told)
        turned = collected_difference(metric, y, chances, mask, other, p, **told)
        assert turned.value == pytest.approx(-found[step].value, rel=1e-9)
        assert (turned.low, turned.high) == pytest.approx((-found[step].high, -found[step].low))
        assert 0 < found[step].standard_error < 2 * step * alone.standard_error + step
    errors = [one.standard_error for one in found.values()]
    assert errors[0] / errors[1] == pytest.approx(10, rel=0.05)
    same = collected_difference(metric, y, chances, mask, p, p, **told)
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_intervals_of_small_groups_hold_as_often_as_they_say():
    y, p, *_ = drawn(21, 3000)
    chances = inclusion_chances(np.sqrt(p * (1 - p)), 80)
    group = np.digitize(p, [0.1, 0.3, 0.6])
    truth = {k: y[group == k].mean() for k in range(4)}
    held = []
    for turn in range(150):
        mask = draw(chances, np.random.default_rng([21, turn]).random(len(y))).mask
        for k, found in collected_by_group(y, chances, mask, p, group).items():
            if not np.isnan(found.low):
                held.append(found.low <= truth[k] <= found.high)
    # Of 600 intervals of 95 %, of which those of one class are exact ones, and so wide.
    assert len(held) > 550 and 0.93 <= np.mean(held) <= 0.995


@pytest.mark.parametrize("how", ["calibrated", "hajek"])
def test_a_share_leaves_no_room_for_what_known_labels_rule_out(how):
    """Of 15 rows 11 were bought, 8 of them 1: the share is 8 of 15 at least, 12 of 15 at most."""
    p = np.r_[np.full(15, 0.6), np.linspace(0.1, 0.9, 45)]
    y, mask = np.r_[np.ones(8), np.zeros(7), np.arange(45) % 2], np.arange(60) % 2 == 0
    mask[:15], chances, group = np.arange(15) < 11, np.full(60, 0.5), np.arange(60) < 15
    told = y, chances, mask, p, group
    own = collected_by_group(*told, how=how)[True]
    assert 8 / 15 <= own.low < own.value < own.high <= 12 / 15
    # The chances behind the outcomes may be any.
    wide = collected_by_group(*told, how=how, beyond=True)[True]
    assert wide.low < 8 / 15 and wide.high > 12 / 15
    for classes in ([own], collected_by_group(np.ones(60), *told[1:], how=how).values()):
        assert all(one.low <= one.value <= one.high for one in classes)
    whole = collected_mean(y[:15], chances[:15] + 0.2, mask[:15], p[:15], how=how)
    assert 8 / 15 - 1e-12 <= whole.low <= whole.value <= whole.high <= 12 / 15 + 1e-12


def exact(count, rows):
    """Clopper and Pearson's interval."""
    low = beta.ppf(0.025, count, rows - count + 1) if count else 0.0
    return low, beta.ppf(0.975, count + 1, rows - count)


@pytest.mark.parametrize("open_rows", [1, 2, 6])
def test_where_few_rows_are_open_a_share_is_a_whole_count(open_rows):
    """Of 300 rows 298 were labeled, and ±0.007 points were told, where one row is 0.33."""
    rng, held = np.random.default_rng(open_rows), []
    for _ in range(200):
        f = rng.beta(1, 19, 300)
        y, chances = (rng.random(300) < f) * 1.0, np.full(300, 1 - open_rows / 300)
        mask = np.ones(300, bool)
        mask[rng.choice(300, open_rows, replace=False)] = False
        found = collected_mean(y, chances, mask, f)
        held.append(found.low <= y.mean() <= found.high)
        counts = 300 * np.array([found.low, found.high])
        assert counts == pytest.approx(np.round(counts)) and np.ptp(counts) <= open_rows + 1e-6
    assert np.mean(held) >= 0.94


def test_few_labels_of_a_class_tell_no_less_than_so_many_counts():
    highest = []
    for count in range(1, 20):
        y = (np.arange(500) < count).astype(float)
        found = collected_mean(y, np.full(500, 0.08), np.arange(500) < 40, how="hajek")
        low, high = exact(count, 40)
        assert found.high - found.low <= 1.1 * (high - low)
        highest.append(found.high)
    assert (np.diff(highest) > 0).all()


def test_another_positive_moves_the_upper_end_up_whatever_useless_predictions_say():
    rng, rows = np.random.default_rng(3), 1500
    for chances in (np.full(rows, 0.05), rng.uniform(0.04, 0.07, rows)):
        mask, inside = rng.random(rows) < chances, np.arange(rows) % 2 == 0
        p, y = expit(-2.8 + 0.4 * rng.normal(size=rows)), np.zeros(rows)
        y[np.flatnonzero(mask & ~inside)[:4]] = 1
        labels, highest = int((mask & inside).sum()), []
        for count, at in enumerate(np.flatnonzero(mask & inside)[:12], start=1):
            y[at] = 1
            found = collected_by_group(y, chances, mask, p, inside)[True]
            low, high = exact(count, labels)
            assert found.high - found.low <= 1.1 * (high - low)
            highest.append(found.high)
        assert (np.diff(highest) > 0).all()


def test_intervals_of_rare_outcomes_hold_and_are_no_wider_than_those_of_counts():
    rng, rows, held, wide = np.random.default_rng(1), 2500, [], []
    rare = np.arange(rows) >= 2000
    score = np.where(rare, rng.normal(-3.3, 0.6, rows), rng.normal(-0.3, 1.2, rows))
    y = (rng.random(rows) < expit(score)).astype(float)
    chances, truth = np.where(rare, 0.08, 0.05), y[rare].mean()
    for _ in range(300):
        mask = rng.random(rows) < chances
        found = collected_by_group(y, chances, mask, expit(score - 0.8), rare)[True]
        count, labels = int(y[mask & rare].sum()), int((mask & rare).sum())
        low, high = exact(count, labels)
        held.append(found.low <= truth <= found.high)
        wide.append([found.high - found.low, high - low])
    assert np.mean(held) >= 0.95
    ours, counted = np.mean(wide, axis=0)
    assert ours < 1.15 * counted


def test_an_answer_from_one_class_says_what_could_be_unseen():
    y, p, chances, mask = drawn()
    found = collected_mean(0 * y, chances, mask, p)
    effective = (1 / chances[mask]).sum() ** 2 / np.square(1 / chances[mask]).sum()
    assert (found.value, found.low) == (0, 0)
    assert found.high == pytest.approx(1 - 0.025 ** (1 / effective))


def test_bounds_of_those_who_did_not_answer_widen_with_gamma_up_to_the_worst_case():
    y, p, chances, mask = drawn(4)
    silent = mask & (np.arange(len(y)) % 5 == 0)
    told = np.where(silent, np.nan, y)
    gammas = (1.0, 1.5, 3.0, np.inf)
    found = refusal_bounds(told, chances, mask, p, gammas=gammas)
    one, other = found[1.0]
    assert one.value == other.value
    widths = [found[gamma][1].value - found[gamma][0].value for gamma in gammas]
    assert (np.diff(widths) > 0).all()
    # The worst case by hand: all of them 0, all of them 1.
    for estimate, end in zip(found[np.inf], (0.0, 1.0), strict=True):
        filled = np.where(silent, end, y)
        assert estimate.value == collected_mean(filled, chances, mask, p).value
    low, high = found[np.inf]
    assert low.value < collected_mean(y, chances, mask, p).value < high.value
    numbers = refusal_bounds(3 + 2 * told, chances, mask, 5 * p, gammas=(1.0, 2.0, np.inf))
    ends = [(numbers[gamma][0].value, numbers[gamma][1].value) for gamma in numbers]
    assert ends[0][0] == pytest.approx(ends[0][1])
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[1][1] < ends[2][1]


@pytest.mark.parametrize("number", [False, True])
def test_a_range_for_those_who_did_not_answer_has_all_of_the_one_that_allows_for_less(number):
    """What is filled in is no outcome: at Γ = 1 the range is the answer without it."""
    y, p, chances, mask = drawn(4)
    if number:
        y = np.exp(3 * p + np.random.default_rng(2).normal(size=len(y)))
    for every in (2, 5, 20):
        answered = mask & (np.arange(len(y)) % every > 0)
        told = np.where(answered, y, np.nan)
        gammas = (np.inf, 1.0, 3.0, 1.01)
        found = refusal_bounds(told, chances, mask, p, gammas=gammas, binary=not number)
        assert tuple(found) == gammas
        own = chances * (answered.sum() / mask.sum())
        answer = collected_mean(told, own, answered, p, binary=not number)
        assert found[1.0] == (answer, answer)
        lows, highs = ([found[g][k] for g in sorted(gammas)] for k in (0, 1))
        assert (np.diff([one.low for one in lows]) <= 0).all()
        assert (np.diff([one.high for one in highs]) >= 0).all()
        assert lows[-1].low < answer.low < answer.high < highs[-1].high


def test_numbers_that_happen_to_be_nought_and_one_stay_numbers_where_that_is_said():
    y, p, chances, mask = drawn(6)
    class_, number = (collected_mean(y, chances, mask, p, binary=told) for told in (None, False))
    slope, constant = np.polyfit(p[mask], y[mask], 1, w=chances[mask] ** -0.5)
    assert number.value == pytest.approx(constant + slope * p.mean(), rel=1e-10)
    assert class_.value != number.value
    with pytest.raises(CounterweightError, match="chances from 0 to 1"):
        collected_mean(y, chances, mask, 5 * p, binary=True)
    with pytest.raises(CounterweightError, match="others were bought"):
        collected_mean(2 * y, chances, mask, p, binary=True)


def test_mistakes_are_refused():
    y, p, chances, mask = drawn()
    blank = np.where(np.arange(len(y)) == np.flatnonzero(mask)[0], np.nan, y)
    for told, words in (
        ((blank, chances, mask, p), "have no outcome"),
        ((y, 0 * chances, mask, p), "not above 0"),
        ((y[:-1], chances, mask, p), "one of each a row"),
        ((y, chances, np.zeros(len(y), bool), p), "two at least"),
        ((y, chances, mask, p[:-1]), "predict every row"),
        ((y, chances, mask), "needs predictions"),
        ((y, chances, np.where(mask, "yes", "no"), p), "marks of rows bought must be numbers"),
        ((y, chances, np.where(mask, 1, np.nan), p), "are neither, the first is nan"),
    ):
        with pytest.raises(CounterweightError, match=words):
            collected_mean(*told)
    with pytest.raises(CounterweightError, match="no way"):
        collected_mean(y, chances, mask, p, how="guess")
    with pytest.raises(CounterweightError, match="no chances"):
        collected_metric("auc", y, chances, mask, 5 * p)


def test_the_fit_in_numbers_is_the_model_that_assists():
    rng = np.random.default_rng(5)
    f, chances = rng.uniform(0.05, 0.95, 500), rng.uniform(0.2, 0.9, 500)
    y = (rng.random(500) < f**2).astype(float)
    bought = rng.random(500) < chances
    constant, slope, covariance = recalibration(y, chances, bought, f)
    g = 1 / (1 + np.exp(-(constant + slope * np.log(f / (1 - f)))))
    weight = bought / chances
    assert weight @ (y - g) == pytest.approx(0, abs=1e-3)
    assert g.mean() == pytest.approx(collected_mean(y, chances, bought, f).value, abs=1e-5)
    assert (np.linalg.eigvalsh(covariance) > 0).all()
    # Of a number it is weighted least squares.
    y = 3 + 2 * f + rng.normal(0, 1, 500)
    constant, slope, _ = recalibration(y, chances, bought, f)
    at = bought.nonzero()[0]
    line = np.polyfit(f[at], y[at], 1, w=np.sqrt(1 / chances[at]))
    assert (slope, constant) == pytest.approx(tuple(line), rel=1e-9)


def test_predictions_from_0_to_1_are_chances_and_those_beyond_are_none():
    """With every label bought the value is that of all rows, whatever was predicted."""
    y, p, *_ = drawn(5, 300)
    p = p.copy()
    p[:2] = 0.0, 1.0
    every = np.ones(300), np.ones(300, bool)
    assert collected_metric("brier", y, *every, p).value == pytest.approx(np.mean((y - p) ** 2))
    for end in (-1e-9, 1 + 1e-9):
        p[2] = end
        with pytest.raises(CounterweightError, match="no chances"):
            collected_metric("brier", y, *every, p)


def test_a_group_of_one_class_has_what_its_own_rows_leave_possible():
    """Of 12 rows 9 were labeled, all of them 1: the share is 9 of 12 at least."""
    y, mask = np.r_[np.ones(12), np.arange(60) % 2], np.r_[np.arange(12) < 9, np.arange(60) < 40]
    p, group = np.r_[np.full(12, 0.7), np.linspace(0.1, 0.9, 60)], np.arange(72) < 12
    own = collected_by_group(y, np.full(72, 0.7), mask, p, group)[True]
    assert own.low == pytest.approx(9 / 12) and own.value == own.high == 1.0
