"""Simulated points with known truth: two boundaries, rare positives, features that interact."""

import numpy as np
import pandas as pd
from scipy.special import expit

SIMULATED = True
ROWS_BY_NAME = {"curved": 5000, "straight": 5000, "screening": 12000, "rare_clicks": 200000}
TITLE_BY_NAME = {
    "curved": "Simulated points, curved boundary",
    "straight": "Simulated points, straight boundary",
    "screening": "Simulated screening by 31 features",
    "rare_clicks": "Simulated rare clicks",
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
        return _tables([x1, x2], 2.0 * (x2 - x1**2 + 1.0), rng, p_selected=expit(1.6 * x1))


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
        return _tables([x1, x2], 2.0 * (x2 - x1), rng, p_selected=expit(1.6 * x1))


def _tables(features, log_odds, rng, label="label", **known):
    """The rows, features named x1, x2, ... and a label drawn by its odds; and their truth."""
    p_positive = expit(log_odds)
    drawn = (rng.random(len(p_positive)) < p_positive).astype(np.int8)
    row = {"row": np.arange(len(drawn), dtype=np.int32)}
    columns = {f"x{number}": values for number, values in enumerate(features, 1)}
    truth = pd.DataFrame(row | {"p_positive": p_positive} | known)
    return pd.DataFrame(row | columns | {label: drawn}), truth


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
        odds = INTERCEPT + line - 1.2 * x1 * x6 + 0.2 * x2**2 + 1.5 * x5**2
        return _tables([x1, x2, x3, x4, x5, x6], odds, rng, "click")


FEATURES = 31


class Screening:
    """Rows with as many features as the private data of Goh et al. (2016), section 4.2.

    All features are standard normal and independent. With a_k = cos(k) for k from 1 to 31,

        log odds = 0.9 sum a_k x_k / sqrt(5) + 1.2 sum x_k x_(k+10) / sqrt(10) - 1,

    the second sum over k from 1 to 10: a classifier that is linear in x can learn the first half
    only, one that is linear in many random features of x more, the more rows it has.
    """

    @staticmethod
    def simulate(rows, rng):
        """Draw the rows: ``x1`` to ``x31`` and ``label`` (0 or 1); see `Curved.simulate`."""
        x = rng.standard_normal((rows, FEATURES))
        line = x @ np.cos(np.arange(1, FEATURES + 1)) / np.sqrt(5)
        together = (x[:, :10] * x[:, 10:20]).sum(axis=1) / np.sqrt(10)
        return _tables(x.T, 0.9 * line + 1.2 * together - 1.0, rng)
