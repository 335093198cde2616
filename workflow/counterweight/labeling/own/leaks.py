"""Columns that give the outcome away: alone, by being known, or with one another.

Nothing here is a proof. A column is named where an honest feature could hardly do what it does;
each check says what it assumes.
"""

from itertools import combinations

import numpy as np

#: AUC, or share of variance, from which a column alone is near-perfect.
NEAR_PERFECT = 0.995
#: Rows of the rarer class below which only perfect is near-perfect: chance does as well.
FEW = 50
#: Share of variance from which the outcome is a sum, difference, product or ratio of two columns.
EXACT = 1 - 1e-5
#: Most labeled rows that are looked at.
ROWS = 50_000
#: Rows of the rarer class, and of either kind of row, below which nothing is concluded.
LEAST = 10


def known_by_label(present, labeled):
    """Whether a column is known for labeled rows only, or for the others only.

    Parameters
    ----------
    present, labeled : array of bool (n,)

    Returns
    -------
    str
        ``labeled``: known in at most one of 200 unlabeled rows, but in one of ten labeled rows
        or more, and so by chance in one table of 10,000. ``unlabeled``: the same of the others.
        ``""`` else, and where there are fewer than `LEAST` rows of either.
    """
    rows = labeled.sum(), (~labeled).sum()
    if min(rows) < LEAST:
        return ""
    known = present[labeled].sum(), present[~labeled].sum()
    for name, this, that in (("labeled", 0, 1), ("unlabeled", 1, 0)):
        share = known[this] / rows[this]
        # Where few are known, none among few rows is chance.
        chance = (1 - share) ** rows[that]
        if known[that] <= 0.005 * rows[that] and share >= 0.1 and chance < 1e-4:
            return name
    return ""


