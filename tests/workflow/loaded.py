"""What every call of Snakemake loads and asks of its plugins, once for all: see `conftest.py`."""

import jinja2  # noqa: F401
import jsonschema  # noqa: F401
import pyarrow.parquet  # noqa: F401
from snakemake import cli

cli.get_argument_parser()
