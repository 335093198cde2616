"""The methods of a study, spelled out: options, weights, sweeps, models to begin from."""

from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.mistakes import nearest, told


def options_of(kind, name, given):
    """All options of a component: given ones, else defaults."""
    declared = components.options(kind, name)
    return {option: given.get(option, node.get("default")) for option, node in declared.items()}


def resolved_method(where, item, study, plan):
    given = plan["model_defaults"].get(item["model"], {}) | item
    method = {
        "model": item["model"],
        "weights": None,
        "oracle": item.get("oracle", False),
        "repeats": min(item.get("repeats", study["repeats"]), study["repeats"]),
        "sweep": item.get("sweep"),
        "options": options_of("model", item["model"], given),
        "reported": True,
        "starts": {},
        "role": item.get("role"),
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
        mistakes += told(Draft202012Validator(node), value, (where, "sweep", option, index))
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
            f"{nearest(selector, known) or '.'} Its selection models: {', '.join(known)}."
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


def add_starts(where, identity, item, study, plan):
    """Find or add the fitted models that a method begins from."""
    methods = study["methods"]
    method = methods[identity]
    starts = components.declared("model", method["model"], "STARTS") or {}
    for role, start in starts.items():
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
            methods[found] = begun | {"reported": False}
        method["starts"][role] = found


def _same_fit(one, other):
    """Whether `one` is the same fit as `other`, in at least as many repeats."""
    keys = ("model", "weights", "oracle", "sweep", "options")
    return one["repeats"] >= other["repeats"] and all(one[key] == other[key] for key in keys)
