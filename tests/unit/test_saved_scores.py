"""The final model of a table with blanks: saved, loaded, used on new rows in any order and batch."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.files.tables import write_table
from counterweight.kinds import blanks
from counterweight.labeling.own import prepare
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.stages import Stages

from unit.own_run import run_all


def people(rows, seed, number=False):
    """A table of people; outcomes of some are blank, at random given the columns."""
    rng = np.random.default_rng(seed)
    age, city = rng.normal(40, 10, rows), rng.choice(["Bonn", "Köln", "Trier"], rows)
    risk = (age - 40) / 10 + (city == "Bonn")
    y = risk + rng.normal(0, 1, rows) if number else (rng.random(rows) < 1 / (1 + np.exp(-risk)))
    frame = pd.DataFrame(
        {
            "who": [f"00{k}" for k in rng.permutation(rows)],
            "age": np.where(rng.random(rows) < 0.1, np.nan, age.round(2)),
            "city": city,
            "member": np.where(rng.random(rows) < 0.5, "yes", "no"),
            "since": (pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, rows), "D")),
            "y": np.round(y.astype(float), 3),
        }
    )
    frame["since"] = frame["since"].dt.strftime("%d.%m.%Y")
    seen = rng.random(rows) < 1 / (1 + np.exp(risk - 0.5))
    return frame.assign(y=frame["y"].where(seen))
