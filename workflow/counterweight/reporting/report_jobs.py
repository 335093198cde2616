"""The jobs of the report stage, and the part of the plan that figures, tables and pages show."""

import functools
import os
import posixpath
import re
from pathlib import Path

from counterweight import __version__
from counterweight.plan import components, digests, measures, tasks
from counterweight.plan.jobs import Job
from counterweight.plan.methods import in_print, sees_truth
from counterweight.reporting import PAGES
from counterweight.reporting.blocks import (
    ABOVE,
    GLOSSARY,
    LEDGER,
    RUN,
    WHOLE,
    config_of,
    families,
    page_of,
    search_of,
    site_of,
)
from counterweight.reporting.wording import as_written, named, option_name, packed

_ASSEMBLE = "counterweight.reporting.assemble"
#: What is of the papers alone; see `assemble.of_papers`.
_PRINTED = "counterweight.reporting.printed"
#: Parts of the plan that `RUN` and the files of studies leave out: studies have a file each, and
#: where files are or which key draws decisions is nothing that a result rests on.
_ELSEWHERE = {"studies", "families", "model_defaults", "results", "data", "data_mirror"}
_ELSEWHERE |= {"container", "filter_key", "filter_study", "candidates", "score"}


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
    if "sections" not in study["figures"]:
        shown.pop("sections", None)
    given = {"study": name, "shown": shown}
    uses = tuple(("figure", figure) for figure in study["figures"])
    return Job("counterweight.reporting.charts.forms:draw", inputs, given, uses)


def page_job(plan, paths, family, with_own_files=lambda names: ()):
    """The job that makes the pages and tables of a family's studies.

    `with_own_files` gives the jobs of studies that read files of one's own, whose digests stand on
    the pages.
    """
    shown = report_plan(plan)
    names = families(shown)[family]
    contents = [entry | {"words": ""} for entry in site_of(shown).entries]
    # Measures of its studies only: those of others are no matter of this family.
    own = shown | {"measures": {}, "studies": {name: shown["studies"][name] for name in names}}
    own = _with_files(own, paths, names, with_own_files)
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
            "given": _tables_of(paths, names, {"deliver", "apply"}),
            **_claims(plan),
        },
        {"shown": packed(own), "family": family, "contents": contents}
        | {"config": {name: _settings(plan["studies"][name]) for name in names}},
        outputs={
            "findings": f"{paths.results}/findings/{family}.parquet",
            "config": [f"{paths.results}/{config_of(name)}" for name in names],
            "pages": [f"{paths.results}/{page_of(name)}" for name in pages],
            "search": f"{paths.results}/{search_of(family)}",
            "tables": [f"{table}.parquet" for table in tables],
            "tables_csv": [f"{table}.csv" for table in tables],
            "tables_tex": [f"{paths.results}/tables/{name}.tex" for name in names],
        },
        files=_templates(),
        modules=(*_sheet_modules(own), *([_PRINTED] if has_ledger(plan) else [])),
        own=_own_files(with_own_files(names)),
    )


def report_job(plan, paths, with_own_files=lambda names: ()):
    """The job that makes the index, the claims and the glossary; all in one file, if asked for.

    `with_own_files` gives the jobs of studies that read files of one's own, whose digests stand in
    what the run rests on.
    """
    shown, others = report_plan(plan), with_own_files(plan["studies"])
    findings = [f"{paths.results}/findings/{family}.parquet" for family in families(shown)]
    inputs = {"metrics": paths.measurements(), "findings": findings, **_claims(plan)}
    # What a database answered is known from what was kept of it.
    asked = [name for name, dataset in plan["datasets"].items() if "query" in dataset]
    inputs["answers"] = [paths.prepared(name) for name in asked]
    outputs = {"pages": [f"{paths.results}/{GLOSSARY}"]}
    outputs["search"] = f"{paths.results}/{search_of(ABOVE)}"
    if has_ledger(plan):
        outputs |= {role: f"{paths.results}/{file}" for role, file in LEDGER.items()}
    modules = (_PRINTED,) if has_ledger(plan) else ()
    if plan["one_file"]:
        shown = _with_files(shown, paths, plan["studies"], with_own_files)
        inputs["figures"] = [path for name in plan["studies"] for path in paths.figures(name)]
        inputs["columns"] = _column_reports(plan, paths, plan["studies"])
        inputs["given"] = _tables_of(paths, plan["studies"], {"deliver", "apply"})
        outputs["pages"].append(f"{paths.results}/{WHOLE}")
        modules += _sheet_modules(shown)
    outputs["provenance"] = f"{paths.results}/{RUN}"
    rests_on = {"counterweight": __version__, "libraries": digests.versions()} | _settings(plan)
    given = {"shown": packed(shown), "one_file": plan["one_file"], "rests_on": rests_on}
    return Job(
        f"{_ASSEMBLE}:report",
        inputs,
        given,
        outputs=outputs,
        files=(*_templates(), *map(str, Path(__file__).with_name("benchmark").glob("*.csv"))),
        modules=modules,
        own=_own_files(others),
        key=next((job.key for job in others if job.key), ""),
    )


