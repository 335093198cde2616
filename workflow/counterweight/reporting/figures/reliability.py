"""Reliability curves: what is predicted against what is observed, with and without correction."""

import numpy as np
from matplotlib.ticker import MaxNLocator

from counterweight.reporting import style
from counterweight.reporting.figures.keep_rates import WAYS, learners
from counterweight.reporting.wording import CORRECTIONS, learner_name, parts_of

CAPTION = (
    "Share of positives among test rows of about the same predicted probability, against that "
    "probability, in bins of equal weight, mean over splits; on the grey diagonal a model is "
    "calibrated. Top: trained on all rows; bottom: on a fraction of the zero rows. Where "
    "uncorrected probabilities are far too high, their curve leaves the panel on the right."
)
_BEST = 0.01


def draw(study):
    """Two rows (all rows, about a hundredth of the zeros), one column for each learner.

    Parameters
    ----------
    study : counterweight.reporting.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    curves = {}
    for learner in learners(study):
        for way in WAYS:
            for rate, points in _curves(study, f"{learner}-{way}").items():
                curves[learner, rate, way] = points
    rates = {rate for _, rate, _ in curves}
    if not rates:
        return style.blank("No reliability curve was measured in this study.")
    low = min(rates, key=lambda rate: (abs(np.log(rate / _BEST)), rate))
    rates = list(dict.fromkeys([max(rates), low]))
    columns = list(dict.fromkeys(learner for learner, _, _ in curves))
    with style.look():
        figure, axes = style.panels(len(rates), len(columns), height=0.6 + 1.8 * len(rates))
        for row, rate in enumerate(rates):
            for column, learner in enumerate(columns):
                lines = {way: curves.get((learner, rate, way)) for way in WAYS}
                _panel(axes[row, column], {w: p for w, p in lines.items() if p is not None})
                axes[row, column].set_title(f"{learner_name(learner)}, l = {rate:g}")
            axes[row, 0].set_ylabel("Observed share")
        figure.supxlabel("Predicted probability", fontsize=8.5)
        handles = [axes[0, 0].plot([], [], color=colour)[0] for colour in WAYS.values()]
        figure.legend(handles, [CORRECTIONS[way] for way in WAYS], loc="outside upper center",
                      ncols=len(WAYS), handlelength=1.6, columnspacing=1.4)  # fmt: skip
    return figure


def _curves(study, source):
    """``{keep rate: (predicted, observed)}`` by bin, means over splits."""
    predicted, observed = (
        study.mean_by_item(source, f"reliability_{which}", "general")
        for which in ("predicted", "observed")
    )
    bins = {}
    for item in predicted.index.intersection(observed.index):
        setting, _, number = item.rpartition("#")
        rate = parts_of(setting).get("keep_rate")
        if isinstance(rate, float) and number.isdigit():
            bins.setdefault(rate, []).append((int(number), predicted[item], observed[item]))
    return {rate: np.array(sorted(points))[:, 1:].T for rate, points in bins.items()}


def _panel(ax, lines):
    corrected = [points for way, points in lines.items() if way != "none"] or list(lines.values())
    top = 1.08 * max([0.01, *(np.nanmax(points) for points in corrected)])
    ax.plot([0, top], [0, top], color=style.PALE, linewidth=1)
    for way, (predicted, observed) in lines.items():
        order = np.argsort(predicted)
        ax.plot(predicted[order], observed[order], "o-", color=WAYS[way], markersize=2.5,
                linewidth=1.1)  # fmt: skip
    ax.set(xlim=(-0.02 * top, top), ylim=(-0.02 * top, top))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(4))
