"""Pages of a report in a real, headless Chromium: what is wrong with them, and what they look like.

``python tests/browser/pages.py results pictures`` looks at the pages of a folder of results,
prints what is wrong, and takes pictures of each at four widths, light and dark.
"""

import functools
import os
import re
import shutil
import sys
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

WIDTHS = (360, 390, 768, 1440)
THEMES = ("light", "dark")
#: Bounds in bytes: of the index, and of any other page but the whole report in one file.
INDEX_BYTES, PAGE_BYTES = 300_000, 1_000_000
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)

_PROBES = Path(__file__).with_name("probes.js").read_text(encoding="utf-8")


def missing():
    """Why pages cannot be looked at here, or ""."""
    if chromium() is None:
        return "no Chromium: install one, or name it in COUNTERWEIGHT_CHROMIUM"
    try:
        import axe_playwright_python  # noqa: F401
        import playwright  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed: pip install '.[browser]'"
    return ""


def chromium():
    """Path of a Chromium on this machine, or None."""
    named = os.environ.get("COUNTERWEIGHT_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def browser():
    """A headless Chromium, without a network of its own."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        shown = driver.chromium.launch(executable_path=chromium(), args=list(_ARGUMENTS))
        try:
            yield shown
        finally:
            shown.close()


@contextmanager
def opened(shown, path, width=1440, theme="light", height=900, **options):
    """A page of a file in a window; yields it and a list that problems are told to."""
    context = shown.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, **options
    )
    page, problems = context.new_page(), []
    page.on("console", lambda m: m.type in ("error", "warning") and problems.append(m.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: _local(request.url, path, problems))
    page.goto(Path(path).resolve().as_uri())
    try:
        yield page, problems
    finally:
        context.close()


def _local(url, path, problems):
    if (
        not url.startswith("data:")
        and not re.search(r"/report/search-[\w-]+\.js$", url)
        and urlsplit(url).path != urlsplit(Path(path).resolve().as_uri()).path
    ):
        problems.append(f"asks for {url}")


def check_page(shown, path, widths=WIDTHS, themes=THEMES):
    """What is wrong with a page.

    Parameters
    ----------
    shown : playwright browser
        From `browser`.
    path : str or Path
        An HTML file.
    widths, themes : sequences
        Windows in which it is looked at.

    Returns
    -------
    list of str
        Messages of the console, requests, what sticks out, links to nowhere, text that cannot be
        read, headings out of order, serious and critical findings of axe-core.
    """
    found = []
    with opened(shown, path) as (page, problems):
        page.evaluate(_axe())
        ask(page, "unfold")
        for theme in themes:
            page.emulate_media(color_scheme=theme)
            for width in sorted(widths):
                page.set_viewport_size({"width": width, "height": 900})
                ask(page, "settled")
                at = f"at {width} px, {theme}: "
                if theme == themes[0]:
                    found += [at + "sticks out: " + text for text in ask(page, "overflow")]
                if width in (min(widths), max(widths)):
                    # A theme changes colours alone.
                    found += [at + text for text in ask(page, "axe", None, theme != themes[0])]
                    # All of the page in the window, so that what lies under a text is found.
                    height = min(ask(page, "height"), 30_000)
                    page.set_viewport_size({"width": width, "height": height})
                    ask(page, "settled")
                    found += [at + "low contrast: " + text for text in ask(page, "contrast")]
        found += headings_wrong(ask(page, "headings")) + links_wrong(ask(page, "links"), path)
        return list(dict.fromkeys(problems + found))


def ask(page, name, *given):
    """The answer of one of the probes, which may be given something."""
    return page.evaluate(f"given => {{ {_PROBES}\nreturn probes.{name}(...given); }}", given)


@functools.cache
def _axe():
    return resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8")


def headings_wrong(headings):
    """Whether there is one h1, first, and no level is left out on the way down."""
    levels = [level for level, _ in headings]
    wrong = [] if levels.count(1) == 1 and levels[0] == 1 else [f"levels of headings: {levels}"]
    for (above, _), (level, text) in zip(headings, headings[1:], strict=False):
        if level > above + 1:
            wrong.append(f"h{level} after h{above}: {text}")
    return wrong


def links_wrong(targets, path):
    """Links of a page to files or places that are not there."""
    wrong = []
    for target in dict.fromkeys(targets):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        place = Path(path).parent / unquote(parts.path) if parts.path else Path(path)
        if not place.exists():
            wrong.append(f"no such file: {target}")
        elif parts.fragment and f'id="{unquote(parts.fragment)}"' not in _text(place):
            wrong.append(f"no such place: {target}")
    return wrong


def _text(place):
    return place.read_text(encoding="utf-8", errors="replace") if place.is_file() else ""


def files(results):
    """HTML files of the report in a folder of results, the index first."""
    results = Path(results)
    return [*sorted(results.glob("report*.html")), *sorted(results.glob("report/*.html"))]


def sizes_wrong(results):
    """Pages of a folder of results that are larger than they may be."""
    wrong = []
    for path in files(results):
        bound = INDEX_BYTES if path.name == "report.html" else PAGE_BYTES
        if path.name != "report_whole.html" and path.stat().st_size > bound:
            wrong.append(f"{path.name}: {path.stat().st_size} bytes, more than {bound}")
    return wrong


def check_folder(results, widths=WIDTHS, themes=THEMES, only=None):
    """What is wrong with the pages of a folder of results.

    Parameters
    ----------
    results : str or Path
        With ``report.html`` and ``report/*.html``.
    widths, themes : sequences
    only : str, optional
        Pattern of the names of the files that are looked at.

    Returns
    -------
    list of str
        Each beginning with the file's name; empty where all is well.
    """
    found = sizes_wrong(results)
    with browser() as shown:
        for path in files(results):
            if only is None or re.search(only, path.name):
                wrong = check_page(shown, path, widths, themes)
                found += [f"{path.name} {text}" for text in wrong]
    return found


def take_pictures(results, folder, widths=WIDTHS, themes=THEMES, only=None, whole=True):
    """Pictures of the pages of a folder of results, and the paper that they would fill.

    They are named ``{page}-{width}-{theme}.png`` and ``{page}.pdf``.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with browser() as shown:
        for path in files(results):
            if only is not None and not re.search(only, path.name):
                continue
            for width in widths:
                for theme in themes:
                    name = folder / f"{path.stem}-{width}-{theme}.png"
                    with opened(shown, path, width, theme) as (page, _):
                        page.screenshot(path=name, full_page=whole)
            with opened(shown, path) as (page, _):
                page.pdf(path=folder / f"{path.stem}.pdf", format="A4", prefer_css_page_size=True)


def paper(shown, path):
    """How many sheets of A4 a page fills in print."""
    with opened(shown, path) as (page, _):
        made = page.pdf(format="A4")
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", made))


if __name__ == "__main__":
    results, *pictures = sys.argv[1:]
    if missing():
        sys.exit(missing())
    if pictures:
        take_pictures(results, pictures[0])
    wrong = check_folder(results)
    print("\n".join(wrong) or "Nothing is wrong.")
    sys.exit(bool(wrong))
