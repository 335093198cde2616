"""Who is labeled in a table with blanks, what is seen of it, and how it is taken apart."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from blank_rows import ROWS, TYPES, table
from counterweight.errors import CounterweightError
from counterweight.labeling import missing_outcomes
from counterweight.labeling.column_statistics import content_order
from counterweight.labeling.encoding import DenseRows
from counterweight.labeling.labeling_rules import answered
from counterweight.labeling.missing_outcomes import (
    FEWER_FOLDS,
    SAME_TIME,
    BlankData,
    _drawn,
    describe_blanks,
    folds,
    label_blanks,
    largest_outcome,
    present,
)
from counterweight.labeling.outcome_rules import given
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.blanks_page import _apart


def labeled(frame, roles=(), where=(), copies=None, **outcome):
    options = {"column": "y"} | outcome
    return label_blanks(
        frame,
        TYPES,
        ["x", "word"],
        lambda *parts: given(*parts, **options),
        lambda *parts: present(*parts, where=where),
        dict(roles),
        np.random.default_rng(1),
        copies,
    )


def test_a_largest_outcome_is_where_known_ones_crowd_and_stop():
    rng = np.random.default_rng(7)
    shares = rng.beta(6, 1, 300)
    assert largest_outcome(shares) == 1.0 and largest_outcome(100 * shares) == 100.0
    assert largest_outcome(rng.binomial(20, 0.9, 300) / 20) == 1.0
    # A number that only happens to lie there thins out before, or goes on.
    happens = rng.gamma(4, 0.06, 300)
    assert happens.max() < 1 and largest_outcome(happens) is None
    bodies = rng.normal(98.2, 0.6, 300)
    assert bodies.max() < 100 and largest_outcome(bodies) is None
    assert largest_outcome(np.r_[shares, 1.01]) is None and largest_outcome(20 * shares) is None
    assert largest_outcome(shares - 0.5) is None and largest_outcome(shares[:8]) is None
    # What is said counts.
    assert largest_outcome(happens, 1.0) == 1.0 and largest_outcome(shares, "none") is None


@pytest.mark.parametrize("ones", [4, 26])
def test_either_class_may_be_too_small_to_learn_from(ones):
    """Five of each class are needed."""
    frame = table().head(40).assign(y=np.nan)
    frame.loc[:29, "y"] = (np.arange(30) < ones).astype(float)
    with pytest.raises(CounterweightError, match=f"Of the 30 labeled rows {ones} are '1'"):
        labeled(frame)
    frame.loc[:29, "y"] = (np.arange(30) < ones + np.sign(15 - ones)).astype(float)
    assert labeled(frame)[3]
    with pytest.raises(CounterweightError, match="Only 19 rows are labeled, and 20 are needed"):
        labeled(frame.iloc[:19] if ones < 15 else frame.iloc[11:])


@pytest.mark.parametrize("which", ["with", "without"])
def test_weights_that_are_0_in_all_rows_of_a_kind_are_refused(which):
    frame = table()
    there = frame["y"].notna()
    frame["w"] = (there if which == "without" else ~there).astype(float)
    with pytest.raises(CounterweightError, match=f"'w' is 0 in all .* rows {which} an outcome"):
        labeled(frame, {"weight": "w"})
    frame.loc[there.index[~there if which == "without" else there][0], "w"] = 0.5
    assert labeled(frame, {"weight": "w"})[1]["weight"].sum() > 0


def test_labeled_are_the_rows_with_an_outcome():
    frame = table()
    features, labels, truth, binary, names = labeled(frame)
    there = frame["y"].notna().to_numpy()
    assert (labels["selected"] == there).all() and binary and names == ("0", "1")
    assert np.isnan(labels["y"][~there]).all() and not len(truth["row"])
    assert set(features.columns) == {"row", "x", "word"}


def test_a_condition_hides_outcomes_and_keeps_them_apart():
    frame = table()
    _, labels, truth, _, _ = labeled(frame, where={"ok": True})
    shown = (frame["ok"] == 1).to_numpy() & frame["y"].notna().to_numpy()
    assert (labels["selected"] == shown).all()
    hidden = ~shown & frame["y"].notna().to_numpy()
    assert (truth["row"] == np.flatnonzero(hidden)).all()
    assert np.isnan(labels["y"][hidden]).all()


def coded(code, kind):
    """An outcome of 0, 1 and blank, and the same with a code for some that nobody knows."""
    frame = table()
    known = frame["y"].copy()
    hidden = np.arange(ROWS) % 7 == 0
    if kind == "text":
        words = known.map({0.0: "0", 1.0: "1"})
        return words.mask(hidden).astype("str"), words.mask(hidden, code).astype("str")
    return known.mask(hidden), known.mask(hidden, code)


def test_a_class_against_many_and_codes_among_old_decisions():
    frame = table(word=pd.Series(np.resize(["a", "b", "c", "?"], ROWS)).astype("str"))
    with pytest.raises(CounterweightError, match="3 values beside 'a'"):
        given(frame, TYPES, column="word", positive="a")
    found, _, names = given(frame, TYPES, column="word", positive="a", missing="?")
    assert names == ("not a", "a") and np.isnan(found).sum() == ROWS // 4
    found, _, _ = given(frame, TYPES, column="word", positive=["a", "b"], negative="c", missing="?")
    assert np.nanmean(found) == pytest.approx(2 / 3)
    with pytest.raises(CounterweightError, match="negative says .* say that by outcome.positive"):
        given(frame, TYPES, column="word", negative="b")
    known = {"features": None, "outcome": np.zeros(ROWS), "column": "x", "decision": "word"}
    with pytest.raises(CounterweightError, match="old decision in column 'word' has 3 values"):
        answered(frame, None, None, decided="a", **known)
    made = answered(frame, None, None, decided="a", undecided="?", **known)["deployed"]
    assert np.isnan(made[3::4]).all() and (made[0::4] == 1).all() and (made[1::4] == -1).all()


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (np.r_[-1.0, np.ones(ROWS - 1)], "negative"),
        (np.zeros(ROWS), "0 in all"),
        (np.r_[np.nan, np.ones(ROWS - 1)], "missing"),
        (pd.Series(["a"] * ROWS).astype("str"), "holds text"),
    ],
)
def test_weights_that_are_none_are_told(column, sentence):
    with pytest.raises(CounterweightError, match=sentence):
        labeled(table(heavy=column), {"weight": "heavy"})


def test_folds_go_by_the_ratios_of_weights_and_not_by_what_they_are_counted_in():
    heavy, plain = np.linspace(0.3, 7, ROWS), labeled(table(), {})[1]
    for one, other in (
        (labeled(table(heavy=heavy), {"weight": "heavy"})[1], 2.7 * heavy),
        (plain, np.full(ROWS, 2.7)),
    ):
        kept = labeled(table(heavy=other), {"weight": "heavy"})[1]
        for name in ("order", "fold", "fold_1"):
            np.testing.assert_array_equal(kept[name], one[name])


def test_folds_hold_classes_alike_and_every_row_once():
    y = (np.arange(1000) % 10 == 0).astype(float)
    fold = folds(y, True, None, np.full(1000, -1), np.random.default_rng(0))
    assert set(fold) == set(range(FEWER_FOLDS))
    assert all(abs(y[fold == k].mean() - 0.1) < 0.005 for k in range(FEWER_FOLDS))


def test_groups_stay_together():
    group = np.repeat(np.arange(40), 25)
    fold = folds(np.arange(1000.0), False, None, group, np.random.default_rng(0))
    assert all(len(set(fold[group == g])) == 1 for g in range(40))
    assert len(set(fold)) == FEWER_FOLDS


def test_copies_of_a_row_share_its_folds_which_are_those_of_rows_without_copies():
    """Whatever their order: classes are alike in all folds, as where there are none."""
    frame = table().assign(kind=np.arange(ROWS))
    alone = labeled(frame)[1]
    names = [name for name in alone if name.startswith("fold")]
    rng = np.random.default_rng(3)
    twice = pd.concat([frame, frame[: ROWS // 2], frame[:5]]).iloc[rng.permutation(ROWS * 3 // 2)]
    twice = twice.assign(row=np.arange(len(twice)))
    made = labeled(twice, copies=twice["kind"].to_numpy())[1]
    for name in names:
        by_kind = pd.Series(made[name]).groupby(twice["kind"].to_numpy())
        assert (by_kind.nunique() == 1).all()
        of_one = by_kind.first().to_numpy()[alone["selected"] == 1]
        y, sizes = alone["y"][alone["selected"] == 1], np.bincount(of_one)
        assert np.ptp(sizes) <= 1 and np.ptp(np.bincount(of_one, y)) <= 1
    other = twice.iloc[::-1].assign(row=np.arange(len(twice)))
    again = labeled(other, copies=(ROWS - other["kind"]).to_numpy())[1]
    for name in names:
        np.testing.assert_array_equal(again[name][::-1], made[name])
    assert (made["group"] >= 0).all()
    sizes = {one["metric"]: one["value"] for one in describe_blanks(made, {"row": []}, True, True)}
    assert sizes["rows_different"] == alone["selected"].sum() and "groups_labeled" not in sizes


def test_copies_are_no_outcomes_to_learn_from():
    frame = pd.concat([table().query("y == y").head(12)] * 10, ignore_index=True)
    frame["row"] = np.arange(120)
    with pytest.raises(
        CounterweightError, match="Only 12 rows are labeled.*, copies of a row counted once"
    ):
        labeled(frame, copies=np.arange(120) % 12)


def test_by_time_methods_are_tried_on_later_rows():
    rng = np.random.default_rng(0)
    time = rng.random(900)
    fold = folds(rng.random(900), False, time, np.full(900, -1), rng)
    assert fold.min() == -1, "the first rows are learned from only"
    edges = [time[fold == k] for k in range(-1, FEWER_FOLDS)]
    assert all(a.max() <= b.min() for a, b in zip(edges[:-1], edges[1:], strict=True))


def test_a_time_without_an_order_is_told():
    with pytest.raises(CounterweightError, match="too few different values"):
        folds(np.zeros(90), True, np.ones(90), np.full(90, -1), np.random.default_rng(0))


@pytest.mark.parametrize("share, warned", [(0.79, True), (0.19, False), (np.nan, False)])
def test_a_page_warns_where_nobody_like_the_blank_rows_is_labeled(share, warned):
    numbers = SimpleNamespace(get=lambda *place: Estimate(share, low=share, n=1))
    told = _apart(numbers, "general")
    assert ("79 % of the rows without an outcome" in told) == warned == bool(told)


@pytest.mark.parametrize(
    ("known", "positive", "sentence"), [(9, 5, "Only 9 rows"), (98, 2, "5 of each")]
)
def test_too_few_outcomes_are_told(known, positive, sentence):
    y = np.where(np.arange(ROWS) < known, np.arange(ROWS) < positive, np.nan)
    with pytest.raises(CounterweightError, match=sentence):
        labeled(table(y=y))


def data_of(fold, y, weight=None, binary=True):
    """A table with blanks of one number and one category, as the stages after labeling see it."""
    n, rng = len(y), np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "row": np.arange(n, dtype=np.int32) + 10,
            "size": np.where(np.arange(n) % 5 == 0, np.nan, rng.normal(size=n)),
            "town": pd.Series(rng.choice(["Bonn", "Ulm"], n)).astype("str"),
        }
    )
    labels = {
        "repeat": np.zeros(n, "int16"),
        "row": frame["row"].to_numpy(),
        "role": np.where(np.isnan(y), "unlabeled", "labeled"),
        "selected": (~np.isnan(y)).astype("int8"),
        "y": y,
        "weight": np.arange(1.0, n + 1) if weight is None else weight,
        "fold": np.asarray(fold, "int16"),
        "group": np.full(n, -1, "int32"),
    }
    return BlankData(frame, {"size": "number", "town": "text"}, labels, 50)


def test_each_fold_is_a_repeat_that_tests_its_rows_and_learns_from_the_others():
    y = np.array([0, 1, 0, 1, 0, 1, np.nan, np.nan, 1, 0])
    fold = np.array([0, 0, 1, 1, 2, 2, -1, -1, 0, 1])
    data = data_of(fold, y)
    made = data.cross_validated()
    assert list(data.labels) == [0] and list(made.labels) == [0, 1, 2, 3]
    labeled = ~np.isnan(y)
    assert list(made.labels[0]["role"]) == list(np.where(labeled, "labeled", "unlabeled"))
    for number in range(3):
        labels, weights = made.labels[number + 1], made.weights[number + 1]
        expected = np.where(fold == number, "test", "labeled")
        assert list(labels["role"]) == list(np.where(labeled, expected, "unlabeled"))
        assert set(labels["repeat"]) == {number + 1}
        learned = labeled & (fold != number)
        X, outcomes, weight, rows = made.training(number + 1, "general")
        assert list(rows) == list(data.rows[learned]) == list(weights["row"])
        assert list(outcomes) == list(y[learned]) and outcomes.dtype.kind == "i"
        assert list(weight) == list(np.arange(1.0, 11)[learned])
        np.testing.assert_array_equal(X, data.X[learned])
        tested = np.flatnonzero(labeled & (fold == number))
        for target in ("general", "unlabeled"):
            assert list(made.test(number + 1, target)) == list(tested)


def test_by_time_only_earlier_rows_are_learned_from():
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, np.nan])
    fold = np.array([-1, -1, 0, 0, 1, 1, 2, 2, -1])
    made = data_of(fold, y).cross_validated()
    for number in range(3):
        roles = made.labels[number + 1]["role"]
        assert list(np.flatnonzero(roles == "labeled")) == list(range(2 * number + 2))
        assert len(made.training(number + 1, "general")[2]) == 2 * number + 2
        assert list(np.flatnonzero(roles == "test")) == [2 * number + 2, 2 * number + 3]
        assert list(np.flatnonzero(roles == "left out")) == list(range(2 * number + 4, 8))
        assert roles[8] == "unlabeled"


def test_rows_later_than_all_with_an_outcome_are_told_from_the_others():
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, np.nan, np.nan])
    fold = np.array([-1, -1, 0, 0, 1, 1, 2, 2, SAME_TIME, -1])
    assert data_of(fold, y).later.tolist() == [False] * 9 + [True]
    assert data_of(np.arange(10) % 3, y).later is None


def test_a_row_without_an_outcome_is_later_or_not_by_the_time_of_those_with_one(caplog):
    frame = table().assign(when=np.arange(float(ROWS)))
    blank = np.flatnonzero(frame["y"].isna())
    last = frame["when"][frame["y"].notna()].max()
    frame.loc[blank[:3], "when"] = [np.nan, last, last + 0.5]
    labels = labeled(frame, {"time": "when"})[1]
    fold = pd.DataFrame(labels).set_index("row")["fold"].loc[frame["row"].to_numpy()[blank]]
    later = (fold != SAME_TIME).to_numpy()
    assert later[:3].tolist() == [False, False, True]
    assert "The time 'when' is missing in 1 rows without an outcome" in caplog.text
    assert later[3:].tolist() == (frame["when"].to_numpy()[blank[3:]] > last).tolist()


def test_a_fold_that_learns_from_one_class_is_refused():
    y = np.array([0, 0, 1, 1.0])
    with pytest.raises(CounterweightError, match="fold 0 learns from have one outcome only"):
        data_of([0, 0, 1, 1], y).cross_validated()
    numbers = data_of([0, 0, 1, 1], y + 0.5)
    assert numbers.numbers and not numbers.binary and len(numbers.cross_validated().labels) == 3
    assert numbers.training(0, "general")[1].tolist() == [0.5, 0.5, 1.5, 1.5]


def test_models_take_rows_as_columns_as_codes_or_encoded():
    data = data_of(np.arange(10) % 2, np.arange(10) % 3 % 2 * 1.0)
    plain, typed, encoded = (
        data.taken_by(type("Model", (), marks))
        for marks in ({}, {"TYPED": True}, {"ENCODED": True, "TYPED": True})
    )
    np.testing.assert_array_equal(plain.X, data.encoded.dense())
    assert plain.categorical is None and not np.isnan(plain.X).any()
    np.testing.assert_array_equal(typed.X, data.encoded.typed())
    assert list(typed.categorical) == [False, True] and np.isnan(typed.X[:, 0]).sum() == 2
    assert encoded.X is data.encoded and len(encoded.X[np.arange(3)]) == 3
    assert list(data.names) == data.encoded.dense_names and data.tests_labeled


def test_of_many_rows_those_that_are_asked_for_are_made(monkeypatch):
    y = np.where(np.arange(10) < 8, np.arange(10) % 3 % 2, np.nan)
    whole = data_of(np.where(np.arange(10) < 8, np.arange(10) % 2, -1), y)
    monkeypatch.setattr(missing_outcomes, "HELD_ROWS", 9)
    many = data_of(np.where(np.arange(10) < 8, np.arange(10) % 2, -1), y)
    assert isinstance(many.X, DenseRows) and many.X.shape == whole.X.shape
    for index in (np.array([4, 1]), many.labeled, slice(2, 5)):
        np.testing.assert_array_equal(many.X[index], whole.X[index])
        np.testing.assert_array_equal(many.taken(index), whole.taken(index))
    for repeat in (0, 1, 2):
        for mine, other in zip(
            many.cross_validated().training(repeat, "general"),
            whole.cross_validated().training(repeat, "general"),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, other)
    np.testing.assert_array_equal(many.unlabeled(0, "general")[0], whole.X[8:])


def test_folds_of_many_rows_learn_from_the_first_by_content(monkeypatch):
    data = data_of(np.arange(10) % 2, np.arange(10) % 3 % 2 * 1.0)
    data.order = np.arange(10)[::-1]
    monkeypatch.setattr(missing_outcomes, "FOLD_ROWS", 3)
    made = data.cross_validated()
    assert list(made.training(0, "general")[3]) == list(data.rows[::-1])
    for fold in (0, 1):
        learned = data.rows[::-1][np.arange(10)[::-1] % 2 != fold]
        assert list(made.training(1 + fold, "general")[3]) == list(learned[:3])
    few = made.taken_by(type("Model", (), {"MOST_ROWS": 4}))
    assert list(few.training(0, "general")[3]) == list(data.rows[::-1][:4])


def test_folds_of_a_number_have_its_thirds_alike():
    y = np.random.default_rng(3).exponential(size=150)
    fold = folds(y, False, None, np.full(150, -1), np.random.default_rng(0))
    third = np.searchsorted(np.quantile(y, [1 / 3, 2 / 3]), y)
    counts = np.array(
        [[(fold[third == t] == k).sum() for k in range(FEWER_FOLDS)] for t in range(3)]
    )
    assert (counts == 10).all()


def test_times_of_three_blocks_suffice_and_of_two_do_not():
    group, rng = np.full(60, -1), np.random.default_rng(0)
    three = folds(np.zeros(60), True, np.repeat([1.0, 2.0, 3.0], 20), group, rng)
    assert len(np.unique(three)) == 3 and three[0] == -1
    with pytest.raises(CounterweightError, match="too few different values"):
        folds(np.zeros(60), True, np.repeat([1.0, 2.0], 30), group, rng)


@pytest.mark.parametrize(
    ("rows", "groups", "by_time", "draws", "count"),
    [
        (49, 0, False, 10, 5),
        (50, 0, False, 5, 10),
        (5000, 0, False, 5, 10),
        (5001, 0, False, 9, 5),
        (25_000, 0, False, 2, 5),
        (60_000, 0, False, 1, 5),
        (200_000, 0, False, 1, 5),
        (250_000, 0, False, 1, 5),
        (280_000, 0, False, 1, 4),
        (600_000, 0, False, 1, 2),
        (600_000, 10, False, 1, 5),
        (600_000, 0, True, 1, 5),
        (500, 10, False, 5, 10),
        (500, 9, False, 10, 5),
        (500, 0, True, 1, 5),
    ],
)
def test_few_rows_are_in_ten_folds_and_many_in_fewer_than_five(rows, groups, by_time, draws, count):
    """As many fits as five folds drawn ten times; by time, and of few groups, folds are five.

    Of many rows folds are fewer: the rest of each has the 200,000 that a fit takes.
    """
    rng, known = np.random.default_rng(0), np.ones(rows, bool)
    y, order = np.tile([0.0, 1.0], rows)[:rows], np.arange(rows)
    group = order % groups if groups else np.full(rows, -1)
    time = np.arange(float(rows)) if by_time else None
    found = _drawn(y, known, order, True, time, group, rng)
    assert len(found) == draws
    assert all(set(fold[fold >= 0]) == set(range(count)) for fold in found)


def test_sizes_and_the_weighted_mean_of_the_labeled_are_told():
    labels = {
        "selected": np.array([1, 1, 1, 0, 0]),
        "y": np.array([1.0, 0.0, 1.0, np.nan, np.nan]),
        "weight": np.array([1.0, 2.0, 3.0, 9.0, 9.0]),
        "group": np.full(5, -1),
    }
    records = describe_blanks(labels, {"row": np.arange(1)}, True)
    told = {record["metric"]: record for record in records}
    sizes = {"rows_all": 5, "rows_labeled": 3, "rows_unlabeled": 2, "rows_hidden": 1}
    assert {name: told[name]["value"] for name in sizes} == sizes
    share = told["positive_share"]
    assert share["value"] == pytest.approx(4 / 6) and share["rows"] == 3
    error = np.sqrt((1 / 3) ** 2 + (2 * 2 / 3) ** 2 + (3 / 3) ** 2) / 6
    assert share["standard_error"] == pytest.approx(error)
    assert describe_blanks(labels, {"row": ()}, False)[-1]["metric"] == "outcome_mean"


def test_as_many_groups_as_folds_suffice_and_one_fewer_does_not():
    rng, y = np.random.default_rng(0), np.zeros(60)
    fold = folds(y, True, None, np.repeat(np.arange(FEWER_FOLDS), 60 // FEWER_FOLDS), rng)
    assert sorted(np.unique(fold)) == list(range(FEWER_FOLDS))
    with pytest.raises(CounterweightError, match="There are 4 groups among the labeled rows"):
        folds(y, True, None, np.repeat(np.arange(FEWER_FOLDS - 1), 15), rng)


def test_rows_without_a_group_are_each_their_own():
    words = np.array(["a", "b", None, "c", None] * (ROWS // 5), object)
    _, labels, *_ = labeled(table(team=words), roles={"group": "team"}, column="y")
    group = labels["group"]
    known = pd.notna(words)
    assert [*np.unique(group[known])] == [0, 1, 2] and (group[words == "a"] == 0).all()
    assert [*group[~known]] == list(range(3, 3 + (~known).sum()))


def mixed_table(rows=300):
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "b": rng.integers(0, 3, rows),
            "c": rng.choice(["x", "y", None], rows),
            "d": np.where(rng.random(rows) < 0.2, np.nan, rng.integers(0, 2, rows).astype(float)),
            "e": rng.permutation(np.repeat([0.0, 1.0], rows // 2)),
            "f": rng.permutation(np.repeat([0.0, 1.0], rows // 2)),
        }
    )


def test_neither_names_nor_the_order_of_columns_move_a_row():
    frame = mixed_table()
    columns, place = content_order(frame, list("abcdef"), [np.arange(300) % 7])
    names = dict(zip("abcdef", ["zeta", "b b", "Ünit", "3", "row_2", "aa"], strict=True))
    for order in ("fedcba", "cafbed"):
        renamed = frame[list(order)].rename(columns=names)
        found, moved = content_order(renamed, [names[one] for one in order], [np.arange(300) % 7])
        assert found == [names[one] for one in columns] and (moved == place).all()


def test_rows_take_their_place_with_them():
    frame = mixed_table()
    columns, place = content_order(frame, list("abcdef"))
    shuffled = np.random.default_rng(0).permutation(300)
    found, moved = content_order(frame.iloc[shuffled], list("abcdef"))
    assert found == columns and (moved == place[shuffled]).all()
    assert sorted(place) == list(range(300))


def test_columns_of_the_same_values_differ_by_the_rows_that_have_them():
    frame = mixed_table()
    before = content_order(frame, ["e", "f", "a"])[0]
    assert content_order(frame.rename(columns={"e": "f", "f": "e"}), ["f", "e", "a"])[0] == [
        {"e": "f", "f": "e", "a": "a"}[name] for name in before
    ]


def test_what_stands_beside_the_columns_tells_rows_apart():
    frame = pd.DataFrame({"a": np.zeros(4)})
    own = np.array([3.0, np.nan, 1.0, 2.0])
    place = content_order(frame, ["a"], [own])[1]
    turned = content_order(frame, ["a"], [own[::-1]])[1]
    assert (turned[::-1] == place).all()


def test_folds_go_by_content():
    frame = table()
    labels = labeled(frame)[1]
    order = np.random.default_rng(2).permutation(ROWS)
    other = frame.iloc[order].reset_index(drop=True).assign(row=np.arange(ROWS, dtype="int32"))
    again = labeled(other)[1]
    drawn = [name for name in labels if name.startswith("fold")]
    assert len(drawn) == 5
    for name in drawn:
        assert (again[name] == labels[name][order]).all()
    assert (labels["fold"] != labels["fold_1"]).any()


@pytest.mark.parametrize("value", [True, "yes", "Yes", 1, "1"])
def test_yes_is_yes_however_it_is_written(value):
    frame = table()
    assert (present(frame, TYPES, np.zeros(ROWS), where={"ok": value}) == (frame["ok"] == 1)).all()


def test_a_condition_may_have_bounds():
    frame, known = table(), np.zeros(ROWS)
    where = {"x": {"at_least": 0.0, "below": 1.0}, "word": ["good"]}
    expected = (frame["x"] >= 0) & (frame["x"] < 1) & (frame["word"] == "good")
    assert (present(frame, TYPES, known, where=where) == expected).all() and expected.any()
    with pytest.raises(CounterweightError, match="No row has"):
        present(frame, TYPES, known, where={"x": {"at_least": 1e9}})


def test_values_of_yes_and_no_are_told_as_such():
    with pytest.raises(CounterweightError, match="whose values are no, yes: correct"):
        present(table(), TYPES, np.zeros(ROWS), where={"ok": "ok"})
