"""Old words of configs, taken for one version: each is read as its new one, and a warning says so.

Whoever renames a key, an option or a component puts the old word here, and nowhere else. An entry
counts only where the new word is known and the old one is not, so it may stand before the renaming.
"""

import functools
import logging

import yaml

from counterweight.plan import components
from counterweight.plan.mistakes import where_in

log = logging.getLogger("counterweight")

#: Options: new name by old one, by kind and name of the component; ``(kind, "*")`` is of all
#: components of a kind, ``"*"`` of all.
OPTION_RENAMES = {
    "*": {
        "tolerance": "tol",
        "restarts": "n_init",
        "covariance_floor": "reg_covar",
        "ridge": "l2",
        "trees": "max_iter",
        "leaves": "max_leaf_nodes",
        "least_rows": "min_samples_leaf",
        "min_leaf": "min_samples_leaf",
        "smallest_leaf_rows": "min_samples_leaf",
    }
}
#: Names of components: new by old one, by kind, such as ``{"metric": {"old": "new"}}``.
COMPONENT_RENAMES = {}
#: Keys of the config, of a study, and of a person's table: new by old one, by where they stand.
#: A key within another is written with a point, such as ``{"columns.skip": "columns.ignore"}``.
KEY_RENAMES = {"config": {}, "study": {}, "table": {}}
#: Lists of components in a config and in its studies: their kind by key.
_LISTS = {"metrics": "metric", "columns": "metric", "figures": "figure"}


def with_new_names(config, quiet=False):
    """A config in which every old word is its new one; mistakes stay as they are.

    Parameters
    ----------
    config : mapping
        As people write it, whole or in part; it is not changed.
    quiet : bool
        Whether no warning is to say what was renamed.
    """
    if not (OPTION_RENAMES or COMPONENT_RENAMES or any(KEY_RENAMES.values())):
        return config
    names = _Names(quiet)
    tables = _properties("own.schema.yaml")
    known = _properties("config.schema.yaml")
    config = names.keys("config", names.keys("table", config, tables, ()), known, ())
    for name, entry in _pairs(config.get("tables")):
        entry = names.keys("table", entry, tables, ("tables", name))
        config = _put(config, ("tables", name), entry)
    parts = known["studies"]["additionalProperties"]["properties"]
    studies = [("studies", name) for name, _ in _pairs(config.get("studies"))]
    studies += [("tables", name, "study") for name, _ in _pairs(config.get("tables"))]
    for path in [*studies, ("study",)]:
        study = _at(config, path)
        if isinstance(study, dict):
            config = _put(config, path, names.study(study, parts, path))
    defaults = {}
    for model, options in _pairs(config.get("model_defaults")):
        model = names.component("model", model, ("model_defaults",))
        path = ("model_defaults", model)
        defaults[model] = names.options("model", model, options, path)
    config = config | {"model_defaults": defaults} if defaults else config
    return names.lists(config, ())


class _Names:
    """Renames, and says what it renamed."""

    def __init__(self, quiet):
        self.quiet = quiet

    def tell(self, path, old, new, both=False):
        if not self.quiet:
            where = f" in {where_in(path)}" if path else ""
            beside = f"; {new} stands beside it and is not looked at" if both else ""
            log.warning(
                "`%s` is now `%s`%s: write the new name, the old one goes with the next "
                "version%s.", old, new, where, beside,
            )  # fmt: skip

    def moved(self, part, renames, known, path):
        """A mapping in which old keys are their new ones, in their places."""
        if not isinstance(part, dict):
            return part
        renames = {
            old: new
            for old, new in renames.items()
            if old in part and (known is None or (old not in known and new in known))
        }
        for old, new in renames.items():
            self.tell(path, old, new, new in part)
        # The new word may come from config.yaml, below what a person gives.
        kept = {key: value for key, value in part.items() if key not in renames.values()}
        return {renames.get(key, key): value for key, value in kept.items()} if renames else part

    def keys(self, place, part, known, path):
        """A config, a study or a table in which old keys are their new ones."""
        if not isinstance(part, dict):
            return part
        for old, new in KEY_RENAMES[place].items():
            *above, last = old.split(".")
            inner, node = _at(part, above), known
            for key in above:
                node = (node or {}).get(key, {}).get("properties")
            renames = {last: new.split(".")[-1]}
            changed = self.moved(inner, renames, node, (*path, *above))
            part = _put(part, above, changed) if changed is not inner else part
        return part

    def component(self, kind, name, path):
        new = COMPONENT_RENAMES.get(kind, {}).get(name) if isinstance(name, str) else None
        known = components.registry(kind)
        if new is None or name in known or new not in known:
            return name
        self.tell(path, name, new)
        return new

    def part(self, kind, key, part, path):
        """A component with its options."""
        if not isinstance(part, dict) or key not in part:
            return part
        part = part | {key: self.component(kind, part[key], (*path, key))}
        return self.options(kind, part[key], part, path)

    def options(self, kind, name, part, path):
        """Options of a component, those of a sweep, and those of components within."""
        if not isinstance(name, str) or name not in components.registry(kind):
            return part
        declared = components.options(kind, name)
        renames = {}
        for which in ("*", (kind, "*"), (kind, name)):
            renames |= OPTION_RENAMES.get(which, {})
        part = self.moved(part, renames, declared, path)
        if not isinstance(part, dict):
            return part
        if "sweep" in part:
            sweep = self.moved(part["sweep"], renames, declared, (*path, "sweep"))
            part = part | {"sweep": sweep}
        for option, node in declared.items():
            if option in part and "x-component-with-options" in node:
                inner = self.part(*node["x-component-with-options"], part[option], (*path, option))
                part = part | {option: inner}
        return part

    def study(self, study, known, path):
        study = self.keys("study", study, known, path)
        for key, node in known.items():
            if "x-component-with-options" in node:
                kind = node["x-component-with-options"]
                if key in study:
                    study = study | {key: self.part(*kind, study[key], (*path, key))}
            elif "x-component-with-options" in node.get("items", {}):
                kind = node["items"]["x-component-with-options"]
                if isinstance(study.get(key), list):
                    items = enumerate(study[key])
                    made = [self.part(*kind, item, (*path, key, at)) for at, item in items]
                    study = study | {key: made}
        return self.lists(study, path)

    def lists(self, part, path):
        for key, kind in _LISTS.items():
            if isinstance(part.get(key), list):
                part = part | {key: [self.component(kind, n, (*path, key)) for n in part[key]]}
        return part


@functools.cache
def _properties(name):
    text = components.schema_path(name).read_text(encoding="utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))["properties"]


def _pairs(part):
    return list(part.items()) if isinstance(part, dict) else []


def _at(part, path):
    for key in path:
        part = part.get(key) if isinstance(part, dict) else None
    return part


def _put(part, path, value):
    """A copy of nested mappings with another value at a path that is there."""
    if not path:
        return value
    return part | {path[0]: _put(part[path[0]], path[1:], value)}
