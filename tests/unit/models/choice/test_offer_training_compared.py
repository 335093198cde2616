"""Methods compared on people whose answers they have not seen: by hand, and policies of them."""

import numpy as np
import pytest
from counterweight.labeling.offered import OfferScale
from counterweight.models.choice.baselines import OfferLogistic
from counterweight.models.choice.logitboost import OfferBoosting
from counterweight.models.choice.offer_training import (
    FOLDS,
    answer_loss,
    answer_losses,
    compared,
    curve_predictions,
    told_categories,
)
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from scipy.special import expit

LINE = {"model": "offer_logistic", "options": {"l2": 0.01}, "setting": ""}
BENT = {"model": "offer_logistic", "options": {"l2": 0.01, "interactions": True}, "setting": ""}


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 2)), rng.random(n)
    return X, t, (rng.random(n) < expit(6 * (t - 0.5) + X[:, 0])).astype(float)


def judged(candidates, **more):
    X, t, y = people()
    return X, t, y, compared(X, t, y, candidates, np.random.default_rng(5), **more)


def test_losses_are_of_models_that_have_not_seen_the_answer():
    X, t, y, found = judged([LINE, BENT])
    assert found.people.tolist() == [*range(300)] and found.refusals == {}
    by_hand = np.empty(300)
    for number in range(FOLDS):
        held = found.fold == number
        # Each fold has as many yes as the others.
        assert y[held].mean() == pytest.approx(y.mean(), abs=0.02)
        own = OfferLogistic(l2=0.01).fit(X[~held], y[~held], t[~held])
        p = own.predict_acceptance(X[held], t[held])
        by_hand[held] = -(y[held] * np.log(p) + (1 - y[held]) * np.log(1 - p))
    np.testing.assert_allclose(found.each[0], by_hand, rtol=1e-9)
    assert found.losses == pytest.approx([by_hand.mean(), found.each[1].mean()])
    assert len(found.fits[0]) == FOLDS and found.fits[0] is not found.fits[1]


def test_settings_of_one_fit_share_it_and_a_refusal_is_told():
    both = [
        {"model": "predictive_choice", "options": {"components": 2, "n_init": 1}, "setting": how}
        for how in ("hard", "soft")
    ]
    oracle = LINE | {"options": {"per_component": True}}
    X, t, y, found = judged([*both, oracle, LINE])
    assert found.fits[0] is found.fits[1] and not np.allclose(found.each[0], found.each[1])
    assert found.losses[2] == np.inf and "per_component" in found.refusals[2]
    assert sorted(found.each) == [0, 1, 3] and isinstance(found.fits[0][0], PredictiveChoiceModel)


def test_of_many_people_some_are_asked():
    X, t, y, found = judged([LINE], most=120)
    assert len(found.people) == 120 and (np.diff(found.people) > 0).all()
    assert found.people[-1] > 150 and len(found.each[0]) == len(found.fold) == 120
    assert len(judged([LINE], most=300)[3].people) == 300


@pytest.mark.parametrize("grid", [None, np.array([0.2, 0.5, 0.8])])
def test_a_policy_is_the_best_by_models_that_have_not_seen_the_answer(grid):
    X, t, y, found = judged([LINE, BENT], most=150)
    revenue = (1.0, -0.6)
    offers, accept = found.policy(1, "", X, t, revenue, grid)
    mine = found.people
    low, high = np.quantile(t[mine], [0.01, 0.99])
    tried = np.linspace(low, high, 201) if grid is None else grid
    own, each = found.accepted(1, "", X, t, tried)
    for number in range(FOLDS):
        held, model = found.fold == number, found.fits[1][number]
        rows = X[mine][held]
        p = model.predict_acceptance(rows, offers[held])
        np.testing.assert_allclose(accept(offers)[held], p, rtol=1e-9)
        np.testing.assert_allclose(own[held], model.predict_acceptance(rows, t[mine][held]))
        for at in (0, len(tried) // 2):
            other = model.predict_acceptance(rows, np.full(held.sum(), tried[at]))
            np.testing.assert_allclose(each[held, at], other, rtol=1e-9)
    earned = each * (revenue[0] + revenue[1] * tried)
    paid = accept(offers) * (revenue[0] + revenue[1] * offers)
    assert (paid >= earned.max(axis=1) - 1e-9).all()
    assert offers.min() >= low - 1e-12 and offers.max() <= high + 1e-12
    assert grid is None or np.isin(offers, grid).all()


def test_losses_of_answers_are_logs_of_the_chances_given_to_them():
    p, y = np.array([0.2, 0.9, 0.5, 0.0]), np.array([0.0, 1.0, 1.0, 1.0])
    expected = -np.log([0.8, 0.9, 0.5, 1e-12])
    np.testing.assert_allclose(answer_losses(p, y), expected)
    assert answer_loss(p, y) == pytest.approx(expected.mean())


def test_curves_of_steps_have_their_best_offers_next_to_a_step():
    X, t, y = people()
    t, scale = np.round(t, 1), OfferScale(10.0, 30.0, "down")
    model = OfferBoosting(max_iter=6, max_leaf_nodes=4).fit(X, y, t)
    told = curve_predictions(model, X, t, scale)
    offers = np.append([0.0, 1.0], model.steps())
    assert np.isin(np.round(told["best_offer"], 9), np.round(scale.offers(offers), 9)).all()
    np.testing.assert_allclose(told["p"], model.predict_acceptance(X, t))
    np.testing.assert_allclose(told["revenue"], told["p"] * scale.offers(t))
    for one in offers:
        p = model.predict_acceptance(X, np.full(len(X), one))
        assert (told["best_revenue"] >= p * scale.offers(one) - 1e-9).all()
    assert not told["eta"].any() and (told["segment"] == -1).all()


def test_categories_are_told_to_the_classes_that_ask_for_them():
    class Asks:
        CATEGORIES = True

    declared = {"blocks": [["b", "c"]], "flags": []}
    assert told_categories(OfferLogistic, ["a", "b", "c"], declared) == {}
    assert told_categories(Asks, ["a", "b", "c"], None) == {}
    layout = told_categories(Asks, ["a", "b", "c"], declared)["categories"]
    assert layout.numbers == (0,) and layout.categories == ((1, 2),)


def test_a_method_that_refuses_all_leaves_no_model():
    X, t, y = people(60)
    refused = [LINE | {"options": {"per_component": True}}]
    found = compared(X, t, y, refused, np.random.default_rng(0))
    assert found.losses == [np.inf] and not found.fits and not found.each
