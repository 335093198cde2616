"""How numbers and names are written, in every table, claim and figure alike."""

import math

MINUS = "\N{MINUS SIGN}"

#: Metrics that are shares: differences are told in percentage points.
SHARES = frozenset(
    {"accuracy", "balanced_accuracy", "auc", "positive_share", "decisions_moved", "share_extreme"}
)
#: What else a metric is counted in.
UNITS = {
    "log_loss": "nats", "log_likelihood": "nats per row", "unlabeled_log_likelihood":
    "nats per row", "rows_labeled": "rows", "rows_unlabeled": "rows", "rows_test": "rows",
    "rows_all": "rows", "rows_capped": "rows", "components_held": "updates",
    "balance_before": "sd", "balance_after": "sd", "balance_z": "standard errors",
}  # fmt: skip
METRIC_NAMES = {
    "accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "auc": "AUC",
    "log_loss": "log loss", "brier": "Brier score", "positive_share": "share of positives",
    "log_likelihood": "unlabeled log-likelihood", "decisions_moved": "decisions that moved",
    "rows_labeled": "labeled rows", "rows_unlabeled": "unlabeled rows", "rows_test": "test rows",
    "rows_all": "rows in all", "mean_weight": "mean weight", "balance_z": "imbalance",
    "balance_before": "imbalance before weighting", "balance_after": "imbalance after weighting",
    "largest_weight": "largest weight", "largest_uncapped": "largest weight before the cap",
    "components_held": "component updates held back",
}  # fmt: skip
_MODELS = {
    "logistic": "Logistic regression",
    "generative": "Class mixtures",
    "shifted_mixture": "Shifted mixture",
}
_MARKS = {"lemma1": "Lemma 1", "lemma2": "Lemma 2"}


def unit(metric):
    """``(unit, factor)``: what differences of a metric are told in, and the multiplier."""
    if metric in SHARES:
        return "points", 100.0
    return UNITS.get(metric, ""), 1.0


def metric_name(metric):
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


def digits(unit_name):
    return {"rows": 0, "nats per row": 3, "nats": 3}.get(unit_name, 2)


def percent(value, places=1):
    return "–" if value is None or math.isnan(value) else number(100 * value, places) + " %"


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
    if base != model:
        return name.replace("_", " ")
    base = _MODELS.get(model, model.replace("_", " ").capitalize())
    words = [_MARKS.get(word, word.replace("_", " ")) for word in rest.split("-") if word]
    return f"{base} ({', '.join(words)})" if words else base


def count(amount, noun, plural=None):
    """``1 method``, ``2 methods``."""
    return f"{amount} {noun if amount == 1 else plural or noun + 's'}"


def listing(words):
    """``a, b and c``."""
    words = [str(word) for word in words]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
