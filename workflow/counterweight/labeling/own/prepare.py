"""Stage prepare of a table of one's own: read, typed, and what becomes of each column."""

import json
import os

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import read_table, replacing, write_table
from counterweight.labeling.outcomes.given import given as outcome_of
from counterweight.labeling.own.column_report import (
    check_roles,
    column_report,
    report_lines,
    report_table,
    roles_by_column,
)
from counterweight.labeling.rules.present import present
from counterweight.plan.own import columns_by_role


def prepare(job):
    """Read a table, decide what its columns are, and write both down.

    The job is told ``path`` or ``query``, ``reading``, ``columns`` and ``roles``. Of roles, those
    that are a column or a list of columns are passed on; ``outcome`` may have ``positive`` and
    ``kind``, ``labeled`` has ``where``.
    """
    import pandas as pd

    told = job.given
    table = _read(told, job)
    frame, types = table.frame, table.types
    job.log.info("%d rows, %d columns", len(frame), frame.shape[1] - 1)
    roles, outcome, labeled = columns_by_role(told["roles"]), None, None
    _check_filled([name for name in table.made if name not in frame], roles, job)
    check_roles([name for name in frame.columns if name != "row"], roles_by_column(roles))
    if "outcome" in roles:
        spec = told["roles"]["outcome"]
        spec = spec if isinstance(spec, dict) else {"column": spec}
        outcome, _, _ = outcome_of(frame, types, **spec)
        labeled = present(frame, types, outcome, **(told["roles"].get("labeled") or {}))
        outcome = np.where(labeled, outcome, np.nan)
    report = column_report(
        frame,
        types,
        table.made,
        roles,
        labeled=labeled,
        outcome=outcome,
        keep=told["columns"].get("keep", ()),
    )
    for line in report_lines(report):
        job.log.info(line)
    columns = report_table(report)
    columns["form"] = [json.dumps(table.forms.get(fact.column, {})) for fact in report]
    write_table(job.output.table, frame)
    write_table(job.output.columns, columns)
    with replacing(job.output.csv) as path:
        pd.DataFrame(columns).to_csv(path, index=False)


def _check_filled(empty, roles, job):
    """Say which columns are empty in every row; none of them can have a role."""
    for name in empty:
        job.log.info("%s is empty in every row: left out", name)
    for role, names in roles.items():
        for name in [names] if isinstance(names, str) else names:
            if name in empty:
                raise CounterweightError(
                    f"{role} names {name!r}, a column that is empty in every row: put its values "
                    "there, or name another column."
                )


def _read(told, job):
    """The table of a file, of a folder or of a query, typed."""
    from counterweight.datasets.own_table import read_typed

    columns = {key: names for key, names in told["columns"].items() if key != "keep"}
    if "query" in told:
        from counterweight.datasets.queries import read_query

        path = f"{job.output.table}.query.parquet"
        read_query(told["query"]["sql"], told["query"]["url"], path)
        try:
            return read_typed(path, columns=columns, reading=told["reading"])
        finally:
            os.unlink(path)
    return read_typed(told["path"], columns=columns, reading=told["reading"])


def recorded_columns(job):
    """The column report of a labeling job; refused where it was made for other roles.

    Parameters
    ----------
    job : counterweight.files.jobs.Running
        With ``input.columns``, and ``roles`` among what it is told.

    Raises
    ------
    CounterweightError
        When a column has another role there than the study gives it: what another question was
        answered with could be a feature, the outcome of this one among them.
    """
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
