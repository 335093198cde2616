"""Shares of the groups in each leaf of a filter's proxy."""

import numpy as np

from counterweight.reporting.charts.canvas import Canvas
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.filters.levels import TARGETS, groups_of, main_filter, nearest
from counterweight.reporting.charts.style import is_narrow
from counterweight.reporting.charts.words import group_name, span
from counterweight.reporting.wording import chance_text, count, setting_label

CAPTION = (
    "Shares of the groups (columns, in per cent) in each leaf of one filter (rows) at three budgets, "
    "training rows of the first repeat; the darker, the larger. Beside each leaf the share of people "
    "in it and, in brackets, their chance of being accepted. With a budget of 0 there is one leaf, "
    "with the shares before filtering."
)
_BUDGETS, _LEAVES = (0.0, 0.82, 1.0), 16


def draw(study):
    source, groups = main_filter(study), groups_of(study)
    settings = nearest(study, source, _BUDGETS) if source else []
    maps = {setting: leaves_of(study, source, setting, groups) for setting in settings}
    maps = {setting: table for setting, table in maps.items() if table[0]}
    if not maps:
        return blank("No leaves of this study were measured.")
    sizes = [min(len(table[0]), _LEAVES) for table in maps.values()]
    room = 1.6 if is_narrow() else 1.1
    canvas = Canvas(len(maps), 1, [0.45 + 0.24 * size for size in sizes], room=room, sharex=True)
    for panel, (setting, (leaves, shares, mass, accepted)) in zip(canvas.all, maps.items(), strict=True):
        shown = np.nan_to_num(shares[:_LEAVES])
        names = [
            f"{'' if is_narrow() else 'leaf '}{leaf}: {100 * part:.1f} % ({chance_text(chance)})"
            for leaf, part, chance in zip(leaves, mass, accepted, strict=True)
        ]
        texts = [
            ["0" if v == 0 else "< 1" if v < 0.0095 else f"{100 * v:.0f}" for v in row] for row in shown
        ]
        hidden = len(leaves) - len(shown)
        more = f"; {hidden} smaller ones not shown" if hidden > 0 else ""
        panel.title(f"{setting_label(setting)}: {count(len(leaves), 'leaf', 'leaves')}{more}", "share")
        short = [group_name(group, 14 if is_narrow() else 22) for group in groups]
        panel.cells(names[: len(shown)], short, shown, np.sqrt(shown), texts, "share", upright=False)
    chances = [100 * chance for chance in maps[list(maps)[-1]][3]]
    title = (
        f"{study.label(source)}, {setting_label(list(maps)[-1])}: of "
        f"{count(len(chances), 'leaf', 'leaves')} {span(chances, 0)} % of people are accepted"
    )
    return canvas.drawing(title, "Shares of groups in each leaf of a filter at three budgets")


def leaves_of(study, source, setting, groups):
    """Numbers, shares of groups, mass and acceptance of the leaves at a setting, by mass.

    Returns
    -------
    leaves : list of str
    shares : array (L, K)
    mass, accepted : array (L,)
    """
    for target in TARGETS:
        leaves = study.places("part", source, "leaf_mass", target, setting=setting)
        if leaves:
            break
    mass, accepted = (
        np.array([study.get(source, metric, target, setting=setting, part=leaf).mean for leaf in leaves])
        for metric in ("leaf_mass", "leaf_acceptance")
    )
    shares = [
        study.get(source, "leaf_share", target, setting=setting, part=leaf, variable=group).mean
        for leaf in leaves
        for group in groups
    ]
    order = np.argsort(-mass, kind="stable")
    shares = np.reshape(shares, (len(leaves), len(groups)))
    return [leaves[k] for k in order], shares[order], mass[order], accepted[order]
