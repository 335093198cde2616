"""How numbers and names are written, in every table, claim and figure alike."""

import math

from counterweight.files.settings import setting_options
from counterweight.reporting.rates.words import (
    RATE_METHODS,
    RATE_NAMES,
    RATE_RELATIVE,
    RATE_SHARES,
    RATE_UNITS,
    is_rate,
    rate_name,
    rate_share,
)

MINUS = "\N{MINUS SIGN}"

#: Metrics that are shares: differences are told in percentage points.
SHARES = frozenset(
    {
        "accuracy",
        "balanced_accuracy",
        "auc",
        "positive_share",
        "decisions_moved",
        "share_extreme",
        "auc_bias",
        "auc_spread",
        "auc_covered",
        "auc_deviation",
        "auc_deviation_quantile",
        "agarwal_bound",
        "bound_violated",
        "covered",
        "accept_share",
        "offer_variation",
        "accuracy_worst",
        "accuracy_group",
    }
)
SHARES |= RATE_SHARES
#: Of these, the ones that tables show in per cent; an AUC is a share but is written as one number.
IN_PERCENT = frozenset({"accuracy", "balanced_accuracy"})
#: Metrics of which less is better.
LOSSES = frozenset({"brier", "log_loss", "calibration_error", "squared_loss", "rmse", "kl", "mdl"})
#: Metrics that are told relative to a value: in per cent of it.
RELATIVE = frozenset({"ratio_bias", "identity_gap"}) | RATE_RELATIVE
#: What else a metric is counted in.
UNITS = {
    "log_loss": "nats",
    "log_likelihood": "nats per row",
    "unlabeled_log_likelihood": "nats per row",
    "rows_labeled": "rows",
    "rows_unlabeled": "rows",
    "rows_test": "rows",
    "rows_all": "rows",
    "rows_capped": "rows",
    "components_held": "updates",
    "balance_before": "sd",
    "balance_after": "sd",
    "balance_z": "standard errors",
    "budget_excess": "rows",
    "rows_bought": "rows",
    "rows_kept": "rows",
    "rows_train": "rows",
    "kl": "nats",
    "mdl": "nats",
}
METRIC_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "log_loss": "log loss",
    "brier": "Brier score",
    "positive_share": "share of positives",
    "log_likelihood": "unlabeled log-likelihood",
    "decisions_moved": "decisions that moved",
    "rows_labeled": "labeled rows",
    "rows_unlabeled": "unlabeled rows",
    "rows_test": "test rows",
    "rows_all": "rows in all",
    "mean_weight": "mean weight",
    "balance_z": "imbalance",
    "balance_before": "imbalance before weighting",
    "balance_after": "imbalance after weighting",
    "largest_weight": "largest weight",
    "largest_uncapped": "largest weight before the cap",
    "components_held": "component updates held back",
    "calibration_error": "calibration error",
    "squared_loss": "squared loss",
    "drop_zero_change": "effect of dropping zero rows on the value",
    "zero_details_change": "effect of altering zero rows on the value",
    "identity_gap": "error of the mean over kept rows",
    "ratio_bias": "bias of the ratio estimator",
    "ratio_bias_times_n": "bias times n",
    "rows_per_nonzero": "rows stored for each non-zero row",
    "auc_bias": "bias of the AUC",
    "auc_spread": "spread of the AUC",
    "auc_covered": "coverage of the AUC",
    "auc_deviation": "mean deviation of the AUC",
    "auc_deviation_quantile": "upper quantile of the AUC's deviation",
    "agarwal_bound": "Agarwal bound",
    "bound_violated": "share of resamples beyond the bound",
    "budget_excess": "rows bought beyond the budget",
    "spline_gap": "distance from the spline of all calibration rows",
    "rmse": "RMSE",
    "rmse_test": "RMSE on new people",
    "rmse_component": "RMSE on a component",
    "rmse_floor": "RMSE of the true parameters",
    "kl": "divergence of the mixtures",
    "mdl": "description length",
    "components_chosen": "chosen number of segments",
    "excess_disclosivity": "disclosivity on test rows beyond training",
    "excess_imbalance": "imbalance on test rows beyond training",
    "bound_disclosivity": "bound of the disclosivity",
    "bound_imbalance": "bound of the imbalance",
    "starting_imbalance": "imbalance before filtering",
    "imbalance_expected": "imbalance of the realised distribution",
    "distance": "distance of the hull from the target",
    "hull_gap": "slack of the nearest point",
    "disclosivity_nodes": "disclosivity of all nodes",
    "lemma3_splits": "splits that meet Lemma 3",
    "split_shrink": "remaining share of the distance after a split",
    "leaves": "number of leaves",
    "group_gain": "gain of a group's share",
    "leaf_share": "share of a group in a leaf",
    "attribute_accuracy": "accuracy for the group",
    "attribute_majority": "largest group",
    "accuracy_worst": "accuracy in the worst group",
    "rows_train": "training rows",
    "likelihood_drop": "largest fall of the log-likelihood",
    "closed_form_gap": "distance of the closed form from the search",
    "slopes_at_bound": "slopes at their bound",
    "enrolment_predicted": "predicted enrolment",
    "enrolment_actual": "actual enrolment",
    "enrolment_true": "true expected enrolment",
    "enrolment_error": "error of the enrolment",
    "enrolment_claimed": "claimed enrolment with best offers",
    "enrolment_optimal_true": "true enrolment with best offers",
    "revenue_predicted": "predicted revenue",
    "revenue_actual": "actual revenue",
    "revenue_true": "true expected revenue",
    "revenue_error": "error of the revenue",
    "revenue_claimed": "claimed revenue with best offers",
    "revenue_optimal_true": "true revenue with best offers",
    "revenue_best_possible": "best possible revenue",
    "revenue_snips": "SNIPS revenue",
    "revenue_ips": "IPS revenue",
    "regression_p": "p value",
    "regression_beta": "standardised coefficient",
    "regression_r2": "R²",
    "regression_adjusted_r2": "adjusted R²",
    "accept_share": "share that accepts",
}
UNITS |= RATE_UNITS
METRIC_NAMES |= RATE_NAMES
#: Estimators of a policy's value, as tables and figures name them.
ESTIMATORS = {
    "ips": "IPS",
    "ips_lost": "IPS without the count",
    "snips": "SNIPS",
    "dr": "Doubly robust",
}
#: What families of studies are about, as headings.
FAMILIES = {
    "selection_bias": "Labels of a selected part",
    "subsampled_evaluation": "Evaluation on subsampled logs",
    "predictive_choice": "Offers and answers",
    "dataset_constraints": "Classifiers under constraints",
    "balanced_filtering": "Balanced samples without asking for the group",
}
#: Ways to correct for training on subsampled rows, as parts of a method's id.
CORRECTIONS = {
    "weights": "weighted",
    "spline": "spline calibration",
    "prior": "prior correction",
    "none": "uncorrected",
}
_MODELS = {
    "logistic": "Logistic regression",
    "generative": "Class mixtures",
    "shifted_mixture": "Shifted mixture",
    "predictive_choice": "Choice model",
    "offer_logistic": "Logistic regression",
    "logitboost": "LogitBoost",
    "logistic_tree": "Logistic model tree",
}
_LEARNERS = {
    "sgd": "SGD regression",
    "logistic": "Logistic regression",
    "boosting": "Gradient boosting",
    "tree": "Tree",
}
_MARKS = {
    "lemma1": "Lemma 1",
    "lemma2": "Lemma 2",
    "components": "by component",
    "interactions": "with interactions",
}
_SHARES_OF_BUDGET = {
    "natural": "natural share",
    "balanced": "balanced",
    "progressive": "progressive sampling",
    "oversampled": "positives oversampled",
    "all": "all rows",
    "shares": "fixed share",
    "plain": "all rows",
    "error": "by error",
    "odds": "corrected by odds",
}
_OPTIONS = {"keep_rate": "l", "share": "positives", "kappa": "κ", "alpha": "α", "eta": "η"}
#: Proxies of balanced filtering by method id, and presets as its last part.
_PROXIES = {
    "naive_regression": "Naive regression",
    "naive_tree": "Naive tree",
    "qp_regression": "QP regression",
    "qp_tree": "QP tree",
    "alpha_beta": "(α,β)-proxy",
    "relaxed": "Relaxed proxy",
}
_PRESETS = {"deep": "deep", "paper": "the paper's stop rule", "fixed": "thresholded splits"}


