"""Who the segments are: means of their features, beside their share and best offer."""

import numpy as np

from counterweight.reporting.charts.canvas import Canvas
from counterweight.reporting.charts.drawing import blank
from counterweight.reporting.charts.offers.curves import best_offers, offer_scale
from counterweight.reporting.charts.offers.segments import choice_model, training_rows
from counterweight.reporting.charts.style import is_narrow
from counterweight.reporting.charts.words import number, places_for, shortened

CAPTION = (
    "Segments of the choice model, first repeat, from the largest: mean of each feature (number) "
    "and how far it is from the mean of all people in their standard deviations (colour: blue above, "
    "orange below), the share of people, and the offer of most expected revenue."
)
_SEGMENTS, _FEATURES = 20, 10


def draw(study):
    found = choice_model(study)
    if found is None:
        return blank("No choice model of this study was fitted.")
    arrays = found[1]
    weights, eta, k = (np.atleast_1d(arrays[name]) for name in ("weights", "eta", "k"))
    means = np.reshape(arrays["means"], (len(weights), -1))
    names, centre, spread = _features(study, arrays, means.shape[1])
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS]
    away = (means - centre) / np.where(spread > 0, spread, 1.0)
    # Where there are many features, those that tell segments apart the most are shown.
    tells = np.sqrt(weights @ away**2)
    columns = np.sort(np.argsort(-tells, kind="stable")[:_FEATURES])
    best = best_offers(offer_scale(study), eta, k)
    digits = [places_for([np.abs(means[:, j]).max()], 0) for j in columns]
    texts = [
        [number(means[row, j], places) for j, places in zip(columns, digits, strict=True)]
        for row in order
    ]
    places = places_for([np.abs(best).max()], 1)
    between = ",\nbest " if is_narrow() else ", best "
    labels = [f"{number(100 * weights[j], 0)} %{between}{number(best[j], places)}" for j in order]
    canvas = Canvas(1, 1, 0.5 + 0.27 * len(order))
    shown = np.ix_(order, columns)
    canvas.first.cells(
        labels,
        [shortened(names[j].replace("_", " "), 24) for j in columns],
        means[shown],
        away[shown] / 2,
        texts,
    )
    hidden = (len(weights) - len(order), means.shape[1] - len(columns))
    if any(hidden):
        canvas.label(f"Not shown: {hidden[0]} smaller segments, {hidden[1]} features that tell less")
    first = names[int(np.argmax(tells))].replace("_", " ")
    title = f"Segments differ most in {first}; best offers {number(best[order].min(), places)} to "
    title += number(best[order].max(), places)
    return canvas.drawing(title, "Means of features by segment, coloured by distance from all")


def _features(study, arrays, count):
    """Names, means and standard deviations of the features that the model uses."""
    features = study.table("features.parquet")
    names = [name for name in features.columns if name != "row"]
    used = np.atleast_1d(arrays.get("features_used", np.arange(count))).astype(int)
    names = [names[j] for j in used]
    own = features[features["row"].isin(training_rows(study)["row"])][names]
    return names, own.mean().to_numpy(float), own.std(ddof=0).to_numpy(float)
