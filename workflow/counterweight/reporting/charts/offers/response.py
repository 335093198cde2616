"""Figure 1 of Noor et al. (2014): acceptance and expected revenue of one kind of person."""

import numpy as np

from counterweight.models.choice.offers import acceptance, optimal_offer
from counterweight.reporting.charts import kit
from counterweight.reporting.charts.offers.segments import choice_model

CAPTION = (
    "As Figure 1 of Noor, Dailey and Haddawy, on the model's scale of offers: chance of acceptance "
    "by equation 3 with η = 1/2 and k = 5, and what an offer d then earns, 1 − d. Dots are best "
    "offers. Beside it the segment of this study whose η and k are nearest."
)
#: Equation 3 in the figure, and the best offer that the paper prints for it.
ETA, K, PRINTED = 0.5, 5.0, 0.5470
_STEPS = 101


def draw(study):
    found = choice_model(study)
    if found is None:
        return kit.blank("No choice model of this study was fitted.")
    far = (found["eta"] - ETA) ** 2 + ((found["k"] - K) / 30) ** 2
    near = int(np.argmin(far))
    canvas = kit.Canvas(
        ["Chance of acceptance", "Expected revenue"], 2.3, "Offer, scaled to 0 to 1", grid="both"
    )
    shown = {
        "the paper's example": (ETA, K, kit.MAIN),
        "nearest segment found": (
            float(found["eta"][near]),
            float(found["k"][near]),
            kit.TURNS[0]._replace(dash=kit.DASHED),
        ),
    }
    best = {}
    for name, (eta, k, look) in shown.items():
        best[name] = float(optimal_offer(np.array([eta]), np.array([k]))[0])
        t = np.linspace(0, 1, _STEPS)
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
