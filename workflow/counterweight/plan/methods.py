"""The methods of a study, spelled out: options, weights, sweeps, models to begin from, labels."""

import math
import string

from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.mistakes import nearest, none_of, refuse_all, told

#: Settings that a sweep may have.
MOST_SETTINGS = 10_000


def options_of(kind, name, given):
    """All options of a component: given ones, else defaults."""
    declared = components.options(kind, name)
    return {option: given.get(option, node.get("default")) for option, node in declared.items()}


def spelled_out(model, options, plan):
    """Options of a model in which each component within, such as a classifier, has its own."""
    made = dict(options)

    def whole(kind, key, part):
        defaults = plan["model_defaults"].get(part[key], {}) if kind == "model" else {}
        told = {key: part[key]} | options_of(kind, part[key], defaults | part)
        return told | ({"sweep": part["sweep"]} if "sweep" in part else {})

    for option, (kind, key) in _within(model).items():
        if option in options:
            told = options[option]
            several = isinstance(told, list)
            made[option] = (
                [whole(kind, key, part) for part in told] if several else whole(kind, key, told)
            )
    return made


def _within(model):
    """Options of a model that name components of their own, one or a list: kind and key."""
    declared = components.options("model", model).items()
    return {
        option: tuple(one["x-component-with-options"])
        for option, node in declared
        for one in (node, node.get("items", {}))
        if "x-component-with-options" in one
    }


def looked_up(method):
    """The components that a method looks up: its model, and those that its options name."""
    sweep = method["sweep"] or {}
    points = [method["options"]]
    points += [{option: value} for option in sweep for value in sweep[option]]
    named = [
        (kind, part[key])
        for option, (kind, key) in _within(method["model"]).items()
        for point in points
        if option in point
        for part in (point[option] if isinstance(point[option], list) else [point[option]])
    ]
    return tuple(dict.fromkeys([("model", method["model"]), *named]))


def weighted_to(weighting, options):
    """Whom rows weighted so stand for, general or unlabeled; "" where that is not said."""
    return options.get("target") or components.declared("weighting", weighting, "TARGET", "")


def resolved_weightings(where, items, study):
    """Weightings of a study by id: with each selection model, or once where none is needed.

    ``name`` is what models call it by; ``sees`` is ``p`` or ``rows``; ``selector`` is None where no
    p(s=1|x) is needed.
    """
    weightings, names = {}, set()
    for index, item in enumerate(items):
        kind, place = item["weighting"], f"{where}.weighting[{index}]"
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
                f"{place} is {kind}, which goes by p(s=1|x), and the study has no selection model "
                "to give it: add one under selection."
            )
        options = options_of("weighting", kind, item)
        made = {
            "name": name,
            "weighting": kind,
            "sees": components.declared("weighting", kind, "SEES", "p"),
            "max_weight": item.get("max_weight", 50.0),
            "target": weighted_to(kind, options),
            "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
            "options": options,
        }
        selectors = study["selectors"] if needs_p else [None]
        if item.get("selector"):
            selectors = [_known_selector(place, item["selector"], selectors)]
        for selector in selectors:
            weightings[f"{name}-{selector}" if selector else name] = made | {"selector": selector}
    return weightings


def resolved_method(where, item, study, plan):
    """A method as the plan has it, but for what it begins from, its label and its draws."""
    model, weights, oracle = item["model"], item.get("weights"), item.get("oracle", False)
    given = plan["model_defaults"].get(model, {}) | item
    starts = components.declared("model", model, "STARTS")
    if starts and (weights or oracle):
        raise CounterweightError(
            f"{where}: the model {model} takes no weights and no oracle, since it begins from "
            "fitted models that have them: leave the keys out."
        )
    if oracle and weights:
        raise CounterweightError(
            f"{where} is an oracle with weights: an oracle learns from the target population "
            "itself, so leave out one of the two keys."
        )
    rows = item.get("oracle_rows", "all")
    if rows != "all" and not oracle:
        raise CounterweightError(
            f"{where} has oracle_rows and is no oracle: set oracle: true, or leave out oracle_rows."
        )
    if item.get("selector") and not (weights or starts):
        raise CounterweightError(
            f"{where} names a selector but no weights: add weights, or drop it."
        )
    method = {
        "model": model,
        "weights": None,
        "oracle": oracle,
        "oracle_rows": rows,
        "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
        "sweep": item.get("sweep"),
        "options": spelled_out(model, options_of("model", model, given), plan),
        "reported": True,
        "starts": {},
        "role": item.get("role"),
        "draws": [],
    }
    if method["sweep"]:
        _check_sweep(where, model, method["sweep"])
        method["sweep"] = {
            option: [spelled_out(model, {option: value}, plan)[option] for value in values]
            for option, values in method["sweep"].items()
        }
    if weights:
        method["weights"] = _weighting(where, weights, item.get("selector"), study)
        most = study["weightings"][method["weights"]]["repeats"]
        method["repeats"] = min(method["repeats"], most)
    return method


