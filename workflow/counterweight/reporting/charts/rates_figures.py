"""Figures of constraints on rates."""

import math

import numpy as np

from counterweight.evaluation.rates import RULES, requested_value
from counterweight.models.constraints.convex_step import ramp, upper_ramp
from counterweight.reporting.charts import forms
from counterweight.reporting.pages import promises_page
from counterweight.reporting.wording import count, setting_label, told_apart
from counterweight.tables.parquet import setting_options

#: Text under each figure.
CAPTION_BY_NAME = {
    "kept": (
        "By how much each promise is broken by decisions on rows that were held out, with 95 % "
        "intervals: left of the dashed line it is kept. In points, where a promise is about shares."
    ),
    "asked_ratio": (
        "Observed value against the requested value, mean over repeats with 95 % intervals; on "
        "the dashed diagonal both are the same. Dashed lines: randomised rule, of which the "
        "constraint was requested. Dotted: the method without a constraint; what is requested "
        "beyond it does not bind."
    ),
    "bounds": (
        "As Figure 1 of Goh et al. (2016): the ramp, a row's part in a rate by its score z, and "
        "the convex bounds that each step of the fit puts in its place. Where the score was at "
        "most 1/2 in the step before, it is the hinge, which is the ramp up to there; beyond, "
        "the constant."
    ),
    "churn": (
        "What is bounded and its cost against the requested bound, mean over repeats with "
        "95 % intervals. Full lines: test rows; dotted: training rows. The bound was requested of "
        "the randomised rule; on the dashed diagonal both are the same. The baseline is not "
        "bound."
    ),
    "fairness": (
        "Cost on test rows against the test value of what is constrained, one point for each "
        "setting of a method (mean over repeats with 95 % intervals of the cost); lower is "
        "better at the same value. Dashed: randomised rule. Lines that err far more leave the "
        "panel."
    ),
    "multipliers": (
        "What the optimiser did, mean over repeats, for some settings of the sweep: the "
        "objective by convex step, and the multiplier of each constraint, its price in that "
        "step, 0 where it does not bind."
    ),
    "promises": (
        "What promises cost: each point is a rule on the way from careful to bold, on rows that "
        "did not fit it. Across: by how much its promises are looser than asked (below 0: "
        "stricter) where these rows show them kept, at the confidence, by this rule alone. Up: "
        "its error. Dashed: promises as asked; grey: the best rule that uses no columns and "
        "keeps them."
    ),
    "sequence": (
        "Each point is a model, trained when more rows had come, on test rows, mean over "
        "repeats with 95 % intervals, by the sign of the score. What is bounded compares its "
        "answers with those of the model before; the dashed line is the bound."
    ),
}


DETERMINISTIC, RANDOMISED = RULES
REQUESTED = "requested"


class Points:
    """Values of measures by setting, as points of lines.

    ``requested`` has ``measure``, ``option`` and ``form`` of what sweeps request, or is None;
    ``cost`` is the measure that is paid: of the comparison, or the first that is not requested.
    """

    def __init__(self, study):
        protocol = study.plan["protocol"]
        self.study, self.requested = study, protocol.get("asked")
        measures = protocol["options"].get("measures") or {}
        bound = self.requested["measure"] if self.requested else None
        others = [name for name in measures if name != bound]
        self.cost = (protocol["options"].get("equal") or {}).get("of") or next(iter(others), None)

    def factor(self, measure):
        """What values of a measure are drawn with: 100 where it is told in per cent."""
        return 100.0 if self.told(measure).percent else 1.0

    def told(self, measure):
        return self.study.measure(DETERMINISTIC, measure)

    def axis(self, measure):
        return self.study.named(measure) + (", %" if self.factor(measure) == 100 else "")

    def settings(self, source):
        """``(requested value, setting)`` of a method, in order of its settings."""
        options, pairs = self.study.method(source)["options"], []
        for setting in self.study.settings(source, DETERMINISTIC, "general"):
            pairs.append(
                (requested_value(self.requested, options | setting_options(setting)), setting)
            )
        return [pair for pair in pairs if not math.isnan(pair[0])]

    def get(self, source, measure, setting="", rule=DETERMINISTIC, target="general"):
        return self.study.get(source, rule, target, measure=measure, setting=setting)

    def line(self, source, x, y, rule=DETERMINISTIC, target="general"):
        """Points of a method: a measure (or `REQUESTED`) across, another one up with its interval.

        A setting whose measure across is defined in fewer than half of the repeats is left out.
        """
        if x == REQUESTED:
            across = {setting: value for value, setting in self.settings(source)}
            x = self.requested["measure"]
        else:
            across = {}
            for setting in self.study.settings(source, rule, "general"):
                known = self.get(source, x, setting, rule, target)
                if 2 * known.n >= self.get(source, y, setting, rule, target).n:
                    across[setting] = known.mean
        points = []
        for setting, value in across.items():
            known = self.get(source, y, setting, rule, target)
            points.append(forms.point(self.factor(x) * value, known, self.factor(y)))
        return sorted(point for point in points if not math.isnan(point[0] + point[1]))


