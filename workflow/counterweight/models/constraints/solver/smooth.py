"""Smooth versions of a convex step, minimised by Newton steps on the rows that matter."""

from dataclasses import dataclass

import numpy as np

# Damping of Newton's step, in mean squared lengths of the rows: from one to the next, and back.
DAMPINGS = (1e-14, *10.0 ** np.arange(-7, 2.5, 0.5))
# Rows whose hinges are within so many widths of the smoothing, or of 1/2 if that is less, may bend.
NEAR_WIDTHS, NEAR_MOST = 4.0, 0.4
# Fewer rows than this share may bend: the others are held as one linear sum.
NEAR_SHARE = 0.6
# Rounds in which rows that the sum misjudged join the others.
ROUNDS = 20


@dataclass
class Smooth:
    """Augmented Lagrangian of a convex step: smooth, convex and piecewise quadratic in w.

    Hinges are smoothed around their current slopes, constraints around their current
    multipliers (proximal points of the dual), so the smoothing need not vanish for the
    minimisers to converge to the step's optimum.

    Attributes
    ----------
    rows, positive, negative, constant, regularisation
        See `convex.ConvexStep`.
    above, below : array of shape (n,)
        Slopes around which the hinges are smoothed.
    multipliers : array of shape (m,)
    sharpness : float
    stiffness, margin, limit : array of shape (m,)
    least : array of shape (n,) or 0.0
        Least slope of the upper hinges; 1 makes of a row a linear term.
    """

    rows: object
    positive: np.ndarray
    negative: np.ndarray
    constant: np.ndarray
    regularisation: np.ndarray
    above: np.ndarray
    below: np.ndarray
    multipliers: np.ndarray
    sharpness: float
    stiffness: np.ndarray
    margin: np.ndarray
    limit: np.ndarray
    least: object = 0.0

    @classmethod
    def of(cls, step, state, sharpness, stiffness, margin, limit):
        """Of a convex step, around a state."""
        return cls(
            step.rows,
            step.positive,
            step.negative,
            step.constant,
            step.regularisation,
            state.above,
            state.below,
            state.multipliers,
            sharpness,
            stiffness,
            margin,
            limit,
        )

    def slopes(self, f):
        """Slopes of both hinges at scores f."""
        above = np.clip(self.above + self.sharpness * (0.5 + f), self.least, 1.0)
        return above, np.clip(self.below + self.sharpness * (0.5 - f), 0.0, 1.0)

    def at(self, f, w):
        """Value at w with scores f, and what the derivatives need: slopes and multipliers."""
        above, below = self.slopes(f)
        up, down = above - self.above, below - self.below
        high = above * (0.5 + f) - up * up / (2 * self.sharpness)
        low = below * (0.5 - f) - down * down / (2 * self.sharpness)
        rates = self.positive @ high + self.negative @ low + self.constant
        g = rates[1:] + self.margin
        v = np.clip(self.multipliers + self.stiffness * g, 0.0, self.limit)
        moved = v - self.multipliers
        value = (
            rates[0]
            + 0.5 * self.regularisation @ (w * w)
            + v @ g
            - moved @ (moved / self.stiffness) * 0.5
        )
        return value, above, below, v

    def costs(self, v):
        """Costs of both hinges of each row in the Lagrangian."""
        if not v.any():
            return self.positive[0], self.negative[0]
        return self.positive[0] + v @ self.positive[1:], self.negative[0] + v @ self.negative[1:]

    def along(self, w, move, df, above, below, v):
        """Derivative along a move that changes the scores by df."""
        p, q = self.costs(v)
        return (self.regularisation * w) @ move + (p * above - q * below) @ df

    def gradient(self, w, above, below, v):
        """Gradient, and the slopes of the constraints with multipliers inside their range."""
        active = np.flatnonzero(v > 0)
        lines = np.append(0, 1 + active)
        sums = self.rows.combine(self.positive[lines] * above - self.negative[lines] * below)
        inside = v[active] < self.limit[active]
        slopes = dict(zip(active[inside], sums[1:][inside], strict=True))
        return self.regularisation * w + sums[0] + v[active] @ sums[1:], slopes

    def hessian(self, above, below, v, slopes):
        """Hessian; `slopes` are those of `gradient`."""
        p, q = self.costs(v)
        bent = (above > self.least) & (above < 1), (below > 0) & (below < 1)
        weight = self.sharpness * (p * bent[0] + q * bent[1])
        matrix = self.rows.gram(weight)
        for j, slope in slopes.items():
            matrix += self.stiffness[j] * np.outer(slope, slope)
        diagonal = self.regularisation + 1e-12 * max(matrix.trace(), 1e-12) / len(matrix)
        matrix[np.diag_indices_from(matrix)] += diagonal
        return matrix

    def lost(self, gradient):
        """What the dual value loses by a gradient that is not 0."""
        bounded = self.regularisation > 0
        loss = 0.5 * np.sum(gradient[bounded] ** 2 / self.regularisation[bounded])
        return loss + np.abs(gradient[~bounded]).sum()

    def near(self, f):
        """Rows with a hinge that may bend when the scores f move a little."""
        width = min(NEAR_WIDTHS / self.sharpness, NEAR_MOST)
        above, below = self.slopes(f)
        found = np.zeros(len(f), bool)
        for costs, slope, z in ((self.positive, above, 0.5 + f), (self.negative, below, 0.5 - f)):
            found |= costs.any(axis=0) & ((np.abs(z) < width) | ((slope > 0) & (slope < 1)))
        return found

    def reduced(self, near, f):
        """The same where only hinges of `near` rows bend; the others keep their slopes at f.

        Each rate gets one more row, the sum of those others, as a linear term.
        """
        above, below = self.slopes(f)
        far = ~near
        up = np.where(far, self.positive * above, 0.0)
        down = np.where(far, self.negative * below, 0.0)
        lines = len(self.constant)
        rows = self.rows.part(near, self.rows.combine(up - down))
        ones, none = np.ones(lines), np.zeros(lines)
        return Smooth(
            rows,
            np.hstack([self.positive[:, near], np.eye(lines)]),
            np.hstack([self.negative[:, near], np.zeros((lines, lines))]),
            self.constant + 0.5 * (up + down).sum(axis=1) - 0.5,
            self.regularisation,
            np.append(self.above[near], ones),
            np.append(self.below[near], none),
            self.multipliers,
            self.sharpness,
            self.stiffness,
            self.margin,
            self.limit,
            np.append(np.zeros(near.sum()), ones),
        )


