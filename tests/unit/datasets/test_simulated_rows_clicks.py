"""The generated log: its columns, and values that are true."""

import hashlib
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from counterweight.datasets.simulated_rows import (
    ACTIONS,
    LAYOUT,
    LoggedClicks,
    mean_reward_of_a_click,
    policy_tables,
)
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared
from stage_jobs import run_script

POLICIES = ("stochastic", "deterministic")


@pytest.fixture(scope="module")
def drawn():
    return LoggedClicks.simulate(1_000_000, np.random.default_rng(7))


@pytest.fixture(scope="module")
def tables():
    return policy_tables()


def values():
    return LoggedClicks.known_values().set_index("policy")["value"]


def context(frame, tables):
    """Number of each row's context in the tables."""
    number = {
        key: k
        for k, key in enumerate(
            zip(tables["device"], tables["daypart"], tables["segment"], strict=True)
        )
    }
    keys = frame[["device", "daypart", "segment"]].drop_duplicates()
    code = frame["device"] * 100 + frame["daypart"] * 10 + frame["segment"]
    codes = keys["device"] * 100 + keys["daypart"] * 10 + keys["segment"]
    names = [number[tuple(row)] for row in keys.to_numpy().tolist()]
    return code.map(dict(zip(codes, names, strict=True))).to_numpy()


def test_probabilities_sum_to_one_over_actions(tables):
    assert abs(tables["share"].sum() - 1) < 1e-12
    for policy in ("logging", *POLICIES):
        assert tables[policy].shape == (60, ACTIONS)
        np.testing.assert_allclose(tables[policy].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert tables["logging"].min() >= 0.02
    assert 0.5 < tables["logging"].max() <= 0.55
    assert set(np.unique(tables["deterministic"])) == {0.0, 1.0}


def test_columns_are_those_of_the_tables(drawn, tables):
    frame, truth = drawn
    assert list(frame) == [name for name, _ in LAYOUT]
    assert list(truth) == ["policy", "value", "standard_error", "rows"]
    assert frame["row"].tolist() == list(range(len(frame)))
    x, action = context(frame, tables), frame["action"]
    np.testing.assert_array_equal(frame["propensity"], tables["logging"][x, action])
    for policy in POLICIES:
        np.testing.assert_array_equal(frame[policy], tables[policy][x, action])
    own = frame["deterministic_action"] == frame["action"]
    np.testing.assert_array_equal(frame["deterministic"], own)
    assert ((frame["reward"] > 0) == (frame["click"] == 1)).all()
    assert frame["reward"].between(0, 1).all()
    assert frame["click"].mean() == pytest.approx(0.011, abs=0.001)


def test_actions_follow_their_policies(drawn, tables):
    """Counts of the actions by context agree with the tables: chi-square within 5 sd."""
    frame, _ = drawn
    x = context(frame, tables)
    sizes = np.bincount(x, minlength=60)
    assert abs(
        ((sizes - len(frame) * tables["share"]) ** 2 / tables["share"]).sum() / len(frame) - 59
    ) < 5 * np.sqrt(2 * 59)
    for column, policy in (("action", "logging"), ("stochastic_action", "stochastic")):
        found = np.bincount(x * ACTIONS + frame[column], minlength=600).reshape(60, ACTIONS)
        wanted = sizes[:, None] * tables[policy]
        freedom = 60 * (ACTIONS - 1)
        assert abs(((found - wanted) ** 2 / wanted).sum() - freedom) < 5 * np.sqrt(2 * freedom)


def test_exact_values_are_those_of_playing_the_policies(drawn, tables):
    """Monte Carlo with the policy itself instead of the logging policy."""
    rng = np.random.default_rng(3)
    n = 400_000
    for policy in (*POLICIES, "logging"):
        x = rng.choice(60, n, p=tables["share"])
        action = np.array([0] * n)
        for cell in range(60):
            mine = x == cell
            action[mine] = rng.choice(ACTIONS, mine.sum(), p=tables[policy][cell])
        click = rng.random(n) < tables["click"][x, action]
        worth = np.where(rng.random(n) < 0.7, 1.0, 1.0 - rng.random(n))
        reward = click * worth
        assert abs(reward.mean() - values()[policy]) < 4 * reward.std() / np.sqrt(n)
    frame, _ = drawn
    spread = frame["reward"].std() / np.sqrt(len(frame))
    assert abs(frame["reward"].mean() - values()["logging"]) < 4 * spread


def test_value_of_the_best_action_is_the_largest(tables):
    best = (tables["share"] * tables["click"].max(axis=1)).sum() * mean_reward_of_a_click()
    assert values()["deterministic"] == pytest.approx(best, rel=1e-12)
    assert values()["deterministic"] > values().drop("deterministic").max()


@pytest.mark.parametrize("policy", POLICIES)
def test_importance_weighted_rewards_estimate_the_value(drawn, policy):
    frame, _ = drawn
    terms = frame[policy] / frame["propensity"] * frame["reward"]
    assert abs(terms.mean() - values()[policy]) < 4 * terms.std() / np.sqrt(len(frame))
    weight = frame[policy] / frame["propensity"]
    assert abs(weight.mean() - 1) < 4 * weight.std() / np.sqrt(len(frame))


def test_batches_are_the_whole_and_do_not_overlap():
    whole, _ = LoggedClicks.simulate(300_000, np.random.default_rng(1))
    parts = list(LoggedClicks.simulate_batches(300_000, np.random.default_rng(1)))
    assert [len(part) for part in parts] == [1 << 17, 1 << 17, 300_000 - (1 << 18)]
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)
    assert not parts[0]["propensity"].equals(parts[1]["propensity"])
    small = list(LoggedClicks.simulate_batches(10, np.random.default_rng(1), size=4))
    assert [len(part) for part in small] == [4, 4, 2]


@pytest.mark.parametrize("rows", [0, -1, 2**31])
def test_number_of_rows_that_cannot_be_is_told(rows):
    with pytest.raises(CounterweightError, match="choose a number from 1 to"):
        next(LoggedClicks.simulate_batches(rows, np.random.default_rng(1)))


def simulate(folder, rows, seed):
    output = SimpleNamespace(table=folder / "t.parquet", truth=folder / "truth.parquet")
    run_script(
        "prepare",
        "datasets.sources:simulate",
        {"dataset": "logged_clicks", "rows": rows, "seed": seed},
        {},
        vars(output),
        folder / "log",
        uses=[("dataset", "logged_clicks")],
    )
    return output


def test_script_streams_the_same_bytes_for_the_same_seed(tmp_path):
    def digest(name, rows, seed):
        output = simulate(tmp_path / name, rows, seed)
        assert pq.read_metadata(output.table).num_rows == rows
        assert len(pd.read_parquet(output.truth)) == 3
        return hashlib.sha256(Path(output.table).read_bytes()).hexdigest()

    assert digest("a", 200_000, 1) == digest("b", 200_000, 1)
    assert digest("a", 200_000, 2) != digest("b", 200_000, 1)


def test_memory_of_the_script_does_not_grow_with_the_rows(tmp_path):
    """numpy's peak; what Arrow holds at a time is one row group."""

    def peak(rows):
        tracemalloc.start()
        simulate(tmp_path, rows, 1)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(1_500_000) < 1.1 * peak(300_000)


def test_it_is_declared_as_simulated():
    assert declared("dataset", "logged_clicks", "SIMULATED", False) is True
    assert declared("dataset", "logged_clicks", "ROWS") == 1_000_000
