"""Studies of classifiers: what goes together with rows that are rejected, and what is compared."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import config
from counterweight.plan.stages import Stages
from counterweight.tables.parquet import metrics_table, write_table
from counterweight.tasks import classification

STUDY = {
    "dataset": "adult",
    "features": {"recipe": "adult_binary"},
    "outcome": {"rule": "equals", "column": "income", "value": ">50K"},
    "labeling": {"rule": "married"},
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma1"}],
    "models": [
        {"model": "logistic", "name": "plain"},
        {"model": "logistic", "name": "weighed", "weights": "lemma1"},
        {"model": "logistic", "name": "seeing", "oracle": True, "oracle_rows": "labeled"},
    ],
}


def planned(**given):
    return config.resolve({"results": "r", "data": "d", "studies": {"mine": STUDY | given}})


def job(plan, stage, item):
    return Stages(plan, "scripts").job(stage, "mine", item)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_chances_are_swept_where_all_test_rows_are_there(rate):
    plan = planned(keep_rate=rate)
    study = plan["studies"]["mine"]
    whole = rate == 1
    assert ("gamma" in study["figures"]) == whole
    plain, weighed, seeing = (
        job(plan, "evaluate", name) for name in ("plain", "weighed", "seeing")
    )
    assert bool(plain.inputs["labels"]) == whole == bool(weighed.inputs["labels"])
    assert not seeing.inputs["labels"]
    assert bool(plain.inputs["rates"]) == (not whole) == classification._thinned(study)


def test_a_model_that_begins_from_others_is_judged_beside_them_on_all_rows():
    shifted = {"model": "shifted_mixture", "name": "shifted"}
    models = [*STUDY["models"], shifted]
    lemma2 = [*STUDY["weighting"], {"weighting": "lemma2"}]
    for rate, begun in ((1.0, True), (0.5, False)):
        plan = planned(models=models, weighting=lemma2, keep_rate=rate)
        assert bool(job(plan, "evaluate", "shifted").given["begun"]) == begun


def test_an_oracle_of_as_many_rows_says_so_to_its_job():
    plan = planned()
    assert job(plan, "train", "seeing").given["as_many_rows"]
    assert "as_many_rows" not in job(plan, "train", "plain").given


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"keep_rate": 0.5, "evaluation": {"protocol": "ranking_resamples"}}, "rejects rows"),
        ({"user": "native-country", "evaluation": {"protocol": "ranking_resamples"}}, "user"),
        ({"rehearse": {"copies": 2}}, "the truth of adult is known: leave rehearse out"),
        ({"keep_rate": 0.5, "deliver": {"method": "plain"}}, "keep_rate"),
        ({"deliver": {"method": "seeing"}}, "sees what is hidden"),
        ({"deliver": {"method": "plain", "setting": "l2=1"}}, "does not have: choose one of"),
        ({"deliver": {"setting": ""}}, "needs a method, or methods under among"),
        ({"deliver": {"among": ["plain", "wieghed"]}}, "did you mean 'weighed'"),
        ({"deliver": {"among": ["plain", "seeing"]}}, "sees what is hidden"),
        ({"evaluation": {"protocol": "metrics", "against": "plane"}}, "none of its methods"),
    ],
)
def test_what_does_not_go_together_is_refused(given, told):
    with pytest.raises(CounterweightError, match=told):
        planned(**given)


def delivered(given):
    return Stages(planned(deliver=given), "scripts").job("deliver", "mine")


def test_of_several_methods_the_one_with_the_least_log_loss_on_test_rows_is_delivered(tmp_path):
    asked = delivered({"among": ["plain", "weighed"]})
    assert [*asked.given["methods"]] == ["plain", "weighed"] == asked.given["among"]
    assert [Path(one).stem for one in asked.inputs["judged"]] == ["plain", "weighed"]
    # A method that is named goes before.
    named = {"method": "plain", "among": ["plain", "weighed"]}
    alone = delivered(named)
    assert "judged" not in alone.inputs and alone.given["method"] == "plain"
    paths = []
    for name, losses in (("plain", (0.4, 0.6)), ("weighed", (0.3, 0.6))):
        records = [
            {"metric": metric, "repeat": repeat, "target": "general", "value": value}
            for repeat, loss in enumerate(losses)
            for metric, value in (("log_loss", loss), ("auc", 0.9))
        ]
        records.append(records[0] | {"part": "top=0.1", "value": 9.0})
        paths.append(tmp_path / f"{name}.parquet")
        write_table(paths[-1], metrics_table("mine", name, records))
    made = SimpleNamespace(given=asked.given, input=SimpleNamespace(judged=paths))
    assert classification._losses(made) == pytest.approx({"plain": 0.5, "weighed": 0.45})


def test_a_method_is_compared_with_another_and_not_with_itself():
    plan = planned(evaluation={"protocol": "metrics", "against": "plain"})
    assert job(plan, "evaluate", "plain").given["asked"] == []
    assert job(plan, "evaluate", "weighed").given["asked"] == ["compared_with"]


def test_columns_are_metrics_that_are_asked_for():
    given = {"results": "r", "data": "d", "metrics": ["accuracy", "brier"]}
    plan = config.resolve(given | {"studies": {"mine": STUDY}})
    assert plan["studies"]["mine"]["columns"] == ["accuracy", "brier"]
    with pytest.raises(CounterweightError, match="columns shows auc, which metrics does not list"):
        config.resolve(given | {"studies": {"mine": STUDY | {"columns": ["accuracy", "auc"]}}})


@pytest.mark.parametrize(
    "given",
    [
        {"deliver": {"method": "plain"}},
        {"evaluation": {"protocol": "ranking_resamples"}},
        {"labeling": {"rule": "kept_log", "keep_rate": 0.1}, "selection": [], "weighting": []}
        | {"models": STUDY["models"][:1], "targets": ["general"]},
    ],
)
def test_what_rejected_rows_forbid_is_allowed_where_all_are_there(given):
    assert planned(**given)["studies"]["mine"]["keep_rate"] == 1
