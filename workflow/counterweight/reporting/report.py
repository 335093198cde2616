"""The report: one HTML file that needs nothing else."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from counterweight.components import declared
from counterweight.reporting import summaries
from counterweight.reporting.claims import OUTCOMES, VERDICTS, conditions
from counterweight.reporting.tables import failures_of, last_line, results_table
from counterweight.reporting.wording import digits, interval, number, percent

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
_KINDS = dict(zip(VERDICTS, ("yes", "part", "no", "none"), strict=True))


def inline_svg(text, prefix):
    """An SVG file as an element to put into a page, its ids made unique by `prefix`."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'href="#', f'href="#{prefix}-', text)
    text = re.sub(r"url\(#", f"url(#{prefix}-", text)
    return re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1).strip()


def _kind(verdict):
    return next(kind for word, kind in _KINDS.items() if verdict.startswith(word))


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
        places = digits(claim.unit)
        effect = ""
        if not np.isnan(claim.effect):
            effect = f"{number(claim.effect, places, sign=True)} {claim.unit}".strip()
        yield {
            "id": claim.id,
            "statement": claim.statement,
            "where": claim.where,
            "verdict": claim.verdict,
            "kind": _kind(claim.verdict),
            "detail": "" if claim.rules != "[]" else claim.detail,
            "conditions": list(_condition_view(json.loads(claim.rules))),
            "effect": effect,
            "interval": interval(claim.low, claim.high, places),
            "data": claim.data if claim.data in BANNERS else "",
        }


def _counts(claims):
    kinds = [_kind(verdict) for verdict in claims["verdict"]]
    return [
        {"verdict": word, "kind": kind, "count": kinds.count(kind)} for word, kind in _KINDS.items()
    ]


def _cell(row, share):
    """``mean (sd)``; shares in per cent."""
    if row is None or pd.isna(row["mean"]):
        return "–"
    factor, places = (100, 1) if share else (1, 3)
    text = number(factor * row["mean"], places)
    return text if pd.isna(row["sd"]) else f"{text} ({number(factor * row['sd'], places)})"


def _table_view(table):
    """Formatted rows of one results table, one for each method."""
    accuracy = table[table["metric"] == "accuracy"]
    fair = accuracy[(accuracy["status"] == "ok") & ~accuracy["oracle"]]
    best = fair.loc[fair["mean"].idxmax(), "method"] if fair["mean"].notna().any() else None
    told = None
    for method, part in table.groupby("method", sort=False):
        cells = {row["metric"]: row for row in part.to_dict("records")}
        main = cells["accuracy"]
        difference = ""
        if not pd.isna(main["diff"]):
            difference = number(100 * main["diff"], 2, sign=True)
        # A data set that is not there fails every method: its long reason stands once.
        reason = "for the same reason" if main["reason"] == told else main["reason"]
        told = main["reason"]
        yield {
            "label": main["label"],
            "oracle": main["oracle"],
            "failed": main["status"] == "failed",
            "reason": reason,
            "best": method == best,
            "accuracy": _cell(main, True),
            "difference": difference,
            "interval": interval(100 * main["low"], 100 * main["high"]),
            "sign": "up" if main["low"] > 0 else "down" if main["high"] < 0 else "",
            "printed": "" if pd.isna(main["printed"]) else percent(main["printed"]),
            "balanced_accuracy": _cell(cells["balanced_accuracy"], True),
            "auc": _cell(cells["auc"], False),
            "log_loss": _cell(cells["log_loss"], False),
            "brier": _cell(cells["brier"], False),
            "n": main["n"],
        }


def _tables_of(settings):
    """Tables of a study: those the plan names, else one for each target."""
    named = {entry["target"]: entry["title"] for entry in settings.get("tables") or ()}
    for target in settings["targets"]:
        yield target, named.get(target, "")


def _study_view(name, settings, plan, metrics, claims, failures, figures, printed):
    own = metrics[metrics["study"] == name]
    tables = []
    for target, title in _tables_of(settings):
        table = results_table(own, plan, name, target, printed, failures)
        rows = list(_table_view(table))
        tables.append(
            {
                "title": title,
                "caption": f"Results on {summaries.target_name(target)}",
                "sentence": summaries.table_sentence(
                    table, claims, name, target, settings.get("baseline", "logistic")
                ),
                "majority": summaries.majority_sentence(own, name, target),
                "rows": rows,
                "printed": any(row["printed"] for row in rows),
                "oracle": any(row["oracle"] for row in rows),
                "repeats": max(row["n"] for row in rows) if rows else 0,
            }
        )
    drawn = []
    for figure in settings.get("figures") or ():
        if (name, figure) in figures:
            drawn.append(
                {
                    "name": figure,
                    "svg": inline_svg(figures[name, figure], f"{name}-{figure}"),
                    "caption": declared("figure", figure, "CAPTION", ""),
                }
            )
    return {
        "id": name,
        "title": settings["title"],
        "banner": BANNERS.get(settings.get("source"), ""),
        "kind": settings.get("source", ""),
        "sizes": summaries.sizes(own, name, printed),
        "tables": tables,
        "figures": drawn,
        "missing_figures": [
            figure for figure in settings.get("figures") or () if (name, figure) not in figures
        ],
        "test": summaries.selection_test(own, name, settings),
        "weights": summaries.weight_rows(own, settings),
        "selection": summaries.selection_rows(own, settings),
        "notes": summaries.fitting_notes(own, settings),
        "failures": failures_of(failures, name, settings.get("dataset")),
    }


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
        Layout `counterweight.tables.METRICS`: everything that was measured; may be empty.
    claims : pandas.DataFrame
        From `counterweight.reporting.claims.decide`.
    failures : iterable of dict
        ``study``, ``source``, ``stage``, ``reason`` (lines of the log), ``log`` (its path).
    figures : dict of (str, str) to str, optional
        SVG text by study and figure name.
    printed : iterable of dict, optional
        Figures of the papers, from `counterweight.reporting.claims.load_claims`.

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
        _study_view(name, settings, plan, metrics, claims, failures, figures, printed)
        for name, settings in plan["studies"].items()
    ]
    return environment.get_template("report.html").render(
        plan=plan,
        banner=BANNERS["generated"] if plan.get("data_source") == "generated" else "",
        failures=list(_failure_view(failures)),
        claims=list(_claim_view(claims)),
        counts=_counts(claims),
        studies=studies,
        balanced=summaries.BALANCED,
    )
