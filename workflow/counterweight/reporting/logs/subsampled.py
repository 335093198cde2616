"""What studies on subsampled logs say, in sentences and short tables that are computed."""

import numpy as np
import pandas as pd

from counterweight.evaluation.metrics.intervals import paired_interval
from counterweight.files.settings import numbers_of, setting_options
from counterweight.reporting.page.summaries import coverage_grade, rises, small
from counterweight.reporting.page.tables import by_repeat, columns_of
from counterweight.reporting.page.wording import (
    CORRECTIONS,
    LOSSES,
    count,
    interval,
    learner_name,
    listing,
    method_label,
    metric_name,
    number,
    percent,
    places_for,
    unit,
)

#: Relative rise of a loss, and bias of an AUC: good up to, fair up to.
LOSS_RISE = (0.01, 0.05)
AUC_BIAS = (0.005, 0.02)
_HARSH = 0.01


def counts_told(metrics, settings):
    """Counts of studies on subsampled rows that must not be hidden, as sentences."""
    for metric, text in (
        (
            "predictions_out_of_range",
            "predictions outside 0 and 1 were moved to the nearer of them",
        ),
        ("resamples_redrawn", "resamples that kept no row of a class were drawn again"),
        ("constant_model", "fits had training rows of one class only and predict a constant"),
        ("rows_unsupported", "logged actions are outside the support of a policy that was valued"),
        ("rows_without_policy", "logged rows are of a context in which the policy was never seen"),
    ):
        rows = metrics[metrics["metric"] == metric]
        if rows.empty:
            continue
        total = rows["value"].sum()
        some = rows.loc[rows["value"] > 0, "source"].unique()
        labels = {one["id"]: method_label(one) for one in settings["methods"]}
        names = listing(labels.get(name, name) for name in some) if len(some) else ""
        yield f"{number(total, 0)} {text}{f' ({names})' if names else ''}."


def keep_sentence(metrics, settings):
    """That test rows were subsampled, and what is left of them; "" where all were kept."""
    rate = settings.get("keep_rate") or 1.0
    if rate >= 1:
        return ""
    text = (
        f"Of the test rows of outcome zero only a share l = {rate:g}, drawn at random, was kept; "
        f"all metrics here are weighted, a kept zero row counting {number(1 / rate, 0)} times."
    )
    kept, effective = (
        metrics.loc[metrics["metric"] == name, "value"] for name in ("rows_kept", "effective_rows")
    )
    if len(kept):
        text += f" On average {number(kept.mean(), 0)} rows were kept"
        if len(effective):
            text += f", worth {number(effective.mean(), 0)} equally weighted ones"
        text += "."
    return text


def _differences(metrics, study, test_share, metric, *sides):
    """Paired difference with its interval; `left` and `right` are (source, setting)."""
    one, other = (by_repeat(metrics, study, source, "general", metric, at) for source, at in sides)
    difference = (one - other).dropna()
    return *paired_interval(difference, test_share), other.mean() if len(other) else np.nan


def sweep_table(metrics, study, settings):
    """How much each correction loses at each keep rate against the same learner on all rows.

    Returns
    -------
    pandas.DataFrame
        learner, correction, keep_rate, rise (of the headline, in its own unit, positive when
        worse), low, high, relative (rise over the full-data headline).
    """
    metric = columns_of(settings)[0]
    sign = 1.0 if metric in LOSSES else -1.0
    own = metrics[(metrics["study"] == study) & (metrics["metric"] == metric)]
    known = {name: part["setting"].unique() for name, part in own.groupby("source")}
    rows = []
    for method in settings["methods"]:
        learner, _, way = method["id"].rpartition("-")
        if way not in CORRECTIONS or "keep_rate" not in (method.get("sweep") or {}):
            continue
        full = next(
            (
                (name, setting)
                for name in (f"{learner}-none", f"{learner}-weights")
                for setting in known.get(name, ())
                if setting_options(setting) == {"keep_rate": 1.0}
            ),
            None,
        )
        for setting in known.get(method["id"], ()):
            rate = numbers_of(setting).get("keep_rate")
            if full is None or rate is None:
                continue
            mean, low, high, level = _differences(
                own, study, settings["test_share"], metric, (method["id"], setting), full
            )
            low, high = sorted((sign * low, sign * high)) if low == low else (low, high)
            rows.append((learner, way, rate, sign * mean, low, high, sign * mean / abs(level)))
    names = ("learner", "correction", "keep_rate", "rise", "low", "high", "relative")
    return pd.DataFrame(rows, columns=list(names))


