"""What a method is shown in training, and how targets and settings share work."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.files.study_data import StudyData
from counterweight.files.tables import blocks
from counterweight.models.training import setting_name, settings, train_repeat

ROWS = 400


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    row = np.arange(ROWS) * 2
    x = rng.normal(size=ROWS)
    selected = x + rng.normal(size=ROWS) > 0
    test = rng.random(ROWS) < 0.3
    y = (x + rng.normal(size=ROWS) > 0.3).astype(float)
    other = (x + rng.normal(size=ROWS) > -0.2).astype(float)
    seen = selected & ~test
    repeat = np.zeros(ROWS, "int16")
    return {
        "features": {"row": row, "x": x, "z": rng.normal(size=ROWS)},
        "labels": {
            "repeat": repeat,
            "row": row,
            "role": np.select([test, selected], ["test", "labeled"], "unlabeled").astype(object),
            "selected": selected.astype("int8"),
            "y_general": np.where(seen, y, np.nan),
            "y_unlabeled": np.where(seen, other, np.nan),
        },
        "truth": {"repeat": repeat, "row": row, "y_general": y, "y_unlabeled": other},
        "seen": seen,
        "test": test,
        "selected": selected,
        "x": x,
    }


def data(columns, **changes):
    return StudyData(columns["features"], columns["labels"], **changes)


def method(model="logistic", sweep=None, **options):
    return {"model": model, "options": options, "sweep": sweep}


def trained(study, spec, **changes):
    return train_repeat(study, spec, 0, ["general", "unlabeled"], seed=1, study="s", **changes)


def test_a_method_sees_labels_of_labeled_training_rows_only(columns):
    X, y, weight, rows = data(columns).training(0, "general")
    assert weight is None
    np.testing.assert_array_equal(X[:, 0], columns["x"][columns["seen"]])
    assert set(np.unique(y)) == {0, 1}


def test_an_oracle_sees_the_target_population_and_no_test_row(columns):
    study = data(columns, truth=columns["truth"])
    for target, population in (("general", True), ("unlabeled", ~columns["selected"])):
        X, y, _, _ = study.training(0, target)
        mask = ~columns["test"] & population
        np.testing.assert_array_equal(X[:, 0], columns["x"][mask])
        np.testing.assert_array_equal(y, columns["truth"][f"y_{target}"][mask])


def test_predictions_are_of_the_test_rows_of_each_target(columns):
    _, predictions = trained(data(columns), method())
    by_target = {table["target"][0].as_py(): table["row"].to_numpy() for table in predictions}
    rows = columns["features"]["row"]
    np.testing.assert_array_equal(by_target["general"], rows[columns["test"]])
    np.testing.assert_array_equal(
        by_target["unlabeled"], rows[columns["test"] & ~columns["selected"]]
    )


def test_weights_of_other_rows_are_refused(columns):
    rows = columns["features"]["row"][columns["seen"]]
    weights = {"repeat": np.zeros(len(rows), "int16"), "row": rows + 2, "weight": rows * 0.0 + 1}
    with pytest.raises(CounterweightError, match="not those of its labeled rows"):
        data(columns, weights=weights).training(0, "general")


def test_every_setting_of_a_sweep_is_fitted_on_its_own(columns):
    sweep = {"ridge": [1.0, 1e-6]}
    fitted, predictions = trained(data(columns), method(sweep=sweep))
    alone = trained(data(columns), method(ridge=1e-6))[1]
    names = [setting_name(setting) for setting in settings(sweep)]
    assert [t["setting"][0].as_py() for t in predictions[:2]] == names
    np.testing.assert_array_equal(predictions[1]["p"].to_numpy(), alone[0]["p"].to_numpy())
    assert dict(fitted)["general"]["settings"] == 2


def test_sharing_a_mixture_between_targets_changes_nothing(columns):
    spec = method("generative", components=2, restarts=3)
    together = trained(data(columns), spec)[1][1]
    alone = train_repeat(data(columns), spec, 0, ["unlabeled"], seed=1, study="s")[1][0]
    np.testing.assert_array_equal(together["p"].to_numpy(), alone["p"].to_numpy())


def test_blocks_are_the_runs_of_equal_rows():
    runs = list(blocks({"a": np.array([1, 1, 2, 2, 1]), "b": np.array([0, 0, 0, 1, 1])}, "a", "b"))
    assert [(part.start, part.stop) for part in runs] == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert list(blocks({"a": np.array([])}, "a")) == []
