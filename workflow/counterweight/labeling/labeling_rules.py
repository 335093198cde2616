"""Labeling rules: who is labeled, by columns of the table, by known chances or by a fitted model.

A rule is ``rule(frame, truth, rng, **options)`` and answers with a mask of the rows that are
labeled: `frame` are prepared rows, `truth` is what is known of generated ones. One that declares
``FEATURES`` gets features (an array) and outcome, too, and answers with a dict; see
`counterweight.labeling.split.labeled_repeats`. The one of tables with blank outcomes stands in
`counterweight.labeling.missing_outcomes`.
"""

import logging
from types import MappingProxyType

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Integer, Number, Option, Text
from counterweight.labeling.columns import (
    MISSING,
    NEGATIVE,
    condition_mask,
    equal,
    numbers,
    require,
    told_apart,
    types_in,
)
from counterweight.numerics.checks import checked_labels, checked_rows
from counterweight.numerics.linear import fit_logistic

#: The rule may label all rows; elsewhere that is a mistake, since nothing is to correct.
COMPLETE_BY_NAME = {"everyone": True, "answered": True}
#: These get features and outcome, and answer with a dict.
FEATURES_BY_NAME = {"answered": True, "missingness_mechanism": True, "deployed": True}
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
    "answered": {
        "column": Text(..., "Column of the outcome, blank where not known."),
        "where": Option(None,
            "Condition of rows whose outcome may be seen, as in samples; null: all that have one.", type="object", null=True, **{"x-condition": "whole"}),
        "decision": Text(None, "Column of old decisions, which rates such as churn compare with.", null=True),
        "decided": Option(1, "Value of that column that counts as a yes.", type=["string", "number", "boolean"]),
        "refused": NEGATIVE,
        "undecided": MISSING,
    },
    "known_propensity": {},
    "missingness_mechanism": {
        "share": Number(0.4, "Share of the rows that is labeled, on average.", above=0, below=1),
        "columns": Option({},
            "Columns of the table that labeling goes by, each with the log odds of a label that one standard deviation "
            "more adds; one of words counts as 1 where it has its commonest word.", type="object", additionalProperties={"type": "number"}),
        "logged": Array([], "Those of the columns whose logarithm is gone by.", items={"type": "string"}),
        "positive": Number(0.0,
            "Log odds of a label that a positive outcome adds: 0 where labels are missing at random, the further from 0 the less they are."),
    },
    "deployed": {
        "deployed_rows": Integer(1000, "Rows that the deployed model learns from; they are used for nothing else.", minimum=2),
        "d1_rows": Integer(16000, "Rows of d1, labeled, sampled near the deployed model's boundary.", minimum=1),
        "d2_rows": Integer(9000, "Rows of d2, labeled, a random sample.", minimum=1),
        "d3_rows": Integer(14000, "Rows of d3, not labeled, a random sample.", minimum=1),
        "sharpness": Number(1.0, "Power of 4 p (1 - p) that d1 is sampled by; 0 for a random sample.", minimum=0),
        "l2": Number(0.001, "Penalty of the deployed model on standardised coefficients, for each row.", minimum=0),
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "married": "only married people are labeled",
    "coastal": "only houses near the northern coast are labeled",
    "earlier": "the older rows are labeled",
    "everyone": "every row is labeled",
    "answered": "rows with a known outcome are labeled",
    "known_propensity": "rows are labeled with a known chance",
    "missingness_mechanism": "rows are labeled by a missingness mechanism that is set",
    "deployed": "some rows near the boundary of a deployed model are labeled",
}
#: Real data have no known p(s=1|x).
NEEDS_TRUTH_BY_NAME = {"known_propensity": True}
#: The chances that it draws by are known, for real data too.
CHANCES_BY_NAME = {"missingness_mechanism": True}
#: Names of the data sets that the rule makes.
SAMPLES_BY_NAME = {"deployed": ["d1", "d2", "d3"]}


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


log = logging.getLogger("counterweight")


