"""Which filter a study is about, at which settings, for which groups: for pages and figures."""

import math

from counterweight.files.settings import setting_options
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Line, lines_of, mark_of
from counterweight.reporting.wording import setting_label

#: Limit at which methods are compared, and those that sheets show: the measured ones next to them.
MIDDLE, LEVELS = 0.2, (0.05, 0.1, 0.2, 0.4, 0.8)


def plan_of(numbers, what):
    """Of what the plan says of filters: ``group, target, given, limit``, ``swept`` by method."""
    return (numbers.plan.get("filter") or {}).get(what)


def limited(numbers, source):
    """Whether the settings of a method limit what it tells about groups."""
    return (plan_of(numbers, "swept") or {}).get(source, "") == plan_of(numbers, "limit")


def limit_of(numbers, line):
    """What a filter promises to tell about groups at most; NaN where it promises nothing."""
    options = setting_options(line.place.get("setting", ""))
    known = limited(numbers, line.source)
    return options.get(plan_of(numbers, "limit"), math.nan) if known else math.nan


def grid(numbers, source, metric="imbalance", target="test", option=None):
    """``(value, setting)`` of every setting of a method at which a metric was measured."""
    option = (plan_of(numbers, "swept") or {}).get(source, "") if option is None else option
    pairs = []
    for name in numbers.places("setting", source, metric, target):
        options = setting_options(name)
        if set(options) == set(filter(None, [option])):
            pairs.append((options.get(option, 0.0), name))
    return sorted(pairs)


def nearest(pairs, value):
    """The setting next to a value; of two the larger: a limit of 0 lets everybody pass."""
    return min(pairs, key=lambda pair: (abs(pair[0] - value), -pair[0]))[1]


def given_setting(numbers):
    """Setting of the filter that is given away: as named, or as certifying chose it."""
    return (plan_of(numbers, "given") or {}).get("setting", numbers.given_away[1])


def at_middle(numbers, source, metric="imbalance"):
    """The line of a method at one setting: as given away, or next to the limit of what is.

    A method without a limit is shown as it was trained; one without results has no setting.
    """
    given, pairs = plan_of(numbers, "given") or {}, grid(numbers, source, metric)
    value = MIDDLE if limited(numbers, source) else 0.0
    if source == given.get("method") or (value and limited(numbers, given.get("method"))):
        value = next(iter(setting_options(given_setting(numbers)).values()), value)
    place = {"setting": nearest(pairs, value)} if pairs else {}
    parts = [numbers.label(source), *map(setting_label, place.values())]
    return Line(source, ", ".join(filter(None, parts)), place, mark=mark_of(numbers, source))


def each_at_middle(numbers):
    return [at_middle(numbers, one["id"]) for one in numbers.methods()]


def at_levels(metric, promised=False):
    """Lines of each method at some settings; with `promised` only of those with a limit."""

    def lines(numbers):
        for one in numbers.methods():
            pairs, limit = grid(numbers, one["id"], metric), limited(numbers, one["id"])
            if pairs and (limit or not promised):
                chosen = {nearest(pairs, value) for value in (LEVELS if limit else (0.0, *LEVELS))}
                yield from lines_of(
                    numbers, one["id"], [name for _, name in pairs if name in chosen]
                )

    return lines


def shown_filter(numbers):
    """The line of the filter that is given away, else of the main method; None without results."""
    given = (plan_of(numbers, "given") or {}).get("method")
    for source in (given, numbers.main, *(one["id"] for one in numbers.methods())):
        if source and grid(numbers, source):
            return at_middle(numbers, source)
    return None


def groups_of(numbers):
    """``(column, name, part)`` of the groups; no column where only one is balanced."""
    several = len(plan_of(numbers, "group") or ()) > 1
    for part in numbers.places("part", "labels", "group_share", "test"):
        column, _, name = part.partition("=")
        yield (column, name, part) if several else ("", part, part)


def wanted(numbers, line):
    """Share of a group in a balanced sample: as asked for, else the same for all of its column."""
    aim, groups = plan_of(numbers, "target"), list(groups_of(numbers))
    if aim:
        return Estimate(float(aim.get(line.place["part"], 0.0)))
    mine = next(column for column, _, part in groups if part == line.place["part"])
    return Estimate(1 / sum(column == mine for column, *_ in groups))
