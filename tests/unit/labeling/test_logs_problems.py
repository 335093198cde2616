"""What is wrong with a log, counted over its batches."""

import numpy as np
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
