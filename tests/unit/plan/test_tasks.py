"""The task of a study: what fits it, what has no meaning for it, whose saved model is applied."""

import copy

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config, tasks
from filter_plan import applied, resolved
from small_config import SMALL


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weighting": [{"weighting": "lemma2"}] * 2}, "two entries called 'lemma2'"),
        ({"weighting": [{"weighting": "lemma1"}]}, "begins from a generative model with lemma2"),
        ({"dataset": "adult", "figures": ["boundary"]}, "boundary"),
        ({"labeling": {"rule": "logged"}}, "which is for studies of classifiers; .* logged makes"),
        ({"models": [{"model": "uniform_policy"}]}, "which is for studies of logged actions"),
        (
            {"outcome": {"rule": "no_outcome"}},
            "outcome.rule is 'no_outcome', which is for studies of balanced filters",
        ),
        ({"evaluation": {"protocol": "policy_value"}}, "choose one of metrics"),
        ({"labeling": {"rule": "everyone"}}, r"no unlabeled population: set targets: \[general\]"),
        ({"columns": ["brier", "accurcy"]}, "did you mean 'accuracy'"),
        ({"keep_rate": 0.0}, "keep_rate is 0.0"),
        ({"keep_rate": 1.5}, "keep_rate is 1.5"),
        (
            {"keep_rate": 0.5, "evaluation": {"protocol": "ranking_resamples"}},
            "rejects rows itself",
        ),
        ({"evaluation": {"protocol": "metrics", "resamples": 3}}, "Unknown key .*resamples"),
    ],
)
def test_studies_that_cannot_work_are_told(change, message):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= change
    with pytest.raises(CounterweightError, match=message):
        config.resolve(made)


LOG = {
    "dataset": "logged_clicks",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "reward", "column": "reward"},
    "labeling": {"rule": "logged"},
    "evaluation": {"protocol": "policy_value"},
    "models": [{"model": "uniform_policy"}],
}


@pytest.mark.parametrize(
    "change",
    [{"keep_rate": 0.5}, {"selection": [{"selector": "logistic"}]}],
    ids=["keep_rate", "selection"],
)
def test_what_has_no_meaning_for_logged_actions_is_refused(change):
    with pytest.raises(CounterweightError, match="has no meaning for studies of logged actions"):
        config.resolve({"studies": {"one": LOG | change}})


def test_a_study_that_gives_no_filter_away_cannot_be_applied():
    plan = resolved()
    assert applied(plan) is None
    with pytest.raises(CounterweightError, match="Studies with the key filter: none"):
        applied(plan, "people")


def test_new_rows_go_to_the_only_study_that_delivers_or_to_the_one_that_is_named():
    plan = {"filter_study": "", "candidates": "people.csv"}
    assert tasks.applied(plan, ["one"]) == "one"
    told = "2 studies deliver a filter .*one.*two.*filter_study=one"
    with pytest.raises(CounterweightError, match=told):
        tasks.applied(plan, ["one", "two"])
    assert tasks.applied(plan | {"filter_study": "two"}, ["one", "two"]) == "two"
    assert tasks.applied(plan | {"candidates": ""}, ["one", "two"]) == "one"
    assert tasks.applied(plan, []) is None
