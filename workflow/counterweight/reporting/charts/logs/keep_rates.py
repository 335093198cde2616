"""What training on fewer and fewer zero rows costs, for each way to make up for it."""

from counterweight.reporting.charts import kit, style

CAPTION = (
    "The headline measure on all test rows after training on zero rows kept at the rate l, one "
    "panel for each learner, mean over splits with 95 % intervals; the dashed line is the same "
    "learner trained on all rows. Panels have their own scales; an uncorrected line may leave its "
    "panel."
)
#: Ways to correct, as the model's option has them, with their names and looks.
WAYS = {
    "weights": ("weighted", kit.Look(style.ORANGE, "^")),
    "log_odds": ("calibrated log-odds", kit.Look(style.PURPLE, "v")),
    "spline": ("spline calibration", kit.Look(style.BLUE)),
    "prior": ("prior correction", kit.Look(style.GREEN, "s")),
    "none": ("uncorrected", kit.Look(style.GREY, "D")),
}
_PLAIN, _MANY_TIMES = "none", 3.0


def swept(study, metric):
    """Method ids by learner, then correction, of the methods swept over keep rates."""
    learners = {}
    for way in WAYS:
        for one in study.methods(swept=True):
            if one["options"].get("correction") == way and study.curve(
                one["id"], metric, "keep_rate"
            ):
                learners.setdefault(one["options"].get("learner", ""), {})[way] = one["id"]
    return learners


def learner_name(learner):
    return kit.capital({"sgd": "SGD"}.get(learner, learner).replace("_", " "))


def draw(study):
    metric = kit.headline(study)
    learners = swept(study, metric) if metric else {}
    if not learners:
        return kit.blank("No sweep over keep rates was measured in this study.")
    label, factor = kit.axis_of(study.measure(metric))
    x = "Rate l at which zero rows were kept for training"
    canvas = kit.Canvas([learner_name(learner) for learner in learners], 2.2, x, label)
    for panel, sources in zip(canvas.all, learners.values(), strict=True):
        lines, whole = {}, _whole(study, metric, sources)
        for place, (way, source) in enumerate(sources.items()):
            points = study.curve(source, metric, "keep_rate")
            lines[way] = [(rate, *(factor * value for value in values)) for rate, *values in points]
            shift = 1.08 ** ((len(sources) - 1) / 2 - place)
            panel.line(*WAYS[way][:1], lines[way], WAYS[way][1], shift=shift)
        level = study.get(*whole[:2], setting=whole[2]).times(factor)._replace(low=float("nan"))
        panel.level("all rows", level, kit.Look(style.INK, "", kit.DASHED))
        panel.rates({point[0] for points in lines.values() for point in points})
        _limit(panel, lines, level.mean)
    title = _title(study, metric, learners)
    return canvas.drawing(title, f"{label} by keep rate, learner and correction")


def _whole(study, metric, sources):
    """Method, metric and setting of a learner trained on (nearly) all rows, without correction."""
    source = sources.get(_PLAIN, next(iter(sources.values())))
    return source, metric, study.settings(source, metric, "general")[-1]


def _limit(panel, lines, whole):
    """Limits that show the corrected lines; the uncorrected too, where it is not far off."""
    means = [point[1] for points in lines.values() for point in points]
    others = [p for way, points in lines.items() if way != _PLAIN for p in points]
    others = others or lines[_PLAIN]
    if min(means) > 0 and max(point[1] for point in others) > _MANY_TIMES * min(means):
        panel.ax.set(yscale="log", ylim=(min(means) / 1.4, max(means) * 1.4))
        panel.ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.ax.minorticks_off()
        return
    low, high = min(whole, *(p[2] for p in others)), max(whole, *(p[3] for p in others))
    room, plain = max(high - low, 1e-9), lines.get(_PLAIN, ())
    low = min([low, *(max(point[2], low - room) for point in plain)])
    high = max([high, *(min(point[3], high + room) for point in plain)])
    panel.ax.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))


def _title(study, metric, learners):
    """At the lowest rate: the best correction and none, as differences from all rows."""
    measure = study.measure(metric)
    known = [pair for pair in learners.items() if study.main in pair[1].values()]
    learner, sources = (known or list(learners.items()))[0]
    source, _, setting = _whole(study, metric, sources)
    whole = study.values(source, metric, setting=setting)
    rates = {
        way: min(point[0] for point in study.curve(source, metric, "keep_rate"))
        for way, source in sources.items()
    }
    rate, gaps = min(rates.values()), {}
    for way, source in sources.items():
        if rates[way] > rate:
            continue  # not measured where the others are hardest tried
        setting = study.settings(source, metric, "general")[0]
        gaps[way] = study.difference(study.values(source, metric, setting=setting), whole)
    better = max if measure.better == "more" else min
    best = better([way for way in gaps if way != _PLAIN] or gaps, key=lambda way: gaps[way].mean)
    shown = [way for way in dict.fromkeys([best, _PLAIN]) if way in gaps]
    said = "; ".join(f"{WAYS[way][0]} {kit.told(gaps[way], measure, sign=True)}" for way in shown)
    return f"{learner_name(learner)}, {measure.label} with 1 zero in {1 / rate:g}: {said}"
