"""Who the segments are: means of their features, beside their share, curve and best offer."""

import numpy as np

from counterweight.labeling.offer_scale import OfferScale
from counterweight.models.choice.offers import optimal_offer
from counterweight.reporting.charts.offers.segments import first_model, training_rows
from counterweight.reporting.page import style
from counterweight.reporting.page.wording import number, places_for

CAPTION = (
    "Segments of the choice model, first repeat, from the largest: mean of each feature (number) "
    "and how far it is from the mean of all people in their standard deviations (colour: blue "
    "above, orange below), the share of people, and the offer of most expected revenue."
)
_SEGMENTS, _FEATURES = 20, 10


def draw(study):
    """One row for each segment, one column for each feature.

    Parameters
    ----------
    study : counterweight.reporting.page.results.StudyResults

    Returns
    -------
    matplotlib.figure.Figure
    """
    found = first_model(study)
    if found is None:
        return style.blank("No choice model of this study was fitted.")
    arrays = found[1]
    weights, eta, k = (np.atleast_1d(arrays[name]) for name in ("weights", "eta", "k"))
    means = np.reshape(arrays["means"], (len(weights), -1))
    names, centre, spread = _features(study, arrays, means.shape[1])
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS]
    away = (means - centre) / np.where(spread > 0, spread, 1.0)
    # Where there are many features, those that tell segments apart the most are shown.
    told = np.sqrt(weights @ away**2)
    columns = np.sort(np.argsort(-told, kind="stable")[:_FEATURES])
    best = _best_offers(study, eta, k)
    with style.look():
        figure, axes = style.panels(1, 1, height=0.9 + 0.27 * len(order))
        ax = axes[0, 0]
        shown = away[np.ix_(order, columns)]
        ax.imshow(_colours(shown), aspect="auto")
        for place, j in enumerate(columns):
            values = means[order, j]
            places = places_for([np.abs(means[:, j]).max()], 0)
            for row, value in enumerate(values):
                ax.text(place, row, number(value, places), ha="center", va="center", fontsize=7.5)
        ax.set_xticks(range(len(columns)), [names[j].replace("_", "\n") for j in columns])
        ax.xaxis.tick_top()
        digits = places_for([np.abs(best).max()], 1)
        labels = [f"{100 * weights[j]:.0f} %, best {number(best[j], digits)}" for j in order]
        ax.set_yticks(range(len(order)), labels)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        hidden = (len(weights) - len(order), means.shape[1] - len(columns))
        if any(hidden):
            ax.set_xlabel(
                f"Not shown: {hidden[0]} smaller segments, {hidden[1]} features that tell less"
            )
    return figure


def _features(study, arrays, count):
    """Names, means and standard deviations of the features that the model uses."""
    features = study.table("features.parquet")
    names = [name for name in features.columns if name != "row"]
    used = np.atleast_1d(arrays.get("features_used", np.arange(count))).astype(int)
    names = [names[j] for j in used]
    own = features[features["row"].isin(training_rows(study)["row"])][names]
    return names, own.mean().to_numpy(float), own.std(ddof=0).to_numpy(float)


def _best_offers(study, eta, k):
    offer = study.plan.get("offer") or {}
    known = ("low", "high", "direction", "revenue")
    scale = OfferScale(**{name: offer[name] for name in known if name in offer})
    return scale.offers(optimal_offer(eta, k, revenue=scale.scaled_revenue()))


def _colours(away):
    """White at the mean of all people, blue above, orange below, full at two deviations."""
    strength = np.clip(np.abs(away) / 2, 0, 1)[..., None] * 0.75
    blue, orange = np.array([0.34, 0.71, 0.91]), np.array([0.95, 0.72, 0.25])
    return 1 - strength * (1 - np.where(away[..., None] > 0, blue, orange))
