"""The pages above those of studies: the index, a page a family, the claims, the glossary."""

import json

import numpy as np

from counterweight.reporting.claims import OUTCOMES, conditions
from counterweight.reporting.page import blocks
from counterweight.reporting.wording import capital, count, digits, interval, listing, number

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
    "undecided": "The interval holds both what the claim says and what it denies.",
    "repeat": "One random split into training and test rows.",
    "bound": "A method that sees what is hidden from all others; no competitor.",
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
INDEX, CLAIMS, GLOSSARY = "report.html", "report/claims.html", "report/glossary.html"


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
    return known.get("title") or capital(family.replace("_", " "))


def site_of(shown):
    """What all pages know of each other."""
    entries = [{"title": "Overview", "path": INDEX, "group": "", "words": ""}]
    terms = dict(TERMS)
    for family, names in families(shown).items():
        title = family_title(shown, family)
        entries.append(
            {"title": title, "path": page_of(f"family-{family}"), "group": title, "words": ""}
        )
        for name in names:
            study = shown["studies"][name]
            labels = [one["label"] for one in study["methods"]]
            measures = study.get("measures") or {}
            words = [name, study["dataset"], *labels, *(one["label"] for one in measures.values())]
            entries.append(
                {
                    "title": study["title"],
                    "path": page_of(name),
                    "group": title,
                    "words": " ".join(dict.fromkeys(words)),
                }
            )
            terms |= {
                one["label"]: one["meaning"] for one in measures.values() if one.get("meaning")
            }
    if shown.get("papers", True):
        entries.append({"title": "Claims of the papers", "path": CLAIMS, "group": "", "words": ""})
    entries.append({"title": "Glossary", "path": GLOSSARY, "group": "", "words": ""})
    return blocks.Site(
        shown["title"], shown["version"], tuple(entries), terms, tuple(facts(shown))
    )


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
    yield f"Counterweight {shown['version']}."


def glossary_page(site):
    rows = [blocks.Row(word, (blocks.Cell(text),)) for word, text in sorted(site.terms.items())]
    table = blocks.Table("Words of these pages", (blocks.Head("Word"), blocks.Head("Meaning")), rows)
    return blocks.Page(GLOSSARY, "Glossary", (table,))


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


def _counts(claims):
    kinds = claims["verdict"].map(short_verdict).value_counts(sort=False)
    for verdict, amount in kinds.items():
        yield blocks.Card(verdict, str(amount))


def short_verdict(verdict):
    """A verdict in few words: what comes before a colon or the condition."""
    return verdict.partition(" on ")[0].partition(":")[0]


def claims_page(claims):
    return blocks.Page(
        CLAIMS,
        "Claims of the papers",
        (blocks.Claims(tuple(claim_rows(claims)), filters=True),),
        lead="What the papers say, and what came out here.",
    )


def claim_rows(claims):
    """Claims as rows, with what each of their conditions came to."""
    for claim in claims.itertuples():
        places = digits(claim.unit, claim.effect, claim.low, claim.high)
        effect = ""
        if not np.isnan(claim.effect):
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
