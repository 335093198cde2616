"""Counterweight: learn, decide, collect and evaluate from biased samples.

The public names are those of ``__all__``, at the top of the package: ``from counterweight import
ConstrainedClassifier``. A name is imported when it is first asked for, so that ``import
counterweight`` itself loads neither numpy nor scikit-learn. Everything else is internal: modules
and what they hold may change or move in any version.

One subpackage a stage of the workflow, in the order of the flow: ``datasets``,
``labeling``, ``selection``, ``weighting``, ``models``, ``evaluation``,
``reporting``. Nothing in here knows Snakemake, and nothing in here or in the workflow's scripts
imports from the top: the digest of a job covers the modules that it names.
"""

import importlib

__version__ = "1.0.0"

#: Public names and the modules that hold them.
PUBLIC = {
    "CounterweightError": "errors",
    # A frame with blank outcomes: answers, model and page in one call.
    "missing_outcomes": "answers",
    "Answers": "answers",
    # Saved models of every family, by load.
    "load": "delivery.saved_models",
    "SavedScores": "delivery.saved_scores",
    "LabelPlan": "delivery.label_plans",
    "LabelAnswers": "delivery.label_plans",
    "SavedClassifier": "delivery.saved_classifiers",
    "SavedOffers": "delivery.saved_offers",
    "SavedValues": "delivery.saved_log_values",
    # Who is labeled, and the weights that make up for it.
    "selection_probabilities": "selection.crossfit",
    "LogisticSelector": "selection.selectors",
    "GradientBoostingSelector": "selection.selectors",
    "GaussianMixtureSelector": "selection.selectors",
    "general_weights": "weighting.importance_weights",
    "unlabeled_weights": "weighting.importance_weights",
    "cap_weights": "weighting.importance_weights",
    "effective_sample_size": "weighting.importance_weights",
    "Sample": "weighting.sample",
    # Classifiers.
    "LogisticModel": "models.logistic",
    "BoostedClassifier": "models.boosting",
    "CostingClassifier": "models.costing",
    "AdaptedLogistic": "models.logistic",
    "JointClassifier": "models.bickel_joint",
    "GenerativeClassifier": "models.generative",
    "ShiftedMixtureClassifier": "models.shifted_mixture",
    "TwoSourceClassifier": "models.two_sources",
    "TiltedClassifier": "models.tilted",
    "class_shares": "numerics.tilt",
    "estimate_delta": "numerics.tilt",
    "tilted": "numerics.tilt",
    # Rows that lost zeros: rejection, calibration, metrics, values of policies.
    "kept_rows": "numerics.zero_rejection",
    "keep_weights": "numerics.zero_rejection",
    "rate_for_share": "numerics.zero_rejection",
    "SubsampledClassifier": "models.subsampling.subsampled",
    "BudgetedClassifier": "models.subsampling.budgeted",
    "OnePassClassifier": "models.subsampling.one_pass",
    "OnePassRegressor": "models.subsampling.one_pass",
    "CalibratedSubsampleClassifier": "models.subsampling.calibrated_subsample",
    "CalibratedSubsampleRegressor": "models.subsampling.calibrated_subsample",
    "Estimate": "numerics.estimate",
    "metric_estimate": "evaluation.metrics",
    "grouped_estimate": "evaluation.metrics",
    "compare_metrics": "evaluation.metrics",
    "compare_segments": "evaluation.metrics",
    "ips": "evaluation.policy_value",
    "snips": "evaluation.policy_value",
    "doubly_robust": "evaluation.policy_value",
    "value_from_parquet": "evaluation.policy_value",
    # Labels bought by design: chances, answers, what they refute.
    "inclusion_chances": "numerics.designs",
    "expected_half_width": "numerics.designs",
    "budget_for": "numerics.designs",
    "draw": "numerics.designs",
    "stopped_chances": "numerics.designs",
    "look_levels": "numerics.looks",
    "anytime_interval": "numerics.looks",
    "collected_mean": "evaluation.collected",
    "collected_by_group": "evaluation.collected",
    "collected_metric": "evaluation.collected",
    "collected_calibration": "evaluation.collected",
    "refusal_bounds": "evaluation.collected",
    "refuted": "evaluation.refutation",
    "combined_model": "models.combined_labels",
    # Offers and answers.
    "PredictiveChoiceModel": "models.choice.predictive_choice",
    "OfferAdditive": "models.choice.additive",
    "OfferLogistic": "models.choice.baselines",
    "OfferNaiveBayes": "models.choice.baselines",
    "OfferTree": "models.choice.baselines",
    "LogitBoost": "models.choice.logitboost",
    "LogisticTree": "models.choice.logitboost",
    "OfferBoosting": "models.choice.logitboost",
    "offer_value": "evaluation.offer_value",
    # Balanced filters.
    "SplitTreeProxy": "selection.proxies.split_tree",
    "RegressionProxy": "selection.proxies.attributes",
    "TreeProxy": "selection.proxies.attributes",
    "SavedFilter": "delivery.saved_filters",
    "read_filter": "delivery.saved_filters",
    "apply_filter": "delivery.saved_filters",
    # Constraints on rates.
    "ConstrainedClassifier": "models.constraints.constrained",
    "CovarianceConstraint": "models.constraints.svm_baselines",
    "GroupThresholds": "models.constraints.svm_baselines",
    "GivenScores": "models.constraints.decisions",
    "ReductionsClassifier": "models.constraints.reductions",
    "ShiftedThreshold": "models.constraints.svm_baselines",
    "NeymanPearsonSVM": "models.constraints.svm_baselines",
    "RetrainedClassifier": "models.constraints.constrained",
    "ExponentiatedGradientModel": "models.constraints.fairlearn_models",
    "ThresholdOptimizerModel": "models.constraints.fairlearn_models",
}

__all__ = list(PUBLIC)


def __getattr__(name):
    """Import a public name when it is first asked for."""
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{PUBLIC[name]}"), name)
    return value


def __dir__():
    return sorted(set(globals()) | set(PUBLIC))
