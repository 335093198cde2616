"""What figures of filters have in common: settings by strength, groups, wanted shares, the floor."""

from counterweight.files.settings import numbers_of
from counterweight.reporting.charts.canvas import Look
from counterweight.reporting.charts.style import GREY, INK, PALE

TARGETS = ("train", "test")
_START = Look(INK, "x", "none")


def levels(study, source, target="train"):
    """``(value, setting)`` of the settings of a filter with one number, in order."""
    pairs = []
    for setting in study.settings(source, "imbalance", target):
        numbers = list(numbers_of(setting).values())
        if len(numbers) == 1:
            pairs.append((numbers[0], setting))
    return sorted(pairs) or (levels(study, source, "test") if target != "test" else [])


def is_budget(study, source):
    """Whether more of the option lets more be disclosed: a budget, not a share left as it was."""
    known = levels(study, source)
    ends = [study.get(source, "disclosivity", "train", setting=known[k][1]).mean for k in (0, -1)]
    return not ends[0] > ends[1]


def nearest(study, source, budgets):
    """Settings at the given budgets, each once; of a filter without any: from none to most."""
    known = levels(study, source)
    if not is_budget(study, source):
        budgets = (1.0, 0.5, 0.0)
    return list(
        dict.fromkeys(
            min(known, key=lambda pair, value=value: (abs(pair[0] - value), pair[0]))[1]
            for value in budgets
        )
    )


def measured(study):
    """Filters with results, in plan order."""
    return [one["id"] for one in study.methods() if levels(study, one["id"])]


def main_filter(study, more=()):
    """The filter that the study gives away, else its main one, else the first with a budget."""
    given = (study.plan.get("filter") or {}).get("given") or {}
    known = measured(study)
    wanted = [one for one in (given.get("method"), study.main, *more) if one in known]
    return next(iter(wanted + [one for one in known if is_budget(study, one)] + known), None)


def groups_of(study):
    """Groups in the order of the study."""
    known = [study.places("part", "labels", "group_share", target) for target in TARGETS]
    return known[0] or known[1]


def class_of(study, group):
    """The column that a group belongs to; empty where there is one column only."""
    columns = (study.plan.get("filter") or {}).get("group") or []
    return group.partition("=")[0] if not isinstance(columns, str) and len(columns) > 1 else ""


def wanted_share(study, group):
    """Share of a group in a balanced sample: as wished, else uniform in its class."""
    wanted = (study.plan.get("filter") or {}).get("target")
    if wanted:
        return float(wanted.get(group, 0.0))
    same = [one for one in groups_of(study) if class_of(study, one) == class_of(study, group)]
    return 1 / len(same)


def points_of(study, source, target):
    """``(disclosivity, imbalance, setting)`` as two `Estimate` and the setting, in order."""
    for _, setting in levels(study, source, target):
        across, up = (
            study.get(source, metric, target, setting=setting)
            for metric in ("disclosivity", "imbalance")
        )
        if across.known and up.known:
            yield across, up, setting


def ground(panel, study, target):
    """The start without a filter, and the floor that no filter can go below."""
    floor = {}
    for source in measured(study):
        if is_budget(study, source):
            for value, setting in levels(study, source, target):
                least = study.get(source, "floor", target, setting=setting)
                if least.known:
                    floor[value] = least.mean
    if floor:
        x, y = zip(*sorted(floor.items()), strict=True)
        panel.ax.fill_between(x, 0, y, color=PALE, alpha=0.4, linewidth=0, zorder=0)
        panel.line("floor", sorted(floor.items()), Look(GREY, ""), linewidth=1.0)
    start = study.get("labels", "starting_imbalance", target)
    points = [(0.0, start.mean)]
    panel.line("no filter", points, _START, markersize=6, markeredgewidth=1.6, clip_on=False)
    panel.grid("both")


def limit(panels, study, points):
    """Limits by the means: intervals of two or three repeats would flatten everything else."""
    starts = [study.get("labels", "starting_imbalance", target).mean for target in TARGETS]
    x, y = [point[0] for point in points], [point[1] for point in points]
    top = max([*y, *(start for start in starts if start == start)])
    for panel in panels:
        panel.ax.set(xlim=(-0.03, max(1.03 * max(x), 0.05)), ylim=(0, 1.06 * top))
