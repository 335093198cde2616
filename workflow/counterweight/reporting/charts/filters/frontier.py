"""Pareto fronts of all proxies: the least imbalance that each disclosivity buys."""

import math

from counterweight.reporting.charts.filters.tradeoff import TITLES, base, limits, look_of
from counterweight.reporting.filters.tables import FilterResults, methods_of
from counterweight.reporting.page import style

CAPTION = (
    "Settings that no other setting of any proxy beats both in disclosivity and in imbalance "
    "(filled, joined by steps), by the means over repeats on training and on test rows; all other "
    "settings are faint. What is best in training need not be so on test rows."
)


def draw(study):
    """One panel for training and one for test rows.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``filter``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    results = FilterResults(study.metrics, study.plan)
    points = {target: points_of(results, target) for target in TITLES}
    if not any(points.values()):
        return style.blank("No filter of this study was measured.")
    methods, shown = methods_of(results.plan), set()
    with style.look():
        figure, axes = style.panels(1, 2, height=4.0, sharex=True, sharey=True)
        for ax, target in zip(axes[0], TITLES, strict=True):
            base(ax, results, target)
            front = front_of(points[target])
            for x, y, name, _ in points[target]:
                colour, mark = look_of(name, methods)
                best = (x, y) in front
                ax.plot(
                    [x],
                    [y],
                    mark,
                    color=colour,
                    markersize=5.5 if best else 3,
                    markeredgewidth=0,
                    alpha=1.0 if best else 0.25,
                    fillstyle="none" if _grown(name) and best else "full",
                    zorder=4 if best else 2,
                )
                if _grown(name) and best:
                    ax.lines[-1].set_markeredgewidth(1.2)
                if best:
                    shown.add(name)
            if front:
                x, y = zip(*front, strict=True)
                ax.step(x, y, where="post", color=style.INK, linewidth=0.8, zorder=3)
            ax.set_title(TITLES[target])
            ax.set_xlabel("Disclosivity")
        axes[0, 0].set_ylabel("Imbalance")
        limits(axes[0], [point for made in points.values() for point in made])
        figure.legend(
            *_keys([pair for pair in methods if pair[0] in shown], methods),
            loc="outside lower center",
            ncols=3,
            columnspacing=1.6,
        )
    return figure


def points_of(results, target):
    """``(disclosivity, imbalance, method, setting)`` of every setting of every method."""
    made = []
    for name, _ in methods_of(results.plan):
        for _, setting in results.settings(name, target=target):
            x, y = (
                results.get(name, metric, target, setting).mean
                for metric in ("disclosivity", "imbalance")
            )
            if not math.isnan(x + y):
                made.append((x, y, name, setting))
    return made


def front_of(points):
    """Points that no other beats in both coordinates (or in one at the same other), by the first.

    Parameters
    ----------
    points : iterable of tuple
        Of which the first two entries are the coordinates; less is better in both.

    Returns
    -------
    list of (float, float)
    """
    front = []
    for x, y in sorted({(point[0], point[1]) for point in points}):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


def _grown(name):
    return name.endswith(("_deep", "_paper", "_fixed"))


def _keys(methods, everyone):
    from matplotlib.lines import Line2D

    handles = []
    for name, _ in methods:
        colour, mark = look_of(name, everyone)
        hollow = _grown(name)
        handles.append(
            Line2D(
                [],
                [],
                color=colour,
                marker=mark,
                linestyle="none",
                markersize=5.5,
                markeredgewidth=1.2 if hollow else 0,
                fillstyle="none" if hollow else "full",
            )
        )
    return handles, [label for _, label in methods]
