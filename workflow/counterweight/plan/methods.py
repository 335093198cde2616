"""The methods of a study, spelled out: options, weights, sweeps, models to begin from."""

import math

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
    """Options of a model in which each component, such as a classifier within, has its options too.

    Parameters
    ----------
    model : str
    options : dict
    plan : dict
        With ``model_defaults``.
    """
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

    Parameters
    ----------
    where : str
    items : list of dict
        As the config lists them.
    study : dict
        With its ``selectors`` and ``repeats``.

    Returns
    -------
    dict of str to dict
        ``name`` is what models call it by; ``sees`` is ``p`` or ``rows``; ``selector`` is None
        where no p(s=1|x) is needed.

    Raises
    ------
    CounterweightError
        When two have one name, or one needs p(s=1|x) and no selection model gives it.
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

    Another draw has other random starts, of its own or of what it begins from. It is measured,
    but stands in no table: ``draws`` of the method names all of them, its own first.

    Parameters
    ----------
    where : str
        Place of the study, for messages.
    items : list of dict
        As listed in the config, in the order of the study's methods.
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
