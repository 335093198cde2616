"""Linear support vector machine, with the score of one direction held fixed if asked."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.constraints.solver.smooth import DistinctRows, balanced

#: Most proximal steps, and most Newton steps of each.
OUTER, INNER = 40, 50


@dataclass
class LinearSvm:
    """f(x) = x @ coefficient + intercept.

    Attributes
    ----------
    coefficient : numpy.ndarray, shape (d,)
    intercept : float
    objective : float
        Weighted mean of the hinge losses plus the penalty.
    gap : float
        Certified: how far the objective may be from the least one.
    evaluations : int
        Newton steps.
    """

    coefficient: np.ndarray
    intercept: float
    objective: float
    gap: float
    evaluations: int


class HingeRows:
    """Hinge losses of a table: sum_i P_i h(f_i) + N_i h(-f_i), h(z) = max(0, 1/2 + z).

    The margin is 1/2 as for the ramp of Goh et al. (2016): with u = 2w this is half of the
    textbook's loss max(0, 1 - y u @ x). Equal rows are merged.

    Parameters
    ----------
    X : array or scipy.sparse matrix, shape (n, d)
    y : array of 0 and 1, shape (n,)
    weight : array, shape (n,)
        Scaled to sum 1.
    penalty : float or None
        lambda of lambda / 2 |w|^2; None for 2 / n, which is LIBLINEAR's C = 1.
    bias : {"regularised", "free", "none"}
        A constant feature 1, penalised like the others; not penalised; or none.
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

    def solve(self, direction=None, value=0.0, start=None, tolerance=1e-6):
        """The least objective, among all w or among those with direction @ w = value.

        Proximal steps on the hinges' slopes (the dual), each a smooth convex problem that
        Newton's method solves on the d x d normal matrix. They converge to the optimum
        itself, however soft the smoothing.

        Parameters
        ----------
        direction : array, shape (d,), optional
            In features; it says nothing of the bias.
        value : float
        start : LinearSvm, optional
        tolerance : float
            Certified gap at which to stop.

        Returns
        -------
        LinearSvm
        """
        coordinates = self.rows.shape[1]
        w = np.zeros(coordinates)
        if start is not None:
            w[: self.features] = start.coefficient
            if self.bias != "none":
                w[-1] = start.intercept
        line = None
        if direction is not None:
            line = np.zeros(coordinates)
            line[: self.features] = direction
            w += line * ((value - line @ w) / (line @ line))
        f = self.rows.scores(w)
        slopes = (np.full(len(f), 0.5), np.full(len(f), 0.5))
        best, upper, lower, steps, sharpness = w, np.inf, -np.inf, 0, 1.0
        if start is not None:
            slopes, sharpness = ((f > -0.5) * 1.0, (f < 0.5) * 1.0), 4.0
        for _ in range(OUTER):
            accuracy = max(min(1e-4, 0.02 * (upper - lower)), 0.02 * tolerance)
            w, f, slopes, count = self._smooth_minimum(w, f, slopes, sharpness, line, accuracy)
            steps += count
            objective = self._objective(w, f)
            if objective < upper:
                best, upper = w, objective
            lower = max(lower, self._dual(slopes, line, value))
            if upper - lower <= tolerance:
                break
            sharpness *= 3.0
        intercept = 0.0 if self.bias == "none" else float(best[-1])
        return LinearSvm(best[: self.features].copy(), intercept, upper, upper - lower, steps)

    def _objective(self, w, f):
        losses = self.above @ np.maximum(0.0, 0.5 + f) + self.below @ np.maximum(0.0, 0.5 - f)
        return float(losses + 0.5 * self.regularisation @ (w * w))

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
        value, slopes = 0.5 * self.regularisation @ (w * w), []
        for cost, centre, z in zip(
            (self.above, self.below), centres, (0.5 + f, 0.5 - f), strict=True
        ):
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
    """The penalty as given, or the one whose SVM errs least on a fifth of the rows, held out.

    Parameters
    ----------
    X, y, weight, bias
        As of `HingeRows`.
    penalty : float or None
        Returned where there are no `penalties`.
    penalties : sequence of float
        To choose among; of equals the largest.
    rng : numpy.random.Generator
        Draws the fifth.

    Raises
    ------
    CounterweightError
        When both are given, or one class is missing without the fifth.
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
        svm = HingeRows(X[kept], y[kept], weight[kept], penalty, bias).solve(tolerance=1e-4)
        wrong = (np.asarray(X[held] @ svm.coefficient).ravel() + svm.intercept > 0) != (y[held] > 0)
        errors[penalty] = float(weight[held] @ wrong)
    return min(errors, key=errors.get)