def _check_sweep(where, model, sweep):
    """Refuse a sweep of what is no option, or no value of it, or of too many settings."""
    allowed = components.options("model", model)
    for option, values in sweep.items():
        if option not in allowed:
            unknown = f"{where}.sweep varies {option!r}, which is no option of {model}"
            raise none_of(unknown, option, allowed, "Options")
        mistakes = []
        for index, value in enumerate(values):
            if value in values[:index]:
                mistakes.append(f"{where}.sweep.{option} has {value!r} twice: each is one setting.")
            mistakes += told(allowed[option], value, (where, "sweep", option, index))
        refuse_all(mistakes)
    settings = math.prod(map(len, sweep.values()))
    if settings > MOST_SETTINGS:
        raise CounterweightError(
            f"{where}.sweep has {settings} settings, each a fit in every repeat: at most "
            f"{MOST_SETTINGS}; try fewer values."
        )


def _weighting(where, weights, selector, study):
    """Id of the weighting that a method names, of the selection model that it names."""
    specs = study["weightings"]
    known = [spec["selector"] for spec in specs.values() if spec["name"] == weights]
    if not known:
        names = list(dict.fromkeys(spec["name"] for spec in specs.values()))
        listed = f" It computes: {', '.join(names)}." if names else ""
        raise CounterweightError(
            f"{where} uses the weighting {weights!r}, which the study does not compute: add "
            f"{{weighting: {weights}}} under weighting{nearest(weights, names) or '.'}{listed}"
        )
    if weights not in specs:
        return f"{weights}-{_known_selector(where, selector or known[0], known)}"
    if selector:
        raise CounterweightError(
            f"{where} names a selector, and the weighting {weights!r} goes by none: drop it."
        )
    return weights


def _known_selector(where, selector, known):
    if selector not in known:
        unknown = f"{where}.selector is {selector!r}, which the study does not fit"
        raise none_of(unknown, selector, known, "Its selection models")
    return selector


def method_id(item, study):
    """Name of a method: model, weights, selector unless the first, oracle."""
    parts = [item["model"], item.get("weights")]
    first = next(iter(study["selectors"]), None)
    parts += [item.get("selector")] if parts[1] and item.get("selector") != first else []
    parts += ["oracle"] if item.get("oracle") else []
    parts += ["as_many"] if item.get("oracle_rows", "all") != "all" else []
    return "-".join(filter(None, parts))


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
            found = None if begins else _found(methods, drawn)
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
        start = dict(start)
        if any(
            method["options"][option] == value and option not in (method["sweep"] or {})
            for option, value in start.pop("unless", {}).items()
        ):
            continue
        if draw and "draw" in components.options("model", start["model"]):
            start["draw"] = draw
        if start.get("weights") and item.get("selector"):
            start["selector"] = item["selector"]
        try:
            begun = resolved_method(where, start, study, plan) | {"repeats": method["repeats"]}
        except CounterweightError as error:
            raise CounterweightError(
                f"{where}: the model {method['model']} begins from a {start['model']} model with "
                f"{start.get('weights', 'no')} weights. {error}"
            ) from error
        found = _found(methods, begun)
        if found is None:
            found = method_id(start, study)
            if found in methods:
                found = f"{found}-start-of-{identity}"
            found += f"-{draw}" if draw else ""
            methods[found] = begun | {"reported": False}
        method["starts"][role] = found


def _found(methods, wanted):
    """A method that is the same fit as the one that is wanted, in at least as many repeats."""
    keys = ("model", "weights", "oracle", "oracle_rows", "sweep", "options")
    for identity, known in methods.items():
        same = all(known[key] == wanted[key] for key in keys)
        if same and known["repeats"] >= wanted["repeats"]:
            return identity
    return None


def same_fits(study, method):
    """The method of a study, if any, of whose answers those of a method are made; a list.

    The fits are the same: its model declares as ``DERIVED`` by option and value the value that has
    them. Only methods with a sweep are meant, of whose fits little is kept, and one target.
    """
    own = study["methods"][method]
    for option, others in components.declared("model", own["model"], "DERIVED", {}).items():
        if not own["sweep"] or len(study["targets"]) > 1:
            return []
        if option not in own["sweep"] and own["options"][option] in others:
            options = own["options"] | {option: others[own["options"][option]]}
            found = _found(study["methods"], own | {"options": options})
            return [found] if found else []
    return []


def begun_from(study, method):
    """The methods of a study that have to be trained before a method."""
    return [*study["methods"][method]["starts"].values(), *same_fits(study, method)]


#: Longest text of an option that stands in a label.
_LONGEST = 40
#: Most parts of a label behind the name of the model.
_MOST = 4


