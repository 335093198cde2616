"""What every call of Snakemake loads and asks of its plugins, once for all: see `conftest.py`."""

import gc

import jinja2  # noqa: F401
import jsonschema  # noqa: F401
import pyarrow.csv  # noqa: F401
import pyarrow.parquet  # noqa: F401
from snakemake import benchmark, cli, script, storage  # noqa: F401

cli.get_argument_parser()
# A collection in a fork would write to, and so copy, the memory that all of them share.
gc.freeze()
