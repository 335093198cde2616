"""What was observed against what was asked (Goh et al. 2016, Figure 2 right)."""

import numpy as np

from counterweight.reporting.page import style
from counterweight.reporting.rates.tables import Rate, RateNumbers
from counterweight.reporting.rates.words import measure_name

CAPTION = (
    "Observed ratio of the two groups' rates against the ratio asked for, 1/κ, mean over repeats "
    "with 95 % intervals; left on training rows, right on test rows. On the dashed diagonal both "
    "are the same. Full lines: deterministic rule; dashed: randomised rule, of which the "
    "constraint was asked. The dotted line is the ratio of the SVM without a constraint: what is "
    "asked beyond it does not bind."
)
LOOKS = {
    "ramp": (style.BLUE, "o"),
    "ramp_one": (style.ORDERED[-1], "X"),
    "hinge": (style.GREY, "<"),
    "shifted": (style.RED, "v"),
    "thresholds": (style.ORANGE, "^"),
}
_HEIGHT = 3.6


def draw(study):
    """Two panels, training and test rows, a line for each method that can be asked.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    numbers = RateNumbers(study.metrics, study.plan)
    main = numbers.main()
    looks = LOOKS if main in LOOKS else {main: (style.BLUE, "o")} | LOOKS
    sources = [name for name in looks if name in numbers.methods and _asking(numbers, name)]
    if not sources:
        return style.blank("No method of this study was asked for a ratio.")
    measure = numbers.asked["measure"]
    with style.look():
        figure, axes = style.panels(1, 2, height=_HEIGHT, sharex=True, sharey=True)
        entries, seen = {}, []
        for ax, target, title in zip(
            axes[0], ("train", "general"), ("Training rows", "Test rows"), strict=True
        ):
            style.grid(ax, "both")
            ax.set_title(title)
            for name in sources:
                rules = ("randomised", "deterministic") if name == main else ("deterministic",)
                for rule in rules:
                    points = _points(numbers, name, Rate(rule, measure), target)
                    seen += points
                    label = numbers.label(name) + (f", {rule}" if name == main else "")
                    handle = _line(ax, points, rule, *looks[name])
                    if handle is not None:
                        entries[label] = handle
            free = (
                numbers.mean("svm", Rate("deterministic", measure), "", target)
                if ("svm" in numbers.methods)
                else np.nan
            )
            if not np.isnan(free):
                entries[numbers.label("svm")] = ax.axhline(
                    free, color=style.GREY, linewidth=1.0, linestyle=(0, (1, 2))
                )
        _limits(axes[0], seen)
        name = measure_name(measure)
        axes[0, 0].set_ylabel(f"Observed {name}")
        asked = f"{name[0].upper()}{name[1:]} asked for"
        if numbers.asked["form"] == "at_most_inverse":
            asked += ", 1/κ"
        for ax in axes[0]:
            ax.set_xlabel(asked)
        figure.legend(
            entries.values(), entries.keys(), loc="outside lower center", ncols=3, columnspacing=1.5
        )
    return figure


def _asking(numbers, name):
    return [
        setting
        for setting in numbers.settings_of(name)
        if not np.isnan(numbers.asks(name, setting))
    ]


def _points(numbers, name, metric, target):
    points = []
    for setting in _asking(numbers, name):
        mean, low, high = numbers.estimate(name, metric, setting, target)
        if not np.isnan(mean):
            points.append((numbers.asks(name, setting), mean, low, high))
    return sorted(points)


def _line(ax, points, rule, colour, marker):
    if not points:
        return None
    x, mean, low, high = zip(*points, strict=True)
    ax.vlines(x, low, high, color=colour, linewidth=0.8, alpha=0.7)
    hollow = {"markerfacecolor": "white"} if rule == "randomised" else {}
    (line,) = ax.plot(
        x,
        mean,
        marker=marker,
        color=colour,
        markersize=3.5,
        linewidth=1.2,
        linestyle="-" if rule == "deterministic" else (0, (4, 2)),
        **hollow,
    )
    return line


def _limits(axes, points):
    asked = [point[0] for point in points]
    seen = [point[1] for point in points]
    low, high = min(asked), max(asked)
    room = 0.04 * (high - low) or 0.1 * high
    bottom, top = min([*seen, low]), max([*seen, low])
    for ax in axes:
        ax.plot(
            [low, high],
            [low, high],
            color=style.INK,
            linewidth=0.8,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        ax.set_xlim(low - room, high + room)
        ax.set_ylim(bottom - 0.06 * (top - bottom or top), top + 0.1 * (top - bottom or top))
