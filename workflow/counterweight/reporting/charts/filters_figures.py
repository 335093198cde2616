"""Figures of balanced filters."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.reporting.charts import forms
from counterweight.reporting.pages import filters_page
from counterweight.reporting.pages.filters_page import groups_of, plan_of, wanted
from counterweight.reporting.sheets import Line
from counterweight.reporting.wording import (
    MINUS,
    chance_text,
    count,
    listing,
    number,
    setting_label,
    shortened,
    told_apart,
)
from counterweight.tables.parquet import model_arrays, numbers_of

#: Text under each figure.
CAPTION_BY_NAME = {
    "groups": (
        "Shares of the groups among all rows that were held out and among those that the filter "
        "accepts, with intervals; the red mark is the share that is wanted."
    ),
    "certificate": (
        "Bound of what a leaf of the filter tells about people with a blank group, by "
        "how many of them are asked: what one in two samples stays below if groups are like those "
        "of people who told, as planned and of a simple random sample. The dashed line is the limit "
        "that the filter keeps for people like those who told."
    ),
    "frontier": (
        "Settings that no other setting of any filter beats both in disclosivity and in "
        "imbalance (large, joined by steps), by the means over repeats; all others are faint. "
        "What is best in training need not be so on test rows."
    ),
    "heatmap": (
        "Shares of the groups (columns, in per cent) in each leaf of one filter (rows) at three "
        "budgets (those that the paper prints, where a filter has them), first repeat; the "
        "darker, the larger. Beside each leaf the share of people in it and, in brackets, their "
        "chance of being accepted. A budget of 0 has one leaf: everybody."
    ),
    "proportions": (
        "Shares of the groups among all training rows (bar) and among the accepted ones at "
        "three budgets, means with 95 % intervals over repeats; the red mark is the wanted "
        "share. Groups stand from the rarest to the largest."
    ),
    "tradeoff": (
        "Imbalance of the accepted rows against the disclosivity of the filter; a line for each "
        "filter along its settings, means with 95 % intervals over repeats (cut at the panel). "
        "No filter can be below the grey line. Below: variants of the same filters."
    ),
    "tree": (
        "The tree of the first repeat at one budget: at each split, what speaks for the answer "
        "yes in its weightiest linear rule. Each leaf (box, the darker the more often accepted) "
        "has its share of the training rows, and the groups whose share in it differs most from "
        "that among all, in points."
    ),
}


TARGETS = {"train": "Training rows", "test": "Test rows"}
#: Lines of the bound to expect, by how people are drawn.
ASKED = {"plan": ("as planned", forms.MAIN), "plain": ("a plain random sample", forms.BASELINE)}


class Filters:
    """The filters of a study that were measured.

    ``levels`` are ``(value, setting)`` of the settings of each filter with one number, in order;
    ``main`` is the filter that the study delivers, else its main one, else the first with a
    budget; ``groups`` has the column of each group.
    """

    def __init__(self, study):
        self.study, self.levels = study, {}
        self.given = plan_of(study, "given")
        for source in study.sources:
            for target in TARGETS:
                settings = study.settings(source, "imbalance", target)
                pairs = [(*numbers_of(setting).values(), setting) for setting in settings]
                if known := sorted(pair for pair in pairs if len(pair) == 2):
                    self.levels.setdefault(source, known)
        named = [name for name in (self.given.get("method"), study.main) if name in self.levels]
        budgets = [name for name in self.levels if self.is_budget(name)]
        self.main = next(iter([*named, *budgets, *self.levels]), None)
        self.groups = {part: column for column, _, part in groups_of(study)}

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

    def wanted(self, group):
        """Share of a group in a balanced sample, in per cent."""
        return 100 * wanted(self.study, Line("", "", {"part": group})).mean

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
            panel.band(x, 0, y, forms.PALE, 0.4)
            panel.line("floor", sorted(floor.items()), forms.Look(forms.GREY, ""), linewidth=1.0)
        start = [(0.0, self.get("labels", "starting_imbalance", target).mean)]
        look, marks = forms.Look(forms.INK, "x", "none"), {"markersize": 6, "markeredgewidth": 1.6}
        panel.line("no filter", start, look, clip_on=False, **marks)

    def limit(self, panels, points):
        """Limits by the means: intervals of two or three repeats would flatten all else."""
        tops = [self.get("labels", "starting_imbalance", target).mean for target in TARGETS]
        top = max([*(point[1] for point in points), *(one for one in tops if one == one)])
        right = max(1.03 * max(point[0] for point in points), 0.05)
        for panel in panels:
            panel.ax.set(xlim=(-0.03, right), ylim=(0, 1.06 * top))


def group_name(group):
    return group.replace("=", ": ")


def draw_frontier(study):
    """Pareto fronts of all filters: the least imbalance that each disclosivity buys."""
    known, shown, points = Filters(study), forms.looks(study), {}
    if not known.levels:
        return forms.blank("No filter of this study was measured.")
    shared = {"sharex": True, "sharey": True}
    titles = list(TARGETS.values())
    canvas = forms.Canvas(titles, 3.2, "Disclosivity", "Imbalance", grid="both", **shared)
    best = {}
    for panel, target in zip(canvas.all, TARGETS, strict=True):
        known.ground(panel, target)
        for source in known.levels:
            for across, up, setting in known.points(source, target):
                points[target, source, setting] = across.mean, up.mean
        front = front_of(point for key, point in points.items() if key[0] == target)
        best[target] = {k[1:] for k, point in points.items() if k[0] == target and point in front}
        for source in known.levels:
            own = [point for key, point in points.items() if key[:2] == (target, source)]
            look, name = shown[source]._replace(dash="none"), study.label(source)
            rest = [point for point in own if point not in front]
            faint = {"markersize": 3, "alpha": 0.25, "markeredgewidth": 0}
            panel.line(f"{name}: beaten", rest, look, key=False, **faint)
            top = [point for point in own if point in front]
            panel.line(name, top, look, markersize=5.5, zorder=4)
        if front:
            panel.ax.step(*zip(*front, strict=True), where="post", color=forms.INK, linewidth=0.8)
            panel.key("best of all", forms.Look(forms.INK, ""))
    known.limit(canvas.all, list(points.values()))
    both = len(best["train"] & best["test"])
    title = f"Of {len(best['train'])} settings best in training, {both} are best on test rows"
    return canvas.drawing(title, "Settings of all filters, those that none beats marked")


def front_of(points):
    """Points that no other beats in both coordinates, of which less is better."""
    front = []
    for x, y in sorted(set(points)):
        if not front or y < front[-1][1]:
            front.append((x, y))
    return front


#: Of Figure 4.
_BUDGETS, _LEAVES = (0.0, 0.82, 0.97), 16


def draw_heatmap(study):
    """Shares of the groups in each leaf of a filter's proxy."""
    known = Filters(study)
    printed = [name for name in known.levels if {*_BUDGETS} <= {at for at, _ in known.levels[name]}]
    source = next(iter(printed), known.main)
    settings = known.nearest(source, _BUDGETS) if source else []
    maps = {setting: leaves_of(known, source, setting) for setting in settings}
    maps = {setting_label(setting): table for setting, table in maps.items() if table[0]}
    if not maps:
        return forms.blank("No leaves of this study were measured.")
    titles = []
    for label, (leaves, *_) in maps.items():
        more = f"; the {_LEAVES} largest are shown" if len(leaves) > _LEAVES else ""
        titles.append([f"{label}: {_counted(leaves)}{more}"])
    heights = [0.45 + 0.24 * min(len(table[0]), _LEAVES) for table in maps.values()]
    heights[-1] += 0.9
    canvas = forms.Canvas(titles, heights, sharex=True)
    narrow = forms.is_narrow()
    heads = told_apart([group_name(one) for one in known.groups], 14 if narrow else 22)
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
    said = f"{_counted(leaves)}, of which {forms.span(100 * accepted)} % are accepted"
    title = f"{study.label(source)}, {label}: {said}"
    return canvas.drawing(title, "Shares of groups in each leaf of a filter at three budgets")


