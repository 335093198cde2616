"""Offers by lines of log-odds and by trees: brute force, closed forms of draws, identities."""

import numpy as np
import pytest
from counterweight.models.choice import pricing
from counterweight.models.choice.baselines import OfferLogistic
from counterweight.models.choice.logitboost import OfferBoosting
from counterweight.models.choice.pricing import Curves, Lines, Trees, pricer, quantiles
from scipy.special import expit

REVENUE, BOUNDS = (1.0, -0.8), np.array([[0.0, 1.0], [0.2, 0.7]])


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(n, 2)), rng.integers(0, 21, n) / 20
    y = (rng.random(n) < expit(5 * (t - 0.5) + X[:, 0] + X[:, 1] * t)).astype(int)
    return X, t, y


def curves(kind, **options):
    """A model, its pricer, new people with their kinds, and an offer to each."""
    X, t, y = people()
    model = kind(**options).fit(X, y, t, rng=np.random.default_rng(0))
    rng = np.random.default_rng(1)
    new = rng.normal(size=(30, 2))
    return model, pricer(model, ""), new, rng.integers(0, 2, 30), rng.random(30)


MODELS = [
    (OfferLogistic, {"interactions": True}, Lines),
    (OfferBoosting, {"max_iter": 8, "max_leaf_nodes": 4}, Trees),
]


def same_draws(own, count):
    """So many draws that are the fit."""
    if isinstance(own, Lines):
        return {"coef": np.tile(own.coef, (count, 1)), "intercept": np.full(count, own.intercept)}
    arrays = {"tree_nodes": 8, "gaps": 2, "tree_baseline": 1}
    one = own.model.models_[0]
    parts = ((name, np.reshape(one[name], (1, -1, width))) for name, width in arrays.items())
    return {name: np.repeat(part, count, axis=0) for name, part in parts}


@pytest.mark.parametrize(("kind", "options", "form"), MODELS)
def test_chances_of_a_pricer_are_those_of_its_model(kind, options, form):
    model, own, X, _, t = curves(kind, **options)
    assert type(own) is form and own.has_draws
    about, offers = own.about(X), np.array([0.1, 0.33, 0.9])
    each = [model.predict_acceptance(X, np.full(len(X), one)) for one in offers]
    np.testing.assert_allclose(own.accept_each(about, offers), np.transpose(each), rtol=1e-9)
    said = model.predict_acceptance(X, t)
    np.testing.assert_allclose(own.accept(about, t), said, rtol=1e-9)
    several = own.accept_several(about, np.stack([t, 1 - t]))
    other = model.predict_acceptance(X, 1 - t)
    np.testing.assert_allclose(several, [said, other], rtol=1e-9)
    draws = same_draws(own, 2)
    np.testing.assert_allclose(own.accept_drawn(about, t, draws), [said, said], rtol=1e-9)
    apart = own.accept_drawn(about, np.stack([t, 1 - t]), draws)
    np.testing.assert_allclose(apart, [said, other], rtol=1e-9)


@pytest.mark.parametrize(("kind", "options", "form"), MODELS)
@pytest.mark.parametrize("grid", [None, np.array([0.05, 0.3, 0.45, 0.6, 0.95])])
def test_best_offers_earn_the_most_of_all_within_the_bounds(kind, options, form, grid):
    model, own, X, kinds, _ = curves(kind, **options)
    about = own.about(X)
    best = own.best(about, kinds, BOUNDS, REVENUE, grid)
    asked = np.linspace(0, 1, 301) if grid is None else grid
    if grid is None and form is Trees:
        # Between two offers that were made the curve is a line: what earns most is next to a step.
        asked = np.append(own.model.steps(), [0.0, 1.0, 0.2, 0.7])
    earned = own.accept_each(about, asked) * (REVENUE[0] + REVENUE[1] * asked)
    low, high = BOUNDS[kinds].T
    earned[(asked < low[:, None] - 1e-9) | (asked > high[:, None] + 1e-9)] = -np.inf
    mine = model.predict_acceptance(X, best) * (REVENUE[0] + REVENUE[1] * best)
    assert (mine >= earned.max(axis=1) - 1e-9).all()
    assert ((best >= low) & (best <= high)).all()
    assert grid is None or np.isin(best, grid).all()
    # Draws that are the fit find its offers, by the search for one curve too.
    ends = own.ends(
        about, kinds, BOUNDS, REVENUE, grid, same_draws(own, 3), lambda b: quantiles(b, (0, 1))
    )
    np.testing.assert_allclose(ends, [best, best], atol=1e-9)
    searched = Curves(model).best(about, kinds, BOUNDS, REVENUE, grid)
    paid = model.predict_acceptance(X, searched) * (REVENUE[0] + REVENUE[1] * searched)
    np.testing.assert_allclose(paid, mine, atol=1e-6)


