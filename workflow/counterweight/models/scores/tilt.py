"""A tilt of scores: answers for rows without an outcome whose log odds differ by one number."""

from dataclasses import dataclass

import numpy as np

from counterweight.models.scores.boosting import BoostedScore
from counterweight.models.scores.linear import LinearScore
from counterweight.numerics.tilt import Calibration, tilted

#: Models of the chance of an outcome, by the name that a saved file has.
CHANCES = {"linear": LinearScore, "boosting": BoostedScore}


@dataclass
class ScoreTilt:
    """Chances of the target from those that are learned from labeled rows.

    Among rows without an outcome the log odds are those of like rows that have one plus `delta`.
    Where answers are for everyone, a row is without an outcome by one minus the chance that rows
    like it have one:  ``p = c p1 + (1 - c) p0``.

    Attributes
    ----------
    delta : float
    slope, constant : float
        Of the calibration of p1 in the log odds.
    chance : object or None
        Model of the chance of an outcome, with ``predict(rows)``; None where answers are for rows
        without an outcome.
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
        """Estimates and ends of intervals of encoded rows, tilted; an interval holds its estimate.

        Parameters
        ----------
        rows : counterweight.labeling.encoding.Encoded
        p, low, high : array (n,)
            As among labeled rows.
        """
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
        """Fitted tilt from `to_arrays`; `chance` is the class of that model, or None."""
        numbers = (float(arrays[name]) for name in ("delta", "slope", "constant"))
        own = {
            name.removeprefix("chance_"): values
            for name, values in arrays.items()
            if name.startswith("chance_")
        }
        return cls(*numbers, chance.from_arrays(own) if chance else None)
