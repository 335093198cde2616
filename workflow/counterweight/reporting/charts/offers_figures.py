"""Figures of offers and answers."""

import numpy as np
import pandas as pd

from counterweight.errors import in_figures
from counterweight.labeling.offered import OfferScale, offer_range
from counterweight.models.choice.offer_model import acceptance, optimal_offer
from counterweight.models.choice.segment_model import Features
from counterweight.reporting.charts import forms
from counterweight.reporting.wording import count, shortened

#: Text under each figure.
CAPTION_BY_NAME = {
    "segments": (
        "Training rows of the first repeat by two features, and the segments as ellipses that "
        "hold half and nine tenths of a Gaussian (the thicker, the more people); dashed: nine "
        "tenths of each true component, where the truth is known."
    ),
    "curves": (
        "Chance of acceptance and expected revenue along the offer for the largest segments, "
        "first repeat. Lines are full where the middle nine tenths of the segment's past offers "
        "lie and dotted beyond, where the form of the curve alone speaks. Dots: the offer of "
        "most expected revenue."
    ),
    "enrolment": (
        "Acceptances and revenue at the historical offers: predicted, with 95 % interval of the "
        "mean over repeats, beside the actual total (with the band of chance where the truth is "
        "known) and the true expectation. Last: revenue with each method's best offers, as "
        "claimed and as far as it is known."
    ),
    "model_order": (
        "Log-likelihood of the training rows above that of the fewest segments, and description "
        "length above its least, by the number of segments J. Triangles mark in how many "
        "repeats a number was chosen, a dashed line the true one."
    ),
    "profiles": (
        "Segments of the choice model, first repeat, from the largest, with the offer of most "
        "expected revenue: mean of each feature, and by colour how far it is from that of all "
        "people in their standard deviations (blue above, orange below)."
    ),
    "response": (
        "As Figure 1 of Noor, Dailey and Haddawy, on the model's scale of offers: chance of "
        "acceptance by equation 3 with η = 1/2 and k = 5, and what an offer d then earns, 1 − "
        "d. Dots are best offers. Beside it the segment of this study whose η and k are "
        "nearest."
    ),
}
READS_BY_NAME = {
    "segments": ["train"],
    "response": ["train"],
    "curves": ["train", "deliver"],
    "profiles": ["train", "deliver"],
}


_BINS, _GROUPS, _FEATURES, _FEW, _LEAST = 10, 5, 10, 5, 20
_DONE = forms.SERIES[1]


def people_asked(study, segments):
    """The people of the files of offers, with features; None where segments price them."""
    given, path = study.delivered[0], study.folder / "offers.parquet"
    if given is None or (segments or {}).get("source") == given or not path.exists():
        return None
    offers, features = study.table("offers.parquet"), study.table("features.parquet")
    features = features.sort_values("row").reset_index(drop=True)
    if len(offers) != len(features):
        return None
    truth = study.table("truth.parquet")
    answers = truth.loc[truth["repeat"] == truth["repeat"].min(), ["row", "answer"]]
    wanted = ["best_offer", "best_p", "best_revenue", "offer", "p"]
    told = pd.concat([features, offers[wanted].add_prefix("@")], axis=1)
    return told.merge(answers.rename(columns={"answer": "@answer"}), on="row", how="left")


def _scale(study, made):
    """The scale of offers that the study declares, and its axis in words."""
    offer = study.plan.get("offer") or {}
    own = {name: offer[name] for name in ("direction", "revenue") if name in offer}
    scale = OfferScale(*offer_range(offer, np.asarray(made, float)), **own)
    return scale, forms.joined_words(["Offer", offer.get("unit", "")])


#: What is drawn where each offer loses.
NOBODY = "No offer is better than none for anybody."


