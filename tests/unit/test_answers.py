"""One call from a frame to answers: the workflow's numbers, whatever columns are called."""

import re

import counterweight
import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import read_table
from delivering import delivered, people

pytestmark = pytest.mark.usefixtures("few_trees")

ASKED = {"positive": 1, "columns": {"ignore": ["since"]}}
#: One method, where nothing is asked of which is best.
QUICK = {"study": {"models": [{"model": "logistic"}]}}


@pytest.fixture(scope="module")
def frame():
    made = people(240, 3)
    return made.set_axis([f"p{k}" for k in range(len(made))])


@pytest.fixture(scope="module")
def found(frame, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "answers.html"
    new = frame.iloc[[5, 2]]
    return counterweight.missing_outcomes(frame, "y", id="who", new=new, page=page, **ASKED), page


def test_the_numbers_are_those_of_the_workflow(frame, found, tmp_path):
    frame.to_parquet(tmp_path / "typed.parquet", index=False)
    entry = {"table": str(tmp_path / "typed.parquet"), "seed": 20070815}
    entry |= {"outcome": {"column": "y", "positive": 1}, "columns": ASKED["columns"]}
    own, files = delivered(tmp_path, frame, **entry)
    scores = read_table(files["scores"])
    pd.testing.assert_frame_equal(
        found[0].scores.reset_index(drop=True), scores, check_exact=True, check_dtype=True
    )
    records = read_table(files["metrics"]).drop(columns="study")
    ours = found[0].metrics.query("source == 'delivered'").drop(columns="study")
    pd.testing.assert_frame_equal(ours.reset_index(drop=True), records, check_exact=True)
    assert {*own.study["methods"]} < {*found[0].metrics["source"]}


def test_a_rehearsal_holds_the_answer_against_copies_of_the_frame(frame):
    asked = {"rehearse": {"copies": 2, "scenarios": ["assumed", "outcome"], "gamma": 3}}
    made = counterweight.missing_outcomes(frame, "y", id="who", **ASKED, **QUICK, **asked)
    told = made.rehearsal.set_index(["scenario", "people"])
    assert [*told.index] == [
        (scenario, people)
        for scenario in ("assumed", "outcome=3")
        for people in ("everyone", "unlabeled")
    ]
    assert (told["copies"] == 2).all() and told["held"].isin([0.0, 0.5, 1.0]).all()
    # What holds of a copy holds of its single records, and the answer is that without copies.
    single = made.metrics.query("source == 'rehearsal' and step == step and part == 'unlabeled'")
    single = single[single["setting"] == "assumed"].pivot(
        index="step", columns="metric", values="value"
    )
    off = single["rehearsed_estimate"] - single["rehearsed_truth"]
    assert told.loc[("assumed", "unlabeled"), "off"] == pytest.approx(off.mean())
    plain = counterweight.missing_outcomes(frame, "y", id="who", **ASKED, **QUICK)
    assert plain.rehearsal is None and plain.answer.value == made.answer.value


def test_an_answer_by_a_tilt_is_rehearsed_too(frame):
    """Copies in which odds are as the tilt says: the answer lies near the truth of each."""
    asked = {"tilt": {"times": 2}, "rehearse": {"copies": 2, "scenarios": ["assumed"]}}
    told = counterweight.missing_outcomes(frame, "y", 1, target="unlabeled", **asked, **QUICK)
    found = told.rehearsal.iloc[0]
    assert found["copies"] == 2 and found["rmse"] < found["half_width"]


def test_noise_is_no_better_known_for_its_copies():
    """A row's fit does not see its copy: an AUC of 0.8 it was, where there is nothing to learn."""
    rng, rows = np.random.default_rng(2), 400
    noise = pd.DataFrame({name: rng.normal(size=rows) for name in "abc"})
    noise["y"] = np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 2, rows))
    twice = pd.concat([noise, noise[: rows // 2]], ignore_index=True)
    asked = {"positive": 1, "id": "who", "study": {"models": [{"model": "gradient_boosting"}]}}

    def errors(frame):
        made = counterweight.missing_outcomes(frame.assign(who=np.arange(len(frame))), "y", **asked)
        found = made.metrics.query("metric == 'auc' and part == '' and variable == ''")
        found = found.set_index("source").loc["gradient_boosting"]
        return made.answer, *found[["value", "standard_error"]]

    (alone, auc, error), (copied, own, of_own) = errors(noise), errors(twice)
    assert abs(own - 0.5) < 3 * of_own and abs(auc - 0.5) < 3 * error
    # Rows that count 2 and 1 tell as much as 0.9 times as many that count alike.
    assert of_own > 0.9 * error and copied.standard_error > 0.9 * alone.standard_error


def test_answers_stand_by_the_index_of_the_frame_and_new_rows_by_theirs(frame, found):
    answers = found[0]
    assert list(answers.scores.index) == list(frame.index)
    assert list(answers.scores["who"]) == list(frame["who"])
    known = frame["y"].notna()
    assert (answers.scores["estimate"][known] == frame["y"][known]).all()
    assert list(answers.new_scores.index) == ["p5", "p2"]
    again = answers.saved.scores(frame.loc[["p5", "p2"]])
    np.testing.assert_array_equal(answers.new_scores["estimate"], again["estimate"])


def test_the_headline_is_the_mean_of_the_answers_and_what_the_page_begins_with(found):
    answers, page = found
    whole, text = answers.answer, page.read_text(encoding="utf-8")
    assert whole.value == pytest.approx(answers.scores["estimate"].mean(), abs=1e-12)
    assert whole.low < whole.value < whole.high and whole.rows == 240
    assert f"{100 * whole.value:.1f}" in answers.sentence
    assert answers.sentence.startswith("If labels are missing at random")
    assert text.startswith("<!DOCTYPE html>") or text.startswith("<!doctype html>")
    assert "y = 1" in text and "<svg" in text
    # Of one study the answer stands first, and the index below it.
    assert text.index("What would y be where it is blank?") < text.index("1 study on 1 data set")


def test_the_page_names_parts_of_the_result_and_no_file(found):
    text = re.sub(r"<(style|script|svg).*?</\1>", "", found[1].read_text("utf-8"), flags=re.S)
    text = " ".join(re.sub("<[^>]+>", " ", text).split())
    assert "found.scores has an answer for each of the 240 rows" in text
    assert "They stand in found.new_scores." in text and "found.saved is its model" in text
    for absent in (".csv", ".parquet", "provenance/", "folder of results", "frame"):
        assert absent not in text, absent
    for named in {*re.findall(r"\bfound\.(\w+)", text)}:
        assert hasattr(found[0], named), named


def test_names_of_columns_decide_nothing(frame, found):
    called = {"age": "x9", "city": "a", "member": "zz", "y": "out", "since": "when"}
    other = counterweight.missing_outcomes(
        frame.rename(columns=called)[["a", "out", "zz", "x9"]], "out", 1
    )
    np.testing.assert_allclose(
        other.scores["estimate"], found[0].scores["estimate"], rtol=0, atol=1e-9
    )
    assert other.answer.low == pytest.approx(found[0].answer.low, abs=1e-9)


def test_a_frame_of_others_is_a_target(frame):
    others, some = frame[["age", "city"]].iloc[:90], frame[["age", "city", "y"]].iloc[:120]
    answers = counterweight.missing_outcomes(some, "y", 1, target=others, **QUICK)
    assert 0 < answers.answer.low < answers.answer.value < answers.answer.high < 1
    whom = "the people of the target frame"
    assert answers.sentence.startswith(f"If the outcomes of {whom} are like those of labeled rows")
    assert ".parquet" not in answers.sentence


@pytest.fixture(scope="module")
def odd():
    """Names that no config likes, and columns of which nothing can be learned."""
    rng = np.random.default_rng(5)
    made = people(200, 6).drop(columns=["since", "who"])
    made = made.rename(columns={"age": "if", "city": "the rate %", "member": "z(1)", "y": "out.1"})
    made["flat"], made["empty"], made["text"] = 1, np.nan, [f"t{k}" for k in rng.permutation(200)]
    return made


#: By what is asked how the first sentence begins, and whom it is about.
BEGINS = {
    "rate": (
        {"tilt": {"rate": 0.4}},
        "If the odds of out.1 = 1 among rows without an outcome are ",
        ", which meets the rate that is given, of the {blank} rows without an outcome, 40.0 % have",
    ),
    "instrument": (
        {"weights": {"weighting": "heckman", "exclusion": "if"}},
        'If "if" has no part in the outcome given the other columns, and the unseen causes of the '
        "outcome and of having one are jointly normal, of the {blank} rows without an outcome, ",
        "of all 200 rows, known outcomes and estimates together, ",
    ),
    "margins": (
        {"target": {"margins": {"the rate %": {"a": 0.2, "b": 0.8}}}},
        "If the outcomes of people with the given margins of “the rate %” are like those of "
        "labeled rows with the same features, an estimated ",
        "] of them have out.1 = 1, or ",
    ),
}


@pytest.mark.parametrize("name", BEGINS)
def test_the_first_sentence_names_assumption_and_people_whatever_columns_are_called(odd, name):
    asked, begins, whom = BEGINS[name]
    if name == "margins":
        shares = odd["the rate %"].value_counts(normalize=True)
        asked = {"target": {"margins": {"the rate %": shares.to_dict()}}}
    sentence = counterweight.missing_outcomes(odd, "out.1", 1, **asked, **QUICK).sentence
    blank = str(int(odd["out.1"].isna().sum()))
    assert sentence.startswith(begins.replace("{blank}", blank)), sentence
    assert whom.replace("{blank}", blank) in sentence, sentence


def test_one_answer_under_other_names_and_in_other_orders_all_at_once(frame, found):
    first, table = found[0], frame.drop(columns="since")
    rates, rng = [first.answer.value], np.random.default_rng(2)
    for number in range(3):
        names = {
            name: f"{chr(97 + rng.integers(26))}{number}_{k}"
            for k, name in enumerate(rng.permutation(table.columns))
        }
        other = table.rename(columns=names)[rng.permutation([*names.values()])]
        other = other.iloc[rng.permutation(len(other))]
        made = counterweight.missing_outcomes(other, names["y"], 1, id=names["who"])
        rates.append(made.answer.value)
        assert made.saved.facts["method"] == first.saved.facts["method"]
        for column in ("estimate", "low", "high"):
            gap = made.scores[column].loc[frame.index] - first.scores[column]
            assert np.abs(gap).max() < 1e-6
    assert np.std(rates) < 1e-9 * first.answer.standard_error


TWICE = pd.DataFrame([[1, 2]], columns=["a", "a"])
MIXED = pd.DataFrame({"y": [0, 1, None], "x": [{1}, "a", 3.0]})
FEW = pd.DataFrame({"y": [0.0, 1.0, None], "x": [1.0, 2.0, 3.0]})
RUBBISH = {
    "no frame": ([1, 2], "y", {}, "The rows of the frame are of the type list: give a data frame"),
    "twice": (TWICE, "a", {}, "The frame cannot be taken as a table"),
    "mixed": (MIXED, "y", {}, "The frame cannot be taken as a table"),
    "no column": (FEW, "z", {}, "outcome names 'z', no column of the table"),
    "no rows": (FEW.iloc[:0], "y", {}, "The frame has a header but no row"),
    "key": (FEW, "y", {"offer": "x"}, "missing_outcomes has no argument 'offer'"),
    "target": (FEW, "y", {"target": "nobody"}, "target is 'nobody', which is not a choice"),
    "new": (FEW, "y", {"new": "x"}, "The new rows are of the type str: give"),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_rubbish_is_refused_in_a_sentence_that_names_no_file(name):
    frame, outcome, keys, told = RUBBISH[name]
    with pytest.raises(CounterweightError) as refused:
        counterweight.missing_outcomes(frame, outcome, **keys)
    text = str(refused.value)
    assert text.startswith(told), text
    assert text.endswith(".") and "\n" not in text and ".parquet" not in text


def test_types_of_pandas_are_taken(frame):
    typed = frame[["city", "member", "y"]].iloc[:120].copy()
    typed["city"] = typed["city"].astype("category")
    typed["member"] = typed["member"] == "yes"
    typed["y"] = typed["y"].astype("Int64")
    answers = counterweight.missing_outcomes(typed, "y", np.int64(1), **QUICK)
    assert answers.scores["supported"].dtype == bool and answers.new_scores is None


def _periods(days):
    return pd.PeriodIndex(pd.to_datetime(days, unit="D"), freq="D")


TYPED = {
    **{f"duration {unit}": (f"timedelta64[{unit}]", "number") for unit in ("s", "ms", "us", "ns")},
    "period": (_periods, "date"),
    "sparse": (lambda days: pd.arrays.SparseArray(days, fill_value=3), "number"),
    "interval": (lambda days: pd.cut(days, [-1, 20, 40, 60]), "text"),
}


@pytest.mark.parametrize("name", TYPED)
def test_a_column_of_any_type_is_read_alike_by_the_fit_by_new_rows_and_by_the_model(frame, name):
    """Also where columns have numbers for names."""
    kind, found = TYPED[name]
    made = frame[["city", "y"]].set_axis([0, 1], axis=1)
    days = np.random.default_rng(3).integers(0, 60, len(made))
    made[2] = pd.to_timedelta(days, unit="D").astype(kind) if isinstance(kind, str) else kind(days)
    new = made.iloc[:30]
    told = counterweight.missing_outcomes(made, "1", 1, new=new, target="unlabeled", **QUICK)
    assert told.saved.facts["types"]["2"] == found
    again = told.saved.scores(made)
    blank = made[1].isna()
    assert blank.sum() > 50
    assert (again["estimate"][blank] == told.scores["estimate"][blank]).all()
    assert (told.saved.scores(new)["estimate"] == told.new_scores["estimate"]).all()
    if name.startswith("duration"):  # its numbers are days, whatever they are counted in
        in_days = told.saved.scores(made.assign(**{"2": days}).drop(columns=2))
        pd.testing.assert_frame_equal(in_days, again)


def test_frames_of_arrow_are_taken(frame):
    import pyarrow as pa

    made = frame[["city", "y"]]
    one = counterweight.missing_outcomes(made, "y", 1, new=made.iloc[:9], **QUICK)
    arrow = pa.Table.from_pandas(made, preserve_index=False)
    two = counterweight.missing_outcomes(arrow, "y", 1, new=arrow.slice(0, 9), **QUICK)
    assert repr(one.answer) == repr(two.answer)
    pd.testing.assert_frame_equal(one.new_scores.reset_index(drop=True), two.new_scores)


@pytest.mark.parametrize("binary", [True, False])
def test_outcomes_that_change_with_time_are_told_at_the_time_of_those_that_are_asked_for(binary):
    """A trend is no lag: who is asked for at the same time is as those with an outcome are."""
    rng = np.random.default_rng(5)
    time, x = rng.random((2, 1500))
    y = 2 * x + 3 * time + rng.normal(size=1500)
    y = (y > 3.0).astype(float) if binary else y
    frame = pd.DataFrame({"who": [f"p{k}" for k in range(1500)], "x": x, "when": time, "y": y})
    seen = rng.random(1500) < 0.3 + 0.5 * x
    frame.loc[~seen, "y"] = np.nan
    asked = {"id": "who", "time": "when", "target": "unlabeled"}
    asked |= {"positive": 1} if binary else {}
    answers = counterweight.missing_outcomes(frame, "y", **asked)
    off = answers.answer.value - y[~seen].mean()
    assert abs(off) < 3 * answers.answer.standard_error
    told = answers.scores.set_index("who").loc[frame["who"][~seen], "estimate"]
    assert told.mean() == pytest.approx(answers.answer.value, abs=1e-9)
    # New rows are taken for later ones, which are higher than what earlier rows foretold.
    rows = answers.saved.scores(frame[~seen])
    new, width = rows["estimate"], (rows["high"] - rows["low"])[rows["supported"]].mean()
    here = answers.scores.set_index("who").loc[frame["who"][~seen]].query("supported")
    here = (here["high"] - here["low"]).mean()
    assert width > 1.2 * here if binary else width == pytest.approx(here, rel=0.1)
    assert new.mean() > told.mean() + 0.1
    assert "later rows turned out" in answers.saved.facts["rests_on"][-1]
    assert answers.sentence.startswith("If labels are missing at random, o")
    alone = counterweight.missing_outcomes(
        frame, "y", **asked, study={"deliver": {"method": "boosting"}}
    )
    assert abs(alone.answer.value - y[~seen].mean()) < 4 * answers.answer.standard_error

    frame.loc[seen, "when"] -= 2
    answers = counterweight.missing_outcomes(frame, "y", **asked)
    assert "and rows go on changing with time as they did, o" in answers.sentence
    new = answers.saved.scores(frame[~seen])["estimate"]
    told = answers.scores.set_index("who").loc[frame["who"][~seen], "estimate"]
    np.testing.assert_allclose(new, told, rtol=1e-9)
    ends, own = answers.saved.scores(frame[~seen]), answers.scores.set_index("who")
    for end in ("low", "high"):
        np.testing.assert_allclose(ends[end], own.loc[frame["who"][~seen], end], rtol=1e-9)


@pytest.mark.parametrize("below", [40, 0], ids=["of an age", "without children"])
def test_an_outcome_that_nobody_has_beyond_a_cut_has_bounds(below):
    """All of an age have an outcome, or none: who has one is known for sure."""
    rng = np.random.default_rng(2)
    age = rng.integers(18, 80, 600) if below else rng.poisson(1.0, 600)
    frame = pd.DataFrame({"who": [f"p{k}" for k in range(600)], "age": age})
    frame["x"], seen = rng.normal(size=600), age > below if below else age == 0
    frame["spent"] = np.where(seen, 200.0 + frame["x"] + rng.normal(size=600), np.nan)
    answers = counterweight.missing_outcomes(frame, "spent", id="who", target="unlabeled")
    hidden = frame["spent"].isna().to_numpy()
    assert not answers.scores["supported"][hidden].any()
    known = frame["spent"].dropna()
    assert answers.bounds == pytest.approx((known.min(), known.max()))
    assert "rest on data" not in answers.sentence


def test_outcomes_that_are_all_known_are_no_estimate_and_leave_nobody_to_answer_for():
    frame = pd.DataFrame({"y": [0, 0, 0, 1] * 30, "x": np.arange(120.0) % 17})
    answers = counterweight.missing_outcomes(frame, "y", 1, **QUICK)
    known = "Of all 120 rows, 25.0 % have y = 1; on rows that it has not seen, the model has AUC "
    assert answers.sentence.startswith(known)
    with pytest.raises(CounterweightError, match="every row of the table has an outcome: there is"):
        counterweight.missing_outcomes(frame, "y", 1, target="unlabeled", **QUICK)


@pytest.mark.parametrize(
    ("target", "people"), [("general", ["everyone", "unlabeled"]), ("unlabeled", ["unlabeled"])]
)
def test_a_rehearsal_names_whom_it_is_of(target, people):
    base = {"target": target, "setting": "assumed", "step": np.nan, "variable": "", "rows": 2}
    records = pd.DataFrame(
        [
            base | {"metric": "rehearsed_held", "part": part, "value": 1.0}
            for part in ("", people[-1])
        ]
    )
    told = counterweight.answers._by_scenario(records)
    assert told["people"].tolist() == people and told["held"].eq(1.0).all()


@pytest.mark.parametrize("kept", [False, True])
def test_a_column_that_gives_the_outcome_away_is_told(frame, caplog, kept):
    away = frame.assign(fate=frame["y"].map({1.0: "paid", 0.0: "lost"}))
    asked = {"columns": ASKED["columns"] | ({"keep": ["fate"]} if kept else {})}
    found = counterweight.missing_outcomes(away, "y", id="who", **ASKED | QUICK | asked)
    told = ["Left out, and not learned from: fate (", "Kept as requested, though these numbers"]
    assert told[kept] in caplog.text and told[not kept] not in caplog.text
    assert ("fate" in found.saved.facts["types"]) == kept
