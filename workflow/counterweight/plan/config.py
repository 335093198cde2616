"""The config: checked before anything runs, then resolved into a plan.

`check` tells every mistake in a sentence that names the key, the nearest valid word
and what is allowed. `resolve` fills defaults and spells out each selector, weighting
and method of each study; stages read the plan only.
"""

import codecs
import contextlib
import copy
import keyword
import os
import tempfile
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.plan import benchmarks, components, tasks
from counterweight.plan.jobs import RESERVED
from counterweight.plan.measures import BUILTIN_SETS, sections_of
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
    condition_mistakes,
    nearest,
    none_of,
    odd_values,
    refuse_all,
    told,
)

#: The checkout that this file is part of.
HOME = Path(__file__).resolve().parents[3]


def schema():
    """The full JSON schema, component names and options filled in."""
    return _filled(components.schema("config"))


def _filled(node):
    if isinstance(node, list):
        return [_filled(item) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: _filled(value) for key, value in node.items()}
    if "x-component" in node:
        node |= {"enum": list(components.registry(node.pop("x-component")))}
    if "x-component-with-options" in node:
        kind, key = node["x-component-with-options"]
        own = {"enum": list(components.registry(kind)), "description": f"Which {kind}."}
        node |= {"type": "object", "required": [key]}
        node["properties"] = {key: own} | node.get("properties", {})
    return node


def check(config, full=None):
    """Refuse a config that the schema does not allow, in one line for each mistake."""
    full = full or schema()
    mistakes = odd_values(config) or told(full, config, ())
    if not mistakes:
        mistakes = _of_options(config, full, ())
        for model, options in (config.get("model_defaults") or {}).items():
            known, place = _filled(components.options("model", model)), ("model_defaults", model)
            node = {"type": "object", "properties": known, "additionalProperties": False}
            mistakes += told(node, options, place) or _of_options(options, node, place)
    refuse_all(mistakes)


def _of_options(value, node, path):
    """Mistakes in the options of the components that a part of the config names, at any depth."""
    if isinstance(value, list):
        below = node.get("items", {})
        return [one for at, v in enumerate(value) for one in _of_options(v, below, (*path, at))]
    if not isinstance(value, dict):
        return []
    known, rest = node.get("properties", {}), node.get("additionalProperties")
    if "x-component-with-options" in node:
        kind, key = node["x-component-with-options"]
        options = _filled(components.options(kind, value[key]))
        swept = value.get("sweep") or {}
        needed = [o for o, one in options.items() if "default" not in one and o not in swept]
        known = known | options
        allowed = {"properties": known, "additionalProperties": False, "required": [key, *needed]}
        if found := told(node | allowed, value, path):
            return found
    rest = rest if isinstance(rest, dict) else {}
    parts = [(part, known.get(key, rest), (*path, key)) for key, part in value.items()]
    return [one for part in parts for one in _of_options(*part)]


def weighting_mistakes(asked, path):
    """Sentences for a weighting and its options, as studies list them, that stands at `path`."""
    study = schema()["properties"]["studies"]["additionalProperties"]
    item = study["properties"]["weighting"]["items"]
    return told(item, asked, path) or _of_options(asked, item, path)


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
    folder, wrong, todo = Path(os.path.abspath(told)), "", "name another folder"
    if not told.isprintable() or not told.strip():
        raise CounterweightError(f"{key} is {told!r}: name a folder, without line breaks and tabs.")
    if braces := {"{", "}"} & {*told}:
        wrong = f"and Snakemake takes what stands in {min(braces)} for a name to fill in"
        todo = "leave braces out"
    elif told.startswith("~"):
        wrong, todo = "and ~ would be the name of a folder", "write the whole path"
    elif "\\" in told and os.sep == "/":
        wrong, todo = "and parts of a path have / between them here", "write it so"
    for base, closed in ((home, CODE), (Path.cwd(), ())) if not wrong else ():
        base = Path(os.path.abspath(base))
        first = folder.relative_to(base).parts[:1] if folder.is_relative_to(base) else ()
        if folder in (base, *base.parents):
            wrong = "which holds the workflow itself"
        elif first and (first[0] in closed or first[0].startswith(".")):
            wrong = f"which is for others: {first[0]} belongs to the checkout"
    if holding := [table for table in tables if folder.is_relative_to(os.path.abspath(table))]:
        wrong = wrong or f"and the folder {holding[0]} holds a table that is read"
    if wrong:
        raise CounterweightError(f"{key} is {told!r}, {wrong}: {todo}.")
    try:
        parent = next(path for path in (folder, *folder.parents) if path.exists())
        with tempfile.TemporaryDirectory(dir=parent, prefix=".counterweight-"):
            pass
    except OSError as error:
        raise CounterweightError(
            f"{key} is {brief(told)}, and it cannot be written ({error.strerror}): make it "
            "writable, or name another folder."
        ) from error


