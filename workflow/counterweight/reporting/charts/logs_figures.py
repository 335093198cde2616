"""Figures of subsampled logs."""

import numpy as np

from counterweight.reporting.charts import forms
from counterweight.reporting.pages import own_logs_page
from counterweight.reporting.pages.logs_page import measured
from counterweight.tables.parquet import numbers_of, setting_options

#: Text under each figure.
CAPTION_BY_NAME = {
    "policies": (
        "What a row earns with each policy, by the rows of the log, with 95 % intervals; the dashed "
        "line is what the policy earned that made the log."
    ),
    "predictions": (
        "How good predictions are on rows of the log, with 95 % intervals: a line for each column or "
        "method, a panel for each of the first measures of the table."
    ),
    "keep_rates": (
        "The headline measure on all test rows after training on zero rows kept at the rate l, "
        "one panel for each learner, mean over splits with 95 % intervals; the dashed line is "
        "the same learner trained on all rows. Panels have their own scales; an uncorrected "
        "line may leave its panel."
    ),
    "ratio_bias": (
        "Mean difference between the estimator that divides by an estimated number of rows (the "
        "count was lost) and the one that knows it, with 95 % intervals, against the number n "
        "of rows of the log."
    ),
    "deviation": (
        "Distance between the AUC of N drawn test rows and that of all of them, against the "
        "share of positives among the drawn: mean and upper quantile over resamples, and the "
        "bound of Agarwal and colleagues, which is least at equal shares; means over splits "
        "with 95 % intervals."
    ),
    "reliability": (
        "Share of positives among test rows of about the same predicted probability, against "
        "that probability, mean over splits; on the grey diagonal a model is calibrated, below "
        "it predictions are too high. Trained on all rows, and on a fraction of the zero rows."
    ),
    "shares": (
        "Quality of models trained on a fixed number of rows, against the share of positives "
        "among them (line, mean over splits with 95 % intervals). Marked are other ways to "
        "choose the share."
    ),
    "value": (
        "Value of a policy estimated from the log of another one, against the rate l at which "
        "rows of reward zero were kept, with 95 % intervals: of the whole log, or else of a "
        "typical resampling. The line is the value that should be found, with its interval "
        "where it was measured."
    ),
}


