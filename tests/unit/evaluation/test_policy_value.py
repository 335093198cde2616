"""Policy value from logs: exactness, formulas, identities, bias, coverage, bad input."""

import itertools
import math
import os
from pathlib import Path

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.policy_value import (
    PolicyValue,
    doubly_robust,
    ips,
    snips,
    value_from_parquet,
)
from counterweight.numerics.estimate import ratio_mean
from counterweight.numerics.zero_rejection import keep_weights, kept_rows
from counterweight.tables import parquet
from scipy import stats
from scipy.special import expit

SLOPES = np.array([-0.6, -0.2, 0.2, 0.6])


def population(rng, n, rate=0.05, deterministic=False):
    """Contexts with their probabilities and mean rewards of four actions, and the value."""
    x = rng.normal(size=n)
    logging = np.exp(np.outer(x, SLOPES) + [0.5, 0, 0, -0.5])
    logging /= logging.sum(axis=1, keepdims=True)
    target = np.exp(np.outer(x, -SLOPES) + [0, 0.5, 0, 0])
    if deterministic:
        target = (target == target.max(axis=1, keepdims=True)).astype(float)
    target /= target.sum(axis=1, keepdims=True)
    reward = np.minimum(rate * np.exp(0.3 * x[:, None] + [-0.3, 0, 0.2, 0.4]), 1)
    means = (target * reward).sum(axis=1)
    return logging, logging.cumsum(axis=1), target, reward, means


def drawn(contexts, where, rng):
    """Logged rows in the given contexts: reward, propensity, target and a wrong model's q, v."""
    logging, cumulated, target, reward, means = contexts
    action = (cumulated[where, :3] < rng.random(len(where))[:, None]).sum(axis=1)
    chance = reward[where, action]
    return {
        "reward": (rng.random(len(where)) < chance).astype(float),
        "propensity": logging[where, action],
        "target": target[where, action],
        "q": 0.7 * chance + 0.02,
        "v": 0.7 * means[where] + 0.02,
    }


def log(rng, n, rate=0.05, deterministic=False):
    """Logged rows of new contexts."""
    return drawn(population(rng, n, rate, deterministic), np.arange(n), rng)


def some(rows, where):
    return {name: values[where] for name, values in rows.items()}


def weights(rows):
    return rows["target"] / rows["propensity"]


def close(estimate, other, rtol=1e-9):
    for name in ("value", "standard_error", "low", "high"):
        np.testing.assert_allclose(
            getattr(estimate, name), getattr(other, name), rtol, err_msg=name
        )


@pytest.mark.parametrize("seed", range(20))
def test_dropping_zero_rows_changes_the_ips_value_by_exactly_zero(seed):
    rng = np.random.default_rng(seed)
    rows = log(rng, int(rng.integers(50, 5000)), rng.choice([0.02, 0.3]))
    rows["reward"] *= rng.normal(size=len(rows["reward"]))
    n = len(rows["reward"])
    whole, few = PolicyValue(), PolicyValue(("ips",))
    for part in np.array_split(np.arange(n), 7):
        whole.update(**some(rows, part))
    few.update(**some(rows, rows["reward"] != 0))
    assert few.ips(n).value - whole.ips().value == 0.0
    for name in ("standard_error", "effective_rows", "largest_weight"):
        one, other = getattr(few.ips(n), name), getattr(whole.ips(), name)
        assert one == pytest.approx(other, rel=1e-12)
    # Where few rewards or few weights carry it, its interval asks for the weights of all rows.
    heavy = whole._of_heavy(whole.ips().value, False, None)
    if not few._sums.few(0) and not whole._sums.few(0) and heavy is None:
        close(few.ips(n), whole.ips(), 1e-12)
    elif heavy and not whole._sums.few(0):
        assert whole.ips().low == min(heavy[0], whole.ips().value)


def test_details_of_zero_rows_change_the_ips_value_by_exactly_zero():
    rng = np.random.default_rng(0)
    rows = log(rng, 3000)
    zero = rows["reward"] == 0
    altered = dict(rows)
    altered["propensity"] = np.where(zero, rng.uniform(0.01, 1, 3000), rows["propensity"])
    altered["target"] = np.where(zero, rng.uniform(0, 1, 3000), rows["target"])
    first, second = (PolicyValue(("ips",)).update(**part).ips() for part in (rows, altered))
    assert first == second


