"""Proxies of groups: what all share, and the table of their leaves."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import check_options
from counterweight.numerics.estimator import Estimator, Parameters, one_column
from counterweight.numerics.groups import checked_memberships, group_names, memberships
from counterweight.tables.parquet import blocks


def setting_of(name, value):
    """Name of a setting in files, such as ``alpha=0.05``."""
    return f"{name}={round(float(value), 10):g}"


class Proxy(Estimator, Parameters):
    """Sorts rows into leaves by their features, at one or several settings.

    Subclasses have ``fit(X, y, *, classes, target, rng)`` and ``leaves(X)``, which yields each
    setting with the memberships of the rows; ``settings_``, the names of the settings; and
    ``to_arrays``, ``from_arrays``.
    """

    #: Whether the leaves are predictions of the group, so that nothing limits what they tell.
    predicts_groups = False

    def _begin(self, X, y, classes, options):
        """Memberships (n, K) of training rows as floats, and the number of groups of each class.

        Without `classes` the groups are the labels `y` (n,). Refused where an option is not allowed
        (lists are left to the proxy), or the memberships are none, or not one for each row.
        """
        lists = {name for name, node in options.items() if "array" in node.get("type", ())}
        check_options(
            self.get_params(), {name: options[name] for name in options if name not in lists}
        )
        if y is None:
            raise CounterweightError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "the memberships of the rows, or their groups."
            )
        if classes is None:
            if len(y) < 2:
                raise CounterweightError("There is 1 sample: groups are told by two rows at least.")
            words = one_column(y)
            names, _ = group_names([words], ["y"])
            y, classes = memberships([words], names), [len(names[0])]
        Z = checked_memberships(y, classes)
        if len(X) != len(Z):
            raise CounterweightError(
                f"There are {len(X)} rows of features but {len(Z)} of groups: give one for each."
            )
        return Z, [int(k) for k in classes]


class LeafTable(NamedTuple):
    """The leaves of one fitted proxy at one setting.

    Mass (L,), shares (L, K) of the groups, names of the K groups, and the number of each class.
    """

    repeat: int
    setting: str
    mass: np.ndarray
    shares: np.ndarray
    groups: list
    sizes: list


def leaf_columns(repeat, setting, mass, A, groups, classes, sizes):
    """Leaves of a proxy, masses (L,) and shares (L, K), as the columns (L K,) of `leaf_tables`.

    `groups` names the K groups, `classes` the sensitive columns, `sizes` counts the groups of each.
    """
    leaves, rows = len(mass), len(mass) * len(groups)
    return {
        "repeat": np.full(rows, repeat, "int16"),
        "setting": np.full(rows, setting, object),
        "leaf": np.repeat(np.arange(leaves, dtype="int16"), len(groups)),
        "group": np.tile(np.array(groups, object), leaves),
        "mass": np.repeat(mass, len(groups)),
        "share": np.asarray(A, dtype=float).ravel(),
        "class": np.tile(np.repeat(np.array(classes, object), sizes), leaves),
    }


def leaf_tables(columns):
    """Each `LeafTable` by repeat and setting, from the columns that `leaf_columns` wrote."""
    for part in blocks(columns, "repeat", "setting"):
        leaf = columns["leaf"][part]
        many = int((leaf == leaf[0]).sum())
        first = slice(part.start, part.start + many)
        owner = columns["class"][first]
        edges = np.flatnonzero(np.append(owner[1:] != owner[:-1], True))
        yield LeafTable(
            int(columns["repeat"][part.start]),
            str(columns["setting"][part.start]),
            columns["mass"][part][::many],
            columns["share"][part].reshape(-1, many),
            [str(group) for group in columns["group"][first]],
            np.diff(edges, prepend=-1).tolist(),
        )


def reach_sentence(settings, distances, reached, least=None):
    """Which settings of a proxy bring the target within reach, and how far the others are.

    `distances` are from the target to the nearest point that the leaves allow; `least` is the
    smallest alpha at which any filter could reach it, max |U - r|.
    """
    beyond = "" if least is None else f" (no filter can whose alpha is below {least:.3f})"
    far = {}
    for setting, distance, near in zip(settings, distances, reached, strict=True):
        if not near and f"{distance:.3f}" not in far:
            far[f"{distance:.3f}"] = setting
    if not far:
        return "the target is within reach"
    if list(settings) == [""]:
        return f"the target is out of reach, at the distance {next(iter(far))}{beyond}"
    steps = listed([f"{distance} from {setting}" for distance, setting in far.items()], 30)
    first = next((s for s, near in zip(settings, reached, strict=True) if near), None)
    end = f"; {first} is the first to reach it" if first else "; no setting reaches it"
    return f"distance to the target: {steps}{end}{'' if first else beyond}"
