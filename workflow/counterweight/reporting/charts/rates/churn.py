"""Churn and error against the churn target (Goh et al. 2016, Figure 3)."""

import numpy as np

from counterweight.reporting.page import style
from counterweight.reporting.rates.tables import Rate, RateNumbers

CAPTION = (
    "Observed churn against the deployed model (left) and error (right) against the churn target, "
    "mean over repeats with 95 % intervals on test rows. Full lines: test rows; dotted: training "
    "rows. The randomised rule is the one of which the target was asked; on the dashed diagonal "
    "churn and target are the same. The baseline has no target."
)
_RULES = {"deterministic": (style.BLUE, "o"), "randomised": (style.RED, "v")}
_BASELINE = (style.GREEN, "s")
_PLACES = (("general", "test", "-"), ("train", "training", (0, (1, 1.6))))
_HEIGHT = 3.4


def draw(study):
    """Two panels, churn and error.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    numbers = RateNumbers(study.metrics, study.plan)
    main = numbers.main()
    if not numbers.asked or numbers.asked["measure"] != "churn" or main is None:
        return style.blank("No churn was asked for in this study.")
    settings = [
        setting
        for setting in numbers.settings_of(main)
        if not np.isnan(numbers.asks(main, setting))
    ]
    if not settings:
        return style.blank("No churn target was measured in this study.")
    baseline = study.plan.get("baseline")
    if baseline not in numbers.methods or baseline == main:
        baseline = None
    targets = [100 * numbers.asks(main, setting) for setting in settings]
    with style.look():
        figure, axes = style.panels(1, 2, height=_HEIGHT, sharex=True)
        entries = {}
        for ax, measure in zip(axes[0], ("churn", "error"), strict=True):
            style.grid(ax, "both")
            for rule, look in _RULES.items():
                for target, place, dash in _PLACES:
                    found = [
                        numbers.estimate(main, Rate(rule, measure), setting, target)
                        for setting in settings
                    ]
                    label = f"{numbers.label(main)}, {rule}, {place}"
                    entries[label] = _line(ax, targets, found, *look, dash, target == "general")
            for target, place, dash in _PLACES if baseline else ():
                found = numbers.estimate(baseline, Rate("deterministic", measure), "", target)
                label = f"{numbers.label(baseline)}, {place}"
                entries[label] = _flat(ax, targets, found, *_BASELINE, dash, target == "general")
            ax.set_ylabel(f"{measure.capitalize()}, %")
            ax.set_xlabel("Churn target, %")
            ax.margins(x=0.05, y=0.08)
        axes[0, 0].plot(
            [min(targets), max(targets)],
            [min(targets), max(targets)],
            color=style.INK,
            linewidth=0.8,
            linestyle=(0, (4, 3)),
            zorder=1,
        )
        handles = {label: handle for label, handle in entries.items() if handle is not None}
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=2, columnspacing=1.5
        )
    return figure


def _line(ax, x, found, colour, marker, dash, bars):
    mean, low, high = ([100 * one[k] for one in found] for k in range(3))
    if np.isnan(mean).all():
        return None
    if bars:
        ax.vlines(x, low, high, color=colour, linewidth=0.8, alpha=0.7)
    hollow = {} if bars else {"markerfacecolor": "white"}
    (line,) = ax.plot(
        x,
        mean,
        marker=marker,
        color=colour,
        markersize=3.5,
        linewidth=1.2,
        linestyle=dash,
        **hollow,
    )
    return line


def _flat(ax, x, found, colour, marker, dash, bars):
    """A method without a target: one height for all targets."""
    if np.isnan(found[0]):
        return None
    line = _line(ax, x, [(found[0],) * 3] * len(x), colour, marker, dash, bars)
    if bars and not np.isnan(found[1]):
        ax.fill_between(x, 100 * found[1], 100 * found[2], color=colour, alpha=0.15, linewidth=0)
    return line
