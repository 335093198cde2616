"""Calibration in log-odds: the offset of the rate, rising, right at the top."""

import numpy as np
import pytest
from counterweight.datasets.simulated_rows import RareClicks
from counterweight.errors import CounterweightError
from counterweight.models.subsampling.calibration import LogOddsCalibrator
from counterweight.models.subsampling.subsampled import MarginNoise, SubsampledClassifier
from scipy.special import expit, logit


def rows(n=60_000, seed=0, bend=0.0):
    """Margins, true log-odds (a straight or a bent line of them), rewards."""
    rng = np.random.default_rng(seed)
    margin = rng.normal(size=n)
    odds = -4.0 + 1.5 * margin + bend * np.maximum(margin - 1.0, 0.0)
    return margin, odds, (rng.random(n) < expit(odds)).astype(float), rng


@pytest.mark.parametrize("rate", [1.0, 0.1, 0.02])
def test_a_line_is_found_whatever_zeros_were_rejected(rate):
    margin, odds, y, rng = rows(400_000)
    kept = (y > 0) | (rng.random(len(y)) < rate)
    model = LogOddsCalibrator("platt").fit(margin[kept], y[kept], rate)
    # Standard errors of a logistic regression: from the information of the kept rows.
    q = expit(odds[kept] - np.log(rate))
    basis = np.column_stack([np.ones(kept.sum()), margin[kept] - model.center_])
    spread = np.sqrt(np.diag(np.linalg.inv(basis.T @ (basis * (q * (1 - q))[:, None]))))
    truth = np.array([-4.0 + 1.5 * model.center_, 1.5])
    assert (np.abs(model.coef_ - truth) < 4 * spread).all()


def test_rates_that_differ_are_weights():
    margin, _, y, rng = rows(200_000)
    rate = np.where(rng.random(len(y)) < 0.5, 0.5, 0.02)
    kept = (y > 0) | (rng.random(len(y)) < rate)
    model = LogOddsCalibrator("platt").fit(margin[kept], y[kept], rate[kept])
    whole = LogOddsCalibrator("platt").fit(margin, y)
    np.testing.assert_allclose(model.predict(margin).mean(), y.mean(), rtol=0.05)
    np.testing.assert_allclose(model.coef_[1], whole.coef_[1], rtol=0.1)


def test_the_spline_rises_and_is_taken_where_log_odds_are_bent():
    margin, odds, y, rng = rows(1_000_000, bend=-1.5)
    kept = (y > 0) | (rng.random(len(y)) < 0.1)
    model = LogOddsCalibrator().fit(margin[kept], y[kept], 0.1)
    assert model.form_ == "spline" and len(model.knots_)
    grid = np.linspace(margin.min() - 5, margin.max() + 5, 500)
    assert (np.diff(model.predict(grid)) >= 0).all()
    for top in (0.01, 0.001):
        best = np.argsort(-margin)[: int(top * len(y))]
        told = model.predict(margin[best]).mean() / expit(odds[best]).mean()
        assert 0.85 < told < 1.15


def test_neither_order_nor_the_scale_of_weights_matters():
    margin, _, y, rng = rows(4000)
    weight, order = rng.random(4000), rng.permutation(4000)
    one = LogOddsCalibrator().fit(margin, y, 0.5, weight).predict(margin)
    other = LogOddsCalibrator().fit(margin[order], y[order], 0.5, 0.3 * weight[order])
    np.testing.assert_allclose(other.predict(margin), one, rtol=1e-6)
    none = np.r_[weight, 0.0]
    with_none = LogOddsCalibrator().fit(np.r_[margin, 50.0], np.r_[y, 1.0], 0.5, none)
    np.testing.assert_allclose(with_none.predict(margin), one, rtol=1e-6)


def test_what_cannot_be_calibrated_is_refused():
    for margin, y, rate, word in (
        ([0.0, 1.0], [0.0, 0.0], None, "of both"),
        ([0.0, 1.0], [0.0, 2.5], None, "0 and 1"),
        ([0.0, np.nan], [0.0, 1.0], None, "missing or infinite"),
        ([0.0, 1.0], [0.0, 1.0], 0.0, "rate"),
    ):
        with pytest.raises(CounterweightError, match=word):
            LogOddsCalibrator().fit(margin, y, rate)


