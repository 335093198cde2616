"""The package as users get it: built, installed elsewhere, imported by its public names."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import counterweight
import pytest
from counterweight.models import MODELS

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "workflow" / "counterweight"
#: Models that take what only the workflow hands them: parts of logs, rows that a filter accepted,
#: rows that an encoder made.
NOT_FOR_USERS = {"UniformPolicy", "ImitatedPolicy", "ColumnPolicy", "GivenPolicy", "BalancedFilter"}
NOT_FOR_USERS |= {"GivenPredictions", "CalibratedNumbers", "StackedModel"}
NOT_FOR_USERS |= {"LinearScore", "BoostedScore"}
NOT_FOR_USERS |= {"SeenGroupsClassifier"}  # a bound of filters: it asks the groups of all rows
NOT_FOR_USERS |= {"ChosenClassifier"}  # of people's tables: folds go by rows, not by their weights
NOT_FOR_USERS |= {"SelectionAwareClassifier"}  # an oracle: it asks hidden labels
EVERY_MODULE = """
import importlib, pkgutil, counterweight
print(counterweight.__file__)
for module in pkgutil.walk_packages(counterweight.__path__, "counterweight."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
from counterweight.plan import components, config
assert config.schema()["properties"]
assert components.schema_path("claims.schema.yaml").is_file()
"""


def clean(python, code, folder, **environment):
    """Standard output of Python code that is run in a folder, with nothing else around it."""
    done = subprocess.run(
        [python, "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Python of a new environment that holds the package: a wheel, built of the source archive."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    # A copy, so that nothing of an earlier build is in it and nothing is left in the checkout.
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(LIBRARY, source / "workflow" / "counterweight", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir"]
    archive = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(command, place):
        done = subprocess.run(command, cwd=place, env=alone, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run([sys.executable, "-c", archive, folder / "archives"], source)
    (packed,) = (folder / "archives").iterdir()
    run([*pip, *build, folder / "wheels", packed], folder)
    (wheel,) = (folder / "wheels").iterdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "new"], check=True)
    python = folder / "new" / "bin" / "python"
    subprocess.run(
        [*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True
    )
    return python


def test_an_installed_package_has_every_module_and_its_schemas(installed, tmp_path):
    # The dependencies come from here; a path to them brings no editable install of ours along.
    place, *modules = clean(
        installed, EVERY_MODULE, tmp_path, PYTHONPATH=sysconfig.get_path("purelib")
    )
    assert Path(place).is_relative_to(installed.parents[1])
    files = {path.relative_to(LIBRARY) for path in LIBRARY.rglob("*.py")} - {Path("__init__.py")}
    parts = (path.with_suffix("").parts for path in files)
    names = {".".join(("counterweight", *part)).removesuffix(".__init__") for part in parts}
    assert set(modules) == names


def test_files_beside_the_modules_are_installed(installed):
    (place,) = (installed.parents[1] / "lib").glob("*/site-packages/counterweight")
    here, there = (
        {
            path.relative_to(folder)
            for path in folder.rglob("*")
            if path.is_file() and path.suffix not in (".py", ".pyc")
        }
        for folder in (LIBRARY, place)
    )
    assert here == there


def test_the_top_of_the_package_loads_no_numpy(tmp_path):
    code = "import sys, counterweight; print(dir(counterweight) and 'numpy' in sys.modules)"
    assert clean(sys.executable, code, tmp_path, PYTHONPATH=str(LIBRARY.parent)) == ["False"]


@pytest.mark.parametrize("name", counterweight.PUBLIC)
def test_a_public_name_resolves(name):
    thing = getattr(counterweight, name)
    assert thing.__name__ == name and thing.__doc__
    assert thing.__module__ == f"counterweight.{counterweight.PUBLIC[name]}"
    assert name in dir(counterweight) and name in counterweight.__all__


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="has no attribute 'ConstrainedClasifier'"):
        counterweight.ConstrainedClasifier  # noqa: B018


def test_the_models_of_the_registry_are_public():
    classes = {target.partition(":")[2] for target in MODELS.values()}
    assert classes - NOT_FOR_USERS <= set(counterweight.PUBLIC)


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs/families").glob("*.md"))],
    ids=lambda p: p.stem,
)
def test_readme_and_families_import_public_names_only(page):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        lines = [line for line in block.splitlines() if "counterweight" in line]
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        assert imports
        assert all(
            line == "import counterweight" or line.startswith("from counterweight import ")
            for line in imports
        )
        assert set(re.findall(r"\bcounterweight\.(\w+)", block)) <= set(counterweight.PUBLIC)


def test_library_and_scripts_name_the_modules_that_they_use():
    """An import from the top would hide from the digest of a job what the job uses."""
    wrong = [
        (path.name, alias.name)
        for folder in (LIBRARY, ROOT / "scripts")
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "counterweight"
        for alias in node.names
        if alias.name in counterweight.PUBLIC
    ]
    assert not wrong


def test_the_version_is_that_of_the_citation_and_has_a_section_of_the_changelog():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited.group(1) == counterweight.__version__
    released = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0] == counterweight.__version__
