"""The vocabulary of pages: what a page may be made of, whoever says it.

Everything is plain text: the templates escape it. A page is a tree of sections, each a list of
blocks in the order in which they are read.
"""

from dataclasses import dataclass, field

#: How a value came out beside a bound that was given for it: never without what it is judged by.
GRADES = ("good", "fair", "poor")


@dataclass(frozen=True)
class Sentence:
    """A sentence or two. ``tone``: "" , "answer" (large, first), "warning", "quiet"."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Link:
    """A place to go: relative to the folder of results, with what stands there."""

    text: str
    href: str
    note: str = ""


@dataclass(frozen=True)
class Card:
    """One number that matters, with its interval and what it means."""

    label: str
    value: str
    interval: str = ""
    note: str = ""
    grade: str = ""


@dataclass(frozen=True)
class Cards:
    """Cards that stand side by side."""

    cards: tuple


@dataclass(frozen=True)
class Figure:
    """A drawing in two widths, with what it shows.

    ``wide`` and ``narrow`` are SVG texts, ``title`` states the finding (or the question),
    ``alt`` says in some ten words what is drawn, ``data`` is a link to a CSV of what it draws.
    """

    name: str
    title: str
    caption: str
    alt: str
    wide: str
    narrow: str = ""
    data: Link | None = None


@dataclass(frozen=True)
class Head:
    """Head of a column. ``term``: what it means, shown on hover and in the glossary."""

    text: str
    term: str = ""


@dataclass(frozen=True)
class Cell:
    """A value as text; ``bracket`` an interval or a remark; ``tone`` "", "up", "down"."""

    text: str
    bracket: str = ""
    grade: str = ""
    tone: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table. ``mark``: "", "main", "baseline", "oracle", "failed" (with `reason`).

    ``group`` is a heading above the row, "" where it stays that of the row before.
    """

    label: str
    cells: tuple = ()
    group: str = ""
    mark: str = ""
    best: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Table:
    """A table. ``head`` has one entry more than a row has cells: the first is of the labels.

    ``fold``: a text under which it is folded, "" for an open one. ``csv``: its numbers.
    """

    caption: str
    head: tuple
    rows: tuple
    note: str = ""
    csv: Link | None = None
    fold: str = ""


@dataclass(frozen=True)
class ClaimRow:
    """A claim on the page of claims, or beside a study: see `counterweight.reporting.claims`."""

    id: str
    paper: str
    statement: str
    where: str
    verdict: str
    effect: str
    interval: str
    details: tuple = ()
    data: str = ""
    splits: str = ""


@dataclass(frozen=True)
class Claims:
    """A list of claims; with ``filters`` a reader may narrow it by paper, verdict and word."""

    claims: tuple
    filters: bool = False


@dataclass(frozen=True)
class Failure:
    """A step that failed: where, why in one line, the end of its log, and what to do."""

    study: str
    source: str
    stage: str
    first: str
    lines: str
    log: str
    advice: str


@dataclass(frozen=True)
class Finding:
    """One study or family in one line of the index or of a family's page."""

    title: str
    href: str
    question: str
    answer: str
    chart: str = ""


@dataclass(frozen=True)
class Terms:
    """The glossary: pairs of a term and what it means; words on other pages lead to them."""

    terms: tuple


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; sections may hold sections."""

    heading: str
    blocks: tuple
    id: str = ""
    fold: bool = False


@dataclass(frozen=True)
class Page:
    """One HTML file.

    Attributes
    ----------
    path : str
        Below the folder of results, e.g. ``report/adult_married.html``.
    title : str
        The one h1.
    blocks : tuple
        What comes before the first section: question, answer, cards, figure.
    sections : tuple of Section
    group : str
        Title of the family that it belongs to; "" for the index, the claims, the glossary.
    banner : str
        A warning that stands on top, such as that data are generated.
    lead : str
        The question that the page answers, under the title.
    """

    path: str
    title: str
    blocks: tuple = ()
    sections: tuple = ()
    group: str = ""
    banner: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Site:
    """What all pages know of each other, from the plan alone.

    Attributes
    ----------
    title, version : str
    entries : tuple of dict
        In the order of the contents: ``title``, ``path``, ``group`` and ``words`` (what a search
        finds it by: data set, methods, measures).
    terms : dict of str to str
        The glossary: explained at first use on each page.
    facts : tuple of str
        What was run: data source, seed, version; stands in the foot of every page.
    """

    title: str
    version: str
    entries: tuple = ()
    terms: dict = field(default_factory=dict)
    facts: tuple = ()
