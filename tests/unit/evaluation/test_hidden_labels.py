"""How wrong answers could be where labels are missing: tilts of one's own table, sweeps, words."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.evaluation.hidden_labels import (
    EITHER,
    begun_at,
    sweep_predictions,
    sweep_records,
)
from counterweight.numerics.estimate import Estimate, around
from counterweight.numerics.sensitivity import Sweep, swept
from counterweight.numerics.tilt import tilted
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.reporting.numbers import StudyNumbers
from counterweight.reporting.pages import blanks_page as page
from counterweight.reporting.pages.trust import BY_COLUMN, by_columns, how_wrong, swept_of
from counterweight.reporting.report_jobs import study_plan
from counterweight.reporting.sheets import build
from counterweight.tables.parquet import METRICS, metrics_table, read_table
from delivering import delivered
from scipy.special import expit, logit

QUICK = {
    "selection": [{"selector": "logistic"}],
    "weighting": [{"weighting": "lemma2"}],
    "models": [{"model": "logistic"}, {"model": "logistic", "weights": "lemma2"}],
    "deliver": {"method": "logistic"},
}
ROWS, TIMES = 1200, 3.0
#: Of the record of a mean over all that answers are for.
WHOLE = {"part": "", "variable": ""}


def applicants(times=TIMES, shift=False):
    """Those refused have, at equal features, odds `times` as large; with the truth of all."""
    rng = np.random.default_rng(4)
    if shift:  # features given the outcome are alike, whoever is labeled
        seen = rng.random(ROWS) < 0.6
        y = rng.random(ROWS) < np.where(seen, 0.3, 0.3 * times / (0.7 + 0.3 * times))
        x, z = (rng.normal(y, 1.0) for _ in range(2))
    else:
        x, z = rng.normal(size=(2, ROWS))
        seen = rng.random(ROWS) < expit(0.5 - x)
        p = expit(x + 0.5 * z - 1)
        y = rng.random(ROWS) < np.where(seen, p, tilted(p, np.log(times)))
    frame = {"who": np.arange(ROWS), "x": x.round(3), "z": z.round(3)}
    return pd.DataFrame(frame | {"y": np.where(seen, y.astype(float), np.nan)}), y, seen


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A table that is missing not at random, with some tilts; by what is asked."""
    made = {}
    general = QUICK | {"weighting": [{"weighting": "lemma1"}]}
    general["models"] = [{"model": "logistic"}, {"model": "logistic", "weights": "lemma1"}]
    for name, entry in {
        "none": {"target": "unlabeled"},
        "times": {"target": "unlabeled", "tilt": {"times": TIMES}},
        "rate": {"target": "unlabeled", "tilt": {"rate": 0.45}},
        "everyone": {"tilt": {"times": TIMES}, "study": general},
        "rate_everyone": {"tilt": {"rate": 0.45}, "study": general},
        "em": {"target": "unlabeled", "tilt": {"by": "em"}},
    }.items():
        folder = tmp_path_factory.mktemp(name)
        frame, y, seen = applicants(shift=name == "em")
        made[name] = (*delivered(folder, frame, **{"study": QUICK} | entry), frame, y, seen)
    return made


def scores(runs, name):
    return read_table(runs[name][1]["scores"])


def metrics(runs, name):
    return read_table(runs[name][1]["metrics"])


def one(table, metric, **place):
    rows = table[table["metric"] == metric]
    for column, value in place.items():
        rows = rows[rows[column] == value]
    assert len(rows) == 1, (metric, place)
    return rows.iloc[0]


def test_a_tilt_moves_every_estimate_by_the_log_of_the_odds(runs):
    seen = runs["none"][4]
    plain, moved = (scores(runs, name)[~seen] for name in ("none", "times"))
    assert "at_random" not in plain
    np.testing.assert_allclose(moved["at_random"], plain["estimate"])
    shift = logit(moved["estimate"]) - logit(plain["estimate"])
    np.testing.assert_allclose(shift, np.log(TIMES), atol=1e-9)
    assert ((moved["low"] <= moved["estimate"]) & (moved["estimate"] <= moved["high"])).all()
    assert (moved["decision"] == np.where(moved["estimate"] >= 0.5, 1, 0)).all()


