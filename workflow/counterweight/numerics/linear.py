"""Weighted logistic and Poisson regression, shared by selection models and models of the label.

Amounts are numbers from 0 up, such as expenses or counts, zeros among them. With a log link what is
expected of them is the exponential of a score, so that a feature's effect is a factor. The Poisson
likelihood asks of them only that their mean is right and takes zeros and fractions
(quasi-likelihood): its weighted residuals sum to 0.

References
----------
McCullagh & Nelder (1989), *Generalized Linear Models*, sections 6.2 and 9.2; Santos Silva &
Tenreyro (2006), *Review of Economics and Statistics* 88, for amounts with zeros and unequal
variances; Rad & Maleki (2020), *JRSS B* 82, for rows left out.
"""

import logging

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Number
from counterweight.numerics.checks import checked_rows, two_class_rows, unsaid

log = logging.getLogger("counterweight")

#: Option of the models that `fit_logistic` fits.
RIDGE = {
    "l2": Number(1e-6, "Penalty on standardised coefficients, for each row; 0 for none, null: chosen by approximate leave-one-out.",
        minimum=0, null=True),
}  # fmt: skip
#: Penalties on all rows together among which one is chosen, from hardly any freedom to much, and
#: the most rows that are asked which.
CHOICES = tuple(10.0 ** (k / 2) for k in range(6, -3, -1))
ASKED_ROWS = 20_000


#: Most rows that fits learn from which are only tried: the first by content, as good as drawn.
FOLD_ROWS = 200_000


def folds(s, count, rng, group=None):
    """Fold of each row, with the share of ones alike in all, shape (n,); or by whole groups."""
    if group is not None:
        return group_folds(group, count, rng)
    fold = np.empty(len(s), dtype=int)
    for value in (0, 1):
        rows = np.flatnonzero(s == value)
        fold[rng.permutation(rows)] = np.arange(len(rows)) % count
    return fold


def group_folds(group, count, rng):
    """Fold (n,) of each row, rows of a `group` (n,) all in one, folds of about equal size."""
    names, first, sizes = np.unique(group, return_index=True, return_counts=True)
    # Large groups first, each to the smallest fold so far, ties in the order of a draw.
    # Drawn in the order of their first rows, since names of groups say nothing.
    draw = np.empty(len(names), int)
    draw[np.argsort(first)] = rng.permutation(len(names))
    of_group, filled = np.empty(len(names), "int16"), np.zeros(count)
    for at in np.lexsort((draw, -sizes)):
        of_group[at] = int(filled.argmin())
        filled[of_group[at]] += sizes[at]
    return of_group[np.searchsorted(names, group)]


def first_of_each(group):
    """Places of the first row of each group, in order."""
    return np.sort(np.unique(group, return_index=True)[1])


def _note(constant, rows):
    """Log which features (d,) have one value in the rows of a fit; of named ones each but once.

    It is no warning: a fold lacks what is rare, and nobody need do anything.
    """
    told = unsaid(np.flatnonzero(constant), len(constant))
    if told:
        log.info(
            "Feature %s has one value in the %d rows of a fit: it gets the coefficient 0.",
            listed(told),
            rows,
        )


#: Rows of which a fit holds the standardised features, and works on, at once.
HELD_ROWS = 100_000
#: Rows of more that are worked on at once: they stay in a processor's cache.
STEP = 4096
#: Rows that a fit of more than `HELD_ROWS` begins with.
FIRST_ROWS = 50_000


def row_blocks(rows):
    """Slices of at most `HELD_ROWS` rows, one if there are no more."""
    return [slice(at, at + HELD_ROWS) for at in range(0, rows, HELD_ROWS)] or [slice(0, 0)]


def averaged(X, weights=None, of=np.asarray):
    """Mean by column, with weights (n,) or without, of what a function makes of rows (n, d).

    The function sees `HELD_ROWS` at a time.
    """
    parts = row_blocks(len(X))
    own = [None if weights is None else weights[part] for part in parts]
    means = [np.average(of(X[at]), axis=0, weights=w) for at, w in zip(parts, own, strict=True)]
    if len(means) == 1:
        return means[0]
    sizes = [
        len(range(len(X))[at]) if w is None else w.sum() for at, w in zip(parts, own, strict=True)
    ]
    return np.average(means, axis=0, weights=sizes)


