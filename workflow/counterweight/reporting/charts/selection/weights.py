"""What the importance weights do: effective size and balance of the features."""

import numpy as np
from matplotlib.ticker import LogLocator

from counterweight.reporting.page import style

CAPTION = (
    "Top: the share of labeled rows that the weights leave in effect, and how large they grow. "
    "Bottom: distance of each feature's mean over labeled rows from its target mean, before "
    "(hollow) and after weighting (filled); inside the band it is below 0.1 standard deviations."
)
_SHOWN = 14


def draw(study):
    """Effective sample size of every weighting; a balance plot for each lemma.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    weightings = [
        one
        for one in study.plan["weightings"]
        if len(study.rows(one["id"], "effective_sample_size"))
    ]
    if not weightings:
        return style.blank("No weights of this study were measured.")
    shown = _first_of_each(weightings)
    features = _features(study, shown)
    top = 0.55 + 0.24 * len(weightings)
    bottom = 0.7 + 0.22 * len(features)
    with style.look():
        figure = style.Figure(figsize=(style.WIDTH, top + bottom), layout="constrained")
        upper, lower = figure.subfigures(2, 1, height_ratios=[top, bottom])
        _sizes(upper, study, weightings)
        _balance(lower, study, shown, features)
    return figure


def _first_of_each(weightings):
    """The first weighting of each kind: the one that models use unless told otherwise."""
    found = {}
    for one in weightings:
        found.setdefault(one["weighting"], one)
    return list(found.values())


def _features(study, weightings):
    """Features by their imbalance before weighting, worst first, at most 14."""
    worst = {}
    for one in weightings:
        for feature, value in study.means_by("part", one["id"], "balance_before").items():
            worst[feature] = max(worst.get(feature, 0.0), abs(value))
    return sorted(worst, key=lambda feature: (-worst[feature], feature))[:_SHOWN]


def _sizes(figure, study, weightings):
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(weightings))
    for place, one in zip(places, weightings, strict=True):
        size = study.rows(one["id"], "effective_sample_size")
        share = 100 * (size["value"] / size["rows"].where(size["rows"] > 0)).mean()
        left.barh(place, share, height=0.6, color=style.BLUE)
        left.text(share + 1.5, place, f"{share:.0f}", va="center", fontsize=7.5)
        largest = study.rows(one["id"], "largest_weight")["value"].mean()
        uncapped = study.rows(one["id"], "largest_uncapped")["value"].mean()
        if np.isfinite(uncapped) and uncapped > largest:
            right.plot([largest, uncapped], [place, place], color=style.PALE, linewidth=1.5)
            right.plot(
                uncapped, place, "o", color=style.BLUE, markerfacecolor="white", markersize=4.5
            )
        right.plot(largest, place, "o", color=style.BLUE, markersize=4.5)
    left.set_yticks(places, [one["id"].replace("_", " ") for one in weightings])
    left.set_ylim(len(weightings) - 0.4, -0.6)
    left.set_xlim(0, 112)
    left.set_xticks([0, 25, 50, 75, 100])
    left.set_title("Effective share of labeled rows, %")
    right.set_xscale("log")
    right.set_title("Largest weight (hollow: before the cap)")
    right.margins(x=0.12)
    right.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
    right.minorticks_off()
    right.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    style.grid(right)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)


def _balance(figure, study, weightings, features):
    axes = figure.subplots(1, len(weightings), sharey=True, squeeze=False)[0]
    for ax, one in zip(axes, weightings, strict=True):
        before = study.means_by("part", one["id"], "balance_before")
        after = study.means_by("part", one["id"], "balance_after")
        ax.axvspan(-0.1, 0.1, color="#EEF4F8", linewidth=0)
        ax.axvline(0, color=style.GREY, linewidth=0.6)
        for place, feature in enumerate(features):
            start, end = before.get(feature, np.nan), after.get(feature, np.nan)
            ax.plot([start, end], [place, place], color=style.PALE, linewidth=1.2, zorder=1)
            ax.plot(start, place, "o", color=style.GREY, markerfacecolor="white", markersize=4.5)
            ax.plot(end, place, "o", color=style.BLUE, markersize=4.5)
        ax.set_title(f"{one['id'].replace('_', ' ')}, {one['target']} target")
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
    axes[0].set_yticks(range(len(features)), [name.replace("_", " ") for name in features])
    axes[0].set_ylim(len(features) - 0.5, -0.5)
    figure.supxlabel("Difference from the target mean, standard deviations", fontsize=8.5)
