"""Bounds swept by Γ: what is known of them in closed form, and whether they hold the truth."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.estimate import doubly_robust_mean
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.numerics.sensitivity import (
    GAMMAS,
    Repair,
    SweptMean,
    SweptNumber,
    accuracy_parts,
    brier_parts,
    e_value,
    e_values,
    joint_gamma,
    step_bounds,
    swept,
    turn_sentence,
    turns_at,
)
from counterweight.numerics.tilt import tilted
from scipy.optimize import brentq
from scipy.special import expit, logit

RNG = np.random.default_rng(5)
P = RNG.uniform(0.02, 0.98, 500)
Q = RNG.uniform(0, 1, 500)
PARTS = {
    "rate": (1.0, 0.0),
    "accuracy": accuracy_parts(Q),
    "brier": brier_parts(Q),
    "difference": tuple(
        a - b for a, b in zip(accuracy_parts(Q), accuracy_parts(P[::-1]), strict=True)
    ),
}


def test_a_tilt_shifts_the_log_odds_and_leaves_certainty():
    for delta in (-3.0, 0.0, 0.7):
        np.testing.assert_allclose(logit(tilted(P, delta)), logit(P) + delta, atol=1e-9)
    assert (tilted([0.0, 1.0, 0.0, 1.0], [50, 50, -50, -50]) == [0, 1, 0, 1]).all()


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("gamma", [1.0, 1.7, 4.0])
def test_bounds_at_the_true_gamma_hold_the_truth_and_are_reached(name, gamma):
    slope, base = PARTS[name]
    found = swept(P, slope, base, gammas=[gamma])
    edge = np.log(gamma)
    for _ in range(20):
        truth = tilted(P, RNG.uniform(-edge, edge, len(P)))
        value = (base + slope * truth).mean()
        assert found.low[0] - 1e-12 <= value <= found.high[0] + 1e-12
    for side, end in ((-1, found.low), (1, found.high)):
        worst = tilted(P, side * edge * np.sign(slope))
        assert (base + slope * worst).mean() == pytest.approx(end[0], abs=1e-12)


@pytest.mark.parametrize("name", PARTS)
def test_bounds_widen_with_gamma_from_the_estimate_and_hold_a_common_shift(name):
    slope, base = PARTS[name]
    found = swept(P, slope, base)
    estimate = (base + slope * P).mean()
    for ends in (found.low, found.high, found.fewer, found.more):
        assert ends[0] == pytest.approx(estimate, abs=1e-12)
    assert (np.diff(found.low) <= 1e-12).all() and (np.diff(found.high) >= -1e-12).all()
    for curve in (found.fewer, found.more):
        assert (found.low - 1e-12 <= curve).all() and (curve <= found.high + 1e-12).all()


def test_of_a_rate_the_worst_shift_is_a_common_one_of_others_it_is_not():
    rate, accuracy = (swept(P, *PARTS[name]) for name in ("rate", "accuracy"))
    np.testing.assert_allclose(rate.high, rate.more)
    np.testing.assert_allclose(rate.low, rate.fewer)
    assert (accuracy.high[1:] > np.maximum(accuracy.fewer, accuracy.more)[1:] + 0.01).all()


def test_a_sweep_around_a_tilt_is_a_sweep_of_tilted_chances():
    around = SweptMean(P, *PARTS["brier"], centre=0.8).sweep()
    tilt = swept(tilted(P, 0.8), *PARTS["brier"])
    np.testing.assert_allclose(around.low, tilt.low)
    np.testing.assert_allclose(around.more, tilt.more)


def test_rows_with_a_label_stay_and_count():
    hidden = np.arange(len(P)) % 2 == 0
    whole, part = swept(P, hidden=hidden), swept(P[hidden])
    np.testing.assert_allclose(whole.high, (part.high + P[~hidden].mean()) / 2)
    doubled = swept(P, weight=np.where(hidden, 0.0, 1.0), hidden=hidden)
    np.testing.assert_allclose(doubled.high, P[~hidden].mean())


def some_repair(rows=300, own=0.0):
    p = RNG.uniform(0.05, 0.9, rows)
    y = (RNG.random(rows) < p).astype(float)
    return y, Repair(y - p, p, RNG.exponential(size=rows), own)


@pytest.mark.parametrize("own", [0.0, 1 / 800])
def test_at_gamma_1_bounds_are_the_doubly_robust_estimate_with_its_error(own):
    y, known = some_repair(own=own)
    seen = y, known.p, known.weight
    value, error = doubly_robust_mean(*seen, P, np.ones(len(P)))
    found = swept(P, repair=known)
    for end, width in ((found.low, found.low_error), (found.high, found.high_error)):
        assert end[0] == pytest.approx(value, abs=1e-12)
        assert width[0] == pytest.approx(error, rel=1e-9)
    assert SweptMean(P, repair=known).at(0.0) == pytest.approx((value, error))
    numbers = SweptNumber(P, known).sweep()
    assert (numbers.low[0], numbers.high_error[0]) == pytest.approx((value, error))


@pytest.mark.parametrize("name", ["rate", "brier", "number"])
def test_known_outcomes_of_the_target_itself_add_no_error(name):
    """Everyone's error is that of hidden rows, by their share; none where nobody is hidden."""
    y, known = some_repair(rows=200)
    p = np.concatenate([P, known.p])
    hidden = np.arange(len(p)) < len(P)
    share, own = hidden.mean(), np.full(200, 1 / len(p))
    both = Repair(known.residual, known.p, own + share * known.share, own)

    def made(p, repair, hidden):
        if name == "number":
            return SweptNumber(p, repair, None, hidden, finite=True).sweep()
        slope, base = (np.ones(len(p)), 0.0) if name == "rate" else brier_parts(p)
        steep = 1.0 if name == "rate" else brier_parts(repair.p)[0]
        repair = Repair(repair.residual, repair.p, repair.weight, repair.own, steep)
        return SweptMean(p, slope, base, None, hidden, repair, finite=True).sweep()

    everyone, some = made(p, both, hidden), made(P, known, None)
    for end in ("low_error", "high_error"):
        np.testing.assert_allclose(getattr(everyone, end), share * getattr(some, end))
    own = np.full(200, 1 / 200)
    nobody = made(known.p, Repair(known.residual, known.p, own, own), np.zeros(200, bool))
    assert nobody.high_error.max() < 1e-12
    if name != "brier":
        np.testing.assert_allclose(nobody.low, y.mean())


