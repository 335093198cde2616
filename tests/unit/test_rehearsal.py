"""Synthetic copies of a table whose truth is known: what is drawn, and what is said of them."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.rehearsal import drawn_copy, summed_up
from counterweight.tables.parquet import read_table
from delivering import Own, people
from scipy.special import expit

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


def test_a_table_that_asks_something_else_is_refused(tmp_path):
    frame = people(240, 3)
    frame["y"] = frame["y"].fillna(0)
    entry = {"balance": "city", "rehearse": 3}
    with pytest.raises(CounterweightError, match="rehearse"):
        Own(tmp_path, frame, entry)
