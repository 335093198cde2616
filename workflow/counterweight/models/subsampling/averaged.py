"""Log-odds of a mean of margins, from a calibration of the mean of fewer.

A row that calibrates has margins only by the learners that have not seen it, one a round of folds.
A new row has those of all learners, whose mean is less noisy, so more is to be made of it.
"""

import numpy as np


class MarginNoise:
    """How a margin that is a mean of few is told from one that is a mean of many.

    The margin of a row by a learner is taken to be the row's own part, normal about the mean of its
    class with variance S, and noise of the learner. A mean of R margins has noise of variance
    v / R. Log-odds of the class are then linear in it about the midpoint c of the two means, and
    their slope goes by 1 / (S + v / R). So of a mean M of n margins they are what a curve that was
    fitted to means of R says of ``c + (M - c) (S + v / R) / (S + v / n)``. The noise may grow with
    the distance from c: ``v = a + b (M - c)^2``, by least squares on how the R margins of a row
    differ. Where margins are not normal this is right to the first order in v / S.

    Parameters
    ----------
    center, signal, constant, growth : float
        c, S, a and b.
    rounds : int
        R.

    References
    ----------
    Carroll, Ruppert, Stefanski & Crainiceanu (2006). Measurement error in nonlinear models, 2nd
    ed., sections 3.2 and 4.8 (discriminant analysis with errors).
    """

    def __init__(self, center, signal, constant, growth, rounds):
        self.center, self.signal = float(center), float(signal)
        self.constant, self.growth, self.rounds = float(constant), float(growth), int(rounds)

    @classmethod
    def of(cls, margins, y, weight):
        """From margins by learners that have not seen the rows.

        Parameters
        ----------
        margins : array (R, n)
        y : array (n,) of 0 and 1
            Both occur.
        weight : array (n,)

        Returns
        -------
        MarginNoise or None
            None for one round, which does not tell the noise.
        """
        rounds = len(margins)
        if rounds < 2:
            return None
        mean, noise = margins.mean(axis=0), margins.var(axis=0, ddof=1)
        places = [np.average(mean[y == k], weights=weight[y == k]) for k in (0, 1)]
        center, typical = sum(places) / 2, np.average(noise, weights=weight)
        within = np.average((mean - np.where(y == 1, places[1], places[0])) ** 2, weights=weight)
        signal = max(within - typical / rounds, typical / rounds)
        square = (mean - center) ** 2
        spread = square - np.average(square, weights=weight)
        bend = np.average(spread**2, weights=weight)
        growth = np.average(spread * noise, weights=weight) / bend if bend > 0 else 0.0
        growth = max(growth, 0.0)
        constant = max(typical - growth * np.average(square, weights=weight), 0.0)
        return cls(center, signal, constant, growth, rounds)

    def steepened(self, margin, count):
        """Means of `rounds` margins that tell what means of `count` do, (n,)."""
        away = margin - self.center
        noise = self.constant + self.growth * away * away
        total = self.signal + noise / count
        # Without signal and noise there is nothing to tell apart.
        more = np.divide(
            self.signal + noise / self.rounds, total, out=np.ones_like(total), where=total > 0
        )
        return self.center + more * away

    def to_array(self):
        return np.array([self.center, self.signal, self.constant, self.growth, self.rounds])