def test_the_tilt_that_is_true_finds_the_rate_and_missing_at_random_does_not(runs):
    _, _, _, y, seen = runs["times"]
    truth = y[~seen].mean()
    told = one(metrics(runs, "times"), "target_rate", **WHOLE)
    assert abs(told["value"] - truth) < 3 * told["standard_error"]
    plain = one(metrics(runs, "none"), "target_rate", **WHOLE)
    assert abs(plain["value"] - truth) > 3 * plain["standard_error"]


def test_bounds_around_missing_at_random_hold_the_truth_at_the_true_odds(runs):
    table, truth = metrics(runs, "none"), runs["none"][3][~runs["none"][4]].mean()
    place = {"setting": f"gamma={TIMES}"}
    most = one(table, "swept_rate", variable="most", **place)
    least = one(table, "swept_rate", variable="least", **place)
    assert least["value"] <= truth <= most["value"] + 1.96 * most["standard_error"]
    start = one(table, "swept_rate", variable="least", setting="gamma=1.0")
    assert start["value"] == pytest.approx(one(table, "target_rate", **WHOLE)["value"], abs=1e-12)
    for metric in ("swept_accuracy", "swept_brier"):
        found = one(table, metric, variable="least", **place)["value"]
        assert found < one(table, metric, variable="least", setting="gamma=1.0")["value"]
    assert len(table[table["metric"] == "turns_at"]) == 6
    assert 0 < one(table, "decisions_open")["value"] < 1


@pytest.mark.parametrize("name", ["everyone", "rate_everyone"])
def test_decisions_are_right_as_often_as_is_told(runs, name):
    # Rows with an outcome are decided on as labeled ones are, out of fold; that their outcomes are
    # known makes no decision right. Estimates that are delivered are kept within their band.
    _, paths, _, y, seen = runs[name]
    table, told = read_table(paths["scores"]), read_table(paths["metrics"])
    hidden = table["estimate"]
    known = (table["cross_validated"] >= 0.5) == y
    right = np.where(seen, known, np.maximum(hidden, 1 - hidden)).mean()
    found = one(told, "swept_accuracy", setting="gamma=1.0", variable="least")
    # Labeled residuals put hidden rows right.
    assert found["value"] == pytest.approx(right, abs=0.02)
    # Two fits of one form decide alike.
    assert abs(one(told, "right_gain", part="logistic-lemma1", variable="")["value"]) < 3


@pytest.mark.parametrize("name", ["none", "times", "everyone", "rate"])
def test_a_conclusion_on_another_method_is_on_the_side_of_what_is_gained_over_it(runs, name):
    table = metrics(runs, name)
    gains = table[(table["metric"] == "right_gain") & (table["variable"] == "")]
    assert {*gains["part"]} == {*table[table["metric"] == "turns_at"]["part"]} - {"rate"}
    for gain in gains.itertuples():
        low, high = (
            one(table, "right_gain", part=gain.part, variable=end)["value"]
            for end in ("low", "high")
        )
        assert low <= gain.value <= high and gain.standard_error >= 0
        above, below = (
            one(table, "turns_at", part=gain.part, variable=side)["value"]
            for side in ("above", "below")
        )
        assert (above > 1) == (gain.value > 0) and (below > 1) == (gain.value < 0)


def test_a_known_rate_is_that_of_the_answers(runs):
    seen = runs["rate"][4]
    assert scores(runs, "rate")["estimate"][~seen].mean() == pytest.approx(0.45, abs=1e-9)
    told = one(metrics(runs, "rate"), "target_rate", **WHOLE)
    assert told["value"] == pytest.approx(0.45, abs=1e-9)


@pytest.mark.parametrize(("given", "like"), [("rate", "times"), ("rate_everyone", "everyone")])
def test_beside_a_known_rate_decisions_are_as_unsure_as_labeled_rows_leave_them(runs, given, like):
    """A rate says nothing of who is who: only its own error is gone."""
    for metric, place in (
        ("swept_accuracy", {"setting": "gamma=1.0", "variable": "least"}),
        ("swept_brier", {"setting": "gamma=1.0", "variable": "least"}),
        ("right_gain", {"part": "constant", "variable": ""}),
    ):
        own, other = (
            one(metrics(runs, name), metric, **place)["standard_error"] for name in (given, like)
        )
        assert own > 0.6 * other, metric


