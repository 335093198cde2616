"""A whole run: what it leaves, and that its bytes do not depend on the number of cores."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight import apply_filter, load
from counterweight.plan.config import resolve
from counterweight.plan.reading import with_listed_studies
from counterweight.reporting.report_jobs import report_plan
from counterweight.tables.parquet import PLACE
from counterweight.tables.table_reader import read_people


def test_a_run_makes_the_report_and_the_claims(finished):
    assert finished.first.status == 0, finished.first.output
    assert "open results/report.html" in finished.first.output
    claims = pd.read_parquet(finished.results / "claims.parquet")
    assert len(claims) > 0


def test_jobs_open_only_what_their_rules_declare(finished):
    assert not finished.first.opened


#: A job of one input and one output, and what it opens otherwise.
OPENING = """
import sys, types
import pyarrow.parquet as pq
job = types.SimpleNamespace(input=["in.parquet"], output=["out/made"], log=["log"], rule="train")
sys.modules["__main__"].snakemake = types.SimpleNamespace(
    **vars(job), params=types.SimpleNamespace(job={"content": {"own.csv": "digest"}})
)
for path in ("log", "own.csv", "out/.made.1234.unfinished"):
    open(path, "w").close()
for path in ("in.parquet", "other.parquet"):
    pq.read_schema(path)
