"""What values of policies rest on: one flag, the worst of all checks, and why, everywhere."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.evaluation.log_values import OFF, log_values
from counterweight.labeling.logs import wrong_propensities
from own_logs import ENTRY, a_log, run_study


def draws_of(rows, keep_rate=1.0, seed=1, **changes):
    """A log of a fair coin that a policy turns, all rows of which count alike."""
    rng = np.random.default_rng(seed)
    taken = rng.random(rows) < 0.5
    batch = {"reward": (rng.random(rows) < np.where(taken, 0.6, 0.2)) * 1.0}
    batch |= {"propensity": np.full(rows, 0.5), "weight": np.ones(rows)}
    batch |= {"keep_rate": np.full(rows, keep_rate), "p": np.where(taken, 0.9, 0.1)[:, None]}
    return batch | changes


@pytest.mark.parametrize(
    ("users", "flag", "why"),
    [
        (20, "thin", "weights that count as 20 users"),
        (200, "good", ""),
        (5, "thin", "few users carry the value, its gain, or the error of either (5 users"),
    ],
)
def test_few_users_with_many_rows_each_are_thin(users, flag, why):
    batch = draws_of(20_000, cluster=np.arange(20_000) % users)
    known = log_values(lambda: [batch], ["more"], clusters=users)
    for name in known.estimators:
        told = known.support["more", name]
        assert told.flag == flag and why in "; ".join(told.reasons)
        assert told.effective_rows == pytest.approx(users, rel=0.05)
        assert bool(told.reasons) == (flag != "good")
    assert known.own[0] == flag and known.effective_rows == pytest.approx(users, rel=0.05)


@pytest.mark.parametrize("kept", [1.0, 0.2])
@pytest.mark.parametrize("otherwise", [0.01, 0.8])
def test_what_a_policy_does_where_the_log_did_one_thing_only_is_outside(otherwise, kept):
    """A third of the rows has propensity 1, and the policy does something else in a part of it."""
    batch, rng = draws_of(30_000), np.random.default_rng(8)
    sure = rng.random(30_000) < 1 / 3
    batch["propensity"][sure], batch["p"][sure] = 1.0, 1 - otherwise
    batch["keep_rate"] = np.where(batch["reward"] > 0, 1.0, kept)
    stays = (batch["reward"] > 0) | (rng.random(30_000) < kept)
    batch = {name: values[stays] for name, values in batch.items()}
    batch["keep_rate"][:] = kept
    halves = [{name: values[at::2] for name, values in batch.items()} for at in (0, 1)]
    known = log_values(lambda: halves, ["more"])
    for name in known.estimators:
        told = known.support["more", name]
        if otherwise < OFF:
            assert told.flag == "good" and told.reasons == ()
            continue
        k = np.where(batch["reward"] > 0, 1.0, 1 / kept)
        lost = k[sure[stays]].sum() * otherwise / k.sum()
        assert told.flag == "outside"
        assert told.reasons[0].startswith(f"{100 * lost:.0f} % of what the policy does is not in")
        assert told.mean_weight.value == pytest.approx(1 - lost, abs=0.05)


def test_without_a_zero_what_is_outside_is_a_share_of_all_rows_before():
    """Of 10,000 rows those with a reward are left: half of the policy is elsewhere in each."""
    batch = draws_of(10_000)
    batch["propensity"][:], batch["p"][:] = 1.0, 0.5
    batch = {name: values[batch["reward"] > 0] for name, values in batch.items()}
    known = log_values(lambda: [batch], ["more"], rows_before=10_000)
    told = known.support["more", known.estimators[0]]
    share = 50 * len(batch["reward"]) / 10_000
    assert told.flag == "outside" and told.reasons[0].startswith(f"{share:.0f} % of what")


def test_rows_that_a_user_has_three_times_count_once():
    batch = draws_of(900)
    thrice = {name: np.repeat(values, 3, axis=0) for name, values in batch.items()}
    users = thrice | {"cluster": np.repeat(np.arange(900), 3)}
    once = log_values(lambda: [batch], ["more"])
    known = log_values(lambda: [users], ["more"], clusters=900)
    for name in known.estimators:
        ours, theirs = known.support["more", name], once.support["more", name]
        assert ours.effective_rows == pytest.approx(theirs.effective_rows, rel=1e-9)
        assert ours.largest_share == pytest.approx(theirs.largest_share, rel=1e-9)
    assert known.effective_rows == pytest.approx(900)


def test_a_keep_rate_that_weights_speak_against_is_doubtful_however_little_they_are_off():
    """Weights average a little more than 1 where values are off by more."""
    batch = draws_of(200_000)
    kept = (batch["reward"] > 0) | (np.random.default_rng(2).random(200_000) < 0.2)
    batch = {name: values[kept] for name, values in batch.items()}
    found = {}
    for rate in (0.2, 0.212):
        told = batch | {"keep_rate": np.full(kept.sum(), rate)}
        found[rate] = log_values(lambda told=told: [told], ["m"])
    right, wrong = (one.support["m", "ips"] for one in found.values())
    assert right.flag == "good" and right.reasons == ()
    assert abs(wrong.mean_weight.value - 1) < OFF and wrong.flag == "doubtful"
    assert wrong.reasons[0].endswith("or the keep rate is not right")
    assert found[0.2].support_of("m", "", "ips") == ("good", "")
    flag, why = found[0.212].support_of("m", "", "ips")
    assert flag == "doubtful" and why.startswith("m: the weights average")


def test_wrong_propensities_are_the_flag_of_all_that_rests_on_them(tmp_path):
    """As on the page: of values, of comparisons, in Python, and not of what weighs nothing."""
    frame = a_log(3_000, np.random.default_rng(3))
    frame["p_logged"] = np.random.default_rng(4).permutation(frame["p_logged"])
    frame["p_same"] = frame["p_logged"]
    entry = {"reward": "clicked", "propensity": "p_logged"}
    entry["policies"] = {"best": ENTRY["policies"]["best"], "same": "p_same"}
    metrics, tables = run_study(tmp_path, frame, entry)
    values = tables["values"].set_index("policy")
    assert (values.loc["best", "support"] == "doubtful").all()
    said = "the propensities are not those of the logged actions: rows with the action"
    assert values.loc["best", "rests_on"].str.contains(said).all()
    assert (values.loc["same", "support"] == "good").all()
    pairs = tables["comparisons"].set_index(["policy", "other"])
    assert (pairs.loc[[("best", "the log's own")], "support"] == "doubtful").all()
    assert (pairs.loc[[("same", "best")], "support"] == "doubtful").all()
    assert pairs.loc[[("same", "best")], "reason"].str.startswith("best: the prop").all()
    same = pairs.loc[[("same", "the log's own")]]
    assert (same["support"] == "good").all() and (same["reason"] == "").all()
    told = metrics[metrics["metric"].isin(["support", "difference_support"])]
    told = told.groupby(["metric", "source", "part"])["value"].unique().map(list).to_dict()
    one, other = (source for _, source, part in told if part == "log")
    pair = "difference_support"
    assert told == {
        ("support", one, ""): [3],
        ("support", other, ""): [0],
        (pair, one, "log"): [3],
        (pair, other, "log"): [0],
        (pair, other, one): [3],
    }
    measured = metrics[metrics["metric"].str.startswith("propensity")].to_dict("records")
    assert wrong_propensities(measured).startswith(said)
    told = wrong_propensities(measured, True)
    assert told.startswith("the propensities are not those of the logged actions, or copies of ")
    again = load(tmp_path)
    pd.testing.assert_frame_equal(again.comparisons(frame), tables["comparisons"])
    right = again.values(a_log(3_000, np.random.default_rng(5)).assign(p_same=0.5))
    assert not right["rests_on"].str.contains("not those of the logged actions:").any()
