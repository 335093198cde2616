"""A fitted proxy tree, drawn so that a person can read each of its rules."""

import textwrap

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import model_arrays
from counterweight.reporting.filters.tables import FilterResults, main_method, methods_of
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import MINUS, chance_text, listing, setting_label

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
    """One tree as an outline, a row for each split and leaf.

    Reads the proxy from ``selection/{selector}.model.parquet`` and the names of the features from
    ``features.parquet``, both in the study's folder.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``filter``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    results = FilterResults(study.metrics, study.plan)
    name, setting = tree_shown(results)
    if name is None:
        return style.blank("No tree of this study was measured.")
    selector = next(one["selector"] for one in study.plan["methods"] if one["id"] == name)
    path = study.folder / "selection" / f"{selector}.model.parquet"
    if not path.exists():
        return style.blank(f"No tree to draw: {path.name} is not among the results.")
    nodes = nodes_of(study, selector, setting)
    accepted = {
        leaf: results.get(name, "leaf_acceptance", "train", setting, leaf).mean
        for leaf in results.parts(name, "leaf_acceptance", "train", setting)
    }
    lines = outline(nodes, features_of(study), results.groups(), accepted)
    label = dict(methods_of(results.plan))[name]
    return _drawn(lines, f"{label}, {setting_label(setting)}")


def tree_shown(results):
    """Method and setting: the filter that the study gives away, else the main one near 0.2."""
    given = (results.plan.get("filter") or {}).get("given") or {}
    name = main_method(results, given.get("method"), "alpha_beta", "relaxed")
    if name is None or results.option(name) != "alpha":
        return None, None
    known = [setting for _, setting in results.settings(name)]
    if given.get("method") == name and given.get("setting") in known:
        return name, given["setting"]
    return name, results.at(name, 0.2)


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
            count = sum(one["leaf"] is not None for one in _below(node, children))
            text = f"{count} more leaves with {100 * node['mass']:.1f} % of people"
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


def _short(name):
    text = name.replace("_", " ")
    return text if len(text) <= _LONGEST else text[: _LONGEST - 9] + "…" + text[-8:]


def _split_text(node, features):
    """``high age; low duration; housing=yes; not job=student?`` from signs of coefficients."""
    words = {"high": [], "low": [], "": [], "not": []}
    for number, coefficient in node["terms"][:_TERMS]:
        name = features[number] if number < len(features) else f"feature {number}"
        flag = "=" in name
        word = ("" if flag else "high") if coefficient > 0 else ("not" if flag else "low")
        words[word].append(_short(name))
    parts = [f"{word} {', '.join(names)}".strip() for word, names in words.items() if names]
    text = f"{'; '.join(parts)}?" if parts else "by chance?"
    count = len(node["hypotheses"])
    return text if count == 1 else f"{text} ({count} rules mixed)"


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
    for line in lines:
        room = max(24, int(104 - 4.2 * line["depth"]))
        line["lines"] = [part for text in line["texts"] for part in textwrap.wrap(text, room)]
    heights = [_LINE * (len(line["lines"]) + 0.75) for line in lines]
    total = sum(heights) + 0.35
    with style.look():
        figure, axes = style.panels(1, 1, height=total)
        ax = axes[0, 0]
        # Data units are inches, from the top, so that texts have known places.
        ax.set(xlim=(0, style.WIDTH - 0.2), ylim=(total - 0.3, 0))
        ax.set_axis_off()
        ax.set_title(title)
        places, top = {}, 0.0
        for line, height in zip(lines, heights, strict=True):
            x, y = _INDENT * line["depth"], top + _LINE * 0.75
            places[line["node"]] = (x, y)
            _branch(ax, line, places, x, y)
            _row(ax, line, x, y)
            top += height
    return figure


def _branch(ax, line, places, x, y):
    if line["parent"] not in places:
        return
    from_x, from_y = places[line["parent"]]
    at = from_x + 0.06
    ax.plot([at, at, x], [from_y + 0.07, y, y], color=style.GREY, linewidth=0.8)


def _row(ax, line, x, y):
    start = x + 0.05
    if line["answer"]:
        colour = style.BLUE if line["answer"] == "yes" else style.RED
        ax.text(
            start, y, line["answer"], color=colour, fontsize=7.5, va="center", fontweight="bold"
        )
        start += 0.24
    if line["kind"] == "leaf":
        chance = 0.0 if np.isnan(line["accepted"]) else line["accepted"]
        face = 1 - chance * (1 - np.array([0.0, 0.447, 0.698]))
        ax.plot(
            [start + 0.05],
            [y],
            "s",
            color=tuple(face),
            markeredgecolor=style.INK,
            markeredgewidth=0.7,
            markersize=6.5,
        )
        start += 0.17
    for place, text in enumerate(line["lines"]):
        second = line["kind"] == "folded" or (line["kind"] == "leaf" and place > 0)
        ax.text(
            start,
            y + place * _LINE,
            text,
            fontsize=7.5,
            va="center",
            color=style.GREY if second else style.INK,
        )
