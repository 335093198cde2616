"""Samples as data frames: five lines, balance, prices, errors of means, and mistakes."""

import numpy as np
import pandas as pd
import pytest
from counterweight import Sample
from counterweight.errors import CounterweightError


def people(rng, n, lean=0.0):
    """A table of `n` people; a larger `lean` makes them older, more often m, from the north."""
    age = 40 + 12 * rng.normal(size=n) + 6 * lean
    sex = np.where(rng.random(n) < 0.5 + 0.15 * lean, "m", "f")
    region = rng.choice(["north", "south", "west"], n, p=np.array([1 + lean, 1, 1]) / (3 + lean))
    hours = 30 + 0.2 * (age - 40) + 4 * (sex == "m") + 3 * rng.normal(size=n)
    return pd.DataFrame({"age": age, "sex": sex, "region": region, "hours": hours})


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def answers(rng):
    frame = people(rng, 800, 1.0)
    frame.insert(0, "person", [f"p{k}" for k in range(800)])
    frame["design_weight"] = rng.integers(1, 4, size=800)
    return frame


@pytest.fixture
def reference(rng):
    return people(rng, 1500).drop(columns="hours")


def test_a_sample_is_adjusted_to_a_table_and_to_margins(answers, reference):
    sample = Sample(answers, id="person", weight="design_weight")
    assert repr(sample).startswith("Sample(rows 800, id person, rows of equal weight ")
    assert "column hours" in sample._repr_html_()
    adjusted = sample.adjust(reference)
    mean = adjusted.mean("hours")
    assert "800 rows stand for 1,500 rows" in str(adjusted.summary())
    assert list(adjusted.weights.index) == list(answers["person"])
    assert np.isclose(adjusted.weights.sum(), 1500)
    assert abs(mean.value - 32) < 4 * mean.standard_error
    adjusted = sample.adjust({"sex": {"f": 0.51, "m": 0.49}, "age": {"mean": 41.2}})
    table = adjusted.balance().set_index(["column", "level"])
    assert np.isclose(table.loc[("sex", "f"), "adjusted"], 0.51, atol=1e-8)
    assert np.isclose(table.loc[("age", ""), "adjusted"], 41.2, atol=1e-6)
    assert np.isclose(adjusted.weights.sum(), answers["design_weight"].sum())


def test_differences_are_those_of_their_definition(answers, reference):
    weight = answers["design_weight"]
    adjusted = Sample(answers, weight="design_weight").adjust(reference)
    table = adjusted.balance().set_index(["column", "level"])
    sd = reference["age"].std(ddof=0)
    before = (np.average(answers["age"], weights=weight) - reference["age"].mean()) / sd
    after = (np.average(answers["age"], weights=adjusted.weights) - reference["age"].mean()) / sd
    assert np.allclose(table.loc[("age", ""), ["before", "after"]].astype(float), [before, after])
    share = (reference["region"] == "west").mean()
    own = np.average(answers["region"] == "west", weights=weight)
    expected = (own - share) / np.sqrt(share * (1 - share))
    assert np.isclose(table.loc[("region", "west"), "before"], expected)
    columns = table["before"].abs().groupby("column").mean()
    assert np.isclose(adjusted.mean_difference_before, columns.mean())
    assert adjusted.mean_difference_after < 0.005 < adjusted.mean_difference_before
    w = adjusted.weights
    assert np.isclose(adjusted.design_effect, 1 + w.var(ddof=0) / w.mean() ** 2)
    assert np.isclose(adjusted.effective_rows * adjusted.design_effect, len(w))
    assert np.isclose(adjusted.largest, w.max() / w.mean())


def test_a_share_is_that_of_the_rows_with_the_value(answers, reference):
    answers.loc[:9, "sex"] = None
    adjusted = Sample(answers, columns=["age"]).adjust(reference)
    told = answers["sex"].notna()
    share = np.average(answers["sex"][told] == "m", weights=adjusted.weights[told])
    mean = adjusted.mean("sex", equals="m")
    assert mean.value == pytest.approx(share)
    assert mean.rows == len(answers) - 10


def test_known_shares_have_the_spread_of_a_share(answers):
    adjusted = Sample(answers, weight="design_weight").adjust({"sex": {"f": 0.4, "m": 0.6}})
    table = adjusted.balance().set_index(["column", "level"])
    own = np.average(answers["sex"] == "m", weights=answers["design_weight"])
    assert table.loc[("sex", "m"), "before"] == pytest.approx((own - 0.6) / np.sqrt(0.24))
    known = Sample(answers).adjust({"age": {"mean": 50.0, "sd": 4.0}}).balance()
    assert known["before"][0] == pytest.approx((answers["age"].mean() - 50) / 4)


