"""Registries, options and the digests that decide what re-runs."""

import ast
import importlib
import inspect
import shutil

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import components

WITH_OPTIONS = [
    (kind, name)
    for kind in ("features", "outcome", "labeling", "selector", "model")
    for name in components.registry(kind)
]


@pytest.mark.parametrize("kind", components.STAGES)
def test_every_registered_component_can_be_imported(kind):
    for name in components.registry(kind):
        assert components.load(kind, name) is not None


@pytest.mark.parametrize(("kind", "name"), WITH_OPTIONS)
def test_options_are_the_parameters_of_the_component(kind, name):
    parameters = inspect.signature(components.load(kind, name)).parameters
    declared = components.options(kind, name)
    for option, node in declared.items():
        assert option in parameters, f"{name} has no parameter {option}"
        assert node.get("description"), f"{name}.{option} is not described"
        default = parameters[option].default
        if "default" in node:
            wanted = tuple(node["default"]) if isinstance(default, tuple) else node["default"]
            assert default == wanted
        else:
            assert default is inspect.Parameter.empty


def test_registry_files_hold_registries_only():
    """Digests leave them out, so nothing else may stand there."""
    for package, _ in components.STAGES.values():
        module = importlib.import_module(f"counterweight.{package}")
        for node in ast.parse(inspect.getsource(module)).body:
            assert isinstance(node, ast.Assign) or (
                isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            )


def test_an_unknown_component_is_told_with_the_known_ones():
    with pytest.raises(CounterweightError, match="no model 'forest'; choose one of logistic"):
        components.locate("model", "forest")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The library in a folder where it may be edited."""
    shutil.copytree(components.PACKAGE, tmp_path / "counterweight")
    monkeypatch.setattr(components, "PACKAGE", tmp_path / "counterweight")
    components._tree.cache_clear()
    yield tmp_path / "counterweight"
    components._tree.cache_clear()


def model_digests():
    components._tree.cache_clear()
    return {
        name: components.digest([components.locate("model", name)[0]])
        for name in components.registry("model")
    }


def test_editing_a_module_changes_the_digest_of_its_users_only(copy):
    before = model_digests()
    module = copy / "models" / "mixtures" / "shifted_mixture.py"
    module.write_text(module.read_text() + "\n# edited\n")
    after = model_digests()
    assert {name for name in before if before[name] != after[name]} == {"shifted_mixture"}
    shared = copy / "numerics" / "linear.py"
    shared.write_text(shared.read_text() + "\n# edited\n")
    again = model_digests()
    assert after["logistic"] != again["logistic"]


def test_options_shared_by_import_are_read_from_the_text(copy):
    """Unpacked, joined, renamed and by name; the module that declares them is in the digest."""
    shared = copy / "models" / "shared_options.py"
    shared.write_text('BASE = {"a": {"type": "number", "default": -1.5}}\nWORDS = ["x", "y"]\n')
    (copy / "models" / "logistic.py").write_text(
        "from counterweight.models.shared_options import BASE as SHARED\n"
        "from counterweight.models.shared_options import WORDS\n"
        'OWN = {"b": {"enum": WORDS}}\n'
        'OPTIONS = {**SHARED, "c": {"type": "integer"}} | OWN\n'
    )
    components._tree.cache_clear()
    assert components.options("model", "logistic") == {
        "a": {"type": "number", "default": -1.5},
        "c": {"type": "integer"},
        "b": {"enum": ["x", "y"]},
    }
    before = model_digests()["logistic"]
    shared.write_text(shared.read_text() + "# edited\n")
    assert model_digests()["logistic"] != before
    (copy / "models" / "logistic.py").write_text("OPTIONS = {**ABSENT}\n")
    components._tree.cache_clear()
    with pytest.raises(NameError, match="ABSENT is no constant of counterweight.models.logistic"):
        components.options("model", "logistic")


def test_a_new_registry_entry_changes_no_digest(copy):
    before = model_digests()
    registry = copy / "models" / "__init__.py"
    registry.write_text(
        registry.read_text().replace(
            "MODELS = {", 'MODELS = {\n    "more": "counterweight.models.logistic:LogisticModel",'
        )
    )
    after = model_digests()
    assert "more" in after
    assert all(after[name] == before[name] for name in before)
