"""Constraints for new rows: margins, held-out rows, certificates."""

import warnings

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.decisions import GivenScores
from counterweight.models.constraints.reductions import ReductionsClassifier
from counterweight.numerics.rates import DataSets
from counterweight.numerics.rates.values import constraint_values, plain_constraints
from scipy.stats import norm

ASKED = ["coverage(men) <= coverage(women) / 0.6"]
CROSSED, HELD = {"confidence": 0.95}, {"confidence": 0.95, "held_out": 0.4}


def world(rows, rng):
    men = rng.random(rows) < 0.6
    X = rng.normal(size=(rows, 3)) + np.outer(men, [0.8, 0.3, 0.0])
    y = (X @ [1.0, 0.7, -0.5] + rng.logistic(size=rows) * 0.7 > 0.7).astype(int)
    return X, y, {"men": men, "women": ~men}


def fitted(rows=800, seed=0, asked=ASKED, **options):
    X, y, members = world(rows, np.random.default_rng(seed))
    model = ConstrainedClassifier(constraints=asked, start="zero", steps=3, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, datasets=members), X, y, members


@pytest.mark.parametrize("way", [CROSSED, HELD, {}], ids=["crossed", "held-out", "none"])
def test_constraints_at_a_confidence_hold_on_new_rows_as_often(way):
    # The bench does the same with 400 fits and 10^6 fresh rows: tests/benchmarks/bench_margins.py.
    fits = 40
    X_new, y_new, members = world(100_000, np.random.default_rng(99))
    new, broken = DataSets(None, y_new, None, members), np.zeros(2)
    for seed in range(fits):
        model, *_ = fitted(600, seed, on_infeasible="keep", **way)
        values = constraint_values(*model.answers(X_new, new), new, ASKED)
        broken += (values[:, :, 2] > 0).any(axis=0)
    if way:
        assert (broken / fits <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / fits)).all(), broken
    else:
        assert (broken / fits > 0.3).all(), broken


@pytest.mark.parametrize("way", [CROSSED, HELD, {}], ids=["crossed", "held-out", "none"])
def test_thresholds_of_given_scores_hold_on_new_rows_as_often(way):
    fits, broken = 40, 0
    X_new, y_new, members = world(50_000, np.random.default_rng(99))
    new = DataSets(None, y_new, None, members)
    for seed in range(fits):
        X, y, own = world(600, np.random.default_rng(seed))
        model = GivenScores(constraints=ASKED, above=0.6, **way).fit(X[:, :1], y, datasets=own)
        values = constraint_values(*model.answers(X_new[:, :1]), new, ASKED)
        broken += (values[:, 0, 2] > 0).any()
    if way:
        assert broken / fits <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / fits), broken
    else:
        assert broken / fits > 0.3, broken


@pytest.mark.parametrize("way", [CROSSED, HELD, {}], ids=["crossed", "held-out", "none"])
def test_mixtures_hold_on_new_rows_as_often(way):
    fits, broken = 20, np.zeros(2)
    X_new, y_new, members = world(50_000, np.random.default_rng(99))
    new = DataSets(None, y_new, None, members)
    for seed in range(fits):
        X, y, own = world(600, np.random.default_rng(seed))
        model = ReductionsClassifier(constraints=ASKED, fits=12, on_infeasible="keep", **way)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, datasets=own)
        values = constraint_values(*model.answers(X_new, new), new, ASKED)
        broken += (values[:, :, 2] > 0).any(axis=0)
    if way:
        assert (broken / fits <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / fits)).all(), broken
        loaded = ReductionsClassifier.from_arrays(model.to_arrays())
        assert loaded.certified_ == model.certified_
        assert np.allclose(loaded.margins_, model.margins_) and (model.margins_ > 0).any()
        assert np.allclose(model.excess_ + model.margins_[1], model.violations_)
    else:
        assert (broken / fits > 0.25).all(), broken


def test_a_certificate_is_what_the_held_out_rows_show():
    model, X, y, members = fitted(2000, **HELD)
    held = DataSets(X, y, None, members).held_out(0.4, np.random.default_rng(0))
    p, decided = model.answers(X)
    z = norm.ppf(0.95)
    for predicted, margin in ((decided * 1.0, 0), (p, 1)):
        men, women = (predicted[held & members[name]] for name in ("men", "women"))
        error = np.sqrt(men.var() / len(men) + women.var() / len(women) / 0.36)
        upper = men.mean() - women.mean() / 0.6 + z * error
        assert upper < 1e-3
        assert model.margins_[margin] >= 0
    assert model.certified_ and model.certificate_.startswith("Certified at 95%")
    assert {one.rows for one in model.held_out_checks_} == {"held-out"}
    # Decisions keep what was promised on all rows of the fit, too.
    assert all(
        one.verdict == "kept" for one in model.constraint_checks_ if one.rule == "deterministic"
    )


