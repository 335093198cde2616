"""Predictions of a log in partitions: merged, they say what one pass over all rows says."""

import logging
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation import scored_log as score_runs
from counterweight.evaluation.metrics import (
    compare_metrics,
    grouped_estimate,
    metric_estimate,
    predicted_over_observed,
)
from counterweight.evaluation.scored_log import RankSums, ScoredLog, TopRows
from counterweight.numerics.ranking import auc_estimate
from counterweight.numerics.zero_rejection import keep_weights
from counterweight.plan import components
from counterweight.reporting import study_page
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages.own_logs_page import ranking_answer
from counterweight.reporting.report_jobs import study_plan
from counterweight.tables.parquet import metrics_table
from counterweight.tasks import prediction_logs as kind
from counterweight.tasks.logs import told_of
from own_logs import planned, planned_folder, run_folder, run_job, write_folder

IDS = {"fine": "fine", "rough": "rough"}
KEPT_ALL = {"keep_rate": 1.0, "rows_before": 0}
NUMBERS = ["value", "standard_error", "low", "high"]


def a_log(n, rng, users=0):
    """Rounded and exact chances of clicks, of users that differ."""
    user = rng.integers(max(users, 1), size=n)
    z = rng.normal(size=n) + 0.8 * rng.normal(size=max(users, 1))[user] - 2
    p = 1 / (1 + np.exp(-z))
    frame = pd.DataFrame({"clicked": (rng.random(n) < p).astype(int), "fine": p})
    frame["rough"] = np.round(1 / (1 + np.exp(-z - rng.normal(size=n))), 2)
    return frame.assign(user=[f"user {u}" for u in user])


def asked(outcome="clicked", top=(), **labeling):
    return ScoredLog(
        {
            "top": top,
            "predictions": {"rough": "rough", "fine": "fine"},
            "outcome": {"column": outcome},
            "labeling": {"keep_rate": 1.0, "rows_before": 0} | labeling,
        }
    )


def merged(folder, frame, question, cuts=()):
    """Measures and differences of a log that is cut before the given rows."""
    files = []
    for number, rows in enumerate(np.split(np.arange(len(frame)), cuts)):
        files.append(folder / f"{number}-{len(rows)}.parquet")
        question.sort(files[-1], frame.iloc[rows])
    return question.merge(files)


def by_name(found, kind="estimates"):
    return {(one["predictions"], one["metric"]): one for one in found[kind]}


@pytest.fixture
def short_runs(monkeypatch):
    """Runs and row groups that a small log fills many times over."""
    monkeypatch.setattr(score_runs, "RUN", 900)
    monkeypatch.setattr(score_runs, "GROUP", 70)


@pytest.mark.parametrize("user", ["", "user"])
def test_partitions_merge_to_one_pass(tmp_path, monkeypatch, user):
    frame = a_log(6_000, np.random.default_rng(1), 150)
    frame["rate"] = np.where(frame["clicked"] == 1, np.nan, 0.25)
    frame["times"] = np.random.default_rng(2).integers(1, 4, len(frame))
    question = asked(keep_rate="rate", weight="times", user=user, top=(0.2, 0.03))
    (tmp_path / "one").mkdir()
    one = merged(tmp_path / "one", frame, question)
    monkeypatch.setattr(score_runs, "RUN", 900)
    monkeypatch.setattr(score_runs, "GROUP", 70)
    parts = merged(tmp_path, frame, question, [10, 2_500, 2_501])
    for lines in ("estimates", "differences"):
        assert len(one[lines]) == len(parts[lines]) > 0
        for mine, theirs in zip(parts[lines], one[lines], strict=True):
            told = [[line[name] for name in NUMBERS] for line in (mine, theirs)]
            assert mine.get("rows") == theirs.get("rows")
            np.testing.assert_allclose(*told, rtol=1e-12, atol=1e-14)
    assert parts["rows"] == one["rows"] == 6_000


