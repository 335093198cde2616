"""Somebody else's scores, decided on by thresholds that keep constraints."""

from dataclasses import dataclass

import numpy as np

from counterweight.fragments import Array, Number, Text
from counterweight.models.constraints.decisions import (
    CONFIDENCE_OPTIONS,
    REPAIR_OPTIONS,
    MarginFit,
    RepairedDecisions,
)
from counterweight.models.constraints.estimator import RateEstimator, two_columns
from counterweight.models.constraints.options import PARAMETER_OPTIONS

OPTIONS = {
    "objective": Text("error(labeled)", "Sum of rates that thresholds make small where they must move."),
    "constraints": Array([], "Constraints, e.g. coverage(male) <= coverage(female) / kappa.", items={"type": "string"}),
    "above": Number(0.5, "A score above it is a yes, as long as constraints do not ask otherwise."),
    **PARAMETER_OPTIONS,
    **CONFIDENCE_OPTIONS,
    **REPAIR_OPTIONS,
}  # fmt: skip
LABEL = "Given scores"
RULE = "deterministic"


@dataclass(eq=False, repr=False)
class GivenScores(MarginFit, RepairedDecisions, RateEstimator):
    """The first feature as a score, with the thresholds of least cost by which constraints hold.

    Nothing is learned but thresholds, on the training rows. The features must be the score alone
    (``features: {recipe: one_hot, only: [score]}``); of others nothing is looked at.

    Parameters
    ----------
    objective, constraints, above, kappa, target, confidence, held_out, repair, groups
        See `OPTIONS`.

    Attributes
    ----------
    coef_ : ndarray (d,)
        1 for the score, else 0.
    thresholds_, threshold_groups_, repair_, promises_
        See `RepairedDecisions`; thresholds are distances from `above`.
    margins_, held_out_promises_, certified_, certificate_
        See `MarginFit`; both lines of the margins are of decisions.
    """

    objective: str = "error(labeled)"
    constraints: tuple = ()
    above: float = 0.5
    kappa: float | None = None
    target: float | None = None
    confidence: float | None = None
    held_out: float = 0.0
    repair: str = "everyone"
    groups: tuple = ()

    FITTED = {
        "coefficient": "coef_",
        "thresholds": "thresholds_",
        "threshold_groups": "threshold_groups_",
        "margins": "margins_",
        "certified": "certified_",
    }
    NUMBERS = {"certified": bool}
    KEPT = tuple(FITTED)
    _options = OPTIONS
    _has_chances = False

    def _fit(self, samples, rng):
        self.coef_ = np.eye(1, samples.X.shape[1])[0]

    def decision_function(self, X):
        """The score less `above`, (n,)."""
        return np.asarray(self._checked(X) @ self.coef_).ravel() - self.above

    def answers(self, X, samples=None):
        """Decisions (n,), and the same as chances of a yes: nobody tosses a coin."""
        decided = self._above(self.decision_function(X), samples)
        return decided.astype(float), decided

    def predict_proba(self, X, samples=None):
        """1 for what is decided, (n, 2); see `RepairedDecisions.predict` for `samples`."""
        return two_columns(self.answers(X, samples)[0])
