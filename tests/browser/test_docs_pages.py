"""The pages of the docs in a real browser: opened as files, without a network."""

import re
from contextlib import contextmanager

import pages
import pytest

pytest.importorskip("material", reason="the extra docs is not installed")
pytestmark = pytest.mark.skipif(bool(pages.missing()), reason=pages.missing() or "-")
LOOKED_AT = [
    "index.html",
    "docs/families/offers.html",
    "docs/benchmark.html",
    "notebooks/gallery.html",
    "reference/python/constraints/ConstrainedClassifier.html",
]

#: What axe-core finds in the menus that the theme makes, at a width at which they are folded away.
OF_THEME = "landmark-unique"
#: Puts the text of a page into the frame of one that is open. Words of code are coloured by their
#: class alone, so the first of each class in each block stands for all: axe-core takes minutes more
#: for tens of thousands of them. Code gets its focus from the theme when a page is opened.
PUT = """text => {
  const article = document.querySelector("article");
  article.innerHTML = text;
  article.querySelectorAll("pre > code").forEach(code => { code.tabIndex = 0; });
  for (const block of article.querySelectorAll("pre")) {
    const seen = new Set();
    for (const word of block.querySelectorAll("span[class]:not(:has(*))")) {
      const kind = `${word.parentElement.className} ${word.className}`;
      seen.has(kind) ? word.replaceWith(word.textContent) : seen.add(kind);
    }
    block.normalize();
  }
}"""
#: Of rows and entries of a list made of the same elements and classes the first stands for
#: all: axe-core is asked of one. How wide they are is looked at before.
THIN = """() => {
  const kind = node => [...node.querySelectorAll("*")].map(one => one.tagName + one.className);
  for (const parent of document.querySelectorAll("article tbody, article ul, article ol")) {
    const seen = new Set();
    for (const child of [...parent.children]) {
      const own = [child.className, ...new Set(kind(child))].join(" ");
      seen.has(own) ? child.remove() : seen.add(own);
    }
  }
}"""
#: Takes what stands around the text out of the frame: the pages above have it.
ALONE = """() => document.querySelectorAll(".md-header, .md-sidebar__inner, .md-footer")
  .forEach(part => part.replaceChildren())"""


@contextmanager
def opened(shown, path, theme):
    """A page of the docs with axe-core in it; its colours are those that it was opened in."""
    with pages.opened(shown, path, theme=theme) as (page, problems):
        page.evaluate(pages._axe())
        scheme = {"light": "default", "dark": "slate"}[theme]
        assert page.evaluate("document.body.dataset.mdColorScheme") == scheme
        yield page, problems