def add_labels(name, study, items):
    """Give selectors, weightings and methods of a study their labels, and methods their roles.

    The study gets ``labels`` of selectors and weightings by id, and ``main``; its methods ``label``
    and ``role``. `items` are those of the config by id, by ``selector``, ``weighting`` and
    ``model``; those with a ``label`` have it.
    """
    selectors, named, firsts = {}, {}, {}
    for identity, spec in study["selectors"].items():
        own = {key: spec[key] for key in spec if key not in ("selector", "oracle", "options")}
        options = spec["options"] | own
        base = firsts.setdefault(("selector", spec["selector"]), options)
        selectors[identity] = _label("selector", spec["selector"], options, base)
    selectors = _unique(selectors, items["selector"])
    for spec in study["weightings"].values():
        options = spec["options"] | {"max_weight": spec["max_weight"]}
        base = firsts.setdefault(("weighting", spec["weighting"]), options)
        named[spec["name"]] = _label("weighting", spec["weighting"], options, base)
    named = _unique(named, items["weighting"])
    several = len(selectors) > 1
    weightings = {
        identity: named[part["name"]]
        + (f" by {selectors[part['selector']]}" if several and part["selector"] else "")
        for identity, part in study["weightings"].items()
    }
    study["labels"] = {"selectors": selectors, "weightings": weightings}
    labels, first = {}, next(iter(selectors), None)
    for identity, method in study["methods"].items():
        base = firsts.setdefault(("model", method["model"]), method)
        base = base["options"] | dict.fromkeys(base["sweep"] or {})
        weights, parts = study["weightings"].get(method["weights"], {}), {}
        if weights:
            parts["weights"] = named[weights["name"]]
        if by := weights.get("selector"):
            # That of all is said only where the label of the model asks for it.
            parts["first selector" if by == first else "selector"] = selectors[by]
        if method["oracle"]:
            equal = method["oracle_rows"] == "labeled"
            parts["oracle"] = "oracle, as many rows" if equal else "oracle"
        told_as = "model", method["model"], method["options"], base
        labels[identity] = _label(*told_as, parts, method["sweep"] or {})
    for identity, label in _unique(labels, items["model"]).items():
        study["methods"][identity]["label"] = label
    _add_roles(name, study)


def _label(kind, name, options, base, further=(), swept=()):
    """Label of a component: as it declares it, with what sets it apart from the first of its name.

    Parts and options that the declared label names are put into it; `further` parts come first.
    """
    words = name.replace("_", " ")
    words = words[:1].upper() + words[1:] if kind == "model" else words
    pattern = components.declared(kind, name, "LABEL", words)
    values = components.declared(kind, name, "VALUE_LABELS", {})
    fields = {part for _, part, _, _ in string.Formatter().parse(pattern) if part}
    parts = dict(further)
    first = parts.pop("first selector", None)
    if first and "selector" in fields:
        parts["selector"] = first
    for option, value in options.items():
        if option in fields:
            text = in_print(option, value, values) if option not in swept else ""
            parts[option] = text or f"by {option.replace('_', ' ')}"
        elif option not in swept and value != base[option]:
            parts[option] = in_print(option, value, values)
    label = pattern.format(**{field: parts.pop(field, field) for field in fields})
    label = label[:1].upper() + label[1:] if kind == "model" else label
    apart = list(parts.values())[:_MOST]
    if fields and kind == "model":
        return ", ".join([label, *apart])
    return f"{label} ({', '.join(apart)})" if apart else label


def in_print(option, value, labels):
    """The value of an option in print: by its label, else ``option = value``."""
    known, name = labels.get(option, {}), option.replace("_", " ")
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


def _unique(labels, items):
    """Labels as given, else as composed; with the identifier where another one has the same."""
    labels = labels | {key: item["label"] for key, item in items.items() if "label" in item}
    taken = list(labels.values())
    return {
        identity: f"{label} [{identity}]" if taken.count(label) > 1 else label
        for identity, label in labels.items()
    }


def _add_roles(name, study):
    """Set ``role`` of each method and ``main`` of the study."""
    methods = {key: one for key, one in study["methods"].items() if one["reported"]}
    main = study.get("main")
    if main is not None and main not in methods:
        unknown = f"studies.{name}.main is {main!r}, which is none of its methods"
        raise none_of(unknown, main, methods, "Methods")
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
        order = ("main", "method", "peer", "baseline", "bound")
        study["main"] = min(methods, key=lambda one: order.index(methods[one]["role"]))
        if methods[study["main"]]["role"] == "method":
            methods[study["main"]]["role"] = "main"


def sees_truth(method, study):
    """Whether a method learns from what is hidden, itself or through its weights."""
    selector = study["weightings"].get(method["weights"], {}).get("selector")
    return method["oracle"] or bool(selector and study["selectors"][selector]["oracle"])
