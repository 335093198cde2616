"""What training on fewer and fewer zero rows costs, for each way to make up for it."""

from counterweight.reporting.charts.canvas import DASHED, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.style import BLUE, GREEN, GREY, INK, ORANGE
from counterweight.reporting.charts.words import axis_of, capital, factor_of, told

CAPTION = (
    "The headline measure on all test rows after training on zero rows kept at the rate l, one "
    "panel for each learner, mean over splits with 95 % intervals. The dashed line is the same "
    "learner trained on all rows. Panels have their own scales, logarithmic where values grow to "
    "many times the least; on the others the uncorrected line leaves the panel where it is far off."
)
#: Ways to correct, as the model's option has them, with their names and looks.
WAYS = {
    "weights": ("weighted", Look(ORANGE, "^")),
    "spline": ("spline calibration", Look(BLUE)),
    "prior": ("prior correction", Look(GREEN, "s")),
    "none": ("uncorrected", Look(GREY, "D")),
}
_PLAIN, _MANY_TIMES = "none", 3.0
_FULL = Look(INK, "", DASHED)


def swept(study, metric):
    """``{learner: {correction: method id}}`` of the methods that were swept over keep rates."""
    learners = {}
    for one in study.methods(swept=True):
        learner, way = (one["options"].get(name) for name in ("learner", "correction"))
        if learner and way in WAYS and study.curve(one["id"], metric, "keep_rate"):
            learners.setdefault(learner, {})[way] = one["id"]
    return {
        learner: {way: sources[way] for way in WAYS if way in sources}
        for learner, sources in learners.items()
    }


def learner_name(learner):
    return capital({"sgd": "SGD"}.get(learner, learner).replace("_", " "))


def draw(study):
    metric = next((one for one in study.plan["columns"] if study.measured(one)), "")
    learners, measure = swept(study, metric), study.measure(metric)
    if not learners:
        return blank("No sweep over keep rates was measured in this study.")
    canvas, factor = Canvas(1, len(learners), 2.2), factor_of(measure)
    for panel, (learner, sources) in zip(canvas.all, learners.items(), strict=True):
        lines = {
            way: [(rate, *(factor * v for v in values)) for rate, *values in
                  study.curve(source, metric, "keep_rate")]
            for way, source in sources.items()
        }
        whole = _whole(lines)
        for place, (way, points) in enumerate(lines.items()):
            name, look = WAYS[way]
            panel.line(name, points, look, shift=1.08 ** ((len(lines) - 1) / 2 - place))
        panel.level("all rows", whole, _FULL)
        panel.rates({point[0] for points in lines.values() for point in points})
        _limit(panel, lines, whole)
        panel.title(learner_name(learner))
        panel.grid()
    canvas.label("Rate l at which zero rows were kept for training", axis_of(measure))
    return canvas.drawing(
        _title(study, metric, learners), f"{capital(measure.label)} by keep rate, learner and correction",
        ends=True,
    )


def _whole(lines):
    """The learner trained on all rows: its mean without correction at l = 1, or NaN."""
    for way in (_PLAIN, *lines):
        at_one = [point[1] for point in lines.get(way, ()) if point[0] == 1.0]
        if at_one:
            return at_one[0]
    return float("nan")


def _limit(panel, lines, whole):
    """Limits that show the corrected lines; the uncorrected too, where it is not far off."""
    means = [point[1] for points in lines.values() for point in points]
    others = [points for way, points in lines.items() if way != _PLAIN] or list(lines.values())
    if min(means) > 0 and max(point[1] for points in others for point in points) > _MANY_TIMES * min(means):
        panel.ax.set_yscale("log")
        panel.ax.set_ylim(min(means) / 1.4, max(means) * 1.4)
        panel.ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.ax.minorticks_off()
        return
    low = min([*(point[2] for points in others for point in points), *([whole] if whole == whole else [])])
    high = max([*(point[3] for points in others for point in points), *([whole] if whole == whole else [])])
    room = max(high - low, 1e-9)
    plain = lines.get(_PLAIN, ())
    low = min([low, *(max(point[2], low - room) for point in plain)])
    high = max([high, *(min(point[3], high + room) for point in plain)])
    panel.ax.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))


def _title(study, metric, learners):
    """At the lowest rate: the best correction and none, as differences from all rows."""
    measure = study.measure(metric)
    learner, sources = next(
        (pair for pair in learners.items() if study.main in pair[1].values()), next(iter(learners.items()))
    )
    settings = {way: study.settings(source, metric, "general") for way, source in sources.items()}
    plain = sources.get(_PLAIN, next(iter(sources.values())))
    whole = study.values(plain, metric, setting=study.settings(plain, metric, "general")[-1])
    gaps = {
        way: study.difference(study.values(source, metric, setting=settings[way][0]), whole)
        for way, source in sources.items()
    }
    better = max if measure.better == "more" else min
    best = better((way for way in gaps if way != _PLAIN), key=lambda way: gaps[way].mean, default=_PLAIN)
    rate = min(point[0] for point in study.curve(sources[best], metric, "keep_rate"))
    said = [f"{WAYS[way][0]} {told(gaps[way], measure, sign=True)}" for way in dict.fromkeys([best, _PLAIN]) if way in gaps]
    return f"{learner_name(learner)}, {measure.label} with 1 zero in {1 / rate:g}: {'; '.join(said)}"
