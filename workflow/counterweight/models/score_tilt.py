"""A tilt of scores: answers for rows without an outcome whose log odds differ by one number."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.score_models import EncodedModel
from counterweight.numerics.checks import group_sums
from counterweight.numerics.estimate import around
from counterweight.numerics.linear import expit, first_of_each, logit, wider
from counterweight.numerics.sensitivity import SweptMean
from counterweight.numerics.tilt import (
    Calibration,
    estimate_delta,
    gap_beyond_chance,
    gap_left,
    tilted,
)

#: Normal quantile of 95 % intervals.
Z = 1.96
#: Chances nearer to 0 or 1 than this count as this far where a slope in the log odds is.
NEAREST = 1e-6
#: Numbers of a tilt, in a saved model.
NUMBERS = ("delta", "slope", "constant", "error")
#: Those of one that was fitted to labels bought.
FITTED = ("steep", "steep_error", "both", "odds", "least", "most")
#: Share of the gap of feature means that an estimated tilt may leave, and the p-value below which
#: what it leaves is no chance.
MOST_LEFT, CHANCE = 1 / 3, 0.001


@dataclass
class ScoreTilt:
    """Chances of the target from those that are learned from labeled rows.

    Among rows without an outcome the log odds are those of like rows that have one plus `delta`.
    Where answers are for everyone, a row is without an outcome by one minus the chance that rows
    like it have one, of the model `chance`: ``p = c p1 + (1 - c) p0``; it is None where answers are
    for rows without an outcome. `slope` and `constant` calibrate p1 in the log odds. `error` is the
    standard error of `delta`, 0 where it is given; intervals of rows are widened by it.

    Where labels were bought among rows without an outcome, the tilt is fitted to them, with a slope
    `steep` of its own: their log odds are ``delta + steep logit p1``, or with `odds` 0 (an outcome
    that is a number) ``delta + steep p1`` itself, from `least` to `most`. `steep_error` is the
    standard error of that slope, `both` the covariance of the two.
    """

    delta: float
    slope: float = 1.0
    constant: float = 0.0
    chance: object = None
    error: float = 0.0
    steep: float = 1.0
    steep_error: float = 0.0
    both: float = 0.0
    odds: float = 1.0
    least: float = -1e300
    most: float = 1e300

    def calibrated(self, p):
        """Chances as among labeled rows, (n,)."""
        if (self.slope, self.constant) == (1.0, 0.0):
            return np.asarray(p, float)
        return Calibration(self.slope, self.constant)(p)

    def moved(self, rows, p, low, high):
        """Estimates and intervals (n,) of encoded rows, tilted; an interval holds its estimate.

        Of rows of which it is known that they have no outcome, `chance` is to be None.
        """
        seen = 0.0 if self.chance is None else self.chance.predict(rows)
        p = self.calibrated(p)
        low, high = np.minimum(low, p), np.maximum(high, p)
        if self.fitted:
            made = self._by_bought(p, low, high)
        else:
            made = [tilted(value, self.delta) for value in (p, low, high)]
            if self.error:
                made[1:] = (
                    wider(made[0], end, side * Z * self.error)
                    for side, end in ((-1, made[1]), (1, made[2]))
                )
        p, low, high = (
            seen * value + (1 - seen) * moved
            for value, moved in zip((p, low, high), made, strict=True)
        )
        return p, np.minimum(low, p), np.maximum(high, p)

    @property
    def fitted(self):
        """Whether it was fitted to labels bought among rows without an outcome."""
        return self.steep_error > 0 or self.steep != 1.0 or not self.odds

    def _by_bought(self, p, low, high):
        """Estimates and ends of rows without an outcome by a tilt that was fitted to labels bought.

        Ends are those among labeled rows, moved alike, and wider by the error of the fit there.
        """
        score = logit(np.clip(p, NEAREST, 1 - NEAREST)) if self.odds else p
        error = self.error**2 + 2 * score * self.both + (score * self.steep_error) ** 2
        half, made = Z * np.sqrt(np.maximum(error, 0.0)), []
        for value in (p, low, high):
            at = logit(np.clip(value, NEAREST, 1 - NEAREST)) if self.odds else value
            made.append(self.delta + self.steep * at)
        middle, ends = made[0], (np.minimum(made[1], made[2]), np.maximum(made[1], made[2]))
        low, high = (
            middle + side * np.hypot(end - middle, half)
            for side, end in zip((-1, 1), ends, strict=True)
        )
        made = [middle, low, high]
        if self.odds:
            return [expit(value) for value in made]
        return [np.clip(value, self.least, self.most) for value in made]

    def to_arrays(self):
        """Fitted numbers by name."""
        names = NUMBERS + FITTED * self.fitted
        numbers = {name: getattr(self, name) for name in names}
        chance = {} if self.chance is None else self.chance.to_arrays()
        return numbers | {f"chance_{name}": values for name, values in chance.items()}

    @classmethod
    def from_arrays(cls, arrays, chance=None):
        """Fitted tilt from `to_arrays`; `chance` is the learner of that model, or None."""
        # Files of 1.0.0 know no error, and none before labels were bought a slope.
        numbers = {name: float(arrays[name]) for name in NUMBERS + FITTED if name in arrays}
        own = {
            name.removeprefix("chance_"): values
            for name, values in arrays.items()
            if name.startswith("chance_")
        }
        return cls(**numbers, chance=EncodedModel.of_learner(chance, own) if chance else None)


def fitted_tilt(asked, data, tested, prediction, blank, *, target, event, selection):
    """The `ScoreTilt` of a study, what is known of it (a dict), and the sentences that it rests on.

    `asked` has one of ``rate`` (share of 1 among the rows without an outcome), ``times`` (their
    odds over those of like rows that have one) and ``by: em``. `prediction` (M,) are those of the
    delivered method out of fold, `blank` (N,) its estimates of the rows without an outcome, `event`
    is what 1 stands for in print, `selection` the file of the cross-fitted chances to have an
    outcome. Among what is known are ``rate`` of the rows without an outcome with ``rate_error``,
    ``rate_low`` and ``rate_high``, and ``assumes``. Refused for an outcome that is a number, no row
    without an outcome, what cannot be met, and an estimate that the table speaks against.
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
    weight = data.weight[~data.labeled]
    if "times" in asked:
        delta = float(np.log(asked["times"]))
        error = _given_error(data, tested, prediction, blank, delta, target)
        said = f"as tilt.times says, the odds of {event} among rows without an outcome are"
    elif "rate" in asked:
        delta, error = _for_rate(asked["rate"], blank, weight), 0.0
        said = (
            f"as tilt.rate says, {100 * asked['rate']:.3g} % of the rows without an outcome have "
            f"{event}; for that, their odds must be"
        )
    else:
        calibration, found, gap = _estimated(asked["by"], data, tested, prediction, blank)
        delta, error = found.value, found.rate_error
        said = f"estimated from all features, the odds of {event} among rows without an outcome are"
        facts = {"standard_error": found.standard_error, "gap": gap}
    sentences = [
        f"Labels are taken to be missing not at random: {said} {_times(delta)} those of rows with "
        "the same features that have one, the same factor at all features. Nothing in the table "
        "can show that it is so."
    ]
    if "rate" in asked:
        sentences.append(
            "That rate is taken as exact, so that neither it nor the rate of everyone, known "
            "outcomes and it together, has an interval: where it is not sure, ask with the lowest "
            "and the highest that it may be."
        )
    if "gap" in facts:
        sentences += _of_estimate(delta, facts)
    rate = SweptMean(calibration(blank), weight=weight).mean(delta)
    low, high = around(rate, Z * error, (0.0, 1.0))
    facts |= {
        "by": asked.get("by", next(iter(asked))),
        "delta": delta,
        "odds": float(np.exp(delta)),
        "rate": rate,
        "rate_error": error,
        "rate_low": low,
        "rate_high": high,
        "chance": None,
    }
    facts["assumes"] = {"if": _condition(facts, event), "rests": sentences[0]}
    chance = None
    if target == "general":
        facts["chance"], chance = chance_of_outcome(data, selection)
    tilt = ScoreTilt(delta, *calibration, chance, facts.get("standard_error", 0.0))
    return tilt, facts, sentences