def test_draws_of_lines_are_as_wide_as_the_errors_of_maximum_likelihood():
    X, t, y = people(400)
    model = OfferLogistic(l2=0.0).fit(X, y, t)
    own = pricer(model, "")
    assert not own.posterior
    drawn = own.drawn(X, t, y, np.random.default_rng(0), 200)
    Z = np.column_stack([X, t, np.ones(400)])
    p = model.predict_acceptance(X, t)
    errors = np.sqrt(np.diag(np.linalg.inv((Z * (p * (1 - p))[:, None]).T @ Z)))
    found = np.column_stack([drawn["coef"], drawn["intercept"]])
    np.testing.assert_allclose(found.std(axis=0), errors, rtol=0.25)
    away = found.mean(axis=0) - np.append(own.coef, own.intercept)
    assert (np.abs(away) < 0.5 * errors).all()


def test_a_draw_of_one_answer_alone_keeps_the_model():
    X, t, y = people(60)
    model = OfferLogistic(l2=0.01).fit(X, y, t)
    rare = np.zeros(60, dtype=int)
    rare[7] = 1
    drawn = pricer(model, "").drawn(X, t, rare, np.random.default_rng(0), 60)
    kept = (drawn["coef"] == model.models_[0]["coef"]).all(axis=1)
    # A share of (1 - 1/60)^60 of the draws do not have the row.
    assert 0.2 < kept.mean() < 0.55
    assert (drawn["intercept"][kept] == model.models_[0]["intercept"]).all()
    boosted = OfferBoosting(max_iter=2, max_leaf_nodes=3).fit(X, y, t)
    trees = pricer(boosted, "").drawn(X, t, np.ones(60), np.random.default_rng(0), 40)
    assert {len(part) for part in trees.values()} == {pricing.REGROWN}
    one = boosted.models_[0]
    for name, width in {"tree_nodes": 8, "gaps": 2, "tree_baseline": 1}.items():
        np.testing.assert_array_equal(trees[name][3], np.reshape(one[name], (-1, width)))


def test_draws_of_trees_are_those_grown_on_rows_taken_anew():
    X, t, y = people(120)
    model = OfferBoosting(max_iter=3, max_leaf_nodes=4).fit(X, y, t)
    own = pricer(model, "")
    drawn = own.drawn(X, t, y, np.random.default_rng(4), 3)
    rng, about = np.random.default_rng(4), own.about(X)
    chances = own.accept_drawn(about, t, drawn)
    for said in chances:
        rows = rng.integers(120, size=120)
        again = OfferBoosting(max_iter=3, max_leaf_nodes=4).fit(X[rows], y[rows], t[rows])
        np.testing.assert_allclose(said, again.predict_acceptance(X, t), rtol=1e-9)
    assert np.ptp(chances, axis=0).max() > 0.01


class Units:
    """Draws that are the unit vectors, then zeros."""

    def standard_normal(self, shape):
        return np.eye(*shape)


def test_draws_of_a_posterior_have_the_inverse_of_its_curvature():
    X, t, y = people()
    model = OfferLogistic(l2=None).fit(X, y, t, rng=np.random.default_rng(0))
    own = pricer(model, "")
    assert own.posterior
    drawn = own.drawn(X, t, y, Units(), 0)
    away = np.column_stack([drawn["coef"] - own.coef, drawn["intercept"] - own.intercept])
    Z = np.column_stack([X, t, np.ones(len(X))])
    p = model.predict_acceptance(X, t)
    curvature = (Z * (p * (1 - p))[:, None]).T @ Z + np.diag([*model.precision(), 0.0])
    np.testing.assert_allclose(away.T @ away, np.linalg.inv(curvature), rtol=1e-6)
    assert len(away) == pricing.DRAWS
    # A column that the prior holds at 0 moves in no draw.
    own.ridge = np.array([own.ridge[0], np.inf, own.ridge[2]])
    held = own.drawn(X, t, y, Units(), 0)["coef"]
    assert (held[:, 1] == own.coef[1]).all() and np.ptp(held[:, 0]) > 0


def test_a_line_that_does_not_move_with_the_offer_takes_the_end_that_earns():
    start, kind = np.zeros(2), np.zeros(2, int)
    bounds = np.array([[0.2, 0.9]])
    flat = np.array([0.0, -1e-12])
    assert pricing.best_on_lines(start, flat, kind, bounds, (1.0, -1.0)) == pytest.approx(0.2)
    assert pricing.best_on_lines(start, flat, kind, bounds, (0.0, 1.0)) == pytest.approx(0.9)
