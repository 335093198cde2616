"""Digests of all code that a job may load, and of files of one's own: what decides what runs again.

A job's code is its script, the function of a task that it runs, and the components that
it looks up by name, each with all that it imports. Library modules count whole. A module of
`counterweight.tasks` serves every stage of a study, so of it only the function counts, with what
that function names in its module; otherwise an edit of one stage would re-run all of them.

A look-up by name cannot be seen in the imports. So each job declares its look-ups, and
`counterweight.plan.components.load` refuses any other inside a job.

What a module only says about itself for readers of the report, such as a label, is no code: the
plan reads it and tells it to the jobs that print it. Such statements (`DECLARATIONS`) are left out.

Of files that a person brings, the content counts and never the date: see `Contents`.
"""

import ast
import contextlib
import functools
import hashlib
import json
import os
import re
import time
from importlib import metadata
from pathlib import Path

from counterweight.plan import components

#: Libraries whose version a result rests on, by the name they are imported under, with those that
#: they compute with in turn.
LIBRARIES = {
    "numpy": ("numpy",),
    "scipy": ("scipy", "numpy"),
    "sklearn": ("scikit-learn", "scipy", "numpy"),
    "pandas": ("pandas", "numpy"),
    "pyarrow": ("pyarrow",),
    "matplotlib": ("matplotlib", "numpy"),
    "highspy": ("highspy", "numpy"),
}
#: After the end of a line, which is searched for many times as fast as the beginning of one.
_LIBRARY = re.compile(
    rb"\n[ \t]*(?:from|import)[ \t]+(%s)\b" % b"|".join(map(str.encode, LIBRARIES))
)

#: Constants that the plan alone reads, for the report: texts, and mappings of them.
DECLARATIONS = ("LABEL", "ROLE", "RULE", "CAPTION", "MEASURES", "SECTIONS", "VALUE_LABELS")
#: Such a statement with the blank lines above it, as a formatter leaves it; in any other form it
#: counts as code. A test holds it against the syntax trees.
_DECLARATION = re.compile(
    rb"\n+(?:(?:LABEL|ROLE|RULE|CAPTION) = (?:\"[^\"\\\n]*\"|\(\n(?:[ \t][^\n]*\n)*\))"
    rb"|(?:MEASURES|SECTIONS|VALUE_LABELS|(?:LABEL|CAPTION)_BY_NAME) = "
    rb"(?:\{[^;\n]*\}|\{\n(?:[ \t][^\n]*\n|\n)*\})(?:  # fmt: skip)?)"
    rb"(?=\n|\Z)"
)


@functools.lru_cache(None)
def _source(path):
    return Path(path).read_bytes()


@functools.lru_cache(None)
def _code(path):
    """A source file without its `DECLARATIONS`."""
    return _DECLARATION.sub(b"", _source(path))


@functools.lru_cache(None)
def _definitions(path):
    """Top-level statements of a module by the names that they bind; modules by imported name."""
    bound, imported = {}, {}
    for node in components.tree(path).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.setdefault(node.name, []).append(node)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                imported.setdefault(name, []).extend(_modules_of(node, alias))
        else:
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    bound.setdefault(part.id, []).append(node)
    return bound, imported


def _modules_of(node, alias):
    """Modules of this package that one imported name may stand for."""
    if isinstance(node, ast.Import):
        names = [alias.name]
    elif node.module and not node.level:
        names = [node.module, f"{node.module}.{alias.name}"]
    else:
        names = []
    return [name for name in names if components.is_module(name)]


#: An import of this package, read from the text: parsing every module would take most of the time
#: that planning a run takes. A test holds it against the syntax trees.
_IMPORT = re.compile(
    r"[\n;][ \t]*(?:from[ \t]+(counterweight[\w.]*)[ \t]+import[ \t]*"
    r"(\((?:[^)#]|#.*\n)*\)|(?:[^;\n\\]|\\\n)*)|import[ \t]+((?:[^;\n\\]|\\\n)*\bcounterweight.*))"
)


@functools.lru_cache(None)
def imports(path):
    """Modules of this package that a source file imports, at any depth of nesting."""
    names = set()
    for package, parts, whole in _IMPORT.findall("\n" + _source(path).decode()):
        listed = re.sub(r"#.*|[()\\]", "", parts or whole).split(",")
        words = [part.split()[0] for part in listed if part.strip()]
        names.update([package, *(f"{package}.{word}" for word in words)] if package else words)
    return tuple(sorted(name for name in names if components.is_module(name)))


@functools.lru_cache(None)
def closure(modules):
    """Modules that `modules` (a tuple) import, directly or not, themselves included.

    ``__init__`` files are left out: they hold registries only, and an entry added to
    a registry must not re-run the methods that stand beside it.
    """
    seen, queue = set(), list(modules)
    while queue:
        module = queue.pop()
        if module not in seen:
            seen.add(module)
            queue.extend(imports(components.path_of(module)))
    return tuple(sorted(name for name in seen if components.path_of(name).name != "__init__.py"))


