"""The final model of a table with blanks: saved, loaded, used on rows in any order and batch."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery.saved_scores import SavedScores
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import read_table
from counterweight.tasks import missing_outcomes
from delivering import delivered, people
from sklearn.inspection import partial_dependence

pytestmark = pytest.mark.usefixtures("few_trees")


def score(files, batch, *paths):
    """Answer for the rows of a file by what was saved, `batch` at a time."""
    saved = SavedScores.read(files["model"])
    saved.BATCH = batch or saved.BATCH
    return saved.score_file(*paths)


@pytest.fixture(scope="module", params=["class", "number"])
def study(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    frame = people(600, 3, number=request.param == "number")
    return frame, *delivered(folder, frame)


def test_every_row_has_an_answer_by_its_id(study):
    frame, _, files = study
    scores = read_table(files["scores"])
    assert list(scores["who"]) == list(frame["who"])
    assert scores["estimate"].notna().all()
    assert ((scores["low"] <= scores["estimate"]) & (scores["estimate"] <= scores["high"])).all()
    assert list(scores["labeled"]) == list(frame["y"].notna())
    text = pd.read_csv(files["csv"], dtype=str)
    assert list(text["who"]) == list(frame["who"]), "007 is not 7"
    assert (text["estimate"].astype(float) == scores["estimate"]).all()


def test_known_outcomes_stand_and_what_the_model_says_of_them_has_not_seen_them(study):
    frame, own, files = study
    scores, known = read_table(files["scores"]), frame["y"].notna()
    for column in ("estimate", "low", "high"):
        assert (scores[column] == frame["y"])[known].all()
    assert scores["supported"][known].all() and (scores["reason"] == "")[known].all()
    tried = read_table(own.at.predictions("combined")).groupby("row")["p"].mean()
    told = scores["cross_validated"]
    np.testing.assert_allclose(told[tried.index], tried, rtol=0, atol=1e-12)
    assert told.notna().tolist() == known.tolist()


def blank(frame):
    """Rows without an outcome: answers for them are the model's."""
    return frame["y"].isna().to_numpy()


def test_the_training_file_applied_gives_the_delivered_answers(study, tmp_path):
    frame, own, files = study
    scores = read_table(files["scores"])
    for batch, order in ((100_000, np.arange(600)), (7, np.random.default_rng(0).permutation(600))):
        frame.drop(columns="y").iloc[order].to_csv(tmp_path / "new.csv", index=False)
        outputs = [tmp_path / "new.parquet", tmp_path / "out.csv"]
        score(files, batch, str(tmp_path / "new.csv"), *outputs)
        again = read_table(outputs[0])
        expected = scores.iloc[order].reset_index(drop=True)
        assert list(again["who"]) == list(expected["who"])
        again, expected = again[~expected["labeled"]], expected[~expected["labeled"]]
        for name in ("estimate", "low", "high"):
            np.testing.assert_allclose(again[name], expected[name], rtol=0, atol=1e-12)
        for name in {"supported", "reason", "decision"} & {*expected}:
            assert list(again[name]) == list(expected[name])


