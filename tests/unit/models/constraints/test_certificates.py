"""Constraints for new rows: margins, held-out rows, certificates."""

import warnings

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.constraints.certificates import most_room
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.models.constraints.reductions import ReductionsClassifier
from counterweight.models.constraints.thresholds import GivenScores
from counterweight.numerics.rates import DataSets, compile
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


def scores_of(rows, rng, most=0.45):
    """Scores by which no row has a chance of a one above `most`."""
    score = rng.normal(size=rows)
    return score[:, None], (rng.random(rows) < most / (1 + np.exp(3.5 - 2.5 * score))).astype(int)


@pytest.mark.parametrize("kept", [1.0, 0.05])
def test_a_precision_that_no_score_has_is_certified_in_one_of_ten_at_most(kept):
    """Also where zeros were dropped; a fit that says yes to nobody is no error."""
    certified, fits = 0, 40
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        X, y = scores_of(3000, rng)
        stays = (y == 1) | (rng.random(len(y)) < kept)
        options = {"constraints": ["precision(labeled) >= 0.5"], "confidence": 0.9, "held_out": 0.4}
        model, weight = GivenScores(above=None, **options), np.where(y == 1, 1.0, 1 / kept)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[stays], y[stays], sample_weight=weight[stays])
        certified += model.certified_
    assert certified <= 0.1 * fits


def test_weights_that_count_in_no_rate_are_told():
    X, y, members = world(300, np.random.default_rng(2))
    weight = np.where(y == 1, 1.0, 5.0)
    model = GivenScores(constraints=["coverage(men) >= 0.8 * coverage(women & labeled)"])
    with pytest.warns(UserWarning, match=r"do not count in coverage\(men\), of all rows"):
        model.fit(X[:, :1], y, sample_weight=weight, datasets=members)
    told = {"constraints": ["coverage(men & labeled) <= 0.9", "recall(men) >= 0.1"]}
    for options, given in ((told, weight), ({"constraints": ASKED}, None)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            GivenScores(**options).fit(X[:, :1], y, sample_weight=given, datasets=members)
        assert not any("do not count" in str(one.message) for one in caught)


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


def test_more_confidence_needs_more_room():
    margins = []
    for confidence in (0.6, 0.8, 0.95):
        model, *_ = fitted(1500, confidence=confidence, on_infeasible="keep")
        margins.append(model.margins_[1, -1])
        assert model.certified_ and "by cross-fitting" in model.certificate_
    assert 0 < margins[0] < margins[1] < margins[2]
    plain, *_ = fitted(1500)
    assert not plain.margins_.any() and plain.certificate_.startswith("No certificate")


def test_margins_of_precision_are_in_its_own_units():
    model, X, y, members = fitted(2000, asked=["precision(everyone) >= 0.8"], **HELD)
    p = model.predict_proba(X)[:, 1]
    assert (p @ y) / p.sum() >= 0.8
    (promise,) = [one for one in model.held_out_checks_ if one.rule == "randomised"]
    assert promise.right == 0.8 and promise.left >= 0.8
    assert model.certified_


def test_what_cannot_be_shown_is_told_with_what_can_be_and_with_rows():
    # Kept by all rows, but 400 cannot show it: no refusal, and no word of contradictions.
    for way in (CROSSED, HELD):
        model, X, y, members = fitted(400, asked=["parity(men, women, 0.97)"], **way)
        assert not model.certified_ and model.certificate_.startswith("Not certified at 95%")
        shown = model.shown_
        assert shown.share > 0 and f"looser by {shown.share:.0%}" in model.certificate_
        number, rest = shown.texts[0].removeprefix("coverage(men) >= ").split(" * ")
        assert float(number) == pytest.approx(0.97 * (1 - shown.share), abs=1e-3)
        assert rest == "coverage(women)"
        assert shown.needed > 400 and "rows" in model.certificate_


def test_what_no_answers_keep_is_refused():
    asked = ["recall(women) >= 0.97", "coverage(women) <= 0.2"]
    with pytest.raises(CounterweightError, match="contradict each other"):
        fitted(200, asked=asked, **CROSSED)


def test_a_rule_behind_one_that_looks_at_nobody_is_never_given_unsaid(caplog):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), (rng.random(500) < 0.2).astype(int)
    for way in (CROSSED, HELD, {}):
        caplog.clear()
        # No rows tell the label: whatever has this recall errs more than a yes drawn at random.
        model = ConstrainedClassifier(
            constraints=["recall(labeled) >= 0.9"], on_infeasible="keep", start="zero", **way
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, datasets={})
        one = model.trivial_
        assert one.rule.keeps and one.rule.chance == pytest.approx(0.9, abs=1e-3)
        assert one.rule.cost == pytest.approx(0.9 * (y == 0).mean() + 0.1 * y.mean(), abs=0.02)
        if one.behind:
            (told,) = [said for said in model.warnings_ if "uses no columns" in said]
            assert f"{one.cost:.3g}" in told and f"{one.rule.cost:.3g}" in told
            assert told in caplog.text
    # One that tells them is not behind.
    assert not fitted(800, **CROSSED)[0].trivial_.behind


