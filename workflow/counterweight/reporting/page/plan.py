"""The part of the plan that figures, tables and the report show."""

from counterweight import __version__


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
            "task",
            "columns",
            "keep_rate",
        )
    }
    if study["task"] == "offers":
        options = study["labeling"]["options"]
        shown["offer"] = {key: options[key] for key in ("low", "high", "direction", "revenue")}
    if study["task"] == "filter":
        # What is balanced: columns, wanted shares by group (none: equal), and what is given away.
        shown["filter"] = {
            "group": study["labeling"]["options"]["group"],
            "target": study["target"],
            "given": study["filter"],
        }
    shown["protocol"] = {
        "name": study["evaluation"]["protocol"],
        "options": study["evaluation"]["options"],
    }
    shown["selectors"] = [
        {"id": name, "oracle": selector["oracle"]}
        | ({"selector": selector["selector"]} if study["task"] == "filter" else {})
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
