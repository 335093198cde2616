"""Policy value from logs: types of columns, files in parts, numbers far out, dense rewards."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.policy_value import (
    PolicyValue,
    doubly_robust,
    ips,
    snips,
    value_from_parquet,
)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.float16, object])
def test_the_type_of_the_columns_changes_no_value(dtype):
    reward, ones, model = np.array([1, 0, 0, 1]), np.ones(4), np.array([1, 1, 0, 0])
    target = np.array([1, 1, 0, 1])
    columns = [reward, ones, target, model, model]
    with pytest.warns(UserWarning, match="never takes"):
        expected = doubly_robust(*(part.astype(float) for part in columns))
        found = doubly_robust(*(part.astype(dtype) for part in columns))
    assert found == expected


def test_what_a_policy_does_where_the_log_did_one_thing_only_is_warned_of(recwarn):
    """A quarter of what the policy does is elsewhere in half of the rows; in the others nothing."""
    reward, propensity = [1, 0] * 40, [1.0, 0.5] * 40
    with pytest.warns(UserWarning, match="Some 12 % of what the policy does is not in the log"):
        snips(reward, propensity, [0.75, 0.5] * 40)
    with pytest.warns(UserWarning, match="Some 25 % of what"):
        snips(reward, [1.0] * 80, [0.75] * 80)
    recwarn.clear()
    for target in ([1.0, 0.2] * 40, [0.99, 0.2] * 40):
        snips(reward, propensity, target)
    assert not recwarn.list


def test_single_precision_columns_are_divided_in_double():
    rng = np.random.default_rng(0)
    reward = (rng.random(500) < 0.3).astype(np.float32)
    propensity = rng.uniform(0.1, 1, 500).astype(np.float32)
    target = rng.random(500).astype(np.float32)
    doubles = [part.astype(float) for part in (reward, propensity, target)]
    assert snips(reward, propensity, target) == snips(*doubles)


def test_one_reward_among_rows_of_no_weight_does_not_cost_digits():
    found = snips([0.3, 12345.678, 0.3], [0.5, 0.5, 0.7], [1, 1e-300, 1])
    assert found.value == pytest.approx(0.3, rel=1e-14)
    assert found.standard_error < 1e-12


@pytest.mark.parametrize("call", [ips, snips])
@pytest.mark.parametrize(
    "column, reward, propensity", [("propensity", 1, 1e-200), ("reward", 1e200, 0.5)]
)
def test_numbers_too_far_out_to_be_summed_are_told_without_warnings(
    call, column, reward, propensity, recwarn
):
    with pytest.raises(CounterweightError, match=rf"1 of 3 .* {column} are too .* in row 1\)"):
        call([1, reward, 0], [0.5, propensity, 0.5], [1, 1, 1])
    assert not recwarn.list


def test_a_tiny_propensity_of_a_zero_row_is_told():
    with pytest.raises(CounterweightError, match=r"propensity are too small .* in row 1\)"):
        snips([1, 0], [0.5, 1e-320], [1, 1])


def test_a_log_may_be_in_parts_and_of_other_types(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    plain = pa.table({"reward": [0.0, 1, 0, 1], "propensity": [0.5] * 4, "p": [1.0, 0.5, 1, 1]})
    odd = plain.cast(
        pa.schema([("reward", "bool"), ("propensity", pa.decimal128(5, 2)), ("p", "float32")])
    )
    pq.write_table(plain, tmp_path / "all.parquet")
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(odd.slice(0, 3), folder / "1.parquet")
    pq.write_table(plain.slice(3), folder / "2.parquet")
    whole = value_from_parquet(tmp_path / "all.parquet")
    assert value_from_parquet(folder) == whole
    assert value_from_parquet([folder / "1.parquet", folder / "2.parquet"]) == whole
    assert value_from_parquet(folder, estimators="snips") == {"snips": whole["snips"]}
    gaps = pa.table({"reward": pa.array([True, None]), "propensity": [0.5, 1], "p": [1.0, 1]})
    pq.write_table(gaps, tmp_path / "gaps.parquet")
    with pytest.raises(CounterweightError, match=r"1 of 2 .* reward are missing .* in row 1\)"):
        value_from_parquet(tmp_path / "gaps.parquet")


def test_files_of_the_user_are_never_to_be_deleted(tmp_path):
    (tmp_path / "text.parquet").write_text("hello")
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "none.parquet", "is not there: check the path"),
        (tmp_path / "text.parquet", "not a readable Parquet file: check the path"),
        (tmp_path / "empty", "no .parquet file in the folder"),
        ([], "no file was named"),
    ):
        with pytest.raises(CounterweightError, match=message) as caught:
            value_from_parquet(path)
        assert "delete" not in str(caught.value)
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"click": [1]}), tmp_path / "log.parquet")
    with pytest.raises(CounterweightError, match="it has click: say which of these hold"):
        value_from_parquet(tmp_path / "log.parquet")
    with pytest.raises(CounterweightError, match="whole number of rows"):
        value_from_parquet(tmp_path / "log.parquet", size=0)


def test_batches_without_a_zero_row_give_the_sums_of_any_other_batches():
    rng = np.random.default_rng(4)
    reward = np.where(np.arange(600) < 400, rng.gamma(2, 1, 600), 0.0)
    propensity, target = rng.uniform(0.1, 1, 600), rng.random(600)
    q, v = rng.random(600), rng.random(600)
    for columns in (reward, propensity, target, q, v):
        columns.flags.writeable = False
    whole, parts = PolicyValue(), PolicyValue()
    whole.update(reward, propensity, target, keep_rate=0.5, q=q, v=v)
    for start in range(0, 600, 200):
        rows = slice(start, start + 200)
        parts.update(
            reward[rows], propensity[rows], target[rows], keep_rate=0.5, q=q[rows], v=v[rows]
        )
    for name in ("ips_lost", "snips", "dr"):
        one, other = getattr(whole, name)(), getattr(parts, name)()
        for field in ("value", "standard_error", "low", "high", "effective_rows"):
            assert getattr(one, field) == pytest.approx(getattr(other, field), rel=1e-9)
        assert one.largest_weight == other.largest_weight
