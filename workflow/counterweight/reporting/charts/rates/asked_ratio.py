"""What was observed against what was asked."""

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.rates.points import ASKED, DETERMINISTIC, RANDOMISED, Points

CAPTION = (
    "Observed value against the value asked for, mean over repeats with 95 % intervals; on the "
    "dashed diagonal both are the same. Dashed lines: randomised rule, of which the constraint "
    "was asked. Dotted: the method without a constraint; what is asked beyond it does not bind."
)
_SETTINGS = 3


def draw(study):
    points, shown = Points(study), kit.looks(study)
    sources = [one["id"] for one in study.methods() if points.asked and points.settings(one["id"])]
    sources = [s for s in sources if len(points.settings(s)) >= _SETTINGS] or sources
    if not sources:
        return kit.blank("No method of this study was asked for anything.")
    measure, main = points.asked["measure"], study.main if study.main in sources else sources[0]
    name, seen = points.axis(measure), []
    x = kit.capital(f"{name} asked for")
    x += " (1/κ)" if points.asked["form"] == "at_most_inverse" else ""
    shared = {"sharex": True, "sharey": True}
    titles = ["Training rows", "Test rows"]
    canvas = kit.Canvas(titles, 2.9, x, f"Observed {name}", grid="both", **shared)
    for panel, target in zip(canvas.all, ("train", "general"), strict=True):
        for source in sources:
            for rule in (RANDOMISED, DETERMINISTIC) if source == main else (DETERMINISTIC,):
                line, look = points.line(source, ASKED, measure, rule, target), shown[source]
                if rule == RANDOMISED:
                    look = look._replace(dash=kit.DASHED, hollow=True)
                label = study.label(source) + (f", {rule}" if source == main else "")
                panel.line(label, line, look)
                seen += line
        if study.baseline and study.baseline not in sources:
            free = points.get(study.baseline, measure, target=target).times(points.factor(measure))
            free = free._replace(low=float("nan"))
            panel.level(study.label(study.baseline), free, kit.Look(style.GREY, "", kit.DOTTED))
    low, high = min(point[0] for point in seen), max(point[0] for point in seen)
    bottom, top = min(low, *(p[1] for p in seen)), max(low, *(p[1] for p in seen))
    room, up = 0.04 * (high - low) or 0.1 * high, top - bottom or top
    for panel in canvas.all:
        panel.line("as asked", [(low, low), (high, high)], kit.Look(style.INK, "", kit.DASHED))
        panel.ax.set(xlim=(low - room, high + room), ylim=(bottom - 0.06 * up, top + 0.1 * up))
    # Distances from what was asked, where the constraint binds in training.
    train, test = (
        {
            point[0]: point[1] / point[0]
            for point in points.line(main, ASKED, measure, target=target)
        }
        for target in ("train", "general")
    )
    binding = [100 * test[at] for at in test if at in train and abs(train[at] - 1) < 0.1]
    title = f"Observed {points.name(measure)} by what was asked"
    if binding:
        said = f"{kit.span(binding)} % of what was asked on test rows"
        title = f"{study.label(main)}: {said}, where it binds"
    return canvas.drawing(title, "Observed against asked values by method, training and test")
