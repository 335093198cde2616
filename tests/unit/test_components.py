"""Registries, options and the digests that decide what re-runs."""

import ast
import importlib
import inspect
import re
import shutil
from pathlib import Path

import pytest
from counterweight.errors import CounterweightError
from counterweight.plan import components, digests

ROOT = Path(__file__).resolve().parents[2]
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
        made = getattr(components.load(kind, name), "__dataclass_fields__", {}).get(option)
        if callable(getattr(made, "default_factory", None)):
            default = made.default_factory()
        if default is None and isinstance(node.get("default"), dict):
            # A dict is no default of scikit-learn's: None stands for the one that is declared.
            module = inspect.getmodule(components.load(kind, name))
            default = getattr(module, "DELTA" if option == "delta" else "CLASSIFIER")
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
    digests.forget()
    yield tmp_path / "counterweight"
    monkeypatch.undo()
    digests.forget()


def model_digests():
    digests.forget()
    return {name: model_digest(name) for name in components.registry("model")}


def model_digest(name, script="train", run="counterweight.tasks.classification:train"):
    return digests.code(str(ROOT / "scripts" / f"{script}.py"), run, (("model", name),))


def test_editing_a_module_changes_the_digest_of_its_users_only(copy):
    before = model_digests()
    module = copy / "models" / "tilted.py"
    module.write_text(module.read_text() + "\n# edited\n")
    after = model_digests()
    assert {name for name in before if before[name] != after[name]} == {"tilted"}
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
    digests.forget()
    assert components.options("model", "logistic") == {
        "a": {"type": "number", "default": -1.5},
        "c": {"type": "integer"},
        "b": {"enum": ["x", "y"]},
    }
    before = model_digests()["logistic"]
    shared.write_text(shared.read_text() + "# edited\n")
    assert model_digests()["logistic"] != before
    (copy / "models" / "logistic.py").write_text("OPTIONS = {**ABSENT}\n")
    digests.forget()
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


def test_another_target_of_an_entry_in_the_same_module_changes_its_digest(copy):
    script = str(ROOT / "scripts" / "weigh.py")
    run = "counterweight.tasks.classification:weigh"

    def lemmas():
        digests.forget()
        return [digests.code(script, run, (("weighting", name),)) for name in ("lemma1", "lemma2")]

    before = lemmas()
    registry = copy / "weighting" / "__init__.py"
    text = registry.read_text()
    registry.write_text(text.replace("weights:general_weights", "weights:unlabeled_weights"))
    after = lemmas()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_of_a_kind_only_the_function_that_runs_counts(copy):
    module = copy / "tasks" / "classification.py"

    def of(stage):
        digests.forget()
        script = str(ROOT / "scripts" / f"{stage}.py")
        return digests.code(script, f"counterweight.tasks.classification:{stage}")

    stages = ("label", "select", "weigh", "train", "evaluate")
    before = {stage: of(stage) for stage in stages}
    text = module.read_text()
    module.write_text(text.replace("def weigh(job):", "def weigh(job):\n    # edited", 1))
    assert {stage for stage in stages if of(stage) != before[stage]} == {"weigh"}
    planned = "def plan_weigh(plan, study, weighting, at):"
    assert planned in text
    module.write_text(text.replace(planned, f"{planned}\n    # edited") + "\n# edited\n")
    assert all(of(stage) == before[stage] for stage in stages)


def test_a_job_may_look_up_only_what_it_declares():
    with components.only([("model", "logistic")]):
        assert components.load("model", "logistic").__name__ == "LogisticModel"
        with pytest.raises(RuntimeError, match="looks up the model 'generative'"):
            components.load("model", "generative")
        with pytest.raises(RuntimeError, match="does not declare"):
            components.declared("dataset", "adult", "FILES")
    assert components.load("model", "generative") is not None


def test_every_look_up_by_name_goes_through_the_declared_ones():
    """No module of the library imports by a text of its own, past `load` and `reference`."""
    allowed = {
        "plan/components.py",
        # Runs the scripts of the stages, whole.
        "tables/fork_server.py",
        "numerics/rates/__init__.py",
        "__init__.py",
        # Load the peer packages where they are used.
        "models/constraints/fairlearn_models.py",
        "weighting/density_ratios.py",
    }
    wrong = [
        str(path.relative_to(components.PACKAGE))
        for path in components.PACKAGE.rglob("*.py")
        if str(path.relative_to(components.PACKAGE)) not in allowed
        and any(word in path.read_text() for word in ("import_module", "__import__", "runpy"))
    ]
    assert not wrong


def imports_of_the_tree(text):
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names.update(digests._modules_of(node, alias))
    return tuple(sorted(names))