def _condition(facts, event):
    """Under what answers with a tilt hold, as their first sentence begins."""
    odds = f"the odds of {event} among rows without an outcome are {facts['odds']:.3g} times those"
    if facts["by"] == "times":
        return f"If {odds} of like rows, as is given"
    if facts["by"] == "rate":
        return f"If {odds} of like rows, which meets the rate that is given"
    return (
        "If rows of the same outcome have features distributed alike with and without a label "
        f"(label shift), by which {odds} of like rows"
    )


def _estimated(by, data, tested, prediction, blank):
    """Calibration and `Delta` of a tilt that is estimated, and the gap of features that it leaves.

    Refused where the table speaks against label shift: much of the gap is left, and more than
    chance would leave.
    """
    seen = tested.y.astype(int)
    calibration = Calibration.fitted(prediction, seen)
    group = None
    if tested.group is not None:
        group = np.r_[tested.group, data.group[~data.labeled]]
        group = np.unique(group, return_inverse=True)[1]
    of_blank = calibration(blank)
    found = estimate_delta(calibration(prediction), seen, of_blank, by=by, group=group)
    if found.end:
        raise CounterweightError(
            f"tilt by {by} ends at a rate of {found.end} among rows without an outcome, which "
            "nobody would believe: give a rate or times instead, or leave tilt out."
        )
    X, y = data.X, data.y[data.labeled].astype(int)
    of_both = X[data.labeled], y, X[~data.labeled], found.rate
    gap, *_ = gap_left(*of_both)
    if group is not None:  # Of rows that may depend on each other one tells what chance does.
        seen, there = map(first_of_each, np.split(group, [len(y)]))
        of_both = of_both[0][seen], y[seen], of_both[2][there], found.rate
    if gap > MOST_LEFT and gap_beyond_chance(*of_both) < CHANCE:
        raise CounterweightError(
            f"tilt by {by} rests on label shift, and the table speaks against it: "
            f"{100 * gap:.0f} % of the difference in feature means between rows with and without "
            "an outcome remains after the tilt, and by chance alone nearly nothing would: give a "
            "rate or times instead, or leave tilt out."
        )
    return calibration, found, gap


