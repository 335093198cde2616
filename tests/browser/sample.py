"""Pages with every kind of block in them, and the site that they belong to."""

import numpy as np
from counterweight.reporting.blocks import (
    Card,
    Cards,
    Cell,
    ClaimRow,
    Claims,
    Failure,
    Figure,
    Finding,
    Head,
    Link,
    Page,
    Row,
    Section,
    Sentence,
    Site,
    Table,
    Terms,
)
from counterweight.reporting.charts import forms
from matplotlib.figure import Figure as Drawing

COLOURS = (forms.BLUE, forms.ORANGE, forms.GREEN, forms.RED, forms.PURPLE, forms.SKY, forms.GREY)
TERMS = {
    "accuracy": "The share of rows whose class a model says rightly.",
    "AUC": "The chance that a row of the positive class is ranked above one of the negative class.",
    "propensity score": "The chance that a row is labeled, as a model estimates it.",
    "oracle": "A method that knows what the others must estimate: a bound, not a rival.",
}


#: The file of the search, and methods that it finds.
SEARCH = "report/search-all.js"
METHODS = [
    ["Plain regression", "report/adult.html", "in Adult", "adult", "logistic"],
    ["Weighted regression", "report/adult.html", "in Adult", "adult", "logistic-lemma1"],
    ["Shifted mixture", "report/kakadu.html", "in Kakadu", "kakadu", "shifted_mixture"],
    ["Rewarded regression", "report/kakadu.html", "in Kakadu", "kakadu", "rewarded"],
    ["By hospital", "report/adult.html#trust", "in Adult", "ward age smoker", ""],
]