def test_the_most_room_is_that_of_a_linear_program():
    y, men = np.array([1, 1, 0, 0]), np.array([True, False, True, False])
    data = DataSets(None, y, None, {"men": men, "women": ~men})
    asked = ["recall(labeled) >= 0.5", "coverage(everyone) <= 0.75"]
    problem = compile("error(labeled)", asked, data)
    # All positives have a yes: 1/2 beyond the recall, and 1/4 beyond the coverage.
    assert most_room(problem, np.array([0.5, 0.0])) == pytest.approx(1)
    assert most_room(problem, np.array([0.0, 0.1])) == pytest.approx(5)
    # With a share c of yes, all to positives: recall 2 c, coverage c.
    assert most_room(problem, np.array([0.1, 0.1])) == pytest.approx(10 / 3)
    both = compile("error(labeled)", ["coverage(men) >= 0.9", "coverage(men) <= 0.1"], data)
    assert most_room(both, np.ones(2)) == 0


class First(ConstrainedClassifier):
    """The margins of the first fits that are tested, of others' answers and of the rule itself."""

    def _folds(self, samples, fold, rng, margins, units, plains, rooms):
        if not hasattr(self, "asked"):
            self.asked = margins.copy(), [np.array(room) for room in rooms]
        return super()._folds(samples, fold, rng, margins, units, plains, rooms)


def test_margins_begin_with_the_errors_at_the_confidence():
    X, y, members = world(1500, np.random.default_rng(0))
    told = {"constraints": ASKED, "start": "zero", "steps": 3}
    model = First(**told, **CROSSED, on_infeasible="keep")
    plain = ConstrainedClassifier(**told)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, datasets=members)
        plain.fit(X, y, datasets=members)
    margins, rooms = model.asked
    p, decided = plain.answers(X)
    # Of chances and of decisions of the fit that has no margins: errors of a difference of shares.
    for margin, predicted in ((margins[1, 0], p), (rooms[-2][0] / 0.9 * 1.1, decided * 1.0)):
        men, women = (predicted[members[name]] for name in ("men", "women"))
        error = np.sqrt(men.var() / len(men) + women.var() / len(women) / 0.36)
        assert margin == pytest.approx(1.1 * norm.ppf(0.95) * error, rel=0.05)


class Line(GivenScores):
    """What is tested, in its order."""

    def _passes(self, judging, p, decided):
        passed = super()._passes(judging, p, decided)
        self.tested.append((float(np.mean(p)), passed))
        return passed


@pytest.mark.parametrize("way", [CROSSED, HELD], ids=["crossed", "held-out"])
def test_tests_go_from_careful_to_bold_up_to_the_first_that_fails(way):
    rng = np.random.default_rng(0)
    score = rng.random((600, 1))
    y = (rng.random(600) < score[:, 0]).astype(int)
    model = Line(constraints=["coverage(everyone) <= 0.4"], **way)
    model.tested = []
    model.fit(score, y)
    shares, passed = zip(*model.tested, strict=True)
    assert (np.diff(shares) > 0).all() and len(shares) > 2
    assert passed == (True,) * (len(passed) - 1) + (False,)
    assert model.certified_


def test_a_chance_of_a_half_is_a_no_in_cross_fitting():
    class Even(GivenScores):
        def answers(self, X, samples=None):
            return np.full(X.shape[0], 0.5), None

    rng = np.random.default_rng(0)
    data = DataSets.stack(rng.random((50, 1)), np.arange(50) % 2)
    model = Even(constraints=["coverage(everyone) <= 0.4"], confidence=0.9, repair="none")
    model.n_features_in_, model.margins_ = 1, np.zeros((2, 1))
    plains = plain_constraints(model.constraints)
    fold, room = data.folds(5, rng), np.zeros((2, 1))
    (judged,) = model._folds(data, fold, rng, room, np.ones(1), plains, [0.0])
    p, decided = judged.answers
    assert (p == 0.5).all() and not decided.any()
    assert judged.seen[:, 0] == pytest.approx([-0.4, 0.1])