def test_ids_that_stand_twice_in_any_partitions_are_told(tmp_path, caplog, monkeypatch):
    frame = a_log(900, np.random.default_rng(3)).assign(event=lambda rows: rows.index % 800)
    question = asked()
    question.facts["id"] = "event"
    assert merged(tmp_path, frame, question, [300, 850])["again"] == [200.0, 0.0, 900]
    (tmp_path / "other").mkdir()
    assert merged(tmp_path / "other", frame[:800], question, [300])["again"] == [0.0, 0.0, 800]
    write_folder(tmp_path, frame, 3, "csv")
    entry = {"reward": "clicked", "predictions": {"a": "rough"}}
    plan, study, at = planned_folder(tmp_path, entry, of=kind)
    plan["datasets"][study["dataset"]]["roles"]["id"] = "event"
    monkeypatch.setattr(logging.getLogger("counterweight"), "propagate", True)
    with caplog.at_level(logging.WARNING):
        sizes = run_folder(plan, study, at, of=kind)
    assert "Look at the column event: 200 of 900 rows share theirs" in caplog.text
    shown = study_plan(study, plan["metrics"])
    numbers = StudyNumbers("mine", shown, metrics_table("mine", "labels", sizes).to_pandas())
    numbers.results = tmp_path
    told = [one.text for one in study_page.column_doubts(numbers)]
    assert [text.split(" with others")[0] for text in told] == [
        "Look at the column event: 200 of 900 rows share theirs"
    ]


def test_users_are_the_independent_draws(tmp_path, short_runs):
    frame = a_log(4_000, np.random.default_rng(3), 120)
    found = merged(tmp_path, frame, asked(keep_rate=0.2, user="user"), [1_700])
    y, user = frame["clicked"].to_numpy(), frame["user"].to_numpy()
    weight = keep_weights(y, 0.2)
    for (name, metric), one in by_name(found).items():
        if metric == "predicted_over_observed":
            value = (weight @ frame[name]) / (weight @ y)
            assert one["value"] == pytest.approx(value, rel=1e-12)
            continue
        known = grouped_estimate(metric, y, frame[name].to_numpy(), user, weight)
        told = [known.value, known.standard_error, known.low, known.high]
        np.testing.assert_allclose([one[key] for key in NUMBERS], told, rtol=1e-9)
    for (_, metric), one in by_name(found, "differences").items():
        if metric != "predicted_over_observed":
            pair = frame["fine"].to_numpy(), frame["rough"].to_numpy()
            known = compare_metrics(metric, y, *pair, weight=weight, groups=user)
            assert one["value"] == pytest.approx(known.value, rel=1e-9)
            assert one["standard_error"] == pytest.approx(known.standard_error, rel=1e-9)


def test_without_users_every_row_is_a_draw(tmp_path, short_runs):
    frame = a_log(3_000, np.random.default_rng(4))
    found = by_name(merged(tmp_path, frame, asked(), [800, 900]))
    y, rough = frame["clicked"].to_numpy(), frame["rough"].to_numpy()
    known = auc_estimate(y, rough)
    assert found["rough", "auc"]["value"] == pytest.approx(known.value, rel=1e-12)
    # DeLong's factors n / (n - 1) of the two classes are that of all rows here.
    error = found["rough", "auc"]["standard_error"]
    assert error == pytest.approx(known.standard_error, rel=5e-3)
    loss = metric_estimate("log_loss", y, rough)
    assert found["rough", "log_loss"]["standard_error"] == pytest.approx(loss.standard_error)


def test_rewards_that_are_numbers_have_no_auc(tmp_path, short_runs):
    rng = np.random.default_rng(5)
    frame = a_log(2_000, rng)
    frame["spent"] = frame["clicked"] * rng.gamma(2.0, 10.0, len(frame))
    frame["fine"] *= 20
    found = by_name(merged(tmp_path, frame, asked("spent", keep_rate=0.5), [300]))
    assert {metric for _, metric in found} == {"squared_loss", "predicted_over_observed"}
    spent = frame["spent"].to_numpy()
    known = metric_estimate(
        "squared_loss", spent, frame["fine"].to_numpy(), keep_weights(spent, 0.5)
    )
    assert found["fine", "squared_loss"]["value"] == pytest.approx(known.value, rel=1e-12)
    assert found["fine", "squared_loss"]["standard_error"] == pytest.approx(known.standard_error)


