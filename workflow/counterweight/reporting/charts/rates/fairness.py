"""The cost of a constraint against what it keeps: one line for each method."""

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.rates.points import DETERMINISTIC, RANDOMISED, Points

CAPTION = (
    "Cost on test rows against the test value of what is constrained, one point for each setting "
    "of a method (mean over repeats with 95 % intervals of the cost); lower is better at the same "
    "value. Dashed: randomised rule. Lines that err far more leave the panel."
)
#: How far beyond the main method's costs a panel reaches, and at least.
_REACH, _LEAST = 1.7, 1.0


def draw(study):
    points, shown, main = Points(study), kit.looks(study), study.main
    if not (points.asked and points.cost):
        return kit.blank("Nothing was constrained at a cost in this study.")
    measure, of = points.asked["measure"], points.cost
    lines = {one["id"]: points.line(one["id"], measure, of) for one in study.methods()}
    known = [s for s, line in lines.items() if line and s not in (main, study.baseline)]
    model = study.method(main)["model"] if lines.get(main) else ""
    alike = [s for s in known if study.method(s)["model"] == model]
    sets = [s for s in known if s not in alike], [s for s in alike if len(lines[s]) > 2]
    titles = ["Beside other methods", "Other ways to fit the main one"]
    titles = [title for title, sources in zip(titles, sets, strict=True) if sources]
    if not (titles or lines.get(main)):
        return kit.blank("Nothing constrained and no cost were measured in this study.")
    x, y = f"Observed {points.axis(measure)} on test rows", f"Test {points.axis(of)}"
    canvas = kit.Canvas(titles or [""], 3.0, x, y, grid="both", sharey=True)
    sets = [sources for sources in sets if sources] or [[]]
    randomised = points.line(main, measure, of, RANDOMISED) if lines.get(main) else []
    for panel, sources in zip(canvas.all, sets, strict=True):
        if lines.get(main):
            look = shown[main]._replace(dash=kit.DASHED, hollow=True)
            panel.line(f"{study.label(main)}, {RANDOMISED}", randomised, look)
            panel.line(f"{study.label(main)}, {DETERMINISTIC}", lines[main], shown[main])
        for place, source in enumerate(sources):
            # What coincides with another line is to be seen around it.
            ring = not place and source in alike
            marks = {"markersize": 6.5, "markerfacecolor": "none"} if ring else {}
            panel.line(study.label(source), lines[source], shown[source], **marks)
        for free in lines.get(study.baseline, ())[:1]:
            look = shown[study.baseline]._replace(dash="none")
            panel.line(study.label(study.baseline), [free], look, markersize=5.5, zorder=5)
            panel.ax.axhline(free[1], color=style.GREY, linewidth=0.9, linestyle=kit.DOTTED)
    # Limits that show the main method well; others may leave the panel above.
    seen = (lines.get(main) or lines[known[0]]) + randomised + lines.get(study.baseline, [])
    least, most = min(point[1] for point in seen), max(point[1] for point in seen)
    top = least + max(_REACH * (most - least), _LEAST * points.factor(of) / 100)
    inside = seen + [point for line in lines.values() for point in line if point[1] <= top]
    across, least = [point[0] for point in inside], min(point[1] for point in inside)
    room = 0.04 * (max(across) - min(across)) or 0.1
    for panel in canvas.all:
        panel.ax.set_xlim(min(across) - room, max(across) + room)
        panel.ax.set_ylim(least - 0.06 * (top - least), top)
    title = _title(study, points) or f"{kit.capital(points.name(of))} by {points.name(measure)}"
    return canvas.drawing(title, "Cost against what is constrained, one line for each method")


def _title(study, points):
    """What the strictest setting of the main method keeps, and what that costs; or ""."""
    main, base, measure = study.main, study.baseline, points.asked["measure"]
    settings = points.settings(main) if main and base not in (None, main) else []
    if not settings:
        return ""
    setting = (max if points.asked["form"] == "at_least" else min)(settings)[1]
    before, after = points.get(base, measure), points.get(main, measure, setting)
    paid = study.against(base, main, DETERMINISTIC, measure=points.cost, setting=setting)
    if not (before.known and after.known and paid.known):
        return ""
    before = kit.told(before._replace(low=float("nan")), points.told(measure))
    after, paid = (
        kit.told(after, points.told(measure)),
        kit.told(paid, points.told(points.cost), sign=True),
    )
    moved = f"{points.name(measure)} from {before} to {after}"
    return f"{study.label(main)}: {moved} for {paid} of {points.name(points.cost)}"
