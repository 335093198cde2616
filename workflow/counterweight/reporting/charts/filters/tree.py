"""A fitted proxy tree, drawn so that a person can read each of its rules."""

import textwrap

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import model_arrays
from counterweight.reporting.charts import style
from counterweight.reporting.charts.canvas import Canvas
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.filters.levels import (
    groups_of,
    levels,
    main_filter,
    measured,
    nearest,
)
from counterweight.reporting.charts.words import shortened, span
from counterweight.reporting.wording import MINUS, chance_text, count, listing, setting_label

CAPTION = (
    "The tree of the first repeat at one budget. At each split, what speaks for the answer yes in "
    "its weightiest linear rule; where several rules are mixed, people go down a branch by chance. "
    "Each leaf (box, the darker the more often accepted) has its share of "
    "the training rows, the chance of being accepted, and the groups whose share in it differs "
    "most from that among all, in percentage points."
)
_LEAVES, _TERMS, _SHIFTS = 14, 5, 4
_INDENT, _LINE = 0.24, 0.155
_LONGEST = 34


def draw(study):
    source, setting = tree_shown(study)
    if source is None:
        return blank("No tree of this study was measured.")
    selector = study.method(source)["selector"]
    path = study.folder / "selection" / f"{selector}.model.parquet"
    if not path.exists():
        return blank(f"No tree to draw: {path.name} is not among the results.")
    nodes = nodes_of(study, selector, setting)
    accepted = {
        leaf: study.get(source, "leaf_acceptance", "train", setting=setting, part=leaf).mean
        for leaf in study.places("part", source, "leaf_acceptance", "train", setting=setting)
    }
    lines = outline(nodes, features_of(study), groups_of(study), accepted)
    leaves = sum(node["leaf"] is not None for node in nodes)
    chances = [100 * chance for chance in accepted.values()]
    title = f"{study.label(source)}, {setting_label(setting)}: {count(leaves, 'leaf', 'leaves')}"
    if chances:
        title += f", of which {span(chances, 0)} % are accepted"
    return _drawn(lines, title)


def tree_shown(study):
    """Method and setting: the filter that the study gives away, else the main one near 0.2."""
    kinds = {one["id"]: one["selector"] for one in study.plan["selectors"]}
    trees = [s for s in measured(study) if kinds[study.method(s)["selector"]] == "split_tree"]
    source = main_filter(study, trees)
    source = source if source in trees else next(iter(trees), None)
    if source is None:
        return None, None
    given = (study.plan.get("filter") or {}).get("given") or {}
    known = [setting for _, setting in levels(study, source)]
    if given.get("method") == source and given.get("setting") in known:
        return source, given["setting"]
    return source, nearest(study, source, (0.2,))[0]


def nodes_of(study, selector, setting, repeat=0):
    """Nodes of one tree, as `SplitTreeProxy.rules` has them."""
    from counterweight.selection.proxies.split_tree import SplitTreeProxy

    table = study.table(f"selection/{selector}.model.parquet")
    rows = table[table["repeat"] == repeat]
    if rows.empty:
        raise CounterweightError(
            f"The proxies of {selector} have no repeat {repeat}: make them again."
        )
    return SplitTreeProxy.from_arrays(model_arrays(rows)).rules(setting, terms=_TERMS)


def features_of(study):
    """Names of the features in the order of their table; empty where it is not there."""
    if not (study.folder / "features.parquet").exists():
        return []
    return [name for name in study.columns("features.parquet") if name != "row"]


def outline(nodes, features, groups, accepted):
    """Rows of the drawing, the tree from the root on, depth first.

    Of a tree of more than 14 leaves the smallest branches are folded.

    Parameters
    ----------
    nodes : list of dict
        See `SplitTreeProxy.rules`.
    features, groups : list of str
    accepted : dict of str to float
        Chance of acceptance by number of the leaf.

    Returns
    -------
    list of dict
        ``depth``, ``answer`` (yes, no or empty), ``kind`` (split, leaf, folded), ``texts``,
        ``accepted``, ``node``, ``parent``.
    """
    children = {}
    for node in nodes:
        children.setdefault(node["parent"], []).append(node)
    shown = _unfolded(children)
    base, rows = np.asarray(nodes[0]["shares"], float), []

    def walk(node):
        place = {
            "depth": node["depth"],
            "node": node["node"],
            "parent": node["parent"],
            "answer": "" if node["parent"] < 0 else "yes" if node["side"] == 1 else "no",
            "accepted": np.nan,
        }
        if node["leaf"] is not None:
            chance = accepted.get(str(node["leaf"]), np.nan)
            texts = _leaf_texts(node, chance, base, groups)
            rows.append(place | {"kind": "leaf", "accepted": chance, "texts": texts})
        elif node["node"] in shown:
            rows.append(place | {"kind": "split", "texts": [_split_text(node, features)]})
            for child in sorted(children[node["node"]], key=lambda one: -one["side"]):
                walk(child)
        else:
            more = sum(one["leaf"] is not None for one in _below(node, children))
            text = f"{more} more leaves with {100 * node['mass']:.1f} % of people"
            rows.append(place | {"kind": "folded", "texts": [text]})

    walk(nodes[0])
    return rows


