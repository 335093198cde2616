"""Figures 1 and 4 of Noor et al. (2014): acceptance and expected revenue by segment."""

import numpy as np

from counterweight.labeling.offer_scale import OfferScale
from counterweight.models.choice.offers import acceptance, optimal_offer
from counterweight.reporting.charts.offers.segments import first_model, training_rows
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import number, places_for

CAPTION = (
    "Chance of acceptance (above) and expected revenue (below) along the offer for the largest "
    "segments of the choice model, first repeat. Lines are full where the middle nine tenths of "
    "the segment's past offers lie and dotted beyond, where the form of the curve alone speaks. "
    "Dots: the offer of most expected revenue."
)
_COLOURS = (style.BLUE, style.ORANGE, style.GREEN, style.RED, style.PURPLE, style.SKY)


def draw(study):
    """Two panels with a line for each of the largest segments.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults
        Its plan has ``offer``: low, high, direction, revenue of the offers.

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = first_model(study)
    if found is None:
        return style.blank("No choice model of this study was fitted.")
    method, arrays = found
    weights, eta, k = (np.atleast_1d(arrays[name]) for name in ("weights", "eta", "k"))
    order = np.argsort(-weights, kind="stable")[: len(_COLOURS)]
    offer = study.plan.get("offer") or {}
    names = ("low", "high", "direction", "revenue")
    scale = OfferScale(**{name: offer[name] for name in names if name in offer})
    seen = past_offers(study, method)
    with style.look():
        figure, axes = style.panels(2, 1, height=4.6, sharex=True)
        above, below = axes[:, 0]
        ends = []
        for colour, j in zip(_COLOURS, order, strict=False):
            for ax, values in _lines((above, below), scale, eta[j], k[j]):
                _curve(ax, scale, values, colour, seen.get(int(j)))
            best = float(optimal_offer(eta[j], k[j], revenue=scale.scaled_revenue()))
            place = scale.offers(np.array([best]))[0]
            p = float(acceptance(best, eta[j], k[j]))
            money = p * float(scale.revenue(np.array([place]))[0])
            above.plot([place], [p], "o", color=colour, markersize=5, clip_on=False, zorder=4)
            below.plot([place], [money], "o", color=colour, markersize=5, clip_on=False, zorder=4)
            shown = number(place, places_for([scale.high - scale.low], 2, 3))
            ends.append((money, f"{100 * weights[j]:.0f} % of people, best {shown}", colour))
        above.set(ylim=(0, 1.02), ylabel="Chance of acceptance")
        below.set(ylabel="Expected revenue")
        below.set_xlim(scale.low, scale.high)
        if below.get_ylim()[0] < 0 <= min(end[0] for end in ends):
            below.set_ylim(bottom=0)
        unit = offer.get("unit")
        below.set_xlabel(f"Offer, {unit}" if unit else "Offer")
        for ax in (above, below):
            style.grid(ax, "both")
        below_height = 1.8
        style.label_ends(below, ends, below_height)
        more = len(weights) - len(order)
        if more:
            share = 100 * weights[order].sum()
            above.set_title(
                f"The {len(order)} largest of {len(weights)} segments, {share:.0f} % of people"
            )
        else:
            above.set_title(f"All {len(weights)} segments")
    return figure


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


def _lines(axes, scale, eta, k):
    t = np.linspace(0, 1, 201)
    p = acceptance(t, eta, k)
    offers = scale.offers(t)
    return zip(axes, ((offers, p), (offers, p * scale.revenue(offers))), strict=True)


def _curve(ax, scale, values, colour, seen):
    x, y = values
    order = np.argsort(x)
    x, y = x[order], y[order]
    if seen is None:
        ax.plot(x, y, color=colour)
        return
    ax.plot(x, y, color=colour, linewidth=1.0, linestyle=(0, (1, 1.8)))
    # A range of no width is a short stroke, so that it can be seen.
    low, high = seen
    least = 0.01 * (scale.high - scale.low)
    if high - low < least:
        low, high = (low + high - least) / 2, (low + high + least) / 2
    inner = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    ax.plot(inner, np.interp(inner, x, y), color=colour, linewidth=2.0)