def test_rows_that_certify_have_no_say_in_weights_and_thresholds():
    model, X, y, members = fitted(1500, **HELD)
    held = DataSets(X, y, None, members).held_out(0.4, np.random.default_rng(0))
    # Coverage says nothing of who has which label, so that the test has the same result.
    mixed, rng = X.copy(), np.random.default_rng(1)
    for mask in members.values():
        mixed[held & mask] = rng.permutation(X[held & mask])
    other = ConstrainedClassifier(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.fit(mixed, y, datasets=members)
    assert model.certified_ and other.certified_
    np.testing.assert_array_equal(other.coef_, model.coef_)
    np.testing.assert_array_equal(other.thresholds_, model.thresholds_)


def test_held_out_rows_have_no_say_in_the_weights_but_by_margins():
    model, X, y, members = fitted(1500, held_out=0.4, confidence=None)
    held = DataSets(X, y, None, members).held_out(0.4, np.random.default_rng(0))
    told = {one.rule: one for one in model.held_out_checks_}
    assert max(one.excess for one in told.values()) <= 1e-9
    assert not model.certified_ and model.certificate_.startswith("No certificate")
    # Without the held-out rows, and with the bound that the margin gives, the fit is the same.
    wide = f"coverage(men) <= coverage(women) / 0.6 - {model.margins_[1, 0]:.12f}"
    alone = ConstrainedClassifier(constraints=[wide], start="zero", steps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = {name: mask[~held] for name, mask in members.items()}
        alone.fit(X[~held], y[~held], datasets=own)
    np.testing.assert_allclose(alone.coef_, model.coef_, atol=2e-3)


def test_more_constraints_and_more_confidence_need_more_room():
    margins = []
    several = ["recall(women) >= 0.55", *ASKED]
    for confidence, asked in ((0.8, ASKED), (0.95, ASKED), (0.95, several)):
        model, *_ = fitted(1500, asked=asked, confidence=confidence, on_infeasible="keep")
        margins.append(model.margins_[1, -1])
    assert 0 < margins[0] < margins[1] < margins[2]
    assert not model.certified_ and "cross-fitting" in model.certificate_
    plain, *_ = fitted(1500)
    assert not plain.margins_.any() and plain.certificate_.startswith("No certificate")


def test_margins_of_precision_are_in_its_own_units():
    model, X, y, members = fitted(2000, asked=["precision(everyone) >= 0.8"], **HELD)
    p = model.predict_proba(X)[:, 1]
    assert (p @ y) / p.sum() >= 0.8
    (promise,) = [one for one in model.held_out_checks_ if one.rule == "randomised"]
    assert promise.right == 0.8 and promise.left >= 0.8
    assert model.certified_


def test_room_that_cannot_be_had_is_told():
    with pytest.raises(
        CounterweightError, match="With bounds less their margins.*is missed by.*lower confidence"
    ):
        fitted(200, asked=["recall(women) >= 0.97", "coverage(women) <= 0.45"], confidence=0.99)


class Told(GivenScores):
    """What fits of margins are asked for, with made-up errors of cross-fitting."""

    def _crossed(self, samples, rng, plains, z):
        return np.full((2, len(plains)), 0.01), np.full((2, len(plains)), 0.03), 1.0

    def _fit_to(self, samples, rng, margins, units, plains):
        self.asked.append(float(margins[0, 0]))
        super()._fit_to(samples, rng, margins, units, plains)


def test_margins_have_room_for_the_test_and_for_chance():
    rng = np.random.default_rng(0)
    score = rng.random((400, 1))
    y = (rng.random(400) < score[:, 0]).astype(int)
    options = {"constraints": ["coverage(everyone) <= 0.4"], "confidence": 0.9}
    alone, tested = Told(**options), Told(**options, held_out=0.2)
    for model in (alone, tested):
        model.asked = []
        model.fit(score, y)
    assert alone.asked == [pytest.approx(0.01 + norm.ppf(0.9) * 0.03)]
    # Errors of a fifth of the rows are twice those of the others; each test has half of the level.
    room = norm.ppf(0.95) * 0.06
    first, *more = tested.asked
    assert first == pytest.approx(0.01 + room)
    if more:
        assert more[0] == pytest.approx(0.01 + room + 1.5 * np.hypot(0.03, 0.06))
    assert not alone.certified_


def test_a_chance_of_a_half_is_a_no_in_cross_fitting():
    class Even(GivenScores):
        def answers(self, X, samples=None):
            return np.full(X.shape[0], 0.5), None

    rng = np.random.default_rng(0)
    data = DataSets.stack(rng.random((50, 1)), np.arange(50) % 2)
    model = Even(constraints=["coverage(everyone) <= 0.4"], confidence=0.9, repair="none")
    model.n_features_in_, model.margins_ = 1, np.zeros((2, 1))
    plains = plain_constraints(model.constraints)
    flattered, error, units = model._crossed(data, rng, plains, 1.0)
    assert not flattered.any() and units == 1
    by_sign, by_chance = constraint_values(np.full(50, 0.5), None, data, model.constraints, {})[
        0, :, 3
    ]
    np.testing.assert_allclose(error[:, 0], [by_sign, by_chance])
