"""The package as users get it: built, installed elsewhere, imported by its public names."""

import ast
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
from email import message_from_string
from pathlib import Path

import counterweight
import pytest
import yaml
from counterweight.models import MODELS
from counterweight.plan.components import tree

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
NOT_FOR_USERS |= {"StabilisedSvm"}  # a baseline of churn: it asks a deployed model's scores
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


def stubs():
    """What type checkers read of the public names, by file; ``python test_package.py`` writes it.

    The names are imported when they are asked for, which a type checker does not see.
    """
    made = {
        "__init__.pyi": [
            f"from counterweight import {task} as {task}" for task in counterweight.NAMES
        ]
        + lines_of(counterweight.PUBLIC)
        + ["__version__: str", "TASKS: dict[str, tuple[str, dict[str, str]]]"]
        + ["NAMES: dict[str, dict[str, str]]", "PUBLIC: dict[str, str]"]
        + ["COMMON: dict[str, str]", "INTERNAL: frozenset[str]"]
    }
    for task, names in counterweight.NAMES.items():
        stage = (LIBRARY / task).is_dir()
        registry = ["SELECTORS: dict[str, str]"] if stage else []
        made[f"{task}/__init__.pyi" if stage else f"{task}.pyi"] = lines_of(names) + registry
    return {file: "\n".join(lines) + "\n" for file, lines in made.items()}


def lines_of(names):
    return [
        f"from counterweight.{module} import {name} as {name}" for name, module in names.items()
    ]


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
    with tarfile.open(packed) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    kept = {path for path in source.rglob("*") if path.is_file() and "egg-info" not in str(path)}
    assert {path.relative_to(source).as_posix() for path in kept} <= held
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
    with pytest.raises(AttributeError, match="'counterweight.offers' has no attribute 'ips'"):
        counterweight.offers.ips  # noqa: B018


@pytest.mark.parametrize("task", counterweight.NAMES)
def test_a_task_has_its_names_which_the_top_has_too(task):
    space = importlib.import_module(f"counterweight.{task}")
    assert space is getattr(counterweight, task) and space.__doc__
    assert set(space.__all__) == set(counterweight.NAMES[task]) <= set(dir(space))
    for name in space.__all__:
        thing = getattr(space, name)
        assert thing.__module__ == f"counterweight.{counterweight.NAMES[task][name]}"
        assert counterweight.PUBLIC.get(name) in (None, counterweight.NAMES[task][name])
    others = [set(names) for other, names in counterweight.NAMES.items() if other != task]
    assert not set(space.__all__) & set().union(*others), "a name has one task"


def functions_of(thing):
    """What users call of a public name: itself, or how it is made, its methods and properties."""
    if inspect.isfunction(thing):
        return [thing]
    found = {}
    for kind in reversed(thing.__mro__):
        if kind.__module__.startswith("counterweight"):
            found |= vars(kind)
    found = {
        name: getattr(one, "fget", getattr(one, "__func__", one)) for name, one in found.items()
    }
    return [
        one
        for name, one in found.items()
        if inspect.isfunction(one)
        and one.__module__.startswith("counterweight")
        and (name == "__init__" or not name.startswith("_"))
        and not {name, one.__name__} & counterweight.INTERNAL
    ]


@pytest.mark.parametrize("name", counterweight.PUBLIC)
def test_a_public_callable_says_the_types_of_all_that_it_takes_and_gives(name):
    for function in functions_of(getattr(counterweight, name)):
        told = inspect.signature(function)
        missing = [
            one.name
            for one in told.parameters.values()
            if one.name not in ("self", "cls") and one.annotation is one.empty
        ]
        missing += ["return"] * (told.return_annotation is told.empty)
        assert not missing, f"{function.__qualname__}: {missing}"


def test_every_public_name_of_the_top_is_of_a_task_or_common_to_all():
    tasks = {name for names in counterweight.NAMES.values() for name in names}
    common = {name for names in counterweight.COMMON.values() for name in names.split()}
    assert set(counterweight.PUBLIC) - tasks == common and not tasks & common


def test_type_checkers_read_the_names_that_are_there():
    found = {path.relative_to(LIBRARY).as_posix() for path in LIBRARY.rglob("*.pyi")}
    assert found == set(stubs())
    for file, text in stubs().items():
        there, made = (
            {
                (node.module, node.names[0].name)
                for node in ast.parse(one).body
                if hasattr(node, "names")
            }
            for one in ((LIBRARY / file).read_text(), text)
        )
        assert there == made, "python tests/unit/test_package.py writes it"
    assert (LIBRARY / "py.typed").is_file()


def test_the_models_of_the_registry_are_public():
    classes = {target.partition(":")[2] for target in MODELS.values()}
    assert classes - NOT_FOR_USERS <= set(counterweight.PUBLIC)


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", *sorted((ROOT / "docs/families").glob("*.md"))],
    ids=lambda p: p.stem,
)
def test_readme_and_families_import_public_names_only(page):
    tasks = "|".join(counterweight.NAMES)
    for block in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        lines = [line for line in block.splitlines() if "counterweight" in line]
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        assert imports
        assert all(
            re.match(rf"import counterweight$|from counterweight(\.({tasks}))? import ", line)
            for line in imports
        )
        assert set(re.findall(r"\bcounterweight\.(\w+)", block)) <= set(counterweight.__all__)


def test_library_and_scripts_name_the_modules_that_they_use():
    """An import from the top would hide from the digest of a job what the job uses."""
    wrong = [
        (path.name, alias.name)
        for folder in (LIBRARY, ROOT / "scripts")
        for path in folder.rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == "counterweight"
        for alias in node.names
        if alias.name in counterweight.PUBLIC
    ]
    assert not wrong


def test_the_metadata_are_those_of_the_citation(installed):
    (told,) = (installed.parents[1] / "lib").glob("*/site-packages/counterweight-*/METADATA")
    told = message_from_string(told.read_text(encoding="utf-8"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert told["Author"] == ", ".join(author["name"] for author in cited["authors"])
    assert told["License-Expression"] == cited["license"]
    assert told["Version"] == str(cited["version"]) and told["Keywords"]
    assert "Typing :: Typed" in told.get_all("Classifier")
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(told.get_all("Provides-Extra")) == set(asked["optional-dependencies"])


def test_the_version_is_that_of_the_citation_and_has_a_section_of_the_changelog():
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    told = re.search(r"version = \{(\S+)\}", (ROOT / "README.md").read_text())
    assert cited.group(1) == told.group(1) == counterweight.__version__
    released = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0] == counterweight.__version__


if __name__ == "__main__":
    for file, text in stubs().items():
        (LIBRARY / file).write_text(text)