_SETTINGS = 3


def draw_asked_ratio(study):
    """What was observed against what was requested."""
    points, shown = Points(study), forms.looks(study)
    sources = [
        one["id"] for one in study.methods() if points.requested and points.settings(one["id"])
    ]
    sources = [s for s in sources if len(points.settings(s)) >= _SETTINGS] or sources
    if not sources:
        return forms.blank("No method of this study was requested to keep anything.")
    measure, main = points.requested["measure"], study.main if study.main in sources else sources[0]
    name, seen = points.axis(measure), []
    x = forms.capital(f"Requested {name}")
    x += " (1/κ)" if points.requested["form"] == "at_most_inverse" else ""
    shared = {"sharex": True, "sharey": True}
    titles = ["Training rows", "Test rows"]
    canvas = forms.Canvas(titles, 2.9, x, f"Observed {name}", grid="both", **shared)
    for panel, target in zip(canvas.all, ("train", "general"), strict=True):
        for source in sources:
            for rule in (RANDOMISED, DETERMINISTIC) if source == main else (DETERMINISTIC,):
                line, look = points.line(source, REQUESTED, measure, rule, target), shown[source]
                if rule == RANDOMISED:
                    look = look._replace(dash=forms.DASHED, hollow=True)
                label = study.label(source) + (f", {rule}" if source == main else "")
                panel.line(label, line, look)
                seen += line
        if study.baseline and study.baseline not in sources:
            free = points.get(study.baseline, measure, target=target).times(points.factor(measure))
            free = free._replace(low=float("nan"))
            panel.level(study.label(study.baseline), free, forms.Look(forms.GREY, "", forms.DOTTED))
    low, high = min(point[0] for point in seen), max(point[0] for point in seen)
    bottom, top = min(low, *(p[1] for p in seen)), max(low, *(p[1] for p in seen))
    room, up = 0.04 * (high - low) or 0.1 * high, top - bottom or top
    for panel in canvas.all:
        panel.line("as requested", [(low, low), (high, high)], forms.LIMIT)
        panel.ax.set(xlim=(low - room, high + room), ylim=(bottom - 0.06 * up, top + 0.1 * up))
    # Distances from what was asked, where the constraint binds in training.
    train, test = (
        {
            point[0]: point[1] / point[0]
            for point in points.line(main, REQUESTED, measure, target=target)
        }
        for target in ("train", "general")
    )
    binding = [100 * test[at] for at in test if at in train and abs(train[at] - 1) < 0.1]
    title = f"Observed {study.named(measure)} by what was requested"
    if binding:
        said = f"{forms.span(binding)} % of what was requested on test rows"
        title = f"{study.label(main)}: {said}, where it binds"
    return canvas.drawing(title, "Observed against requested values by method, training and test")


_STEPS = 181


def draw_bounds(study):
    """Figure 1 of Goh et al. (2016): the ramp that stands for a rate, and its two convex bounds."""
    if not any(len(study.rows(source, "objective")) for source in forms.main_first(study)):
        return forms.blank("No optimiser of this study told of its steps.")
    canvas = forms.Canvas([""], 2.6, "Score z of a row", "Part in the rate", grid="both")
    (panel,) = canvas.all
    panel.measures = "Part in the rate"
    z = np.linspace(-1.25, 1.0, _STEPS)
    bounds = {
        "hinge bound": (upper_ramp(z, np.zeros_like(z)), forms.Look(forms.RED, "", forms.DASHED)),
        "constant bound": (
            upper_ramp(z, np.ones_like(z)),
            forms.Look(forms.BLUE, "", forms.DOTTED),
        ),
    }
    exact = ramp(z)
    panel.line("ramp", zip(z, exact, strict=True), forms.Look(forms.INK, ""), linewidth=1.8)
    for name, (values, look) in bounds.items():
        panel.line(name, zip(z, values, strict=True), look)
    panel.ax.set(xlim=(-1.25, 1.0), ylim=(-0.05, 1.55))
    # From the numbers: where each bound is the ramp.
    hinge, constant = (np.isclose(values, exact) for values, _ in bounds.values())
    title = (
        f"The hinge is the ramp up to z = {z[hinge].max():.1f}, the constant from "
        f"z = {z[constant].min():.1f} on"
    )
    return canvas.drawing(title, "The ramp by the score, with its hinge and its constant bound")


