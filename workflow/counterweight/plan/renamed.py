"""Old words of configs, taken for one version: each is read as its new one, and a warning says so.

Whoever renames a key, an option or a component puts the old word here, and nowhere else. An entry
counts only where the new word is known and the old one is not, so it may stand before the renaming.
"""

import logging

from counterweight.errors import CounterweightError
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
    },
    ("model", "logistic_tree"): {
        "smallest_leaf": "min_samples_leaf",
        "smallest_split": "min_samples_split",
    },
    ("model", "logistic"): {"penalty": "l2"},
    ("model", "exponentiated_gradient"): {"eps": "tol"},
    ("selector", "split_tree"): {
        "height": "max_depth",
        "most_leaves": "max_leaf_nodes",
        "smallest_leaf": "min_weight_fraction_leaf",
        "smallest_drop": "min_decrease",
        "stop_distance": "tol",
    },
    ("selector", "tree_proxy"): {"depth": "max_depth", "smallest_leaf": "min_weight_fraction_leaf"},
    ("selector", "regression_proxy"): {"iterations": "max_iter"},
    ("weighting", "*"): {
        "least_accepted": "min_acceptance_rate",
        "most_distorted": "max_distortion",
    },
}
#: Options that are gone, by kind: the value that always holds now, and what to do instead.
OPTION_GONE = {
    "model": {
        "bias": ("regularised", "set standardise, and the penalised constant has less of a say"),
        "path_steps": (
            3,
            "run settings that are to be fitted by themselves as methods of their own",
        ),
        "base": ("logistic", "take the model reductions or constrained for a linear SVM"),
        "base_c": (1.0, "take the model reductions, whose penalty is an option"),
        "criterion": ("log_loss", "give iterations, or min_samples_leaf of the tree, by hand"),
    },
    "selector": {
        "leaf_by": ("predicted", "take split_tree for leaves that are nodes of a tree"),
        "leaves": ("predicted", "take split_tree for leaves that are nodes of a tree"),
        "oracle_rows": (
            "leaf",
            "set min_weight_fraction_leaf, and each leaf has rows to learn from",
        ),
    },
}
#: Names of components: new by old one, by kind, such as ``{"metric": {"old": "new"}}``.
COMPONENT_RENAMES = {
    "labeling": {"dialled": "missingness_mechanism"},
    "model": {"linear": "logistic", "boosting": "gradient_boosting"},
    "protocol": {"unseen": "cross_validation"},
}
#: Options that an old component had without a word, by kind and old name.
WENT_WITHOUT_SAYING = {
    ("model", "linear"): {"l2": 1.0, "per_row": False},
    ("model", "boosting"): {"max_bins": 255},
}
#: Keys of the config, of a study, and of a person's table: new by old one, by where they stand.
#: A key within another is written with a point, such as ``{"columns.skip": "columns.ignore"}``.
KEY_RENAMES = {
    "config": {},
    "study": {"filter.least_cell": "filter.min_cell_count"},
    "table": {
        "least_accepted": "min_acceptance_rate",
        "most_distorted": "max_distortion",
        "least_cell": "min_cell_count",
        "decision": "deployed",
    },
}
#: Lists of components in a config and in its studies: their kind by key.
_LISTS = {"metrics": "metric", "columns": "metric", "figures": "figure"}


