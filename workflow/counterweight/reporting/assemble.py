"""Everything the report stage writes, from whatever measurements are there.

A family's pages and tables are one job, the index with the claims another, so that one family's
pages are made anew only when that family changed. Both come from the same functions as the
report of what is there after a failed run, which is one file.

What is of the papers alone, claims and figures in print, is loaded where it is asked for: a page of
one's own table rests on none of it.
"""

import json
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import yaml

from counterweight.errors import CounterweightError
from counterweight.plan.components import reference
from counterweight.reporting import blocks
from counterweight.reporting.blocks import BANNERS, CLAIMS
from counterweight.reporting.numbers import (
    TABLE,
    StudyNumbers,
    failure_block,
    failures_of,
    measurements_and_failures,
    read_tables,
    reason_of,
)
from counterweight.reporting.render import TEMPLATES, latex, render_one, rendered, search_file
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.reporting.wording import count, listing, unpacked
from counterweight.tables.jobs import log
from counterweight.tables.parquet import (
    METRICS,
    finite_or_blank,
    read_table,
    sha256,
    write_table,
    write_text,
)

#: Words of an index, by the page that they lead to.
INDEX_WORDS = TEMPLATES / "index_words.csv"
#: Layout of the findings of a family, for the index.
FINDINGS = tuple(
    (name, "string") for name in ("study", "title", "href", "question", "answer", "chart")
)


def family_pages(shown, family, metrics, papers, results, failures=(), draw_in=None, content=None):
    """The pages, the findings by study and the tables by ``{study}-{target}`` of a family.

    `papers` are claims, printed figures and first sentences by study, from `of_papers`, `content`
    digests of files of one's own by path. With `draw_in`, a folder, the figures that can be drawn
    are drawn there, in place of those of the run.
    """
    claims, printed, first = papers
    pages, findings, tables = [], {}, {}
    title = blocks.family_title(shown, family)
    for name in blocks.families(shown)[family]:
        plan = shown["studies"][name]
        numbers = StudyNumbers(name, plan, metrics, results / plan.get("folder", name), printed)
        reasons = {one: reason_of(failures, name, one, plan) for one in numbers.sources}
        links = []
        for target in plan["targets"]:
            table = reference(plan["sheets"]["table"])(numbers, target, reasons.get)
            tables[f"{name}-{target}"] = table
            where = "" if len(plan["targets"]) == 1 else f", {target}"
            links.append(blocks.Link(f"The table as CSV{where}", f"tables/{name}-{target}.csv"))
        csv = links[0]
        links.append(blocks.Link("The tables in LaTeX", f"tables/{name}.tex"))
        links.append(blocks.Link("Every setting of this study", blocks.config_of(name)))
        links.append(blocks.Link("Versions, settings and digests of data", blocks.RUN))
        drawn = numbers.folder / "figures"
        if draw_in is not None:
            drawn = Path(draw_in) / name
            draw_if_possible(numbers, drawn)
        own = failures_of(failures, name, plan["dataset"])
        context = StudyContext(
            path=blocks.page_of(name),
            group=title,
            banner=BANNERS.get(plan["source"], ""),
            figures=tuple(drawings(drawn, name, plan, None if draw_in else results)),
            failures=tuple(map(failure_block, own)),
            links=(*links, *_claims_of(name, claims)),
            csv=csv,
            reasons=reasons,
            answer=first.get(name, ("",))[0],
            levels=first.get(name, ((), ()))[1],
            # Of a failed run those that are there.
            files=tuple(path for path in plan.get("files", ()) if (results / path).exists()),
            made_of={
                path: digest
                for path, digest in (content or {}).items()
                if path in plan.get("made_of", ())
            },
        )
        page, findings[name] = study_page(reference(plan["sheets"]["page"]), numbers, context)
        pages.append(page)
    return [family_page(shown, family, findings.values()), *pages], findings, tables


def of_papers(files, metrics, shown):
    """Claims, printed figures and first sentences by study of files of claims; of none nothing."""
    if not files:
        return [], [], {}
    return reference("counterweight.reporting.printed:of_papers")(files, metrics, shown)


def _claims_of(study, claims):
    """A sentence on the claims that rest on a study, and where their verdicts stand."""
    resting = {}
    for claim in claims:
        for rule in claim.get("decide", ()):
            sides = [side for side in map(rule.get, ("left", "right")) if isinstance(side, dict)]
            if study in (one.get("study") for one in (rule, *sides)):
                resting[claim["id"]] = claim["title"].partition(",")[0]
    if resting:
        rests = f"{'rests' if len(resting) == 1 else 'rest'} on this study"
        papers = listing(dict.fromkeys(resting.values()))
        said = f"{count(len(resting), 'claim')} of {papers} {rests}"
        yield blocks.Link(said, CLAIMS, listing(resting))


