"""Naive Bayes: features and offer are independent and normal, given the answer."""

from dataclasses import dataclass

import numpy as np

from counterweight.models.choice.baseline import ORACLE_OPTIONS, OfferBaseline
from counterweight.numerics.linear import expit

KIND = "offers"
OPTIONS = {**ORACLE_OPTIONS}
LABEL = "Naive Bayes"
ROLE = "peer"
VALUE_LABELS = {"per_component": {True: "by component"}}
#: Least variance, as a share of the largest of a column.
FLOOR = 1e-9


@dataclass(eq=False, repr=False)
class OfferNaiveBayes(OfferBaseline):
    """Gaussian naive Bayes of the answer by features and offer.

    Columns are independent and normal given the answer, the offer among them, so that log-odds are
    quadratic in each. Where columns go together, as merit and aid do, evidence counts twice.

    Parameters
    ----------
    per_component : bool

    Attributes
    ----------
    models_ : list of dict
        ``linear`` (p,), ``square`` (p,), ``constant``: the log-odds of each model.
    """

    STORED = ("linear", "square", "constant")

    interactions: bool = False
    per_component: bool = False

    def _fit(self, Z, y, rng):
        least = FLOOR * Z.var(axis=0).max()
        terms = []
        for rows in (Z[y == 1], Z[y == 0]):
            mean, variance = rows.mean(axis=0), rows.var(axis=0) + least
            whole = np.log(len(rows)) - 0.5 * (np.log(variance) + mean**2 / variance).sum()
            terms.append((mean / variance, -0.5 / variance, whole))
        yes, no = terms
        return {name: one - other for name, one, other in zip(self.STORED, yes, no, strict=True)}

    def _constant(self, log_odds, p):
        return {"linear": np.zeros(p), "square": np.zeros(p), "constant": log_odds}

    def _probability(self, arrays, Z):
        return expit(Z @ arrays["linear"] + Z**2 @ arrays["square"] + arrays["constant"])