def test_bounds_of_numbers_are_the_worst_weights_within_the_factor():
    values, weight = RNG.normal(size=60), RNG.exponential(size=60)
    low, high, *_ = step_bounds(values, weight, [1.0, 3.0])
    assert low[0] == pytest.approx(np.average(values, weights=weight)) == pytest.approx(high[0])
    for _ in range(200):
        chosen = weight * RNG.uniform(1, 3, 60)
        assert low[1] <= np.average(values, weights=chosen) <= high[1]
    # The worst is a step at the bound itself.
    step = weight * np.where(values > high[1], 3, 1)
    assert np.average(values, weights=step) == pytest.approx(high[1], abs=1e-12)


def test_of_two_values_the_bounds_of_numbers_are_those_of_a_class():
    y = np.array([1.0] * 30 + [0.0] * 70)
    low, high, *_ = step_bounds(y, None, GAMMAS)
    classes = swept([0.3])
    np.testing.assert_allclose(low, classes.low)
    np.testing.assert_allclose(high, classes.high)


def test_what_a_row_moves_a_bound_by_is_what_its_weight_moves_it_by():
    values, weight = RNG.normal(size=40), RNG.exponential(size=40)
    _, high, _, influence = step_bounds(values, weight, [2.5])
    for row in (0, int(values.argmax())):
        more = weight.copy()
        more[row] *= 1 + 1e-6
        moved = step_bounds(values, more, [2.5])[1] - high
        assert moved[0] * 1e6 == pytest.approx(influence[0, row], rel=1e-3)


def world(rng, rows=1500, gamma=2.0):
    """Labels missing by features; the hidden rows' log odds are off by a random part of Γ."""
    X = rng.normal(size=(rows, 2))
    p1 = expit(X @ [1.0, -0.7] - 0.3)
    s = rng.random(rows) < expit(0.5 - X[:, 0])
    side = rng.choice([-1.0, 1.0])
    p0 = tilted(p1, side * np.log(gamma))
    y = rng.random(rows) < p1
    fit, test = s & (rng.random(rows) < 0.5), s.copy()
    test &= ~fit
    coef, intercept, *_ = fit_logistic(X[fit], y[fit].astype(int))
    p = logistic_probability(X, coef, intercept)
    coef, intercept, *_ = fit_logistic(X, s.astype(int))
    chance = logistic_probability(X, coef, intercept)
    known = Repair(y[test] - p[test], p[test], (1 - chance[test]) / chance[test])
    return p[~s], p0[~s], known


