"""The pages of the docs in a real browser: opened as files, without a network."""

import os
import subprocess
import sys
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("material", reason="the extra docs is not installed")
pytestmark = pytest.mark.skipif(bool(pages.missing()), reason=pages.missing() or "-")
LOOKED_AT = [
    "index.html",
    "docs/families/offers.html",
    "reference/python/constraints/ConstrainedClassifier.html",
]


@pytest.fixture(scope="module")
def shown():
    with pages.browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    place = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NO_MKDOCS_2_WARNING": "1"},
        check=True,
    )
    return place


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


@pytest.mark.parametrize(
    ("asked", "page_of"),
    [
        ("ConstrainedClassifier", "ConstrainedClassifier"),
        ("gamma_curve", "gamma_curve"),
        ("disclosivity", "SplitTreeProxy"),
        ("effective_sample_size", "effective_sample_size"),
    ],
)
def test_search_finds_from_a_file(shown, site, asked, page_of):
    with pages.opened(shown, site / "index.html") as (page, _):
        page.wait_for_function("typeof __index === 'object'")
        page.keyboard.press("/")
        page.keyboard.type(asked)
        first = page.wait_for_selector(".md-search-result__item h1", state="attached")
        assert page_of in first.text_content()