def check_folders(plan, given=None, home=HOME):
    """Refuse folders that cannot be written and files that are not there, before anything runs.

    A file is told by the key that names it in `given`, what was given on top of ``config.yaml``.
    """
    files = {"candidates": plan.get("candidates")}
    for name, dataset in plan.get("datasets", {}).items():
        files[_key_of(name, "table", f"datasets.{name}.path", given)] = dataset.get("path")
    for name, study in plan.get("studies", {}).items():
        for part in ("score", "collected"):
            files[_key_of(name, part, f"studies.{name}.{part}", given)] = study[part]
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
        parts = [Path(path), *Path(path).rglob("*")] if path else []
        if path and not any(part.is_file() and part.stat().st_size for part in parts):
            raise CounterweightError(
                f"{key} is {path!r}, and there is nothing in it: correct the path."
            )
    key, mirror = plan.get("filter_key"), plan.get("data_mirror")
    if key and Path(key).is_dir():
        raise CounterweightError(f"filter_key is {key!r}, which is a folder: name a file in it.")
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
    check(config, full)
    plan = _with_defaults(config, full)
    _check_names(plan)
    # Of all studies, also of those that are not run: claims on them are told in the same units.
    plan["rates"] = {}
    for study in plan["studies"].values():
        plan["rates"] = (study["evaluation"].get("measures") or {}) | plan["rates"]
    every = plan["studies"]
    plan["studies"] = studies = {
        name: _resolved_study(name, study, plan)
        for name, study in every.items()
        if name in plan["only"] or not plan["only"]
    }
    titles = [study.get("title") for study in every.values()]
    for name, study in studies.items():
        study["title"] += f" [{name}]" * (titles.count(study["title"]) > 1)
        if study["paired_with"] is not None:
            _check_pair(name, study, studies, every)
    compared = _resolved_benchmarks(plan, full)
    used = dict.fromkeys(study["dataset"] for study in [*studies.values(), *compared])
    known = components.registry("dataset")
    names = [name for name in known if name in used] + [name for name in used if name not in known]
    plan["datasets"] = {name: _resolved_dataset(name, plan) for name in names}
    for study in [*studies.values(), *compared]:
        _fit_to_dataset(study["id"], study, plan)
    return plan


def _resolved_benchmarks(plan, full):
    """Spell out the studies of each benchmark, by data set and condition; all of them."""
    every = []
    for name, benchmark in plan["benchmarks"].items():
        asked = [*benchmarks.studies_of(name, benchmark)]
        told = {f"{name}_{one}_{condition}": study for one, condition, study in asked}
        check({"studies": told}, full)
        benchmark["resolved"] = resolved = {}
        own = plan | {"model_defaults": plan["model_defaults"] | benchmark["model_defaults"]}
        for (one, condition, study), identity in zip(asked, told, strict=True):
            study = _with_defaults({"studies": {identity: study}}, full)["studies"][identity]
            study = _resolved_study(identity, study, own)
            # One data set is split alike under every condition.
            study |= {"stream": f"{name}_{one}", "figures": []}
            resolved.setdefault(one, {})[condition] = study
            every.append(study)
        benchmarks.check_methods(name, benchmark)
    return every


