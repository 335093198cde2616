"""The task of a study: found by its labeling rule, asked for its jobs."""

from types import SimpleNamespace

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.mistakes import none_of

#: Keys of a study that only some tasks know; each with what it is where it is left out.
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
    "rehearse": None,
    "collect": None,
    "collected": None,
    "explore": None,
    "samples": {},
    "test_rows": None,
    "keep_rate": 1.0,
    "user": None,
    "paired_with": None,
    "bootstrap": 0,
}
#: Keys of single entries of a study that only some tasks know (`ITEM_KEYS`).
OWN_ITEM_KEYS = {
    "selection": ("calibration", "folds"),
    "weighting": ("max_weight",),
    "models": ("draws",),
}
#: What a task may leave out; each as it is for one that has nothing of the sort.
LEFT_OUT = {
    "ROLES": (),
    "ASKS": "",
    "own_study": None,
    "CARRIED": {},
    "ITEM_KEYS": {},
    "STREAMS": False,
    "MEMORY": {},
    "TAKES": {},
    "HINT": "",
    "finish": lambda name, study: None,
    "parts": lambda plan, study: (),
    "plan_deliver": lambda plan, study, at: None,
    "plan_apply": lambda plan, study, at: None,
    "rehearsals": lambda study: (),
    "plan_rehearsed": lambda plan, study, at: None,
    "plan_collect": lambda plan, study, at: None,
    "COLLECTS_LAST": False,
    "shown": lambda study: {},
}


def module_of(study):
    """What the module of a study's task has, by the protocol in `counterweight.tasks`."""
    return SimpleNamespace(**LEFT_OUT | vars(components.load("task", study["task"])))


def check_parts(name, study):
    """Set ``study["task"]``; refuse components and keys that belong to another one."""
    rule = study["labeling"]["rule"]
    study["task"] = own = components.task_of("labeling", rule)
    task = module_of(study)
    lists = {"selection": "selector", "weighting": "weighting", "models": "model"}
    used = {key: part for key, part in lists.items() if key in (*task.KEYS, "models")}
    parts = [
        ("outcome.rule", "outcome", study["outcome"]["rule"]),
        ("evaluation.protocol", "protocol", study["evaluation"]["protocol"]),
    ]
    parts += [
        (f"{key}[{index}].{part}", part, item[part])
        for key, part in used.items()
        for index, item in enumerate(study[key])
    ]
    for where, part, chosen in parts:
        # Outcomes that declare no task fit all.
        default = own if part == "outcome" else None
        fit = {own, task.TAKES.get(part, own)}
        other = components.task_of(part, chosen, default)
        if other not in fit:
            every = components.registry(part)
            fitting = [word for word in every if components.task_of(part, word, default) in fit]
            raise CounterweightError(
                f"studies.{name}.{where} is {chosen!r}, which is for "
                f"{components.load('task', other).WORDS}; the labeling rule {rule} makes "
                f"{task.WORDS}: choose one of {listed(fitting)}."
            )
    strange = [
        key
        for key, absent in OWN_KEYS.items()
        if key not in task.KEYS and study.get(key, absent) != absent
    ]
    strange += [
        f"{key}[{index}].{word}"
        for key in used
        for index, item in enumerate(study[key])
        for word in OWN_ITEM_KEYS[key]
        if word in item and word not in task.ITEM_KEYS.get(key, ())
    ]
    if strange:
        raise CounterweightError(
            f"studies.{name}.{strange[0]} has no meaning for {task.WORDS}: leave it out{task.HINT}."
        )


def jobs_of_answer(plan, study, at):
    """Stage and item, and the job, of all that is read to make what a study delivers, in order."""
    task = module_of(study)
    found = [(("deliver",), task.plan_deliver(plan, study, at))]
    made = {
        "evaluate": ("methods", at.metrics),
        "train": ("methods", at.model, at.predictions),
        "weigh": ("weightings", at.weights),
        "select": ("selectors", at.selection, at.selection_model),
    }
    for stage, (items, *paths) in made.items():
        for item in reversed([*study[items]]):
            held = [
                [one] if isinstance(one, str) else one
                for _, job in found
                for one in job.inputs.values()
            ]
            read = {path for several in held for path in several}
            if read & {path(item) for path in paths}:
                planned = getattr(task, f"plan_{stage}")
                found.insert(0, ((stage, item), planned(plan, study, item, at)))
    return [(("label",), task.plan_label(plan, study, at)), *found]


def applied(plan, giving):
    """Study whose saved model `snakemake apply` applies: the one that is named, or the only one.

    None where no study in `giving` delivers what new rows can be put to. One that is named and
    delivers nothing is refused, and candidates where several could decide on them.
    """
    chosen = plan["filter_study"]
    if chosen and chosen not in giving:
        unknown = f"filter_study is {chosen!r}, which is no study that delivers a filter"
        raise none_of(unknown, chosen, giving, "Studies with the key filter")
    if plan["candidates"] and not chosen and len(giving) > 1:
        raise CounterweightError(
            f"candidates are given, and {len(giving)} studies deliver a filter "
            f"({listed(giving, 10)}): say which one is meant, as in --config "
            f"candidates={plan['candidates']} filter_study={giving[0]}."
        )
    return chosen or next(iter(giving), None)
