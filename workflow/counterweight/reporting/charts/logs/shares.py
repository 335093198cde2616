"""What share of positives a fixed budget of training rows should have."""

from counterweight.reporting.charts import kit

CAPTION = (
    "Quality of models trained on a fixed number of rows, against the share of positives among "
    "them (line, mean over splits with 95 % intervals). Marked are other ways to choose the "
    "share."
)
_PANELS = 2


def draw(study):
    swept = [one["id"] for one in study.methods(swept=True)]
    known = [one for one in study.plan["columns"] if study.measured(one)]
    source = next((s for s in swept for m in known if study.curve(s, m, "share")), None)
    if source is None:
        return kit.blank("No sweep over shares of positives was measured in this study.")
    metrics = [metric for metric in known if study.curve(source, metric, "share")][:_PANELS]
    marked = {name: share for name, share in _alike(study, source) if share is not None}
    axes = [kit.axis_of(study.measure(metric)) for metric in metrics]
    less = [study.measure(metric).better == "less" for metric in metrics]
    titles = [one[0] + less * " (less is better)" for one, less in zip(axes, less, strict=True)]
    canvas = kit.Canvas(titles, 2.2, "Share of positives among the rows bought")
    for panel, metric, (label, factor) in zip(canvas.all, metrics, axes, strict=True):
        panel.measures, curve = label, study.curve(source, metric, "share")
        points = [(share, *(factor * value for value in values)) for share, *values in curve]
        panel.line("given shares", points, kit.MAIN)
        for (name, share), look in zip(marked.items(), kit.TURNS, strict=False):
            own = [kit.point(share, study.get(name, metric), factor)]
            look = look._replace(marker="D", dash="none")
            panel.line(f"{study.label(name)}: {100 * share:.0f} %", own, look, markersize=5.5)
        panel.ax.margins(y=0.08)
        panel.ax.set(xlim=(-0.02, 1.02), xticks=[0, 0.25, 0.5, 0.75, 1])
    title, measure = f"{titles[0]} by share of positives", study.measure(metrics[0])
    if marked:
        name, share = list(marked.items())[-1]
        value = f"{measure.label} {kit.told(study.get(name, metrics[0]), measure)}"
        title = f"{study.label(name)} came to {100 * share:.0f} % of positives: {value}"
    return canvas.drawing(title, "Quality by share of positives among the rows bought")


def _alike(study, source):
    """Methods within the budget that differ from a swept one in their share alone, with it."""
    method = study.method(source)
    for one in study.methods(swept=False):
        same = one["model"] == method["model"] and study.measured("budget_excess", source=one["id"])
        options = (one["options"] | {"share": ""}, method["options"] | {"share": ""})
        if same and options[0] == options[1]:
            yield one["id"], _share(study, one["id"], one["options"].get("share"))


def _share(study, source, share):
    """Mean share of positives of a method's training rows; None where that is not its choice."""
    if isinstance(share, int | float):
        return float(share)
    chosen, rows = study.rows(source, "chosen_share"), study.rows("labels", "positive_share")
    rows = chosen if len(chosen) else rows[(rows["part"] == "all") & (share == "natural")]
    return float(rows["value"].mean()) if len(rows) else None
