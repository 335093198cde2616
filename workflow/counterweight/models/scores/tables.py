"""Scores of new rows as files, in batches."""

import logging

from counterweight.errors import CounterweightError
from counterweight.files.gifts import made_of_gift, writing_answers
from counterweight.files.people import row_batches
from counterweight.labeling.column_statistics import added, count_rows
from counterweight.models.scores.saved import BATCH, SavedScores

log = logging.getLogger("counterweight")
#: What to do where the new rows are not there.
ABSENT = "correct the path under score"


def score_file(model, new, table, csv, reading=None, batch=BATCH):
    """Score the rows of a file in batches, and say how they differ from those of the fit.

    Parameters
    ----------
    model : str
        File of a saved model.
    new : str
        Table of new rows.
    table, csv : str
        Where the scores go.
    reading : dict, optional
        How the text is read; see `counterweight.files.people`.
    batch : int
        Rows at a time; answers do not depend on it.

    Raises
    ------
    CounterweightError
        When there is no row, or a row cannot be scored: nothing is then written.
    """
    saved = made_of_gift(model, SavedScores.from_gift)
    identity, total, counts = saved.facts["id"], 0, None
    with writing_answers(table, csv) as write:
        for part in row_batches(new, absent=ABSENT, rows=batch, reading=reading):
            frame = saved.typed(new, part, reading, total)
            rows = saved.encoder.encode(frame)
            scores, counts = saved.scored_rows(rows), added(counts, count_rows(rows))
            if identity in part.column_names:
                scores.insert(0, identity, part[identity].to_pandas().to_numpy())
            else:
                scores.insert(0, "row", frame["row"].to_numpy())
            write(scores)
            total += len(scores)
        if not total:
            raise CounterweightError(f"{new} has no row: there is nobody to score.")
    log.info("%d new rows scored", total)
    for sentence in saved.drift(counts):
        log.warning(sentence)
