"""The plan of which labels to buy next: its rows, their file, and what to expect of it."""

import numpy as np

from counterweight.delivery.collected_answers import CollectedAnswers, half_width
from counterweight.delivery.filter_keys import own_key
from counterweight.delivery.final_scores import Fitted
from counterweight.delivery.label_plans import PlannedRows, planned, rows_to_label
from counterweight.errors import CounterweightError
from counterweight.numerics.coins import canonical_ids
from counterweight.tables.parquet import read_table


def planned_labels(job):
    """Rows to label, the plan of all rows without an outcome, and records of what to expect."""
    given, collect = job.given, job.given["collect"]
    fit, frame = Fitted.of(job), read_table(job.input.table)
    blank = np.flatnonzero(~fit.data.labeled)
    if not len(blank):
        raise CounterweightError(
            "collect is for rows without an outcome, and there is none: leave collect out."
        )
    if collect["for"] != "mean" and not fit.data.binary:
        raise CounterweightError(
            f"collect.for is {collect['for']}, which is of a class, and the outcome is a number: "
            "leave collect.for out."
        )
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    people = frame.iloc[blank]
    shown = people[person].to_numpy()
    ids = canonical_ids(shown, column=person, people="table")
    rows = PlannedRows.of(fit.told[blank], fit.band, fit.data.binary, people, collect)
    plan, budget = planned(rows, ids, own_key(given["key"]), collect)
    plan.insert(1, "row", fit.data.rows[blank])
    known, expected = None, rows
    if job.input.collected:
        bought = CollectedAnswers(job, fit, frame, plan)
        # Labels that are there put right what is expected of more, and not whom to ask.
        expected = rows.after(bought)

        def known(at):
            return bought.file.texts(plan["row"].to_numpy()[at])

    to_label = rows_to_label(plan, shown, rows, person, outcome, known)
    job.log.info("%d of %d rows without an outcome are drawn", len(to_label), len(blank))
    place = {"repeat": 0, "target": "unlabeled", "rows": len(blank)}
    return to_label, plan, [place | one for one in _expected(plan, expected, budget, collect)]


def _expected(plan, rows, budget, collect):
    """Records of half-widths by budget and by group, and of what is drawn."""
    drawn, curves = plan["drawn"].to_numpy(), rows.curves(budget)
    made = [
        half_width("expected", value, rows.binary, part=f"{at:g}", variable=which)
        for at, *values in curves[["budget", "plan", "wrong", "plain"]].itertuples(index=False)
        for which, value in zip(("plan", "wrong", "plain"), values, strict=True)
        if np.isfinite(value)
    ]
    for name, count, value in rows.groups(drawn, plan["chance"].to_numpy()):
        made.append({"metric": "labels_planned", "part": name, "value": float(count)})
        if np.isfinite(value):
            made.append(half_width("planned", value, rows.binary, part=name))
    made.append({"metric": "labels_budget", "value": float(budget)})
    if collect["half_width"]:
        made.append({"metric": "budget_needed", "value": float(rows.enough(collect["half_width"]))})
    if collect["cost"]:
        made.append({"metric": "labels_cost", "value": float(rows.cost[drawn].sum())})
    return made
