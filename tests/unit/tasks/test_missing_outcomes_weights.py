"""A table of one's own with any weighting: chosen by one key, computed, learned with, saved."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.components import assumed, declared_assumption
from counterweight.plan.stages import Stages
from counterweight.tables.parquet import read_columns, read_table
from counterweight.tasks.missing_outcomes import own_study
from counterweight.weighting.importance_weights import Rows
from counterweight.weighting.outcome_selection import heckman_influence, heckman_mean
from delivering import SCRIPTS, Own, delivered, people

#: What a weighting needs to be told beside its name.
TOLD = {"rosset": {"features": ["age"], "moments": "squares"}, "heckman": {"exclusion": "age"}}
WEIGHTINGS = [
    name
    for name in components.registry("weighting")
    if components.task_of("weighting", name) == "classification"
    # Ratios of other packages are tried where those are, see tests/workflow/test_benchmark.py.
    and name != "peer_ratio"
]
SMALL = {
    "models": [{"model": "logistic"}, {"model": "logistic", "weights": "chosen"}],
    "selection": [{"selector": "logistic"}],
}


@pytest.mark.parametrize(
    ("told", "label"),
    [
        ({"kind": "number"}, "Linear regression"),
        ({"kind": "class"}, "Logistic regression"),
        ({"positive": "yes"}, "Logistic regression"),
        ({}, "Linear model"),
    ],
)
def test_the_linear_model_is_called_by_what_is_told_of_the_outcome(told, label):
    models = own_study({"outcome": {"column": "y"} | told})["models"]
    assert [one["label"] for one in models[:2]] == [label, f"{label}, weighted"]


@pytest.mark.parametrize("name", WEIGHTINGS)
def test_each_weighting_gives_weights_of_mean_one(name, tmp_path):
    entry = {"weights": {"weighting": name, "name": "chosen"} | TOLD.get(name, {})}
    own, _ = delivered(tmp_path, people(400, 3), target="unlabeled", study=SMALL, **entry)
    identity, *further = own.study["weightings"]
    # Lemma 1 leads to everyone: those without an outcome are answered for by weights to them.
    assert further == (["lemma2-logistic"] if name == "lemma1" else [])
    spec = own.study["weightings"][identity]
    if "target" in spec["options"]:
        assert spec["target"] == "unlabeled"
    weights = read_columns(own.at.weights(identity))["weight"]
    assert (weights >= 0).all() and weights.std() > 0
    assert weights.mean() == pytest.approx(1)
    facts = load(own.at.folder).facts
    assert facts["assumes"] == assumed(declared_assumption(name), spec["options"])
    assert facts["rests_on"] == [facts["assumes"]["rests"]]


def chosen(rows, seed):
    """People of whom those with an outcome were chosen by what no column shows, and by `far`."""
    rng = np.random.default_rng(seed)
    age, far = rng.normal(size=(2, rows))
    cause, unseen = rng.multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]], rows).T
    y = 0.3 + 0.8 * age + cause > 0
    seen = 0.5 + 0.3 * age + 0.5 * far + unseen > 0
    columns = {"who": np.arange(rows), "age": age.round(3), "far": far.round(3)}
    return pd.DataFrame(columns | {"y": np.where(seen, y * 1.0, np.nan)}), y, seen


def test_an_answer_by_an_instrument_names_it_and_has_the_error_of_both_steps(tmp_path):
    frame, y, seen = chosen(2000, 6)
    weights = {"weighting": "heckman", "name": "chosen", "exclusion": "far"}
    told = {"weights": weights, "target": "unlabeled", "study": SMALL}
    own, files = delivered(tmp_path, frame, **told)
    first = load(own.at.folder).facts["assumes"]["if"]
    assert first.startswith('If "far" has no part in the outcome given the other columns')
    made = read_table(files["metrics"])
    made = made[(made["metric"] == "target_rate") & (made["part"] == "")]
    made = made.set_index("variable")
    assert made.loc["low", "value"] < y[~seen].mean() < made.loc["high", "value"]
    X, table = frame[["age", "far"]].to_numpy(), read_table(files["scores"])
    residual = (frame["y"] - table["cross_validated"]).to_numpy()[seen]
    rows = Rows(X[seen], y[seen] * 1.0, X[~seen], names=("age", "far"))
    parts = heckman_influence(rows, residual, np.ones(seen.sum()), exclusion="far", most=50.0)
    p = table["estimate"][~seen]
    error = np.sqrt(sum(part @ part for part in parts) + (p * (1 - p)).sum() / len(p) ** 2)
    assert made.loc["", "standard_error"] == pytest.approx(error, rel=1e-3)
    weight = read_columns(own.at.weights("chosen"))["weight"]
    given = weight / weight.sum() * (residual - np.average(residual, weights=weight))
    assert error > 2 * np.sqrt(given @ given)


def test_a_number_by_an_instrument_has_the_mean_of_the_model_of_selection(tmp_path):
    rng, rows = np.random.default_rng(3), 1500
    age, far = rng.normal(size=(2, rows))
    cause, unseen = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], rows).T
    y, seen = 0.3 + 0.8 * age + cause, 0.5 * age + far + unseen > 0
    columns = {"who": np.arange(rows), "age": age.round(3), "far": far.round(3)}
    frame = pd.DataFrame(columns | {"y": np.where(seen, y, np.nan)})
    weights = {"weighting": "heckman", "name": "chosen", "exclusion": "far"}
    X, made = frame[["age", "far"]].to_numpy(), {}
    kept = Rows(X[seen], y[seen], X[~seen], names=("age", "far"))
    mean, *parts = heckman_mean(kept, np.ones((~seen).sum()), exclusion="far")
    for target in ("unlabeled", "everyone"):
        told = {"weights": weights, "target": target, "study": SMALL}
        own, files = delivered(tmp_path, frame, **told)
        table, found = read_table(files["scores"]), read_table(files["metrics"])
        assert table["estimate"][~seen].mean() == pytest.approx(mean, rel=1e-6)
        assert "by the model of selection itself" in " ".join(load(own.at.folder).facts["why"])
        found = found[found["metric"] == "target_mean"]
        part = found[found["part"] == ("" if target == "unlabeled" else "unlabeled")]
        made[target] = part.set_index("variable")["value"]
        error = part.set_index("variable").loc["", "standard_error"]
        assert error > np.sqrt(sum(one @ one for one in parts))
    assert made["everyone"][""] == pytest.approx(made["unlabeled"][""])
    # Rows in time have levels of their own, which such a move would not reach.
    frame["day"] = rng.permutation(rows)
    own, _ = delivered(tmp_path, frame, weights=weights, time="day", study=SMALL)
    assert "by the model of selection itself" not in " ".join(load(own.at.folder).facts["why"])
    # It is within three errors of the truth, and what like rows say is more than six from it.
    like = np.polyval(np.polyfit(age[seen], y[seen], 1), age[~seen]).mean()
    assert abs(mean - y[~seen].mean()) < 3 * error < 6 * error < abs(like - y[~seen].mean())


#: A combination of weighted fits, as a table of one's own has it.
COMBINED = SMALL | {
    "models": [
        {"model": "logistic"},
        {"model": "logistic", "weights": "chosen", "name": "led"},
        {"model": "stacked", "name": "combined", "parts": ["led"]},
    ]
}


def by_instrument(rows, seed, number):
    """Columns and outcomes of people, and who has one: by an unseen cause and by `far`."""
    rng = np.random.default_rng([51, seed])
    age, far = rng.normal(size=(2, rows))
    cause, unseen = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], rows).T
    y = 0.6 * age + cause
    columns = {"who": np.arange(rows), "age": age.round(4), "far": far.round(4)}
    return pd.DataFrame(columns), y if number else y > 0.3, 0.4 * age + 1.2 * far + unseen > 0


def by_outcome(rows, seed, number=False):
    """The same where who has an outcome goes by the outcome alone."""
    rng = np.random.default_rng([52, seed])
    y = rng.random(rows) < 0.35
    age, far = rng.normal(size=(2, rows)) + y * np.array([[1.2], [0.8]])
    columns = {"who": np.arange(rows), "age": age.round(4), "far": far.round(4)}
    return pd.DataFrame(columns), y, rng.random(rows) < np.where(y, 0.75, 0.35)


def told_of_everyone(folder, law, seed, number, weights, **further):
    """Rows, who has an outcome, the study, its scores, and what it says by part and variable."""
    frame, y, seen = law(1500, seed, number)
    frame["y"] = np.where(seen, y * 1.0, np.nan)
    told = {"weights": weights, "study": COMBINED} | further
    own, files = delivered(folder, frame, **told)
    made = read_table(files["metrics"])
    made = made[made["metric"].isin(["target_rate", "target_mean"])]
    return frame, seen, own, read_table(files["scores"]), made.set_index(["part", "variable"])


BY_OUTCOME = [
    (by_instrument, False, {"weighting": "heckman", "name": "chosen", "exclusion": "far"}),
    (by_instrument, True, {"weighting": "heckman", "name": "chosen", "exclusion": "far"}),
    (by_outcome, False, {"weighting": "rosset_label_only", "name": "chosen"}),
]


@pytest.mark.parametrize(("law", "number", "weights"), BY_OUTCOME)
def test_new_rows_of_the_same_law_are_told_as_everyone_is(tmp_path, law, number, weights):
    for seed in range(3):
        _, seen, own, scores, made = told_of_everyone(tmp_path, law, seed, number, weights)
        new, y, _ = law(4000, 100 + seed, number)
        saved = load(own.at.folder)
        mean = saved.scores(new, reasons=False)["estimate"].mean()
        low, high = (made.loc[("", end), "value"] for end in ("low", "high"))
        assert low < mean < high and low < y.mean() < high
        # Rows without an outcome differ by more than the error of the answer.
        hidden, error = scores["estimate"][~seen].mean(), made.loc[("", ""), "standard_error"]
        assert mean - hidden > 2 * error
        if not number:  # of which the model of selection moves the mean
            # So do predictions that a method is judged by, and rows of the table told as new ones.
            assert scores["cross_validated"].mean() == pytest.approx(mean, abs=error)
            (ratio,) = (
                one["value"]
                for one in own.run("evaluate", "combined")
                if (one["metric"], one["part"]) == ("calibration_ratio", "")
                and not one.get("variable")
            )
            assert ratio == pytest.approx(1, abs=0.02)


def test_the_rows_of_a_table_told_as_new_ones_have_the_mean_that_it_tells(tmp_path):
    frame, _, own, _, made = told_of_everyone(tmp_path, *BY_OUTCOME[1][:1], 5, *BY_OUTCOME[1][1:])
    told = load(own.at.folder).scores(frame.drop(columns="y"), reasons=False)["estimate"]
    assert told.mean() == pytest.approx(made.loc[("", ""), "value"], rel=1e-6)


def test_rows_without_an_outcome_are_told_alike_whether_answers_are_for_them_or_everyone(tmp_path):
    law, number, weights = BY_OUTCOME[2]
    ends = {}
    for target in ("everyone", "unlabeled"):
        told = law, 7, number, weights
        _, seen, own, scores, made = told_of_everyone(tmp_path, *told, target=target)
        ends[target] = scores[["estimate", "low", "high"]][~seen].mean()
        new = load(own.at.folder).scores(law(1500, 7)[0][~seen], reasons=False)["estimate"]
        if target == "unlabeled":
            # For rows without an outcome new ones are such, too.
            assert new.to_numpy() == pytest.approx(scores["estimate"][~seen].to_numpy(), abs=1e-9)
        else:
            # So do plans of labels of rows without one, which go by no other estimate.
            plan = load(own.at.folder).collect(law(1500, 7)[0][~seen], 40, key=3)
            told = plan.people["estimate"].to_numpy()
            assert told == pytest.approx(scores["estimate"][~seen].to_numpy(), abs=1e-9)
            assert new.mean() > told.mean() + 0.05
    assert ends["everyone"].to_numpy() == pytest.approx(ends["unlabeled"].to_numpy(), abs=0.02)


def test_weights_that_were_asked_for_are_in_all_that_is_delivered(tmp_path):
    frame = people(60, 8)
    asked = Own(tmp_path, frame, {"id": "who", "outcome": "y", "weights": "shimodaira"}).study
    parts = asked["methods"]["combined"]["options"]["parts"]
    assert parts and all(asked["methods"][part]["weights"] for part in parts)


def told_by(own):
    """The weighting that answers of a study go by."""
    path = Stages(own.plan, SCRIPTS).job("deliver", "mine", "").inputs["weights"]
    return Path(path).stem.split("-")[0]


def test_what_is_told_goes_by_weights_to_those_that_answers_are_for(tmp_path):
    study = {
        "selection": [{"selector": "logistic"}],
        "weighting": [{"weighting": "lemma1"}, {"weighting": "shimodaira", "exponent": 0.5}],
        "models": [{"model": "logistic", "weights": "lemma1"}],
    }
    frame, entry = people(200, 8), {"id": "who", "outcome": "y", "study": study}
    for target, led in (("everyone", "lemma1"), ("unlabeled", "shimodaira")):
        own = Own(tmp_path, frame, entry | {"target": target})
        assert told_by(own) == led
    # So do the error of the weights, and what an answer is said to assume.
    of = {"weighting": "rosset", "features": ["age"], "moments": "squares"}
    own = Own(
        tmp_path,
        frame,
        entry
        | {"target": "unlabeled", "study": study | {"weighting": [{"weighting": "lemma1"}, of]}},
    )
    given = Stages(own.plan, SCRIPTS).job("deliver", "mine", "").given
    assert given["influence"]["options"]["features"] == ["age"]
    others = {"margins": {"age": {"mean": 40}}}
    with pytest.raises(CounterweightError, match="takes the place of the weights to target"):
        Own(tmp_path, frame, entry | {"target": others})
    study = {"models": [{"model": "logistic", "weights": "to_target"}]}
    own = Own(tmp_path, frame, {"id": "who", "outcome": "y", "study": study, "target": others})
    assert told_by(own) == "to_target"


def test_by_name_alone(tmp_path):
    own, _ = delivered(
        tmp_path,
        people(400, 4),
        weights="kernel_mean_matching",
        study={"models": [{"model": "logistic", "weights": "kernel_mean_matching"}]},
    )
    weights = read_columns(own.at.weights("kernel_mean_matching"))["weight"]
    assert np.ptp(weights) > 0


def test_label_shift_of_a_number_is_refused(tmp_path):
    frame = people(200, 5, number=True)
    with pytest.raises(CounterweightError, match="for an outcome of two classes, and this one is"):
        delivered(tmp_path, frame, weights="rosset_label_only")


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"weights": "kernel_matching"}, "There is no weighting 'kernel_matching'; choose one of"),
        (
            {"weights": "bickel", "target": {"margins": {"age": {"mean": 40}}}},
            "weights cannot be combined with a target of its own",
        ),
        ({"weights": {"weighting": "bickel", "l22": 1}}, "did you mean 'l2'"),
    ],
)
def test_what_cannot_be_is_told(entry, sentence, tmp_path):
    with pytest.raises(CounterweightError, match=sentence):
        delivered(tmp_path, people(100, 5), **entry)


def test_a_tilt_stands_beside_weights_that_say_nothing_of_the_outcome():
    entry = {"outcome": {"column": "y"}, "tilt": {"times": 2.0}}
    assert own_study(entry)["tilt"] == {"times": 2.0}
    weighted = entry | {"weights": {"weighting": "lemma1"}}
    assert own_study(weighted)["tilt"] == {"times": 2.0}
    for told in (
        {"weights": {"weighting": "heckman", "exclusion": "age"}},
        {"study": {"weighting": [{"weighting": "lemma1"}, {"weighting": "rosset"}]}},
    ):
        with pytest.raises(CounterweightError, match="would be counted twice"):
            own_study(entry | told)
