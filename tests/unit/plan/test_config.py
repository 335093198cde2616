"""Mistakes in the config are told by key, with the nearest word and what is allowed."""

import copy
from pathlib import Path

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.reading import with_listed_studies
from small_config import SMALL, changed

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("sed",), 1, r"Unknown key sed; did you mean 'seed'\? Allowed here: "),
        (("seed",), "x", r"seed must be of type integer, not text \('x'\)"),
        (("repeats",), 0, "repeats is 0"),
        (("test_share",), "1e-1", "YAML reads 1e-7 as text"),
        (("test_share",), 1.0, "test_share is 1.0"),
        (("studies", "one", "dataset"), "curvd", r"curvd.*did you mean 'curved'\?.*Choose one of"),
        (("studies", "one", "modls"), [], r"Unknown key studies.one.modls; did you mean 'models'"),
        (("studies", "one", "labeling", "rule"), "maried", "did you mean 'married'"),
        (("studies", "one", "labeling", "strata"), 3, "Unknown key studies.one.labeling.strata"),
        (("studies", "one", "models", 0, "model"), "logistc", "did you mean 'logistic'"),
        (("studies", "one", "models", 1, "inertia"), 2, r"models\[1\].inertia is 2"),
        (("studies", "one", "models", 1, "inertai"), 1, "did you mean 'inertia'"),
        (("studies", "one", "models", 0, "weights"), "lemma1", "does not compute: add"),
        (("studies", "one", "models", 0, "oracle"), "yes", "must be of type boolean"),
        (("studies", "one", "models", 1, "weights"), "lemma2", "takes no weights"),
        (("studies", "one", "selection"), [], "no selection model"),
        (("studies", "one", "baseline"), "logistik", "did you mean 'logistic'"),
        (("studies", "one", "paired_with"), "two", "no other study"),
        (("studies", "one", "dataset"), "adult", "nobody knows"),
        (("studies", "one", "outcome"), {"rule": "equals", "value": 1}, "lacks the key 'column'"),
        (("studies", "one", "models"), [{"model": "logistic"}] * 2, "second method called"),
        (("studies", "One"), {}, "One"),
        (("studies", "one", "weighting", 0, "max_weight"), 0, "max_weight is 0"),
        (("model_defaults",), {"generative": {"n_ini": 1}}, "did you mean 'n_init'"),
        (
            ("studies", "one", "models", 1, "sweep"),
            {"inertia": [0.5, 3]},
            r"sweep.inertia\[1\] is 3",
        ),
        (("studies", "one", "models", 1, "sweep"), {"inertja": [1]}, "did you mean 'inertia'"),
        (
            ("studies", "one", "models", 1, "sweep"),
            {"inertia": [k / 200 for k in range(101)], "iterations": list(range(1, 101))},
            "has 10100 settings",
        ),
        (("test_share",), float("nan"), "test_share is nan: give a number"),
        (("studies", "one", "models", 0, "l2"), float("inf"), r"models\[0\].l2 is inf"),
        (("studies", "one", "weighting", 0, "max_weight"), float("nan"), "max_weight is nan"),
        (("repeats",), 1e30, "it must be at most 10000"),
        (("studies", 1), {}, "studies has the name 1, which YAML does not read as text"),
        (("studies", "a" * 300), {}, "a name of 300 letters"),
        (("studies", "one", "models", 0, "name"), "m" * 300, "a name of 300 letters"),
        (("studies", "a\nb"), {}, "begin with a"),
        (("studies", "one", "models", 0, "name"), "a\nb", "begin with a"),
    ],
)
def test_mistakes_are_told_by_key(path, value, message):
    with pytest.raises(CounterweightError, match=message) as caught:
        config.resolve(changed(*path, value=value))
    assert "properties" not in str(caught.value), "the schema itself is not shown"
    assert all(len(line) < 600 for line in str(caught.value).splitlines())


def test_studies_of_one_title_have_their_names_behind_it():
    made = changed("studies", "two", value=copy.deepcopy(SMALL["studies"]["one"]))
    for study in made["studies"].values():
        study["title"] = "Same"
    studies = config.resolve(made)["studies"]
    assert [study["title"] for study in studies.values()] == ["Same [one]", "Same [two]"]


def test_several_mistakes_are_told_at_once():
    made = changed("sed", value=1)
    made["repeets"] = 3
    with pytest.raises(CounterweightError) as caught:
        config.resolve(made)
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize("overlay", [None, "paper.yaml", "demo.yaml", "benchmark.yaml"])
def test_shipped_configs_are_valid(overlay):
    from snakemake.utils import update_config

    made, given = yaml.safe_load((ROOT / "config.yaml").read_text()), {}
    if overlay:
        given = yaml.safe_load((ROOT / "workflow" / "overlays" / overlay).read_text())
        update_config(made, given)
    plan = config.resolve(with_listed_studies(made, given, ROOT / "workflow" / "studies"))
    assert {"adult_married", *given.get("only", ()), *given.get("tables", ())} <= {*plan["studies"]}


