"""What `mkdocs build` needs beyond Markdown: the pages as they lie, and the reference.

Pages link to each other and to files of the repository by relative paths, as they do on GitHub.
MkDocs wants all of them in one folder, so they are laid out anew under ``build/docs``, in the same
places, and the reference is written beside them. It is made at each build and not kept, so it
cannot differ from the schemas, ``OPTIONS`` and docstrings that it is made of.
"""

import inspect
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "workflow"), str(ROOT / "docs")]

import counterweight  # noqa: E402
from counterweight import options  # noqa: E402
from counterweight.plan import components  # noqa: E402
from counterweight.reporting import blocks  # noqa: E402
from counterweight.reporting.render import unbroken  # noqa: E402

import notebooks  # noqa: E402

#: Where pages stand in the repository.
PAGES = (
    "*.md",
    "docs/**/*.md",
    "docs/images/*",
    "docs/*.css",
    "docs/*.js",
    "examples/*.md",
    "config/*.md",
)
#: Labels and meanings of measures, which reports read, too.
MEASURES = "workflow/counterweight/reporting/measures.csv"
#: Stems and terms that say the same, which the search of reports knows, too.
WORDS = [f"workflow/counterweight/reporting/templates/{name}.js" for name in ("same", "words")]
#: What people ask, and the page that answers.
QUESTIONS = ROOT / "docs" / "questions.md"
KINDS = {"own_table": "own.schema.yaml", "config": "config.schema.yaml"}
#: How much a page counts in the search, by the beginning of its path: the first that fits.
BOOSTS = {"docs/own_table/": 1.3, "docs/families/": 1.3, "docs/tutorials/": 1.2}
BOOSTS |= {"docs/filter_format": 0.8, "docs/python_examples": 0.4, "docs/extending": 1.0}
BOOSTS |= {
    "docs/questions": 0.3,
    "docs/papers": 0.8,
    "docs/": 1.2,
    "notebooks/": 0.7,
    "README": 0.8,
}
BOOSTS |= {"reference/python/": 0.75, "reference/glossary": 0.8, "reference/": 0.2}
BOOSTS |= {"CHANGELOG": 0.5, "ARCHITECTURE": 0.7, "CONTRIBUTING": 0.7}
INTRODUCTIONS = {
    "own_table": "# A table of one's own\n\nKeys of a file of ten lines; [your own table]"
    "(../docs/own_table.md) explains them by question.\n",
    "config": "# The config\n\nKeys of `config.yaml` and of files that are given with "
    "`--configfile`; [studies](../docs/studies.md) says how studies are put together.\n",
    "parts": "# Parts and their options\n\nAs `python -m counterweight.options` lists them; "
    "[studies](../docs/studies.md) says which go together.\n",
    "python": "# Python\n\nThe public names, a namespace a task; the top has all but the "
    "figures, too. All other modules are internal and may move.\n",
}


def on_config(config):
    """Lay the sources out and let MkDocs read them there."""
    folder = Path(config.site_dir).parent / "build" / "docs"
    if folder.exists():
        shutil.rmtree(folder)
    lay_out(folder)
    config.docs_dir = str(folder)
    (reference,) = (pages["Reference"] for pages in config.nav if "Reference" in pages)
    (place,) = (entry for entry in reference if "Python" in entry)
    pages = [{"Overview": "reference/python/index.md"}]
    for task in ("common", *counterweight.TASKS):
        found = sorted((folder / "reference" / "python" / task).glob("*.md"))
        pages.append({task: [{one.stem: f"reference/python/{task}/{one.name}"} for one in found]})
    place["Python"] = pages
    return config


def on_page_markdown(markdown, page, **_):
    """Say how much a page counts in the search: pages that explain before those that list."""
    for start, boost in BOOSTS.items():
        if page.file.src_uri.startswith(start):
            page.meta.setdefault("search", {"boost": boost})
            break
    return markdown


def on_post_page(output, **_):
    """Let the search be ours, `docs/search.js` in the theme's place; numbers keep their units.

    What scrolls must be reached by keys, so tables get the focus; the theme gives it to code alone.
    """
    output = re.sub(r"assets/javascripts/workers/search\.\w+\.min\.js", "docs/search.js", output)
    output = re.sub(r"<table(?=[ >])", '<table tabindex="0"', output)
    return unbroken(output)