def test_loaded_from_python_it_answers_the_same(study):
    frame, own, files = study
    saved = load(own.at.folder)
    scores = read_table(files["scores"])[blank(frame)]
    frame = frame[blank(frame)]
    answers = saved.predict(frame)
    if saved.binary:
        p = saved.predict_proba(frame)
        np.testing.assert_allclose(p[:, 1], scores["estimate"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert list(answers) == list(scores["decision"])
    else:
        np.testing.assert_allclose(answers, scores["estimate"], rtol=0, atol=1e-12)
        with pytest.raises(CounterweightError, match="is a number, so there are no chances"):
            saved.predict_proba(frame)
    assert saved.versions["scikit-learn"] and saved.facts["why"]


def test_a_number_that_never_was_missing_is_told_and_flagged(study, caplog):
    frame, own, _ = study
    saved, frame = load(own.at.folder), frame[blank(frame)]
    one = next(fact for fact in saved.encoder.numbers_ if not fact.missing)
    caplog.clear()
    made = saved.scores(frame.assign(**{one.column: np.nan}))
    assert not made["supported"].any()
    assert (made["reason"] == f"{one.column} missing, as in no row of the fit").all()
    assert any(
        f"'{one.column}' has changed: missing in 100.0 %" in told for told in caplog.messages
    )
    text = next(fact for fact in saved.encoder.categories_ if not fact.missing)
    made = saved.scores(frame.assign(**{text.column: None}))
    assert (made["reason"] == f"{text.column} missing, as in no row of the fit").all()
    bare = saved.scores(frame.assign(**{one.column: np.nan}), reasons=False)
    assert not bare["supported"].any() and "reason" not in bare


def test_what_is_asked_at_one_value_after_the_other_tells_no_change_of_it(study, caplog):
    frame, own, _ = study
    saved, frame = load(own.at.folder), frame[frame["age"].notna()]
    partial_dependence(saved, frame, ["age"], grid_resolution=5)
    assert not caplog.messages
    partial_dependence(saved, frame.assign(city="Atlantis"), ["age"], grid_resolution=5)
    assert not caplog.messages
    new = frame.assign(city=["Atlantis", *["Berlin"] * (len(frame) - 1)])
    partial_dependence(saved, new, ["age"], grid_resolution=5)
    (told,) = caplog.messages
    assert "'city' has changed" in told
    saved.scores(new.assign(age=frame["age"].max()))
    assert len(caplog.messages) == 3


def test_estimates_follow_the_truth(study):
    frame, _, files = study
    scores = read_table(files["scores"])
    older = frame["age"] > 50
    younger = frame["age"] < 30
    assert scores["estimate"][older].mean() > scores["estimate"][younger].mean() + 0.2


def test_deliver_does_not_read_what_is_hidden(study):
    _, own, _ = study
    inputs = missing_outcomes.plan_deliver(own.plan, own.study, own.at).inputs.values()
    assert own.at.truth not in [path for path in inputs if isinstance(path, str)]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda frame: frame.drop(columns="city"), "has no column city"),
        (lambda frame: frame.assign(age="old"), "line 2"),
        (lambda frame: frame.assign(age=np.inf), "infinite"),
        (lambda frame: frame.assign(member="perhaps"), "'perhaps'"),
        (lambda frame: frame.assign(since="yesterday"), "'yesterday'"),
        (lambda frame: frame.iloc[:0], "no row"),
    ],
)
def test_new_rows_that_cannot_be_scored_are_told_and_nothing_is_left(
    study, tmp_path, change, sentence
):
    frame, _, files = study
    change(frame.drop(columns="y")).to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(CounterweightError) as caught:
        score(files, None, str(tmp_path / "new.csv"), tmp_path / "a.parquet", tmp_path / "a.csv")
    assert sentence in str(caught.value) and len(str(caught.value).splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["new.csv"]


def test_levels_never_seen_and_missing_values_are_answered_and_told(study, tmp_path, caplog):
    frame, _, files = study
    strange = frame.drop(columns="y").assign(city="Atlantis", age=np.nan)
    strange.to_csv(tmp_path / "new.csv", index=False)
    score(files, None, str(tmp_path / "new.csv"), tmp_path / "a.parquet", tmp_path / "a.csv")
    made = read_table(tmp_path / "a.parquet")
    assert made["estimate"].notna().all() and not made["supported"].any()
    assert any("'city' has changed" in record.message for record in caplog.records)


def test_two_runs_give_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _, files = delivered(tmp_path / name, people(200, 5), name="mine")
    one, two = (tmp_path / name / "results" / "mine" for name in ("one", "two"))
    for file in ("model.parquet", "scores.parquet", "scores.csv"):
        assert (one / file).read_bytes() == (two / file).read_bytes()


def test_what_is_combined_is_told_with_shares(study):
    _, own, _ = study
    saved = load(own.at.folder)
    assert "5 draws of the folds" in saved.facts["why"][0]
    assert sum(share for _, share in saved.facts["parts"]) == pytest.approx(1)
    assert len(saved.facts["parts"]) == 4 and saved.facts["model"] == "stacked"


def test_what_moved_a_score_adds_up_and_is_named(study):
    frame, own, files = study
    saved, scores = load(own.at.folder), read_table(files["scores"])
    parts = saved.contributions(frame)
    assert list(parts.columns) == [*saved.facts["types"], "base"] and parts["base"].nunique() == 1
    told = saved.scores(frame)
    # At the ends of an interval the score was beyond them.
    inside = (told["low"] < told["estimate"]) & (told["estimate"] < told["high"])
    inside &= told["supported"]
    raw = told["estimate"][inside]
    raw = np.log(raw / (1 - raw)) if saved.binary else raw
    np.testing.assert_allclose(parts.sum(axis=1)[inside], raw, rtol=0, atol=1e-9)
    assert inside.mean() > 0.8
    largest = parts.drop(columns="base").abs().max(axis=1)
    named = scores["top_feature_1"].str.extract(r"^(\w+) ([+-][\d.]+)$")
    np.testing.assert_allclose(named[1].astype(float).abs(), largest, atol=0.0051)
    assert set(named[0]) <= set(saved.facts["types"])
    np.testing.assert_allclose(
        saved.contributions(frame.iloc[::-1])["age"], parts["age"][::-1], rtol=0, atol=1e-12
    )


def test_the_headline_is_the_mean_of_the_answers(study):
    frame, _, files = study
    metrics = read_table(files["metrics"])
    rates = metrics[metrics["metric"].isin(["target_rate", "target_mean"])]
    told = rates.set_index(["part", "variable"])["value"]
    estimate = read_table(files["scores"])["estimate"]
    assert told["", ""] == pytest.approx(estimate.mean(), abs=1e-12)
    assert told["unlabeled", ""] == pytest.approx(estimate[blank(frame)].mean(), abs=1e-12)
    share, known = blank(frame).mean(), frame["y"].dropna().sum() / len(frame)
    for end in ("low", "high"):
        assert told["", end] == pytest.approx(known + share * told["unlabeled", end])
    assert told["", "low"] < told["", ""] < told["", "high"]


def test_estimates_of_a_table_are_right_on_average_by_weights(study):
    """Weighted to the rows without an outcome, residuals of labeled rows sum to next to nothing."""
    _, own, files = study
    labels = read_table(own.at.labels)
    tried = read_table(files["scores"])["cross_validated"]
    weights = read_table(own.at.weights(next(iter(own.study["weightings"]))))
    known = labels["selected"] == 1
    residual = (labels["y"] - tried)[known].to_numpy()
    share = weights["weight"] / weights["weight"].sum()
    beyond = np.maximum(share - 1 / len(labels), 0)
    error = np.sqrt(np.sum((beyond / beyond.sum() * residual) ** 2))
    assert abs(np.average(residual, weights=beyond)) < 0.3 * error


@pytest.mark.parametrize("classes", [(0, 1), ("No", "Yes"), (1, 2)], ids=str)
def test_scikit_learn_judges_a_saved_model_on_a_filtered_frame(tmp_path, classes):
    calibration = pytest.importorskip("sklearn.calibration")
    from sklearn.metrics import accuracy_score, get_scorer

    frame = people(300, 1)
    frame["y"] = frame["y"].map(dict(zip((0.0, 1.0), classes, strict=True)))
    own, files = delivered(tmp_path, frame)
    saved, raw = load(own.at.folder), pd.read_csv(tmp_path / "own.csv", dtype={"who": str})
    assert saved.classes_.tolist() == list(classes)
    old = raw[(raw["age"] > 40) & raw["y"].notna()]
    answers, parts = saved.scores(old), saved.contributions(old)
    assert answers.index.equals(old.index) and parts.index.equals(old.index)
    # What is put beside the frame stands by the right person.
    beside = old.assign(estimate=answers["estimate"], decision=answers["decision"])
    everyone = pd.concat([saved.scores(raw), raw["who"]], axis=1).loc[beside.index]
    np.testing.assert_allclose(beside["estimate"], everyone["estimate"], rtol=0, atol=1e-12)
    right = (beside["decision"] == beside["y"]).mean()
    assert right == accuracy_score(old["y"], saved.predict(old)) > 0.6
    assert get_scorer("accuracy")(saved, old, old["y"]) == right
    display = calibration.CalibrationDisplay.from_estimator(saved, old, old["y"], n_bins=3)
    ones = (old["y"] == classes[1]).to_numpy()
    expected, _ = calibration.calibration_curve(ones, answers["estimate"], n_bins=3)
    np.testing.assert_array_equal(display.prob_true, expected)
    with pytest.raises(CounterweightError, match="fitted already"):
        saved.fit(old, old["y"])