def lines(width=7.0):
    """A drawing with text and lines in every colour of the palette."""
    with forms.figure_look():
        figure = Drawing(figsize=(width, 2.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        x = np.linspace(0, 1, 9)
        for k, colour in enumerate(COLOURS):
            left.plot(x, x**2 + 0.12 * k, color=colour)
            left.text(1.03, 1 + 0.12 * k, f"method {k + 1}", color=colour, va="center", fontsize=8)
        left.set_xlabel("Share of rows kept")
        left.set_ylabel("Accuracy")
        left.grid(color=forms.PALE)
        for k, colour in enumerate(forms.ORDERED):
            right.plot([-0.4 + 0.3 * k], [1.3], "o", color=colour)
        right.set_xlabel("Decile")
    return forms.svg_text(figure)


def spark():
    """A drawing small enough for a card."""
    with forms.figure_look():
        figure = Drawing(figsize=(2.6, 0.7))
        axes = figure.add_axes((0.02, 0.1, 0.96, 0.8))
        axes.hlines([0, 1], [0.2, 0.4], [0.6, 0.9], color=forms.BLUE)
        axes.plot([0.4, 0.65], [0, 1], "o", color=forms.ORANGE)
        axes.axvline(0.5, color=forms.PALE)
        axes.set_axis_off()
    return forms.svg_text(figure)


def wide_table(rows=6, fold=""):
    """A table with groups, marks, grades and intervals in ten columns."""
    names = ("Accuracy", "AUC", "Brier score", "Log loss", "Labeled rows", "Cost", "Spread", "Bias")
    head = (Head("Method"), *map(Head, names), Head("Covered", "Intervals that hold the truth."))
    marks = ("main", "baseline", "", "oracle", "", "failed")
    body = []
    for k in range(rows):
        cells = [Cell(f"{0.7 + k / 50 + j / 100:.3f}", "[0.701, 0.755]") for j in range(7)]
        tone = ("up", "down", "")[k % 3]
        cells.append(Cell(f"\N{MINUS SIGN}0.0{k}", "[\N{MINUS SIGN}0.1, 0.1]", tone=tone))
        cells.append(Cell("93 %", "judged by 95 %", grade=("good", "fair", "poor")[k % 3]))
        mark = marks[k % len(marks)]
        failed = mark == "failed"
        body.append(
            Row(
                f"method {k + 1} with rather a long label",
                () if failed else tuple(cells),
                group=("Weighted by the propensity score" if k == 0 else "Others" * (k == 3)),
                mark=mark,
                best=k == 0,
                reason="The file of the data set was not there." if failed else "",
            )
        )
    csv = Link("These numbers as CSV", "tables/study.csv")
    return Table("Means over 20 random splits", head, tuple(body), "Of 98 rows.", csv, fold)


def claims(filters):
    """One claim of each verdict."""
    verdicts = (
        "holds",
        "holds by construction",
        "holds where it could be decided",
        "does not hold",
        "depends: see Adult",
        "undecided",
        "cannot be tested",
    )
    return Claims(
        tuple(
            ClaimRow(
                f"c{k}",
                ("A paper of 2004", "Another paper of 2011")[k % 2],
                "Weighting by the propensity score makes the accuracy higher than without.",
                "table 3",
                verdict,
                "+1.2 points" if k < 4 else "",
                "[0.4, 2.0]" if k < 4 else "",
                ("On Adult: holds, +1.2 points.", "On Kakadu: undecided."),
                "generated" if k == 4 else "",
            )
            for k, verdict in enumerate(verdicts)
        ),
        filters,
    )


def study(path, title, group, many=6):
    """A page of a study, with every kind of block but the index's and the glossary's."""
    figure = Figure(
        "curve",
        "Accuracy rises with the rows kept",
        "Means of 20 random splits with their 95 % intervals.",
        "Seven rising curves beside a heatmap of deciles",
        lines(),
        lines(3.4),
        (Link("CSV", "tables/curve.csv"),),
    )
    cards = (
        Card("Gain over the baseline", "+2.4 points", "[1.1, 3.7]", "in accuracy", ""),
        Card("Intervals that cover", "93 %", "[88, 97]", "judged by 95 %", "good"),
        Card("Rows labeled", "1,204", "", "of 30,162 rows"),
        Card("Bias", "0.04", "[0.01, 0.07]", "beyond what chance allows", "poor"),
    )
    plain = Figure("plain", "A figure without a narrow one", "", "Lines", lines())
    slim = (Row("Labeled", (Cell("1,204"),)), Row("Not labeled", (Cell("28,958"),)))
    failure = Failure(
        study=title,
        source="cost <b>",
        stage="train",
        first="No rows left.",
        lines="ERROR: no rows left\n  in fold 3",
        log="logs/train.log",
        advice="Run again.",
    )
    return Page(
        path,
        title,
        (
            Sentence("Yes: weighting raises the accuracy by 2.4 points [1.1, 3.7].", "answer"),
            Cards(cards),
            figure,
        ),
        (
            Section(
                "How the methods compare",
                (
                    wide_table(many),
                    Table("Rows", (Head("What"), Head("Rows")), slim),
                    Section("In detail", (wide_table(3, "All 3 rows"), cards[0])),
                ),
            ),
            Section(
                "How far to trust it",
                (
                    Sentence("The oracle knows each propensity score; AUC is <not> affected."),
                    Sentence("One split failed.", "warning"),
                    Sentence("Both hold by chance alone in one of twenty.", "quiet"),
                    failure,
                    Link("All measurements", "tables/all.csv", "as CSV"),
                    Link("The glossary", "report/glossary.html#term-auc"),
                    Link("How the methods compare", "#how-the-methods-compare"),
                ),
                id="trust",
            ),
            Section("Claims", (claims(False),)),
            Section("More figures", (plain,), fold=True),
        ),
        group=group,
        banner="Generated data: not a result about the real world.",
        lead="Do weights help where labels were chosen by a rule?",
    )


def pages(studies=("adult", "kakadu"), many=6):
    """An index, studies, claims and the glossary; the site that knows them all."""
    study_pages = [
        study(f"report/{name}.html", f"{name.title()}: labels by a rule", "Sample selection", many)
        for name in studies
    ]
    findings = tuple(
        Finding(page.title, page.path, page.lead, page.blocks[0].text, spark())
        for page in study_pages
    )
    index = Page(
        "report.html",
        "What was found",
        (Sentence("Weights help in two of two studies.", "answer"), *findings),
        (Section("Files", (Link("All tables", "tables/all.csv"),)),),
    )
    claimed = Page("report/claims.html", "Claims of the papers", (claims(True),))
    glossary = Page("report/glossary.html", "Glossary", (Terms(tuple(TERMS.items())),))
    made = [index, *study_pages, claimed, glossary]
    entries = [
        {"title": page.title, "path": page.path, "group": page.group, "words": "census income"}
        for page in made
    ]
    facts = ("Generated data", "seed 1")
    names = {"accuracy": "share_right", "oracle": "known"}
    told = tuple(entries), TERMS, facts, (SEARCH,), names
    return made, Site("Report on the studies", "0.11.0", *told)


def write(folder, made, site):
    """The pages as files, as a run leaves them, the whole in one file among them."""
    from counterweight.reporting.assemble import write_pages
    from counterweight.reporting.render import render_one

    write_pages(made, site, folder, SEARCH, METHODS)
    (folder / "report_whole.html").write_text(render_one(made, site), encoding="utf-8")
    for name in ("study", "all", "curve"):
        table = folder / "tables" / f"{name}.csv"
        table.parent.mkdir(exist_ok=True)
        table.write_text("a\n1\n")
