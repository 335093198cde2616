"""What is wrong with a log, counted over its batches."""

import numpy as np
import pandas as pd
import pytest
from counterweight.errors import CounterweightError
from counterweight.labeling.logs import LogProblems

ROLES = {"reward": "clicked", "propensity": "p", "keep_rate": "kept"}


def rows(reward, rate):
    whole = {"reward": reward, "propensity": 0.5, "keep_rate": rate}
    return {"row": np.arange(4)} | {name: np.full(4, value) for name, value in whole.items()}


@pytest.mark.parametrize(
    ("rate", "before", "told"),
    [(1.0, 0, ""), (0.1, 0, "nothing tells how many rows there were"), (0.1, 40, "")],
)
def test_rewards_alone_tell_how_many_rows_there_were_only_if_none_was_dropped(rate, before, told):
    problems = LogProblems(ROLES, rows_before=before)
    problems.look(rows(1.0, rate))
    if not told:
        return problems.tell()
    with pytest.raises(CounterweightError, match=told):
        problems.tell()


def test_users_whose_leading_zeros_were_lost_in_a_part_of_the_log_are_told():
    """By partitions, too, of which none alone has both."""
    roles, sums = ROLES | {"user": "u"}, LogProblems(ROLES | {"user": "u"})
    told = (["0007", "0012", "b7", "0100"], ["7", "0", "b7", "100"], [1.0, 7.0, 7.0, 1.0])
    for number, users in enumerate(told):
        one = LogProblems(roles)
        one.look(rows(1.0, 1.0), pd.DataFrame({"u": users}))
        one.tell()
        sums.add(one.state())
        if not number:
            sums.tell()
    with pytest.raises(CounterweightError, match=r"'7' in some rows and '0007' in .* \(2 users"):
        sums.tell()
    none = LogProblems(roles)
    none.look(rows(1.0, 1.0), pd.DataFrame({"u": [None, None, "x", "1234567890123456789012"]}))
    none.tell()


def test_counts_of_partitions_add_up_to_those_of_the_whole():
    parts = [rows(0.0, 0.1), rows(2.0, 0.5), rows(0.0, 0.25)]
    whole, sums = LogProblems(ROLES), LogProblems(ROLES)
    for part in parts:
        whole.look(part)
        one = LogProblems(ROLES)
        one.look(part)
        sums.add(one.state())
    assert sums.state() == whole.state()
    assert (sums.rows, sums.nonzero, type(sums.rows)) == (12, 4, int)
    # Rows of reward 0 stand for 1 / rate each, the others for themselves.
    assert sums.state()["_stand_for"] == 4 / 0.1 + 4 + 4 / 0.25
