"""Logs of one's own whose policies' values are known, and the stages run on them."""

import logging
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.jobs import StudyPaths
from counterweight.plan.tasks import module_of
from counterweight.tables.parquet import METRICS, metrics_table, write_table
from counterweight.tasks import logs as kind

LOGGING = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
NEW = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.2, 0.6, 0.2]])
CHANCE = np.array([[0.02, 0.05, 0.1], [0.1, 0.02, 0.04], [0.03, 0.08, 0.02]])
BEST = CHANCE.argmax(axis=1)
ACTIONS = np.array(["left", "middle", "right"])
#: What the policies are worth, by name; "" is the one that made the log.
TRUTH = {
    "": (LOGGING * CHANCE).sum(axis=1).mean(),
    "new": (NEW * CHANCE).sum(axis=1).mean(),
    "best": CHANCE.max(axis=1).mean(),
}
ENTRY = {
    "reward": "clicked",
    "propensity": "p_logged",
    "policies": {"new": "p_new", "best": {"column": "best", "action": "shown"}},
}


def a_log(rows, rng, keep_rate=1.0, users=0, chance=CHANCE):
    """A log as people have them; with users, rows of a user share their context and luck."""
    if users:
        user = np.sort(rng.integers(users, size=rows))
        context = rng.integers(3, size=users)[user]
        luck = rng.gamma(1.0, 1.0, size=users)[user]
    else:
        user, context, luck = np.arange(rows), rng.integers(3, size=rows), 1.0
    action = (rng.random(rows)[:, None] > LOGGING[context].cumsum(axis=1)).sum(axis=1)
    clicked = (rng.random(rows) < np.minimum(chance[context, action] * luck, 1)).astype(int)
    frame = pd.DataFrame(
        {
            "user": [f"u{number}" for number in user] if users else user,
            "shown": ACTIONS[action],
            "p_logged": LOGGING[context, action],
            "clicked": clicked,
            "p_new": NEW[context, action],
            "best": ACTIONS[BEST[context]],
        }
    )
    kept = (clicked == 1) | (rng.random(rows) < keep_rate)
    return frame[kept].reset_index(drop=True)


def planned(entry, score=None, evaluation=None, folder="", of=kind, dataset=None):
    """The plan of a study of a log, and the study; `evaluation` are options of its protocol.

    `of` is the task, `dataset` the log where it is no file of its own.
    """
    study = of.own_study(entry)
    study.pop("roles")
    log = (dataset or {"path": "log.csv"}) | {k: study.pop(k) for k in ("alike",) if k in study}
    study["evaluation"] |= evaluation or {}
    config = {
        "seed": 1,
        "data_source": "download",
        "results": str(Path(folder, "results")),
        "data": str(Path(folder, "data")),
        "repeats": 1,
        "test_share": 0.3,
        "datasets": {"own_table": log},
        "studies": {"mine": {"dataset": "own_table", "family": "studies"} | study},
    }
    plan = resolve(config)
    plan["studies"]["mine"]["score"] = score
    return plan, plan["studies"]["mine"]


def planned_folder(folder, entry, of=kind):
    """The plan of a log that is a folder, with its study and paths."""
    log = {"path": str(folder / "log"), "roles": {"reward": entry["reward"]}}
    plan, study = planned(entry, folder=folder, of=of, dataset=log)
    return plan, study, StudyPaths(str(folder / "results/mine"), "", [])


def write_folder(folder, frame, parts, form="parquet", name="part-{}"):
    """Write a log as a folder of partitions of about equal size."""
    (folder / "log").mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        path = folder / "log" / f"{name.format(number)}.{form}"
        part = frame.iloc[rows]
        part.to_csv(path, index=False) if form == "csv" else part.to_parquet(path)


class Paths(dict):
    """Files of a job, by attribute."""

    __getattr__ = dict.__getitem__


def run_job(job, **outputs):
    """Run a job as its stage does, without Snakemake."""
    running = SimpleNamespace(
        input=Paths(job.inputs),
        output=Paths(outputs or job.outputs),
        given=job.given,
        threads=1,
        log=logging.getLogger("counterweight"),
    )
    function = components.reference(job.run)
    with components.only(job.uses, job.modules):
        return function(running)


def run_folder(plan, study, at, of=kind):
    """Sum and merge the partitions of a log; give the metric records of its sizes."""
    for part in of.parts(plan, study):
        run_job(of.plan_sum(plan, study, part, at), sums=at.sums(part))
    files = {name: getattr(at, name) for name in ("features", "labels", "truth")}
    return run_job(of.plan_label(plan, study, at), **files)


def through(folder, **entry):
    """All stages of a log in partitions; its tables and the metrics of its policies."""
    plan, study, at = planned_folder(folder, ENTRY | {"by_partition": True} | entry)
    sizes = run_folder(plan, study, at)
    told = {name: run_job(kind.plan_evaluate(plan, study, name, at)) for name in study["methods"]}
    job = kind.plan_deliver(plan, study, at)
    run_job(job)
    return {
        name: pd.read_parquet(job.outputs[f"{name}_parquet"]) for name in ("values", "comparisons")
    }, sizes, told, job.outputs["model"]  # fmt: skip


def run_study(folder, frame, entry=ENTRY, score=None, evaluation=None):
    """Run label to deliver (and apply) of a log; metrics as a frame, tables by name."""
    folder.mkdir(parents=True, exist_ok=True)
    plan, study = planned(entry, score, evaluation)
    at = StudyPaths(str(folder), str(folder / "table.parquet"), [])
    table = frame.assign(row=np.arange(len(frame), dtype="int32"))
    write_table(at.table, table[["row", *frame.columns]])
    of = module_of(study)
    job = of.plan_label(plan, study, at)
    made = {"features": at.features, "labels": at.labels, "truth": at.truth}
    measured = metrics_table("mine", "labels", run_job(job, **made))
    write_table(at.metrics("labels"), measured, METRICS)
    metrics = [measured.to_pandas()]
    for method in study["methods"]:
        job = of.plan_train(plan, study, method, at)
        run_job(job, model=at.model(method), predictions=at.predictions(method))
        job = of.plan_evaluate(plan, study, method, at)
        metrics.append(metrics_table("mine", method, run_job(job)).to_pandas())
    run_job(of.plan_deliver(plan, study, at))
    if score:
        run_job(of.plan_apply(plan, study, at))
    tables = {path.stem: pd.read_parquet(path) for path in folder.glob("*values.parquet")}
    tables |= {path.stem: pd.read_parquet(path) for path in folder.glob("*comparisons.parquet")}
    return pd.concat(metrics)[[name for name, _ in METRICS]], tables
