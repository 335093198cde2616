"""Predictive choice model: known segments are found, answers of new rows are never used."""

import logging

import numpy as np
import pytest
from counterweight.datasets.simulated_offers import ThreeSegments
from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_model import optimal_offer
from counterweight.models.choice.predictive_choice import OPTIONS, PredictiveChoiceModel
from counterweight.numerics.emissions import Layout
from scipy.special import expit, logsumexp

ETA, K = np.array([0.15, 0.9, 0.5]), np.array([8.0, 15.0, 5.0])
#: 6 to 8 % of segments 1 and 2 are misclassified by the true mixture.
MIXTURE = ThreeSegments.mixture(0)
MEANS, COVARIANCES = MIXTURE["means"], MIXTURE["covariances"]


def people(seed, points=500, means=MEANS):
    rng = np.random.default_rng(seed)
    component = rng.permutation(np.repeat(np.arange(3), points))
    root = np.linalg.cholesky(COVARIANCES)[component]
    X = means[component] + np.einsum("nij,nj->ni", root, rng.normal(size=(len(component), 2)))
    t = rng.random(len(X))
    p = expit(K[component] * (t - ETA[component]))
    return X, t, (rng.random(len(X)) < p).astype(int), p, component


def true_log_joint(X):
    rest = X[:, None] - MEANS
    inverse = np.linalg.inv(COVARIANCES)
    distance = np.einsum("njd,jde,nje->nj", rest, inverse, rest)
    logs = np.linalg.slogdet(COVARIANCES)[1]
    return -0.5 * (distance + logs) - np.log(2 * np.pi) - np.log(3)


