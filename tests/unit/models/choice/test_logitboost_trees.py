"""Logistic model trees: splits, growing, pruning."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.logitboost import (
    LogisticTree,
    OfferBoosting,
    best_split,
    boosted,
    grow,
)
from counterweight.models.choice.pricing import Curves, Trees
from counterweight.numerics.boosted_trees import raw_along, raw_predict
from scipy.special import expit, logit


def leaf_log_odds(arrays, Z):
    return logit(LogisticTree()._probability(arrays, Z))


def crossed(rows=1200, seed=0):
    """Acceptance rises with t for one half of the people and later for the other."""
    rng = np.random.default_rng(seed)
    X, t = rng.normal(size=(rows, 2)), rng.random(rows)
    p = expit(12 * (t - np.where(X[:, 0] > 0, 0.2, 0.8)))
    return X, t, (rng.random(rows) < p).astype(int), p


def test_the_best_split_is_that_of_an_exhaustive_search():
    rng = np.random.default_rng(1)
    Z = np.round(rng.normal(size=(60, 3)), 1)
    y = (Z[:, 1] + 0.5 * rng.normal(size=60) > 0.4).astype(int)

    def entropy(labels):
        shares = np.bincount(labels, minlength=2) / len(labels)
        return -sum(s * np.log2(s) for s in shares if s)

    best = (0.0, None, None)
    for column in range(3):
        values = np.unique(Z[:, column])
        for low, high in zip(values[:-1], values[1:], strict=True):
            left = Z[:, column] <= low
            if min(left.sum(), (~left).sum()) < 2:
                continue
            after = (left.sum() * entropy(y[left]) + (~left).sum() * entropy(y[~left])) / 60
            worth = entropy(y) - after - np.log2(len(values) - 1) / 60
            if worth > best[0] + 1e-12:
                best = (worth, column, (low + high) / 2)
    column, threshold, worth = best_split(Z, y)
    assert (column, threshold) == (best[1], pytest.approx(best[2]))
    assert worth == pytest.approx(best[0])


def test_increasing_transformations_leave_the_groups_of_a_split():
    X, t, y, _ = crossed(400)
    Z = np.column_stack([X, t])
    column, threshold, worth = best_split(Z, y)
    bent = np.column_stack([np.exp(Z[:, 0]), Z[:, 1] ** 3, 1 / (2 - Z[:, 2])])
    column_2, threshold_2, worth_2 = best_split(bent, y)
    assert column == column_2 and worth == pytest.approx(worth_2)
    assert np.array_equal(Z[:, column] <= threshold, bent[:, column] <= threshold_2)


def test_no_split_for_constant_rows_or_too_small_sides():
    y = np.array([0, 1] * 10)
    assert best_split(np.ones((20, 2)), y) is None
    assert best_split(np.arange(4.0)[:, None], np.array([0, 0, 1, 1]), min_samples_leaf=3) is None


def test_a_tree_without_split_is_its_root_model():
    X, t, y, _ = crossed(300)
    model = LogisticTree(min_samples_split=10**6)
    model.fit(X, y, t, rng=np.random.default_rng(0))
    Z = np.column_stack([X, t])
    tree = model.models_[0]
    _, _, log_odds, _ = boosted(Z, y, tree["iterations"])
    assert tree["leaves"] == 1 and np.array_equal(tree["column"], [-1])
    assert np.allclose(model.predict_acceptance(X, t), expit(log_odds))


def test_a_leaf_goes_on_from_its_parent():
    X, t, y, _ = crossed(600)
    Z = np.column_stack([X, t])
    arrays = grow(Z, y, 4).arrays()
    assert arrays["column"][0] >= 0
    root = boosted(Z, y, 4)
    left = Z[:, arrays["column"][0]] <= arrays["threshold"][0]
    child = boosted(Z[left], y[left], 4, root[0], root[1])
    number = arrays["left"][0]
    assert np.allclose(arrays["coef"][number], child[0])
    assert np.isclose(arrays["intercept"][number], child[1])


def test_rows_fall_into_the_leaf_that_their_values_say():
    X, t, y, _ = crossed(600)
    Z = np.column_stack([X, t])
    arrays = grow(Z, y, 3).arrays()
    at = LogisticTree._ends(arrays, Z)
    assert (arrays["column"][at] == -1).all()
    for row in (0, 17, 599):
        node = 0
        while arrays["column"][node] >= 0:
            goes_left = Z[row, arrays["column"][node]] <= arrays["threshold"][node]
            node = arrays["left" if goes_left else "right"][node]
        assert node == at[row]
    expected = np.sum(Z * arrays["coef"][at], axis=1) + arrays["intercept"][at]
    assert np.allclose(leaf_log_odds(arrays, Z), expected)


def test_pruning_is_nested_and_each_subtree_is_best_at_its_charge():
    X, t, y, _ = crossed(800)
    Z = np.column_stack([X, t])
    tree = grow(Z, y, 2)
    other = crossed(300, seed=9)
    Z_other = np.column_stack(other[:2])
    alphas, last, held = tree.weakest_links(tree.held_losses(Z_other, other[2]))
    assert (np.diff(alphas) > 0).all() and len(alphas) == len(held) == last.max() + 2 > 2
    sizes, risks = [], []
    for number in range(len(alphas)):
        arrays = tree.arrays(last >= number)
        elsewhere = leaf_log_odds(arrays, Z_other)
        losses = np.logaddexp(0, elsewhere) - other[2] * elsewhere
        assert held[number] == pytest.approx(losses.sum())
        log_odds = leaf_log_odds(arrays, Z)
        risks.append(np.mean(np.logaddexp(0, log_odds) - y * log_odds))
        sizes.append((arrays["column"] < 0).sum())
    assert (np.diff(sizes) < 0).all() and sizes[-1] == 1
    for alpha, at in zip(alphas, range(len(alphas)), strict=True):
        cost = np.array(risks) + alpha * np.array(sizes)
        assert cost[at] <= cost.min() + 1e-9


def test_two_kinds_of_people_are_told_apart_and_noise_is_pruned():
    X, t, y, p = crossed()
    model = LogisticTree().fit(X, y, t, rng=np.random.default_rng(0))
    line = LogisticTree(min_samples_split=10**6).fit(X, y, t, rng=np.random.default_rng(0))
    errors = [np.sqrt(np.mean((m.predict_acceptance(X, t) - p) ** 2)) for m in (model, line)]
    assert errors[0] < 0.5 * errors[1]
    rng = np.random.default_rng(2)
    y = (rng.random(len(t)) < expit(4 * (t - 0.5))).astype(int)
    assert LogisticTree().fit(X, y, t, rng=rng).models_[0]["leaves"] <= 2


def test_units_do_not_matter_and_the_same_generator_gives_the_same_tree():
    X, t, y, _ = crossed(500)
    first, second, third = (
        LogisticTree().fit(rows, y, t, rng=np.random.default_rng(3))
        for rows in (X, X, X * 1000 + 5)
    )
    p = first.predict_acceptance(X, t)
    assert np.array_equal(p, second.predict_acceptance(X, t))
    assert np.allclose(p, third.predict_acceptance(X * 1000 + 5, t), atol=1e-6)


def test_boosted_trees_rise_with_the_offer_and_know_where():
    rng = np.random.default_rng(8)
    X, t = rng.normal(size=(900, 2)), rng.random(900)
    y = (rng.random(900) < expit(5 * (t - 0.5) + np.where(X[:, 0] > 0, 2.0, -1.0))).astype(float)
    model = OfferBoosting().fit(X, y, t, rng=np.random.default_rng(9))
    offers = np.linspace(0, 1, 41)
    p = np.array([model.predict_acceptance(X[:200], np.full(200, one)) for one in offers])
    assert (np.diff(p, axis=0) >= 0).all() and np.ptp(p, axis=0).min() > 0.1
    low, high = model.models_[0]["gaps"].T
    assert np.isin(model.steps(), t).all() and (low < high).all() and (high[:-1] <= low[1:]).all()
    # No offer was made where a step may fall, and acceptance is flat elsewhere.
    assert not any(((t > a) & (t < b)).any() for a, b in zip(low, high, strict=True))
    for before, after in zip(high[:-1], low[1:], strict=True):
        ends = [model.predict_acceptance(X[:200], np.full(200, one)) for one in (before, after)]
        assert np.array_equal(*ends)
    loaded = OfferBoosting.from_arrays(model.to_arrays())
    assert np.array_equal(loaded.predict_acceptance(X, t), model.predict_acceptance(X, t))


def test_boosting_claims_nothing_for_offers_between_levels_but_what_the_levels_say():
    """Of a step between two levels the rows know no place; 0 to .25 is where it pays most."""
    rng = np.random.default_rng(10)
    n, levels = 6000, np.linspace(0, 1, 5)
    X, t = rng.normal(size=(n, 1)), rng.choice(levels, n)
    wanted = expit(1.5 * rng.logistic(size=n) - 0.5 + 0.5 * X[:, 0])
    y = (t > wanted).astype(float)
    model = OfferBoosting().fit(X, y, t, rng=np.random.default_rng(11))

    def accepted(offer):
        return model.predict_acceptance(X[:300], np.full(300, offer))

    at = np.array([accepted(level) for level in levels])
    for part in (0.2, 0.5, 0.9):
        between = np.array([accepted(a + part * 0.25) for a in levels[:-1]])
        np.testing.assert_allclose(between, (1 - part) * at[:-1] + part * at[1:], rtol=1e-12)
    curves = Curves(model)
    best = curves.best({"X": X[:300]}, np.zeros(300, int), np.array([[0.0, 1.0]]), (1.0, -1.0))
    assert np.isin(best, levels).all()
    earned = model.predict_acceptance(X[:300], best) * (1 - best)
    np.testing.assert_allclose(earned, (at * (1 - levels[:, None])).max(axis=0), rtol=1e-9)


def test_trees_at_many_offers_at_once_are_what_they_are_one_by_one():
    X, t, y, _ = crossed(400)
    model = OfferBoosting(max_iter=30).fit(X, y, t.round(1))
    fit, Z = model.models_[0], model.design_.columns(X, np.zeros(len(X)))
    offers = np.sort(np.r_[model.steps(), np.linspace(0, 1, 23)])
    each = [model.predict_acceptance(X, np.full(len(X), one)) for one in offers]
    np.testing.assert_allclose(model.along(fit, Z, offers), np.transpose(each), rtol=1e-12)
    Z[:, -1] = 0.5
    raw = raw_along(fit, Z, np.array([0.5]))[:, 0]
    np.testing.assert_allclose(raw, raw_predict(fit, Z), rtol=1e-12)


def test_draws_of_boosting_have_best_offers_and_chances_of_their_own():
    X, t, y, _ = crossed(400)
    pricer = Trees(OfferBoosting(max_iter=12).fit(X, y, t))
    draws = pricer.drawn(X, t, y, np.random.default_rng(5), 4)
    about, people = pricer.about(X[:50]), X[:50]
    kind, bounds = np.arange(50) % 2, np.array([[0.1, 0.7], [0.3, 0.9]])
    best = pricer.ends(about, kind, bounds, (1.0, -1.0), None, draws, lambda best: best)
    chance = pricer.accept_drawn(about, best, draws)
    curves, asked = Curves(pricer.model), (about, kind, bounds, (1.0, -1.0))
    assert np.array_equal(pricer.best(*asked), curves.best(*asked))
    one_by_one = [pricer.accept(about, own) for own in best]
    np.testing.assert_allclose(pricer.accept_several(about, best), one_by_one, rtol=1e-9)
    low, high = bounds[kind].T
    assert (best >= low).all() and (best <= high).all() and len(np.unique(chance[:, 0])) == 4
    for number, arrays in enumerate(pricer._fits(draws)):
        model = OfferBoosting()
        model.models_, model.design_ = [arrays], pricer.model.design_
        model.components_, model.share_accepted_ = np.array([-1]), 0.5
        p = model.predict_acceptance(people, best[number])
        np.testing.assert_allclose(p, chance[number], rtol=1e-9)
        # No other offer earns more by the draw's own curve.
        for one in np.linspace(0, 1, 41):
            other = np.clip(one, low, high)
            earned = model.predict_acceptance(people, other) * (1 - other)
            assert (earned <= p * (1 - best[number]) + 1e-9).all()


def test_boosting_that_was_saved_without_its_gaps_is_refused():
    X, t, y, _ = crossed(300)
    arrays = OfferBoosting(max_iter=5, max_leaf_nodes=3).fit(X, y, t).to_arrays()
    del arrays["gaps"]
    with pytest.raises(CounterweightError, match="fit it again"):
        OfferBoosting.from_arrays(arrays)
