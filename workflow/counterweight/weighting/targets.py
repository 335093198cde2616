"""Weights that make a sample stand for a target that is not the rest of its own table.

All take design weights (`weight`: how many members of its population a row stands for) and give
weights whose sum is the target's total. Behind them are Newton steps: logistic odds, and tilts to
known means. Tables of rows by features are only ever read by slices of rows, so one that makes
its features when asked (`coded.Coded`) does as well as a matrix, and takes no more memory than
its codes.
"""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import as_numbers, checked_weights
from counterweight.weighting.importance_weights import effective_sample_size

#: Numbers of a table that are held at once; beyond them features are made again in each step.
DENSE = 2**24
#: Numbers in a block of rows.
BLOCK = 2**19
#: Where a step leaves no more than this share of the gradient, the next one keeps the second
#: derivatives, which are most of the work.
FALLEN = 0.1


class Fitted(NamedTuple):
    """Weights and what they were made by.

    Attributes
    ----------
    weights : array, shape (n,)
    coef : array, shape (d,) or (d + 1,)
        On standardised features; that of the odds begins with the constant.
    curvature : array, shape (k, k)
        Second derivatives of the loss, for standard errors.
    center, scale : array, shape (d,)
    gap : array, shape (d,)
        Weighted mean less the target's, in units of `scale`.
    converged : bool
    """

    weights: np.ndarray
    coef: np.ndarray
    curvature: np.ndarray
    center: np.ndarray
    scale: np.ndarray
    gap: np.ndarray
    converged: bool


def design_effect(weights):
    """Rows over effective rows, n sum w^2 / (sum w)^2 (Kish 1965): 1 for equal weights."""
    return len(weights) / effective_sample_size(weights)


def moments(X, weight):
    """Weighted mean and variance of each feature, by blocks of rows."""
    share = weight / weight.sum()
    mean = np.zeros(X.shape[1])
    for rows in blocks(X):
        mean += share[rows] @ X[rows]
    variance = np.zeros(X.shape[1])
    for rows in blocks(X):
        variance += share[rows] @ (X[rows] - mean) ** 2
    return mean, variance


def fit_balance(X, mean, weight, l2, variance=None, most_effect=None, tol=1e-10):
    """Exponential tilt of design weights to the target's means.

    The just-identified covariate-balancing propensity for a target (ATT) of Imai & Ratkovic (2014),
    that is, entropy balancing: of all weights that reach the means those nearest to the design
    weights in Kullback-Leibler distance (Deville & Särndal 1992). Newton steps on the convex dual,
    up to a largest derivative of `tol` standard deviations.

    X (n, d) and `weight` (n,) are of the sample, `mean` and `variance` (d,) of the target, the
    latter for the scale, for which else the sample's serves. The weights of `Fitted` sum to 1.
    """
    from scipy.optimize import brentq

    if not (np.isfinite(l2) and l2 >= 0):
        raise CounterweightError(f"l2 is {l2}; it must be a number from 0 up.")
    own, spread = moments(X, weight)
    scale = np.sqrt(spread if variance is None else (spread + variance) / 2)
    varies = spread > 1e-24 * (1 + own**2)
    # What does not vary in the sample has no coefficient, and stays as far off as it is.
    scale = np.where(scale > 1e-12 * (1 + np.abs(mean)), scale, 1.0)
    fixed = np.where(varies, 0.0, (own - mean) / scale)
    Z = standard(X, mean, np.where(varies, scale, np.inf))

    def fitted(l2, coef, tol=tol):
        return _tilted(Z, weight, l2, coef, tol, fixed)._replace(center=mean, scale=scale)

    fit = fitted(l2, np.zeros(X.shape[1]))
    if most_effect is None or design_effect(fit.weights) <= most_effect:
        return fit
    if not design_effect(weight) <= most_effect:
        raise CounterweightError(
            f"The design weights alone have a design effect of {design_effect(weight):.3g}, so no "
            f"adjustment stays below most_effect = {most_effect}: ask for more."
        )
    reached = [fit]

    def excess(log_ridge):
        # Near enough to tell the price; the ridge that is found is solved in full.
        reached.append(fitted(np.exp(log_ridge), reached[-1].coef, 1e-4))
        return np.log(design_effect(reached[-1].weights) / most_effect) + 1e-3

    low, high = np.log(max(l2, 1e-8)), np.log(10.0)
    while excess(high) > 0 and high < 20:
        low, high = high, high + 5
    root = brentq(excess, low, high, xtol=0.01) if excess(low) > 0 > excess(high) else high
    fit, step = fitted(np.exp(root), reached[-1].coef), 0.01
    while design_effect(fit.weights) > most_effect * (1 + 1e-9) and root < 40:
        root, step = root + step, 2 * step
        fit = fitted(np.exp(root), fit.coef)
    return fit


