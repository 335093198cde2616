"""The pages above those of studies: the index, a page a family, the claims, the glossary."""

import json
import math

from counterweight.reporting.claims import OUTCOMES, VERDICTS, conditions
from counterweight.reporting.page import blocks
from counterweight.reporting.page.contents import (
    BANNERS,
    CLAIMS,
    GLOSSARY,
    INDEX,
    families,
    family_title,
    page_of,
)
from counterweight.reporting.wording import (
    capital,
    count,
    digits,
    interval,
    listing,
    number,
    splits,
)


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

    Parameters
    ----------
    shown : dict
    findings : dict of str to list of blocks.Finding
        Of each family's studies; the first with an answer speaks for the family.
    claims : pandas.DataFrame
        From `counterweight.reporting.claims.decide`, of papers whose studies were run.
    failures, links : sequence of blocks
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