#: Ways to correct, as the model's option has them, with their names and looks.
WAYS = {
    "weights": ("weighted", forms.Look(forms.ORANGE, "^")),
    "log_odds": ("calibrated log-odds", forms.Look(forms.PURPLE, "v")),
    "spline": ("spline calibration", forms.Look(forms.BLUE)),
    "prior": ("prior correction", forms.Look(forms.GREEN, "s")),
    "none": ("uncorrected", forms.Look(forms.GREY, "D")),
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
    return forms.capital({"sgd": "SGD"}.get(learner, learner).replace("_", " "))


def draw_keep_rates(study):
    """What training on fewer and fewer zero rows costs, for each way to make up for it."""
    metric = study.headline
    learners = swept(study, metric) if metric else {}
    if not learners:
        return forms.blank("No sweep over keep rates was measured in this study.")
    label, factor = forms.axis_of(study.measure(metric))
    x = "Rate l at which zero rows were kept for training"
    canvas = forms.Canvas([learner_name(learner) for learner in learners], 2.2, x, label)
    for panel, sources in zip(canvas.all, learners.values(), strict=True):
        lines, whole = {}, _whole(study, metric, sources)
        for place, (way, source) in enumerate(sources.items()):
            points = study.curve(source, metric, "keep_rate")
            lines[way] = [(rate, *(factor * value for value in values)) for rate, *values in points]
            shift = 1.08 ** ((len(sources) - 1) / 2 - place)
            panel.line(*WAYS[way][:1], lines[way], WAYS[way][1], shift=shift)
        level = study.get(*whole[:2], setting=whole[2]).times(factor)._replace(low=float("nan"))
        panel.level("all rows", level, forms.Look(forms.INK, "", forms.DASHED))
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
    said = "; ".join(f"{WAYS[way][0]} {forms.told(gaps[way], measure, sign=True)}" for way in shown)
    return f"{learner_name(learner)}, {measure.label} with 1 zero in {1 / rate:g}: {said}"


_METRIC = "ratio_bias"


def draw_ratio_bias(study):
    """Bias of the value estimator that has lost the count of rows, against the size of the log."""
    curves = {one["id"]: study.curve(one["id"], _METRIC, "n") for one in study.methods()}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return forms.blank("No bias of a ratio estimator was measured in this study.")
    canvas = forms.Canvas([""], 2.2, "Rows of the log, n", "Bias, % of the value")
    (panel,) = canvas.all
    sizes = sorted({n for points in curves.values() for n, *_ in points})
    panel.ticks(sizes)
    for place, (name, points) in enumerate(curves.items()):
        shown = [(n, *(100 * value for value in values)) for n, *values in points]
        shift = 1.03 ** (place - (len(curves) - 1) / 2)
        panel.line(study.label(name), shown, forms.SERIES[place % len(forms.SERIES)], shift=shift)
    first, fine = next(iter(curves.values()))[0], np.geomspace(sizes[0], sizes[-1], 40)
    guide = zip(fine, 100 * first[0] * first[1] / fine, strict=True)
    panel.line("like 1/n", guide, forms.Look(forms.GREY, "", forms.DASHED))
    panel.ax.axhline(0, color=forms.GREY, linewidth=0.6)
    most = max(curves, key=lambda name: abs(curves[name][0][1]))
    settings = study.settings(most, _METRIC)
    ends = [
        study.get(most, _METRIC, setting=setting).times(100)
        for setting in (settings[0], settings[-1])
    ]
    said = " and ".join(forms.told(end, sign=True, unit="%") for end in ends)
    title = f"{study.label(most)}: bias of {said} with {sizes[0]:g} and {sizes[-1]:g} rows"
    return canvas.drawing(title, "Bias of the estimator without a count, by rows of the log")


_LINES = {
    "auc_deviation": ("mean", forms.Look(forms.BLUE)),
    "auc_deviation_quantile": ("quantile", forms.Look(forms.SKY, "^")),
    "agarwal_bound": ("bound", forms.Look(forms.RED, "s")),
}


def draw_deviation(study):
    """How far the AUC of a few rows lies from that of all, by the share of positives among them."""
    sources = [s for s in forms.main_first(study) if study.measured("auc_deviation", source=s)]
    if not sources:
        return forms.blank("No deviation of an AUC was measured in this study.")
    curves = {metric: {} for metric in _LINES}  # by N, then by share
    for metric, lines in curves.items():
        for setting in study.settings(sources[0], metric, "general"):
            at = setting_options(setting)
            if {*at} == {"N", "rho"}:
                known = study.get(sources[0], metric, setting=setting)
                lines.setdefault(at["N"], {})[at["rho"]] = known
    budgets = sorted({budget for lines in curves.values() for budget in lines})
    titles = [f"{study.label(sources[0])}, N = {budget:g}" for budget in budgets]
    x = "Share of positives among the N rows"
    canvas = forms.Canvas(titles, 2.2, x, "Distance of the AUC", sharey=True)
    for panel, budget in zip(canvas.all, budgets, strict=True):
        for metric, (name, look) in _LINES.items():
            points = curves[metric].get(budget, {})
            panel.line(name, [forms.point(rho, points[rho]) for rho in sorted(points)], look)
        panel.ax.axvline(0.5, color=forms.PALE, linewidth=0.9)
        panel.ax.set_xticks([0, 0.5, 1])
        panel.ax.set_ylim(bottom=0)
    mean, bound = (
        curves[metric].get(budgets[-1], {}) for metric in ("auc_deviation", "agarwal_bound")
    )
    rho = min(mean, key=lambda one: abs(one - 0.5))
    title = f"The AUC of {budgets[-1]:g} rows ({rho:g} positive) is off by {forms.told(mean[rho])}"
    if rho in bound:
        title += f"; the bound is {bound[rho].mean:.2g}"
    return canvas.drawing(title, "Distance of the AUC and its bound by share of positives")


_SHOWN, _LEAST, _ERROR = 0.01, 1e-4, "calibration_error"
_TICKS = (0.001, 0.01, 0.1)


def draw_reliability(study):
    """Reliability curves: predicted against observed, with and without correction."""
    metric, curves = study.headline, {}
    learners = swept(study, metric) if metric else {}
    for learner, sources in learners.items():
        for way, source in sources.items():
            # Predicted and observed shares (bins, 2) by keep rate, means over splits.
            place = (["setting", "part"], source)
            bins = study.means_by(*place, "reliability_predicted", "general").to_frame("p")
            bins["y"] = study.means_by(*place, "reliability_observed", "general")
            at = [numbers_of(setting).get("keep_rate", np.nan) for setting, _ in bins.index]
            for rate, part in bins.groupby(at):
                curves[learner, rate, way] = part[["p", "y"]].dropna().to_numpy()
    rates = {rate for _, rate, _ in curves}
    if not rates:
        return forms.blank("No reliability curve was measured in this study.")
    low = min(rates, key=lambda rate: (abs(np.log(rate / _SHOWN)), rate))
    rates = list(dict.fromkeys([max(rates), low]))
    columns = list(dict.fromkeys(learner for learner, _, _ in curves))
    values = np.concatenate([np.ravel(points) for points in curves.values()])
    lowest = max(np.min(values[values > 0], initial=0.1) / 1.5, _LEAST)
    titles = [[f"{learner_name(one)}, l = {rate:g}" for one in columns] for rate in rates]
    shared, axes = {"sharex": True, "sharey": True}, ("Predicted probability", "Observed share")
    canvas = forms.Canvas(titles, 1.75, *axes, grid="both", pairs=True, **shared)
    ticks = [tick for tick in _TICKS if tick > 1.4 * lowest]
    for rate, row in zip(rates, canvas.panels, strict=True):
        for learner, panel in zip(columns, row, strict=True):
            panel.ax.grid(visible=False)
            panel.ax.set(xscale="log", yscale="log", xlim=(lowest, 1.15), ylim=(lowest, 1.15))
            ends = [(lowest, lowest), (1, 1)]
            panel.line("calibrated", ends, forms.Look(forms.PALE, ""), key=False)
            for way, (name, look) in WAYS.items():
                points = curves.get((learner, rate, way), np.zeros((0, 2)))
                panel.line(name, sorted(points[(points > 0).all(axis=1)].tolist()), look)
            panel.ax.minorticks_off()
            panel.ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            panel.ax.set_yticks([*ticks, 1], [f"{tick:g}" for tick in (*ticks, 1)])
    # Calibration errors of the first learner at the lower rate.
    (learner, sources), errors = next(iter(learners.items())), {}
    for way, source in sources.items():
        for setting in study.settings(source, _ERROR, "general"):
            if numbers_of(setting).get("keep_rate") == low:
                errors[way] = study.get(source, _ERROR, setting=setting)
    title = "Predicted and observed shares of positives"
    if errors:
        ends = dict.fromkeys([min(errors, key=lambda way: errors[way].mean), list(errors)[-1]])
        said = "; ".join(f"{WAYS[way][0]} {forms.told(errors[way])}" for way in ends)
        title = f"{learner_name(learner)}, calibration error at l = {low:g}: {said}"
    return canvas.drawing(title, "Observed against predicted shares by learner and keep rate")


_PANELS = 2


def draw_shares(study):
    """What share of positives a fixed budget of training rows should have."""
    swept = [one["id"] for one in study.methods(swept=True)]
    known = [one for one in study.plan["columns"] if study.measured(one)]
    source = next((s for s in swept for m in known if study.curve(s, m, "share")), None)
    if source is None:
        return forms.blank("No sweep over shares of positives was measured in this study.")
    metrics = [metric for metric in known if study.curve(source, metric, "share")][:_PANELS]
    # Methods within the budget that differ from the swept one in their share alone.
    method, marked = study.method(source), {}
    for one in study.methods(swept=False):
        same = one["model"] == method["model"] and study.measured("budget_excess", source=one["id"])
        if same and one["options"] | {"share": ""} == method["options"] | {"share": ""}:
            marked[one["id"]] = _share(study, one["id"], one["options"].get("share"))
    marked = {name: share for name, share in marked.items() if share is not None}
    axes = [forms.axis_of(study.measure(metric)) for metric in metrics]
    less = [study.measure(metric).better == "less" for metric in metrics]
    titles = [one[0] + less * " (less is better)" for one, less in zip(axes, less, strict=True)]
    canvas = forms.Canvas(titles, 2.2, "Share of positives among the rows bought")
    for panel, metric, (label, factor) in zip(canvas.all, metrics, axes, strict=True):
        panel.measures, curve = label, study.curve(source, metric, "share")
        points = [(share, *(factor * value for value in values)) for share, *values in curve]
        panel.line("given shares", points, forms.MAIN)
        for (name, share), look in zip(marked.items(), forms.TURNS, strict=False):
            own = [forms.point(share, study.get(name, metric), factor)]
            look = look._replace(marker="D", dash="none")
            panel.line(f"{study.label(name)}: {100 * share:.0f} %", own, look, markersize=5.5)
        panel.ax.margins(y=0.08)
        panel.ax.set(xlim=(-0.02, 1.02), xticks=[0, 0.25, 0.5, 0.75, 1])
    title, measure = f"{titles[0]} by share of positives", study.measure(metrics[0])
    if marked:
        name, share = list(marked.items())[-1]
        value = f"{measure.label} {forms.told(study.get(name, metrics[0]), measure)}"
        title = f"{study.label(name)} came to {100 * share:.0f} % of positives: {value}"
    return canvas.drawing(title, "Quality by share of positives among the rows bought")


def _share(study, source, share):
    """Mean share of positives of a method's training rows; None where that is not its choice."""
    if isinstance(share, int | float):
        return float(share)
    chosen, rows = study.rows(source, "chosen_share"), study.rows("labels", "positive_share")
    rows = chosen if len(chosen) else rows[(rows["part"] == "all") & (share == "natural")]
    return float(rows["value"].mean()) if len(rows) else None


def draw_value(study):
    """Values of policies estimated from logs that kept fewer and fewer zero rows."""
    values = {}
    for (source, name, rate), row in measured(study).items():
        known = row["value"] if row["value"].known else row["typical"]
        values.setdefault(source, {})[name, rate] = known
    if not values:
        return forms.blank("No value of a policy was measured in this study.")
    names = list(dict.fromkeys(name for known in values.values() for name, _ in known))
    largest = max(abs(one.mean) for known in values.values() for one in known.values())
    scale, unit = (100, "Value, %") if largest <= 0.2 else (1, "Value")
    x = "Rate l at which zero rows were kept"
    canvas, held = forms.Canvas([study.label(source) for source in values], 2.2, x, unit), {}
    for panel, (source, known) in zip(canvas.all, values.items(), strict=True):
        truth = study.get(source, "truth")
        panel.level("truth", truth.times(scale), forms.Look(forms.INK, ""))
        for place, name in enumerate(names):
            own = [forms.point(pair[1], known[pair], scale) for pair in known if pair[0] == name]
            look = forms.SERIES[place % len(forms.SERIES)]._replace(dash="none")
            shift = 1.09 ** ((len(names) - 1) / 2 - place)
            panel.line(study.named(name), own, look, shift=shift)
        panel.rates({rate for _, rate in known})
        panel.ax.margins(y=0.08)
        low, high = (truth.low, truth.high) if truth.bounded else (truth.mean, truth.mean)
        for (name, _), one in known.items():
            if one.bounded and truth.known:
                holds = one.low <= high and one.high >= low
                held.setdefault(study.named(name), []).append(holds)
    said = ", ".join(f"{name} {sum(one)} of {len(one)}" for name, one in held.items())
    title = f"Intervals that hold the value to be found: {said}" if said else f"{unit} by keep rate"
    return canvas.drawing(title, "Estimated values of policies by keep rate and estimator")


def draw_policies(study):
    """The value of each policy beside what the log earned."""
    lines = own_logs_page.policies(study)
    values = [own_logs_page.value_of(study, line) for line in lines]
    known = [pair for pair in zip(lines, values, strict=True) if pair[1].known]
    shown = known[: forms.MOST_ROWS]
    if not shown:
        return forms.blank("No policy of this log has a value.")
    names, base = [line.label for line, _ in shown], own_logs_page.logged(study)
    measure = study.measure("value")
    canvas, panel = forms.one_panel(names, "Reward a row")
    if base.known:
        panel.upright(base.mean, forms.LIMIT, "the log's own policy")
    for place, (line, value) in enumerate(shown):
        panel.dot(place, line.label, value, forms.OTHER if place else forms.MAIN)
    panel.ax.margins(x=0.1)
    title = f"{names[0]}: {forms.told(shown[0][1], measure)} a row; the log's own earned "
    title += forms.told(base, measure) + forms.of_all(known)
    return canvas.drawing(title, "Value of each policy with its interval, by the log")


def draw_predictions(study):
    """Each column of predictions, or each method, by the first measures of the table."""
    ranked = own_logs_page.ranked(study)
    lines = ranked[: forms.MOST_ROWS]
    metrics = [one for one in study.plan["columns"] if study.measured(one)][:3]
    if not lines or not metrics:
        return forms.blank("No predictions of this log were measured.")
    names = [line.label for line in lines]
    heads = [forms.axis_of(study.measure(metric)) for metric in metrics]
    titles = [head for head, _ in heads]
    canvas = forms.Canvas(titles, forms.row_height(len(names), names), sharey=True)
    canvas.rows(names)
    for panel, metric, (_, factor) in zip(canvas.all, metrics, heads, strict=True):
        for place, line in enumerate(lines):
            known = study.get(line.source, metric).times(factor)
            panel.dot(place, line.label, known, forms.OTHER if place else forms.MAIN)
        panel.ax.margins(x=0.1)
    measure = study.measure(metrics[0])
    said = forms.told(study.get(lines[0].source, metrics[0]), measure)
    title = f"{names[0]} has {measure.label} {said}{forms.of_all(ranked)}"
    return canvas.drawing(title, "Measures of each column of predictions, with intervals")
