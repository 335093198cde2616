"""The part of the plan that figures, tables and the report show."""

import posixpath
import re

from counterweight import __version__
from counterweight.plan import components, digests, kinds, measures
from counterweight.plan.labels import sees_truth, told

#: Family of studies that name none.
OWN_FAMILY = "studies"


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
        "libraries": digests.versions(),
        "data_source": plan["data_source"],
        "seed": plan["seed"],
        "families": families_of(plan),
        "papers": has_ledger(plan) and bool(claimed() & {*plan["studies"]}),
        "measures": measures.of_any_rates(plan["rates"]),
        "studies": {
            name: study_plan(study, plan["metrics"])
            | {"folder": _folder(plan, name), "column_report": has_column_report(plan, study)}
            for name, study in plan["studies"].items()
        },
    }


def has_column_report(plan, study):
    """Whether a study's page tells what columns were taken for: its own table is read whole."""
    own = plan["datasets"][study["dataset"]].get("roles")
    return bool(own) and not kinds.module_of(study).parts(plan, study)


def _folder(plan, name):
    """The folder of a study, below that of the run."""
    place = plan.get("place", plan["results"])
    return posixpath.relpath(f"{place}/{name}", plan["results"])


def claimed():
    """Studies that claims of papers name, read from the text of their files."""
    files = (components.PACKAGE.parent / "claims").glob("*.yaml")
    texts = (path.read_text(encoding="utf-8") for path in files)
    return {name for text in texts for name in re.findall(r"\bstudy: (\w+)", text)}


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
    """The part of a resolved study that the report shows.

    Parameters
    ----------
    study : dict
    metrics : iterable of str
        Metrics of predictions, by name.

    Returns
    -------
    dict
        JSON-able.
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
    shown["new_rows"] = bool(study["score"])
    shown["sheets"] = kinds.module_of(study).PAGE | _page_of(study)
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
    shown["measures"] = measures.of_study(study, metrics)
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
        if method["reported"] and not method.get("draw_of")
    ]
    shown["draws"] = {name: one["draws"] for name, one in study["methods"].items() if one["draws"]}
    shown["tables"] = [
        {"target": target, "title": study["tables"].get(target, "")} for target in study["targets"]
    ]
    return shown


def _page_of(study):
    """The page that a component declares for studies with it: the main model's, the protocol's."""
    main = study["methods"].get(study["main"]) or {}
    for part, name in (("model", main.get("model")), ("protocol", study["evaluation"]["protocol"])):
        page = components.declared(part, name, "PAGE", "") if name else ""
        if page:
            return {"page": page}
    return {}


def _method_plan(name, method, study):
    """A method as the report knows it.

    ``values`` are the values of its options in print, of those that have a name of their own;
    ``rule`` is the rule of prediction (deterministic or randomised) by which it keeps what is
    asked.
    """
    weights = study["weightings"].get(method["weights"], {})
    labels = components.declared("model", method["model"], "VALUE_LABELS", {})
    options, swept = method["options"], method["sweep"] or {}
    named = {
        option: told(option, options[option], labels)
        for option in labels
        if option in options and option not in swept
    }
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
            option: text
            for option, text in named.items()
            if isinstance(options[option], float) or text in labels[option].values()
        },
        "rule": components.declared("model", method["model"], "RULE", "randomised"),
        "sweep": method["sweep"],
        "repeats": method["repeats"],
    }
