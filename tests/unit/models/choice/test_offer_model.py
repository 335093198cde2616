"""Models of offers in the hands of scikit-learn: offers in a column, two classes, blanks."""

import numpy as np
import pandas as pd
import pytest
from counterweight import LogitBoost, OfferLogistic, OfferTree, PredictiveChoiceModel
from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_model import (
    acceptance,
    optimal_offer,
    searched_offers,
    soft_optimal_offer,
)
from scipy.special import expit
from sklearn.model_selection import cross_val_score

SEGMENTS = PredictiveChoiceModel(n_init=2, most_components=2)
MODELS = [OfferLogistic(), LogitBoost(iterations=20), OfferTree(random_state=3), SEGMENTS]


def people(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 2)), rng.random(n)
    y = (rng.random(n) < expit(8 * (t - np.where(X[:, 0] > 0, 0.3, 0.7)))).astype(int)
    return X, y, t


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_offers_may_be_the_last_column_of_any_scale(model):
    X, y, t = people()
    t[:2] = 0.0, 1.0
    apart = model.fit(X, y, t).predict_acceptance(X, t)
    table = pd.DataFrame(X, columns=["a", "b"]).assign(price=5 + 20 * t)
    again = model.fit(table, np.where(y == 1, "yes", "no"))
    np.testing.assert_allclose(again.predict_proba(table)[:, 1], apart, rtol=1e-6)
    assert again.classes_.tolist() == ["no", "yes"] and again.n_features_in_ == 3
    assert set(again.predict(table)) == {"no", "yes"}
    with pytest.raises(CounterweightError, match="last column of X"):
        again.predict_acceptance(table, t)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_people_without_an_answer_are_no_examples(model):
    X, y, t = people()
    told = np.where(np.arange(len(y)) < 300, y, np.nan)
    some = model.fit(X, told, t).predict_acceptance(X, t)
    own = model.fit(X[:300], y[:300], t[:300]).predict_acceptance(X, t)
    np.testing.assert_array_equal(some, own)


def test_a_random_state_stands_for_a_generator_and_scores_are_cross_validated():
    X, y, t = people()
    model = PredictiveChoiceModel(n_init=2, most_components=2, random_state=7)
    asked = PredictiveChoiceModel(n_init=2, most_components=2)
    by_rng = asked.fit(X, y, t, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(model.fit(X, y, t).eta_, by_rng.eta_)
    rows = np.column_stack([X, t])
    assert cross_val_score(OfferLogistic(), rows, y, cv=3).mean() > 0.7


def test_without_offers_there_is_nothing_to_learn_from():
    X, y, t = people(50)
    with pytest.raises(CounterweightError, match="offers t are missing"):
        OfferLogistic().fit(X, y, t).predict(X)
    with pytest.raises(CounterweightError, match="last column must hold them"):
        OfferLogistic().fit(X[:, :1], y)


@pytest.mark.parametrize("revenue", [(1.0, -1.0), (0.8, -0.5)])
def test_a_move_of_a_person_is_a_move_of_every_segment(revenue):
    eta, k, moves = np.array([0.2, 0.6]), np.array([9.0, 5.0]), np.array([-0.15, 0.0, 0.2])
    weights = np.array([[0.3, 0.7], [1.0, 0.0], [0.5, 0.5]])
    grid = np.linspace(0, 1, 41)
    for offers in (None, grid):
        together = soft_optimal_offer(weights, eta, k, revenue=revenue, grid=offers, moves=moves)
        apart = [
            soft_optimal_offer(row, eta + move, k, revenue=revenue, grid=offers)[0]
            for row, move in zip(weights, moves, strict=True)
        ]
        np.testing.assert_allclose(together, apart, atol=1e-6)


@pytest.mark.parametrize("revenue", [(1.0, -1.0), (0.2, 0.5)])
def test_offers_are_searched_to_the_step_of_the_last_grid(revenue):
    eta, k = np.linspace(0.1, 0.9, 9), np.linspace(2, 30, 9)

    def accept(offers):
        return acceptance(offers, eta, k)

    found = searched_offers(accept, 9, revenue)
    best = optimal_offer(eta, k, revenue=revenue)
    np.testing.assert_allclose(found, best, atol=1 / 64 / 4**3)
    grid = np.array([0.1, 0.45, 0.8])
    on = searched_offers(accept, 9, revenue, grid)
    assert (on == optimal_offer(eta, k, revenue=revenue, grid=grid)).all()
    within = searched_offers(accept, 9, revenue, low=0.3, high=0.5)
    np.testing.assert_allclose(within, np.clip(best, 0.3, 0.5), atol=0.2 / 64 / 4**3)
    # Of offers that earn the same the lowest.
    assert (searched_offers(lambda offers: 1 / (1 - offers / 2), 9, (1, -0.5)) == 0).all()


def test_offers_that_are_all_alike_are_the_low_end_of_a_range():
    X, y, t = people(120)
    table = np.column_stack([X, np.full(120, 7.0)])
    model = OfferLogistic().fit(table, y)
    assert model.offer_range_.tolist() == [7.0, 8.0]
    apart = OfferLogistic().fit(X, y, np.zeros(120))
    np.testing.assert_allclose(
        model.predict_proba(table)[:, 1], apart.predict_acceptance(X, np.zeros(120))
    )
