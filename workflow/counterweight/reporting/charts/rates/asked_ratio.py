"""What was observed against what was asked."""

from counterweight.reporting.charts.canvas import DASHED, DOTTED, Canvas, Look, looks
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.rates.points import (
    DASHES,
    DETERMINISTIC,
    RANDOMISED,
    asked,
    axis,
    percent_of,
    settings_asking,
)
from counterweight.reporting.charts.style import GREY, INK
from counterweight.reporting.charts.words import capital, span, target_name

CAPTION = (
    "Observed value against the value asked for, mean over repeats with 95 % intervals, on training "
    "and on test rows. On the dashed diagonal both are the same. Full lines: deterministic rule; "
    "dashed: randomised rule, of which the constraint was asked. The dotted line is the method without "
    "a constraint: what is asked beyond it does not bind."
)
_LEAST_SETTINGS = 3


def draw(study):
    wanted = asked(study)
    sources = [one["id"] for one in study.methods() if wanted and settings_asking(study, wanted, one["id"])]
    many = [s for s in sources if len(settings_asking(study, wanted, s)) >= _LEAST_SETTINGS]
    sources = many or sources
    if not sources:
        return blank("No method of this study was asked for anything.")
    measure, shown, main = wanted["measure"], looks(study), study.main
    factor, rooms = percent_of(study, measure), []
    canvas = Canvas(1, 2, 2.9, sharex=True, sharey=True)
    for panel, target in zip(canvas.all, ("train", "general"), strict=True):
        title = target_name("test" if target == "general" else target)
        panel.title(capital(title), f"Observed {axis(study, measure)}")
        for source in sources:
            for rule in (RANDOMISED, DETERMINISTIC) if source == main else (DETERMINISTIC,):
                points = _points(study, wanted, source, rule, target, factor)
                rooms += points
                look = shown[source]._replace(dash=DASHES[rule])
                look = look._replace(hollow=look.hollow or rule == RANDOMISED)
                panel.line(study.label(source) + (f", {rule}" if source == main else ""), points, look)
        if study.baseline and study.baseline not in sources:
            free = study.get(study.baseline, DETERMINISTIC, target, measure=measure)
            panel.level(study.label(study.baseline), factor * free.mean, Look(GREY, "", DOTTED))
        panel.grid("both")
    _limit(canvas, rooms)
    inverse = " (1/κ)" if wanted["form"] == "at_most_inverse" else ""
    name = axis(study, measure)
    canvas.label(f"{capital(name)} asked for{inverse}", f"Observed {name}")
    return canvas.drawing(_title(study, wanted, sources), "Observed against asked values by method, training and test")


def _points(study, wanted, source, rule, target, factor):
    points = []
    for value, setting in settings_asking(study, wanted, source):
        known = study.get(source, rule, target, measure=wanted["measure"], setting=setting)
        if known.known:
            points.append(tuple(factor * one for one in (value, known.mean, known.low, known.high)))
    return sorted(points)


def _limit(canvas, points):
    low, high = min(point[0] for point in points), max(point[0] for point in points)
    seen = [low, *(point[1] for point in points)]
    room, bottom, top = 0.04 * (high - low) or 0.1 * high, min(seen), max(seen)
    for panel in canvas.all:
        panel.line("as asked", [(low, low), (high, high)], Look(INK, "", DASHED), linewidth=0.8)
        panel.ax.set_xlim(low - room, high + room)
        panel.ax.set_ylim(bottom - 0.06 * (top - bottom or top), top + 0.1 * (top - bottom or top))


def _title(study, wanted, sources):
    """The main method's distances from what was asked, where the constraint binds in training."""
    source = study.main if study.main in sources else sources[0]
    parts = {}
    for target in ("train", "general"):
        for value, setting in settings_asking(study, wanted, source):
            known = study.get(source, DETERMINISTIC, target, measure=wanted["measure"], setting=setting)
            if known.known and value:
                parts.setdefault(setting, {})[target] = known.mean / value
    binding = [
        one["general"] for one in parts.values() if "general" in one and abs(one.get("train", 1) - 1) < 0.1
    ]
    if not binding:
        return f"{study.label(source)}: observed {study.measure(wanted['measure']).label} by what was asked"
    shares = span([100 * one for one in binding], 0, "%")
    return f"{study.label(source)} comes to {shares} of what was asked on test rows, where it binds"
