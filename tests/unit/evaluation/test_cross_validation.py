"""Weighted quality where labels are hidden: identities, and coverage over generated tables."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.cross_validation import (
    auc_within,
    cross_validation,
    gain_over,
    jackknife,
    losses,
    over_draws,
    quality,
)
from counterweight.evaluation.metrics import auc, metric_estimate
from counterweight.labeling.missing_outcomes import OutOfFold, folds
from counterweight.numerics.linear import fit_logistic, logistic_probability
from counterweight.numerics.ranking import auc_estimate
from counterweight.selection.selectors import LogisticSelector, selection_probabilities
from counterweight.weighting.importance_weights import general_weights
from scipy.special import expit


@pytest.fixture
def rng():
    """The same numbers in each test."""
    return np.random.default_rng(7)


def _rows(rng, n=400):
    x = rng.normal(size=n)
    return (rng.random(n) < expit(x)).astype(int), expit(0.8 * x), rng.gamma(2, 1, n)


def test_values_are_those_of_the_weighted_metrics(rng):
    y, p, w = _rows(rng)
    found = quality(y, p, w, kind="binary")
    for name in ("auc", "log_loss", "brier", "accuracy"):
        assert found[name].value == pytest.approx(metric_estimate(name, y, p, w).value, rel=1e-12)
    assert found["calibration_ratio"].value == pytest.approx((w @ y) / (w @ p), rel=1e-12)
    numbers = quality(y * 3.0, p, w, kind="number")
    assert numbers["mse"].value == pytest.approx(np.average((p - 3 * y) ** 2, weights=w))
    assert numbers["mean_error"].value == pytest.approx(np.average(p - 3 * y, weights=w))
    spread = np.average((3 * y - np.average(3 * y, weights=w)) ** 2, weights=w)
    assert numbers["r2"].value == pytest.approx(1 - numbers["mse"].value / spread)


def test_errors_are_near_those_of_the_house_where_no_row_is_heavy(rng):
    y, p, w = _rows(rng, 4000)
    found = quality(y, p, w, kind="binary")
    for name in ("auc", "log_loss", "brier", "accuracy"):
        house = metric_estimate(name, y, p, w)
        assert found[name].standard_error == pytest.approx(house.standard_error, rel=5e-3)
        assert found[name].low < found[name].value < found[name].high


def test_only_ratios_of_weights_count_and_rows_of_weight_0_do_not(rng):
    y, p, w = _rows(rng)
    w[:50] = 0
    first = quality(y, p, w, kind="binary")
    second = quality(y[50:], p[50:], 1e9 * w[50:], kind="binary")
    for name, estimate in first.items():
        assert estimate.value == pytest.approx(second[name].value, rel=1e-12)
        assert estimate.low == pytest.approx(second[name].low, rel=1e-9)
        assert estimate.rows == 350


def test_auc_influence_is_its_derivative(rng):
    y, score, w = _rows(rng, 60)
    score = np.round(score, 1)
    _, influence, share, _ = auc.influence(y, score, w)
    assert influence.sum() == pytest.approx(0, abs=1e-12)
    assert share[y == 1].sum() == pytest.approx(1)
    for i in range(0, 60, 7):
        moved = w.copy()
        moved[i] *= 1 + 1e-6
        slope = (auc_estimate(y, score, moved).value - auc_estimate(y, score, w).value) / 1e-6
        assert slope == pytest.approx(influence[i], abs=1e-6)


def test_jackknife_of_a_mean_is_exact(rng):
    values = rng.normal(size=30)
    share = np.full(30, 1 / 30)
    error, freedom = jackknife(share * (values - values.mean()), share)
    assert error == pytest.approx(values.std(ddof=1) / np.sqrt(30))
    assert 1 < freedom <= 29


def test_repeated_rows_are_worth_one_as_groups(rng):
    y, p, w = _rows(rng, 300)
    once = quality(y, p, w, kind="binary")
    copies = [np.repeat(part, 5) for part in (y, p, w, np.arange(300))]
    grouped = quality(*copies[:3], kind="binary", group=copies[3])
    naive = quality(*copies[:3], kind="binary")
    for name, estimate in once.items():
        assert grouped[name].standard_error == pytest.approx(estimate.standard_error, rel=1e-6)
        assert grouped[name].low == pytest.approx(estimate.low, rel=1e-6)
        assert naive[name].standard_error < 0.6 * estimate.standard_error


def test_what_has_no_value_is_left_out_and_sure_things_are_not_certain():
    one = quality(np.ones(50), np.full(50, 0.9), kind="binary")
    assert "auc" not in one
    assert one["accuracy"].value == 1 and one["accuracy"].low == pytest.approx(0.025 ** (1 / 50))
    none = quality(np.zeros(50), np.full(50, 0.1), kind="binary")["calibration_ratio"]
    assert none.value == 0 and none.high > 0
    assert "r2" not in quality(np.ones(9), np.ones(9), kind="number")


@pytest.mark.parametrize(
    "change, words",
    [
        ({"prediction": np.array([0.5, 2.0])}, "not between 0 and 1"),
        ({"y": np.array([0, 2])}, "must be 0 or 1"),
        ({"weight": np.zeros(2)}, "All 2 weights are 0"),
        ({"group": np.zeros(3)}, "groups of shape"),
    ],
)
def test_mistakes_are_told(change, words):
    given = {"y": np.array([0, 1]), "prediction": np.array([0.2, 0.7]), "kind": "binary"} | change
    with pytest.raises(CounterweightError, match=words):
        quality(**given)


def _table(n, rng):
    """A table whose labels are missing at random; neither model is quite right."""
    X = rng.normal(size=(n, 3))
    eta = -0.3 + X @ [0.9, -0.7, 0.4] + 0.3 * X[:, 0] * X[:, 1]
    y = (rng.random(n) < expit(eta)).astype(int)
    t = 1 + X @ [1.2, -0.8, 0.5] + 0.3 * X[:, 0] * X[:, 1] + rng.normal(size=n)
    return X, y, t, expit(-0.2 + X @ [0.8, 0.5, -0.3])


def _line(X, t, w):
    Z = np.column_stack([np.ones(len(X)), X])
    return np.linalg.solve((Z.T * w) @ Z, (Z.T * w) @ t)


def _one_table(seed, population):
    """Whether each interval holds the truth, its length, and how far the estimate is off."""
    rng = np.random.default_rng(seed)
    X, y, t, p = _table(1200, rng)
    seen = rng.random(len(X)) < p
    found, *_ = selection_probabilities(LogisticSelector(), X, seen.astype(int), X[:0], rng)
    w = general_weights(found[seen], seen.mean())
    X, y, t = X[seen], y[seen], t[seen]
    fold = rng.permutation(len(X)) % 5
    p_out, t_out = np.empty(len(X)), np.empty(len(X))
    truth = {"auc": 0.0, "log_loss": 0.0, "brier": 0.0, "mse": 0.0}
    all_X, all_y, all_t, _ = population
    for k in range(5):
        held = fold == k
        coef, shift, *_ = fit_logistic(X[~held], y[~held], w[~held])
        p_out[held] = logistic_probability(X[held], coef, shift)
        line = _line(X[~held], t[~held], w[~held])
        t_out[held] = line[0] + X[held] @ line[1:]
        q = logistic_probability(all_X, coef, shift)
        truth["auc"] += auc_estimate(all_y, q).value / 5
        truth["log_loss"] += losses(all_y, q, "binary").mean() / 5
        truth["brier"] += ((q - all_y) ** 2).mean() / 5
        truth["mse"] += ((line[0] + all_X @ line[1:] - all_t) ** 2).mean() / 5
    made = quality(y, p_out, w, kind="binary") | quality(t, t_out, w, kind="number")
    return {
        name: (e.low <= truth[name] <= e.high, e.high - e.low, e.value - truth[name])
        for name, e in made.items()
        if name in truth
    }


def test_intervals_cover_the_truth_over_300_tables_and_are_no_longer_than_they_must():
    population = _table(20_000, np.random.default_rng(1))
    tables = [_one_table(seed, population) for seed in range(300)]
    least = 0.95 - 2 * np.sqrt(0.95 * 0.05 / 300)
    for name in ("auc", "log_loss", "brier", "mse"):
        covered, length, off = np.array([table[name] for table in tables], float).T
        oracle = 2 * 1.96 * off.std()
        print(f"{name}: covers {covered.mean():.3f}, length / oracle {length.mean() / oracle:.2f}")
        assert covered.mean() >= least, name
        assert length.mean() <= 1.25 * oracle, name
        assert abs(off.mean()) < 0.25 * off.std(), name


def test_ends_of_intervals_are_told_and_keep_to_the_bounds_of_a_metric():
    rng = np.random.default_rng(5)
    y = np.exp(2 * rng.standard_normal(300))
    weight = rng.gamma(1, 1, 300)
    p, row, ones = np.full(300, y.mean()), np.arange(300), np.ones(300)
    records = cross_validation(
        OutOfFold(row, y, weight, ones, None, [p[None]], np.ones((2, 300)), ones, False),
        np.stack([p, p]),
        {},
        target="general",
    )
    told = {
        (record["metric"], record["part"], record.get("variable", "")): record["value"]
        for record in records
    }
    known = quality(y, np.full(300, y.mean()), weight, kind="number")["mse"]
    assert told["mse", "", "low"] == known.low > 0 and told["mse", "", "high"] == known.high
    assert told["mse", "labeled", "low"] > 0


def test_auc_by_folds_counts_pairs_of_the_same_fold_and_its_influence_is_their_derivative():
    rng = np.random.default_rng(8)
    y, p = (rng.random(60) < 0.4).astype(float), rng.integers(0, 9, 60) / 9
    w, fold = rng.gamma(2, 1, 60), rng.integers(0, 4, 60)

    def pairs(w):
        both = (y[:, None] > y) & (fold[:, None] == fold) * np.ones((60, 60), bool)
        right = (p[:, None] > p) + 0.5 * (p[:, None] == p)
        mass = both * np.outer(w, w)
        return (mass * right).sum() / mass.sum()

    found = auc_within(y, p, w, fold)
    assert found.value == pytest.approx(pairs(w), abs=1e-12)
    for at in range(60):
        more = w * (1 + 1e-6 * (np.arange(60) == at))
        assert found.rows[at] == pytest.approx((pairs(more) - pairs(w)) / 1e-6, abs=1e-5)
    whole, one = auc_within(y, p, w, np.zeros(60)), auc.influence(y, p, w)
    assert whole.value == pytest.approx(one.value, abs=1e-12)
    np.testing.assert_allclose(whole.rows, one.rows, atol=1e-12)
    np.testing.assert_allclose(whole.share, one.share, atol=1e-12)
    # A fold of one class has no pair.
    assert auc_within(y, p, w, np.where(y == 1, 0, 1)) is None


def test_auc_of_features_that_say_nothing_is_a_half_within_folds_and_less_over_them():
    pooled, within = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 6)), (np.arange(60) < 24).astype(float)
        fold, p = folds(y, True, None, np.full(60, -1), rng), np.empty(60)
        for number in range(5):
            held = fold == number
            means = [X[~held & (y == one)].mean(axis=0) for one in (0, 1)]
            p[held] = expit(
                X[held] @ (means[1] - means[0]) - sum(means) @ (means[1] - means[0]) / 2
            )
        pooled.append(quality(y, p, kind="binary")["auc"].value)
        within.append(quality(y, p, kind="binary", fold=fold)["auc"].value)
    lost = np.subtract(within, pooled)
    assert abs(np.mean(within) - 0.5) < 3 * np.std(within) / np.sqrt(300)
    assert np.mean(lost) > 5 * np.std(lost) / np.sqrt(300)


def test_draws_of_the_folds_are_averaged():
    rng = np.random.default_rng(6)
    y, p = (rng.random(200) < 0.4).astype(float), rng.uniform(0.1, 0.9, (2, 200))
    ones = np.ones(200)
    tested = OutOfFold(np.arange(200), y, ones, ones, None, [p], np.zeros((2, 200)), ones, True)
    told = cross_validation(tested, p, {}, target="general")
    one, two = (quality(y, drawn, kind="binary")["log_loss"] for drawn in p)
    loss = next(
        r for r in told if (r["metric"], r["part"]) == ("log_loss", "") and "variable" not in r
    )
    assert loss["value"] == pytest.approx((one.value + two.value) / 2)
    assert loss["standard_error"] == pytest.approx((one.standard_error + two.standard_error) / 2)


def test_a_gain_in_right_decisions_is_the_difference_of_accuracies():
    rng = np.random.default_rng(6)
    y, weight = (rng.random(200) < 0.4).astype(float), rng.uniform(0.5, 2, 200)
    p, q = rng.uniform(0.1, 0.9, (2, 2, 200))
    ones, folds = np.ones(200), np.zeros((2, 200))
    tested = OutOfFold(np.arange(200), y, weight, ones, None, [p, q], folds, ones, True)
    for other in (q, True, False):
        accuracies = [
            over_draws(tested, np.broadcast_to(drawn, p.shape) * 1.0, only=("accuracy",))
            for drawn in (p, other)
        ]
        mine, others = (one["accuracy"].value for one in accuracies)
        gain = gain_over(tested, p, other)
        assert gain.value == pytest.approx(mine - others, abs=1e-12)
        assert gain.low < gain.value < gain.high
    assert gain_over(tested, p, p).value == gain_over(tested, p, p).standard_error == 0


@pytest.mark.parametrize(("heavy", "freedom"), [(20, 19), (4, 10), (2, 40 / 9)])
def test_degrees_of_freedom_of_a_jackknife_are_those_of_its_kurtosis(heavy, freedom):
    # Of 20 rows some move the estimate, all as far: a kurtosis of 20 / heavy, and 2 n / (k - 1).
    influence = np.repeat([1.0, 0.0], [heavy, 20 - heavy]) * (-1) ** np.arange(20)
    assert jackknife(influence, np.full(20, 0.05))[1] == pytest.approx(freedom)
