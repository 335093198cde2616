"""Columns of a table: checks that rules and recipes share, and what a column report says."""

import json

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.plan.components import columns_by_role
from counterweight.tables.parquet import read_table

#: Users are put into so many clusters by a hash of their name. Clusters of several users are as
#: independent as users are, so errors of sums stay right, and memory has a bound.
CLUSTERS = 1 << 16


def require(frame, columns, what):
    """Refuse a table that lacks columns, which `what` needs, e.g. ``"features recipe one_hot"``."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise CounterweightError(
            f"The {what} needs the column {listed(missing)}; the data set has "
            f"{listed(frame.columns)}: choose another rule for this data set."
        )


def matches(frame, values):
    """Which rows have all of the values, by column; a missing value matches none."""
    wanted = np.ones(len(frame), bool)
    for column, value in values.items():
        wanted &= (frame[column] == value).fillna(False).to_numpy(bool)
    return wanted


def floats(frame, column, what):
    """A column as floats, NaN where it is missing."""
    require(frame, [column], what)
    try:
        return frame[column].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise CounterweightError(
            f"The {what} needs numbers in the column {column!r}, which holds text: choose another "
            "column or number its values."
        ) from error


def numbers(frame, column, what):
    """A column as finite numbers."""
    values = floats(frame, column, what)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise CounterweightError(
            f"The {what} needs the column {column} in every row; it is missing or infinite in "
            f"{len(bad)} rows (first: row {bad[0]}): fill it or leave those rows out."
        )
    return values


def check_finite(features):
    """Refuse features that are missing or infinite in some row; `row` is the row's id."""
    for name in features.columns.drop("row"):
        bad = ~np.isfinite(features[name].to_numpy(dtype=float))
        if bad.any():
            raise CounterweightError(
                f"Feature {name!r} is not a finite number in {int(bad.sum())} of {len(bad)} rows "
                f"looked at (first: row {features['row'].to_numpy()[bad][0]}): correct the data or "
                "leave the feature out."
            )


def free_name(name, taken):
    """A name with as many ``_`` behind it as make it none of those taken."""
    while name in taken:
        name += "_"
    return name


def refuse_outside(values, low, high, *, rows, counted=True, name, where):
    """Refuse numbers (n,) that are missing, infinite, or outside their range, ends included.

    `rows` has the id of each; `counted` masks those that are looked at, all by default. `name` says
    what the numbers are and their column, e.g. ``"offer 'price'"``, and `where` which part of a
    study declares the range, e.g. ``"labeling"``.
    """
    counted = np.broadcast_to(counted, len(values))
    for wrong, what, remedy in (
        (~np.isfinite(values), "is missing or infinite", "fill in or leave out those rows"),
        (
            (values < low) | (values > high),
            f"is outside the declared range from {low:g} to {high:g}",
            f"correct those rows, or {where}.low and {where}.high",
        ),
    ):
        wrong = wrong & counted
        if wrong.any():
            first = int(np.argmax(wrong))
            raise CounterweightError(
                f"The {name} {what} in {int(wrong.sum())} of {int(counted.sum())} rows looked at "
                f"(first: {values[first]:g} in row {rows[first]}): {remedy}."
            )


def clusters(users):
    """Cluster of each user, by a hash: the same in any order and batch; -2 where it is missing."""
    import pandas as pd

    missing = users.isna().to_numpy()
    # Whole numbers become floats where a batch has missing ones, so all numbers are.
    number = users.dtype.kind in "biuf"
    values = users.to_numpy(dtype=float) if number else users.astype(object).to_numpy()
    hashed = pd.util.hash_array(values) % CLUSTERS
    return np.where(missing, -2, hashed.astype("int32")).astype("int32")


def roles_by_column(roles):
    """Role by column, of columns by role; where a column has two, its first."""
    role_of = {}
    for role, names in roles.items():
        for name in [names] if isinstance(names, str) else names or ():
            role_of.setdefault(name, role)
    return role_of


def recorded_columns(job):
    """The column report of a labeling job; refused where it was made for other ``roles``."""
    columns = read_table(job.input.columns)
    own = roles_by_column(columns_by_role(job.given.get("roles") or {}))
    for name, role in zip(columns["column"], columns["role"], strict=True):
        if role != own.get(name, ""):
            raise CounterweightError(
                f"{job.input.columns} was made for another question: there the column {name!r} "
                f"{f'is {role}' if role else 'has no role'}, here it "
                f"{f'is {own[name]}' if name in own else 'has none'}: delete that file and run "
                "again."
            )
    return columns


def types_of(columns):
    """Type of each column, by a column report as it was read back."""
    return dict(zip(columns["column"], columns["type"], strict=True))


def forms_of(columns):
    """How the texts of each column were read, by a column report as it was read back."""
    forms = zip(columns["column"], columns["form"], strict=True)
    return {name: json.loads(form) for name, form in forms if form != "{}"}


def features_of(columns):
    """Columns that are features, by a column report as it was read back."""
    return [
        name
        for name, use in zip(columns["column"], columns["use"], strict=True)
        if use == "feature"
    ]
