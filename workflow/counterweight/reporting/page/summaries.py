"""What the numbers of a study say, in sentences and short tables that are computed."""

import json

import numpy as np

from counterweight.evaluation.metrics.intervals import paired_interval
from counterweight.reporting.page.tables import best_of, by_repeat
from counterweight.reporting.page.wording import (
    IN_PERCENT,
    LOSSES,
    count,
    digits,
    interval,
    listing,
    method_label,
    metric_name,
    number,
    percent,
    places_for,
    unit,
)

#: Below this absolute difference in standard deviations a feature counts as balanced.
BALANCED = 0.1
_TARGETS = {"general": "the general population", "unlabeled": "the unlabeled population"}


def target_name(target):
    return _TARGETS.get(target, target)


def points(mean, low, high, metric="accuracy"):
    """A difference of a metric with its interval; of shares in percentage points."""
    name, factor = unit(metric)
    values = [factor * value for value in (mean, low, high)]
    places = digits(name, *values)
    text = number(values[0], places, sign=True) + (f" {name}" if name else "")
    bounds = interval(*values[1:], places)
    return f"{text} {bounds}" if bounds else text


def rules_of(claims):
    """All rule outcomes of a claims frame, each with its claim's id and verdict."""
    for claim in claims.itertuples():
        for rule in json.loads(claim.rules):
            yield claim.id, claim.verdict, rule


def claims_on(claims, study, target, metrics=None):
    """``{claim id: verdict}`` of the claims that rest on one table.

    Those are the claims with a rule on the study and the target, and on one of `metrics`
    where these are given.
    """
    return {
        name: verdict
        for name, verdict, rule in rules_of(claims)
        if rule["study"] == study
        and rule["target"] == target
        and (metrics is None or rule["metric"] in metrics)
    }


def majority_sentence(metrics, study, target):
    """What a constant answer would score: the floor under every accuracy of a table.

    Parameters
    ----------
    metrics : pandas.DataFrame
        Measurements in the layout `counterweight.files.tables.METRICS`.
    study, target : str
    """
    rows = metrics[
        (metrics["study"] == study)
        & (metrics["source"] == "labels")
        & (metrics["target"] == target)
        & (metrics["metric"] == "positive_share")
        & (metrics["part"] == "target")
    ]
    if rows.empty:
        return ""
    share = rows["value"].mean()
    return (
        f"Always answering “{'yes' if share > 0.5 else 'no'}” would score "
        f"{percent(max(share, 1 - share))} here."
    )


def table_sentence(table, claims, study, target, baseline, metric="accuracy"):
    """What one results table shows, and whether the claims about it hold.

    Parameters
    ----------
    table : pandas.DataFrame
        From `counterweight.reporting.page.tables.results_table`.
    claims : pandas.DataFrame
        From `counterweight.reporting.claims.decide`.
    study, target, baseline : str
    metric : str
        The table's headline.
    """
    rows = table[table["metric"] == metric]
    fair = rows[(rows["status"] == "ok") & ~rows["oracle"] & rows["mean"].notna()]
    name = metric_name(metric)
    if fair.empty:
        return (
            f"No method has {article(name)} {name} on {target_name(target)}, so this table shows "
            "nothing."
        )
    best = fair.loc[best_of(fair, metric)]
    shown = (
        percent(best["mean"])
        if metric in IN_PERCENT
        else number(best["mean"], places_for([best["mean"]], 3))
    )
    quality = "most accurate method" if metric == "accuracy" else f"method with the best {name}"
    blind = " that sees no hidden label" if rows["oracle"].any() else ""
    text = f"On {target_name(target)}, the {quality}{blind} is {best['label']} with {shown}"
    is_baseline = (fair["method"] == baseline) & (fair["setting"] == "")
    others = fair[~is_baseline]
    columns = None if metric != "accuracy" else {"accuracy"}
    resting = claims_sentence(claims_on(claims, study, target, columns))
    if len(rows) == 1:
        return f"{best['label']} has {article(name)} {name} of {shown} here. {resting}"
    if is_baseline[best.name]:
        text += ", the baseline itself"
    elif not np.isnan(best["diff"]):
        text += f", {points(best['diff'], best['low'], best['high'], metric)} from the baseline"
    if len(others):
        better, worse = int((others["low"] > 0).sum()), int((others["high"] < 0).sum())
        if metric in LOSSES:
            better, worse = worse, better
        text += (
            f"; of {count(len(others), 'other row')}, {better} "
            f"{'is' if better == 1 else 'are'} better than the baseline beyond the interval and "
            f"{worse} worse"
        )
    return f"{text}. {resting}"