def test_a_known_rate_bounds_rows_unlike_all_labeled_ones_too(tmp_path):
    frame, _, seen = applicants()
    frame.loc[np.flatnonzero(~seen)[:90], "x"] = 40.0
    asked = {"target": "unlabeled", "tilt": {"rate": 0.45}}
    own, files = delivered(tmp_path, frame, study=QUICK, **asked)
    table = read_table(files["metrics"])
    assert one(table, "rows_outside")["value"] >= 90
    for variable in ("", "low", "high"):
        told = one(table, "target_rate", part="", variable=variable)["value"]
        assert told == pytest.approx(0.45, abs=1e-9)
    assert not table["metric"].isin(["target_bounds", "unsupported_headline"]).any()


def test_for_everyone_new_rows_alone_are_mixed_by_the_chance_of_a_label(runs):
    """Of the table's rows it is known which have an outcome, and those have their own."""
    own, _, frame, y, seen = runs["everyone"]
    table = scores(runs, "everyone")
    top = tilted(table["at_random"], np.log(TIMES))
    for column in ("estimate", "low", "high", "at_random"):
        np.testing.assert_array_equal(table[column][seen], y[seen])
    np.testing.assert_allclose(table["estimate"][~seen], top[~seen])
    saved = load(own.at.folder)
    new = saved.scores(frame)
    most = tilted(new["at_random"], np.log(TIMES))
    share = (most - new["estimate"]) / (most - new["at_random"])
    np.testing.assert_allclose(share, saved.tilt.chance.predict(saved.encoder.encode(frame)))
    assert share[seen].mean() > share[~seen].mean()
    told = one(metrics(runs, "everyone"), "target_rate", **WHOLE)
    assert abs(told["value"] - y.mean()) < 3 * told["standard_error"]
    assert table["estimate"].mean() == pytest.approx(told["value"], abs=1e-12)
    ends = [
        one(metrics(runs, "everyone"), "target_rate", part="", variable=end)["value"]
        for end in ("low", "high")
    ]
    assert y[seen].sum() / ROWS < ends[0] < told["value"] < ends[1]


def test_em_finds_the_odds_under_label_shift_and_says_what_it_rests_on(runs):
    saved = load(runs["em"][0].at.folder)
    known = saved.facts["tilt"]
    assert abs(known["delta"] - np.log(TIMES)) < 3 * known["standard_error"]
    assert known["gap"] < 0.3
    text = " ".join(saved.facts["rests_on"])
    assert "label shift" in text and "Otherwise it is a number without a meaning" in text


@pytest.mark.parametrize("name", ["none", "times", "everyone", "em"])
def test_a_saved_model_answers_new_rows_alike(runs, name):
    own, _, frame, *_ = runs[name]
    again = load(own.at.folder).scores(frame.iloc[::-1])
    table = scores(runs, name).iloc[::-1].reset_index(drop=True)
    blank, again = ~table["labeled"], again.reset_index(drop=True)
    assert [*again] == [name for name in table if name not in ("labeled", "cross_validated")]
    # Of a new row it is not known whether it would have an outcome.
    made = [] if name == "everyone" else ["estimate", "low", "high"]
    for column in (*made, *(["at_random"] if name != "none" else [])):
        np.testing.assert_allclose(again[column][blank], table[column][blank], atol=1e-12)


def numbers_of(own, files):
    labels = [{"metric": "rows_all", "value": ROWS}, {"metric": "rows_labeled", "value": 700.0}]
    labels += [{"metric": "rows_unlabeled", "value": 500.0}]
    shown = study_plan(own.study, own.plan["metrics"])
    target = own.study["targets"][0]
    quality = [{"metric": "auc", "value": 0.8, "standard_error": 0.01, "target": target}]
    tables = [
        metrics_table("mine", source, rows).to_pandas()
        for source, rows in (
            ("labels", labels),
            ("logistic", quality),
            ("logistic-lemma2", quality),
        )
    ]
    frame = pd.concat([*tables, read_table(files["metrics"])])[[name for name, _ in METRICS]]
    return StudyNumbers("mine", shown, frame, own.at.folder)


