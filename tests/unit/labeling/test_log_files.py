"""Labels of a log: roles, truths, what is refused, and files that do not depend on batches."""

import hashlib
import re
from functools import partial

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.log_files import LABELS, TRUTH, label_log
from counterweight.labeling.logs import logged, propensity_records
from counterweight.labeling.outcome_rules import above_median, reward
from counterweight.labeling.recipes import as_is, one_hot
from counterweight.tables import parquet
from counterweight.tables.parquet import write_table


def table(n=300, seed=0, **columns):
    """Three policies' rows, interleaved."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32") * 3,
            "policy": np.array(["a", "b", "other"])[np.arange(n) % 3],
            "x": rng.integers(0, 3, n),
            "z": rng.normal(size=n),
            "action": rng.integers(0, 4, n),
            "propensity": rng.uniform(0.1, 0.9, n),
            "reward": np.where(rng.random(n) < 0.2, rng.random(n), 0.0),
            "rate": 0.5,
        }
        | columns
    )


def run(folder, frame, known=None, columns=("x", "z"), outcome=None, **options):
    folder.mkdir(exist_ok=True)
    write_table(folder / "table.parquet", frame)
    if known is not None:
        write_table(folder / "known.parquet", known)
        known = folder / "known.parquet"
    outputs = {name: folder / f"{name}.parquet" for name in ("features", "labels", "truth")}
    records = label_log(
        folder / "table.parquet",
        known,
        outputs,
        recipe=partial(as_is, columns=columns),
        outcome=partial(reward, column="reward", **(outcome or {})),
        rule=partial(logged, **options),
        rng=np.random.default_rng(0),
        reward="reward",
    )
    return {name: pd.read_parquet(path) for name, path in outputs.items()}, records


def refusal(folder, frame, **options):
    with pytest.raises(CounterweightError) as caught:
        run(folder, frame, **options)
    assert "\n" not in str(caught.value)
    assert not list(folder.glob("labels*"))
    assert not list(folder.glob(".*"))
    return str(caught.value)


AB = {"log": {"policy": "a"}, "on_policy": {"policy": "b"}}


def test_roles_rows_and_columns(tmp_path):
    frame = table()
    files, _ = run(tmp_path, frame, **AB)
    labels, features = files["labels"], files["features"]
    kept = frame[frame["policy"] != "other"].reset_index(drop=True)
    assert list(labels) == [name for name, _ in LABELS]
    assert labels["row"].tolist() == features["row"].tolist() == kept["row"].tolist()
    assert labels["role"].tolist() == [
        {"a": "log", "b": "on_policy"}[policy] for policy in kept["policy"]
    ]
    for name in ("action", "propensity", "reward"):
        np.testing.assert_array_equal(labels[name], kept[name])
    np.testing.assert_array_equal(features[["x", "z"]], kept[["x", "z"]])
    assert (labels["keep_rate"] == 1).all()
    schema = pq.read_schema(tmp_path / "labels.parquet")
    assert [str(kind) for kind in schema.types] == [
        "int32",
        "string",
        "double",
        "int32",
        "double",
        "double",
    ]


def test_all_rows_are_the_log_by_default(tmp_path):
    files, records = run(tmp_path, table())
    assert set(files["labels"]["role"]) == {"log"}
    assert len(files["labels"]) == 300
    assert files["truth"].empty
    assert list(files["truth"]) == [name for name, _ in TRUTH]


def test_truth_is_the_mean_reward_of_the_policy_itself(tmp_path):
    frame = table()
    files, _ = run(tmp_path, frame, **AB)
    own = frame.loc[frame["policy"] == "b", "reward"]
    (line,) = files["truth"].to_dict("records")
    assert (line["policy"], line["rows"]) == ("", 100)
    assert line["value"] == pytest.approx(own.mean(), rel=1e-12)
    assert line["standard_error"] == pytest.approx(own.sem(), rel=1e-9)


def test_users_widen_what_the_truth_is_known_by(tmp_path):
    frame = table(user=[f"u{number // 10}" for number in range(300)])
    frame["reward"] = np.repeat(np.arange(30) % 3 / 2, 10)
    files, _ = run(tmp_path, frame, user="user", **AB)
    labels = files["labels"]
    assert labels.groupby("cluster")["row"].count().max() <= 10
    own = frame[frame["policy"] == "b"].groupby("user")["reward"].agg(["sum", "count"])
    gaps = own["sum"] - own["sum"].sum() / own["count"].sum() * own["count"]
    error = np.sqrt((gaps**2).sum() * len(own) / (len(own) - 1)) / own["count"].sum()
    assert files["truth"]["standard_error"].item() == pytest.approx(error, rel=1e-9)
    answer = refusal(tmp_path / "missing", frame.assign(user=None), user="user")
    assert "The user 'user' is missing in" in answer
    answer = refusal(tmp_path / "one", frame.assign(user="u"), user="user")
    assert "belong to one user (column 'user')" in answer


def test_known_values_come_first_and_other_knowledge_is_left(tmp_path):
    known = pd.DataFrame(
        {"policy": ["p", "q"], "value": [0.1, 0.2], "standard_error": 0.0, "rows": 0}
    )
    files, _ = run(tmp_path, table(), known=known)
    pd.testing.assert_frame_equal(files["truth"].astype(known.dtypes), known)
    files, _ = run(tmp_path, table(), known=known, **AB)
    assert files["truth"]["policy"].tolist() == ["p", "q", ""]
    by_row = pd.DataFrame({"row": [0, 3], "p_click": 0.5})
    files, _ = run(tmp_path, table(), known=by_row)
    assert files["truth"].empty


def test_records_count_and_measure(tmp_path):
    frame = table()
    _, records = run(tmp_path, frame, **AB)
    found = {(r["metric"], r.get("part", "")): r["value"] for r in records}
    assert found["rows_log", ""] == found["rows_on_policy", ""] == found["rows_dropped", ""] == 100
    assert found["rows_all", ""] == 200
    for role, policy in (("log", "a"), ("on_policy", "b")):
        part = frame[frame["policy"] == policy]
        assert found["rows_nonzero", role] == (part["reward"] != 0).sum()
        assert found["reward_mean", role] == pytest.approx(part["reward"].mean(), rel=1e-12)
        assert found["smallest_propensity", role] == part["propensity"].min()


def test_lost_zeros_are_weighed_back(tmp_path):
    """A log that lost zeros has the mean of the whole log, within its standard error."""
    n = 60_000
    whole = table(n, propensity=0.5)
    rate = np.where(whole["x"] == 0, 0.1, 0.5)
    kept = (whole["reward"] != 0) | (np.random.default_rng(5).random(n) < rate)
    part = whole.assign(rate=np.where(whole["reward"] != 0, np.nan, rate))[kept]
    part = part.assign(rate=part["rate"])
    _, records = run(tmp_path, part.reset_index(drop=True), keep_rate="rate")
    (mean,) = [r for r in records if r["metric"] == "reward_mean"]
    weight = np.where(part["reward"] == 0, 1 / part["rate"], 1.0)
    wanted = np.average(part["reward"], weights=weight)
    error = np.sqrt((weight**2 * (part["reward"] - wanted) ** 2).sum()) / weight.sum()
    assert mean["value"] == pytest.approx(wanted, rel=1e-12)
    assert mean["standard_error"] == pytest.approx(error, rel=1e-4)
    assert abs(mean["value"] - whole["reward"].mean()) < 4 * mean["standard_error"]


def test_files_do_not_depend_on_the_batches(tmp_path, monkeypatch):
    frame = table(1000)

    def digests(folder, size):
        if size:
            ours = parquet.batches
            monkeypatch.setattr(
                parquet, "batches", lambda path, *rest, **named: ours(path, size=size)
            )
        _, records = run(folder, frame, **AB)
        return records, [
            hashlib.sha256((folder / f"{name}.parquet").read_bytes()).hexdigest()
            for name in ("features", "labels")
        ]

    records, whole = digests(tmp_path / "a", None)
    again, parts = digests(tmp_path / "b", 7)
    assert parts == whole
    for one, other in zip(records, again, strict=True):
        assert one["metric"] == other["metric"]
        assert one["value"] == pytest.approx(other["value"], rel=1e-12)


@pytest.mark.parametrize("value", [0.0, -0.5, 1.5, np.nan])
def test_propensity_out_of_range_is_told_with_rows(tmp_path, value):
    frame = table()
    frame.loc[[3, 30], "propensity"] = value
    text = refusal(tmp_path, frame, **AB)
    assert "in 2 rows (first" in text
    assert "row 9)" in text


def test_propensity_of_other_rows_is_not_needed(tmp_path):
    frame = table()
    frame.loc[frame["policy"] != "a", "propensity"] = np.nan
    files, _ = run(tmp_path, frame, **AB)
    assert files["labels"]["propensity"].isna().sum() == 100


@pytest.mark.parametrize(
    ("at", "value", "answer"),
    [
        (0, 0.0, "is not above 0 and at most 1 in 1 row (first: 0 in row 0)"),
        (1, 1.5, "is not above 0 and at most 1 in 1 row (first: 1.5 in row 3)"),
        (0, np.nan, "is missing in 1 row of reward 0 (first: row 0)"),
    ],
)
def test_wrong_keep_rates_are_told(tmp_path, at, value, answer):
    frame = table(reward=0.0)
    frame.loc[5, "reward"] = 1.0
    frame["rate"] = 0.5
    frame.loc[at, "rate"] = value
    frame.loc[5, "rate"] = np.nan
    assert answer in refusal(tmp_path, frame, keep_rate="rate")


@pytest.mark.parametrize(
    ("columns", "options", "answer"),
    [
        ({}, {"log": {"policy": "c"}}, "No row belongs to the log: none of 300 rows"),
        ({}, {"log": {"source": "c"}}, "needs the column source"),
        ({}, {"action": "arm"}, "needs the column arm"),
        ({}, {"action": "policy"}, "numbers in the column 'policy', which holds text"),
        ({}, {"propensity": "policy"}, "numbers in the column 'policy', which holds text"),
        ({}, {"keep_rate": "kept"}, "needs the column kept"),
        ({}, {"log": {"policy": "a"}, "on_policy": {}}, "100 rows (first: row 0) belong to the"),
        ({"action": 0.5}, {}, "not a whole number, or not below 2^31, in 300 rows (first: 0.5"),
        ({"action": 2.0**40}, {}, "in 300 rows (first: 1.09951e+12 in row 0): number the actions"),
        ({"x": np.inf}, {}, "Feature 'x' is not a finite number in 300 of 300 rows"),
        ({"row": np.int32(4)}, {}, "Row ids must ascend"),
        ({"reward": np.nan}, {}, "The reward 'reward' is missing or infinite in 300 of 300"),
        ({"reward": "much"}, {}, "outcome rule reward needs numbers in the column 'reward', which"),
        ({"reward": 2.0}, {}, "is outside the declared range from 0 to 1 in 300 of 300 rows"),
    ],
)
def test_bad_logs_are_told_in_one_sentence(tmp_path, columns, options, answer):
    assert answer in refusal(tmp_path, table(**columns), **options)


def test_reward_bounds_are_declared(tmp_path):
    frame = table(reward=np.where(np.arange(300) % 9, 0.0, -2.0))
    files, _ = run(tmp_path, frame, outcome={"low": -2, "high": 0})
    assert files["labels"]["reward"].min() == -2
    text = refusal(tmp_path / "b", frame)
    assert "first: -2 in row 0" in text
    with pytest.raises(CounterweightError, match="low must be below high"):
        reward(frame, None, column="reward", low=1, high=1)
    with pytest.raises(CounterweightError, match="needs the column gain"):
        reward(frame, None, column="gain")


def test_empty_log_is_told(tmp_path):
    assert "table.parquet has no row" in refusal(tmp_path, table()[:0])


def refusal_of_rules(folder, recipe, outcome=None):
    """What is told of a recipe or an outcome that no log can be labeled with."""
    write_table(folder / "t.parquet", table())
    outputs = {name: folder / name for name in ("features", "labels", "truth")}
    outcome = outcome or partial(reward, column="reward")
    rules = {"recipe": recipe, "outcome": outcome, "rule": logged}
    with pytest.raises(CounterweightError) as told:
        label_log(folder / "t.parquet", None, outputs, **rules, rng=None)
    return str(told.value)


def test_rules_that_look_at_all_rows_are_refused(tmp_path):
    assert "looks at all rows" in refusal_of_rules(tmp_path, partial(one_hot, drop=["z"]))
    plain = partial(as_is, columns=["x"])
    assert "looks at all rows" in refusal_of_rules(tmp_path, plain, above_median)


def test_features_that_change_on_the_way_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("counterweight.labeling.log_files.ROW_GROUP", 100)

    def recipe(frame, rng, outcome):
        name = "x" if frame["row"].iloc[0] == 0 else "z"
        return frame[["row", name]]

    assert re.search("other features .*first .x, z", refusal_of_rules(tmp_path, recipe))


def test_recipe_that_leaves_rows_out_is_told(tmp_path):
    text = refusal_of_rules(tmp_path, lambda frame, rng, outcome: frame[["row", "x"]][:-1])
    assert "leaves rows of the log out" in text


def _propensity_log(rng, n=2_000):
    """Actions of three contexts, drawn by propensities that are known."""
    context, chances = rng.integers(3, size=n), np.array([[6, 3, 1], [2, 5, 3], [1, 2, 7]]) / 10
    action = (rng.random(n)[:, None] > chances[context].cumsum(axis=1)).sum(axis=1)
    part = {"row": np.arange(n), "propensity": chances[context, action], "keep_rate": np.ones(n)}
    part |= {"weight": np.ones(n), "reward": rng.random(n) < 0.1}
    return part | {"table": {"shown": action, "best": context}}


def _chance(*parts):
    records = propensity_records(parts, "shown", ["best"])
    return {record["metric"]: record["value"] for record in records}


def test_propensities_of_the_logged_actions_are_told_from_others():
    rng = np.random.default_rng(5)
    chances = [_chance(_propensity_log(rng))["propensity_p"] for _ in range(200)]
    assert sum(chance < 0.01 for chance in chances) <= 5  # 1 %, and three standard errors
    part = _propensity_log(rng)
    shuffled = part | {"propensity": rng.permutation(part["propensity"])}
    assert _chance(shuffled)["propensity_p"] < 1e-6
    halved = _chance(part | {"propensity": part["propensity"] / 2})
    assert halved["propensity_p"] < 1e-6 and halved["propensity_mean"] > 1.9
    # Zeros kept at a rate, in two batches; users may repeat themselves.
    kept = part["reward"] | (rng.random(2_000) < 0.3)
    table = {name: values[kept] for name, values in part["table"].items()}
    few = {name: values[kept] for name, values in part.items() if name != "table"}
    few |= {"table": table, "keep_rate": np.full(kept.sum(), 0.3)}
    assert _chance(few)["propensity_p"] > 0.01
    assert _chance(part, part)["propensity_mean"] == pytest.approx(_chance(part)["propensity_mean"])
    assert propensity_records([part | {"cluster": np.zeros(2_000)}], "shown", []) == []


def test_actions_of_a_policy_that_were_never_logged_are_told_with_their_share():
    part = _propensity_log(np.random.default_rng(6))
    best = np.where(np.arange(2_000) % 4 == 0, 7, part["table"]["best"])
    part["table"] = {"shown": part["table"]["shown"], "best": best}
    told = propensity_records([part], "shown", ["best"], ["best"])
    place = {"target": "general", "part": "best", "variable": "7"}
    assert told[-1] == place | {"metric": "action_unlogged", "value": 0.25}
    assert len(told) == 3 and propensity_records([part], "shown", ["best"]) == told[:2]


def test_propensities_are_judged_by_users_where_rows_belong_to_them():
    """Users repeat themselves five times, so that rows taken for independent would be an alarm."""
    rng, chances = np.random.default_rng(7), []
    for _ in range(200):
        once = _propensity_log(rng, 400)
        part = {name: np.repeat(values, 5) for name, values in once.items() if name != "table"}
        part["table"] = {name: np.repeat(values, 5) for name, values in once["table"].items()}
        part["cluster"] = np.repeat(np.arange(400), 5)
        chances.append(_chance(part)["propensity_p"])
    assert sum(chance < 0.01 for chance in chances) <= 5
    shuffled = part | {"propensity": np.repeat(rng.permutation(once["propensity"]), 5)}
    assert _chance(shuffled)["propensity_p"] < 1e-3
    # Two rows of a user, one of each action: nothing is left to chance, and nothing is wrong.
    pairs = {"propensity": np.full(800, 0.5), "keep_rate": np.ones(800), "reward": np.ones(800)}
    pairs |= {"cluster": np.repeat(np.arange(400), 2)}
    shown = np.tile([0, 1], 400)
    pairs["table"] = {"shown": shown, "best": np.zeros(800, int)}
    assert _chance(pairs)["propensity_p"] == 1.0
    # A column that says which action was taken: the propensities are not those given it.
    name = np.where(shown == 0, rng.integers(0, 4, 800), rng.integers(4, 8, 800))
    pairs["table"] = {"shown": shown, "best": name}
    told = _chance(pairs)
    assert told["propensity_p"] < 1e-6 and told["propensity_mean"] == 2.0


def test_an_action_that_could_not_be_taken_in_all_rows_is_no_alarm():
    rng = np.random.default_rng(6)
    context, chances = rng.integers(3, size=4_000), np.array([[6, 3, 1], [0, 5, 5], [1, 2, 7]]) / 10
    action = (rng.random(4_000)[:, None] > chances[context].cumsum(axis=1)).sum(axis=1)
    part = _propensity_log(rng, 4_000)
    part |= {"propensity": chances[context, action], "table": {"shown": action, "best": context}}
    assert _chance(part)["propensity_p"] > 0.01
    shuffled = part | {"propensity": rng.permutation(part["propensity"])}
    assert _chance(shuffled)["propensity_p"] < 1e-6
