"""Totals predicted, actual and true at the historical offers; gains of the best ones."""

import math

from counterweight.reporting.charts.canvas import DASHED, MAIN, Canvas, Look, row_height
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import GREEN, INK, ORANGE, PALE
from counterweight.reporting.charts.words import number, told

CAPTION = (
    "Acceptances and revenue at the historical offers: predicted, with 95 % interval of the mean over "
    "repeats, beside the actual total (line, with the band of chance where the truth is known) and "
    "the true expectation (dashed). Last: revenue with each method's best offers relative to the "
    "historical ones, as claimed by the method and as it is, where that can be known, by the truth or "
    "else by logged answers to such offers."
)
_WAYS = ("hard", "soft", "")
_ACTUAL, _TRUE = Look(INK, ""), Look(INK, "", DASHED)
_CLAIM, _CHECK = Look(ORANGE, "o", "none"), Look(GREEN, "D", "none")


def draw(study):
    rows = [
        (method["id"], way)
        for method in study.methods()
        for way in _WAYS
        if study.get(method["id"], "revenue_predicted", setting=way).known
    ]
    if not rows:
        return blank("No method of this study predicted acceptances.")
    canvas = Canvas(1, 3, row_height(len(rows)) + 0.1, sharey=True, room=0.6)
    canvas.rows([study.label(source) + (f", {way}" if way else "") for source, way in rows])
    for panel, total, title in zip(canvas.all, ("enrolment", "revenue"), ("Acceptances", "Revenue"), strict=False):
        _totals(panel, study, rows, total)
        panel.title(title, title)
    _gains(canvas.all[2], study, rows)
    for panel in canvas.all:
        panel.ax.locator_params(axis="x", nbins=5)
    source, way = next((row for row in rows if row[0] == study.main), rows[0])
    predicted, actual = (
        study.get(source, f"enrolment_{which}", setting=way) for which in ("predicted", "actual")
    )
    title = (
        f"{study.label(source)} predicts {told(predicted, places=0)} acceptances; "
        f"there were {number(actual.mean, 0)}"
    )
    return canvas.drawing(title, "Predicted, actual and true totals and gains by method")


def _totals(panel, study, rows, total):
    """Predicted totals beside the actual one, with its chance for the mean over repeats."""
    source, way = rows[0]
    known = study.rows(source, f"{total}_actual", "general")
    known = known[known["setting"] == way]
    actual, errors = float(known["value"].mean()), known["standard_error"].astype(float)
    noise = math.sqrt((errors**2).mean() / max(len(known), 1)) if errors.notna().any() else 0.0
    true = study.get(source, f"{total}_true", setting=way)
    if true.known:
        panel.ax.axvspan(
            actual - 1.96 * noise, actual + 1.96 * noise, color=PALE, alpha=0.5, linewidth=0
        )
        panel.upright(true.mean, _TRUE)
        panel.key("true expectation", _TRUE)
    panel.upright(actual, _ACTUAL)
    panel.key("actual", _ACTUAL)
    for place, (one, how) in enumerate(rows):
        known = study.get(one, f"{total}_predicted", setting=how)
        panel.dot(place, "predicted", (known.mean, known.low, known.high), MAIN, key=True)


def _gains(panel, study, rows):
    """Claimed revenue with the best offers and what it comes to, in % of the historical."""
    truth = study.get(rows[0][0], "revenue_optimal_true", setting=rows[0][1]).known
    base, checked = (
        ("revenue_true", "revenue_optimal_true") if truth else ("revenue_actual", "revenue_snips")
    )
    panel.title("With best offers, % of historical revenue", "% of historical revenue")
    for place, (source, way) in enumerate(rows):
        before, actual, claim, value = (
            study.get(source, metric, setting=way).mean
            for metric in (base, "revenue_actual", "revenue_claimed", checked)
        )
        claim = 100 * claim / actual if actual else math.nan
        value = 100 * value / before if before else math.nan
        panel.link(place, [claim, value])
        panel.dot(place, "claimed, best offers", (claim, math.nan, math.nan), _CLAIM, key=True)
        name = "true, best offers" if truth else "by logged answers, best offers"
        panel.dot(place, name, (value, math.nan, math.nan), _CHECK, key=True)
    panel.upright(100, _ACTUAL)
