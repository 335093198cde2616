"""Logs of one's own that lost a part of their zeros before anybody looked: every row is labeled.

``kept_log`` is of classes, ``kept_numbers`` of tables whose other rewards are numbers. Zeros are
taken to have been dropped by the rate alone, whatever the features.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Integer, Option
from counterweight.labeling.columns import floats
from counterweight.labeling.logs import LogProblems

#: Studies with ``kept_numbers`` learn numbers, and answer for every row.
TASK_BY_NAME = {"kept_numbers": "missing_outcomes"}
#: ``kept_log`` gets features and outcome, and tells the rate at which each row was kept.
FEATURES_BY_NAME = {"kept_log": True}
COMPLETE_BY_NAME = {"kept_log": True}
#: Test rows stand for others that were dropped.
KEPT_BY_NAME = {"kept_log": True}
OPTIONS = {
    "keep_rate": Option(...,
        "Rate at which rows whose outcome is 0 were kept, or the column of each row's rate.", type=["number", "string"], above=0, maximum=1),
    "rows_before": Integer(0,
        "Number of rows before any was dropped, if it is known; 0 where it is not. A keep rate that contradicts it is "
        "refused.", minimum=0),
}  # fmt: skip
LABEL_BY_NAME = {
    "kept_log": "a log that kept a part of its zeros",
    "kept_numbers": "a log that kept a part of its rows of reward 0",
}
#: Why none of its rows may be without an outcome, and what to do.
BLANK = (
    "and of a log that dropped zeros every row has one: fill it in, or leave these rows out (a "
    "table or a query of the others)."
)


def kept_log(frame, truth, rng, *, features, outcome, keep_rate, rows_before=0):
    """All rows (``selected``), with the rates at which each was kept (1 where it is no zero).

    Zeros are taken to have been dropped by that rate alone, whatever the features.
    """
    missing = np.isnan(np.asarray(outcome, float))
    if missing.any():
        raise CounterweightError(
            f"The outcome is missing in {int(missing.sum())} of {len(frame)} rows (first: row "
            f"{frame['row'].to_numpy()[missing][0]}), {BLANK}"
        )
    column = keep_rate if isinstance(keep_rate, str) else ""
    rate = np.full(len(frame), keep_rate) if not column else floats(frame, column, "key keep_rate")
    whole = {"row": frame["row"].to_numpy(), "reward": outcome, "keep_rate": rate}
    whole["propensity"] = np.ones(len(frame))
    problems = LogProblems({"keep_rate": column, "reward": "outcome"}, rows_before)
    problems.look(whole)
    problems.tell()
    return {"selected": np.ones(len(frame), bool), "keep_rate": np.where(outcome == 0, rate, 1.0)}


def kept_numbers(frame, types, outcome, *, keep_rate, rows_before=0):
    """All rows as ``labeled``, and how many each stands for as ``weight``: 1 / rate where the
    outcome is 0, else 1. `keep_rate` is a rate, or the column of rates.
    """
    rates = {"keep_rate": keep_rate, "rows_before": rows_before}
    made = kept_log(frame, None, None, features=None, outcome=outcome, **rates)
    return {"labeled": made["selected"], "weight": 1 / made["keep_rate"]}
