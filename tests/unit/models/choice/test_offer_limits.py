"""Offers under limits: against a linear programme, and against what must hold."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.models.choice.offer_limits import Limit, _by_draws, _Programme, allot
from scipy.optimize import linprog
from scipy.sparse import coo_matrix, csr_matrix, kron, vstack
from scipy.special import expit
from scipy.stats import norm

OFFERS = np.linspace(0, 1, 21)


def people(seed, n=2000, alike=False):
    rng = np.random.default_rng(seed)
    eta, k = rng.uniform(0.1, 0.9, n), rng.uniform(2, 12, n)
    if alike:
        kind = rng.integers(3, size=n)
        eta, k = np.array([0.2, 0.5, 0.8])[kind], np.array([4.0, 9.0, 6.0])[kind]
    return expit(k[:, None] * (OFFERS - eta[:, None])), rng.normal(size=n), rng.random(n) < 0.4


def limits_of(kind, quality, group):
    share = len(quality) / 2000
    made = {
        "capacity": Limit("capacity", 1.0, 1.0, 300.0 * share),
        "budget": Limit("budget", 1.0, OFFERS, 120.0 * share),
        "quality": Limit("quality", 0.3 - quality, 1.0, 0.0),
        "share": Limit("share", 0.5 - group, 1.0, 0.0),
    }
    return [made[one] for one in kind]


def programme(p, worth, limits, spent=0.0):
    """The largest value of the linear programme over mixed assignments."""
    n, m = p.shape
    value = (p * worth - spent).ravel()
    uses = [
        csr_matrix(
            (p * np.outer(np.broadcast_to(one.rows, n), np.broadcast_to(one.offers, m))).reshape(
                1, -1
            )
        )
        for one in limits
    ]
    once = kron(coo_matrix(np.eye(n)), np.ones((1, m)), format="csr")
    bounds = np.concatenate([np.ones(n), [one.bound for one in limits]])
    return -linprog(-value, A_ub=vstack([once, *uses]), b_ub=bounds, method="highs").fun


@pytest.mark.parametrize(
    "kind", [("capacity",), ("budget",), ("capacity", "budget"), ("capacity", "quality", "share")]
)
@pytest.mark.parametrize("alike", [False, True])
def test_the_dual_equals_a_linear_programme_and_the_offers_are_near_it(kind, alike):
    # What is allowed is one person's worth a limit, however many there are: few are as strict.
    p, quality, group = people(1, 500, alike)
    limits, worth = limits_of(kind, quality, group), 1 - OFFERS
    found = allot(p, worth, limits)
    best = programme(p, worth, limits)
    assert found.dual == pytest.approx(best, rel=1e-6)
    # Within one person's worth for each limit, and all limits are kept.
    assert best * (1 + 1e-9) >= found.value >= best - len(kind) * (p * worth).max()
    for one in limits:
        assert found.used[one.name] <= one.bound + 1e-9 * max(abs(one.bound), 1e-3)
    if kind in (("capacity",), ("budget",)):
        assert found.greedy <= found.value <= found.free


def test_what_does_not_bind_changes_nothing_and_multipliers_are_prices():
    p, quality, group = people(2)
    free = allot(p, 1 - OFFERS, [Limit("capacity", 1.0, 1.0, 1e6)])
    np.testing.assert_array_equal(free.choice, (p * (1 - OFFERS)).argmax(axis=1))
    assert free.multipliers == {"capacity": 0.0} and free.dual == free.free
    less, more = (allot(p, 1 - OFFERS, [Limit("capacity", 1.0, 1.0, b)]) for b in (299.0, 301.0))
    here = allot(p, 1 - OFFERS, [Limit("capacity", 1.0, 1.0, 300.0)]).multipliers["capacity"]
    assert less.multipliers["capacity"] >= here >= more.multipliers["capacity"] > 0
    assert more.dual - less.dual == pytest.approx(2 * here, rel=0.02)


def test_a_capacity_is_kept_with_the_confidence_that_is_asked():
    p, _, _ = people(3)
    limit = [Limit("capacity", 1.0, 1.0, 300.0)]
    found = allot(p, 1 - OFFERS, limit, confidence=0.95)
    own = np.where(found.choice >= 0, p[np.arange(len(p)), found.choice], 0.0)
    accepted = (np.random.default_rng(0).random((4000, len(own))) < own).sum(axis=1)
    assert 0.94 <= np.mean(accepted <= 300) <= 0.975
    z = (300.5 - own.sum()) / np.sqrt((own * (1 - own)).sum())
    assert norm.cdf(z) == pytest.approx(0.95, abs=0.01)
    small = [limit[0]._replace(bound=1.0)]
    with pytest.raises(CounterweightError, match="cannot be kept"):
        allot(np.full((50, 21), 0.5), 1 - OFFERS, small, confidence=0.9999)


def test_revenue_by_person_and_costs_that_are_spent_anyway():
    p, quality, _ = people(4, 500)
    worth = np.exp(quality)[:, None] - OFFERS
    limits = [Limit("budget", 1.0, OFFERS, 25.0)]
    spent = 0.02 + 0.1 * OFFERS
    found = allot(p, worth, limits, spent=spent)
    assert found.dual == pytest.approx(programme(p, worth, limits, spent), rel=1e-6)
    assert (found.choice == -1).any()
    rich = allot(p, worth, [Limit("budget", 1.0, OFFERS, 1e9)], spent=10.0)
    assert (rich.choice == -1).mean() > 0.9


def test_a_limit_that_nobody_meets_leaves_nobody():
    p, quality, _ = people(5, 300)
    for least in (1.0, 9.0, 1e6):
        found = allot(p, 1 - OFFERS, [Limit("quality", quality.max() + least - quality, 1.0, 0.0)])
        assert (found.choice == -1).all() and found.value == found.used["quality"] == 0


def test_limits_that_cannot_be_kept_are_refused():
    p, quality, _ = people(5, 300)
    with pytest.raises(CounterweightError, match="No offers keep the limit capacity"):
        allot(p, 1 - OFFERS, [Limit("capacity", 1.0, 1.0, 1.0)], skip=False)
    with pytest.raises(CounterweightError, match="finite"):
        allot(p * np.nan, 1 - OFFERS, [Limit("capacity", 1.0, 1.0, 1.0)])


@pytest.mark.parametrize("seed", range(6))
def test_where_everybody_ties_what_limits_leave_is_given_to_others(seed):
    """Earned is what is given away, so all offers are worth the price of the budget."""
    p, quality, _ = people(seed, n=400)
    worth = 1 - OFFERS
    limits = [
        Limit("capacity", 1.0, 1.0, 100.0),
        Limit("budget", 1.0, worth, 20.0 + 5 * seed),
        Limit("quality", 0.2 - quality, 1.0, 0.0),
    ]
    found = allot(p, worth, limits)
    assert found.dual == pytest.approx(limits[1].bound, rel=1e-6)
    assert found.value >= found.dual - len(limits) * (p * worth).max()
    for limit in limits:
        assert found.used[limit.name] <= limit.bound + 1e-6 * max(limit.bound, 1)


def test_people_whose_offers_differ_between_assignments_that_tie_are_shared_out_by_their_chances():
    """Half of those who differ get each one's offer, those of little chance the first one's."""
    limits = [Limit("capacity", 1.0, 1.0, 2.0), Limit("budget", 1.0, np.arange(2.0), 2.0)]
    first, second = np.array([0, 0, 0, 0, 0, 1]), np.array([1, 0, 1, 1, 1, 1])
    p = np.array([[0.9], [0.1], [0.2], [0.8], [0.4], [0.7]]).repeat(2, axis=1)
    programme = _Programme(p, np.ones(2), np.zeros(2), limits, skip=False)
    cuts = [(0.0, np.zeros(2), first), (0.0, np.zeros(2), second)]
    made = programme._rounded(cuts, np.array([0.5, 0.5]), np.array([2.0, 2.0]), np.zeros(2))
    assert made.tolist() == [1, 0, 0, 1, 0, 1]


def test_room_that_is_left_goes_first_to_who_earns_most_for_it():
    """One earns 5 and takes all of 4, the other earns 3 and takes 1: the other is first."""
    gains, takes = np.array([5.0, 3.0]), np.array([[4.0], [1.0]])

    def earned(choice):
        return np.where(choice >= 0, gains, 0.0)

    def use(choice):
        return np.where(choice[:, None] >= 0, takes, 0.0)

    nobody, everybody = np.full(2, -1), np.zeros(2, int)
    given = SimpleNamespace(earned=earned, use=use)
    found = _Programme._refilled(given, nobody, np.array([nobody, everybody]), np.array([4.0]))
    assert found.tolist() == [-1, 0]


@pytest.mark.parametrize("shrunken", [False, True])
@pytest.mark.parametrize("rivals", [(), (0.9,)])
def test_the_number_that_accepts_has_mean_and_variance_of_unlike_coins(rivals, shrunken):
    # Three people, one with no offer; two draws of the chances of the others, in a part each.
    drawn, fit = np.array([[0.2, 0.5, 0.7], [0.4, 0.1, 0.6]]), np.array([0.25, 0.3, 0.3])
    saved = SimpleNamespace(
        scale=SimpleNamespace(scaled=lambda offers: offers),
        part=lambda name: None,
        parts_of=lambda size: [slice(at, at + 1) for at in range(size)],
        _pricer=SimpleNamespace(
            about=lambda X: X,
            accept=lambda rows, t: fit[rows],
            accept_drawn=lambda rows, t, draws: drawn[:, rows],
            shrunken=shrunken,
        ),
        _rivals=[
            SimpleNamespace(about=len, accept=lambda size, t, p=p: np.full(size, p)) for p in rivals
        ],
    )
    means, variances = _by_draws(saved, np.arange(3), np.array([1, -1, 0]), np.array([0.3, 0.6]))
    # Off to the other side: .3 and .1 for .2 and .4 about .25; 0, not -.1, for .7 about .3.
    others = [[[0.3, 0.0], [0.1, 0.0]]] if shrunken else []
    others += [np.full((4 if shrunken else 2, 2), p) for p in rivals]
    expected = np.vstack([drawn[:, [0, 2]], *others])
    assert means == pytest.approx(expected.sum(axis=1))
    assert variances == pytest.approx((expected * (1 - expected)).sum(axis=1))


def test_people_move_up_in_the_order_of_what_they_use_until_nothing_is_left():
    takes = np.array([[3.0], [4.0], [2.0], [0.0]])
    given = SimpleNamespace(use=lambda choice: np.where(choice[:, None] >= 0, takes, 0.0))
    nobody, everybody = np.full(4, -1), np.zeros(4, int)
    for bound, who in ((1.5, []), (2.0, [2]), (6.0, [1, 2]), (7.0, [0, 1]), (9.0, [0, 1, 2])):
        for both in ((nobody, everybody), (everybody, nobody)):
            made = _Programme._filled(given, np.array(both), bound)
            assert np.flatnonzero(made >= 0).tolist() in (who, [*who, 3])


def test_a_rule_of_the_best_people_first_may_use_up_a_limit():
    # Everybody accepts the one offer: three are worth 3, 2 and 1, and two of them fill the room.
    worth = np.array([[2.0], [3.0], [1.0]])
    for bound, earned in ((2.0, 5.0), (1.0, 3.0), (0.5, 0.0)):
        found = allot(np.ones((3, 1)), worth, [Limit("capacity", 1.0, 1.0, bound)])
        assert found.greedy == earned and found.value == pytest.approx(earned)
