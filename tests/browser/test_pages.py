"""The pages of a report in a real browser."""

from dataclasses import replace

import pages
import pytest
import sample

pytestmark = pytest.mark.skipif(bool(pages.missing()), reason=pages.missing() or "-")

BAD = """<!doctype html><html lang="en"><head><title>Bad</title></head><body><main>
<h1>Bad</h1><h3>Too deep</h3><a href="nowhere.html">a</a><a href="#nowhere">b</a>
<p>Dark</p><p style="color:#bbb;background:#fff">Pale</p><div style="width:900px">Wide</div>
<svg viewBox="0 0 100 20" width="300"><rect width="100" height="20" fill="#222"/>
<text y="15" fill="#444">dark on dark</text></svg>
<img src="picture.png"><script>missing()</script></main></body></html>"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    sample.write(folder, *sample.pages())
    return folder


@pytest.mark.parametrize("name", ["report.html", "adult.html", "claims.html", "glossary.html"])
def test_nothing_is_wrong_with_a_page(shown, results, name):
    path = next(path for path in pages.files(results) if path.name == name)
    assert pages.check_page(shown, path) == []


def test_nothing_is_wrong_with_all_in_one_file(shown, results):
    assert pages.check_page(shown, results / "report_whole.html", (360, 1440), ("dark",)) == []
    assert pages.sizes_wrong(results) == []


def test_what_is_wrong_is_found(shown, tmp_path):
    (tmp_path / "bad.html").write_text(BAD)
    found = "\n".join(pages.check_page(shown, tmp_path / "bad.html", (390,), ("light",)))
    for text in (
        "missing is not defined",
        "picture.png",
        "sticks out: page to 9",
        "color-contrast",
        "image-alt",
        "low contrast: dark on dark",
        "h3 after h1: Too deep",
        "no such file: nowhere.html",
        "no such place: #nowhere",
    ):
        assert text in found


def test_search_is_worked_from_the_keyboard(shown, results):
    with pages.opened(shown, results / "report/adult.html") as (page, _):
        page.keyboard.press("/")
        page.keyboard.type("kakadu")
        page.wait_for_function("document.querySelectorAll('#find li').length > 1")
        first = page.locator("#find li").first
        assert first.inner_text() == "Kakadu: labels by a rule\nSample selection"
        assert not page.locator("#list").is_visible()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/kakadu.html")
    with pages.opened(shown, results / "report/adult.html", 390) as (page, problems):
        page.keyboard.press("/")
        page.keyboard.type("how far trust")
        page.keyboard.press("Enter")
        page.wait_for_url("**#trust")
        page.keyboard.press("/")
        page.keyboard.type("nothing like it")
        assert page.locator("#find p").inner_text() == "Nothing found"
        page.keyboard.press("Escape")
        assert page.locator("#list").is_visible()
        assert problems == []


#: What is typed, and the title of the first hit: pages, sections, tables, methods, terms,
#: claims, files, figures, and what was run.
QUERIES = {
    "adult": "Adult: labels by a rule",
    "Kakadu": "Kakadu: labels by a rule",
    "kakadu labels": "Kakadu: labels by a rule",
    "what was found": "What was found",
    "claims of": "Claims of the papers",
    "gloss": "Glossary",
    "how the methods compare": "How the methods compare",
    "methods compare": "How the methods compare",
    "trust": "How far to trust it",
    "how far": "How far to trust it",
    "more figures": "More figures",
    "in detail": "In detail",
    "files": "Files",
    "accuracy": "accuracy",
    "AUC": "AUC",
    "auc": "AUC",
    "propensity": "propensity score",
    "propensity score": "propensity score",
    "oracle": "oracle",
    "share_right": "accuracy",
    "c0": "c0",
    "C3": "c3",
    "c6": "c6",
    "logistic": "Plain regression",
    "logistic-lemma1": "Weighted regression",
    "shifted_mixture": "Shifted mixture",
    "weighted regression": "Weighted regression",
    "shifted": "Shifted mixture",
    "means over 20": "Means over 20 random splits",
    "rival": "oracle",
    "ward": "By hospital",
    "seed": "What was run: data, seed, versions, commit",
    "all.csv": "All tables",
    "accuracy rises": "Accuracy rises with the rows kept",
    "proprensity": "propensity score",
    "weihgted regresion": "Weighted regression",
}


@pytest.mark.parametrize("name", ("report.html", "report/kakadu.html"))
def test_queries_find_what_is_wanted_first(shown, results, name):
    with pages.opened(shown, results / name) as (page, problems):
        page.locator("#find input").focus()
        page.wait_for_function("self.found && self.found.length > 20")
        found = {}
        for typed in QUERIES:
            page.fill("#find input", typed)
            hits = page.locator("#find li a")
            found[typed] = (
                hits.first.evaluate("e => e.firstChild.textContent") if hits.count() else ""
            )
        assert found == QUERIES and problems == []
        page.fill("#find input", "c3")
        page.locator("#find li a").first.click()
        page.wait_for_url("**#claim-c3")


def test_a_misspelt_word_is_told_and_a_place_stands_once(shown, results):
    with pages.opened(shown, results / "report.html") as (page, _):
        page.locator("#find input").focus()
        page.wait_for_function("self.found && self.found.length > 20")
        page.fill("#find input", "Weihgted regression")
        assert page.locator("#find p").inner_text().endswith(" for “weighted regression”")
        places = page.locator("#find li a").evaluate_all("all => all.map(e => e.href)")
        assert len(places) == len({*places}) > 1
        page.fill("#find input", "zzxxqq")
        assert page.locator("#find p").inner_text() == "Nothing found"


def test_a_page_that_a_stopped_run_has_not_written_is_not_found(shown, tmp_path):
    made, site = sample.pages()
    missing = {"title": "Never written", "path": "report/never.html", "group": "", "words": ""}
    sample.write(tmp_path, made, replace(site, entries=(*site.entries, missing)))
    with pages.opened(shown, tmp_path / "report/adult.html") as (page, _):
        page.locator("#find input").focus()
        page.wait_for_function("self.found && self.found.length > 20")
        page.fill("#find input", "never written")
        assert page.locator("#find li a[href*=never]").count() == 0


def test_tables_sort_by_a_click(shown, results):
    with pages.opened(shown, results / "report/adult.html") as (page, _):
        table = page.locator("main .sheet table").first
        column = "rows => rows.map(r => r.cells[1] ? parseFloat(r.cells[1].textContent) : NaN)"
        cells = table.locator("tbody").nth(1).locator("tr:not(.group)")
        before = cells.evaluate_all(column)
        button = table.locator("thead th").nth(1).locator(".sort")
        button.click()
        sorted_down = [one for one in cells.evaluate_all(column) if one == one]
        assert sorted_down == sorted(sorted_down, reverse=True)
        button.click()
        assert [one for one in cells.evaluate_all(column) if one == one] == sorted_down[::-1]
        button.click()
        after = cells.evaluate_all(column)
        assert [one for one in after if one == one] == [one for one in before if one == one]


def test_headings_and_figures_have_links_to_themselves(shown, results):
    with pages.opened(shown, results / "report/adult.html") as (page, _):
        for what in ("main :is(h2,h3)[id]", "main figure[id]"):
            ids = page.locator(what).evaluate_all("all => all.map(e => e.id)")
            links = page.locator("main a.self").evaluate_all(
                "all => all.map(e => e.getAttribute('href').slice(1))"
            )
            assert ids and {*ids} <= {*links}


@pytest.mark.parametrize("name", ("report/adult.html", "report_whole.html"))
def test_the_place_where_one_is_is_marked(shown, results, name):
    place = "trust" if "adult" in name else "page-kakadu"
    with pages.opened(shown, results / name) as (page, _):
        page.locator(f"#{place}").evaluate("e => scrollTo({top: e.offsetTop, behavior: 'instant'})")
        page.wait_for_selector(f'#list [aria-current=location][href="#{place}"]')
        assert page.locator("#list [aria-current=location]").count() == 1
        own = page.locator("#list [aria-current=page]").all_inner_texts()
        assert own == (["Adult: labels by a rule"] if "adult" in name else [])


def test_a_chosen_theme_stays(shown, results):
    paint = "getComputedStyle(document.body).backgroundColor"
    with pages.opened(shown, results / "report.html") as (page, _):
        light = page.evaluate(paint)
        page.click("#theme")
        dark = page.evaluate(paint)
        page.goto((results / "report/adult.html").as_uri())
        assert page.evaluate(paint) == dark != light
    with pages.opened(shown, results / "report.html", theme="dark") as (page, _):
        assert page.evaluate(paint) == dark
        page.click("#theme")
        assert page.evaluate(paint) == light


def test_a_term_is_explained_on_focus_hover_and_tap(shown, results):
    told = sample.TERMS["accuracy"]
    with pages.opened(shown, results / "report/adult.html") as (page, _):
        term, tip = page.locator("a.term", has_text="accuracy").first, page.locator("#tip")
        term.focus()
        assert tip.inner_text() == told and term.get_attribute("aria-describedby") == "tip"
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        term.hover()
        assert tip.inner_text() == told
        term.click()
        page.wait_for_url("**/glossary.html#term-accuracy")
    options = {"has_touch": True, "is_mobile": True}
    with pages.opened(shown, results / "report/adult.html", 390, **options) as (page, _):
        page.locator("a.term", has_text="accuracy").first.tap()
        assert page.locator("#tip").inner_text() == told and "adult" in page.url


def test_claims_are_narrowed(shown, results):
    with pages.opened(shown, results / "report/claims.html") as (page, _):
        claims = page.locator("main li[id]:visible")
        assert claims.count() == 7
        page.select_option("[name=verdict]", "holds")
        assert claims.count() == 1 and page.locator(".filters output").inner_text() == "1 of 7"
        page.select_option("[name=verdict]", "")
        page.select_option("[name=paper]", "A paper of 2004")
        assert claims.count() == 4 and page.locator(".paper:visible").count() == 1
        page.fill("[name=word]", "undecided weighting")
        assert claims.count() == 1 + 3  # the word stands in the details of all


def test_all_is_said_without_scripts(shown, results):
    for name in ("report/adult.html", "report/claims.html"):
        with pages.opened(shown, results / name, 390, java_script_enabled=False) as (page, _):
            page.locator("#side > summary").click()
            assert page.locator("#list a:visible").count() >= 4
            assert not page.locator("#find, #theme, .filters").filter(visible=True).count()
        with pages.opened(shown, results / name, java_script_enabled=False) as (page, _):
            assert page.locator("#list > ul a").first.is_visible()
            assert page.locator("main li[id]:visible").count() == 7


def test_a_phone_is_given_cards_and_the_narrow_figure(shown, results):
    with pages.opened(shown, results / "report/adult.html", 390) as (page, _):
        cell = page.locator("td", has_text="0.700").first
        label = cell.evaluate("e => getComputedStyle(e, '::before').content")
        assert label == '"Accuracy"'
        assert page.locator("figure .narrow").first.is_visible()
        assert not page.locator("figure .wide").first.is_visible()
        assert page.locator("table.slim thead").is_visible()


def test_print_has_no_contents_and_open_folds(shown, results):
    with pages.opened(shown, results / "report/adult.html", theme="dark") as (page, _):
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert not page.locator("nav").is_visible()
        assert page.locator("main details:not([open])").count() == 0
        assert page.locator(".narrow").first.is_visible() is False
        # A head that a browser repeats on the next sheet leaves out what is a box of its own.
        boxes = page.locator("thead button.term")
        kinds = boxes.evaluate_all("all => all.map(one => getComputedStyle(one).display)")
        assert kinds and {*kinds} == {"contents"}
        ink = page.evaluate("getComputedStyle(document.body).color")
        assert max(map(int, ink[4:-1].split(","))) < 60
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("main details[open]").count() == 0
    assert pages.paper(shown, results / "report_whole.html") <= 8
