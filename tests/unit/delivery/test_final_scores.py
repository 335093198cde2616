"""Which method a study of a table with blanks delivers: the combined one, else a better one."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.delivery.final_scores import _like_group, _why, chosen_method
from counterweight.evaluation.hidden_labels import EITHER
from counterweight.labeling import missing_outcomes
from counterweight.labeling.missing_outcomes import OutOfFold, describe_blanks
from counterweight.numerics import linear
from counterweight.numerics.estimate import hidden_mean, mean_of_some, variance_of_block
from counterweight.tables.parquet import read_table
from delivering import delivered

ROWS = 400
METHODS = {
    "linear": {"model": "logistic", "label": "Line"},
    "linear-lemma1": {"model": "logistic", "label": "Line, weighted"},
    "boosting": {"model": "gradient_boosting", "label": "Trees"},
}
COMBINED = {"all": {"model": "stacked", "label": "Combined"}}


def out_of_fold(*shifts, binary=False):
    """Outcomes, and predictions whose errors are `shifts` times those of the first method."""
    rng = np.random.default_rng(0)
    y, error = rng.normal(size=ROWS), rng.normal(size=ROWS)
    ones, folds = np.ones(ROWS), np.arange(ROWS)[None] % 5
    draws = [np.stack([y + shift * error, y - shift * error]) for shift in shifts]
    return OutOfFold(np.arange(ROWS), y, ones, ones, None, draws, folds, ones / ROWS / 2, binary)


def test_the_first_is_kept_unless_another_is_clearly_better():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 1.0), METHODS)
    assert name == "linear" and "Trees and Line have the same mean squared error" in why[1]
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.5), METHODS)
    assert name == "boosting" and "Trees has a smaller mean squared error than Line" in why[1]


def test_what_combines_the_others_is_delivered_where_there_is_one():
    assert chosen_method(out_of_fold(1.0, 1.0, 0.5, 0.1), METHODS | COMBINED) == ("all", [])
    # A part that is better is told.
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.1, 0.5), METHODS | COMBINED)
    assert name == "all" and "Trees has a smaller mean squared error than what is" in why[0]
    assert why[1].startswith("That is beyond chance: study: {deliver: {method: boosting}}")
    tested, rng = out_of_fold(1.0, 1.0, 1.0, 1.0), np.random.default_rng(1)
    for at, size in ((2, 0.3), (3, 0.305)):
        tested.draws[at] = tested.y + size * rng.normal(size=(2, ROWS))
    _, why = chosen_method(tested, METHODS | COMBINED)
    assert (
        "Trees has a smaller" in why[0]
        and why[1] == "That is within chance for the best of 3 fits."
    )


def test_what_is_asked_for_is_delivered():
    name, why = chosen_method(out_of_fold(1.0, 1.0, 0.1, 0.1), METHODS | COMBINED, "linear-lemma1")
    assert name == "linear-lemma1" and why == ["Line, weighted was asked for."]


def test_of_everyone_labeled_rows_stand_for_themselves_and_for_like_ones():
    tested = out_of_fold(1.0)
    tested.weight = np.arange(ROWS) + 1.0
    beyond = tested.to_hidden("general")
    share = tested.weight / tested.weight.sum()
    assert np.allclose(beyond, np.maximum(share - 1 / ROWS / 2, 0))
    assert (tested.to_hidden("unlabeled") == tested.weight).all()
    assert np.allclose(tested.predictions[0], tested.y), "draws are averaged"


def amounts(rng, rows=400):
    """Rows with an amount, of some 0, that is known less often where it is large."""
    x = rng.normal(size=(rows, 2))
    y = np.exp(2 + x[:, 0]) * rng.gamma(1, 1, rows) * (rng.random(rows) < 0.7)
    frame = pd.DataFrame({"who": np.arange(rows), "a": x[:, 0], "b": x[:, 1]})
    blank = rng.random(rows) < 1 / (1 + np.exp(1 - x[:, 0]))
    return frame.assign(y=np.where(blank, np.nan, y.round(2))), y, blank


def test_amounts_have_answers_and_intervals_from_0_up(tmp_path):
    frame, y, blank = amounts(np.random.default_rng(3))
    told = {"outcome": {"column": "y", "kind": "number"}, "target": "unlabeled"}
    own, files = delivered(tmp_path, frame, **told)
    scores, metrics = read_table(files["scores"]), read_table(files["metrics"])
    ends = scores.loc[blank, ["low", "estimate", "high"]].to_numpy()
    assert ends.min() >= 0 and (np.diff(ends, axis=1) >= 0).all()
    new, then, hidden = amounts(np.random.default_rng(4), 4000)
    later = load(own.at.folder).scores(new).loc[hidden, ["low", "high"]].to_numpy()
    within = (later[:, 0] <= then[hidden]) & (then[hidden] <= later[:, 1])
    assert 0.93 < within.mean() < 0.995 and np.median(later[:, 1]) < then[hidden].max()
    mean = metrics[(metrics["metric"] == "target_mean") & (metrics["part"] == "")]
    mean = dict(zip(mean["variable"], mean["value"], strict=True))
    assert 0 <= mean["low"] < y[blank].mean() < mean["high"]
    saved = load(own.at.folder)
    assert saved.band.kind == "amount" and saved.model.amounts
    np.testing.assert_allclose(
        saved.scores(frame)["estimate"][blank], scores["estimate"][blank], rtol=1e-12
    )
    parts = saved.contributions(frame).sum(axis=1)
    np.testing.assert_allclose(parts, saved.model.score(saved.encoder.encode(frame)), rtol=1e-9)
    assert metrics.loc[metrics["metric"].isin(["swept_mean", "column_range"]), "value"].min() >= 0
    strengths = metrics[metrics["metric"] == "column_gamma"]
    assert {*strengths["part"]} == {"a", "b", EITHER} and (strengths["value"] >= 1).all()
    assert (metrics["metric"] == "e_value").sum() == 2


def shares(rng, rows=400):
    """Rows with the share of lessons that they came to, near 1 for many, some of it not known."""
    x = rng.normal(size=(rows, 2))
    mean = 1 / (1 + np.exp(-2 - 1.5 * x[:, 0]))
    y = rng.beta(8 * mean, 8 * (1 - mean)).round(3)
    frame = pd.DataFrame({"who": np.arange(rows), "a": x[:, 0], "b": x[:, 1]})
    blank = rng.random(rows) < 1 / (1 + np.exp(1 - x[:, 0]))
    return frame.assign(y=np.where(blank, np.nan, y)), y, blank


@pytest.mark.parametrize(("asked", "most"), [({}, 1.0), ({"most": "none"}, np.inf)])
def test_no_answer_about_shares_is_above_1(tmp_path, asked, most):
    frame, y, blank = shares(np.random.default_rng(5))
    told = {"outcome": {"column": "y", "kind": "number"} | asked}
    own, files = delivered(tmp_path, frame, **told)
    scores, metrics = read_table(files["scores"]), read_table(files["metrics"])
    ends = scores.loc[blank, ["low", "estimate", "high"]].to_numpy()
    saved = load(own.at.folder)
    new = saved.scores(shares(np.random.default_rng(6))[0])[["low", "estimate", "high"]].to_numpy()
    swept = metrics[metrics["metric"].str.startswith(("swept_mean", "column_range", "target_mean"))]
    assert saved.band.most == saved.model.most == most
    for told in (ends, new):
        assert (np.diff(told, axis=1) >= 0).all() and (told.max() <= 1) == (most == 1)
    why = " ".join(saved.facts["why"])
    assert ("No known outcome is above 1" in why) == (most == 1)
    if most == 1:
        assert swept["value"].max() <= 1
        within = (ends[:, 0] <= y[blank]) & (y[blank] <= ends[:, 2])
        assert 0.88 < within.mean() < 1


def test_a_table_of_many_rows_in_blocks_has_the_answers_of_the_whole(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(600, 2))
    town = np.where(x[:, 1] > 0, "north", "south")
    y = rng.random(600) < 1 / (1 + np.exp(1 - x[:, 0] - (town == "north")))
    frame = pd.DataFrame({"who": np.arange(600), "a": x[:, 0], "b": x[:, 1], "town": town})
    frame["y"] = np.where(rng.random(600) < 1 / (1 + np.exp(x[:, 0])), np.nan, y)
    monkeypatch.setattr(missing_outcomes, "FITS", 10)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    whole.mkdir()
    parts.mkdir()
    _, files = delivered(whole, frame, outcome="y")
    expected = {role: read_table(files[role]) for role in ("scores", "metrics")}
    for module in (linear, missing_outcomes):
        monkeypatch.setattr(module, "HELD_ROWS", 130)
    _, files = delivered(parts, frame, outcome="y")
    scores, metrics = (read_table(files[role]) for role in ("scores", "metrics"))
    for column in ("estimate", "low", "high", "cross_validated"):
        np.testing.assert_allclose(scores[column], expected["scores"][column], atol=1e-6)
    assert (scores["reason"] == expected["scores"]["reason"]).all()
    same = ["metric", "part", "variable"]
    assert metrics[same].equals(expected["metrics"][same])
    mean = metrics["metric"].str.startswith("target")
    assert mean.sum() >= 6
    np.testing.assert_allclose(
        metrics["value"][mean], expected["metrics"]["value"][mean], atol=1e-6
    )


def test_fits_that_all_count_nothing_are_said_to_be_the_mean():
    tested = SimpleNamespace(draws=[np.zeros((5, 3))])
    (said,) = _why([["Boosting", 0.0], ["Logistic regression", 0.0]], tested)
    assert said.startswith("No fit tells more than the mean on labeled rows that they have not")
    (said,) = _why([["Boosting", 0.25], ["Logistic regression", 0.75]], tested)
    assert "(5 draws of the folds): Logistic regression 75 %, Boosting 25 %." in said
    (said,) = _why([["Boosting", 0.004], ["Logistic regression", 0.996]], tested)
    assert said.startswith("Delivered is Logistic regression: no share of another fit tells more")


def test_weights_that_are_estimated_widen_the_mean_of_those_that_rest_on_data_alike():
    rng = np.random.default_rng(2)
    residual, weight = rng.normal(size=ROWS), rng.random(ROWS)
    expected, design, on = rng.random(300), np.ones(300), np.arange(300) < 200
    told = residual, weight, expected, design, 0.1, None, (None, None)
    mean, error, low, high = mean_of_some(*told)(on)
    same, wider, lower, higher = mean_of_some(*told, 0.3)(on)
    own = hidden_mean(0 * residual, weight, expected[on], design[on], 0.1, None)[1]
    assert same == mean and wider == np.hypot(own, 0.3) > error
    assert lower < low < high < higher
    # The mean of all of them is told so by the same formula.
    everyone = np.ones(300, bool)
    assert mean_of_some(*told, 0.3)(everyone)[1] == np.hypot(
        hidden_mean(0 * residual, weight, expected, design, 0.1, None)[1], 0.3
    )


def test_rows_later_than_all_have_the_error_of_a_new_block_of_time():
    rng = np.random.default_rng(4)
    residual, weight, folds = np.zeros(500), np.ones(500), np.arange(500) % 5
    residual = np.array([-0.2, -0.1, 0.0, 0.1, 0.2])[folds] + 0.001 * rng.normal(size=500)
    data = SimpleNamespace(labeled=np.arange(800) < 500, later=np.arange(800) >= 650)
    tested = SimpleNamespace(folds=folds[None])
    later, variance, freedom = variance_of_block(data, tested, residual, weight)
    assert later.sum() == 150 and freedom == 4
    assert variance == np.float64(variance) and abs(variance - 0.025 * 6 / 5) < 1e-3
    told = residual, weight, np.zeros(300), np.ones(300), 0.0, None, (None, None)
    plain, whole = mean_of_some(*told), mean_of_some(*told, None, (later, variance, freedom))
    everyone = np.ones(300, bool)
    # Half of them are later; none of those who are not.
    np.testing.assert_allclose(
        whole(everyone)[1] ** 2, plain(everyone)[1] ** 2 + variance / 4, rtol=1e-12
    )
    assert whole(~later) == plain(~later)
    # Residuals that are alike in all blocks are chance, and add nothing.
    alike = rng.permutation(np.repeat([-1.0, 1.0], 250))
    assert variance_of_block(data, tested, alike, weight)[1] < 0.01
    assert variance_of_block(SimpleNamespace(later=None), tested, alike, weight) is None
    # Blocks that weigh nothing tell nothing; of a table without later rows new ones are.
    some = weight * (folds != 2)
    assert np.isfinite(variance_of_block(data, tested, residual, some)[1])
    assert variance_of_block(data, tested, residual, weight * (folds == 2)) is None
    none = SimpleNamespace(labeled=data.labeled, later=np.zeros(800, bool))
    at_once = variance_of_block(none, tested, residual, weight)
    assert at_once[1] == variance and not at_once[0].any()
    assert mean_of_some(*told, None, at_once)(everyone) == plain(everyone)


def test_a_code_of_unknown_that_no_row_with_an_outcome_has_is_fine(tmp_path):
    """Of several values beside the positive one all others are a 0 then."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    y = np.where(x + rng.normal(size=300) > 0, "too much", rng.choice(["right", "too little"], 300))
    y = np.where(rng.random(300) < 0.3, "no answer", y)
    frame = pd.DataFrame({"who": np.arange(300), "x": x, "y": y})
    outcome = {"column": "y", "positive": "too much", "missing": "no answer"}
    study = {"models": [{"model": "logistic"}]}
    _, files = delivered(tmp_path, frame, outcome=outcome, study=study)
    scores = read_table(files["scores"])
    assert (scores["labeled"].astype(bool) == (y != "no answer")).all()
    facts = load(files["model"]).facts
    assert facts["classes"] == facts["names"] == ["not too much", "too much"]


