"""Labeling rules: who is labeled, by columns of the table.

A rule is ``rule(frame, truth, rng, **options)`` and answers with a mask of the rows that are
labeled: `frame` are prepared rows, `truth` is what is known of generated ones. One that declares
``FEATURES`` gets features (an array) and outcome, too, and answers with a dict; see
`counterweight.labeling.split.labeled_repeats`. ``present`` is of tables with blank outcomes: see
`counterweight.labeling.missing_outcomes`. Those that draw are in `drawn_rules`.
"""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Flag, Integer, Number, Option, Text
from counterweight.labeling.columns import numbers, require
from counterweight.labeling.conditions import (
    MISSING,
    NEGATIVE,
    condition_mask,
    equal,
    holds,
    told_apart,
    types_in,
)

#: Studies with this labeling rule are about outcomes of which some are blank.
TASK_BY_NAME = {"present": "missing_outcomes"}
#: The rule may label all rows; elsewhere that is a mistake, since nothing is to correct.
COMPLETE_BY_NAME = {"everyone": True, "answered": True}
#: It gets features and outcome, and answers with a dict.
FEATURES_BY_NAME = {"answered": True}
OPTIONS_BY_NAME = {
    "married": {
        "spouse_absent": Flag(False, "Whether people whose spouse is absent count as married."),
    },
    "coastal": {
        "strata": Integer(50, "Number of latitude strata of equal count; 50 in print.", minimum=1),
        "strata_among": Choice("all", ["all", "north"], "Rows that form the strata: all, or those north of minimum_latitude."),
        "degrees": Number(0.4, "How far from the westernmost house of its stratum, in degrees.", above=0),
        "minimum_latitude": Number(36.0, "Houses up to this latitude are never labeled."),
    },
    "earlier": {
        "share": Number(0.5, "Share of the rows that count as old.", above=0, below=1),
        "column": Text("", "Column of numbers that rows are ordered by, the oldest first; by default the order of the file."),
    },
    "everyone": {},
    "present": {
        "where": Option({},
            "Columns with the value that labeled rows have; {} for every row whose outcome is there.", type="object", **{"x-condition": "by column"}),
    },
    "answered": {
        "column": Text(..., "Column of the outcome, blank where not known."),
        "where": Option(None,
            "Condition of rows whose outcome may be seen, as in samples; null: all that have one.", type="object", null=True, **{"x-condition": "whole"}),
        "decision": Text(None, "Column of old decisions, which rates such as churn compare with.", null=True),
        "decided": Option(1, "Value of that column that counts as a yes.", type=["string", "number", "boolean"]),
        "refused": NEGATIVE,
        "undecided": MISSING,
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "married": "only married people are labeled",
    "coastal": "only houses near the northern coast are labeled",
    "earlier": "the older rows are labeled",
    "everyone": "every row is labeled",
    "present": "the outcome is seen where it is not blank",
    "answered": "rows with a known outcome are labeled",
}


def married(frame, truth, rng, *, spouse_absent=False):
    """Rows whose marital status is married.

    The paper does not list the statuses: by default civil and armed-forces spouses
    count, which comes within 1.2 % of its sizes; `spouse_absent` adds the third one.
    """
    require(frame, ["marital-status"], "labeling rule married")
    statuses = ["Married-civ-spouse", "Married-AF-spouse"]
    statuses += ["Married-spouse-absent"] if spouse_absent else []
    return frame["marital-status"].isin(statuses).to_numpy()


def coastal(
    frame, truth, rng, *, strata=50, strata_among="all", degrees=0.4, minimum_latitude=36.0
):
    """Rows near the westernmost house of their latitude stratum, in the north.

    The printed rule (50 strata over all rows) does not give the printed sizes; 100
    strata among the northern rows come close. Both are readings of one sentence, so
    both can be asked for. Strata are of equal count; rows of equal latitude are taken in file
    order. ``longitude`` and ``latitude`` are in degrees.
    """
    longitude = numbers(frame, "longitude", "labeling rule coastal")
    latitude = numbers(frame, "latitude", "labeling rule coastal")
    north = latitude > minimum_latitude
    rows = np.flatnonzero(north) if strata_among == "north" else np.arange(len(frame))
    ordered = rows[np.argsort(latitude[rows], kind="stable")]
    stratum = np.arange(len(ordered)) * strata // max(len(ordered), 1)
    coast = np.full(strata, np.inf)
    np.minimum.at(coast, stratum, longitude[ordered])
    selected = np.zeros(len(frame), dtype=bool)
    selected[ordered] = longitude[ordered] <= coast[stratum] + degrees
    return selected & north


def earlier(frame, truth, rng, *, share=0.5, column=""):
    """Whether a row is among the first `share` of all: drift (Smith & Elkan 2007, section 1).

    What is old is decided by time alone; rows of one value stand in the order of the file. Where
    p(y | x) stays as it is and only p(x) drifts, labels are missing at random and Lemma 2 weights
    are right, as far as old rows like the new ones exist; where p(y | x) drifts, too, no weights
    of old rows can be.
    """
    time = numbers(frame, column, "labeling rule earlier") if column else frame["row"].to_numpy()
    old = np.zeros(len(frame), bool)
    old[np.argsort(time, kind="stable")[: int(share * len(frame))]] = True
    return old


def everyone(frame, truth, rng):
    """All rows."""
    return np.ones(len(frame), dtype=bool)


def present(frame, types, outcome, *, where=()):
    """Rows whose outcome is there (not NaN), and for which the conditions hold.

    `where` has the value of each column, or its bounds, as ``{"at_least": 60}``.
    """
    masks = [~np.isnan(outcome)]
    for column, value in dict(where).items():
        if isinstance(value, dict):
            place = f"labeled.where.{column}"
            masks.append(condition_mask(frame, {"column": column} | value, place))
            if not masks[-1].any():
                raise CounterweightError(
                    f"No row has {value!r} in the column {column!r}: correct the bounds in the "
                    "config."
                )
        else:
            masks.append(holds(frame, types, column, value))
    return np.logical_and.reduce(masks)


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
    """Rows that have an outcome (not NaN), and what was decided on them.

    With a column of decisions the answer has ``deployed``, too: 1 for a yes, -1 for a no, NaN
    where the column is blank.
    """
    columns = [column] if decision is None else [column, decision]
    require(frame, columns, "labeling rule answered")
    selected = frame[column].notna().to_numpy() & ~np.isnan(np.asarray(outcome, float))
    if where:
        selected = selected & condition_mask(frame, where, "labeling.where")
    if decision is None:
        return {"selected": selected}
    values, text = frame[decision], types_in(frame)[decision] == "text"
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
