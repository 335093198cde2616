"""Tables of one's own: ten lines of config become a data set and a study."""

from pathlib import Path

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.own import with_own_tables
from counterweight.plan.reading import updated, with_listed_studies

STUDIES = Path(__file__).resolve().parents[2] / "workflow" / "studies"

LENDER = {"table": "my data/Applicants 2024.csv", "id": "customer", "outcome": "default"}


def planned(given):
    return config.resolve(with_own_tables({"results": "r", "data": "d"} | given, given))


def test_a_table_with_an_outcome_becomes_a_study_of_blanks():
    plan = planned(LENDER | {"score": "new.csv", "labeled": {"where": {"approved": True}}})
    (name,) = plan["studies"]
    study = plan["studies"][name]
    assert name == "applicants_2024" and study["kind"] == "blanks"
    assert study["score"] == "new.csv"
    assert study["labeling"] == {"rule": "present", "options": {"where": {"approved": True}}}
    dataset = plan["datasets"][name]
    assert dataset["path"] == LENDER["table"]
    assert dataset["roles"]["id"] == "customer"
    assert dataset["roles"]["outcome"] == {"column": "default"}


def test_only_ones_own_studies_are_run():
    papers = {"studies_of": ["smith_elkan_2007"], "studies": {}}
    made = with_own_tables(papers | LENDER, LENDER)
    assert made["only"] == list(made["studies"]) == ["applicants_2024"]
    assert made["studies_of"] == []


def test_studies_that_stand_beside_tables_are_run_too():
    study = yaml.safe_load((STUDIES / "smith_elkan_2007.yaml").read_text())["studies"]["curved"]
    given = {"tables": {"one": dict(LENDER)}, "studies": {"mine": study, "one": {"repeats": 3}}}
    base = yaml.safe_load((STUDIES.parents[1] / "config.yaml").read_text())
    read = with_listed_studies(updated(base, given), given, STUDIES)
    assert list(read["studies"]) == read["only"] == ["one", "mine"]
    assert read["studies"]["one"]["repeats"] == 3
    given["only"] = ["mine"]
    assert with_listed_studies(updated(base, given), given, STUDIES)["only"] == ["mine"]
    with pytest.raises(CounterweightError, match="studies must be of type mapping"):
        config.check(
            with_listed_studies(base | given | {"studies": 3}, given | {"studies": 3}, STUDIES)
        )


def test_any_number_of_tables():
    both = {"tables": {"one": dict(LENDER), "two": LENDER | {"target": "unlabeled"}}}
    plan = planned(both)
    assert list(plan["studies"]) == ["one", "two"] == list(plan["datasets"])
    assert plan["studies"]["two"]["targets"] == ["unlabeled"]
    assert "lemma2-better_of_two" in plan["studies"]["two"]["weightings"]


def test_a_config_without_tables_is_left_alone():
    given = {"studies": {"a": 1}}
    assert with_own_tables(given, given) is given


def test_keys_of_a_study_take_the_place_of_what_is_chosen():
    models = [{"model": "boosting"}]
    plan = planned(LENDER | {"study": {"models": models, "title": "Ours"}})
    study = plan["studies"]["applicants_2024"]
    assert list(study["methods"]) == ["boosting"] and study["title"] == "Ours"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"table": "a.csv"}, "has no question yet: say which columns are"),
        ({"table": "a.csv", "propensity": "p"}, "propensity alone is none"),
        ({"table": "a.csv", "outcme": "y"}, "did you mean 'outcome'"),
        ({"table": 5, "outcome": "y"}, "table must be of type text or mapping, not integer"),
        ({"table": {"sql": "select 1"}, "outcome": "y"}, "table lacks the key 'url'"),
        (LENDER | {"outcome": {"positive": 1}}, "outcome lacks the key 'column'"),
        (LENDER | {"name": "Bad Name"}, "A table is called 'Bad Name': begin with a small letter"),
        (LENDER | {"name": "adult"}, "so is a data set of the library: set name"),
        (LENDER | {"target": "me"}, "target is 'me', which is not a choice"),
        ({"tables": {}}, "tables must be a mapping of names to tables"),
        ({"tables": {"a": {"table": "a.csv"}}}, "tables.a: the table has no question yet"),
        ({"tables": {"a": LENDER | {"score": 3}}}, "tables.a.score must be of type text"),
        ({"tables": {"a": LENDER}, "id": "customer"}, "id stands beside tables"),
        (
            LENDER | {"reading": {"decimal": ",", "thousands": ","}},
            "datasets.applicants_2024.reading: decimal and thousands are both ','",
        ),
        (
            LENDER | {"columns": {"numbers": [{"a": {"decimal": ".", "thousands": "."}}]}},
            "columns.numbers, 'a': decimal and thousands are both '.'",
        ),
    ],
)
def test_mistakes_are_told_in_a_sentence(given, sentence):
    with pytest.raises(CounterweightError) as caught:
        planned(given)
    assert sentence in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("x/My-Table.csv.gz", "my_table"),
        ("2024.parquet", "table_2024"),
        ("Ä.csv", "table"),
        ("adult.csv", "my_adult"),  # adult is a data set of the library
    ],
)
def test_a_study_is_called_after_its_table(table, name):
    assert list(planned(LENDER | {"table": table})["studies"]) == [name]
