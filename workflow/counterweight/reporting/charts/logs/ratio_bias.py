"""Bias of the value estimator that has lost the count of rows, against the size of the log."""

import numpy as np

from counterweight.reporting.charts.canvas import DASHED, SERIES, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import GREY
from counterweight.reporting.charts.words import told

CAPTION = (
    "Mean difference between the estimator that divides by an estimated number of rows (the count "
    "was lost) and the one that knows it, with 95 % intervals, against the number n of rows of the "
    "log. The dashed guide falls like 1/n from the smallest log."
)
_METRIC = "ratio_bias"


def draw(study):
    curves = {one["id"]: study.curve(one["id"], _METRIC, "n") for one in study.methods()}
    curves = {name: 100 * np.array(points) for name, points in curves.items() if points}
    if not curves:
        return blank("No bias of a ratio estimator was measured in this study.")
    canvas = Canvas(1, 1, 2.2)
    panel = canvas.first
    sizes = sorted({n / 100 for points in curves.values() for n in points[:, 0]})
    first = next(iter(curves.values()))[0]
    fine = np.geomspace(sizes[0], sizes[-1], 40)
    guide = first[1] * first[0] / 100 / fine
    panel.ax.set_xscale("log")
    for place, (name, points) in enumerate(curves.items()):
        shift = 1.03 ** (place - (len(curves) - 1) / 2)
        shown = [(n / 100, *values) for n, *values in points]
        panel.line(study.label(name), shown, SERIES[place % len(SERIES)], shift=shift)
    panel.line("like 1/n", list(zip(fine, guide, strict=True)), Look(GREY, "", DASHED))
    panel.ax.axhline(0, color=GREY, linewidth=0.6)
    panel.ax.minorticks_off()
    panel.ax.set_xticks(sizes, [f"{n:g}" for n in sizes])
    panel.grid()
    canvas.label("Rows of the log, n", "Bias, % of the value")
    largest = max(curves, key=lambda name: np.abs(curves[name][0, 1]))
    ends = [
        study.get(largest, _METRIC, setting=setting).times(100)
        for setting in (study.settings(largest, _METRIC)[k] for k in (0, -1))
    ]
    said = " and ".join(told(end, sign=True, unit="%", places=2) for end in ends)
    title = f"{study.label(largest)}: bias of {said} with {sizes[0]:g} and {sizes[-1]:g} rows"
    return canvas.drawing(title, "Bias of the estimator without a count, by rows of the log", ends=True)
