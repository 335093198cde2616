"""The jobs of the report stage: the figures of a study, the pages of a family, the index."""

import os
from pathlib import Path

from counterweight import __version__
from counterweight.plan import components, digests
from counterweight.plan.jobs import Job
from counterweight.reporting.measures import packed
from counterweight.reporting.page.contents import (
    GLOSSARY,
    LEDGER,
    RUN,
    WHOLE,
    config_of,
    families,
    page_of,
    site_of,
)
from counterweight.reporting.page.plan import has_column_report, has_ledger, report_plan, study_plan

_ASSEMBLE = "counterweight.reporting.page.assemble"
#: Parts of the plan that `RUN` and the files of studies leave out: studies have a file each, and
#: where files are or which key makes coins is nothing that a result rests on.
_ELSEWHERE = {
    "studies",
    "families",
    "model_defaults",
    "results",
    "data",
    "data_mirror",
    "container",
}
_ELSEWHERE |= {"filter_key", "filter_study", "candidates", "score"}


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
    reads = [components.declared("figure", figure, "READS", ()) for figure in study["figures"]]
    inputs["made"] = _tables_of(paths, [name], {stage for stages in reads for stage in stages})
    shown = study_plan(study, plan["metrics"])
    for key in ("sheets", "question", "captions", "new_rows"):
        del shown[key]  # of the pages alone
    given = {"study": name, "shown": shown}
    uses = tuple(("figure", figure) for figure in study["figures"])
    return Job("counterweight.reporting.charts.drawing:draw", inputs, given, uses)


def page_job(plan, paths, family):
    """The job that makes the pages and tables of a family's studies."""
    shown = report_plan(plan)
    names = families(shown)[family]
    contents = [entry | {"words": ""} for entry in site_of(shown).entries]
    # Measures of its studies only: those of others are no matter of this family.
    own = shown | {"measures": {}, "studies": {name: shown["studies"][name] for name in names}}
    tables = [
        f"{paths.results}/tables/{name}-{target}"
        for name in names
        for target in plan["studies"][name]["targets"]
    ]
    pages = [f"family-{family}", *names]
    return Job(
        f"{_ASSEMBLE}:page",
        {
            "metrics": paths.measurements(names),
            "figures": [path for name in names for path in paths.figures(name)],
            "columns": _column_reports(plan, paths, names),
            "given": _tables_of(paths, names, {"deliver"}),
            **_claims(plan),
        },
        {"shown": packed(own), "family": family, "contents": contents}
        | {"config": {name: _settings(plan["studies"][name]) for name in names}},
        outputs={
            "findings": f"{paths.results}/findings/{family}.parquet",
            "config": [f"{paths.results}/{config_of(name)}" for name in names],
            "pages": [f"{paths.results}/{page_of(name)}" for name in pages],
            "tables": [f"{table}.parquet" for table in tables],
            "tables_csv": [f"{table}.csv" for table in tables],
            "tables_tex": [f"{paths.results}/tables/{name}.tex" for name in names],
        },
        files=_templates(),
        modules=_sheet_modules(own),
    )


def report_job(plan, paths, others=()):
    """The job that makes the index, the claims and the glossary; all in one file, if asked for.

    `others` are jobs that read files of one's own, whose digests stand in what the run rests on.
    """
    shown = report_plan(plan)
    findings = [f"{paths.results}/findings/{family}.parquet" for family in families(shown)]
    inputs = {"metrics": paths.measurements(), "findings": findings, **_claims(plan)}
    # What a database answered is known from what was kept of it.
    asked = [name for name, dataset in plan["datasets"].items() if "query" in dataset]
    inputs["answers"] = [paths.prepared(name) for name in asked]
    outputs = {"pages": [f"{paths.results}/{GLOSSARY}"]}
    if has_ledger(plan):
        outputs |= {role: f"{paths.results}/{file}" for role, file in LEDGER.items()}
    modules = ()
    if plan["one_file"]:
        inputs["figures"] = [path for name in plan["studies"] for path in paths.figures(name)]
        inputs["columns"] = _column_reports(plan, paths, plan["studies"])
        inputs["given"] = _tables_of(paths, plan["studies"], {"deliver"})
        outputs["pages"].append(f"{paths.results}/{WHOLE}")
        modules = _sheet_modules(shown)
    outputs["provenance"] = f"{paths.results}/{RUN}"
    rests_on = {"counterweight": __version__, "libraries": digests.versions()} | _settings(plan)
    given = {"shown": packed(shown), "one_file": plan["one_file"], "rests_on": rests_on}
    return Job(
        f"{_ASSEMBLE}:report",
        inputs,
        given,
        outputs=outputs,
        files=_templates(),
        modules=modules,
        own=tuple(dict.fromkeys(path for job in others for path in job.own)),
        key=next((job.key for job in others if job.key), ""),
    )


def partial_job(plan, paths):
    """What the report of a failed run is told; see `assemble.main`."""
    shown = report_plan(plan)
    claims = _claims(plan)["claims"]
    return {
        "shown": packed(shown),
        "chains": paths.chains(),
        "claims": claims,
        "results": paths.results,
    }


def _column_reports(plan, paths, names):
    """The column reports that the studies' pages show, each once."""
    studies = [plan["studies"][name] for name in names]
    shown = [one["dataset"] for one in studies if has_column_report(plan, one)]
    return [path for path in map(paths.columns_read, dict.fromkeys(shown)) if path]


def _tables_of(paths, names, stages):
    """Parquet files that stages of the studies make on the way to what is measured, each once."""
    steps = [step for chain in paths.chains(names) for step in chain["steps"]]
    made = [path for step in steps if step["stage"] in stages for path in step["outputs"]]
    return [path for path in dict.fromkeys(made) if path.endswith(".parquet")]


def _settings(part):
    return {key: value for key, value in part.items() if key not in _ELSEWHERE}


def _claims(plan):
    if not has_ledger(plan):
        return {"claims": [], "schema": []}
    library = components.PACKAGE.parent
    # Relative, so that a folder that was moved has nothing to do.
    claims = sorted(os.path.relpath(path) for path in (library / "claims").glob("*.yaml"))
    return {
        "claims": claims,
        "schema": os.path.relpath(components.schema_path("claims.schema.yaml")),
    }


def _templates():
    return tuple(sorted(map(str, Path(__file__).with_name("templates").glob("*"))))


def _sheet_modules(shown):
    """Modules that the sheets of a plan are in; the page job imports them by name."""
    references = [ref for study in shown["studies"].values() for ref in study["sheets"].values()]
    return tuple(sorted({reference.partition(":")[0] for reference in references}))
