"""How metrics of predictions are told."""

MEASURES = {
    "accuracy": {
        "label": "accuracy",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Share of rows whose yes or no is predicted right.",
    },
    "balanced_accuracy": {
        "label": "balanced accuracy",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Mean of the shares predicted right among the positives and among the "
        "negatives.",
    },
    "auc": {
        "label": "AUC",
        "unit": "share",
        "better": "more",
        "meaning": "Chance that a positive row gets a higher score than a negative one: 0.5 is "
        "guessing, 1 is perfect.",
    },
    "log_loss": {
        "label": "log loss",
        "unit": "nats",
        "better": "less",
        "meaning": "Mean surprise at the true outcome given the predicted probabilities; less is "
        "better.",
    },
    "brier": {
        "label": "Brier score",
        "better": "less",
        "meaning": "Mean squared distance of predicted probabilities from what happened, 0 or 1.",
    },
    "calibration_error": {
        "label": "calibration error",
        "better": "less",
        "meaning": "Mean distance of predicted probabilities from the shares that came true.",
    },
    "squared_loss": {
        "label": "squared loss",
        "better": "less",
        "meaning": "Mean squared distance of predictions from what happened.",
    },
    "effective_rows": {
        "label": "effective rows",
        "digits": 0,
        "meaning": "How many rows of equal weight would say as much.",
    },
    "largest_keep_weight": {
        "label": "largest weight of a kept row",
        "meaning": "How many rows the heaviest kept row stands for.",
    },
    "probabilities_clipped": {
        "label": "probabilities moved from 0 or 1",
        "digits": 0,
        "counted": True,
        "meaning": "Predictions of exactly 0 or 1, which the log loss cannot judge and which were "
        "moved a little.",
    },
    "reliability_predicted": {
        "label": "predicted share",
        "meaning": "Mean prediction of the rows of a bin.",
    },
    "reliability_observed": {
        "label": "observed share",
        "meaning": "Share of positives among the rows of a bin.",
    },
}
