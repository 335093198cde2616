"""What figures of filters share: settings by strength, groups, wanted shares, the floor."""

from counterweight.files.settings import numbers_of
from counterweight.reporting.charts import kit, style
from counterweight.reporting.wording import shortened

TARGETS = {"train": "Training rows", "test": "Test rows"}


class Filters:
    """The filters of a study that were measured.

    Attributes
    ----------
    levels : dict
        ``(value, setting)`` of the settings of each filter with one number, in order.
    main : str or None
        The filter that the study gives away, else its main one, else the first with a budget.
    groups : list of str
    """

    def __init__(self, study):
        self.study, self.plan, self.levels = study, study.plan.get("filter") or {}, {}
        self.given = self.plan.get("given") or {}
        for one in study.methods():
            for target in TARGETS:
                settings = study.settings(one["id"], "imbalance", target)
                pairs = [(*numbers_of(setting).values(), setting) for setting in settings]
                known = sorted(pair for pair in pairs if len(pair) == 2)
                if known:
                    self.levels.setdefault(one["id"], known)
        wanted = [name for name in (self.given.get("method"), study.main) if name in self.levels]
        budgets = [name for name in self.levels if self.is_budget(name)]
        self.main = next(iter([*wanted, *budgets, *self.levels]), None)
        known = [study.places("part", "labels", "group_share", target) for target in TARGETS]
        self.groups = known[0] or known[1]

    def get(self, source, metric, target, setting="", **place):
        return self.study.get(source, metric, target, setting=setting, **place)

    def is_budget(self, source):
        """Whether more of the option lets more be disclosed: not a share left as it was."""
        ends = [self.levels[source][k][1] for k in (0, -1)]
        low, high = (self.get(source, "disclosivity", "train", one).mean for one in ends)
        return not low > high

    def nearest(self, source, budgets):
        """Settings at the given budgets, each once; of a filter without any: from none to most."""
        known, chosen = self.levels[source], {}
        for value in budgets if self.is_budget(source) else (1.0, 0.5, 0.0):
            chosen[min(known, key=lambda pair, value=value: abs(pair[0] - value))[1]] = None
        return list(chosen)

    def class_of(self, group):
        """The column that a group belongs to; empty where there is one column only."""
        columns = self.plan.get("group") or []
        several = not isinstance(columns, str) and len(columns) > 1
        return group.partition("=")[0] if several else ""

    def wanted_share(self, group):
        """Share of a group in a balanced sample: as wished, else uniform in its class."""
        if self.plan.get("target"):
            return float(self.plan["target"].get(group, 0.0))
        return 1 / sum(self.class_of(one) == self.class_of(group) for one in self.groups)

    def points(self, source, target):
        """Disclosivity and imbalance, as two `Estimate`, and the setting, in order."""
        for _, setting in self.levels[source]:
            across = self.get(source, "disclosivity", target, setting)
            up = self.get(source, "imbalance", target, setting)
            if across.known and up.known:
                yield across, up, setting

    def ground(self, panel, target):
        """The start without a filter, and the floor that no filter can go below."""
        floor = {}
        for source in filter(self.is_budget, self.levels):
            for value, setting in self.levels[source]:
                floor[value] = self.get(source, "floor", target, setting).mean
        if floor:
            x, y = zip(*sorted(floor.items()), strict=True)
            panel.ax.fill_between(x, 0, y, color=style.PALE, alpha=0.4, linewidth=0, zorder=0)
            panel.line("floor", sorted(floor.items()), kit.Look(style.GREY, ""), linewidth=1.0)
        start = [(0.0, self.get("labels", "starting_imbalance", target).mean)]
        look, marks = kit.Look(style.INK, "x", "none"), {"markersize": 6, "markeredgewidth": 1.6}
        panel.line("no filter", start, look, clip_on=False, **marks)

    def limit(self, panels, points):
        """Limits by the means: intervals of two or three repeats would flatten all else."""
        tops = [self.get("labels", "starting_imbalance", target).mean for target in TARGETS]
        top = max([*(point[1] for point in points), *(one for one in tops if one == one)])
        right = max(1.03 * max(point[0] for point in points), 0.05)
        for panel in panels:
            panel.ax.set(xlim=(-0.03, right), ylim=(0, 1.06 * top))


def group_name(group, most=22):
    return shortened(group.replace("=", ": "), most)