@pytest.mark.parametrize("share", [0.3, 0.01, 0.001])
def test_the_highest_predictions_are_held_against_their_rewards(tmp_path, short_runs, share):
    """As one look at all rows says, ties with the last one counted, whatever rows weigh."""
    frame = a_log(5_000, np.random.default_rng(12))
    found = merged(tmp_path, frame, asked(keep_rate=0.2, top=[share]), [1_700, 1_710])
    y = frame["clicked"].to_numpy()
    weight = keep_weights(y, 0.2)
    tops = {one["predictions"]: one for one in found["estimates"] if one["top"] == share}
    for name, one in tops.items():
        p = frame[name].to_numpy()
        value, error = predicted_over_observed(y, p, weight, share)
        assert one["value"] == pytest.approx(value, rel=1e-12)
        if one["rows"] < 10:
            assert share == 0.001 and one["low"] is one["high"] is one["standard_error"] is None
        else:  # The error of 1 / ratio, turned about.
            assert one["standard_error"] == pytest.approx(error, rel=1e-9)
            assert one["low"] < value < one["high"]
        own = np.sort(p)[::-1][: one["rows"]]
        assert one["rows"] == (p >= own[-1]).sum()
        assert one["nonzero"] == y[p >= own[-1]].sum()
    assert {one["top"] for one in found["estimates"]} == {1.0, share}


def test_intervals_of_the_highest_predictions_hold_what_is_true(tmp_path):
    """Predictions are a quarter too high; some ten rewards are in the top."""
    held, widths = [], []
    for seed in range(300):
        rng = np.random.default_rng([13, seed])
        p = rng.beta(1, 30, 2_000)
        zero = rng.random(2_000) >= p
        kept = ~zero | (rng.random(2_000) < 0.3)
        frame = pd.DataFrame({"clicked": (~zero).astype(int), "fine": 1.25 * p, "rough": p})
        found = merged(tmp_path, frame[kept], asked(keep_rate=0.3, top=[0.04]))
        for one in (x for x in found["estimates"] if x["top"] < 1):
            true = {"fine": 1.25, "rough": 1.0}[one["predictions"]]
            held.append(one["low"] <= true <= one["high"])
            widths.append(one["high"] / one["value"])
    assert 0.93 <= np.mean(held) < 1
    # Ten rewards tell a ratio to within a factor of two, not more.
    assert 1.5 < np.median(widths) < 2.2


@pytest.mark.parametrize(
    ("rate", "keep", "rows"), [(0.95, 0.2, 16), (0.9, 1.0, 12), (0.8, 0.2, 40)]
)
def test_near_certain_rewards_at_the_top_leave_doubt_of_those_that_did_not_come(rate, keep, rows):
    rng, held, told = np.random.default_rng(3), [], []
    for _ in range(400):
        score = np.sort(rng.uniform(rate - 0.02, rate + 0.02, rows))
        reward = (rng.random(rows) < rate).astype(float)
        kept = (reward == 1) | (rng.random(rows) < keep)
        top = TopRows(1 / keep, 64)
        for scores, rewards in (([0.1], [0.0]), (score[kept], reward[kept])):
            rewards = np.asarray(rewards)
            weight = np.where(rewards > 0, 1.0, 1 / keep)
            top.add(np.asarray(scores), rewards, weight, np.arange(len(rewards)))
        one = top.told(0.95)
        held.append(one["low"] <= 1 <= one["high"])
        told.append(one)
    assert np.mean(held) >= 0.95
    # Of none that are seen 3.69 may have come, each for 1 / keep rows.
    sure = [one for one in told if one["nonzero"] == one["rows"]]
    for one in sure:
        assert one["high"] > one["value"] * (1 + 3.68 / keep / one["rows"])


@pytest.mark.parametrize("users", [False, True])
def test_a_ratio_of_few_draws_has_no_interval_and_nothing_is_said_of_it(users):
    """One row, or one user, tells nothing of how far off predictions are."""
    rng, told = np.random.default_rng(4), {}
    for draws in (1, 2, 9, 10, 200):
        score = np.sort(rng.uniform(20, 30, draws * (3 if users else 1)))
        reward, cluster = rng.gamma(2, score / 2), np.arange(len(score)) % draws
        top = TopRows(0.0, 256)
        top.add(score, reward, np.ones(len(score)), cluster)
        told[draws] = top.told(0.95)
        assert told[draws]["value"] == pytest.approx(score.sum() / reward.sum())
    for draws, one in told.items():
        ends = [one[name] for name in ("standard_error", "low", "high")]
        assert (ends == [None] * 3) == (draws < 10)


def test_highest_predictions_without_a_reward_have_no_ratio(tmp_path):
    frame = a_log(600, np.random.default_rng(14))
    frame["fine"] = np.where(frame["clicked"] == 1, frame["fine"] / 10, 0.5 + frame["fine"] / 10)
    found = merged(tmp_path, frame, asked(top=[0.01]))
    (one,) = (x for x in found["estimates"] if x["top"] < 1 and x["predictions"] == "fine")
    assert one["value"] is None and one["nonzero"] == 0 and one["rows"] == 6
    assert not [x for x in kind_records(found) if x.get("part") == "top 0.01"]


