"""Components by name, and their options.

A component (a labeling rule, a selection model, a model ...) is a class or a
function in one module of its stage's subpackage. The subpackage's ``__init__``
holds the registry: a plain dict from the name that the config uses to
``"module:attribute"``. Beside the component stands a dict ``OPTIONS`` with a JSON-schema
fragment (type, bounds, default, description) for each option, a line each; see
`counterweight.fragments`.

Registries and options are read from the source text, so the config can be checked
without importing numpy or scikit-learn. Options that several components share are a
constant of a module that these import: ``OPTIONS = {**SHARED, "own": {...}}``.

A weighting declares what answers rest on (`declared_assumption`): no name of a method decides it.
"""

import ast
import contextlib
import functools
import importlib
import re
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import FRAGMENTS

PACKAGE = Path(__file__).resolve().parents[1]
#: What a data set is that no module brings: a table of one's own, described in the config.
OWN = "own_table"
STAGES = {
    "task": ("tasks", "TASKS"),
    "dataset": ("datasets", "DATASETS"),
    "features": ("labeling", "FEATURES"),
    "outcome": ("labeling", "OUTCOMES"),
    "labeling": ("labeling", "LABELINGS"),
    "selector": ("selection", "SELECTORS"),
    "weighting": ("weighting", "WEIGHTINGS"),
    "model": ("models", "MODELS"),
    "metric": ("evaluation", "METRICS"),
    "protocol": ("evaluation", "PROTOCOLS"),
    "figure": ("reporting", "FIGURES"),
}


def schema_path(name):
    """File of a JSON schema of this package."""
    return PACKAGE / "plan" / "schemas" / name


@functools.lru_cache(None)
def schema(name):
    """The JSON schema of a ``config``, or of a table of one's ``own``; it is not to be changed."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a safe one, in C where there is one
    return yaml.load(schema_path(f"{name}.schema.yaml").read_text(encoding="utf-8"), loader)


@functools.lru_cache(None)
def path_of(module):
    """File of a module of this package."""
    parts = module.split(".")[1:]
    path = PACKAGE.joinpath(*parts)
    # A folder of a package that is gone may still hold compiled files.
    package = path / "__init__.py"
    return package if package.is_file() else path.with_suffix(".py")


@functools.lru_cache(None)
def is_module(name):
    """Whether a dotted name is a module (or package) of this package."""
    return name.split(".")[0] == PACKAGE.name and path_of(name).is_file()


@functools.lru_cache(None)
def tree(path):
    """Syntax tree of a source file, parsed once in a process."""
    return ast.parse(Path(path).read_text(encoding="utf-8"))


#: Where a top-level assignment, or an import of this package, begins, and where the next statement
#: does, as a formatter leaves it.
_BEGINS = re.compile(r"^(?:\w+[ \t]*=(?!=)|from[ \t]+counterweight\.)", re.M)
_NEXT = re.compile(r"\n(?=[^\s)\]}#])")


def _top_level(path):
    """Those statements of a module, parsed alone, which takes a thirtieth of the time of all.

    What is written in another form is parsed whole. A test holds them against the syntax trees.
    """
    text = Path(path).read_text(encoding="utf-8")
    at = text.find('"""', 3) + 3 if text.startswith('"""') else 0
    parts = []
    while begins := _BEGINS.search(text, at):
        ends = _NEXT.search(text, begins.end())
        at = ends.start() if ends else len(text)
        parts.append(text[begins.start() : at])
    whole = "\n".join(parts)
    if '"""' not in whole:
        with contextlib.suppress(SyntaxError):
            return ast.parse(whole).body
    return tree(path).body


@functools.lru_cache(None)
def _constants(module):
    """Top-level assignments of a module by name, and where its imported names come from."""
    assigned, imported = {}, {}
    for node in _top_level(path_of(module)):
        if isinstance(node, ast.Assign):
            assigned.setdefault(getattr(node.targets[0], "id", None), node.value)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterweight."):
            for alias in node.names:
                imported.setdefault(alias.asname or alias.name, (node.module, alias.name))
    return assigned, imported


#: In place of a constant that is not there.
_ABSENT = object()


@functools.lru_cache(None)
def _literal(module, name):
    """A module's constant, its own or imported from this package; `_ABSENT` if it has none."""
    assigned, imported = _constants(module)
    if name in assigned:
        return _value(assigned[name], module)
    return _literal(*imported[name]) if name in imported else _ABSENT


