"""Objective and multipliers of the constraints by convex step."""

import numpy as np

from counterweight.reporting.page import style
from counterweight.reporting.page.wording import setting_label
from counterweight.reporting.rates.tables import RateNumbers

CAPTION = (
    "What the optimiser did, mean over repeats: the objective (left) falls from convex step to "
    "convex step and settles (its start is in the table); the multiplier of each constraint is its "
    "price in the convex problem of that step, 0 where it does not bind. Lines are settings of the "
    "sweep."
)
_HEIGHT = 2.9
_LOOKS = ((style.ORANGE, "^"), (style.GREEN, "s"), (style.BLUE, "o"), (style.PURPLE, "D"))
_MOST_CONSTRAINTS = 2


def draw(study):
    """A panel for the objective and one for each constraint's multiplier.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    numbers = RateNumbers(study.metrics, study.plan)
    main = numbers.main()
    objective = numbers.steps(main, "objective") if main is not None else ()
    if not len(objective):
        return style.blank("No optimiser of this study told of its steps.")
    prices = numbers.steps(main, "multiplier")
    settings = _chosen(numbers, main, set(objective["setting"]))
    parts = sorted(prices["part"].unique())[:_MOST_CONSTRAINTS]
    with style.look():
        figure, axes = style.panels(1, 1 + len(parts), height=_HEIGHT)
        # The start is far above the rest, which could not be told apart beside it.
        panels = [(objective[objective["step"] > 0], "Objective")]
        for part in parts:
            name = "Multiplier" + (f" of constraint {part + 1}" if len(parts) > 1 else "")
            panels.append((prices[prices["part"] == part], name))
        for ax, (table, name) in zip(axes[0], panels, strict=True):
            style.grid(ax, "both")
            ends, longest = [], 1
            for setting, (colour, marker) in zip(settings, _LOOKS, strict=False):
                means = table[table["setting"] == setting].groupby("step")["value"].mean()
                if means.empty:
                    continue
                ax.plot(means.index, means, marker=marker, color=colour, markersize=3)
                ends.append((float(means.iloc[-1]), setting_label(setting) or "all", colour))
                longest = max(longest, int(means.index.max()))
            ax.set_title(name)
            ax.margins(y=0.08)
            ax.set_xticks(range(1, longest + 1))
            if name != "Objective" and ends:
                low, high = ax.get_ylim()
                ax.set_ylim(min(0.0, low), max(high, 1.08 * max(end[0] for end in ends)))
            if ax is axes[0, -1]:
                style.label_ends(ax, ends, 0.7 * _HEIGHT)
        figure.supxlabel("Convex steps taken", fontsize=8.5)
    return figure


def _chosen(numbers, main, measured):
    """At most four settings, evenly among those in order."""
    settings = [setting for setting in numbers.settings_of(main) if setting in measured] or sorted(
        measured
    )
    places = np.unique(
        np.linspace(0, len(settings) - 1, min(len(_LOOKS), len(settings))).round().astype(int)
    )
    return [settings[place] for place in places]
