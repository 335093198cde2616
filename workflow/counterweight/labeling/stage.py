"""What stage 2 reads and writes for every task whose table is held in memory."""

import contextlib

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError
from counterweight.labeling.column_statistics import level_counts
from counterweight.labeling.columns import features_of, recorded_columns
from counterweight.labeling.target_leakage import learnt, without_advice
from counterweight.plan.components import labeling_rules
from counterweight.tables import batches
from counterweight.tables.parquet import read_table, write_table
from counterweight.tables.study_data import generator


def prepared_rows(job, known=None):
    """The table of a labeling job, its features, and the rules to label its rows by.

    The job has ``input.table``, perhaps ``input.columns``, and, in ``given``, ``seed``, ``stream``
    and the rules of `counterweight.plan.jobs.labeling_of`. `known` is the file of what is known of
    a generated data set; none where it is empty. Gives the prepared table, the features of the rows
    that the recipe keeps, what is known, and rule and outcome with their options filled in.
    """
    given = job.given
    frame = read_table(job.input.table)
    known = read_table(known) if known else None
    recipe, outcome, rule = labeling_rules(given)
    rng = generator(given["seed"], given["stream"], 0, "noise")
    columns = getattr(job.input, "columns", None) if given.get("roles") else None
    outcome_column = {} if columns else {"outcome": given["outcome"]["options"].get("column")}
    report = recorded_columns(job) if columns else None
    shown = feature_frame(frame, report)
    if report is not None:
        _check_named(given["features"]["options"], report)
    elif getattr(job.input, "columns", None):
        tell_leaks(frame, outcome, given, job.log)
    if given.get("user"):
        # Who somebody is tells nothing of others.
        shown = shown.drop(columns=given["user"], errors="ignore")
    features = recipe(shown, rng, **outcome_column)
    return frame, features, known, rule, outcome


def feature_frame(frame, columns):
    """The columns that features are made of, by a column report; all where there is none."""
    if columns is None:
        return frame
    names = features_of(columns)
    if not names:
        raise CounterweightError(
            "No column is left as a feature: see the column report; insist on columns by "
            "columns.keep, or give a table with more of them."
        )
    return frame[["row", *names]]


def _check_named(options, report):
    """Refuse a recipe that names columns which the report does not take for features."""
    others = report[report["use"] != "feature"].set_index("column")["why"]
    for key in ("columns", "only"):
        for name in options.get(key) or ():
            if name in others:
                raise CounterweightError(
                    f"features.{key} names {name!r}, which is no feature "
                    f"({without_advice(others[name])}): take it from there, or name it under "
                    "columns.keep."
                )


def tell_leaks(frame, outcome, given, log):
    """Warn of features that give the outcome away, in a study by hand of a table of one's own.

    There no column has a role, so that none is left out; the rule is that of all families.
    """
    told, options = given["outcome"]["options"].get("column"), given["features"]["options"]
    away = {"row", told, given.get("user"), *options.get("drop", ())}
    named = {*options.get("columns", ()), *options.get("only", ())}
    values = pd.array(outcome(frame, np.ones(len(frame), bool)), dtype="Float64")
    secret = learnt("outcome", values.to_numpy(float, na_value=np.nan))
    if not secret.known.any():
        return
    for name in frame.columns:
        if name in away or (named and name not in named):
            continue
        text = not pd.api.types.is_numeric_dtype(frame[name])
        own = frame[name]
        own = level_counts(own)[2] if text else own.to_numpy(dtype=float, na_value=np.nan)
        if why := secret.judged(own)[0]:
            log.warning(
                "The feature %r: %s. Leave it out by features.drop unless it is known before the "
                "outcome.",
                name,
                without_advice(why),
            )


def write_rows(job, features, labels, truth, layout=None):
    """Write what a labeling job leaves: features, labels (in a layout, if any) and the truth.

    Categories that a recipe declares (`declare_categories`) are kept beside the features.
    """
    _write_features(job, features)
    write_table(job.output.labels, labels, layout)
    write_table(job.output.truth, truth)


def write_repeats(job, features, repeats, describe):
    """Write what `write_rows` does, of which labels and truth come a repeat at a time.

    One repeat is held in memory; the bytes are those of all repeats written at once. `repeats` are
    pairs of data frames, of the same columns each; gives what ``describe(labels, truth)`` said of
    each.
    """
    import pyarrow as pa

    _write_features(job, features)
    told, writers = [], []
    with contextlib.ExitStack() as files:
        for part in repeats:
            tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in part]
            if not writers:
                for path, table in zip((job.output.labels, job.output.truth), tables, strict=True):
                    layout = [(field.name, str(field.type)) for field in table.schema]
                    writers.append(files.enter_context(batches.writing(path, layout)))
            for writer, table in zip(writers, tables, strict=True):
                columns = zip(table.column_names, table.combine_chunks().columns, strict=True)
                writer.write({name: column.chunk(0) for name, column in columns})
            told.append(describe(*part))
    return told


def _write_features(job, features):
    declared = {name: features.attrs[name] for name in ("categories",) if name in features.attrs}
    write_table(job.output.features, features, facts=declared)
