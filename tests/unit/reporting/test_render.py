"""Pages as HTML: what they say, where links lead, how figures stand in them."""

import json
import re
from html.parser import HTMLParser

import pytest
import sample
from counterweight.reporting import blocks
from counterweight.reporting import render as rendering
from counterweight.reporting.blocks import (
    Cell,
    Claims,
    Head,
    Link,
    Page,
    Row,
    Section,
    Sentence,
    Site,
    Table,
)
from counterweight.reporting.charts import forms
from counterweight.reporting.render import (
    TEMPLATES,
    latex,
    latex_escaped,
    render,
    render_one,
    search_file,
    slug,
    verdict,
)

VOID = {"meta", "link", "input", "br", "img"}


class Reader(HTMLParser):
    """Elements of a page; open ones must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.said = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.said.append(data)

    def all(self, tag, key):
        return [a[key] for name, a in self.elements if name == tag and key in a]

    @property
    def words(self):
        return " ".join(" ".join(self.said).split())


@pytest.fixture(scope="module")
def site():
    return sample.pages()[1]


@pytest.fixture(scope="module")
def made():
    return sample.pages()[0]


@pytest.fixture(scope="module")
def texts(made, site):
    return {page.path: render(page, site) for page in made} | {"whole": render_one(made, site)}


def small(*blocks, path="report/x.html", terms=None, entries=()):
    """The page of some blocks, read."""
    page = Page(path, "A page", blocks)
    return Reader(render(page, Site("Report", "1", tuple(entries), terms or {})))


def test_all_that_was_given_is_said(texts):
    words = Reader(texts["report/adult.html"]).words
    for text in (
        "Adult: labels by a rule",
        "Do weights help where labels were chosen by a rule?",
        "Generated data: not a result about the real world.",
        "weighting raises the accuracy by 2.4 points [1.1, 3.7].",
        "+2.4 points",
        "judged by 95 %",
        "Accuracy rises with the rows kept",
        "Means of 20 random splits",
        "method 1 with rather a long label best",
        "baseline",
        "bound",
        "The file of the data set was not there.",
        "All 3 rows",
        "Failed: train of cost <b> in Adult",
        "ERROR: no rows left",
        "logs/train.log",
        "does not hold",
        "depends: see Adult",
        "On Adult: holds, +1.2 points.",
        "AUC is <not> affected",
        "seed 1",
        "version 0.11.0",
    ):
        assert text in re.sub(r" ([,.;])", r"\1", words)


def test_pages_are_well_formed_and_ids_stand_once(texts):
    for text in texts.values():
        page = Reader(text)
        ids = [a["id"] for _, a in page.elements if "id" in a]
        assert len(ids) == len(set(ids))
        named = [a[k] for _, a in page.elements for k in ("aria-labelledby",) if k in a]
        assert set(named) <= set(ids)
        assert {t for t in page.all("use", "href")} <= {f"#{name}" for name in ids}
        assert len([1 for tag, _ in page.elements if tag == "h1"]) == 1


def test_nothing_is_loaded_from_anywhere(texts):
    for text in texts.values():
        page = Reader(text)
        assert page.all("script", "src") == page.all("img", "src") == []
        assert page.all("link", "href") == ["data:,"]
        images = page.all("image", "href")
        assert all(image.startswith("data:image/png") for image in images)
        assert "@import" not in text and "url(http" not in text


def test_the_same_page_is_the_same_text(made, site, texts):
    assert render(made[1], site) == texts[made[1].path]


def test_links_are_relative_to_the_folder_of_the_page(texts):
    links = Reader(texts["report/adult.html"]).all("a", "href")
    for target in ("../tables/all.csv", "../report.html", "glossary.html#term-auc", "kakadu.html"):
        assert target in links
    assert "report/adult.html" in Reader(texts["report.html"]).all("a", "href")
    page = small(Link("Site", "https://example.org/a"), Link("Own", "report/x.html"))
    assert page.all("a", "href")[1:] == ["https://example.org/a", "#main"]


def test_in_one_file_links_lead_to_places_in_it(texts):
    page = Reader(texts["whole"])
    ids = {a["id"] for _, a in page.elements if "id" in a}
    places = [target for target in page.all("a", "href") if target.startswith("#")]
    assert {target[1:] for target in places} <= ids
    assert {"#page-adult", "#glossary-term-auc", "#adult-how-the-methods-compare"} <= set(places)
    # It is sent alone: what is not in it is named, and no link leads there.
    assert places == page.all("a", "href")
    assert "All tables: <code>tables/all.csv</code>" in texts["whole"]
    assert "Files named by their path" in texts["whole"]
    assert "Download:" not in texts["whole"] and "Download:" in texts["report/adult.html"]


def test_headings_stand_in_order(texts):
    for text in texts.values():
        levels = [int(tag[1]) for tag, _ in Reader(text).elements if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        assert all(low <= high + 1 for high, low in zip(levels, levels[1:], strict=False))


def test_contents_name_the_page_and_its_sections(texts):
    page = Reader(texts["report/adult.html"])
    here = [a for _, a in page.elements if a.get("aria-current") == "page"]
    assert [a["href"] for a in here] == ["#main"]
    assert page.all("nav", "aria-label") == ["Contents"]
    plain = [a["href"] for tag, a in page.elements if tag == "a" and a.get("class") != "self"]
    assert "#trust" in plain and "#how-the-methods-compare" in plain
    assert "#in-detail" not in plain and "#in-detail" in page.all("a", "href"), "its own link"


def test_the_search_knows_all_entries_and_cannot_break_out(site):
    entry = {"title": "</script><b>", "path": "report/y.html", "group": "", "words": "é"}
    text = render(Page("report/x.html", "x"), Site("R", "1", (entry,), facts=("Seed 1.",)))
    inside = re.search(r'id="places">(.*?)</script>', text).group(1)
    entries = [["</script><b>", "report/y.html", "", "é", ""]]
    entries += [[rendering.WHAT_RAN, "report/x.html#foot", "on this page", "seed 1.", ""]]
    assert json.loads(inside) == {"root": "..", "pages": entries, "files": []}
    told = search_file([["</script>", "report/y.html", "", "", ""]])
    assert "</script>" not in told and told.startswith("(self.found")


def test_terms_are_explained_at_first_use_only():
    terms = {"AUC": "Area.", "oracle": "It knows.", "log loss": "Nats.", "loss": "Wrong."}
    glossary = {"title": "Glossary", "path": "report/glossary.html", "group": ""}
    page = small(
        Sentence("Oracles have a log loss. The oracle, the auc and an AUC; glossary."),
        Sentence("An AUC and log losses again, and a loss."),
        terms=terms,
        entries=(glossary,),
    )
    told = [a for tag, a in page.elements if a.get("class") == "term"]
    assert [a["title"] for a in told] == ["It knows.", "Nats.", "Area.", "Wrong."]
    assert told[1]["href"] == "glossary.html#term-log-loss"
    assert "the auc and an AUC" in page.words
    without = small(Sentence("An AUC."), terms=terms)
    assert [tag for tag, a in without.elements if a.get("class") == "term"] == ["button"]
    same = small(Sentence("An AUC."), path=glossary["path"], terms=terms, entries=(glossary,))
    assert not [a for _, a in same.elements if a.get("class") == "term"]


def test_heads_are_explained_in_every_table(texts):
    page = Reader(texts["report/adult.html"])
    told = [a["title"] for _, a in page.elements if a.get("class") == "term"]
    assert told.count("Intervals that hold the truth.") == 2


def test_tables_say_what_their_cells_are(texts):
    page = Reader(texts["report/adult.html"])
    assert set(page.all("th", "scope")) == {"col", "row", "rowgroup"}
    count = [tag for tag, _ in page.elements].count
    assert count("caption") == count("table") == 3
    assert "▲ better, ▼ worse" in page.words


def test_text_is_left_numbers_right_and_cards_are_labeled():
    rows = tuple(Row(f"r{k}", (Cell("word"), Cell(f"{k}.5", "[0, 1]"), Cell(""))) for k in "12")
    head = (Head("Name"), Head("Kind"), Head('A "value" </style>'), Head("None"))
    text = render(Page("x.html", "x", (Table("T", head, rows),)), Site("R", "1"))
    assert "#t :is(th,td):nth-child(2){text-align:left}" in text
    assert "#t :is(th,td):nth-child(3){text-align:left}" not in text
    assert 'td:nth-child(2)::before{content:"Kind"}' in text
    assert text.count("</style>") == 1
    assert r'content:"A \22 value\22  \3c \2f style\3e "' in text


def test_a_narrow_table_stays_a_table_on_a_phone():
    rows = (Row("rows", (Cell("12"), Cell("+3", "[1, 5]"))),)
    head = (Head("Name"), Head("Before"), Head("After"))
    assert "slim" in small(Table("T", head, rows)).all("table", "class")
    long = (Row("rows", (Cell("12"), Cell("a text that fills a line of its own"))),)
    assert not small(Table("T", head, long)).all("table", "class")


def test_a_table_too_broad_for_paper_is_marked():
    for columns, marks in ((10, []), (11, ["broad"])):
        head = tuple(Head(f"Column {k}") for k in range(columns))
        rows = (Row("rows", tuple(Cell(f"{k}.25", "[1, 5]") for k in range(columns - 1))),)
        assert small(Table("T", head, rows)).all("table", "class") == marks
        # In print its rows are cards, so that no column is cut.
        text = render(Page("x.html", "x", (Table("T", head, rows),)), Site("R", "1"))
        labels = re.findall(r"@media print\{((?:#\S+ \S+\{content:\"[^\"]*\"\})+)\}", text)
        assert [one.count("content:") for one in labels] == [10] * len(marks)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("90.0 % of 5 rows", "90.0~% of 5 rows"),
        ("at Γ = 2, or p = .03", "at Γ~=~2, or p~=~.03"),
        ("0.2 [−.1, +.25] nats", "0.2 [−.1,~+.25] nats"),
        ("α ≤ 0.3 and ≤ 1,000", "α~≤~0.3 and ≤~1,000"),
        ("+4.3 points, 3 MB", "+4.3~points, 3~MB"),
        (
            "<b title='2 %'>2 %</b> <code>k = 2 %</code>",
            "<b title='2 %'>2~%</b> <code>k = 2 %</code>",
        ),
        ("[a, b] and y = yes", "[a, b] and y = yes"),
    ],
)
def test_no_line_breaks_between_a_number_and_its_unit(text, kept):
    assert rendering.unbroken(text) == kept.replace("~", "\u00a0")


def test_pages_keep_numbers_with_their_units():
    text = render(Page("x.html", "x", (Sentence("It is 90.0 % at Γ = 2."),)), Site("R", "1"))
    assert "90.0\u00a0% at Γ\u00a0=\u00a02." in text


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("holds", "holds", "yes"),
        ("holds where it could be decided", "holds where it could be decided", "part"),
        ("holds by construction", "holds by construction", "none"),
        ("does not hold", "does not hold", "no"),
        ("depends: see Adult", "depends", "part"),
        ("undecided", "undecided", "none"),
        ("cannot be tested", "cannot be tested", "none"),
        ("something else", "something else", "none"),
    ],
)
def test_verdicts_have_a_word_a_kind_and_a_sign(text, name, kind):
    found = verdict(text)
    assert (found["name"], found["kind"]) == (name, kind)
    assert found["sign"] or name == "something else"


def test_claims_stand_by_paper_with_filters_only_where_asked(texts):
    page = Reader(texts["report/claims.html"])
    assert page.all("option", "value") == ["", ""]
    verdicts = page.all("li", "data-verdict")
    assert len(verdicts) == len(set(verdicts)) == 7
    papers = page.all("li", "data-paper")
    assert papers == sorted(papers, key=papers.index)
    assert not Reader(texts["report/adult.html"]).all("option", "value")
    assert small(Claims((), True)).words


def test_what_is_no_block_is_refused():
    with pytest.raises(TypeError, match="str is no block"):
        small("words")
    with pytest.raises(TypeError, match="Head is no block"):
        small(Section("A", (Head("b"),)))


def test_the_shell_is_small(texts):
    parts = [(TEMPLATES / name).stat().st_size for name in ("style.css", "words.js", "script.js")]
    assert sum(parts) < 30_000
    assert len(render(Page("x.html", "x"), Site("R", "1"))) < 30_000


# Figures


def drawn(text, prefix="p", alt="What is drawn"):
    colours = rendering.Colours()
    return rendering.inline_svg(text, prefix, alt, colours), colours


def test_a_figure_becomes_small_and_keeps_its_text():
    text = sample.lines()
    made, _ = drawn(text)
    assert len(made) < 0.75 * len(text)
    assert made.startswith('<svg viewBox="0 0 504 ') and "<?xml" not in made
    assert 'role="img" aria-label="What is drawn"><title>What is drawn</title>' in made
    said = re.findall(r">([^<>]+)</text>", made)
    assert said == re.findall(r">([^<>]+)</text>", text)
    assert "metadata" not in made and "DejaVu" not in made and "<style" not in made
    numbers = re.findall(r"\.(\d+)", re.sub(r'href="data:[^"]*"', "", made))
    assert max(map(len, numbers)) <= 2
    assert 'aria-hidden="true"' in drawn(text, alt="")[0]


def test_ids_are_unique_by_their_prefix_and_only_those_that_are_used():
    made, _ = drawn(sample.lines(), "fig-a")
    ids = re.findall(r' id="([^"]*)"', made)
    used = set(re.findall(r"#(fig-a-\d+)", made))
    assert set(ids) == used and all(name.startswith("fig-a-") for name in ids)


def test_what_nobody_sees_goes_and_styles_are_said_once():
    shape = '<path d="M0 0 L1.23 2z" style="fill: {}; opacity: 0.5"/>'
    ground = '<path d="M0 0 L9 9z" style="fill: none"/>'
    text = (
        f'<svg viewBox="0 0 9 9"><g>{ground}<g>{shape.format("#0072b2") * 2}</g>'
        f'<g clip-path="url(#a)">{shape.format("#ffffff")}</g></g></svg>'
    )
    made, colours = drawn(text.replace("<g>", '<defs><clipPath id="a"/></defs><g>', 1))
    assert made.count("<path") == 3 and made.count('class="s0"') == 2
    assert made.count("<g") == 1 and '<g clip-path="url(#p-0)">' in made
    assert colours.rules() == (
        ".s0{fill:var(--c0072b2);opacity:0.5}.s1{fill:var(--cffffff);opacity:0.5}"
    )


PALETTE = (*sample.COLOURS, forms.INK, forms.PALE, *forms.ORDERED, forms.RED_TEXT, "#5da5ce")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("colour", PALETTE)
def test_text_can_be_read_on_the_page_in_both_themes(colour, theme):
    text = rendering.text_colour(colour, theme)
    assert all(rendering.contrast(text, ground) >= 4.5 for ground in rendering.GROUNDS[theme])


@pytest.mark.parametrize("colour", [c for c in PALETTE if c != forms.PALE])
def test_lines_are_seen_on_a_dark_page(colour):
    line = rendering.line_colour(colour, "dark")
    lightest = colour == forms.ORDERED[0]
    assert rendering.contrast(line, rendering.GROUNDS["dark"][0]) >= (2 if lightest else 3)


def test_ordered_shades_keep_their_order_in_the_dark():
    grounds = [rendering.GROUNDS[theme][0] for theme in ("light", "dark")]
    for theme, ground in zip(("light", "dark"), grounds, strict=True):
        steps = [rendering.contrast(rendering.line_colour(c, theme), ground) for c in forms.ORDERED]
        assert steps == sorted(steps)


def test_contrast_is_that_of_the_guidelines():
    assert rendering.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert rendering.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


def test_slugs_are_plain():
    assert slug("What should I charge? (2)") == "what-should-i-charge-2"
    assert slug("\N{ALMOST EQUAL TO}") == "part"


# Tables in LaTeX.


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a & b_1 #3 $5 50 % {x}", r"a \& b\_1 \#3 \$5 50 \% \{x\}"),
        ("a\\b ~ ^", r"a\textbackslash{}b \textasciitilde{} \textasciicircum{}"),
        ("−0.2 – 0.3, ±1, p ≤ 2", r"$-$0.2 -- 0.3, $\pm$1, p $\le$ 2"),
        ("(α,β)-proxy, Γ", r"($\alpha$,$\beta$)-proxy, $\Gamma$"),
        ("Köln “so”", "Köln ``so''"),
    ],
)
def test_what_latex_reads_otherwise_is_escaped(text, said):
    assert latex_escaped(text) == said


def page(*tables):
    section = blocks.Section("Results", tables, "results")
    other = blocks.Section("Details", (table("Elsewhere"),), "details")
    return blocks.Page("report/toy_study.html", "A toy", (), (section, other))


def table(caption="Accuracy, 50 % & more"):
    rows = (
        blocks.Row("plain", (blocks.Cell("0.5", "[0.4, 0.6]"), blocks.Cell("−1")), "first"),
        blocks.Row("best_one", (blocks.Cell("0.7"), blocks.Cell("2")), best=True),
        blocks.Row("all", (blocks.Cell("0.9"), blocks.Cell("–")), mark="oracle"),
        blocks.Row("lost", mark="failed", reason="it broke & ended"),
    )
    head = (blocks.Head("Method"), blocks.Head("Accuracy"), blocks.Head("In print"))
    return blocks.Table(caption, head, rows, note="n = 10.")


def test_a_table_is_told_whole():
    text = latex(page(table()))
    lines = text.splitlines()
    assert "\\begin{tabular}{lrr}" in lines and "Method & Accuracy & In print \\\\" in lines
    assert "\\multicolumn{3}{l}{\\textit{first}} \\\\" in lines
    assert "plain & 0.5 [0.4, 0.6] & $-$1 \\\\" in lines
    assert "\\textbf{best\\_one} & \\textbf{0.7} & \\textbf{2} \\\\" in lines
    assert "all \\dag{} & 0.9 & -- \\\\" in lines
    assert "lost & \\multicolumn{2}{l}{it broke \\& ended} \\\\" in lines
    assert "\\label{tab:toy_study-1}" in lines and "Elsewhere" not in text
    assert "n = 10. \\dag{} sees what is hidden" in text


def test_lines_have_all_cells_and_braces_close():
    text = latex(page(table(), table("Another")))
    assert text.count("\\begin{table}") == text.count("\\end{table}") == 2
    for line in text.splitlines():
        if line.endswith("\\\\"):
            spans = sum(int(k) - 1 for k in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + spans == 2, line
    bare = re.sub(r"\\[{}]", "", text)
    assert bare.count("{") == bare.count("}")


def test_a_page_without_tables_says_so():
    assert "no table" in latex(page())
