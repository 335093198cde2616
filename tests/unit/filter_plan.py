"""A config of a study of balanced filters that tests of plans change."""

import copy

from counterweight.plan import config
from counterweight.plan.stages import Stages

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
