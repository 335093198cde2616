"""What is bounded and what it costs against the bound, beside the baseline."""

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.rates.points import ASKED, DETERMINISTIC, RANDOMISED, Points

CAPTION = (
    "What is bounded and its cost against the bound that was asked, mean over repeats with 95 % "
    "intervals. Full lines: test rows; dotted: training rows. The bound was asked of the "
    "randomised rule; on the dashed diagonal both are the same. The baseline is not bound."
)
_RULES = {DETERMINISTIC: kit.Look(style.BLUE), RANDOMISED: kit.Look(style.RED, "v")}
_PLACES = (("general", "test", "-"), ("train", "training", kit.DOTTED))


def draw(study):
    points, main = Points(study), study.main
    settings = points.settings(main) if points.asked and main else []
    if not settings:
        return kit.blank("Nothing was bounded in this study.")
    bound, base = points.asked["measure"], study.baseline if study.baseline != main else None
    measures = [one for one in (bound, points.cost) if one]
    titles = [kit.capital(points.axis(measure)) for measure in measures]
    canvas = kit.Canvas(titles, 2.9, f"{titles[0]}, asked for", grid="both", sharex=True)
    for panel, measure in zip(canvas.all, measures, strict=True):
        panel.measures = panel.name
        for target, place, dash in _PLACES:
            for rule, look in _RULES.items():
                look = look._replace(dash=dash, hollow=dash != "-")
                line = points.line(main, ASKED, measure, rule, target)
                panel.line(f"{rule}, {place}", line, look, bars=dash == "-")
            if base:
                free = points.get(base, measure, target=target).times(points.factor(measure))
                look = kit.BASELINE._replace(dash=dash)
                panel.level(f"{study.label(base)}, {place}", free, look)
        panel.ax.margins(x=0.05, y=0.08)
    ends = [(points.factor(bound) * value,) * 2 for value in (min(settings)[0], max(settings)[0])]
    canvas.all[0].line("as asked", ends, kit.Look(style.INK, "", kit.DASHED))
    value, setting = (max if points.asked["form"] == "at_least" else min)(settings)
    known = points.get(main, bound, setting, RANDOMISED)
    told = kit.told(known, points.told(bound))
    wanted = kit.told(known._replace(mean=value, low=float("nan")), points.told(bound))
    title = f"Asked for {points.name(bound)} of {wanted}: {told} on test rows"
    return canvas.drawing(title, "What is bounded and its cost by the bound, test and training")
