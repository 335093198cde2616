"""What the report knows of measures, labels and roles is declared; names decide nothing."""

import copy
import json
from pathlib import Path

import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import parse_constraint, parse_expression
from counterweight.plan import components, measures
from counterweight.plan.config import resolve
from counterweight.plan.methods import in_print
from counterweight.plan.reading import with_listed_studies
from counterweight.reporting.report_jobs import OWN_FAMILY, report_plan
from counterweight.reporting.wording import Measure, measure_of, packed, unpacked

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "workflow" / "studies"
#: What a whole constraint study takes: everything else has defaults.
RATES = {
    "dataset": "a9a",
    "features": {"recipe": "as_is"},
    "outcome": {"rule": "equals", "column": "label", "value": 1},
    "labeling": {"rule": "everyone"},
    "targets": ["general"],
    "samples": {"men": {"column": "x73", "value": 1}, "women": {"column": "x72", "value": 1}},
    "evaluation": {
        "protocol": "rates",
        "measures": {"m1": "error(everyone)", "m2": "coverage(men) / coverage(women)"},
        "equal": {"measure": "m2", "of": "m1", "values": [1.0]},
    },
    "baseline": "first",
    "models": [
        {"model": "constrained", "name": "first", "steps": 1},
        {
            "model": "constrained",
            "name": "second",
            "constraints": ["coverage(men) <= coverage(women) / kappa"],
            "sweep": {"kappa": [0.5, 1.0]},
        },
        {"model": "group_thresholds", "name": "third", "groups": ["men", "women"]},
    ],
}
LABELED = {
    "dataset": "adult",
    "features": {"recipe": "adult_binary"},
    "outcome": {"rule": "equals", "column": "income", "value": ">50K"},
    "labeling": {"rule": "married"},
    "selection": [
        {"selector": "logistic", "name": "a"},
        {"selector": "logistic", "name": "b", "calibration": "none"},
        {"selector": "logistic", "name": "c", "label": "my own"},
    ],
    "weighting": [{"weighting": "lemma1"}],
    "models": [
        {"model": "logistic", "name": "plain"},
        {"model": "logistic", "name": "weighted", "weights": "lemma1"},
        {"model": "logistic", "name": "other", "weights": "lemma1", "selector": "b"},
        {"model": "logistic", "name": "seeing", "oracle": True},
        {"model": "logistic", "name": "free", "l2": 0.5},
        {"model": "logistic", "name": "said", "l2": 2.0, "label": "As said", "role": "peer"},
        {"model": "generative", "name": "moved"},
    ],
}


def shown(study, **config):
    """The report's part of the plan of one study, and of the config."""
    plan = resolve({"studies": {"mine": study}, **config})
    whole = report_plan(plan)
    return whole["studies"]["mine"], whole


@pytest.fixture(scope="module")
def shipped():
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    return resolve(with_listed_studies(config, {}, STUDIES))


def test_every_declared_measure_is_one_with_a_plain_meaning():
    assert len(measures.shared()) > 200
    for metric, entry in measures.shared().items():
        measure = Measure(**entry)
        assert measure.label and measure.meaning.endswith("."), metric
        assert measure.better in ("more", "less", ""), metric
        assert not measure.percent or measure.unit in ("share", ""), metric
        assert "\N{EM DASH}" not in measure.meaning, metric


def test_a_measure_declared_in_two_ways_is_refused(monkeypatch):
    with pytest.raises(CounterweightError, match="declares the metric 'auc' again"):
        measures._add(copy.deepcopy(measures.shared()), {"auc": {"label": "area"}}, "mine")


@pytest.mark.parametrize("kind", ["model", "weighting", "selector", "labeling", "protocol"])
def test_every_component_has_a_label(kind):
    for name in components.registry(kind):
        assert components.declared(kind, name, "LABEL"), name


