"""Pareto fronts of all filters: the least imbalance that each disclosivity buys."""

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.filters.levels import TARGETS, Filters

CAPTION = (
    "Settings that no other setting of any filter beats both in disclosivity and in imbalance "
    "(large, joined by steps), by the means over repeats; all others are faint. What is best in "
    "training need not be so on test rows."
)


def draw(study):
    known, shown, points = Filters(study), kit.looks(study), {}
    if not known.levels:
        return kit.blank("No filter of this study was measured.")
    shared = {"sharex": True, "sharey": True}
    titles = list(TARGETS.values())
    canvas = kit.Canvas(titles, 3.2, "Disclosivity", "Imbalance", grid="both", **shared)
    best = {}
    for panel, target in zip(canvas.all, TARGETS, strict=True):
        known.ground(panel, target)
        for source in known.levels:
            for across, up, setting in known.points(source, target):
                points[target, source, setting] = across.mean, up.mean
        front = front_of(point for key, point in points.items() if key[0] == target)
        best[target] = {k[1:] for k, point in points.items() if k[0] == target and point in front}
        for source in known.levels:
            own = [point for key, point in points.items() if key[:2] == (target, source)]
            look, name = shown[source]._replace(dash="none"), study.label(source)
            rest = [point for point in own if point not in front]
            faint = {"markersize": 3, "alpha": 0.25, "markeredgewidth": 0}
            panel.line(f"{name}: beaten", rest, look, key=False, **faint)
            top = [point for point in own if point in front]
            panel.line(name, top, look, markersize=5.5, zorder=4)
        if front:
            panel.ax.step(*zip(*front, strict=True), where="post", color=style.INK, linewidth=0.8)
            panel.key("best of all", kit.Look(style.INK, ""))
    known.limit(canvas.all, list(points.values()))
    both = len(best["train"] & best["test"])
    title = f"Of {len(best['train'])} settings best in training, {both} are best on test rows"
    return canvas.drawing(title, "Settings of all filters, those that none beats marked")


def front_of(points):
    """Points that no other beats in both coordinates (or in one at the same other), by the first.

    Parameters
    ----------
    points : iterable of (float, float)
        Less is better in both.
    """
    front = []
    for x, y in sorted(set(points)):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front