def test_the_first_sentence_says_on_what_condition_it_holds(runs):
    page.facts.cache_clear()
    answer = page.answer(numbers_of(*runs["none"][:2]))
    assert answer.sentence.startswith("If labels are missing at random, ")
    assert "up to twice or half those of like rows that have one" in answer.sentence
    told = [*answer.more, *answer.rest]
    assert any("othing in the table can show that" in text for text in told)
    turned = [one for one in how_wrong(numbers_of(*runs["none"][:2])) if "(Γ = " in one]
    assert sum(one.startswith("The rate of y = 1 among those") for one in turned) == 1
    assert all("from what is assumed by a factor below" in one for one in turned)
    numbers = numbers_of(*runs["times"][:2])
    sentence = page.answer(numbers).sentence
    assert sentence.startswith("If the odds of y = 1 among rows without an outcome are 3 times")
    assert ["with the tilt," in one.sentence for one in swept_of(numbers)] == [True] * 3
    rate = page.answer(numbers_of(*runs["rate"][:2])).sentence
    assert "which meets the rate that is given, of the 500 rows without" in rate
    answer = page.answer(numbers_of(*runs["em"][:2]))
    told = " ".join([*answer.more, *answer.rest])
    assert "label shift" in told and "remains after the tilt" in told


def test_strengths_of_columns_and_the_e_value_are_told_in_sentences_and_a_table(runs):
    own, files = runs["none"][:2]
    numbers = numbers_of(own, files)
    place = {"metric": "column_gamma", "part": "income", "target": "unlabeled"}
    told = [place | {"value": 1.6}, place | {"part": "age", "value": 1.2}]
    told += [place | {"variable": "selection", "value": 3.0}]
    told += [place | {"variable": "outcome", "value": 250.0}]
    range_ = place | {"metric": "column_range"}
    told += [range_ | {"variable": end, "value": v} for end, v in (("least", 0.19), ("most", 0.25))]
    told += [place | {"metric": "column_move", "value": -0.02}]
    told += [place | {"part": EITHER, "value": 2.2}]
    range_ |= {"part": EITHER}
    told += [range_ | {"variable": end, "value": v} for end, v in (("least", 0.1), ("most", 0.3))]
    value = place | {"metric": "e_value", "part": "rate"}
    told += [value | {"value": 2.1}, value | {"variable": "interval", "value": 1.0}]
    frame = read_table(files["metrics"])
    own_metrics = ("column_gamma", "column_range", "column_move", "e_value")
    frame = frame[~frame["metric"].isin(own_metrics)]
    made = metrics_table("mine", "delivered", told).to_pandas()
    numbers = StudyNumbers("mine", numbers.plan, pd.concat([frame, made]), own.at.folder)
    value, strongest, either = by_columns(numbers, "unlabeled")
    assert "by a risk ratio of 2.1 beyond all columns (E-value)" in value
    assert value.endswith("its interval holds the rate of the labeled ones already.")
    assert "as strong as income, the strongest that is seen, would mean Γ = 1.60" in strongest
    assert "an answer anywhere from 19.0 to 25.0 %" in strongest
    assert "Γ = 2.2, and an answer anywhere from 10.0 to 30.0 %" in either
    assert "those of the outcome by up to 100 and more" in strongest
    table = build(BY_COLUMN, numbers)
    assert [row.label for row in table.rows] == [EITHER, "income", "age"]


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"tilt": {"rate": 0.1, "times": 2}}, "tilt says one thing"),
        ({"tilt": {}}, "tilt says one thing"),
        ({"tilt": {"rate": 1.5}}, "tilt.rate is 1.5"),
        ({"tilt": {"times": 0}}, "tilt.times is 0"),
        ({"tilt": {"by": "guess"}}, "tilt.by is 'guess', which is not a choice"),
        ({"tilt": {"tims": 2}}, "did you mean 'times'"),
        ({"tilt": {"times": 2}, "target": {"margins": {"x": {"mean": 1}}}}, "leave one of the two"),
        ({"tilt": {"times": 2}, "outcome": {"column": "y", "kind": "number"}}, "of two classes"),
        ({"tilt": {"times": 2}, "promises": ["coverage(everyone) >= 0.1"]}, "leave tilt out"),
    ],
)
def test_a_tilt_that_cannot_be_is_told(entry, sentence):
    config = {"table": "own.csv", "name": "mine", "outcome": "y"} | entry
    with pytest.raises(CounterweightError) as caught:
        resolve(with_own_tables(config, {}))
    assert sentence in str(caught.value)


