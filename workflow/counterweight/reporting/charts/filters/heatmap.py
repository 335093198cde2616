"""Shares of the groups in each leaf of a filter's proxy."""

import numpy as np

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.filters.levels import TARGETS, Filters, group_name
from counterweight.reporting.wording import chance_text, count, setting_label

CAPTION = (
    "Shares of the groups (columns, in per cent) in each leaf of one filter (rows) at three "
    "budgets (those that the paper prints, where a filter has them), first repeat; the darker, the "
    "larger. Beside each leaf the share of people in it and, in brackets, their chance of "
    "being accepted. A budget of 0 has one leaf: everybody."
)
#: Of Figure 4.
_BUDGETS, _LEAVES = (0.0, 0.82, 0.97), 16


def draw(study):
    known = Filters(study)
    source = next((name for name in known.levels if _printed(known, name)), known.main)
    settings = known.nearest(source, _BUDGETS) if source else []
    maps = {setting: leaves_of(known, source, setting) for setting in settings}
    maps = {setting_label(setting): table for setting, table in maps.items() if table[0]}
    if not maps:
        return kit.blank("No leaves of this study were measured.")
    titles = []
    for label, (leaves, *_) in maps.items():
        more = f"; the {_LEAVES} largest are shown" if len(leaves) > _LEAVES else ""
        titles.append([f"{label}: {count(len(leaves), 'leaf', 'leaves')}{more}"])
    heights = [0.45 + 0.24 * min(len(table[0]), _LEAVES) for table in maps.values()]
    heights[-1] += 0.9
    canvas = kit.Canvas(titles, heights, sharex=True)
    narrow = style.is_narrow()
    heads = [group_name(group, 14 if narrow else 22) for group in known.groups]
    for panel, (leaves, shares, mass, accepted) in zip(canvas.all, maps.values(), strict=True):
        shown, word = np.nan_to_num(shares[:_LEAVES]), "" if narrow else "leaf "
        chances = [chance_text(chance) for chance in accepted]
        names = [
            f"{word}{leaf}: {100 * part:.1f} % ({chance})"
            for leaf, part, chance in zip(leaves, mass, chances, strict=True)
        ]
        texts = [["< 1" if 0 < v < 0.0095 else f"{100 * v:.0f}" for v in row] for row in shown]
        panel.measures = "share"
        panel.cells(names[: len(shown)], heads, shown, np.sqrt(shown), texts, above=False)
    label, (leaves, _, _, accepted) = list(maps.items())[-1]
    said = count(len(leaves), "leaf", "leaves")
    said += f", of which {kit.span(100 * accepted)} % are accepted"
    title = f"{study.label(source)}, {label}: {said}"
    return canvas.drawing(title, "Shares of groups in each leaf of a filter at three budgets")


def _printed(known, source):
    """Whether a filter was measured at each of the budgets of the paper."""
    return {*_BUDGETS} <= {value for value, _ in known.levels[source]}


def leaves_of(known, source, setting):
    """Numbers, shares (leaves, groups), mass and acceptance of the leaves of a setting, by mass."""
    places = known.study.places
    for target in TARGETS:
        leaves = places("part", source, "leaf_mass", target, setting=setting)
        if leaves:
            break

    def values(metric, **place):
        found = [known.get(source, metric, target, setting, part=leaf, **place) for leaf in leaves]
        return np.array([one.mean for one in found])

    shares = np.array([values("leaf_share", variable=group) for group in known.groups]).T
    order = np.argsort(-values("leaf_mass"), kind="stable")
    columns = (values("leaf_mass")[order], values("leaf_acceptance")[order])
    return [leaves[k] for k in order], shares[order] if leaves else shares, *columns
