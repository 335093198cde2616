"""Copies of a table whose truth is known: what is drawn anew, and what they say together."""

import numpy as np
import pandas as pd
import pytest
from counterweight.evaluation.rehearsed_copies import (
    balancing,
    donors,
    drawn_copy,
    foretold,
    summed_up,
)
from scipy.special import expit
from scipy.stats import beta

ROWS = 400_000


def log_odds(y):
    return np.log(y.mean() / (1 - y.mean()))


def error_of(*groups):
    """Standard error of a difference of log odds."""
    return np.sqrt(sum(1 / (len(y) * y.mean() * (1 - y.mean())) for y in groups))


@pytest.mark.parametrize(("factor", "gamma"), [(1, 1), (1, 2), (3, 1), (2, 0.5), (1.5, 2)])
def test_odds_of_rows_without_an_outcome_are_the_factor_times_those_of_the_others(factor, gamma):
    expected, chance, weight = np.full(ROWS, 0.3), np.full(ROWS, 0.6), np.ones(ROWS)
    rng = np.random.default_rng(5)
    labeled, y = drawn_copy(expected, chance, weight, rng, factor=factor, gamma=gamma)
    off = log_odds(y[~labeled]) - log_odds(y[labeled]) - np.log(factor * gamma)
    assert abs(off) < 4 * error_of(y[~labeled], y[labeled])
    assert abs(y[labeled].mean() - 0.3) < 4 * np.sqrt(0.21 / labeled.sum())
    assert abs(labeled.mean() - 0.6) < 4 * np.sqrt(0.24 / ROWS)


def test_numbers_without_an_outcome_are_tilted_by_a_factor_a_standard_deviation():
    """Of normal deviations the tilt moves the mean by log Γ standard deviations."""
    rng = np.random.default_rng(6)
    spread = 2.5 * rng.normal(size=200_000)
    drawn = drawn_copy(
        np.full(ROWS, 7.0), np.full(ROWS, 0.5), np.ones(ROWS), rng, spread=spread, gamma=2.0
    )
    labeled, y = drawn
    assert y[labeled].mean() == pytest.approx(7, abs=4 * 2.5 / np.sqrt(ROWS / 2) + 0.02)
    assert y[~labeled].mean() - y[labeled].mean() == pytest.approx(2.5 * np.log(2), abs=0.05)


def test_clear_cut_labels_keep_their_weighted_share_and_move_apart():
    rng = np.random.default_rng(7)
    score, weight = rng.normal(size=ROWS), rng.uniform(0.5, 3, ROWS)
    expected = np.full(ROWS, 0.5)
    chance = expit(score + 1)
    labeled, _ = drawn_copy(expected, chance, weight, rng, overlap=2.0)
    share = np.average(chance, weights=weight)
    assert np.average(labeled, weights=weight) == pytest.approx(share, abs=0.004)
    plain, _ = drawn_copy(expected, chance, weight, rng)
    assert score[labeled].mean() > score[plain].mean() + 0.1
    # Twice the log odds: among rows near one score the share is that of the steeper curve.
    near = np.abs(score - 1) < 0.05
    move = np.log(labeled[near].mean() / (1 - labeled[near].mean())) - 4
    other = np.abs(score + 1) < 0.05
    same = np.log(labeled[other].mean() / (1 - labeled[other].mean()))
    assert move == pytest.approx(same, abs=0.15) and move < -0.3