def test_a_number_has_bounds_and_no_tilt(tmp_path):
    rng = np.random.default_rng(6)
    x = rng.normal(size=400)
    seen = rng.random(400) < expit(0.4 - x)
    y = 3 + 2 * x + rng.normal(size=400)
    frame = pd.DataFrame({"who": np.arange(400), "x": x, "y": np.where(seen, y, np.nan)})
    own, files = delivered(tmp_path, frame, study=QUICK, target="unlabeled")
    table = read_table(files["metrics"])
    least, most = (
        one(table, "swept_mean", setting="gamma=2.0", variable=end) for end in ("least", "most")
    )
    assert least["value"] < one(table, "target_mean", **WHOLE)["value"] < most["value"]
    assert least["value"] - 2 * least["standard_error"] < y[~seen].mean()
    assert not {"fewer", "more"} & {*table["variable"]}


def predictions(p, repeat, row, target):
    n = len(p)
    return {
        "repeat": np.full(n, repeat),
        "row": row,
        "p": p,
        "target": (np.zeros(n, int), [target]),
        "setting": (np.zeros(n, int), [""]),
    }


def world():
    rng = np.random.default_rng(1)
    n = 4000
    p, s = rng.uniform(0.05, 0.95, n), rng.random(n) < 0.5
    y = (rng.random(n) < np.where(s, p, tilted(p, np.log(2.0)))).astype(int)
    row = np.arange(n)
    labels = {"repeat": np.zeros(n, int), "row": row, "selected": s.astype(int)}
    truth = {"repeat": np.zeros(n, int), "row": row, "y_general": y}
    return p, s, y, labels, truth, predictions(p, 0, row, "general")


def swept_by(records, metric, gamma, end):
    rows = [r for r in records if r["metric"] == metric and r.get("setting") == f"gamma={gamma}"]
    return next(r["value"] for r in rows if r["variable"] == end)


def test_sweeps_of_a_study_begin_at_the_labeled_rows_and_hold_the_truth():
    p, s, y, labels, truth, made = world()
    records = sweep_predictions(made, labels, truth)
    estimate = (y[s].sum() + p[~s].sum()) / len(p)
    assert swept_by(records, "swept_rate", 1.0, "least") == pytest.approx(estimate, abs=0.02)
    low, high = (swept_by(records, "swept_rate", 2.0, end) for end in ("least", "most"))
    assert low < y.mean() < high + 0.02
    needed = [r["value"] for r in records if r["metric"] == "gamma_of_truth"]
    assert needed[0] >= 1 and 1.4 < needed[-1] < 2.8
    exact = swept(p[~s], gammas=[2.0]).high[0]
    assert high == pytest.approx((y[s].sum() + (~s).sum() * exact) / len(p), abs=0.02)


def test_hidden_labels_count_in_what_is_called_the_truth_alone():
    p, s, y, labels, truth, made = world()
    other = predictions(np.clip(p + 0.1, 0, 1), 0, made["row"], "general")
    turned = truth | {"y_general": np.where(s, y, 1 - y)}
    before, after = (sweep_predictions(other, labels, known) for known in (truth, turned))
    named = [
        [r for r in records if r["metric"] == "gamma_of_truth" or r.get("variable") == "truth"]
        for records in (before, after)
    ]
    assert [r for r in before if r not in named[0]] == [r for r in after if r not in named[1]]
    assert named[0] != named[1]


def test_a_method_is_judged_by_its_own_chances_calibrated_on_labeled_rows():
    p, s, y, labels, truth, made = world()
    odd = predictions(expit(3 * logit(p) + 1), 0, made["row"], "general")  # the same order
    of_each = [sweep_predictions(one, labels, truth) for one in (made, odd)]
    for records, q in zip(of_each, (p, odd["p"]), strict=True):
        told = swept_by(records, "swept_accuracy", 1.0, "least")
        chance = np.where(s, y, p)
        expected = np.where(q >= 0.5, chance, 1 - chance).mean()
        assert told == pytest.approx(expected, abs=0.02)
        assert swept_by(records, "swept_rate", 1.0, "least") == pytest.approx(
            chance.mean(), abs=0.02
        )
        assert {r["part"] for r in records if r["metric"] == "turns_at"} == {"constant", "rate"}


