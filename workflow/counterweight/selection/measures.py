"""How models of who is labeled, and proxies of groups, are told."""

MEASURES = {
    "share_extreme": {
        "label": "share of tiny probabilities",
        "unit": "share",
        "better": "less",
        "percent": True,
        "meaning": "Share of rows that are hardly ever labeled, so that few labeled rows stand for "
        "them.",
    },
    "isotonic_share": {
        "label": "share of isotonic calibration",
        "bounds": [0, 1],
        "meaning": "How much of the calibration is by isotonic regression.",
    },
    "calibration_predicted": {
        "label": "predicted chance of a label",
        "bounds": [0, 1],
        "meaning": "Mean predicted p(s=1|x) of a bin.",
    },
    "calibration_observed": {
        "label": "observed share of labels",
        "bounds": [0, 1],
        "meaning": "Share of labeled rows in a bin.",
    },
    "overlap_labeled": {
        "label": "share of labeled rows",
        "bounds": [0, 1],
        "meaning": "Share of the labeled rows in a range of p(s=1|x).",
    },
    "overlap_unlabeled": {
        "label": "share of unlabeled rows",
        "bounds": [0, 1],
        "meaning": "Share of the unlabeled rows in a range of p(s=1|x).",
    },
    "distance": {
        "label": "distance of the hull from the target",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "How near the groups' shares can come to the target by any acceptance of the "
        "leaves.",
    },
    "reached": {
        "label": "share of fits that reach the target",
        "bounds": [0, 1],
        "better": "more",
        "meaning": "Whether some acceptance of the leaves meets the target.",
    },
    "hull_gap": {
        "label": "slack of the nearest point",
        "bounds": [0, None],
        "better": "less",
        "meaning": "How far the nearest point of the hull is known to be from the best one.",
    },
    "leaves": {
        "label": "number of leaves",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Leaves of a tree.",
    },
    "height": {
        "label": "height of the tree",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Splits on the way to the deepest leaf.",
    },
    "splits": {
        "label": "number of splits",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Splits of a tree.",
    },
    "smallest_leaf_rows": {
        "label": "rows of the smallest leaf",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Training rows of the smallest leaf.",
    },
    "split_shrink": {
        "label": "remaining share of the distance after a split",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Largest share of the distance to the target that a split leaves.",
    },
    "lemma3_splits": {
        "label": "splits that meet Lemma 3",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "Splits that meet the conditions under which Lemma 3 promises progress.",
    },
    "lemma3_shrink": {
        "label": "remaining share after a split of Lemma 3",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Largest share of the distance that a split within the conditions of Lemma 3 "
        "leaves.",
    },
    "lemma3_case": {
        "label": "distance that a constructed split leaves, over what Lemma 3 allows",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Of one split that meets the conditions of Lemma 3 as printed; above 1 it is a "
        "counterexample.",
    },
    "beyond_budget": {
        "label": "beyond the budget before the repair",
        "better": "less",
        "digits": 3,
        "meaning": "How far the answers of Algorithm 3 as printed tell more than alpha, before an "
        "even coin is mixed in.",
    },
    "disclosivity_nodes": {
        "label": "disclosivity of all nodes",
        "bounds": [0, None],
        "better": "less",
        "digits": 3,
        "meaning": "Largest disclosivity over all nodes of a tree, not its leaves alone.",
    },
    "attribute_accuracy": {
        "label": "accuracy for the group",
        "bounds": [0, 1],
        "meaning": "Share of people whose group the proxy predicts right.",
    },
    "attribute_majority": {
        "label": "largest group",
        "bounds": [0, 1],
        "meaning": "Share of people in the largest group: what guessing it would score.",
    },
}
