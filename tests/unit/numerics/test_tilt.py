"""Tilts and their estimates: what is known of delta, from closed forms and from worlds."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.tilt import (
    ESTIMATED,
    Calibration,
    estimate_delta,
    gap_beyond_chance,
    gap_left,
    label_scores,
    tilted,
)
from scipy.special import expit, logit
from scipy.stats import norm

PRIOR, RATE = 0.4, 0.2
TRUE = logit(RATE) - logit(PRIOR)
WAY = np.array([1.0, 0.7])


def prior_log_likelihood(p, prior, rate):
    """Mean log likelihood of target rows at a rate, up to a constant."""
    return np.mean(np.log(p * rate / prior + (1 - p) * (1 - rate) / (1 - prior)))


def p_of(X, prior=PRIOR):
    """p(y=1|x) where x given y is normal with means 0 and `WAY`."""
    return expit(logit(prior) + X @ WAY - WAY @ WAY / 2)


def drawn(rng, n, rate):
    y = (rng.random(n) < rate).astype(int)
    return rng.normal(size=(n, 2)) + y[:, None] * WAY, y


def world(seed, labeled=2000, target=3000):
    rng = np.random.default_rng(seed)
    (X, y), (U, hidden) = drawn(rng, labeled, PRIOR), drawn(rng, target, RATE)
    return X, y, U, hidden


def estimated(X, y, U, by, **more):
    calibration = Calibration.fitted(p_of(X), y)
    p, p_target = calibration(p_of(X)), calibration(p_of(U))
    return estimate_delta(p, y, p_target, by=by, X=X, X_target=U, **more)


def test_a_tilt_moves_the_log_odds_and_leaves_what_is_certain():
    p = np.array([0.0, 0.1, 0.5, 0.9, 1.0])
    np.testing.assert_allclose(logit(tilted(p, 0.7)[1:4]), logit(p[1:4]) + 0.7)
    for delta in (-np.inf, -3.0, 3.0, np.inf):
        assert tilted(p, delta)[0] == 0 and tilted(p, delta)[4] == 1
    np.testing.assert_array_equal(tilted(p, np.inf)[1:], 1)
    np.testing.assert_allclose(tilted(tilted(p, 0.7), -0.7), p)
    # delta'z: a number for each row.
    np.testing.assert_allclose(tilted(p[1:4], [0.0, 1.0, 2.0])[2], tilted(0.9, 2.0))


@pytest.mark.parametrize("by, more", [(by, {}) for by in ESTIMATED] + [("rate", {"rate": RATE})])
def test_standard_errors_are_those_of_many_worlds(by, more):
    """Label shift holds: delta is found, and standard errors are of the right size."""
    found = [estimated(*world(seed)[:3], by, **more) for seed in range(120)]
    z = np.array([(one.value - TRUE) / one.standard_error for one in found])
    # Standard deviation of z over 120 worlds: 1, give or take .065.
    assert 0.8 < z.std() < 1.2
    assert abs(z.mean()) < 0.35 and np.mean(np.abs(z) < 3) > 0.98


def test_em_ends_where_the_likelihood_of_the_target_is_largest():
    """The steps of Saerens et al., from the prior of the labels: monotone, to the same rate."""
    X, y, U, _ = world(3)
    p, prior = p_of(U), y.mean()
    rate, path = prior, [prior_log_likelihood(p, prior, prior)]
    for _ in range(3000):
        one, zero = p * rate / prior, (1 - p) * (1 - rate) / (1 - prior)
        rate = np.mean(one / (one + zero))
        path.append(prior_log_likelihood(p, prior, rate))
    assert np.diff(path).min() > -1e-14
    found = estimate_delta(p_of(X), y, p, by="em")
    assert found.rate == pytest.approx(rate, rel=1e-9)
    assert found.value == pytest.approx(logit(rate) - logit(prior), abs=1e-8)
    # What EM's fixed point says: the mean of the tilted probabilities is the rate.
    assert tilted(p, found.value).mean() == pytest.approx(found.rate, abs=1e-12)
    assert found.weights == pytest.approx(((1 - rate) / (1 - prior), rate / prior))


def test_moments_solve_the_equations_of_shares():
    """BBSE: C w = mu, C the joint shares of predicted and true label."""
    X, y, U, _ = world(4)
    guess, target = p_of(X) >= 0.5, p_of(U) >= 0.5
    joint = [[np.mean((guess == k) & (y == label)) for label in (0, 1)] for k in (0, 1)]
    weights = np.linalg.solve(joint, [1 - target.mean(), target.mean()])
    found = estimate_delta(p_of(X), y, p_of(U), by="moments")
    assert found.weights == pytest.approx(weights)
    assert found.value == pytest.approx(np.log(weights[1] / weights[0]))


def test_label_only_moments_are_those_of_rosset():
    """One feature: sum over s=1 of exp(-b y)(mean of x over s=0, less x) is 0 at b = -delta."""
    X, y, U, _ = world(5)
    found = estimate_delta(p_of(X), y, p_of(U), by="label_only", X=X[:, :1], X_target=U[:, :1])
    b = -found.value
    terms = np.exp(-b * y) * (U[:, 0].mean() - X[:, 0])
    assert abs(terms.sum()) < 1e-9 * np.abs(terms).sum()


def test_rosset_recovers_the_slope_of_selection_by_label():
    z = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = drawn(rng, 6000, 0.3)
        s = rng.random(len(y)) < expit(-0.5 + 1.2 * y)
        odds = logit(y[s].mean())
        p = p_of(X, expit(odds))
        found = estimate_delta(p[s], y[s], p[~s], by="label_only", X=X[s], X_target=X[~s])
        z.append((-found.value - 1.2) / found.standard_error)
    assert np.abs(z).max() < 3.5 and abs(np.mean(z)) < 3 / np.sqrt(40)


def test_a_given_rate_is_met_exactly():
    X, y, U, _ = world(6)
    for rate in (1e-6, 0.07, 0.5, 0.999):
        found = estimate_delta(p_of(X), y, p_of(U), by="rate", rate=rate)
        assert tilted(p_of(U), found.value).mean() == pytest.approx(rate, rel=1e-9)
    sure = np.array([0.0, 0.3, 0.6, 1.0])
    found = estimate_delta(p_of(X), y, sure, by="rate", rate=0.4)
    assert tilted(sure, found.value).mean() == pytest.approx(0.4)
    with pytest.raises(CounterweightError, match=r"stays between 0\.25 and 0\.75"):
        estimate_delta(p_of(X), y, sure, by="rate", rate=0.8)


def test_k_times_the_odds_is_log_k():
    X, y, U, _ = world(7)
    found = estimate_delta(p_of(X), y, p_of(U), by="times", times=2.5)
    assert found.value == pytest.approx(np.log(2.5)) and np.isnan(found.standard_error)
    q = tilted(p_of(U), found.value)
    np.testing.assert_allclose(q / (1 - q), 2.5 * p_of(U) / (1 - p_of(U)))
    assert found.rate == pytest.approx(q.mean())
    fixed = estimate_delta(p_of(X), y, p_of(U), by="fixed", value=np.log(2.5))
    assert fixed.value == found.value


@pytest.mark.parametrize("by, more", [(by, {}) for by in ESTIMATED] + [("rate", {"rate": 0.3})])
def test_swapped_labels_turn_the_sign(by, more):
    X, y, U, _ = world(8)
    one = estimate_delta(p_of(X), y, p_of(U), by=by, X=X, X_target=U, **more)
    swapped = {"rate": 1 - more["rate"]} if more else {}
    other = estimate_delta(1 - p_of(X), 1 - y, 1 - p_of(U), by=by, X=X, X_target=U, **swapped)
    assert other.value == pytest.approx(-one.value, abs=1e-9)
    assert other.standard_error == pytest.approx(one.standard_error, rel=1e-6)
    assert other.rate == pytest.approx(1 - one.rate)


def test_units_of_features_and_order_of_rows_change_nothing():
    X, y, U, _ = world(9)
    one = estimate_delta(p_of(X), y, p_of(U), by="label_only", X=X, X_target=U)
    scale, move = np.array([1e3, -1e-4]), np.array([5.0, -2.0])
    order = np.random.default_rng(0).permutation(len(y))
    other = estimate_delta(
        p_of(X)[order],
        y[order],
        p_of(U),
        by="label_only",
        X=(X * scale + move)[order],
        X_target=U * scale + move,
    )
    assert other.value == pytest.approx(one.value, abs=1e-8)


def test_an_end_of_the_rate_is_reported():
    X, y, U, _ = world(10)
    for far, end, sign in ((-6.0, "0", -1), (6.0, "1", 1)):
        away = U + far
        found = {
            by: estimate_delta(p_of(X), y, p_of(away), by=by, X=X, X_target=away)
            for by in ESTIMATED
        }
        for by, one in found.items():
            assert one.end == end and one.value == sign * np.inf and one.rate == float(end), by
            assert np.isnan(one.standard_error)
            assert f"ends at a rate of {end}" in one.told[-1]
        assert min(found["label_only"].weights) < 0
        assert "below 0" in found["label_only"].told[0]


def test_calibration_undoes_a_temperature_and_a_bias():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 60000, PRIOR)
    crooked = expit(2.5 * logit(p_of(X)) - 0.8)
    fitted = Calibration.fitted(crooked, y)
    assert fitted.slope == pytest.approx(1 / 2.5, rel=0.05)
    np.testing.assert_allclose(fitted(crooked), p_of(X), atol=0.02)
    assert fitted(crooked).mean() == pytest.approx(y.mean(), abs=1e-5)
    # Scores that point the wrong way, or nowhere, leave the rate.
    for nothing in (1 - p_of(X), np.full(len(y), 0.3)):
        np.testing.assert_allclose(Calibration.fitted(nothing, y)(nothing), y.mean(), atol=1e-6)


def test_the_gap_that_is_left_shows_whether_label_shift_holds():
    X, y, U, _ = world(11, 20000, 20000)
    found = estimate_delta(p_of(X), y, p_of(U), by="em")
    left, before, after = gap_left(X, y, U, found.rate)
    assert left < 0.2 and np.abs(before).max() > 0.1 and np.abs(after).max() < 0.05
    assert gap_left(X, y, U, y.mean())[0] == pytest.approx(1)
    moved = U + np.array([0.0, 2.0])
    assert gap_left(X, y, moved, found.rate)[0] > 0.5


def test_what_cannot_be_estimated_is_refused_in_a_sentence():
    X, y, U, _ = world(12)
    p, q = p_of(X), p_of(U)
    with pytest.raises(CounterweightError, match="choose one of em, moments"):
        estimate_delta(p, y, q, by="magic")
    with pytest.raises(CounterweightError, match="of which 0 are 1"):
        estimate_delta(p, 0 * y, q)
    with pytest.raises(CounterweightError, match="and 0 target rows"):
        estimate_delta(p, y, q[:0])
    with pytest.raises(CounterweightError, match="must lie between 0 and 1"):
        estimate_delta(p, y, q, by="rate")
    with pytest.raises(CounterweightError, match="number above 0"):
        estimate_delta(p, y, q, by="times", times=0)
    with pytest.raises(CounterweightError, match="give X and X_target"):
        estimate_delta(p, y, q, by="label_only")
    with pytest.raises(CounterweightError, match="1 of them outside"):
        estimate_delta(np.r_[1.5, p[1:]], y, q)
    noise = np.random.default_rng(0).random(len(y))
    with pytest.raises(CounterweightError, match="tell the labels apart"):
        estimate_delta(noise, y, q, by="moments")
    with pytest.raises(CounterweightError, match="same means for both labels"):
        label_scores(np.ones((len(y), 1)), y, U[:, :1])


def test_what_is_left_of_a_gap_is_held_against_chance():
    """Two features, of which the second is off by a known number of standard errors."""
    X = np.array([[0.0, 0], [2, 0], [0, 4], [2, 4]])
    y, target = np.array([0, 0, 1, 1]), np.array([[0.0, 1], [2, 3]] * 8)
    assert gap_beyond_chance(X, y, target, 0.5) == 1
    # At the rate 1 the second feature has the mean 4 of its class, 2 of its spreads too much. Of
    # the class, which has no spread there, that of the target is taken.
    far = 2 / np.sqrt(1 / 2 + 1 / 16)
    assert gap_beyond_chance(X, y, target, 1.0) == pytest.approx(4 * norm.sf(far))
    assert np.isnan(gap_beyond_chance(X, y, np.ones((3, 2)), 0.5))


def test_under_label_shift_hardly_a_table_speaks_against_it():
    refuted = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn = []
        for rows, rate in ((300, 0.3), (400, 0.1)):
            y = rng.random(rows) < rate
            X = rng.normal(size=(rows, 30)) + np.outer(y, np.arange(30) < 5)
            # Levels that few rows have, as encoded texts do.
            X[:, 20:] = X[:, 20:] > np.linspace(1, 3, 10)
            drawn.append((X, y.astype(int)))
        refuted += gap_beyond_chance(*drawn[0], drawn[1][0], 0.1) < 0.01
    assert refuted <= 4


def test_rows_of_a_group_count_once_for_em():
    rng = np.random.default_rng(8)
    y, hidden = ((rng.random(n) < rate).astype(int) for n, rate in ((400, 0.5), (300, 0.3)))
    p, p_target = (expit(2 / 1.5**2 * rng.normal(2 * one - 1, 1.5)) for one in (y, hidden))
    once = estimate_delta(p, y, p_target, by="em")
    group = np.repeat(np.arange(700), 4)
    parts = [np.repeat(part, 4) for part in (p, y, p_target)]
    again = estimate_delta(*parts, by="em", group=group)
    for name in ("value", "rate", "error_labeled", "error_target", "rate_error"):
        assert getattr(again, name) == pytest.approx(getattr(once, name), rel=1e-9), name
    assert estimate_delta(*parts, by="em").rate_error == pytest.approx(once.rate_error / 2)
