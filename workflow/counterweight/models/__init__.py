"""Stage 5: models of p(y | x), trained on the labeled rows."""

MODELS = {
    "logistic": "counterweight.models.logistic:LogisticModel",
    "generative": "counterweight.models.mixtures.generative:GenerativeClassifier",
    "shifted_mixture": "counterweight.models.mixtures.shifted_mixture:ShiftedMixtureClassifier",
    "subsampled": "counterweight.models.subsampling.subsampled:SubsampledClassifier",
    "budgeted": "counterweight.models.subsampling.budgeted:BudgetedClassifier",
    "uniform_policy": "counterweight.models.policies.policies:UniformPolicy",
    "imitated_policy": "counterweight.models.policies.policies:ImitatedPolicy",
    "column_policy": "counterweight.models.policies.policies:ColumnPolicy",
    "predictive_choice": "counterweight.models.choice.predictive_choice:PredictiveChoiceModel",
    "offer_logistic": "counterweight.models.choice.offer_logistic:OfferLogistic",
    "logitboost": "counterweight.models.choice.logitboost:LogitBoost",
    "logistic_tree": "counterweight.models.choice.logistic_tree:LogisticTree",
    "constrained": "counterweight.models.constraints.constrained:ConstrainedClassifier",
    "covariance_constraint": "counterweight.models.constraints.covariance_constraint:CovarianceConstraint",
    "group_thresholds": "counterweight.models.constraints.group_thresholds:GroupThresholds",
    "shifted_threshold": "counterweight.models.constraints.shifted_threshold:ShiftedThreshold",
    "exponentiated_gradient": "counterweight.models.constraints.fairlearn_models:ExponentiatedGradientModel",
    "threshold_optimizer": "counterweight.models.constraints.fairlearn_models:ThresholdOptimizerModel",
    "balanced_filter": "counterweight.models.filters.balanced_filter:BalancedFilter",
}