def fitted(X, t, y, seed=0, **options):
    return PredictiveChoiceModel(**options).fit(X, y, t, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def model():
    return fitted(*people(0)[:3], most_components=5)


def test_options_are_the_constructors_defaults():
    model = PredictiveChoiceModel()
    options = {name: option["default"] for name, option in OPTIONS.items()}
    assert options | {"random_state": 0} == vars(model)


def test_three_segments_are_found_and_predict_almost_as_the_truth():
    picks, ratios, errors, divergences = [], [], [], []
    for seed in range(10):
        X, t, y, p, component = people(seed)
        model = fitted(X, t, y, most_components=5)
        picks.append(model.n_components_)
        joint = true_log_joint(X)
        wrong = joint.argmax(axis=1) != component
        assert 0.03 < wrong[component == 1].mean() < 0.12
        shares = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        curves = expit(K * (t[:, None] - ETA))
        hard = np.take_along_axis(curves, joint.argmax(axis=1)[:, None], axis=1)[:, 0]
        floor = [np.sqrt(np.mean((q - p) ** 2)) for q in (hard, (shares * curves).sum(axis=1))]
        ours = [
            np.sqrt(np.mean((model.predict_acceptance(X, t, how) - p) ** 2))
            for how in ("hard", "soft")
        ]
        errors.append(ours)
        ratios.append(np.array(ours) / floor)
        fresh = people(100 + seed, 20_000)[0]
        inverse = np.linalg.inv(model.covariances_)
        rest = fresh[:, None] - model.means_
        distance = np.einsum("njd,jde,nje->nj", rest, inverse, rest)
        logs = np.log(model.weights_) - 0.5 * (distance + np.linalg.slogdet(model.covariances_)[1])
        density = logsumexp(logs, axis=1) - np.log(2 * np.pi)
        divergences.append(np.mean(logsumexp(true_log_joint(fresh), axis=1) - density))
    assert sum(pick == 3 for pick in picks) >= 9
    assert (np.mean(errors, axis=0) <= (0.115, 0.102)).all()
    assert (np.mean(ratios, axis=0) <= 1.10).all()
    assert np.mean(divergences) <= 0.008


def test_description_length_and_likelihood_are_those_of_the_definition(model):
    X, t, y = people(0)[:3]
    assert model.sizes_.tolist() == [1, 2, 3, 4, 5]
    parameters = model.sizes_ - 1 + model.sizes_ * (2 + 3 + 2)
    expected = -model.log_likelihoods_ + parameters * np.log(len(X)) / 2
    np.testing.assert_allclose(model.mdl_, expected, rtol=1e-12)
    assert model.n_components_ == model.sizes_[model.mdl_.argmin()]
    assert (np.diff(model.log_likelihoods_) > 0).all()
    logs = -0.5 * np.linalg.slogdet(model.covariances_)[1] + np.log(model.weights_)
    rest = X[:, None] - model.means_
    logs = logs - 0.5 * np.einsum("njd,jde,nje->nj", rest, np.linalg.inv(model.covariances_), rest)
    p = expit(model.k_ * (t[:, None] - model.eta_))
    joint = logs - np.log(2 * np.pi) + np.log(np.where(y[:, None] == 1, p, 1 - p))
    assert model.log_likelihood_ == pytest.approx(logsumexp(joint, axis=1).sum(), rel=1e-10)
    assert model.log_likelihood_ >= model.log_likelihoods_[model.n_components_ - 1] - 1e-6
    assert np.diff(model.history_).min() >= -1e-10 * abs(model.history_[-1])
    assert model.converged_


def test_parameters_are_shares_segments_curves_and_moves():
    """Of two numbers and full covariances; a category of four moves thresholds by three."""
    X, t, *_ = people(1, 500)
    rng = np.random.default_rng(1)
    kind = rng.integers(4, size=len(X))
    steps = np.array([-0.3, -0.1, 0.1, 0.3])[kind]
    layout, marks = Layout.of(6, [(2, 3, 4, 5)]), np.eye(4)[kind]
    own = PredictiveChoiceModel(components=2, n_init=1, covariance="full")
    answers = rng.random(len(X)) < expit(9 * (t - 0.5 - steps))
    own.fit(np.hstack([X, marks]), answers.astype(int), t, categories=layout)
    assert (own._thresholds.coefficients[2:] != 0).sum() == 4
    assert own.n_parameters(2) == 1 + 2 * 2 + 2 * 3 + 2 * 2 + 3
    few = slice(10)
    own = PredictiveChoiceModel(components=2, covariance="full")
    told = "A model of one segment of 3 features has 10 parameters, but there are 10 rows"
    with pytest.raises(CounterweightError, match=told):
        own.fit(np.hstack([X, marks])[few], answers.astype(int)[few], t[few], categories=layout)


def test_units_of_features_do_not_matter(model):
    X, t, y = people(0)[:3]
    other = fitted(X * [1000.0, 0.01] + [5.0, -3.0], t, y, most_components=5)
    np.testing.assert_allclose(other.eta_, model.eta_, atol=1e-4)
    shift = len(X) * np.log(1000.0 * 0.01)
    assert other.log_likelihood_ + shift == pytest.approx(model.log_likelihood_, abs=1e-3)


def test_order_of_segments_and_rows_does_not_matter(model):
    X, t, y = people(0)[:3]
    assert (np.diff(model.weights_) <= 0).all()
    again = fitted(X, t, y, most_components=5)
    for name, values in model.to_arrays().items():
        np.testing.assert_array_equal(values, again.to_arrays()[name])
    other = fitted(X[::-1], t[::-1], y[::-1], seed=3, most_components=5)
    np.testing.assert_allclose(other.k_, model.k_, rtol=1e-2)
    turned = PredictiveChoiceModel.from_arrays(model.to_arrays())
    for name in ("weights_", "means_", "covariances_", "eta_", "k_"):
        setattr(turned, name, getattr(turned, name)[::-1])
    for how in ("hard", "soft"):
        np.testing.assert_allclose(
            turned.predict_acceptance(X, t, how), model.predict_acceptance(X, t, how), rtol=1e-12
        )


def test_predictions_use_x_alone(model):
    X, t, y = people(0)[:3]
    shares = model.predict_segments(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    curves = expit(model.k_ * (t[:, None] - model.eta_))
    soft = model.predict_acceptance(X, t, "soft")
    np.testing.assert_allclose(soft, (shares * curves).sum(axis=1))
    hard = model.predict_acceptance(X, t, "hard")
    np.testing.assert_allclose(hard, curves[np.arange(len(X)), shares.argmax(axis=1)])
    one = model.predict_acceptance(X[:1], t[:1])
    assert one[0] == pytest.approx(soft[0], rel=1e-12)


def test_offers_of_new_rows(model):
    X = people(1)[0][:200]
    hard = model.optimal_offers(X, "hard")
    own = model.predict_segments(X).argmax(axis=1)
    np.testing.assert_allclose(hard.offer, optimal_offer(model.eta_, model.k_)[own])
    soft = model.optimal_offers(X, "soft")
    for offer in np.linspace(0, 1, 101):
        other = model.predict_acceptance(X, np.full(200, offer), "soft") * (1 - offer)
        assert (soft.revenue >= other - 1e-12).all()
    np.testing.assert_allclose(soft.acceptance, model.predict_acceptance(X, soft.offer, "soft"))
    grid = model.optimal_offers(X, "soft", grid=[0.1, 0.4, 0.7])
    assert set(grid.offer) <= {0.1, 0.4, 0.7}
    price = model.optimal_offers(X, "hard", revenue=(20.0, -15.0), low=0.2, high=0.8)
    assert ((price.offer >= 0.2) & (price.offer <= 0.8)).all()


def test_storage_returns_the_same_model(model):
    X, t, _ = people(2)[:3]
    stored = PredictiveChoiceModel.from_arrays(model.to_arrays(), assignment="hard")
    np.testing.assert_array_equal(
        stored.predict_acceptance(X, t, "soft"), model.predict_acceptance(X, t, "soft")
    )
    assert stored.converged_ is True and stored.n_components_ == model.n_components_


def test_weights_count_rows():
    X, t, y = people(0, 150)[:3]
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(X)), weights)
    weighted = PredictiveChoiceModel(components=3).fit(
        X, y, t, weights, rng=np.random.default_rng(0)
    )
    plain = fitted(X[repeated], t[repeated], y[repeated], components=3)
    assert weighted.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=0.02)
    np.testing.assert_allclose(weighted.eta_, plain.eta_, atol=0.01)


