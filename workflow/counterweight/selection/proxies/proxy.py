"""Proxies of groups: what all share, and the table of their leaves."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import check_options, checked_rows
from counterweight.numerics.estimator import NamedColumns, Parameters
from counterweight.numerics.groups import checked_memberships
from counterweight.tables.parquet import blocks


class Proxy(NamedColumns, Parameters):
    """Sorts rows into leaves by their features, at one or several settings.

    Subclasses have ``fit(X, Z, *, classes, target, rng)`` and ``leaves(X)``, which yields each
    setting with the memberships of the rows; ``settings_``, the names of the settings; and
    ``to_arrays``, ``from_arrays``.
    """

    #: Whether the leaves are predictions of the group, so that nothing limits what they tell.
    predicts_groups = False

    def _checked(self, X, Z, classes, options):
        """Features (n, d) and memberships (n, K) of training rows as arrays of floats.

        Raises
        ------
        CounterweightError
            When an option is not allowed (lists are left to the proxy), a feature is not
            finite, the memberships are none, or there is not one for each row.
        """
        lists = {name for name, node in options.items() if "array" in node.get("type", ())}
        check_options(
            self.get_params(), {name: options[name] for name in options if name not in lists}
        )
        X, Z = checked_rows(X), checked_memberships(Z, classes)
        if len(X) != len(Z):
            raise CounterweightError(
                f"There are {len(X)} rows of features but {len(Z)} of groups: give one for each."
            )
        return X, Z


class LeafTable(NamedTuple):
    """The leaves of one fitted proxy at one setting.

    Attributes
    ----------
    repeat : int
    setting : str
    mass : array (L,)
    shares : array (L, K)
    groups : list of str
        Names of the K groups.
    sizes : list of int
        Number of groups of each class.
    """

    repeat: int
    setting: str
    mass: np.ndarray
    shares: np.ndarray
    groups: list
    sizes: list


def leaf_columns(repeat, setting, mass, A, groups, classes, sizes):
    """Leaves of a proxy as columns of the long table that `leaf_tables` reads.

    Parameters
    ----------
    repeat : int
    setting : str
    mass : array (L,)
    A : array (L, K)
    groups : list of str
        Names of the K groups.
    classes : list of str
        Sensitive columns.
    sizes : list of int
        Number of groups of each.

    Returns
    -------
    dict of str to array (L K,)
    """
    leaves, owner = len(mass), np.repeat(np.array(classes, object), sizes)
    rows = leaves * len(groups)
    return {
        "repeat": np.full(rows, repeat, "int16"),
        "setting": np.full(rows, setting, object),
        "leaf": np.repeat(np.arange(leaves, dtype="int16"), len(groups)),
        "group": np.tile(np.array(groups, object), leaves),
        "mass": np.repeat(mass, len(groups)),
        "share": np.asarray(A, dtype=float).ravel(),
        "class": np.tile(owner, leaves),
    }


def leaf_tables(columns):
    """Leaves by repeat and setting, from the long table that fitting a proxy writes.

    Parameters
    ----------
    columns : dict of str to array
        As from `leaf_columns`: one row for each group of each leaf, in their order.

    Yields
    ------
    LeafTable
    """
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

    Parameters
    ----------
    settings : sequence of str
    distances : sequence of float
        From the target to the nearest point that the leaves allow.
    reached : sequence of bool
    least : float, optional
        The smallest alpha at which any filter could reach it, max |U - r|.
    """
    far = {}
    for setting, distance, near in zip(settings, distances, reached, strict=True):
        if not near and f"{distance:.3f}" not in far:
            far[f"{distance:.3f}"] = setting
    if not far:
        return "the target is within reach"
    if list(settings) == [""]:
        return f"the target is out of reach, at the distance {next(iter(far))}{_at_least(least)}"
    steps = listed([f"{distance} from {setting}" for distance, setting in far.items()], 30)
    first = next((s for s, near in zip(settings, reached, strict=True) if near), None)
    end = f"; {first} is the first to reach it" if first else "; no setting reaches it"
    return f"distance to the target: {steps}{end}{'' if first else _at_least(least)}"


def _at_least(least):
    return "" if least is None else f" (no filter can whose alpha is below {least:.3f})"
