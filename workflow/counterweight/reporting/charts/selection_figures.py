"""Figures of selected labels."""

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, MaxNLocator

from counterweight.reporting.charts import forms
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.trust import (
    LOGS_REHEARSED,
    REHEARSALS,
    REHEARSED,
    about_promises,
    assumed_of,
    blank_of,
    rehearsed_parts,
    scenario_of,
    swept_of,
)
from counterweight.reporting.wording import joined_words, number, places_for, told_apart
from counterweight.tables.parquet import setting_options

_BOUNDS = (
    "What rows without a label could make of a number if, at equal features, the odds of being one "
    "of them differ between outcomes by a factor of up to Γ from what is assumed."
)
_PLANNED = (
    "Half of the 95 % interval of what is asked, by what is spent on labels: as planned, by a plain "
    "random sample without estimates, and as planned if the estimates told nothing of single rows."
)
_EXPLORED = (
    "Half of the 95 % interval of the rate of rows such as those without an outcome, by months in "
    "which a share of them is decided by chance."
)
#: Text under each figure.
CAPTION_BY_NAME = {
    "accuracy": (
        "Each method on each population: mean over random splits with its 95 % interval. The "
        "dashed line is the baseline; methods with a dagger see labels that are hidden from all "
        "others."
    ),
    "boundary": (
        "Generated points with a known true boundary, in one split: the boundary learned from "
        "all labels (repeated as a dashed line), from those that are seen, and from these with "
        "weights. Labels of grey points are hidden."
    ),
    "collect": _PLANNED,
    "explore": _EXPLORED,
    "gamma": _BOUNDS,
    "likelihood": (
        "Log-likelihood of the unlabeled rows, per row and relative to the start, after each "
        "step of the mixtures that shift; each panel has its own scale."
    ),
    "rehearsal": (
        "The whole answer made again on copies of the table in which outcomes, and who has one, are "
        "drawn from what was fitted to it, so that the truth of each copy is known: for the rows "
        "without an outcome, estimate minus truth with the answer's 95 % interval, a copy each."
    ),
    "selection": (
        "Share of labeled rows among rows of about the same predicted chance (on the diagonal a "
        "model is calibrated), and how the chances are spread among labeled and unlabeled rows "
        "(their overlap): where labeled rows are absent, weights cannot help."
    ),
    "sensitivity": (
        "The headline measure (top) and the gain in log-likelihood of the unlabeled rows "
        "(bottom) after a number of steps, for each inertia (colour) and each set of parameters "
        "that may shift, beside the baseline (dashed) and a mixture that was not shifted "
        "(dotted)."
    ),
    "weights": (
        "The share of labeled rows that the weights leave in effect, how large they grow, and how far "
        "the mean of each feature is from its target before and after (a love plot); in the band "
        "below 0.1 sd."
    ),
}


def draw_accuracy(study):
    """The headline measure of every method on each population."""
    methods, targets = study.methods(swept=False), study.plan["targets"]
    metric = study.headline
    if metric is None:
        return forms.blank("No method was measured in this study.")
    label, factor = forms.axis_of(study.measure(metric))
    titles = [forms.capital(forms.TARGETS.get(target, target)) for target in targets]
    roles = {one["id"]: study.role(one["id"]) for one in methods}
    names = [study.label(s) + (" †" if role == "bound" else "") for s, role in roles.items()]
    canvas = forms.Canvas(titles, forms.row_height(len(names), names), x=label, sharey=True)
    canvas.rows(names)
    for panel, target in zip(canvas.all, targets, strict=True):
        level = study.get(study.baseline, metric, target)
        if level.known:
            panel.upright(factor * level.mean, forms.LIMIT)
        for place, source in enumerate(roles):
            known = study.get(source, metric, target).times(factor)
            panel.dot(place, study.label(source), known, forms.role_look(study, source))
            if not known.known:
                where = {"transform": panel.ax.get_yaxis_transform(), "va": "center"}
                panel.ax.text(0.02, place, "failed", color=forms.RED_TEXT, fontsize=8, **where)
        panel.ax.margins(x=0.08)
    gap = forms.against(study, metric, targets[0])
    title = f"{gap} ({forms.TARGETS.get(targets[0], targets[0])})" if gap else f"{label} by method"
    return canvas.drawing(title, f"{label} of every method, with intervals, by population")