def leaves_of(known, source, setting):
    """Numbers, shares (leaves, groups), mass and acceptance of the leaves of a setting, by mass."""
    for target in TARGETS:
        leaves = known.study.places("part", source, "leaf_mass", target, setting=setting)
        if leaves:
            break

    def values(metric, **place):
        found = [known.get(source, metric, target, setting, part=leaf, **place) for leaf in leaves]
        return np.array([one.mean for one in found])

    shares = np.array([values("leaf_share", variable=group) for group in known.groups]).T
    order = np.argsort(-values("leaf_mass"), kind="stable")
    columns = (values("leaf_mass")[order], values("leaf_acceptance")[order])
    return [leaves[k] for k in order], shares[order] if leaves else shares, *columns


_BUDGETS_PROPORTIONS = (0.0, 0.1, 0.2)
_WANTED, _MARK = forms.Look(forms.RED, "|", "none"), {"markersize": 11, "markeredgewidth": 1.4}


def draw_proportions(study):
    """Shares of the groups before and after filtering."""
    known = Filters(study)
    if known.main is None or not known.groups:
        return forms.blank("No filter of this study was measured.")
    source, settings = known.main, known.nearest(known.main, _BUDGETS_PROPORTIONS)
    before = {
        g: 100 * known.get("labels", "group_share", "train", part=g).mean for g in known.groups
    }
    order = sorted(known.groups, key=lambda group: (known.groups[group], before[group]))
    titles = [f"Accepted, {setting_label(setting)}" for setting in settings]
    shared, height = {"sharex": True, "sharey": True}, 1.1 * forms.row_height(len(order))
    canvas = forms.Canvas(titles, height, "Share, %", **shared)
    canvas.rows(told_apart([group_name(group) for group in order], 22))
    for panel, setting in zip(canvas.all, settings, strict=True):
        bars = [before[group] for group in order]
        panel.bars("all rows", range(len(order)), bars, forms.PALE, 0.5, rows=True)
        for place, group in enumerate(order):
            panel.dot(place, "wanted", known.wanted(group), _WANTED, key=True, **_MARK)
            for target, shift in (("train", -0.16), ("test", 0.16)):
                after = known.get(source, "group_share", target, setting, part=group).times(100)
                look, name = forms.MAIN._replace(hollow=target == "train"), forms.TARGETS[target]
                panel.dot(place + shift, f"accepted, {name}", after, look, key=True, zorder=3)
    canvas.all[0].ax.set_xlim(0, 1.12 * max(*before.values(), *map(known.wanted, order)))
    rarest = min(order, key=before.get)
    after = known.get(source, "group_share", "test", settings[-1], part=rarest).times(100)
    title = (
        f"{group_name(rarest)}: from {before[rarest]:.1f} % to "
        f"{forms.told(after, places=1, unit='%')} at {setting_label(settings[-1])}; wanted "
        f"{known.wanted(rarest):.1f} %"
    )
    return canvas.drawing(title, "Shares of groups before and after filtering at three budgets")


