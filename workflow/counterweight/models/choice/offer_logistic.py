"""Logistic regression of the answer on features and offer: the plainest baseline."""

from dataclasses import dataclass

from counterweight.models.choice.baseline import BASELINE_OPTIONS, OfferBaseline
from counterweight.numerics.linear import RIDGE, fit_logistic

#: These models are for offers with yes/no answers.
KIND = "offers"
OPTIONS = {**BASELINE_OPTIONS, **RIDGE}
LABEL = "Logistic regression"
ROLE = "peer"
VALUE_LABELS = {
    "interactions": {True: "with interactions"},
    "per_component": {True: "by component"},
}


@dataclass(eq=False, repr=False)
class OfferLogistic(OfferBaseline):
    """Logistic regression of the answer on features and offer.

    ``log p / (1 - p) = a + b'x + k t``, with interactions ``+ c'x t``. Without them every
    person's curve has the same slope; with them the slope is linear in x. Both assume
    log-odds that are linear in the features, which segments break. No constraint keeps the
    slope in t from being negative.

    Parameters
    ----------
    interactions, per_component : bool
    ridge : float
        See ``linear.fit_logistic``.

    Attributes
    ----------
    models_ : list of dict
        ``coef`` (p,), ``intercept``, ``iterations``, ``converged`` of each model.
    components_ : ndarray of int
        Component of each model; -1 for one model of all rows.
    """

    STORED = ("coef", "intercept", "iterations", "converged")

    ridge: float = 1e-6

    def _fit(self, Z, y, rng):
        coef, intercept, iterations, converged = fit_logistic(Z, y, ridge=self.ridge)
        return {
            "coef": coef,
            "intercept": intercept,
            "iterations": iterations,
            "converged": float(converged),
        }

    def refitted(self, Z, y, times):
        """``coef, intercept`` of the same model on rows of the design taken so many times."""
        return fit_logistic(Z, y, times, ridge=self.ridge)[:2]

    def _constant(self, log_odds, p):
        return super()._constant(log_odds, p) | {"converged": 1.0}