def known_propensity(frame, truth, rng):
    """Draw s with the true p(s = 1 | x), ``p_selected`` of `truth`: missing at random by making."""
    if truth is None or "p_selected" not in truth:
        raise CounterweightError(
            "The labeling rule known_propensity needs a generated data set that knows "
            "p(s = 1 | x); for real data choose another rule."
        )
    p = numbers(truth, "p_selected", "labeling rule known_propensity")
    if ((p < 0) | (p > 1)).any():
        raise CounterweightError(
            f"The labeling rule known_propensity needs probabilities; p_selected runs from "
            f"{p.min()} to {p.max()}: correct the generated data."
        )
    return rng.random(len(frame)) < p


#: Log odds beyond which chances are 0 or 1 in the search for the intercept.
_FAR = 700.0


def missingness_mechanism(
    frame,
    truth,
    rng,
    *,
    features,
    outcome,
    share=0.4,
    columns=MappingProxyType({}),
    logged=(),
    positive=0.0,
):
    """Draw s with p(s = 1 | x, y) = sigma(a + b'x + c y), where a gives the share asked for.

    With c = 0 and b = 0 labels are missing completely at random, with c = 0 at random given
    the columns (and given the features only if these hold the columns), else not at random:
    the three cases of Smith & Elkan (2007, section 2) with one dial. With c = log k, the odds
    of a label are k times as high for positives at equal x, so that logit p(y = 1 | x, s = 1)
    and logit p(y = 1 | x, s = 0) differ by c at every x.

    `columns` has b of standardised columns, `logged` those above 0 whose logarithm is gone by,
    `positive` is c. A column may be what the outcome was made of: then chances go by the outcome
    and by more than it tells (Rosset, Zhu, Zou & Hastie 2005 draw labels of California Housing by
    the logarithm of the price). The answer has ``selected`` and the chances, ``p_selected``.
    """
    from scipy.optimize import brentq
    from scipy.special import expit

    y, what = np.asarray(outcome, dtype=float), "labeling rule missingness_mechanism"
    if np.isnan(y).any():
        raise CounterweightError(
            f"The {what} hides known outcomes; in {int(np.isnan(y).sum())} rows none is known: "
            "choose a data set with all of them."
        )
    odds = positive * y
    for column, slope in columns.items():
        values = _numbers(frame, column, what)
        if column in logged:
            if values.min() <= 0:
                raise CounterweightError(
                    f"labeling.logged has {column!r}, which is {values.min():g} in some row: only "
                    "numbers above 0 have a logarithm; leave it out of the list."
                )
            values = np.log(values)
        if not values.std() > 0:
            raise CounterweightError(
                f"The {what} goes by the column {column!r}, which has one value in all rows: take "
                "it out of labeling.columns."
            )
        odds = odds + slope * (values - values.mean()) / values.std()
    reach = _FAR + np.abs(odds).max()
    intercept = brentq(lambda a: expit(a + odds).mean() - share, -reach, reach, xtol=1e-12)
    p = expit(intercept + odds)
    return {"selected": rng.random(len(p)) < p, "p_selected": p}


def _numbers(frame, column, what):
    """A column of numbers; one of words is 1 where it has its commonest word, else 0."""
    from pandas.api.types import is_string_dtype

    if column not in frame or not is_string_dtype(frame[column]):
        return numbers(frame, column, what)
    commonest = frame[column].value_counts().sort_index(ascending=True).idxmax()
    return frame[column].eq(commonest).fillna(False).to_numpy(float)


#: Rows that d1 is chosen from, for each row of it: with 1 there would be nothing to choose.
CANDIDATES = 1.5