@pytest.mark.parametrize(
    ("text", "label", "unit", "better", "percent"),
    [
        ("error(everyone)", "error", "share", "less", True),
        ("error(d1 | d2)", "error on d1 or d2", "share", "less", True),
        ("true_positive_rate(old & poor)", "recall on old and poor", "share", "more", True),
        ("coverage(a)", "coverage on a", "share", "", True),
        ("coverage(a) / coverage(b)", "coverage ratio, a to b", "", "", False),
        ("recall(a) - recall(b)", "recall difference, a minus b", "share", "", True),
        ("false_positives(a)", "false positives on a", "rows", "less", False),
        ("error(a) + 2 * churn(b)", "error(a) + 2 * churn(b)", "", "", False),
        ("error(a) + churn(b)", "error(a) + churn(b)", "", "less", False),
        ("deployed_recall(a)", "deployed recall on a", "share", "more", True),
        ("2", "2", "", "", False),
    ],
)
def test_a_rate_is_told_by_its_expression(text, label, unit, better, percent):
    study = {"evaluation": {"options": {"measures": {"coverage": text}}}, "measures": {}}
    assert measures.measure_labels(study) == {"coverage": label}
    for metric in ("deterministic", "randomised", "deployed", "gap"):
        found = measure_of(measures.of_rates(study), metric, "coverage")
        assert (found.unit, found.percent) == (unit, percent)
        assert found.better == ("" if metric == "gap" else better)
        assert label in found.label and found.meaning.endswith(".")


def test_a_ratio_is_no_share_whatever_it_is_called():
    rates = {"error": "recall(men) / recall(women)", "error_ratio": "error(men)"}
    study, _ = shown(RATES | {"evaluation": {"protocol": "rates", "measures": rates}})
    assert measure_of(study["measures"], "deterministic", "error").told == ("", 1.0)
    assert measure_of(study["measures"], "deterministic", "error_ratio").told == ("points", 100.0)


def test_the_config_has_the_last_word_on_a_measure():
    said = {"m1": {"label": "my error", "better": "more"}, "auc": {"label": "area", "digits": 1}}
    study, _ = shown(RATES | {"measures": said | {"new_metric": {"label": "new"}}})
    known = study["measures"]
    assert known["deterministic of m1"]["label"] == "deterministic my error"
    assert known["randomised_at_equal of m1"]["label"] == (
        "randomised my error at equal coverage ratio, men to women"
    )
    assert known["deterministic of m1"]["better"] == "more"
    assert known["deterministic of m1"]["unit"] == "share"
    assert (known["auc"]["label"], known["auc"]["digits"]) == ("area", 1)
    assert known["new_metric"] == {"label": "new"}
    assert study["labels"]["measure"]["m1"] == "my error"


@pytest.mark.parametrize(
    ("constraint", "measure", "asked"),
    [
        ("coverage(a) <= coverage(b) / k", "coverage(a) / coverage(b)", ("k", "at_most_inverse")),
        ("coverage(b) >= k * coverage(a)", "coverage(a) / coverage(b)", ("k", "at_most_inverse")),
        ("churn(d) <= t", "churn(d)", ("t", "at_most")),
        ("recall(d) >= t", "recall(d)", ("t", "at_least")),
        ("recall(d) >= deployed_recall(d)", "recall(d)", None),
        ("recall(d) >= 0.9", "recall(d)", None),
        ("error(d) + churn(d) <= t", "error(d)", None),
    ],
)
def test_what_is_asked_is_read_from_the_constraint(constraint, measure, asked):
    study = {
        "evaluation": {"options": {"measures": {"x": "error(none)", "y": measure}}},
        "methods": {"m": {"options": {"constraints": [constraint]}}},
    }
    found = measures.asked_of(study)
    assert parse_constraint(constraint) and parse_expression(measure)
    assert found == (asked and {"measure": "y", "option": asked[0], "form": asked[1]})


def test_what_shipped_studies_ask_is_read_from_their_constraints(shipped):
    found = {
        name: study["evaluation"]["options"].get("asked")
        for name, study in shipped["studies"].items()
    }
    ratio = {"measure": "ratio", "option": "kappa", "form": "at_most_inverse"}
    churn = {"measure": "churn", "option": "target", "form": "at_most"}
    assert found["fairness_sex"] == ratio and found["churn"] == churn
    assert sum(asked is not None for asked in found.values()) > 6