def draw_if_possible(numbers, folder):
    """Figures of what is there; one that cannot be drawn is left out, and said."""
    from counterweight.reporting.charts.forms import draw_study

    for figure in list(numbers.plan["figures"]):
        try:
            draw_study(numbers, folder, [figure])
        except Exception as error:  # whatever is wrong with one, the others are drawn
            log.warning("%s: figure %s cannot be drawn: %s", numbers.name, figure, error)


def index_pages(shown, metrics, papers, findings, failures=(), declared=((), ())):
    """The index, the claims, what is in print and the glossary; the claims and prints as tables.

    `declared` are tables and figures of the papers, and what no paper says, from
    `counterweight.reporting.printed.load_items`.
    """
    from counterweight.reporting.claims import decide
    from counterweight.reporting.printed import (
        beside_print,
        claims_page,
        printed_page,
        told_findings,
    )

    (claims, printed, _), (items, found) = papers, declared
    decided = decide(claims, metrics, shown, failures)
    beside = beside_print(items, printed, metrics, shown)
    run = decided[decided["paper"].isin(papers_run(decided, shown["studies"]))]
    links = [
        blocks.Link("Every measurement", "tables/metrics.parquet"),
        blocks.Link("What this run rests on", blocks.RUN),
    ]
    if len(run):
        links.append(blocks.Link("The claims as CSV", "claims.csv"))
    new = [one for one in found if one["study"] in shown["studies"]]
    new = list(told_findings(new, metrics, shown))
    index = index_page(shown, findings, run, list(map(failure_block, failures)), links, new)
    site = _site(shown, metrics)
    terms = blocks.Terms(tuple(sorted(site.terms.items())))
    glossary = blocks.Page(blocks.GLOSSARY, "Glossary", (terms,))
    # Where all tables are one's own, no claim is read.
    about = [claims_page(run), printed_page(items, beside, shown)] if claims else []
    return [index, *about, glossary], decided, beside


def page(job):
    """The pages and tables of a family: stage report."""
    given = job.given
    shown, family = unpacked(given["shown"]), given["family"]
    results = Path(job.output.findings).parents[1]
    metrics = read_tables(job.input.metrics)
    papers = of_papers(job.input.claims, metrics, shown)
    pages, findings, tables = family_pages(
        shown, family, metrics, papers, results, content=job.content
    )
    for name, table in tables.items():
        write_table(results / "tables" / f"{name}.parquet", table, TABLE)
        write_text(results / "tables" / f"{name}.csv", finite_or_blank(table).to_csv(index=False))
    # The family's own page stands first.
    for name, one in zip(findings, pages[1:], strict=True):
        write_text(results / "tables" / f"{name}.tex", latex(one))
    rows = [{"study": name} | vars(one) for name, one in findings.items()]
    write_table(job.output.findings, pd.DataFrame(rows), FINDINGS)
    for name, settings in given["config"].items():
        write_settings(results / blocks.config_of(name), settings)
    site = _site(shown, metrics, given["contents"])
    write_pages(pages, site, results, blocks.search_of(family), _methods(shown))
    job.log.info("wrote the pages of %s", family)


def report(job):
    """The index, the claims, the glossary: stage report."""
    from counterweight.reporting.claims import LAYOUT
    from counterweight.reporting.printed import load_items

    shown = unpacked(job.given["shown"])
    results = Path(job.output.html).parent
    metrics = read_tables(job.input.metrics)
    findings = {}
    for path, family in zip(job.input.findings, blocks.families(shown), strict=True):
        rows = read_table(path).drop(columns="study").to_dict("records")
        findings[family] = [blocks.Finding(**row) for row in rows]
    papers = of_papers(job.input.claims, metrics, shown)
    declared = load_items(job.input.claims)[:2]
    pages, decided, beside = index_pages(shown, metrics, papers, findings, (), declared)
    write_table(results / "tables" / "metrics.parquet", metrics, METRICS)
    if hasattr(job.output, "claims"):
        write_table(job.output.claims, decided, LAYOUT)
        write_text(job.output.claims_csv, finite_or_blank(decided).to_csv(index=False))
        write_text(job.output.printed_csv, finite_or_blank(beside).to_csv(index=False))
    answers = {path: sha256(path) for path in job.input.answers}
    own = {"own_files": job.content | answers}
    write_settings(job.output.provenance, job.given["rests_on"] | own)
    site = _site(shown, metrics)
    own = {
        name: study["figures"]
        for name, study in shown["studies"].items()
        if study["source"] == "own"
    }
    words = _index_words(site, own, {part.id for part in pages[0].sections})
    write_pages(pages, site, results, blocks.search_of(blocks.ABOVE), words)
    if job.given["one_file"]:
        families = blocks.families(shown)
        others = [
            family_pages(shown, one, metrics, papers, results, content=job.content)[0]
            for one in families
        ]
        alone = len(shown["studies"]) == 1
        write_whole(pages, sum(others, []), site, results / blocks.WHOLE, alone)
    job.log.info("wrote %s", job.output.html)


