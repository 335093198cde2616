"""Synthetic copies of a table whose truth is known: what is drawn, and what is said of them."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.rehearsed_copies import (
    balancing,
    donors,
    drawn_copy,
    foretold,
    summed_up,
)
from counterweight.plan.tasks import jobs_of_answer
from counterweight.tables.parquet import METRICS, metrics_table, read_table, write_table
from delivering import Own, people
from scipy.special import expit

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "examples")]
import tables  # noqa: E402

ROWS = 400_000


def log_odds(y):
    return np.log(y.mean() / (1 - y.mean()))


def error_of(*groups):
    """Standard error of a difference of log odds."""
    return np.sqrt(sum(1 / (len(y) * y.mean() * (1 - y.mean())) for y in groups))


@pytest.mark.parametrize(("factor", "gamma"), [(1, 1), (1, 2), (3, 1), (2, 0.5), (1.5, 2)])
def test_odds_of_rows_without_an_outcome_are_the_factor_times_those_of_the_others(factor, gamma):
    expected, chance, weight = np.full(ROWS, 0.3), np.full(ROWS, 0.6), np.ones(ROWS)
    rng = np.random.default_rng(5)
    labeled, y = drawn_copy(expected, chance, weight, rng, factor=factor, gamma=gamma)
    off = log_odds(y[~labeled]) - log_odds(y[labeled]) - np.log(factor * gamma)
    assert abs(off) < 4 * error_of(y[~labeled], y[labeled])
    assert abs(y[labeled].mean() - 0.3) < 4 * np.sqrt(0.21 / labeled.sum())
    assert abs(labeled.mean() - 0.6) < 4 * np.sqrt(0.24 / ROWS)


def test_numbers_without_an_outcome_are_tilted_by_a_factor_a_standard_deviation():
    """Of normal deviations the tilt moves the mean by log Γ standard deviations."""
    rng = np.random.default_rng(6)
    spread = 2.5 * rng.normal(size=200_000)
    drawn = drawn_copy(
        np.full(ROWS, 7.0), np.full(ROWS, 0.5), np.ones(ROWS), rng, spread=spread, gamma=2.0
    )
    labeled, y = drawn
    assert y[labeled].mean() == pytest.approx(7, abs=4 * 2.5 / np.sqrt(ROWS / 2) + 0.02)
    assert y[~labeled].mean() - y[labeled].mean() == pytest.approx(2.5 * np.log(2), abs=0.05)


def test_clear_cut_labels_keep_their_weighted_share_and_move_apart():
    rng = np.random.default_rng(7)
    score, weight = rng.normal(size=ROWS), rng.uniform(0.5, 3, ROWS)
    expected = np.full(ROWS, 0.5)
    chance = expit(score)
    labeled, _ = drawn_copy(expected, chance, weight, rng, overlap=2.0)
    share = np.average(chance, weights=weight)
    assert np.average(labeled, weights=weight) == pytest.approx(share, abs=0.004)
    plain, _ = drawn_copy(expected, chance, weight, rng)
    assert score[labeled].mean() > score[plain].mean() + 0.1
    # Twice the log odds: among rows near one score the share is that of the steeper curve.
    near = np.abs(score - 1) < 0.05
    move = np.log(labeled[near].mean() / (1 - labeled[near].mean())) - 2
    other = np.abs(score + 1) < 0.05
    same = np.log(labeled[other].mean() / (1 - labeled[other].mean())) + 2
    assert move == pytest.approx(same, abs=0.15)


def test_copies_are_summed_up_by_hand():
    def copy(step, truth, estimate, low, high, naive):
        told = {"truth": truth, "estimate": estimate, "low": low, "high": high, "naive": naive}
        place = {"target": "general", "setting": "assumed", "part": "", "step": step}
        place |= {"variable": ""}
        return [place | {"metric": f"rehearsed_{k}", "value": v} for k, v in told.items()] + [
            place | {"metric": "rehearsed_bounded", "value": 0.0}
        ]

    rows = copy(0.0, 0.2, 0.25, 0.15, 0.35, 0.4) + copy(1.0, 0.3, 0.2, 0.15, 0.25, 0.4)
    hidden = {"target": "general", "setting": "assumed", "part": "unlabeled"}
    rows += [
        hidden | {"metric": "rehearsed_loss", "step": step, "variable": name, "value": value}
        for step, loss in enumerate([(0.5, 0.4), (0.3, 0.6)])
        for name, value in zip("ab", loss, strict=True)
    ]
    found = {
        (one["metric"].removeprefix("rehearsed_"), one.get("variable", "")): one
        for one in summed_up(pd.DataFrame(rows))
    }
    assert found["held", ""]["value"] == 0.5 and found["held", ""]["rows"] == 2
    assert found["off", ""]["value"] == pytest.approx(-0.025)
    assert found["off", ""]["standard_error"] == pytest.approx(0.075)
    assert found["rmse", ""]["value"] == pytest.approx(np.sqrt((0.05**2 + 0.1**2) / 2))
    assert found["naive_rmse", ""]["value"] == pytest.approx(np.sqrt((0.2**2 + 0.1**2) / 2))
    assert found["half_width", ""]["value"] == pytest.approx(0.075)
    assert found["mean_loss", "a"]["value"] == pytest.approx(0.4)
    assert found["mean_loss", "b"]["standard_error"] == pytest.approx(0.1)
    assert found["best", "a"]["value"] == found["best", "b"]["value"] == 0.5
    # The exact interval of one of two: 1 - (1 - p)^2 = .025 and p^2 = ... by symmetry.
    low = 1 - np.sqrt(0.975)
    assert found["held", "low"]["value"] == pytest.approx(low)
    assert found["held", "high"]["value"] == pytest.approx(1 - low)


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


def test_chances_that_balance_are_those_of_the_closed_form_for_one_moment():
    """Of moments 1 (m times) and -2 (k times) they are in the ratio by which the mean is 0."""
    moments = np.r_[np.ones(30), np.full(5, -2.0)][:, None]
    chance = balancing(moments)
    assert chance[:30].sum() == pytest.approx(2 / 3) and np.ptp(chance[:30]) < 1e-15
    assert balancing(np.ones((4, 1))) is None
    assert balancing(np.zeros((4, 2))) == pytest.approx(np.full(4, 0.25))


def test_donors_give_rewards_with_the_mean_that_is_told():
    rng = np.random.default_rng(8)
    expected = rng.uniform(0.02, 0.4, 20_000)
    reward = (rng.random(20_000) < expected).astype(float)
    times = np.where(reward == 0, 5.0, 1.0)
    mean, draw = donors(expected, reward, times, 1.0, rng)
    assert len(np.unique(mean)) == 20 and np.average(mean, weights=times) == pytest.approx(
        np.average(reward, weights=times)
    )
    rows = rng.integers(0, 20_000, ROWS)
    found = reward[draw(rows)]
    assert found.mean() == pytest.approx(mean[rows].mean(), abs=4 * np.sqrt(0.1 / ROWS))
    # Twice the odds: of 0 and 1 a factor of the reward is one of the odds.
    one = np.full(20_000, 0.2)
    mean, draw = donors(one, reward, times, 2.0, rng)
    off = log_odds(reward[draw(rows)]) - np.log(mean[0] / (1 - mean[0])) - np.log(2)
    assert abs(off) < 0.03


def test_chances_are_told_by_the_other_half_and_follow_the_columns():
    rng = np.random.default_rng(9)
    kind, x = rng.choice(["a", "b"], 6000), rng.normal(size=6000)
    truth = expit(np.where(kind == "a", 1.5, -1.5) + x)
    y = (rng.random(6000) < truth).astype(int)
    columns = pd.DataFrame({"kind": kind, "x": x})
    chance = foretold(columns, y, 2, rng)
    assert chance.sum(axis=1) == pytest.approx(np.ones(6000))
    assert np.sqrt(np.mean((chance[:, 1] - truth) ** 2)) < 0.08
    # Rows whose class nobody knows are told, and have no say.
    hidden = np.where(np.arange(6000) < 3000, y, -1)
    assert np.corrcoef(foretold(columns, hidden, 2, rng)[3000:, 1], truth[3000:])[0, 1] > 0.9


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
    kept = found.xs("imbalance")
    assert (kept["rehearsed_truth"] < kept["rehearsed_naive"]).all()


def test_promises_are_held_against_outcomes_that_are_drawn_afresh(tmp_path):
    frame, _ = tables.hiring(np.random.default_rng(3), 1200)
    entry = {"id": "candidate", "outcome": {"column": "did well", "positive": "yes"}}
    entry |= {"groups": {"women": {"sex": "Female"}, "men": {"sex": "Male"}}, "rehearse": 2}
    entry |= {"promises": ["recall(women) >= 0.9 * recall(men)", "coverage(everyone) <= 0.5"]}
    found = on_copies(answered(Own(tmp_path, frame, entry)), "assumed_0")
    rate = found.xs("coverage(everyone) <= 0.5")
    # What goes by no outcome is on a copy as on its table.
    assert rate["rehearsed_truth"].to_numpy() == pytest.approx(rate["rehearsed_estimate"])
    assert (rate["rehearsed_truth"] <= 1e-6).all()
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


def test_shares_of_people_are_summed_up_as_such_and_copies_without_an_answer_are_counted():
    place = {"target": "general", "setting": "assumed", "variable": ""}
    rows = [
        place | {"metric": f"rehearsed_{name}", "part": part, "step": step, "value": value}
        for step, (share, refused) in enumerate([(0.9, 0), (0.8, 1)])
        for part, name, value in [
            ("best offer", "truth", 1.0),
            ("best offer", "estimate", 1.5),
            ("best offer", "share", share),
            ("", "refused", float(refused)),
        ]
    ]
    found = {(one["part"], one["metric"]): one["value"] for one in summed_up(pd.DataFrame(rows))}
    assert found["", "rehearsed_refused"] == 0.5
    records = summed_up(pd.DataFrame(rows))
    (held,) = [
        one for one in records if one["metric"] == "rehearsed_held" and "variable" not in one
    ]
    assert held["value"] == pytest.approx(0.85) and held["part"] == "best offer"
    assert found["best offer", "rehearsed_off"] == 0.5


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"balance": "city", "rehearse": {"copies": 2, "scenarios": ["hidden"]}}, "no copies"),
        ({"reward": "y", "predictions": {"a": "age"}, "rehearse": 3}, "rehearse has no meaning"),
        ({"outcome": "y", "keep_rate": 0.5, "rehearse": 3}, "rows are all there"),
    ],
)
def test_copies_that_a_task_does_not_have_are_refused(tmp_path, entry, said):
    frame = people(240, 3)
    frame["y"] = frame["y"].fillna(0)
    with pytest.raises(CounterweightError, match=said):
        Own(tmp_path, frame, entry)
