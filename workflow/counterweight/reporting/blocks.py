"""The vocabulary of pages, and which pages a report consists of, known from the plan alone.

Everything is plain text: the templates escape it. A page is a tree of sections, each a list of
blocks in the order in which they are read. Read when a run is planned, so no numpy here.
"""

import contextlib
import functools
import os
import subprocess
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path


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
    ``alt`` says in some ten words what is drawn, ``files`` are links to it and to what it draws.
    """

    name: str
    title: str
    caption: str
    alt: str
    wide: str
    narrow: str = ""
    files: tuple = ()


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
    kind: str = ""


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
    """One HTML file, at a `path` below the folder of results; `title` is its one h1.

    ``blocks`` come before the first section: question, answer, cards, figure. ``group`` is the
    title of its family ("" for the index, the claims, the glossary), ``banner`` a warning that
    stands on top, ``lead`` the question that the page answers.
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

    ``entries``, in the order of the contents, have ``title``, ``path``, ``group`` and the ``words``
    that a search finds them by; ``terms`` are the glossary, explained at first use on each page;
    ``facts`` (what was run) stand in the foot of every page. ``searches`` are the files of the
    search, ``names`` what terms are called in configs.
    """

    title: str
    version: str
    entries: tuple = ()
    terms: dict = field(default_factory=dict)
    facts: tuple = ()
    searches: tuple = ()
    names: dict = field(default_factory=dict)


# What a report consists of, known from the plan alone: families, paths, the contents, the words.


#: Words of pages that are no measures, for the glossary.
TERMS = {
    "baseline": "The method that a study names for others to be compared with.",
    "95 % interval": (
        "A range made so that it holds the true value in 95 of 100 such studies. Random splits of "
        "one table share rows; intervals over splits are widened for that."
    ),
    "target": "The people or rows that an answer is meant for.",
    "labeled": "Rows whose outcome is seen.",
    "weights": "How many rows of the target each labeled row stands for.",
    "beyond chance": "The whole interval lies on one side of 0.",
    "significantly": "The whole 95 % interval of the difference lies on one side of 0.",
    "undecided": "The interval holds both what the claim says and what it denies.",
    "by construction": "True of this program whatever the data are: no evidence for a claim.",
    "repeat": "One random split into training and test rows.",
    "bound": "A method that sees what is hidden from all others; no competitor.",
    "without an outcome": "Rows whose outcome is blank or hidden: those that are estimated.",
    "missing at random": (
        "Rows without an outcome turn out as rows with the same features that have one. Nothing in "
        "a table can show that they do."
    ),
    "propensity": (
        "The chance, given what was known before, of what happened: that a row got its label, or "
        "that the log took the action that it took."
    ),
    "overlap": (
        "Rows with and without a label, or of the log and of a policy, lie in the same range. Where "
        "there is none, no weight helps, and answers rest on the form of a model alone."
    ),
    "calibration gap": "Mean distance between the predicted and the observed share of labeled rows.",
    "tilt": (
        "What is assumed where labels are missing because of the outcome itself: by what factor "
        "the odds of the outcome differ from those of like rows that have one."
    ),
    "design weight": (
        "How many rows one stands for by the way it was drawn: 1 over its chance to be drawn."
    ),
    "keep rate": "The chance at which a row stayed in a log, and was not dropped: it counts 1 over it.",
    "policy": "What says which action is taken, or with what chance each, from what is known of a row.",
    "IPS": (
        "Inverse propensity score: the mean over all rows of the reward, each times its weight, "
        "the policy's chance of the logged action over the propensity. Right on average."
    ),
    "SNIPS": (
        "Self-normalised IPS: over the sum of the weights in place of the number of rows. It varies "
        "less, and does not move where all rewards get larger by the same."
    ),
    "reward": "What an action brought, as the log has it: a click, a sale, an amount.",
    "promise": (
        "A limit that decisions are to keep: on a rate of all people, or on those of groups. "
        "Papers say constraint."
    ),
    "certificate": (
        "A bound from held-out rows by which a promise, or a filter's limit, holds for new rows "
        "at the confidence that is asked for."
    ),
    "coverage": (
        "Of decisions the share of rows that get a yes; of intervals how often they hold the truth."
    ),
    "recall": "The share of rows whose outcome is yes that get a yes.",
    "churn": "The share of rows for which two models, such as an old and a new one, decide differently.",
}
BANNERS = {
    "generated": (
        "Generated data: not a result about the real world. The files were drawn from a known "
        "model in the layout of the real data set."
    ),
    "simulated": (
        "Simulated study: the points come from a known formula, so that the truth is known."
    ),
}
#: Hyphens keep them apart from studies, whose names have none.
INDEX = "report.html"
WHOLE = "report_whole.html"
#: What there is after a run in which jobs failed; the report of an earlier run stays.
PARTIAL = "report_partial.html"
CLAIMS, GLOSSARY = "report/the-claims.html", "report/the-glossary.html"
PRINTED_PAGE = "report/the-printed.html"
#: Files of the claims of the papers by role, where any study is of public data.
LEDGER = {"claims": "claims.parquet", "claims_csv": "claims.csv", "claims_page": CLAIMS}
LEDGER |= {"printed_csv": "tables/printed.csv", "printed_page": PRINTED_PAGE}


#: What pages above those of families are called in the name of their file of the search.
ABOVE = "the-report"
#: What a run rests on: settings of all studies, data sets, versions.
RUN = "provenance/run.yaml"
#: What the jobs cost, by rule and study; written at the end of a run.
COSTS = "provenance/costs.tsv"


def config_of(study):
    """Path of the file of every setting of a study, defaults included."""
    return f"provenance/{study}.yaml"


def write_costs(results):
    """Write `COSTS`: jobs, processor and wall seconds, largest memory (MB) by rule and study.

    From the benchmark files below the folder of results that Snakemake keeps of each job, whichever
    run it was made in.
    """
    import pandas as pd

    from counterweight.tables.parquet import replacing

    kept, parts = Path(results, "benchmarks"), []
    for path in sorted(kept.rglob("*.tsv")):
        rule, *below = path.relative_to(kept).with_suffix("").parts
        # A dash stands for what was too short to be measured.
        jobs = pd.read_csv(path, sep="\t", na_values=["-"])[["cpu_time", "s", "max_rss"]]
        parts.append(jobs.fillna(0.0).assign(rule=rule, study=below[0] if below else "", jobs=1))
    told = {"cpu_time": "cpu_seconds", "s": "seconds", "max_rss": "largest_memory_mb"}
    columns = ["rule", "study", "jobs", *told.values()]
    table = pd.DataFrame(columns=columns)
    if parts:
        sums = {"jobs": "sum", "cpu_time": "sum", "s": "sum", "max_rss": "max"}
        groups = pd.concat(parts).groupby(["rule", "study"])
        table = groups.agg(sums).rename(columns=told).reset_index()
    Path(results, COSTS).parent.mkdir(exist_ok=True)
    with replacing(Path(results, COSTS)) as path:
        table.to_csv(path, sep="\t", index=False, float_format="%.1f", lineterminator="\n")


def page_of(name):
    """Path of a study's or family's page, below the folder of results."""
    return f"report/{name}.html"


def families(shown):
    """``{family: [study, ...]}`` in plan order."""
    grouped = {}
    for name, study in shown["studies"].items():
        grouped.setdefault(study["family"], []).append(name)
    return grouped


def family_title(shown, family):
    """A family in print: as the config says, else its name in words."""
    known = (shown.get("families") or {}).get(family) or {}
    return known.get("title") or family.replace("_", " ").capitalize()


def site_of(shown, contents=None, measured=None):
    """What all pages know of each other; `contents` in place of those of `shown`.

    Of measures only those among the `measured` metrics are terms, all by default: the words of one
    family say something else in another.
    """
    terms, entries, called = dict(TERMS), [], {}

    def add(title, path, group="", words=""):
        entries.append({"title": title, "path": path, "group": group, "words": words})

    add("Overview", INDEX)
    for family, names in families(shown).items():
        title = family_title(shown, family)
        add(title, page_of(f"family-{family}"), title)
        for name in names:
            study = shown["studies"][name]
            measures = (study.get("measures") or {}).values()
            words = [one["label"] for one in (*study["methods"], *measures)]
            words = " ".join(dict.fromkeys([name, study["dataset"], *words]))
            add(study["title"], page_of(name), title, words)
            for metric, one in (study.get("measures") or {}).items():
                if one.get("meaning") and (measured is None or metric.split()[0] in measured):
                    terms[one["label"]] = one["meaning"]
                called.setdefault(one["label"], {})[metric] = True
    if shown.get("papers", True):
        add("Claims of the papers", CLAIMS)
        add("Tables and figures beside ours", PRINTED_PAGE)
    add("Glossary", GLOSSARY)
    entries = tuple(contents or entries)
    own = page_of("family-")[: -len(".html")]
    searches = [one["path"][len(own) : -5] for one in entries if one["path"].startswith(own)]
    searches = tuple(map(search_of, (*searches, ABOVE)))
    called = {label: " ".join(n for n in known if " " not in n) for label, known in called.items()}
    told = tuple(facts(shown))
    return Site(shown["title"], shown["version"], entries, terms, told, searches, called)


def search_of(family):
    """Path of what the search finds in the pages of a family, or in those `ABOVE` them."""
    return f"report/search-{family}.js"


def facts(shown):
    """What was run, in short sentences."""
    sources = {study["source"] for study in shown["studies"].values()}
    said = {
        "download": "Data: the published files.",
        "generated": "Data: generated.",
        "simulated": "Some studies are simulated.",
        "own": "Data: your own table.",
    }
    yield from (text for source, text in said.items() if source in sources)
    yield f"Seed {shown['seed']}."
    if "libraries" in shown:
        yield ", ".join(f"{name} {version}" for name, version in shown["libraries"].items()) + "."
    yield made()


@functools.cache
def commit():
    """The commit of the checkout that this library lies in; nothing where it lies in none."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    home = Path(__file__).parents[3]
    if not (home / ".git").exists():
        return ""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        said = subprocess.check_output(asked, cwd=home, text=True, stderr=subprocess.DEVNULL)
        return said.strip()

    return ""


def made():
    """When a page was made (a day, by SOURCE_DATE_EPOCH where that is set), and by which commit."""
    day = datetime.fromtimestamp(float(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), UTC)
    return f"Made on {day:%Y-%m-%d}{f' by commit {commit()}' if commit() else ''}."
