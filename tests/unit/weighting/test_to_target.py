"""A target that is not the rest of the table: labeled rows stand for a population that is known."""

import numpy as np
import pandas as pd
import pytest
from counterweight import load
from counterweight.errors import CounterweightError
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.tables.parquet import read_columns, read_table
from counterweight.tables.saved_form import read_saved
from counterweight.tasks import missing_outcomes
from counterweight.weighting.no_outcomes import MOST_UNSUPPORTED
from counterweight.weighting.to_target import _typed, to_target
from delivering import Own

#: One method, where it is the weights that are asked about.
LINEAR = {"models": [{"model": "logistic"}, {"model": "logistic", "weights": "to_target"}]}
STAGES = (("select", "selectors"), ("weigh", "weightings"), ("train", "methods"))


def world(rows, rng, young=False):
    """People of a population, or of one in which the young and the women are too many."""
    age = rng.normal(48, 12, 4 * rows).clip(18, 90)
    woman = rng.random(4 * rows) < 0.5
    taken = rng.random(4 * rows) < 1 / (1 + np.exp((age - 40) / 10 - woman)) if young else age > 0
    age, woman = age[taken][:rows], woman[taken][:rows]
    region = rng.choice(["north", "south"], len(age))
    spend = 20 + 0.8 * age - 6 * woman + 4 * (region == "north") + rng.normal(0, 5, len(age))
    return pd.DataFrame(
        {
            "who": [f"p{k}" for k in range(len(age))],
            "age": age.round(2),
            "woman": np.where(woman, "yes", "no"),
            "region": region,
            "spend": spend.round(3),
        }
    )


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A folder with a population, and the table of a sample that is biased against it."""
    folder, rng = tmp_path_factory.mktemp("target"), np.random.default_rng(1)
    population = world(6000, rng)
    (folder / "population").mkdir()
    population.drop(columns=["who", "spend"]).to_csv(folder / "population.csv", index=False)
    return folder, population, world(1500, rng, young=True)


def delivered(folder, frame, target, **entry):
    """A study with a target, run up to what it gives away; its records by metric."""
    folder.mkdir(exist_ok=True)
    own = Own(folder, frame, {"id": "who", "outcome": "spend", "target": target} | entry)
    own.run("label")
    for stage, items in STAGES:
        for item in own.study[items]:
            own.run(stage, item)
    files = own.run("deliver")
    records = read_table(files["metrics"])
    records = records[~records["variable"].isin(["low", "high"]) & (records["part"] != "supported")]
    return own, files, records.set_index("metric")


@pytest.fixture(scope="module")
def by_table(people):
    folder, _, frame = people
    return delivered(folder / "a", frame, {"table": str(folder / "population.csv")})


def weights_of(own):
    return read_columns(own.at.weights(next(iter(own.study["weightings"]))))["weight"]


def test_the_mean_of_the_population_is_within_its_interval(people, by_table):
    _, population, frame = people
    _, _, records = by_table
    known, truth = records.loc["target_mean"], population["spend"].mean()
    assert abs(frame["spend"].mean() - truth) > 5, "the sample alone is far off"
    assert abs(known["value"] - truth) < 2 * known["standard_error"] < 1.5
    assert known["rows"] == len(population)
    assert records.loc["design_effect", "value"] > 1.2


@pytest.mark.parametrize("seed", range(3))
def test_weights_put_right_a_model_that_is_wrong(people, tmp_path, seed):
    """With one constant for all, the mean is that of the weights alone."""
    folder, population, _ = people
    frame = world(1500, np.random.default_rng(10 + seed), young=True)
    flat = {"model": "logistic", "l2": 1.0e12, "per_row": False}
    models = [flat, flat | {"weights": "to_target"}]
    own, _, records = delivered(
        tmp_path, frame, {"table": str(folder / "population.csv")}, study={"models": models}
    )
    known = records.loc["target_mean"]
    assert abs(known["value"] - population["spend"].mean()) < 2.5 * known["standard_error"]


def test_the_labeled_are_balanced_and_the_answer_says_for_whom(people, by_table):
    _, population, frame = people
    own, files, _ = by_table
    w = weights_of(own)
    assert w.mean() == pytest.approx(1)
    spread = population["age"].std()
    assert abs(np.average(frame["age"], weights=w) - population["age"].mean()) < 0.02 * spread
    woman = (frame["woman"] == "yes").to_numpy(float)
    assert np.average(woman, weights=w) == pytest.approx(
        (population["woman"] == "yes").mean(), abs=0.01
    )
    facts = read_saved(files["model"]).facts
    assert facts["for"] == "the people of population.csv"
    told = " ".join(facts["target"])
    assert "1,500 rows stand for 6,000 rows" in told and "design effect" in told
    assert "resemble no row that has an outcome" in told


def test_quality_and_choice_go_by_these_weights(people, by_table):
    _, _, frame = people
    own, _, _ = by_table
    w = weights_of(own)
    known = pd.DataFrame(own.run("evaluate", "linear"))
    assert {*known["target"]} == {"general"}
    known = known[(known["metric"] == "mean_error") & (known["part"] == "")]
    error = known["value"].iloc[0]
    # Averaged over the draws of the folds.
    p = read_table(own.at.predictions("linear")).groupby("row")["p"].mean().to_numpy()
    # Predictions minus what happened, as the metric has it.
    assert error == pytest.approx(np.average(p - frame["spend"], weights=w), abs=1e-9)


def test_known_margins_are_met_and_their_mean_is_right(people, tmp_path):
    _, population, frame = people
    women = (population["woman"] == "yes").mean()
    margins = {
        "woman": {True: women, False: 1 - women},
        "region": {"north": 0.5, "south": 0.5},
        "age": {"mean": float(population["age"].mean())},
    }
    own, files, records = delivered(tmp_path, frame, {"margins": margins}, study=LINEAR)
    w = weights_of(own)
    assert np.average(frame["woman"] == "yes", weights=w) == pytest.approx(women, abs=1e-7)
    assert np.average(frame["region"] == "north", weights=w) == pytest.approx(0.5, abs=1e-7)
    assert np.average(frame["age"], weights=w) == pytest.approx(margins["age"]["mean"], abs=1e-6)
    known = records.loc["target_mean"]
    assert abs(known["value"] - population["spend"].mean()) < 2.5 * known["standard_error"]
    facts = read_saved(files["model"]).facts
    assert facts["for"] == "people with the given margins of “woman”, “region” and “age”"
    assert "difference was 0." in facts["target"][1] and " and is 0; " in facts["target"][1]
    assert not facts["missed"]


@pytest.mark.parametrize(("share", "blank"), [(0.0, ""), (0.25, ""), (1.0, ""), (0.25, "region")])
def test_people_of_the_target_unlike_all_labeled_rows_have_bounds(people, tmp_path, share, blank):
    _, population, frame = people
    frame = frame.assign(rich=np.where(frame["spend"] > frame["spend"].median(), "yes", "no"))
    others = population.drop(columns=["who", "spend"]).head(2000)
    apart = np.arange(2000) < 2000 * share
    if blank:  # in nobody of the table
        others[blank] = others[blank].mask(apart)
    else:
        others = others.assign(region=others["region"].where(~apart, "west"))
        others["age"] *= np.where(apart, 1000, 1)
    others.to_csv(tmp_path / "others.csv", index=False)
    target = {"table": str(tmp_path / "others.csv")}
    told = {"outcome": {"column": "rich", "positive": "yes"}, "study": LINEAR}
    told |= {"columns": {"ignore": ["spend"]}}
    _, files, _ = delivered(tmp_path / "run", frame, target, **told)
    records = read_table(files["metrics"])
    known = records.set_index(["metric", "part", "variable"])["value"]
    # A few of the others are older than anybody in the sample.
    beyond = 1 - known["supported_share", "", ""]
    assert share - 1e-9 <= beyond <= share + 0.05
    # By the rule by which the scores of the same people tell it.
    told = load(files["model"]).scores(others.assign(who=np.arange(2000)))["supported"]
    assert beyond == pytest.approx(1 - told.mean(), abs=1e-9) and not told[apart].any()
    assert known["unsupported_headline", "", ""] == (beyond > MOST_UNSUPPORTED) == (share > 0)
    mean, low, high = (known["target_rate", "", end] for end in ("", "low", "high"))
    assert 0 <= low <= mean <= high <= 1
    worst = known["target_bounds", "worst", "low"], known["target_bounds", "worst", "high"]
    # Of those unlike all labeled rows none or all may be rich.
    assert worst[1] - worst[0] >= beyond - 1e-9
    assert ((low, high) == worst) == (share > 0)


def test_margins_that_the_largest_weights_do_not_meet_are_told(people, tmp_path):
    frame = people[2]
    far = float(frame["age"].quantile(0.995))
    own, files, _ = delivered(tmp_path, frame, {"margins": {"age": {"mean": far}}}, study=LINEAR)
    reached = np.average(frame["age"], weights=weights_of(own))
    facts = read_saved(files["model"]).facts
    assert far - reached > 0.05 * frame["age"].std()
    assert f"age is {reached:.4g} on average for the {far:.4g} asked" in facts["missed"]
    assert facts["for"].startswith("people between those of the table and people with the given")


def test_rows_without_an_outcome_tell_what_margins_do_not(people, tmp_path):
    """Who has an outcome goes by age here, and only regions are known of the target."""
    rng, frame = np.random.default_rng(11), people[1].iloc[:1500].copy()
    seen = rng.random(len(frame)) < 1 / (1 + np.exp((frame["age"] - 48) / 8))
    north, share = (frame["region"] == "north").to_numpy(), 0.8
    raked = np.where(north, share / north.mean(), (1 - share) / (1 - north.mean()))
    truth = np.average(frame["spend"], weights=raked)
    alone = np.average(frame["spend"][seen], weights=raked[seen])
    table = frame.assign(spend=frame["spend"].where(seen))
    margins = {"region": {"north": share, "south": 1 - share}}
    own, files, records = delivered(tmp_path, table, {"margins": margins}, study=LINEAR)
    # Labeled rows are like all rows in each column, which have the margins.
    w = weights_of(own)
    for values in (frame["age"], frame["woman"] == "yes", north):
        whole, by_weights = np.average(values, weights=raked), np.average(values[seen], weights=w)
        assert by_weights == pytest.approx(whole, rel=1e-3)
    known = records.loc["target_mean"]
    error = known["standard_error"]
    assert abs(known["value"] - truth) < 2.5 * error < 6 * error < abs(alone - truth)
    facts = read_saved(files["model"]).facts
    assert facts["target"][0].startswith("1,500 rows stand for known margins by")
    assert "as rows of the table with the same known features" in facts["assumes"]["rests"]


def test_a_reference_sample_without_some_features_is_stood_for_by_the_table(people, tmp_path):
    """As above: the second table has regions alone."""
    rng, frame = np.random.default_rng(12), people[1].iloc[:1500].copy()
    seen = rng.random(len(frame)) < 1 / (1 + np.exp((frame["age"] - 48) / 8))
    path = tmp_path / "regions.csv"
    pd.DataFrame({"region": ["north"] * 80 + ["south"] * 20}).to_csv(path, index=False)
    north = (frame["region"] == "north").to_numpy()
    raked = np.where(north, 0.8 / north.mean(), 0.2 / (1 - north.mean()))
    table = frame.assign(spend=frame["spend"].where(seen))
    target = {"table": str(path), "columns": ["region"]}
    *_, records = delivered(tmp_path / "run", table, target, study=LINEAR)
    known = records.loc["target_mean"]
    truth = np.average(frame["spend"], weights=raked)
    assert abs(known["value"] - truth) < 2.5 * known["standard_error"]


def test_design_weights_are_where_the_weights_begin(people, tmp_path):
    """Where the margins hold already, the weights are those of the design."""
    _, _, frame = people
    heavy = np.random.default_rng(3).integers(1, 4, len(frame)).astype(float)
    share = np.average(frame["region"] == "north", weights=heavy)
    margins = {"region": {"north": share, "south": 1 - share}}
    entry = {"id": "who", "outcome": "spend", "target": {"margins": margins}, "weight": "heavy"}
    own = Own(tmp_path, frame.assign(heavy=heavy), entry)
    own.run("label")
    own.run("weigh", next(iter(own.study["weightings"])))
    np.testing.assert_allclose(weights_of(own), heavy / heavy.mean(), rtol=1e-6)


@pytest.mark.parametrize("rows", [300, 6000])
def test_no_weight_is_above_the_cap_however_many_rows_the_target_has(people, rows):
    """Weights sum to the rows of the target: a mean weight is 1/5 or 4."""
    _, population, frame = people
    columns = ["age", "woman", "region"]
    types = {"age": "number", "woman": "category", "region": "category"}
    given = frame[columns], types, np.ones(len(frame)), population[columns].head(rows), columns
    free, raw = to_target(*given)
    np.testing.assert_allclose(raw, free.weights / free.weights.mean())
    assert free.largest > 2
    capped, before = to_target(*given, most=1.5)
    np.testing.assert_allclose(before, raw)
    assert capped.largest == pytest.approx(1.5)
    assert capped.weights.sum() == pytest.approx(rows)
    above, _ = to_target(*given, most=1.01 * free.largest)
    np.testing.assert_array_equal(above.weights, free.weights)


def test_a_sample_with_some_of_the_columns_serves_where_they_are_named(people, tmp_path):
    folder, population, frame = people
    population[["age", "woman"]].to_csv(folder / "census.csv", index=False)
    target = {"table": str(folder / "census.csv")}
    with pytest.raises(CounterweightError) as caught:
        delivered(tmp_path, frame, target)
    message = str(caught.value)
    assert "has no column region" in message.replace("'", "") and "target.columns" in message
    assert len(message.splitlines()) == 1
    named = target | {"columns": ["age", "woman"]}
    own, _, records = delivered(tmp_path, frame, named, study=LINEAR)
    known = records.loc["target_mean"]
    assert abs(known["value"] - population["spend"].mean()) < 3 * known["standard_error"]


def test_a_reference_sample_with_weights_stands_for_its_own_population(people, tmp_path):
    """Every second person twice as heavy, or there twice, is the same."""
    folder, population, frame = people
    rows = population.drop(columns=["who", "spend"]).iloc[:500]
    twice = np.arange(500) % 2 + 1
    rows.assign(w=twice).to_csv(folder / "heavy.csv", index=False)
    rows.loc[rows.index.repeat(twice)].to_csv(folder / "longer.csv", index=False)
    made = []
    for name, more in (("heavy", {"weight": "w"}), ("longer", {})):
        place = tmp_path / name
        place.mkdir()
        target = {"table": str(folder / f"{name}.csv")} | more
        own = Own(place, frame, {"id": "who", "outcome": "spend", "target": target})
        own.run("label")
        own.run("weigh", next(iter(own.study["weightings"])))
        made.append(weights_of(own))
    np.testing.assert_allclose(*made, rtol=1e-8)


def test_the_population_is_an_input_of_what_depends_on_it(people, by_table):
    folder, _, _ = people
    own, _, _ = by_table
    path = str(folder / "population.csv")
    weighting = next(iter(own.study["weightings"]))
    inputs = missing_outcomes.plan_weigh(own.plan, own.study, weighting, own.at).inputs
    assert inputs["population"] == [path] and "selection" not in inputs
    assert missing_outcomes.plan_deliver(own.plan, own.study, own.at).inputs["population"] == [path]
    for stage, item in (("label", ""), ("select", "better_of_two"), ("train", "linear")):
        planned = getattr(missing_outcomes, f"plan_{stage}")
        job = planned(own.plan, own.study, *([item] if item else []), own.at)
        assert path not in str(job.inputs) + str(job.given)


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ({"table": "p.csv", "margins": {"age": {"mean": 40}}}, "one of the two"),
        ({"columns": ["age"]}, "target names a table or margins"),
        ({"tabel": "p.csv"}, "did you mean 'table'"),
        ("somebody", "which is not a choice"),
        ({"table": "p.csv", "method": "magic"}, "which is not a choice"),
        ({"margins": {"age": {"mean": "old"}}}, "must be of type number"),
        ({"margins": {"age": {"mean": 40, "sd": 3}}}, "margins.age gives an sd beside the mean"),
    ],
)
def test_mistakes_are_told_in_a_sentence(target, sentence):
    given = {"table": "a.csv", "outcome": "y", "target": target, "results": "r", "data": "d"}
    with pytest.raises(CounterweightError) as caught:
        resolve(with_own_tables(given, given))
    assert sentence in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("margins", "sentence"),
    [
        ({"planet": {"mars": 1.0}}, "planet"),
        ({"region": {"north": 1.0}}, "no share for south (730 rows)"),
        ({"region": {"north": 0.4, "south": 0.3, "west": 0.3}}, "asks for 'west'"),
        ({"age": {"mean": 200}}, "no weights reach it"),
        ({"region": {"mean": 3}}, "not of numbers"),
    ],
)
def test_margins_that_cannot_be_met_are_told(people, tmp_path, margins, sentence):
    with pytest.raises(CounterweightError) as caught:
        delivered(tmp_path, people[2], {"margins": margins})
    assert sentence in str(caught.value) and len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("levels", [(True, False), ("ja", "nein"), (1, 0)])
def test_levels_of_a_boolean_are_told_by_the_words_of_the_table(levels):
    values = pd.Series([1.0, 0.0, np.nan, 1.0])
    form = {"true": "ja", "false": "nein"}
    margin = dict(zip(levels, (0.3, 0.7), strict=True))
    named, told = _typed(values, "boolean", margin, form)
    assert told == {"ja": 0.3, "nein": 0.7}
    assert named.dropna().tolist() == ["ja", "nein", "ja"] and named.isna().tolist()[2]
