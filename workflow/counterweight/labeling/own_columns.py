"""What becomes of the columns of a table of one's own, and what no feature of it may tell."""

import json

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.labeling.column_report import (
    check_roles,
    column_report,
    report_lines,
    report_table,
    roles_by_column,
)
from counterweight.labeling.column_statistics import level_counts
from counterweight.labeling.conditions import equal
from counterweight.labeling.labeling_rules import present
from counterweight.labeling.outcome_rules import accepts
from counterweight.labeling.outcome_rules import given as outcome_of
from counterweight.labeling.target_leakage import KEEP, Secret, learnt, of_offers
from counterweight.plan.components import columns_by_role
from counterweight.tables.parquet import read_arrow, read_facts, replacing, write_table
from counterweight.tables.table_reader import place_of


def tell_columns(job):
    """Decide what the columns of a typed table are, and write it down.

    The job is told ``roles``, ``keep`` and, for messages, ``path`` and ``reading``. Of roles, those
    that are a column or a list of columns are passed on; ``outcome``, ``answer`` and ``reward`` may
    have ``positive``, ``outcome`` has ``kind``, too, and ``labeled`` has ``where``.
    """
    import pandas as pd
    import pyarrow as pa

    told, facts = job.given, read_facts(job.input.table)
    # Whole numbers stay whole where some are missing: in sentences, and in long ids.
    whole = {pa.int64(): pd.Int64Dtype()}
    frame = read_arrow(job.input.table).to_pandas(types_mapper=whole.get)
    types, made = facts["types"], facts["made"]
    roles = columns_by_role(told["roles"])
    _check_filled([name for name in made if name not in frame], roles, job)
    check_roles([name for name in frame.columns if name != "row"], roles_by_column(roles))
    _check_ids(frame, roles, told)
    report = column_report(
        frame,
        types,
        made,
        roles,
        secrets=secrets_of(frame, types, told["roles"]),
        doubts=facts["doubts"],
        explained=[one["column"] for one in told["roles"].values() if _explained(one)],
        keep=told["keep"],
    )
    for line in report_lines(report):
        job.log.info(line)
    columns = report_table(report)
    columns["form"] = [json.dumps(facts["forms"].get(fact.column, {})) for fact in report]
    write_table(job.output.columns, columns)
    with replacing(job.output.csv) as path:
        pd.DataFrame(columns).to_csv(path, index=False)


def _explained(role):
    """Whether the config says what the values of a column with a role mean."""
    return isinstance(role, dict) and {"positive", "missing"} & role.keys()


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


def _check_ids(frame, roles, told):
    """Refuse an id that stands twice: nobody could tell whose an answer is.

    A person of several rows may be told by the column of the id as ``group`` or ``user``; answers
    about a log are not by id.
    """
    name = roles.get("id")
    if not name or name in (roles.get("group"), roles.get("user")) or "reward" in roles:
        return
    again = frame[name].duplicated(keep=False) & frame[name].notna()
    if again.any():
        rows = np.flatnonzero(again)
        value = frame[name].iloc[rows[0]]
        first, second = np.flatnonzero(frame[name] == value)[:2]
        path, reading = told.get("path"), told.get("reading")
        places = [f"row {row} (counted from 0)" for row in (first, second)]
        if path:
            places = [place_of(path, int(row), reading) for row in (first, second)]
        raise CounterweightError(
            f"The id {name!r} is {str(value)!r} in {places[0]} and in {places[1]} ({len(rows)} "
            "rows share theirs with others): an id says who a row is. Leave out all rows of a "
            "person but one, or name the column as group, too, if a person has several."
        )


def secrets_of(frame, types, roles):
    """What no feature of a table may tell, by what its columns are: `roles` as a config has them.

    Outcomes, answers and rewards are told by whatever says them near-perfectly alone, and so are
    groups that a filter balances, since it is not to go by them. An offer, the groups and decisions
    that promises are about, and a logged action are only told by a copy: what they were made from
    is honest.
    """
    found = []
    specs = {
        role: told if isinstance(told, dict) else {"column": told} for role, told in roles.items()
    }
    if "outcome" in roles:
        outcome, _, _ = outcome_of(frame, types, **specs["outcome"])
        labeled = present(frame, types, outcome, **(roles.get("labeled") or {}))
        outcome = np.where(labeled, outcome, np.nan)
        found.append(learnt("outcome", outcome))
    if "answer" in roles:
        offer = _numbers(frame, types, roles["offer"])
        answer = accepts(frame, None, **{"blanks": "unanswered"} | specs["answer"])
        found += of_offers(answer.astype(float), offer)
    if "reward_model.by" in roles:
        found.append(learnt("reward", _numbers(frame, types, **specs["reward"])))
    groups = [(name, False) for name in roles.get("balance") or ()]
    groups += [(name, True) for name in roles.get("groups") or ()]
    for name, copies in groups:
        advice = "be a feature all the same" if copies else "be gone by all the same"
        values = _values(frame, types, name)
        if not copies and types[name] != "text":
            values = np.where(np.isnan(values), -1, np.unique(values, return_inverse=True)[1])
        found.append(Secret(f"group of {name}", values, f"{KEEP} to {advice}", copies=copies))
    for role, what in (("decision", "decision in use"), ("action", "logged action")):
        if roles.get(role) and (role == "decision" or "reward_model.by" in roles):
            values = _values(frame, types, roles[role])
            advice = f"{KEEP} to be a feature all the same"
            found.append(Secret(what, values, advice, copies=True))
    return found


def _values(frame, types, column):
    """A column as floats, or as codes of its texts."""
    if types[column] == "text":
        return level_counts(frame[column])[2]
    return frame[column].to_numpy(dtype=float, na_value=np.nan)


def _numbers(frame, types, column, positive=None, **_):
    """A column as numbers, 1 where it is `positive`; texts that nobody explained are not known."""
    if positive is not None:
        yes = equal(frame[column], positive, text=types[column] == "text").astype(float)
        return np.where(frame[column].isna(), np.nan, yes)
    if types[column] == "text":
        return np.full(len(frame), np.nan)  # where rows are labeled, this is told
    return _values(frame, types, column)
