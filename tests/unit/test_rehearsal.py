"""Synthetic copies of a table whose truth is known: what is drawn, and what is said of them."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight import rehearsal
from counterweight.errors import CounterweightError
from counterweight.plan.tasks import jobs_of_answer
from counterweight.tables.parquet import METRICS, metrics_table, read_table, write_table
from delivering import Own, people
from own_logs import CHANCE, NEW, a_log

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "examples")]
import tables  # noqa: E402

pytestmark = pytest.mark.usefixtures("few_trees")


@pytest.fixture(scope="module", params=["class", "number"])
def own(request, tmp_path_factory):
    frame = people(240, 3, number=request.param == "number")
    entry = {"id": "who", "outcome": "y", "columns": {"ignore": ["since"]}}
    entry |= {"rehearse": {"copies": 2, "scenarios": ["assumed", "outcome", "hidden", "overlap"]}}
    own = Own(tmp_path_factory.mktemp("own"), frame, entry)
    items = {"select": own.study["selectors"], "weigh": own.study["weightings"]}
    own.run("label")
    for stage, names in (items | {"train": own.study["methods"]}).items():
        for name in names:
            own.run(stage, name)
    own.run("deliver")
    return own


def test_the_whole_answer_is_made_on_a_copy_and_again_with_the_same_bytes(own):
    for name in ("outcome_1", "hidden_0"):
        path = own.run("rehearse", name)["table"]
        found = read_table(path)
        loss = found[found["metric"].eq("rehearsed_loss")].set_index("variable")["value"]
        assert len(loss) == len(own.study["methods"]) and (loss > 0).all()
        found = found[found["metric"].ne("rehearsed_loss")]
        wide = found.pivot_table("value", "part", "metric")
        blank = wide.loc["unlabeled"]
        assert blank["rehearsed_low"] <= blank["rehearsed_estimate"] <= blank["rehearsed_high"]
        assert {*wide.index} == {"", "unlabeled"} and (found["rows"] == 240).all()
    first = path.read_bytes()
    assert own.run("rehearse", name)["table"].read_bytes() == first


def test_a_target_of_other_people_is_refused(tmp_path):
    entry = {"outcome": "y", "rehearse": 3, "target": {"margins": {"city": {"Bonn": 1.0}}}}
    with pytest.raises(CounterweightError, match="rehearse is for answers about the rows"):
        Own(tmp_path, people(240, 3), entry)


def test_labels_bought_by_design_are_refused(tmp_path):
    entry = {"id": "who", "outcome": "y", "rehearse": 3, "collected": "bought.csv"}
    with pytest.raises(CounterweightError, match="collected and rehearse stand together"):
        Own(tmp_path, people(240, 3), entry)


def answered(own):
    """The study with all that its answer goes by, as a run makes it."""
    for stage, _ in jobs_of_answer(own.plan, own.study, own.at):
        made = own.run(*stage)
        if stage[0] == "evaluate":
            table = metrics_table("mine", stage[1], made)
            write_table(own.at.metrics(stage[1]), table, METRICS)
    return own


def on_copies(own, *names):
    """Records of copies, by part; the same again with the same bytes."""
    paths = [own.run("rehearse", name)["table"] for name in names]
    first = paths[0].read_bytes()
    assert own.run("rehearse", names[0])["table"].read_bytes() == first
    found = pd.concat([read_table(path) for path in paths])
    found = found[found["metric"].ne("rehearsed_loss")]
    return found.pivot_table("value", ["part", "setting", "step"], "metric")


def test_a_log_is_valued_on_copies_whose_values_are_known(tmp_path):
    frame, truth = tables.clicks(np.random.default_rng(1), 6000)
    entry = {"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}}
    entry |= {"keep_rate": 0.1, "user": "user", "rehearse": 4}
    found = on_copies(answered(Own(tmp_path, frame, entry)), *[f"assumed_{k}" for k in range(4)])
    value = found["rehearsed_truth"]
    # The copies' value is that of the log by its own rewards: within its error of the truth.
    assert np.ptp(value) < 1e-2 and value.iloc[0] == pytest.approx(truth["new"], abs=0.015)
    held = (found["rehearsed_low"] < value) & (value < found["rehearsed_high"])
    assert held.sum() >= 3


def test_rows_of_a_log_count_by_their_weights_in_the_value_of_its_copies(tmp_path):
    """One context of three earns three times as much, and its rows count nine times."""
    chance = CHANCE * np.array([[1.0], [3.0], [1.0]])
    frame = a_log(3000, np.random.default_rng(2), 0.2, chance=chance)
    frame["heavy"] = np.where(frame["best"] == "left", 9.0, 1.0)
    entry = {"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}}
    entry |= {"keep_rate": 0.2, "weight": "heavy", "rehearse": 2}
    own = answered(Own(tmp_path, frame, entry))
    told = read_table(own.run("rehearse", "assumed_0")["table"]).set_index("metric")["value"]
    # Counted once, or the other way, the value would lie at the mean of contexts or below.
    assert told["rehearsed_truth"] > (NEW * chance).sum(axis=1).mean() + 0.02


@pytest.mark.parametrize("kind", [str, int])
def test_rows_that_are_drawn_twice_have_ids_of_their_own(tmp_path, caplog, kind):
    frame = a_log(2000, np.random.default_rng(2), 0.2).reset_index(drop=True)
    frame["event"] = (70_000 + frame.index).astype(kind)
    entry = {"id": "event", "reward": "clicked", "propensity": "p_logged", "keep_rate": 0.2}
    own = answered(Own(tmp_path, frame, entry | {"policies": {"new": "p_new"}, "rehearse": 2}))
    own.run("rehearse", "assumed_0")
    assert not [line for line in caplog.messages if "share theirs" in line]


@pytest.mark.parametrize("times", [1, 2])
def test_weights_that_do_not_average_one_in_the_log_are_told(tmp_path, caplog, times):
    """With propensities twice as large weights average one half, which copies do not show."""
    frame, _ = tables.clicks(np.random.default_rng(1), 6000)
    frame["p_logged"] = times * frame["p_logged"] / 2
    frame["p_new"] /= 2
    entry = {"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}}
    own = answered(Own(tmp_path, frame, entry | {"keep_rate": 0.1, "user": "user", "rehearse": 2}))
    caplog.clear()
    own.run("rehearse", "assumed_0")
    said = [line for line in caplog.messages if "are made to average 1 in its copies" in line]
    assert len(said) == times - 1 and all("average 0.5" in line for line in said)


def test_rewards_of_logged_rows_that_are_more_likely_move_values_beyond_their_intervals(tmp_path):
    frame, _ = tables.clicks(np.random.default_rng(1), 6000)
    entry = {"reward": "clicked", "propensity": "p_logged", "policies": {"new": "p_new"}}
    entry |= {"keep_rate": 0.1, "rehearse": {"copies": 2, "scenarios": ["outcome"], "gamma": 3}}
    found = on_copies(answered(Own(tmp_path, frame, entry)), "outcome_0", "outcome_1")
    off = (found["rehearsed_estimate"] - found["rehearsed_truth"]).to_numpy()
    assert off[0] > 0.03 and off[1] < -0.015
    outside = (found["rehearsed_low"] > found["rehearsed_truth"]) | (
        found["rehearsed_high"] < found["rehearsed_truth"]
    )
    assert outside.all()


def test_a_policy_of_actions_with_a_reward_model_has_copies_too(tmp_path):
    rng = np.random.default_rng(1)
    frame, _ = tables.clicks(rng, 3000)
    frame["takes"], frame["x"] = rng.choice(["c", "d"], len(frame)), rng.normal(size=len(frame))
    entry = {"reward": "clicked", "propensity": "p_logged", "keep_rate": 0.1, "rehearse": 2}
    entry |= {"policies": {"new": {"column": "takes", "action": "item"}}}
    entry |= {"reward_model": {"by": ["x"]}}
    told = on_copies(answered(Own(tmp_path, frame, entry)), "assumed_0").iloc[0]
    assert told["rehearsed_low"] < told["rehearsed_estimate"] < told["rehearsed_high"]
    # Items c and d earn .05 and .09 in the world of the table, of which each row has one half.
    assert told["rehearsed_truth"] == pytest.approx(0.07, abs=0.03)


def test_a_filter_is_made_again_for_groups_that_are_drawn(tmp_path):
    frame, _ = tables.panel(np.random.default_rng(2), 4000)
    entry = {"id": "person", "balance": ["region"], "alpha": 0.25, "rehearse": 2}
    found = on_copies(answered(Own(tmp_path, frame, entry)), "assumed_0", "assumed_1")
    refused = found["rehearsed_refused"].dropna()
    assert refused.isin((0, 1)).all() and len(refused) == 2
    told = found.xs("what a leaf tells")
    assert (told["rehearsed_high"] == 0.25).all()
    assert (told["rehearsed_truth"] <= 0.25).all() and (told["rehearsed_truth"] > 0.02).all()
    change = found.xs("the change of the imbalance")
    assert (change["rehearsed_truth"] < 0).all()
    assert (change["rehearsed_low"] < change["rehearsed_estimate"]).all()
    assert (change["rehearsed_estimate"] < change["rehearsed_high"]).all()


def test_promises_are_held_against_outcomes_that_are_drawn_afresh(tmp_path, monkeypatch):
    frame, _ = tables.hiring(np.random.default_rng(3), 1200)
    copies, run = [], rehearsal._run
    monkeypatch.setattr(
        rehearsal,
        "_run",
        lambda given, copy, *more, **told: copies.append(copy) or run(given, copy, *more, **told),
    )
    entry = {"id": "candidate", "outcome": {"column": "did well", "positive": "yes"}}
    entry |= {"groups": {"women": {"sex": "Female"}, "men": {"sex": "Male"}}, "rehearse": 2}
    entry |= {"promises": ["recall(women) >= 0.9 * recall(men)", "coverage(everyone) <= 0.5"]}
    found = on_copies(answered(Own(tmp_path, frame, entry)), "assumed_0")
    # Nobody stands twice: a model knows again whom it has seen.
    for people_of in (copy["candidate"] for copy in copies):
        assert len(people_of) == len(frame) // 2 and people_of.is_unique
        assert people_of.isin(frame["candidate"]).all()
    rate = found.xs("coverage(everyone) <= 0.5")
    # The people of a copy are drawn: what goes by no outcome differs on the table by chance, too.
    off = (rate["rehearsed_truth"] - rate["rehearsed_estimate"]).to_numpy()
    assert (off != 0).all() and (np.abs(off) < 4 * np.sqrt(0.25 / 1200)).all()
    (recall,) = found.loc[["recall(women) >= 0.9 * recall(men)"], "rehearsed_truth"]
    assert abs(recall) < 0.5 and recall != 0


def test_offers_are_made_again_for_answers_that_are_drawn(tmp_path):
    frame, _ = tables.school(np.random.default_rng(4), 700)
    entry = {"id": "applicant", "answer": "came", "rehearse": 2}
    entry["offer"] = {"column": "aid", "low": 0, "high": 12, "direction": "up"}
    entry["offer"]["revenue"] = {"intercept": 12, "slope": -1}
    entry["study"] = {"models": [{"model": "offer_logistic", "l2": 1.0}], "bootstrap": 0}
    entry["study"] |= {"deliver": {"method": "offer_logistic"}}
    found = on_copies(answered(Own(tmp_path, frame, entry)), "assumed_0")
    told = found.xs("revenue a person").iloc[0]
    assert 0 < told["rehearsed_truth"] <= told["rehearsed_possible"] + 1e-9
    assert told["rehearsed_truth"] > 0.9 * told["rehearsed_possible"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"balance": "city", "rehearse": {"copies": 2, "scenarios": ["hidden"]}}, "no copies"),
        ({"reward": "y", "predictions": {"a": "age"}, "rehearse": 3}, "rehearse has no meaning"),
        ({"outcome": "y", "keep_rate": 0.5, "rehearse": 3}, "rows are all there"),
        (
            {
                "outcome": "y",
                "rehearse": 3,
                "weights": {"weighting": "heckman", "exclusion": "age"},
            },
            "heckman supposes another law: leave rehearse out, or these weights",
        ),
        ({"outcome": "y", "rehearse": 3, "tilt": {"rate": 0.5}}, "tilt gives their rate"),
    ],
)
def test_copies_that_a_task_does_not_have_are_refused(tmp_path, entry, said):
    frame = people(240, 3)
    if not entry.keys() & {"weights", "tilt"}:
        frame["y"] = frame["y"].fillna(0)
    with pytest.raises(CounterweightError, match=said):
        Own(tmp_path, frame, entry)
