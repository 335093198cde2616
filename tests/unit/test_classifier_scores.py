"""Classifiers of the registry as models of a table with blanks."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.score_models import LinearScore, score_model, stored_score
from counterweight.tables.parquet import read_table
from test_saved_scores import delivered, people

ROWS = 300
CASES = {
    "logistic": {},
    "map_adapted": {"penalty": 0.01},
    "gradient_boosting": {"max_iter": 20},
    "bickel_joint": {"loss": "exponential"},
    "costing": {"classifier": {"model": "logistic"}, "models": 5},
    "tilted": {"classifier": {"model": "logistic"}, "delta": {"by": "times", "times": 0.5}},
    "generative": {"components": 1, "n_init": 1},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(40, 10, ROWS)),
            "city": rng.choice(["Bonn", "Trier", "Ulm"], ROWS),
            "pay": rng.exponential(size=ROWS),
        }
    )
    encoder = TabularEncoder().fit(frame, list(frame), {"age": "number", "city": "text"} | PAY)
    y = (rng.random(ROWS) < 1 / (1 + np.exp(-frame["pay"] + (frame["city"] == "Bonn")))) * 1.0
    return encoder.encode(frame), y, rng.exponential(size=ROWS)


PAY = {"pay": "number"}


def fitted(table, name, options):
    rows, y, weight = table
    seen = np.arange(ROWS) < 200
    model = score_model(name, options, "unlabeled")
    return model.fit(
        rows.take(seen),
        y[seen],
        weight[seen],
        binary=True,
        rng=np.random.default_rng(1),
        unlabeled=rows.take(~seen),
    )


@pytest.mark.parametrize("name", CASES)
def test_contributions_add_up_to_the_log_odds(table, name):
    model = fitted(table, name, CASES[name])
    raw, base, parts = model.explained(table[0])
    np.testing.assert_allclose(base + parts.sum(axis=1), raw, atol=1e-9)
    np.testing.assert_array_equal(model.answers(raw), model.predict(table[0]))
    assert parts.shape == (ROWS, 3)


@pytest.mark.parametrize("name", CASES)
def test_it_answers_as_before_from_its_arrays(table, name):
    model = fitted(table, name, CASES[name])
    again = stored_score(name, CASES[name], "unlabeled", model.to_arrays())
    np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))


def test_logistic_regression_is_the_linear_score_with_its_contributions(table):
    rows, y, weight = table
    seen = np.arange(ROWS) < 200
    linear = LinearScore(penalty=2.0).fit(rows.take(seen), y[seen], weight[seen], binary=True)
    model = fitted(table, "logistic", {"l2": 0.01})
    np.testing.assert_allclose(model.predict(rows), linear.predict(rows))
    for mine, theirs in zip(model.explained(rows), linear.explained(rows), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_the_models_of_blanks_are_themselves(table):
    assert isinstance(score_model("linear", {"penalty": 2.0}, "general"), LinearScore)


@pytest.mark.parametrize("name", ["constrained", "shifted_mixture"])
def test_what_asks_for_more_is_refused(table, name):
    with pytest.raises(CounterweightError, match=f"The model {name} cannot be used for a table"):
        fitted(table, name, {})


def test_numbers_are_refused(table):
    rows, y, _ = table
    with pytest.raises(CounterweightError, match="choose linear or boosting"):
        score_model("logistic", {}, "general").fit(rows, y, binary=False, unlabeled=rows)


@pytest.mark.parametrize("name", ["map_adapted", "bickel_joint", "costing", "tilted"])
def test_a_ten_line_config_may_name_it(tmp_path, name):
    frame = people(400, 3)
    weights = {"weights": "lemma2"} if name in ("map_adapted", "costing") else {}
    options = {"delta": CASES[name]["delta"]} if name == "tilted" else {}
    study = {
        "models": [{"model": "linear"}, {"model": name, "name": "mine"} | weights | options],
        "deliver": {"method": "mine"},
    }
    new = tmp_path / "new.csv"
    frame.drop(columns="y").to_csv(new, index=False)
    asked = {"target": "unlabeled", "study": study, "score": str(new)}
    own, files = delivered(tmp_path, frame, **asked)
    saved, told = load(files["model"].parent), read_table(files["scores"])
    assert saved.facts["model"] == name and told["estimate"].between(0, 1).all()
    np.testing.assert_allclose(saved.scores(frame)["estimate"], told["estimate"], atol=1e-12)
    applied = read_table(own.run("apply")["scores"])
    np.testing.assert_allclose(applied["estimate"], told["estimate"], atol=1e-12)
    assert applied["moved_1"].str.contains(r"[+-]\d").any()
    assert {record["metric"] for record in own.run("evaluate", "mine")} >= {"auc", "log_loss"}


def test_a_tilt_is_tried_as_on_labeled_rows_and_answers_for_the_others(tmp_path, table):
    half = CASES["tilted"]
    model = fitted(table, "tilted", half)
    rows, y, _ = table
    labeled, others = model.predict_labeled(rows), model.predict(rows)
    np.testing.assert_allclose(others / (1 - others), 0.5 * labeled / (1 - labeled), rtol=1e-6)
    with pytest.raises(CounterweightError, match="set target: unlabeled"):
        score_model("tilted", half, "general").fit(rows, y, binary=True, unlabeled=rows)

    # What is told of the rows without outcome is tilted, and not drawn back by the others.
    rates = {}
    for times in (1.0, 0.5):
        models = [{"model": "tilted", "delta": {"by": "times", "times": times}}]
        folder = tmp_path / str(times)
        folder.mkdir()
        _, files = delivered(folder, people(400, 3), target="unlabeled", study={"models": models})
        told = read_table(files["metrics"]).set_index("metric")["value"]
        scores = read_table(files["scores"])
        rates[times] = told["target_rate"]
        mean = scores["estimate"][~scores["labeled"]].mean()
        assert rates[times] == pytest.approx(mean, abs=0.05)
    assert rates[0.5] < rates[1.0] - 0.08