def _value(node, module):
    """A literal, in which constants may be named, unpacked (``**SHARED``) and joined (``|``), and
    the calls of `fragments` made."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        value = _literal(module, node.id)
        if value is _ABSENT:
            raise NameError(f"{node.id} is no constant of {module}, nor one that it imports")
        return value
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) in FRAGMENTS:
        words = {}
        for word in node.keywords:
            value = _value(word.value, module)
            words |= value if word.arg is None else {word.arg: value}
        return FRAGMENTS[node.func.id](*(_value(part, module) for part in node.args), **words)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _value(node.left, module) | _value(node.right, module)
    if isinstance(node, ast.List):
        return [_value(part, module) for part in node.elts]
    if isinstance(node, ast.Dict):
        whole = {}
        for key, value in zip(node.keys, node.values, strict=True):
            part = _value(value, module)
            whole |= part if key is None else {_value(key, module): part}
        return whole
    return ast.literal_eval(node)


def registry(kind):
    """Names of a kind of component and where each stands, in registry order."""
    return dict(_registry(kind))


@functools.lru_cache(None)
def _registry(kind):
    package, name = STAGES[kind]
    entries = _literal(f"counterweight.{package}", name)
    return {} if entries is _ABSENT else entries


def locate(kind, name):
    """``(module, attribute)`` of a component.

    Within a job, a look-up that it did not declare is a RuntimeError; see `only`.
    """
    known = _registry(kind)
    if kind == "dataset" and name not in known:
        name = OWN
    if name not in known:
        raise CounterweightError(f"There is no {kind} {name!r}; choose one of {listed(known)}.")
    if _declared_uses is not None and (kind, name) not in _declared_uses:
        raise RuntimeError(
            f"This job looks up the {kind} {name!r}, which it does not declare: add it to the uses "
            "of the job in its task, so that the digest covers it."
        )
    module, _, attribute = known[name].partition(":")
    return module, attribute


#: Look-ups and modules that the job which runs in this process declared; None outside a job.
_declared_uses = _declared_modules = None


@contextlib.contextmanager
def only(uses, modules=()):
    """Within the block, look-ups by name are refused that are not among these.

    A job's digest covers what it declares, so a look-up that it does not declare could keep results
    of old code. `uses` are kinds and names, for `load` and `declared`; `modules` are for
    `reference`.
    """
    global _declared_uses, _declared_modules
    before = _declared_uses, _declared_modules
    _declared_uses, _declared_modules = {tuple(pair) for pair in uses}, {*modules}
    try:
        yield
    finally:
        _declared_uses, _declared_modules = before


def load(kind, name):
    """Import a component; errors as `locate`."""
    return _part_of(*locate(kind, name))


def reference(text):
    """Import ``module:attribute``, or a module; within a job only what it declared (`only`)."""
    module, _, attribute = text.partition(":")
    if _declared_modules is not None and module not in _declared_modules:
        raise RuntimeError(
            f"This job imports {module} by name, which it does not declare: add it to the modules "
            "of the job where it is planned, so that the digest covers it."
        )
    return _part_of(module, attribute)


def _part_of(module, attribute):
    imported = importlib.import_module(module)
    return getattr(imported, attribute) if attribute else imported


def configured(kind, part):
    """A component that is a function, with the options of `part` filled in."""
    return functools.partial(load(kind, part["name"]), **part["options"])


def labeling_rules(given):
    """Feature recipe, outcome rule and labeling rule of a job, with their options filled in."""
    return [configured(part, given[part]) for part in ("features", "outcome", "labeling")]


def declared(kind, name, constant, default=None):
    """A literal constant of a component's module, e.g. ``OPTIONS``, without importing it.

    Where one module holds several components, the constant is a dict by component
    name under ``{constant}_BY_NAME``. All who ask get the same object: it is not to be changed.
    """
    module, _ = locate(kind, name)
    by_name = _literal(module, f"{constant}_BY_NAME")
    if by_name is not _ABSENT and name in by_name:
        return by_name[name]
    value = _literal(module, constant)
    return default if value is _ABSENT else value


#: Tasks by the names that modules of version 1.0 declare as their `KIND`.
_OLD_TASKS = {"blanks": "missing_outcomes", "scores": "prediction_logs"}


def task_of(kind, name, undeclared=None):
    """The task that a component is made for.

    Where it declares none: `undeclared`, by default the first of the registry.
    """
    task = declared(kind, name, "TASK") or declared(kind, name, "KIND")
    default = next(iter(registry("task"))) if undeclared is None else undeclared
    return _OLD_TASKS.get(task, task or default)


def options(kind, name):
    """JSON-schema fragments of a component's options, by option name."""
    return declared(kind, name, "OPTIONS", {})


def columns_by_role(roles):
    """Column or columns of each role, without what else the plan says of it.

    A role may be a column, a list of them, a mapping with ``column``, or ``labeled`` with
    ``where``.
    """
    columns = {}
    for role, column in roles.items():
        if role == "labeled":
            columns[role] = [*(column or {}).get("where", {})]
        else:
            columns[role] = column["column"] if isinstance(column, dict) else column
    return {role: column for role, column in columns.items() if column}


def columns_of_condition(condition):
    """Columns that a condition of rows asks about, as the key ``samples`` of a study has it."""
    if "all" in condition:
        return [one for part in condition["all"] for one in columns_of_condition(part)]
    return [condition["column"]] if "column" in condition else []


def forget():
    """Read all sources anew: for tests that edit them."""
    for cached in (path_of, is_module, tree, _constants, _literal, _registry):
        cached.cache_clear()


#: The weighting whose assumption holds where none was made: labels missing at random.
UNWEIGHTED = "lemma1"


def declared_assumption(weighting=None, model=None):
    """What a weighting declares as ``ASSUMES``, or a model that has an assumption of its own.

    Of a fit without weights, and where nothing is declared, it is that labels are missing at
    random. Returns a pair of texts: how
    the first sentence begins, and a sentence on what is taken for granted.
    """
    own = declared("model", model, "ASSUMES") if model else None
    own = own or (declared("weighting", weighting, "ASSUMES") if weighting else None)
    return own or declared("weighting", UNWEIGHTED, "ASSUMES")


def assumed(texts, options=None, whom=""):
    """The same with the options of the weighting in it, as facts of a saved model.

    `texts` are from `declared_assumption`, `options` dict by name, `whom` those that answers are
    for where they are not in the table. Several columns are joined by "and", beginning with one.
    Returns dict: ``if``, how the first sentence begins, and ``rests``.
    """
    words = {
        name: "".join(f' and "{one}"' for one in told) if isinstance(told, (list, tuple)) else told
        for name, told in (options or {}).items()
    }
    first, rests = (text.format(**words | {"whom": whom}) for text in texts)
    return {"if": first, "rests": rests}
