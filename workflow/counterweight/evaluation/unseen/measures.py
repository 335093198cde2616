"""How quality without hidden labels is told."""

MEASURES = {
    "calibration_ratio": {
        "label": "observed over expected",
        "bounds": [0, None],
        "meaning": "What happened over what was foretold, in all: 1 where estimates are neither "
        "too low nor too high.",
    },
    "mse": {
        "label": "mean squared error",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean squared distance of estimates from what happened.",
    },
    "mae": {
        "label": "mean absolute error",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean distance of estimates from what happened, in the outcome's own unit.",
    },
    "r2": {
        "label": "R²",
        "bounds": [None, 1],
        "better": "more",
        "meaning": "Share of the spread of the outcome that estimates explain.",
    },
    "mean_error": {"label": "mean error", "meaning": "Mean of estimates minus what happened."},
    "rows_hidden": {
        "label": "outcomes not looked at",
        "unit": "rows",
        "meaning": "Rows with an outcome that the config says is not to be seen.",
    },
    "outcome_mean": {"label": "mean outcome", "meaning": "Mean outcome of the labeled rows."},
    "target_rate": {
        "label": "estimated share",
        "unit": "share",
        "percent": True,
        "meaning": "Estimated share of 1 among the rows that answers are for: mean estimate, put "
        "right by what labeled rows show.",
    },
    "target_mean": {
        "label": "estimated mean",
        "meaning": "Estimated mean outcome of the rows that answers are for.",
    },
    "rate_doubly_robust": {
        "label": "share by method and weights",
        "unit": "share",
        "percent": True,
        "meaning": "Estimated share of 1 in the target: a method's mean estimate plus the weighted "
        "mean of its errors; right where either the method or the weights are.",
    },
    "mean_doubly_robust": {
        "label": "mean by method and weights",
        "meaning": "Estimated mean of the target: mean estimate of a method plus the weighted mean "
        "of its errors; right where either the method or the weights are.",
    },
    "accuracy_doubly_robust": {
        "label": "accuracy by method and weights",
        "bounds": [0, 1],
        "better": "more",
        "percent": True,
        "meaning": "Accuracy expected over the target, put right by the weighted errors of that.",
    },
    "brier_doubly_robust": {
        "label": "Brier score by method and weights",
        "bounds": [0, 1],
        "better": "less",
        "digits": 3,
        "meaning": "Expected Brier score over the target, put right by weighted errors of that.",
    },
    "outside": {
        "label": "rows like nobody labeled",
        "unit": "share",
        "better": "less",
        "percent": True,
        "meaning": "Share of the rows without an outcome that resemble no row with one: their "
        "answers rest on the form of the model alone.",
    },
    "rows_outside": {
        "label": "rows like nobody labeled",
        "unit": "rows",
        "better": "less",
        "meaning": "Rows without an outcome that resemble no row with one.",
    },
    "rows_outside_by": {
        "label": "rows outside, by what sets them apart",
        "unit": "rows",
        "meaning": "Rows that resemble no labeled row, by the column that is furthest out.",
    },
    "no_overlap": {
        "label": "unlabeled below the labeled",
        "unit": "share",
        "better": "less",
        "percent": True,
        "meaning": "Share of the rows without an outcome that are less likely to have one than "
        "nearly all rows that do: no weight can make up for them.",
    },
    "design_effect": {
        "label": "design effect",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Labeled rows over effective rows: how many times the weights blow up the "
        "variance (Kish).",
    },
    "delivered": {"label": "given away", "meaning": "The method whose answers are in the files."},
    "decisions_open": {
        "label": "decisions open at Γ = 2",
        "unit": "share",
        "better": "less",
        "percent": True,
        "meaning": "Share of the rows without an outcome whose decision would turn if their odds "
        "were twice as large, or half as large: estimates between 1/3 and 2/3.",
    },
}