def test_missing_features_are_integrated_out(model):
    X, t, y = people(0)[:3]
    holes = X.copy()
    holes[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = fitted(holes, t, y, most_components=4)
    assert found.n_components_ == 3
    assert found.rows_missing_ == np.isnan(holes).any(axis=1).sum()
    np.testing.assert_allclose(np.sort(found.eta_), np.sort(ETA), atol=0.12)
    empty = found.predict_segments(np.full((1, 2), np.nan))
    np.testing.assert_allclose(empty[0], found.weights_)


def test_useless_features_are_left_out_and_said(model, caplog):
    X, t, y = people(0)[:3]
    noisy = np.column_stack([X, np.full(len(X), 7.0), 3 - 2 * X[:, 0], np.full(len(X), np.nan)])
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        found = PredictiveChoiceModel(most_components=5).fit(
            noisy, y, t, rng=np.random.default_rng(0), feature_names=list("abcde")
        )
    assert found.constant_features_ == [2, 4] and found.duplicated_features_ == [3]
    assert "Left out as constant: feature c, e." in caplog.text
    np.testing.assert_allclose(found.eta_, model.eta_, rtol=1e-9)
    np.testing.assert_allclose(found.predict_segments(noisy), model.predict_segments(X), atol=1e-9)


def test_discrete_features_do_not_make_segments():
    rng = np.random.default_rng(0)
    n = 3000
    X = np.column_stack([rng.normal(size=n), rng.random((n, 3)) < (0.5, 0.3, 0.05)])
    t = rng.random(n)
    y = (rng.random(n) < expit(6 * (t - 0.5))).astype(int)
    found = fitted(X, t, y, most_components=6)
    assert found.n_components_ == 1
    assert np.isfinite(found.predict_acceptance(X, t)).all()


def test_conditions_are_counted(caplog):
    X, t, _, _, component = people(0)
    # Segment 0 is separated by the offer, 1 refuses more with higher offers, 2 says yes.
    rng = np.random.default_rng(0)
    falling = rng.random(len(t)) < expit(-6 * (t - 0.5))
    y = np.select([component == 0, component == 1], [t > 0.4, falling], True).astype(int)
    apart = people(0, means=MEANS * 5)[0]
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        found = fitted(apart, t, y, components=3)
    assert found.slopes_at_bound_ == 1
    assert found.monotone_active_ >= 1
    assert found.one_answer_segments_ == 1
    assert "separates the answers" in caplog.text
    for how in ("hard", "soft"):
        offers = found.optimal_offers(apart, how)
        assert all(np.isfinite(values).all() for values in offers)
    assert all(np.isfinite(np.asarray(v, float)).all() for v in found.to_arrays().values())


def test_prior_centres_slopes_that_the_data_do_not_show():
    X, _, _, _, component = people(0, means=MEANS * 5)
    fixed = np.choose(component, [0.2, 0.8, 0.5])
    rng = np.random.default_rng(0)
    p = expit(K[component] * (fixed - ETA[component]))
    y = (rng.random(len(X)) < p).astype(int)
    free = fitted(X, fixed, y, components=3)
    held = fitted(
        X, fixed, y, components=3, prior="pooled", prior_slope=8.0, prior_position_deviation=100
    )
    assert (np.abs(held.k_ - 8) < 0.5).all()
    assert (np.abs(free.k_ - held.k_) > 1).any()
    assert (held.offer_deviation_ < 0.25).all()


def test_selection_by_completed_likelihood_is_an_option(model):
    X, t, y = people(0)[:3]
    found = fitted(X, t, y, most_components=3, selection="complete", moves=False, n_init=3)
    assert found.log_likelihood_ <= model.log_likelihood_ + 0.5


def test_bootstrap_covers_the_spread_of_refits():
    X, t, y = people(0)[:3]
    model = fitted(X, t, y, components=3)
    new_X, new_t = people(50)[:2]
    estimate = model.predict_acceptance(new_X, new_t)
    rng = np.random.default_rng(0)
    enrolment, revenue = model.bootstrap_totals(X, y, t, new_X, new_t, rng=rng, draws=60)
    assert enrolment.shape == revenue.shape == (60,)
    assert np.quantile(enrolment, 0.05) < estimate.sum() < np.quantile(enrolment, 0.95)
    others = []
    for seed in range(1, 13):
        other = fitted(*people(seed)[:3], components=3, n_init=3)
        others.append(other.predict_acceptance(new_X, new_t).sum())
    assert 0.5 < np.std(enrolment) / np.std(others) < 1.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": 1.5}, "outside \\[0, 1\\]"),
        ({"t": np.nan}, "missing or outside"),
        ({"y": 2}, "must be 0 or 1"),
        ({"X": np.inf}, "infinity in feature number 0"),
    ],
)
def test_bad_values_are_told(change, message):
    X, t, y = (values.copy() for values in people(0, 50)[:3])
    table = {"X": X, "t": t, "y": y}
    for name, value in change.items():
        table[name][3] = value
    with pytest.raises(CounterweightError, match=message):
        fitted(**table)


