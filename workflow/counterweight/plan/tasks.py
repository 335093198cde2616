"""The kind of a study: found by its labeling rule, asked for its jobs."""

from types import SimpleNamespace

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.mistakes import nearest

#: Keys of a study that only some kinds know; each with what it is where it is left out.
OWN_KEYS = {
    "selection": [],
    "weighting": [],
    "target": None,
    "filter": None,
    "deliver": None,
    "score": None,
    "limits": None,
    "experiment": None,
    "tilt": None,
    "samples": {},
    "test_rows": None,
    "keep_rate": 1.0,
    "user": None,
    "paired_with": None,
    "bootstrap": 0,
}
#: What a kind may leave out; each as it is for one that has nothing of the sort.
LEFT_OUT = {
    "ROLES": (),
    "ASKS": "",
    "own_study": None,
    "ITEM_KEYS": {},
    "TAKES": {},
    "HINT": "",
    "finish": lambda name, study: None,
    "parts": lambda plan, study: (),
    "plan_deliver": lambda plan, study, at: None,
    "plan_apply": lambda plan, study, at: None,
    "shown": lambda study: {},
}


def kind_of(part, name, undeclared=None):
    """Kind of study that a component is made for.

    Where it declares none: `undeclared`, by default the first of the registry.
    """
    default = undeclared or next(iter(components.registry("task")))
    return components.declared(part, name, "KIND", default)


def module_of(study):
    """What the module of a study's kind has, by the protocol in `counterweight.tasks`."""
    return SimpleNamespace(**LEFT_OUT | vars(components.load("task", study["task"])))


def check_parts(name, study):
    """Refuse components and keys of a study that belong to another kind than its labeling rule.

    Sets ``study["task"]``.
    """
    rule = study["labeling"]["rule"]
    study["task"] = own = kind_of("labeling", rule)
    kind = module_of(study)
    parts = [
        ("outcome.rule", "outcome", study["outcome"]["rule"]),
        ("evaluation.protocol", "protocol", study["evaluation"]["protocol"]),
    ]
    parts += [
        (f"{key}[{index}].{part}", part, item[part])
        for key, part in (
            ("selection", "selector"),
            ("weighting", "weighting"),
            ("models", "model"),
        )
        for index, item in enumerate(study[key])
        if key == "models" or key in kind.KEYS
    ]
    for where, part, chosen in parts:
        # Outcomes that declare no kind fit all.
        default = own if part == "outcome" else None
        other = kind_of(part, chosen, default)
        fit = {own, kind.TAKES.get(part, own)}
        if other not in fit:
            fitting = [
                word for word in components.registry(part) if kind_of(part, word, default) in fit
            ]
            raise CounterweightError(
                f"studies.{name}.{where} is {chosen!r}, which is for "
                f"{components.load('task', other).WORDS}; the labeling rule {rule} makes "
                f"{kind.WORDS}: choose one of {listed(fitting)}."
            )
    _refuse_meaningless(name, study, kind)


def _refuse_meaningless(name, study, kind):
    keys = [
        key
        for key, absent in OWN_KEYS.items()
        if key not in kind.KEYS and study.get(key, absent) != absent
    ]
    items = {"selection": ("calibration", "folds"), "weighting": ("max_weight",)}
    items["models"] = ("draws",)
    keys += [
        f"{part}[{index}].{key}"
        for part in items
        if part in (*kind.KEYS, "models")
        for index, item in enumerate(study[part])
        for key in items[part]
        if key in item and key not in kind.ITEM_KEYS.get(part, ())
    ]
    if keys:
        raise CounterweightError(
            f"studies.{name}.{keys[0]} has no meaning for {kind.WORDS}: leave it out{kind.HINT}."
        )


def applied(plan, giving):
    """Study whose gift `snakemake apply` applies: the one that the config names, or the only one.

    None where no study in `giving` gives away what new rows can be put to. One that is named and
    gives nothing is refused, and candidates where several could decide on them.
    """
    chosen = plan["filter_study"]
    if chosen and chosen not in giving:
        raise CounterweightError(
            f"filter_study is {chosen!r}, which is no study that gives a filter away"
            f"{nearest(chosen, giving) or '.'} Studies with the key filter: "
            f"{', '.join(giving) or 'none'}."
        )
    if plan["candidates"] and not chosen and len(giving) > 1:
        raise CounterweightError(
            f"candidates are given, and {len(giving)} studies give a filter away "
            f"({listed(giving, 10)}): say which one is meant, as in --config "
            f"candidates={plan['candidates']} filter_study={giving[0]}."
        )
    return chosen or next(iter(giving), None)