#: Draws points in a plane with a known boundary: simulated data sets only.
KNOWN_BOUNDARY_BY_NAME = {"boundary": True}
READS_BY_NAME = {"boundary": ["train"]}
_POINTS, _ALL = 600, "All labels seen"
_LEARNED, _TRUE = forms.Look(forms.RED, ""), forms.Look(forms.INK, "")
_REFERENCE = forms.LIMIT


def draw_boundary(study):
    """Decision boundaries learned from all, from labeled, and from weighted points."""
    lines = _lines(study)
    if not lines:
        return forms.blank("No boundary of this study was learned.")
    features = study.table("features.parquet")
    first, truth = (
        table[table["repeat"] == table["repeat"].min()].drop(columns="repeat")
        for table in (study.table("labels.parquet"), study.table("truth.parquet"))
    )
    names = [name for name in features.columns if name != "row"][:2]
    points = features.merge(truth, on="row").merge(first[["row", "selected", "role"]], on="row")
    shown = points[points["role"] != "test"].sort_values("row")
    shown = shown.iloc[:: max(1, len(shown) // _POINTS)]
    canvas = forms.Canvas(list(lines), 2.2, *names, grid="x", sharex=True, sharey=True)
    for panel, (title, line) in zip(canvas.all, lines.items(), strict=True):
        panel.ax.grid(visible=False)
        x, y, label = (shown[name].to_numpy() for name in (*names, "y_general"))
        seen = (shown["selected"].to_numpy() == 1) | (title == _ALL)
        for name, rows, *look in (
            ("hidden", ~seen, forms.GREY, 1.6, False, 0.45),
            ("negative", seen & (label == 0), forms.ORANGE, 2.3, True),
            ("positive", seen & (label == 1), forms.BLUE, 2.5),
        ):
            panel.cloud(name, x[rows], y[rows], *look)
        if "p_positive" in points:
            x, y, p = (points[name].to_numpy() for name in (*names, "p_positive"))
            panel.ax.tricontour(x, y, p, levels=[0.5], colors=forms.INK, linewidths=0.8)
            panel.key("true boundary", _TRUE, linewidth=0.8)
        limits = [(points[name].min(), points[name].max()) for name in names]
        if title != _ALL and _ALL in lines:
            panel.line("from all labels", _ends(*lines[_ALL], *limits), _REFERENCE)
        panel.line("learned", _ends(*line, *limits), _LEARNED, linewidth=1.8)
        panel.ax.set(xlim=limits[0], ylim=limits[1])
    return canvas.drawing(_title(lines), "Points in a plane with learned and true boundaries")


def _lines(study):
    """Coefficients and intercept by title: of a bound, the baseline and a weighted method.

    All are of the baseline's model; the weighted one is the main method, if it is one of them.
    """
    if study.baseline is None or study.metrics.empty:
        return {}
    model = study.method(study.baseline)["model"]
    same = [name for name in forms.main_first(study, False) if study.method(name)["model"] == model]
    bounds = [name for name in same if study.role(name) == "bound"]
    others = [name for name in same if name != study.baseline and name not in bounds]
    lines = {_ALL: bounds, "Labels seen only": [study.baseline], "With weights": others}
    for title, names in list(lines.items()):
        known = [name for name in names if (study.folder / f"models/{name}.parquet").exists()]
        if not known:
            del lines[title]
            continue
        arrays = study.model(known[0], int(study.metrics["repeat"].min()))
        lines[title] = np.ravel(arrays["coef"]), float(arrays["intercept"])
    return lines


def _ends(coefficients, intercept, x, y):
    """Two points of a line, along the longer side: steep ones are drawn as well as flat ones."""
    a, b = coefficients[:2]
    if abs(b) >= abs(a):
        return [(at, -(intercept + a * at) / b) for at in x]
    return [(-(intercept + b * at) / a, at) for at in y]


def _title(lines):
    """How far the lines are turned from the one learned from all labels."""
    units = {title: w / np.linalg.norm(w) for title, (w, _) in lines.items()}
    if len(units) < 3:
        return "Boundaries learned from all labels and from those that are seen"
    cosines = np.clip([unit @ units[_ALL] for unit in units.values()], -1, 1)
    before, after = np.degrees(np.arccos(cosines[1:]))
    return f"Hidden labels turn the boundary by {before:.0f}°; with weights it is {after:.0f}° off"


_BAND = forms.Look(forms.BLUE, "")
_ERROR = forms.Look(forms.BLUE, "", forms.DOTTED)
_COMMON = forms.Look(forms.ORANGE, "", forms.DASHED)
_TRUTH = forms.Look(forms.RED, "", forms.DOTTED)


def draw_gamma(study):
    """How wrong the answer could be: bounds by Γ, around the one if missing at random."""
    shown = list(swept_of(study))
    if not shown:
        return forms.blank("No row without a label was swept in this study.")
    scales = [forms.axis_of(one.measure) for one in shown]
    units = [words.rpartition(", by Γ")[2] for words, _ in scales]
    titles = [one.name + unit for one, unit in zip(shown, units, strict=True)]
    rows = [titles] if len(titles) < 4 else [titles[:2], titles[2:]]
    height, x = forms.lower(2.2 if len(rows) == 1 else 1.9), "Γ: odds at most so many times off"
    canvas = forms.Canvas(rows, height, x, sharex=forms.is_narrow())
    for panel, one, (words, factor) in zip(canvas.all, shown, scales, strict=True):
        panel.measures = words
        ends = {
            end: [
                forms.point(setting_options(setting)["gamma"], known, factor)
                for setting, known in one.ends(end).items()
            ]
            for end in ("least", "most", "fewer", "more")
        }
        at = [point[0] for point in ends["least"]]
        low, high = ([point[1] for point in ends[end]] for end in ("least", "most"))
        panel.band(at, low, high)
        for end, outer in (("least", "low"), ("most", "high")) if one.chance else ():
            points = zip(
                at, (factor * getattr(of, outer) for of in one.ends(end).values()), strict=True
            )
            panel.line("with sampling error", [*points], _ERROR, bars=False, key=end == "least")
        panel.line("worst end for each row", ends["least"], _BAND, bars=False)
        panel.line("worst end for each row", ends["most"], _BAND, bars=False, key=False)
        for end in ("fewer", "more") if one.common else ():
            panel.line("one factor for all rows", ends[end], _COMMON, bars=False)
        if one.truth.known:
            ends = [(end, factor * one.truth.mean) for end in (at[0], at[-1])]
            panel.line("hidden labels", ends, _TRUTH, bars=False, linewidth=1.6)
        panel.ticks([gamma for gamma in at if gamma in _TICKS])
        panel.ax.set_xlim(1, max(at))
    alt = "Bounds of a rate and of measures, by Γ"
    return canvas.drawing(shown[0].sentence, alt, " ".join(_told_of_gamma(study, shown)))


def _told_of_gamma(study, shown):
    """The caption; what lines are stands in the legend."""
    yield _BOUNDS.replace("rows without a label", blank_of(study))
    yield f"Γ = 1 is {assumed_of(study)}."
    if any(one.truth.known for one in shown):
        yield "Hidden labels are known in studies of public data alone."


_TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)


def draw_rehearsal(study):
    """The answer on copies of the table: how far each was from the truth, and its interval."""
    target = study.plan["targets"][0]
    settings = study.places("setting", REHEARSED, "rehearsed_held", target)
    if not settings:
        return forms.blank("No copy of the table was made in this study.")
    factor = 100 if study.measured("target_rate", target) else 1
    unit = "points" if factor == 100 else "in the outcome's unit"
    panels = [(setting, "unlabeled") for setting in settings]
    if not len(_copies(study, target, *panels[0])):
        parts = rehearsed_parts(study)
        panels = [one for one in parts if len(_copies(study, target, *one).dropna())][:6]
    if not panels:
        return forms.blank("No copy of the table has an interval.")
    titles = [
        _panel_of(setting) if part == "unlabeled" else f"{part}, {_panel_of(setting).lower()}"
        for setting, part in panels
    ]
    blanks = panels[0][1] == "unlabeled"
    error = f"Error, {unit}" if blanks else "Estimate minus truth"
    canvas = forms.Canvas(titles, 2.0, "Copies, in order of the error", error, sharey="row")
    words, found = REHEARSALS if blanks else LOGS_REHEARSED, []
    for panel, (setting, part) in zip(canvas.all, panels, strict=True):
        copies = _copies(study, target, setting, part)
        # A promise has a limit on one side alone.
        copies["low"] = copies["low"].where(np.isfinite(copies["low"]), copies.min(axis=1))
        copies = copies.sub(copies["truth"], axis=0).mul(factor).dropna().sort_values("estimate")
        held = (copies["low"] <= 0) & (copies["high"] >= 0)
        copies["at"] = np.arange(1, len(copies) + 1)
        panel.level("truth", Estimate(0.0), forms.Look(forms.INK, ""))
        for name, which, look in (("held", held, _HELD), ("missed", ~held, _MISSED)):
            points = copies[which][["at", "estimate", "low", "high"]].itertuples(index=False)
            panel.line(f"interval {name} the truth", [*points], look, markersize=2.6)
        which = "" if blanks else f" ({part})"
        found.append(f"{held.sum()} of {len(held)} {scenario_of(setting, words=words)}{which}")
    alt = "Error and interval of the answer on each copy of the table"
    if blanks:
        title = "For the rows without an outcome the interval held the truth"
        return canvas.drawing(f"{title} in {joined_words(found)}", alt)
    title = "The interval held the truth"
    title = "Promises were kept" if about_promises(study) else title
    return canvas.drawing(f"{title} in {joined_words(found)}", alt, _OTHER_COPIES)


#: The caption where no outcome is blank.
_OTHER_COPIES = (
    "The whole answer made again on copies of the table in which what is not known of everybody was "
    "drawn anew from what was fitted to it, so that the truth of each copy is known: estimate minus "
    "truth with the answer's 95 % interval, of a promise all up to where it is kept, a copy each."
)
#: Titles of panels, where a scenario's sentence has no room.
_SCENARIOS = {
    "assumed": "As assumed",
    "outcome": "Odds times {gamma:g}, or 1/{gamma:g}",
    "hidden": "Strongest column hidden",
    "overlap": "Twice as clear cut",
}


def _panel_of(setting):
    name, gamma = next(iter(setting_options(setting).items()))
    return _SCENARIOS[name].format(gamma=gamma or 1)


def _copies(study, target, setting, part):
    """Truth, estimate and interval of a part, a line each copy."""
    found = {}
    for what in ("truth", "estimate", "low", "high"):
        rows = study.rows(REHEARSED, f"rehearsed_{what}", target)
        rows = rows[rows["setting"].eq(setting) & rows["part"].eq(part)]
        found[what] = rows.dropna(subset="step").set_index("step")["value"]
    return pd.DataFrame(found)


_HELD, _MISSED = forms.Look(forms.BLUE, "o", "none"), forms.Look(forms.RED, "D", "none")


def draw_likelihood(study):
    """Likelihood of the unlabeled rows while a mixture shifts."""
    curves = {}
    for method in study.methods(swept=False):
        curve = forms.by_step(study.rows(method["id"], "log_likelihood", "unlabeled"))
        if curve is not None and 0 in curve and len(curve.columns) > 1:
            curves[method["id"]] = curve.sub(curve[0], axis=0)
    if not curves:
        return forms.blank("No shifted mixture of this study was fitted.")
    canvas = forms.Canvas([study.label(name) for name in curves], 2.1, "Steps", "Gain, nats a row")
    for panel, curve in zip(canvas.all, curves.values(), strict=True):
        panel.splits(curve, "split")
    gains = {name: curve.ffill(axis=1).iloc[:, -1] for name, curve in curves.items()}
    best = max(gains, key=lambda name: gains[name].mean())
    gain = forms.told(study.difference(gains[best], 0 * gains[best]), sign=True, unit="nats")
    title = f"{study.label(best)}: {gain} a row on the unlabeled"
    return canvas.drawing(title, "Gain in log-likelihood of the unlabeled rows by step")


_BINS, _SHARE, _ROWS = 20, "Labeled, share", "Rows, %"


def draw_selection(study):
    """How well the models of the labeling know who is labeled."""
    names = [one["id"] for one in study.plan["selectors"]]
    names = [name for name in names if len(study.rows(name, "calibration_predicted"))]
    if not names:
        return forms.blank("No selection model of this study was measured.")
    known = {name: study.get(name, "auc", "") for name in names}
    titles = [
        (study.label(name) + (f" (AUC {auc.mean:.2f})" if auc.known else ""), "Overlap")
        for name, auc in known.items()
    ]
    x = "Predicted chance of being labeled"
    canvas = forms.Canvas(titles, 1.5, x, _SHARE, pairs=True, sharex=True)
    for name, (left, right) in zip(names, canvas.panels, strict=True):
        predicted, observed = (
            study.means_by("part", name, f"calibration_{which}")
            for which in ("predicted", "observed")
        )
        left.line("calibrated", [(0, 0), (1, 1)], forms.Look(forms.PALE, ""), key=False)
        points = zip(predicted, observed.reindex(predicted.index), strict=True)
        left.line("observed", sorted(points), forms.MAIN, key=False)
        left.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
        right.measures, right.name = _ROWS, study.label(name)
        for which, colour, sign in (("labeled", forms.BLUE, 1), ("unlabeled", forms.ORANGE, -1)):
            share = 100 * sign * study.means_by("part", name, f"overlap_{which}")
            places = (share.index.astype(int).to_numpy() + 0.5) / _BINS
            right.bars(f"{which} rows", places, share.to_numpy(), colour, 0.9 / _BINS)
        limit = 1.1 * max(map(abs, right.ax.get_ylim()))
        right.ax.set(ylim=(-limit, limit), ylabel=_ROWS)
        right.ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    best = max(known, key=lambda name: known[name].mean if known[name].known else -1)
    title = "How well selection models know who is labeled"
    if known[best].known:
        title = f"{study.label(best)} tells best who is labeled: AUC {forms.told(known[best])}"
        if not (known[best].low if known[best].bounded else known[best].mean) > 0.5:
            title = f"Nothing tells who is labeled beyond chance: AUC {forms.told(known[best])}"
    return canvas.drawing(title, "Calibration and overlap of each model of who is labeled")


_TARGET, _LIKELIHOOD = "unlabeled", "unlabeled_log_likelihood"


def draw_sensitivity(study):
    """How far a shifted mixture moves, and what that does to its accuracy."""
    metric = study.headline
    targets = (_TARGET, *study.plan["targets"])
    target = next((one for one in targets if study.measured(metric, one)), "")
    known = {}
    for one in study.methods(swept=True):
        for setting in study.settings(one["id"], _LIKELIHOOD):
            place = {"target": target, "setting": setting}
            pair = [study.get(one["id"], name, **place).mean for name in (metric, _LIKELIHOOD)]
            known[one["id"], setting] = setting_options(setting), pair
    if not known:
        return forms.blank("No sweep of this study was measured.")
    options = [one for one, _ in known.values()]
    columns = list(dict.fromkeys(one.get("shifts", "all") for one in options))
    inertias = sorted({one.get("inertia", np.nan) for one in options}, reverse=True)
    steps = sorted({one.get("iterations", 1.0) for one in options})
    shades = np.linspace(0, len(forms.ORDERED) - 1, len(inertias)).round().astype(int)
    label, factor = forms.axis_of(study.measure(metric))
    titles = ["all may shift" if one == "all" else f"only {one}" for one in columns]
    labels, shared = (label, "Gain, nats a row"), {"sharex": True, "sharey": "row"}
    canvas = forms.Canvas([titles, titles], 1.75, "Steps", labels, pairs=True, **shared)
    least = min(pair[1] for _, pair in known.values())
    for row, (panels, scale, start) in enumerate(
        zip(canvas.panels, (factor, 1), (0, least), strict=True)
    ):
        for panel, shifts in zip(panels, columns, strict=True):
            for inertia, shade in zip(inertias, shades, strict=True):
                points = [
                    (one.get("iterations", 1.0), scale * (pair[row] - start))
                    for one, pair in known.values()
                    if (one.get("shifts", "all"), one.get("inertia", np.nan)) == (shifts, inertia)
                ]
                look = forms.Look(forms.ORDERED[shade])
                panel.line(f"inertia {inertia:g}", sorted(points), look)
            for source, dash in _levels(study) if not row else ():
                level = study.get(source, metric, target).times(factor)._replace(low=np.nan)
                panel.level(study.label(source), level, forms.Look(forms.RED, "", dash))
            if len(steps) > 1 and steps[0] > 0:
                panel.ticks(steps)
    source, setting = max(known, key=lambda key: known[key][1][1])
    found = forms.against(study, metric, target, source, setting=setting)
    title = f"The likeliest setting of {found}"
    return canvas.drawing(title, "Accuracy and likelihood by steps, inertia and what may shift")


def _levels(study):
    """The baseline, and a mixture that is not shifted, as weighted for the target."""
    if study.baseline is not None:
        yield study.baseline, forms.DASHED
    weighted = {one["weighting"] for one in study.plan["weightings"] if one["target"] == _TARGET}
    for one in study.methods(swept=False):
        plain = one["model"] == "generative" and study.role(one["id"]) != "bound"
        if plain and one["weights"] in weighted:
            yield one["id"], forms.DOTTED
            return


_SHOWN, _CLOSE = 10, 0.1
_LARGEST = "Largest weight (hollow: before the cap)"


def draw_weights(study):
    """What the importance weights do: effective size, largest weight, balance of the features."""
    kinds = {one["id"]: one for one in study.plan["weightings"]}
    names = [name for name in kinds if len(study.rows(name, "effective_sample_size"))]
    if not names:
        return forms.blank("No weights of this study were measured.")
    # Of each target the first: the one that models use unless told otherwise.
    first = {kinds[name]["target"]: name for name in reversed(names)}
    shown = [name for name in names if name in first.values()]
    # Features by their imbalance before weighting, worst first.
    worst = {}
    for name in shown:
        for feature, value in study.means_by("part", name, "balance_before").items():
            worst[feature] = max(worst.get(feature, 0.0), abs(value))
    features = sorted(worst, key=lambda feature: (-worst[feature], feature))[:_SHOWN]
    upper = ["Effective share of rows, %", _LARGEST]
    lower = [f"{study.label(s)}, {forms.TARGETS.get(kinds[s]['target'], '')}" for s in shown]
    labels = [study.label(name) for name in names]
    heights = [forms.row_height(len(names), labels), forms.row_height(len(features))]
    away = "Difference from the target mean, standard deviations"
    canvas = forms.Canvas([upper, lower], heights, away, sharey="row")
    left, right = canvas.panels[0]
    left.measures, right.measures = upper
    canvas.rows(labels, canvas.panels[0])
    labels = told_apart([name.replace("_", " ") for name in features], 30)
    canvas.rows(labels, canvas.panels[1])
    sizes = {name: study.rows(name, "effective_sample_size") for name in names}
    shares = [
        float(100 * (s["value"] / s["rows"].where(s["rows"] > 0)).mean()) for s in sizes.values()
    ]
    left.bars("effective share", range(len(names)), shares, forms.BLUE, 0.5, rows=True)
    left.ax.set(xlim=(0, 112), xticks=[0, 25, 50, 75, 100])
    drawn = []
    for place, (name, share) in enumerate(zip(names, shares, strict=True)):
        left.ax.text(share + 1.5, place, f"{share:.0f}", va="center", fontsize=7.5)
        largest, uncapped = (
            study.rows(name, f"largest_{which}")["value"].mean() for which in ("weight", "uncapped")
        )
        if uncapped > largest:
            right.link(place, [largest, uncapped])
            right.dot(place, "before the cap", uncapped, forms.MAIN._replace(hollow=True))
        right.dot(place, "largest weight", largest, forms.MAIN)
        drawn += [largest, max(largest, uncapped)]
    right.ax.margins(x=0.12)
    right.ax.xaxis.set_major_locator(MaxNLocator(4))
    if max(drawn) > 10 * min(drawn) > 0:  # less than a decade has too few ticks
        right.ax.set_xscale("log")
        right.ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=6))
        right.ax.minorticks_off()
    right.ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    inside = [
        _balance(panel, study, s, features)
        for panel, s in zip(canvas.panels[1], shown, strict=True)
    ]
    title = f"Weights leave {forms.span(shares)} % of the labeled rows in effect"
    if features:
        title += f"; {forms.span(inside)} of {len(features)} features end balanced"
    return canvas.drawing(title, "Effective rows, largest weights and balance of features")


