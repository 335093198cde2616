"""Points with rare positives and known truth: a click in a hundred views."""

import numpy as np
import pandas as pd
from scipy.special import expit

SIMULATED = True
TITLE = "Simulated rare clicks"
LICENCE = "made by this program"
ROWS = 200000

#: Share of positives in the population, E p(y = 1 | x).
RATE = 0.01
#: Makes E p(y = 1 | x) equal `RATE` to within 1e-8, by numerical integration.
INTERCEPT = -6.056891


class RareClicks:
    """Points of which one in a hundred is positive, nearly linear in the log odds.

    x1 to x4 are standard normal, x5 uniform on [-1, 1], x6 is 1 with probability 0.3 and
    0 otherwise, all independent;

        log odds = `INTERCEPT` + 0.8 x1 - 0.6 x2 + 0.5 x3 - 0.3 x4 + 0.5 x5 - 0.4 x6
                   - 1.2 x1 x6 + 0.2 x2**2 + 1.5 x5**2.

    The second line makes models that are linear in x mildly misspecified (they rank
    with an AUC of about 0.79 where the truth has 0.83), so that a learner of curves and
    interactions can gain, and so that weighted and unweighted training on subsampled
    rows differ in the limit.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points: ``x1`` to ``x6`` (float64), ``click`` (0 or 1); see `Curved.simulate`.

        The truth is ``p_positive`` = p(click = 1 | x).
        """
        x1, x2, x3, x4 = rng.standard_normal((4, rows))
        x5 = rng.uniform(-1.0, 1.0, rows)
        x6 = (rng.random(rows) < 0.3).astype(float)
        line = 0.8 * x1 - 0.6 * x2 + 0.5 * x3 - 0.3 * x4 + 0.5 * x5 - 0.4 * x6
        p_positive = expit(INTERCEPT + line - 1.2 * x1 * x6 + 0.2 * x2**2 + 1.5 * x5**2)
        click = (rng.random(rows) < p_positive).astype(np.int8)
        row = np.arange(rows, dtype=np.int32)
        frame = pd.DataFrame(
            {"row": row, "x1": x1, "x2": x2, "x3": x3, "x4": x4, "x5": x5, "x6": x6, "click": click}
        )
        return frame, pd.DataFrame({"row": row, "p_positive": p_positive})