def test_copies_are_summed_up_by_hand():
    def copy(step, truth, estimate, low, high, naive):
        told = {"truth": truth, "estimate": estimate, "low": low, "high": high, "naive": naive}
        place = {"target": "general", "setting": "assumed", "part": "", "step": step}
        place |= {"variable": ""}
        return [place | {"metric": f"rehearsed_{k}", "value": v} for k, v in told.items()] + [
            place | {"metric": "rehearsed_bounded", "value": 0.0}
        ]

    rows = copy(0.0, 0.2, 0.25, 0.15, 0.35, 0.4) + copy(1.0, 0.3, 0.2, 0.15, 0.25, 0.4)
    hidden = {"target": "general", "setting": "assumed", "part": "unlabeled"}
    rows += [
        hidden | {"metric": "rehearsed_loss", "step": step, "variable": name, "value": value}
        for step, loss in enumerate([(0.5, 0.4), (0.3, 0.6)])
        for name, value in zip("ab", loss, strict=True)
    ]
    found = {
        (one["metric"].removeprefix("rehearsed_"), one.get("variable", "")): one
        for one in summed_up(pd.DataFrame(rows))
    }
    assert found["held", ""]["value"] == 0.5 and found["held", ""]["rows"] == 2
    assert found["off", ""]["value"] == pytest.approx(-0.025)
    assert found["off", ""]["standard_error"] == pytest.approx(0.075)
    assert found["rmse", ""]["value"] == pytest.approx(np.sqrt((0.05**2 + 0.1**2) / 2))
    assert found["naive_rmse", ""]["value"] == pytest.approx(np.sqrt((0.2**2 + 0.1**2) / 2))
    assert found["half_width", ""]["value"] == pytest.approx(0.075)
    assert found["mean_loss", "a"]["value"] == pytest.approx(0.4)
    assert found["mean_loss", "b"]["standard_error"] == pytest.approx(0.1)
    assert found["best", "a"]["value"] == found["best", "b"]["value"] == 0.5
    # The exact interval of one of two: 1 - (1 - p)^2 = .025 and p^2 = ... by symmetry.
    low = 1 - np.sqrt(0.975)
    assert found["held", "low"]["value"] == pytest.approx(low)
    assert found["held", "high"]["value"] == pytest.approx(1 - low)


def test_chances_that_balance_are_those_of_the_closed_form_for_one_moment():
    """Of moments 1 (m times) and -2 (k times) they are in the ratio by which the mean is 0."""
    moments = np.r_[np.ones(30), np.full(5, -2.0)][:, None]
    chance = balancing(moments)
    assert chance[:30].sum() == pytest.approx(2 / 3) and np.ptp(chance[:30]) < 1e-15
    assert balancing(np.ones((4, 1))) is None
    assert balancing(np.zeros((4, 2))) == pytest.approx(np.full(4, 0.25))


def test_donors_give_rewards_with_the_mean_that_is_told():
    rng = np.random.default_rng(8)
    expected = rng.uniform(0.02, 0.4, 20_000)
    reward = (rng.random(20_000) < expected).astype(float)
    times = np.where(reward == 0, 5.0, 1.0)
    mean, draw = donors(expected, reward, times, 1.0, rng)
    assert len(np.unique(mean)) == 20 and np.average(mean, weights=times) == pytest.approx(
        np.average(reward, weights=times)
    )
    rows = rng.integers(0, 20_000, ROWS)
    found = reward[draw(rows)]
    assert found.mean() == pytest.approx(mean[rows].mean(), abs=4 * np.sqrt(0.1 / ROWS))
    # Twice the odds: of 0 and 1 a factor of the reward is one of the odds.
    one = np.full(20_000, 0.2)
    mean, draw = donors(one, reward, times, 2.0, rng)
    off = log_odds(reward[draw(rows)]) - np.log(mean[0] / (1 - mean[0])) - np.log(2)
    assert abs(off) < 0.03


def test_chances_are_told_by_the_other_half_and_follow_the_columns():
    rng = np.random.default_rng(9)
    kind, x = rng.choice(["a", "b"], 6000), rng.normal(size=6000)
    truth = expit(np.where(kind == "a", 1.5, -1.5) + x)
    y = (rng.random(6000) < truth).astype(int)
    columns = pd.DataFrame({"kind": kind, "x": x})
    chance = foretold(columns, y, 2, rng)
    assert chance.sum(axis=1) == pytest.approx(np.ones(6000))
    assert np.sqrt(np.mean((chance[:, 1] - truth) ** 2)) < 0.08
    # Rows whose class nobody knows are told, and have no say.
    hidden = np.where(np.arange(6000) < 3000, y, -1)
    assert np.corrcoef(foretold(columns, hidden, 2, rng)[3000:, 1], truth[3000:])[0, 1] > 0.9