def deployed(
    frame,
    truth,
    rng,
    *,
    features,
    outcome,
    deployed_rows=1000,
    d1_rows=16000,
    d2_rows=9000,
    d3_rows=14000,
    sharpness=1.0,
    l2=0.001,
):
    """A deployed model, and the three data sets of the churn experiment (Goh et al. 2016, 4.2).

    A public stand-in for data that are not public (section 4.2 of the paper has 131,840,
    53,877 and 68,892 rows). One random order of the rows gives, in turn, the rows of the
    deployed model, d2 and d3, which are therefore random samples of the table, and the
    candidates of d1. The deployed model is a logistic regression on standardised features.
    d1 is actively sampled from the candidates, one row after the other without replacement,
    each time with a probability proportional to (4 p (1 - p))^sharpness, where p is the
    deployed model's probability: highest, 1, at its boundary and falling with the absolute
    score. No row is in two of the sets. Where the table has too few rows, all four sizes are
    scaled down by one factor, which is logged.

    The answer has ``selected`` (d1 or d2: the labeled rows), ``left_out`` (rows in none of d1, d2,
    d3: those that the deployed model learned from, and what remains of the candidates),
    ``samples`` (masks ``d1``, ``d2``, ``d3``) and ``deployed``, the deployed model's score
    (log odds; a positive prediction where it is above 0) of every row.
    """
    n = len(frame)
    X, y = checked_rows(features), checked_labels(outcome, n, "outcome")
    if len(X) != n:
        raise CounterweightError(f"There are {n} rows but features of {len(X)}.")
    sizes = {"deployed": deployed_rows, "d2": d2_rows, "d3": d3_rows, "d1": d1_rows}
    sizes = _scaled(sizes, n)
    ends = np.cumsum([sizes["deployed"], sizes["d2"], sizes["d3"]])
    learned, second, third, candidates = np.split(rng.permutation(n), ends)
    score = _deployed_score(X, y, learned, l2)
    # Exponential draws over weights, smallest first: sampling one by one without replacement.
    # log(4 p (1 - p)) = 2 log 2 - |s| - 2 log(1 + exp(-|s|)), in logarithms lest it underflows.
    away = np.abs(score[candidates])
    uncertain = 2 * np.log(2.0) - away - 2 * np.log1p(np.exp(-away))
    draws = np.log(rng.standard_exponential(len(candidates))) - sharpness * uncertain
    first = candidates[np.argsort(draws, kind="stable")[: sizes["d1"]]]
    sets = {"d1": first, "d2": second, "d3": third}
    masks = {name: np.isin(np.arange(n), rows) for name, rows in sets.items()}
    return {
        "selected": masks["d1"] | masks["d2"],
        "left_out": ~(masks["d1"] | masks["d2"] | masks["d3"]),
        "samples": masks,
        "deployed": score,
    }


def _scaled(sizes, n):
    """Rows of each data set, scaled down by one factor where the table has too few."""
    needed = sum(sizes.values()) + (CANDIDATES - 1) * sizes["d1"]
    if n < needed:
        sizes = {name: int(size * n / needed) for name, size in sizes.items()}
        log.warning(
            "labeling rule deployed: %d rows are fewer than the %d that the sizes asked for need; "
            "scaled down to %s",
            n,
            int(np.ceil(needed)),
            ", ".join(f"{size} rows ({name})" for name, size in sizes.items()),
        )
    if min(sizes.values()) < 1 or sizes["deployed"] < 2:
        raise CounterweightError(
            f"The labeling rule deployed needs {int(np.ceil(needed))} rows, or in proportion; the "
            f"{n} rows of this table leave a data set empty: use more rows, or sizes nearer to "
            "each other."
        )
    return sizes


def _deployed_score(X, y, learned, l2):
    """Log odds of every row by a logistic regression on the rows `learned`."""
    if len(np.unique(y[learned])) < 2:
        raise CounterweightError(
            f"The {len(learned)} rows of the deployed model all have the outcome "
            f"{y[learned][0]}, so it cannot be learned: raise labeling.deployed_rows."
        )
    varied = np.ptp(X[learned], axis=0) > 0
    if not varied.any():
        raise CounterweightError(
            f"No feature varies in the {len(learned)} rows of the deployed model: raise "
            "labeling.deployed_rows."
        )
    log.info("deployed model: %d rows, %d features", len(learned), int(varied.sum()))
    coef, intercept, _, converged = fit_logistic(X[np.ix_(learned, varied)], y[learned], l2=l2)
    if not converged:
        log.warning("the deployed model did not converge")
    return X[:, varied] @ coef + intercept