def curves_of(study, told):
    """Acceptance and revenue by past offer, predicted and as answered; the best offers below."""
    known = told.dropna(subset=["@offer", "@p", "@answer"])
    scale, x = _scale(study, known["@offer"])
    edges = np.unique(known["@offer"])
    if len(edges) > _BINS:
        inner = np.linspace(0, 1, _BINS + 1)[:-1]
        edges = np.unique(np.quantile(known["@offer"], inner))
    place = np.searchsorted(edges, known["@offer"], "right") - 1
    earns = scale.revenue(known["@offer"].to_numpy(float))
    groups = known.groupby(place)
    at, count = groups["@offer"].mean(), groups.size()
    earned = "Revenue" if forms.is_narrow() else "Revenue a person"  # as far as there is room
    ys, titles = ("Accepted", earned, "People"), [[""], [""], [""]]
    canvas = forms.Canvas(titles, forms.lower(1.6), x, ys, grid="both", sharex=True)
    above, middle, below = canvas.all
    for panel, factor in ((above, 1.0), (middle, earns)):
        for name, column, look in (("predicted", "@p", forms.MAIN), ("answered", "@answer", _DONE)):
            values = (known[column].astype(float) * factor).groupby(place)
            mean, error = values.mean(), 1.96 * values.std().fillna(0.0) / np.sqrt(count)
            answered = column == "@answer"
            ends = (mean - error, mean + error) if answered else (mean * np.nan,) * 2
            look = look._replace(marker="o", dash="none" if answered else "-")
            panel.line(name, zip(at, mean, *ends, strict=True), look)
    best = told["@best_offer"].dropna().to_numpy(float)
    if not len(best):
        return forms.blank(NOBODY)
    (at, heights, width), unit = _bars_of(best, scale), x.partition(", ")[2]
    below.bars("best offers", at, heights, forms.MAIN.colour, width)
    over = max(scale.low + width / 2 - at[0], at[-1] + width / 2 - scale.high, 0.0)
    above.ax.set(ylim=(0, 1.02), xlim=(scale.low - over, scale.high + over))
    if len(levels := np.unique(best)) <= _BINS:
        most = int(np.argmax(heights))
        which = "the commonest best offer" if len(levels) > 1 else "everybody's best offer"
        told = f"{which} is {forms.joined_words([in_figures(levels[most], 6), unit])}"
        if len(levels) > 1:
            told += f" ({100 * heights[most] / len(best):.0f} % of the people)"
    else:
        places = forms.places_for([scale.high - scale.low], 2, 3)
        told = f"most best offers are {forms.span(np.quantile(best, [0.1, 0.9]), places, unit)}"
    title = f"{study.label(study.delivered[0])} is used: {told}"
    caption = (
        "What was accepted and earned by past offer, as the method predicts and as people answered "
        "(with 95 % intervals); below, the best offers."
    )
    alt = "Acceptance and revenue by past offer, and the best offers"
    return canvas.drawing(title, alt, caption)


def _bars_of(best, scale):
    """Where bars of best offers stand, how high, and their width: few offers have one each."""
    levels, counts = np.unique(best, return_counts=True)
    if len(levels) > _BINS:
        counts, edges = np.histogram(best, bins=20, range=(scale.low, scale.high))
        levels = (edges[1:] + edges[:-1]) / 2
    return levels, counts, 0.9 * np.diff(levels).min(initial=(scale.high - scale.low) / 20)