@functools.lru_cache(None)
def part_of(module, attribute):
    """Source of one definition of a module and of all that it names there, and its imports.

    The texts come in the order of the module; then, modules of this package that they import.
    """
    path = components.path_of(module)
    bound, imported = _definitions(path)
    lines = _source(path).splitlines(keepends=True)
    nodes, modules, names, queue = {}, set(), set(), [attribute]
    while queue:
        name = queue.pop()
        if name in names:
            continue
        names.add(name)
        modules.update(imported.get(name, ()))
        for node in bound.get(name, ()):
            nodes[node.lineno] = node
            for part in ast.walk(node):
                if isinstance(part, ast.Name):
                    queue.append(part.id)
                elif isinstance(part, (ast.Import, ast.ImportFrom)):
                    for alias in part.names:
                        modules.update(_modules_of(part, alias))
    texts = tuple(_text(nodes[line], lines) for line in sorted(nodes))
    return texts, tuple(sorted(modules))


def _text(node, lines):
    first = min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])
    return b"".join(lines[first - 1 : node.end_lineno])


@functools.lru_cache(None)
def loaded(script, run="", uses=(), modules=()):
    """Modules that a job may load, as a tuple of names; parameters as those of `code`."""
    wanted = {*modules, *imports(script)}
    if run:
        wanted.update(part_of(*run.split(":"))[1])
    wanted.update(components.locate(kind, name)[0] for kind, name in uses)
    return closure(tuple(sorted(wanted)))


@functools.lru_cache(None)
def _libraries_of(source):
    return frozenset(name.decode() for name in _LIBRARY.findall(b"\n" + source))


@functools.lru_cache(None)
def version_of(library):
    """The version of an installed library; "" where it is not."""
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def versions():
    """Versions of all `LIBRARIES`, by name."""
    return {name: version_of(name) for names in LIBRARIES.values() for name in names[:1]}


@functools.lru_cache(None)
def libraries(script, run="", uses=(), modules=()):
    """Versions of the `LIBRARIES` that a job may load, by name; parameters as those of `code`."""
    sources = [_source(components.path_of(name)) for name in loaded(script, run, uses, modules)]
    if run:
        sources.extend(part_of(*run.split(":"))[0])
    imported = frozenset().union(*map(_libraries_of, sources))
    names = {library for name in imported for library in LIBRARIES[name]}
    return {name: version_of(name) for name in sorted(names)}


@functools.lru_cache(None)
def code(script, run="", uses=(), files=(), modules=()):
    """SHA-256 (16 hex digits) of everything that a job may load.

    Of a job `run` is the ``module:function`` that its script calls, "" for none; `uses` are kind
    and name of the components that are looked up: each counts as where it stands (module and
    attribute) and with its module; `modules` count with all that they import, and `files`, e.g. a
    template, by their text.
    """
    sums = hashlib.sha256(Path(script).name.encode() + b"\0" + _source(script) + b"\0")
    if run:
        sums.update(b"\0".join([run.encode(), *part_of(*run.split(":"))[0], b""]))
    for kind, name in uses:
        module, attribute = components.locate(kind, name)
        sums.update(f"{kind} {name} {module}:{attribute}".encode() + b"\0")
    for module in loaded(script, run, uses, modules):
        sums.update(module.encode() + b"\0" + _code(components.path_of(module)) + b"\0")
    for path in sorted(files):
        sums.update(Path(path).name.encode() + b"\0" + _source(path) + b"\0")
    return sums.hexdigest()[:16]


def forget():
    """Read all sources anew: for tests that edit them."""
    components.forget()
    for cached in (_source, _code, _definitions, imports, closure, part_of, code, loaded):
        cached.cache_clear()
    for cached in (libraries, version_of):
        cached.cache_clear()


class Contents:
    """SHA-256 of files of one's own, so that an exchange is seen whatever its date says.

    A file of a megabyte or more is read once: its digest is kept beside what the system knows of
    it, in a file `kept` of earlier runs, if one is named. That includes the time of its last change
    (ctime), which `mv`, `cp -p`, `rsync -t` and `unzip` set anew and no program can choose. Where
    there is no such time (Windows), and within two seconds of it, nothing is kept.
    """

    #: Bytes from which a digest is kept, and the least age of a change in nanoseconds.
    LEAST, SETTLED = 2**20, 2 * 10**9

    def __init__(self, kept=None):
        self._kept = kept
        self._known = {}
        if kept is not None:
            with contextlib.suppress(OSError), open(kept, encoding="utf-8") as lines:
                for line in lines:
                    with contextlib.suppress(ValueError):
                        path, seen, digest = json.loads(line)
                        self._known[path] = seen, digest

    def of(self, path):
        """SHA-256 of a file, 64 hex digits."""
        place, seen = os.path.abspath(path), _seen(path)
        known = self._known.get(place)
        if known and known[0] == seen:
            return known[1]
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        settled = os.name == "posix" and time.time_ns() - seen[-1] > self.SETTLED
        if settled and seen[0] >= self.LEAST and seen == _seen(path):
            self._keep(place, seen, digest)
        return digest

    def _keep(self, place, seen, digest):
        self._known[place] = seen, digest
        if self._kept is not None:
            with contextlib.suppress(OSError), open(self._kept, "a", encoding="utf-8") as lines:
                lines.write(json.dumps([place, seen, digest]) + "\n")


def _seen(path):
    """What the system knows of a file; the time of its last change stands at the end."""
    known = os.stat(path)
    return [known.st_size, known.st_dev, known.st_ino, known.st_mtime_ns, known.st_ctime_ns]
