"""A fitted proxy tree, drawn so that a person can read each of its rules."""

import textwrap

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import model_arrays
from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.filters.levels import Filters
from counterweight.reporting.wording import (
    MINUS,
    chance_text,
    count,
    listing,
    setting_label,
    shortened,
)

CAPTION = (
    "The tree of the first repeat at one budget: at each split, what speaks for the answer yes in "
    "its weightiest linear rule. Each leaf (box, the darker the more often accepted) has its "
    "share of the training rows, and the groups whose share in it differs most from that among "
    "all, in points."
)
_LEAVES, _TERMS, _SHIFTS, _LONGEST = 14, 5, 4, 34
_INDENT, _LINE = 0.24, 0.155
_TREE = "split_tree"


def draw(study):
    known = Filters(study)
    source, setting = tree_shown(known)
    if source is None:
        return kit.blank("No tree of this study was measured.")
    selector = study.method(source)["selector"]
    path = study.folder / "selection" / f"{selector}.model.parquet"
    if not path.exists():
        return kit.blank(f"No tree to draw: {path.name} is not among the results.")
    features, names = study.folder / "features.parquet", []
    if features.exists():
        names = [name for name in study.columns(features.name) if name != "row"]
    leaves = study.places("part", source, "leaf_acceptance", "train", setting=setting)
    accepted = {
        leaf: known.get(source, "leaf_acceptance", "train", setting, part=leaf).mean
        for leaf in leaves
    }
    lines = outline(nodes_of(study, selector, setting), names, known.groups, accepted)
    title = (
        f"{study.label(source)}, {setting_label(setting)}: {count(len(leaves), 'leaf', 'leaves')}"
    )
    if leaves:
        title += f", of which {kit.span([100 * one for one in accepted.values()])} % are accepted"
    canvas = kit.Canvas([""], _laid_out(lines))
    _rows(canvas.all[0], lines)
    return canvas.drawing(
        title, "The rules of a filter as a tree, with its leaves and their groups"
    )


def tree_shown(known):
    """Method and setting: the filter that the study gives away, else the main tree near 0.2."""
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
    children, rows, base = {}, [], np.asarray(nodes[0]["shares"], float)
    for node in nodes:
        children.setdefault(node["parent"], []).append(node)
    shown = _unfolded(children)

    def walk(node):
        answer = "" if node["parent"] < 0 else "yes" if node["side"] == 1 else "no"
        place = {key: node[key] for key in ("depth", "node", "parent")}
        place |= {"answer": answer, "accepted": accepted.get(str(node["leaf"]), np.nan)}
        if node["leaf"] is not None:
            texts = _leaf_texts(node, place["accepted"], base, groups)
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
    while edge and len(shown) < _LEAVES - 1:
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


def _laid_out(lines):
    """Wrap the texts and place the rows; returns the height in inches."""
    top = 0.0
    for line in lines:
        line["x"] = _INDENT * line["depth"] * (0.5 if style.is_narrow() else 1)
        line["y"] = top + _LINE * 0.75
        room = max(24, int((style.width() - line["x"] - 0.55) / 0.0605))
        line["lines"] = [part for text in line["texts"] for part in textwrap.wrap(text, room)]
        top += _LINE * (len(line["lines"]) + 0.75)
    return top


def _rows(panel, lines):
    # Data units are inches, from the top, so that texts have known places.
    ax, places = panel.ax, {line["node"]: line for line in lines}
    ax.set(xlim=(0, style.width() - 0.1), ylim=(lines[-1]["y"] + 0.4, 0))
    ax.set_axis_off()
    style_of, box = {"fontsize": 7.5, "va": "center"}, {"marker": "s", "markersize": 6.5}
    for line in lines:
        x, y, above = line["x"] + 0.05, line["y"], places.get(line["parent"])
        if above:
            at, ys = above["x"] + 0.06, [above["y"] + 0.07, y, y]
            ax.plot([at, at, line["x"]], ys, color=style.GREY, linewidth=0.8)
            colour = style.BLUE if line["answer"] == "yes" else style.RED_TEXT
            ax.text(x, y, line["answer"], color=colour, fontweight="bold", **style_of)
            x += 0.24
        if line["kind"] == "leaf":
            panel.note("accepted", line["accepted"], line["texts"][0].partition(":")[0])
            chance = float(np.nan_to_num(line["accepted"]))
            ax.plot([x + 0.05], [y], color=style.BLUE, alpha=chance, markeredgewidth=0, **box)
            edge = {"color": style.INK, "markeredgewidth": 0.7, "markerfacecolor": "none"}
            ax.plot([x + 0.05], [y], **box, **edge)
            x += 0.17
        for place, words in enumerate(line["lines"]):
            second = line["kind"] == "folded" or (line["kind"] == "leaf" and place > 0)
            colour = style.GREY if second else style.INK
            ax.text(x, y + place * _LINE, words, color=colour, **style_of)
