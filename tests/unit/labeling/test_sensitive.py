"""Sensitive groups: splits, what stays hidden, and what is refused."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.outcome_rules import equals, no_outcome
from counterweight.labeling.recipes import one_hot
from counterweight.labeling.sensitive import (
    OPTIONS,
    describe_groups,
    group_texts,
    label_groups,
    sensitive,
)


def table(n=60, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype=np.int32),
            "x": rng.normal(size=n),
            "job": np.array(["cook", "nurse", "smith"])[np.arange(n) % 3],
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "y": np.arange(n) % 2,
        }
    )


def label(frame, outcome=None, *, x=("x",), repeats=1, test_share=0.25, features=None, **options):
    options.setdefault("group", ["job"])
    features = frame[["row", *x]] if features is None else features
    return label_groups(
        frame,
        features,
        partial(sensitive, **options),
        outcome or partial(equals, column="y", value=1),
        seed=1,
        study="s",
        repeats=repeats,
        test_share=test_share,
    )


def refusal(frame, **options):
    with pytest.raises(CounterweightError) as caught:
        label(frame, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_options_agree_with_the_defaults():
    parameters = inspect.signature(sensitive).parameters
    assert set(OPTIONS) == set(parameters) - {"frame", "types"}
    assert OPTIONS["missing"]["default"] == parameters["missing"].default
    assert "default" not in OPTIONS["group"]


def test_groups_and_outcomes_of_test_rows_are_hidden_and_the_truth_keeps_them():
    frame = table()
    labels, truth = label(frame, group=["job", "sex"], repeats=3)
    assert list(labels) == ["repeat", "row", "role", "group_job", "group_sex", "y_general"]
    assert list(truth) == ["repeat", "row", "group_job", "group_sex", "y_general"]
    for repeat in range(3):
        part, hidden = labels[labels["repeat"] == repeat], truth[truth["repeat"] == repeat]
        test = (part["role"] == "test").to_numpy()
        assert test.sum() == 15
        for name in ("group_job", "group_sex", "y_general"):
            assert (part[name].isna().to_numpy() == test).all()
            assert (part[name][~test] == hidden[name][~test]).all()
        assert hidden["group_job"].tolist() == frame["job"].tolist()
        assert hidden["y_general"].tolist() == frame["y"].tolist()
    roles = {tuple(labels["role"][labels["repeat"] == repeat]) for repeat in range(3)}
    assert len(roles) == 3


def test_a_study_splits_alike_whatever_is_sensitive():
    frame = table()
    roles = [label(frame, group=group)[0]["role"].tolist() for group in ("job", ["job", "sex"])]
    assert roles[0] == roles[1]


def test_without_an_outcome_there_is_none():
    labels, truth = label(table(), no_outcome)
    assert labels["y_general"].isna().all() and truth["y_general"].isna().all()
    assert truth["y_general"].dtype == "Int8"


def test_shares_and_imbalance_are_those_of_the_parts():
    frame = table(90)
    frame["job"] = ["cook"] * 60 + ["nurse"] * 20 + ["smith"] * 10
    labels, truth = label(frame, repeats=2)
    records = [r for r in describe_groups(labels, truth, 4) if r["repeat"] == 0]
    found = {(r["metric"], r.get("target", ""), r.get("part", "")): r["value"] for r in records}
    assert found["rows_train", "", ""] == 68 and found["rows_test", "", ""] == 22
    assert found["rows_dropped", "", ""] == 4 and found["groups", "", ""] == 3
    pooled = np.zeros(3)
    for part, rows in (("train", 68), ("test", 22)):
        shares = [found["group_share", part, job] for job in ("cook", "nurse", "smith")]
        assert sum(shares) == pytest.approx(1)
        distance = np.linalg.norm(np.array(shares) - 1 / 3)
        assert found["starting_imbalance", part, ""] == pytest.approx(distance)
        pooled += rows * np.array(shares)
    np.testing.assert_allclose(pooled, [60, 20, 10])
    wanted = {"cook": 60 / 90, "nurse": 20 / 90, "smith": 10 / 90}
    aimed = describe_groups(labels, truth, 4, wanted)
    train = next(r for r in aimed if r["metric"] == "starting_imbalance")["value"]
    shares = [found["group_share", "train", job] for job in wanted]
    assert train == pytest.approx(np.linalg.norm(np.array(shares) - list(wanted.values())))
    with pytest.raises(CounterweightError, match="The target names baker"):
        describe_groups(labels, truth, 4, {"baker": 1.0})
    with pytest.raises(CounterweightError, match="not 1"):
        describe_groups(labels, truth, 4, {"cook": 0.7})


def test_several_columns_name_their_groups_by_column():
    labels, truth = label(table(), group=["sex", "job"])
    items = [r["part"] for r in describe_groups(labels, truth, 0) if r["metric"] == "group_share"]
    assert items[:5] == ["sex=f", "sex=m", "job=cook", "job=nurse", "job=smith"]


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_missing_groups_are_refused_dropped_or_a_group_as_asked(blank):
    frame = table()
    frame["job"] = frame["job"].astype(object)
    frame.loc[4:13, "job"] = blank
    told = refusal(frame)
    assert "'job' is missing in 10 of 60 rows (first: row 4)" in told and "own_group" in told
    _, truth = label(frame, missing="drop")
    assert len(truth) == 50 and not set(truth["row"]) & set(range(4, 14))
    _, truth = label(frame, missing="own_group")
    assert truth["group_job"].tolist()[4] == "missing" and len(truth) == 60
    frame.loc[20:29, "job"] = "missing"
    assert label(frame, missing="own_group")[1]["group_job"].tolist()[4] == "missing_"


def test_numbers_are_groups_as_they_are_written():
    frame = table()
    frame["code"] = pd.array([1.0, 2.0] * 30)
    frame.loc[3:12, "code"] = np.nan
    _, truth = label(frame, group="code", missing="own_group")
    assert set(truth["group_code"]) == {"1", "2", "missing"}


@pytest.mark.parametrize("column", ["job", "sex"])
def test_a_feature_made_of_the_group_is_refused_with_the_remedy(column):
    frame = table()
    features = one_hot(frame, np.random.default_rng(0), outcome="y")
    told = refusal(frame, features=features, group=[column])
    assert f"{column!r} is among the features ({column}=" in told
    assert f"add {column} to features.drop" in told
    clean = one_hot(frame, np.random.default_rng(0), outcome="y", drop=[column])
    label(frame, features=clean, group=[column])


def test_a_numeric_group_and_its_mark_among_the_features_are_refused():
    frame = table()
    frame["age"] = np.arange(60) % 4
    assert "'age' is among" in refusal(frame, group="age", x=("x", "age"))
    frame["age_missing"] = np.arange(60) % 2
    assert "'age' is among" in refusal(frame, group="age", x=("x", "age_missing"))
    frame["ages"] = np.arange(60) % 5
    label(frame, group="age", x=("x", "ages"))


def test_a_feature_that_says_a_group_under_another_name_is_told(caplog):
    frame = table()
    frame["is_cook"] = (frame["job"] == "cook").astype(float)
    label(frame, x=("x", "is_cook"))
    assert "is_cook says the group cook of job exactly" in caplog.text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"group": "jobs"}, "'jobs', which the data set does not have (perhaps you mean 'job')"),
        ({"group": []}, "name at least one"),
        ({"group": ["job", "job"]}, "each once"),
        ({"group": "row"}, "does not have"),
        ({"test_share": 0.001}, "leaves 0 of 60 rows"),
        ({"test_share": 1.0}, "leaves 60 of 60 rows"),
    ],
)
def test_wrong_options_are_told(options, told):
    assert told in refusal(table(), **options)


def test_an_unknown_way_with_missing_groups_is_told():
    with pytest.raises(CounterweightError, match="labeling.missing is 'skip': choose one of"):
        sensitive(pd.DataFrame({"row": [0, 1], "g": ["a", "b"]}), group="g", missing="skip")


def test_one_group_and_too_many_groups_are_told():
    frame = table().assign(one="same", many=np.arange(60) / 7)
    assert "'one' has the one group 'same' in all 60 rows" in refusal(frame, group="one")
    told = refusal(frame, group="many")
    assert "'many' has 60 different values" in told and "into ranges" in told


def test_a_group_without_training_rows_is_told():
    frame = table()
    told = set()
    for row in range(60):
        rare = frame.assign(job=frame["job"].where(frame["row"] != row, "pilot"))
        try:
            label(rare, test_share=0.5)
        except CounterweightError as error:
            told.add(str(error))
    assert len(told) == 1
    text = next(iter(told))
    assert "'pilot' of 'job' has 1 of" in text and "repeat 0" in text and "test_share" in text


def test_rows_left_out_by_the_recipe_leave_the_study():
    frame = table()
    _, truth = label(frame, features=frame.loc[10:, ["row", "x"]])
    assert truth["row"].min() == 10 and len(truth) == 50
    cooks = frame.loc[frame["job"] == "cook", ["row", "x"]]
    assert "rows of the one group 'cook'" in refusal(frame, features=cooks)


def test_fifty_groups_are_groups_and_one_more_is_a_name():
    for count in (50, 51):
        frame = pd.DataFrame({"row": np.arange(200), "g": [f"g{at % count}" for at in range(200)]})
        if count == 50:
            assert sensitive(frame, group="g")["kept"].all()
        else:
            with pytest.raises(CounterweightError, match="51 different values"):
                sensitive(frame, group="g")


@pytest.mark.parametrize("held", [[0, 1, None], [False, True, None], ["No", "yes", ""]])
def test_groups_of_yes_and_no_have_words_however_they_are_held(held):
    column = pd.Series(held * 4, dtype=object)
    values, blank = group_texts(column, boolean=True)
    assert blank.tolist() == [False, False, True] * 4
    assert values[~blank].tolist() == ["no", "yes"] * 4


def test_a_filter_of_a_yes_and_no_column_calls_its_groups_so_and_numbers_stay_numbers():
    frame = pd.DataFrame({"row": np.arange(40), "member": np.arange(40) % 2})
    told = sensitive(frame, {"member": "boolean"}, group="member")["groups"]["member"]
    assert sorted(set(told)) == ["no", "yes"]
    assert sorted(set(sensitive(frame, group="member")["groups"]["member"])) == ["0", "1"]