def partial_job(plan, paths):
    """What the report of a failed run is told; see `assemble.main`."""
    shown = _with_files(report_plan(plan), paths, plan["studies"])
    given = {"shown": packed(shown), "claims": _claims(plan)["claims"]}
    return given | {"chains": paths.chains(), "results": paths.results}


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


def _own_files(jobs):
    return tuple(dict.fromkeys(path for job in jobs for path in job.own))


def _with_files(shown, paths, names, with_own_files=lambda names: ()):
    """The plan with what each of some studies gives away, below the folder of results.

    And with the files of one's own that each is made of.
    """
    studies = {}
    for name in names:
        steps = [step for chain in paths.chains([name]) for step in chain["steps"]]
        given = [step for step in steps if step["stage"] in ("collect", "deliver", "apply")]
        made = dict.fromkeys(path for step in given for path in step["outputs"])
        made = [path for path in made if f"/{name}/metrics/" not in path]
        made = [posixpath.relpath(path, paths.results) for path in made]
        studies[name] = shown["studies"][name] | {"files": made}
        studies[name]["made_of"] = _own_files(with_own_files([name]))
    return shown | {"studies": shown["studies"] | studies}


def _settings(part):
    return {key: value for key, value in part.items() if key not in _ELSEWHERE}


def _claims(plan):
    if not has_ledger(plan):
        return {"claims": [], "schema": []}
    # Relative, so that a folder that was moved has nothing to do.
    claims = (components.PACKAGE.parent / "claims").glob("*.yaml")
    schema = os.path.relpath(components.schema_path("claims.schema.yaml"))
    return {"claims": sorted(map(os.path.relpath, claims)), "schema": schema}


def _templates():
    return tuple(sorted(map(str, Path(__file__).with_name("templates").glob("*"))))


def _sheet_modules(shown):
    """Modules that the sheets of a plan are in; the page job imports them by name."""
    references = [ref for study in shown["studies"].values() for ref in study["sheets"].values()]
    return tuple(sorted({reference.partition(":")[0] for reference in references}))


# The part of the plan that figures, tables and the report show.


#: Family of studies that name none.
OWN_FAMILY = "studies"


def report_plan(plan):
    """The part of a resolved plan that the report shows, study by study, JSON-able."""
    place = plan.get("place", plan["results"])
    return {
        "title": "Counterweight",
        "version": __version__,
        "libraries": digests.versions(),
        "data_source": plan["data_source"],
        "seed": plan["seed"],
        "families": families_of(plan),
        "papers": has_ledger(plan) and bool(claimed() & {*plan["studies"]}),
        "measures": measures.of_any_rates(plan["rates"]),
        "studies": {
            name: study_plan(study, plan["metrics"])
            | {"folder": posixpath.relpath(f"{place}/{name}", plan["results"])}
            | {"column_report": has_column_report(plan, study)}
            for name, study in plan["studies"].items()
        },
    }


def has_column_report(plan, study):
    """Whether a study's page tells what columns were taken for: its own table is read whole."""
    own = plan["datasets"][study["dataset"]].get("roles")
    return bool(own) and not tasks.module_of(study).parts(plan, study)


@functools.lru_cache(None)
def claimed():
    """Studies that claims of papers name, read once from the text of their files."""
    files = (components.PACKAGE.parent / "claims").glob("*.yaml")
    texts = (path.read_text(encoding="utf-8") for path in files)
    return frozenset(name for text in texts for name in re.findall(r"\bstudy: (\w+)", text))


