"""Sensitive groups as a membership matrix, and what a proxy's leaves tell about them.

Several classes of groups (columns) may intersect (Deng et al. 2023, A.2). Each class has a
block of columns in the membership matrix `Z`, one for each of its groups, and each row has
one 1 in each block; one class is the case of disjoint groups.
"""

from collections.abc import Mapping

import numpy as np

from counterweight.errors import CounterweightError, listed

#: Sums of probabilities may be off 1 by this much.
TOLERANCE = 1e-6


def group_names(columns, class_names):
    """Groups of each class, sorted, at least two, and the names that all have in files.

    `columns` are of texts (n,), one for each class; missing values belong to no group and are
    passed over. The names, in the order of the columns of `Z`, are the groups themselves when there
    is one class, ``{class}={group}`` when there are several.
    """
    names = []
    for column, class_name in zip(columns, class_names, strict=True):
        values = np.asarray(column, dtype=object)
        groups = sorted({str(value) for value in values[~_missing(values)]})
        if len(groups) < 2:
            raise CounterweightError(
                f"Column {class_name!r} has {len(groups)} group ({listed(groups)}), and balancing "
                "needs at least two: choose another sensitive column."
                if groups
                else f"Column {class_name!r} holds no group at all in {len(values)} rows: choose "
                "another sensitive column."
            )
        names.append(groups)
    if len(names) == 1:
        return names, list(names[0])
    return names, [
        f"{class_name}={name}"
        for class_name, block in zip(class_names, names, strict=True)
        for name in block
    ]


def memberships(columns, names):
    """Membership matrix (n, K) of the rows: one 1 in each class's block of columns.

    `columns` and `names` are as in `group_names`. Raises when a value is missing or is none of the
    names, or columns differ in length.
    """
    blocks, lengths = [], [len(column) for column in columns]
    if len(set(lengths)) > 1:
        raise CounterweightError(
            f"The sensitive columns have {listed(lengths)} rows: give one value of each for each "
            "row."
        )
    for i, (column, known) in enumerate(zip(columns, names, strict=True)):
        values = np.asarray(column, dtype=object)
        text = np.where(_missing(values), "", values).astype(str)
        block = (text[:, None] == np.array(known, dtype=str)).astype(float)
        strange = np.flatnonzero((block.sum(axis=1) != 1) | _missing(values))
        if len(strange):
            raise CounterweightError(
                f"Sensitive column {i + 1} holds no known group in {len(strange)} of {len(text)} "
                f"rows (first: row {strange[0]}, {values[strange[0]]!r}); known are "
                f"{listed(known)}. Correct the column or leave those rows out."
            )
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def _missing(values):
    # NaN is the only value that differs from itself; pandas' NA answers with NA instead.
    return np.array(
        [value is None or str(value) == "<NA>" or value != value for value in values], dtype=bool
    )


def uniform_target(classes):
    """The same share for each group of a class: 1/k_c in the block of class c, (K,)."""
    return np.concatenate([np.full(k, 1.0 / k) for k in classes])


def checked_target(target, classes, name="target"):
    """A target (K,) as an array, uniform where it is None.

    Raises when it is not numbers, has another number of entries, an entry is negative or not
    finite, or a class's block does not sum to 1. `name` is what it is, for the message.
    """
    if target is None:
        return uniform_target(classes)
    try:
        U = np.asarray(target, dtype=float)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {name} {target!r} is no list of numbers: give one share for each group, in the "
            "order of the groups' names."
        ) from error
    if U.shape != (sum(classes),):
        raise CounterweightError(
            f"The {name} has {U.size} entries for {sum(classes)} groups: give one share for "
            "each group, in the order of the groups' names."
        )
    wrong = np.flatnonzero(~(np.isfinite(U) & (U >= 0)))
    if len(wrong):
        raise CounterweightError(
            f"The {name}'s entry {wrong[0] + 1} is {U[wrong[0]]:g}: a share is a number of at "
            "least 0."
        )
    for c, total in enumerate(np.add.reduceat(U, block_starts(classes))):
        if abs(total - 1) > TOLERANCE:
            of = f" of class {c + 1}" if len(classes) > 1 else ""
            raise CounterweightError(
                f"The {name}'s shares{of} sum to {total:g}, not 1: it must be a distribution."
            )
    return U


