"""What a method is shown in training, and how targets and settings share work."""

import inspect
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from counterweight.delivery.final_classifiers import fit_method
from counterweight.errors import CounterweightError
from counterweight.models import boosting, training
from counterweight.models.classifier import BinaryClassifier
from counterweight.models.subsampling.subsampled import SubsampledClassifier
from counterweight.models.training import setting_name, settings, train_repeat
from counterweight.tables.parquet import blocks
from counterweight.tables.study_data import StudyData
from delivering import Own, people

ROWS = 400
#: Files of a training job, by role.
KEPT = ("predictions", "model")


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
    sweep = {"l2": [1.0, 1e-6]}
    fitted, predictions = trained(data(columns), method(sweep=sweep))
    alone = trained(data(columns), method(l2=1e-6))[1]
    names = [setting_name(setting) for setting in settings(sweep)]
    assert [t["setting"][0].as_py() for t in predictions[:2]] == names
    np.testing.assert_array_equal(predictions[1]["p"].to_numpy(), alone[0]["p"].to_numpy())
    assert dict(fitted)["general"]["settings"] == 2


def test_sharing_a_mixture_between_targets_changes_nothing(columns):
    spec = method("generative", components=2, n_init=3)
    together = trained(data(columns), spec)[1][1]
    alone = train_repeat(data(columns), spec, 0, ["unlabeled"], seed=1, study="s")[1][0]
    np.testing.assert_array_equal(together["p"].to_numpy(), alone["p"].to_numpy())


def test_blocks_are_the_runs_of_equal_rows():
    runs = list(blocks({"a": np.array([1, 1, 2, 2, 1]), "b": np.array([0, 0, 0, 1, 1])}, "a", "b"))
    assert [(part.start, part.stop) for part in runs] == [(0, 2), (2, 3), (3, 4), (4, 5)]
    assert list(blocks({"a": np.array([])}, "a")) == []


class TwoPopulations(BinaryClassifier):
    """Answers by the share of labeled rows, or by how far the unlabeled ones stand."""

    UNLABELED = TARGETED = True

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y, sample_weight=None, *, rng, X_unlabeled, y_unlabeled=None):
        self.seen_ = X, y, sample_weight, X_unlabeled, y_unlabeled
        return self

    def predict_proba(self, X, target):
        p = np.full(len(X), {"general": 0.25, "unlabeled": 0.75}[target] + self.shift)
        return np.column_stack([1 - p, p])

    def to_arrays(self):
        return {"rows": len(self.seen_[0])}


class LabelsOnly(TwoPopulations):
    def fit(self, X, y, sample_weight=None, *, rng, X_unlabeled):
        return super().fit(X, y, sample_weight, rng=rng, X_unlabeled=X_unlabeled)


@pytest.fixture
def fits(monkeypatch):
    """Puts a class in the place of each model, and keeps what it fitted."""
    kept = []

    def put(component):
        class Kept(component):
            def fit(self, *args, **told):
                kept.append(super().fit(*args, **told))
                return self

            fit.__signature__ = inspect.signature(component.fit)

        monkeypatch.setattr(training, "load", lambda kind, name: Kept)
        monkeypatch.setattr("counterweight.delivery.final_classifiers.load", training.load)
        return kept

    return put


def test_a_model_that_asks_sees_unlabeled_rows_and_is_told_the_population(columns, fits):
    kept = fits(TwoPopulations)
    _, (general, unlabeled) = trained(data(columns), method())
    hidden = ~columns["selected"] & ~columns["test"]
    for model in kept:
        X, _, weight, others, labels = model.seen_
        np.testing.assert_array_equal(X[:, 0], columns["x"][columns["seen"]])
        np.testing.assert_array_equal(others[:, 0], columns["x"][hidden])
        assert weight is None and labels is None
    assert set(general["p"].to_pylist()) == {0.25} and set(unlabeled["p"].to_pylist()) == {0.75}


def test_every_point_of_its_sweep_is_told_the_population(columns, fits):
    fits(TwoPopulations)
    _, tables = trained(data(columns), method(sweep={"shift": [0.0, 0.1]}))
    found = [set(table["p"].to_pylist()) for table in tables]
    assert found == [{0.25}, {0.25 + 0.1}, {0.75}, {0.75 + 0.1}]


def test_its_oracle_sees_labeled_rows_and_hidden_labels_of_the_unlabeled(columns, fits):
    kept = fits(TwoPopulations)
    trained(data(columns, truth=columns["truth"]), method())
    hidden = ~columns["selected"] & ~columns["test"]
    for target, model in zip(("general", "unlabeled"), kept, strict=True):
        X, y, _, others, labels = model.seen_
        np.testing.assert_array_equal(X[:, 0], columns["x"][columns["seen"]])
        np.testing.assert_array_equal(y, columns["labels"][f"y_{target}"][columns["seen"]])
        np.testing.assert_array_equal(others[:, 0], columns["x"][hidden])
        np.testing.assert_array_equal(labels, columns["truth"][f"y_{target}"][hidden])


@pytest.mark.parametrize(("hidden", "expected"), [("y_general", 1), ("y_unlabeled", 2)])
def test_its_oracle_learns_once_where_targets_have_the_same_labels(columns, fits, hidden, expected):
    kept = fits(TwoPopulations)
    labels = columns["labels"] | {"y_unlabeled": columns["labels"]["y_general"]}
    truth = columns["truth"] | {"y_unlabeled": columns["truth"][hidden]}
    _, tables = trained(data(columns | {"labels": labels}, truth=truth), method())
    assert len(kept) == expected
    # Each target is answered all the same.
    assert [set(table["p"].to_pylist()) for table in tables] == [{0.25}, {0.75}]