def test_the_highest_of_tied_predictions_are_judged_where_they_are_about_the_share(tmp_path):
    """A yes to 14 % is no highest 1 %; one to 1.2 % is."""
    n = 20_000
    frame = a_log(n, np.random.default_rng(21))
    frame["rough"] = (frame["fine"] > frame["fine"].quantile(0.86)).astype(int)
    found = merged(tmp_path, frame, asked(top=[0.2, 0.1, 0.01]), [9_000])
    tops = {one["top"]: one["rows"] for one in found["estimates"] if one["predictions"] == "rough"}
    assert tops == {1.0: n, 0.1: 2_800}
    tops = {one["top"]: one["rows"] for one in found["estimates"] if one["predictions"] == "fine"}
    assert tops == {1.0: n, 0.2: 4_000, 0.1: 2_000, 0.01: 200}
    frame["rough"] = (frame["fine"] > frame["fine"].quantile(0.988)).astype(int)
    found = merged(tmp_path, frame, asked(top=[0.01, 0.001]))
    tops = {one["top"]: one["rows"] for one in found["estimates"] if one["predictions"] == "rough"}
    assert tops == {1.0: n, 0.01: 240}


def test_a_page_begins_with_predictions_that_are_too_high_where_they_are_highest():
    rng = np.random.default_rng(15)
    p = rng.beta(1, 20, 20_000)
    frame = pd.DataFrame({"clicked": (rng.random(20_000) < p).astype(int), "fine": p})
    frame["rough"] = np.where(p > np.quantile(p, 0.99), 2 * p, p)
    found = ScoredLog(
        {"predictions": {"fine": "fine", "rough": "rough"}, "top": [0.01], "labeling": KEPT_ALL}
        | {"outcome": {"column": "clicked"}}
    )
    with tempfile.TemporaryDirectory() as folder:
        found = merged(Path(folder), frame, found)
    plan, study = planned(
        {"reward": "clicked", "predictions": {"fine": "fine", "rough": "rough"}, "top": [0.01]},
        of=kind,
    )
    tables = [
        metrics_table("mine", name, score_runs.score_metrics(found, name, IDS, top=[0.01]))
        for name in IDS
    ]
    shown = study_plan(study, plan["metrics"])
    numbers = StudyNumbers("mine", shown, pd.concat([table.to_pandas() for table in tables]))
    answer = ranking_answer(numbers)
    (said,) = (text for text in answer.more if "highest" in text)
    assert said.startswith("The highest 1 % of rough are too high by the mean: ")


def kind_records(found):
    ids = {"fine": "fine", "rough": "rough"}
    return score_runs.score_metrics(found, "fine", ids, top=[0.01])


def test_scores_that_are_no_chances_have_an_auc_alone(tmp_path):
    frame = a_log(500, np.random.default_rng(6))
    frame["rough"] = np.log(frame["fine"])
    made = merged(tmp_path, frame, asked(top=(0.1,)), [200])
    found = by_name(made)
    assert found["rough", "auc"]["value"] == found["fine", "auc"]["value"]
    assert {metric for name, metric in found if name == "rough"} == {"auc"}
    assert ("fine", "log_loss") in found and ("fine", "brier") in found
    column = made["columns"]["rough"]
    assert column["outside"] == 500 and made["columns"]["fine"]["outside"] == 0
    assert column["least"] == frame["rough"].min() and column["most"] == frame["rough"].max()
    ids = {"fine": "fine", "rough": "rough"}
    told = {
        (one["metric"], one.get("variable")): one["value"]
        for one in score_runs.score_metrics(made, "rough", ids, top=[0.1])
    }
    assert told["predictions_outside", None] == 500
    assert told["predictions_end", "least"] == frame["rough"].min()
    assert ("predicted_over_observed", None) not in told


def test_chances_that_left_none_to_what_came_are_counted(tmp_path):
    frame = a_log(400, np.random.default_rng(16))
    ones, zeros = (np.flatnonzero(frame["clicked"] == value) for value in (1, 0))
    frame.loc[ones[:7], "fine"] = 0.0
    frame.loc[ones[7:9], "fine"] = 1.0
    frame.loc[zeros[:3], "fine"] = 1.0
    made = merged(tmp_path, frame, asked(), [250])
    assert made["columns"]["fine"]["impossible"] == 10
    # In per cent a 1 is no certainty.
    frame["fine"] = 100 * frame["fine"]
    frame.loc[zeros[:3], "fine"] = 1.0
    made = merged(tmp_path, frame, asked(), [250])["columns"]["fine"]
    assert made["outside"] and not made["impossible"]