def test_outcomes_of_a_group_go_together_as_residuals_do():
    rng = np.random.default_rng(9)
    group, hidden = np.repeat(np.arange(500), 4), np.r_[np.repeat([600, 601], 5), 602]
    shared, own = rng.normal(size=500)[group], rng.normal(size=2000)
    for residual, share in ((shared, 1.0), (own, 0.0), (shared + own, 0.5)):
        factor = _like_group(group, hidden, residual)
        np.testing.assert_allclose(factor[:10], 1 + 4 * share, atol=0.2)
        assert factor[10] == 1
    # Nothing is known where no two labeled rows are of one group.
    np.testing.assert_array_equal(_like_group(np.arange(5), hidden, own[:5])[:10], 5.0)
    assert _like_group(None, hidden, own) == 1


def test_the_mean_of_labeled_rows_has_the_error_of_groups():
    rng = np.random.default_rng(10)
    y, group = np.repeat(rng.random(50) < 0.4, 4).astype(float), np.repeat(np.arange(50), 4)
    labels = {"selected": np.ones(200, int), "y": y, "weight": np.ones(200)}
    alone, together, once = (
        {one["metric"]: one for one in describe_blanks(table, {"row": []}, True)}
        for table in (
            labels | {"group": np.full(200, -1)},
            labels | {"group": group},
            {name: part[::4] for name, part in labels.items()} | {"group": np.full(50, -1)},
        )
    )
    error = [one["positive_share"]["standard_error"] for one in (alone, together, once)]
    np.testing.assert_allclose(error, [error[2] / 2, error[2], error[2]])
    assert together["groups_labeled"]["value"] == 50 and "groups_labeled" not in alone


def test_a_row_without_an_outcome_is_like_others_where_all_rows_stand_twice(tmp_path):
    """Each labeled row is nearest to its copy, which says nothing of how near others are."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    y = (frame["a"] + rng.normal(size=200) > 0).astype(float)
    frame["y"] = np.where(rng.random(200) < 0.4, np.nan, y)
    frame = pd.concat([frame, frame], ignore_index=True)
    frame["who"] = rng.permutation(400)
    study = {"models": [{"model": "logistic"}]}
    _, files = delivered(tmp_path, frame, outcome="y", study=study)
    scores = read_table(files["scores"])
    assert scores.loc[frame["y"].isna(), "supported"].mean() > 0.9
