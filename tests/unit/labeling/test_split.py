"""Who is labeled, what is seen, how rows are split."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.drawn_rules import known_propensity
from counterweight.labeling.labeling_rules import coastal, married
from counterweight.labeling.outcome_rules import above_median, equals
from counterweight.labeling.recipes import as_is
from counterweight.labeling.split import describe_labels, label_rows
from counterweight.labeling.stage import write_repeats, write_rows


def places(n=400, seed=0):
    rng = np.random.default_rng(seed)
    latitude = rng.uniform(33, 42, n)
    return pd.DataFrame(
        {
            "row": np.arange(n, dtype="int32"),
            "longitude": -124 + (42 - latitude) * 0.5 + rng.exponential(1, n),
            "latitude": latitude,
        }
    )


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"row": np.arange(n, dtype="int32"), "a": rng.normal(size=n), "y": rng.integers(0, 2, n)}
    )


def labeled(frame, rule, share=0.4, repeats=2, seed=1):
    features = as_is(frame, np.random.default_rng(0), outcome="y")
    return label_rows(
        frame,
        features,
        None,
        rule,
        partial(equals, column="y", value=1),
        seed=seed,
        study="s",
        repeats=repeats,
        test_share=share,
    )


def test_coastal_takes_the_west_of_each_stratum_in_the_north_only():
    frame = places()
    selected = coastal(frame, None, None, strata=4, strata_among="all", degrees=0.4)
    order = np.argsort(frame["latitude"].to_numpy())
    for part in np.array_split(order, 4):
        west = frame["longitude"].to_numpy()[part].min()
        near = frame["longitude"].to_numpy()[part] <= west + 0.4
        north = frame["latitude"].to_numpy()[part] > 36
        assert (selected[part] == (near & north)).all()


def test_coastal_strata_among_the_north_ignore_the_south():
    frame = places()
    whole = coastal(frame, None, None, strata=5, strata_among="north")
    north = frame[frame["latitude"] > 36].reset_index(drop=True)
    alone = coastal(north, None, None, strata=5, strata_among="all")
    assert (whole[(frame["latitude"] > 36).to_numpy()] == alone).all()


def test_rows_in_another_order_are_labeled_the_same():
    frame = places()
    shuffled = frame.sample(frac=1, random_state=2)
    expected = pd.Series(coastal(frame, None, None, strata=7), index=frame["row"])
    found = pd.Series(coastal(shuffled, None, None, strata=7), index=shuffled["row"])
    assert found.sort_index().equals(expected)


def test_married_counts_absent_spouses_only_when_asked():
    frame = pd.DataFrame(
        {
            "marital-status": [
                "Married-civ-spouse",
                "Married-AF-spouse",
                "Married-spouse-absent",
                "Divorced",
            ]
        }
    )
    assert married(frame, None, None).tolist() == [True, True, False, False]
    assert married(frame, None, None, spouse_absent=True).tolist() == [True, True, True, False]


def test_known_propensity_is_drawn_with_its_probability():
    truth = pd.DataFrame({"p_selected": np.repeat([0.1, 0.8], 20_000)})
    drawn = known_propensity(truth, truth, np.random.default_rng(0))
    for p, part in ((0.1, drawn[:20_000]), (0.8, drawn[20_000:])):
        assert abs(part.mean() - p) < 4 * np.sqrt(p * (1 - p) / 20_000)


def test_the_median_is_that_of_the_population():
    frame = pd.DataFrame({"v": [1.0, 2, 3, 10, 20]})
    everyone = np.ones(5, bool)
    rest = np.array([False, False, True, True, True])
    assert above_median(frame, everyone, column="v").tolist() == [0, 0, 0, 1, 1]
    assert above_median(frame, rest, column="v").tolist() == [0, 0, 0, 0, 1]


def test_labels_are_seen_on_labeled_training_rows_only():
    frame = table()
    labels, truth = labeled(frame, lambda f, t, rng: (f["a"] > 0).to_numpy())
    seen = labels["y_general"].notna()
    assert (seen == (labels["role"] == "labeled")).all()
    assert (labels.loc[seen, "y_general"] == truth.loc[seen, "y_general"]).all()
    assert (labels.loc[labels["role"] == "labeled", "selected"] == 1).all()
    assert (labels.loc[labels["role"] == "unlabeled", "selected"] == 0).all()


def test_the_test_set_is_a_share_of_all_rows_and_splits_differ():
    labels, _ = labeled(table(), lambda f, t, rng: (f["a"] > 0).to_numpy())
    tests = [set(p.loc[p["role"] == "test", "row"]) for _, p in labels.groupby("repeat")]
    assert [len(t) for t in tests] == [120, 120]
    assert tests[0] != tests[1]


def test_more_repeats_leave_the_earlier_ones_as_they_were():
    rule = lambda f, t, rng: rng.random(len(f)) < 0.5  # noqa: E731
    few, _ = labeled(table(), rule, repeats=1)
    many, _ = labeled(table(), rule, repeats=3)
    pd.testing.assert_frame_equal(few, many[many["repeat"] == 0].reset_index(drop=True))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda f, t, r: np.zeros(len(f), bool), "No row is labeled"),
        (lambda f, t, r: np.ones(len(f), bool), "All 300 rows are labeled"),
        (lambda f, t, r: (f["y"] == 1).to_numpy(), "one class only"),
    ],
)
def test_hopeless_labelings_are_told(rule, message):
    with pytest.raises(CounterweightError, match=message):
        labeled(table(), rule)


def test_constant_and_missing_features_are_named():
    frame = table().assign(flat=1.0)
    with pytest.raises(CounterweightError, match="flat.*one value in all 300 rows"):
        labeled(frame, lambda f, t, r: (f["a"] > 0).to_numpy())
    frame = table()
    frame.loc[3, "a"] = np.nan
    with pytest.raises(CounterweightError, match="'a'|a has missing"):
        labeled(frame, lambda f, t, r: (f["y"] > 0).to_numpy())


def test_unknown_columns_and_values_are_told():
    with pytest.raises(CounterweightError, match="needs the column marital-status"):
        married(table(), None, None)
    with pytest.raises(CounterweightError, match="never equals 'yes'; its values are 0, 1"):
        equals(table(), None, column="y", value="yes")
    with pytest.raises(CounterweightError, match="knows"):
        known_propensity(table(), None, None)


def test_sizes_sum_to_all_rows():
    labels, truth = labeled(table(), lambda f, t, rng: (f["a"] > 0).to_numpy())
    records = describe_labels(labels, truth, dropped=5)
    sizes = {r["metric"]: r["value"] for r in records if r["repeat"] == 0 and not r.get("part")}
    assert sizes["rows_labeled"] + sizes["rows_unlabeled"] + sizes["rows_test"] == 300
    assert sizes["rows_all"] == 300 and sizes["rows_dropped"] == 5


def test_missing_places_thresholds_and_probabilities_are_told():
    frame = places()
    frame.loc[7, "longitude"] = np.nan
    with pytest.raises(CounterweightError, match="longitude in every row.*first: row 7"):
        coastal(frame, None, None)
    values = pd.DataFrame({"v": [1.0, np.nan]})
    with pytest.raises(CounterweightError, match="column v in every row"):
        above_median(values, np.ones(2, bool), column="v")
    with pytest.raises(CounterweightError, match="runs from 0.5 to 1.7"):
        truth = pd.DataFrame({"p_selected": [0.5, 1.7]})
        known_propensity(truth, truth, np.random.default_rng(0))


def test_row_ids_that_repeat_are_refused():
    frame = pd.concat([table(), table()])
    with pytest.raises(CounterweightError, match="id 0 follows 299"):
        labeled(frame, lambda f, t, rng: (f["a"] > 0).to_numpy())


def test_the_outcome_cannot_be_a_feature():
    with pytest.raises(CounterweightError, match="names y"):
        as_is(table(), np.random.default_rng(0), outcome="y", columns=["a", "y"])


def test_a_repeat_at_a_time_gives_the_bytes_of_all_at_once(tmp_path):
    rows = 60_000  # three repeats fill more than one row group
    features = table(rows)

    def repeats():
        for repeat in range(3):
            rng = np.random.default_rng(repeat)
            labels = pd.DataFrame(
                {"repeat": np.full(rows, repeat, "int16"), "row": features["row"]}
            )
            labels["role"] = rng.choice(["labeled", "test"], rows)
            seen = pd.Series(rng.integers(0, 2, rows), dtype="Int8")
            labels["y_general"] = seen.where(labels["role"] == "labeled")
            truth = labels[["repeat", "row"]].assign(y_general=seen, p=rng.random(rows))
            kept = rng.random(rows) < 0.9
            yield labels[kept], truth[kept]

    def job(folder):
        names = ("features", "labels", "truth")
        output = SimpleNamespace(**{name: folder / f"{name}.parquet" for name in names})
        return SimpleNamespace(output=output)

    whole = [pd.concat(part, ignore_index=True) for part in zip(*repeats(), strict=True)]
    write_rows(job(tmp_path / "whole"), features, *whole)
    told = write_repeats(job(tmp_path / "parts"), features, repeats(), lambda *both: map(len, both))
    assert [list(lengths) for lengths in told] == [[len(a), len(b)] for a, b in repeats()]
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "parts" / file.name).read_bytes()


def test_a_repeat_that_fails_leaves_no_labels(tmp_path):
    def repeats():
        yield table(), table()
        raise CounterweightError("no classifier can be learned")

    output = SimpleNamespace(features=tmp_path / "f", labels=tmp_path / "l", truth=tmp_path / "t")
    with pytest.raises(CounterweightError):
        write_repeats(SimpleNamespace(output=output), table(), repeats(), lambda *_: None)
    assert {path.name for path in tmp_path.iterdir()} == {"f"}
