"""Names, units and grades of what studies on dataset constraints measure."""

from counterweight.files.settings import setting_options

#: Rates are shares: their differences are told in points.
_RATES = {
    "error": "error",
    "churn": "churn",
    "recall": "recall",
    "coverage": "coverage",
    "false_positive_rate": "false positive rate",
    "false_negative_rate": "false negative rate",
    "precision": "precision",
    "egregious": "share of egregious rows right",
}
_RULES = ("deterministic", "randomised")
#: Metrics of a measure in print, for the rates above.
_OF_RATE = (
    {rule: f"{rule} {{}}" for rule in _RULES}
    | {f"{rule}_at_equal": f"{rule} {{}} at equal {{other}}" for rule in _RULES}
    | {
        "deployed": "{} of the deployed model",
        "gap": "test minus training value of the randomised {}",
    }
)
RATE_SHARES = frozenset({"disagreement", "wins_share", "late_fall"})
RATE_NAMES = {
    "final_objective": "objective",
    "objective_rise": "largest rise of the objective",
    "asked_excess_deterministic": "deterministic excess over what was asked",
    "asked_excess_randomised": "randomised excess over what was asked",
    "steps_rising": "number of convex steps in which the objective rose",
    "steps_violated": "number of convex steps that left the constraints",
    "late_fall": "share of the objective's fall after step 5",
    "largest_violation": "largest violation",
    "final_violation": "violation at the end",
    "final_gap": "certified gap",
    "largest_gap": "certified gap of a step",
    "evaluations": "evaluations",
    "evaluations_per_step": "evaluations in a step",
    "bound_gap": "largest distance of bound and ramp at the current solution",
    "bound_excess": "least of bound minus ramp",
    "objective_unexplained": "objective minus the measured rates and the penalty",
    "coefficient_norm": "norm of the coefficients",
    "feasible": "share of feasible fits",
    "sign_test_labels": "labels that a sign test needs",
    "sign_test_drawn": "rows to draw for a sign test",
    "labels_needed": "labels that show the new model is better",
    "wins_share": "share of disagreements won",
    "disagreement": "share of disagreements",
    "sample_rows": "rows of the data set",
    "sample_positives": "positives",
}
#: Told in per cent of what was asked.
RATE_RELATIVE = frozenset(f"asked_excess_{rule}" for rule in _RULES)
RATE_UNITS = {
    "steps_rising": "steps",
    "steps_violated": "steps",
    "sign_test_labels": "labels",
    "sign_test_drawn": "rows",
    "labels_needed": "labels",
    "sample_rows": "rows",
    "sample_positives": "rows",
}

#: Methods of these studies, as tables and claims name them.
RATE_METHODS = {
    "svm": "Unconstrained SVM",
    "ramp": "Ramp constraints",
    "ramp_one": "Ramp, one convex step",
    "hinge": "Hinge constraints",
    "zafar": "Zafar et al.",
    "shifted": "Shifted SVM",
    "thresholds": "Group thresholds",
    "fairlearn_gradient": "Exponentiated gradient",
    "fairlearn_thresholds": "Threshold optimiser",
    "ramp_svm_start": "Ramp constraints from the SVM",
    "ramp_cutting": "Ramp constraints by cutting planes",
    "ramp_held_out": "Ramp constraints held on other rows",
}

#: Relative excess over what was asked, on training rows (randomised): good, fair up to.
TRAIN_EXCESS = (0.001, 0.02)
#: Relative distance from what was asked, on test rows: good, fair up to.
TEST_DISTANCE = (0.08, 0.16)
#: Absolute excess of a churn over its target on training rows: good, fair up to.
CHURN_EXCESS = (0.001, 0.005)


def is_rate(metric):
    """Whether a metric is of a measure that the study names."""
    return metric in _OF_RATE


def rate_share(metric, measure):
    """Whether differences of a metric of a measure are told in points."""
    return metric in _OF_RATE and measure in _RATES


def rate_name(metric, measure, setting=""):
    """A metric of a measure in print; the setting names what is equal in a comparison."""
    if measure in _RATES or measure == "ratio":
        other = next(iter(setting_options(setting)), "values")
        return _OF_RATE[metric].format(_RATES.get(measure, measure), other=other)
    return f"{measure}_{metric}".replace("_", " ")


def measure_name(measure):
    """A measure of a study in print; ``error_d1`` is the error on the data set d1."""
    if measure in _RATES:
        return _RATES[measure]
    rate, _, part = measure.partition("_")
    return f"{rate} on {part}" if rate in _RATES and part else measure.replace("_", " ")


def is_share(measure):
    """Whether a measure is told in per cent."""
    return measure in _RATES or measure.partition("_")[0] in _RATES