def profiles_of(study, told):
    """Means of features by fifth of the best offer."""
    names = [name for name in told.columns if not name.startswith("@") and name != "row"]
    told = told.dropna(subset=["@best_offer"])  # of others no offer is better
    if told.empty:
        return forms.blank(NOBODY)
    best, values = told["@best_offer"].to_numpy(float), told[names].to_numpy(float)
    groups = min(_GROUPS, max(len(told) // _LEAST, 1))
    fifths = np.array_split(np.argsort(best, kind="stable"), groups)
    spread = np.nanstd(values, axis=0)
    means = np.array([np.nanmean(values[own], axis=0) for own in fifths])
    away = (means - np.nanmean(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    tells = np.sqrt((away**2).mean(axis=0))
    places = forms.places_for([np.abs(best).max()], 1)
    labels = [f"offers {forms.span(best[own], places)}" for own in fifths]
    hidden = max(len(names) - _shown(), 0)
    text = f"Not shown: {count(hidden, 'feature')} telling less" if hidden else ""
    canvas = _map_of_means(labels, names, means, away, tells, text)
    title = f"Best offers differ most by {names[int(np.argmax(tells))].replace('_', ' ')}"
    if best.min() == best.max():
        title = f"Everybody gets the same offer, {forms.span(best, places)}"
    caption = (
        "Means of features by fifth of people, in the order of their best offers; by colour how "
        "far each is from that of all people in their standard deviations (blue above, orange "
        "below)."
    )
    alt = "Means of features by best offer, coloured by distance from all"
    return canvas.drawing(title, alt, caption)


def _shown():
    """Most features of a map of means: on a telephone as many as have room for their numbers."""
    return _FEW if forms.is_narrow() else _FEATURES


def _heads(names, most=24):
    """Names of columns as there is room; of a category's level, the level in full if it can be."""
    parts = [name.rpartition("=") for name in names]
    levels = [shortened(level, most, 12) for _, _, level in parts]
    short = [
        f"{column[: max(most - len(level) - 2, 6)].rstrip()}…={level}"
        if equals and len(name) > most
        else shortened(name, most, 10)
        for name, (column, equals, _), level in zip(names, parts, levels, strict=True)
    ]
    twice = {one for one in short if short.count(one) > 1}
    return [n if one in twice else one for n, one in zip(names, short, strict=True)]


def _map_of_means(labels, names, means, away, tells, text):
    """Groups by features; of many features those that tell groups apart the most."""
    columns = np.sort(np.argsort(-tells, kind="stable")[: _shown()])
    digits = {j: forms.places_for([np.abs(means[:, j]).max()], 0) for j in columns}
    texts = [[forms.number(row[j], digits[j]) for j in columns] for row in means]
    heads = _heads([names[j].replace("_", " ") for j in columns])
    canvas = forms.Canvas([""], 0.5 + 0.27 * len(means), text)
    canvas.all[0].cells(labels, heads, means[:, columns], away[:, columns] / 2, texts)
    return canvas


_POINTS, _SEGMENTS = 1200, 30
#: What the arrays of a fitted choice model are called.
_ARRAYS = ("weights", "eta", "k")
_FOUND, _TRUE = forms.Look(forms.INK, ""), forms.Look(forms.RED, "", forms.DASHED)


def draw_segments(study):
    """People in the plane of two features, and the segments of the choice model."""
    found = choice_model(study)
    if found is None:
        return forms.blank("No choice model of this study was fitted.")
    means, covariances, weights = (found[name] for name in ("means", "covariances", "weights"))
    if means.shape[1] < 2:
        return forms.blank("No plane: the choice model uses fewer than two numbers.")
    names, rows = found["names"][:2], found["rows"]
    points = rows[["row", "repeat", "answer", *names]].dropna()
    canvas = forms.Canvas([""], 3.4, *(name.replace("_", " ") for name in names), grid="x")
    (panel,) = canvas.all
    panel.ax.grid(visible=False)
    shown = points.iloc[:: max(1, len(points) // _POINTS)]
    for name, answer, *look in (
        ("refused", 0, forms.ORANGE, 1.9, True, 0.75),
        ("accepted", 1, forms.BLUE, 2.2, False, 0.75),
    ):
        own = shown[shown["answer"].astype(float) == answer]
        panel.cloud(name, own[names[0]], own[names[1]], *look)
    for j in np.argsort(weights)[::-1][:_SEGMENTS]:
        width = 0.9 + 1.4 * float(weights[j] / weights.max())
        for share, thick in ((0.5, 1.0), (0.9, 0.6)):
            ring = _ellipse(means[j, :2], covariances[j, :2, :2], share)
            panel.line("segment", ring, _FOUND, linewidth=width * thick)
    truth = study.table("truth.parquet")
    true = 0
    if "component" in truth:
        known = points.merge(truth[["repeat", "row", "component"]], on=["repeat", "row"])
        for _, part in known.groupby("component"):
            if len(part) > 2:
                true += 1
                covariance = np.cov(part[names].T.astype(float))
                ring = _ellipse(part[names].mean().to_numpy(), covariance, 0.9)
                panel.line("true component", ring, _TRUE, linewidth=1.0)
    for axis, name in zip("xy", names, strict=True):
        room = 0.04 * (np.ptp(points[name]) or 1.0)
        panel.ax.set(**{f"{axis}lim": (points[name].min() - room, points[name].max() + room)})
    title = f"{len(weights)} segments; the largest holds {100 * weights.max():.0f} % of people"
    title += f"; {true} are true" if true else ""
    return canvas.drawing(title, "People in a plane by answer, with the segments that were found")


def choice_model(study, repeat=0):
    """The study's first model of segments with curves, the main method before others; or None.

    A dict of its arrays; ``source``; ``rows``, labels and features of its training rows; ``names``
    of the numbers that it uses; ``columns`` and ``profiles``, names and means by segment of these
    and of the columns of its categories; ``scale`` of offers and the ``best`` offer of each
    segment.
    """
    for source in forms.main_first(study, False):
        if not (study.folder / "models" / f"{source}.parquet").exists():
            continue
        arrays = {name: np.atleast_1d(one) for name, one in study.model(source, repeat).items()}
        if not all(name in arrays for name in _ARRAYS):
            continue
        features, labels = study.table("features.parquet"), study.table("labels.parquet")
        scale, _ = _scale(study, labels["offer"])
        labels = labels[(labels["repeat"] == repeat) & (labels["role"] == "train")]
        names = [name for name in features.columns if name != "row"]
        means = np.reshape(arrays.get("means", ()), (len(arrays["weights"]), -1))
        used = arrays.get("features_used", np.arange(means.shape[1])).astype(int)
        columns, profiles = _profiles(arrays, means, used)
        best = optimal_offer(arrays["eta"], arrays["k"], revenue=scale.scaled_revenue())
        return arrays | {
            "means": means,
            "source": source,
            "rows": labels.merge(features, on="row").sort_values("row"),
            "names": [names[j] for j in used],
            "columns": [names[j] for j in columns],
            "profiles": profiles,
            "scale": scale,
            "best": scale.offers(np.atleast_1d(best)),
        }
    return None


def _profiles(arrays, means, used):
    """Columns that a model uses, and their means by segment; of categories from their shares."""
    columns, parts = [*used], [means]
    if "layout_category" in arrays and "shares" in arrays:
        features = Features.from_arrays(arrays, used, 0.0, 1.0)
        shares, at = np.reshape(arrays["shares"], (len(means), -1)), 0
        for place, levels in zip(features.categories, features.levels, strict=True):
            block, own = features.layout.categories[place], shares[:, at : at + levels]
            at += levels
            if len(block) == 1 and levels == 2:
                low, high = features.low[block[0]], features.high[block[0]]
                own = low + own[:, 1:] * (high - low)
            elif len(block) == 1:
                own = own @ np.arange(levels)[:, None]
            columns += block
            parts.append(own)
    return columns, np.hstack(parts)


def _ellipse(mean, covariance, share):
    """The ellipse that holds a share of a Gaussian in the plane, as points."""
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0, 2 * np.pi, 49)
    circle = np.sqrt(-2 * np.log(1 - share)) * np.stack([np.cos(angle), np.sin(angle)])
    return (mean[:, None] + vectors @ (np.sqrt(np.maximum(values, 0))[:, None] * circle)).T


_SEGMENTS_CURVES, _STEPS = 6, 101


def draw_curves(study):
    """Acceptance and expected revenue along the offer, by segment."""
    found = choice_model(study)
    told = people_asked(study, found)
    if told is not None:
        return curves_of(study, told)
    if found is None:
        return forms.blank("No choice model of this study was fitted.")
    weights, eta, k, scale, best = (found[one] for one in ("weights", "eta", "k", "scale", "best"))
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS_CURVES]
    seen, places = past_offers(study, found), forms.places_for([scale.high - scale.low], 2, 3)
    unit = (study.plan.get("offer") or {}).get("unit", "")
    ys, x = ("Chance of acceptance", "Expected revenue"), forms.joined_words(["Offer", unit])
    canvas = forms.Canvas([[""], [""]], 2.0, x, ys, grid="both", sharex=True)
    above, below = canvas.all
    for look, j in zip(forms.SERIES, order, strict=False):
        name = f"{100 * weights[j]:.0f} % of people, best {forms.number(best[j], places)}"
        t = np.append(np.linspace(0, 1, _STEPS), scale.scaled(best[[j]]))
        offers, chance = scale.offers(t), acceptance(t, eta[j], k[j])
        for panel, values in ((above, chance), (below, chance * scale.revenue(offers))):
            curve = sorted(zip(offers[:-1], values[:-1], strict=True))
            _curve(panel, name, scale, curve, look, seen.get(int(j)))
            top = look._replace(marker="o", dash="none")
            panel.line(name, [(offers[-1], values[-1])], top, markersize=5, clip_on=False)
    above.ax.set(ylim=(0, 1.02), xlim=(scale.low, scale.high))
    if below.ax.get_ylim()[0] < 0 <= min(point[4] for point in canvas.points):
        below.ax.set_ylim(bottom=0)
    shown = f"{len(order)} largest of {len(weights)}" if len(order) < len(weights) else len(weights)
    segments = f"over the {shown} segments" if len(weights) > 1 else "for the one segment"
    title = f"Best offers run from {forms.span(best[order], places, unit)} {segments}"
    return canvas.drawing(title, "Acceptance and expected revenue along the offer, by segment")


def past_offers(study, found):
    """Range of the middle nine tenths of past offers in each segment, user's units."""
    path = study.folder / "predictions" / f"{found['source']}.parquet"
    if not path.exists():
        return {}
    said = study.table(f"predictions/{path.name}")
    said = said[(said["repeat"] == 0) & (said["setting"] == "hard")][["row", "segment"]]
    ranges = {}
    for segment, part in found["rows"][["row", "offer"]].merge(said, on="row").groupby("segment"):
        ranges[int(segment)] = tuple(np.quantile(part["offer"].to_numpy(float), (0.05, 0.95)))
    return ranges


def _curve(panel, name, scale, points, look, seen):
    plain = forms.Look(look.colour, "", "-" if seen is None else forms.DOTTED)
    panel.line(name, points, plain, key=False, linewidth=1.0 if seen else 1.3)
    panel.key(name, forms.Look(look.colour, "o"))
    if seen is not None:
        # A range of no width is a short stroke, so that it can be seen.
        short = max(0.01 * (scale.high - scale.low) - (seen[1] - seen[0]), 0) / 2
        x, y = np.array(points).T
        low, high = seen[0] - short, seen[1] + short
        inner = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
        panel.ax.plot(inner, np.interp(inner, x, y), color=look.colour, linewidth=2.0)


_WAYS = ("hard", "soft", "")
_ACTUAL, _TRUE_ENROLMENT = forms.Look(forms.INK, ""), forms.Look(forms.INK, "", forms.DASHED)
_CLAIM, _CHECK = forms.Look(forms.ORANGE), forms.Look(forms.GREEN, "D")


def draw_enrolment(study):
    """Totals predicted, actual and true at the historical offers; gains of the best ones."""
    rows = [(s, {"setting": way}) for s in study.sources for way in _WAYS]
    rows = [(s, way) for s, way in rows if study.get(s, "revenue_predicted", **way).known]
    if not rows:
        return forms.blank("No method of this study predicted acceptances.")
    titles = ["Acceptances", "Revenue", "With best offers, % of historical revenue"]
    canvas = forms.Canvas(titles, forms.row_height(len(rows)) + 0.1, sharey=True)
    canvas.rows([", ".join(filter(None, [study.label(s), way["setting"]])) for s, way in rows])
    for panel, total in zip(canvas.all, ("enrolment", "revenue"), strict=False):
        source, way = rows[0]
        known = study.rows(source, f"{total}_actual", "general")
        known = known[known["setting"] == way["setting"]]
        actual, true = known["value"].mean(), study.get(source, f"{total}_true", **way)
        if true.known:
            # Chance of the mean over repeats.
            errors = known["standard_error"].fillna(0).astype(float)
            noise = 1.96 * (errors**2).sum() ** 0.5 / len(known)
            panel.ax.axvspan(actual - noise, actual + noise, color=forms.PALE, alpha=0.5, lw=0)
            panel.upright(true.mean, _TRUE_ENROLMENT, "true expectation")
        panel.upright(actual, _ACTUAL, "actual")
        for place, (source, way) in enumerate(rows):
            predicted = study.get(source, f"{total}_predicted", **way)
            panel.dot(place, "predicted", predicted, forms.MAIN, key=True)
    # Claimed revenue with the best offers and what it comes to, in % of the historical.
    panel, (source, way) = canvas.all[2], rows[0]
    base, checked, by = "revenue_actual", "revenue_snips", "by logged answers"
    if study.get(source, "revenue_optimal_true", **way).known:
        base, checked, by = "revenue_true", "revenue_optimal_true", "true"
    for place, (source, way) in enumerate(rows):
        before, actual, claim, value = (
            study.get(source, metric, **way).mean or float("nan")
            for metric in (base, "revenue_actual", "revenue_claimed", checked)
        )
        ends = 100 * claim / actual, 100 * value / before
        panel.link(place, ends)
        panel.dot(place, "claimed, best offers", ends[0], _CLAIM, key=True)
        panel.dot(place, f"{by}, best offers", ends[1], _CHECK, key=True)
    panel.upright(100, _ACTUAL)
    for panel in canvas.all:
        panel.measures = panel.name
        panel.ax.locator_params(axis="x", nbins=5)
    source, way = next((row for row in rows if row[0] == study.main), rows[0])
    predicted = forms.told(study.get(source, "enrolment_predicted", **way), places=0)
    actual = study.get(source, "enrolment_actual", **way).mean
    title = f"{study.label(source)} predicts {predicted} acceptances; there were {actual:.0f}"
    return canvas.drawing(title, "Predicted, actual and true totals and gains by method")


_CHOSEN, _TRUE_ORDER = forms.Look(forms.RED, "^", "none"), forms.Look(forms.INK, "", forms.DASHED)


def draw_model_order(study):
    """Log-likelihood and description length by the number of segments."""
    for source in forms.main_first(study):
        likelihood, length = (
            forms.by_step(study.rows(source, metric, "general"))
            for metric in ("log_likelihood", "mdl")
        )
        if length is not None and likelihood is not None and len(length.columns) > 1:
            break
    else:
        return forms.blank("No model of this study was fitted with several numbers of segments.")
    gained = likelihood.sub(likelihood.iloc[:, 0], axis=0)
    above = length.sub(length.min(axis=1), axis=0)
    true = study.rows(source, "rmse_component", "general")["part"].nunique()
    chosen = study.rows(source, "components_chosen", "general")["value"].astype(int).value_counts()
    titles = ["Log-likelihood gained", "Description length"]
    canvas = forms.Canvas(titles, 2.2, "Number of segments J", "nats")
    for panel, frame, least in zip(canvas.all, (gained, above), (0.0, 0.2), strict=True):
        panel.splits(frame, "repeat")
        if true:
            panel.upright(true, _TRUE_ORDER, "true number", least)
    # One segment is so far off that the neighbours of the least would not be told apart.
    middle, (_, right) = np.sort(above.mean(axis=0)), canvas.all
    top = 1.15 * middle[: max(2, int(np.ceil(0.8 * len(middle))))].max() or 1.0
    right.ax.set_ylim(-0.22 * top, top)
    right.ax.set_yticks([tick for tick in right.ax.get_yticks() if 0 <= tick <= top])
    marks = {"ha": "center", "va": "top", "fontsize": 7.5, "color": forms.RED_TEXT}
    for size, times in chosen.sort_index().items():
        right.note("repeats that chose it", times, at=size)
        right.ax.plot([size], [-0.06 * top], **_CHOSEN.marks(markersize=5))
        right.ax.text(size, -0.1 * top, str(times), **marks)
    right.key("chosen (repeats)", _CHOSEN)
    title = "Log-likelihood and description length by number of segments"
    if len(chosen):
        title = f"{chosen.index[0]} segments chosen in {chosen.iloc[0]} of {chosen.sum()} repeats"
        title += f"; {true} are true" if true else ""
    return canvas.drawing(title, "Fit and description length by number of segments")


_SEGMENTS_PROFILES = 20


def draw_profiles(study):
    """Who the segments are: means of their features, beside their share and best offer."""
    found = choice_model(study)
    told = people_asked(study, found)
    if told is not None:
        return profiles_of(study, told)
    if found is None:
        return forms.blank("No choice model of this study was fitted.")
    weights, means, names, best = (found[one] for one in ("weights", "profiles", "columns", "best"))
    people = found["rows"][names]
    spread = people.std(ddof=0).to_numpy(float)
    away = (means - people.mean().to_numpy(float)) / np.where(spread > 0, spread, 1.0)
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS_PROFILES]
    tells = np.sqrt(weights @ away**2)
    places, between = forms.places_for([np.abs(best).max()], 1), "\n" if forms.is_narrow() else " "
    labels = [
        f"{100 * weights[j]:.0f} %,{between}best {forms.number(best[j], places)}" for j in order
    ]
    hidden = (len(weights) - len(order), max(len(names) - _shown(), 0))
    few, less = count(hidden[0], "smaller segment"), count(hidden[1], "feature")
    text = f"Not shown: {few}, {less} telling less"
    text = text if any(hidden) else ""
    canvas = _map_of_means(labels, names, means[order], away[order], tells, text)
    title = f"Segments differ most in {names[int(np.argmax(tells))].replace('_', ' ')}"
    title += f"; best offers {forms.span(best[order], places)}"
    return canvas.drawing(title, "Means of features by segment, coloured by distance from all")


#: Equation 3 in the figure, and the best offer that the paper prints for it.
ETA, K, PRINTED = 0.5, 5.0, 0.5470
_STEPS_RESPONSE = 101


def draw_response(study):
    """Figure 1 of Noor et al. (2014): acceptance and expected revenue of one kind of person."""
    found = choice_model(study)
    if found is None:
        return forms.blank("No choice model of this study was fitted.")
    far = (found["eta"] - ETA) ** 2 + ((found["k"] - K) / 30) ** 2
    near = int(np.argmin(far))
    titles = ["Chance of acceptance", "Expected revenue"]
    canvas = forms.Canvas(titles, 2.3, "Offer, scaled to 0 to 1", grid="both")
    own, look = (float(found[name][near]) for name in ("eta", "k")), forms.TURNS[0]
    shown = {"the paper's example": (ETA, K, forms.MAIN)}
    shown["nearest segment found"] = (*own, look._replace(dash=forms.DASHED))
    best = {}
    for name, (eta, k, look) in shown.items():
        best[name] = float(optimal_offer(np.array([eta]), np.array([k]))[0])
        t = np.linspace(0, 1, _STEPS_RESPONSE)
        for panel, earned in zip(canvas.all, (lambda d: 1.0, lambda d: 1.0 - d), strict=True):
            panel.measures = panel.name
            curve = zip(t, acceptance(t, eta, k) * earned(t), strict=True)
            panel.line(name, curve, look._replace(marker=""))
            top = best[name], float(acceptance(best[name], eta, k)) * earned(best[name])
            panel.line(f"best offer, {name}", [top], look._replace(dash="none"), key=False)
    canvas.all[0].ax.set(ylim=(0, 1.02), xlim=(0, 1))
    canvas.all[1].ax.set(xlim=(0, 1))
    canvas.all[1].ax.set_ylim(bottom=0)
    example = best["the paper's example"]
    title = f"The best offer of the paper's example is {example:.4f}; printed is {PRINTED:.4f}"
    return canvas.drawing(title, "Acceptance and expected revenue along the offer, as in print")