def test_bad_tables_are_told():
    X, t, y = people(0, 50)[:3]
    for arguments, options, message in (
        ((X, t, np.ones(150)), {}, "All 150 answers are 1"),
        ((X * 0 + 1, t, y), {}, "All 2 features are constant"),
        ((X[:5], t[:5], [0, 1, 0, 1, 0]), {}, "7 parameters, but there are 5 rows"),
        ((X, t, y), {"components": 40}, "at most 18 segments"),
        # Shares, means, matrices and curves of three: 2 + 6 + 9 + 6.
        ((X[::13], t[::13], y[::13]), {"components": 3}, "has 23 parameters, but there are 12"),
        ((X, t[:9], y), {}, "150 rows but offers of shape"),
        ((X, t, y[:9]), {}, "label of shape"),
        ((X.astype(str) + "a", t, y), {}, "must be numbers in a table"),
        ((X, np.full(150, "a"), y), {}, "offers must be numbers"),
        ((X, t, y), {"components": 0}, "components must be a whole number"),
        ((X, t, y), {"components": "many"}, "components must be a whole number"),
        ((X, t, y), {"assignment": "firm"}, "assignment must be one of"),
        ((X, t, y), {"reg_covar": 0}, "reg_covar"),
    ):
        with pytest.raises(CounterweightError, match=message):
            fitted(*arguments, **options)
    capped = fitted(X[:40], t[:40], y[:40], most_components=30, n_init=2, covariance="full")
    assert capped.components_capped_ == 5 and len(capped.sizes_) == 5
    with pytest.raises(CounterweightError, match="is expecting 2 features"):
        capped.predict_segments(X[:, :1])
    with pytest.raises(CounterweightError, match="hard or soft"):
        capped.predict_acceptance(X, t, "firm")


def test_other_covariances_are_tried_below_thirty_rows_a_parameter(model):
    # One segment of two numbers: two means, three of a matrix, a curve.
    enough = 30 * 7
    assert model._kinds(np.ones(enough)) == ["full"]
    assert model._kinds(np.ones(enough - 1)) == ["full", "diagonal", "tied"]
    # Ones that have as many parameters as there are rows are none.
    counts = {}
    for model.covariance_ in ("full", "diagonal", "tied"):
        counts[model.covariance_] = model.n_parameters(1)
    model.covariance_ = "full"
    fewest = min(counts.values())
    assert model._kinds(np.ones(fewest + 1)) == [k for k, c in counts.items() if c == fewest]
    assert model._kinds(np.ones(fewest)) == ["full"]


def test_segments_of_one_value_are_counted_at_the_floor():
    rng = np.random.default_rng(8)
    kind, t = rng.integers(2, size=300), rng.random(300)
    y = (rng.random(300) < expit(9 * (t - np.array([0.2, 0.8])[kind]))).astype(int)
    # Everybody of a kind has the same two numbers, but for a few in between.
    X = np.column_stack([kind, kind]) + np.where(np.arange(300) < 4, 0.5, 0.0)[:, None] * [1, -1]
    held = fitted(X, t, y, components=2, n_init=2, categories="none", covariance="full")
    least = np.linalg.eigvalsh(held.covariances_ / np.outer(held.scale_, held.scale_))[:, 0]
    at_floor = np.isclose(least, held.reg_covar, rtol=1e-4)
    assert held.covariances_at_floor_ == at_floor.sum() >= 1
    wide = fitted(X + rng.normal(size=X.shape), t, y, components=2, n_init=1, covariance="full")
    assert wide.covariances_at_floor_ == 0
