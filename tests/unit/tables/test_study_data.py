"""What the stages see of a study: rows by their ids, roles by repeat, and its random streams."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.tables.parquet import write_table
from counterweight.tables.study_data import (
    StudyData,
    by_repeat,
    check_row_ids,
    found_rows,
    generator,
)

ROLES = np.array(["labeled", "unlabeled", "labeled", "test", "test"], object)
FEATURES = {"row": np.array([2, 3, 5, 7, 9]), "a": np.arange(5.0), "b": -np.arange(5.0)}
#: Two repeats; the second has the rows 3, 5, 7 and 9 only.
LABELS = {
    "repeat": np.repeat([0, 1], [5, 4]),
    "row": np.array([2, 3, 5, 7, 9, 3, 5, 7, 9]),
    "role": np.concatenate([ROLES, ROLES[1:]]),
    "y_general": np.array([1, np.nan, 0, 1, 0, np.nan, 1, 0, 1]),
    "y_unlabeled": np.array([1, np.nan, 0, 1, 0, np.nan, 1, 0, 1]),
    "selected": np.array([1, 0, 1, 1, 0, 0, 1, 0, 1]),
    "keep_rate": np.array([0.5, 1, 1, 1, 1, 0.5, 1, 0.5, 0.5]),
    "group_sex": np.zeros(9),
    "in_first": np.array([1, 0, 0, 1, 0, 1, 0, 0, 1]),
}
WEIGHTS = {
    "repeat": np.array([0, 0, 1]),
    "row": np.array([2, 5, 5]),
    "weight": np.array([3, 4, 5.0]),
}
TRUTH = {"repeat": LABELS["repeat"], "row": LABELS["row"]}
TRUTH |= {name: np.array([1, 1, 0, 1, 0, 1, 1, 0, 1]) for name in ("y_general", "y_unlabeled")}


def study(**more):
    return StudyData(FEATURES, LABELS, **more)


def test_streams_differ_by_seed_study_repeat_and_purpose_and_are_the_same_again():
    first = (1, "adult", 0, "split")
    drawn = {
        told: tuple(generator(*told).integers(0, 2**60, 4))
        for told in (first, (2, "adult", 0, "split"), (1, "other", 0, "split"))
        + ((1, "adult", 1, "split"), (1, "adult", 0, "fit"))
    }
    assert len({*drawn.values()}) == 5
    assert tuple(generator(*first).integers(0, 2**60, 4)) == drawn[first]
    # The numbers of every version.
    numbers = generator(7, "adult", 3, "split").integers(0, 2**32, 3)
    assert numbers.tolist() == [2126094152, 2000549139, 1163043412]


def test_rows_that_are_not_ascending_are_refused_with_the_first():
    check_row_ids([1, 2, 5])
    check_row_ids([])
    for rows, told in (([1, 2, 2, 1], "id 2 follows 2"), ([1, 5, 4, 3], "id 4 follows 5")):
        with pytest.raises(CounterweightError, match=told):
            check_row_ids(rows)
    with pytest.raises(CounterweightError, match="id 9 follows 9"):
        StudyData({"row": np.array([9, 9]), "a": np.zeros(2)}, LABELS)


def test_rows_are_found_by_their_ids_or_refused():
    assert found_rows(np.array([2, 3, 9]), np.array([9, 2]), "absent").tolist() == [2, 0]
    assert found_rows(np.array([9, 2, 3]), np.array([3, 9]), "absent").tolist() == [2, 0]
    for wanted in ([4], [10], [1]):
        with pytest.raises(CounterweightError, match="absent"):
            found_rows(np.array([2, 3, 9]), np.array(wanted), "absent")


def test_columns_are_split_by_repeat():
    split = by_repeat({"repeat": np.array([0, 0, 4]), "row": np.array([5, 6, 7])})
    assert {repeat: part["row"].tolist() for repeat, part in split.items()} == {0: [5, 6], 4: [7]}


def test_what_is_seen_of_a_repeat_are_its_own_rows():
    data = study()
    assert data.names == ["a", "b"] and data.group_columns == ["sex"]
    assert data.X.tolist() == [[0, 0], [1, -1], [2, -2], [3, -3], [4, -4]]
    assert data.rows_of(1).tolist() == [1, 2, 3, 4]
    X, y, weight, rows = data.training(0, "general")
    assert X[:, 0].tolist() == [0, 2] and y.tolist() == [1, 0] and rows.tolist() == [2, 5]
    assert weight is None
    assert data.unlabeled(0, "general")[0][:, 0].tolist() == [1]
    assert data.unlabeled(0, "general")[1] is None
    assert data.selected_share(0) == 2 / 3 and data.selected_share(1) == 1 / 2
    assert data.test(0, "general").tolist() == [3, 4]
    assert data.test(0, "unlabeled").tolist() == [4] and data.test(1, "unlabeled").tolist() == [3]


def test_keep_rates_are_those_of_labeled_rows_that_were_dropped():
    assert study().keep_rates(0, "general").tolist() == [0.5, 1.0]
    assert study().keep_rates(1, "general") is None
    without = {name: values for name, values in LABELS.items() if name != "keep_rate"}
    assert StudyData(FEATURES, without).keep_rates(0, "general") is None


def test_an_oracle_learns_from_the_rows_of_its_target_and_from_the_labeled_with_seen():
    data = study(truth=TRUTH)
    assert data.training(0, "general")[3].tolist() == [2, 3, 5]
    assert data.training(0, "general")[1].tolist() == [1, 1, 0]
    assert data.training(0, "unlabeled")[3].tolist() == [3]
    assert data.training(0, "unlabeled", seen=True)[3].tolist() == [2, 5]
    assert data.unlabeled(1, "general")[1].tolist() == [1]


def test_weights_must_be_those_of_the_labeled_rows():
    data = study(weights=WEIGHTS)
    assert data.training(0, "general")[2].tolist() == [3, 4]
    wrong = WEIGHTS | {"row": np.array([2, 7, 5])}
    with pytest.raises(CounterweightError, match="weights of repeat 0 are not those"):
        study(weights=wrong).training(0, "general")


def test_samples_have_hidden_labels_as_minus_one_and_rows_weigh_what_they_stand_for():
    told = study(weights=WEIGHTS).sampled(0, "general")
    # The first row was kept at a rate of one half, besides.
    assert told["y"].tolist() == [1, -1, 0] and told["weight"].tolist() == [6, 1, 4]
    assert told["members"]["first"].tolist() == [True, False, False]
    assert told["deployed"] is None and told["X"][:, 0].tolist() == [0, 1, 2]
    told = study(weights=WEIGHTS).sampled(1, "general", test=True)
    assert told["weight"].tolist() == [1, 1] and told["y"].tolist() == [0, 1]
    scored = StudyData(FEATURES, LABELS | {"deployed": np.arange(9.0)}).sampled(1, "general")
    assert scored["deployed"].tolist() == [5, 6]


def test_features_that_lack_a_row_are_refused_and_files_are_read_as_arrays(tmp_path):
    fewer = {name: values[:4] for name, values in FEATURES.items()}
    with pytest.raises(
        CounterweightError, match="Labels of repeat 0 are of rows that the features"
    ):
        StudyData(fewer, LABELS).rows_of(0)
    facts = {"categories": {"blocks": [["a"]], "flags": {}}}
    write_table(tmp_path / "f", FEATURES, facts=facts)
    write_table(tmp_path / "l", LABELS)
    data = StudyData.read(tmp_path / "f", tmp_path / "l", weights="")
    assert data.categories == facts["categories"] and data.weights is None and data.truth is None
    assert data.role(1, "test").tolist() == [False, False, True, True]


def test_an_oracle_may_be_held_to_as_many_rows_as_are_labeled():
    rows = 600
    rng = np.random.default_rng(0)
    role = rng.choice(["labeled", "unlabeled", "test"], rows, p=[0.2, 0.5, 0.3]).astype(object)
    y = rng.integers(0, 2, rows).astype(float)
    told = {"repeat": np.zeros(rows, int), "row": np.arange(rows)}
    labels = told | {"role": role, "y_general": y, "y_unlabeled": y}
    truth = told | {"y_general": y, "y_unlabeled": y}
    features = {"row": np.arange(rows), "a": np.arange(rows) * 1.0}
    whole, equal = (StudyData(features, labels, truth=truth) for _ in range(2))
    equal.drawn_by = (1, "study")
    labeled = int((role == "labeled").sum())
    for target, among in (("general", role != "test"), ("unlabeled", role == "unlabeled")):
        X, found, weight, ids = equal.training(0, target)
        assert len(X) == len(found) == labeled and weight is None
        assert among[ids].all() and (y[ids] == found).all()
        assert len(whole.training(0, target)[0]) == among.sum()
        assert (equal.training(0, target)[3] == ids).all(), "the same rows again"
    # Not the labeled rows themselves: a random part of everyone.
    ids = equal.training(0, "general")[3]
    assert 0.1 < (role[ids] == "labeled").mean() < 0.5