def write_settings(target, settings):
    """Settings as YAML, in their order."""
    write_text(target, yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100))


def write_pages(pages, known, results, search, more=()):
    """Write pages, and what the search finds in them; `more` are entries beside those."""
    found = list(more)
    for one in pages:
        text, entries = rendered(one, known)
        write_text(Path(results) / one.path, text)
        found += entries
    write_text(Path(results) / search, search_file(found))


def _methods(shown):
    """What the search finds of methods, weightings and selection models, by label and id."""
    for name, study in shown["studies"].items():
        for kind in ("methods", "weightings", "selectors"):
            for one in study.get(kind) or ():
                names = " ".join(filter(None, [one["id"], one.get("model")])).lower()
                label = one.get("label") or one["id"]
                yield [label, blocks.page_of(name), f"in {study['title']}", name, names]


def _site(shown, metrics, contents=None):
    """What pages know of each other, with the terms of what was measured."""
    return blocks.site_of(shown, contents, set(metrics["metric"].unique()))


def _index_words(site, own=None, sections=None):
    """What the search finds by words that no page has: what people call a study, and its page.

    Words of the page ``own`` are of each of the studies `own` of people's tables, a mapping to
    their figures. Of the index there are `sections`; None for all that it may have.
    """
    titles = {one["path"]: one["title"] for one in site.entries}
    for one in pd.read_csv(INDEX_WORDS).itertuples():
        page, sharp, place = one.page.partition("#")
        if page == "index" and sections is not None and place not in sections:
            continue
        for name in own or () if page == "own" else [page]:
            if place.startswith("figure-") and place.partition("-")[-1] not in own[name]:
                continue
            path = blocks.INDEX if name == "index" else blocks.page_of(name)
            for words in one.words.split("; ") if path in titles else ():
                yield [words, f"{path}{sharp}{place}", f"see {titles[path]}", "", ""]


def write_whole(above, pages, site, target, alone=False):
    """The index, all pages, then the claims and the glossary, in one file.

    The page of a study that is `alone` stands first: index and family say the same, and less.
    """
    made = [above[0], *pages, *above[1:]]
    made.insert(0, made.pop(2 if alone else 0))
    write_text(target, render_one(made, site, target.name))


def assemble_what_is_there(shown, chains, claims_files, results):
    """The report of a run that failed, one file of the measurements that are there; its failures.

    Its figures are drawn aside: in their place, a later run would take them for the whole ones.
    """
    from counterweight.reporting.printed import load_items

    results = Path(results)
    metrics, failures = measurements_and_failures(chains, dated=True)
    papers, declared = of_papers(claims_files, metrics, shown), load_items(claims_files)[:2]
    findings, pages = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for family in blocks.families(shown):
            made, known, _ = family_pages(shown, family, metrics, papers, results, failures, folder)
            pages += made
            findings[family] = list(known.values())
        # Of one study its page tells what failed.
        told = failures if len(shown["studies"]) > 1 else ()
        above, _, _ = index_pages(shown, metrics, papers, findings, told, declared)
    target = results / blocks.PARTIAL
    write_whole(above, pages, _site(shown, metrics), target)

    def if_there(link):
        return link[0] if (results / link[1]).exists() else ""

    # Files that are written with the whole report are not there.
    links = r'(?:<li>)?<a href="((?:tables|provenance)/[^"#]+)">[^<]*</a>(?:</li>)?'
    write_text(target, re.sub(links, if_there, target.read_text(encoding="utf-8")))
    return failures


def main():
    """Report after a failed run; reads the arguments of `assemble_what_is_there` as JSON."""
    given = json.load(sys.stdin)
    try:
        failures = assemble_what_is_there(
            unpacked(given["shown"]), given["chains"], given["claims"], given["results"]
        )
    except CounterweightError as error:
        sys.exit(f"ERROR: {error}")
    begun = [failure for failure in failures if failure["begun"]]
    for failure in begun:
        what = " ".join(filter(None, [failure["study"], failure["source"]]))
        print(f"FAILED {failure['stage']} {what} (log: {failure['log']})")
        for line in [] if given.get("told") else failure["reason"].splitlines()[-8:]:
            print(f"    {line}")
    if len(begun) < len(failures):
        print(f"Not begun when the run ended: {len(failures) - len(begun)} more steps.")
    if not failures:
        print("Nothing that the report needs is missing: see the messages above.")
    if any(failure["stage"] == "download" for failure in begun):
        print("No network? `make demo` runs the whole workflow on generated data without one.")
    print(f"{given['results']}/{blocks.PARTIAL} shows what there is and marks what failed.")


