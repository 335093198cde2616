"""Linear support vector machine, and what the baselines that start from one share."""

from __future__ import annotations

import hashlib
import weakref
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.models.constraints.estimator import LinearScore, own, two_columns
from counterweight.models.constraints.newton import DistinctRows, balanced
from counterweight.numerics.estimator import NamedColumns

#: Most proximal steps, and most Newton steps of each.
OUTER, INNER = 40, 50


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
    LIBLINEAR's C = 1; `bias` is that of `DistinctRows`.
    """

    def __init__(self, X, y, weight, penalty=None, bias="regularised"):
        n, self.features = X.shape
        penalty = 2.0 / n if penalty is None else penalty
        if isinstance(penalty, bool) or not (np.isfinite(penalty) and penalty > 0):
            raise CounterweightError(f"penalty is {penalty}; it must be a number above 0.")
        self.rows, self.bias, self.penalty = DistinctRows(X, bias=bias), bias, float(penalty)
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
        more = int(self.bias != "none")
        w, line = np.zeros(self.rows.shape[1]), None
        if start is not None:
            w = np.append(start.coefficient, [start.intercept] * more)
        if direction is not None:
            line = np.append(direction, [0.0] * more)
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
        intercept = 0.0 if self.bias == "none" else float(best[-1])
        return LinearSvm(best[: self.features].copy(), intercept, upper, upper - lower, steps)

    def _dual(self, slopes, line, value):
        """Lower bound from hinge slopes in [0, 1], the best multiplier of `line` included."""
        up, down = self.above * slopes[0], self.below * slopes[1]
        free = self.regularisation <= 0
        if free.any():
            # With a bias without penalty the bound is finite only where both sides balance.
            up, down = balanced(up, down)
        pull = -self.rows.combine(up - down)[~free]
        extra = 0.0
        if line is not None:
            # The bias is never part of the line, so all of its coordinates are penalised.
            line = line[~free]
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
        return value, slopes

    def _smooth_minimum(self, w, f, centres, sharpness, line, accuracy):
        """Newton steps with backtracking, within the plane of `line`."""
        from scipy.linalg import cho_factor, cho_solve

        bounded = self.regularisation > 0
        value, slopes = self._smoothed(w, f, centres, sharpness)
        for count in range(INNER + 1):
            up, down = self.above * slopes[0], self.below * slopes[1]
            gradient = self.regularisation * w + self.rows.combine(up - down)
            within = gradient
            if line is not None:
                within = gradient - line * ((line @ gradient) / (line @ line))
            loss = 0.5 * np.sum(within[bounded] ** 2) / self.penalty
            loss += np.abs(within[~bounded]).sum()
            if loss <= accuracy or count == INNER:
                break
            bent = [(slope > 0) & (slope < 1) for slope in slopes]
            hessian = self.rows.gram(sharpness * (self.above * bent[0] + self.below * bent[1]))
            diagonal = np.diag_indices_from(hessian)
            hessian[diagonal] += self.regularisation + 1e-12 * (1 + hessian[diagonal].max())
            if not bounded.all():
                # Where no hinge bends, nothing else bounds the step of a bias without penalty.
                hessian[-1, -1] = max(hessian[-1, -1], 1e-3)
            factor = cho_factor(hessian, lower=True)
            move = -cho_solve(factor, gradient)
            if line is not None:
                across = cho_solve(factor, line)
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
        return w, f, slopes, count


def best_penalty(X, y, weight, penalty, penalties, bias, rng):
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
        svm = HingeRows(X[kept], y[kept], weight[kept], penalty, bias).solve(tol=1e-4)
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
            key = (id(samples.X), self.penalty, grid, self.bias, self.standardise, *sums)
        if key not in fits:
            rows, scale, centre = self._solver_rows(samples.X)
            told = rows[seen], samples.y[seen], samples.weight[seen]
            penalty = best_penalty(*told, self.penalty, self.penalties, self.bias, rng)
            hinges = HingeRows(*told, penalty, self.bias)
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
