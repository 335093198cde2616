"""What several unit tests look at: a made-up plan and its metrics."""

import json

import pytest
import report_example as example
import yaml
from counterweight.plan import reading
from counterweight.plan.own import TABLES, tables_to_keep


@pytest.fixture(scope="module")
def plan():
    return example.plan()


@pytest.fixture(scope="module")
def metrics(plan):
    return example.metrics(plan)


@pytest.fixture
def surveys(tmp_path, monkeypatch):
    """Two tables of one name in folders of years, and a function that plans a run of a config."""
    monkeypatch.chdir(tmp_path)
    for year in ("2023", "2024"):
        (tmp_path / year).mkdir()
        (tmp_path / year / "survey.csv").write_text(f"a,y\n{year},1\n")

    def run(begin=True, **given):
        """The plan of a run, which has begun."""
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(given))
        plan = reading.plan_of_files(["mine.yaml"])
        if begin:
            kept = tmp_path / plan["results"] / TABLES
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(tables_to_keep(plan)))
        return plan

    return run
