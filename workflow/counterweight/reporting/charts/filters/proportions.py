"""Shares of the groups before and after filtering."""

import math

from counterweight.reporting.charts.canvas import MAIN, Canvas, Look, row_height
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.filters.levels import (
    class_of,
    groups_of,
    main_filter,
    nearest,
    wanted_share,
)
from counterweight.reporting.charts.style import PALE, RED
from counterweight.reporting.charts.words import group_name, number, told
from counterweight.reporting.wording import setting_label

CAPTION = (
    "Shares of the groups among all training rows (bar) and among the accepted ones at three budgets: "
    "training rows (hollow) and test rows (filled), means with 95 % intervals over repeats. The red "
    "mark is the wanted share. Groups stand from the rarest to the largest."
)
_BUDGETS = (0.0, 0.1, 0.2)
_LOOKS = {"train": ("training rows", MAIN._replace(hollow=True), -0.16), "test": ("test rows", MAIN, 0.16)}
_WANTED = Look(RED, "|", "none")


def draw(study):
    source, groups = main_filter(study), groups_of(study)
    if source is None or not groups:
        return blank("No filter of this study was measured.")
    settings = nearest(study, source, _BUDGETS)
    before = {g: study.get("labels", "group_share", "train", part=g).times(100) for g in groups}
    order = sorted(groups, key=lambda group: (class_of(study, group), before[group].mean))
    canvas = Canvas(1, len(settings), row_height(len(order)) * 1.1, sharex=True, sharey=True)
    canvas.rows([group_name(group) for group in order])
    for panel, setting in zip(canvas.all, settings, strict=True):
        panel.title(f"Accepted, {setting_label(setting)}", "Share, %")
        for place, group in enumerate(order):
            panel.bar(place, "all rows", before[group].mean, PALE, 0.5, key=True)
            wanted = (100 * wanted_share(study, group), math.nan, math.nan)
            panel.dot(place, "wanted", wanted, _WANTED, key=True, markersize=11, markeredgewidth=1.4)
            for target, (name, look, shift) in _LOOKS.items():
                known = study.get(source, "group_share", target, setting=setting, part=group).times(100)
                after = (known.mean, max(known.low, 0.0) if known.bounded else math.nan, known.high)
                panel.dot(place + shift, f"accepted, {name}", after, look, key=True, zorder=3)
    wanted = max(100 * wanted_share(study, group) for group in order)
    canvas.first.ax.set_xlim(0, 1.12 * max([wanted, *(one.mean for one in before.values())]))
    canvas.label("Share, %")
    rarest = min(order, key=lambda group: before[group].mean)
    known = study.get(source, "group_share", "test", setting=settings[-1], part=rarest).times(100)
    title = (
        f"{group_name(rarest)}: from {number(before[rarest].mean, 1)} % to {told(known, places=1, unit='%')} "
        f"of test rows at {setting_label(settings[-1])}; wanted {number(100 * wanted_share(study, rarest), 1)} %"
    )
    return canvas.drawing(title, "Shares of groups before and after filtering at three budgets")
