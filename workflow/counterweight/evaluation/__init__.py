"""Stage 6: metrics with standard errors."""

METRICS = {
    "accuracy": "counterweight.evaluation.metrics:accuracy",
    "balanced_accuracy": "counterweight.evaluation.metrics:balanced_accuracy",
    "auc": "counterweight.evaluation.metrics:auc",
    "log_loss": "counterweight.evaluation.metrics:log_loss",
    "brier": "counterweight.evaluation.metrics:brier",
}
