"""Policies on a log: probabilities, reward models, cross-fitting, what is refused."""

import logging
from functools import partial

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.simulated_rows import LoggedClicks
from counterweight.errors import CounterweightError
from counterweight.evaluation.policy_value import PolicyValue
from counterweight.labeling import log_files
from counterweight.labeling.log_files import label_log
from counterweight.labeling.logs import logged
from counterweight.labeling.outcome_rules import reward
from counterweight.labeling.recipes import as_is
from counterweight.models import given_policy as reward_models
from counterweight.models import log_policies as policies
from counterweight.models.log_policies import ColumnPolicy, ImitatedPolicy, UniformPolicy
from counterweight.tables.parquet import MODEL, model_table, read_models, write_table
from stage_jobs import run_script


def table(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, n)
    action = rng.integers(0, 4, n) * 10
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32"),
            "policy": np.where(rng.random(n) < 0.5, "a", "b"),
            "x": x,
            "z": rng.integers(0, 2, n),
            "action": action,
            "propensity": 0.25,
            "reward": np.where(rng.random(n) < 0.05 + 0.1 * (action == 10 * x), 1.0, 0.0),
            "p": rng.random(n),
            "taken": rng.integers(0, 4, n) * 10,
        }
    )


AB = {"log": {"policy": "a"}, "on_policy": {"policy": "b"}}


def labeled(folder, frame, bounds=(0, 1), **options):
    write_table(folder / "table.parquet", frame)
    outputs = {name: folder / f"{name}.parquet" for name in ("features", "labels", "truth")}
    label_log(
        folder / "table.parquet",
        None,
        outputs,
        recipe=partial(as_is, columns=["x", "z"]),
        outcome=partial(reward, column="reward", low=bounds[0], high=bounds[1]),
        rule=partial(logged, **options),
        rng=np.random.default_rng(0),
        reward="reward",
    )

    def rows(columns=()):
        return log_files.log_rows(
            outputs["features"], outputs["labels"], folder / "table.parquet", columns
        )

    return rows