def with_new_names(config, quiet=False):
    """A config, whole or in part, in which old words are the new ones; mistakes stay as they are.

    It is not changed itself. `quiet`: no warning says what was renamed.
    """
    names, tables = _Names(quiet), components.schema("own")["properties"]
    known = components.schema("config")["properties"]
    config = names.keys("config", names.keys("table", config, tables, ()), known, ())
    studies = [("studies", name) for name in _mapping(config.get("studies"))] + [("study",)]
    for name, entry in _mapping(config.get("tables")).items():
        entry = names.keys("table", entry, tables, ("tables", name))
        config = _put(config, ("tables", name), entry)
        studies.append(("tables", name, "study"))
    parts = known["studies"]["additionalProperties"]["properties"]
    for path in studies:
        study = _at(config, path)
        if isinstance(study, dict):
            config = _put(config, path, names.study(study, parts, path))
    defaults = {}
    for model, options in _mapping(config.get("model_defaults")).items():
        model = names.component("model", model, ("model_defaults",))
        defaults[model] = names.options("model", model, options, ("model_defaults", model))
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
        for old, new in KEY_RENAMES[place].items() if isinstance(part, dict) else ():
            *above, last = old.split(".")
            inner, node = _at(part, above), known
            for key in above:
                node = (node or {}).get(key, {}).get("properties")
            changed = self.moved(inner, {last: new.split(".")[-1]}, node, (*path, *above))
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
        old, new = part[key], self.component(kind, part[key], (*path, key))
        made = self.options(kind, new, part | {key: new}, path)
        if new == old:
            return made
        # Methods keep the name that the rest of the config calls them by.
        name = "-".join(filter(None, [old, part.get("weights")]))
        named = {"name": name} if kind == "model" and path[-2:-1] == ("models",) else {}
        return named | WENT_WITHOUT_SAYING.get((kind, old), {}) | made

    def options(self, kind, name, part, path):
        """Options of a component, those of a sweep, and those of components within."""
        if not isinstance(name, str) or name not in components.registry(kind):
            return part
        declared, renames = components.options(kind, name), {}
        for which in ("*", (kind, "*"), (kind, name)):
            renames |= OPTION_RENAMES.get(which, {})
        part = self.moved(part, renames, declared, path)
        if not isinstance(part, dict):
            return part
        part = self.without(part, kind, declared, path)
        if "sweep" in part:
            part = part | {"sweep": self.moved(part["sweep"], renames, declared, (*path, "sweep"))}
        for option, node in declared.items():
            if option in part and "x-component-with-options" in node:
                inner = self.part(*node["x-component-with-options"], part[option], (*path, option))
                part = part | {option: inner}
            within = node.get("items", {}).get("x-component-with-options")
            if within and isinstance(part.get(option), list):
                items = enumerate(part[option])
                items = [self.part(*within, one, (*path, option, at)) for at, one in items]
                part = part | {option: items}
        return part

    def without(self, part, kind, declared, path):
        """A component without options that are gone; one of another value is refused."""
        for option, (value, instead) in OPTION_GONE.get(kind, {}).items():
            if option not in part or option in declared:
                continue
            if part[option] != value:
                raise CounterweightError(
                    f"{where_in(path)}.{option} is {part[option]!r}, and the option is gone: "
                    f"{option} is always {value!r}. Leave it out; {instead}."
                )
            if not self.quiet:
                log.warning(
                    "`%s` in %s is always %r now: leave it out.", option, where_in(path), value
                )
            part = {key: given for key, given in part.items() if key != option}
        return part

    def study(self, study, known, path):
        study = self.keys("study", study, known, path)
        for key, node in known.items():
            for one, several in ((node, False), (node.get("items", {}), True)):
                if "x-component-with-options" in one and key in study:
                    kind, place, said = one["x-component-with-options"], (*path, key), study[key]
                    if several and isinstance(said, list):
                        items = enumerate(said)
                        said = [self.part(*kind, item, (*place, at)) for at, item in items]
                    study = study | {key: said if several else self.part(*kind, said, place)}
        return self.lists(study, path)

    def lists(self, part, path):
        for key, kind in _LISTS.items():
            if isinstance(part.get(key), list):
                part = part | {key: [self.component(kind, n, (*path, key)) for n in part[key]]}
        return part


def _mapping(part):
    return part if isinstance(part, dict) else {}


def _at(part, path):
    for key in path:
        part = part.get(key) if isinstance(part, dict) else None
    return part


def _put(part, path, value):
    """A copy of nested mappings with another value at a path that is there."""
    if not path:
        return value
    return part | {path[0]: _put(part[path[0]], path[1:], value)}
