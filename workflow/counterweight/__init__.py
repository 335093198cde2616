"""Counterweight: learn, decide, collect and evaluate from biased samples.

The public names stand in a namespace a task: ``from counterweight.constraints import
ConstrainedClassifier``; `TASKS` has them all. What every task needs (`load`, `Estimate`,
`CounterweightError`) stands at the top, and the top has the other names too, as before there were
tasks. A name is imported when it is first asked for, so that ``import counterweight`` itself loads
neither numpy nor scikit-learn. Everything else is internal: modules and what they hold may change
or move in any version.

One subpackage a stage of the workflow, in the order of the flow: ``datasets``,
``labeling``, ``selection``, ``weighting``, ``models``, ``evaluation``,
``reporting``. Nothing in here knows Snakemake, and nothing in here or in the workflow's scripts
imports from the top: the digest of a job covers the modules that it names.
"""

import importlib
import sys
from types import ModuleType

__version__ = "1.0.0"

#: What each task is about, and the modules that hold its public names.
TASKS = {
    "selection": (
        "Outcomes that only a part of the rows has: who is labeled, weights, models, tilts.",
        {
            "answers": "missing_outcomes Answers",
            "delivery.saved_scores": "SavedScores",
            "selection.selectors": "selection_probabilities LogisticSelector "
            "GradientBoostingSelector",
            "selection.mixture_selector": "GaussianMixtureSelector",
            "weighting.importance_weights": "general_weights unlabeled_weights cap_weights "
            "effective_sample_size",
            "weighting.sample": "Sample",
            "models.logistic": "LogisticModel AdaptedLogistic CostingClassifier",
            "models.boosting": "BoostedClassifier",
            "models.joint_fits": "JointClassifier TwoSourceClassifier",
            "models.class_mixtures": "GenerativeClassifier ShiftedMixtureClassifier",
            "models.tilted": "TiltedClassifier",
            "numerics.tilt": "class_shares estimate_delta tilted",
        },
    ),
    "logs": (
        "Logs that lost zeros: which rows are kept, models of them, values of policies.",
        {
            "delivery.saved_log_values": "SavedValues",
            "numerics.zero_rejection": "kept_rows keep_weights rate_for_share",
            "models.subsampling.subsampled": "SubsampledClassifier",
            "models.subsampling.budgeted": "BudgetedClassifier",
            "models.subsampling.calibrated_subsample": "CalibratedSubsampleClassifier "
            "CalibratedSubsampleRegressor OnePassClassifier OnePassRegressor",
            "evaluation.policy_value": "ips snips doubly_robust value_from_parquet",
        },
    ),
    "metrics": (
        "Metrics of weighted rows with standard errors, and their differences.",
        {"evaluation.metrics": "metric_estimate grouped_estimate compare_metrics compare_segments"},
    ),
    "offers": (
        "Offers and answers: who accepts what, which offer brings most.",
        {
            "delivery.saved_offers": "SavedOffers",
            "models.choice.predictive_choice": "PredictiveChoiceModel",
            "models.choice.additive": "OfferAdditive",
            "models.choice.baselines": "OfferLogistic OfferNaiveBayes OfferTree",
            "models.choice.logitboost": "LogitBoost LogisticTree OfferBoosting",
            "evaluation.offer_value": "offer_value",
        },
    ),
    "filters": (
        "Balanced samples: whom to accept so that groups get even, without asking the group.",
        {
            "delivery.saved_filters": "SavedFilter read_filter apply_filter",
            "selection.split_tree": "SplitTreeProxy",
            "selection.group_proxies": "RegressionProxy TreeProxy",
        },
    ),
    "constraints": (
        "Promises on rates: classifiers that keep them, of groups and of all.",
        {
            "delivery.saved_classifiers": "SavedClassifier",
            "models.constraints.constrained": "ConstrainedClassifier RetrainedClassifier",
            "models.constraints.linear_svm": "CovarianceConstraint GroupThresholds "
            "ShiftedThreshold NeymanPearsonSVM",
            "models.constraints.thresholds": "GivenScores",
            "models.constraints.reductions": "ReductionsClassifier",
            "models.constraints.fairlearn_models": "ExponentiatedGradientModel "
            "ThresholdOptimizerModel",
        },
    ),
    "collect": (
        "Labels bought by design: chances, answers, what they refute.",
        {
            "delivery.label_plans": "LabelPlan LabelAnswers",
            "delivery.group_plans": "GroupPlan GroupAnswers",
            "delivery.offer_plans": "OfferPlan TriedAnswers",
            "numerics.designs": "inclusion_chances expected_half_width budget_for draw "
            "stopped_chances look_levels anytime_interval",
            "evaluation.collected": "collected_mean collected_by_group collected_metric "
            "collected_calibration collected_difference",
            "evaluation.refutation": "refuted refusal_bounds collected_rates Decided",
            "models.combined_labels": "combined_model",
        },
    ),
    "plots": (
        "Figures for notebooks, which give matplotlib's Axes.",
        {
            "reporting.plots": "love_plot overlap weights calibration gamma_curve policy_values "
            "price_revenue accepted_shares leaf_shifts promised_rates label_budget"
        },
    ),
}
#: What every task needs, at the top alone.
COMMON = {
    "errors": "CounterweightError",
    "delivery.saved_models": "load",
    "numerics.estimate": "Estimate",
}
#: Methods of public classes that jobs and other modules call, and users do not: the reference
#: leaves them out, and `dir` of what is saved.
_INTERNAL = (
    "to_arrays from_arrays to_saved from_saved typed new_rows answered answers added encode tell "
    "encoded sums part named batches scored score_file kinds_of asked_columns refitted refits "
    "prepare settled has_draws parts_of set_params get_params joint_log_density "
    "training_answers scores_of fit_warnings_ warnings_ repairs_ trivial_told_ repairs_told_ of "
    "decided fitted fitted_on leaf raw precision bootstrap_totals told bootstrap_claims "
    "n_parameters memberships boxes unlike infeasibility_ drift unidentified digest released "
    "priced accepted along choices threshold_moves steps fit_sweep path left_out_losses "
    "certificate_ expected_of optimism by_choosing total_ends between regrown rough BATCH KIND shown known "
    "pooled_reasons "
)
INTERNAL = frozenset(_INTERNAL.split())


