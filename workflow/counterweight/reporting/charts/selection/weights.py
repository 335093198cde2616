"""What the importance weights do: effective size, largest weight, balance of the features."""

import numpy as np
from matplotlib.ticker import LogLocator

from counterweight.reporting.charts.canvas import MAIN, Canvas, Look, row_height
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import BLUE, GREY
from counterweight.reporting.charts.words import shortened, span, target_name

CAPTION = (
    "The share of labeled rows that the weights leave in effect, how large they grow (hollow: "
    "before the cap), and how far each feature's mean over labeled rows is from its target mean, "
    "before (hollow) and after weighting; inside the band it is below 0.1 standard deviations."
)
_SHOWN, _CLOSE = 14, 0.1
_AWAY = "Difference from the target mean, standard deviations"
_BEFORE = Look(GREY, "o", hollow=True)


def draw(study):
    weightings = [
        one["id"]
        for one in study.plan["weightings"]
        if len(study.rows(one["id"], "effective_sample_size"))
    ]
    if not weightings:
        return blank("No weights of this study were measured.")
    kinds = {one["id"]: (one["weighting"], one["target"]) for one in study.plan["weightings"]}
    # Of each kind the first: the one that models use unless told otherwise.
    first = {kinds[name][0]: name for name in reversed(weightings)}
    shown = [name for name in weightings if name in first.values()]
    features = _features(study, shown)
    heights = [row_height(len(weightings)), row_height(len(features))]
    canvas = Canvas(2, [2, len(shown)], heights, sharey="row")
    upper, lower = canvas.panels
    canvas.rows([study.label(name) for name in weightings], upper)
    canvas.rows([shortened(name.replace("_", " "), 30) for name in features], lower)
    shares = _sizes(*upper, study, weightings)
    inside = []
    for panel, name in zip(lower, shown, strict=True):
        panel.title(f"{study.label(name)}, for {target_name(kinds[name][1])}", _AWAY)
        inside.append(_balance(panel, study, name, features))
    canvas.label(_AWAY)
    title = f"Weights leave {span(shares, 0)} % of the labeled rows in effect"
    if features:
        title += f"; {span(inside, 0)} of {len(features)} features end balanced"
    return canvas.drawing(title, "Effective rows, largest weight and balance of features by weighting")


def _features(study, weightings):
    """Features by their imbalance before weighting, worst first, at most 14."""
    worst = {}
    for name in weightings:
        for feature, value in study.means_by("part", name, "balance_before").items():
            worst[feature] = max(worst.get(feature, 0.0), abs(value))
    return sorted(worst, key=lambda feature: (-worst[feature], feature))[:_SHOWN]


def _sizes(left, right, study, weightings):
    """Effective shares and largest weights; returns the shares."""
    left.title("Effective share of labeled rows, %", "%")
    right.title("Largest weight (hollow: before the cap)", "weight")
    shares = []
    for place, name in enumerate(weightings):
        size = study.rows(name, "effective_sample_size")
        share = 100 * (size["value"] / size["rows"].where(size["rows"] > 0)).mean()
        shares.append(float(share))
        left.bar(place, "effective share", share, BLUE, height=0.5)
        left.ax.text(share + 1.5, place, f"{share:.0f}", va="center", fontsize=7.5)
        largest = study.rows(name, "largest_weight")["value"].mean()
        uncapped = study.rows(name, "largest_uncapped")["value"].mean()
        if np.isfinite(uncapped) and uncapped > largest:
            right.link(place, [largest, uncapped])
            right.dot(place, "before the cap", (uncapped, np.nan, np.nan), MAIN._replace(hollow=True))
        right.dot(place, "largest weight", (largest, np.nan, np.nan), MAIN)
    left.ax.set(xlim=(0, 112), xticks=[0, 25, 50, 75, 100])
    right.ax.set_xscale("log")
    right.ax.margins(x=0.12)
    right.ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    right.ax.minorticks_off()
    right.ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    return shares


def _balance(panel, study, name, features):
    """Number of features that are balanced after weighting."""
    before, after = (study.means_by("part", name, f"balance_{when}") for when in ("before", "after"))
    panel.ax.axvspan(-_CLOSE, _CLOSE, color=BLUE, alpha=0.08, linewidth=0)
    panel.ax.axvline(0, color=GREY, linewidth=0.6)
    for place, feature in enumerate(features):
        ends = before.get(feature, np.nan), after.get(feature, np.nan)
        panel.link(place, ends)
        for when, end, look in (("before", ends[0], _BEFORE), ("after", ends[1], MAIN)):
            panel.dot(place, f"{when} weighting", (end, np.nan, np.nan), look, key=True)
    return sum(abs(after.get(feature, np.nan)) < _CLOSE for feature in features)