_SHOWN = 0.2


def draw_tradeoff(study):
    """Disclosivity against imbalance, a line for each filter along its settings."""
    known, shown = Filters(study), forms.looks(study)
    if not known.levels:
        return forms.blank("No filter of this study was measured.")
    # The first filter of each kind of proxy and acceptance; then variants, after their first.
    kinds, alike = {one["id"]: one["selector"] for one in study.plan["selectors"]}, {}
    for source in known.levels:
        method = study.method(source)
        alike.setdefault((kinds.get(method["selector"]), method["weights"]), []).append(source)
    variants = [source for one in alike.values() if len(one) > 1 for source in one]
    sets = [[one[0] for one in alike.values()]] + [variants] * bool(variants)
    titles = [
        [title + ", variants" * row for title in TARGETS.values()] for row in range(len(sets))
    ]
    shared = {"sharex": "row", "sharey": "row"}
    canvas = forms.Canvas(titles, 2.7, "Disclosivity", "Imbalance", grid="both", **shared)
    for row, sources in zip(canvas.panels, sets, strict=True):
        points = []
        for panel, target in zip(row, TARGETS, strict=True):
            known.ground(panel, target)
            for source in sources:
                # Along the grid of budgets the same tree may come again and again.
                line = {(x.mean, y.mean): (x, y) for x, y, _ in known.points(source, target)}
                some = max(1, -(-len(line) // 14))  # marks and intervals of all would touch
                crosses = [
                    cross
                    for x, y in list(line.values())[::some]
                    for cross in ((x.mean, y.low, x.mean, y.high), (x.low, y.mean, x.high, y.mean))
                ]
                faint = {"linewidth": 0.7, "alpha": 0.4}
                panel.strokes(np.reshape(crosses, (-1, 4)), shown[source].colour, **faint)
                means = [forms.point(x.mean, y) for x, y in line.values()]
                marks = {"bars": False, "markevery": some}
                panel.line(study.label(source), means, shown[source], **marks)
                points += line
        known.limit(row, points)
    setting = known.nearest(known.main, (_SHOWN,))[0]
    start = known.get("labels", "starting_imbalance", "test").mean
    end = forms.told(known.get(known.main, "imbalance", "test", setting), places=2)
    moved = f"imbalance from {start:.2f} to {end} on test rows"
    title = f"{study.label(known.main)}, {setting_label(setting)}: {moved}"
    return canvas.drawing(title, "Imbalance against disclosivity by filter, training and test rows")


_LEAVES_TREE, _TERMS, _SHIFTS, _LONGEST = 14, 5, 4, 34
_TREE = "split_tree"


def draw_tree(study):
    """A fitted proxy tree, drawn so that a person can read each of its rules."""
    from counterweight.selection.split_tree import SplitTreeProxy

    known = Filters(study)
    source, setting = tree_shown(known)
    if source is None:
        return forms.blank("No tree of this study was measured.")
    selector = study.method(source)["selector"]
    path = study.folder / "selection" / f"{selector}.model.parquet"
    if not path.exists():
        return forms.blank(f"No tree to draw: {path.name} is not among the results.")
    table = study.table(f"selection/{path.name}")
    rows = table[table["repeat"] == 0]
    if rows.empty:
        raise CounterweightError(f"The proxies of {selector} have no repeat 0: make them again.")
    nodes = SplitTreeProxy.from_arrays(model_arrays(rows)).rules(setting, terms=_TERMS)
    there = (study.folder / "features.parquet").exists()
    names = [name for name in study.columns("features.parquet") if name != "row"] if there else []
    leaves = study.places("part", source, "leaf_acceptance", "train", setting=setting)
    accepted = {
        leaf: known.get(source, "leaf_acceptance", "train", setting, part=leaf).mean
        for leaf in leaves
    }
    lines = outline(nodes, names, list(known.groups), accepted)
    title = f"{study.label(source)}, {setting_label(setting)}: {_counted(leaves)}"
    if leaves:
        title += f", of which {forms.span([100 * one for one in accepted.values()])} % are accepted"
    canvas = forms.Canvas([""], forms.tree_height(lines))
    canvas.all[0].tree(lines, "accepted")
    return canvas.drawing(
        title, "The rules of a filter as a tree, with its leaves and their groups"
    )


def _counted(leaves):
    return count(len(leaves), "leaf", "leaves")


def tree_shown(known):
    """Method and setting: the filter that the study delivers, else the main tree near 0.2."""
    kinds = {one["id"]: one["selector"] for one in known.study.plan["selectors"]}
    kind = {name: kinds[known.study.method(name)["selector"]] for name in known.levels}
    trees = [name for name in kind if kind[name] == _TREE]
    source = known.main if known.main in trees else next(iter(trees), None)
    if source is None:
        return None, None
    given = known.given.get("setting") if known.given.get("method") == source else None
    if given in [setting for _, setting in known.levels[source]]:
        return source, given
    return source, known.nearest(source, (0.2,))[0]


def outline(nodes, features, groups, accepted):
    """Rows of the drawing, from the root on, depth first; the smallest branches are folded.

    `nodes` are those of `SplitTreeProxy.rules`, `accepted` the chance of acceptance by number of
    the leaf. A row has ``depth``, ``answer`` (yes, no or empty), ``kind`` (split, leaf, folded),
    ``texts``, ``share`` (that is accepted), ``node``, ``parent``.
    """
    children, rows, base = {}, [], np.asarray(nodes[0]["shares"], float)
    for node in nodes:
        children.setdefault(node["parent"], []).append(node)
    shown = _unfolded(children)

    def walk(node):
        answer = "" if node["parent"] < 0 else "yes" if node["side"] == 1 else "no"
        place = {key: node[key] for key in ("depth", "node", "parent")}
        place |= {"answer": answer, "share": accepted.get(str(node["leaf"]), np.nan)}
        if node["leaf"] is not None:
            texts = _leaf_texts(node, place["share"], base, groups)
            rows.append(place | {"kind": "leaf", "texts": texts})
        elif node["node"] in shown:
            rows.append(place | {"kind": "split", "texts": [_split_text(node, features)]})
            for child in sorted(children[node["node"]], key=lambda one: -one["side"]):
                walk(child)
        else:
            text = f"{_leaves_below(node, children)} more leaves with {100 * node['mass']:.1f} %"
            rows.append(place | {"kind": "folded", "texts": [f"{text} of people"]})

    walk(nodes[0])
    return rows


def _leaves_below(node, children):
    if node["leaf"] is not None:
        return 1
    return sum(_leaves_below(child, children) for child in children[node["node"]])


def _unfolded(children):
    """Numbers of the splits that are drawn: the largest ones, from the root on."""
    shown, edge = set(), [one for one in children[-1] if one["leaf"] is None]
    while edge and len(shown) < _LEAVES_TREE - 1:
        node = max(edge, key=lambda one: (one["mass"], -one["node"]))
        edge.remove(node)
        shown.add(node["node"])
        edge += [child for child in children[node["node"]] if child["leaf"] is None]
    return shown


def _split_text(node, features):
    """``high age; low duration; housing=yes; not job=student?`` from signs of coefficients."""
    words = {"high": [], "low": [], "": [], "not": []}
    for index, coefficient in node["terms"][:_TERMS]:
        name = features[index] if index < len(features) else f"feature {index}"
        flag, up = "=" in name, coefficient > 0
        word = ("" if up else "not") if flag else ("high" if up else "low")
        words[word].append(shortened(name.replace("_", " "), _LONGEST))
    parts = [f"{word} {', '.join(names)}".strip() for word, names in words.items() if names]
    rules = len(node["hypotheses"])
    mixed = "" if rules == 1 else f" ({rules} rules mixed)"
    return ("; ".join(parts) or "by chance") + "?" + mixed


def _leaf_texts(node, chance, base, groups):
    shift = 100 * (np.asarray(node["shares"], float) - base)
    order = [k for k in np.argsort(-np.abs(shift), kind="stable")[:_SHIFTS] if abs(shift[k]) > 0.05]
    first = f"Leaf {node['leaf']}: {100 * node['mass']:.1f} % of people"
    first += "" if np.isnan(chance) else f", accepted {chance_text(chance)}"
    signs = {k: "+" if shift[k] > 0 else MINUS for k in order}
    names = {k: groups[k].replace("=", ": ") if k < len(groups) else f"group {k}" for k in order}
    told = [f"{names[k]} {signs[k]}{abs(shift[k]):.1f}" for k in order]
    return [first, listing(told) if told else "shares as among all"]


def draw_groups(study):
    """Shares of groups among all, among the accepted, and as wanted, by the delivered filter."""
    about, known = filters_page.shown_filter(study), []
    for line in filters_page.group_lines(study):
        part = line.place["part"]
        first = study.get("labels", "group_share", "test", part=part)
        after = study.get(line.source, "group_share", "test", **about.place | line.place)
        # The same of the filter that is delivered, with intervals; none where counts have noise.
        own = [filters_page.held_out(study, f"share_{when}", part) for when in ("before", "after")]
        first, after = (
            new if new.known else old for new, old in zip(own, (first, after), strict=True)
        )
        first, after = first.times(100), after.times(100)
        wanted = 100 * filters_page.wanted(study, line).mean
        known.append((first.mean, part.replace("=", ": "), first, after, wanted))
    every = sorted(known, key=lambda one: one[0])
    known = every[: forms.MOST_ROWS]
    if not known:
        return forms.blank("No filter of this study was measured.")
    names = [name for _, name, *_ in known]
    canvas, panel = forms.one_panel(names, "Share of the people, %", 2)
    for place, (_, _, first, after, wanted) in enumerate(known):
        panel.link(place, (first.mean, after.mean))
        panel.dot(place - 0.1, "among all", first, forms.BOUND, key=True)
        panel.dot(place + 0.1, "accepted", after, forms.MAIN, key=True)
        panel.dot(place, "wanted", wanted, _WANTED, key=True, markersize=10)
    panel.dots.clear()  # all shares on one scale: none is too far off to be drawn
    panel.ax.set_xlim(left=0)
    _, name, first, after, wanted = known[0]
    title = f"{name}: {first.mean:.1f} % of all, {after.mean:.1f} % of the accepted"
    title += f"; wanted {wanted:.1f} %{forms.of_all(every)}"
    return canvas.drawing(title, "Shares of groups before and after")


def draw_certificate(study):
    """The bound to expect by how many people are asked, and the one that came of those asked."""
    source, target, metric = "collect", "unlabeled", "expected_disclosivity"
    budgets = study.places("part", source, metric, target)
    if not budgets:
        return forms.blank("Nobody's group is asked for in this study.")
    words, _ = forms.axis_of(study.measure(metric))
    canvas = forms.Canvas(["The bound to expect"], 2.6, "People asked in all", words)
    panel = canvas.all[0]
    for variable, (name, look) in ASKED.items():
        points = [
            (float(at), study.get(source, metric, target, part=at, variable=variable).mean)
            for at in budgets
        ]
        panel.line(name, points, look, bars=False)
    budget = study.get(source, "labels_budget", target).mean
    panel.upright(budget, forms.Look(forms.INK, "", forms.DOTTED), "the plan")
    given = plan_of(study, "given")
    alpha = (given.get("certified") or given.get("chosen") or {}).get("alpha")
    if alpha is not None:
        ends = [(float(at), alpha) for at in (budgets[0], budgets[-1])]
        panel.line("limit", ends, forms.LIMIT, bars=False)
    found = study.get(source, "collected_at_most", target)
    if found.known:
        bought, refused, waiting = (
            study.get(source, f"labels_{name}", target).mean
            for name in ("bought", "refused", "waiting")
        )
        at = bought + refused
        look = forms.Look(forms.RED, "X", "none")
        panel.line("reached", [(at, found.mean)], look, bars=False, markersize=7)
    panel.ax.set_xlim(left=0)
    panel.ax.set_ylim(bottom=0)
    count = number(study.get(source, "labels_planned", target).mean, 0)
    planned = number(study.get(source, "planned_disclosivity", target).mean, 3)
    title = f"With {count} people asked the bound is expected to be {planned}"
    if found.known:
        title = f"With {number(at, 0)} people asked the bound is {number(found.mean, 3)}"
        title += f"; with all {count} {planned} is expected" * bool(waiting)
    return canvas.drawing(
        title, "Expected bound of what the filter tells, by number of people asked"
    )
