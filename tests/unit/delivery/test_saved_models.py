"""What saved models share: who rows are, batches, how new people differ from those of the fit."""

import contextlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery import saved_models
from counterweight.delivery.saved_models import (
    SavedModel,
    SavedPredictor,
    as_frame,
    check_id,
    classes_array,
    feature_arrays,
)
from counterweight.delivery.saved_scores import SavedScores
from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import count_rows, stood_for
from counterweight.labeling.encoding import TabularEncoder, fitted_encoder


@pytest.fixture
def saved():
    """A saved model of two numbers: of mean 0 and standard deviation 1, and of 5 alone."""
    X = np.column_stack([np.repeat([-1.0, 1.0], 50), np.full(100, 5.0)])
    encoder = fitted_encoder(pd.DataFrame({"a": X[:, 0], "b": np.arange(100.0)}))
    features = [list(feature[:4]) for feature in encoder.features_]
    facts = {"id": None, "features": features, "types": {}, "forms": {}}
    return SavedModel(facts, feature_arrays(encoder, X))


def test_a_mean_that_moved_by_half_a_standard_deviation_is_told_beyond_it_only(saved):
    for mean, moved in ((0.5, False), (0.5001, True), (-0.5, False), (-0.51, True)):
        X = np.column_stack([np.full(400, mean), np.full(400, 5.0)])
        said = saved.drift(saved.sums(X))
        assert bool(said) == moved, mean
        assert not said or ("'a' has changed: its mean is" in said[0] and "range" not in said[0])


def test_of_few_rows_three_standard_errors_are_asked(saved):
    for rows, moved in ((9, False), (25, True)):
        X = np.column_stack([np.full(rows, 0.9), np.full(rows, 5.0)])
        # Of 9 rows three standard errors are 1 standard deviation, of 25 they are 0.6.
        assert bool(saved.drift(saved.sums(X))) == moved


def test_more_than_one_in_a_hundred_outside_the_range_are_told(saved):
    for outside, told in ((10, False), (11, True)):
        X = np.column_stack([np.tile([-1.0, 1.0], 500), np.full(1000, 5.0)])
        X[:outside, 1] = 5.5
        said = saved.drift(saved.sums(X))
        assert bool(said) == told
        assert not told or said == [
            "The feature 'b' has changed: 1.1 % are outside its range in the fit."
        ]
    # One row alone is no drift, the ends of the range are inside, and a number of no spread has
    # no mean that could move by standard deviations of it.
    assert saved.drift(saved.sums(np.array([[1.0, 6.0]] + [[-1.0, 5.0]]))) == []


def test_sums_of_batches_add_up(saved):
    X = np.random.default_rng(0).normal(size=(90, 2))
    halves = saved.added(saved.added(None, saved.sums(X[:30])), saved.sums(X[30:]))
    np.testing.assert_allclose(halves, saved.sums(X))
    assert list(saved.sums(X)[0]) == [90, 90]


def test_rows_of_a_file_go_on_being_numbered_from_batch_to_batch(monkeypatch):
    parts = [pd.DataFrame({"a": np.arange(float(size))}) for size in (3, 2, 4)]
    first, written = [], []

    @contextlib.contextmanager
    def answers(table, csv):
        yield written.append, {}

    def answered(frame, rows):
        first.append(rows)
        return {"p": np.zeros(len(frame))}, (np.full(1, len(frame)),)

    monkeypatch.setattr(saved_models, "writing_answers", answers)
    saved = SimpleNamespace(
        new_rows=lambda path, reading: [(one, {}) for one in parts],
        answered=answered,
        added=lambda sums, own: [*(sums or []), int(own[0][0])],
        counts_by_group=lambda frame, made: {"g": (1, len(frame))},
        tell=lambda sums: {"seen": sums},
    )
    assert SavedPredictor.score_file(saved, "in", "out", "csv") == 9
    assert first == [0, 3, 5] and [len(one["p"]) for one in written] == [3, 2, 4]


def test_rows_are_named_by_their_id_else_by_number(saved):
    frame = pd.DataFrame({"who": ["7", "x"]})
    assert list(saved.named(frame, 5)["row"]) == [5, 6]
    assert list(saved.named(frame.assign(row=[3, 9]))["row"]) == [3, 9]
    saved.facts["id"] = "who"
    assert list(saved.named(frame)["who"]) == ["7", "x"]
    saved.facts["id_numbers"] = True
    assert list(saved.named(frame)["who"]) == [7, "x"], "numbers that were read as text are numbers"
    with pytest.raises(CounterweightError, match="no column 'who', which says who they are"):
        check_id(["other"], "who")


def test_batches_tell_their_first_row(saved):
    saved.BATCH = 4
    frame = pd.DataFrame({"a": range(9)})
    parts = list(saved.batches(frame))
    assert [first for _, first in parts] == [0, 4, 8] and [len(p) for p, _ in parts] == [4, 4, 1]
    assert [len(part) for part, _ in saved.batches(frame.iloc[:8])] == [4, 4]
    assert [len(part) for part, _ in saved.batches(frame.iloc[:0])] == [0]
    with pytest.raises(CounterweightError, match="of the type list: give a data frame"):
        list(saved.batches([1]))


def test_classes_have_the_type_of_the_table():
    assert classes_array([0, 1]).dtype.kind == "i" and classes_array([0.5, 1.5]).dtype.kind == "f"
    assert classes_array(["a", "b"]).dtype == object and classes_array([0, "b"]).dtype == object
    index = as_frame({"x": [1, 2]}, pd.DataFrame({"y": [0, 0]}, index=[4, 7])).index
    assert list(index) == [4, 7]


