"""A small config that tests of plans change."""

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
