"""Tables of one's own: ten lines of config become a data set and a study.

A config that is given with ``table``, or with several under ``tables`` by name, is about these
tables and the studies that it names beside them. What is said of the columns decides the task: each
task names the keys that ask for it (``ROLES``) and makes the study (``own_study``).
"""

import contextlib
import json
import os
import re
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.plan import components
from counterweight.plan.config import weighting_mistakes
from counterweight.plan.digests import Contents
from counterweight.plan.jobs import RESERVED
from counterweight.plan.mistakes import brief, nearest, odd_values, refuse_all, told

#: Keys that go to the data set; those that name columns are its roles.
SOURCE = ("reading", "columns")
ROLES = ("id", "weight", "time", "group", "user", "action", "propensity")
#: Those that say which rows are of one person.
CLUSTERS = frozenset({"group", "user"})
#: Keys that its study has, too.
PASSED_ON = ("title", "question", "score", "limits", "experiment", "rehearse")
#: Keys that name files.
FILES = ("table", "score", "collected")
#: Where a run writes down which tables it is about, below its results.
TABLES = "provenance/tables.json"
#: Keys of every table, whatever is asked; what has no meaning for a task is told of these
#: with its studies.
EVERY = frozenset({*SOURCE, "id", "table", *PASSED_ON, "name", "study"})
#: Roles that a column has alone, and those that it may have beside each.
ALONE = {
    "id": ("group", "user", "labeled", "groups"),
    "outcome": ("labeled", "groups"),
    **dict.fromkeys(("offer", "answer", "reward", "keep_rate", "weight"), ()),
}


def with_own_tables(config, given, beside=()):
    """A config whose own tables are data sets and studies; the same config where it has none.

    `given` is what was given on the command line alone. A table that is not there as its path says
    is looked for in the folders `beside`, of the config files. The config has no studies but those
    of its tables then.
    """
    if not {"table", "tables"} & config.keys():
        return config
    keys, several = components.schema("own")["properties"], config.get("tables", {})
    if not isinstance(several, dict) or ("tables" in config and not several):
        raise CounterweightError(
            "tables must be a mapping of names to tables, each with the key table and what its "
            "columns are."
        )
    entries = {str(name): entry for name, entry in several.items()}
    own = {key: config[key] for key in keys if key in config}
    known = components.schema("config")["properties"].keys() | own.keys()
    strange = [key for key in given if key not in known and key != "tables"]
    if strange:
        allowed = [*keys, "tables", *known - own.keys()]
        raise CounterweightError(
            f"Unknown key {strange[0]}{nearest(strange[0], allowed) or '.'} Allowed of a table: "
            f"{', '.join(keys)}."
        )
    if "table" in config:
        entries[own.get("name") or name_of(own["table"])] = own
    elif own:
        raise CounterweightError(
            f"{listed(own)} stands beside tables: put it under one of the tables, "
            f"{listed(entries)}."
        )
    studies, datasets = {}, {}
    for name, entry in entries.items():
        where = f"tables.{name}" if name in several else ""
        if isinstance(entry, dict) and isinstance(entry.get("promises"), list):
            entry = entry | {"promises": _uncut(entry["promises"])}
        _check(name, entry, where)
        entry = entry | {key: _found(entry[key], beside) for key in FILES if key in entry}
        if isinstance(entry.get("target"), dict) and "table" in entry["target"]:
            path = _found(entry["target"]["table"], beside)
            entry = entry | {"target": entry["target"] | {"table": path}}
        datasets[name], studies[name] = _made(name, entry, f"{where}: " if where else "")
        if asked := entry.get("weights"):
            asked = {"weighting": asked} if isinstance(asked, str) else asked
            place = (*where.split("."), "weights") if where else ("weights",)
            refuse_all(weighting_mistakes(asked, place))
    rest = {key: value for key, value in config.items() if key not in (*own, "tables")}
    return rest | {
        "studies_of": [],
        "studies": studies,
        "datasets": dict(rest.get("datasets") or {}) | datasets,
        "only": list(studies),
    }


def name_of(table):
    """A name for a study from that of its table, which nothing of the library or a run has."""
    stem = Path(table).name.split(".")[0] if isinstance(table, str) else "query"
    name = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")
    name = name if re.match(r"[a-z]", name) else f"table_{name}".rstrip("_")
    return f"my_{name}" if name in components.registry("dataset") or name in RESERVED else name


def place_of(plan, given, run):
    """Where a run of one's own tables alone stands: a folder of its own, unless one is named.

    ``results`` is the folder of the run, called `run` where it has several studies, and ``place``
    that in which each study has a folder of its name; one study has the folder of the run for
    itself.
    """
    base, names = plan["results"], list(plan["studies"])
    if "results" in given or not _is_own(plan):
        return {"results": base, "place": base}
    if len(names) == 1:
        return {"results": f"{base}/{names[0]}", "place": base}
    return {"results": f"{base}/{run}", "place": f"{base}/{run}"}


