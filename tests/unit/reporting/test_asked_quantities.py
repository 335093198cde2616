"""What each question of the standard run asks for stands in the first sentence of its answer.

All numbers are made up, so that an answer is told by what it goes by: the first sentence must have
other numbers where what is asked for was measured otherwise, and all else is as it was.
"""

import itertools
import re
import zlib
from pathlib import Path

import pandas as pd
import pytest
import yaml
from counterweight.plan.components import reference
from counterweight.plan.config import resolve
from counterweight.plan.reading import with_listed_studies
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.printed import load_items, told_answers
from counterweight.reporting.report_jobs import report_plan
from counterweight.tables.parquet import metrics_table, setting_name

ROOT = Path(__file__).resolve().parents[3]
CLAIMS = sorted((ROOT / "workflow" / "claims").glob("*.yaml"))
REPEATS = 6
#: What is asked for, as ``metric`` or ``metric of measure``, by question.
ASKED = {
    ("accuracy",): (
        "Do weights make up for labels of married people only?",
        "Do weights make up for labels of houses near the northern coast only?",
        "Does the answer change with the rule that fits the printed sizes?",
        "Does the noise that the paper adds to the features cost any accuracy?",
        "Do class mixtures gain from taking categories as categories?",
        "Do the class mixtures catch up once the yes-or-no features are left out?",
        "Do weights help a straight line that has to follow a curved boundary?",
        "Do weights help where the model is right anyway?",
        "What do weights do where chance alone decides who is labeled?",
        "Do weights make up for labels that go by features alone?",
        "How much do weights make up for where labels go by the outcome, too, a little?",
        "How much do weights make up for where labels go by the outcome, too, a lot?",
        "Do weights by Lemma 2 keep a model of old calls right for new ones?",
        "Can weights make up for labels that go by what is to be predicted?",
    ),
    ("label_effect",): ("Who can tell how labels were chosen where they go by the outcome alone?",),
    ("brier",): (
        "How many of the rows without a positive answer can be dropped before predictions suffer?",
        "How many of the rows without a click can be dropped before predictions suffer?",
        "Do metrics of a log that lost nine zeros in ten agree with those of all rows?",
    ),
    ("auc_bias",): (
        "How far is the AUC of a part of the rows from that of all rows?",
        "How far is the AUC of a part of the clicks and the rest from that of all rows?",
    ),
    ("auc",): (
        "Which share of positives should 2,000 training rows have?",
        "Which share of high incomes should 2,000 training rows have?",
        "Which share of clicks should 1,000 training rows have?",
    ),
    ("whole_value", "truth"): (
        "Does a log of random items tell what Thompson sampling earns?",
        "Does a log of Thompson sampling tell what random items earn?",
    ),
    tuple(f"error of {name}" for name in ("ips", "ips_lost", "dr", "snips")): (
        "Which estimate of a policy comes nearest to its known value when zeros are dropped?",
    ),
    ("rmse",): (
        "Does the choice model learn who accepts what when offers are drawn at random?",
        "Does it still learn that when offers depended on the features?",
        "Does it still learn that when each segment got one offer only?",
        "Does it still learn that when 2 in 100 accept?",
        "Does it still learn that when 10 in 100 accept?",
        "Does it still learn that when half accept?",
    ),
    ("components_chosen",): ("Does the choice model find 18 segments?",),
    ("best_offer", "revenue_optimal_true"): (
        "Which financial aid brings most revenue, learned from aid by a fixed rule?",
        "Which financial aid brings most revenue, when past aid varied a little?",
        "Which financial aid brings most revenue, when past aid varied a lot?",
    ),
    ("best_offer",): (
        "Which entry fee for the natural park brings most?",
        "Which payment for the national park brings most?",
    ),
    ("imbalance", "disclosivity"): (
        "How balanced over jobs can a sample be without telling anybody's job?",
        "How balanced over races can a sample be without telling anybody's race?",
        "Can a sample be balanced over races and over sexes at once?",
        "Can a sample have given shares of the jobs without telling anybody's job?",
    ),
    ("disclosivity_at_most", "imbalance"): (
        "What does a filter of a small survey promise, and does it matter how its tree is grown?",
    ),
    ("deterministic of ratio", "deterministic of error"): (
        "Can men get at most so many times the positive answers of women, and what does that cost?",
        "Can men and women with high income be found equally often, and what does that cost?",
    ),
    ("deterministic of ratio",): (
        "Can the highly educated get at most so many times the positive answers of others?",
        "Does the answer hold on the published split?",
        "Does what was asked hold on new rows when there are 1,000 to train on?",
        "Does what was asked hold on new rows when there are 5,000 to train on?",
    ),
    ("deterministic of ratio", "deterministic of ratio_false", "deterministic of error"): (
        "Can men and women get right and false alarms equally often, and what does that cost?",
    ),
    ("deterministic of churn", "deterministic of error"): (
        "Can a new model be better than the one in use and still change few answers?",
    ),
    ("deterministic of churn",): (
        "Can a model be trained again and again and change few answers each time?",
    ),
    ("deterministic of egregious",): (
        "Can examples be made to come out right that must not go wrong?",
    ),
    ("deterministic of coverage",): (
        "Can the share of positive answers among all be held where only married people are "
        "labeled?",
    ),
    ("deterministic of false_negative_rate",): (
        "How few positives are missed when false alarms are bounded?",
    ),
}
#: Questions that are answered by one of several: what of it stands in the sentence, in print.
NAMED = {
    "Which share": r"positives = 0\.\d+|natural share|balanced|\d % positives",
    "Which estimate": r", (.+) comes nearest to the value",
    "How many of the rows": r"(\d[\d.]* %) of the rows without ",
}
FIGURE = r"−?\d[\d,]*\.?\d*"


