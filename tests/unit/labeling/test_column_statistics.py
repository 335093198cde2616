"""What is known of columns, and how new rows differ from those of the fit."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import (
    added,
    count_rows,
    describe_new,
    drift_sentences,
)
from counterweight.labeling.encoding import TabularEncoder

TYPES = {"age": "number", "paid": "boolean", "when": "date", "town": "text", "job": "text"}


def table(rows=400, seed=0):
    """Numbers, booleans, dates and texts, some missing; three towns are rare."""
    rng = np.random.default_rng(seed)
    town = rng.choice(["Ulm", "Bonn", "Köln", "other"], rows, p=[0.5, 0.3, 0.15, 0.05])
    frame = pd.DataFrame(
        {
            "row": np.arange(rows, dtype=np.int32),
            "age": rng.normal(40, 12, rows),
            "paid": pd.array(rng.integers(0, 2, rows), dtype="Int64"),
            "when": 18000 + rng.random(rows) * 900,
            "town": pd.Series(town, dtype="str"),
            "job": pd.Series(rng.choice(["a", "b", "missing"], rows), dtype="str"),
        }
    )
    for column in ("age", "paid", "town"):
        frame.loc[rng.random(rows) < 0.1, column] = np.nan
    frame.loc[:2, "town"] = ["Rom", "Pisa", "Bari"]
    return frame


def fitted(frame, types=TYPES, **options):
    return TabularEncoder(**options).fit(frame, list(types), types)


def same(one, other):
    for name in ("row", "numbers", "codes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


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
