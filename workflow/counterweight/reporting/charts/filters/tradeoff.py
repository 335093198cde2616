"""Figures 1 and 2 of Deng et al. (2023): disclosivity against imbalance, by proxy."""

import math

from matplotlib.figure import Figure

from counterweight.reporting.filters.tables import FilterResults, methods_of, setting_value
from counterweight.reporting.page import style

CAPTION = (
    "Imbalance of the accepted rows against the disclosivity of the proxy, as measured on training "
    "and on test rows; a line for each proxy along its settings, means with 95 % intervals over "
    "repeats (cut at the panel). The cross is the sample without a filter; no filter can be below "
    "the grey line. Below: ways to grow the trees."
)
#: Colour and marker of each method by its id; other methods take what is left.
LOOKS = {
    "naive_regression": (style.SKY, "s"),
    "naive_tree": (style.ORANGE, "^"),
    "qp_regression": (style.PURPLE, "D"),
    "qp_tree": (style.RED, "v"),
    "alpha_beta": (style.BLUE, "o"),
    "relaxed": (style.GREEN, "P"),
    "alpha_beta_deep": (style.SKY, "s"),
    "relaxed_deep": (style.PURPLE, "D"),
    "alpha_beta_paper": (style.ORANGE, "^"),
    "alpha_beta_fixed": (style.RED, "v"),
}
_PRESETS = ("_deep", "_paper", "_fixed")
TITLES = {"train": "Training rows", "test": "Test rows"}


def draw(study):
    """Panels for training and test rows, a line for each method.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``filter``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    results = FilterResults(study.metrics, study.plan)
    rows = sets_of(results)
    if not rows:
        return style.blank("No filter of this study was measured.")
    with style.look():
        figure = Figure(figsize=(style.WIDTH, 3.4 * len(rows)), layout="constrained")
        parts = figure.subfigures(len(rows), 1, squeeze=False)[:, 0]
        for part, methods in zip(parts, rows, strict=True):
            axes = part.subplots(1, 2, sharex=True, sharey=True)
            points = [
                (0.0, results.start(target).mean)
                for target in TITLES
                if results.start(target).known
            ]
            for ax, target in zip(axes, TITLES, strict=True):
                base(ax, results, target)
                for name, _ in methods:
                    points += _line(ax, results, name, target)
                ax.set_title(TITLES[target])
                ax.set_xlabel("Disclosivity")
            axes[0].set_ylabel("Imbalance")
            limits(axes, points)
            part.legend(
                *keys(methods),
                loc="outside lower center",
                ncols=3,
                handlelength=1.6,
                columnspacing=1.6,
            )
    return figure


def sets_of(results):
    """Methods with results as ``(id, label)``: those of the paper, then ways to grow trees."""
    known = [(name, label) for name, label in methods_of(results.plan) if results.option(name)]
    plain = [pair for pair in known if not pair[0].endswith(_PRESETS)]
    grown = [pair for pair in known if pair[0].endswith(_PRESETS)]
    if grown:
        bases = {name.rpartition("_")[0] for name, _ in grown}
        grown = [pair for pair in plain if pair[0] in bases] + grown
    return [pairs for pairs in (plain, grown) if pairs]


def look_of(name, methods):
    """Colour and marker of a method; ids of one's own take them in turn."""
    if name in LOOKS:
        return LOOKS[name]
    others = [one for one, _ in methods if one not in LOOKS]
    looks = list(LOOKS.values())[:6]
    return looks[others.index(name) % len(looks)]


def base(ax, results, target):
    """Start and floor of a panel."""
    floor = sorted(_floor(results, target).items())
    if floor:
        x, y = zip(*floor, strict=True)
        ax.plot(x, y, color=style.GREY, linewidth=1.0, zorder=1)
        ax.fill_between(x, 0, y, color=style.PALE, alpha=0.5, linewidth=0, zorder=0)
    start = results.start(target).mean
    if not math.isnan(start):
        ax.plot(
            [0],
            [start],
            "x",
            color=style.INK,
            markersize=7,
            markeredgewidth=1.6,
            zorder=5,
            clip_on=False,
        )
    style.grid(ax, "both")


def limits(axes, points):
    """Limits by the means: intervals of two or three repeats would flatten everything else."""
    x, y = ([point[place] for point in points] for place in (0, 1))
    for ax in axes:
        ax.set(xlim=(-0.03, max(1.03 * max(x), 0.05)), ylim=(0, 1.06 * max(y)))


def _floor(results, target):
    """Least imbalance by disclosivity, from the methods with settings alpha."""
    lines = {}
    for name, _ in methods_of(results.plan):
        for value, setting in results.settings(name, "floor", target):
            least = results.get(name, "floor", target, setting).mean
            if setting_value(setting)[0] == "alpha":
                lines[value] = least
    return lines


def _line(ax, results, name, target):
    colour, mark = look_of(name, methods_of(results.plan))
    x, y = [], []
    for _, setting in results.settings(name, target=target):
        across = results.get(name, "disclosivity", target, setting)
        up = results.get(name, "imbalance", target, setting)
        # Along the grid of budgets the same tree may come again and again.
        if not (across.known and up.known) or (x and (x[-1], y[-1]) == (across.mean, up.mean)):
            continue
        x.append(across.mean)
        y.append(up.mean)
        line = {"color": colour, "linewidth": 0.7, "alpha": 0.4}
        ax.vlines(x[-1], up.low, up.high, **line)
        ax.hlines(y[-1], across.low, across.high, **line)
    ax.plot(x, y, marker=mark, color=colour, markersize=3.4, linewidth=1.2, markeredgewidth=0)
    return list(zip(x, y, strict=True))


def keys(methods):
    """Handles and names for a legend."""
    from matplotlib.lines import Line2D

    handles = []
    for name, _ in methods:
        colour, mark = look_of(name, methods)
        handles.append(
            Line2D(
                [], [], color=colour, marker=mark, markersize=4, linewidth=1.2, markeredgewidth=0
            )
        )
    return handles, [label for _, label in methods]
