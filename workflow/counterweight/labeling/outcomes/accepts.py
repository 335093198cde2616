"""Outcome of an offer: 1 where it was accepted."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import require

OPTIONS = {
    "column": {
        "type": "string",
        "default": "answer",
        "description": "Column of the answers: 0 or 1, false or true, no or yes.",
    }
}
WORDS = {"0": 0, "1": 1, "no": 0, "yes": 1, "false": 0, "true": 1}


def accepts(frame, population, *, column="answer"):
    """Answers as 0 (refused) and 1 (accepted).

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows, with ``row``.
    population : numpy.ndarray of bool
        Not used: the answer is the same in every population.
    column : str
        Numbers 0 and 1, booleans, or the words no and yes, false and true, 0 and 1, in
        capitals or not.

    Returns
    -------
    numpy.ndarray of int8

    Raises
    ------
    CounterweightError
        When the column is missing, an answer is missing, or is none of these.
    """
    require(frame, [column], "outcome rule accepts")
    values, rows = frame[column], frame["row"].to_numpy()
    missing = values.isna().to_numpy()
    if missing.any():
        raise CounterweightError(
            f"The answer {column!r} is missing in {int(missing.sum())} of {len(values)} rows "
            f"(first: row {rows[missing][0]}): leave those rows out, since a refused offer is a 0 "
            "and not a blank."
        )
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        answers = values.to_numpy(dtype=float)
        wrong = ~np.isin(answers, (0.0, 1.0))
    else:
        known = values.astype(str).str.strip().str.lower().map(WORDS)
        wrong = known.isna().to_numpy()
        answers = known.fillna(0).to_numpy(dtype=float)
    if wrong.any():
        words = listed(sorted(values[wrong].astype(str).unique()), 5)
        raise CounterweightError(
            f"The answer {column!r} is {words} in {int(wrong.sum())} of {len(values)} rows (first: "
            f"row {rows[wrong][0]}) where 0 or 1, no or yes is expected: recode these answers or "
            "choose another column."
        )
    return answers.astype(np.int8)