def _given_error(data, tested, prediction, blank, delta, target):
    """Standard error of the rate among rows without an outcome where delta is given.

    Labeled rows, weighted to those without an outcome, tell by their residuals how wrong the
    estimates may be on the average; each counts by how steep the tilt is there. The outcomes of the
    rows themselves vary besides.
    """
    to_blank = tested.to_hidden(target)
    share = data.weight[~data.labeled] / data.weight[~data.labeled].sum()
    steep = np.exp(delta) / np.square(1 - prediction + prediction * np.exp(delta))
    part = steep * (tested.y - prediction)
    part = to_blank / to_blank.sum() * (part - np.average(part, weights=to_blank))
    part = group_sums(part, tested.group)
    moved = tilted(blank, delta)
    return float(np.sqrt(part @ part + np.square(share) @ (moved * (1 - moved))))


def _of_estimate(delta, facts):
    """What an estimated tilt rests on, and what speaks against it."""
    low, high = (delta + side * Z * facts["standard_error"] for side in (-1, 1))
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
    if not mean.mean(ends[0]) < rate < mean.mean(ends[1]):
        raise CounterweightError(
            f"tilt.rate is {rate}, which no shift of the odds can give: some estimates are 0 or 1."
        )
    return float(brentq(lambda delta: mean.mean(delta) - rate, *ends, xtol=1e-12))


def chance_of_outcome(data, selection):
    """A model of the chance of an outcome that new rows have too: the nearest to the cross-fit."""
    known = np.full(len(data.rows), data.labeled.mean()) if selection is None else selection
    return EncodedModel.nearest(data.encoded, data.labeled.astype(float), known)