def test_parts_of_the_arrays_are_copies(saved):
    low = saved.part("feature")["low"]
    low[:] = 99
    assert list(saved.part("feature")["low"]) == [-1.0, 5.0] and saved.part("feat") == {}


def test_what_is_not_there_is_told(tmp_path):
    with pytest.raises(CounterweightError):
        load(tmp_path)


class Told(SavedPredictor):
    """Answers with the column x, of classes yes from a half on."""

    numbers = False

    @property
    def binary(self):
        return not self.numbers

    def answered(self, frame, first=0, reasons=True):
        x = frame["x"].to_numpy()
        return {"estimate": x, "decision": self.classes_[(x >= 0.5) * 1] if self.binary else x}, 0

    def drift(self, sums, still=()):
        return []


def test_a_predictor_says_chances_of_both_classes_or_a_number():
    saved = Told({"id": None, "types": {}, "names": ["no", "yes"], "outcome": "late"}, {})
    frame = pd.DataFrame({"x": [0.2, 0.5, 0.9]})
    np.testing.assert_allclose(saved.predict_proba(frame), [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])
    assert list(saved.predict(frame)) == ["no", "yes", "yes"]
    saved.BATCH = 2
    assert list(saved.scored(frame)["estimate"]) == [0.2, 0.5, 0.9]
    saved.numbers = True
    assert list(saved.predict(frame)) == [0.2, 0.5, 0.9] and not hasattr(saved, "classes_")
    with pytest.raises(CounterweightError, match="so there are no chances of classes"):
        saved.predict_proba(frame)
    with pytest.raises(CounterweightError, match="is fitted already"):
        saved.fit(frame)


def test_what_is_offered_of_a_saved_model_is_what_users_call(saved):
    offered = {name for name in dir(saved) if not name.startswith("_")}
    assert {"save", "read", "facts", "arrays"} <= offered
    assert not offered & {"typed", "sums", "tell", "batches", "to_saved", "part", "named", "KIND"}


def test_of_many_columns_that_changed_the_first_are_told(saved, monkeypatch, caplog):
    columns = [f"Column '{number}' has changed." for number in range(8)]
    monkeypatch.setattr(SavedModel, "drift", lambda self, sums, still: columns)
    with caplog.at_level("INFO", "counterweight"):
        told = saved.tell(None)["drift"]
    assert told == [*columns[:5], "3 more columns have changed: the log has each."]
    warned = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert warned == told and all(one in caplog.text for one in columns)


def test_rows_that_stand_for_others_count_as_many(saved):
    X, weights = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]]), np.array([1, 5, 2])
    found = feature_arrays(saved.encoder, X, weights)
    whole = feature_arrays(saved.encoder, np.repeat(X, weights, axis=0))
    for name in whole:
        assert found[name] == pytest.approx(whole[name], rel=1e-13)


@pytest.mark.parametrize("designed", [False, True])
def test_a_log_that_lost_zeros_is_no_measure_of_the_means_of_new_rows(designed):
    """Ranges and texts are: what the log never held is told in both."""
    fit = pd.DataFrame({"a": np.repeat([1.0, 2.0], [20, 80]), "b": ["x"] * 100})
    encoder = TabularEncoder().fit(fit, ["a", "b"], {"a": "number", "b": "text"})
    made = SimpleNamespace(encoder=encoder, facts={"designed": designed})
    new = pd.DataFrame({"a": np.repeat([1.0, 2.0], [80, 20]), "b": ["x"] * 98 + ["y"] * 2})
    said = SavedScores.drift(made, count_rows(encoder.encode(new)))
    assert any("'a' has changed: mean" in one for one in said) != designed
    assert any("'b' has changed: 2.0 % of the new rows have a text" in one for one in said)


def test_beside_weights_a_change_is_told_from_the_rows_and_from_what_they_stand_for():
    """Four of five rows stand for one of five: new rows are as either, or have changed."""
    fit = pd.DataFrame({"a": np.repeat([1.0, 2.0], [200, 800]), "b": np.arange(1000.0) % 7})
    encoder = TabularEncoder().fit(fit, ["a", "b"], {"a": "number", "b": "number"})
    weight = np.repeat([16.0, 1.0], [200, 800])
    told = stood_for(encoder.encode(fit), weight)
    bins, total = told["a"]
    assert np.array(bins) / sum(bins) == pytest.approx([0.8, 0.2, 0, 0])
    assert sum(bins) == pytest.approx(weight.sum() ** 2 / (weight @ weight))
    assert encoder.statistics_[0].mean + total / sum(bins) == pytest.approx(1.2)
    assert stood_for(encoder.encode(fit), np.full(1000, 2.5)) is False
    made = SimpleNamespace(encoder=encoder, facts={"designed": told})

    def said(**columns):
        return SavedScores.drift(made, count_rows(encoder.encode(fit.assign(**columns))))

    assert said() == [] == said(a=np.repeat([1.0, 2.0], [800, 200]))
    (shifted,) = said(a=np.repeat([1.0, 2.0], [500, 500]))
    assert "'a' has changed: mean" in shifted
    (blank,) = said(b=np.nan)
    assert "'b' has changed: missing in 100.0 % of the new rows, 0.0 % before" in blank
    (truths,) = said(b=np.arange(1000) % 2)
    assert "'b' has changed" in truths and "stability index" in truths
