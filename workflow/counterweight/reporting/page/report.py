"""The report: one HTML file that needs nothing else."""

import json
import re
from pathlib import Path

import numpy as np

from counterweight.reporting.claims import OUTCOMES, VERDICTS, conditions
from counterweight.reporting.logs import policy_values, subsampled
from counterweight.reporting.page import summaries
from counterweight.reporting.page.sections import NOTHING, StudyPage
from counterweight.reporting.page.tables import failures_of, last_line, sheet_of
from counterweight.reporting.page.wording import count, digits, family_name, interval, number

TEMPLATES = Path(__file__).resolve().parent / "templates"
BANNERS = {
    "generated": (
        "Generated data: not a result about the real world. The files were drawn from a known "
        "model in the layout of the real data set."
    ),
    "simulated": (
        "Simulated study: the points come from a known formula, so that the truth is known."
    ),
}
#: Conditions of a claim beyond which they are folded.
_MANY = 4
_KINDS = dict(zip(VERDICTS, ("yes", "part", "part", "part", "no", "none"), strict=True))


def inline_svg(text, prefix):
    """An SVG file as an element to put into a page, its ids made unique by `prefix`."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1).strip()


def _kind(verdict):
    return _KINDS[verdict]


def _condition_view(rules):
    """One entry for each condition of a claim: what it is, how it came out, the numbers."""
    for label, outcome in conditions(rules).items():
        yield {
            "label": label[0].upper() + label[1:],
            "outcome": OUTCOMES[outcome],
            "kind": {"holds": "yes", "fails": "no", "undecided": "part"}.get(outcome, "none"),
            "texts": list(dict.fromkeys(r["text"] for r in rules if r["label"] == label)),
        }


def _claim_view(claims):
    for claim in claims.itertuples():
        places = digits(claim.unit, claim.effect, claim.low, claim.high)
        effect = ""
        if not np.isnan(claim.effect):
            effect = f"{number(claim.effect, places, sign=True)} {claim.unit}".strip()
        parts = list(_condition_view(json.loads(claim.rules)))
        yield {
            "id": claim.id,
            "title": claim.title,
            "statement": claim.statement,
            "where": claim.where,
            "verdict": claim.verdict,
            "kind": _kind(claim.verdict),
            "detail": "" if claim.rules != "[]" else claim.detail,
            "conditions": parts,
            "summary": _summary(parts),
            "effect": effect,
            "interval": interval(claim.low, claim.high, places),
            "data": claim.data if claim.data in BANNERS else "",
        }


def _counts(claims):
    kinds = [_kind(verdict) for verdict in claims["verdict"]]
    return [
        {"verdict": word, "kind": kind, "count": kinds.count(kind)} for word, kind in _KINDS.items()
    ]


def _summary(parts):
    """One line in place of the conditions of a claim, where they fill much room."""
    if sum(len(part["texts"]) for part in parts) <= _MANY:
        return ""
    held = sum(part["kind"] == "yes" for part in parts)
    return f"{held} of {count(len(parts), 'condition')} {'holds' if len(parts) == 1 else 'hold'}"


def _papers(claims, plan):
    """Claims by paper, title and rows, in the order of the studies that they are about."""
    papers, places = {}, {}
    for claim in _claim_view(claims):
        papers.setdefault(claim["title"], []).append(claim)
    order = {name: place for place, name in enumerate(plan["studies"])}
    for claim in claims.itertuples():
        for rule in json.loads(claim.rules):
            place = order.get(rule["study"], len(order))
            places[claim.title] = min(places.get(claim.title, len(order)), place)

    def first(paper):
        title, rows = paper
        return places.get(title, len(order)), rows[0]["id"]

    return [{"title": title, "claims": rows} for title, rows in sorted(papers.items(), key=first)]


def _study_view(page, figures):
    settings, own = page.settings, page.own
    drawn = [
        {
            "name": figure,
            "svg": inline_svg(figures[page.name, figure], f"{page.name}-{figure}"),
            "caption": (settings.get("captions") or {}).get(figure, ""),
        }
        for figure in settings.get("figures") or ()
        if (page.name, figure) in figures
    ]
    made = NOTHING | sheet_of(settings, "sections")(page)
    return made | {
        "id": page.name,
        "title": settings["title"],
        "banner": BANNERS.get(settings.get("source"), ""),
        "kind": settings.get("source", ""),
        "sizes": summaries.sizes(own, page.name, page.printed),
        "figures": drawn,
        "missing_figures": [
            figure for figure in settings.get("figures") or () if (page.name, figure) not in figures
        ],
        "test": summaries.selection_test(own, page.name, settings),
        "weights": summaries.weight_rows(own, settings),
        "selection": summaries.selection_rows(own, settings),
        "notes": summaries.fitting_notes(own, settings)
        + list(subsampled.counts_told(own, settings))
        + made["notes"],
        "failures": failures_of(page.failures, page.name, settings.get("dataset")),
    }


def _families(plan, studies):
    """Studies under the families that they belong to, in plan order."""
    found = {}
    for study in studies:
        family = plan["studies"][study["id"]].get("family") or "other studies"
        found.setdefault(family, []).append(study)
    return [
        {"id": f"family-{name}", "name": family_name(name), "studies": members}
        for name, members in found.items()
    ]


def _failure_view(failures):
    for failure in failures:
        lines = [line for line in str(failure["reason"]).splitlines() if line.strip()]
        stage = str(failure.get("stage") or "")
        advice = "Read the log, correct the cause, and run again: only what is missing is made."
        if "download" in stage:
            advice = (
                "Put the file where the message says, or set data_mirror to a folder that has "
                "it, and run again. Without network, make demo shows the whole workflow on "
                "generated data."
            )
        yield {
            "study": failure.get("study") or "",
            "source": failure.get("source") or "",
            "stage": stage,
            "first": last_line(failure["reason"]),
            "lines": "\n".join(lines[-15:]),
            "log": failure.get("log") or "",
            "advice": advice,
        }


def build_report(plan, metrics, claims, failures=(), figures=None, printed=()):
    """The whole report as HTML.

    Parameters
    ----------
    plan : dict
        Title, data source, version, seed, and the plan of each study.
    metrics : pandas.DataFrame
        Layout `counterweight.files.tables.METRICS`: everything that was measured; may be empty.
    claims : pandas.DataFrame
        From `counterweight.reporting.claims.decide`.
    failures : iterable of dict
        ``study``, ``source``, ``stage``, ``reason`` (lines of the log), ``log`` (its path).
    figures : dict of (str, str) to str, optional
        SVG text by study and figure name.
    printed : iterable of dict, optional
        Figures of the papers, from `counterweight.reporting.claim_files.load_claims`.

    Returns
    -------
    str
        One HTML page with style and figures inside. All text is escaped; nothing is
        loaded from anywhere.
    """
    import jinja2

    failures, printed, figures = list(failures), list(printed), figures or {}
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    studies = [
        _study_view(StudyPage.of(name, plan, metrics, claims, failures, printed), figures)
        for name in plan["studies"]
    ]
    return environment.get_template("report.html").render(
        plan=plan,
        banner=BANNERS["generated"] if plan.get("data_source") == "generated" else "",
        failures=list(_failure_view(failures)),
        papers=_papers(claims, plan),
        counts=_counts(claims),
        studies=studies,
        families=_families(plan, studies),
        balanced=summaries.BALANCED,
        limits={
            name: [number(100 * value, 1 if round(1000 * value) % 10 else 0) for value in bounds]
            for name, bounds in (
                ("loss", subsampled.LOSS_RISE),
                ("value", policy_values.VALUE_BIAS),
                ("auc", subsampled.AUC_BIAS),
            )
        },
    )
