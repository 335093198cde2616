"""Tables of one's own: ten lines of config become a data set and a study."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.datasets.own_table import read_typed
from counterweight.errors import CounterweightError
from counterweight.labeling.logs import kept_log, kept_numbers
from counterweight.plan import config, reading
from counterweight.plan.jobs import Paths
from counterweight.plan.own import _uncut, with_own_tables
from counterweight.plan.reading import updated, with_listed_studies
from counterweight.plan.stages import Stages
from counterweight.tables.table_reader import header_of
from delivering import Own

STUDIES = Path(__file__).resolve().parents[3] / "workflow" / "studies"
#: What is asked of the table of a survey; see the fixture `surveys`.
ASKED = {"table": "2023/survey.csv", "outcome": "y"}

LENDER = {"table": "my data/Applicants 2024.csv", "id": "customer", "outcome": "default"}


def planned(given):
    return config.resolve(with_own_tables({"results": "r", "data": "d"} | given, given))


def test_a_table_with_an_outcome_becomes_a_study_of_blanks():
    plan = planned(LENDER | {"score": "new.csv", "labeled": {"where": {"approved": True}}})
    (name,) = plan["studies"]
    study = plan["studies"][name]
    assert name == "applicants_2024" and study["task"] == "missing_outcomes"
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


def test_listed_studies_stand_beside_tables_where_they_are_named():
    base = yaml.safe_load((STUDIES.parents[1] / "config.yaml").read_text())

    def run(name="one", **keys):
        given = {"tables": {name: dict(LENDER)}} | keys
        return config.resolve(with_listed_studies(updated(base, given), given, STUDIES))["studies"]

    changed = run(studies={"curved": {"repeats": 3}, "adult_kept": {}})
    assert list(changed) == ["one", "curved", "adult_kept", "adult_married"]
    assert changed["curved"]["repeats"] == 3
    deng = run(studies_of=["deng_2023"])
    assert "one" in deng and "bank_filter" in deng and "curved" not in deng
    assert {*run(only=["one", "bank_filter"])} == {"one", "bank_filter"}
    # The table is meant where a listed study is called alike.
    assert run("churn", only=["churn"])["churn"]["task"] == "missing_outcomes"


@pytest.mark.parametrize("table", ["t.csv", {"sql": "select * from t", "url": "sqlite:///b.db"}])
@pytest.mark.parametrize(
    "asked",
    [
        {"outcome": {"column": "y", "positive": 1}, "promises": ["coverage(everyone) >= 0.2"]},
        {"offer": {"column": "fee"}, "answer": "came", "id": "who"},
        {"balance": ["region"], "id": "who"},
        {"reward": "y", "propensity": "p", "policies": {"new": "q"}},
        {"outcome": {"column": "y", "positive": 1}, "keep_rate": 0.1},
        {"outcome": "y"},
    ],
)
def test_the_name_of_a_table_draws_nothing(asked, table):
    entry = {"table": table} | asked
    plan = planned({"tables": {"one": entry, "two": dict(entry)}})
    one, two = (plan["studies"][name] for name in ("one", "two"))
    assert one["stream"] == two["stream"]
    assert not {"one", "two"} & {one["stream"], two["stream"]}


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
    models = [{"model": "gradient_boosting", "name": "boosting"}]
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
        (LENDER | {"weights": "heckman"}, "weights lacks the key 'exclusion'"),
        (
            {"tables": {"a": LENDER | {"weights": {"weighting": "shimodaira", "exponent": -3}}}},
            "tables.a.weights.exponent is -3",
        ),
        (LENDER | {"weights": {"weighting": "bickel", "depth": 2}}, "Unknown key weights.depth"),
        (LENDER | {"tilt": {"rate": float("nan")}}, "tilt.rate is nan: give a number"),
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


PROMISED = {"groups": {"f": {"sex": "f"}}, "promises": ["coverage(f) >= 0.4"], "outcome": "y"}
LOGGED = {"reward": "won", "propensity": "p", "policies": {"new": "p_new"}}
CHOSEN = {"model": "chosen", "name": "promised"}


@pytest.mark.parametrize(
    ("entry", "study", "lost"),
    [
        (PROMISED, {"models": [CHOSEN]}, "promises"),
        (PROMISED, {"models": [CHOSEN | {"constraints": PROMISED["promises"]}]}, None),
        (
            PROMISED | {"confidence": 0.9},
            {"models": [CHOSEN | {"constraints": PROMISED["promises"], "confidence": 0.8}]},
            "confidence",
        ),
        (
            PROMISED | {"slack": 0.02},
            {"models": [CHOSEN | {"constraints": PROMISED["promises"]}]},
            "slack",
        ),
        (LOGGED, {"models": [{"model": "given_policy", "probability": "p_old"}]}, "policies"),
        (LOGGED, {"evaluation": {"protocol": "own_values", "anytime": 1000}}, None),
        (
            {"reward": "won", "predictions": {"new": "p_new"}, "top": [0.05]},
            {"evaluation": {"protocol": "score_metrics"}},
            "top",
        ),
        (
            {"outcome": "y", "weights": "bickel"},
            {"weighting": [{"weighting": "lemma1"}], "models": [{"model": "logistic"}]},
            "weights",
        ),
        (
            {"outcome": "y", "weights": "bickel"},
            {"weighting": [{"weighting": "bickel"}], "models": [{"model": "logistic"}]},
            None,
        ),
        (
            {"balance": ["sex"], "max_distortion": 0.2},
            {"weighting": [{"weighting": "quadratic"}]},
            "max_distortion",
        ),
    ],
)
def test_what_a_key_asks_for_is_not_dropped_by_a_part_of_the_study(entry, study, lost):
    given = {"table": "t.csv", "id": "who", "study": study} | entry
    if lost is None:
        assert planned(given)["studies"]["t"]
        return
    with pytest.raises(CounterweightError, match=f"takes the place of what {lost} asks for"):
        planned(given)


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("x/My-Table.csv.gz", "my_table"),
        ("2024.parquet", "table_2024"),
        ("Ä.csv", "table"),
        ("adult.csv", "my_adult"),  # adult is a data set of the library
        ("report.csv", "my_report"),  # a folder of every run
    ],
)
def test_a_study_is_called_after_its_table(table, name):
    assert list(planned(LENDER | {"table": table})["studies"]) == [name]


BLANKS = {"table": "people.csv", "outcome": "y"}
OFFERS = {"table": "people.csv", "offer": "offer", "answer": "came"}
LOG = {"table": "log.csv", "reward": "clicked", "propensity": "p", "policies": {"new": "q"}}
PROMISES = BLANKS | {"promises": ["coverage(a) >= 0.8"], "groups": {"a": {"sex": "f"}}}
PANEL = {"table": "people.csv", "id": "id", "balance": ["sex"]}
SCORED = {"table": "log.csv", "reward": "clicked", "predictions": {"one": "p", "two": "q"}}


def test_commas_within_parentheses_end_no_promise():
    text = "[parity(a, b, c, 0.80), coverage(a) >= 0.1, 'parity(a, b, 1)', churn(everyone) <= 1]"
    told = [*_uncut(yaml.safe_load(text))]
    assert told == [
        "parity(a, b, c, 0.80)",
        "coverage(a) >= 0.1",
        "parity(a, b, 1)",
        "churn(everyone) <= 1",
    ]
    assert _uncut(yaml.safe_load("[parity(a, b, 1, 0.02)]")) == ["parity(a, b, 1, 0.02)"]
    assert _uncut([3, "a) <= 1"]) == [3, "a) <= 1"]


def test_headers_are_found_in_any_file_and_only_looked_at(tmp_path):
    header = "name;größe;c d"
    pd.DataFrame({"name": [1], "größe": [2], "c d": [3]}).to_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(f"{header}\n1;2;3\n".encode("cp1252"))
    (tmp_path / "wide.csv").write_bytes(f"{header}\n1;2;3\n".encode("utf-16"))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(f"\ufeff{header}\n1\n".encode()))
    (tmp_path / "parts" / "day=1").mkdir(parents=True)
    # A line that no table may have, and a byte that is no text, are beyond what is looked at.
    rest = b"1;2;3\n" * 9999 + b"1;\xff\n"
    (tmp_path / "parts" / "day=1" / "a.csv").write_bytes(f"{header}\n".encode() + rest)
    names = header.split(";")
    for path in ("t.parquet", "t.csv", "wide.csv", "t.csv.gz"):
        assert header_of(tmp_path / path, absent="") == names
    assert header_of(tmp_path / "parts", absent="") == [*names, "day"]
    for content in ("", "\n\n", "<html>\n"):
        (tmp_path / "bad.csv").write_text(content)
        with pytest.raises(CounterweightError, match="bad.csv"):
            header_of(tmp_path / "bad.csv", absent="")


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (BLANKS | {"id": "y"}, "id and outcome both name the column 'y'"),
        (BLANKS | {"weight": "y"}, "weight and outcome both name the column 'y'"),
        (OFFERS | {"answer": "offer"}, "offer and answer both name the column 'offer'"),
        (LOG | {"policies": {"new": "clicked"}}, "reward and policy new both name"),
        (SCORED | {"predictions": {"one": "clicked"}}, "reward and predictions one both name"),
        (PANEL | {"balance": ["id"]}, "id and balance both name the column 'id'"),
        (PROMISES | {"deployed": "y"}, "outcome and decision both name the column 'y'"),
        (BLANKS | {"id": "id", "columns": {"ignore": ["id"]}}, "and so does id: keep one"),
        (LOG | {"labeled": {"where": {"device": "x"}}}, "labeled has no meaning in a table that"),
        (OFFERS | {"labeled": {"where": {"sex": "f"}}}, "a query, of the rows that are meant"),
        (BLANKS | {"keep_rate": 0.5, "labeled": {"where": {"ok": 1}}}, "labeled has no meaning"),
        (BLANKS | {"alpha": 0.1}, "alpha has no meaning in a table that asks what the outcome"),
        (SCORED | {"by_partition": True}, "by_partition has no meaning in a table that asks how"),
        (PANEL | {"promises": ["recall(a) > 0"]}, "promises has no meaning"),
        # What a question does nothing by is not set aside in silence.
        (PANEL | {"weight": "w"}, "balances groups: leave it out, and put the column under"),
        (BLANKS | {"user": "who"}, "user has no meaning in a table that asks what the outcome"),
        (OFFERS | {"group": "who"}, "of who has several keep one, drawn at random."),
        (PROMISES | {"user": "who"}, "Rows count as independent here"),
        (PANEL | {"group": "who"}, "Rows count as independent here"),
        (LOG | {"time": "day"}, "time has no meaning in a table that asks what policies are worth"),
        (LOG | {"group": "who"}, "; whose rows belong together is said by user"),
        (SCORED | {"columns": {"missing": {"p": 9}}}, "columns.missing has no meaning for predic"),
        (
            LOG | {"by_partition": True, "columns": {"numbers": ["p"]}},
            "columns.numbers has no meaning for a log that is read by_partition",
        ),
        (BLANKS | {"outcome": {"column": "y", "negative": 0}}, "say that by outcome.positive"),
        (OFFERS | {"answer": {"column": "came", "negative": 0}}, "say that by answer.positive"),
    ],
)
def test_one_column_for_two_things_and_keys_without_a_meaning_are_refused(given, sentence):
    with pytest.raises(CounterweightError) as caught:
        planned(given)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


def test_a_column_may_have_two_roles_that_go_together():
    planned(BLANKS | {"id": "id", "group": "id", "labeled": {"where": {"y": [0, 1]}}})
    planned(PROMISES | {"deployed": "sex"})


@pytest.mark.parametrize("rate", [0.1, "rate"])
@pytest.mark.parametrize("kind", ["class", "number"])
def test_blank_outcomes_beside_a_keep_rate_are_refused_in_planning_and_in_the_job(
    rate, kind, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rows = [f"{at % 2},.5,{at}" for at in range(9)]
    Path("log.csv").write_text("\n".join(["y,rate,x", *rows, ",.5,9", "1,.5,3"]))
    given = {"table": "log.csv", "outcome": {"column": "y", "kind": kind}, "keep_rate": rate}
    Path("mine.yaml").write_text(yaml.safe_dump(given))
    assert reading.main(["mine.yaml"]) == 1
    told = capsys.readouterr().err
    assert "log.csv, line 11: the outcome 'y' is missing, and of a log that dropped zeros" in told
    # The table and the rule as the job has them; nothing is made of a blank.
    frame = read_typed("log.csv").frame
    y = frame["y"].to_numpy(float, na_value=np.nan)
    with pytest.raises(CounterweightError, match=r"missing in 1 of 11 rows \(first: row 9\)"):
        kept_log(frame, None, None, features=None, outcome=y, keep_rate=rate)
    with pytest.raises(CounterweightError, match=r"missing in 1 of 11 rows \(first: row 9\)"):
        kept_numbers(frame, {}, y, keep_rate=rate)


def test_codes_of_unknown_reach_the_rules_of_every_question():
    said = {"positive": 1, "negative": [0, 2], "missing": [9]}

    def study(given):
        (made,) = planned(given)["studies"].values()
        return made

    outcome = {"column": "y"} | said
    assert study(BLANKS | {"outcome": outcome})["outcome"]["options"].items() >= said.items()
    for more in (
        {"promises": PROMISES["promises"], "groups": PROMISES["groups"]},
        {"keep_rate": 1.0},
    ):
        found = study(BLANKS | {"outcome": outcome} | more)["outcome"]["options"]
        assert found["negative"] == [0, 2] and found["missing"] == [9] and found["value"] == 1
    found = study(OFFERS | {"answer": {"column": "came"} | said})["outcome"]["options"]
    assert found.items() >= said.items()
    decision = {"column": "ok"} | said
    found = study(PROMISES | {"deployed": decision})["labeling"]["options"]
    assert found["refused"] == [0, 2] and found["undecided"] == [9]
    found = study(LOG | {"reward": {"column": "clicked", "positive": "y", "negative": "n"}})
    assert found["outcome"]["options"]["negative"] == "n"
    with pytest.raises(CounterweightError, match="Unknown key studies.log.outcome.missing"):
        planned(LOG | {"reward": {"column": "clicked", "positive": "y", "missing": "?"}})


@pytest.mark.parametrize(
    "entry",
    [
        {"offer": "offer", "answer": "came"},
        {"outcome": "came"},
        {"outcome": "came", "promises": ["coverage(everyone) >= 0.2"]},
        {"outcome": "came", "keep_rate": 0.5},
        {"balance": ["sex"]},
    ],
)
def test_an_id_that_stands_twice_is_refused_whatever_is_asked(entry, tmp_path):
    n = 60
    frame = pd.DataFrame(
        {
            "id": [f"p{at}" for at in range(n - 1)] + ["p3"],
            "offer": np.arange(n) / 7.0,
            "came": np.resize([0, 1, 1], n),
            "sex": np.resize(["f", "m"], n),
            "x": np.cos(np.arange(n)),
        }
    )
    words = r"The id 'id' is 'p3' in line 5 and in line 61 \(2 rows share theirs with others\)"
    with pytest.raises(CounterweightError, match=words) as refused:
        Own(tmp_path, frame, {"id": "id"} | entry)
    # What is advised is not refused in its turn: rows of offers count as independent.
    group = "group" not in str(refused.value)
    assert group == ("offer" in entry) == str(refused.value).endswith("one, drawn at random.")
    frame.loc[n - 1, "id"] = "p59"
    Own(tmp_path, frame, {"id": "id"} | entry)


def test_rows_of_one_person_are_a_group(tmp_path):
    frame = pd.DataFrame({"id": np.arange(60) // 2, "came": np.resize([0, 0, 1], 60), "x": 1.5})
    frame["x"] *= np.sin(np.arange(60))
    Own(tmp_path, frame, {"id": "id", "group": "id", "outcome": "came"})
    log = frame.assign(p=0.5, q=0.5)
    Own(tmp_path, log, {"id": "id"} | LOG | {"reward": "came", "table": str(tmp_path / "own.csv")})


OWN_STUDY = {
    "dataset": "own_table",
    "features": {"recipe": "one_hot"},
    "outcome": {"rule": "no_outcome"},
    "labeling": {"rule": "sensitive", "group": ["a"]},
    "targets": ["general"],
    "evaluation": {"protocol": "filtering"},
    "selection": [{"selector": "split_tree", "alphas": [0.1]}],
    "weighting": [{"weighting": "quadratic"}],
    "models": [{"model": "balanced_filter", "weights": "quadratic", "classifier": "none"}],
}


@pytest.mark.parametrize(
    ("given", "results", "place"),
    [
        (ASKED, "results/survey", "results"),
        (ASKED | {"name": "first"}, "results/first", "results"),
        (ASKED | {"results": "results"}, "results", "results"),
        ({"tables": {"survey": ASKED}}, "results/survey", "results"),
        ({"tables": {"one": ASKED, "two": ASKED}}, "results/mine", "results/mine"),
        ({"tables": {"one": ASKED}, "results": "out"}, "out", "out"),
        (
            {"datasets": {"own_table": {"path": "2023/survey.csv"}}, "studies": {"s": OWN_STUDY}},
            "results/s",
            "results",
        ),
        ({"studies_of": ["mineiro_2010", "smith_elkan_2007"]}, "results", "results"),
    ],
)
def test_a_run_of_ones_own_tables_has_a_folder_of_its_own(surveys, given, results, place):
    plan = surveys(begin=False, **given)
    assert (plan["results"], plan["place"]) == (results, place)
    paths = Paths(plan)
    for name in plan["studies"]:
        assert paths.study(name).labels == f"{place}/{name}/labels.parquet"
    outputs = Stages(plan, STUDIES.parents[1] / "scripts").job("report").outputs
    assert ("claims" in outputs) == ("studies_of" in given)
    assert any("the-claims" in str(path) for path in outputs.values()) == ("claims" in outputs)


def test_a_second_table_of_one_name_is_refused_while_the_first_is_there(surveys):
    second = ASKED | {"table": "2024/survey.csv"}
    surveys(**ASKED)
    for begun in (second, second | {"id": "a"}):
        with pytest.raises(CounterweightError) as caught:
            surveys(**begun)
        assert str(caught.value) == (
            "results/survey holds what was made of 2023/survey.csv, which is still there, and the "
            "table survey is 2024/survey.csv now: set name to another word to keep both, or remove "
            "results/survey to replace it."
        )
    assert surveys(**second, name="later")["results"] == "results/later"
    # What a person names is theirs to say; of results alone, the name is still the table's.
    surveys(**second, name="survey")
    surveys(**ASKED, results="out")
    with pytest.raises(CounterweightError, match="out holds what was made of 2023/survey.csv"):
        surveys(**second, results="out")
    surveys(tables={"one": ASKED, "two": second})
    with pytest.raises(CounterweightError, match="set results to another word"):
        surveys(tables={"one": second, "two": second})
    surveys(tables={"one": second, "two": second}, results="results/mine")


def test_a_table_that_is_moved_copied_or_asked_something_else_goes_on_in_its_folder(surveys):
    surveys(**ASKED)
    surveys(**ASKED, labeled={"where": {"a": 2023}})
    Path("2024/survey.csv").write_bytes(Path("2023/survey.csv").read_bytes())
    surveys(**ASKED | {"table": "2024/survey.csv"})
    Path("2024/survey.csv").rename("survey.csv")
    surveys(**ASKED | {"table": "survey.csv"})
    surveys(**ASKED | {"table": str(Path("survey.csv").absolute())})
    Path("linked").symlink_to("2023")
    surveys(**ASKED, results="linked results")
    surveys(**ASKED | {"table": "linked/survey.csv"}, results="linked results")


def test_a_folder_that_no_run_of_ones_own_tables_made_is_left_alone(surveys):
    Path("results/survey").mkdir(parents=True)
    surveys(**ASKED, begin=False)
    Path("results/survey/labels.parquet").touch()
    with pytest.raises(CounterweightError, match="no run of tables of one's own made it"):
        surveys(**ASKED)
    surveys(**ASKED, begin=False, results="results")
    # A run that another workflow began writes nothing down, and goes on.
    Path("results/survey/logs").mkdir()
    surveys(**ASKED)


def test_a_table_that_stands_beside_the_config_is_found_there(tmp_path, monkeypatch):
    """As it is written where that is there; else by the folders of the config files, in turn."""
    here, first, second = (tmp_path / name for name in ("here", "first", "second"))
    for folder in (here, first, second):
        folder.mkdir()
    monkeypatch.chdir(here)
    (second / "applicants.csv").write_text("customer,default\n")
    asked = {"table": "applicants.csv", "outcome": "default"}

    def path(*folders):
        made = with_own_tables({"results": "r", "data": "d"} | asked, asked, folders)
        return made["datasets"]["applicants"]["path"]

    assert path() == path(first) == "applicants.csv"
    assert path(first, second) == "../second/applicants.csv"
    (first / "applicants.csv").write_text("customer,default\n")
    assert path(first, second) == "../first/applicants.csv"
    (here / "applicants.csv").write_text("customer,default\n")
    assert path(first, second) == "applicants.csv"
