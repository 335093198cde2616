"""Segments of categories beside numbers: found, priced, saved; what tells nothing costs nothing."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.baselines import OfferLogistic
from counterweight.models.choice.offer_model import optimal_offer
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.segment_model import Features
from counterweight.models.choice.steps import ChoiceRows, Choices, climb
from counterweight.numerics.emissions import SMOOTHING, Emission, Layout
from scipy.special import expit

#: Shares of the levels of two categories in three segments, weights, thresholds, slopes.
FIRST = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.2, 0.7]])
SECOND = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.1, 0.7, 0.1], [0.1, 0.6, 0.1, 0.2]])
SHARES, ETA, K = np.array([0.4, 0.35, 0.25]), np.array([0.2, 0.8, 0.5]), np.array([9.0, 12.0, 6.0])
TWO = Layout.of(7, [(0, 1, 2), (3, 4, 5, 6)])
QUICK = {"most_components": 4, "n_init": 4}


def one_binary(seed, n=3000):
    """A table whose threshold is decided by one feature of 0 and 1."""
    rng = np.random.default_rng(seed)
    mark, t = (rng.random(n) < 0.4).astype(int), rng.random(n)
    p = expit(8.0 * (t - np.where(mark == 1, 0.3, 0.7)))
    X = np.column_stack([rng.normal(size=(n, 2)), mark])
    return X, t, (rng.random(n) < p).astype(int), p, mark


def two_categories(seed, n=3000):
    """Three segments of two categories, and what the true model says of people."""
    rng = np.random.default_rng(seed)
    segment = rng.choice(3, n, p=SHARES)
    levels = [
        (rng.random(n)[:, None] > shares[segment].cumsum(axis=1)).sum(axis=1)
        for shares in (FIRST, SECOND)
    ]
    t = rng.random(n)
    p = expit(K[segment] * (t - ETA[segment]))
    posterior = SHARES * FIRST[:, levels[0]].T * SECOND[:, levels[1]].T
    posterior /= posterior.sum(axis=1, keepdims=True)
    X = np.hstack([np.eye(3)[levels[0]], np.eye(4)[levels[1]]])
    return X, t, (rng.random(n) < p).astype(int), p, posterior


def fitted(X, t, y, layout=None, seed=0, **options):
    rng = np.random.default_rng(seed)
    return PredictiveChoiceModel(**QUICK | options).fit(X, y, t, rng=rng, categories=layout)


def distance(p, q):
    return float(np.sqrt(np.mean((p - q) ** 2)))


def test_a_feature_of_two_values_that_decides_the_threshold_is_found():
    ours, floors, numbers = [], [], []
    for seed in range(4):
        X, t, y, p, mark = one_binary(seed)
        # As a category that makes segments, or one that moves a threshold.
        model = fitted(X, t, y, thresholds="segments")
        assert model.n_components_ == 2 and model.features_used_.tolist() == [0, 1]
        assert distance(model.predict_acceptance(X, t), p) < 0.035
        ours.append(distance(fitted(X, t, y).predict_acceptance(X, t), p))
        # What the true model, told each person's segment, learns from as many rows.
        told = OfferLogistic(per_component=True).fit(0 * X[:, :1], y, t, component=mark)
        floors.append(distance(told.predict_acceptance(0 * X[:, :1], t, component=mark), p))
        numbers.append(distance(fitted(X, t, y, categories="none").predict_acceptance(X, t), p))
    assert np.mean(ours) <= 1.15 * np.mean(floors) and np.mean(numbers) > 0.06


def test_two_categories_are_learned_to_the_floor_of_the_true_model_and_earn_as_much():
    worth = []
    for seed in range(4):
        X, t, y, p, posterior = two_categories(seed)
        model = fitted(X, t, y, TWO)
        curves = expit(K * (t[:, None] - ETA))
        floor = distance((posterior * curves).sum(axis=1), p)
        assert distance(model.predict_acceptance(X, t), p) <= 1.15 * floor
        earned = {}
        for name, offers in (
            ("model", model.optimal_offers(X, "soft").offer),
            ("logistic", best_by_logistic(X, t, y)),
            ("true", best_by_truth(posterior)),
        ):
            chance = (posterior * expit(K * (offers[:, None] - ETA))).sum(axis=1)
            earned[name] = (chance * (1 - offers)).mean()
        assert earned["model"] >= 0.99 * max(earned.values())
        worth.append(earned["model"] / earned["logistic"])
    assert np.mean(worth) > 1.01


def best_by_logistic(X, t, y):
    model = OfferLogistic(interactions=True).fit(X, y, t)
    grid = np.linspace(0, 1, 101)
    values = [model.predict_acceptance(X, np.full(len(X), one)) * (1 - one) for one in grid]
    return grid[np.argmax(values, axis=0)]


def best_by_truth(posterior):
    grid = np.linspace(0, 1, 401)
    values = posterior @ expit(K[:, None] * (grid - ETA[:, None])) * (1 - grid)
    return grid[values.argmax(axis=1)]


def test_categories_that_are_noise_cost_nothing():
    moved = 0
    for seed in range(4):
        X, t, y, p, _ = two_categories(seed, 2000)
        rng = np.random.default_rng(100 + seed)
        noise = [np.eye(12)[rng.integers(12, size=len(X))] for _ in range(2)]
        layout = Layout.of(31, [(0, 1, 2), (3, 4, 5, 6), range(7, 19), range(19, 31)])
        options = {"most_components": 4, "n_init": 2}
        plain = fitted(X, t, y, TWO, **options)
        noisy = fitted(np.hstack([X, *noise]), t, y, layout, **options)
        error = distance(noisy.predict_acceptance(np.hstack([X, *noise]), t), p)
        assert error <= 1.05 * distance(plain.predict_acceptance(X, t), p)
        assert noisy.uninformative_features_ == list(range(7, 31))
        moved += abs(noisy.n_components_ - plain.n_components_) > 1
    assert moved == 0


def test_the_objective_never_falls_and_missing_categories_are_left_out_of_the_likelihood():
    rng = np.random.default_rng(0)
    X, t, y, _, _ = two_categories(0, 600)
    codes = np.column_stack([X[:, :3].argmax(axis=1), X[:, 3:].argmax(axis=1)]).astype(np.int32)
    codes[rng.random(codes.shape) < 0.2] = -1
    emission = Emission(0, (3, 4))
    data = ChoiceRows(np.empty((600, 0)), t, y, np.ones(600), codes, emission)
    shares = emission.smoothed(rng.random((3, 1, 7)) * 100)
    start = Choices(
        np.full((3, 1), 1 / 3),
        np.empty((3, 1, 0)),
        np.empty((3, 1, 0, 0)),
        np.tile([0.0, 3.0], (3, 1, 1)) + rng.normal(size=(3, 1, 2)),
        shares,
    )
    first, second = np.log(shares[:, 0, :3]), np.log(shares[:, 0, 3:])
    parts = zip(codes.T, (first, second), strict=True)
    seen = [np.where(c[:, None] >= 0, logs[:, c].T, 0) for c, logs in parts]
    np.testing.assert_allclose(data.log_joint(start), np.log(1 / 3) + sum(seen), atol=1e-12)
    rule = {"tol": 0.0, "iterations": 60, "floor": 1e-3, "minimum_rows": 2.0}
    path = np.ravel(climb(data, start, **rule).history)
    assert np.diff(path[~np.isnan(path)]).min() > -1e-9 * abs(path[0])


@pytest.mark.parametrize("covariance", ["full", "diagonal", "tied"])
def test_parameters_are_counted_and_saved_whole(covariance):
    X, t, y, _, mark = one_binary(1, 800)
    rng = np.random.default_rng(2)
    region = rng.integers(3, size=800)
    X = np.hstack([X[:, :2] + mark[:, None], np.eye(3)[region], X[:, 2:]])
    X[rng.random(800) < 0.1, 0] = np.nan
    layout = Layout.of(6, [(2, 3, 4)])
    model = fitted(X, t, y, layout, covariance=covariance, components=2)
    matrices = {"full": 6, "diagonal": 4, "tied": 3}[covariance]
    assert model.uninformative_features_ == [2, 3, 4]
    assert model.n_parameters(2) == 1 + 4 + matrices + 2 + 4
    again = PredictiveChoiceModel.from_arrays(model.to_arrays())
    for how in ("hard", "soft"):
        np.testing.assert_array_equal(
            again.predict_acceptance(X, t, how), model.predict_acceptance(X, t, how)
        )
    if covariance == "tied":
        np.testing.assert_allclose(model.covariances_[0], model.covariances_[1])
    if covariance == "diagonal":
        assert (model.covariances_[:, 0, 1] == 0).all()


def test_smoothing_gives_a_level_that_a_segment_never_had_half_a_row():
    emission = Emission(0, (3,))
    shares = emission.smoothed(np.array([[[6.0, 2.0, 0.0]]]))
    np.testing.assert_allclose(shares[0, 0], np.array([6.5, 2.5, 0.5]) / (8 + 3 * SMOOTHING))


def test_flags_make_numbers_missing_and_unknown_levels_are_missing_categories():
    X = np.array(
        [[1.0, 0, 5.0, 1, 0], [2.0, 0, 7.0, 0, 1], [9.0, 1, 5.0, 1, 0], [4.0, 0, 7.0, 0, 1]]
    )
    layout = Layout.of(5, [(1,), (3, 4)], [(0, 1)])
    made = Features.fitted(X, np.ones(4), 1e-3, layout)
    assert made.numbers.tolist() == [0] and made.centre[0] == pytest.approx(7 / 3)
    # The two last columns say what the third does; the flag is a category of its own.
    assert made.duplicated == [2] and made.levels == (2, 2)
    numbers, codes = made.split(np.array([[9.0, 1, 6.0, 0, 0]]))
    assert np.isnan(numbers).all() and codes.tolist() == [[1, -1]]
    # Those that are there are told from their mean.
    own = np.array([1.0, 2.0, np.nan, 4.0]) - 7 / 3
    np.testing.assert_allclose(made.split(X)[0][:, 0] * made.scale[0], own, rtol=1e-9)
    with pytest.raises(CounterweightError, match="declared a category"):
        Features.fitted(X + 0.5, np.ones(4), 1e-3, Layout.of(5, [(1,)]))


def test_few_rows_choose_fewer_parameters_and_many_stay_with_full():
    rng = np.random.default_rng(3)
    X, t = rng.normal(size=(150, 6)), rng.random(150)
    y = (rng.random(150) < expit(6 * (t - 0.5))).astype(int)
    assert fitted(X, t, y).covariance_ != "full"
    assert fitted(X[:, :1], t, y).covariance_ == "full"


def test_best_offers_of_a_segment_of_categories_are_those_of_its_curve():
    X, t, y, _, _ = two_categories(0, 1500)
    model = fitted(X, t, y, TWO)
    own = model.predict_segments(X).argmax(axis=1)
    np.testing.assert_allclose(
        model.optimal_offers(X, "hard").offer, optimal_offer(model.eta_, model.k_)[own]
    )
