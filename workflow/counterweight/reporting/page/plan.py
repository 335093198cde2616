"""The part of the plan that figures, tables and the report show."""

from counterweight import __version__

#: What the page of a study is made of, by the kind of study: ``table`` gives its table for one
#: target, ``sections`` what stands on its page; both as ``module:function``. The package of
#: the kinds of study will own this and `_ABOUT`.
SHEETS = {
    "classification": {
        "table": "counterweight.reporting.page.tables:results_table",
        "sections": "counterweight.reporting.page.sections:sections",
    },
    "log": {
        "table": "counterweight.reporting.logs.tables:value_table",
        "sections": "counterweight.reporting.logs.sections:sections",
    },
    "offers": {
        "table": "counterweight.reporting.offers.sections:offers_table",
        "sections": "counterweight.reporting.offers.sections:sections",
    },
    "filter": {
        "table": "counterweight.reporting.filters.sections:filters_table",
        "sections": "counterweight.reporting.filters.sections:sections",
    },
}


def _about_offers(study):
    options = study["labeling"]["options"]
    return {"offer": {key: options[key] for key in ("low", "high", "direction", "revenue")}}


def _about_filter(study):
    """What is balanced: columns, wanted shares by group (none: equal), and what is given away."""
    return {
        "filter": {
            "group": study["labeling"]["options"]["group"],
            "target": study["target"],
            "given": study["filter"],
        }
    }


#: What else the page of a study shows of the plan, by the kind of study.
_ABOUT = {"offers": _about_offers, "filter": _about_filter}


def sheet_modules(shown):
    """Modules that the sheets of a plan are in; the report imports them by name."""
    references = [ref for study in shown["studies"].values() for ref in study["sheets"].values()]
    return sorted({reference.partition(":")[0] for reference in references})


def report_plan(plan):
    """The part of a resolved plan that the report shows, study by study.

    Parameters
    ----------
    plan : dict
        From ``counterweight.plan.config.resolve``.

    Returns
    -------
    dict
        JSON-able.
    """
    return {
        "title": "Counterweight",
        "version": __version__,
        "data_source": plan["data_source"],
        "seed": plan["seed"],
        "studies": {name: study_plan(study) for name, study in plan["studies"].items()},
    }


def study_plan(study):
    """The part of a resolved study that the report shows."""
    shown = {
        key: study[key]
        for key in (
            "title",
            "family",
            "dataset",
            "source",
            "repeats",
            "test_share",
            "targets",
            "baseline",
            "figures",
            "columns",
            "keep_rate",
        )
    }
    shown["sheets"] = SHEETS[study["task"]]
    if study["task"] in _ABOUT:
        shown |= _ABOUT[study["task"]](study)
    shown["protocol"] = {
        "name": study["evaluation"]["protocol"],
        "options": study["evaluation"]["options"],
    }
    shown["selectors"] = [
        {"id": name, "oracle": selector["oracle"], "selector": selector["selector"]}
        for name, selector in study["selectors"].items()
    ]
    shown["weightings"] = [
        {"id": name} | {key: part[key] for key in ("weighting", "selector", "max_weight", "target")}
        for name, part in study["weightings"].items()
    ]
    shown["methods"] = []
    for name, method in study["methods"].items():
        if not method["reported"]:
            continue
        weights = study["weightings"].get(method["weights"], {})
        selector = weights.get("selector")
        sees_truth = method["oracle"] or bool(selector and study["selectors"][selector]["oracle"])
        shown["methods"].append(
            {
                "id": name,
                "label": name,
                "model": method["model"],
                "weights": weights.get("weighting"),
                "selector": selector,
                "oracle": sees_truth,
                "options": method["options"],
                "sweep": method["sweep"],
                "repeats": method["repeats"],
            }
        )
    shown["tables"] = [
        {"target": target, "title": study["tables"].get(target, "")} for target in study["targets"]
    ]
    return shown
