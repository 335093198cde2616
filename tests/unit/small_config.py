"""A small config that tests of plans change."""

import copy

SMALL = {
    "studies": {
        "one": {
            "dataset": "curved",
            "features": {"recipe": "as_is"},
            "outcome": {"rule": "equals", "column": "label", "value": 1},
            "labeling": {"rule": "known_propensity"},
            "selection": [{"selector": "logistic"}],
            "weighting": [{"weighting": "lemma2"}],
            "models": [{"model": "logistic"}, {"model": "shifted_mixture"}],
        }
    }
}


def changed(*path, value):
    made = copy.deepcopy(SMALL)
    node = made
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return made