def _balance(panel, study, name, features):
    """Number of features that are balanced after weighting."""
    before, after = (
        study.means_by("part", name, f"balance_{when}") for when in ("before", "after")
    )
    panel.ax.axvspan(-_CLOSE, _CLOSE, color=forms.BLUE, alpha=0.08, linewidth=0)
    panel.uprights += [-_CLOSE, _CLOSE]  # no scale ends within the band
    panel.ax.axvline(0, color=forms.GREY, linewidth=0.6)
    panel.ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    for place, feature in enumerate(features):
        ends = before.get(feature, np.nan), after.get(feature, np.nan)
        panel.link(place, ends)
        panel.dot(place, "before weighting", ends[0], forms.BOUND, key=True)
        panel.dot(place, "after weighting", ends[1], forms.MAIN, key=True)
    return sum(abs(after.get(feature, np.nan)) < _CLOSE for feature in features)


#: Of what a line is, in the order in which they are drawn.
LINES = {
    "plan": ("as planned", forms.MAIN),
    "plain": ("plain random sample", forms.BASELINE),
    "wrong": ("as planned, estimates told nothing", forms.Look(forms.GREY, "o", forms.DASHED)),
}
_REACHED = forms.Look(forms.RED, "X", "none")
_SOURCE, _TARGET = "collect", "unlabeled"
ENDS = ("low", "high")


