"""What training on fewer and fewer zero rows costs, for each way to make up for it."""

from counterweight.reporting.page import style
from counterweight.reporting.page.tables import columns_of
from counterweight.reporting.page.wording import CORRECTIONS, learner_name, metric_name

CAPTION = (
    "Loss on all test rows (or AUC, where the study is about it) after training on zero rows kept "
    "at the rate l, one panel for each learner, mean over splits with 95 % intervals: weights 1/l, "
    "calibration by a spline with weighted control points, the closed-form prior correction, and "
    "nothing at all. The dashed line is the same learner trained on all rows. Panels have their "
    "own scales, logarithmic where losses grow to many times the least; on the others the "
    "uncorrected loss leaves the panel where it is far above."
)
WAYS = {"weights": style.ORANGE, "spline": style.BLUE, "prior": style.GREEN, "none": style.GREY}
_HEIGHT = 2.6
_MANY_TIMES = 3.0


def learners(study):
    """Learners of a sweep over keep rates, from methods named ``{learner}-{correction}``."""
    ids = [one["id"].rpartition("-") for one in study.methods(swept=True)]
    return list(dict.fromkeys(learner for learner, _, way in ids if way in WAYS and learner))


def draw(study):
    """One panel for each learner, one line for each correction.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    metric = columns_of(study.plan)[0]
    panels = {}
    for learner in learners(study):
        lines = {way: study.curve(f"{learner}-{way}", metric, "keep_rate") for way in WAYS}
        lines = {way: points for way, points in lines.items() if points}
        if lines:
            panels[learner] = lines
    if not panels:
        return style.blank("No sweep over keep rates was measured in this study.")
    with style.look():
        figure, axes = style.panels(1, len(panels), height=_HEIGHT)
        for ax, (learner, lines) in zip(axes[0], panels.items(), strict=True):
            _panel(ax, lines)
            ax.set_title(learner_name(learner))
        name = metric_name(metric)
        axes[0, 0].set_ylabel(name[0].upper() + name[1:])
        _labels(axes[0, -1], list(panels.values())[-1])
        figure.supxlabel("Rate l at which zero rows were kept for training", fontsize=8.5)
    return figure


def full(lines):
    """The learner trained on all rows: its mean without correction at l = 1, or None."""
    for way in ("none", "weights"):
        at_one = [point[1] for point in lines.get(way, ()) if point[0] == 1.0]
        if at_one:
            return at_one[0]
    return None


def _panel(ax, lines):
    style.grid(ax, "y")
    if full(lines) is not None:
        ax.axhline(full(lines), color=style.INK, linewidth=0.9, linestyle=(0, (4, 3)))
    for place, (way, points) in enumerate(lines.items()):
        shift = 1.08 ** ((len(lines) - 1) / 2 - place)
        style.interval_line(ax, points, WAYS[way], shift=shift, markersize=3)
    style.rate_axis(ax, {point[0] for points in lines.values() for point in points})
    means = [point[1] for points in lines.values() for point in points]
    corrected = [p[1] for way, points in lines.items() if way != "none" for p in points] or means
    if min(means) > 0 and max(corrected) > _MANY_TIMES * min(means):
        ax.set_yscale("log")
        ax.set_ylim(min(means) / 1.4, max(means) * 1.4)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.minorticks_off()
    else:
        ax.set_ylim(*_limits(lines))


def _limits(lines):
    """Limits that show the corrected lines; the uncorrected too, where it is not far off."""
    bounds = {
        way: (min(p[2] for p in points), max(p[3] for p in points)) for way, points in lines.items()
    }
    corrected = [pair for way, pair in bounds.items() if way != "none"] or list(bounds.values())
    low, high = min(p[0] for p in corrected), max(p[1] for p in corrected)
    if full(lines) is not None:
        low, high = min(low, full(lines)), max(high, full(lines))
    room = max(high - low, 1e-9)
    if "none" in bounds:
        low = min(low, max(bounds["none"][0], low - room))
        high = max(high, min(bounds["none"][1], high + room))
    return low - 0.06 * (high - low), high + 0.06 * (high - low)


def _labels(ax, lines):
    ends = [(points[0][1], CORRECTIONS[way], WAYS[way]) for way, points in lines.items()]
    if full(lines) is not None:
        ends.append((full(lines), "all rows", style.INK))
    style.label_ends(ax, ends, 0.7 * _HEIGHT)
