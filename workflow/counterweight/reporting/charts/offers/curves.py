"""Acceptance and expected revenue along the offer, by segment."""

import numpy as np

from counterweight.labeling.offer_scale import OfferScale
from counterweight.models.choice.offers import acceptance, optimal_offer
from counterweight.reporting.charts.canvas import SERIES, Canvas, Look
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.offers.segments import choice_model, training_rows
from counterweight.reporting.charts.words import number, places_for, span

CAPTION = (
    "Chance of acceptance (above) and expected revenue (below) along the offer for the largest "
    "segments of the choice model, first repeat. Lines are full where the middle nine tenths of the "
    "segment's past offers lie and dotted beyond, where the form of the curve alone speaks. Dots: "
    "the offer of most expected revenue."
)
_SEGMENTS, _STEPS = 6, 101
_BEYOND = (0, (1, 1.8))


def draw(study):
    found = choice_model(study)
    if found is None:
        return blank("No choice model of this study was fitted.")
    source, arrays = found
    weights, eta, k = (np.atleast_1d(arrays[name]) for name in ("weights", "eta", "k"))
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS]
    scale, seen = offer_scale(study), past_offers(study, source)
    best = best_offers(scale, eta, k)
    places = places_for([scale.high - scale.low], 2, 3)
    canvas = Canvas(2, 1, 2.0, sharex=True)
    above, below = canvas.all
    t = np.linspace(0, 1, _STEPS)
    for look, j in zip(SERIES, order, strict=False):
        name = f"{number(100 * weights[j], 0)} % of people, best {number(best[j], places)}"
        offers, chance = scale.offers(t), acceptance(t, eta[j], k[j])
        at = float(optimal_offer(eta[j], k[j], revenue=scale.scaled_revenue()))
        top = float(acceptance(at, eta[j], k[j]))
        for panel, values, peak in (
            (above, chance, top),
            (below, chance * scale.revenue(offers), top * float(scale.revenue(best[[j]])[0])),
        ):
            _curve(panel, name, scale, offers, values, look, seen.get(int(j)))
            panel.line(name, [(best[j], peak)], look._replace(marker="o"), markersize=5, clip_on=False)
    above.ax.set_ylim(0, 1.02)
    below.ax.set_xlim(scale.low, scale.high)
    if below.ax.get_ylim()[0] < 0 <= min(y.min() for _, _, y, _ in below.ends):
        below.ax.set_ylim(bottom=0)
    for panel in canvas.all:
        panel.grid("both")
    unit = (study.plan.get("offer") or {}).get("unit", "")
    canvas.label(f"Offer, {unit}" if unit else "Offer", ("Chance of acceptance", "Expected revenue"))
    shown = f"{len(order)} largest of {len(weights)}" if len(order) < len(weights) else f"{len(weights)}"
    title = f"Best offers run from {span(best[order], places, unit)} over the {shown} segments"
    return canvas.drawing(title, "Acceptance and expected revenue along the offer, by segment")


def offer_scale(study):
    offer = study.plan.get("offer") or {}
    known = ("low", "high", "direction", "revenue")
    return OfferScale(**{name: offer[name] for name in known if name in offer})


def best_offers(scale, eta, k):
    """Offers of most expected revenue, in the user's units."""
    return scale.offers(np.atleast_1d(optimal_offer(eta, k, revenue=scale.scaled_revenue())))


def past_offers(study, method):
    """Range of the middle nine tenths of past offers in each segment, user's units."""
    path = study.folder / "predictions" / f"{method}.parquet"
    if not path.exists():
        return {}
    said = study.table(f"predictions/{method}.parquet")
    said = said[(said["repeat"] == 0) & (said["setting"] == "hard")][["row", "segment"]]
    known = training_rows(study)[["row", "offer"]].merge(said, on="row")
    return {
        int(segment): tuple(np.quantile(part["offer"].to_numpy(float), (0.05, 0.95)))
        for segment, part in known.groupby("segment")
    }


def _curve(panel, name, scale, x, y, look, seen):
    order = np.argsort(x)
    x, y = x[order], y[order]
    plain = Look(look.colour, "", "-" if seen is None else _BEYOND)
    panel.line(name, zip(x, y, strict=True), plain, key=False, linewidth=1.0 if seen else 1.3)
    panel.key(name, Look(look.colour, "o"))
    if seen is None:
        return
    # A range of no width is a short stroke, so that it can be seen.
    low, high = seen
    least = 0.01 * (scale.high - scale.low)
    if high - low < least:
        low, high = (low + high - least) / 2, (low + high + least) / 2
    inner = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    panel.ax.plot(inner, np.interp(inner, x, y), color=look.colour, linewidth=2.0)