def fit_odds(X, X_target, weight, target_weight, l2, tol=1e-9):
    """Penalised logistic regression of sample (1) against target (0).

    With p(s = 1 | x) of both tables, each of total weight 1/2, the density ratio target to sample
    is (1 - p) / p: Lemma 2 of Smith & Elkan (2007), right where its log is linear in the features.

    Returns
    -------
    Fitted
        `center` and `scale` are those of the two tables put together.
    """
    if not (np.isfinite(l2) and l2 > 0):
        raise CounterweightError(f"l2 is {l2}; it must be a number above 0.")
    own, spread = moments(X, weight)
    other, spread_target = moments(X_target, target_weight)
    center = (own + other) / 2
    variance = (spread + spread_target) / 2 + (own - other) ** 2 / 4
    scale = np.sqrt(variance)
    varies = variance > 1e-24 * (1 + center**2)
    scale = np.where(varies, scale, 1.0)
    tables = [standard(table, center, np.where(varies, scale, np.inf)) for table in (X, X_target)]
    masses = [weight / weight.sum() / 2, target_weight / target_weight.sum() / 2]
    theta = np.zeros(X.shape[1] + 1)
    penalty = np.r_[0.0, np.full(X.shape[1], l2)]
    # Signed log odds: positive where the row is told right.
    margins = [np.zeros(len(mass)) for mass in masses]
    value = _log_loss(margins, masses)
    converged, curvature, steepest = False, None, 0.0
    for _ in range(200):
        wrong = [1 / (1 + np.exp(np.minimum(margin, 700))) for margin in margins]
        gradient = penalty * theta
        for Z, mass, miss, sign in zip(tables, masses, wrong, (1.0, -1.0), strict=True):
            lean = mass * miss
            gradient = gradient - sign * np.r_[lean.sum(), weighted_sums(Z, lean)]
        steep, steepest = steepest, np.abs(gradient).max()
        converged = steepest <= tol
        if curvature is None or (steepest > FALLEN * steep and not converged):
            curvature = np.diag(penalty)
            for Z, mass, miss in zip(tables, masses, wrong, strict=True):
                bend = mass * miss * (1 - miss)
                G, g = gram(Z, bend)
                curvature += np.block([[bend.sum().reshape(1, 1), g[None]], [g[:, None], G]])
        if converged:
            break
        step = -solved(curvature, gradient)
        moves = [step[0] + times(Z, step[1:]) for Z in tables]
        moves[1] = -moves[1]
        slope, size = gradient @ step, 1.0
        for _ in range(40):
            tried = theta + size * step
            there = [m + size * move for m, move in zip(margins, moves, strict=True)]
            now = _log_loss(there, masses) + (penalty * tried**2).sum() / 2
            if now <= value + 1e-4 * size * slope + 1e-14:
                break
            size /= 2
        theta, margins, value = tried, there, now
    weights = masses[0] * np.exp(np.clip(-margins[0], -700, 700))
    weights = weights / weights.sum()
    gap = (weighted_sums(tables[0], weights) * scale + center - other) / scale
    return Fitted(weights * target_weight.sum(), theta, curvature, center, scale, gap, converged)


def standard(X, center, scale):
    """A table less `center`, over `scale`; 0 where that is infinite. Dense where it is small."""
    table = Standard(X, center, scale)
    return table[:] if X.shape[0] * X.shape[1] <= DENSE else table


class Standard:
    """A standardised table, made slice by slice."""

    def __init__(self, X, center, scale):
        self.X, self.center, self.factor = X, center, 1 / scale
        self.shape = X.shape

    def __getitem__(self, rows):
        made = self.X[rows] - self.center
        made *= self.factor
        return made