def newton(smooth, w, f, accuracy, most):
    """Minimise a smooth function by Newton steps, on the rows that may bend.

    Rows that are far from bending are a linear sum. Where that proves wrong they join the others,
    and the minimiser is sought again: what is returned is judged on all rows.

    Returns w, f, slopes, multipliers, the number of steps and whether they sufficed. Stops when
    the gradient, which bounds what the dual value loses, is small enough.
    """
    count, joined = 0, np.zeros(len(f), bool)
    now = smooth.at(f, w)
    for _ in range(ROUNDS):
        near = smooth.near(f) | joined
        if near.mean() > NEAR_SHARE or count >= most:
            break
        part = smooth.reduced(near, f)
        w_new, taken, done = _steps(part, w, part.rows.scores(w), accuracy, most - count)
        count += taken
        f_new = smooth.rows.scores(w_new)
        trial = smooth.at(f_new, w_new)
        far = ~near & ((trial[1] != now[1]) | (trial[2] != now[2]))
        right = not far.any()
        if not right and trial[0] <= now[0]:
            slope = smooth.gradient(w_new, *trial[1:])[0]
            right = done = smooth.lost(slope) <= accuracy
        if not right:
            joined |= far
            share, trial = _searched(smooth, w, f, w_new - w, f_new - f, now)
            w_new, f_new = w + share * (w_new - w), f + share * (f_new - f)
        if not trial[0] <= now[0]:
            break
        w, f, now = w_new, f_new, trial
        if right:
            return w, f, *now[1:], count, done
    w, taken, done = _steps(smooth, w, f, accuracy, max(most - count, 0))
    f = smooth.rows.scores(w)
    return w, f, *smooth.at(f, w)[1:], count + taken, done


def _searched(smooth, w, f, move, df, now):
    """How far to go along a descent direction, and what `at` gives there.

    Where the derivative along it is near 0; the function is convex and has no other minimum.
    """
    first = smooth.along(w, move, df, *now[1:])
    low, high, at_low, at_high = 0.0, None, first, None
    share = 1.0
    for _ in range(12):
        trial = smooth.at(f + share * df, w + share * move)
        slope = smooth.along(w + share * move, move, df, *trial[1:])
        if abs(slope) <= 0.2 * abs(first) and trial[0] <= now[0]:
            break
        if slope <= 0:
            low, at_low = share, slope
            if high is None:
                break
        else:
            high, at_high = share, slope
        guess = (low * at_high - high * at_low) / (at_high - at_low)
        share = min(max(guess, low + 0.1 * (high - low)), high - 0.1 * (high - low))
    return share, trial


def _steps(smooth, w, f, accuracy, most):
    """Newton steps with a search along each: w, their number and whether they sufficed."""
    from scipy.linalg import cho_factor, cho_solve

    now, level = smooth.at(f, w), 0
    for count in range(most + 1):
        above, below, v = now[1:]
        gradient, slopes = smooth.gradient(w, above, below, v)
        loss = smooth.lost(gradient)
        if loss <= accuracy or count == most:
            break
        matrix = smooth.hessian(above, below, v, slopes)
        fell = False
        # Where few hinges are bent, a small penalty alone lets Newton's step go too far.
        while not fell and level < len(DAMPINGS):
            damped = matrix.copy()
            damped[np.diag_indices_from(damped)] += DAMPINGS[level] * smooth.rows.square
            move = -cho_solve(cho_factor(damped, lower=True, overwrite_a=True), gradient)
            df = smooth.rows.scores(move)
            share, trial = _searched(smooth, w, f, move, df, now)
            fell = trial[0] <= now[0] + 1e-4 * share * (gradient @ move)
            if not fell or share < 0.25:
                level += 1 + (share < 0.025)
            elif share > 0.75:
                level = max(level - 1, 0)
        level = min(level, len(DAMPINGS) - 1)
        if not trial[0] <= now[0]:
            break
        w, f, now = w + share * move, f + share * df, trial
    return w, count, loss <= accuracy
