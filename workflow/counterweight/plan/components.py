"""Components by name, their options, and the digest of the code behind them.

A component (a labeling rule, a selection model, a model ...) is a class or a
function in one module of its stage's subpackage. The subpackage's ``__init__``
holds the registry: a plain dict from the name that the config uses to
``"module:attribute"``. Beside the component stands a literal dict ``OPTIONS`` with
a JSON-schema fragment (type, bounds, default, description) for each option.

Registries and options are read from the source text, so the config can be checked
without importing numpy or scikit-learn. Options that several components share are a
constant of a module that these import: ``OPTIONS = {**SHARED, "own": {...}}``.
"""

import ast
import functools
import hashlib
import importlib
from pathlib import Path

from counterweight.errors import CounterweightError, listed

PACKAGE = Path(__file__).resolve().parents[1]
STAGES = {
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
    """A JSON schema: in the checkout beside the package, installed inside it."""
    beside = PACKAGE.parent / "schemas" / name
    return beside if beside.exists() else PACKAGE / "schemas" / name


def _path(module):
    parts = module.split(".")[1:]
    path = PACKAGE.joinpath(*parts)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@functools.lru_cache(None)
def _tree(path):
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _literal(module, name, default=None):
    """A module's constant, its own or imported from this package; `default` if it has none."""
    for node in _tree(_path(module)).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == name:
            return _value(node.value, module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("counterweight."):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _literal(node.module, alias.name, default)
    return default


def _value(node, module):
    """A literal, in which constants may be named, unpacked (``**SHARED``) and joined (``|``)."""
    if isinstance(node, ast.Name):
        value = _literal(module, node.id)
        if value is None:
            raise NameError(f"{node.id} is no constant of {module}, nor one that it imports")
        return value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _value(node.left, module) | _value(node.right, module)
    if isinstance(node, ast.Dict):
        whole = {}
        for key, value in zip(node.keys, node.values, strict=True):
            part = _value(value, module)
            whole |= part if key is None else {ast.literal_eval(key): part}
        return whole
    return ast.literal_eval(node)


def registry(kind):
    """Names of a kind of component and where each stands, in registry order."""
    package, name = STAGES[kind]
    return dict(_literal(f"counterweight.{package}", name, {}))


def locate(kind, name):
    """``(module, attribute)`` of a component.

    Raises
    ------
    CounterweightError
        When there is no such component.
    """
    known = registry(kind)
    if name not in known:
        raise CounterweightError(f"There is no {kind} {name!r}; choose one of {listed(known)}.")
    module, _, attribute = known[name].partition(":")
    return module, attribute


def load(kind, name):
    """Import a component."""
    module, attribute = locate(kind, name)
    return getattr(importlib.import_module(module), attribute)


def configured(kind, part):
    """A component that is a function, with its options filled in.

    Parameters
    ----------
    kind : str
    part : mapping
        ``name`` and ``options``, as a rule gets it in its params.
    """
    return functools.partial(load(kind, part["name"]), **part["options"])


def declared(kind, name, constant, default=None):
    """A literal constant of a component's module, e.g. ``OPTIONS``, without importing it.

    Where one module holds several components, the constant is a dict by component
    name under ``{constant}_BY_NAME``.
    """
    module, _ = locate(kind, name)
    by_name = _literal(module, f"{constant}_BY_NAME")
    if by_name is not None and name in by_name:
        return by_name[name]
    return _literal(module, constant, default)


def options(kind, name):
    """JSON-schema fragments of a component's options, by option name."""
    return declared(kind, name, "OPTIONS", {})


def imports(path):
    """Modules of this package that a source file imports, at any depth of nesting."""
    names = set()
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return sorted(
        name for name in names if name.split(".")[0] == "counterweight" and _path(name).is_file()
    )


def closure(modules):
    """Modules that `modules` import, directly or not, themselves included.

    ``__init__`` files are left out: they hold registries only, and an entry added to
    a registry must not re-run the methods that stand beside it.
    """
    found, queue = set(), list(modules)
    while queue:
        module = queue.pop()
        if module not in found:
            found.add(module)
            queue.extend(imports(_path(module)))
    return sorted(name for name in found if _path(name).name != "__init__.py")


def digest(modules, extra=()):
    """SHA-256 (16 hex digits) of the source of `modules` and all that they import.

    Parameters
    ----------
    modules : iterable of str
        Dotted names in this package.
    extra : iterable of Path
        Other files that count as code, e.g. a template.
    """
    sums = hashlib.sha256()
    for module in closure(modules):
        sums.update(module.encode() + b"\0" + _path(module).read_bytes() + b"\0")
    for path in sorted(map(str, extra)):
        sums.update(Path(path).name.encode() + b"\0" + Path(path).read_bytes() + b"\0")
    return sums.hexdigest()[:16]
