"""Values of policies against the formulas of the Open Bandit Pipeline, written out row by row.

Saito, Aihara, Matsutani & Narita (2021), Open Bandit Dataset and Pipeline: the estimators IPW,
SNIPW, DR, IPW with clipped weights, Switch and the shrinkage of Su et al. (2020).
"""

import numpy as np
import pytest
from counterweight.evaluation.log_values import Ratio, carriers, log_values
from counterweight.evaluation.policy_value import PolicyValue

ROWS = 3_000


@pytest.fixture(scope="module")
def log():
    """A log of three actions, a policy, and a reward model fitted elsewhere."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=ROWS)
    logging = np.exp(np.outer(x, [0.5, 0.0, -0.5]))
    logging /= logging.sum(axis=1, keepdims=True)
    policy = np.exp(np.outer(x, [-1.0, 0.5, 1.0]))
    policy /= policy.sum(axis=1, keepdims=True)
    action = (rng.random(ROWS)[:, None] > logging.cumsum(axis=1)).sum(axis=1)
    model = 0.2 + 0.1 * np.tanh(np.outer(x, [1, 0, -1]))
    own = np.arange(ROWS), action
    reward = (rng.random(ROWS) < model[own] + 0.05).astype(float)
    return {
        "reward": reward,
        "propensity": logging[own],
        "target": policy[own],
        "q": model[own],
        "v": (policy * model).sum(axis=1),
    }


def test_plain_normalised_and_doubly_robust(log):
    weight = log["target"] / log["propensity"]
    ours = PolicyValue()
    ours.update(**log)
    rows = {
        "ips": log["reward"] * weight,
        "snips": log["reward"] * weight / weight.mean(),
        "dr": weight * (log["reward"] - log["q"]) + log["v"],
    }
    for name, by_row in rows.items():
        estimate = getattr(ours, name)()
        assert estimate.value == pytest.approx(by_row.mean(), rel=1e-12)
        if name != "snips":  # whose weights' mean is an estimate, too
            error = by_row.std(ddof=1) / np.sqrt(ROWS)
            assert estimate.standard_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize("limit", ["clip", "switch", "shrink"])
def test_limited_weights(log, limit):
    weight, at = log["target"] / log["propensity"], 1.5
    limited = {
        "clip": np.minimum(weight, at),
        "switch": weight * (weight <= at),
        "shrink": at * weight / (weight**2 + at),
    }[limit]
    ones = np.ones(ROWS)
    batch = {name: log[name] for name in ("reward", "propensity")}
    batch |= {"keep_rate": ones, "weight": ones, "p": log["target"][:, None]}
    known = log_values(lambda: [batch], ["new"], limit=limit, limit_at=at)
    by_row = limited * log["reward"]
    assert known.values["new", "limited"].value == pytest.approx(by_row.mean(), rel=1e-12)
    assert known.lost["new"].value == pytest.approx((weight - limited).mean(), rel=1e-9)


def test_zeros_kept_at_a_rate_are_the_whole_log_in_the_mean(log):
    """Over draws of which zeros are kept, each sum is that of the whole log."""
    rng, rate, found = np.random.default_rng(1), 0.2, []
    for _ in range(300):
        kept = (log["reward"] > 0) | (rng.random(ROWS) < rate)
        ours = PolicyValue(("ips", "dr"))
        ours.update(**{name: values[kept] for name, values in log.items()}, keep_rate=rate)
        found.append([ours.ips(ROWS).value, ours.dr().value])
    whole = PolicyValue()
    whole.update(**log)
    assert np.mean(found, axis=0) == pytest.approx([whole.ips().value, whole.dr().value], rel=0.01)


@pytest.mark.parametrize("users", [2, 3, 6])
def test_intervals_of_few_users_hold_what_other_users_would_have_earned(users):
    """Users that differ: rows of one come together, so users are counted, not rows or rewards."""
    rng, held, supports = np.random.default_rng(users), [], set()
    for _ in range(300):
        user = np.arange(300) % users
        reward = (rng.random(300) < np.clip(0.3 + 0.1 * rng.normal(size=users), 0, 1)[user]) * 1.0
        batch = {
            "reward": reward,
            "propensity": np.full(300, 0.5),
            "keep_rate": np.ones(300),
            "weight": np.ones(300),
            "cluster": user,
            "p": np.full((300, 1), 0.5),
        }
        known = log_values(lambda batch=batch: [batch], ["same"], clusters=64)
        found = known.values["same", "snips"], known.logged
        held.append([one.low <= 0.3 <= one.high for one in found])
        supports.add(known.support["same", "snips"].flag)
        assert known.clusters == users
    assert 0.91 <= np.mean(held) <= 0.99
    assert supports == {"thin"}


def test_no_interval_of_a_gain_leaves_what_bounded_rewards_allow():
    """One propensity of 1e-9, of a row that the policy would be in, and met a reward."""
    rng = np.random.default_rng(5)
    batch = {
        "reward": (rng.random(400) < 0.3) * 1.0,
        "propensity": np.r_[1e-9, np.full(399, 0.5)],
        "keep_rate": np.ones(400),
        "weight": np.ones(400),
        "p": np.column_stack([np.full(400, 0.5), np.full(400, 0.4)]),
    }
    batch["reward"][0] = 1.0
    for anytime in (0, 100):
        known = log_values(
            lambda: [batch], ["a", "b"], reward_range=(0.0, 1.0), limit="clip", anytime=anytime
        )
        for (*_, estimator), one in known.differences.items():
            assert one.low <= one.value <= one.high, estimator
            assert min(-1, one.value) <= one.low and one.high <= max(1, one.value)
        lifts = known.lifts.values()
        assert all(-1 <= one.low <= one.value <= one.high for one in lifts)
        assert min(one.low for one in known.lifts.values()) == -1


def test_thin_support_says_users_where_rows_are_of_users():
    assert [carriers(users) for users in (0, 3, 400)] == ["rows", "users", "rows or users"]


@pytest.mark.parametrize("clusters", [0, 900])
def test_the_logs_own_policy_gains_exactly_nothing(clusters):
    """Sums of the same rewards are rounded in other ways."""
    rng = np.random.default_rng(0)
    own = rng.dirichlet(np.ones(3), 3_001)[:, 0]
    batch = {"reward": (rng.random(3_001) < 0.3) * rng.lognormal(0, 1, 3_001), "propensity": own}
    batch |= {name: np.ones(3_001) for name in ("keep_rate", "weight")}
    batch |= {"cluster": np.arange(3_001) // 4, "p": np.stack([own, np.full(3_001, 0.3)], axis=1)}
    known = log_values(lambda: [batch], ["same", "other"], clusters=clusters)
    for name in known.estimators:
        for told in (known.differences["same", "", name], known.lifts["same", name]):
            assert told == Ratio(0.0, 0.0, 0.0, 0.0)
        assert known.support["same", name].flag == "good"
        assert known.differences["other", "", name].standard_error > 0
