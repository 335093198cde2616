"""Values of policies estimated from logs that kept fewer and fewer zero rows."""

from counterweight.reporting.logs.tables import value_table
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import estimator_name

CAPTION = (
    "Value of a policy estimated from the log of another one, against the rate l at which rows of "
    "reward zero were kept: the whole log's estimate with its 95 % interval (where that was not "
    "made, the mean over resamplings with the interval of a typical one). One panel for each "
    "policy, one colour for each estimator. The line is the value that should be found; its band "
    "is a 95 % interval, where it was measured and not known by construction."
)
_COLOURS = {"ips": style.BLUE, "ips_lost": style.SKY, "snips": style.ORANGE, "dr": style.GREEN}
_OTHERS = (style.PURPLE, style.RED)
_HEIGHT = 2.6


def draw(study):
    """One panel for each method: intervals side by side at each keep rate.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Of a study of the kind ``log``.

    Returns
    -------
    matplotlib.figure.Figure
    """
    table = value_table(study.metrics, {"studies": {study.name: study.plan}}, study.name)
    table = table.assign(
        **{
            f"shown{end}": table[whole].fillna(table[f"typical{end}"])
            for end, whole in (("", "value"), ("_low", "low"), ("_high", "high"))
        }
    )
    table = table[(table["status"] == "ok") & table["shown"].notna()]
    if table.empty:
        return style.blank("No value of a policy was measured in this study.")
    names = list(dict.fromkeys(table["estimator"]))
    others = dict(zip([n for n in names if n not in _COLOURS], _OTHERS * 9, strict=False))
    colours = _COLOURS | others
    methods = list(dict.fromkeys(table["method"]))
    scale = 100 if table["shown"].abs().max() <= 0.2 else 1
    with style.look():
        figure, axes = style.panels(1, len(methods), height=_HEIGHT)
        for ax, method in zip(axes[0], methods, strict=True):
            _panel(ax, table[table["method"] == method], names, colours, scale)
            ax.set_title(study.label(method))
        axes[0, 0].set_ylabel("Value, %" if scale == 100 else "Value")
        _labels(axes[0, -1], table[table["method"] == methods[-1]], names, colours, scale)
        figure.supxlabel("Rate l at which zero rows were kept", fontsize=8.5)
    return figure


def _panel(ax, rows, names, colours, scale):
    style.grid(ax, "y")
    truth = scale * rows[["truth", "truth_low", "truth_high"]].iloc[0]
    if truth["truth"] == truth["truth"]:
        ax.axhspan(truth["truth_low"], truth["truth_high"], color=style.PALE, linewidth=0)
        ax.axhline(truth["truth"], color=style.INK, linewidth=0.9)
    for place, name in enumerate(names):
        own = rows[rows["estimator"] == name]
        numbers = scale * own[["shown", "shown_low", "shown_high"]]
        points = list(zip(own["keep_rate"], *(numbers[c] for c in numbers), strict=True))
        shift = 1.09 ** ((len(names) - 1) / 2 - place)
        style.interval_line(ax, points, colours[name], shift=shift, line=False)
    style.rate_axis(ax, set(rows["keep_rate"]))
    ax.margins(y=0.08)


def _labels(ax, rows, names, colours, scale):
    """Names of the estimators and of the truth, at the height of their last points."""
    last = rows[rows["keep_rate"] == rows["keep_rate"].min()].set_index("estimator")["shown"]
    ends = [
        (scale * last[name], estimator_name(name), colours[name])
        for name in names
        if name in last.index
    ]
    truth = scale * rows["truth"].iloc[0]
    if truth == truth:
        ends.append((truth, "truth", style.INK))
    style.label_ends(ax, ends, 0.7 * _HEIGHT)
