"""The tilt that a config asks for: how much the odds of rows without an outcome differ."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import read_columns
from counterweight.models.scores.tilt import CHANCES, ScoreTilt
from counterweight.numerics.sensitivity import SweptMean
from counterweight.numerics.tilt import Calibration, estimate_delta, gap_left

#: What is said of answers without a tilt.
AT_RANDOM = (
    "Labels are taken to be missing at random: rows without an outcome are taken to turn out as "
    "rows with the same features that have one. Nothing in the table can show that they do."
)
#: The same of a target that is not in the table.
ELSEWHERE = (
    "Those that answers are for are taken to turn out as labeled rows with the same features. "
    "Nothing in the table can show that they do."
)


def fitted_tilt(asked, data, tried, prediction, blank, *, target, event, selection, rng):
    """The tilt of a study, what is known of it, and what it rests on.

    Parameters
    ----------
    asked : dict
        One of ``rate`` (share of 1 among the rows without an outcome), ``times`` (their odds over
        those of like rows that have one) and ``by: em``.
    data : BlankData
    tried : Tried
    prediction : array (M,)
        Out of fold, of the method given away.
    blank : array (N,)
        Its estimates of the rows without an outcome.
    target : str
        For whom answers are: general or unlabeled.
    event : str
        What 1 stands for, in print.
    selection : str
        File of the chances to have an outcome, cross-fitted.
    rng : numpy.random.Generator

    Returns
    -------
    tilt : ScoreTilt
    facts : dict
    sentences : list of str

    Raises
    ------
    CounterweightError
        For an outcome that is a number, no row without an outcome, and what cannot be met.
    """
    if not data.binary:
        raise CounterweightError(
            "tilt is for an outcome of two classes, and this one is a number: leave tilt out; the "
            "page says how wrong the answer could be."
        )
    if data.labeled.all():
        raise CounterweightError(
            "tilt is for rows without an outcome, and there is none: leave tilt out."
        )
    calibration, facts = Calibration(), {}
    if "times" in asked:
        delta = float(np.log(asked["times"]))
        said = f"as tilt.times says, the odds of {event} among rows without an outcome are"
    elif "rate" in asked:
        delta = _for_rate(asked["rate"], blank, data.weight[~data.labeled])
        said = (
            f"as tilt.rate says, {100 * asked['rate']:.3g} % of the rows without an outcome have "
            f"{event}; for that, their odds must be"
        )
    else:
        calibration = Calibration.fitted(prediction, tried.y.astype(int))
        p, p_blank = calibration(prediction), calibration(blank)
        found = estimate_delta(p, tried.y.astype(int), p_blank, by=asked["by"])
        if found.end:
            raise CounterweightError(
                f"tilt by {asked['by']} ends at a rate of {found.end} among rows without an "
                "outcome, which nobody would believe: give a rate or times instead, or leave tilt "
                "out."
            )
        delta = found.value
        said = f"estimated from all features, the odds of {event} among rows without an outcome are"
        X = data.rows.dense()
        y = data.y[data.labeled].astype(int)
        gap, *_ = gap_left(X[data.labeled], y, X[~data.labeled], found.rate)
        facts = {"standard_error": found.standard_error, "gap": gap}
    sentences = [
        f"Labels are taken to be missing not at random: {said} {_times(delta)} those of rows with "
        "the same features that have one, the same factor at all features. Nothing in the table "
        "can show that it is so."
    ]
    if "gap" in facts:
        low, high = (delta + side * 1.96 * facts["standard_error"] for side in (-1, 1))
        sentences += [
            f"The factor has a 95 % interval of {np.exp(low):.2f} to {np.exp(high):.2f}, if, "
            "besides, features are distributed alike with and without a label among rows of the "
            "same outcome (label shift). Otherwise it is a number without a meaning.",
            f"Against that speaks what is left: {100 * facts['gap']:.0f} % of the difference in "
            "feature means between rows with and without an outcome remains after the tilt; under "
            "label shift it would be nearly 0 %.",
        ]
    blanks = SweptMean(calibration(blank), weight=data.weight[~data.labeled])
    facts |= {
        "by": asked.get("by", next(iter(asked))),
        "delta": delta,
        "odds": float(np.exp(delta)),
    }
    facts |= {"rate": blanks.at(delta)[0], "chance": None}
    chance = None
    if target == "general":
        facts["chance"], chance = _chance(data, selection, rng)
    return ScoreTilt(delta, *calibration, chance), facts, sentences


def _times(delta):
    return f"{np.exp(delta):.3g} times"


def _for_rate(rate, p, weight):
    """The shift at which estimates have a given mean."""
    from scipy.optimize import brentq

    mean = SweptMean(p, weight=weight)
    ends = -40.0, 40.0
    if not mean.at(ends[0])[0] < rate < mean.at(ends[1])[0]:
        raise CounterweightError(
            f"tilt.rate is {rate}, which no shift of the odds can give: some estimates are 0 or 1."
        )
    return float(brentq(lambda delta: mean.at(delta)[0] - rate, *ends, xtol=1e-12))


def _chance(data, selection, rng):
    """A model of the chance of an outcome that new rows have too: the nearest to the cross-fit."""
    known = np.full(len(data.row), data.labeled.mean())
    if selection:
        known = read_columns(selection)["p"]
    fits = {
        name: model().fit(data.rows, data.labeled.astype(float), binary=True, rng=rng)
        for name, model in CHANCES.items()
    }
    name = min(fits, key=lambda one: np.square(fits[one].predict(data.rows) - known).mean())
    return name, fits[name]