def article(noun):
    return "an" if noun[0] in "aeiouA" else "a"


def claims_sentence(verdicts):
    """How the claims of `claims_on` came out."""
    if not verdicts:
        return "No claim rests on it."
    groups = {}
    for name, verdict in verdicts.items():
        kind = verdict
        groups.setdefault(kind, []).append(name)
    parts = [f"{listing(names)} {kind}" for kind, names in groups.items()]
    return f"Claims that rest on it: {'; '.join(parts)}."


def selection_test(metrics, study, settings):
    """Whether hidden labels are missing at random, judged by logistic regression.

    Under MAR, and if the weights are right, weighted logistic regression comes to the
    accuracy of one that sees the hidden labels (Smith & Elkan 2007, section 7).

    Returns
    -------
    dict or None
        ``effect`` and ``verdict`` as text; None when either method is not in the study.
    """
    names = ("logistic-oracle", "logistic-lemma1")
    if not set(names) <= {one["id"] for one in settings["methods"]}:
        return None
    oracle, weighted = (by_repeat(metrics, study, name, "general", "accuracy") for name in names)
    mean, low, high = paired_interval((oracle - weighted).dropna(), settings["test_share"])
    if np.isnan(mean):
        return {"effect": "–", "verdict": "It cannot be made: one of the two has no result."}
    if np.isnan(low):
        verdict = "A single split gives no interval, so nothing can be said."
    elif low > 0:
        verdict = (
            "Seeing the hidden labels helps beyond what weights can repair: the labels look "
            "missing not at random (or the selection model is wrong)."
        )
    elif high < 0:
        verdict = (
            "The weighted model is even better, so there is no sign that the labels are "
            "missing not at random."
        )
    else:
        verdict = "The interval contains 0: this test does not reject missing at random."
    return {"effect": points(mean, low, high), "verdict": verdict}


def _mean(metrics, source, metric, column="value"):
    rows = metrics[(metrics["source"] == source) & (metrics["metric"] == metric)]
    return float(rows[column].mean()) if len(rows) else np.nan


def _worst(metrics, source, metric):
    """``(feature, mean value)`` of the worst balanced feature."""
    rows = metrics[(metrics["source"] == source) & (metrics["metric"] == metric)]
    means = rows.groupby("part")["value"].mean().dropna()
    if means.empty:
        return "", np.nan
    worst = means.abs().idxmax()
    return worst, float(means[worst])


def grade(value, good, fair=None):
    """good / fair / poor for a value that should be at least `good`; "" for NaN."""
    if np.isnan(value):
        return ""
    if value >= good:
        return "good"
    return "fair" if fair is not None and value >= fair else "poor"


def coverage_grade(coverage):
    """Good from 93 to 97 %, fair from 90 to 99 %, for intervals meant to cover 95 %."""
    if np.isnan(coverage):
        return ""
    if 0.93 <= coverage <= 0.97:
        return "good"
    return "fair" if 0.9 <= coverage <= 0.99 else "poor"


def small(value, bounds):
    """Good, fair or poor for what should be near 0."""
    return grade(-abs(value), -bounds[0], -bounds[1])


def rises(value, bounds):
    """Good, fair or poor for what should not be above 0."""
    return grade(-value, -bounds[0], -bounds[1])


def weight_rows(metrics, settings):
    """One row of diagnostics for each weighting that was measured.

    Effective shares from 50 % are called good, from 20 % fair; mean weights within 0.05
    of 1 and differences below 0.1 standard deviations good.
    """
    rows = []
    for one in settings["weightings"]:
        name = one["id"]
        size = metrics[(metrics["source"] == name) & (metrics["metric"] == "effective_sample_size")]
        if size.empty:
            continue
        labeled = size["rows"].where(size["rows"] > 0)
        share = float((size["value"] / labeled).mean())
        capped = metrics[(metrics["source"] == name) & (metrics["metric"] == "rows_capped")]
        mean = _mean(metrics, name, "mean_weight")
        feature, after = _worst(metrics, name, "balance_after")
        _, before = _worst(metrics, name, "balance_before")
        rows.append(
            {
                "id": name.replace("_", " "),
                "target": one["target"],
                "size": number(float(size["value"].mean()), 0),
                "share": percent(share, 0),
                "share_grade": grade(share, 0.5, 0.2),
                "largest": number(_mean(metrics, name, "largest_weight"), 1),
                "uncapped": number(_mean(metrics, name, "largest_uncapped"), 1),
                "capped": percent(float((capped["value"] / labeled.mean()).mean()), 2),
                "mean": number(mean, 3),
                "mean_grade": grade(-abs(mean - 1), -0.05),
                "before": number(before, 2, sign=True),
                "after": number(after, 2, sign=True),
                "after_grade": grade(-abs(after), -BALANCED),
                "feature": feature.replace("_", " "),
            }
        )
    return rows


