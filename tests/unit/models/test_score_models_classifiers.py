"""Classifiers of the registry as models of a table with blanks."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import TabularEncoder
from counterweight.models.classifier import positive
from counterweight.models.logistic import LogisticModel
from counterweight.models.score_models import EncodedModel, check_fits_blanks, seen_by
from counterweight.plan.components import load as load_component
from counterweight.tables.parquet import read_table
from delivering import delivered, people
from sklearn.linear_model import Ridge

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
    """The model, fitted to the first 200 rows as a study does."""
    rows, y, weight = table
    seen, component = np.arange(ROWS) < 200, load_component("model", name)
    X = seen_by(component, rows)
    told = {"X_unlabeled": X[~seen]} if getattr(component, "UNLABELED", False) else {}
    if getattr(component, "TYPED", False):
        told["categorical"] = rows.is_category
    rng = np.random.default_rng(1)
    model = component(**options).fit(X[seen], y[seen].astype(int), weight[seen], rng=rng, **told)
    return EncodedModel(model, rows.dense()[seen].mean(axis=0), "unlabeled")


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
    again = EncodedModel.from_arrays(name, CASES[name], "unlabeled", model.to_arrays())
    np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))


def test_files_of_1_0_0_are_read(table):
    """Arrays of classifiers had model_ before their names, and lines no number of steps."""
    for name in ("gradient_boosting", "map_adapted"):
        model = fitted(table, name, CASES[name])
        old = {f"model_{key}": values for key, values in model.model.to_arrays().items()}
        old |= {"centre": model.centre, "converged": 1.0}
        again = EncodedModel.from_arrays(name, CASES[name] | {"gone": 1}, "unlabeled", old)
        np.testing.assert_array_equal(again.predict(table[0]), model.predict(table[0]))
    rows, y, _ = table
    for binary in (True, False):
        line = EncodedModel.learned("linear", rows, y, binary=binary)
        old = line.to_arrays()
        del old["iterations"]
        again = EncodedModel.from_arrays("logistic", {"penalty": 1.0}, "general", old, binary)
        np.testing.assert_array_equal(again.predict(rows), line.predict(rows))


def test_a_penalty_for_all_rows_is_that_of_each_times_their_number(table):
    rows, y, weight = table
    X, labels = rows.dense(), y.astype(int)
    for component, outcome in ((LogisticModel, labels), (LogisticModel.NUMBERS, y)):
        whole = component(l2=2.0, per_row=False).fit(X, outcome, weight)
        each = component(l2=2.0 / ROWS).fit(X, outcome, weight)
        np.testing.assert_allclose(whole.coef_, each.coef_, rtol=1e-9)


@pytest.mark.parametrize("l2", [1e-6, 0.3])
def test_ridge_regression_is_that_of_scikit_learn(table, l2):
    rows, y, weight = table
    X = rows.dense()
    centre = np.average(X, axis=0, weights=weight)
    scale = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weight))
    other = Ridge(alpha=l2 * ROWS, tol=1e-12).fit(
        (X - centre) / scale, y, sample_weight=weight / weight.mean()
    )
    mine = LogisticModel.NUMBERS(l2=l2).fit(X, y, weight)
    np.testing.assert_allclose(mine.predict(X), other.predict((X - centre) / scale), atol=1e-8)


@pytest.mark.parametrize("name", ["constrained", "shifted_mixture", "offer_logistic"])
def test_what_asks_for_more_is_refused(name):
    with pytest.raises(CounterweightError, match=f"The model {name} cannot be used for a table"):
        check_fits_blanks(name, "unlabeled", True)


def test_numbers_are_refused_by_models_of_classes():
    with pytest.raises(CounterweightError, match="choose logistic or gradient_boosting"):
        check_fits_blanks("map_adapted", "general", False)
    for name in ("logistic", "gradient_boosting", "calibrated_numbers"):
        check_fits_blanks(name, "general", False)


@pytest.mark.parametrize("name", ["map_adapted", "bickel_joint", "costing", "tilted"])
def test_a_ten_line_config_may_name_it(tmp_path, name):
    frame = people(400, 3)
    weights = {"weights": "lemma2"} if name in ("map_adapted", "costing") else {}
    options = {"delta": CASES[name]["delta"]} if name == "tilted" else {}
    study = {
        "models": [{"model": "logistic"}, {"model": name, "name": "mine"} | weights | options],
        "deliver": {"method": "mine"},
    }
    new = tmp_path / "new.csv"
    frame.drop(columns="y").to_csv(new, index=False)
    asked = {"target": "unlabeled", "study": study, "score": str(new)}
    own, files = delivered(tmp_path, frame, **asked)
    saved, told = load(files["model"].parent), read_table(files["scores"])
    assert saved.facts["model"] == name and told["estimate"].between(0, 1).all()
    hidden, told = frame["y"].isna().to_numpy(), told["estimate"][~told["labeled"]]
    np.testing.assert_allclose(saved.scores(frame)["estimate"][hidden], told, atol=1e-12)
    applied = read_table(own.run("apply")["scores"])
    np.testing.assert_allclose(applied["estimate"][hidden], told, atol=1e-12)
    assert applied["top_feature_1"].str.contains(r"[+-]\d").any()
    assert {record["metric"] for record in own.run("evaluate", "mine")} >= {"auc", "log_loss"}


def test_a_tilt_is_tried_as_on_labeled_rows_and_answers_for_the_others(tmp_path, table):
    half = CASES["tilted"]
    model = fitted(table, "tilted", half)
    rows = table[0]
    labeled = positive(model.model, rows.dense(), "labeled")
    others = model.predict(rows)
    np.testing.assert_allclose(others / (1 - others), 0.5 * labeled / (1 - labeled), rtol=1e-6)
    with pytest.raises(CounterweightError, match="set target: unlabeled"):
        check_fits_blanks("tilted", "general", True)

    # What is told of the rows without outcome is tilted, and not drawn back by the others.
    rates = {}
    for times in (1.0, 0.5):
        models = [{"model": "tilted", "delta": {"by": "times", "times": times}}]
        folder = tmp_path / str(times)
        folder.mkdir()
        _, files = delivered(folder, people(400, 3), target="unlabeled", study={"models": models})
        told = read_table(files["metrics"]).set_index(["metric", "part", "variable"])["value"]
        scores = read_table(files["scores"])
        rates[times] = told["target_rate", "", ""]
        mean = scores["estimate"][~scores["labeled"]].mean()
        assert rates[times] == pytest.approx(mean, abs=1e-9)
    assert rates[0.5] < rates[1.0] - 0.08
