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
    "metrics": "counterweight.evaluation.predictions:evaluate_predictions",
    "ranking_resamples": "counterweight.evaluation.predictions:ranking_resamples",
    "policy_value": "counterweight.evaluation.resampled_logs:policy_value",
    "own_values": "counterweight.evaluation.log_values:own_values",
    "score_metrics": "counterweight.evaluation.scored_log:score_metrics",
    "offers": "counterweight.evaluation.offer_evaluation:evaluate_offers",
    "rates": "counterweight.evaluation.rates:evaluate_rates",
    "cross_validation": "counterweight.evaluation.cross_validation:cross_validation",
    "filtering": "counterweight.evaluation.filter_evaluation:evaluate_filter",
}