class _Standardised:
    """Standardised features of rows with a constant, as a matrix (n, d + 1) that sums are made of.

    Of up to `HELD_ROWS` rows it is held; of more a block at a time is, where it is needed.
    """

    def __init__(self, X, centre, scale, constant):
        self._told, self.shape = (X, centre, scale, constant), (len(X), X.shape[1] + 1)
        self._held = self._made(slice(None)) if len(X) <= HELD_ROWS else None

    def _made(self, part):
        X, centre, scale, constant = self._told
        standard = np.where(constant, 0.0, (X[part] - centre) / scale)
        return np.column_stack([standard, np.ones(len(standard))])

    def times(self, vector):
        """The matrix times a vector, (n,)."""
        if self._held is not None:
            return self._held @ vector
        X, centre, scale, constant = self._told
        own = np.where(constant, 0.0, vector[:-1] / scale)
        return X @ own + (vector[-1] - centre @ own)

    def sums(self, of_rows):
        """Its transpose times numbers of rows (n,), (d + 1,)."""
        if self._held is not None:
            return self._held.T @ of_rows
        X, centre, scale, constant = self._told
        total = of_rows.sum()
        return np.append(np.where(constant, 0.0, (of_rows @ X - centre * total) / scale), total)

    def squares(self, bend):
        """Sums over rows of products of each two columns, times numbers of rows (n,)."""
        if self._held is not None:
            return (self._held * bend[:, None]).T @ self._held
        total = np.zeros((self.shape[1],) * 2)
        for at in range(0, len(bend), STEP):
            rows = self._made(slice(at, at + STEP))
            total += (rows * bend[at : at + STEP, None]).T @ rows
        return total