def test_evaluation_is_told_what_is_asked_of_measures_of_other_names():
    plan = resolve({"studies": {"mine": RATES}})
    asked = {"measure": "m2", "option": "kappa", "form": "at_most_inverse"}
    assert plan["studies"]["mine"]["evaluation"]["options"]["asked"] == asked
    # A measure called ratio is nothing special, whatever it measures.
    rates = {"ratio": "error(men) / error(women)", "m2": "coverage(men) / coverage(women)"}
    named = RATES | {"evaluation": {"protocol": "rates", "measures": rates}}
    study = resolve({"studies": {"mine": named}})["studies"]["mine"]
    assert study["evaluation"]["options"]["asked"] == asked
    assert shown(named)[0]["protocol"]["asked"] == asked


def test_names_of_studies_methods_and_measures_decide_nothing():
    def told(study, first, second, m1, m2):
        given = json.loads(
            json.dumps(RATES)
            .replace('"first"', f'"{first}"')
            .replace('"second"', f'"{second}"')
            .replace('"m1"', f'"{m1}"')
            .replace('"m2"', f'"{m2}"')
        )
        plan = resolve({"studies": {study: given}})
        own = {"plan": plan["studies"][study], "rates": plan["rates"]}
        own["page"] = report_plan(plan)["studies"][study]
        # Labels are names in words.
        return json.dumps(own, default=str).lower()

    unlike = ("qq0", "qq1", "qq2", "qq3", "qq4")
    meaning = ("general", "baseline", "winter", "churn", "ratio")
    expected = told(*unlike)
    for name, other in zip(unlike, meaning, strict=True):
        expected = expected.replace(name, other)
    assert told(*meaning) == expected


def test_labels_are_composed_of_what_components_are_called():
    study, _ = shown(LABELED)
    assert [one["label"] for one in study["methods"]] == [
        "Logistic regression",
        "Logistic regression (Lemma 1)",
        "Logistic regression (Lemma 1, logistic regression (calibration none))",
        "Logistic regression (oracle)",
        "Logistic regression (l2 = 0.5)",
        "As said",
        "Class mixtures",
    ]
    assert [one["label"] for one in study["selectors"]] == [
        "logistic regression",
        "logistic regression (calibration none)",
        "my own",
    ]
    assert study["weightings"][2]["label"] == "Lemma 1 by my own"
    assert study["labeling"] == "only married people are labeled"


def test_roles_follow_from_main_baseline_oracle_and_model():
    study, _ = shown(LABELED | {"baseline": "plain", "main": "weighted"})
    roles = {one["id"]: one["role"] for one in study["methods"]}
    assert roles == {
        "plain": "baseline",
        "weighted": "main",
        "other": "method",
        "seeing": "bound",
        "free": "method",
        "said": "peer",
        "moved": "method",
    }
    study, _ = shown(RATES)
    assert [one["role"] for one in study["methods"]] == ["baseline", "main", "peer"]
    assert study["main"] == "second"
    with pytest.raises(CounterweightError, match="main is 'wieghted'.*did you mean 'weighted'"):
        shown(LABELED | {"main": "wieghted"})


def test_labels_do_not_go_by_names():
    """Every method, selector and measure renamed: the plan says the same with other names."""
    plain, _ = shown(RATES)
    text = json.dumps(RATES)
    for old, new in (("first", "erster"), ("second", "zweiter"), ("third", "dritter")):
        text = text.replace(f'"{old}"', f'"{new}"')
    text = text.replace('"m1"', '"error_ratio"').replace('"m2"', '"churned"')
    renamed, _ = shown(json.loads(text))
    for key in ("label", "role", "rule", "values"):
        assert [one[key] for one in plain["methods"]] == [one[key] for one in renamed["methods"]]
    assert list(plain["measures"].values()) == list(renamed["measures"].values())
    assert list(plain["labels"]["measure"].values()) == list(renamed["labels"]["measure"].values())


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("learner", "sgd", "SGD regression"),
        ("keep_rate", 0.5, "keep rate = 0.5"),
        ("share", "natural", "share natural"),
        ("standardise", True, "standardise"),
        ("standardise", False, "without standardise"),
        ("constraints", ["a <= b"], "a <= b"),
        ("constraints", ["coverage(male) <= coverage(female)"] * 2, "constraints of its own"),
        ("groups", [1, 2], "groups of its own"),
        ("groups", None, "without groups"),
        ("groups", [], "without groups"),
    ],
)
def test_an_option_in_print(option, value, text):
    assert in_print(option, value, {"learner": {"sgd": "SGD regression"}}) == text


