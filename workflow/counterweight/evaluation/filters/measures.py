"""How balanced filters are told."""

MEASURES = {
    "imbalance": {
        "label": "imbalance",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Distance of the groups' shares among the accepted from the target; 0 is "
        "balanced.",
    },
    "imbalance_drawn": {
        "label": "imbalance of a draw",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Imbalance of one sample that was really drawn.",
    },
    "imbalance_taught": {
        "label": "imbalance of what is learned from",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Imbalance of the rows that a classifier was trained on: drawn, weighted or "
        "made up.",
    },
    "disclosivity": {
        "label": "disclosivity",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "How much the filter's leaf can tell about somebody's group, beyond the groups' "
        "shares: 0 tells nothing.",
    },
    "disclosivity_rows": {
        "label": "rows of the most disclosive leaf",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows of the leaf that tells most about groups.",
    },
    "disclosivity_large": {
        "label": "disclosivity of large leaves",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Disclosivity over leaves that have enough rows to count on.",
    },
    "disclosivity_at_most": {
        "label": "disclosivity at most",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Upper confidence bound of the disclosivity for new people, over all leaves and "
        "groups at once, from rows that did not fit the filter.",
    },
    "imbalance_before": {
        "label": "imbalance of all rows",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Distance from the target of the groups' shares among all rows held out, "
        "accepted or not.",
    },
    "delivered": {"label": "given away", "meaning": "The method whose answers are in the files."},
    "certified": {
        "label": "certified",
        "bounds": [0, 1],
        "digits": 0,
        "meaning": "1 where held-out rows certify that the filter keeps its alpha for new people.",
    },
    "confidence": {
        "label": "confidence",
        "bounds": [0, 1],
        "percent": True,
        "meaning": "Of the bounds and intervals of the filter that is given away.",
    },
    "released": {
        "label": "told by what is released, at most",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Upper confidence bound of what a released column tells about groups.",
    },
    "distortion": {
        "label": "distortion within a group",
        "bounds": [0, None],
        "better": "less",
        "digits": 2,
        "meaning": "Largest difference of a feature's mean between the accepted of a group and all "
        "of it, in standard deviations.",
    },
    "distorted": {
        "label": "distorted within a group",
        "unit": "share",
        "better": "less",
        "percent": True,
        "meaning": "Share of a group's accepted that would have to be others for them to be spread "
        "over the leaves as the group is, of the group where it is largest.",
    },
    "leaves_empty": {
        "label": "leaves without test rows",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Leaves in which no test row falls.",
    },
    "floor": {
        "label": "least imbalance that any filter has",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "No filter of this disclosivity can come nearer to the target.",
    },
    "collected": {
        "label": "rows accepted",
        "bounds": [0, None],
        "better": "more",
        "digits": 0,
        "meaning": "Expected number of accepted rows.",
    },
    "nothing_accepted": {
        "label": "filters that accept nobody",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Fits whose filter accepts nobody.",
    },
    "group_gain": {
        "label": "gain of a group's share",
        "bounds": [0, None],
        "meaning": "Share of a group among the accepted over its share among all.",
    },
    "excess_disclosivity": {
        "label": "disclosivity on test rows beyond training",
        "better": "less",
        "digits": 3,
        "meaning": "Disclosivity on test rows minus that on training rows.",
    },
    "excess_imbalance": {
        "label": "imbalance on test rows beyond training",
        "better": "less",
        "digits": 3,
        "meaning": "Imbalance on test rows minus that on training rows.",
    },
    "bound_disclosivity": {
        "label": "bound of the disclosivity",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "What Theorem 3 promises of the disclosivity on new rows; above 1 it says "
        "nothing.",
    },
    "bound_imbalance": {
        "label": "bound of the imbalance",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "What Theorem 3 promises of the imbalance on new rows; above 1.41 it says "
        "nothing.",
    },
    "bound_epsilon": {
        "label": "epsilon of the bound",
        "bounds": [0, None],
        "better": "less",
        "meaning": "How far shares in leaves may be off by chance, by Theorem 3.",
    },
    "leaf_mass": {
        "label": "share of rows in a leaf",
        "bounds": [0, 1],
        "meaning": "Share of the rows that fall into a leaf.",
    },
    "leaf_acceptance": {
        "label": "acceptance of a leaf",
        "bounds": [0, 1],
        "meaning": "Chance that somebody in a leaf is accepted.",
    },
    "leaf_share": {
        "label": "share of a group in a leaf",
        "bounds": [0, 1],
        "meaning": "Share of a group among the rows of a leaf.",
    },
    "accuracy_worst": {
        "label": "accuracy in the worst group",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Least accuracy over the groups of a classifier that was trained on the sample.",
    },
    "accuracy_group": {
        "label": "accuracy in a group",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Accuracy in a group of a classifier that was trained on the sample.",
    },
    "groups_untested": {
        "label": "groups without test rows",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Groups that no test row has.",
    },
    "rows_accepted": {
        "label": "rows accepted",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Rows that the filter accepted.",
    },
    "no_classifier": {
        "label": "samples too small to train a classifier",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Settings whose accepted rows allow no classifier.",
    },
}