def test_ratios_of_signed_numbers_have_intervals_of_either_sign(tmp_path):
    rng = np.random.default_rng(17)
    frame = a_log(600, rng)
    frame["clicked"] = rng.normal(1.0, 1.0, 600)
    frame["fine"], frame["rough"] = frame["clicked"] - 3.0, 1.5
    found = by_name(merged(tmp_path, frame, asked()))
    for name in ("fine", "rough"):
        one = found[name, "predicted_over_observed"]
        assert one["low"] < one["value"] < one["high"]
    assert found["fine", "predicted_over_observed"]["value"] < 0


@pytest.mark.parametrize("clusters", [3, 5_000])
def test_rows_of_one_score_may_come_in_many_batches(clusters):
    rng = np.random.default_rng(7)
    score, cluster = np.sort(rng.integers(4, size=4_000)), rng.integers(clusters, size=4_000)
    positive, weight = rng.random(4_000) < 0.3, rng.random(4_000)
    sums = RankSums(clusters)
    for rows in np.array_split(np.arange(4_000), 60):
        sums.add(score[rows].astype(float), positive[rows], weight[rows], cluster[rows])
    value, influence = sums.done().auc()
    assert value == pytest.approx(auc_estimate(positive, score, weight).value, rel=1e-12)
    assert influence.sum() == pytest.approx(0, abs=1e-14)
    plain = grouped_estimate("auc", positive.astype(int), score.astype(float), cluster, weight)
    draws = len(np.unique(cluster))
    error = np.sqrt((influence**2).sum() * draws / (draws - 1))
    assert error == pytest.approx(plain.standard_error, rel=1e-9)


def test_one_score_for_all_tells_nothing_apart(tmp_path, short_runs):
    frame = a_log(2_000, np.random.default_rng(8)).assign(rough=0.1)
    made = merged(tmp_path, frame, asked(top=(0.5, 0.1)))
    one = by_name(made)["rough", "auc"]
    assert one["value"] == 0.5 and one["low"] is one["high"] is one["standard_error"] is None
    gap = by_name(made, "differences")["fine", "auc"]
    assert gap["low"] < gap["value"] < gap["high"]
    # All rows have the highest score, so they are told once.
    ids = {"fine": "fine", "rough": "rough"}
    parts = {
        one.get("part") for one in score_runs.score_metrics(made, "rough", ids, top=[0.5, 0.1])
    }
    assert parts == {None}