def test_every_key_of_the_schema_is_described():
    def keys(node, path=""):
        for name, part in node.get("properties", {}).items():
            yield f"{path}.{name}", part
            yield from keys(part, f"{path}.{name}")
            yield from keys(part.get("items", {}), f"{path}.{name}[]")
            if isinstance(part.get("additionalProperties"), dict):
                yield from keys(part["additionalProperties"], f"{path}.{name}.*")

    for path, part in keys(config.schema()):
        assert part.get("description"), f"{path} has no description"


def test_a_folder_that_cannot_be_written_is_told_before_anything_runs(tmp_path):
    (tmp_path / "file").write_text("")
    plan = {"results": str(tmp_path / "file" / "results"), "data": str(tmp_path / "data")}
    with pytest.raises(CounterweightError, match="results is .* cannot be written"):
        config.check_folders(plan)
    config.check_folders({"results": str(tmp_path / "new" / "deep"), "data": str(tmp_path)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


LOG = {
    "dataset": "logged_clicks",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "reward", "column": "reward"},
    "labeling": {"rule": "logged"},
    "evaluation": {"protocol": "policy_value"},
    "models": [{"model": "uniform_policy"}],
}


def test_a_study_of_logged_actions_has_one_target_and_no_split():
    study = config.resolve({"studies": {"one": LOG}})["studies"]["one"]
    assert (study["task"], study["targets"], study["repeats"]) == ("log", ["general"], 1)
    assert (study["test_share"], study["columns"]) == (0.0, ["value"])
    assert study["baseline"] == "uniform_policy"


def test_a_table_of_ones_own_has_to_be_there(tmp_path):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= {
        "dataset": "own_table",
        "labeling": {"rule": "offered"},
        "selection": [],
        "weighting": [],
        "evaluation": {"protocol": "offers"},
        "models": [{"model": "predictive_choice"}],
        "targets": ["general"],
    }
    with pytest.raises(CounterweightError, match="no file is named: set datasets.own_table.path"):
        config.resolve(made)
    made["datasets"] = {"own_table": {"path": str(tmp_path / "mine.csv")}}
    plan = config.resolve(made)
    for given, key in (
        (None, "datasets.own_table.path"),
        ({"table": "mine.csv"}, "table"),
        ({"tables": {"own_table": {"table": "mine.csv"}}}, "tables.own_table.table"),
    ):
        with pytest.raises(CounterweightError, match=f"^{key} is .*mine.csv', which is no file"):
            config.check_folders(plan, given)


@pytest.mark.parametrize("bounds", [[1, 0], [0.5, 0.5]])
def test_bounds_of_a_measure_leave_room(bounds):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["measures"] = {"accuracy": {"bounds": bounds}}
    with pytest.raises(CounterweightError, match="studies.one.measures.accuracy.bounds is"):
        config.resolve(made)
    for known in ([0, None], [None, None], [0, 1]):
        made["studies"]["one"]["measures"]["accuracy"]["bounds"] = known
        assert config.resolve(made)["studies"]["one"]["measures"]["accuracy"]["bounds"] == known


def test_only_the_studies_that_are_named_are_run():
    two = {"studies": SMALL["studies"] | {"two": SMALL["studies"]["one"]}}
    assert list(config.resolve(two)["studies"]) == ["one", "two"]
    assert list(config.resolve(two | {"only": ["two"]})["studies"]) == ["two"]
    with pytest.raises(CounterweightError, match="only names 'onne'.* did you mean 'one'"):
        config.resolve(two | {"only": ["onne"]})


def test_columns_have_to_be_measured():
    made = copy.deepcopy(SMALL) | {"metrics": ["auc", "accuracy"]}
    assert config.resolve(made)["studies"]["one"]["columns"] == ["accuracy", "auc"]
    made["studies"]["one"]["columns"] = ["brier"]
    with pytest.raises(CounterweightError, match="shows brier, which metrics does not list"):
        config.resolve(made)


@pytest.mark.parametrize("place", ["reading", "columns"])
def test_one_mark_does_not_stand_for_decimals_and_thousands(place):
    def given(**said):
        return {"reading": said} if place == "reading" else {"columns": {"numbers": [{"a": said}]}}

    for fine in ({"decimal": ",", "thousands": "."}, {"decimal": ","}, {"thousands": ","}):
        config._check_reading("here", given(**fine))
    with pytest.raises(CounterweightError, match="decimal and thousands are both ','"):
        config._check_reading("here", given(decimal=",", thousands=","))
