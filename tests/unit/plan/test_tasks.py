"""The task of a study: what fits it, what has no meaning for it, whose saved model is applied."""

import copy

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.stages import Stages
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


PEOPLE = {
    "dataset": "adult",
    "features": {"recipe": "one_hot", "drop": ["race"]},
    "outcome": {"rule": "no_outcome"},
    "labeling": {"rule": "sensitive", "group": ["race"]},
    "targets": ["general"],
    "repeats": 2,
    "evaluation": {"protocol": "filtering"},
    "selection": [
        {"selector": "tree_proxy", "name": "tree"},
        {"selector": "split_tree", "name": "grid", "alphas": [0.0, 0.1, 0.3]},
    ],
    "weighting": [{"weighting": "equal", "etas": [0.0, 0.5]}, {"weighting": "quadratic"}],
    "models": [
        {"model": "balanced_filter", "name": "naive", "weights": "equal", "selector": "tree"},
        {"model": "balanced_filter", "name": "qp", "weights": "quadratic", "selector": "tree"},
        {
            "model": "balanced_filter",
            "name": "alpha_beta",
            "weights": "quadratic",
            "selector": "grid",
        },
    ],
}


def resolved(**changes):
    given = {"studies": {"people": copy.deepcopy(PEOPLE) | changes}}
    config.check(given)
    return config.resolve(given)


def applied(plan, named=""):
    """The study whose filter is applied to new rows."""
    return Stages(plan | {"filter_study": named}, "scripts").applied()


def test_a_study_that_gives_no_filter_away_cannot_be_applied():
    plan = resolved()
    assert applied(plan) is None
    with pytest.raises(CounterweightError, match="Studies with the key filter: none"):
        applied(plan, "people")
