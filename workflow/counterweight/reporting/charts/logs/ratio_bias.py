"""Bias of the value estimator that has lost the count of rows, against the size of the log."""

import numpy as np

from counterweight.reporting.page import style

CAPTION = (
    "Mean difference between the estimator that divides by an estimated number of rows (the count "
    "was lost, zero rows were kept at l = 0.1) and the one that knows it, in per cent of the "
    "value, against the number n of rows of the log; with 95 % intervals. The dashed guide falls "
    "like 1/n from the smallest log."
)
_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)
_HEIGHT = 2.5


def draw(study):
    """One line for each policy, with a guide that falls like 1/n.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``log``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    curves = {
        one["id"]: np.array(study.curve(one["id"], "ratio_bias", "n"))
        for one in study.plan["methods"]
    }
    curves = {name: points for name, points in curves.items() if len(points)}
    if not curves:
        return style.blank("No bias of a ratio estimator was measured in this study.")
    with style.look():
        figure, axes = style.panels(1, 1, height=_HEIGHT)
        ax, ends = axes[0, 0], []
        style.grid(ax, "y")
        ax.axhline(0, color=style.GREY, linewidth=0.6)
        first = next(iter(curves.values()))[0]
        sizes = sorted({n for points in curves.values() for n in points[:, 0]})
        fine = np.geomspace(sizes[0], sizes[-1], 60)
        guide = 100 * first[1] * first[0] / fine
        ax.plot(fine, guide, color=style.GREY, linewidth=1, linestyle=(0, (4, 3)))
        for place, (name, points) in enumerate(curves.items()):
            shown = np.column_stack([points[:, 0], 100 * points[:, 1:]])
            colour = _COLOURS[place % len(_COLOURS)]
            shift = 1.03 ** (place - (len(curves) - 1) / 2)
            style.interval_line(ax, shown.tolist(), colour, shift=shift)
            ends.append((shown[-1, 1], study.label(name), colour))
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.set_xticks(sizes, [f"{n:g}" for n in sizes])
        ax.set_xlabel("Rows of the log, n")
        ax.set_ylabel("Bias, % of the value")
        ends.append((guide[-1], "like 1/n", style.GREY))
        style.label_ends(ax, ends, 0.7 * _HEIGHT)
    return figure