_RULES = {DETERMINISTIC: forms.Look(forms.BLUE), RANDOMISED: forms.Look(forms.RED, "v")}
_PLACES = (("general", "test", "-"), ("train", "training", forms.DOTTED))


def draw_churn(study):
    """What is bounded and what it costs against the bound, beside the baseline."""
    points, main = Points(study), study.main
    settings = points.settings(main) if points.requested and main else []
    if not settings:
        return forms.blank("Nothing was bounded in this study.")
    bound, base = points.requested["measure"], study.baseline if study.baseline != main else None
    measures = [one for one in (bound, points.cost) if one]
    titles = [forms.capital(points.axis(measure)) for measure in measures]
    canvas = forms.Canvas(titles, 2.9, f"{titles[0]}, requested", grid="both", sharex=True)
    for panel, measure in zip(canvas.all, measures, strict=True):
        panel.measures = panel.name
        for target, place, dash in _PLACES:
            for rule, look in _RULES.items():
                look = look._replace(dash=dash, hollow=dash != "-")
                line = points.line(main, REQUESTED, measure, rule, target)
                panel.line(f"{rule}, {place}", line, look, bars=dash == "-")
            if base:
                free = points.get(base, measure, target=target).times(points.factor(measure))
                look = forms.BASELINE._replace(dash=dash)
                panel.level(f"{study.label(base)}, {place}", free, look)
        panel.ax.margins(x=0.05, y=0.08)
    ends = [(points.factor(bound) * value,) * 2 for value in (min(settings)[0], max(settings)[0])]
    canvas.all[0].line("as requested", ends, forms.LIMIT)
    value, setting = (max if points.requested["form"] == "at_least" else min)(settings)
    known = points.get(main, bound, setting, RANDOMISED)
    told = forms.told(known, points.told(bound))
    wanted = forms.told(known._replace(mean=value, low=float("nan")), points.told(bound))
    title = f"Requested {study.named(bound)} of {wanted}: {told} on test rows"
    return canvas.drawing(title, "What is bounded and its cost by the bound, test and training")


#: How far beyond the main method's costs a panel reaches, and at least.
_REACH, _LEAST = 1.7, 1.0


def draw_fairness(study):
    """The cost of a constraint against what it keeps: one line for each method."""
    points, shown, main = Points(study), forms.looks(study), study.main
    if not (points.requested and points.cost):
        return forms.blank("Nothing was constrained at a cost in this study.")
    measure, of = points.requested["measure"], points.cost
    lines = {one["id"]: points.line(one["id"], measure, of) for one in study.methods()}
    known = [s for s, line in lines.items() if line and s not in (main, study.baseline)]
    model = study.method(main)["model"] if lines.get(main) else ""
    alike = [s for s in known if study.method(s)["model"] == model]
    sets = [s for s in known if s not in alike], [s for s in alike if len(lines[s]) > 2]
    titles = ["Beside other methods", "Other ways to fit the main one"]
    titles = [title for title, sources in zip(titles, sets, strict=True) if sources]
    if not (titles or lines.get(main)):
        return forms.blank("Nothing constrained and no cost were measured in this study.")
    x, y = f"Observed {points.axis(measure)} on test rows", f"Test {points.axis(of)}"
    canvas = forms.Canvas(titles or [""], 3.0, x, y, grid="both", sharey=True)
    sets = [sources for sources in sets if sources] or [[]]
    randomised = points.line(main, measure, of, RANDOMISED) if lines.get(main) else []
    for panel, sources in zip(canvas.all, sets, strict=True):
        if lines.get(main):
            look = shown[main]._replace(dash=forms.DASHED, hollow=True)
            panel.line(f"{study.label(main)}, {RANDOMISED}", randomised, look)
            panel.line(f"{study.label(main)}, {DETERMINISTIC}", lines[main], shown[main])
        for place, source in enumerate(sources):
            # What coincides with another line is to be seen around it.
            ring = not place and source in alike
            marks = {"markersize": 6.5, "markerfacecolor": "none"} if ring else {}
            panel.line(study.label(source), lines[source], shown[source], **marks)
        for free in lines.get(study.baseline, ())[:1]:
            look = shown[study.baseline]._replace(dash="none")
            panel.line(study.label(study.baseline), [free], look, markersize=5.5, zorder=5)
            panel.ax.axhline(free[1], color=forms.GREY, linewidth=0.9, linestyle=forms.DOTTED)
    # Limits that show the main method well; others may leave the panel above.
    seen = (lines.get(main) or lines[known[0]]) + randomised + lines.get(study.baseline, [])
    least, most = min(point[1] for point in seen), max(point[1] for point in seen)
    top = least + max(_REACH * (most - least), _LEAST * points.factor(of) / 100)
    inside = seen + [point for line in lines.values() for point in line if point[1] <= top]
    across, least = [point[0] for point in inside], min(point[1] for point in inside)
    room = 0.04 * (max(across) - min(across)) or 0.1
    for panel in canvas.all:
        panel.ax.set_xlim(min(across) - room, max(across) + room)
        panel.ax.set_ylim(least - 0.06 * (top - least), top)
    title = _title(study, points) or f"{forms.capital(study.named(of))} by {study.named(measure)}"
    return canvas.drawing(title, "Cost against what is constrained, one line for each method")


