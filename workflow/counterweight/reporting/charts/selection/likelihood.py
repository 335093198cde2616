"""Likelihood of the unlabeled rows while a mixture shifts."""

import numpy as np

from counterweight.reporting.charts.canvas import MAIN, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import PALE
from counterweight.reporting.charts.words import told

CAPTION = (
    "Log-likelihood of the unlabeled rows, per row and relative to the start, after each step of "
    "the mixtures that shift. Thin lines are single splits, the thick line their mean; each panel "
    "has its own scale."
)
_METRIC, _TARGET = "log_likelihood", "unlabeled"


def draw(study):
    curves = {}
    for method in study.methods(swept=False):
        curve = _curves(study.rows(method["id"], _METRIC, _TARGET))
        if curve is not None:
            curves[method["id"]] = curve
    if not curves:
        return blank("No shifted mixture of this study was fitted.")
    canvas = Canvas(1, len(curves), 2.1)
    for panel, (name, curve) in zip(canvas.all, curves.items(), strict=True):
        panel.title(study.label(name))
        for _, line in curve.iterrows():
            panel.line("one split", list(line.dropna().items()), Look(PALE, ""))
        # A repeat that has converged keeps its last value, so the mean stays one over all.
        mean = curve.ffill(axis=1).mean(axis=0)
        look = MAIN if len(mean) < 12 else MAIN._replace(marker="")
        panel.line("mean over splits", list(mean.items()), look, linewidth=1.8)
        panel.ax.locator_params(axis="x", integer=True, nbins=6)
        panel.ax.margins(y=0.1)
        panel.grid()
    canvas.label("Steps", "Gain, nats a row")
    gains = {name: curve.ffill(axis=1).iloc[:, -1] for name, curve in curves.items()}
    best = max(gains, key=lambda name: gains[name].mean())
    gain = study.difference(gains[best], 0 * gains[best])
    title = f"{study.label(best)}: {told(gain, sign=True, unit='nats')} a row on the unlabeled"
    return canvas.drawing(title, "Gain in log-likelihood of the unlabeled rows by step")


def _curves(rows):
    """Repeats by steps, relative to step 0; None without a start to compare with."""
    rows = rows[rows["step"].notna()]
    if rows.empty:
        return None
    rows = rows.assign(step=rows["step"].astype(int))
    frame = rows.pivot_table(index="repeat", columns="step", values="value").sort_index(axis=1)
    return frame.sub(frame[0], axis=0) if 0 in frame and np.ptp(frame.columns) else None
