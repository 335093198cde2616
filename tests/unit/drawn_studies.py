"""Made-up studies that figures are drawn for, and what was drawn of them."""

import copy

import report_delivered as delivered
import report_example as example
import report_filter as filters
import report_offers as offers
import report_rates as rates
import report_subsampled as subsampled
from counterweight.plan.components import load, registry
from counterweight.reporting.charts.forms import figure_look

FIGURES = sorted(registry("figure"))

#: The made-up study that each figure is drawn for.
STUDIES = {
    **dict.fromkeys(("value", "ratio_bias"), (subsampled, "logged_value")),
    **dict.fromkeys(("keep_rates", "reliability"), (subsampled, "bank_subsampled")),
    "deviation": (subsampled, "bank_ranking"),
    "shares": (subsampled, "bank_budget"),
    **dict.fromkeys(
        ("segments", "curves", "model_order", "enrolment", "profiles", "response"),
        (offers, "admissions"),
    ),
    **dict.fromkeys(("fairness", "asked_ratio", "multipliers", "bounds"), (rates, "fairness_sex")),
    **dict.fromkeys(("churn", "sequence"), (rates, "churn")),
    **dict.fromkeys(filters.FIGURES, (filters, "bank_filter")),
    "boundary": (example, "curved"),
    "promises": (rates, "fairness_sex"),
    **dict.fromkeys(("groups", "certificate"), (filters, "bank_filter")),
    "kept": (delivered.Promised, "promised"),
}

ASKED = {
    "fairness_sex": {"measure": "ratio", "option": "kappa", "form": "at_most_inverse"},
    "churn": {"measure": "churn", "option": "target", "form": "at_most"},
}

MAIN = {
    "adult_married": "logistic-lemma1",
    "fairness_sex": "ramp",
    "churn": "ramp",
    "bank_filter": "alpha_beta",
    "promised": "ramp",
}

#: Of a component that brings a section in each form.
SECTIONS = {
    f"Drawn as {form}": {"columns": ["accuracy", {"metric": "brier", "at_most": 0.2}], "form": form}
    for form in ("dots", "bars", "heat map")
}

#: Studies that say what was delivered as well.
DELIVERED = ("adult_married", "fairness_sex")

PERCENT = {"unit": "share", "percent": True}

MEASURES = {
    "accuracy": {"label": "accuracy", "better": "more", **PERCENT},
    "brier": {"label": "Brier score", "better": "less"},
    "expected_points": {"label": "half of the interval", "unit": "points", "better": "less"},
    **{
        f"{rule} of {rate}": {"label": rate, "better": "less", **PERCENT}
        for rule in ("deterministic", "randomised")
        for rate in ("error", "churn", "recall")
    },
}


def dressed(module, name):
    """A made-up study's part of the plan, with what the planner adds."""
    study = copy.deepcopy(module.plan()["studies"][name])
    study.setdefault("columns", ["accuracy"])
    study.setdefault("protocol", {"name": "metrics", "options": {}})
    study["protocol"]["asked"] = ASKED.get(name)
    study["measures"], study["labels"] = MEASURES, {"measure": {"ips": "IPS", "ratio": "odds"}}
    study["baseline"] = {"churn": "shifted", "bank_budget": "tree-natural"}.get(
        name, study["baseline"]
    )
    study["main"] = MAIN.get(name)
    study["sections"] = SECTIONS if name == "adult_married" else {}
    for one in study["methods"]:
        one["label"] = one["id"].replace("_", " ").capitalize()
        one["role"] = "bound" if one["oracle"] else "method"
        learner, _, rest = one["id"].partition("-")
        if one["model"] == "subsampled":
            one["options"] = {"learner": learner, "correction": rest}
        if one["model"] == "budgeted" and not one["sweep"]:
            share, _, how = rest.partition("-")
            one["options"] = {"share": 0.5 if share == "balanced" else share}
            one["options"] |= {"how": how} if how else {}
    for one in study["selectors"] + study["weightings"]:
        one.setdefault("selector", one["id"])
        one["label"] = one["id"].replace("_", " ")
    return study


def draw(figure, study):
    """The wide form of a figure."""
    with figure_look():
        return load("figure", figure)(study)


def drawn_values(points, **where):
    for column, value in where.items():
        points = points[points[column] == value]
    return points["value"].tolist()