def sweep_view(metrics, study, settings):
    """Sentences and formatted rows about a sweep over keep rates; None where there is none."""
    table = sweep_table(metrics, study, settings)
    if table.empty:
        return None
    metric = columns_of(settings)[0]
    rates = sorted({rate for rate in table["keep_rate"] if rate < 1}, reverse=True)
    rows = []
    for (learner, way), part in table.groupby(["learner", "correction"], sort=False):
        part = part.set_index("keep_rate")
        cells = []
        for rate in rates:
            share = part["relative"].get(rate, np.nan)
            text = "–" if np.isnan(share) else number(100 * share, 1, sign=True) + " %"
            cells.append({"text": text, "grade": rises(share, LOSS_RISE)})
        rows.append({"label": f"{learner_name(learner)}, {CORRECTIONS[way]}", "cells": cells})
    return {
        "sentences": list(_sweep_sentences(table, metric, rates)),
        "rates": [f"{rate:g}" for rate in rates],
        "rows": rows,
        "metric": metric_name(metric),
    }


def _sweep_sentences(table, metric, rates):
    if not rates:
        return
    harsh = min(rates, key=lambda rate: (abs(np.log(rate / _HARSH)), rate))
    at = table[(table["keep_rate"] == harsh) & table["rise"].notna()]
    parts = []
    for learner, part in at.groupby("learner", sort=False):
        best = part.loc[part["rise"].idxmin()]
        bounds = [best["rise"], best["low"], best["high"]]
        _, factor = unit(metric)
        places = places_for([factor * value for value in bounds])
        text = (
            f"{learner_name(learner)}: {CORRECTIONS[best['correction']]}, "
            f"{_rise(best, metric, factor, places)}"
        )
        parts.append(text)
    if parts:
        yield (
            f"At l = {harsh:g} the least bad way, by the {metric_name(metric)} against the same "
            f"learner without correction on all rows, is: {'; '.join(parts)}."
        )
    safe = {}
    for (learner, way), part in table.groupby(["learner", "correction"], sort=False):
        part = part[part["keep_rate"] < 1].sort_values("keep_rate", ascending=False)
        good = part[(part["relative"] <= LOSS_RISE[0]).cummin()]
        if way != "none" and len(good):
            safe.setdefault(way, []).append(
                f"{good['keep_rate'].min():g} ({learner_name(learner)})"
            )
    if safe:
        said = [f"{CORRECTIONS[way]} to l = {listing(found)}" for way, found in safe.items()]
        yield (
            f"The mean stays within {percent(LOSS_RISE[0], 0)} of all rows down to: "
            f"{'; '.join(said)}."
        )
    else:
        yield f"No way stays within {percent(LOSS_RISE[0], 0)} of all rows at any l below 1."


def _rise(best, metric, factor, places):
    unit_name = unit(metric)[0]
    text = number(factor * abs(best["rise"]), places) + (f" {unit_name}" if unit_name else "")
    word = "worse" if best["rise"] > 0 else "better"
    bounds = interval(factor * best["low"], factor * best["high"], places)
    share, verdict = percent(abs(best["relative"])), rises(best["relative"], LOSS_RISE)
    return f"{text} {word} {bounds}".rstrip() + f", {share} ({verdict})"


def budget_sentences(metrics, study, settings):
    """Balanced against natural training rows, the progressive choice, and the budget."""
    ids = {one["id"] for one in settings["methods"]}
    learners = [name.removesuffix("-natural") for name in ids if name.endswith("-natural")]
    for learner in sorted(learners):
        if f"{learner}-balanced" in ids:
            yield from _balanced(metrics, study, settings, learner)
        if f"{learner}-progressive" in ids:
            yield from _progressive(metrics, study, settings, learner)


def _balanced(metrics, study, settings, learner):
    parts = []
    for metric in ("auc", "accuracy"):
        mean, low, high, _ = _differences(
            metrics,
            study,
            settings["test_share"],
            metric,
            (f"{learner}-balanced", ""),
            (f"{learner}-natural", ""),
        )
        if np.isnan(mean):
            continue
        word = "better" if low > 0 else "worse" if high < 0 else "no different beyond the interval"
        bounds = interval(100 * low, 100 * high)
        change = number(100 * mean, 2, sign=True)
        parts.append(f"{metric_name(metric)} {change} points {bounds}".strip() + f", {word}")
    if parts:
        yield f"Balanced against natural training rows, same budget: {'; '.join(parts)}."
    bought = metrics[(metrics["metric"] == "rows_bought")].groupby("source")["value"].mean()
    balanced, natural = (bought.get(f"{learner}-{way}", np.nan) for way in ("balanced", "natural"))
    if balanced < 0.99 * natural:
        yield (
            f"There were too few positives to fill the budget with equal shares: balanced trees "
            f"had {number(balanced, 0)} rows on average, natural ones {number(natural, 0)}."
        )


