"""Labeled is whose outcome is known; perhaps with old decisions, from columns of the table."""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Option, Text
from counterweight.labeling.columns import require
from counterweight.labeling.own.words import MISSING, NEGATIVE, equal, kinds_of, told_apart
from counterweight.labeling.samples import condition_mask

#: It gets features and outcome, and tells the old decisions as those of a deployed model.
FEATURES = True
COMPLETE = True
OPTIONS = {
    "column": Text(..., "Column of the outcome, blank where not known."),
    "where": Option(None, "Condition of rows whose outcome may be seen, as in samples; null: all that have one.", type="object", null=True),
    "decision": Text(None, "Column of old decisions, which rates such as churn compare with.", null=True),
    "decided": Option(1, "Value of that column that counts as a yes.", type=["string", "number", "boolean"]),
    "refused": NEGATIVE,
    "undecided": MISSING,
}  # fmt: skip
LABEL = "rows with a known outcome are labeled"


def answered(
    frame,
    truth,
    rng,
    *,
    features,
    outcome,
    column,
    where=None,
    decision=None,
    decided=1,
    refused=None,
    undecided=None,
):
    """Rows that have an outcome, and what was decided on them.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    truth, rng, features
        Not used: the rule goes by columns of the table alone.
    outcome : array (n,)
        NaN where it is not known.
    column : str
    where : mapping, optional
    decision : str, optional
    decided : str, number or bool

    Returns
    -------
    dict
        ``selected``; with a column of decisions also ``deployed``: 1 for a yes, -1 for a no, NaN
        where the column is blank.

    Raises
    ------
    CounterweightError
        When a column is missing, or the value of a yes is never or always there.
    """
    columns = [column] if decision is None else [column, decision]
    require(frame, columns, "labeling rule answered")
    selected = frame[column].notna().to_numpy() & ~np.isnan(np.asarray(outcome, float))
    if where:
        selected = selected & condition_mask(frame, where, "labeling.where")
    if decision is None:
        return {"selected": selected}
    values, text = frame[decision], kinds_of(frame)[decision] == "text"
    yes, what = equal(values, decided, text=text), f"old decision in column {decision!r}"
    made = values.notna().to_numpy()
    if yes.any() and not yes[made].all():
        yes = told_apart(values, decided, refused, undecided, text=text, what=what, key="deployed")
        made = ~np.isnan(yes)
    if not yes.any() or (yes[made] == 1).all():
        seen = listed(sorted(values.dropna().astype(str).unique()), 8)
        often = "always" if yes.any() else "never"
        raise CounterweightError(
            f"The old decisions in column {decision!r} are {often} {decided!r}; the values are "
            f"{seen}: correct the value of a yes."
        )
    return {"selected": selected, "deployed": np.where(made, np.where(yes == 1, 1.0, -1.0), np.nan)}
