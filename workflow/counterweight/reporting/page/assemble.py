"""Everything the report stage writes, from whatever measurements are there.

A family's pages and tables are one job, the index with the claims another, so that one family's
pages are made anew only when that family changed. Both come from the same functions as the
report of what is there after a failed run, which is one file.
"""

import json
import sys
import tempfile
from pathlib import Path

import yaml

from counterweight.datasets.download.digests import sha256
from counterweight.errors import CounterweightError
from counterweight.files.jobs import log
from counterweight.files.tables import METRICS, read_table, replacing, write_table
from counterweight.plan.components import reference
from counterweight.reporting.claim_files import load_claims
from counterweight.reporting.claims import LAYOUT, decide
from counterweight.reporting.measures import unpacked
from counterweight.reporting.numbers import TABLE, StudyNumbers
from counterweight.reporting.page import blocks, contents, site
from counterweight.reporting.page.drawings import drawings
from counterweight.reporting.page.failures import (
    failure_block,
    failures_of,
    measurements_and_failures,
    reason_of,
)
from counterweight.reporting.page.latex import latex
from counterweight.reporting.page.render import render, render_one
from counterweight.reporting.page.study import StudyContext, study_page

#: Layout of the findings of a family, for the index.
FINDINGS = tuple(
    (name, "string") for name in ("study", "title", "href", "question", "answer", "chart")
)


def family_pages(shown, family, metrics, papers, results, failures=(), draw_in=None):
    """The pages, findings and tables of a family.

    Parameters
    ----------
    shown : dict
        From ``counterweight.reporting.page.plan.report_plan``; studies of other families are
        passed over.
    family : str
    metrics : pandas.DataFrame
    papers : tuple
        Claims and printed figures, from `counterweight.reporting.claim_files.load_claims`.
    results : Path
    failures : list of dict
    draw_in : str, optional
        Folder to draw the figures in that can be drawn, in place of those of the run.

    Returns
    -------
    pages : list of blocks.Page
    findings : dict of str to blocks.Finding
        By study.
    tables : dict of str to pandas.DataFrame
        By ``{study}-{target}``.
    """
    claims, printed = papers
    pages, findings, tables = [], {}, {}
    title = contents.family_title(shown, family)
    for name in contents.families(shown)[family]:
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
        links.append(blocks.Link("Every setting of this study", contents.config_of(name)))
        links.append(blocks.Link("Versions, settings and digests of data", contents.RUN))
        drawn = numbers.folder / "figures"
        if draw_in is not None:
            drawn = Path(draw_in) / name
            draw_if_possible(numbers, drawn)
        context = StudyContext(
            path=contents.page_of(name),
            group=title,
            banner=contents.BANNERS.get(plan["source"], ""),
            figures=tuple(drawings(drawn, name, plan, None if draw_in else results)),
            failures=tuple(map(failure_block, own)),
            links=(*links, *_claims_of(name, claims)),
            csv=csv,
            reasons=reasons,
        )
        page, findings[name] = study_page(reference(plan["sheets"]["page"]), numbers, context)
        pages.append(page)
    return [site.family_page(shown, family, list(findings.values())), *pages], findings, tables


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
    return site.claims_link([claim["id"] for claim in resting], titles)


def draw_if_possible(numbers, folder):
    """Figures of what is there; one that cannot be drawn is left out, and said."""
    from counterweight.reporting.charts.drawing import draw_study

    for figure in list(numbers.plan["figures"]):
        try:
            draw_study(numbers, folder, [figure])
        except (CounterweightError, KeyError, ValueError, IndexError) as error:
            log.warning("%s: figure %s cannot be drawn: %s", numbers.name, figure, error)


def index_pages(shown, metrics, papers, findings, failures=()):
    """The index, the claims and the glossary, and the claims as a table."""
    claims, _ = papers
    decided = decide(claims, metrics, shown, failures)
    run = decided[decided["paper"].isin(site.papers_run(decided, shown["studies"]))]
    links = [
        blocks.Link("Every measurement", "tables/metrics.parquet"),
        blocks.Link("What this run rests on", contents.RUN),
    ]
    if len(run):
        links.append(blocks.Link("The claims as CSV", "claims.csv"))
    index = site.index_page(shown, findings, run, list(map(failure_block, failures)), links)
    # Where all tables are one's own, no claim is read.
    told = [site.claims_page(run)] if claims else []
    return [index, *told, site.glossary_page(contents.site_of(shown))], decided


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
    for name, one in zip(contents.families(shown)[family], pages[1:], strict=True):
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
        write_settings(results / contents.config_of(name), settings)
    write_pages(pages, contents.site_of(shown, given["contents"]), results)
    job.log.info("wrote the pages of %s", family)


def report(job):
    """The index, the claims, the glossary: stage report."""
    shown = unpacked(job.given["shown"])
    results = Path(job.output.html).parent
    metrics = _metrics(job.input.metrics)
    findings = {}
    for path, family in zip(job.input.findings, contents.families(shown), strict=True):
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
    write_pages(pages, contents.site_of(shown), results)
    if job.given["one_file"]:
        families = contents.families(shown)
        others = [family_pages(shown, one, metrics, papers, results)[0] for one in families]
        write_whole(pages, sum(others, []), shown, results / contents.WHOLE)
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
    text = render_one([above[0], *pages, *above[1:]], contents.site_of(shown))
    with replacing(target) as path:
        path.write_text(text, encoding="utf-8")


def assemble_what_is_there(shown, chains, claims_files, results):
    """The report of a run that failed: one file, from the measurements that are there.

    Its figures are drawn aside: in their place, a later run would take them for the whole ones.

    Returns
    -------
    list of dict
        Failures.
    """
    results = Path(results)
    metrics, failures = measurements_and_failures(chains, dated=True)
    papers = load_claims(claims_files)
    findings, pages = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for family in contents.families(shown):
            made, known, _ = family_pages(
                shown, family, metrics, papers, results, failures, draw_in=folder
            )
            pages += made
            findings[family] = list(known.values())
        above, _ = index_pages(shown, metrics, papers, findings, failures)
    write_whole(above, pages, shown, results / contents.PARTIAL)
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
    print(f"{given['results']}/{contents.PARTIAL} shows what there is and marks what failed.")


if __name__ == "__main__":
    main()