def _title(study, points):
    """What the strictest setting of the main method keeps, and what that costs; or ""."""
    main, base, measure = study.main, study.baseline, points.requested["measure"]
    settings = points.settings(main) if main and base not in (None, main) else []
    if not settings:
        return ""
    setting = (max if points.requested["form"] == "at_least" else min)(settings)[1]
    before, after = points.get(base, measure), points.get(main, measure, setting)
    paid = study.against(base, main, DETERMINISTIC, measure=points.cost, setting=setting)
    if not (before.known and after.known and paid.known):
        return ""
    before = forms.told(before._replace(low=float("nan")), points.told(measure))
    after, paid = (
        forms.told(after, points.told(measure)),
        forms.told(paid, points.told(points.cost), sign=True),
    )
    moved = f"{study.named(measure)} from {before} to {after}"
    return f"{study.label(main)}: {moved} for {paid} of {study.named(points.cost)}"


_SETTINGS_MULTIPLIERS, _CONSTRAINTS = 4, 2


def draw_multipliers(study):
    """Objective and multipliers of the constraints by convex step."""
    main = next((s for s in forms.main_first(study) if len(study.rows(s, "objective"))), None)
    if main is None:
        return forms.blank("No optimiser of this study told of its steps.")
    objective, prices = (
        study.rows(main, metric).dropna(subset=["step"]) for metric in ("objective", "multiplier")
    )
    # The start is far above the rest, which could not be told apart beside it.
    tables = {"Objective": objective[objective["step"] > 0]}
    for part in sorted(prices["part"].unique())[:_CONSTRAINTS]:
        tables[f"Multiplier {part}".strip()] = prices[prices["part"] == part]
    settings = study.settings(main, "objective")
    places = (
        np.linspace(0, len(settings) - 1, min(_SETTINGS_MULTIPLIERS, len(settings)))
        .round()
        .astype(int)
    )
    canvas = forms.Canvas(list(tables), 2.4, "Convex steps taken", grid="both")
    for panel, (name, table) in zip(canvas.all, tables.items(), strict=True):
        panel.measures = name
        for setting, look in zip([settings[place] for place in places], forms.TURNS, strict=False):
            means = table[table["setting"] == setting].groupby("step")["value"].mean()
            panel.line(setting_label(setting) or "all", means.items(), look, markersize=3)
        panel.ax.locator_params(axis="x", integer=True)
        if panel is not canvas.all[0]:
            panel.ax.set_ylim(bottom=min(0.0, panel.ax.get_ylim()[0]))
    steps = []
    for _, one in objective.groupby(["setting", "repeat"]):
        values = one.sort_values("step")["value"].to_numpy()
        steps.append(np.argmax(values <= values[-1] + 0.05 * (values[0] - values[-1])))
    title = f"95 % of the objective's fall is done by step {np.median(steps):.0f}"
    return canvas.drawing(
        f"{title} (median of {len(steps)} fits)", "Objective and multipliers by step"
    )


