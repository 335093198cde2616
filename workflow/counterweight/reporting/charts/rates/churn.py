"""What is bounded and what it costs against the bound, beside the baseline."""

from counterweight.reporting.charts.canvas import BASELINE, DASHED, DOTTED, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.rates.points import (
    DETERMINISTIC,
    RANDOMISED,
    asked,
    axis,
    cost,
    percent_of,
    settings_asking,
)
from counterweight.reporting.charts.style import BLUE, INK, RED
from counterweight.reporting.charts.words import capital, told

CAPTION = (
    "What is bounded and its cost against the bound that was asked, mean over repeats with 95 % "
    "intervals. Full lines: test rows; dotted: training rows. The randomised rule is the one of which "
    "the bound was asked; on the dashed diagonal both are the same. The baseline is not bound."
)
_RULES = {DETERMINISTIC: Look(BLUE), RANDOMISED: Look(RED, "v")}
_PLACES = (("general", "test", "-"), ("train", "training", DOTTED))


def draw(study):
    wanted, of, main = asked(study), cost(study), study.main
    settings = settings_asking(study, wanted, main) if wanted and main else []
    if not settings:
        return blank("Nothing was bounded in this study.")
    measures = [one for one in (wanted["measure"], of) if one]
    bound = percent_of(study, wanted["measure"])
    targets = [bound * value for value, _ in settings]
    baseline = study.baseline if study.baseline != main else None
    canvas = Canvas(1, len(measures), 2.9, sharex=True)
    for panel, measure in zip(canvas.all, measures, strict=True):
        factor = percent_of(study, measure)
        panel.title(capital(axis(study, measure)), capital(axis(study, measure)))
        for target, place, dash in _PLACES:
            for rule, look in _RULES.items():
                known = [
                    study.get(main, rule, target, measure=measure, setting=setting).times(factor)
                    for _, setting in settings
                ]
                points = [(x, e.mean, e.low, e.high) for x, e in zip(targets, known, strict=True)]
                look = look._replace(dash=dash, hollow=dash == DOTTED)
                panel.line(f"{rule}, {place}", points, look, bars=dash == "-")
            if baseline:
                free = study.get(baseline, DETERMINISTIC, target, measure=measure).times(factor)
                low, high = (free.low, free.high) if dash == "-" else (free.mean, free.mean)
                look = BASELINE._replace(dash=dash)
                panel.level(f"{study.label(baseline)}, {place}", free.mean, look, low, high)
        panel.grid("both")
        panel.ax.margins(x=0.05, y=0.08)
    diagonal = [(min(targets),) * 2, (max(targets),) * 2]
    canvas.first.line("as asked", diagonal, Look(INK, "", DASHED), linewidth=0.8)
    canvas.label(f"{capital(axis(study, wanted['measure']))} asked for")
    value, setting = min(settings) if wanted["form"] != "at_least" else max(settings)
    known = study.get(main, RANDOMISED, measure=wanted["measure"], setting=setting)
    style = study.measure(DETERMINISTIC, wanted["measure"])
    name = study.measure(wanted["measure"]).label
    title = f"Asked for a {name} of {told(known._replace(mean=value, low=float('nan')), style)}: {told(known, style)} on test rows"
    return canvas.drawing(title, "What is bounded and its cost by the bound, test and training")
