"""The part of the plan that figures, tables and the report show."""

import os
from pathlib import Path

from counterweight import __version__
from counterweight.plan import components, kinds
from counterweight.plan.jobs import Job

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
    shown = study_plan(study)
    del shown["sheets"]  # of the report alone
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
    # Their captions stand on the page.
    drawn = {figure for study in plan["studies"].values() for figure in study["figures"]}
    uses = tuple(("figure", figure) for figure in sorted(drawn))
    templates = Path(__file__).with_name("templates").glob("*")
    return Job(
        f"{_ASSEMBLE}:report",
        inputs,
        given,
        uses,
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
    shown["sheets"] = kinds.module_of(study).PAGE
    shown |= kinds.module_of(study).shown(study)
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