def test_imports_read_from_the_text_are_those_of_the_syntax_trees(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_text(
        "import os, counterweight.errors as told\n"
        "from counterweight.tables import (\n    study_data,  # (one) of\n    jobs as work,\n)\n"
        "from counterweight.numerics import \\\n    linear\n"
        "def f():\n    import sys; from counterweight.plan import tasks as kinds\n"
        "    return 'from counterweight.plan import jobs'\n"
    )
    files = [odd, *components.PACKAGE.rglob("*.py"), *(ROOT / "scripts").glob("*.py")]
    for path in files:
        assert digests.imports(str(path)) == imports_of_the_tree(path.read_text()), path


def constants_of(body):
    """Top-level assignments by name, and where names come from, of statements that were parsed."""
    body = [one for one in body if isinstance(one, (ast.Assign, ast.ImportFrom))]
    names = {
        getattr(one.targets[0], "id", None): one for one in body if isinstance(one, ast.Assign)
    }
    names.pop(None, None)
    come = [one for one in body if isinstance(one, ast.ImportFrom) and one.module]
    ours = [ast.dump(one) for one in come if one.module.startswith("counterweight.")]
    return {name: ast.dump(one.value) for name, one in names.items()}, ours


def test_constants_read_from_the_text_are_those_of_the_syntax_trees(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_text(
        '"""Doc.\n\nA = 1\n"""\n# A = 2\nfrom counterweight.plan import (\n    jobs,\n)\n'
        'import os\nA = {\n    "a": 1,  # no more\n    # B = 3\n}\nB = A | {"b": [\n  1]}\n'
        'C, D = 1, 2\nF=4; G = 5\ndef f():\n    A = 5\n    return """\n    Z = 1\n"""\nE = f"{A}"\n'
    )
    files = [odd]
    for at, text in enumerate(('A = """\nB = 1\n"""\nC = 2\n', 'A = {\n"a": 1\n}\nB = 2\n')):
        files.append(tmp_path / f"whole_{at}.py")
        files[-1].write_text(text)
    for path in [*files, *components.PACKAGE.rglob("*.py")]:
        read, whole = constants_of(components._top_level(path)), components.tree(path).body
        assert read == constants_of(whole), path


def declarations(tree):
    """Top-level statements that only declare something for the report."""
    names = {*digests.DECLARATIONS, "LABEL_BY_NAME", "CAPTION_BY_NAME"}
    for node in tree.body:
        name = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
        mapping = name in names - {"LABEL", "ROLE", "RULE", "CAPTION"}
        if name in names and isinstance(node.value, ast.Dict if mapping else ast.Constant):
            yield node


def code_of_the_tree(text):
    lines = text.splitlines(keepends=True)
    for node in reversed([*declarations(ast.parse(text))]):
        first = node.lineno - 1
        while not lines[first - 1].strip():
            first -= 1
        del lines[first : node.end_lineno]
    return "".join(lines).rstrip("\n")


def test_declarations_left_out_by_the_text_are_those_of_the_syntax_trees(tmp_path):
    odd = tmp_path / "odd.py"
    odd.write_text(
        '"""Doc."""\n\nLABEL_BY_NAME = {"a": "A", "b": "B (c)"}\nROLE = "peer"\nLABEL = "A = (b)"\n'
        'MEASURES = {\n    "m": {"label": "m"},\n\n    "n": {},\n}\nX = {"LABEL": 1}\n\n'
        'CAPTION = (\n    "One. "\n    "Two (three)."\n)\nMEASURES = ("a", "b")\n\n\n'
        'def f():\n    LABEL = "b"\n    return LABEL\n'
    )
    assert digests._code(str(odd)) == (
        b'"""Doc."""\nX = {"LABEL": 1}\nMEASURES = ("a", "b")\n\n\n'
        b'def f():\n    LABEL = "b"\n    return LABEL\n'
    )
    for path in [odd, *components.PACKAGE.rglob("*.py")]:
        code = digests._code(str(path)).decode().rstrip("\n")
        assert code == code_of_the_tree(path.read_text()), path


@pytest.mark.parametrize(
    "odd",
    [
        'LABEL = "a" "b"',
        'LABEL = "a"; X = 1',
        "LABEL = f()",
        'LABEL = "a" + X',
        "MEASURES = {} | X",
    ],
)
def test_a_declaration_in_another_form_counts_as_code(tmp_path, odd):
    path = tmp_path / "odd.py"
    path.write_text(f"X = 1\n{odd}\n")
    assert digests._code(str(path)) == path.read_bytes()


def test_no_code_reads_a_declaration():
    """It is in no digest, so a job that went by it could keep results of another."""
    names = {*digests.DECLARATIONS, "LABEL_BY_NAME", "CAPTION_BY_NAME"}
    for path in components.PACKAGE.rglob("*.py"):
        if not re.search(rf"\b({'|'.join(names)})\b", path.read_text()):
            continue
        tree = components.tree(path)
        declared = {node.targets[0].id for node in declarations(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                assert node.id not in declared, f"{path} reads {node.id}"
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "counterweight"
            ):
                assert not names & {alias.name for alias in node.names}, path


def test_a_declaration_changes_no_digest(copy):
    before = model_digests()
    path = copy / "models" / "logistic.py"
    text = path.read_text()
    label = 'LABEL = "Another name"\nROLE = "peer"\nMEASURES = {\n    "x": {"label": "x"},\n}\n'
    bare = digests._code(str(path)).decode()
    at = bare.index("\n\n\nclass ") + 1
    for changed in (bare, bare[:at] + label + bare[at:], bare[:at] + "\n" + label + bare[at:]):
        path.write_text(changed)
        assert model_digests() == before
    path.write_text(text.replace("class ", "# edited\nclass ", 1))
    assert model_digests()["logistic"] != before["logistic"]