def test_shares_of_people_are_summed_up_as_such_and_copies_without_an_answer_are_counted():
    place = {"target": "general", "setting": "assumed", "variable": ""}
    rows = [
        place | {"metric": f"rehearsed_{name}", "part": part, "step": step, "value": value}
        for step, (share, refused) in enumerate([(0.9, 0), (0.8, 1)])
        for part, name, value in [
            ("best offer", "truth", 1.0),
            ("best offer", "estimate", 1.5),
            ("best offer", "share", share),
            ("", "refused", float(refused)),
        ]
    ]
    found = {(one["part"], one["metric"]): one["value"] for one in summed_up(pd.DataFrame(rows))}
    assert found["", "rehearsed_refused"] == 0.5
    records = summed_up(pd.DataFrame(rows))
    (held,) = [
        one for one in records if one["metric"] == "rehearsed_held" and "variable" not in one
    ]
    assert held["value"] == pytest.approx(0.85) and held["part"] == "best offer"
    assert found["best offer", "rehearsed_off"] == 0.5


def test_equal_odds_change_nothing_and_the_edges_of_chances_stay():
    """At 0 and 1 no factor moves a chance; without a factor labels and outcomes are unrelated."""
    sure = np.r_[np.zeros(500), np.ones(500)]
    rng = np.random.default_rng(1)
    labeled, y = drawn_copy(sure, np.full(1000, 0.5), np.ones(1000), rng, factor=50.0)
    assert (y == sure).all() and 400 < labeled.sum() < 600
    labeled, _ = drawn_copy(sure, sure, np.ones(1000), rng, overlap=1.0)
    assert (labeled == sure).all()
    # Numbers that never differ from what is expected have nothing to be tilted.
    told = {"spread": np.zeros(7), "gamma": 3.0}
    _, y = drawn_copy(np.arange(1000.0), np.full(1000, 0.5), np.ones(1000), rng, **told)
    assert (y == np.arange(1000.0)).all()


def test_numbers_are_told_by_the_other_half_and_a_class_that_is_alone_is_sure():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 3000)
    made = foretold(pd.DataFrame({"x": x}), 3 * x, None, rng)
    assert made.shape == (3000,) and np.abs(made - 3 * x).mean() < 0.1
    alone = foretold(pd.DataFrame({"x": x}), np.ones(3000, int), 3, rng)
    assert (alone == [0.0, 1.0, 0.0]).all()


@pytest.mark.parametrize("gamma", [1.0, 0.5, 2.0])
@pytest.mark.parametrize(("low", "high"), [(2.0, 6.0), (0.0, 4.0), (0.0, 400.0)])
def test_odds_of_a_reward_that_is_a_number_move_by_gamma_however_far_it_reaches(gamma, low, high):
    """Of a reward that is not 0; above the mean, where none is 0."""
    rng = np.random.default_rng(3)
    reward = np.tile([low, low, low, high], 500)
    times = np.where(reward == high, 2.0, 1.0)
    mean, draw = donors(np.full(2000, 0.3), reward, times, gamma, rng, least=400)
    assert mean == pytest.approx(np.full(2000, (3 * low + 2 * high) / 5))
    odds = 2 / 3 * gamma
    found = reward[draw(np.zeros(ROWS, int))] == high
    assert found.mean() == pytest.approx(odds / (1 + odds), abs=4 * np.sqrt(0.25 / ROWS))


def test_bins_of_donors_have_the_rewarded_rows_that_are_asked_for():
    expected, reward = np.arange(300) / 300, (np.arange(300) % 3 == 0).astype(float)
    times, rng = np.where(reward == 0, 2.0, 1.0), np.random.default_rng(0)
    for least, most, count in ((30, 20, 3), (50, 20, 2), (51, 20, 1), (5, 4, 4)):
        mean, draw = donors(expected, reward, times, 1.0, rng, least, most)
        edges = np.quantile(expected[reward == 1], np.arange(1, count) / count)
        bins = np.searchsorted(edges, expected, side="right")
        assert (bins[draw(np.arange(300))] == bins).all()
        for own in (bins == at for at in range(count)):
            assert mean[own] == pytest.approx(np.average(reward[own], weights=times[own]))