def draw_collect(study):
    """Expected half-widths by budget, and the one that was reached."""
    known = (one for one in ("points", "half_width") if study.measured(f"expected_{one}", _TARGET))
    kind = next(known, None)
    if kind is None:
        return forms.blank("No plan of labels was made in this study.")
    metric, spent = f"expected_{kind}", study.measured("labels_cost", _TARGET)
    words, _ = forms.axis_of(study.measure(metric))
    target = study.plan["targets"][0]
    # Where labels tell of predictions they are counted with the rows of the log, of offers with
    # the plan.
    told = (("delivered", target, {}), ("labels", target, {"part": "log"}), (_SOURCE, _TARGET, {}))
    known = (one for one in told if study.get(one[0], f"reached_{kind}", one[1], **one[2]).known)
    source, target, place = next(known, told[0])
    reached = study.get(source, f"reached_{kind}", target, **place)
    bought, refused, waiting = (
        study.get(source, f"labels_{one}", target, **place).mean
        for one in ("bought", "refused", "waiting")
    )
    below = "Asked in all" if refused > 0 else "Labels in all"
    below = "Spent on labels" if spent else below
    canvas = forms.Canvas(["The interval to expect"], forms.lower(2.6), below, words)
    panel = canvas.all[0]
    budgets = study.places("part", _SOURCE, metric, _TARGET)
    for variable, (name, look) in LINES.items():
        points = [
            (float(at), study.get(_SOURCE, metric, _TARGET, part=at, variable=variable).mean)
            for at in budgets
        ]
        panel.line(name, points, look, bars=False)
    low, high = (
        [study.get(_SOURCE, metric, _TARGET, part=at, variable=end).mean for at in budgets]
        for end in ENDS
    )
    panel.band([float(at) for at in budgets], low, high)
    budget = study.get(_SOURCE, "labels_budget", _TARGET).mean
    panel.upright(budget, forms.Look(forms.INK, "", forms.DOTTED), "the plan")
    if reached.known and not spent:
        panel.line(
            "reached", [(bought + refused, reached.mean)], _REACHED, bars=False, markersize=7
        )
    panel.ax.set_xlim(left=0)
    panel.ax.set_ylim(bottom=0)
    panel.ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    planned = study.get(_SOURCE, f"planned_{kind}", _TARGET).mean
    count = number(study.get(_SOURCE, "labels_planned", _TARGET).mean, 0)
    size = number(planned, places_for([planned], 1)) + " points" * (kind == "points")
    title = f"With {count} labels the interval is expected to be ±{size}"
    ends = [study.get(_SOURCE, f"planned_{kind}", _TARGET, variable=end) for end in ENDS]
    if all(end.known for end in ends):
        low, high = (number(end.mean, places_for([planned], 1)) for end in ends)
        title += f", and may be ±{low} to ±{high}"
    if reached.known:
        got = number(reached.mean, places_for([planned], 1)) + " points" * (kind == "points")
        title = f"With {number(bought, 0)} labels the interval is ±{got}"
        title += f"; with all {count} of the plan ±{size} is expected" * bool(waiting)
    shaded = (
        " Shaded is what may come of the plan while no label says how far the odds of these rows are "
        "off, up to 3 times or a third."
    )
    crossed = " The cross is what the labels that were bought have reached."
    caption = _PLANNED + shaded * all(end.known for end in ends)
    caption += crossed * bool(reached.known and not spent)
    alt = "Expected half-width of the interval by number of labels"
    return canvas.drawing(title, alt, caption)


