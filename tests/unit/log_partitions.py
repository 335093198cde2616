"""A log that is a folder: its plan, its jobs, and its partitions as files."""

import logging
from types import SimpleNamespace

import numpy as np
import pandas as pd
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.jobs import StudyPaths
from counterweight.tasks import logs as kind
from own_logs import ENTRY
from own_logs import Paths as Files


def planned(folder, **entry):
    """The plan of a log that is a folder, with its study and paths."""
    study = kind.own_study(ENTRY | {"by_partition": True} | entry)
    study.pop("roles")
    config = {
        "seed": 1,
        "data_source": "download",
        "results": str(folder / "results"),
        "data": str(folder / "data"),
        "repeats": 1,
        "test_share": 0.3,
        "datasets": {"mine": {"path": str(folder / "log"), "roles": {"reward": "clicked"}}},
        "studies": {"mine": {"dataset": "mine", "family": "studies"} | study},
    }
    plan = resolve(config)
    return plan, plan["studies"]["mine"], StudyPaths(str(folder / "results/mine"), "", [])


def run(job, **outputs):
    running = SimpleNamespace(
        input=Files(job.inputs),
        output=Files(outputs or job.outputs),
        given=job.given,
        threads=1,
        log=logging.getLogger("counterweight"),
    )
    function = components.reference(job.run)
    with components.only(job.uses, job.modules):
        return function(running)


def through(folder, **entry):
    """All stages of a log in partitions; its tables and the metrics of its policies."""
    plan, study, at = planned(folder, **entry)
    for part in kind.parts(plan, study):
        run(kind.plan_sum(plan, study, part, at), sums=at.sums(part))
    files = {name: getattr(at, name) for name in ("features", "labels", "truth")}
    sizes = run(kind.plan_label(plan, study, at), **files)
    told = {name: run(kind.plan_evaluate(plan, study, name, at)) for name in study["methods"]}
    job = kind.plan_deliver(plan, study, at)
    run(job)
    return {
        name: pd.read_parquet(job.outputs[f"{name}_parquet"]) for name in ("values", "comparisons")
    }, sizes, told, job.outputs["model"]  # fmt: skip


def written(folder, frame, parts, form="parquet"):
    """Partitions of about equal size."""
    (folder / "log").mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        path = folder / "log" / f"part-{number}.{form}"
        if form == "csv":
            frame.iloc[rows].to_csv(path, index=False)
        else:
            frame.iloc[rows].to_parquet(path)
