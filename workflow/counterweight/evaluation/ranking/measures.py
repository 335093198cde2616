"""How the AUC of resampled rows is told."""

MEASURES = {
    "auc_bias": {
        "label": "bias of the AUC",
        "unit": "share",
        "bounds": [-1, 1],
        "meaning": "Mean AUC of subsampled rows minus the AUC of all rows.",
    },
    "auc_spread": {
        "label": "spread of the AUC",
        "unit": "share",
        "better": "less",
        "meaning": "Standard deviation of the AUC over subsamples.",
    },
    "auc_covered": {
        "label": "coverage of the AUC",
        "unit": "share",
        "meaning": "Share of 95 % intervals that contain the AUC of all rows.",
    },
    "auc_deviation": {
        "label": "mean deviation of the AUC",
        "unit": "share",
        "better": "less",
        "meaning": "Mean distance of a subsample's AUC from that of all rows.",
    },
    "auc_deviation_quantile": {
        "label": "upper quantile of the AUC's deviation",
        "unit": "share",
        "better": "less",
        "meaning": "Distance from the AUC of all rows that few subsamples exceed.",
    },
    "agarwal_bound": {
        "label": "Agarwal bound",
        "unit": "share",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Distance that theory says few subsamples exceed, whatever the ranker.",
    },
    "bound_violated": {
        "label": "share of resamples beyond the bound",
        "unit": "share",
        "better": "less",
        "meaning": "Share of subsamples farther from the AUC of all rows than the bound allows.",
    },
    "resamples_redrawn": {
        "label": "resamples drawn again",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Subsamples without a positive or a negative row, which were drawn again.",
    },
}
