"""What every call of Snakemake and every job loads, once for all: see `conftest.py`.

Nothing of the library: runs read that of their copy.
"""

import gc
import importlib
import runpy
from pathlib import Path

from snakemake import benchmark, cli, script, storage  # noqa: F401

SERVER = Path(__file__).resolve().parents[2] / "workflow/counterweight/tables/fork_server.py"
for name in runpy.run_path(str(SERVER))["LOADED"]:
    importlib.import_module(name)
cli.get_argument_parser()
# A collection in a fork would write to, and so copy, the memory that all of them share.
gc.freeze()
