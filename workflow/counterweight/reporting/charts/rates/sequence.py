"""Models that follow each other: what each changes of the one before, and its errors."""

from counterweight.files.settings import setting_options
from counterweight.reporting.charts import kit
from counterweight.reporting.charts.rates.points import DETERMINISTIC, Points

CAPTION = (
    "Each point is a model, trained when more rows had come, on test rows, mean over repeats with "
    "95 % intervals, by the sign of the score. What is bounded compares its answers with those of "
    "the model before; the dashed line is the bound."
)


def draw(study):
    points, option = Points(study), study.plan["protocol"]["options"].get("sequence")
    lines = {source: _settings(study, source, option) for source in kit.main_first(study)}
    lines = {source: settings for source, settings in lines.items() if len(settings) > 1}
    if not option or not lines:
        return kit.blank("No models of this study follow each other.")
    bound = points.asked["measure"] if points.asked else None
    measures = [one for one in (bound, points.cost) if one]
    titles = [kit.capital(points.axis(measure)) for measure in measures]
    canvas = kit.Canvas(titles, 2.9, "Batches of rows so far", grid="both", sharex=True)
    for panel, measure in zip(canvas.all, measures, strict=True):
        panel.measures = panel.name
        factor = points.factor(measure)
        for (source, settings), look in zip(lines.items(), kit.TURNS, strict=False):
            # The first model has none before it.
            shown = settings[1:] if measure == bound else settings
            line = [
                kit.point(step, points.get(source, measure, setting), factor)
                for step, setting in shown
            ]
            panel.line(study.label(source), line, look, bars=True)
        base = points.get(study.baseline, measure) if study.baseline not in (None, *lines) else None
        if base is not None and base.mean == base.mean:
            panel.level(study.label(study.baseline), base.times(factor), kit.BASELINE)
        panel.ax.locator_params(axis="x", integer=True)
        panel.ax.set_ylim(bottom=0.0)
    main = next(iter(lines))
    wanted = study.method(main)["options"].get(points.asked["option"]) if points.asked else None
    last = lines[main][-1][1]
    if wanted is None:
        title = f"{len(lines[main])} models, one after the other"
        return canvas.drawing(title, "Models that follow each other, on test rows")
    ends = [(step, points.factor(bound) * wanted) for step, _ in (lines[main][1], lines[main][-1])]
    canvas.all[0].line("asked for", ends, kit.Look("black", "", kit.DASHED))
    known = kit.told(points.get(main, bound, last), points.told(bound))
    title = f"{kit.capital(points.name(bound))} against the model before: {known} at the end"
    return canvas.drawing(title, "Models that follow each other, on test rows")


def _settings(study, source, option):
    """``(step, setting)`` of a method, in order."""
    found = []
    for setting in study.settings(source, DETERMINISTIC, "general"):
        step = setting_options(setting).get(option)
        if isinstance(step, float):
            found.append((step, setting))
    return sorted(found)
