"""Bias of the value estimator that has lost the count of rows, against the size of the log."""

import numpy as np

from counterweight.reporting.charts import kit, style

CAPTION = (
    "Mean difference between the estimator that divides by an estimated number of rows (the count "
    "was lost) and the one that knows it, with 95 % intervals, against the number n of rows of "
    "the log."
)
_METRIC = "ratio_bias"


def draw(study):
    curves = {one["id"]: study.curve(one["id"], _METRIC, "n") for one in study.methods()}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return kit.blank("No bias of a ratio estimator was measured in this study.")
    canvas = kit.Canvas([""], 2.2, "Rows of the log, n", "Bias, % of the value")
    (panel,) = canvas.all
    sizes = sorted({n for points in curves.values() for n, *_ in points})
    panel.ticks(sizes)
    for place, (name, points) in enumerate(curves.items()):
        shown = [(n, *(100 * value for value in values)) for n, *values in points]
        shift = 1.03 ** (place - (len(curves) - 1) / 2)
        panel.line(study.label(name), shown, kit.SERIES[place % len(kit.SERIES)], shift=shift)
    first, fine = next(iter(curves.values()))[0], np.geomspace(sizes[0], sizes[-1], 40)
    guide = zip(fine, 100 * first[0] * first[1] / fine, strict=True)
    panel.line("like 1/n", guide, kit.Look(style.GREY, "", kit.DASHED))
    panel.ax.axhline(0, color=style.GREY, linewidth=0.6)
    most = max(curves, key=lambda name: abs(curves[name][0][1]))
    settings = study.settings(most, _METRIC)
    ends = [
        study.get(most, _METRIC, setting=setting).times(100)
        for setting in (settings[0], settings[-1])
    ]
    said = " and ".join(kit.told(end, sign=True, unit="%") for end in ends)
    title = f"{study.label(most)}: bias of {said} with {sizes[0]:g} and {sizes[-1]:g} rows"
    return canvas.drawing(title, "Bias of the estimator without a count, by rows of the log")
