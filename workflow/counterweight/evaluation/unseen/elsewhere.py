"""The mean outcome of a target that is not the rest of the table, and what is told of it."""

import numpy as np

from counterweight.weighting.to_target import OUTCOME, weighted_to_target, words_for

#: Rows of the target that are foretold at a time.
BATCH = 100_000


def mean_elsewhere(data, tried, prediction, saved, table, given, mean_of):
    """Mean outcome of the target, with words for it.

    A reference sample with all features is foretold, and its mean put right by what labeled rows
    show (doubly robust). For margins, or a sample without some of the features, it is the
    weighted mean, whose error knows what the weights were made to meet.

    Parameters
    ----------
    data : BlankData
    tried : Tried
    prediction : array (M,)
        Out of fold, of the method given away.
    saved : SavedScores
    table : str
        File of the typed table.
    given : dict
        What the job is told: ``elsewhere`` and ``reading``.
    mean_of : callable
        `counterweight.delivery.final_scores.rate_of_target`.

    Returns
    -------
    value, standard_error : float
    rows : int
        Behind it, of the target.
    facts : dict
        ``for`` (whom answers are for) and ``target`` (sentences).
    """
    options = given["elsewhere"]["options"]
    adjusted, _, population = weighted_to_target(data, table, given["reading"], given["elsewhere"])
    facts = {
        "for": words_for(options["table"], options["margins"]),
        "target": adjusted.summary().split("\n"),
    }
    if population is None or not {*data.encoder.columns_} <= {*population.columns}:
        known = adjusted.mean(OUTCOME)
        rows = len(data.y[data.labeled]) if population is None else len(population)
        return known.value, known.standard_error, rows, facts
    parts = []
    for start in range(0, len(population), BATCH):
        rows = data.encoder.encode(population.iloc[start : start + BATCH])
        parts.append((saved.model.predict(rows), saved.support.outside(rows.dense())))
    estimates, outside = (np.concatenate(part) for part in zip(*parts, strict=True))
    design = np.ones(len(population))
    if options["weight"]:
        design = population[options["weight"]].to_numpy(float)
    facts["target"].append(
        f"{np.average(outside, weights=design):.1%} of {facts['for']} resemble no row that has an "
        "outcome: what is said of them rests on the form of the model alone."
    )
    return *mean_of(tried, prediction, estimates, design), len(population), facts
