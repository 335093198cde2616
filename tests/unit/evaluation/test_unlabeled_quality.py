"""Quality without labels: known truths, every pair, invariances, coverage."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation import unlabeled_quality as module
from counterweight.evaluation.unlabeled_quality import (
    calibration,
    unlabeled_quality,
    unlabeled_records,
)
from scipy.special import expit, logit

METRICS = ["auc", "log_loss", "brier", "accuracy", "calibration_ratio"]


def every_pair(score, chance, share):
    """AUC by all pairs of different rows."""
    right = (score[:, None] > score) + 0.5 * (score[:, None] == score)
    pairs = np.outer(share * chance, share * (1 - chance))
    np.fill_diagonal(pairs, 0.0)
    return (pairs * right).sum() / pairs.sum()


def truths(y, p):
    """The metrics of labels that were seen."""
    return {
        "auc": every_pair(p, y, np.ones(len(y))),
        "log_loss": -np.mean(np.log(np.where(y == 1, p, 1 - p))),
        "brier": np.mean((y - p) ** 2),
        "accuracy": np.mean((p >= 0.5) == y),
        "calibration_ratio": y.mean() / p.mean(),
    }


def rows(seed, labeled=300, target=250):
    rng = np.random.default_rng(seed)
    p, p_target = (np.round(rng.random(n), 2) * 0.98 + 0.01 for n in (labeled, target))
    y = (rng.random(labeled) < p).astype(float)
    return y, p, rng.gamma(2, size=labeled), p_target


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_that_of_every_pair_with_ties_and_weights(seed):
    rng = np.random.default_rng(seed)
    score, chance = np.round(rng.random(80), 1), rng.random(80)
    share = rng.gamma(1, size=80)
    share /= share.sum()
    found = module._auc(score[:5], score, chance, share)
    assert found.value == pytest.approx(every_pair(score, chance, share), abs=1e-12)


def test_a_label_more_moves_the_auc_as_told():
    rng = np.random.default_rng(1)
    score, chance = np.round(rng.random(60), 1), rng.random(60)
    share, new, step = np.full(60, 1 / 60), np.array([0.0, 0.33, 0.5, 1.0]), 1e-7
    told = module._auc(new, score, chance, share).labeled
    for at, slope in zip(new, told, strict=True):
        as_one, as_zero = (
            every_pair(np.append(score, at), np.append(chance, label), np.append(share, step))
            for label in (1.0, 0.0)
        )
        assert slope == pytest.approx((as_one - as_zero) / step, abs=1e-5)


def test_calibrated_chances_give_what_they_expect():
    """Labels in just the shares that chances say: nothing is calibrated, nothing corrected."""
    p = np.repeat([0.2, 0.5, 0.8], 10)
    y = np.concatenate([np.arange(10) < 10 * level for level in (0.2, 0.5, 0.8)]).astype(float)
    weight, p_target = np.repeat([3.0, 1.0, 2.0], 10), np.repeat([0.2, 0.5, 0.8], [5, 9, 20])
    found = unlabeled_quality(y, p, weight, p_target)
    assert found["auc"].value == pytest.approx(every_pair(p_target, p_target, np.ones(34)))
    entropy = -(p_target * np.log(p_target) + (1 - p_target) * np.log(1 - p_target))
    assert found["log_loss"].value == pytest.approx(entropy.mean(), abs=1e-9)
    assert found["brier"].value == pytest.approx(np.mean(p_target * (1 - p_target)), abs=1e-9)
    assert found["accuracy"].value == pytest.approx(np.maximum(p_target, 1 - p_target).mean())
    assert found["calibration_ratio"].value == pytest.approx(1, abs=1e-9)


def test_calibration_finds_the_line_that_chances_are_off_by():
    rng = np.random.default_rng(0)
    true = expit(rng.normal(size=60000) * 1.5)
    y = (rng.random(len(true)) < true).astype(float)
    found = calibration(y, expit((logit(true) - 0.4) / 0.7), np.ones(len(y)))
    at = np.array([0.05, 0.3, 0.9])
    assert found(expit((logit(at) - 0.4) / 0.7)) == pytest.approx(at, abs=0.015)


def test_a_chance_that_is_certain_counts_as_nearly_certain():
    y, ones, at = np.array([0.0, 1, 1, 0]), np.ones(4), np.array([0.2, 1.0])
    sure, nearly = (
        calibration(y, np.clip([0.0, 1, 0, 1], near, 1 - near), ones)(at)
        for near in (0, module.NEAREST)
    )
    assert sure == pytest.approx(nearly, rel=1e-12) and np.isfinite(sure).all()


def test_few_rows_leave_chances_as_they_are():
    assert calibration(np.ones(1), np.array([0.5]), np.ones(1))(np.array([0.5]))[0] < 0.65


def test_order_and_scale_decide_nothing():
    y, p, weight, p_target = rows(0)
    group = np.arange(300) // 3
    found = unlabeled_quality(y, p, weight, p_target, group=group)
    rng = np.random.default_rng(5)
    at, other = rng.permutation(300), rng.permutation(250)
    told = unlabeled_quality(
        y[at],
        p[at],
        7e3 * weight[at],
        p_target[other],
        design=np.full(300, 0.2),
        design_target=np.full(250, 9.0),
        group=[f"g{number}" for number in group[at]],
    )
    for name in METRICS:
        for part in ("value", "standard_error", "low", "high"):
            assert getattr(told[name], part) == pytest.approx(getattr(found[name], part), rel=1e-9)


def test_the_other_class_in_place_of_the_first():
    y, p, weight, p_target = rows(1)
    there, back = (
        unlabeled_quality(*told)
        for told in ((y, p, weight, p_target), (1 - y, 1 - p, weight, 1 - p_target))
    )
    for name in ("auc", "log_loss", "brier"):
        assert back[name].value == pytest.approx(there[name].value, rel=1e-9)
        assert back[name].high == pytest.approx(there[name].high, rel=1e-9)


def world(rng, labeled, target, shift, wrong):
    """Labels at random given x; `wrong` chances are off by a curve that no line mends."""
    n = labeled + target
    x = rng.normal(size=n) + np.r_[np.zeros(labeled), np.full(target, shift)]
    true = expit(1.2 * x - 0.4)
    p = expit(0.6 * x - 0.2 * wrong * x**2)
    y = (rng.random(n) < true).astype(float)
    ratio = np.exp(shift * x[:labeled] - shift**2 / 2)
    return y[:labeled], p[:labeled], ratio, p[labeled:], y[labeled:]


@pytest.mark.parametrize(("shift", "wrong"), [(0.0, 0), (0.5, 0), (0.7, 1), (-0.8, 1)])
def test_intervals_hold_the_metric_of_the_rows_at_hand(shift, wrong):
    """Coverage .92 to .98 and no wider than the error asks for, 400 tables a setting."""
    rng, held, errors, halves = np.random.default_rng(7), [], [], []
    for _ in range(400):
        *seen, y_target = world(rng, 500, 300, shift, wrong)
        found, true = unlabeled_quality(*seen), truths(y_target, seen[-1])
        held.append([found[name].low <= true[name] <= found[name].high for name in METRICS])
        errors.append([found[name].value - true[name] for name in METRICS])
        halves.append([(found[name].high - found[name].low) / 2 for name in METRICS])
    coverage, rmse = np.mean(held, axis=0), np.sqrt(np.mean(np.square(errors), axis=0))
    width = np.mean(halves, axis=0) / (1.96 * rmse)
    assert ((coverage >= 0.92) & (coverage <= 0.985)).all()
    assert ((width > 0.85) & (width < 1.3)).all()


@pytest.mark.parametrize("right", ["chances", "weights"])
def test_right_when_either_is(right):
    """Far less off than chances alone where these are wrong, than weights alone where those are."""
    rng, made = np.random.default_rng(3), []
    for _ in range(150):
        y, p, ratio, p_target, y_target = world(rng, 1500, 1500, 0.8, right == "weights")
        weight = ratio if right == "weights" else np.ones(len(y))
        found, true = unlabeled_quality(y, p, weight, p_target), np.mean((y_target - p_target) ** 2)
        # By both, by chances alone, by weighted labels alone.
        alone = unlabeled_quality(y, p, np.ones(len(y)), p_target)
        seen = np.average((y - p) ** 2, weights=weight)
        made.append([one["brier"].value - true for one in (found, alone)])
        made[-1].append(seen - true)
    both, chances, weights = np.abs(np.mean(made, axis=0))
    assert both < (weights if right == "chances" else chances) / 3
    assert both < np.std(made, axis=0)[0] / 2


def test_a_correction_below_its_own_noise_is_not_taken():
    weight = np.array([0.3, 0.2, 0.3, 0.2])
    none, small = np.array([0.5, 0.4, -0.5, -0.4]), np.array([0.4, -0.4, 0.4, -0.4])
    # Means of 0, of .08 with the variance .0416, and of .4 with the same: 1 - .26 is taken.
    assert module._correction(none, weight, None)[:2] == pytest.approx((0, 0))
    assert module._correction(small, weight, None)[:2] == pytest.approx((0, 0.08))
    assert module._correction(np.abs(small), weight, None)[:2] == pytest.approx((0.296, 0.4))
    # Of two groups: .5 and .5 of the weight, so .2 each; half is taken.
    told = module._correction(np.abs(small), weight, np.array([0, 0, 1, 1]))
    assert told[:2] == pytest.approx((0.2, 0.4))


def test_groups_that_repeat_rows_count_once():
    y, p, weight, p_target = rows(2, target=20000)
    once = unlabeled_quality(y, p, weight, p_target)
    again = np.tile(np.arange(300), 4)
    told = unlabeled_quality(y[again], p[again], weight[again], p_target, group=again)
    assert told["auc"].standard_error == pytest.approx(once["auc"].standard_error, rel=0.02)
    loose = unlabeled_quality(y[again], p[again], weight[again], p_target)
    assert loose["auc"].standard_error < 0.7 * once["auc"].standard_error


def test_of_one_class_there_is_no_auc_and_the_rest_stays():
    _, p, weight, p_target = rows(3)
    found = unlabeled_quality(np.zeros(300), p, weight, p_target)
    assert list(found) == METRICS[1:]
    assert found["calibration_ratio"].low >= 0


def test_records_of_each_method_by_the_chances_of_the_best():
    y, p, weight, p_target = rows(4)
    told = {"y": y, "weight": weight, "design": None, "group": None, "design_target": None}
    flat = {"good": p, "flat": np.full(300, 0.5)}, {"good": p_target, "flat": np.full(250, 0.5)}
    made = unlabeled_records(told, *flat, "good")
    value = {(one["metric"], one["part"]): one["value"] for one in made if "variable" not in one}
    assert value["auc_doubly_robust", "flat"] == pytest.approx(0.5)
    assert value["brier_doubly_robust", "flat"] == pytest.approx(0.25)
    assert value["auc_doubly_robust", "good"] > 0.7
    ends = [one["variable"] for one in made if "variable" in one]
    assert len(value) == 10 and len(ends) == 20 and {*ends} == {"low", "high"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"p": [0.5, 1.2]}, "between 0 and 1"),
        ({"p_target": []}, "one number a row"),
        ({"chance": [0.5]}, "chances of 2 rows"),
        ({"y": [0, 2]}, "must be 0 or 1"),
    ],
)
def test_what_does_not_fit_is_told(change, said):
    told = {"y": [0, 1], "p": [0.2, 0.8], "weight": [1, 1], "p_target": [0.4]} | change
    with pytest.raises(CounterweightError, match=said):
        unlabeled_quality(**told)
