"""Who the segments are: means of their features, beside their share and best offer."""

import numpy as np

from counterweight.reporting.charts import kit, style
from counterweight.reporting.charts.offers import used
from counterweight.reporting.charts.offers.segments import choice_model
from counterweight.reporting.wording import shortened

CAPTION = (
    "Segments of the choice model, first repeat, from the largest, with the offer of most "
    "expected revenue: mean of each feature, and by colour how far it is from that of all people "
    "in their standard deviations (blue above, orange below). Where a method without segments is "
    "used: the same by fifth of people, in the order of their best offers."
)
_SEGMENTS, _FEATURES = 20, 10


def draw(study):
    found = choice_model(study)
    told = used.people(study, found)
    if told is not None:
        return used.profiles(study, told)
    if found is None:
        return kit.blank("No choice model of this study was fitted.")
    weights, means, names, best = (found[one] for one in ("weights", "profiles", "columns", "best"))
    people = found["rows"][names]
    spread = people.std(ddof=0).to_numpy(float)
    away = (means - people.mean().to_numpy(float)) / np.where(spread > 0, spread, 1.0)
    order = np.argsort(-weights, kind="stable")[:_SEGMENTS]
    # Where there are many features, those that tell segments apart the most are shown.
    tells = np.sqrt(weights @ away**2)
    columns = np.sort(np.argsort(-tells, kind="stable")[:_FEATURES])
    digits = {j: kit.places_for([np.abs(means[:, j]).max()], 0) for j in columns}
    texts = [[kit.number(means[row, j], digits[j]) for j in columns] for row in order]
    places, between = kit.places_for([np.abs(best).max()], 1), "\n" if style.is_narrow() else " "
    labels = [
        f"{100 * weights[j]:.0f} %,{between}best {kit.number(best[j], places)}" for j in order
    ]
    hidden = (len(weights) - len(order), means.shape[1] - len(columns))
    text = f"Not shown: {hidden[0]} smaller segments, {hidden[1]} features that tell less"
    canvas = kit.Canvas([""], 0.5 + 0.27 * len(order), text if any(hidden) else "")
    shown, heads = (
        np.ix_(order, columns),
        [shortened(names[j].replace("_", " "), 24) for j in columns],
    )
    canvas.all[0].cells(labels, heads, means[shown], away[shown] / 2, texts)
    title = f"Segments differ most in {names[int(np.argmax(tells))].replace('_', ' ')}"
    title += f"; best offers {kit.span(best[order], places)}"
    return canvas.drawing(title, "Means of features by segment, coloured by distance from all")