def test_methods_that_share_a_label_are_told_apart():
    models = [{"model": "logistic", "name": name} for name in ("one", "two")]
    study, _ = shown(LABELED | {"models": models})
    assert [one["label"] for one in study["methods"]] == [
        "Logistic regression [one]",
        "Logistic regression [two]",
    ]


def test_families_have_titles_and_questions(shipped):
    _, whole = shown(LABELED)
    assert whole["families"] == {OWN_FAMILY: {"title": "Your studies", "question": ""}}
    _, whole = shown(LABELED | {"family": "my_trees"}, families={"my_trees": {"question": "Why?"}})
    assert whole["families"] == {"my_trees": {"title": "My trees", "question": "Why?"}}
    families = report_plan(shipped)["families"]
    assert list(families) == [
        "selection_bias",
        "subsampled_evaluation",
        "predictive_choice",
        "balanced_filtering",
        "dataset_constraints",
    ]
    assert all(one["question"].endswith("?") for one in families.values())


def test_shipped_studies_have_a_question_and_labels_of_their_own(shipped):
    for name, study in report_plan(shipped)["studies"].items():
        assert study["question"].endswith("?"), name
        labels = [one["label"] for one in study["methods"]]
        assert len({*labels}) == len(labels), name
        assert not any(one["id"] in one["label"] and "_" in one["id"] for one in study["methods"])
        assert [one["role"] for one in study["methods"]].count("main") <= 1, name
        assert study["main"] in [one["id"] for one in study["methods"]], name


def test_titles_of_families_stand_in_files_of_studies(tmp_path):
    (tmp_path / "some.yaml").write_text(
        "families: {f: {title: Some, question: 'What?'}}\nstudies: {a: {x: 1}}\n"
    )
    config = {"studies_of": ["some"], "families": {"f": {"title": "Mine"}}}
    read = with_listed_studies(config, {}, tmp_path)
    assert read["families"] == {"f": {"title": "Mine", "question": "What?"}}
    (tmp_path / "some.yaml").write_text("families: []\nstudies: {a: {x: 1}}\n")
    with pytest.raises(CounterweightError, match="families in the file of studies .* mapping"):
        with_listed_studies(config, {}, tmp_path)


def test_measures_are_told_once_in_a_job(shipped):
    whole = report_plan(shipped)
    small = packed(whole)
    assert unpacked(small)["studies"] == whole["studies"]
    assert unpacked(json.loads(json.dumps(small)))["studies"] == whole["studies"]
    assert len(json.dumps(small)) < len(json.dumps(whole)) / 2


def test_labels_roles_and_questions_reach_no_job_that_computes(shipped):
    from counterweight.plan.stages import Stages

    def specs(config):
        plan = resolve(config)
        stages, study = Stages(plan, ROOT / "scripts"), plan["studies"]["mine"]
        found = {"label": stages.spec("label", "mine")}
        found |= {name: stages.spec("select", "mine", name) for name in study["selectors"]}
        found |= {name: stages.spec("weigh", "mine", name) for name in study["weightings"]}
        for name in study["methods"]:
            found[f"train {name}"] = stages.spec("train", "mine", name)
            found[f"evaluate {name}"] = stages.spec("evaluate", "mine", name)
        return found

    said = copy.deepcopy(LABELED)
    for index, one in enumerate([*said["models"], *said["selection"]]):
        one["label"] = f"Label {index}"
    said["models"][2]["role"] = "main"
    said |= {"question": "What?", "measures": {"auc": {"label": "area"}}, "main": "moved"}
    families = {OWN_FAMILY: {"title": "Some"}}
    other = specs({"studies": {"mine": said}, "families": families})
    assert specs({"studies": {"mine": LABELED}}) == other
