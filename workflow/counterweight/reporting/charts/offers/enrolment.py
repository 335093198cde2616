"""Totals predicted, actual and true at the historical offers; gains of the best ones."""

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Acceptances and revenue at the historical offers: predicted, with 95 % interval of the mean "
    "over repeats, beside the actual total (with the band of chance where the truth is known) and "
    "the true expectation. Last: revenue with each method's best offers, as claimed and as far as "
    "it is known."
)
_WAYS = ("hard", "soft", "")
_ACTUAL, _TRUE = kit.Look(style.INK, ""), kit.Look(style.INK, "", kit.DASHED)
_CLAIM, _CHECK = kit.Look(style.ORANGE), kit.Look(style.GREEN, "D")


def draw(study):
    names = [one["id"] for one in study.methods()]
    rows = [(s, {"setting": way}) for s in names for way in _WAYS]
    rows = [(s, way) for s, way in rows if study.get(s, "revenue_predicted", **way).known]
    if not rows:
        return kit.blank("No method of this study predicted acceptances.")
    titles = ["Acceptances", "Revenue", "With best offers, % of historical revenue"]
    canvas = kit.Canvas(titles, kit.row_height(len(rows)) + 0.1, sharey=True)
    canvas.rows([", ".join(filter(None, [study.label(s), way["setting"]])) for s, way in rows])
    for panel, total in zip(canvas.all, ("enrolment", "revenue"), strict=False):
        source, way = rows[0]
        known = study.rows(source, f"{total}_actual", "general")
        known = known[known["setting"] == way["setting"]]
        actual, true = known["value"].mean(), study.get(source, f"{total}_true", **way)
        if true.known:
            # Chance of the mean over repeats.
            errors = known["standard_error"].fillna(0).astype(float)
            noise = 1.96 * (errors**2).sum() ** 0.5 / len(known)
            panel.ax.axvspan(actual - noise, actual + noise, color=style.PALE, alpha=0.5, lw=0)
            panel.upright(true.mean, _TRUE, "true expectation")
        panel.upright(actual, _ACTUAL, "actual")
        for place, (source, way) in enumerate(rows):
            predicted = study.get(source, f"{total}_predicted", **way)
            panel.dot(place, "predicted", predicted, kit.MAIN, key=True)
    _gains(canvas.all[2], study, rows)
    for panel in canvas.all:
        panel.measures = panel.name
        panel.ax.locator_params(axis="x", nbins=5)
    source, way = next((row for row in rows if row[0] == study.main), rows[0])
    predicted = kit.told(study.get(source, "enrolment_predicted", **way), places=0)
    actual = study.get(source, "enrolment_actual", **way).mean
    title = f"{study.label(source)} predicts {predicted} acceptances; there were {actual:.0f}"
    return canvas.drawing(title, "Predicted, actual and true totals and gains by method")


def _gains(panel, study, rows):
    """Claimed revenue with the best offers and what it comes to, in % of the historical."""
    truth = study.get(rows[0][0], "revenue_optimal_true", **rows[0][1]).known
    base, checked, by = "revenue_actual", "revenue_snips", "by logged answers"
    if truth:
        base, checked, by = "revenue_true", "revenue_optimal_true", "true"
    for place, (source, way) in enumerate(rows):
        before, actual, claim, value = (
            study.get(source, metric, **way).mean or float("nan")
            for metric in (base, "revenue_actual", "revenue_claimed", checked)
        )
        ends = 100 * claim / actual, 100 * value / before
        panel.link(place, ends)
        panel.dot(place, "claimed, best offers", ends[0], _CLAIM, key=True)
        panel.dot(place, f"{by}, best offers", ends[1], _CHECK, key=True)
    panel.upright(100, _ACTUAL)
