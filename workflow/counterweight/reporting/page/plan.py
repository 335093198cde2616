"""The part of the plan that figures, tables and the report show."""

import os
from pathlib import Path

from counterweight import __version__
from counterweight.plan import components, kinds, measures
from counterweight.plan.jobs import Job
from counterweight.plan.labels import sees_truth, told

#: Family of studies that name none.
OWN_FAMILY = "studies"
_ASSEMBLE = "counterweight.reporting.page.assemble"


def draw_job(plan, paths, name):
    """The job that draws the figures of a study."""
    study, at = plan["studies"][name], paths.study(name)
    inputs = {
        "metrics": paths.measurements([name]),
        "features": at.features,
        "labels": at.labels,
        "truth": at.truth,
        "selection": [at.selection_model(selector) for selector in study["selectors"]],
    }
    shown = study_plan(study, plan["metrics"])
    for key in ("sheets", "captions", "question"):
        del shown[key]  # of the pages alone
    shown["measures"] = measures.shared() | shown["measures"]
    given = {"study": name, "shown": shown}
    uses = tuple(("figure", figure) for figure in study["figures"])
    return Job(f"{_ASSEMBLE}:draw", inputs, given, uses)


def report_job(plan, paths):
    """The job that assembles the report."""
    library = components.PACKAGE.parent
    # Relative, so that a folder that was moved has nothing to do.
    claims = sorted(os.path.relpath(path) for path in (library / "claims").glob("*.yaml"))
    inputs = {
        "metrics": paths.measurements(),
        "figures": [path for name in plan["studies"] for path in paths.figures(name)],
        "claims": claims,
        "schema": os.path.relpath(components.schema_path("claims.schema.yaml")),
    }
    given = {"shown": report_plan(plan), "chains": paths.chains()}
    templates = Path(__file__).with_name("templates").glob("*")
    return Job(
        f"{_ASSEMBLE}:report",
        inputs,
        given,
        files=tuple(sorted(map(str, templates))),
        modules=sheet_modules(given["shown"]),
    )


def sheet_modules(shown):
    """Modules that the sheets of a plan are in; the report imports them by name."""
    references = [ref for study in shown["studies"].values() for ref in study["sheets"].values()]
    return tuple(sorted({reference.partition(":")[0] for reference in references}))


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
        "families": families_of(plan),
        "measures": measures.shared(),
        "studies": {
            name: study_plan(study, plan["metrics"]) for name, study in plan["studies"].items()
        },
    }


def families_of(plan):
    """Title and question of each family of the studies, by its name, in their order."""
    known = plan["families"]
    return {
        family: {"title": family.replace("_", " ").capitalize(), "question": ""}
        | ({"title": "Your studies"} if family == OWN_FAMILY else {})
        | known.get(family, {})
        for family in dict.fromkeys(study["family"] for study in plan["studies"].values())
    }


def study_plan(study, metrics=()):
    """The part of a resolved study that the report shows.

    Parameters
    ----------
    study : dict
    metrics : iterable of str
        Metrics of predictions, by name.

    Returns
    -------
    dict
        JSON-able. ``measures`` are those that the study has beyond what all share; see
        `counterweight.reporting.measures.with_measures`.
    """
    shown = {
        key: study[key]
        for key in (
            "title",
            "question",
            "family",
            "dataset",
            "source",
            "repeats",
            "test_share",
            "targets",
            "main",
            "baseline",
            "figures",
            "columns",
            "keep_rate",
        )
    }
    shown["sheets"] = kinds.module_of(study).PAGE
    shown |= kinds.module_of(study).shown(study)
    protocol, options = study["evaluation"]["protocol"], study["evaluation"]["options"]
    shown["protocol"] = {
        "name": protocol,
        "label": components.declared("protocol", protocol, "LABEL", protocol.replace("_", " ")),
        "options": options,
        "asked": options.get("asked") or measures.asked_of(study),
    }
    shown["dataset_title"] = components.declared("dataset", study["dataset"], "TITLE", "")
    rule = study["labeling"]["rule"]
    shown["labeling"] = components.declared("labeling", rule, "LABEL", rule.replace("_", " "))
    shown["captions"] = {
        figure: components.declared("figure", figure, "CAPTION", "") for figure in study["figures"]
    }
    shown["measures"] = measures.own(study, metrics)
    shown["labels"] = components.declared("protocol", protocol, "VALUE_LABELS", {}) | {
        "measure": components.declared("protocol", protocol, "VALUE_LABELS", {}).get("measure", {})
        | measures.measure_labels(study)
    }
    labels = study["labels"]
    shown["selectors"] = [
        {
            "id": name,
            "label": labels["selectors"][name],
            "oracle": selector["oracle"],
            "selector": selector["selector"],
            "options": selector["options"],
        }
        for name, selector in study["selectors"].items()
    ]
    shown["weightings"] = [
        {"id": name, "label": labels["weightings"][name]}
        | {key: part[key] for key in ("weighting", "selector", "max_weight", "target", "options")}
        for name, part in study["weightings"].items()
    ]
    shown["methods"] = [
        _method_plan(name, method, study)
        for name, method in study["methods"].items()
        if method["reported"]
    ]
    shown["tables"] = [
        {"target": target, "title": study["tables"].get(target, "")} for target in study["targets"]
    ]
    return shown


def _method_plan(name, method, study):
    """A method as the report knows it.

    ``values`` are the values of its options in print, of those that have a name of their own;
    ``rule`` is the rule of prediction (deterministic or randomised) by which it keeps what is
    asked.
    """
    weights = study["weightings"].get(method["weights"], {})
    labels = components.declared("model", method["model"], "VALUE_LABELS", {})
    options, swept = method["options"], method["sweep"] or {}
    return {
        "id": name,
        "label": method["label"],
        "role": method["role"],
        "model": method["model"],
        "weights": weights.get("weighting"),
        "selector": weights.get("selector"),
        "oracle": sees_truth(method, study),
        "options": options,
        "values": {
            option: told(option, options[option], labels)
            for option in labels
            if option in options and option not in swept
        },
        "rule": components.declared("model", method["model"], "RULE", "randomised"),
        "sweep": method["sweep"],
        "repeats": method["repeats"],
    }