@pytest.mark.parametrize(
    ("change", "labeling", "sentence"),
    [
        ({"rough": "high"}, {}, "'rough' holds 'high' where a number"),
        ({"rough": ["0,5", "0.7"] * 200}, {}, "'rough' holds '0,5' where a number"),
        ({"rough": np.nan}, {}, "prediction 'rough' is missing"),
        ({}, {"keep_rate": 0.1, "rows_before": 500}, "stand for"),
        ({"clicked": 0}, {}, "is 0 in all"),
        ({"user": None}, {"user": "user"}, "user 'user' is missing"),
        ({"user": "me"}, {"user": "user"}, "All rows are of one 'user'"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(tmp_path, change, labeling, sentence):
    frame = a_log(400, np.random.default_rng(9), 30).assign(**change)
    with pytest.raises(CounterweightError, match=sentence) as error:
        merged(tmp_path, frame, asked(**labeling), [150])
    assert "\n" not in str(error.value)


def test_two_users_are_enough_to_differ(tmp_path):
    frame = a_log(60, np.random.default_rng(9), 2)
    found = by_name(merged(tmp_path, frame, asked(user="user")))
    assert {name for name, _ in found} == {"rough", "fine"}


def test_numbers_with_decimal_commas_are_found_out(tmp_path):
    """As of a whole table; a whole number is one, too, and thousands are told by the others."""
    frame = a_log(900, np.random.default_rng(12)).drop(columns="user").round(4)
    frame["paid"] = np.where(frame["clicked"], 1234.5 + np.arange(900), 0.0)
    frame["stands_for"] = 1 + np.arange(900) // 600
    told = {}
    for mark in (".", ","):
        folder = tmp_path / ("point" if mark == "." else "comma")
        folder.mkdir()
        frame.to_csv(folder / "log.csv", sep=";", decimal=mark, index=False)
        question = asked("paid", weight="stands_for")
        question.sort(folder / "runs.parquet", folder / "log.csv")
        told[mark] = question.merge([folder / "runs.parquet"])
    assert told[","] == told["."]
    assert by_name(told["."])["rough", "squared_loss"]["value"] > 1e5


def test_words_as_rewards_need_the_one_that_is_a_1():
    error = CounterweightError("a.csv, row 0: the column 'got' holds 'no' where a number is")
    told = told_of("a.csv", error, {"column": "got", "positive": None})
    assert told.endswith("reward: {column: got, positive: ...}.")
    assert told_of("a.csv", error, {"column": "other", "positive": None}) == str(error)


def test_a_value_that_no_reward_has_is_told(tmp_path):
    frame = a_log(300, np.random.default_rng(11)).assign(rate=np.nan, clicked="no")
    question = asked(keep_rate="rate")
    question.facts["outcome"]["positive"] = "yse"
    with pytest.raises(CounterweightError, match="the value that is a 1"):
        merged(tmp_path, frame, question)


def test_a_study_by_config(tmp_path):
    frame = a_log(1_500, np.random.default_rng(10), 80)
    write_folder(tmp_path, frame, 3, "csv", "day {}")
    entry = {"reward": "clicked", "predictions": {"old one": "rough", "1": "fine"}, "user": "user"}
    assert kind.own_study(entry)["roles"]["predictions 1"] == "fine"
    plan, study, at = planned_folder(tmp_path, entry, of=kind)
    assert list(kind.parts(plan, study)) == ["day_0", "day_1", "day_2"]
    sizes = run_folder(plan, study, at, of=kind)
    assert {one["metric"]: one["value"] for one in sizes}["rows_log"] == 1_500
    records = run_job(kind.plan_evaluate(plan, study, "p_1", at))
    gap = [one for one in records if one["metric"] == "paired_difference"]
    assert {one["part"] for one in gap} == {"old_one"}
    # What stands in the table of results, with its interval.
    shown = study_plan(study, plan["metrics"])
    numbers = StudyNumbers("mine", shown, metrics_table("mine", "p_1", records).to_pandas())
    table = components.reference(shown["sheets"]["table"])(numbers, "general", "no {}".format)
    told = table[(table["method"] == "p_1") & (table["part"] == "")].set_index("metric")
    (auc,) = (one for one in records if one["metric"] == "auc" and not one.get("variable"))
    assert told.loc["auc", "estimate"] == auc["value"] and told.loc["auc", "status"] == "ok"
    assert told.loc["auc", "low"] < auc["value"] < told.loc["auc", "high"]
    job = kind.plan_deliver(plan, study, at)
    run_job(job)
    told = pd.read_csv(job.outputs["measures_csv"])
    assert told["top"].value_counts().to_dict() == {1.0: 8, 0.01: 2, 0.001: 2}
    assert (told.loc[told["top"] == 0.01, "rows"] >= 15).all()
    known = grouped_estimate("auc", *(frame[key].to_numpy() for key in ("clicked", "fine", "user")))
    auc = told[(told["predictions"].astype(str) == "1") & (told["metric"] == "auc")]
    assert auc["value"].item() == pytest.approx(known.value, rel=1e-9)
    assert len(pd.read_parquet(job.outputs["comparisons_parquet"])) == 4


def test_a_few_codes_among_rewards_of_yes_and_no_are_refused(tmp_path):
    """Whatever the partitions; numbers, values said to be rewards and many others are not."""
    frame = a_log(1_000, np.random.default_rng(14))

    def told(values, place, **outcome):
        made = frame.copy()
        made.loc[place, "clicked"] = values
        question = asked()
        question.facts["outcome"] |= outcome
        folder = tmp_path / f"{values}-{len(place)}-{len(outcome)}"
        folder.mkdir()
        return merged(folder, made, question, [500])

    some = [3, 40, 700, 900]
    for code in (9, -1, 999):
        with pytest.raises(CounterweightError, match=f"is {code} in 4 of 1000 rows, and 0 or 1"):
            told(code, some)
    assert not told(9, some, high=9)["binary"]
    assert not told(2, some)["binary"], "2 is no code"
    assert not told(9, [*range(100)])["binary"], "a tenth of the rows"
    made = frame.assign(clicked=np.where(frame.index < 40, frame.index + 6.0, frame["clicked"]))
    assert not merged(tmp_path, made, asked(), [10])["binary"], "many numbers"