def block_starts(classes):
    """First column of each class in `Z`."""
    return np.concatenate([[0], np.cumsum(classes)[:-1]]).astype(int)


def checked_memberships(Z, classes):
    """Check a membership matrix of training rows and return it as float64.

    Raises when its columns are not those of `classes`, there is no row, a class has one group only,
    a row has not exactly one group of each class, or a group has no row.
    """
    try:
        Z, classes = np.asarray(Z, dtype=float), [int(k) for k in classes]
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The memberships must be numbers and classes a list of numbers of groups: {error}."
        ) from error
    if Z.ndim != 2 or not classes or Z.shape[1] != sum(classes):
        raise CounterweightError(
            f"The memberships are of shape {Z.shape}, and the classes have {sum(classes)} groups."
        )
    if not len(Z):
        raise CounterweightError("There is no training row: nothing can be balanced.")
    for c, k in enumerate(classes):
        if k < 2:
            raise CounterweightError(
                f"Class {c + 1} has {k} group, and balancing needs at least two: choose another "
                "sensitive column."
            )
    row = np.flatnonzero(~((Z == 0) | (Z == 1)).all(axis=1))
    if len(row):
        raise CounterweightError(
            f"{len(row)} rows have a membership other than 0 or 1 (first: row {row[0]})."
        )
    sums = np.add.reduceat(Z, block_starts(classes), axis=1)
    row = np.flatnonzero((sums != 1).any(axis=1))
    if len(row):
        raise CounterweightError(
            f"{len(row)} rows do not have exactly one group in each class (first: row {row[0]})."
        )
    empty = np.flatnonzero(Z.sum(axis=0) == 0)
    if len(empty):
        raise CounterweightError(
            f"{len(empty)} of {Z.shape[1]} groups have no training row (first: group "
            f"{empty[0] + 1}): leave them out, or take more rows."
        )
    return Z


def leaf_table(memberships, Z):
    """Mass (L,) of each leaf, a share of the rows, and the groups' shares (L, K) in it.

    `memberships` (n, L) are probabilities of each leaf for each row; rows sum to 1. Shares of a
    leaf without mass are those of all rows.
    """
    memberships = np.asarray(memberships, dtype=float)
    Z = np.asarray(Z, dtype=float)
    weight = memberships.sum(axis=0)
    counts = memberships.T @ Z
    held = weight > 0
    A = np.where(held[:, None], counts / np.where(held, weight, 1)[:, None], Z.mean(axis=0))
    return weight / len(Z), A


def disclosivity(mass, A, r):
    """max |A_jk - r_k| over the leaves of positive mass (Definition 4 of the paper)."""
    held = np.asarray(mass) > 0
    if not held.any():
        return 0.0
    return float(np.abs(np.asarray(A)[held] - r).max())


def imbalance(distribution, target):
    """Euclidean distance of a distribution over groups from its target."""
    return float(np.linalg.norm(np.asarray(distribution) - target))


def target_shares(target, groups, sizes):
    """The target distribution (K,) in the order of the groups; uniform where it is None.

    Else it is the share by name of group, 0 where a group is left out. `sizes` are the numbers of
    groups of each class; shares are a distribution within each, or it raises.
    """
    if target is None:
        return checked_target(None, sizes)
    if not isinstance(target, Mapping):
        raise CounterweightError(
            f"The target is {target!r}: give the share of each group by its name "
            f"({listed(groups)})."
        )
    # A config may write groups that are numbers as numbers.
    target = {str(name): share for name, share in target.items()}
    strange = [name for name in target if name not in groups]
    if strange:
        raise CounterweightError(
            f"The target names {listed(strange)}, and the groups are {listed(groups, 30)}: write "
            "them as they stand in the data."
        )
    return checked_target([target.get(name, 0.0) for name in groups], sizes)
