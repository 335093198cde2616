"""What every estimator takes, and how it is brought to rows of floats and labels 0 and 1."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.estimator import (
    Estimator,
    TwoClasses,
    generator,
    is_missing,
    one_column,
    two_classes,
)
from sklearn.exceptions import DataConversionWarning


class Shown(TwoClasses):
    """Keeps what its fit gets; its chance is the first column."""

    def fit(self, X, y, sample_weight=None):
        self.got = X, y, sample_weight
        return self

    def _positive(self, X):
        return X[:, 0]


class Both(Estimator):
    LABELS = "classes"

    def fit(self, X, y, X_unlabeled=None, rng=None):
        self.got = X, y, X_unlabeled, rng
        return self


class Numbers(Estimator):
    LABELS, BLANKS = "numbers", True

    def fit(self, X, y, sample_weight=None):
        self.got = X, y, sample_weight
        return self


ROWS = np.arange(8.0).reshape(4, 2)


def test_the_second_class_is_1_and_is_predicted_from_one_half_on():
    model = Shown().fit(ROWS, ["b", "a", "a", "b"])
    assert model.got[1].tolist() == [1, 0, 0, 1] and model.classes_.tolist() == ["a", "b"]
    chances = np.array([[0.5, 0], [0.5 - 1e-12, 0], [1.0, 0]])
    assert model.predict(chances).tolist() == ["b", "a", "b"]
    assert model.predict_proba(chances).sum(axis=1) == pytest.approx(np.ones(3))
    assert model.predict_proba(chances)[:, 1].tolist() == chances[:, 0].tolist()


def test_rows_without_a_label_are_left_out_or_learned_from_as_such():
    y, weight = np.array([1.0, np.nan, 0.0, 1.0]), np.arange(4.0)
    X, labels, weights = Shown().fit(ROWS, y, weight).got
    assert X.tolist() == ROWS[[0, 2, 3]].tolist()
    assert labels.tolist() == [1, 0, 1] and weights.tolist() == [0, 2, 3]
    X, labels, unlabeled, _ = Both().fit(ROWS, y).got
    assert unlabeled.tolist() == ROWS[[1]].tolist() and labels.tolist() == [1, 0, 1]
    with pytest.raises(CounterweightError, match="given twice"):
        Both().fit(ROWS, y, X_unlabeled=ROWS)
    with pytest.warns(UserWarning, match="No row is unlabeled"):
        assert Both().fit(ROWS, [0, 1, 0, 1]).got[2] is not None
    given = Both().fit(ROWS, [0, 1, 0, 1], X_unlabeled=ROWS[:1]).got[2]
    assert given.tolist() == ROWS[:1].tolist()
    X, rewards, _ = Numbers().fit(ROWS, [0.5, np.nan, 2.0, -1.0]).got
    assert rewards.tolist() == [0.5, 2.0, -1.0] and len(X) == 3


@pytest.mark.parametrize(
    ("X", "y", "weight", "said"),
    [
        (ROWS, [0, 1, 0], None, "There are 4 rows but a label of shape"),
        (ROWS, [np.nan] * 4, None, "no row has a label"),
        (ROWS, None, None, "requires y to be passed"),
        (ROWS, [0, 1, 0, 1], np.ones(3), "3 weights for 4 rows"),
        (ROWS[:0], [], None, r"0 sample\(s\)"),
        (ROWS[:, :0], [0, 1, 0, 1], None, r"0 feature\(s\)"),
        (np.where(ROWS == 3, np.inf, ROWS), [0, 1, 0, 1], None, "inf"),
        (
            np.where(ROWS == 3, np.nan, ROWS),
            [0, 1, 0, 1],
            None,
            "Missing or infinite values in 1 rows",
        ),
        (ROWS, [0, 1, 2, 1], None, "Only binary classification"),
        (ROWS, ["a"] * 4, None, "of one class"),
        (ROWS, [0.5, 1, 0, 1], None, "continuous"),
    ],
)
def test_what_nothing_can_be_learned_from_is_refused(X, y, weight, said):
    with pytest.raises(CounterweightError, match=said):
        Shown().fit(X, y, weight)


def test_blanks_are_taken_where_they_may_be_and_infinity_is_not():
    blank = np.where(ROWS == 3, np.nan, ROWS)
    assert np.isnan(Numbers().fit(blank, ROWS[:, 0]).got[0]).sum() == 1
    with pytest.raises(CounterweightError, match="infinity in feature"):
        Numbers().fit(np.where(ROWS == 3, -np.inf, ROWS), ROWS[:, 0])
    for bad, said in ((np.inf, "infinity"), (1j, "Complex"), ("a", "not text")):
        with pytest.raises(CounterweightError, match=said):
            Numbers().fit(ROWS, [bad] * 4)


def test_classes_are_in_order_and_0_and_1_stay_as_they_are():
    for y in (np.array([0, 1, 1]), np.array([1.0, 0.0]), np.array([True, False]), np.array([1, 1])):
        codes, classes = two_classes(y)
        assert codes is y and classes.tolist() == [0, 1]
    codes, classes = two_classes(np.array([5, 2, 5]))
    assert codes.tolist() == [1, 0, 1] and classes.tolist() == [2, 5]
    codes, classes = two_classes(np.array(["x", "x"]), known=["x", "a"])
    assert codes.tolist() == [1, 1] and classes.tolist() == ["a", "x"]
    for y, known in ((["x", "b"], ["a", "x"]), (["x"], ["a", "b", "x"])):
        with pytest.raises(CounterweightError, match="The classes are"):
            two_classes(np.array(y), known=known)


def test_labels_are_missing_by_nan_and_by_none():
    assert is_missing(np.array([1.0, np.nan])).tolist() == [False, True]
    assert is_missing(np.array(["a", None, pd.NA], object)).tolist() == [False, True, True]
    assert not is_missing(np.array([1, 2])).any() and not is_missing(np.array(["nan"])).any()
    with pytest.warns(DataConversionWarning):
        assert one_column([[1], [0]]).tolist() == [1, 0]
    assert one_column([[1, 0], [0, 1]]).shape == (2, 2)


def test_a_generator_is_itself_or_by_its_seed():
    own = np.random.default_rng(3)
    assert generator(own) is own
    assert generator(3).random() == np.random.default_rng(3).random()
    seeded = np.random.RandomState(1).randint(2**31)
    assert generator(np.random.RandomState(1)).random() == np.random.default_rng(seeded).random()
    assert Both().fit(ROWS, [0, 1, 0, np.nan]).got[3].random() == generator(0).random()