def _tilted(Z, weight, l2, coef, tol, fixed):
    """Newton steps on log sum d exp(z b) + ridge/2 |b|^2."""
    used = weight > 0
    base = np.where(used, weight, 1.0)
    log_base = np.where(used, np.log(base / weight.sum()), -np.inf)
    floor = log_base[used].min() - 1e-6
    converged, curvature, steepest = False, None, 0.0
    eta = log_base + times(Z, coef)
    value, w = _normal(eta)
    value += l2 / 2 * coef @ coef
    # Nothing reaches a mean that is fixed elsewhere: what is asked exactly is then not begun.
    hopeless = not l2 and np.abs(fixed).max(initial=0.0) > 1e-9
    for _ in range(200):
        g = weighted_sums(Z, w)
        gradient = g + l2 * coef
        steep, steepest = steepest, np.abs(gradient).max(initial=0.0)
        converged = steepest <= tol
        if curvature is None or (steepest > FALLEN * steep and not converged):
            curvature = gram(Z, w)[0] - np.outer(g, g) + l2 * np.eye(len(g))
        if hopeless:
            g, converged = np.zeros_like(g), False
        if hopeless or converged:
            break
        if not l2 and value < floor:
            # Below what any weights that met the means would allow: there are none.
            break
        step = -solved(curvature, gradient)
        move, slope, size = times(Z, step), gradient @ step, 1.0
        for _ in range(40):
            tried = coef + size * step
            now, w = _normal(eta + size * move)
            now += l2 / 2 * tried @ tried
            if now <= value + 1e-4 * size * slope + 1e-14:
                break
            size /= 2
        coef, value = tried, now
        eta = eta + size * move
    return Fitted(w, coef, curvature, None, None, g + fixed, converged)


def _normal(eta):
    """log sum exp, and the terms over their sum."""
    top = eta.max()
    terms = np.exp(eta - top)
    total = terms.sum()
    return float(np.log(total) + top), terms / total


def _log_loss(margins, masses):
    return sum(
        float(mass @ np.logaddexp(0, -margin)) for margin, mass in zip(margins, masses, strict=True)
    )


def solved(A, b):
    """x of A x = b, for a symmetric matrix without negative eigenvalues, of whatever rank."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    jitter = 1e-12 * max(np.trace(A) / max(len(A), 1), 1e-300)
    for _ in range(12):
        try:
            return cho_solve(cho_factor(A + jitter * np.eye(len(A))), b)
        except LinAlgError:
            jitter *= 100
    return np.linalg.lstsq(A, b, rcond=None)[0]


def blocks(X):
    """Slices of rows that hold about `BLOCK` numbers."""
    n, d = X.shape
    size = max(BLOCK // max(d, 1), 256)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def gram(Z, w):
    """Z' diag(w) Z and Z' w."""
    G, g = np.zeros((Z.shape[1],) * 2), np.zeros(Z.shape[1])
    root = np.sqrt(w)
    for rows in blocks(Z):
        block = Z[rows]
        g += w[rows] @ block
        scaled = block * root[rows, None]
        G += scaled.T @ scaled
    return G, g


def times(Z, b):
    """Table times a vector, by blocks of rows."""
    made = np.empty(Z.shape[0])
    for rows in blocks(Z):
        made[rows] = Z[rows] @ b
    return made


def weighted_sums(Z, w):
    """Vector times a table, by blocks of rows."""
    made = np.zeros(Z.shape[1])
    for rows in blocks(Z):
        made += w[rows] @ Z[rows]
    return made


#: Totals may differ by so much, and shares by so much from 1: they are often rounded.
ROUNDED, ROUNDED_SHARES = 0.005, 0.02


def require_means(fit, l2, names=None):
    """Refuse weights that were to meet the target's means exactly and do not."""
    if l2 or fit.converged:
        return
    worst = int(np.argmax(np.abs(fit.gap)))
    name = f"number {worst}" if names is None else names[worst]
    raise CounterweightError(
        f"No weights of the sample reach all means of the target: feature {name} stays "
        f"{abs(fit.gap[worst]):.2g} standard deviations off; leave it out, pool it with "
        "another, or allow a difference (ridge above 0)."
    )


