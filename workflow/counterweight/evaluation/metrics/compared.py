"""Two methods on the same test rows: paired differences of their metrics, by segment too."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.metrics.metrics import is_known
from counterweight.evaluation.metrics.paired import compare_metrics, compare_segments
from counterweight.files.study_data import by_repeat, found_rows
from counterweight.files.tables import blocks

#: Segments beyond which a comparison would be a list of noise.
MOST_SEGMENTS = 50


def compare_predictions(predictions, other, truth, metrics, *, rates=None, segments=None):
    """Paired differences of every metric, by repeat, target and setting.

    Parameters
    ----------
    predictions, other : dict of str to array
        Of a method, and of the one that it is compared with, which has one setting; see
        `evaluate.evaluate_predictions`.
    truth, rates : dict of str to array
        As there; users in ``truth["user"]`` are the independent draws.
    metrics : sequence of str
    segments : dict of str to array, optional
        ``row`` (ascending) and ``segment``, a name for each. Intervals of segments hold all at
        once (Bonferroni).

    Returns
    -------
    list of dict
        ``paired_difference`` by measure; its ``part`` is the segment, its variables ``low`` and
        ``high`` are the ends of its interval.

    Raises
    ------
    CounterweightError
        For more than `MOST_SEGMENTS` segments.
    """
    known, rates = by_repeat(truth), None if rates is None else by_repeat(rates)
    names = np.unique(segments["segment"]) if segments else ()
    if len(names) > MOST_SEGMENTS:
        raise CounterweightError(
            f"evaluation.segment has {len(names)} segments: name a column of at most "
            f"{MOST_SEGMENTS} values."
        )
    theirs = {_place(other, part): part for part in blocks(other, "repeat", "target", "setting")}
    theirs = {key[:2]: part for key, part in theirs.items()}
    records = []
    for part in blocks(predictions, "repeat", "target", "setting"):
        repeat, target, setting = _place(predictions, part)
        against = theirs.get((repeat, target))
        if against is None:
            continue  # the other has fewer repeats
        rows = predictions["row"][part]
        if not np.array_equal(rows, other["row"][against]):
            raise CounterweightError(
                "Two methods predict different rows: delete the predictions of the study and run "
                "again."
            )
        truth_rows = found_rows(known[repeat]["row"], rows, _AGAIN)
        y = known[repeat][f"y_{target}"][truth_rows]
        options = {"weight": None, "groups": None}
        if rates is not None:
            logged = found_rows(rates[repeat]["row"], rows, _AGAIN)
            options["weight"] = 1.0 / rates[repeat]["keep_rate"][logged]
        if "user" in known[repeat]:
            options["groups"] = known[repeat]["user"][truth_rows]
        pair = predictions["p"][part], other["p"][against]
        place = {"repeat": repeat, "target": target, "setting": setting}
        place |= {"metric": "paired_difference", "rows": len(rows)}
        for name in filter(is_known, metrics):
            records += _told(compare_metrics(name, y, *pair, **options), place | {"measure": name})
            if segments:
                where = found_rows(segments["row"], rows, _AGAIN)
                found = compare_segments(name, y, *pair, segments["segment"][where], **options)
                for segment, gap in found.items():
                    if gap is not None:
                        records += _told(gap, place | {"measure": name, "part": str(segment)})
    return records


_AGAIN = (
    "Predictions are of rows that the study does not have: delete the predictions of the study and "
    "run again."
)


def _place(predictions, part):
    first = part.start
    names = (predictions[key][1][predictions[key][0][first]] for key in ("target", "setting"))
    return int(predictions["repeat"][first]), *names


def _told(gap, place):
    yield place | {"value": gap.value, "standard_error": gap.standard_error}
    for end in ("low", "high"):
        yield place | {"variable": end, "value": getattr(gap, end)}
