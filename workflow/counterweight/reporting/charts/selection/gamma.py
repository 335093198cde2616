"""How wrong the answer could be: bounds by Γ, around what missing at random would make of it."""

from counterweight.files.settings import setting_options
from counterweight.reporting.charts import kit, style
from counterweight.reporting.swept import swept_of

CAPTION = (
    "What the rows without a label could make of a number where, at equal features, the odds of "
    "having none differ between outcomes by a factor of Γ at most: in the band each row takes the "
    "end that is worst, along the dashed lines all rows have the same factor. At Γ = 1 labels are "
    "missing at random, or as a tilt of the config says. The dotted line sees hidden labels, which "
    "nobody has in practice."
)
_BAND = kit.Look(style.BLUE, "")
_COMMON = kit.Look(style.ORANGE, "", kit.DASHED)
_TRUTH = kit.Look(style.RED, "", kit.DOTTED)


def draw(study):
    shown = list(swept_of(study))
    if not shown:
        return kit.blank("No row without a label was swept in this study.")
    scales = [kit.axis_of(one.measure) for one in shown]
    units = [words.rpartition(", by Γ")[2] for words, _ in scales]
    titles = [one.name + unit for one, unit in zip(shown, units, strict=True)]
    rows = [titles] if len(titles) < 4 else [titles[:2], titles[2:]]
    canvas = kit.Canvas(rows, 2.2 if len(rows) == 1 else 1.9, "Γ: odds at most so many times off")
    for panel, one, (words, factor) in zip(canvas.all, shown, scales, strict=True):
        panel.measures = words
        ends = {end: _points(one, end, factor) for end in ("least", "most", "fewer", "more")}
        at = [point[0] for point in ends["least"]]
        low, high = ([point[1] for point in ends[end]] for end in ("least", "most"))
        panel.ax.fill_between(at, low, high, color=style.BLUE, alpha=0.15, linewidth=0)
        panel.line("worst end for each row", ends["least"], _BAND, bars=False)
        panel.line("worst end for each row", ends["most"], _BAND, bars=False, key=False)
        for end in ("fewer", "more") if one.common else ():
            panel.line("one factor for all rows", ends[end], _COMMON, bars=False)
        if one.truth.known:
            ends = [(end, factor * one.truth.mean) for end in (at[0], at[-1])]
            panel.line("hidden labels", ends, _TRUTH, bars=False, linewidth=1.6)
        panel.ticks([gamma for gamma in at if gamma in _TICKS])
        panel.ax.set_xlim(1, max(at))
    return canvas.drawing(shown[0].sentence, "Bounds of a rate and of measures, by Γ")


_TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


def _points(one, end, factor):
    """Points of one end by Γ."""
    return [
        (setting_options(setting)["gamma"], factor * known.mean)
        for setting, known in one.ends(end).items()
    ]