def rake(codes, margins, weight=None, *, names=None, most_steps=1000, tol=1e-11):
    """Design weights multiplied, margin by margin, until each has its known totals.

    Iterative proportional fitting (Deming & Stephan 1940; the multiplicative case of Deville &
    Särndal 1992): the weights nearest to the design weights that reach the totals. Ratios of odds
    within the sample are kept. Rows of the same levels are treated as one.

    Parameters
    ----------
    codes : int array, shape (n, m), or a sequence of m arrays
        Level of each row in each margin, from 0.
    margins : sequence of m arrays
        Share or total of each level. Where each sums to 1 they are shares, and the weights sum to
        what the design weights do; else to the margins' common total. Shares may be 2 % off by
        rounding, totals .5 %.
    weight : array, shape (n,), optional
    names : sequence of str, optional
        Of the margins, for messages.
    most_steps : int
        Rounds over all margins.
    tol : float
        Largest difference of a share when it stops.
    """
    columns = list(codes) if isinstance(codes, list | tuple) else list(np.asarray(codes).T)
    names = list(names or (f"number {k}" for k in range(len(margins))))
    if len(columns) != len(margins) or not margins:
        raise CounterweightError(
            f"There are {len(columns)} columns of codes for {len(margins)} margins: give a column "
            "of levels for each margin."
        )
    weight = checked_weights(weight, len(columns[0]))
    shares, total = shares_of(margins, names, weight.sum())
    columns = [
        _checked_codes(c, len(s), len(weight), name)
        for c, s, name in zip(columns, shares, names, strict=True)
    ]
    cell = joined(columns)
    first = np.zeros(cell.max() + 1, dtype=np.int64)
    first[cell[::-1]] = np.arange(len(cell))[::-1]
    start = np.bincount(cell, weight) / weight.sum()
    levels = [code[first] for code in columns]
    for level, share, name in zip(levels, shares, names, strict=True):
        empty = np.flatnonzero((share > 0) & ~(np.bincount(level, start, len(share)) > 0))
        if len(empty):
            raise CounterweightError(
                f"Margin {name} asks for {share[empty[0]]:.3g} of the total in level "
                f"{int(empty[0])}, and the sample has no row of it: pool the level with another."
            )
    mass, gaps = start.copy(), []
    for _ in range(most_steps):
        gaps = []
        for level, share in zip(levels, shares, strict=True):
            now = np.bincount(level, mass, len(share))
            gaps.append(np.abs(now - share).max())
            mass *= np.divide(share, now, out=np.zeros_like(share), where=now > 0)[level]
        if max(gaps) <= tol:
            break
        if not mass.any():
            break
    else:
        gaps = [
            np.abs(np.bincount(level, mass, len(share)) - share).max()
            for level, share in zip(levels, shares, strict=True)
        ]
    if not max(gaps) <= max(tol, 1e-9):
        worst = int(np.argmax(gaps))
        raise CounterweightError(
            f"The margins cannot be met together: after {most_steps} rounds the shares of margin "
            f"{names[worst]} are still {gaps[worst]:.2g} off, since the sample lacks combinations "
            "of levels that they need; pool levels or leave the margin out."
        )
    factor = np.divide(mass, start, out=np.zeros_like(mass), where=start > 0)
    return weight / weight.sum() * factor[cell] * total


def joined(columns):
    """Number of each row's combination of codes."""
    cell = np.zeros(len(columns[0]), dtype=np.int64)
    for code in columns:
        cell = np.unique(cell * (code.max() + 1) + code, return_inverse=True)[1]
    return cell