def draw_sequence(study):
    """Models that follow each other: what each changes of the one before, and its errors."""
    points, option = Points(study), study.plan["protocol"]["options"].get("sequence")
    lines = {}
    for source in forms.main_first(study):
        settings = study.settings(source, DETERMINISTIC, "general")
        steps = ((setting_options(one).get(option), one) for one in settings)
        lines[source] = sorted(pair for pair in steps if isinstance(pair[0], float))
    lines = {source: settings for source, settings in lines.items() if len(settings) > 1}
    if not option or not lines:
        return forms.blank("No models of this study follow each other.")
    bound = points.requested["measure"] if points.requested else None
    measures = [one for one in (bound, points.cost) if one]
    titles = [forms.capital(points.axis(measure)) for measure in measures]
    canvas = forms.Canvas(titles, 2.9, "Batches of rows so far", grid="both", sharex=True)
    for panel, measure in zip(canvas.all, measures, strict=True):
        panel.measures = panel.name
        factor = points.factor(measure)
        for (source, settings), look in zip(lines.items(), forms.TURNS, strict=False):
            # The first model has none before it.
            shown = settings[1:] if measure == bound else settings
            line = [
                forms.point(step, points.get(source, measure, setting), factor)
                for step, setting in shown
            ]
            panel.line(study.label(source), line, look, bars=True)
        base = points.get(study.baseline, measure) if study.baseline not in (None, *lines) else None
        if base is not None and base.mean == base.mean:
            panel.level(study.label(study.baseline), base.times(factor), forms.BASELINE)
        panel.ax.locator_params(axis="x", integer=True)
        panel.ax.set_ylim(bottom=0.0)
    main = next(iter(lines))
    wanted = (
        study.method(main)["options"].get(points.requested["option"]) if points.requested else None
    )
    last = lines[main][-1][1]
    if wanted is None:
        title = f"{len(lines[main])} models, one after the other"
        return canvas.drawing(title, "Models that follow each other, on test rows")
    ends = [(step, points.factor(bound) * wanted) for step, _ in (lines[main][1], lines[main][-1])]
    canvas.all[0].line("as requested", ends, forms.LIMIT)
    known = forms.told(points.get(main, bound, last), points.told(bound))
    title = f"{forms.capital(study.named(bound))} against the model before: {known} at the end"
    return canvas.drawing(title, "Models that follow each other, on test rows")


def draw_promises(study):
    """What the rules that were looked at err, by the bounds that they are shown to keep."""
    of, metric = "delivered", "bound_cost"
    shares = sorted(study.places("part", of, metric), key=float)
    if not shares:
        return forms.blank("No rule of this study was tested for new rows.")
    line = [forms.point(float(at), study.get(of, metric, part=at), 100.0) for at in shares]
    x = "Promises looser than asked by, %"
    canvas = forms.Canvas([""], 2.9, x, "Error, %", grid="both")
    (panel,) = canvas.all
    panel.measures = "Error, %"
    panel.line("rules that were looked at", line, forms.MAIN, bars=False)
    constant = study.get(of, "fit_constant")
    if constant.known:
        panel.level("uses no columns", constant.times(100), forms.BASELINE)
    panel.upright(0.0, forms.LIMIT, "as asked")
    panel.ax.margins(x=0.08, y=0.12)
    (near, cost, *_) = min(line, key=lambda point: (abs(max(point[0], 0)), point[1]))
    title = f"Promises as asked cost an error of {cost:.1f} %"
    if study.get(of, "fit_certified").mean == 1:
        title = f"Promises as asked cost an error of {100 * study.get(of, 'fit_cost').mean:.1f} %"
    elif near > 0:
        title = f"Promises that are looser by {near:.0f} % cost an error of {cost:.1f} %"
    return canvas.drawing(title, "Error of rules by the bounds that they are shown to keep")


def draw_kept(study):
    """By how much each promise is broken on rows that were held out."""
    main = promises_page.main_of(study)
    texts = promises_page.texts_of(study, main) if main else []
    if not texts:
        return forms.blank("No promise of this study was measured.")
    names = told_apart(texts[: forms.MOST_ROWS], 60, 30)
    sources = [one for one in (main, study.baseline, *study.sources) if one in study.sources]
    sources, looks = [*dict.fromkeys(sources)][:3], (forms.MAIN, *forms.TURNS)
    canvas, panel = forms.one_panel(names, "Broken by, points", len(sources))
    panel.upright(0.0, forms.LIMIT, "the limit")
    for rank, (source, look) in enumerate(zip(sources, looks, strict=False)):
        for place in range(len(names)):
            known = promises_page.broken_by(study, source, place).times(100)
            at = place + 0.18 * (rank - (len(sources) - 1) / 2)
            panel.dot(at, study.label(source), known, look, key=True)
    told = [promises_page.broken_by(study, sources[0], place) for place in range(len(texts))]
    kept = sum(one.known and one.high < 0 for one in told)
    panel.ax.margins(x=0.06)
    title = f"{kept} of {count(len(texts), 'promise')} shown kept on rows that were held out"
    if study.get("delivered", "fit_certified").mean == 1:  # which more rows show, of another fit
        title = (
            f"By test rows of the splits alone {kept} of {count(len(texts), 'promise')} shown kept"
        )
    title += forms.of_all(texts)
    return canvas.drawing(title, "By how much promises are broken, with intervals")