def test_weights_given_without_adjustment_are_a_plain_ratio(answers, reference):
    """The error of a weighted mean: the root of the sum of squared w (y - mean), sum of w 1."""
    w = np.arange(1.0, 801) / np.arange(1.0, 801).sum()
    mean = Sample(answers, columns=["sex"]).adjust(reference, weights=w).mean("hours")
    value = w @ answers["hours"]
    assert mean.value == pytest.approx(value)
    error = np.sqrt((w**2 * (answers["hours"] - value) ** 2).sum())
    assert mean.standard_error == pytest.approx(error, rel=5e-3)
    assert mean.effective_rows == pytest.approx(1 / (w**2).sum())
    assert mean.largest_weight == pytest.approx(800 * w.max())


@pytest.mark.parametrize("method", ["cbps", "ipw", "rake", "poststratify"])
def test_every_method_leaves_a_sample_of_itself_alone(method, answers):
    sample = Sample(answers, id="person", weight="design_weight", columns=["age", "sex", "region"])
    adjusted = sample.adjust(sample, method=method, bins=3)
    np.testing.assert_allclose(adjusted.weights, answers["design_weight"], rtol=1e-6)
    assert adjusted.converged


def test_rows_repeated_are_rows_weighted(answers, reference):
    columns = ["age", "sex", "region"]
    weighted = Sample(answers, weight="design_weight", columns=columns).adjust(reference)
    twice = answers.loc[answers.index.repeat(answers["design_weight"])]
    repeated = Sample(twice, columns=columns).adjust(reference)
    by_row = repeated.weights.groupby(level=0).sum()
    np.testing.assert_allclose(by_row, weighted.weights, rtol=1e-6)


def test_post_stratified_cells_have_the_targets_shares(answers, reference):
    columns = ["sex", "region"]
    adjusted = Sample(answers, columns=columns).adjust(reference, method="poststratify")
    cells = adjusted.weights.groupby([answers["sex"], answers["region"]]).sum()
    np.testing.assert_allclose(cells, reference.groupby(columns).size(), rtol=1e-9)
    shares = {key: float(n) for key, n in reference.groupby(columns).size().items()}
    known = Sample(answers).adjust({("sex", "region"): shares}, method="poststratify")
    np.testing.assert_allclose(known.weights, adjusted.weights, rtol=1e-9)


@pytest.mark.parametrize("method", ["cbps", "ipw", "rake", "poststratify"])
def test_intervals_cover_the_targets_mean(method):
    """Errors allow for estimated weights: z values of 200 pairs of tables have unit spread."""
    z = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        frame, target = people(rng, 500, 0.7), people(rng, 500)
        columns = ["sex", "region"] if method in ("rake", "poststratify") else None
        # Where only sex and region are balanced, what age explains is part of the truth.
        if columns:
            frame["hours"] -= 0.2 * (frame["age"] - 40)
        done = Sample(frame, columns=columns).adjust(target.drop(columns="hours"), method=method)
        mean = done.mean("hours")
        z.append((mean.value - 32) / mean.standard_error)
    assert abs(np.mean(z)) < 0.3
    assert 0.85 < np.std(z) < 1.15


def test_what_the_target_has_and_the_sample_lacks_is_said(answers, reference):
    reference.loc[:29, "region"] = "east"
    reference.loc[0, "age"] = 200.0
    adjusted = Sample(answers, columns=["age", "region"]).adjust(reference, trim=2)
    # The levels that are there keep their shares of one another.
    table = Sample(answers, columns=["region"]).adjust(reference, l2=1e-8).balance()
    assert np.allclose(table.loc[1:, "adjusted"], table.loc[1:, "target"] / 0.98, atol=1e-4)
    text = adjusted.summary()
    assert "The target has region = east (2 % of it), and the sample has no row" in text
    assert "of the target lie beyond the sample's range of age" in text
    assert "cut to 2 times the mean" in text
    assert adjusted.largest <= 2 + 1e-9
    with pytest.raises(CounterweightError, match="region = east"):
        Sample(answers, columns=["age", "region"]).adjust(reference, l2=0)
    with pytest.raises(CounterweightError, match="region = east"):
        Sample(answers, columns=["age", "region"]).adjust(reference, "rake")


