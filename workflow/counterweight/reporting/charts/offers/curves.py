"""Acceptance and expected revenue along the offer, by segment."""

import numpy as np

from counterweight.models.choice.offers import acceptance
from counterweight.reporting.charts import kit
from counterweight.reporting.charts.offers import used
from counterweight.reporting.charts.offers.segments import choice_model

CAPTION = (
    "Chance of acceptance and expected revenue along the offer for the largest segments, first "
    "repeat. Lines are full where the middle nine tenths of the segment's past offers lie and "
    "dotted beyond, where the form of the curve alone speaks. Dots: the offer of most expected "
    "revenue. Where a method without segments is used: what was accepted and earned by past "
    "offer, as it predicts and as people answered (with 95 % intervals), and the best offers."
)
_SEGMENTS, _STEPS = 6, 101


def draw(study):
    found = choice_model(study)
    told = used.people(study, found)
    if told is not None:
        return used.curves(study, told)
    if found is None:
        return kit.blank("No choice model of this study was fitted.")
    weights, eta, k, scale, best = (found[one] for one in ("weights", "eta", "k", "scale", "best"))
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS]
    seen, places = past_offers(study, found), kit.places_for([scale.high - scale.low], 2, 3)
    unit = (study.plan.get("offer") or {}).get("unit", "")
    ys = ("Chance of acceptance", "Expected revenue")
    x = ", ".join(filter(None, ["Offer", unit]))
    canvas = kit.Canvas([[""], [""]], 2.0, x, ys, grid="both", sharex=True)
    above, below = canvas.all
    for look, j in zip(kit.SERIES, order, strict=False):
        name = f"{100 * weights[j]:.0f} % of people, best {kit.number(best[j], places)}"
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
    title = f"Best offers run from {kit.span(best[order], places, unit)} {segments}"
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
    plain = kit.Look(look.colour, "", "-" if seen is None else kit.DOTTED)
    panel.line(name, points, plain, key=False, linewidth=1.0 if seen else 1.3)
    panel.key(name, kit.Look(look.colour, "o"))
    if seen is not None:
        # A range of no width is a short stroke, so that it can be seen.
        short = max(0.01 * (scale.high - scale.low) - (seen[1] - seen[0]), 0) / 2
        x, y = np.array(points).T
        low, high = seen[0] - short, seen[1] + short
        inner = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
        panel.ax.plot(inner, np.interp(inner, x, y), color=look.colour, linewidth=2.0)
