"""Weights that make a sample stand for a target that is not the rest of its own table.

All take design weights (`weight`: how many members of its population a row stands for) and give
weights whose sum is the target's total.
"""

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.checks import as_numbers, checked_rows, checked_weights
from counterweight.weighting.tilting import fit_balance, fit_odds, moments

#: Shares and totals may differ by so much from what they must sum to: they are often rounded.
ROUNDED = 0.005


def odds_weights(X, X_target, weight=None, target_weight=None, *, ridge=1e-4):
    """Odds of being in the target, by logistic regression of sample against target.

    With p(s = 1 | x) of the two tables put together, each of total weight 1/2, the density ratio
    target to sample is (1 - p) / p: Lemma 2 of Smith & Elkan (2007) with the target as the
    unlabeled rows. Right where the log of that ratio is linear in the features.

    Parameters
    ----------
    X : array, shape (n, d)
    X_target : array, shape (t, d)
    weight : array, shape (n,), optional
        Design weights; only their ratios count.
    target_weight : array, shape (t,), optional
    ridge : float
        Penalty ``ridge / 2 * |coef|^2`` on the coefficients of standardised features, against
        the mean log loss. Above 0 there are finite weights whatever the overlap.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Weights that sum to the target's total weight.

    Raises
    ------
    CounterweightError
        When features or weights are not numbers, or the tables have other numbers of features.
    """
    X, X_target, weight, target_weight = _checked(X, X_target, weight, target_weight)
    return fit_odds(X, X_target, weight, target_weight, ridge).weights


def cbps_weights(X, X_target, weight=None, target_weight=None, *, ridge=1e-4, most_effect=None):
    """Covariate-balancing propensity: the odds whose balance equations hold.

    The just-identified form for the target (ATT) of Imai & Ratkovic (2014): the odds of the
    target are the exponential of a linear function, whose coefficients solve ``sum w x = mean of
    the target`` instead of the score equations. The weights are those nearest to the design
    weights (in Kullback-Leibler distance) that reach the means, that is, entropy balancing, or
    calibration by the raking distance of Deville & Särndal (1992). Solved by Newton steps on the
    convex dual.

    Parameters
    ----------
    X, X_target, weight, target_weight
        As in `odds_weights`.
    ridge : float
        The means may be off by ``ridge * coef`` standard deviations; 0 for exact balance.
    most_effect : float, optional
        The design effect (Kish) is not to pass this; the ridge grows until it does not.

    Returns
    -------
    numpy.ndarray, shape (n,)
        Weights that sum to the target's total weight.

    Raises
    ------
    CounterweightError
        As in `odds_weights`; when the ridge is 0 and no weights reach the means; when the design
        effect of the design weights alone passes `most_effect`.
    """
    X, X_target, weight, target_weight = _checked(X, X_target, weight, target_weight)
    mean, variance = moments(X_target, target_weight)
    fit = fit_balance(X, mean, weight, ridge, variance, most_effect)
    require_means(fit, ridge)
    return fit.weights * target_weight.sum()


def require_means(fit, ridge, names=None):
    """Refuse weights that were to meet the target's means exactly and do not."""
    if ridge or fit.converged:
        return
    worst = int(np.argmax(np.abs(fit.gap)))
    name = f"number {worst}" if names is None else names[worst]
    raise CounterweightError(
        f"No weights of the sample reach all means of the target: feature {name} stays "
        f"{abs(fit.gap[worst]):.2g} standard deviations off; leave it out, pool it with "
        "another, or allow a difference (ridge above 0)."
    )


def rake(codes, margins, weight=None, *, names=None, most_steps=1000, tolerance=1e-11):
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
        what the design weights do; else to the margins' common total. Both up to .5 % of rounding.
    weight : array, shape (n,), optional
    names : sequence of str, optional
        Of the margins, for messages.
    most_steps : int
        Rounds over all margins.
    tolerance : float
        Largest difference of a share when it stops.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Raises
    ------
    CounterweightError
        When a level that the target has is empty in the sample, margins have different totals,
        or no weights meet them all; it names the margin.
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
    cell = np.zeros(len(weight), dtype=np.int64)
    for code in columns:
        cell = np.unique(cell * (code.max() + 1) + code, return_inverse=True)[1]
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
        if max(gaps) <= tolerance:
            break
        if not mass.any():
            break
    else:
        gaps = [
            np.abs(np.bincount(level, mass, len(share)) - share).max()
            for level, share in zip(levels, shares, strict=True)
        ]
    if not max(gaps) <= max(tolerance, 1e-9):
        worst = int(np.argmax(gaps))
        raise CounterweightError(
            f"The margins cannot be met together: after {most_steps} rounds the shares of margin "
            f"{names[worst]} are still {gaps[worst]:.2g} off, since the sample lacks combinations "
            "of levels that they need; pool levels or leave the margin out."
        )
    factor = np.divide(mass, start, out=np.zeros_like(mass), where=start > 0)
    return weight / weight.sum() * factor[cell] * total


def post_stratify(cells, totals, weight=None, *, strict=True, name="cells"):
    """Design weights scaled in each cell to the known total: N_h / n_h without design weights.

    Parameters
    ----------
    cells : int array, shape (n,)
    totals : array, shape (H,)
        Totals of the cells, or shares that sum to 1 (see `rake`).
    weight : array, shape (n,), optional
    strict : bool
        Whether cells that the sample lacks are an error; else the others stand for them too, in
        proportion.
    name : str
        Of the cells, for messages.

    Returns
    -------
    numpy.ndarray, shape (n,)

    Raises
    ------
    CounterweightError
        When a cell with a total has no row in the sample.
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
    """Weights cut at a cap, the others scaled up so that the sum stays.

    Parameters
    ----------
    weights : array, shape (n,)
    mean_ratio : float, optional
        The cap is so many times the mean weight, from 1 up.
    quantile : float, optional
        The cap is this quantile of the weights, in (0, 1), or the mean where that is more.

    Returns
    -------
    numpy.ndarray, shape (n,)
        None above the cap; those below keep their ratios.

    Raises
    ------
    CounterweightError
        When neither or both are given, or one is out of its range.
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
        shares.append(margin / margin.sum())
        totals.append(margin.sum())
    if all(abs(total - 1) <= ROUNDED for total in totals):
        return shares, own_total
    for total, name in zip(totals, names, strict=True):
        if abs(total - totals[0]) > ROUNDED * totals[0]:
            raise CounterweightError(
                f"Margin {names[0]} sums to {totals[0]:.6g} and margin {name} to {total:.6g}: all "
                "margins must be shares that sum to 1, or totals of the same population."
            )
    return shares, totals[0]


def _checked(X, X_target, weight, target_weight):
    X, X_target = checked_rows(X), checked_rows(X_target)
    if X.shape[1] != X_target.shape[1]:
        raise CounterweightError(
            f"The sample has {X.shape[1]} features and the target {X_target.shape[1]}: give both "
            "the same columns."
        )
    weight = checked_weights(weight, len(X))
    return X, X_target, weight, checked_weights(target_weight, len(X_target))


def _checked_codes(codes, levels, rows, name):
    codes = np.asarray(codes)
    wrong = codes.shape != (rows,) or codes.dtype.kind not in "iu"
    if wrong or codes.min() < 0 or codes.max() >= levels:
        raise CounterweightError(
            f"Margin {name} has {levels} levels: its codes must be {rows} whole numbers from 0 to "
            f"{levels - 1}."
        )
    return codes.astype(np.int64)
