"""Runs the jobs of one study of a table of one's own, without Snakemake."""

import contextlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.answers import OUTPUTS
from counterweight.models import boosting
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.stages import Stages
from counterweight.tables.jobs import log
from counterweight.tables.parquet import METRICS, metrics_table, write_table

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@contextlib.contextmanager
def few_sizes():
    """Boosting chooses among few small sizes, where nothing is asked of how good it is.

    All methods are fitted, compared and combined as always: only most of the time is saved.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boosting, "SIZES", (10, 20, 40))
        patch.setattr(boosting, "FEW_LEAVES", (4,))
        yield


class Own:
    """A study over a table of one's own in a folder; its table is prepared.

    Parameters
    ----------
    folder : Path
    frame : pandas.DataFrame
    entry : dict
        What a config says of the table, ``study`` for what the study is to be otherwise.
    """

    def __init__(self, folder, frame, entry):
        frame.to_csv(folder / "own.csv", index=False)
        given = {
            "results": str(folder / "results"),
            "data": str(folder / "data"),
            "seed": 7,
            "filter_key": str(folder / "filter.key"),
            "table": str(folder / "own.csv"),
            "name": "mine",
        }
        self.plan = resolve(with_own_tables(given | entry, {}))
        self.study = self.plan["studies"]["mine"]
        self.at = Stages(self.plan, SCRIPTS).paths.study("mine")
        self.run("prepare")
        self.run("columns")

    def run(self, stage, item=""):
        """Run a job as its script would; give its files by role, or what it measured."""
        job = Stages(self.plan, SCRIPTS).job(stage, "mine", item)
        assert job is not None, stage
        outputs = dict(job.outputs)
        for role, name in OUTPUTS.get(stage, {}).items():
            path = getattr(self.at, name)
            outputs[role] = path(item) if callable(path) else path
        running = SimpleNamespace(
            input=SimpleNamespace(**job.inputs),
            output=SimpleNamespace(**outputs),
            given=job.given,
            threads=1,
            log=log,
        )
        function = components.reference(job.run)
        with components.only(job.uses, job.modules):
            made = function(running)
        if stage == "evaluate":
            return made
        if stage == "label":
            write_table(self.at.metrics("labels"), metrics_table("mine", "labels", made), METRICS)
        return {role: Path(path) for role, path in outputs.items()}


def people(rows, seed, number=False):
    """A table of people; outcomes of some are blank, at random given the columns."""
    rng = np.random.default_rng(seed)
    age, city = rng.normal(40, 10, rows), rng.choice(["Bonn", "Köln", "Trier"], rows)
    risk = (age - 40) / 10 + (city == "Bonn")
    y = risk + rng.normal(0, 1, rows) if number else rng.random(rows) < 1 / (1 + np.exp(-risk))
    since = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), unit="D")
    seen = rng.random(rows) < 1 / (1 + np.exp(risk - 0.5))
    return pd.DataFrame(
        {
            "who": [f"00{k}" for k in rng.permutation(rows)],
            "age": np.where(rng.random(rows) < 0.1, np.nan, age.round(2)),
            "city": city,
            "member": np.where(rng.random(rows) < 0.5, "yes", "no"),
            "since": since.strftime("%d.%m.%Y"),
            "y": np.where(seen, np.round(y.astype(float), 3), np.nan),
        }
    )


def delivered(folder, frame, **entry):
    """A study over such a table, run up to what it delivers."""
    own = Own(folder, frame, {"id": "who", "outcome": "y"} | entry)
    own.run("label")
    for stage, items in (
        ("select", own.study["selectors"]),
        ("weigh", own.study["weightings"]),
        ("train", own.study["methods"]),
    ):
        for item in items:
            own.run(stage, item)
    return own, own.run("deliver")
