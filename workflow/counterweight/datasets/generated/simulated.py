"""Points in the plane with known truth: labels missing at random, two shapes of boundary."""

import numpy as np
import pandas as pd
from scipy.special import expit

SIMULATED = True
ROWS = 5000
TITLE_BY_NAME = {
    "curved": "Simulated points, curved boundary",
    "straight": "Simulated points, straight boundary",
}
LICENCE = "made by this program"


class Curved:
    """Points whose true boundary is a parabola.

    x1 is uniform on [-2, 2], x2 normal with mean 0 and deviation 1.5;
    p(y = 1 | x) = logistic(2 (x2 - x1**2 + 1)); p(s = 1 | x) = logistic(1.6 x1). The
    labeling depends on x1 alone, so labels are missing at random, mostly on the left.
    A logistic regression linear in x cannot follow the boundary: where it lies depends
    on where the labels are, and Lemma 1 weights move it to where all points put it
    (Smith & Elkan 2007, figure 1).
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points.

        Returns
        -------
        frame : pandas.DataFrame
            ``row`` (int32), ``x1``, ``x2``, ``label`` (0 or 1).
        truth : pandas.DataFrame
            ``row``, ``p_positive`` = p(y = 1 | x), ``p_selected`` = p(s = 1 | x), the
            latter within [0.039, 0.961].
        """
        x1 = rng.uniform(-2.0, 2.0, rows)
        x2 = rng.normal(0.0, 1.5, rows)
        return _tables(x1, x2, 2.0 * (x2 - x1**2 + 1.0), rng)


class Straight:
    """Points whose true boundary is a line, in clusters that no single Gaussian fits.

    x1 is uniform on [-2, 2]; x2 = h(x1) + e, h = 1.5 on the right half and -1.5 on the left
    with probability 0.85 and the other way round otherwise, e normal with deviation 0.4;
    p(y = 1 | x) = logistic(2 (x2 - x1)); p(s = 1 | x) = logistic(1.6 x1). Logistic
    regression is well specified, so labels missing at random do not bias it. A generative
    classifier with one Gaussian per class is not, so its boundary depends on the labeling.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the points; see `Curved.simulate`."""
        x1 = rng.uniform(-2.0, 2.0, rows)
        side = np.where(rng.random(rows) < 0.85, 1.5, -1.5) * np.sign(x1)
        x2 = side + rng.normal(0.0, 0.4, rows)
        return _tables(x1, x2, 2.0 * (x2 - x1), rng)


def _tables(x1, x2, log_odds, rng):
    row = np.arange(len(x1), dtype=np.int32)
    p_positive = expit(log_odds)
    label = (rng.random(len(x1)) < p_positive).astype(np.int8)
    frame = pd.DataFrame({"row": row, "x1": x1, "x2": x2, "label": label})
    truth = pd.DataFrame({"row": row, "p_positive": p_positive, "p_selected": expit(1.6 * x1)})
    return frame, truth
