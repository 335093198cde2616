"""Baselines on a linear SVM: thresholds, a bound on mean scores, weights of classes."""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Choice, Flag, Number, Text
from counterweight.models.constraints.estimator import (
    GROUP_OPTIONS,
    MAP_OPTIONS,
    PARAMETER_OPTIONS,
    SVM_OPTIONS,
    MappedScore,
)
from counterweight.models.constraints.linear_svm import (
    GroupedRule,
    HingeRows,
    SvmBaseline,
    best_penalty,
    group_masks,
    labeled_rows,
)
from counterweight.models.constraints.thresholds import Cuts, Rates, exact_pair
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import rate_parts

OPTIONS_BY_NAME = {
    "shifted_threshold": {
        "constraint": Text(..., "What has to hold on the training rows, e.g. recall(d2) >= 0.9."),
        **PARAMETER_OPTIONS,
        **SVM_OPTIONS,
        **MAP_OPTIONS,
    },
    "group_thresholds": {
        "kappa": Number(1.0, "The first group's rate is at most the second's divided by kappa.", above=0),
        **GROUP_OPTIONS,
        "rate": Choice("coverage", ["coverage", "recall", "false_positive_rate"],
            "Rate of positive predictions that is compared: coverage for demographic parity, recall for equal opportunity."),
        "both": Flag(False, "Whether the second group's rate is bounded by the first's likewise."),
        **SVM_OPTIONS,
        **MAP_OPTIONS,
    },
    "covariance_constraint": {
        "c": Number(..., "Largest difference of the mean scores of the two groups.", minimum=0),
        **GROUP_OPTIONS,
        **SVM_OPTIONS,
        **MAP_OPTIONS,
    },
    "neyman_pearson": {
        "target": Number(..., "Most false positives, as a share of the labeled negatives.", above=0, below=1),
        "shares": Array([0.02, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7],
            "Shares of all weight that the positives may have, to choose from.",
            items={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, minItems=1),
        **SVM_OPTIONS,
    },
}  # fmt: skip
LABEL_BY_NAME = {
    "shifted_threshold": "Shifted SVM",
    "group_thresholds": "Group thresholds",
    "covariance_constraint": "Zafar et al.",
    "neyman_pearson": "Weighted SVM (Davenport et al.)",
}
ROLE = "peer"
RULE = "deterministic"


#: Rounding that rates may have.
RATE_ROUNDING = 1e-12
#: Rates of held-out rows by data sets; they do not depend on the target.
_RATES = weakref.WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class ShiftedThreshold(SvmBaseline, MappedScore):
    """An unconstrained SVM, its bias then shifted as little as the constraint allows.

    The baseline of section 4.2 of Goh et al. (2016). A row is predicted positive iff its score is
    above the threshold; of all thresholds that differ in their predictions on the training rows,
    and by which the `constraint` (deterministic rates, training rows) holds, the one nearest to 0
    is taken, in the middle between the two neighbouring scores. A shorthand that stands for several
    plain constraints asks for all of them. Options: `OPTIONS_BY_NAME`.

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

    FITTED = SvmBaseline.FITTED | {"thresholds": "threshold_"}
    NUMBERS = SvmBaseline.NUMBERS | {"thresholds": float}
    _options = OPTIONS_BY_NAME["shifted_threshold"]

    def _fit(self, samples, rng):
        """Refuses a constraint that holds at no threshold, with the least violation."""
        seen = labeled_rows(samples)
        parameters = {"kappa": self.kappa, "target": self.target}
        problem = compile_rates("coverage(everyone)", [self.constraint], samples, parameters)
        costs = Rates.of(problem.positive, problem.negative, problem.constants, problem.bounds)
        self._learn(samples, seen, rng)
        found = Cuts(self.scores_of(samples), costs.slope[1:])
        excess = (found.values + (costs.fixed[1:] - costs.slack)[:, None]).max(axis=0)
        shift = np.where(excess <= 0, found.shift, np.inf)
        best = int(np.argmin(shift))
        if not np.isfinite(shift[best]):
            raise CounterweightError(
                f"No threshold of the SVM meets {self.constraint} on the {len(samples)} training "
                f"rows; the least violation is {excess.min():.4g}: loosen the constraint."
            )
        self.threshold_ = found.threshold(best)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities (n, 2): max(0, min(1, 1/2 + f - threshold)) of a positive prediction."""
        return self._randomised(self.decision_function(X) - self.threshold_)


@dataclass(eq=False, repr=False)
class GroupThresholds(GroupedRule, SvmBaseline, MappedScore):
    """An unconstrained SVM with the two thresholds of least training error under a constraint.

    After Hardt, Price & Srebro (2016), without randomisation: rate(A) <= rate(B) / kappa for
    deterministic predictions on the training rows. The search is exact, over all pairs of
    thresholds that differ in their predictions (`exact_pair`; n log n in all). Among pairs of equal
    error the one with the smallest shifts is taken. Rows in neither group keep the threshold 0. It
    needs to know the group of each row to predict. Options: `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    thresholds_ : ndarray (2,)
    """

    kappa: float = 1.0
    groups: tuple = ("male", "female")
    rate: str = "coverage"
    both: bool = False

    FITTED = SvmBaseline.FITTED | {"thresholds": "thresholds_"}
    _options = OPTIONS_BY_NAME["group_thresholds"]

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
        found = []
        for name, mask in zip(self.groups, masks, strict=True):
            parts = rate_parts(self.rate, ((name,),), samples)
            share = np.zeros(len(samples))
            share[parts.rows] = parts.positive / parts.mass.sum()
            found.append(Cuts(scores[mask], np.array([gain / total, share])[:, mask]))
        # A shift breaks ties only: all shifts together weigh less than one row.
        errors = [own.values[0] + 1e-12 * np.minimum(own.shift, 1e3) for own in found]
        rate, other = (own.values[1] for own in found)
        first, second = [errors[0], self.kappa * rate], [errors[1], -other]
        if self.both:
            first, second = [*first, -rate / self.kappa], [*second, other]
        rooms = np.zeros(len(first)), np.full(len(first) - 1, RATE_ROUNDING)
        places = exact_pair(np.array(first), np.array(second), *rooms)
        self.thresholds_ = np.array(
            [own.threshold(k) for own, k in zip(found, places, strict=True)]
        )

    def _positive(self, scores, masks):
        """max(0, min(1, 1/2 + f - threshold of the group)) of each row."""
        for mask, threshold in zip(masks, self.thresholds_, strict=True):
            scores = scores - threshold * mask
        return np.clip(0.5 + scores, 0.0, 1.0)


@dataclass(eq=False, repr=False)
class CovarianceConstraint(SvmBaseline, MappedScore):
    """Least hinge loss subject to |<w, mean of A - mean of B>| <= c.

    Zafar, Valera, Gomez Rodriguez & Gummadi (2015) as Goh et al. (2016) compare with it, equation
    (8): the bound is on the difference of the groups' mean scores, a stand-in for the difference of
    their rates, to which c has no known relation. The means are over all rows of the data sets,
    labeled or not, each counting once. The hinge is 1/2 - y f with y in -1, 1, so a score is that
    of `ConstrainedClassifier`: half of the textbook SVM's. The problem is convex: where the
    unconstrained SVM breaks the bound, it holds with equality at the optimum, which is found within
    that plane. Options: `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    difference_ : float
        Mean score of the first group minus that of the second.
    """

    c: float
    groups: tuple = ("male", "female")

    FITTED = SvmBaseline.FITTED | {"difference": "difference_"}
    NUMBERS = SvmBaseline.NUMBERS | {"difference": float}
    _options = OPTIONS_BY_NAME["covariance_constraint"]

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


@dataclass(eq=False, repr=False)
class NeymanPearsonSVM(SvmBaseline):
    """A linear SVM with a weight for each class, chosen by the Neyman-Pearson criterion.

    The 2nu-SVM of Davenport, Baraniuk & Scott (2010), in its equal form with two costs: the hinge
    losses of the positives have the share s of all weight. Of some s that is taken whose
    classifier, fitted to four fifths of the labeled rows of each class, has on the fifth that it
    did not see the least criterion of Scott (2007), max(FPR - target, 0) / target + FNR. It is then
    fitted to all labeled rows. The bound is aimed at, not guaranteed: no row that chose s is left
    to certify it. Options: `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    share_, criterion_ : float
        The share s, and the criterion of held-out rows.
    """

    target: float
    shares: tuple = tuple(OPTIONS_BY_NAME["neyman_pearson"]["shares"]["default"])

    FITTED = SvmBaseline.FITTED | {"share": "share_", "criterion": "criterion_"}
    NUMBERS = SvmBaseline.NUMBERS | {"share": float, "criterion": float}
    _options = OPTIONS_BY_NAME["neyman_pearson"]

    def _fit(self, samples, rng):
        """Refuses a class of a single row: one is held out and one learned from."""
        seen = labeled_rows(samples)
        self.map_ = None
        rows, scale, centre = self._solver_rows(samples.X)
        X, y, weight = rows[seen], samples.y[seen] > 0, samples.weight[seen]
        order = rng.permutation(len(y))
        held = np.zeros(len(y), bool)
        for rows_of_one in (order[y[order]], order[~y[order]]):
            if len(rows_of_one) < 2:
                raise CounterweightError(
                    "The weight of classes is chosen on a fifth of the labeled rows of each class, "
                    "and one class has a single row: more labeled rows are needed."
                )
            held[rows_of_one[: max(1, len(rows_of_one) // 5)]] = True
        penalty = best_penalty(X, y, weight, self.penalty, self.penalties, self.bias, rng)
        parts = (y, weight, seen, held, np.asarray(self.shares))
        digests = tuple(hashlib.sha256(part.tobytes()).digest() for part in parts)
        key = (id(samples.X), penalty, self.bias, self.standardise, *digests)
        known = _RATES.setdefault(samples, {})
        if key not in known:
            known[key] = self._held_out_rates(X, y, weight, held, penalty)
        alarms, missed = known[key]
        criterion = np.maximum(alarms - self.target, 0) / self.target + missed
        # Of equals the one with the fewest false alarms: shares rise.
        best = int(np.argmin(criterion))
        self.share_, self.criterion_ = sorted(self.shares)[best], float(criterion[best])
        hinges = HingeRows(X, y, _shared(y, weight, self.share_), penalty, self.bias)
        self._keep_svm(hinges, hinges.solve(), scale, centre)

    def _held_out_rates(self, X, y, weight, held, penalty):
        """False positive and false negative rates of the rows `held`, by share."""
        rates, svm, kept = [], None, ~held
        for share in sorted(self.shares):
            shared = _shared(y[kept], weight[kept], share)
            hinges = HingeRows(X[kept], y[kept], shared, penalty, self.bias)
            svm = hinges.solve(tol=1e-4, start=svm)
            positive = np.asarray(X[held] @ svm.coefficient).ravel() + svm.intercept > 0
            sides = (positive, ~y[held]), (~positive, y[held])
            rates.append([np.average(no[own], weights=weight[held][own]) for no, own in sides])
        return np.array(rates).T


def _shared(y, weight, share):
    """Weights (n,) of which the positives have `share` in all, the negatives the rest."""
    totals = np.where(y, share / weight[y].sum(), (1 - share) / weight[~y].sum())
    return weight * totals
