"""Weights of a logistic discriminator: Bickel, Brueckner & Scheffer (2007), in two stages."""

import numpy as np

from counterweight.numerics.linear import RIDGE, fit_logistic
from counterweight.weighting.rows import TARGET_LABELS, TARGET_OPTION, from_odds

SEES = "rows"
NEEDS_P = False
LABEL = "Bickel et al., two stages, to {target}"
VALUE_LABELS = TARGET_LABELS
OPTIONS = TARGET_OPTION | RIDGE


def discriminator_weights(rows, *, target="general", ridge=1e-6):
    """Weights p(s=1)/p(s=0) exp(-v'x) of a logistic regression of s on x.

    First stage of Bickel et al.: v is fitted to who is labeled alone; the second stage is any
    weighted fit. No cross-fitting and no calibration: where log p(x|s=0)/p(x|s=1) is linear in x
    these are the weights of least variance, and where it is not they are off by as much as the
    logistic form is.

    Parameters
    ----------
    rows : counterweight.weighting.rows.Rows
    target : {"general", "unlabeled"}
    ridge : float
        Penalty on standardised coefficients, for each row.

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped; of mean about 1.

    References
    ----------
    Bickel, Brueckner & Scheffer (2007), section 4.
    """
    X = np.concatenate([rows.X_labeled, rows.X_unlabeled])
    s = np.arange(len(X)) < len(rows.X_labeled)
    coef, intercept, *_ = fit_logistic(X, s.astype(int), ridge=ridge)
    with np.errstate(over="ignore"):
        return from_odds(np.exp(-(rows.X_labeled @ coef + intercept)), rows.share, target)
