"""Rules of the house for scripts and for the rules of the workflow."""

import re
from pathlib import Path

import pytest
from counterweight.plan import components
from counterweight.plan.components import registry

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "scripts").glob("*.py"))
RULE_FILES = sorted((ROOT / "workflow" / "rules").glob("*.smk"))
DIRECTIVES = ("log:", "benchmark:", "threads:", "resources:", "conda:", "params:", "script:")


def rules():
    """Text of every rule of the rules files, by name."""
    found = {}
    for path in RULE_FILES:
        blocks = re.split(r"^( *)rule(?: (\w+))?:\n", path.read_text(), flags=re.MULTILINE)[1:]
        for indent, name, rest in zip(*[iter(blocks)] * 3, strict=True):
            inside = re.match(rf"(?:{indent}    .*\n|\n)*", rest).group()
            named = name or re.search(r'name:\s+f"(\w+?)_?\{', inside).group(1)
            found[named] = inside
    return found


STAGES = {
    "download",
    "prepare",
    "columns",
    "sum",
    "label",
    "select",
    "weigh",
    "train",
    "rehearse",
    "rehearsed",
    "compare",
    "compared",
    "evaluate",
    "collect",
    "deliver",
    "apply",
    "draw",
    "page",
    "report",
}


def test_every_stage_has_one_rule_and_one_script():
    assert set(rules()) == STAGES
    assert {path.stem for path in SCRIPTS} == STAGES


@pytest.mark.parametrize("name", rules())
def test_a_rule_says_what_it_needs_and_leaves(name):
    text = rules()[name]
    directives = re.findall(r"^ *(\w+:)", text, flags=re.MULTILINE)
    assert not [directive for directive in DIRECTIVES if directive not in directives]
    least = re.search(r'mem_mb=(?:more\(|needed\("' + name + r'", )(\d+)', text)
    assert least and re.search(r"runtime=more\(\d+\)", text)
    assert re.search(r"params:\n +job=spec(_of)?\(\"" + name, text), "params are not the job spec"
    assert int(least.group(1)) <= 2048


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_and_belongs_to_one_rule(path):
    assert len(path.read_text().splitlines()) <= 60
    users = [name for name, text in rules().items() if f"scripts/{path.name}" in text]
    assert len(users) == 1
    assert users == [path.stem]


def test_no_kind_of_study_is_known_by_name_outside_its_package():
    """Neither in the library nor in the rules; registries and declarations apart."""
    words = "|".join(registry("task"))
    branch = re.compile(
        rf"(?:kind|task)\"?\]?\s*(?:==|!=|in)\s*[(\[{{]*\s*\"(?:{words})\"|(?:study|settings|shown)\[\"(?:task|kind)\"\]\s*(?:[!=]=|in\b)"
    )
    library = ROOT / "workflow" / "counterweight"
    files = [*RULE_FILES, *SCRIPTS, *library.rglob("*.py")]
    wrong = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in files
        if library / "tasks" not in path.parents
        for line in path.read_text().splitlines()
        if branch.search(line)
    ]
    assert not wrong


def test_the_library_does_not_import_snakemake():
    modules = (ROOT / "workflow" / "counterweight").rglob("*.py")
    wrong = [
        path.name
        for path in modules
        if re.search(r"^\s*(?:from|import) snakemake", path.read_text(), flags=re.MULTILINE)
    ]
    assert not wrong


def test_modules_stay_readable():
    long = [
        path.name
        for folder in ("workflow", "scripts", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if len(path.read_text().splitlines()) > 700
    ]
    assert not long


def test_long_lines_are_options_or_texts_that_nothing_can_break():
    """`OPTIONS` are told a line each, as a table is; addresses and registries are one text."""
    for path in components.PACKAGE.rglob("*.py"):
        lines = path.read_text().split("\n")
        wide = set()
        for node in components.tree(path).body:
            if lines[node.end_lineno - 1].endswith("# fmt: skip"):
                wide.update(range(node.lineno, node.end_lineno + 1))
        for number, line in enumerate(lines, 1):
            if len(line) > (160 if number in wide else 100):
                text = r"""\s*(?:"[^"]*": )?r?"(?:[^"]|\\")*",?(?:  # .*)?"""
                assert re.fullmatch(text, line), f"{path}:{number}"