def test_missing_values_move_nothing_unless_both_tables_have_some(answers, reference):
    answers.loc[::7, "age"] = np.nan
    answers.loc[::5, "sex"] = None
    adjusted = Sample(answers, columns=["age", "sex"]).adjust(reference)
    assert len(adjusted.notes) >= 2 and "count as the target's mean" in adjusted.notes[0]
    assert np.isclose(adjusted.mean_difference_after, 0, atol=0.02)
    reference.loc[::3, "age"] = np.nan
    table = Sample(answers, columns=["age"]).adjust(reference, l2=1e-6).balance()
    assert list(table["level"]) == ["", "missing"]
    assert np.isclose(table.loc[1, "adjusted"], 1 / 3, atol=0.001)


def test_types_of_columns(answers, reference):
    for frame in (answers, reference):
        frame["region"] = frame["region"].astype("category")
        frame["born"] = pd.Timestamp("2020-01-01") - pd.to_timedelta(frame["age"] * 365, unit="D")
        frame["old"] = frame["age"] > 50
        frame["count"] = frame["age"].round().astype("Int64")
        frame["code"] = [f"c{k}" for k in range(len(frame))]
    adjusted = Sample(answers, id="person").adjust(reference)
    assert set(adjusted.balance()["column"]) == {"age", "sex", "region", "born", "old", "count"}
    assert "code has 1,500 different texts" in adjusted.summary()
    known = Sample(answers).adjust({"old": {True: 0.2, False: 0.8}})
    assert np.isclose(known.mean("old").value, 0.2)
    assert np.isclose(known.mean("old").standard_error, 0, atol=1e-6)
    assert np.isclose(known.mean("sex", equals="m").value + known.mean("sex", equals="f").value, 1)
    given = Sample(answers, columns=["sex"]).adjust(reference, weights=np.ones(len(answers)))
    assert given.design_effect == 1 and given.method == "given"
    assert given.mean_difference_before == given.mean_difference_after


def test_mistakes_are_one_sentence(answers, reference):
    sample = Sample(answers)
    for margins, message in (
        ({}, "names no margin"),
        ({"sx": {"f": 1}}, "'sx', which the sample lacks"),
        ({"sex": {"f": 0.5, "w": 0.5}}, r"no share for m \(\d+ rows\) of the sample"),
        ({"sex": {"f": 0.4, "m": 0.4, "x": 0.2}}, "asks for 'x'"),
        ({"sex": {"f": 4, "m": 2}, "region": {"north": 1, "south": 1, "west": 1}}, "sums to"),
        ({"sex": {"f": 0.6, "m": 0.5}}, "0.6, 0.5, which are neither shares that sum to 1 nor"),
        ({"sex": {"f": 0.4, "m": 0.2}}, "neither shares that sum to 1 nor totals"),
        ({"age": {"mean": 400}}, "the sample's values lie between"),
        ({"sex": {"mean": 0.5}}, "not of numbers"),
        ({"sex": 0.5}, "must give shares by level"),
    ):
        with pytest.raises(CounterweightError, match=message):
            sample.adjust(margins)
    with pytest.raises(CounterweightError, match="margins only"):
        sample.adjust({"sex": {"f": 0.5, "m": 0.5}}, "ipw")
    with pytest.raises(CounterweightError, match="one set of cells"):
        sample.adjust({"sex": {"f": 0.5, "m": 0.5}, "age": {"mean": 40}}, "poststratify")
    with pytest.raises(CounterweightError, match="must be one of cbps"):
        sample.adjust(reference, "magic")
    with pytest.raises(CounterweightError, match="option of cbps"):
        sample.adjust(reference, "ipw", most_effect=2)
    with pytest.raises(CounterweightError, match="no column in common"):
        sample.adjust(pd.DataFrame({"other": [1.0]}))
    with pytest.raises(CounterweightError, match="numbers in the sample and text in the target"):
        Sample(answers, columns=["age"]).adjust(reference.astype({"age": "str"}))
    with pytest.raises(CounterweightError, match="no column 'hours'"):
        Sample(answers, columns=["hours"]).adjust(reference)
    with pytest.raises(CounterweightError, match="repeated in"):
        Sample(answers, id="sex")
    with pytest.raises(CounterweightError, match="is text"):
        Sample(answers, weight="sex")
    with pytest.raises(CounterweightError, match="no column 'x'"):
        Sample(answers, id="x")
    with pytest.raises(CounterweightError, match="one row at least"):
        Sample(answers[:0])
    with pytest.raises(CounterweightError, match="name a value by equals"):
        sample.adjust(reference).mean("person")


@pytest.mark.parametrize("shares", [{"f": 0.51, "m": 0.5}, {"f": 0.49, "m": 0.5}])
def test_shares_that_were_rounded_are_shares_and_no_totals(answers, shares):
    weights = Sample(answers).adjust({"sex": shares}).weights
    assert weights.sum() == pytest.approx(len(answers))
