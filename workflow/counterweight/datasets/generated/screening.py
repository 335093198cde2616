"""People to be screened by 31 features, some of which matter together only, with known truth."""

import numpy as np
import pandas as pd
from scipy.special import expit

SIMULATED = True
TITLE = "Simulated screening by 31 features"
LICENCE = "made by this program"
ROWS = 12000
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
        p_positive = expit(0.9 * line + 1.2 * together - 1.0)
        label = (rng.random(rows) < p_positive).astype(np.int8)
        row = np.arange(rows, dtype=np.int32)
        columns = {f"x{k + 1}": x[:, k] for k in range(FEATURES)}
        frame = pd.DataFrame({"row": row, **columns, "label": label})
        return frame, pd.DataFrame({"row": row, "p_positive": p_positive})
