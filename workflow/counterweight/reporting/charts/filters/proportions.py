"""Figure 3 of Deng et al. (2023): shares of the groups before and after filtering."""

import numpy as np

from counterweight.reporting.filters.tables import FilterResults, main_method, methods_of
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import setting_label

CAPTION = (
    "Shares of the groups among all rows (grey) and among the accepted ones (colour) at three "
    "budgets, on training and on test rows; means with 95 % intervals over repeats. The dashed "
    "line is the wanted share. Groups stand from the rarest to the largest."
)
_BUDGETS = (0.0, 0.1, 0.2)


def draw(study):
    """Rows for training and test rows, a column for each budget.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``filter``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    results = FilterResults(study.metrics, study.plan)
    name, groups = main_method(results, "relaxed", "alpha_beta"), results.groups()
    if name is None or not groups:
        return style.blank("No filter of this study was measured.")
    settings = settings_of(results, name)
    base = {
        group: results.get("labels", "group_share", "train", part=group).mean for group in groups
    }
    order = sorted(groups, key=lambda group: (results.class_of(group), base[group]))
    label = dict(methods_of(results.plan))[name]
    with style.look():
        figure, axes = style.panels(
            2, len(settings), height=1.7 + 0.36 * len(order) + 0.2, sharex=True, sharey=True
        )
        for row, target in enumerate(("train", "test")):
            for ax, setting in zip(axes[row], settings, strict=True):
                _panel(ax, results, name, target, setting, order)
                words = "Training rows" if target == "train" else "Test rows"
                ax.set_title(f"{words}, {setting_label(setting)}")
            axes[row, 0].set_yticks(range(len(order)), [_short(group) for group in order])
        top = max(results.get("labels", "group_share", "train", part=group).mean for group in order)
        axes[0, 0].set_xlim(0, 112 * max(top, *(results.share_wanted(group) for group in order)))
        for ax in axes[1]:
            ax.set_xlabel("Share, %")
        figure.legend(*_keys(label), loc="outside lower center", ncols=3)
    return figure


def settings_of(results, name):
    """Items of the budgets that are drawn: those nearest to `_BUDGETS`, each once."""
    wanted = _BUDGETS if results.option(name) == "alpha" else (1.0, 0.5, 0.0)
    return list(dict.fromkeys(results.at(name, value) for value in wanted))


def _panel(ax, results, name, target, setting, order):
    places = np.arange(len(order))
    before = [results.get("labels", "group_share", target, part=group).mean for group in order]
    after = [results.get(name, "group_share", target, setting, group) for group in order]
    ax.barh(places + 0.2, [100 * share for share in before], height=0.38, color="#B5B5B5")
    ax.barh(places - 0.2, [100 * one.mean for one in after], height=0.38, color=style.BLUE)
    for place, one in zip(places, after, strict=True):
        if one.low == one.low:
            ax.hlines(
                place - 0.2, 100 * max(one.low, 0), 100 * one.high, color=style.INK, linewidth=0.8
            )
        share = 100 * results.share_wanted(order[place])
        ax.vlines(
            share, place - 0.5, place + 0.5, color=style.RED, linewidth=1.1, linestyle=(0, (3, 1.5))
        )
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.tick_params(axis="y", length=0)
    style.grid(ax, "x")


def _short(group, most=22):
    """A long name of a group with its middle left out."""
    text = group.replace("=", ": ")
    return text if len(text) <= most else text[: most - 8] + "…" + text[-7:]


def _keys(label):
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return (
        [
            Patch(color="#B5B5B5"),
            Patch(color=style.BLUE),
            Line2D([], [], color=style.RED, linestyle=(0, (3, 1.5)), linewidth=1.1),
        ],
        ["all rows", f"accepted ({label})", "wanted"],
    )
