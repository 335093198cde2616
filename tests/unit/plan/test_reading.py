"""Files of studies: what a config lists, what is put on top, and whose studies are run."""

from pathlib import Path

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.config import resolve
from counterweight.plan.reading import plan_of_files, updated, with_listed_studies

ROOT = Path(__file__).resolve().parents[3]
STUDY = {
    "dataset": "curved",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "equals", "column": "label", "value": 1},
    "labeling": {"rule": "known_propensity"},
    "models": [{"model": "logistic"}],
}


@pytest.fixture
def folder(tmp_path):
    """A folder with two files of studies."""
    for name, studies in (("first", ("b", "a")), ("second", ("c",))):
        text = yaml.safe_dump({"studies": dict.fromkeys(studies, STUDY)}, sort_keys=False)
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def read(base, given, folder):
    """The config that a run with these two layers would see."""
    return with_listed_studies(updated(updated({}, base), given), given, folder)


BASE = {"studies_of": ["second", "first"], "studies": {}, "only": [], "repeats": 3}


def test_listed_studies_come_in_the_order_of_the_list(folder):
    config = read(BASE, {}, folder)
    assert list(config["studies"]) == ["c", "b", "a"]
    assert "studies_of" not in config and config["only"] == []
    assert list(resolve(config)["studies"]) == ["c", "b", "a"]


def test_what_stands_in_the_config_changes_listed_studies_key_by_key(folder):
    given = {"studies": {"a": {"repeats": 2, "outcome": {"value": 0}}}}
    config = read(BASE, given, folder)
    assert config["studies"]["a"] == STUDY | {
        "repeats": 2,
        "outcome": {"rule": "equals", "column": "label", "value": 0},
    }
    assert config["studies"]["b"] == STUDY and config["only"] == []


def test_a_study_that_is_added_to_the_config_itself_stands_beside_the_listed_ones(folder):
    config = read(BASE | {"studies": {"mine": STUDY}}, {"repeats": 2}, folder)
    assert set(config["studies"]) == {"mine", "a", "b", "c"} and config["only"] == []
    # An overlay may change it, too.
    given = {"studies": {"mine": {"repeats": 2}}}
    assert read(BASE | {"studies": {"mine": STUDY}}, given, folder)["only"] == []


@pytest.mark.parametrize(
    ("given", "run"),
    [
        ({}, {"mine"}),
        ({"studies_of": []}, {"mine"}),
        ({"studies_of": ["second"]}, {"mine", "c"}),
        ({"only": []}, {"mine", "a", "b", "c"}),
        ({"only": ["b"]}, {"b"}),
        ({"studies": {"mine": STUDY, "a": {"repeats": 2}}}, {"mine", "a"}),
        ({"studies": {"mine": STUDY | {"paired_with": "b"}}}, {"mine", "b"}),
    ],
    ids=["alone", "no files", "one file", "all", "only", "changed", "paired"],
)
def test_a_study_of_ones_own_brings_others_along_only_if_asked(folder, given, run):
    config = read(BASE, {"studies": {"mine": STUDY}} | given, folder)
    assert set(resolve(config)["studies"]) == run


def test_a_path_names_a_file_anywhere(folder, tmp_path_factory):
    config = read({"studies_of": [str(folder / "first.yaml")]}, {}, tmp_path_factory.mktemp("no"))
    assert list(config["studies"]) == ["b", "a"]


def test_anchors_that_are_overridden_are_no_second_keys(folder):
    text = "studies:\n  a: &a {models: [&m {x: 1}], y: {<<: *m, x: 2}}\n  b: {<<: *a, y: 3}\n"
    (folder / "anchors.yaml").write_text(text)
    config = read({"studies_of": ["anchors"]}, {}, folder)
    assert config["studies"]["b"] == {"models": [{"x": 1}], "y": 3}


@pytest.mark.parametrize(
    ("entries", "text", "told"),
    [
        (["frist"], "", r"lists 'frist', but there is no file frist.yaml .* did you mean 'first'"),
        (["my/own.yaml"], "", "lists 'my/own.yaml', which is no file .looked for at /"),
        (["first", "first"], "", "'b' is defined in .*first.yaml, which studies_of lists twice"),
        (["first", "bad"], "studies: {a: {}}", "'a' is defined both in .*first.yaml and in .*bad"),
        (["bad"], "studies: {a: {}, a: {}}", "near line 1: the key a stands there a second time"),
        (["bad"], "studies: [", "bad.yaml is not valid YAML near line 1"),
        (["bad"], "a: {b: c?, d: 1}", "bad.yaml is not valid YAML near line 1"),
        (["bad"], "a: {}", "must have the key studies"),
        (["bad"], "{studies: {a: {}}, seed: 1}", "must have the key studies"),
        (["bad"], "studies:", "has no study by name"),
        ("first", "", "studies_of must be a list of names or paths .* not 'first'"),
        ([1], "", "studies_of must be a list"),
        ([], "", "The config has no studies: list files"),
    ],
)
def test_mistakes_in_listed_files_are_one_sentence(folder, entries, text, told):
    (folder / "bad.yaml").write_text(text)
    with pytest.raises(CounterweightError, match=told) as caught:
        read({"studies_of": entries}, {}, folder)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"studies": {"admissions": {"repeats": 8}}}, None),
        (
            {"studies": {"admissions": {"repeats": 9}}},
            "studies.admissions.repeats is 9, .* are 8 worlds.* at most 8, or "
            "datasets.admissions.rows to 32895",
        ),
        ({"datasets": {"admissions": {"rows": 4000}}}, "choose a multiple of 3655, such as 29240"),
        ({"datasets": {"three_segments": {"rows": 3000}}}, "are 2 worlds"),
    ],
)
def test_no_more_repeats_are_planned_than_there_are_worlds(tmp_path, changes, told):
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(changes))
    if told is None:
        assert plan_of_files([tmp_path / "mine.yaml"])["studies"]["admissions"]["repeats"] == 8
        return
    with pytest.raises(CounterweightError, match=told) as caught:
        plan_of_files([tmp_path / "mine.yaml"])
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["three_segments", "eighteen_segments", "admissions"])
def test_worlds_are_as_large_as_they_say(name):
    assert (
        components.declared("dataset", name, "WORLD_ROWS") == components.load("dataset", name).SIZE
    )


def test_a_mistaken_list_of_studies_is_left_to_the_schema(folder):
    with pytest.raises(CounterweightError, match="studies must be of type"):
        resolve(read(BASE | {"studies": []}, {}, folder))
    given = {"studies": {"mine": []}}
    with pytest.raises(CounterweightError, match="studies.mine must be of type"):
        resolve(read(BASE, given, folder))


def test_every_shipped_file_of_studies_is_listed():
    files = {path.stem for path in (ROOT / "workflow" / "studies").glob("*.yaml")}
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    assert set(config["studies_of"]) == files
    assert len((ROOT / "config.yaml").read_text().splitlines()) <= 65
