"""What stands on the page of a study of labels, and what all kinds of pages share."""

from typing import NamedTuple

import pandas as pd

from counterweight.reporting.logs import subsampled
from counterweight.reporting.page import summaries
from counterweight.reporting.page.tables import best_of, columns_of, results_table
from counterweight.reporting.page.wording import (
    IN_PERCENT,
    LOSSES,
    count,
    digits,
    interval,
    metric_name,
    number,
    percent,
    places_for,
    unit,
)

#: Sections that a page may have; ``sections`` of a kind of study gives some of them.
NOTHING = {
    "kept": "",
    "tables": [],
    "sweep": None,
    "ranking": None,
    "rates": None,
    "budget": [],
    "notes": [],
}
#: Rows of a table beyond which it is folded.
_LONG = 20


class StudyPage(NamedTuple):
    """What the page of a study is made from.

    Attributes
    ----------
    name : str
    settings : dict
        The study's part of the plan.
    plan : dict
    own : pandas.DataFrame
        Measurements of the study.
    claims : pandas.DataFrame
        From `counterweight.reporting.claims.decide`.
    failures, printed : list of dict
    """

    name: str
    settings: dict
    plan: dict
    own: pd.DataFrame
    claims: pd.DataFrame
    failures: list
    printed: list

    @classmethod
    def of(cls, name, plan, metrics, claims, failures, printed):
        """The page of one study, from what is known of all."""
        own = metrics[metrics["study"] == name]
        return cls(name, plan["studies"][name], plan, own, claims, failures, printed)

    def claims_sentence(self, target):
        """How the claims that rest on the study's table for a target came out."""
        about = summaries.claims_on(self.claims, self.name, target)
        return summaries.claims_sentence(about)


def sections(page):
    """The sections of a study of labels: results tables, sweeps, rankings, rates, budgets."""
    own, name, settings = page.own, page.name, page.settings
    return {
        "kept": subsampled.keep_sentence(own, settings),
        "tables": [_results_view(page, *named) for named in tables_of(settings)],
        "sweep": subsampled.sweep_view(own, name, settings),
        "ranking": subsampled.ranking_view(own, name, settings),
        "rates": None,
        "budget": list(subsampled.budget_sentences(own, name, settings)),
    }


def tables_of(settings):
    """Tables of a study: those the plan names, else one for each target."""
    named = {entry["target"]: entry["title"] for entry in settings.get("tables") or ()}
    for target in settings["targets"]:
        yield target, named.get(target, "")


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
    best = None if best is None else tuple(fair.loc[best, ["method", "setting"]])
    _, factor = unit(headline)
    places = digits(unit(headline)[0], *(factor * rows[["low", "high"]].abs().median()))
    # What is worse has one colour, whether the metric is a loss or not.
    up, down = ("down", "up") if headline in LOSSES else ("up", "down")
    told = None
    for place, part in table.groupby(["method", "setting"], sort=False):
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
            "best": place == best,
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


def _results_view(page, target, title):
    """One results table with its sentences."""
    settings, name = page.settings, page.name
    table = results_table(page.own, page.plan, name, target, page.printed, page.failures)
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
                table, page.claims, name, target, settings.get("baseline", "logistic"), metrics[0]
            ),
            summaries.majority_sentence(page.own, name, target) if "accuracy" in metrics else "",
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
