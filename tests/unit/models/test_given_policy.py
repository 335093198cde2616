"""Doubly robust values of a log of one's own: identities, truth, who is in which half."""

import counterweight
import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.log_values import LOGGED, log_values
from counterweight.evaluation.policy_value import doubly_robust
from counterweight.models.given_policy import GivenReward, RegressedReward, halves
from counterweight.tasks.logs import own_study
from own_logs import ENTRY, TRUTH, a_log, run_study


def rows(n=5_000, rate=0.3, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.2, 0.5, 0.8], n)
    target = rng.choice([0.1, 0.6], n)
    reward = np.where(rng.random(n) < 0.3, rng.gamma(2.0, 2.0, n), 0.0)
    kept = (reward > 0) | (rng.random(n) < rate)
    batch = {
        "reward": reward,
        "propensity": p,
        "keep_rate": np.full(n, rate),
        "weight": np.ones(n),
        "cluster": np.full(n, -1),
        "p": np.stack([target, target[::-1]], axis=1),
        "q": rng.gamma(2.0, 0.5, (n, 2)),
        "v": rng.gamma(2.0, 0.5, (n, 2)),
    }
    return {name: values[kept] for name, values in batch.items()}


def told(batch, **options):
    return log_values(lambda: iter([batch]), ["a", "b"], modelled=True, **options)


def test_doubly_robust_is_that_of_arrays():
    batch = rows()
    known = told(batch)
    assert known.estimators == ("ips", "snips", "sndr", "dr")
    for place, name in enumerate("ab"):
        given = (batch[key] for key in ("reward", "propensity"))
        model = (batch[key][:, place] for key in ("p", "q", "v"))
        one = doubly_robust(*given, *model, keep_rate=batch["keep_rate"])
        ours = known.values[name, "dr"]
        assert ours.value == pytest.approx(one.value, rel=1e-12)
        assert ours.standard_error == pytest.approx(one.standard_error, rel=1e-3)
    pair = known.differences["b", "a", "dr"].value
    assert pair == pytest.approx(known.values["b", "dr"].value - known.values["a", "dr"].value)
    lift = known.values["a", "sndr"].value / known.logged.value - 1
    assert known.lifts["a", "sndr"].value == pytest.approx(lift)


def test_without_knowledge_the_estimates_are_the_plain_ones():
    batch = rows()
    none = batch | {"q": 0 * batch["q"], "v": 0 * batch["v"]}
    known = told(none)
    for ours, plain in (("dr", "ips"), ("sndr", "snips")):
        for kind in ("values", "lifts"):
            one, other = (getattr(known, kind)["a", name] for name in (ours, plain))
            assert one.value == pytest.approx(other.value, rel=1e-12)
            assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)
    same = told(batch | {"q": 0 * batch["q"] + 2.5, "v": 0 * batch["v"] + 2.5})
    one, other = same.values["a", "sndr"], same.values["a", "snips"]
    assert one.value == pytest.approx(other.value, rel=1e-12)
    assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)
    # All rewards foretold: nothing is left to chance but v.
    best = told(batch | {"q": np.stack([batch["reward"]] * 2, 1), "v": 0 * batch["v"] + 1.0})
    assert best.values["a", "dr"].value == pytest.approx(1.0, rel=1e-12)
    assert best.values["a", "dr"].standard_error == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_a_log_of_ones_own_has_them_by_config(tmp_path, model):
    frame = a_log(12_000, np.random.default_rng(5), 0.5)
    # What is known of a row before its reward; here it tells the context.
    frame["noise"] = np.where(np.arange(len(frame)) % 50 == 0, np.nan, 1.0)
    entry = ENTRY | {"keep_rate": 0.5, "reward_model": {"model": model, "by": ["best", "noise"]}}
    _, tables = run_study(tmp_path / "log", frame, entry)
    values = tables["values"].set_index(["policy", "estimator"])
    for policy in ("new", "best"):
        for name in ("dr", "sndr"):
            one = values.loc[(policy, name)]
            assert one["low"] < TRUTH[policy] < one["high"]
            assert one["standard_error"] < 1.02 * values.loc[(policy, "ips"), "standard_error"]
    assert {"dr", "sndr"} <= set(tables["comparisons"]["estimator"])
    # Another log is valued without the reward model.
    saved = counterweight.load(tmp_path / "log")
    again = saved.values(frame.drop(columns="noise"))
    assert set(again["estimator"]) == {"mean", "ips", "snips"}
    plain = values.drop(["dr", "sndr"], level="estimator")["value"]
    np.testing.assert_allclose(again["value"], plain)