def test_estimated_bounds_hold_the_truth_in_95_of_100_worlds():
    """The truth is that of the worst world that Γ allows, so the bounds are just wide enough."""
    held = {"rate": 0, "accuracy": 0, "brier": 0}
    rng, worlds = np.random.default_rng(8), 200
    for _ in range(worlds):
        p, p0, known = world(rng)
        for name in held:
            parts = {"rate": lambda q: (np.ones(len(q)), 0.0), "brier": brier_parts}
            parts = parts.get(name, accuracy_parts)
            slope, base = parts(p)
            own = Repair(known.residual, known.p, known.weight, 0.0, parts(known.p)[0])
            low, high = swept(p, slope, base, gammas=[2.0], repair=own).widened()
            held[name] += low[0] <= (base + slope * p0).mean() <= high[0]
    assert min(held.values()) >= 0.95 * worlds, held


def test_where_a_rate_is_known_no_tilt_moves_what_is_told():
    told = SweptMean(P, *PARTS["accuracy"], centre=0.8)
    rate = tilted(P, 0.8).mean()
    off, plain = (
        abs(one.mean(0.0) - told.mean(0.0))
        for one in (
            SweptMean(P, *PARTS["accuracy"], centre=0.81).at_rate(rate),
            SweptMean(P, *PARTS["accuracy"], centre=0.81),
        )
    )
    assert told.at_rate(rate).mean(0.0) == pytest.approx(told.mean(0.0))
    assert off < 0.02 * plain


def test_beside_a_known_rate_intervals_hold_the_truth_in_95_of_100_worlds():
    """Hidden rows' odds are off by one factor, which nobody knows but by their rate."""
    held = {"accuracy": 0, "brier": 0}
    rng, worlds = np.random.default_rng(9), 300
    for _ in range(worlds):
        p, p0, known = world(rng, gamma=2.5)
        rate = p0.mean()
        centre = brentq(lambda delta, p=p, rate=rate: tilted(p, delta).mean() - rate, -9, 9)
        for name, parts in (("accuracy", accuracy_parts), ("brier", brier_parts)):
            q = tilted(p, centre)
            slope, base = parts(q)
            own = parts(tilted(known.p, centre))[0]
            repair = Repair(known.residual, known.p, known.weight, 0.0, own)
            told = SweptMean(p, slope, base, repair=repair, centre=centre).at_rate(rate)
            value, error = told.at(0.0)
            held[name] += abs(value - (base + slope * p0).mean()) <= 1.96 * error
    assert all(0.92 * worlds <= count <= 0.98 * worlds for count in held.values()), held


def test_at_random_intervals_hold_the_mean_of_these_very_rows_in_95_of_100_worlds():
    """Half of the labeled are fitted to, half tried, and all labels are known."""
    rng, worlds, held = np.random.default_rng(10), 300, 0
    for _ in range(worlds):
        X = rng.normal(size=(1200, 2))
        p1 = expit(X @ [1.0, -0.7] - 0.3)
        y = (rng.random(1200) < p1).astype(float)
        chance = expit(0.5 - X[:, 0])
        s = rng.random(1200) < chance
        coef, intercept, *_ = fit_logistic(X[s][::2], y[s][::2].astype(int))
        p = logistic_probability(X, coef, intercept)
        test = np.flatnonzero(s)[1::2]
        known = Repair(y[test] - p[test], p[test], (1 - chance[test]) / chance[test])
        low, high = swept(p[~s], finite=True, repair=known, gammas=[1.0]).widened()
        held += low[0] <= y[~s].mean() <= high[0]
    assert 0.92 * worlds <= held <= 0.98 * worlds, held


