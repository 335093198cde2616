"""Logs of one's own, run by config alone: CSV with users, and a folder of partitions."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit"))
from own_logs import TRUTH, a_log

POLICIES = {"new": "p_new", "best one": {"column": "best", "action": "shown"}}
NAMES = {"new": "new", "best one": "best"}


def test_logs_kept_at_a_rate_are_run_by_config_alone(copied):
    copy, rng = copied(), np.random.default_rng(2)
    log, new = a_log(20_000, rng, 0.1, 2_000), a_log(20_000, rng, 0.1, 2_000)
    log.assign(clicked=np.where(log["clicked"], "yes", "no")).to_csv(
        copy.folder / "clicks.csv", index=False
    )
    new.assign(clicked=np.where(new["clicked"], "yes", "no")).to_csv(
        copy.folder / "new.csv", index=False
    )
    parts = a_log(20_000, rng, 0.1).assign(day=lambda frame: np.arange(len(frame)) % 3)
    parts.to_parquet(copy.folder / "parts", partition_cols=["day"])
    common = {"propensity": "p_logged", "keep_rate": 0.1, "policies": POLICIES}
    reward = {"column": "clicked", "positive": "yes"}
    csv = {"table": "clicks.csv", "reward": reward, "user": "user", "score": "new.csv"}
    folder = {"table": "parts", "reward": "clicked"}
    config = {"tables": {"clicks": common | csv, "parts": common | folder}}
    (copy.folder / "mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    first = copy.run("--configfile", "mine.yaml")
    assert first.status == 0, first.output
    assert {job.split()[-1] for job in first.jobs if job.startswith("evaluate")} == {
        "new",
        "best_one",
    }
    for file in ("clicks/values", "clicks/new_values", "parts/values"):
        values = pd.read_parquet(copy.results / f"{file}.parquet")
        assert values["policy"].tolist() == ["the log's own", *np.repeat(list(NAMES), 2)]
        own = values[values["policy"] == "the log's own"].iloc[0]
        # Nearly all of 95 % intervals hold the truth; their length says whether they may.
        for row in values.itertuples():
            truth = TRUTH[NAMES.get(row.policy, "")]
            assert abs(row.value - truth) < 4 * row.standard_error
            assert row.high - row.low < 6 * row.standard_error
            if row.policy != own["policy"]:
                assert 0 < row.gain_low < TRUTH[NAMES[row.policy]]
    page = (copy.results / "report" / "clicks.html").read_text()
    assert "Which policy would earn more than the one that made the log?" in page
    assert "Best one would earn" in page
    assert copy.plan("--configfile", "mine.yaml") == set()
    config["tables"]["parts"]["policies"] = {"new": "nope"}
    (copy.folder / "mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    wrong = copy.run("--configfile", "mine.yaml")
    assert wrong.status != 0
    assert "policy new names nope, no column of the table" in wrong.output
