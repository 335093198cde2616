"""The config: checked before anything runs, then resolved into a plan.

`check` tells every mistake in a sentence that names the key, the nearest valid word
and what is allowed. `resolve` fills defaults and spells out each selector, weighting
and method of each study; stages read the plan only.
"""

import copy
import difflib
import tempfile
from pathlib import Path

import yaml

from counterweight import components
from counterweight.errors import CounterweightError, listed

SCHEMA = components.schema_path("config.schema.yaml")


#: Kinds of studies, in words.
TASKS = {"classification": "studies of classifiers", "log": "studies of logged actions"}

#: Words for types that config writers use where JSON schema has others.
TYPES = {"object": "mapping", "array": "list", "string": "text", "null": "null (nothing)"}


def schema():
    """The full JSON schema, component names and options filled in."""
    return _filled(yaml.safe_load(SCHEMA.read_text(encoding="utf-8")))


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


def check(config):
    """Refuse a config that the schema does not allow.

    Parameters
    ----------
    config : dict

    Raises
    ------
    CounterweightError
        One line for each mistake.
    """
    from jsonschema import Draft202012Validator

    full = schema()
    mistakes = _told(Draft202012Validator(full), config, ())
    if not mistakes:
        for path, value, node in _with_options(config, full):
            kind, key = node["x-component-with-options"]
            allowed = copy.deepcopy(node)
            allowed["properties"] |= components.options(kind, value[key])
            allowed["additionalProperties"] = False
            needed = [
                name for name, option in components.options(kind, value[key]).items()
                if "default" not in option
            ]  # fmt: skip
            allowed["required"] = [key, *needed]
            mistakes += _told(Draft202012Validator(allowed), value, path)
        for model, options in (config.get("model_defaults") or {}).items():
            allowed = {
                "type": "object", "properties": components.options("model", model),
                "additionalProperties": False,
            }  # fmt: skip
            mistakes += _told(Draft202012Validator(allowed), options, ("model_defaults", model))
    if mistakes:
        raise CounterweightError("\n".join(mistakes))


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


def check_folders(plan):
    """Refuse folders of the plan that cannot be written, before anything runs.

    Raises
    ------
    CounterweightError
    """
    for key in ("results", "data"):
        folder = Path(plan[key]).absolute()
        parent = next(path for path in (folder, *folder.parents) if path.exists())
        try:
            with tempfile.TemporaryDirectory(dir=parent, prefix=".counterweight-"):
                pass
        except OSError as error:
            raise CounterweightError(
                f"{key} is {plan[key]!r}, and {parent} cannot be written ({error.strerror}): make "
                "it writable, or name another folder."
            ) from error


def _where(path):
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text or "the config"