def test_batches_and_order_change_nothing():
    rng = np.random.default_rng(1)
    rows = log(rng, 4000)
    rows["reward"] *= np.exp(rng.normal(size=4000))
    rows["keep_rate"] = rng.choice([0.1, 0.5, 1.0], 4000)
    whole = PolicyValue().update(**rows)
    for size in (1, 37, 1000):
        other = PolicyValue()
        order = rng.permutation(4000) if size > 1 else np.arange(4000)
        for start in range(0, 4000, size):
            other.update(**some(rows, order[start : start + size]))
        assert other.ips(10_000).value == whole.ips(10_000).value
        # The doubly robust terms cancel in part, which costs a digit.
        for name, digits in (("ips_lost", 1e-15), ("snips", 1e-15), ("dr", 1e-14)):
            found, expected = getattr(other, name)(), getattr(whole, name)()
            assert found.value == pytest.approx(expected.value, rel=digits, abs=0)
            close(found, expected, 1e-9)


@pytest.mark.parametrize("users", [False, True])
def test_a_merged_log_is_one_log(users):
    rng = np.random.default_rng(11)
    n = 2_000
    rows = {
        "reward": rng.random(n) < 0.05,
        "propensity": rng.uniform(0.1, 0.9, n),
        "target": rng.random(n),
        "q": rng.random(n),
        "v": rng.random(n),
    }
    rows |= {"cluster": np.arange(n) // 3} if users else {}
    some, rate = rows["reward"] != 0, np.where(np.arange(n) < 900, 0.5, 0.25)
    logs = [PolicyValue(clusters=1_000 * users) for _ in range(4)]
    one, rewarded, zeros, empty = logs
    one.update(**rows, keep_rate=rate)
    for log, which in ((rewarded, some), (zeros, ~some)):
        part = {name: values[which] for name, values in rows.items()}
        log.update(**part, keep_rate=rate[which])
    for merged in (zeros.merge(rewarded), empty.merge(zeros)):
        assert (merged.rows, merged.nonzero, merged.subsampled) == (n, some.sum(), True)
        for name, count in (("ips", 9_000), ("ips_lost", None), ("snips", None), ("dr", None)):
            given = () if name == "ips_lost" else (count,)
            mine, theirs = getattr(merged, name)(*given), getattr(one, name)(*given)
            for field in ("value", "standard_error", "low", "high", "effective_rows"):
                assert getattr(mine, field) == pytest.approx(getattr(theirs, field), rel=1e-11)


@pytest.mark.parametrize("rate", [None, 0.1, "by row"])
def test_every_estimator_is_its_formula(rate):
    rng = np.random.default_rng(3)
    rows = log(rng, 3000)
    if rate == "by row":
        rate = np.where(rows["reward"] == 0, rng.choice([0.1, 0.4, 1.0], 3000), np.nan)
    found = PolicyValue().update(**rows, keep_rate=rate)
    r, w = rows["reward"], weights(rows)
    k = keep_weights(r, 1.0 if rate is None else rate)
    robust = rows["v"] + w * (r - rows["q"])
    assert found.ips(5000).value == pytest.approx((r * w).sum() / 5000, rel=1e-13)
    close(found.ips_lost(), ratio_mean(r * w, k))
    close(found.snips(), ratio_mean(r, k * w))
    close(found.dr(), ratio_mean(robust, k))
    assert found.snips().effective_rows == pytest.approx((k * w).sum() ** 2 / ((k * w) ** 2).sum())
    assert found.snips().largest_weight == pytest.approx((k * w).max(), rel=1e-14)
    assert found.ips(5000).largest_weight == pytest.approx(w[r != 0].max(), rel=1e-14)
    if rate is None:
        close(found.ips(), ratio_mean(r * w))
        error = np.std(r * w, ddof=1) / np.sqrt(3000)
        assert found.ips().standard_error == pytest.approx(error, rel=1e-12)


def test_moments_keep_their_digits_when_rewards_are_large_and_alike():
    rng = np.random.default_rng(4)
    n = 5000
    reward = 1e6 + rng.gamma(0.5, size=n)
    propensity = np.full(n, 0.5)
    found = PolicyValue(("ips", "snips"))
    for part in np.array_split(np.arange(n), 5):
        found.update(reward[part], propensity[part], propensity[part])
    close(found.ips(), ratio_mean(reward), 1e-6)
    assert found.ips().standard_error == pytest.approx(
        np.std(reward, ddof=1) / np.sqrt(n), rel=1e-6
    )
    close(found.snips(), found.ips(), 1e-6)


def test_functions_on_arrays_are_those_of_the_stream():
    rows = log(np.random.default_rng(5), 1000)
    three = rows["reward"], rows["propensity"], rows["target"]
    names = ("ips", "ips_lost", "snips")
    found = PolicyValue(names).update(*three)
    assert ips(*three) == found.ips()
    assert snips(*three) == PolicyValue(("snips",)).update(*three).snips()
    assert doubly_robust(*three, rows["q"], rows["v"]) == PolicyValue().update(**rows).dr()
    half = PolicyValue(names).update(*three, keep_rate=0.5)
    assert ips(*three, keep_rate=0.5) == half.ips_lost()
    assert ips(*three, keep_rate=0.5, rows=2000).value == found.ips(2000).value


def test_doubly_robust_without_a_model_is_ips():
    rows = log(np.random.default_rng(6), 2000)
    rows["q"] = rows["v"] = np.zeros(2000)
    found = PolicyValue().update(**rows)
    close(found.dr(), found.ips(), 1e-12)


def test_over_all_rejections_the_weighted_sums_are_those_of_the_full_log():
    """E[sum k f] = sum f, for the number of rows and for any f, at rates that differ by row."""
    rng = np.random.default_rng(7)
    reward = np.array([0, 1.0, 0, 0, 2.0, 0, 0, 0])
    propensity, target = rng.uniform(0.1, 0.9, 8), rng.uniform(0, 1, 8)
    rate = np.where(reward == 0, rng.uniform(0.1, 0.9, 8), np.nan)
    zero = np.flatnonzero(reward == 0)
    mean = dict.fromkeys(("rows", "reward", "importance"), 0.0)
    numerator = 0.0
    for chosen in itertools.product((False, True), repeat=len(zero)):
        kept = reward != 0
        kept[zero] = chosen
        chance = np.prod(np.where(chosen, rate[zero], 1 - rate[zero]))
        part = PolicyValue().update(
            reward[kept], propensity[kept], target[kept], keep_rate=rate[kept]
        )
        for name, value in part.totals().items():
            mean[name] += chance * value
        numerator += chance * part.ips_lost().value * part.totals()["rows"]
    assert mean["rows"] == pytest.approx(8, rel=1e-12)
    assert mean["reward"] == pytest.approx(3, rel=1e-12)
    assert mean["importance"] == pytest.approx((target / propensity).sum(), rel=1e-12)
    assert numerator == pytest.approx((reward * target / propensity).sum(), rel=1e-12)


def test_the_bias_of_the_ratio_estimator_falls_like_one_over_n():
    rng = np.random.default_rng(8)
    rate, scaled = 0.1, {}
    for n in (200, 400, 800, 1600):
        nonzero = n // 20
        reward = np.r_[np.ones(nonzero), np.zeros(n - nonzero)]
        kept = np.arange(n - nonzero + 1)
        chance = stats.binom.pmf(kept, n - nonzero, rate)
        exact = (chance * n / (nonzero + kept / rate)).sum() - 1
        scaled[n] = n * exact
        gaps = []
        for _ in range(300):
            rows = nonzero + rng.binomial(n - nonzero, rate)
            half = np.full(rows, 0.5)
            gaps.append(ips(reward[:rows], half, half, keep_rate=rate).value / 0.05 - 1)
        assert abs(np.mean(gaps) - exact) < 4 * np.std(gaps) / np.sqrt(len(gaps))
    limit = 0.95 * (1 - rate) / rate
    assert all(abs(value / limit - 1) < 25 / n for n, value in scaled.items())
    assert abs(scaled[1600] / limit - 1) < abs(scaled[200] / limit - 1) / 4


@pytest.mark.parametrize(
    "n, rate, deterministic",
    [(8000, 0.1, False), (20_000, 0.01, False), (15_000, 0.1, True)],
    ids=["short", "rare", "deterministic"],
)
def test_intervals_cover_the_value_in_93_to_97_percent_of_1000_logs(n, rate, deterministic):
    contexts = population(np.random.default_rng(0), 50_000, rate, deterministic)
    truth = contexts[-1].mean()
    held, errors = {}, {}
    for seed in range(1000):
        rng = np.random.default_rng([seed, n])
        rows = drawn(contexts, rng.integers(50_000, size=n), rng)
        for keep in (1.0, 0.1, 0.01):
            kept = kept_rows(rows["reward"], np.arange(n), keep, seed)
            found = PolicyValue().update(**some(rows, kept), keep_rate=keep)
            for name in ("ips", "ips_lost", "snips", "dr"):
                estimate = found.ips(n) if name == "ips" else getattr(found, name)()
                held.setdefault((name, keep), []).append(estimate.low <= truth <= estimate.high)
                errors.setdefault((name, keep), []).append(estimate.value - truth)
    shares = {key: float(np.mean(values)) for key, values in held.items()}
    assert {key: share for key, share in shares.items() if not 0.93 <= share <= 0.97} == {}
    # IPS and DR (here with a wrong reward model) are unbiased when no row is lost.
    for name in ("ips", "dr"):
        gaps = np.array(errors[name, 1.0])
        assert abs(gaps.mean()) < 4 * gaps.std() / np.sqrt(len(gaps))


def test_a_parquet_log_gives_what_its_arrays_give(tmp_path):
    rows = log(np.random.default_rng(9), 200_000)
    rows["rate"] = np.full(200_000, 0.5)
    rows["reward"] = rows["reward"].astype("int8")
    rows["other"] = np.zeros(200_000)
    parquet.write_table(tmp_path / "log.parquet", rows)
    for size in (1000, 10**6):
        found = value_from_parquet(
            tmp_path / "log.parquet",
            target="target",
            q="q",
            v="v",
            size=size,
            estimators=("ips", "snips", "dr"),
        )
        three = rows["reward"], rows["propensity"], rows["target"]
        assert found["ips"].value == ips(*three).value
        close(found["snips"], snips(*three))
        close(found["dr"], doubly_robust(*three, rows["q"], rows["v"]))
    found = value_from_parquet(
        tmp_path / "log.parquet", target="target", keep_rate="rate", estimators=["ips_lost"]
    )
    close(found["ips_lost"], ips(*three, keep_rate=0.5))
    dropped = some(rows, rows["reward"] != 0)
    parquet.write_table(tmp_path / "few.parquet", dropped)
    few = value_from_parquet(
        tmp_path / "few.parquet", target="target", rows=200_000, estimators=["ips"]
    )
    assert few["ips"].value == ips(*three).value


def test_actions_outside_the_policys_support_are_counted_and_said():
    rows = log(np.random.default_rng(10), 500, deterministic=True)
    found = PolicyValue().update(**rows)
    never = int((rows["target"] == 0).sum())
    assert 0 < never == found.rows_unsupported
    assert f"{never} of 500 rows" in found.note()
    with pytest.warns(UserWarning, match=f"logged action in {never} of 500 rows"):
        ips(rows["reward"], rows["propensity"], rows["target"])
    assert PolicyValue().update([1.0], [0.5], [0.5]).note() is None


def test_a_log_without_rewards_has_value_zero_and_no_false_certainty():
    zeros, half = np.zeros(100), np.full(100, 0.5)
    found = ips(zeros, half, half, reward_range=(0, 1))
    assert (found.value, found.standard_error, found.low) == (0, 0, 0)
    # The chance of no reward, exp(-100 high), is .025 there.
    assert found.high == pytest.approx(-np.log(0.025) / 100, rel=1e-6)
    assert snips(zeros, half, half, reward_range=(0, 1)).high == pytest.approx(found.high)
    assert math.isnan(ips(zeros, half, half).high)
    assert PolicyValue().ips(100).value == 0


GOOD = {
    "reward": np.array([0, 1.0, 0, 0]),
    "propensity": np.full(4, 0.5),
    "target": np.full(4, 0.25),
}


@pytest.mark.parametrize(
    "column, values, message",
    [
        ("propensity", [0.5, 0, 0.5, -1], "2 of 4 values .* propensity.*above 0.*0 in row 11"),
        ("propensity", [0.5, 0.5, 1.01, 0.5], "1 of 4 .*propensity.*1.01 in row 12"),
        ("propensity", [np.nan, 0.5, 0.5, 0.5], "1 of 4 .*propensity.*row 10"),
        ("target", [0.5, 0.5, 0.5, 1.5], "1 of 4 .*target probability.*between 0 and 1.*row 13"),
        ("target", [0.5, -0.5, np.nan, 0.5], "2 of 4 .*target probability.*row 11"),
        ("reward", [0, 2.0, 0, 0], "1 of 4 .*reward.*range from 0 to 1.*2 in row 11"),
        ("reward", [0, 1.0, np.nan, 0], "1 of 4 .*reward are missing.*row 12"),
        ("reward", [0, np.inf, 0, 0], "1 of 4 .*reward are missing or not finite.*row 11"),
        ("keep_rate", [0.5, np.nan, np.nan, 0.5], "missing in 1 of 4 rows.*row 12"),
        ("keep_rate", [0.5, np.nan, 0, 0.5], "1 of 4 keep rates.*row 12"),
        ("keep_rate", 1.5, "keep rate .* is 1.5"),
        ("q", [0.5, 0.5, np.nan, 0.5], "1 of 4 .*column q.*row 12"),
        ("target", [0.5, 0.5], "column target probability has the shape"),
        ("reward", ["a", "b", "c", "d"], "column reward holds no numbers"),
    ],
)
def test_bad_rows_are_refused_with_column_count_and_first_row(column, values, message):
    rows = GOOD | {"q": np.zeros(4), "v": np.zeros(4)}
    found = PolicyValue(reward_range=(0, 1))
    for _ in range(2):
        found.update(**some(rows, np.arange(4)))
    found.update(**some(rows, np.arange(2)))
    with pytest.raises(CounterweightError, match=message) as refusal:
        found.update(**(rows | {column: values}))
    assert "\n" not in str(refusal.value)


def test_intervals_know_of_heavy_weights_of_which_none_met_a_reward():
    """Of the rarer action some 15 of 1,500 rows have weights of 30 and 70; one log in eight has no
    reward there, and its influences are all small."""
    x = np.random.default_rng(0).normal(size=400_000)
    taken = np.where(x > 0, 0.7, 0.3)
    truth = (taken * expit(x - 1) + (1 - taken) * expit(-1.5 - x)).mean()
    missed = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=1500)
        first = rng.random(1500) < np.where(x > 0, 0.99, 0.01)
        propensity = np.where(first == (x > 0), 0.99, 0.01)
        target = np.where(first == (x > 0), 0.7, 0.3)
        reward = rng.random(1500) < expit(np.where(first, x - 1, -1.5 - x))
        found = ips(reward.astype(float), propensity, target)
        missed.append((found.high < truth, found.low > truth))
    above, below = np.mean(missed, axis=0)
    assert above <= 0.04 and below <= 0.04


