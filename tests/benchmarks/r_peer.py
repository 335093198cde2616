"""Peers that are packages of R."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from table import Absent, Timed


def run(packages, table, script):
    """What a script prints, by `Timed`: seconds first, then numbers.

    Parameters
    ----------
    packages : sequence of str
        The first is loaded before the script.
    table : pandas.DataFrame
        Stands in `d`.
    script : str
        Leaves ``seconds`` and a vector of numbers ``found``.

    Raises
    ------
    table.Absent
        Where R or the package is not installed.
    """
    if shutil.which("Rscript") is None:
        raise Absent("R is not installed")
    with tempfile.TemporaryDirectory() as folder:
        data, text = Path(folder) / "d.csv", Path(folder) / "f.R"
        table.to_csv(data, index=False)
        text.write_text(
            f"needed <- strsplit('{' '.join(packages)}', ' ')[[1]]\n"
            "there <- sapply(needed, requireNamespace, quietly = TRUE)\n"
            "if (!all(there)) { cat('absent', needed[!there]); quit() }\n"
            f"suppressMessages(library({packages[0]}))\n"
            f"d <- read.csv(commandArgs(TRUE)[1])\n{script}\n"
            'cat("\\nfound", seconds, sprintf("%.12g", found))\n'
        )
        run = subprocess.run(["Rscript", text, data], capture_output=True, text=True, check=False)
    if run.stdout.startswith("absent"):
        raise Absent(f"R has no package {run.stdout.removeprefix('absent').strip()}")
    if run.returncode:
        raise RuntimeError(f"{packages[0]} failed: {run.stderr.strip()[-1000:]}")
    seconds, *found = map(float, run.stdout.rsplit("found", 1)[1].split())
    return Timed(found, seconds)
