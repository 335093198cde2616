"""Scores as files: of the table that a model was fitted on, and of new rows, in batches."""

import logging

from counterweight.errors import CounterweightError
from counterweight.files.gifts import read_gift
from counterweight.files.people import row_batches
from counterweight.files.tables import replacing, write_table
from counterweight.labeling.features.drift import added, count_rows
from counterweight.models.scores.saved import BATCH, SavedScores

log = logging.getLogger("counterweight")
#: What to do where the new rows are not there.
ABSENT = "correct the path under score"


def as_text(scores):
    """Scores as they stand in a CSV file: numbers with all their digits, yes and no."""
    words = scores.copy()
    for name in ("supported", "labeled"):
        if name in words:
            words[name] = words[name].map({True: "yes", False: "no"})
    return words


def write_scores(table, csv, scores):
    """Write scores as Parquet and as CSV."""
    write_table(table, scores)
    with replacing(csv) as path:
        as_text(scores).to_csv(path, index=False)


def score_file(model, new, table, csv, reading=None):
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

    Raises
    ------
    CounterweightError
        When there is no row, or a row cannot be scored: nothing is then written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    saved = SavedScores.from_gift(read_gift(model))
    identity, total, counts = saved.facts["id"], 0, None
    with replacing(table) as path, replacing(csv) as lines:
        writer = None
        with open(lines, "w", encoding="utf-8", newline="") as file:
            for batch in row_batches(new, absent=ABSENT, rows=BATCH, reading=reading):
                frame = saved.typed(new, batch, reading, total)
                rows = saved.encoder.encode(frame)
                scores, counts = saved.scored_rows(rows), added(counts, count_rows(rows))
                if identity in batch.column_names:
                    scores.insert(0, identity, batch[identity].to_pandas().to_numpy())
                else:
                    scores.insert(0, "row", frame["row"].to_numpy())
                part = pa.Table.from_pandas(scores, preserve_index=False)
                part = part.replace_schema_metadata(None)
                if writer is None:
                    writer = pq.ParquetWriter(
                        path, part.schema, compression="zstd", store_schema=False
                    )
                writer.write_table(part.cast(writer.schema))
                as_text(scores).to_csv(file, index=False, header=not total)
                total += len(scores)
        if writer is None:
            raise CounterweightError(f"{new} has no row: there is nobody to score.")
        writer.close()
    log.info("%d new rows scored", total)
    for sentence in saved.drift(counts):
        log.warning(sentence)
