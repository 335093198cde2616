"""Studies of predictions that a log holds: AUC, losses and calibration, a job a partition.

Protocol: see `counterweight.tasks`. A job sorts the scores of each file, one merges them in the
place of labeling; a file that changed is sorted anew alone. A method is a column of predictions.
"""

import os
from pathlib import Path

from counterweight.errors import CounterweightError
from counterweight.labeling.logs import roles_of
from counterweight.plan import components
from counterweight.plan.jobs import Job, protocol_of
from counterweight.tasks.beside_answers import EVENTS, asked_plan, own_events, plan_collection
from counterweight.tasks.logs import (
    files_of_parts,
    id_of,
    identities,
    merged_sizes,
    part_job,
    part_of,
)
from counterweight.tasks.own_studies import checked_reward, kept_by, refuse_columns

WORDS = "studies of predictions that a log holds"
KEYS = frozenset({"collect", "collected"})
ROLES = ("reward", "predictions")
ASKS = "how good predictions of a log are"
TAKES = {"outcome": "log"}
#: What a table of one's own asks for in parts of a study, by the names that it has there.
CARRIED = {"models": {"predictions": ""}, "evaluation": {"top": "top"}}
PAGE = {
    "table": "counterweight.reporting.pages.selection_page:table",
    "page": "counterweight.reporting.pages.own_logs_page:PREDICTIONS",
}
#: Rows are read in batches: memory does not grow with them.
STREAMS = True
_HERE = "counterweight.tasks.prediction_logs"
#: What a file of merged sums says it is.
MERGED = "measures of predictions"


def complete(name, study, plan):
    study |= {"targets": ["general"], "test_share": 0.0, "repeats": 1}
    study["columns"] = ["auc", "log_loss", "brier", "squared_loss", "predicted_over_observed"]


def own_study(entry):
    """The study that a table of one's own asks for; see `counterweight.plan.own`."""
    refuse_columns(entry, "predictions that a log holds")
    reward, given = checked_reward(entry["reward"]), ("rows_before", "user", "weight")
    labeling = {"rule": "scored_log"} | kept_by(entry)
    labeling |= {key: entry[key] for key in given if key in entry}
    names = list(entry["predictions"])
    bought = own_events(entry)
    return {
        "features": {"recipe": "no_features"},
        "outcome": {"rule": "logged_reward"} | reward,
        "labeling": labeling,
        "figures": [*bought.pop("figures"), "predictions"],
        "evaluation": {"protocol": "score_metrics"}
        | ({"top": list(entry["top"])} if "top" in entry else {}),
        "models": [
            {"model": "given_predictions", "name": own, "label": str(name)}
            | {"column": entry["predictions"][name]}
            for name, own in zip(names, identities(names), strict=True)
        ],
        "roles": roles_of(reward, labeling)
        | {f"predictions {name}": entry["predictions"][name] for name in names},
    } | bought


def question_of(study):
    """What is asked of the log, as `ScoredLog` has it."""
    methods = study["methods"].values()
    return {
        "predictions": {one["label"]: one["options"]["column"] for one in methods},
        "outcome": study["outcome"]["options"],
        "labeling": study["labeling"]["options"],
    }


def parts(plan, study):
    """Files of the log by the names of their jobs; a log in one file is one partition."""
    path = plan["datasets"][study["dataset"]].get("path")
    if not path:
        raise CounterweightError(
            f"studies.{study['id']}: predictions are read from files, and the table is a query: "
            "export it to Parquet, and name the file or its folder."
        )
    return {"log": (path, {})} if not os.path.isdir(path) else files_of_parts(plan, study)


def _bought(study):
    """Whether labels of its events are bought by design."""
    return bool(study["collect"] or study["collected"])


def _asked(plan, study):
    """What is asked of events, and the settings by which labels of them are bought."""
    dataset = plan["datasets"][study["dataset"]]
    given = question_of(study) | {
        "top": study["evaluation"]["options"]["top"],
        "ids": {one["label"]: name for name, one in study["methods"].items()},
        "id": dataset["roles"]["id"],
        "reading": dataset.get("reading", {}),
        "collect": asked_plan(study, EVENTS),
    }
    return given


def plan_sum(plan, study, part, at):
    if _bought(study):
        question = question_of(study) | {"id": plan["datasets"][study["dataset"]]["roles"]["id"]}
        return part_job(f"{_HERE}:read_events", plan, study, parts(plan, study)[part], question)
    question = question_of(study) | {"id": id_of(plan, study)}
    return part_job(f"{_HERE}:sort", plan, study, parts(plan, study)[part], question)


def read_events(job):
    """Ids, rewards and predictions of one partition."""
    from counterweight.delivery.bought_file import write_events

    with part_of(job) as file:
        if not Path(file).exists():
            raise CounterweightError(f"{file} is not there: correct the path of the table.")
        rows = write_events(job.output.sums, file, job.given)
    job.log.info("%s: %d rows", file, rows)


def sort(job):
    """Sorted scores of one partition."""
    from counterweight.evaluation.scored_log import ScoredLog
    from counterweight.tables.parquet import read_facts

    with part_of(job) as file:
        if not Path(file).exists():
            raise CounterweightError(f"{file} is not there: correct the path of the table.")
        ScoredLog(job.given).sort(job.output.sums, file, job.given["reading"], job.given["keys"])
    job.log.info("%s: %d rows", file, read_facts(job.output.sums)["rows"])


