"""Old words of configs: read as the new ones, with a sentence that says them."""

import logging

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import config, renamed
from counterweight.plan.own import with_own_tables
from counterweight.plan.reading import planned, with_listed_studies

STUDY = {
    "dataset": "curved",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "equals", "column": "label", "value": 1},
    "labeling": {"rule": "known_propensity"},
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma2"}],
    "models": [{"model": "logistic", "name": "plain"}],
}
TABLE = "age,job,paid\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]},{i % 2}\n" for i in range(60))


@pytest.fixture
def words(monkeypatch):
    """Words as if they had been other ones before."""
    options = {
        "*": {"most_steps": "iterations"},
        ("model", "shifted_mixture"): {"lag": "inertia"},
        ("labeling", "*"): {"rows_asked": "rows"},
    }
    monkeypatch.setattr(renamed, "OPTION_RENAMES", options)
    names = {"model": {"mixture": "shifted_mixture"}, "metric": {"hit_rate": "accuracy"}}
    monkeypatch.setattr(renamed, "COMPONENT_RENAMES", names)
    keys = {"config": {"runs": "repeats"}, "study": {"held_back": "test_share"}}
    keys["table"] = {"answer_blank": "outcome", "columns.skip": "columns.ignore"}
    monkeypatch.setattr(renamed, "KEY_RENAMES", keys)


@pytest.mark.parametrize("kind", sorted(renamed.OPTION_GONE))
def test_an_option_that_is_gone_is_passed_over_at_its_value_and_else_refused(kind, caplog):
    names = renamed._Names(False)
    for option, (value, instead) in renamed.OPTION_GONE[kind].items():
        part = {kind: "some", option: value}
        assert names.without(part, kind, {}, ("studies", "one")) == {kind: "some"}
        assert f"`{option}` in studies.one is always {value!r} now" in told(caplog)[-1]
        assert names.without(part, kind, {option: {}}, ()) == part
        with pytest.raises(CounterweightError, match=f"{option} is 'other'.*{instead}"):
            names.without(part | {option: "other"}, kind, {}, ("studies", "one"))


def told(caplog):
    return [record.getMessage() for record in caplog.records]


def test_old_words_of_a_study_make_the_same_plan(words, caplog):
    plain = STUDY["models"][0]
    item = {"model": "shifted_mixture", "name": "m", "sweep": {"inertia": [0.5, 0.9]}}
    new = {"repeats": 2, "metrics": ["accuracy"]}
    new |= {"model_defaults": {"shifted_mixture": {"iterations": 7}}}
    new["studies"] = {"one": STUDY | {"test_share": 0.25, "models": [plain, item]}}
    item = {"model": "mixture", "name": "m", "sweep": {"lag": [0.5, 0.9]}}
    old = {"runs": 2, "metrics": ["hit_rate"], "model_defaults": {"mixture": {"most_steps": 7}}}
    old["studies"] = {"one": STUDY | {"held_back": 0.25, "models": [plain, item]}}
    expected = config.resolve(new)
    assert not caplog.records
    assert config.resolve(renamed.with_new_names(old)) == expected
    assert any(
        text.startswith("`runs` is now `repeats`: write the new name") for text in told(caplog)
    )
    assert any(
        "`lag` is now `inertia` in studies.one.models[1].sweep" in one for one in told(caplog)
    )
    assert any("`most_steps` is now `iterations` in model_defaults" in one for one in told(caplog))
    assert len(told(caplog)) == 7
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_old_words_of_a_listed_file_are_read_as_well(words, tmp_path):
    """Once each: the config itself, and every file of studies that it lists."""
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"studies": {"one": STUDY | {"held_back": 0.25}}}))
    made = with_listed_studies({"studies_of": [str(file)]}, {}, tmp_path)
    assert made["studies"]["one"] == STUDY | {"test_share": 0.25}


def test_a_method_is_named_only_where_its_model_was_renamed(words, caplog):
    """By its old name, which the rest of the config calls it by."""
    items = [{"model": "logistic"}, {"model": "mixture"}, {"model": "mixture", "weights": "lemma2"}]
    made = renamed.with_new_names({"studies": {"one": STUDY | {"models": items}}})
    assert made["studies"]["one"]["models"] == [
        {"model": "logistic"},
        {"name": "mixture", "model": "shifted_mixture"},
        {"name": "mixture-lemma2", "model": "shifted_mixture", "weights": "lemma2"},
    ]
    assert len(told(caplog)) == 2


def test_an_old_option_of_another_component_stays_a_mistake(words):
    made = {"studies": {"one": STUDY | {"models": [{"model": "logistic", "lag": 1}]}}}
    with pytest.raises(CounterweightError, match="Unknown key studies.one.models\\[0\\].lag"):
        config.resolve(made)


def test_an_old_word_wins_over_the_new_one_of_a_shipped_file(words, caplog):
    assert renamed.with_new_names({"repeats": 5, "runs": 2}) == {"repeats": 2}
    assert "repeats stands beside it and is not looked at" in told(caplog)[0]


def test_old_keys_of_a_persons_table_make_the_same_plan(words, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.csv").write_text(TABLE)
    new = {"table": "mine.csv", "outcome": "paid", "columns": {"ignore": ["job"]}}
    old = {"table": "mine.csv", "answer_blank": "paid", "columns": {"skip": ["job"]}}
    folders = {"results": "r", "data": "d"}
    expected = planned(folders | new, new, [])
    assert planned(folders | old, old, []) == expected
    assert "`skip` is now `ignore` in columns" in told(caplog)[1] and len(told(caplog)) == 2
    several, both = ({"tables": {"one": table}} for table in (new, old))
    assert planned(folders | both, both, []) == planned(folders | several, several, [])


def test_nothing_is_renamed_where_the_new_word_is_not_yet_known(monkeypatch):
    keys = {"config": {"repeats": "rounds"}, "study": {}, "table": {}}
    monkeypatch.setattr(renamed, "KEY_RENAMES", keys)
    monkeypatch.setattr(renamed, "OPTION_RENAMES", {"*": {"inertia": "momentum"}})
    given = {"repeats": 2, "studies": {"one": STUDY}}
    assert renamed.with_new_names(given) == given


def test_what_is_malformed_stays_for_the_schema(words):
    for odd in (
        {"studies": 3},
        {"studies": {"a": 1}},
        {"tables": [1]},
        {"model_defaults": {"x": 1}},
    ):
        assert renamed.with_new_names(odd) == odd
    with pytest.raises(CounterweightError):
        with_own_tables({"table": "a.csv", "columns": 3, "outcome": "b"}, {})


def test_every_entry_names_a_word_that_is_known_and_one_that_is_gone():
    """So that the table holds nothing that does nothing."""
    from counterweight.plan import components

    for which, names in renamed.OPTION_RENAMES.items():
        kinds = components.STAGES if which == "*" else [which[0]]
        chosen = [
            set(components.options(kind, name))
            for kind in kinds
            for name in components.registry(kind)
            if which == "*" or which[1] in ("*", name)
        ]
        for old, new in names.items():
            assert any(new in options and old not in options for options in chosen), (which, old)
    for kind, names in renamed.COMPONENT_RENAMES.items():
        known = components.registry(kind)
        assert not {*names} & {*known} and {*names.values()} <= {*known}