def lay_out(folder):
    """Copy the pages, what they link to, and the reference into a folder."""
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern) if path.is_file()}
    for path in pages | {there for page in pages for there in linked(page)}:
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    own = folder / "docs/search.js"
    texts = [path.read_text(encoding="utf-8") for path in (*map(ROOT.joinpath, WORDS), own)]
    asked = f"const ASKED = {json.dumps(questions())};\n"
    own.write_text(asked + "".join(texts), encoding="utf-8")
    made = {f"reference/{name}.md": text for name, text in reference().items()} | notebooks.pages()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for path in folder.rglob("*.md"):  # notebooks have a page here, and none on GitHub
        text = path.read_text(encoding="utf-8")
        leading = re.sub(r"(\]\(\.\./notebooks/\w+)\.ipynb", r"\1.md", text)
        path.write_text(leading, encoding="utf-8")


def questions():
    """What people ask, by the page that answers, of `docs/questions.md`."""
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    found = [re.match(r"- \[(.+)\]\((.+)\): (.+)$", line) for line in lines]
    return {home(QUESTIONS.parent / one[2]): [one[1], *one[3].split("; ")] for one in found if one}


def home(path):
    """Address on the site of a page of the repository."""
    page = Path(os.path.normpath(path)).relative_to(ROOT)
    page = page.with_name("index.md") if page.name == "README.md" else page
    return page.with_suffix(".html").as_posix()


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
    made = {name: f"{INTRODUCTIONS[name]}\n{text}\n" for name, text in made.items()}
    return made | {"glossary": glossary()} | dict(python())


def glossary():
    """Words of the report's pages and its measures, of what the report's own glossary is made."""
    measures = pd.read_csv(ROOT / MEASURES, keep_default_na=False)
    words = dict(blocks.TERMS)
    for label, meaning in zip(measures["label"], measures["meaning"], strict=True):
        if meaning and "{" not in label + meaning:
            words.setdefault(label, meaning)
    lines = ["# Glossary\n", "What pages of reports call things; measures and other words.\n"]
    for word in sorted(words, key=str.lower):
        lines += [f"## {plain(word)}\n", f"{plain(words[word])}\n"]
    return "\n".join(lines)


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
    """Text of each page on Python by its path: an index, and a page a public name."""
    index, shown = [], examples()
    tasks = {"": ("Common to all", counterweight._by_name(counterweight.COMMON))}
    tasks |= {
        task: (f"counterweight.{task}", counterweight.NAMES[task]) for task in counterweight.TASKS
    }
    hidden = [f"!^{name}$" for name in sorted(counterweight.INTERNAL)]
    for task, (title, names) in tasks.items():
        about = counterweight.TASKS[task][0] if task else "From `counterweight` itself."
        index += [f"\n## {title}\n", f"{about}\n", "| name | what it is |", "| --- | --- |"]
        for name, module in names.items():
            first = inspect.getdoc(named(task, name)).strip().splitlines()[0]
            path = f"{task or 'common'}/{name}"
            index.append(f"| [`{name}`]({path}.md) | {plain(first).replace('|', chr(92) + '|')} |")
            below = f"from counterweight{'.' + task if task else ''} import {name}"
            lines = [f"# {name}\n", f"```python\n{below}\n```\n"]
            lines += [f"::: counterweight.{module}.{name}", "    options:"]
            lines += ["      show_root_heading: false", "      show_root_toc_entry: false"]
            lines += ["      heading_level: 2", f"      filters: {['!^_', *hidden]}"]
            if name in shown:
                lines.append(f"\n## Example\n\n```pycon\n{shown[name]}\n```")
            yield f"python/{path}", "\n".join(lines) + "\n"
    yield "python/index", INTRODUCTIONS["python"] + "\n".join(index) + "\n"


def named(task, name):
    return getattr(getattr(counterweight, task) if task else counterweight, name)


def examples():
    """The example of each public name, of docs/python_examples.md."""
    text = (ROOT / "docs" / "python_examples.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^### (\w+)\n\n```pycon\n(.*?)\n```$", text, re.M | re.S))
