"""The pages of the docs in a real browser: opened as files, without a network."""

import re

import pages
import pytest

pytest.importorskip("material", reason="the extra docs is not installed")
pytestmark = pytest.mark.skipif(bool(pages.missing()), reason=pages.missing() or "-")
LOOKED_AT = [
    "index.html",
    "docs/families/offers.html",
    "reference/python/constraints/ConstrainedClassifier.html",
]

#: Serious findings of axe-core in the text of a page.
AXE = """async () => (await axe.run("article", {resultTypes: ["violations"],
  rules: {"scrollable-region-focusable": {enabled: false}}})).violations
  .filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 160)}`)"""


@pytest.fixture(scope="module")
def shown():
    with pages.browser() as browser:
        yield browser


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_of_the_docs_can_be_read_by_all(shown, site, name):
    with pages.opened(shown, site / name) as (page, problems):
        # A page of the docs asks for its own files, and for nothing else.
        assert not [text for text in problems if not text.startswith("asks for file:")]
        page.evaluate(pages._axe())
        for theme in pages.THEMES:
            page.emulate_media(color_scheme=theme)
            for width in (390, 1440):
                page.set_viewport_size({"width": width, "height": 900})
                pages.ask(page, "settled")
                assert pages.ask(page, "axe") == [], (theme, width)
                assert page.evaluate("document.documentElement.scrollWidth") <= width


#: What is asked of the search, and the page that is to stand first.
ASKED = {
    "how wrong could it be": "docs/own_table/how_wrong",
    "gamma": "docs/own_table/how_wrong",
    "tilt": "docs/tilt",
    "rehearsal": "docs/own_table/rehearsal",
    "labels to buy": "docs/collect",
    "keep rate": "docs/own_table/logs",
    "three digits behind a point": "docs/own_table/reading",
    "decimal comma": "docs/own_table/reading",
    "duckdb": "docs/own_table/queries",
    "leaks": "docs/own_table/columns",
    "module snakemake": "docs/own_table/workflow",
    "slurm": "docs/cluster",
    "certificate": "docs/families/constraints",
    "codes of unknown": "docs/own_table/blanks",
    "raking": "docs/targets",
    "love plot": "reference/python/plots/love_plot",
    "gamma_curve": "reference/python/plots/gamma_curve",
    "ConstrainedClassifier": "reference/python/constraints/ConstrainedClassifier",
    "missing_outcomes": "reference/python/selection/missing_outcomes",
    "effective_sample_size": "reference/python/selection/effective_sample_size",
    "SavedOffers": "reference/python/offers/SavedOffers",
    "snips": "reference/python/logs/snips",
    "heckman": "reference/parts",
    "gallery": "notebooks/gallery",
    "glossary": "reference/glossary",
    "brier score": "reference/glossary",
    "drift": "docs/own_table/python",
    "filter key": "docs/own_table/panel",
    "max_distortion": "docs/own_table/panel",
    "troubleshooting": "docs/troubleshooting",
    "licences of data": "docs/operations",
    "which method when": "docs/benchmark",
    "register a new model": "docs/extending",
}


def test_search_finds_the_wanted_page_first_from_a_file(shown, site):
    with pages.opened(shown, site / "index.html") as (page, _):
        page.wait_for_function("typeof __index === 'object'")
        page.keyboard.press("/")
        wrong = {}
        for asked, wanted in ASKED.items():
            page.fill(".md-search__input", "")
            page.wait_for_selector(".md-search-result__item", state="detached")
            page.keyboard.type(asked)
            page.wait_for_selector(".md-search-result__item a", state="attached")
            # Answers come letter by letter: the last one stays.
            page.wait_for_timeout(700)
            first = page.get_attribute(".md-search-result__item a", "href")
            if f"/{wanted}.html" not in first:
                wrong[asked] = first
        assert not wrong


def test_every_page_can_be_read_by_all(shown, site):
    """The text of each page in the frame of one that is open, in either theme and width.

    What scrolls gets its focus from the theme when a page is opened: the pages above hold that.
    """
    texts = {
        path.relative_to(site).as_posix(): re.search(
            r"<article[^>]*>(.*)</article>", path.read_text(encoding="utf-8"), re.DOTALL
        )[1]
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html"
    }
    assert len(texts) > 150
    found = []
    with pages.opened(shown, site / "index.html") as (page, _):
        page.evaluate(pages._axe())
        for name, text in texts.items():
            page.evaluate("html => document.querySelector('article').innerHTML = html", text)
            for theme, width in (("light", 390), ("dark", 1440)):
                page.emulate_media(color_scheme=theme)
                page.set_viewport_size({"width": width, "height": 900})
                pages.ask(page, "settled")
                told = page.evaluate(AXE)
                wide = page.evaluate("document.documentElement.scrollWidth") > width
                found += [(name, theme, one) for one in told + ["too wide"] * wide]
    assert not found
