"""Best offers within bounds of kinds of people: closed forms, brute force, boundaries."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.models.choice import pricing
from counterweight.models.choice.additive import OfferAdditive
from counterweight.models.choice.offer_model import acceptance, logistic, searched_offers
from counterweight.models.choice.predictive_choice import PredictiveChoiceModel
from counterweight.models.choice.pricing import (
    Kinds,
    best_on_lines,
    beyond,
    by_kind,
    nearest,
    offers_made,
    possible,
    pricer,
    quantiles,
    total_by_draws,
    within_holes,
)
from scipy import stats
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_normal

SHARES = (0.025, 0.975)


@pytest.mark.parametrize("revenue", [(1.0, -1.0), (0.2, 0.5), (0.0, -1.0)])
def test_lines_of_either_slope_have_their_best_offer(revenue):
    rng = np.random.default_rng(0)
    start, slope = rng.normal(0, 3, 200), rng.normal(0, 8, 200)
    kind, bounds = rng.integers(0, 2, 200), np.array([[0.0, 1.0], [0.2, 0.7]])
    best = best_on_lines(start, slope, kind, bounds, revenue)
    assert ((best >= bounds[kind, 0] - 1e-12) & (best <= bounds[kind, 1] + 1e-12)).all()
    earned = expit(start + slope * best) * (revenue[0] + revenue[1] * best)
    for number in (0, 1):
        mine = kind == number
        found = searched_offers(
            lambda t, mine=mine: expit(start[mine] + slope[mine] * t),
            mine.sum(),
            revenue,
            None,
            *bounds[number],
        )
        by_search = expit(start[mine] + slope[mine] * found) * (revenue[0] + revenue[1] * found)
        assert (earned[mine] >= by_search - 1e-9).all()


def test_grids_and_quantiles():
    grid = np.array([0.0, 0.5, 1.0])
    assert possible(grid, 0.2, 0.6).tolist() == [0.5]
    assert possible(grid, 0.6, 0.7).tolist() == [0.5]
    values = np.random.default_rng(0).normal(size=(60, 9))
    assert np.allclose(quantiles(values, (0.05, 0.95)), np.quantile(values, (0.05, 0.95), axis=0))
    assert quantiles(values, (0.0, 1.0)).tolist() == [
        values.min(0).tolist(),
        values.max(0).tolist(),
    ]


def test_both_ends_of_a_grid_are_possible_and_the_nearest_where_there_is_none():
    grid = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    assert possible(grid, 0.25, 0.75).tolist() == [0.25, 0.5, 0.75]
    assert possible(grid, 0.26, 0.4).tolist() == [0.25]
    assert possible(grid, 0.9, 0.95).tolist() == [1.0]
    kinds = np.array([1, 0, 1])
    found = list(by_kind(kinds, np.array([[0.1, 0.6], [0.3, 0.47]]), grid))
    assert [mine.tolist() for mine, *_ in found] == [[1], [0, 2]]
    assert [(low, high) for _, low, high, _ in found] == [(0.25, 0.5), (0.5, 0.5)]
    free = list(by_kind(kinds, np.array([[0.1, 0.6], [0.3, 0.47]]), None))
    assert [(low, high, own) for _, low, high, own in free] == [(0.1, 0.6, None), (0.3, 0.47, None)]


def test_the_top_of_a_parabola_is_found_between_the_offers():
    offers = np.linspace(0.0, 1.0, 11)
    tops = np.array([0.234, 0.5, 0.871])
    values = -((offers - tops[:, None]) ** 2)
    np.testing.assert_allclose(pricing._peaks(values, offers, True), tops, atol=1e-12)
    assert pricing._peaks(values, offers, False).tolist() == [0.2, 0.5, 0.9]
    # At an end, where values do not bend, and with two offers, the best one stays.
    assert pricing._peaks(np.array([offers, -offers, 0 * offers]), offers, True).tolist() == [
        1,
        0,
        0,
    ]
    assert pricing._peaks(np.array([[1.0, 2.0]]), np.array([0.2, 0.4]), True).tolist() == [0.4]


def test_people_who_move_are_priced_by_their_own_curves():
    rng = np.random.default_rng(0)
    n, offers = 5000, np.linspace(0.0, 1.0, 33)
    weights, eta, k = rng.random((2, n)), np.array([0.3, 0.6]), np.array([9.0, 14.0])
    # Moves of whole parts are not rounded.
    moves = rng.integers(-80, 80, n) / pricing.ROUNDED
    earns = 1 - offers
    found = pricing._moved_peaks(weights, moves, eta, k, offers, earns, False)
    curves = logistic(k[:, None] * (offers - eta[:, None] - moves[:, None, None])) * earns
    each = np.einsum("jn,njg->ng", weights, curves)
    assert np.mean(found == offers[each.argmax(axis=1)]) > 0.999
    np.testing.assert_allclose(each.max(1), each[np.arange(n), np.rint(found * 32).astype(int)])


def test_kinds_are_the_nearest_centres_and_their_reach_is_of_offers_that_were_made():
    kinds = Kinds(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([1.0, 5.0]), np.array([2.0, 1.0]))
    which, close = kinds.told(np.array([[1.0, 5.0], [5.0, 6.0], [2.9, 5.0]]))
    assert which.tolist() == [0, 1, 0]
    np.testing.assert_allclose(close, [0.0, -1.0, -(0.95**2)])
    X = np.random.default_rng(0).normal(size=(450, 2))
    assert len(Kinds.fitted(X, np.random.default_rng(0)).centres) == 4
    assert len(Kinds.fitted(X[:99], np.random.default_rng(0)).centres) == 1
    flat = Kinds.fitted(np.ones((300, 2)), np.random.default_rng(0))
    assert len(flat.centres) == 1 and flat.scale.tolist() == [1, 1]
    offers = np.arange(1.0, 201.0)
    reach = offers_made(offers, np.repeat([0, 1], 100), 3)
    assert reach.tolist() == [[1.0, 99.0], [101.0, 199.0], [2.0, 198.0]]
    # Nine people bound nobody, ten do; what the nine were offered is within reach.
    reach = offers_made(offers, np.repeat([0, 1, 2], [9, 10, 181]), 3)
    assert reach.tolist() == [[1.0, 198.0], [10.0, 19.0], [21.0, 199.0]]


def test_the_ends_of_a_range_are_not_beyond_it():
    low, high = np.array([0.0, 1.0]), np.array([1.0, 1.0])
    X = np.array([[0.0, 1.0], [1.0, 1.0], [1 + 1e-10, 1.0], [1.1, 2.0], [0.5, 0.9], [np.nan, 1]])
    assert beyond(X, low, high).tolist() == [-1, -1, -1, 0, 1, 0]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(1)
    own = rng.integers(2, size=1200)
    X, t = rng.normal(size=(1200, 2)) + 3.0 * own[:, None], rng.random(1200)
    y = (rng.random(1200) < acceptance(t, np.array([0.3, 0.7])[own], 10.0)).astype(int)
    model = PredictiveChoiceModel(components=2, n_init=2)
    return X, y, t, model.fit(X, y, t, rng=rng)


@pytest.mark.parametrize("setting", ["hard", "soft"])
def test_draws_that_are_the_fit_find_its_offers(fitted, setting):
    X, y, t, model = fitted
    own = pricer(model, setting)
    about, kind = own.about(X[:300]), np.zeros(300, int)
    bounds, revenue = np.array([[0.0, 1.0]]), (1.0, -1.0)
    best = own.best(about, kind, bounds, revenue)
    np.testing.assert_allclose(best, model.optimal_offers(X[:300], setting).offer, atol=1e-12)
    batch = model._parameters()
    draws = {"eta": model.eta_[None], "k": model.k_[None]}
    draws["densities"] = np.swapaxes(model._emission.coefficients(batch), 0, 1)
    low, high = own.ends(about, kind, bounds, revenue, None, draws, lambda b: quantiles(b, (0, 1)))
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, best, atol=1e-9 if setting == "hard" else 2e-3)
    grid = np.array([0.2, 0.5, 0.8])
    of_grid = own.best(about, kind, bounds, revenue, grid)
    ends = own.ends(about, kind, bounds, revenue, grid, draws, lambda b: quantiles(b, (0, 1)))
    np.testing.assert_array_equal(ends[0], of_grid)
    each = own.accept_each(about, grid)
    np.testing.assert_allclose(each[:, 1], own.accept(about, np.full(300, 0.5)))


def test_segments_are_told_with_their_curves(fitted):
    X, _, _, model = fitted
    told = pricer(model, "soft").told(pricer(model, "soft").about(X))
    shares = model.predict_segments(X)
    assert (told["segment"] == shares.argmax(axis=1)).all()
    np.testing.assert_allclose(told["segment_p"], shares.max(axis=1))
    np.testing.assert_array_equal(told["eta"], model.eta_[told["segment"]])


def test_centres_of_kinds_are_the_means_of_their_people_in_any_unit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2)) * 0.3 + rng.choice([-1.0, 1.0], (600, 2))
    X = X * [50.0, 0.02] + [1000.0, 0.0]
    kinds = pricing.Kinds.fitted(X, np.random.default_rng(0))
    kind, _ = kinds.told(X)
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    means = [rows[kind == one].mean(axis=0) for one in range(len(kinds.centres))]
    assert len(means) > 1 and kinds.centres == pytest.approx(np.array(means), abs=0.02)


def test_the_nearest_offer_of_a_grid_is_taken_and_of_two_the_upper_one():
    grid = np.array([0.5, 0.25, 1.0, 0.5])
    offers = np.array([0.0, 0.25, 0.37, 0.375, 0.38, 0.5, 0.74, 0.75, 1.0, 2.0])
    expected = [0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 1.0, 1.0, 1.0]
    assert nearest(grid, offers).tolist() == expected
    assert nearest([0.4], np.array([0.0, 1.0])).tolist() == [0.4, 0.4]


def chance_of(X, t):
    """Half of people accept the middle offer, more a higher one."""
    return 0.5 + 0.4 * (np.asarray(t) - 0.5)


def test_between_offers_that_were_made_the_total_is_the_least_and_the_most_that_may_be():
    X, made = np.zeros((3, 1)), np.array([0.5, 0.6, 0.2])
    paid = np.array([2.0, -1.0, 3.0])
    ends = np.array([[0.4, 0.5, 0.2], [0.7, 0.8, 0.2]])
    saved = SimpleNamespace(between=lambda made: ends, accepted=chance_of)
    total = float(chance_of(X, made) @ paid)
    first, least, most = within_holes(saved, X, [(made, paid)], total)
    assert first == ([(made, paid)], total)
    # Acceptance rises, so what is earned is least at lower offers, and what is lost at higher ones.
    for (valued, found), other in ((least, [0.4, 0.8, 0.2]), (most, [0.7, 0.5, 0.2])):
        assert valued[0][0].tolist() == other and valued[0][1] is paid
        assert found == pytest.approx(chance_of(X, other) @ paid)
    assert least[1] < total < most[1]
    saved.between = lambda made: np.array([made, made])
    assert len([*within_holes(saved, X, [(made, paid)], total)]) == 1


class Drawn:
    """People accept with the chance of `chance_of`, moved by draws or by so much."""

    def __init__(self, moved):
        self.moved = moved

    def about(self, X):
        return X

    def accept(self, about, t):
        return chance_of(about, t) + self.moved

    def accept_drawn(self, about, t, draws):
        return chance_of(about, t) + draws["moved"][:, None]

    accept_near = accept_drawn


def test_ends_of_a_total_are_those_of_draws_about_it_and_of_rivals():
    X, t, paid = np.zeros((6, 1)), np.linspace(0.2, 0.7, 6), np.arange(6.0)
    draws, shares = np.array([-0.1, 0.0, 0.02, 0.2]), (0.0, 0.5, 1.0)
    parts, total = [slice(0, 4), slice(4, 6)], float(chance_of(X, t) @ paid)

    def ends(rivals=(), **more):
        rivals = [Drawn(moved) for moved in rivals]
        asked = {"valued": [(t, paid)], "total": total} | more
        own = (0.25, 0.75) if len(asked["valued"]) == 1 else shares
        return total_by_draws(Drawn(0.0), rivals, {"moved": draws}, X, parts, own, **asked)

    moved, p = (draws - draws.mean()) * paid.sum(), chance_of(X, t)
    # Of four draws; and of each answer a yes or a no.
    reach = stats.t(3).ppf(0.75) * np.sqrt(moved.var(ddof=1) + (p * (1 - p)) @ paid**2)
    assert total > reach and ends() == pytest.approx((total - reach, total + reach))
    low, high = ends([1.4, -0.05], cost=1.5)
    assert high == pytest.approx(total + 1.4 * paid.sum() - 1.5) and high > total + reach
    assert low == pytest.approx(min(total - 0.05 * paid.sum() - 1.5, total - reach))
    assert ends([-0.6])[0] == pytest.approx(total - 0.6 * paid.sum())
    # What nobody pays less than nothing for, costs no more than it costs.
    assert ends(total=0.5, cost=0.2)[0] == pytest.approx(-0.2)
    assert ends(total=0.5)[0] == 0.0
    # What is taken off may come to less than nothing.
    both = ends(valued=[(t, paid), (t, -paid)], total=0.0)
    assert both == pytest.approx((0.0, 0.0))
    off = [(t, -paid), (t, 0 * paid)]
    assert ends(valued=off, total=0.0) == pytest.approx((-moved.max(), -moved.min()))
    assert ends(valued=[(t, -paid)], total=0.0)[0] == pytest.approx(-reach)


def test_what_was_offered_is_told_with_the_reasons_to_doubt():
    told = []
    log = SimpleNamespace(info=lambda text, *asked: told.append(text % asked))
    offers = [10.0, 20.0, 60.0, 30.0]
    reasons = ["", "far from all", "few like them", "far from all"]
    pricing.tell_offers(log, pd.DataFrame({"best_offer": offers, "reason": reasons}), "price")
    assert told[0] == "price for 4 people: median 25, from 10 to 60"
    assert told[1:] == ["2 of 4 people: far from all", "1 of 4 people: few like them"]


def test_draws_of_segments_accept_as_their_own_curves(fitted):
    X, y, t, model = fitted
    X, t = X[:40], t[:40]
    for setting in ("hard", "soft"):
        own = pricer(model, setting)
        about = own.about(X)
        batch = model._parameters()
        densities = np.swapaxes(model._emission.coefficients(batch), 0, 1)
        draws = {"eta": model.eta_[None] + [[0.0], [0.1]], "k": np.repeat(model.k_[None], 2, 0)}
        draws["densities"] = np.repeat(densities, 2, axis=0)
        found = own.accept_drawn(about, t, draws)
        # Thresholds that are moved by so much answer an offer as others do one that is less by it.
        np.testing.assert_allclose(found[0], model.predict_acceptance(X, t, setting), rtol=1e-7)
        np.testing.assert_allclose(found[1], own.accept(about, t - 0.1), rtol=1e-7)
        several = own.accept_several(about, np.stack([t, t - 0.1]))
        np.testing.assert_allclose(found, several, rtol=1e-7)
        apart = own.accept_drawn(about, np.stack([t, t + 0.1]), draws)
        np.testing.assert_allclose(apart, [found[0], found[0]], rtol=1e-7)


def test_few_people_in_a_crowd_are_close_to_their_segment(fitted):
    X, _, _, model = fitted
    own = pricer(model, "hard")
    away = np.vstack([X[:1], X[:1] + 50.0])
    close = own.closeness(own.about(away))
    assert close[0] > close[1] + 100
    batch = model._parameters()
    logs = [
        multivariate_normal(mean, covariance).logpdf(X[:5])
        for mean, covariance in zip(model.means_, model.covariances_, strict=True)
    ]
    density = logsumexp(np.log(batch.weights[:, 0])[:, None] + np.array(logs), axis=0)
    # In scaled features.
    expected = density + np.log(model.scale_).sum()
    np.testing.assert_allclose(own.closeness(own.about(X[:5])), expected, rtol=1e-9)


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_what_a_person_departs_from_the_columns_is_counted_at_most_as_a_yes_and_a_no(part):
    """Of a fit without error, chances that vary about its own by a part of the largest variance."""
    rng = np.random.default_rng(3)
    p, paid = rng.uniform(0.1, 0.9, 300), rng.uniform(5.0, 30.0, 300)

    def drawn(about, t, draws):
        return np.tile(about["p"], (len(draws["own"]), 1))

    own = SimpleNamespace(
        about=lambda X: {"p": X[:, 0]},
        accept=lambda about, t: about["p"],
        accept_near=drawn,
        accept_drawn=drawn,
    )
    total, parts = float(p @ paid), [slice(0, 200), slice(200, 300)]
    told = own, [], {"own": np.zeros(500)}, p[:, None], parts, SHARES
    low, high = total_by_draws(*told, [(np.zeros(300), paid)], total)
    held = []
    for _ in range(2000):
        chance = np.where(rng.random(300) < part, rng.random(300) < p, p)
        held.append(low <= chance @ paid <= high)
    assert np.mean(held) >= 0.94 and (part < 1 or np.mean(held) <= 0.96)
    # What is more than other offers bring is of the fit alone.
    less = [(np.zeros(300), paid), (np.zeros(300), -paid)]
    assert total_by_draws(*told, less, 0.0) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_sums_over_people_by_a_posterior_are_those_of_its_normal_approximation():
    rng = np.random.default_rng(4)
    X, t = rng.normal(size=(120, 3)), rng.random(120)
    y = (rng.random(120) < expit(4 * t - 3.5 + X[:, 0])).astype(float)
    model = OfferAdditive(pairs=False).fit(X, y, t, categories=None)
    own = pricer(model, "")
    draws, about = own.drawn(X, t, y, np.random.default_rng(5), 60), own.about(X)
    low, used = np.zeros(120), np.append(np.isfinite(own.ridge), True)

    def rows_at(offers):
        return np.column_stack([model.design_.columns(X, offers), np.ones(120)])[:, used]

    def steep(rows):
        p = expit(rows @ np.append(own.coef, own.intercept)[used])
        return p * (1 - p)

    made, asked = rows_at(t), rows_at(low)
    hessian = (made * steep(made)[:, None]).T @ made + np.diag(np.append(own.ridge, 0.0)[used])
    slope = asked.T @ steep(asked)
    deviation = float(np.sqrt(slope @ np.linalg.solve(hessian, slope)))
    near = own.accept_near(about, low, draws).sum(axis=1)
    assert near.std() == pytest.approx(deviation, rel=0.12)
    claim, size = own.accept(about, low).sum(), deviation / np.sqrt(len(near))
    assert abs(near.mean() - claim) < 3 * size
    # By the curve of each person all of these small chances go up by more than chance makes of it.
    assert own.accept_drawn(about, low, draws).sum(axis=1).mean() - claim > 3 * size
