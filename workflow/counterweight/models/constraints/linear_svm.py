"""Linear support vector machine; baselines that start from one.

They move its threshold, bound mean scores or weigh classes.
"""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Number, Text
from counterweight.models.constraints.cuts import Cuts, Rates, exact_pair
from counterweight.models.constraints.estimator import (
    GROUP_OPTIONS,
    MAP_OPTIONS,
    PARAMETER_OPTIONS,
    SVM_OPTIONS,
    LinearScore,
    MappedScore,
    own,
    two_columns,
)
from counterweight.models.constraints.newton import DistinctRows, HingeSums, solver
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.rates.values import compile as compile_rates
from counterweight.numerics.rates.values import rate_parts

#: Most proximal steps, and most Newton steps of each.
OUTER, INNER = 40, 50


OPTIONS_BY_NAME = {
    "shifted_threshold": {
        "constraint": Text(..., "What has to hold on the training rows, e.g. recall(d2) >= 0.9."),
        **PARAMETER_OPTIONS,
        **SVM_OPTIONS,
        **MAP_OPTIONS,
    },
    "stabilised_svm": {
        "anchor": Number(0.5, "Share of the deployed model in what is learned: 0 for the labels alone, 1 for nothing where both differ.", minimum=0, maximum=1),
        "constraint": Text("coverage(everyone) <= 1", "What has to hold on the training rows, by a shift of the threshold."),
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
    "stabilised_svm": "Stabilised SVM (Fard et al.)",
    "group_thresholds": "Group thresholds",
    "covariance_constraint": "Zafar et al.",
    "neyman_pearson": "Weighted SVM (Davenport et al.)",
}

ROLE = "peer"

RULE = "deterministic"


@dataclass
class LinearSvm:
    """f(x) = x @ coefficient + intercept; `objective` is the mean hinge loss plus the penalty.

    `gap` is certified: how far the objective may be from the least one; `evaluations` are Newton
    steps.
    """

    coefficient: np.ndarray
    intercept: float
    objective: float
    gap: float
    evaluations: int


class HingeRows:
    """Hinge losses of a table: sum_i P_i h(f_i) + N_i h(-f_i), h(z) = max(0, 1/2 + z).

    The margin is 1/2 as for the ramp of Goh et al. (2016): with u = 2w this is half of the
    textbook's loss max(0, 1 - y u @ x). Equal rows are merged. `y` (n,) are 0 and 1, `weight` (n,)
    is scaled to sum 1; `penalty` is lambda of lambda / 2 |w|^2, None for 2 / n, which is
    LIBLINEAR's C = 1.
    """

    def __init__(self, X, y, weight, penalty=None):
        n, self.features = X.shape
        penalty = 2.0 / n if penalty is None else penalty
        if isinstance(penalty, bool) or not (np.isfinite(penalty) and penalty > 0):
            raise CounterweightError(f"penalty is {penalty}; it must be a number above 0.")
        self.rows, self.penalty = DistinctRows(X), float(penalty)
        share = weight / weight.sum()
        self.above, self.below = self.rows.merge(np.array([share * (y == 0), share * (y == 1)]))
        self.regularisation = self.rows.regularisation(self.penalty)

    def solve(self, direction=None, value=0.0, start=None, tol=1e-6):
        """The least objective among all w, or those with direction @ w = value, as a `LinearSvm`.

        Proximal steps on the hinges' slopes (the dual), each a smooth convex problem that Newton's
        method solves on the d x d normal matrix. They converge to the optimum itself, however soft
        the smoothing. `direction` (d,), in features, says nothing of the bias; `start` is a
        `LinearSvm`; `tol` the certified gap at which to stop.
        """
        w, line = np.zeros(self.rows.shape[1]), None
        if start is not None:
            w = np.append(start.coefficient, start.intercept)
        if direction is not None:
            line = np.append(direction, 0.0)
            w += line * ((value - line @ w) / (line @ line))
        f = self.rows.scores(w)
        slopes, sharpness = (np.full(len(f), 0.5), np.full(len(f), 0.5)), 1.0
        if start is not None:
            slopes, sharpness = ((f > -0.5) * 1.0, (f < 0.5) * 1.0), 4.0
        best, upper, lower, steps = w, np.inf, -np.inf, 0
        for _ in range(OUTER):
            accuracy = max(min(1e-4, 0.02 * (upper - lower)), 0.02 * tol)
            w, f, slopes, count = self._smooth_minimum(w, f, slopes, sharpness, line, accuracy)
            steps += count
            losses = self.above @ np.maximum(0.0, 0.5 + f) + self.below @ np.maximum(0.0, 0.5 - f)
            objective = float(losses + 0.5 * self.regularisation @ (w * w))
            if objective < upper:
                best, upper = w, objective
            lower = max(lower, self._dual(slopes, line, value))
            if upper - lower <= tol:
                break
            sharpness *= 3.0
        coefficient, intercept = best[:-1].copy(), float(best[-1])
        return LinearSvm(coefficient, intercept, upper, upper - lower, steps)

    def _dual(self, slopes, line, value):
        """Lower bound from hinge slopes in [0, 1], the best multiplier of `line` included."""
        up, down = self.above * slopes[0], self.below * slopes[1]
        pull = -self.rows.combine(up - down)
        extra = 0.0
        if line is not None:
            multiplier = (line @ pull - self.penalty * value) / (line @ line)
            pull = pull - multiplier * line
            extra = multiplier * value
        return 0.5 * (up.sum() + down.sum()) - pull @ pull / (2 * self.penalty) - extra

    def _smoothed(self, w, f, centres, sharpness):
        """Value of the smooth problem, and the slopes of its hinges."""
        value, slopes, costs = 0.5 * self.regularisation @ (w * w), [], (self.above, self.below)
        for cost, centre, z in zip(costs, centres, (0.5 + f, 0.5 - f), strict=True):
            slope = np.clip(centre + sharpness * z, 0.0, 1.0)
            value += cost @ (slope * z - (slope - centre) ** 2 / (2 * sharpness))
            slopes.append(slope)
        return value, np.array(slopes)

    def _smooth_minimum(self, w, f, centres, sharpness, line, accuracy):
        """Newton steps with backtracking, within the plane of `line`."""
        value, slopes = self._smoothed(w, f, centres, sharpness)
        sums = HingeSums(self.rows, np.array([self.above, self.below])[:, None], sharpness)
        sums.start(slopes, np.empty(0))
        for count in range(INNER + 1):
            gradient = self.regularisation * w + sums.sums[0]
            within = gradient
            if line is not None:
                within = gradient - line * ((line @ gradient) / (line @ line))
            loss = 0.5 * np.sum(within**2) / self.penalty
            if loss <= accuracy or count == INNER:
                break
            hessian = sums.matrix(np.empty(0))
            diagonal = np.diag_indices_from(hessian)
            hessian[diagonal] += self.regularisation + 1e-12 * (1 + hessian[diagonal].max())
            solve = solver(hessian)
            move = -solve(gradient)
            if line is not None:
                across = solve(line)
                move -= across * ((line @ move) / (line @ across))
            change, descent, share = self.rows.scores(move), gradient @ move, 1.0
            while True:
                trial = self._smoothed(w + share * move, f + share * change, centres, sharpness)
                if trial[0] <= value + 1e-4 * share * descent or share < 1e-8:
                    break
                share *= 0.5
            if trial[0] >= value and -descent < 1e-14:
                break
            w, f = w + share * move, f + share * change
            value, slopes = trial
            sums.go(slopes, np.empty(0), share * move, share * change)
        return w, f, slopes, count


def best_penalty(X, y, weight, penalty, penalties, rng):
    """The penalty as given, or that of `penalties` whose SVM errs least on held-out rows, a fifth.

    `rng` draws them; of equals the largest is taken. Raises when both are given, or one class is
    missing without them.
    """
    if not len(penalties):
        return penalty
    if penalty is not None:
        raise CounterweightError("penalty and penalties are both given: give one of them.")
    order = rng.permutation(len(y))
    held, kept = np.split(order, [max(1, len(y) // 5)])
    if len(np.unique(y[kept])) < 2:
        raise CounterweightError(
            f"penalties are chosen on held-out rows, and without them the {len(kept)} rows have "
            "one label only: give penalty."
        )
    errors = {}
    for penalty in sorted(penalties, reverse=True):
        svm = HingeRows(X[kept], y[kept], weight[kept], penalty).solve(tol=1e-4)
        wrong = (np.asarray(X[held] @ svm.coefficient).ravel() + svm.intercept > 0) != (y[held] > 0)
        errors[penalty] = float(weight[held] @ wrong)
    return min(errors, key=errors.get)


_FITS = weakref.WeakKeyDictionary()
_SCORES = weakref.WeakKeyDictionary()


def labeled_rows(samples):
    """Rows to learn from, bool (n,): those with a label of either class and a weight above 0."""
    seen = samples.mask((("labeled",),)) & (samples.weight > 0)
    for label in (0, 1):
        if not (samples.y[seen] == label).any():
            raise CounterweightError(
                f"No labeled row with a positive weight has the label {label}: there is one class, "
                "and a classifier needs both classes."
            )
    return seen


def group_masks(samples, groups, exactly=None):
    """Rows of each group, bool (k, n); a row may be in none, and in one at most.

    Raises for a wrong number of groups, one that is unknown or without rows, and rows in two
    groups.
    """
    groups = list(groups)
    if len(set(groups)) < len(groups) or len(groups) < 2 or len(groups) != (exactly or len(groups)):
        raise CounterweightError(
            f"groups must name {exactly or 'two or more'} different data sets, got "
            f"{listed(groups) or 'none'}."
        )
    masks = np.array([samples.mask(((name,),)) for name in groups])
    twice = masks.sum(axis=0) > 1
    if twice.any():
        raise CounterweightError(
            f"{int(twice.sum())} rows (first: row {int(np.argmax(twice))}) are in more than one of "
            f"the groups {listed(groups)}: name groups without rows in common."
        )
    return masks


@dataclass(eq=False, repr=False, kw_only=True)
class SvmBaseline(LinearScore):
    """A linear SVM, and what is needed to predict with it; see `SVM_OPTIONS`.

    `coef_` is for features in their own units (of the map's features, if there is a map).
    """

    FITTED = {
        "coefficient": "coef_",
        **own("intercept", "objective", "gap", "feasible", "penalty", "evaluations"),
        "coefficient_norm": "norm_",
        "map": "map_",
    }
    NUMBERS = {
        **dict.fromkeys(["intercept", "objective", "gap", "penalty", "coefficient_norm"], float),
        "feasible": bool,
        "evaluations": int,
    }
    KEPT = (*(name for name in FITTED if name != "map"), "thresholds")
    feasible_ = True
    _scored = None

    def _learn(self, samples, seen, rng, direction=None):
        """Fit the SVM to the rows `seen`.

        `direction`, if given, is a function from the solver's rows of all training rows to
        ``line, bound``: |line @ w| <= bound then holds.
        """
        self._draw_map(samples.X, rng)
        # The settings of a sweep share the training rows, and what follows from them alone.
        fits, key = {}, None
        if self.map_ is None:
            fits = _FITS.setdefault(samples, {})
            sums = (hashlib.sha256(v.tobytes()).digest() for v in (samples.y, samples.weight, seen))
            grid = tuple(self.penalties)
            key = (id(samples.X), self.penalty, grid, self.standardise, *sums)
        if key not in fits:
            rows, scale, centre = self._solver_rows(samples.X)
            told = rows[seen], samples.y[seen], samples.weight[seen]
            penalty = best_penalty(*told, self.penalty, self.penalties, rng)
            hinges = HingeRows(*told, penalty)
            fits[key] = rows, scale, centre, hinges, hinges.solve()
        rows, scale, centre, hinges, svm = fits[key]
        if direction is not None:
            line, bound = direction(rows)
            value = line @ svm.coefficient
            if abs(value) > bound and line.any():
                # The problem is convex, so the constraint that is broken holds with equality.
                svm = hinges.solve(line, np.copysign(bound, value), start=svm)
        self._keep_svm(hinges, svm, scale, centre)

    def _keep_svm(self, hinges, svm, scale, centre):
        self.penalty_, self.gap_, self.objective_ = hinges.penalty, svm.gap, svm.objective
        self.evaluations_ = svm.evaluations
        self._keep_score(svm.coefficient, svm.intercept, scale, centre)

    def scores_of(self, samples):
        """Scores of the rows of data sets, (n,); equal classifiers of a sweep share them."""
        known = _SCORES.setdefault(samples, {})
        drawn = () if self.map_ is None else tuple(self.map_.to_arrays().values())
        told = (self.coef_, *drawn)
        key = id(samples.X), self.intercept_, *(np.asarray(part).tobytes() for part in told)
        if key not in known:
            known.clear()
            known[key] = self.decision_function(samples.X)
        return known[key].copy()

    def answers(self, X, samples=None):
        """Rows of data sets have their scores from `scores_of`."""
        if samples is None or X is not samples.X:
            return super().answers(X, samples)
        self._scored = X, self.scores_of(samples)
        try:
            return super().answers(X, samples)
        finally:
            self._scored = None

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """f(x) of rows, dense or sparse, before any threshold; (n,)."""
        if self._scored is not None and X is self._scored[0]:
            return self._scored[1]
        return super().decision_function(X)


class GroupedRule(NamedColumns):
    """Predictions by the score of a row and its group; subclasses have `_positive`."""

    GROUPED = True

    def predict_proba(self, X: ArrayLike, samples: ArrayLike | None = None) -> np.ndarray:
        """Probabilities (n, 2) of a negative and a positive prediction.

        `samples` (`DataSets`) of these rows say which rows are in which group; raises without them.
        """
        scores = self.decision_function(X)
        if samples is None or len(samples) != len(scores):
            raise CounterweightError(
                "Group thresholds need the group of each row to predict: give samples, with the "
                f"data sets {listed(self.groups)} over these {len(scores)} rows."
            )
        missing = [name for name in self.groups if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to predict have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        masks = np.array([samples.members[name] for name in self.groups])
        return two_columns(self._positive(scores, masks))


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
class StabilisedSvm(ShiftedThreshold):
    """An SVM that learns from labels and from the deployed model, its bias then shifted.

    A stabilisation of Fard, Cormier, Canini & Gupta (2016), "Launch and iterate: reducing
    prediction churn", which Goh et al. (2016) cite, for hinge losses: each labeled row is learned
    from as a positive with weight s and as a negative with 1 - s. Where the deployed model is
    right, s = (1 - a) y + a p, y being 0 or 1, a the `anchor` and p = max(0, min(1, 1/2 + its
    score)); where it is wrong, and where it has no score, s = 1/2 + (1 - a)(y - 1/2), which is the
    less sure the larger a is. Churn falls with a, and no value of it promises a churn rate.
    The `constraint` is met as by `ShiftedThreshold`. Options: `OPTIONS_BY_NAME`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_, threshold_
        See `ShiftedThreshold`.
    """

    constraint: str = "coverage(everyone) <= 1"
    anchor: float = 0.5

    _options = OPTIONS_BY_NAME["stabilised_svm"]

    def _learn(self, samples, seen, rng, direction=None):
        """Refuses rows without scores of a deployed model."""
        if samples.deployed is None:
            raise CounterweightError(
                "stabilised_svm learns from a deployed model as well, and no scores of one are "
                "given: label with the rule deployed, or give deployed."
            )
        self._draw_map(samples.X, rng)
        rows, scale, centre = self._solver_rows(samples.X)
        X, y, weight = rows[seen], samples.y[seen] == 1, samples.weight[seen]
        penalty = best_penalty(X, y, weight, self.penalty, self.penalties, rng)
        share = _stabilised(y, samples.deployed[seen], self.anchor)
        hinges = HingeRows(X, y, weight, penalty)
        total = weight / weight.sum()
        hinges.above, hinges.below = hinges.rows.merge(
            np.array([total * (1 - share), total * share])
        )
        self._keep_svm(hinges, hinges.solve(), scale, centre)


def _stabilised(y, deployed, anchor):
    """Shares (n,) of rows that count as positives; see `StabilisedSvm`."""
    right = (deployed > 0) == y
    right &= ~np.isnan(deployed)
    p = np.clip(0.5 + np.where(right, deployed, 0.0), 0.0, 1.0)
    return np.where(right, (1 - anchor) * y + anchor * p, 0.5 + (1 - anchor) * (y - 0.5))


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
        penalty = best_penalty(X, y, weight, self.penalty, self.penalties, rng)
        parts = (y, weight, seen, held, np.asarray(self.shares))
        digests = tuple(hashlib.sha256(part.tobytes()).digest() for part in parts)
        key = (id(samples.X), penalty, self.standardise, *digests)
        known = _RATES.setdefault(samples, {})
        if key not in known:
            known[key] = self._held_out_rates(X, y, weight, held, penalty)
        alarms, missed = known[key]
        criterion = np.maximum(alarms - self.target, 0) / self.target + missed
        # Of equals the one with the fewest false alarms: shares rise.
        best = int(np.argmin(criterion))
        self.share_, self.criterion_ = sorted(self.shares)[best], float(criterion[best])
        hinges = HingeRows(X, y, _shared(y, weight, self.share_), penalty)
        self._keep_svm(hinges, hinges.solve(), scale, centre)

    def _held_out_rates(self, X, y, weight, held, penalty):
        """False positive and false negative rates of the rows `held`, by share."""
        rates, svm, kept = [], None, ~held
        for share in sorted(self.shares):
            shared = _shared(y[kept], weight[kept], share)
            hinges = HingeRows(X[kept], y[kept], shared, penalty)
            svm = hinges.solve(tol=1e-4, start=svm)
            positive = np.asarray(X[held] @ svm.coefficient).ravel() + svm.intercept > 0
            sides = (positive, ~y[held]), (~positive, y[held])
            rates.append([np.average(no[own], weights=weight[held][own]) for no, own in sides])
        return np.array(rates).T


def _shared(y, weight, share):
    """Weights (n,) of which the positives have `share` in all, the negatives the rest."""
    totals = np.where(y, share / weight[y].sum(), (1 - share) / weight[~y].sum())
    return weight * totals