def draw_explore(study):
    """What exploring teaches and costs, by month."""
    months = study.places("part", _SOURCE, "explore_points", _TARGET)
    if not months:
        return forms.blank("Nothing is explored in this study.")
    priced = study.measured("explore_cost", _TARGET)
    heads = ["What it teaches", *["What it costs"] * priced]
    words, _ = forms.axis_of(study.measure("explore_points"))
    canvas = forms.Canvas(heads, 2.6, "Months", words)

    def points(metric):
        return [(float(at), study.get(_SOURCE, metric, _TARGET, part=at).mean) for at in months]

    first = canvas.all[0]
    first.line("half-width", points("explore_points"), forms.MAIN, bars=False)
    refit = study.get(_SOURCE, "explore_refit", _TARGET)
    if refit.known:
        first.upright(refit.mean, forms.Look(forms.INK, "", forms.DOTTED), "refit")
    first.ax.set_ylim(bottom=0)
    caption = _EXPLORED
    if priced:
        caption = f"{caption.removesuffix('.')}; and what that is expected to cost until then."
        cost = canvas.all[1]
        cost.measures, _ = forms.axis_of(study.measure("explore_cost"))
        cost.ax.set_ylabel(cost.measures)
        most = forms.Look(forms.RED, "X", forms.DASHED)
        cost.line("as estimated", points("explore_cost"), forms.BASELINE, bars=False)
        if study.measured("explore_most", _TARGET):  # until outcomes are there
            caption = f"{caption.removesuffix('.')}, as estimated and at three times the odds."
            cost.line("at three times the odds", points("explore_most"), most, bars=False)
    size = number(study.get(_SOURCE, "explore_points", _TARGET, part=months[-1]).mean, 1)
    return canvas.drawing(
        f"After {months[-1]} months the rate is expected to be known to ±{size} points",
        "What exploring teaches, and costs, by month",
        caption,
    )
