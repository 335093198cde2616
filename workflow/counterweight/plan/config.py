"""The config: checked before anything runs, then resolved into a plan.

`check` tells every mistake in a sentence that names the key, the nearest valid word
and what is allowed. `resolve` fills defaults and spells out each selector, weighting
and method of each study; stages read the plan only.
"""

import codecs
import contextlib
import copy
import os
import tempfile
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components, tasks
from counterweight.plan.jobs import RESERVED
from counterweight.plan.measures import sections_of
from counterweight.plan.methods import (
    add_draws,
    add_labels,
    add_starts,
    method_id,
    options_of,
    resolved_method,
    resolved_weightings,
)
from counterweight.plan.mistakes import (
    brief,
    choices,
    condition_mistakes,
    nearest,
    odd_values,
    together,
    told,
)
from counterweight.plan.renamed import with_new_names

SCHEMA = components.schema_path("config.schema.yaml")
#: The checkout that this file is part of.
HOME = Path(__file__).resolve().parents[3]
#: A safe loader, in C where there is one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def schema():
    """The full JSON schema, component names and options filled in."""
    return _filled(yaml.load(SCHEMA.read_text(encoding="utf-8"), _LOADER))


def _filled(node):
    if isinstance(node, list):
        return [_filled(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _filled(value) for key, value in node.items()}
    if "x-component" in node:
        kind = node.pop("x-component")
        node |= {"enum": list(components.registry(kind))}
    if "x-component-with-options" in node:
        kind, key = node["x-component-with-options"]
        own = {"enum": list(components.registry(kind)), "description": f"Which {kind}."}
        node |= {"type": "object", "required": [key]}
        node["properties"] = {key: own} | node.get("properties", {})
    return node


def check(config, full=None):
    """Refuse a config that the schema does not allow, in one line for each mistake."""
    from jsonschema import Draft202012Validator

    full = full or schema()
    mistakes = odd_values(config) or told(Draft202012Validator(full), config, ())
    if not mistakes:
        for path, value, node in _with_options(config, full):
            kind, key = node["x-component-with-options"]
            options = components.options(kind, value[key])
            needed = [
                name
                for name, option in options.items()
                if "default" not in option and name not in (value.get("sweep") or {})
            ]
            allowed = node | {
                "properties": node["properties"] | options,
                "additionalProperties": False,
                "required": [key, *needed],
            }
            mistakes += told(Draft202012Validator(allowed), value, path)
            mistakes += _within(value, options, path)
        for model, options in (config.get("model_defaults") or {}).items():
            allowed = {
                "type": "object",
                "properties": components.options("model", model),
                "additionalProperties": False,
            }
            mistakes += told(Draft202012Validator(allowed), options, ("model_defaults", model))
            mistakes += _within(options, allowed["properties"], ("model_defaults", model))
    if mistakes:
        raise CounterweightError(together(mistakes))


def _within(value, options, path):
    """Mistakes in components that the options of a component name, with options of their own."""
    from jsonschema import Draft202012Validator

    mistakes = []
    for option, node in options.items():
        part = value.get(option)
        if "x-component-with-options" not in node or not isinstance(part, dict):
            continue
        kind, name = node["x-component-with-options"]
        chosen = {name: {"enum": list(components.registry(kind)), "description": f"Which {kind}."}}
        allowed = {"type": "object", "required": [name], "properties": chosen}
        found = told(Draft202012Validator(allowed), part, (*path, option))
        if not found:
            allowed["properties"] = chosen | components.options(kind, part[name])
            allowed["additionalProperties"] = False
            found = told(Draft202012Validator(allowed), part, (*path, option))
        mistakes += found
    return mistakes


def _with_options(config, full):
    """Every part of the config that names a component with options of its own."""
    study_schema = full["properties"]["studies"]["additionalProperties"]["properties"]
    for name, study in config["studies"].items():
        for key in ("features", "outcome", "labeling", "evaluation"):
            if key in study:
                yield ("studies", name, key), study[key], study_schema[key]
        for key in ("selection", "weighting", "models"):
            for index, item in enumerate(study.get(key) or []):
                yield ("studies", name, key, index), item, study_schema[key]["items"]


def _key_of(name, own, plain, given):
    """The key of a config that names a file: of a table of one's own, or of a study."""
    given = given or {}
    if name in (given.get("tables") or {}):
        return f"tables.{name}.{own}"
    return own if "table" in given else plain


#: Folders of a checkout that hold no results; those that begin with a point hold none anywhere.
CODE = ("docs", "envs", "examples", "profiles", "scripts", "tests", "workflow")


def _check_folder(key, told, home, tables):
    """Refuse a folder that is no place for what is computed: of the code, of the tables, a home."""

    def refused(reason, todo="name another folder"):
        return CounterweightError(f"{key} is {told!r}, {reason}: {todo}.")

    if not told.isprintable() or not told.strip():
        raise CounterweightError(f"{key} is {told!r}: name a folder, without line breaks and tabs.")
    if braces := {"{", "}"} & {*told}:
        raise refused(
            f"and Snakemake takes what stands in {min(braces)} for a name to fill in",
            "leave braces out",
        )
    if told.startswith("~"):
        raise refused("and ~ would be the name of a folder", "write the whole path")
    if "\\" in told and os.sep == "/":
        raise refused("and parts of a path have / between them here", "write it so")
    folder = Path(os.path.abspath(told))
    for base, closed in ((home, CODE), (Path.cwd(), ())):
        base = Path(os.path.abspath(base))
        if folder in (base, *base.parents):
            raise refused("which holds the workflow itself")
        first = folder.relative_to(base).parts[0] if folder.is_relative_to(base) else ""
        if first in closed or first.startswith("."):
            raise refused(f"which is for others: {first} belongs to the checkout")
    for table in tables:
        if folder.is_relative_to(os.path.abspath(table)):
            raise refused(f"and the folder {table} holds a table that is read")
    try:
        parent = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.TemporaryDirectory(dir=parent, prefix=".counterweight-"):
            pass
    except OSError as error:
        raise CounterweightError(
            f"{key} is {brief(told)}, and it cannot be written ({error.strerror}): make it "
            "writable, or name another folder."
        ) from error


def _holds_something(path):
    """Whether a file, or any file of a folder, is there and not empty."""
    path = Path(path)
    parts = path.rglob("*") if path.is_dir() else [path]
    return any(part.is_file() and part.stat().st_size for part in parts)


def check_folders(plan, given=None, home=HOME):
    """Refuse folders that cannot be written and files that are not there, before anything runs.

    A file is told by the key that names it in `given`, what was given on top of ``config.yaml``.
    """
    files = {"candidates": plan.get("candidates")}
    for name, dataset in plan.get("datasets", {}).items():
        files[_key_of(name, "table", f"datasets.{name}.path", given)] = dataset.get("path")
    for name, study in plan.get("studies", {}).items():
        files[_key_of(name, "score", f"studies.{name}.score", given)] = study["score"]
        key = _key_of(name, "target.table", f"studies.{name}.target.table", given)
        for spec in study["weightings"].values():
            files[key] = spec["options"].get("table") or files.get(key)
    for key, path in files.items():
        if path and not Path(path).exists():
            shown = "examples/tables/" in Path(path).as_posix()
            advice = "draw it by `python examples/tables.py`" if shown else "correct the path"
            raise CounterweightError(
                f"{key} is {path!r}, which is no file (looked for at {Path(path).absolute()}): "
                f"{advice}."
            )
        if path and not _holds_something(path):
            raise CounterweightError(
                f"{key} is {path!r}, and there is nothing in it: correct the path."
            )
    key = plan.get("filter_key")
    if key and Path(key).is_dir():
        raise CounterweightError(f"filter_key is {key!r}, which is a folder: name a file in it.")
    mirror = plan.get("data_mirror")
    if mirror and not Path(mirror).is_dir():
        raise CounterweightError(
            f"data_mirror is {mirror!r}, which is no folder (looked for at "
            f"{Path(mirror).absolute()}): correct the path, or leave it empty."
        )
    tables = [one["path"] for one in plan.get("datasets", {}).values() if one.get("path")]
    for key in ("results", "data"):
        _check_folder(key, plan[key], home, [path for path in tables if Path(path).is_dir()])
    if os.path.realpath(plan["results"]) == os.path.realpath(plan["data"]):
        raise CounterweightError(
            f"results and data are both {plan['results']!r}: name two folders, since studies and "
            "data sets may be called alike."
        )


def resolve(config):
    """Check a config and spell it out.

    The plan has ``seed``, ``data_source``, ``results``, ``data``, ``metrics``, ``datasets``,
    ``families``, ``rates`` (measures that any study names) and ``studies``: each study with
    ``selectors``, ``weightings`` and ``methods`` by id, in config order, defaults filled in.
    """
    full = schema()
    config = with_new_names(config)
    check(config, full)
    plan = _with_defaults(config, full)
    if "accuracy" not in plan["metrics"]:
        raise CounterweightError(
            f"metrics lists {listed(plan['metrics'])}; add accuracy, which the tables and the "
            "comparisons with the baseline go by."
        )
    unknown = [name for name in plan["only"] if name not in plan["studies"]]
    if unknown:
        hint = nearest(unknown[0], plan["studies"]) or "."
        raise CounterweightError(
            f"only names {unknown[0]!r}, which is no study{hint} Studies: "
            f"{choices(unknown[0], plan['studies'])}."
        )
    _check_names(plan)
    # Of all studies, also of those that are not run: claims on them are told in the same units.
    plan["rates"] = {}
    for study in plan["studies"].values():
        plan["rates"] = (study["evaluation"].get("measures") or {}) | plan["rates"]
    studies = {}
    for name, study in plan["studies"].items():
        if plan["only"] and name not in plan["only"]:
            continue
        studies[name] = _resolved_study(name, study, plan)
    left_out = plan["studies"].keys() - studies.keys()
    plan["studies"] = studies
    for name, study in studies.items():
        other = study["paired_with"]
        if other is None:
            continue
        others = [one for one in studies if one != name]
        if other in left_out:
            raise CounterweightError(
                f"studies.{name}.paired_with is {other!r}, which only leaves out: add {other} to "
                "only."
            )
        if other not in others:
            raise CounterweightError(
                f"studies.{name}.paired_with is {other!r}, which is no other study"
                f"{nearest(other, others) or '.'} Others: "
                f"{choices(other, others) if others else 'none'}."
            )
        for key in ("dataset", "test_share", "user"):
            if studies[other][key] != study[key]:
                raise CounterweightError(
                    f"studies.{name} is paired with {other}, but their {key} differs "
                    f"({study[key]} and {studies[other][key]}): paired studies share it."
                )
        if studies[other]["paired_with"] is not None:
            raise CounterweightError(
                f"studies.{name}.paired_with names {other}, which is itself paired with "
                f"{studies[other]['paired_with']}: name that one."
            )
    used = dict.fromkeys(study["dataset"] for study in studies.values())
    known = components.registry("dataset")
    names = [name for name in known if name in used] + [name for name in used if name not in known]
    plan["datasets"] = {name: _resolved_dataset(name, plan) for name in names}
    for name, study in studies.items():
        study["source"] = plan["datasets"][study["dataset"]]["source"]
        rule = study["labeling"]["rule"]
        needs_truth = components.declared("labeling", rule, "NEEDS_TRUTH", False) or (
            any(selector["oracle"] for selector in study["selectors"].values())
            and not components.declared("labeling", rule, "CHANCES", False)
        )
        sections = sections_of(study, plan["metrics"]).values()
        if any("form" in said for said in sections) and "sections" not in study["figures"]:
            study["figures"] = [*study["figures"], "sections"]
        plane = [
            figure
            for figure in study["figures"]
            if components.declared("figure", figure, "KNOWN_BOUNDARY", False)
        ]
        if plane and study["source"] != "simulated":
            raise CounterweightError(
                f"studies.{name}.figures has {plane[0]}, which draws points in a plane with a "
                f"known boundary, and the data set {study['dataset']} is none: leave the figure "
                "out."
            )
        if needs_truth and study["source"] == "download":
            raise CounterweightError(
                f"studies.{name} needs the true p(s=1|x) (labeling rule known_propensity or "
                f"selector known), and the data set {study['dataset']} is real: nobody knows it."
            )
    return plan


def _check_names(plan):
    """Refuse studies whose files would be others', and settings of data sets that are none."""
    taken = [name for name in plan["studies"] if name in RESERVED]
    if taken:
        raise CounterweightError(
            f"A study is called {taken[0]!r}, and so is a part of the results: give it another "
            "name."
        )
    chosen = plan["filter_study"]
    if chosen and chosen not in plan["studies"]:
        raise CounterweightError(
            f"filter_study is {chosen!r}, which is no study"
            f"{nearest(chosen, plan['studies']) or '.'}"
        )
    known, used = components.registry("dataset"), [s["dataset"] for s in plan["studies"].values()]
    for name, given in plan["datasets"].items():
        if name not in known and name not in used and not {"path", "query"} & given.keys():
            raise CounterweightError(
                f"datasets.{name} is of no data set{nearest(name, [*known, *used]) or '.'} "
                f"Choose one of: {', '.join(known)}; or give it the path of a table of your own."
            )


def _with_defaults(value, node):
    """Copy of `value` with the schema's defaults filled in, nested parts included."""
    if not isinstance(value, dict):
        return copy.deepcopy(value)
    filled = {}
    for key, part in node.get("properties", {}).items():
        if key in value:
            filled[key] = _with_defaults(value[key], part)
        elif "default" in part:
            filled[key] = copy.deepcopy(part["default"])
    rest = node.get("additionalProperties")
    for key in value:
        if key not in filled:
            filled[key] = _with_defaults(value[key], rest if isinstance(rest, dict) else {})
    return filled


def _resolved_dataset(name, plan):
    simulated = components.declared("dataset", name, "SIMULATED", False)
    source = "simulated" if simulated else plan["data_source"]
    given = plan["datasets"].get(name, {})
    rows, path = given.get("rows"), given.get("path")
    if components.declared("dataset", name, "OWN", False):
        if not path and not given.get("query"):
            known = components.registry("dataset")
            if name not in known:
                raise CounterweightError(
                    f"A study uses the data set {name}, which is none{nearest(name, known) or '.'} "
                    f"Choose one of: {', '.join(known)}; or set datasets.{name}.path to a table "
                    "of your own."
                )
            raise CounterweightError(
                f"A study uses the data set {name}, but no file is named: set "
                f"datasets.{name}.path to a CSV or Parquet file."
            )
        _check_marks(f"datasets.{name}", given)
        if path and given.get("query"):
            raise CounterweightError(
                f"datasets.{name} names a path and a query: leave one of the two out."
            )
        _check_reading(name, given)
        return {"source": "own", "rows": 0, "files": {}} | given
    if path:
        raise CounterweightError(
            f"datasets.{name}.path names a file, and only own_table is read from one: use the data "
            "set own_table in the study."
        )
    return {
        "source": source,
        "rows": rows or components.declared("dataset", name, "ROWS", 0),
        "files": components.declared("dataset", name, "FILES", {}),
    }


def _check_marks(where, given):
    """Refuse one mark both before decimals and between thousands."""
    said = {f"{where}.reading": given.get("reading") or {}}
    entries = (given.get("columns") or {}).get("numbers") or ()
    for entry in [entries] if isinstance(entries, dict) else entries:
        if isinstance(entry, dict):
            said |= {f"{where}.columns.numbers, {name!r}": marks for name, marks in entry.items()}
    for place, marks in said.items():
        if "decimal" in marks and marks["decimal"] == marks.get("thousands"):
            raise CounterweightError(
                f"{place}: decimal and thousands are both {marks['decimal']!r}, which can stand "
                "for one of the two only: correct one, or leave thousands out."
            )


def _check_bounds(study, measures):
    """Refuse bounds of a measure that leave nothing between them."""
    for measure, told_as in measures.items():
        least, most = told_as.get("bounds") or (None, None)
        if None not in (least, most) and not least < most:
            raise CounterweightError(
                f"studies.{study}.measures.{measure}.bounds is [{least:g}, {most:g}]: name the "
                "least possible value, then the largest one, or null for none."
            )


def _check_reading(name, given):
    """Refuse encodings that are none of texts, and formats that say nothing of a date."""
    encoding = (given.get("reading") or {}).get("encoding")
    with contextlib.suppress(LookupError):
        if encoding is None or codecs.lookup(encoding)._is_text_encoding:
            encoding = None
    if encoding is not None:
        raise CounterweightError(
            f"datasets.{name}.reading.encoding is {encoding!r}, which is no encoding of texts: "
            "choose one such as utf-8, utf-16, cp1252 or latin-1, or leave it out."
        )
    dates = given.get("columns", {}).get("dates") or []
    dates = [dates] if isinstance(dates, dict) else [one for one in dates if isinstance(one, dict)]
    for column, form in (pair for one in dates for pair in one.items()):
        if not isinstance(form, str) or "%" not in form:
            raise CounterweightError(
                f"datasets.{name}.columns.dates.{column} is {form!r}: write the format with the "
                'signs of strptime, such as "%Y-%m-%d".'
            )


def _resolved_study(name, study, plan):
    for part, kind, key in (
        ("features", "features", "recipe"),
        ("outcome", "outcome", "rule"),
        ("labeling", "labeling", "rule"),
        ("evaluation", "protocol", "protocol"),
    ):
        chosen = study[part][key]
        study[part] = {key: chosen, "options": options_of(kind, chosen, study[part])}
    study = {
        "id": name,
        "title": name,
        "question": "",
        "measures": {},
        "paired_with": None,
        "repeats": plan["repeats"],
        "test_share": plan["test_share"],
        "samples": {},
        "test_rows": None,
        "user": None,
    } | study
    study["stream"] = study["paired_with"] or name
    _check_bounds(name, study["measures"])
    conditions = {f"samples.{one}": told for one, told in study["samples"].items()}
    conditions |= {"test_rows": study["test_rows"]} if study["test_rows"] else {}
    for key, told_of in conditions.items():
        if found := condition_mistakes(f"studies.{name}.{key}", told_of):
            raise CounterweightError(together(found))
    tasks.check_parts(name, study)
    kind = tasks.module_of(study)
    kind.complete(name, study, plan)
    rule = study["labeling"]["rule"]
    if components.declared("labeling", rule, "COMPLETE", False) and "unlabeled" in study["targets"]:
        raise CounterweightError(
            f"studies.{name}: the labeling rule {rule} labels every row, so there is no unlabeled "
            "population: set targets: [general]."
        )
    selectors, given_labels = {}, {"selection": {}, "models": {}}
    for item in study.pop("selection"):
        identity = item.get("name", item["selector"])
        if identity in selectors:
            raise CounterweightError(
                f"studies.{name}.selection has two entries called {identity!r}: give one a name."
            )
        selectors[identity] = {
            "selector": item["selector"],
            "oracle": components.declared("selector", item["selector"], "ORACLE", False),
            "options": options_of("selector", item["selector"], item),
        }
        own = kind.ITEM_KEYS.get("selection", {})
        selectors[identity] |= {key: item.get(key, default) for key, default in own.items()}
        if "label" in item:
            given_labels["selection"][identity] = item["label"]
    listed_weightings = study.pop("weighting")
    study["selectors"] = selectors
    study["weightings"] = resolved_weightings(f"studies.{name}", listed_weightings, study)
    given_labels["weighting"] = {
        item.get("name", item["weighting"]): item["label"]
        for item in listed_weightings
        if "label" in item
    }
    study["methods"] = methods = {}
    listed_methods = study.pop("models")
    for index, item in enumerate(listed_methods):
        where = f"studies.{name}.models[{index}]"
        identity = item.get("name") or method_id(item, study)
        if identity in methods:
            raise CounterweightError(
                f"{where} is a second method called {identity!r}: give it a name of its own."
            )
        methods[identity] = resolved_method(where, item, study, plan)
        if "label" in item:
            given_labels["models"][identity] = item["label"]
    for index, (identity, item) in enumerate(zip(list(methods), listed_methods, strict=True)):
        add_starts(f"studies.{name}.models[{index}]", identity, item, study, plan)
    kind.finish(name, study)
    reported = [identity for identity, method in methods.items() if method["reported"]]
    if "baseline" not in study:
        plain = [identity for identity in reported if not methods[identity]["sweep"]]
        study["baseline"] = next(iter(plain), reported[0])
    if study["baseline"] not in reported:
        raise CounterweightError(
            f"studies.{name}.baseline is {study['baseline']!r}, which is none of its methods"
            f"{nearest(study['baseline'], reported) or '.'} Methods: {', '.join(reported)}."
        )
    if methods[study["baseline"]]["sweep"]:
        raise CounterweightError(
            f"studies.{name}.baseline is {study['baseline']!r}, which is swept: the others need "
            "one method to be compared with."
        )
    add_labels(name, study, given_labels)
    add_draws(f"studies.{name}", listed_methods, study, plan)
    return study
