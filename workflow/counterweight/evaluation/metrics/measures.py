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
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean surprise at the true outcome given the predicted probabilities; less is "
        "better.",
    },
    "brier": {
        "label": "Brier score",
        "bounds": [0, 1],
        "better": "less",
        "meaning": "Mean squared distance of predicted probabilities from what happened, 0 or 1.",
    },
    "predicted_over_observed": {
        "label": "predicted over observed",
        "bounds": [0, None],
        "meaning": "Mean prediction over the share of positives among the rows of the highest "
        "predictions: 1 is right, 2 promises twice as many positives as there are.",
    },
    "calibration_error": {
        "label": "calibration error",
        "bounds": [0, 1],
        "better": "less",
        "meaning": "Mean distance of predicted probabilities from the shares that came true.",
    },
    "squared_loss": {
        "label": "squared loss",
        "bounds": [0, None],
        "better": "less",
        "meaning": "Mean squared distance of predictions from what happened.",
    },
    "paired_difference": {
        "label": "difference on the same rows",
        "meaning": "Metric of a method minus that of another one on the same test rows, whose "
        "chances they share.",
    },
    "effective_rows": {
        "label": "effective rows",
        "bounds": [0, None],
        "digits": 0,
        "meaning": "How many rows of equal weight would say as much.",
    },
    "largest_keep_weight": {
        "label": "largest weight of a kept row",
        "bounds": [0, None],
        "meaning": "How many rows the heaviest kept row stands for.",
    },
    "probabilities_clipped": {
        "label": "probabilities moved from 0 or 1",
        "bounds": [0, None],
        "digits": 0,
        "counted": True,
        "meaning": "Predictions of exactly 0 or 1, which the log loss cannot judge and which were "
        "moved a little.",
    },
    "reliability_predicted": {
        "label": "predicted share",
        "bounds": [0, 1],
        "meaning": "Mean prediction of the rows of a bin.",
    },
    "reliability_observed": {
        "label": "observed share",
        "bounds": [0, 1],
        "meaning": "Share of positives among the rows of a bin.",
    },
    "swept_rate": {
        "label": "share of 1, by Γ",
        "unit": "share",
        "percent": True,
        "meaning": "Least and largest share of 1 where, at equal features, the odds of having no "
        "label differ between outcomes by a factor of Γ at most.",
    },
    "swept_mean": {
        "label": "mean outcome, by Γ",
        "meaning": "Least and largest mean outcome where, at equal features, the odds of having no "
        "outcome differ between outcomes by a factor of Γ at most.",
    },
    "swept_accuracy": {
        "label": "accuracy, by Γ",
        "unit": "share",
        "better": "more",
        "percent": True,
        "meaning": "Least and largest accuracy where the odds of rows without a label are Γ times "
        "too small or too large at most, each row by itself.",
    },
    "swept_brier": {
        "label": "Brier score, by Γ",
        "bounds": [0, 1],
        "better": "less",
        "meaning": "Least and largest Brier score where the odds of rows without a label are Γ "
        "times too small or too large at most, each row by itself.",
    },
    "swept_gain": {
        "label": "gain in accuracy, by Γ",
        "unit": "points",
        "bounds": [-100, 100],
        "better": "more",
        "digits": 2,
        "meaning": "Least and largest difference in accuracy from the method that learned from "
        "labeled rows as they are, where the odds are Γ times off at most.",
    },
    "turns_at": {
        "label": "Γ at which a conclusion turns",
        "bounds": [0, None],
        "digits": 2,
        "meaning": "Breakdown value: the least Γ at which a conclusion need no longer hold; 1 "
        "where it does not hold at all, 10 where it holds up to the largest that is looked at.",
    },
    "gamma_of_truth": {
        "label": "Γ that holds the truth",
        "bounds": [0, None],
        "digits": 2,
        "meaning": "The least Γ whose bounds hold what the hidden labels say: it sees them, as "
        "nobody could; 10 where the bounds do not hold it up to there.",
    },
}
