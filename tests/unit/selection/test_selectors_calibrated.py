"""Calibration is out of fold, and the diagnostics say what is there."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.linear import folds
from counterweight.numerics.ranking import auc_estimate
from counterweight.selection import selectors
from counterweight.selection.selectors import (
    BetterOfTwoSelector,
    GradientBoostingSelector,
    LogisticSelector,
    describe_selection,
    selection_probabilities,
)
from counterweight.weighting.importance_weights import general_weights, unlabeled_weights


def mar(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    p = 1 / (1 + np.exp(-(0.5 - 1.2 * X[:, 0] + 0.6 * X[:, 1])))
    return X, p, (rng.random(n) < p).astype(int)


def test_fitted_weights_follow_the_true_ratio():
    X, p, s = mar()
    fitted, _, _, converged = selection_probabilities(
        LogisticSelector(), X, s, X[:5], np.random.default_rng(1)
    )
    assert converged
    for weigh in (general_weights, unlabeled_weights):
        found, true = (weigh(q[s == 1], s.mean()) for q in (fitted, p))
        assert np.corrcoef(found, true)[0, 1] > 0.99


def test_isotonic_probabilities_have_the_right_mean_and_keep_the_order():
    X, _, s = mar(4000)
    fitted, new, share, _ = selection_probabilities(
        GradientBoostingSelector(max_iter=20),
        X,
        s,
        X[:100],
        np.random.default_rng(1),
        calibration="isotonic_only",
    )
    assert share == 1
    assert fitted.mean() == pytest.approx(s.mean(), abs=1e-9)
    assert ((new >= 0) & (new <= 1)).all()
    assert (fitted[s == 1] > 0).all()


class Memory:
    """A selector that knows the rows it was fitted on: it would leak if it were not out of fold."""

    converged_ = True

    def prepare(self, X, rng):
        return None

    def fit(self, X, s, *, rng=None, shared=None):
        self.known = {tuple(row): value for row, value in zip(X, s, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.known.get(tuple(row), 0.5) for row in X], dtype=float)


def test_training_rows_never_score_themselves():
    X, _, s = mar(200)
    scores, again, _, _ = selection_probabilities(
        Memory(), X, s, X, np.random.default_rng(0), calibration="none"
    )
    assert (scores == 0.5).all()
    assert (again == s).all()


class Squared(LogisticSelector):
    """A selector whose scores keep the order but are no probabilities."""

    def _positive(self, X):
        return super()._positive(X) ** 3


def test_the_isotonic_map_is_used_where_scores_are_off_and_not_where_they_are_right():
    X, p, s = mar()
    shares = {}
    for selector in (LogisticSelector(), Squared()):
        fitted, _, shares[type(selector)], _ = selection_probabilities(
            selector, X, s, X[:5], np.random.default_rng(1)
        )
        assert np.abs(fitted - p).mean() < 0.02
    assert shares[LogisticSelector] < 0.5 < 0.9 < shares[Squared]


def test_chances_of_new_rows_are_mixed_as_those_of_the_rows_are(monkeypatch):
    X, _, s = mar(2000)
    monkeypatch.setattr(selectors, "_isotonic_share", lambda *_: 0.25)
    made = {}
    for way in ("none", "isotonic_only", "isotonic"):
        told = LogisticSelector(), X, s, X[:200], np.random.default_rng(1)
        made[way] = selection_probabilities(*told, calibration=way)[:2]
    for mixed, plain, mapped in zip(
        made["isotonic"], made["none"], made["isotonic_only"], strict=True
    ):
        np.testing.assert_allclose(mixed, 0.75 * plain + 0.25 * mapped, rtol=1e-12)


def test_folds_have_the_same_labeled_share():
    s = np.r_[np.ones(50, int), np.zeros(150, int)]
    fold = folds(s, 5, np.random.default_rng(0))
    assert np.bincount(fold).tolist() == [40] * 5
    assert np.bincount(fold[s == 1]).tolist() == [10] * 5


def test_too_few_labeled_rows_for_the_folds_are_told():
    with pytest.raises(CounterweightError, match="Only 3 rows are labeled, too few for 5 folds"):
        selection_probabilities(
            LogisticSelector(),
            np.eye(20),
            np.r_[np.ones(3), np.zeros(17)],
            np.eye(20),
            np.random.default_rng(0),
        )


def test_diagnostics_of_a_perfectly_calibrated_model():
    rng = np.random.default_rng(0)
    p = rng.random(50_000)
    s = (rng.random(50_000) < p).astype(int)
    records = describe_selection(p, s)
    assert describe_selection(p, s, np.ones(len(p))) == records
    by = {(r["metric"], r.get("part", "")): r for r in records}
    for k in range(10):
        observed = by["calibration_observed", str(k)]
        gap = observed["value"] - by["calibration_predicted", str(k)]["value"]
        assert abs(gap) < 4 * observed["standard_error"] + 1e-3
    for name in ("overlap_labeled", "overlap_unlabeled"):
        assert sum(r["value"] for r in records if r["metric"] == name) == pytest.approx(1)
    assert by["share_extreme", ""]["value"] == pytest.approx(0.01, abs=0.002)


def test_observed_shares_have_the_binomial_error_of_their_rows():
    p = np.repeat([0.2, 0.7], 500)
    s = np.tile([1, 0, 0, 0, 1], 200)
    for weight in (None, np.full(1000, 3.0)):
        for record in describe_selection(p, s, weight):
            if record["metric"] == "calibration_observed":
                assert (record["value"], record["rows"]) == (pytest.approx(0.4), 100)
                assert record["standard_error"] == pytest.approx(np.sqrt(0.4 * 0.6 / 100))


def test_overlap_has_the_labeled_and_the_others_each_in_their_bins():
    records = describe_selection([0.92, 0.93, 0.12, 0.97], [1, 1, 0, 1])
    found = {(r["metric"], r.get("part")): (r["value"], r["rows"]) for r in records}
    assert found["overlap_labeled", "18"] == pytest.approx((2 / 3, 3))
    assert found["overlap_labeled", "19"] == pytest.approx((1 / 3, 3))
    assert found["overlap_unlabeled", "2"] == (1.0, 1)
    assert found["overlap_labeled", "2"][0] == found["overlap_unlabeled", "18"][0] == 0


def test_unknown_calibrations_and_labels_are_told():
    X, _, s = mar(200)
    for changes, message in (
        ({"calibration": "Isotonic"}, "choose one of isotonic, isotonic_only, none"),
        ({"n_folds": 1}, "2 folds or more"),
        ({"s": s * 2 - 1}, r"must be 0 or 1; found -1, 1"),
    ):
        given = {"s": s, "X_new": X[:0], "rng": np.random.default_rng(0)} | changes
        with pytest.raises(CounterweightError, match=message):
            selection_probabilities(LogisticSelector(), X, **given)


def test_diagnostics_of_kept_rows_are_those_of_all_rows():
    rng = np.random.default_rng(4)
    p = rng.random(40_000)
    s = (rng.random(len(p)) < p).astype(int)
    outcome = rng.random(len(p)) < 0.1 + 0.5 * s
    rate = np.where(outcome, 1.0, 0.1)
    kept = rng.random(len(p)) < rate
    full = describe_selection(p, s)
    found = describe_selection(p[kept], s[kept], 1 / rate[kept])
    bare = describe_selection(p[kept], s[kept])

    def gap(records):
        curves = [
            [r["value"] for r in records if r["metric"] == f"calibration_{which}"]
            for which in ("predicted", "observed")
        ]
        return np.abs(np.subtract(*curves)).mean()

    assert gap(found) < 0.03 < gap(bare), "rejection is not mistaken for miscalibration"
    assert abs(found[0]["value"] - full[0]["value"]) < 4 * found[0]["standard_error"]


def test_the_share_of_extreme_chances_is_of_those_below_a_hundredth():
    p = np.array([0.01, 0.009, 0.5, 0.2])
    found = {r["metric"]: r["value"] for r in describe_selection(p, np.array([0, 0, 1, 1]))}
    assert found["share_extreme"] == 0.25


def test_two_folds_are_the_fewest():
    X, _, s = mar(200)
    given = {"rng": np.random.default_rng(0), "X_new": X[:0]}
    p, *_ = selection_probabilities(LogisticSelector(), X, s, n_folds=2, **given)
    assert np.isfinite(p).all()
    for folds_asked in (1, 2.5):
        with pytest.raises(CounterweightError, match="2 folds or more"):
            selection_probabilities(LogisticSelector(), X, s, n_folds=folds_asked, **given)


@pytest.mark.parametrize("selector", [GradientBoostingSelector(max_iter=20), BetterOfTwoSelector()])
def test_nobody_is_recognised_by_what_is_constant_in_a_group(selector):
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(300), 6)
    X, s = rng.normal(size=(300, 2))[group], (rng.random(300) < 0.5).astype(int)[group]
    told = selector, X, s, X[:0]
    by_rows, *_ = selection_probabilities(*told, np.random.default_rng(1))
    fitted, *_ = selection_probabilities(*told, np.random.default_rng(1), group=group)
    assert auc_estimate(s, fitted).value < 0.6
    assert isinstance(selector, BetterOfTwoSelector) or auc_estimate(s, by_rows).value > 0.8


def test_whole_groups_are_in_one_fold():
    rng = np.random.default_rng(5)
    group = rng.integers(40, size=1000) + 7
    fold = folds(np.ones(1000, int), 5, rng, group)
    assert all(len(set(fold[group == one])) == 1 for one in set(group))
    assert np.ptp(np.bincount(fold)) < 60
