"""Stage 6: metrics with standard errors, and the protocols that apply them."""

METRICS = {
    "accuracy": "counterweight.evaluation.metrics:accuracy",
    "balanced_accuracy": "counterweight.evaluation.metrics:balanced_accuracy",
    "auc": "counterweight.evaluation.metrics:auc",
    "log_loss": "counterweight.evaluation.metrics:log_loss",
    "brier": "counterweight.evaluation.metrics:brier",
    "calibration_error": "counterweight.evaluation.metrics:calibration_error",
}

PROTOCOLS = {
    "metrics": "counterweight.evaluation.evaluate:evaluate_predictions",
    "ranking_resamples": "counterweight.evaluation.ranking_resamples:ranking_resamples",
    "policy_value": "counterweight.evaluation.policy_value:policy_value",
    "offers": "counterweight.evaluation.offers:evaluate_offers",
    "rates": "counterweight.evaluation.rates:evaluate_rates",
    "filtering": "counterweight.evaluation.filtering:evaluate_filter",
}