@pytest.mark.parametrize("values", [(0.0, 1.0), (2.0, 6.0, 9.0)])
def test_donors_do_not_go_by_the_order_of_rows(values):
    """Rewards that are as frequent: bins are the same whichever row is first."""
    rng = np.random.default_rng(0)
    expected, reward = rng.random(600), np.tile(values, 600 // len(values))
    told = [reward, np.ones(600), 1.0, rng]
    mean, _ = donors(expected, *told)
    for order in (np.arange(600)[::-1], rng.permutation(600)):
        other, _ = donors(expected[order], reward[order], *told[1:])
        assert other == pytest.approx(mean[order])
    assert len(np.unique(mean)) > 5


def told(count, held, **values):
    """Records of copies of one part, of which the first `held` hold the truth 0."""
    place = {"target": "general", "setting": "s", "part": "p", "variable": ""}
    rows = []
    for step in range(count):
        low = -1.0 if step < held else 0.5
        known = {"truth": 0.0, "estimate": 0.75, "low": low, "high": 1.5} | values
        rows += [
            place | {"metric": f"rehearsed_{name}", "step": step, "value": value}
            for name, value in known.items()
        ]
    records = summed_up(pd.DataFrame(rows))
    return {
        (one["metric"].removeprefix("rehearsed_"), one.get("variable", "")): one for one in records
    }


@pytest.mark.parametrize(("count", "held"), [(4, 0), (4, 4), (7, 3)])
def test_shares_have_the_exact_interval(count, held):
    found = told(count, held)
    low = beta.ppf(0.025, held, count - held + 1) if held else 0.0
    high = beta.ppf(0.975, held + 1, count - held) if held < count else 1.0
    assert found["held", ""]["value"] == held / count
    assert found["held", ""]["standard_error"] == pytest.approx(
        np.sqrt(held / count * (1 - held / count) / count)
    )
    assert found["held", "low"]["value"] == pytest.approx(low)
    assert found["held", "high"]["value"] == pytest.approx(high)
    widths = (held * 2.5 + (count - held) * 1.0) / count / 2
    assert found["half_width", ""]["value"] == pytest.approx(widths)


def test_an_end_on_the_truth_holds_it_and_one_copy_has_no_error():
    for ends in ({"low": 0.0}, {"low": -2.0, "high": 0.0}):
        found = told(1, 1, **ends)
        assert found["held", ""]["value"] == 1 and np.isnan(found["off", ""]["standard_error"])
    assert told(1, 1, low=1e-9)["held", ""]["value"] == 0
    # What was reached of what is possible; no interval where nothing says where it ends.
    found = told(3, 3, truth=2.0, possible=8.0, high=np.nan)
    assert found["reached", ""]["value"] == 0.25
    assert ("held", "") not in found and ("half_width", "") not in found


def test_rows_take_rewards_of_their_own_action_alone():
    """Refused rows earn nothing, whatever is expected of those that were granted: about as much."""
    rng, rows = np.random.default_rng(4), 3000
    action = (rng.random(rows) < 0.1).astype(int)
    reward = np.where(action == 1, rng.choice([-900.0, 120.0], rows, p=[0.12, 0.88]), 0.0)
    told = rng.normal(0, 5, rows), reward, np.ones(rows), 1.0, rng
    mean, draw = donors(*told, among=action)
    assert (mean[action == 0] == 0).all() and (reward[draw(np.flatnonzero(action == 0))] == 0).all()
    found = draw(np.flatnonzero(action == 1))
    assert (action[found] == 1).all() and (reward[found] != 0).all()
    assert mean[action == 1].mean() == pytest.approx(reward[action == 1].mean(), abs=1e-9)
    # Without codes granted rows share bins with refused ones.
    _, mixed = donors(*told)
    assert (action[mixed(np.flatnonzero(action == 1))] == 0).mean() > 0.5
    # Codes of few rows are taken together.
    few = np.where(np.arange(rows) % 100 == 0, np.arange(rows) // 100 + 2, action)
    together, _ = donors(*told, among=few)
    assert len(np.unique(together[few > 1])) == 1
