"""SVM with a threshold of its own for each of two groups."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice, Flag, Number
from counterweight.models.constraints.options import GROUP_OPTIONS, MAP_OPTIONS, SVM_OPTIONS
from counterweight.models.constraints.promises.thresholds import (
    cuts,
    interval_minima,
    shift_of,
    threshold_within,
)
from counterweight.models.constraints.svm_baseline import (
    GroupedRule,
    MappedSvm,
    group_masks,
    labeled_rows,
)
from counterweight.numerics.rates.coefficients import rate_parts

OPTIONS = {
    "kappa": Number(1.0, "The first group's rate is at most the second's divided by kappa.", above=0),
    **GROUP_OPTIONS,
    "rate": Choice("coverage", ["coverage", "recall", "false_positive_rate"],
        "Rate of positive predictions that is compared: coverage for demographic parity, recall for equal opportunity."),
    "both": Flag(False, "Whether the second group's rate is bounded by the first's likewise."),
    **SVM_OPTIONS,
    **MAP_OPTIONS,
}  # fmt: skip
LABEL = "Group thresholds"
ROLE = "peer"
RULE = "deterministic"


@dataclass(eq=False, repr=False)
class GroupThresholds(GroupedRule, MappedSvm):
    """An unconstrained SVM with the two thresholds of least training error under a constraint.

    After Hardt, Price & Srebro (2016), without randomisation: rate(A) <= rate(B) / kappa for
    deterministic predictions on the training rows. The search is exact, over all pairs of
    thresholds that differ in their predictions: for each threshold of A the rate bounds those
    of B to an interval of the sorted scores, whose least error a table of minima over powers
    of two gives; n log n in all. Among pairs of equal error the one with the smallest shifts
    is taken. Rows in neither group keep the threshold 0.

    It needs to know the group of each row to predict.

    Parameters
    ----------
    kappa, groups, rate, both, penalty, bias, features, feature_count, feature_scale,
    standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    thresholds_ : numpy.ndarray, shape (2,)
    """

    kappa: float = 1.0
    groups: tuple = ("male", "female")
    rate: str = "coverage"
    both: bool = False

    FITTED = MappedSvm.FITTED | {"thresholds": "thresholds_"}
    _options = OPTIONS

    def _fit(self, samples, rng):
        """Refuses groups that are unknown, overlap or lack what the rate needs."""
        if self.both and self.kappa > 1:
            raise CounterweightError(
                f"kappa is {self.kappa}; it must be at most 1 where both groups are bounded."
            )
        seen = labeled_rows(samples)
        masks = group_masks(samples, self.groups, exactly=2)
        self._learn(samples, seen, rng)
        scores = self.scores_of(samples)
        gain = np.where(seen, samples.weight * np.where(samples.y == 1, -1.0, 1.0), 0.0)
        total = samples.weight[seen].sum()
        sides = []
        for name, mask in zip(self.groups, masks, strict=True):
            parts = rate_parts(self.rate, ((name,),), samples)
            share = np.zeros(len(samples))
            share[parts.rows] = parts.positive / parts.mass.sum()
            order, above, edges = cuts(scores[mask])
            rates, errors = (
                np.concatenate([[0.0], np.cumsum(values[mask][order])])[above]
                for values in (share, gain / total)
            )
            # A shift breaks ties only: all shifts together weigh less than one row.
            shift = np.minimum(shift_of(edges), 1e3)
            sides.append((rates, errors + 1e-12 * shift, edges))
        first, second = self._best(*sides[0][:2], *sides[1][:2])
        self.thresholds_ = np.array(
            [threshold_within(sides[0][2][first]), threshold_within(sides[1][2][second])]
        )

    def _best(self, rate, error, other_rate, other_error):
        """Positions of the best pair; rates ascend along their arrays."""
        low = np.searchsorted(other_rate, self.kappa * rate - 1e-12)
        high = np.full(len(rate), len(other_rate))
        if self.both:
            high = np.searchsorted(other_rate, rate / self.kappa + 1e-12, side="right")
        possible = low < high
        least, at = interval_minima(other_error, low[possible], high[possible])
        sums = error[possible] + least
        best = int(np.argmin(sums))
        return int(np.flatnonzero(possible)[best]), int(at[best])

    def _positive(self, scores, masks):
        """max(0, min(1, 1/2 + f - threshold of the group)) of each row."""
        for mask, threshold in zip(masks, self.thresholds_, strict=True):
            scores = scores - threshold * mask
        return np.clip(0.5 + scores, 0.0, 1.0)