def test_estimated_bounds_of_a_number_hold_the_truth_in_95_of_100_worlds():
    rng, worlds, held = np.random.default_rng(9), 200, 0
    noise = rng.normal(size=400_000)
    worst = step_bounds(noise, None, [2.0])[1][0]
    for _ in range(worlds):
        x = rng.normal(size=1200)
        s = rng.random(1200) < expit(0.4 - x)
        y = 2 * x + rng.normal(size=1200)
        slope = (x[s] @ y[s]) / (x[s] @ x[s])
        known = Repair(y[s] - slope * x[s], x[s], np.exp(x[s] - 0.4))
        low, high = SweptNumber(slope * x[~s], known).sweep([2.0]).widened()
        held += low[0] <= 2 * x[~s].mean() + worst <= high[0]
    assert held >= 0.95 * worlds


def test_a_conclusion_turns_where_the_odds_reach_the_limit():
    p = np.full(9, 0.2)

    def margin(limit):
        return lambda gamma: limit - swept(p, gammas=[gamma]).high[0]

    assert turns_at(margin(0.5)) == pytest.approx(4.0, rel=1e-6)
    assert turns_at(margin(0.9)) == np.inf
    assert turns_at(margin(0.1)) == 1.0
    told = turn_sentence("The rate is below .5", 4.0)
    assert told == (
        "The rate is below .5: this holds as long as, at equal features, odds differ from what is "
        "assumed by a factor below 4.0 (Γ = 4.0)."
    )
    assert "holds up to Γ = 10 (the largest looked at)" in turn_sentence("A", np.inf)
    assert turn_sentence("A", 1.0) == "A: this does not hold even at Γ = 1."


@pytest.mark.parametrize(
    ("p", "gammas", "sentence"),
    [([0.5, 1.2], [2.0], "from 0 to 1"), ([0.5], [0.5], "from 1 up"), ([], [2.0], "some rows")],
)
def test_what_cannot_be_swept_is_told(p, gammas, sentence):
    with pytest.raises(CounterweightError, match=sentence):
        swept(p, gammas=gammas)


@pytest.mark.parametrize("power", [1, 3, 0.2])
@pytest.mark.parametrize("root", [1.001, 1.7, 9.9])
def test_the_breakdown_value_is_that_of_a_slower_solver(power, root):
    def margin(gamma):
        return np.sign(root - gamma) * abs(np.log(root / gamma)) ** power

    assert turns_at(margin) == pytest.approx(root, rel=3e-7)


@pytest.mark.parametrize(("a", "b"), [(1.0, 5.0), (4.0, 3.0), (2.0, 50.0), (1e9, 1.7)])
def test_no_hidden_column_makes_a_larger_gamma_than_that_of_its_two_factors(a, b):
    share = np.linspace(0, 1, 100_001)
    odds = (1 - share + share * a * b) / ((1 - share + share * a) * (1 - share + share * b))
    share = 1 / (1 + np.sqrt(a * b))
    top = (1 - share + share * a * b) / ((1 - share + share * a) * (1 - share + share * b))
    assert joint_gamma(a, b) == pytest.approx(top, rel=1e-9)
    assert odds.max() <= joint_gamma(a, b) * (1 + 1e-9)
    assert joint_gamma(b, a) == pytest.approx(joint_gamma(a, b))
    assert joint_gamma(a, np.inf) == pytest.approx(a)


def test_the_e_value_makes_the_ratio_by_the_bounding_factor():
    assert e_value(1.0) == 1.0
    assert e_value(3.9) == pytest.approx(7.26, abs=0.01)  # in print: breastfeeding, 2017
    for ratio in (1.3, 0.5, 4.0):
        value = e_value(ratio)
        assert value**2 / (2 * value - 1) == pytest.approx(max(ratio, 1 / ratio))
    assert e_values(0.3, 0.25, 0.36, 0.2) == (e_value(1.5), e_value(1.25))
    assert e_values(0.1, 0.05, 0.16, 0.2) == (e_value(2.0), e_value(1.25))
    assert e_values(0.3, 0.19, 0.4, 0.2) == (e_value(1.5), 1.0)
    assert e_values(0.0, 0.0, 0.1, 0.2) == (np.inf, e_value(2.0))
    # Two standard deviations apart, up or down.
    up, down = (e_values(at, at, at, 5.0, spread=3.0)[0] for at in (11.0, -1.0))
    assert up == pytest.approx(e_value(np.exp(1.82))) and down == pytest.approx(up)
