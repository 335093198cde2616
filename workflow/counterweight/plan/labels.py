"""Names in print and roles of what a study compares: told by the config, else by the components.

A component declares ``LABEL``: a text, in which an option in braces stands for its value, and
``VALUE_LABELS``: values of its options in print, by option. What the config names comes first. No
identifier is ever taken apart.
"""

import string

from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.mistakes import nearest

#: Longest text of an option that stands in a label.
_LONGEST = 40
#: Most parts of a label behind the name of the model.
_MOST = 4


def add_labels(name, study, given):
    """Give selectors, weightings and methods of a study their labels, and methods their roles.

    Parameters
    ----------
    name : str
    study : dict
        Resolved; its methods get ``label`` and ``role``, and it gets ``labels`` of selectors and
        weightings by id, and ``main``.
    given : dict of str to dict
        Labels that the config gives, by id: of ``selection``, ``weighting`` and ``models``.

    Raises
    ------
    CounterweightError
        For a main method that is none.
    """
    selectors = _selector_labels(study["selectors"], given["selection"])
    several = len(study["selectors"]) > 1
    named = _weighting_labels(study["weightings"], given["weighting"])
    study["labels"] = {"selectors": selectors, "weightings": {}}
    for identity, part in study["weightings"].items():
        by = f" by {selectors[part['selector']]}" if several and part["selector"] else ""
        study["labels"]["weightings"][identity] = named[part["name"]] + by
    labels = _method_labels(study, named, given["models"])
    for identity, method in study["methods"].items():
        method["label"] = labels[identity]
    _add_roles(name, study)


def _declared(kind, name):
    """The label of a component; its name in words where it declares none."""
    words = name.replace("_", " ")
    if kind in ("model", "dataset"):
        words = words[:1].upper() + words[1:]
    return components.declared(kind, name, "LABEL", words)


def _selector_labels(selectors, given):
    labels, firsts = {}, {}
    for identity, spec in selectors.items():
        kind = spec["selector"]
        values = components.declared("selector", kind, "VALUE_LABELS", {})
        options = spec["options"] | {
            key: spec[key] for key in spec if key not in ("selector", "oracle", "options")
        }
        base = firsts.setdefault(kind, options)
        apart = [told(key, value, values) for key, value in options.items() if value != base[key]]
        labels[identity] = _with(_declared("selector", kind), apart)
    return _unique(labels, given)


def _weighting_labels(weightings, given):
    """Names of weightings in print, by the name that models use, whatever the selector."""
    labels, firsts = {}, {}
    for spec in weightings.values():
        kind = spec["weighting"]
        values = components.declared("weighting", kind, "VALUE_LABELS", {})
        pattern = _declared("weighting", kind)
        fields = {part for _, part, _, _ in string.Formatter().parse(pattern) if part}
        options = spec["options"] | {"max_weight": spec["max_weight"]}
        base = firsts.setdefault(kind, options)
        shown = {field: told(field, options[field], values) for field in fields}
        apart = [
            told(key, value, values)
            for key, value in options.items()
            if key not in fields and value != base[key]
        ]
        labels[spec["name"]] = _with(pattern.format(**shown), apart)
    return _unique(labels, given)


def _method_labels(study, weightings, given):
    labels, firsts = {}, {}
    for identity, method in study["methods"].items():
        model, options, swept = method["model"], method["options"], method["sweep"] or {}
        values = components.declared("model", model, "VALUE_LABELS", {})
        pattern = _declared("model", model)
        fields = {part for _, part, _, _ in string.Formatter().parse(pattern) if part}
        base = firsts.setdefault(model, method)
        weights = study["weightings"].get(method["weights"], {})
        parts = {}
        if weights:
            parts["weights"] = weightings[weights["name"]]
            by, first = weights["selector"], next(iter(study["selectors"]), None)
            if by and ("selector" in fields or by != first):
                parts["selector"] = study["labels"]["selectors"][by]
        if method["oracle"]:
            parts["oracle"] = "oracle"
        for option, value in options.items():
            other = base["options"][option]
            if option in (base["sweep"] or {}) and option not in swept:
                other = None
            if option in fields:
                parts[option] = told(option, value, values) if option not in swept else ""
                parts[option] = parts[option] or f"by {option.replace('_', ' ')}"
            elif option not in swept and value != other:
                parts[option] = told(option, value, values)
        shown = {field: parts.pop(field, field) for field in fields}
        text = pattern.format(**shown)
        labels[identity] = _with(text[:1].upper() + text[1:], list(parts.values()), bool(fields))
    return _unique(labels, given)


def told(option, value, labels):
    """The value of an option in print: by its label, else ``option = value``.

    Parameters
    ----------
    option : str
    value
    labels : dict of str to dict
        ``VALUE_LABELS`` of the component.
    """
    known = labels.get(option, {})
    name = option.replace("_", " ")
    if isinstance(value, str | int | float | bool) and value in known:
        return known[value]
    if isinstance(value, bool):
        return name if value else f"without {name}"
    if isinstance(value, int | float):
        return f"{name} = {value:g}"
    if isinstance(value, dict):
        # A component within, or a way of doing something: the first key says which.
        return told(option, next(iter(value.values()), ""), labels)
    texts = [value] if isinstance(value, str) else value
    if texts in (None, []):
        return f"without {name}"
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        whole = ", ".join(texts)
        if len(whole) <= _LONGEST:
            return whole if isinstance(value, list) else f"{name} {whole}"
    return f"{name} of its own"


def _with(label, parts, plain=False):
    parts = parts[:_MOST]
    if not parts:
        return label
    return ", ".join([label, *parts]) if plain else f"{label} ({', '.join(parts)})"


def _unique(labels, given):
    """Labels as given, else as composed; with the identifier where another one has the same."""
    labels = labels | given
    taken = list(labels.values())
    return {
        identity: f"{label} [{identity}]"
        if taken.count(label) > 1 and identity not in given
        else label
        for identity, label in labels.items()
    }


def _add_roles(name, study):
    """Set ``role`` of each method and ``main`` of the study."""
    methods = {key: one for key, one in study["methods"].items() if one["reported"]}
    main = study.get("main")
    if main is not None and main not in methods:
        raise CounterweightError(
            f"studies.{name}.main is {main!r}, which is none of its methods"
            f"{nearest(main, methods) or '.'} Methods: {', '.join(methods)}."
        )
    for identity, method in study["methods"].items():
        default = components.declared("model", method["model"], "ROLE", "method")
        if identity == main:
            default = "main"
        elif sees_truth(method, study):
            default = "bound"
        elif identity == study["baseline"]:
            default = "baseline"
        method["role"] = method["role"] or default
    if main is None:
        ranked = [
            [key for key, one in methods.items() if one["role"] == role]
            for role in ("main", "method", "peer", "baseline", "bound")
        ]
        study["main"] = next(names[0] for names in ranked if names)
        if methods[study["main"]]["role"] == "method":
            methods[study["main"]]["role"] = "main"


def sees_truth(method, study):
    """Whether a method learns from what is hidden, itself or through its weights."""
    selector = study["weightings"].get(method["weights"], {}).get("selector")
    return method["oracle"] or bool(selector and study["selectors"][selector]["oracle"])
