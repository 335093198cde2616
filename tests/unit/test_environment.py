"""Pinned versions say the same everywhere."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
#: Names that conda-forge gives to packages of the Python index.
CONDA_NAMES = {"matplotlib-base": "matplotlib"}


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(file):
    """Version by normalised name, and the explanation of each line."""
    versions, reasons = {}, {}
    for line in (ROOT / file).read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        requirement, _, reason = line.partition("#")
        name, separator, version = requirement.strip().partition("==")
        assert separator, f"{file}: {line!r} pins no version"
        versions[normal(name)], reasons[normal(name)] = version, reason.strip()
    return versions, reasons


@pytest.mark.parametrize("file", sorted(path.name for path in (ROOT / "envs").glob("*.yaml")))
def test_conda_versions_equal_the_pinned_ones(file):
    pinned, _ = pins("requirements.txt")
    listed = yaml.safe_load((ROOT / "envs" / file).read_text())["dependencies"]
    found = dict(item.split("=", 1) for item in listed)
    assert found.pop("python") >= "3.11"
    found = {normal(CONDA_NAMES.get(name, name)): version for name, version in found.items()}
    assert found == {name: pinned.get(name) for name in found}


def test_conda_environments_cover_the_requirements():
    listed = [
        item.split("=")[0]
        for path in (ROOT / "envs").glob("*.yaml")
        for item in yaml.safe_load(path.read_text())["dependencies"]
    ]
    names = {normal(CONDA_NAMES.get(name, name)) for name in listed}
    assert set(pins("requirements.txt")[0]) <= names


@pytest.mark.parametrize("file", ["requirements.txt", "requirements-dev.txt"])
def test_each_requirement_is_explained_and_constrained(file):
    versions, reasons = pins(file)
    constraints, _ = pins("constraints.txt")
    assert versions
    assert not [name for name, reason in reasons.items() if len(reason) < 5]
    assert versions == {name: constraints.get(name) for name in versions}