class OutcomeLeaks:
    """Checks of columns against the outcomes that are seen.

    Parameters
    ----------
    outcome : array (n,)
        NaN where it is not seen. With two values a class, else a number.

    Attributes
    ----------
    classes : bool
        Whether it is a class.
    near_perfect : float
        From which `alone` says that a column gives the outcome away.
    """

    def __init__(self, outcome):
        at = np.flatnonzero(~np.isnan(outcome))
        self.at = at[:: max(1, -(-len(at) // ROWS))]
        self.y = np.asarray(outcome, float)[self.at]
        values, self.counts = np.unique(self.y, return_counts=True)
        self.classes = len(values) == 2
        if self.classes:
            self.y = (self.y == values[1]).astype(float)
        # Every other row: neither half is of early rows only.
        self.half = np.arange(len(self.y)) % 2 == 0
        enough = self.counts.min() >= LEAST if self.classes else len(self.y) >= 2 * LEAST
        self.told = bool(len(values) > 1 and enough)
        few = self.classes and self.counts.min() < FEW
        self.near_perfect = 1.0 if few else NEAR_PERFECT

    def alone(self, values):
        """How well a column alone tells the outcome of rows that it was not fitted on.

        Of a class it is the AUC of category means, of means of 50 bins, and of the number
        itself; of a number the share of variance of the same, of a line and of a curve through
        the other half's points. A column of many levels does not look well by chance, since
        each half is told by the other: the worse of both counts.

        Parameters
        ----------
        values : array (n,)
            Floats, or integer codes of texts (-1 missing).

        Returns
        -------
        float
            0 where there are too few rows to say.
        """
        if not self.told:
            return 0.0
        x = values[self.at]
        ways = [self._by_level] if x.dtype.kind == "i" else [self._by_bin, self._by_curve]
        ways += [] if x.dtype.kind == "i" else [self._by_line]
        quality = [[way(x, half) for half in (self.half, ~self.half)] for way in ways]
        return float(np.max(np.min(quality, axis=1)))

    def copied(self, values):
        """Whether two values of a column are the two classes, also where classes are small."""
        if not self.classes or self.counts.min() < 3:
            return False
        x = values[self.at]
        known = x >= 0 if x.dtype.kind == "i" else ~np.isnan(x)
        there = np.unique(x[known])
        if not known.all() or len(there) != 2:
            return False
        return len(np.unique(np.column_stack([x, self.y]), axis=0)) == 2

    def _quality(self, predicted, half):
        y = self.y[~half]
        if self.classes:
            return _auc(y, predicted)
        return _explained(y, predicted)

    def _by_level(self, x, half):
        return self._by_code(np.unique(x, return_inverse=True)[1], half)

    def _by_bin(self, x, half):
        there = np.sort(x[half & ~np.isnan(x)])
        if not len(there):
            return 0.0
        edges = np.unique(there[np.linspace(0, len(there) - 1, 51).astype(int)])
        which = np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x))
        return self._by_code(which, half)

    def _by_code(self, which, half):
        """By the mean outcome of a code in one half, the mean of all where it has none."""
        most = which.max() + 1
        rows = np.bincount(which[half], minlength=most)
        sums = np.bincount(which[half], self.y[half], minlength=most)
        means = np.where(rows > 0, sums / np.maximum(rows, 1), self.y[half].mean())
        return self._quality(means[which[~half]], half)

    def _by_curve(self, x, half):
        fit = half & ~np.isnan(x)
        if not fit.any():
            return 0.0
        points, which = np.unique(x[fit], return_inverse=True)
        heights = np.bincount(which, self.y[fit]) / np.bincount(which)
        filled = np.where(np.isnan(x), np.nan, np.interp(x, points, heights))
        return self._quality(self._with_missing(filled, half)[~half], half)

    def _by_line(self, x, half):
        fit = half & ~np.isnan(x)
        if not fit.any() or np.ptp(x[fit]) == 0:
            return 0.0
        centred = x - x[fit].mean()
        slope = centred[fit] @ self.y[fit] / (centred[fit] @ centred[fit])
        line = self.y[fit].mean() + slope * centred
        return self._quality(self._with_missing(line, half)[~half], half)

    def _with_missing(self, predicted, half):
        """Predictions with the mean outcome of the missing where the column is missing."""
        missing = np.isnan(predicted)
        if not missing.any():
            return predicted
        rows = half & missing if (half & missing).any() else half
        return np.where(missing, self.y[rows].mean(), predicted)

    def together(self, columns):
        """Columns with which others give the outcome exactly: sums, differences, products.

        Every pair is tried, on rows that have both (half of them at least), then sums of several
        columns. The one that tells most alone is named, or has the greatest share in the sum,
        until the others do not give the outcome any more.

        Parameters
        ----------
        columns : dict of str to array (n,)
            Numbers, without those that were found before.

        Returns
        -------
        dict of str to str
            What is the outcome, by column, such as ``price × pieces``.
        """
        if not self.told:
            return {}
        found = {}
        numbers = {name: values[self.at] for name, values in columns.items()}
        few = np.argsort(self.y, kind="stable")
        few = np.append(few[:: max(1, len(few) // 200)], few[-1])
        short = {name: values[few] for name, values in numbers.items()}
        for a, b in combinations(numbers, 2):
            if a in found or b in found:
                continue
            for sign, turned, value in _FORMULAS:
                # A few rows first: nearly every pair fails there.
                with np.errstate(all="ignore"):
                    likely = _exact(self.y[few], value(short[a], short[b]), 0.25)
                    exact = likely and _exact(self.y, value(numbers[a], numbers[b]), 0.5)
                if exact and self._both(numbers[a], numbers[b]):
                    named = max((a, b), key=lambda name: self.alone(columns[name]))
                    found[named] = f"{b} {sign} {a}" if turned else f"{a} {sign} {b}"
                    break
        while named := self._largest_summand({n: x for n, x in numbers.items() if n not in found}):
            found[named] = f"a sum of {named} and other columns"
        return found

    def _both(self, a, b):
        """Whether rows that have both columns are of both classes, often enough."""
        y = self.y[np.isfinite(a) & np.isfinite(b)]
        return not self.classes or min(y.sum(), (1 - y).sum()) >= LEAST

    def _largest_summand(self, numbers):
        """The column of greatest share where a sum of columns is the outcome, or None."""
        numbers = {name: x for name, x in numbers.items() if np.isnan(x).mean() < 0.1}
        if not numbers:
            return None
        X = np.column_stack(list(numbers.values()))
        known = np.flatnonzero(np.isfinite(X).all(axis=1))
        known = known[:: max(1, len(known) // 5000)]
        X, y = X[known], self.y[known]
        spread = X.std(axis=0) if len(X) else np.zeros(X.shape[1])
        if len(X) < 5 * (X.shape[1] + 1) or np.ptp(y) == 0 or not spread.any():
            return None
        X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1)
        shares = np.linalg.lstsq(X, y - y.mean())[0]
        if _explained(y, y.mean() + X @ shares) < EXACT:
            return None
        return list(numbers)[int(np.argmax(np.abs(shares)))]


#: Sign, whether the second column stands first, and value of each pair.
_FORMULAS = [
    ("+", False, lambda a, b: a + b),
    ("-", False, lambda a, b: a - b),
    ("-", True, lambda a, b: b - a),
    ("×", False, lambda a, b: a * b),
    ("/", False, lambda a, b: a / b),
    ("/", True, lambda a, b: b / a),
]


def _exact(y, values, least):
    """Whether values are y, in rows where they are known: a share `least` of all at least."""
    known = np.isfinite(values)
    if known.sum() < max(LEAST, least * len(y)) or np.ptp(y[known]) == 0:
        return False
    return _explained(y[known], values[known]) >= EXACT


def _auc(y, score):
    """Probability that a positive scores above a negative, ties half."""
    from scipy.stats import rankdata

    positive = y > 0
    m = positive.sum()
    if not 0 < m < len(y):
        return 0.0
    above = rankdata(score)[positive].sum() - m * (m + 1) / 2
    return above / (m * (len(y) - m))


def _explained(y, predicted):
    """Share of the variance of y that predictions explain."""
    spread = ((y - y.mean()) ** 2).sum()
    return 1 - ((y - predicted) ** 2).sum() / spread if spread > 0 else 0.0
