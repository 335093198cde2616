"""The methods of a study, spelled out: options, weights, sweeps, models to begin from, labels."""

import math
import string

from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.mistakes import nearest, told

#: Settings that a sweep may have.
MOST_SETTINGS = 10_000


def options_of(kind, name, given):
    """All options of a component: given ones, else defaults."""
    declared = components.options(kind, name)
    return {option: given.get(option, node.get("default")) for option, node in declared.items()}


def spelled_out(model, options, plan):
    """Options of a model in which each component within, such as a classifier, has its own."""
    return options | {
        option: {key: options[option][key]}
        | options_of(kind, options[option][key], _given(kind, options[option], key, plan))
        for option, (kind, key) in within(model).items()
        if option in options
    }


def _given(kind, part, key, plan):
    return (plan["model_defaults"].get(part[key], {}) if kind == "model" else {}) | part


def within(model):
    """Options of a model that name a component of their own: kind and key, by option."""
    return {
        option: tuple(node["x-component-with-options"])
        for option, node in components.options("model", model).items()
        if "x-component-with-options" in node
    }


def looked_up(method):
    """The components that a method looks up: its model, and those that its options name."""
    points = [method["options"]]
    points += [
        {option: value} for option in method["sweep"] or {} for value in method["sweep"][option]
    ]
    named = [
        (kind, point[option][key])
        for option, (kind, key) in within(method["model"]).items()
        for point in points
        if option in point
    ]
    return tuple(dict.fromkeys([("model", method["model"]), *named]))


def resolved_weightings(where, items, study):
    """Weightings of a study by id: with each selection model, or once where none is needed.

    ``name`` is what models call it by; ``sees`` is ``p`` or ``rows``; ``selector`` is None where no
    p(s=1|x) is needed.
    """
    weightings, names = {}, set()
    for index, item in enumerate(items):
        kind = item["weighting"]
        name = item.get("name", kind)
        if name in names:
            raise CounterweightError(
                f"{where}.weighting has two entries called {name!r}: give one a name, by which "
                "models choose it."
            )
        names.add(name)
        needs_p = components.declared("weighting", kind, "NEEDS_P", True)
        if needs_p and not study["selectors"]:
            raise CounterweightError(
                f"{where}.weighting[{index}] is {kind}, which goes by p(s=1|x), and the study has "
                "no selection model to give it: add one under selection."
            )
        options = options_of("weighting", kind, item)
        made = {
            "name": name,
            "weighting": kind,
            "sees": components.declared("weighting", kind, "SEES", "p"),
            "max_weight": item.get("max_weight", 50.0),
            "target": options.get("target") or components.declared("weighting", kind, "TARGET", ""),
            "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
            "options": options,
        }
        selectors = study["selectors"] if needs_p else [None]
        if item.get("selector"):
            selectors = [
                _known_selector(f"{where}.weighting[{index}]", item["selector"], selectors)
            ]
        for selector in selectors:
            weightings[f"{name}-{selector}" if selector else name] = made | {"selector": selector}
    return weightings


def resolved_method(where, item, study, plan):
    given = plan["model_defaults"].get(item["model"], {}) | item
    method = {
        "model": item["model"],
        "weights": None,
        "oracle": item.get("oracle", False),
        "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
        "sweep": item.get("sweep"),
        "options": spelled_out(item["model"], options_of("model", item["model"], given), plan),
        "reported": True,
        "starts": {},
        "role": item.get("role"),
        "draws": [],
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
                f"{nearest(option, allowed) or '.'} Options: {', '.join(allowed)}."
            )
        _check_sweep(where, option, allowed[option], method["sweep"][option])
    settings = math.prod(map(len, (method["sweep"] or {}).values()))
    if settings > MOST_SETTINGS:
        raise CounterweightError(
            f"{where}.sweep has {settings} settings, each a fit in every repeat: at most "
            f"{MOST_SETTINGS}; try fewer values."
        )
    if method["sweep"]:
        method["sweep"] = {
            option: [spelled_out(item["model"], {option: value}, plan)[option] for value in values]
            for option, values in method["sweep"].items()
        }
    if item.get("selector") and not (item.get("weights") or starts):
        raise CounterweightError(
            f"{where} names a selector but no weights: add weights, or drop it."
        )
    if item.get("weights"):
        method["weights"] = _weighting(where, item["weights"], item.get("selector"), study)
        most = study["weightings"][method["weights"]]["repeats"]
        method["repeats"] = min(method["repeats"], most)
    return method


def _check_sweep(where, option, node, values):
    from jsonschema import Draft202012Validator

    mistakes = []
    for index, value in enumerate(values):
        if value in values[:index]:
            mistakes.append(f"{where}.sweep.{option} has {value!r} twice: each is one setting.")
        mistakes += told(Draft202012Validator(node), value, (where, "sweep", option, index))
    if mistakes:
        raise CounterweightError("\n".join(mistakes))