def has_ledger(plan):
    """Whether claims of papers are decided: not where all is about tables of one's own."""
    return any(dataset["source"] != "own" for dataset in plan["datasets"].values())


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
    """The part of a resolved study that the report shows; `metrics` are of predictions."""
    keys = ("title", "question", "family", "dataset", "source", "repeats", "test_share", "targets")
    keys += ("main", "baseline", "figures", "columns", "keep_rate")
    shown = {key: study[key] for key in keys}
    targets = {one["options"].get("table") for one in (study.get("weightings") or {}).values()}
    # New rows that are those of the target table have two means, which the page tells apart.
    shown["new_rows"] = bool(study["score"]) and (study["score"] not in targets or "target")
    protocol, options = study["evaluation"]["protocol"], study["evaluation"]["options"]
    # A component may have a page, in place of that of the kind: the main model, the protocol.
    main = study["methods"].get(study["main"]) or {}
    pages = (PAGES.get(f"model {main.get('model')}"), PAGES.get(f"protocol {protocol}"))
    own = next(({"page": page} for page in pages if page), {})
    shown["sheets"] = tasks.module_of(study).PAGE | own
    shown |= tasks.module_of(study).shown(study)
    shown["protocol"] = {
        "name": protocol,
        "label": components.declared("protocol", protocol, "LABEL", protocol.replace("_", " ")),
        "options": options,
        "asked": options.get("asked") or measures.asked_of(study),
    }
    shown["dataset_title"] = components.declared("dataset", study["dataset"], "TITLE", "")
    rule, given = study["labeling"]["rule"], (study.get("outcome") or {}).get("options") or {}
    ones = (given[key] for key in ("positive", "value") if given.get(key) is not None)
    shown["outcome"] = f"{named(given.get('column', 'outcome'))} = {as_written(next(ones, 1))}"
    shown["labeling"] = components.declared("labeling", rule, "LABEL", rule.replace("_", " "))
    shown["captions"] = {
        figure: components.declared("figure", figure, "CAPTION", "") for figure in study["figures"]
    }
    shown["measures"] = measures.of_study(study, metrics)
    if sections := measures.sections_of(study, metrics):
        shown["sections"] = sections
    values = components.declared("protocol", protocol, "VALUE_LABELS", {})
    rates = measures.measure_labels(study)
    shown["labels"] = values | {"measure": values.get("measure", {}) | rates}
    for kind, keys in (
        ("selectors", ("oracle", "selector", "options")),
        ("weightings", ("weighting", "selector", "max_weight", "target", "options")),
    ):
        shown[kind] = [
            {"id": name, "label": study["labels"][kind][name]} | {key: part[key] for key in keys}
            for name, part in study[kind].items()
        ]
    shown["methods"] = [
        _method_plan(name, method, study)
        for name, method in study["methods"].items()
        if method["reported"] and not method.get("draw_of")
    ]
    shown["draws"] = {name: one["draws"] for name, one in study["methods"].items() if one["draws"]}
    shown["tables"] = [
        {"target": target, "title": study["tables"].get(target, "")} for target in study["targets"]
    ]
    return shown


def _method_plan(name, method, study):
    """A method as the report knows it.

    ``values`` are the values of its options in print, of those that have a name of their own;
    ``rule`` is the rule of prediction (deterministic or randomised) by which it keeps its
    constraints.
    """
    weights = study["weightings"].get(method["weights"], {})
    labels = components.declared("model", method["model"], "VALUE_LABELS", {})
    options, values = method["options"], {}
    for option in labels.keys() & options.keys() - {*(method["sweep"] or ())}:
        text = in_print(option, options[option], labels)
        if isinstance(options[option], float) or text in labels[option].values():
            values[option] = text
    # Looked up here: a page is drawn without the models that it tells of.
    chosen = [_candidate(entry) for entry in options.get("candidates") or []]
    return {
        "id": name,
        **({"candidates": chosen} if chosen else {}),
        **{key: method[key] for key in ("label", "role", "model", "options", "sweep", "repeats")},
        "weights": weights.get("weighting"),
        "selector": weights.get("selector"),
        "oracle": sees_truth(method, study),
        "values": {option: values[option] for option in labels if option in values},
        "rule": components.declared("model", method["model"], "RULE", "randomised"),
    }


def _candidate(entry):
    """A candidate in words: its model, and what it says by texts, such as a loss."""
    words = components.declared("model", entry["model"], "LABEL", entry["model"])
    declared = components.options("model", entry["model"])
    told = [
        f"{option_name(k)}: {v}"
        for k, v in entry.items()
        if "enum" in declared.get(k, ()) and v != declared[k]["default"]
    ]
    return words.split(", {")[0] + (f" ({', '.join(told)})" if told else "")