# The pages above those of studies: the index, a page a family, the claims, the glossary.


def family_page(shown, family, findings):
    """The studies of a family, each with its question and its answer."""
    title = blocks.family_title(shown, family)
    lead = ((shown.get("families") or {}).get(family) or {}).get("question", "")
    banner = BANNERS.get(shown["data_source"], "")
    path = blocks.page_of(f"family-{family}")
    return blocks.Page(path, title, tuple(findings), group=title, banner=banner, lead=lead)


def index_page(shown, findings, claims, failures=(), links=(), new=()):
    """What was run, what was found, what failed: on one screen.

    `findings` are those of each family's studies, of which the first with an answer speaks for the
    family; `claims` are decided, of papers whose studies were run; `new` was found and no paper
    says it.
    """
    from counterweight.reporting.claims import VERDICTS

    grouped, about = blocks.families(shown), studies_of(claims)
    studies, sets = shown["studies"], {one["dataset"] for one in shown["studies"].values()}
    own, papers = [], []
    for family, names in grouped.items():
        found = list(findings.get(family, ()))
        if not about & {*names}:
            own += found
        elif found:
            title, path = blocks.family_title(shown, family), blocks.page_of(f"family-{family}")
            papers.append(replace(found[0], title=title, href=path))
    amounts = claims["verdict"].value_counts()
    cards = [blocks.Card(one, str(amounts[one])) for one in VERDICTS if one in amounts]
    told = (blocks.Cards(tuple(cards)), blocks.Link("Every claim with its numbers", CLAIMS))
    told += (blocks.Link("The papers' tables and figures beside ours", blocks.PRINTED_PAGE),)
    sections = (
        ("Which method when", which_method() if papers else (), "methods"),
        ("Your studies" if papers else "Studies", own, "own"),
        ("Findings", papers, "findings"),
        ("What no paper says", new, "new"),
        ("Claims of the papers", told if len(claims) else (), "claims"),
        ("Take away", links, "files"),
    )
    lead = f"{count(len(studies), 'study', 'studies')} on {count(len(sets), 'data set')}."
    return blocks.Page(
        blocks.INDEX,
        shown["title"],
        tuple(failures),
        tuple(blocks.Section(head, tuple(some), name) for head, some, name in sections if some),
        banner=BANNERS.get(shown["data_source"], ""),
        lead=lead,
    )


#: Who was best in the benchmark that is kept with the code, a row a benchmark and condition.
BEST = Path(__file__).with_name("benchmark") / "best.csv"


def which_method():
    """The best methods over many data sets, of the benchmark and not of this run."""
    if not BEST.exists():
        return ()
    rows, group = [], ""
    for one in pd.read_csv(BEST, keep_default_na=False).itertuples():
        cells = blocks.Cell(one.best), blocks.Cell(one.near or "none")
        rows.append(blocks.Row(one.condition, cells, one.benchmark * (one.benchmark != group)))
        group = one.benchmark
    caption = "Best mean rank over the data sets of make benchmark, and not those of this run"
    head = map(blocks.Head, ("when", "best", "not significantly different from it"))
    return (blocks.Table(caption, tuple(head), tuple(rows)),)


def studies_of(claims):
    """Studies that rules of claims name."""
    return {rule["study"] for rules in claims["rules"] for rule in json.loads(rules)} - {""}


def papers_run(claims, studies):
    """Papers that a rule of one of their claims names one of the studies for."""
    return {
        claim.paper
        for claim in claims.itertuples()
        if any(rule["study"] in studies for rule in json.loads(claim.rules))
    }


# The drawn figures of a study as blocks of its page.


def drawings(folder, name, plan, results=None):
    """Each `counterweight.reporting.blocks.Figure` of a study that was drawn into a folder.

    With the folder of results they link to the numbers that they draw.
    """
    titles = Path(folder) / "figures.parquet"
    # Where no figure is asked for, those of an earlier run may still be there.
    there = bool(plan["figures"]) and titles.exists()
    known = read_table(titles).set_index("figure").to_dict("index") if there else {}
    for figure in (name for name in plan["figures"] if name in known):
        at = f"{plan.get('folder', name)}/figures/{figure}"
        links = blocks.Link("CSV", f"{at}.csv"), blocks.Link("SVG", f"{at}.svg")
        yield blocks.Figure(
            figure,
            known[figure]["title"],
            known[figure].get("caption") or plan["captions"][figure],
            known[figure]["alt"],
            titles.with_name(f"{figure}.svg").read_text(encoding="utf-8"),
            titles.with_name(f"{figure}-narrow.svg").read_text(encoding="utf-8"),
            links if results is not None else (),
        )


if __name__ == "__main__":
    main()
