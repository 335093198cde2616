"""What the importance weights do: effective size, largest weight, balance of the features."""

import numpy as np
from matplotlib.ticker import LogLocator

from counterweight.reporting.charts import kit, style
from counterweight.reporting.wording import shortened

CAPTION = (
    "The share of labeled rows that the weights leave in effect, how large they grow, and how far "
    "each feature's mean over labeled rows is from its target mean, before and after weighting; "
    "inside the band it is below 0.1 standard deviations."
)
_SHOWN, _CLOSE = 14, 0.1
_LARGEST = "Largest weight (hollow: before the cap)"


def draw(study):
    kinds = {one["id"]: one for one in study.plan["weightings"]}
    names = [name for name in kinds if len(study.rows(name, "effective_sample_size"))]
    if not names:
        return kit.blank("No weights of this study were measured.")
    # Of each target the first: the one that models use unless told otherwise.
    first = {kinds[name]["target"]: name for name in reversed(names)}
    shown = [name for name in names if name in first.values()]
    features = _features(study, shown)
    upper = ["Effective share of rows, %", _LARGEST]
    lower = [f"{study.label(s)}, {kit.TARGETS.get(kinds[s]['target'], '')}" for s in shown]
    labels = [study.label(name) for name in names]
    heights = [kit.row_height(len(names), labels), kit.row_height(len(features))]
    away = "Difference from the target mean, standard deviations"
    canvas = kit.Canvas([upper, lower], heights, away, sharey="row")
    left, right = canvas.panels[0]
    left.measures, right.measures = upper
    canvas.rows(labels, canvas.panels[0])
    labels = [shortened(name.replace("_", " "), 30) for name in features]
    canvas.rows(labels, canvas.panels[1])
    sizes = {name: study.rows(name, "effective_sample_size") for name in names}
    shares = [
        float(100 * (s["value"] / s["rows"].where(s["rows"] > 0)).mean()) for s in sizes.values()
    ]
    left.bars("effective share", range(len(names)), shares, style.BLUE, 0.5, rows=True)
    left.ax.set(xlim=(0, 112), xticks=[0, 25, 50, 75, 100])
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        left.ax.text(share + 1.5, place, f"{share:.0f}", va="center", fontsize=7.5)
        largest, uncapped = (
            study.rows(name, f"largest_{which}")["value"].mean() for which in ("weight", "uncapped")
        )
        if uncapped > largest:
            right.link(place, [largest, uncapped])
            right.dot(place, "before the cap", uncapped, kit.MAIN._replace(hollow=True))
        right.dot(place, "largest weight", largest, kit.MAIN)
    right.ax.set_xscale("log")
    right.ax.margins(x=0.12)
    right.ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    right.ax.minorticks_off()
    right.ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    inside = [
        _balance(panel, study, s, features)
        for panel, s in zip(canvas.panels[1], shown, strict=True)
    ]
    title = f"Weights leave {kit.span(shares)} % of the labeled rows in effect"
    if features:
        title += f"; {kit.span(inside)} of {len(features)} features end balanced"
    return canvas.drawing(title, "Effective rows, largest weights and balance of features")


def _features(study, weightings):
    """Features by their imbalance before weighting, worst first, at most 14."""
    worst = {}
    for name in weightings:
        for feature, value in study.means_by("part", name, "balance_before").items():
            worst[feature] = max(worst.get(feature, 0.0), abs(value))
    return sorted(worst, key=lambda feature: (-worst[feature], feature))[:_SHOWN]


def _balance(panel, study, name, features):
    """Number of features that are balanced after weighting."""
    before, after = (
        study.means_by("part", name, f"balance_{when}") for when in ("before", "after")
    )
    panel.ax.axvspan(-_CLOSE, _CLOSE, color=style.BLUE, alpha=0.08, linewidth=0)
    panel.ax.axvline(0, color=style.GREY, linewidth=0.6)
    for place, feature in enumerate(features):
        ends = before.get(feature, np.nan), after.get(feature, np.nan)
        panel.link(place, ends)
        panel.dot(place, "before weighting", ends[0], kit.BOUND, key=True)
        panel.dot(place, "after weighting", ends[1], kit.MAIN, key=True)
    return sum(abs(after.get(feature, np.nan)) < _CLOSE for feature in features)
