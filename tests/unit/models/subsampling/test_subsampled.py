"""Learners by name, and training on rows whose zeros were rejected."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.subsampling import subsampled
from counterweight.models.subsampling.learners import Boosting, Tree, new_learner
from counterweight.models.subsampling.subsampled import SubsampledClassifier
from counterweight.numerics.linear import fit_logistic
from counterweight.numerics.zero_rejection import key_order
from counterweight.tables.parquet import model_arrays, model_table
from counterweight.tables.study_data import generator
from threadpoolctl import threadpool_limits

LEARNERS = ("sgd", "logistic", "boosting", "tree")
CORRECTIONS = ("none", "weights", "spline", "prior", "log_odds")


def inverse_prior_correction(p, keep_rate):
    """p(y = 1 | x) among kept rows from that of all rows."""
    return p / (p + keep_rate * (1 - p))


def _rows(n=4000, seed=0, intercept=-2.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    p = 1 / (1 + np.exp(-(intercept + X @ [1.5, -1.0, 0.5, 0.0])))
    return X, (rng.random(n) < p).astype(int), p


def _fit(X, y, weight=None, keys=None, seed=3, **options):
    return SubsampledClassifier(**options).fit(
        X, y, weight, rng=np.random.default_rng(seed), keys=keys
    )


@pytest.mark.parametrize("learner", LEARNERS)
def test_without_rejection_three_corrections_are_one_fit(learner):
    X, y, _ = _rows(1500)
    fits = [
        _fit(X, y, learner=learner, keep_rate=1.0, correction=c).predict_proba(X)
        for c in ("none", "weights", "prior")
    ]
    assert np.array_equal(fits[0], fits[1])
    assert np.allclose(fits[0], fits[2], atol=1e-15)


@pytest.mark.parametrize(
    ("correction", "rate", "shared"),
    [("prior", 0.2, True), ("prior", 1.0, True), ("weights", 1.0, True), ("weights", 0.2, False)],
)
def test_answers_that_are_derived_are_those_of_an_own_fit(correction, rate, shared):
    X, y, _ = _rows(1500)
    plain, own = (_fit(X, y, keep_rate=rate, correction=c) for c in ("none", correction))
    told = {"correction": correction, "keep_rate": rate}, plain.predict_proba(X)[:, 1]
    made = SubsampledClassifier.derived(*told, {"constant_model": np.zeros(1)})
    assert (made is not None) == shared
    assert not shared or np.array_equal(made, own.predict_proba(X)[:, 1])


def test_a_constant_is_not_corrected_again():
    X, y, _ = _rows(400)
    plain, own = (_fit(X, y, keep_rate=1e-9, correction=c) for c in ("none", "prior"))
    assert plain.constant_ and own.constant_
    numbers = {name: np.ravel(values) for name, values in plain.to_arrays().items()}
    told = {"correction": "prior", "keep_rate": 1e-9}
    made = SubsampledClassifier.derived(told, plain.predict_proba(X)[:, 1], numbers)
    assert np.array_equal(made, own.predict_proba(X)[:, 1])


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("correction", CORRECTIONS)
def test_the_order_of_the_rows_does_not_change_the_fit(learner, correction):
    X, y, _ = _rows(1200)
    keys = np.random.default_rng(1).permutation(9000)[:1200]
    order = np.random.default_rng(2).permutation(1200)
    options = {"learner": learner, "keep_rate": 0.3, "correction": correction}
    one = _fit(X, y, keys=keys, **options)
    other = _fit(X[order], y[order], keys=keys[order], **options)
    assert np.array_equal(one.predict_proba(X), other.predict_proba(X))


def test_weights_are_those_of_the_logistic_regression():
    X, y, _ = _rows()
    model = _fit(X, y, keep_rate=0.2, correction="weights")
    rejection = int(np.random.default_rng(3).integers(2**62, size=3)[0])
    kept = subsampled.kept_rows(y, np.arange(len(y)), 0.2, rejection)
    coef, intercept, *_ = fit_logistic(X[kept], y[kept], np.where(y[kept] == 0, 5.0, 1.0))
    arrays = model.to_arrays()
    assert np.allclose(arrays["coef"], coef) and np.isclose(arrays["intercept"], intercept)
    assert arrays["rows_trained"] == kept.sum()


def test_samples_are_nested_over_the_rates_and_shared_by_the_methods():
    X, y, _ = _rows()
    trained = {
        (rate, c): _fit(X, y, keep_rate=rate, correction=c).rows_trained_
        for rate in (1.0, 0.5, 0.1)
        for c in ("none", "weights", "prior")
    }
    for rate in (1.0, 0.5, 0.1):
        assert len({trained[rate, c] for c in ("none", "weights", "prior")}) == 1
    assert trained[1.0, "none"] == len(y) > trained[0.5, "none"] > trained[0.1, "none"]


def test_corrections_find_the_base_rate_and_none_is_off_by_the_known_odds():
    X, y, p = _rows(40_000, intercept=-4.0)
    for correction in ("weights", "spline", "prior"):
        mean = _fit(X, y, keep_rate=0.1, correction=correction).predict_proba(X)[:, 1].mean()
        assert abs(mean - y.mean()) < 0.1 * y.mean(), correction
    plain = _fit(X, y, keep_rate=0.1, correction="none").predict_proba(X)[:, 1]
    assert abs(plain.mean() - inverse_prior_correction(p, 0.1).mean()) < 0.01


def test_prior_correction_recovers_the_true_probabilities():
    X, y, p = _rows(40_000, intercept=-3.0)
    model = _fit(X, y, keep_rate=0.05, correction="prior")
    assert np.abs(model.predict_proba(X)[:, 1] - p).mean() < 0.005


def test_balanced_keeps_as_many_zeros_as_ones():
    X, y, _ = _rows(20_000)
    model = _fit(X, y, keep_rate="balanced", correction="none")
    assert abs(model.rows_trained_ / y.sum() - 2) < 0.1
    assert np.isclose(model.keep_rate_, y.sum() / (len(y) - y.sum()))


def test_the_gap_between_splines_vanishes_without_rejection_and_grows_with_it():
    X, y, _ = _rows(20_000, intercept=-3.5)
    gaps = [
        _fit(X, y, keep_rate=rate, correction="spline").spline_gap_ for rate in (1.0, 0.3, 0.01)
    ]
    assert gaps[0] == 0 < gaps[1] < gaps[2]
    assert _fit(X, y, correction="none").spline_gap_ is None


def test_outer_weights_are_honoured():
    X, y, _ = _rows(1500)
    double = np.random.default_rng(0).random(1500) < 0.5
    for correction in CORRECTIONS:
        plain = _fit(X, y, keep_rate=0.5, correction=correction)
        ones = _fit(X, y, np.ones(1500), keep_rate=0.5, correction=correction)
        more = _fit(X, y, 1.0 + 4.0 * double, keep_rate=0.5, correction=correction)
        assert np.array_equal(plain.predict_proba(X), ones.predict_proba(X))
        assert not np.allclose(plain.predict_proba(X), more.predict_proba(X), atol=1e-4)
    # Rows of weight 0 are as if they were not there.
    keys = np.arange(1500)
    zero = _fit(X, y, double.astype(float), keep_rate=0.5)
    left = _fit(X[double], y[double], keys=keys[double], keep_rate=0.5)
    assert np.allclose(zero.predict_proba(X), left.predict_proba(X))


def test_descent_with_large_weights_is_counted_not_hidden():
    X, y, _ = _rows(20_000)
    shares = {}
    for rate in (1.0, 0.003):
        model = _fit(X, y, learner="sgd", keep_rate=rate, correction="weights")
        p = model.predict_proba(X)[:, 1]
        assert ((p >= 0) & (p <= 1)).all()
        raw = model.learner_.raw(X)
        assert model.predictions_out_of_range_ == ((raw < 0) | (raw > 1)).mean()
        shares[rate] = model.predictions_out_of_range_
    assert shares[0.003] > 0.9 > 0.5 > shares[1.0]


def test_descent_finds_the_least_squares_line():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3)) * [1, 10, 0.1] + [0, 50, 0]
    y = (rng.random(20_000) < 0.5 + 0.1 * X[:, 0] + 0.01 * (X[:, 1] - 50)).astype(int)
    model = new_learner("sgd").fit(X, y, None, np.random.default_rng(1))
    best = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    line = np.column_stack([X, np.ones(len(X))]) @ best
    assert np.sqrt(((model.raw(X) - line) ** 2).mean()) < 0.02


def test_an_overflow_of_the_descent_is_told():
    X, y, _ = _rows(300)
    model = new_learner("sgd").fit(X, y, np.full(300, 1e300), np.random.default_rng(0))
    assert not model.converged_
    assert np.isfinite(model.score(X)).all()


def test_leaves_of_the_tree_are_laplace_smoothed():
    X = np.repeat([[0.0], [1.0]], [4, 6], axis=0)
    y = np.r_[[1, 0, 0, 0], np.ones(6, int)]
    tree = Tree(min_samples_leaf=4).fit(X, y, None, np.random.default_rng(0))
    assert np.allclose(tree.score(np.array([[0.0], [1.0]])), [2 / 6, 7 / 8])
    twice = Tree(min_samples_leaf=4).fit(X, y, np.full(10, 2.0), np.random.default_rng(0))
    assert np.allclose(twice.score(np.array([[0.0], [1.0]])), [3 / 10, 13 / 14])


@pytest.mark.parametrize("learner", ["sgd", "logistic", "boosting"])
def test_learners_do_not_depend_on_threads(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15_000, 57))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(3 - X[:, 0]))).astype(float)
    scores = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = new_learner(learner).fit(X, y, None, np.random.default_rng(0))
            scores.append(model.score(X))
    assert np.array_equal(*scores)


def test_one_class_left_gives_a_constant_that_says_so(caplog):
    X, y, _ = _rows(400)
    model = _fit(X, y, keep_rate=1e-9, correction="none")
    arrays = model.to_arrays()
    ones = y.sum()
    assert np.allclose(model.predict_proba(X)[:, 1], (ones + 1) / (ones + 2))
    assert arrays["constant_model"] == 1 and arrays["converged"] == 0
    assert "of one class: the model is a constant" in caplog.text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(100, int)}, "of one class, 0"),
        ({"keep_rate": 0.0}, "above 0 and at most 1, or balanced, not 0.0"),
        ({"keep_rate": 1.5}, "keep_rate must be .*, not 1.5"),
        ({"keep_rate": "half"}, "keep_rate must be .* or balanced, not 'half'"),
        ({"correction": "both"}, "correction must be one of none, weights"),
        ({"learner": "forest"}, "learner must be one of sgd, .*, not 'forest'"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be .*, not 0"),
        ({"calibration_share": 1}, "calibration_share must be .*, not 1"),
        ({"keys": np.zeros(100, int)}, "99 keys stand more than once"),
        ({"keys": np.arange(99)}, "100 rows but 99 keys"),
        ({"weight": np.zeros(100)}, "weights are 0"),
    ],
)
def test_bad_input_is_told_in_a_sentence(change, message):
    X, y, _ = _rows(100, intercept=0.0)
    with pytest.raises(CounterweightError, match=message):
        _fit(X, **({"y": y, "keep_rate": 0.5} | change))


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_stored_model_predicts_as_the_fitted_one(correction, learner):
    X, y, _ = _rows(1000)
    model = _fit(X, y, learner=learner, keep_rate=0.5, correction=correction)
    arrays = model.to_arrays()
    assert set(model.SWEPT) <= set(arrays)
    stored = model_arrays(model_table(arrays, 0, "general").to_pandas())
    back = SubsampledClassifier.from_arrays(stored)
    assert np.array_equal(back.predict_proba(X), model.predict_proba(X))


def test_boosting_has_the_same_bins_with_weights():
    X, y, _ = _rows(2000)
    X[:, 3] = np.round(X[:, 3])
    rng = np.random.default_rng
    plain = Boosting().fit(X, y, None, rng(0))
    weighted = Boosting().fit(X, y, np.full(2000, 1.0), rng(0))
    assert np.array_equal(plain.score(X), weighted.score(X))
    assert [len(cuts) for cuts in plain.cuts_] == [254, 254, 254, len(np.unique(X[:, 3])) - 1]


def test_streams_of_the_trainer_give_the_same_rows_for_every_setting():
    X, y, _ = _rows(2000)
    fits = [
        SubsampledClassifier(keep_rate=0.2, correction="none", learner=learner).fit(
            X, y, rng=generator(1, "study", 0, "train subsampled 0"), keys=np.arange(2000)
        )
        for learner in LEARNERS
    ]
    assert len({fit.rows_trained_ for fit in fits}) == 1


def test_zeros_that_were_kept_at_other_rates_weigh_as_if_at_one():
    model, y = SubsampledClassifier(), np.array([0, 1, 0, 0, 1, 0])
    one, weight = model._before(y, None, None)
    assert one == 1.0 and weight.tolist() == [1.0] * 6
    # All alike: that rate, and weights of 1; a row with a reward needs none.
    rates = np.where(y == 1, np.nan, 0.3)
    one, weight = model._before(y, None, rates)
    assert one == 0.3 and weight.tolist() == [1.0] * 6
    rates = np.array([0.1, 1.0, 0.2, 0.4, 1.0, 0.4])
    keys = np.array([5, 3, 9, 1, 7, 2])
    one, weight = model._before(y, keys, rates)
    zeros = y == 0
    assert one == pytest.approx(4 / (10 + 5 + 2.5 + 2.5))
    by_row = weight[np.argsort(key_order(keys, 6))]
    np.testing.assert_allclose(by_row, np.where(zeros, one / rates, 1.0))
    assert by_row[zeros].mean() == pytest.approx(1.0)


def test_the_noise_of_margins_is_a_line_in_the_square_of_how_far_they_are_out():
    rng = np.random.default_rng(7)
    n, rounds = 4000, 60
    y, weight = np.arange(n) % 2, rng.uniform(0.5, 1.5, n)
    true = np.where(y == 1, 2.0, -1.0) + rng.normal(size=n)
    noise = 0.3 + 0.2 * (true - 0.5) ** 2
    margins = true + np.sqrt(noise) * rng.normal(size=(rounds, n))
    found = subsampled.MarginNoise.of(margins, y, weight)
    assert found.center == pytest.approx(0.5, abs=0.05) and found.rounds == rounds
    assert found.constant == pytest.approx(0.3, abs=0.06)
    assert found.growth == pytest.approx(0.2, abs=0.03)
    assert found.signal == pytest.approx(1.0, abs=0.1)
    # The line goes through the means, by weight.
    square = (margins.mean(axis=0) - found.center) ** 2
    told = found.constant + found.growth * np.average(square, weights=weight)
    assert told == pytest.approx(np.average(margins.var(axis=0, ddof=1), weights=weight))
    # As many rounds as there were change nothing; more of them tell more.
    away = np.array([-2.0, 0.5, 3.0])
    np.testing.assert_allclose(found.steepened(away, rounds), away)
    assert found.steepened(away, 10**9)[2] == pytest.approx(
        0.5 + (1 + (0.3 + 0.2 * 2.5**2) / rounds) * 2.5, rel=0.05
    )
    assert subsampled.MarginNoise.of(margins[:1], y, weight) is None
