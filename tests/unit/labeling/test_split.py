"""Who is labeled, what is seen, how rows are split."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.labeling_rules import known_propensity, married
from counterweight.labeling.outcome_rules import equals
from counterweight.labeling.recipes import as_is
from counterweight.labeling.split import describe_labels
from study_parts import label_rows


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"row": np.arange(n, dtype="int32"), "a": rng.normal(size=n), "y": rng.integers(0, 2, n)}
    )


def labeled(frame, rule, share=0.4, repeats=2, seed=1, **options):
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
        **options,
    )


def test_known_propensity_is_drawn_with_its_probability():
    truth = pd.DataFrame({"p_selected": np.repeat([0.1, 0.8], 20_000)})
    drawn = known_propensity(truth, truth, np.random.default_rng(0))
    for p, part in ((0.1, drawn[:20_000]), (0.8, drawn[20_000:])):
        assert abs(part.mean() - p) < 4 * np.sqrt(p * (1 - p) / 20_000)


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


def test_copies_of_a_row_are_on_one_side_of_every_split_whatever_their_order():
    rule = lambda f, t, rng: (f["a"] > -1).to_numpy()  # noqa: E731
    twice = pd.concat([table(200), table(200)[:100]], ignore_index=True)
    kind = np.r_[np.arange(200), np.arange(100)]
    twice["row"] = np.arange(300, dtype="int32")
    labels, truth = labeled(twice, rule, copies=kind)
    for _, part in labels.groupby("repeat"):
        sides = (part["role"] == "test").groupby(kind)
        assert (sides.nunique() == 1).all() and 100 < sides.first().sum() * 300 / 200 < 121
        np.testing.assert_array_equal(part["copies"], truth.loc[part.index, "user"])
        assert (part["copies"].groupby(kind).nunique() == 1).all()
        assert part["copies"].nunique() == 200
    # Errors are those of rows that differ; without copies nothing is told of them.
    error = {
        copied: [
            record["standard_error"]
            for record in describe_labels(*labeled(twice, rule, copies=kind if copied else None), 0)
            if record.get("part") == "all"
        ]
        for copied in (None, True)
    }
    assert (np.array(error[True]) > 1.1 * np.array(error[None])).all()
    alone, known = labeled(twice, rule)
    assert "copies" not in alone and "user" not in known


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


def test_the_share_of_a_log_errs_by_what_was_dropped_alone():
    """Of known rows there is no error; else the interval holds the share of that very log."""
    frame = table(3_000)
    frame["y"] = (np.arange(3_000) % 10 == 0).astype(int)

    def share(kept, before):
        own = frame[kept].assign(row=np.arange(kept.sum(), dtype="int32"))
        labels, truth = labeled(own, lambda f, t, rng: (f["a"] > 0).to_numpy(), repeats=1)
        labels["keep_rate"] = np.where(truth["y_general"] == 1, 1.0, 0.2)
        records = describe_labels(labels, truth, 0, before)
        asked = ("positive_share", "all", "general")
        (one,) = [r for r in records if (r["metric"], r.get("part"), r.get("target")) == asked]
        return one["value"], one["standard_error"]

    held = []
    for seed in range(50):
        drawn = np.random.default_rng([4, seed]).random(3_000) < 0.2
        value, error = share(drawn | (frame["y"] == 1).to_numpy(), 0)
        held.append(abs(value - 0.1) < 1.96 * error)
        # Not that of another log of such users, which is four times as wide.
        assert error < 0.004
    assert np.mean(held) >= 0.86
    assert share(drawn | (frame["y"] == 1).to_numpy(), 3_000) == (0.1, 0.0)


def test_the_target_of_the_unlabeled_is_the_test_rows_that_a_rule_leaves_out():
    labels, truth = labeled(table(), lambda f, t, rng: (f["a"] > 0).to_numpy())
    records = describe_labels(labels, truth, dropped=0)
    found = {
        record["target"]: record
        for record in records
        if (record["repeat"], record["metric"], record.get("part"))
        == (0, "positive_share", "target")
    }
    first = (labels["repeat"] == 0) & (labels["role"] == "test")
    for target, rows in (("general", first), ("unlabeled", first & (labels["selected"] == 0))):
        y = truth.loc[rows, f"y_{target}"].to_numpy(float)
        assert found[target]["rows"] == len(y)
        assert found[target]["value"] == pytest.approx(y.mean(), abs=1e-12)
    assert 0 < found["unlabeled"]["rows"] < found["general"]["rows"]


def test_row_ids_that_repeat_are_refused():
    frame = pd.concat([table(), table()])
    with pytest.raises(CounterweightError, match="id 0 follows 0"):
        labeled(frame, lambda f, t, rng: (f["a"] > 0).to_numpy())


def test_the_outcome_cannot_be_a_feature():
    with pytest.raises(CounterweightError, match="names y"):
        as_is(table(), np.random.default_rng(0), outcome="y", columns=["a", "y"])


def test_rates_of_what_a_log_lost_before_and_here_multiply():
    frame = table()

    def rule(f, t, rng, features, outcome):
        return {"selected": (f["a"] > 0).to_numpy(), "keep_rate": np.where(f["row"] % 2, 0.5, 1.0)}

    labels, hidden = labeled(frame, rule, informed=True, keep_rate=0.25)
    zero = (labels["role"] == "test") & (hidden.filter(like="y_") == 0).all(axis=1)
    before = np.where(labels["row"] % 2, 0.5, 1.0)
    np.testing.assert_array_equal(labels["keep_rate"], before * np.where(zero, 0.25, 1.0))
    assert 0 < zero.sum() < len(labels)


def grouped(members, positives):
    """Promises of a table whose first rows are the group few; of them `positives` have a yes."""
    frame = table()
    frame["few"] = (np.arange(len(frame)) < members).astype(int)
    frame.loc[: members - 1, "y"] = (np.arange(members) < positives).astype(int)
    samples = {"few": {"column": "few", "value": 1}, "others": {"column": "few", "value": 0}}

    def everybody(f, t, rng):
        return np.ones(len(f), bool)

    return partial(labeled, frame, everybody, repeats=40, samples=samples, complete=True, share=0.3)


@pytest.mark.parametrize(
    ("members", "positives", "promise"),
    [(4, 2, "coverage(few) >= 0.8 * coverage(others)"), (30, 4, "recall(few) >= 0.5")],
)
def test_every_split_leaves_few_people_of_a_promise_on_both_sides(members, positives, promise):
    told = grouped(members, positives)
    rows = min(members, positives if "recall" in promise else members)
    plain, held = (told(promises=texts)[0] for texts in ((), (promise,)))

    def lacking(labels):
        test = labels[labels["row"] < rows].groupby("repeat")["role"]
        tested = test.apply(lambda roles: (roles == "test").sum())
        return ((tested < 1) | (rows - tested < 3)).sum()

    assert lacking(plain) > 0
    assert lacking(held) == 0
    # Only splits that lacked something are other ones.
    same = (plain["role"] == held["role"]).groupby(plain["repeat"]).all()
    assert same.any() and not same.all()


def test_promises_about_too_few_people_are_refused_with_their_number():
    with pytest.raises(CounterweightError, match=r"ask for coverage\(few\), .* 3 rows .*: 4 are"):
        grouped(3, 2)(promises=["coverage(few) >= 0.8 * coverage(others)"])
    with pytest.raises(CounterweightError, match=r"ask for recall\(few\), .* no rows .*: 4 are"):
        grouped(30, 0)(promises=["recall(few) >= 0.5"])


def test_test_rows_that_leave_a_promise_without_rows_are_refused():
    told = partial(grouped(5, 2), promises=["coverage(few) >= 0.5"])
    fixed = {"column": "row", "below": 3}
    with pytest.raises(CounterweightError, match=r"leaves 2 of the 5 rows that coverage\(few\)"):
        told(test_rows=fixed)
    assert told(test_rows={"column": "row", "below": 2})[0]["role"].eq("test").any()
