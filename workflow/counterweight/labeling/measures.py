"""How the rows of a study are told."""

MEASURES = {
    "rows_labeled": {
        "label": "labeled rows",
        "unit": "rows",
        "meaning": "Training rows whose label is seen.",
    },
    "rows_unlabeled": {
        "label": "unlabeled rows",
        "unit": "rows",
        "meaning": "Training rows whose label is hidden.",
    },
    "rows_test": {
        "label": "test rows",
        "unit": "rows",
        "meaning": "Rows that methods are tested on and do not learn from.",
    },
    "rows_all": {"label": "rows in all", "unit": "rows", "meaning": "Rows of the data set."},
    "rows_train": {"label": "training rows", "unit": "rows", "meaning": "Rows to learn from."},
    "rows_kept": {"label": "rows kept", "unit": "rows", "meaning": "Rows that stayed in a log."},
    "rows_dropped": {
        "label": "rows left out",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Rows that a recipe leaves out.",
    },
    "rows_log": {
        "label": "rows in the log",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows of the log that values are estimated from.",
    },
    "rows_on_policy": {
        "label": "rows logged by the policy itself",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows of the log that the policy in question made: their mean is the truth.",
    },
    "rows_nonzero": {
        "label": "rows with a reward",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows whose reward is not 0.",
    },
    "reward_mean": {"label": "mean reward", "meaning": "Mean reward over a log."},
    "smallest_propensity": {
        "label": "smallest logged chance",
        "bounds": [0, 1],
        "meaning": "Least chance at which the log took the action that it took.",
    },
    "positive_share": {
        "label": "share of positives",
        "unit": "share",
        "percent": True,
        "meaning": "Share of rows whose outcome is yes.",
    },
    "sample_rows": {
        "label": "rows of the data set",
        "unit": "rows",
        "meaning": "Rows of a named data set of the study.",
    },
    "sample_positives": {
        "label": "positives",
        "unit": "rows",
        "meaning": "Positive rows of a named data set of the study.",
    },
    "accept_share": {
        "label": "share that accepts",
        "unit": "share",
        "meaning": "Share of the people who accepted what they were offered.",
    },
    "accept_true": {
        "label": "true share that accepts",
        "bounds": [0, 1],
        "meaning": "Mean true chance of acceptance.",
    },
    "offer_least": {"label": "least offer", "meaning": "Least offer that was made."},
    "offer_mean": {"label": "mean offer", "meaning": "Mean offer that was made."},
    "offer_largest": {"label": "largest offer", "meaning": "Largest offer that was made."},
    "offers_distinct": {
        "label": "different offers",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many different offers were made.",
    },
    "offer_spread": {
        "label": "spread of the offers",
        "bounds": [0, None],
        "meaning": "Standard deviation of the offers.",
    },
    "groups": {
        "label": "groups",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Groups that the sample is to be balanced over.",
    },
    "group_share": {
        "label": "share of a group",
        "bounds": [0, 1],
        "meaning": "Share of a group among the rows, or among those accepted.",
    },
    "starting_imbalance": {
        "label": "imbalance before filtering",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Distance of the groups' shares from the target when everybody is accepted.",
    },
}
