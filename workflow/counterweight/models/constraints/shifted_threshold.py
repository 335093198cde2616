"""SVM whose threshold is shifted until a constraint on rates holds."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Text
from counterweight.models.constraints.options import MAP_OPTIONS, PARAMETER_OPTIONS, SVM_OPTIONS
from counterweight.models.constraints.promises.thresholds import cuts, shift_of, threshold_within
from counterweight.models.constraints.svm_baseline import MappedSvm, labeled_rows
from counterweight.numerics.rates.coefficients import compile as compile_rates

OPTIONS = {
    "constraint": Text(..., "What has to hold on the training rows, e.g. recall(d2) >= 0.9."),
    **PARAMETER_OPTIONS,
    **SVM_OPTIONS,
    **MAP_OPTIONS,
}  # fmt: skip
LABEL = "Shifted SVM"
ROLE = "peer"
RULE = "deterministic"

#: Rounding that a sum of shares may have.
ROUNDING = 1e-12


@dataclass(eq=False, repr=False)
class ShiftedThreshold(MappedSvm):
    """An unconstrained SVM, its bias then shifted as little as the constraint allows.

    The baseline of section 4.2 of Goh et al. (2016). A row is predicted positive iff its score
    is above the threshold; all thresholds are tried that differ in their predictions on the
    training rows, and among those where the constraint (deterministic rates, training rows)
    holds the one nearest to 0 is taken, in the middle between the two neighbouring scores.
    A shorthand that stands for several plain constraints asks for all of them.

    Parameters
    ----------
    constraint : str
        In the language of `counterweight.numerics.rates.language`.
    kappa, target, penalty, bias, features, feature_count, feature_scale, standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    threshold_ : float
        0 where the SVM meets the constraint as it is.
    """

    constraint: str
    kappa: float | None = None
    target: float | None = None

    FITTED = MappedSvm.FITTED | {"thresholds": "threshold_"}
    NUMBERS = MappedSvm.NUMBERS | {"thresholds": float}
    _options = OPTIONS

    def _fit(self, samples, rng):
        """Refuses a constraint that holds at no threshold, with the least violation."""
        seen = labeled_rows(samples)
        parameters = {"kappa": self.kappa, "target": self.target}
        problem = compile_rates("coverage(everyone)", [self.constraint], samples, parameters)
        self._learn(samples, seen, rng)
        order, above, edges = cuts(self.scores_of(samples))
        excess = np.full(len(above), -np.inf)
        for j, bound in enumerate(problem.bounds, start=1):
            # Moving a row from negative to positive changes the rate by P - N.
            change = problem.positive[j] - problem.negative[j]
            totals = np.concatenate([[0.0], np.cumsum(change[order])])[above]
            value = totals + problem.negative[j].sum() + problem.constants[j] - bound
            size = problem.positive[j].sum() + problem.negative[j].sum() + abs(bound)
            excess = np.maximum(excess, value - ROUNDING * (1 + size))
        shift = np.where(excess <= 0, shift_of(edges), np.inf)
        best = int(np.argmin(shift))
        if not np.isfinite(shift[best]):
            raise CounterweightError(
                f"No threshold of the SVM meets {self.constraint} on the {len(samples)} training "
                f"rows; the least violation is {excess.min():.4g}: loosen the constraint."
            )
        self.threshold_ = threshold_within(edges[best])

    def predict_proba(self, X):
        """Probabilities (n, 2): max(0, min(1, 1/2 + f - threshold)) of a positive prediction."""
        return self._randomised(self.decision_function(X) - self.threshold_)