@pytest.mark.parametrize("learner", ["logistic", "sgd", "boosting"])
def test_a_stored_model_predicts_as_the_fitted_one(learner):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(6000, 3))
    y = (rng.random(6000) < expit(-2 + X @ [1.0, -0.5, 0.2])).astype(int)
    model = SubsampledClassifier(learner=learner, keep_rate=0.3).fit(X, y, rng=rng)
    again = SubsampledClassifier.from_arrays(model.to_arrays())
    assert model.correction == again.correction == "log_odds"
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert abs(model.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02


@pytest.mark.parametrize("growth", [0.0, 0.3])
def test_a_mean_of_many_margins_says_more_than_one_of_few(growth):
    """Margins of two normal classes, whose log-odds are known for a mean of any number of them."""
    rng = np.random.default_rng(3)
    gap, share, count = 2.0, 0.2, 12
    y = (rng.random(200_000) < share).astype(int)
    own = gap * (y - 0.5) + rng.normal(size=len(y))
    noise = 1.0 + growth * own**2
    told = own + np.sqrt(noise) * rng.normal(size=(2, len(y)))
    learned = MarginNoise.of(told, y, np.ones(len(y)))
    curve = LogOddsCalibrator("platt").fit(told.mean(axis=0), y)
    mean = own + np.sqrt(noise / count) * rng.normal(size=len(y))
    p = curve.predict(learned.steepened(mean, count))
    top = np.argsort(-mean)[:4000]
    plain = curve.predict(mean)
    assert plain[top].mean() < 0.97 * y[top].mean()
    assert abs(p[top].mean() / y[top].mean() - 1) < abs(plain[top].mean() / y[top].mean() - 1) / 2
    if not growth:
        at = np.linspace(-2, 2, 5)
        exact = np.log(share / (1 - share)) + gap * at / (1 + 1 / count)
        found = logit(curve.predict(learned.steepened(at, count)))
        np.testing.assert_allclose(found, exact, atol=0.1)
    assert MarginNoise.of(told[:1], y, np.ones(len(y))) is None
    # The number of margins that the curve was fitted to: nothing is changed.
    np.testing.assert_allclose(learned.steepened(mean, 2), mean)


def test_rates_that_positives_lack_are_weights():
    margin, odds, y, rng = rows(200_000)
    kept = (y > 0) | (rng.random(len(y)) < 0.1)
    lacking = np.where(y[kept] > 0, np.nan, 0.1)
    by_weight = LogOddsCalibrator().fit(margin[kept], y[kept], lacking).predict(margin)
    assert by_weight.mean() == pytest.approx(expit(odds).mean(), rel=0.1)


@pytest.mark.parametrize(("learner", "seeds"), [("logistic", 4), ("sgd", 4)])
def test_the_highest_chances_are_right_where_the_truth_bends(learner, seeds):
    """By truth that no linear model has: the paper's spline promises half as many again."""
    told = {"log_odds": [], "spline": []}
    for seed in range(seeds):
        frame, truth = RareClicks.simulate(120_000, np.random.default_rng(seed))
        X, y = frame.filter(like="x").to_numpy(), frame["click"].to_numpy().astype(int)
        for correction, ratios in told.items():
            model = SubsampledClassifier(learner=learner, keep_rate=0.1, correction=correction)
            p = model.fit(X[:80_000], y[:80_000], rng=np.random.default_rng(seed))
            p = p.predict_proba(X[80_000:])[:, 1]
            top = np.argsort(-p)[:400]
            ratios.append(p[top].mean() / truth["p_positive"].to_numpy()[80_000:][top].mean())
    assert 0.8 < np.mean(told["log_odds"]) < 1.25
    if learner != "sgd":
        assert np.mean(told["spline"]) > 1.4