def plan_label(plan, study, at):
    sums = {"sums": [at.sums(one) for one in parts(plan, study)]}
    if _bought(study):
        files = study["collected"] or []
        sums |= {"collected": files, "plan": []}
        if study["collect"] and files:
            sums["plan"] = f"{at.folder}/plan.parquet"
        own = (files,) if files else ()
        return Job(f"{_HERE}:measure_events", sums, _asked(plan, study), own=own)
    more = {"top": study["evaluation"]["options"]["top"], "id": id_of(plan, study)}
    return Job(f"{_HERE}:merge", sums, question_of(study) | more)


def merge(job):
    """Measures of all partitions together; metric records of their sizes."""
    from counterweight.evaluation.scored_log import ScoredLog
    from counterweight.tables.saved_form import write_saved

    files = job.input.sums
    merged = ScoredLog(job.given).merge([files] if isinstance(files, str) else list(files))
    write_saved(job.output.labels, MERGED, merged, {})
    _tell_columns(job, merged)
    told = {"rows_nonzero": merged["nonzero"], "clusters": float(merged["clusters"])}
    return merged_sizes(job, merged["rows"], told, merged["again"])


def measure_events(job):
    """Measures by labels bought, as of `merge`; metric records of what they rest on."""
    from counterweight.delivery.collected_answers import event_measures
    from counterweight.tables.saved_form import write_saved

    merged, rows, told = event_measures(job)
    write_saved(job.output.labels, MERGED, merged, {})
    _tell_columns(job, merged)
    return merged_sizes(job, rows, told)


def _tell_columns(job, merged):
    """Warn of predictions that are no chances, or left none to what came."""
    for name, one in merged["columns"].items():
        if one["outside"]:
            job.log.warning(
                "%d of the predictions %s are no chances (they lie between %.3g and %.3g): how "
                "they rank is judged, and their size is not.",
                *(one["outside"], name, one["least"], one["most"]),
            )
        if one["impossible"]:
            job.log.warning(
                "%d of the predictions %s are exactly 0 or 1 where the other came: their log loss "
                "is infinite.",
                *(one["impossible"], name),
            )


def plan_collect(plan, study, at):
    if not study["collect"]:
        return None
    inputs = {"sums": [at.sums(one) for one in parts(plan, study)]}
    run, given = "counterweight.tasks.beside_answers:collect_events", _asked(plan, study)
    return plan_collection(plan, study, at, inputs, given | {"study": study["id"]}, (), run)


def plan_train(plan, study, method, at):
    return None  # nothing is learned


def plan_evaluate(plan, study, method, at):
    ids = {one["label"]: name for name, one in study["methods"].items()}
    given, uses = protocol_of(study)
    given |= {"method": method, "ids": ids}
    return Job(f"{_HERE}:evaluate", {"labels": at.labels}, given, uses)


def evaluate(job):
    """Records of one column of predictions, compared with those before it."""
    from counterweight.tables.saved_form import read_saved

    given, ids = job.given, job.given["ids"]
    (name,) = (label for label, method in ids.items() if method == given["method"])
    protocol = components.configured("protocol", given["protocol"])
    return protocol(read_saved(job.input.labels).facts, name, ids)


def plan_deliver(plan, study, at):
    outputs = {
        f"{name}_{form}": f"{at.folder}/{name}.{form}"
        for name in ("measures", "comparisons")
        for form in ("parquet", "csv")
    }
    return Job(f"{_HERE}:deliver", {"labels": at.labels}, {}, (), outputs)


def deliver(job):
    """Tables of measures and comparisons."""
    import pandas as pd

    from counterweight.tables.parquet import write_table
    from counterweight.tables.saved_form import read_saved, write_csv

    merged, sizes = read_saved(job.input.labels).facts, ("rows", "nonzero")
    for name, lines in (("measures", "estimates"), ("comparisons", "differences")):
        keys = ["predictions", *(["other"] if lines == "differences" else []), "metric"]
        numbers, last = ["value", "standard_error", "low", "high"], []
        columns = {key: [one[key] for one in merged[lines]] for key in [*keys, *numbers]}
        if lines == "estimates":
            numbers = ["top", *numbers]
            columns |= {key: [one[key] for one in merged[lines]] for key in ("top", *sizes)}
            columns["impossible"] = [_impossible(merged, one) for one in merged[lines]]
            last = ["impossible"]
        else:
            columns |= {key: [merged[key]] * len(merged[lines]) for key in sizes}
        frame = pd.DataFrame(columns)[[*keys, *numbers, *sizes, *last]]
        frame = frame.astype(dict.fromkeys([*numbers, *last], float))
        layout = [(key, "string") for key in keys] + [(key, "float64") for key in numbers]
        layout += [(key, "int64") for key in sizes] + [(key, "float64") for key in last]
        write_table(getattr(job.output, f"{name}_parquet"), frame, layout)
        write_csv(getattr(job.output, f"{name}_csv"), frame)


def _impossible(merged, line):
    """Of a log loss: rows whose chance was 0 or 1 and of which the other came."""
    known = line["metric"] == "log_loss" and merged.get("columns", {}).get(line["predictions"])
    return known["impossible"] if known else None


def shown(study):
    # What its measures take for granted.
    return {"log": dict(study["labeling"]["options"])}