def _below(node, children):
    below = [node]
    for child in children.get(node["node"], ()):
        below += _below(child, children)
    return below


def _unfolded(children):
    """Numbers of the splits that are drawn: the largest ones, from the root on."""
    root = children[-1][0]
    shown, edge = set(), [root] if root["leaf"] is None else []
    while edge and len(shown) < _LEAVES - 1:
        node = max(edge, key=lambda one: (one["mass"], -one["node"]))
        edge.remove(node)
        shown.add(node["node"])
        edge += [child for child in children[node["node"]] if child["leaf"] is None]
    return shown


def _split_text(node, features):
    """``high age; low duration; housing=yes; not job=student?`` from signs of coefficients."""
    words = {"high": [], "low": [], "": [], "not": []}
    for number, coefficient in node["terms"][:_TERMS]:
        name = features[number] if number < len(features) else f"feature {number}"
        flag = "=" in name
        word = ("" if flag else "high") if coefficient > 0 else ("not" if flag else "low")
        words[word].append(shortened(name.replace("_", " "), _LONGEST))
    parts = [f"{word} {', '.join(names)}".strip() for word, names in words.items() if names]
    text = f"{'; '.join(parts)}?" if parts else "by chance?"
    rules = len(node["hypotheses"])
    return text if rules == 1 else f"{text} ({rules} rules mixed)"


def _leaf_texts(node, chance, base, groups):
    shift = 100 * (np.asarray(node["shares"], float) - base)
    order = [k for k in np.argsort(-np.abs(shift), kind="stable")[:_SHIFTS] if abs(shift[k]) > 0.05]
    first = f"Leaf {node['leaf']}: {100 * node['mass']:.1f} % of people"
    if not np.isnan(chance):
        first += f", accepted {chance_text(chance)}"
    told = [
        f"{_group(groups, k)} {'+' if shift[k] > 0 else MINUS}{abs(shift[k]):.1f}" for k in order
    ]
    return [first, listing(told) if told else "shares as among all"]


def _group(groups, k):
    return groups[k].replace("=", ": ") if k < len(groups) else f"group {k}"


def _drawn(lines, title):
    canvas = Canvas(1, 1, _laid_out(lines), room=0.1)
    panel = canvas.first
    # Data units are inches, from the top, so that texts have known places.
    panel.ax.set(xlim=(0, style.width() - 0.1), ylim=(lines[-1]["bottom"], 0))
    panel.ax.set_axis_off()
    places = {line["node"]: line for line in lines}
    for line in lines:
        above = places.get(line["parent"])
        if above:
            at, x, y = above["x"] + 0.06, line["x"], line["y"]
            panel.ax.plot([at, at, x], [above["y"] + 0.07, y, y], color=style.GREY, linewidth=0.8)
        _row(panel, line)
    return canvas.drawing(title, "The rules of a filter as a tree, with its leaves and their groups")


def _laid_out(lines):
    """Wrap the texts and place the rows; returns the height in inches."""
    top, indent = 0.0, _INDENT * (0.5 if style.is_narrow() else 1)
    for line in lines:
        line["x"], line["y"] = indent * line["depth"], top + _LINE * 0.75
        room = max(24, int((style.width() - line["x"] - 0.55) / 0.0605))
        line["lines"] = [part for text in line["texts"] for part in textwrap.wrap(text, room)]
        top += _LINE * (len(line["lines"]) + 0.75)
        line["bottom"] = top
    return top + 0.1


def _row(panel, line):
    ax, x, y = panel.ax, line["x"] + 0.05, line["y"]
    text = {"fontsize": 7.5, "va": "center"}
    if line["answer"]:
        colour = style.BLUE if line["answer"] == "yes" else style.text_colour(style.RED)
        ax.text(x, y, line["answer"], color=colour, fontweight="bold", **text)
        x += 0.24
    if line["kind"] == "leaf":
        chance = float(np.nan_to_num(line["accepted"]))
        box = {"linestyle": "none", "marker": "s", "markersize": 6.5}
        ax.plot([x + 0.05], [y], color=style.BLUE, markeredgewidth=0, alpha=chance, **box)
        ax.plot([x + 0.05], [y], color="none", markeredgecolor=style.INK, markeredgewidth=0.7, **box)
        panel.note("accepted", line["accepted"], line["texts"][0].partition(":")[0])
        x += 0.17
    for place, words in enumerate(line["lines"]):
        second = line["kind"] == "folded" or (line["kind"] == "leaf" and place > 0)
        ax.text(x, y + place * _LINE, words, color=style.GREY if second else style.INK, **text)
