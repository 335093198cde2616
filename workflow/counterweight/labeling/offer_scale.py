"""The scale of offers: between the user's units and the models' [0, 1]."""

import numpy as np

from counterweight.errors import CounterweightError


class OfferScale:
    """Offers between the user's units and [0, 1], where acceptance rises.

    Parameters
    ----------
    low, high : float
        The range of offers, in the user's units.
    direction : str
        ``"up"``: t = (d - low) / (high - low). ``"down"``: t = (high - d) / (high - low).
    revenue : mapping, optional
        ``intercept`` and ``slope`` of the revenue of an accepted offer, in the user's
        units. Without it the revenue is 1 - t (up) or d (down).

    Raises
    ------
    CounterweightError
        When low is not below high, or a number is not finite.
    """

    def __init__(self, low=0.0, high=1.0, direction="up", revenue=None):
        if direction not in ("up", "down"):
            raise CounterweightError(
                f"The direction of offers is {direction!r}: choose up or down."
            )
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise CounterweightError(
                f"The offers are declared to lie from {low:g} to {high:g}: low must be below high, "
                "both finite; correct labeling.low and labeling.high."
            )
        self.low, self.high, self.direction = float(low), float(high), direction
        self.width = self.high - self.low
        if revenue is not None:
            line = [revenue.get("intercept"), revenue.get("slope")]
        else:
            line = [self.high / self.width, -1 / self.width] if direction == "up" else [0.0, 1.0]
        if not all(isinstance(value, (int, float)) and np.isfinite(value) for value in line):
            raise CounterweightError(
                f"The revenue is {revenue}: it needs the finite numbers intercept and slope."
            )
        self.intercept, self.slope = map(float, line)

    def scaled(self, offers):
        """Offers t in [0, 1] from offers in the user's units."""
        offers = np.asarray(offers, dtype=float)
        above = offers - self.low if self.direction == "up" else self.high - offers
        return above / self.width

    def offers(self, t):
        """Offers in the user's units from t in [0, 1]."""
        t = np.asarray(t, dtype=float)
        return self.low + t * self.width if self.direction == "up" else self.high - t * self.width

    def revenue(self, offers):
        """Revenue of accepted offers in the user's units."""
        return self.intercept + self.slope * np.asarray(offers, dtype=float)

    def scaled_revenue(self):
        """``(a, b)`` with revenue a + b t of an accepted offer."""
        at_zero, at_one = self.revenue(self.offers([0.0, 1.0])).tolist()
        return at_zero, at_one - at_zero

    def scaled_choice(self, eta, k):
        """Threshold and slope on [0, 1] of acceptance logistic(+-k (d - eta)) in the user's units.

        The sign is + for ``"up"`` and - for ``"down"``, so that k is not negative.
        """
        return self.scaled(eta), np.asarray(k, dtype=float) * self.width