def _is_own(plan):
    """Whether all that a plan has is about tables of one's own."""
    return all(dataset["source"] == "own" for dataset in plan["datasets"].values())


def check_place(plan, config, given):
    """Refuse a folder that holds what was made of something else which is still there.

    A table that was moved, renamed or copied, and another question about the same table, go on in
    their folder. Where a person named it (``name``, or ``results`` of several tables), it is theirs
    to say.
    """
    if not _is_own(plan) or ("name" in config if "table" in config else "results" in given):
        return
    key, known = "name" if "table" in config else "results", None
    folder = Path(plan["results"])
    with contextlib.suppress(OSError, ValueError):
        known = json.loads((folder / TABLES).read_text(encoding="utf-8"))
    if not isinstance(known, dict):
        # Every run has its logs there, also one that another workflow makes.
        strange = folder.is_dir() and any(folder.iterdir()) and not (folder / "logs").is_dir()
        if "results" not in given and strange:
            raise CounterweightError(
                f"{folder} is there and no run of tables of one's own made it, unless version 1.0 "
                f"did: set {key} to another word, or remove {folder}."
            )
        return
    for name, path in tables_to_keep(plan).items():
        before = str(known.get(name, path))
        if os.path.exists(before) and not _same(before, path):
            raise CounterweightError(
                f"{folder} holds what was made of {before}, which is still there, and the table "
                f"{name} is {path} now: set {key} to another word to keep both, or remove "
                f"{folder} to replace it."
            )


def tables_to_keep(plan):
    """What a run writes down as it begins, for `check_place`: path by own table; None of others."""
    paths = {name: dataset.get("path") for name, dataset in plan["datasets"].items()}
    return {name: path for name, path in paths.items() if path} if _is_own(plan) else None


def _same(one, other):
    """Whether two paths are one table: the same file, or a copy of it."""
    if not os.path.exists(other) or os.path.samefile(one, other):
        return True
    if os.path.isdir(one) or os.path.isdir(other):
        return False
    known = Contents()
    return os.path.getsize(one) == os.path.getsize(other) and known.of(one) == known.of(other)


def _found(path, folders):
    """A path as it stands, or beside a config file where it is there alone."""
    if not isinstance(path, str) or Path(path).exists():
        return path
    there = [folder / path for folder in folders if (folder / path).exists()]
    return os.path.relpath(there[0]) if there else path


def _uncut(texts):
    """Texts as they were written, where the commas in their parentheses were taken for a list's.

    YAML reads ``[parity(a, b, 1)]`` as three entries; the last two end what the first began.
    """
    whole = []
    for text in texts:
        begun = whole[-1] if whole and isinstance(whole[-1], str) else ""
        if begun.count("(") > begun.count(")"):
            whole[-1] = f"{begun}, {text}"
        else:
            whole.append(text)
    return whole


def _check(name, entry, where):
    if not re.fullmatch("[a-z][a-z0-9_]*", name):
        raise CounterweightError(
            f"A table is called {name!r}: begin with a small letter, and use small letters, "
            "figures and _ only."
        )
    if name in components.registry("dataset"):
        raise CounterweightError(
            f"The table is called {name!r}, and so is a data set of the library: set name to "
            "another word."
        )
    place = tuple(where.split(".")) if where else ()
    refuse_all(odd_values(entry, place) or told(components.schema("own"), entry, place))


class _Asked(dict):
    """What is said of a table, and which of its keys were asked for."""

    def __init__(self, told):
        super().__init__(told)
        self.asked = set()

    def __getitem__(self, key):
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key):
        self.asked.add(key)
        return super().__contains__(key)

    def get(self, key, default=None):
        self.asked.add(key)
        return super().get(key, default)


def _check_one_role(place, roles, columns):
    """Refuse a column that is to be two things at once, or that has a role and is not read."""
    ignored, held = (columns or {}).get("ignore") or (), {}
    for role, names in components.columns_by_role(roles).items():
        for name in map(str, [names] if isinstance(names, str) else names):
            if name in ignored:
                raise CounterweightError(
                    f"{place}columns.ignore names {name!r}, and so does {role}: keep one of the "
                    "two."
                )
            for other in held.setdefault(name, []):
                pairs = ((other, role), (role, other))
                if any(one in ALONE and two not in (one, *ALONE[one]) for one, two in pairs):
                    raise CounterweightError(
                        f"{place}{other} and {role} both name the column {name!r}, which cannot be "
                        "both: name another column for one of them."
                    )
            held[name].append(role)


