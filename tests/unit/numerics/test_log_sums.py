"""Sums of a log: exact and running sums, products of columns, moments, support, merging."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.numerics import log_sums
from counterweight.numerics.checks import ExactSum, RunningSum
from counterweight.numerics.log_sums import Columns, LogSums, Products, begun, limited_weights


def a_batch(n, policies=2, seed=0, rates=(0.2, 1.0), modelled=True):
    rng = np.random.default_rng(seed)
    reward = (rng.random(n) < 0.3) * rng.normal(1, 1, n)
    batch = {"reward": reward, "propensity": rng.uniform(0.005, 1, n)}
    batch |= {"p": rng.uniform(0, 1, (n, policies)) * (rng.random((n, policies)) < 0.8)}
    batch |= {"keep_rate": np.where(reward == 0, rng.choice(rates, n), np.nan)}
    batch |= {"weight": rng.integers(0, 3, n).astype(float), "cluster": rng.integers(0, 9, n)}
    if modelled:
        batch |= {name: rng.uniform(0, 1, (n, policies)) for name in ("q", "v")}
    return batch


def by_hand(batch, cut=None):
    """Columns by name, policies in rows."""
    r, t = batch["reward"], batch["p"].T
    k = batch["weight"] * np.where(r == 0, 1 / np.where(r == 0, batch["keep_rate"], 1), 1)
    w = t / batch["propensity"]
    told = {"k": k[None], "weight": k * w, "reward": (k * r)[None], "earned": k * w * r}
    if "q" in batch:
        told |= {"mean": k * batch["v"].T, "rest": k * w * (r - batch["q"].T)}
    if cut:
        less = limited_weights(w, *cut)
        told |= {"lost": k * (w - less), "limited": k * less * r}
    return told


def stacked(columns, told):
    made = np.empty((columns.count, told["k"].shape[1]))
    for name, place in columns.at.items():
        made[place] = told[name]
    return made


def test_exact_sum_is_the_sum_rounded_once():
    rng = np.random.default_rng(2)
    values = rng.normal(size=5000) * 10.0 ** rng.integers(-200, 200, 5000)
    values = np.r_[values, -values[:4000], 5e-324, 1e300, -1e300]
    for _ in range(3):
        rng.shuffle(values)
        total = ExactSum()
        for part in np.array_split(values, 11):
            total.add(part)
        assert total.value() == math.fsum(values)
    assert ExactSum().value() == 0.0


def test_running_sum_carries_what_is_rounded_away():
    total = RunningSum(2)
    for value in [1e16, *[1.0] * 1000, -1e16]:
        total.add(np.array([value, 0.1]))
    np.testing.assert_allclose(total.value, [1000.0, 100.2], rtol=1e-15)


def test_limits_at_and_beside_the_bound():
    w = np.array([0.0, 1.0, 2.0, 4.0])
    np.testing.assert_array_equal(limited_weights(w, "clip", 2.0), [0, 1, 2, 2])
    np.testing.assert_array_equal(limited_weights(w, "switch", 2.0), [0, 1, 2, 0])
    np.testing.assert_allclose(limited_weights(w, "shrink", 2.0), [0, 2 / 3, 4 / 6, 8 / 18])


@pytest.mark.parametrize("cut", [None, ("clip", 3.0), ("shrink", 5.0)])
@pytest.mark.parametrize("rates", [(0.2, 1.0), (0.25,)])
@pytest.mark.parametrize("modelled", [False, True])
def test_moments_are_those_of_the_rows(cut, rates, modelled, monkeypatch):
    """Sums of c^2, c^3, c^4 and of columns times c, for any factors, in any batches."""
    batch = a_batch(700, rates=rates, modelled=modelled)
    if len(rates) == 1:  # rows of a half stand for as many, or for none
        batch["weight"] = np.minimum(batch["weight"], 1)
    columns = Columns(2, cut, modelled)
    rows = stacked(columns, by_hand(batch, cut))
    monkeypatch.setattr(log_sums, "STEP", 90)
    monkeypatch.setattr(log_sums, "ROOM", 500)
    sums, again = LogSums(columns), LogSums(columns, products=False)
    for part in np.array_split(np.arange(700), 3):
        sums.add({name: values[part] for name, values in batch.items()})
    again.add(batch)
    np.testing.assert_allclose(sums.totals, rows.sum(axis=1), rtol=1e-12)
    matrix = np.random.default_rng(1).normal(size=(columns.count, 3))
    c = matrix.T @ rows
    for moments in (sums.moments(matrix), again.moments(matrix, lambda: [batch])):
        assert moments.count == np.count_nonzero(batch["weight"])
        for number, own in enumerate(c):
            *powers, cross = moments.of(number)
            expected = [(own**power).sum() for power in (2, 3, 4)]
            np.testing.assert_allclose(powers, expected, rtol=1e-9)
            np.testing.assert_allclose(cross, rows @ own, rtol=1e-9, atol=1e-9)


def test_influences_that_cancel_keep_their_digits():
    """With weights of 1 and one reward, the value of a policy is that of the log in every row."""
    n = 4_000
    batch = {"reward": (np.arange(n) % 50 == 0) * 3.0, "propensity": np.full(n, 0.3)}
    batch |= {"p": np.full((n, 1), 0.3), "keep_rate": np.ones(n), "weight": np.ones(n)}
    sums = begun(1)
    sums.add(batch)
    own = np.zeros(sums.columns.count)
    own[sums.rewards_of(0)], own[sums.rewards_of()] = 1, -1
    second, third, fourth, _ = sums.moments(own[:, None]).of(0)
    assert (second, third, fourth) == (0, 0, 0)


def test_clusters_are_the_draws():
    batch = a_batch(300, seed=3)
    columns = Columns(2, None, True)
    sums = LogSums(columns, clusters=12)
    sums.add(batch)
    rows = stacked(columns, by_hand(batch))
    groups = np.stack([rows[:, batch["cluster"] == one].sum(axis=1) for one in range(9)], axis=1)
    matrix = np.random.default_rng(1).normal(size=(columns.count, 1))
    moments = sums.moments(matrix)
    assert moments.count == 9
    c = matrix[:, 0] @ groups
    *powers, cross = moments.of(0)
    np.testing.assert_allclose(powers, [(c**power).sum() for power in (2, 3, 4)], rtol=1e-10)
    np.testing.assert_allclose(cross, groups @ c, rtol=1e-10)
    with_reward = groups[:, (groups[sums.rewards_of() :] != 0).any(axis=0)]
    np.testing.assert_allclose(sums.rewarded(), with_reward, rtol=1e-10, atol=1e-12)
    size = np.abs(groups[sums.rewards_of()])
    effective = size.sum() ** 2 / (size**2).sum()
    assert sums.effective_rewards() == pytest.approx(effective, rel=1e-10)
    assert sums.few() and sums.few(0)


@pytest.mark.parametrize("clusters", [0, 10])
def test_what_carries_a_policy_and_merged_and_stored_sums_are_one(clusters):
    batch = a_batch(500, seed=4)
    batch["propensity"][7] = batch["propensity"][batch["propensity"] >= 0.05].min()
    told, columns = by_hand(batch), Columns(2, None, True)
    whole, thin = LogSums(columns, clusters, float(batch["propensity"][7])), 0
    thin = batch["propensity"] < whole._thin
    whole.add(batch)
    merged = None
    for part in np.array_split(np.arange(500), 2):
        one = LogSums(columns, clusters, whole._thin)
        one.add({name: values[part] for name, values in batch.items()})
        stored = LogSums(columns, clusters, whole._thin).use(one.to_arrays())
        if merged is None:
            merged = stored
        else:
            merged.merge(stored)
    for sums in (whole, merged):
        assert sums.rows == 500 and sums.nonzero == np.count_nonzero(batch["reward"])
        assert sums.subsampled
        assert (sums.least, sums.most) == (batch["reward"].min(), batch["reward"].max())
        for policy in (0, 1):
            kw, earned = told["weight"][policy], told["earned"][policy]
            for name, own in (("weight", kw), ("earned", earned)):
                found = sums.carried(policy, columns.place(name, policy))
                size = np.abs(own)
                if clusters:  # users are the draws
                    size = np.abs(np.bincount(batch["cluster"], own))
                expected = {
                    "rows": 500,
                    "rows_agreed": np.count_nonzero(kw),
                    "rows_rewarded": np.count_nonzero(kw * (batch["reward"] != 0)),
                    "effective_rows": size.sum() ** 2 / (size**2).sum(),
                    "largest_weight": (batch["p"][:, policy] / batch["propensity"]).max(),
                    "largest_share": size.max() / size.sum(),
                    "thin_share": kw[thin].sum() / kw.sum(),
                }
                assert found == pytest.approx(expected, rel=1e-12)
            rewarded = batch["reward"] != 0
            assert sums.largest(columns.place("weight", policy), 1) == kw[rewarded].max()
            effective = kw[rewarded].sum() ** 2 / (kw[rewarded] ** 2).sum()
            assert sums.effective(columns.place("weight", policy), 1) == pytest.approx(effective)
        if not clusters:
            r = np.abs(told["reward"][0])
            more = np.r_[r, r.max()]
            assert sums.further(9.0) == pytest.approx((more @ more) / more.sum(), rel=1e-12)
            effective = r.sum() ** 2 / (r @ r)
            assert sums.effective_rewards() == pytest.approx(effective, rel=1e-12)
            one, k = told["weight"][1], told["k"][0]
            typical = (one @ one) / one.sum() * k.sum() / (k @ k)
            assert sums.typical(1) == pytest.approx(typical, rel=1e-12)
            seen = np.abs(told["earned"][1])
            seen = seen.sum() ** 2 / (seen @ seen)
            expected = min(seen, effective / max(typical, 1))
            assert sums.effective_rewards(1) == pytest.approx(expected, rel=1e-12)
            held = np.concatenate([told[name] for name in columns.at])[:, batch["reward"] != 0]
            np.testing.assert_allclose(sums.rewarded(), held, rtol=1e-12)
    k, r = told["k"][0], batch["reward"]
    if not clusters:
        mean = (k @ r) / k.sum()
        n = np.count_nonzero(k)
        error = np.sqrt(((k * (r - mean)) ** 2).sum() * n / (n - 1)) / k.sum()
        assert merged.mean_reward() == pytest.approx((mean, error), rel=1e-9)


def test_rows_that_need_no_weights_when_their_reward_is_zero():
    batch = a_batch(200, 1, modelled=False)
    plain, full = (LogSums(Columns(1, weighted=weighted)) for weighted in (False, True))
    for sums in (plain, full):
        sums.add(batch)
    own = np.zeros(4)
    own[plain.rewards_of(0)], own[0] = 2.0, -0.5
    found, known = (sums.moments(own[:, None]).of(0)[:3] for sums in (plain, full))
    np.testing.assert_allclose(found, known, rtol=1e-12)


def test_many_policies_need_a_second_pass_and_no_row_has_no_moments():
    assert begun(11).products and not begun(12).products
    assert begun(12, in_one_pass=True).products
    assert not begun(5, limit="clip", modelled=True).columns.count < 24
    empty = Products(Columns(1), zeros=True)
    assert empty.count == 0
    assert LogSums(Columns(1)).moments(np.zeros((4, 1))).of(0)[:3] == (0, 0, 0)


def test_a_further_reward_is_typical_of_those_seen_with_the_largest_once_more():
    class Sums(log_sums.LogSums):
        def __init__(self, rewards):
            self.rewards = np.asarray(rewards, float)
            moments = len(rewards), self.rewards.sum(), (self.rewards**2).sum()
            self._sums = SimpleNamespace(value=np.array([[[0.0]] * 3, [[one] for one in moments]]))

        def rewards_of(self):
            return 0

        def largest(self, column, at):
            return self.rewards.max(initial=0.0)

    rewards = [1.0, 2.0, 5.0]
    assert Sums(rewards).further(9.0) == pytest.approx((1 + 4 + 25 + 25) / (1 + 2 + 5 + 5))
    # Where none was seen, the most that there can be.
    assert Sums([]).further(-9.0) == 9.0
