"""What is known of columns, and how new rows differ from those of the fit."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import (
    LEAST,
    CategoryColumn,
    ColumnDrift,
    added,
    column_of,
    compared,
    count_rows,
    describe_new,
    drift_sentences,
    levels_kept,
    line_share,
    number_column,
    plain_auc,
    plane_share,
)
from scipy.stats import chi2
from typed_rows import fitted, table


def test_dates_and_whole_numbers_from_python_are_taken():
    frame = table()
    encoder = fitted(frame)
    days = pd.to_datetime(frame["when"], unit="D")
    for dates in (days, days.dt.tz_localize("UTC"), days.astype(object)):
        numbers = encoder.encode(frame.assign(when=dates)).numbers[:, 2]
        np.testing.assert_allclose(numbers, frame["when"], atol=1e-8)
    codes = pd.DataFrame({"zip": ["1", "2", "x", "1"]})
    encoder = fitted(codes, {"zip": "text"}, least_rows=1)
    for values in ([2, 1], [2.0, 1.0], pd.array([2, 1], dtype="Int64")):
        assert encoder.encode(pd.DataFrame({"zip": values})).codes[:, 0].tolist() == [1, 0]
    assert encoder.encode(pd.DataFrame({"zip": [np.nan, 1]})).codes[:, 0].tolist() == [4, 0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"age": "old"}, "'age' is to hold numbers, but holds 'old'"),
        ({"when": "today"}, "'when' is to hold dates"),
        ({"age": np.inf}, "'age' is infinite in 400 rows"),
        ({"town": 1.5}, "'town' is to hold texts, but holds numbers such as 1.5"),
    ],
)
def test_wrong_types_in_new_rows_are_told(change, told):
    frame = table()
    with pytest.raises(CounterweightError, match=told):
        fitted(frame).encode(frame.assign(**change))


def test_the_same_rows_have_not_drifted():
    frame = table()
    encoder = fitted(frame)
    for fact in describe_new(encoder, frame):
        assert fact.psi == 0
        assert fact.missing == fact.missing_before
        assert fact.unseen == fact.outside == 0
        assert fact.type == "text" or abs(fact.shift) < 1e-12
    assert drift_sentences(describe_new(encoder, frame)) == []


def test_batches_add_up():
    frame = table()
    encoder = fitted(frame)
    new = encoder.encode(table(seed=7))
    parts = None
    for part in (slice(0, 90), slice(90, 91), slice(91, None)):
        parts = added(parts, count_rows(new.take(part)))
    for one, other in zip(describe_new(encoder, parts), describe_new(encoder, new), strict=True):
        assert one[:2] == other[:2]
        np.testing.assert_allclose(one[2:], other[2:], atol=1e-12)


def test_drift_is_told_in_order_of_its_size():
    frame = table()
    encoder = fitted(frame)
    new = table(300, seed=3)
    new["age"] += 12
    new.loc[new.index % 2 == 0, "town"] = "Atlantis"
    facts = {fact.column: fact for fact in describe_new(encoder, new)}
    assert facts["town"].unseen == 0.5
    assert abs(facts["age"].shift - 1) < 0.3
    sentences = drift_sentences(facts.values())
    assert [sentence.split("'")[1] for sentence in sentences] == ["town", "age"]
    assert "never seen before" in sentences[0]
    assert "standard deviations" in sentences[1]


def test_the_index_by_chance():
    """Tables of the same law exceed `psi_by_chance` in about one of a thousand columns."""
    rng = np.random.default_rng(5)
    encoder = fitted(pd.DataFrame({"x": rng.normal(size=500)}), {"x": "number"})
    above = []
    for _ in range(400):
        (fact,) = describe_new(encoder, pd.DataFrame({"x": rng.normal(size=120)}))
        above.append(fact.psi > fact.psi_by_chance)
    assert sum(above) <= 4
    (fact,) = describe_new(encoder, pd.DataFrame({"x": rng.normal(1.0, 1, size=120)}))
    assert fact.psi > max(0.25, fact.psi_by_chance)


def test_columns_are_read_back_from_their_entries():
    texts = {"missing": [1.0], "levels": ["b", "a"], "counts": [3.0, 2.0]}
    expected = CategoryColumn("c", "text", 1, ("b", "a"), (3, 2), (), 0)
    assert column_of("c", "text", texts | {"pooled": [], "other": [0.0]}) == expected
    one = number_column("x", "number", pd.Series([1.0, 2.0, np.nan, 2.0]))
    entries = {key: np.atleast_1d(value).tolist() for key, value in one._asdict().items()}
    assert column_of("x", "number", entries) == one
    assert (one.missing, one.edges, one.counts) == (1, (1.0, 2.0), (1, 2, 0))
    assert (one.median, one.low, one.high) == (2.0, 1.0, 2.0)


def test_a_level_of_the_least_rows_is_one_of_its_own():
    assert levels_kept([30, 10, 9], 1000) == 2
    assert levels_kept([3, 2, 1], 100) == 3 and levels_kept([3, 2, 1], 101) == 2
    assert levels_kept([30, 20, 10], 1000, max_levels=1) == 1
    assert levels_kept([3, 2, 1], 1000, least_rows=2) == 2


def test_ten_values_are_their_own_edges_and_eleven_are_told_by_deciles():
    assert len(number_column("x", "number", pd.Series(np.arange(10.0))).edges) == 10
    eleven = number_column("x", "number", pd.Series(np.arange(11.0)))
    np.testing.assert_allclose(eleven.edges, np.arange(1.0, 10.0))
    assert sum(eleven.counts) == 11


def drifted(**changes):
    fact = ColumnDrift("x", "number", 400, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.05)
    return drift_sentences([fact._replace(**changes)])


def test_what_is_at_its_bound_is_not_told():
    assert not drifted(psi=0.25) and drifted(psi=0.26) and not drifted(psi=0.3, psi_by_chance=0.4)
    assert not drifted(outside=0.01) and drifted(outside=0.0125) and drifted(unseen=0.02)
    assert not drifted(unseen=0.02, rows=50) and not drifted(shift=-0.5) and drifted(shift=-0.6)
    assert not drifted(shift=0.6, rows=16) and not drifted(missing=0.05) and drifted(missing=0.1)
    assert not drifted(missing=1.0, rows=0)
    (told,) = drifted(shift=-0.6, psi=0.5)
    assert told == (
        "Column 'x' has changed: mean -0.6 standard deviations from before; stability index 0.50."
    )


def test_what_chance_gives_has_a_degree_of_freedom_less_than_bins():
    encoder = fitted(table())
    new = count_rows(encoder.encode(table()))
    for drift, fact in zip(describe_new(encoder, new), encoder.statistics_, strict=True):
        rows = np.array([*fact.counts, getattr(fact, "other", 0), fact.missing])
        bins = max(np.count_nonzero(rows), 2)
        exceeded = chi2.isf(1e-3, bins - 1) * 2 / len(table())
        assert drift.psi_by_chance == pytest.approx(exceeded) and drift.psi == 0


def test_of_a_column_without_a_value_the_missing_rows_are_told():
    values = pd.Series([np.nan] * 3)
    assert number_column("a", "number", values) == (
        *("a", "number", 3),
        *(0.0, 0.0, 0.0, 0.0, 0.0),
        *((), (0,)),
    )


@pytest.mark.parametrize("both", [False, True])
def test_shares_of_lines_and_planes_are_those_of_least_squares(both):
    rng = np.random.default_rng(5)
    a, X = rng.normal(size=400), rng.normal(size=(3, 400)) + 0.5
    X[1, :50] = np.nan
    y = a + X[0] * (1 + a) + rng.normal(size=400)

    def explained(*columns):
        known = np.isfinite(columns).all(axis=0)
        design = np.column_stack([np.ones(known.sum()), *(one[known] for one in columns)])
        left = y[known] - design @ np.linalg.lstsq(design, y[known])[0]
        return 1 - left.var() / y[known].var()

    assert line_share(y, X) == pytest.approx([explained(x) for x in X], abs=1e-7)
    planes = [explained(a, x, *([a * x] if both else [])) for x in X]
    assert plane_share(y, a, X, both) == pytest.approx(planes, abs=1e-7)


def test_the_plain_auc_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(1)
    y, score = (rng.random(40) < 0.3).astype(float), rng.integers(0, 6, 40)
    pairs = score[y > 0][:, None] - score[y == 0]
    assert plain_auc(y, score) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
    assert plain_auc(np.ones(5), np.arange(5)) == plain_auc(np.zeros(5), np.arange(5)) == 0


def test_which_of_two_numbers_is_larger_tells_the_class_it_tells_worse():
    rng = np.random.default_rng(2)
    a, X = rng.normal(size=40), rng.normal(size=(4, 40))
    y = (a > X[0]).astype(float)
    y[:3] = 1 - y[:3]
    X[2] = np.where(np.arange(40) < LEAST - 1, X[2], np.nan)
    X[3] = a
    found = compared(y, a, X)
    for row in (0, 1):
        right = [np.mean((a > X[row])[y == one] == one) for one in (0, 1)]
        assert found[row] == pytest.approx(max(min(right), min(1 - right[0], 1 - right[1])))
    assert found[2] == 0, "too few are known"
    assert found[3] == 0, "numbers that are equal tell one class alone"
    # Turned round and with the classes swapped it is told as well.
    np.testing.assert_allclose(compared(1 - y, a, X), found)
    np.testing.assert_allclose(compared(y, -a, -X), found)