def unit(metric, measure=""):
    """``(unit, factor)``: what differences of a metric are told in, and the multiplier."""
    if metric in SHARES or rate_share(metric, measure):
        return "points", 100.0
    if metric in RELATIVE:
        return "% of the value", 100.0
    return UNITS.get(metric, ""), 1.0


def metric_name(metric, measure="", setting=""):
    """A metric in print, with the measure that it is of, if any."""
    if is_rate(metric):
        return rate_name(metric, measure, setting)
    return METRIC_NAMES.get(metric, metric.replace("_", " "))


def number(value, digits=2, sign=False):
    """A number with a true minus sign, thin spaces between thousands, a dash for NaN."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    text = f"{abs(value):,.{digits}f}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    if not float(f"{abs(value):.{digits}f}"):
        return text
    return (MINUS if value < 0 else "+" if sign else "") + text


def digits(unit_name, *values):
    """Digits after the point for numbers of a unit.

    Whole numbers for counts, two digits for points; otherwise as many as leave three
    figures of the largest of `values`, at least two (three for log losses), at most six.
    """
    if unit_name in {"rows", "updates"}:
        return 0
    if unit_name == "points":
        return 2
    return places_for(values, 3 if unit_name.startswith("nats") else 2)


def places_for(values, least=2, figures=3, most=6):
    """Digits after the point that leave some figures of the largest of `values`."""
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes:
        return least
    return min(max(least, figures - 1 - math.floor(math.log10(max(sizes)))), most)


def percent(value, places=1):
    return "–" if value is None or math.isnan(value) else number(100 * value, places) + " %"


def chance_text(value):
    """A chance in per cent that shows 0 and 1 only where it is that."""
    if value is None or math.isnan(value):
        return "–"
    if 0 < value < 0.0005:
        return "< 0.05 %"
    if 0.9995 < value < 1:
        return "> 99.9 %"
    return percent(value, 0 if value in (0, 1) else 2 if value < 0.01 else 1)


def interval(low, high, places=2):
    """``[low, high]``, or nothing where there is no interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"[{number(low, places)}, {number(high, places)}]"


