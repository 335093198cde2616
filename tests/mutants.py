"""Do the tests of a module notice a changed decision in it?

python tests/mutants.py COUNT [--seed 0] [--in models/choice weighting/overlap ...]

Draws COUNT comparisons, sums and products of the library (of the folders or modules after `--in`),
turns one at a time into its opposite in a copy of the checkout, and runs the module's own test
files: `tests/unit/weighting/test_overlap.py` and `test_overlap_*.py` for `weighting/overlap.py`.
Prints each that no test noticed, and the share that was noticed. Lines that only raise are left
out: sentences are held by other tests.
"""

import argparse
import ast
import importlib
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest

#: What many tests load, beside pytest; seconds that the tests of a module may take.
LOADED = ("numpy", "pandas", "pyarrow.parquet", "pyarrow.dataset", "scipy.optimize", "scipy.stats")
LOADED += ("sklearn.ensemble", "sklearn.linear_model", "sklearn.metrics", "sklearn.model_selection")
MOST = 300
ROOT = Path(__file__).resolve().parents[1]
OPPOSITE = {
    **{ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="},
    **{ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"},
}
SIGNS = ("<=", ">=", "==", "!=", "<", ">", "+", "-", "*", "/")


def own_tests(module, root):
    """Test files of a module, by the place of the module in the library."""
    folder = root / "tests" / "unit" / module.parent
    found = [folder / f"test_{module.stem}.py", *folder.glob(f"test_{module.stem}_*.py")]
    return sorted({path for path in found if path.exists()})


def decisions(path):
    """Places of operators: line, and the bytes between the two sides."""
    tree = ast.parse(path.read_text())
    told = (ast.Raise, ast.JoinedStr)
    left_out = {id(x) for n in ast.walk(tree) if isinstance(n, told) for x in ast.walk(n)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, operator, right = node.left, node.ops[0], node.comparators[0]
        elif isinstance(node, ast.BinOp):
            left, operator, right = node.left, node.op, node.right
        else:
            continue
        if type(operator) in OPPOSITE and left.end_lineno == right.lineno:
            yield right.lineno, left.end_col_offset, right.col_offset, OPPOSITE[type(operator)]


def mutant(text, place):
    """The text with one operator exchanged, or None where that cannot be said."""
    line, start, end, operator = place
    rows = text.splitlines(keepends=True)
    raw = rows[line - 1].encode()
    between = raw[start:end].decode()
    sign = next((sign for sign in SIGNS if sign in between), None)
    if sign is None:
        return None
    rows[line - 1] = (
        raw[:start] + between.replace(sign, operator, 1).encode() + raw[end:]
    ).decode()
    changed = "".join(rows)
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    return changed


def loaded():
    """Load once what all tests load, and nothing of the library: runs are forks of this process."""
    for name in LOADED:
        importlib.import_module(name)


def noticed(files, root):
    """Whether a test fails, or does not end in time."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        _tested(files, root)
    until = time.monotonic() + MOST
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            if code in (3, 4, 5):
                raise SystemExit(f"pytest ended with {code} on {', '.join(map(str, files))}")
            return code != 0
        time.sleep(0.05)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return True


def _tested(files, root):
    """Run tests in a fork, which ends with them."""
    os.setsid()
    os.chdir(root)
    place = {"PYTHONPATH": str(root / "workflow"), "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ.update(place)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    code = 2
    try:
        code = int(pytest.main(["-x", "-q", "-n0", "-p", "no:cacheprovider", *map(str, files)]))
    finally:
        os._exit(code)


def main():
    """Draw, change, test, and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--in", nargs="*", default=[""], dest="under", help="folders or modules")
    options = parser.parse_args()
    sys.dont_write_bytecode = True
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    loaded()
    caught, missed, untested = 0, 0, set()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "checkout"
        kept = shutil.ignore_patterns(
            ".git", ".venv", ".snakemake", "__pycache__", "results*", "site"
        )
        shutil.copytree(ROOT, root, ignore=kept, symlinks=True)
        library = root / "workflow" / "counterweight"
        sites = []
        for path in sorted(library.rglob("*.py")):
            module = path.relative_to(library)
            if not any(module.as_posix().startswith(start) for start in options.under):
                continue
            places = list(decisions(path))
            if places and not own_tests(module, root):
                untested.add(f"{module}: {len(places)} decisions")
            sites += [(path, place) for place in places]
        random.Random(options.seed).shuffle(sites)
        for path, place in sites:
            if caught + missed == options.count:
                break
            text = path.read_text()
            changed = mutant(text, place)
            if changed is None:
                continue
            module = path.relative_to(library)
            files = own_tests(module, root)
            path.write_text(changed)
            try:
                found = bool(files) and noticed(files, root)
            finally:
                path.write_text(text)
            caught, missed = caught + found, missed + (not found)
            if not found:
                line = text.splitlines()[place[0] - 1].strip()
                print(f"not noticed: {module}:{place[0]} {place[3]}  {line[:100]}", flush=True)
    for line in sorted(untested):
        print("no test file of its own:", line)
    print(f"noticed {caught} of {caught + missed}")


if __name__ == "__main__":
    main()
