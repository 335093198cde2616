"""Shares of the groups before and after filtering."""

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.filters.levels import Filters, group_name
from counterweight.reporting.wording import setting_label

CAPTION = (
    "Shares of the groups among all training rows (bar) and among the accepted ones at three "
    "budgets, means with 95 % intervals over repeats; the red mark is the wanted share. Groups "
    "stand from the rarest to the largest."
)
_BUDGETS = (0.0, 0.1, 0.2)
_WANTED, _MARK = kit.Look(style.RED, "|", "none"), {"markersize": 11, "markeredgewidth": 1.4}


def draw(study):
    known = Filters(study)
    if known.main is None or not known.groups:
        return kit.blank("No filter of this study was measured.")
    source, settings = known.main, known.nearest(known.main, _BUDGETS)
    before = {
        g: 100 * known.get("labels", "group_share", "train", part=g).mean for g in known.groups
    }
    order = sorted(known.groups, key=lambda group: (known.class_of(group), before[group]))
    titles = [f"Accepted, {setting_label(setting)}" for setting in settings]
    shared, height = {"sharex": True, "sharey": True}, 1.1 * kit.row_height(len(order))
    canvas = kit.Canvas(titles, height, "Share, %", **shared)
    canvas.rows([group_name(group) for group in order])
    for panel, setting in zip(canvas.all, settings, strict=True):
        bars = [before[group] for group in order]
        panel.bars("all rows", range(len(order)), bars, style.PALE, 0.5, rows=True)
        for place, group in enumerate(order):
            wanted = 100 * known.wanted_share(group)
            panel.dot(place, "wanted", wanted, _WANTED, key=True, **_MARK)
            for target, shift in (("train", -0.16), ("test", 0.16)):
                after = known.get(source, "group_share", target, setting, part=group).times(100)
                after = after._replace(low=max(after.low, 0.0)) if after.bounded else after
                look, name = kit.MAIN._replace(hollow=target == "train"), kit.TARGETS[target]
                panel.dot(place + shift, f"accepted, {name}", after, look, key=True, zorder=3)
    most = max(*before.values(), *(100 * known.wanted_share(group) for group in order))
    canvas.all[0].ax.set_xlim(0, 1.12 * most)
    rarest = min(order, key=before.get)
    after = known.get(source, "group_share", "test", settings[-1], part=rarest).times(100)
    moved = f"from {before[rarest]:.1f} % to {kit.told(after, places=1, unit='%')}"
    wanted = f"{100 * known.wanted_share(rarest):.1f} %"
    title = f"{group_name(rarest)}: {moved} at {setting_label(settings[-1])}; wanted {wanted}"
    return canvas.drawing(title, "Shares of groups before and after filtering at three budgets")
