"""Stage 5: models of p(y | x), trained on the labeled rows."""

MODELS = {
    "logistic": "counterweight.models.logistic:LogisticModel",
    "generative": "counterweight.models.generative:GenerativeClassifier",
    "shifted_mixture": "counterweight.models.shifted_mixture:ShiftedMixtureClassifier",
    "subsampled": "counterweight.models.subsampled:SubsampledClassifier",
    "budgeted": "counterweight.models.budgeted:BudgetedClassifier",
    "uniform_policy": "counterweight.models.policies:UniformPolicy",
    "imitated_policy": "counterweight.models.policies:ImitatedPolicy",
    "column_policy": "counterweight.models.policies:ColumnPolicy",
    "predictive_choice": "counterweight.models.predictive_choice:PredictiveChoiceModel",
    "offer_logistic": "counterweight.models.offer_logistic:OfferLogistic",
    "logitboost": "counterweight.models.logitboost:LogitBoost",
    "logistic_tree": "counterweight.models.logistic_tree:LogisticTree",
    "constrained": "counterweight.models.constrained:ConstrainedClassifier",
    "covariance_constraint": "counterweight.models.covariance_constraint:CovarianceConstraint",
    "group_thresholds": "counterweight.models.group_thresholds:GroupThresholds",
    "shifted_threshold": "counterweight.models.shifted_threshold:ShiftedThreshold",
    "exponentiated_gradient": "counterweight.models.fairlearn_models:ExponentiatedGradientModel",
    "threshold_optimizer": "counterweight.models.fairlearn_models:ThresholdOptimizerModel",
    "balanced_filter": "counterweight.models.balanced_filter:BalancedFilter",
}