def fit_logistic(X, y, sample_weight=None, l2=1e-6, max_iter=200):
    """Minimise the weighted log loss plus a small ridge on standardised features.

    X (n, d), y (n,) of 0 and 1. `sample_weight` (n,) is scaled to mean 1 before the fit, so the
    ridge means the same for any scale; rows of weight 0 are left out. The penalty is ``n/2 * l2 *
    |coef|^2`` on the coefficients of standardised features; `l2` None: that of `chosen_penalty`.

    Returns the coefficients (d,), in units of 1/feature, the intercept, the number of iterations,
    and whether it converged.
    """
    if l2 is not None and not (np.isfinite(l2) and l2 >= 0):
        raise CounterweightError(f"l2 is {l2}; it must be a number from 0 up.")
    X, y, weights = two_class_rows(X, y, sample_weight, "Logistic regression")
    l2 = chosen_penalty(X, y, weights) / len(X) if l2 is None else l2
    center = averaged(X, weights)
    scale = np.sqrt(averaged(X, weights, lambda rows: (rows - center) ** 2))
    constant = (np.ptp(X, axis=0) == 0) | (scale <= 1e-12 * np.abs(center))
    if constant.any():
        _note(constant, len(X))
    scale[constant] = 1.0
    begun = None
    if len(X) > HELD_ROWS:
        # Rows all over the table tell nearly where to begin: full passes are then two or three.
        some = slice(None, None, max(len(X) // FIRST_ROWS, 1))
        first = _Standardised(np.ascontiguousarray(X[some]), center, scale, constant)
        begun, *_ = _newton(first, y[some], weights[some] / weights[some].sum(), l2, max_iter)
    rows = _Standardised(X, center, scale, constant)
    found, steps, converged = _newton(rows, y, weights / len(X), l2, max_iter, begun)
    coef = np.where(constant, 0.0, found[:-1] / scale)
    return coef, float(found[-1] - coef @ center), steps, converged


def _newton(rows, y, share, l2, max_iter, begun=None, tol=1e-8):
    """Newton steps for the mean log loss plus ``l2/2 |coef|^2``; the intercept is last.

    Each step is halved until the loss falls. It ends where the gradient and the expected fall are
    below `tol`, as scikit-learn's ``newton-cholesky`` does, with the same steps.
    """
    penalty = np.append(np.full(rows.shape[1] - 1, float(l2)), 0.0)
    found, score = np.zeros(rows.shape[1]), np.zeros(rows.shape[0])
    value, chance = share.sum() * np.log(2.0), np.full(len(score), 0.5)
    if begun is not None:
        found, score = begun, rows.times(begun)
        value = share @ (np.logaddexp(0, score) - y * score) + 0.5 * (penalty * found) @ found
        chance = expit(score)
    gradient = rows.sums(share * (chance - y)) + penalty * found
    for step in range(1, max_iter + 1):
        hessian = rows.squares(share * chance * (1 - chance))
        hessian[np.diag_indices_from(hessian)] += penalty
        try:
            move = -np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            move = -np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        along, expected = rows.times(move), gradient @ move
        for length in 0.5 ** np.arange(21):
            new = found + length * move
            at = score + length * along
            power = np.exp(-np.abs(at))
            reached = share @ (np.maximum(at, 0) - y * at + np.log1p(power))
            reached += 0.5 * (penalty * new) @ new
            gain = value - reached
            if gain >= -length * expected / 2048 or abs(gain) <= 4e-15 * abs(value):
                break
        else:
            return found, step, False
        found, score, value = new, at, reached
        chance = np.where(at >= 0, 1.0, power) / (1 + power)
        gradient = rows.sums(share * (chance - y)) + penalty * found
        if np.abs(gradient).max() <= tol and move @ hessian @ move <= 2 * tol:
            return found, step, True
    return found, max_iter, False


def chosen_penalty(X, y, weight):
    """The penalty on all rows together of `CHOICES` with the least log loss of rows left out.

    Of more than `ASKED_ROWS`, rows all over the table are asked.
    """
    some = slice(None, None, -(-len(X) // ASKED_ROWS))
    return CHOICES[int(np.argmin(left_out_losses(X[some], y[some], weight[some], CHOICES)))]


def left_out_losses(X, y, sample_weight, penalties):
    """Mean log loss of rows left out, at each penalty on all rows together, (P,).

    Without row i the score of row i is ``f_i + h (p_i - y_i) w_i / (1 - h w_i p_i (1 - p_i))`` by
    one Newton step from the fit to all rows, h being ``z_i' H^-1 z_i`` of the penalised Hessian:
    exact for squared errors, and off by O(1/n^2) here (Rad & Maleki 2020, *JRSS B* 82).

    `penalties` descend, so that each fit begins at the one before.
    """
    X, y, weights = two_class_rows(X, y, sample_weight, "Logistic regression")
    rows, penalised, *_ = standard_rows(X, weights)
    found, losses = np.zeros(rows.shape[1]), []
    for penalty in penalties:
        ridge = penalty * penalised
        for _ in range(50):
            chance = expit(rows @ found)
            bend = weights * chance * (1 - chance)
            hessian = (rows * bend[:, None]).T @ rows + np.diag(ridge)
            inverse = np.linalg.pinv(hessian, hermitian=True)
            move = inverse @ (rows.T @ (weights * (chance - y)) + ridge * found)
            # Far from the optimum a whole step may overshoot; scores then move by 5 at most.
            far = np.abs(rows @ move).max()
            found = found - move * min(1.0, 5.0 / max(far, 1e-300))
            if far <= 1e-4:
                break
        chance = expit(rows @ found)
        bend = weights * chance * (1 - chance)
        leverage = np.einsum("ij,ij->i", rows @ inverse, rows)
        pull = leverage * weights * (chance - y)
        score = rows @ found + pull / np.maximum(1 - leverage * bend, 1e-6)
        losses.append(weights @ np.logaddexp(0, -(2 * y - 1) * score) / weights.sum())
    return np.array(losses)


def left_out_squares(X, y, weight, penalties):
    """Mean squared error of rows left out, at each penalty on all rows together, (P,).

    Exact (Allen 1974): the residual of the fit to all rows over one minus its leverage. Of several
    outcomes, y (m, n), those of each, (m, P).
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    rows, total, own = standard_rows(X, weight)[0][:, :-1], weight.sum(), weight[:, None]
    # Columns of mean 0 are orthogonal to the constant, and all penalties share their axes.
    size, axes = np.linalg.eigh((rows * own).T @ rows)
    along, bent = rows @ axes, np.maximum(size, 0.0)[:, None] + np.asarray(penalties)
    shrunk = np.where(bent > 1e-15 * total, 1 / np.where(bent > 0, bent, 1.0), 0.0)
    leverage = own * (along**2 @ shrunk + 1 / total)

    def losses(y):
        pull = along.T @ (weight * (y - weight @ y / total))
        left = (y - weight @ y / total)[:, None] - along @ (shrunk * pull[:, None])
        return weight @ (left / np.maximum(1 - leverage, 1e-6)) ** 2 / total

    return losses(y) if y.ndim == 1 else np.array([losses(one) for one in y])


def standard_rows(X, weight):
    """Standardised features (n, d) with a constant, which are penalised, their means and scales.

    A feature with one value is 0.
    """
    share = weight / weight.sum()
    centre = share @ X
    scale = np.sqrt(share @ (X - centre) ** 2)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(centre), 1e-300), scale, np.inf)
    rows = np.column_stack([(X - centre) / scale, np.ones(len(X))])
    return rows, np.append(np.ones(X.shape[1]), 0.0), centre, scale


def expit(odds):
    """The probability of log odds; SciPy's, which takes longer to import than most jobs compute."""
    power = np.exp(-np.abs(odds))
    return np.where(np.asarray(odds) >= 0, 1.0, power) / (1 + power)


def logit(p):
    """The log odds of a probability; infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-np.asarray(p, float))


def wider(p, end, more):
    """Ends of intervals of p with one more independent half-width, all in the log odds."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = logit(p)
        wide = expit(odds + np.sign(more) * np.hypot(logit(end) - odds, more))
    return np.where(np.isfinite(odds), wide, end)


def logistic_probability(X, coef, intercept):
    """p(y = 1 | x) of a fitted logistic regression."""
    return expit(checked_rows(X, empty=True) @ coef + intercept)


#: Times the largest amount of the fit that an answer may be: a score goes on beyond what was seen,
#: and its exponential runs away.
FARTHEST = 2.0
#: Scores are of amounts over their mean; a step moves none of them by more.
FARTHEST_STEP, STEPS, TOLERANCE = 5.0, 100, 1e-9


def fit_poisson(rows, y, weight, ridge, start=None):
    """Coefficients (k,) with the least ``sum w (exp(f) - y f) + ridge b^2 / 2``, by Newton steps.

    Of rows (n, k), constant included, amounts (n,) of mean about 1, weights (n,), and `ridge`
    (k,), penalties on all rows together. Gives the coefficients, the inverse Hessian, the steps and
    whether it converged.
    """
    if y.min(initial=0) < 0 or not y.any():
        raise CounterweightError("A log link takes outcomes from 0 up that are not all 0.")
    found = np.zeros(rows.shape[1]) if start is None else start
    score = rows @ found

    def value(found, score):
        return weight @ (np.exp(score) - y * score) + ridge @ np.square(found) / 2

    now = value(found, score)
    for step in range(STEPS):
        mean = np.exp(score)
        gradient = rows.T @ (weight * (mean - y)) + ridge * found
        hessian = (rows * (weight * mean)[:, None]).T @ rows + np.diag(ridge)
        inverse = np.linalg.pinv(hessian, hermitian=True)
        if np.abs(gradient).max() <= TOLERANCE * weight.sum():
            return found, inverse, step, True
        move = inverse @ gradient
        along = rows @ move
        size = min(1.0, FARTHEST_STEP / max(np.abs(along).max(), 1e-300))
        while not value(found - size * move, score - size * along) < now and size > 1e-9:
            size /= 2
        if size <= 1e-9:
            return found, inverse, step, bool(np.abs(gradient).max() <= 1e-6 * weight.sum())
        found, score = found - size * move, score - size * along
        now = value(found, score)
    return found, inverse, STEPS, False


def left_out_amounts(X, y, weight, penalties):
    """Mean squared error of rows left out, at each penalty on all rows together, (P,).

    By one Newton step from the fit to all rows; `penalties` descend, so that each fit begins at the
    one before. What is expected of a row left out is `FARTHEST` times the largest amount at most.
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    weight = weight / weight.mean()
    rows, penalised, *_ = standard_rows(X, weight)
    middle = np.average(y, weights=weight)
    relative, found, losses = y / middle, None, []
    for penalty in penalties:
        found, inverse, *_ = fit_poisson(rows, relative, weight, penalty * penalised, found)
        score = rows @ found
        mean = np.exp(score)
        leverage = weight * np.einsum("ij,ij->i", rows @ inverse, rows)
        score += leverage * (mean - relative) / np.maximum(1 - leverage * mean, 1e-6)
        answer = middle * np.exp(np.minimum(score, np.log(FARTHEST * relative.max())))
        losses.append(weight @ (answer - y) ** 2 / weight.sum())
    return np.array(losses)


#: What holds the factors near equal shares of 1: as much as so many rows would say. Of amounts
#: without a largest more rows, since a few of them say most.
PRIOR_ROWS, AMOUNT_ROWS = 2.0, 30.0
#: Share of the mean amount below which what is expected of a row counts as this.
LEAST_EXPECTED = 0.3
#: Chances are kept this far from 0 and 1, so that their log odds are numbers.
EDGE = 1e-12


def fitted_factors(scores, y, weight, binary, copies=1, amounts=False, most=np.inf):
    """Factors (K,) from 0 up and the constant of raw scores (M, K) with the least weighted loss.

    The log loss of a class, the squared error of a number; near equal factors of sum 1 by
    `PRIOR_ROWS`, times the `copies` of each row among the M. The constant is free, so that weighted
    residuals sum to 0; of `amounts` it is from 0 up, and a factor of all does that.

    Amounts differ the more, the larger they are: their errors are squared in units of what the
    scores expect on average (generalised least squares with a constant coefficient of variation;
    McCullagh & Nelder 1989, chapter 8), so that a few large ones do not choose the factors, and
    `AMOUNT_ROWS` hold these. Where they have a largest, `most`, squares are plain.
    """
    from scipy.optimize import lsq_linear, minimize
    from scipy.special import expit

    parts = scores.shape[1]
    prior, weight, held_by = 1.0 / parts, weight / weight.mean(), PRIOR_ROWS * copies
    if amounts:
        middle, own = np.average(y, weights=weight), weight
        if np.isinf(most) and middle > 0:
            expected = np.maximum(scores.mean(axis=1), LEAST_EXPECTED * middle)
            own, held_by = weight / np.square(expected / middle), AMOUNT_ROWS * copies
            own = own / own.mean()
        columns, root = np.column_stack([scores, np.full(len(y), middle)]), np.sqrt(own)
        size = np.sqrt(np.average((y - middle) ** 2, weights=own)) or 1.0
        held = np.sqrt(held_by) * size * np.eye(parts, parts + 1)
        to = np.r_[root * y, held @ np.full(parts + 1, prior)]
        found = lsq_linear(np.vstack([root[:, None] * columns, held]), to, bounds=(0, np.inf)).x
        found *= factor_to(columns @ found, y, weight, most)
        return found[:-1], float(found[-1] * middle)
    if not binary:
        share = weight / weight.sum()
        centre, middle = share @ scores, share @ y
        apart, root = scores - centre, np.sqrt(weight)[:, None]
        size = np.sqrt(np.average((y - middle) ** 2, weights=weight)) or 1.0
        held = np.sqrt(held_by) * size * np.eye(parts)
        to = np.r_[root[:, 0] * (y - middle), held @ np.full(parts, prior)]
        found = lsq_linear(np.vstack([root * apart, held]), to, bounds=(0, np.inf)).x
        return found, float(middle - centre @ found)

    def loss(told):
        score = scores @ told[:-1] + told[-1]
        off, drawn = weight * (expit(score) - y), told[:-1] - prior
        value = weight @ (np.logaddexp(0, score) - y * score) + held_by / 2 * drawn @ drawn
        return value, np.r_[off @ scores + held_by * drawn, off.sum()]

    begun = np.r_[np.full(parts, prior), 0.0]
    told = {"jac": True, "method": "L-BFGS-B", "bounds": [(0, None)] * parts + [(None, None)]}
    found = minimize(loss, begun, options={"ftol": 1e-14, "gtol": 1e-9}, **told).x
    return found[:-1], centred(scores @ found[:-1], y, weight, binary)


def factor_to(score, y, weight, most=np.inf):
    """The factor that makes the weighted residuals of what is expected of amounts (M,) sum to 0.

    What is expected is a score times the factor, and `most` at most.
    """
    total, wanted = weight @ score, weight @ y
    factor = float(wanted / total) if total > 0 else 1.0
    while (at := factor * score > most).any() and (rest := weight[~at] @ score[~at]) > 0:
        # Those at the most stay there: what they lose goes to the others.
        more = float((wanted - most * weight[at].sum()) / rest)
        if not more > factor * (1 + 1e-12):
            break
        factor = more
    return factor


def centred(score, y, weight, binary):
    """The constant that makes the weighted residuals of raw scores (M,) sum to 0."""
    from scipy.special import expit

    if not binary:
        return float(np.average(y - score, weights=weight))
    share = weight / weight.sum()
    mean = float(np.clip(share @ y, EDGE, 1 - EDGE))
    constant = 0.0
    low, high = -50.0, 50.0
    for _ in range(100):
        p = expit(score + constant)
        off, slope = share @ p - mean, share @ (p * (1 - p))
        low, high = (low, constant) if off > 0 else (constant, high)
        if abs(off) <= 1e-14:
            break
        step = constant - off / slope if slope > 1e-12 else low
        constant = step if low < step < high else (low + high) / 2
    return constant


def mixture_shares(ratios, held=None, share=0.0, near=1e-12, rounds=10_000):
    """Shares (K,) of largest likelihood of densities `ratios` (N, K), by EM.

    `held`, the number of one of them, has the given `share`, where it is given. EM ends where no
    share changes by more than `near`, or after so many `rounds`.
    """
    shares = np.full(ratios.shape[1], 1 / ratios.shape[1])
    free = np.arange(len(shares)) != held
    if held is not None:
        shares[held], shares[free] = share, (1 - share) / free.sum()
    for _ in range(rounds):
        before = shares
        shares = shares * ((1 / (ratios @ shares)) @ ratios) / len(ratios)
        if held is not None:
            shares[held], shares[free] = share, shares[free] * (1 - share) / shares[free].sum()
        if np.abs(shares - before).max() < near:
            break
    return shares


def normalised(p):
    return p / p.sum(axis=-1, keepdims=True)


def _log_classes(p):
    return np.log(np.clip(p, np.exp(-30.0), 1.0))


def calibrated_classes(p, slope, constants):
    """Classes by ``slope log p + constant``."""
    margin = slope * _log_classes(p) + constants
    margin -= margin.max(axis=-1, keepdims=True)
    return normalised(np.exp(margin))


def class_calibration(p, y):
    """Slope, at least 0, and constants (K,), the last one 0, by maximum likelihood."""
    from scipy.optimize import minimize

    logs, K, rows = _log_classes(p), p.shape[1], np.arange(len(y))

    def loss(v):
        q = calibrated_classes(p, v[0], np.r_[v[1:], 0.0])
        miss = q.copy()
        miss[rows, y] -= 1.0
        told = -np.log(np.maximum(q[rows, y], 1e-300)).mean()
        return told, np.r_[(miss * logs).sum() / len(y), miss.sum(axis=0)[:-1] / len(y)]

    bounds = [(0.0, None)] + [(None, None)] * (K - 1)
    start = np.r_[1.0, np.zeros(K - 1)]
    options = {"ftol": 1e-14, "gtol": 1e-9, "maxiter": 1000}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return float(found.x[0]), np.r_[found.x[1:], 0.0]


def class_calibration_influence(p, y, slope, constants):
    """How far each labeled row moves slope and the constants but the last, (M, K)."""
    K, logs = p.shape[1], _log_classes(p)
    q = calibrated_classes(p, slope, constants)
    design = np.zeros((len(y), K, K))  # of row, class and parameter
    design[:, :, 0] = logs
    design[:, np.arange(K - 1), np.arange(1, K)] = 1.0
    mean = np.einsum("nk,nkp->np", q, design)
    away = design - mean[:, None, :]
    curvature = np.einsum("nk,nkp,nkq->pq", q, away, away)
    own = away[np.arange(len(y)), y]
    return own @ np.linalg.pinv(curvature, hermitian=True)