def fitted(policy, rows):
    policy.fit(rows(policy.columns))
    parts = [policy.predict(part) for part in rows(policy.columns)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def stored(folder, policy):
    """The model as it comes back from its file."""
    write_table(folder / "m.parquet", model_table(policy.to_arrays(), 0, "general"), MODEL)
    return read_models(folder / "m.parquet")[0, "general"]


def q_by_hand(frame, by, shrinkage=100.0):
    """Reward model by grouping: rows x actions, from the half without the row."""
    from counterweight.models.log_policies import _half

    half = _half(frame["row"].to_numpy())
    log = (frame["policy"] == "a").to_numpy()
    actions = np.unique(frame["action"])
    q = np.empty((len(frame), len(actions)))
    for side in (0, 1):
        other = frame[log & (half != side)]
        mean = other["reward"].mean()
        for row in np.flatnonzero(half == side):
            mine = other
            for name in by:
                mine = mine[mine[name] == frame[name].iloc[row]]
            for k, action in enumerate(actions):
                cell = mine.loc[mine["action"] == action, "reward"]
                q[row, k] = (cell.sum() + shrinkage * mean) / (len(cell) + shrinkage)
    return q, np.searchsorted(actions, frame["action"])


def test_uniform_policy_gives_every_action_the_same(tmp_path):
    frame = table()
    policy = UniformPolicy(reward_by=["x"])
    predicted = fitted(policy, labeled(tmp_path, frame, **AB))
    assert set(predicted["p"]) == {0.25}
    assert len(predicted["p"]) == len(frame)
    np.testing.assert_allclose(stored(tmp_path, policy)["policy"].sum(axis=1), 1.0, atol=1e-12)


def test_reward_model_and_its_mean_over_the_policy_by_direct_sums(tmp_path):
    frame = table(600)
    rows = labeled(tmp_path, frame, **AB)
    for policy, by in (
        (UniformPolicy(reward_by=["x"], shrinkage=5.0), None),
        (ImitatedPolicy(by=["z"], reward_by=["x"], shrinkage=5.0), "z"),
    ):
        predicted = fitted(policy, rows)
        q, logged_action = q_by_hand(frame, ["x"], 5.0)
        own = frame[frame["policy"] == "b"]
        if by:
            shares = own.groupby(by)["action"].value_counts(normalize=True).unstack(fill_value=0)
            pi = shares.loc[frame[by]].to_numpy()
        else:
            pi = np.full(q.shape, 0.25)
        every = np.arange(len(frame))
        np.testing.assert_allclose(predicted["p"], pi[every, logged_action], rtol=0, atol=1e-12)
        np.testing.assert_allclose(predicted["q"], q[every, logged_action], rtol=0, atol=1e-12)
        np.testing.assert_allclose(predicted["v"], (pi * q).sum(axis=1), rtol=0, atol=1e-12)


def test_imitated_shares_are_those_before_zeros_were_rejected(tmp_path):
    whole = table(20_000)
    rate = np.where(whole["action"] == 0, 0.1, 0.8)
    kept = (whole["reward"] > 0) | (np.random.default_rng(1).random(len(whole)) < rate)
    frame = whole.assign(rate=np.where(whole["reward"] > 0, np.nan, rate))[kept]
    policy = ImitatedPolicy(by=["z"])
    fitted(policy, labeled(tmp_path, frame, keep_rate="rate", **AB))
    own = frame[frame["policy"] == "b"]
    weight = 1 / own["rate"].fillna(1.0)
    share = weight.groupby([own["z"], own["action"]]).sum().unstack()
    np.testing.assert_allclose(
        policy.probabilities_, share.div(share.sum(axis=1), axis=0), atol=1e-12
    )
    assert np.abs(policy.probabilities_ - 0.25).max() < 0.04


def test_imitated_shares_sum_to_one_and_survive_their_file(tmp_path):
    frame = table()
    policy = ImitatedPolicy(by=["x", "z"])
    fitted(policy, labeled(tmp_path, frame, **AB))
    arrays = stored(tmp_path, policy)
    assert arrays["policy"].shape == (6, 4)
    np.testing.assert_allclose(arrays["policy"].sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert arrays["action"].tolist() == [0, 10, 20, 30]
    assert arrays["policy_cell"].tolist() == [[x, z] for x in range(3) for z in range(2)]
    assert arrays["policy_rows"].sum() == arrays["rows_on_policy"]
    assert arrays["rows_log"] + arrays["rows_on_policy"] == len(frame)


def test_imitating_a_known_policy_finds_its_probabilities(tmp_path):
    rng = np.random.default_rng(2)
    frame = table(40_000)
    truth = np.array([[0.7, 0.1, 0.1, 0.1], [0.25] * 4, [0.0, 0.0, 0.5, 0.5]])
    draws = (rng.random(len(frame))[:, None] >= truth[frame["x"]].cumsum(axis=1)).sum(axis=1)
    frame["action"] = np.where(frame["policy"] == "b", draws, frame["action"] // 10)
    policy = ImitatedPolicy(by=["x"])
    fitted(policy, labeled(tmp_path, frame, **AB))
    sizes = policy.policy_rows_[:, None]
    spread = np.sqrt(truth * (1 - truth) / sizes)
    assert (abs(policy.probabilities_ - truth) <= 4 * spread + 1e-12).all()


def test_a_rows_own_reward_is_not_in_its_q(tmp_path):
    frame = table(800)
    first = fitted(UniformPolicy(reward_by=["x"]), labeled(tmp_path, frame, **AB))
    changed_others = 0
    for row in np.flatnonzero(frame["policy"] == "a")[:5]:
        other = frame.copy()
        other.loc[row, "reward"] = 1.0 - other.loc[row, "reward"]
        predicted = fitted(UniformPolicy(reward_by=["x"]), labeled(tmp_path, other, **AB))
        assert predicted["q"][row] == first["q"][row]
        assert predicted["v"][row] == first["v"][row]
        changed_others += (predicted["q"] != first["q"]).sum()
    assert changed_others > 0


def test_rewards_of_the_policy_itself_stay_out_of_the_model(tmp_path):
    frame = table(800)
    first = fitted(UniformPolicy(), labeled(tmp_path, frame, **AB))
    frame.loc[frame["policy"] == "b", "reward"] = 1.0
    second = fitted(UniformPolicy(), labeled(tmp_path, frame, **AB))
    np.testing.assert_array_equal(first["q"], second["q"])


def test_results_do_not_depend_on_the_batches(tmp_path, monkeypatch):
    frame = table(900)
    rows = labeled(tmp_path, frame, **AB)
    whole = [
        fitted(ImitatedPolicy(by=["x"], reward_by=["z"]), rows),
        fitted(ColumnPolicy(probability="p", action="taken", reward_by=["x"]), rows),
    ]
    monkeypatch.setattr(log_files, "ROW_GROUP", 13)
    parts = [
        fitted(ImitatedPolicy(by=["x"], reward_by=["z"]), rows),
        fitted(ColumnPolicy(probability="p", action="taken", reward_by=["x"]), rows),
    ]
    for one, other in zip(whole, parts, strict=True):
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", ["linear", "boosting"])
def test_a_regressor_serves_the_other_half_and_means_agree_with_cells(tmp_path, model, monkeypatch):
    frame = table(6000)
    rows = labeled(tmp_path, frame, **AB)
    cells = fitted(UniformPolicy(reward_by=["x"], shrinkage=1e-9), rows)
    policy = UniformPolicy(reward_by=["x"], reward_model=model)
    made = fitted(policy, rows)
    np.testing.assert_array_equal(made["p"], cells["p"])
    # v is the mean of q over the actions, by hand for one action at a time.
    part = next(iter(rows()))
    half, _, action = policy._reward_cells(part)
    every = [
        policy._modelled(part, half, np.full(len(half), at), None)
        for at in range(len(policy._rewards.levels[-1]))
    ]
    np.testing.assert_allclose(made["v"][: len(half)], np.mean(every, axis=0), atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(
        np.stack(every), action[None, :], axis=0)[0], made["q"][: len(half)])  # fmt: skip
    # The rewards of a half change no prediction of its own rows.
    from counterweight.models.log_policies import _half

    own = _half(frame["row"].to_numpy()) == 1
    frame.loc[own, "reward"] = 1.0 - frame.loc[own, "reward"]
    other = fitted(
        UniformPolicy(reward_by=["x"], reward_model=model), labeled(tmp_path, frame, **AB)
    )
    np.testing.assert_allclose(other["q"][own], made["q"][own], atol=1e-9)
    assert np.abs(other["q"][~own] - made["q"][~own]).max() > 0.01
    # Fewer rows than there are: those of the least hash, whatever the batches.
    monkeypatch.setattr(reward_models, "MOST_ROWS", 400)
    few = [
        fitted(UniformPolicy(reward_by=["x"], reward_model=model), labeled(tmp_path, frame, **AB))
    ]
    monkeypatch.setattr(log_files, "ROW_GROUP", 1_700)
    few.append(
        fitted(UniformPolicy(reward_by=["x"], reward_model=model), labeled(tmp_path, frame, **AB))
    )
    np.testing.assert_allclose(few[0]["q"], few[1]["q"], atol=1e-9)


def test_a_regressor_tells_what_cells_cannot(tmp_path):
    """Numbers that go by a feature without cells: the doubly robust error is that of the noise."""
    frame, rng = table(12_000, seed=3), np.random.default_rng(4)
    frame["x"] = rng.normal(size=len(frame))
    mean = np.where(frame["action"] == 10, 5 + 4 * frame["x"], 2 - frame["x"])
    frame["reward"] = mean + 0.1 * rng.normal(size=len(frame))
    rows = labeled(tmp_path, frame, (-50, 50))
    told = {}
    for model in ("cells", "boosting"):
        by = ["z"] if model == "cells" else ["x"]
        made = fitted(UniformPolicy(reward_by=by, reward_model=model), rows)
        log = PolicyValue(("ips", "dr"))
        log.update(frame["reward"], frame["propensity"], made["p"], q=made["q"], v=made["v"])
        told[model] = log.dr()
    truth = (5 + 3 * 2) / 4
    assert told["boosting"].standard_error < 0.6 * told["cells"].standard_error
    for one in told.values():
        assert abs(one.value - truth) < 4 * one.standard_error


def test_lost_zeros_count_by_their_weight(tmp_path):
    """Twice each zero row at rate 1 is each zero row at rate 1/2."""
    frame = table(1000)
    zero = frame["reward"] == 0
    lost = frame.assign(rate=np.where(zero, 0.5, 1.0))
    rows = labeled(tmp_path, lost, keep_rate="rate")
    policy = UniformPolicy(reward_by=["x"]).fit(rows())
    count = policy.reward_rows_.sum()
    assert count == (~zero).sum() + 2 * zero.sum()
    rewarded = frame["reward"].sum()
    assert policy.mean_reward_.mean() == pytest.approx(rewarded / count, rel=0.2)


def test_cell_that_the_policy_never_saw_gets_probability_zero(tmp_path, caplog):
    frame = table()
    frame.loc[(frame["policy"] == "b") & (frame["x"] == 2), "x"] = 1
    policy = ImitatedPolicy(by=["x"])
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        predicted = fitted(policy, labeled(tmp_path, frame, **AB))
    lost = ((frame["policy"] == "a") & (frame["x"] == 2)).to_numpy()
    assert (predicted["p"][lost] == 0).all()
    assert (predicted["v"][lost] == 0).all()
    assert (predicted["p"][~lost] > 0).all()
    assert stored(tmp_path, policy)["rows_without_policy"] == lost.sum()
    assert (
        f"{lost.sum()} of {(frame['policy'] == 'a').sum()} rows of the log are in cells of x"
        in (caplog.text)
    )


def test_uniform_policy_may_choose_from_more_actions_than_were_logged(tmp_path):
    frame = table(600)
    policy = UniformPolicy(actions=8, reward_by=["x"])
    predicted = fitted(policy, labeled(tmp_path, frame, **AB))
    assert set(predicted["p"]) == {1 / 8}
    q, _ = q_by_hand(frame, ["x"])
    from counterweight.models.log_policies import _half

    half = _half(frame["row"].to_numpy())
    wanted = q.sum(axis=1) / 8 + policy.mean_reward_[half] / 2
    np.testing.assert_allclose(predicted["v"], wanted, rtol=0, atol=1e-12)
    with pytest.raises(CounterweightError, match="4 different actions, more than the 3"):
        UniformPolicy(actions=3).fit(labeled(tmp_path, frame)())


def test_column_policy_reads_its_columns_by_row_id(tmp_path):
    """The labels have fewer rows than the table."""
    frame = table(2000)
    frame["row"] = np.arange(2000, dtype="int32") * 5 + 2
    rows = labeled(tmp_path, frame, log={"policy": "a", "x": 1})
    policy = ColumnPolicy(probability="p", action="taken", reward_by=["z"], shrinkage=1.0)
    predicted = fitted(policy, rows)
    used = frame[(frame["policy"] == "a") & (frame["x"] == 1)].reset_index(drop=True)
    np.testing.assert_array_equal(predicted["p"], used["p"])
    q, logged_action = q_by_hand(used, ["z"], 1.0)
    every, taken = np.arange(len(used)), np.searchsorted(np.unique(used["action"]), used["taken"])
    np.testing.assert_allclose(predicted["q"], q[every, logged_action], rtol=0, atol=1e-12)
    np.testing.assert_allclose(predicted["v"], q[every, taken], rtol=0, atol=1e-12)


def test_column_policy_without_actions_has_no_reward_model(tmp_path, caplog):
    rows = labeled(tmp_path, table())
    policy = ColumnPolicy(probability="p")
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        predicted = fitted(policy, rows)
    assert list(predicted) == ["p"]
    assert [name for name, _ in policy.layout] == ["row", "p"]
    assert "the doubly robust value is left out" in caplog.text


def test_action_that_no_row_has_gets_the_mean_reward(tmp_path, caplog):
    frame = table(600).assign(taken=99)
    policy = ColumnPolicy(probability="p", action="taken", reward_by=["x"])
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        predicted = fitted(policy, labeled(tmp_path, frame))
    assert set(predicted["v"]) == set(policy.mean_reward_)
    assert "1 actions of the policy (99) are in no row of the log" in caplog.text


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        (UniformPolicy(reward_by=["age"]), "reward_by names age, which is no feature"),
        (ImitatedPolicy(by=["age"]), "option by names age, which is no feature"),
        (ColumnPolicy(probability="age"), "has no column age"),
        (ColumnPolicy(probability="policy"), "'policy' of column_policy holds text"),
        (ColumnPolicy(probability="p", action="policy"), "'policy' of column_policy holds text"),
        (ColumnPolicy(probability="taken"), "no probability from 0 to 1 in "),
        (ImitatedPolicy(), "has no rows to imitate"),
    ],
)
def test_bad_options_are_told_in_one_sentence(tmp_path, policy, answer):
    rows = labeled(tmp_path, table())
    with pytest.raises(CounterweightError) as caught:
        policy.fit(rows(policy.columns))
    assert answer in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_probabilities_are_counted(tmp_path):
    frame = table()
    frame.loc[[7, 9], "p"] = [1.2, np.nan]
    rows = labeled(tmp_path, frame)
    policy = ColumnPolicy(probability="p")
    with pytest.raises(CounterweightError, match=r"in 2 of 4000 rows \(first: 1.2 in row 7\)"):
        policy.fit(rows(policy.columns))


def test_actions_of_a_policy_that_are_missing_are_told(tmp_path):
    frame = table(600).astype({"taken": float})
    frame.loc[[7, 30], "taken"] = np.nan
    with pytest.raises(CounterweightError, match="'taken' is missing .* 2 of 600 rows .*row 7"):
        fitted(ColumnPolicy(probability="p", action="taken"), labeled(tmp_path, frame))


def test_too_many_cells_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(policies, "MOST_CELLS", 11)
    rows = labeled(tmp_path, table())
    with pytest.raises(CounterweightError, match="reward model has more than 11 cells"):
        UniformPolicy(reward_by=["x"]).fit(rows())
    monkeypatch.setattr(policies, "MOST_CELLS", 12)
    UniformPolicy(reward_by=["x"]).fit(rows())


def test_a_log_of_one_row_is_too_small(tmp_path):
    frame = table(10)
    frame["policy"] = np.where(frame["row"] == 0, "a", "b")
    with pytest.raises(CounterweightError, match="1. are in one half"):
        UniformPolicy().fit(labeled(tmp_path, frame, **AB)())


def test_features_of_other_rows_are_told(tmp_path):
    frame = table(50)
    labeled(tmp_path, frame)
    write_table(tmp_path / "features.parquet", frame.assign(row=frame["row"] + 1)[["row", "x"]])
    paths = tmp_path / "features.parquet", tmp_path / "labels.parquet"
    with pytest.raises(CounterweightError, match="not of the same rows"):
        next(log_files.log_rows(*paths))
    write_table(tmp_path / "features.parquet", frame[["row", "x"]][:40])
    with pytest.raises(CounterweightError, match="not of the same rows"):
        next(log_files.log_rows(*paths))


def test_table_that_lacks_rows_is_told(tmp_path):
    rows = labeled(tmp_path, table(50))
    for part in (table(50)[:40], table(50).drop(index=20)):
        write_table(tmp_path / "table.parquet", part)
        with pytest.raises(CounterweightError, match="has no row (40|20), which the labels have"):
            list(rows(["p"]))


def test_doubly_robust_values_of_the_generated_log_hold_the_truth(tmp_path):
    """Through the scripts: IPS and DR within 4 SE of the exact value, DR no less certain."""
    frame, truth = LoggedClicks.simulate(300_000, np.random.default_rng(11))
    paths = {
        name: tmp_path / f"{name}.parquet"
        for name in ("table", "known", "features", "labels", "truth", "metrics", "model", "preds")
    }
    write_table(paths["table"], frame)
    write_table(paths["known"], truth)
    run_script(
        "label",
        "tasks.logs:label",
        given={
            "features": {"name": "as_is", "options": {"columns": ["device", "segment"]}},
            "outcome": {"name": "reward", "options": {"column": "reward"}},
            "labeling": {"name": "logged", "options": {}},
            "seed": 1,
            "stream": "s",
        },
        inputs={name: paths[name] for name in ("table", "known")},
        outputs={name: paths[name] for name in ("features", "labels", "truth", "metrics")},
        log=tmp_path / "log",
        uses=[("features", "as_is"), ("outcome", "reward"), ("labeling", "logged")],
        study="s",
    )
    for name in ("stochastic", "deterministic"):
        options = {"probability": name, "action": f"{name}_action", "reward_by": ["segment"]}
        run_script(
            "train",
            "tasks.logs:train",
            given={"method": {"model": "column_policy", "options": options}},
            inputs={name: paths[name] for name in ("table", "features", "labels")},
            outputs={"model": paths["model"], "predictions": paths["preds"]},
            log=tmp_path / "log",
            uses=[("model", "column_policy")],
            study="s",
        )
        predicted = pd.read_parquet(paths["preds"])
        np.testing.assert_array_equal(predicted["row"], frame["row"])
        known = pd.read_parquet(paths["truth"]).set_index("policy")["value"][name]
        weight = predicted["p"] / frame["propensity"]
        spreads = []
        for terms in (
            weight * frame["reward"],
            predicted["v"] + weight * (frame["reward"] - predicted["q"]),
        ):
            spreads.append(terms.std() / np.sqrt(len(terms)))
            assert abs(terms.mean() - known) < 4 * spreads[-1]
        assert spreads[1] < 1.02 * spreads[0]