open("key")
"""


def test_opens_by_python_and_by_pyarrow_are_heard(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "key").touch()
    for name in ("in", "other"):
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / f"{name}.parquet")
    told = {
        "PYTHONPATH": str(Path(__file__).with_name("opened")),
        "OPENED_NOTES": str(tmp_path / "notes"),
    }
    environment = os.environ | told | {"TMPDIR": str(tmp_path / "temporary")}
    call = [sys.executable, "-c", OPENING]
    subprocess.run(call, cwd=tmp_path, env=environment, check=True)
    notes = [json.loads(line)["path"] for line in (tmp_path / "notes").read_text().splitlines()]
    assert notes == [str(tmp_path / "other.parquet"), str(tmp_path / "key")]


def test_the_report_marks_every_study_without_real_data(finished):
    generated = "Generated data: not a result about the real world"
    assert generated in finished.text("results/report.html")
    assert generated in finished.text("results/report/twin.html")
    assert "Simulated study" in finished.text("results/report/curved.html")


def test_every_link_of_the_report_leads_somewhere(finished):
    pages = [finished.results / "report.html", *(finished.results / "report").glob("*.html")]
    links = {
        (page, href)
        for page in pages
        for href in re.findall(r'href="([^"#:]+)["#]', page.read_text(encoding="utf-8"))
    }
    assert len(pages) > 15 and len(links) > 100
    assert not [(page.name, href) for page, href in links if not (page.parent / href).exists()]


def test_the_numbers_of_every_figure_stand_beside_it(finished):
    drawn = list(finished.results.glob("*/figures/*-narrow.svg"))
    assert drawn
    for path in drawn:
        name = path.name.removesuffix("-narrow.svg")
        assert (path.parent / f"{name}.svg").exists()
        assert "value" in pd.read_csv(path.parent / f"{name}.csv").columns, path


def test_metrics_of_kept_rows_agree_with_those_of_all_rows(finished):
    metrics = {
        study: pd.read_parquet(finished.results / study / "metrics" / "logistic.parquet")
        for study in ("twin", "twin_kept")
    }
    keys = ["repeat", "target", "metric", *PLACE]
    both = metrics["twin"].merge(metrics["twin_kept"], on=keys, suffixes=("", "_kept"))
    both = both[both["standard_error_kept"].notna()]
    assert set(both["metric"]) >= {"accuracy", "balanced_accuracy", "auc", "log_loss", "brier"}
    assert (both["rows_kept"] < both["rows"]).all()
    gap = (both["value"] - both["value_kept"]).abs()
    assert (gap <= 3 * both["standard_error_kept"]).all(), both[gap > 0]


def test_every_measured_metric_is_declared(finished):
    """With a label and a meaning: the pages show nothing by its bare name."""
    config = with_listed_studies(finished.config, {}, finished.folder / "workflow/studies")
    plan = report_plan(resolve(config))
    metrics = pd.read_parquet(finished.results / "tables" / "metrics.parquet")
    for place in metrics[["study", "metric", "measure"]].drop_duplicates().itertuples():
        known = plan["studies"][place.study]["measures"]
        entry = known.get(f"{place.metric} of {place.measure}") or known.get(place.metric)
        assert entry and entry["meaning"], place


def test_dropping_zero_rows_changes_no_value_of_a_policy(finished):
    metrics = pd.read_parquet(finished.results / "log" / "metrics" / "stochastic.parquet")
    changes = metrics[metrics["metric"].isin(["drop_zero_change", "zero_details_change"])]
    assert len(changes) == 40
    assert (changes["value"] == 0.0).all()


def test_every_person_gets_an_offer(finished):
    offers = pd.read_parquet(finished.results / "offers" / "offers.parquet")
    assert len(offers) == 1500 and offers["row"].is_unique
    assert offers.notna().all(axis=None)
    assert offers["best_offer"].between(0, 1).all()
    # The best offer is within what was offered to such people; so is nearly every past one.
    within = offers["offer"].between(offers["offered_min"], offers["offered_max"])
    assert within.mean() > 0.97
    assert (offers["best_revenue"] >= offers["revenue"] - 1e-6)[within].all()


def test_a_table_of_ones_own_gives_offers_by_config_alone(again):
    rng = np.random.default_rng(3)
    fee, age = rng.uniform(0, 50, 400), rng.integers(18, 80, 400)
    town = np.where(rng.random(400) < 0.5, "north", "south")
    accepts = rng.random(400) < 1 / (1 + np.exp((fee - 20 - (town == "north") * 10) / 4))
    frame = pd.DataFrame({"age": age, "town": town, "fee": fee.round(2)})
    frame["answer"] = np.where(accepts, "yes", "no")
    frame.to_csv(again.folder / "mine.csv", index=False)
    config = again.config
    config["datasets"]["own_table"] = {"path": "mine.csv"}
    config["studies"]["mine"] = {
        "dataset": "own_table",
        "features": {"recipe": "one_hot", "drop": ["fee"]},
        "outcome": {"rule": "accepts", "column": "answer"},
        "labeling": {
            "rule": "offered",
            "offer": "fee",
            "low": 0.0,
            "high": 50.0,
            "direction": "down",
        },
        "targets": ["general"],
        "evaluation": {"protocol": "offers"},
        "models": [{"model": "predictive_choice", "components": 2, "n_init": 2}],
    }
    again.config = config
    run = again.run("results/mine/offers.parquet")
    assert run.status == 0, run.output
    offers = pd.read_parquet(again.results / "mine" / "offers.parquet")
    assert len(offers) == 400
    assert offers["best_offer"].between(0, 50).all()
    assert offers["best_offer"].median() > 5


def test_constraints_on_rates_hold_on_the_training_rows(finished):
    found = pd.read_parquet(finished.results / "rates" / "metrics" / "ramp.parquet")
    ratio = found[(found["metric"] == "randomised") & (found["target"] == "train")]
    ratio = ratio[ratio["measure"] == "ratio"]
    kappa = ratio["setting"].str.removeprefix("kappa=").astype(float)
    assert sorted(kappa) == [0.5, 0.5, 1.0, 1.0]
    assert (ratio["value"] <= 1 / kappa + 1e-6).all()
    # The test rows are the named ones in each repeat.
    labels = pd.read_parquet(finished.results / "rates" / "labels.parquet")
    tested = labels[labels["role"] == "test"].groupby("repeat")["row"].agg(tuple)
    assert tested[0] == tested[1]


def test_weights_and_constraints_go_together(finished):
    folder = finished.results / "held" / "metrics"
    found = pd.read_parquet(folder / "constrained-lemma1.parquet")
    held = found[(found["metric"] == "randomised") & (found["target"] == "train")]
    held = held[held["measure"] == "coverage"]
    assert len(held) == 2
    assert (held["value"] <= 0.2 + 1e-6).all()
    weighed = pd.read_parquet(finished.results / "held" / "weights" / "lemma1-logistic.parquet")
    assert weighed["weight"].nunique() > 10


def test_the_saved_filter_repeats_the_balance_of_the_test_rows(again):
    folder = again.results / "people"
    truth = pd.read_parquet(folder / "truth.parquet")
    labels = pd.read_parquet(folder / "labels.parquet")
    tested = truth[(labels["role"] == "test") & (truth["repeat"] == 0)]
    table = pd.read_parquet(again.folder / "data/prepared/generated/adult.parquet")
    people = table.set_index("row").loc[tested["row"]]
    # Nothing about the group is needed, nor the outcome.
    people["id"] = [f"p{at}" for at in range(len(people))]
    people.drop(columns=["race", "income"]).to_csv(again.folder / "people.csv", index=False)
    run = again.run("apply", "--config", "candidates=people.csv")
    assert run.status == 0, run.output
    found = pd.read_parquet(again.results / "filtered.parquet")
    assert len(found) == len(people) and set(found["accepted"].unique()) <= {True, False}
    # Nothing that depends on a feature leaves the house beside the decision.
    assert list(found) == ["id", "accepted"]
    candidates = read_people(again.folder / "people.csv", absent="bring it", nameless=True)
    decided = apply_filter(candidates, load(folder), again.config.get("seed", 20070815))
    shares = pd.Series(decided["probability"]).groupby(people["race"].to_numpy()).sum()
    shares /= shares.sum()
    metrics = pd.read_parquet(folder / "metrics" / "alpha_beta.parquet")
    mine = metrics[(metrics["setting"] == "alpha=0.3") & (metrics["repeat"] == 0)]
    mine = mine[(mine["target"] == "test") & (mine["metric"] == "imbalance")]
    groups = truth["group_race"].nunique()
    assert len(mine) == 1 and len(shares) == groups
    assert np.linalg.norm(shares - 1 / groups) == pytest.approx(mine["value"].iloc[0], abs=1e-9)
    first = found["accepted"].tolist()
    (again.results / "filtered.parquet").unlink()
    assert again.run("apply", "--config", "candidates=people.csv").status == 0
    assert pd.read_parquet(again.results / "filtered.parquet")["accepted"].tolist() == first


def test_a_filter_is_made_from_a_table_of_ones_own_by_config_alone(again):
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], 900, p=[0.7, 0.2, 0.1])
    score = rng.normal(size=900) + (group == "b") - (group == "c")
    town = np.where(rng.random(900) < 0.3 + 0.4 * (group == "b"), "north", "south")
    frame = pd.DataFrame({"score": score.round(3), "town": town, "group": group})
    frame.to_csv(again.folder / "mine.csv", index=False)
    config = again.config
    config["datasets"]["own_table"] = {"path": "mine.csv"}
    mine = {
        "dataset": "own_table",
        "features": {"recipe": "one_hot", "drop": ["group"]},
        "outcome": {"rule": "no_outcome"},
        "labeling": {"rule": "sensitive", "group": ["group"]},
        "targets": ["general"],
        "evaluation": {"protocol": "filtering"},
        "selection": [
            {"selector": "split_tree", "alphas": [0.0, 0.2], "min_weight_fraction_leaf": 0.05}
        ],
        "weighting": [{"weighting": "quadratic"}],
        "models": [{"model": "balanced_filter", "weights": "quadratic", "classifier": "none"}],
        "filter": {"method": "balanced_filter-quadratic", "setting": "alpha=0.2"},
    }
    config["studies"]["mine"] = mine
    again.config = config
    new = frame.drop(columns="group").head(200).assign(id=range(200))
    new.to_csv(again.folder / "people.csv", index=False)
    run = again.run("apply", "--config", "candidates=people.csv", "filter_study=mine")
    assert run.status == 0, run.output
    found = pd.read_parquet(again.results / "filtered.parquet")
    assert len(found) == 200 and list(found) == ["id", "accepted"]
    filtering, key = load(again.results / "mine"), again.folder / "filter.key"
    probability = apply_filter(new, filtering, key)["probability"]
    released = filtering.accept(new, key)
    assert found["id"].astype(int).tolist() == released["id"].tolist()
    assert found["accepted"].tolist() == released["accepted"].tolist()
    assert found["accepted"].mean() == pytest.approx(probability.mean(), abs=0.15)
    assert "alpha" in again.text("results/mine/filter.md")

    mine["features"] = {"recipe": "one_hot"}
    again.config = config
    run = again.run("results/mine/labels.parquet")
    assert run.status != 0
    assert "features.drop" in run.output and "group" in run.output
    assert not (again.results / "mine" / "labels.parquet").exists()


def test_no_filter_is_more_disclosive_in_sample_than_allowed(finished):
    metrics = pd.read_parquet(finished.results / "people" / "metrics" / "alpha_beta.parquet")
    mine = metrics[(metrics["metric"] == "disclosivity") & (metrics["target"] == "train")]
    alphas = mine["setting"].str.removeprefix("alpha=").astype(float)
    assert len(mine) == 6
    assert (mine["value"] <= alphas + 1e-6).all()


def test_a_run_leaves_no_temporary_files(finished):
    files = [path for top in ("data", "results") for path in (finished.folder / top).rglob("*")]
    assert files
    assert not [path for path in files if path.name.startswith(".")]


def test_a_second_run_has_nothing_to_do(again):
    run = again.run()
    assert run.status == 0
    assert "Nothing to be done" in run.output
    assert "Done: open results/report.html" in run.output
    assert not run.jobs


@pytest.mark.parametrize(
    "overlay", [None, "workflow/overlays/paper.yaml", "workflow/overlays/demo.yaml"]
)
def test_each_shipped_config_makes_a_plan(copied, shipped, overlay):
    copy = copied()
    jobs = copy.plan(*(["--configfile", overlay] if overlay else []))
    settings = yaml.safe_load((copy.folder / overlay).read_text()) if overlay else {}
    chosen = settings.get("only") or list(shipped["studies"])
    expected = {"report"}
    for study in chosen:
        expected.add(f"label {study}")
    real = {"adult", "ca_housing", "bank_marketing", "open_bandit", "natural_park", "kakadu", "a9a"}
    own = settings.get("tables", {})
    used = {shipped["studies"][study]["dataset"] for study in chosen if study not in own}
    expected |= {f"download_{name}" for name in real & used}
    assert expected <= jobs


def test_a_study_of_ones_own_brings_no_other_along(copied, small):
    copy = copied()
    own = small["studies"]["curved"] | {"models": [{"model": "logistic"}]}
    (copy.folder / "own.yaml").write_text(yaml.safe_dump({"studies": {"mine": own}}))
    listed = ("--config", "studies_of=[noor_2014]")
    jobs = copy.plan("--configfile", "own.yaml")
    assert "label mine" in jobs and "prepare_curved" in jobs
    assert {job.split()[1] for job in jobs if " " in job} == {"mine"}
    jobs = copy.plan("--configfile", "own.yaml", *listed)
    assert {"label mine", "label kakadu"} <= jobs and "label ca_coastal" not in jobs


def test_the_bytes_do_not_depend_on_cores(finished, copied, small):
    alone = copied(small)
    run = alone.run(cores=1)
    assert run.status == 0, run.output
    assert alone.digests(".parquet") == finished.digests(".parquet")


def test_the_bytes_do_not_depend_on_threads(again):
    before = again.digests(".parquet")
    threads = ("--set-threads", "train=2", "select=2")
    run = again.run(*threads, "--forcerun", "select", "train", "--until", "train")
    assert run.status == 0, run.output
    assert "threads: 2" in run.output
    assert again.digests(".parquet") == before


def test_the_report_of_snakemake_itself_can_be_made(again):
    run = again.run("--report", "snakemake.html")
    assert run.status == 0, run.output
    page = again.text("snakemake.html")
    assert "figures/accuracy.svg" in page and "claims.csv" in page
