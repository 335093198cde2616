"""What `mkdocs build` needs beyond Markdown: the pages as they lie, and the reference.

Pages link to each other and to files of the repository by relative paths, as they do on GitHub.
MkDocs wants all of them in one folder, so they are laid out anew under ``build/docs``, in the same
places, and the reference is written beside them. It is made at each build and not kept, so it
cannot differ from the schemas, ``OPTIONS`` and docstrings that it is made of.
"""

import inspect
import re
import shutil
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "workflow"))

import counterweight  # noqa: E402
from counterweight import options  # noqa: E402
from counterweight.plan import components  # noqa: E402

#: Where pages stand in the repository.
PAGES = ("*.md", "docs/**/*.md", "docs/images/*", "examples/*.md")
KINDS = {"own_table": "own.schema.yaml", "config": "config.schema.yaml"}
INTRODUCTIONS = {
    "own_table": "# A table of one's own\n\nKeys of a file of ten lines; [your own table]"
    "(../docs/own_table.md) explains them by question.\n",
    "config": "# The config\n\nKeys of `config.yaml` and of files that are given with "
    "`--configfile`; [studies](../docs/studies.md) says how studies are put together.\n",
    "parts": "# Parts and their options\n\nAs `python -m counterweight.options` lists them; "
    "[studies](../docs/studies.md) says which go together.\n",
    "python": "# Python\n\nWhat `from counterweight import ...` has. All other modules are "
    "internal and may move.\n",
}


def on_config(config):
    """Lay the sources out and let MkDocs read them there."""
    folder = Path(config.site_dir).parent / "build" / "docs"
    if folder.exists():
        shutil.rmtree(folder)
    lay_out(folder)
    config.docs_dir = str(folder)
    return config


def lay_out(folder):
    """Copy the pages, what they link to, and the reference into a folder."""
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern) if path.is_file()}
    for path in pages | {there for page in pages for there in linked(page)}:
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    (folder / "reference").mkdir(parents=True)
    for name, text in reference().items():
        (folder / "reference" / f"{name}.md").write_text(text, encoding="utf-8")


def linked(page):
    """Files of the repository that a page links to."""
    if page.suffix != ".md":
        return
    for link in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        there = (page.parent / link).resolve()
        if ":" not in link and there.is_file() and there.is_relative_to(ROOT):
            yield there


def reference():
    """Text of each page of the reference, by name."""
    made = {}
    for name, file in KINDS.items():
        schema = yaml.safe_load(components.schema_path(file).read_text(encoding="utf-8"))
        made[name] = "\n".join(entries(schema))
    made["parts"] = "\n".join(parts())
    made["python"] = "\n".join(python())
    return {name: f"{INTRODUCTIONS[name]}\n{text}\n" for name, text in made.items()}


def entries(node, depth=0):
    """Lines of a list: each key of a mapping with what it allows, and those within it."""
    needed = node.get("required", [])
    for key, inner in node.get("properties", {}).items():
        left_out = options.default_of(inner, key in needed)
        told = plain("; ".join(filter(None, (options.allowed(inner), left_out))))
        meaning = plain(inner.get("description", ""))
        yield f"{'    ' * depth}- `{key}`" + (f" *({told})*" if told else "") + f": {meaning}"
        yield from entries(inner, depth + 1)
        for name, within in (("NAME", "additionalProperties"), ("each", "items")):
            if isinstance(inner.get(within), dict) and "properties" in inner[within]:
                yield f"{'    ' * (depth + 1)}- *{name}*:"
                yield from entries(inner[within], depth + 2)


def plain(text):
    """Text in which Markdown finds nothing but code."""
    codes = re.split(r"(`[^`]*`)", " ".join(str(text).split()))
    return "".join(
        part if part.startswith("`") else re.sub(r"([\\*_\[\]<>])", r"\\\1", part) for part in codes
    )


def parts():
    """Lines of the page of components, a section a sort."""
    yield f"```\n{chr(10).join(options.overview())}\n```\n"
    for kind in components.STAGES:
        yield f"\n## {kind}\n"
        for name in components.registry(kind):
            fragments = components.options(kind, name)
            yield f"\n### {name}\n"
            if options.words_of(kind, name):
                yield f"For {options.words_of(kind, name)}.\n"
            needed = [key for key, node in fragments.items() if "default" not in node]
            yield from entries({"properties": fragments, "required": needed})
            if not fragments:
                yield "No options."


def python():
    """Lines of the page of public names, with signatures and docstrings as they stand."""
    for name in counterweight.__all__:
        thing = getattr(counterweight, name)
        yield f"\n## {name}\n\n```\n{name}{signature(thing)}\n\n{inspect.getdoc(thing)}\n```"
        if not inspect.isclass(thing):
            continue
        for method, value in vars(thing).items():
            told = inspect.getdoc(getattr(value, "__func__", value))
            if not method.startswith("_") and callable(getattr(thing, method)) and told:
                yield f"\n### {name}.{method}\n\n```\n{method}{signature(value)}\n\n{told}\n```"


def signature(thing):
    """Arguments of a callable, "" where Python does not tell."""
    try:
        return str(inspect.signature(getattr(thing, "__func__", thing)))
    except (TypeError, ValueError):
        return ""