def _task_of(entry, place):
    """The module of the task that an entry asks for, and what it asks in words."""
    modules = [components.load("task", task) for task in components.registry("task")]
    ways = [
        (module, keys, words)
        for module in modules
        for keys, words in {
            getattr(module, "ROLES", ()): getattr(module, "ASKS", ""),
            **getattr(module, "ALSO", {}),
        }.items()
        if keys
    ]
    # The largest claim of each task, the first of equal ones.
    asked = {}
    for module, keys, words in ways:
        if {*keys} <= entry.keys() and len(keys) > len(asked.get(module, ((),))[0]):
            asked[module] = keys, words
    if not asked:
        begun = {key for _, keys, _ in ways for key in keys if key in entry}
        said = "; ".join(f"{' and '.join(keys)} ({words})" for _, keys, words in ways)
        raise CounterweightError(
            f"{place}the table has no question yet"
            + (f", {listed(sorted(begun))} alone is none" if begun else "")
            + f": say which columns are {said}."
        )
    task = max(asked, key=lambda one: len(asked[one][0]))
    # An entry with roles of two families is asked twice over: the larger claim wins, a tie is told.
    for rival, (keys, _) in asked.items():
        if rival != task and not {*keys} <= {*asked[task][0]}:
            raise CounterweightError(
                f"{place}the columns ask two questions, {task.ASKS} and {rival.ASKS}: make two "
                "tables of it under tables, one for each."
            )
    return task, asked[task][1]


def _made(name, entry, place):
    """The data set and the study of a table."""
    task, question = _task_of(entry, place)
    targets = hasattr(task, "TARGET_KEYS")
    if isinstance(entry.get("target"), dict) and not targets:
        raise CounterweightError(
            f"{place}a target of its own is for tables with an outcome: leave target out."
        )
    fit = {key: key in task.KEYS for key in ("tilt", "collect", "collected", "explore")}
    for key, fits in (fit | {"weights": targets}).items():
        if key in entry and not fits:
            beside = ", predictions of a log, filters and offers" * key.startswith("collect")
            raise CounterweightError(
                f"{place}{key} is for tables whose outcome has blanks{beside}, and this one asks "
                f"for {question}: leave {key} out."
            )
    for key, said in entry.items():
        if isinstance(said, dict) and "negative" in said and "positive" not in said:
            raise CounterweightError(
                f"{place}{key}.negative says what is a 0, and nothing says what is a 1: say that "
                f"by {key}.positive."
            )
    asked_of = _Asked(entry)
    study = task.own_study(asked_of)
    unused = [key for key in entry if key not in asked_of.asked | EVERY]
    if unused:
        rows = " and give a table, or a query, of the rows that are meant"
        away = ", and put the column under columns.ignore if nothing is to be learned from it"
        alone = ""
        if unused[0] in CLUSTERS:
            alone = ". Rows count as independent here: of who has several keep one, drawn at random"
            if other := CLUSTERS & asked_of.asked:
                alone = f"; whose rows belong together is said by {listed(sorted(other))}"
        raise CounterweightError(
            f"{place}{unused[0]} has no meaning in a table that asks {question}: leave it "
            f"out{rows * (unused[0] == 'labeled')}{away * (unused[0] in ROLES)}{alone}."
        )
    table = entry["table"]
    dataset = {key: entry[key] for key in SOURCE if key in entry}
    dataset |= {"query": table} if isinstance(table, dict) else {"path": table}
    dataset["roles"] = {key: entry[key] for key in ROLES if key in entry} | study.pop("roles", {})
    dataset |= {key: study.pop(key) for key in ("alike",) if key in study}
    _check_one_role(place, dataset["roles"], entry.get("columns"))
    study = {"dataset": name, "family": "studies", "repeats": 1} | study
    study |= {key: entry[key] for key in PASSED_ON if key in entry}
    changes = entry.get("study", {})
    if "dataset" in changes:
        raise CounterweightError(
            f"{place}study.dataset is {brief(changes['dataset'])}, and this study is of the table: "
            "leave it out."
        )
    _check_replaced(place, task, entry, changes)
    return dataset, study | changes


def _check_replaced(place, task, entry, changes):
    """Refuse keys of a table whose part of the study `study` replaces without saying them again.

    A task tells by ``CARRIED`` which part holds what a key asks for, and by which name.
    """
    for part, carried in getattr(task, "CARRIED", {}).items():
        names = {key: name for key, name in carried.items() if part in changes and key in entry}
        lost = [key for key in names if not _said(names[key], entry[key], changes[part])]
        if lost:
            again = [names[key] for key in lost if names[key]]
            there = f"say it there ({listed(again)}), or " if again else ""
            raise CounterweightError(
                f"{place}study.{part} takes the place of what {listed(lost)} "
                f"{'asks' if len(lost) == 1 else 'ask'} for: {there}leave one of the two out."
            )


def _said(name, value, part):
    """Whether a part of a study has an option with a value, or with all of a list."""
    if isinstance(value, dict):
        value = value.get("name", value.get("weighting"))
    if isinstance(part, list):
        return any(_said(name, value, one) for one in part)
    if not isinstance(part, dict):
        return False
    own = part.get(name)  # "" is nobody's name
    whole = isinstance(value, list) and isinstance(own, list) and {*value} <= {*own}
    return whole or (name in part and own == value) or _said(name, value, [*part.values()])