def test_an_oracle_without_use_for_hidden_labels_is_refused(columns, fits):
    fits(LabelsOnly)
    with pytest.raises(CounterweightError, match="no use for hidden labels: leave out oracle"):
        trained(data(columns, truth=columns["truth"]), method())


def test_the_final_fit_shows_unlabeled_rows_too(columns, fits):
    (kept, study) = fits(TwoPopulations), data(columns)
    spec = {"mine": method() | {"weights": None, "starts": {}}}
    model, _ = fit_method(study, spec, "mine", "", "unlabeled", None, seed=1, study="s")
    hidden = ~columns["selected"] & ~columns["test"]
    assert model is kept[0]
    np.testing.assert_array_equal(model.seen_[3][:, 0], columns["x"][hidden])


def test_settings_are_compared_on_so_many_rows_at_most(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] > 0).astype(float)
    seen = []

    class Learner:
        def __init__(self, size):
            self.size = size

        def fit(self, X, y, weight, rng):
            seen.append((len(X), len(y), len(weight)))
            return self

        def predict(self, X):
            return np.full(len(X), self.size)

    class Data:
        numbers = False

        def __init__(self):
            self.X, self.y = X, y

        def taken_by(self, component):
            return self

        def test(self, repeat, target):
            return np.arange(200, 300)

        def tested_weights(self, repeat):
            return np.ones(100)

        def in_order(self, where):
            return np.arange(len(where))[::-1]

    told = X[:200], y[:200].astype(int), np.ones(200), {}
    monkeypatch.setattr(training, "seen_rows", lambda *_: told)
    monkeypatch.setattr(training, "ASKED_ROWS", 50)
    method, streams = {"model": "any", "options": {}}, {"seed": 0, "study": "s"}
    tried = {"size": (0.1, 0.5)}
    losses = dict(training._tried(Learner, method, Data(), 1, "general", tried, streams, 10))
    assert seen == [(50, 50, 50)] * 2
    # As many as are asked for are answered, the first in the order of a fit.
    ones = y[290:].sum()
    assert losses[("size", 0.5),] == pytest.approx(10 * np.log(2))
    assert losses[("size", 0.1),] == pytest.approx(-ones * np.log(0.1) - (10 - ones) * np.log(0.9))


def test_folds_that_decided_between_settings_are_not_fitted_again(tmp_path, few_trees, monkeypatch):
    chosen = dict.fromkeys(("max_iter", "max_leaf_nodes"))
    boosted = {"models": [{"model": "gradient_boosting"} | chosen]}
    own = Own(tmp_path, people(150, 4), {"id": "who", "outcome": "y", "study": boosted})
    own.run("label")
    grown, fit_trees, tried = [], boosting.fit_trees, training._tried
    told = {"side_effect": lambda *a, **k: grown.append(1) or fit_trees(*a, **k)}
    monkeypatch.setattr(boosting, "fit_trees", Mock(**told))
    (method,) = own.study["methods"]

    def trained():
        grown.clear()
        made = own.run("train", method)
        return [made[role].read_bytes() for role in KEPT], len(grown)

    kept, few = trained()
    monkeypatch.setattr(training, "_tried", lambda *told: tried(*told[:-1]))
    anew, more = trained()
    assert kept == anew and more == few + training.CHOSEN_IN


def test_as_many_folds_decide_between_settings_as_ask_enough_rows(monkeypatch):
    class Data:
        def __init__(self, rows, *, group=-1, earliest=0):
            self.labeled = np.ones(rows, bool)
            self.folds = [np.maximum(np.arange(rows) % 6 - 1, earliest)]
            self.group = np.full(rows, group)

        def role(self, repeat, name):
            test = self.folds[0] == repeat - 1
            return test if name == "test" else ~test

    monkeypatch.setattr(training, "ASKED_ROWS", 100)
    repeats = list(range(11))
    told = {rows: training._deciding(Data(rows), repeats) for rows in (60, 240, 600, 6000)}
    # Folds 0 to 4 of 60 rows hold 20, 10, 10, 10 and 10.
    assert told == {60: [1, 2, 3, 4, 5], 240: [1, 2], 600: [1], 6000: [1]}
    # Whole groups, or folds one after the other in time, are each unlike the others.
    assert training._deciding(Data(6000, group=3), repeats) == [1, 2, 3, 4, 5]
    assert training._deciding(Data(6000, earliest=-1), repeats) == [1, 2, 3, 4, 5]


def test_answers_made_of_those_of_the_same_fits_make_the_same_files(columns, tmp_path):
    def files(correction, *same_fits):
        made = {role: str(tmp_path / f"{correction}{len(same_fits)}.{role}") for role in KEPT}
        spec = method("subsampled", {"keep_rate": [1.0, 0.3]}, correction=correction)
        given = {"method": spec, "targets": ["general"], "repeats": 1, "seed": 1, "stream": "s"}
        job = SimpleNamespace(
            given=given,
            input=SimpleNamespace(same_fits=same_fits),
            output=SimpleNamespace(**made),
            threads=1,
        )
        training.train_study(job, data(columns))
        return [made[role] for role in KEPT]

    fits, plain = [], files("none")
    original = SubsampledClassifier.fit

    def counted(model, *rows, **told):
        fits.append(model.keep_rate)
        return original(model, *rows, **told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SubsampledClassifier, "fit", counted)
        for correction, own in (("prior", []), ("weights", [0.3])):
            alone, fits[:] = files(correction), []
            shared = files(correction, *plain)
            assert fits == own
            for one, other in zip(alone, shared, strict=True):
                assert Path(one).read_bytes() == Path(other).read_bytes()
