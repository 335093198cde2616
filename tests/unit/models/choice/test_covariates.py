"""Thresholds that move with features: learned to the floor of the true model, priced, saved."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.models.choice import covariates
from counterweight.models.choice.baselines import OfferLogistic
from counterweight.models.choice.covariates import Mover, few_steps_apart, risen
from counterweight.models.choice.offer_model import expected_revenue, soft_optimal_offer
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.pricing import pricer, quantiles
from counterweight.models.choice.segment_model import Features
from counterweight.models.choice.steps import ChoiceRows, Choices
from counterweight.numerics.emissions import Layout
from counterweight.numerics.linear import fit_logistic
from scipy.special import expit, softmax

CELLS = Layout.of(7, [(0, 1, 2), (3, 4, 5, 6)])
MIXED = Layout.of(6, [(2, 3, 4, 5)])
CENTRES = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
ETA, K = np.array([0.3, 0.55, 0.7]), np.array([8.0, 12.0, 10.0])
MOVED = np.array([-0.15, -0.05, 0.05, 0.15])


def cells(seed, n=3000, added=True):
    """Twelve cells of two categories, with thresholds that add up or with any."""
    rng = np.random.default_rng(seed)
    a, b, t = rng.integers(3, size=n), rng.integers(4, size=n), rng.random(n)
    table = 0.5 + np.add.outer([-0.15, 0.0, 0.2], [-0.12, -0.02, 0.05, 0.15])
    if not added:
        table = np.random.default_rng(1000 + seed).uniform(0.15, 0.85, (3, 4))
    p = expit(9.0 * (t - table[a, b]))
    X = np.hstack([np.eye(3)[a], np.eye(4)[b]])
    return X, t, (rng.random(n) < p).astype(int), p, np.eye(12)[4 * a + b]


def mixed(seed, n=2500):
    """Three clusters with a curve each, moved by a category; and p(segment | numbers)."""
    rng = np.random.default_rng(seed)
    j, c, t = rng.integers(3, size=n), rng.integers(4, size=n), rng.random(n)
    p = expit(K[j] * (t - ETA[j] - MOVED[c]))
    numbers = CENTRES[j] + rng.normal(size=(n, 2))
    away = np.square(numbers[:, None] - CENTRES).sum(axis=-1)
    shares = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True)))
    shares /= shares.sum(axis=1, keepdims=True)
    truth = (shares * expit(K * (t[:, None] - ETA - MOVED[c][:, None]))).sum(axis=1)
    return np.hstack([numbers, np.eye(4)[c]]), t, (rng.random(n) < p).astype(int), truth


def fitted(X, t, y, layout, **options):
    options = {"most_components": 4, "n_init": 2} | options
    rng = np.random.default_rng(0)
    return PredictiveChoiceModel(**options).fit(X, y, t, rng=rng, categories=layout)


def distance(p, q):
    return float(np.sqrt(np.mean((p - q) ** 2)))


@pytest.fixture(scope="module")
def moved():
    X, t, y, truth = mixed(0)
    return X, t, y, truth, fitted(X, t, y, MIXED)


@pytest.mark.parametrize("added", [True, False])
def test_twelve_cells_are_learned_to_the_floor_of_the_true_model(added):
    for seed in range(2):
        X, t, y, p, own = cells(seed, added=added)
        true = OfferLogistic().fit(X if added else own, y, t)
        floor = distance(true.predict_acceptance(X if added else own, t), p)
        model = fitted(X, t, y, CELLS)
        assert distance(model.predict_acceptance(X, t), p) <= 1.15 * floor
        assert model.n_components_ == 1
    alone = fitted(X, t, y, CELLS, thresholds="segments", most_components=4)
    assert distance(alone.predict_acceptance(X, t), p) > 1.5 * floor


def test_segments_of_numbers_stay_and_a_category_moves_their_thresholds(moved):
    X, t, y, truth, model = moved
    assert model.n_components_ == 3
    assert distance(model.predict_acceptance(X, t), truth) < 0.03
    np.testing.assert_allclose(np.sort(model.eta_), ETA, atol=0.05)
    effects = model._thresholds.coefficients[2:6]
    np.testing.assert_allclose(effects - effects.mean(), MOVED, atol=0.03)


def test_noise_moves_nothing_and_numbers_alone_are_as_before():
    rng = np.random.default_rng(3)
    X, t, y, _, _ = cells(1, 1500)
    noise = np.eye(12)[rng.integers(12, size=len(X))]
    layout = Layout.of(19, [(0, 1, 2), (3, 4, 5, 6), range(7, 19)])
    model = fitted(np.hstack([X, noise]), t, y, layout, most_components=2)
    told = model._thresholds
    assert (told.coefficients[7:19] == 0).all() and (told.coefficients[:7] != 0).all()
    # Not even where the search begins: eleven coefficients cost more than they are worth there.
    begun = Mover(np.hstack([X, noise]), t, y, np.ones(len(X)), told.features).begin()[0]
    assert len(begun) == 5
    Z = rng.normal(size=(300, 2))
    answers = (rng.random(300) < expit(8 * (t[:300] - 0.5))).astype(int)
    assert fitted(Z, t[:300], answers, None, most_components=2)._thresholds is None


def test_the_likelihood_does_not_fall_and_one_segment_is_a_logistic_regression():
    X, t, y, _, _ = cells(0, 1200)
    model = fitted(X, t, y, CELLS, most_components=1)
    plain = OfferLogistic(l2=1e-9).fit(X, y, t)
    np.testing.assert_allclose(
        model.predict_acceptance(X, t), plain.predict_acceptance(X, t), atol=2e-3
    )
    X, t, y, _ = mixed(1, 900)
    model = fitted(X, t, y, MIXED)
    assert np.diff(model.history_[-3:]).min() > -1e-6 * abs(model.history_[-1])


@pytest.mark.parametrize("setting", ["hard", "soft"])
def test_offers_are_the_best_of_each_persons_own_curves(moved, setting):
    X, _, _, _, model = moved
    X = X[:200]
    found = model.optimal_offers(X, setting)
    tried = np.linspace(0, 1, 1001)
    earned = np.column_stack(
        [model.predict_acceptance(X, np.full(200, one), setting) * (1 - one) for one in tried]
    )
    at = model.predict_acceptance(X, found.offer, setting) * (1 - found.offer)
    assert (at >= earned.max(axis=1) - 1e-6).all()
    own = pricer(model, setting)
    about = own.about(X)
    bounds = np.tile([0.2, 0.6], (own.kinds, 1))
    best = own.best(about, about["kind"], bounds, (1.0, -1.0))
    assert best.min() >= 0.2 and best.max() <= 0.6
    inside = (tried >= 0.2) & (tried <= 0.6)
    there = own.accept(about, best) * (1 - best)
    assert (there >= earned[:, inside].max(axis=1) - 1e-6).all()


def test_offers_on_a_grid_with_moves_are_those_of_moved_curves():
    rng = np.random.default_rng(0)
    weights, moves = rng.dirichlet(np.ones(3), 50), rng.normal(size=50) * 0.1
    grid = np.linspace(0, 1, 11)
    found = soft_optimal_offer(weights, ETA, K, grid=grid, moves=moves)
    for i in range(50):
        earned = weights[i] @ expected_revenue(grid - moves[i], ETA[:, None], K[:, None], (1, 0))
        assert found[i] == grid[np.argmax(earned * (1 - grid))]


def test_what_was_saved_prices_alike_and_a_missing_category_moves_nothing(moved):
    X, t, y, _, model = moved
    again = PredictiveChoiceModel.from_arrays(model.to_arrays())
    for how in ("hard", "soft"):
        np.testing.assert_array_equal(
            again.predict_acceptance(X, t, how), model.predict_acceptance(X, t, how)
        )
    gap = X[:1].copy()
    gap[0, 2:] = 0
    assert model.threshold_moves(gap)[0] == pytest.approx(
        float(model._thresholds.coefficients[:2] @ model._features.split(gap)[0][0])
    )


def test_draws_refit_the_thresholds_and_spread_as_their_errors(moved):
    X, t, y, _, model = moved
    batch, drawn = model.refitted(X, y, t, rng=np.random.default_rng(0), draws=30)
    assert batch.weights.shape == (3, 30)
    spread = drawn[:, 2:6].std(axis=0)
    # Of a level of 625 people, with slopes of 8 to 12, a threshold is known to about .01.
    assert ((spread > 0.003) & (spread < 0.02)).all()
    own = pricer(model, "soft")
    about = own.about(X[:100])
    draws = own.drawn(X, t, y, np.random.default_rng(0), 20)
    bounds = np.tile([0.0, 1.0], (3, 1))

    def ends_of(best):
        return quantiles(best, (0.05, 0.95))

    low, high = own.ends(about, about["kind"], bounds, (1.0, -1.0), None, draws, ends_of)
    best = own.best(about, about["kind"], bounds, (1.0, -1.0))
    assert (low <= high).all() and np.mean((low <= best + 0.01) & (best - 0.01 <= high)) > 0.9
    offers = model.bootstrap_claims(X, y, t, X[:100], rng=np.random.default_rng(0), draws=5)
    assert all(np.isfinite(one).all() for one in offers)


def test_a_step_at_the_optimum_stays_there():
    X, t, y, _, _ = cells(2, 1500)
    model = fitted(X, t, y, CELLS, most_components=1)
    data, told = model._choice_rows(X, t, y, np.ones(len(X))), model._thresholds
    rule = model._rule(data)
    used = told.coefficients != 0
    rows, now = told.rows(X)[:, used], told.coefficients[used]
    _, after = few_steps_apart(data, rows, model._parameters(), now, 3, **rule)
    np.testing.assert_allclose(rows @ after, rows @ now, atol=1e-3)
    # From afar it comes back.
    begin, start = now + np.linspace(-0.05, 0.05, len(now)), model._parameters()
    curves, after = few_steps_apart(data, rows, start, begin, 40, **rule)
    eta = [0.5 - one.curves[0, 0, 0] / one.curves[0, 0, 1] for one in (curves, start)]
    np.testing.assert_allclose(eta[0] + rows @ after, eta[1] + rows @ now, atol=2e-3)


def test_a_feature_that_pays_is_kept_and_an_offer_that_does_not_matter_moves_nothing():
    X, t, y, _, _ = cells(0, 1500)
    model = fitted(X, t, y, CELLS, most_components=1)
    columns, moves = Mover(X, t, y, np.ones(len(X)), model._thresholds.features).begin()
    assert len(columns) == 5 and np.isfinite(moves).all()
    answers = np.random.default_rng(0).integers(2, size=len(y))
    assert Mover(X, t, answers, np.ones(len(X)), model._thresholds.features).begin()[0] == []


def test_segments_given_the_answer_are_by_bayes_rule(monkeypatch):
    monkeypatch.setattr(covariates, "gate_design", lambda data: np.ones((3, 1)))
    chance = np.array([[0.8, 0.2], [0.5, 0.1], [0.1, 0.9]])
    data = SimpleNamespace(log_answer=lambda curves: np.log(chance))
    gates = SimpleNamespace(gates=np.log([[0.25], [0.75]]), curves=None)
    prior, after = covariates.memberships(data, gates)
    assert prior == pytest.approx(np.repeat([[0.25], [0.75]], 3, axis=1))
    both = chance.T * [[0.25], [0.75]]
    assert after == pytest.approx(both / both.sum(axis=0))


def test_rows_that_count_several_times_raise_the_likelihood_as_repeated_ones():
    X, t, y, _, _ = cells(3, 500)
    model = fitted(X, t, y, CELLS, most_components=1)
    often = np.random.default_rng(1).integers(1, 4, len(X))
    found, told = [], model._thresholds
    used = told.coefficients != 0
    begin = told.coefficients[used] + np.linspace(-0.05, 0.05, used.sum())
    for again, weight in ((np.arange(len(X)), often), (np.repeat(np.arange(len(X)), often), 1)):
        weight = np.broadcast_to(weight, len(again)).astype(float)
        data = model._choice_rows(X[again], t[again], y[again], weight)
        rows = told.rows(X[again])[:, used]
        curves, moves = risen(data, model._parameters(), rows, begin)
        score = curves[0, 0, 0] + curves[0, 0, 1] * (t - 0.5 - told.rows(X)[:, used] @ moves)
        found.append(score)
    np.testing.assert_allclose(*found, atol=0.02)
    # At the top of the likelihood weighted residuals sum to 0, also times the offer.
    left = often * (y - expit(found[0]))
    assert abs(left.sum()) < 0.5 and abs(left @ t) < 0.5


def test_the_pair_of_categories_that_does_not_add_up_is_taken_in():
    rng = np.random.default_rng(6)
    codes, t = rng.integers(2, size=(3, 2000)), rng.random(2000)
    a, b, c = codes
    p = expit(9 * (t - 0.5 - 0.1 * (a - 0.5) - 0.3 * ((b == c) - 0.5)))
    y = (rng.random(2000) < p).astype(int)
    layout = Layout.of(6, [(0, 1), (2, 3), (4, 5)])
    X, ones = np.hstack([np.eye(2)[one] for one in codes]), np.ones(2000)
    features = Features.fitted(X, ones, 1e-3, layout)
    mover = Mover(X, t, y, ones, features)
    columns, moves = mover.begin()
    assert mover.pairs == [(0, 1), (0, 2), (1, 2)]
    s = mover.design[:, columns] @ moves
    truth = 0.1 * (a - 0.5) + 0.3 * ((b == c) - 0.5)
    np.testing.assert_allclose(s - s.mean(), truth - truth.mean(), atol=0.03)
    # What is said of people is the same by coefficients of levels and pairs.
    told = mover.thresholds(columns, moves)
    np.testing.assert_allclose(told.moves(X), s, atol=1e-12)
    assert len(np.flatnonzero(told.coefficients[6:14])) == 0


def test_shares_of_a_row_come_to_its_weight():
    logs = np.random.default_rng(4).normal(size=(6, 3)) * 40
    weights = np.arange(6.0)
    shares = covariates._posterior(logs, weights)
    np.testing.assert_allclose(shares.sum(axis=1), weights)
    np.testing.assert_allclose(shares[1:], weights[1:, None] * softmax(logs, axis=1)[1:])


def test_of_one_segment_a_block_is_worth_its_walds_statistic_less_its_price():
    X, t, y, _, _ = cells(5, 1500)
    noise = np.eye(4)[np.random.default_rng(0).integers(4, size=1500)]
    layout = Layout.of(11, [(0, 1, 2), (3, 4, 5, 6), (7, 8, 9, 10)])
    whole, ones = np.hstack([X, noise]), np.ones(1500)
    features = Features.fitted(whole, ones, 1e-3, layout)
    mover = Mover(whole, t, y, ones, features)
    # A logistic regression on the columns is the fit of one segment.
    blocks = mover.blocks[:3]
    columns = [column for block in blocks for column in block]
    rows = np.column_stack([mover.design[:, columns], t])
    coef, intercept, *_ = fit_logistic(rows, y)
    moves, k = -coef[:-1] / coef[-1], coef[-1]
    one = model_of_one(intercept + k / 2, k)
    data = ChoiceRows(np.empty((1500, 0)), t, y, ones)
    worth = mover._worth(data, one, columns, moves, blocks)
    line = covariates._Line(rows, y, ones, [len(block) for block in blocks])
    price = np.array([len(block) for block in blocks]) * np.log(1500)
    told = np.array([line.worth(own) for own in line.places])
    # Moves and coefficients are told apart by the error of the slope alone.
    assert worth[2] == pytest.approx(told[2] - price[2], abs=1.0)
    np.testing.assert_allclose((worth + price)[:2], told[:2], rtol=0.5)
    assert worth[2] < 0 < min(worth[:2])


def model_of_one(position, slope):
    """One segment without features, by its curve."""
    return Choices(
        np.ones((1, 1)),
        np.empty((1, 1, 0)),
        np.empty((1, 1, 0, 0)),
        np.array([[[position, slope]]]),
        np.empty((1, 1, 0)),
    )