@pytest.mark.parametrize("theme", pages.THEMES)
@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_page_of_the_docs_can_be_read_by_all(shown, site, name, theme):
    with opened(shown, site / name, theme) as (page, problems):
        # A page of the docs asks for its own files, and for nothing else.
        assert not [text for text in problems if not text.startswith("asks for file:")]
        for width in (390, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            pages.ask(page, "settled")
            found = [one for one in pages.ask(page, "axe") if not one.startswith(OF_THEME)]
            assert found == [], width
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
    "heckman": "docs/own_table/blanks_answer",
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


#: Asked of the search for the first time when it was finished, with the pages that would do.
ASKED_LATER = {
    "what happens to people nobody resembles": ["own_table/blanks", "families/selection_bias"],
    "reproducible results seed": ["docs/operations", "config/"],
    "rerun only what changed": ["docs/operations"],
    "use my own database": ["own_table/queries"],
    "privacy noise epsilon": ["own_table/panel", "families/balanced_filters"],
    "thresholds per group": ["own_table/promises", "families/constraints"],
    "scores of a vendor": ["own_table/promises"],
    "limits on budget and capacity": ["own_table/offers", "families/offers"],
    "randomised prices": ["own_table/offers", "families/offers"],
    "self-normalised estimator": ["own_table/logs", "families/subsampled_logs", "logs/snips"],
    "downsampled negatives": ["families/subsampled_logs", "own_table/logs"],
    "dates in a column": ["own_table/reading"],
    "missing values": ["own_table/reading", "own_table/columns", "own_table/blanks"],
    "parquet folder": ["own_table/reading", "docs/own_table.html"],
    "plot weights": ["plots/weights"],
    "design effect": ["docs/targets", "reference/glossary"],
    "send the report by mail": ["docs/operations"],
    "kernel mean matching": ["own_table/blanks_answer", "families/selection_bias"],
    "licence": ["/index", "docs/operations"],
    "disk is full": ["docs/troubleshooting"],
    "test my assumption with synthetic copies": ["own_table/rehearsal"],
    "rows of the same household": ["own_table/blanks"],
    "filter candidates without asking their region": [
        "tutorials/panel",
        "own_table/panel",
        "families/balanced_filters",
    ],
    "command line options": ["docs/studies", "reference/parts", "docs/operations"],
    "write a new data set module": ["docs/extending"],
    "slurm memory": ["docs/cluster"],
    "compare two policies": ["tutorials/log", "own_table/logs", "notebooks/clicks"],
    "positive class of the outcome": ["own_table/blanks"],
    "load a saved model": ["own_table/python", "reference/python/common/load"],
    "what does supported mean": ["own_table/blanks", "own_table/blanks_answer"],
}


def first_found(page, asked):
    """Address of the first page that the search finds."""
    page.fill(".md-search__input", "")
    page.wait_for_selector(".md-search-result__item", state="detached")
    # The theme asks at each key that is let go: at the last letter alone, so there is one answer.
    page.keyboard.insert_text(asked[:-1])
    page.keyboard.type(asked[-1])
    found = page.wait_for_selector(".md-search-result__item a", state="attached")
    return found.get_attribute("href")


def test_search_finds_the_wanted_page_first_from_a_file(shown, site):
    with pages.opened(shown, site / "index.html") as (page, _):
        page.wait_for_function("typeof __index === 'object'")
        page.keyboard.press("/")
        wrong = {}
        for asked, wanted in ASKED.items():
            found = first_found(page, asked)
            if f"/{wanted}.html" not in found:
                wrong[asked] = found
        assert not wrong
        # Of those that were not known before, as many as were found then: 10 by the theme's search.
        good = [
            any(one in first_found(page, asked) for one in ASKED_LATER[asked])
            for asked in ASKED_LATER
        ]
        assert sum(good) >= 18, good


@pytest.mark.parametrize("theme", pages.THEMES)
def test_every_page_can_be_read_by_all(shown, site, theme):
    """The text of each page in the frame of one that is open, in either width.

    What a theme or a width alone could spoil are contrasts, what is too wide and what scrolls, so
    all other rules are asked once a page. The pages above hold all of them in every theme and
    width, and that code that scrolls gets its focus from the theme when a page is opened.
    """
    texts = {
        path.relative_to(site).as_posix(): re.search(
            r"<article[^>]*>(.*)</article>", path.read_text(encoding="utf-8"), re.DOTALL
        )[1]
        for path in sorted(site.rglob("*.html"))
        if path.name != "404.html"
    }
    assert len(texts) > 150
    # The light pages are looked at for all rules at 390 px, where what is wide scrolls.
    found, colours, widths = [], theme != pages.THEMES[0], (1440, 390)
    with opened(shown, site / "index.html", theme) as (page, _):
        page.evaluate(ALONE)
        for name, text in texts.items():
            page.evaluate(PUT, text)
            for thin in (False, True):
                if thin:
                    page.evaluate(THIN)
                # The other way round, so that the window changes twice a page.
                for width in widths[::-1] if thin else widths:
                    page.set_viewport_size({"width": width, "height": 900})
                    pages.ask(page, "settled")
                    wide = page.evaluate("document.documentElement.scrollWidth") > width
                    asked = "article", colours or width != 390
                    told = pages.ask(page, "axe", *asked) if thin else []
                    found += [(name, width, one) for one in told + ["too wide"] * wide]
    assert not found
