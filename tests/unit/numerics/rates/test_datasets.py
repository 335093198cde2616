"""Named data sets: masks, tables of their own, what cannot be used."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.numerics.rates import DataSets, measure
from counterweight.numerics.rates import compile as compile_rates
from counterweight.numerics.rates.limits import upper_limits
from counterweight.numerics.rates.values import bases, constraint_values
from rated_rows import world


def test_sets_by_mask_equal_sets_as_separate_rows():
    data, _, rng = world()
    w = rng.normal(size=3)
    score = data.deployed
    masked = DataSets.stack(
        data.X, data.y, data.weight, {"a": data.members["a"], "d3": data.members["d3"]}, score
    )
    a, d3 = data.members["a"], data.members["d3"]
    separate = DataSets.stack(
        data.X,
        data.y,
        data.weight,
        {"a": (data.X[a], data.y[a], data.weight[a]), "d3": (data.X[d3], None, None, score[d3])},
    )
    texts = [
        "coverage(a) <= 0.3",
        "recall(a) >= 0.5",
        "churn(d3) <= 0.1",
        "coverage(unlabeled) + coverage(everyone) <= 1",
    ]
    values = []
    for table in (masked, separate):
        made = compile_rates("error(labeled)", texts, table)
        p = 1 / (1 + np.exp(-table.X @ w))
        values.append(made.positive @ p + made.negative @ (1 - p) + made.constants)
        values.append(made.bounds)
    assert np.allclose(values[0], values[2], atol=1e-12)
    assert np.allclose(values[1], values[3], atol=1e-12)


def test_sparse_rows_make_the_same_data_sets():
    from scipy import sparse

    data, _, _ = world()
    table = DataSets.stack(sparse.csr_matrix(data.X), data.y, datasets={"d": (data.X[:9], None)})
    assert table.X.shape == (409, 3)
    assert table.mask((("d",),)).sum() == 9
    assert table.mask((("everyone",),)).sum() == 400


def test_bad_data_is_told():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
    cases = [
        (lambda: DataSets(X, [0, 1, 2, 1]), "0 or 1.*found 0, 1, 2"),
        (lambda: DataSets(np.array([[0.0], [np.nan]]), [0, 1]), "1 rows.*first: row 1"),
        (lambda: DataSets(X, y, members={"a": [1, 0]}), "data set a needs"),
        (lambda: DataSets(X, y, members={"labeled": y == 1}), "labeled is always there"),
        (lambda: DataSets(X, y, members={"a-b": y == 1}), "cannot be called 'a-b'"),
        (lambda: DataSets.stack(X, y, datasets={"d": (np.zeros((3, 3)), None)}), "3 features.*2"),
        (lambda: compile_rates("churn(labeled)", [], DataSets(X, y)), "deployed model"),
        (lambda: compile_rates("error(labeled)", [], DataSets(X, y), {"kappa": 0}), "above 0"),
        (lambda: compile_rates("kappa + 1", [], DataSets(X, y), {"kappa": 1}), "no rate"),
        (lambda: measure([0.5, 2, 0, 0], DataSets(None, y), {}), "first: row 1"),
        (
            lambda: measure(np.ones(4), DataSets(None, y), {"c": "coverage(unlabeled)"}),
            "Measure c.*no rows",
        ),
    ]
    for call, message in cases:
        with pytest.raises(CounterweightError, match=message):
            call()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": [1, -1, 1, -1]}, "values of the label are -1 and 1"),
        ({"datasets": {"d2": (np.zeros((3, 2)), [-1, 1, 1])}}, "label of the data set d2 are -1"),
        ({"y": np.array(["a", 1, 0, 1], object)}, "must be 0 or 1"),
        ({"y": np.array([None, True, False, True], object)}, "must be 0 or 1"),
        ({"X": np.zeros((4, 2), complex)}, "real numbers"),
        ({"X": np.zeros((0, 2)), "y": []}, "no rows to learn from"),
        ({"weight": ["a"] * 4}, "weights must be numbers"),
        ({"deployed": ["a"] * 4}, "scores of the deployed model must be numbers"),
        ({"datasets": [[True] * 4]}, "datasets must be a dict"),
        ({"datasets": {3: [True] * 4}}, "cannot be called 3"),
        ({"datasets": {"a·b": [True] * 4}}, "cannot be called 'a·b'"),
        ({"datasets": {"d": [np.zeros((4, 2)), np.zeros(4)]}}, "tuple"),
    ],
)
def test_tables_that_cannot_be_used_are_told(given, message):
    with pytest.raises(CounterweightError, match=message):
        DataSets.stack(**{"X": np.zeros((4, 2)), "y": [0, 1, 0, 1]} | given)


def test_labels_may_be_python_numbers_in_a_column_of_objects():
    data = DataSets.stack(np.zeros((3, 1)), np.array([0, True, 1.0], object))
    assert data.y.tolist() == [0, 1, 1]


def test_a_table_of_positives_only_needs_no_negatives():
    data = DataSets.stack(np.zeros((3, 1)), [0, 1, 1], datasets={"d": (np.ones((2, 1)), [1, 1])})
    assert data.y.tolist() == [0, 1, 1, 1, 1]


def test_the_few_rows_of_a_promise_are_in_as_many_parts_as_they_can_be():
    n, rng = 60, np.random.default_rng(0)
    first = np.arange(n)
    # Three positives of a, each in another combination of sets: all would be in one part.
    sets = {"a": first < 30, "b": first % 3 == 0, "c": first % 3 == 1}
    y = np.where(first < 30, first < 3, first % 2)
    data = DataSets(rng.normal(size=(n, 2)), y, members=sets)
    alone = data.folds(5, np.random.default_rng(1))
    assert len(set(alone[:3])) == 1
    part = data.folds(5, np.random.default_rng(1), ["recall(a) >= 0.5", "coverage(b) <= 0.9"])
    assert len(set(part[:3])) == 3
    assert (part[3:] == alone[3:]).all()
    # Rates with rows in all parts leave them as they are.
    told = data.folds(5, np.random.default_rng(1), ["error(everyone) <= 0.4", "coverage(b) <= 0.9"])
    assert (told == alone).all()


def test_rows_that_rates_are_shares_of():
    y = np.array([1, 0, 1, 0, -1, -1])
    data = DataSets(None, y, members={"a": np.array([1, 1, 0, 0, 1, 0], bool)})
    texts = [
        "recall(a) >= 0.5",
        "coverage(a) <= 1 * false_positive_rate(everyone)",
        "precision(a) >= 0.1",
    ]
    told = {rate: np.flatnonzero(mask).tolist() for rate, mask in bases(texts, data).items()}
    assert told == {
        "recall(a)": [0],
        "coverage(a)": [0, 1, 4],
        "false_positive_rate(everyone)": [1, 3],
        "precision(a)": [0, 1],
    }
    assert not bases(["recall(a & unlabeled) >= 0.5"], data)["recall(a & unlabeled)"].any()


def test_copies_are_in_one_part_and_make_no_error_smaller():
    """Each row twice: parts of rows are those of their copies, and errors those of single rows."""
    data, p, _ = world(n=120)
    texts = {"error": "error(labeled)", "ratio": "coverage(a) / coverage(b)"}
    asked = ["coverage(a) >= 0.8 * coverage(b)", "error(labeled) <= 0.4"]

    def again(copies):
        rows = np.tile(np.arange(len(p)), 2)
        members = {name: mask[rows] for name, mask in data.members.items()}
        return DataSets(None, data.y[rows], data.weight[rows], members, copies=copies)

    kind = np.tile(np.arange(len(p))[::-1], 2)
    twice, apart, both = again(kind), again(None), np.tile(p, 2)
    for part in (
        twice.folds(5, np.random.default_rng(1), asked),
        twice.held_out(0.3, np.random.default_rng(1)),
        twice.only(both > 0.2).folds(5, np.random.default_rng(1), asked),
    ):
        np.testing.assert_array_equal(part[: len(p)], part[len(p) :])
        assert len(np.unique(part)) == part.max() + 1
    alone, joint, split = (
        measure(q, one, texts, errors=True) for q, one in ((p, data), (both, twice), (both, apart))
    )
    for name in texts:
        np.testing.assert_allclose(joint[name], alone[name], rtol=1e-9)
        assert split[name][2] < 0.8 * joint[name][2]
    values = [constraint_values(q, q > 0.5, one, asked) for q, one in ((p, data), (both, twice))]
    np.testing.assert_allclose(*values, rtol=1e-9)
    told = [
        upper_limits(q, one, asked)[:, :, 0] for q, one in ((p, data), (both, twice), (both, apart))
    ]
    np.testing.assert_allclose(told[0], told[1], rtol=1e-9)
    assert (told[2][:, 1] < told[0][:, 1]).all()
    # Decisions by copies have no exact limit, as they are no shares of single draws.
    yes = (both > 0.5).astype(float)
    assert upper_limits(yes, twice, asked)[1, 1, 0] > upper_limits(yes, apart, asked)[1, 1, 0]