NUMBERS = {"left": 4, "middle": 8, "right": 15}


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_it_knows_the_action_of_a_policy_however_its_number_is_written(tmp_path, model):
    frame = a_log(2_000, np.random.default_rng(5))
    number = {name: frame[name].map(NUMBERS) for name in ("shown", "best")}
    entry = ENTRY | {"reward_model": {"model": model, "by": ["x"]}}
    frame["x"] = np.arange(len(frame)) % 7
    spelled = [
        (number["shown"], number["best"]),
        (number["shown"] * 1.0, number["best"]),
        (number["shown"].astype(str), number["best"] * 1.0),
        (number["shown"], number["best"].astype(str) + ",00"),
    ]
    told = []
    for place, (shown, best) in enumerate(spelled):
        metrics, tables = run_study(
            tmp_path / str(place), frame.assign(shown=shown, best=best), entry
        )
        assert not (metrics["metric"] == "action_unlogged").any()
        told.append(tables["values"])
        pd.testing.assert_frame_equal(told[-1], told[0])


def test_halves_go_by_user_and_a_model_serves_the_other_half():
    rng = np.random.default_rng(1)
    n = 4_000
    part = {"row": np.arange(n), "cluster": rng.integers(50, size=n), "reward": rng.random(n)}
    half = halves(part)
    assert pd.Series(half).groupby(part["cluster"]).nunique().eq(1).all()
    part |= {"keep_rate": np.ones(n), "weight": np.ones(n), "table": {"x": np.ones(n)}}
    part["reward"] = np.where(half == 0, 1.0, 3.0) + 0.01 * part["reward"]
    reward = GivenReward("linear", ["x"])
    reward.add(part)
    q = reward.fit().predict(part)["q"]
    assert np.abs(q[half == 0] - 3).max() < 0.02 and np.abs(q[half == 1] - 1).max() < 0.02


@pytest.mark.parametrize("logged", [float, int, str, object])
@pytest.mark.parametrize("taken", [float, int, str])
def test_a_reward_model_knows_an_action_however_its_number_is_written(logged, taken):
    """8.0 of a column with blanks is the 8 of a policy, as where the two are compared."""
    rng, n = np.random.default_rng(1), 4_000
    shown = rng.choice([4, 8], n)
    part = {"row": np.arange(n), "cluster": np.full(n, -1), "keep_rate": np.ones(n)}
    part |= {"reward": np.where(shown == 4, 1.0, 3.0), "weight": np.ones(n)}
    part["table"] = {"x": np.ones(n), "a": shown.astype(logged), "b": np.full(n, 8).astype(taken)}
    reward = GivenReward("linear", ["x"], "b", "a")
    reward.add(part)
    told = reward.fit().predict(part)
    assert np.allclose(told["q"], part["reward"], atol=0.02)
    assert np.allclose(told["v"], 3.0, atol=0.02)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"by_partition": True}, "leave reward_model or by_partition out"),
        ({"reward_model": {"by": ["clicked"]}}, "names the reward 'clicked' itself"),
    ],
)
def test_mistakes_are_told(change, says):
    with pytest.raises(CounterweightError, match=says):
        own_study(ENTRY | {"reward_model": {"by": ["best"]}} | change)


def test_the_log_itself_needs_no_model():
    known = told(rows())
    assert ("", "dr") not in known.values and known.differences["a", LOGGED, "dr"].value != 0


def test_a_regressed_reward_knows_every_action_that_had_rows_and_no_other():
    rng, n = np.random.default_rng(4), 2_000
    action, half = rng.choice([3, 8], n), rng.integers(2, size=n)
    part = {"row": np.arange(n), "logged": np.ones(n, bool), "keep_rate": np.ones(n)}
    part |= {"action": action, "features": {"x": rng.normal(size=n)}}
    part["reward"] = np.where(action == 3, 1.0, 5.0) + 0.01 * rng.random(n)
    reward = RegressedReward("linear", ["x"])
    reward.add(part, half)
    reward.fit(np.array([3, 8]))
    known = reward.predict(part, half, np.searchsorted([3, 8], action))
    assert known == pytest.approx(part["reward"], abs=0.02)
    assert np.isnan(reward.predict(part, half, np.full(n, -1))).all()
    v = reward.mean(part, half, np.arange(n) % 2, np.array([[0.25, 0.75], [1.0, 0.0]]))
    assert v == pytest.approx(np.where(np.arange(n) % 2, 1.0, 4.0), abs=0.02)
