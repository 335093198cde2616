"""The headline measure of every method on each population."""

from counterweight.reporting.charts.canvas import DASHED, Canvas, Look, role_look, row_height
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import INK, RED, text_colour
from counterweight.reporting.charts.words import (
    against,
    axis_of,
    capital,
    factor_of,
    target_name,
)

CAPTION = (
    "Each method on each population: mean over random splits with its 95 % interval; the dashed "
    "line is the method that the others are compared with. Methods marked with a dagger see labels "
    "that are hidden from all others."
)


def draw(study):
    methods, targets = study.methods(swept=False), study.plan["targets"]
    metric = next((one for one in study.plan["columns"] if study.measured(one)), None)
    if metric is None:
        return blank("No method was measured in this study.")
    measure, line = study.measure(metric), Look(INK, "", DASHED)
    canvas = Canvas(1, len(targets), row_height(len(methods)), sharey=True)
    roles = {one["id"]: study.role(one["id"]) for one in methods}
    canvas.rows([study.label(s) + (" †" if role == "bound" else "") for s, role in roles.items()])
    for panel, target in zip(canvas.all, targets, strict=True):
        panel.title(capital(target_name(target)))
        if study.baseline and (level := study.get(study.baseline, metric, target)).known:
            panel.upright(factor_of(measure) * level.mean, line)
        for place, source in enumerate(roles):
            known = study.get(source, metric, target).times(factor_of(measure))
            if known.known:
                panel.dot(place, study.label(source), (known.mean, known.low, known.high), role_look(study, source))
            else:
                where = {"transform": panel.ax.get_yaxis_transform(), "va": "center"}
                panel.ax.text(0.02, place, "failed", color=text_colour(RED), fontsize=8, **where)
        panel.ax.margins(x=0.08)
    canvas.label(axis_of(measure))
    for panel in canvas.all:
        panel.measures = axis_of(measure)
    said = [f"{text} ({target_name(t)})" for t in targets if (text := against(study, metric, t))]
    title = said[0] if said else f"{axis_of(measure)} of every method"
    return canvas.drawing(title, f"{capital(measure.label)} of every method, with intervals, by population")
