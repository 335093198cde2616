"""Pareto fronts of all filters: the least imbalance that each disclosivity buys."""

from counterweight.reporting.charts.canvas import Canvas, Look, looks
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.filters.levels import TARGETS, ground, limit, measured, points_of
from counterweight.reporting.charts.style import INK
from counterweight.reporting.charts.words import capital, target_name

CAPTION = (
    "Settings that no other setting of any filter beats both in disclosivity and in imbalance "
    "(large, joined by steps), by the means over repeats on training and on test rows; all other "
    "settings are faint. What is best in training need not be so on test rows."
)


def draw(study):
    points = {
        target: [
            (across.mean, up.mean, source, setting)
            for source in measured(study)
            for across, up, setting in points_of(study, source, target)
        ]
        for target in TARGETS
    }
    if not any(points.values()):
        return blank("No filter of this study was measured.")
    canvas, shown = Canvas(1, 2, 3.2, sharex=True, sharey=True), looks(study)
    fronts = {target: front_of(points[target]) for target in TARGETS}
    for panel, target in zip(canvas.all, TARGETS, strict=True):
        ground(panel, study, target)
        for source in measured(study):
            own = [point[:2] for point in points[target] if point[2] == source]
            best = [point for point in own if point in fronts[target]]
            rest = [point for point in own if point not in fronts[target]]
            look, name = shown[source], study.label(source)
            faint = {"markersize": 3, "alpha": 0.25, "markeredgewidth": 0}
            panel.line(f"{name}: beaten", rest, look, joined=False, key=False, **faint)
            panel.line(name, best, look, joined=False, markersize=5.5, zorder=4)
        if fronts[target]:
            panel.ax.step(*zip(*fronts[target], strict=True), where="post", color=INK, linewidth=0.8)
            panel.key("best of all", Look(INK, ""))
        panel.title(capital(target_name(target)), "Imbalance")
    limit(canvas.all, study, [point for known in points.values() for point in known])
    canvas.label("Disclosivity", "Imbalance")
    return canvas.drawing(_title(points, fronts), "Settings of all filters, those that none beats marked")


def front_of(points):
    """Points that no other beats in both coordinates (or in one at the same other), by the first.

    Parameters
    ----------
    points : iterable of tuple
        Of which the first two entries are the coordinates; less is better in both.

    Returns
    -------
    list of (float, float)
    """
    front = []
    for x, y in sorted({(point[0], point[1]) for point in points}):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _title(points, fronts):
    """How many of the settings that are best in training are best on test rows."""
    best = {
        target: {point[2:] for point in points[target] if point[:2] in fronts[target]}
        for target in TARGETS
    }
    both = len(best["train"] & best["test"])
    return f"Of {len(best['train'])} settings best in training, {both} are best on test rows"