def method_label(method):
    """The name of a method in print: the plan's label, else made from its id.

    An id is the model and what sets it apart, joined by hyphens: ``logistic-lemma1``
    becomes *Logistic regression (Lemma 1)*.
    """
    name = method["id"]
    if method.get("label") and method["label"] != name:
        return method["label"]
    model = method.get("model") or ""
    base, _, rest = name.partition("-")
    if model in {"subsampled", "budgeted"} and rest:
        return _learner_label(base, rest)
    if model == "balanced_filter":
        return _proxy_label(name)
    if base != model and base not in RATE_METHODS:
        return name.replace("_", " ")
    base = RATE_METHODS.get(base) or _MODELS.get(model, model.replace("_", " ").capitalize())
    words = [_MARKS.get(word, word.replace("_", " ")) for word in rest.split("-") if word]
    return f"{base} ({', '.join(words)})" if words else base


def _proxy_label(name):
    """``alpha_beta_deep`` as *(α,β)-proxy, deep*."""
    base, _, last = name.rpartition("_")
    if base in _PROXIES and last in _PRESETS:
        return f"{_PROXIES[base]}, {_PRESETS[last]}"
    return _PROXIES.get(name, name.replace("_", " "))


def learner_name(learner):
    """``sgd`` as *SGD regression*."""
    return _LEARNERS.get(learner, learner.replace("_", " ").capitalize())


def _learner_label(learner, rest):
    """``sgd-weights`` as *SGD regression, weighted*."""
    known = CORRECTIONS | _SHARES_OF_BUDGET
    words = [known.get(word, word.replace("_", " ")) for word in rest.split("-")]
    return ", ".join([learner_name(learner), *words])


def estimator_name(estimator):
    return ESTIMATORS.get(estimator, estimator.replace("_", " "))


def family_name(family):
    return FAMILIES.get(family, family.replace("_", " ").capitalize())


def setting_label(setting):
    """A setting of a sweep in print: ``keep_rate=0.1`` as *l = 0.1*."""
    return ", ".join(
        f"{option_name(key)} = {option_text(value)}"
        for key, value in setting_options(setting).items()
    )


def option_text(value):
    """The value of an option in print."""
    return f"{value:g}" if isinstance(value, float) else value


def option_name(option):
    """``alpha`` as *α*."""
    return _OPTIONS.get(option, option.replace("_", " "))


def count(amount, noun, plural=None):
    """``1 method``, ``2 methods``."""
    return f"{amount} {noun if amount == 1 else plural or noun + 's'}"


def listing(words):
    """``a, b and c``."""
    words = [str(word) for word in words]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
