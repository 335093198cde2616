"""The reference of the docs: nothing is left out, and pages build."""

import doctest
import importlib.util
import re
from pathlib import Path

import counterweight
import pandas as pd
import pytest
import yaml
from counterweight.plan import components
from counterweight.reporting import blocks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("docs_hooks", ROOT / "docs" / "hooks.py")
    hooks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hooks)
    return hooks.reference()


def keys(node):
    """Names of all keys of a schema, at any depth."""
    found = set(node.get("properties", {}))
    for inner in [
        *node.get("properties", {}).values(),
        node.get("additionalProperties"),
        node.get("items"),
    ]:
        found |= keys(inner) if isinstance(inner, dict) else set()
    return found


@pytest.mark.parametrize("name", ["own_table", "config"])
def test_every_key_of_a_schema_is_told(reference, name):
    file = {"own_table": "own.schema.yaml", "config": "config.schema.yaml"}[name]
    schema = yaml.safe_load(components.schema_path(file).read_text())
    told = {line.split("`")[1] for line in reference[name].splitlines() if "- `" in line}
    assert told == keys(schema) and len(told) > 20


def test_every_part_and_option_is_told(reference):
    sections = {}
    for block in reference["parts"].split("\n## ")[1:]:
        kind, *parts = block.split("\n### ")
        for part in parts:
            name, _, text = part.partition("\n")
            sections[kind.strip(), name] = text
    wanted = {(kind, n) for kind in components.STAGES for n in components.registry(kind)}
    assert set(sections) == wanted
    for kind, name in wanted:
        lines = sections[kind, name].splitlines()
        told = [line.split("`")[1] for line in lines if line.startswith("- `")]
        assert told == list(components.options(kind, name)), name


def test_the_glossary_is_that_of_the_report(reference):
    told = dict(re.findall(r"^## (.+)\n\n(.+)$", reference["glossary"], re.M))
    assert blocks.TERMS.keys() <= told.keys() and "AUC" in told and len(told) > 100
    path = components.schema_path("config.schema.yaml").parents[2] / "reporting" / "measures.csv"
    measures = pd.read_csv(path, keep_default_na=False)
    for label, meaning in zip(measures["label"], measures["meaning"], strict=True):
        assert label in told or not meaning or "{" in label + meaning


NAMES = [("common", name) for name in counterweight._by_name(counterweight.COMMON)]
NAMES += [(task, name) for task, names in counterweight.NAMES.items() for name in names]


@pytest.mark.parametrize(("task", "name"), NAMES)
def test_every_public_name_has_a_page_with_its_source_and_an_example(reference, task, name):
    text = reference[f"python/{task}/{name}"]
    space = counterweight if task == "common" else getattr(counterweight, task)
    thing = getattr(space, name)
    assert f"::: {thing.__module__}.{name}\n" in text and f"import {name}\n" in text
    assert f"[`{name}`]({task}/{name}.md)" in reference["python/index"]
    own = doctest.DocTestParser().get_examples(thing.__doc__)
    assert own or doctest.DocTestParser().get_examples(text)


def test_the_pages_build_without_a_warning(built):
    site, told = built
    assert "WARNING" not in told
    pages = ["index", "docs/own_table", "reference/config", "reference/python/index"]
    for page in [*pages, *(f"reference/python/{task}/{name}" for task, name in NAMES)]:
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert "https://unpkg" not in text and "fonts.g" not in text
    for task, name in NAMES:
        text = (site / f"reference/python/{task}/{name}.html").read_text("utf-8")
        assert "Source code in" in text or name == "Estimate"
        assert 'class="highlight"' in text
