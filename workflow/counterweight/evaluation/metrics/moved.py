"""Whether decisions that a model moved, away from those of the model it began from, were right."""

import math

import numpy as np

from counterweight.files.study_data import by_repeat, found_rows
from counterweight.files.tables import blocks


def describe_moves(predictions, before, truth, target):
    """Records of ``moved_right``, for each repeat and setting.

    Among the test rows of the target whose decision (p at least 1/2) is not that of the model
    begun from: the share that is right now minus the share that was right before, between -1
    and 1. It is the gain of accuracy by the moves over the share that moved; its standard error
    takes rows as independent. Nothing is told where no decision moved.

    Parameters
    ----------
    predictions, before : dict of str to array
        As in `counterweight.evaluation.metrics.evaluate.evaluate_predictions`, of the model and
        of the one that it began from.
    truth : dict of str to array
        repeat, row and ``y_{target}``.
    target : str

    Returns
    -------
    list of dict
    """
    known, began, records = by_repeat(truth), {}, []
    for repeat, _, rows, p in _of_target(before, target):
        began[repeat] = rows, p >= 0.5
    for repeat, setting, rows, p in _of_target(predictions, target):
        earlier, old = began[repeat]
        old = old[found_rows(earlier, rows, _OTHER_ROWS.format(repeat))]
        y = known[repeat][f"y_{target}"][found_rows(known[repeat]["row"], rows, _NO_TRUTH)]
        moved = (p >= 0.5) != old
        if not moved.any():
            continue
        # Of two different decisions exactly one is right.
        right = np.where((p >= 0.5)[moved] == (y[moved] == 1), 1.0, -1.0)
        records.append(
            {
                "repeat": repeat,
                "target": target,
                "setting": setting,
                "metric": "moved_right",
                "value": right.mean(),
                "standard_error": right.std() / math.sqrt(len(right)),
                "rows": len(right),
            }
        )
    return records


_OTHER_ROWS = (
    "Predictions of repeat {} are of rows that those of the model begun from do not have: delete "
    "the predictions of the study and run again."
)
_NO_TRUTH = (
    "Predictions are of rows that the truth does not have: delete the predictions of the study "
    "and run again."
)


def _of_target(predictions, target):
    """Repeat, setting, rows and p of each block of predictions for a target."""
    (codes, targets), (at, settings) = predictions["target"], predictions["setting"]
    for part in blocks(predictions, "repeat", "target", "setting"):
        if targets[codes[part.start]] == target:
            yield (
                int(predictions["repeat"][part.start]),
                settings[at[part.start]],
                predictions["row"][part],
                predictions["p"][part],
            )
