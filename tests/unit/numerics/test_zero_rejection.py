"""Rejection of zero-reward rows: which rows are kept, how many, and for which rates."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.zero_rejection import (
    keep_weights,
    kept_rows,
    rate_for_share,
    row_uniforms,
)
from scipy import stats

RATES = (1.0, 0.5, 0.1, 0.01)


def log(n, share=0.05, seed=0):
    return (np.random.default_rng(seed).random(n) < share).astype(float)


def test_the_same_rows_are_kept_in_any_order_and_company():
    reward, keys = log(5000), np.arange(5000)
    kept = set(keys[kept_rows(reward, keys, 0.1, 7)].tolist())
    order = np.random.default_rng(1).permutation(5000)
    assert set(keys[order][kept_rows(reward[order], keys[order], 0.1, 7)].tolist()) == kept
    part = order[:1000]
    alone = set(part[kept_rows(reward[part], part, 0.1, 7)].tolist())
    assert alone == kept & set(part.tolist())
    assert set(keys[kept_rows(reward, keys.astype("int32"), 0.1, 7)].tolist()) == kept


@pytest.mark.parametrize("rate", RATES)
def test_zero_rows_are_kept_binomially_and_all_others_are_kept(rate):
    reward = log(200_000)
    kept = kept_rows(reward, np.arange(len(reward)), rate, 3)
    assert kept[reward != 0].all()
    zero = int((reward == 0).sum())
    assert stats.binomtest(int(kept[reward == 0].sum()), zero, rate).pvalue > 1e-3


def test_the_number_kept_varies_over_seeds_as_a_binomial_does():
    reward, keys = np.zeros(1000), np.arange(1000)
    counts = np.array([kept_rows(reward, keys, 0.1, seed).sum() for seed in range(600)])
    assert abs(counts.mean() - 100) < 4 * np.sqrt(90 / 600)
    assert 0.8 < counts.var() / 90 < 1.25


def test_samples_at_different_rates_are_nested():
    reward, keys = log(20_000), np.arange(20_000) + 10**12
    kept = [kept_rows(reward, keys, rate, 11) for rate in RATES]
    for more, fewer in zip(kept[:-1], kept[1:], strict=True):
        assert not (fewer & ~more).any()
    assert kept[0].all()


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(100_000),
        np.arange(100_000) * 1024 + 2**61,
        -np.arange(1, 100_001),
        np.arange(100_000, dtype=np.uint64) + np.uint64(2**63),
    ],
    ids=["sequential", "large", "negative", "unsigned"],
)
def test_draws_are_uniform_and_neighbours_unrelated(keys):
    u = row_uniforms(keys, 5)
    assert ((u >= 0) & (u < 1)).all()
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 4 / np.sqrt(len(u))
    assert len(np.unique(u)) == len(u)


@pytest.mark.parametrize("other", [1, 2**32, 2**64, -1])
def test_seeds_give_unrelated_draws(other):
    keys = np.arange(100_000)
    first, second = row_uniforms(keys, 0), row_uniforms(keys, other)
    assert abs(np.corrcoef(first, second)[0, 1]) < 4 / np.sqrt(len(keys))
    # A shift of the keys does not turn one seed into the other.
    assert np.isin(first, second).mean() < 1e-3


def test_rates_may_differ_by_row_and_be_missing_where_the_reward_is_not_zero():
    reward = np.array([0.0, 1.0, 0.0, 2.0])
    rate = np.array([1.0, np.nan, 0.25, np.nan])
    kept = kept_rows(reward, np.arange(4), rate, 0)
    assert kept[[0, 1, 3]].all()
    np.testing.assert_array_equal(keep_weights(reward, rate), [1, 1, 4, 1])
    np.testing.assert_array_equal(keep_weights(reward, 0.1), [10, 1, 10, 1])


def test_weights_restore_the_number_of_rows():
    reward, keys = log(10_000), np.arange(10_000)
    rate = np.where(keys % 2 == 0, 0.5, 0.1)
    totals = []
    for seed in range(200):
        kept = kept_rows(reward, keys, rate, seed)
        totals.append(keep_weights(reward[kept], rate[kept]).sum())
    error = np.std(totals, ddof=1) / np.sqrt(len(totals))
    assert abs(np.mean(totals) - 10_000) < 4 * error


@pytest.mark.parametrize("share, nonzero, zero", [(0.5, 10, 990), (0.2, 30, 1000), (0.9, 5, 50)])
def test_rate_for_share_gives_the_share(share, nonzero, zero):
    rate = rate_for_share(share, nonzero, zero)
    assert nonzero / (nonzero + rate * zero) == pytest.approx(share, rel=1e-12)


def test_rate_for_share_never_exceeds_one():
    assert rate_for_share(0.5, 900, 100) == 1.0
    assert rate_for_share(0.5, 900, 0) == 1.0


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, np.nan, np.inf])
@pytest.mark.parametrize("by_row", [False, True])
def test_rates_out_of_range_are_refused_in_one_sentence(rate, by_row):
    reward = np.array([1.0, 0.0, 0.0])
    given = np.array([np.nan, 0.5, rate]) if by_row else rate
    with pytest.raises(CounterweightError, match="rate") as refusal:
        kept_rows(reward, np.arange(3), given, 0)
    if by_row:
        assert "row 2" in str(refusal.value) and str(refusal.value).startswith(("1 of 3", "The"))
    with pytest.raises(CounterweightError, match="rate"):
        keep_weights(reward, given)


def test_missing_rewards_text_keys_and_wrong_lengths_are_refused():
    with pytest.raises(CounterweightError, match="missing in 1 of 2 rows .first: row 1"):
        kept_rows(np.array([0, np.nan]), np.arange(2), 0.5, 0)
    with pytest.raises(CounterweightError, match="whole numbers"):
        row_uniforms(np.array([0.5]), 0)
    with pytest.raises(CounterweightError, match="3 row keys"):
        kept_rows(np.zeros(2), np.arange(3), 0.5, 0)
    with pytest.raises(CounterweightError, match="3 keep rates"):
        kept_rows(np.zeros(2), np.arange(2), np.full(3, 0.5), 0)
    with pytest.raises(CounterweightError, match="share of non-zero"):
        rate_for_share(1.0, 1, 1)
    with pytest.raises(CounterweightError, match="reward 0"):
        rate_for_share(0.5, 0, 10)


@pytest.mark.parametrize("reward", [["a", "b"], [0, None]])
def test_rewards_that_are_no_numbers_are_refused(reward):
    with pytest.raises(CounterweightError, match="Rewards must be numbers"):
        keep_weights(reward, 0.5)
    with pytest.raises(CounterweightError, match="Rewards must be numbers"):
        kept_rows(reward, [0, 1], 0.5, 1)
