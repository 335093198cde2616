"""Columns of jobs by their buffers: the values of PyArrow's own conversions, without pandas."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from counterweight.tables.parquet import (
    METRICS,
    arrow_column,
    arrow_table,
    metrics_table,
    numpy_column,
    read_columns,
    write_table,
)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(5.0),
        np.arange(5, dtype="int16"),
        np.arange(10)[::2],
        np.array([True, False]),
        np.array(["a", "bä"]),
        np.zeros(0),
        np.array([1.0, np.nan]),
    ],
)
def test_columns_equal_those_of_arrow(values):
    made = arrow_column(values)
    assert made.equals(pa.array(values)) or np.isnan(values.astype(float)).any()
    np.testing.assert_array_equal(numpy_column(made), values)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([1, None, 3], "int32"), ([None, 2.5], "float64"), (["", "ü", "ab"], "string")]
    + [([], "int64"), ([], "string"), (["a", None], "string"), ([True, None], "bool")],
)
def test_lists_equal_those_of_arrow(values, kind):
    kind = pa.type_for_alias(kind)
    assert arrow_column(values, kind).equals(pa.array(values, kind))


@pytest.mark.parametrize("kind", [pa.int32(), pa.float64(), pa.string(), pa.bool_()])
def test_slices_chunks_and_nulls_become_what_arrow_makes_of_them(kind):
    values = pa.array([1, None, 0, 1, None, 1, 0, 1, 1, 0], pa.int32()).cast(kind)
    parts = values, values[3:], values[:4], values[5:], values[5:8]
    for column in (*parts, pa.chunked_array([values[:3], values[5:]])):
        own = numpy_column(column)
        chunked = isinstance(column, pa.ChunkedArray)
        peer = column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False)
        assert own.tolist() == pytest.approx(peer.tolist(), nan_ok=True)


def test_a_table_of_measurements_needs_no_pandas(tmp_path):
    code = (
        "import sys\n"
        "from counterweight.tables.parquet import METRICS, metrics_table\n"
        "from counterweight.tables.parquet import read_columns, write_table\n"
        "records = [{'metric': 'accuracy', 'value': 0.5, 'step': 3}, {'metric': 'auc', 'value': 1}]"
        "\n"
        "write_table('m.parquet', metrics_table('one', 'two', records), METRICS)\n"
        "read_columns('m.parquet', categories=['metric'])\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    found = read_columns(tmp_path / "m.parquet")
    assert found["metric"].tolist() == ["accuracy", "auc"]
    np.testing.assert_array_equal(found["step"], [3, np.nan])


def test_tables_keep_names_and_order(tmp_path):
    made = arrow_table({"b": np.arange(3), "a": pa.array(["x", "y", "z"])})
    assert made.column_names == ["b", "a"]
    write_table(tmp_path / "t.parquet", made)
    assert read_columns(tmp_path / "t.parquet")["b"].tolist() == [0, 1, 2]
    assert metrics_table("s", "m", []).schema.names == [name for name, _ in METRICS]