def _by_name(modules):
    return {name: module for module, names in modules.items() for name in names.split()}


#: Public names of each task and the modules that hold them, and those of the top.
NAMES = {task: _by_name(modules) for task, (_, modules) in TASKS.items()}
PUBLIC = _by_name(COMMON)
for _task, _names in NAMES.items():
    # Names of plots say nothing without their namespace.
    PUBLIC |= _names if _task != "plots" else {}
__all__ = [*PUBLIC, *TASKS]  # noqa: PLE0604


class Task(ModuleType):
    """The namespace of a task, such as ``counterweight.offers``.

    The package of the stage of that name, if there is one, has the task's names beside its own.
    """

    def __getattr__(self, name):
        names = NAMES[self.__name__.rpartition(".")[2]]
        return [*names] if name == "__all__" else _found(self, names, name)

    def __dir__(self):
        return sorted(NAMES[self.__name__.rpartition(".")[2]])


def _found(module, names, name):
    """A public name, imported when it is first asked for, and kept in its namespace."""
    if name not in names:
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{names[name]}"), name)
    setattr(module, name, value)
    return value


for _task, (_about, _) in TASKS.items():
    _path = f"{__name__}.{_task}"
    if _task == "selection":  # also a stage of the flow, whose package holds a registry and no more
        importlib.import_module(_path).__class__ = Task
    else:
        sys.modules[_path] = globals()[_task] = Task(_path, _about)


def __getattr__(name):
    """Import a public name when it is first asked for."""
    return _found(sys.modules[__name__], PUBLIC, name)


def __dir__():
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
