"""The report: one HTML file that needs nothing else."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from counterweight.plan.components import declared
from counterweight.reporting.claims import OUTCOMES, VERDICTS, conditions
from counterweight.reporting.filters import sentences as filter_sentences
from counterweight.reporting.filters import sheets as filter_sheets
from counterweight.reporting.filters.tables import FilterResults
from counterweight.reporting.logs import policy_values, subsampled
from counterweight.reporting.offers import sentences as offer_sentences
from counterweight.reporting.offers import sheets as offers
from counterweight.reporting.page import summaries
from counterweight.reporting.page.tables import (
    best_of,
    columns_of,
    failures_of,
    is_filter,
    is_log,
    is_offers,
    last_line,
    offers_table,
    reasons_of,
    results_table,
    value_table,
)
from counterweight.reporting.page.wording import (
    IN_PERCENT,
    LOSSES,
    count,
    digits,
    family_name,
    interval,
    metric_name,
    number,
    percent,
    places_for,
    unit,
)
from counterweight.reporting.rates import sheets as rate_sheets

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
#: Conditions of a claim, and rows of a table, beyond which they are folded.
_MANY, _LONG = 4, 20
_RESAMPLINGS = {
    "bootstrap": ("bootstrap resampling", "bootstrap resamplings"),
    "split": ("part of the log", "parts of the log"),
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


def _cell(row, percents, places):
    """``mean (sd)``."""
    if row is None or pd.isna(row["mean"]):
        return "–"
    factor = 100 if percents else 1
    text = number(factor * row["mean"], places)
    return text if pd.isna(row["sd"]) else f"{text} ({number(factor * row['sd'], places)})"


def _column_view(table, columns):
    """Name, unit and digits of each metric of a results table."""
    for metric in columns:
        means = table.loc[table["metric"] == metric, "mean"].dropna().abs()
        percents = metric in IN_PERCENT
        name = metric_name(metric)
        yield {
            "metric": metric,
            "name": name[0].upper() + name[1:] + (", %" if percents else ""),
            "percents": percents,
            "places": 1 if percents else places_for([means.median()] if len(means) else [], 3),
        }


def _table_view(table, columns):
    """Formatted rows of one results table, one for each method."""
    headline = columns[0]["metric"]
    rows = table[table["metric"] == headline]
    fair = rows[(rows["status"] == "ok") & ~rows["oracle"]]
    best = best_of(fair, headline)
    best = None if best is None else fair.loc[best, "method"]
    _, factor = unit(headline)
    places = digits(unit(headline)[0], *(factor * rows[["low", "high"]].abs().median()))
    # What is worse has one colour, whether the metric is a loss or not.
    up, down = ("down", "up") if headline in LOSSES else ("up", "down")
    told = None
    for method, part in table.groupby("method", sort=False):
        cells = {row["metric"]: row for row in part.to_dict("records")}
        main = cells[headline]
        difference = ""
        if not pd.isna(main["diff"]):
            difference = number(factor * main["diff"], places, sign=True)
        # A data set that is not there fails every method: its long reason stands once.
        reason = "for the same reason" if main["reason"] == told else main["reason"]
        told = main["reason"]
        in_print = ""
        if not pd.isna(main["printed"]):
            shown = columns[0]["percents"]
            in_print = percent(main["printed"]) if shown else number(main["printed"], 3)
        yield {
            "label": main["label"],
            "oracle": main["oracle"],
            "failed": main["status"] == "failed",
            "reason": reason,
            "best": method == best,
            "difference": difference,
            "interval": interval(factor * main["low"], factor * main["high"], places),
            "sign": up if main["low"] > 0 else down if main["high"] < 0 else "",
            "printed": in_print,
            "cells": [
                _cell(cells[column["metric"]], column["percents"], column["places"])
                for column in columns
            ],
            "n": main["n"],
        }


def _tables_of(settings):
    """Tables of a study: those the plan names, else one for each target."""
    named = {entry["target"]: entry["title"] for entry in settings.get("tables") or ()}
    for target in settings["targets"]:
        yield target, named.get(target, "")


def _results_view(own, name, settings, plan, target, title, claims, failures, printed):
    """One results table with its sentences."""
    table = results_table(own, plan, name, target, printed, failures)
    metrics = columns_of(settings)
    columns = list(_column_view(table, metrics))
    rows = list(_table_view(table, columns))
    repeats = max(row["n"] for row in rows) if rows else 0
    difference = "Difference, points" if unit(metrics[0])[0] == "points" else "Difference"
    return {
        "kind": "results",
        "title": title,
        "caption": f"Results on {summaries.target_name(target)}",
        "sentences": [
            summaries.table_sentence(
                table, claims, name, target, settings.get("baseline", "logistic"), metrics[0]
            ),
            summaries.majority_sentence(own, name, target) if "accuracy" in metrics else "",
        ],
        "columns": columns,
        "difference": difference,
        "headline": metric_name(metrics[0]),
        "less": metrics[0] in LOSSES,
        "rows": rows,
        "long": f"All {len(rows)} rows" if len(rows) > _LONG else "",
        "printed": any(row["printed"] for row in rows),
        "oracle": any(row["oracle"] for row in rows),
        "repeats": count(repeats, "random split"),
    }


def _value_view(own, name, plan, target, title, claims, failures):
    """The table of policy values with its sentences."""
    table = value_table(own, plan, name, target, failures)
    options = plan["studies"][name].get("protocol", {}).get("options", {})
    resample = options.get("resample", "")
    found = summaries.claims_on(claims, name, target)
    return {
        "kind": "value",
        "title": title,
        "caption": "Value of each policy",
        "sentences": [*policy_values.value_sentences(table), summaries.claims_sentence(found)],
        "rows": list(policy_values.value_rows(table)),
        "long": "",
        "resamplings": count(int(table["n"].max()), *_RESAMPLINGS.get(resample, ("resampling",))),
        "whole": bool(table["coverage_whole"].notna().any()),
    }


def _offers_view(own, name, plan, target, title, claims, failures, printed):
    """The sheets of a study of offers with their sentences and warnings."""
    settings = plan["studies"][name]
    table = offers_table(own, plan, name, target, printed, failures)
    found = summaries.claims_on(claims, name, target)
    return {
        "kind": "offers",
        "title": title,
        "caption": "Chances of acceptance, totals and best offers",
        "sentences": [
            *offer_sentences.sentences(table, own, settings),
            summaries.claims_sentence(found),
        ],
        "warnings": list(offer_sentences.warnings(table, own, settings)),
        "sheets": offers.sheets(table, settings, own),
        "oracle": bool(table["oracle"].any()),
    }


def _filter_view(found, name, settings, claims, failures):
    """The sheets of a study of balanced filtering with their sentences and warnings."""
    about = {
        claim: verdict
        for claim, verdict, rule in summaries.rules_of(claims)
        if rule["study"] == name
    }
    return {
        "kind": "offers",
        "title": "",
        "caption": "How balanced, how disclosive, how large",
        "sentences": [*filter_sentences.sentences(found), summaries.claims_sentence(about)],
        "warnings": list(filter_sentences.warnings(found)),
        "sheets": filter_sheets.sheets(found, reasons_of(failures, name, settings)),
        "oracle": False,
    }


def _study_view(name, settings, plan, metrics, claims, failures, figures, printed):
    own = metrics[metrics["study"] == name]
    made_of_offers = is_offers(settings)
    filtered = None
    if is_filter(settings):
        in_print = [entry for entry in printed if entry["study"] == name]
        filtered = FilterResults(own, settings, in_print)
    log = is_log(settings) or made_of_offers or filtered is not None
    tables = []
    if filtered is not None:
        tables.append(_filter_view(filtered, name, settings, claims, failures))
    for target, title in _tables_of(settings) if filtered is None else ():
        if made_of_offers:
            view = _offers_view(own, name, plan, target, title, claims, failures, printed)
        elif log:
            view = _value_view(own, name, plan, target, title, claims, failures)
        else:
            view = _results_view(
                own, name, settings, plan, target, title, claims, failures, printed
            )
        tables.append(view)
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
        "kept": subsampled.keep_sentence(own, settings),
        "sizes": summaries.sizes(own, name, printed),
        "tables": tables,
        "sweep": None if log else subsampled.sweep_view(own, name, settings),
        "ranking": None if log else subsampled.ranking_view(own, name, settings),
        "rates": rate_sheets.view(own, name, settings, failures),
        "budget": [] if log else list(subsampled.budget_sentences(own, name, settings)),
        "figures": drawn,
        "missing_figures": [
            figure for figure in settings.get("figures") or () if (name, figure) not in figures
        ],
        "test": summaries.selection_test(own, name, settings),
        "weights": summaries.weight_rows(own, settings),
        "selection": summaries.selection_rows(own, settings),
        "notes": summaries.fitting_notes(own, settings)
        + list(subsampled.counts_told(own, settings))
        + (list(offer_sentences.counts(own, settings)) if made_of_offers else [])
        + (list(filter_sentences.counts(filtered)) if filtered is not None else []),
        "failures": failures_of(failures, name, settings.get("dataset")),
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
