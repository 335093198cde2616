"""Everything the report stage writes, from whatever measurements are there.

A family's pages and tables are one job, the index with the claims another, so that one family's
pages are made anew only when that family changed. Both come from the same functions as the
report of what is there after a failed run, which is one file.
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError
from counterweight.plan.components import reference
from counterweight.reporting import blocks
from counterweight.reporting.blocks import (
    BANNERS,
    CLAIMS,
    GLOSSARY,
    INDEX,
    families,
    family_title,
    page_of,
)
from counterweight.reporting.claims import (
    LAYOUT,
    OUTCOMES,
    VERDICTS,
    conditions,
    decide,
    load_claims,
)
from counterweight.reporting.failures import (
    failure_block,
    failures_of,
    measurements_and_failures,
    reason_of,
)
from counterweight.reporting.numbers import TABLE, StudyNumbers
from counterweight.reporting.render import latex, render, render_one
from counterweight.reporting.study_page import StudyContext, study_page
from counterweight.reporting.wording import (
    capital,
    count,
    digits,
    interval,
    listing,
    number,
    splits,
    unpacked,
)
from counterweight.tables.jobs import log
from counterweight.tables.parquet import METRICS, read_table, replacing, sha256, write_table

#: Layout of the findings of a family, for the index.
FINDINGS = tuple(
    (name, "string") for name in ("study", "title", "href", "question", "answer", "chart")
)


def family_pages(shown, family, metrics, papers, results, failures=(), draw_in=None):
    """The pages, the findings by study and the tables by ``{study}-{target}`` of a family.

    `papers` are claims and printed figures, from `counterweight.reporting.claims.load_claims`. With
    `draw_in`, a folder, the figures that can be drawn are drawn there, in place of those of the
    run.
    """
    claims, printed = papers
    pages, findings, tables = [], {}, {}
    title = blocks.family_title(shown, family)
    for name in blocks.families(shown)[family]:
        plan = shown["studies"][name]
        numbers = StudyNumbers(name, plan, metrics, results / plan.get("folder", name), printed)
        own = failures_of(failures, name, plan["dataset"])
        reasons = {one["id"]: reason_of(failures, name, one["id"], plan) for one in plan["methods"]}
        links = []
        for target in plan["targets"]:
            tables[f"{name}-{target}"] = reference(plan["sheets"]["table"])(
                numbers, target, reasons.get
            )
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
        context = StudyContext(
            path=blocks.page_of(name),
            group=title,
            banner=blocks.BANNERS.get(plan["source"], ""),
            figures=tuple(drawings(drawn, name, plan, None if draw_in else results)),
            failures=tuple(map(failure_block, own)),
            links=(*links, *_claims_of(name, claims)),
            csv=csv,
            reasons=reasons,
        )
        page, findings[name] = study_page(reference(plan["sheets"]["page"]), numbers, context)
        pages.append(page)
    return [family_page(shown, family, list(findings.values())), *pages], findings, tables


def _claims_of(study, claims):
    resting = [
        claim
        for claim in claims
        if any(
            rule.get("study") == study
            or any(
                isinstance(rule[side], dict) and rule[side].get("study") == study
                for side in ("left", "right")
            )
            for rule in claim.get("decide", ())
        )
    ]
    titles = list(dict.fromkeys(claim["title"].partition(",")[0] for claim in resting))
    return claims_link([claim["id"] for claim in resting], titles)


def draw_if_possible(numbers, folder):
    """Figures of what is there; one that cannot be drawn is left out, and said."""
    from counterweight.reporting.charts.forms import draw_study

    for figure in list(numbers.plan["figures"]):
        try:
            draw_study(numbers, folder, [figure])
        except (CounterweightError, KeyError, ValueError, IndexError) as error:
            log.warning("%s: figure %s cannot be drawn: %s", numbers.name, figure, error)


def index_pages(shown, metrics, papers, findings, failures=()):
    """The index, the claims and the glossary, and the claims as a table."""
    claims, _ = papers
    decided = decide(claims, metrics, shown, failures)
    run = decided[decided["paper"].isin(papers_run(decided, shown["studies"]))]
    links = [
        blocks.Link("Every measurement", "tables/metrics.parquet"),
        blocks.Link("What this run rests on", blocks.RUN),
    ]
    if len(run):
        links.append(blocks.Link("The claims as CSV", "claims.csv"))
    index = index_page(shown, findings, run, list(map(failure_block, failures)), links)
    # Where all tables are one's own, no claim is read.
    told = [claims_page(run)] if claims else []
    return [index, *told, glossary_page(blocks.site_of(shown))], decided


def page(job):
    """The pages and tables of a family: stage report."""
    given = job.given
    shown, family = unpacked(given["shown"]), given["family"]
    results = Path(job.output.findings).parents[1]
    papers = load_claims(job.input.claims)
    pages, findings, tables = family_pages(
        shown, family, _metrics(job.input.metrics), papers, results
    )
    for name, table in tables.items():
        write_table(results / "tables" / f"{name}.parquet", table, TABLE)
        with replacing(results / "tables" / f"{name}.csv") as path:
            table.to_csv(path, index=False)
    # The family's own page stands first.
    for name, one in zip(blocks.families(shown)[family], pages[1:], strict=True):
        with replacing(results / "tables" / f"{name}.tex") as path:
            path.write_text(latex(one), encoding="utf-8")
    rows = {
        column: [
            name if column == "study" else getattr(one, column) for name, one in findings.items()
        ]
        for column, _ in FINDINGS
    }
    write_table(job.output.findings, rows, FINDINGS)
    for name, settings in given["config"].items():
        write_settings(results / blocks.config_of(name), settings)
    write_pages(pages, blocks.site_of(shown, given["contents"]), results)
    job.log.info("wrote the pages of %s", family)


def report(job):
    """The index, the claims, the glossary: stage report."""
    shown = unpacked(job.given["shown"])
    results = Path(job.output.html).parent
    metrics = _metrics(job.input.metrics)
    findings = {}
    for path, family in zip(job.input.findings, blocks.families(shown), strict=True):
        rows = read_table(path).drop(columns="study").to_dict("records")
        findings[family] = [blocks.Finding(**row) for row in rows]
    papers = load_claims(job.input.claims)
    pages, decided = index_pages(shown, metrics, papers, findings)
    write_table(results / "tables" / "metrics.parquet", metrics, METRICS)
    if hasattr(job.output, "claims"):
        write_table(job.output.claims, decided, LAYOUT)
        with replacing(job.output.claims_csv) as path:
            decided.to_csv(path, index=False)
    answers = {path: sha256(path) for path in job.input.answers}
    own = {"own_files": job.content | answers}
    write_settings(job.output.provenance, job.given["rests_on"] | own)
    write_pages(pages, blocks.site_of(shown), results)
    if job.given["one_file"]:
        families = blocks.families(shown)
        others = [family_pages(shown, one, metrics, papers, results)[0] for one in families]
        write_whole(pages, sum(others, []), shown, results / blocks.WHOLE)
    job.log.info("wrote %s", job.output.html)


def _metrics(paths):
    import pandas as pd

    return pd.concat([read_table(path) for path in paths], ignore_index=True)


def write_settings(target, settings):
    """Settings as YAML, in their order."""
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=100)
    with replacing(target) as path:
        path.write_text(text, encoding="utf-8")


def write_pages(pages, known, results):
    for one in pages:
        with replacing(Path(results) / one.path) as path:
            path.write_text(render(one, known), encoding="utf-8")


def write_whole(above, pages, shown, target):
    """The index, all pages, then the claims and the glossary, in one file."""
    text = render_one([above[0], *pages, *above[1:]], blocks.site_of(shown))
    with replacing(target) as path:
        path.write_text(text, encoding="utf-8")


def assemble_what_is_there(shown, chains, claims_files, results):
    """The report of a run that failed, one file of the measurements that are there; its failures.

    Its figures are drawn aside: in their place, a later run would take them for the whole ones.
    """
    results = Path(results)
    metrics, failures = measurements_and_failures(chains, dated=True)
    papers = load_claims(claims_files)
    findings, pages = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for family in blocks.families(shown):
            made, known, _ = family_pages(
                shown, family, metrics, papers, results, failures, draw_in=folder
            )
            pages += made
            findings[family] = list(known.values())
        above, _ = index_pages(shown, metrics, papers, findings, failures)
    write_whole(above, pages, shown, results / blocks.PARTIAL)
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
    for failure in failures:
        what = " ".join(filter(None, [failure["study"], failure["source"]]))
        print(f"FAILED {failure['stage']} {what} (log: {failure['log']})")
        for line in failure["reason"].splitlines()[-8:]:
            print(f"    {line}")
    if not failures:
        print("Nothing that the report needs is missing: see the messages above.")
    if any(failure["stage"] == "download" for failure in failures):
        print("No network? `make demo` runs the whole workflow on generated data without one.")
    print(f"{given['results']}/{blocks.PARTIAL} shows what there is and marks what failed.")


# The pages above those of studies: the index, a page a family, the claims, the glossary.


def glossary_page(known):
    """Every word that pages explain."""
    return blocks.Page(GLOSSARY, "Glossary", (blocks.Terms(tuple(sorted(known.terms.items()))),))


def family_page(shown, family, findings, failures=()):
    """The studies of a family, each with its question and its answer."""
    title = family_title(shown, family)
    known = (shown.get("families") or {}).get(family) or {}
    return blocks.Page(
        page_of(f"family-{family}"),
        title,
        (*failures, *findings),
        group=title,
        banner=BANNERS["generated"] if shown["data_source"] == "generated" else "",
        lead=known.get("question", ""),
    )


def index_page(shown, findings, claims, failures=(), links=()):
    """What was run, what was found, what failed: on one screen.

    `findings` are those of each family's studies, of which the first with an answer speaks for the
    family; `claims` are decided, of papers whose studies were run.
    """
    grouped = families(shown)
    studies = sum(map(len, grouped.values()))
    sets = {study["dataset"] for study in shown["studies"].values()}
    lead = f"{count(studies, 'study', 'studies')} on {count(len(sets), 'data set')}"
    own, papers = [], []
    about = studies_of(claims)
    for family, names in grouped.items():
        title = family_title(shown, family)
        if not about & {*names}:
            own += findings.get(family, ())
            continue
        first = next(iter(findings.get(family, ())), None)
        if first is not None:
            whole = blocks.Finding(
                title, page_of(f"family-{family}"), first.question, first.answer, first.chart
            )
            papers.append(whole)
    sections = []
    if own:
        sections.append(blocks.Section("Your studies" if papers else "Studies", tuple(own), "own"))
    if papers:
        sections.append(blocks.Section("Findings", tuple(papers), "findings"))
    if len(claims):
        sections.append(
            blocks.Section(
                "Claims of the papers",
                (
                    blocks.Cards(tuple(_counts(claims))),
                    blocks.Link("Every claim with its numbers", CLAIMS),
                ),
                "claims",
            )
        )
    sections.append(blocks.Section("Take away", tuple(links), "files"))
    return blocks.Page(
        INDEX,
        shown["title"],
        tuple(failures),
        tuple(section for section in sections if section.blocks),
        banner=BANNERS["generated"] if shown["data_source"] == "generated" else "",
        lead=lead + ".",
    )


def studies_of(claims):
    """Studies that rules of claims name."""
    return {rule["study"] for rules in claims["rules"] for rule in json.loads(rules)}


def papers_run(claims, studies):
    """Papers that a rule of one of their claims names one of the studies for."""
    return {
        claim.paper
        for claim in claims.itertuples()
        if any(rule["study"] in studies for rule in json.loads(claim.rules))
    }


def _counts(claims):
    """How many claims came out how, the verdicts in their own order."""
    amounts = claims["verdict"].value_counts()
    for verdict in VERDICTS:
        if verdict in amounts:
            yield blocks.Card(verdict, str(amounts[verdict]))


def claims_page(claims):
    return blocks.Page(
        CLAIMS,
        "Claims of the papers",
        (blocks.Claims(tuple(claim_rows(claims)), filters=True),)
        if len(claims)
        else (blocks.Sentence("No study of a paper was run, so no claim was looked at."),),
        lead="What the papers say, and what came out here.",
    )


def claim_rows(claims):
    """Claims as rows, with what each of their conditions came to."""
    for claim in claims.itertuples():
        places = digits(claim.unit, claim.effect, claim.low, claim.high)
        effect = ""
        if not math.isnan(claim.effect):
            effect = f"{number(claim.effect, places, sign=True)} {claim.unit}".strip()
        rules = json.loads(claim.rules)
        details = [
            f"{capital(label)}: {OUTCOMES[outcome]} ("
            + "; ".join(dict.fromkeys(r["text"] for r in rules if r["label"] == label))
            + ")."
            for label, outcome in conditions(rules).items()
        ]
        yield blocks.ClaimRow(
            claim.id,
            claim.title,
            claim.statement,
            claim.where,
            claim.verdict,
            effect,
            interval(claim.low, claim.high, places),
            tuple(details or filter(None, [claim.detail])),
            claim.data if claim.data in BANNERS else "",
            splits(claim.splits_for, claim.splits_against),
        )


def claims_link(names, papers):
    """A sentence on the claims that rest on a study, and where their verdicts stand."""
    if not names:
        return ()
    return (
        blocks.Link(
            f"{count(len(names), 'claim')} of {listing(papers)} "
            f"{'rests' if len(names) == 1 else 'rest'} on this study",
            CLAIMS,
            listing(names),
        ),
    )


# The drawn figures of a study as blocks of its page.


def drawings(folder, name, plan, results=None):
    """Each `counterweight.reporting.blocks.Figure` of a study that was drawn into a folder.

    With the folder of results they link to the numbers that they draw.
    """
    folder = Path(folder)
    titles = folder / "figures.parquet"
    known = read_table(titles).set_index("figure").to_dict("index") if titles.exists() else {}
    for figure in plan["figures"]:
        if figure not in known:
            continue
        data = None
        if results is not None:
            data = blocks.Link(
                "The numbers drawn, as CSV", f"{plan.get('folder', name)}/figures/{figure}.csv"
            )
        yield blocks.Figure(
            figure,
            known[figure]["title"],
            plan["captions"][figure],
            known[figure]["alt"],
            (folder / f"{figure}.svg").read_text(encoding="utf-8"),
            (folder / f"{figure}-narrow.svg").read_text(encoding="utf-8"),
            data,
        )


if __name__ == "__main__":
    main()
