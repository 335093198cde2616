"""Labels that are bought by design, of a table with blank outcomes: which next, and what they say.

The keys `collect` and `collected` of tables of one's own, for `tasks.missing_outcomes`.
"""

from dataclasses import replace

from counterweight.errors import CounterweightError
from counterweight.plan.jobs import Job

_HERE = "counterweight.tasks.bought_labels"
#: What is asked of a plan where it is not said.
DEFAULTS = {"budget": None, "half_width": None, "cost": None, "by": None}
DEFAULTS |= {"for": "mean", "floor": None, "batches": 1}
#: Keys of a table that labels bought by design take no account of, and why.
UNFIT = {
    "tilt": "bought labels tell how rows without an outcome differ",
    "weight": "chances go by rows, each of which counts once",
    "group": "chances go by single rows",
    "weights": "the answer goes by the chances of the bought labels",
}


def own_collection(entry, roles):
    """Keys of a study of a table's ``collect`` and ``collected``, with the figures that lead it.

    What a label costs becomes a role in `roles`.
    """
    collect, collected = entry.get("collect"), entry.get("collected")
    if collect is None and collected is None:
        return {"figures": ["gamma"]}
    key = "collect" if collect is not None else "collected"
    if "id" not in entry:
        raise CounterweightError(
            f"{key} needs the key id: by it a row is drawn, and its label is known again when it "
            "comes back."
        )
    for other, why in UNFIT.items():
        if entry.get(other) is not None:
            raise CounterweightError(
                f"{key} and {other} stand together, and {why}: leave one of the two out."
            )
    if collected is not None and entry.get("rehearse") is not None:
        raise CounterweightError(
            "collected and rehearse stand together, and a rehearsal tries the answer that goes "
            "without bought labels: leave one of the two out."
        )
    if isinstance(entry.get("target"), dict):
        raise CounterweightError(
            f"{key} buys labels of rows of the table, and target names other people: leave one of "
            "the two out."
        )
    if collect is not None:
        _check(collect, entry)
        if "cost" in collect:
            roles["collect.cost"] = collect["cost"]
    figures = ["collect"] * (collect is not None) + ["gamma"] * (collected is None)
    return {"collect": collect, "collected": collected, "figures": figures}


def _check(collect, entry):
    """Refuse what a plan is asked for where it does not fit together, or not the table."""
    if len(collect.keys() & {"budget", "half_width"}) != 1:
        raise CounterweightError(
            "collect says how much to buy, by budget (how many labels, or what they may cost) or "
            "by half_width (of the interval that is wanted): give one of the two."
        )
    told = DEFAULTS | collect
    outcome = entry["outcome"] if isinstance(entry["outcome"], dict) else {}
    if outcome.get("kind") == "number" and told["for"] != "mean":
        raise CounterweightError(
            f"collect.for is {told['for']}, which is of a class, and outcome.kind is number: leave "
            "collect.for out."
        )
    if told["for"] != "mean" and (told["by"] or told["half_width"]):
        other = "by" if told["by"] else "half_width"
        raise CounterweightError(
            f"collect.for is {told['for']}, and collect.{other} is of the mean: leave one of the "
            "two out."
        )
    column = entry["outcome"] if isinstance(entry["outcome"], str) else outcome.get("column")
    for key in ("cost", "by"):
        if told[key] in (column, entry.get("id")):
            raise CounterweightError(
                f"collect.{key} is {told[key]!r}, which is the outcome or the id: name another "
                "column."
            )
        if told[key] in ((entry.get("columns") or {}).get("ignore") or ()):
            raise CounterweightError(
                f"collect.{key} is {told[key]!r}, which columns.ignore names: keep one of the two."
            )


def plan_collection(plan, study, at, inputs, given, uses):
    """The job of which labels to buy next, beside the files and settings of what is delivered."""
    dataset = plan["datasets"][study["dataset"]]
    collected = study["collected"] or []
    inputs = inputs | {"collected": collected}
    told = {
        "collect": DEFAULTS | study["collect"],
        "id": dataset["roles"]["id"],
        "key": plan["filter_key"],
    }
    told["reading"] = dataset.get("reading", {})
    outputs = {
        "metrics": at.metrics("collect"),
        "csv": f"{at.folder}/collect.csv",
        "plan": f"{at.folder}/plan.parquet",
    }
    own = (collected,) if collected else ()
    run, key = f"{_HERE}:collect", plan["filter_key"]
    return Job(run, inputs, given | told, uses, outputs, own=own, key=key)


def collect(job):
    """Write which labels to buy, with the chances of all rows, and what they will tell."""
    from counterweight.delivery.collecting import planned_labels
    from counterweight.tables.parquet import METRICS, metrics_table, write_table
    from counterweight.tables.saved_form import write_csv

    rows, plan, records = planned_labels(job)
    write_csv(job.output.csv, rows)
    write_table(job.output.plan, plan)
    table = metrics_table(job.given["study"], "collect", records)
    write_table(job.output.metrics, table, METRICS)


def with_collected(plan, study, at, job):
    """The job of what is delivered where labels were bought: these have the last word."""
    dataset = plan["datasets"][study["dataset"]]
    inputs = job.inputs | {"collected": study["collected"], "plan": []}
    if study["collect"]:
        inputs["plan"] = f"{at.folder}/plan.parquet"
    asked = study["collect"] and DEFAULTS | study["collect"]
    given = job.given | {"collect": asked, "reading": dataset.get("reading", {})}
    modules = (*job.modules, "counterweight.models.score_tilt")
    own = (*job.own, study["collected"])
    run = f"{job.run}_collected"
    return replace(job, run=run, inputs=inputs, given=given, own=own, modules=modules)