def _nearest(word, allowed):
    close = difflib.get_close_matches(str(word), [str(item) for item in allowed], n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _told(validator, value, path):
    """Sentences for the mistakes of one part of the config."""
    found = []
    for error in sorted(
        validator.iter_errors(value), key=lambda e: list(map(str, e.absolute_path))
    ):
        place = (*path, *error.absolute_path)
        where = _where(place)
        if error.validator == "additionalProperties":
            allowed = list(error.schema.get("properties", {}))
            unknown = [key for key in error.instance if key not in allowed]
            found += [
                f"Unknown key {_where((*place, key))}{_nearest(key, allowed) or '.'} "
                f"Allowed here: {', '.join(allowed)}."
                for key in unknown
            ]
        elif error.validator == "enum":
            allowed = error.validator_value
            found.append(
                f"{where} is {error.instance!r}, which is not a choice"
                f"{_nearest(error.instance, allowed) or '.'} Choose one of: "
                f"{', '.join(map(str, allowed)) or 'nothing is registered'}."
            )
        elif error.validator == "required":
            missing = error.message.split("'")[1]
            described = error.schema.get("properties", {}).get(missing, {}).get("description", "")
            found.append(f"{where} lacks the key {missing!r}. {described}".strip())
        elif error.validator == "type":
            hint = ""
            if isinstance(error.instance, str) and _looks_numeric(error.instance):
                hint = " YAML reads 1e-7 as text: write 1.0e-7, without quotes."
            wanted = error.validator_value
            wanted = wanted if isinstance(wanted, list) else [wanted]
            wanted = " or ".join(TYPES.get(name, name) for name in wanted)
            found.append(
                f"{where} must be of type {wanted}, not {_kind(error.instance)} "
                f"({error.instance!r}).{hint}"
            )
        else:
            found.append(f"{where} is {error.instance!r}: {error.message}.")
    return found


def _kind(value):
    if value is None:
        return "empty"
    names = {bool: "boolean", int: "integer", float: "number", str: "text", list: "list"}
    return names.get(type(value), "mapping")


def _looks_numeric(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def resolve(config):
    """Check a config and spell it out.

    Returns
    -------
    dict
        ``seed``, ``data_source``, ``results``, ``data``, ``metrics``, ``datasets`` and
        ``studies``: each study with ``selectors``, ``weightings`` and ``methods`` by id,
        in config order, defaults filled in.

    Raises
    ------
    CounterweightError
        For anything that the schema or the references between the parts do not allow.
    """
    check(config)
    full = schema()
    plan = _with_defaults(config, full)
    if "accuracy" not in plan["metrics"]:
        raise CounterweightError(
            f"metrics lists {listed(plan['metrics'])}; add accuracy, which the tables and the "
            "comparisons with the baseline go by."
        )
    studies = {}
    for name, study in plan["studies"].items():
        studies[name] = _resolved_study(name, study, plan)
    plan["studies"] = studies
    for name, study in studies.items():
        other = study["paired_with"]
        if other is None:
            continue
        if other not in studies or other == name:
            raise CounterweightError(
                f"studies.{name}.paired_with is {other!r}, which is no other study"
                f"{_nearest(other, studies) or '.'} Studies: {', '.join(studies)}."
            )
        for key in ("dataset", "test_share"):
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
    used = {study["dataset"] for study in studies.values()}
    plan["datasets"] = {
        name: _resolved_dataset(name, plan)
        for name in components.registry("dataset")
        if name in used
    }
    for name, study in studies.items():
        study["source"] = plan["datasets"][study["dataset"]]["source"]
        needs_truth = study["labeling"]["rule"] == "known_propensity" or any(
            selector["oracle"] for selector in study["selectors"].values()
        )
        if "boundary" in study["figures"] and study["source"] != "simulated":
            raise CounterweightError(
                f"studies.{name}.figures has boundary, which draws points in a plane with a known "
                f"boundary, and the data set {study['dataset']} is none: leave the figure out."
            )
        if needs_truth and study["source"] == "download":
            raise CounterweightError(
                f"studies.{name} needs the true p(s=1|x) (labeling rule known_propensity or "
                f"selector known), and the data set {study['dataset']} is real: nobody knows it."
            )
    return plan


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


def _options(kind, name, given):
    """All options of a component: given ones, else defaults."""
    declared = components.options(kind, name)
    return {option: given.get(option, node.get("default")) for option, node in declared.items()}


def _resolved_dataset(name, plan):
    simulated = components.declared("dataset", name, "SIMULATED", False)
    source = "simulated" if simulated else plan["data_source"]
    rows = plan["datasets"].get(name, {}).get("rows")
    return {
        "source": source,
        "rows": rows or components.declared("dataset", name, "ROWS"),
        "files": components.declared("dataset", name, "FILES", {}),
    }


def _resolved_study(name, study, plan):
    for part, kind, key in (
        ("features", "features", "recipe"),
        ("outcome", "outcome", "rule"),
        ("labeling", "labeling", "rule"),
        ("evaluation", "protocol", "protocol"),
    ):
        chosen = study[part][key]
        study[part] = {key: chosen, "options": _options(kind, chosen, study[part])}
    study = {
        "title": name, "paired_with": None,
        "repeats": plan["repeats"], "test_share": plan["test_share"],
    } | study  # fmt: skip
    study["stream"] = study["paired_with"] or name
    _check_task(name, study, plan)
    selectors = {}
    for item in study.pop("selection"):
        identity = item.get("name", item["selector"])
        if identity in selectors:
            raise CounterweightError(
                f"studies.{name}.selection has two entries called {identity!r}: give one a name."
            )
        selectors[identity] = {
            "selector": item["selector"],
            "calibration": item.get("calibration", "isotonic"),
            "folds": item.get("folds", 5),
            "oracle": components.declared("selector", item["selector"], "ORACLE", False),
            "options": _options("selector", item["selector"], item),
        }
    weightings = {}
    listed_weightings = study.pop("weighting")
    names = [item["weighting"] for item in listed_weightings]
    twice = next((weighting for weighting in names if names.count(weighting) > 1), None)
    if twice:
        raise CounterweightError(
            f"studies.{name}.weighting lists {twice!r} twice: to compare two caps, make two "
            "studies of which the second is paired_with the first."
        )
    for item in listed_weightings:
        for selector in selectors:
            weightings[f"{item['weighting']}-{selector}"] = {
                "weighting": item["weighting"],
                "selector": selector,
                "max_weight": item.get("max_weight", 50.0),
                "target": components.declared("weighting", item["weighting"], "TARGET"),
                "options": _options("weighting", item["weighting"], item),
            }
    study["selectors"], study["weightings"] = selectors, weightings
    study["methods"] = methods = {}
    listed_methods = study.pop("models")
    for index, item in enumerate(listed_methods):
        where = f"studies.{name}.models[{index}]"
        identity = item.get("name") or method_id(item, study)
        if identity in methods:
            raise CounterweightError(
                f"{where} is a second method called {identity!r}: give it a name of its own."
            )
        methods[identity] = _resolved_method(where, item, study, plan)
    for index, (identity, item) in enumerate(zip(list(methods), listed_methods, strict=True)):
        _add_starts(f"studies.{name}.models[{index}]", identity, item, study, plan)
    reported = [identity for identity, method in methods.items() if method["reported"]]
    if "baseline" not in study:
        plain = [identity for identity in reported if not methods[identity]["sweep"]]
        study["baseline"] = "logistic" if "logistic" in plain else next(iter(plain), reported[0])
    if study["baseline"] not in reported:
        raise CounterweightError(
            f"studies.{name}.baseline is {study['baseline']!r}, which is none of its methods"
            f"{_nearest(study['baseline'], reported) or '.'} Methods: {', '.join(reported)}."
        )
    if methods[study["baseline"]]["sweep"]:
        raise CounterweightError(
            f"studies.{name}.baseline is {study['baseline']!r}, which is swept: the others need "
            "one method to be compared with."
        )
    return study


def _check_task(name, study, plan):
    """Find what kind of study this is; refuse parts that belong to another kind."""
    rule = study["labeling"]["rule"]
    study["task"] = task = components.declared("labeling", rule, "TASK", "classification")
    parts = [("evaluation.protocol", "protocol", study["evaluation"]["protocol"])]
    parts += [
        (f"models[{index}].model", "model", item["model"])
        for index, item in enumerate(study["models"])
    ]
    for where, kind, part in parts:
        own = components.declared(kind, part, "TASK", "classification")
        if own != task:
            fitting = [
                other for other in components.registry(kind)
                if components.declared(kind, other, "TASK", "classification") == task
            ]  # fmt: skip
            raise CounterweightError(
                f"studies.{name}.{where} is {part!r}, which is for {TASKS[own]}; the labeling rule "
                f"{rule} makes {TASKS[task]}: choose one of {listed(fitting)}."
            )
    absent = [metric for metric in study["columns"] if metric not in plan["metrics"]]
    if task == "log":
        extra = [key for key in ("selection", "weighting") if study[key]]
        if extra or study["keep_rate"] < 1 or study["paired_with"]:
            key = (extra + ["keep_rate" if study["keep_rate"] < 1 else "paired_with"])[0]
            raise CounterweightError(
                f"studies.{name}.{key} has no meaning for {TASKS['log']}: leave it out (rates "
                "of such a study stand in evaluation.keep_rates)."
            )
        study |= {"targets": ["general"], "test_share": 0.0, "repeats": 1, "columns": ["value"]}
    elif absent:
        raise CounterweightError(
            f"studies.{name}.columns shows {listed(absent)}, which metrics does not list: add it "
            "to metrics, or leave it out of columns."
        )
    if components.declared("labeling", rule, "COMPLETE", False) and "unlabeled" in study["targets"]:
        raise CounterweightError(
            f"studies.{name}: the labeling rule {rule} labels every row, so there is no unlabeled "
            "population: set targets: [general]."
        )
    if study["keep_rate"] < 1 and study["evaluation"]["protocol"] != "metrics":
        raise CounterweightError(
            f"studies.{name}.keep_rate cannot be combined with the protocol "
            f"{study['evaluation']['protocol']}, which rejects rows itself: leave one of them out."
        )


def _resolved_method(where, item, study, plan):
    given = plan["model_defaults"].get(item["model"], {}) | item
    method = {
        "model": item["model"],
        "weights": None,
        "oracle": item.get("oracle", False),
        "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
        "sweep": item.get("sweep"),
        "options": _options("model", item["model"], given),
        "reported": True,
        "starts": {},
    }
    starts = components.declared("model", item["model"], "STARTS")
    if starts and (item.get("weights") or item.get("oracle")):
        raise CounterweightError(
            f"{where}: the model {item['model']} takes no weights and no oracle, since it begins "
            "from fitted models that have them: leave the keys out."
        )
    if item.get("oracle") and item.get("weights"):
        raise CounterweightError(
            f"{where} is an oracle with weights: an oracle learns from the target population "
            "itself, so leave out one of the two keys."
        )
    for option in method["sweep"] or {}:
        allowed = components.options("model", item["model"])
        if option not in allowed:
            raise CounterweightError(
                f"{where}.sweep varies {option!r}, which is no option of {item['model']}"
                f"{_nearest(option, allowed) or '.'} Options: {', '.join(allowed)}."
            )
        _check_sweep(where, option, allowed[option], method["sweep"][option])
    if item.get("selector") and not (item.get("weights") or starts):
        raise CounterweightError(
            f"{where} names a selector but no weights: add weights, or drop it."
        )
    if item.get("weights"):
        method["weights"] = _weighting(where, item["weights"], item.get("selector"), study)
    return method


def _check_sweep(where, option, node, values):
    from jsonschema import Draft202012Validator

    mistakes = []
    for index, value in enumerate(values):
        mistakes += _told(Draft202012Validator(node), value, (where, "sweep", option, index))
    if mistakes:
        raise CounterweightError("\n".join(mistakes))


def _weighting(where, weights, selector, study):
    if not study["selectors"]:
        raise CounterweightError(
            f"{where} has weights, but its study has no selection model: add one under selection."
        )
    selector = selector or next(iter(study["selectors"]))
    if selector not in study["selectors"]:
        known = list(study["selectors"])
        raise CounterweightError(
            f"{where}.selector is {selector!r}, which the study does not fit"
            f"{_nearest(selector, known) or '.'} Its selection models: {', '.join(known)}."
        )
    identity = f"{weights}-{selector}"
    if identity not in study["weightings"]:
        raise CounterweightError(
            f"{where} uses the weighting {weights!r}, which the study does not compute: add "
            f"{{weighting: {weights}}} under weighting."
        )
    return identity


def method_id(item, study):
    """Name of a method: model, weights, selector unless the first, oracle."""
    parts = [item["model"]]
    if item.get("weights"):
        parts.append(item["weights"])
        if item.get("selector") and item["selector"] != next(iter(study["selectors"])):
            parts.append(item["selector"])
    if item.get("oracle"):
        parts.append("oracle")
    return "-".join(parts)


def _add_starts(where, identity, item, study, plan):
    """Find or add the fitted models that a method begins from."""
    methods = study["methods"]
    method = methods[identity]
    starts = components.declared("model", method["model"], "STARTS") or {}
    for role, start in starts.items():
        if start.get("weights") and item.get("selector"):
            start = start | {"selector": item["selector"]}
        try:
            begun = _resolved_method(where, start, study, plan) | {"repeats": method["repeats"]}
        except CounterweightError as error:
            raise CounterweightError(
                f"{where}: the model {method['model']} begins from a {start['model']} model with "
                f"{start.get('weights', 'no')} weights. {error}"
            ) from error
        found = next((other for other, known in methods.items() if _same_fit(known, begun)), None)
        if found is None:
            found = method_id(start, study)
            if found in methods:
                found = f"{found}-start-of-{identity}"
            methods[found] = begun | {"reported": False}
        method["starts"][role] = found


def _same_fit(one, other):
    """Whether `one` is the same fit as `other`, in at least as many repeats."""
    keys = ("model", "weights", "oracle", "sweep", "options")
    return one["repeats"] >= other["repeats"] and all(one[key] == other[key] for key in keys)
