"""Labels drawn with a chance that is dialled: completely at random, by features, by the outcome."""

from types import MappingProxyType

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Number, Option
from counterweight.labeling.columns import numbers

FEATURES = True
#: The chances that it draws by are known, for real data too.
CHANCES = True
OPTIONS = {
    "share": Number(0.4, "Share of the rows that is labeled, on average.", above=0, below=1),
    "columns": Option({},
        "Columns of the table that labeling goes by, each with the log odds of a label that one standard deviation "
        "more adds.", type="object", additionalProperties={"type": "number"}),
    "logged": Array([], "Those of the columns whose logarithm is gone by.", items={"type": "string"}),
    "positive": Number(0.0, "Log odds of a label that a positive outcome adds: 0 where labels are missing at random, the further from 0 the less they are."),
}  # fmt: skip
LABEL = "rows are labeled with a dialled chance"
#: Log odds beyond which chances are 0 or 1 in the search for the intercept.
_FAR = 700.0


def dialled(
    frame,
    truth,
    rng,
    *,
    features,
    outcome,
    share=0.4,
    columns=MappingProxyType({}),
    logged=(),
    positive=0.0,
):
    """Draw s with p(s = 1 | x, y) = sigma(a + b'x + c y), where a gives the share asked for.

    With c = 0 and b = 0 labels are missing completely at random, with c = 0 at random given
    the columns (and given the features only if these hold the columns), else not at random:
    the three cases of Smith & Elkan (2007, section 2) with one dial. With c = log k, the odds
    of a label are k times as high for positives at equal x, so that logit p(y = 1 | x, s = 1)
    and logit p(y = 1 | x, s = 0) differ by c at every x.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth
        Not used.
    rng : numpy.random.Generator
    features
        Not used.
    outcome : array of 0 and 1, shape (n,)
    share : float
    columns : dict of str to float
        b, for standardised columns. One of them may be what the outcome was made of: then chances
        go by the outcome and by more than it tells (Rosset, Zhu, Zou & Hastie 2005 draw labels of
        California Housing by the logarithm of the price).
    logged : sequence of str
        Columns of numbers above 0.
    positive : float
        c.

    Returns
    -------
    dict
        ``selected``, mask (n,), and ``p_selected``, the true chances (n,).

    Raises
    ------
    CounterweightError
        When a column is missing, is no number in some row, or has one value only, or where the
        outcome of a row is not known.
    """
    y = np.asarray(outcome, dtype=float)
    if np.isnan(y).any():
        raise CounterweightError(
            f"The labeling rule dialled hides known outcomes; in {int(np.isnan(y).sum())} rows "
            "none is known: choose a data set with all of them."
        )
    odds = positive * y
    for column, slope in columns.items():
        values = numbers(frame, column, "labeling rule dialled")
        if column in logged:
            if values.min() <= 0:
                raise CounterweightError(
                    f"labeling.logged has {column!r}, which is {values.min():g} in some row: only "
                    "numbers above 0 have a logarithm; leave it out of the list."
                )
            values = np.log(values)
        if not values.std() > 0:
            raise CounterweightError(
                f"The labeling rule dialled goes by the column {column!r}, which has one value in "
                "all rows: take it out of labeling.columns."
            )
        odds = odds + slope * (values - values.mean()) / values.std()
    reach = _FAR + np.abs(odds).max()
    intercept = brentq(lambda a: expit(a + odds).mean() - share, -reach, reach, xtol=1e-12)
    p = expit(intercept + odds)
    return {"selected": rng.random(len(p)) < p, "p_selected": p}
