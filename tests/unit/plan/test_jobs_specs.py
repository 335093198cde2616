"""Where files of a plan stand, and how what is measured comes about."""

import copy

import pytest
from counterweight.plan import config
from counterweight.plan.jobs import Job, Paths
from small_config import SMALL


def plan(**changes):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= changes
    return config.resolve(made | {"results": "r", "data": "d"})


def test_files_of_simulated_and_of_real_data():
    paths = Paths(plan())
    assert paths.prepared("curved") == "d/prepared/curved.parquet"
    assert paths.known("curved") == "d/prepared/curved.truth.parquet"
    assert (paths.raw("curved"), paths.columns("curved"), paths.columns_read("curved")) == ([],) * 3
    for source, folder in (("download", "prepared"), ("generated", "prepared/generated")):
        made = plan(dataset="adult", labeling={"rule": "married"})
        made["datasets"]["adult"]["source"] = source
        paths = Paths(made)
        assert paths.prepared("adult") == f"d/{folder}/adult.parquet"
        assert bool(paths.known("adult")) == (source == "generated")
        first = {"download": "raw", "generated": "generated"}[source]
        assert all(path.startswith(f"d/{first}/adult/") for path in paths.raw("adult"))


def test_a_table_of_ones_own_stands_with_its_answers():
    made = plan()
    made["datasets"]["curved"] = {"source": "own", "path": "x.csv"}
    paths = Paths(made | {"place": "elsewhere"})
    assert paths.prepared("curved") == "r/prepared/curved.parquet"
    assert paths.columns("curved") == "r/prepared/curved.columns.parquet"
    assert paths.columns_read("curved") == "r/tables/curved.columns.csv"
    assert paths.study("one").features == "elsewhere/one/features.parquet"


def test_chains_lead_from_the_data_to_what_is_measured():
    paths = Paths(plan(figures=["boundary"]))
    chains = {chain["source"]: chain for chain in paths.chains()}
    assert list(chains) == ["labels", "logistic", "lemma2-logistic", "shifted_mixture"]
    assert len(paths.chains()) == 5, "a method and a selector may be called alike"
    steps = [(step["stage"], step["source"]) for step in chains["shifted_mixture"]["steps"]]
    assert steps == [
        ("prepare", "curved"),
        ("label", "labels"),
        ("train", "generative"),
        ("select", "logistic"),
        ("weigh", "lemma2-logistic"),
        ("train", "generative-lemma2"),
        ("train", "shifted_mixture"),
        ("evaluate", "shifted_mixture"),
    ]
    assert chains["labels"]["steps"][-1]["log"] == "r/logs/label/one.log"
    assert all(chain["measured"] for chain in chains.values())
    assert paths.measurements() == [
        f"r/one/metrics/{name}.parquet"
        for name in (
            "labels",
            "selection_logistic",
            "weights_lemma2-logistic",
            "logistic",
            "shifted_mixture",
        )
    ]
    files = paths.figures("one")
    assert files[:3] == [f"r/one/figures/boundary{end}" for end in (".svg", "-narrow.svg", ".csv")]
    figures = paths.plan["studies"]["one"]["figures"]
    assert files[-1] == "r/one/figures/figures.parquet" and len(files) == 3 * len(figures) + 1


@pytest.mark.parametrize("content", [None, {"mine.csv": "00"}])
def test_a_job_that_hands_on_bytes_goes_by_no_version(content, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import counterweight.labeling.columns\n")
    spec = Job("", given={"a": 1}, uses=(("metric", "auc"),)).spec(str(script), content)
    assert spec["libraries"] and spec["uses"] == [["metric", "auc"]] and spec["given"] == {"a": 1}
    assert spec.get("content") == content
    copied = Job("", copies=True, given={"a": 1}, uses=(("metric", "auc"),)).spec(str(script))
    assert copied["libraries"] == {} and copied["code"] == spec["code"]
