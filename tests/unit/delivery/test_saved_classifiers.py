"""A saved classifier: which estimates are a yes, and what it says of its promises."""

import numpy as np
import pandas as pd
import pytest
from counterweight import LogisticModel
from counterweight.delivery.saved_classifiers import BLANK, SavedClassifier, _typed
from counterweight.delivery.saved_models import load
from counterweight.errors import CounterweightError
from counterweight.labeling.encoding import fitted_encoder


@pytest.fixture
def saved():
    frame = pd.DataFrame({"x": np.linspace(-2, 2, 41)})
    encoder = fitted_encoder(frame)
    X = encoder.transform(frame)
    y = (frame["x"] > 0).to_numpy().astype(int)
    y[[10, 30]] = 1, 0
    facts = {"model": "logistic", "options": {"l2": 1e-6, "gone": 1}, "target": "general"}
    facts |= {"threshold": 0.5, "id": None, "groups": {}, "typed": {}, "types": {}, "forms": {}}
    facts |= {"promises": [], "measures": {}, "rows": 41, "labeled": 41, "classes": ["no", "yes"]}
    return SavedClassifier.of(LogisticModel().fit(X, y), X, encoder, facts), frame


def test_both_classes_as_likely_is_a_yes_of_a_probability(saved):
    model, _ = saved
    near = np.array([0.4999, 0.5 - 1e-13, 0.5, 0.5 + 1e-9])
    assert list(model.decided(near)) == [False, True, True, True]


def test_it_answers_as_the_model_does_before_and_after_it_is_saved(saved, tmp_path):
    model, frame = saved
    p = model.predict_proba(frame)
    np.testing.assert_array_equal(p[:, 1], model.model.predict_proba(frame.to_numpy())[:, 1])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert list(model.predict(frame)) == list(np.where(p[:, 1] >= 0.5, "yes", "no"))
    model.BATCH = 7
    scores = model.scores(frame.set_axis(range(5, 46)))
    assert list(scores.columns) == ["row", "estimate", "decision"] and scores.index[0] == 5
    np.testing.assert_array_equal(scores["estimate"], p[:, 1])
    model.save(tmp_path / "model.parquet")
    again = load(tmp_path / "model.parquet")
    np.testing.assert_array_equal(again.predict_proba(frame), p)
    assert "gone" not in again.model.get_params() and again.columns == ["x"]


def test_python_tells_drift_and_what_was_never_missing(saved, caplog):
    model, frame = saved
    model.scores(frame)
    assert not caplog.messages
    for answer in (model.scores, model.decide, model.predict, model.scores):
        caplog.clear()
        answer(frame + 3)
        (told,) = caplog.messages
        assert "The feature 'x' has changed: its mean is 3, " in told
    caplog.clear()
    model.predict_proba(frame + 3)
    assert not caplog.messages  # said by predict
    caplog.clear()
    model.scores(frame.assign(x=[np.nan, *frame["x"][1:]]))
    (told,) = caplog.messages
    assert told == (
        "x: missing in 1 of 41 rows, filled with 0; no feature of the classifier tells them apart."
    )


def test_a_file_is_answered_in_batches_as_in_one(saved, tmp_path):
    model, frame = saved
    frame.to_csv(tmp_path / "new.csv", index=False)
    made = []
    for batch in (1000, 6):
        model.BATCH = batch
        outputs = tmp_path / f"{batch}.parquet", tmp_path / f"{batch}.csv"
        assert model.score_file(str(tmp_path / "new.csv"), *outputs) == 41
        made.append(pd.read_parquet(outputs[0]))
    pd.testing.assert_frame_equal(*made)
    assert list(made[0]["row"]) == list(range(41))
    np.testing.assert_allclose(made[0]["estimate"], model.predict_proba(frame)[:, 1])


def test_numbers_of_groups_that_are_written_as_text_are_read_and_words_are_refused():
    frame = pd.DataFrame({"age": ["3", "", None, " true "], "city": [1, 2, 3, 4]})
    typed = _typed(frame, {"age": "number", "city": "text"}, 10)
    np.testing.assert_array_equal(typed["age"], [3.0, np.nan, np.nan, 1.0])
    assert typed["city"].tolist() == ["1", "2", "3", "4"]
    frame.loc[2, "age"] = "old"
    with pytest.raises(CounterweightError, match=r"in 1 rows \(first: row 12, 'old'"):
        _typed(frame, {"age": "number"}, 10)
    with pytest.raises(CounterweightError, match="has no column 'sex'"):
        _typed(frame, {"sex": "text"}, 0)


def test_groups_that_new_rows_do_not_tell_are_counted_as_none(saved):
    model, _ = saved
    groups = {"north": {"column": "region", "value": "north"}}
    groups |= {"old": {"column": "age", "at_least": 60}}
    model.facts["promised"] = {"groups": groups}
    made = {"decision": np.array([True, False, True])}
    frame = pd.DataFrame({"region": ["north", "NORTH", "north"]})
    assert model.counts_by_group(frame, made) == {"north": (2, 2), "old": (0, 0)}
    assert model.counts_by_group(pd.DataFrame({"x": [1, 2, 3]}), made) == {}
    # Who has a blank and is in no group stands apart; in one by another column, in that one.
    frame = pd.DataFrame({"region": ["north", None, None], "age": [np.nan, np.nan, 70.0]})
    expected = {"north": (1, 1), "old": (1, 1), BLANK: (1, 0)}
    assert model.counts_by_group(frame, made) == expected