def post_stratify(cells, totals, weight=None, *, strict=True, name="cells"):
    """Design weights scaled in each cell to the known total: N_h / n_h without design weights.

    `cells` (n,) are numbers from 0, `totals` (H,) those of the cells, or shares that sum to 1 (see
    `rake`). Cells that the sample lacks are an error if `strict`; else the others stand for them
    too, in proportion. `name` is that of the cells in messages.
    """
    weight = checked_weights(weight, len(cells))
    (share,), total = shares_of([totals], [name], weight.sum())
    cells = _checked_codes(cells, len(share), len(weight), name)
    there = np.bincount(cells, weight, len(share))
    empty = np.flatnonzero((share > 0) & ~(there > 0))
    if len(empty) and strict:
        raise CounterweightError(
            f"The sample has no row in {len(empty)} of {int((share > 0).sum())} cells of the "
            f"target, {share[empty].sum():.1%} of its total (first: cell {int(empty[0])} of "
            f"{name}): use fewer or coarser columns, or strict=False to leave them out."
        )
    if len(empty) == (share > 0).sum():
        raise CounterweightError(f"The sample has no row in any cell of the target ({name}).")
    share = share / share[there > 0].sum()
    factor = np.divide(share, there, out=np.zeros_like(share), where=there > 0)
    return weight * factor[cells] * total


def trim_weights(weights, *, mean_ratio=None, quantile=None):
    """Weights (n,) cut at a cap, the others scaled up: the sum stays, and so do their ratios.

    The cap is `mean_ratio` (from 1 up) times the mean weight, or a `quantile` of the weights,
    between 0 and 1, or the mean where that is more.
    """
    weights = checked_weights(weights, len(weights))
    if (mean_ratio is None) == (quantile is None):
        raise CounterweightError("A trim is given by mean_ratio or by quantile, one of the two.")
    if mean_ratio is not None and not mean_ratio >= 1:
        raise CounterweightError(f"mean_ratio is {mean_ratio}; a cap is 1 or more times the mean.")
    if quantile is not None and not 0 < quantile < 1:
        raise CounterweightError(f"quantile is {quantile}; it lies between 0 and 1.")
    mean = weights.mean()
    cap = mean * mean_ratio if quantile is None else max(np.quantile(weights, quantile), mean)
    if weights.max() <= cap:
        return weights.copy()
    order = np.sort(weights)[::-1]
    rest = order[::-1].cumsum()[::-1]
    cut = np.arange(len(order))
    # With the k largest at the cap, the others share what is left: the first k that fits.
    free = np.divide(weights.sum() - cut * cap, rest, out=np.zeros(len(order)), where=rest > 0)
    fits = np.flatnonzero((rest > 0) & (free * order <= cap * (1 + 1e-12)))
    if not len(fits):
        # Fewer rows have weight than the cap allows for: all of them stand at one level.
        return np.where(weights > 0, weights.sum() / (weights > 0).sum(), 0.0)
    return np.minimum(cap, weights * free[fits[0]])


def shares_of(margins, names, own_total):
    """Margins as shares, and the total that they stand for (`own_total` where they are shares)."""
    shares, totals = [], []
    for margin, name in zip(margins, names, strict=True):
        margin = as_numbers(margin, f"margin {name}")
        bad = ~(np.isfinite(margin) & (margin >= 0))
        if margin.ndim != 1 or bad.any() or not margin.any():
            raise CounterweightError(
                f"Margin {name} must be shares or totals from 0 up, one a level, not all 0; got "
                f"{listed(margin.ravel().tolist())}."
            )
        total = margin.sum()
        if margin.max() <= 1 and (margin % 1).any() and abs(total - 1) > ROUNDED_SHARES:
            raise CounterweightError(
                f"Margin {name} has {listed(margin.tolist())}, which are neither shares that sum "
                "to 1 nor totals: correct them."
            )
        shares.append(margin / total)
        totals.append(total)
    if all(abs(total - 1) <= ROUNDED_SHARES for total in totals):
        return shares, own_total
    for total, name in zip(totals, names, strict=True):
        if abs(total - totals[0]) > ROUNDED * totals[0]:
            raise CounterweightError(
                f"Margin {names[0]} sums to {totals[0]:.6g} and margin {name} to {total:.6g}: all "
                "margins must be shares that sum to 1, or totals of the same population."
            )
    return shares, totals[0]


def _checked_codes(codes, levels, rows, name):
    codes = np.asarray(codes)
    wrong = codes.shape != (rows,) or codes.dtype.kind not in "iu"
    if wrong or codes.min() < 0 or codes.max() >= levels:
        raise CounterweightError(
            f"Margin {name} has {levels} levels: its codes must be {rows} whole numbers from 0 to "
            f"{levels - 1}."
        )
    return codes.astype(np.int64)
