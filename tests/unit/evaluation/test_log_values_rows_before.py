"""A log whose number of rows before any was dropped is known."""

import math

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.log_values import log_values
from own_logs import ENTRY, a_log, run_study


def frequent(seed, rate, rows=2_000, users=False):
    """A batch of a log in which most rows have a reward, and a part of the others is left."""
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(rows // 10), 10)
    logged, mine = rng.uniform(0.2, 0.8, (2, rows))
    liked = np.log(9) + (rng.normal(0, 1.0, rows // 10)[user] if users else 0.0)
    reward = (rng.random(rows) < 1 / (1 + np.exp(-liked))).astype(float)
    batch = {"reward": reward, "propensity": logged, "keep_rate": np.full(rows, rate)}
    batch |= {"weight": np.ones(rows), "cluster": user, "p": np.stack([mine, 1 - mine], axis=1)}
    kept = (reward == 1) | (rng.random(rows) < rate)
    return reward.mean(), {name: values[kept] for name, values in batch.items()}


@pytest.mark.parametrize("users", [False, True])
def test_rows_before_narrow_intervals_of_frequent_rewards(users):
    share, batch = frequent(1, 0.5, users=users)
    options = {"clusters": 200 if users else 0, "reward_range": (0, 1)}
    lost, known = (
        log_values(lambda: [batch], ["a", "b"], rows_before=rows, **options) for rows in (0, 2_000)
    )
    assert known.logged.value == pytest.approx(share, rel=1e-12)
    if not users:
        alone = math.sqrt(share * (1 - share) / 1_999)
        assert known.logged.standard_error == pytest.approx(alone, rel=1e-9)
        some = {name: values[batch["reward"] == 1] for name, values in batch.items()}
        gone = log_values(lambda: [some], ["a", "b"], rows_before=2_000, **options)
        assert gone.logged.standard_error == pytest.approx(alone, rel=1e-9)
    pairs = [(known.logged, lost.logged)]
    pairs += [(known.values["a", name], lost.values["a", name]) for name in ("ips", "snips")]
    for one, other in pairs:
        assert one.standard_error < 0.95 * other.standard_error
        assert one.high - one.low < 0.95 * (other.high - other.low)
    # All zeros that were kept stand for those that there were, so all estimates go together.
    weight, reward = batch["p"][:, 0] / batch["propensity"], batch["reward"]
    zeros = 2_000 - reward.sum()
    total = weight @ reward + zeros * weight[reward == 0].mean()
    assert known.values["a", "snips"].value == pytest.approx(weight @ reward / total, rel=1e-12)
    for name in ("ips", "snips"):
        gain, before = (one.differences["a", "", name] for one in (known, lost))
        apart = known.values["a", name].value - known.logged.value
        assert gain.value == pytest.approx(apart, abs=1e-12)
        assert gain.standard_error < 1.02 * before.standard_error


@pytest.mark.parametrize("users", [False, True])
def test_errors_by_rows_before_are_what_estimates_do(users):
    """Standard deviation over 150 logs of a tenth of the zeros, and the mean of the errors."""
    told = []
    for seed in range(150):
        _, batch = frequent(seed, 0.1, users=users)
        options = {"clusters": 200 if users else 0, "reward_range": (0, 1)}
        known = log_values(lambda: [batch], ["a", "b"], rows_before=2_000, **options)  # noqa: B023
        ones = (known.logged, known.values["a", "ips"], known.differences["a", "", "ips"])
        told.append([(one.value, one.standard_error) for one in ones])
    values, errors = np.moveaxis(np.array(told), 2, 0)
    # The deviation over 150 logs is known to 6 %.
    assert errors.mean(axis=0) / values.std(axis=0, ddof=1) == pytest.approx(np.ones(3), abs=0.18)


def test_moments_of_known_rows_are_those_of_the_rows_read_twice(monkeypatch):
    _, batch = frequent(2, 0.5)
    told = []
    for most in (24, 0):
        monkeypatch.setattr("counterweight.numerics.log_sums.MOST_COLUMNS", most)
        told.append(log_values(lambda: [batch], ["a", "b"], rows_before=2_000))
    for key, one in told[0].values.items():
        other = told[1].values[key]
        assert (one.low, one.high) == pytest.approx((other.low, other.high), rel=1e-9)


def test_beside_a_weight_rows_before_are_checked_and_not_divided_by(tmp_path):
    frame = a_log(20_000, np.random.default_rng(21), keep_rate=0.1).assign(times=3.0)
    entry = ENTRY | {"keep_rate": 0.1, "weight": "times"}
    plain, told = (
        run_study(tmp_path / str(len(more)), frame, entry | more)[1]["values"]
        for more in ({}, {"rows_before": 20_000})
    )
    pd.testing.assert_frame_equal(plain, told)
    ones = frame[frame["clicked"] == 1].reset_index(drop=True)
    with pytest.raises(CounterweightError, match="not what they weighed"):
        run_study(tmp_path / "no", ones, entry | {"rows_before": 20_000})
