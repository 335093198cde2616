"""Mistakes in the config are told by key, with the nearest word and what is allowed."""

import copy
import itertools
from pathlib import Path

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.reading import with_listed_studies
from counterweight.reporting.report_jobs import study_plan
from small_config import SMALL

ROOT = Path(__file__).resolve().parents[3]


def changed(*path, value):
    made = copy.deepcopy(SMALL)
    node = made
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return made


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
        (("repeats",), 1e30, "greater than the maximum"),
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


def test_several_mistakes_are_told_at_once():
    made = changed("sed", value=1)
    made["repeets"] = 3
    with pytest.raises(CounterweightError) as caught:
        config.resolve(made)
    assert len(str(caught.value).splitlines()) == 2


def test_models_that_begin_from_others_bring_them_along():
    methods = config.resolve(SMALL)["studies"]["one"]["methods"]
    assert list(methods) == ["logistic", "shifted_mixture", "generative", "generative-lemma2"]
    assert methods["shifted_mixture"]["starts"] == {
        "labeled": "generative",
        "unlabeled": "generative-lemma2",
    }
    assert not methods["generative"]["reported"]


def test_model_defaults_reach_every_use():
    made = copy.deepcopy(SMALL) | {"model_defaults": {"generative": {"n_init": 3}}}
    methods = config.resolve(made)["studies"]["one"]["methods"]
    assert methods["generative-lemma2"]["options"]["n_init"] == 3


@pytest.mark.parametrize("overlay", [None, "paper.yaml", "demo.yaml"])
def test_shipped_configs_are_valid(overlay):
    from snakemake.utils import update_config

    made, given = yaml.safe_load((ROOT / "config.yaml").read_text()), {}
    if overlay:
        given = yaml.safe_load((ROOT / "workflow" / "overlays" / overlay).read_text())
        update_config(made, given)
    plan = config.resolve(with_listed_studies(made, given, ROOT / "workflow" / "studies"))
    assert "adult_married" in plan["studies"]


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


def ordered(*models):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["models"] = [{"model": "logistic"}, *models]
    return config.resolve(made)["studies"]["one"]["methods"]


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["shifted_mixture", "generative", "generative-lemma2"]))
)
def test_models_may_be_listed_in_any_order(order):
    entries = {
        "shifted_mixture": {"model": "shifted_mixture"},
        "generative": {"model": "generative"},
        "generative-lemma2": {"model": "generative", "weights": "lemma2"},
    }
    methods = ordered(*(entries[name] for name in order))
    assert list(methods) == ["logistic", *order]
    assert all(method["reported"] for method in methods.values())
    assert set(methods["shifted_mixture"]["starts"].values()) == {"generative", "generative-lemma2"}


def test_draws_are_further_fits_that_stand_in_no_table():
    made = changed(
        "studies",
        "one",
        "models",
        value=[
            {"model": "shifted_mixture", "draws": 3},
            {"model": "generative", "draws": 3},
            {"model": "generative", "weights": "lemma2", "draws": 2},
            {"model": "generative", "draw": 1, "name": "redrawn"},
        ],
    )
    study = config.resolve(made)["studies"]["one"]
    methods = study["methods"]
    # The second draw is listed by itself, and not fitted again.
    assert methods["generative"]["draws"] == ["generative", "redrawn", "generative-draw-2"]
    assert [methods[name]["options"]["draw"] for name in methods["generative"]["draws"]] == [
        0,
        1,
        2,
    ]
    one, two = (methods[name] for name in methods["shifted_mixture"]["draws"][1:])
    assert one["starts"] == {"labeled": "redrawn", "unlabeled": "generative-lemma2-draw-1"}
    assert two["starts"]["labeled"] == "generative-draw-2"
    third = methods[two["starts"]["unlabeled"]]
    assert (third["weights"], third["options"]["draw"]) == ("lemma2-logistic", 2)
    assert not third["reported"], "it is a start and nothing else"
    assert two["reported"] and two["draw_of"] == "shifted_mixture"
    shown = study_plan(study)
    assert [method["id"] for method in shown["methods"]] == [
        *("shifted_mixture", "generative", "generative-lemma2", "redrawn")
    ]
    assert shown["draws"]["generative-lemma2"] == ["generative-lemma2", "generative-lemma2-draw-1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"models": [{"model": "logistic", "draws": 2}]}, "nothing in the model logistic begins"),
        (
            {
                "labeling": {"rule": "offered"},
                "selection": [],
                "weighting": [],
                "outcome": {"rule": "accepts", "column": "label"},
                "evaluation": {"protocol": "offers"},
                "models": [{"model": "logitboost", "draws": 2}],
            },
            "draws has no meaning",
        ),
    ],
)
def test_what_has_no_draws_is_told(changes, message):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= changes
    with pytest.raises(CounterweightError, match=message):
        config.resolve(made)


def test_a_start_with_too_few_repeats_is_not_used():
    methods = ordered({"model": "generative", "repeats": 1}, {"model": "shifted_mixture"})
    assert methods["generative"]["repeats"] == 1
    start = methods["shifted_mixture"]["starts"]["labeled"]
    assert start == "generative-start-of-shifted_mixture"
    assert methods[start]["repeats"] == 10


def test_the_selector_of_a_shifted_mixture_reaches_its_start():
    made = copy.deepcopy(SMALL)
    made["studies"]["one"]["selection"].append({"selector": "gradient_boosting"})
    made["studies"]["one"]["models"][1]["selector"] = "gradient_boosting"
    methods = config.resolve(made)["studies"]["one"]["methods"]
    start = methods["shifted_mixture"]["starts"]["unlabeled"]
    assert methods[start]["weights"] == "lemma2-gradient_boosting"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weighting": [{"weighting": "lemma2"}] * 2}, "two entries called 'lemma2'"),
        ({"weighting": [{"weighting": "lemma1"}]}, "begins from a generative model with lemma2"),
        ({"dataset": "adult", "figures": ["boundary"]}, "boundary"),
        ({"labeling": {"rule": "logged"}}, "which is for studies of classifiers; .* logged makes"),
        ({"models": [{"model": "uniform_policy"}]}, "which is for studies of logged actions"),
        (
            {"outcome": {"rule": "no_outcome"}},
            "outcome.rule is 'no_outcome', which is for studies of balanced filters",
        ),
        ({"evaluation": {"protocol": "policy_value"}}, "choose one of metrics"),
        ({"labeling": {"rule": "everyone"}}, r"no unlabeled population: set targets: \[general\]"),
        ({"columns": ["brier", "accurcy"]}, "did you mean 'accuracy'"),
        ({"keep_rate": 0.0}, "keep_rate is 0.0"),
        ({"keep_rate": 1.5}, "keep_rate is 1.5"),
        (
            {"keep_rate": 0.5, "evaluation": {"protocol": "ranking_resamples"}},
            "rejects rows itself",
        ),
        ({"evaluation": {"protocol": "metrics", "resamples": 3}}, "Unknown key .*resamples"),
    ],
)
def test_studies_that_cannot_work_are_told(change, message):
    made = copy.deepcopy(SMALL)
    made["studies"]["one"] |= change
    with pytest.raises(CounterweightError, match=message):
        config.resolve(made)


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


@pytest.mark.parametrize(
    "change",
    [{"keep_rate": 0.5}, {"selection": [{"selector": "logistic"}]}],
    ids=["keep_rate", "selection"],
)
def test_what_has_no_meaning_for_logged_actions_is_refused(change):
    with pytest.raises(CounterweightError, match="has no meaning for studies of logged actions"):
        config.resolve({"studies": {"one": LOG | change}})


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
