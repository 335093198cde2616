"""Numbers and classes that columns give exactly together: sums, products, ratios, comparisons."""

import numpy as np

#: AUC, or share of variance, from which something is told near-perfectly; share of the rows of a
#: class that are told.
NEAR_PERFECT = 0.995
#: Share of variance from which a sum, product or ratio of columns is exact.
EXACT = 1 - 1e-5
#: Share of variance, and of the rows of a class, on a few rows from which all are looked at.
LIKELY, LIKELY_OF_CLASS = 0.98, 0.9
#: Rows of the rarer class, or of all of a number, below which nothing is concluded.
LEAST = 10


def pairs(y, columns):
    """Pairs of columns that give y exactly, in any units, and how.

    On a few rows first: nearly every pair fails there. Then on all that have both columns, half of
    them at least. Exact is also what is off by no more than y was rounded.

    Parameters
    ----------
    y : array (n,)
        Zeros and ones, or numbers.
    columns : dict of str to array (n,)
        Floats, NaN where missing.

    Yields
    ------
    first, second, formula : str
        Of a pair the formula that was found first, such as ``price × pieces``.
    """
    names, classes = list(columns), _classes(y)
    if len(names) < 2:
        return
    X = np.array(list(columns.values()))
    few = np.argsort(y, kind="stable")
    few = np.unique(np.append(few[:: max(1, len(few) // 200)], few[[0, -1]]))
    if classes:
        rows = [np.flatnonzero(y == one) for one in (0.0, 1.0)]
        few = np.concatenate([one[:: max(1, len(one) // 100)] for one in rows])
    short = X[:, few]
    for i in range(len(names) - 1):
        likely = _likely(y[few], short[i], short[i + 1 :], classes)
        for at in np.flatnonzero(likely.any(axis=0)):
            j = i + 1 + at
            formula = _formula(y, names[i], X[i], names[j], X[j], likely[:, at], classes)
            if formula:
                yield names[i], names[j], formula


def _classes(y):
    return bool(np.isin(y, (0.0, 1.0)).all())


def _likely(y, a, others, classes):
    """Which formulas of one column and each other one may be exact, (formulas, others)."""
    told = [_plane_share(y, a, others)]
    told += [line_share(y, value) for value in (a * others, a / others, others / a)]
    if classes:
        likely = [*(share >= LIKELY for share in told)]
        return np.array([*likely, _compared(y, a, others) >= LIKELY_OF_CLASS])
    logs = (np.log(np.where(x > 0, x, np.nan)) for x in (y, a, others))
    return np.array([*told, _plane_share(*logs), _plane_share(y, a, others, both=True)]) >= LIKELY


def _formula(y, a, x, b, z, likely, classes):
    """The formula of two columns that is exact on all rows, in words, or ""."""
    known = np.isfinite(x) & np.isfinite(z)
    if not _enough(y, known):
        return ""
    x, z, y, n = x[known], z[known], y[known], len(y)
    with np.errstate(all="ignore"):
        if likely[0] and (told := _exact(y, x, z)):
            return _in_words(told, {a: x, b: z}, y)
        ways = ((f"{a} × {b}", x * z), (f"{a} / {b}", x / z), (f"{b} / {a}", z / x))
        for (words, value), may in zip(ways, likely[1:4], strict=True):
            there = np.isfinite(value)
            enough = may and _enough(y, there, n)
            if enough and (told := _exact(y[there], value[there])):
                return _in_words(told, {words: value[there]}, y)
        if classes:
            above = likely[4] and _compared(y, x, z[None])[0] >= NEAR_PERFECT
            return f"told by which is larger, {a} or {b}" if above else ""
        if likely[4] and (told := _exact(y, x, z, powers=True)):
            return f"{np.exp(told[2]):.4g} × {a}^{told[0]:.3g} × {b}^{told[1]:.3g}"
        told = _exact(y, x, z, x * z) if likely[5] else []
    return _in_words(told, {a: x, b: z, f"{a} × {b}": x * z}, y) if told else ""


def _enough(y, known, rows=None):
    """Whether rows with values are at least half of all, and of both classes often enough."""
    rows, y = rows or len(y), y[known]
    if len(y) < max(LEAST, 0.5 * rows) or np.ptp(y) == 0:
        return False
    return not _classes(y) or min(y.sum(), (1 - y).sum()) >= LEAST


def _exact(y, *columns, powers=False):
    """Coefficients, the constant last, where columns give y up to its rounding, else none."""
    X = np.array([*columns, np.ones(len(y))])
    if powers:
        if y.min() <= 0 or X.min() <= 0:
            return []
        X[:-1] = np.log(X[:-1])
    scale = np.abs(X).max(axis=1)
    if not scale.all():
        return []
    fitted = np.linalg.lstsq((X / scale[:, None]).T, np.log(y) if powers else y)[0] / scale
    predicted = np.exp(fitted @ X) if powers else fitted @ X
    share = explained(y, predicted)
    if share < NEAR_PERFECT:
        return []
    rounded = np.mean(np.abs(y - predicted) <= 0.55 * _step(y)) >= NEAR_PERFECT
    return fitted.tolist() if share >= EXACT or (rounded and not _classes(y)) else []


def several_columns(y, columns):
    """Sums and products of several columns that give y exactly.

    Parameters
    ----------
    y, columns
        See `pairs`.

    Returns
    -------
    dict of str to str
        What y is, by the column of greatest share, until the others do not give y any more.
    """
    found = {}
    for powers, words in ((False, "a sum"), (True, "a product of powers")):
        left = {name: x for name, x in columns.items() if name not in found}
        while named := _largest(y, left, powers):
            found[named] = f"{words} of {named} and other columns"
            del left[named]
    return found


def _largest(y, numbers, powers):
    """The column of greatest share where all of them give y, or None."""
    if powers and (_classes(y) or y.min() <= 0):
        return None
    if powers:
        numbers = {name: x for name, x in numbers.items() if np.nanmin(x, initial=1.0) > 0}
    numbers = {name: x for name, x in numbers.items() if np.isnan(x).mean() < 0.1}
    numbers = {name: x for name, x in numbers.items() if np.nanmin(x) < np.nanmax(x)}
    if not numbers:
        return None
    X = np.array(list(numbers.values()))
    known = np.flatnonzero(np.isfinite(X).all(axis=0))
    known = known[:: max(1, len(known) // 5000)]
    X, y = X[:, known], y[known]
    if len(y) < 5 * (len(X) + 1) or np.ptp(y) == 0 or not X.std(axis=1).all():
        return None
    told = _exact(y, *(X if powers else X - X.mean(axis=1, keepdims=True)), powers=powers)
    if not told:
        return None
    spread = (np.log(X) if powers else X).std(axis=1)
    return list(numbers)[int(np.argmax(np.abs(told[:-1]) * spread))]


def _in_words(coefficients, columns, y):
    """A sum as it is written, without parts that are nothing beside y."""
    *slopes, constant = coefficients
    least, words = 1e-3 * y.std(), []
    for slope, (name, values) in zip(slopes, columns.items(), strict=True):
        if abs(slope) * values.std() > least:
            size = f"{abs(slope):.4g}"
            words.append((slope, name if size == "1" else f"{size} × {name}"))
    words.sort(key=lambda part: part[0] < 0)
    words += [(constant, f"{abs(constant):.4g}")] if abs(constant) > least else []
    text = " ".join(f"{'-' if part < 0 else '+'} {word}" for part, word in words)
    return text.removeprefix("+ ")


def _step(y):
    """The largest power of ten of which all values are multiples, 0 where there is none."""
    for power in range(6, -7, -1):
        parts = y / 10.0**power
        near = 1e-6 + 1e-9 * np.abs(parts).max()
        if near < 0.1 and np.abs(parts - np.rint(parts)).max() <= near:
            return 10.0**power
    return 0.0


def _centred(known, *values):
    """Values less their means over the known columns of each row, 0 elsewhere."""
    rows = np.maximum(known.sum(axis=1), 1)[:, None]
    for x in values:
        x = np.where(known, x, 0.0)
        yield np.where(known, x - x.sum(axis=1)[:, None] / rows, 0.0)


def line_share(y, X):
    """Share of the variance of y that a line in each row of X explains, 0 if few are known."""
    known = np.isfinite(X) & np.isfinite(y)
    Y, X = _centred(known, y, X)
    both, own, whole = (X * Y).sum(axis=1), (X * X).sum(axis=1), (Y * Y).sum(axis=1)
    share = np.divide(both**2, own * whole, out=np.zeros(len(X)), where=own * whole > 0)
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), share, 0.0)


def _plane_share(y, a, X, both=False):
    """Share of the variance of y that a, each row of X and perhaps their product explain."""
    known = np.isfinite(X) & np.isfinite(y) & np.isfinite(a)
    Y, *Z = _centred(known, y, a, X, *([a * X] if both else []))
    Z = np.stack(Z, axis=1)
    size = np.sqrt((Z * Z).sum(axis=2, keepdims=True))
    Z = np.divide(Z, size, out=np.zeros_like(Z), where=size > 0)
    # A ridge far below what counts keeps columns that are one from dividing by 0.
    gram = Z @ Z.transpose(0, 2, 1) + 1e-9 * np.eye(Z.shape[1])
    both = (Z @ Y[:, :, None])[:, :, 0]
    share = (both * np.linalg.solve(gram, both[:, :, None])[:, :, 0]).sum(axis=1)
    whole = (Y * Y).sum(axis=1)
    share = np.divide(share, whole, out=np.zeros(len(X)), where=whole > 0)
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), share, 0.0)


def _compared(y, a, X):
    """Share of the rows of either class, of the worse told, of which the larger of two tells it."""
    known = np.isfinite(X) & np.isfinite(a)
    sizes = np.maximum([(known & (y == one)).sum(axis=1) for one in (0.0, 1.0)], 1)
    best = np.zeros(len(X))
    for above in (a > X, a < X):
        for said in (above, ~above):
            right = [(known & (y == one) & (said == one)).sum(axis=1) for one in (0.0, 1.0)]
            best = np.maximum(best, (right / sizes).min(axis=0))
    return np.where(known.sum(axis=1) >= max(LEAST, 0.25 * known.shape[1]), best, 0.0)


def explained(y, predicted):
    """Share of the variance of y that predictions explain."""
    spread = ((y - y.mean()) ** 2).sum()
    return 1 - ((y - predicted) ** 2).sum() / spread if spread > 0 else 0.0
