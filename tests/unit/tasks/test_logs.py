"""Logs of one's own: policies that are asked about, and columns that they may name."""

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.own import with_own_tables
from counterweight.tasks import logs

LOG = {"reward": "clicked", "propensity": "p", "policies": {"new": "q"}}
MODEL = {"reward_model": {"by": ["device"]}}


def asked(**given):
    return logs.own_study(LOG | given)


def test_a_policy_is_a_column_of_chances_or_of_actions():
    policies = {"new": "q", "best one": {"column": "best", "action": "shown"}}
    first, second = asked(policies=policies)["models"]
    assert (first["label"], first["probability"]) == ("new", "q")
    assert (second["takes"], second["shown"]) == ("best", "shown") and second["name"] == "best_one"
    given = asked(policies={"new": {"column": "best"}}, action="shown")
    assert given["models"][0]["shown"] == "shown" and given["roles"]["action"] == "shown"
    assert given["roles"]["policy new"] == "best"
    assert given["roles"]["policy new (logged action)"] == "shown"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"policies": {}}, "A log needs policies"),
        ({"policies": {"new": {"action": "a"}}}, "give the column of the probability"),
        ({"policies": {"new": {"column": "a", "actions": "b"}}}, "give the column"),
        ({"policies": {"new": 3}}, "give the column"),
        ({"policies": {"new": "p"}}, "of the log's own policy"),
        ({"policies": {"new": {"column": "a", "action": "a"}}}, "of the log's own policy"),
        ({"policies": {"the log's own": "q"}}, "is what the policy that made the log is called"),
        ({"policies": {"The log’s own policy": "q"}}, "give this one another name"),
        ({"policies": {"new": "q", "other": "q"}}, "new, other, which are one and the same"),
        (MODEL | {"by_partition": True}, "leave reward_model or by_partition out"),
        ({"reward_model": {"by": ["clicked"]}}, "names the reward 'clicked' itself"),
        ({"reward_model": {"by": ["q"]}}, "names the policy new 'q' itself"),
        (
            {"by_partition": True, "columns": {"numbers": ["p"]}},
            "has no meaning for a log that is read by_partition",
        ),
    ],
)
def test_what_is_no_policy_or_known_too_late_is_refused(given, told):
    with pytest.raises(CounterweightError, match=told):
        asked(**given)


def test_a_reward_model_may_go_by_what_a_policy_would_do():
    policies = {"best": {"column": "best", "action": "shown"}}
    study = asked(policies=policies, reward_model={"by": ["device", "best"]})
    assert study["models"][0]["reward_by"] == ["device", "best"]
    assert study["models"][0]["reward_model"] == "linear"
    with pytest.raises(CounterweightError, match="names the policy best .logged action. 'shown'"):
        asked(policies=policies, reward_model={"by": ["shown"]})
    assert "reward_by" not in asked()["models"][0]


def test_copies_have_a_figure_where_they_are_made():
    assert asked()["figures"] == ["policies"]
    assert asked(rehearse=3)["figures"] == ["policies", "rehearsal"]


def test_values_are_told_by_the_protocol_of_the_log():
    given = {"results": "r", "data": "d", "table": "t.csv"} | LOG
    assert config.resolve(with_own_tables(given, given))["studies"]["t"]["repeats"] == 1
    other = given | {"study": {"evaluation": {"protocol": "policy_value"}}}
    with pytest.raises(CounterweightError, match="does not go with the labeling rule own_log"):
        config.resolve(with_own_tables(other, other))


@pytest.mark.parametrize(
    ("positive", "types", "told"),
    [
        (None, {"r": "number"}, None),
        ("1", {"r": "number"}, 1.0),
        ("yes", {"r": "text"}, "yes"),
        ("yes", {}, "yes"),
    ],
)
def test_the_value_that_counts_as_1_is_one_of_the_typed_column(positive, types, told):
    found = logs._typed_reward({"column": "r", "positive": positive}, types, {})
    assert found["positive"] == told and type(found["positive"]) is type(told)