def _check_names(plan):
    """Refuse names of nothing, studies whose files would be others', settings of no data set."""
    if "accuracy" not in plan["metrics"]:
        raise CounterweightError(
            f"metrics lists {listed(plan['metrics'])}; add accuracy, which the tables and the "
            "comparisons with the baseline go by."
        )
    studies = plan["studies"]
    for name in plan["only"]:
        if name not in studies:
            raise none_of(f"only names {name!r}, which is no study", name, studies, "Studies")
    if taken := [name for name in studies if name in RESERVED]:
        raise CounterweightError(
            f"A study is called {taken[0]!r}, and so is a part of the results: give it another "
            "name."
        )
    chosen = plan["filter_study"]
    if chosen and chosen not in studies:
        raise none_of(f"filter_study is {chosen!r}, which is no study", chosen, studies, "Studies")
    known, used = components.registry("dataset"), [study["dataset"] for study in studies.values()]
    for name, given in plan["datasets"].items():
        if name not in known and name not in used and not {"path", "query"} & given.keys():
            raise CounterweightError(
                f"datasets.{name} is of no data set{nearest(name, [*known, *used]) or '.'} "
                f"Choose one of: {listed(known, 20)}; or give it the path of a table of your own."
            )


def _check_pair(name, study, studies, every):
    """Refuse a partner that is not run, of other rows, or itself paired with another study."""
    other, others = study["paired_with"], [one for one in studies if one != name]
    where = f"studies.{name}.paired_with is {other!r}, which"
    if other in every and other not in studies:
        raise CounterweightError(f"{where} only leaves out: add {other} to only.")
    if other not in others:
        raise none_of(f"{where} is no other study", other, others, "Others")
    for key in ("dataset", "test_share", "user"):
        if studies[other][key] != study[key]:
            raise CounterweightError(
                f"studies.{name} is paired with {other}, but their {key} differs "
                f"({study[key]} and {studies[other][key]}): paired studies share it."
            )
    if further := studies[other]["paired_with"]:
        raise CounterweightError(
            f"studies.{name}.paired_with names {other}, which is itself paired with {further}: "
            "name that one."
        )


