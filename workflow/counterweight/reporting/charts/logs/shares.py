"""What share of positives a fixed budget of training rows should have."""

from counterweight.reporting.charts.canvas import TURNS, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.words import axis_of, factor_of, number, told

CAPTION = (
    "Quality of models trained on a fixed number of rows, against the share of positives among "
    "them (line, mean over splits with 95 % intervals). Marked are other ways to choose the share: "
    "the natural one, one that was given, and the share that progressive sampling came to."
)
_PANELS = 2


def draw(study):
    measured = [one for one in study.plan["columns"] if study.measured(one)]
    swept = [one["id"] for one in study.methods(swept=True)]
    source = next((s for s in swept for m in measured if study.curve(s, m, "share")), None)
    if source is None:
        return blank("No sweep over shares of positives was measured in this study.")
    metrics = [metric for metric in measured if study.curve(source, metric, "share")][:_PANELS]
    marked = [(one["id"], share) for one in _alike(study, source) if (share := _share(study, one)) is not None]
    canvas = Canvas(1, len(metrics), 2.2)
    for panel, metric in zip(canvas.all, metrics, strict=True):
        measure = study.measure(metric)
        factor = factor_of(measure)
        curve = [(share, *(factor * v for v in values)) for share, *values in study.curve(source, metric, "share")]
        panel.line("given shares", curve, Look())
        for (name, share), look in zip(marked, TURNS, strict=False):
            known = study.get(name, metric).times(factor)
            label = f"{study.label(name)}: {number(100 * share, 0)} %"
            point = (share, known.mean, known.low, known.high)
            panel.line(label, [point], look._replace(marker="D"), joined=False, markersize=5.5)
        less = " (less is better)" if measure.better == "less" else ""
        panel.title(axis_of(measure) + less, axis_of(measure))
        panel.ax.set_xlim(-0.02, 1.02)
        panel.ax.margins(y=0.08)
        panel.ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
        panel.grid()
    canvas.label("Share of positives among the rows bought")
    title = axis_of(study.measure(metrics[0])) + " by share of positives"
    if marked:
        name, share = marked[-1]
        known = study.get(name, metrics[0])
        title = (
            f"{study.label(name)} came to {number(100 * share, 0)} % of positives: "
            f"{study.measure(metrics[0]).label} {told(known, study.measure(metrics[0]), places=3)}"
        )
    return canvas.drawing(title, "Quality by share of positives among the rows bought")


def _alike(study, source):
    """Methods within the budget that differ from a swept one in their share alone."""
    options = {name: value for name, value in study.method(source)["options"].items() if name != "share"}
    for one in study.methods(swept=False):
        own = {name: value for name, value in one["options"].items() if name != "share"}
        bought = study.measured("budget_excess", source=one["id"])
        if one["model"] == study.method(source)["model"] and own == options and bought:
            yield one


def _share(study, method):
    """Mean share of positives of a method's training rows; None where that is not its choice."""
    share = method["options"].get("share")
    if isinstance(share, int | float):
        return float(share)
    rows = study.rows(method["id"], "chosen_share")
    if len(rows):
        return float(rows["value"].mean())
    rows = study.rows("labels", "positive_share")
    rows = rows[rows["part"] == "all"]
    return float(rows["value"].mean()) if share == "natural" and len(rows) else None