def _progressive(metrics, study, settings, learner):
    source = f"{learner}-progressive"
    own = metrics[metrics["source"] == source]
    excess = own.loc[own["metric"] == "budget_excess", "value"]
    chosen = own.loc[own["metric"] == "chosen_share", "value"]
    fixed = [f"{learner}-{way}" for way in ("natural", "balanced")]
    means = {
        name: by_repeat(metrics, study, name, "general", "auc").mean()
        for name in fixed
        if len(by_repeat(metrics, study, name, "general", "auc"))
    }
    text = "Progressive sampling"
    if len(chosen):
        text += f" chose on average {percent(chosen.mean(), 0)} positives"
    if means:
        best = max(means, key=means.get)
        mean, low, high, _ = _differences(
            metrics, study, settings["test_share"], "auc", (source, ""), (best, "")
        )
        if not np.isnan(mean):
            bounds = interval(100 * low, 100 * high)
            change = number(100 * mean, 2, sign=True)
            text += (
                f"{';' if len(chosen) else ':'} its AUC is {change} points {bounds} from that of "
                f"the better of natural and balanced ({small(min(mean, 0.0), AUC_BIAS)})"
            )
    if len(excess):
        over = int((excess > 0).sum())
        text += (
            "; it never bought more than its budget"
            if not over
            else (f"; it bought more than its budget in {over} of {count(len(excess), 'fit')}")
        )
    if text != "Progressive sampling":
        yield text + "."


def ranking_view(metrics, study, settings):
    """Sentences and rows on the AUC of subsampled rows; None where it was not measured."""
    own = metrics[(metrics["study"] == study) & (metrics["target"] == "general")]
    rows, sentences = [], []
    for method in settings["methods"]:
        mine = own[own["source"] == method["id"]]
        # A single pair is kept at no rate.
        rated = mine.assign(rate=mine["keep_rate"].fillna(0.0))
        means = rated.groupby(["metric", "part", "rate"], sort=False)["value"].mean()
        biases = rated[(rated["metric"] == "auc_bias") & rated["value"].notna()]
        for (part, rate), bias in biases.groupby(["part", "rate"], sort=False):
            if part == "positives" and rate == 1:
                continue
            bias = bias.set_index("repeat")["value"].sort_index()
            mean, low, high = paired_interval(bias, settings["test_share"])
            coverage = means.get(("auc_covered", part, rate), np.nan)
            rows.append(
                {
                    "rows": f"{part} l={rate}" if rate else part,
                    "bias": number(100 * mean, 2, sign=True),
                    "interval": interval(100 * low, 100 * high),
                    "grade": small(mean, AUC_BIAS),
                    "spread": number(100 * means.get(("auc_spread", part, rate), np.nan), 2),
                    "coverage": percent(coverage),
                    "coverage_grade": coverage_grade(coverage),
                }
            )
        by_setting = mine.groupby(["metric", "setting"], sort=False)["value"].mean()
        sentences += list(_deviation_sentences(by_setting, settings))
    return {"rows": rows, "sentences": sentences} if rows or sentences else None


def _deviation_sentences(means, settings):
    names = {metric for metric, _ in means.index}
    if "auc_deviation" in names:
        for budget, part in _by_budget(means["auc_deviation"]).items():
            least = min(part, key=part.get)
            text = f"With N = {budget:g} rows the mean distance of the AUC is least at "
            text += f"{percent(least, 0)} positives ({number(100 * part[least], 1)} points)"
            if 0.5 in part and least != 0.5:
                text += f", at equal shares it is {number(100 * part[0.5], 1)} points"
            yield text + "."
    if "bound_violated" in names:
        worst = float(means["bound_violated"].max())
        delta = settings.get("protocol", {}).get("options", {}).get("delta")
        allowed = f", where {percent(delta, 0)} is allowed" if delta else ""
        word = f" ({'good' if worst <= delta else 'poor'})" if delta else ""
        yield (
            "The Agarwal bound is exceeded in at most "
            f"{percent(worst)} of the resamples of a budget and share{allowed}{word}."
        )


def _by_budget(values):
    budgets = {}
    for setting, value in values.items():
        options = setting_options(setting)
        if set(options) == {"N", "rho"}:
            budgets.setdefault(options["N"], {})[options["rho"]] = float(value)
    return budgets