def _weighting(where, weights, selector, study):
    """Id of the weighting that a method names, of the selection model that it names."""
    specs = study["weightings"]
    named = {identity: spec for identity, spec in specs.items() if spec["name"] == weights}
    if not named:
        known = list(dict.fromkeys(spec["name"] for spec in specs.values()))
        listed = f" It computes: {', '.join(known)}." if known else ""
        raise CounterweightError(
            f"{where} uses the weighting {weights!r}, which the study does not compute: add "
            f"{{weighting: {weights}}} under weighting{nearest(weights, known) or '.'}{listed}"
        )
    if weights in specs:
        if selector:
            raise CounterweightError(
                f"{where} names a selector, and the weighting {weights!r} goes by none: drop it."
            )
        return weights
    known = [spec["selector"] for spec in named.values()]
    return f"{weights}-{_known_selector(where, selector or known[0], known)}"


def _known_selector(where, selector, known):
    if selector not in known:
        raise CounterweightError(
            f"{where}.selector is {selector!r}, which the study does not fit"
            f"{nearest(selector, known) or '.'} Its selection models: {', '.join(map(str, known))}."
        )
    return selector


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


def add_draws(where, items, study, plan):
    """Find or add the further draws of the methods that ask for several.

    Another draw has other random starts, of its own or of what it begins from. It is measured, but
    stands in no table: ``draws`` of the method names all of them, its own first.
    """
    methods, added = study["methods"], []
    for index, (identity, item) in enumerate(zip(list(methods), items, strict=False)):
        place, method = f"{where}.models[{index}]", methods[identity]
        for draw in range(1, item.get("draws", 1)):
            other, begins = item, components.declared("model", item["model"], "STARTS") or {}
            if "draw" in method["options"]:
                other = item | {"draw": method["options"]["draw"] + draw}
            elif not any(
                "draw" in components.options("model", one["model"]) for one in begins.values()
            ):
                raise CounterweightError(
                    f"{place}.draws is {item['draws']}, but nothing in the model {item['model']} "
                    "begins at random: leave the key out."
                )
            drawn = resolved_method(place, other, study, plan)
            drawn |= {key: method[key] for key in ("label", "role") if key in method}
            found = next(
                (o for o, m in methods.items() if not begins and _same_fit(m, drawn)), None
            )
            if found is None:
                found = f"{identity}-draw-{draw}"
                methods[found] = drawn | {"draw_of": identity}
                added.append((place, found, other, draw))
            method["draws"] = [*(method["draws"] or [identity]), found]
    for place, identity, item, draw in added:
        add_starts(place, identity, item, study, plan, draw)


def add_starts(where, identity, item, study, plan, draw=0):
    """Find or add the fitted models that a method begins from, in one of their draws."""
    methods = study["methods"]
    method = methods[identity]
    starts = components.declared("model", method["model"], "STARTS") or {}
    for role, start in starts.items():
        unless = start.get("unless", {})
        start = {key: value for key, value in start.items() if key != "unless"}
        if any(
            method["options"][option] == value and option not in (method["sweep"] or {})
            for option, value in unless.items()
        ):
            continue
        if draw and "draw" in components.options("model", start["model"]):
            start = start | {"draw": draw}
        if start.get("weights") and item.get("selector"):
            start = start | {"selector": item["selector"]}
        try:
            begun = resolved_method(where, start, study, plan) | {"repeats": method["repeats"]}
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
            if draw:
                found += f"-{draw}"
            methods[found] = begun | {"reported": False}
        method["starts"][role] = found


def _same_fit(one, other):
    """Whether `one` is the same fit as `other`, in at least as many repeats."""
    keys = ("model", "weights", "oracle", "sweep", "options")
    return one["repeats"] >= other["repeats"] and all(one[key] == other[key] for key in keys)


#: Longest text of an option that stands in a label.
_LONGEST = 40
#: Most parts of a label behind the name of the model.
_MOST = 4


def add_labels(name, study, given):
    """Give selectors, weightings and methods of a study their labels, and methods their roles.

    The study gets ``labels`` of selectors and weightings by id, and ``main``; its methods ``label``
    and ``role``. `given` has labels that the config gives, by id, of ``selection``, ``weighting``
    and ``models``.
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
        apart = [
            in_print(key, value, values) for key, value in options.items() if value != base[key]
        ]
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
        shown = {field: in_print(field, options[field], values) for field in fields}
        apart = [
            in_print(key, value, values)
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
                parts[option] = in_print(option, value, values) if option not in swept else ""
                parts[option] = parts[option] or f"by {option.replace('_', ' ')}"
            elif option not in swept and value != other:
                parts[option] = in_print(option, value, values)
        shown = {field: parts.pop(field, field) for field in fields}
        text = pattern.format(**shown)
        labels[identity] = _with(text[:1].upper() + text[1:], list(parts.values()), bool(fields))
    return _unique(labels, given)


def in_print(option, value, labels):
    """The value of an option in print: by its label, else ``option = value``."""
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
        return in_print(option, next(iter(value.values()), ""), labels)
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
