"""SVM whose mean scores in two groups may not differ by more than a bound."""

from dataclasses import dataclass

import numpy as np

from counterweight.fragments import Number
from counterweight.models.constraints.options import GROUP_OPTIONS, MAP_OPTIONS, SVM_OPTIONS
from counterweight.models.constraints.svm_baseline import MappedSvm, group_masks, labeled_rows

OPTIONS = {
    "c": Number(..., "Largest difference of the mean scores of the two groups.", minimum=0),
    **GROUP_OPTIONS,
    **SVM_OPTIONS,
    **MAP_OPTIONS,
}  # fmt: skip
LABEL = "Zafar et al."
ROLE = "peer"
RULE = "deterministic"


@dataclass(eq=False, repr=False)
class CovarianceConstraint(MappedSvm):
    """Least hinge loss subject to |<w, mean of A - mean of B>| <= c.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2015) as Goh et al. (2016) compare with it,
    equation (8): the bound is on the difference of the groups' mean scores, a stand-in for
    the difference of their rates, to which c has no known relation. The means are over all
    rows of the data sets, labeled or not, each counting once. The hinge is 1/2 - y f with y
    in -1, 1, so a score is that of `ConstrainedClassifier`: half of the textbook SVM's.

    The problem is convex. Where the unconstrained SVM breaks the bound, it holds with
    equality at the optimum, which is then found within that plane.

    Parameters
    ----------
    c : float
    groups, penalty, bias, features, feature_count, feature_scale, standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    difference_ : float
        Mean score of the first group minus that of the second.
    """

    c: float
    groups: tuple = ("male", "female")

    FITTED = MappedSvm.FITTED | {"difference": "difference_"}
    NUMBERS = MappedSvm.NUMBERS | {"difference": float}
    _options = OPTIONS

    def _fit(self, samples, rng):
        """Refuses groups that are unknown, empty or overlap."""
        seen = labeled_rows(samples)
        first, second = group_masks(samples, self.groups, exactly=2)

        def direction(rows):
            means = [np.asarray(rows[mask].mean(axis=0)).ravel() for mask in (first, second)]
            return means[0] - means[1], self.c

        self._learn(samples, seen, rng, direction)
        scores = self.scores_of(samples)
        self.difference_ = float(scores[first].mean() - scores[second].mean())
