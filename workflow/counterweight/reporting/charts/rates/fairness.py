"""The cost of a constraint against what it keeps: one line for each method."""

from counterweight.reporting.charts.canvas import DOTTED, Canvas, Look, looks
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.rates.points import (
    DASHES,
    DETERMINISTIC,
    RANDOMISED,
    asked,
    axis,
    cost,
    percent_of,
    settings_asking,
    trade,
)
from counterweight.reporting.charts.style import GREY
from counterweight.reporting.charts.words import capital, told

CAPTION = (
    "Cost on test rows against the test value of what is constrained, one line for each method, one "
    "point for each setting (mean over repeats; bars: 95 % intervals of the cost). Lower is better "
    "at the same value. First other models, then other ways to fit the main one. Full lines: "
    "deterministic rule; dashed: randomised rule. The diamond has no constraint. Methods that err far "
    "more leave the panel above."
)
#: How far beyond the main method's costs a panel reaches, and at least.
_REACH, _LEAST = 1.7, 0.01


def draw(study):
    wanted, of = asked(study), cost(study)
    measure = wanted["measure"] if wanted else None
    main = study.main if measure and of and trade(study, study.main, measure, of) else None
    others = [
        one["id"]
        for one in study.methods()
        if measure and of and one["id"] not in (study.main, study.baseline)
        and trade(study, one["id"], measure, of)
    ]
    if main is None and not others:
        return blank("Nothing constrained and no cost were measured in this study.")
    same = study.method(study.main)["model"] if main else ""
    # Of other starts or solvers of the main model there is nothing to see at one or two settings.
    alike = [s for s in others if study.method(s)["model"] == same]
    kept = [s for s in alike if len(trade(study, s, measure, of)) > 2]
    panels = [[s for s in others if s not in alike], kept]
    panels = [one for one in panels if one] or [[]]
    scale, percent = percent_of(study, of), percent_of(study, measure)
    canvas, shown = Canvas(1, len(panels), 3.0, sharey=True), looks(study)
    for panel, sources in zip(canvas.all, panels, strict=True):
        if main:
            for rule in (RANDOMISED, DETERMINISTIC):
                _line(panel, study, main, measure, of, rule, shown[main], f", {rule}")
        for place, source in enumerate(sources):
            # What coincides with another line is to be seen around it.
            ring = {"markersize": 6.5, "markerfacecolor": "none"} if sources is kept and not place else {}
            _line(panel, study, source, measure, of, DETERMINISTIC, shown[source], **ring)
        if study.baseline:
            for at, mean, low, high, _ in trade(study, study.baseline, measure, of)[:1]:
                name = study.label(study.baseline)
                point = (percent * at, *(scale * value for value in (mean, low, high)))
                panel.line(name, [point], shown[study.baseline], joined=False, markersize=5.5, zorder=5)
                panel.level(name, scale * mean, Look(GREY, "", DOTTED), key=False)
        panel.grid("both")
        _limit(panel, study, main or sources[0], measure, of)
    if len(panels) > 1:
        canvas.all[0].title("Beside other methods", axis(study, of))
        canvas.all[1].title("Other ways to fit the main one", axis(study, of))
    canvas.label(f"Observed {axis(study, measure)} on test rows", f"Test {axis(study, of)}")
    return canvas.drawing(
        _title(study, main, wanted, of), f"{capital(study.measure(of).label)} against what is constrained, by method"
    )


def _line(panel, study, source, measure, of, rule, look, more="", **marks):
    scale, percent = percent_of(study, of), percent_of(study, measure)
    points = [
        (percent * at, *(scale * value for value in values))
        for at, *values, _ in trade(study, source, measure, of, rule)
    ]
    hollow = look.hollow or rule == RANDOMISED
    look = look._replace(dash=DASHES[rule], hollow=hollow)
    panel.line(f"{study.label(source)}{more}", points, look, **marks)


def _limit(panel, study, main, measure, of):
    """Limits that show the main method well; others may leave the panel above."""
    scale, percent = percent_of(study, of), percent_of(study, measure)
    points = [p for rule in DASHES for p in trade(study, main, measure, of, rule)]
    points += trade(study, study.baseline, measure, of) if study.baseline else []
    errors = [point[1] for point in points]
    least = min(errors)
    top = least + max(_REACH * (max(errors) - least), _LEAST)
    others = [p for one in study.methods() for p in trade(study, one["id"], measure, of) if p[1] <= top]
    x = [point[0] for point in points + others]
    least = min([least, *(point[1] for point in others)])
    room = 0.04 * (max(x) - min(x)) or 0.1
    panel.ax.set_xlim(percent * (min(x) - room), percent * (max(x) + room))
    panel.ax.set_ylim(scale * (least - 0.06 * (top - least)), scale * top)


def _title(study, main, wanted, of):
    """What the strictest setting of the main method keeps, and what that costs."""
    title = f"{capital(study.measure(of).label)} against {study.measure(wanted['measure']).label}"
    if main is None:
        return title
    settings = settings_asking(study, wanted, main)
    if not settings or study.baseline in (None, main):
        return title
    strictest = (max if wanted["form"] == "at_least" else min)(settings)[1]
    style = study.measure(DETERMINISTIC, wanted["measure"])
    ends = [
        study.get(source, DETERMINISTIC, measure=wanted["measure"], setting=setting)
        for source, setting in ((study.baseline, ""), (main, strictest))
    ]
    paid = study.against(study.baseline, main, DETERMINISTIC, measure=of, setting=strictest)
    if not (ends[0].known and ends[1].known and paid.known):
        return title
    paid = told(paid, study.measure(DETERMINISTIC, of), sign=True)
    before, after = told(ends[0]._replace(low=float("nan")), style), told(ends[1], style)
    return (
        f"{study.label(main)}: {study.measure(wanted['measure']).label} from {before} to {after} "
        f"for {paid} of {study.measure(of).label}"
    )