def test_what_a_log_cannot_give_is_refused_in_a_sentence():
    full = PolicyValue().update(**GOOD)
    with pytest.raises(CounterweightError, match="log is empty"):
        PolicyValue().ips()
    with pytest.raises(CounterweightError, match="log is empty"):
        PolicyValue().update([], [], []).snips()
    with pytest.raises(CounterweightError, match="had 3 rows, but 4 were seen"):
        full.ips(3)
    for name in ("snips", "dr"):
        log = PolicyValue().update(**GOOD, q=np.zeros(4), v=np.zeros(4))
        with pytest.raises(CounterweightError, match="needs the 6 zero-reward rows"):
            getattr(log, name)(10)
    with pytest.raises(CounterweightError, match="give the number of all rows, or use ips_lost"):
        PolicyValue().update(**GOOD, keep_rate=0.5).ips()
    with pytest.raises(CounterweightError, match="All 4 importance weights are 0"):
        PolicyValue().update(**(GOOD | {"target": np.zeros(4)})).snips()
    with pytest.raises(CounterweightError, match="not summed for dr.*q and v"):
        full.dr()
    with pytest.raises(CounterweightError, match="not summed for snips"):
        PolicyValue(("ips",)).update(**GOOD).snips()
    with pytest.raises(CounterweightError, match="both predictions"):
        PolicyValue().update(**GOOD, q=np.zeros(4))
    with pytest.raises(CounterweightError, match="no value estimator best"):
        PolicyValue(("best",))
    with pytest.raises(CounterweightError, match="least reward first"):
        PolicyValue(reward_range=(1, 0))


@pytest.mark.parametrize("policy", ["bts", "random"])
def test_the_values_of_the_open_bandit_log_are_those_of_its_pipelines_formulas(policy):
    """Inverse propensity score mean(r pi/p) and its self-normalised form, on the real sample."""
    mirror = os.environ.get("COUNTERWEIGHT_MIRROR")
    path = Path(mirror or "", "open_bandit", policy, "men", "men.csv")
    if not mirror or not path.is_file():
        pytest.skip("needs the real file: COUNTERWEIGHT_MIRROR names no folder that has it")
    import pandas as pd

    table = pd.read_csv(path)
    r, p = table["click"].to_numpy(), table["propensity_score"].to_numpy()
    pi = np.random.default_rng(0).dirichlet(np.ones(40))[table["item_id"].to_numpy()]
    assert ips(r, p, pi).value == pytest.approx(np.mean(r * pi / p), rel=1e-12)
    assert snips(r, p, pi).value == pytest.approx((r * pi / p).sum() / (pi / p).sum(), rel=1e-12)
    some_rows = r != 0
    few = ips(r[some_rows], p[some_rows], pi[some_rows], rows=len(r))
    assert few.value - ips(r, p, pi).value == 0.0
