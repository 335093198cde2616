"""What download and prepare are told of each source of data, and what they make."""

import logging
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets import sources
from counterweight.datasets.adult import Adult
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared
from counterweight.tables.parquet import sha256

PATHS = SimpleNamespace(
    raw=lambda name: [f"raw/{name}/a"],
    known=lambda name: f"known/{name}",
    prepared=lambda name: f"prepared/{name}.parquet",
)


def jobs(source, **settings):
    """What download and prepare of a data set from a source are."""
    plan = {"seed": 3, "datasets": {"adult": {"source": source, "rows": 50} | settings}}
    paths = SimpleNamespace(**vars(PATHS), source=lambda name: source)
    return sources.download_job("adult", plan, paths), sources.prepare_job("adult", plan, paths)


def job(given, **places):
    return SimpleNamespace(
        given={"dataset": "adult"} | given, log=logging.getLogger("counterweight"), **places
    )


def test_files_are_fetched_and_held_to_their_digests():
    fetched, prepared = jobs("download", files={"adult.data": "0" * 64})
    assert fetched.run.endswith(":fetch") and fetched.outputs == {"files": ["raw/adult/a"]}
    assert fetched.given["files"] == declared("dataset", "adult", "FILES")
    assert prepared.run.endswith(":prepare")
    assert prepared.given["digests"] == {"adult.data": "0" * 64}


def test_twins_are_drawn_and_have_no_digests():
    drawn, prepared = jobs("generated")
    assert drawn.run.endswith(":generate")
    assert drawn.given == {"dataset": "adult", "rows": 50, "seed": 3}
    assert drawn.outputs == {"files": ["raw/adult/a"], "truth": "known/adult"}
    assert prepared.given == {"dataset": "adult", "digests": {}}


def test_simulated_tables_have_a_truth_and_nothing_to_fetch():
    fetched, drawn = jobs("simulated")
    assert fetched is None and drawn.run.endswith(":simulate")
    assert drawn.outputs == {"table": "prepared/adult.parquet", "truth": "known/adult"}


def test_a_table_of_ones_own_is_told_its_columns_but_not_those_to_keep(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n")
    columns = {"keep": ["a"], "text": ["a"]}
    fetched, read = jobs("own", path=str(path), columns=columns, reading={"decimal": ","})
    assert fetched is None and read.run.endswith("own_table:prepare") and read.own == (str(path),)
    told = {"path": str(path), "reading": {"decimal": ","}, "columns": {"text": ["a"]}}
    assert read.given == {"dataset": "adult"} | told


def test_raw_files_are_read_only_with_their_digests(tmp_path, caplog):
    Adult.generate(tmp_path, 9, np.random.default_rng(0))
    files = SimpleNamespace(files=[f"{tmp_path}/adult.data"])
    output = SimpleNamespace(table=tmp_path / "t.parquet")
    right = {name: sha256(tmp_path / name) for name in ("adult.data", "adult.test")}
    with caplog.at_level(logging.INFO, "counterweight"):
        sources.prepare(job({"digests": right}, input=files, output=output))
    assert caplog.messages == ["adult: 9 rows, 17 columns"]
    assert len(pd.read_parquet(output.table)) == 9
    with pytest.raises(CounterweightError, match="adult.test has the SHA-256 digest .*, not"):
        wrong = right | {"adult.test": "0" * 64}
        sources.prepare(job({"digests": wrong}, input=files, output=output))