def _fit_to_dataset(name, study, plan):
    """Note where a study's data come from; refuse what asks for a truth that nobody knows."""
    study["source"] = plan["datasets"][study["dataset"]]["source"]
    sections = sections_of(study, plan["metrics"]).values()
    if any("form" in said for said in sections) and "sections" not in study["figures"]:
        study["figures"] = [*study["figures"], "sections"]
    if study["source"] == "own" and study["score"] and "new_rows" not in study["figures"]:
        study["figures"] = [*study["figures"], "new_rows"]
    for figure in study["figures"]:
        plane = components.declared("figure", figure, "KNOWN_BOUNDARY", False)
        if plane and study["source"] != "simulated":
            raise CounterweightError(
                f"studies.{name}.figures has {figure}, which draws points in a plane with a known "
                f"boundary, and the data set {study['dataset']} is none: leave the figure out."
            )
    rule = study["labeling"]["rule"]
    needs_truth = components.declared("labeling", rule, "NEEDS_TRUTH", False) or (
        any(selector["oracle"] for selector in study["selectors"].values())
        and not components.declared("labeling", rule, "CHANCES", False)
    )
    if needs_truth and study["source"] == "download":
        raise CounterweightError(
            f"studies.{name} needs the true p(s=1|x) (labeling rule known_propensity or "
            f"selector known), and the data set {study['dataset']} is real: nobody knows it."
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
    rest = rest if isinstance(rest, dict) else {}
    return filled | {
        key: _with_defaults(part, rest) for key, part in value.items() if key not in filled
    }


def _resolved_dataset(name, plan):
    given = plan["datasets"].get(name, {})
    path, query = given.get("path"), given.get("query")
    if not components.declared("dataset", name, "OWN", False):
        if path:
            raise CounterweightError(
                f"datasets.{name}.path names a file, and only own_table is read from one: use the "
                "data set own_table in the study."
            )
        simulated = components.declared("dataset", name, "SIMULATED", False)
        return {
            "source": "simulated" if simulated else plan["data_source"],
            "rows": given.get("rows") or components.declared("dataset", name, "ROWS", 0),
            "files": components.declared("dataset", name, "FILES", {}),
        }
    known = components.registry("dataset")
    if not path and not query and name not in known:
        raise CounterweightError(
            f"A study uses the data set {name}, which is none{nearest(name, known) or '.'} Choose "
            f"one of: {listed(known, 20)}; or set datasets.{name}.path to a table of your own."
        )
    if not path and not query:
        raise CounterweightError(
            f"A study uses the data set {name}, but no file is named: set datasets.{name}.path to "
            "a CSV or Parquet file."
        )
    if path and query:
        raise CounterweightError(
            f"datasets.{name} names a path and a query: leave one of the two out."
        )
    _check_reading(f"datasets.{name}", given)
    return {"source": "own", "rows": 0, "files": {}} | given


def _check_reading(where, given):
    """Refuse encodings that are none of texts, one mark of two meanings, formats of no date."""
    reading, columns = given.get("reading") or {}, given.get("columns") or {}
    encoding, known = reading.get("encoding"), False
    with contextlib.suppress(LookupError):
        known = encoding is None or codecs.lookup(encoding)._is_text_encoding
    if not known:
        raise CounterweightError(
            f"{where}.reading.encoding is {encoding!r}, which is no encoding of texts: choose one "
            "such as utf-8, utf-16, cp1252 or latin-1, or leave it out."
        )
    marks = {f"{where}.reading": reading}
    marks |= {f"{where}.columns.numbers, {n!r}": said for n, said in _entries(columns, "numbers")}
    for place, said in marks.items():
        if "decimal" in said and said["decimal"] == said.get("thousands"):
            raise CounterweightError(
                f"{place}: decimal and thousands are both {said['decimal']!r}, which can stand for "
                "one of the two only: correct one, or leave thousands out."
            )
    for column, form in _entries(columns, "dates"):
        if not isinstance(form, str) or "%" not in form:
            raise CounterweightError(
                f"{where}.columns.dates.{column} is {form!r}: write the format with the signs of "
                'strptime, such as "%Y-%m-%d".'
            )


def _entries(columns, key):
    """What is said of single columns in a mapping, or in a list with mappings: pairs."""
    said = columns.get(key) or ()
    said = [said] if isinstance(said, dict) else said
    return [pair for one in said if isinstance(one, dict) for pair in one.items()]


def _resolved_study(name, study, plan):
    for part, kind, key in (
        ("features", "features", "recipe"),
        ("outcome", "outcome", "rule"),
        ("labeling", "labeling", "rule"),
        ("evaluation", "protocol", "protocol"),
    ):
        chosen = study[part][key]
        study[part] = {key: chosen, "options": options_of(kind, chosen, study[part])}
    rule = study["labeling"]["rule"]
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
    # The name of a table of one's own draws nothing: another one gives the same answers.
    source = plan.get("datasets", {}).get(name, {})
    own = study["dataset"] == name and (source.get("path") or source.get("query"))
    study["stream"] = study["paired_with"] or ("own table" if own else name)
    _check_conditions(name, study)
    tasks.check_parts(name, study)
    task = tasks.module_of(study)
    task.complete(name, study, plan)
    if components.declared("labeling", rule, "COMPLETE", False) and "unlabeled" in study["targets"]:
        raise CounterweightError(
            f"studies.{name}: the labeling rule {rule} labels every row, so there is no unlabeled "
            "population: set targets: [general]."
        )
    selection, weighting, models = (study.pop(key) for key in ("selection", "weighting", "models"))
    study["selectors"] = {}
    for item in selection:
        identity = item.get("name", item["selector"])
        if identity in study["selectors"]:
            raise CounterweightError(
                f"studies.{name}.selection has two entries called {identity!r}: give one a name."
            )
        own = task.ITEM_KEYS.get("selection", {})
        study["selectors"][identity] = {
            "selector": item["selector"],
            "oracle": components.declared("selector", item["selector"], "ORACLE", False),
            "options": options_of("selector", item["selector"], item),
        } | {key: item.get(key, default) for key, default in own.items()}
    study["weightings"] = resolved_weightings(f"studies.{name}", weighting, study)
    study["methods"] = methods = {}
    for index, item in enumerate(models):
        where = f"studies.{name}.models[{index}]"
        identity = item.get("name") or method_id(item, study)
        if identity in methods:
            raise CounterweightError(
                f"{where} is a second method called {identity!r}: give it a name of its own."
            )
        methods[identity] = resolved_method(where, item, study, plan)
    named = list(methods)
    for index, (identity, item) in enumerate(zip(named, models, strict=True)):
        add_starts(f"studies.{name}.models[{index}]", identity, item, study, plan)
    task.finish(name, study)
    _choose_baseline(name, study)
    told = zip(("selector", "weighting"), (selection, weighting), strict=True)
    given = {part: {one.get("name", one[part]): one for one in items} for part, items in told}
    add_labels(name, study, given | {"model": dict(zip(named, models, strict=True))})
    add_draws(f"studies.{name}", models, study, plan)
    return study


def _check_conditions(name, study):
    """Refuse conditions that nobody meets, names that rates cannot have, bounds of nothing."""
    where, options = f"studies.{name}", study["labeling"]["options"]
    conditions = {f"samples.{one}": condition for one, condition in study["samples"].items()}
    conditions |= {"test_rows": study["test_rows"]}
    for key, node in components.options("labeling", study["labeling"]["rule"]).items():
        given, form = options[key] or {}, node.get("x-condition")
        if form == "by column":
            bounds = {column: one for column, one in given.items() if isinstance(one, dict)}
            parts = {f".{column}": {"column": column} | one for column, one in bounds.items()}
        else:
            parts = {"": given} if form else {}
        conditions |= {f"labeling.{key}{below}": part for below, part in parts.items()}
    for place, condition in conditions.items():
        if condition:
            refuse_all(condition_mistakes((f"{where}.{place}",), condition))
    for sample in study["samples"]:
        if sample in BUILTIN_SETS or keyword.iskeyword(sample):
            has = sample in BUILTIN_SETS
            why = "every study has" if has else "cannot stand in an expression"
            raise CounterweightError(
                f"{where}.samples names {sample!r}, which {why}: choose another name."
            )
    for measure, told_as in study["measures"].items():
        least, most = told_as.get("bounds") or (None, None)
        if None not in (least, most) and not least < most:
            raise CounterweightError(
                f"studies.{name}.measures.{measure}.bounds is [{least:g}, {most:g}]: name the "
                "least possible value, then the largest one, or null for none."
            )


def _choose_baseline(name, study):
    """Set the baseline: the first reported method without a sweep, unless one is named."""
    methods = study["methods"]
    reported = [identity for identity, method in methods.items() if method["reported"]]
    plain = [identity for identity in reported if not methods[identity]["sweep"]]
    chosen = study.setdefault("baseline", next(iter(plain), reported[0]))
    where = f"studies.{name}.baseline is {chosen!r}, which is"
    if chosen not in reported:
        raise none_of(f"{where} none of its methods", chosen, reported, "Methods")
    if methods[chosen]["sweep"]:
        raise CounterweightError(f"{where} swept: the others need one method to be compared with.")