@pytest.mark.parametrize("least", [0.0, -np.inf])
def test_of_outcomes_that_are_not_negative_no_end_by_gamma_is(least):
    """On the log scale: of 2 with an error of 1 the ends are 2 times and over exp(.98)."""
    two, one = np.full(1, 2.0), np.ones(1)
    ends = {end: two for end in ("low", "high", "fewer", "more")}
    errors = {f"{end}_error": one for end in ("low", "high")}
    sweep = SimpleNamespace(gamma=one, **ends, **errors)
    for known, share in ((0.0, 1.0), (1.0, 0.5)):
        made = sweep_records("swept_mean", sweep, True, (least, np.inf), (known, share))
        told = {(record["metric"], record["variable"]): record["value"] for record in made}
        assert told["swept_mean", "least"] == told["swept_mean", "more"] == 2.0
        # Half of the rows are hidden, 2 on average with an error of 2, where known ones make 1.
        wide = np.exp(1.959964 / (2 * share**2) * (0.5 if share < 1 else 1.0))
        low, high = known + share * 2 / wide, known + share * 2 * wide
        if least != 0:
            low, high = 2 - 1.959964, 2 + 1.959964
        assert told["swept_mean_low", "most"] == pytest.approx(low)
        assert told["swept_mean_high", "least"] == pytest.approx(high)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, np.inf), (-np.inf, np.inf)])
@pytest.mark.parametrize(("known", "share"), [(0.0, 1.0), (0.15, 0.4)])
def test_a_sweep_begins_at_the_interval_that_is_told(bounds, known, share):
    limits = [end if np.isfinite(end) else None for end in bounds]
    ends = [known + share * float(end) for end in around(0.3, 0.25, limits)]
    told = Estimate(known + share * 0.3, 0.02, *ends, 100, 100.0, 1.0)
    gammas = np.array([1.0, 2.0])
    means, errors = np.array([0.25, 0.35]), np.array([0.01, 0.012])
    sweep = Sweep(gammas, means, means, means, means, errors, errors)
    begun = begun_at(sweep, told, bounds, (known, share))
    assert begun.low[0] == pytest.approx(told.value) and np.diff(begun.low) == pytest.approx(0.1)
    assert begun.high_error[1] / begun.high_error[0] == pytest.approx(1.2)
    made = sweep_records("swept_rate", begun, True, bounds, (known, share))
    found = {(r["metric"], r["setting"], r["variable"]): r["value"] for r in made}
    low, high = (found[f"swept_rate_{end}", "gamma=1.0", "least"] for end in ("low", "high"))
    assert [low, high] == pytest.approx(ends)


def test_no_end_by_gamma_turns_back_and_no_hidden_outcome_is_beyond_its_bounds():
    """Near a bound the log scale stretches: of .02 with an error of .4 it ends at 1e15."""
    low, high = np.array([3.0, 2.0, 1.02, 0.6]), np.array([3.0, 4.0, 5.0, 6.0])
    error, nothing = np.array([0.3, 0.4, 0.4, 0.5]), np.full(4, np.nan)
    sweep = Sweep(np.array([1.0, 2.0, 5.0, 10.0]), low, high, nothing, nothing, error, error)
    records = sweep_records("swept_mean", sweep, True, (0.0, np.inf), (1.0, 0.5))
    made = pd.DataFrame(records).set_index(["variable", "metric"])["value"]
    for variable, sign in (("least", -1), ("most", 1)):
        told = [made[variable, f"swept_mean{end}"].to_numpy() for end in ("_low", "", "_high")]
        assert (sign * np.diff(told) >= 0).all() and (np.diff(told, axis=0) >= 0).all()
    # Known outcomes make 1, and hidden ones 0 at least.
    assert made["least", "swept_mean"].to_list() == [3.0, 2.0, 1.02, 1.0]
    assert made["least", "swept_mean_high"].max() == made["least", "swept_mean_high"].iloc[0]
