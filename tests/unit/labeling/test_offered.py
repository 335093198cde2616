"""Offers and answers: scales, roles, what stays hidden, and what is refused."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from counterweight.datasets.simulated_offers import ThreeSegments
from counterweight.errors import CounterweightError
from counterweight.labeling import offered as module
from counterweight.labeling.offered import (
    OPTIONS,
    OfferScale,
    describe_offers,
    label_offers,
    offered,
)
from counterweight.labeling.outcome_rules import accepts
from scipy.special import expit
from stage_jobs import run_script


def table(n=40, low=0.0, high=1.0, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype=np.int32),
            "x": rng.normal(size=n),
            "offer": rng.uniform(low, high, n),
            "answer": np.arange(n) % 2,
        }
    )


def label(
    frame,
    known=None,
    *,
    repeats=1,
    test_share=0.25,
    column="answer",
    x=("x",),
    judged=False,
    **options,
):
    features = frame[["row", *x]].astype({name: float for name in x})
    return label_offers(
        frame,
        features,
        known,
        partial(offered, **options),
        partial(accepts, column=column),
        seed=1,
        study="s",
        repeats=repeats,
        test_share=test_share,
        answer=column,
        judged=judged,
    )


def refusal(frame, *args, **options):
    with pytest.raises(CounterweightError) as caught:
        label(frame, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_options_agree_with_the_defaults():
    import inspect

    parameters = inspect.signature(offered).parameters
    for name, schema in OPTIONS.items():
        default = parameters[name].default
        assert schema["default"] == ({} if default == () else default)
    assert set(OPTIONS) == set(parameters) - {"frame"}


@pytest.mark.parametrize("direction", ["up", "down"])
def test_scales_go_there_and_back(direction):
    scale = OfferScale(20.0, 220.0, direction)
    offers = np.array([20.0, 70.0, 220.0])
    t = scale.scaled(offers)
    np.testing.assert_allclose(t, [0, 0.25, 1] if direction == "up" else [1, 0.75, 0])
    np.testing.assert_allclose(scale.offers(t), offers)
    a, b = scale.scaled_revenue()
    np.testing.assert_allclose(a + b * t, scale.revenue(offers))
    if direction == "up":
        np.testing.assert_allclose(scale.revenue(offers), 1 - t)
        assert (a, b) == (1, -1)
    else:
        np.testing.assert_allclose(scale.revenue(offers), offers)
        assert (a, b) == (220, -200)
    own = OfferScale(20.0, 220.0, direction, {"intercept": 500, "slope": -1.5})
    np.testing.assert_allclose(own.revenue(offers), [470, 395, 170])
    sign = 1 if direction == "up" else -1
    at = scale.scaled(60.0)
    np.testing.assert_allclose(0.1 * scale.width * (t - at), sign * 0.1 * (offers - 60))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"low": 1.0, "high": 1.0}, "from 1 to 1: low must be below high"),
        ({"low": 2.0, "high": 1.0}, "from 2 to 1: low must be below high"),
        ({"high": np.inf}, "both finite"),
        ({"direction": "left"}, "choose up or down"),
        ({"revenue": {"intercept": 1}}, "finite numbers intercept and slope"),
        ({"revenue": {"intercept": 1, "slope": np.nan}}, "finite numbers intercept and slope"),
    ],
)
def test_wrong_scales_are_told(options, told):
    assert told in refusal(table(), **options)


def test_labels_hide_the_answers_of_test_rows_and_truth_keeps_them():
    frame = table()
    labels, truth = label(frame, repeats=3)
    assert list(labels) == [name for name, _ in module.LABELS]
    assert list(truth) == ["repeat", "row", "answer"]
    for repeat in range(3):
        part, hidden = labels[labels["repeat"] == repeat], truth[truth["repeat"] == repeat]
        assert part["row"].tolist() == hidden["row"].tolist() == frame["row"].tolist()
        test = part["role"] == "test"
        assert test.sum() == 10
        assert (part["answer"].isna() == test).all()
        assert (part["answer"][~test] == hidden["answer"][~test]).all()
        assert hidden["answer"].tolist() == frame["answer"].tolist()
        np.testing.assert_array_equal(part["t"], frame["offer"])
    roles = [tuple(labels["role"][labels["repeat"] == repeat]) for repeat in range(3)]
    assert len(set(roles)) == 3
    again, _ = label(frame, repeats=3)
    assert again.equals(labels)


def test_without_a_test_share_all_rows_train():
    labels, _ = label(table(), test_share=0)
    assert (labels["role"] == "train").all()
    assert not labels["answer"].isna().any()


def test_worlds_are_repeats_and_all_their_rows_train():
    frame, known = ThreeSegments.simulate(3000, np.random.default_rng(1))
    options = {"offer": "offer_biased", "column": "answer_biased", "x": ("x1", "x2")}
    labels, truth = label(frame, known, repeats=2, test_share=0.3, **options)
    assert (labels["role"] == "train").all()
    assert labels["repeat"].tolist() == frame["world"].tolist()
    assert labels["row"].tolist() == frame["row"].tolist()
    np.testing.assert_array_equal(labels["answer"], frame["answer_biased"])
    assert list(truth) == ["repeat", "row", "answer", "component", "eta", "k", "p"]
    p = expit(known["k"] * (frame["offer_biased"] - known["eta"]))
    np.testing.assert_allclose(truth["p"], p, rtol=1e-12)
    np.testing.assert_array_equal(truth["component"], known["component"])
    one, _ = label(frame, known, repeats=1, **options)
    assert one["row"].tolist() == frame["row"][:1500].tolist()
    text = refusal(frame, known, repeats=3, **options)
    assert "2 worlds (0, 1) and the study 3 repeats, but repeat 2 needs a world 2" in text


def test_another_threshold_of_the_truth():
    frame, known = ThreeSegments.simulate(1500, np.random.default_rng(1))
    options = {"offer": "offer_uniform", "column": "answer_05", "x": ("x1", "x2")}
    labels, truth = label(frame, known, eta="eta_05", **options)
    np.testing.assert_array_equal(truth["eta"], known["eta_05"])
    assert truth["p"].mean() == pytest.approx(0.05, abs=0.02)
    text = refusal(frame, known, eta="eta_07", **options)
    assert "no column eta_07" in text
    assert "correct labeling.eta" in text


def test_parts_are_kept():
    frame = table()
    frame["part"] = np.where(np.arange(40) < 30, "train", "test")
    labels, _ = label(frame, repeats=2)
    assert labels["role"].tolist() == frame["part"].tolist() * 2
    frame.loc[3, "part"] = "valid"
    assert "'valid' in row 3 (1 such rows) where train or test is expected" in refusal(frame)
    frame["part"] = "test"
    assert "Repeat 0 has no row to train on" in refusal(frame)
    labels, _ = label(frame, part="")
    assert (labels["role"] == "test").sum() == 10


@pytest.mark.parametrize("direction", ["up", "down"])
def test_true_choices_in_the_users_units_are_scaled(direction):
    frame = table(low=5.0, high=25.0)
    sign = 1 if direction == "up" else -1
    known = pd.DataFrame({"row": frame["row"], "eta": 12.0, "k": 0.4, "component": 1})
    labels, truth = label(frame, known, low=5.0, high=25.0, direction=direction)
    np.testing.assert_allclose(truth["p"], expit(sign * 0.4 * (frame["offer"] - 12)), rtol=1e-12)
    np.testing.assert_allclose(truth["p"], expit(truth["k"] * (labels["t"] - truth["eta"])))
    assert truth["k"].iloc[0] == pytest.approx(8)


def test_rows_that_do_not_count_are_left_out():
    frame = table()
    frame["sure"] = (np.arange(40) % 4 > 1).astype(int)
    frame.loc[0, "offer"] = 7.0
    labels, truth = label(frame, where={"sure": 1})
    assert labels["row"].tolist() == frame["row"][frame["sure"] == 1].tolist()
    assert len(truth) == 20
    text = refusal(frame, where={"sure": 5})
    assert "None of 40 rows is to be used (sure = 5)" in text
    assert "needs the column surely" in refusal(frame, where={"surely": 1})


def test_offers_out_of_range_missing_or_text_are_told():
    frame = table()
    frame.loc[[3, 8], "offer"] = [1.5, -0.5]
    text = refusal(frame)
    assert "outside the declared range from 0 to 1 in 2 of 40 rows looked at" in text
    assert "(first: 1.5 in row 3)" in text
    frame.loc[4, "offer"] = np.nan
    text = refusal(frame)
    assert "missing or infinite in 1 of 40 rows looked at (first: nan in row 4)" in text
    frame["offer"] = ["12 EUR"] * 40
    assert "'offer' holds no numbers (first: '12 EUR')" in refusal(frame)
    text = refusal(frame, offer="price")
    assert "needs the column price; the data set has row, x, offer, answer" in text


@pytest.mark.parametrize(
    "words", [(0, 1), (False, True), ("no", "yes"), ("No ", "YES"), ("0", "1"), (0.0, 1.0)]
)
def test_answers_may_be_numbers_or_words(words):
    frame = table()
    frame["answer"] = pd.Series(np.where(np.arange(40) % 3, 1, 0)).map(dict(enumerate(words)))
    found = accepts(frame, None)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, np.where(np.arange(40) % 3, 1, 0))


def test_other_answers_missing_ones_and_absent_columns_are_told():
    frame = table()
    frame.loc[2, "answer"] = 2
    text = refusal(frame)
    assert "is 2 in 1 of 40 rows (first: row 2) where 0 or 1, no or yes is expected" in text
    frame["answer"] = ["maybe", "yes", "no", "later"] * 10
    text = refusal(frame)
    assert "is later, maybe in 20 of 40 rows (first: row 0)" in text
    frame.loc[5, "answer"] = None
    assert "missing in 1 of 40 rows (first: row 5)" in refusal(frame)
    assert "needs the column bought" in refusal(frame, column="bought")


def test_nothing_to_learn_is_told():
    frame = table()
    frame["answer"] = 0
    assert "All 30 training offers of repeat 0 were refused" in refusal(frame)
    frame = table()
    frame["offer"] = 0.25
    assert "All 30 training offers of repeat 0 are 0.25" in refusal(frame)
    assert "leaves 40 of 40 rows for the test" in refusal(table(), test_share=1.0)
    assert "leaves 0 of 40 rows for the test" in refusal(table(), test_share=0.01)
    assert "one value in all 40 rows" in refusal(table().assign(x=1.0))


def test_features_that_say_offer_answer_or_split_are_told():
    frame = table().assign(copy=lambda f: 1 - f["answer"], world=0)
    for name in ("offer", "answer"):
        assert f"The column {name} is among the features" in refusal(frame, x=("x", name))
    frame["dearer"] = 1.19 * frame["offer"] + 2
    for name, what in (("copy", "answer"), ("dearer", "offer")):
        text = refusal(frame, x=("x", name))
        assert (
            f"The column {name} among the features cannot be learnt from (a copy of the {what})"
            in text
        )
        label(frame, x=("x", name), judged=True)  # somebody looked at it, and insists
    frame["world"] = np.arange(40) // 20
    assert "The column world is among the features" in refusal(frame, x=("x", "world"))


def test_worlds_that_are_no_numbers_are_told():
    frame = table().assign(world=0.5)
    assert "where a number from 0 up is expected" in refusal(frame)
    frame["world"] = "a"
    assert "The world column 'world' holds no numbers (first: 'a')" in refusal(frame)
    labels, _ = label(frame, world="")
    assert len(labels) == 40


def test_records_count_and_measure():
    frame = table(low=5.0, high=25.0)
    labels, truth = label(frame, repeats=2, low=5.0, high=25.0)
    records = {
        (r["repeat"], r["metric"], r.get("part", "")): r for r in describe_offers(labels, truth, 3)
    }
    assert records[0, "rows_train", ""]["value"] == 30
    assert records[1, "rows_test", ""]["value"] == 10
    assert records[1, "rows_dropped", ""]["value"] == 3
    train = (labels["repeat"] == 0) & (labels["role"] == "train")
    share = labels["answer"][train].mean()
    assert records[0, "accept_share", "train"]["value"] == pytest.approx(share)
    assert records[0, "accept_share", "train"]["standard_error"] == pytest.approx(
        np.sqrt(share * (1 - share) / 30)
    )
    assert records[0, "offer_spread", "train"]["value"] == pytest.approx(
        labels["t"][train].std(ddof=0)
    )
    assert records[0, "offers_distinct", "train"]["value"] == 30
    assert not any(np.isnan(r["value"]) for r in records.values())


def test_script_writes_the_tables(tmp_path):
    frame, known = ThreeSegments.simulate(3000, np.random.default_rng(1))
    frame.to_parquet(tmp_path / "table.parquet")
    known.to_parquet(tmp_path / "known.parquet")
    given_tables = ("table", "known")
    names = ("features", "labels", "truth", "metrics")

    def run(folder):
        outputs = {name: tmp_path / folder / f"{name}.parquet" for name in names}
        chosen = {
            "features": ("as_is", {"columns": ["x1", "x2"]}),
            "outcome": ("accepts", {"column": "answer_uniform"}),
            "labeling": ("offered", {"offer": "offer_uniform"}),
        }
        parts = {
            part: {"name": name, "options": options} for part, (name, options) in chosen.items()
        }
        run_script(
            "label",
            "tasks.offers:label",
            {"seed": 1, "stream": "s", "repeats": 2, "test_share": 0.3} | parts,
            {name: tmp_path / f"{name}.parquet" for name in given_tables},
            outputs,
            tmp_path / "log",
            uses=[(part, name) for part, (name, _) in chosen.items()],
            study="s",
        )
        return {name: path.read_bytes() for name, path in outputs.items()}

    assert run("a") == run("b")
    labels = pd.read_parquet(tmp_path / "a" / "labels.parquet")
    assert list(labels) == [name for name, _ in module.LABELS]
    assert labels.dtypes["repeat"] == np.int16
    assert list(pd.read_parquet(tmp_path / "a" / "features.parquet")) == ["row", "x1", "x2"]
    metrics = pd.read_parquet(tmp_path / "a" / "metrics.parquet")
    assert set(metrics["source"]) == {"labels"}
    assert metrics.query("metric == 'rows_train'")["value"].tolist() == [1500, 1500]


def test_offers_of_the_grid_lie_in_the_range():
    frame = pd.DataFrame({"row": [0, 1], "offer": [0.2, 0.4]})
    offered(frame, grid=[0.0, 0.5, 1.0])
    with pytest.raises(CounterweightError, match="labeling.grid holds 3, which is outside"):
        offered(frame, grid=[0.5, 3])


@pytest.mark.parametrize(
    ("answers", "positive", "code"),
    [
        ([1, 0, 9, 0], 1, 9),
        ([1, 0, 9, 0], None, 9),
        (["Yes", "no", "Unknown", "no"], "yes", "unknown"),
    ]
    + [(["yes", "no", "unknown", "no"], None, ["unknown"])],
)
def test_an_answer_that_nobody_knows_is_none(answers, positive, code):
    frame = pd.DataFrame({"row": range(4), "answer": answers})
    with pytest.raises(CounterweightError, match=r"2 values beside|where 0 or 1, no or yes is exp"):
        accepts(frame, None, positive=positive, blanks="unanswered")
    said = {"positive": positive, "missing": code}
    found = accepts(frame, None, blanks="unanswered", **said)
    np.testing.assert_array_equal(found, [1, 0, np.nan, 0])
    with pytest.raises(CounterweightError, match=r"missing in 1 of 4 rows \(first: row 2\)"):
        accepts(frame, None, **said)
    if positive is not None:
        found = accepts(frame, None, positive=positive, missing=[])
        np.testing.assert_array_equal(found, [1, 0, 0, 0])


@pytest.mark.parametrize("value", [1, "ja", "yes", True, ["1", "2"]])
def test_rows_of_offers_are_named_as_people_write_them(value):
    frame = pd.DataFrame({"row": range(3), "offer": [0.1, 0.2, 0.3], "ok": pd.array([1, 0, None])})
    assert offered(frame, where={"ok": value})["kept"].tolist() == [True, False, False]


def test_an_answer_that_nobody_gave_is_told():
    frame = pd.DataFrame({"row": range(2), "answer": ["bought", "left"]})
    with pytest.raises(
        CounterweightError, match="None of the 2 answers in 'answer' is 'buy'; they"
    ):
        accepts(frame, None, positive="buy")


def test_people_without_an_answer_or_an_offer_are_no_examples():
    frame = table()
    frame["answer"] = frame["answer"].astype("Int64")
    frame.loc[3, "answer"] = pd.NA
    frame.loc[5, "offer"] = np.nan
    with pytest.raises(CounterweightError, match="missing"):
        label(frame)
    features = frame[["row", "x"]]
    labels, truth = label_offers(
        frame,
        features,
        None,
        partial(offered, blanks="unanswered"),
        partial(accepts, blanks="unanswered"),
        seed=1,
        study="s",
        repeats=2,
        test_share=0.25,
    )
    for part in (labels, truth):
        assert sorted(set(frame["row"]) - set(part["row"])) == [3, 5]
    assert truth["answer"].notna().all()


def test_a_range_that_is_not_told_is_that_of_the_offers_with_an_answer():
    frame = table(low=20, high=90)
    frame.loc[7, "offer"], frame.loc[9, "offer"] = 10.0, 100.0
    asked = {"low": None, "high": None, "direction": "down"}
    labels, _ = label(frame, **asked)
    assert labels["t"].min() == 0 and labels["t"].max() == 1
    assert labels["offer"][labels["t"] == 0].tolist() == [100.0]
    declared, _ = label(frame, low=10.0, high=100.0, direction="down")
    assert np.array_equal(labels["t"], declared["t"])
    # Offers that can be made widen it.
    labels, _ = label(frame, **asked, grid=[5.0, 50.0])
    assert labels["t"].max() == pytest.approx(90 / 95)


def test_what_was_paid_is_no_feature():
    frame = table(80, 5, 25)
    # What was collected, in cents and with rounding: nothing of those who refused.
    frame["cents"] = np.round(frame["offer"] * frame["answer"] * 100) + 3.0
    text = refusal(frame, x=("x", "cents"), low=5, high=25)
    assert "cents" in text and "gives the answer away, alone (AUC 1.0000)" in text
    # The offer of some others, or of everybody, tells nothing.
    frame["half"] = np.where(frame["row"] % 4 < 2, frame["offer"], 0.0)
    label(frame, x=("x", "half"), low=5, high=25)


def test_a_mistyped_offer_does_not_make_the_range():
    few = table(40, 20.0, 44.0)
    few.loc[7, "offer"] = -2990.0
    assert "-2990 in row 7" in refusal(few, low=None, high=None)
    frame = table(300, 20.0, 44.0)
    frame.loc[7, "offer"] = 2990.0
    said = refusal(frame, low=None, high=None)
    assert "1 of 300 offers in 'offer' lie far beyond the others" in said
    assert "2990 in row 7" in said
    # Where the range is declared, it is meant; a few large ones are no mistake.
    labels, _ = label(frame, low=0.0, high=3000.0)
    assert labels["t"].max() == pytest.approx(2990 / 3000)
    frame["offer"] = np.exp(np.random.default_rng(0).normal(size=300))
    assert len(label(frame, low=None, high=None)[0]) == 300


def test_words_among_offers_are_named_and_so_is_one_offer_to_all():
    frame = table(60, 20.0, 44.0)
    frame["offer"] = frame["offer"].map("{:.2f} EUR".format)
    frame.loc[3, "offer"] = "free"
    assert "holds 1 words among its numbers (first: 'free')" in refusal(frame)
    frame["offer"] = 29.9
    assert "All 60 offers in 'offer' are 29.9" in refusal(frame, low=None, high=None)
