"""A tilt of scores: answers for rows without an outcome whose log odds differ by one number."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.score_models import LEARNERS, EncodedModel
from counterweight.numerics.sensitivity import SweptMean
from counterweight.numerics.tilt import Calibration, estimate_delta, gap_left, tilted
from counterweight.tables.parquet import read_columns


@dataclass
class ScoreTilt:
    """Chances of the target from those that are learned from labeled rows.

    Among rows without an outcome the log odds are those of like rows that have one plus `delta`.
    Where answers are for everyone, a row is without an outcome by one minus the chance that rows
    like it have one, of the model `chance`: ``p = c p1 + (1 - c) p0``; it is None where answers are
    for rows without an outcome. `slope` and `constant` calibrate p1 in the log odds.
    """

    delta: float
    slope: float = 1.0
    constant: float = 0.0
    chance: object = None

    def calibrated(self, p):
        """Chances as among labeled rows, (n,)."""
        if (self.slope, self.constant) == (1.0, 0.0):
            return np.asarray(p, float)
        return Calibration(self.slope, self.constant)(p)

    def moved(self, rows, p, low, high):
        """Estimates and intervals (n,) of encoded rows, tilted; an interval holds its estimate."""
        seen = 0.0 if self.chance is None else self.chance.predict(rows)
        p, low, high = (
            seen * value + (1 - seen) * tilted(value, self.delta)
            for value in (self.calibrated(p), low, high)
        )
        return p, np.minimum(low, p), np.maximum(high, p)

    def to_arrays(self):
        """Fitted numbers by name."""
        numbers = {"delta": self.delta, "slope": self.slope, "constant": self.constant}
        chance = {} if self.chance is None else self.chance.to_arrays()
        return numbers | {f"chance_{name}": values for name, values in chance.items()}

    @classmethod
    def from_arrays(cls, arrays, chance=None):
        """Fitted tilt from `to_arrays`; `chance` is the learner of that model, or None."""
        numbers = (float(arrays[name]) for name in ("delta", "slope", "constant"))
        own = {
            name.removeprefix("chance_"): values
            for name, values in arrays.items()
            if name.startswith("chance_")
        }
        return cls(*numbers, EncodedModel.of_learner(chance, own) if chance else None)


def fitted_tilt(asked, data, tested, prediction, blank, *, target, event, selection):
    """The `ScoreTilt` of a study, what is known of it (a dict), and the sentences that it rests on.

    `asked` has one of ``rate`` (share of 1 among the rows without an outcome), ``times`` (their
    odds over those of like rows that have one) and ``by: em``. `prediction` (M,) are those of the
    delivered method out of fold, `blank` (N,) its estimates of the rows without an outcome, `event`
    is what 1 stands for in print, `selection` the file of the cross-fitted chances to have an
    outcome. Refused for an outcome that is a number, no row without an outcome, and what cannot be
    met.
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
        calibration = Calibration.fitted(prediction, tested.y.astype(int))
        p, p_blank = calibration(prediction), calibration(blank)
        found = estimate_delta(p, tested.y.astype(int), p_blank, by=asked["by"])
        if found.end:
            raise CounterweightError(
                f"tilt by {asked['by']} ends at a rate of {found.end} among rows without an "
                "outcome, which nobody would believe: give a rate or times instead, or leave tilt "
                "out."
            )
        delta = found.value
        said = f"estimated from all features, the odds of {event} among rows without an outcome are"
        X = data.X
        y = data.y[data.labeled].astype(int)
        gap, *_ = gap_left(X[data.labeled], y, X[~data.labeled], found.rate)
        facts = {"standard_error": found.standard_error, "gap": gap}
    sentences = [
        f"Labels are taken to be missing not at random: {said} {_times(delta)} those of rows with "
        "the same features that have one, the same factor at all features. Nothing in the table "
        "can show that it is so."
    ]
    if "gap" in facts:
        sentences += _of_estimate(delta, facts)
    blanks = SweptMean(calibration(blank), weight=data.weight[~data.labeled])
    facts |= {
        "by": asked.get("by", next(iter(asked))),
        "delta": delta,
        "odds": float(np.exp(delta)),
    }
    facts |= {"rate": blanks.at(delta)[0], "chance": None}
    chance = None
    if target == "general":
        facts["chance"], chance = _chance(data, selection)
    return ScoreTilt(delta, *calibration, chance), facts, sentences


def _of_estimate(delta, facts):
    """What an estimated tilt rests on, and what speaks against it."""
    low, high = (delta + side * 1.96 * facts["standard_error"] for side in (-1, 1))
    return [
        f"The factor has a 95 % interval of {np.exp(low):.2f} to {np.exp(high):.2f}, if, "
        "besides, features are distributed alike with and without a label among rows of the "
        "same outcome (label shift). Otherwise it is a number without a meaning.",
        f"Against that speaks what is left: {100 * facts['gap']:.0f} % of the difference in "
        "feature means between rows with and without an outcome remains after the tilt; under "
        "label shift it would be nearly 0 %.",
    ]


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


def _chance(data, selection):
    """A model of the chance of an outcome that new rows have too: the nearest to the cross-fit."""
    known = np.full(len(data.rows), data.labeled.mean())
    if selection:
        known = read_columns(selection)["p"]
    y = data.labeled.astype(float)
    fits = {name: EncodedModel.learned(name, data.encoded, y, binary=True) for name in LEARNERS}
    name = min(fits, key=lambda one: np.square(fits[one].predict(data.encoded) - known).mean())
    return name, fits[name]