@pytest.fixture(scope="module")
def shipped():
    """The plan of the report on the standard run."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text(encoding="utf-8"))
    return report_plan(resolve(with_listed_studies(config, {}, ROOT / "workflow" / "studies")))


@pytest.fixture(scope="module")
def answers():
    return load_items(CLAIMS)[2]


ALL = {text: asked for asked, texts in ASKED.items() for text in texts}


def chance(*key):
    """A number between 0 and 1 that goes by a key."""
    return zlib.crc32(repr(key).encode()) / 2**32


class MadeUp:
    """Measurements of a study with made-up numbers; `turned` are those that are asked for.

    Each source has all metrics that first sentences go by, in all places where they look.
    """

    def __init__(self, study, plan, answers, turned=()):
        self.study, self.plan, self.turned = study, plan, turned
        self.rows, methods = {}, {one["id"]: one for one in plan["methods"]}
        for name, one in methods.items():
            self._of_method(name, one)
        for metric, target in (("starting_imbalance", "test"), ("rows_train", "")):
            self.add("labels", metric, target)
        self.add("labels", "reward_mean", "general", part="log")
        for answer in answers:
            self._of_rules(answer["values"])

    def _of_method(self, name, one):
        settings = self._settings(one)
        for setting, metric, target in itertools.product(
            settings, ("rows_trained", "chosen_share", *self.plan["columns"]), self.plan["targets"]
        ):
            self.add(name, metric, target, setting=setting)
        for setting in settings:
            self.add(name, "rows_bought", "general", setting=setting)
        protocol = self.plan["protocol"]["name"]
        if protocol == "ranking_resamples":
            for metric, rate in itertools.product(("bias", "spread", "covered"), (1.0, 0.1, 0.01)):
                self.add(name, f"auc_{metric}", "general", part="zeros", keep_rate=rate)
        if protocol == "policy_value":
            self.add(name, "whole_value", "general", measure="ips", keep_rate=1.0)
            self.add(name, "truth", "general")
        for metric, target, alpha in itertools.product(
            ("imbalance", "floor", "disclosivity", "acceptance_rate", "collected"),
            ("train", "test"),
            ("0", "0.1", "0.2") if protocol == "filtering" else (),
        ):
            self.add(name, metric, target, setting=f"alpha={alpha}")

    def _settings(self, one):
        if not one["sweep"]:
            return [""]
        grids = one["sweep"] if isinstance(one["sweep"], list) else [one["sweep"]]
        return [
            setting_name(dict(zip(grid, values, strict=True)))
            for grid in grids
            for values in itertools.product(*grid.values())
        ]

    def _of_rules(self, rules):
        places = ("measure", "setting", "part", "keep_rate")
        for rule in rules:
            for side in (rule["left"], rule["right"]):
                side = {"source": side} if isinstance(side, str) else side
                if not isinstance(side, dict):
                    continue
                side = {key: rule[key] for key in rule if key not in ("left", "right")} | side
                if side["study"] == self.study:
                    place = {key: side[key] for key in places if key in side}
                    self.add(side["source"], side["metric"], side.get("target", ""), **place)

    def add(self, source, metric, target, **place):
        key = (source, metric, target, *sorted(place.items()))
        named = f"{metric} of {place['measure']}" if place.get("measure") else metric
        turn = bool({metric, named} & {*self.turned})
        value = 0.3 + 0.4 * chance(self.study, turn, key)
        bound = next((m["role"] == "bound" for m in self.plan["methods"] if m["id"] == source), 0)
        if metric in self.plan["columns"] and bound:
            value += 0.3  # what is hidden is worth something
        self.rows.setdefault(source, {})[key] = [
            {"metric": metric, "target": target, "repeat": repeat, **place}
            | {"value": value + 0.002 * chance(self.study, turn, key, repeat)}
            for repeat in range(REPEATS)
        ]

    def frame(self):
        tables = [
            metrics_table(self.study, source, itertools.chain(*keys.values())).to_pandas()
            for source, keys in self.rows.items()
        ]
        return pd.concat(tables, ignore_index=True)


def first_sentence(shipped, answers, name, turned=()):
    """The first sentence of a study, of made-up numbers of all studies that it looks at."""
    others = {
        side["study"]
        for answer in answers
        for rule in answer["values"]
        for side in (rule, rule["left"], rule["right"])
        if answer["study"] == name and isinstance(side, dict) and "study" in side
    }
    metrics = pd.concat(
        MadeUp(one, shipped["studies"][one], answers, turned).frame()
        for one in {name: 0, **dict.fromkeys(sorted(others))}
    )
    told = told_answers([one for one in answers if one["study"] == name], metrics, shipped)
    plan = shipped["studies"][name]
    made = reference(plan["sheets"]["page"]).answer(StudyNumbers(name, plan, metrics))
    return told.get(name) or made.sentence


FILES = sorted((ROOT / "workflow" / "studies").glob("*.yaml"))
STUDIES = sorted(name for path in FILES for name in yaml.safe_load(path.read_text())["studies"])


def test_every_question_says_what_it_asks_for(shipped):
    asked = {study["question"] for study in shipped["studies"].values()}
    assert asked == {*ALL} and sorted(shipped["studies"]) == STUDIES


def test_declared_sentences_have_all_their_numbers(answers):
    told = [answer["study"] for answer in answers]
    assert len(told) == len(set(told))
    for answer in answers:
        labels = {rule["label"] for rule in answer["values"]}
        assert labels >= {*answer.get("nearest", labels)}
        labels |= {"nearest"} if "nearest" in answer else set()
        assert {*re.findall(r"\{(\w+)\}", answer["says"])} == labels


@pytest.mark.parametrize("name", STUDIES)
def test_the_first_sentence_has_what_is_asked_for(shipped, answers, name):
    question = shipped["studies"][name]["question"]
    told = first_sentence(shipped, answers, name)
    for one in ALL[question]:
        turned = first_sentence(shipped, answers, name, (one,))
        assert re.findall(FIGURE, told) != re.findall(FIGURE, turned), (one, told)
    for start, pattern in NAMED.items():
        assert not question.startswith(start) or re.search(pattern, told), told


@pytest.mark.parametrize(
    ("name", "asked"),
    [("eighteen_segments", "components_chosen"), ("kakadu_filter", "disclosivity_at_most")],
)
def test_the_sentence_of_the_kind_alone_would_be_found_out(shipped, answers, name, asked):
    others = [one for one in answers if one["study"] != name]
    told, turned = (first_sentence(shipped, others, name, turn) for turn in ((), (asked,)))
    assert re.findall(FIGURE, told) == re.findall(FIGURE, turned)