def selection_rows(metrics, settings):
    """One row for each selection model: AUC, calibration gap, share of tiny probabilities."""
    rows = []
    for one in settings["selectors"]:
        own = metrics[(metrics["source"] == one["id"]) & (metrics["target"] == "")]
        predicted, observed = (
            own[own["metric"] == f"calibration_{which}"].groupby("part")["value"].mean()
            for which in ("predicted", "observed")
        )
        gap = float((predicted - observed).abs().mean()) if len(predicted) else np.nan
        auc, extreme = (_mean(own, one["id"], name) for name in ("auc", "share_extreme"))
        if np.isnan([gap, auc, extreme]).all():
            continue
        rows.append(
            {
                "id": one["id"].replace("_", " ") + (" †" if one.get("oracle") else ""),
                "auc": number(auc, 3),
                "gap": number(gap, 3),
                "gap_grade": grade(-gap, -0.03),
                "extreme": percent(extreme, 2),
                "extreme_grade": grade(-extreme, -0.01, -0.05),
            }
        )
    return rows


def fitting_notes(metrics, settings):
    """Counts that must not be hidden: not converged, held back, capped, as sentences."""
    labels = {one["id"]: method_label(one) for one in settings["methods"]}
    # A selection model may have a method's name; only methods have a target.
    fitted = metrics[metrics["source"].isin(labels) & (metrics["target"] != "")]
    converged = fitted[fitted["metric"] == "converged"]
    notes = []
    if len(converged):
        short = converged[converged["value"] < 1]
        text = f"{len(short)} of {count(len(converged), 'fit')} did not converge fully"
        if len(short):
            text += f" ({listing(labels[name] for name in short['source'].unique())})"
        notes.append(text + ".")
    held = fitted[fitted["metric"] == "components_held"]
    if len(held):
        some = held[held["value"] > 0]
        text = (
            f"{count(int(held['value'].sum()), 'component update was', 'component updates were')} "
            "held back because too few rows belonged to the component"
        )
        if len(some):
            text += f" ({listing(labels[name] for name in some['source'].unique())})"
        notes.append(text + ".")
    for one in settings["weightings"]:
        capped = _mean(metrics, one["id"], "rows_capped")
        zero = _mean(metrics, one["id"], "rows_zero")
        parts = []
        if capped > 0:
            parts.append(f"{number(capped, 1)} rows at the cap of {number(one['max_weight'], 0)}")
        if zero > 0:
            parts.append(f"{number(zero, 1)} rows of weight zero")
        if parts:
            notes.append(f"{one['id'].replace('_', ' ')}: on average {' and '.join(parts)}.")
    return notes


def sizes(metrics, study, printed):
    """Mean numbers of rows of the split, each with the figure in print."""
    in_print = {
        entry["metric"]: entry["value"]
        for entry in printed
        if entry["study"] == study and entry["source"] == "labels"
    }
    rows = []
    everyone = _mean(metrics, "labels", "rows_unlabeled") == 0
    for metric, name in (
        ("rows_train", "for training"),
        ("rows_labeled", "labeled"),
        ("rows_unlabeled", "unlabeled"),
        ("rows_test", "test"),
        ("rows_all", "all"),
        ("rows_log", "in the log"),
        ("rows_on_policy", "logged by the policy itself"),
        ("rows_nonzero", "of non-zero reward in the log"),
    ):
        own = metrics if metric != "rows_nonzero" else metrics[metrics["part"] == "log"]
        value = _mean(own, "labels", metric)
        if everyone and metric == "rows_unlabeled" or metric == "rows_test" and not value:
            continue
        if everyone and metric == "rows_labeled":
            name = "for training"
        if not np.isnan(value):
            shown = number(in_print[metric], 0) if metric in in_print else ""
            rows.append({"name": name, "value": number(value, 0), "printed": shown})
    return rows
